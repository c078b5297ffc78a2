"""Figure 5 and its claim over the test set: Theorem 4.1 is the gradient that automatic differentiation finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from limelight.models.words.attention import AttentionClassifier
from limelight.models.words.attention_view import heads64, positions64, rows64
from limelight.reproduce.experiment import BLUE, INK, RED, Experiment, Numbers, histogram, new_axes, plain
from limelight.reproduce.folder import Arrays, RunFolder
from limelight.reproduce.lab import Lab, Prepared, joined
from limelight.theory.folding import theorem_4_1

_DOCUMENTS_AT_ONCE = {"cpu": 4, "cuda": 64}
"""Each has K attention matrices of T_max x T_max numbers, and their gradients."""


def autograd(model: AttentionClassifier, target: int, device: str) -> Callable[[Tensor], Tensor]:
    """∇_{e_t} f of the reference forward (Section 2, line by line) in float64: from token numbers (n, T_max) to
    gradients (n, T_max, d_e).

    e_t is the sum of a word's vector and W_p(t), so the derivative by W_p(t) is the one by e_t.
    """
    twin = AttentionClassifier(model.config, model.vocabulary, model.labels).double()
    with torch.no_grad():
        for own, given in zip(twin.parameters(), model.parameters(), strict=True):
            own.copy_(given)
    reference = _Reference(twin.to(device), target)

    def output(W_p: Tensor, ids: Tensor) -> Tensor:
        logit: Tensor = torch.func.functional_call(reference, {"model.W_p": W_p}, (ids,))
        return logit

    gradient, W_p = torch.func.vmap(torch.func.grad(output), in_dims=(None, 0)), twin.W_p.detach()
    return lambda ids: gradient(W_p, ids).detach()


class _Reference(nn.Module):
    def __init__(self, model: AttentionClassifier, target: int) -> None:
        super().__init__()
        self.model, self.target = model, target

    def forward(self, ids: Tensor) -> Tensor:
        return self.model.reference(ids).logits[self.target]


def closed_form(model: AttentionClassifier, target: int, device: str) -> Callable[[Tensor], Tensor]:
    """Theorem 4.1 in float64: from token numbers (n, T_max) to gradients (n, T_max, d_e)."""
    heads, all_words = heads64(model), np.arange(len(model.vocabulary))
    arrays = (heads.r, heads.u[:, target], rows64(model, all_words), positions64(model))
    r, u, W_e, W_p = (torch.from_numpy(array).to(device) for array in arrays)

    def gradient(ids: Tensor) -> Tensor:
        e = W_e[ids] + W_p
        return theorem_4_1((e @ r.T).softmax(dim=1), e @ u.T, u, r)

    return gradient


def padded_ids(model: AttentionClassifier, documents: Sequence[Prepared], device: str) -> Tensor:
    """[CLS], the words, [UNK] up to T_max."""
    return torch.stack([model.encode_document(own.document) for own in documents]).to(device)


# ── Figure 5 ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def compute_figure(lab: Lab) -> Numbers:
    """The word of the strongest gradient in one document: all coordinates, both ways; and the theorem's two terms."""
    model, document = lab.paper_model(), lab.shown
    ids = padded_ids(model, [document], lab.device)
    by_autograd = autograd(model, lab.target, lab.device)(ids)[0, 1 : 1 + document.T].cpu().numpy()
    (question,) = lab.questions([document])
    by_theorem = question.view.gradients(question.direction).gradients
    terms = question.view.gradient_terms(question.direction)
    word = int(np.abs(by_autograd).sum(axis=1).argmax())
    return {
        "document": document.index,
        "word": document.words[word],
        "position": word + 1,
        "target": lab.target_name,
        "autograd": by_autograd[word].tolist(),
        "theorem": by_theorem[word].tolist(),
        "value_term": terms.value_term.mean(axis=0)[word].tolist(),
        "deviation_term": terms.deviation_term.mean(axis=0)[word].tolist(),
        "largest_error": float(np.abs(by_autograd - by_theorem).max()),
        "largest_gradient": float(np.abs(by_autograd).max()),
    }


FIGURE_TABLE = (
    "Theorem 4.1 against autograd, one document | coincide (drawn) | largest difference {largest_error:.1e} of "
    "gradients up to {largest_gradient:.2g} | {equal}; the paper draws a model with d_e = 80, this is that of its text"
)
FIGURE_CAPTION = (
    "All {coordinates} coordinates of the gradient by the embedding of “{word}” (position {position}), logit of "
    "“{target}”. Rings: automatic differentiation. Dots: Theorem 4.1. The lines are the theorem's two terms: what the "
    "word's value does, and what moving attention towards it does."
)


def prose_of_figure(numbers: Numbers) -> dict[str, Any]:
    return {"equal": _verdict(numbers["largest_error"]), "coordinates": len(numbers["theorem"])}


def _verdict(error: float) -> str:
    return "equal up to rounding" if error < 1e-9 else "differs"


def draw_figure(folder: RunFolder, numbers: Numbers) -> Any:
    figure, (wide, square) = new_axes(12, 3.9, 1, 2, width_ratios=[3, 1])
    x = np.arange(1, len(numbers["theorem"]) + 1)
    wide.axhline(0.0, color="#c4c7cd", linewidth=0.8)
    wide.plot(x, numbers["value_term"], color="#7aa6d6", linewidth=1.1, label="value term")
    wide.plot(x, numbers["deviation_term"], color="#e0a44a", linewidth=1.1, label="deviation term")
    wide.plot(x, numbers["autograd"], "o", markersize=7, markerfacecolor="none", color=BLUE, label="autograd")
    wide.plot(x, numbers["theorem"], ".", color=RED, markersize=5, label="Theorem 4.1")
    wide.set(xlabel="coordinate", ylabel=f"gradient by “{plain(numbers['word'])}”")
    wide.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    square.axline((0, 0), slope=1, color=INK, linewidth=0.8)
    square.plot(numbers["autograd"], numbers["theorem"], ".", color=RED)
    square.set(xlabel="autograd", ylabel="Theorem 4.1")
    square.locator_params(nbins=4)
    return figure


FIGURE = Experiment(
    "fig5",
    "Figure 5: Theorem 4.1 on one word",
    compute_figure,
    draw_figure,
    FIGURE_TABLE,
    FIGURE_CAPTION,
    prose_of_figure,
    over_documents=False,
)


# ── over the test set ─────────────────────────────────────────────────────────────────────────────────────────────────


def compute_errors(lab: Lab) -> Numbers:
    model = lab.paper_model()
    true, formula = autograd(model, lab.target, lab.device), closed_form(model, lab.target, lab.device)
    at_once = _DOCUMENTS_AT_ONCE[torch.device(lab.device).type]

    def compute(documents: Sequence[Prepared]) -> Arrays:
        found = []
        for start in range(0, len(documents), at_once):
            group = documents[start : start + at_once]
            ids = padded_ids(model, group, lab.device)
            found.append(_errors(true(ids), formula(ids), group))
        return joined(found)

    errors = lab.over_documents("gradients", compute)
    lab.folder.write_arrays("gradient-error", errors)
    return {
        "documents": len(lab.documents),
        "largest": float(errors["largest"].max()),
        "mean": float(errors["mean"].mean()),
        "largest_gradient": float(errors["gradient"].max()),
        "mean_gradient": float(errors["mean_gradient"].mean()),
        "largest_at_cls": float(errors["at_cls"].max()),
        "mean_at_cls": float(errors["at_cls"].mean()),
    }


def _errors(true: Tensor, formula: Tensor, documents: Sequence[Prepared]) -> Arrays:
    """Per document, over the words and coordinates: largest and mean difference, and the gradients' own size."""
    difference, size = (true - formula).abs(), true.abs()
    of_words = [(difference[i, 1 : 1 + own.T], size[i, 1 : 1 + own.T]) for i, own in enumerate(documents)]
    columns = {
        "largest": torch.stack([errors.max() for errors, _ in of_words]),
        "mean": torch.stack([errors.mean() for errors, _ in of_words]),
        "gradient": torch.stack([sizes.max() for _, sizes in of_words]),
        "mean_gradient": torch.stack([sizes.mean() for _, sizes in of_words]),
        "at_cls": difference[:, 0].amax(dim=1),
    }
    return {name: column.cpu().numpy() for name, column in columns.items()}


ERRORS_TABLE = """
Theorem 4.1 against autograd, all words of all documents | — | largest {largest:.1e}, mean {mean:.1e} \
| {equal} (gradients up to {largest_gradient:.2g})
the same at [CLS], which also sets the query | “for all t” | up to {largest_at_cls:.2g} \
| the theorem holds for all tokens but [CLS]
"""
ERRORS_CAPTION = (
    "Largest difference between Theorem 4.1 and automatic differentiation (float64) over all words and coordinates, "
    "for each of {documents:,} documents: rounding, beside the size of the gradients themselves. At [CLS] the formula "
    "lacks the query's own derivative; there the difference is as large as a gradient."
)


def prose_of_errors(numbers: Numbers) -> dict[str, str]:
    return {"equal": _verdict(numbers["largest"])}


def draw_errors(folder: RunFolder, numbers: Numbers) -> Any:
    arrays = folder.read_arrays("gradient-error")
    figure, axis = new_axes(9, 3.6)
    series = (
        ("largest", "difference, words", RED),
        ("gradient", "largest gradient of a word", BLUE),
        ("at_cls", "difference at [CLS]", "#d98a1f"),
    )
    bins = np.geomspace(1e-18, 100.0, 121)
    for name, label, colour in series:
        histogram(axis, arrays[name], bins, color=colour, alpha=0.7, label=label)
    axis.set(xlabel="absolute value (logarithmic)")
    axis.legend(loc="upper center")
    return figure


ERRORS = Experiment(
    "gradient-error",
    "Theorem 4.1 over the test set",
    compute_errors,
    draw_errors,
    ERRORS_TABLE,
    ERRORS_CAPTION,
    prose_of_errors,
)
