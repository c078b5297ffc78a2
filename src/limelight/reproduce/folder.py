"""The folder of a run: what it is a run of, its results, and the pieces of unfinished ones.

run.json              data, model, documents, seed and version; another run's folder is refused
<experiment>.json     numbers; arrays in <experiment>.npz, lists in .csv
<experiment>.png/pdf  figures
report.html, table.md all of it, beside the paper's values
chunks/               finished pieces of long computations, so that an interrupted run goes on; may be deleted
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from limelight.arrays import Array
from limelight.errors import InputError
from limelight.files import replace_file

Arrays = dict[str, Array]
RUN = "run.json"


@dataclass(frozen=True)
class Fingerprint:
    """What decides the numbers of a run. Digests are of content, not of paths."""

    data: str
    data_digest: str
    model: str
    model_digest: str
    documents: int
    seed: int
    version: str


class RunFolder:
    """Reads and writes one output folder; every file appears whole or not at all."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.chunks = path / "chunks"

    def fingerprint(self) -> Fingerprint | None:
        """Of the run that this folder holds, or None where it is new."""
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"--out {self.path} is a file: give a folder")
        if not (self.path / RUN).exists():
            if self.path.exists() and any(self.path.iterdir()):
                raise InputError(
                    f"--out {self.path} holds files but no {RUN}, so it is not the folder of a run: choose another"
                )
            return None
        try:
            stored = json.loads((self.path / RUN).read_text(encoding="utf-8"))
            return Fingerprint(**{name: stored[name] for name in Fingerprint.__dataclass_fields__})
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{self.path / RUN} cannot be read ({error}): choose another --out") from error

    def claim(self, wanted: Fingerprint) -> None:
        """Write down that the folder holds this run; raise if it holds another."""
        stored = self.fingerprint()
        if stored is None:
            self.path.mkdir(parents=True, exist_ok=True)
            self.write_json("run", asdict(wanted))
            return
        for name, value in asdict(wanted).items():
            other = getattr(stored, name)
            if value != other:
                raise InputError(
                    f"--out {self.path} holds another run: its {name.replace('_', ' ')} is {other!r}, not {value!r}; "
                    "choose another folder, or give what that run was given"
                )

    def claim_deep(self, digest: str) -> None:
        """The deep model of Figure 6 may come later, but it stays the same."""
        if not self.has("deep-model"):
            self.write_json("deep-model", {"digest": digest})
        elif (stored := self.read_json("deep-model")["digest"]) != digest:
            raise InputError(
                f"--out {self.path} holds results of another deep model ({stored}, not {digest}): choose another folder"
            )

    # ── results ───────────────────────────────────────────────────────────────────────────────────────────────────

    def has(self, name: str) -> bool:
        return (self.path / f"{name}.json").exists()

    def read_json(self, name: str) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.path / f"{name}.json").read_text(encoding="utf-8"))
        return content

    def write_json(self, name: str, content: Mapping[str, Any]) -> None:
        self.write(f"{name}.json", (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())

    def read_arrays(self, name: str) -> Arrays:
        return _load(self.path / f"{name}.npz")

    def write_arrays(self, name: str, arrays: Mapping[str, Array]) -> None:
        _save(self.path / f"{name}.npz", arrays)

    def write(self, name: str, content: bytes) -> None:
        replace_file(self.path / name, content)

    # ── pieces ────────────────────────────────────────────────────────────────────────────────────────────────────

    def has_chunk(self, name: str, first: int) -> bool:
        return self._chunk(name, first).exists()

    def read_chunk(self, name: str, first: int) -> Arrays | None:
        return _load(self._chunk(name, first)) if self.has_chunk(name, first) else None

    def write_chunk(self, name: str, first: int, arrays: Mapping[str, Array]) -> None:
        file = self._chunk(name, first)
        file.parent.mkdir(parents=True, exist_ok=True)
        _save(file, arrays)

    def _chunk(self, name: str, first: int) -> Path:
        return self.chunks / name / f"{first:06d}.npz"


def _load(file: Path) -> Arrays:
    with np.load(file, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def _save(file: Path, arrays: Mapping[str, Array]) -> None:
    replace_file(file, lambda stream: np.savez_compressed(stream, **arrays))  # type: ignore[arg-type]
