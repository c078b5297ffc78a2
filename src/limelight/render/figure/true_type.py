"""Figures whose letters are TrueType fonts in every PDF and PostScript file."""

from __future__ import annotations

from typing import Any

import matplotlib
from matplotlib.figure import Figure

from limelight.render.figure.axes import TRUE_TYPE


class TrueTypeFigure(Figure):
    """A figure that is saved with TrueType letters, which can be searched and edited, whatever the settings are."""

    def savefig(self, *arguments: Any, **options: Any) -> None:
        with matplotlib.rc_context(TRUE_TYPE):
            super().savefig(*arguments, **options)
