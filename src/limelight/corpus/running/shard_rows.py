"""From answers to the columns of a shard: each value once, flat, so that a shard of thousands is quickly written."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from types import MappingProxyType
from typing import Any

import numpy as np

from limelight.attribution.api import reads_pairs
from limelight.corpus.store.hashes import BLANK, PLACE
from limelight.corpus.store.schema import CarriedType, Layout, arrow_library
from limelight.explainers.method import find
from limelight.explanation.result import Explanation
from limelight.explanation.serialization import written_as_json
from limelight.explanation.significance import rounding_of, warnings_of
from limelight.inputs.document import Text
from limelight.models.interface import Classifier

_LARGEST = 2**63 - 1


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
        "label": prediction.label,
        "logits": prediction.logits,
        "probabilities": prediction.probabilities,
        "method": explanation.method,
        "target": explanation.target,
        "against": explanation.against,
        "output": parameters.get("output"),
        "removal": parameters.get("removal"),
        "features": explanation.features,
        "spans": explanation.spans,
        "sides": explanation.sides,
        "weights": explanation.weights,
        "stderr": explanation.stderr,
        "bound": rounding_of(explanation),
        "accuracy": explanation.accuracy,
        "evaluations": explanation.evaluations,
        "n_samples": _whole(parameters.get("n_samples")),
        "seed": _whole(parameters.get("seed")),
        "warnings": warnings_of(explanation),
        "notices": explanation.notices,
        "details": json.dumps(details, ensure_ascii=False, separators=(",", ":")),
    }


def _whole(value: object) -> int | None:
    return value if type(value) is int and value <= _LARGEST else None


# ── Parquet ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def as_parquet(answers: Sequence[Answer], layout: Layout) -> bytes:
    """A shard as a Parquet file: equal answers give equal bytes, for one version of pyarrow. Its seal is blank yet."""
    pyarrow = arrow_library()
    columns, schema = as_columns(answers, layout), layout.arrow()
    arrays = [_array(columns[own.name], own.type) for own in schema]
    buffer = io.BytesIO()
    with pyarrow.parquet.ParquetWriter(buffer, schema, compression="zstd", version="2.6") as writer:
        writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
        writer.add_key_value_metadata({PLACE: BLANK})
    return buffer.getvalue()


def _array(values: list[Any], kind: Any) -> Any:
    """An Arrow array; lists are put together from flat arrays, which is several times faster than one by one."""
    pyarrow = arrow_library()
    if not pyarrow.types.is_list(kind):
        return pyarrow.array([_writable(value) for value in values] if kind == pyarrow.string() else values, kind)
    present = np.array([value is not None for value in values], dtype=bool)
    offsets = np.zeros(len(values) + 1, dtype=np.int32)
    np.cumsum([0 if value is None else len(value) for value in values], out=offsets[1:])
    inner = [value for value in values if value is not None]
    mask = None if present.all() else pyarrow.array(~present)
    return pyarrow.ListArray.from_arrays(pyarrow.array(offsets), _flat(inner, kind.value_type), kind, mask=mask)


def _flat(lists: list[Any], kind: Any) -> Any:
    """The members of all lists, one after the other."""
    pyarrow = arrow_library()
    if pyarrow.types.is_list(kind):
        return _array(list(chain.from_iterable(lists)), kind)
    if pyarrow.types.is_struct(kind):
        ends = np.fromiter(chain.from_iterable(chain.from_iterable(lists)), dtype=np.int32).reshape(-1, 2)
        return pyarrow.StructArray.from_arrays([pyarrow.array(ends[:, i].copy()) for i in (0, 1)], fields=list(kind))
    if pyarrow.types.is_floating(kind):
        return pyarrow.array(np.concatenate(lists) if lists else np.zeros(0), kind)
    members = list(chain.from_iterable(lists))
    return pyarrow.array([_writable(member) for member in members] if kind == pyarrow.string() else members, kind)


def _writable(value: str | None) -> str | None:
    """Half of a surrogate pair cannot be written: it is spelled out, as in a Python string."""
    if value is None or value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "backslashreplace").decode()
    return value
