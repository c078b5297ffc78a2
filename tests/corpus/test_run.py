"""A run from files to shards: what is in them, and that nothing else decides their bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import limelight
from corpus.texts import reviews, stored, write
from limelight import corpus
from limelight.attribution.api import compare
from limelight.corpus.running.driver import MOST_LOSSES
from limelight.corpus.running.explain_rows import Questions, explain_rows, seed_of
from limelight.corpus.running.shard_rows import Row
from limelight.corpus.running.workers import InProcess, Processes
from limelight.corpus.store.reading import state
from limelight.corpus.store.schema import COLUMNS, TEXT_COLUMNS
from limelight.errors import CapabilityError, InputError, LimelightError, ParameterError, UnknownNameError
from reference.small_transformers import small_transformer


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path / "data.jsonl", reviews(23))


def test_every_document_is_explained_as_if_alone(tmp_path: Path, data: Path) -> None:
    """By each method, with a seed of its own, and stored without loss."""
    methods = ["lime-limit", "shapley", "lime", "gxi"]
    done = corpus.run(
        data, tmp_path / "out", methods=methods, id_column="name", shard_size=10, keep_text=True, n_samples=60, seed=3
    )
    assert done.is_complete
    assert [file.name for file in done.shards()] == [f"0000000{i}.parquet" for i in range(3)]
    documents = list(done.documents())
    assert [document.id for document in documents] == [f"review-{i}" for i in range(23)]
    assert [document.row for document in documents] == list(range(1, 24))
    model = limelight.load()
    for document, row in zip(documents, reviews(23), strict=True):
        alone = compare(model, row["text"], methods, n_samples=60, seed=seed_of(3, row["name"]))
        assert [one.method for one in document.explanations] == methods
        for one, other in zip(document.explanations, alone, strict=True):
            np.testing.assert_allclose(one.weights, other.weights, rtol=0, atol=1e-9)
            assert (one.text, one.features, one.spans, one.target) == (
                other.text,
                other.features,
                other.spans,
                other.target,
            )
            assert one.parameters == other.parameters
            assert one.accuracy == other.accuracy
    assert len({seed_of(3, row["name"]) for row in reviews(23)}) == 23


def test_a_stored_explanation_is_the_one_that_was_computed(tmp_path: Path, data: Path) -> None:
    """Two levels, a label rather than another, every column that is not null."""
    asked = Questions(("positive", "negative"), ("sentences", "words"), methods=("lime", "shapley"))
    model = limelight.load()
    rows = [Row(i, row["name"], row["text"]) for i, row in enumerate(reviews(23), start=1)]
    computed = [own for answer in explain_rows(model, rows, asked) for own in answer.explanations]
    stored_corpus = corpus.run(
        data,
        tmp_path / "out",
        methods=["lime", "shapley"],
        target=("positive", "negative"),
        features=("sentences", "words"),
        id_column="name",
        keep_text=True,
        shard_size=23,
    )
    assert list(stored_corpus) == computed
    assert computed[0].groups is not None


def test_without_the_text_words_stand_at_their_places(tmp_path: Path, data: Path) -> None:
    done = corpus.run(data, tmp_path / "out", methods=["gxi"])
    text, explanation = reviews(23)[0]["text"], next(iter(done))
    assert explanation.text == text
    assert any("was not kept" in notice for notice in explanation.notices)
    assert "text" not in next(done.tables()).column_names
    assert explanation.to_html()


def test_columns_are_those_of_the_schema(tmp_path: Path, data: Path) -> None:
    done = corpus.run(
        data, tmp_path / "out", methods=["shapley"], carry=["stars", "price"], label_column="label", keep_text=True
    )
    table = next(done.tables())
    assert table.column_names == [*COLUMNS, "stars", "price", "text"]
    for name, column in {**COLUMNS, **TEXT_COLUMNS}.items():
        if name in table.column_names:
            assert str(table.schema.field(name).type).replace("element: ", "") == column.type
    assert table["stars"].to_pylist() == [row["stars"] for row in reviews(23)]
    assert table["price"].to_pylist() == [row["price"] for row in reviews(23)]
    assert table["truth"].to_pylist() == [row["label"] for row in reviews(23)]
    assert str(table.schema.field("stars").type) == "int64"
    frame = done.to_frame()
    first = "id row truth label method target against output feature weight stderr low high significant"
    assert list(frame.columns[:14]) == first.split()
    assert len(frame) == sum(map(len, done))
    np.testing.assert_array_equal(frame.weight, np.concatenate([one.weights for one in done]))
    np.testing.assert_array_equal(frame[["low", "high"]], np.concatenate([one.intervals() for one in done]))
    np.testing.assert_array_equal(frame.significant, np.concatenate([one.significant for one in done]))


def test_texts_that_fail_are_rows_with_their_error(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = reviews(6)
    rows[1]["text"], rows[2]["text"], rows[4]["text"] = "", None, "  ...\ud83d"
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = corpus.run(data, tmp_path / "out", methods=["gxi", "lime-limit"], keep_text=True, shard_size=4)
    errors = {document.row: document.errors for document in done.documents() if document.errors}
    assert list(errors) == [2, 3, 5]
    assert all(set(own) == {"gxi", "lime-limit"} for own in errors.values())
    assert "no words" in errors[2]["gxi"]
    assert "null" in errors[3]["gxi"]
    assert "surrogate" in errors[5]["gxi"]
    assert [explanation.method for explanation in done] == ["gxi", "lime-limit"] * 3
    now = state(tmp_path / "out")
    assert (now.documents, now.errors, now.is_complete) == (6, 3, True)


def test_a_text_that_cannot_be_computed_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    """A function that fails on one text by a number that is not finite."""

    def says(texts: list[str]) -> Any:
        return np.array([[0.5, 0.5] if "nan" not in text else [np.nan, 1.0] for text in texts])

    rows = reviews(4)
    rows[2]["text"] = "this is nan and bad"
    data = write(tmp_path / "data.csv", rows)
    model = limelight.wrap(says, labels=["a", "b"])
    done = corpus.run(data, tmp_path / "out", model, ["leave-one-out"])
    assert [document.row for document in done.documents() if document.errors] == [3]
    assert len(list(done)) == 3


def test_bytes_do_not_depend_on_who_computed_them(tmp_path: Path, data: Path) -> None:
    options: dict[str, Any] = {"methods": ["lime", "shapley"], "shard_size": 4, "n_samples": 50}
    corpus.run(data, tmp_path / "one", **options)
    corpus.run(data, tmp_path / "two", workers=2, **options)
    assert stored(tmp_path / "one") == stored(tmp_path / "two")
    assert len(stored(tmp_path / "one")) == 6
    one, two = (json.loads((tmp_path / name / "manifest.json").read_text()) for name in ("one", "two"))
    assert one == two


@pytest.mark.slow
def test_workers_take_a_transformers_model_for_the_one_that_the_driver_has(tmp_path: Path) -> None:
    """Each loads its own: hash, description and versions are the same in every process."""
    for part in small_transformer("bert"):
        part.save_pretrained(tmp_path / "model")
    data = write(tmp_path / "data.jsonl", [{**row, "second": row["text"]} for row in reviews(6)])
    options: dict[str, Any] = {"methods": ["lime"], "n_samples": 20, "shard_size": 2, "second_column": "second"}
    corpus.run(data, tmp_path / "one", tmp_path / "model", **options)
    corpus.run(data, tmp_path / "two", tmp_path / "model", workers=2, **options)
    assert stored(tmp_path / "one") == stored(tmp_path / "two")


def test_a_run_goes_on_where_it_stopped(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"methods": ["shapley"], "shard_size": 5}
    corpus.run(data, tmp_path / "whole", **options)
    computed: list[int] = []
    answers = InProcess.answers

    def stops(crew: InProcess) -> Any:
        if len(computed) == 2:
            raise KeyboardInterrupt
        computed.append(crew.tasks[0][0].number)
        return answers(crew)

    monkeypatch.setattr(InProcess, "answers", stops)
    with pytest.raises(KeyboardInterrupt):
        corpus.run(data, tmp_path / "out", **options)
    assert list(stored(tmp_path / "out")) == ["00000000.parquet", "00000001.parquet"]
    assert not corpus.open(tmp_path / "out").is_complete
    computed.clear()
    monkeypatch.setattr(
        InProcess, "answers", lambda crew: [computed.append(crew.tasks[0][0].number), *answers(crew)][1:]
    )
    corpus.run(data, tmp_path / "out", **options)
    assert computed == [2, 3, 4]
    assert stored(tmp_path / "out") == stored(tmp_path / "whole")
    corpus.run(data, tmp_path / "out", **options)  # nothing is left to do
    assert computed == [2, 3, 4]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"methods": ["gxi", "alpha-avg"]}, "asked.methods"),
        ({"seed": 1}, "asked.seed"),
        ({"target": "positive"}, "asked.target"),
        ({"shard_size": 4}, "shards.size"),
        ({"keep_text": True}, "keep_text"),
        ({"carry": ["stars"]}, "input.carry"),
        ({"limit": 5}, "input.limit"),
    ],
)
def test_another_question_is_refused(tmp_path: Path, data: Path, change: dict[str, Any], said: str) -> None:
    options: dict[str, Any] = {"methods": ["gxi"], "shard_size": 10}
    corpus.run(data, tmp_path / "out", **options)
    before = stored(tmp_path / "out")
    with pytest.raises(InputError, match=f"holds a run of something else.*{said}"):
        corpus.run(data, tmp_path / "out", **{**options, **change})
    assert stored(tmp_path / "out") == before


def test_other_data_and_another_model_are_refused(tmp_path: Path, data: Path) -> None:
    corpus.run(data, tmp_path / "out", methods=["gxi"])
    with pytest.raises(InputError, match="model"):
        corpus.run(
            data, tmp_path / "out", limelight.wrap(lambda texts: np.full((len(texts), 2), 0.5)), ["leave-one-out"]
        )
    rows = reviews(23)
    rows[7]["text"] += " indeed"
    write(data, rows)
    with pytest.raises(InputError, match=r"input\.files"):
        corpus.run(data, tmp_path / "out", methods=["gxi"])


def test_two_runs_at_once_are_refused(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the lock of a run that was killed is none."""
    inside, go_on = threading.Event(), threading.Event()
    answers = InProcess.answers

    def waits(crew: InProcess) -> Any:
        inside.set()
        assert go_on.wait(60)
        return answers(crew)

    monkeypatch.setattr(InProcess, "answers", waits)
    first = threading.Thread(target=corpus.run, args=[data, tmp_path / "out"], kwargs={"methods": ["gxi"]})
    first.start()
    try:
        assert inside.wait(60)
        with pytest.raises(InputError, match="is being written by process"):
            corpus.run(data, tmp_path / "out", methods=["gxi"])
    finally:
        go_on.set()
        first.join()
    (tmp_path / "out" / "lock").write_text('{"process": 1}')  # what a kill leaves
    assert corpus.run(data, tmp_path / "out", methods=["gxi"]).is_complete


def test_a_folder_of_something_else_is_refused(tmp_path: Path, data: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match=r"is no corpus: it holds 'thesis.txt'"):
        corpus.run(data, tmp_path / "out", methods=["gxi"])
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["thesis.txt"]
    (tmp_path / "out" / "manifest.json").write_text('{"name": "a web app"}')
    with pytest.raises(InputError, match="something else's"):
        corpus.run(data, tmp_path / "out", methods=["gxi"])


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"methods": ["lime", "lyme"]}, UnknownNameError, "lyme"),
        ({"methods": []}, InputError, "methods is empty"),
        ({"target": "wonderful"}, UnknownNameError, "wonderful"),
        ({"n_samples": 1}, ParameterError, "n_samples"),
        ({"colour": 1}, UnknownNameError, "colour"),
        ({"removal": "attention"}, CapabilityError, "does not take words out"),
        ({"shard_size": 0.5}, ParameterError, "shard_size"),
        ({"workers": 0}, ParameterError, "workers"),
        ({"features": len}, InputError, "function for features"),
        ({"seconds": 3}, ParameterError, "depend on the machine"),
        ({"carry": ["weights"]}, InputError, "'weights'"),
    ],
)
def test_a_call_that_fits_no_text_is_refused_before_any_work(
    tmp_path: Path, options: dict[str, Any], error: type[Exception], said: str
) -> None:
    data = write(tmp_path / "data.jsonl", [{**row, "weights": 1} for row in reviews(3)])
    with pytest.raises(error, match=said):
        corpus.run(data, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_a_worker_that_dies_is_replaced_and_its_shard_computed_again(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"methods": ["shapley"], "shard_size": 5}
    corpus.run(data, tmp_path / "whole", **options)
    killed: list[int] = []
    give = Processes.give

    def kills(crew: Processes, task: Any) -> None:
        give(crew, task)
        if task.number in (1, 3) and task.number not in killed:
            killed.append(task.number)
            worker = next(worker for worker in crew.workers if worker.task is task)
            worker.process.kill()

    monkeypatch.setattr(Processes, "give", kills)
    corpus.run(data, tmp_path / "out", workers=2, **options)
    assert killed == [1, 3]
    assert stored(tmp_path / "out") == stored(tmp_path / "whole")


def test_a_shard_that_no_worker_survives_ends_the_run(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses: list[int] = []
    give = Processes.give

    def kills(crew: Processes, task: Any) -> None:
        give(crew, task)
        if task.number == 0:
            losses.append(0)
            next(worker for worker in crew.workers if worker.task is task).process.kill()

    monkeypatch.setattr(Processes, "give", kills)
    with pytest.raises(LimelightError, match=r"3 workers did not survive shard 0, rows 1 to 12 .*SIGKILL"):
        corpus.run(data, tmp_path / "out", methods=["gxi"], shard_size=12, workers=2)
    assert len(losses) == MOST_LOSSES


def test_the_command_runs_and_tells_how_far_it_is(tmp_path: Path, data: Path) -> None:
    command = [sys.executable, "-m", "limelight", "corpus"]
    out = tmp_path / "out"
    asked = [str(data), "--method", "gxi,alpha-avg", "--out", str(out), "--carry", "stars", "--id-column", "name"]
    done = subprocess.run([*command, "run", *asked], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "complete; 23 of 23 documents; gxi, alpha-avg" in done.stdout
    told = subprocess.run([*command, "status", str(out)], capture_output=True, text=True, check=False)
    assert told.stdout == done.stdout
    refused = subprocess.run([*command, "run", *asked, "--seed", "1"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "asked.seed was 0 and is 1" in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(("typed", "meant"), [("stable", "stable"), ("0.2", 0.2)])
def test_until_is_read_as_explain_reads_it(tmp_path: Path, data: Path, typed: str, meant: str | float) -> None:
    from typer.testing import CliRunner

    from limelight.cli import app

    asked = ["corpus", "run", str(data), "--method", "lime", "--limit", "3", "--until", typed]
    done = CliRunner().invoke(app, [*asked, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    found = [explanation.diagnostics["until"] for explanation in corpus.open(tmp_path / "out")]
    assert found
    assert {*found} == {meant}


def test_the_process_is_left_as_it_was(tmp_path: Path, data: Path) -> None:
    import gc

    import torch

    threads, environment = torch.get_num_threads(), dict(os.environ)
    gc.disable()
    try:
        corpus.run(data, tmp_path / "off", methods=["gxi"])
        assert not gc.isenabled()
    finally:
        gc.enable()
    corpus.run(data, tmp_path / "on", methods=["gxi"])
    assert gc.isenabled()
    assert (torch.get_num_threads(), dict(os.environ)) == (threads, environment)


def stars(texts: Sequence[str]) -> Any:
    return np.array([3.0 + text.count("good") for text in texts])


def test_a_model_of_pairs_may_be_given_as_it_is(tmp_path: Path) -> None:
    def says(texts: Sequence[tuple[str, str]]) -> Any:
        return np.array([[0.2, 0.8] if "good" in first else [0.6, 0.4] for first, _ in texts])

    data = write(tmp_path / "data.jsonl", [{"a": "good film", "b": "nice"}, {"a": "bad film", "b": "dull"}])
    model = limelight.wrap(says, labels=["no", "yes"], pairs=True)
    asked: dict[str, Any] = {"methods": ["leave-one-out"], "text_column": "a", "second_column": "b"}
    done = corpus.run(data, tmp_path / "out", model, **asked)
    assert [one.sides for one in done] == [(0, 0, 1), (0, 0, 1)]
    with pytest.raises(ParameterError, match="pairs cannot be changed"):
        corpus.run(data, tmp_path / "other", limelight.wrap(stars, kind="regression"), **asked)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"shard_size": 0}, "shard_size must be a whole number of at least 1: got 0"),
        ({"gpus_per_worker": 1}, "gpus_per_worker is for the actors of Ray"),
        ({"model": limelight.wrap(stars, kind="regression"), "label_column": "stars"}, "name it by carry"),
    ],
)
def test_what_would_be_passed_over_is_an_error(tmp_path: Path, data: Path, asked: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        corpus.run(data, tmp_path / "out", methods=["leave-one-out"], **asked)


def test_a_frame_has_carried_columns_of_any_name(tmp_path: Path) -> None:
    rows = [{"text": "good film", "weight": 3, "feature": "x"}, {"text": "bad film", "weight": 4, "feature": "y"}]
    data = write(tmp_path / "data.jsonl", rows)
    frame = corpus.run(data, tmp_path / "out", methods=["gxi"], carry=["weight", "feature"]).to_frame()
    assert frame["feature"].tolist() == ["good", "film", "bad", "film"]
    assert frame["weight (carried)"].tolist() == [3, 3, 4, 4]
    assert frame["feature (carried)"].tolist() == ["x", "x", "y", "y"]
    assert frame.columns.is_unique
