"""Record what a Hugging Face classifier answers to the samples of LIME and Shapley values, for minilm_estimators.py.

    python benchmarks/collect_games.py imdb/test.parquet MODEL --save-texts texts.jsonl
    python benchmarks/collect_games.py texts.jsonl MODEL --out games --device cuda

The first command chooses reviews by a seed, among those that the model reads whole: 50 at full length for the coverage
of intervals, and 10 each cut to 60 and to 150 words for errors. The second asks: of each long review 20 runs and one
more of 5,000 samples of each method; of each short one 10 runs of up to 4,000 samples of four estimators and a
reference of 100,000 samples of each method. Two cores have time for less:

    python benchmarks/collect_games.py texts.jsonl MODEL --out games --dtype bfloat16 --threads 1 --parts errors-60 \
        --error-seeds 3 --error-samples 2000 --reference 0

Without a reference runs are judged by each other. It needs torch, transformers and NumPy, goes on where it stopped, and
ends with a whole review when `--seconds` have passed. With `--questions` it answers what estimator_peers.py wrote.
Outputs are logits of label 1 less label 0, masking, each occurrence a word, in `--dtype` (float16 on a GPU).
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import limelight
from limelight.errors import InputError
from limelight.inputs.features import features_of
from limelight.storage.labelled_texts import read_texts
from recorded_games import ESTIMATORS, LATER_SEED, Review, Run, digest, read, stored, write

COVERAGE_SAMPLES = (500, 1000, 5000)
ERROR_SAMPLES = 4000
"""Of a run. Estimates are made of its beginnings, of which minilm_estimators.py has the sizes."""
REVIEWS_IN_A_FILE = 10
ROWS_AT_ONCE = 2**16


def coverage_runs(seeds: int) -> list[Run]:
    return [
        Run(kind, seed, max(COVERAGE_SAMPLES)) for kind in ("lime", "pairs") for seed in (*range(seeds), LATER_SEED)
    ]


def error_runs(seeds: int, n: int, reference: int) -> list[Run]:
    later = [Run(kind, LATER_SEED, reference) for kind in ("lime", "pairs") if reference]
    return later + [Run(kind, seed, n) for seed in range(seeds) for kind in ESTIMATORS]


def choose(model: Any, path: str, long: int, short: int, seed: int) -> list[dict[str, Any]]:
    """Rows of a table at random: whole texts, then others that are cut after 60 and after 150 words."""
    texts = read_texts(path, "text").texts
    wanted = [("coverage", None, long), ("errors-60", 60, short), ("errors-150", 150, short)]
    order, chosen = iter(np.random.default_rng(seed).permutation(len(texts)).tolist()), []
    for part, words, count in wanted:
        found = 0
        while found < count:
            row = next(order)
            text = texts[row].replace("<br />", " ")
            try:
                view = model.view(text)
            except InputError:
                continue  # longer than the model reads
            spans = view.document.words
            if words is not None and len(spans) <= words:
                continue
            text = text if words is None else text[: spans[words - 1].end]
            chosen.append({"part": part, "row": row, "text": text})
            found += 1
    return chosen


class Clock:
    """Says how fast it goes, and when to stop."""

    def __init__(self, seconds: float) -> None:
        self._started, self._seconds, self._asked = time.perf_counter(), seconds, 0

    @property
    def passed(self) -> float:
        return time.perf_counter() - self._started

    @property
    def is_over(self) -> bool:
        return self.passed > self._seconds

    def add(self, rows: int, what: str, left: int) -> None:
        self._asked += rows
        rate = self._asked / self.passed
        print(f"{what}: {self.passed:.0f} s, {rate:,.0f} a second, about {left * rows / rate:.0f} s left", flush=True)


def record(model: Any, name: str, text: str, runs: list[Run]) -> Review:
    d = len(model.view(text).document.words)
    rows = [run.coalitions(d) for run in runs]
    outputs = np.split(margins(model, text)(np.concatenate(rows)), np.cumsum([len(own) for own in rows])[:-1])
    answers = {run.key: stored(own) for run, own in zip(runs, outputs, strict=True)}
    return Review(name, d, answers, {run.key: digest(kept) for run, kept in zip(runs, rows, strict=True)})


def margins(model: Any, text: str) -> Any:
    """From coalitions of the occurrences of a text to logits of label 1 less label 0."""
    view = model.view(text)
    game = view.game(features_of(view.document, "occurrences"), "mask")

    def ask(kept: Any) -> Any:
        blocks = [game(kept[start : start + ROWS_AT_ONCE]) for start in range(0, len(kept), ROWS_AT_ONCE)]
        logits = np.concatenate(blocks)
        return logits[:, 1] - logits[:, 0]

    return ask


def answer(model: Any, texts: dict[str, str], questions: Path, out: Path) -> None:
    """The outputs of packed coalitions, by the name of a review."""
    found = {}
    with np.load(questions, allow_pickle=False) as packed:
        for name in packed.files:
            d = len(model.view(texts[name]).document.words)
            kept = np.unpackbits(packed[name], axis=1, count=d).astype(bool)
            found[name] = stored(margins(model, texts[name])(kept))
            print(f"{name}: {len(kept):,} coalitions", flush=True)
    np.savez(out, **found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", help="a table of texts to choose from, or what --save-texts wrote")
    parser.add_argument("model")
    parser.add_argument("--save-texts", type=Path, default=None)
    parser.add_argument("--out", type=Path, default=Path("games"))
    parser.add_argument("--parts", default="errors-60,errors-150,coverage")
    parser.add_argument("--long", type=int, default=50, help="reviews at full length")
    parser.add_argument("--short", type=int, default=10, help="reviews cut to 60 words, and as many cut to 150")
    parser.add_argument("--coverage-seeds", type=int, default=20)
    parser.add_argument("--error-seeds", type=int, default=10)
    parser.add_argument("--error-samples", type=int, default=ERROR_SAMPLES)
    parser.add_argument("--reference", type=int, default=100_000, help="samples of a longer run, or 0 for none")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default=None)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--questions", type=Path, default=None, help="coalitions that estimator_peers.py asks about")
    parser.add_argument("--answers", type=Path, default=Path("answers.npz"), help="where its answers go")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=13, help="of the choice of texts")
    given = parser.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    dtype = given.dtype or ("float32" if given.device == "cpu" else "float16")
    model = limelight.load(given.model, device=given.device, dtype=dtype)
    if given.save_texts is not None:
        chosen = choose(model, given.texts, given.long, given.short, given.seed)
        given.save_texts.write_text("".join(json.dumps(own) + "\n" for own in chosen), "utf-8")
        return
    lines = [json.loads(line) for line in Path(given.texts).read_text("utf-8").splitlines()]
    if given.questions is not None:
        answer(model, {f"{line['part']}-{line['row']}": line["text"] for line in lines}, given.questions, given.answers)
        return
    given.out.mkdir(parents=True, exist_ok=True)
    clock = Clock(given.seconds)
    for part in given.parts.split(","):
        texts = [(f"{part}-{line['row']}", line["text"]) for line in lines if line["part"] == part]
        for start in range(0, len(texts), REVIEWS_IN_A_FILE):
            path = given.out / f"{part}-{start // REVIEWS_IN_A_FILE}.npz"
            reviews = read(path) if path.exists() else []
            for i, (name, text) in enumerate(texts[start : start + REVIEWS_IN_A_FILE], start=start):
                if any(review.name == name for review in reviews):
                    continue
                if clock.is_over:
                    raise SystemExit(f"{clock.passed:.0f} s have passed: run it again to go on")
                d = len(model.view(text).document.words)
                if part == "coverage":
                    runs = coverage_runs(given.coverage_seeds)
                else:
                    runs = error_runs(given.error_seeds, given.error_samples, given.reference)
                reviews.append(record(model, name, text, runs))
                write(path, reviews)
                rows = sum(map(len, reviews[-1].outputs.values()))
                clock.add(rows, f"{part}, review {i + 1} of {len(texts)}, {d} words", len(texts) - i - 1)


if __name__ == "__main__":
    main()
