"""How long LIME takes to the same error: limelight as it comes, against official `lime` with the best batched pipeline.

    python benchmarks/time_to_error.py imdb/test.parquet MODEL [--documents 10 --words 60 150 --samples 1000]

Both explain the same masked words of the same reviews with the same number of samples, in turn, in one run; the
pipeline has the batch size that is fastest of several. Both estimate one and the same number, so that half the squared
distance of two runs with different seeds is the squared error of one, without a reference. What half precision moves
and no seed shows is measured beside it: the squared distance of our weights to those of the same seed in float32, which
is added to our error. Errors fall as one over the number of samples, so the time to the same error is the time for the
same number, times the ratio of the squared errors.
"""

from __future__ import annotations

import argparse
import statistics
import warnings
from functools import partial
from typing import Any

import numpy as np
import torch
from transformers.utils import logging

import limelight
from limelight.errors import ExplanationWarning
from limelight.storage.labelled_texts import read_labelled
from official import machine
from peers import pipeline_logits
from transformer import TARGET, device_name, say
from transformer_lime import PIPELINE_SIZES, fastest, masked_texts, official_lime, timed


def cut_reviews(model: Any, path: str, count: int, words: int, seed: int) -> list[str]:
    """The first words of reviews, in lower case: official `lime` tells "The" from "the", an uncased model does not."""
    texts = read_labelled(path).texts
    chosen: list[str] = []
    for i in np.random.default_rng(seed).permutation(len(texts)):
        view = model.view(texts[i].lower())
        if len(view.document.words) > words:
            chosen.append(texts[i].lower()[: view.document.words[words - 1].end])
        if len(chosen) == count:
            break
    return chosen


def our_lime(model: Any, text: str, seed: int, n_samples: int) -> np.ndarray:
    """As it comes: where samples tell most, in the precision that is chosen by itself."""
    return limelight.explain(
        model, text, "lime", target=model.labels[TARGET], features="occurrences", seed=seed, n_samples=n_samples
    ).weights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="a file with a text and a label column")
    parser.add_argument("model", help="a folder with a Hugging Face sequence classifier")
    parser.add_argument("--documents", type=int, default=10, help="reviews of each length")
    parser.add_argument("--words", type=int, nargs="+", default=[60, 150])
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=2, help="seeds of each side for a review")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--seed", type=int, default=0, help="of the choice of texts")
    arguments = parser.parse_args()
    logging.set_verbosity_error()
    warnings.simplefilter("ignore", ExplanationWarning)
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    n = arguments.samples
    ours: Any = limelight.load(arguments.model, device=arguments.device, truncate=True)
    full: Any = limelight.load(arguments.model, device=arguments.device, truncate=True, dtype="float32")
    print(f"{machine()}, {device_name(ours)}, torch {torch.__version__}; {ours}; {n} samples\n")
    print("| words | reviews | our time | our squared error | of it precision | time to the same error |")
    print("|---|---|---|---|---|---|")
    everything: list[float] = []
    for words in arguments.words:
        texts = cut_reviews(full, arguments.data, arguments.documents, words, arguments.seed)
        size = fastest(pipeline_logits, full, PIPELINE_SIZES[full.device.type], masked_texts(full, texts[0], 256))
        logits = pipeline_logits(full, size)
        our_lime(ours, texts[0], 0, 64)
        times, errors, shares = [], [], []
        for i, text in enumerate(texts):
            seconds, weights = np.zeros((2, arguments.runs)), [[], []]
            for seed in range(arguments.runs):
                seconds[0, seed], own = timed(ours, partial(our_lime, ours, text, seed, n))
                seconds[1, seed], theirs = timed(full, partial(official_lime, full, text, logits, "mask", seed, n))
                weights[0].append(own)
                weights[1].append(theirs)
            moved = float(np.sum((our_lime(full, text, 0, n) - weights[0][0]) ** 2))
            own_error, their_error = (float(np.var(side, axis=0, ddof=1).sum()) for side in weights)
            times.append(seconds[0].sum() / seconds[1].sum())
            errors.append((own_error + moved) / their_error)
            shares.append(moved / (own_error + moved))
            say(f"{words} words, {i + 1} of {len(texts)}: time {times[-1]:.3f}, error {errors[-1]:.3f}")
        ratios = [time * error for time, error in zip(times, errors, strict=True)]
        everything += ratios
        time, error, share = map(statistics.mean, (times, errors, shares))
        print(f"| {words} | {len(texts)} | {time:.3f} | {error:.3f} | {share:.2%} | {time * error:.3f} |", flush=True)
    spread = statistics.stdev(everything) / len(everything) ** 0.5 if len(everything) > 1 else float("nan")
    print(
        f"\nAll as parts of official lime's, means over the reviews; by review {statistics.mean(everything):.3f} ± ",
        end="",
    )
    print(f"{1.96 * spread:.3f}. Official lime asks a pipeline of transformers in float32 in batches of {size}.")


if __name__ == "__main__":
    main()
