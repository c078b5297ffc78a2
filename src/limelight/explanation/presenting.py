"""How results leave Python: as a page, a figure, a data frame or a file."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from limelight.errors import ParameterError, shown
from limelight.explanation.serialization import with_pandas

if TYPE_CHECKING:
    from limelight.explanation.result import Explanation


class Presented:
    """One explanation, or several of one text; each says of itself what it holds."""

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        raise NotImplementedError

    def _shown(self) -> Sequence[Explanation]:
        """The explanations that are shown."""
        raise NotImplementedError

    def to_frame(self) -> Any:
        """A pandas DataFrame with one row per explanation and feature, in their order.

        Columns: `method` (its id), `target`, `feature`, `weight`, `stderr` (NaN where the method has none) and `spans`
        (a tuple of (start, end) per feature).
        """
        return _frame(self._shown())

    def to_html(self) -> str:
        """A self-contained page; text and names are escaped."""
        from limelight.render.html.page import page

        return page(self._shown())

    def plot(self, *, top: int = 10) -> Any:
        """A matplotlib figure: the text in its colours, and bars with intervals for the `top` strongest words."""
        from limelight.render.figure.figure import figure_of

        return figure_of(self._shown(), top=top)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file, whole or not at all; its ending says which: .json, .html, .png, .svg or .pdf."""
        from limelight.storage.files import save

        save(self._written(str(path)), Path(path))

    def _written(self, path: str) -> bytes:
        from limelight.render.entries import FigureFormat

        ending = Path(path).suffix.lower().removeprefix(".")
        if ending == "json":
            return (json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n").encode()
        if ending in ("html", "htm"):
            return self.to_html().encode()
        if ending in get_args(FigureFormat):
            from limelight.render.figure.figure import written

            return written(self.plot(), ending)  # type: ignore[arg-type]
        raise ParameterError(
            f"a result is saved as .json, .html, .png, .svg or .pdf: got {shown(path)}; end the name in one of these"
        )

    def _repr_html_(self) -> str:
        from limelight.render.html.page import fragment

        return fragment(self._shown())


def _frame(explanations: Sequence[Explanation]) -> Any:
    pandas = with_pandas()
    rows = [(explanation, j) for explanation in explanations for j in range(len(explanation))]

    def words(values: list[str]) -> Any:
        """pandas' own strings take no lone surrogates: such a column holds Python's."""
        plain = all(value.isprintable() or value.encode("utf-8", "replace").decode() == value for value in values)
        return values if plain else pandas.Series(values, dtype=object)

    return pandas.DataFrame(
        {
            "method": [e.method for e, _ in rows],
            "target": words([e.target for e, _ in rows]),
            "feature": words([e.features[j] for e, j in rows]),
            "weight": np.array([e.weights[j] for e, j in rows], dtype=np.float64),
            "stderr": np.array([np.nan if e.stderr is None else e.stderr[j] for e, j in rows], dtype=np.float64),
            "spans": [e.spans[j] for e, j in rows],
        }
    )
