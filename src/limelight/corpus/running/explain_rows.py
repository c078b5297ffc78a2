"""Explaining many documents with one model: a shard in, answers out.

What a document is told depends on the shard that it is in and on the run's options alone: its seed comes from its id,
arrays are computed on one thread, and how many documents share a batch is fixed beforehand.

`explain_batch` gives the columns of a corpus to engines of others: `datasets.map`, a Spark `pandas_udf`, a loop.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from limelight.attribution.api import check_model, reads_pairs, view_of, views_or_errors
from limelight.attribution.request import Request, Resolved
from limelight.attribution.run import explanations_of_many
from limelight.core.threads import one_thread
from limelight.corpus.running.shard_rows import Answer, Row, as_columns, layout_of
from limelight.corpus.running.source import own_id, problem_of
from limelight.corpus.store.schema import Layout
from limelight.errors import CapabilityError, InputError, LimelightError, shown
from limelight.explainers.exact import ratio_game
from limelight.explainers.method import find, options_of
from limelight.explanation.result import Explanation
from limelight.inputs.document import Text
from limelight.inputs.features import Parts
from limelight.models.interface import Classifier, RatioViewAlong, Removal, View
from limelight.models.outputs import Output

if TYPE_CHECKING:
    from pyarrow import Schema


PROBE = "a good film, but far too long"
"""What is wrong with a call is wrong for every text: it is found on this one."""


@dataclass(frozen=True)
class Questions(Request):
    """What is asked of every document: the arguments of `limelight.compare`."""

    methods: tuple[str, ...] = ()
    memory_bytes: int | None = None
    """What a batch of documents may take on a GPU."""

    def __post_init__(self) -> None:
        for name in self.methods:
            find(name)
        super().__post_init__()


def seed_of(seed: int, id: str) -> int:
    """The seed of a document: it follows from the run's and from the document's id, wherever that stands."""
    digest = hashlib.blake2b(f"{seed}/{id}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1  # 63 bits: what a column of whole numbers holds


@dataclass(frozen=True)
class Shard:
    """Rows that were read: those that can be asked about, and the errors of the others, by their place."""

    rows: Sequence[Row]
    resolved: Mapping[int, Resolved]
    errors: Mapping[int, str]


def explain_rows(model: Classifier, rows: Sequence[Row], questions: Questions) -> list[Answer]:
    """The answer of each method to each row, in their order; a text that fails has its error, and the others go on."""
    return answer(read_rows(model, rows, questions), questions)


def read_rows(model: Classifier, rows: Sequence[Row], questions: Questions) -> Shard:
    """The first half of the work: all that needs no long computation. Another thread may do it ahead of time."""
    methods = [find(name) for name in questions.methods]
    spare = options_of(methods)
    errors: dict[int, str] = {}
    resolved: dict[int, Resolved] = {}
    with one_thread(), no_collection():
        for i, view in _views(model, rows, errors).items():
            try:
                own = questions.resolve(view, methods, skip=True, spare=spare)
                resolved[i] = own.asking(seed=seed_of(questions.seed, rows[i].id))
                if isinstance(view, RatioViewAlong) and any(one.implementation.by_size for one in own.chosen):
                    for question in resolved[i].questions:
                        ratio_game(question)  # the view keeps it
            except LimelightError as error:
                errors[i] = str(error)
    return Shard(rows, resolved, errors)


def answer(shard: Shard, questions: Questions) -> list[Answer]:
    """The second half: the explanations."""
    with one_thread(), no_collection():
        answers = _answered(shard.resolved, questions)
    return [
        Answer(row, name, error=shard.errors[i]) if i in shard.errors else Answer(row, name, *answers[name, i])
        for i, row in enumerate(shard.rows)
        for name in questions.methods
    ]


_collecting = threading.Lock()
_paused = 0


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Python looks for cycles again and again while millions of small objects are made, and finds none: half the time
    of reading. It is as it was when the last one leaves."""
    global _paused, _was_on
    with _collecting:
        if _paused == 0:
            _was_on = gc.isenabled()
            gc.disable()
        _paused += 1
    try:
        yield
    finally:
        with _collecting:
            _paused -= 1
            if _paused == 0 and _was_on:
                gc.enable()


_was_on = True


def _views(model: Classifier, rows: Sequence[Row], errors: dict[int, str]) -> dict[int, View]:
    """A view of each text that can be read; those of a model that reads many share what they can."""
    problems = {i: problem_of(row.text) for i, row in enumerate(rows)}
    errors |= {i: said for i, said in problems.items() if said is not None}
    good: dict[int, Text] = {i: rows[i].text for i in problems if i not in errors}
    views = dict(zip(good, views_or_errors(model, list(good.values())), strict=True))
    errors |= {i: str(view) for i, view in views.items() if isinstance(view, LimelightError)}
    return {i: view for i, view in views.items() if not isinstance(view, LimelightError)}


Said = tuple[tuple[Explanation, ...], str | None]
"""Explanations, or why there are none."""


def _answered(resolved: Mapping[int, Resolved], questions: Questions) -> dict[tuple[str, int], Said]:
    """For each method and text."""
    if not resolved:
        return {}
    if not any(own.skipped for own in resolved.values()):
        with contextlib.suppress(LimelightError):  # one text at least has it: which one is found below
            found = explanations_of_many(list(resolved.values()), questions.memory_bytes)
            return {
                (name, i): (tuple(said), None)
                for name, per_text in zip(questions.methods, found, strict=True)
                for i, said in zip(resolved, per_text, strict=True)
            }
    return {
        (name, i): _alone(own, name, questions.memory_bytes)
        for name in questions.methods
        for i, own in resolved.items()
    }


def _alone(text: Resolved, name: str, memory_bytes: int | None) -> Said:
    try:
        return tuple(explanations_of_many([text.only(name)], memory_bytes)[0][0]), None
    except LimelightError as error:
        return (), str(error)


def check_call(model: Classifier, questions: Questions) -> None:
    """Refuse a call that no text could be explained with, before any work is done."""
    text: Text = (PROBE, PROBE) if reads_pairs(model) else PROBE
    methods = [find(name) for name in questions.methods]
    try:
        with one_thread():
            resolved = questions.resolve(view_of(model, text), methods).asking(seed=0)
            explanations_of_many([resolved], questions.memory_bytes)
    except (InputError, CapabilityError):
        raise
    except LimelightError:  # a number that is not finite, or memory: a matter of the text
        pass


def explain_batch(
    model: Classifier,
    texts: Sequence[Text],
    methods: Sequence[str] = ("lime",),
    *,
    ids: Sequence[object] | None = None,
    keep_text: bool = False,
    target: Any = None,
    features: Any = "words",
    removal: Removal = "mask",
    output: Output | None = None,
    parts: Parts = "both",
    seed: int = 0,
    **options: Any,
) -> dict[str, list[Any]]:
    """For each column of a corpus a list of plain values: one row per text, method and target.

    A text that fails has rows with its error. A text's seed follows from `seed` and its id, as in a run, so the same
    ids give the same numbers, whatever batch they are in. The other arguments are those of `limelight.compare`.
    """
    check_model(model)
    if isinstance(texts, str):
        raise InputError(f"texts must be a list of texts: got {shown(texts)}; write [text] for one")
    if ids is not None and len(ids) != len(texts):
        raise InputError(f"{len(texts)} texts have {len(ids)} ids: give one id for each text")
    names = [own_id(i, text) for i, text in enumerate(texts, start=1)] if ids is None else list(map(str, ids))
    rows = [Row(i, id, text) for i, (id, text) in enumerate(zip(names, texts, strict=True), start=1)]
    chosen = tuple(dict.fromkeys([methods] if isinstance(methods, str) else methods))
    questions = Questions(target, features, removal, output, parts, seed, options=options, methods=chosen)
    layout = layout_of(model, chosen, keep_text=keep_text)
    columns = as_columns(explain_rows(model, rows, questions), layout)
    return {name: [_plain(value) for value in own] for name, own in columns.items()}


def batch_schema(*, keep_text: bool = False, pairs: bool = False) -> Schema:
    """The Arrow types of what `explain_batch` gives: who guesses them from values sees none where all are null."""
    return Layout((), keep_text=keep_text, pairs=pairs).arrow().remove_metadata()


def _plain(value: Any) -> Any:
    """Arrays and tuples as lists, spans as dictionaries of start and end."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if not isinstance(value, tuple):
        return value
    if value and isinstance(value[0], tuple):
        return [[{"start": start, "end": end} for start, end in own] for own in value]
    return list(value)
