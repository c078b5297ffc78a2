"""Explanations as values: compared, written, read back, shown in a line."""

from __future__ import annotations

import copy
import json
import math
import pickle
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.errors import InputError
from limelight.explainers.method import methods
from limelight.explanation.result import Comparison, Explanation, GroupWeights, Prediction
from limelight.explanation.serialization import METHODS_OF_0_1, SCHEMA
from render.samples import comparison_of

PARAMETERS = {"n_samples": 5000, "kernel_width": math.inf, "head": None, "corrected": True, "baseline": "mask"}


def comparison() -> Comparison:
    return comparison_of(
        "A great film, a GREAT end",
        stderr=[0.1, math.nan, 0.0, 1e-300, 5.0],
        methods=("lime", "alpha-avg"),
        parameters=PARAMETERS,
        diagnostics={"r2": 0.5, "stable_top": {"k": 5, "n_samples": None}},
        notices=("the text was cut",),
        evaluations=4321,
    )


def explanation() -> Explanation:
    return comparison()[0]


def through_json(data: dict[str, Any]) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(json.dumps(data, allow_nan=False))
    return read


def as_0_1(data: dict[str, Any]) -> dict[str, Any]:
    """The same as version 0.1 wrote it."""
    kept = {key: value for key, value in data.items() if key not in ("schema", "signed", "evaluations")}
    if "method" in kept:
        del kept["label"]
    if "prediction" in kept:
        kept["prediction"] = as_0_1(kept["prediction"])
    if "explanations" in kept:
        kept["explanations"] = [as_0_1(one) for one in kept["explanations"]]
    return kept


# ── written and read ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_round_trip_through_json_changes_nothing() -> None:
    both = comparison()
    again = Comparison.from_dict(through_json(both.to_dict()))
    assert again == both
    assert again[0].seconds == both[0].seconds
    assert again[0].weights.tobytes() == both[0].weights.tobytes()
    assert again[0].parameters["kernel_width"] == math.inf
    assert Explanation.from_dict(through_json(both[1].to_dict())) == both[1]
    assert Prediction.from_dict(through_json(both.prediction.to_dict())) == both.prediction
    assert through_json(again.to_dict()) == through_json(both.to_dict())


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=5), st.text())
def test_any_weights_and_any_text_come_back(numbers: list[float], text: str) -> None:
    first = comparison_of(" ".join(f"w{i}" for i in range(len(numbers))), numbers, stderr=numbers)[0]
    written = replace(first, text=first.text + text, diagnostics={"n": numbers, "of": {text: numbers}})
    again = Explanation.from_dict(through_json(written.to_dict()))
    assert again == written
    np.testing.assert_array_equal(again.weights, numbers)


def test_every_written_object_says_its_schema() -> None:
    written = comparison().to_dict()
    objects = [written, written["prediction"], *written["explanations"], written["explanations"][0]["prediction"]]
    assert [one["schema"] for one in objects] == [SCHEMA] * len(objects)


def test_a_nan_is_null_among_numbers_and_a_word_elsewhere() -> None:
    one = replace(explanation(), diagnostics={"r2": math.nan, "bounds": (-math.inf, 1.0)})
    written = through_json(one.to_dict())
    assert written["stderr"][1] is None
    assert written["diagnostics"] == {"r2": "nan", "bounds": ["-inf", 1.0]}
    again = Explanation.from_dict(written)
    assert again.stderr is not None
    assert math.isnan(again.stderr[1])
    assert again == one


def test_numbers_of_numpy_are_written_wherever_they_stand() -> None:
    odd = {
        "count": np.int64(3),
        "half": np.float32(0.5),
        "sure": np.bool_(True),
        "list": (np.int32(1), [np.float64(2.5)]),
        "table": np.arange(4).reshape(2, 2),
        "nothing": np.float32("nan"),
        "inner": {"seed": np.uint8(7)},
    }
    one = replace(explanation(), parameters=odd, diagnostics=odd, evaluations=np.int64(9))
    written = through_json(one.to_dict())
    assert written["parameters"] == {
        "count": 3,
        "half": 0.5,
        "sure": True,
        "list": [1, [2.5]],
        "table": [[0, 1], [2, 3]],
        "nothing": "nan",
        "inner": {"seed": 7},
    }
    assert written["evaluations"] == 9
    assert Explanation.from_dict(written) == one


def test_what_json_cannot_hold_is_named() -> None:
    with pytest.raises(InputError, match=r"diagnostics\['model'\]\['inner'\] cannot be written as JSON: it is a set"):
        replace(explanation(), diagnostics={"model": {"inner": {1, 2}}}).to_dict()


def test_files_of_0_1_are_read() -> None:
    both = comparison()
    read = Comparison.from_dict(as_0_1(through_json(both.to_dict())))
    assert [(e.method_label, e.signed, e.evaluations) for e in read] == [("LIME", True, None), ("α-avg", False, None)]
    assert read == Comparison(tuple(replace(e, evaluations=None) for e in both))
    own = Explanation.from_dict(as_0_1(comparison_of("fine", methods=("my-own",))[0].to_dict()))
    assert (own.method_label, own.signed) == ("my-own", True)


def test_results_that_0_1_itself_wrote_are_read() -> None:
    """`explain --format json` of version 0.1, as it was printed."""
    read = Comparison.from_dict(json.loads((Path(__file__).parent / "explanation-0.1.json").read_text("utf-8")))
    assert [e.method for e in read] == ["lime", "lime-limit", "alpha-avg"]
    assert [e.accuracy for e in read] == ["sampled", "bounded", "exact"]
    assert read["lime-limit"].parameters["n_samples"] == math.inf
    assert read["lime"].diagnostics["stable_top"]["k"] == 5
    assert "LIME, unsampled" in read.to_html()


def test_the_methods_of_0_1_are_called_as_they_are_now() -> None:
    now = {method.id: (method.label, method.signed) for method in methods()}
    assert {id: now[id] for id in METHODS_OF_0_1} == METHODS_OF_0_1


@pytest.mark.parametrize("kind", [Explanation, Comparison, Prediction])
def test_what_a_newer_version_wrote_is_refused_with_what_to_do(kind: Any) -> None:
    for part in (comparison(), explanation(), explanation().prediction):
        if isinstance(part, kind):
            with pytest.raises(InputError, match=r"newer limelight \(schema 4, .* up to 3\).*pip install --upgrade"):
                kind.from_dict({**part.to_dict(), "schema": SCHEMA + 1})
            for odd in ("2", 2.0, True, None, 0):
                with pytest.raises(InputError, match="'schema' must be a whole number"):
                    kind.from_dict({**part.to_dict(), "schema": odd})


def test_a_missing_key_is_named() -> None:
    for part in (comparison(), explanation(), explanation().prediction):
        data = part.to_dict()
        for key in data.keys() - {"schema"}:
            with pytest.raises(InputError, match=f"is damaged: '{key}' is missing; write it again"):
                type(part).from_dict({own: value for own, value in data.items() if own != key})


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("text", 3, "must be a string, or a list of two for a pair of texts: got 3"),
        ("method", None, "must be a string: got None"),
        ("signed", 1, "must be true or false: got 1"),
        ("exact", "yes", "must be true or false"),
        ("features", "abc", "must be a list of strings"),
        ("features", ["a", 1], "must be a list of strings"),
        ("weights", [1.0], "must hold 5 numbers, one for each of the features, and holds 1"),
        ("weights", None, "must be a list of numbers: got None"),
        ("weights", [1, 2, 3, 4, "five"], "must be made of numbers: got 'five'"),
        ("weights", [1, 2, 3, 4, True], "must be made of numbers: got True"),
        ("weights", [1, 2, 3, 4, 10**400], "must be made of numbers of ordinary size: got 1000"),
        ("stderr", [1.0, 2.0], "must hold 5 numbers"),
        ("stderr", "none", "must be a list of numbers"),
        ("spans", [[[0, 1]]], "must hold 5 lists, one for each feature, and holds 1"),
        ("spans", [[[0, 1]]] * 4 + [[[0, 99]]], r"within the 25 characters of the text: got \[0, 99\]"),
        ("spans", [[[0, 1]]] * 4 + [[[0]]], r"pairs \[start, end\].*got \[0\]"),
        ("spans", [[[0, 1]]] * 4 + [[[1.0, 2]]], r"pairs \[start, end\]"),
        ("spans", [[[0, 1]]] * 4 + [[7]], r"pairs \[start, end\].*got 7"),
        ("seconds", "fast", "must be made of numbers: got 'fast'"),
        ("seconds", None, "must be made of numbers: got None"),
        ("evaluations", -1, "must be a whole number of at least 0: got -1"),
        ("evaluations", 2.5, "must be a whole number of at least 0: got 2.5"),
        ("parameters", [], "must be a dictionary"),
        ("diagnostics", None, "must be a dictionary: got None"),
        ("notices", "cut", "must be a list of strings"),
    ],
)
def test_a_damaged_value_is_named(key: str, value: Any, said: str) -> None:
    with pytest.raises(InputError, match=f"this explanation is damaged: '{key}' .*{said}"):
        Explanation.from_dict({**explanation().to_dict(), key: value})


def test_damaged_predictions_and_comparisons_are_named() -> None:
    data = comparison().to_dict()
    prediction = data["prediction"]
    with pytest.raises(InputError, match="this prediction is damaged: 'label' must be one of the labels"):
        Explanation.from_dict({**data["explanations"][0], "prediction": {**prediction, "label": "nice"}})
    with pytest.raises(InputError, match="'probabilities' must hold 2 numbers, one for each of the labels"):
        Prediction.from_dict({**prediction, "probabilities": [1.0]})
    for damaged in (
        {"text": "another text"},
        {"prediction": {**prediction, "logits": [5.0, 6.0]}},
        {"explanations": [*data["explanations"], comparison_of("another")[0].to_dict()]},
    ):
        with pytest.raises(InputError, match=f"'{next(iter(damaged))}' must be about one text"):
            Comparison.from_dict({**data, **damaged})
    with pytest.raises(InputError, match="at least one explanation"):
        Comparison.from_dict({**data, "explanations": []})
    with pytest.raises(InputError, match="could not be explained when it was written: the text has no words"):
        Comparison.from_dict({"schema": 2, "text": "", "error": "the text has no words"})
    for kind in (Explanation, Comparison, Prediction):
        with pytest.raises(InputError, match="expected the dictionary that to_dict"):
            kind.from_dict([1, 2])  # type: ignore[arg-type]


# ── values ────────────────────────────────────────────────────────────────────────────────────────────────────────────

GROUPS = GroupWeights(("a",), np.array([1.0]), (((0, 1),),), None, None, ((0,),))
CHANGES: dict[str, Callable[[Explanation], Any]] = {
    "text": lambda e: e.text + "!",
    "method": lambda e: "gxi",
    "method_label": lambda e: "LIMES",
    "signed": lambda e: False,
    "target": lambda e: "negative",
    "features": lambda e: ("b", *e.features[1:]),
    "weights": lambda e: e.weights + 1e-12,
    "spans": lambda e: (((0, 2),), *e.spans[1:]),
    "stderr": lambda e: None,
    "exact": lambda e: True,
    "prediction": lambda e: replace(e.prediction, logits=e.prediction.logits + 1),
    "parameters": lambda e: {**e.parameters, "seed": 1},
    "diagnostics": lambda e: {},
    "notices": lambda e: (),
    "evaluations": lambda e: None,
    "against": lambda e: "negative",
    "sides": lambda e: (0,) * len(e),
    "groups": lambda e: GROUPS,
}


def test_equality_is_by_value_and_ignores_the_time() -> None:
    one, same = explanation(), explanation()
    assert (one == same) is True
    assert one == replace(one, seconds=99.0)
    assert hash(one) == hash(replace(one, seconds=99.0))
    assert {one, same} == {one}
    assert one != "lime"
    assert comparison() == comparison()
    assert hash(comparison()) == hash(comparison())
    assert one.prediction == same.prediction
    assert one.prediction != "positive"
    assert hash(one.prediction) == hash(same.prediction)


@pytest.mark.parametrize(
    "name", [name for name in Explanation.__dataclass_fields__ if name not in ("seconds", "origin")]
)
def test_every_other_field_makes_a_difference(name: str) -> None:
    one = explanation()
    assert (one == replace(one, **{name: CHANGES[name](one)})) is False


def test_copies_and_pickles_are_equal() -> None:
    both = comparison()
    assert pickle.loads(pickle.dumps(both)) == both  # noqa: S301
    assert copy.deepcopy(both) == both


def test_arrays_are_read_only_and_those_that_were_given_are_left_alone() -> None:
    weights = np.array([1.0, 2.0])
    one = comparison_of("so good", weights)[0]
    own = replace(one, weights=weights, stderr=weights, prediction=replace(one.prediction, logits=weights))
    weights[0] = 5.0
    for array in (own.weights, own.stderr, own.prediction.logits, own.prediction.probabilities):
        assert array is not None
        assert array[0] != 5.0
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 3.0


def test_accuracy_is_one_word() -> None:
    one = explanation()
    exact = replace(one, stderr=None, exact=True)
    assert one.accuracy == "sampled"
    assert exact.accuracy == "exact"
    assert replace(exact, diagnostics={"error": 1e-12}).accuracy == "bounded"
    assert replace(exact, exact=False, diagnostics={"error": 1e-12}).accuracy == "approximate"


def test_a_comparison_holds_methods_and_explanations() -> None:
    both = comparison()
    assert "lime" in both
    assert "gxi" not in both
    assert both[0] in both
    assert replace(both[0], seconds=5.0) in both
    assert comparison_of("fine")[0] not in both
    assert 0 not in both
    assert both.index(both["alpha-avg"]) == 1
    assert both[:1] == (both[0],)


def test_an_empty_comparison_says_so() -> None:
    empty = Comparison(())
    assert repr(empty) == "<Comparison: empty>"
    for ask in (lambda: empty.features, lambda: empty.prediction, empty.to_dict):
        with pytest.raises(InputError, match="empty"):
            ask()


def test_reprs_are_a_line_or_two_without_arrays() -> None:
    both = comparison()
    assert repr(both[0]) == (
        "<Explanation: 'lime' for 'positive', sampled; 5 features: 'a' +0.5, ',' +0.5, 'great' -0.25, …>"
    )
    assert repr(both) == (
        "<Comparison: 2 methods for 'positive' on 5 features; strongest: 'lime' 'a' +0.5, 'alpha-avg' 'a' +0.5>"
    )
    assert repr(both.prediction) == "<Prediction: 'positive' 0.731 (logit +1), 'negative' 0.269 (logit +0)>"
    assert repr(comparison_of("fine", [2.0], methods=("gxi",))[0]) == (
        "<Explanation: 'gxi' for 'positive', exact; 1 feature: 'fine' +2>"
    )
    labels = tuple("\x1b\u202e" * 500 + str(i) for i in range(50))
    hostile = comparison_of("word" * 900, labels=labels, methods=[f"m{i}\x07" for i in range(20)])
    for shown in (repr(hostile), repr(hostile[0]), repr(hostile.prediction)):
        assert len(shown) < 280
        assert shown.isprintable()


def test_a_frame_has_a_row_per_feature() -> None:
    pytest.importorskip("pandas")
    both = comparison()
    frame = both[0].to_frame()
    assert list(frame.columns) == [
        *"method target against output feature weight stderr low high significant spans".split()
    ]
    np.testing.assert_array_equal(frame[["low", "high"]], both[0].intervals())
    assert frame["significant"].tolist() == both[0].significant.tolist()
    assert set(frame["against"]) == {None}
    assert frame["feature"].tolist() == ["a", "great", "film", ",", "end"]
    np.testing.assert_array_equal(frame["weight"], both[0].weights)
    np.testing.assert_array_equal(frame["stderr"], both[0].stderr)
    assert frame["spans"][1] == ((2, 7), (16, 21))
    assert set(frame["method"]) == {"lime"}
    assert set(frame["target"]) == {"positive"}
    longer = both.to_frame()
    assert longer["method"].tolist() == ["lime"] * 5 + ["alpha-avg"] * 5
    assert longer["stderr"][5:].isna().all()
    assert longer["weight"].dtype == longer["stderr"].dtype == np.float64
    assert len(Comparison(()).to_frame()) == 0


def test_without_pandas_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    for make in (explanation().to_frame, comparison().to_frame):
        with pytest.raises(InputError, match="pip install pandas"):
            make()


# ── files and names ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("own", [explanation(), comparison()], ids=["explanation", "comparison"])
def test_results_are_saved_by_the_ending_of_the_name(own: Any, tmp_path: Path) -> None:
    own.save(tmp_path / "why.json")
    assert type(own).from_dict(json.loads((tmp_path / "why.json").read_text())) == own
    own.save(str(tmp_path / "why.HTML"))
    assert (tmp_path / "why.HTML").read_text(encoding="utf-8") == own.to_html()
    own.save(tmp_path / "why.svg")
    assert b"<svg" in (tmp_path / "why.svg").read_bytes()
    for name, said in (("why.txt", "is saved as .json, .html"), ("nowhere/why.json", "no folder .*create it first$")):
        with pytest.raises(InputError, match=said):
            own.save(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["why.HTML", "why.json", "why.svg"]


def test_the_name_of_a_method_had_another_name() -> None:
    own = explanation()
    with pytest.warns(DeprecationWarning, match="method_label"):
        assert own.label == own.method_label
    assert replace(own, label="other").method_label == "other"
    arguments = {"label" if name == "method_label" else name: value for name, value in vars(own).items()}
    assert Explanation(**arguments) == own
