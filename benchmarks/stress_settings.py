"""Do 95 % intervals of sampled LIME and Shapley values hold under stress, and are they withheld where none can be had?

    python benchmarks/stress_settings.py [--runs 4] [--features 1,2,3,5,8,12,20,30] [--quick] [--first-game 0]
                                [--methods lime,shapley] [--families attention,bent,saturated]

Games of 1 to 30 words, 2 to 5,000 samples, ridge 0 to 10, kernel width 0.05 to ∞; functions that always answer alike,
and functions with noise of a standard deviation of 0.2, of which all but the noise is the truth. LIME's truth is
`lime-limit` with the same kernel width and ridge. Games, by family:

- attention: attention layers with random weights, whose values are known for any number of words;
- bent: up to 12 words, tanh of a sum in which words act together, whose values are known by enumeration;
- saturated: at the text the model is certain, and most removals change nothing, few everything. Up to eight words
  matter, and the values follow from what these do, for any number of words.

--first-game 10 takes other games of each family than those that anything was chosen on.

A row: the share of weights that have an interval ("exact": nothing was left to chance), of these the share whose
interval holds the truth with the standard error of that share, and the same of the worst kernel width and ridge.
Weights of a run are off together, so errors are those of a mean over runs, and no less than those of independent
weights. The end says what does not keep to the goal: 92 % wherever there is an interval, and one from 4 samples per
word on with a width of 0.1 or more and a ridge above 0. A cell (one setting) or a row is below 92 % if Student's test
says so at a level of 5 % for all cells and rows together (Bonferroni).
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import stdtr

import limelight
from limelight.explainers.sampling.designs import all_coalitions
from limelight.explainers.sampling.lime_sampler import RIDGE_SAMPLES, LimeSampler
from limelight.explainers.sampling.shapley_samplers import PairedShapley
from limelight.theory.ratio_game import RatioGame
from limelight.theory.values import LimeDesign, lime_limit, shapley
from official import machine

GOAL = 0.92
LEVEL = 0.05
"""Of a false alarm anywhere in the grid."""
NOISE = 0.2
RIDGES = (0.0, 0.01, 1.0, 10.0)
WIDTHS = (0.05, 0.1, 0.25, 1.0, float("inf"))
EXACT = 1e-6
"""Weights that are called exact may be off by so much, of the largest: rounding."""
Z = 1.959963984540054

Outputs = Callable[[Any], Any]


@dataclass(frozen=True)
class Game:
    """From coalitions (n, d) to outputs (n,), with its values. `matter`: the first so many words do, where few do."""

    d: int
    outputs: Outputs
    ratio: RatioGame | None = None
    matter: int | None = None

    def lime(self, n: int, kernel_width: float, ridge: float) -> Any:
        if self.ratio is not None:
            return lime_limit(self.ratio, 0, n, kernel_width, ridge).values
        if self.matter is not None:
            return self._lime_of_few(LimeDesign.of(self.d, n, kernel_width, ridge))
        samples = LimeSampler(self._ask, self.d, 0, kernel_width, ridge, ridge_samples=n)
        samples.extend(2**self.d)
        return samples.estimate().values[:, 0]

    def shapley(self) -> Any:
        if self.ratio is not None:
            return shapley(self.ratio, 0).values
        d, k = self.d, self.d if self.matter is None else self.matter
        samples = PairedShapley(lambda kept: self._ask(np.pad(kept, ((0, 0), (0, d - k)))), k, 0)
        samples.extend(2**k)
        return np.pad(samples.estimate().values[:, 0], (0, d - k))

    def _lime_of_few(self, design: LimeDesign) -> Any:
        """Given that s words are removed, so many of those that matter are by a hypergeometric chance."""
        d, k = self.d, self.matter or 0
        few = all_coalitions(k)
        f, gone, s = self.outputs(np.pad(few, ((0, 0), (0, d - k)))), k - few.sum(axis=1), np.arange(d + 1)
        others = s - gone[:, None]  # removed, of d - k: (2^k, d + 1)
        ways = [[math.comb(d - k, r) if r >= 0 else 0 for r in row] for row in others.tolist()]
        chance = np.array(ways) / np.array([math.comb(d, r) for r in s.tolist()])
        kept_beside = np.broadcast_to(((d - k) - others) / max(d - k, 1), chance.shape)
        of_few = (f[:, None] * few).T @ chance @ design.size_weights
        of_others = (f[:, None] * chance * kept_beside).sum(axis=0) @ design.size_weights
        with_word = np.concatenate([of_few, np.full(d - k, of_others)])
        return design.weights_of((f @ chance)[None], with_word[None])[0]

    def _ask(self, kept: Any) -> Any:
        return self.outputs(kept)[:, None]

    def model(self, noise: float, seed: int) -> Any:
        """As a function of texts, the words of which are w0, w1, …"""
        rng = np.random.default_rng(seed)

        def answer(texts: list[str]) -> Any:
            kept = np.array([[word != "_" for word in text.split()] for text in texts])
            return self.outputs(kept) + noise * rng.normal(size=len(texts))

        return limelight.wrap(answer, kind="regression", mask="_")

    @property
    def text(self) -> str:
        return " ".join(f"w{j}" for j in range(self.d))


def attention(d: int, seed: int) -> Game:
    rng, heads = np.random.default_rng([d, seed, 1]), 2
    a, b = np.exp(rng.normal(0.0, 1.0, (heads, d))), np.exp(rng.normal(-0.5, 0.5, (heads, d)))
    c0 = 2.0 * np.exp(rng.normal(0.0, 0.5, heads))
    A, B = 3.0 * a * rng.normal(size=(heads, d)), 0.3 * b * rng.normal(size=(heads, d))
    ratio = RatioGame(a=a, A=A[:, :, None], b=b, B=B[:, :, None], c0=c0, C0=c0[:, None] * rng.normal(size=(heads, 1)))
    return Game(d, lambda kept: ratio.evaluate(kept)[:, 0], ratio)


def bent(d: int, seed: int) -> Game:
    rng = np.random.default_rng([d, seed, 2])
    c, W = 2.0 * rng.normal(size=d) / np.sqrt(d), 2.0 * np.triu(rng.normal(size=(d, d)), 1) / d

    def outputs(kept: Any) -> Any:
        z = np.asarray(kept, dtype=float)
        return np.tanh(z @ c + ((z @ W) * z).sum(axis=1) - 0.3)

    return Game(d, outputs)


def saturated(d: int, seed: int) -> Game:
    """tanh of a margin of 3 or 6 at the text and -1 without words, or 1 if any of three words is there."""
    k = min(d, 3 if seed % 3 == 2 else 8)
    c = np.exp(0.5 * np.random.default_rng([d, seed, 3]).normal(size=k))
    c *= (4.0, 7.0, 1.0)[seed % 3] / c.sum()

    def outputs(kept: Any) -> Any:
        z = np.asarray(kept)[:, :k]
        return z.any(axis=1).astype(float) if seed % 3 == 2 else np.tanh(z @ c - 1.0)

    return Game(d, outputs, matter=k)


def games_of(d: int, first: int) -> dict[str, list[Game]]:
    """By family."""
    of_bent = {"bent": [bent(d, first), bent(d, first + 1)]} if d <= 12 else {}
    return {
        "attention": [attention(d, first), attention(d, first + 1)],
        **of_bent,
        "saturated": [saturated(d, seed) for seed in range(first - first % 3, first - first % 3 + 3)],
    }


@dataclass
class Cell:
    """What became of the weights of one setting."""

    weights: int = 0
    given: int = 0
    inside: int = 0
    exact: int = 0
    shares: list[float] = field(default_factory=list)

    def add(self, e: Any, truth: Any) -> None:
        self.weights += len(truth)
        off = np.abs(e.weights - truth)
        if e.stderr is None:
            self.exact += len(truth)
            self.given += len(truth)
            held = off <= EXACT * max(1.0, np.abs(truth).max())
        else:
            known = ~np.isnan(e.stderr)
            held = off[known] <= Z * e.stderr[known] + 1e-9
            self.given += len(held)
        self.inside += int(held.sum())
        if len(held):
            self.shares.append(float(held.mean()))

    def __iadd__(self, other: Cell) -> Cell:
        for name in ("weights", "given", "inside", "exact"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.shares += other.shares
        return self

    @property
    def coverage(self) -> float:
        return self.inside / self.given if self.given else float("nan")

    @property
    def error(self) -> float:
        """The standard error of `coverage`: of the mean over runs, no less than of independent weights."""
        runs = len(self.shares)
        if self.exact == self.given:
            return 0.0
        independent = GOAL * (1.0 - GOAL) * runs / self.given
        return math.sqrt(max(float(np.var(self.shares, ddof=1)), independent) / runs) if runs > 1 else math.inf

    @property
    def rarity(self) -> float:
        """The chance of a coverage as low as this where the goal is met."""
        if not 0.0 < self.error < math.inf:  # exact, or a single run
            return float(self.coverage >= GOAL or self.error > 0.0)
        return float(stdtr(len(self.shares) - 1, (self.coverage - GOAL) / self.error))

    def __str__(self) -> str:
        return f"{self.coverage:.1%} ± {self.error:.1%}"


def settings(method: str) -> Iterator[dict[str, float]]:
    if method == "shapley":
        yield {}
        return
    for width in WIDTHS:
        for ridge in RIDGES:
            yield {"kernel_width": width, "ridge": ridge}


def sizes(d: int, most: int) -> list[int]:
    every = {2, 3, 8, 20, 2 * d + 2, 4 * d, 10 * d, 500, most}
    return sorted(n for n in every if 2 <= n <= most)


_SEEDS = itertools.count()
"""No two runs share their samples or their noise."""


def measured(games: list[Game], method: str, n: int, noise: float, options: dict[str, float], runs: int) -> Cell:
    cell = Cell()
    for game in games:
        truth = game.shapley() if method == "shapley" else game.lime(RIDGE_SAMPLES, **options)
        for seed in itertools.islice(_SEEDS, runs):
            model = game.model(noise, seed)
            try:
                e = limelight.explain(model, game.text, method, n_samples=n, seed=seed, **options)
            except limelight.errors.ParameterError:  # a kernel that leaves nothing to fit
                continue
            cell.add(e, truth)
    return cell


def is_due(d: int, n: int, options: dict[str, float]) -> bool:
    """Whether an interval has to be given."""
    return n >= max(4 * d, 30) and options.get("kernel_width", 1.0) >= 0.1 and options.get("ridge", 1.0) > 0.0


def report(cells: dict[str, Cell], rows: dict[str, Cell], withheld: list[str]) -> None:
    """What does not keep to the goal."""
    given = {where: cell for where, cell in (cells | rows).items() if cell.given}
    below = {where: cell for where, cell in given.items() if cell.rarity < LEVEL / len(given)}
    for name, kind in (("cells", cells), ("rows", rows)):
        own = {where: cell for where, cell in kind.items() if cell.given}
        errors = [cell.error for cell in own.values() if 0.0 < cell.error < math.inf] or [0.0]
        low = sorted((cell.coverage, where) for where, cell in own.items() if cell.coverage < GOAL)
        alone = sum(cell.rarity < 0.05 for cell in own.values())
        print(f"{len(own)} {name} with intervals; their standard error: ", end="")
        print(f"{np.median(errors):.1%} in the median, {max(errors):.1%} at most")
        print(f"  {len(low)} below {GOAL:.0%}, {alone} by a test of their own at 5 %; the lowest:")
        for _, where in low[:5]:
            print(f"    {where}: {own[where]} of {own[where].given} weights")
    print(f"below {GOAL:.0%} by more than chance: {len(below)}")
    for where, cell in sorted(below.items(), key=lambda item: item[1].coverage):
        print(f"  {where}: {cell} of {cell.given} weights")
    print(f"withheld where one is due: {len(withheld)}", *withheld, sep="\n  ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--features", default="1,2,3,5,8,12,20,30")
    parser.add_argument("--most", type=int, default=5000)
    parser.add_argument("--first-game", type=int, default=0)
    parser.add_argument("--methods", default="lime,shapley")
    parser.add_argument("--families", default="attention,bent,saturated")
    parser.add_argument("--quick", action="store_true", help="two widths and two ridges")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", limelight.errors.ExplanationWarning)
    global RIDGES, WIDTHS
    if arguments.quick:
        RIDGES, WIDTHS = (0.0, 1.0), (0.1, 0.25)
    began = time.monotonic()
    cells: dict[str, Cell] = {}
    rows: dict[str, Cell] = {}
    withheld: list[str] = []
    totals: dict[str, Cell] = {}
    print(f"{machine()}; {arguments.runs} runs of each game, half as many from 1,000 samples on\n")
    heads = ("method", "games", "noise", "words", "samples", "interval given", "covered", "worst setting")
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    every = itertools.product(arguments.methods.split(","), (0.0, NOISE), map(int, arguments.features.split(",")))
    for method, noise, d in every:
        families = [own for own in games_of(d, arguments.first_game).items() if own[0] in arguments.families]
        for (family, games), n in itertools.product(families, sizes(d, arguments.most)):
            runs = arguments.runs if n < 1000 else max(1, arguments.runs // 2)
            if noise == 0.0 and 2**d <= n:  # all runs are the same
                runs = 1
            row, worst, place = Cell(), "", f"{method}, {family}, noise {noise:g}, {d} words, {n} samples"
            for options in settings(method):
                named = ", ".join(f"{name} {value:g}" for name, value in options.items())
                where = f"{place}, {named}" if named else f"{place}, as they are"
                cell = cells[where] = measured(games, method, n, noise, options, runs)
                if cell.given and (not worst or cell.coverage < cells[worst].coverage):
                    worst = where
                row += cell
                if is_due(d, n, options) and cell.given < cell.weights:
                    withheld.append(f"{where}: {cell.given} of {cell.weights} weights have an interval")
            if method == "lime":  # Shapley values have one setting
                rows[place] = row
            total = totals.setdefault(f"{method}, {family}, noise {noise:g}", Cell())
            total += row
            share = f"{row.given / row.weights:.0%}" if row.weights else "refused"
            exact = f" ({row.exact / row.weights:.0%} exact)" if row.exact else ""
            covered = str(row) if row.given else "–"
            lowest = f"{cells[worst]} {worst.removeprefix(place)[2:]}" if worst else ""
            print(
                f"| {method} | {family} | {noise:g} | {d} | {n:,} | {share}{exact} | {covered} | {lowest} |", flush=True
            )
    print(f"\n{time.monotonic() - began:.0f} s")
    print("all settings:", *(f"{name}: {cell}" for name, cell in totals.items()), sep="\n  ")
    report(cells, rows, withheld)


if __name__ == "__main__":
    main()
