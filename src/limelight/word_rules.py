"""How texts are divided into words for models other than limelight's own.

`plain_words` is the rule of `document.read_words`, put right where that rule is wrong for a script or a symbol. A text
with none of what follows has the same words as before, and nothing is imported for it.

- Thai, Lao, Khmer and Myanmar are written without spaces: ICU, the Unicode consortium's own library, divides them with
  its dictionaries. It also parts Tibetan syllables and splits off Ethiopic punctuation.
- The tsheg between Tibetan syllables, the Ethiopic word space and the zero width space only separate.
- A mark belongs to what it stands behind: kana with a voicing mark, an ideograph or an emoji with a variation selector,
  a flag with its tags.
- Emoji that the rule leaves in words, as in "good⭐⭐", are words of their own; so are keycaps.
- Hyphens other than the one of the keyboard, the dot of the Catalan "pel·lícula" and Armenian signs of tone are part of
  the word that they stand in.

`words_by` reads the words that a user's own rule finds (jieba, MeCab, spaCy, a regular expression), and checks them.

>>> [word.form for word in plain_words("ฉันรัก Bangkok!")]
['ฉัน', 'รัก', 'bangkok', '!']
>>> [word.form for word in words_by(str.split, "Well-made, all in all.")]
['well-made,', 'all', 'in', 'all.']
"""

from __future__ import annotations

import operator
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import Any

from limelight.document import Span, Word, _form, check_text, read_words
from limelight.errors import InputError, shown

WordRule = Callable[[str], Iterable[Any]]
"""A text in, its words out: as strings, as (start, end) pairs, or as tokens with `idx` and `text`."""

MARKS = (
    "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"  # combining marks of no script in particular
    "\u302a-\u302f\u3099\u309a"  # tone marks and voicing marks of East Asia
    "\ufe00-\ufe0f\U000e0100-\U000e01ef\U000e0020-\U000e007f"  # variation selectors, tags
    "\u200c-\u200f\u202a-\u202e\u2060-\u206f"  # joiners and marks of direction
)
"""Characters that belong to the one before them, as a part of a regular expression's class."""

_SCRIPTS = {
    "Thai": "\u0e00-\u0e7f",
    "Lao": "\u0e80-\u0eff",
    "Khmer": "\u1780-\u17ff\u19e0-\u19ff",
    "Myanmar": "\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f",
    "Tibetan": "\u0f00-\u0fff",
    "Ethiopic": "\u1200-\u139f\u2d80-\u2ddf\uab00-\uab2f",
}
"""The blocks of the scripts that ICU divides."""
_SEPARATORS = "\u200b\u0f0b\u0f0c\u1361"
_SYMBOL = "\u2190-\u2bff"
_EMOJI = "\u231a\u231b\u23e9-\u23ec\u23f0\u23f3\u25fd\u25fe\u2b1b\u2b1c\u2b50\u2b55"
"""Emoji in `_SYMBOL` that need no variation selector, and are not among those of `read_words`."""
_LETTER = "0-9A-Za-z\u00c0-\u024f\u0370-\u052f\u0531-\u0587\u1e00-\u1fff"  # Latin, Greek, Cyrillic, Armenian; digits

_MARK_RUN = re.compile(rf"(?:\u200d[{_SYMBOL}]|[{MARKS}])+")
_INNER_SIGN = re.compile(
    rf"(?<=[{_LETTER}{MARKS}])[\u2010\u2011\u055b\u055c\u055e](?=[{_LETTER}])|(?<=[lL])\u00b7(?=[lL])"
)
# What is taken out of a word of `read_words`: the group says how it is divided. Digits end a stretch of a script, and
# each script has a stretch of its own: ICU would leave Thai with Lao or with digits in one piece.
_STRETCH = re.compile(
    rf"(?P<separator>[{_SEPARATORS}]+)"
    rf"|(?P<emoji>\u200d?(?:[{_EMOJI}]|[{_SYMBOL}\u3030\u303d\u3297\u3299](?=\ufe0f)|[0-9#*](?=\ufe0f?\u20e3))[{MARKS}]*)"
    + "".join(
        rf"|(?P<{script}>(?:(?![\d{_SEPARATORS}])[{block}{MARKS}])+)" for script, block in _SCRIPTS.items()
    ).replace(f"{MARKS}])+", f"]){{1}}(?:(?![\\d{_SEPARATORS}])[")
)
