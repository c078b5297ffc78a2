"""How often the intervals of an evaluation cover the truth, on simulated documents whose truth is known.

    python benchmarks/evaluation_intervals.py --repeats 4000

Documents have a positive denominator (what the best order gains over chance), and a numerator (what a method gains)
that depends on it: a good method loses a skewed part of it, a weak one gains a small and skewed part, a method at
chance gains nothing on average. `skewed` documents have denominators of skewness 1.3, losses of 2 and gains of 3.7
(on IMDB the embedded model's best order, attention and Shapley order have 0.0, 0.7 and -0.1); `very skewed` ones 2.3, 2
and 6.

Printed for each number of documents, for flipped signs, which `evaluate` uses, and for the studentised bootstrap that
version 0.2 used: the share of simulated evaluations whose interval holds the truth, which should be the level, with
its own error; how often the truth lies below or above it; and the mean width. `*` marks a share outside level ± 2
points.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence

import numpy as np

from evaluation_bootstrap import Bootstrap
from limelight.core.arrays import Floats
from limelight.evaluation.inference import ratio_of_means

Documents = tuple[Floats, Floats, Floats, Floats]
"""Denominators; numerators of the good method, of the weak one, and of the one at chance."""
GOOD, WEAK = 0.7, 0.2
WAYS = ("flips", "studentised")
SPREADS = {"skewed": (0.4, 0.8), "very skewed": (0.6, 1.0)}
"""Of the logarithms of denominators and of the weak method's gains."""


def simulated(rng: np.random.Generator, n: int, spreads: tuple[float, float]) -> Documents:
    of_denominators, of_gains = spreads
    denominators = rng.lognormal(-(of_denominators**2) / 2, of_denominators, n)  # of mean 1
    good = denominators * (1.0 - (1.0 - GOOD) * rng.exponential(1.0, n))
    weak = denominators * WEAK * rng.lognormal(-(of_gains**2) / 2, of_gains, n)
    chance = denominators**0.5 * 0.3 * (rng.exponential(1.0, n) - 1.0)
    return denominators, good, weak, chance


CASES: dict[str, tuple[float, Callable[[Documents], Floats]]] = {
    "good method": (GOOD, lambda d: d[1]),
    "weak method": (WEAK, lambda d: d[2]),
    "method at chance": (0.0, lambda d: d[3]),
    "good less weak": (GOOD - WEAK, lambda d: d[1] - d[2]),
}


def ends(way: str, numerators: Floats, denominators: Floats, level: float, seed: int, draws: int) -> Sequence[float]:
    if way == "flips":
        own = ratio_of_means(numerators, denominators, level, seed, draws)
        return own.low, own.high
    return Bootstrap.of([(numerators, denominators)], seed, draws, way="studentised").ends(level)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=4000)
    parser.add_argument("--documents", type=int, nargs="+", default=[20, 50, 200])
    parser.add_argument("--level", type=float, default=0.95)
    parser.add_argument("--resamples", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    level, repeats = arguments.level, arguments.repeats
    print(f"{repeats:,} evaluations each, {arguments.resamples:,} draws, level {level:.0%}")
    print(f"{'documents':12} {'':18} {'number':>6}  {'way':12} {'covered':16} below   above   width")
    for kind, spreads in SPREADS.items():
        for name, (truth, numerators) in CASES.items():
            for n in arguments.documents:
                for way in WAYS:
                    rng = np.random.default_rng([arguments.seed, n])
                    samples = (simulated(rng, n, spreads) for _ in range(repeats))
                    found = np.array(
                        [
                            ends(way, numerators(sample), sample[0], level, seed, arguments.resamples)
                            for seed, sample in enumerate(samples)
                        ]
                    )
                    below, above = (truth < found[:, 0]).mean(), (truth > found[:, 1]).mean()
                    covered = 1.0 - below - above
                    error = 1.96 * math.sqrt(covered * (1.0 - covered) / repeats)
                    mark = "*" if abs(covered - level) > 0.02 + 1e-9 else " "
                    width = float((found[:, 1] - found[:, 0]).mean())
                    print(
                        f"{kind:12} {name:18} {n:6}  {way:12} {covered:.1%} ± {error:.1%}{mark}  "
                        f"{below:5.1%}   {above:5.1%}   {width:.3f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
