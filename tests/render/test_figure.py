"""Figures: everything of an explanation, whatever it holds, and the same bytes each time."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limelight.core.sanitize import visible
from limelight.errors import InputError, ParameterError
from limelight.explanation.result import Comparison
from limelight.render.figure.axes import new_figure
from limelight.render.figure.figure import Plot, figure_of, written
from limelight.render.figure.letters import BOX, drawable, fitted, runs_leftwards, width
from limelight.render.palette import LIGHT, Shade, hex_of
from limelight.render.row_model import row_models
from render.samples import comparison_of

matplotlib = pytest.importorskip("matplotlib")

hostile_texts = st.text(
    st.one_of(st.sampled_from("ab .,$\\{}^_%#&<>\n\t\x00\x1b\u202e\u200d\ud800\ufffe非👍שلé"), st.characters()),
    max_size=40,
).map(lambda text: f"word {text}")


def texts(figure: Plot) -> list[str]:
    """All that is written, beside the axes."""
    return [own.get_text() for own in figure.texts]


def inked(figure: Plot) -> dict[str, str]:
    """The colour behind each word that has one; matplotlib keeps artists in the order in which they were added."""
    boxes = {tuple(np.round(own.get_xy(), 3)): own for own in figure.artists if hasattr(own, "get_xy")}
    found = {}
    for text in figure.texts:
        x, y = text.get_position()
        box = boxes.get(tuple(np.round((x, y - 0.05), 3)))
        if box is not None:
            found[text.get_text()] = matplotlib.colors.to_hex(box.get_facecolor())
    return found


@settings(max_examples=15, deadline=None)
@given(hostile_texts)
def test_any_text_is_drawn_as_it_is(text: str) -> None:
    comparison = comparison_of(
        text,
        methods=("lime", text[:20]),
        labels=(text, "other"),
        target=text,
        notices=(text,),
        parameters={"output": text},
        diagnostics={"warnings": [text]},
    )
    figure = figure_of(comparison)
    svg = written(figure, "svg").decode()
    assert "<script" not in svg
    assert not any(own.get_parse_math() or own.get_usetex() for own in figure.texts)
    for axis in figure.axes:
        labels = [*axis.get_yticklabels(), axis.title, axis.xaxis.label, axis._right_title]
        assert not any(own.get_parse_math() or own.get_usetex() for own in labels if own.get_text())


def test_words_have_the_colours_of_the_palette() -> None:
    comparison = comparison_of("good bad so nil", [1.0, -1.0, 0.5, 0.0], methods=("gxi",))
    assert inked(figure_of(comparison)) == {
        "good": hex_of(LIGHT.background(Shade("blue", 20))),
        "bad": hex_of(LIGHT.background(Shade("orange", 20))),
        "so": hex_of(LIGHT.background(Shade("blue", 10))),
        "  ": hex_of(LIGHT.background(Shade("orange", 20))),  # the last swatch of the legend
    }
    assert {"The", "model", "says:", "positive", "negative", "nil"} <= set(texts(figure_of(comparison)))


def test_bars_are_the_weights_and_whiskers_their_intervals() -> None:
    weights, stderr = [0.25, -1.0, 0.5, 0.01], [0.01, 0.1, 0.02, 0.3]
    figure = figure_of(comparison_of("so bad good nil", weights, stderr=stderr), top=3)
    (axis,) = figure.axes
    bars, whiskers = axis.containers
    assert [own.get_text() for own in axis.get_yticklabels()] == ["bad", "good", "so"]
    assert [bar.get_width() for bar in bars] == [-1.0, 0.5, 0.25]
    ends = [segment[:, 0] for segment in whiskers[2][0].get_segments()]
    z = NormalDist().inv_cdf(1.0 - 0.05 * 3 / 4 / 2)  # three of four are significant
    expected = [(w - z * e, w + z * e) for w, e in ((-1.0, 0.1), (0.5, 0.02), (0.25, 0.01))]
    assert np.allclose(ends, expected)
    orange, blue = (hex_of(LIGHT.deepest(hue)) for hue in ("orange", "blue"))
    assert [matplotlib.colors.to_hex(bar.get_facecolor()) for bar in bars] == [orange, blue, blue]


def test_bars_stand_in_the_order_that_was_asked_for() -> None:
    comparison = comparison_of("so bad good nil", [0.25, -1.0, 0.5, 0.01])
    for order, words in (("signed", ["good", "so", "bad"]), ("text", ["so", "bad", "good"])):
        (axis,) = figure_of(comparison, top=3, order=order).axes
        assert [own.get_text() for own in axis.get_yticklabels()] == words


def test_bars_that_are_not_told_from_zero_are_empty() -> None:
    figure = figure_of(comparison_of("good nil", [1.0, 0.15], stderr=[0.01, 0.15]))
    bars = figure.axes[0].containers[0]
    faces = [matplotlib.colors.to_hex(bar.get_facecolor()) for bar in bars]
    assert faces == [hex_of(LIGHT.deepest("blue")), hex_of(LIGHT.paper)]
    assert "nil" not in inked(figure)
    assert "distinguishable" in texts(figure)


def test_verdicts_and_notices_are_written() -> None:
    diagnostics = {"warnings": ["unreliable surrogate"], "unknown": [1]}
    figure = figure_of(comparison_of("good xyzzy", [1.0, 0.0], notices=("a notice",), diagnostics=diagnostics))
    assert {"unreliable", "surrogate", "notice", "dotted:"} <= set(texts(figure))


def test_all_that_can_be_explained_is_drawn() -> None:
    pair = comparison_of(("a man", "music"), [1.0, 0.5, -1.0], methods=("gxi",))
    assert {"1st", "2nd", "man", "music"} <= set(texts(figure_of(pair)))
    levels = comparison_of("It is. No!", [1.0, 0.5, 0.0, -1.0, 0.0], kind=("sentences", "words"), methods=("gxi",))
    assert {"+1.500", "−1.000"} <= set(texts(figure_of(levels)))
    value = comparison_of("fine", [1.0], labels=("stars",), logits=(3.25,), model="regression")
    assert {"stars", "3.25", "raises", "lowers"} <= set(texts(figure_of(value)))
    labels = ("a", "b", "c")
    every = [e for own in labels for e in comparison_of("so", [1.0], labels=labels, target=own)]
    assert {"LIME: a", "LIME: b", "LIME: c", "explained"} <= set(texts(figure_of(every)))
    long = comparison_of(" ".join(f"w{i}" for i in range(70)), methods=("gxi", "shapley"))
    assert texts(figure_of(long)).count("w5") == 1
    # In the sentence, and in both rows.
    assert texts(figure_of(comparison_of("w5 w6", methods=("gxi", "shapley")))).count("w5") == 3


def test_nothing_is_outside_the_figure() -> None:
    text = f"a {'x' * 300} b " + "some words that need several lines to stand in " * 3
    for sample in (
        comparison_of(
            text, methods=("lime", "gxi", "shapley", "z" * 90), labels=("n" * 200, "other"), target="n" * 200
        ),
        comparison_of("الفيلم رائع جدا، لكن النهاية كانت سيئة", methods=("gxi",)),
        comparison_of("fine", [1e-9]),
    ):
        figure = figure_of(sample)
        figure.draw_without_rendering()
        wide, high = figure.bbox.width, figure.bbox.height
        artists = [
            *figure.texts,
            *(own for axis in figure.axes for own in (*axis.get_yticklabels(), axis._right_title)),
        ]
        with matplotlib.rc_context({"text.hinting": "none"}):  # as it is drawn
            boxes = [artist.get_window_extent() for artist in artists]
        for box in boxes:
            assert box.x0 >= -2
            assert box.x1 <= wide + 2
            assert box.y0 >= -2
            assert box.y1 <= high + 2


@pytest.mark.parametrize("format", ["png", "svg", "pdf"])
def test_same_explanation_same_bytes(format: Any) -> None:
    comparison = comparison_of("A fine film.", methods=("lime", "gxi"), stderr=[0.1, 0.1, 0.1, 0.1])
    first = written(comparison.plot(), format)
    assert first == written(comparison.plot(), format)
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[format]
    assert first.startswith(start)
    assert not re.search(rb"20\d\d-\d\d-\d\d|CreationDate", first)


def test_every_pdf_has_true_type_letters() -> None:
    figure = figure_of(comparison_of("A fine film."))
    other = new_figure(2, 2)
    other.text(0.5, 0.5, "letters")
    for own in (figure, other):
        with matplotlib.rc_context({"pdf.fonttype": 3}):
            own.savefig(place := io.BytesIO(), format="pdf")
        assert b"CIDFontType2" in place.getvalue()
        assert b"Type3" not in place.getvalue()


def test_titles_are_whole_and_say_method_and_question() -> None:
    labels = ("a rather long name of a label", "b", "c")
    asked = {"labels": labels, "target": labels[0], "against": "b", "methods": ("lime", "gxi", "shapley")}
    figure = figure_of(comparison_of("so good", parameters={"output": "logit"}, **asked))
    titles = [" ".join(axis._right_title.get_text().split()) for axis in figure.axes]
    assert titles == ["LIME (approximate)", "G×I (no sampling)", "Shapley (no sampling)"]
    said = " ".join(own for own in texts(figure) if own.strip())
    assert f"Why {labels[0]} rather than b?" in said
    assert f"logit: that of {labels[0]} less that of b" in said
    every = [e for own in labels for e in comparison_of("so", [1.0], labels=labels, target=own, methods=("shapley",))]
    titles = [" ".join(axis._right_title.get_text().split()) for axis in figure_of(every).axes]
    assert titles == [f"Shapley: {own} (no sampling)" for own in labels]


def test_panels_and_rows_of_one_unit_share_one_scale() -> None:
    weak, strong = (
        comparison_of("so good", [own, -own], methods=("shapley",), parameters={"output": "logit"})[0]
        for own in (0.1, 1.0)
    )
    other = comparison_of("so good", [0.2, 0.1], methods=("rollout",))[0]
    first, second, third = (axis.get_xlim() for axis in figure_of([weak, strong, other]).axes)
    assert first == second != third
    levels = [[shade.level for shade in model.shades] for model in row_models([weak, strong, other])]
    assert levels == [[2, 2], [20, 20], [20, 10]]


def test_letters_are_shapes_in_svg() -> None:
    svg = written(figure_of(comparison_of("A fine film.")), "svg")
    assert b"<image" not in svg
    assert svg.count(b"<path") > 20


def test_explanations_plot_themselves_and_notebooks_show_it() -> None:
    comparison = comparison_of("so good", methods=("lime", "gxi"))
    assert isinstance(comparison[0].plot(top=1), matplotlib.figure.Figure)
    assert len(comparison[0].plot().axes) == 1
    assert len(comparison.plot().axes) == 2
    assert comparison.plot()._repr_png_().startswith(b"\x89PNG")


def test_no_backend_is_chosen_and_no_setting_is_changed() -> None:
    program = """
import sys
import matplotlib
def settings():  # as they are kept: to read the backend would choose one
    return {name: dict.__getitem__(matplotlib.rcParams, name) for name in dict.keys(matplotlib.rcParams)}
before = settings()
from render.samples import comparison_of
from limelight.render.figure.axes import new_figure
from limelight.render.figure.figure import written
written(comparison_of("so good").plot(), "svg")
assert settings() == before
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, env={"PYTHONPATH": ":".join(sys.path)})


def test_without_matplotlib_it_says_what_to_install() -> None:
    program = """
import sys
sys.modules["matplotlib"] = None
from render.samples import comparison_of
from limelight.errors import InputError
try:
    comparison_of("so good").plot()
except InputError as error:
    assert 'pip install "limelight[figures]"' in str(error)
else:
    raise SystemExit("no error")
"""
    subprocess.run([sys.executable, "-c", program], check=True, env={"PYTHONPATH": ":".join(sys.path)})


def test_what_cannot_be_drawn_is_an_error() -> None:
    with pytest.raises(InputError, match="no explanation to draw"):
        figure_of(Comparison(()))
    with pytest.raises(InputError, match="one text"):
        figure_of([*comparison_of("one"), *comparison_of("two")])
    with pytest.raises(ParameterError, match="top"):
        figure_of(comparison_of("one"), top=0)


@pytest.mark.parametrize("weights", [[np.nan, np.inf], [1e308, -1e308], [0.0, 0.0], [1e-320, 1.0]])
def test_numbers_of_any_size_are_drawn(weights: list[float]) -> None:
    written(figure_of(comparison_of("so good", weights, stderr=[np.nan, np.inf])), "svg")


def test_letters_without_a_form_are_boxes() -> None:
    assert drawable("a\U0001f44d\U0001f3fd") == f"a{BOX}{BOX}"
    assert drawable("a\u202e\n") == f"a<U+202E>{drawable(visible(chr(10)))}"
    figure = figure_of(comparison_of("very \U0001f44d"))
    assert f"{BOX}:" in texts(figure)
    assert f"{BOX}:" not in texts(figure_of(comparison_of("very good")))


def test_widths_are_those_of_the_letters() -> None:
    assert width("mm", 10) == pytest.approx(2 * width("m", 10), rel=0.05)
    assert width("m", 20) == pytest.approx(2 * width("m", 10), rel=0.02)
    assert fitted("a long name", 9.0, 10) == "a long name"
    cut = fitted("a long name", 0.4, 10)
    assert cut.endswith("…")
    assert width(cut, 10) <= 0.4
    assert runs_leftwards("1. الفيلم great")
    assert not runs_leftwards("great الفيلم")
