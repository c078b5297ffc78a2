"""What reaches a terminal: the summary first, all words in their order, and nothing that acts on it."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from limelight.core.sanitize import visible
from limelight.errors import InputError
from limelight.explanation.result import Comparison
from limelight.inputs.document import read_words
from limelight.render.terminal.page import Look, render
from render.captures import lines, rows_of, shown, summary_of
from render.samples import comparison_of

hostile_texts = st.text(
    st.one_of(
        st.sampled_from("ab .,!'\"[]<>&/\n\t\x00\x07\x1b\x9b\u202e\u2066\u200d\u2028\ud800非👍שلé"), st.characters()
    ),
    max_size=60,
).map(lambda text: f"word {text}")


# ── the prediction, and what is asked ─────────────────────────────────────────────────────────────────────────────────


def test_prediction_comes_first_with_probability_and_logit() -> None:
    comparison = comparison_of("A great film.", [1, 2, 3, 0], labels=("bad", "good"), logits=(-1.0, 2.0))
    first, second = shown(comparison).splitlines()[:2]
    assert re.fullmatch(r"good +━+─* +95\.3 % +logit \+2\.000 *", first)
    assert re.fullmatch(r"bad +━*─+ +4\.7 % +logit -1\.000 *", second)


def test_says_which_label_is_explained_when_it_is_not_the_predicted_one() -> None:
    comparison = comparison_of("A great film.", [1, 2, 3, 0], labels=("bad", "good"), logits=(-1.0, 2.0), target="bad")
    assert "Why bad? (The model says good.)" in shown(comparison)


def test_a_contrast_names_both_labels_and_its_words_speak_for_either() -> None:
    output = shown(comparison_of("so good", [1, -1], labels=("a", "b", "c"), target="b", against="a"))
    assert "Why b rather than a? (The model says c.)" in output
    assert "[+++word] for b, [−−−word] for a;" in output


def test_labels_that_do_not_exclude_each_other_are_all_named() -> None:
    both = comparison_of("so good", labels=("x", "y", "z"), logits=(2.0, 1.0, -3.0), target="z", model="multi-label")
    assert "Why z? (The model says x, y.)" in shown(both)
    none = comparison_of("so good", labels=("x", "y"), logits=(-2.0, -1.0), model="multi-label")
    assert "Why y? (The model says none of its labels.)" in shown(none)
    assert "[−−−word] against y;" in shown(none)


def test_a_regression_has_a_number_and_no_probability() -> None:
    output = shown(comparison_of("so good", labels=("price",), logits=(12345.678,), model="regression"))
    assert lines(output)[0].split() == ["price", "12,345.7"]
    assert "What moves price?" in output
    assert "[+++word] raises price, [−−−word] lowers price;" in output
    assert "%" not in lines(output)[0]
    numbers = shown(comparison_of("so", labels=("price",), logits=(1.0,), model="regression"), numbers=True)
    assert "Positive weights raise it" in numbers


def test_many_labels_are_cut_but_the_target_stays() -> None:
    labels = tuple(f"label{i}" for i in range(50))
    output = shown(comparison_of("fine", [1.0], labels=labels, logits=tuple(range(50)), target="label3"))
    assert "label49" in output
    assert "label3 " in output
    assert "label20" not in output
    assert "and 44 more" in output


def test_a_class_at_almost_one_is_not_called_certain() -> None:
    assert "> 99.9 %" in shown(comparison_of("fine", [1.0], logits=(0.0, 10.0)))


# ── the summary ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_strongest_words_come_with_weight_and_interval() -> None:
    comparison = comparison_of("so good", [0.5, -0.25], methods=("lime", "shapley"), stderr=[0.01, 0.02])
    output = shown(comparison)
    assert "Why positive? The strongest words, weight ± interval:" in output
    assert "of those of the marked words 95 % hold the true weight." in output
    # 1.96 standard errors on each side: both words are significant.
    assert summary_of(output) == [
        "LIME     so +0.5000 ± 0.0196 · good -0.2500 ± 0.0392",
        "Shapley  so +0.5000 · good -0.2500",
    ]
    assert "±" not in shown(comparison_of("so good", methods=("shapley",)))


def test_kin_stand_below_each_other_under_their_family() -> None:
    methods = ("alpha-avg", "lime", "gxi", "lime-limit", "alpha-max", "own")
    output = shown(comparison_of("fine", [1.0], methods=methods), 120)
    assert [line.split("fine")[0].rstrip() for line in summary_of(output)] == [
        "attention  α-avg",
        "           α-max",
        "LIME       LIME",
        "           LIME, unsampled",
        "gradients  G×I",
        "own        own",
    ]


def test_the_verdict_stands_beside_its_row_and_is_not_dim() -> None:
    warned = comparison_of("so good", diagnostics={"warnings": ["Do not rely on it.", "Take more samples."]})
    comparison = [*warned, *comparison_of("so good", methods=("shapley",))]
    assert [line.strip() for line in summary_of(shown(comparison))] == [
        "LIME     so +0.5000 · good -0.2500",
        "⚠ Do not rely on it.",
        "⚠ Take more samples.",
        "Shapley  so +0.5000 · good -0.2500",
    ]
    assert "\x1b[1;35m⚠ Do not rely on it." in shown(comparison, system="standard")


@pytest.mark.parametrize("numbers", [False, True])
def test_what_is_not_told_from_zero_is_drawn_as_such(numbers: bool) -> None:
    """The case that was seen: +0.1502 ± 0.1502 as [+++good]."""
    comparison = comparison_of("a good one", [0.0, 0.1502, 0.0], stderr=[0.1, 0.1502, 0.1])
    output = shown(comparison, numbers=numbers)
    assert summary_of(output) == ["LIME  no word is distinguishable from zero"]
    if numbers:
        assert ["good", "(+0.1502", "±", "0.3596)"] in [line.split() for line in lines(output)]
        assert "(In brackets: not distinguishable from 0.)" in output
    else:
        assert rows_of(output) == {"LIME": "a good one  (no word is distinguishable from zero)"}
        assert "A word without marks is weaker, or is not distinguishable from 0." in output


def test_rounding_is_no_evidence() -> None:
    """Seen: weights of -6.6e-13 as [−−−xyzzy]."""
    comparison = comparison_of("xyzzy qwertz", [-6.6e-13, 1e-13], methods=("shapley",), diagnostics={"rounding": 1e-12})
    assert summary_of(shown(comparison)) == ["Shapley  no word is distinguishable from zero"]
    assert rows_of(shown(comparison))["Shapley"].startswith("xyzzy qwertz ")


def test_words_that_the_model_does_not_know_are_marked() -> None:
    comparison = comparison_of("xyzzy good", [0.0, 1.0], diagnostics={"unknown": [0]})
    output = shown(comparison)
    assert rows_of(output) == {"LIME": "xyzzy° [+++good]"}
    assert "° the model does not know it." in " ".join(output.split())
    assert ["xyzzy°", "(0.000)"] in [line.split() for line in lines(shown(comparison, numbers=True))]
    assert "°" not in shown(comparison_of("xyzzy good", [0.0, 1.0]))


def test_without_a_wish_as_many_words_as_fit_a_line_but_a_few_at_least() -> None:
    words = " ".join(f"word{i}" for i in range(20))
    comparison = comparison_of(words, np.linspace(1, 2, 20))
    counts = {
        width: sum(line.count("word1") for line in summary_of(shown(comparison, width))) for width in (40, 80, 200)
    }
    assert counts == {40: 3, 80: 4, 200: 5}
    assert len(summary_of(shown(comparison, 80))) == 1


@pytest.mark.parametrize(
    ("order", "words"),
    [(None, "e a c"), ("weight", "e a c"), ("signed", "a c e"), ("text", "a c e")],
)
def test_top_and_sort_choose_the_words(order: str | None, words: str) -> None:
    comparison = comparison_of("a b c d e", [4.0, 1.0, 3.0, 0.0, -5.0])
    summary = summary_of(shown(comparison, look=Look(top=3, order=order)))  # type: ignore[arg-type]
    assert " ".join(item.split()[0] for item in summary[0].removeprefix("LIME").split(" · ")) == words
    table = shown(comparison, look=Look(numbers=True, top=3, order=order))  # type: ignore[arg-type]
    column = [line.split()[0] for line in lines(table.split("──\n")[1].split("\n\n")[0])]
    assert column == (sorted(words.split()) if order is None else words.split())


def test_top_beyond_the_line_takes_further_lines() -> None:
    words = " ".join(f"word{i}" for i in range(20))
    output = shown(comparison_of(words, np.linspace(1, 2, 20)), 80, look=Look(top=12))
    assert sum(line.count("word") for line in summary_of(output)) == 12


# ── the text ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_marks_without_colour_are_ranked_and_signed() -> None:
    comparison = comparison_of("great good so dull bad nil", [1.0, 0.3, 0.1, -0.3, -1.0, 0.01])
    assert rows_of(shown(comparison)) == {"LIME": "[+++great] [++good] [+so] [−−dull] [−−−bad] nil"}


def test_methods_without_sign_have_marks_of_their_own_and_no_plus() -> None:
    output = shown(comparison_of("fine dull", [1.0, 0.4], methods=("alpha-avg", "lime")))
    assert rows_of(output) == {"α-avg": "[***fine] [**dull]", "LIME": "[+++fine] [++dull]"}
    assert "[***word] how much a word matters, for no side;" in output
    assert "fine 1.000 · dull 0.400" in summary_of(output)[0]
    assert "***" not in shown(comparison_of("fine", [1.0], methods=("lime", "gxi")))
    assert "+" not in rows_of(shown(comparison_of("fine", methods=("g-l1",))))["G-l1"]


def test_a_word_is_marked_at_all_its_occurrences_as_it_was_written() -> None:
    comparison = comparison_of("GREAT, great; Great!", [1.0, 0.0, 0.0])
    assert rows_of(shown(comparison)) == {"LIME": "[+++GREAT], [+++great]; [+++Great]!"}


def test_a_long_text_is_shown_once_by_the_method_without_sampling() -> None:
    words = [f"word{i}" for i in range(100)]
    weights = np.linspace(0.1, 1, 100)
    stated = {"error": 1e-12}
    comparison = [
        *comparison_of(" ".join(words), weights, methods=("alpha-avg", "lime"), stderr=[0.01] * 100),
        *comparison_of(" ".join(words), weights, methods=("lime-limit",), diagnostics=stated),
    ]
    output = shown(comparison)
    assert output.count("word50") == 1
    assert "The text by LIME, unsampled (no sampling, error below 1e-12):" in output
    assert [line.split()[0] for line in summary_of(output)] == ["attention", "LIME", "LIME,"]
    once = shown(comparison[:1])
    assert "shown once" not in once
    short = shown([replace(e, text=e.text[:6], features=e.features[:1], weights=e.weights[:1], spans=e.spans[:1],
                           stderr=None) for e in comparison])  # fmt: skip
    assert "shown once" not in short


def test_of_two_that_are_sampled_the_narrower_is_shown() -> None:
    text = " ".join(f"word{i}" for i in range(100))
    wide, narrow = (comparison_of(text, np.ones(100), stderr=[error] * 100)[0] for error in (0.1, 0.01))
    narrow = replace(narrow, method="shapley", method_label="Shapley")
    assert "The text by Shapley (sampled):" in shown([wide, narrow])
    warned = replace(narrow, diagnostics={"warnings": ["Wrong."]})
    assert "The text by LIME (sampled):" in shown([wide, warned])


def test_every_label_has_its_row() -> None:
    labels = ("x", "y", "z")
    comparison = Comparison(tuple(comparison_of("a fine film", labels=labels, target=t)[0] for t in labels))
    output = shown(comparison)
    assert "Why each label?" in output
    assert [line.split()[0] for line in summary_of(output)] == list(labels)
    assert list(rows_of(output)) == list(labels)
    assert "[+++word] for the label of its row, [−−−word] against the label of its row;" in output
    both = [replace(e, method=m, method_label=m.title()) for m in ("lime", "shapley") for e in comparison]
    assert [line.split("  ")[0] for line in summary_of(shown(both))][:2] == ["Lime · x", "Lime · y"]


def test_fifty_labels_at_once_show_the_text_once() -> None:
    labels = tuple(f"label{i}" for i in range(50))
    comparison = [comparison_of("a fine film " * 20, labels=labels, target=target)[0] for target in labels]
    output = shown(comparison, 120)
    assert len(summary_of(output)) == 50
    assert "The text by label49" in output


def test_the_texts_of_a_pair_are_told_apart() -> None:
    comparison = comparison_of(("A man sleeps.", "A man is awake."), labels=("x", "y", "z"))
    output = lines(shown(comparison))
    assert "LIME  1st  [+++A] [−−man] [+sleeps][+++.]" in output
    assert "      2nd  [−−A] [+man] [+++is] [−−awake][+.]" in output
    assert "a (1st) +0.5000" in " ".join(summary_of(shown(comparison)))
    assert ["a", "(2nd)", "-0.2500"] in [line.split() for line in lines(shown(comparison, numbers=True))]


def test_of_a_pair_the_text_without_weights_is_shown_too() -> None:
    long = " ".join(["context"] * 40)
    output = shown(comparison_of((long, "A man."), parts="second"))
    assert output.count("context") == 40
    assert "[+++A]" in output


def test_passages_are_shortened_in_lists_and_whole_in_the_text() -> None:
    first = "The film was great and everything that happened in it was very good indeed."
    comparison = comparison_of(f"{first}\nBut the end was bad.", [0.5, -0.7], kind="sentences")
    for numbers in (False, True):
        output = shown(comparison, numbers=numbers)
        assert "The strongest sentences" in output
        assert first not in " ".join(summary_of(output))
        assert "The film was great and everything that…" in " ".join(summary_of(output))
        assert (first in output.replace("\n", " ").replace("      ", "")) is not numbers
    assert "␊" not in shown(comparison_of("One two\nthree four. Five.", kind="sentences"))
    assert "no sentence is distinguishable from zero" in shown(comparison_of("One. Two.", [0.0, 0.0], kind="sentences"))


def test_two_levels_are_sentences_with_their_words() -> None:
    comparison = comparison_of("It was great. But so bad.", [0, 0, 1, 0, 0, 0, -0.5, 0], kind=("sentences", "words"))
    output = shown(comparison)
    assert [line.strip() for line in summary_of(output)] == [
        "LIME  It was great. +1.000 · But so bad. -0.500",
        "great +1.000 · bad -0.500",
    ]
    assert "LIME  +1.000  It was [+++great]." in lines(output)
    assert "      -0.500  But so [−−bad]." in lines(output)
    table = [line.split() for line in lines(shown(comparison, numbers=True))]
    assert ["But", "so", "bad.", "-0.500"] in table
    assert ["bad", "-0.500"] in table
    pair = comparison_of(("One a. Two b.", "Three c."), kind=("sentences", "words"))
    assert [line.split("  ")[1] for line in lines(shown(pair)) if re.match(r".*(1st|2nd) [+-]", line)][:1] == [
        "1st +0.3750"
    ]


def test_what_stands_between_groups_is_shown_whole() -> None:
    between = " ".join(["between"] * 30)
    text = f"first {between} last"
    comparison = comparison_of(text, kind=([(0, 5), (len(text) - 4, len(text))], "words"))
    assert shown(comparison).count("between") == 30


def test_markup_breaks_and_empty_lines_are_one_sign() -> None:
    comparison = comparison_of("one<br /><br />two\n\nthree\nfour\n\n", [0.1] * 4)
    assert rows_of(shown(comparison)) == {"LIME": "[+++one] ⏎ [+++two] ⏎ [+++three] [+++four]"}


def test_a_cut_text_is_announced_and_its_rest_not_repeated() -> None:
    comparison = comparison_of("seen " + "unread " * 50, [1.0], limit=1)
    output = shown(comparison)
    assert "⚠ the text has 51 words, this model reads 1: the last 50 were cut" in output
    assert "[+++seen] […]" in output
    assert "unread" not in output


# ── numbers ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_numbers_have_a_row_per_feature_and_a_column_per_method() -> None:
    comparison = comparison_of("so good", [0.5, -0.25], methods=("lime", "gxi"), stderr=[0.011, 0.02])
    table = [line.split() for line in shown(comparison, numbers=True).splitlines()]
    assert ["word", "LIME", "G×I"] in table
    assert ["so", "+0.5000", "±", "0.0216", "+0.5000"] in table
    assert ["good", "-0.2500", "±", "0.0392", "-0.2500"] in table


def test_numbers_that_do_not_fit_go_to_further_tables() -> None:
    comparison = comparison_of("so good", methods=("alpha-avg", "alpha-max", "lime", "g-avg", "g-l1", "g-l2", "gxi"))
    heads = [line for line in shown(comparison, 40, numbers=True).splitlines() if line.startswith("word")]
    assert len(heads) > 1
    assert " ".join(heads).replace("word", "").split() == ["α-avg", "α-max", "LIME", "G-avg", "G-l1", "G-l2", "G×I"]
    wide = [line for line in shown(comparison, 120, numbers=True).splitlines() if line.startswith("word")]
    assert len(wide) == 1


@pytest.mark.parametrize(
    ("weight", "written"), [(0.0001234, "+0.0001234"), (1.23e-7, "+1.23e-07"), (4321.0, "+4321"), (0.0, "(0.000)")]
)
def test_digits_follow_the_size_of_the_weights(weight: float, written: str) -> None:
    output = shown(comparison_of("word", [weight], methods=("gxi",)), numbers=True)
    assert ["word", written] in [line.split() for line in output.splitlines()]


def test_an_error_that_is_not_known_is_no_number() -> None:
    output = shown(comparison_of("word other", [1.0, 2.0], stderr=[np.nan, 0.1]), numbers=True)
    assert ["word", "(+1.000,", "no", "interval)"] in [line.split() for line in output.splitlines()]


# ── what methods say of themselves ────────────────────────────────────────────────────────────────────────────────────


def test_lime_says_how_well_it_fits() -> None:
    diagnostics = {
        "intercept": 0.5,
        "r2": 0.875,
        "surrogate_prediction": 1.5,
        "model_prediction": 1.625,
        "extra_thing": 3,
        "nothing": None,
        "nodes": 12,
    }
    comparison = comparison_of("fine", [1.0], stderr=[0.25], diagnostics=diagnostics, parameters={"n_samples": 5000})
    assert (
        "LIME: weighted R² 0.875 · surrogate +1.500 where the model has +1.625 · intercept +0.500 · 5,000 samples · "
        "extra thing 3"
    ) in lines(shown(comparison, 200))


@pytest.mark.parametrize(
    ("needed", "said"),
    [
        (900, "1,000 samples (the same 2 strongest words in 95 % of runs)"),
        (20_762, "1,000 samples (the same 2 strongest words in 95 % of runs would take 20,762)"),
        (None, "1,000 samples (the 2 strongest words include a tie, which no number of samples settles)"),
    ],
)
def test_lime_says_whether_another_seed_would_agree(needed: int | None, said: str) -> None:
    diagnostics = {"stable_top": {"k": 2, "level": 0.95, "n_samples": needed}}
    options = {"diagnostics": diagnostics, "parameters": {"n_samples": 1000}}
    comparison = comparison_of("so very fine", stderr=[0.25] * 3, **options)  # type: ignore[arg-type]
    assert f"LIME: {said}" in lines(shown(comparison, 200))
    few = comparison_of("very fine", stderr=[0.25] * 2, **options)  # type: ignore[arg-type]
    assert "LIME: 1,000 samples" in lines(shown(few, 200)), "two words are always the two strongest"


def test_what_is_free_of_sampling_is_not_called_exact() -> None:
    comparison = comparison_of("fine", methods=("gxi", "g-l1"), diagnostics={"r2": "none", "error": 1e-12})
    output = shown(comparison)
    assert "G×I, G-l1: no sampling, error below 1e-12 · r2 none" in lines(output)
    assert "exact" not in output


def test_how_often_the_model_was_asked_is_told() -> None:
    asked = [*comparison_of("fine", evaluations=4321), *comparison_of("fine", methods=("gxi",), evaluations=1)]
    silent = [*comparison_of("fine", methods=("g-l1",), evaluations=0), *comparison_of("fine", methods=("g-l2",))]
    assert "The model was asked: LIME 4,321 times, G×I once" in lines(shown([*asked, *silent]))
    assert "asked" not in shown(silent)


# ── one explanation ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_one_explanation_is_told_in_a_sentence_its_text_and_its_strongest_words() -> None:
    warned = {"warnings": ["Beware."], "unknown": [2]}
    comparison = comparison_of("bad great xyzzy", [0.9, -0.4, 0.0], stderr=[0.01] * 3, diagnostics=warned)
    assert lines(shown(comparison, look=Look(told=True)))[3:12] == [
        "positive, mainly because of *bad*; *great* speaks against it.",
        "",
        "[+++bad] [−−great] xyzzy°",
        "",
        "The strongest words, weight ± interval",
        "bad    +0.9000 ± 0.0213  ━━━━━━━━━━━━━━━━━━━━━━━━",
        "great  -0.4000 ± 0.0213  ━━━━━━━━━━━",
        "",
        "⚠ Beware.",
    ]
    assert "The strongest" not in shown(comparison, look=Look(told=True, numbers=True))


def test_a_model_that_words_barely_move_is_not_drawn_in_full() -> None:
    output = shown(comparison_of("bad great", [1e-4, -5e-5], diagnostics={"barely_moves": True}), look=Look(told=True))
    assert "all words together barely change this" in output
    assert "[+++" not in output.partition("The strongest")[0]
    assert "━" not in output.partition("The strongest")[2]


# ── any text, any console ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("width", [20, 33, 40, 60, 80, 120, 200, 300])
@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("system", [None, "truecolor", "256", "standard"])
def test_no_line_is_wider_than_the_terminal(width: int, numbers: bool, system: str | None) -> None:
    text = "Supercalifragilisticexpialidocious 非常好看的电影 👍🏽 שלום it's fine.<br /><br />" * 3
    said = {"warnings": ["A verdict of quite some length, which goes on. " * 3], "unknown": [0]}
    methods = ("alpha-avg", "lime", "gxi")
    comparison = comparison_of(text, methods=methods, labels=("a" * 60, "b"), diagnostics=said)
    levels = comparison_of((text, text), methods=methods, kind=("sentences", "words"), diagnostics=said)
    for explained in (comparison, levels, comparison[:1], levels[1:2]):
        look = Look(numbers=numbers, told=True)
        output = Text.from_ansi(shown(explained, width, system, look=look)).plain
        assert max(map(cell_len, output.split("\n"))) <= width


def test_words_stay_whole_where_they_fit() -> None:
    words = "alpha bravo charlie delta echo foxtrot golf hotel india juliett kilo lima mike november"
    output = shown(comparison_of(words, [0.0] * 14), width=40)
    assert set(words.split()) <= set(output.split())


@settings(max_examples=150, deadline=None)
@given(hostile_texts, st.integers(20, 120))
def test_every_word_of_any_text_appears_in_order(text: str, width: int) -> None:
    comparison = comparison_of(text)
    letters = re.sub(r"\s", "", shown(comparison, width)).split("initsrow.", 1)[1]
    at = 0
    for word in read_words(text):
        form = re.sub(r"\s", "", visible(text[word.start : word.end]))
        found = letters.find(form, at)
        assert found >= 0, form
        at = found + len(form)


@settings(max_examples=150, deadline=None)
@given(hostile_texts, st.booleans(), st.sampled_from(["words", "sentences", ("sentences", "words")]))
def test_no_text_acts_on_the_terminal(text: str, numbers: bool, kind: str) -> None:
    label = text[:40]
    comparison = comparison_of(
        text,
        kind=kind,
        labels=(label, "other"),
        notices=(text,),
        methods=(text[:20],),
        diagnostics={"warnings": [text]},
    )
    output = shown(comparison, numbers=numbers) + shown(comparison, look=Look(numbers=numbers, told=True))
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


def test_labels_and_signs_are_those_of_the_explanation() -> None:
    own = replace(comparison_of("fine", methods=("no such method",))[0], method_label="Ωmega\x1b", signed=False)
    assert rows_of(shown([own])) == {"Ωmega␛": "[***fine]"}


def test_an_ascii_stream_gets_ascii_signs() -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii", errors="strict")
    said = {"warnings": ["Beware."], "unknown": [2]}
    comparison = comparison_of(
        "good bad<br />end", [1.0, -1.0, 0.0], stderr=[0.1] * 3, methods=("lime", "gxi", "alpha-avg"), diagnostics=said
    )
    for numbers in (False, True):
        render(comparison, console=Console(file=file, width=90, color_system=None), look=Look(numbers=numbers))
    file.flush()
    assert b"[+++good] [---bad] / end~" in raw.getvalue()
    assert b"+1.000 +/- 0.213" in raw.getvalue()  # two of three are significant
    assert b"! Beware." in raw.getvalue()
    assert b"gxi " in raw.getvalue()


def test_nothing_to_show_is_an_error() -> None:
    with pytest.raises(InputError, match="no explanation to show"):
        render((), console=Console(file=io.StringIO()))
