"""Time and memory of the one pass that a report makes over a corpus, as the number of texts grows.

    python benchmarks/corpus_summary.py explained --shards 60
    python benchmarks/corpus_summary.py explained --shards 4 --twice 15

The shards of a run are copied again and again, each with the seal of its place, until there are as many as asked for.

--twice  What the hashes cost: so many passes as they are, each beside one that reads the columns it needs from the file
         without a look at the rest of it, as version 0.2 did; and the same for `status`, which reads two columns.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from limelight.corpus.analysis.summary import summary_of
from limelight.corpus.store.hashes import Shards, open_manifest, seal_manifest
from limelight.corpus.store.reading import Corpus, state
from limelight.corpus.store.reading import open as open_corpus
from limelight.corpus.store.run_folder import MANIFEST, SHARDS, shard_name


def larger(corpus: Corpus, folder: Path, count: int) -> None:
    """A run of so many shards, made of those that there are."""
    (folder / SHARDS).mkdir()
    manifest = {name: own for name, own in corpus.manifest.items() if name not in ("hashes", "sha256")}
    content = seal_manifest({**manifest, "shards": {**manifest["shards"], "count": count}})
    (folder / MANIFEST).write_bytes(content)
    shards, files = Shards(open_manifest(content)[1], count), corpus.shards()
    for number in range(count):
        content = files[number % len(files)].read_bytes()
        (folder / SHARDS / shard_name(number)).write_bytes(shards.seal(number, content))


def unchecked(corpus: Corpus, columns: Sequence[str] | None = None, numbers: Any = None) -> Iterator[Any]:
    """The tables as version 0.2 read them."""
    import pyarrow.parquet

    for file in corpus.shards():
        yield pyarrow.parquet.read_table(file, columns=list(columns or []) or None, partitioning=None)


def twice(folder: Path, passes: int) -> None:
    """Processor time with hashes and without, in turns, and the ratio of the medians."""
    parts: tuple[tuple[str, Callable[[], object]], ...] = (
        ("the pass of a report", lambda: summary_of(open_corpus(folder))),
        ("status", lambda: state(folder)),
    )
    for name, part in parts:
        part()
        times: dict[bool, list[float]] = {True: [], False: []}
        for i in range(2 * passes):
            is_checked = i % 2 == 0
            with patch.object(Corpus, "tables", Corpus.tables if is_checked else unchecked):
                started = time.process_time()
                part()
                times[is_checked].append(time.process_time() - started)
        checked, not_checked = (statistics.median(times[own]) for own in (True, False))
        print(
            f"{name}: {checked:.3f} s of processor with hashes, {not_checked:.3f} s without, the ratio is "
            f"{checked / not_checked:.3f} ({passes} passes of each, medians)"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="the folder of a run, whose shards are of one size")
    parser.add_argument("--shards", type=int, default=60)
    parser.add_argument("--twice", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        larger(open_corpus(arguments.corpus), folder, arguments.shards)
        if arguments.twice:
            twice(folder, arguments.twice)
            return
        wall, processor = time.perf_counter(), time.process_time()
        summary = summary_of(open_corpus(folder))
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"{arguments.shards} shards, {len(summary.texts):,} texts, {len(summary.words.vocabulary):,} different words: "
        f"{wall:.1f} s, {processor:.1f} s of one core, {peak} MiB at most"
    )


if __name__ == "__main__":
    main()
