"""A corpus is plain Parquet: pandas, polars and DuckDB read what limelight reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from corpus.texts import reviews, write
from limelight import corpus
from limelight.corpus import Corpus
from limelight.errors import DataError, InputError


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("corpus")
    rows = reviews(12)
    rows[5]["text"] = ""
    data = write(folder / "data.jsonl", rows)
    return corpus.run(data, folder / "out", methods=["lime", "lime-limit"], n_samples=40, shard_size=5, carry=["stars"])


def _weights(done: Corpus) -> list[list[float]]:
    return [explanation.weights.tolist() for explanation in done]


def test_pandas(done: Corpus) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_parquet(done.folder / "shards")
    assert len(frame) == 24
    assert frame.error.notna().sum() == 2
    good = frame[frame.error.isna()]
    assert [own.tolist() for own in good.weights] == _weights(done)
    assert good.features.iloc[0].tolist() == list(next(iter(done)).features)
    assert [(span["start"], span["end"]) for span in good.spans.iloc[0][0]] == list(next(iter(done)).spans[0])
    assert good.stderr.iloc[1] is None
    assert frame.stars.dtype == np.int64


def test_polars(done: Corpus) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.read_parquet(done.folder / "shards" / "*.parquet")
    good = frame.filter(polars.col("error").is_null())
    assert good["weights"].to_list() == _weights(done)
    long = good.filter(polars.col("method") == "lime").select("features", "weights")
    long = long.explode(["features", "weights"])
    lime = [explanation for explanation in done if explanation.method == "lime"]
    assert long["weights"].to_list() == [weight for own in lime for weight in own.weights.tolist()]
    assert long["features"].to_list() == [name for own in lime for name in own.features]


def test_duckdb(done: Corpus) -> None:
    duckdb = pytest.importorskip("duckdb")
    shards = f"{done.folder}/shards/*.parquet"
    query = f"select weights from '{shards}' where error is null order by row, method"
    found = [list(own) for (own,) in duckdb.sql(query).fetchall()]
    assert found == _weights(done)
    words = duckdb.sql(
        "select word, count(*), avg(weight) from "
        f"(select unnest(features) word, unnest(weights) weight from '{shards}' where method = 'lime-limit') "
        "group by word order by word"
    ).fetchall()
    by_hand: dict[str, list[float]] = {}
    for explanation in done:
        if explanation.method == "lime-limit":
            for name, weight in zip(explanation.features, explanation.weights.tolist(), strict=True):
                by_hand.setdefault(name, []).append(weight)
    assert [(word, count) for word, count, _ in words] == [(name, len(by_hand[name])) for name in sorted(by_hand)]
    np.testing.assert_allclose([mean for *_, mean in words], [np.mean(by_hand[name]) for name in sorted(by_hand)])
    start = duckdb.sql(f"select spans[1][1].start from '{shards}' where row = 1 limit 1").fetchall()
    assert start == [(next(iter(done)).spans[0][0][0],)]


def test_an_unfinished_or_damaged_corpus(done: Corpus, tmp_path: Path) -> None:
    import shutil

    with pytest.raises(InputError, match="holds no corpus"):
        corpus.open(tmp_path)
    with pytest.raises(InputError, match="holds no corpus"):
        corpus.open(done.folder / "manifest.json")
    shutil.copytree(done.folder, tmp_path / "copy")
    copy = corpus.open(tmp_path / "copy")
    first = copy.shards()[0]
    copy.shards()[1].unlink()
    assert not copy.is_complete
    assert len(list(copy)) == len(list(done)) - 8
    first.write_bytes(first.read_bytes()[:-50])
    with pytest.raises(DataError, match=r"00000000.parquet is damaged"):
        list(copy)
    (tmp_path / "copy" / "manifest.json").write_text("{")
    with pytest.raises(DataError, match="damaged"):
        corpus.open(tmp_path / "copy")


def test_a_corpus_of_a_newer_version_is_refused(done: Corpus, tmp_path: Path) -> None:
    import json

    from limelight.corpus.store.hashes import seal_manifest

    manifest = json.loads((done.folder / "manifest.json").read_text())
    manifest["layout"]["schema"] = 99
    del manifest["hashes"], manifest["sha256"]
    (tmp_path / "manifest.json").write_bytes(seal_manifest(manifest))
    with pytest.raises(DataError, match="newer limelight"):
        corpus.open(tmp_path)


def test_every_column_is_documented() -> None:
    from limelight.corpus.store.hashes import PLACE
    from limelight.corpus.store.schema import COLUMNS, TEXT_COLUMNS

    page = (Path(__file__).parents[2] / "docs" / "corpus.md").read_text()
    assert f"`{PLACE}`" in page
    for name, column in {**COLUMNS, **TEXT_COLUMNS}.items():
        assert f"| `{name}` | `{column.type}` | {column.meaning} |" in page
