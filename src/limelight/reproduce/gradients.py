"""Figure 5 and its claim over the test set: Theorem 4.1 is the gradient that automatic differentiation finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from limelight.models.words.attention import AttentionClassifier
from limelight.models.words.attention_view import heads64, positions64, rows64
from limelight.reproduce.documents import Prepared
from limelight.reproduce.drawing import BLUE, INK, RED, new_figure, plain
from limelight.reproduce.experiment import Experiment, Numbers, Row
from limelight.reproduce.folder import Arrays, RunFolder
from limelight.reproduce.lab import Lab
from limelight.theory.gradient import theorem_4_1

_DOCUMENTS_AT_ONCE = {"cpu": 4, "cuda": 64}
"""Each has K attention matrices of T_max x T_max numbers, and their gradients."""


class Autograd:
    """∇_{e_t} f of the reference forward (Section 2, line by line) in float64, for a batch of documents.

    e_t is the sum of a word's vector and W_p(t), so the derivative by W_p(t) is the one by e_t.
    """

    def __init__(self, model: AttentionClassifier, target: int, device: str) -> None:
        twin = AttentionClassifier(model.config, model.vocabulary, model.labels).double()
        with torch.no_grad():
            for own, given in zip(twin.parameters(), model.parameters(), strict=True):
                own.copy_(given)
        self._module = _Reference(twin.to(device), target)
        self._gradient = torch.func.vmap(torch.func.grad(self._output), in_dims=(None, 0))
        self.W_p: Tensor = twin.W_p.detach()

    def _output(self, W_p: Tensor, ids: Tensor) -> Tensor:
        output: Tensor = torch.func.functional_call(self._module, {"model.W_p": W_p}, (ids,))
        return output

    def __call__(self, ids: Tensor) -> Tensor:
        """Token numbers (n, T_max) to gradients (n, T_max, d_e)."""
        gradient: Tensor = self._gradient(self.W_p, ids)
        return gradient.detach()


class _Reference(nn.Module):
    def __init__(self, model: AttentionClassifier, target: int) -> None:
        super().__init__()
        self.model, self.target = model, target

    def forward(self, ids: Tensor) -> Tensor:
        return self.model.reference(ids).logits[self.target]


class ClosedForm:
    """Theorem 4.1 for a batch of documents, in float64."""

    def __init__(self, model: AttentionClassifier, target: int, device: str) -> None:
        heads, all_words = heads64(model), np.arange(len(model.vocabulary))
        arrays = (heads.r, heads.u[:, target], rows64(model, all_words), positions64(model))
        self.r, self.u, self.W_e, self.W_p = (torch.from_numpy(array).to(device) for array in arrays)

    def __call__(self, ids: Tensor) -> Tensor:
        e = self.W_e[ids] + self.W_p
        return theorem_4_1((e @ self.r.T).softmax(dim=1), e @ self.u.T, self.u, self.r)


def padded_ids(model: AttentionClassifier, documents: Sequence[Prepared], device: str) -> Tensor:
    """[CLS], the words, [UNK] up to T_max."""
    return torch.stack([model.encode_document(own.document) for own in documents]).to(device)


# ── Figure 5 ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def compute_figure(lab: Lab) -> Numbers:
    """The word of the strongest gradient in one document: all coordinates, both ways; and the theorem's two terms."""
    model, document = lab.paper_model("fig5"), lab.shown
    ids = padded_ids(model, [document], lab.device)
    by_autograd = Autograd(model, lab.target, lab.device)(ids)[0, 1 : 1 + document.T].cpu().numpy()
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


def rows_figure(numbers: Numbers) -> list[Row]:
    return [
        Row(
            "Theorem 4.1 against autograd, one document",
            "coincide (drawn)",
            f"largest difference {numbers['largest_error']:.1e} of gradients up to {numbers['largest_gradient']:.2g}",
            f"{_verdict(numbers['largest_error'])}; the paper draws a model with d_e = 80, this is that of its text",
        )
    ]


def _verdict(error: float) -> str:
    return "equal up to rounding" if error < 1e-9 else "differs"


def caption_figure(numbers: Numbers) -> str:
    return (
        f"All {len(numbers['theorem'])} coordinates of the gradient by the embedding of “{numbers['word']}” (position "
        f"{numbers['position']}), logit of “{numbers['target']}”. Rings: automatic differentiation. Dots: Theorem "
        "4.1. The lines are the theorem's two terms: what the word's value does, and what moving attention towards "
        "it does."
    )


def draw_figure(folder: RunFolder, numbers: Numbers) -> Any:
    figure = new_figure(12, 3.9)
    axes = figure.subplots(1, 2, width_ratios=[3, 1])
    x = np.arange(1, len(numbers["theorem"]) + 1)
    wide, square = axes
    wide.axhline(0.0, color="#c4c7cd", linewidth=0.8)
    wide.plot(x, numbers["value_term"], color="#7aa6d6", linewidth=1.1, label="value term")
    wide.plot(x, numbers["deviation_term"], color="#e0a44a", linewidth=1.1, label="deviation term")
    wide.plot(x, numbers["autograd"], "o", markersize=7, markerfacecolor="none", color=BLUE, label="autograd")
    wide.plot(x, numbers["theorem"], ".", color=RED, markersize=5, label="Theorem 4.1")
    wide.set_xlabel("coordinate")
    wide.set_ylabel(f"gradient by “{plain(numbers['word'])}”")
    wide.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    square.axline((0, 0), slope=1, color=INK, linewidth=0.8)
    square.plot(numbers["autograd"], numbers["theorem"], ".", color=RED)
    square.set_xlabel("autograd")
    square.set_ylabel("Theorem 4.1")
    square.locator_params(nbins=4)
    return figure


FIGURE = Experiment(
    "fig5",
    "Figure 5: Theorem 4.1 on one word",
    compute_figure,
    draw_figure,
    rows_figure,
    caption_figure,
    over_documents=False,
)


# ── over the test set ─────────────────────────────────────────────────────────────────────────────────────────────────


def compute_errors(lab: Lab) -> Numbers:
    model = lab.paper_model("gradient-error")
    autograd, closed_form = Autograd(model, lab.target, lab.device), ClosedForm(model, lab.target, lab.device)
    at_once = _DOCUMENTS_AT_ONCE[torch.device(lab.device).type]

    def compute(documents: Sequence[Prepared]) -> Arrays:
        pieces = []
        for start in range(0, len(documents), at_once):
            group = documents[start : start + at_once]
            pieces.append(_errors(autograd, closed_form, padded_ids(model, group, lab.device), group))
        return {key: np.concatenate([one[key] for one in pieces]) for key in pieces[0]}

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


def _errors(autograd: Autograd, closed_form: ClosedForm, ids: Tensor, documents: Sequence[Prepared]) -> Arrays:
    """Per document, over the words and coordinates: largest and mean difference, and the gradients' own size."""
    true, formula = autograd(ids), closed_form(ids)
    difference, size = (true - formula).abs(), true.abs()
    columns: dict[str, list[Tensor]] = {"largest": [], "mean": [], "gradient": [], "mean_gradient": [], "at_cls": []}
    for i, document in enumerate(documents):
        words = slice(1, 1 + document.T)
        columns["largest"].append(difference[i, words].max())
        columns["mean"].append(difference[i, words].mean())
        columns["gradient"].append(size[i, words].max())
        columns["mean_gradient"].append(size[i, words].mean())
        columns["at_cls"].append(difference[i, 0].max())
    return {name: torch.stack(column).cpu().numpy() for name, column in columns.items()}


def rows_errors(numbers: Numbers) -> list[Row]:
    return [
        Row(
            "Theorem 4.1 against autograd, all words of all documents",
            "—",
            f"largest {numbers['largest']:.1e}, mean {numbers['mean']:.1e}",
            f"{_verdict(numbers['largest'])} (gradients up to {numbers['largest_gradient']:.2g})",
        ),
        Row(
            "the same at [CLS], which also sets the query",
            "“for all t”",
            f"up to {numbers['largest_at_cls']:.2g}",
            "the theorem holds for all tokens but [CLS]",
        ),
    ]


def caption_errors(numbers: Numbers) -> str:
    return (
        "Largest difference between Theorem 4.1 and automatic differentiation (float64) over all words and "
        f"coordinates, for each of {numbers['documents']:,} documents: rounding, beside the size of the gradients "
        "themselves. At [CLS] the formula lacks the query's own derivative; there the difference is as large as a "
        "gradient."
    )


def draw_errors(folder: RunFolder, numbers: Numbers) -> Any:
    arrays = folder.read_arrays("gradient-error")
    figure = new_figure(9, 3.6)
    axis = figure.subplots()
    series = (
        ("largest", "difference, words", RED),
        ("gradient", "largest gradient of a word", BLUE),
        ("at_cls", "difference at [CLS]", "#d98a1f"),
    )
    bins = np.geomspace(1e-18, 100.0, 121)
    for name, label, colour in series:
        values = np.clip(arrays[name], bins[0], bins[-1])
        axis.hist(
            values, bins=bins, weights=np.full(len(values), 100.0 / len(values)), color=colour, alpha=0.7, label=label
        )
    axis.set_xscale("log")
    axis.set_xlabel("absolute value (logarithmic)")
    axis.set_ylabel("% of documents")
    axis.legend(loc="upper center")
    return figure


ERRORS = Experiment(
    "gradient-error", "Theorem 4.1 over the test set", compute_errors, draw_errors, rows_errors, caption_errors
)
