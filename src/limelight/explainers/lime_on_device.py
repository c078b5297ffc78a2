"""LIME of many documents of a single attention layer, where the model lives: drawn, answered and fitted by torch.

Several runs of a document are one block of samples. Removals share the coalitions, and so the regression's matrix.
Perturbed outputs are sums in float32 (masking: two thin products; deleting: rows of a table over words and positions);
the regression is in float64.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from limelight.core.arrays import Floats
from limelight.core.memory import check_memory
from limelight.errors import NumericalError
from limelight.explainers.exact import folded_document
from limelight.explainers.method import Question
from limelight.explainers.sampling.designs import sample_coalitions_on
from limelight.explainers.surrogate import (
    LEAST_WEIGHT,
    Equations,
    Surrogate,
    inverses_of_tensors,
    normal_equations,
    surrogate_of,
    too_narrow,
)
from limelight.models.interface import FoldedView, Removal
from limelight.theory.lime_kernel import kernel_by_size
from limelight.theory.ratio_game import mean_of_quotients

if TYPE_CHECKING:  # torch takes a second to import, which a list of methods does without
    import torch
    from torch import Tensor

_SOLVED_AT_ONCE = 64
"""Documents whose regressions are solved in one call."""

_BYTES_PER_ENTRY = 24
"""Bytes of an entry of a coalition: keys, sorted keys and their order while drawing; numbers and products in a fit."""


@dataclass(frozen=True)
class LimeSettings:
    """Settings that decide LIME's weights beside the document and the seed."""

    n_samples: int = 5000
    kernel_width: float = 0.25
    ridge: float = 1.0
    original_first: bool = True


@dataclass(frozen=True)
class Samples:
    """One document's coalitions (runs, n, d), their outputs (runs, n, removals) and weights (runs, n), on a device."""

    kept: Tensor
    outputs: Tensor
    weights: Tensor
    of_document: Tensor  # (removals,) with every feature kept


def lime_on_device(
    questions: Sequence[Question[FoldedView]],
    seeds: Sequence[int],
    removals: Sequence[Removal],
    settings: LimeSettings,
) -> Iterator[tuple[Surrogate, Floats]]:
    """Fit LIME for each document under all removals, with errors, and say what the model says of the document itself.

    The result of a document depends on its own seed alone.
    """
    for sample, equations, inverse in _solved(questions, seeds, removals, settings, 1):
        fit = surrogate_of(equations, inverse, sample.kept, sample.outputs, sample.weights)
        names = ("coefficients", "stderr", "intercept", "r2", "scatter", "largest", "gain", "effective")
        yield (
            Surrogate(**{name: getattr(fit, name)[0].cpu().numpy() for name in names}),
            sample.of_document.cpu().numpy(),
        )


def coefficients_of_runs(
    questions: Sequence[Question[FoldedView]],
    seeds: Sequence[int],
    removals: Sequence[Removal],
    settings: LimeSettings,
    runs: int,
) -> list[Floats]:
    """Coefficients of several runs under each removal, for each document, without errors: (removals, runs, d)."""
    return [
        np.ascontiguousarray((inverse @ equations.moment).cpu().numpy().transpose(2, 0, 1))
        for _, equations, inverse in _solved(questions, seeds, removals, settings, runs)
    ]


def _solved(
    questions: Sequence[Question[FoldedView]],
    seeds: Sequence[int],
    removals: Sequence[Removal],
    settings: LimeSettings,
    runs: int,
) -> Iterator[tuple[Samples, Equations, Tensor]]:
    """Samples of each document, their normal equations, and the inverse of H: some dozens of documents at once."""
    import torch

    device = torch.device(questions[0].view.device)
    for start in range(0, len(questions), _SOLVED_AT_ONCE):
        group = range(start, min(start + _SOLVED_AT_ONCE, len(questions)))
        samples = [draw_and_ask(questions[i], seeds[i], removals, settings, runs, device) for i in group]
        equations = [normal_equations(own.kept.double(), own.outputs, own.weights, settings.ridge) for own in samples]
        inverses = inverses_of_tensors([own.H for own in equations], settings.ridge)
        yield from zip(samples, equations, inverses, strict=True)


def draw_and_ask(
    question: Question[FoldedView],
    seed: int,
    removals: Sequence[Removal],
    settings: LimeSettings,
    runs: int,
    device: torch.device,
) -> Samples:
    """Draw the coalitions of all runs of a document, and ask for the target's logit under each removal."""
    import torch

    d, n = len(question.features), settings.n_samples
    check_memory(
        runs * n * d * _BYTES_PER_ENTRY,
        f"LIME with n_samples={n} and {d} features on {device}",
        "ask for fewer samples",
        torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else None,
    )
    kept = sample_coalitions_on(device, d, n, runs, seed, settings.original_first)
    kernel = torch.from_numpy(kernel_by_size(d, settings.kernel_width)).to(device)
    removed = d - kept.sum(dim=1)
    weights = kernel[removed].view(runs, n)
    others = (weights * (removed > 0).view(runs, n)).sum(dim=1)
    least = float(others.min())
    if least < LEAST_WEIGHT:
        raise too_narrow(weights[others.argmin()].cpu().numpy(), least, d, settings.kernel_width)
    everything = torch.ones((1, d), dtype=torch.bool, device=device)
    asked = kept if settings.original_first else torch.cat([everything, kept])
    outputs = torch.stack([_outputs(question, asked, removal) for removal in removals], dim=1)
    of_document, outputs = outputs[0], outputs[len(asked) - len(kept) :]
    if not outputs.isfinite().all():
        raise NumericalError("the model gave outputs that are not finite: check its weights")
    question.progress.advance(runs * n)
    return Samples(kept.view(runs, n, d), outputs.view(runs, n, len(removals)), weights, of_document)


def _outputs(question: Question[FoldedView], kept: Tensor, removal: Removal) -> Tensor:
    """The target's logit for each coalition (n, d): (n,) in float64."""
    import torch

    from limelight.theory.deletion import DeletionTables

    folded = folded_document(question)
    if removal == "mask":
        game = folded.masking(question.features.owned)
        tables = game.tables().map(lambda table: torch.from_numpy(table).to(kept.device, torch.float32))
        return mean_of_quotients(tables.sums(kept.float()), game.n_heads)[:, 0].double()
    owners = torch.from_numpy(question.features.owners.copy()).to(kept.device)
    there = kept[:, owners] | (owners < 0)
    return DeletionTables(folded, torch.float32, kept.device).logits(there)[:, 0]
