"""Computations over all documents that several experiments use: each is done once and kept in the run's folder."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from typing import Any

import numpy as np
import torch

from limelight.core.arrays import Floats
from limelight.explainers.lime import sampled_coefficients
from limelight.explainers.lime_on_device import LimeSettings, coefficients_of_runs
from limelight.models.interface import Removal
from limelight.reproduce.folder import Arrays
from limelight.reproduce.lab import Asked, Lab, Prepared, joined
from limelight.theory.deletion import DeletionGame, deletion_moments
from limelight.theory.folding import attention_of_scores
from limelight.theory.moments_torch import deletion_moments_of_many
from limelight.theory.ratio_game import RatioGame
from limelight.theory.values import LimeDesign, lime_limit_and_shapley

RUNS = 5
SETTINGS = LimeSettings(n_samples=5000)
REMOVALS: tuple[Removal, ...] = ("mask", "delete")
EXACT_CHUNK = {"cuda": 1000}
"""The batched recursion pays with many documents of like length: more at once than in other passes."""
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
"""Formulas that should predict LIME: method and options."""


Compute = Callable[[Lab, Sequence[Prepared]], Arrays]


def over_all_documents(
    name: str, chunks: Mapping[str, int] | None = None
) -> Callable[[Compute], Callable[[Lab], Arrays]]:
    """Turn a computation of some documents into one of all; `chunks` gives documents at once, by the kind of device."""

    def decorated(compute: Compute) -> Callable[[Lab], Arrays]:
        @wraps(compute)
        def of_all(lab: Lab) -> Arrays:
            chunk = (chunks or {}).get(torch.device(lab.device).type)
            return lab.over_documents(name, partial(compute, lab), chunk=chunk)

        return of_all

    return decorated


@over_all_documents("lime")
def lime(lab: Lab, documents: Sequence[Prepared]) -> Arrays:
    """RUNS runs of LIME under both removals. Per feature: the first run, the mean; per document: noise of the mean."""
    arrays: Arrays = {}
    for removal, *runs in zip(REMOVALS, *lime_runs(lab, documents), strict=True):
        own = joined({"first": r[0], "mean": r.mean(axis=0), "noise": noise(r)} for r in runs)
        arrays |= {f"{removal}_{name}": column for name, column in own.items()}
    return arrays


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


@over_all_documents("exact values", EXACT_CHUNK)
def exact(lab: Lab, documents: Sequence[Prepared]) -> Arrays:
    """LIME without sampling, and Shapley values, per feature."""
    games = [question.view.ratio_game(question.features) for question in lab.questions(documents)]
    return joined({"lime_limit": limit, "shapley": own} for limit, own in exact_values(lab, games, lab.target))


def exact_values(lab: Lab, games: Sequence[RatioGame], target: int) -> list[tuple[Floats, Floats]]:
    """LIME's limit and Shapley values of each game."""
    if torch.device(lab.device).type == "cpu":
        values = lab.map(lambda game: lime_limit_and_shapley([game], [target])[0], games)
    else:
        values = lime_limit_and_shapley(games, [target] * len(games), device=lab.device)
    return [(limit.values, shapley.values) for limit, shapley in values]


@over_all_documents("deleted occurrences", EXACT_CHUNK)
def deletion(lab: Lab, documents: Sequence[Prepared]) -> Arrays:
    """Each occurrence of a word deleted by itself, for which LIME's limit is known however often words repeat.

    Per document: the norm of the exact value, and the distance to it of the mean of RUNS runs of LIME and of Theorem
    5.1; the noise of that mean.
    """
    documents = [document.by_occurrence() for document in documents]
    exact, all_runs = exact_deletion(lab, documents), lime_runs(lab, documents, ("delete",))
    found = []
    for question, limit, (runs,) in zip(lab.on_a_cpu.questions(documents), exact, all_runs, strict=True):
        predicted = {"lime": runs.mean(axis=0), **formulas_of(lab, question, THEOREM)}
        distances = {name: float(np.linalg.norm(weights - limit)) for name, weights in predicted.items()}
        found.append({"norm": float(np.linalg.norm(limit)), **distances, "noise": noise(runs)})
    return joined(found)


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


@over_all_documents("Theorem 5.1 and mean field")
def formulas(lab: Lab, documents: Sequence[Prepared]) -> Arrays:
    """Theorem 5.1 and Proposition B.1, as printed and corrected, and the mean field, per feature.

    Per document: the largest attention weight of any head on one word, which decides where they hold.
    """
    questions = lab.on_a_cpu.questions(documents)
    return joined({**formulas_of(lab, own), "largest_attention": attention_of_words(own).max()} for own in questions)


def formulas_of(
    lab: Lab, question: Asked, wanted: Mapping[str, tuple[str, dict[str, Any]]] = FORMULAS
) -> dict[str, Floats]:
    return {name: lab.weights(question, method, **options) for name, (method, options) in wanted.items()}


def attention_of_words(question: Asked) -> Floats:
    """(T, K): the attention of each head on each word of the document."""
    words = np.arange(len(question.document.words))
    return attention_of_scores(question.view.folded().scores)[words + 1]


CLOSED_FORMS = ("alpha-avg", "alpha-max", "g-avg", "g-l1", "g-l2", "gxi", "leave-one-out")


@over_all_documents("attention and gradients")
def closed_forms(lab: Lab, documents: Sequence[Prepared]) -> Arrays:
    """The methods that need no sampling, per feature; `value` is the W_ℓ v that attention weighs."""
    found = []
    for question in lab.on_a_cpu.questions(documents):
        own = {name: lab.weights(question, name) for name in CLOSED_FORMS}
        words = np.arange(len(question.document.words))
        w = question.view.folded().values[words + 1, :, question.quantity.target]
        carried = question.per_feature((attention_of_words(question) * w).mean(axis=1), words)
        found.append({**own, "value": carried / own["alpha-avg"]})
    return joined(found)
