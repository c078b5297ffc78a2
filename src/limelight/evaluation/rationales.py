"""Human rationales: the passages that people marked as the reason for a label, checked against the texts.

For each text a list of spans (start, end) of characters, or one 0 or 1 for each word that white space separates, as
ERASER has them; None where nobody marked anything. For a pair of texts two of these.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from limelight.errors import InputError, ParameterError, shown
from limelight.evaluation.external import checked_span
from limelight.inputs.document import JOINT, Span, Text, is_pair

_TOKEN = re.compile(r"\S+")


def read_rationales(
    given: object, texts: Sequence[Text], ids: Sequence[int | str]
) -> tuple[tuple[Span, ...] | None, ...]:
    """The marked spans of each text; an error names the text that they do not fit."""
    if given is None:
        return (None,) * len(texts)
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        raise ParameterError(f"rationales must be a list with one entry per text: got {shown(given)}")
    if len(given) != len(texts):
        raise InputError(f"there are {len(given)} rationales for {len(texts)} texts: give one for each, or None")
    return tuple(_of_text(own, text, id) for own, text, id in zip(given, texts, ids, strict=True))


def _of_text(given: Any, text: Text, id: int | str) -> tuple[Span, ...] | None:
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


def read_counterfactuals(given: object, texts: Sequence[Text], ids: Sequence[int | str]) -> tuple[Text | None, ...]:
    """For each text, or pair, the edited one that has another label; None where there is none."""
    if given is None:
        return (None,) * len(texts)
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        raise ParameterError(f"counterfactuals must be a list with one text per text: got {shown(given)}")
    if len(given) != len(texts):
        raise InputError(f"there are {len(given)} counterfactuals for {len(texts)} texts: give one for each, or None")
    for other, text, id in zip(given, texts, ids, strict=True):
        if other is None:
            continue
        if not (isinstance(other, str) if isinstance(text, str) else is_pair(other)):
            wanted = "a text" if isinstance(text, str) else "a pair of texts, a tuple of two strings"
            raise InputError(f"the counterfactual of text {shown(id)} must be {wanted}: got {shown(other)}")
        if other == text:
            raise InputError(f"the counterfactual of text {shown(id)} is the text itself: give the edited one, or None")
    return tuple(given)
