"""Exact values against sampling: seconds and errors, in one run.

    pip install shap==0.51.0
    python benchmarks/exact_speed.py imdb/test.parquet

Official `lime` and `shap` call this package's own prediction: `lime` our `predict_logits` on strings, `shap` the
factored game on 0/1 vectors, which is the fastest prediction there is for them.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import limelight
from limelight.inputs.features import features_of
from limelight.storage.labelled_texts import read_labelled
from limelight.theory.moments import size_moments
from limelight.theory.ratio_game import RatioGame
from limelight.theory.values import shapley, shapley_weights
from official import machine, official_lime


def seconds(call: Callable[[], Any], repeats: int) -> float:
    call()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def document_with(model: Any, texts: list[str], d: int) -> str:
    """The words of the data's texts in a row, cut to d occurrences."""
    words: list[str] = []
    for text in texts:
        words += [word.form for word in model.read(text).words]
        if len(words) >= d:
            return " ".join(words[:d])
    raise SystemExit(f"the data has fewer than {d} words")


def game_of_occurrences(model: Any, text: str) -> RatioGame:
    view = model.view(text)
    return view.ratio_game(features_of(view.document, "occurrences"))


def against_lime(model: Any, text: str) -> None:
    def ours(method: str, **options: Any) -> limelight.Explanation:
        return limelight.explain(model, text, method, target=model.labels[1], features="occurrences", **options)

    exact = ours("lime-limit")
    sampled = ours("lime", sampling="official")
    official = official_lime(model, text, "mask", 0)
    assert sampled.stderr is not None
    # Errors fall as 1/sqrt(n): the n at which the largest standard error is 1e-3.
    needed = int(np.ceil(5000 * (sampled.stderr.max() / 1e-3) ** 2))
    needed_capped = min(needed, 400_000)
    t_exact = seconds(lambda: ours("lime-limit"), 9)
    t_official = seconds(lambda: official_lime(model, text, "mask", 0), 3)
    t_sampled = seconds(lambda: ours("lime", sampling="official"), 5)
    t_needed = seconds(lambda: ours("lime", n_samples=needed_capped, sampling="official"), 1) * needed / needed_capped
    print(f"### LIME, {len(exact.weights)} features\n")
    print("| | seconds | times lime-limit | largest error of a weight |\n|---|---|---|---|")
    print(f"| lime-limit | {t_exact:.4f} | 1 | below {exact.diagnostics['error']:.0e} (proven) |")
    for name, t, error in [
        ("official lime, n = 5,000", t_official, np.abs(official - exact.weights).max()),
        ("our sampled lime, n = 5,000", t_sampled, np.abs(sampled.weights - exact.weights).max()),
        (f"our sampled lime, n = {needed:,} (standard errors up to 1e-3)", t_needed, 1e-3),
    ]:
        print(f"| {name} | {t:.3f} | {t / t_exact:.1f} | {error:.3f} |")


def against_shap(game: RatioGame) -> None:
    import shap

    d = game.n_features
    exact = shapley(game, 1)

    def f(z: np.ndarray) -> np.ndarray:
        return game.evaluate(z.astype(bool))[:, 1]

    nothing, everything = np.zeros((1, d)), np.ones((1, d))

    def kernel(**options: Any) -> np.ndarray:
        # This peer draws from the global state.
        np.random.seed(0)  # noqa: NPY002
        return np.asarray(shap.KernelExplainer(f, nothing).shap_values(everything, silent=True, **options)).reshape(d)

    def permutation() -> np.ndarray:
        masker = shap.maskers.Independent(nothing, max_samples=1)
        return np.asarray(shap.PermutationExplainer(f, masker, seed=0)(everything).values).reshape(d)

    t_exact = seconds(lambda: shapley(game, 1), 9)
    scale = np.abs(exact.values).max()
    print(f"\n### Shapley values, {d} features\n")
    print("| | seconds | times shapley | largest error / largest value |\n|---|---|---|---|")
    print(f"| shapley | {t_exact:.4f} | 1 | below {exact.error / scale:.0e} (proven) |")
    for name, peer in [
        ("shap KernelExplainer, defaults (keeps 10 features)", kernel),
        ("shap KernelExplainer, all features", lambda: kernel(l1_reg=False)),
        ("shap PermutationExplainer, default", permutation),
    ]:
        error = np.abs(peer() - exact.values).max() / scale
        t = seconds(peer, 3)
        print(f"| {name} | {t:.3f} | {t / t_exact:.1f} | {error:.3f} |")


def growth(model: Any, texts: list[str]) -> None:
    """The compiled recursion; `lime-limit` and `shapley` leave texts of up to 64 features to torch (cold starts)."""
    print("\n### How the cost grows: moments for Shapley values, one class, tolerance 1e-11\n")
    print("| d | ms | ns / d² |\n|---|---|---|")
    for d in (25, 50, 100, 200, 400):
        game = game_of_occurrences(model, document_with(model, texts, d))
        took = seconds(lambda game=game, d=d: size_moments(game, 1, shapley_weights(d)), 15)
        print(f"| {d} | {1e3 * took:.2f} | {1e9 * took / d**2:.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--model", default=None, help="a checkpoint folder; the embedded model by default")
    parser.add_argument("--features", type=int, default=170)
    arguments = parser.parse_args()
    model = limelight.load(arguments.model)
    rows = np.random.default_rng(0).permutation(len(read_labelled(arguments.data).texts))[:50]
    texts = [read_labelled(arguments.data).texts[i] for i in rows]
    print(f"{machine()}; {model}\n")
    text = document_with(model, texts, arguments.features)
    against_lime(model, text)
    against_shap(game_of_occurrences(model, text))
    growth(model, texts)


if __name__ == "__main__":
    main()
