"""A view computes what it is asked for once; many texts are read together; what is no model is told so."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import limelight
from conftest import small_model
from limelight.attribution.api import views
from limelight.attribution.request import Request
from limelight.errors import EmptyTextError, InputError
from limelight.inputs.features import features_of
from limelight.models.interface import CAPABILITIES, Memo
from limelight.models.words.attention_view import AttentionView, ReadTogether
from reference.opaque import Opaque

TEXT = "The film was great, but too long and the end is bad!"
TEXTS = ["the film was great", "bad", "not a very good film , it ' s bad !", "zzz"]
TOGETHER = 1e-12  # words are folded in another product


class Counted:
    """Counts the calls of functions that are replaced by counting ones."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: Counter[str] = Counter()
        self._monkeypatch = monkeypatch

    def watch(self, owner: Any, name: str) -> None:
        original: Callable[..., Any] = getattr(owner, name)

        def counting(*arguments: Any, **options: Any) -> Any:
            self.calls[name] += 1
            return original(*arguments, **options)

        self._monkeypatch.setattr(owner, name, counting)


def test_one_comparison_reads_folds_and_predicts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model, counted = limelight.load(), Counted(monkeypatch)
    counted.watch(model, "read")
    counted.watch(model, "logits_of_ids")
    counted.watch(AttentionView, "_fold")
    counted.watch(AttentionView, "_gradients")
    comparison = limelight.compare(model, TEXT, n_samples=50)
    assert len(comparison) == 9
    assert counted.calls == {"read": 1, "logits_of_ids": 1, "_fold": 1, "_gradients": 1}


def test_one_comparison_tokenises_once_and_shares_forwards(monkeypatch: pytest.MonkeyPatch) -> None:
    from reference.small_transformers import small_transformer

    model, tokenizer = small_transformer("bert")
    classifier, counted = limelight.wrap(model, tokenizer), Counted(monkeypatch)
    counted.watch(type(tokenizer), "__call__")
    chosen = ["alpha-avg", "alpha-max", "rollout", "g-avg", "g-l1", "g-l2", "gxi", "leave-one-out"]
    comparison = limelight.compare(classifier, TEXT, chosen)
    assert counted.calls == {"__call__": 1}
    asked = {e.method: e.evaluations for e in comparison}
    assert asked == {**dict.fromkeys(chosen, 1), "leave-one-out": len(comparison.features) + 1}


def test_methods_say_how_often_the_model_was_asked() -> None:
    model = Opaque()
    d = len(limelight.explain(model, TEXT, "leave-one-out"))
    assert limelight.explain(model, TEXT, "leave-one-out").evaluations == d + 1
    assert limelight.explain(model, TEXT, "shapley", n_permutations=4).evaluations == 2 + 4 * (d - 1)
    for method in ("lime-limit", "shapley", "alpha-avg", "gxi", "lime-theorem"):
        assert limelight.explain(small_model(), TEXT, method).evaluations == 0


def test_what_is_computed_is_computed_once_also_between_threads() -> None:
    memo, computed, barrier = Memo(), [], threading.Barrier(8)

    def compute() -> object:
        computed.append(1)
        return object()

    def ask(answers: list[object]) -> None:
        barrier.wait()
        answers.append(memo.get("key", compute))

    answers: list[object] = []
    threads = [threading.Thread(target=ask, args=(answers,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(computed) == 1
    assert len(set(map(id, answers))) == 1


def test_capabilities_are_told_apart() -> None:
    view: Any = small_model().view(TEXT)
    offered = {name for capability, name in CAPABILITIES.items() if isinstance(view, capability)}
    assert offered == {"perturbation", "attention", "gradient", "ratio game", "folded attention"}
    assert [method.id for method in Request().applicable(Opaque().view(TEXT))] == ["lime", "leave-one-out", "shapley"]


# ── many texts ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_texts_that_are_read_together_are_seen_as_if_alone() -> None:
    model = small_model()
    together = model.views_or_errors(TEXTS)
    for text, view in zip(TEXTS, together, strict=True):
        alone = model.view(text)
        assert view.document == alone.document
        np.testing.assert_allclose(view.logits, alone.logits, rtol=0, atol=TOGETHER)
        for one, other in zip(vars(view.folded()).values(), vars(alone.folded()).values(), strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=TOGETHER)
        direction = np.array([1.0, -1.0, 0.5])
        np.testing.assert_allclose(
            view.gradients(direction).gradients, alone.gradients(direction).gradients, rtol=0, atol=TOGETHER
        )


def test_many_texts_share_forwards_and_one_table_of_words(monkeypatch: pytest.MonkeyPatch) -> None:
    model, counted = small_model(), Counted(monkeypatch)
    counted.watch(model, "logits_of_ids")
    documents = [model.read(text) for text in TEXTS]
    batch = ReadTogether(model, documents)
    logits = [view.logits for view in batch.views]
    assert counted.calls == {"logits_of_ids": 1}
    np.testing.assert_allclose(np.stack(logits), model.predict_logits(TEXTS), rtol=0, atol=TOGETHER)


@pytest.mark.parametrize("method", ["lime-limit", "shapley", "lime", "alpha-avg", "leave-one-out"])
def test_a_list_of_texts_gives_a_list_of_explanations(method: str) -> None:
    model = small_model()
    options = {"n_samples": 60} if method == "lime" else {}
    several = limelight.explain(model, TEXTS, method, target="positive", **options)
    assert [e.text for e in several] == TEXTS
    for text, e in zip(TEXTS, several, strict=True):
        alone = limelight.explain(model, text, method, target="positive", **options)
        assert (e.features, e.spans, e.parameters) == (alone.features, alone.spans, alone.parameters)
        np.testing.assert_allclose(e.weights, alone.weights, rtol=0, atol=1e-9)
    assert limelight.explain(model, [], method) == []


def test_models_that_read_one_text_at_a_time_take_lists_too() -> None:
    several = limelight.explain(Opaque(), TEXTS, "leave-one-out")
    assert [len(e) for e in several] == [len(features_of(small_model().read(t), "words")) for t in TEXTS]
    with pytest.raises(EmptyTextError, match="text 2 of 2: the text has no words"):
        limelight.explain(Opaque(), ["film", " "], "leave-one-out")
    with pytest.raises(EmptyTextError, match="text 2 of 2: the text has no words"):
        limelight.explain(small_model(), ["film", " "], "shapley")
    with pytest.raises(InputError, match="text 1 of 1: a text must be a string: got int"):
        views(small_model(), [3])  # type: ignore[list-item]


# ── what cannot be explained names the remedy ─────────────────────────────────────────────────────────────────────────


def test_what_is_no_model_says_how_to_get_one() -> None:
    from reference.small_transformers import small_transformer

    bert, _ = small_transformer("bert")
    for given, remedy in (
        (lambda texts: [[0.5, 0.5] for _ in texts], r"limelight\.wrap\(f\)"),
        (bert, r"limelight\.wrap\(model, tokenizer\)"),
        ("my-folder", r"limelight\.load\('my-folder'\)"),
        (3, r"got int; use limelight\.load"),
    ):
        for call in (limelight.explain, limelight.compare):
            with pytest.raises(InputError, match=remedy):
                call(given, TEXT)  # type: ignore[arg-type]
