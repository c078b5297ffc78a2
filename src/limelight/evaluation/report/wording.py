"""The verdict: what an evaluation says, in sentences, the most important first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from limelight.evaluation.inference import ALPHA, LEAST, Compared
from limelight.evaluation.limits import KNOWN_FROM_BELOW
from limelight.evaluation.measure import Place, measures, primary
from limelight.evaluation.report.numbers import PAIRS_NAMED, interval, percent, removed, texts_of
from limelight.evaluation.result import Evaluation
from limelight.evaluation.summary import RANKED, Standing, Summary

_FEW = 50
"""Texts below which intervals of skewed scores are too short: their coverage was not shown."""
_HALF_WAY = 0.5
"""Between chance and the best possible order: who is shown to be below has not found "the" words."""
FEW_METHODS, WRONG_IF_SKEWED = 6, 0.12
"""Methods up to which skewed scores make claims wrong more often than promised, and how often (below `RARE_FROM`)."""
RARE_FROM = 200
"""Texts from which failures of one text in twenty are seen."""
WRONG_IF_RARE = {18: 0.10, 10: 0.25, 6: 0.45, 0: 0.60}
"""With so many methods or more, and fewer texts: how often claims are wrong where every second method fails so. All are
simulated by `benchmarks/evaluation_claims.py`, whose tables are in docs/benchmarks-archive.md."""


def verdict(evaluation: Evaluation) -> Iterator[str]:
    """All sentences, from the ranking to what speaks against relying on it."""
    summary = evaluation.summary
    if not any(summary.members(table) for table in RANKED):
        yield f"{primary().label} was not measured, so there is no ranking."
        yield from _of_kind(evaluation)
        yield from _left_out(evaluation)
        return
    most = ", at most" if summary.is_at_most else ""
    yield (
        f"How well each method finds the words that matter to this model, on {len(evaluation):,} "
        f"{texts_of(evaluation)} with words {removed(summary.removal)}: 0 is a random order, 1 the best possible{most} "
        "(95 % intervals)."
    )
    yield from _of_kind(evaluation)
    for table in RANKED:
        for standing in summary.standings(table):
            yield _of_method(evaluation, standing)
    yield from _pairs(summary)
    yield from _of_measures(evaluation, "after pairs")
    yield from _removals(summary)
    yield from _level(summary)
    yield from _caveats(evaluation)


def _of_measures(evaluation: Evaluation, place: Place) -> Iterator[str]:
    for measure in measures():
        if measure.says is not None and measure.says[0] == place:
            yield from measure.says[1](evaluation)


def _of_kind(evaluation: Evaluation) -> Iterator[str]:
    """Sentences on the kind of model, texts and labels, where that does not go without saying."""
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


def _side(evaluation: Evaluation, found: bool) -> str:
    """Clause for what a sign says, of words that are found with it or without."""
    if evaluation.about.get("kind") == "regression":
        return "whether they raise or lower the number"
    return "the side they speak for" if found else "for which side they speak"


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
        return f"{found} finds words that matter, but not {_side(evaluation, False)}."
    what = "some of the words" if standing.score.high < _HALF_WAY else "the words"
    return f"{found} finds {what} that matter{_direction(evaluation, name)}."


def _direction(evaluation: Evaluation, method: str) -> str:
    """Clause on whether a method's signs are right."""
    sign = evaluation.summary.signs.get(method)
    if sign is None:
        return ""
    right = percent(sign.share)
    if sign.verdict == "better":
        return f", and {_side(evaluation, True)} ({right} of the weight has the right sign)"
    if sign.verdict == "worse":
        return f", but with the wrong sign (only {right} of the weight has the right one)"
    return f", but these texts do not tell their sign from a coin's ({right} of the weight has the right one)"


def _pairs(summary: Summary) -> Iterator[str]:
    """Pairs of methods: equal, told apart, undecided; one sentence each."""
    pairs = summary.comparisons
    if equal := [pair for pair in pairs if pair.decision.verdict == "equal"]:
        yield f"Equally good, within 0.05: {_named(equal)}."
    if apart := [pair for pair in pairs if pair.told_apart]:
        yield f"Told apart: {_apart(apart)}."
    if undecided := [pair for pair in pairs if pair.decision.verdict == "undecided"]:
        needed = [pair.decision.texts_needed for pair in undecided if pair.decision.texts_needed is not None]
        about = f"; about {_rounded(max(needed)):,} texts would decide all of them" if needed else ""
        yield f"Undecided with these texts: {_named(undecided)}{about}."


def _named(pairs: Sequence[Compared]) -> str:
    return _first([f"{pair.first} and {pair.second}" for pair in pairs])


def _apart(pairs: Sequence[Compared]) -> str:
    ranked = [pair if pair.comparison.value >= 0 else pair.turned for pair in pairs]
    return _first([f"{pair.first} above {pair.second} by {pair.comparison.value:.2f}" for pair in ranked])


def _first(said: Sequence[str]) -> str:
    more = len(said) - PAIRS_NAMED
    return ", ".join(said[:PAIRS_NAMED]) + (f" and {more} more pairs" if more > 0 else "")


def _removals(summary: Summary) -> Iterator[str]:
    """LIME and Shapley values are made with one removal: whether the ranking holds under the other."""
    for removal, swapped in summary.swapped.items():
        held, pairs = summary.kept(removal)
        if swapped:
            yield f"With words {removed(removal)} instead, the ranking changes: there {_apart(swapped)}."
        elif pairs:
            rest = "" if held == pairs else "; the others are undecided or equally good there"
            stay = "1 pair stays" if held == 1 else f"{held} pairs stay"
            yield f"With words {removed(removal)} instead, {stay} told apart of {pairs}, and none changes places{rest}."


def _level(summary: Summary) -> Iterator[str]:
    """The level of all claims, and what would make them wrong more often."""
    contested = summary.contest(summary.removal)
    compared = contested.methods
    methods = len(compared)
    if not methods:
        return
    if alone := [name for table in RANKED for name in summary.members(table) if name not in compared]:
        yield f"Compared with nothing, because they explain fewer than half of the texts: {', '.join(alone)}."
    if contested.texts < LEAST:
        texts = f"{contested.texts:,} text{'s' * (contested.texts != 1)} that count{'s' * (contested.texts == 1)}"
        yield f"{texts} decide{'s' * (contested.texts == 1)} nothing: a claim needs at least {LEAST}."
        return
    if contested.texts < contested.least:
        yield f"With {methods} methods, any two of them can be told apart from {contested.least} texts on."
    if not summary.claims:
        return
    rare_share = next(wrong for least, wrong in WRONG_IF_RARE.items() if methods >= least)
    share, skewed, rare = map(percent, (ALPHA, WRONG_IF_SKEWED, rare_share))
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
    counted = summary.contest(summary.removal).texts
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
        unknown = sum(count for how, count in summary.limits.items() if how in KNOWN_FROM_BELOW)
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
        yield f"The best possible is certified to {percent(summary.gap)}."
    yield from _of_measures(evaluation, "caveat")
    noise = evaluation.about.get("noise") or {"texts": 0}
    if noise["texts"]:
        yield (
            f"The function answers differently when it is asked the same again (of {noise['texts']:,} texts, logits "
            f"moved by {noise['moved']:.2g}): measures asked it anew, so that no method is judged by the noise that it "
            "was made from, and the noise lowers all scores."
        )
    yield from _of_measures(evaluation, "last caveat")
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


def _needed(texts: int | None) -> str:
    return "" if texts is None else f"; about {_rounded(texts):,} needed"


def _rounded(texts: int) -> int:
    """Two digits: it is a guess."""
    if texts < 100:
        return texts
    unit = 10 ** (len(str(texts)) - 2)
    return -(-texts // unit) * unit
