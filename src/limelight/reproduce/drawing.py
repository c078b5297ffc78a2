"""The colours of the figures, and how they are written."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from limelight.core.sanitize import visible
from limelight.render.figure import axes
from limelight.reproduce.folder import RunFolder

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
