"""How many samples LIME and Shapley values need by default on a transformer, and whether their intervals hold then.

    python benchmarks/default_samples.py record imdb/test.parquet MODEL GAMES [--words 15,30] [--texts 6]
    python benchmarks/default_samples.py show GAMES [--runs 12]
    python benchmarks/default_samples.py score GAMES MODEL

`record` asks the model about reviews that are cut after so many words, as `limelight.load` gives it, and writes
GAMES/*-15-words.npz, …; `stored_games.py` says what such a file holds. `show` draws from them by the seeds of
limelight's own samplers, each coalition of the size that is drawn there, lets the default end each run, and compares it
with 5,000 samples of the same seed. Truth are the references of a file, or what all its samples say together.
Intervals are those of 95 %. `score` takes one run of each text that `record` wrote and asks `evaluate` how much of the
best ranking found the default's weights have, and those of 5,000 samples.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import limelight
from limelight.core.progress import SILENT
from limelight.explainers.sampling import budget
from limelight.explainers.sampling.designs import Sequence
from limelight.explainers.sampling.lime_sampler import LimeSampler
from limelight.explainers.sampling.shapley_samplers import PairedShapley
from limelight.inputs.features import features_of
from limelight.models.interface import STEP
from limelight.storage.labelled_texts import read_texts
from official import machine

SAMPLES, INSIDE = 5000, 1.96
LARGE_SEED = 10**6


# ── recording ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def chosen(model: Any, path: str, words: int, count: int, seed: int) -> list[str]:
    """Beginnings of reviews at random."""
    texts, found = read_texts(path, "text").texts, []
    for row in np.random.default_rng([seed, words]).permutation(len(texts)).tolist():
        text = texts[row].replace("<br />", " ")
        document = model.view(text[: 40 * words]).document
        if len(document.words) > words:
            found.append(text[: document.words[words - 1].end])
        if len(found) == count:
            break
    return found


def record(given: argparse.Namespace) -> None:
    model = limelight.load(given.model)
    for words in map(int, given.words.split(",")):
        arrays: dict[str, Any] = {}
        began = time.perf_counter()
        for i, text in enumerate(chosen(model, given.data, words, given.texts, given.seed)):
            view = model.view(text)
            features = features_of(view.document, "occurrences")
            game, d, asked = view.game(features, "mask"), len(features), []

            def ask(kept: Any, game: Any = game, asked: list[Any] = asked) -> Any:
                logits = np.concatenate([game(kept[k : k + STEP]) for k in range(0, len(kept), STEP)])
                asked.append((kept, logits[:, 1] - logits[:, 0]))
                return logits[:, 1:] - logits[:, :1]

            arrays[f"text_{i}"] = np.frombuffer(text.encode(), dtype=np.uint8)
            lime, pairs = LimeSampler(ask, d, LARGE_SEED, 0.25, 1.0), PairedShapley(ask, d, LARGE_SEED)
            for name, sampler in (("lime", lime), ("pairs", pairs)):
                sampler.extend(given.samples)
                kept, outputs = asked[-1]
                arrays[f"{name}_kept_{i}"], arrays[f"{name}_output_{i}"] = np.packbits(kept, axis=1), outputs
            arrays[f"none_all_{i}"] = np.array([pairs.nothing[0], pairs.everything[0]])
            np.savez(given.games / f"recorded-{words}-words.npz", **arrays)
            print(f"{words} words, text {i}: {time.perf_counter() - began:.0f} s", flush=True)


# ── replaying ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class Replayed:
    """Coalitions of recorded answers, in the sizes that a sampler's own sequence draws."""

    def __init__(self, own: Sequence, kept: Any, rng: np.random.Generator) -> None:
        self._sizes, self._kept = own.sizes, kept
        removed = (~kept).sum(axis=1)
        self._stored = [rng.permutation(np.flatnonzero(removed == size)) for size in range(kept.shape[1] + 1)]
        self._there = [size for size, own in enumerate(self._stored) if len(own)]
        self._order: list[int] = []
        self._next = [0] * len(self._stored)

    def rows(self, start: int, stop: int) -> Any:
        for drawn in self._sizes(len(self._order), max(stop, len(self._order))).tolist():
            size = min(self._there, key=lambda other, drawn=drawn: abs(other - drawn))
            own = self._stored[size]
            self._order.append(int(own[self._next[size] % len(own)]))
            self._next[size] += 1
        return self._kept[self._order[start:stop]]


class Text:
    """Recorded answers about one text."""

    def __init__(self, arrays: Any, i: int, method: str) -> None:
        name, self.d = {"lime": "lime", "shapley": "pairs"}[method], 0
        self.nothing, self.everything = map(float, arrays[f"none_all_{i}"])
        self.d = int(arrays["d"])
        kept = np.unpackbits(arrays[f"{name}_kept_{i}"], axis=1, count=self.d).astype(bool)
        outputs = arrays[f"{name}_output_{i}"].astype(np.float64)
        self._known = dict(zip(map(bytes, np.packbits(kept, axis=1)), outputs.tolist(), strict=True))
        self.method, self._rows = method, len(kept)
        self._kept = kept if method == "lime" else kept[::2]
        known = arrays.get(f"pairs_reference_{i}") if method == "shapley" else None
        self.reference = None if known is None else (known, arrays[f"pairs_reference_stderr_{i}"])

    def _ask(self, kept: Any) -> Any:
        ends = {0: self.nothing, self.d: self.everything}
        said = [
            ends[size] if size in ends else self._known[row]
            for size, row in zip(kept.sum(axis=1).tolist(), map(bytes, np.packbits(kept, axis=1)), strict=True)
        ]
        return np.array(said)[:, None]

    def sampler(self, seed: int) -> Any:
        made: Any = (
            LimeSampler(self._ask, self.d, seed, 0.25, 1.0)
            if self.method == "lime"
            else PairedShapley(self._ask, self.d, seed)
        )
        made._draws = Replayed(made._draws, self._kept, np.random.default_rng([seed, 26]))
        return made

    def truth(self) -> tuple[Any, Any, bool]:
        """Values, their standard errors, and whether these are of other samples than runs are made of."""
        if self.reference is not None:
            return *self.reference, True
        whole = self.sampler(LARGE_SEED)
        whole.extend(self._rows)
        found = whole.estimate()
        return found.values[:, 0], found.stderr[:, 0], False

    def run(self, seed: int) -> tuple[Any, budget.Run]:
        sampler = self.sampler(seed)
        first, usable = (4, 2) if self.method == "lime" else (6, 3)
        ends = budget.Budget.of(None, None, None, view=object())
        run = budget.draw(sampler, ends, step=STEP, usable=usable * self.d, first_check=first * self.d, progress=SILENT)
        return sampler, run


def texts_of(path: Path, method: str) -> list[Text]:
    with np.load(path, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    arrays["d"] = int(path.stem.split("-")[-2])
    return [Text(arrays, i, method) for i in range(sum(name.startswith("none_all_") for name in arrays))]


def judged(estimate: Any, truth: tuple[Any, Any, bool]) -> dict[str, float]:
    values, stderr, (known, own, apart) = estimate.values[:, 0], estimate.stderr[:, 0], truth
    # Samples that truth has too: what is left to chance between the two is the difference of their variances.
    beside = np.sqrt(stderr**2 + own**2 if apart else np.maximum(stderr**2 - own**2, 0.0))
    inside = np.abs(values - known) <= INSIDE * beside + 1e-9 * np.abs(known).max()
    top = np.argsort(-np.abs(values))
    return {
        "covered": float(inside.mean()),
        "strongest": float(inside[top[:10]].mean()),
        "stated": float(stderr.max() / np.abs(values).max()),
    }


def show(given: argparse.Namespace) -> None:
    print(
        f"{machine()}\n\n| words | method | texts | forwards: median, 10 and 90 % | ended | covered | ten strongest |",
        end="",
    )
    print(" largest error stated | of 5,000: covered | ten strongest | largest error stated |\n" + "|---" * 11 + "|")
    for path in sorted(given.games.glob("*-words.npz"), key=lambda own: int(own.stem.split("-")[-2])):
        for method in ("lime", "shapley"):
            texts, spent, ended, short, full = texts_of(path, method), [], Counter[str](), [], []
            for text in texts:
                truth = text.truth()
                for seed in range(given.runs):
                    sampler, run = text.run(seed)
                    short.append(judged(sampler.estimate(), truth))
                    spent.append(run.n)
                    state, found = run._state(0)
                    ended["precise" if state == "settled" and found is None else state] += 1
                    sampler.extend(SAMPLES)
                    full.append(judged(sampler.estimate(), truth))
            mean = [{key: float(np.mean([one[key] for one in own])) for key in own[0]} for own in (short, full)]
            low, middle, high = np.quantile(spent, [0.1, 0.5, 0.9])
            said = ", ".join(f"{name} {count / len(spent):.0%}" for name, count in ended.most_common())
            cells = [f"{m['covered']:.1%} | {m['strongest']:.1%} | {m['stated']:.3f}" for m in mean]
            words = path.stem.split("-")[-2]
            line = f"| {words} | {method} | {len(texts)} | {middle:,.0f} ({low:,.0f}, {high:,.0f}) | {said} | "
            print((line + " | ".join(cells) + " |").replace("%", " %"), flush=True)


# ── what the weights are worth ────────────────────────────────────────────────────────────────────────────────────────


def score(given: argparse.Namespace) -> None:
    model, texts = limelight.load(given.model), []
    beside: dict[str, list[Any]] = {}
    for path in sorted(given.games.glob("recorded-*-words.npz")):
        with np.load(path, allow_pickle=False) as stored:
            written = [stored[name].tobytes().decode() for name in stored.files if name.startswith("text_")]
        texts += written
        for method in ("lime", "shapley"):
            for own, text in zip(texts_of(path, method), written, strict=True):
                words = model.view(text).document.words
                sampler, _ = own.run(given.seed)
                for name in (f"{method}, default", f"{method}, {SAMPLES:,}"):
                    values = sampler.estimate().values[:, 0] * (1.0 if own.everything > 0.0 else -1.0)
                    weighted = [((word.start, word.end), float(v)) for word, v in zip(words, values, strict=True)]
                    beside.setdefault(name, []).append(weighted)
                    sampler.extend(SAMPLES)
    found = limelight.evaluate(
        model, texts, ["leave-one-out"], elsewhere=beside, measures=["comprehensiveness"], limits="found",
        features="occurrences", output="log-odds",
    )  # fmt: skip
    print(f"{machine()}; {len(texts)} texts\n\n| removal | {' | '.join(beside)} |\n|---{'|---' * len(beside)}|")
    for removal in ("mask", "delete"):
        place = {"measure": "comprehensiveness against chance", "part": "signed table", "removal": removal}
        own = {row["method"]: row["value"] for row in found.summary.rows() if place.items() <= row.items()}
        print(f"| {removal} | " + " | ".join(f"{own[name]:.3f}" for name in beside) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    doing = parser.add_subparsers(dest="doing", required=True)
    recording = doing.add_parser("record")
    recording.add_argument("data")
    recording.add_argument("model")
    recording.add_argument("games", type=Path)
    recording.add_argument("--words", default="15,30")
    recording.add_argument("--texts", type=int, default=6)
    recording.add_argument("--samples", type=int, default=8000, help="of each method and text")
    recording.add_argument("--seed", type=int, default=26, help="of the choice of texts")
    showing = doing.add_parser("show")
    showing.add_argument("games", type=Path)
    showing.add_argument("--runs", type=int, default=12)
    scoring = doing.add_parser("score")
    scoring.add_argument("games", type=Path)
    scoring.add_argument("model")
    scoring.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore", limelight.errors.ExplanationWarning)
    {"record": record, "show": show, "score": score}[given.doing](given)


if __name__ == "__main__":
    main()
