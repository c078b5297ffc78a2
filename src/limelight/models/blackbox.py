"""Any function from texts to probabilities: nothing is known of it, so only perturbation methods apply.

A removed word is replaced in the text by a string, or cut out of it; all other characters stay as they are. The
function then does whatever it does with such a text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from limelight.document import UNKNOWN, Document, Features, Span
from limelight.errors import InputError, NumericalError, ParameterError
from limelight.models.huggingface.runner import Progress, distinct_rows
from limelight.theory.ratio_game import Coalitions
from limelight.view import Game, Removal

Floats = npt.NDArray[np.float64]
Function = Callable[[list[str]], Any]

FLOOR = 1e-9
"""The logarithm of a probability of zero is not finite: what is below this counts as this."""
_SUM_TOLERANCE = 1e-3
"""How far from 1 the probabilities of a text may add up: half precision and rounding to three digits."""
TEXTS_AT_ONCE = 512


@dataclass(frozen=True)
class ProbabilityDocument(Document):
    """A document of a model that gives no logits."""

    @property
    def notices(self) -> tuple[str, ...]:
        return (
            *super().notices,
            f"this model gives probabilities alone: its logits are their logarithms, those below {FLOOR:g} taken as "
            f"{FLOOR:g}",
        )


class BlackBoxClassifier:
    """A function `texts -> probabilities` (n texts to n rows that sum to 1) as a classifier.

    Its logits are log-probabilities. `mask` stands in the place of a removed word.
    """

    removals: tuple[Removal, ...] = ("mask", "delete")

    def __init__(
        self,
        function: Function,
        labels: Sequence[str] | None = None,
        *,
        mask: str = UNKNOWN,
        batch_texts: int = TEXTS_AT_ONCE,
        progress: Progress | None = None,
    ) -> None:
        if not callable(function):
            raise ParameterError(f"a function from texts to probabilities is needed: got {type(function).__name__}")
        if isinstance(batch_texts, bool) or not isinstance(batch_texts, int) or batch_texts < 1:
            raise ParameterError(f"batch_texts must be a whole number of at least 1: got {batch_texts!r}")
        self._function, self._mask, self._at_once = function, mask, batch_texts
        self.progress = progress
        if labels is None:  # only the function knows how many there are
            labels = [f"class {c}" for c in range(_array(function(["text"])).shape[-1])]
        self.labels = tuple(map(str, labels))
        if len(self.labels) < 2 or len(set(self.labels)) != len(self.labels):
            raise ParameterError(f"a classifier needs at least two labels, all different: got {self.labels!r}")

    def __repr__(self) -> str:
        return f"BlackBoxClassifier({getattr(self._function, '__qualname__', self._function)!s}, labels={self.labels})"

    def read(self, text: str) -> Document:
        document = Document.read(text)
        return ProbabilityDocument(document.text, document.words)

    def predict_proba(self, texts: Sequence[str]) -> Floats:
        """What the function says, checked: (n, classes), rows sum to 1."""
        if isinstance(texts, str):
            raise InputError("predict_proba takes a list of texts: got one string; write predict_proba([text])")
        batches = [texts[i : i + self._at_once] for i in range(0, len(texts), self._at_once)]
        return np.concatenate([np.zeros((0, len(self.labels))), *(self._checked(list(batch)) for batch in batches)])

    def predict_logits(self, texts: Sequence[str]) -> Floats:
        """The logarithms of the probabilities."""
        return np.log(np.maximum(self.predict_proba(texts), FLOOR))

    def perturb(self, document: Document, features: Features, removal: Removal) -> Game:
        """Logits of the text without some of its words; the same set of words is asked for once."""
        cutter = _Cutter(document.text, features, self._mask if removal == "mask" else "")

        def game(kept: Coalitions) -> Floats:
            distinct, which = distinct_rows(np.asarray(kept, dtype=bool))
            logits = np.empty((len(distinct), len(self.labels)))
            for start in range(0, len(distinct), self._at_once):
                rows = distinct[start : start + self._at_once]
                logits[start : start + len(rows)] = self.predict_logits([cutter.without(row) for row in rows])
                if self.progress is not None:
                    self.progress(start + len(rows), len(distinct))
            return logits[which]

        return game

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


def _array(found: Any) -> Floats:
    try:
        return np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"the function must return an array of numbers, one row per text: {error}") from error


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

    def without(self, kept: npt.NDArray[np.bool_]) -> str:
        pieces = [self._between[0]]
        for word, owner, behind in zip(self._words, self._owners, self._between[1:], strict=True):
            pieces.append(word if kept[owner] else self._replacement)
            pieces.append(behind)
        return "".join(pieces)
