"""Explaining a Hugging Face classifier: limelight against its peers, in seconds and in error, in one run.

    pip install -c constraints.txt -e ".[dev]" shap==0.51.0 captum==0.9.0
    pip install -c constraints.txt datasets seaborn opencv-python-headless pytreebank
    pip install --no-deps transformers-interpret==0.10.0 ferret-xai==0.4.1
    python benchmarks/transformer_peers.py minilm-imdb imdb/test.parquet --cache references.npz

Same model, same texts, same number of samples. What each should have found is computed with many more samples, which is
slow on a CPU: `--save-texts texts.jsonl` writes the chosen texts and stops, and

    python benchmarks/transformer_peers.py minilm-imdb texts.jsonl --only-reference --device cuda --cache references.npz

fills the cache on another machine, where no peer need be installed. The first command, with texts.jsonl in the place of
the data, then uses it. References are sampled in `--reference-dtype`: what half precision changes (half_precision.py)
is far below what 200,000 samples leave, which is printed in the end. A peer that is missing or fails becomes a row that
says why.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.metadata
import json
import statistics
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import limelight
from limelight.core.progress import SILENT, Progress
from limelight.errors import InputError
from limelight.models.interface import Game
from limelight.storage.labelled_texts import read_labelled
from official import machine
from peers import LIME, PATH, PEERS, SHAPLEY, Case, Floats, Peer, Reference, substitute, without_words
from transformer import TARGET, arguments_of, device_name, say

FAMILIES = {"lime": "LIME", "shapley": "Shapley values", "integrated-gradients": "Integrated gradients"}
PACKAGES = ("limelight", "torch", "transformers", "lime", "captum", "shap", "ferret-xai", "transformers-interpret")
REFERENCE_SEED = 1
"""Not the one of what is measured."""
REFERENCE_STEPS = 512
"""Of integrated gradients: Gauss-Legendre quadrature has converged to float32 long before."""
BATCHES = {"cpu": (2, 4, 8, 16, 32, 64), "cuda": (32, 128, 512)}
TRIAL_SAMPLES = 64
"""For the search of batch sizes and for warming up."""


@dataclass(frozen=True)
class Ours:
    """One way of asking limelight."""

    name: str
    reference: Reference
    options: dict[str, Any] = field(default_factory=dict)
    remarks: str = ""
    batching = None
    scaled = False

    def explain(self, case: Case, batch: int) -> tuple[Floats, Floats | None]:
        options: dict[str, Any] = {"removal": self.reference.removal, "n_samples": case.samples}
        if self.reference.method == "integrated-gradients":
            options = {"steps": case.steps, **self.options}
        found = ask(case.model, case.text, self.reference, seed=case.seed, **options)
        return found.weights, found.stderr


OURS = (
    Ours("limelight lime", LIME),
    Ours("limelight lime, deleting", replace(LIME, removal="delete")),
    Ours("limelight shapley", SHAPLEY, remarks="pairs of orders, at least four"),
    Ours("limelight integrated-gradients", PATH),
    Ours(
        "limelight integrated-gradients, default", PATH, {"steps": None}, "as many steps as completeness to 1e-3 asks"
    ),
)
Contestant = Ours | Peer


def ask(model: Any, text: str, reference: Reference, **options: Any) -> limelight.Explanation:
    return limelight.explain(
        model,
        text,
        reference.method,
        target=model.labels[TARGET],
        features="occurrences",
        output=reference.output,
        **options,
    )


# ── texts ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def choose_texts(model: Any, path: str, n: int, words: int, seed: int) -> list[str]:
    """n texts at random of those with so many words at most; all of a file that has no more than n, in its order."""
    if path.endswith(".jsonl"):
        texts = [json.loads(line)["text"] for line in Path(path).read_text("utf-8").split("\n") if line.strip()]
    else:
        texts = list(read_labelled(path).texts)
    order = range(len(texts)) if len(texts) <= n else np.random.default_rng(seed).permutation(len(texts))
    chosen: list[str] = []
    for i in order:
        if len(chosen) < n and same_for_all(model, texts[i], words):
            chosen.append(texts[i])
    if not chosen:
        raise SystemExit(f"{path} has no text of up to {words} words that this model reads whole")
    return chosen


def same_for_all(model: Any, text: str, words: int) -> bool:
    """Whether strings with masked or deleted words are tokenised to what masking or deleting tokens gives."""
    try:
        view = model.view(text)
    except InputError:
        return False
    document, (window,), d = view.document, view.windows, len(view.document.words)
    if d > words or sorted(set(window.positions)) != list(window.positions) or len(set(window.words)) < d:
        return False
    rng = np.random.default_rng(0)
    _, first = np.unique(window.words, return_index=True)
    for share in (0.2, 0.5, 0.8):
        kept = rng.random(d) < share
        gone = window.positions[~kept[window.words]]
        masked = window.ids.copy()
        masked[gone] = model.tokenizer.mask_token_id
        masked = np.delete(masked, np.setdiff1d(gone, window.positions[first]))
        for removal, ids in (("mask", masked), ("delete", np.delete(window.ids, gone))):
            string = without_words(document, kept, substitute(model, removal))
            if model.tokenizer(string)["input_ids"] != ids.tolist():
                return False
    return True


# ── references ────────────────────────────────────────────────────────────────────────────────────────────────────────


class References:
    """Weights and their standard errors (2, d), kept in a file by what they depend on."""

    def __init__(self, model: Any, arguments: argparse.Namespace) -> None:
        self._model, self._samples = model, arguments.reference
        self._file = None if arguments.cache is None else Path(arguments.cache)
        self._load = partial(limelight.load, arguments.model, device=arguments.device, dtype=arguments.reference_dtype)
        self._dtypes = {True: arguments.reference_dtype, False: arguments.dtype}
        self._weights = hashlib.sha256(Path(arguments.model, "model.safetensors").read_bytes()).hexdigest()[:16]
        self._known: dict[str, Floats] = {}
        if self._file is not None and self._file.exists():
            with np.load(self._file, allow_pickle=False) as found:
                self._known = dict(found)

    def compute(self, text: str, wanted: Sequence[Reference]) -> None:
        """What of these is not known yet; the file is written after each text."""
        missing = [reference for reference in wanted if self._key(text, reference) not in self._known]
        if not missing:
            return
        sampled = self._load() if any(_is_sampled(reference) for reference in missing) else self._model
        with remembered_logits(sampled):
            for reference in missing:
                started = time.perf_counter()
                model = sampled if _is_sampled(reference) else self._model
                self._known[self._key(text, reference)] = self._explained(model, text, reference)
                say(f"  reference {_words(reference)}: {time.perf_counter() - started:.1f} s")
        if self._file is not None:
            new = self._file.with_name(self._file.name + ".new.npz")
            np.savez(new, **self._known)
            new.replace(self._file)

    def __call__(self, text: str, reference: Reference) -> Floats:
        return self._known[self._key(text, reference)]

    def _explained(self, model: Any, text: str, reference: Reference) -> Floats:
        options: dict[str, Any] = {"baseline": reference.removal, "steps": REFERENCE_STEPS}
        if _is_sampled(reference):
            options = {"removal": reference.removal, "n_samples": self._samples, "seed": REFERENCE_SEED}
        found = ask(model, text, reference, **options)
        return np.stack([found.weights, np.zeros_like(found.weights) if found.stderr is None else found.stderr])

    def _key(self, text: str, reference: Reference) -> str:
        sampled = _is_sampled(reference)
        n = self._samples if sampled else REFERENCE_STEPS
        of_text = hashlib.sha256(text.encode()).hexdigest()[:16]
        parts = (of_text, self._weights, self._dtypes[sampled], *astuple(reference), str(n))
        return "-".join(parts)


def _is_sampled(reference: Reference) -> bool:
    return reference.method != "integrated-gradients"


def _words(reference: Reference) -> str:
    return f"{reference.method} ({reference.removal}, {reference.output})"


@contextlib.contextmanager
def remembered_logits(model: Any) -> Iterator[None]:
    """Inside, what is asked twice is computed once: the logit and the probability of a text share their samples."""
    view_of, memory = model.view, {}

    def remembering(text: str) -> Any:
        view = view_of(text)
        game_of = view.game

        def game(features: Any, removal: Any, progress: Progress = SILENT) -> Game:
            return RememberingGame(game_of(features, removal, progress), removal, memory)

        view.game = game
        return view

    model.view = remembering
    try:
        yield
    finally:
        del model.view


class RememberingGame:
    """A game of one text whose answers are kept in `memory`."""

    def __init__(self, game: Game, removal: str, memory: dict[tuple[str, bytes], Floats]) -> None:
        self._game, self._removal, self._memory = game, removal, memory

    @property
    def asked(self) -> int:
        return self._game.asked

    def __call__(self, kept: Any) -> Floats:
        key = (self._removal, hashlib.sha256(np.packbits(kept)).digest())
        if key not in self._memory:
            self._memory[key] = self._game(kept)
        return self._memory[key]


# ── measuring ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Row:
    """What was measured of one contestant, a number for each text."""

    contestant: Contestant
    batch: int = 1
    failure: str = ""
    seconds: list[float] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    stated: list[float] = field(default_factory=list)
    spearman: list[float] = field(default_factory=list)

    def run(self, case: Case) -> tuple[Floats, Floats | None] | None:
        """The weights, with the time and the inputs that they took; None, and why, where the contestant fails."""
        try:
            with counted_inputs(case.model.model) as count:
                started = time.perf_counter()
                found = self.contestant.explain(case, self.batch)
                self.seconds.append(time.perf_counter() - started)
            if not np.isfinite(found[0]).all() or len(found[0]) != len(case.document.words):
                raise ValueError("its weights are not finite, or not one per word")
        except Exception as error:  # a peer may fail in any way, and must not end the run
            lines = str(error).strip().splitlines() or [""]
            self.failure = f"{type(error).__name__}: {lines[0][:150]}"
            say(f"  {self.contestant.name} failed: {self.failure}")
            return None
        self.inputs.append(sum(count))
        return found

    def compare(self, found: tuple[Floats, Floats | None], reference: Floats) -> None:
        from scipy.stats import spearmanr

        (weights, stderr), truth = found, reference[0]
        norm = float(np.linalg.norm(truth))
        if self.contestant.scaled:
            weights = weights * (weights @ truth) / (weights @ weights)
        self.errors.append(float(np.linalg.norm(weights - truth)) / norm)
        self.spearman.append(float(spearmanr(weights, truth).statistic))
        if stderr is not None:
            self.stated.append(float(np.linalg.norm(stderr)) / norm)


@contextlib.contextmanager
def counted_inputs(module: Any) -> Iterator[list[int]]:
    """How many texts the model itself is given inside."""
    counts: list[int] = []

    def count(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        ids = kwargs.get("input_ids", args[0] if args else None)
        counts.append(len(ids if ids is not None else kwargs["inputs_embeds"]))

    hook = module.register_forward_pre_hook(count, with_kwargs=True)
    try:
        yield counts
    finally:
        hook.remove()


def prepared_rows(case: Case) -> list[Row]:
    """All contestants, warm; each kind of batching with the size that is fastest for the first contestant of it."""
    found: dict[str, int] = {}
    rows = [Row(contestant) for contestant in (*OURS, *PEERS)]
    trial = replace(case, samples=TRIAL_SAMPLES, steps=min(case.steps, TRIAL_SAMPLES))
    for row in rows:
        say(f"warming up: {row.contestant.name}")
        kind = row.contestant.batching
        if kind in found:
            row.batch = found[kind]
        row.run(trial)
        if kind is not None and kind not in found and not row.failure:
            times = {}
            for row.batch in BATCHES[case.model.device.type]:
                if row.run(trial) is not None:
                    times[row.batch] = row.seconds[-1]
            found[kind] = row.batch = min(times, key=times.__getitem__)
            say(f"  {kind}: batches of {row.batch} ({', '.join(f'{b}: {t:.2f} s' for b, t in times.items())})")
        row.seconds.clear()
        row.inputs.clear()
    return rows


def measure(case: Case, rows: Sequence[Row], references: References) -> None:
    for row in rows:
        if row.failure:
            continue
        found = row.run(case)
        if found is None:
            continue
        row.compare(found, references(case.text, row.contestant.reference))
        say(f"  {row.contestant.name}: {row.seconds[-1]:.1f} s, relative error {row.errors[-1]:.3f}")


# ── printing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def version(package: str) -> str:
    try:
        return f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        return f"no {package}"


def beside(row: Row, rows: Sequence[Row]) -> Row:
    """Ours with the same removal, or else the first: what a time is a multiple of."""
    ours = [other for other in rows if isinstance(other.contestant, Ours)]
    removal = row.contestant.reference.removal
    return next((other for other in ours if other.contestant.reference.removal == removal), ours[0])


def print_tables(rows: Sequence[Row]) -> None:
    for method, family in FAMILIES.items():
        own = [row for row in rows if row.contestant.reference.method == method]
        print(f"\n### {family}\n")
        print("| | s per text | times ours | inputs per text | relative error | stated | Spearman | what differs |")
        print("|---|---|---|---|---|---|---|---|")
        for row in own:
            name = row.contestant.name
            if row.failure:
                print(f"| {name} | – | – | – | – | – | – | did not run: {row.failure.replace('|', '/')} |")
                continue
            ours = beside(row, own)
            ratios = [] if ours.failure else [a / b for a, b in zip(row.seconds, ours.seconds, strict=True)]
            ratio = f"{statistics.median(ratios):.2f}" if ratios else "–"
            stated = f"{statistics.median(row.stated):.3f}" if row.stated else "–"
            remarks = [f"batches of {row.batch}"] * (row.contestant.batching is not None) + [row.contestant.remarks]
            print(
                f"| {name} | {statistics.median(row.seconds):.2f} | {ratio} | {statistics.median(row.inputs):.0f} "
                f"| {statistics.median(row.errors):.2g} | {stated} | {statistics.median(row.spearman):.3f} "
                f"| {'; '.join(filter(None, remarks))} |"
            )


def print_noise(texts: Sequence[str], references: References, wanted: Sequence[Reference]) -> None:
    print("\nThe references' own stated errors, relative, median over the texts:", end=" ")
    parts = []
    for reference in wanted:
        if _is_sampled(reference):
            found = [references(text, reference) for text in texts]
            noise = statistics.median(float(np.linalg.norm(e) / np.linalg.norm(w)) for w, e in found)
            parts.append(f"{_words(reference)} {noise:.2g}")
    print(", ".join(parts) + ".")


def main() -> None:
    parser = arguments_of(__doc__, documents=10, words=200, samples=1000)
    parser.add_argument("--steps", type=int, default=64, help="of integrated gradients")
    parser.add_argument("--reference", type=int, default=200_000, help="samples of the references")
    parser.add_argument("--reference-dtype", default="float32", help="of the model whose samples are the references")
    parser.add_argument("--cache", default=None, help="a .npz file that keeps the references")
    parser.add_argument("--only-reference", action="store_true", help="fill the cache and stop")
    parser.add_argument("--save-texts", default=None, help="write the chosen texts to this .jsonl file and stop")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # the peers' own, hundreds of them
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    model = limelight.load(arguments.model, device=arguments.device, dtype=arguments.dtype)
    texts = choose_texts(model, arguments.data, arguments.documents, arguments.words, arguments.seed)
    if arguments.save_texts is not None:
        lines = [json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts]
        Path(arguments.save_texts).write_text("".join(lines), "utf-8")
        return
    references = References(model, arguments)
    cases = [Case(model, model.view(text), arguments.samples, arguments.steps) for text in texts]
    rows = [Row(contestant) for contestant in (*OURS, *PEERS)]
    if not arguments.only_reference:
        rows = prepared_rows(cases[0])
    wanted = list(dict.fromkeys(row.contestant.reference for row in rows if not row.failure))
    for i, case in enumerate(cases, start=1):
        say(f"text {i} of {len(cases)}, {len(case.document.words)} words, {len(case.window.ids)} tokens")
        references.compute(case.text, wanted)
        if not arguments.only_reference:
            measure(case, rows, references)
    if arguments.only_reference:
        return
    sizes = [len(case.document.words) for case in cases]
    print(f"{machine()}, {device_name(model)}; {', '.join(map(version, PACKAGES))}; {model}\n")
    print(
        f"{len(cases)} texts of {min(sizes)} to {max(sizes)} words (median {statistics.median(sizes):.0f}); "
        f"{arguments.samples:,} samples or {arguments.steps} steps; references of {arguments.reference:,} samples or "
        f"{REFERENCE_STEPS} steps. Errors are |weights − reference| / |reference|; all columns are medians over the "
        "texts; `stated` is the same from our own standard errors."
    )
    print_tables(rows)
    print_noise(texts, references, wanted)


if __name__ == "__main__":
    main()
