"""An evaluation as a matplotlib figure: the curves of both removals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from limelight.core.sanitize import visible
from limelight.errors import InputError
from limelight.evaluation.curves import Curve, curves_of
from limelight.evaluation.measure import primary
from limelight.render.palette import LIGHT, hex_of

if TYPE_CHECKING:
    from limelight.evaluation.result import Evaluation

_COLOURS = [hex_of(colour) for colour in LIGHT.series]


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
                _draw(ax, curve, _COLOURS[i % len(_COLOURS)])
            ax.set_title(f"words removed by {removal}")
            ax.set_xlabel("part of the words, strongest first")
        axes[0].set_ylabel(f"lost {evaluation.about['output']}")
        axes[-1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _draw(ax: Any, curve: Curve, colour: str) -> None:
    look = {"chance": (hex_of(LIGHT.quiet), ":"), "best": (hex_of(LIGHT.ink), "-"), "unsigned": (colour, "--")}
    colour, dashes = look.get(curve.kind, (colour, "-"))
    name = visible(curve.name).replace("$", r"\$")
    ax.fill_between(curve.parts, curve.low, curve.high, color=colour, alpha=0.12, linewidth=0)
    ax.plot(curve.parts, curve.mean, color=colour, linestyle=dashes, label=name)
