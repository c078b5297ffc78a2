"""Exact values for deleted words: against official LIME, their efficiency, and their speed, in one run.

    python benchmarks/deletion.py imdb-test.jsonl --model paper-model

Features are occurrences: official LIME with `bow=False` and an empty mask deletes each of them by itself.

1. Seconds of one call on a fresh text of 170 words, in turns: official LIME with 5,000 samples, `lime-limit` for
   deleted words, and for masked ones.
2. Shapley values sum to f(document) - f(nothing): the largest gap, half of them documents that fill the input.
3. The norm-2 distance of a mean of 5 runs of LIME from `lime-limit`, over the sampling noise that is left in such a
   mean: a value that is right is as far away as the noise. Official runs, and our own on the same documents.

Not measured: distinct words that repeat. Exact values take at most six of these, and IMDB reviews have thirty.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import limelight
from limelight.inputs.document import word_forms
from limelight.storage.labelled_texts import read_labelled
from limelight.theory.deletion import DeletionTables
from official import lime_weights, machine, sample_documents

DELETING: dict[str, Any] = {"removal": "delete", "features": "occurrences"}
SAMPLES = 5000


def official(model: Any, text: str, seed: int) -> np.ndarray:
    """Official weights of label 1 for each occurrence, which is deleted by itself."""
    return lime_weights(text, model.predict_logits, word_forms, bow=False, mask="", seed=seed, n_samples=SAMPLES)


def ours(model: Any, text: str, method: str, **options: Any) -> limelight.Explanation:
    return limelight.explain(model, text, method, target=model.labels[1], **{**DELETING, **options})


def noise_in_the_mean(runs: np.ndarray) -> float:
    return float(np.sqrt(runs.var(axis=0, ddof=1).sum() / len(runs)))


def distance_over_noise(model: Any, texts: list[str], runs: int) -> None:
    samplers: dict[str, Callable[[str, int], np.ndarray]] = {
        "official lime": lambda text, seed: official(model, text, seed),
        "our lime": lambda text, seed: (
            ours(model, text, "lime", n_samples=SAMPLES, seed=seed, sampling="official").weights
        ),
    }
    distances: dict[str, list[float]] = {name: [] for name in samplers}
    masking: dict[str, list[float]] = {name: [] for name in samplers}
    noises: dict[str, list[float]] = {name: [] for name in samplers}
    apart, expected, words = [], [], []
    for text in texts:
        exact, masked = ours(model, text, "lime-limit").weights, ours(model, text, "lime-limit", removal="mask").weights
        means = []
        for name, sampler in samplers.items():
            own = np.stack([sampler(text, seed) for seed in range(runs)])
            means.append(own.mean(axis=0))
            noises[name].append(noise_in_the_mean(own))
            distances[name].append(float(np.linalg.norm(means[-1] - exact)))
            masking[name].append(float(np.linalg.norm(means[-1] - masked)))
        apart.append(float(np.linalg.norm(means[0] - means[1])))
        expected.append(float(np.hypot(*(noises[name][-1] for name in samplers))))
        words.append(len(exact))
    print(f"### Mean of {runs} runs with {SAMPLES:,} samples, {len(texts)} documents of {np.mean(words):.0f} words\n")
    print("| runs of | noise in their mean | distance to lime-limit | times the noise | to lime-limit for masking |")
    print("|---|---|---|---|---|")
    for name in samplers:
        noise, far = np.mean(noises[name]), np.mean(distances[name])
        print(f"| {name} | {noise:.4f} | {far:.4f} | {far / noise:.3f} | {np.mean(masking[name]):.4f} |")
    print(f"\nThe two means are {np.mean(apart) / np.mean(expected):.3f} times their joint noise apart.")


def efficiency(model: Any, texts: list[str]) -> None:
    gaps, bounds, words = [], [], []
    for text in texts:
        phi = ours(model, text, "shapley")
        d = len(phi.weights)
        whole = DeletionTables(model.view(text).folded(), torch.float64)  # `predict_logits` has float32's seven digits
        ends = whole.logits_of_arrays(np.array([[True] * d, [False] * d]))
        gaps.append(abs(phi.weights.sum() - (ends[0, 1] - ends[1, 1])))
        bounds.append(float(phi.diagnostics["error"]))
        words.append(d)
    print(
        f"\n### Shapley values of {len(texts)} documents, {np.mean(words):.0f} words on average, at most {max(words)}\n"
    )
    print(f"largest gap in efficiency {max(gaps):.1e}; largest error bound of a value {max(bounds):.1e}")


def speed(model: Any, texts: list[str], words: int, rounds: int) -> None:
    """Each round has a text of its own; the first one pays for compiling and is not counted."""
    forms = [word.form for text in texts for word in model.read(text).words]
    calls: dict[str, Callable[[str], Any]] = {
        "official lime, deleting": lambda text: official(model, text, 0),
        "lime-limit, deleting": lambda text: ours(model, text, "lime-limit"),
        "lime-limit, masking": lambda text: ours(model, text, "lime-limit", removal="mask"),
    }
    taken: dict[str, list[float]] = {name: [] for name in calls}
    nodes: list[int] = []
    for turn in range(min(rounds + 1, len(forms) // words)):
        text = " ".join(forms[turn * words : (turn + 1) * words])
        for name, call in calls.items():
            started = time.perf_counter()
            answer = call(text)
            if turn > 0:
                taken[name].append(time.perf_counter() - started)
                if name == "lime-limit, deleting":
                    nodes.append(answer.diagnostics["nodes"])
    print(
        f"\n### Seconds for {words} occurrences, median of {len(taken['lime-limit, masking'])} fresh texts, in turns\n"
    )
    print("| | seconds | times lime-limit, deleting |\n|---|---|---|")
    unit = statistics.median(taken["lime-limit, deleting"])
    for name, times in taken.items():
        print(f"| {name} | {statistics.median(times):.4f} | {statistics.median(times) / unit:.2f} |")
    print(f"\n{statistics.mean(nodes):.0f} quadrature nodes, all heads together")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--model", default=None, help="a checkpoint folder; the embedded model by default")
    parser.add_argument("--documents", type=int, default=100, help="compared with LIME; 0 leaves this out")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument(
        "--efficiency", type=int, default=200, help="documents whose Shapley values are summed; 0: none"
    )
    parser.add_argument("--words", type=int, default=170, help="of a text whose seconds are measured")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    model = limelight.load(arguments.model)
    print(f"{machine()}; {model}\n", flush=True)
    speed_texts = list(read_labelled(arguments.data).texts[: 2 * arguments.rounds + 2])
    speed(model, speed_texts, arguments.words, arguments.rounds)
    if arguments.efficiency:
        efficiency(model, longest_first(model, arguments.data, arguments.efficiency, arguments.seed))
    if arguments.documents:
        print(flush=True)
        texts = sample_documents(model, arguments.data, arguments.documents, arguments.seed)
        distance_over_noise(model, texts, arguments.runs)


def longest_first(model: Any, path: str, n: int, seed: int) -> list[str]:
    """Half of n documents at random, half among the longest of ten times as many."""
    texts = sample_documents(model, path, min(10 * n, len(read_labelled(path).texts)), seed)
    by_length = sorted(texts, key=lambda text: -len(text.split()))
    return [*texts[: n // 2], *by_length[: n - n // 2]]


if __name__ == "__main__":
    main()
