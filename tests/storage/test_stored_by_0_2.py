"""What version 0.2 wrote is read: explanations, a corpus, an evaluation and the answers of a function (b82926d).

explain, compare     "Dull, long and badly acted.", LIME with n_samples=200 and seed=3; the usual methods
corpus/              five.csv in shards of two: lime-limit, shapley and lime, n_samples=100, with texts and labels
evaluation/          lime-limit and lime, n_samples=50, on six texts; the record of one of them is kept
answers/             of `opinions.opinion`, asked for LIME with n_samples=50, which is function.json
"""

from __future__ import annotations

import importlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import limelight
import limelight.corpus
from limelight.cli import app
from limelight.errors import InputError
from limelight.evaluation.run_folder import EvaluationFolder, read_evaluation
from limelight.explanation.result import Comparison, Explanation

STORED = Path(__file__).parents[1] / "stored" / "0.2"
TEXT = "Dull, long and badly acted."
EXACT = ("lime-limit", "shapley", "gxi", "alpha-avg")


def content(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def stored(name: str) -> Any:
    return json.loads((STORED / name).read_text(encoding="utf-8"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy that may be written to."""
    return Path(shutil.copytree(STORED, tmp_path / "stored"))


def test_explanations_are_read_and_shown(tmp_path: Path) -> None:
    one = Explanation.from_dict(stored("explanation.json"))
    assert (one.method, one.accuracy, one.target, one.text) == ("lime", "exact", "negative", TEXT)
    assert one.parameters["n_samples"] == 200
    assert one.significant.tolist() == [True] * len(one)
    several = Comparison.from_dict(stored("comparison.json"))
    again = limelight.compare(limelight.load(), TEXT)
    assert [own.method for own in several] == [own.method for own in again]
    for old, new in zip(several, again, strict=True):
        assert (old.features, old.spans, old.signed) == (new.features, new.spans, new.signed)
        if old.method in EXACT:
            np.testing.assert_allclose(old.weights, new.weights, rtol=1e-6, atol=1e-9)
    several.save(tmp_path / "old.html")
    assert "badly" in (tmp_path / "old.html").read_text(encoding="utf-8")


def test_a_corpus_is_read_and_reported(folder: Path, tmp_path: Path) -> None:
    old = limelight.corpus.open(folder / "corpus")
    assert old.is_complete
    assert not old.is_checked
    documents, model = list(old.documents()), limelight.load()
    assert [document.row for document in documents] == [1, 2, 3, 4, 5]
    for document in documents:
        assert [own.method for own in document.explanations] == ["lime-limit", "shapley", "lime"]
        exact = document.explanations[1]
        again = limelight.explain(model, exact.text, "shapley")
        np.testing.assert_allclose(exact.weights, again.weights, rtol=1e-6, atol=1e-9)
    sampled = documents[1].explanations[2]
    assert (sampled.text, sampled.accuracy) == (TEXT, "sampled")
    assert ((sampled.intervals()[:, 0] > 0.0) | (sampled.intervals()[:, 1] < 0.0)).tolist() == list(sampled.significant)
    report = ["corpus", "report", str(folder / "corpus"), "--out", str(tmp_path / "report"), "--least-texts", "2"]
    done = CliRunner().invoke(app, report)
    assert done.exit_code == 0, done.output
    assert "wrong: 0 of 5 labelled texts" in done.output


def test_a_corpus_does_not_go_on_with_another_version_and_is_left_alone(folder: Path) -> None:
    """Half of its texts would have another version's numbers."""
    (folder / "corpus" / "shards" / "00000002.parquet").unlink()
    before = content(folder / "corpus")
    with pytest.raises(InputError, match=r"which cannot go on like this: .*'0\.2\.0\.dev0'"):
        limelight.corpus.run(
            folder / "five.csv",
            folder / "corpus",
            methods=["lime-limit", "shapley", "lime"],
            label_column="label",
            keep_text=True,
            shard_size=2,
            n_samples=100,
            device="cpu",
        )
    after = content(folder / "corpus")
    after.pop("lock", None)
    assert after == before
    assert len(list(limelight.corpus.open(folder / "corpus").documents())) == 4


def test_an_evaluation_is_read_and_not_continued(folder: Path) -> None:
    old = read_evaluation(folder / "evaluation")
    assert list(old.methods) == ["lime-limit", "lime"]
    assert len(old.documents) == 6
    scores = {line["method"]: line for line in old.summary.rows() if line["measure"] == "comprehensiveness"}
    assert set(scores) >= {"lime-limit", "lime"}
    kept = EvaluationFolder(folder / "evaluation").explanations(1)
    assert kept is not None
    assert [own.method for own in kept] == ["lime-limit", "lime"]
    assert kept[0].text == TEXT
    before = content(folder / "evaluation")
    given = ["evaluate", str(folder / "five.csv"), "--method", "lime-limit,lime", "--set", "n_samples=50"]
    refused = CliRunner().invoke(app, [*given, "--out", str(folder / "evaluation")])
    assert refused.exit_code == 2
    assert "holds another evaluation" in " ".join(refused.output.split())
    after = content(folder / "evaluation")
    after.pop("run.lock", None)
    assert after == before


@pytest.mark.filterwarnings("ignore::limelight.errors.ExplanationWarning")
def test_answers_of_a_function_are_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(STORED))
    opinion = importlib.import_module("opinions").opinion
    alone = limelight.wrap(opinion, labels=["no", "yes"])
    expected = limelight.explain(alone, TEXT, "lime", n_samples=50)
    cached = limelight.wrap(opinion, labels=["no", "yes"], cache=folder / "answers")
    found = limelight.explain(cached, TEXT, "lime", n_samples=50)
    assert found.weights.tobytes() == expected.weights.tobytes()
    assert cached.asked < alone.asked // 2
    before = Explanation.from_dict(stored("function.json"))
    assert before.prediction.logits.tobytes() == found.prediction.logits.tobytes()
