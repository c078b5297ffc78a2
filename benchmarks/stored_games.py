"""LIME's error on a transformer from stored answers: cross-fitting against the plain regression of the same samples.

    OMP_NUM_THREADS=1 python benchmarks/stored_games.py GAMES [--samples 500,1000,2000,4000] [--runs 6]

GAMES: npz files with, per text i, `lime_kept_i` (packed coalitions, drawn in proportion to LIME's kernel),
`lime_output_i`, `lime_reference_i` and `lime_reference_stderr_i` (weights without ridge from many other samples) and
`none_all_i`. Runs of one text share no sample. Means over texts of squared errors, less what the reference adds, as
parts of the plain regression's; coverage of 95 % intervals; stated over true errors (root mean square).
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np

from limelight.core.threads import one_thread
from limelight.explainers.sampling.cross_fitting import cross_fitted
from limelight.explainers.surrogate import fit_surrogate
from limelight.theory.values import LimeDesign

Z = 1.959963984540054


def judged(arrays: Any, i: int, n: int, runs: int) -> Any:
    """Squared errors of both, stated squares, and the share of weights within their intervals: means over runs."""
    truth, unsure = arrays[f"lime_reference_{i}"], arrays[f"lime_reference_stderr_{i}"]
    d = len(truth)
    kept = np.unpackbits(arrays[f"lime_kept_{i}"], axis=1, count=d).astype(bool)
    outputs, of_document = arrays[f"lime_output_{i}"].astype(float), float(arrays[f"none_all_{i}"][1])
    design, found = LimeDesign.of(d, math.inf, 0.25, 0.0), []
    for run in range(min(runs, len(kept) // n)):
        rows = slice(run * n, (run + 1) * n)
        fit = cross_fitted(kept[rows], outputs[rows], of_document, design)
        stderr = fit.moves.stderr()
        plain = fit_surrogate(kept[rows], outputs[rows, None], np.ones(n), 0.0).coefficients[:, 0]
        added = float((unsure**2).sum())
        off = fit.values - truth
        found.append(
            (
                float((off**2).sum()) - added,
                float(((plain - truth) ** 2).sum()) - added,
                float((stderr**2).sum()),
                float((np.abs(off) <= Z * np.hypot(stderr, unsure)).mean()),
            )
        )
    return np.mean(found, axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", type=Path)
    parser.add_argument("--samples", default="500,1000,2000,4000")
    parser.add_argument("--runs", type=int, default=6)
    given = parser.parse_args()
    print(
        "| games | texts | samples | error / plain regression's | stated / true | covered |\n|---|---|---|---|---|---|"
    )
    for path in sorted(given.games.glob("*.npz")):
        with np.load(path, allow_pickle=False) as stored, one_thread():
            arrays = {name: stored[name] for name in stored.files}
            texts = sum(name.startswith("lime_output_") for name in arrays)
            for n in map(int, given.samples.split(",")):
                own = np.array([judged(arrays, i, n, given.runs) for i in range(texts)])
                part, ratio = (own[:, 0] / own[:, 1]).mean(), math.sqrt(own[:, 2].sum() / own[:, 0].sum())
                print(
                    f"| {path.stem} | {texts} | {n:,} | {part:.2f} | {ratio:.2f} | {own[:, 3].mean():.1%} |", flush=True
                )


if __name__ == "__main__":
    main()
