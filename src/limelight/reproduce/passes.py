"""Computations over all documents that several experiments use: each is done once and kept in the run's folder."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from limelight.core.arrays import Floats
from limelight.explainers.lime import sampled_coefficients
from limelight.explainers.lime_on_device import LimeSettings, coefficients_of_runs
from limelight.models.interface import Removal
from limelight.reproduce.documents import Prepared
from limelight.reproduce.folder import Arrays
from limelight.reproduce.lab import Asked, Lab
from limelight.theory.deletion_values import DeletionGame, deletion_moments
from limelight.theory.deletion_values_torch import deletion_moments_of_many
from limelight.theory.folding import attention_of_scores
from limelight.theory.ratio_game import RatioGame
from limelight.theory.values import LimeDesign, lime_limit_and_shapley

RUNS = 5
SETTINGS = LimeSettings(n_samples=5000)
REMOVALS: tuple[Removal, ...] = ("mask", "delete")
EXACT_CHUNK = {"cuda": 1000}
"""The batched recursion pays with many documents of like length: more at once than elsewhere."""
THEOREM: dict[str, tuple[str, dict[str, Any]]] = {
    "theorem": ("lime-theorem", {}),
    "theorem_corrected": ("lime-theorem", {"corrected": True}),
}
FORMULAS: dict[str, tuple[str, dict[str, Any]]] = {
    **THEOREM,
    "proposition": ("lime-proposition", {}),
    "proposition_corrected": ("lime-proposition", {"corrected": True}),
    "mean_field": ("lime-mean-field", {"dominant": 2}),
}
"""What should predict LIME: method and options."""


def lime(lab: Lab) -> Arrays:
    """RUNS runs of LIME under both removals. Per feature: the first run, the mean; per document: noise of the mean."""

    def compute(documents: Sequence[Prepared]) -> Arrays:
        runs_of_documents = lime_runs(lab, documents)
        arrays: Arrays = {}
        for i, removal in enumerate(REMOVALS):
            runs = [coefficients[i] for coefficients in runs_of_documents]
            arrays[f"{removal}_first"] = np.concatenate([r[0] for r in runs])
            arrays[f"{removal}_mean"] = np.concatenate([r.mean(axis=0) for r in runs])
            arrays[f"{removal}_noise"] = np.array([noise(r) for r in runs])
        return arrays

    return lab.over_documents("lime", compute)


def noise(runs: Floats) -> float:
    """The expected distance (norm 2) of the mean of runs (runs, d) from what they estimate."""
    return float(np.sqrt(runs.var(axis=0, ddof=1).sum() / len(runs)))


def lime_runs(lab: Lab, documents: Sequence[Prepared], removals: tuple[Removal, ...] = REMOVALS) -> list[Floats]:
    """(removals, runs, d) of each document. A GPU solves many regressions at once; a CPU has a core for each."""
    questions = lab.questions(documents)
    seeds = [lab.seed_of(document) for document in documents]
    if torch.device(lab.device).type != "cpu":
        return coefficients_of_runs(questions, seeds, removals, SETTINGS, RUNS)
    pairs = list(zip(questions, seeds, strict=True))
    return lab.map(lambda pair: sampled_coefficients(pair[0], pair[1], removals, SETTINGS, RUNS), pairs)


def exact(lab: Lab) -> Arrays:
    """LIME without sampling, and Shapley values, per feature."""

    def compute(documents: Sequence[Prepared]) -> Arrays:
        games = [question.view.ratio_game(question.features) for question in lab.questions(documents)]
        values = exact_values(lab, games, lab.target)
        return {
            "lime_limit": np.concatenate([limit for limit, _ in values]),
            "shapley": np.concatenate([shapley for _, shapley in values]),
        }

    return lab.over_documents("exact values", compute, chunk=EXACT_CHUNK.get(torch.device(lab.device).type))


def exact_values(lab: Lab, games: Sequence[RatioGame], target: int) -> list[tuple[Floats, Floats]]:
    """LIME's limit and Shapley values of each game."""
    if torch.device(lab.device).type == "cpu":
        values = lab.map(lambda game: lime_limit_and_shapley([game], [target])[0], games)
    else:
        values = lime_limit_and_shapley(games, [target] * len(games), device=lab.device)
    return [(limit.values, shapley.values) for limit, shapley in values]


def deletion(lab: Lab) -> Arrays:
    """Each occurrence of a word deleted by itself, for which LIME's limit is known however often words repeat.

    Per document: the norm of the exact value, and the distance to it of the mean of RUNS runs of LIME and of Theorem
    5.1; the noise of that mean.
    """

    def compute(documents: Sequence[Prepared]) -> Arrays:
        documents = [document.by_occurrence() for document in documents]
        exact = exact_deletion(lab, documents)
        arrays = {"norm": np.array([np.linalg.norm(own) for own in exact])}
        runs = [coefficients[0] for coefficients in lime_runs(lab, documents, ("delete",))]
        predictions = {"lime": [r.mean(axis=0) for r in runs]}
        columns = [formulas_of(lab, question, THEOREM) for question in lab.on_a_cpu.questions(documents)]
        predictions |= {name: [own[name] for own in columns] for name in THEOREM}
        for name, weights in predictions.items():
            arrays[name] = np.array([np.linalg.norm(a - b) for a, b in zip(weights, exact, strict=True)])
        arrays["noise"] = np.array([noise(r) for r in runs])
        return arrays

    return lab.over_documents("deleted occurrences", compute, chunk=EXACT_CHUNK.get(torch.device(lab.device).type))


def exact_deletion(lab: Lab, documents: Sequence[Prepared]) -> list[Floats]:
    """LIME's limit when words are deleted, of documents whose features are occurrences."""
    folded = [question.view.folded() for question in lab.questions(documents)]
    designs = [LimeDesign.of(own.d, SETTINGS.n_samples, SETTINGS.kernel_width, SETTINGS.ridge) for own in documents]
    weights = [design.size_weights for design in designs]
    if torch.device(lab.device).type == "cpu" and importlib.util.find_spec("numba") is not None:
        asked = list(zip(folded, documents, weights, strict=True))
        moments = lab.map(lambda one: deletion_moments(one[0], lab.target, one[1].features.owned, one[2]), asked)
    else:
        games = [DeletionGame.of(own, lab.target) for own in folded]
        moments = deletion_moments_of_many(games, weights, device=lab.device)
    return [design.solve(own).values for own, design in zip(moments, designs, strict=True)]


def formulas(lab: Lab) -> Arrays:
    """Theorem 5.1 and Proposition B.1, as printed and corrected, and the mean field, per feature.

    Per document: the largest attention weight of any head on one word, which decides where they hold.
    """

    def compute(documents: Sequence[Prepared]) -> Arrays:
        questions = lab.on_a_cpu.questions(documents)
        columns = [formulas_of(lab, question) for question in questions]
        arrays: Arrays = {name: np.concatenate([own[name] for own in columns]) for name in FORMULAS}
        arrays["largest_attention"] = np.array([attention_of_words(question).max() for question in questions])
        return arrays

    return lab.over_documents("Theorem 5.1 and mean field", compute)


def formulas_of(
    lab: Lab, question: Asked, wanted: Mapping[str, tuple[str, dict[str, Any]]] = FORMULAS
) -> dict[str, Floats]:
    return {name: lab.weights(question, method, **options) for name, (method, options) in wanted.items()}


def attention_of_words(question: Asked) -> Floats:
    """(T, K): the attention of each head on each word of the document."""
    words = np.arange(len(question.document.words))
    return attention_of_scores(question.view.folded().scores)[words + 1]


CLOSED_FORMS = ("alpha-avg", "alpha-max", "g-avg", "g-l1", "g-l2", "gxi", "leave-one-out")


def closed_forms(lab: Lab) -> Arrays:
    """The methods that need no sampling, per feature; `value` is the W_ℓ v that attention weighs."""

    def compute(documents: Sequence[Prepared]) -> Arrays:
        columns = [closed_forms_of(lab, question) for question in lab.on_a_cpu.questions(documents)]
        return {name: np.concatenate([own[name] for own in columns]) for name in columns[0]}

    return lab.over_documents("attention and gradients", compute)


def closed_forms_of(lab: Lab, question: Asked) -> Arrays:
    arrays: Arrays = {name: lab.weights(question, name) for name in CLOSED_FORMS}
    folded, words = question.view.folded(), np.arange(len(question.document.words))
    alpha, w = attention_of_words(question), folded.values[words + 1, :, question.quantity.target]
    arrays["value"] = question.per_feature((alpha * w).mean(axis=1), words) / arrays["alpha-avg"]
    return arrays
