"""A function looking at one text: games, whose every variant is a text that the function reads.

A function that pads the texts of a batch to one length, or normalises by the batch, answers otherwise about a text in a
batch than about the text alone. A short text shows it beside a long one. A function that draws lots differs too, but
it also differs from itself: where an answer moved, both are asked again, alone and together.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from limelight.core.arrays import Coalitions, Floats, Integers
from limelight.core.progress import SILENT, Progress
from limelight.errors import CapabilityError, InputError, NumericalError, shown
from limelight.inputs.document import Document, Span, Text, Word
from limelight.inputs.features import NOBODY, Features
from limelight.models.blackbox.answers import FLOOR, clipped, logits_of
from limelight.models.blackbox.asking import Asker
from limelight.models.counting_game import checked_coalitions, first_rows
from limelight.models.interface import (
    ROUNDING,
    Answered,
    Divisible,
    Game,
    GameFacts,
    Masking,
    Memo,
    Perturbable,
    Removal,
    ViewFacts,
)
from limelight.models.outputs import OF_FUNCTIONS, Kind, Output

if TYPE_CHECKING:
    from limelight.models.blackbox.classifier import BlackBoxClassifier


_CHARACTERS_AT_ONCE = 2**25
"""Characters of the texts that are made at once: of a long text there are fewer."""
_COARSE = 2.0**-20
"""Answers that are rounded by more are in half precision, which is more than a game is taken to be rounded by."""
_REPEATED = 1e-3
"""Of a logit: batches of half precision round by as much inside a model whose answers are in single precision."""
_ROUNDED = 1e-5
"""Of a number of any size, as a part of it."""
_ROUNDINGS = 8.0
"""Roundings of an answer in half precision that its batch may move it by, as parts of the largest logit."""
_ALONE_AGAIN, _TOGETHER_AGAIN = 4, 2
"""Repetitions that tell company from noise: a function that repeats each answer by chance, half of the time, is taken
for one that repeats itself in one of 64 texts."""
_OF_SOFTMAX = 2.0
"""Roundings of a probability that its neighbours do not share: of the exponential and of the quotient."""
_LABELS_SHOWN = 3
"""Labels that a notice names."""

_LOGITS: dict[Kind, str] = {
    "classes": f"this model gives probabilities alone: its logits are their logarithms, those below {FLOOR:g} taken as "
    f"{FLOOR:g}",
    "multi-label": "this model gives probabilities alone: its logits are their log-odds",
}


class BlackBoxView(ViewFacts, Perturbable, Masking, Divisible):
    """What methods see of a function and a text."""

    removals: tuple[Removal, ...] = ("mask", "delete")
    mask_is_unusual = True  # whether a function knows its mask is known to nobody
    mask_is_given = False

    def __init__(self, model: BlackBoxClassifier, document: Document, memo: Memo | None = None) -> None:
        self._model, self.document = model, document
        self._memo = Memo() if memo is None else memo
        self.labels, self.kind, self.outputs = model.labels, model.kind, OF_FUNCTIONS[model.kind]

    @property
    def logits(self) -> Floats:
        return self._memo.get("logits", lambda: self._model.predict_logits([self.document.given])[0])

    def divided(self, words: tuple[Word, ...]) -> BlackBoxView:
        """The same text with other words; the function is not asked about it again."""
        return BlackBoxView(self._model, replace(self.document, words=words), self._memo)

    def notes(self, output: Output) -> tuple[str, ...]:
        """What stands in the place of logits, which a function does not have."""
        return (_LOGITS[self.kind],) if output == "logit" else ()

    def game(self, features: Features, removal: Removal, progress: Progress = SILENT) -> TextGame:
        """Logits of the text with the words of features replaced, or cut out."""
        if removal not in self.removals:
            raise CapabilityError(
                f"this model does not take words out by {removal!r}: use {' or '.join(map(repr, self.removals))}"
            )
        replacement = self._model.mask if removal == "mask" else ""
        variants = Variants(self.document, features, replacement)
        return TextGame(self._model.asker, variants, len(features), progress, self._memo.known("logits"), self.document)

    @property
    def mask_name(self) -> str:
        return shown(self._model.mask)

    def with_masks(self, counts: Integers) -> Answered | None:
        """Logits of the text with masks put in where nothing is removed."""
        if not self._model.mask:
            return None
        return self._model.asker.logits([with_inserted(self.document, self._model.mask, row) for row in counts])


class TextGame(Game):
    """Logits of a text without some of its words; the same set of words is asked for once in a call.

    `asked` counts what the function was given: what a cache knew is not among it.
    """

    asked = 0

    def __init__(
        self,
        asker: Asker,
        variants: Variants,
        features: int,
        progress: Progress,
        predicted: Floats | None,
        document: Document,
    ) -> None:
        """`predicted`: the logits of the whole text where they are known, to see whether the function repeats them.

        `document`: the text, to see whether answers depend on the texts beside them.
        """
        self._asker, self._variants, self._features, self._progress = asker, variants, features, progress
        self._predicted, self._document = predicted, document
        self._noise = self._beside = self._largest = self._off = 0.0
        self._answers = self._clipped = 0
        self._clipped_labels = np.zeros(len(asker.labels), dtype=bool)

    @property
    def facts(self) -> GameFacts:
        return GameFacts(
            rounding=self._rounding(),
            notices=self._notices(),
            clipped=self._clipped / max(self._answers, 1),
            noise=self._noise,
            beside=self._beside,
        )

    def _notices(self) -> tuple[str, ...]:
        """How many of the answers so far hold probabilities that were moved away from 0 or 1."""
        if not self._clipped:
            return ()
        names = [shown(self._asker.labels[c]) for c in np.flatnonzero(self._clipped_labels)]
        more = f" and {len(names) - _LABELS_SHOWN:,} more" if len(names) > _LABELS_SHOWN else ""
        return (
            f"{self._clipped:,} of {self._answers:,} answers of the function hold a probability closer to 0 or 1 than "
            f"{FLOOR:g} (of {', '.join(names[:_LABELS_SHOWN])}{more}): it is taken to be that far from it, since the "
            "log-odds of 0 and 1 are infinite",
        )

    def __call__(self, kept: Coalitions) -> Floats:
        kept = checked_coalitions(kept, self._features)
        first, which = first_rows(kept)
        repetitions = np.bincount(which, minlength=len(first))
        logits = np.empty((len(first), len(self._asker.labels)))
        step = self._texts_at_once()
        for start in range(0, len(first), step):
            texts = [self._variants.without(kept[i]) for i in first[start : start + step]]
            for part in self._asker.parts(texts):
                rows = start + part.places
                logits[rows] = logits_of(part.rows, self._asker.kind)
                self._note_rounding(logits[rows])
                self.asked += part.asked
                self._answers += len(rows)
                beyond = clipped(part.rows, self._asker.kind)
                self._clipped += int(beyond.any(axis=1).sum())
                self._clipped_labels |= beyond.any(axis=0)
                self._progress.advance(int(repetitions[rows].sum()))
        whole = np.flatnonzero(kept[first].all(axis=1))
        if len(whole) and self._predicted is not None:
            self._compare(logits[whole[0]], kept[first[whole]])
        return logits[which]

    def again(self, kept: Coalitions, time: int) -> Floats:
        """The same coalitions, asked for once more; `time` says how often they were before."""
        return self._ask([self._variants.without(row) for row in kept], time)

    def look_around(self) -> None:
        """Ask about a short text alone and beside the whole one."""
        if self._asker.batch_texts > 1:
            with contextlib.suppress(InputError, NumericalError):  # it does not read such texts, and need not
                self._beside = self._moved_by_company()

    def _moved_by_company(self) -> float:
        """How far company moves the logits of a text; 0 where that is rounding or noise."""
        short, long = _short_and_long(self._document)
        alone = self._ask([short])[0]
        together = self._ask([long, short], "beside")
        most = self._apart(together[1], alone)
        if self._predicted is not None and long == self._document.given:
            most = max(most, self._apart(together[0], self._predicted))
        if not most:
            return 0.0
        again = [self._ask([short], time)[0] for time in range(1, _ALONE_AGAIN + 1)]
        if any(self._apart(own, alone) for own in again):
            return 0.0
        again_together = [self._ask([long, short], f"beside {time}") for time in range(1, _TOGETHER_AGAIN + 1)]
        if any(self._apart(own[i], together[i]) for own in again_together for i in (0, 1)):
            return 0.0
        return most

    def _apart(self, one: Floats, other: Floats) -> float:
        """How far two answers of logits to the same text are apart; 0 where that is rounding."""
        apart, unit = float(np.abs(one - other).max()), self._asker.calls.unit
        largest = float(np.maximum(np.abs(one), np.abs(other)).max())
        if self._asker.kind == "regression":
            limit = max(_ROUNDED, _ROUNDINGS * unit) * largest
        else:
            limit = max(_REPEATED, _ROUNDINGS * unit * max(1.0, largest))
        return apart if apart > limit else 0.0

    def _ask(self, texts: list[Text], time: int | str = 0) -> Floats:
        """Logits of texts in one batch; with a cache `time` says on which occasion."""
        answered = self._asker.logits(texts, time if isinstance(time, int) else f"{time} of {texts!r}")
        self.asked += answered.asked
        return answered.logits

    def _rounding(self) -> float:
        """How far logits are rounded, as a fraction of the largest: by half precision, where answers come in it."""
        if self._asker.calls.unit <= _COARSE or not self._largest:
            return ROUNDING
        return max(ROUNDING, self._off / self._largest)

    def _note_rounding(self, logits: Floats) -> None:
        """How far the logits of answers may be off."""
        unit, largest = self._asker.calls.unit, float(np.abs(logits).max(initial=0.0))
        self._largest = max(self._largest, largest)
        if self._asker.kind == "regression":
            off = unit * largest
        elif self._asker.kind == "classes":  # their logarithms are off by as much as they are, as parts of them
            off = _OF_SOFTMAX * unit
        else:  # what is left of 1 is off by as much as 1 is
            off = unit * (1.0 + float(np.exp(logits.max(initial=0.0))))
        self._off = max(self._off, off)

    def _compare(self, answer: Floats, whole: Coalitions) -> None:
        """See whether the function repeats what it said of the whole text; a cache repeats it whatever it says now.

        It was asked alone before and in a batch now. Where the two differ it is asked alone again, which tells noise
        from company.
        """
        before, self._predicted = self._predicted, None
        assert before is not None
        is_kept = self._asker.cache is not None
        if is_kept and self._asker.calls.room > 0:
            before = self.again(whole, 1)[0]
        apart = self._apart(answer, before)
        if not apart or is_kept:
            self._noise = apart
            return
        again = [self.again(whole, time)[0] for time in range(1, _ALONE_AGAIN + 1)]
        if any(self._apart(own, before) for own in again):
            self._noise = apart
        else:
            self._beside = max(self._beside, apart)

    def _texts_at_once(self) -> int:
        """Whole batches where several of them fit."""
        fitting, batch = max(1, _CHARACTERS_AT_ONCE // max(1, self._variants.longest)), self._asker.batch_texts
        return fitting if fitting < batch else fitting - fitting % batch


# ── texts with words replaced by a string or cut out, or with masks put between them ──────────────────────────────────


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


class Variants:
    """What a function reads where features of a document are removed. The texts of a pair are changed one by one."""

    def __init__(self, document: Document, features: Features, replacement: str) -> None:
        owned = [(word, int(j)) for word, j in zip(document.words, features.owners, strict=True) if j != NOBODY]
        self._cutters = [
            _Cutter(
                document.text[start:end],
                [((word.start - start, word.end - start), j) for word, j in owned if start <= word.start < end],
                replacement,
            )
            for start, end in document.sides
        ]
        self.longest = sum(cutter.longest for cutter in self._cutters)
        """No variant has more characters."""

    def without(self, kept: Coalitions) -> Text:
        """The variant of one coalition."""
        return _text([cutter.without(kept) for cutter in self._cutters])


class _Cutter:
    """One text, and the words of it that can be removed: where each stands, and whose it is."""

    def __init__(self, text: str, owned: list[tuple[Span, int]], replacement: str) -> None:
        self._replacement = replacement
        self._owners = np.array([j for _, j in owned], dtype=np.int64)
        ends = [0, *(end for (_, end), _ in owned)]
        starts = [*(start for (start, _), _ in owned), len(text)]
        # Words stand between what is around them: at 1, 3, 5, …
        self._pieces = np.empty(2 * len(owned) + 1, dtype=object)
        self._pieces[0::2] = [text[end:start] for end, start in zip(ends, starts, strict=True)]
        self._pieces[1::2] = [text[start:end] for (start, end), _ in owned]
        self.longest = len(text) + len(owned) * len(replacement)

    def without(self, kept: Coalitions) -> str:
        pieces = self._pieces.copy()
        pieces[1::2][~kept[self._owners]] = self._replacement
        return "".join(pieces.tolist())


def with_inserted(document: Document, mask: str, counts: Integers) -> Text:
    """The text of a document with so many masks before its first word (counts[0]) and behind each word.

    Spaces keep a mask apart from the word before it, and from the first word.
    """
    first = document.words[0].start
    sides = []
    for start, end in document.sides:
        written, done = [], start
        if start <= first < end:
            written += [document.text[start:first], f"{mask} " * int(counts[0])]
            done = first
        for word, count in zip(document.words, counts[1:].tolist(), strict=True):
            if count and start <= word.start < end:
                written += [document.text[done : word.end], f" {mask}" * count]
                done = word.end
        sides.append("".join([*written, document.text[done:end]]))
    return _text(sides)
