"""The recipes of docs/corpus.md for engines of others, run as they are printed, where those engines are installed."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corpus.texts import reviews
from limelight import corpus

PAGE = (Path(__file__).parents[2] / "docs" / "corpus.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
EMPTY = 5
"""The review without a text, of which the engines give null."""
ROUNDED = {"weights", "stderr", "bound", "details"}
"""Texts of one size are computed together where values are exact: the last bits follow from who is in the batch."""
LAST_BITS = 1e-13

no_datasets = pytest.mark.skipif(find_spec("datasets") is None, reason="datasets is not installed")
no_spark = pytest.mark.skipif(
    find_spec("pyspark") is None or shutil.which("java") is None, reason="pyspark or Java is not installed"
)


def _recipe(has: str) -> str:
    (block,) = [block for block in BLOCKS if has in block]
    return block


def test_there_is_a_recipe_for_each_engine() -> None:
    for has in ("datasets.load_dataset", "@pandas_udf", "mapInArrow"):
        compile(_recipe(has), has, "exec")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("has", "written", "methods"),
    [
        pytest.param("datasets.load_dataset", "explained.parquet", ["lime", "shapley"], marks=no_datasets),
        pytest.param("@pandas_udf", "explained-by-udf", ["lime"], marks=no_spark),
        pytest.param("mapInArrow", "explained-by-map", ["lime", "shapley"], marks=no_spark),
    ],
)
def test_a_recipe_gives_what_a_run_gives(tmp_path: Path, has: str, written: str, methods: list[str]) -> None:
    rows = [{"id": row["name"], "text": row["text"], "label": row["label"]} for row in reviews(12)]
    rows[2]["text"], rows[EMPTY]["text"] = 'A "great" film,\nbut too long.', ""
    with (tmp_path / "reviews.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    (tmp_path / "recipe.py").write_text(_recipe(has), encoding="utf-8")
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "HF_HOME": str(tmp_path / "hf")}
    done = subprocess.run(
        [sys.executable, "recipe.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    run = corpus.run(tmp_path / "reviews.csv", tmp_path / "out", methods=methods, id_column="id", n_samples=1000)
    expected, found = _rows(run.folder / "shards"), _rows(tmp_path / written)
    assert expected.keys() == found.keys()
    for (id, _), row in expected.items():
        other = found[id, row["method"]]
        if id == rows[EMPTY]["id"]:
            assert "the text is null" in other["error"]
            continue
        for name in row.keys() - {"row", *ROUNDED}:
            assert other[name] == row[name], name
        for name in ("weights", "stderr"):
            assert (other[name] is None) == (row[name] is None)
            np.testing.assert_allclose(other[name] or [], row[name] or [], rtol=0, atol=LAST_BITS)


def _rows(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    import pyarrow.parquet

    rows = [row.get("explanation", row) for row in pyarrow.parquet.read_table(path).to_pylist()]
    return {(row["id"], row["method"]): row for row in rows}
