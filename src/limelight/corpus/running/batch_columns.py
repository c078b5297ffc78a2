"""A batch of texts as the columns of a corpus, for engines of others: `datasets.map`, a Spark `pandas_udf`, a loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from limelight.attribution.api import check_model
from limelight.corpus.running.explain_rows import Questions, explain_rows
from limelight.corpus.running.shard_rows import Row, as_columns, layout_of
from limelight.corpus.running.source import own_id
from limelight.corpus.store.schema import Layout
from limelight.errors import InputError, shown
from limelight.inputs.document import Text
from limelight.inputs.features import Parts
from limelight.models.interface import Classifier, Removal
from limelight.models.outputs import Output

if TYPE_CHECKING:
    from pyarrow import Schema


def explain_batch(
    model: Classifier,
    texts: Sequence[Text],
    methods: Sequence[str] = ("lime",),
    *,
    ids: Sequence[object] | None = None,
    keep_text: bool = False,
    target: Any = None,
    features: Any = "words",
    removal: Removal = "mask",
    output: Output | None = None,
    parts: Parts = "both",
    seed: int = 0,
    **options: Any,
) -> dict[str, list[Any]]:
    """For each column of a corpus a list of plain values: one row per text, method and target.

    A text that fails has rows with its error. A text's seed follows from `seed` and its id, as in a run, so the same
    ids give the same numbers, whatever batch they are in. The other arguments are those of `limelight.compare`.
    """
    check_model(model)
    if isinstance(texts, str):
        raise InputError(f"texts must be a list of texts: got {shown(texts)}; write [text] for one")
    if ids is not None and len(ids) != len(texts):
        raise InputError(f"{len(texts)} texts have {len(ids)} ids: give one id for each text")
    names = [own_id(i, text) for i, text in enumerate(texts, start=1)] if ids is None else list(map(str, ids))
    rows = [Row(i, id, text) for i, (id, text) in enumerate(zip(names, texts, strict=True), start=1)]
    chosen = tuple(dict.fromkeys([methods] if isinstance(methods, str) else methods))
    questions = Questions(target, features, removal, output, parts, seed, options=options, methods=chosen)
    layout = layout_of(model, chosen, keep_text=keep_text)
    columns = as_columns(explain_rows(model, rows, questions), layout)
    return {name: [_plain(value) for value in own] for name, own in columns.items()}


def batch_schema(*, keep_text: bool = False, pairs: bool = False) -> Schema:
    """The Arrow types of what `explain_batch` gives: who guesses them from values sees none where all are null."""
    return Layout((), keep_text=keep_text, pairs=pairs).arrow().remove_metadata()


def _plain(value: Any) -> Any:
    """Arrays and tuples as lists, spans as dictionaries of start and end."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if not isinstance(value, tuple):
        return value
    if value and isinstance(value[0], tuple):
        return [[{"start": start, "end": end} for start, end in own] for own in value]
    return list(value)
