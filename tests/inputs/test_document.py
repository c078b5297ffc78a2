from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.errors import EmptyTextError, InputError, UnknownNameError
from limelight.inputs.document import UNKNOWN, Document, read_words, word_forms
from limelight.inputs.features import features_of


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("It's GREAT.<br />Really!", ["it", "'", "s", "great", ".", "really", "!"]),
        ('He said: "no";  (maybe)', ["he", "said", "no", "(", "maybe", ")"]),
        ("a well-made 3/10 film...", ["a", "well-made", "3/10", "film", ".", ".", "."]),
        ("one<BR>two<br/>three", ["one", "two", "three"]),
        ("don’t “quote” — ever…", ["don", "'", "t", "quote", "—", "ever", "…"]),
        ("[UNK][UNK] great[UNK], it[UNK]s", [UNKNOWN, UNKNOWN, "great", UNKNOWN, ",", "it", UNKNOWN, "s"]),
        ("我喜欢 this👍🏽!", ["我", "喜", "欢", "this", "👍🏽", "!"]),
        ("naïve cafe\u0301 İstanbul", ["naïve", "cafe\u0301", "i̇stanbul"]),
        ("مرحبا، بك", ["مرحبا", "،", "بك"]),
    ],
)
def test_words_follow_the_convention(text: str, forms: list[str]) -> None:
    assert word_forms(text) == forms
    assert [word.form for word in read_words(text)] == forms


@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from(" .,'\"<br/>[UNK]ΣσİAé我👍\u200d\ufe0f"))))
def test_spans_are_ordered_and_hold_what_was_written(text: str) -> None:
    words = read_words(text)
    assert word_forms(text) == [word.form for word in words]
    at = 0
    for word in words:
        assert at <= word.start < word.end
        assert not any(character.isspace() for character in text[word.start : word.end])
        assert word_forms(text[word.start : word.end]) == [word.form]
        at = word.end


def test_a_long_text_is_cut_with_a_notice() -> None:
    document = Document.read("one two three four", limit=3)
    assert [word.form for word in document.words] == ["one", "two", "three"]
    assert "4 words" in document.notices[0]
    assert "last 1 were cut" in document.notices[0]
    assert "reads 3" in document.notices[0]
    assert Document.read("one two three", limit=3).notices == ()


def test_features_own_one_or_all_occurrences() -> None:
    document = Document.read("Good, GOOD film")
    words = features_of(document, "words")
    assert words.names == ("good", ",", "film")
    assert words.owned == ((0, 2), (1,), (3,))
    assert words.spans == (((0, 4), (6, 10)), ((4, 5),), ((11, 15),))
    assert words.owners.tolist() == [0, 1, 0, 2]
    assert words.total(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([0, 0, 1, 2, 3])).tolist() == [7.0, 3.0, 5.0]
    occurrences = features_of(document, "occurrences")
    assert occurrences.names == ("good", ",", "good", "film")
    assert occurrences.owned == ((0,), (1,), (2,), (3,))


@pytest.mark.parametrize("text", ["", "  \n\t", '";:', "<br />"])
def test_a_text_without_words_is_refused(text: str) -> None:
    with pytest.raises(EmptyTextError, match="at least one word"):
        Document.read(text)


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(InputError, match="bytes"):
        Document.read(b"bytes")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="did you mean 'words'"):
        features_of(Document.read("a"), "word")  # type: ignore[arg-type]
