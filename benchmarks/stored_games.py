"""LIME's error on a transformer from stored answers, beside official LIME's and that of a plain regression.

    OMP_NUM_THREADS=1 python benchmarks/stored_games.py GAMES [--samples 500,1000,2000,4000] [--runs 6]

GAMES: npz files with, per text i, `lime_kept_i` (packed coalitions, drawn in proportion to LIME's kernel),
`lime_output_i`, `lime_reference_i` and `lime_reference_stderr_i` (weights without ridge from many other samples) and
`none_all_i`. Runs of one text share no sample. Means over texts of squared errors, less what the reference adds, as
parts of the plain regression's on the same samples and of official LIME's; coverage of 95 % intervals; stated over true
errors (root mean square).

Official LIME draws sizes alike and weighs samples by the kernel. Given its size a stored coalition is any one of it, so
that sizes drawn alike, and for each a stored coalition of that size, without putting back, are official LIME's draws.
Sizes that are stored less often than drawn, nearly all words gone, take what there is of them: their weights are small.
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
from limelight.theory.lime_kernel import kernel_by_size
from limelight.theory.values import LimeDesign

Z = 1.959963984540054


def official(kept: Any, outputs: Any, of_document: float, n: int, rng: np.random.Generator) -> Any:
    """Weights of official LIME's draws: the document, and n - 1 coalitions of sizes drawn alike."""
    d, sizes = kept.shape[1], (~kept).sum(axis=1)
    wanted = np.bincount(rng.integers(1, d + 1, n - 1), minlength=d + 1)
    stored = [rng.permutation(np.flatnonzero(sizes == size)) for size in range(d + 1)]
    rows = np.concatenate([own[:count] for own, count in zip(stored, wanted, strict=True)])
    z = np.concatenate([np.ones((1, d), bool), kept[rows]])
    y = np.concatenate([[of_document], outputs[rows]])
    weights = kernel_by_size(d, 0.25)[(~z).sum(axis=1)]
    return fit_surrogate(z, y[:, None], weights, 0.0).coefficients[:, 0]


def judged(arrays: Any, i: int, n: int, runs: int) -> Any:
    """Squared errors of all three, stated squares, and the share of weights within their intervals: means over runs."""
    truth, unsure = arrays[f"lime_reference_{i}"], arrays[f"lime_reference_stderr_{i}"]
    d = len(truth)
    kept = np.unpackbits(arrays[f"lime_kept_{i}"], axis=1, count=d).astype(bool)
    outputs, of_document = arrays[f"lime_output_{i}"].astype(float), float(arrays[f"none_all_{i}"][1])
    design, found = LimeDesign.of(d, math.inf, 0.25, 0.0), []
    rng = np.random.default_rng(i)
    for run in range(min(runs, len(kept) // n)):
        rows = slice(run * n, (run + 1) * n)
        fit = cross_fitted(kept[rows], outputs[rows], of_document, design)
        stderr = fit.moves.stderr()
        plain = fit_surrogate(kept[rows], outputs[rows, None], np.ones(n), 0.0).coefficients[:, 0]
        added = float((unsure**2).sum())
        theirs = official(kept, outputs, of_document, n, rng)
        off = fit.values - truth
        found.append(
            (
                float((off**2).sum()) - added,
                float(((plain - truth) ** 2).sum()) - added,
                float(((theirs - truth) ** 2).sum()) - added,
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
        "| games | texts | samples | error / plain regression's | error / official LIME's | stated / true | covered |\n"
        "|---|---|---|---|---|---|---|"
    )
    for path in sorted(given.games.glob("*.npz")):
        with np.load(path, allow_pickle=False) as stored, one_thread():
            arrays = {name: stored[name] for name in stored.files}
            texts = sum(name.startswith("lime_output_") for name in arrays)
            for n in map(int, given.samples.split(",")):
                own = np.array([judged(arrays, i, n, given.runs) for i in range(texts)])
                plain, theirs = ((own[:, 0] / own[:, of]).mean() for of in (1, 2))
                ratio = math.sqrt(own[:, 3].sum() / own[:, 0].sum())
                held = own[:, 4].mean()
                print(
                    f"| {path.stem} | {texts} | {n:,} | {plain:.2f} | {theirs:.2f} | {ratio:.2f} | {held:.1%} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
