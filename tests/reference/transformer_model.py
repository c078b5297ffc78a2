"""Naive twin of the general transformer: one loop per layer, head and position, in float64, from the parameters."""

from __future__ import annotations

import math

import numpy as np

from limelight.models.words.classifier import sinusoidal_positions
from limelight.models.words.transformer import TransformerClassifier


def states_of(model: TransformerClassifier, ids: list[int]) -> np.ndarray:
    """e_t = W_e(token) + W_p(t) for each position."""
    W_e = model.W_e.detach().double().numpy()
    W_p = sinusoidal_positions(model.config.T_max, model.config.d_e).numpy()
    return np.stack([W_e[token] + W_p[t] for t, token in enumerate(ids)])


def forward_by_loops(model: TransformerClassifier, e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Logits (C,) and attention (layers, K, T, T) of the vectors that the first layer reads."""
    W = {name: weight.detach().double().numpy() for name, weight in model.named_parameters()}
    x, attention = list(e), []
    for layer in range(model.config.layers):
        x, alpha = _layer(model, {n.split(".", 2)[2]: w for n, w in W.items() if n.startswith(f"layers.{layer}.")}, x)
        attention.append(alpha)
    return W["W_l"] @ x[0], np.array(attention)


def _layer(model: TransformerClassifier, W: dict[str, np.ndarray], x: list[np.ndarray]) -> tuple[list, list]:
    config = model.config
    changes: list[list] = [[] for _ in x]
    attention = []
    for head in range(config.K):
        rows = []
        for s, x_s in enumerate(x):
            q = W["W_q"][head] @ x_s
            g = [math.exp(q @ (W["W_k"][head] @ x_t) / math.sqrt(config.d_att)) for x_t in x]
            rows.append([g_t / sum(g) for g_t in g])
            changes[s].append(sum(a * (W["W_v"][head] @ x_t) for a, x_t in zip(rows[-1], x, strict=True)))
        attention.append(rows)
    after = []
    for x_t, change in zip(x, changes, strict=True):
        y = W["W_o"] @ np.concatenate(change) + (x_t if config.residual else 0)
        y = _normalised(y, W.get("norm.weight"), W.get("norm.bias"))
        if config.mlp != "none":
            act = (lambda z: max(z, 0.0)) if config.mlp == "relu" else (lambda z: z * (1 + math.erf(z / 2**0.5)) / 2)
            inner = np.array([act(z) for z in W["W_1"] @ y + W["b_1"]])
            y = W["W_2"] @ inner + W["b_2"] + (y if config.residual else 0)
            y = _normalised(y, W.get("mlp_norm.weight"), W.get("mlp_norm.bias"))
        after.append(y)
    return after, attention


def _normalised(x: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None) -> np.ndarray:
    if weight is None:
        return x
    return (x - x.mean()) / np.sqrt(x.var() + 1e-5) * weight + bias
