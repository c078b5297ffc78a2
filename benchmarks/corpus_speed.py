"""How fast a corpus is explained: from a file of texts to the columns of its shards.

    python benchmarks/corpus_speed.py exact reviews.jsonl --model paper-model --device cuda
    python benchmarks/corpus_speed.py lime reviews.jsonl --model minilm-imdb --device cuda --documents 1000
    python benchmarks/corpus_speed.py workers reviews.jsonl --documents 2000
    python benchmarks/corpus_speed.py capacity reviews.parquet --model minilm-imdb --method lime --samples 1000

exact    Exact LIME (lime-limit) and Shapley values with a model of limelight's own: reading and folding of the
         next shard go on beside the computation of this one, as in a run on a GPU. Where pyarrow is there, writing the
         columns as Parquet is measured as well.
lime     LIME over many texts of a Hugging Face model, against the same texts one by one through limelight.explain.
workers  The whole run to Parquet, with 1 and with 2 worker processes: documents a second, without their start, by the
         clock and by the time that the processors were theirs, which others on the machine change little.
capacity Documents an hour on a CPU, of any model and method: what a worker does with a shard, from rows to the bytes of
         its file, in as many processes as there are workers, all at once. The documents stand at even steps of the
         file's order by length. After each shard the same process runs the bare model over the same texts, so that
         what others take of the machine is in both. Long texts are cut at the model's length.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import limelight
from limelight.core.threads import one_thread
from limelight.corpus.running.explain_rows import Questions, answer, explain_rows, read_rows
from limelight.corpus.running.model_source import Loaded
from limelight.corpus.running.shard_rows import Row, as_columns, as_parquet
from limelight.corpus.running.source import Chosen, Source, find_files
from limelight.corpus.running.workers import Computer, Task
from limelight.corpus.store.schema import Layout
from limelight.errors import ExplanationWarning
from limelight.explainers.method import find
from limelight.models.load import is_huggingface

EXACT = ("lime-limit", "shapley")
COPIES = 8
"""Of a text in one bare forward: a batch without padding, as the variants of a text are."""
HOUR = 3600.0


def layout_of(loaded: Loaded, methods: tuple[str, ...]) -> Layout:
    names = {name: (find(name).label, find(name).signed) for name in methods}
    return Layout(tuple(loaded.model.labels), loaded.kind, names)


def shards(source: Source, size: int) -> Iterator[list[Row]]:
    rows = source.rows({})
    while shard := list(islice(rows, size)):
        yield shard


def exact(arguments: argparse.Namespace) -> None:
    loaded = Loaded.of(arguments.model, {"device": arguments.device})
    computing = loaded.computing(None)
    questions = Questions(methods=EXACT, memory_bytes=computing["memory_bytes"])
    explain_rows(loaded.model, [Row(1, "1", "a film to begin with, which wakes everything up")], questions)
    layout = layout_of(loaded, EXACT)
    started = time.perf_counter()
    source = Source(find_files(arguments.data), Chosen(limit=arguments.documents))
    rows = source.survey(loaded.model.labels).rows
    surveyed = time.perf_counter()
    columns, reading, computed, put = [], 0.0, 0.0, 0.0
    with ThreadPoolExecutor(1) as reader:
        tasks = shards(source, arguments.shard_size)
        ahead = reader.submit(read_rows, loaded.model, next(tasks), questions)
        while ahead is not None:
            t0 = time.perf_counter()
            shard = ahead.result()
            following = next(tasks, None)
            ahead = None if following is None else reader.submit(read_rows, loaded.model, following, questions)
            t1 = time.perf_counter()
            answers = answer(shard, questions)
            t2 = time.perf_counter()
            columns.append(as_columns(answers, layout))
            reading, computed, put = reading + t1 - t0, computed + t2 - t1, put + time.perf_counter() - t2
            del answers, shard
    done = time.perf_counter()
    bounds = [bound for own in columns for bound in own["bound"] if bound is not None]
    features = [len(own) for shard in columns for own in shard["features"] if own is not None]
    print(f"{rows:,} documents, {np.mean(features):.0f} features on average, {computing['device']}; {loaded.model}")
    print(f"look at the data {surveyed - started:.2f} s; waiting for reading and folding {reading:.2f} s; values and "
          f"explanations {computed:.2f} s; columns {put:.2f} s")  # fmt: skip
    print(
        f"{done - started:.2f} s from the file to the shards' arrays, {rows / (done - started):,.0f} documents a second"
    )
    print(f"largest bound of a weight's error {max(bounds):.1e}")
    if importlib.util.find_spec("pyarrow") is not None:
        first = next(shards(source, arguments.shard_size))
        answers = explain_rows(loaded.model, first, questions)
        as_parquet(answers[:2], layout)  # pyarrow is imported
        t0 = time.perf_counter()
        content = as_parquet(answers, layout)
        seconds = (time.perf_counter() - t0) / len(first)
        print(f"as Parquet {1e3 * seconds:.3f} ms and {len(content) / len(first):,.0f} bytes a document")


def lime(arguments: argparse.Namespace) -> None:
    loaded = Loaded.of(arguments.model, {"device": arguments.device, "truncate": True})
    questions = Questions(methods=("lime",), options={"n_samples": arguments.samples})
    source = Source(find_files(arguments.data), Chosen())
    count = source.survey(loaded.model.labels).rows
    every = max(1, count // arguments.documents)
    rows = list(islice(source.rows({}), 0, every * arguments.documents, every))
    alone = rows[:: max(1, len(rows) // arguments.alone)][: arguments.alone]
    print(f"{len(rows):,} documents, LIME with {arguments.samples:,} samples; {loaded.model}", flush=True)
    explain_rows(loaded.model, rows[:2], questions)
    t0 = time.perf_counter()
    for row in alone:
        limelight.explain(loaded.model, row.text, "lime", n_samples=arguments.samples)
    t1 = time.perf_counter()
    answers = explain_rows(loaded.model, alone, questions)
    t2 = time.perf_counter()
    print(f"the same {len(alone)} texts: one by one {len(alone) / (t1 - t0):.2f} a second, as a shard "
          f"{len(alone) / (t2 - t1):.2f} a second, {(t1 - t0) / (t2 - t1):.0%} of the former", flush=True)  # fmt: skip
    started = time.perf_counter()
    evaluations = 0
    for start in range(0, len(rows), arguments.shard_size):
        answers = explain_rows(loaded.model, rows[start : start + arguments.shard_size], questions)
        evaluations += sum(own.evaluations or 0 for one in answers for own in one.explanations)
        done, seconds = min(start + arguments.shard_size, len(rows)), time.perf_counter() - started
        if done == len(rows) or (start // arguments.shard_size) % 4 == 0:
            print(f"{done:,} documents, {done / seconds:.2f} a second, {evaluations / seconds:,.0f} inputs a second",
                  flush=True)  # fmt: skip


def workers(arguments: argparse.Namespace) -> None:
    from limelight.corpus.running.driver import run

    here = Path(tempfile.mkdtemp(prefix="corpus-speed-"))
    try:
        for count in (1, 2):
            out = here / str(count)
            limit = 2 * arguments.shard_size * max(1, arguments.documents // (2 * arguments.shard_size))
            run(arguments.data, out, arguments.model, arguments.method.split(","), device="cpu", limit=limit,
                shard_size=arguments.shard_size, workers=count)  # fmt: skip
            lines = [json.loads(line) for line in (out / "times.jsonl").read_text().splitlines()]
            written = [line for line in lines if line["event"] == "written"]
            # A worker's first shard waits for its compiled code: the others are what a long run is made of.
            steady = written[count:]
            documents = sum(own["documents"] for own in steady)
            rate = count * documents / sum(own["seconds"] for own in steady)
            free = count * documents / sum(own["cpu_seconds"] for own in steady)
            print(
                f"{count} worker{'s' * (count > 1)}: {limit:,} documents, {rate:,.1f} a second by the clock, "
                f"{free:,.1f} by the time that the processors were theirs",
                flush=True,
            )
    finally:
        shutil.rmtree(here)


# ── capacity ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Measured:
    """A shard in one process; the bare model's times are those of one forward per document."""

    documents: int
    seconds: float
    cpu_seconds: float
    errors: int
    evaluations: float
    features: float
    bare_seconds: float
    bare_cpu_seconds: float


@dataclass(frozen=True)
class Worker:
    loaded: Loaded
    questions: Questions
    layout: Layout

    def measure(self, rows: Sequence[Row]) -> Measured:
        import pyarrow.parquet

        done = Computer(self.loaded, self.questions, self.layout).compute(Task(0, rows))
        file = pyarrow.parquet.read_table(pyarrow.BufferReader(done.content), columns=["evaluations", "features"])
        evaluations = sum(own or 0 for own in file["evaluations"].to_pylist())
        features = np.mean([len(own) for own in file["features"].to_pylist() if own is not None] or [0])
        bare = self._bare([row.text for row in rows])
        return Measured(len(rows), done.seconds, done.cpu_seconds, done.errors, evaluations, float(features), *bare)

    def _bare(self, texts: Sequence[Any]) -> tuple[float, float]:
        """Seconds by the clock and of the processor, for one forward of each text on one thread."""
        import torch

        model: Any = self.loaded.model
        clocks = time.perf_counter(), time.process_time()
        copies = 1 if self.loaded.is_own else COPIES
        with one_thread(), torch.inference_mode():
            if self.loaded.is_own:
                model.predict_logits(texts)
            else:
                for text in texts:
                    cut = {"truncation": True, "max_length": model.max_length}
                    model.model(**model.tokenizer([text] * COPIES, return_tensors="pt", **cut))
        seconds, cpu_seconds = time.perf_counter() - clocks[0], time.process_time() - clocks[1]
        return seconds / copies, cpu_seconds / copies


_worker: Worker | None = None


def _begin(model: str | None, methods: tuple[str, ...], options: dict[str, Any]) -> None:
    """In each process: the model, and a text that wakes everything up."""
    global _worker
    warnings.simplefilter("ignore", ExplanationWarning)
    loaded = Loaded.of(model, {"device": "cpu", "truncate": is_huggingface(model) or None})
    _worker = Worker(loaded, Questions(methods=methods, options=options), layout_of(loaded, methods))
    _worker.measure([Row(1, "1", "a film to begin with, which wakes everything up")])


def _measure(rows: Sequence[Row]) -> Measured:
    assert _worker is not None
    return _worker.measure(rows)


def capacity(arguments: argparse.Namespace) -> None:
    methods = tuple(arguments.method.split(","))
    options = {} if arguments.samples is None else {"n_samples": arguments.samples}
    rows = sorted(Source(find_files(arguments.data), Chosen()).rows({}), key=lambda row: -len(row.text))
    places = (np.arange(arguments.documents) + 0.5) / arguments.documents * len(rows)
    chosen = [rows[int(place)] for place in places]
    size, count = arguments.shard_size, arguments.workers
    tasks = [chosen[i :: -(-len(chosen) // size)] for i in range(-(-len(chosen) // size))]
    os.environ["OMP_NUM_THREADS"] = "1"  # as a run gives it to its workers
    load = os.getloadavg()[0]
    with ProcessPoolExecutor(
        count, multiprocessing.get_context("spawn"), _begin, (arguments.model, methods, options)
    ) as pool:
        measured = list(pool.map(_measure, tasks))
    documents = sum(own.documents for own in measured)

    def mean(name: str) -> float:
        return sum(getattr(own, name) for own in measured) / documents

    each = np.array([own.cpu_seconds / own.documents for own in measured])
    quartiles = ", ".join(f"{value:.3g}" for value in np.quantile(each, [0.0, 0.25, 0.5, 0.75, 1.0]))
    words = np.mean([own.features for own in measured])
    asked = f"{','.join(methods)} {options or ''}".strip()
    errors = sum(own.errors for own in measured)
    clock, cpu, bare = mean("seconds"), mean("cpu_seconds"), mean("bare_cpu_seconds")
    print(f"{documents:,} documents in {len(measured):,} shards, {count} processes of one thread; {asked}; "
          f"{errors} errors; {arguments.model or 'the embedded model'}")  # fmt: skip
    print(f"a document: {words:.0f} features, {mean('evaluations'):,.0f} inputs; {clock:.3g} s by the clock, {cpu:.3g} "
          f"s of a processor; over shards (least, quartiles, most): {quartiles} s")  # fmt: skip
    print(f"the bare model: {mean('bare_seconds'):.3g} s by the clock, {bare:.3g} s of a processor; an explanation is "
          f"{cpu / bare:,.0f} of its forwards")  # fmt: skip
    print(f"an hour: {count * HOUR / clock:,.0f} documents by the clock, {count * HOUR / cpu:,.0f} by the time that "
          f"the processors were theirs; load {load:.1f} before, {os.getloadavg()[0]:.1f} after")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["exact", "lime", "workers", "capacity"])
    parser.add_argument("data")
    parser.add_argument("--model", default=None)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--documents", type=int, default=None)
    parser.add_argument("--shard-size", type=int, default=None)
    parser.add_argument("--samples", type=int, default=None, help="default: 1,000 of lime, else what a method takes")
    parser.add_argument("--alone", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--method", default=",".join(EXACT))
    arguments = parser.parse_args()
    if arguments.shard_size is None:
        arguments.shard_size = {"exact": 1000, "lime": 50, "workers": 200, "capacity": 1}[arguments.part]
    if arguments.samples is None and arguments.part == "lime":
        arguments.samples = 1000
    if arguments.documents is None and arguments.part != "exact":
        arguments.documents = 1000
    warnings.simplefilter("ignore", ExplanationWarning)
    {"exact": exact, "lime": lime, "workers": workers, "capacity": capacity}[arguments.part](arguments)


if __name__ == "__main__":
    main()
