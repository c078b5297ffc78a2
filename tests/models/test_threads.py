"""Many threads on one model: every result is the sequential one, and nothing is left behind.

    python tests/models/test_threads.py 2000

runs the long form: so many calls, and what became of them.
"""

from __future__ import annotations

import itertools
import queue
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from test_module_copy import state_of_model, state_of_process

import limelight
from limelight.inputs.features import features_of
from reference.small_transformers import small_transformer

CALLS = 240
THREADS = 8
TEXTS = (
    "The film was great, but it's far too long!",
    "Not a very good film: the end is bad, bad and the end again.",
    "A naïve café 👍🏽 and no end",
    "great film, great end; not too long, but very good and not bad at all. " * 4,
)
METHODS: dict[str, dict[str, Any]] = {
    "gxi": {},
    "g-l2": {"output": "probability"},
    "alpha-avg": {},
    "rollout": {},
    "lime": {"n_samples": 40},
    "lime, words deleted": {"n_samples": 40, "removal": "delete"},
    "leave-one-out": {},
}

Question = Callable[[], bytes]


def explained(model: Any, text: str, name: str) -> bytes:
    e = limelight.explain(model, text, name.split(",")[0], **METHODS[name])
    return e.weights.tobytes() + (b"" if e.stderr is None else e.stderr.tobytes()) + e.prediction.logits.tobytes()


def asked_of_a_view(view: Any, kept: Any) -> bytes:
    features = features_of(view.document, "words")
    answers = (view.game(features, "mask")(kept), view.gradients(np.eye(len(view.labels))[1]).gradients, view.logits)
    attentions = [one.weights for one in view.attentions()]
    return b"".join(array.tobytes() for array in (*answers, *attentions))


def questions(model: Any, name: str) -> dict[str, Question]:
    """All kinds of calls on a model, by name; those on a view share one view between threads."""
    asked: dict[str, Question] = {}
    for i, text in enumerate(TEXTS):
        view = model.view(text)
        kept = np.random.default_rng(i).random((30, len(features_of(view.document, "words")))) < 0.6
        for method in METHODS:
            asked[f"{name}: {method}, text {i}"] = lambda t=text, m=method: explained(model, t, m)  # type: ignore[misc]
        asked[f"{name}: predictions, text {i}"] = lambda t=text: model.predict_proba([t, *TEXTS]).tobytes()  # type: ignore[misc]
        asked[f"{name}: one view, text {i}"] = lambda v=view, k=kept: asked_of_a_view(v, k)  # type: ignore[misc]
    return asked


@dataclass
class Outcome:
    """What became of the calls."""

    calls: Counter[str] = field(default_factory=Counter)
    different: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    users_forwards: int = 0
    users_different: int = 0
    seconds: float = 0.0


class User:
    """Runs their own model in a thread of their own, now in training mode, now in evaluation mode."""

    def __init__(self, model: Any, tokenizer: Any, outcome: Outcome) -> None:
        self._model, self._outcome = model, outcome
        self._inputs = tokenizer(TEXTS[0], return_tensors="pt")
        self._expected = self._logits()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _logits(self) -> bytes:
        with torch.no_grad():
            return self._model.eval()(**self._inputs).logits.numpy().tobytes()

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self._model.train()
                self._model(**self._inputs, output_attentions=self._outcome.users_forwards % 2 == 0)
                self._outcome.users_different += self._logits() != self._expected
                self._outcome.users_forwards += 2
        except Exception as error:
            self._outcome.errors.append(f"the user's own forward: {error!r}")

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()


def run(asked: dict[str, Question], user: Callable[[Outcome], User], calls: int) -> Outcome:
    """So many calls from THREADS threads, each compared with what it gave before, alone."""
    expected: dict[str, bytes] = {}
    alone = threading.Thread(target=lambda: expected.update({name: ask() for name, ask in asked.items()}))
    alone.start()  # in a thread as well: torch counts its own threads per thread
    alone.join()
    assert len(expected) == len(asked)
    outcome = Outcome()
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    order = np.random.default_rng(0).permutation(np.resize(np.arange(len(asked)), calls))
    names = list(asked)
    for i in order:
        waiting.put(names[i])
    lock, together = threading.Lock(), threading.Barrier(THREADS)

    def work() -> None:
        together.wait()
        while True:
            try:
                name = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                result = asked[name]()
            except Exception as error:
                with lock:
                    outcome.errors.append(f"{name}: {error!r}")
                continue
            with lock:
                outcome.calls[name.split(",")[0]] += 1
                if result != expected[name]:
                    outcome.different.append(name)

    started = time.perf_counter()
    with user(outcome):
        threads = [threading.Thread(target=work) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    outcome.seconds = time.perf_counter() - started
    return outcome


def mixed(calls: int) -> Outcome:
    """Both kinds of model at once; after it everything is as it was."""
    model, tokenizer = small_transformer("bert")
    huggingface, embedded = limelight.wrap(model, tokenizer, window=True), limelight.load()
    asked = {}
    for pair in itertools.zip_longest(
        questions(huggingface, "Hugging Face").items(), questions(embedded, "embedded").items()
    ):
        asked.update(dict(filter(None, pair)))
    model(**tokenizer(TEXTS[0], return_tensors="pt"), output_attentions=True)  # transformers adds its hooks
    before, process = state_of_model(model), state_of_process(torch_random=False)
    outcome = run(asked, lambda outcome: User(model, tokenizer, outcome), calls)
    assert state_of_model(model.eval()) == before  # the user's last mode is the user's
    assert state_of_process(torch_random=False) == process  # the user's dropout draws from torch's generator
    return outcome


def test_threads_get_what_one_thread_gets() -> None:
    outcome = mixed(CALLS)
    assert outcome.errors == []
    assert outcome.different == []
    assert sum(outcome.calls.values()) == CALLS
    assert outcome.users_forwards > 0
    assert outcome.users_different == 0


def test_threads_that_change_the_model_meet_no_half_built_tree() -> None:
    """One thread gives the model new heads; each prediction is that of one of them."""
    model, tokenizer = small_transformer("bert")
    classifier = limelight.wrap(model, tokenizer)
    heads = [torch.nn.Linear(16, 3) for _ in range(3)]
    expected = set()
    for head in heads:
        model.classifier = head
        expected.add(classifier.predict_logits(TEXTS[:1]).tobytes())
    answers: list[bytes] = []
    threads = [
        threading.Thread(
            target=lambda: answers.extend(classifier.predict_logits(TEXTS[:1]).tobytes() for _ in range(20))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    changes = 0
    while any(thread.is_alive() for thread in threads):
        model.classifier = heads[changes % 3]
        changes += 1
        time.sleep(0.002)
    assert len(answers) == 80
    assert set(answers) <= expected


@pytest.mark.parametrize("calls", [16])
def test_the_comparison_notices_a_wrong_result(calls: int) -> None:
    model, tokenizer = small_transformer("bert")
    answers = itertools.count()
    outcome = run({"drifting": lambda: bytes([next(answers)])}, lambda o: User(model, tokenizer, o), calls)
    assert outcome.different == ["drifting"] * calls


def main() -> None:
    outcome = mixed(int(sys.argv[1]) if len(sys.argv) > 1 else CALLS)
    total = sum(outcome.calls.values())
    print(f"{total:,} calls from {THREADS} threads in {outcome.seconds:.1f} s, beside")
    print(f"{outcome.users_forwards:,} forwards of the user, half of them in training mode")
    for name, count in sorted(outcome.calls.items()):
        print(f"  {count:6,} {name}")
    print(f"{len(outcome.different)} results differ from the sequential ones, {outcome.users_different} of the user's")
    print(f"{len(outcome.errors)} exceptions; the model and the process are as found")
    for line in (*dict.fromkeys(outcome.different), *dict.fromkeys(outcome.errors)):
        print(" ", line)
    if outcome.different or outcome.errors or outcome.users_different:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
