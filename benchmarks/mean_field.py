"""The mean-field form of LIME against its exact value, over the documents of a data file.

    python benchmarks/mean_field.py imdb-test.jsonl --documents 60
    python benchmarks/mean_field.py imdb-test.jsonl --model paper-model --processes 15

For 0 to 3 dominant words, and for Theorem 5.1 as printed and corrected: median and 90 % quantile of ‖formula - exact‖ /
‖exact‖ (norm 2), and the share of documents below 20 %. Removal masks features, the class is the last label, LIME has
its default options. `next order` adds the term that serves as error estimate to the weights; `within 2` is the share of
documents whose error is between half and twice the estimate.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from dataclasses import dataclass

import numpy as np
import torch

import limelight
from limelight.core.arrays import Floats
from limelight.explainers.lime_formulas import ENOUGH
from limelight.inputs.features import features_of
from limelight.storage.labelled_texts import read_labelled
from limelight.theory.lime_theorem import theorem_5_1
from limelight.theory.mean_field import lime_mean_field
from limelight.theory.values import lime_limit_and_shapley

DOMINANT = (0, 1, 2, 3)
SMALL = 0.2
BATCH = 1000
"""Documents of which exact values are computed at once."""


@dataclass(frozen=True)
class Job:
    """Some texts for one process."""

    model: str | None
    texts: tuple[str, ...]
    features: str


COLUMNS = [f"mean field, {m} dominant{kind}" for m in DOMINANT for kind in ("", ", next order", ", estimate")] + [
    "Theorem 5.1 as printed",
    "Theorem 5.1 corrected",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--model", default=None)
    parser.add_argument("--documents", type=int, default=None)
    parser.add_argument("--features", default="words", choices=["words", "occurrences"])
    parser.add_argument("--processes", type=int, default=1)
    arguments = parser.parse_args()
    texts = read_labelled(arguments.data).texts
    if arguments.documents is not None:  # spread over the file, which may be sorted by label
        texts = texts[:: max(1, len(texts) // arguments.documents)][: arguments.documents]
    jobs = [Job(arguments.model, texts[i : i + BATCH], arguments.features) for i in range(0, len(texts), BATCH)]
    started = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(arguments.processes) as pool:
        rows = np.concatenate(pool.map(rows_of, jobs, chunksize=1))
    print(f"{len(rows):,} documents in {time.perf_counter() - started:.0f} s; {limelight.load(arguments.model)}")
    print(f"{'relative error, norm 2':36}  median     90 %   below {SMALL:.0%}")
    columns = dict(zip(COLUMNS, rows.T, strict=True))
    for name, errors in columns.items():
        if not name.endswith("estimate"):
            median, high = np.quantile(errors, [0.5, 0.9])
            print(f"{name:36}  {median:.4f}   {high:.4f}   {np.mean(errors < SMALL):.1%}")
    for m in DOMINANT:
        ratio = columns[f"mean field, {m} dominant"] / columns[f"mean field, {m} dominant, estimate"]
        within = np.mean((ratio < 2.0) & (ratio > 0.5))
        print(f"{m} dominant: error over estimate {np.median(ratio):.2f} in the median, within 2: {within:.1%}", end="")
        print(f", below {ENOUGH} times the estimate: {np.mean(ratio < ENOUGH):.1%}")


def rows_of(job: Job) -> Floats:
    """One row per document, one column per name in COLUMNS."""
    torch.set_num_threads(1)
    model = limelight.load(job.model)
    target, rows = len(model.labels) - 1, []
    views = model.views(job.texts)
    owned = [features_of(view.document, job.features) for view in views]
    games = [view.ratio_game(features) for view, features in zip(views, owned, strict=True)]
    exact = [limit.values for limit, _ in lime_limit_and_shapley(games, [target] * len(games))]
    for view, features, game, beta in zip(views, owned, games, exact, strict=True):
        if not np.linalg.norm(beta) > 0.0:  # only unknown words: there is nothing to be relative to
            continue
        row = []
        for m in DOMINANT:
            mean_field = lime_mean_field(game, target, dominant=m)
            with_next = mean_field.values + mean_field.next_order
            row += [distance(mean_field.values, beta), distance(with_next, beta), mean_field.error_estimate]
        folded, positions = view.folded(), [[i + 1 for i in group] for group in features.owned]
        seen = (folded.scores, folded.values, folded.removed_scores, folded.removed_values, positions, target)
        row += [distance(theorem_5_1(*seen, corrected=corrected), beta) for corrected in (False, True)]
        rows.append(row)
    return np.array(rows)


def distance(weights: Floats, exact: Floats) -> float:
    return float(np.linalg.norm(weights - exact) / np.linalg.norm(exact))


if __name__ == "__main__":
    main()
