"""Computations over all documents that several experiments use: each is done once and kept in the run's folder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from limelight.arrays import Floats
from limelight.explainers.lime import sampled_coefficients
from limelight.explainers.lime_on_device import LimeSettings, coefficients_of_runs
from limelight.reproduce.documents import Prepared
from limelight.reproduce.folder import Arrays
from limelight.reproduce.lab import Asked, Lab
from limelight.theory.folding import attention_of_scores
from limelight.theory.ratio_game import RatioGame
from limelight.theory.values import lime_limit_and_shapley
from limelight.view import Removal

RUNS = 5
SETTINGS = LimeSettings(n_samples=5000)
REMOVALS: tuple[Removal, ...] = ("mask", "delete")
EXACT_CHUNK = {"cuda": 1000}
"""The batched recursion pays with many documents of like length: more at once than elsewhere."""
FORMULAS = {
    "theorem": ("lime-theorem", False),
    "theorem_corrected": ("lime-theorem", True),
    "proposition": ("lime-proposition", False),
    "proposition_corrected": ("lime-proposition", True),
}
"""Method and whether it is corrected."""


def lime(lab: Lab) -> Arrays:
    """RUNS runs of LIME under both removals. Per feature: the first run, the mean; per document: noise of the mean."""

    def compute(documents: Sequence[Prepared]) -> Arrays:
        runs_of_documents = lime_runs(lab, documents)
        arrays: Arrays = {}
        for i, removal in enumerate(REMOVALS):
            runs = [coefficients[i] for coefficients in runs_of_documents]
            arrays[f"{removal}_first"] = np.concatenate([r[0] for r in runs])
            arrays[f"{removal}_mean"] = np.concatenate([r.mean(axis=0) for r in runs])
            # The expected squared distance of a mean of RUNS runs from what they estimate.
            arrays[f"{removal}_noise"] = np.array([np.sqrt(r.var(axis=0, ddof=1).sum() / RUNS) for r in runs])
        return arrays

    return lab.over_documents("lime", compute)


def lime_runs(lab: Lab, documents: Sequence[Prepared]) -> list[Floats]:
    """(removals, runs, d) of each document. A GPU solves many regressions at once; a CPU has a core for each."""
    questions = lab.questions(documents)
    seeds = [lab.seed_of(document) for document in documents]
    if torch.device(lab.device).type != "cpu":
        return coefficients_of_runs(questions, seeds, REMOVALS, SETTINGS, RUNS)
    pairs = list(zip(questions, seeds, strict=True))
    return lab.map(lambda pair: sampled_coefficients(pair[0], pair[1], REMOVALS, SETTINGS, RUNS), pairs)


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


def formulas(lab: Lab) -> Arrays:
    """Theorem 5.1 and Proposition B.1, as printed and corrected, per feature."""

    def compute(documents: Sequence[Prepared]) -> Arrays:
        columns = [formulas_of(lab, question) for question in lab.questions(documents)]
        return {name: np.concatenate([own[name] for own in columns]) for name in FORMULAS}

    return lab.over_documents("Theorem 5.1", compute)


def formulas_of(lab: Lab, question: Asked) -> dict[str, Floats]:
    return {name: lab.weights(question, method, corrected=corrected) for name, (method, corrected) in FORMULAS.items()}


CLOSED_FORMS = ("alpha-avg", "alpha-max", "g-avg", "g-l1", "g-l2", "gxi", "leave-one-out")


def closed_forms(lab: Lab) -> Arrays:
    """The methods that need no sampling, per feature; `value` is the W_ℓ v that attention weighs.

    Per document: the largest attention weight of any head on one word.
    """

    def compute(documents: Sequence[Prepared]) -> Arrays:
        columns = [closed_forms_of(lab, question) for question in lab.questions(documents)]
        return {name: np.concatenate([own[name] for own in columns]) for name in columns[0]}

    return lab.over_documents("attention and gradients", compute)


def closed_forms_of(lab: Lab, question: Asked) -> Arrays:
    arrays: Arrays = {name: lab.weights(question, name) for name in CLOSED_FORMS}
    folded, words = question.view.folded(), np.arange(len(question.document.words))
    alpha, w = attention_of_scores(folded.scores)[words + 1], folded.values[words + 1, :, question.target]
    arrays["value"] = question.per_feature((alpha * w).mean(axis=1), words) / arrays["alpha-avg"]
    arrays["largest_attention"] = np.array([alpha.max()])
    return arrays
