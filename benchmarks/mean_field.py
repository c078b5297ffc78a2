"""The mean-field form of LIME against its exact value, over the documents of a data file.

    python benchmarks/mean_field.py imdb-test.jsonl --documents 60
    python benchmarks/mean_field.py imdb-test.jsonl --model paper-model --device cuda

For 0 to 3 dominant words, and for Theorem 5.1 as printed and corrected: median and 90 % quantile of ‖formula - exact‖ /
‖exact‖ (norm 2), and the share of documents below 20 %. Removal masks features, the class is the last label, LIME has
its default options. `next order` adds the term that serves as error estimate to the weights; `within 2` is the share of
documents whose error is between half and twice the estimate.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np

import limelight
from limelight.arrays import Floats
from limelight.data import read_labelled
from limelight.features import features_of
from limelight.theory.lime_theorem import theorem_5_1
from limelight.theory.mean_field import lime_mean_field
from limelight.theory.ratio_game import RatioGame
from limelight.theory.values import lime_limit_and_shapley

DOMINANT = (0, 1, 2, 3)
SMALL = 0.2
BATCH = 1000
"""Documents of which exact values are computed at once."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--model", default=None)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--documents", type=int, default=None)
    parser.add_argument("--features", default="words", choices=["words", "occurrences"])
    arguments = parser.parse_args()
    model = limelight.load(arguments.model)
    target = len(model.labels) - 1
    texts = read_labelled(arguments.data).texts
    if arguments.documents is not None:  # spread over the file, which may be sorted by label
        texts = texts[:: max(1, len(texts) // arguments.documents)][: arguments.documents]
    errors: dict[str, list[float]] = {}
    estimates: dict[int, list[float]] = {m: [] for m in DOMINANT}
    seconds, sizes, shares = dict.fromkeys(DOMINANT, 0.0), [], []
    for start in range(0, len(texts), BATCH):
        views = [view for view in model.views(texts[start : start + BATCH]) if len(view.document.words)]
        owned = [features_of(view.document, arguments.features) for view in views]
        games = [view.ratio_game(features) for view, features in zip(views, owned, strict=True)]
        exact = [limit.values for limit, _ in exact_values(games, target, arguments.device)]
        for view, features, game, beta in zip(views, owned, games, exact, strict=True):
            if not np.linalg.norm(beta) > 0.0:  # only unknown words: there is nothing to be relative to
                continue
            for m in DOMINANT:
                started = time.perf_counter()
                mean_field = lime_mean_field(game, target, dominant=m)
                seconds[m] += time.perf_counter() - started
                errors.setdefault(f"mean field, {m} dominant", []).append(distance(mean_field.values, beta))
                with_next = mean_field.values + mean_field.next_order
                errors.setdefault(f"mean field, {m} dominant, next order", []).append(distance(with_next, beta))
                estimates[m].append(mean_field.error_estimate)
            folded, positions = view.folded(), [[i + 1 for i in group] for group in features.owned]
            seen = (folded.scores, folded.values, folded.removed_scores, folded.removed_values, positions, target)
            errors.setdefault("Theorem 5.1 as printed", []).append(distance(theorem_5_1(*seen), beta))
            corrected = theorem_5_1(*seen, corrected=True)
            errors.setdefault("Theorem 5.1 corrected", []).append(distance(corrected, beta))
            sizes.append(game.n_features)
            shares.append(float((game.a / (game.a.sum(axis=1) + game.c0)[:, None]).max()))
    print(f"{len(sizes):,} documents, {np.mean(sizes):.0f} features on average, at most {max(sizes)}; {model}")
    print(f"largest attention of a head to one feature: {np.mean(shares):.2f} on average")
    print(f"{'relative error, norm 2':36}  median     90 %   below {SMALL:.0%}")
    for name, own in errors.items():
        median, high = np.quantile(own, [0.5, 0.9])
        print(f"{name:36}  {median:.4f}   {high:.4f}   {np.mean(np.array(own) < SMALL):.1%}")
    for m in DOMINANT:
        ratio = np.array(errors[f"mean field, {m} dominant"]) / np.array(estimates[m])
        within = [float(np.mean((ratio < factor) & (ratio > 1.0 / factor))) for factor in (2.0, 3.0)]
        low, middle, high = np.quantile(ratio, [0.05, 0.5, 0.95])
        print(
            f"{m} dominant: {1e3 * seconds[m] / len(sizes):.1f} ms a document; error over estimate {middle:.2f} in the "
            f"median, {low:.2f} to {high:.2f} in 90 %; within 2: {within[0]:.1%}, within 3: {within[1]:.1%}"
        )


def exact_values(games: Sequence[RatioGame], target: int, device: str) -> list:
    return lime_limit_and_shapley(games, [target] * len(games), device=device)


def distance(weights: Floats, exact: Floats) -> float:
    return float(np.linalg.norm(weights - exact) / np.linalg.norm(exact))


if __name__ == "__main__":
    main()
