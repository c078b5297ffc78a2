"""How far a run is, from its folder alone: while it goes on, after it stopped, or when it is done."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from limelight.corpus.store.reading import UNCHECKED
from limelight.corpus.store.reading import open as open_corpus
from limelight.corpus.store.run_folder import Folder


@dataclass(frozen=True)
class State:
    """Documents and shards that are stored of all, errors among them, and the seconds that computing them took."""

    folder: Path
    methods: tuple[str, ...]
    documents: int
    all_documents: int
    shards: int
    all_shards: int
    errors: int
    seconds: float
    """Of the documents whose time was written down."""
    timed: int
    is_checked: bool

    @property
    def is_complete(self) -> bool:
        return self.shards == self.all_shards

    def __str__(self) -> str:
        part = "complete" if self.is_complete else f"{self.shards:,} of {self.all_shards:,} shards"
        rate = f", {self.timed / self.seconds:,.1f} documents a second of a worker" if self.seconds > 0.0 else ""
        errors = f", {self.errors:,} with an error" if self.errors else ""
        return (
            f"{self.folder}: {part}; {self.documents:,} of {self.all_documents:,} documents{errors}; "
            f"{', '.join(self.methods)}{rate}{'' if self.is_checked else f'; {UNCHECKED}'}"
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
    return State(
        corpus.folder,
        corpus.methods,
        documents,
        corpus.n_documents,
        len(stored),
        corpus.n_shards,
        errors,
        sum(seconds for seconds, _ in times.values()),
        sum(timed for _, timed in times.values()),
        corpus.is_checked,
    )


def duration(seconds: float) -> str:
    """A time for people: in seconds, minutes or hours."""
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    return f"{whole // 60} min" if whole < 6000 else f"{whole // 3600} h {whole % 3600 // 60} min"
