"""How tight the certified limits of removal are, and how long they take, over documents of a single attention layer.

    python benchmarks/limits.py imdb-test.jsonl --features 40 170 --documents 10
    python benchmarks/limits.py imdb-test.jsonl --model paper-model --features 170

For documents with about so many features, and the contrast of the predicted label with the other one: the gap between
what was found and what is certified to be impossible, as a part of the range that removal moves the output through, for
the heads' own optima (effort 0), their convex envelopes (1) and branches (the default and four times that), the mean
over all sizes and the widest; the seconds of both limits together; how much of the best sets' effect the features of
highest Shapley value reach at 3, 5 and 10 removed; the AOPC of the order by Shapley values against chance (0) and the
best order found (1), and against the bound of all orders; and how often the smallest flip is certified.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import limelight
from limelight.core.arrays import Floats
from limelight.inputs.features import features_of
from limelight.storage.labelled_texts import read_labelled
from limelight.theory.ratio_game import RatioGame
from limelight.theory.removal_bounds import EFFORT
from limelight.theory.removal_rankings import aopc, sets_of_ranking
from limelight.theory.subsets import best_ranking, lowest_outputs, negated, size_means, smallest_flip
from limelight.theory.values import shapley

EFFORTS = (0, 1, EFFORT, 4 * EFFORT)
SIZES = (3, 5, 10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--model", default=None)
    parser.add_argument("--features", type=int, nargs="+", default=[40, 170])
    parser.add_argument("--documents", type=int, default=10)
    parser.add_argument("--of", type=int, default=500, help="texts of the file that documents are chosen from")
    arguments = parser.parse_args()
    model = limelight.load(arguments.model)
    texts = read_labelled(arguments.data).texts
    games = [contrast(model, text) for text in texts[:: max(1, len(texts) // arguments.of)]]
    print(f"{model}")
    for wanted in arguments.features:
        nearest = sorted(games, key=lambda game: abs(game.n_features - wanted))[: arguments.documents]
        sizes = [game.n_features for game in nearest]
        print(f"\n{len(nearest)} documents of {min(sizes)} to {max(sizes)} features", flush=True)
        report(nearest)


def contrast(model: limelight.models.words.attention.AttentionClassifier, text: str) -> RatioGame:
    """The game of a text whose one class is the logit of the predicted label less that of the runner-up."""
    view = model.view(text)
    second, first = np.argsort(view.logits)[-2:]
    direction = np.zeros(len(view.logits))
    direction[first], direction[second] = 1.0, -1.0
    return view.ratio_game(features_of(view.document, "words")).along(direction)


def report(games: list[RatioGame]) -> None:
    lowest_outputs(games[0])  # warm
    for effort in EFFORTS:
        started, gaps = time.perf_counter(), []
        for game in games:
            both = [lowest_outputs(own, effort=effort) for own in (game, negated(game))]
            gaps.append([(one.found - one.bound) / np.ptp(one.found) for one in both])
        seconds = (time.perf_counter() - started) / len(games)
        means = [np.mean(own) for own in gaps]
        widest = max(np.max(own) for own in gaps)
        print(
            f"effort {effort:4}: gap {np.mean(means):.3%} on average, {widest:.2%} at most; {seconds:.2f} s", flush=True
        )
    rows = [scores(game) for game in games]
    columns = np.array([row[0] for row in rows])
    for name, values in zip([f"Shapley's top {k} of the best {k}" for k in SIZES] + NAMES, columns.T, strict=True):
        print(f"{name:48} {values.mean():.4f} on average, {values.min():.4f} at least")
    flips = [row[1] for row in rows]
    print(f"smallest flip certified: {sum(flips)} of {len(flips)} documents")


NAMES = ["Shapley's order against chance and the best order", "the same against the bound of all orders"]


def scores(game: RatioGame) -> tuple[Floats, bool]:
    values = shapley(game, 0).values
    outputs = game.evaluate(sets_of_ranking(np.argsort(-values, kind="stable")))[:, 0]
    removals = lowest_outputs(game)
    of_sets = [(outputs[0] - outputs[k]) / (outputs[0] - removals.found[k]) for k in SIZES]
    chance, best = aopc(size_means(game, 0)), best_ranking(game, 0)
    of_orders = [(aopc(outputs) - chance) / (limit - chance) for limit in (best.aopc, best.bound)]
    return np.array([*of_sets, *of_orders]), smallest_flip(game, 0).is_certified


if __name__ == "__main__":
    main()
