"""A comparison as a file: the forms of `limelight explain --format`, from the object that was shown.

What is exported came back from the page, and is read as a saved result is: checked, and hostile.
"""

from __future__ import annotations

import json
import threading

from limelight.explanation.result import Comparison
from limelight.web.requests import ExportRequest

MEDIA = {
    "html": "text/html; charset=utf-8",
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "png": "image/png",
    "svg": "image/svg+xml",
}
_drawing = threading.Lock()
"""matplotlib draws one figure at a time."""


def exported(request: ExportRequest) -> bytes:
    """The bytes of the file."""
    comparison = Comparison.from_dict(request.comparison)
    if request.format == "json":
        return json.dumps(comparison.to_dict(), allow_nan=False).encode() + b"\n"
    if request.format == "csv":
        from limelight.render.csv_table import header, table_rows

        return (header() + table_rows(None, comparison, None, None)).encode()
    if request.format == "html":
        from limelight.render.html.page import page

        return page(comparison.explanations, request.about).encode()
    with _drawing:
        from limelight.render.figure.figure import figure_of, written

        return written(figure_of(comparison), request.format)
