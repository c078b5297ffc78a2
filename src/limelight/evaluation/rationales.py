"""Human rationales: the passages that people marked as the reason for a label, checked against the texts.

For each text a list of spans (start, end) of characters, or one 0 or 1 for each word that white space separates, as
ERASER has them; None where nobody marked anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from limelight.document import Span, Text
from limelight.errors import InputError, ParameterError, shown
from limelight.evaluation.elsewhere import checked_span

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
    if not isinstance(text, str):
        raise InputError(f"{where}: rationales are for single texts, and this is a pair")
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
    """For each text the edited one that has another label; None where there is none."""
    if given is None:
        return (None,) * len(texts)
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        raise ParameterError(f"counterfactuals must be a list with one text per text: got {shown(given)}")
    if len(given) != len(texts):
        raise InputError(f"there are {len(given)} counterfactuals for {len(texts)} texts: give one for each, or None")
    for other, text, id in zip(given, texts, ids, strict=True):
        if other is None:
            continue
        if not isinstance(other, str) or not isinstance(text, str):
            raise InputError(f"the counterfactual of text {shown(id)} must be a text: got {shown(other)}")
        if other == text:
            raise InputError(f"the counterfactual of text {shown(id)} is the text itself: give the edited one, or None")
    return tuple(given)
