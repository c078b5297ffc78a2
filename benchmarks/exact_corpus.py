"""Exact LIME and exact Shapley values of every document of a data file, on a GPU or the CPU.

    python benchmarks/exact_corpus.py imdb-test.jsonl --model paper-model --device cuda

Removal masks features, the class is the last label. Reading looks up and folds each word of the data once, folding puts
the documents together from these. Checks Shapley's efficiency on all documents: it must hold to 1e-9.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import limelight
from limelight.inputs.features import features_of
from limelight.storage.labelled_texts import read_labelled
from limelight.theory.values import lime_limit_and_shapley


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--model", default=None)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--documents", type=int, default=None)
    parser.add_argument("--features", default="words", choices=["words", "occurrences"])
    arguments = parser.parse_args()
    model = limelight.load(arguments.model)
    target = len(model.labels) - 1
    texts = read_labelled(arguments.data).texts
    if arguments.documents is not None:  # spread over the file, which may be sorted by label
        texts = texts[:: max(1, len(texts) // arguments.documents)][: arguments.documents]
    started = time.perf_counter()
    views = model.views(texts)
    read = time.perf_counter()
    games = [view.ratio_game(features_of(view.document, arguments.features)) for view in views]
    folded = time.perf_counter()
    values = lime_limit_and_shapley(games, [target] * len(games), device=arguments.device)
    done = time.perf_counter()
    gaps, ratios = [], []
    for game, (_, shapley) in zip(games, values, strict=True):
        ends = game.evaluate(np.array([[True], [False]]) * np.ones((1, game.n_features), dtype=bool))[:, target]
        gaps.append(abs(shapley.values.sum() - (ends[0] - ends[1])))
        lowest, highest = game.denominator_range()
        ratios.append(float((highest / lowest).max()))
    sizes = [game.n_features for game in games]
    print(f"{len(games):,} documents, {np.mean(sizes):.0f} features on average, at most {max(sizes)}; {model}")
    print(
        f"reading {read - started:.2f} s; folding {folded - read:.2f} s; "
        f"LIME and Shapley {done - folded:.2f} s on {arguments.device}"
    )
    print(
        f"{len(games) / (done - folded):.0f} documents a second; "
        f"{len(games) / (done - started):.0f} with reading and folding"
    )
    print(f"largest efficiency gap {max(gaps):.1e}; largest error bound {max(s.error for _, s in values):.1e}")
    print(f"D_max/D_min: median {np.median(ratios):.1e}, largest {max(ratios):.1e}")


if __name__ == "__main__":
    main()
