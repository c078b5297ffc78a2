"""limelight beside the oracle, for one classifier of transformers at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import limelight
from limelight.errors import LimelightError
from reference import removal_oracle as oracle
from reference.small_architectures import MASK, NUMBERS, USUAL, NotBuilt, Setting, quiet, small_classifier, word_pieces

TEXTS = ("the film was disappointingly long", "a wonderful story but boring the ending", "the film was not the best film")
"""Words of one piece and of several, one that the tokenizer does not know, and words that stand twice."""
SHORT = ("the wonderful film was boring",)
BATCH = ("great", "the film was disappointingly long and not good", "a boring story", "unforgettable and wonderful", "bad")
"""Texts of several lengths for one call of `predict_logits`."""
METHODS: dict[str, Callable[[oracle.Table], np.ndarray]] = {
    "leave-one-out": oracle.leave_one_out,
    "shapley": oracle.shapley,
    "lime": oracle.lime,
}
ATTENTION = ("alpha-avg", "alpha-max", "rollout")
TOLERANCE = 1e-4
"""Of the largest weight: how far a number of limelight may be from the oracle's."""


@dataclass
class Found:
    """What one classifier in one setting came to."""

    name: str
    setting: Setting
    comparisons: int = 0
    error: float = 0.0
    wrong: list[str] = field(default_factory=list)
    raised: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    not_built: str = ""
    batching: str = ""

    @property
    def outcome(self) -> str:
        if self.not_built:
            return "not built"
        if self.raised:
            return "raised"
        if self.wrong:
            return "wrong"
        return "right" if self.comparisons else "refused"

    def compare(self, what: str, found: np.ndarray, expected: np.ndarray, scale: float | None = None) -> None:
        """Count the numbers, and keep the largest error beside the largest number."""
        self.comparisons += expected.size
        if found.shape != expected.shape:
            self.wrong.append(f"{what}: shape {found.shape}, not {expected.shape}")
            return
        largest = float(np.abs(expected).max()) if scale is None else scale
        error = float(np.abs(found - expected).max()) / max(largest, 1e-30)
        if not error <= TOLERANCE:
            self.wrong.append(f"{what}: off by {error:.2g} of the largest, {largest:.3g}")
        if not error <= self.error:
            self.error = error


def check(
    name: str,
    setting: Setting = USUAL,
    texts: Sequence[str] = TEXTS,
    *,
    attention: bool = True,
    model: Any = None,
    tokenizer: Any = None,
    **more: Any,
) -> Found:
    """A class by its name in a setting, or a model with its tokenizer, compared on these texts."""
    found = Found(name, setting)
    own = word_pieces(setting) if tokenizer is None else tokenizer
    try:
        bare = small_classifier(name, setting, **more) if model is None else model
    except NotBuilt as error:
        found.not_built = str(error)
        return found
    with quiet():
        try:
            _check(found, bare, own, texts, attention)
        except LimelightError as error:
            found.refused.append(str(error))
    return found


def _check(found: Found, bare: Any, own: Any, texts: Sequence[str], attention: bool) -> None:
    special = found.setting.special
    empty = None if bare.config.bos_token_id is None else [bare.config.bos_token_id]
    wrapped = _asked(found, "wrap", lambda: limelight.wrap(bare, own))
    if wrapped is None:
        return
    found.batching = str(getattr(wrapped, "batching", "padded"))
    tokens = [oracle.cut(own, text, special) for text in texts]
    batch = [*BATCH, *texts]
    expected = np.stack([oracle.logits_of(bare, own(text)["input_ids"]) for text in batch])
    logits = _asked(found, "predict_logits", lambda: wrapped.predict_logits(batch))
    if logits is not None:
        found.compare("predict_logits", logits, expected)
    for text, cut in zip(texts, tokens, strict=True):
        for removal, mask in (("mask", own.mask_token_id), ("delete", None)):
            table = oracle.table_of(bare, cut, mask, empty)
            for method, by_definition in METHODS.items():
                weights = _weights(found, wrapped, text, method, removal)
                if weights is not None:
                    found.compare(f"{method}, {removal}, {text!r}", weights, by_definition(table))
        if attention:
            _check_attention(found, wrapped, bare, cut, text)


def _weights(found: Found, model: Any, text: str, method: str, removal: str) -> np.ndarray | None:
    """(d, C): of every label."""

    def ask() -> np.ndarray:
        every = limelight.explain(model, text, method, target="all", removal=removal)
        return np.stack([explanation.weights for explanation in every.explanations], axis=1)

    return _asked(found, f"{method}, {removal}", ask)


def _check_attention(found: Found, wrapped: Any, bare: Any, cut: oracle.Tokens, text: str) -> None:
    ids, _ = cut.input((1,) * len(cut.features), None)
    eager = limelight_free_eager(bare)
    shown, read = (None, None) if eager is None else (oracle.attention_of(eager, ids), oracle.positions_read(bare, ids))
    expected = oracle.attention_weights(cut, shown, read) if shown is not None and read else {}
    for method in ATTENTION:
        paid = _asked(found, method, lambda method=method: limelight.explain(wrapped, text, method).weights)
        if paid is None:
            continue
        if not np.any(paid):
            found.wrong.append(f"{method}: nothing but zeros")
        if method in expected:
            found.compare(f"{method}, {text!r}, read at {read} of {len(ids)}", paid, expected[method])


def limelight_free_eager(bare: Any) -> Any:
    """A copy of the model with eager attention."""
    import copy

    copied = copy.deepcopy(bare)
    try:
        copied.set_attn_implementation("eager")
    except Exception:
        return copied
    return copied


def _asked(found: Found, what: str, ask: Callable[[], Any]) -> Any:
    """The answer; None where it is refused in words, or where something else is raised."""
    try:
        return ask()
    except LimelightError as error:
        said = f"{what}: {error}"
        if said not in found.refused:
            found.refused.append(said)
    except Exception as error:
        said = f"{what}: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
        if said not in found.raised:
            found.raised.append(said)
    return None
