from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.inputs.document import Span, read_words
from limelight.inputs.segmentation import phrase_spans, sentence_spans
from limelight.inputs.words import plain_words

PIECES = [
    *"aZé1 \n\r\t.,;:!?…()[]\"'’”—–-*&。！？，、」।؟።។",
    *"\u0301\ufe0f\u200d\u3099か中กⴰነ😍⭐⬛↔·‑\u2029\x85\ud800",
    *(
        "<br />",
        "\n\n",
        "\r\n",
        "...",
        ". . .",
        "--",
        " and ",
        " but ",
        " the ",
        " is ",
        " when ",
        "Mr.",
        "U.S.",
        "J.",
        ":)",
    ),
    *("word", "Next", "example.com", " (three little words) ", "1. ", "end.The "),
]
texts = st.lists(st.one_of(st.characters(), st.sampled_from(PIECES)), max_size=40).map("".join)


def cut(spans: Callable[[str], list[Span]], text: str) -> list[str]:
    return [text[start:end] for start, end in spans(text)]


@pytest.mark.parametrize("spans", [sentence_spans, phrase_spans])
@given(text=texts)
def test_each_word_lies_in_one_span(spans: Callable[[str], list[Span]], text: str) -> None:
    found = spans(text)
    at = 0
    for start, end in found:
        assert at <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        at = end
    for word in (*read_words(text), *plain_words(text)):
        assert sum(start <= word.start and word.end <= end for start, end in found) == 1
    if len(found) > 1:
        assert all(any(map(str.isalnum, text[start:end])) for start, end in found)


@given(texts)
def test_phrases_are_pieces_of_sentences(text: str) -> None:
    sentences, phrases = sentence_spans(text), phrase_spans(text)
    for start, end in sentences:
        inside = [phrase for phrase in phrases if start <= phrase[0] and phrase[1] <= end]
        assert inside[0][0] == start
        assert inside[-1][1] == end
        phrases = phrases[len(inside) :]
        if len(inside) > 1:
            # Chinese and Japanese count by characters, others by words.
            ideograph = r"[\u3041-\u30ff\u3400-\u9fff]"
            counted = re.compile(rf"{ideograph}|(?:(?!{ideograph})[^\W_])+")
            assert min(len(counted.findall(text, *phrase)) for phrase in inside) >= 3
    assert not phrases


# A bar stands where a sentence ends.
SENTENCES = [
    "It works.| Does it?| Yes!| So it does…",
    'He said "no."| She left.| (All of them.)| [And so on!]| “Why?”| ‘Ha!’| End',
    '"Why?" he asked.| "Stop!" she cried.| It (really?) is.| It is (!) John.| Yes',
    "He (so sad! So sad.) wept.| (So sad.| Yes.)| No",
    "It is good (very good.)| Yes :( it was. It) ends.| It costs 3.14 or 1,000.50 at example.com, see v1.2.| Good",
    "Mr. Smith and Dr. Jones met Mrs. Hale vs. St. Clair, e.g. Bob, i.e. him et. al.| Then No. 5 came.| No.| She came",
    "J. K. Rowling and Samuel L. Jackson met I. M. Pei.| So did I.| Bob too got an A.| The end",
    "The U.S. Army of the U.S. was there at 5 a.m. sharp.| We left the U.S.| The end came at 5 p.m.| Great, etc.| Ok",
    "Robert Downey Jr. is in it.| Warner Bros. Pictures Inc. made it for Warner Bros.| The end",
    "well... maybe not…or so. . . we think...| Then it ended ...| Bad..| Very bad",
    "What?!| No way!!!| really?| yes.| it was bad.| but fun",
    "a movie.|The plot is thin!|It is bad.|I left.|A shame.| See www.amazon.Com and mail@some.Where now, or E.Coli",
    "dd!።Aa and so",
    "I loved it! :)| The end. ;-)| So good! 😍😍| Great‼\ufe0f| Yes",
    "1. First of all.| 2. Then this",
    "*** Spoilers *** ahead.| It is bad.| *** Ok :)",
    "我喜欢。|他不喜欢！|为什么？|不知道",
    "「はい。」|そうです。|終わり",
    "यह अच्छा है।|वह नहीं॥| ठीक",
    "هل هذا جيد؟| نعم، جيد۔|ہاں",
    "ጥሩ ነው።| አይደለም።| አዎ",
    "ဒီကောင်း။| ဟုတ်",
]


@pytest.mark.parametrize("marked", SENTENCES)
def test_sentences(marked: str) -> None:
    assert cut(sentence_spans, marked.replace("|", "")) == [sentence.strip() for sentence in marked.split("|")]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("one<br /><br />two.<BR>three<br/>", ["one", "two.", "three"]),
        ("wrapped at\nsome width, as\r\nlines are.\nIt goes", ["wrapped at\nsome width, as\r\nlines are.", "It goes"]),
        ("a\n\nb\r\n\r\nc\n \t\nd\u2029e\r\rf", ["a", "b", "c", "d", "e", "f"]),
        (
            "list:\n- one\n* two\n  • three\n1. four\n2) five\n-six",
            ["list:", "- one", "* two", "• three", "1. four", "2) five\n-six"],
        ),
        ("---\n\n...\n\nOne.\n\n----\n\nTwo", ["---\n\n...\n\nOne.\n\n----", "Two"]),
        ("!!! ***", ["!!! ***"]),
        (" \n ", []),
        ("", []),
        ("<br />", []),
    ],
)
def test_breaks_end_sentences_and_wrapped_lines_do_not(text: str, sentences: list[str]) -> None:
    assert cut(sentence_spans, text) == sentences


# A bar stands where a phrase ends within its sentence.
PHRASES = [
    "Shot in black and white.",
    "The film is long, | but it never bores anybody.",
    "However, it is a good film; | the cast and crew did well: | all of them shine.",
    "A funny, smart, and moving film about love, loss and hope.",
    "The film, however, is a great success.",
    "They left the house — | nobody saw them again – | not even the dog did -- | so we think - | and so do they.",
    "From 1990–1995 he wrote well-made books, | 1,000 of them, | at 10:30 every day.",
    "He met Brad Pitt (Fight Club) in the film | (which I had never seen before) | and liked him a lot.",
    "I left early | because it was bad | and I was tired.",
    "I know the man | who knew too much | and is a friend of yours, | whose films I like.",
    "I saw it | even though it was late | and when it rained.",
    "The plot is thin | and the acting is bad.",
    "I like the plot and the acting of the film.",
    "It was fun for a while but bad.",
    "It was fun for a while now, | nothing but a joke to them.",
    "I saw Doctor Who and When Harry Met Sally there, | BUT nobody else did so.",
    "The actor(s) were good in it.",
    "It stars Robert Downey, Jr. and others too.",
    "我非常喜欢这部电影，|但是他不喜欢它。",
    "La película es muy larga; | sin embargo, me gusta mucho.",
]


@pytest.mark.parametrize("marked", PHRASES)
def test_phrases(marked: str) -> None:
    text = re.sub(r" ?\|", "", marked)
    assert cut(sentence_spans, text) == [text]
    assert cut(phrase_spans, text) == [phrase.strip() for phrase in marked.split("|")]


@pytest.mark.parametrize(
    "unit",
    [
        "e.g. ",
        "(",
        ")",
        "-",
        "--",
        "a, ",
        "and the ",
        ". ",
        ".(",
        ":",
        ';"',
        "—",
        "\n ",
        "\r",
        "<br",
        "!\u0301",
        "! 😍",
        "。'",
        "but ",
        "((a. ",
    ],
)
def test_long_texts_take_time_in_proportion(unit: str) -> None:
    def seconds(repeated: int) -> float:
        begun = time.process_time()
        phrase_spans(unit * repeated + "x")
        return time.process_time() - begun

    # A quadratic rule would take a thousand times longer here, and minutes.
    assert seconds(30_000) < 5


def test_a_rule_of_english_leaves_other_languages_alone() -> None:
    text = "Das ist gut, und er hat es gern gesehen, als er da war."
    assert cut(phrase_spans, text) == ["Das ist gut,", "und er hat es gern gesehen,", "als er da war."]
