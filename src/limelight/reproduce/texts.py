"""The texts of a reproduction: IMDB in any of its forms, a file of one's own, or limelight's own small sample."""

from __future__ import annotations

import hashlib
import importlib
import os
import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
import numpy.typing as npt

from limelight.errors import DataError
from limelight.storage.labelled_texts import LabelledTexts, read_labelled

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
