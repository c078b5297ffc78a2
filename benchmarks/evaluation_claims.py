"""How often `evaluate` claims what is not so, on populations whose truth is known, and what it finds that is so.

    python benchmarks/evaluation_claims.py scores --imdb imdb/test.parquet --out scores.npz
    for i in $(seq 16); do
        python benchmarks/evaluation_claims.py run --part $i/16 --scores scores.npz --out claims &
    done; wait
    python benchmarks/evaluation_claims.py table --out claims

`scores` judges all methods and eight random orders on 300 short reviews with the embedded model. `run` simulates
evaluations and goes on where it was interrupted; it needs NumPy and what limelight imports. `table` prints, for each
population (`evaluation_populations.py`), the share of evaluations with any false claim, two equally good methods told
apart or a method at chance called better or worse than it, and its upper 99 % limit; then the share of true differences
that are found, beside the rule of version 0.2 (a studentised bootstrap, Holm's correction over pairs, none over claims
about chance).
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from evaluation_bootstrap import Bootstrap
from evaluation_populations import LEVELS, POWERS, SHAPES, Real, drawn, has
from limelight.core.arrays import Array, Floats
from limelight.evaluation.inference import holm
from limelight.statistics.closed_range import adjusted_pairs

ALPHA = 0.05
AT_ONCE = 250
METHODS, TEXTS = (2, 3, 4, 6, 10, 18), (6, 10, 20, 50, 100, 200)
POWER_METHODS, POWER_TEXTS, POWER_REPEATS = (2, 4, 10), (20, 100), 200
MATTERS = 0.05
"""True differences above this are to be found."""
FLIPS, RESAMPLES = 2000, 2000
"""Fewer than an evaluation takes: a share of drawn signs holds its level whatever their number."""


class Cell(NamedTuple):
    """What is simulated: a rule on a population."""

    rule: str
    shape: str
    pattern: str
    methods: int
    texts: int


class Unit(NamedTuple):
    """A part of a cell's evaluations: what is done at once, and not again."""

    cell: Cell
    part: int
    repeats: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    scores = commands.add_parser("scores")
    scores.add_argument("--imdb", type=Path, required=True)
    scores.add_argument("--texts", type=int, default=300)
    scores.add_argument("--out", type=Path, required=True)
    run = commands.add_parser("run")
    run.add_argument("--part", default="1/1", help="i/k: of k processes the i-th")
    run.add_argument("--scores", type=Path, help="what `scores` made; without it no real populations")
    run.add_argument("--repeats", type=int, default=2000)
    run.add_argument("--only", choices=("level", "power"), help="default both")
    run.add_argument("--methods", type=int, nargs="+", default=METHODS, help="of the level")
    run.add_argument("--out", type=Path, required=True)
    commands.add_parser("table").add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    {"scores": make_scores, "run": simulate, "table": table}[given.command](given)


# ── scores of a real evaluation ───────────────────────────────────────────────────────────────────────────────────────


def make_scores(given: argparse.Namespace) -> None:
    import limelight
    from limelight.evaluation.measure import Key
    from limelight.storage.labelled_texts import read_rows

    rows = [row for row in read_rows(given.imdb, ("id", "text")) if 8 <= len(row["text"].split()) <= 60]
    rng = np.random.default_rng(7)
    texts = [rows[i]["text"] for i in rng.permutation(len(rows))[: given.texts]]
    model = limelight.load()
    spans = [[(word.start, word.end) for word in model.view(text).document.words] for text in texts]
    at_random = {f"random {i}": [[(span, float(rng.normal())) for span in own] for own in spans] for i in range(1, 9)}
    judged = limelight.evaluate(
        model, texts, "all", measures=["comprehensiveness"], n_samples=1000, elsewhere=at_random
    )
    place = {"removal": judged.summary.removal, "output": judged.summary.output}
    room = judged.of(Key("comprehensiveness", "best above chance", **place))
    orders = {name: "towards" if own["signed"] else "absolute" for name, own in judged.methods.items()}
    gains = np.stack(
        [judged.of(Key("comprehensiveness", "above chance", name, order=own, **place)) for name, own in orders.items()],
        axis=1,
    )
    known = (room > 0.0) & np.isfinite(gains).all(axis=1)
    signed = np.array([own["signed"] for own in judged.methods.values()])
    differ = np.array([not any((gains[:, i] == gains[:, j]).all() for j in range(i)) for i in range(len(orders))])
    random = np.array([name in at_random for name in orders])
    stored = {"signed": signed[differ], "random": random[differ]}
    np.savez(given.out, gains=gains[known][:, differ], room=room[known], **stored)
    print(f"{given.out}: {int(known.sum())} texts, {int(differ.sum())} methods, {int(signed[differ].sum())} with signs")


# ── simulation ────────────────────────────────────────────────────────────────────────────────────────────────────────


def cells(real: Real | None, methods: Sequence[int] = METHODS, only: str | None = None) -> Iterator[Cell]:
    for shape in SHAPES:
        for pattern in LEVELS if only != "power" else ():
            for count in methods:
                if has(shape, pattern, count, real) and (pattern != "both" or count >= 4):
                    yield from (Cell("flips", shape, pattern, count, texts) for texts in TEXTS)
        for pattern in POWERS if only != "level" else ():
            for count in POWER_METHODS:
                if shape != "real, signed" and has(shape, pattern, count, real):
                    for texts in POWER_TEXTS:
                        yield from (Cell(rule, shape, pattern, count, texts) for rule in ("flips", "0.2"))


def units(given: argparse.Namespace, real: Real | None) -> list[Unit]:
    """In a mixed order, so that each process has a fair part of the slow ones."""
    found = []
    for cell in cells(real, given.methods, given.only):
        wanted = min(given.repeats, POWER_REPEATS) if cell.pattern in POWERS else given.repeats
        starts = range(0, wanted, AT_ONCE)
        found += [Unit(cell, part, min(AT_ONCE, wanted - start)) for part, start in enumerate(starts)]
    return [found[i] for i in np.random.default_rng(0).permutation(len(found))]


def simulate(given: argparse.Namespace) -> None:
    real = Real.read(given.scores) if given.scores else None
    part, parts = map(int, given.part.split("/"))
    given.out.mkdir(parents=True, exist_ok=True)
    kept = given.out / f"part-{part}-of-{parts}.jsonl"
    done = {(*row["cell"], row["part"], row["repeats"]) for row in stored(given.out)}
    mine = units(given, real)[part - 1 :: parts]
    for place, unit in enumerate(mine):
        if (*unit.cell, unit.part, unit.repeats) in done:
            continue
        false, found = counted(unit, real)
        row = {"cell": unit.cell, "part": unit.part, "repeats": unit.repeats, "false": false, "found": found}
        with kept.open("a") as file:
            file.write(json.dumps(row) + "\n")
        if place % 50 == 0:
            print(f"{place} of {len(mine)}", flush=True)


def counted(unit: Unit, real: Real | None) -> tuple[int, float]:
    """In how many evaluations anything false is claimed, and the sum of the shares of true differences found."""
    cell, false, found = unit.cell, 0, 0.0
    name = [ord(letter) for letter in f"{cell.shape} {cell.pattern}"]
    for i in range(unit.repeats):
        rng = np.random.default_rng([*name, cell.methods, cell.texts, unit.part, i])
        gains, room, truth = drawn(cell.shape, cell.pattern, cell.methods, cell.texts, rng, real)
        p = (by_flips if cell.rule == "flips" else by_version_0_2)(gains, room, i)
        scores = np.append(gains.sum(axis=0), 0.0)
        same, right, differ = truth_of_pairs(truth, scores)
        false += bool((p <= ALPHA)[same].any())
        found += float((p <= ALPHA)[right].sum() / differ) if differ else 1.0
    return false, found


def truth_of_pairs(truth: Floats, scores: Floats) -> tuple[Array, Array, int]:
    """Which are pairs of equals, chance being last; which of two methods stand as in truth; how many
    differ in truth by what matters.

    Every pair is there twice.
    """
    all_of = np.append(truth, 0.0)
    gap = all_of[:, None] - all_of[None, :]
    same = np.isclose(gap, 0.0) & ~np.eye(len(all_of), dtype=bool)
    matters = np.abs(gap) > MATTERS
    matters[-1] = matters[:, -1] = False
    right = matters & (gap * (scores[:, None] - scores[None, :]) > 0.0)
    return same, right, int(matters.sum())


def by_flips(gains: Floats, room: Floats, seed: int) -> Floats:
    """Adjusted p-values (K + 1, K + 1), chance last."""
    with_chance = np.concatenate([gains, np.zeros((len(gains), 1))], axis=1)
    return adjusted_pairs([with_chance], seed, FLIPS, exact_up_to=ALPHA)[0]


def by_version_0_2(gains: Floats, room: Floats, seed: int) -> Floats:
    methods = gains.shape[1]
    p = np.ones((methods + 1, methods + 1))
    pairs = list(combinations(range(methods), 2))
    own = [two_sided([(gains[:, a], room), (gains[:, b], room)], seed) for a, b in pairs]
    for (a, b), value in zip(pairs, holm(own), strict=True):
        p[a, b] = p[b, a] = value
    for a in range(methods):
        p[a, -1] = p[-1, a] = two_sided([(gains[:, a], room)], seed)
    return p


def two_sided(ratios: list[tuple[Floats, Floats]], seed: int) -> float:
    below = Bootstrap.of(ratios, seed, RESAMPLES).chance_below(0.0)
    return min(1.0, 2.0 * min(below, 1.0 - below))


# ── tables ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def stored(folder: Path) -> list[dict]:
    return [json.loads(line) for path in sorted(folder.glob("part-*.jsonl")) for line in path.read_text().splitlines()]


def table(given: argparse.Namespace) -> None:
    sums: dict[Cell, list[float]] = defaultdict(lambda: [0, 0, 0.0])
    for row in {json.dumps(one["cell"]) + str(one["part"]): one for one in stored(given.out)}.values():
        for place, name in enumerate(("repeats", "false", "found")):
            sums[Cell(*row["cell"])][place] += row[name]
    levels = {cell: own for cell, own in sums.items() if cell.pattern in LEVELS}
    print("Any false claim, in % of evaluations; [upper 99 % limit]; * the limit is above 7.5 %\n")
    for shape in dict.fromkeys(cell.shape for cell in sorted(levels)):
        for pattern in LEVELS:
            own = {(c.methods, c.texts): v for c, v in levels.items() if (c.shape, c.pattern) == (shape, pattern)}
            if own:
                print_level(f"{shape}: {pattern}", own)
    print("True differences above 0.05 that are told apart, in %: now / version 0.2; (any false claim, in %)\n")
    for shape in dict.fromkeys(cell.shape for cell in sorted(sums)):
        for pattern in POWERS:
            chosen = [cell for cell in sums if (cell.shape, cell.pattern) == (shape, pattern)]
            own = {(cell.methods, cell.texts, cell.rule): sums[cell] for cell in chosen}
            if own:
                print_power(f"{shape}: {pattern}", own)
    worst = [own for cell, own in levels.items() if cell.shape != "failures"]
    above = [cell for cell, own in levels.items() if upper(int(own[1]), int(own[0])) > 0.075]
    print(f"{len(levels)} cells; above 7.5 %: {len(above)}; without failures the largest share: ", end="")
    print(f"{max((own[1] / own[0] for own in worst), default=math.nan):.1%}")
    for cell in sorted(above):
        print(f"  {cell.shape}, {cell.pattern}, {cell.methods} methods, {cell.texts} texts")


def print_power(title: str, own: dict[tuple[int, int, str], list[float]]) -> None:
    print(f"| {title} | " + " | ".join(f"{n} texts" for n in POWER_TEXTS) + " |")
    print("|---|" + "---|" * len(POWER_TEXTS))
    for methods in sorted({key[0] for key in own}):
        shown = [" / ".join(power(own.get((methods, n, rule))) for rule in ("flips", "0.2")) for n in POWER_TEXTS]
        print(f"| {methods} methods | " + " | ".join(shown) + " |")
    print()


def print_level(title: str, own: dict[tuple[int, int], list[float]]) -> None:
    print(f"| {title} | " + " | ".join(f"{n} texts" for n in TEXTS) + " |")
    print("|---|" + "---|" * len(TEXTS))
    for methods in METHODS:
        if not any(key[0] == methods for key in own):
            continue
        shown = []
        for n in TEXTS:
            repeats, false, _ = own.get((methods, n), [0, 0, 0.0])
            limit = upper(int(false), int(repeats)) if repeats else math.nan
            shown.append(f"{100 * false / repeats:.1f} [{100 * limit:.1f}]{'*' * (limit > 0.075)}" if repeats else "")
        print(f"| {methods} methods | " + " | ".join(shown) + " |")
    print()


def power(own: list[float] | None) -> str:
    return "" if own is None else f"{100 * own[2] / own[0]:.0f} ({100 * own[1] / own[0]:.0f})"


def upper(count: int, of: int, level: float = 0.99) -> float:
    """The share that would give at most so many with the chance 1 - level (Clopper and Pearson 1934)."""
    if count >= of:
        return 1.0
    low, high = count / of, 1.0
    for _ in range(50):
        middle = (low + high) / 2.0
        low, high = (middle, high) if chance_of_at_most(count, of, middle) > 1.0 - level else (low, middle)
    return high


def chance_of_at_most(count: int, of: int, share: float) -> float:
    if share >= 1.0:
        return 0.0
    ways = (math.lgamma(of + 1) - math.lgamma(i + 1) - math.lgamma(of - i + 1) for i in range(count + 1))
    terms = [own + i * math.log(share) + (of - i) * math.log1p(-share) for i, own in enumerate(ways)]
    return math.fsum(map(math.exp, terms))


if __name__ == "__main__":
    main()
