"""What a model says of one document with features removed: each distinct input is computed once.

Methods and measures ask about the same text again and again: leave-one-out and `sign` remove each word alone, all
curves share their ends, two methods often agree on the first words. `Answers` remembers by coalition; measures say what
they want first, and all of it is asked for in one go.

A function that answers differently when it is asked the same again is asked anew for the measures: a method must not be
judged by the noise that it was made from.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from limelight.core.arrays import Array, Coalitions, Floats, Integers
from limelight.core.progress import SILENT, Progress
from limelight.inputs.features import NOBODY, Features
from limelight.models.counting_game import checked_coalitions, first_rows
from limelight.models.interface import Game, GameFacts, Perturbable, Removal, View, game_of


class Answers:
    """The logits of one document under one removal, by coalition; `again` asks a noisy function for others."""

    def __init__(self, view: Perturbable, features: Features, removal: Removal, *, again: bool = False) -> None:
        self._view, self._features, self._removal, self._again = view, features, removal, again
        self._place: dict[bytes, int] = {}
        self._logits: list[Floats] = []
        self._wanted: list[Coalitions] = []
        self._game: Game | None = None
        self.spent = 0
        """Inputs that the model was given."""

    @property
    def distinct(self) -> int:
        """Different inputs that are known."""
        if not self._place:
            return 0
        packed = np.array([np.frombuffer(key, np.uint8) for key in self._place])
        return self.inputs(np.unpackbits(packed, axis=1, count=len(self._features)).astype(bool))

    def inputs(self, kept: Coalitions) -> int:
        """How many different inputs coalitions are: a text that is read in windows is one for each."""
        return sum(len(first_rows(kept[:, own])[0]) for own in _features_of_inputs(self._view, self._features))

    def knows(self, kept: Coalitions) -> Array:
        """Which coalitions (n, d) are known: (n,)."""
        return np.array([key in self._place for key in _keys(kept)], dtype=bool)

    @property
    def game(self) -> Game:
        """What the model is asked through, by all methods and measures."""
        if self._game is None:
            self._game = game_of(self._view, self._features, self._removal)
        return self._game

    @property
    def noise(self) -> float:
        """How far the model's logits of the whole text moved when it was asked again."""
        return 0.0 if self._game is None else self._game.facts.noise

    def want(self, kept: Coalitions) -> None:
        """These will be asked for: the next call computes them together with all others."""
        self._wanted.append(checked_coalitions(kept, len(self._features)))

    def __call__(self, kept: Coalitions) -> Floats:
        """Logits (n, C); what was wanted before is computed along."""
        kept = checked_coalitions(kept, len(self._features))
        if self._wanted:
            everything, self._wanted = [*self._wanted, kept], []
            self._learn(np.concatenate(everything))
        else:
            self._learn(kept)
        return self._remembered(kept)

    def once_more(self, kept: Coalitions, time: int) -> Floats:
        """Logits of a noisy function that are asked for again, and not remembered."""
        return self._counted(lambda: self.game.again(kept, time))

    def _counted(self, ask: Callable[[], Floats]) -> Floats:
        before = self.game.asked
        logits = ask()
        self.spent += self.game.asked - before
        return logits

    def _remembered(self, kept: Coalitions) -> Floats:
        places = [self._place[key] for key in _keys(kept)]
        return np.array([self._logits[place] for place in places]) if places else np.zeros((0, 0))

    def _learn(self, kept: Coalitions) -> None:
        first, _ = first_rows(kept)
        first = np.sort(first)
        keys = _keys(kept[first])
        new = [(row, key) for row, key in zip(first, keys, strict=True) if key not in self._place]
        if not new:
            return
        rows = kept[[row for row, _ in new]]
        logits = self.once_more(rows, 1) if self._again else self._counted(lambda: self.game(rows))
        for (_, key), own in zip(new, logits, strict=True):
            self._place[key] = len(self._logits)
            self._logits.append(own)


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
        """Those of the game; whether company moves its answers is no matter here."""
        return replace(self._answers.game.facts, beside=0.0)

    @property
    def step(self) -> int:
        return self._answers.game.step

    def __call__(self, kept: Coalitions) -> Floats:
        spent, before = self._answers.spent, kept[self._answers.knows(kept)]
        logits = self._answers(kept)
        self.asked += self._answers.spent - spent + self._answers.inputs(before)
        self._progress.advance(len(kept))
        return logits

    def again(self, kept: Coalitions, time: int) -> Floats:
        spent = self._answers.spent
        logits = self._answers.once_more(kept, time)
        self.asked += self._answers.spent - spent
        return logits


def sharing(view: View, features: Features, answers: Sequence[tuple[Removal, Answers]]) -> View:
    """A view whose games remember what was asked; the view that was given stays as it is.

    One that cannot be copied is used as it is: the same numbers, asked for again.
    """
    if not isinstance(view, Perturbable):
        return view
    remembered, original = dict(answers), view.game

    def game(own: Features, removal: Removal, progress: Progress = SILENT) -> Game:
        if removal not in remembered or own.owned != features.owned:
            return original(own, removal, progress)
        return SharedGame(remembered[removal], progress)

    try:
        shared: Any = copy.copy(view)
        shared.game = game
    except (AttributeError, TypeError):
        return view
    return cast(View, shared)


# ── coalitions of an order ────────────────────────────────────────────────────────────────────────────────────────────


def without_first(order: Integers, steps: Integers) -> Coalitions:
    """One row per step k: the first k features of the order are removed."""
    return _rank(order)[None] >= steps[:, None]


def only_first(order: Integers, steps: Integers) -> Coalitions:
    """One row per step k: the first k features of the order alone are kept."""
    return _rank(order)[None] < steps[:, None]


def _rank(order: Integers) -> Integers:
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank


def each_alone(features: int) -> Coalitions:
    """One row per feature: it is removed and all others are kept."""
    return ~np.eye(features, dtype=bool)
