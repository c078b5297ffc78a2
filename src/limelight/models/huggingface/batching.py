"""How many inputs a model may be given at once, found by asking it: alone, and in company.

A forward of many inputs is faster, and with most models each input has the answer that it has alone. Not with all:
a decoder whose head looks for another padding token than the tokenizer's reads the padding, convolutions and Fourier
transforms see it whatever the attention mask says, and int8 quantisation scales all inputs of a forward together. Names
of architectures do not tell (a configuration may differ, weights may be quantised), so the model is asked:

1. An input of one token and one of twelve, each alone, and in one batch with one of thirty. Where the answers are
   equal, inputs are padded. The first was asked already, to see whether there is a head: this costs two forwards.
2. Different: the second once more. A model that now says something else does not repeat itself, whatever its company.
3. Where the configuration and the tokenizer name two padding tokens, the same with the other one. The configuration's
   goes first: it is what a head looks for.
4. Two inputs of one length, the first of them twice, in a batch without padding. Equal to what they are alone: only
   inputs of one length share a batch. Different, or an error: each input is a forward of its own.

A model without a padding token begins with step 4. Inputs are made of numbers of the tokenizer's ordinary tokens, so
that no language and no text decides. The model is asked when it is wrapped, so that `batching` is known before anything
is explained, and again when its modules, device or precision have changed.

Some models become others at a length: Reformer's attention is cut into chunks, and frequencies of positions may change
for all inputs of a batch with the longest. So what was found holds up to the width that was asked. Before the first
batch beyond it the model is asked about inputs of half the next power of two, of three quarters and of all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import torch

from limelight.core.arrays import Floats, Integers
from limelight.models.huggingface.configuration import special_numbers, vocabulary_size
from limelight.models.huggingface.module_copy import ModuleCopy
from limelight.models.huggingface.runner import Batching, one_batch
from limelight.models.huggingface.subwords import Encoding, TokenWindow

_ROUNDINGS = 64
"""Answers of two batches are equal within so many units of the last place of the largest logit: sums of some hundred
terms in another order, layer after layer. Those of MiniLM (six layers, float32) differ by 4."""
_MOST = 2.0**-4
"""No more than this part of the largest logit is called rounding, which 64 units of half precision would exceed."""
_FEW, _MANY = 12, 30
"""Tokens between the special ones of the second and the third input."""
_NARROW = 32
"""What the first inputs find out holds up to this width."""
_SPREAD = (5**0.5 - 1) / 2
"""Multiples of it, without their whole parts, are spread evenly: tokens from everywhere in the vocabulary."""

_LENGTHS = "only texts of equal length are asked together"


@dataclass(frozen=True)
class Company:
    """What was found: `moved` is how far an answer was moved, as a part of the largest logit, None for an error."""

    batching: Batching
    pad: int | None
    """The padding token; None where neither the configuration nor the tokenizer has one."""
    moved: float | None = 0.0

    @property
    def alone(self) -> bool:
        """Whether each input is a forward of its own."""
        return self.batching in ("one at a time", "does not repeat itself")

    @property
    def notice(self) -> str | None:
        """What a reader must know; None where it is the usual."""
        if self.batching == "padded":
            return None
        moved = "" if self.moved is None else f"{self.moved:.1g} times the largest logit"
        if self.batching == "does not repeat itself":
            return (
                "this model does not repeat itself: asked twice about one text alone, its answers differ by "
                f"{moved}; look for dropout or sampling that model.eval() does not switch off"
            )
        if self.batching == "one at a time":
            reason = f"changes an answer with the other texts of a batch, by {moved}" if moved else "takes no batches"
            return f"this model {reason}, so one text is asked at a time, which takes longer"
        if self.pad is None:
            return f"this model has no padding token, so {_LENGTHS}"
        reason = f"sees padding, which moves its answer by {moved}" if moved else "takes no padded batches"
        return f"this model {reason}, so {_LENGTHS}"


def worse(one: Company, other: Company) -> Company:
    """That of two which lets fewer inputs share a batch."""
    return max(one, other, key=lambda company: get_args(Batching).index(company.batching))


def width_to_ask(width: int, limit: int | None) -> int | None:
    """The next power of two, or the model's limit before it; None where the first inputs were as wide."""
    if width <= _NARROW:
        return None
    power = 1 << (width - 1).bit_length()
    return power if limit is None else max(min(power, limit), width)


def decide(
    tree: ModuleCopy, inputs: Sequence[TokenWindow], pads: Sequence[int], first: Floats | None = None
) -> Company:
    """`inputs`: three of different lengths, and a fourth as long as the second. `pads`: candidates, the best first.

    `first`: the answer to the first input, where it is known.
    """
    short, few, many, other = inputs
    alone = np.stack([_answers(tree, [short])[0] if first is None else first, _answers(tree, [few])[0]])
    moved: float | None = 0.0
    for pad in pads[:1]:
        moved = _moved(tree, alone, [short, few, many], pad)
        if _equal(moved, tree):
            return Company("padded", pad)
    again = _part(_answers(tree, [few])[0] - alone[1], alone)
    pad_known = next(iter(pads), None)
    if not _equal(again, tree):
        return Company("does not repeat itself", pad_known, again)
    for pad in pads[1:]:
        if _equal(_moved(tree, alone, [short, few, many], pad), tree):
            return Company("padded", pad)
    pair = np.stack([alone[1], _answers(tree, [other])[0], alone[1]])
    beside = _moved(tree, pair, [few, other, few])
    if _equal(beside, tree):
        return Company("equal lengths", pad_known, moved)
    return Company("one at a time", pad_known, beside)


def _answers(tree: ModuleCopy, windows: Sequence[TokenWindow], pad: int = 0) -> Floats:
    """What the model says of inputs in one batch."""
    with torch.inference_mode():
        logits = tree.logits(one_batch(windows, tree.device, pad))
    return logits.double().cpu().numpy()


def _moved(tree: ModuleCopy, alone: Floats, together: Sequence[TokenWindow], pad: int = 0) -> float | None:
    """How far the first inputs' answers move in a batch, as a part of the largest logit; None for an error."""
    try:
        answers = _answers(tree, together, pad)[: len(alone)]
    except torch.OutOfMemoryError:
        raise
    except Exception:  # a model may refuse a batch in any way: what it says of one input is known
        return None
    return None if answers.shape != alone.shape else _part(answers - alone, alone)


def _part(difference: Floats, logits: Floats) -> float:
    """The largest difference as a part of the largest logit; 0 where nothing is finite, which is told elsewhere."""
    if not np.isfinite(logits).all():
        return 0.0
    largest = float(np.abs(logits).max())
    furthest = float(np.nan_to_num(np.abs(difference), nan=np.inf).max())
    return 0.0 if furthest == 0.0 else furthest / largest if largest else np.inf


def _equal(moved: float | None, tree: ModuleCopy) -> bool:
    return moved is not None and moved <= tolerance(tree.dtype)


def tolerance(dtype: torch.dtype) -> float:
    """What of the largest logit is rounding. Float64 counts as float32: many families compute softmax and
    normalisation in it whatever their weights are."""
    return min(_ROUNDINGS * max(torch.finfo(dtype).eps, torch.finfo(torch.float32).eps), _MOST)


# ── inputs ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def inputs_like(frame: Encoding, ordinary: Integers, limit: int | None, first: int = 0) -> list[TokenWindow]:
    """Three inputs of different lengths and a fourth as long as the second, as far as the model's limit has room.

    `frame` shows where special tokens stand; the first input is the frame itself where a token stands in it, or `first`
    tokens.
    """
    room = _MANY if limit is None else _room(frame, limit)
    shortest = min(first, room) or (0 if sum(frame.lengths) else 1)
    return _of_sizes(frame, ordinary, [shortest, *(min(n, room) for n in (_FEW, _MANY, _FEW))])


def inputs_of_width(frame: Encoding, ordinary: Integers, width: int) -> list[TokenWindow]:
    """The same with inputs of half of a width, of three quarters of it, and as wide."""
    sizes = [_room(frame, part) for part in (width // 2, 3 * width // 4, width)]
    return _of_sizes(frame, ordinary, [*sizes, sizes[1]])


def _room(frame: Encoding, limit: int) -> int:
    """How many tokens of each text fit beside the special ones."""
    return max(1, (limit - frame.n_special) // len(frame.texts))


def _of_sizes(frame: Encoding, ordinary: Integers, sizes: Sequence[int]) -> list[TokenWindow]:
    numbers = iter(np.resize(ordinary, len(frame.texts) * sum(sizes)))
    return [_filled(frame, numbers, size) for size in sizes]


def _filled(frame: Encoding, numbers: Iterator[Any], size: int) -> TokenWindow:
    """The frame with so many tokens in each text, which are one word; with 0 those that it has."""
    ids, types, behind = [], [], 0
    places: list[int] = []
    for start, end in frame.texts:
        own = frame.ids[start:end].tolist() if not size else [int(next(numbers)) for _ in range(size)]
        kind = int(frame.types[start]) if start < end else 0
        ids += frame.ids[behind:start].tolist()
        places += range(len(ids), len(ids) + len(own))
        ids += own
        types += [*frame.types[behind:start].tolist(), *[kind] * len(own)]
        behind = end
    ids += frame.ids[behind:].tolist()
    types += frame.types[behind:].tolist()
    positions = np.array(places, dtype=np.int64)
    return TokenWindow(np.array(ids), np.array(types), positions, np.zeros_like(positions), np.ones(len(positions)))


def ordinary_tokens(model: Any, tokenizer: Any) -> Integers:
    """Numbers of tokens that mean something, from everywhere in the vocabulary."""
    size, special = vocabulary_size(model, tokenizer), special_numbers(model, tokenizer)
    count = 4 * _MANY - 1  # an odd number: inputs that go around do not repeat each other
    spread = (size * (np.arange(1, 4 * count) * _SPREAD % 1.0)).astype(np.int64)
    chosen = [number for number in dict.fromkeys(spread.tolist()) if number not in special]
    return np.array(chosen[:count] or [0], dtype=np.int64)


# ── further questions ─────────────────────────────────────────────────────────────────────────────────────────────────


def ignores_attention_mask(tree: ModuleCopy, window: TokenWindow) -> bool:
    """Whether the model says the same when the words of an input, or all but the last, are hidden from attention.

    Answers that differ by no more than a unit of the last place are the same: a mask that is read changes all of them.
    """
    shown = one_batch([window], tree.device)
    attention = torch.ones_like(shown.ids)
    hidden_places = window.positions if len(window.positions) < len(window.ids) else window.positions[:-1]
    attention[:, hidden_places.tolist()] = 0
    with torch.inference_mode():
        open_, hidden = (tree.logits(replace(shown, attention=mask)) for mask in (None, attention))
    furthest, largest = float((open_ - hidden).abs().max()), float(open_.abs().max())
    return furthest <= torch.finfo(tree.dtype).eps * largest


def skips(tree: ModuleCopy, window: TokenWindow, number: int) -> bool:
    """Whether this token behind an input changes nothing: the head looks for the last token that is another."""
    longer = replace(window, ids=np.append(window.ids, number), types=np.append(window.types, window.types[-1:]))
    return _equal(_moved(tree, _answers(tree, [window]), [longer]), tree)
