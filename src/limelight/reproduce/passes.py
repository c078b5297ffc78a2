"""Computations over all documents that several experiments use: each is done once and kept in the run's folder."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

import numpy as np
import torch

from limelight.reproduce.documents import Floats, Prepared, Tables
from limelight.reproduce.folder import Arrays
from limelight.reproduce.lab import Lab
from limelight.reproduce.lime_batch import RUNS, Runs, lime_runs
from limelight.theory.folding import attention_of_scores
from limelight.theory.lime_theorem import lime_proposition, theorem_5_1
from limelight.theory.ratio_game import RatioGame
from limelight.theory.values import leave_one_out, lime_limit_and_shapley

EXACT_CHUNK = {"cuda": 1000}
"""The batched recursion pays with many documents of like length: more at once than elsewhere."""
FORMULAS = ("theorem", "theorem_corrected", "proposition", "proposition_corrected")


def lime(lab: Lab) -> Arrays:
    """RUNS runs of LIME under both removals. Per feature: the first run, the mean; per document: noise of the mean."""

    def compute(documents: Sequence[Prepared]) -> Arrays:
        found = _lime_runs(lab, documents)
        arrays: Arrays = {}
        for removal in ("mask", "delete"):
            runs = [getattr(result, removal) for result in found]
            arrays[f"{removal}_first"] = np.concatenate([r[0] for r in runs])
            arrays[f"{removal}_mean"] = np.concatenate([r.mean(axis=0) for r in runs])
            # The expected squared distance of a mean of RUNS runs from what they estimate.
            arrays[f"{removal}_noise"] = np.array([np.sqrt(r.var(axis=0, ddof=1).sum() / RUNS) for r in runs])
        return arrays

    return lab.over_documents("lime", compute)


def _lime_runs(lab: Lab, documents: Sequence[Prepared]) -> list[Runs]:
    """A GPU takes the documents one after the other and solves many regressions at once; a CPU has a core for each."""
    tables = lab.tables
    if torch.device(lab.device).type == "cpu":
        return lab.map(lambda d: lime_runs([d], tables, [lab.seed_of(d)])[0], documents)
    return lime_runs(documents, tables, [lab.seed_of(d) for d in documents], device=lab.device)


def exact(lab: Lab) -> Arrays:
    """LIME without sampling, and Shapley values, per feature."""

    def compute(documents: Sequence[Prepared]) -> Arrays:
        found = exact_values(lab, [lab.tables.game(document) for document in documents])
        return {"lime_limit": np.concatenate([f[0] for f in found]), "shapley": np.concatenate([f[1] for f in found])}

    return lab.over_documents("exact values", compute, chunk=EXACT_CHUNK.get(torch.device(lab.device).type))


def exact_values(lab: Lab, games: Sequence[RatioGame]) -> list[tuple[Floats, Floats]]:
    """LIME's limit and Shapley values of each game."""
    # Without the compiler the recursion in torch serves the CPU as well: "cpu:0" asks for it.
    device = "cpu:0" if lab.device == "cpu" and importlib.util.find_spec("numba") is None else lab.device
    if lab.device == "cpu":
        found = lab.map(lambda game: lime_limit_and_shapley([game], [0], device=device)[0], games)
    else:
        found = lime_limit_and_shapley(games, [0] * len(games), device=device)
    return [(limit.values, shapley.values) for limit, shapley in found]


def formulas(lab: Lab) -> Arrays:
    """Theorem 5.1 and Proposition B.1, as printed and corrected, per feature."""
    tables = lab.tables

    def compute(documents: Sequence[Prepared]) -> Arrays:
        rows = np.concatenate([formulas_of(tables, document) for document in documents])
        return {name: rows[:, i].copy() for i, name in enumerate(FORMULAS)}

    return lab.over_documents("Theorem 5.1", compute)


def formulas_of(tables: Tables, document: Prepared) -> Floats:
    """(d, 4), in the order of FORMULAS."""
    folded = tables.fold(document)
    views = (folded.scores, folded.values, folded.removed_scores, folded.removed_values, document.owners, 0)
    columns = [theorem_5_1(*views, corrected=corrected) for corrected in (False, True)]
    for corrected in (False, True):
        # Eq. 17 compares a word with the mean over all words: with one word there is nothing to compare.
        columns.append(lime_proposition(*views, corrected=corrected) if document.d > 1 else np.zeros(1))
    return np.stack(columns, axis=1)


CLOSED_FORMS = ("alpha-avg", "alpha-max", "g-avg", "g-l1", "g-l2", "gxi", "leave-one-out")


def closed_forms(lab: Lab) -> Arrays:
    """The methods that need no sampling, per feature; `value` is the W_ℓ v that attention weighs.

    Per document: the largest attention weight of any head on one word.
    """
    tables = lab.tables

    def compute(documents: Sequence[Prepared]) -> Arrays:
        found = [closed_forms_of(tables, document) for document in documents]
        return {name: np.concatenate([one[name] for one in found]) for name in found[0]}

    return lab.over_documents("attention and gradients", compute)


def closed_forms_of(tables: Tables, document: Prepared) -> Arrays:
    folded = tables.fold(document)
    words = slice(1, 1 + document.T)
    alpha_all, w_all = attention_of_scores(folded.scores), folded.values[:, :, 0]  # (T_max, K)
    alpha, w, K = alpha_all[words], w_all[words], alpha_all.shape[1]
    deviation = w - (alpha_all * w_all).sum(axis=0)
    # Theorem 4.1: ∇_{e_t} f = (1/K) Σ_heads α_t [ u + (w_t - f_i) r ]
    gradients = (alpha @ tables.u + (alpha * deviation) @ tables.r) / K  # (T, d_e)
    per_word = np.stack(
        [
            alpha.mean(axis=1),
            alpha.max(axis=1),
            gradients.mean(axis=1),
            np.abs(gradients).sum(axis=1),
            np.sqrt((gradients**2).sum(axis=1)),
            (gradients * tables.embeddings(document)).sum(axis=1),
            (alpha * w).mean(axis=1),
        ],
        axis=1,
    )
    per_feature = document.per_feature(per_word)
    arrays: Arrays = {name: per_feature[:, i].copy() for i, name in enumerate(CLOSED_FORMS[:-1])}
    arrays["leave-one-out"] = leave_one_out(tables.game(document), 0).values
    arrays["value"] = per_feature[:, -1] / per_feature[:, 0]
    arrays["largest_attention"] = np.array([alpha.max()])
    return arrays
