"""A view's game as a method asks it: coalitions in, the explained quantities out, and what is known of their errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from limelight.core.arrays import Coalitions, Floats
from limelight.explainers.loaded_mask import MaskAnswers, mask_answers, warning_of
from limelight.explainers.method import Question
from limelight.explainers.sampling.nondeterminism import AnswerNoise, Repeated
from limelight.models.interface import (
    ROUNDING,
    Game,
    Perturbable,
    SeenAlong,
    game_of,
    rounding_of,
)
from limelight.models.outputs import Quantity

V = TypeVar("V")


def narrowed(question: Question[V]) -> Question[V]:
    """The same question about a view with one logit, where a model has many classes and the quantity is linear in them.

    A probability is a function of all classes, and stays as it is.
    """
    if not question.quantity.is_linear or not isinstance(question.view, SeenAlong):
        return question
    view = question.view.seen_along(question.direction)
    if view is question.view:
        return question
    return replace(
        question, view=view, quantity=Quantity(1, 0), logits=np.array([question.direction @ question.logits])
    )


class OutputGame:
    """A game reduced to the quantities of questions about one view: coalitions (n, d) to (n, questions).

    `rounding` (questions,): how far rounding may have moved an answer so far. The game's logits are rounded by a part
    `of_logits` of the largest of them, or by what the game measures meanwhile.
    """

    def __init__(self, game: Game, quantities: Sequence[Quantity], of_logits: float = ROUNDING) -> None:
        self._game, self._quantities, self._of_logits = game, quantities, of_logits
        self.rounding = np.zeros(len(quantities))
        self._masks: MaskAnswers | None = None
        self._questions: Sequence[Question[Any]] = ()
        self._low, self._high = np.full(len(quantities), np.inf), np.full(len(quantities), -np.inf)
        self._repeated = Repeated()

    @property
    def asked(self) -> int:
        return self._game.asked + (0 if self._masks is None else self._masks.asked)

    @property
    def step(self) -> int:
        """How many coalitions are best asked for between two looks at the clock."""
        return self._game.step

    @property
    def notices(self) -> tuple[str, ...]:
        """What a reader must know of the answers: probabilities themselves are as the model gave them."""
        return () if self._quantities[0].output == "probability" else self._game.facts.notices

    def warnings_of(self, i: int) -> tuple[str, ...]:
        """What speaks against relying on the answers, for question i."""
        facts, said = self._game.facts, list(self._of_mask(i))
        if facts.noise > 0.0:
            said.append(_NOT_REPEATED.format(noise=facts.noise))
        if facts.beside > 0.0:
            said.append(_COMPANY.format(moved=facts.beside))
        if facts.clipped > _OFTEN_CLIPPED and self._quantities[0].output != "probability":
            said.append(_CLIPPED.format(share=f"{facts.clipped:.0%}".replace("%", " %")))
        return tuple(said)

    def ask_about_mask(self, questions: Sequence[Question[Any]], singles: Floats | None = None) -> None:
        """See whether the mask moves the output by itself; `singles` (d, questions) as `mask_answers` takes them."""
        whole = np.array([question.quantity.of(question.logits[None])[0] for question in questions])
        self._questions, self._masks = questions, mask_answers(questions, whole, singles)

    def _of_mask(self, i: int) -> tuple[str, ...]:
        found = None if self._masks is None else self._masks.found(i, float(self.rounding[i]))
        return () if found is None else (warning_of(found, self._questions[i]),)

    @property
    def noise(self) -> AnswerNoise | None:
        """How far answers to the same differ, where the game was seen to give such: some inputs are asked again."""
        return self._repeated.noise(self._again) if self._game.facts.noise > 0.0 else None

    def noise_of(self, i: int) -> dict[str, Any]:
        """For the diagnostics of question i: the standard deviation of a single answer, where it is noisy."""
        return {} if self.noise is None else {"noise": math.sqrt(float(self.noise.variance[i]))}

    def _again(self, kept: Coalitions, time: int) -> Floats:
        logits = self._game.again(kept, time)
        return np.stack([quantity.of(logits) for quantity in self._quantities], axis=1)

    def __call__(self, kept: Coalitions) -> Floats:
        logits = self._game(kept)
        facts = self._game.facts
        of_logits = self._of_logits if facts.rounding is None else facts.rounding
        self.rounding = np.maximum(self.rounding, [rounded(logits, q, of_logits) for q in self._quantities])
        outputs = np.stack([quantity.of(logits) for quantity in self._quantities], axis=1)
        self._low = np.minimum(self._low, outputs.min(axis=0, initial=np.inf))
        self._high = np.maximum(self._high, outputs.max(axis=0, initial=-np.inf))
        if facts.noise > 0.0:
            self._repeated.remember(kept, outputs)
        return outputs

    def precision(self, i: int, features: int) -> dict[str, Any]:
        """For the diagnostics of question i: what is known of answers in a lower precision, where there are any.

        `shift` was added to them, and `spread` is the standard deviation of what is left. `weights`: were all of that a
        sum over features that are kept half of the time, it would be theirs, root mean square.
        """
        asked = self._game.facts.precision
        if asked is None:
            return {}
        of, k = self._quantities[i].of, len(asked.exact)
        exact = of(asked.exact)
        left, moved = exact - of(asked.rounded), exact - of(asked.rounded - asked.shift)
        spread = math.sqrt(float(left @ left) / (k - 1)) if k > 1 else None
        return {
            "precision": {
                "dtype": asked.dtype,
                "inputs": asked.inputs,
                "compared": k,
                "shift": float(moved.mean()) if k else None,
                "spread": spread,
                "weights": None if spread is None else 2.0 * spread / math.sqrt(features),
            }
        }

    def rounding_of_mean(self, outputs: int, features: int) -> Floats:
        """What is left of it in a difference of means over so many outputs, each of coalitions of so many features.

        Answers that differ by rounding alone may do so for a reason, such as one and the same word.
        """
        left = left_of_rounding(outputs, features)
        return 2.0 * self.rounding * np.where(self._high - self._low <= 2.0 * self.rounding, 1.0, left)


NOISE_ALONE = {"noise_alone": True}
"""A diagnostic: nothing was drawn, and standard errors are those of a function's noise."""
_NOT_REPEATED = (
    "the function gave another answer when it was asked about the same text again (logits moved by {noise:.2g}): its "
    "noise is in the intervals, and to make them narrower average several answers, or make it deterministic"
)
_COMPANY = (
    "the function answers otherwise about a text in a batch than about the same text alone (logits moved by "
    "{moved:.2g}), as it does where padding or statistics of the batch reach the answer: use batch_texts=1"
)
_OFTEN_CLIPPED = 0.01
"""A share of answers that single texts, such as the one without words, do not reach."""
_CLIPPED = (
    "{share} of the model's answers are certain, and log-odds of 0 and 1 are infinite: the weights depend on where "
    "these were cut; use output='probability'"
)


def rounded(logits: Floats, quantity: Quantity, of_logits: float) -> float:
    """How far a quantity of logits (n, C) may be off where each logit is off by a part of the largest of its row."""
    with np.errstate(over="ignore", invalid="ignore"):
        at = logits[:1] if quantity.is_linear else logits
        moved = np.abs(quantity.direction_at(at)).sum(axis=1) * np.abs(logits).max(axis=1)
    return of_logits * float(moved.max(initial=0.0))


def left_of_rounding(outputs: int, features: int) -> float:
    """The part of their rounding that means over so many outputs have: that of different coalitions is unrelated.

    Three standard deviations of a mean; of few features there are few coalitions, however often they are asked for.
    """
    return min(1.0, 3.0 / math.sqrt(min(float(outputs), 2.0 ** min(features, 64))))


def asked_together(questions: Sequence[Question[Perturbable]], coalitions: int, about_mask: bool = True) -> OutputGame:
    """The game that answers questions which differ in their quantity alone; so many coalitions will be asked for.

    Where it may be needed the model is asked first whether company or its mask moves its answers; not about the mask
    for a method that has the answers to this itself (`about_mask`).
    """
    if len(questions) == 1:
        questions = [narrowed(questions[0])]
    first = questions[0]
    first.progress.begin("asking the model", coalitions)
    game = game_of(first.view, first.features, first.removal, first.progress)
    together = OutputGame(game, [question.quantity for question in questions], rounding_of(first.view))
    game.look_around()
    if about_mask:
        together.ask_about_mask(questions)
    return together


def by_game(questions: Sequence[Question[V]]) -> list[list[Question[V]]]:
    """Questions in their order, those together that one run of the model can answer."""
    groups: list[list[Question[V]]] = []
    for question in questions:
        last = groups[-1][0] if groups else None
        if last is not None and last.view is question.view and last.features is question.features:
            groups[-1].append(question)
        else:
            groups.append([question])
    return groups
