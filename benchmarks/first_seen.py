"""LIME on texts that a process sees for the first time, against the best that the bare forward can do.

    python benchmarks/first_seen.py imdb-test.jsonl MODEL [--out first_seen.json]

Each variant of the shapes of batches runs in a process of its own. It explains another review first, so that the
process is warm and the texts are not: then each of eight reviews once, and once more. The bare forward is measured
afterwards and warm: batches of one length without padding, of the size and with the attention that are best, in the
precision that the explanation is computed in. A share of 100 % would be an explanation that takes no more than those
forwards for the tokens that it asks about. What is chosen is one constant, `SHAPES` in
`limelight/models/huggingface/runner.py`; the first line of the table is what it says now.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import limelight
from limelight.inputs.features import features_of
from limelight.models.huggingface import runner
from limelight.models.huggingface.runner import Inputs, Shapes, attention_of
from limelight.storage.labelled_texts import read_labelled
from transformer import device_name, say

REMOVALS = ("mask", "delete")
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "cuda": [
        {},
        {"attention": None},
        {"attention": None, "step": 32},
        {"attention": None, "step": 64},
        {"attention": "flash", "alone": 8_000},
        {"attention": "flash", "alone": 64_000},
        {"attention": "flash", "alone": 10**9},
        {"attention": "flash", "step": 8},
        {"attention": "flash", "step": 16},
        {"attention": "flash", "step": 32},
        {"attention": "flash", "step": 64},
        {"attention": "flash", "tokens": 2**15, "alone": 8_000},
        {"attention": "flash", "tokens": 2**16},
        {"attention": "flash", "tokens": 2**18},
        {"attention": "efficient", "step": 16},
        {"sampling": "efficient"},
        {"dtype": "float16"},
        {"dtype": "float32"},
    ],
    "cpu": [
        {},
        {"step": 8},
        {"step": 16},
        {"step": 32},
        {"tokens": 1024},
        {"tokens": 4096},
        {"alone": 10**9},
        {"sampling": "efficient"},
        {"dtype": "float32"},
    ],
}
BATCH_TOKENS = {"cuda": (2**14, 2**15, 2**16, 2**17), "cpu": (1024, 2048, 4096)}


def timed(device: torch.device, work: Callable[[], Any]) -> float:
    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    wait()
    started = time.perf_counter()
    work()
    wait()
    return time.perf_counter() - started


# ── one variant, in a process of its own ──────────────────────────────────────────────────────────────────────────────


def chosen_texts(model: Any, path: str, count: int, words: int, seed: int) -> list[str]:
    """Reviews of up to so many words, and a fifth of that at least, that the model reads whole."""
    texts = read_labelled(path).texts
    chosen: list[str] = []
    for i in np.random.default_rng(seed).permutation(len(texts)):
        if words // 5 <= len(texts[i].split()) <= words and not model.view(texts[i]).document.notices:
            chosen.append(texts[i])
        if len(chosen) == count:
            return chosen
    raise SystemExit(f"{path} has no {count} reviews of {words // 5} to {words} words: give another --words")


def explained(model: Any, text: str, removal: Any, n_samples: int, sampling: str) -> limelight.Explanation:
    return limelight.explain(
        model, text, "lime", target=model.labels[1], features="occurrences", removal=removal, n_samples=n_samples,
        sampling=sampling,
    )  # fmt: skip


def asked_tokens(model: Any, text: str, removal: Any, n_samples: int, sampling: str) -> tuple[int, int]:
    """How many tokens the inputs of an explanation have, without padding, and how many forwards they are."""
    tokens, forwards, run = [0], [0], model.runner.run

    def counting(forward: Any, device: Any, batches: Any, *rest: Any) -> Any:
        def empty(inputs: Inputs) -> torch.Tensor:
            forwards[0] += 1
            return torch.zeros(len(inputs.ids), len(model.labels), device=device)

        tokens[0] += int(batches.lengths.sum())
        return run(empty, device, batches, *rest)

    model.runner.run = counting
    try:
        explained(model, text, removal, n_samples, sampling)
    except limelight.LimelightError:
        pass  # answers that are all zero need not be explained
    finally:
        del model.runner.run
    return tokens[0], forwards[0]


def bare_throughput(model: Any, length: int) -> tuple[float, str]:
    """Tokens per second of the forward alone, warm, in the best of several shapes; and which that was."""
    tree = model.rounded_tree() or model.trees.plain()
    device, best = tree.device, (0.0, "")
    backends = (None, "flash") if device.type == "cuda" else (None,)
    for tokens in BATCH_TOKENS[device.type]:
        ids = torch.randint(1000, 20_000, (max(1, tokens // length), length), device=device)
        for backend in backends:
            with torch.inference_mode(), attention_of(device, backend):
                tree.logits(Inputs(ids))
                tree.logits(Inputs(ids))
                repeats = max(1, min(20, 2**18 // ids.numel())) if device.type == "cuda" else 2
                work = lambda ids=ids, repeats=repeats: [tree.logits(Inputs(ids)) for _ in range(repeats)]  # noqa: E731
                seconds = min(timed(device, work) for _ in range(3))
            best = max(best, (repeats * ids.numel() / seconds, f"{tuple(ids.shape)}, {backend or 'torch'}"))
    return best


def difference_to_torch(model: Any, text: str) -> float:
    """The largest change of a logit by the chosen attention, of 64 coalitions."""
    view = model.view(text)
    features = features_of(view.document, "occurrences")
    kept = np.random.default_rng(0).random((64, len(features))) < 0.6
    answers = []
    kind = model.device.type
    shapes = runner.SHAPES[kind]
    for attention in (shapes.attention, None):
        runner.SHAPES[kind] = replace(shapes, attention=attention)
        answers.append(view.game(features, "delete")(kept))
    runner.SHAPES[kind] = shapes
    return float(np.abs(answers[0] - answers[1]).max())


def run_variant(arguments: argparse.Namespace) -> dict[str, Any]:
    variant = json.loads(arguments.variant)
    sampling, dtype = variant.pop("sampling", "official"), variant.pop("dtype", arguments.dtype)
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    model: Any = limelight.load(arguments.model, device=arguments.device, dtype=dtype, truncate=True)
    kind = model.device.type
    runner.SHAPES[kind] = replace(runner.SHAPES[kind], **variant)
    warm, *texts = chosen_texts(model, arguments.data, arguments.documents + 1, arguments.words, arguments.seed)
    n, found = arguments.samples, {}
    for removal in REMOVALS:
        explained(model, warm, removal, n, sampling)
    if kind == "cuda":
        torch.cuda.reset_peak_memory_stats()
    for removal in REMOVALS:
        first, second = (
            [timed(model.device, partial(explained, model, text, removal, n, sampling)) for text in texts]
            for _ in range(2)
        )
        found[removal] = {"first": statistics.mean(first), "second": statistics.mean(second), "slowest": max(first)}
    peak = torch.cuda.max_memory_allocated() / 2**30 if kind == "cuda" else 0.0
    bare: dict[int, tuple[float, str]] = {}
    for removal in REMOVALS:
        floors, forwards = [], []
        for text in texts:
            tokens, batches = asked_tokens(model, text, removal, n, sampling)
            length = max(8, round(tokens / n / 16) * 16)
            bare[length] = bare.get(length) or bare_throughput(model, length)
            floors.append(tokens / bare[length][0])
            forwards.append(batches)
        found[removal] |= {"floor": statistics.mean(floors), "forwards": statistics.mean(forwards)}
    shapes: Shapes = runner.SHAPES[kind]
    return {
        "asked": json.loads(arguments.variant),
        "shapes": asdict(shapes),
        "device": device_name(model),
        "model": repr(model),
        "peak_gib": peak,
        "changed": difference_to_torch(model, texts[0]),
        "bare": {str(length): best for length, best in sorted(bare.items())},
        **found,
    }


# ── all of them ───────────────────────────────────────────────────────────────────────────────────────────────────────


def row(found: dict[str, Any]) -> str:
    name = ", ".join(f"{key} {value}" for key, value in found["asked"].items()) or "as it is"
    cells = []
    for removal in REMOVALS:
        own = found[removal]
        cells += [
            f"{own['first']:.3f}",
            f"{own['second']:.3f}",
            f"{own['floor']:.3f}",
            f"{own['floor'] / own['first']:.0%}",
            f"{own['floor'] / own['second']:.0%}",
            f"{own['forwards']:.0f}",
        ]
    return f"| {name} | {' | '.join(cells)} | {found['peak_gib']:.1f} | {found['changed']:.1e} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="a file with a text and a label column")
    parser.add_argument("model", help="a folder with a Hugging Face sequence classifier")
    parser.add_argument("--documents", type=int, default=8)
    parser.add_argument("--words", type=int, default=250, help="the longest review")
    parser.add_argument("--samples", type=int, default=5000)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--seed", type=int, default=0, help="of the choice of texts")
    parser.add_argument("--first", type=int, default=None, help="only so many variants")
    parser.add_argument("--out", default=None, help="a .json file for all numbers")
    parser.add_argument("--variant", default=None, help="one variant, as JSON; prints JSON")
    arguments = parser.parse_args()
    if arguments.variant is not None:
        print(json.dumps(run_variant(arguments)))
        return
    kind = "cuda" if arguments.device != "cpu" and torch.cuda.is_available() else "cpu"
    rows: list[dict[str, Any]] = []
    head = [
        f"{removal}: {name}"
        for removal in REMOVALS
        for name in ("first s", "second s", "floor s", "1st", "2nd", "batches")
    ]
    print(f"| variant | {' | '.join(head)} | peak GiB | changed |\n|{'---|' * (len(head) + 3)}", flush=True)
    for variant in VARIANTS[kind][: arguments.first]:
        command = [sys.executable, *sys.argv, "--variant", json.dumps(variant)]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode:
            say(answer.stderr[-2000:])
            print(f"| {variant} | failed: {answer.stderr.strip().splitlines()[-1][:200]} |", flush=True)
            continue
        rows.append(json.loads(answer.stdout.splitlines()[-1]))
        print(row(rows[-1]), flush=True)
        if arguments.out is not None:
            Path(arguments.out).write_text(json.dumps(rows, indent=1), "utf-8")
    if rows:
        print(
            f"\n{rows[0]['device']}, torch {torch.__version__}; {rows[0]['model']}; {arguments.documents} reviews, ",
            end="",
        )
        print(f"{arguments.samples} samples, means over the reviews. Best bare forward by length: {rows[0]['bare']}")


if __name__ == "__main__":
    main()
