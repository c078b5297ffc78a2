"""Texts for the tables of docs/benchmarks-archive.md, as JSON lines, and the evaluations that make them.

    python benchmarks/evaluate_models.py texts --imdb imdb/test.parquet --eraser eraser_movies/test.parquet \
        --pairs imdb_cad/test.parquet --train imdb/train.parquet --out texts
    limelight train texts/train.jsonl --out unseen-model
    python benchmarks/evaluate_models.py run --texts texts --out results --transformer minilm-imdb \
        --paper paper-model --deep deep-model --unseen unseen-model --device cuda

The texts to train on are those of --train without the originals of the pairs, of all their parts. The first command
needs pyarrow. The last needs what limelight needs and nothing more; what is done is not done again.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from limelight.storage.labelled_texts import read_rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    texts = commands.add_parser("texts", help="draw texts and write them as JSON lines")
    texts.add_argument("--imdb", type=Path)
    texts.add_argument("--eraser", type=Path)
    texts.add_argument("--pairs", type=Path)
    texts.add_argument("--train", type=Path, help="labelled texts, to be written without the originals of the pairs")
    texts.add_argument("--documents", type=int, default=400)
    texts.add_argument("--out", type=Path, required=True)
    run = commands.add_parser("run", help="evaluate each model that is given")
    run.add_argument("--texts", type=Path, required=True)
    run.add_argument("--out", type=Path, required=True)
    run.add_argument("--transformer")
    run.add_argument("--paper")
    run.add_argument("--deep")
    run.add_argument("--unseen", help="a model that was trained without the originals of the pairs")
    run.add_argument("--documents", type=int, default=200)
    run.add_argument("--steps", type=int, help="points of a curve for the transformer; default all")
    run.add_argument("--device", default="cpu")
    run.add_argument("--only", help="names of evaluations, with commas")
    given = parser.parse_args()
    return write_texts(given) if given.command == "texts" else evaluate(given)


# ── texts ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def write_texts(given: argparse.Namespace) -> int:
    given.out.mkdir(parents=True, exist_ok=True)
    if given.imdb:
        rows = [row for row in read_rows(given.imdb, ("id", "text")) if row["text"].strip()]
        _write(given.out / "imdb.jsonl", _drawn(rows, given.documents))
        short = [row for row in rows if 5 <= len(row["text"].split()) <= 40]
        _write(given.out / "imdb-short.jsonl", _drawn(short, 40))
    if given.eraser:
        rows = read_rows(given.eraser, ("id", "text", "rationale"))
        _write(given.out / "eraser.jsonl", [{**row, "rationale": list(map(int, row["rationale"]))} for row in rows])
    if given.pairs:
        _write(given.out / "pairs.jsonl", _pairs(read_rows(given.pairs, ("pair_id", "text", "is_original"))))
    if given.train:
        parts = sorted(given.pairs.parent.glob(f"*{given.pairs.suffix}"))
        originals = {
            _letters(row["text"])
            for part in parts
            for row in read_rows(part, ("text", "is_original"))
            if row["is_original"]
        }
        rows = read_rows(given.train, ("text", "label"))
        names = ("negative", "positive")
        unseen = [row for row in rows if _letters(row["text"]) not in originals]
        _write(given.out / "train.jsonl", [{"text": row["text"], "label": names[int(row["label"])]} for row in unseen])
    return 0


def _letters(text: str) -> str:
    """The beginning of a text without what editors change: case, white space, punctuation, line breaks as tags."""
    return re.sub(r"\W+", "", re.sub(r"<br\s*/?>", " ", text).lower())[:200]


def _drawn(rows: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    chosen = np.random.default_rng(0).permutation(len(rows))[:count]
    return [rows[i] for i in sorted(chosen.tolist())]


def _pairs(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each original beside its edited form; line breaks as white space."""
    sides: dict[Any, dict[bool, str]] = {}
    for row in rows:
        text = re.sub(r"<br\s*/?>", " ", row["text"])
        sides.setdefault(row["pair_id"], {})[bool(row["is_original"])] = text
    whole = {name: own for name, own in sides.items() if len(own) == 2 and own[True] != own[False]}
    return [{"id": str(name), "text": own[True], "edited": own[False]} for name, own in whole.items()]


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    print(f"{path}: {len(rows)} texts")


# ── evaluations ───────────────────────────────────────────────────────────────────────────────────────────────────────


def evaluate(given: argparse.Namespace) -> int:
    failed = 0
    for name, arguments in _asked(given).items():
        if given.only is not None and name not in given.only.split(","):
            continue
        started = time.perf_counter()
        print(f"── {name}", flush=True)
        command = [sys.executable, "-m", "limelight.evaluation", *map(str, arguments), "--out", str(given.out / name)]
        failed += subprocess.run([*command, "--id-column", "id"], check=False).returncode != 0
        print(f"── {name}: {time.perf_counter() - started:.0f} s", flush=True)
    return int(failed > 0)


def _asked(given: argparse.Namespace) -> dict[str, list[object]]:
    """The evaluations whose models and texts are there."""
    texts, count = given.texts, ["--documents", given.documents]
    asked: dict[str, list[object]] = {}
    if given.transformer:
        model = ["--model", given.transformer, "--device", given.device, "--truncate"]
        six = ["--method", "lime,shapley,leave-one-out,integrated-gradients,gxi,alpha-avg"]
        steps = ["--steps", given.steps] if given.steps else []
        asked["transformer"] = [texts / "imdb.jsonl", *model, *six, *count, "--limits", "found", *steps]
        asked["transformer-all"] = [texts / "imdb-short.jsonl", *model, "--method", "all", "--documents", 40]
        asked["transformer-all"] += ["--measures", "all", "--limits", "search", "--samples", 1000]
        asked["transformer-eraser"] = [texts / "eraser.jsonl", *model, *six, "--documents", 100, "--steps", 20]
        asked["transformer-eraser"] += ["--rationale-column", "rationale", "--limits", "found", "--samples", 1000]
        asked["transformer-pairs"] = [texts / "pairs.jsonl", *model, *six, "--documents", 100, "--steps", 20]
        asked["transformer-pairs"] += ["--counterfactual-column", "edited", "--limits", "found", "--samples", 1000]
    ours = {"embedded": None, "paper": given.paper, "deep": given.deep, "unseen": given.unseen}
    for name, folder in ours.items():
        if name != "embedded" and folder is None:
            continue
        model = [] if folder is None else ["--model", folder]
        asked[name] = [texts / "imdb.jsonl", *model, *count]
        asked[name] += ["--method", "all"] if name != "deep" else ["--limits", "found", "--steps", 50]
        if (texts / "pairs.jsonl").exists():
            asked[f"{name}-pairs"] = [texts / "pairs.jsonl", *model, "--documents", 100, "--limits", "found"]
            asked[f"{name}-pairs"] += ["--counterfactual-column", "edited", "--steps", 20]
        if (texts / "eraser.jsonl").exists():
            asked[f"{name}-eraser"] = [texts / "eraser.jsonl", *model, "--documents", 100, "--limits", "found"]
            asked[f"{name}-eraser"] += ["--rationale-column", "rationale", "--steps", 20]
    return asked


if __name__ == "__main__":
    sys.exit(main())
