"""Methods that answer the same question by kindred means, for views that show many of them."""

from __future__ import annotations

from collections.abc import Sequence

from limelight.explanation.result import Explanation

_FAMILIES = {
    "attention": ("alpha-avg", "alpha-max", "rollout"),
    "LIME": ("lime", "lime-limit", "lime-proposition", "lime-theorem", "lime-mean-field"),
    "gradients": ("g-avg", "g-l1", "g-l2", "gxi", "integrated-gradients"),
    "Shapley": ("shapley", "banzhaf"),
}
_FAMILY_OF = {method: family for family, methods in _FAMILIES.items() for method in methods}


def family_of(explanation: Explanation) -> str:
    """What its kin is called; a method of nobody's is a family of its own."""
    return _FAMILY_OF.get(explanation.method, explanation.label)


def by_family(explanations: Sequence[Explanation]) -> dict[str, list[int]]:
    """The numbers of the explanations of each family, in the order in which the families come."""
    families: dict[str, list[int]] = {}
    for i, explanation in enumerate(explanations):
        families.setdefault(family_of(explanation), []).append(i)
    return families
