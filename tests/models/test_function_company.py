"""Functions asked alone and in company: answers that depend on the batch are named, and noise is not taken for that."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import limelight
from limelight.errors import CapabilityError, InputError, ParameterError
from limelight.models.blackbox import BlackBoxClassifier
from limelight.models.blackbox.answers import answer_of

pytestmark = pytest.mark.filterwarnings("ignore::limelight.errors.ExplanationWarning")

TEXT = "A great film, but far too long"
WORDS = {"great": 1.5, "film": 0.3, "long": -1.0, "too": -0.4}
LABELS = ("no", "yes")


def rows(scores: Any) -> np.ndarray:
    p = 1 / (1 + np.exp(-np.asarray(scores, dtype=float)))
    return np.stack([1 - p, p], axis=1)


def steady(texts: list[str]) -> np.ndarray:
    return rows([sum(weight for word, weight in WORDS.items() if word in text) for text in texts])


def padding(texts: list[str]) -> np.ndarray:
    """Pads to the longest text, and sees it."""
    longest = max(map(len, texts))
    return rows([sum(w for word, w in WORDS.items() if word in text) - (longest - len(text)) / 20 for text in texts])


def normalising(texts: list[str]) -> np.ndarray:
    scores = np.array([len(text) / 10 for text in texts])
    return rows(scores - scores.mean())


class Drawing:
    """Answers otherwise each time; with `discrete` it says one of two things."""

    def __init__(self, seed: int, discrete: bool = False) -> None:
        self._rng, self._discrete = np.random.default_rng(seed), discrete

    def __call__(self, texts: list[str]) -> np.ndarray:
        noise = self._rng.random(len(texts))
        return rows(np.round(noise) if self._discrete else noise)


def said(model: Any, method: str = "leave-one-out", **options: Any) -> list[str]:
    warnings: list[str] = limelight.explain(model, TEXT, method, **options).diagnostics["warnings"]
    return warnings


COMPANY = "answers otherwise about a text in a batch than about the same text alone"
NOISE = "another answer when it was asked about the same text again"


@pytest.mark.parametrize("function", [padding, normalising])
@pytest.mark.parametrize("method", ["leave-one-out", "shapley", "lime"])
@pytest.mark.parametrize("removal", ["mask", "delete"])
def test_a_function_that_sees_its_batch_is_named(function: Any, method: str, removal: str) -> None:
    warnings = said(limelight.wrap(function, labels=LABELS), method, removal=removal)
    assert sum(COMPANY in own and "use batch_texts=1" in own for own in warnings) == 1
    assert not any(NOISE in own for own in warnings)
    alone = limelight.wrap(function, labels=LABELS, batch_texts=1)
    assert not any(COMPANY in own or NOISE in own for own in said(alone, method, removal=removal))


def test_with_a_cache_too(tmp_path: Path) -> None:
    for _ in range(2):  # the second time from the cache alone
        model = BlackBoxClassifier(padding, LABELS, cache=tmp_path)
        assert any(COMPANY in own for own in said(model))
    assert model.asked == 0


@pytest.mark.parametrize("discrete", [False, True])
def test_a_function_that_draws_lots_is_not_taken_for_one_that_sees_its_batch(discrete: bool) -> None:
    named = [said(BlackBoxClassifier(Drawing(seed, discrete), LABELS)) for seed in range(40)]
    of_company = sum(any(COMPANY in own for own in warnings) for warnings in named)
    of_noise = sum(any(NOISE in own for own in warnings) for warnings in named)
    assert of_company <= (3 if discrete else 0)  # one in 64 a time, and there are two such questions
    assert of_noise >= (15 if discrete else 40)


def test_what_it_costs() -> None:
    asked: list[list[str]] = []

    def listening(texts: list[str]) -> np.ndarray:
        asked.append(list(texts))
        return steady(texts)

    model = BlackBoxClassifier(listening, LABELS)
    e = limelight.explain(model, TEXT, "leave-one-out", removal="delete")
    assert asked[:3] == [[TEXT], ["A"], [TEXT, "A"]]
    assert e.evaluations == sum(map(len, asked)) - 1 == model.asked - 1 == 3 + 1 + len(e)
    asked.clear()
    e = limelight.explain(model, TEXT, "leave-one-out")
    assert e.evaluations == sum(map(len, asked)) - 1 == 3 + 1 + len(e) + 1 + 1 + 8
    asked.clear()
    e = limelight.explain(model, TEXT, "lime", n_samples=20)
    assert e.evaluations == sum(map(len, asked)) - 1
    d = len(e)
    checks = asked[1:6]  # company, the mask put in, words masked one at a time, all words cut out
    assert [len(batch) for batch in checks] == [1, 2, 1 + 1 + 8 + 2, 8, 1]
    asked.clear()
    limelight.explain(BlackBoxClassifier(listening, LABELS, batch_texts=1), TEXT, "leave-one-out", removal="delete")
    assert sum(map(len, asked)) == 1 + 1 + d  # in no company there is nothing to ask


def test_a_function_that_cannot_read_a_short_text_is_not_asked_for_one() -> None:
    def needs_four(texts: list[str]) -> np.ndarray:
        if any(len(text.split()) < 4 for text in texts):
            raise ValueError("too short")
        return steady(texts)

    e = limelight.explain(BlackBoxClassifier(needs_four, LABELS), TEXT, "leave-one-out")
    np.testing.assert_allclose(dict(zip(e.features, e.weights, strict=True))["great"], 1.5, atol=1e-9)
    assert limelight.explain(BlackBoxClassifier(needs_four, LABELS), TEXT, "shapley").exact


def test_pairs_and_single_words() -> None:
    def of_pairs(pairs: list[Any]) -> np.ndarray:
        return padding([f"{first} {second}" for first, second in pairs])

    e = limelight.explain(BlackBoxClassifier(of_pairs, LABELS, pairs=True), (TEXT, "a film"), "leave-one-out")
    assert any(COMPANY in own for own in e.diagnostics["warnings"])
    e = limelight.explain(BlackBoxClassifier(padding, LABELS), "great", "leave-one-out")
    assert any(COMPANY in own for own in e.diagnostics["warnings"])


def test_rounding_of_half_precision_is_no_company() -> None:
    def rounded(texts: list[str]) -> Any:
        exact = torch.tensor(steady(texts))
        return (exact * (1 + 2.0**-8 * (len(texts) > 1) * torch.tensor([-1.0, 1.0]))).bfloat16()

    assert not any(COMPANY in own or NOISE in own for own in said(BlackBoxClassifier(rounded, LABELS)))

    def moved(texts: list[str]) -> Any:
        return torch.tensor(padding(texts)).bfloat16()

    assert any(COMPANY in own for own in said(BlackBoxClassifier(moved, LABELS)))


# ── precision ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("labels", [2, 3, 10, 100, 1000])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_a_softmax_in_its_own_precision_adds_up_to_1(labels: int, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(labels)
    logits = (3 * torch.randn((200, labels), generator=generator)).to(dtype)
    g = torch.exp(logits - logits.max(dim=1, keepdim=True).values)
    for p in (logits.softmax(dim=1), g / g.sum(dim=1, keepdim=True)):
        for answer in (
            p,
            list(p),
            [list(row) for row in p[:20]],
            p.tolist(),
            p.numpy() if dtype != torch.bfloat16 else p,
        ):
            count = len(answer)
            model = BlackBoxClassifier(lambda texts, a=answer: a, [f"label {i}" for i in range(labels)])
            if dtype == torch.bfloat16 and isinstance(answer, list) and not isinstance(answer[0], torch.Tensor):
                continue  # numbers of Python do not say how they were rounded
            assert model.predict_proba(["a"] * count).shape == (count, labels)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_what_is_no_softmax_is_refused_in_any_precision(dtype: torch.dtype) -> None:
    for row in ([0.9, 0.9], [0.5, 0.55], [0.3, 0.6], [0.4, 0.4, 0.4], [1.2, -0.2]):
        answer = torch.tensor([row]).to(dtype)
        model = BlackBoxClassifier(lambda texts, a=answer: a, [f"label {i}" for i in range(len(row))])
        with pytest.raises(InputError, match="add up to 1"):
            model.predict_proba(["a"])


@pytest.mark.parametrize("row", [[0.33, 0.33, 0.33], [0.17] * 6, [0.666, 0.334], [0.143] * 7, [0.67, 0.34]])
def test_probabilities_that_were_rounded_for_people_are_taken(row: list[float]) -> None:
    for answer in ([row], np.array([row]), np.array([row], dtype=np.float32)):
        model = BlackBoxClassifier(lambda texts, a=answer: a, [f"label {i}" for i in range(len(row))])
        np.testing.assert_allclose(model.predict_proba(["a"])[0], row, rtol=1e-6)


@pytest.mark.parametrize("row", [[0.33, 0.33, 0.31], [0.67, 0.35], [0.666, 0.336], [0.5, 0.515]])
def test_those_that_rounding_does_not_explain_are_not(row: list[float]) -> None:
    model = BlackBoxClassifier(lambda texts: [row], [f"label {i}" for i in range(len(row))])
    with pytest.raises(InputError, match="add up to 1"):
        model.predict_proba(["a"])


def test_lists_of_lists_of_tensors_are_judged_by_their_precision() -> None:
    p = torch.tensor([[0.34, 0.33, 0.34]]).bfloat16()
    model = BlackBoxClassifier(lambda texts: [list(row) for row in p], ["a", "b", "c"])
    np.testing.assert_array_equal(model.predict_proba(["a"]), p.double().numpy())


def test_answers_in_half_precision_say_how_they_are_rounded(tmp_path: Path) -> None:
    def coarse(texts: list[str]) -> Any:
        return torch.tensor(steady(texts)).bfloat16()

    exact = limelight.explain(BlackBoxClassifier(steady, LABELS), TEXT, "leave-one-out")
    e = limelight.explain(BlackBoxClassifier(coarse, LABELS), TEXT, "leave-one-out")
    assert np.abs(e.weights - exact.weights).max() <= e.diagnostics["rounding"] < 0.1
    assert exact.diagnostics["rounding"] < 1e-4
    for _ in range(2):  # from a cache too
        cached = BlackBoxClassifier(coarse, LABELS, cache=tmp_path, name="f")
        assert limelight.explain(cached, TEXT, "leave-one-out").diagnostics["rounding"] == e.diagnostics["rounding"]
    assert answer_of(np.zeros((1, 2), dtype=np.float16)).unit == 2.0**-11
    assert answer_of([torch.zeros(2).bfloat16(), torch.zeros(2)]).unit == 2.0**-8


# ── data frames ───────────────────────────────────────────────────────────────────────────────────────────────────────


def framed(columns: Any) -> Any:
    pandas = pytest.importorskip("pandas")
    return lambda texts: pandas.DataFrame(np.tile([0.7, 0.2, 0.1], (len(texts), 1)), columns=columns)


def test_columns_of_a_data_frame_are_matched_by_name() -> None:
    labels = ["bad", "good", "so-so"]
    for columns, expected in (
        (["bad", "good", "so-so"], [0.7, 0.2, 0.1]),
        (["so-so", "bad", "good"], [0.2, 0.1, 0.7]),
        (None, [0.7, 0.2, 0.1]),
        ([0, 1, 2], [0.7, 0.2, 0.1]),
    ):
        model = BlackBoxClassifier(framed(columns), labels)
        assert model.predict_proba(["a", "b"]).tolist() == [expected] * 2
    for columns in (["bad", "good", "great"], ["good", "good", "bad"], [3, 4, 5], ["Bad", "Good", "So-so"]):
        with pytest.raises(InputError, match=r"a table with the columns \[.*\], and the labels are .* in any order"):
            BlackBoxClassifier(framed(columns), labels).predict_proba(["a"])


def test_columns_name_the_labels_where_nobody_has(tmp_path: Path) -> None:
    assert BlackBoxClassifier(framed(["x", "y", "z"])).labels == ("x", "y", "z")
    assert BlackBoxClassifier(framed(None)).labels == ("class 0", "class 1", "class 2")
    with pytest.raises(ParameterError, match=r"calls its columns \['x', 'y', 'z'\]: with a cache say so by labels="):
        BlackBoxClassifier(framed(["x", "y", "z"]), cache=tmp_path, name="f")
    pandas = pytest.importorskip("pandas")
    model = BlackBoxClassifier(lambda texts: pandas.DataFrame({"score": [2.0] * len(texts)}), kind="regression")
    assert model.predict_logits(["a"]).tolist() == [[2.0]]


# ── copies ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_model_of_a_function_in_a_module_is_pickled() -> None:
    model = pickle.loads(pickle.dumps(BlackBoxClassifier(steady, LABELS, words=str.split)))  # noqa: S301
    np.testing.assert_array_equal(model.predict_proba([TEXT]), steady([TEXT]))


def test_what_cannot_be_pickled_is_named() -> None:
    for model, what in (
        (BlackBoxClassifier(lambda texts: steady(texts), LABELS), "function"),
        (BlackBoxClassifier(steady, LABELS, words=lambda text: text.split()), "rule for words"),
    ):
        with pytest.raises(
            CapabilityError, match=rf"cannot be pickled, since its {what} cannot \(.*define it in a module"
        ):
            pickle.dumps(model)


def test_cloudpickle_takes_what_it_can() -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    model = BlackBoxClassifier(lambda texts: [[0.25, 0.75]] * len(texts), LABELS)
    copied = pickle.loads(cloudpickle.dumps(model))  # noqa: S301
    assert copied.predict_proba(["a"]).tolist() == [[0.25, 0.75]]


def test_a_deep_copy_asks_the_same_function_and_counts_for_itself(tmp_path: Path) -> None:
    class Client:
        def __init__(self) -> None:
            import threading

            self.lock = threading.Lock()  # cannot be copied

        def __call__(self, texts: list[str]) -> np.ndarray:
            return steady(texts)

    model = BlackBoxClassifier(Client(), LABELS, max_calls=3, cache=tmp_path, name="client")
    model.predict_proba(["a"])
    copied = copy.deepcopy(model)
    copied.predict_proba(["a", "b", "c"])
    assert (model.asked, copied.asked) == (1, 3)
    assert copied.labels == model.labels
    model.predict_proba(["d", "e"])
    for own in (model, copied):
        with pytest.raises(ParameterError, match="max_calls=3"):
            own.predict_proba(["f"])
