"""Answers of a model about one document with features removed: each distinct input is computed once.

Methods and measures ask about the same text again and again: leave-one-out and `sign` remove each word alone, all
curves share their ends, two methods often agree on the first words. `Answers` remembers by coalition; measures say what
they want first, and all of it is asked for in one go.

A function that answers differently when it is asked the same again is asked anew for the measures: a method must not be
judged by the noise that it was made from.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from limelight.core.arrays import Coalitions, Floats, Integers
from limelight.core.progress import SILENT, Progress
from limelight.inputs.features import NOBODY, Features
from limelight.models.counting_game import checked_coalitions, first_rows
from limelight.models.interface import Game, GameFacts, Perturbable, Removal, View, game_of


class Answers:
    """The logits of one document under one removal, by coalition; `again` asks a noisy function for others.

    `evaluations`: how many inputs the model was given. `inputs_of` counts the different inputs that coalitions are: a
    text that is read in windows is one for each.
    """

    def __init__(self, view: Perturbable, features: Features, removal: Removal, *, again: bool = False) -> None:
        self._view, self._features, self._removal, self._again = view, features, removal, again
        self._known: dict[bytes, Floats] = {}
        self._wanted: list[Coalitions] = []
        self.evaluations = 0

    @cached_property
    def game(self) -> Game:
        """The game through which all methods and measures ask the model."""
        return game_of(self._view, self._features, self._removal)

    @property
    def noise(self) -> float:
        """Distance that the model's logits of the whole text moved when it was asked again."""
        return self.game.facts.noise if "game" in vars(self) else 0.0  # without a game it was never asked

    @property
    def distinct(self) -> int:
        """Different inputs that are known."""
        packed = np.array([np.frombuffer(key, np.uint8) for key in self._known])
        count = len(self._features)
        return self.inputs_of(np.unpackbits(packed, axis=1, count=count).astype(bool)) if self._known else 0

    def inputs_of(self, kept: Coalitions) -> int:
        return sum(len(first_rows(kept[:, own])[0]) for own in _features_of_inputs(self._view, self._features))

    def known_of(self, kept: Coalitions) -> Coalitions:
        """The coalitions among these that are known."""
        return kept[np.array([key in self._known for key in _keys(kept)], dtype=bool)]

    def want(self, kept: Coalitions) -> None:
        """These will be asked for: the next call computes them together with all others."""
        self._wanted.append(kept)

    def __call__(self, kept: Coalitions) -> Floats:
        """Logits (n, C); what was wanted before is computed along."""
        kept = checked_coalitions(kept, len(self._features))
        everything, self._wanted = np.concatenate([*self._wanted, kept]) if self._wanted else kept, []
        rows = everything[np.sort(first_rows(everything)[0])]
        rows = rows[[key not in self._known for key in _keys(rows)]]
        if len(rows):
            logits = self.once_more(rows, 1) if self._again else self._counted(lambda: self.game(rows))
            self._known.update(zip(_keys(rows), logits, strict=True))
        return np.array([self._known[key] for key in _keys(kept)]) if len(kept) else np.zeros((0, 0))

    def once_more(self, kept: Coalitions, time: int) -> Floats:
        """Logits of a noisy function that are asked for again, and not remembered."""
        return self._counted(lambda: self.game.again(kept, time))

    def _counted(self, ask: Callable[[], Floats]) -> Floats:
        before = self.game.asked
        logits = ask()
        self.evaluations += self.game.asked - before
        return logits


def _features_of_inputs(view: object, features: Features) -> list[Integers]:
    """The features that each input of the model has a part of: all of them, or those of a window."""
    windows = getattr(view, "windows", ())
    if len(windows) < 2:
        return [np.arange(len(features))]
    owners = [np.unique(features.owners[window.words]) for window in windows]
    return [own[own != NOBODY] for own in owners]


def _keys(kept: Coalitions) -> list[bytes]:
    return [row.tobytes() for row in np.packbits(kept, axis=1)]


# ── methods that share them ───────────────────────────────────────────────────────────────────────────────────────────


class SharedGame(Game):
    """A game whose answers are remembered. `asked` counts as if nobody had asked before: what a method costs alone."""

    asked = 0

    def __init__(self, answers: Answers, progress: Progress) -> None:
        self._answers, self._progress = answers, progress

    @property
    def facts(self) -> GameFacts:
        """The game's facts; whether company moves its answers is no matter here."""
        return replace(self._answers.game.facts, beside=0.0)

    @property
    def step(self) -> int:
        return self._answers.game.step

    def __call__(self, kept: Coalitions) -> Floats:
        before, known = self._answers.evaluations, self._answers.known_of(kept)
        logits = self._answers(kept)
        self.asked += self._answers.evaluations - before + self._answers.inputs_of(known)
        self._progress.advance(len(kept))
        return logits

    def again(self, kept: Coalitions, time: int) -> Floats:
        before = self._answers.evaluations
        logits = self._answers.once_more(kept, time)
        self.asked += self._answers.evaluations - before
        return logits


def sharing(view: View, features: Features, answers: Mapping[Removal, Answers]) -> View:
    """A view whose games remember what was asked; the view that was given stays as it is.

    One that cannot be copied is used as it is: the same numbers, asked for again.
    """
    if not isinstance(view, Perturbable):
        return view
    original = view.game

    def game(own: Features, removal: Removal, progress: Progress = SILENT) -> Game:
        if removal not in answers or own.owned != features.owned:
            return original(own, removal, progress)
        return SharedGame(answers[removal], progress)

    try:
        shared: Any = copy.copy(view)
        shared.game = game
    except (AttributeError, TypeError):
        return view
    return cast(View, shared)
