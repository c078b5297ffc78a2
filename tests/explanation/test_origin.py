"""The origin of an explanation: stated at the foot of a page, and unknown where it was read from a file."""

from __future__ import annotations

import copy
import re
from pathlib import Path

import pytest
import torch

import limelight
from limelight.errors import ParameterError
from limelight.explanation.origin import UNKNOWN, facts_about
from limelight.explanation.result import Explanation
from limelight.models.identity import called, known_fingerprint, name_of

TEXT = "A great film, but far too long."


def test_a_page_states_model_fingerprint_date_call_and_seed() -> None:
    model = limelight.load()
    explanation = limelight.explain(model, TEXT, "lime", n_samples=200, seed=7, removal="delete")
    facts = facts_about([explanation], {})
    assert facts["model"] == "embedded"
    assert facts["fingerprint"] == str(known_fingerprint(model))[:12]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", facts["date"])
    assert facts["call"] == "limelight.explain(model, text, 'lime', removal='delete', seed=7, n_samples=200)"
    assert facts["seed"] == "7"
    for page in (explanation.to_html(), explanation._repr_html_()):
        assert all(f"{name}: <bdi>" in page for name in facts)


def test_what_was_read_from_a_file_says_that_its_model_is_unknown() -> None:
    explanation = limelight.explain(limelight.load(), TEXT, "gxi")
    read = Explanation.from_dict(explanation.to_dict())
    assert read == explanation
    assert read.origin is None
    assert facts_about([read], {}) == {"model": UNKNOWN}
    assert "unknown (read from a file)" in read.to_html()


def test_an_explanation_keeps_no_model_alive_and_travels_without_it() -> None:
    explanation = limelight.explain(limelight.load(), TEXT, "gxi")
    for own in (explanation, copy.deepcopy(explanation)):
        facts = facts_about([own], {})
        assert facts["model"] == "embedded"
        assert "fingerprint" not in facts


def test_a_fingerprint_follows_the_weights() -> None:
    model = limelight.load()
    before = known_fingerprint(model)
    assert known_fingerprint(model) == before
    with torch.no_grad():
        next(model.parameters()).add_(1.0)
    assert known_fingerprint(model) != before
    assert known_fingerprint(limelight.wrap(lambda texts: [[0.5, 0.5]] * len(texts))) is None


@pytest.mark.parametrize("ending", ["html", "json", "csv", "png", "svg", "pdf"])
def test_results_are_saved_by_the_ending_of_the_name(tmp_path: Path, ending: str) -> None:
    model = limelight.load()
    starts = {
        "html": b"<!DOCTYPE",
        "json": b"{",
        "csv": b"id,method",
        "png": b"\x89PNG",
        "svg": b"<?xml",
        "pdf": b"%PDF",
    }
    for result in (limelight.explain(model, TEXT, "gxi"), limelight.compare(model, TEXT, ["gxi", "shapley"])):
        result.save(tmp_path / f"x.{ending}")
        assert (tmp_path / f"x.{ending}").read_bytes().startswith(starts.get(ending, b"%PDF"))


def test_a_list_of_explanations_is_a_list_and_shows_and_saves_itself(tmp_path: Path) -> None:
    found = limelight.explain(limelight.load(), [TEXT, "A dull one."], "gxi")
    assert isinstance(found, list)
    assert found == list(found)
    assert found._repr_html_().count('class="article"') == 2  # type: ignore[attr-defined]
    for ending in ("html", "json", "csv"):
        found.save(tmp_path / f"x.{ending}")  # type: ignore[attr-defined]
    rows = (tmp_path / "x.csv").read_text().splitlines()
    assert {row.split(",")[0] for row in rows[1:]} == {"1", "2"}
    assert len((tmp_path / "x.json").read_text().splitlines()) == 2
    with pytest.raises(ParameterError, match=r"saved as \.json, \.jsonl, \.html or \.csv"):
        found.save(tmp_path / "x.png")  # type: ignore[attr-defined]


def test_a_model_is_named_and_never_written_out() -> None:
    def my_model(texts: list[str]) -> list[list[float]]:
        return [[0.5, 0.5]] * len(texts)

    assert "my_model" in name_of(limelight.wrap(my_model))
    assert "(" not in name_of(limelight.wrap(my_model))
    assert called(name_of(limelight.load())) == "the embedded model"
    assert called("models/my-bert/") == "my-bert"
