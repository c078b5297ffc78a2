"""Rationales and counterfactuals: what people marked as the reason for a label, and edited to have another.

A rationale is a list of spans (start, end) of characters, or one 0 or 1 for each word that white space separates, as
ERASER has them; None where nobody marked anything. A pair of texts has two of these.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from limelight.errors import InputError, ParameterError, shown
from limelight.evaluation.external import checked_span
from limelight.inputs.document import JOINT, Span, Text, is_pair

_TOKEN = re.compile(r"\S+")


@dataclass(frozen=True)
class Beside:
    """A text's rationale and counterfactual."""

    rationale: tuple[Span, ...] | None = None
    counterfactual: Text | None = None


def read_besides(
    rationales: object, counterfactuals: object, texts: Sequence[Text], ids: Sequence[int | str]
) -> tuple[Beside, ...]:
    """The marked spans and the edited form of each text; an error names the text that they do not fit."""
    marked = _per_text("rationales", "entry", rationales, len(texts))
    edited = _per_text("counterfactuals", "text", counterfactuals, len(texts))
    rows = zip(marked, edited, texts, ids, strict=True)
    return tuple(Beside(_rationale(own, text, id), _counterfactual(other, text, id)) for own, other, text, id in rows)


def _per_text(name: str, entry: str, given: object, count: int) -> Sequence[Any]:
    if given is None:
        return (None,) * count
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        raise ParameterError(f"{name} must be a list with one {entry} per text: got {shown(given)}")
    if len(given) != count:
        raise InputError(f"there are {len(given)} {name} for {count} texts: give one for each, or None")
    return list(given)


def _rationale(given: Any, text: Text, id: int | str) -> tuple[Span, ...] | None:
    if given is None:
        return None
    where = f"the rationale of text {shown(id)}"
    if isinstance(text, str):
        return _of_one(given, text, where)
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2 or any(map(_is_mark, given)):
        raise InputError(
            f"{where} must be two rationales, one for each text of the pair, such as [[[0, 5]], []]: got {shown(given)}"
        )
    marked = [
        () if own is None else _of_one(own, side, f"{where}, {name} of the pair")
        for own, side, name in zip(given, text, ("first", "second"), strict=True)
    ]
    begins = len(text[0]) + len(JOINT)
    return (*marked[0], *((start + begins, end + begins) for start, end in marked[1]))


def _of_one(given: Any, text: str, where: str) -> tuple[Span, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        raise InputError(f"{where} must be a list of spans, or of zeros and ones: got {shown(given)}")
    marks = list(given)
    if marks and all(_is_mark(mark) for mark in marks):
        tokens = [match.span() for match in _TOKEN.finditer(text)]
        if len(marks) != len(tokens):
            raise InputError(
                f"{where} has {len(marks)} zeros and ones, and the text has {len(tokens)} words between white space: "
                "give one for each, or spans (start, end) of characters"
            )
        return tuple(token for token, mark in zip(tokens, marks, strict=True) if mark)
    return tuple(checked_span(span, len(text), where) for span in marks)


def _is_mark(value: Any) -> bool:
    return isinstance(value, int | np.integer | bool | np.bool_) and int(value) in (0, 1)


def _counterfactual(given: Any, text: Text, id: int | str) -> Text | None:
    """The edited text, or pair, that has another label."""
    if given is None:
        return None
    if not (isinstance(given, str) if isinstance(text, str) else is_pair(given)):
        wanted = "a text" if isinstance(text, str) else "a pair of texts, a tuple of two strings"
        raise InputError(f"the counterfactual of text {shown(id)} must be {wanted}: got {shown(given)}")
    if given == text:
        raise InputError(f"the counterfactual of text {shown(id)} is the text itself: give the edited one, or None")
    own: Text = given
    return own
