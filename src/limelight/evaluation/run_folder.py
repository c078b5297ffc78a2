"""The folder of an evaluation: what it is of, the record of each text, and what was made of them.

run.json                   what was asked, with digests of texts and model; the folder of another run is refused
run.lock                   who is writing, while somebody is
documents/000012.json      the record of a text: its numbers and its explanations; an interrupted run goes on with them
evaluation.json            all numbers: limelight.Evaluation.from_dict reads it
summary.csv, texts.csv     means with their intervals; every number of every text
report.html, texts/*.html  the page, and the explanations of texts on which methods disagree most

Every file appears whole or not at all. A record that is damaged, or of another run, is computed again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from limelight.errors import InputError
from limelight.evaluation.case import Record
from limelight.evaluation.measure import Key
from limelight.evaluation.result import Evaluation, written
from limelight.explanation.result import Comparison
from limelight.render.csv_table import csv_of, safe_cell
from limelight.storage.files import reason
from limelight.storage.run_folder import UNREADABLE, RunFolder

_SCALARS: dict[str, Callable[[Any], Any]] = {
    "number": int, "words": int, "label": str, "target": str, "holds": bool, "given": int, "distinct": int,
    "noise": float,
}  # fmt: skip
"""Fields of a record that JSON holds as they are."""


class EvaluationFolder(RunFolder):
    """Reads and writes one output folder."""

    FOLDERS = ("documents", "texts")
    KIND = "that of an evaluation"
    OTHER = "--out {folder} holds another evaluation ({changes}): choose another folder"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.digest = ""

    def check(self) -> None:
        self.stored()

    def check_record(self, record: Any) -> Mapping[str, Any]:
        if record["kind"] != "evaluation" or not isinstance(record["digest"], str):
            raise ValueError("it is of something else")
        known: Mapping[str, Any] = record
        return known

    def claim(self, digest: str, about: Mapping[str, Any]) -> None:
        """Write down what the folder is of; raise if it is of something else."""
        self.digest = digest
        stored = self.stored()
        if stored is None:
            self.write_file(self.RECORD, _json({"kind": "evaluation", "digest": digest, **about}))
        elif stored["digest"] != digest:
            self.check_same({name: stored.get(name) for name in about}, about)
            self.check_same({"digest": stored["digest"]}, {"digest": digest})

    # ── records ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _record(self, number: int) -> Path:
        return self.path / "documents" / f"{number:06d}.json"

    def known(self, number: int) -> Record | None:
        """The record of a text, where one of this run can be read."""
        try:
            content = json.loads(self._record(number).read_bytes())
            if content["digest"] != self.digest or content["number"] != number:
                return None
            return Record(
                id=content["id"],
                values={
                    Key(*map(str, key)): math.nan if value is None else float(value) for key, value in content["values"]
                },
                methods={str(name): dict(own) for name, own in content["methods"].items()},
                notices=tuple(map(str, content["notices"])),
                **{name: kind(content[name]) for name, kind in _SCALARS.items()},
            )
        except UNREADABLE:
            return None

    def keep(self, record: Record) -> None:
        content = {
            "digest": self.digest,
            **{name: getattr(record, name) for name in (*_SCALARS, "id", "methods", "notices")},
            "values": [[list(key), written(value)] for key, value in record.values.items()],
            "explained": None if record.explained is None else record.explained.to_dict(),
        }
        self.write_file(f"documents/{record.number:06d}.json", _json(content))

    def explanations(self, number: int) -> Comparison | None:
        """The explanations of a text, as they were kept; None where there are none that can be read."""
        try:
            content = json.loads(self._record(number).read_bytes())["explained"]
            return None if content is None else Comparison.from_dict(content)
        except (*UNREADABLE, InputError):
            return None

    # ── what is made of them ──────────────────────────────────────────────────────────────────────────────────────

    def write_evaluation(self, evaluation: Evaluation) -> None:
        self.write_file("evaluation.json", _json(evaluation.to_dict()))
        self.write_file("summary.csv", _csv(evaluation.summary.rows()))
        self.write_file("texts.csv", _csv(evaluation.rows()))


def read_evaluation(path: Path) -> Evaluation:
    """The evaluation of a folder, or of the file that it holds."""
    file = path / "evaluation.json" if path.is_dir() else path
    try:
        content = json.loads(file.read_bytes())
    except FileNotFoundError as error:
        if not (path / EvaluationFolder.RECORD).is_file():
            raise InputError(f"{path} holds no evaluation: give a folder of limelight evaluate") from error
        raise InputError(f"there is no {file}: the evaluation is not finished; give its command again") from error
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{file} cannot be read: {reason(error)}; evaluate again") from error
    return Evaluation.from_dict(content)


def _json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, ensure_ascii=True, allow_nan=False) + "\n").encode()


def _csv(rows: Iterable[Mapping[str, Any]]) -> bytes:
    table = [(list(row), [_cell(value) for value in row.values()]) for row in rows]
    heads = [names for names, _ in table[:1]]
    return csv_of([*heads, *(cells for _, cells in table)]).encode("utf-8", "backslashreplace")


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return safe_cell(value)
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.8g}"
    return value
