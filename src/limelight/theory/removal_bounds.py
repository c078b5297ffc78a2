"""Certified bounds: how low the output of a ratio game can be when exactly k features are removed.

Three bounds, the highest counts: the heads' own optima, their convex envelopes (both in `head_envelopes`), and
branch and bound on top. What keeps the envelopes from the truth are features that move a head's denominator by much: a
branch settles such a feature, removed or kept, and the envelopes of what is left are tighter. A branch carries all
sizes that are still open, and closes a size where its bound reaches the target; so one branching serves many sizes.
Every state of the search is a certificate: more effort only narrows the gap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from limelight.core.arrays import Coalitions, Floats, Integers
from limelight.theory.head_envelopes import HeadPoints, envelope_bound, head_optima
from limelight.theory.ratio_game import RatioGame
from limelight.theory.removal_search import few_enough

EFFORT = 64
"""Branches that are tried."""
CLOSE_ENOUGH = 1e-3
"""A gap below this part of the range that removal moves the output through is left alone."""
_FIRST_STEPS, _STEPS = 60, 15
"""Subgradient steps for the whole game, and for a branch, which begins with the slopes of its parent."""


@dataclass(frozen=True)
class _Branch:
    """Sets that remove `settled_out`, keep what is neither there nor free, and any of the free features."""

    free: Integers
    settled_out: Integers
    rows: Integers  # of the sizes that are open
    slopes: Floats  # (2, K, rows)
    bound: Floats  # (rows,)

    def at(self, chosen: Coalitions) -> _Branch:
        """The same sets, for some of the sizes."""
        return replace(self, rows=self.rows[chosen], slopes=self.slopes[:, :, chosen], bound=self.bound[chosen])


class LowestOutputs:
    """Lowest output found so far for each size, the set that has it, and a bound that no set falls below.

    `found` and `kept` come from a search, and are improved in passing.
    """

    def __init__(self, game: RatioGame, sizes: Integers, found: Floats, kept: Coalitions) -> None:
        self.game, self.sizes = game, sizes
        self.found, self.kept = found.copy(), kept.copy()
        exact = np.array([few_enough(game.n_features, int(size)) for size in sizes], dtype=np.bool_)
        heads, _ = head_optima(game, sizes)
        self.bound = np.where(exact, found, np.minimum(heads.mean(axis=0), found))
        self._points = HeadPoints.of(game)

    def tighten(self, targets: Floats, effort: int) -> None:
        """Raise the bounds to the targets (n,), or as far as `effort` branches carry: 0 of them change nothing."""
        game, points, heads = self.game, self._points, self.game.n_heads
        targets = np.minimum(targets, self.found)
        open_rows = np.flatnonzero(self.bound < targets)
        if not len(open_rows) or effort < 1:
            return
        whole = np.ones(heads), np.zeros(heads)
        every, none = np.arange(game.n_features), np.empty(0, dtype=np.int64)
        start = points.slopes(self.kept[open_rows])
        bound, slopes, kept = envelope_bound(
            points, whole, every, self.sizes[open_rows], start, targets[open_rows], _FIRST_STEPS
        )
        self._note(open_rows, kept)
        bound = np.maximum(bound, self.bound[open_rows])
        left = bound < targets[open_rows]
        branches = [_Branch(every, none, open_rows, slopes, bound).at(left)]
        closed = np.full(len(self.sizes), np.inf)  # the lowest bound of what needs no more branching
        closed[open_rows[~left]] = bound[~left]
        for _ in range(effort):
            branches = [branch for branch in branches if len(branch.rows)]
            if not branches:
                break
            widest = max(
                range(len(branches)), key=lambda i: float((targets[branches[i].rows] - branches[i].bound).sum())
            )
            branch = branches.pop(widest)
            for child in self._children(branch):
                done, still = self._bounded(child, targets)
                np.minimum.at(closed, done.rows, done.bound)
                branches.append(still)
        for branch in branches:
            np.minimum.at(closed, branch.rows, branch.bound)
        self.bound[open_rows] = np.minimum(np.maximum(self.bound, closed), self.found)[open_rows]

    def _note(self, rows: Integers, kept: Coalitions) -> Floats:
        """The outputs of sets that were met in passing: one may be better than what was found."""
        outputs = self.game.evaluate(kept)[:, 0]
        better = outputs < self.found[rows]
        self.found[rows[better]], self.kept[rows[better]] = outputs[better], kept[better]
        return outputs

    def _children(self, branch: _Branch) -> list[_Branch]:
        """The branch with its most influential feature removed, and with it kept."""
        points = self._points
        middle = branch.rows[[len(branch.rows) // 2]]
        x, y = points.of_sets(self.kept[middle])
        # The second-order part of y/x: what a line cannot follow.
        moves_x = points.step_x[:, branch.free] / x
        moves_quotient = points.step_y[:, branch.free] / x - (y / x) * moves_x
        pick = int(np.abs(moves_x * moves_quotient).sum(axis=0).argmax())
        free = np.delete(branch.free, pick)
        children = []
        for settled_out in (np.append(branch.settled_out, branch.free[pick]), branch.settled_out):
            sizes = self.sizes[branch.rows] - len(settled_out)
            possible = (sizes >= 0) & (sizes <= len(free))
            children.append(replace(branch, free=free, settled_out=settled_out).at(possible))
        return children

    def _bounded(self, branch: _Branch, targets: Floats) -> tuple[_Branch, _Branch]:
        """The branch with its bounds: the sizes that are done with, and those that are still open."""
        if not len(branch.rows):
            return branch, branch
        points = self._points
        base = (
            np.maximum(1.0 + points.step_x[:, branch.settled_out].sum(axis=1), points.least_x),
            points.step_y[:, branch.settled_out].sum(axis=1),
        )
        sizes = self.sizes[branch.rows] - len(branch.settled_out)
        bound, slopes, kept = envelope_bound(
            points, base, branch.free, sizes, branch.slopes, targets[branch.rows], _STEPS
        )
        outputs = self._note(branch.rows, self._whole(branch, kept))
        only_set = (sizes == 0) | (sizes == len(branch.free))
        bound = np.where(only_set, outputs, np.maximum(bound, branch.bound))
        still = (bound < targets[branch.rows]) & ~only_set
        bounded = replace(branch, slopes=slopes, bound=bound)
        return bounded.at(~still), bounded.at(still)

    def _whole(self, branch: _Branch, kept: Coalitions) -> Coalitions:
        """Sets of free features as sets of all."""
        whole = np.ones((len(kept), self.game.n_features), dtype=np.bool_)
        whole[:, branch.settled_out] = False
        whole[:, branch.free] = kept
        return whole
