"""Company: whether the answer to a text depends on the texts that a function is given beside it.

A function that pads the texts of a batch to one length, or normalises by the batch, answers otherwise about a text in a
batch than about the text alone. A short text shows it beside a long one. A function that draws lots differs too, but
it also differs from itself: where an answer moved, both are asked again, alone and together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from limelight.core.arrays import Floats
from limelight.errors import InputError, NumericalError
from limelight.inputs.document import Document, Text
from limelight.models.blackbox.answers import DOUBLE
from limelight.models.blackbox.asking import Asker
from limelight.models.outputs import Kind

_REPEATED = 1e-3
"""Of a logit: batches of half precision round by as much inside a model whose answers are in single precision."""
_ROUNDED = 1e-5
"""Of a number of any size, as a part of it."""
_ROUNDINGS = 8.0
"""Roundings of an answer in half precision that its batch may move it by, as parts of the largest logit."""
ALONE_AGAIN, _TOGETHER_AGAIN = 4, 2
"""Repetitions that tell company from noise: a function that repeats each answer by chance, half of the time, is taken
for one that repeats itself in one of 64 texts."""


def moved(one: Floats, other: Floats, kind: Kind, unit: float = DOUBLE) -> float:
    """How far two answers of logits to the same text are apart; 0 where that is rounding, of a part `unit` of each."""
    apart = float(np.abs(one - other).max())
    largest = float(np.maximum(np.abs(one), np.abs(other)).max())
    if kind == "regression":
        limit = max(_ROUNDED, _ROUNDINGS * unit) * largest
    else:
        limit = max(_REPEATED, _ROUNDINGS * unit * max(1.0, largest))
    return apart if apart > limit else 0.0


@dataclass
class Company:
    """A function asked about a short text alone and beside the whole one.

    `whole`: the logits of the whole text, asked alone, where they are known; `asked` counts what it was given.
    """

    asker: Asker
    document: Document
    whole: Floats | None
    asked: int = 0

    def moves(self) -> float:
        """How far company moves the logits of a text; 0 where that is rounding, noise, or not to be found out."""
        if self.asker.batch_texts < 2:
            return 0.0
        try:
            return self._moves()
        except (InputError, NumericalError):  # it does not read such texts, and need not
            return 0.0

    def _moves(self) -> float:
        short, long = _short_and_long(self.document)
        alone = self._ask([short])[0]
        together = self._ask([long, short], "beside")
        most = self._apart(together[1], alone)
        if self.whole is not None and long == self.document.given:
            most = max(most, self._apart(together[0], self.whole))
        if not most:
            return 0.0
        again = [self._ask([short], time)[0] for time in range(1, ALONE_AGAIN + 1)]
        if any(self._apart(own, alone) for own in again):
            return 0.0
        again_together = [self._ask([long, short], f"beside {time}") for time in range(1, _TOGETHER_AGAIN + 1)]
        if any(self._apart(own[i], together[i]) for own in again_together for i in (0, 1)):
            return 0.0
        return most

    def _apart(self, one: Floats, other: Floats) -> float:
        return moved(one, other, self.asker.kind, self.asker.calls.unit)

    def _ask(self, texts: list[Text], time: int | str = 0) -> Floats:
        """Logits of texts in one batch; with a cache `time` says on which occasion."""
        answered = self.asker.logits(texts, time if isinstance(time, int) else f"{time} of {texts!r}")
        self.asked += answered.asked
        return answered.logits


def _short_and_long(document: Document) -> tuple[Text, Text]:
    """The text up to its first word, and all of it; of a single word that word, and the word twice."""
    sides = [document.text[start:end] for start, end in document.sides]
    firsts = [
        next((document.text[start : word.end] for word in document.words if start <= word.start < end), own)
        for (start, end), own in zip(document.sides, sides, strict=True)
    ]
    longs = sides if firsts != sides else [f"{own} {own}" for own in sides]
    return _text(firsts), _text(longs)


def _text(sides: list[str]) -> Text:
    return sides[0] if len(sides) == 1 else (sides[0], sides[1])
