"""Batches for engines of others, and the memory of a long run."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import limelight
from corpus.texts import reviews, write
from limelight import corpus
from limelight.corpus.running.source import Chosen, Source, find_files
from limelight.errors import InputError


def test_a_batch_has_the_rows_of_a_run(tmp_path: Path) -> None:
    rows = reviews(8)
    rows[2]["text"] = ""
    options: dict[str, Any] = {"methods": ["lime", "gxi"], "n_samples": 30, "keep_text": True}
    done = corpus.run(write(tmp_path / "data.jsonl", rows), tmp_path / "out", id_column="name", **options)
    table = next(done.tables()).to_pydict()
    model = limelight.load()
    texts, ids = [row["text"] for row in rows], [row["name"] for row in rows]
    assert corpus.explain_batch(model, texts, ids=ids, **options) == table
    halves = [corpus.explain_batch(model, texts[at], ids=ids[at], **options) for at in (slice(0, 3), slice(3, 8))]
    joined = {name: [*halves[0][name], *halves[1][name]] for name in table}
    for name in ("id", "features", "seed", "error", "spans"):
        assert joined[name] == table[name]
    for one, other in zip(joined["weights"], table["weights"], strict=True):
        assert one is other is None or np.allclose(one, other, rtol=0, atol=1e-12)
    with pytest.raises(InputError, match="8 texts have 2 ids"):
        corpus.explain_batch(model, texts, ids=[1, 2])


def test_one_text_is_no_batch() -> None:
    with pytest.raises(InputError, match=r"write \[text\] for one"):
        corpus.explain_batch(limelight.load(), "good film", ["gxi"])


def test_a_batch_has_the_types_of_a_shard(tmp_path: Path) -> None:
    """Also where a column is null throughout; a missing text of pandas is one of Arrow."""
    import pyarrow

    rows = reviews(3)
    done = corpus.run(write(tmp_path / "data.jsonl", rows), tmp_path / "out", methods=["gxi"], keep_text=True)
    schema = corpus.batch_schema(keep_text=True)
    assert schema.equals(next(done.tables()).schema)
    assert corpus.batch_schema().names == schema.names[:-1]
    texts: list[Any] = [rows[0]["text"], float("nan"), None]
    table = pyarrow.Table.from_pydict(
        corpus.explain_batch(limelight.load(), texts, ["lime"], n_samples=20), corpus.batch_schema()
    )
    assert [error is None for error in table["error"].to_pylist()] == [True, False, False]
    assert "null" in table["error"][1].as_py()
    assert table["error"][1] == table["error"][2]


def test_rows_are_read_as_a_stream(tmp_path: Path) -> None:
    """30,000 rows take no more memory than 3,000, but for 8 bytes each."""
    peaks = []
    for count in (3_000, 30_000):
        source = Source(find_files(write(tmp_path / f"{count}.jsonl", reviews(count))), Chosen(id_column="name"))
        tracemalloc.start()
        survey = source.survey(("negative", "positive"))
        assert sum(1 for _ in source.rows(survey.carried)) == count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 64 * 27_000


def test_a_long_run_takes_no_more_memory_than_a_short_one(tmp_path: Path) -> None:
    corpus.run(write(tmp_path / "first.jsonl", reviews(50)), tmp_path / "first", methods=["alpha-avg"])  # imports
    peaks = []
    for count in (200, 1000):
        data = write(tmp_path / f"{count}.jsonl", reviews(count))
        tracemalloc.start()
        corpus.run(data, tmp_path / str(count), methods=["alpha-avg"], shard_size=50)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]
