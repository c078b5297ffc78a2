"""Sentences and phrases of a text as character spans, by rules alone: no model, no guess of the language.

**Sentences.** A sentence ends behind `. ! ? …` or their kin in other scripts, with the quotes, brackets and smileys
that follow, when white space or the end of the text comes next. Behind `。！？` and the danda of India, which need no
space, anything may come next, and also where a space is missing, as in "the end.The film". It ends at `<br />`, at an
empty line and before a line that starts like an item of a list (`-`, `*`, `•`, `1.`); a single line break does not
end it, so that wrapped lines stay together.

It does not end

- where no white space follows: 3.14, U.S.A, example.com;
- behind titles and what else is never last (`_NEVER_LAST`: Mr. Dr. vs. e.g.), and behind "No." before a number;
- behind `_UNLESS_SMALL` (etc. Jr. a.m.) before a small letter;
- behind letters with full stops (U.S.), one capital (Samuel L. Jackson; not the word I) and `_UNLESS_OPENER` (Inc.
  Bros.), unless a word follows that often begins a sentence (`_OPENERS`: The, It, He, But);
- behind "..." and behind a sign in quotes or brackets ("Why?" he asked) before a small letter;
- in brackets that opened within the sentence, nor behind the number of an item (1. First).

**Phrases.** Each sentence is cut further: behind `, ; :` and dashes; around brackets with at least three words;
before conjunctions and relative words (`_CONJUNCTIONS`, `_RELATIVES`, with an "even" or a preposition); and before
"and" and "or" where a subject or a verb follows (and he, and is), or where "the", "a" or the like follows and both
sides have a verb. At least three words stand before a cut in its phrase, and three behind it in its sentence, so that
"black and white" stays whole; a comma that divides a list (fewer than three words to the next one, or one word to an
"and") does not count. "that" and "as" are not among the conjunctions: they are too often something else.

What has no letter and no digit (`***`, a lone smiley) belongs to the sentence before it, or to the first one. The
lists of words are English; the signs are those of all scripts.

>>> text = "Mr. Bean (1997) is a lot of fun, but the plot is thin. See it anyway!"
>>> [text[start:end] for start, end in sentence_spans(text)]
['Mr. Bean (1997) is a lot of fun, but the plot is thin.', 'See it anyway!']
>>> [text[start:end] for start, end in phrase_spans(text)]
['Mr. Bean (1997) is a lot of fun,', 'but the plot is thin.', 'See it anyway!']
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from limelight.inputs.document import Span
from limelight.inputs.words import MARKS

_FEWEST = 3
"""Words on either side of a cut within a sentence, and in brackets that are a phrase."""
_LONGEST_REMARK = 200
"""Characters within which a bracket must close to be one."""
_NEAR = 80
"""Characters on either side of an "and" in which the verb of a clause is looked for."""

_NEVER_LAST = frozenset(
    "mr mrs ms dr prof st sgt capt lt col gen rev hon gov sen rep pres det messrs mme mlle mt "
    "vs e.g eg i.e ie cf et p.s".split()
)
_BEFORE_NUMBERS = frozenset("no nos vol ch p pp fig".split())
_UNLESS_SMALL = frozenset("etc jr sr a.m p.m min approx".split())
_UNLESS_OPENER = frozenset("bros inc co ltd corp".split())
_OPENERS = frozenset(
    "A After All Also Although An And Another Anyway As At Because But By Even Every For From He Here How "
    "However I If In It Its Just Let Maybe Most My No Not Now Of Oh On Once One Or Overall Perhaps She Since "
    "So Some Still That The Their Then There These They This Those Though To Until Well We What When Where "
    "While Who Why With Yes You Your".split()
)
_CONJUNCTIONS = "but because although though while when if unless until whereas where".split()
_BEFORE_CONJUNCTIONS = "and as especially even just only or".split()
_RELATIVES = "which who whom whose".split()
_BEFORE_RELATIVES = (
    "about across after among and at between by during for from in into of on or over through to under upon with "
    "without".split()
)
_SUBJECTS = "i you he she it we they there".split()
_VERBS = "am is are was were has have had do does did can could will would should must may might".split()
_DETERMINERS = "the a an this that these those my your his her its our their".split()


def _either_case(words: Iterable[str]) -> str:
    """Words as alternatives, small or all in capitals: with one capital they are part of a name (Doctor Who)."""
    return "|".join(form for word in words for form in (word, word.upper()))


_GAP = r"[^\S\n\r\x0b\x0c\x85\u2028\u2029]*"
_LINE = r"(?:\r\n|[\n\x0b\x0c\x85\u2028]|\r(?!\n))"
_PARAGRAPH = re.compile(rf"<[bB][rR]\s*/?>|\u2029|{_LINE}{_GAP}{_LINE}|{_LINE}(?={_GAP}(?:[-*•‣●▪–—]|\d{{1,2}}[.)])\s)")
_CLOSING = "\"'”’»›)\\]」』】）〉》"
_OPENING = "\"'“‘«‹„(\\[「『【（〈《¿¡*_-"
_FREE = "。！？｡।॥؟۔"
"""Signs that end a sentence whatever follows."""
_SMILEY = rf"(?:[:;=]['^o-]?[()\[\]DPp|/\\]+|[\u2600-\u27bf\u2b50\U0001f000-\U0001faff{MARKS}]+)"
# Behind a sign: quotes and brackets, marks that belong to the last of them, a smiley. Nothing here ends within a word.
_SIGN = re.compile(
    rf"(?P<sign>[.!?…‼⁇⁈⁉‽։።፧။៕។།༎{_FREE}]+(?:[^\S\n\r]+[.!?…]+(?=[\s{_CLOSING}]|\Z))*)"
    rf"(?P<closing>[{_CLOSING}]*)(?:[{MARKS}]+(?=\s|\Z)|(?![{MARKS}]))(?:[^\S\n\r]*{_SMILEY}(?=\s|\Z))?"
)
_FOLLOWING = re.compile(rf"\s*[{_OPENING}]*(?P<word>\w*)(?P<stop>\.?)")
_TOKEN_START = re.compile(rf"[\s/{_OPENING}]")
_LETTERS_WITH_STOPS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
_ITEM = re.compile(rf"[{_OPENING}]*\d+")
_ADDRESS = re.compile(r"www\.|://|@")

_COMMA = rf"(?:[,،](?=[{_CLOSING}]*\s(?!Jr|Sr))|[，、])[{_CLOSING}]*(?![{MARKS}])"
_LISTED = re.compile(rf"(?P<comma>{_COMMA})|(?<=\s)(?:and|or|AND|OR|&)(?=\s)")
_CUT = re.compile(
    rf"(?P<comma>{_COMMA})"
    rf"|(?:[;:؛](?=[{_CLOSING}]*\s)|[；：])[{_CLOSING}]*(?![{MARKS}])"
    rf"|(?:[—―]|(?<!\d)–)+(?![{MARKS}])|(?<!-)--+(?=\s)|(?<=\s)-(?=\s)"
    r"|(?P<close>\)[,;:]?(?=\s))"
    r"|(?P<before>(?<=\s)(?:(?P<open>\()"
    rf"|(?:(?:{_either_case(_BEFORE_CONJUNCTIONS)})\s+)?(?P<conjunction>{_either_case(_CONJUNCTIONS)})(?=\s)"
    rf"|(?:(?:{_either_case(_BEFORE_RELATIVES)})\s+)?(?:{_either_case(_RELATIVES)})(?=\s)"
    rf"|(?:and|or|AND|OR)(?=\s+(?:(?:{_either_case([*_SUBJECTS, *_VERBS])})\b"
    rf"|(?P<noun>{_either_case(_DETERMINERS)})\s))))"
)
_VERB = re.compile(rf"\b(?:{_either_case(_VERBS)})\b|\w(?:['’](?:s|re|m|ve|d|ll)|n['’]t)\b")
_IDIOM = re.compile(r"\b(?:a\s+while|(?:all|nothing|anything|everything|help)\s+but)\Z", re.IGNORECASE)
_IDEOGRAPH = "\u3041-\u30ff\u3400-\u9fff"
_COUNTED = re.compile(rf"[{_IDEOGRAPH}]|[^\W_{_IDEOGRAPH}](?:['’-]?[^\W_{_IDEOGRAPH}])*")


def sentence_spans(text: str) -> list[Span]:
    """The sentences of a text, in order; they hold all its words."""
    spans: list[Span] = []
    wordless = False  # what was found so far has no letter and no digit
    for paragraph in _paragraphs(text):
        for start, end in _sentences(text, *paragraph):
            empty = not any(map(str.isalnum, text[start:end]))
            if spans and (empty or wordless):
                spans[-1] = spans[-1][0], end
                wordless = wordless and empty
            else:
                spans.append((start, end))
                wordless = empty
    return spans


def phrase_spans(text: str) -> list[Span]:
    """The phrases of a text, in order: its sentences, cut further; they hold all its words."""
    return [phrase for sentence in sentence_spans(text) for phrase in _phrases(text, *sentence)]


def _pieces(text: str, start: int, end: int, cuts: Iterable[int]) -> Iterator[Span]:
    """A stretch of text cut at some places, each piece without white space at its ends."""
    for cut in (*cuts, end):
        piece = text[start:cut]
        if stripped := piece.strip():
            start += piece.index(stripped[0])
            yield start, start + len(stripped)
        start = cut


def _paragraphs(text: str) -> Iterator[Span]:
    gaps = [gap.span() for gap in _PARAGRAPH.finditer(text)]
    starts, ends = [0, *(end for _, end in gaps)], [*(start for start, _ in gaps), len(text)]
    for start, end in zip(starts, ends, strict=True):
        yield from _pieces(text, start, end, ())


def _sentences(text: str, start: int, end: int) -> Iterator[Span]:
    """The sentences of a paragraph."""
    cuts, first = [], start
    for sign in _SIGN.finditer(text, start, end):
        if sign.end() < end and _ends(text, first, sign, end):
            cuts.append(sign.end())
            first = sign.end()
            while text[first].isspace():  # the paragraph does not end in white space
                first += 1
    return _pieces(text, start, end, cuts)


def _ends(text: str, start: int, match: re.Match[str], limit: int) -> bool:
    """Whether a sentence that began at `start` ends behind this sign, though the paragraph goes on."""
    sign, closing = match["sign"], match["closing"]
    at, behind = match.start(), match.end()
    if sign[-1] in _FREE:
        return True
    if not text[behind].isspace():
        return not closing and _space_missing(text, at, behind, limit)
    if text[at - 1 : at] == "(" and closing[:1] == ")":  # (!) is a remark
        return False
    if ")" not in closing and _in_brackets(text, start, at, limit):
        return False
    following = _FOLLOWING.match(text, behind, limit)
    word, stop = following.groups() if following else ("", "")
    small = word[:1].islower()
    if closing and small:
        return False
    if "…" in sign or ".." in sign or ". ." in sign:
        return not small or "!" in sign or "?" in sign
    return sign != "." or _stop_ends(text[max(start, at - 20) : at], word, bool(stop))


def _stop_ends(before: str, word: str, stop: bool) -> bool:
    """Whether one full stop ends a sentence: `before` stands before it there, `word` behind it, with a stop or not."""
    token = _TOKEN_START.split(before)[-1]
    name = token.lower()
    opens = word in _OPENERS and not stop
    if name in _NEVER_LAST or (name in _BEFORE_NUMBERS and word.isdecimal()):
        return False
    if name in _UNLESS_SMALL:
        return not word[:1].islower()
    if name in _UNLESS_OPENER or _LETTERS_WITH_STOPS.fullmatch(token):
        return opens
    if len(token) == 1 and token.isupper():
        return not stop if token == "I" else opens
    return _ITEM.fullmatch(before) is None


def _space_missing(text: str, at: int, behind: int, limit: int) -> bool:
    """Whether a sign stands between sentences though no space follows: "end.Next"."""
    before, after = text[max(at - 2, 0) : at], text[behind : min(behind + 2, limit)]
    if text[behind - 1] not in ".!?…" or not (len(before) == len(after) == 2 and before.isalpha() and before.islower()):
        return False
    begins = after[0].isupper() and (after[1].islower() or after in ("A ", "I "))
    return begins and not _ADDRESS.search(text[max(at - 30, 0) : at].split()[-1])


def _in_brackets(text: str, start: int, at: int, limit: int) -> bool:
    """Whether a sign stands in brackets that were opened within the sentence."""
    opened = text.rfind("(", max(start + 1, at - _LONGEST_REMARK), at)
    return opened >= 0 and text.find(")", opened, min(limit, at + _LONGEST_REMARK)) >= at


def _phrases(text: str, start: int, end: int) -> Iterator[Span]:
    """The phrases of a sentence."""
    words = [word.start() for word in _COUNTED.finditer(text, start, end)]
    cuts, first = [], start
    if len(words) >= 2 * _FEWEST:
        listed = _in_lists(text, start, end, words)
        for cut in _CUT.finditer(text, start, end):
            at = cut.start() if cut["before"] else cut.end()
            here = bisect_left(words, at)
            if here - bisect_left(words, first) < _FEWEST or len(words) - here < _FEWEST:
                continue
            if cut.start() not in listed and _divides(text, first, cut, end):
                cuts.append(at)
                first = at
    return _pieces(text, start, end, cuts)


def _in_lists(text: str, start: int, end: int, words: list[int]) -> set[int]:
    """Where the commas stand that seem to divide a list: few words to the next comma, or one to an "and" or "or"."""
    listed: set[int] = set()
    comma, count = -1, 0
    for mark in _LISTED.finditer(text, start, end):
        here = bisect_left(words, mark.start())
        if comma >= 0 and mark["comma"] and here - count < _FEWEST:
            listed.update((comma, mark.start()))
        elif comma >= 0 and here - count == 1:
            listed.add(comma)
        if mark["comma"]:
            comma, count = mark.start(), here
    return listed


def _divides(text: str, start: int, cut: re.Match[str], end: int) -> bool:
    """Whether brackets hold more than a remark, a conjunction is one, and an "and" stands between clauses."""
    at, behind = cut.span()
    if cut["open"]:
        closed = text.find(")", at, min(end, at + _LONGEST_REMARK))
        return closed >= 0 and len(_COUNTED.findall(text, at, closed)) >= _FEWEST
    if cut["close"]:
        opened = text.rfind("(", max(start, at - _LONGEST_REMARK), at)
        return opened >= 0 and len(_COUNTED.findall(text, opened, at)) >= _FEWEST
    if cut["noun"]:
        before, after = (max(start, at - _NEAR), at), (behind, min(end, behind + _NEAR))
        return bool(_VERB.search(text, *before) and _VERB.search(text, *after))
    return not (cut["conjunction"] and _IDIOM.search(text, max(start, behind - 20), behind))
