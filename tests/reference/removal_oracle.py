"""What a transformer says of a text with words removed, one unpadded text at a time: an oracle for limelight.

It shares no code with limelight and is as plain as can be. A text is a list of words with their token numbers; a word
is removed by hand, from that list; the model is called directly. Leave-one-out, Shapley values and LIME are computed by
their definitions from a table of all 2^d subsets.
"""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import torch

LIME_SAMPLES, LIME_WIDTH, LIME_RIDGE = 5000, 0.25, 1.0
"""limelight's defaults; the ridge is a part of a sum over so many samples (docs/theory.md, section 6)."""

Kept = tuple[int, ...]
Table = dict[Kept, np.ndarray]
"""Logits (C,) for each subset of the words, as zeros and ones."""


@dataclass(frozen=True)
class Tokens:
    """A text in tokens by hand: what the tokenizer puts before it, each word's token numbers, what it puts behind.

    `names`: of each word the feature that it belongs to; words that are written alike are one. `sides`: of each word
    the text of a pair that it stands in, and `between` what stands between the two. A word without token numbers is
    not in this window.
    """

    before: tuple[int, ...]
    words: tuple[tuple[int, ...], ...]
    behind: tuple[int, ...]
    names: tuple[str, ...]
    sides: tuple[int, ...] = ()
    between: tuple[int, ...] = ()

    @property
    def features(self) -> tuple[tuple[str, int], ...]:
        """Each name once for each side, in the order of the text."""
        return tuple(dict.fromkeys(zip(self.names, self._sides, strict=True)))

    @property
    def whole(self) -> Kept:
        """Nothing is removed."""
        return (1,) * len(self.features)

    @property
    def _sides(self) -> tuple[int, ...]:
        return self.sides or (0,) * len(self.names)

    def input(self, kept: Kept, mask: int | None) -> tuple[list[int], list[int]]:
        """Token numbers and types with some features removed: replaced by one mask each, or cut out."""
        stays = dict(zip(self.features, kept, strict=True))
        sides = self._sides
        ids, types = list(self.before), [0] * len(self.before)
        for word in range(len(self.words)):
            if word and sides[word] != sides[word - 1]:
                ids += self.between
                types += [0] * len(self.between)
            pieces = self.words[word]
            if not stays[self.names[word], sides[word]]:
                pieces = () if mask is None or not pieces else (mask,)
            ids += pieces
            types += [sides[word]] * len(pieces)
        ids += self.behind
        types += [sides[-1]] * len(self.behind)
        return ids, types


def cut(tokenizer: Any, text: str, special: bool = True) -> Tokens:
    """A text of words between blanks, each of which the tokenizer reads by itself."""
    before, behind = ((tokenizer.cls_token_id,), (tokenizer.sep_token_id,)) if special else ((), ())
    found = Tokens(before, _pieces(tokenizer, text), behind, tuple(text.lower().split()))
    assert found.input(found.whole, None)[0] == list(tokenizer(text)["input_ids"])
    return found


def cut_pair(tokenizer: Any, first: str, second: str) -> Tokens:
    """Two such texts, [CLS] first [SEP] second [SEP], where a word of both is two features."""
    words = _pieces(tokenizer, first), _pieces(tokenizer, second)
    end = (tokenizer.sep_token_id,)
    names = (*first.lower().split(), *second.lower().split())
    sides = (0,) * len(words[0]) + (1,) * len(words[1])
    found = Tokens((tokenizer.cls_token_id,), words[0] + words[1], end, names, sides, end)
    assert found.input(found.whole, None)[0] == list(tokenizer(first, second)["input_ids"])
    return found


def _pieces(tokenizer: Any, text: str) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(tokenizer(word, add_special_tokens=False)["input_ids"]) for word in text.split())


def windows(tokens: Tokens, limit: int) -> list[Tokens]:
    """The same text in windows of so many tokens, each of which begins half a window later; the last one at the end."""
    flat = [(word, number) for word, pieces in enumerate(tokens.words) for number in pieces]
    room = limit - len(tokens.before) - len(tokens.behind)
    if len(flat) <= room:
        return [tokens]
    found = []
    for start in [*range(0, len(flat) - room, room // 2), len(flat) - room]:
        inside = flat[start : start + room]
        words = tuple(tuple(number for word, number in inside if word == place) for place in range(len(tokens.words)))
        found.append(replace(tokens, words=words))
    return found


def logits_of(model: Any, ids: Sequence[int], types: Sequence[int] | None = None) -> np.ndarray:
    """One text, nothing else: (C,)."""
    numbers = torch.tensor([list(ids)])
    takes_types = types is not None and "token_type_ids" in inspect.signature(model.forward).parameters
    more = {"token_type_ids": torch.tensor([list(types)])} if takes_types and types is not None else {}
    with torch.no_grad():
        answer = model(input_ids=numbers, attention_mask=torch.ones_like(numbers), **more)
    found: np.ndarray = answer.logits[0].double().numpy()
    return found


def table_of(model: Any, parts: Sequence[Tokens], mask: int | None, empty: Sequence[int] | None = None) -> Table:
    """The logits of every subset, the mean over the windows of a text; `mask` None deletes.

    `empty` stands for a text of which no token is left. Subsets that the model cannot read have no entry.
    """
    found = {}
    for kept in itertools.product((0, 1), repeat=len(parts[0].features)):
        asked = [tokens.input(kept, mask) for tokens in parts]
        if empty is not None:
            asked = [(ids, types) if ids else (list(empty), [0] * len(empty)) for ids, types in asked]
        try:
            every = [logits_of(model, ids, types if parts[0].sides else None) for ids, types in asked]
        except Exception:  # whatever a model raises
            continue
        found[kept] = np.mean(every, axis=0)
    return found


def is_complete(table: Table) -> bool:
    """Whether every subset has an entry."""
    return len(table) == 2 ** len(next(iter(table)))


def leave_one_out(table: Table) -> np.ndarray:
    """(d, C): what is lost when one feature goes."""
    d = len(next(iter(table)))
    whole = table[(1,) * d]
    return np.array([whole - table[tuple(int(i != j) for i in range(d))] for j in range(d)])


def shapley(table: Table) -> np.ndarray:
    """(d, C): the sum over subsets without j of |S|! (d - |S| - 1)! / d! times what j adds."""
    d = len(next(iter(table)))
    found = np.zeros((d, len(table[(1,) * d])))
    for kept, value in table.items():
        size = sum(kept)
        for j in range(d):
            if kept[j]:
                found[j] += math.factorial(size - 1) * math.factorial(d - size) / math.factorial(d) * value
            else:
                found[j] -= math.factorial(size) * math.factorial(d - size - 1) / math.factorial(d) * value
    return found


def lime(table: Table) -> np.ndarray:
    """(d, C): ridge regression with an intercept that is not penalised, on each subset as often as it is expected.

    The document is drawn once. The other n - 1 samples remove 1 to d words, each number as often as each other, and
    then any words. A sample weighs exp(-(1 - cos)² / 2ν²), cos = sqrt(kept / d).
    """
    d = len(next(iter(table)))
    gram, moment = np.zeros((d + 1, d + 1)), np.zeros((d + 1, len(table[(1,) * d])))
    for kept, value in table.items():
        gone = d - sum(kept)
        times = 1.0 if gone == 0 else (LIME_SAMPLES - 1) / (d * math.comb(d, gone))
        weight = times * math.exp(-((1.0 - math.sqrt(sum(kept) / d)) ** 2) / (2.0 * LIME_WIDTH**2))
        row = np.array([1.0, *kept])
        gram += weight * np.outer(row, row)
        moment += weight * np.outer(row, value)
    for j in range(1, d + 1):
        gram[j, j] += LIME_RIDGE
    found: np.ndarray = np.linalg.solve(gram, moment)[1:]
    return found


@cache
def gain(method: Callable[[Table], np.ndarray], d: int) -> float:
    """How far a weight of d features may move where each of the 2^d outputs is off by at most 1."""
    subsets = list(itertools.product((0, 1), repeat=d))
    outputs = np.eye(len(subsets))
    found = method(dict(zip(subsets, outputs, strict=True)))  # (d, 2^d): each output as a label of its own
    return float(np.abs(found).sum(axis=1).max())


# ── attention ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def positions_read(model: Any, ids: Sequence[int]) -> list[int] | None:
    """The positions of the last hidden state that the logits depend on, found by a gradient; None: it is not seen."""
    seen: list[torch.Tensor] = []

    def keep(module: Any, arguments: Any, answer: Any) -> None:
        state = answer[0] if isinstance(answer, tuple) else getattr(answer, "last_hidden_state", None)
        if isinstance(state, torch.Tensor) and state.requires_grad:
            seen.append(state)

    handle = model.base_model.register_forward_hook(keep)
    numbers = torch.tensor([list(ids)])
    try:
        with torch.enable_grad():
            logits = model(input_ids=numbers, attention_mask=torch.ones_like(numbers)).logits
    finally:
        handle.remove()
    if not seen or seen[-1].ndim != 3 or seen[-1].shape[1] != len(ids):
        return None
    weights = torch.linspace(1.0, 2.0, logits.shape[-1])
    (gradient,) = torch.autograd.grad((logits * weights).sum(), seen[-1], allow_unused=True)
    if gradient is None:
        return None
    size = gradient[0].abs().amax(dim=-1)
    return [int(place) for place in torch.nonzero(size > 1e-6 * size.max()).flatten()]


def attention_of(model: Any, ids: Sequence[int]) -> np.ndarray | None:
    """(layers, heads, T, T) of one text; None where the model shows none of this shape."""
    numbers = torch.tensor([list(ids)])
    with torch.no_grad():
        answer = model(input_ids=numbers, attention_mask=torch.ones_like(numbers), output_attentions=True)
    layers = getattr(answer, "attentions", None)
    if not layers or any(layer is None or layer.shape[-2:] != (len(ids),) * 2 for layer in layers):
        return None
    return torch.cat([layer.double() for layer in layers]).numpy()


def per_feature(tokens: Tokens, paid: np.ndarray) -> np.ndarray:
    """What positions (T,) are paid, summed over the tokens of each feature."""
    found, place = dict.fromkeys(tokens.features, 0.0), len(tokens.before)
    for name, pieces in zip(tokens.names, tokens.words, strict=True):
        found[name, 0] += float(paid[place : place + len(pieces)].sum())
        place += len(pieces)
    return np.array(list(found.values()))


def attention_weights(tokens: Tokens, weights: np.ndarray, read: Sequence[int]) -> dict[str, np.ndarray]:
    """α-avg and α-max of the last layer and rollout, by their definitions, for a head that reads these positions."""
    reader = np.zeros(weights.shape[-1])
    reader[list(read)] = 1.0 / len(read)
    rows = np.einsum("q,hqk->hk", reader, weights[-1])
    passed = np.eye(weights.shape[-1])
    for layer in weights:
        passed = (layer.mean(axis=0) + np.eye(len(passed))) / 2 @ passed
    return {
        "alpha-avg": per_feature(tokens, rows.mean(axis=0)),
        "alpha-max": per_feature(tokens, rows.max(axis=0)),
        "rollout": per_feature(tokens, reader @ passed),
    }
