"""Attention ignores the final layer (Section 4.2 and 5.2): how often that matters, measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from limelight.core.arrays import Floats
from limelight.reproduce import passes
from limelight.reproduce.experiment import BLUE, GREY, INK, RED, Experiment, Numbers, new_axes, percent, plain
from limelight.reproduce.folder import Arrays, RunFolder
from limelight.reproduce.lab import Asked, Lab, Prepared, evenly, joined
from limelight.statistics.correlation import comparisons, correlation, kendall
from limelight.theory.folding import FoldedDocument
from limelight.theory.ratio_game import RatioGame

NEAR_ZERO = 0.1
"""W_ℓ v counts as near zero below this part of the document's largest."""
REPLACED = 2000
"""Documents in which W_ℓ v is replaced: each needs exact values of its own."""
EXAMPLES = 8
_POINTS = 20_000


@dataclass(frozen=True)
class Words:
    """The words of one document: attention, the W_ℓ v that it carries, and LIME's limit."""

    alpha: Floats
    value: Floats
    limit: Floats

    @property
    def top(self) -> int:
        """The most attended word."""
        return int(self.alpha.argmax())

    @property
    def top_value(self) -> float:
        """Its W_ℓ v, as a part of the document's largest."""
        return float(self.value[self.top] / np.abs(self.value).max())


def compute(lab: Lab) -> Numbers:
    closed, exact = passes.closed_forms(lab), passes.exact(lab)
    columns = {"alpha": closed["alpha-avg"], "value": closed["value"], "limit": exact["lime_limit"]}
    documents = [Words(*own) for own in zip(*map(lab.split, columns.values()), strict=True)]
    value = np.array([words.top_value for words in documents])
    limit = np.array([words.limit[words.top] for words in documents])
    # A sample of words for the figure.
    total, rng = len(columns["alpha"]), np.random.default_rng(lab.seed)
    picked = np.arange(total) if total <= _POINTS else np.sort(rng.choice(total, _POINTS, replace=False))
    lab.folder.write_arrays("final-layer", {name: c[picked].astype(np.float32) for name, c in columns.items()})
    both = torch.from_numpy(np.stack([columns["alpha"], columns["limit"]])).to(lab.device)
    tau = torch.stack([kendall(comparisons(rows))[0, 1] for rows in torch.split(both, lab.sizes.tolist(), dim=1)])
    return {
        "documents": len(documents),
        "target": lab.target_name,
        "near_zero": NEAR_ZERO,
        "top_word": {
            "value_near_zero": float((np.abs(value) < NEAR_ZERO).mean()),
            "value_negative": float((value <= -NEAR_ZERO).mean()),
            "limit_negative": float((limit < 0).mean()),
        },
        "words_negative_limit": float((columns["limit"] < 0).mean()),
        # The part of pairs of words where the one with more attention has the smaller weight, mean over documents.
        "pairs_contradicting": float((1.0 - tau.nanmean()) / 2.0),
        "examples": _examples(lab, documents),
        "replaced": _replaced(lab, documents),
    }


def _examples(lab: Lab, documents: Sequence[Words]) -> list[Numbers]:
    """The documents whose most attended word has the most attention, among those where W_ℓ v is not positive."""
    odd = [(own, words) for own, words in zip(lab.documents, documents, strict=True) if words.top_value < NEAR_ZERO]
    odd.sort(key=lambda pair: -pair[1].alpha[pair[1].top])
    return [
        {
            "document": own.index,
            "word": own.features.names[words.top],
            "attention": float(words.alpha[words.top]),
            "value": float(words.value[words.top]),
            "lime_limit": float(words.limit[words.top]),
        }
        for own, words in odd[:EXAMPLES]
    ]


def _replaced(lab: Lab, documents: Sequence[Words]) -> Numbers:
    """Give every W_ℓ v the same sign, keep all else, and compare attention with LIME again."""

    def compute(members: Sequence[Prepared]) -> Arrays:
        games = [constant_sign_game(question) for question in lab.questions(members)]
        return joined({"lime_limit": limit} for limit, _ in passes.exact_values(lab, games, target=0))

    picked = evenly(len(documents), REPLACED)
    weights = lab.over_documents("constant sign", compute, [lab.documents[i] for i in picked])["lime_limit"]
    after = np.split(weights, np.cumsum(lab.sizes[picked])[:-1])
    chosen = [documents[i] for i in picked]
    alpha, before = [words.alpha for words in chosen], [words.limit for words in chosen]
    return {
        "documents": len(picked),
        "correlation_before": _mean_correlation(alpha, before),
        "correlation_absolute_before": _mean_correlation(alpha, map(np.abs, before)),
        "correlation_after": _mean_correlation(alpha, after),
        "top_word_negative_after": float(
            np.mean([limit[words.top] < 0 for words, limit in zip(chosen, after, strict=True)])
        ),
    }


def _mean_correlation(one: Iterable[Floats], other: Iterable[Floats]) -> float:
    """Mean of Pearson's correlations over documents; documents without one are left out."""
    return float(np.nanmean([correlation(np.stack(pair))[0, 1] for pair in zip(one, other, strict=True)]))


def constant_sign_game(question: Asked) -> RatioGame:
    """The game with |W_ℓ v| for W_ℓ v, for the target alone: a final layer that only ever speaks for the class."""
    folded = question.view.folded().of_class(question.quantity.target)
    return _Absolute(**vars(folded)).masking(question.features.owned)


class _Absolute(FoldedDocument):
    """A document whose values are the absolute ones."""

    @property
    def values(self) -> Floats:
        return np.abs(super().values)

    @property
    def removed_values(self) -> Floats:
        return np.abs(super().removed_values)


TABLE = """
most attended word: W_ℓ v near zero / negative | possible (K = 1 argument) \
| {value_near_zero} / {value_negative} of documents | the case is real
most attended word speaks against the class (LIME, exact) | — | {limit_negative} of documents | attention has no sign
pairs of words where more attention means less weight | — | {contradicting} | 50 % would be no relation at all
correlation of α-avg with LIME (exact), W_ℓ v as it is → of one sign | — \
| {replaced[correlation_before]:.3f} → {replaced[correlation_after]:.3f} ({replaced[documents]:,} documents; with \
|LIME| {replaced[correlation_absolute_before]:.3f}) | {replaced_verdict}
"""
CAPTION = (
    "Left: words of {documents:,} documents by attention (α-avg) and by the W_ℓ v that this attention carries, for "
    "“{target}”; red words speak against it according to LIME (exact). Much attention goes with either sign. Right: "
    "how often the most attended word does not speak for the class, and what happens when W_ℓ v is replaced by its "
    "absolute value."
)


def prose(numbers: Numbers) -> dict[str, str]:
    return {
        **{name: percent(part) for name, part in numbers["top_word"].items()},
        "contradicting": percent(numbers["pairs_contradicting"]),
        "replaced_verdict": _replaced_verdict(numbers["replaced"]),
    }


def _replaced_verdict(replaced: Numbers) -> str:
    if replaced["correlation_after"] < replaced["correlation_before"] + 0.1:
        return "the sign of W_ℓ v is not what separates them"
    if replaced["correlation_after"] < 0.5:
        return "the sign matters, but attention does not explain the model without it either"
    return "with one sign, attention says much of what LIME says"


def draw(folder: RunFolder, numbers: Numbers) -> Any:
    arrays = folder.read_arrays("final-layer")
    figure, (left, right) = new_axes(12.5, 4.8, 1, 2, width_ratios=[3, 2])
    for against, colour, label in ((False, BLUE, "speaks for"), (True, RED, "speaks against")):
        chosen = (arrays["limit"] < 0) == against
        left.plot(
            arrays["alpha"][chosen], arrays["value"][chosen], ".", markersize=3, alpha=0.35, color=colour,
            label=f"{label} “{plain(numbers['target'])}”", rasterized=True,
        )  # fmt: skip
    left.axhline(0.0, color=INK, linewidth=0.8)
    left.set(xscale="log", xlim=(max(float(arrays["alpha"].min()), 1e-6), 1.0))
    left.set(xlabel="attention on a word, α-avg (logarithmic)", ylabel=r"$W_\ell v$ that it carries")
    left.legend(loc="upper left", markerscale=4)
    top, replaced = numbers["top_word"], numbers["replaced"]
    bars = (
        ("most attended word:\n$W_\\ell v$ near zero", top["value_near_zero"], GREY),
        ("most attended word:\n$W_\\ell v$ negative", top["value_negative"], RED),
        ("most attended word:\nspeaks against (LIME, exact)", top["limit_negative"], RED),
        ("the same with\n$|W_\\ell v|$ in place of $W_\\ell v$", replaced["top_word_negative_after"], BLUE),
        ("pairs of words: more attention,\nless weight", numbers["pairs_contradicting"], GREY),
    )
    y = np.arange(len(bars))[::-1]
    right.barh(y, [100 * height for _, height, _ in bars], color=[colour for *_, colour in bars], height=0.6)
    for position, (_, height, _) in zip(y, bars, strict=True):
        right.text(100 * height + 1, position, percent(height), va="center")
    right.set_yticks(y, [name for name, *_ in bars])
    longest = 122 * max(height for _, height, _ in bars)
    right.set(xlim=(0, max(65.0, longest)), xlabel="% of documents (last bar: of pairs)")
    return figure


EXPERIMENT = Experiment(
    "final-layer", "What attention cannot see: the final layer", compute, draw, TABLE, CAPTION, prose
)
