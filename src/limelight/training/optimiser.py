"""One step of AdamW on a classifier over words, and what goes with it: schedule, clipping, averaging.

The embedding table is nearly all of the model, and a batch touches few of its rows. AdamW still moves every row at
every step, by its momentum and by weight decay, and so do we: the result is that of plain autograd and plain AdamW. But
the gradient is computed for the rows of the batch alone and written into one table that stays, so that no table-sized
tensor is made or cleared in a step, and the update is PyTorch's fused kernel: one pass over the table.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from limelight.models.words.classifier import WordClassifier
from limelight.training.presets import Preset


class Optimiser:
    """Trains a model in place, a batch at a time."""

    def __init__(self, model: WordClassifier, preset: Preset, total_steps: int) -> None:
        self.model = model
        self.preset = preset
        self.total_steps = total_steps
        self.steps = 0
        self.dense = [weight for weight in model.parameters() if weight is not model.W_e]
        """All weights but the embedding table: every one of them has a gradient in every step."""
        rates = preset.learning_rate, preset.embedding_learning_rate or preset.learning_rate
        decays = preset.weight_decay, preset.embedding_weight_decay
        self._rates = rates
        self.adam = torch.optim.AdamW(
            [
                {"params": self.dense, "lr": rates[0], "weight_decay": decays[0]},
                {"params": [model.W_e], "lr": rates[1], "weight_decay": decays[0] if decays[1] is None else decays[1]},
            ],
            fused=True,
        )
        model.W_e.grad = torch.zeros_like(model.W_e)
        self.average = (
            {name: weight.detach().clone() for name, weight in model.named_parameters()} if preset.averaging else None
        )

    def step(self, ids: Tensor, labels: Tensor) -> tuple[float, int]:
        """Learn from token numbers (n, T_max) and labels (n,): the loss, and how many were right before the step."""
        distinct, slots = self.model.distinct_rows(ids)
        rows = self.model.W_e.detach()[distinct].requires_grad_()
        # [CLS] has the lowest number and stands in every text, so its row is the first.
        logits = self.model.logits_of_rows(rows, slots)
        loss = nn.functional.cross_entropy(logits, labels, label_smoothing=self.preset.label_smoothing)
        loss.backward()  # type: ignore[no-untyped-call]
        assert rows.grad is not None
        assert self.model.W_e.grad is not None
        self._clip(rows)
        self.model.W_e.grad[distinct] = rows.grad
        self._update()
        self.model.W_e.grad[distinct] = 0
        for weight in self.dense:
            weight.grad = None
        return loss.item(), int((logits.detach().argmax(dim=1) == labels).sum())

    def _clip(self, rows: Tensor) -> None:
        if self.preset.clip_norm is not None:
            # Rows outside the batch have no gradient: this is the norm of the whole gradient.
            nn.utils.clip_grad_norm_([rows, *self.dense], self.preset.clip_norm)

    def _update(self) -> None:
        factor = rate_factor(self.preset, self.steps, self.total_steps)
        for group, rate in zip(self.adam.param_groups, self._rates, strict=True):
            group["lr"] = rate * factor
        self.adam.step()
        self.steps += 1
        if self.average is not None:
            # Early on the average is over the steps there have been, so that it forgets where it started.
            decay = min(self.preset.averaging, self.steps / (self.steps + 10))
            with torch.no_grad():
                for name, weight in self.model.named_parameters():
                    self.average[name].lerp_(weight, 1 - decay)

    @contextlib.contextmanager
    def averaged(self) -> Iterator[None]:
        """The averaged weights in place of the last ones, where the preset averages."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        if self.average is not None:
            for name, weight in self.model.named_parameters():
                last = weight.detach().clone()
                weight.copy_(self.average[name])
                self.average[name] = last

    # ── what a run that was interrupted needs to go on ────────────────────────────────────────────────────────────────

    def state(self) -> dict[str, Tensor]:
        """Weights, moments and averages by name."""
        tensors: dict[str, Tensor] = {}
        for name, weight in self.model.named_parameters():
            moments = self.adam.state[weight]
            tensors[f"weight.{name}"] = weight.detach()
            tensors[f"exp_avg.{name}"] = moments["exp_avg"]
            tensors[f"exp_avg_sq.{name}"] = moments["exp_avg_sq"]
            if self.average is not None:
                tensors[f"average.{name}"] = self.average[name]
        return tensors

    def restore(self, tensors: dict[str, Tensor], steps: int) -> None:
        """Continue after `steps` steps from what `state` gave then."""
        self.steps = steps
        with torch.no_grad():
            for name, weight in self.model.named_parameters():
                weight.copy_(tensors[f"weight.{name}"])
                self.adam.state[weight] = {
                    "step": torch.tensor(float(steps), dtype=torch.float32, device=weight.device),
                    "exp_avg": torch.empty_like(weight).copy_(tensors[f"exp_avg.{name}"]),
                    "exp_avg_sq": torch.empty_like(weight).copy_(tensors[f"exp_avg_sq.{name}"]),
                }
                if self.average is not None:
                    self.average[name].copy_(tensors[f"average.{name}"])


def rate_factor(preset: Preset, step: int, total_steps: int) -> float:
    """What the learning rate is multiplied with in this step (counted from 0)."""
    warm = round(preset.warmup * total_steps)
    if step < warm:
        return (step + 1) / warm
    if preset.schedule == "constant":
        return 1.0
    progress = (step - warm) / max(total_steps - warm, 1)
    return 1 - progress if preset.schedule == "linear" else (1 + math.cos(math.pi * progress)) / 2
