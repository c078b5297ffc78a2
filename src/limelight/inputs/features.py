"""What an explanation gives weights to: sets of words, which are removed together.

    words         all occurrences of a word at once: LIME's bag of words
    occurrences   each by itself
    sentences     see `segmentation`
    phrases       see `segmentation`

or character spans: a list of them, or a function from a text to such a list. A feature owns the words that its span
covers; words that no feature owns are never removed. Two kinds, such as ("sentences", "words"), are two levels: the
features are the words within each sentence, and the sentences are their groups.

The texts of a pair do not share features: a word that stands in both is two of them.
"""

from __future__ import annotations

import contextlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import Any, Literal

import numpy as np

from limelight.core.arrays import Floats, Integers
from limelight.errors import InputError, LimelightError, ParameterError, known_name, shown
from limelight.inputs.document import Document, Span, Word

Wanted = str | tuple[Any, Any] | Sequence[Any] | Callable[[str], Any]
"""A kind of features, two of them, spans, or a function that finds spans."""
Parts = Literal["both", "first", "second"]
"""Which texts of a pair have features; the other one is never touched."""
NOBODY = -1
"""The owner of a word that belongs to no feature."""
OF_WORDS = ("words", "occurrences")
OF_PASSAGES = ("sentences", "phrases")
KINDS = (*OF_WORDS, *OF_PASSAGES)


@dataclass(frozen=True)
class Groups:
    """The outer of two levels: group g stands at `spans[g]` and holds the features `members[g]`."""

    names: tuple[str, ...]
    spans: tuple[tuple[Span, ...], ...]
    members: tuple[tuple[int, ...], ...]

    def owners(self, features: int) -> Integers:
        """For each feature the group that holds it."""
        owners = np.empty(features, dtype=np.int64)
        for g, members in enumerate(self.members):
            owners[list(members)] = g
        return owners


@dataclass(frozen=True)
class Features:
    """Feature j owns the words `owned[j]` (indices into the document's words), and stands at `spans[j]`."""

    kind: str
    names: tuple[str, ...]
    owned: tuple[tuple[int, ...], ...]
    spans: tuple[tuple[Span, ...], ...]
    owners: Integers
    """For each word of the document the feature that owns it."""
    groups: Groups | None = None

    def __len__(self) -> int:
        return len(self.names)

    @property
    def membership(self) -> Floats | None:
        """1 where a feature is in a group, else 0: (features, groups)."""
        if self.groups is None:
            return None
        return np.eye(len(self.groups.members))[self.groups.owners(len(self))]

    def total(self, per_position: Floats, words: Integers) -> Floats:
        """What belongs to positions, summed into the words that they stand for, and these into their features."""
        owners = self.owners[words]
        owned = owners != NOBODY
        total: Floats = np.bincount(owners[owned], weights=per_position[owned], minlength=len(self)).astype(np.float64)
        return total


# ── from what was asked to features ───────────────────────────────────────────────────────────────────────────────────


def checked_kind(wanted: object) -> Wanted:
    """What was asked for, as far as that can be told without a text."""
    if isinstance(wanted, str):
        return known_name("kind of features", wanted, KINDS)
    if isinstance(wanted, tuple) and len(wanted) == 2 and isinstance(wanted[1], str):
        if isinstance(wanted[0], str):
            known_name("kind of features for the outer level", wanted[0], OF_PASSAGES)
        known_name("kind of features for the inner level", wanted[1], [kind for kind in KINDS if kind != "sentences"])
        if isinstance(wanted[0], str) and wanted[0] == wanted[1]:
            raise InputError(f"two levels must differ: got {shown(wanted)}; write features={shown(wanted[0])}")
        return wanted
    if callable(wanted):
        return wanted
    if isinstance(wanted, Iterable) and not isinstance(wanted, bytes | bytearray | Mapping):
        with contextlib.suppress(TypeError):  # NumPy's scalars say that they can be iterated over
            return list(wanted)
    raise ParameterError(
        f"features must be one of {', '.join(map(repr, KINDS))}, two of them, a list of (start, end) spans, or a "
        f"function that gives such a list for a text: got {shown(wanted)}"
    )


def divided_words(document: Document, wanted: Wanted) -> tuple[Word, ...] | None:
    """The words of a document, cut where the spans that were asked for cut them; None where they cut none."""
    outer = wanted[0] if isinstance(wanted, tuple) and _has_levels(wanted) else wanted
    if isinstance(outer, str):
        return None
    borders = sorted({place for span in _spans(document, outer) for place in span})
    words: list[Word] = []
    for word in document.words:
        inside = borders[bisect_left(borders, word.start + 1) : bisect_left(borders, word.end)]
        for start, end in pairwise([word.start, *inside, word.end]):
            surface = document.text[start:end]
            if surface.strip():
                words.append(word if not inside else Word(surface.lower(), start, end))
    return tuple(words) if len(words) != len(document.words) else None


def features_of(document: Document, wanted: Wanted = "words", parts: Parts = "both") -> Features:
    """Group the words of a document into features."""
    wanted, chosen = checked_kind(wanted), _chosen_words(document, parts)
    if isinstance(wanted, tuple) and _has_levels(wanted):
        return _two_levels(document, chosen, *wanted)
    owned, spans, names = _level(document, chosen, wanted)
    return _features(document, _called(wanted), names, owned, spans)


def _has_levels(wanted: tuple[Any, ...]) -> bool:
    return len(wanted) == 2 and isinstance(wanted[1], str)


def _called(wanted: Wanted) -> str:
    if isinstance(wanted, str):
        return wanted
    if isinstance(wanted, tuple) and _has_levels(wanted):
        return f"{wanted[1]} in {_called(wanted[0])}"
    return "spans"


Level = tuple[list[list[int]], list[tuple[Span, ...]], list[str]]
"""For each feature the words that it owns, its spans, and its name."""


def _level(document: Document, chosen: Sequence[int], wanted: Wanted) -> Level:
    if wanted == "words" or wanted == "occurrences":
        owned = _by_form(document, chosen) if wanted == "words" else [[i] for i in chosen]
        words = document.words
        spans = [tuple([(words[i].start, words[i].end) for i in group]) for group in owned]
        return owned, spans, [words[group[0]].form for group in owned]
    is_given = not isinstance(wanted, str)
    owned, spans, names = [], [], []
    starts = [document.words[i].start for i in chosen]
    for start, end in _spans(document, wanted):
        group = [
            i for i in chosen[bisect_left(starts, start) : bisect_left(starts, end)] if document.words[i].end <= end
        ]
        if not group:
            if is_given and _is_chosen(document, chosen, (start, end)):
                raise InputError(
                    f"the span ({start}, {end}) holds no word that the model reads, {shown(document.text[start:end])}: "
                    "leave it out"
                )
            continue
        owned.append(group)
        spans.append(((start, end),))
        names.append(" ".join(document.text[start:end].split()))
    if not owned:
        raise InputError("no span holds a word of the text: give at least one that does")
    return owned, spans, names


def _is_chosen(document: Document, chosen: Sequence[int], span: Span) -> bool:
    """Whether a span stands in a text that has features at all."""
    return document.side_of(span[0]) in {document.side_of(document.words[i].start) for i in chosen}


def _by_form(document: Document, chosen: Sequence[int]) -> list[list[int]]:
    """All occurrences of a word in one text together, in the order of the first."""
    groups: dict[Any, list[int]] = {}
    if document.second is None:
        for i in chosen:
            groups.setdefault(document.words[i].form, []).append(i)
    else:
        for i in chosen:
            groups.setdefault((document.words[i].form, document.side_of(document.words[i].start)), []).append(i)
    return list(groups.values())


def _two_levels(document: Document, chosen: Sequence[int], outer: Wanted, inner: str) -> Features:
    groups, group_spans, group_names = _level(document, chosen, outer)
    owned: list[list[int]] = []
    spans: list[tuple[Span, ...]] = []
    names: list[str] = []
    members = []
    for group, held_by in zip(groups, group_spans, strict=True):
        level = _within(document, _level(document, group, inner), held_by)
        members.append(tuple(range(len(owned), len(owned) + len(level[0]))))
        owned += level[0]
        spans += level[1]
        names += level[2]
    if lost := sum(map(len, groups)) - sum(map(len, owned)):
        raise InputError(
            f"{lost} words of the outer spans belong to no inner feature, because {inner} cross the borders of these "
            "spans: use ('…', 'words')"
        )
    held = Groups(tuple(group_names), tuple(group_spans), tuple(members))
    return _features(document, _called((outer, inner)), names, owned, spans, held)


def _within(document: Document, level: Level, outer: Sequence[Span]) -> Level:
    """The same features, standing inside one outer span: a phrase that reaches beyond it is cut there."""
    ((first, last),) = outer
    owned, spans, _ = level
    cut = [tuple([(max(start, first), min(end, last)) for start, end in own]) for own in spans]
    names = [
        name if own == inside else " ".join(document.text[slice(*inside[0])].split())
        for name, own, inside in zip(level[2], spans, cut, strict=True)
    ]
    return owned, cut, names


def _features(
    document: Document,
    kind: str,
    names: list[str],
    owned: list[list[int]],
    spans: list[tuple[Span, ...]],
    groups: Groups | None = None,
) -> Features:
    owners = np.full(len(document.words), NOBODY, dtype=np.int64)
    sizes = list(map(len, owned))
    owners[np.fromiter(chain.from_iterable(owned), np.int64, sum(sizes))] = np.repeat(np.arange(len(owned)), sizes)
    owners.flags.writeable = False
    return Features(kind, tuple(names), tuple(map(tuple, owned)), tuple(spans), owners, groups)


def _chosen_words(document: Document, parts: Parts) -> Sequence[int]:
    """The words that features may own."""
    if parts == "both":
        return range(len(document.words))
    if document.second is None:
        raise InputError(f"parts={parts!r} is for pairs of texts, and this is one text: leave it out")
    side = ("first", "second").index(parts)
    chosen = [i for i, word in enumerate(document.words) if document.side_of(word.start) == side]
    if not chosen:
        raise InputError(f"the {parts} text of the pair has no words to give weights to: use parts='both'")
    return chosen


# ── spans ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _spans(document: Document, wanted: Wanted) -> list[Span]:
    """The spans of passages, as places in the document's text."""
    texts = [document.text[start:end] for start, end in document.sides]
    if isinstance(wanted, str):
        from limelight.inputs import (
            segmentation,  # its patterns take as long to compile as a short text takes to explain
        )

        rule = segmentation.sentence_spans if wanted == "sentences" else segmentation.phrase_spans
        given = [rule(text) for text in texts]
    elif callable(wanted):
        given = [_by_function(wanted, text) for text in texts]
    elif len(texts) == 1:
        given = [_checked(wanted, texts[0])]
    else:
        if len(wanted) != 2 or any(isinstance(own, str) or not isinstance(own, Iterable) for own in wanted):
            raise InputError(f"spans of a pair are two lists, one for each text: got {shown(wanted)}")
        given = [_checked(own, text) for own, text in zip(wanted, texts, strict=True)]
    return [
        (start + offset, end + offset)
        for spans, (offset, _) in zip(given, document.sides, strict=True)
        for start, end in spans
    ]


def _by_function(rule: Callable[[str], Any], text: str) -> list[Span]:
    try:
        answer = rule(text)
        spans = list(islice(answer, len(text) + 1)) if isinstance(answer, Iterable) else answer
    except LimelightError:
        raise
    except Exception as error:
        raise InputError(
            f"the function for features failed on the text {shown(text)}: {type(error).__name__}: {shown(str(error))}; "
            "make it take this text"
        ) from error
    if not isinstance(spans, list):
        raise InputError(
            f"the function for features must return a list of (start, end) spans: got {shown(spans)} for the text "
            f"{shown(text)}"
        )
    return _checked(spans, text)


def _checked(given: Iterable[Any], text: str) -> list[Span]:
    """Spans of characters that are there, none of which overlap."""
    spans = [_span(span, len(text)) for span in given]
    for one, other in pairwise(sorted(spans)):
        if other[0] < one[1]:
            raise InputError(f"the spans {one} and {other} overlap: a word belongs to one feature")
    return spans


def _span(given: Any, end: int) -> Span:
    if isinstance(given, list | tuple | np.ndarray) and len(given) == 2:
        start, stop = given
        whole = all(isinstance(place, int | np.integer) and not isinstance(place, bool) for place in given)
        if whole and 0 <= start < stop <= end:
            return int(start), int(stop)
    raise InputError(
        f"a span is a pair (start, end) of characters with 0 <= start < end <= {end}, the length of the text: "
        f"got {shown(given)}"
    )
