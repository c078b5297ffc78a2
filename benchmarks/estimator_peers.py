"""Squared errors of estimators of LIME's weights and Shapley values, ours and others, by the number of outputs asked.

    pip install -c constraints.txt -e ".[dev]" shap==0.51.0 captum==0.9.0 lightshap==0.1.13
    python3.12 -m venv peers && peers/bin/pip install "shapiq[proxy]==1.6.0"
    OMP_NUM_THREADS=1 python benchmarks/estimator_peers.py imdb/test.parquet --shapiq peers/bin/python \\
        --results results.jsonl --figure docs/figures/estimators.svg

Games of the embedded model with 50 to 400 words, whose exact values are known. A transformer's games are asked in three
steps, as its answers come from another machine: coalitions do not depend on answers, so that

    python benchmarks/estimator_peers.py texts.jsonl --games games --questions questions.npz ...
    python benchmarks/collect_games.py texts.jsonl MODEL --questions questions.npz --answers answers.npz --device cuda
    python benchmarks/estimator_peers.py texts.jsonl --games games --questions questions.npz --answers answers.npz ...

writes what contestants ask and recorded games do not hold, answers it, and lets them run on the answers. texts.jsonl
and games are collect_games.py's; the truth is that of the runs there that no contestant has (pooled_references.py).

Errors are |weights - truth|² / |truth|², the mean over texts and seeds. Results are kept in a file, and a run goes on
where it stopped. A contestant that fails, or is slower than `--patience`, is left out of larger budgets.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import limelight
from estimator_contestants import Contestant, Shapiq, contestants
from limelight.inputs.features import features_of
from limelight.storage.labelled_texts import read_texts
from official import machine
from pooled_references import LimeReference, ShapleyReference, mean_of_runs
from recorded_games import ESTIMATORS, LATER_SEED, STEP, Answers, Review, read_all

PER_WORD = (5, 10, 20, 50)
SIZES = {50: (4, 2), 100: (4, 2), 200: (3, 1), 400: (2, 1)}
"""Words: how many texts, and how many seeds each."""
STYLES: dict[str, dict[str, Any]] = {
    "limelight, efficient": {"color": "#b3261e", "marker": "o", "lw": 2.4},
    "limelight, official": {"color": "#e0857f", "marker": "o", "lw": 1.8},
    "limelight, auto": {"color": "#b3261e", "marker": "o", "lw": 2.4},
    "limelight, pairs": {"color": "#f2a6a1", "marker": "s", "ms": 4, "lw": 1.6, "ls": "--"},
    "limelight, permutations": {"color": "#7a1812", "marker": "s", "ms": 4, "lw": 1.6, "ls": "--"},
    "shapiq OddSHAP": {"color": "black", "marker": "D", "ms": 4, "lw": 1.8},
}
FEWEST_TEXTS = 8
"""From which an interval over texts is given."""
ON_TRANSFORMER = {"errors-60": (10, 1), "errors-150": (10, 1)}


@dataclass
class Game:
    """One text: `ask` answers coalitions; `truth` the method and the number of samples, with its standard errors."""

    group: str
    name: str
    d: int
    ask: Any
    truth: Any
    seeds: int


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


# ── games ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def attention_games(path: str, sizes: list[int], seed: int) -> Iterator[Game]:
    model = limelight.load()
    texts = read_texts(path, "text").texts
    order = iter(np.random.default_rng(seed).permutation(len(texts)).tolist())
    for d in sizes:
        count, seeds = SIZES[d]
        while count:
            row = next(order)
            words = model.view(texts[row]).document.words
            if len(words) < d:
                continue
            count -= 1
            text = texts[row][: words[d - 1].end]
            view = model.view(text)
            ratio = view.ratio_game(features_of(view.document, "occurrences")).along(np.array([-1.0, 1.0]))
            yield Game(
                f"{d} words", f"attention-{d}-{row}", d, lambda kept, ratio=ratio: ratio.evaluate(kept)[:, 0],
                lambda method, n, text=text: (exact(model, text, method, n), 0.0), seeds,
            )  # fmt: skip


def exact(model: Any, text: str, method: str, n: int) -> Any:
    options: dict[str, Any] = {"n_samples": n} if method == "lime" else {}
    name = "lime-limit" if method == "lime" else method
    target = (model.labels[1], model.labels[0])
    return limelight.explain(model, text, name, target=target, features="occurrences", **options).weights


def asking_games(folder: Path, parts: list[str], asked: dict[str, set[bytes]]) -> Iterator[Game]:
    """Games that answer anything, and remember what they were asked."""
    rng = np.random.default_rng(0)
    for part in parts:
        count, seeds = ON_TRANSFORMER[part]
        for review in islice(read_all(folder, part), count):
            d, ask = review.d, Asking(rng.normal(size=review.d) / 10.0, asked.setdefault(review.name, set()))
            yield Game(f"MiniLM, {d} words", review.name, d, ask, lambda method, n, d=d: (np.ones(d), 0.0), seeds)
            asked[review.name] -= set(held(review, seeds))


def held(review: Review, seeds: int) -> dict[bytes, float]:
    """What recorded runs with the seeds of contestants hold."""
    return review.held(run for kind in ESTIMATORS for run in review.runs(kind) if run.seed < seeds)


class Asking:
    """Answers with a bent line, and notes down what it was asked."""

    def __init__(self, slopes: Any, rows: set[bytes]) -> None:
        self._slopes, self._rows = slopes, rows

    def __call__(self, kept: Any) -> Any:
        self._rows.update(map(bytes, np.packbits(kept, axis=1)))
        return np.tanh(kept @ self._slopes)


class Transformer:
    """A review of which references and the answers to questions are known."""

    def __init__(self, review: Review, answers: Answers, seeds: int) -> None:
        self._review, self.name, self.d, self.ask, self.seeds = review, review.name, review.d, answers, seeds
        self._known: dict[int, tuple[Any, float]] = {}
        self.group = f"MiniLM, {review.d} words"

    def truth(self, method: str, n: int) -> tuple[Any, float]:
        """The reference, and its expected squared error."""
        if method == "shapley":
            return self._shapley
        if n not in self._known:
            self._known[n] = self._judged(LimeReference(self._review, *self._runs("lime"), n, 1.0))
        return self._known[n]

    @cached_property
    def _shapley(self) -> tuple[Any, float]:
        runs, apart = self._runs("pairs")
        if any(run.seed == LATER_SEED for run in runs):
            return self._judged(ShapleyReference(self._review, runs, apart))
        others = [run for run in self._review.runs("permutations") if run.seed >= self.seeds]
        values, stderr = mean_of_runs(self._review, [apart, *runs, *others])
        return values, float((stderr**2).sum())

    def _runs(self, kind: str) -> tuple[Any, Any]:
        """Runs of seeds that no contestant has, and one more for the guess."""
        runs = [run for run in self._review.runs(kind) if run.seed >= self.seeds]
        (apart,) = (run for run in runs if run.seed == self.seeds)
        return [run for run in runs if run.seed != self.seeds], apart

    def _judged(self, reference: Any) -> tuple[Any, float]:
        values, stderr = reference.without(None)
        return values, float((stderr**2).sum())


def transformer_games(folder: Path, parts: list[str], questions: Path, answers: Path) -> Iterator[Any]:
    with np.load(answers, allow_pickle=False) as outputs, np.load(questions, allow_pickle=False) as packed:
        for part in parts:
            count, seeds = ON_TRANSFORMER[part]
            for review in islice((own for own in read_all(folder, part) if own.name in outputs.files), count):
                told = dict(zip(map(bytes, packed[review.name]), (outputs[review.name] * STEP).tolist(), strict=True))
                yield Transformer(review, Answers({**told, **held(review, seeds)}), seeds)


# ── running ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class Results:
    """Lines of a file: what was measured of a contestant on a game."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
        self._done = {self._key(row) for row in self.rows}

    @staticmethod
    def _key(row: dict[str, Any]) -> tuple[Any, ...]:
        return row["game"], row["name"], row["method"], row["per_word"], row["seed"]

    def has(self, **key: Any) -> bool:
        return self._key(key) in self._done

    def add(self, row: dict[str, Any]) -> None:
        self.rows.append(row)
        self._done.add(self._key(row))
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def measure(game: Any, contestant: Contestant, per_word: int, seed: int) -> dict[str, Any]:
    count, started = 0, time.perf_counter()

    def ask(kept: Any) -> Any:
        nonlocal count
        count += len(kept)
        return game.ask(np.asarray(kept, dtype=bool))

    row = {"game": game.name, "group": game.group, "d": game.d, "name": contestant.name, "method": contestant.method,
           "per_word": per_word, "seed": seed, "is_ours": contestant.is_ours}  # fmt: skip
    try:
        weights = np.asarray(contestant.estimate(ask, game.d, per_word * game.d, seed))
        truth, own = game.truth(contestant.method, per_word * game.d)
        error = (float(((weights - truth) ** 2).sum()) - own) / float((truth**2).sum())
        row |= {"error": error, "asked": count / game.d}
    except Exception as failure:  # a peer may fail in any way, and must not end the run
        row["failure"] = f"{type(failure).__name__}: {(str(failure).splitlines() or [''])[0][:150]}"
    return row | {"seconds": time.perf_counter() - started}


def run(games: Iterator[Any], field: list[Contestant], results: Results, patience: float, most: int) -> None:
    slow: dict[str, int] = {}
    trial = Game("trial", "trial", 12, Asking(np.ones(12), set()), lambda method, n: (np.ones(12), 0.0), 1)
    for contestant in field:  # a first call pays for imports and compilers
        measure(trial, contestant, 20, 0)
    for game in games:
        for contestant in field:
            for per_word in [own for own in PER_WORD if own <= most]:
                for seed in range(game.seeds):
                    key = {"game": game.name, "name": contestant.name, "method": contestant.method}
                    if results.has(**key, per_word=per_word, seed=seed):
                        continue
                    if per_word * game.d >= slow.get(contestant.name, 10**9):
                        continue
                    row = measure(game, contestant, per_word, seed)
                    results.add(row)
                    if "failure" in row or row["seconds"] > patience:
                        slow[contestant.name] = per_word * game.d
                        say(f"{contestant.name}: {row.get('failure', 'slow')}, {per_word} × {game.d}")
        say(f"{game.group}: {game.name}")


# ── showing ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def cells(rows: list[dict[str, Any]], games: int) -> tuple[str, float | None]:
    """A mean error with its standard error over texts; and how many outputs per word were asked for."""
    found: dict[str, list[float]] = {}
    for row in rows:
        if "error" in row:
            found.setdefault(row["game"], []).append(row["error"])
    if not found:
        return "–", None
    means = np.array([np.mean(own) for own in found.values()])
    spread = means.std(ddof=1) / np.sqrt(len(means)) if len(means) > 1 else float("nan")
    note = "" if len(found) == games else f" ({len(found)} texts)"
    return f"{means.mean():.2g} ± {spread:.1g}{note}", float(np.mean([row["asked"] for row in rows if "asked" in row]))


def print_tables(rows: list[dict[str, Any]]) -> None:
    groups = list(dict.fromkeys(row["group"] for row in rows))
    for method, title in (("lime", "LIME"), ("shapley", "Shapley values")):
        for group in groups:
            own = [row for row in rows if row["method"] == method and row["group"] == group]
            games = len({row["game"] for row in own})
            print(f"\n{title}, {group} ({games} texts):\n")
            print(f"| outputs asked for per word | {' | '.join(map(str, PER_WORD))} | asked |")
            print("|---" * (len(PER_WORD) + 2) + "|")
            for name in dict.fromkeys(row["name"] for row in own):
                found = [cells([r for r in own if r["name"] == name and r["per_word"] == p], games) for p in PER_WORD]
                asked = ", ".join("–" if a is None else f"{a:.3g}" for _, a in found)
                print(f"| {name} | {' | '.join(text for text, _ in found)} | {asked} |")
    failures = {(row["name"], row["failure"].split(":")[0]): row for row in rows if "failure" in row}
    for row in failures.values():
        print(f"\n{row['name']}, {row['per_word']} per word of {row['d']}: {row['failure']}", end="")
    print()


def print_summary(rows: list[dict[str, Any]]) -> None:
    """All of it in thousandths, in one table for each method."""
    groups = list(dict.fromkeys(row["group"] for row in rows))
    for method, title in (("lime", "LIME"), ("shapley", "Shapley values")):
        budgets = " / ".join(map(str, PER_WORD))
        print(f"\n| {title}, {budgets} per word | {' | '.join(groups)} |\n" + "|---" * (len(groups) + 1) + "|")
        for name in dict.fromkeys(row["name"] for row in rows if row["method"] == method):
            found = []
            for group in groups:
                own = [
                    r for r in rows if (r["method"], r["name"], r["group"]) == (method, name, group) and "error" in r
                ]
                by_budget = [[1e3 * r["error"] for r in own if r["per_word"] == p] for p in PER_WORD]
                found.append(" / ".join(thousandths(errors) for errors in by_budget))
            print(f"| {name} | {' | '.join(found)} |")


def thousandths(errors: list[float]) -> str:
    if not errors:
        return "–"
    mean = float(np.mean(errors))
    return f"{mean:.0f}" if mean >= 10.0 else f"{mean:.2g}"


def print_against(rows: list[dict[str, Any]], other: str = "shapiq OddSHAP") -> None:
    """Ours against the best published; our permutations are four pairs at least, which may be more than budgeted."""
    own = [row for row in rows if row["method"] == "shapley" and "error" in row]
    print(f"\nSquared error of Shapley values as a part of that of {other}; 95 % of resampled texts where there are")
    print("enough of them, and in brackets those of single texts:\n")
    print(f"| | | {' | '.join(f'{p} per word' for p in PER_WORD)} |\n" + "|---" * (len(PER_WORD) + 2) + "|")
    for group in dict.fromkeys(row["group"] for row in own):
        for ours in ("limelight, auto", "limelight, pairs"):
            parts = []
            for per_word in PER_WORD:
                here = [row for row in own if row["group"] == group and row["per_word"] == per_word]
                a, b = (_errors_by_text(here, name) for name in (ours, other))
                both = sorted(a.keys() & b.keys())
                if not both:
                    parts.append("–")
                    continue
                ratios = [a[text] / b[text] for text in both]
                asked = float(np.mean([row["asked"] for row in here if row["name"] == ours]))
                whole = sum(a[text] for text in both) / sum(b[text] for text in both)
                note = f", {asked:.1f} asked" if asked > 1.1 * per_word else ""
                below = sum(ratio < 1.0 for ratio in ratios)
                sure = _resampled([a[text] for text in both], [b[text] for text in both])
                parts.append(f"{whole:.2f}{sure} ({min(ratios):.2f}–{max(ratios):.2f}, {below} below 1{note})")
            print(f"| {group} | {ours} | {' | '.join(parts)} |")


def _resampled(ours: list[float], theirs: list[float]) -> str:
    """The 95 % interval of a ratio of sums by resampled texts, where there are enough of them."""
    if len(ours) < FEWEST_TEXTS:
        return ""
    drawn = np.random.default_rng(0).integers(0, len(ours), (4000, len(ours)))
    ratios = np.array(ours)[drawn].sum(axis=1) / np.array(theirs)[drawn].sum(axis=1)
    return " [{:.2f}, {:.2f}]".format(*np.quantile(ratios, [0.025, 0.975]))


def _errors_by_text(rows: list[dict[str, Any]], name: str) -> dict[str, float]:
    games = {row["game"] for row in rows if row["name"] == name}
    return {g: float(np.mean([r["error"] for r in rows if r["name"] == name and r["game"] == g])) for g in games}


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "limelight"
    from matplotlib import pyplot as plt

    groups = list(dict.fromkeys(row["group"] for row in rows))
    names = {m: list(dict.fromkeys(r["name"] for r in rows if r["method"] == m)) for m in ("lime", "shapley")}
    figure, axes = plt.subplots(2, len(groups), figsize=(3.2 * len(groups) + 2.6, 7.5), sharey="row", squeeze=False)
    for i, (method, own_names) in enumerate(names.items()):
        for axis, group in zip(axes[i], groups, strict=True):
            for k, name in enumerate(own_names):
                own = [r for r in rows if (r["method"], r["group"], r["name"]) == (method, group, name)]
                own = [r for r in own if "error" in r]
                x = [np.mean([r["asked"] for r in own if r["per_word"] == p]) for p in PER_WORD
                     if any(r["per_word"] == p for r in own)]  # fmt: skip
                y = [np.mean([r["error"] for r in own if r["per_word"] == p]) for p in PER_WORD
                     if any(r["per_word"] == p for r in own)]  # fmt: skip
                style = STYLES.get(name, {"color": plt.colormaps["tab20"](k % 20), "marker": ".", "lw": 1.0})
                axis.plot(x, y, label=name, **style)
            axis.set(xscale="log", yscale="log", title=f"{'LIME' if method == 'lime' else 'Shapley'}, {group}")
            axis.set_xticks(PER_WORD, list(map(str, PER_WORD)))
            axis.minorticks_off()
            axis.grid(alpha=0.25)
        axes[i, 0].set_ylabel("|weights − truth|² / |truth|²")
        axes[i, -1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5), fontsize=7, frameon=False)
    figure.supxlabel("outputs asked for per word", fontsize=10)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="a table of texts; for a transformer, what collect_games.py --save-texts wrote")
    parser.add_argument("--shapiq", default=None, help="a Python that has shapiq")
    parser.add_argument("--results", type=Path, default=Path("results.jsonl"))
    parser.add_argument("--figure", type=Path, default=None)
    parser.add_argument("--words", default="50,100,200,400")
    parser.add_argument("--most", type=int, default=max(PER_WORD), help="the largest budget per word")
    parser.add_argument("--parts", default=",".join(ON_TRANSFORMER), help="of a transformer's texts")
    parser.add_argument("--questions", type=Path, default=None)
    parser.add_argument("--games", type=Path, default=Path("games"), help="the folder that collect_games.py wrote")
    parser.add_argument("--answers", type=Path, default=None, help="what it answered to the questions")
    parser.add_argument("--leave-out", default="", help="contestants, by parts of their names, with commas between")
    parser.add_argument("--patience", type=float, default=30.0, help="seconds for one estimate")
    parser.add_argument("--only-show", action="store_true")
    parser.add_argument("--seed", type=int, default=7, help="of the choice of texts")
    given = parser.parse_args()
    parts = given.parts.split(",")
    warnings.simplefilter("ignore")  # the peers' own, hundreds of them
    shapiq = Shapiq(given.shapiq, 4 * given.patience) if given.shapiq else None
    left_out = [part for part in given.leave_out.split(",") if part]
    field = [own for own in contestants(shapiq) if not any(part in own.name for part in left_out)]
    if given.questions is not None and given.answers is None:
        asked: dict[str, set[bytes]] = {}
        nowhere = Results(Path(f"{given.questions}.jsonl"))
        run(asking_games(given.games, parts, asked), field, nowhere, given.patience, given.most)
        width = {name: len(next(iter(rows))) for name, rows in asked.items()}
        packed = {n: np.frombuffer(b"".join(sorted(r)), np.uint8).reshape(-1, width[n]) for n, r in asked.items()}
        np.savez(given.questions, **packed)
        return
    results = Results(given.results)
    if not given.only_show:
        if given.answers is not None:
            games: Iterator[Any] = transformer_games(given.games, parts, given.questions, given.answers)
        else:
            games = attention_games(given.data, [int(d) for d in given.words.split(",")], given.seed)
        run(games, field, results, given.patience, given.most)
    if shapiq is not None:
        shapiq.close()
    print(machine())
    print_tables(results.rows)
    print_summary(results.rows)
    print_against(results.rows)
    if given.figure is not None:
        draw(results.rows, given.figure)


if __name__ == "__main__":
    main()
