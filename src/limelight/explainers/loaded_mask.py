"""Loaded masks: does the string in the place of a removed word move the output by itself?

A weight of a masked word is what the output loses with the word and what it gains with the mask. Where the mask speaks
for itself (a small language model that reads "[UNK]" as praise), the weights are the mask's. Two checks tell, with few
answers of the model:

- One mask. It is put in behind up to eight words where nothing is removed, which moves the output by m; and these words
  are masked one at a time, which moves it by -w. A silent mask gives both no common sign. The mask is loaded where the
  mean of m and the mean of -w agree, both are large beside their scatter, and m is at least as large as the typical
  weight.
- Many masks, for methods whose samples hold many. They are put in behind every second word and behind every word. The
  mask is loaded where both move the output to the same side, by far more than cutting out all words does.

Thresholds were chosen on some 500 texts and judged on others: benchmarks/loaded_masks.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from limelight.core.arrays import Floats, Integers
from limelight.core.progress import SILENT
from limelight.errors import CapabilityError, InputError, NumericalError
from limelight.explainers.method import Question
from limelight.inputs.features import NOBODY, Features
from limelight.models.interface import Masking, Perturbable

WORDS = 8
"""Words behind which a mask is put, and which are masked one at a time."""
SCATTERED = 1.25
"""Of the scatter of moves and weights: a smaller mean is no push. It is that of eight words; of fewer, the mean of
which scatters more, in proportion to one over the root of their number."""
TYPICAL = 0.7
"""Of the median weight: a mask that moves the output less is not what weights are made of."""
OF_ALL = 2.5
"""Of what all words move together: many masks that move the output by more speak for themselves."""


@dataclass(frozen=True)
class LoadedMask:
    """A mask that moves the output by `moves`, where a typical weight is `weight`. `many`: several masks at once."""

    moves: float
    weight: float
    many: bool = False


@dataclass(frozen=True)
class MaskAnswers:
    """Outputs (n, questions) of a text with masks; `asked`: how many inputs the model was given for them.

    `whole` (questions,) is that of the text itself and `beside` the same once more, asked together with `inserted`
    (k + 1, questions): a mask before the first word, and behind each of k words. `singles` (k, questions): each of
    these words masked. `many` (2, questions): masks behind every second and behind every word; `nothing` (questions,):
    all words cut out; None where that was not asked.
    """

    whole: Floats
    beside: Floats
    inserted: Floats
    singles: Floats
    many: Floats | None = None
    nothing: Floats | None = None
    asked: int = 0

    def found(self, i: int, rounding: float) -> LoadedMask | None:
        """Whether the mask is loaded, for question i, whose outputs are rounded by so much."""
        moves, weights = self.inserted[:, i] - self.beside[i], self.whole[i] - self.singles[:, i]
        return _of_one(moves, weights, rounding) or self._of_many(i, weights, rounding)

    def _of_many(self, i: int, weights: Floats, rounding: float) -> LoadedMask | None:
        if self.many is None or self.nothing is None:
            return None
        moves = self.many[:, i] - self.beside[i]
        least = float(np.abs(moves).min())
        largest = max(abs(float(self.whole[i] - self.nothing[i])), float(np.abs(weights).max()))
        if (moves > 0.0).any() == (moves < 0.0).any() or least <= max(OF_ALL * largest, 2.0 * rounding):
            return None
        return LoadedMask(float(moves[-1]), largest, many=True)


def _of_one(moves: Floats, weights: Floats, rounding: float) -> LoadedMask | None:
    """One mask: `moves` where it was put in, `weights` of words in whose place it was put."""
    typical, mean = float(np.median(np.abs(weights))), float(moves.mean())
    push = min(abs(mean), -math.copysign(1.0, mean) * float(weights.mean()))
    scatter = math.hypot(float(moves.std()), float(weights.std()))
    is_push = push > SCATTERED * math.sqrt(WORDS / len(weights)) * scatter
    if not is_push or abs(mean) < TYPICAL * typical or push <= 2.0 * rounding:
        return None
    return LoadedMask(mean, typical)


# ── asking ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def chosen_features(features: Features) -> Integers:
    """Up to eight features of the fewest words, spread over the text."""
    sizes = np.array([len(own) for own in features.owned])
    few = np.flatnonzero(sizes == sizes.min())
    few = few if len(few) >= WORDS else np.sort(np.argsort(sizes, kind="stable")[:WORDS])
    return few[np.unique(np.linspace(0, len(few) - 1, min(len(few), WORDS)).round().astype(np.int64))]


def mask_answers(
    questions: Sequence[Question[Perturbable]], whole: Floats, singles: Floats | None
) -> MaskAnswers | None:
    """Ask a model about its mask; None where that cannot be asked, or need not.

    `singles`: the outputs with each feature masked, where they are known already: then nothing else is asked but one
    mask at a time.
    """
    first = questions[0]
    view, features = first.view, first.features
    if first.removal != "mask" or not isinstance(view, Masking) or not view.mask_is_unusual:
        return None
    of = [question.quantity.of for question in questions]

    def outputs(logits: Floats) -> Floats:
        return np.stack([own(logits) for own in of], axis=1)

    chosen = chosen_features(features)
    nowhere, behind = np.zeros(len(features.owners) + 1, dtype=np.int64), _behind(features, chosen)
    try:
        answer = view.with_masks(np.stack([nowhere, *behind, *([] if singles is not None else _many(features))]))
    except (InputError, NumericalError):  # it does not read texts with more words, and need not
        return None
    if answer is None:
        return None
    inserted, asked = outputs(answer.logits), answer.asked
    one, many, nothing = inserted[1 : len(behind) + 1], None, None
    if singles is None:
        game = view.game(features, "mask", SILENT)
        singles = outputs(game(np.arange(len(features)) != chosen[:, None]))
        asked += game.asked
        nothing, cost = _without_words(first, outputs)
        many, asked = inserted[len(behind) + 1 :], asked + cost
    else:
        singles = singles[chosen]
    return MaskAnswers(whole, inserted[0], one, singles, many, nothing, asked)


def _behind(features: Features, chosen: Integers) -> list[Integers]:
    """As many masks behind the words of each chosen feature as it has words, and some before the first word of all.

    Nothing is put where words have no features: such as the other text of a pair.
    """
    counts = np.zeros((len(chosen) + 1, len(features.owners) + 1), dtype=np.int64)
    for row, j in enumerate(chosen, 1):
        counts[row, np.array(features.owned[j]) + 1] = 1
    counts[0, 0] = int(np.median(counts[1:].sum(axis=1)))
    return list(counts if features.owners[0] != NOBODY else counts[1:])


def _many(features: Features) -> list[Integers]:
    """Masks behind every second word that has a feature, and behind every one."""
    every = np.concatenate([[0], features.owners != NOBODY]).astype(np.int64)
    second = every.copy()
    second[np.flatnonzero(every)[::2]] = 0
    return [second if second.any() else every, every]


def _without_words(question: Question[Perturbable], outputs: Callable[[Floats], Floats]) -> tuple[Floats | None, int]:
    """The outputs with all words cut out, and what that cost; None for a model that reads no such text."""
    if "delete" not in question.view.removals:
        return None, 0
    try:
        game = question.view.game(question.features, "delete", SILENT)
        return outputs(game(np.zeros((1, len(question.features)), dtype=bool)))[0], game.asked
    except (CapabilityError, InputError, NumericalError):
        return None, 0


# ── saying ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def warning_of(found: LoadedMask, question: Question[Masking]) -> str:
    """Warning for a reader, and what to do."""
    mask, others = question.view.mask_name, "" if question.view.mask_is_given else ", another mask="
    phrases = "" if question.features.kind in ("phrases", "sentences") else ", features='phrases'"
    advice = f"so the weights may be the mask's: use removal='delete'{phrases}{others}"
    if found.many:
        return (
            f"many masks at once move the output by themselves: {mask} behind every word, where nothing is removed, "
            f"moves it by {found.moves:+.2g}, and cutting out all words by no more than {found.weight:.2g}, {advice}"
        )
    return (
        f"the mask moves the output by itself: {mask} where nothing is removed moves it by {found.moves:+.2g}, and in "
        f"the place of a typical word by {found.weight:.2g}, {advice}"
    )
