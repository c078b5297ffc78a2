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

from limelight.core.memory import check_memory
from limelight.models.words.attention import AttentionConfig
from limelight.models.words.checkpoint import weight_shapes
from limelight.models.words.classifier import WordClassifier
from limelight.training.presets import Preset

_FLOAT = 4
_MOMENTS = ("exp_avg", "exp_avg_sq")
"""What PyTorch's AdamW calls its two means."""
_EVALUATED_AT_ONCE = 512
"""Texts in one forward when accuracy is measured."""
_COPIES_STORED = 4
"""Copies of the weights while an epoch is stored: the best model, and what is written."""


class Optimiser:
    """Trains a model in place, a batch at a time."""

    def __init__(self, model: WordClassifier, preset: Preset, total_steps: int) -> None:
        self.model = model
        self.preset = preset
        self.total_steps = total_steps
        self.steps = 0
        self.dense = [weight for weight in model.parameters() if weight is not model.W_e]
        """All weights but the embedding table: every one of them has a gradient in every step."""
        self._rates = preset.learning_rate, preset.embedding_learning_rate or preset.learning_rate
        own = preset.embedding_weight_decay
        decays = preset.weight_decay, preset.weight_decay if own is None else own
        groups = zip((self.dense, [model.W_e]), self._rates, decays, strict=True)
        self.adam = torch.optim.AdamW(
            [{"params": weights, "lr": rate, "weight_decay": decay} for weights, rate, decay in groups], fused=True
        )
        model.W_e.grad = torch.zeros_like(model.W_e)
        self.weights = dict(model.named_parameters())
        averaged = self.weights if preset.averaging else {}
        self.average = {name: weight.detach().clone() for name, weight in averaged.items()}

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
        if self.preset.clip_norm is not None:
            # Rows outside the batch have no gradient: this is the norm of the whole gradient.
            nn.utils.clip_grad_norm_([rows, *self.dense], self.preset.clip_norm)
        self.model.W_e.grad[distinct] = rows.grad
        self._update()
        self.model.W_e.grad[distinct] = 0
        for weight in self.dense:
            weight.grad = None
        return loss.item(), int((logits.detach().argmax(dim=1) == labels).sum())

    def _update(self) -> None:
        factor = rate_factor(self.preset, self.steps, self.total_steps)
        for group, rate in zip(self.adam.param_groups, self._rates, strict=True):
            group["lr"] = rate * factor
        self.adam.step()
        self.steps += 1
        # Early on the average is over the steps there have been, so that it forgets where it started.
        decay = min(self.preset.averaging, self.steps / (self.steps + 10))
        with torch.no_grad():
            for name, average in self.average.items():
                average.lerp_(self.weights[name], 1 - decay)

    @contextlib.contextmanager
    def averaged(self) -> Iterator[None]:
        """The averaged weights in place of the last ones, where the preset averages."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def _swap(self) -> None:
        for name, average in self.average.items():
            self.weights[name].data, self.average[name] = average, self.weights[name].data

    # ── what a run that was interrupted needs to go on ────────────────────────────────────────────────────────────────

    def state(self) -> dict[str, Tensor]:
        """Weights, moments and averages by name."""
        tensors = {f"average.{name}": average for name, average in self.average.items()}
        for name, weight in self.weights.items():
            moments = {moment: self.adam.state[weight][moment] for moment in _MOMENTS}
            tensors |= {f"{kind}.{name}": own for kind, own in ({"weight": weight.detach()} | moments).items()}
        return tensors

    def restore(self, tensors: dict[str, Tensor], steps: int) -> None:
        """Continue after `steps` steps from what `state` gave then."""
        self.steps = steps
        for weight in self.model.parameters():
            step = torch.tensor(float(steps), dtype=torch.float32, device=weight.device)
            moments = {moment: torch.empty_like(weight) for moment in _MOMENTS}
            self.adam.state[weight] = {"step": step, **moments}
        with torch.no_grad():
            for name, own in self.state().items():
                own.copy_(tensors[name])


def rate_factor(preset: Preset, step: int, total_steps: int) -> float:
    """Factor of the learning rate in this step (counted from 0)."""
    warm = round(preset.warmup * total_steps)
    if step < warm:
        return (step + 1) / warm
    if preset.schedule == "constant":
        return 1.0
    progress = (step - warm) / max(total_steps - warm, 1)
    return 1 - progress if preset.schedule == "linear" else (1 + math.cos(math.pi * progress)) / 2


# ── what it takes ─────────────────────────────────────────────────────────────────────────────────────────────────────


def training_bytes(preset: Preset, words: int, labels: int) -> int:
    """About what a run needs at most, beside Python and the texts, for a vocabulary and a set of labels of this size.

    Each weight has a gradient and two moments, and an average where the preset asks for one. A batch holds the states
    of its positions, for the forward and for the backward, and a few copies of its logits.
    """
    sizes = preset.sizes
    weights = sum(math.prod(shape) for shape in weight_shapes(sizes, words, labels).values())
    copies = 4 + (preset.averaging > 0) + _COPIES_STORED
    if isinstance(sizes, AttentionConfig):
        many = labels > sizes.d_out
        per_position = sizes.K + (sizes.d_e if many else sizes.K * labels)
        weights += 2 * sizes.K * labels * sizes.d_out // copies if many else 0  # W_l as one matrix, and its gradient
        kept = 1
    else:
        per_position = 8 * sizes.d_e + 2 * sizes.K * (2 * sizes.d_att + sizes.d_out) + 2 * sizes.d_mlp
        kept = sizes.layers
    at_once = max(4 * kept * preset.batch_size, 3 * _EVALUATED_AT_ONCE)  # a forward alone keeps no layer but its own
    states = at_once * sizes.T_max * per_position
    logits = 4 * max(preset.batch_size, _EVALUATED_AT_ONCE) * labels
    return _FLOAT * (weights * copies + states + logits)


def check_training_memory(preset: Preset, words: int, labels: int, device: torch.device) -> None:
    """Refuse, before a model is built, what would not fit."""
    check_memory(
        training_bytes(preset, words, labels),
        f"training with {labels:,} labels and {words:,} words",
        "join labels, set max_vocabulary, or choose smaller sizes",
        torch.cuda.mem_get_info(device)[1] if device.type == "cuda" else None,
    )
