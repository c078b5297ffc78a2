"""What is given beside the texts: explanations that were made elsewhere, rationales and counterfactuals.

External explanations are entered as methods: weights of words or of spans, for each text.

    {"my-lime": [[("great", 0.4), ("dull", -0.2)], [((0, 5), 1.3)], …]}

One list per text, of pairs: a word or a span (start, end) of characters, and its weight. A word stands for its feature;
what is not named weighs 0. Names that a text does not have are an error that says which text. Where texts come in pairs
a span is (side, start, end), side 0 or 1, and a word may be (side, word): without a side it stands for both.

A rationale is what people marked as the reason for a label, a counterfactual the text that they edited to have another.
A rationale is a list of spans (start, end) of characters, or one 0 or 1 for each word that white space separates, as
ERASER has them; None where nobody marked anything. A pair of texts has two of these.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from limelight.core.arrays import Array, Floats
from limelight.errors import DataError, InputError, ParameterError, shown
from limelight.inputs.document import JOINT, Document, Span, Text, form_of, is_pair
from limelight.inputs.features import NOBODY, Features


@dataclass(frozen=True)
class External:
    """A method made elsewhere: what it says of each text, and whether any of its weights is negative."""

    name: str
    per_text: tuple[Any, ...]
    signed: bool


def read_external(given: object, ids: Sequence[int | str], taken: Sequence[str]) -> dict[str, External]:
    """Check what was given, as far as that can be told without reading the texts."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ParameterError(
            f'elsewhere must be a mapping such as {{"my method": [[("great", 0.4)], …]}}: got {shown(given)}'
        )
    methods = {}
    for name, per_text in given.items():
        if not isinstance(name, str) or not name.strip():
            raise ParameterError(f"a method made elsewhere needs a name: got {shown(name)}")
        if name in taken:
            raise InputError(f"a method made elsewhere is called {shown(name)}, like one of limelight's: rename it")
        if isinstance(per_text, str | Mapping) or not isinstance(per_text, Sequence):
            raise ParameterError(f"{shown(name)} must have a list with one entry per text: got {shown(per_text)}")
        if len(per_text) != len(ids):
            raise InputError(
                f"{shown(name)} explains {len(per_text)} texts, and there are {len(ids)}: give one list each"
            )
        pairs = [_pairs(name, own, id) for own, id in zip(per_text, ids, strict=True)]
        signed = any(weight < 0.0 for own in pairs for _, weight in own)
        methods[name] = External(name, tuple(pairs), signed)
    return methods


def _pairs(name: str, given: Any, id: int | str) -> tuple[tuple[Any, float], ...]:
    where = f"{shown(name)}, text {shown(id)}"
    if isinstance(given, Mapping):
        given = list(given.items())
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InputError(f"{where}: give a list of (word, weight) or ((start, end), weight): got {shown(given)}")
    pairs = []
    for entry in given:
        if isinstance(entry, str) or not isinstance(entry, Sequence) or len(entry) != 2:
            raise InputError(f"{where}: each entry is a word or span and its weight: got {shown(entry)}")
        thing, weight = entry
        if isinstance(weight, bool) or not isinstance(weight, int | float | np.number) or not math.isfinite(weight):
            raise InputError(f"{where}: a weight must be a finite number: got {shown(weight)} for {shown(thing)}")
        pairs.append((thing, float(weight)))
    return tuple(pairs)


def weights_of(method: External, number: int, id: int | str, document: Document, features: Features) -> Floats:
    """A weight per feature of one text."""
    where = f"{shown(method.name)}, text {shown(id)}"
    weights = np.zeros(len(features))
    by_name: dict[str, list[int]] = defaultdict(list)
    for j, name in enumerate(features.names):
        by_name[form_of(name)].append(j)
    of_words: dict[tuple[str, int | None], tuple[list[int], list[float]]] = {}
    for thing, weight in method.per_text[number]:
        side, word = _word(thing)
        if word is None:
            weights[_covered(thing, document, features, where)] += weight
            continue
        name = form_of(" ".join(word.split()))
        places = [j for j in by_name.get(name, ()) if side is None or document.side_of(features.spans[j][0][0]) == side]
        if not places:
            raise InputError(
                f"{where}: the word {shown(word)} is not in the text as the model reads it; give spans (start, end) of "
                "characters where words are divided otherwise"
            )
        of_words.setdefault((name, side), (places, []))[1].append(weight)
    for places, own in of_words.values():  # one weight for each place, in their order, or their mean
        weights[places] += own if len(own) == len(places) else sum(own) / len(places)
    return weights


def _word(thing: Any) -> tuple[int | None, str | None]:
    """A word, and in which text of a pair it stands where that is said; None where the thing is a span."""
    if isinstance(thing, str):
        return None, thing
    if isinstance(thing, Sequence) and len(thing) == 2 and isinstance(thing[1], str) and _is_side(thing[0]):
        return int(thing[0]), thing[1]
    return None, None


def _is_side(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and value in (0, 1)


def _covered(span: Any, document: Document, features: Features, where: str) -> list[int]:
    """The features that own a word which the span touches."""
    if document.second is None:
        start, end = checked_span(span, len(document.text), where)
    else:
        start, end = _span_of_pair(span, document, where)
    owners = sorted({*features.owners[marked_words(document, [(start, end)])].tolist()} - {NOBODY})
    if not owners:
        raise InputError(f"{where}: the span ({start}, {end}) holds no word that the model reads: leave it out")
    return owners


def marked_words(document: Document, spans: Sequence[Span]) -> Array:
    """Which words of a document a span touches."""
    return np.array([any(w.start < end and start < w.end for start, end in spans) for w in document.words], dtype=bool)


def checked_span(span: Any, length: int, where: str) -> tuple[int, int]:
    """Two places of characters in a text of this length."""
    if isinstance(span, Sequence | np.ndarray) and not isinstance(span, str) and len(span) == 2:
        start, end = span
        whole = all(isinstance(place, int | np.integer) and not isinstance(place, bool) for place in (start, end))
        if whole and 0 <= start < end <= length:
            return int(start), int(end)
    raise InputError(
        f"{where}: a span is (start, end) with 0 <= start < end <= {length}, the length of the text: got {shown(span)}"
    )


def _span_of_pair(span: Any, document: Document, where: str) -> tuple[int, int]:
    """A span (side, start, end) as places in both texts together."""
    if isinstance(span, str) or not isinstance(span, Sequence) or len(span) != 3 or not _is_side(span[0]):
        raise InputError(
            f"{where}: this is a pair of texts, where a span is (side, start, end), side 0 for the first text and 1 "
            f"for the second: got {shown(span)}"
        )
    first, last = document.sides[span[0]]
    start, end = checked_span(tuple(span[1:]), last - first, f"{where}, side {span[0]}")
    return start + first, end + first


def read_table(path: Path, ids: Sequence[int | str]) -> dict[str, list[list[Any]]]:
    """A table with the columns `id`, `weight`, `word` or `start` and `end`, and `method` where there are several.

    Of pairs of texts `side`, 0 or 1, says which of the two.

    Ids that the evaluation does not have are passed over; texts that the table does not have are an error.
    """
    from limelight.storage.labelled_texts import read_rows

    rows = read_rows(path, ("id", "weight"), ("method", "word", "start", "end", "side"))
    known = {str(id): number for number, id in enumerate(ids)}
    found: dict[str, list[list[Any]]] = {}
    for row, entry in enumerate(rows, start=1):
        number = known.get(str(entry["id"]))
        if number is None:
            continue
        name = str(entry.get("method") or path.stem)
        per_text: list[list[Any]] = found.setdefault(name, [[] for _ in ids])
        per_text[number].append((_thing(path, row, entry), _weight(path, row, entry["weight"])))
    if not found:
        raise DataError(f"{path} has no row for any of the texts: its ids must be theirs, such as {shown(ids[0])}")
    for name, per_text in found.items():
        if missing := [id for id, own in zip(ids, per_text, strict=True) if not own]:
            raise DataError(
                f"{path}: {shown(name)} has no row for {len(missing)} of {len(ids)} texts, the first is "
                f"{shown(missing[0])}: give all of them, or evaluate fewer texts"
            )
    return found


def _thing(path: Path, row: int, entry: Mapping[str, Any]) -> Any:
    try:
        side = () if entry.get("side") in (None, "") else (int(entry["side"]),)
        if entry.get("word") not in (None, ""):
            return (*side, str(entry["word"])) if side else str(entry["word"])
        return (*side, int(entry["start"]), int(entry["end"]))
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"{path}, row {row}: give a word, or whole numbers in start and end; of a pair of texts also 0 or 1 in side"
        ) from error


def _weight(path: Path, row: int, given: Any) -> float:
    try:
        return float(given)
    except (TypeError, ValueError) as error:
        raise DataError(f"{path}, row {row}: the weight must be a number: got {shown(given)}") from error


# ── rationales and counterfactuals ────────────────────────────────────────────────────────────────────────────────────


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
