"""The folder of a run: what it is a run of, its results, and the pieces of unfinished ones.

run.json              data, model, documents, seed and version; another run's folder is refused
run.lock              who is writing, while somebody is: one run at a time
<experiment>.json     numbers; arrays in <experiment>.npz, lists in .csv
<experiment>.png/pdf  figures
report.html, table.md all of it, beside the paper's values
chunks/               finished pieces of long computations, so that an interrupted run goes on; may be deleted

Results carry digests of what they hold and of the arrays beside them, pieces say what they are pieces of: what is
damaged is known and computed again.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import limelight
from limelight.core.arrays import Array
from limelight.errors import InputError
from limelight.storage import run_folder
from limelight.storage.files import reason

Arrays = dict[str, Array]
_PIECE = "_piece_"
"""The entry of a piece that says what it is a piece of."""
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, EOFError, RecursionError, zipfile.BadZipFile, zlib.error)
"""Errors of reading a file that is cut short, damaged or of another kind."""
Fingerprint = dict[str, Any]
_DECIDES = ("data", "data_digest", "model", "model_digest", "documents", "seed", "version")
"""Everything that decides the numbers of a run, its fingerprint. Digests are of content, not of paths."""


class RunFolder(run_folder.RunFolder):
    """Reads and writes one output folder; every file appears whole or not at all."""

    FOLDERS = ("chunks", "chunks/*")

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.chunks = path / "chunks"
        self._digests: dict[str, str] = {}

    def check(self) -> None:
        """A folder that is none of a run is not touched."""
        self.fingerprint()

    def fingerprint(self) -> Fingerprint | None:
        """Fingerprint of the run that this folder holds, or None where it is new."""
        found: Fingerprint | None = self.stored()
        return found

    def check_record(self, record: Any) -> Fingerprint:
        found = {name: record[name] for name in _DECIDES}
        if not (isinstance(found["documents"], int) and isinstance(found["seed"], int) and found["seed"] >= 0):
            raise ValueError("documents and seed must be whole numbers")
        return found

    def claim(self, wanted: Fingerprint) -> None:
        """Write down that the folder holds this run; raise if it holds another."""
        stored = self.fingerprint()
        if stored is None:
            self.write_json("run", wanted)
            return
        # Data and model are known by their content: they may be called otherwise by now.
        same = {
            name: stored[name] for name in ("data", "model") if wanted[f"{name}_digest"] == stored[f"{name}_digest"]
        }
        self.check_same(stored, {**wanted, **same})

    def claim_deep(self, digest: str) -> None:
        """The deep model of Figure 6 may come later, but it stays the same."""
        file = self.path / "deep-model.json"
        if not file.exists():
            self.write_json("deep-model", {"digest": digest})
            return
        try:
            stored = json.loads(file.read_bytes())["digest"]
        except _UNREADABLE as error:
            raise InputError(
                f"{file} cannot be read ({reason(error)}), so it is not known which deep model {self.path} is of: "
                "choose another folder"
            ) from error
        if stored != digest:
            raise InputError(
                f"--out {self.path} holds results of another deep model ({stored}, not {digest}): choose another folder"
            )

    # ── results ───────────────────────────────────────────────────────────────────────────────────────────────────

    def has(self, name: str) -> bool:
        """Whether there is a result that can be used."""
        return (self.path / f"{name}.json").exists() and self.damage(name) is None

    def damage(self, name: str) -> str | None:
        """Why the result that is there cannot be used; None where it can, and where there is none."""
        file = self.path / f"{name}.json"
        try:
            content = json.loads(file.read_bytes())
            if content["experiment"] != name:
                return f"{file.name} holds the result of {content['experiment']!r:.40}"
            written_by, numbers = content["about"]["limelight"], content["numbers"]
            if "digest" not in content and written_by != limelight.__version__:
                return None  # results of version 0.1 have no digests
            if content["digest"] != _digest_of(numbers):
                return f"{file.name} does not hold what was written to it"
            for beside, digest in content["files"].items():
                if hashlib.sha256((self.path / beside).read_bytes()).hexdigest() != digest:
                    return f"{beside} is damaged"
        except FileNotFoundError as error:
            missing = Path(str(error.filename)).name
            return None if missing == file.name else f"{missing} is missing"
        except (*_UNREADABLE, AttributeError) as error:
            return f"{file.name} is damaged ({type(error).__name__}: {reason(error):.80})"
        return None

    def read_result(self, name: str) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.path / f"{name}.json").read_text(encoding="utf-8"))
        return content

    def write_result(self, name: str, about: Mapping[str, Any], numbers: Mapping[str, Any]) -> None:
        """The result of an experiment, after the files that belong to it."""
        files = {file: digest for file, digest in self._digests.items() if file.startswith(f"{name}.")}
        content = {"experiment": name, "about": about, "numbers": numbers}
        self.write_json(name, {**content, "files": files, "digest": _digest_of(numbers)})

    def write_json(self, name: str, content: Mapping[str, Any]) -> None:
        self.write(f"{name}.json", (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())

    def read_arrays(self, name: str) -> Arrays:
        file = self.path / f"{name}.npz"
        try:
            return _load(file)
        except _UNREADABLE as error:
            raise InputError(
                f"{file} cannot be read ({reason(error)}): remove {name}.json beside it and give {name} again"
            ) from error

    def write_arrays(self, name: str, arrays: Mapping[str, Array]) -> None:
        self.write(f"{name}.npz", _npz(arrays))

    def write(self, name: str, content: bytes) -> None:
        self.write_file(name, content)
        self._digests[name] = hashlib.sha256(content).hexdigest()

    # ── pieces ────────────────────────────────────────────────────────────────────────────────────────────────────

    def read_chunk(self, name: str, first: int, say: Callable[[str], None] = lambda line: None) -> Arrays | None:
        """A piece that was stored; None where there is none, or none that can be used, which is said."""
        file = self._chunk(name, first)
        if not file.exists():
            return None
        try:
            arrays = _load(file)
            if str(arrays.pop(_PIECE)) != _piece(name, first, arrays):
                raise ValueError("it is a piece of something else")
            return arrays
        except _UNREADABLE as error:
            why = f"{type(error).__name__}: {reason(error):.80}"
            say(f"{file.relative_to(self.path)} is damaged ({why}): computed again")
            return None

    def write_chunk(self, name: str, first: int, arrays: Mapping[str, Array]) -> None:
        file = self._chunk(name, first)
        marked = {**arrays, _PIECE: np.array(_piece(name, first, arrays))}
        self.write_file(str(file.relative_to(self.path)), _npz(marked))

    def _chunk(self, name: str, first: int) -> Path:
        return self.chunks / name / f"{first:06d}.npz"


def _piece(name: str, first: int, arrays: Mapping[str, Array]) -> str:
    return f"{name} from {first}: {', '.join(sorted(arrays))}"


def _digest_of(numbers: object) -> str:
    return hashlib.sha256(json.dumps(numbers, sort_keys=True).encode()).hexdigest()


def _load(file: Path) -> Arrays:
    # From bytes: NumPy leaves a file open that it finds damaged.
    with np.load(io.BytesIO(file.read_bytes()), allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def _npz(arrays: Mapping[str, Array]) -> bytes:
    """Arrays as the bytes of a file; equal arrays give equal bytes."""
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
    return stream.getvalue()
