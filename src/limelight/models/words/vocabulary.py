"""Words and their numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from limelight.inputs.document import UNKNOWN

CLS = "[CLS]"


class Vocabulary:
    """A list of words; the first two entries are always [CLS] and [UNK]."""

    cls_id = 0
    unknown_id = 1

    def __init__(self, words: Iterable[str]) -> None:
        self.words: tuple[str, ...] = (CLS, UNKNOWN, *words)
        self._ids = {word: i for i, word in enumerate(self.words)}
        if len(self._ids) != len(self.words):
            word, count = Counter(self.words).most_common(1)[0]
            raise ValueError(f"a vocabulary names each word once: {word!r} stands in it {count} times; keep one")

    @classmethod
    def from_counts(cls, counts: Counter[str], max_size: int | None = None, min_count: int = 1) -> Vocabulary:
        """The most frequent words first; ties in alphabetical order, so that the same data gives the same numbers."""
        room = None if max_size is None else max_size - 2
        ranked = sorted(
            (word for word in counts if counts[word] >= min_count and word != UNKNOWN), key=lambda w: (-counts[w], w)
        )
        return cls(ranked[:room])

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, form: str) -> bool:
        return form in self._ids

    def ids(self, forms: Sequence[str]) -> list[int]:
        """The number of each word form; unknown words get the one of [UNK]."""
        get, unknown = self._ids.get, self.unknown_id
        return [get(form, unknown) for form in forms]
