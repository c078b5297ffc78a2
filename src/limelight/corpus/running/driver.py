"""limelight.corpus.run(): from files of texts to a folder of explanations, which goes on where it stopped."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from limelight.core.arrays import whole_number
from limelight.core.progress import Progress, for_long_work, working
from limelight.corpus.running.explain_rows import Questions, check_call
from limelight.corpus.running.model_source import Loaded
from limelight.corpus.running.shard_rows import layout_of
from limelight.corpus.running.source import Chosen, Given, Source, find_files
from limelight.corpus.running.workers import Computer, Done, InProcess, Lost, Processes, Ready, Task, Workers
from limelight.corpus.store.hashes import Shards
from limelight.corpus.store.reading import Corpus, duration
from limelight.corpus.store.reading import open as open_corpus
from limelight.corpus.store.run_folder import Folder
from limelight.corpus.store.schema import VERSION, Layout, arrow_library
from limelight.errors import InputError, LimelightError, ParameterError, shown
from limelight.explanation.serialization import written_as_json
from limelight.inputs.features import Parts
from limelight.models.interface import Removal
from limelight.models.outputs import Output
from limelight.storage.run_folder import differences

OWN_SHARD, SHARD = 1000, 50
"""Documents in a shard: of limelight's own models, which take milliseconds, and of all others."""
_ASKED = ("target", "features", "removal", "output", "parts", "seed", "options")
MOST_LOSSES = 3
"""A shard that so many workers did not survive is not given to another one."""


def run(
    data: Given,
    out: str | os.PathLike[str],
    model: Any = None,
    methods: Sequence[str] | str = ("lime",),
    *,
    target: Any = None,
    features: Any = "words",
    removal: Removal = "mask",
    output: Output | None = None,
    parts: Parts = "both",
    seed: int = 0,
    text_column: str = "text",
    second_column: str | None = None,
    id_column: str | None = None,
    label_column: str | None = None,
    label_names: Mapping[str, str] | None = None,
    carry: Sequence[str] = (),
    limit: int | None = None,
    shard_size: int | None = None,
    keep_text: bool = False,
    device: str | None = None,
    dtype: str | None = None,
    truncate: bool = False,
    window: bool = False,
    kind: str | None = None,
    batch_tokens: int | None = None,
    memory_bytes: int | None = None,
    workers: int = 1,
    ray: bool | str = False,
    gpus_per_worker: float = 0.0,
    progress: Progress | None = None,
    **options: Any,
) -> Corpus:
    """Explain every row of `data` and write what is found to the folder `out`, shard by shard.

    `data`: a CSV, TSV, JSONL or Parquet file, a folder of them, a pattern, or a list of these. `model`: what
    `limelight.load` takes, or a model. `methods` and the arguments up to `seed` are those of `limelight.compare`, and
    `options` those of the methods; each document has a seed of its own, made of `seed` and its id.

    `id_column` names the documents, else their row and content do; `label_column` holds the true labels; the columns
    `carry` stand in the result as they are. `shard_size` documents are computed and stored together. `keep_text` stores
    the texts as well.

    The same call again goes on where a run stopped, whatever stopped it; other data, another model, other options or
    versions are refused, and so is a worker that has others. Nothing of the result depends on `workers`, `ray` or
    interruptions. `workers` are processes on this machine, or actors of Ray, where `ray` is the address of a cluster;
    True, or "local", begins one on this machine. Without `progress` standard error says how far it is;
    `limelight.core.progress.SILENT` says nothing.
    """
    progress = for_long_work() if progress is None else progress
    arrow_library()
    if "seconds" in options:
        raise ParameterError(
            "a corpus cannot be limited by seconds, since its results would depend on the machine: use n_samples"
        )
    whole_number("workers", workers, 1)
    if gpus_per_worker and not ray:
        raise ParameterError(
            f"gpus_per_worker is for the actors of Ray: got {shown(gpus_per_worker)} without ray; name a cluster by "
            'ray, or use device="cuda" on this machine'
        )
    names = tuple(dict.fromkeys([methods] if isinstance(methods, str) else methods))
    if not names:
        raise InputError("methods is empty: name at least one")
    chosen = Chosen(
        text_column,
        second_column,
        id_column,
        label_column,
        (carry,) if isinstance(carry, str) else tuple(carry),
        dict(label_names or {}),
        None if limit is None else whole_number("limit", limit, 1),
    )
    source, folder = Source(find_files(data), chosen), Folder(Path(out))
    loading = {
        "device": device,
        "dtype": dtype,
        "truncate": truncate or None,
        "window": window or None,
        "kind": kind,
        "pairs": second_column is not None or None,
        "batch_tokens": batch_tokens,
    }
    with folder.writing():
        loaded = Loaded.of(model, loading)
        identity = loaded.identity(memory_bytes)
        memory = identity["computing"]["memory_bytes"]
        questions = Questions(
            target, features, removal, output, parts, seed, options=options, methods=names, memory_bytes=memory
        )
        check_call(loaded.model, questions)
        if label_column is not None and loaded.kind == "regression":
            raise InputError(
                f"a regression gives a number, so no label can be right or wrong: got label_column={label_column!r}; "
                "name it by carry, to have it in the result"
            )
        usual = OWN_SHARD if loaded.is_own else SHARD
        size = whole_number("shard_size", usual if shard_size is None else shard_size, 1)
        manifest, layout, shards = _manifest(folder, source, loaded, identity, questions, size, keep_text, progress)
        done = folder.done(shards, progress)
        todo = [number for number in range(shards.count) if number not in done]
        if todo:
            rows = manifest["input"]["rows"]
            left = sum(min(size, rows - number * size) for number in todo)
            tasks = _tasks(source, layout, size, set(todo), rows)
            pool = _begun(loaded, questions, layout, min(workers, len(todo)), ray, gpus_per_worker, progress)
            try:
                _work(folder, shards, tasks, pool, identity, rows, left, progress)
            finally:
                pool.close()
    return open_corpus(out)


def _manifest(
    folder: Folder,
    source: Source,
    loaded: Loaded,
    identity: Mapping[str, Any],
    questions: Questions,
    size: int,
    keep_text: bool,
    progress: Progress,
) -> tuple[dict[str, Any], Layout, Shards]:
    """What this run is asked for, as the folder has it: written down, or found to be the same."""
    asked = {
        "methods": list(questions.methods),
        **{name: getattr(questions, name) for name in _ASKED},
        "features": _plain(questions.features),
    }
    about = {
        "corpus": VERSION,
        "asked": written_as_json(asked, "the options"),
        "input": {"files": source.fingerprint(), **source.chosen.to_json()},
        **identity,
    }
    found = folder.manifest()
    if found is not None:
        before, run = found
        rest = {name: value for name, value in before.items() if name in about}
        rest["input"] = {name: value for name, value in before["input"].items() if name != "rows"}
        now = {**about, "shards": {"size": size}, "keep_text": keep_text}
        then = {**rest, "shards": {"size": before["shards"]["size"]}, "keep_text": before["layout"].get("keep_text")}
        folder.check_same(then, now)
        return before, Layout.from_json(before["layout"], folder.path), Shards(run, before["shards"]["count"])
    survey = source.survey(loaded.model.labels, progress)
    layout = layout_of(loaded.model, questions.methods, survey.carried, keep_text=keep_text)
    about["input"]["rows"] = survey.rows
    count = -(-survey.rows // size)
    manifest = {**about, "layout": layout.to_json(), "shards": {"size": size, "count": count}}
    written, run = folder.write_manifest(manifest)
    return written, layout, Shards(run, count)


def _plain(features: Any) -> Any:
    if callable(features):
        raise InputError("a corpus takes no function for features, which cannot be written down: name a kind of them")
    if not isinstance(features, str | tuple) or not all(isinstance(own, str) for own in features):
        raise InputError(f"a corpus takes a kind of features, or two of them: got {shown(features)}")
    return features if isinstance(features, str) else list(features)


def _tasks(source: Source, layout: Layout, size: int, wanted: set[int], rows: int) -> Iterator[Task]:
    """The shards that are to be computed, in their order; the others are read over."""
    stream, last = source.rows(layout.carried), max(wanted)
    for number in range(last + 1):
        own = list(islice(stream, min(size, rows - number * size)))
        if number in wanted:
            yield Task(number, own)


def _begun(
    loaded: Loaded,
    questions: Questions,
    layout: Layout,
    workers: int,
    ray: bool | str,
    gpus_per_worker: float,
    progress: Progress,
) -> Workers:
    if not ray and workers == 1:
        return InProcess(Computer(loaded, questions, layout), ahead=loaded.device.startswith("cuda"))
    if loaded.loading is None:
        raise InputError(
            "workers load the model by its name, and this one was given as an object: give the name of a folder, or "
            "workers=1"
        )
    if ray:
        from limelight.corpus.running.on_ray import LOCAL, RayActors

        address = ray if isinstance(ray, str) and ray != LOCAL else None
        return RayActors(workers, loaded.loading, questions, layout, address, gpus_per_worker, progress.say)
    return Processes(workers, loaded.loading, questions, layout)


def _work(
    folder: Folder,
    shards: Shards,
    tasks: Iterator[Task],
    pool: Workers,
    identity: Mapping[str, Any],
    documents: int,
    left: int,
    progress: Progress,
) -> None:
    """Give tasks to the workers and write what comes back, until nothing is left."""
    speed = _Speed(left)
    losses: dict[int, int] = {}
    given: dict[int, Task] = {}
    again: list[Task] = []
    with working(progress, "explaining", documents, documents - left):
        while True:
            while pool.room:
                task = again.pop() if again else next(tasks, None)
                if task is None:
                    break
                given[task.number] = task
                folder.note_time(shard=task.number, event="begun")
                pool.give(task)
            if not pool.busy:
                return
            for answer in pool.answers():
                if isinstance(answer, Ready):
                    _check_worker(folder, answer, identity)
                    continue
                task = given.pop(answer.number)
                if isinstance(answer, Lost):
                    _count_loss(losses, task, answer)
                    progress.say(f"{answer.why}: its shard {task.number} is computed again")
                    again.append(task)
                    continue
                folder.write_shard(answer.number, shards.seal(answer.number, answer.content))
                folder.note_time(
                    shard=answer.number,
                    event="written",
                    documents=answer.documents,
                    errors=answer.errors,
                    seconds=round(answer.seconds, 4),
                    cpu_seconds=round(answer.cpu_seconds, 4),
                )
                progress.advance(answer.documents, speed.note(answer))


def _check_worker(folder: Folder, worker: Ready, identity: Mapping[str, Any]) -> None:
    """Refuse a worker that is not what the manifest says: its shards would be another run's."""
    if others := differences(worker.identity, identity, "{} is {} there and {} in the manifest"):
        raise LimelightError(
            f"worker process {worker.process} on {worker.host} is not what the manifest of {folder.path} says: "
            f"{others}; let all workers have the manifest's versions, model and kind of device, and give the same "
            "command to go on: what was written stays"
        )


def _count_loss(losses: dict[int, int], task: Task, lost: Lost) -> None:
    losses[task.number] = losses.get(task.number, 0) + 1
    if losses[task.number] >= MOST_LOSSES:
        first, last = task.rows[0].number, task.rows[-1].number
        raise LimelightError(
            f"{MOST_LOSSES} workers did not survive shard {task.number}, rows {first} to {last} (the last one: "
            f"{lost.why}): memory may be short, so use fewer workers or a smaller shard_size; give the same command to "
            "go on"
        )


class _Speed:
    """Documents a second, errors so far and the time that is left."""

    def __init__(self, left: int) -> None:
        self._left, self._done, self._errors, self._started = left, 0, 0, time.monotonic()

    def note(self, done: Done) -> str:
        self._done += done.documents
        self._errors += done.errors
        rate = self._done / max(time.monotonic() - self._started, 1e-9)
        seconds = (self._left - self._done) / rate
        errors = f"{self._errors:,} error{'' if self._errors == 1 else 's'}"
        return f"{rate:,.1f} documents/s, {errors}, {duration(seconds)} left"
