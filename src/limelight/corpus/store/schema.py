"""The columns of a corpus: one row per document, method and target, as typed Parquet.

A document that could not be explained has a row per method with its `error`, and null where the answer would stand. The
version of these rules stands in each file, with what all its rows share: the model's labels and kind, and what the
methods are called. Readers take versions up to their own.

    schema 1   limelight 0.3
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from limelight.errors import DataError, InputError

if TYPE_CHECKING:
    from pyarrow import Schema

VERSION = 1
"""The rules by which this version writes; it reads all that came before."""
METADATA = b"limelight.corpus"
"""The key of a Parquet file's metadata under which the version and what all rows share is found, as JSON."""

CarriedType = Literal["string", "int64", "double", "bool"]
"""What a column that is carried through may hold."""


@dataclass(frozen=True)
class Column:
    """A column: its type as Arrow writes it, and what it holds."""

    type: str
    meaning: str


_SPANS = "list<list<struct<start: int32, end: int32>>>"
COLUMNS: Mapping[str, Column] = {
    "id": Column("string", "what the id column holds, or one made of the row's number and content"),
    "row": Column("int64", "the row of the input, counted from 1 over all files"),
    "error": Column("string", "why there is no answer; null where there is one"),
    "truth": Column("string", "the label that the data gives; null where no column was named"),
    "label": Column("string", "the label that the model predicts"),
    "logits": Column("list<double>", "one per label of the model"),
    "probabilities": Column("list<double>", "one per label of the model; null for a regression"),
    "method": Column("string", "the method's id"),
    "target": Column("string", "the label that is explained"),
    "against": Column("string", "the label that the target is compared with; null where there is none"),
    "output": Column("string", "the number that is explained: logit, log-odds, probability or value"),
    "removal": Column("string", "how words were taken out; null for a method that takes none out"),
    "features": Column("list<string>", "the words, or passages, that have weights"),
    "spans": Column(_SPANS, "where each feature stands in the text, in characters"),
    "sides": Column("list<int8>", "of a pair of texts: in which of them, 0 or 1, each feature stands"),
    "weights": Column("list<double>", "one per feature"),
    "stderr": Column("list<double>", "standard errors of the weights; null where nothing was sampled"),
    "bound": Column("double", "how far a weight may be off beside sampling: proven bound and rounding"),
    "accuracy": Column("string", "exact, bounded, sampled or approximate"),
    "evaluations": Column("int64", "how many inputs the model was given"),
    "n_samples": Column("int64", "the number of samples that was asked for; null where none are drawn"),
    "seed": Column("int64", "the document's own seed; null where nothing is drawn"),
    "warnings": Column("list<string>", "what speaks against relying on the explanation"),
    "notices": Column("list<string>", "what a reader must know, such as a text that was cut"),
    "details": Column("string", "parameters, diagnostics and groups of two levels, as JSON"),
}
"""The columns of every corpus, in their order; the carried ones and the texts follow."""
TEXT_COLUMNS: Mapping[str, Column] = {
    "text": Column("string", "the text; only with keep_text"),
    "second": Column("string", "the second text of a pair; only with keep_text, for models that read pairs"),
}


@dataclass(frozen=True)
class Layout:
    """What all shards of a corpus share: the columns beside the common ones, the model's labels, the methods' names."""

    labels: tuple[str, ...]
    kind: str = "classes"
    methods: Mapping[str, tuple[str, bool]] = field(default_factory=dict)
    """For each method's id what it is called, and whether its weights have a sign."""
    carried: Mapping[str, CarriedType] = field(default_factory=dict)
    keep_text: bool = False
    pairs: bool = False

    def __post_init__(self) -> None:
        if taken := [name for name in self.carried if name in COLUMNS or name in TEXT_COLUMNS]:
            raise InputError(
                f"the column {taken[0]!r} cannot be carried through, because the result has one of that name: "
                "rename it in the data"
            )

    def called(self, method: str) -> str:
        """The name of a method in front of people."""
        return self.methods[method][0] if method in self.methods else method

    def is_signed(self, method: str) -> bool:
        """Whether the weights of a method have a sign."""
        return method not in self.methods or self.methods[method][1]

    @property
    def names(self) -> list[str]:
        """All columns, in their order."""
        return [*COLUMNS, *self.carried, *self.text_columns]

    @property
    def text_columns(self) -> list[str]:
        return [] if not self.keep_text else ["text", "second"] if self.pairs else ["text"]

    def to_json(self) -> dict[str, Any]:
        """What stands in the metadata of each file."""
        methods = {id: {"label": label, "signed": signed} for id, (label, signed) in self.methods.items()}
        own = {"labels": list(self.labels), "methods": methods, "carried": dict(self.carried)}
        return {"schema": VERSION, **vars(self), **own}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], where: object) -> Layout:
        """The inverse; `where` is the file, for an error to name."""
        try:
            version = int(data["schema"])
            if version > VERSION:
                raise DataError(
                    f"{where} was written by a newer limelight (corpus schema {version}, this version reads up to "
                    f"{VERSION}): update with pip install --upgrade limelight"
                )
            return cls(
                labels=tuple(data["labels"]),
                kind=data["kind"],
                methods={id: (own["label"], own["signed"]) for id, own in data["methods"].items()},
                carried=dict(data["carried"]),
                keep_text=data["keep_text"],
                pairs=data["pairs"],
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(f"{where} is no part of a corpus, or damaged ({error!r:.80}): write it again") from error

    def arrow(self) -> Schema:
        """The schema of every shard."""
        pyarrow = arrow_library()
        types = {name: column.type for name, column in {**COLUMNS, **TEXT_COLUMNS}.items()} | dict(self.carried)
        fields = [pyarrow.field(name, _arrow_type(types[name])) for name in self.names]
        metadata = json.dumps(self.to_json(), ensure_ascii=True).encode()
        return pyarrow.schema(fields, metadata={METADATA: metadata})


def arrow_library() -> Any:
    """pyarrow; where it is missing, an error that says how to get it."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError as error:
        raise InputError('a corpus is stored as Parquet, which needs pyarrow: pip install "limelight[data]"') from error
    return pyarrow


def _arrow_type(written: str) -> Any:
    """The type that `written` names."""
    pyarrow = arrow_library()
    if written == _SPANS:
        span = pyarrow.struct([("start", pyarrow.int32()), ("end", pyarrow.int32())])
        return pyarrow.list_(pyarrow.list_(span))
    if written.startswith("list<"):
        return pyarrow.list_(_arrow_type(written[5:-1]))
    plain = {"string": "string", "double": "float64", "int64": "int64", "int8": "int8", "bool": "bool_"}
    return getattr(pyarrow, plain[written])()


def carried_type(kinds: Sequence[type]) -> CarriedType:
    """What can hold values of all these Python types; strings where they differ."""
    found = set(kinds) - {type(None)}
    if found == {bool}:
        return "bool"
    if found == {int}:
        return "int64"
    return "double" if found and found <= {int, float} else "string"
