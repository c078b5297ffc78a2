"""Answers of a classifier that were recorded on one machine, to be estimated from on another.

A file holds outputs alone; the coalitions that they answer follow from the seed of a run, as limelight's own samplers
draw them, and a digest of them tells when these draw otherwise today. Outputs are whole numbers of 1/2048: half
precision, which they were computed in, is coarser than that for most of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from limelight.explainers.sampling.designs import sample_coalitions
from limelight.explainers.sampling.lime_sampler import LimeSampler
from limelight.explainers.sampling.shapley_samplers import PairedShapley, PermutedShapley

STEP = 1.0 / 2048.0
KERNEL_WIDTH = 0.25
LATER_SEED = 1000
"""Of runs that are no part of what is measured."""
LEAST_PAIRS = 4
"""Orders, each with its reverse, that permutations take at least."""
ESTIMATORS = {
    "lime": ("lime", {"sampling": "efficient"}),
    "official": ("lime", {"sampling": "official"}),
    "pairs": ("shapley", {"estimator": "pairs"}),
    "permutations": ("shapley", {"estimator": "permutations"}),
}
"""The method and the options of each kind of run."""


@dataclass(frozen=True)
class Run:
    """One way of drawing, a seed, and how many samples at most: a shorter run is its beginning, unless official."""

    kind: str
    seed: int
    n: int

    @property
    def key(self) -> str:
        return f"{self.kind}/{self.seed}/{self.n}"

    def coalitions(self, d: int) -> Any:
        """All that the model is asked about, in the order of asking: (rows, d)."""
        asked = [np.zeros((0, d), dtype=bool)]

        def ask(kept: Any) -> Any:
            asked.append(kept)
            return np.zeros((len(kept), 1))

        if self.kind == "lime":
            LimeSampler(ask, d, self.seed, KERNEL_WIDTH, 1.0).extend(self.n)
        elif self.kind == "official":
            ask(sample_coalitions(d, self.n, np.random.default_rng(self.seed)))
        elif self.kind == "pairs":
            PairedShapley(ask, d, self.seed).extend(self.n)
        else:
            samples = PermutedShapley(ask, _Features(d), self.seed)
            samples.extend_to(max(LEAST_PAIRS, round(self.n / samples.per_pair)))
        return np.concatenate(asked)


class _Features:
    """So many of them, in no groups."""

    groups = membership = None

    def __init__(self, d: int) -> None:
        self._d = d

    def __len__(self) -> int:
        return self._d


def digest(kept: Any) -> str:
    return hashlib.sha256(np.packbits(kept, axis=1).tobytes()).hexdigest()[:16]


def stored(outputs: Any) -> Any:
    whole = np.rint(np.asarray(outputs, dtype=np.float64) / STEP)
    if np.abs(whole).max() >= 2**15:
        raise ValueError(f"an output of {np.abs(outputs).max():.1f} is beyond what 16 bits of 1/2048 hold")
    return whole.astype(np.int16)


@dataclass(frozen=True)
class Review:
    """What was recorded of one text: `outputs` by the key of a run."""

    name: str
    d: int
    outputs: dict[str, Any]
    digests: dict[str, str]

    def runs(self, kind: str, n: int | None = None) -> list[Run]:
        found = [Run(own, int(seed), int(rows)) for own, seed, rows in (key.split("/") for key in self.outputs)]
        return [run for run in found if run.kind == kind and (n is None or run.n == n)]

    def samples(self, run: Run) -> tuple[Any, Any]:
        """The coalitions of a run, and their outputs."""
        kept = run.coalitions(self.d)
        if digest(kept) != self.digests[run.key]:
            raise SystemExit(f"{self.name}: {run.key} is drawn otherwise today than it was recorded: record it again")
        return kept, self.outputs[run.key] * STEP

    def held(self, runs: Iterable[Run]) -> dict[bytes, float]:
        """The outputs of runs by packed coalition."""
        known: dict[bytes, float] = {}
        for run in runs:
            kept, outputs = self.samples(run)
            known.update(zip(map(bytes, np.packbits(kept, axis=1)), outputs.tolist(), strict=True))
        return known


def write(path: Path, reviews: list[Review]) -> None:
    arrays = {f"{review.name}|{key}": array for review in reviews for key, array in review.outputs.items()}
    about = {review.name: {"d": review.d, "digests": review.digests} for review in reviews}
    new = path.with_name(path.name + ".new.npz")
    np.savez(new, about=np.frombuffer(json.dumps(about).encode(), dtype=np.uint8), **arrays)
    new.replace(path)


def read(path: Path) -> list[Review]:
    with np.load(path, allow_pickle=False) as arrays:
        about = json.loads(arrays["about"].tobytes())
        return [
            Review(
                name,
                own["d"],
                {key.split("|")[1]: arrays[key] for key in arrays.files if key.startswith(f"{name}|")},
                own["digests"],
            )
            for name, own in about.items()
        ]


def read_all(folder: Path, part: str) -> Iterator[Review]:
    for path in sorted(folder.glob(f"{part}-*.npz")):
        if not path.name.endswith(".new.npz"):
            yield from read(path)


# ── answers as a model ────────────────────────────────────────────────────────────────────────────────────────────────


class Answering:
    """A model with labels 0 and 1 of which one text of d words is known, by a function from coalitions to margins."""

    labels = ("0", "1")

    def __init__(self, d: int, margins: Callable[[Any], Any]) -> None:
        import limelight

        self._text, self._d = " ".join(f"w{j}" for j in range(d)), d
        self._view = limelight.wrap(lambda texts: np.full((len(texts), 2), 0.5), labels=self.labels).view(self._text)
        self._margins = margins

    def view(self, text: str) -> Any:
        names = ("document", "labels", "kind", "outputs", "removals")
        shown = {name: getattr(self._view, name) for name in names}
        logits = self._logits(np.ones((1, self._d), dtype=bool))[0]
        return SimpleNamespace(**shown, logits=logits, game=lambda *given: _Game(self._logits))

    def _logits(self, kept: Any) -> Any:
        margins = np.asarray(self._margins(kept), dtype=np.float64)
        return np.stack([np.zeros_like(margins), margins], axis=1)

    def explain(self, method: str, n: int, seed: int, **options: Any) -> Any:
        import limelight

        return limelight.explain(
            self, self._text, method, target=("1", "0"), features="occurrences", removal="mask", output="logit",
            n_samples=n, seed=seed, **options,
        )  # fmt: skip


class _Game:
    """A game of known answers."""

    asked = 0

    def __init__(self, logits: Callable[[Any], Any]) -> None:
        self._logits = logits

    def __call__(self, kept: Any) -> Any:
        self.asked += len(kept)
        return self._logits(kept)


class Answers:
    """Margins by packed coalition."""

    def __init__(self, known: dict[bytes, float]) -> None:
        self._known = known

    def __call__(self, kept: Any) -> Any:
        try:
            return np.array([self._known[row] for row in map(bytes, np.packbits(kept, axis=1))])
        except KeyError:
            raise SystemExit("asked about a coalition that was not recorded: record it again") from None


class Recorded:
    """A run as a model, so that limelight can be asked as always."""

    def __init__(self, review: Review, run: Run) -> None:
        self._model, self._run = Answering(review.d, Answers(review.held([run]))), run

    def explain(self, n: int, **options: Any) -> Any:
        """The explanation from the first n samples of the run."""
        method, own = ESTIMATORS[self._run.kind]
        return self._model.explain(method, n, self._run.seed, **{**own, **options})
