"""Populations of texts on which it is known which methods are equally good, for `evaluation_claims.py`.

Each draws, for K methods and N texts, what every method gains on every text and what could be gained. Methods whose
`truth` is the same are equally good; 0 is chance.

normal        the same normal noise for all methods
skewed        every second method loses a skewed part of its score, the others vary little
heavy         Student's t with 3 degrees of freedom
failures      every second method fails completely on one text in twenty, and makes up for it on the others
real          texts and methods of a real evaluation and orders at random, drawn with replacement, each
              moved to its truth
real, signed  the same of methods with signs, and of orders at random
real, best    the same of methods with signs alone, which are much alike
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from limelight.core.arrays import Array, Floats

GOOD, BETTER = 0.5, 0.6
FAILURES = 0.05
SHAPES = ("normal", "skewed", "heavy", "failures", "real", "real, signed", "real, best")
LEVELS = ("equal", "random", "both")
"""All equally good; all at chance; half at chance and the others good."""
POWERS = ("better", "as it is")
"""Half better than the others; the real methods as good as they are."""


@dataclass(frozen=True)
class Real:
    """Scores of a real evaluation: what methods gained (texts, methods), what could be gained, which have signs, and
    which are orders at random."""

    gains: Floats
    room: Floats
    signed: Array
    random: Array

    @classmethod
    def read(cls, path: Path) -> Real:
        with np.load(path) as stored:
            return cls(stored["gains"], stored["room"], stored["signed"], stored["random"])

    def pool(self, shape: str, pattern: str) -> Array:
        """The methods that a population is drawn from."""
        if shape == "real, best":
            return np.flatnonzero(self.signed & ~self.random)
        if shape == "real, signed":
            return np.flatnonzero(self.signed)
        return np.flatnonzero(~self.random) if pattern == "as it is" else np.arange(len(self.signed))


def truths(pattern: str, methods: int) -> Floats:
    odd = np.arange(methods) % 4 >= 2  # in twos, so that shapes and truths do not go together
    if methods < 4:
        odd = np.arange(methods) % 2 == 1
    return {
        "equal": np.full(methods, GOOD),
        "random": np.zeros(methods),
        "both": np.where(odd, GOOD, 0.0),
        "better": np.where(odd, BETTER, GOOD),
        "as it is": np.full(methods, np.nan),
    }[pattern]


def drawn(
    shape: str, pattern: str, methods: int, texts: int, rng: np.random.Generator, real: Real | None = None
) -> tuple[Floats, Floats, Floats]:
    """What methods gain (texts, methods), what can be gained (texts,), and the truth (methods,)."""
    truth = truths(pattern, methods)
    if shape.startswith("real"):
        assert real is not None, "give --scores"
        chosen = rng.choice(real.pool(shape, pattern), methods, replace=False)
        rows = rng.integers(0, len(real.room), texts)
        means = (real.gains.sum(axis=0) / real.room.sum())[chosen]
        truth = means if pattern == "as it is" else truth
        return real.gains[rows][:, chosen] + (truth - means) * real.room[rows, None], real.room[rows], truth
    room = rng.lognormal(-0.08, 0.4, texts)
    size, second = (texts, methods), np.arange(methods) % 2 == 1
    if shape == "normal":
        noise = 0.25 * rng.normal(size=size)
    elif shape == "heavy":
        noise = 0.15 * rng.standard_t(3, size=size)
    else:
        little = 0.04 * rng.normal(size=size)
        if shape == "skewed":
            much = 0.3 * (1.0 - rng.exponential(size=size))
        else:
            much = FAILURES - (rng.random(size) < FAILURES) + little
        noise = np.where(second, much, little)
    return room[:, None] * (truth + noise), room, truth


def has(shape: str, pattern: str, methods: int, real: Real | None) -> bool:
    """Whether there is such a cell: methods drawn twice from a pool would be copies, which nobody tells apart."""
    if shape.startswith("real"):
        return real is not None and methods <= len(real.pool(shape, pattern))
    return pattern != "as it is"
