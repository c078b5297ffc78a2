"""From answers to the columns of a shard, and to the bytes of its file."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from limelight.attribution.api import reads_pairs
from limelight.corpus.store.hashes import BLANK, PLACE
from limelight.corpus.store.schema import CarriedType, Layout, arrow_library
from limelight.explainers.method import find
from limelight.explanation.result import Explanation
from limelight.explanation.serialization import written_as_json
from limelight.inputs.document import Text
from limelight.models.interface import Classifier

_LARGEST = 2**63 - 1
_OF_EXPLANATION = (
    "method target against features spans sides weights stderr accuracy evaluations warnings notices".split()
)


@dataclass(frozen=True)
class Row:
    """A row of the input: a document with its id, its number from 1, and what is carried through.

    Where the data has something else in the place of a text, such as null, `text` is that.
    """

    number: int
    id: str
    text: Text
    truth: str | None = None
    carried: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What is said of a document by one method: explanations, one per target, or why there are none."""

    row: Row
    method: str
    explanations: tuple[Explanation, ...] = ()
    error: str | None = None


def layout_of(
    model: Classifier,
    methods: Sequence[str],
    carried: Mapping[str, CarriedType] = MappingProxyType({}),
    *,
    keep_text: bool = False,
) -> Layout:
    """The layout of what methods say of a model's texts."""
    named = {name: (find(name).label, find(name).signed) for name in methods}
    kind = getattr(model, "kind", "classes")
    return Layout(tuple(model.labels), kind, named, carried, keep_text, reads_pairs(model))


def as_columns(answers: Sequence[Answer], layout: Layout) -> dict[str, list[Any]]:
    """One value per row of the shard for each column, as Python has them."""
    columns: dict[str, list[Any]] = {name: [] for name in layout.names}
    for answer in answers:
        for explanation in answer.explanations:
            _add(columns, answer.row, layout, **_explained(explanation))
        if not answer.explanations:
            _add(columns, answer.row, layout, method=answer.method, error=answer.error)
    return columns


def _add(columns: dict[str, list[Any]], row: Row, layout: Layout, **values: Any) -> None:
    values.update(row.carried, id=row.id, row=row.number, truth=row.truth)
    if layout.keep_text:
        texts = row.text if isinstance(row.text, tuple) else (row.text, None)
        values["text"], values["second"] = (text if isinstance(text, str) else None for text in texts)
    for name, column in columns.items():
        column.append(values.get(name))


def _explained(explanation: Explanation) -> dict[str, Any]:
    prediction, parameters = explanation.prediction, explanation.parameters
    diagnostics = {name: value for name, value in explanation.diagnostics.items() if name != "warnings"}
    details = {
        "parameters": written_as_json(parameters, "parameters"),
        "diagnostics": written_as_json(diagnostics, "diagnostics"),
        **({} if explanation.groups is None else {"groups": explanation.groups.to_dict()}),
    }
    return {
        **{name: getattr(prediction, name) for name in ("label", "logits", "probabilities")},
        **{name: getattr(explanation, name) for name in _OF_EXPLANATION},
        **{name: parameters.get(name) for name in ("output", "removal")},
        **{name: _whole(parameters.get(name)) for name in ("n_samples", "seed")},
        "bound": explanation.stated.numerical_error,
        "details": json.dumps(details, ensure_ascii=False, separators=(",", ":")),
    }


def _whole(value: object) -> int | None:
    return value if type(value) is int and value <= _LARGEST else None


# ── Parquet ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def as_parquet(answers: Sequence[Answer], layout: Layout) -> bytes:
    """A shard as a Parquet file: equal answers give equal bytes, for one version of pyarrow. Its seal is blank yet."""
    pyarrow = arrow_library()
    columns, schema = as_columns(answers, layout), layout.arrow()
    arrays = [pyarrow.array(map(_writable, columns[own.name]), own.type) for own in schema]
    buffer = io.BytesIO()
    with pyarrow.parquet.ParquetWriter(buffer, schema, compression="zstd", version="2.6") as writer:
        writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
        writer.add_key_value_metadata({PLACE: BLANK})
    return buffer.getvalue()


def _writable(value: Any) -> Any:
    """Half of a surrogate pair cannot be written: it is spelled out, as in a Python string."""
    if isinstance(value, tuple) and value and isinstance(value[0], str):
        return [_writable(own) for own in value]
    if not isinstance(value, str) or value.isascii():
        return value
    return value.encode("utf-8", "backslashreplace").decode()
