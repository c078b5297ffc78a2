"""Two runs until stable with other seeds: how many settle, after how many samples, and whether they agree.

    python benchmarks/stable_runs.py texts.jsonl MODEL --device cuda --results stable.jsonl
    python benchmarks/stable_runs.py texts.jsonl MODEL --results stable.jsonl --games games --only-show
    python benchmarks/stable_runs.py imdb/test.parquet --results embedded.jsonl

The first needs torch, transformers and NumPy, and goes on where it stopped; texts.jsonl is that of collect_games.py,
whose reviews at full length are taken, or those of `--part`. The second also says how many weights lie in their 95 %
intervals, by the references of collect_games.py. Without a model the embedded one is sampled, whose exact values are
known.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import torch

import limelight
from limelight.storage.labelled_texts import read_texts

TOP = 5
INSIDE = 1.96
SEEDS = (0, 1)


def texts_of(path: str, part: str, count: int, seed: int) -> dict[str, str]:
    """By name: those of collect_games.py, or rows of a table at random."""
    if path.endswith(".jsonl"):
        lines = [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]
        lines = [line for line in lines if line.get("part") == part]
        return {f"{part}-{line['row']}": line["text"] for line in lines[:count]}
    texts = read_texts(path, "text").texts
    rows = np.random.default_rng(seed).permutation(len(texts))[:count].tolist()
    return {f"row-{row}": texts[row].replace("<br />", " ") for row in rows}


def explained(model: Any, text: str, method: str, seed: int, limit: int) -> dict[str, Any]:
    started = time.perf_counter()
    found = limelight.explain(
        model, text, method, target=(model.labels[-1], model.labels[0]), features="occurrences", output="logit",
        until="stable", n_samples=limit, seed=seed,
    )  # fmt: skip
    return {
        "stopped": found.diagnostics["stopped"],
        "n": int(found.parameters["n_samples"]),
        "weights": [float(f"{w:.6g}") for w in found.weights],
        "stderr": None if found.stderr is None else [float(f"{e:.4g}") for e in found.stderr],
        "seconds": time.perf_counter() - started,
    }


# ── the truth ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def exact(texts: dict[str, str], row: dict[str, Any]) -> tuple[Any, Any]:
    model, text = limelight.load(), texts[row["text"]]
    name = "lime-limit" if row["method"] == "lime" else row["method"]
    target = (model.labels[-1], model.labels[0])
    found = limelight.explain(model, text, name, target=target, features="occurrences").weights
    return found, np.zeros(len(found))


def references(games: Path) -> Any:
    """From recorded games. Runs of the same seeds began with the same samples: they are left out."""
    from limelight.explainers.sampling.lime_sampler import RIDGE_SAMPLES
    from pooled_references import LimeReference, ShapleyReference
    from recorded_games import LATER_SEED, read_all

    reviews = {review.name: review for review in read_all(games, "coverage")}

    def truth(row: dict[str, Any]) -> tuple[Any, Any] | None:
        if row["text"] not in reviews:
            return None
        review, kind = reviews[row["text"]], {"lime": "lime", "shapley": "pairs"}[row["method"]]
        runs = [run for run in review.runs(kind) if run.seed not in (*SEEDS, LATER_SEED)]
        (apart,) = (run for run in review.runs(kind) if run.seed == LATER_SEED)
        if kind == "lime":
            return LimeReference(review, runs, apart, RIDGE_SAMPLES, 1.0).without(None)
        return ShapleyReference(review, runs, apart).without(None)

    return truth


# ── showing ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def strongest(row: dict[str, Any]) -> frozenset[tuple[int, bool]]:
    """The five strongest words, with their signs."""
    weights = np.array(row["weights"])
    return frozenset((int(j), bool(weights[j] > 0)) for j in np.argsort(-np.abs(weights))[:TOP])


def covered(row: dict[str, Any], truth: tuple[Any, Any]) -> tuple[float, float]:
    """Of all words, and of the ten strongest by the estimate."""
    weights, (values, own) = np.array(row["weights"]), truth
    stderr = np.zeros(len(weights)) if row["stderr"] is None else np.array(row["stderr"])
    inside = np.abs(weights - values) <= INSIDE * np.hypot(stderr, own) + 1e-5 * np.abs(values).max()
    return float(inside.mean()), float(inside[np.argsort(-np.abs(weights))[:10]].mean())


def show(rows: list[dict[str, Any]], truth: Any) -> None:
    print(
        "| method | texts | runs that ended | samples, median | both settled | of these, the same five words |", end=""
    )
    print(" covered, all words | ten strongest |\n" + "|---" * 8 + "|")
    for method in dict.fromkeys(row["method"] for row in rows):
        own = [row for row in rows if row["method"] == method]
        ended = Counter(row["stopped"] for row in own)
        words = ", ".join(f"{name} {count / len(own):.0%}".replace("%", " %") for name, count in ended.most_common())
        pairs: dict[str, list[dict[str, Any]]] = {}
        for row in own:
            pairs.setdefault(row["text"], []).append(row)
        both = [pair for pair in pairs.values() if len(pair) == 2 and all(r["stopped"] == "settled" for r in pair)]
        same = sum(strongest(a) == strongest(b) for a, b in both)
        shares = [covered(row, known) for row in own if truth is not None and (known := truth(row)) is not None]
        cells = [f"{share:.1%}".replace("%", " %") for share in np.mean(shares, axis=0)] if shares else ["–", "–"]
        n = np.median([row["n"] for row in own])
        print(f"| {method} | {len(pairs)} | {words} | {n:,.0f} | {len(both)} | {same} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts")
    parser.add_argument("model", nargs="?", default=None)
    parser.add_argument("--part", default="coverage", help="which texts of texts.jsonl")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--methods", default="lime,shapley")
    parser.add_argument("--limit", type=int, default=20_000)
    parser.add_argument("--results", type=Path, default=Path("stable.jsonl"))
    parser.add_argument("--games", type=Path, default=None, help="what collect_games.py wrote")
    parser.add_argument("--only-show", action="store_true")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default=None)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=5, help="of the choice of texts")
    given = parser.parse_args()
    warnings.simplefilter("ignore", limelight.errors.ExplanationWarning)
    if given.threads:
        torch.set_num_threads(given.threads)
    texts = texts_of(given.texts, given.part, given.count, given.seed)
    rows = [json.loads(line) for line in given.results.read_text().splitlines()] if given.results.exists() else []
    done = {(row["text"], row["method"], row["seed"]) for row in rows}
    if not given.only_show:
        model: Any
        if given.model is None:
            from estimators import Sampled

            model = Sampled(limelight.load())
        else:
            dtype = given.dtype or ("float32" if given.device == "cpu" else "float16")
            model = limelight.load(given.model, device=given.device, dtype=dtype)
        started = time.perf_counter()
        with given.results.open("a") as file:
            for i, (name, text) in enumerate(texts.items()):
                if time.perf_counter() - started > given.seconds:
                    break
                for method in given.methods.split(","):
                    for seed in SEEDS:
                        if (name, method, seed) not in done:
                            found = explained(model, text, method, seed, given.limit)
                            rows.append({"text": name, "method": method, "seed": seed, **found})
                            file.write(json.dumps(rows[-1]) + "\n")
                            file.flush()
                print(f"{i + 1} of {len(texts)}: {time.perf_counter() - started:.0f} s", flush=True)
    truth = (lambda row: exact(texts, row)) if given.model is None else given.games and references(given.games)
    show(rows, truth)


if __name__ == "__main__":
    main()
