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

import contextlib
import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from limelight.errors import InputError
from limelight.evaluation.evaluate_text import Record
from limelight.evaluation.measure import Key
from limelight.evaluation.result import Evaluation, written
from limelight.explanation.result import Comparison
from limelight.render.csv_table import safe_cell
from limelight.storage.files import holds_run, only_writer, reason, remove_dead_parts, replace_file, writing_in_run

RUN, LOCK = "run.json", "run.lock"
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)


class EvaluationFolder:
    """Reads and writes one output folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.digest = ""

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Be the only one who writes here; what a killed run has left half written goes."""
        self.stored()
        with only_writer(self.path, self.path / LOCK):
            for folder in (self.path, self.path / "documents", self.path / "texts"):
                remove_dead_parts(folder)
            yield

    def stored(self) -> Mapping[str, Any] | None:
        """What the folder is of; None where it is new."""
        if not holds_run(self.path, RUN, LOCK, "that of an evaluation"):
            return None
        try:
            content: Mapping[str, Any] = json.loads((self.path / RUN).read_bytes())
            if content["kind"] != "evaluation" or not isinstance(content["digest"], str):
                raise ValueError("it is of something else")
            return content
        except _UNREADABLE as error:
            raise InputError(f"{self.path / RUN} cannot be read ({reason(error)}): choose another --out") from error

    def claim(self, digest: str, about: Mapping[str, Any]) -> None:
        """Write down what the folder is of; raise if it is of something else."""
        self.digest = digest
        stored = self.stored()
        if stored is None:
            self.write(RUN, _json({"kind": "evaluation", "digest": digest, **about}))
            return
        if stored["digest"] != digest:
            others = [
                f"{name} {stored.get(name)!r}, not {own!r}" for name, own in about.items() if stored.get(name) != own
            ]
            told = f" ({'; '.join(others)})" if others else ""
            raise InputError(f"--out {self.path} holds another evaluation{told}: choose another folder")

    # ── records ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _record(self, number: int) -> Path:
        return self.path / "documents" / f"{number:06d}.json"

    def known(self, number: int) -> Record | None:
        try:
            content = json.loads(self._record(number).read_bytes())
            if content["digest"] != self.digest or content["number"] != number:
                return None
            values = {
                Key(*map(str, key)): math.nan if value is None else float(value) for key, value in content["values"]
            }
            return Record(
                number=number,
                id=content["id"],
                words=int(content["words"]),
                label=str(content["label"]),
                target=str(content["target"]),
                values=values,
                methods={str(name): dict(own) for name, own in content["methods"].items()},
                notices=tuple(map(str, content["notices"])),
                holds=bool(content["holds"]),
                given=int(content["given"]),
                distinct=int(content["distinct"]),
                noise=float(content["noise"]),
            )
        except _UNREADABLE:
            return None

    def keep(self, record: Record) -> None:
        content = {
            "digest": self.digest,
            **{name: getattr(record, name) for name in ("number", "id", "words", "label", "target", "methods")},
            **{name: getattr(record, name) for name in ("holds", "given", "distinct", "noise")},
            "notices": list(record.notices),
            "values": [[list(key), written(value)] for key, value in record.values.items()],
            "explained": None if record.explained is None else record.explained.to_dict(),
        }
        self.write(f"documents/{record.number:06d}.json", _json(content))

    def explanations(self, number: int) -> Comparison | None:
        """Those of a text, as they were kept; None where there are none that can be read."""
        try:
            content = json.loads(self._record(number).read_bytes())["explained"]
            return None if content is None else Comparison.from_dict(content)
        except (*_UNREADABLE, InputError):
            return None

    # ── what is made of them ──────────────────────────────────────────────────────────────────────────────────────

    def write_evaluation(self, evaluation: Evaluation) -> None:
        self.write("evaluation.json", _json(evaluation.to_dict()))
        self.write("summary.csv", _csv(evaluation.summary.rows()))
        self.write("texts.csv", _csv(evaluation.rows()))

    def write(self, name: str, content: bytes) -> None:
        file = self.path / name
        with writing_in_run(self.path, name):
            file.parent.mkdir(parents=True, exist_ok=True)
            replace_file(file, content)


def read_evaluation(path: Path) -> Evaluation:
    """The evaluation of a folder, or of the file that it holds."""
    file = path / "evaluation.json" if path.is_dir() else path
    try:
        content = json.loads(file.read_bytes())
    except FileNotFoundError as error:
        if not (path / RUN).is_file():
            raise InputError(f"{path} holds no evaluation: give a folder of limelight evaluate") from error
        raise InputError(f"there is no {file}: the evaluation is not finished; give its command again") from error
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{file} cannot be read: {reason(error)}; evaluate again") from error
    return Evaluation.from_dict(content)


def _json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, ensure_ascii=True, allow_nan=False) + "\n").encode()


def _csv(rows: Iterable[Mapping[str, Any]]) -> bytes:
    page = io.StringIO()
    writer = csv.writer(page, lineterminator="\r\n")
    for i, row in enumerate(rows):
        if not i:
            writer.writerow(list(row))
        writer.writerow([_cell(value) for value in row.values()])
    return page.getvalue().encode("utf-8", "backslashreplace")


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return safe_cell(value)
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.8g}"
    return value
