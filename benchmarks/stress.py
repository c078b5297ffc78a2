"""Do 95 % intervals of sampled LIME and Shapley values hold on games that nothing was tuned on?

    python benchmarks/stress.py FOLDER [--seeds 500] [--part 1/4] [--processes 16] [--seconds 840] [--half judged]
    python benchmarks/stress.py FOLDER --table
    python benchmarks/stress.py FOLDER --quick
    python benchmarks/stress.py FOLDER --of-drawn      with a version before 0.3, which estimates what it draws

A cell is a family of games (`stress_games.py`), a number of words, a method and a number of samples. Each of its seeds
is one run: all of its weights are off together, so a run counts as one observation of the share of its weights that the
interval holds. Constants of the estimators were chosen on one half of the families and are judged on the other.

Runs are made in blocks of seeds, the first blocks of all cells before the second ones, and each block is written as a
file of its own: a run that is cut short has fewer seeds for each cell, and the same command goes on where it ended. Any
number of processes and machines may share the work (--part i/k, and the files in one folder). Needs NumPy and
limelight's own sampling, which does without SciPy.

The tables say, of all words, of those that matter and of the ten that are shown on top: the share that their 95 %
interval holds; "upper" is the upper 99.9 % limit for the words that matter; "corrected": of the ten on top with
intervals at the level 1 - 0.05 · 10/d (Benjamini and Yekutieli, 2005). Then the stated error over the true one and the
bias over the stated error (both root mean square, of the words that matter).
"""

from __future__ import annotations

import os

if __name__ == "__main__":  # before NumPy, and for the processes that follow: there is one per core
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import math
import multiprocessing
import time
import zlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from limelight.explainers.sampling.lime_sampler import LimeSampler
from limelight.explainers.sampling.shapley_samplers import PairedShapley
from stress_games import CHOSEN, FAMILIES, JUDGED, Game

BLOCK = 25
"""Seeds of a file."""
Z = 1.959963984540054
SHOWN = 10
LIMIT = 3.090232306167813
"""One-sided, 99.9 %."""
ROUNDING = 1e-9
"""Of the largest weight: what an interval of a weight that is found exactly may miss it by."""
DUE, WORST, MEAN, GIVEN = 10, 0.93, 0.94, 0.90
"""From so many samples per word: no upper limit below WORST, a mean over cells of MEAN, intervals in GIVEN of them."""
KERNEL_WIDTH, RIDGE, OF_SAMPLES = 0.25, 1.0, 5000.0
PER_WORD = {
    5: (2, 4),
    12: (2, 10, 100),
    20: (2, 4, 10, 50, 250),
    40: (2, 4, 10, 25, 125),
    100: (2, 10, 50),
    150: (2, 10),
}
"""Samples per word, by the number of words: fewer than there are coalitions."""
LARGE = {40: (20_000, 60_000)}
LONGEST = ("AND", "min", "OR", "XOR", "max", "boosted trees")
"""Families that are drawn LARGE samples of."""
QUICK = ("AND", "OR", "max")


@dataclass(frozen=True)
class Cell:
    family: str
    d: int
    method: str
    n: int

    @property
    def name(self) -> str:
        return f"{self.method}-{self.family.replace(' ', '_').replace('%', '')}-{self.d}-{self.n}"

    @property
    def half(self) -> str:
        return "chosen" if self.family in CHOSEN else "judged"


def cells(families: Iterable[str], quick: bool = False) -> list[Cell]:
    """The grid, in an order that has a bit of everything in each of its parts."""
    found = []
    for family in families:
        for d, per_word in ({40: (10,)} if quick else PER_WORD).items():
            if FAMILIES[family](d) is None:
                continue
            sizes = [own * d for own in per_word] + (list(LARGE.get(d, ())) if family in LONGEST and not quick else [])
            for n in sizes:
                found += [Cell(family, d, "lime", n)]
                if n >= 6 * d and n <= 5000:  # with fewer, limelight asks along orders
                    found += [Cell(family, d, "shapley", n)]
    return sorted(found, key=lambda cell: zlib.crc32(cell.name.encode()))


# ── one block of seeds ────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Sums:
    """Over the runs of a block: of shares and of their squares, of words with an interval, of squares of errors."""

    runs: int = 0
    given: float = 0.0  # shares of all words that have an interval
    of_all: tuple[float, float, int] = (0.0, 0.0, 0)  # the sum of shares, of their squares, and how many runs
    of_matter: tuple[float, float, int] = (0.0, 0.0, 0)
    of_shown: tuple[float, float, int] = (0.0, 0.0, 0)
    of_corrected: tuple[float, float, int] = (0.0, 0.0, 0)
    error: float = 0.0  # mean squares over the words that matter and have an interval
    stated: float = 0.0
    seconds: float = 0.0
    off: tuple[float, ...] = ()  # errors of the words that matter, summed

    def add(self, values: Any, stderr: Any, truth: Any, game: Game) -> None:
        self.runs += 1
        known, off = ~np.isnan(stderr), values - truth
        self.given += float(known.mean())
        allowed = ROUNDING * float(np.abs(truth).max())
        ratio = np.maximum(np.abs(off) - allowed, 0.0) / np.maximum(stderr, 1e-300)
        matters = known & (np.arange(game.d) < game.matter)
        top = np.zeros(game.d, dtype=bool)
        top[np.argsort(-np.abs(values), kind="stable")[:SHOWN]] = True
        wider = NormalDist().inv_cdf(1.0 - 0.05 * min(SHOWN / game.d, 1.0) / 2.0)
        self.of_all = _added(self.of_all, ratio[known] <= Z)
        self.of_matter = _added(self.of_matter, ratio[matters] <= Z)
        self.of_shown = _added(self.of_shown, ratio[known & top] <= Z)
        self.of_corrected = _added(self.of_corrected, ratio[known & top] <= wider)
        if matters.any():
            self.error += float((off[matters] ** 2).mean())
            self.stated += float((stderr[matters] ** 2).mean())
        own = off[: game.matter]
        self.off = tuple(np.asarray(self.off or np.zeros(len(own))) + own)

    def __iadd__(self, other: Sums) -> Sums:
        for name in ("of_all", "of_matter", "of_shown", "of_corrected"):
            setattr(self, name, tuple(a + b for a, b in zip(getattr(self, name), getattr(other, name), strict=True)))
        for name in ("runs", "given", "error", "stated", "seconds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.off = other.off if not self.off else tuple(np.add(self.off, other.off))
        return self


def _added(sums: tuple[float, float, int], inside: Any) -> tuple[float, float, int]:
    if not len(inside):
        return sums
    share = float(inside.mean())
    return sums[0] + share, sums[1] + share**2, sums[2] + 1


_TRUTHS: dict[Cell, tuple[Game, Any]] = {}


def _known(cell: Cell, of_drawn: bool) -> tuple[Game, Any]:
    """The game of a cell, and what is true of it: made once in a process."""
    if cell not in _TRUTHS:
        game = FAMILIES[cell.family](cell.d)
        assert game is not None
        truth = (
            game.lime(cell.n if of_drawn else OF_SAMPLES, KERNEL_WIDTH, RIDGE)
            if cell.method == "lime"
            else game.shapley()
        )
        _TRUTHS[cell] = game, truth
    return _TRUTHS[cell]


def measured(cell: Cell, seeds: range, of_drawn: bool = False) -> Sums:
    """`of_drawn`: judge LIME by the regression of the samples drawn, which versions before 0.3 estimate."""
    game, truth = _known(cell, of_drawn)
    sums, began = Sums(), time.monotonic()

    def ask(kept: Any) -> Any:
        return game.outputs(kept)[:, None]

    for seed in seeds:
        own = [zlib.crc32(cell.name.encode()), seed]
        first = int(np.random.default_rng(own).integers(2**31))
        sampler = (
            LimeSampler(ask, cell.d, first, KERNEL_WIDTH, RIDGE)
            if cell.method == "lime"
            else PairedShapley(ask, cell.d, first)
        )
        sampler.extend(cell.n)
        estimate = sampler.estimate()
        sums.add(estimate.values[:, 0], estimate.stderr[:, 0], truth, game)
    sums.seconds = time.monotonic() - began
    return sums


# ── many of them ──────────────────────────────────────────────────────────────────────────────────────────────────────

Task = tuple[Cell, int, str, float, bool]
"""A cell, the number of a block, the folder, when to end, and whose regression is true."""


def _block(task: Task) -> bool:
    cell, block, folder, until, of_drawn = task
    if time.time() > until:
        return False
    path = Path(folder) / f"{cell.name}-{block}.json"
    sums = measured(cell, range(block * BLOCK, (block + 1) * BLOCK), of_drawn)
    new = path.with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps({"cell": asdict(cell), "sums": asdict(sums)}))
    new.replace(path)
    return True


def run(
    folder: Path,
    grid: list[Cell],
    seeds: int,
    *,
    part: tuple[int, int],
    processes: int,
    seconds: float,
    of_drawn: bool = False,
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    until, there = time.time() + seconds, {path.stem for path in folder.glob("*.json")}
    blocks = -(-seeds // BLOCK)
    every = [(cell, block, str(folder), until, of_drawn) for block in range(blocks) for cell in grid]
    own = [task for task in every[part[0] - 1 :: part[1]] if f"{task[0].name}-{task[1]}" not in there]
    began, done = time.monotonic(), 0
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for made in pool.imap_unordered(_block, own):
            done += made
    print(
        f"{done} of {len(own)} blocks of {BLOCK} seeds in {time.monotonic() - began:,.0f} s with {processes} processes"
    )


def read(folder: Path) -> dict[Cell, Sums]:
    found: dict[Cell, Sums] = defaultdict(Sums)
    for path in sorted(folder.glob("*.json")):
        own = json.loads(path.read_text())
        sums = Sums(**{name: tuple(v) if isinstance(v, list) else v for name, v in own["sums"].items()})
        found[Cell(**own["cell"])] += sums
    return dict(found)


# ── tables ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def share(sums: tuple[float, float, int]) -> tuple[float, float]:
    """The mean of shares over runs, and its standard error."""
    total, squares, n = sums
    if n == 0:
        return math.nan, math.nan
    mean = total / n
    return mean, math.sqrt(max(squares / n - mean**2, 0.0) / max(n - 1, 1))


def upper(sums: tuple[float, float, int]) -> float:
    mean, error = share(sums)
    return mean + LIMIT * error


def row(cell: Cell, sums: Sums) -> str:
    every, matter, shown, corrected = (
        share(own)[0] for own in (sums.of_all, sums.of_matter, sums.of_shown, sums.of_corrected)
    )
    runs, error = share(sums.of_matter), math.sqrt(sums.error / max(sums.runs, 1))
    stated = math.sqrt(sums.stated / max(sums.runs, 1))
    bias = float(np.sqrt(np.mean(np.square(sums.off)))) / sums.runs
    texts = [cell.family, cell.d, f"{cell.n:,}", sums.runs, f"{sums.given / sums.runs:.0%}"]
    if sums.of_matter[2] == 0:
        texts += ["–"] * 7
    else:
        texts += [f"{every:.1%}", f"{matter:.1%} ± {runs[1]:.1%}", f"{upper(sums.of_matter):.1%}", f"{shown:.1%}"]
        exact = error <= 0.0 or stated <= 0.0
        texts += [f"{corrected:.1%}", *(("–", "–") if exact else (f"{stated / error:.2f}", f"{bias / stated:.2f}"))]
    return f"| {' | '.join(map(str, texts))} |"


HEADS = (
    "family", "words", "samples", "runs", "given", "all words", "that matter", "upper", "ten shown", "corrected",
    "stated / true", "bias / stated",
)  # fmt: skip


def tables(found: dict[Cell, Sums]) -> None:
    for method in ("lime", "shapley"):
        for half in ("chosen", "judged"):
            own = {cell: found[cell] for cell in found if cell.method == method and cell.half == half}
            if not own:
                continue
            print(
                f"\n### {method}, families that constants were {'chosen on' if half == 'chosen' else 'not chosen on'}\n"
            )
            print(f"| {' | '.join(HEADS)} |\n|{'---|' * len(HEADS)}")
            for cell in sorted(own, key=lambda cell: (cell.family, cell.d, cell.n)):
                print(row(cell, own[cell]))
            print()
            summary(own)


def by_family(found: dict[Cell, Sums]) -> None:
    """One row per family and method, of the cells from so many samples per word that intervals are due."""
    heads = (
        "family",
        "method",
        "cells",
        "that matter",
        "lowest cell",
        "all words",
        "ten shown",
        "corrected",
        "stated / true",
    )
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for method, family in sorted({(cell.method, cell.family) for cell in found}):
        due = [cell for cell in found if (cell.method, cell.family) == (method, family) and cell.n >= DUE * cell.d]
        own = [found[cell] for cell in due if found[cell].of_matter[2]]
        matter = [share(sums.of_matter)[0] for sums in own]
        means = [
            np.mean([share(getattr(sums, name))[0] for sums in own]) for name in ("of_all", "of_shown", "of_corrected")
        ]
        ratios = [math.sqrt(sums.stated / sums.error) for sums in own if sums.error > 1e-12]
        worst = int(np.argmin(matter))
        lowest = f"{matter[worst]:.1%} ± {share(own[worst].of_matter)[1]:.1%}"
        wide = f"{np.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})" if ratios else "exact"
        texts = [family, method, len(own), f"{np.mean(matter):.1%}", lowest, *(f"{mean:.1%}" for mean in means), wide]
        print(f"| {' | '.join(map(str, texts))} |")


def summary(own: dict[Cell, Sums]) -> None:
    """Whether the cells keep to what is asked of them."""
    due = {cell: sums for cell, sums in own.items() if cell.n >= DUE * cell.d}
    if not due:
        return
    given = {cell: sums for cell, sums in due.items() if sums.of_matter[2]}
    means = [share(sums.of_matter)[0] for sums in given.values()]
    low = (
        sorted((upper(sums.of_matter), cell) for cell, sums in given.items() if upper(sums.of_matter) < WORST)
        if given
        else []
    )
    whole = sum(sums.given > (1.0 - 1e-9) * sums.runs for sums in due.values())
    shown, corrected = (
        np.mean([share(getattr(sums, name))[0] for sums in given.values()]) for name in ("of_shown", "of_corrected")
    )
    print(f"from {DUE} samples per word: {len(due)} cells, all intervals given in {whole / len(due):.0%} of them;")
    print(f"words that matter: {np.mean(means):.1%} over cells, lowest {min(means):.1%};")
    print(f"ten shown: {shown:.1%} over cells, corrected {corrected:.1%};")
    print(f"cells whose upper 99.9 % limit is below {WORST:.0%}: {len(low)}")
    for limit, cell in low:
        covered = share(own[cell].of_matter)[0]
        print(f"  {cell.family}, {cell.d} words, {cell.n:,} samples: {covered:.1%}, upper {limit:.1%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=500)
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--half", choices=("chosen", "judged", "both"), default="both")
    parser.add_argument("--families", default="", help="these only, apart by commas")
    parser.add_argument("--words", type=int, help="games of so many words only")
    parser.add_argument("--of-drawn", action="store_true", help="LIME's truth is the regression of the samples drawn")
    parser.add_argument("--quick", action="store_true", help="three families of 40 words and 400 samples, 50 seeds")
    parser.add_argument("--table", action="store_true", help="print what is there, and run nothing")
    parser.add_argument("--by-family", action="store_true", help="one row per family instead of one per cell")
    given = parser.parse_args()
    halves = {"chosen": CHOSEN, "judged": JUDGED, "both": FAMILIES}
    families = given.families.split(",") if given.families else QUICK if given.quick else list(halves[given.half])
    if not given.table:
        i, k = map(int, given.part.split("/"))
        seeds = 2 * BLOCK if given.quick else given.seeds
        grid = [cell for cell in cells(families, given.quick) if given.words in (None, cell.d)]
        run(
            given.folder, grid, seeds, part=(i, k), processes=given.processes, seconds=given.seconds,
            of_drawn=given.of_drawn,
        )  # fmt: skip
    found = {cell: sums for cell, sums in read(given.folder).items() if cell.family in families}
    by_family(found) if given.by_family else tables(found)


if __name__ == "__main__":
    main()
