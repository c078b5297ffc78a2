"""Certified bounds: how low the output of a ratio game can be when exactly k features are removed.

Three bounds, the highest counts: the heads' own optima, their convex envelopes, and branch and bound on top.

Each head sees a set S only as a point (x, y): its denominator, and its numerator with a multiple of the denominator
taken off, so that N/D = ρ + y/x. The points of all sets of one size lie in a convex polygon, and a polygon around it is
cut out by a number of directions, one sort for each, which serves all sizes at once. For any slopes (β, γ) of the head

    y/x  >=  α + β y + γ x     on the polygon, with α = min over the polygon of y/x - β y - γ x

For a fixed x that is linear in y, so the minimum lies on the border: at a corner, or on an edge where y = p + q x and
p/x - (β q + γ) x has its least value inside. The sum over heads of the right-hand sides is linear in the set, and one
more sort finds its least value:

    Σ_h y_h/x_h  >=  Σ_h α_h  +  min_{|S| = k} Σ_h (β_h y_h(S) + γ_h x_h(S))

Slopes of 0 give the sum of the heads' own optima. The best slopes are found by subgradient steps of Polyak's length,
since the right-hand side is concave in them; every step's bound is valid, and the highest counts.

What keeps the envelopes from the truth are features that move a head's denominator by much: a
branch settles such a feature, removed or kept, and the envelopes of what is left are tighter. A branch carries all
sizes that are still open, and closes a size where its bound reaches the target; so one branching serves many sizes.
Every state of the search is a certificate: more effort only narrows the gap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from limelight.core.arrays import Coalitions, Floats, Integers
from limelight.theory.quadrature import UNIT
from limelight.theory.ratio_game import RatioGame
from limelight.theory.removal_rankings import few_enough, sets_removing_first

_DIRECTIONS = 64
"""Sides of the polygon around a head's points: four times as many improve the bound by a tenth of its gap."""
_ANGLES = 2.0 * np.pi * np.arange(_DIRECTIONS) / _DIRECTIONS
_COS, _SIN = np.cos(_ANGLES), np.sin(_ANGLES)
_ROUNDING = 64.0
"""Operations, beyond one per feature, whose rounding the bound allows for: a corner divides by sin(2π / 64), 1 / 10."""

_DINKELBACH_STEPS = 60
"""Dinkelbach's iteration converges faster than linearly: it takes about five."""
_SAME = 1e-24
"""The square of a distance, as a part of the largest, that is no distance."""


def head_optima(game: RatioGame, sizes: Integers) -> tuple[Floats, Coalitions]:
    """A certified lower bound of N/D for each head and size (K, n), and the sets that reach it: what is kept (K, n, d).

    Dinkelbach (1967), of a game of one class: for a guess λ the set that makes N - λD lowest removes the k features
    with the smallest (B_j - λ b_j) - (A_j - λ a_j), one sort; its quotient is the next λ, and the guess is right once
    the lowest N - λD is 0. Whatever λ is, no quotient is below λ + min(0, lowest N - λD) / lowest D. The bound is that,
    less what rounding may have added.
    """
    a, b, A, B = game.a[:, None], game.b[:, None], game.A[:, None, :, 0], game.B[:, None, :, 0]
    c0, C0 = game.c0[:, None], game.C0[:, :1]

    def chosen(differences: Floats) -> Coalitions:
        """Sets that remove the k features with the smallest differences."""
        return sets_removing_first(np.argsort(differences, axis=-1, kind="stable"), sizes)

    def sums(kept: Coalitions) -> tuple[Floats, Floats]:
        return c0 + np.where(kept, a, b).sum(axis=-1), C0 + np.where(kept, A, B).sum(axis=-1)

    kept = chosen(np.broadcast_to(b - a, (game.n_heads, len(sizes), game.n_features)))
    rounding = (game.n_features + 8.0) * UNIT
    total_D = c0 + (a + b).sum(axis=-1)
    total_N = np.abs(C0) + (np.abs(A) + np.abs(B)).sum(axis=-1)
    lowest_D, N = sums(kept)
    # The choice by differences may be off by rounding, but never below each feature's own smaller part.
    floor = np.maximum(lowest_D - rounding * total_D, (1.0 - rounding) * game.denominator_range()[0][:, None])
    quotient, bound = N / lowest_D, np.full(lowest_D.shape, -np.inf)
    for _ in range(_DINKELBACH_STEPS):
        kept = chosen((B - A) - quotient[:, :, None] * (b - a))
        D, N = sums(kept)
        below = N - quotient * D
        slack = rounding * (total_N + np.abs(quotient) * total_D)
        bound = np.maximum(bound, quotient + (np.minimum(below, 0.0) - slack) / floor)
        if not (below < -slack).any():
            break
        quotient = np.minimum(quotient, N / D)
    return bound, kept


@dataclass(frozen=True)
class HeadPoints:
    """A game of one class as points: with everything kept each head is at x = 1, y = 0; removing j moves it."""

    step_x: Floats  # (K, d)
    step_y: Floats  # (K, d)
    offset: float  # the output is offset + the mean over heads of y/x
    least_x: Floats  # (K,)
    rounding: Floats  # (2, K): what rounding may add to an x and a y

    @classmethod
    def of(cls, game: RatioGame) -> HeadPoints:
        A, B = game.A[:, :, 0], game.B[:, :, 0]
        unit = game.c0 + game.a.sum(axis=1)
        rho = (game.C0[:, 0] + A.sum(axis=1)) / unit
        total_x = (game.c0 + (game.a + game.b).sum(axis=1)) / unit
        total_y = (np.abs(game.C0[:, 0]) + (np.abs(A) + np.abs(B)).sum(axis=1)) / unit + np.abs(rho) * total_x
        return cls(
            step_x=(game.b - game.a) / unit[:, None],
            step_y=((B - rho[:, None] * game.b) - (A - rho[:, None] * game.a)) / unit[:, None],
            offset=float(rho.mean()),
            least_x=game.denominator_range()[0] / unit,
            rounding=(game.n_features + _ROUNDING) * UNIT * np.stack([total_x, total_y]),
        )

    def of_sets(self, kept: Coalitions) -> tuple[Floats, Floats]:
        """x and y of sets (n, d): (K, n) each."""
        removed = (~kept).T.astype(np.float64)
        return np.maximum(1.0 + self.step_x @ removed, self.least_x[:, None]), self.step_y @ removed

    def slopes(self, kept: Coalitions) -> Floats:
        """Slopes of y/x itself at the points of these sets, one set per size: β and γ, (2, K, n)."""
        x, y = self.of_sets(kept)
        return np.stack([1.0 / x, -y / x**2])


@dataclass(frozen=True)
class Envelope:
    """The heads' polygons for some sizes: corners, and the edges that follow them, y = p + q x."""

    x: Floats  # (K, n, M)
    y: Floats
    p: Floats
    q: Floats
    low: Floats  # x at the ends of an edge
    high: Floats

    @classmethod
    def of(cls, points: HeadPoints, base: tuple[Floats, Floats], free: Integers, sizes: Integers) -> Envelope:
        """Envelope of the sets that remove `sizes` of the `free` features, from a point (x, y) of each head."""
        step_x, step_y = points.step_x[:, free], points.step_y[:, free]
        unit_x, unit_y = (np.maximum(np.abs(step).sum(axis=1), 1e-300) for step in (step_x, step_y))
        half = _DIRECTIONS // 2  # the other half looks the other way: the same sort from its end
        along = _COS[:half, None] * (step_x / unit_x[:, None])[:, None] + (
            _SIN[:half, None] * (step_y / unit_y[:, None])[:, None]
        )
        along = np.sort(along, axis=-1)
        nothing = np.zeros((*along.shape[:2], 1))
        least = np.concatenate([nothing, np.cumsum(along, axis=-1)], axis=-1)[:, :, sizes]
        most = np.concatenate([nothing, np.cumsum(along[:, :, ::-1], axis=-1)], axis=-1)[:, :, sizes]
        reach = np.moveaxis(np.concatenate([most, -least], axis=1), 1, -1)  # (K, n, M)
        following = np.roll(reach, -1, axis=-1)
        cos_next, sin_next, sine = np.roll(_COS, -1), np.roll(_SIN, -1), np.sin(_ANGLES[1])
        x = base[0][:, None, None] + unit_x[:, None, None] * (reach * sin_next - following * _SIN) / sine
        y = base[1][:, None, None] + unit_y[:, None, None] * (following * _COS - reach * cos_next) / sine
        x = np.maximum(x, points.least_x[:, None, None])
        x_next, y_next = np.roll(x, -1, axis=-1), np.roll(y, -1, axis=-1)
        width = x_next - x
        q = np.divide(y_next - y, width, out=np.zeros_like(width), where=np.abs(width) > 1e-12 * x)
        return cls(x, y, y - q * x, q, np.minimum(x, x_next), np.maximum(x, x_next))

    def least(self, slopes: Floats) -> tuple[Floats, Floats, Floats]:
        """α of each head and size, and the point (x, y) where it is: (K, n) each."""
        beta, gamma = slopes[..., None]
        at_corner = self.y / self.x - beta * self.y - gamma * self.x
        corner = at_corner.argmin(axis=-1)[..., None]
        tilt = beta * self.q + gamma
        turning = (self.p > 0.0) & (tilt < 0.0)
        x = np.sqrt(np.divide(self.p, -tilt, out=np.zeros_like(tilt), where=turning))
        turning &= (x > self.low) & (x < self.high)
        inside = 2.0 * np.sqrt(np.where(turning, -self.p * tilt, 0.0)) + self.q - beta * self.p
        inside = np.where(turning, inside, np.inf)
        edge = inside.argmin(axis=-1)[..., None]

        def taken(values: Floats, at: Integers) -> Floats:
            return np.take_along_axis(values, at, axis=-1)[..., 0]

        on_edge = taken(inside, edge) < taken(at_corner, corner)
        x_edge = taken(x, edge)
        return (
            np.where(on_edge, taken(inside, edge), taken(at_corner, corner)),
            np.where(on_edge, x_edge, taken(self.x, corner)),
            np.where(on_edge, taken(self.p, edge) + taken(self.q, edge) * x_edge, taken(self.y, corner)),
        )


def envelope_bound(
    points: HeadPoints,
    base: tuple[Floats, Floats],
    free: Integers,
    sizes: Integers,
    start: Floats,
    targets: Floats,
    steps: int,
) -> tuple[Floats, Floats, Coalitions]:
    """No set that removes `sizes` of the `free` features from `base` has a lower output than this: (n,).

    And the slopes (2, K, n) that showed it, and the sets (n, f) that they make lowest: what is kept of the free
    features. `targets`: outputs that the bound need not exceed; the nearer they are to the truth, the better the steps.
    """
    heads, n, d = len(points.step_x), len(sizes), len(free)
    step_x, step_y = points.step_x[:, free], points.step_y[:, free]
    scale_x, scale_y = (np.maximum(np.abs(step).sum(axis=1), 1e-300)[:, None] for step in (step_x, step_y))
    polygon = Envelope.of(points, base, free, sizes)
    steepest = np.abs(polygon.y / polygon.x**2).max(axis=-1).T  # how fast y/x may change with x
    slopes, best_slopes = start, start
    best, kept = np.full(n, -np.inf), np.ones((n, d), dtype=np.bool_)
    rows = np.arange(n)
    for _ in range(steps):
        (beta, gamma), (alpha, x, y) = slopes, polygon.least(slopes)
        prices = beta.T @ step_y + gamma.T @ step_x  # (n, d)
        order = np.argsort(prices, axis=1, kind="stable")
        paid = np.cumsum(np.take_along_axis(prices, order, axis=1), axis=1)
        least = np.where(sizes > 0, paid[rows, np.maximum(sizes, 1) - 1] if d else 0.0, 0.0)
        fixed = gamma.T @ base[0] + beta.T @ base[1]
        slack = (1.0 / points.least_x + np.abs(beta.T)) @ points.rounding[1]
        slack += (steepest + np.abs(gamma.T)) @ points.rounding[0]
        bound = points.offset + (alpha.sum(axis=0) + fixed + least - slack) / heads
        chosen = sets_removing_first(order, sizes)
        better = bound > best
        best, kept = np.where(better, bound, best), np.where(better[:, None], chosen, kept)
        best_slopes = np.where(better, slopes, best_slopes)
        short = heads * np.maximum(targets - bound, 0.0)
        if not short.any():
            break
        removed = (~chosen).T.astype(np.float64)
        by_beta = (base[1][:, None] + step_y @ removed - y) / scale_y
        by_gamma = (base[0][:, None] + step_x @ removed - x) / scale_x
        square = (by_beta**2).sum(axis=0) + (by_gamma**2).sum(axis=0)
        # In units of all that removal moves: nearer than rounding, the slopes are as good as they get.
        length = np.divide(short, square, out=np.zeros(n), where=square > _SAME)
        slopes = np.stack([beta + length * by_beta / scale_y, gamma + length * by_gamma / scale_x])
    return best, best_slopes, kept


# ── branch and bound ──────────────────────────────────────────────────────────────────────────────────────────────────


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
