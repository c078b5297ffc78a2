"""Small corpora for the tests: short reviews, as tables of each kind."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

WORDS = "the film was great awful story scene bad good long boring lovely and but too music ending".split()


def reviews(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Rows with an id, a text, a label and two columns to carry."""
    rng = random.Random(seed)
    return [
        {
            "name": f"review-{i}",
            "text": " ".join(rng.choice(WORDS) for _ in range(rng.randint(3, 12))) + ".",
            "label": ("negative", "positive")[i % 2],
            "stars": i % 5,
            "price": i / 2,
        }
        for i in range(count)
    ]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    """As the kind of table that the name says."""
    if path.suffix == ".parquet":
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter="," if path.suffix == ".csv" else "\t")
            writer.writeheader()
            writer.writerows(rows)
    return path


def stored(folder: Path) -> dict[str, bytes]:
    """What the shards of a corpus hold, by name."""
    return {file.name: file.read_bytes() for file in sorted((folder / "shards").iterdir())}
