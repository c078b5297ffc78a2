"""Kills runs while they fill a cache of answers, lets others go on, and compares with a run that keeps nothing.

    python tests/reliability/cache_harness.py --kills 30        SIGKILL at random moments
    python tests/reliability/cache_harness.py --together 10     two processes in one folder, one of them killed at times

A run is a fork of this process. Its function writes down what it is asked before it answers, and its progress what was
acknowledged, so that after a kill three things are known: what was asked, what the run had been told is kept, and what
is kept. Then

    what was acknowledged is there, and everything that is there has the right numbers;
    a batch is there as a whole or not at all;
    nothing is asked again that was there, so only a batch that a kill met in flight is ever asked twice;
    the explanation that comes out in the end has the bytes of one without a cache.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import limelight
from limelight.core.progress import Silent
from limelight.errors import ExplanationWarning
from limelight.models.blackbox import BlackBoxClassifier
from limelight.models.blackbox.cache import AnswerCache, key_of

TEXT = "A great film, but far too long, and the end is bad. I liked the music and the actors, most of all the cat."
LABELS = ("no", "yes")
BATCH = 8
OPTIONS: dict[str, dict[str, Any]] = {"lime": {"n_samples": 200}, "shapley": {"n_samples": 250}}


def probabilities(texts: list[str]) -> Any:
    """Something that every word counts in."""
    scores = [sum((1 + i % 3) * ord(character) for i, character in enumerate(text)) % 997 for text in texts]
    p = 1 / (1 + np.exp(-(np.array(scores) - 500) / 200))
    return np.stack([1 - p, p], axis=1)


def explained(model: Any, method: str, progress: Any = None) -> bytes:
    e = limelight.explain(model, TEXT, method, progress=progress, removal="delete", **OPTIONS[method])
    return b"".join(array.tobytes() for array in (e.weights, e.stderr, e.prediction.logits))


@dataclass
class Batch:
    """Texts that the function was given at once, and whether the run went on with its answers."""

    texts: list[str]
    acknowledged: bool = False


class Run:
    """A fork that explains a text with a cache."""

    def __init__(self, folder: Path, log: Path, method: str = "lime") -> None:
        self._log, self.method = log, method
        self.child = os.fork()
        if self.child == 0:
            status = 70
            try:
                self._work(folder)
                status = 0
            finally:
                os._exit(status)

    def _work(self, folder: Path) -> None:
        log = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

        def note(what: str, content: Any) -> None:
            os.write(log, json.dumps([what, content]).encode() + b"\n")

        def listening(texts: list[str]) -> Any:
            note("asked", texts)
            return probabilities(texts)

        class Acknowledging(Silent):
            def advance(self, steps: int = 1, note_: str = "") -> None:
                note("acknowledged", steps)

        model = BlackBoxClassifier(listening, LABELS, batch_texts=BATCH, cache=folder, name="probabilities")
        note("ended", explained(model, self.method, Acknowledging()).hex())

    def end(self, kill_after: float | None = None) -> int:
        """Its exit status, -9 if it was killed."""
        if kill_after is not None:
            time.sleep(kill_after)
            os.kill(self.child, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])

    def read(self) -> tuple[list[Batch], bytes | None]:
        """What it was asked, batch by batch, and what came out."""
        batches: list[Batch] = []
        result = None
        for line in self._log.read_text().splitlines() if self._log.exists() else ():
            what, content = json.loads(line)
            if what == "asked" and content in ([TEXT], ["A"], [TEXT, "A"]):
                continue  # on purpose, to see whether the function repeats itself, alone and in company
            if what == "asked":
                batches.append(Batch(content))
            elif what == "acknowledged" and batches:
                batches[-1].acknowledged = True
            elif what == "ended":
                result = bytes.fromhex(content)
        return batches, result


class Harness:
    """A scratch folder, what explanations are without a cache, and what went wrong."""

    def __init__(self, scratch: Path, rng: random.Random) -> None:
        self.scratch, self.rng = scratch, rng
        plain = BlackBoxClassifier(probabilities, LABELS, batch_texts=BATCH)
        self.expected = {method: explained(plain, method) for method in OPTIONS}
        self.failures: list[str] = []
        self.counts = {"kills": 0, "in flight": 0, "of these kept": 0, "asked": 0, "asked twice": 0, "batches": 0}
        self._runs = 0
        began = time.monotonic()
        if self.start(self.folder()).end() != 0:
            raise SystemExit("the run fails without being killed")
        self.seconds = time.monotonic() - began

    def start(self, folder: Path, method: str = "lime") -> Run:
        self._runs += 1
        return Run(folder, self.scratch / f"log-{self._runs}", method)

    def folder(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self.scratch, prefix="cache-")) / "answers"

    def known(self, folder: Path, texts: list[str]) -> set[str]:
        """Which of these texts are kept; wrong numbers are a failure."""
        cache = AnswerCache(folder)
        kept = cache.known([key_of(text) for text in texts])
        found = {text for text in texts if key_of(text) in kept}
        for text in sorted(found):
            if kept[key_of(text)].tobytes() != probabilities([text])[0].tobytes():
                self.failures.append(f"{folder}: a wrong answer to {text!r}")
        return found

    def check(
        self, where: str, folder: Path, run: Run, already: set[str], others: frozenset[str] = frozenset()
    ) -> set[str]:
        """A run that has ended, in a folder that held `already` when it began; returns what it holds now.

        `others` are texts that another run asked about at the same time.
        """
        batches, result = run.read()
        texts = [text for batch in batches for text in batch.texts]
        known = already | self.known(folder, texts)
        for batch in batches:
            kept = known.intersection(batch.texts)
            if batch.acknowledged and len(kept) < len(batch.texts):
                self.failures.append(f"{where}: {len(batch.texts) - len(kept)} acknowledged answers are lost")
            if kept - others and set(batch.texts) - others - kept:
                self.failures.append(f"{where}: {len(kept)} of a batch of {len(batch.texts)} are there")
        if again := already.intersection(texts):
            self.failures.append(f"{where}: asked again about {len(again)} texts whose answers were there")
        if len(set(texts)) < len(texts):
            self.failures.append(f"{where}: asked twice in one run")
        if any(not batch.acknowledged for batch in batches[:-1]):
            self.failures.append(f"{where}: a batch was asked before the one before was kept")
        if result is not None and result != self.expected[run.method]:
            self.failures.append(f"{where}: another explanation than without a cache")
        if batches and not batches[-1].acknowledged:
            self.counts["in flight"] += 1
            self.counts["of these kept"] += known.issuperset(batches[-1].texts)
        self.counts["asked"] += len(texts)
        self.counts["batches"] += len(batches)
        return known

    def kills(self, wanted: int) -> None:
        """Runs in one folder after the other, each killed again and again until one comes to its end."""
        while self.counts["kills"] < wanted:
            folder, known, asked = self.folder(), set[str](), 0
            for attempt in range(100):
                last = self.counts["kills"] >= wanted or attempt == 99
                run = self.start(folder)
                status = run.end(None if last else self.rng.uniform(0, self.seconds / 3))
                where = f"kill {self.counts['kills'] + 1}, run {attempt}"
                known = self.check(where, folder, run, known)
                asked += sum(len(batch.texts) for batch in run.read()[0])
                if status == 0:
                    self.counts["asked twice"] += asked - len(known)
                    if run.read()[1] is None:
                        self.failures.append(f"{where}: no explanation")
                    break
                self.counts["kills"] += status == -signal.SIGKILL
                if status != -signal.SIGKILL:
                    self.failures.append(f"{where}: ended with {status}")
                    break

    def together(self, times: int) -> None:
        """Two processes that fill one folder, with methods that ask for much of the same."""
        for i in range(times):
            folder = self.folder()
            runs = [self.start(folder, method) for method in OPTIONS]
            killed = i % 2
            ends = [runs[0].end(self.rng.uniform(0, self.seconds / 2) if killed else None), runs[1].end()]
            self.counts["kills"] += ends[0] == -signal.SIGKILL
            if ends[1] != 0 or ends[0] not in (0, -signal.SIGKILL):
                self.failures.append(f"together {i}: ended with {ends}")
            asked = [[text for batch in run.read()[0] for text in batch.texts] for run in runs]
            for run, others in zip(runs, reversed(asked), strict=True):
                self.check(f"together {i}, {run.method}", folder, run, set(), frozenset(others))
            self.counts["asked twice"] += sum(map(len, asked)) - len(set(asked[0]) | set(asked[1]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=0, help="so many kills of one process")
    parser.add_argument("--together", type=int, default=0, help="so many times two processes in one folder")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore", ExplanationWarning)  # numbers are compared, whatever they are worth
    failures = 0
    parts: list[tuple[str, Callable[[Harness], None]]] = [
        (f"{given.kills} kills", lambda harness: harness.kills(given.kills)),
        (f"{given.together} times two processes", lambda harness: harness.together(given.together)),
    ]
    for name, work in parts:
        if name.startswith("0 "):
            continue
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="cache-") as scratch:
            harness = Harness(Path(scratch), random.Random(given.seed))
            work(harness)
        failures += len(harness.failures)
        for failure in harness.failures:
            print(f"FAILED {failure}")
        counts = ", ".join(f"{what} {count:,}" for what, count in harness.counts.items())
        print(f"{name}: {len(harness.failures)} failures, {time.monotonic() - began:.1f} s; {counts}")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
