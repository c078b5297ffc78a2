"""The curves of an evaluation: what the output loses on average as words are removed, or kept alone.

They are drawn inside a page, lines with bands that are named where they end, and as a matplotlib figure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from limelight.core.arrays import Floats
from limelight.core.sanitize import visible
from limelight.errors import InputError
from limelight.evaluation.case import GRID, own_order, part_name
from limelight.evaluation.measure import Key, Measure, primary
from limelight.evaluation.result import Evaluation
from limelight.render.html.escaping import number, safe, shortened
from limelight.render.palette import LIGHT, hex_of

Kind = Literal["signed", "unsigned", "chance", "best"]


@dataclass(frozen=True)
class Curve:
    """Means over texts at parts of the words, with the band of their 95 % intervals."""

    name: str
    kind: Kind
    parts: Floats
    mean: Floats
    low: Floats
    high: Floats


def curves_of(evaluation: Evaluation, measure: Measure, removal: str) -> list[Curve]:
    """Each method in the order of its own table, chance, and the best possible where it is known for all texts."""
    parts = [part_name(part) for part in GRID]
    place = {"removal": removal, "output": evaluation.summary.output}
    found = []
    for name, own in evaluation.methods.items():
        keys = [measure.key(part, name, order=own_order(own["signed"]), **place) for part in parts]
        if all(map(evaluation.has, keys)):
            found.append(_mean_curve(evaluation, name, "signed" if own["signed"] else "unsigned", keys))
    chance = [measure.key(part, **place) for part in parts]
    if all(map(evaluation.has, chance)):
        found.append(_mean_curve(evaluation, "random order", "chance", chance))
    best = [measure.key(f"best {part}", **place) for part in parts]
    if all(np.isfinite(evaluation.of(key)).all() for key in best):
        found.append(_mean_curve(evaluation, "best possible", "best", best))
    return found


def _mean_curve(evaluation: Evaluation, name: str, kind: Kind, keys: list[Key]) -> Curve:
    means = [evaluation.summary.mean(key) for key in keys]
    columns = ([one.value for one in means], [one.low for one in means], [one.high for one in means])
    mean, low, high = (np.array([0.0, *column]) for column in columns)
    return Curve(name, kind, np.array([0.0, *GRID]), mean, low, high)


# ── inside a page ─────────────────────────────────────────────────────────────────────────────────────────────────────


_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 660, 360, 52, 170, 14, 40
_COLOURS = [hex_of(colour) for colour in LIGHT.series]
_LINE_OF_TEXT = 15
_LONGEST_NAME = 20


def drawing(curves: Sequence[Curve], output: str) -> str:
    """An SVG of all curves; its colours are those of the page."""
    low = min(float(np.nanmin(np.append(curve.low, curve.mean))) for curve in curves)
    high = max(float(np.nanmax(np.append(curve.high, curve.mean))) for curve in curves)
    scale = _Scale(min(low, 0.0), high if high > low else low + 1.0)
    names = ", ".join(curve.name for curve in curves)
    return "\n".join(
        [
            f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{safe(f"Curves of {names}")}">',
            *_axes(scale, output),
            *(line for i, curve in enumerate(curves) for line in _curve(curve, i, scale)),
            *_names(curves, scale),
            "</svg>",
        ]
    )


@dataclass(frozen=True)
class _Scale:
    low: float
    high: float

    def x(self, part: float) -> float:
        return _LEFT + part * (_WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)

    def points(self, parts: Floats, values: Floats) -> str:
        return " ".join(f"{self.x(p):.1f},{self.y(v):.1f}" for p, v in zip(parts, values, strict=True))


def _axes(scale: _Scale, output: str) -> Iterator[str]:
    bottom = _HEIGHT - _BOTTOM
    yield f'<line x1="{_LEFT}" y1="{bottom}" x2="{_WIDTH - _RIGHT}" y2="{bottom}" stroke="var(--line)"/>'
    for part in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = scale.x(part)
        yield f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{part * 100:.0f} %</text>'
    yield f'<text x="{scale.x(0.5):.1f}" y="{bottom + 33}" text-anchor="middle">words, strongest first</text>'
    for value in _ticks(scale.low, scale.high):
        y = scale.y(value)
        yield f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}" stroke="var(--line)"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{number(f"{value:.3g}")}</text>'
    yield f'<text x="4" y="{_TOP - 2}">lost {safe(output)}</text>'


def _ticks(low: float, high: float) -> list[float]:
    """Four or so round numbers."""
    rough = (high - low) / 4
    unit = 10.0 ** np.floor(np.log10(rough))
    step = float(next(unit * m for m in (1, 2, 5, 10) if unit * m >= rough))
    return [float(v) + 0.0 for v in np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step]  # 0 has no sign


def _look(curve: Curve, i: int) -> tuple[str, str]:
    """Colour and dashes."""
    if curve.kind == "chance":
        return "var(--quiet)", ' stroke-dasharray="2 3"'
    if curve.kind == "best":
        return "var(--ink)", ""
    return f"var(--c{i % len(_COLOURS)})", ' stroke-dasharray="7 4"' if curve.kind == "unsigned" else ""


def _curve(curve: Curve, i: int, scale: _Scale) -> Iterator[str]:
    colour, dashes = _look(curve, i)
    known = np.isfinite(curve.mean)
    parts, mean = curve.parts[known], curve.mean[known]
    low, high = (np.where(np.isfinite(ends[known]), ends[known], mean) for ends in (curve.low, curve.high))
    band = f"{scale.points(parts, high)} {scale.points(parts[::-1], low[::-1])}"
    yield f'<polygon points="{band}" fill="{colour}" fill-opacity="0.12" stroke="none"/>'
    yield f'<polyline points="{scale.points(parts, mean)}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>'


def _names(curves: Sequence[Curve], scale: _Scale) -> Iterator[str]:
    """One below the other at the right, in the order of their areas."""
    order = sorted(range(len(curves)), key=lambda i: -float(np.nanmean(curves[i].mean)))
    for line, i in enumerate(order):
        colour, dashes = _look(curves[i], i)
        x, y = _WIDTH - _RIGHT + 12, _TOP + 10 + line * _LINE_OF_TEXT
        yield f'<line x1="{x}" y1="{y - 4}" x2="{x + 18}" y2="{y - 4}" stroke="{colour}" stroke-width="2"{dashes}/>'
        yield f'<text x="{x + 24}" y="{y}">{safe(shortened(curves[i].name, _LONGEST_NAME))}</text>'


# ── as a matplotlib figure ────────────────────────────────────────────────────────────────────────────────────────────


def figure_of(evaluation: Evaluation) -> Any:
    """One panel per removal: what the output loses as words are removed."""
    from limelight.render.figure.axes import new_figure, our_style

    removals = evaluation.summary.removals
    panels = [(removal, curves_of(evaluation, primary(), removal)) for removal in removals]
    panels = [(removal, curves) for removal, curves in panels if curves]
    if not panels:
        raise InputError(f"there is no curve to draw: evaluate with the measure {primary().id!r}")
    with our_style():
        figure = new_figure(5.2 * len(panels), 3.8)
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for ax, (removal, curves) in zip(axes, panels, strict=True):
            for i, curve in enumerate(curves):
                _plot(ax, curve, _COLOURS[i % len(_COLOURS)])
            ax.set_title(f"words removed by {removal}")
            ax.set_xlabel("part of the words, strongest first")
        axes[0].set_ylabel(f"lost {evaluation.about['output']}")
        axes[-1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _plot(ax: Any, curve: Curve, colour: str) -> None:
    look = {"chance": (hex_of(LIGHT.quiet), ":"), "best": (hex_of(LIGHT.ink), "-"), "unsigned": (colour, "--")}
    colour, dashes = look.get(curve.kind, (colour, "-"))
    name = visible(curve.name).replace("$", r"\$")
    ax.fill_between(curve.parts, curve.low, curve.high, color=colour, alpha=0.12, linewidth=0)
    ax.plot(curve.parts, curve.mean, color=colour, linestyle=dashes, label=name)
