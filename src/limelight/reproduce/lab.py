"""A run of experiments: model, documents, device, and long computations over all documents.

Its texts are IMDB in any of its forms, a file of one's own, or limelight's own small sample.
"""

from __future__ import annotations

import copy
import hashlib
import importlib
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from limelight.core.arrays import Array, Floats, Integers
from limelight.core.progress import Progress, working
from limelight.core.threads import one_thread
from limelight.errors import CapabilityError, DataError, EmptyTextError
from limelight.explainers.method import Question, find
from limelight.inputs.document import Document
from limelight.inputs.features import Features, features_of
from limelight.models.interface import Attentive, Classifier, FoldedView, Perturbable
from limelight.models.outputs import Quantity
from limelight.models.words.attention import AttentionClassifier
from limelight.models.words.attention_view import AttentionView, ReadTogether
from limelight.reproduce.folder import Arrays, RunFolder
from limelight.storage.labelled_texts import LabelledTexts, read_labelled

CHUNK = {"cpu": 25, "cuda": 250}
"""Documents of one piece: about ten seconds of work."""
AUTHORS_LENGTH = 99
"""Tokens of the document of Figures 4 and 6."""


@dataclass(frozen=True)
class Prepared:
    """One document and its features, the distinct words in the order of first occurrence; or its occurrences."""

    index: int  # in the data set
    document: Document
    features: Features

    @property
    def text(self) -> str:
        """The words that the model reads, as it reads them: official LIME tells "The" from "the" and cuts nothing."""
        return " ".join(self.words)

    @property
    def words(self) -> list[str]:
        return [word.form for word in self.document.words]

    @property
    def T(self) -> int:
        return len(self.document.words)

    @property
    def d(self) -> int:
        return len(self.features)

    def by_occurrence(self) -> Prepared:
        """This document with each occurrence of a word as a feature of its own."""
        return replace(self, features=features_of(self.document, "occurrences"))

    @cached_property
    def multiplicity(self) -> Integers:
        """(d,) how often each feature occurs."""
        return np.array([len(group) for group in self.features.owned])


def prepare(model: AttentionClassifier, index: int, text: str) -> Prepared | None:
    """One text, or None where nothing of it is left."""
    try:
        document = model.read(strip_punctuation(text))
    except EmptyTextError:
        return None
    return Prepared(index, document, features_of(document, "words"))


def target_of(model: Classifier) -> int:
    """The class that weights speak for: "positive" where there is one, as in the paper, else the last."""
    labels = list(model.labels)
    return labels.index("positive") if "positive" in labels else len(labels) - 1


def evenly(total: int, count: int) -> list[int]:
    """Up to `count` of so many, evenly over all: the documents of a file are often sorted by label."""
    picked: list[int] = np.unique(np.linspace(0, total - 1, min(count, total)).astype(int)).tolist()
    return picked


def joined(pieces: Iterable[Mapping[str, Array | float]]) -> Arrays:
    """One array from those of all pieces, under each name; a number is a row."""
    listed = list(pieces)
    return {name: np.concatenate([np.atleast_1d(piece[name]) for piece in listed]) for name in listed[0]}


Asked = Question[AttentionView]
"""A question about one of the run's documents."""
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Lab:
    """One run. `model` is whatever was loaded; an experiment that needs the paper's asks for `paper_model`."""

    folder: RunFolder
    texts: Texts
    model: Classifier
    deep_model: Classifier | None
    documents_asked: int
    seed: int
    device: str
    progress: Progress
    official: bool = False
    deep_name: str = ""

    # ── models ────────────────────────────────────────────────────────────────────────────────────────────────────

    def paper_model(self, experiment: str = "this experiment") -> AttentionClassifier:
        if not isinstance(self.model, AttentionClassifier):
            raise CapabilityError(
                f"{experiment} needs the paper's model, a single attention layer (kind 'attention-classifier'): "
                f"--model holds a {type(self.model).__name__}; train one with limelight train --preset paper"
            )
        return self.model

    def deep(self, experiment: str) -> Classifier:
        model = self.deep_model
        view: object = None if model is None else model.view("a text")
        several_layers = isinstance(view, Perturbable) and isinstance(view, Attentive)
        if model is None or not several_layers or isinstance(view, FoldedView):
            raise CapabilityError(
                f"{experiment} needs a model of several layers that shows its attention and can be perturbed: "
                f"--deep-model holds a {type(model).__name__}; train one with limelight train --preset deep"
            )
        return model

    @cached_property
    def target(self) -> int:
        return target_of(self.model)

    @property
    def target_name(self) -> str:
        return str(self.model.labels[self.target])

    # ── documents ─────────────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def chosen(self) -> list[int]:
        """Numbers of the texts in the data set: a random sample without repetition, or all of them."""
        total = len(self.texts.texts)
        if self.documents_asked >= total:
            return list(range(total))
        picked = np.random.default_rng(self.seed).choice(total, size=self.documents_asked, replace=False)
        return sorted(int(i) for i in picked)

    @cached_property
    def documents(self) -> list[Prepared]:
        """The chosen texts as the model reads them; a text without letters or digits is left out."""
        read = (prepare(self.paper_model(), index, self.texts.texts[index]) for index in self.chosen)
        documents = [document for document in read if document is not None]
        if not documents:
            raise DataError(f"{self.texts.name} has no text with a letter or digit in it: give other data")
        return documents

    def questions(self, documents: Sequence[Prepared]) -> list[Asked]:
        """The question of every experiment: the weights of distinct words for the logit of the target."""
        quantity = Quantity(len(self.model.labels), self.target)
        views = ReadTogether(self.paper_model(), [own.document for own in documents]).views
        return [
            Question(view, own.document, own.features, quantity, view.logits, seed=self.seed)
            for view, own in zip(views, documents, strict=True)
        ]

    def weights(self, question: Asked, method: str, **options: Any) -> Floats:
        """By the implementation that `limelight explain` takes."""
        implementation = find(method).required_implementation(question.view, question.conditions)
        return implementation.run(question, **{**implementation.parameters, **options}).values

    @cached_property
    def sizes(self) -> Integers:
        """d of each document: how arrays over all features are cut into documents."""
        return np.array([document.d for document in self.documents])

    @cached_property
    def starts(self) -> Integers:
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]])

    def sum_by_document(self, per_feature: Floats) -> Floats:
        total: Floats = np.add.reduceat(per_feature, self.starts, axis=0)
        return total

    def split(self, per_feature: Array) -> list[Array]:
        return np.split(per_feature, self.starts[1:])

    @cached_property
    def shown_index(self) -> int:
        """The text of Figures 4 and 6: the authors' if the data has it, else the one closest to its length."""
        for index, text in enumerate(self.texts.texts):
            if strip_punctuation(text[:80]).lower().startswith(AUTHORS_DOCUMENT):
                return index
        lengths = [len(strip_punctuation(self.texts.texts[i]).split()) for i in self.chosen]
        return self.chosen[int(np.argmin([abs(length - AUTHORS_LENGTH) for length in lengths]))]

    @cached_property
    def shown(self) -> Prepared:
        document = prepare(self.paper_model(), self.shown_index, self.texts.texts[self.shown_index])
        if document is None:
            raise DataError(f"text {self.shown_index} of {self.texts.name} has no words: give other data")
        return document

    @property
    def shown_is_authors(self) -> bool:
        return strip_punctuation(self.texts.texts[self.shown_index]).lower().startswith(AUTHORS_DOCUMENT)

    @cached_property
    def on_a_cpu(self) -> Lab:
        """This run with its model on the CPU, which is the faster one at formulas of a single document."""
        return self if self.device == "cpu" else replace(self, model=copy.deepcopy(self.paper_model()).cpu())

    # ── long computations ─────────────────────────────────────────────────────────────────────────────────────────

    def seed_of(self, document: Prepared) -> int:
        """A document's own seed, whatever other documents are in the run."""
        digest = hashlib.sha256(f"{self.seed}:{document.index}".encode()).digest()
        return int.from_bytes(digest[:7], "little")

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """In threads, each of which works alone: for long compiled work, since short steps wait for the interpreter."""
        threads = torch.get_num_threads()
        workers = min(8, os.cpu_count() or 1)
        try:
            with one_thread(), ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,)) as pool:
                return list(pool.map(function, items))
        finally:
            torch.set_num_threads(threads)

    def over_documents(
        self,
        name: str,
        compute: Callable[[Sequence[Prepared]], Arrays],
        documents: Sequence[Prepared] | None = None,
        chunk: int | None = None,
    ) -> Arrays:
        """Arrays of all documents, or those given, piece by piece; what is on disk is not computed again.

        Arrays hold one row per document or one per feature; pieces are put together along rows. What is sampled differs
        between devices, so each device has its own pieces.
        """
        documents = self.documents if documents is None else documents
        kind = torch.device(self.device).type
        chunk = CHUNK[kind] if chunk is None else chunk
        stored = f"{name}-{kind}-by-{chunk}"
        pieces = {
            first: self.folder.read_chunk(stored, first, self.progress.say) for first in range(0, len(documents), chunk)
        }
        missing = [first for first, piece in pieces.items() if piece is None]
        with working(self.progress, name, len(documents), missing[0] if missing else len(documents)):
            for first in missing:
                members = documents[first : first + chunk]
                pieces[first] = piece = compute(members)
                self.folder.write_chunk(stored, first, piece)
                self.progress.advance(len(members))
        return joined(piece for piece in pieces.values() if piece is not None)


# ── the texts ─────────────────────────────────────────────────────────────────────────────────────────────────────────


SAMPLE = "built-in sample"
HUB_NAME = "stanfordnlp/imdb"
AUTHORS_DOCUMENT = "i find it amazing that so many people"
"""Beginning of the document of Figures 4 and 6, without punctuation."""

_DISTRIBUTION_FILES = ("imdb.vocab", "imdbEr.txt")
"""Files beside test/ in the archive as distributed: where they are, all of the test set must be."""
_HALVES = {"neg": "negative", "pos": "positive"}
"""Folders of the archive, and what their texts are labelled."""
_FULL_HALF = 12_500
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_NOT_ALPHANUMERIC = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class Texts:
    """A data set, what to call it, and a digest of its content, whatever file it came from."""

    texts: tuple[str, ...]
    labels: npt.NDArray[np.int64]
    name: str
    digest: str

    @property
    def is_sample(self) -> bool:
        return self.name == SAMPLE


def read_texts(source: str | None) -> Texts:
    """`None`: the built-in sample. "imdb": the test set from the Hugging Face hub. Else a folder or file."""
    if source is None:
        return _read_sample()
    path = Path(source)
    # os.path answers False where a name is too long to exist; Path would raise.
    if source == "imdb" and not os.path.exists(path):
        return _named(_read_hub(), f"IMDB test set ({HUB_NAME})")
    if not os.path.exists(path):
        raise DataError(
            f"there is no data at {source:.200}: give the aclImdb folder, a CSV, JSONL or Parquet file, 'imdb' to "
            "fetch the test set from Hugging Face, or leave --data out for the built-in sample"
        )
    root = next((folder for folder in (path / "test", path) if _is_imdb_half(folder)), None)
    if root is not None:
        return _named(_read_imdb_folder(root), f"IMDB test set ({path.name})")
    if path.is_dir() and (path / "test").is_dir():
        raise DataError(
            f"{path} has a folder test/ without pos/ and neg/ in it: extract aclImdb_v1.tar.gz again, all of it"
        )
    return _named(read_labelled(path), path.name)


def strip_punctuation(text: str) -> str:
    """As the authors feed texts to LIME: whatever is neither letter nor digit becomes a space. Line breaks go first."""
    return _NOT_ALPHANUMERIC.sub(" ", _BREAK.sub(" ", text)).strip()


def _named(data: LabelledTexts, name: str) -> Texts:
    digest = hashlib.sha256()
    for text, label in zip(data.texts, data.labels, strict=True):
        digest.update(f"{len(text)}:{int(label)}:".encode())
        digest.update(text.encode("utf-8", "surrogatepass"))
    return Texts(data.texts, data.labels, name, digest.hexdigest()[:16])


def _read_sample() -> Texts:
    with resources.as_file(resources.files("limelight") / "reproduce" / "sample.jsonl") as file:
        return _named(read_labelled(file), SAMPLE)


def _is_imdb_half(folder: Path) -> bool:
    return any((folder / half).is_dir() for half in _HALVES)


def _read_imdb_folder(root: Path) -> LabelledTexts:
    complete = any((root.parent / name).exists() for name in _DISTRIBUTION_FILES)
    for half in _HALVES:
        files = len(list((root / half).glob("*.txt")))
        if not files or (complete and files != _FULL_HALF):
            expected = f"{_FULL_HALF:,} files" if complete else "at least one .txt file"
            raise DataError(
                f"{root / half} has {files:,} .txt files, but {expected} should be there: "
                "the data set is incomplete, extract aclImdb_v1.tar.gz again"
            )
    return read_labelled(root, label_names=_HALVES)


def _read_hub() -> LabelledTexts:
    try:
        load_dataset = importlib.import_module("datasets").load_dataset
    except ImportError as error:
        raise DataError(
            "--data imdb needs the package 'datasets': pip install datasets, or give the aclImdb folder"
        ) from error
    try:
        rows = load_dataset(HUB_NAME, split="test")
    except Exception as error:  # the package raises its own, its dependencies' and the network's errors
        raise DataError(
            f"the data set {HUB_NAME} could not be fetched ({type(error).__name__}: {str(error)[:200]}): "
            "check the connection, or give the aclImdb folder"
        ) from error
    return LabelledTexts(tuple(rows["text"]), np.asarray(rows["label"], dtype=np.int64), tuple(_HALVES.values()))
