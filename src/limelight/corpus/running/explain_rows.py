"""Explaining many documents with one model: a shard in, answers out.

What a document is told depends on the shard that it is in and on the run's options alone: its seed comes from its id,
arrays are computed on one thread, and how many documents share a batch is fixed beforehand.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from limelight.attribution.api import reads_pairs, view_of
from limelight.attribution.request import Prepared, Request
from limelight.core.progress import SILENT
from limelight.core.threads import one_thread
from limelight.corpus.running.shard_rows import Answer, Row
from limelight.corpus.running.source import problem_of
from limelight.errors import CapabilityError, InputError, LimelightError
from limelight.explainers.exact import BY_SIZE, ratio_game
from limelight.explainers.method import Method, find
from limelight.explanation.result import Explanation
from limelight.inputs.document import Text
from limelight.models.interface import Classifier, View

PROBE = "a good film, but far too long"
"""What is wrong with a call is wrong for every text: it is found on this one."""


@dataclass(frozen=True)
class Questions:
    """What is asked of every document: methods, and the arguments of `limelight.compare`."""

    methods: tuple[str, ...]
    target: Any = None
    features: Any = "words"
    removal: Any = "mask"
    output: Any = None
    parts: Any = "both"
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    memory_bytes: int | None = None
    """What a batch of documents may take on a GPU."""

    def __post_init__(self) -> None:
        for name in self.methods:
            find(name)
        self.asked  # noqa: B018 - it checks the arguments

    @property
    def asked(self) -> Request:
        return Request(
            self.target, self.features, self.removal, self.output, self.parts, self.seed, SILENT, self.options
        )


def seed_of(seed: int, id: str) -> int:
    """The seed of a document: it follows from the run's and from the document's id, wherever that stands."""
    digest = hashlib.blake2b(f"{seed}/{id}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1  # 63 bits: what a column of whole numbers holds


@dataclass(frozen=True)
class Shard:
    """Rows that were read: those that can be asked about, and the errors of the others, by their place."""

    rows: Sequence[Row]
    prepared: Mapping[int, Prepared]
    errors: Mapping[int, str]


def explain_rows(model: Classifier, rows: Sequence[Row], questions: Questions) -> list[Answer]:
    """What each method says of each row, in their order; a text that fails has its error, and the others go on."""
    return answer(read_rows(model, rows, questions), questions)


def read_rows(model: Classifier, rows: Sequence[Row], questions: Questions) -> Shard:
    """The first half of the work: all that needs no long computation. Another thread may do it ahead of time."""
    asked = questions.asked
    by_size = any(
        implementation.many in BY_SIZE for name in questions.methods for implementation in find(name).implementations
    )
    errors: dict[int, str] = {}
    prepared: dict[int, Prepared] = {}
    with one_thread(), no_collection():
        for i, view in _views(model, rows, errors).items():
            try:
                prepared[i] = asked.prepared(view, seed_of(questions.seed, rows[i].id))
                if by_size and questions.removal == "mask" and hasattr(view, "ratio_game_along"):
                    for question in prepared[i].questions:
                        if question.quantity.is_linear:
                            ratio_game(question)  # the view keeps it
            except LimelightError as error:
                errors[i] = str(error)
    return Shard(rows, prepared, errors)


def answer(shard: Shard, questions: Questions) -> list[Answer]:
    """The second half: what the methods say."""
    asked, methods = questions.asked, [find(name) for name in questions.methods]
    with one_thread(), no_collection():
        answers = _answered(asked, shard.prepared, methods, questions.memory_bytes)
    return [
        Answer(row, method.id, error=shard.errors[i])
        if i in shard.errors
        else Answer(row, method.id, *answers[method.id, i])
        for i, row in enumerate(shard.rows)
        for method in methods
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
    good: dict[int, Text] = {}
    for i, row in enumerate(rows):
        problem = problem_of(row.text)
        if problem is None:
            good[i] = row.text
        else:
            errors[i] = problem
    together = getattr(model, "views_or_errors", None)
    texts = list(good.values())
    found = [_view_or_error(model, text) for text in texts] if together is None else together(texts)
    views: dict[int, View] = {}
    for i, view in zip(good, found, strict=True):
        if isinstance(view, LimelightError):
            errors[i] = str(view)
        else:
            views[i] = view
    return views


def _view_or_error(model: Classifier, text: Text) -> View | LimelightError:
    try:
        return view_of(model, text)
    except LimelightError as error:
        return error


Said = tuple[tuple[Explanation, ...], str | None]
"""Explanations, or why there are none."""


def _answered(
    asked: Request, prepared: Mapping[int, Prepared], methods: Sequence[Method], memory_bytes: int | None
) -> dict[tuple[str, int], Said]:
    """For each method and text."""
    if not prepared:
        return {}
    try:
        found = asked.of_prepared(list(prepared.values()), methods, memory_bytes)
    except LimelightError:  # of one text at least: which, is found one by one
        return {
            (method.id, i): _alone(asked, text, method, methods, memory_bytes)
            for method in methods
            for i, text in prepared.items()
        }
    return {
        (method.id, i): (tuple(said), None)
        for method, per_text in zip(methods, found, strict=True)
        for i, said in zip(prepared, per_text, strict=True)
    }


def _alone(asked: Request, text: Prepared, method: Method, methods: Sequence[Method], memory_bytes: int | None) -> Said:
    try:
        return tuple(asked.of_prepared([text], [method], memory_bytes, beside=methods)[0][0]), None
    except LimelightError as error:
        return (), str(error)


def check_call(model: Classifier, questions: Questions) -> None:
    """Refuse what no text could be explained with, before any work is done."""
    text: Text = (PROBE, PROBE) if reads_pairs(model) else PROBE
    try:
        with one_thread():
            view = view_of(model, text)
            questions.asked.of_prepared(
                [questions.asked.prepared(view, 0)], [find(name) for name in questions.methods], questions.memory_bytes
            )
    except (InputError, CapabilityError):
        raise
    except LimelightError:  # a number that is not finite, or memory: a matter of the text
        pass
