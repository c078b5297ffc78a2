"""Characters that act instead of being seen, made visible.

A text may hold escape sequences that repaint a terminal, bidirectional controls that reorder a line, or marks that no
one sees but the model reads. None of them reaches a terminal or a page: each is shown by its picture or its code point.

>>> visible("\\x1b[31mred\\u202e")
'␛[31mred<U+202E>'
"""

from __future__ import annotations

import unicodedata
from functools import cache

_ACTING = ("Cc", "Cf", "Cs", "Zl", "Zp")
# Joiners shape emoji families and Persian or Indic words; the Arabic number signs have a glyph of their own.
_HARMLESS = frozenset(
    "\u200c\u200d\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
_FIRST_PICTURE = 0x2400


def visible(text: str) -> str:
    """The same text with every acting character replaced; what is returned can be printed and encoded anywhere."""
    return text if text.isprintable() else "".join(map(_shown, text))


@cache
def _shown(character: str) -> str:
    if unicodedata.category(character) not in _ACTING or character in _HARMLESS:
        return character
    code = ord(character)
    if code < 0x20:
        return chr(_FIRST_PICTURE + code)
    return "␡" if code == 0x7F else f"<U+{code:04X}>"
