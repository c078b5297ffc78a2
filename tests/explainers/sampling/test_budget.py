"""Until stable, for some seconds, until Ctrl-C: what ends a run, that it can be repeated, and what it says."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import limelight
from conftest import small_model
from limelight.core.progress import Silent
from limelight.errors import Interrupted, ParameterError
from limelight.explainers.sampling import budget
from limelight.models.interface import STEP
from limelight.models.words.attention_view import AttentionGame
from reference.opaque import Answering, Opaque

PACE = AttentionGame.step
"""Of the tests' small model."""
TEXT = " ".join(f"{chr(97 + i)}{chr(97 + i)}" for i in range(20))
CLEAR = np.array([3.0, -2.5, 2.0, 1.5, -1.0, *np.linspace(0.2, 0.0, 15)])
TIED = np.array([3.0, -2.5, 2.0, 1.0, 0.5, 0.499, *np.linspace(0.05, 0.0, 14)])
HARD = np.array([3.0, -2.5, 2.0, 1.0, 0.70, 0.50, *np.linspace(0.05, 0.0, 14)])


def additive(weights: np.ndarray, noise: float = 0.3) -> Answering:
    """Logits that words move by their weights, and by pairs of neighbours that no surrogate has."""

    def answer(kept: np.ndarray) -> np.ndarray:
        signs = np.where(kept, 1.0, -1.0)
        rough = noise * (signs * np.roll(signs, 1, axis=1) * np.roll(signs, 5, axis=1)).sum(axis=1)
        value = kept @ weights + rough
        return np.stack([value, np.zeros(len(kept)), np.zeros(len(kept))], axis=1)

    return Answering(answer)


@pytest.mark.parametrize("method", ["lime", "shapley"])
def test_clear_words_settle_and_say_so(method: str) -> None:
    e = limelight.explain(additive(CLEAR, 0.05), TEXT, method, until="stable", target="negative")
    assert e.diagnostics["stopped"] == "settled"
    assert sorted(e.diagnostics["settled"]) == [0, 1, 2, 3, 4]
    n = e.parameters["n_samples"]
    assert n < budget.MOST_SAMPLES
    assert f"stable after {n:,} samples" in e.notices[-1]
    assert "until" not in e.parameters
    assert e.diagnostics["until"] == "stable"


@pytest.mark.parametrize("method", ["lime", "shapley"])
def test_the_number_of_samples_repeats_the_run(method: str) -> None:
    e = limelight.explain(additive(HARD), TEXT, method, until="stable", target="negative", seed=3)
    own = {name: value for name, value in e.parameters.items() if name in ("n_samples", "estimator")}
    again = limelight.explain(additive(HARD), TEXT, method, target="negative", seed=3, **own)
    assert (again.weights == e.weights).all()
    assert e.stderr is not None
    assert (again.stderr == e.stderr).all()


def test_a_tie_ends_the_run() -> None:
    e = limelight.explain(additive(TIED, 0.02), TEXT, "lime", until="stable", target="negative")
    assert e.diagnostics["stopped"] == "tied"
    assert "as good as equal" in e.notices[-1]
    assert len(e.diagnostics["settled"]) == 4


def test_the_limit_is_said_with_what_was_reached() -> None:
    e = limelight.explain(additive(HARD, 0.8), TEXT, "lime", until="stable", n_samples=600, target="negative")
    assert e.diagnostics["stopped"] == "limit"
    assert e.parameters["n_samples"] == 600
    assert any("stopped at the limit of 600 samples" in said for said in e.diagnostics["warnings"])


@pytest.mark.parametrize(("method", "part"), [("lime", 0.02), ("shapley", 0.05)])
def test_standard_errors_are_as_small_as_asked(method: str, part: float) -> None:
    e = limelight.explain(additive(CLEAR), TEXT, method, until=part, target="negative")
    assert e.diagnostics["stopped"] == "settled"
    assert e.stderr is not None
    assert e.stderr.max() <= part * np.abs(e.weights).max()
    fewer = limelight.explain(additive(CLEAR), TEXT, method, n_samples=STEP, target="negative")
    assert fewer.stderr is not None
    assert fewer.stderr.max() > part * np.abs(fewer.weights).max()


@pytest.mark.parametrize(
    ("method", "options"), [("lime", {}), ("shapley", {}), ("shapley", {"estimator": "permutations"})]
)
def test_seconds_end_a_run_that_can_be_repeated(
    method: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = itertools.count()
    monkeypatch.setattr(budget.time, "monotonic", lambda: next(clock) * 0.5)
    e = limelight.explain(additive(HARD), TEXT, method, seconds=8.0, target="negative", **options)
    monkeypatch.undo()
    n = e.parameters["n_samples"]
    assert e.diagnostics["stopped"] == "time"
    assert STEP <= n < budget.MOST_SAMPLES
    assert e.notices[-1] == f"stopped after 8 seconds, with {n:,} samples"
    own = {name: e.parameters[name] for name in ("n_samples", "estimator", "n_permutations") if name in e.parameters}
    again = limelight.explain(additive(HARD), TEXT, method, target="negative", **own)
    assert (again.weights == e.weights).all()


@pytest.mark.parametrize(("weights", "ended", "settled"), [(CLEAR, "settled", 5), (HARD, "time", 3)])
def test_an_interim_check_is_made_when_the_clock_ends_a_run(
    weights: np.ndarray, ended: str, settled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only at the checks before it, of which there is none in the first 512 samples."""
    clock = itertools.count()
    monkeypatch.setattr(budget.time, "monotonic", lambda: next(clock) * 1.0)
    e = limelight.explain(additive(weights, 0.1), TEXT, "lime", until="stable", seconds=0.5, target="negative")
    monkeypatch.undo()
    assert e.parameters["n_samples"] == STEP
    assert e.diagnostics["stopped"] == ended
    assert len(e.diagnostics["settled"]) >= settled


def test_methods_that_draw_share_the_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def plan(n_samples: Any, until: Any, seconds: Any, view: Any) -> budget.Budget:
        seen.append(seconds)
        return budget.Budget(300)

    monkeypatch.setattr(budget.Budget, "of", plan)
    limelight.compare(Opaque(), "a good film", ["lime", "shapley"], seconds=10)
    first, second = seen
    assert first == 5.0
    assert 9.0 < second < 10.0  # what the first has left


def test_few_features_are_asked_in_all_combinations() -> None:
    e = limelight.explain(Opaque(), "good bad", "shapley", until="stable")
    assert e.diagnostics["stopped"] == "complete"
    assert e.exact
    assert "nothing is left to chance" in e.notices[-1]


def test_interim_checks_double_and_the_limit_is_one_of_them() -> None:
    assert budget.Budget(5000, "stable").checks(512, 256) == {512, 1024, 2048, 4096, 5000}


def test_totals_are_the_same_however_long_a_run_may_be() -> None:
    """A run that the clock ends at one of them is repeated by a run of that length."""
    longest = budget.Budget(10**6).totals(STEP)
    for total in longest[::7]:
        assert budget.Budget(total).totals(STEP) == longest[: longest.index(total) + 1]
    assert all(b - a <= max(STEP, a / 8) for a, b in itertools.pairwise(longest))
    assert budget.Budget(10**6, "stable").checks(33 * STEP, STEP) <= {*longest}


class Pressed(Silent):
    """Ctrl-C when so many coalitions were answered."""

    def __init__(self, after: int) -> None:
        self._left = after

    def advance(self, steps: int = 1, note: str = "") -> None:
        self._left -= steps
        if self._left < 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("method", ["lime", "shapley"])
def test_an_interrupt_carries_what_was_reached(method: str) -> None:
    with pytest.raises(KeyboardInterrupt) as caught:
        limelight.explain(Opaque(), TEXT, method, n_samples=4 * PACE, progress=Pressed(2 * PACE + 10))
    cut = caught.value
    assert isinstance(cut, Interrupted)
    e = cut.explanation
    assert e.parameters["n_samples"] == 2 * PACE
    assert e.diagnostics["stopped"] == "interrupted"
    assert e.notices[-1] == f"interrupted after {2 * PACE:,} samples of {4 * PACE:,}"
    again = (
        limelight.explain(Opaque(), TEXT, method, n_samples=2 * PACE, estimator="pairs")
        if method == "shapley"
        else (limelight.explain(Opaque(), TEXT, method, n_samples=2 * PACE))
    )
    assert (again.weights == e.weights).all()


def test_an_interrupt_before_anything_is_there_is_an_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt) as caught:
        limelight.explain(Opaque(), TEXT, "lime", progress=Pressed(10))
    assert not isinstance(caught.value, Interrupted)


def test_methods_that_were_done_are_kept() -> None:
    with pytest.raises(Interrupted) as caught:
        limelight.compare(
            Opaque(), TEXT, ["leave-one-out", "lime", "shapley"], n_samples=4 * PACE, progress=Pressed(2 * PACE + 100)
        )
    assert [e.method for e in caught.value.explanations] == ["leave-one-out", "lime"]
    with pytest.raises(Interrupted) as caught:  # while nothing of the second is there yet
        limelight.compare(Opaque(), TEXT, ["leave-one-out", "lime"], progress=Pressed(30))
    assert [e.method for e in caught.value.explanations] == ["leave-one-out"]


def test_texts_that_were_done_are_kept() -> None:
    texts = [TEXT, f"{TEXT} more", f"{TEXT} still"]
    with pytest.raises(Interrupted) as caught:
        limelight.explain(Opaque(), texts, "lime", n_samples=PACE, progress=Pressed(2 * PACE + 10))
    assert [e.text for e in caught.value.explanations] == texts[:2]
    assert caught.value.explanations[0].diagnostics.get("stopped") is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"until": "soon"}, "until must be"),
        ({"until": 0.0}, "until must be"),
        ({"until": 1.0}, "until must be"),
        ({"until": True}, "until must be"),
        ({"seconds": 0}, "seconds must be"),
        ({"seconds": -1.0}, "seconds must be"),
        ({"seconds": float("nan")}, "seconds must be"),
        ({"until": "stable", "sampling": "official"}, "do not go with sampling='official'"),
    ],
)
def test_what_cannot_be_asked_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        limelight.explain(Opaque(), "a good film", "lime", **options)


def test_permutations_are_counted_or_timed_and_not_both() -> None:
    with pytest.raises(ParameterError, match="n_permutations does not go with until or seconds"):
        limelight.explain(Opaque(), "a good film", "shapley", n_permutations=10, seconds=5)


def test_long_runs_are_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    class Listening(Silent):
        def say(self, line: str) -> None:
            said.append(line)

    limelight.explain(Opaque(), TEXT, "lime", n_samples=4 * PACE, progress=Listening())
    assert said == []
    monkeypatch.setattr(budget, "_LONG", 0.0)
    limelight.explain(Opaque(), TEXT, "lime", n_samples=4 * PACE, progress=Listening())
    assert len(said) == 1
    assert f"{4 * PACE:,} inputs for the model" in said[0]


@pytest.mark.parametrize(
    ("method", "options"),
    [("lime", {"n_samples": 3000}), ("lime", {"until": 0.004}), ("shapley", {"n_samples": 3000})],
)
def test_a_progress_that_watches_sees_it_settle(method: str, options: dict[str, Any]) -> None:
    seen: list[limelight.Explanation] = []

    class Watcher(Silent):
        def seen(self, explanation: limelight.Explanation) -> None:
            seen.append(explanation)

    last = limelight.explain(additive(HARD), TEXT, method, target="negative", progress=Watcher(), **options)
    alone = limelight.explain(additive(HARD), TEXT, method, target="negative", **options)
    assert (last.weights == alone.weights).all()
    reached = [e.parameters["n_samples"] for e in seen]
    assert reached == sorted({*reached})
    assert len(reached) >= 2
    assert reached[-1] < last.parameters["n_samples"]
    assert all(e.diagnostics["stopped"] == "drawing" for e in seen)
    once = limelight.explain(additive(HARD), TEXT, method, target="negative", **_repeating(seen[0]))
    assert (once.weights == seen[0].weights).all()


def _repeating(e: limelight.Explanation) -> dict[str, Any]:
    return {name: e.parameters[name] for name in ("n_samples", "estimator") if name in e.parameters}


def test_the_chance_of_a_wrong_claim_is_divided_among_the_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    levels: list[float] = []
    settled = budget.settled

    def noted(weights: np.ndarray, covariance: np.ndarray, level: float, **more: Any) -> Any:
        levels.append(level)
        return settled(weights, covariance, level, **more)

    monkeypatch.setattr(budget, "settled", noted)
    limelight.explain(additive(HARD, 0.8), TEXT, "lime", until="stable", n_samples=5000, target="negative")
    assert levels
    # At 512, 1,024, 2,048, 4,096 and 5,000 samples, and where an interrupt may end it.
    assert levels == [budget.LEVEL / 6] * len(levels)


# ── the default of a model that takes its time ────────────────────────────────────────────────────────────────────────

DRAWS = ["lime", "shapley"]


def _by_default(e: limelight.Explanation) -> tuple[Any, int]:
    return e.diagnostics["stopped"], e.parameters["n_samples"]


@pytest.mark.parametrize("method", DRAWS)
def test_a_slow_model_is_asked_as_often_as_its_answer_needs(method: str) -> None:
    clear = limelight.explain(additive(CLEAR, 0.02), TEXT, method, target="negative")
    assert _by_default(clear) == ("settled", STEP)
    assert f" after {STEP} samples: " in clear.notices[-1]
    assert clear.stderr is not None
    rough = limelight.explain(additive(HARD, 0.8), TEXT, method, target="negative")
    state, n = _by_default(rough)
    assert state == "settled"
    assert STEP < n < budget.DEFAULT_SAMPLES
    assert rough.stderr is not None
    assert rough.stderr.max() <= budget.PRECISE * np.abs(rough.weights).max()
    assert rough.notices[-1] == f"precise after {n:,} samples: no standard error is above 5 % of the largest weight"


@pytest.mark.parametrize("method", DRAWS)
def test_the_default_ends_at_5000(method: str) -> None:
    e = limelight.explain(additive(CLEAR, 8.0), TEXT, method, target="negative", seed=1)
    assert _by_default(e) == ("samples", 5000)
    assert e.notices[-1].startswith("5,000 samples, the most by default: ")
    assert e.evaluations is not None
    assert e.evaluations <= 5002
    constant = limelight.explain(additive(0.0 * CLEAR, 0.0), TEXT, method, target="negative")
    assert _by_default(constant) == ("samples", 5000)  # samples that are all alike say nothing of a rare one
    old = limelight.explain(additive(CLEAR, 8.0), TEXT, method, target="negative", seed=1, n_samples=5000)
    assert "stopped" not in old.diagnostics
    assert (old.weights == e.weights).all()


@pytest.mark.parametrize("method", DRAWS)
def test_the_default_is_repeated_by_its_seed_and_by_its_number(method: str) -> None:
    one, again = (limelight.explain(additive(HARD), TEXT, method, target="negative", seed=3) for _ in range(2))
    first, second = ({**e.to_dict(), "seconds": 0} for e in (one, again))
    assert first == second
    by_number = limelight.explain(additive(HARD), TEXT, method, target="negative", seed=3, **_repeating(one))
    assert (by_number.weights == one.weights).all()
    assert (by_number.stderr == one.stderr).all()


@pytest.mark.parametrize("method", DRAWS)
def test_all_labels_of_the_default_are_precise_or_stable(method: str) -> None:
    def answer(kept: np.ndarray) -> np.ndarray:
        rough = np.where(kept, 1.0, -1.0).prod(axis=1) * 8.0
        return np.stack([kept @ CLEAR, kept @ CLEAR[::-1] + rough, np.zeros(len(kept))], axis=1)

    found = limelight.explain(Answering(answer), TEXT, method, target="all")
    ended = [_by_default(e) for e in found]
    assert len({n for _, n in ended}) == 1
    alone = limelight.explain(Answering(answer), TEXT, method, target=found[0].target)
    assert _by_default(alone)[1] < ended[0][1]


def test_groups_have_the_default_too() -> None:
    text = f"{TEXT[:29].capitalize()}. {TEXT[30:].capitalize()}"
    model = additive(np.insert(CLEAR, 10, 0.0), 0.02)  # the full stop is a word, too
    e = limelight.explain(model, text, "shapley", features=("sentences", "words"), target="negative")
    state, n = _by_default(e)
    assert state in ("settled", "tied")
    assert STEP <= n < budget.DEFAULT_SAMPLES
    assert e.groups is not None
    assert e.groups.stderr is not None


def test_noise_of_a_function_is_in_what_ends_its_run() -> None:
    rng = np.random.default_rng(0)

    def noisy(texts: list[str]) -> np.ndarray:
        x = np.array([0.5 * ("aa" in t.split()) - 0.4 * ("bb" in t.split()) for t in texts])
        p = 1.0 / (1.0 + np.exp(-x - rng.normal(size=len(texts))))
        return np.stack([1 - p, p], axis=1)

    e = limelight.explain(limelight.wrap(noisy, labels=["no", "yes"]), TEXT, "lime", target="yes")
    _, n = _by_default(e)
    assert n > STEP
    assert e.diagnostics["noise"] > 0.5
    assert e.stderr is not None
    assert n == 5000 or e.stderr.max() <= budget.PRECISE * np.abs(e.weights).max()


@pytest.mark.parametrize("method", DRAWS)
def test_an_interrupt_of_the_default_carries_what_was_reached(method: str) -> None:
    with pytest.raises(Interrupted) as caught:
        limelight.explain(additive(CLEAR, 8.0), TEXT, method, target="negative", progress=PressedAtOnce(6))
    e = caught.value.explanation
    assert e.diagnostics["stopped"] == "interrupted"
    assert e.notices[-1] == f"interrupted after {e.parameters['n_samples']:,} samples of 5,000"


class PressedAtOnce(Silent):
    """Ctrl-C at the check with this number."""

    def __init__(self, checks: int) -> None:
        self._left = checks

    def advance(self, steps: int = 1, note: str = "") -> None:
        self._left -= 1
        if self._left < 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("method", DRAWS)
def test_a_cheap_model_is_asked_5000_times(method: str) -> None:
    model = small_model()
    text = " ".join(["good bad film plot great dull"] * 3)
    options = {"features": "occurrences", "removal": "mask", "output": "probability"}
    e = limelight.explain(model, text, method, **options)
    old = limelight.explain(model, text, method, n_samples=5000, **options)
    assert {**e.to_dict(), "seconds": 0} == {**old.to_dict(), "seconds": 0}
    assert "stopped" not in e.diagnostics


def test_what_seems_tied_costs_no_more_than_the_default() -> None:
    weights = np.array([3.0, -2.5, 2.0, 1.0, 0.5, 0.49, *np.linspace(0.05, 0.0, 14)])
    e = limelight.explain(additive(weights, 0.3), TEXT, "lime", target="negative", until="stable")
    assert e.diagnostics["stopped"] == "tied"
    assert e.parameters["n_samples"] <= 5000
    assert "% of the largest weight apart" in e.notices[-1]
