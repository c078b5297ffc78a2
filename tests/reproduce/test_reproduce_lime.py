"""The batched LIME against the engine of `limelight explain` and against the exact value."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from conftest import small_model
from limelight.explainers.lime import fit_surrogate, kernel_weights
from limelight.reproduce.documents import Prepared, Tables, prepare_one
from limelight.reproduce.lime_batch import RIDGE, draw, lime_runs
from limelight.theory.values import lime_limit

TEXTS = (
    "The film was great, but too long and the end is bad!",
    "It's not a very good film.",
    "great great great bad",
    "the film was great but too long and end is bad it s a not very good film the film was great but too long",
    "good",
)
# Sums of perturbed outputs are in float32; everything after them is the same in float64.
SAME = 1e-5


@pytest.fixture(scope="module")
def tables() -> Tables:
    return Tables(small_model(), target=2)


def prepared(text: str) -> Prepared:
    document = prepare_one(small_model(), 0, text)
    assert document is not None
    return document


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("removal", ["mask", "delete"])
def test_the_same_coalitions_give_the_weights_of_the_numpy_engine(tables: Tables, text: str, removal: str) -> None:
    model, document = small_model(), prepared(text)
    runs, samples, seed = 2, 300, 11
    found = getattr(lime_runs([document], tables, [seed], runs=runs, samples=samples)[0], removal)
    kept = draw(document.d, runs, samples, seed, "cpu").numpy()
    read = model.read(document.text)
    outputs = model.perturb(read, read.features("words"), removal)(kept)[:, 2]
    for run in range(runs):
        rows = slice(run * samples, (run + 1) * samples)
        expected = fit_surrogate(kept[rows], outputs[rows], kernel_weights(kept[rows], 0.25), RIDGE).coefficients
        np.testing.assert_allclose(found[run], expected, atol=SAME)


def test_a_document_s_result_depends_on_its_own_seed_alone(tables: Tables) -> None:
    documents = [prepared(text) for text in TEXTS]
    together = lime_runs(documents, tables, range(len(TEXTS)), runs=2, samples=200)
    for i, document in enumerate(documents):
        alone = lime_runs([document], tables, [i], runs=2, samples=200)[0]
        np.testing.assert_allclose(together[i].mask, alone.mask, atol=1e-10)
        np.testing.assert_allclose(together[i].delete, alone.delete, atol=1e-10)
    other = lime_runs(documents[:1], tables, [99], runs=2, samples=200)[0]
    assert np.abs(other.mask - together[0].mask).max() > 1e-4


def test_runs_scatter_around_the_exact_value_by_their_own_noise(tables: Tables) -> None:
    document = prepared(TEXTS[0])
    exact = lime_limit(tables.game(document), 0).values
    (found,) = lime_runs([document], tables, [5], runs=40)
    noise = np.sqrt(found.mask.var(axis=0, ddof=1).sum() / 40)
    assert np.linalg.norm(found.mask.mean(axis=0) - exact) < 2.5 * noise
    assert np.linalg.norm(found.delete.mean(axis=0) - exact) > 5 * noise  # deleting is another question


def test_coalitions_are_uniform_over_sizes_and_features() -> None:
    d, runs, samples = 7, 4, 5000
    kept = draw(d, runs, samples, 3, "cpu")
    assert kept[::samples].all()
    removed = torch.cat([kept[i * samples + 1 : (i + 1) * samples] for i in range(runs)]).logical_not()
    share = removed.sum(dim=1).bincount(minlength=d + 1).double() / len(removed)
    assert share[0] == 0
    five_sigma = 5 * np.sqrt(1 / d * (1 - 1 / d) / len(removed))
    assert (share[1:] - 1 / d).abs().max() < five_sigma
    per_feature = removed.double().mean(dim=0)
    assert (per_feature - (d + 1) / (2 * d)).abs().max() < 5 * 0.5 / np.sqrt(len(removed))
