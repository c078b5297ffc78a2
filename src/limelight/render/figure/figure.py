"""Explanations as a figure for a paper: the text in its colours as vector graphics, and bars with 95 % intervals.

Needs matplotlib, but not pyplot: no window, no backend and none of matplotlib's settings is touched.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from limelight.core.arrays import Floats, whole_number
from limelight.errors import InputError
from limelight.explanation.result import Explanation
from limelight.explanation.units import together, unit_of
from limelight.explanation.wording import accuracy_briefly, asked_in_words, contrast_in_words, ending_of, notices_of
from limelight.render.palette import LEVELS, LIGHT, Rgb, Shade, hex_of, hue_of, legend
from limelight.render.pieces import BREAK, SPACE, Piece, order_of, owners_of, shown_pieces, texts_of
from limelight.render.row_model import (
    LONG_TEXT,
    SIDES,
    Order,
    RowModel,
    group_model,
    row_models,
    to_be_seen_once,
)
from limelight.render.sentence import sentence

try:
    import matplotlib
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle

    from limelight.render.figure.axes import TRUE_TYPE
    from limelight.render.figure.letters import BOX, drawable, families, fitted, runs_leftwards, width, wrapped
    from limelight.render.figure.true_type import TrueTypeFigure
except ImportError as error:
    raise InputError('drawing needs matplotlib: pip install "limelight[figures]"') from error

Format = Literal["png", "svg", "pdf"]
_WIDTH = 7.2
"""Inches: a page of a paper between its margins."""
_NAME = 1.35
"""Inches for the names of methods beside the text."""
_SIZE, _SMALL = 9.0, 7.5
"""Points of letters."""
_LINE, _SMALL_LINE = 0.22, 0.16
"""Inches from line to line."""
_GAP = 0.18
_BAR = 0.19
"""Inches for one bar."""
_TITLE_LINE = 0.125
"""Inches for one line of a panel's title."""
_COLUMNS = 3
_METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None, "Producer": None},
}


class Plot(TrueTypeFigure):
    """A figure that a notebook shows without pyplot."""

    def draw(self, renderer: Any) -> None:
        # Letters that are fitted to dots would be wider than they were measured.
        with matplotlib.rc_context({"text.hinting": "none"}):
            super().draw(renderer)

    def _repr_png_(self) -> bytes:
        return written(self, "png")


def figure_of(explanations: Sequence[Explanation], *, top: int = 10, order: Order = "weight") -> Plot:
    """A figure of the explanations of one text; bars for the `top` strongest words of each, in this order.

    It belongs to the caller: `figure.savefig("why.pdf")`.
    """
    top = whole_number("top", top, 1)
    if not len(explanations):
        raise InputError("there is no explanation to draw: give at least one")
    if len({explanation.text for explanation in explanations}) > 1:
        raise InputError("a figure shows one text, and these are explanations of several: draw one figure for each")
    drawing = _Drawing()
    models = row_models(explanations)
    _headline(drawing, explanations, models)
    _texts(drawing, explanations, models)
    _legend(drawing, explanations)
    draw_bars = _bars(drawing, explanations, models, top, order)
    _remarks(drawing, explanations)
    figure = drawing.figure()
    draw_bars(figure, drawing.height)
    return figure


def written(figure: Any, format: Format) -> bytes:
    """The figure as a file: the same bytes for the same figure."""
    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "limelight", **TRUE_TYPE}):
        figure.savefig(buffer, format=format, dpi=200, metadata=_METADATA[format])
    return buffer.getvalue()


# ── text that flows ───────────────────────────────────────────────────────────────────────────────────────────────────


_NO_COLOUR = Shade("grey", 0)


@dataclass(frozen=True)
class _Run:
    """Letters that are drawn together."""

    text: str
    shade: Shade = _NO_COLOUR
    ink: Rgb = LIGHT.ink
    size: float = _SIZE
    bold: bool = False
    unknown: bool = False

    @property
    def width(self) -> float:
        return width(self.text, self.size, bold=self.bold)


@dataclass
class _Drawing:
    """Letters placed in inches from the upper left corner; the figure's height is known at the end."""

    height: float = _GAP / 2
    _placed: list[tuple[float, float, _Run]] = field(default_factory=list)

    def flow(self, runs: Sequence[_Run], left: float = 0.1, line: float = _LINE, *, leftwards: bool = False) -> None:
        """Runs of letters in lines between a left edge and the right one of the page."""
        room = _WIDTH - left - 0.1
        x, y = 0.0, self.height
        for run in _that_fit(runs, room):
            if run.text == BREAK:
                x, y = 0.0, y + 1.4 * line
                continue
            if x > 0.0 and x + run.width > room:
                x, y = 0.0, y + line
            if run.text == SPACE and x == 0.0:
                continue
            at = _WIDTH - 0.1 - x - run.width if leftwards else left + x
            if run.text != SPACE:
                self._placed.append((at, y, run))
            x += run.width
        self.height = y + line

    def skip(self, height: float) -> None:
        self.height += height

    def figure(self) -> Plot:
        """A figure with all that was placed, and room for the rest."""
        figure = Plot(figsize=(_WIDTH, self.height), facecolor=hex_of(LIGHT.paper))
        inches = figure.dpi_scale_trans
        for x, y, run in self._placed:
            base = self.height - y - 0.15
            if run.shade.level:
                box = Rectangle((x, base - 0.05), run.width, 0.185, transform=inches, linewidth=0)
                box.set_color(hex_of(LIGHT.background(run.shade)))
                figure.add_artist(box)
            if run.shade.underlined or run.unknown:
                dots: Any = (0, (1, 1.5)) if run.unknown else "-"
                ends = (x, x + run.width), (base - 0.03, base - 0.03)
                look: dict[str, Any] = {"transform": inches, "color": hex_of(LIGHT.ink), "linewidth": 0.9}
                figure.add_artist(Line2D(*ends, linestyle=dots, **look))
            letters: dict[str, Any] = {
                "size": run.size,
                "weight": "bold" if run.bold else "normal",
                "color": hex_of(run.ink),
            }
            figure.text(x, base, run.text, transform=inches, va="baseline", **letters, **_plainly())
        return figure


def _that_fit(runs: Sequence[_Run], room: float) -> Iterator[_Run]:
    """Runs that are wider than a line, cut."""
    for run in runs:
        rest = run
        while len(rest.text) > 1 and rest.text != BREAK and rest.width > room:
            fits = max(int(len(rest.text) * room / rest.width) - 1, 1)
            yield replace(rest, text=rest.text[:fits])
            rest = replace(rest, text=rest.text[fits:])
        yield rest


def _plainly() -> dict[str, Any]:
    """A dollar sign starts no formula, and TeX is not asked."""
    return {"parse_math": False, "usetex": False, "fontfamily": list(families())}


def _words(text: str, **look: Any) -> list[_Run]:
    """A sentence of ours or a name, word by word, so that it can be broken."""
    runs: list[_Run] = []
    for word in drawable(text).split():
        runs += [_Run(word, **look), _Run(SPACE, size=look.get("size", _SIZE))]
    return runs


# ── what is shown ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _headline(drawing: _Drawing, explanations: Sequence[Explanation], models: Sequence[RowModel]) -> None:
    """The sentence; then what is explained, where that is not the label that the model gives."""
    chosen = to_be_seen_once(explanations)
    first, prediction = explanations[chosen], explanations[chosen].prediction
    runs = [*_words("The model says:", ink=LIGHT.quiet)]
    for part in sentence(first):
        shade = _NO_COLOUR if part.feature is None else models[chosen].shades[part.feature]
        runs += [
            _Run(SPACE if own.isspace() else drawable(own), shade=shade, bold=part.is_label)
            for own in re.split(r"(\s+)", part.text)
            if own
        ]
    drawing.flow(runs)
    asked = dict.fromkeys(asked_in_words(own) for own in explanations)
    if len(asked) == 1 and prediction.kind != "regression" and asked.keys() != {prediction.label}:
        drawing.flow(_words(f"Why {next(iter(asked))}?", bold=True))


def _names(explanations: Sequence[Explanation]) -> list[str]:
    """The method of each, and what was asked where that differs."""
    if len({asked_in_words(own) for own in explanations}) == 1:
        return [own.method_label for own in explanations]
    return [f"{own.method_label}: {asked_in_words(own)}" for own in explanations]


def _texts(drawing: _Drawing, explanations: Sequence[Explanation], models: Sequence[RowModel]) -> None:
    """The text by each explanation; a long one by one of them."""
    is_long = len(order_of(explanations[0])) > LONG_TEXT
    names = _names(explanations)
    drawing.skip(_GAP / 2)
    for i in [to_be_seen_once(explanations)] if is_long else range(len(explanations)):
        explanation, top = explanations[i], drawing.height
        for line in wrapped(drawable(names[i]), _NAME - 0.2, _SMALL, bold=True):
            drawing.flow([_Run(line, bold=True, size=_SMALL)], line=_SMALL_LINE)
        below_name, drawing.height = drawing.height, top
        for side, parts in enumerate(shown_pieces(explanation)):
            runs, text = list(_coloured(explanation, models[i], parts, is_long=is_long)), explanation.text
            if not isinstance(text, str):
                runs = [_Run(SIDES[side], ink=LIGHT.quiet, size=_SMALL), _Run(SPACE), *runs]
            drawing.flow(runs, left=_NAME, leftwards=runs_leftwards(text if isinstance(text, str) else text[side]))
        drawing.height = max(drawing.height, below_name)
        drawing.skip(0.04)


def _coloured(explanation: Explanation, words: RowModel, parts: Sequence[Piece], *, is_long: bool) -> Iterator[_Run]:
    groups, owner = group_model(explanation), owners_of(explanation)
    at: int | None = None
    for piece in parts:
        if piece.feature is None:
            if piece.text == SPACE or (piece.text == BREAK and is_long):
                yield _Run(piece.text)
            else:
                sign = " ⏎ " if piece.text == BREAK else piece.text
                yield _Run(drawable(sign), ink=LIGHT.quiet)
            continue
        if groups is not None and (group := owner.get(piece.feature)) is not None and group != at:
            at = group
            yield _Run(drawable(groups.written(group).replace("-", "−")), groups.shades[group], size=_SMALL - 1)
            yield _Run(SPACE)
        unknown = piece.feature in words.unknown
        yield _Run(drawable(piece.text), words.shades[piece.feature], unknown=unknown)


def _legend(drawing: _Drawing, explanations: Sequence[Explanation]) -> None:
    small: dict[str, Any] = {"size": _SMALL, "ink": LIGHT.quiet}
    runs: list[_Run] = []
    for hue, meaning in legend(explanations):
        runs += [_Run("  ", Shade(hue, LEVELS * step // 4), size=_SMALL) for step in (1, 2, 3, 4)]
        runs += [_Run(SPACE, size=_SMALL), *_words(meaning, **small), _Run("   ", **small)]
    levels = row_models(explanations)
    if not all(level.significant.all() for level in levels):
        runs += [*_words("without colour, empty bars: not distinguishable from 0", **small), _Run("   ", **small)]
    if any(level.unknown for level in levels):
        runs += [*_words("dotted: unknown to the model", **small), _Run("   ", **small)]
    if any(explanation.stderr is not None for explanation in explanations):
        runs += _words("whiskers: intervals; of those of the coloured words 95 % hold the true weight", **small)
    drawing.skip(0.05)
    drawing.flow(runs, line=_SMALL_LINE)


def _remarks(drawing: _Drawing, explanations: Sequence[Explanation]) -> None:
    """Notices, verdicts and missing letters: all that a reader must know."""
    names = _names(explanations)
    said = notices_of(explanations, names)
    for contrast in dict.fromkeys(map(contrast_in_words, explanations)):
        if contrast is not None:
            said.insert(0, contrast[0].upper() + contrast[1:])
    for name, explanation in zip(names, explanations, strict=True):
        if (ending := ending_of(explanation)) is not None:
            said.append(f"{name}: {ending}")
        said += [f"{name}: {warning}" for warning in explanation.warnings]
    if any(BOX in drawable(text) and BOX not in text for text, _ in texts_of(explanations[0])):
        said.append(f"{BOX}: a letter that the font does not have; matplotlib's font.family chooses others.")
    for remark in said:
        drawing.flow(_words(remark, size=_SMALL), line=_SMALL_LINE)
    drawing.skip(_GAP / 2)


# ── bars ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _bars(
    drawing: _Drawing, explanations: Sequence[Explanation], models: Sequence[RowModel], top: int, order: Order
) -> Callable[[Plot, float], None]:
    """A panel per explanation, in as many rows as are needed, those of one unit on one scale. Room for them is taken
    from the drawing; what is given draws them into a figure of some height."""
    columns = min(_COLUMNS, len(explanations))
    column = (_WIDTH - 0.1) / columns
    titles = [_title(*own, column - 0.2) for own in zip(_names(explanations), explanations, strict=True)]
    above = 0.2 + _TITLE_LINE * max(map(len, titles))
    height = _BAR * max(min(top, len(explanations[0])), 1)
    begin, pitch = drawing.height + _GAP, height + above + 0.46
    drawing.skip(_GAP + -(-len(explanations) // columns) * pitch)
    chosen = [model.ordered(order, top) for model in models]
    lows, highs = zip(*(_ends(model, own) for model, own in zip(models, chosen, strict=True)), strict=True)
    lowest, highest = together(explanations, [-low for low in lows]), together(explanations, highs)

    def draw(figure: Plot, whole: float) -> None:
        for i, (explanation, model) in enumerate(zip(explanations, models, strict=True)):
            row, place = divmod(i, columns)
            words = [fitted(drawable(model.names[j]), 0.5 * column, _SMALL) for j in chosen[i]]
            left = place * column + max((width(word, _SMALL) for word in words), default=0.0) + 0.15
            bottom = whole - begin - row * pitch - above - height
            right = (place + 1) * column - 0.12
            axis = figure.add_axes((left / _WIDTH, bottom / whole, (right - left) / _WIDTH, height / whole))
            _panel(axis, explanation, model, chosen[i], words)
            margin = 0.05 * (highest[i] + lowest[i])
            if unit_of(explanation) is not None and margin > 0.0:
                axis.set_xlim(-lowest[i] - margin * (lowest[i] > 0.0), highest[i] + margin * (highest[i] > 0.0))
            title = "\n".join(titles[i])
            axis.set_title(title, fontsize=_SMALL, loc="right", pad=4, color=hex_of(LIGHT.ink), **_plainly())

    return draw


def _title(name: str, explanation: Explanation, room: float) -> list[str]:
    """The name whole, in as many lines as it takes, and how the weights were computed."""
    computed = drawable(accuracy_briefly(explanation))
    whole = f"{drawable(name)} ({computed})"
    return [whole] if width(whole, _SMALL) <= room else [*wrapped(drawable(name), room, _SMALL), f"({computed})"]


def _ends(model: RowModel, chosen: Sequence[int]) -> tuple[float, float]:
    """The ends of the bars and of their whiskers; 0 is among them."""
    weights = _drawable_numbers(model.weights.weights[chosen])
    half = _drawable_numbers(model.half_widths[chosen])
    return min(float((weights - half).min(initial=0.0)), 0.0), max(float((weights + half).max(initial=0.0)), 0.0)


def _panel(axis: Any, explanation: Explanation, model: RowModel, order: list[int], words: Sequence[str]) -> None:
    weights, rows = _drawable_numbers(explanation.weights[order]), np.arange(len(order))
    significant = model.significant[order]
    colours = [hex_of(LIGHT.deepest(hue_of(explanation, float(weight)))) for weight in weights]
    faces = [colour if own else hex_of(LIGHT.paper) for colour, own in zip(colours, significant, strict=True)]
    edges = [colour if own else hex_of(LIGHT.quiet) for colour, own in zip(colours, significant, strict=True)]
    axis.barh(rows, weights, height=0.7, color=faces, edgecolor=edges, linewidth=0.7)
    if explanation.stderr is not None:
        known = ~np.isnan(model.half_widths[order])
        half = _drawable_numbers(model.half_widths[order])
        whiskers = {"fmt": "none", "ecolor": hex_of(LIGHT.ink), "elinewidth": 0.8, "capsize": 1.5}
        axis.errorbar(weights[known], rows[known], xerr=half[known], **whiskers)
    axis.axvline(0.0, color=hex_of(LIGHT.quiet), linewidth=0.7)
    axis.set_ylim(max(len(order), 1) - 0.5, -0.5)
    axis.set_yticks(rows, words, fontsize=_SMALL, color=hex_of(LIGHT.ink), **_plainly())
    axis.tick_params(axis="x", labelsize=_SMALL - 1, length=2, colors=hex_of(LIGHT.quiet))
    axis.xaxis.get_offset_text().set(fontsize=_SMALL - 1, color=hex_of(LIGHT.quiet))
    axis.tick_params(axis="y", length=0, pad=2)
    axis.locator_params(axis="x", nbins=4)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.spines["bottom"].set_color(hex_of(LIGHT.quiet))
    axis.patch.set_visible(False)
    output = explanation.parameters.get("output")
    if isinstance(output, str):
        axis.set_xlabel(drawable(output), fontsize=_SMALL - 1, color=hex_of(LIGHT.quiet), labelpad=1, **_plainly())


def _drawable_numbers(values: Floats) -> Floats:
    """None where there is no number; matplotlib subtracts the largest from each other."""
    return np.clip(np.nan_to_num(values, posinf=0.0, neginf=0.0), -1e300, 1e300)
