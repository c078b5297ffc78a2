"""What reaches a terminal: all words in their order, the right colours or marks, and nothing that acts on it."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from limelight.document import read_words
from limelight.errors import InputError
from limelight.explanation import Explanation
from limelight.show.colour import DARK, LEVELS, LIGHT, contrast, levels
from limelight.show.ink import Ink
from limelight.show.terminal import render
from limelight.show.visible import visible
from show.samples import comparison_of

WCAG_AA = 4.5
"""The contrast that WCAG 2 asks of normal letters."""

hostile_texts = st.text(
    st.one_of(
        st.sampled_from("ab .,!'\"[]<>&/\n\t\x00\x07\x1b\x9b\u202e\u2066\u200d\u2028\ud800非👍שلé"), st.characters()
    ),
    max_size=60,
).map(lambda text: f"word {text}")


def shown(comparison: Sequence[Explanation], width: int = 100, system: str | None = None, numbers: bool = False) -> str:
    """What is printed, with escape sequences if there is a colour system."""
    file = io.StringIO()
    console = Console(
        file=file, width=width, color_system=system, force_terminal=system is not None, legacy_windows=False
    )
    render(comparison, console=console, numbers=numbers)
    return file.getvalue()


def row(output: str, label: str) -> str:
    return next(line for line in output.splitlines() if line.startswith(label))


def test_prediction_comes_first_with_probability_and_logit() -> None:
    comparison = comparison_of("A great film.", [1, 2, 3, 0], labels=("bad", "good"), logits=(-1.0, 2.0))
    first, second = shown(comparison).splitlines()[:2]
    assert re.fullmatch(r"good +━+─* +95\.3 % +logit \+2\.000 *", first)
    assert re.fullmatch(r"bad +━*─+ +4\.7 % +logit -1\.000 *", second)


def test_says_which_label_is_explained_when_it_is_not_the_predicted_one() -> None:
    comparison = comparison_of("A great film.", [1, 2, 3, 0], labels=("bad", "good"), logits=(-1.0, 2.0), target="bad")
    assert "Why bad? (The model says good.)" in shown(comparison)


def test_many_labels_are_cut_but_the_target_stays() -> None:
    labels = tuple(f"label{i}" for i in range(50))
    comparison = comparison_of("fine", [1.0], labels=labels, logits=tuple(range(50)), target="label3")
    output = shown(comparison)
    assert "label49" in output
    assert "label3 " in output
    assert "label20" not in output
    assert "and 44 more" in output


def test_marks_without_colour_are_ranked_and_signed() -> None:
    comparison = comparison_of("great good so dull bad nil", [1.0, 0.3, 0.1, -0.3, -1.0, 0.01])
    assert row(shown(comparison), "LIME").split()[1:] == [
        "[+++great]",
        "[++good]",
        "[+so]",
        "[−−dull]",
        "[−−−bad]",
        "nil",
    ]


def test_a_word_is_marked_at_all_its_occurrences_as_it_was_written() -> None:
    comparison = comparison_of("GREAT, great; Great!", [1.0, 0.0, 0.0])
    assert row(shown(comparison), "LIME").split(maxsplit=1)[1].strip() == "[+++GREAT], [+++great]; [+++Great]!"


def test_true_colour_is_deeper_for_larger_weights_and_underlined_against() -> None:
    comparison = comparison_of("strong weak against", [1.0, 0.25, -1.0])
    output = shown(comparison, system="truecolor")
    ink = ";".join(map(str, DARK.ink))
    for word, level, start in (("strong", 20, ""), ("weak", 5, ""), ("against", -20, "4;")):
        background = ";".join(map(str, DARK.background(level)))
        assert f"\x1b[{start}38;2;{ink};48;2;{background}m{word}\x1b[0m" in output


@pytest.mark.parametrize("system", ["256", "standard"])
def test_fewer_colours_still_tell_signs_and_strengths_apart(system: str) -> None:
    comparison = comparison_of("strong weak against faintly", [1.0, 0.15, -1.0, -0.15])
    output = shown(comparison, system=system)
    styles = {word: code for code, word in re.findall(r"\x1b\[([\d;]*)m(strong|weak|against|faintly)", output)}
    assert len(set(styles.values())) == 4
    assert "38;2" not in output


def test_no_color_has_marks_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    output = shown(comparison_of("great", [1.0]), system="truecolor")
    assert "48;2" not in output
    assert "[+++great]" in Text.from_ansi(output).plain


def test_light_terminals_get_light_paper() -> None:
    console = Console(file=io.StringIO(), color_system="truecolor", force_terminal=True)
    assert Ink.of(console, {"COLORFGBG": "0;15"}).theme is LIGHT
    assert Ink.of(console, {"COLORFGBG": "15;0"}).theme is DARK
    assert Ink.of(console, {}).theme is DARK


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_words_are_readable_on_every_level(theme: type) -> None:
    assert min(contrast(theme.background(level), theme.ink) for level in range(-LEVELS, LEVELS + 1)) >= WCAG_AA


def test_contrast_has_the_known_extremes() -> None:
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21)
    assert contrast((9, 9, 9), (9, 9, 9)) == 1


def test_levels_are_proportional_and_ignore_what_is_not_finite() -> None:
    assert levels(np.array([2.0, -1.0, 0.0, np.nan, 0.5])) == [20, -10, 0, 0, 5]
    assert levels(np.array([0.0, 0.0])) == [0, 0]


@pytest.mark.parametrize("width", [20, 33, 40, 80, 160, 300])
@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("system", [None, "truecolor"])
def test_no_line_is_wider_than_the_terminal(width: int, numbers: bool, system: str | None) -> None:
    text = "Supercalifragilisticexpialidocious 非常好看的电影 👍🏽 שלום it's fine.<br /><br />" * 3
    comparison = comparison_of(text, methods=("alpha-avg", "lime", "gxi"), labels=("a" * 60, "b"))
    output = Text.from_ansi(shown(comparison, width, system, numbers)).plain
    assert max(map(cell_len, output.split("\n"))) <= width


def test_words_stay_whole_where_they_fit() -> None:
    words = "alpha bravo charlie delta echo foxtrot golf hotel india juliett kilo lima mike november"
    output = shown(comparison_of(words, [0.0] * 14), width=40)
    assert set(words.split()) <= set(output.split())


@settings(max_examples=150, deadline=None)
@given(hostile_texts, st.integers(20, 120))
def test_every_word_of_any_text_appears_in_order(text: str, width: int) -> None:
    comparison = comparison_of(text)
    rows = shown(comparison, width).split("LIME", 1)[1]
    letters = re.sub(r"\s", "", rows)
    at = 0
    for word in read_words(text):
        form = re.sub(r"\s", "", visible(text[word.start : word.end]))
        found = letters.find(form, at)
        assert found >= 0, form
        at = found + len(form)


@settings(max_examples=150, deadline=None)
@given(hostile_texts, st.booleans())
def test_no_text_acts_on_the_terminal(text: str, numbers: bool) -> None:
    label = text[:40]
    output = shown(comparison_of(text, labels=(label, "other"), notices=(text,)), numbers=numbers)
    assert not set(output) & {chr(c) for c in (*range(0x0A), *range(0x0B, 0x20), *range(0x7F, 0xA0))}
    assert not re.search("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", output)
    output.encode("utf-8")


def test_escape_sequences_and_markup_are_shown_as_they_are_written() -> None:
    text = "a \x1b[31mred\x07 [bold]b[/bold] :smile: \u202eevil"
    output = shown(comparison_of(text, labels=("[red]yes[/red]", "no")), system="truecolor")
    assert "\x1b[31m" not in output
    plain = Text.from_ansi(output).plain
    assert "a ␛[31mred␇ [bold]b[/bold] :smile: <U+202E>evil" in plain
    assert "[red]yes[/red]" in plain


def test_joined_emoji_and_persian_words_are_left_alone() -> None:
    assert visible("👩\u200d🚀 می\u200cخواهم") == "👩\u200d🚀 می\u200cخواهم"


def test_markup_breaks_and_empty_lines_are_one_sign() -> None:
    comparison = comparison_of("one<br /><br />two\n\nthree\nfour", [0.0] * 4)
    assert row(shown(comparison), "LIME").split() == ["LIME", "one", "⏎", "two", "⏎", "three", "four"]


def test_a_cut_text_is_announced_and_its_rest_not_repeated() -> None:
    comparison = comparison_of("seen " + "unread " * 50, [1.0], limit=1)
    output = shown(comparison)
    assert "⚠ the text has 51 words, this model reads 1: the last 50 were cut" in output
    assert "[+++seen] […]" in output
    assert "unread" not in output


def test_a_long_text_ends_with_its_strongest_words() -> None:
    words = [f"w{i}" for i in range(100)]
    weights = np.linspace(0, 1, 100)
    assert "Strongest words:" not in shown(comparison_of(" ".join(words[:20]), weights[:20]))
    summary = shown(comparison_of(" ".join(words), weights)).split("Strongest words:")[1]
    assert summary.splitlines()[1].rstrip() == "LIME  w99 +1.000, w98 +0.990, w97 +0.980, w96 +0.970, w95 +0.960"


def test_numbers_have_a_row_per_feature_and_a_column_per_method() -> None:
    comparison = comparison_of("so good", [0.5, -0.25], methods=("lime", "gxi"), stderr=[0.011, 0.02])
    lines = [line.split() for line in shown(comparison, numbers=True).splitlines()]
    assert ["word", "LIME", "G×I"] in lines
    assert ["so", "+0.5000", "±", "0.0110", "+0.5000"] in lines
    assert ["good", "-0.2500", "±", "0.0200", "-0.2500"] in lines


def test_numbers_that_do_not_fit_go_to_further_tables() -> None:
    comparison = comparison_of("so good", methods=("alpha-avg", "alpha-max", "lime", "g-avg", "g-l1", "g-l2", "gxi"))
    heads = [line for line in shown(comparison, 40, numbers=True).splitlines() if line.startswith("word")]
    assert len(heads) > 1
    assert " ".join(heads).replace("word", "").split() == ["α-avg", "α-max", "LIME", "G-avg", "G-l1", "G-l2", "G×I"]
    wide = [line for line in shown(comparison, 120, numbers=True).splitlines() if line.startswith("word")]
    assert len(wide) == 1


@pytest.mark.parametrize(
    ("weight", "written"), [(0.0001234, "+0.0001234"), (1.23e-7, "+1.23e-07"), (4321.0, "+4321"), (0.0, "0.000")]
)
def test_digits_follow_the_size_of_the_weights(weight: float, written: str) -> None:
    output = shown(comparison_of("word", [weight], methods=("gxi",)), numbers=True)
    assert ["word", written] in [line.split() for line in output.splitlines()]


def test_lime_says_how_well_it_fits() -> None:
    diagnostics = {
        "intercept": 0.5,
        "r2": 0.875,
        "surrogate_prediction": 1.5,
        "model_prediction": 1.625,
        "extra_thing": 3,
    }
    comparison = comparison_of("fine", [1.0], stderr=[0.25], diagnostics=diagnostics, parameters={"n_samples": 5000})
    assert (
        "LIME: weighted R² 0.875 · surrogate +1.500 where the model has +1.625 · intercept +0.500 · 5,000 samples · "
        "extra thing 3"
    ) in shown(comparison, 200)


@pytest.mark.parametrize(
    ("needed", "said"),
    [
        (900, "1,000 samples (the same 5 strongest words in 95 % of runs)"),
        (20_762, "1,000 samples (the same 5 strongest words in 95 % of runs would take 20,762)"),
        (None, "1,000 samples (the 5 strongest words include a tie, which no number of samples settles)"),
    ],
)
def test_lime_says_whether_another_seed_would_agree(needed: int | None, said: str) -> None:
    diagnostics = {"stable_top": {"k": 5, "level": 0.95, "n_samples": needed}}
    comparison = comparison_of("fine", [1.0], stderr=[0.25], diagnostics=diagnostics, parameters={"n_samples": 1000})
    assert f"LIME: {said}\n" in re.sub(" +\n", "\n", shown(comparison, 200))


def test_what_a_method_says_of_itself_is_shown_even_where_it_is_no_number() -> None:
    comparison = comparison_of("fine", methods=("gxi",), diagnostics={"r2": "none", "error": 1e-12})
    assert "G×I: error at most 1e-12 · r2 none" in shown(comparison)


def test_how_often_the_model_was_asked_is_told() -> None:
    asked = [*comparison_of("fine", evaluations=4321), *comparison_of("fine", methods=("gxi",), evaluations=1)]
    silent = [*comparison_of("fine", methods=("g-l1",), evaluations=0), *comparison_of("fine", methods=("g-l2",))]
    assert "The model was asked: LIME 4,321 times, G×I once\n" in re.sub(" +\n", "\n", shown([*asked, *silent]))
    assert "asked" not in shown(silent)


def test_labels_and_signs_are_those_of_the_explanation() -> None:
    own = replace(comparison_of("fine", methods=("no such method",))[0], label="Ωmega\x1b", signed=False)
    assert row(shown([own]), "Ωmega␛").endswith("fine]")
    assert "Ωmega␛: without sign" in shown([own])


def test_methods_without_sign_are_named() -> None:
    output = shown(comparison_of("fine", [1.0], methods=("alpha-avg", "lime", "g-l2", "gxi")))
    assert "α-avg, G-l2: without sign" in output
    assert "without sign" not in shown(comparison_of("fine", [1.0], methods=("lime", "gxi")))


def test_an_ascii_stream_gets_ascii_signs() -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii", errors="strict")
    comparison = comparison_of("good bad<br />end", [1.0, -1.0, 0.0], stderr=[0.1] * 3, methods=("lime", "gxi"))
    for numbers in (False, True):
        render(comparison, console=Console(file=file, width=90, color_system=None), numbers=numbers)
    file.flush()
    assert b"[+++good] [---bad] / end" in raw.getvalue()
    assert b"+1.000 +/- 0.100" in raw.getvalue()
    assert b"gxi " in raw.getvalue()


def test_nothing_to_show_is_an_error() -> None:
    with pytest.raises(InputError, match="no explanation to show"):
        render((), console=Console(file=io.StringIO()))
