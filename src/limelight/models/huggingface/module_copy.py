"""A module copy: modules of our own that share the weights of a user's model.

What limelight needs of a model (evaluation mode, an attention implementation that shows its weights, given embeddings)
is a state of modules. The user's modules are never given it: they are copied, all but the parameters, buffers and
hooks, which are the same objects in both. A copy takes milliseconds and next to no memory; what is done to the
weights is seen by both, and what is done to a module only by its owner.

There are two copies: a plain one, and one with eager attention. Each is put into its state before anybody runs it, so
that threads can share it. A third one, for forwards in a lower precision, has weights of its own: they are copied from
the model's whenever it is asked for, so that what is done to the weights is seen there too.
"""

from __future__ import annotations

import contextlib
import copy
import operator
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn

from limelight.errors import CapabilityError
from limelight.models.huggingface.recorded_forward import RecordedForward, on_lookup, on_output, recorded_forward
from limelight.models.huggingface.runner import Inputs
from limelight.models.interface import Memo

_OWN = ("_parameters", "_buffers", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
"""What a forward or backward of a module depends on besides its settings and its forward hooks."""
_QUANTISED = ("torch.ao.nn", "torch.nn.quantized")
"""Where torch's quantised layers come from."""
_TELL_PADDING_BY_NUMBER = ("xlm", "flaubert", "t5gemma")
"""Families that, without an attention mask, take any token for padding that is numbered like it, also one of a text."""
_CAPTURING = "transformers.utils.output_capturing"
"""Where the hooks come from that transformers adds to a model by itself when it is first asked for attentions."""


class ModuleCopies:
    """The trees that are run in the place of a user's model; new ones once that got other weights, modules or hooks."""

    def __init__(self, model: Any) -> None:
        self._model, self._lock = model, threading.RLock()
        self._state: list[object] = []
        self._plain: ModuleCopy | None = None
        self._eager: ModuleCopy | None = None
        self._rounded: _RoundedCopy | None = None
        self._propagating: ModuleCopy | None = None
        self._found: Memo = Memo()
        self._found_of: list[object] = []

    def __reduce__(self) -> tuple[Any, ...]:
        """The model alone: trees are made again where they are needed, and a lock belongs to its process."""
        return type(self), (self._model,)

    def found(self) -> Memo:
        """What was found out about the model by asking it; empty once its modules, device or precision are others.

        Other weights and hooks leave it: they change what a model says, not which inputs it may be given together.
        """
        with self._lock:
            weight = next(self._model.parameters())
            now = [str(weight.device), weight.dtype]
            modules = [one for module in self._model.modules() for one in (module, vars(module).get("forward"))]
            if self._found_of[:2] != now or not _same(modules, self._found_of[2:]):
                self._found, self._found_of = Memo(), [*now, *modules]
            return self._found

    def plain(self) -> ModuleCopy:
        """The model in evaluation mode."""
        with self._lock:
            state = _state(self._model)
            if self._plain is None or not _same(state, self._state):
                self._plain, self._eager, self._state = _plain_tree(self._model), None, state
                self._rounded = self._propagating = None
            return self._plain

    def eager(self) -> ModuleCopy:
        """The same with eager attention, which shows its weights where fused implementations never form them."""
        with self._lock:
            plain = self.plain()
            if self._eager is None:
                self._eager = _eager_tree(plain)
            return self._eager

    def propagating(self, prepare: Callable[[nn.Module], None]) -> ModuleCopy:
        """The eager copy with weights that have no gradient, in float32 at least, and prepared for rules."""
        with self._lock, torch.inference_mode(False), torch.no_grad():
            eager = self.eager()
            if self._propagating is None:
                self._propagating = ModuleCopy(_uncompiled(_copied(eager.module, _without_gradients(eager.module))))
                prepare(self._propagating.module)
            return self._propagating

    def rounded(self, dtype: torch.dtype) -> ModuleCopy:
        """The model with its weights of this moment, rounded to `dtype`.

        Copying them takes as long as a forward reads them. Two threads that ask at once write the same numbers.
        """
        with self._lock, torch.inference_mode(False), torch.no_grad():
            plain = self.plain()
            if self._rounded is None or not self._rounded.fits(dtype):
                self._rounded = None  # before the new one is made: there is never a third copy
                self._rounded = _RoundedCopy(plain, dtype)
            else:
                self._rounded.copy_weights()
            return self._rounded

    def size_of_rounded(self, dtype: torch.dtype) -> int:
        """Bytes of the model's weights and of their rounded copies together."""
        weights = [*self._model.parameters(), *self._model.buffers()]
        own = sum(weight.numel() * weight.element_size() for weight in weights)
        return own + sum(weight.numel() * dtype.itemsize for weight in weights if weight.is_floating_point())


class ModuleCopy:
    """A model of transformers that nobody else changes."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.is_covered = False
        """Whether rules of propagation were seen to add up, so that they cover all of its steps."""

    def copied(self) -> ModuleCopy:
        """Modules of one's own with the same weights and hooks."""
        return ModuleCopy(_copied(self.module))

    @property
    def name(self) -> str:
        return type(self.module).__name__

    @property
    def device(self) -> torch.device:
        device: torch.device = next(self.module.parameters()).device
        return device

    @property
    def dtype(self) -> torch.dtype:
        dtype: torch.dtype = next(self.module.parameters()).dtype
        return dtype

    @property
    def differentiable(self) -> bool:
        """Whether torch has gradients through all modules: of its int8 layers it has none, and only warns of it."""
        return not any(type(module).__module__.startswith(_QUANTISED) for module in self.module.modules())

    def as_it_is(self) -> AbstractContextManager[Any]:
        """Inside, nothing computes in another precision than the model's own, whatever torch.autocast of a caller."""
        return torch.autocast(self.device.type, enabled=False)

    def arguments(self, inputs: Inputs) -> dict[str, Tensor | None]:
        """What the model is called with."""
        attention = inputs.attention
        if attention is None and getattr(self.module.config, "model_type", None) in _TELL_PADDING_BY_NUMBER:
            attention = torch.ones_like(inputs.ids)
        types = {} if inputs.types is None else {"token_type_ids": inputs.types}
        return {"input_ids": inputs.ids, "attention_mask": attention, **types}

    def logits(self, inputs: Inputs) -> Tensor:
        """(B, C)"""
        with self.as_it_is():
            logits: Tensor = self.module(**self.arguments(inputs)).logits
        return logits

    def embed(self, ids: Tensor) -> Tensor:
        """The vectors (T, d_e) of token numbers (T,), as they leave the table of token embeddings."""
        table = None
        with contextlib.suppress(NotImplementedError):
            table = self.module.get_input_embeddings()
        if not isinstance(table, nn.Module):
            raise CapabilityError(
                f"{self.name} does not show its table of token embeddings, so there are no gradients with respect to "
                "them: use a perturbation method"
            )
        with torch.no_grad():
            vectors = table(ids)
        if not isinstance(vectors, Tensor):  # I-BERT's has a scale beside the vectors
            raise CapabilityError(
                f"{self.name} gives more than vectors for its tokens, so there are no gradients with respect to them: "
                "use a perturbation method"
            )
        return vectors.detach()

    def logits_of_embeddings(self, inputs: Inputs, embeddings: Tensor) -> Tensor:
        """Logits (m, C) of one input whose tokens have these vectors (m, T, d_e) instead of their own."""
        logits: Tensor = self.forward_of_embeddings(inputs, embeddings)[0].logits
        return logits

    def forward_of_embeddings(self, inputs: Inputs, embeddings: Tensor, **wanted: bool) -> tuple[Any, RecordedForward]:
        """All that the model says of them, and what was recorded meanwhile."""
        types = None if inputs.types is None else inputs.types.expand(len(embeddings), -1)
        ids = inputs.ids.expand(len(embeddings), -1)
        with self.as_it_is(), recorded_forward((ids, embeddings)) as forward:
            answer = self.module(**self.arguments(Inputs(ids, types)), **wanted)
        if forward.lookups != 1:
            raise CapabilityError(
                f"{self.name} looks up its token embeddings {forward.lookups} times in one forward, so gradients with "
                "respect to them are not defined: use a perturbation method"
            )
        return answer, forward


# ── copies ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _plain_tree(model: Any) -> ModuleCopy:
    module = _copied(model).eval()
    # A model without such a table has no gradients; Perceiver's is no module.
    with contextlib.suppress(NotImplementedError, AttributeError):
        module.get_input_embeddings().register_forward_hook(on_lookup)
    return ModuleCopy(module)


def _eager_tree(plain: ModuleCopy) -> ModuleCopy:
    module = _copied(plain.module)
    if getattr(module.config, "_attn_implementation", None) not in (None, "eager"):
        module.set_attn_implementation("eager")
    for part in module.modules():
        if on_lookup not in part._forward_hooks.values():  # no head reads the table itself
            part.register_forward_hook(on_output)
    return ModuleCopy(module)


class _RoundedCopy(ModuleCopy):
    """A tree whose weights are rounded copies of others.

    Parameters and the buffers that are stored with them are rounded; tables that a module computes for itself, such as
    the frequencies of rotary positions, stay as they are, as where transformers loads a model in that precision.
    """

    def __init__(self, plain: ModuleCopy, dtype: torch.dtype) -> None:
        self._dtype = dtype
        self._pairs: list[tuple[Tensor, Tensor]] = []
        stored = {id(tensor) for module in plain.module.modules() for tensor in _stored_buffers(module)}
        rounded: dict[int, Tensor] = {}
        for tensor in (*plain.module.parameters(), *plain.module.buffers()):
            weight = isinstance(tensor, nn.Parameter)
            if (weight or id(tensor) in stored) and tensor.is_floating_point() and id(tensor) not in rounded:
                copied = tensor.detach().to(dtype, copy=True)
                self._pairs.append((tensor, copied))
                rounded[id(tensor)] = nn.Parameter(copied, requires_grad=False) if weight else copied
        super().__init__(_copied(plain.module, rounded))

    def fits(self, dtype: torch.dtype) -> bool:
        """Whether the copies are of this precision, and stand where their weights do, with the same shapes."""
        return self._dtype == dtype and all(a.device == b.device and a.shape == b.shape for a, b in self._pairs)

    def copy_weights(self) -> None:
        for weight, copied in self._pairs:
            copied.copy_(weight)


def _without_gradients(module: nn.Module) -> dict[int, Tensor]:
    """Parameters that share their numbers with a module's own, or hold them in float32 where those are in less."""
    dtype = torch.promote_types(next(module.parameters()).dtype, torch.float32)
    own = {id(weight): weight.detach() for weight in module.parameters()}
    return {
        key: nn.Parameter(weight.to(dtype) if weight.is_floating_point() else weight, requires_grad=False)
        for key, weight in own.items()
    }


def _uncompiled(module: Any) -> Any:
    """Modules of our own as they were before torch.compile, which makes other functions of theirs."""
    for part in list(module.modules()):
        for name, child in part.named_children():
            setattr(part, name, getattr(child, "_orig_mod", child))
    return getattr(module, "_orig_mod", module)


def _stored_buffers(module: nn.Module) -> list[Tensor]:
    buffers = module._buffers.items()
    return [buffer for name, buffer in buffers if buffer is not None and name not in module._non_persistent_buffers_set]


def _copied(model: Any, instead: Mapping[int, Tensor] = MappingProxyType({})) -> Any:
    """The modules of a model, with the very tensors and hooks that it has; `instead`: others for some, by their id."""
    shared = [*model.parameters(), *model.buffers()]
    for module in model.modules():
        for name, value in list(vars(module).items()):
            if isinstance(value, Tensor):  # such as a weight that is computed anew before each forward
                shared.append(value)
            elif name.endswith("_hooks") and isinstance(value, dict):
                shared.extend(value.values())
    try:
        copied = copy.deepcopy(model, {id(one): instead.get(id(one), one) for one in shared})
    except Exception as error:
        raise CapabilityError(
            f"the modules of this {type(model).__name__} cannot be copied ({error}), and limelight does not run a "
            "model's own: wrap a function from texts to probabilities, limelight.wrap(f)"
        ) from error
    for module in copied.modules():
        _forget_capturing(module)
    return copied


def _forget_capturing(module: nn.Module) -> None:
    """Without the hooks of transformers: it adds them again where they are needed, all or none."""
    hooks = module._forward_hooks
    for key in [key for key, hook in hooks.items() if _captures(hook)]:
        del hooks[key]
    vars(module).pop("_output_capturing_hooks_installed", None)


def _captures(hook: object) -> bool:
    return getattr(hook, "__module__", None) == _CAPTURING


def _state(model: Any) -> list[object]:
    """The objects that decide what a model computes, in a fixed order."""
    state: list[object] = [getattr(model.config, "_attn_implementation", None)]
    for module in model.modules():
        own = vars(module)
        state += (module, own.get("forward"))
        for name in _OWN:
            state += own[name].values()
        state += [hook for hook in list(own["_forward_hooks"].values()) if not _captures(hook)]
    return state


def _same(state: list[object], other: list[object]) -> bool:
    return len(state) == len(other) and all(map(operator.is_, state, other))
