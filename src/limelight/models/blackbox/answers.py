"""What a function answers: one row of numbers per text, checked; and what its logits are.

    classes       probabilities that add up to 1         logits are their logarithms
    multi-label   a probability of its own per label     logits are their log-odds
    regression    any numbers                            logits are these numbers

The logarithm of 0 is not finite: a probability closer to 0 or 1 than `FLOOR` is taken to be that far from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from limelight.core.arrays import Floats
from limelight.errors import InputError, NumericalError, shortened, shown
from limelight.inputs.document import Text
from limelight.models.outputs import Kind

FLOOR = 1e-9
"""How close to 0, or to 1, a probability counts."""
DOUBLE = 2.0**-53
_UNITS = {"bfloat16": 2.0**-8, "float16": 2.0**-11, "float32": 2.0**-24}
"""Half an eps: a number is rounded by such a part of itself. What is not listed is taken for double precision."""
_SUM_TOLERANCE = 1e-3
"""How far from 1 the probabilities of a text may add up, in any precision: two of them rounded to three digits."""
_STEPS = 3
"""Roundings of a softmax that all probabilities of a text share: of the exponential, of the sum and of the quotient."""
_DIGITS = (2, 3)
_MOST_OF_DIGITS = 0.05
"""Probabilities of a text that are all rounded to so many digits may add up to half of the last digit more or less for
each; at most this, lest many labels hide that something else is wrong."""
_ROUNDING = 1e-6
"""How far below 0 or above 1 a probability may be: 1 − p in single precision."""
SHOWN = 80
"""Characters of a function's message that an error repeats."""

_ONE_NUMBER = (
    "it gives one number per text; if that is the probability of the second of two labels, return both, "
    'np.stack([1 - p, p], axis=1); if it is that of a label which excludes no other, say kind="multi-label"; if it is '
    'no probability, kind="regression"'
)


# ── from what was returned to an array ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Answer:
    """An answer as numbers in float64; they were rounded by a part `unit` of each when they were given.

    `columns`: the names of a data frame's columns; None where they have none, and their order counts.
    """

    numbers: Floats
    unit: float = DOUBLE
    columns: tuple[str, ...] | None = None


def answer_of(given: Any) -> Answer:
    """What a function returned, as numbers; tensors are taken off their device and out of their graph."""
    try:
        columns = _columns(given)
        own, unit = _detached(given if columns is None else given.to_numpy())
        array = np.asarray(own)
        if array.dtype.name in _UNITS:
            unit = max(unit, _UNITS[array.dtype.name])
            array = array.astype(np.float32)  # NumPy has no arithmetic for bfloat16, which other libraries add to it
        if array.dtype.kind not in "biufO":
            raise TypeError(f"{array.dtype} is no type of number")
        if array.dtype.kind == "O" and (array.ndim == 0 or any(isinstance(x, str | bytes) for x in array.flat)):
            raise TypeError("there are no numbers in it")
        numbered = columns == tuple(map(str, range(len(columns or ()))))
        return Answer(array.astype(np.float64), unit, None if numbered else columns)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise InputError(
            f"the function must return an array of numbers, one row per text: got {type(given).__name__} "
            f"{shown(given)} ({shortened(str(error), SHOWN)})"
        ) from error


def _columns(given: Any) -> tuple[str, ...] | None:
    """The columns of a data frame of pandas, polars or the like."""
    columns = getattr(given, "columns", None)
    if columns is None or isinstance(given, np.ndarray) or not callable(getattr(given, "to_numpy", None)):
        return None
    return tuple(map(str, columns))


def _detached(given: Any) -> tuple[Any, float]:
    """Tensors of torch as arrays, whatever their device, precision and gradients, and how far they are rounded."""
    if isinstance(given, list | tuple):
        if all(type(own) in (float, int) for own in given):
            return given, DOUBLE
        rows, units = zip(*map(_detached, given), strict=True) if given else ((), ())
        return list(rows), max(units, default=DOUBLE)
    unit = _UNITS.get(str(getattr(given, "dtype", "")).rpartition(".")[2], DOUBLE)
    if callable(getattr(given, "detach", None)) and callable(getattr(given, "double", None)):
        return given.detach().double().cpu().numpy(), unit
    return given, unit


# ── from an array to rows that can be used ────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Checked:
    """An answer (texts, labels): the rows at `good` can be used, `problem` says what is wrong with another one."""

    rows: Floats
    good: npt.NDArray[np.bool_]
    problem: InputError | NumericalError | None = None


def checked(answer: Answer, texts: Sequence[Text], labels: Sequence[str], kind: Kind) -> Checked:
    """Tell good rows from bad ones; an answer of another shape says nothing of any text, and is an error."""
    rows = _in_columns(_in_order(answer, labels), len(texts), len(labels), kind)
    good = _are_good(rows, kind, answer.unit)
    usable = rows if kind == "regression" else np.clip(rows, 0.0, 1.0)
    return Checked(usable, good, None if good.all() else _problem(rows, texts, good, kind, answer.unit))


def _in_order(answer: Answer, labels: Sequence[str]) -> Floats:
    """The columns of a data frame in the order of the labels that they are called by; a single one needs no name."""
    names = answer.columns
    if names is None or len(names) == len(labels) == 1:
        return answer.numbers
    if sorted(names) != sorted(labels):
        raise InputError(
            f"the function gives a table with the columns {shown(list(names))}, and the labels are "
            f"{shown(list(labels))}: call the columns by the labels, in any order, or give an array without names, in "
            "the order of the labels"
        )
    return answer.numbers[:, [names.index(label) for label in labels]]


def columns_of_one(answer: Floats, kind: Kind) -> int:
    """How many labels a function has that was asked about one text."""
    if kind != "regression" and answer.shape in ((1,), (1, 1)):
        if kind == "classes":
            raise InputError(f"the function gave an array of shape {answer.shape} for one text: {_ONE_NUMBER}")
        return 1
    if answer.ndim != 2 or len(answer) != 1:
        raise InputError(
            f"the function gave an array of shape {answer.shape} for one text: it must return one row of numbers per "
            "text, (1, number of labels)"
        )
    return answer.shape[1]


def _in_columns(answer: Floats, texts: int, labels: int, kind: Kind) -> Floats:
    if answer.shape == (texts, labels):
        return answer
    if kind != "classes" and labels == 1 and answer.shape == (texts,):
        return answer[:, None]
    given = f"the function gave an array of shape {answer.shape} for {texts} texts and {labels} labels"
    if kind == "classes" and answer.shape in ((texts,), (texts, 1)):
        raise InputError(f"{given}: {_ONE_NUMBER}")
    hint = "; name its columns by labels=[…]" if answer.ndim == 2 and len(answer) == texts else ""
    raise InputError(f"{given}: it must return one row of numbers per text, {(texts, labels)}{hint}")


def _are_good(rows: Floats, kind: Kind, unit: float) -> npt.NDArray[np.bool_]:
    finite = np.isfinite(rows)
    if kind == "regression":
        return np.asarray(finite.all(axis=1))
    own = np.where(finite, rows, 2.0)  # no probability either, and no warning
    good = np.maximum(-own, own - 1).max(axis=1, initial=0.0) <= max(_ROUNDING, 2.0 * unit)
    return good & (np.abs(own.sum(axis=1) - 1) <= _sum_tolerance(own, unit)) if kind == "classes" else good


def _sum_tolerance(rows: Floats, unit: float) -> Floats:
    """How far from 1 each row (n, labels) may add up.

    A softmax in a precision is off by its three roundings and by those of the terms in its sum, which are as likely up
    as down: the root of their number. Numbers that were rounded for people are off by half a digit each.
    """
    labels = rows.shape[1]
    tolerance = np.full(len(rows), max(_SUM_TOLERANCE, unit * (_STEPS + np.sqrt(labels))))
    for digits in _DIGITS:
        steps = rows * 10.0**digits
        is_rounded = np.abs(steps - np.round(steps)).max(axis=1, initial=0.0) < 1e-4  # float32 cannot write 0.33
        of_digits = min(_MOST_OF_DIGITS, labels * 0.5 * 10.0**-digits)
        tolerance = np.where(is_rounded, np.maximum(tolerance, 1.001 * of_digits), tolerance)
    return tolerance


def _problem(
    rows: Floats, texts: Sequence[Text], good: npt.NDArray[np.bool_], kind: Kind, unit: float
) -> InputError | NumericalError:
    infinite = ~np.isfinite(rows).all(axis=1)
    if infinite.any():
        return NumericalError(
            f"the function gave numbers that are not finite for {infinite.sum()} of {len(texts)} texts: "
            f"{_row_and_text(rows, texts, int(infinite.argmax()))}; return finite numbers"
        )
    i = int(good.argmin())
    given = _row_and_text(rows, texts, i)
    if kind == "multi-label":
        return InputError(
            f"a multi-label function must return numbers from 0 to 1: {given}; apply a sigmoid to logits, or say "
            'kind="regression" if they are no probabilities'
        )
    within = _are_good(rows[i : i + 1], "multi-label", unit)[0]
    hint = 'or say kind="multi-label" if labels do not exclude each other' if within else 'or say kind="regression"'
    return InputError(
        f"the function must return probabilities, rows of numbers from 0 to 1 that add up to 1: {given}; apply a "
        f"softmax to logits, {hint}"
    )


def _row_and_text(rows: Floats, texts: Sequence[Text], i: int) -> str:
    return f"got {shown(rows[i].tolist())} for the text {shown(texts[i])}"


# ── from rows to logits ───────────────────────────────────────────────────────────────────────────────────────────────


def logits_of(rows: Floats, kind: Kind) -> Floats:
    """Of rows (n, labels): (n, labels), all finite."""
    if kind == "regression":
        return rows
    logits: Floats = np.log(np.maximum(rows, FLOOR))
    return logits if kind == "classes" else logits - np.log(np.maximum(1.0 - rows, FLOOR))


def clipped(rows: Floats, kind: Kind) -> npt.NDArray[np.bool_]:
    """Which probabilities (n, labels) have the logit of another one."""
    if kind == "regression":
        return np.zeros(rows.shape, dtype=bool)
    return rows < FLOOR if kind == "classes" else (rows < FLOOR) | (1.0 - rows < FLOOR)
