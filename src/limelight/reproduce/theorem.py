"""When does Theorem 5.1 hold? Its error against the exact value, by what the paper conjectures it depends on.

Beside it the mean field, the formula that holds on trained models, and Theorem 5.1 against the exact value for
deletion, where each occurrence is a feature.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from limelight.core.arrays import Floats
from limelight.reproduce import passes
from limelight.reproduce.experiment import GREEN, INK, PURPLE, RED, Experiment, Numbers, new_axes, pm
from limelight.reproduce.folder import RunFolder
from limelight.reproduce.lab import Lab
from limelight.statistics.correlation import rank_correlation
from limelight.statistics.sign_flips import mean_and_spread

CAUSES = {
    "d": "distinct words d",
    "filled": "T / T_max",
    "largest_attention": "largest attention weight",
    "multiplicity": "most frequent word's share of T",
}
FORMULAS = {
    "theorem": ("Theorem 5.1", RED),
    "theorem_corrected": ("Theorem 5.1, corrected", GREEN),
    "mean_field": ("mean field, 2 dominant words", PURPLE),
}
SMALL = 0.2
"""A relative error below this counts as a good match."""


def compute(lab: Lab) -> Numbers:
    model = lab.paper_model()
    exact, formulas, deletion = passes.exact(lab), passes.formulas(lab), passes.deletion(lab)
    causes: dict[str, Floats] = {
        "d": lab.sizes.astype(np.float64),
        "filled": np.array([document.T / model.config.T_max for document in lab.documents]),
        "largest_attention": formulas["largest_attention"],
        "multiplicity": np.array([document.multiplicity.max() / document.T for document in lab.documents]),
    }
    size = np.sqrt(lab.sum_by_document(exact["lime_limit"] ** 2))
    errors = {
        name: np.sqrt(lab.sum_by_document((formulas[name] - exact["lime_limit"]) ** 2)) / size for name in FORMULAS
    }
    deleting = {name: deletion[name] / deletion["norm"] for name in passes.THEOREM}
    columns = {**causes, **errors, **{f"{name}_deleting": error for name, error in deleting.items()}}
    lab.folder.write_arrays("theorem", {name: column.astype(np.float32) for name, column in columns.items()})
    return {
        "documents": len(lab.documents),
        "small": SMALL,
        "relative_error": {name: mean_and_spread(error) for name, error in errors.items()},
        "relative_error_deleting": {name: mean_and_spread(error) for name, error in deleting.items()},
        "high": {name: float(np.quantile(error, 0.9)) for name, error in errors.items()},
        "largest_attention": mean_and_spread(causes["largest_attention"]),
        "share_small": {name: float((error < SMALL).mean()) for name, error in errors.items()},
        "share_small_deleting": {name: float((error < SMALL).mean()) for name, error in deleting.items()},
        "rank_correlation": {
            name: {cause: _rank_correlation(error, values) for cause, values in causes.items()}
            for name, error in errors.items()
        },
    }


def _rank_correlation(one: Floats, other: Floats) -> float:
    rho = rank_correlation(one, other)
    return 0.0 if np.isnan(rho) else rho


def sentence(numbers: Numbers) -> str:
    """The error of the theorem in the median document, and what it depends on."""
    printed, corrected = (numbers["rank_correlation"][name] for name in ("theorem", "theorem_corrected"))
    cause = max(corrected, key=lambda name: abs(corrected[name]))
    errors = numbers["relative_error"]
    return (
        f"In the median document Theorem 5.1 is off by {errors['theorem']['median']:.0%} of the weights' norm as "
        f"printed and by {errors['theorem_corrected']['median']:.0%} corrected: both assume that no word dominates, "
        f"but the largest attention weight of a head is {numbers['largest_attention']['median']:.2f} there; the "
        f"corrected error depends most on {CAUSES[cause]} (rank correlation {corrected[cause]:+.2f}), and on word "
        f"multiplicity, which the paper conjectures, with {corrected['multiplicity']:+.2f} "
        f"({printed['multiplicity']:+.2f} as printed)."
    )


TABLE = """
relative error of Theorem 5.1 against the exact value | “a very good match” | {spread[theorem]} | {small[theorem]}
the same, theorem corrected | — | {spread[theorem_corrected]} | {small[theorem_corrected]}
the same, mean field with two dominant words per head | — | {mean_field}, median \
{relative_error[mean_field][median]:.3f}, 90 % quantile {high[mean_field]:.3f} | {small[mean_field]}
Theorem 5.1 against the exact value for deletion, each occurrence a feature | — \
| {spread_deleting[theorem]} | {small_deleting[theorem]}
Theorem 5.1, corrected against the exact value for deletion, each occurrence a feature | — \
| {spread_deleting[theorem_corrected]} | {small_deleting[theorem_corrected]}
when it holds | large T, low multiplicity (conjecture) | {sentence} | measured
"""
CAPTION = (
    "{sentence} Each panel: median (line) and quartiles (band) of ‖formula - exact‖ / ‖exact‖ in up to ten groups of "
    "documents of about equal size, of {documents:,} in all."
)


def prose(numbers: Numbers) -> dict[str, Any]:
    small = f"below {numbers['small']:.0%} in {{:.1%}} of documents"
    words: dict[str, Any] = {
        "sentence": sentence(numbers),
        "mean_field": pm(numbers["relative_error"]["mean_field"]),
    }
    for how in ("", "_deleting"):
        errors, shares = numbers[f"relative_error{how}"], numbers[f"share_small{how}"]
        words[f"spread{how}"] = {name: f"{pm(own, 2)}, median {own['median']:.2f}" for name, own in errors.items()}
        words[f"small{how}"] = {name: small.format(share) for name, share in shares.items()}
    return words


def draw(folder: RunFolder, numbers: Numbers) -> Any:
    arrays = folder.read_arrays("theorem")
    figure, axes = new_axes(14, 3.9, 1, len(CAUSES), sharey=True)
    for axis, (cause, label) in zip(axes, CAUSES.items(), strict=True):
        for name, (written, colour) in FORMULAS.items():
            centres, quartiles = _grouped(arrays[cause], arrays[name])
            axis.fill_between(centres, quartiles[:, 0], quartiles[:, 2], color=colour, alpha=0.18, linewidth=0)
            axis.plot(centres, quartiles[:, 1], "o-", color=colour, markersize=4, label=written)
        axis.axhline(1.0, color=INK, linewidth=0.8, linestyle=":")
        both = numbers["rank_correlation"]
        axis.set_title(f"rank correlation {', '.join(f'{both[name][cause]:+.2f}' for name in FORMULAS)}", fontsize=9)
        axis.set(xlabel=label)
        axis.set_ylim(bottom=0.0)
    axes[0].set(ylabel="relative error, norm 2")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def _grouped(cause: Floats, error: Floats, groups: int = 10) -> tuple[Floats, Floats]:
    """Medians of the cause and quartiles of the error in groups of about equal size; equal causes stay together."""
    edges = np.unique(np.quantile(cause, np.linspace(0.0, 1.0, groups + 1)))
    group = np.searchsorted(edges[1:-1], cause, side="right")
    parts = [np.flatnonzero(group == i) for i in np.unique(group)]
    centres = np.array([np.median(cause[part]) for part in parts])
    return centres, np.array([np.quantile(error[part], [0.25, 0.5, 0.75]) for part in parts])


EXPERIMENT = Experiment("theorem", "When Theorem 5.1 holds", compute, draw, TABLE, CAPTION, prose)
