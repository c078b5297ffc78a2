"""Explanations made elsewhere, entered as methods: weights of words or of spans, for each text.

    {"my-lime": [[("great", 0.4), ("dull", -0.2)], [((0, 5), 1.3)], …]}

One list per text, of pairs: a word or a span (start, end) of characters, and its weight. A word stands for its feature;
what is not named weighs 0. Names that a text does not have are an error that says which text.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from limelight.arrays import Floats
from limelight.document import Document, form_of
from limelight.errors import DataError, InputError, ParameterError, shown
from limelight.features import NOBODY, Features

Given = Mapping[str, Sequence[Any]]
"""For each name one list per text."""


@dataclass(frozen=True)
class Elsewhere:
    """One method made elsewhere: what it says of each text, and whether any of its weights is negative."""

    name: str
    per_text: tuple[Any, ...]
    signed: bool


def read_elsewhere(given: object, ids: Sequence[int | str], taken: Sequence[str]) -> dict[str, Elsewhere]:
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
        methods[name] = Elsewhere(name, tuple(pairs), signed)
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


def weights_of(method: Elsewhere, number: int, id: int | str, document: Document, features: Features) -> Floats:
    """A weight per feature of one text."""
    where = f"{shown(method.name)}, text {shown(id)}"
    weights = np.zeros(len(features))
    by_name: dict[str, list[int]] = defaultdict(list)
    for j, name in enumerate(features.names):
        by_name[form_of(name)].append(j)
    seen: dict[str, list[float]] = defaultdict(list)
    for thing, weight in method.per_text[number]:
        if isinstance(thing, str):
            name = form_of(" ".join(thing.split()))
            if name not in by_name:
                raise InputError(
                    f"{where}: the word {shown(thing)} is not in the text as the model reads it; give spans (start, "
                    "end) of characters where words are divided otherwise"
                )
            seen[name].append(weight)
        else:
            for j in _covered(thing, document, features, where):
                weights[j] += weight
    for name, own in seen.items():
        places = by_name[name]
        if len(own) == len(places):  # one for each place, in their order
            for j, weight in zip(places, own, strict=True):
                weights[j] += weight
        else:
            for j in places:
                weights[j] += sum(own) / len(places)
    return weights


def _covered(span: Any, document: Document, features: Features, where: str) -> list[int]:
    """The features that own a word which the span touches."""
    start, end = checked_span(span, len(document.text), where)
    touched = [i for i, word in enumerate(document.words) if word.start < end and start < word.end]
    owners = sorted({int(features.owners[i]) for i in touched} - {NOBODY})
    if not owners:
        raise InputError(f"{where}: the span ({start}, {end}) holds no word that the model reads: leave it out")
    return owners


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


def read_table(path: Path, ids: Sequence[int | str]) -> dict[str, list[list[Any]]]:
    """A table with the columns `id`, `weight`, `word` or `start` and `end`, and `method` where there are several.

    Ids that the evaluation does not have are passed over; texts that the table does not have are an error.
    """
    from limelight.data import read_rows

    rows = read_rows(path, ("id", "weight"), ("method", "word", "start", "end"))
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
    if entry.get("word") not in (None, ""):
        return str(entry["word"])
    try:
        return int(entry["start"]), int(entry["end"])
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}, row {row}: give a word, or whole numbers in start and end") from error


def _weight(path: Path, row: int, given: Any) -> float:
    try:
        return float(given)
    except (TypeError, ValueError) as error:
        raise DataError(f"{path}, row {row}: the weight must be a number: got {shown(given)}") from error
