"""The rooms of the code and the edges between them: who may import whom, read from the source itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "limelight"
TOP = {"__init__", "__main__", "errors", "testing"}
"""The files beside the rooms: the public names, the command, the errors, and the contract of a method."""
EVERYWHERE = {"core", "errors", "__version__", "load"}
"""What every room may import; commands without Typer load a model as users do."""
ROOMS = {
    "statistics": set[str](),
    "inputs": set[str](),
    "theory": set[str](),
    "storage": {"inputs"},
    "models": {"inputs", "storage", "theory"},
    "explainers": {"inputs", "models", "statistics", "theory"},
    "explanation": {"explainers", "inputs", "models", "statistics"},
    "attribution": {"explainers", "explanation", "inputs", "models"},
    "render": {"explanation", "inputs", "storage"},
    "corpus": {"attribution", "explainers", "explanation", "inputs", "models", "render", "statistics", "storage"},
    "evaluation": {
        *("attribution", "explainers", "explanation", "inputs", "models"),
        *("render", "statistics", "storage", "theory"),
    },
    "training": {"inputs", "models", "render", "storage"},
    "reproduce": {
        *("attribution", "explainers", "explanation", "inputs", "models"),
        *("render", "statistics", "storage", "theory"),
    },
    "web": {
        *("attribution", "corpus", "evaluation", "explainers", "explanation", "inputs", "models"),
        *("render", "storage", "theory"),
    },
    "testing": {"attribution", "explainers", "explanation", "models"},
}
"""What each room may import beside that. The command line and the public names may import everything."""
LATER = {
    ("explanation", "render"): "a result shows itself as a page or a figure, drawn only when it is asked for",
    ("explanation", "storage"): "a result saves itself",
}
"""Edges against the order, inside functions alone, each with its reason."""


def _imports(file: Path) -> Iterator[tuple[str, bool]]:
    """What a file imports of limelight, by room, and whether that is inside a function."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    inside = {id(n) for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) for n in ast.walk(f)}
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module == "limelight":
            names = [f"limelight.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name != "limelight"]
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "limelight":
            names = [f"limelight.{node.attr}"]
        for package, _, rest in (name.partition(".") for name in names):
            if package == "limelight":
                yield rest.split(".")[0], id(node) in inside


def test_rooms_import_only_what_they_may() -> None:
    for file in sorted(SOURCE.rglob("*.py")):
        room = file.relative_to(SOURCE).with_suffix("").parts[0]
        if room in ("__init__", "__main__", "cli"):
            continue
        allowed = {room} | EVERYWHERE | ROOMS.get(room, set())
        for other, is_later in _imports(file):
            ok = other in allowed or (is_later and (room, other) in LATER)
            assert ok, f"{file.relative_to(SOURCE)} imports {other}, which {room} may not"


def test_the_order_of_the_rooms_has_no_circle() -> None:
    assert list(TopologicalSorter(ROOMS).static_order())
    assert not [edge for edge in LATER if edge[1] in ROOMS[edge[0]]]


def test_every_room_is_in_the_table_and_nothing_else_stands_at_the_top() -> None:
    folders = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    assert folders == (set(ROOMS) - TOP) | {"core", "cli"}
    assert {path.stem for path in SOURCE.glob("*.py")} == TOP


def test_the_map_names_every_room_and_nothing_that_is_not_there() -> None:
    """CONTRIBUTING.md: one row per room and sub-room, and each file in a row lies in that room."""
    written = (SOURCE.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = written.partition("| room | what lives there |\n|---|---|\n")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:3]] for line in table.splitlines()]
    named = [name for heads, _ in rows for name in re.findall(r"`([^`]+)`", heads)]
    there = {path.parent.relative_to(SOURCE).as_posix() + "/" for path in SOURCE.rglob("__init__.py")} - {"./"}
    assert sorted(named) == sorted(there | {f"{name}.py" for name in TOP})
    for heads, text in rows:
        room = heads.strip("`").rstrip("/") if heads.endswith("/`") else "."
        for name in re.findall(r"`([\w/]+\.(?:py|js))`", text):
            places = (SOURCE / room / name, SOURCE / room / "static" / name, SOURCE / name)
            assert any(own.is_file() for own in places), f"{room} has no {name}"
