"""One-pass methods on every sequence classifier of transformers, and what they cost.

    python benchmarks/one_pass.py architectures               # small random models: what adds up, what is refused, why
    python benchmarks/one_pass.py price minilm-imdb           # processor time of each method, in forwards of one text

A classifier is right where decomposition and DeepSHAP miss at most 1e-10 of their weights or of the output in float64,
or 1e-5 in float32 where a step of it cannot be run in float64.
"""

from __future__ import annotations

import statistics
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import limelight
from reference.small_architectures import (
    USUAL,
    NotBuilt,
    class_names,
    quiet,
    small_classifier,
    word_pieces,
)

TEXT = "the film was disappointingly long and not wonderful"
REVIEW = (
    "The film was great, but the end is bad. It is not very good, and I would not see it again, although my friends "
    "did like what they saw of it."
)
METHODS = ("decomposition", "deepshap", "attnlrp", "attention-gradient", "chefer", "attcat", "attention-norm")
COMPLETE = {torch.float64: 1e-10, torch.float32: 1e-5}
REPEATS = 15


def main() -> int:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    if sys.argv[1:] == ["architectures"]:
        return architectures()
    return price(sys.argv[2])


def architectures() -> int:
    counts: dict[str, int] = {}
    for name in class_names():
        for dtype in COMPLETE:
            outcome, why = checked(name, dtype)
            if outcome != "not run":
                break
        counted = f"{outcome} ({dtype})".replace("torch.", "")
        counts[counted] = counts.get(counted, 0) + 1
        if outcome != "adds up":
            print(f"{name}: {outcome}: {why}", flush=True)
    print("\n".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())))
    return 0


def checked(name: str, dtype: torch.dtype) -> tuple[str, str]:
    try:
        with quiet():
            model = limelight.wrap(small_classifier(name, USUAL).to(dtype), word_pieces(USUAL))
    except NotBuilt as error:
        return "not built", str(error)
    except limelight.LimelightError as error:
        return "not run", str(error)
    refused = []
    for method in ("decomposition", "deepshap"):
        try:
            e = limelight.explain(model, TEXT, method)
        except limelight.LimelightError as error:
            refused.append(f"{method}: {error}")
            continue
        largest = max(np.abs(e.weights).sum(), abs(e.diagnostics["output"]))
        missing = e.diagnostics["completeness_error"] / largest
        if not missing <= COMPLETE[dtype]:
            return "wrong", f"{method} misses {missing:.1g}"
    return ("refused", "; ".join(refused)) if refused else ("adds up", "")


def price(folder: str) -> int:
    model = limelight.load(folder)
    tokens = len(model.tokenizer(REVIEW)["input_ids"])
    for method in METHODS:
        limelight.explain(model, REVIEW, method)
    forwards, times = [], {method: [] for method in METHODS}
    for _ in range(REPEATS):
        started = time.process_time()
        model.predict_logits([REVIEW])
        forwards.append(time.process_time() - started)
        for method in METHODS:
            started = time.process_time()
            limelight.explain(model, REVIEW, method)
            times[method].append(time.process_time() - started)
    forward = statistics.median(forwards)
    print(f"{tokens} tokens; one forward {forward * 1e3:.1f} ms")
    for method, own in times.items():
        print(f"{method}: {statistics.median(own) / forward:.1f} forwards")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
