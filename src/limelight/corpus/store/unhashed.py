"""Shards of version 0.2, which have no hash: damage may not be seen, but what is read of them hangs together."""

from __future__ import annotations

import json
from typing import Any

from limelight.corpus.store.schema import Layout, arrow_library

_LONGEST = 2**26
"""Characters of a text: where a feature stands beyond them, its place was damaged, and blanks up to it fill memory."""


def check_unsealed(table: Any, layout: Layout, rows: int) -> None:
    """A ValueError where the columns that were read are not what a run of so many rows writes."""
    table.validate(full=True)
    schema = layout.arrow()
    for field in table.schema:
        if field.name not in schema.names or schema.field(field.name).type != field.type:
            raise ValueError(f"there is a column {field.name!r} of type {field.type}")
    # What depends on several columns is looked at where all of them are read.
    columns = {name: table[name].to_pylist() for name in table.column_names}
    for name in ("row", "method"):
        if None in columns.get(name, []):
            raise ValueError(f"the column {name!r} has a null")
    if any(not 1 <= row <= rows for row in columns.get("row", [])):
        raise ValueError("the number of a row is out of range")
    if not {own for name in ("label", "target") for own in columns.get(name, [])} <= {None, *layout.labels}:
        raise ValueError("there is a label that the model has not")
    if any(own is not None and own not in layout.methods for own in columns.get("method", [])):
        raise ValueError("there is a method that was not asked for")
    for details in columns.get("details", []):
        _check_details(details)
    _check_places(table)
    errors = columns.get("error")
    for name in ("details", "features", "weights", "label", "target", "logits"):
        if errors is not None and any((own is None) != (e is not None) for own, e in _pairs(columns.get(name), errors)):
            raise ValueError(f"the column {name!r} does not fit the column 'error'")
    for name, count in (("logits", len(layout.labels)), ("probabilities", len(layout.labels))):
        if any(own is not None and len(own) != count for own in columns.get(name, [])):
            raise ValueError(f"the column {name!r} has lists of another length")
    for name in ("weights", "spans", "sides", "stderr"):
        for own, features in _pairs(columns.get(name), columns.get("features") or []):
            if own is not None and (features is None or len(own) != len(features)):
                raise ValueError(f"the column {name!r} does not fit the column 'features'")


def _pairs(values: Any, others: Any) -> Any:
    return () if not values or not others else zip(values, others, strict=True)


def _check_details(details: str | None) -> None:
    if details is None:
        return
    read = json.loads(details)
    if not isinstance(read, dict) or not all(isinstance(read.get(own), dict) for own in ("parameters", "diagnostics")):
        raise ValueError("the column 'details' has something else")


def _check_places(table: Any) -> None:
    if "spans" not in table.column_names:
        return
    compute = arrow_library().compute
    places = compute.list_flatten(compute.list_flatten(table["spans"]))
    start, end = (compute.struct_field(places, name) for name in ("start", "end"))
    if len(places) and (places.null_count or compute.min(start).as_py() < 0 or compute.max(end).as_py() > _LONGEST):
        raise ValueError("the column 'spans' has places outside of any text")
