"""The contract of a method, as code: what every explanation keeps, whatever the method and whatever the model.

`check_explainer("lime", model)` raises an AssertionError that names the first promise that is broken. Use it for a
method or a model of your own.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from functools import wraps
from itertools import pairwise
from typing import Any

import numpy as np

from limelight.attribution.api import explain
from limelight.attribution.request import Request
from limelight.core.progress import Silent
from limelight.errors import ExplanationWarning
from limelight.explainers.method import Implementation, find
from limelight.explanation.result import Explanation
from limelight.models.interface import Attentive, Classifier, Layered, Recorded


def check_explainer(method: str, model: Classifier, **options: Any) -> None:
    """Check all promises for one method on one model; `options` are the method's own (few samples make it fast)."""
    for check in CHECKS.values():
        check(method, model, options)


def _implementation(method: str, model: Classifier) -> Implementation:
    """The implementation of a method that applies to a model when nothing else is asked for."""
    return Request().resolve(model.view("a text"), [find(method)]).chosen[0].implementation


def _check_shapes(method: str, model: Classifier, options: dict[str, Any]) -> None:
    text = "The film was GREAT, but the film is too long!"
    for kind in ("words", "occurrences"):
        e = explain(model, text, method, features=kind, **options)
        d = len(e.features)
        assert e.weights.shape == (d,), f"{d} features but weights of shape {e.weights.shape}"
        assert np.isfinite(e.weights).all(), "weights that are not finite"
        assert len(e.spans) == d, f"{d} features but spans for {len(e.spans)}"
        if e.stderr is not None:
            assert e.stderr.shape == (d,), f"{d} features but standard errors of shape {e.stderr.shape}"
            assert not (e.stderr < 0).any(), "a standard error below zero"
            assert not np.isnan(e.stderr).any() or e.warnings, "weights without an interval, and nothing is said"
        assert e.seconds >= 0, "time that runs backwards"


def _check_what_it_says_of_itself(method: str, model: Classifier, options: dict[str, Any]) -> None:
    declared, implementation = find(method), _implementation(method, model)
    e = explain(model, "The film was great, but too long.", method, **options)
    assert e.method == method, f"{method!r} calls itself {e.method!r}"
    assert (e.method_label, e.signed) == (declared.label, declared.signed), (
        f"the explanation says ({e.method_label!r}, signed={e.signed}), its method ({declared.label!r}, "
        f"signed={declared.signed})"
    )
    assert e.signed or (e.weights >= 0).all(), "a weight below zero from a method without sign"
    # A sampler that saw every combination of words has no sampling error.
    sampled = implementation.sampled and not e.stated.complete
    assert (e.stderr is not None) == sampled, "standard errors belong to sampled methods"
    assert type(e.evaluations) is int, f"evaluations must be a whole number: got {e.evaluations!r}"
    assert e.evaluations >= 0, f"the model was asked {e.evaluations} times"
    if "error" in e.diagnostics:
        assert 0 <= e.diagnostics["error"] < np.inf, f"an error bound of {e.diagnostics['error']!r}"
    rounding = e.diagnostics["rounding"]
    assert 0 <= rounding < np.inf, f"rounding by {rounding!r}"
    assert e.significant.any() or e.warnings, "no weight is significant, and nothing is said of it"


def _check_spans(method: str, model: Classifier, options: dict[str, Any]) -> None:
    text = "Good film.<br />Good film, GOOD end"
    e = explain(model, text, method, features="words", **options)
    for name, spans in zip(e.features, e.spans, strict=True):
        for start, end in spans:
            assert text[start:end].lower() == name, f"feature {name!r} covers {text[start:end]!r}"
    covered = sorted(span for spans in e.spans for span in spans)
    assert all(a[1] <= b[0] for a, b in pairwise(covered)), "spans that overlap"
    occurrences = explain(model, text, method, features="occurrences", **options)
    assert sorted(span for spans in occurrences.spans for span in spans) == covered, (
        "kinds of feature disagree on words"
    )
    assert all(len(spans) == 1 for spans in occurrences.spans), "an occurrence with several places"


def _check_determinism(method: str, model: Classifier, options: dict[str, Any]) -> None:
    text = "The film was great, but too long."
    first, again = (explain(model, text, method, seed=7, **options) for _ in range(2))
    assert first.weights.tobytes() == again.weights.tobytes(), "the same seed gives other weights"
    if first.stderr is not None and again.stderr is not None:
        assert first.stderr.tobytes() == again.stderr.tobytes(), "the same seed gives other standard errors"
    numpys = explain(model, text, method, seed=np.int64(7), **options)
    assert numpys == first, "NumPy's 7 is another seed than Python's"
    # The legacy global state is read only to see that it is left alone.
    before = str(np.random.get_state())  # noqa: NPY002
    other = explain(model, text, method, seed=8, **options)
    assert before == str(np.random.get_state()), "the global random state was touched"  # noqa: NPY002
    if _implementation(method, model).sampled and not first.stated.complete:
        assert first.weights.tobytes() != other.weights.tobytes(), "a sampled method ignores the seed"
    else:
        assert first.weights.tobytes() == other.weights.tobytes(), "a method without samples depends on the seed"


def _check_model_is_left_alone(method: str, model: Classifier, options: dict[str, Any]) -> None:
    texts = ["the film was great", "bad"]
    before = model.predict_logits(texts)
    explain(model, texts[0], method, **options)
    assert before.tobytes() == model.predict_logits(texts).tobytes(), "explaining changed the model"
    for parameter in getattr(model, "parameters", tuple)():
        assert parameter.grad is None, "explaining left gradients behind"


def _check_targets(method: str, model: Classifier, options: dict[str, Any]) -> None:
    text = "the film was great but bad"
    default = explain(model, text, method, **options)
    assert default.target == default.prediction.label, "without a target the predicted label is explained"
    weights = []
    for label in model.labels:
        e = explain(model, text, method, target=label, **options)
        assert e.target == label, f"asked for {label!r}, got {e.target!r}"
        weights.append(e.weights)
    # Attention knows no target: that is the paper's point.
    own = _implementation(method, model)
    if own.needs not in (Attentive, Layered, Recorded) or "output" in own.uses:
        assert not np.allclose(weights[0], weights[1]), "the target makes no difference"


def _check_repeated_words(method: str, model: Classifier, options: dict[str, Any]) -> None:
    e = explain(model, "good good bad good", method, features="words", **options)
    assert e.features == ("good", "bad"), f"got features {e.features}"
    assert len(e.spans[0]) == 3, "a word that stands three times has three places"


def _check_odd_documents(method: str, model: Classifier, options: dict[str, Any]) -> None:
    for text in ("great", "zzzq xxyw qqqv", "[UNK] [UNK]", "Ein café für 我们 👍🏽 naïve", "!", "good " * 2000):
        for kind in ("words", "occurrences"):
            e = explain(model, text, method, features=kind, **options)
            assert np.isfinite(e.weights).all(), f"weights of {text[:20]!r} are not finite"
    assert e.notices, "a text that was cut without a notice"


def _check_serialisation(method: str, model: Classifier, options: dict[str, Any]) -> None:
    e = explain(model, "The film: <b>great</b>!", method, **options)
    data = json.loads(json.dumps(e.to_dict(), allow_nan=False))
    assert data["weights"] == e.weights.tolist(), "weights change when written as JSON"
    assert Explanation.from_dict(data) == e, "an explanation that is not the same when it is read back"
    assert "<b>" not in e.to_html(), "text reaches the page without being escaped"


class _Stopped(Exception):
    """How a call is cancelled here."""


class _Stopping(Silent):
    """Progress that cancels the call as soon as it hears of "begin" or "advance"."""

    def __init__(self, at: str) -> None:
        self._at, self.stopped, self.ended = at, False, False

    def begin(self, task: str, steps: int, done: int = 0) -> None:
        self._hear("begin")

    def advance(self, steps: int = 1, note: str = "") -> None:
        self._hear("advance")

    def end(self) -> None:
        self.ended = True

    def _hear(self, event: str) -> None:
        if event == self._at:
            self.stopped = True
            raise _Stopped


def _check_cancelling(method: str, model: Classifier, options: dict[str, Any]) -> None:
    text = "The film was great, but too long."
    before = explain(model, text, method, **options)
    for event in ("begin", "advance"):
        progress = _Stopping(event)
        try:
            explain(model, text, method, progress=progress, **options)
            swallowed = progress.stopped
        except _Stopped:
            swallowed = False
        assert not swallowed, "an exception of the progress was swallowed"
        assert progress.ended, "progress was not told that the work is over"
        assert explain(model, text, method, **options) == before, "a call that was stopped changes the next one"


Check = Callable[[str, Classifier, dict[str, Any]], None]


def _in_silence(check: Check) -> Check:
    """The texts are odd on purpose, and the samples few: whether to rely on such explanations is not the question."""

    @wraps(check)
    def silent(method: str, model: Classifier, options: dict[str, Any]) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExplanationWarning)
            check(method, model, options)

    return silent


_CHECKS: dict[str, Check] = {
    "shapes": _check_shapes,
    "what it says of itself": _check_what_it_says_of_itself,
    "spans": _check_spans,
    "determinism": _check_determinism,
    "model left alone": _check_model_is_left_alone,
    "targets": _check_targets,
    "repeated words": _check_repeated_words,
    "odd documents": _check_odd_documents,
    "serialisation": _check_serialisation,
    "cancelling": _check_cancelling,
}
CHECKS = {name: _in_silence(check) for name, check in _CHECKS.items()}
