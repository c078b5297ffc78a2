"""A corpus that was run, read back: explanations one by one, tables shard by shard, a data frame; how far a run is."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from limelight.corpus.store.hashes import Shards, check_unsealed
from limelight.corpus.store.run_folder import (
    MANIFEST,
    SHARDS,
    Folder,
    is_manifest,
    read_manifest,
    read_shard,
    shard_number,
)
from limelight.corpus.store.schema import METADATA, Layout, arrow_library
from limelight.errors import DataError, InputError
from limelight.explanation.result import Explanation, GroupWeights, Prediction
from limelight.explanation.serialization import Written, with_pandas
from limelight.inputs.document import Text
from limelight.storage.files import reason

if TYPE_CHECKING:
    from limelight.corpus.analysis.summary import Summary, TextOptions, TextTable
    from limelight.corpus.analysis.words import WordOptions, WordTable


UNCHECKED = "written by limelight 0.2 without hashes, so damage to its files may not be seen"
NO_TEXT = "the text was not kept: its words stand at their places, and all between them is blank"


def open(folder: str | os.PathLike[str]) -> Corpus:
    """The corpus that `limelight corpus run` wrote to a folder, finished or not: what it holds by now."""
    path = Path(folder)
    try:
        manifest, run = read_manifest(path)
    except FileNotFoundError as error:
        raise InputError(
            f"{path} holds no corpus: there is no {MANIFEST} in it; give a folder of limelight corpus run"
        ) from error
    if not is_manifest(manifest):
        raise DataError(f"{path / MANIFEST} is no manifest of a corpus: give a folder of limelight corpus run")
    return Corpus(path, manifest, Layout.from_json(manifest["layout"], path / MANIFEST), run)


@dataclass(frozen=True)
class Document:
    """One document of a corpus: its row, and what each method says of it; `errors` where one says nothing."""

    id: str
    row: int
    truth: str | None
    prediction: Prediction | None
    explanations: tuple[Explanation, ...]
    errors: Mapping[str, str]
    carried: Mapping[str, Any]


@dataclass(frozen=True)
class Corpus:
    """The explanations of many documents, in the order of their rows; iterate over it to get them one by one.

    `manifest` is what the run was asked for; `layout` what all rows share. `run` is the hash of the manifest, which the
    shards have in their seals; None in a run of version 0.2, which has no hashes.
    """

    folder: Path
    manifest: Mapping[str, Any]
    layout: Layout
    run: str | None = None

    def __repr__(self) -> str:
        done = "" if self.is_complete else f", {len(self.shards())} of {self.n_shards} shards so far"
        return f"<Corpus {str(self.folder)!r}: {self.n_documents:,} documents, {', '.join(self.methods)}{done}>"

    def __iter__(self) -> Iterator[Explanation]:
        """Every explanation, in the order of the rows; documents that could not be explained are left out."""
        for table in self.tables():
            for record in table.to_pylist():
                if record["error"] is None:
                    yield explanation_of(record, self.layout)

    @property
    def labels(self) -> tuple[str, ...]:
        return self.layout.labels

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(self.layout.methods)

    @property
    def n_documents(self) -> int:
        """Rows of the input that the run is about."""
        return int(self.manifest["input"]["rows"])

    @property
    def n_shards(self) -> int:
        return int(self.manifest["shards"]["count"])

    @property
    def is_complete(self) -> bool:
        return len(self.shards()) == self.n_shards

    @property
    def is_checked(self) -> bool:
        """Whether damage to the files is always seen: each has a hash. Version 0.2 wrote none."""
        return self.run is not None

    def shards(self) -> list[Path]:
        """The Parquet files that are there, in the order of their rows: for pandas, polars or DuckDB to read."""
        try:
            files = [entry for entry in (self.folder / SHARDS).iterdir() if shard_number(entry.name) is not None]
        except FileNotFoundError:
            return []
        return sorted(files)

    def tables(self, columns: Sequence[str] | None = None, numbers: Collection[int] | None = None) -> Iterator[Any]:
        """The shards as Arrow tables, one at a time; only some columns, or shards, where these are named."""
        library, shards = arrow_library(), Shards(self.run, self.n_shards)
        for file in self.shards():
            if numbers is not None and shard_number(file.name) not in numbers:
                continue
            content = read_shard(file, shards)  # what is parsed are the bytes that were checked
            try:
                # Without threads: those that `read_table` begins may abort a process that ends soon after.
                with library.parquet.ParquetFile(library.BufferReader(content)) as parquet:
                    table = parquet.read(None if columns is None else list(columns), use_threads=False)
                metadata = (table.schema.metadata or {}).get(METADATA)
                if metadata is not None:
                    Layout.from_json(json.loads(metadata), file)
                    if not self.is_checked:
                        check_unsealed(table, self.layout, self.n_documents)
            except DataError:
                raise
            except Exception as error:  # it raises its own errors, and the system's
                raise DataError(
                    f"{file} cannot be read as Parquet ({reason(error)!s:.200}): remove it, and give the command again"
                ) from error
            if metadata is None:
                raise DataError(f"{file} is no part of a corpus: it was written by something else; remove it")
            yield table

    def documents(self) -> Iterator[Document]:
        """Document by document, with what each method says of it."""
        for table in self.tables():
            yield from self.grouped(table.to_pylist())

    def grouped(self, records: Iterable[dict[str, Any]]) -> Iterator[Document]:
        """Rows of the tables as documents; those of one document follow each other."""
        own: list[dict[str, Any]] = []
        for record in records:
            if own and record["row"] != own[0]["row"]:
                yield self._document(own)
                own = []
            own.append(record)
        if own:
            yield self._document(own)

    # ── what all texts say together ───────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def summary(self) -> Summary:
        """Words, mistakes and disagreements, of the shards that are there when it is first asked for: one pass."""
        from limelight.corpus.analysis.summary import summary_of

        return summary_of(self)

    def words(
        self,
        method: str | None = None,
        target: str | None = None,
        against: str | None = None,
        **options: Unpack[WordOptions],
    ) -> WordTable:
        """The words of all texts that were asked about `target`, with their mean effects and intervals.

        Without a method or target: the first that there is (`summary.questions` has them all). `order` sorts the words,
        by "effect" unless said otherwise. `contains` keeps the words that hold this; `all_words` lists stop words and
        punctuation too; words in fewer than `least_texts` (5) texts are left out. `limit` lines from `offset` on.
        """
        words = self.summary.words
        return words.table(words.question(method, target, against), **options)

    def texts(self, **options: Unpack[TextOptions]) -> TextTable:
        """The texts that pass all filters: `wrong` or right, `failed` or explained, by predicted `label` and true label
        `truth`, by the least `disagreement` of two methods, by a word that has a weight (`contains`); in the `order` of
        their rows, or by "disagreement" or "confidence". `limit` (50) lines from `offset` on."""
        from limelight.corpus.analysis.summary import text_table

        return text_table(self, self.summary, **options)

    def _document(self, records: Sequence[dict[str, Any]]) -> Document:
        explained = [record for record in records if record["error"] is None]
        explanations = tuple(explanation_of(record, self.layout) for record in explained)
        first = records[0]
        return Document(
            first["id"],
            first["row"],
            first["truth"],
            explanations[0].prediction if explanations else None,
            explanations,
            {record["method"]: record["error"] for record in records if record["error"] is not None},
            {name: first[name] for name in self.layout.carried},
        )

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row per document, method, target and feature, in their order.

        Columns: id, row, truth, label, method, target, against (None where there is none), output, feature, weight,
        stderr (NaN where there is none), low and high (the ends of the interval), significant, and the ones that were
        carried through; a carried column of one of these names has " (carried)" behind it. All of it is in memory at
        once: for more than that, see `tables`.
        """
        pandas = with_pandas()
        once = ["id", "row", "truth", "label", "method", "target", "against", "output"]
        ours = {"feature": object, "weight": float, "stderr": float, "low": float, "high": float, "significant": bool}
        carried = {name: f"{name} (carried)" if name in ours else name for name in self.layout.carried}
        frames = []
        for table in self.tables():
            explained = table.filter(table["error"].is_null())
            frame = explained.select([*once, *carried]).to_pandas().rename(columns=carried)
            found = [explanation_of(record, self.layout) for record in explained.to_pylist()]
            frame["feature"] = [own.features for own in found]
            frame["weight"] = [own.weights for own in found]
            frame["stderr"] = [np.full(len(own), np.nan) if own.stderr is None else own.stderr for own in found]
            frame["low"] = [own.intervals()[:, 0] for own in found]
            frame["high"] = [own.intervals()[:, 1] for own in found]
            frame["significant"] = [own.significant for own in found]
            frames.append(frame.explode(list(ours)).astype(ours)[[*once, *ours, *carried.values()]])
        frames = frames or [pandas.DataFrame(columns=[*once, *ours, *carried.values()])]
        return pandas.concat(frames, ignore_index=True)


def explanation_of(record: Mapping[str, Any], layout: Layout) -> Explanation:
    """The explanation of one row, as a dictionary of its columns."""
    details = json.loads(record["details"])
    written = Written("row of a corpus", details)
    spans = tuple(tuple((span["start"], span["end"]) for span in own) for own in record["spans"])
    sides = None if record["sides"] is None else tuple(record["sides"])
    text, kept = text_of(record, layout, spans, sides)
    diagnostics = written.settings("diagnostics")
    groups = details.get("groups")
    return Explanation(
        text=text,
        method=record["method"],
        method_label=layout.called(record["method"]),
        signed=layout.is_signed(record["method"]),
        target=record["target"],
        against=record["against"],
        features=tuple(record["features"]),
        weights=np.array(record["weights"], dtype=np.float64),
        spans=spans,
        sides=sides,
        stderr=None if record["stderr"] is None else np.array(record["stderr"], dtype=np.float64),
        exact=record["accuracy"] in ("exact", "bounded"),
        prediction=Prediction(
            record["label"],
            layout.labels,
            np.array(record["logits"], dtype=np.float64),
            None if record["probabilities"] is None else np.array(record["probabilities"], dtype=np.float64),
            layout.kind,  # type: ignore[arg-type]
        ),
        seconds=0.0,  # times stand beside the corpus
        evaluations=record["evaluations"],
        parameters=written.settings("parameters"),
        diagnostics={**diagnostics, "warnings": list(record["warnings"])},
        notices=(*record["notices"], *(() if kept else (NO_TEXT,))),
        groups=None if groups is None else GroupWeights.from_dict(groups, text, len(spans)),
    )


def text_of(
    record: Mapping[str, Any], layout: Layout, spans: Sequence[Any], sides: Sequence[int] | None
) -> tuple[Text, bool]:
    """The text of a row, and whether it is the one that was given: else its features, each at its places."""
    if layout.keep_text:
        return ((record["text"], record["second"]) if layout.pairs else record["text"]), True
    places = list(zip(sides or [0] * len(spans), spans, record["features"], strict=True))
    first, second = (
        _blank([(start, end, name) for own, spans, name in places if own == side for start, end in spans])
        for side in (0, 1)
    )
    return first if sides is None else (first, second), False


def _blank(places: Sequence[tuple[int, int, str]]) -> str:
    """Blanks, with each feature at its places."""
    letters = [" "] * max((end for _, end, _ in places), default=0)
    for start, end, name in places:
        letters[start:end] = name[: end - start].ljust(end - start)
    return "".join(letters)


@dataclass(frozen=True)
class State:
    """Documents and shards that are stored of all, errors among them, and the seconds that computing them took."""

    corpus: Corpus
    documents: int
    errors: int
    shards: int
    seconds: float
    timed: int
    """Documents whose time was written down."""

    @property
    def is_complete(self) -> bool:
        return self.shards == self.corpus.n_shards

    def __str__(self) -> str:
        corpus = self.corpus
        part = "complete" if self.is_complete else f"{self.shards:,} of {corpus.n_shards:,} shards"
        rate = f", {self.timed / self.seconds:,.1f} documents a second of a worker" if self.seconds > 0.0 else ""
        errors = f", {self.errors:,} with an error" if self.errors else ""
        return (
            f"{corpus.folder}: {part}; {self.documents:,} of {corpus.n_documents:,} documents{errors}; "
            f"{', '.join(corpus.methods)}{rate}{'' if corpus.is_checked else f'; {UNCHECKED}'}"
        )


def state(folder: str | os.PathLike[str]) -> State:
    """How far a run is, from its folder alone: while it goes on, after it stopped, or when it is done.

    Errors are counted from the rows themselves: they are right whatever became of the times.
    """
    corpus = open(folder)
    documents = errors = 0
    for table in corpus.tables(["row", "error"]):
        failed = table.filter(table["error"].is_valid())
        documents += len(table["row"].unique())
        errors += len(failed["row"].unique())
    stored = {int(path.stem) for path in corpus.shards()}
    times: dict[int, tuple[float, int]] = {}
    for line in Folder(corpus.folder).times(corpus.is_checked):
        number, seconds, timed = (line.get(name) for name in ("shard", "seconds", "documents"))
        if line.get("event") != "written" or not isinstance(number, int) or number not in stored:
            continue
        if isinstance(seconds, float | int) and isinstance(timed, int):
            times[number] = float(seconds), timed
    seconds, timed = (sum(own) for own in zip((0.0, 0), *times.values(), strict=True))
    return State(corpus, documents, errors, len(stored), seconds, int(timed))


def duration(seconds: float) -> str:
    """A time for people: in seconds, minutes or hours."""
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    return f"{whole // 60} min" if whole < 6000 else f"{whole // 3600} h {whole % 3600 // 60} min"
