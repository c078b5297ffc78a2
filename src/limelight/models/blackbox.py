"""Any function from texts to probabilities: nothing is known of it, so only perturbation methods apply.

A removed word is replaced in the text by a string, or cut out of it; all other characters stay as they are. The
function then does whatever it does with such a text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from limelight.arrays import Coalitions, Floats, whole_number
from limelight.document import UNKNOWN, Document, Span
from limelight.errors import CapabilityError, InputError, NumericalError, ParameterError
from limelight.features import Features
from limelight.models.coalitions import AnsweredCoalitions, checked_coalitions, distinct_rows
from limelight.progress import SILENT, Progress
from limelight.view import Classifier, Memo, Perturbable, Removal, View

Function = Callable[[list[str]], Any]

FLOOR = 1e-9
"""The logarithm of a probability of zero is not finite: what is below this counts as this."""
_SUM_TOLERANCE = 1e-3
"""How far from 1 the probabilities of a text may add up: half precision and rounding to three digits."""
TEXTS_AT_ONCE = 512


_LOGITS = (
    f"this model gives probabilities alone: its logits are their logarithms, those below {FLOOR:g} taken as {FLOOR:g}"
)


class BlackBoxClassifier:
    """A function `texts -> probabilities` (n texts to n rows that sum to 1) as a classifier.

    Its logits are log-probabilities. `mask` stands in the place of a removed word.
    """

    def __init__(
        self,
        function: Function,
        labels: Sequence[str] | None = None,
        *,
        mask: str = UNKNOWN,
        batch_texts: int = TEXTS_AT_ONCE,
    ) -> None:
        if not callable(function):
            raise ParameterError(f"a function from texts to probabilities is needed: got {type(function).__name__}")
        self.batch_texts = whole_number("batch_texts", batch_texts, 1)
        self._function, self.mask = function, mask
        if labels is None:  # only the function knows how many there are
            labels = [f"class {c}" for c in range(_array(function(["text"])).shape[-1])]
        self.labels = tuple(map(str, labels))
        if len(self.labels) < 2 or len(set(self.labels)) != len(self.labels):
            raise ParameterError(f"a classifier needs at least two labels, all different: got {self.labels!r}")

    def __repr__(self) -> str:
        return f"BlackBoxClassifier({getattr(self._function, '__qualname__', self._function)!s}, labels={self.labels})"

    def view(self, text: str) -> BlackBoxView:
        """The function asked about a text."""
        return BlackBoxView(self, Document(text, Document.read(text).words, (_LOGITS,)))

    def predict_proba(self, texts: Sequence[str]) -> Floats:
        """What the function says, checked: (n, classes), rows sum to 1."""
        if isinstance(texts, str):
            raise InputError("predict_proba takes a list of texts: got one string; write predict_proba([text])")
        batches = [texts[i : i + self.batch_texts] for i in range(0, len(texts), self.batch_texts)]
        return np.concatenate([np.zeros((0, len(self.labels))), *(self._checked(list(batch)) for batch in batches)])

    def predict_logits(self, texts: Sequence[str]) -> Floats:
        """The logarithms of the probabilities."""
        return np.log(np.maximum(self.predict_proba(texts), FLOOR))

    def _checked(self, texts: list[str]) -> Floats:
        p = _array(self._function(texts))
        wanted = (len(texts), len(self.labels))
        if p.shape != wanted:
            raise InputError(
                f"the function gave an array of shape {p.shape} for {len(texts)} texts and {len(self.labels)} labels: "
                f"it must return one row of probabilities per text, {wanted}"
            )
        if not np.isfinite(p).all():
            raise NumericalError(f"the function gave {int((~np.isfinite(p)).sum())} numbers that are not finite")
        if (p < 0).any() or np.abs(p.sum(axis=1) - 1).max() > _SUM_TOLERANCE:
            worst = p[np.abs(p.sum(axis=1) - 1).argmax()]
            raise InputError(
                f"the function must return probabilities, rows of numbers from 0 to 1 that add up to 1: got "
                f"{worst.tolist()}; apply a softmax to logits"
            )
        return p


def _array(answer: Any) -> Floats:
    try:
        return np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"the function must return an array of numbers, one row per text: {error}") from error


class BlackBoxView:
    """What methods see: games, whose every variant is a text."""

    removals: tuple[Removal, ...] = ("mask", "delete")

    def __init__(self, model: BlackBoxClassifier, document: Document) -> None:
        self._model, self.document = model, document
        self._memo = Memo()

    @property
    def labels(self) -> tuple[str, ...]:
        return self._model.labels

    @property
    def logits(self) -> Floats:
        return self._memo.get("logits", lambda: self._model.predict_logits([self.document.text])[0])

    def game(self, features: Features, removal: Removal, progress: Progress = SILENT) -> TextGame:
        """Logits of the text with the words of features replaced, or cut out."""
        if removal not in self.removals:
            raise CapabilityError(
                f"this model does not take words out by {removal!r}: use {' or '.join(map(repr, self.removals))}"
            )
        replacement = self._model.mask if removal == "mask" else ""
        return TextGame(self._model, self.document.text, features, replacement, progress)


class TextGame:
    """Logits of a text without some of its words; the same set of words is asked for once in a call."""

    def __init__(
        self, model: BlackBoxClassifier, text: str, features: Features, replacement: str, progress: Progress
    ) -> None:
        self._model, self._features, self._progress = model, len(features), progress
        self._cutter = _Cutter(text, features, replacement)
        self.asked = 0

    def __call__(self, kept: Coalitions) -> Floats:
        distinct, which = distinct_rows(checked_coalitions(kept, self._features))
        repetitions = np.bincount(which, minlength=len(distinct))
        logits = np.empty((len(distinct), len(self._model.labels)))
        answered = AnsweredCoalitions(self._progress)
        for start in range(0, len(distinct), self._model.batch_texts):
            rows = slice(start, start + self._model.batch_texts)
            texts = [self._cutter.without(row) for row in distinct[rows]]
            logits[rows] = self._model.predict_logits(texts)
            self.asked += len(texts)
            answered.add(int(repetitions[rows].sum()))
        return logits[which]


class _Cutter:
    """A text with the words of removed features replaced by a string."""

    def __init__(self, text: str, features: Features, replacement: str) -> None:
        self._replacement = replacement
        owned: list[tuple[Span, int]] = sorted((span, j) for j, spans in enumerate(features.spans) for span in spans)
        self._owners = [j for _, j in owned]
        self._words = [text[start:end] for (start, end), _ in owned]
        ends = [0, *(end for (_, end), _ in owned)]
        starts = [*(start for (start, _), _ in owned), len(text)]
        self._between = [text[end:start] for end, start in zip(ends, starts, strict=True)]

    def without(self, kept: Coalitions) -> str:
        pieces = [self._between[0]]
        for word, owner, behind in zip(self._words, self._owners, self._between[1:], strict=True):
            pieces.append(word if kept[owner] else self._replacement)
            pieces.append(behind)
        return "".join(pieces)


if TYPE_CHECKING:

    class _Claimed(View, Perturbable, Protocol): ...

    def _is_what_it_claims(view: BlackBoxView) -> _Claimed:
        return view

    def _is_a_classifier(model: BlackBoxClassifier) -> Classifier:
        return model
