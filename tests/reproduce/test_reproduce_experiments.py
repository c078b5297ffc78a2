"""Each experiment's numbers against a plain computation on three documents."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import torch
from laboratory import DeepStub, laboratory

import limelight
from limelight.reproduce import (
    correlations,
    fig1,
    fig3,
    fig4,
    fig6,
    final_layer,
    gradients,
    lime_error,
    passes,
    theorem,
)
from limelight.reproduce.lab import Lab

# Both sides are float64 and differ in the order of their sums.
ROUNDING = 1e-10


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return laboratory(tmp_path_factory.mktemp("run"))


def explained(lab: Lab, method: str, **options: object) -> list[np.ndarray]:
    """By the public function, text by text."""
    return [
        limelight.explain(lab.model, d.text, method, target="positive", **options).weights  # type: ignore[arg-type]
        for d in lab.documents
    ]


def test_documents_are_read_without_punctuation(lab: Lab) -> None:
    assert lab.documents[1].text == "it s a very good film great great and not too long the end"
    assert lab.documents[1].features.names == tuple(dict.fromkeys(lab.documents[1].text.split()))
    for document in lab.documents:
        assert limelight.explain(lab.model, document.text, "alpha-avg").features == document.features.names


@pytest.mark.parametrize("method", passes.CLOSED_FORMS)
def test_closed_forms_are_the_methods_of_explain(lab: Lab, method: str) -> None:
    np.testing.assert_allclose(passes.closed_forms(lab)[method], np.concatenate(explained(lab, method)), atol=ROUNDING)


def test_exact_values_and_formulas_are_the_methods_of_explain(lab: Lab) -> None:
    exact, formulas = passes.exact(lab), passes.formulas(lab)
    for found, method, options in (
        (exact["lime_limit"], "lime-limit", {}),
        (exact["shapley"], "shapley", {}),
        (formulas["theorem"], "lime-theorem", {}),
        (formulas["theorem_corrected"], "lime-theorem", {"corrected": True}),
        (formulas["proposition"], "lime-proposition", {}),
        (formulas["proposition_corrected"], "lime-proposition", {"corrected": True}),
        (formulas["mean_field"], "lime-mean-field", {"dominant": 2}),
    ):
        np.testing.assert_allclose(found, np.concatenate(explained(lab, method, **options)), atol=1e-8)


def test_largest_attention_and_carried_value(lab: Lab) -> None:
    arrays = passes.closed_forms(lab)
    contribution = arrays["value"] * arrays["alpha-avg"]  # Σ α w / K over a feature's words
    for i, (document, part) in enumerate(zip(lab.documents, lab.split(contribution), strict=True)):
        forward = lab.model.reference(lab.model.encode([document.text])[0])
        alpha = forward.attention[:, 0, 1 : 1 + document.T].detach().numpy()
        assert passes.formulas(lab)["largest_attention"][i] == pytest.approx(alpha.max())
        w = torch.einsum("ko,kto->kt", lab.model.W_l[:, 2], forward.v)[:, 1 : 1 + document.T].detach().numpy()
        per_word = (alpha * w).mean(axis=0)
        by_hand = [sum(per_word[i] for i in group) for group in document.features.owned]
        np.testing.assert_allclose(part, by_hand, atol=ROUNDING)


def test_lime_error_is_the_norm_of_the_difference(lab: Lab) -> None:
    numbers = lime_error.compute(lab)
    mean = lab.split(passes.lime(lab)["delete_mean"])
    printed = explained(lab, "lime-theorem")
    by_hand = np.array([np.linalg.norm(a - b) for a, b in zip(mean, printed, strict=True)])
    stats = numbers["errors"]["delete theorem"]
    assert (stats["mean"], stats["std"]) == pytest.approx((by_hand.mean(), by_hand.std(ddof=1)))
    runs = [both[passes.REMOVALS.index("delete")] for both in passes.lime_runs(lab, lab.documents)]
    noise = np.array([np.sqrt((r.std(axis=0, ddof=1) ** 2 / 5).sum()) for r in runs])
    np.testing.assert_allclose(np.concatenate([r.mean(axis=0) for r in runs]), np.concatenate(mean))
    assert numbers["noise_share"]["delete theorem"] == pytest.approx((noise**2).sum() / (by_hand**2).sum())
    assert lime_error.EXPERIMENT.rows(numbers)[0].paper == "0.808 ± 0.219"


DELETING = {"removal": "delete", "features": "occurrences"}


def distances(predicted: list[np.ndarray], exact: list[np.ndarray]) -> np.ndarray:
    return np.array([np.linalg.norm(a - b) for a, b in zip(predicted, exact, strict=True)])


def test_deleted_occurrences_have_their_own_exact_value_and_runs(lab: Lab) -> None:
    arrays, exact = passes.deletion(lab), explained(lab, "lime-limit", **DELETING)
    assert [len(own) for own in exact] == [document.T for document in lab.documents] != lab.sizes.tolist()
    np.testing.assert_allclose(arrays["norm"], [np.linalg.norm(own) for own in exact], atol=1e-8)
    for name, options in (("theorem", {}), ("theorem_corrected", {"corrected": True})):
        formula = explained(lab, "lime-theorem", features="occurrences", **options)
        np.testing.assert_allclose(arrays[name], distances(formula, exact), atol=1e-8)
    runs = [one[0] for one in passes.lime_runs(lab, [d.by_occurrence() for d in lab.documents], ("delete",))]
    np.testing.assert_allclose(arrays["lime"], distances([r.mean(axis=0) for r in runs], exact), atol=1e-8)
    np.testing.assert_allclose(arrays["noise"], [np.linalg.norm(r.std(axis=0, ddof=1)) / np.sqrt(5) for r in runs])


def test_lime_that_deletes_occurrences_is_its_exact_value_up_to_noise(lab: Lab) -> None:
    """A sum of about 45 squares of noise lies within a factor of two of its mean; the value for masking does not."""
    numbers = lime_error.compute(lab)
    assert 0.5 < numbers["noise_share"]["occurrences exact"] < 2.0
    masked, exact = explained(lab, "lime-limit", features="occurrences"), explained(lab, "lime-limit", **DELETING)
    assert (distances(masked, exact) > 5 * passes.deletion(lab)["noise"]).all()
    rows = {row.quantity: row for row in lime_error.EXPERIMENT.rows(numbers)}
    own = numbers["errors"]["occurrences exact"]
    assert f"median {own['median']:.3f}" in rows["LIME (deletes each occurrence) to exact value for deletion"].ours


def test_mean_field_is_measured_beside_the_theorem(lab: Lab) -> None:
    mean = lab.split(passes.lime(lab)["mask_mean"])
    field, limit = explained(lab, "lime-mean-field"), explained(lab, "lime-limit")
    error = lime_error.compute(lab)["errors"]["mask mean_field"]
    assert error["mean"] == pytest.approx(distances(mean, field).mean())
    numbers = theorem.compute(lab)
    relative = distances(field, limit) / [np.linalg.norm(own) for own in limit]
    assert numbers["relative_error"]["mean_field"]["median"] == pytest.approx(np.median(relative))
    assert numbers["high"]["mean_field"] == pytest.approx(np.quantile(relative, 0.9))


def test_theorem_s_error_is_relative_to_the_exact_value(lab: Lab) -> None:
    numbers = theorem.compute(lab)
    exact = explained(lab, "lime-limit", **DELETING)
    deleting = distances(explained(lab, "lime-theorem", features="occurrences"), exact)
    relative = deleting / [np.linalg.norm(own) for own in exact]
    assert numbers["relative_error_deleting"]["theorem"]["mean"] == pytest.approx(relative.mean())
    assert numbers["share_small_deleting"]["theorem"] == np.mean(relative < theorem.SMALL)
    pairs = zip(explained(lab, "lime-theorem"), explained(lab, "lime-limit"), strict=True)
    by_hand = [np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in pairs]
    assert numbers["relative_error"]["theorem"]["mean"] == pytest.approx(np.mean(by_hand))
    assert numbers["share_small"]["theorem"] == np.mean(np.array(by_hand) < theorem.SMALL)
    stored = lab.folder.read_arrays("theorem")
    assert stored["multiplicity"][2] == pytest.approx(3 / 15)  # "bad" stands there three times
    assert stored["filled"][0] == pytest.approx(12 / 24)


def test_autograd_and_closed_form_for_a_batch(lab: Lab) -> None:
    ids = gradients.padded_ids(lab.model, lab.documents, "cpu")
    batch = gradients.autograd(lab.model, 2, "cpu")(ids)
    closed = gradients.closed_form(lab.model, 2, "cpu")(ids)
    for i, document in enumerate(lab.documents):
        assert torch.equal(ids[i], lab.model.encode([document.text])[0])
        forward = lab.model.reference(ids[i])
        (single,) = torch.autograd.grad(forward.logits[2], forward.e)
        torch.testing.assert_close(batch[i], single, atol=1e-12, rtol=0)
        view = lab.model.view(document.text)
        words, positive = closed[i, 1 : 1 + document.T].numpy(), np.array([0.0, 0.0, 1.0])
        np.testing.assert_allclose(words, view.gradients(positive).gradients, atol=1e-12)
        terms = view.gradient_terms(positive)
        np.testing.assert_allclose(words, (terms.value_term + terms.deviation_term).mean(axis=0), atol=1e-12)


def test_gradient_error_is_rounding_at_words_and_not_at_cls(lab: Lab) -> None:
    numbers = gradients.compute_errors(lab)
    assert numbers["largest"] < 1e-12
    assert numbers["largest_at_cls"] > 1e-3
    assert numbers["largest_gradient"] > 1e-3
    figure = gradients.compute_figure(lab)
    assert len(figure["theorem"]) == lab.model.config.d_e
    np.testing.assert_allclose(figure["theorem"], figure["autograd"], atol=1e-12)
    np.testing.assert_allclose(np.add(figure["value_term"], figure["deviation_term"]), figure["theorem"])


def test_correlations_are_those_of_explain(lab: Lab) -> None:
    numbers = correlations.compute(lab)
    pair = next(p for p in numbers["measures"]["pearson"] if p["pair"] == ["alpha-avg", "g-avg"])
    each = [np.corrcoef(a, g)[0, 1] for a, g in zip(explained(lab, "alpha-avg"), explained(lab, "g-avg"), strict=True)]
    assert pair["mean"] == pytest.approx(np.mean(each))
    assert pair["low"] <= pair["mean"] <= pair["high"]
    for pair in (["g-l1", "shapley"], ["alpha-avg", "shapley"], ["g-avg", "leave-one-out"]):
        found = next(p for p in numbers["measures"]["overlap"] if p["pair"] == pair)
        by_hand = []
        for one, other in zip(*(explained(lab, method) for method in pair), strict=True):
            top = [set(np.argsort(-np.abs(w))[:5]) for w in (one, other)]
            by_hand.append(len(top[0] & top[1]) / 5)
        assert found["mean"] == pytest.approx(np.mean(by_hand))
    assert len(numbers["measures"]["kendall"]) == 45


def test_final_layer_counts(lab: Lab) -> None:
    numbers = final_layer.compute(lab)
    attention, limit = explained(lab, "alpha-avg"), explained(lab, "lime-limit")
    negative = [b[int(a.argmax())] < 0 for a, b in zip(attention, limit, strict=True)]
    assert numbers["top_word"]["limit_negative"] == np.mean(negative)
    shares = []
    for a, b in zip(attention, limit, strict=True):
        pairs = list(combinations(range(len(a)), 2))
        shares.append(np.mean([(a[i] - a[j]) * (b[i] - b[j]) < 0 for i, j in pairs]))
    assert numbers["pairs_contradicting"] == pytest.approx(np.mean(shares))
    assert 0 < numbers["pairs_contradicting"] < 1


def test_constant_sign_keeps_attention_and_makes_values_positive(lab: Lab) -> None:
    document = lab.documents[0]
    (question,) = lab.questions([document])
    folded, game = question.view.folded().of_class(lab.target), final_layer.constant_sign_game(question)
    alpha = np.exp(folded.scores) / np.exp(folded.scores).sum(axis=0)
    everything = np.ones((1, document.d), dtype=bool)
    by_hand = (alpha * np.abs(folded.values[:, :, 0])).sum(axis=0).mean()
    assert game.evaluate(everything)[0, 0] == pytest.approx(by_hand)
    removed = ~everything
    owned = np.zeros(len(folded.scores), dtype=bool)
    owned[1 : 1 + document.T] = True
    scores = np.where(owned[:, None], folded.removed_scores, folded.scores)
    values = np.where(owned[:, None], folded.removed_values[:, :, 0], folded.values[:, :, 0])
    alpha = np.exp(scores) / np.exp(scores).sum(axis=0)
    assert game.evaluate(removed)[0, 0] == pytest.approx((alpha * np.abs(values)).sum(axis=0).mean())


def test_figures_of_one_document(lab: Lab) -> None:
    rows = fig1.compute(lab)["rows"]
    assert [row["method"] for row in rows] == [*fig1.PAPER_ROWS, *fig1.EXACT_ROWS]
    three = fig3.compute(lab)
    attention = lab.folder.read_arrays("fig3")["attention"]
    np.testing.assert_allclose(attention.sum(axis=2), 1.0)
    (window,) = lab.model.view(" ".join(three["words"])).attentions()
    words = window.weights[0]
    np.testing.assert_allclose(attention[:, 0, 1:-1], words, atol=ROUNDING)
    np.testing.assert_allclose(three["alpha_max"], words.max(axis=0), atol=ROUNDING)


def test_figure_4_has_all_words_in_its_list(lab: Lab) -> None:
    numbers = fig4.compute(lab)
    assert not numbers["authors_document"]
    lines = (lab.folder.path / "fig4.csv").read_text().splitlines()
    assert len(lines) == 1 + numbers["d"]
    shown = lab.shown
    official = {"removal": "delete", "sampling": "official"}
    expected = limelight.explain(lab.model, shown.text, "lime", target="positive", seed=1, **official).weights
    np.testing.assert_allclose(numbers["columns"]["delete run 2"], expected)
    own = numbers["occurrences"]
    assert own["words"] == shown.words
    exact = limelight.explain(lab.model, shown.text, "lime-limit", target="positive", **DELETING).weights  # type: ignore[arg-type]
    np.testing.assert_allclose(own["columns"]["exact"], exact, atol=1e-8)
    mean = np.mean([own["columns"][f"run {i + 1}"] for i in range(5)], axis=0)
    assert own["distance"] == pytest.approx(np.linalg.norm(mean - exact))
    assert own["distance"] < 3 * own["noise"]
    lines = (lab.folder.path / "fig4.occurrences.csv").read_text().splitlines()
    assert len(lines) == 1 + numbers["T"]


def test_occurrences_of_a_word_that_stands_several_times_are_counted() -> None:
    assert fig4.occurrence_names(["a", "film", "a", "b"]) == ["a (1)", "film", "a (2)", "b"]


def test_formulas_on_a_gpu_run_take_a_copy_of_the_model(tmp_path: Path) -> None:
    """The model of the run stays where it is."""
    here = laboratory(tmp_path)
    assert here.on_a_cpu is here
    elsewhere = laboratory(tmp_path, device="cuda")
    copied = elsewhere.on_a_cpu
    assert copied.model is not elsewhere.model
    assert {p.device.type for p in copied.model.parameters()} == {"cpu"}
    assert copied is elsewhere.on_a_cpu


def test_figure_4_by_the_official_package(tmp_path: Path) -> None:
    pytest.importorskip("lime")
    official = fig4.compute(laboratory(tmp_path, official=True))
    ours = fig4.compute(laboratory(tmp_path))
    assert official["engine"]["delete"] == fig4.OFFICIAL
    mean, other = (np.mean([n["columns"][f"delete run {i + 1}"] for i in range(5)], axis=0) for n in (official, ours))
    assert not np.array_equal(mean, other)
    np.testing.assert_allclose(mean, other, atol=0.1 * np.abs(other).max())


def test_figure_6_correlates_lime_with_the_first_layer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    effort = {"samples": 300, "documents": 3, "runs": 2, "samples_each": 200, "accuracy_on": 3}
    monkeypatch.setitem(fig6.EFFORT, "cpu", effort)
    lab = laboratory(tmp_path, deep_model=DeepStub())
    numbers = fig6.compute(lab)
    model, text = lab.deep_model, lab.shown.text
    attention = limelight.explain(model, text, "alpha-avg", target="positive").weights
    runs = [
        limelight.explain(
            model, text, "lime", target="positive", removal="delete", seed=s, n_samples=300, sampling="official"
        ).weights
        for s in range(5)
    ]
    mean = np.mean(runs, axis=0)
    assert numbers["signed"] == pytest.approx(np.corrcoef(attention, mean)[0, 1])
    assert numbers["absolute"] == pytest.approx(np.corrcoef(attention, np.abs(mean))[0, 1])
    np.testing.assert_allclose(numbers["lime_std"], np.std(runs, axis=0, ddof=1))
    right = model.predict_logits(lab.texts.texts).argmax(axis=1) == lab.texts.labels
    assert numbers["accuracy"] == {"documents": 3, "share": right.mean()}
    assert numbers["effort"]["documents"] == 3


def test_each_document_and_each_run_has_its_own_seed(lab: Lab, tmp_path: Path) -> None:
    other = laboratory(tmp_path, seed=1)
    seeds = [one.seed_of(document) for one in (lab, other) for document in lab.documents]
    assert len(set(seeds)) == len(seeds)


def test_labels_of_figure_6_keep_out_of_each_others_way() -> None:
    x, y = np.array([0.010, 0.011, 0.011, 0.030]), np.array([0.5, 0.51, -0.9, 0.0])
    assert fig6.label_sides(x, y) == [True, False, False, True]  # a neighbour on the right; the right edge
