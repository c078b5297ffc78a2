"""LIME on a Hugging Face classifier: against the bare forward passes, and against the official `lime`.

    python benchmarks/transformer_lime.py MODEL imdb/test.parquet [--device cuda --dtype float16 --samples 5000]

The floor is the forward passes of the very batches that our LIME runs, and nothing else. Official `lime` asks for
logits in three ways: a `pipeline(...)` as most people call it; the same with the fastest batch size of several; and a
function written for the purpose, which tokenises all texts of a batch at once. All sides explain the same words of
the same reviews, masked one by one (`bow=False`) or deleted with all their occurrences (`bow=True`).
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from transformers.utils import logging

import limelight
from official import lime_on_transformer, machine
from peers import pipeline_logits
from transformer import TARGET, arguments_of, device_name, model_and_texts, say

MODES = {"mask": "occurrences", "delete": "words"}
PIPELINE_SIZES = {"cpu": (8, 32, 128), "cuda": (64, 256, 1024)}
FUNCTION_SIZES = {"cpu": (8, 32, 128), "cuda": (256, 1024, 5000)}
Logits = Callable[[Sequence[str]], np.ndarray]


# ── ours ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def our_lime(model: Any, text: str, removal: Any, seed: int, n_samples: int) -> limelight.Explanation:
    kind: Any = MODES[removal]
    return limelight.explain(
        model, text, "lime", target=model.labels[TARGET], features=kind, removal=removal, seed=seed,
        n_samples=n_samples, sampling="official",
    )  # fmt: skip


def bare_forward(model: Any, text: str, removal: str, seed: int, n_samples: int) -> float:
    """Seconds for the forward passes of the batches that `our_lime` runs."""
    if model.removal_dtype is not None:
        raise SystemExit("the floor is that of one precision: give --dtype float32, bfloat16 or float16")
    tree = model.trees.plain()
    batches, forward = [], tree.logits

    def record(inputs: Any) -> torch.Tensor:
        batches.append(inputs)
        return torch.zeros(len(inputs.ids), len(model.labels), device=model.device)

    tree.logits = record
    try:
        our_lime(model, text, removal, seed, n_samples)
    finally:
        del tree.logits
    with torch.inference_mode():
        return timed(model, lambda: [forward(batch) for batch in batches])[0]


def timed(model: Any, work: Callable[[], Any]) -> tuple[float, Any]:
    wait = torch.cuda.synchronize if model.device.type == "cuda" else lambda: None
    wait()
    started = time.perf_counter()
    result = work()
    wait()
    return time.perf_counter() - started, result


# ── official lime ─────────────────────────────────────────────────────────────────────────────────────────────────────


def function_logits(model: Any, batch_size: int) -> Logits:
    """Tokenises and computes batch by batch: what a careful user writes by hand."""

    @torch.inference_mode()
    def logits(texts: Sequence[str]) -> np.ndarray:
        found = []
        for start in range(0, len(texts), batch_size):
            batch = list(texts[start : start + batch_size])
            inputs = model.tokenizer(batch, return_tensors="pt", padding=True, truncation=True).to(model.device)
            found.append(model.model(**inputs).logits.double())
        return torch.cat(found).cpu().numpy()

    return logits


def official_lime(model: Any, text: str, logits: Logits, removal: str, seed: int, n_samples: int) -> np.ndarray:
    mask = model.tokenizer.mask_token
    return lime_on_transformer(model, text, logits, bow=removal == "delete", mask=mask, seed=seed, n_samples=n_samples)


def fastest(make: Callable[[Any, int], Logits], model: Any, sizes: Sequence[int], texts: Sequence[str]) -> int:
    """The best batch size for such texts."""
    seconds = {}
    for size in sizes:
        logits = make(model, size)
        logits(texts[:size])
        seconds[size] = timed(model, lambda logits=logits: logits(texts))[0]
    best = min(seconds, key=seconds.__getitem__)
    say(f"  {make.__name__}: batches of {best} are best of { ({k: round(v, 3) for k, v in seconds.items()}) }")
    return best


# ── the comparison ────────────────────────────────────────────────────────────────────────────────────────────────────


def masked_texts(model: Any, text: str, n: int) -> list[str]:
    """Texts as official `lime` asks about them, to choose a batch size by."""
    asked: list[str] = []

    def note(texts: Sequence[str]) -> np.ndarray:
        asked.extend(texts)
        return np.zeros((len(texts), 2)) + np.arange(len(texts))[:, None]

    official_lime(model, text, note, "mask", 0, n)
    return asked


def compare(
    model: Any, texts: list[str], removal: str, arguments: argparse.Namespace, sides: dict[str, Logits]
) -> None:
    n, n_plain = arguments.samples, arguments.plain_documents
    seconds: dict[str, list[float]] = {"floor": [], "limelight": [], **{name: [] for name in sides}}
    own, cross = [], []
    our_lime(model, texts[0], removal, 0, n)
    for i, text in enumerate(texts):
        floors, times = [], []
        for _ in range(arguments.repeats):
            floors.append(bare_forward(model, text, removal, 0, n))
            took, explanation = timed(model, lambda t=text: our_lime(model, t, removal, 0, n))
            times.append(took)
        seconds["floor"].append(statistics.median(floors))
        seconds["limelight"].append(statistics.median(times))
        ours, theirs = [explanation.weights], []
        for name, logits in sides.items():
            if name == "plain pipeline" and i >= n_plain:
                continue
            took, weights = timed(model, lambda f=logits, t=text: official_lime(model, t, f, removal, 0, n))
            seconds[name].append(took)
        theirs.append(weights)
        for seed in range(1, arguments.runs):
            ours.append(our_lime(model, text, removal, seed, n).weights)
            theirs.append(official_lime(model, text, sides["batched function"], removal, seed, n))
        own += [float(np.linalg.norm(a - b)) for a, b in itertools.combinations(theirs, 2)]
        cross += [float(np.linalg.norm(a - b)) for a in ours for b in theirs]
        say(f"  {removal}: {i + 1} of {len(texts)} texts")
    ours_total = sum(seconds["limelight"])
    for name, all_seconds in seconds.items():
        ours = sum(seconds["limelight"][: len(all_seconds)])
        if not all_seconds:
            continue
        label = name if name in ("floor", "limelight") else f"official lime, {name}"
        note = f" ({len(all_seconds)} texts)" if len(all_seconds) < len(texts) else ""
        print(
            f"| {removal} | {label}{note} | {sum(all_seconds) / len(all_seconds):.4f} | {sum(all_seconds) / ours:.3f} |"
        )
    print(f"| {removal} | share of the floor's throughput | | {sum(seconds['floor']) / ours_total:.1%} |")
    if own:
        ratio = statistics.mean(cross) / statistics.mean(own)
        print(
            f"| {removal} | official to official {statistics.mean(own):.4f}, ours to official "
            f"{statistics.mean(cross):.4f} | | ratio {ratio:.3f} |"
        )
    sys.stdout.flush()


def main() -> None:
    parser = arguments_of(__doc__, documents=10, words=200, samples=1000)
    parser.add_argument("--runs", type=int, default=2, help="runs of each side per text, for the distances")
    parser.add_argument("--repeats", type=int, default=1, help="timings of ours and of the floor: the median counts")
    parser.add_argument("--plain-documents", type=int, default=2, help="texts for the plain pipeline, the slowest")
    parser.add_argument("--removals", nargs="+", choices=MODES, default=list(MODES))
    arguments = parser.parse_args()
    logging.set_verbosity_error()
    model, texts = model_and_texts(arguments)
    asked = masked_texts(model, max(texts, key=len), min(arguments.samples, 1000))
    kind = model.device.type
    pipeline_size = fastest(pipeline_logits, model, PIPELINE_SIZES[kind], asked)
    function_size = fastest(function_logits, model, FUNCTION_SIZES[kind], asked)
    sides = {
        "plain pipeline": pipeline_logits(model, None),
        f"pipeline in batches of {pipeline_size}": pipeline_logits(model, pipeline_size),
        "batched function": function_logits(model, function_size),
    }
    words = statistics.mean(len(model.view(text).document.words) for text in texts)
    print(f"{machine()}, {device_name(model)}, torch {torch.__version__}; {model}")
    print(f"{len(texts)} reviews of {words:.0f} words on average, {arguments.samples} samples\n")
    print("| removal | | seconds per text | times limelight |\n|---|---|---|---|")
    for removal in arguments.removals:
        compare(model, texts, removal, arguments, sides)


if __name__ == "__main__":
    main()
