"""Any function from texts to probabilities: nothing is known of it, so only perturbation methods apply.

A removed word is replaced in the text by a string, or cut out of it; all other characters stay as they are. The
function then does whatever it does with such a text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from limelight.arrays import Coalitions, Floats, whole_number
from limelight.document import UNKNOWN, Document, Span
from limelight.errors import CapabilityError, InputError, LimelightError, NumericalError, ParameterError
from limelight.features import Features
from limelight.models.coalitions import AnsweredCoalitions, checked_coalitions, first_rows
from limelight.progress import SILENT, Progress
from limelight.view import Classifier, Memo, Perturbable, Removal, View

Function = Callable[[list[str]], Any]

FLOOR = 1e-9
"""The logarithm of a probability of zero is not finite: what is below this counts as this."""
_SUM_TOLERANCE = 1e-3
"""How far from 1 the probabilities of a text may add up: half precision and rounding to three digits."""
_ROUNDING = 1e-6
"""How far below 0 or above 1 a probability may be: 1 − p in single precision."""
TEXTS_AT_ONCE = 512
_CHARACTERS_AT_ONCE = 2**25
"""Characters of the texts that are made for one call of the function: of a long text there are fewer at once."""
_SHOWN = 80
"""Characters of a text or of an answer in an error."""


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
            raise ParameterError(
                f"a function from texts to probabilities is needed, or an object with predict_proba: got "
                f"{type(function).__name__}"
            )
        if not isinstance(mask, str):
            raise ParameterError(f"mask must be a string, which stands for a removed word: got {mask!r}")
        self.batch_texts = whole_number("batch_texts", batch_texts, 1)
        self._function, self.mask = function, mask
        if labels is None:  # only the function knows how many there are
            labels = [f"class {c}" for c in range(_n_columns(self._rows(["text"])))]
        if isinstance(labels, str) or not isinstance(labels, Iterable):
            raise ParameterError(f"labels must be a list of names: got {labels!r}; write labels=[…]")
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
        if not isinstance(texts, Iterable):
            raise InputError(f"predict_proba takes a list of texts: got {type(texts).__name__}")
        texts = list(texts)
        if odd := [text for text in texts if not isinstance(text, str)]:
            raise InputError(f"a text must be a string: got {type(odd[0]).__name__}; decode bytes first")
        batches = [texts[i : i + self.batch_texts] for i in range(0, len(texts), self.batch_texts)]
        return np.concatenate([np.zeros((0, len(self.labels))), *map(self._checked, batches)])

    def predict_logits(self, texts: Sequence[str]) -> Floats:
        """The logarithms of the probabilities."""
        return np.log(np.maximum(self.predict_proba(texts), FLOOR))

    def _checked(self, texts: list[str]) -> Floats:
        """Probabilities of each text; an error shows the text that it is about."""
        p = self._rows(texts)
        wanted = (len(texts), len(self.labels))
        if p.shape != wanted:
            raise InputError(
                f"the function gave an array of shape {p.shape} for {len(texts)} texts and {len(self.labels)} labels: "
                f"it must return one row of probabilities per text, {wanted}"
            )
        infinite = ~np.isfinite(p).all(axis=1)
        if infinite.any():
            raise NumericalError(
                f"the function gave numbers that are not finite for {infinite.sum()} of {len(texts)} texts: "
                f"{_row_and_text(p, texts, int(infinite.argmax()))}; return finite probabilities"
            )
        beyond = np.maximum(-p, p - 1).max(axis=1) > _ROUNDING
        wrong = beyond | (np.abs(p.sum(axis=1) - 1) > _SUM_TOLERANCE)
        if wrong.any():
            raise InputError(
                "the function must return probabilities, rows of numbers from 0 to 1 that add up to 1: "
                f"{_row_and_text(p, texts, int(wrong.argmax()))}; apply a softmax to logits"
            )
        return np.clip(p, 0.0, 1.0)

    def _rows(self, texts: list[str]) -> Floats:
        """What the function returns, as an array of float64."""
        try:
            answer = self._function(list(texts))
            if isinstance(answer, Iterator):
                answer = list(islice(answer, len(texts) + 1))
        except LimelightError:
            raise
        except Exception as error:
            where = f"on {len(texts)} texts at once" if len(texts) > 1 else "on a text"
            what = f"{type(error).__name__}: {_shortened(str(error)) or 'without a message'}"
            raise InputError(f"the function failed {where}, {what}; {self._culprit(texts)}") from error
        return _array(answer)

    def _culprit(self, texts: list[str]) -> str:
        """A text that the function fails on, found by halves; a batch may also fail where none of its texts does."""
        suspects = texts
        while len(suspects) > 1:
            half = len(suspects) // 2
            suspects = suspects[:half] if self._fails(suspects[:half]) else suspects[half:]
        if len(texts) > 1 and not self._fails(suspects):
            return f"one text at a time does not fail, such as {_shortened(repr(texts[0]))}: try a smaller batch_texts"
        return f"make it take {_shortened(repr(suspects[0]))}"

    def _fails(self, texts: list[str]) -> bool:
        try:
            answer = self._function(list(texts))
            if isinstance(answer, Iterator):
                list(islice(answer, len(texts) + 1))
        except Exception:
            return True
        return False


def _array(answer: Any) -> Floats:
    """An answer as an array of float64; tensors are taken off their device and out of their graph."""
    try:
        if isinstance(answer, list | tuple):
            answer = [_detached(row) for row in answer]
        array = np.asarray(_detached(answer))
        if array.dtype.kind not in "biufO":
            raise TypeError(f"{array.dtype} is no type of number")
        if array.dtype.kind == "O" and (array.ndim == 0 or any(isinstance(x, str | bytes) for x in array.flat)):
            raise TypeError("there are no numbers in it")
        return array.astype(np.float64)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise InputError(
            f"the function must return an array of numbers, one row per text: got {type(answer).__name__} "
            f"{_shortened(repr(answer))} ({_shortened(str(error))})"
        ) from error


def _detached(answer: Any) -> Any:
    """A tensor of torch as an array, whatever its device, precision and gradients."""
    if callable(getattr(answer, "detach", None)) and callable(getattr(answer, "double", None)):
        return answer.detach().double().cpu().numpy()
    return answer


def _n_columns(rows: Floats) -> int:
    if rows.ndim != 2 or len(rows) != 1:
        raise InputError(
            f"the function gave an array of shape {rows.shape} for one text: it must return one row of probabilities "
            "per text, (1, number of labels)"
        )
    return rows.shape[1]


def _row_and_text(p: Floats, texts: Sequence[str], i: int) -> str:
    return f"got {_shortened(str(p[i].tolist()))} for the text {_shortened(repr(texts[i]))}"


def _shortened(message: str) -> str:
    line = " ".join(message.split())
    return line if len(line) <= _SHOWN else line[:_SHOWN] + "…"


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
        kept = checked_coalitions(kept, self._features)
        first, which = first_rows(kept)
        repetitions = np.bincount(which, minlength=len(first))
        logits = np.empty((len(first), len(self._model.labels)))
        answered = AnsweredCoalitions(self._progress)
        step = max(1, min(self._model.batch_texts, _CHARACTERS_AT_ONCE // max(1, self._cutter.longest)))
        for start in range(0, len(first), step):
            rows = slice(start, start + step)
            texts = [self._cutter.without(kept[i]) for i in first[rows]]
            logits[rows] = self._model.predict_logits(texts)
            self.asked += len(texts)
            answered.add(int(repetitions[rows].sum()))
        return logits[which]


class _Cutter:
    """A text with the words of removed features replaced by a string."""

    def __init__(self, text: str, features: Features, replacement: str) -> None:
        self._replacement = replacement
        owned: list[tuple[Span, int]] = sorted((span, j) for j, spans in enumerate(features.spans) for span in spans)
        self._owners = np.array([j for _, j in owned], dtype=np.int64)
        ends = [0, *(end for (_, end), _ in owned)]
        starts = [*(start for (start, _), _ in owned), len(text)]
        # Words stand between what is around them: at 1, 3, 5, …
        self._pieces = np.empty(2 * len(owned) + 1, dtype=object)
        self._pieces[0::2] = [text[end:start] for end, start in zip(ends, starts, strict=True)]
        self._pieces[1::2] = [text[start:end] for (start, end), _ in owned]
        self.longest = len(text) + len(owned) * len(replacement)
        """No variant has more characters."""

    def without(self, kept: Coalitions) -> str:
        pieces = self._pieces.copy()
        pieces[1::2][~kept[self._owners]] = self._replacement
        return "".join(pieces.tolist())


if TYPE_CHECKING:

    class _Claimed(View, Perturbable, Protocol): ...

    def _is_what_it_claims(view: BlackBoxView) -> _Claimed:
        return view

    def _is_a_classifier(model: BlackBoxClassifier) -> Classifier:
        return model
