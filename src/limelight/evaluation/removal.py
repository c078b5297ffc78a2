"""What a model says of one document with features removed: each distinct input is computed once.

Methods and measures ask about the same text again and again: leave-one-out and `sign` remove each word alone, all
curves share their ends, two methods often agree on the first words. `Answers` remembers by coalition; measures say what
they want first, and all of it is asked for in one go.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from limelight.arrays import Coalitions, Floats, Integers
from limelight.features import Features
from limelight.models.coalitions import checked_coalitions, first_rows
from limelight.progress import SILENT, Progress
from limelight.view import Game, Perturbable, Removal, View


class Answers:
    """The logits of one document under one removal, by coalition."""

    def __init__(self, view: Perturbable, features: Features, removal: Removal) -> None:
        self._view, self._features, self._removal = view, features, removal
        self._place: dict[bytes, int] = {}
        self._logits: list[Floats] = []
        self._wanted: list[Coalitions] = []
        self._game: Game | None = None
        self.spent = 0
        """Inputs that the model was given."""

    @property
    def distinct(self) -> int:
        """Coalitions that are known."""
        return len(self._logits)

    def want(self, kept: Coalitions) -> None:
        """These will be asked for: the next call computes them together with all others."""
        self._wanted.append(checked_coalitions(kept, len(self._features)))

    def __call__(self, kept: Coalitions) -> Floats:
        """Logits (n, C); what was wanted before is computed along."""
        kept = checked_coalitions(kept, len(self._features))
        if self._wanted:
            everything, self._wanted = [*self._wanted, kept], []
            self._learn(np.concatenate(everything), None)
        else:
            self._learn(kept, None)
        return self._known(kept)

    def by(self, game: Game, kept: Coalitions) -> Floats:
        """The same for a method that has a game of its own."""
        self._learn(kept, game)
        return self._known(kept)

    def _known(self, kept: Coalitions) -> Floats:
        places = [self._place[key] for key in _keys(kept)]
        return np.array([self._logits[place] for place in places]) if places else np.zeros((0, 0))

    def _learn(self, kept: Coalitions, game: Game | None) -> None:
        first, _ = first_rows(kept)
        first = np.sort(first)
        keys = _keys(kept[first])
        new = [(row, key) for row, key in zip(first, keys, strict=True) if key not in self._place]
        if not new:
            return
        if game is None:
            self._game = game = self._game or self._view.game(self._features, self._removal)
        before = game.asked
        logits = game(kept[[row for row, _ in new]])
        self.spent += game.asked - before
        for (_, key), own in zip(new, logits, strict=True):
            self._place[key] = len(self._logits)
            self._logits.append(own)


def _keys(kept: Coalitions) -> list[bytes]:
    return [row.tobytes() for row in np.packbits(kept, axis=1)]


# ── methods that share them ───────────────────────────────────────────────────────────────────────────────────────────


class SharedGame:
    """A game whose answers are remembered. `asked` counts as if nobody had asked before: what a method costs alone."""

    def __init__(self, game: Game, answers: Answers, progress: Progress) -> None:
        self._game, self._answers, self._progress = game, answers, progress
        self._saved = 0

    @property
    def asked(self) -> int:
        return self._game.asked + self._saved

    def __call__(self, kept: Coalitions) -> Floats:
        before, distinct = self._answers.spent, self._answers.distinct
        logits = self._answers.by(self._game, kept)
        if self._answers.spent == before:
            self._progress.advance(len(kept))
        first, _ = first_rows(kept)
        self._saved += max(len(first) - (self._answers.distinct - distinct), 0)
        return logits


_SAID_BY_GAMES = ("notices", "rounding", "clipped", "noise")


def _shared_game(game: Game, answers: Answers, progress: Progress) -> Game:
    """It says of itself what the game says: views and methods look which attributes there are."""
    said = {name: _passed_on(name) for name in _SAID_BY_GAMES if hasattr(game, name)}
    return cast(Game, type("SharedGame", (SharedGame,), said)(game, answers, progress))


def _passed_on(name: str) -> property:
    return property(lambda self: getattr(self._game, name))


def sharing(view: View, features: Features, answers: Sequence[tuple[Removal, Answers]]) -> View:
    """A view whose games remember what was asked; the view that was given stays as it is.

    One that cannot be copied is used as it is: the same numbers, asked for again.
    """
    if not isinstance(view, Perturbable):
        return view
    remembered, original = dict(answers), view.game

    def game(own: Features, removal: Removal, progress: Progress = SILENT) -> Game:
        asked = original(own, removal, progress)
        if removal not in remembered or own.owned != features.owned:
            return asked
        return _shared_game(asked, remembered[removal], progress)

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
