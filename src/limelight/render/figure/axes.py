"""Figures with axes in the style of this library; matplotlib's settings are the caller's own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from limelight.errors import InputError

INK = "#22242a"
_STYLE: Any = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.edgecolor": INK,
    "legend.frameon": False,
    "figure.facecolor": "white",
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
}
TRUE_TYPE: Any = {"pdf.fonttype": 42, "ps.fonttype": 42}
"""Letters that can be searched and edited, as journals ask for, whatever the caller's settings are."""


@contextlib.contextmanager
def our_style() -> Iterator[None]:
    """Inside, figures have our style; matplotlib's settings are as before afterwards."""
    try:
        import matplotlib
    except ImportError as error:
        raise InputError('drawing needs matplotlib: pip install "limelight[figures]"') from error
    # matplotlib chooses a backend when it reads this setting, as its box plots do, and rc_context() leaves it out.
    backend = dict.__getitem__(matplotlib.rcParams, "backend")
    try:
        with matplotlib.rc_context(_STYLE):
            dict.__setitem__(matplotlib.rcParams, "backend", "agg")
            yield
    finally:
        dict.__setitem__(matplotlib.rcParams, "backend", backend)


def new_figure(width: float, height: float) -> Any:
    """A figure that belongs to nobody but its caller: no window is opened, no backend chosen."""
    from limelight.render.figure.true_type import TrueTypeFigure

    return TrueTypeFigure(figsize=(width, height), layout="constrained")
