"""The verdict: what an evaluation says, in sentences, the most important first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from limelight.evaluation.contest import ALPHA
from limelight.evaluation.inference import LEAST, Interval
from limelight.evaluation.measure import Key
from limelight.evaluation.measures.sampling import TEXTS
from limelight.evaluation.summary import RANKED, Compared, Standing, Summary

if TYPE_CHECKING:
    from limelight.evaluation.result import Evaluation

_REMOVED = {"mask": "masked", "delete": "deleted", "attention": "hidden from attention"}
_FEW = 50
"""Texts below which intervals of skewed scores are too short: their coverage was not shown."""
_HALF_WAY = 0.5
"""Between chance and the best possible order: who is shown to be below has not found "the" words."""
_OFTEN_OUTSIDE = 0.1
FEW_METHODS, WRONG_IF_SKEWED = 6, 0.12
"""Methods up to which skewed scores make claims wrong more often than promised, and how often (below `RARE_FROM`)."""
RARE_FROM = 200
"""Texts from which failures of one text in twenty are seen."""
WRONG_IF_RARE = {18: 0.10, 10: 0.25, 6: 0.45, 0: 0.60}
"""With so many methods or more, and fewer texts: how often claims are wrong where every second method fails so. All are
simulated by `benchmarks/evaluation_claims.py`, whose tables are in docs/trust.md."""
_PAIRS_NAMED = 6
WRONG_SIZE = 4 / 3
"""Weights whose sums are off by more than a third on average are named."""


def verdict(evaluation: Evaluation) -> Iterator[str]:
    """From the ranking to what speaks against relying on it."""
    summary = evaluation.summary
    if not any(summary.members(table) for table in ("signed", "unsigned")):
        yield "Comprehensiveness was not measured, so there is no ranking."
        yield from _of_kind(evaluation)
        yield from _left_out(evaluation)
        return
    yield _asked(evaluation)
    yield from _of_kind(evaluation)
    for table in ("signed", "unsigned"):
        for standing in summary.standings(table):
            yield _of_method(evaluation, standing)
    yield from _pairs(summary)
    yield from _sizes(evaluation)
    yield from _removals(summary)
    yield from _level(summary)
    yield from _caveats(evaluation)


def _asked(evaluation: Evaluation) -> str:
    summary = evaluation.summary
    how = _REMOVED.get(summary.removal, summary.removal)
    most = ", at most" if summary.is_at_most else ""
    return (
        f"How well each method finds the words that matter to this model, on {len(evaluation):,} {_texts(evaluation)} "
        f"with words {how}: 0 is a random order, 1 the best possible{most} (95 % intervals)."
    )


def _texts(evaluation: Evaluation) -> str:
    if len(evaluation) == 1:
        return "pair of texts" if evaluation.about.get("pairs") else "text"
    return "pairs of texts" if evaluation.about.get("pairs") else "texts"


def _of_kind(evaluation: Evaluation) -> Iterator[str]:
    """What the numbers are of, where that does not go without saying."""
    about = evaluation.about
    if about.get("kind") == "regression":
        yield "The model gives a number: words speak for it where they raise it, and there is no label to turn."
    if about.get("kind") == "multi-label":
        asked = "the likeliest of each text" if about.get("target") is None else f"{about['target']}"
        yield (
            "The labels exclude no other, so each is a question of its own, and turns at a probability of one half: "
            f"here it is {asked}."
        )
    if about.get("pairs"):
        yield "The words of both texts of a pair stand in one order."
    if windows := about.get("windows"):
        whole = "The texts are" if windows == len(evaluation) else f"{windows:,} of {len(evaluation):,} texts are"
        yield f"{whole} read in windows: what is explained and measured is the mean of their logits."


def towards(evaluation: Evaluation) -> str:
    """What the words do that go first, where methods have signs."""
    return "raises the number" if evaluation.about.get("kind") == "regression" else "speaks for the target"


def _side(evaluation: Evaluation) -> tuple[str, str]:
    """What a sign says, of words that are found with it and without."""
    if evaluation.about.get("kind") == "regression":
        return "whether they raise or lower the number", "whether they raise or lower the number"
    return "the side they speak for", "for which side they speak"


def _of_method(evaluation: Evaluation, standing: Standing) -> str:
    name, signed = standing.method, bool(evaluation.methods[standing.method]["signed"])
    found = f"{name}: {interval(standing.score)}"
    decision = standing.decision
    if math.isnan(standing.score.value):
        return f"{name}: no order of the words differs from another, so nothing can be said."
    if decision.verdict == "equal":
        return f"{found} no better than chance (within 0.05 of it)."
    if decision.verdict == "undecided":
        count = standing.score.documents
        texts = f"{count:,} text{'s' * (count != 1)}{_needed(decision.texts_needed)}"
        return f"{found} undecided whether it is better than chance with {texts}."
    if decision.verdict == "worse":
        return f"{found} worse than chance: it ranks last what should come first."
    if not signed:
        return f"{found} finds words that matter, but not {_side(evaluation)[1]}."
    what = "some of the words" if standing.score.high < _HALF_WAY else "the words"
    return f"{found} finds {what} that matter{_direction(evaluation, name)}."


def _direction(evaluation: Evaluation, method: str) -> str:
    """What the measure `sign` says of a method with signs."""
    sign = evaluation.summary.signs.get(method)
    if sign is None:
        return ""
    right = f"{sign.share:.0%}".replace("%", " %")
    if sign.verdict == "better":
        return f", and {_side(evaluation)[0]} ({right} of the weight has the right sign)"
    if sign.verdict == "worse":
        return f", but with the wrong sign (only {right} of the weight has the right one)"
    return f", but these texts do not tell their sign from a coin's ({right} of the weight has the right one)"


def _pairs(summary: Summary) -> Iterator[str]:
    """Which methods are told apart; a chain of equals is one sentence."""
    pairs = summary.comparisons
    equal = [pair for pair in pairs if pair.decision.verdict == "equal"]
    apart = [pair for pair in pairs if pair.decision.verdict in ("better", "worse")]
    undecided = [pair for pair in pairs if pair.decision.verdict == "undecided"]
    if equal:
        yield f"Equally good, within 0.05: {_named(equal)}."
    if apart:
        yield f"Told apart: {_named(apart, with_difference=True)}."
    if undecided:
        needed = [pair.decision.texts_needed for pair in undecided if pair.decision.texts_needed is not None]
        about = f"; about {_rounded(max(needed)):,} texts would decide all of them" if needed else ""
        yield f"Undecided with these texts: {_named(undecided)}{about}."


def _named(pairs: Sequence[Compared], with_difference: bool = False) -> str:
    said = []
    for pair in pairs[:_PAIRS_NAMED]:
        better, worse = (pair.first, pair.second) if pair.comparison.value >= 0 else (pair.second, pair.first)
        if with_difference:
            said.append(f"{better} above {worse} by {abs(pair.comparison.value):.2f}")
        else:
            said.append(f"{pair.first} and {pair.second}")
    more = len(pairs) - _PAIRS_NAMED
    return ", ".join(said) + (f" and {more} more pairs" if more > 0 else "")


def _sizes(evaluation: Evaluation) -> Iterator[str]:
    """Methods whose weights are plainly too small or too large; a description, which the order of words cannot give."""
    summary, off = evaluation.summary, []
    for name in evaluation.methods:
        key = Key("size", "slope", name, removal=summary.removal, output=summary.output)
        slope = summary.mean(key)
        # Weights that have nothing to do with the change have a slope of 0, and no size that could be wrong.
        if slope.low > WRONG_SIZE or 0.0 < slope.low <= slope.high < 1.0 / WRONG_SIZE:
            off.append(f"{interval(slope)} times as far as the weights of {name} add up to")
    if off:
        more = f" and {len(off) - _PAIRS_NAMED} more methods" if len(off) > _PAIRS_NAMED else ""
        named = ", ".join(off[:_PAIRS_NAMED])
        yield f"Removing words moves the output {named}{more}: these weights have the wrong size."


def _removals(summary: Summary) -> Iterator[str]:
    """LIME and Shapley values are made with one removal: whether the ranking holds under the other."""
    for removal, swapped in summary.swapped.items():
        how = _REMOVED.get(removal, removal)
        held, pairs = summary.kept(removal)
        if swapped:
            yield f"With words {how} instead, the ranking changes: there {_named(swapped, with_difference=True)}."
        elif pairs:
            rest = "" if held == pairs else "; the others are undecided or equally good there"
            stay = "1 pair stays" if held == 1 else f"{held} pairs stay"
            yield f"With words {how} instead, {stay} told apart of {pairs}, and none changes places{rest}."


def _level(summary: Summary) -> Iterator[str]:
    """How often claims are wrong, and what would make them wrong more often."""
    contested = summary.contested(summary.removal)
    compared = [name for names in contested.names.values() for name in names]
    alone = [name for table in RANKED for name in summary.members(table) if name not in compared]
    methods = len(compared)
    if alone and compared:
        yield f"Compared with nothing, because they explain fewer than half of the texts: {', '.join(alone)}."
    if not methods:
        return
    if contested.texts < LEAST:
        texts = f"{contested.texts:,} text{'s' * (contested.texts != 1)} that count{'s' * (contested.texts == 1)}"
        yield f"{texts} decide{'s' * (contested.texts == 1)} nothing: a claim needs at least {LEAST}."
        return
    least = summary.least_texts
    if contested.texts < least:
        yield f"With {methods} methods, any two of them can be told apart from {least} texts on."
    if not summary.claims:
        return
    rare_share = next(wrong for least, wrong in WRONG_IF_RARE.items() if methods >= least)
    share, skewed, rare = (f"{part:.0%}".replace("%", " %") for part in (ALPHA, WRONG_IF_SKEWED, rare_share))
    yield (
        f"All claims about pairs and chance together are wrong in at most {share} of evaluations like this one, unless "
        "scores are very skewed."
    )
    if contested.texts < RARE_FROM:
        few = f"With {FEW_METHODS} methods or fewer and skewed scores it is up to {skewed}. "
        yield (
            f"{few if methods <= FEW_METHODS else ''}If a method fails completely on one text in twenty, which "
            f"{contested.texts:,} texts may not show, it is up to {rare}."
        )


def _caveats(evaluation: Evaluation) -> Iterator[str]:
    summary = evaluation.summary
    counted = summary.contested(summary.removal).texts
    if LEAST <= counted < _FEW:
        yield f"{counted} texts are few: below {_FEW} these intervals may be too short."
    if copies := evaluation.about.get("copies"):
        yield f"{copies:,} of {len(evaluation):,} texts are copies of others, and no evidence of their own."
    if 0 < summary.silent < len(evaluation):
        yield (
            f"{summary.silent:,} of {len(evaluation):,} texts do not count in these scores: they have one word, or no "
            "order of their words differs from another."
        )
    if summary.is_at_most:
        unknown = sum(count for how, count in summary.limits.items() if how in ("searched", "found"))
        yield (
            f"The best possible order is not known for {unknown:,} of {len(evaluation):,} texts: scores are at most "
            "what they say."
        )
        if found := summary.limits.get("found"):
            yield (
                f"For {found:,} of these it is the best order that the methods judged here and random ones gave. With "
                "other methods beside them all scores may change, but not which of two is better."
            )
    elif math.isfinite(summary.gap) and summary.gap > 0.01:
        yield f"The best possible is certified to {summary.gap:.0%}.".replace("%", " %")
    for removal in summary.removals:
        outside = summary.mean(Key("out-of-distribution", "outside", removal=removal, output=summary.output))
        if outside.value > _OFTEN_OUTSIDE:
            share = f"{outside.value:.0%}".replace("%", " %")
            yield (
                f"With words {_REMOVED.get(removal, removal)}, {share} of the outputs lie outside the range of whole "
                "texts: the model is asked about inputs that it was not made for."
            )
    noise = evaluation.about.get("noise") or {"texts": 0}
    if noise["texts"]:
        yield (
            f"The function answers differently when it is asked the same again (of {noise['texts']:,} texts, logits "
            f"moved by {noise['moved']:.2g}): measures asked it anew, so that no method is judged by the noise that it "
            "was made from, and the noise lowers all scores."
        )
    yield from _sampling(evaluation)
    yield from _left_out(evaluation)


def _left_out(evaluation: Evaluation) -> Iterator[str]:
    """Texts, measures and methods that are not in the numbers, or not as a whole."""
    if cut := evaluation.about.get("cut"):
        yield f"{cut:,} of {len(evaluation):,} texts are longer than the model reads, and were cut."
    if left_out := evaluation.about.get("left_out"):
        of_texts = "text of the data was" if len(left_out) == 1 else "texts of the data were"
        them = "it" if len(left_out) == 1 else "them"
        yield f"{len(left_out):,} {of_texts} left out, because the model cannot read {them}."
    if unfit := evaluation.about.get("unfit"):
        yield f"Not measured: {'; '.join(f'{name} ({why})' for name, why in unfit.items())}."
    if skipped := evaluation.about.get("skipped"):
        yield f"Left out, because they do not apply to this model: {', '.join(skipped)}."


def _sampling(evaluation: Evaluation) -> Iterator[str]:
    """Would more samples change the rank?"""
    moves = [move for signed in (True, False) for move in _moves(evaluation, signed)]
    if moves:
        texts = min(TEXTS, len(evaluation))
        yield f"With four times the samples, on the first {texts} {_texts(evaluation)}: {'; '.join(moves)}."


def _moves(evaluation: Evaluation, signed: bool) -> Iterator[str]:
    """How far each method of one table that draws samples moves, and from which rank to which."""
    summary = evaluation.summary
    place = {"removal": summary.removal, "output": summary.output}
    best = evaluation.of(Key("comprehensiveness", "best above chance", **place))
    names = [name for name, own in evaluation.methods.items() if own["signed"] == signed]
    order = "towards" if signed else "absolute"
    before = {name: evaluation.of(Key("sampling", "above chance", name, order=order, **place)) for name in names}
    for name in names:
        after = evaluation.of(Key("sampling", "above chance, 4 × samples", name, order=order, **place))
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


def interval(score: Interval) -> str:
    """A score with its interval, which one text does not have."""
    if math.isnan(score.low):
        return f"{score.value:.2f}"
    return f"{score.value:.2f} [{score.low:.2f}, {score.high:.2f}]"


def _needed(texts: int | None) -> str:
    return "" if texts is None else f"; about {_rounded(texts):,} needed"


def _rounded(texts: int) -> int:
    """Two digits: it is a guess."""
    if texts < 100:
        return texts
    unit = 10 ** (len(str(texts)) - 2)
    return -(-texts // unit) * unit
