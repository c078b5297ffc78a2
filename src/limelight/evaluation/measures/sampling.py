"""Sampling: whether a method that draws samples would stand elsewhere with four times as many.

The first twenty texts are explained again with four times the samples, and comprehensiveness above chance is taken of
both. A method may rank low only for want of samples; this is apart from the interval over texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from limelight.evaluation.case import Case, area, own_order
from limelight.evaluation.measure import BEST_ABOVE_CHANCE, Measure, Score, primary, score
from limelight.evaluation.report.numbers import texts_of
from limelight.evaluation.result import Evaluation

TEXTS = 20
TIMES = 4
BEFORE, AFTER = "above chance", f"above chance, {TIMES} × samples"


def of_methods(case: Case) -> Iterator[Score]:
    if case.number >= TEXTS:
        return
    removal = case.plan.request.removal
    chance = area(case.chance(removal, case.output))
    for entry in case.entries:
        order = entry.own_order
        place = {"method": entry.name, "removal": removal, "output": case.output, "order": order}
        yield score(BEFORE, chance - area(case.curve(case.ranking(entry, order), removal, case.output)), **place)
        explanation = entry.explanation
        if explanation is None or not entry.is_sampled or "n_samples" not in explanation.parameters:
            continue
        more = TIMES * int(explanation.parameters["n_samples"])
        for _, other in case.again(case.resolved.only(entry.name).with_options(n_samples=more), [entry]):
            ranking = case.ranking(replace(entry, weights=other.weights), order)
            yield score(AFTER, chance - area(case.curve(ranking, removal, case.output)), **place)


def moves(evaluation: Evaluation) -> Iterator[str]:
    """Whether more samples would change the rank."""
    moved = [move for signed in (True, False) for move in _moves(evaluation, signed)]
    if moved:
        texts = min(TEXTS, len(evaluation))
        yield f"With four times the samples, on the first {texts} {texts_of(evaluation)}: {'; '.join(moved)}."


def _moves(evaluation: Evaluation, signed: bool) -> Iterator[str]:
    """One clause for each sampling method of a table: how far it moves, and from which rank to which."""
    place = evaluation.summary.place
    best = evaluation.of(primary().key(BEST_ABOVE_CHANCE, **place))
    names = [name for name, own in evaluation.methods.items() if own["signed"] == signed]
    place["order"] = own_order(signed)
    before = {name: evaluation.of(sampling.key(BEFORE, name, **place)) for name in names}
    for name in names:
        after = evaluation.of(sampling.key(AFTER, name, **place))
        known = np.isfinite(after) & np.isfinite(best)
        if not known.any() or not best[known].sum() > 0.0:
            continue
        sums = {other: float(column[known].sum()) for other, column in before.items()}
        moved = (float(after[known].sum()) - sums[name]) / float(best[known].sum())
        ranks = [
            1 + sum(sums[other] > own for other in names if other != name) for own in (sums[name], after[known].sum())
        ]
        told = "keeps its rank" if ranks[0] == ranks[1] else f"goes from rank {ranks[0]} to {ranks[1]} of {len(names)}"
        yield f"{name} moves by {moved:+.3f} and {told}"


sampling = Measure(
    "sampling",
    label="Sampling error",
    summary="What comprehensiveness above chance becomes with four times the samples, on the first 20 texts",
    default=False,
    scores=(of_methods,),
    says=("last caveat", moves),
)
