"""Puts the results of a run into docs/reproduction.md: the table between its two marks, and the figures beside it.

python docs/figures/reproduction.py RESULTS        (the --out folder of `limelight reproduce all`)
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- table.md begins -->", "<!-- table.md ends -->"


def main(results: Path) -> None:
    page = DOCS / "reproduction.md"
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    _, after = rest.split(END)
    table = (results / "table.md").read_text(encoding="utf-8")
    page.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")
    for image in sorted(results.glob("*.png")):
        shutil.copy(image, DOCS / "figures" / f"reproduction-{image.name}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
