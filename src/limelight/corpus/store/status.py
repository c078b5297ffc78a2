"""How far a run is, from its folder alone: while it goes on, after it stopped, or when it is done."""

from __future__ import annotations

import os
from dataclasses import dataclass

from limelight.corpus.store.reading import UNCHECKED, Corpus
from limelight.corpus.store.reading import open as open_corpus
from limelight.corpus.store.run_folder import Folder


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
    """Errors are counted from the rows themselves: they are right whatever became of the times."""
    corpus = open_corpus(folder)
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
