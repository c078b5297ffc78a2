"""Populations of texts on which it is known which methods are equally good, for `evaluation_claims.py`.

Each draws, for K methods and N texts, what every method gains on every text and what could be gained. Methods whose
`truth` is the same are equally good; 0 is chance.

normal        the same normal noise for all methods
skewed        every second method loses a skewed part of its score, the others vary little
heavy         Student's t with 3 degrees of freedom
failures      every second method fails completely on one text in twenty, and makes up for it on the others
real          texts and methods of a real evaluation, drawn with replacement, each method moved to its truth
real, signed  the same of methods with signs alone, which are much alike
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from limelight.arrays import Array, Floats

GOOD, BETTER = 0.5, 0.6
FAILURES = 0.05
SHAPES = ("normal", "skewed", "heavy", "failures", "real", "real, signed")
PATTERNS = ("equal", "random", "both", "better")
"""All equally good; all at chance; every second at chance and the others good; every second better than the others."""


@dataclass(frozen=True)
class Real:
    """Scores of a real evaluation: what methods gained (texts, methods), what could be gained, which have signs."""

    gains: Floats
    room: Floats
    signed: Array

    @classmethod
    def read(cls, path: Path) -> Real:
        with np.load(path) as stored:
            return cls(stored["gains"], stored["room"], stored["signed"])


def truths(pattern: str, methods: int) -> Floats:
    odd = np.arange(methods) % 4 >= 2  # in twos, so that shapes and truths do not go together
    if methods < 4:
        odd = np.arange(methods) % 2 == 1
    return {
        "equal": np.full(methods, GOOD),
        "random": np.zeros(methods),
        "both": np.where(odd, GOOD, 0.0),
        "better": np.where(odd, BETTER, GOOD),
    }[pattern]


def drawn(
    shape: str, truth: Floats, texts: int, rng: np.random.Generator, real: Real | None = None
) -> tuple[Floats, Floats]:
    """What methods gain (texts, methods) and what can be gained (texts,)."""
    methods = len(truth)
    if shape.startswith("real"):
        assert real is not None, "give --scores"
        pool = np.flatnonzero(real.signed) if shape.endswith("signed") else np.arange(len(real.signed))
        chosen = rng.choice(pool, methods, replace=methods > len(pool))
        rows = rng.integers(0, len(real.room), texts)
        at_zero = real.gains - real.gains.sum(axis=0) / real.room.sum() * real.room[:, None]
        return at_zero[rows][:, chosen] + truth * real.room[rows, None], real.room[rows]
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
    return room[:, None] * (truth + noise), room


def has(shape: str, pattern: str, methods: int, real: Real | None) -> bool:
    """Whether there is such a cell: methods drawn twice from a pool would be copies, which nobody tells apart."""
    if not shape.startswith("real"):
        return True
    if real is None:
        return False
    return methods <= (int(real.signed.sum()) if shape.endswith("signed") else len(real.signed))
