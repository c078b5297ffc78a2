"""Time and memory of the one pass that a report makes over a corpus, as the number of texts grows.

    python benchmarks/corpus_summary.py explained --shards 60

The shards of a run are read again and again, by links, until there are as many as asked for.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

from limelight.corpus.folder import MANIFEST, SHARDS, shard_name
from limelight.corpus.reading import open as open_corpus
from limelight.corpus.summary import summary_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path, help="the folder of a run, whose shards are of one size")
    parser.add_argument("--shards", type=int, default=60)
    arguments = parser.parse_args()
    files = open_corpus(arguments.corpus).shards()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / SHARDS).mkdir()
        (folder / MANIFEST).write_bytes((arguments.corpus / MANIFEST).read_bytes())
        for number in range(arguments.shards):
            (folder / SHARDS / shard_name(number)).symlink_to(files[number % len(files)].resolve())
        wall, processor = time.perf_counter(), time.process_time()
        summary = summary_of(open_corpus(folder))
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"{arguments.shards} shards, {len(summary.texts):,} texts, {len(summary.words.names):,} different words: "
        f"{wall:.1f} s, {processor:.1f} s of one core, {peak} MiB at most"
    )


if __name__ == "__main__":
    main()
