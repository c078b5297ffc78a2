"""Removing words from a single attention layer is a game of ratios.

With features j = 1..d and z_j = 1 where feature j is kept, every head is a quotient of two functions linear in z:

    f_c(z) = (1/K) Σ_heads N_c(z) / D(z)
    N_c(z) = C0_c + Σ_j [ z_j A_jc + (1 - z_j) B_jc ]
    D(z)   = c0   + Σ_j [ z_j a_j  + (1 - z_j) b_j  ]

`a` and `A` belong to the kept feature, `b` and `B` to the removed one, `c0` and `C0` to what is never removed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np

from limelight.core.arrays import Array, Coalitions, Floats
from limelight.errors import NumericalError, ParameterError

_ROWS_AT_ONCE = 1024
"""Coalitions turned into floating-point numbers at once: they stay in the cache, and memory is bounded."""

AnyArray = TypeVar("AnyArray", bound=Any)
Other = TypeVar("Other", bound=Any)


@dataclass(frozen=True)
class RatioGame:
    """Game of ratios, per head K, feature d and class C. A common factor of one head's numbers changes nothing."""

    a: Floats  # (K, d)
    A: Floats  # (K, d, C)
    b: Floats  # (K, d)
    B: Floats  # (K, d, C)
    c0: Floats  # (K,)
    C0: Floats  # (K, C)

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, np.ascontiguousarray(getattr(self, field.name), dtype=np.float64))
        if self.a.ndim != 2 or self.A.ndim != 3:
            raise ParameterError(
                f"a ratio game needs a of shape (heads, features) and A of shape (heads, features, classes): "
                f"got {self.a.shape} and {self.A.shape}"
            )
        heads, d, classes = self.A.shape
        expected = {"a": (heads, d), "b": (heads, d), "B": (heads, d, classes), "c0": (heads,), "C0": (heads, classes)}
        for name, shape in expected.items():
            if getattr(self, name).shape != shape:
                given = getattr(self, name).shape
                raise ParameterError(f"{name} has shape {given}: with A of {self.A.shape} it must be {shape}")
        if d == 0:
            raise ParameterError("a ratio game needs at least one feature: got none")
        for field in fields(self):
            if not np.isfinite(getattr(self, field.name)).all():
                raise NumericalError(f"{field.name} of the ratio game is not finite: check the model's weights")
        if min(self.a.min(), self.b.min(), self.c0.min()) < 0 or self.denominator_range()[0].min() <= 0:
            raise NumericalError(
                "the denominator of a ratio game must be positive whatever is removed: "
                "got a, b or c0 below zero, or all zero; check the model's attention scores"
            )

    @classmethod
    def from_positions(
        cls,
        scores: Floats,
        values: Floats,
        removed_scores: Floats,
        removed_values: Floats,
        owners: Sequence[Sequence[int]],
    ) -> RatioGame:
        """The game of a document.

        `scores` (T, K) are the log attention scores s_t, `values` (T, K, C) the values w_t; the `removed_` arrays hold
        the same for [UNK] at that position; `owners[j]` lists the positions of feature j. Positions without an owner
        stay.
        """
        # One constant per head cancels in N/D and keeps exp() inside the range of float64.
        top = np.maximum(scores.max(axis=0), removed_scores.max(axis=0))
        g = np.exp(scores - top)
        gw = g[:, :, None] * values
        sizes = list(map(len, owners))
        if 0 in sizes:
            raise ParameterError(f"feature {sizes.index(0)} owns no position of the text: leave it out")
        order = np.array([t for positions in owners for t in positions], dtype=np.int64)
        times_owned = np.bincount(order, minlength=len(scores))
        if (times_owned > 1).any():
            t = int(times_owned.argmax())
            j = [j for j, positions in enumerate(owners) for other in positions if other == t][1]
            raise ParameterError(f"feature {j} owns a position of another feature: each position has one owner")
        owned, starts = times_owned > 0, np.cumsum([0, *sizes])[:-1]

        g_h = np.exp(removed_scores[order] - top)
        gw_h = g_h[:, :, None] * removed_values[order]

        def summed(per_owned: Floats) -> Floats:
            """Sums over the positions of each feature: (owned positions, K, ...) becomes (K, d, ...)."""
            return np.add.reduceat(per_owned, starts, axis=0).swapaxes(0, 1)

        return cls(
            a=summed(g[order]),
            A=summed(gw[order]),
            b=summed(g_h),
            B=summed(gw_h),
            c0=g[~owned].sum(axis=0),
            C0=gw[~owned].sum(axis=0),
        )

    @classmethod
    def from_affine(
        cls, numerator: Floats, denominator: Floats, numerator_at_none: Floats, denominator_at_none: Floats
    ) -> RatioGame:
        """The game of any mean of K quotients N(z)/D(z) with N and D affine in z and D > 0 on every coalition.

        N_c(z) = numerator_at_none + Σ_j z_j numerator_j        (K, C) and (K, d, C)
        D(z)   = denominator_at_none + Σ_j z_j denominator_j    (K,) and (K, d)
        """
        denominator = np.asarray(denominator, dtype=np.float64)
        numerator = np.asarray(numerator, dtype=np.float64)
        # A feature that lowers D is one whose *absence* adds to it: both parts of D stay sums of positive terms.
        removed = np.maximum(-denominator, 0.0)
        lowest = np.asarray(denominator_at_none, dtype=np.float64) - removed.sum(axis=-1)
        if not (np.isfinite(lowest).all() and lowest.min() > 0):
            raise NumericalError(
                f"D(z) must be positive on every coalition: its smallest value per head is {lowest.tolist()}; "
                "a model whose denominator changes sign is not a ratio game"
            )
        return cls(
            a=np.maximum(denominator, 0.0),
            A=numerator,
            b=removed,
            B=np.zeros_like(numerator),
            c0=lowest,
            C0=numerator_at_none,
        )

    @property
    def n_features(self) -> int:
        return self.a.shape[1]

    @property
    def n_heads(self) -> int:
        return self.a.shape[0]

    @property
    def n_classes(self) -> int:
        return self.A.shape[2]

    def along(self, direction: Floats) -> RatioGame:
        """The game of one class whose output is Σ_c direction_c · f_c."""
        return RatioGame(
            self.a, directed(self.A, direction), self.b, directed(self.B, direction), self.c0,
            directed(self.C0, direction),
        )  # fmt: skip

    def denominator_range(self) -> tuple[Floats, Floats]:
        """The smallest and the largest D over all coalitions, per head: each feature chooses for itself."""
        lowest = self.c0 + np.minimum(self.a, self.b).sum(axis=1)
        highest = self.c0 + np.maximum(self.a, self.b).sum(axis=1)
        return lowest, highest

    def largest_output(self) -> Floats:
        """A bound on (1/K) Σ_heads |N_c(z)/D(z)| over all coalitions, per class: the unit of every error estimate."""
        numerators = np.concatenate([self.A, self.B, self.C0[:, None]], axis=1)
        denominators = np.concatenate([self.a, self.b, self.c0[:, None]], axis=1)[:, :, None]
        # N/D is an average of the parts' own quotients, so it lies among them; a part of 0/0 has no say.
        with np.errstate(divide="ignore", invalid="ignore"):
            quotients = np.where(numerators == 0.0, 0.0, np.abs(numerators) / denominators).max(axis=1)
        total = np.abs(self.C0) + np.maximum(np.abs(self.A), np.abs(self.B)).sum(axis=1)
        bound: Floats = np.minimum(quotients, total / self.denominator_range()[0][:, None]).mean(axis=0)
        return bound

    def evaluate(self, kept: Coalitions) -> Floats:
        """f(z) for each row z of `kept` (n, d): thin matrix products. Returns (n, C)."""
        kept = np.asarray(kept)
        d = self.n_features
        if kept.ndim != 2 or kept.shape[1] != d:
            raise ParameterError(f"coalitions have shape {kept.shape}: this game has {d} features, so (n, {d})")
        tables, result = self._tables, np.empty((len(kept), self.n_classes))
        for start in range(0, len(kept), _ROWS_AT_ONCE):
            z = kept[start : start + _ROWS_AT_ONCE].astype(np.float64)
            result[start : start + _ROWS_AT_ONCE] = mean_of_quotients(tables.sums(z), self.n_heads)
        return result

    @cached_property
    def _tables(self) -> Tables[Array]:
        return self.tables()

    def tables(self) -> Tables[Array]:
        """Matrices of what each feature adds to D and N, to be multiplied with coalitions."""
        K, d, C = self.A.shape
        return Tables(
            present=np.concatenate([self.a.T, self.A.transpose(1, 0, 2).reshape(d, K * C)], axis=1),
            absent=np.concatenate([self.b.T, self.B.transpose(1, 0, 2).reshape(d, K * C)], axis=1),
            always=np.concatenate([self.c0, self.C0.reshape(K * C)]),
        )


def directed(values: Floats, direction: Floats) -> Floats:
    """Values of classes (..., C) along a direction: (..., 1). One class alone is taken as it is."""
    chosen = np.flatnonzero(direction)
    if len(chosen) == 1 and direction[chosen[0]] == 1.0:
        return values[..., chosen]
    along: Floats = (values[..., chosen] @ direction[chosen])[..., None]
    return along


@dataclass(frozen=True)
class Tables(Generic[AnyArray]):
    """Columns: D of each head, then N of each head and class. NumPy's arrays or torch's tensors, on any device."""

    present: AnyArray  # (d, K + K·C): a and A
    absent: AnyArray  # (d, K + K·C): b and B
    always: AnyArray  # (K + K·C,): c0 and C0

    def map(self, function: Callable[[AnyArray], Other]) -> Tables[Other]:
        """These tables on another device or in another precision."""
        return Tables(function(self.present), function(self.absent), function(self.always))

    def sums(self, z: AnyArray) -> AnyArray:
        """D and N for coalitions z (n, d) of zeros and ones."""
        # z·a + (1-z)·b and not b + z·(a-b): where D spans many orders of magnitude, the difference cancels.
        return z @ self.present + (1.0 - z) @ self.absent + self.always


def mean_of_quotients(sums: AnyArray, heads: int) -> AnyArray:
    """(1/K) Σ_heads N_c / D from sums (n, K + K·C): (n, C)."""
    classes = sums.shape[1] // heads - 1
    quotients: Any = sums[:, heads:].reshape(-1, heads, classes) / sums[:, :heads, None]
    mean: AnyArray = quotients.mean(1)
    return mean
