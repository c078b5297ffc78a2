"""Sanity: a method's weights must change when the model's parameters are randomised, from the top layer down.

The rank correlation of the weights with those of the randomised copy, for the same label: near 0 is as it should be,
near 1 the method does not look at what was learnt (Adebayo et al. 2018). The first texts of an evaluation are enough
for it.

An explanation that stays as it is when what the model has learnt is destroyed does not explain the model. Each
parameter is drawn anew from a normal distribution with its own mean and standard deviation, so that numbers stay in
range. Stages add up: first what is above the layers, then their upper half, then everything.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from limelight.errors import CapabilityError
from limelight.evaluation.case import Case
from limelight.evaluation.measure import Measure, Score, score
from limelight.models.interface import Classifier, View
from limelight.statistics.correlation import rank_correlation

if TYPE_CHECKING:
    from torch import nn


TEXTS = 20


def without_parameters(model: Classifier, view: View, texts: int) -> str | None:
    return None if has_parameters(model) else "the parameters of this model are not known, so none can be randomised"


def of_methods(case: Case) -> Iterator[Score]:
    if case.number >= TEXTS or case.d < 2:
        return
    for stage in STAGES:
        view = randomised(case.plan.model, stage, 1000 * case.seed + case.number).view(case.text)
        resolved = case.resolve(view) if np.isfinite(view.logits).all() else None
        if resolved is None:
            continue
        for entry, other in case.again(resolved, case.explained):
            value = rank_correlation(entry.weights, other.weights)
            if math.isfinite(value):
                yield score(stage, value, method=entry.name)


# ── randomised models ─────────────────────────────────────────────────────────────────────────────────────────────────


STAGES = ("top", "upper half", "all")
_LAYER = re.compile(r"(?:^|\.)(\d+)\.")
_OURS = (("W_l", "final"), ("W_v",), ("W_q", "W_k"), ("W_e",))
"""The paper's model from the top down: what reads the heads, values, scores, embeddings."""


def randomised(model: Classifier, stage: str, seed: int) -> Classifier:
    """A copy of a model with the parameters of this stage, and of those above it, drawn anew."""
    from torch import nn

    if not has_parameters(model):
        raise CapabilityError(
            "the parameters of this model are not known, so they cannot be randomised: leave out 'sanity'"
        )
    if isinstance(model, nn.Module):
        private: Any = copy.deepcopy(model)
        _draw(private, _groups(private), stage, seed)
        return private
    from limelight.models.huggingface.module_copy import ModuleCopies

    outer: Any = copy.copy(model)
    outer.model = copy.deepcopy(outer.model)
    _draw(outer.model, _groups(outer.model), stage, seed)
    outer.trees = ModuleCopies(outer.model)
    return cast(Classifier, outer)


def has_parameters(model: Classifier) -> bool:
    """Whether it is a network of ours or of transformers; a function's parameters are not known."""
    from torch import nn

    return isinstance(model, nn.Module) or (
        isinstance(getattr(model, "model", None), nn.Module) and hasattr(model, "trees")
    )


def _groups(module: nn.Module) -> list[list[str]]:
    """The names of the parameters, in groups from the top down."""
    names = [name for name, _ in module.named_parameters()]
    layers = {name: int(match[1]) for name in names if (match := _LAYER.search(name))}
    if "W_l" in names and "W_e" in names and not layers:
        return [[name for name in names if name in own] for own in _OURS]
    if not layers:
        return [[name] for name in reversed(names)]
    first = names.index(next(iter(layers)))
    below = [name for i, name in enumerate(names) if name not in layers and (i < first or name == "W_e")]
    above = [name for name in names if name not in layers and name not in below]
    numbers = sorted(set(layers.values()), reverse=True)
    return [above, *([name for name, layer in layers.items() if layer == number] for number in numbers), below]


def _draw(module: nn.Module, groups: list[list[str]], stage: str, seed: int) -> None:
    import torch

    inner = len(groups) - 2
    count = {"top": 1, "upper half": 1 + max(1, inner // 2), "all": len(groups)}[stage]
    chosen = [name for group in groups[:count] for name in group]
    parameters = dict(module.named_parameters())
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name in chosen:
            weight = parameters[name]
            noise = torch.randn(weight.shape, generator=generator).to(weight.device, torch.float32)
            own = weight.float()
            spread = own.std() if own.numel() > 1 else own.abs().mean()
            weight.copy_((own.mean() + spread * noise).to(weight.dtype))


sanity = Measure(
    "sanity",
    label="Sanity",
    summary="How much of a method's ranking stays when the model's parameters are randomised, from the top down",
    better="lower",
    default=False,
    unfit=without_parameters,
    scores=(of_methods,),
)
