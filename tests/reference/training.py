"""Naive twin of training steps: text by text, line by line; gradients of the whole table, plain AdamW."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from limelight.models.words.attention import AttentionClassifier
from limelight.models.words.checkpoint import Model
from limelight.training.presets import Preset


def train_naively(model: Model, preset: Preset, batches: Iterable[tuple[Tensor, Tensor]]) -> list[float]:
    """Change the model in place, a step for each (token numbers, labels). Returns the losses."""
    heads = [weight for name, weight in model.named_parameters() if name != "W_e"]
    embedding_decay = preset.weight_decay if preset.embedding_weight_decay is None else preset.embedding_weight_decay
    adam = torch.optim.AdamW(
        [
            {"params": heads, "lr": preset.learning_rate, "weight_decay": preset.weight_decay},
            {
                "params": [model.W_e],
                "lr": preset.embedding_learning_rate or preset.learning_rate,
                "weight_decay": embedding_decay,
            },
        ],
        foreach=False,
        fused=False,
    )
    losses = []
    for ids, labels in batches:
        adam.zero_grad()
        log_p = torch.stack([_logits(model, row) for row in ids]).log_softmax(dim=1)
        correct = log_p[torch.arange(len(labels)), labels]
        loss = -((1 - preset.label_smoothing) * correct + preset.label_smoothing * log_p.mean(dim=1)).mean()
        loss.backward()
        if preset.clip_norm is not None:
            norm = torch.sqrt(sum((w.grad**2).sum() for w in model.parameters()))
            for weight in model.parameters():
                weight.grad *= min(1.0, preset.clip_norm / (norm + 1e-6))
        adam.step()
        losses.append(loss.item())
    return losses


def _logits(model: Model, ids: Tensor) -> Tensor:
    return model.reference(ids).logits if isinstance(model, AttentionClassifier) else model(ids[None])[0]
