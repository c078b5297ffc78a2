"""Asking a function: in batches, counted, each text once where answers are kept, and with an error that names a text.

A function may be slow or cost money. So what it has answered is not lost where something goes wrong later: a batch is
kept before the next one is asked, the good rows of an answer also where others are bad, and the halves of a batch that
are asked alone in order to find the text that the function fails on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from limelight.core.arrays import Floats, Integers
from limelight.errors import InputError, LimelightError, ParameterError, shortened, shown
from limelight.inputs.document import Text
from limelight.models.blackbox.answers import DOUBLE, SHOWN, Answer, Checked, answer_of, checked, logits_of
from limelight.models.blackbox.cache import AnswerCache, key_of
from limelight.models.blackbox.identity import Unwritable, full_name
from limelight.models.interface import Answered
from limelight.models.outputs import Kind

Function = Callable[[list[Any]], Any]
"""Texts in, or pairs of them; rows of numbers out."""

# One for all functions: it is held for an addition, and a function that has none of its own can be pickled.
_COUNTING = threading.Lock()


class Failed(Exception):
    """The function raised an exception, which is the `__cause__` of this one."""


@dataclass
class Calls:
    """A function whose texts are counted: it is given `most` of them at most.

    `unit`: how far answers were rounded, the most so far, as a part of each. `identity`: the name that a cache knows
    the function by, where the values that it holds are part of it.
    """

    function: Function
    most: int | None
    asked: int = 0
    unit: float = 0.0
    identity: str | None = None

    def check_identity(self) -> None:
        """Refuse to keep answers of a function that holds other values than when its cache was opened."""
        try:
            now = None if self.identity is None else full_name(self.function)
        except Unwritable:
            now = ""
        if now != self.identity:
            raise InputError(
                "the function holds other values than when it was wrapped, and its cache is for those: wrap it again "
                'where its prompt or a setting has changed; where it only counts, give it a name, name="…"'
            )

    @property
    def room(self) -> float:
        """How many texts it may still be given."""
        return np.inf if self.most is None else self.most - self.asked

    def __call__(self, texts: Sequence[Text], kept: str = "") -> Answer:
        """What it returns, as numbers. `kept`, where there is no room left: what is not lost."""
        with _COUNTING:
            if len(texts) > self.room:
                raise ParameterError(
                    f"max_calls={self.most} does not suffice: the function was asked about {self.asked:,} texts, and "
                    f"at least {len(texts):,} more are needed{kept}; raise max_calls, or ask for fewer samples"
                )
            self.asked += len(texts)
        try:
            answer = self.function(list(texts))
            if isinstance(answer, Iterator):
                answer = list(islice(answer, len(texts) + 1))
        except LimelightError:
            raise
        except Exception as error:
            raise Failed from error
        numbers = answer_of(answer)
        self.unit = max(self.unit, numbers.unit)
        return numbers


def first_answer(calls: Calls, text: Text) -> Answer:
    """What a function of which nothing is known yet says of a text."""
    try:
        return calls([text])
    except Failed as failed:
        raise _failure(failed, 1, f"make it take {shown(text)}") from failed.__cause__


def _failure(failed: Failed, texts: int, what_to_do: str) -> InputError:
    error = failed.__cause__
    where = f"on {texts} texts at once" if texts > 1 else "on a text"
    return InputError(f"the function failed {where}, {type(error).__name__}: {_said(error)}; {what_to_do}")


@dataclass(frozen=True)
class Part:
    """The answers to the texts at `places`; the function was asked about `asked` of them, the others were known."""

    places: Integers
    rows: Floats
    asked: int


@dataclass(frozen=True)
class Asker:
    """A function of one kind with these labels, asked about any number of texts."""

    calls: Calls
    labels: tuple[str, ...]
    kind: Kind
    batch_texts: int
    cache: AnswerCache | None = None

    def all_of(self, texts: Sequence[Text]) -> Floats:
        """The answers to all texts: (n, labels)."""
        rows = np.empty((len(texts), len(self.labels)))
        for part in self.parts(texts):
            rows[part.places] = part.rows
        return rows

    def logits(self, texts: Sequence[Text], time: int | str = 0) -> Answered:
        """The logits of all texts, and how many of them the function was given."""
        logits, asked = np.empty((len(texts), len(self.labels))), 0
        for part in self.parts(texts, time):
            logits[part.places] = logits_of(part.rows, self.kind)
            asked += part.asked
        return Answered(logits, asked)

    def parts(self, texts: Sequence[Text], time: int | str = 0) -> Iterator[Part]:
        """The same part by part, as soon as each is known. `time`: see `key_of`."""
        if self.cache is None:
            for start in range(0, len(texts), self.batch_texts):
                own = texts[start : start + self.batch_texts]
                yield Part(np.arange(start, start + len(own)), self._ask(own), len(own))
            return
        places: dict[bytes, list[int]] = {}
        for i, text in enumerate(texts):
            places.setdefault(key_of(text, time), []).append(i)
        known = self.cache.known(list(places))
        if known:
            yield _part(known, places, 0)
        new = [key for key in places if key not in known]
        for start in range(0, len(new), self.batch_texts):
            keys = new[start : start + self.batch_texts]
            known = self.cache.known(keys)  # others may have asked by now
            unknown = [key for key in keys if key not in known]
            if unknown:
                rows = self._ask_what_there_is_room_for([texts[places[key][0]] for key in unknown], time)
                known.update(zip(unknown, rows, strict=True))
            yield _part(known, places, len(unknown))

    def _ask_what_there_is_room_for(self, texts: list[Text], time: int | str) -> Floats:
        """Where not all may be asked for, the first ones are there the next time."""
        room = self.calls.room
        if not 0 < room < len(texts):
            return self._ask(texts, time)
        return np.concatenate([self._ask(part, time) for part in (texts[: int(room)], texts[int(room) :])])

    def _ask(self, texts: Sequence[Text], time: int | str = 0) -> Floats:
        """One call of the function."""
        kept = ""
        if self.cache is not None:
            self.calls.check_identity()
            kept = f"; what it has answered is kept in {self.cache.where}"
        try:
            answer = self.calls(texts, kept)
        except Failed as failed:
            raise _failure(failed, len(texts), f"{self._culprit(texts, time)}{kept}") from failed.__cause__
        received = self.received(texts, answer, time)
        if received.problem is not None:
            raise received.problem
        return received.rows

    def received(self, texts: Sequence[Text], answer: Answer, time: int | str = 0) -> Checked:
        """An answer of the function, checked, and its good rows kept."""
        own = checked(answer, texts, self.labels, self.kind)
        if self.cache is None or not own.good.any():
            return own
        if answer.unit > DOUBLE:
            self.cache.keep_unit(answer.unit)
        rows = own.rows.copy()
        keys = [key_of(text, time) for text, is_good in zip(texts, own.good, strict=True) if is_good]
        rows[own.good] = self.cache.keep(keys, rows[own.good])
        return replace(own, rows=rows)

    def _culprit(self, texts: Sequence[Text], time: int | str) -> str:
        """A text that the function fails on, found by halves; a batch may also fail where none of its texts does.

        No text is asked about again whose answer is known, and a half is not asked where the other one did not fail.
        """
        suspects, is_certain = texts, True
        while len(suspects) > 1 or not is_certain:
            half = suspects[: max(1, len(suspects) // 2)]
            if self.calls.room < len(half):
                return f"max_calls={self.calls.most} leaves no room to find out which of {len(suspects)} texts it was"
            is_certain = self._fails(half, time)
            if is_certain:
                suspects = half
            elif len(suspects) == 1:
                return f"one text at a time does not fail, such as {shown(suspects[0])}: try a smaller batch_texts"
            else:
                suspects = suspects[len(half) :]
        return f"make it take {shown(suspects[0])}"

    def _fails(self, texts: Sequence[Text], time: int | str) -> bool:
        try:
            answer = self.calls(texts)
        except Failed:
            return True
        self.received(texts, answer, time)
        return False


def _part(known: dict[bytes, Floats], places: dict[bytes, list[int]], asked: int) -> Part:
    """Each answer at all places of its text."""
    counts = [len(places[key]) for key in known]
    at = np.array([place for key in known for place in places[key]], dtype=np.int64)
    return Part(at, np.repeat(np.array(list(known.values())), counts, axis=0), asked)


def _said(error: BaseException | None) -> str:
    try:
        return shortened(str(error), SHOWN) or "without a message"
    except Exception:  # the message is the function's own code
        return "with a message that cannot be read"
