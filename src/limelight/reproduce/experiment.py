"""An experiment: it computes numbers, draws them, and sets them beside the paper's; the colours of the figures."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from limelight.core.sanitize import visible
from limelight.render.figure import axes
from limelight.reproduce.folder import RunFolder
from limelight.reproduce.lab import Lab

Numbers = dict[str, Any]


class Row(NamedTuple):
    """One line of the report's tables."""

    quantity: str
    paper: str
    ours: str
    verdict: str


@dataclass(frozen=True)
class Experiment:
    """`compute` returns what goes into the JSON; `draw` makes a matplotlib figure from that and the stored arrays.

    `table` has a line for each row of the report, its four cells with " | " between. Cells and `caption` are templates
    that are filled by the numbers, and by the phrases that `prose` makes of them. `model`: the one of a run's two
    models that it is about. `over_documents`: whether it rests on all of the run's documents or on one text.
    """

    name: str
    title: str
    compute: Callable[[Lab], Numbers]
    draw: Callable[[RunFolder, Numbers], Any]
    table: str
    caption: str
    prose: Callable[[Numbers], Mapping[str, Any]] = lambda numbers: {}
    model: Literal["paper", "deep"] = "paper"
    over_documents: bool = True

    def rows(self, numbers: Numbers) -> list[Row]:
        known = {**numbers, **self.prose(numbers)}
        return [Row(*(cell.format(**known) for cell in line.split(" | "))) for line in self.table.strip().split("\n")]

    def captioned(self, numbers: Numbers) -> str:
        return self.caption.format(**{**numbers, **self.prose(numbers)})


def pm(stats: Numbers, digits: int = 3) -> str:
    """mean ± standard deviation."""
    return f"{stats['mean']:.{digits}f} ± {stats['std']:.{digits}f}"


def percent(value: float) -> str:
    return f"{100 * value:.1f} %"


# ── figures ───────────────────────────────────────────────────────────────────────────────────────────────────────────


BLUE, RED, GREEN, ORANGE, GREY = "#2f6db3", "#c8323c", "#2a8a57", "#d98a1f", "#8a8f98"
PURPLE = "#7a4fb0"
INK, new_figure = axes.INK, axes.new_figure
_PNG_DPI = 110


def available() -> bool:
    """Whether figures can be drawn here: numbers are computed without."""
    import importlib.util

    return importlib.util.find_spec("matplotlib") is not None


def new_axes(width: float, height: float, *grid: int, **more: Any) -> tuple[Any, Any]:
    """A figure and its axes, one of them or a grid."""
    figure = new_figure(width, height)
    return figure, figure.subplots(*grid, **more)


def histogram(axis: Any, values: Any, bins: Any, **look: Any) -> None:
    """Values in percent of all, on a logarithmic scale; those beyond the bins are counted in the outermost."""
    values = np.clip(values, bins[0], bins[-1])
    axis.hist(values, bins=bins, weights=np.full(len(values), 100.0 / len(values)), **look)
    axis.set(xscale="log", ylabel="% of documents")


def rectangle(corner: tuple[float, float], width: float, height: float, **look: Any) -> Any:
    """A patch to add to an axis."""
    from matplotlib.patches import Rectangle

    return Rectangle(corner, width, height, **look)


def plain(text: object) -> str:
    """A text that matplotlib shows as it is: a dollar sign would start a formula."""
    return visible(str(text)).replace("$", r"\$")


def save_figure(folder: RunFolder, name: str, figure: Any, source: str) -> None:
    """PNG and PDF; what the figure was computed from stands below it."""
    figure.draw_without_rendering()  # the layout is set now; a figure without a window has a canvas that draws nothing
    below = figure.get_tightbbox().y0 / figure.get_figheight() - 0.08 / figure.get_figheight()
    figure.set_layout_engine("none")  # what follows must not move the rest
    figure.text(1.0, below, plain(source), ha="right", va="top", fontsize=7.5, color=GREY)
    for kind, metadata in (("png", {"Software": None}), ("pdf", {"CreationDate": None, "Producer": None})):
        buffer = io.BytesIO()
        figure.savefig(buffer, format=kind, dpi=_PNG_DPI, bbox_inches="tight", pad_inches=0.12, metadata=metadata)
        folder.write(f"{name}.{kind}", buffer.getvalue())


def source_line(about: Mapping[str, Any], over_documents: bool = True) -> str:
    """Data and model behind a number, in one line."""
    data = f"{about['data']}, {about['documents']:,} documents" if over_documents else about["data"]
    return f"{data}; model: {about['model']}"
