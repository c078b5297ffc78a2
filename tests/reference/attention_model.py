"""Naive twins of the model: strings are rebuilt, every perturbed document is a forward of its own."""

from __future__ import annotations

import math

import numpy as np
import torch

from limelight.inputs.document import Document
from limelight.inputs.features import Features
from limelight.models.words.attention import AttentionClassifier


def logits_by_loops(model: AttentionClassifier, ids: list[int]) -> np.ndarray:
    """Eqs. 1 to 9 with one Python loop per index, from the parameters alone."""
    W = {name: p.detach().double().numpy() for name, p in model.named_parameters()}
    T_max, d_e = model.config.T_max, model.config.d_e
    e = np.zeros((T_max, d_e))
    for t in range(1, T_max + 1):
        for i in range(1, d_e // 2 + 1):
            angle = t / T_max ** (2 * i / d_e)
            e[t - 1, 2 * i - 1], e[t - 1, 2 * i - 2] = math.cos(angle), math.sin(angle)
        e[t - 1] += W["W_e"][ids[t - 1]]
    total = np.zeros(len(model.labels))
    for head in range(model.config.K):
        q = W["W_q"][head] @ e[0]
        g = [math.exp(q @ (W["W_k"][head] @ e_t) / math.sqrt(model.config.d_att)) for e_t in e]
        v_tilde = sum(g_t / sum(g) * (W["W_v"][head] @ e_t) for g_t, e_t in zip(g, e, strict=True))
        total += W["W_l"][head] @ v_tilde
    return total / model.config.K


def perturbed_text(document: Document, features: Features, kept: np.ndarray, removal: str) -> str:
    """The text with words replaced by [UNK] or taken out; a space keeps what was apart apart."""
    pieces, at = [], 0
    gone = {i for j, group in enumerate(features.owned) for i in group if not kept[j]}
    for i, word in enumerate(document.words):
        pieces.append(document.text[at : word.start])
        if i not in gone:
            pieces.append(document.text[word.start : word.end])
        else:
            pieces.append("[UNK]" if removal == "mask" else " ")
        at = word.end
    return "".join([*pieces, document.text[at:]])


def perturbed_logits(
    model: AttentionClassifier, document: Document, features: Features, kept: np.ndarray, removal: str
) -> np.ndarray:
    """Each row of `kept` as a text of its own, read and predicted by the reference forward."""
    with torch.no_grad():
        rows = [model.encode([perturbed_text(document, features, z, removal)])[0] for z in kept]
        return np.stack([model.reference(ids).logits.numpy() for ids in rows])


def gradient_by_autograd(model: AttentionClassifier, document: Document, target: int) -> np.ndarray:
    """∇_{e_t} f_target by autograd through the reference forward, for the words of a document, in float64."""
    double = AttentionClassifier(model.config, model.vocabulary, model.labels).double()
    double.load_state_dict({name: p.double() for name, p in model.state_dict().items()})
    forward = double.reference(double.encode_document(document))
    (gradient,) = torch.autograd.grad(forward.logits[target], forward.e)
    return gradient[1 : 1 + len(document.words)].numpy()
