"""How results leave Python: as a page, a figure, a data frame or a file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from limelight.errors import ParameterError, shown
from limelight.explanation import notebook
from limelight.explanation.serialization import with_pandas

if TYPE_CHECKING:
    from limelight.explanation.result import Explanation


class Saved:
    """A result that is written to a file."""

    def _forms(self) -> Mapping[str, Callable[[], bytes]]:
        """What makes the bytes of a file, by the ending of its name."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file, whole or not at all; its ending says which: .json, .html, .csv, .png, .svg or .pdf."""
        from limelight.storage.files import save

        forms, place = self._forms(), Path(path)
        form = forms.get({"htm": "html"}.get(ending := place.suffix.lower().removeprefix("."), ending))
        if form is None:
            *endings, last = (f".{own}" for own in forms)
            raise ParameterError(
                f"this result is saved as {', '.join(endings)} or {last}: got {shown(str(path))}; end the name in one "
                "of these"
            )
        save(form(), place)


def figure_forms(plot: Callable[[], Any]) -> Mapping[str, Callable[[], bytes]]:
    """A figure in each of its formats."""
    from limelight.render.entries import FigureFormat

    def written_as(format: Any) -> bytes:
        from limelight.render.figure.figure import written

        return written(plot(), format)

    return {format: partial(written_as, format) for format in get_args(FigureFormat)}


def csv_form(texts: Sequence[Sequence[Explanation]]) -> bytes:
    """The table of all weights; the number of each text is its id where there are several."""
    from limelight.render.csv_table import header, table_rows

    rows = [table_rows(None if len(texts) == 1 else i, own, None, None) for i, own in enumerate(texts, start=1)]
    return "".join([header(), *rows]).encode()


class Presented(Saved):
    """One explanation, or several of one text; each says of itself what it holds."""

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        raise NotImplementedError

    def _shown(self) -> Sequence[Explanation]:
        """The explanations that are shown."""
        raise NotImplementedError

    def to_frame(self) -> Any:
        """A pandas DataFrame with one row per explanation and feature, in their order.

        Columns: `method` (its id), `target`, `against` (the label it is compared with, or None), `output`, `feature`,
        `weight`, `stderr` (NaN where the method has none), `low` and `high` (the interval, NaN where nothing
        is known of the error), `significant` (whether the weight is distinguishable from zero) and `spans` (a tuple of
        (start, end) per feature).
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

    def _forms(self) -> Mapping[str, Callable[[], bytes]]:
        return {
            "json": lambda: (json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n").encode(),
            "html": lambda: self.to_html().encode(),
            "csv": lambda: csv_form([self._shown()]),
            **figure_forms(self.plot),
        }

    def _repr_html_(self) -> str:
        from limelight.render.html.page import fragment

        notebook.seen(self._shown())
        return fragment(self._shown())


class Explanations(list[Any], Saved):
    """A list of explanations, or of comparisons, one for each text; a notebook shows all of them."""

    def to_html(self) -> str:
        """A self-contained page with a contents of all texts."""
        from limelight.render.entries import Entry
        from limelight.render.html.page import page_of

        return page_of([Entry(own[0].text, own) for own in self._texts()])

    def _texts(self) -> list[Sequence[Explanation]]:
        return [own._shown() for own in self]

    def _forms(self) -> Mapping[str, Callable[[], bytes]]:
        lines = (json.dumps(own.to_dict(), allow_nan=False) + "\n" for own in self)
        return {
            "json": lambda: "".join(lines).encode(),
            "jsonl": lambda: "".join(lines).encode(),
            "html": lambda: self.to_html().encode(),
            "csv": lambda: csv_form(self._texts()),
        }

    def _repr_html_(self) -> str:
        from limelight.render.html.page import fragment

        everything = [explanation for own in self._texts() for explanation in own]
        notebook.seen(everything)
        return fragment(everything) if everything else "[]"


def _frame(explanations: Sequence[Explanation]) -> Any:
    pandas = with_pandas()
    rows = [(explanation, j) for explanation in explanations for j in range(len(explanation))]

    def words(values: list[Any]) -> Any:
        """pandas' own strings take no lone surrogates: such a column holds Python's, and so does one with gaps."""
        plain = all(isinstance(own, str) and own.encode("utf-8", "replace").decode() == own for own in values)
        return values if plain else pandas.Series(values, dtype=object)

    def numbers(own: Callable[[Explanation], Any], dtype: Any = np.float64) -> Any:
        columns: list[Any] = [np.asarray(own(explanation), dtype=dtype) for explanation in explanations]
        return np.concatenate(columns or [np.zeros(0, dtype=dtype)])

    return pandas.DataFrame(
        {
            "method": [e.method for e, _ in rows],
            "target": words([e.target for e, _ in rows]),
            "against": words([e.against for e, _ in rows]),
            "output": words([e.parameters.get("output") for e, _ in rows]),
            "feature": words([e.features[j] for e, j in rows]),
            "weight": numbers(lambda e: e.weights),
            "stderr": numbers(lambda e: np.full(len(e), np.nan) if e.stderr is None else e.stderr),
            "low": numbers(lambda e: e.intervals()[:, 0]),
            "high": numbers(lambda e: e.intervals()[:, 1]),
            "significant": numbers(lambda e: e.significant, bool),
            "spans": [e.spans[j] for e, j in rows],
        }
    )
