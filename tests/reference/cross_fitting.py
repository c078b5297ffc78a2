"""Cross-fitted LIME in float64, fold by fold as docs/theory.md (Section 12) writes it down: slow, and meant to be read.

Whatever guesses the game for a fold has seen nothing of that fold: which words are strong, the lines along which the
game bends, the penalties and all coefficients come from the other folds and the document.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from limelight.theory.values import LimeDesign

FOLDS = 5
LINE_RIDGE = 5.0
EASILY = 10.0
STRONGEST = 18
SAMPLES_PER_PRODUCT = 2
PENALTIES = (1e-5, 1e-4, 1e-3, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
WORD_PENALTIES = (1e-10, 0.01, 0.1, 1.0)
TOGETHER = 1.0


@dataclass(frozen=True)
class Known:
    """What the kernel alone decides: means and covariances of z under it, without and with the document."""

    design: LimeDesign
    d: int

    @property
    def mean(self) -> float:
        """The chance that a word is kept in a sample."""
        return float(self.design.size_weights @ (self.d - np.arange(self.d + 1))) / self.d

    def covariance(self) -> Any:
        """E (z - m)(z - m)' of a sample: (d, d)."""
        v, s, d = self.design.size_weights, np.arange(self.d + 1), self.d
        both = float(v @ ((d - s) * (d - s - 1))) / (d * (d - 1))
        return np.full((d, d), both - self.mean**2) + (self.mean - both) * np.eye(d)

    def regression(self) -> tuple[Any, float]:
        """H of samples, document and ridge together, and the mean of z that it is centred at."""
        kappa, m = self.design.document, self.mean
        centre = (kappa + m) / (1.0 + kappa)
        H = (
            self.covariance()
            + (m - centre) ** 2
            + kappa * (1.0 - centre) ** 2
            + kappa * self.design.ridge * np.eye(self.d)
        )
        return H, centre


@dataclass(frozen=True)
class Guess:
    """A game guessed from some folds: g(z) is a sum of columns, whose bend is averaged over lines (k, d)."""

    lines: Any
    known: Known
    top: Any
    scale: Any
    coefficients: Any

    def __call__(self, kept: Any) -> Any:
        return np.mean(
            [columns(kept, line, self.known, self.top, self.scale) @ self.coefficients for line in self.lines], axis=0
        )

    def weights(self) -> Any:
        """LIME's weights of g by enumeration: for up to a dozen words."""
        d = self.known.d
        every = np.array(list(itertools.product([False, True], repeat=d)))
        return lime_of_all(every, self(every), self.known.design)


def lime_of_all(every: Any, outputs: Any, design: LimeDesign) -> Any:
    """The regression on all coalitions (2^d, d), each with the weight that it is expected to have."""
    d = every.shape[1]
    removed = d - every.sum(axis=1)
    w = np.array([design.document if s == 0 else design.size_weights[s] / math.comb(d, s) for s in removed.tolist()])
    mean_z, mean_y = w @ every / w.sum(), w @ outputs / w.sum()
    x = every - mean_z
    H = (x * w[:, None]).T @ x + design.document * design.ridge * np.eye(d)
    return np.linalg.solve(H, x.T @ (w * (outputs - mean_y)))


def line_of(kept: Any, y: Any, known: Known) -> Any:
    """A linear fit, in standard deviations of its prediction under the kernel."""
    x = kept - known.mean
    away = x - x.mean(axis=0)
    line = np.linalg.solve(away.T @ away + LINE_RIDGE * np.eye(known.d), away.T @ (y - y.mean()))
    spread = math.sqrt(float(line @ known.covariance() @ line))
    return line / (spread or 1.0)


def columns(kept: Any, line: Any, known: Known, top: Any, scale: Any) -> Any:
    """A constant, the words, the bend along a line, and products of the strongest words: (n, columns)."""
    x = np.asarray(kept, dtype=float) - known.mean
    t, share = x @ line, x.mean(axis=1) / math.sqrt(float(known.covariance().mean()))
    bend = EASILY * np.stack([t**2, t**3, share**2, share * t], axis=1)
    own = x[:, top] * scale
    i, j = np.triu_indices(len(top), 1)
    return np.concatenate([np.ones((len(x), 1)), x, bend, own[:, i] * own[:, j]], axis=1)


def fitted(B: Any, y: Any, weights: Any, d: int, word_penalties: Any = WORD_PENALTIES) -> Any:
    """Coefficients with the two penalties, of words and of guessed columns, that generalised cross-validation takes."""
    gram, moment, n = (B * weights[:, None]).T @ B, B.T @ (weights * y), len(y)
    p = len(gram)
    words = float(np.diag(gram)[1 : 1 + d].mean())
    guessed = float(np.diag(gram)[1 + d :].mean()) if p > 1 + d else 1.0
    best, found = math.inf, None
    for of_words, level in itertools.product(word_penalties, PENALTIES):
        ridge = np.concatenate([[1e-12], np.full(d, of_words * words), np.full(p - 1 - d, level * guessed)])
        inverse = np.linalg.inv(gram + np.diag(ridge))
        u = inverse @ moment
        left = float(weights @ (y - B @ u) ** 2)
        freedom = float(np.trace(inverse @ gram))
        error = left / max(1.0 - freedom / n, 1e-3) ** 2
        if error < best:
            best, found = error, u
    return found


def strongest(n: int, d: int) -> int:
    products = max(n - d, 0) // SAMPLES_PER_PRODUCT
    return min(STRONGEST, d, (1 + math.isqrt(1 + 8 * products)) // 2)


def guess(kept: Any, y: Any, fold: Any, document: float, known: Known, word_penalties: Any = WORD_PENALTIES) -> Guess:
    """From samples of several folds and the document: each bends along a line that its own fold has no part in."""
    d, n = kept.shape[1], len(y)
    whole = line_of(kept, y, known)
    top = np.argsort(-np.abs(whole), kind="stable")[: strongest(n, d)]
    scale = (
        np.sqrt(np.abs(whole[top]) / np.abs(whole[top]).mean()) if np.abs(whole[top]).sum() > 0.0 else np.ones(len(top))
    )
    inner = sorted(set(fold.tolist()))
    lines = {j: line_of(kept[fold != j], y[fold != j], known) for j in inner}
    B = np.empty((n, 0))
    for j in inner:
        own = columns(kept[fold == j], lines[j], known, top, scale)
        B = np.empty((n, own.shape[1])) if B.shape[1] == 0 else B
        B[fold == j] = own
    whole_text = np.ones((1, d), dtype=bool)
    of_document = np.mean([columns(whole_text, line, known, top, scale) for line in lines.values()], axis=0)
    weights = np.concatenate([[known.design.document], np.full(n, 1.0 / n)])
    u = fitted(np.concatenate([of_document, B]), np.concatenate([[document], y]), weights, d, word_penalties)
    return Guess(np.stack(list(lines.values())), known, top, scale, u)


def cross_fitted(
    kept: Any,
    y: Any,
    document: float,
    design: LimeDesign,
    folds: int = FOLDS,
    weights_of: Any = Guess.weights,
    together: float = TOGETHER,
    word_penalties: Any = WORD_PENALTIES,
) -> tuple[Any, Any, Any]:
    """LIME's weights (d,), how far each output moves them (n, d), and what each output is off by (n,).

    `weights_of`: LIME's weights of a guess, without sampling.
    """
    n, d = kept.shape
    known, fold = Known(design, d), np.arange(n) % folds
    H, centre = known.regression()
    inverse = np.linalg.inv(H)
    guesses = [
        guess(kept[fold != k], y[fold != k], fold[fold != k], document, known, word_penalties) for k in range(folds)
    ]
    said = np.stack([own(kept) for own in guesses])  # (folds, n)
    off = y - said[fold, np.arange(n)]
    share = np.array([(fold == k).mean() for k in range(folds)])
    of_document = document - share @ [float(own(np.ones((1, d), dtype=bool))[0]) for own in guesses]
    per_unit = (kept - centre) @ inverse / n
    values = share @ [weights_of(own) for own in guesses]
    values = values + per_unit.T @ off + inverse @ np.full(d, design.document * (1.0 - centre)) * of_document
    others = np.stack([np.var(np.delete(said[:, i], fold[i]), ddof=1) for i in range(n)])
    return values, per_unit, np.sqrt(off**2 + together * (folds - 1) * others)
