"""Puts the results of one or more runs into docs/reproduction.md: tables between its two marks, figures beside it.

python docs/figures/reproduction.py RESULTS [MORE ...]       (--out folders of `limelight reproduce`)

An experiment is taken from the first folder in which it was computed.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- table.md begins -->", "<!-- table.md ends -->"
NOT_COMPUTED = "| not computed |"


def rows_of(results: Path) -> tuple[list[str], dict[str, list[str]], str]:
    """The head of table.md, its rows by experiment, and its last line, which says what was run and where."""
    lines = (results / "table.md").read_text(encoding="utf-8").strip().splitlines()
    rows: dict[str, list[str]] = {}
    for line in lines[2:]:
        if line.startswith("| ") and NOT_COMPUTED not in line:
            rows.setdefault(line.split(" | ")[0].removeprefix("| "), []).append(line)
    return lines[:2], rows, lines[-1]


def main(folders: list[Path]) -> None:
    page = DOCS / "reproduction.md"
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    _, after = rest.split(END)
    parts, seen = [], set()
    for results in folders:
        head, rows, source = rows_of(results)
        new = [name for name in rows if name not in seen]
        seen.update(new)
        parts += [source, "", *head, *(line for name in new for line in rows[name]), ""]
        for name in new:
            shutil.copy(results / f"{name}.png", DOCS / "figures" / f"reproduction-{name}.png")
    table = "\n".join(parts)
    page.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
