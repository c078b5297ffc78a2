"""Make src/limelight/theory/best_sums.json: the best sums of exponentials for one over D, by number of terms.

    pip install python-flint && python benchmarks/best_sums.py src/limelight/theory/best_sums.json

A sum of m exponentials meets 1/D in as many as 2m points, and for any such points there is just one that does. So the
points are moved, until the error between any two of them is equally large, and outwards, until it is `GOAL`. Equations
of exponentials are so nearly dependent that Newton's method has to solve them in 256 bits, by python-flint. The first
sums start from points at equal distances, for which they are a rule of Gauss and Jacobi; each of the others from the
one before, with a term more in its middle. About ten seconds.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from flint import arb, arb_mat, ctx
from scipy.special import roots_jacobi

from limelight.theory.quadrature import ERROR

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from reference.exponential_sums import certified_error

GOAL = 0.98 * ERROR
FEWEST, MOST, FROM_EQUAL_DISTANCES = 3, 48, 15
BITS = 256


@dataclass
class Sum:
    """Logarithms of nodes and weights, and of the distances between 1, the points where the sum is 1/D, and R."""

    nodes: list[arb]
    weights: list[arb]
    gaps: np.ndarray

    @property
    def length(self) -> float:
        return float(self.gaps.sum())

    def floats(self) -> tuple[np.ndarray, np.ndarray]:
        return tuple(np.exp([float(value) for value in own]) for own in (self.nodes, self.weights))

    def errors(self) -> np.ndarray:
        """The largest error before the first point, between each two, and behind the last."""
        nodes, weights = self.floats()
        ends = np.concatenate([[0.0], np.cumsum(self.gaps)])
        D = np.exp(ends[:-1, None] + np.linspace(0.0, 1.0, 23) * self.gaps[:, None])
        return np.maximum(np.abs(D * (np.exp(-D[..., None] * nodes) @ weights) - 1.0).max(axis=1), 1e-16)


def interpolated(start: Sum, gaps: np.ndarray) -> Sum | None:
    """The sum that is 1/D at other points, by Newton's method; None where it finds none."""
    m, nodes, weights = len(start.nodes), start.nodes, start.weights
    points = [arb(value) for value in np.exp(np.cumsum(gaps)[:-1]).tolist()]
    for _ in range(15):
        lam, w = [value.exp() for value in nodes], [value.exp() for value in weights]
        rows, missing = [], []
        for D in points:
            terms = [w[j] * (-lam[j] * D).exp() * D for j in range(m)]
            rows.append([(-terms[j] * D * lam[j]).mid() for j in range(m)] + [term.mid() for term in terms])
            missing.append([(1 - sum(terms, arb(0))).mid()])
        if max(abs(float(own)) for (own,) in missing) < 1e-25:
            return Sum(nodes, weights, gaps)
        solved = arb_mat(rows).solve(arb_mat(missing), algorithm="approx")
        step = [solved[i, 0].mid() for i in range(2 * m)]
        largest = max(abs(float(own)) for own in step)
        if not largest < 50.0:
            return None
        part = arb(min(1.0, 0.7 / largest))
        nodes = [(own + part * by).mid() for own, by in zip(nodes, step[:m], strict=True)]
        weights = [(own + part * by).mid() for own, by in zip(weights, step[m:], strict=True)]
    return None


def best(start: Sum) -> Sum:
    """The longest sum of as many terms: points go to where the error is large, and the last one outwards."""
    found: Sum | None = None
    now, gaps, most, failures = start, start.gaps, 0.02, 0
    for _ in range(120):
        solved = interpolated(now, gaps)
        if solved is None:
            failures += 1
            if found is None or failures > 6:
                break
            now, most = found, 0.4 * most
            gaps = 0.7 * now.gaps + 0.3 * gaps
            continue
        now, errors = solved, solved.errors()
        if errors.max() < GOAL and (found is None or now.length > found.length):
            found = now
        even = errors.max() / errors.min()
        if even < 1.08 and 0.97 * GOAL < errors.max() < GOAL:
            break
        gaps = now.gaps * np.clip(np.exp(np.log(errors).mean()) / errors, 0.05, 20.0) ** 0.1
        room = 0.25 * math.log(0.985 * GOAL / errors.max()) / math.sqrt(len(now.nodes))
        grown = now.length * (1.0 + float(np.clip(room / now.length, -most, most)) * (even < 4.0))
        gaps *= grown / gaps.sum()
    if found is None:
        raise SystemExit(f"no sum of {len(start.nodes)} terms was found")
    return found


def at_equal_distances(m: int) -> Sum:
    """1/D at D = 1, 1 + δ, …, R, the largest R that the goal allows: with z = exp(-λδ), 1/D is ∫ z^(D/δ - 1) dz / δ."""

    def rule(R: float) -> tuple[np.ndarray, np.ndarray]:
        delta = (R - 1.0) / (2 * m - 1)
        x, w = roots_jacobi(m, 0.0, 1.0 / delta - 1.0)
        lam = -np.log((1.0 + x) / 2.0) / delta
        return lam, w / 2.0 ** (1.0 / delta) / delta * np.exp(lam)

    def error(R: float) -> float:
        (lam, w), D = rule(R), np.exp(np.linspace(0.0, math.log(R), 40 * m))
        return float(np.abs(D * (np.exp(-np.outer(D, lam)) @ w) - 1.0).max())

    R = 1.0005 if m < 8 else 1.2
    while error(1.05 * R) < GOAL:
        R *= 1.05
    lam, w = rule(R)
    gaps = np.diff(np.log(np.linspace(1.0, R, 2 * m)))
    gaps = np.concatenate([[0.3 * gaps[0]], gaps, [0.3 * gaps[-1]]])
    gaps *= math.log(R) / gaps.sum()
    return Sum([arb(math.log(value)) for value in lam], [arb(math.log(value)) for value in w], gaps)


def with_one_more(shorter: Sum) -> Sum:
    """A term more in the middle, and two points: what stands below moves down by the distance of two nodes."""
    order = np.argsort([float(value) for value in shorter.nodes])
    nodes, weights = ([own[i] for i in order] for own in (shorter.nodes, shorter.weights))
    j, m = len(nodes) // 2, len(nodes)
    step = nodes[j + 1] - nodes[j]
    return Sum(
        [value - step for value in nodes[: j + 1]] + nodes[j:],
        [value - step for value in weights[: j + 1]] + weights[j:],
        np.concatenate([shorter.gaps[:m], [float(step) / 2.0] * 2, shorter.gaps[m:]]),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    ctx.prec = BITS
    rows, now = [], None
    for m in range(FEWEST, MOST + 1):
        now = best(at_equal_distances(m) if now is None or m <= FROM_EQUAL_DISTANCES else with_one_more(now))
        nodes, weights = now.floats()
        order, ratio = np.argsort(nodes), math.exp(now.length)
        error = certified_error(nodes, weights, ratio)
        print(f"{m} terms: R = {ratio:.6g}, error at most {error:.3e}", flush=True)
        if error > ERROR:
            raise SystemExit(f"more than {ERROR}")
        rows.append({"ratio": ratio, "nodes": nodes[order].tolist(), "weights": weights[order].tolist()})
    lines = ",\n".join(json.dumps(row) for row in rows)
    given.out.write_text(f"[\n{lines}\n]\n", "utf-8")


if __name__ == "__main__":
    main()
