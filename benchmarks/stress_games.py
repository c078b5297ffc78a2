"""Games whose LIME weights and Shapley values are known exactly, for `stress.py`.

Three ways of knowing: a function of how many of its words are kept (`Counted`) and a function of a few words
(`OfFew`) follow from hypergeometric chances, for any number of words that do not matter beside them; an attention layer
(`Attention`) follows from limelight's exact recursion. Boosted trees and a network over TF-IDF were fitted by
scikit-learn on made-up texts (`stress_models.py`) and are evaluated here by NumPy alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from limelight.explainers.sampling.designs import all_coalitions
from limelight.explainers.sampling.shapley_samplers import PairedShapley
from limelight.theory.ratio_game import RatioGame
from limelight.theory.values import LimeDesign, lime_limit_and_shapley

MODELS = Path(__file__).with_name("stress_models.npz")
Outputs = Callable[[Any], Any]


@dataclass(frozen=True)
class Game:
    """A function of coalitions (n, d); its first `matter` words matter."""

    family: str
    d: int
    matter: int
    outputs: Outputs

    def lime(self, of_samples: float, kernel_width: float = 0.25, ridge: float = 1.0) -> Any:
        """LIME's weights of the regression of so many samples."""
        raise NotImplementedError

    def shapley(self) -> Any:
        raise NotImplementedError


@dataclass(frozen=True)
class Counted(Game):
    """`table` (matter + 1,): the output by the number of words kept of those that matter."""

    table: Any

    def lime(self, of_samples: float, kernel_width: float = 0.25, ridge: float = 1.0) -> Any:
        d, k, count, design = (
            self.d,
            self.matter,
            np.arange(self.matter + 1),
            _design(self.d, of_samples, kernel_width, ridge),
        )
        F, of_few, of_others = np.empty(d + 1), np.zeros(1), np.zeros(1)
        for s in range(d + 1):
            ways = [math.comb(k, c) * math.comb(d - k, d - s - c) if d - s >= c else 0 for c in count.tolist()]
            chance = np.array([own / math.comb(d, s) for own in ways])
            F[s] = chance @ self.table
            v = design.size_weights[s]
            of_few += v * (chance * count / k) @ self.table
            of_others += v * (chance * (d - s - count) / max(d - k, 1)) @ self.table
        return design.weights_of(F[None], np.concatenate([np.repeat(of_few, k), np.repeat(of_others, d - k)])[None])[0]

    def shapley(self) -> Any:
        return np.pad(np.full(self.matter, (self.table[-1] - self.table[0]) / self.matter), (0, self.d - self.matter))


@dataclass(frozen=True)
class OfFew(Game):
    """Any function of its first `matter` words: all coalitions of these are asked."""

    def _every(self) -> tuple[Any, Any]:
        few = all_coalitions(self.matter)
        return few, self.outputs(np.pad(few, ((0, 0), (0, self.d - self.matter))))

    def lime(self, of_samples: float, kernel_width: float = 0.25, ridge: float = 1.0) -> Any:
        """Given that s words are removed, so many of those that matter are by a hypergeometric chance."""
        d, k, design = self.d, self.matter, _design(self.d, of_samples, kernel_width, ridge)
        few, f = self._every()
        removed = k - few.sum(axis=1)
        F, with_few, with_others = np.empty(d + 1), np.zeros(k), 0.0
        for s in range(d + 1):
            by_count = np.array(
                [
                    math.comb(d - k, s - gone) / math.comb(d, s) if 0 <= s - gone <= d - k else 0.0
                    for gone in range(k + 1)
                ]
            )
            chance = by_count[removed] * f
            F[s] = chance.sum()
            v = design.size_weights[s]
            with_few += v * (chance @ few)
            with_others += v * float(chance @ ((d - k) - (s - removed))) / max(d - k, 1)
        return design.weights_of(F[None], np.concatenate([with_few, np.full(d - k, with_others)])[None])[0]

    def shapley(self) -> Any:
        k = self.matter
        samples = PairedShapley(lambda kept: self.outputs(np.pad(kept, ((0, 0), (0, self.d - k))))[:, None], k, 0)
        samples.extend(2**k)
        return np.pad(samples.estimate().values[:, 0], (0, self.d - k))


@dataclass(frozen=True)
class Attention(Game):
    """Attention layers with random weights, all of whose words matter."""

    ratio: RatioGame

    def lime(self, of_samples: float, kernel_width: float = 0.25, ridge: float = 1.0) -> Any:
        return lime_limit_and_shapley([self.ratio], [0], of_samples, kernel_width, ridge)[0][0].values

    def shapley(self) -> Any:
        return lime_limit_and_shapley([self.ratio], [0])[0][1].values


@cache
def _design(d: int, of_samples: float, kernel_width: float, ridge: float) -> LimeDesign:
    return LimeDesign.of(d, of_samples, kernel_width, ridge)


# ── functions of how many words are kept ──────────────────────────────────────────────────────────────────────────────


def counted(family: str, d: int, k: int, rule: Callable[[int], float]) -> Game:
    table = np.array([float(rule(count)) for count in range(k + 1)])
    return Counted(family, d, k, lambda kept: table[np.asarray(kept)[:, :k].sum(axis=1)], table)


def all_of(d: int, k: int, name: str = "") -> Game:
    return counted(name or f"all of {k}", d, k, lambda c: 2.0 * (c == k) - 1.0)


def any_of(d: int, k: int, name: str = "") -> Game:
    return counted(name or f"any of {k}", d, k, lambda c: 2.0 * (c > 0) - 1.0)


def not_and(d: int) -> Game:
    return counted("NOT-AND", d, 2, lambda c: 1.0 - 2.0 * (c == 2))


def xor(d: int) -> Game:
    return counted("XOR", d, 2, lambda c: 1.0 - 2.0 * (c % 2))


def majority(d: int, k: int) -> Game:
    return counted(f"majority of {k}", d, k, lambda c: 2.0 * (2 * c > k) - 1.0)


def threshold(d: int, share: float) -> Game:
    """Whether at least a share of all words is kept: no word matters more than another."""
    least = math.ceil(share * d)
    return counted(f"at least {share:.0%} of the words", d, d, lambda c: 2.0 * (c >= least) - 1.0)


# ── functions of a few words ──────────────────────────────────────────────────────────────────────────────────────────


def of_few(family: str, d: int, k: int, outputs: Outputs) -> Game:
    return OfFew(family, d, k, outputs)


def largest(d: int, k: int = 10) -> Game:
    """The largest strength of the words that are kept."""
    strength = np.linspace(1.0, 0.1, k)
    return of_few("max", d, k, lambda kept: (np.asarray(kept)[:, :k] * strength).max(axis=1))


def smallest(d: int, k: int = 10) -> Game:
    """The smallest strength of the words that are kept, as a review is as bad as its worst word."""
    strength = -np.linspace(1.0, 0.1, k)
    return of_few("min", d, k, lambda kept: (np.asarray(kept)[:, :k] * strength).min(axis=1) * 2.0 + 0.5)


def decision_list(d: int, k: int = 8) -> Game:
    """The first word of a list that is kept decides."""
    says = np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0, 1.0, -1.0])[:k] * np.linspace(1.0, 0.4, k)

    def outputs(kept: Any) -> Any:
        z = np.asarray(kept, dtype=bool)[:, :k]
        return np.where(z.any(axis=1), says[z.argmax(axis=1)], 0.0)

    return of_few("decision list", d, k, outputs)


def bent(d: int, seed: int = 0) -> Game:
    """tanh of a sum in which words act together."""
    k = min(d, 12)
    rng = np.random.default_rng([d, seed, 2])
    c, W = 2.0 * rng.normal(size=k) / np.sqrt(k), 2.0 * np.triu(rng.normal(size=(k, k)), 1) / k

    def outputs(kept: Any) -> Any:
        z = np.asarray(kept, dtype=float)[:, :k]
        return np.tanh(z @ c + ((z @ W) * z).sum(axis=1) - 0.3)

    return of_few("bent", d, k, outputs)


def saturated(d: int, seed: int = 0) -> Game:
    """tanh of a margin of 3 at the text and -1 without words."""
    k = min(d, 8)
    c = np.exp(0.5 * np.random.default_rng([d, seed, 3]).normal(size=k))
    c *= 4.0 / c.sum()
    return of_few("saturated", d, k, lambda kept: np.tanh(np.asarray(kept)[:, :k] @ c - 1.0))


def attention(d: int, seed: int = 0) -> Game:
    rng, heads = np.random.default_rng([d, seed, 1]), 2
    a, b = np.exp(rng.normal(0.0, 1.0, (heads, d))), np.exp(rng.normal(-0.5, 0.5, (heads, d)))
    c0 = 2.0 * np.exp(rng.normal(0.0, 0.5, heads))
    A, B = 3.0 * a * rng.normal(size=(heads, d)), 0.3 * b * rng.normal(size=(heads, d))
    ratio = RatioGame(a=a, A=A[:, :, None], b=b, B=B[:, :, None], c0=c0, C0=c0[:, None] * rng.normal(size=(heads, 1)))
    return Attention("attention", d, d, lambda kept: ratio.evaluate(kept)[:, 0], ratio)


# ── models that scikit-learn fitted ───────────────────────────────────────────────────────────────────────────────────


@cache
def _fitted() -> dict[str, Any]:
    with np.load(MODELS, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def trees(d: int) -> Game:
    """Boosted trees' probability; `tree_text` are the words of the text, the first of which they read."""
    own = _fitted()
    text, feature = own["tree_text"], own["tree_feature"]
    column = {int(word): place for place, word in enumerate(text)}
    # A word that the text lacks is a column of zeros, the last one.
    where = np.array([[column.get(int(word), len(text)) if word >= 0 else -1 for word in row] for row in feature])
    k = len(text)

    def outputs(kept: Any) -> Any:
        z = np.pad(np.asarray(kept, dtype=bool)[:, :k], ((0, 0), (0, 1)))
        total = np.full(len(z), float(own["tree_start"]))
        for tree in range(len(feature)):
            node = np.zeros(len(z), dtype=np.int64)
            for _ in range(int(own["tree_depth"])):
                at = where[tree, node]
                there = z[np.arange(len(z)), at]
                following = np.where(there, own["tree_right"][tree, node], own["tree_left"][tree, node])
                node = np.where(at < 0, node, following)
            total += own["tree_value"][tree, node]
        return 1.0 / (1.0 + np.exp(-total))

    return of_few("boosted trees", d, k, outputs)


def network(d: int) -> Game:
    """A network's logit over TF-IDF; `net_text` are the words of the text that it knows."""
    own = _fitted()
    k = len(own["net_text"])

    def outputs(kept: Any) -> Any:
        x = np.asarray(kept, dtype=float)[:, :k] * own["net_idf"]
        norm = np.linalg.norm(x, axis=1, keepdims=True)
        x = x / np.where(norm > 0.0, norm, 1.0)
        hidden = np.maximum(x @ own["net_in"] + own["net_in_bias"], 0.0)
        return (hidden @ own["net_out"])[:, 0] + own["net_out_bias"][0]

    return of_few("TF-IDF network", d, k, outputs)


# ── the families, in two halves ───────────────────────────────────────────────────────────────────────────────────────

Family = Callable[[int], Game | None]


def _from(least: int, make: Callable[[int], Game]) -> Family:
    """Where the text has words enough for what matters."""
    return lambda d: make(d) if d >= least else None


CHOSEN: dict[str, Family] = {
    "AND": _from(2, lambda d: all_of(d, 2, "AND")),
    "any of 6": _from(6, lambda d: any_of(d, 6)),
    "majority of 5": _from(5, lambda d: majority(d, 5)),
    "decision list": _from(8, decision_list),
    "at least 75% of the words": _from(5, lambda d: threshold(d, 0.75)),
    "saturated": _from(2, saturated),
    "attention": _from(2, attention),
    "min": _from(10, smallest),
}
"""Constants of the estimators were chosen on these."""
JUDGED: dict[str, Family] = {
    "OR": _from(2, lambda d: any_of(d, 2, "OR")),
    "NOT-AND": _from(2, not_and),
    "XOR": _from(2, xor),
    "all of 4": _from(4, lambda d: all_of(d, 4)),
    "any of 3": _from(3, lambda d: any_of(d, 3)),
    "majority of 15": _from(15, lambda d: majority(d, 15)),
    "max": _from(10, largest),
    "at least 50% of the words": _from(5, lambda d: threshold(d, 0.5)),
    "bent": _from(2, bent),
    "boosted trees": _from(20, trees),
    "TF-IDF network": _from(20, network),
}
"""And are judged on these."""
FAMILIES = CHOSEN | JUDGED
