"""The names and the shape of things that people build on."""

from __future__ import annotations

import importlib
import json
import math
import pkgutil
import subprocess
import sys
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest

import limelight
from conftest import small_model
from limelight.attribution.api import MethodOptions
from limelight.explainers.method import Exact, Question, Weights, forget, method
from limelight.models.interface import Attentive

HEAVY = ("matplotlib", "numba", "pandas", "scipy", "torch", "transformers")


def test_every_public_name_is_there_and_listed_in_order() -> None:
    assert limelight.__all__ == sorted(limelight.__all__)
    for name in limelight.__all__:
        assert getattr(limelight, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'explian'"):
        limelight.explian  # noqa: B018


def test_dir_shows_what_is_meant_for_people_and_nothing_else() -> None:
    code = "import limelight; print(*dir(limelight)); print(*limelight.__all__)"
    shown, public = (set(line.split()) for line in _output_of(code).splitlines())
    assert shown - public == {"__version__", "corpus", "errors"}
    assert {"check_explainer", "Classifier", "CapabilityError", "load", "wrap"} <= public <= shown
    assert all(getattr(limelight, name) is not None for name in shown)


def test_importing_limelight_imports_nothing_heavy() -> None:
    code = "import sys, limelight, limelight.cli; print(*sys.modules)"
    assert not set(HEAVY) & set(_output_of(code).split())


def _output_of(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True).stdout


def test_no_public_callable_shares_the_name_of_a_submodule() -> None:
    modules = {module.name for module in pkgutil.iter_modules(limelight.__path__)}
    assert {"attribution", "explainers", "cli"} <= modules
    assert not modules & set(limelight.__all__)
    # Nor does a package of ours hide one of its modules behind a name of its own.
    for package in pkgutil.walk_packages(limelight.__path__, "limelight."):
        if package.ispkg:
            there = importlib.import_module(package.name)
            for module in pkgutil.iter_modules(there.__path__, f"{package.name}."):
                if not module.name.endswith("__main__"):
                    assert importlib.import_module(module.name) is getattr(there, module.name.rpartition(".")[2])


def test_modules_can_be_imported_by_any_name() -> None:
    import limelight.cli.explain as command
    import limelight.explainers.method as module

    assert module.methods is limelight.methods
    assert callable(command.explain)


def test_a_method_that_is_declared_later_is_found_listed_and_used() -> None:
    before = [one.id for one in limelight.methods()]
    position = method("position", label="Position", summary="Later words weigh more", signed=False)

    @position.implementation(Attentive, uses=("output",))
    def counted(question: Question[Attentive], *, first: int = 1) -> Weights:
        return Weights(np.arange(first, first + len(question.features), dtype=float), Exact())

    try:
        assert [one.id for one in limelight.methods()] == sorted(
            [*before, "position"], key=lambda id: _order(id, before)
        )
        explanation = limelight.explain(small_model(), "great , bad", "position", first=np.int64(5))
        assert explanation.weights.tolist() == [5, 6, 7]
        assert (explanation.method_label, explanation.signed, explanation.evaluations) == ("Position", False, 0)
        assert explanation.parameters == {"features": "words", "output": "logit", "first": 5}
        assert "position" in limelight.compare(small_model(), "great", ["gxi", "position"])
        with pytest.raises(limelight.LimelightError, match="first must be a whole number"):
            limelight.explain(small_model(), "great", "position", first="one")
    finally:
        forget("position")
    assert [one.id for one in limelight.methods()] == before


def _order(id: str, before: list[str]) -> tuple[bool, Any]:
    """Those of Figure 1 as they were, then the others by name."""
    figure_1 = before[:7]
    return (False, figure_1.index(id)) if id in figure_1 else (True, id)


def test_the_contract_of_an_explanation() -> None:
    model = small_model()
    e = limelight.explain(model, "A great film.", method="lime", target="positive", seed=0, n_samples=12)
    assert e.features == ("a", "great", "film", ".")
    assert e.weights.shape == (4,)
    assert e.spans == (((0, 1),), ((2, 7),), ((8, 12),), ((12, 13),))
    assert (e.method, e.method_label, e.target, e.exact, e.signed) == ("lime", "LIME", "positive", False, True)
    assert (e.accuracy, e.evaluations is not None and e.evaluations > 0) == ("sampled", True)
    assert e.prediction.probabilities.sum() == pytest.approx(1)
    assert limelight.Explanation.from_dict(json.loads(json.dumps(e.to_dict()))) == e
    with pytest.raises(ValueError, match="read-only"):
        e.weights[0] = 1.0


def test_the_same_question_has_the_same_answer() -> None:
    asked = [limelight.compare(small_model(), "great , bad", seed=seed, n_samples=50) for seed in (0, np.int64(0), 1)]
    assert asked[0] == asked[1]
    assert asked[0] != asked[2]


def test_accuracy_says_how_far_weights_can_be_trusted() -> None:
    c = limelight.compare(small_model(), "great , bad", ["gxi", "shapley", "lime", "lime-theorem"], n_samples=6)
    assert [e.accuracy for e in c] == ["exact", "bounded", "sampled", "approximate"]


def test_a_comparison_has_one_set_of_features() -> None:
    c = limelight.compare(small_model(), "great , bad", methods=["gxi", "shapley"])
    assert c["shapley"].method == "shapley"
    assert [e.method for e in c] == ["gxi", "shapley"]
    np.testing.assert_array_equal(c.weights[1], c["shapley"].weights)
    assert [e["method"] for e in c.to_dict()["explanations"]] == ["gxi", "shapley"]
    assert "shapley" in c
    assert "lime" not in c
    with pytest.raises(KeyError, match="lime"):
        c["lime"]


def test_the_limit_of_infinitely_many_samples_can_be_written_as_json() -> None:
    e = limelight.explain(
        small_model(), "great , bad", "lime-limit", n_samples=math.inf, kernel_width=math.inf, ridge=0.0
    )
    written = json.loads(json.dumps(e.to_dict(), allow_nan=False))
    assert written["parameters"]["n_samples"] == "inf"
    assert e.parameters["n_samples"] == math.inf
    assert limelight.Explanation.from_dict(written) == e


def test_every_option_of_a_method_is_typed_for_editors() -> None:
    typed = get_type_hints(MethodOptions)
    there: dict[str, set[object]] = {}
    for one in limelight.methods():
        for implementation in one.implementations:
            for option in implementation.options.values():
                there.setdefault(option.name, set()).update(option.types, option.choices)
    taken = {name: kinds - {int} if float in kinds else kinds for name, kinds in there.items()}  # as in any hint
    assert {name: _members(hint) for name, hint in typed.items()} == taken


def _members(hint: Any) -> set[object]:
    """The types and choices of a hint."""
    if get_origin(hint) is Literal:
        return set(get_args(hint))
    return set().union(*map(_members, get_args(hint))) if get_args(hint) else {hint}
