"""Words that say little by themselves: English function words, pieces of them, and punctuation.

Words that turn or grade a sentence (not, no, never, but, too, very, only, pieces such as "don" of "don't") are none of
them: they are often what decides.
"""

from __future__ import annotations

import unicodedata

STOP_WORDS = frozenset(
    """
    a an the this that these those such
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers
    herself it its itself they them their theirs themselves one ones
    who whom whose which what
    am is are was were be been being do does did doing done has have had having will would shall should can could may
    might must
    and or nor if then than as so because while when where how why until since
    of at by for with about into through during before after to from in on onto upon over under between among against
    out up down off again further here there
    all any both each other others some same own also
    s t d m ll re ve
    """.split()
)
"""Forms in lower case, as limelight's own rule cuts them: "it's" is "it", an apostrophe and "s"."""
_SIGNS = ("P", "Z", "C")
_SYMBOLS = ("Sm", "Sc", "Sk")


def is_folded(word: str) -> bool:
    """Whether a word is folded away by default: a stop word, or signs alone. Emoji and ideographs are words."""
    return word.lower() in STOP_WORDS or all(map(_is_sign, word))


def _is_sign(character: str) -> bool:
    category = unicodedata.category(character)
    return category.startswith(_SIGNS) or category in _SYMBOLS
