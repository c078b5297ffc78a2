"""limelight beside the oracle, one classifier of transformers at a time."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import transformers

import limelight
from limelight.errors import LimelightError
from reference import removal_oracle as oracle
from reference.small_architectures import (
    BARE,
    SEP,
    SETTINGS,
    USUAL,
    NotBuilt,
    Setting,
    quiet,
    small_classifier,
    word_pieces,
)

TEXTS = ("the film was disappointingly long", "a wonderful film but a zzqx film")
"""Words of one piece and of several, words that stand twice, and one that the tokenizer does not know."""
SHORT = ("wonderful film boring",)
LITERAL = ("good [SEP] wonderful [MASK]", "[CLS] [PAD] boring")
"""Special tokens that somebody typed, which are words like any other."""
LONG = ("unforgettable disappointingly wonderful",)
PAIRS = (("boring film", "a film"), ("good", "unforgettable film"))
BATCH = (
    "great",
    "the film was disappointingly long and not good",
    "a boring story",
    "unforgettable and wonderful",
    "bad",
)
"""Texts of several lengths for one call of `predict_logits`."""
METHODS: dict[str, Callable[[oracle.Table], np.ndarray]] = {
    "leave-one-out": oracle.leave_one_out,
    "shapley": oracle.shapley,
    "lime": oracle.lime,
}
ATTENTION = ("alpha-avg", "alpha-max", "rollout")
ROUNDING = 64.0 * float(np.finfo(np.float32).eps)
"""How far a logit may be off, as a part of the largest: batches of other shapes add up in another order. Padding that
is seen moves logits a thousand times as far. A weight may be off by as much as such logits can move it, its gain."""


@dataclass(frozen=True)
class Case:
    """A way to ask one class: its tokenizer and pad, its head, and what it reads."""

    name: str
    setting: Setting = USUAL
    texts: Sequence[Any] = SHORT
    configuration: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    window: int = 0
    attention: bool = False
    """Whether attention is compared, and a gradient asked for."""


PAIR_CASE = Case("pairs", texts=PAIRS, options={"pairs": True})
CASES = (
    Case("usual", texts=TEXTS, attention=True),
    Case("no special tokens", BARE, TEXTS, attention=True),
    *(Case(setting.name, setting, attention=setting.pad == SEP) for setting in SETTINGS[2:]),
    Case("one label", configuration={"labels": ("value",)}),
    Case("two labels", BARE, configuration={"labels": ("no", "yes")}),
    Case("several labels", configuration={"problem_type": "multi_label_classification"}),
    Case("literal special tokens", texts=LITERAL, options={"words": str.split}, attention=True),
    Case("windows", texts=LONG, options={"window": True, "max_length": 8}, window=8),
    PAIR_CASE,
)


@dataclass
class Found:
    """What one class came to in one case."""

    name: str
    case: Case
    comparisons: int = 0
    error: float = 0.0
    """The largest, beside the largest weight."""
    share: float = 0.0
    """The largest, beside what is allowed."""
    wrong: list[str] = field(default_factory=list)
    raised: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    not_built: str = ""
    batching: str = ""
    read: set[str] = field(default_factory=set)
    """Which positions attention was asked for, where it was compared."""

    @property
    def outcome(self) -> str:
        if self.not_built:
            return "not built"
        if self.raised:
            return "raised"
        if self.wrong:
            return "wrong"
        return "right" if self.comparisons else "refused"

    def compare(self, what: str, found: np.ndarray, expected: np.ndarray, allowed: float) -> None:
        """Count the numbers, and keep the largest error: `allowed` is the largest that rounding explains."""
        self.comparisons += expected.size
        if found.shape != expected.shape:
            self.wrong.append(f"{what}: shape {found.shape}, not {expected.shape}")
            return
        error, largest = float(np.abs(found - expected).max()), float(np.abs(expected).max())
        if not error <= allowed:
            self.wrong.append(f"{what}: off by {error:.2g} where the largest is {largest:.2g}, allowed {allowed:.0e}")
        self.error = max(self.error, error / max(largest, 1e-30))
        self.share = max(self.share, error / allowed)

    def ask(self, what: str, question: Callable[[], Any]) -> Any:
        """The answer; None where it is refused in words, or where something else is raised."""
        try:
            return question()
        except LimelightError as error:
            kept, said = self.refused, f"{what}: {error}"
        except Exception as error:
            kept, said = self.raised, f"{what}: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
        if said not in kept:
            kept.append(said)
        return None


def walk(name: str, cases: Sequence[Case] = CASES) -> Iterator[Found]:
    """A class in each of these cases."""
    for case in cases:
        found = check(name, case)
        yield found
        if found.not_built and case is cases[0]:
            return


def check(name: str, case: Case, seed: int = 0) -> Found:
    """A class by its name, from a small configuration, compared in this case."""
    found = Found(name, case)
    try:
        model = small_classifier(name, case.setting, seed, **case.configuration)
    except NotBuilt as error:
        found.not_built = str(error)
        return found
    own = word_pieces(case.setting)
    with quiet():
        try:
            two = [oracle.logits_of(model, own(text)["input_ids"]) for text in BATCH[:2]]
        except Exception as error:
            found.not_built = f"transformers cannot run it so: {type(error).__name__}: {error}"
            return found
    if np.abs(two[0] - two[1]).max() <= ROUNDING * np.abs(two).max():
        found.not_built = "no word moves its logits on this machine, such as where its attention needs a GPU's kernel"
        return found
    compare(found, model, own)
    return found


def compare(found: Found, bare: Any, own: Any) -> None:
    """A model and its tokenizer, in the case of `found`."""
    case = found.case
    with quiet():
        wrapped = found.ask("wrap", lambda: limelight.wrap(bare, own, **case.options))
        if wrapped is None:
            return
        found.batching = str(getattr(wrapped, "batching", "padded"))
        parts = [_parts(own, case, text) for text in case.texts]
        _compare_logits(found, wrapped, bare, own, parts)
        for text, windows in zip(case.texts, parts, strict=True):
            _compare_removals(found, wrapped, bare, own, text, windows)
            if case.attention:
                _check_gradient(found, wrapped, text)
                _compare_attention(found, wrapped, bare, text, windows[0])


def _parts(own: Any, case: Case, text: Any) -> list[oracle.Tokens]:
    """The windows of a text, or of a pair, by hand; most have one."""
    if isinstance(text, tuple):
        return [oracle.cut_pair(own, *text)]
    whole = oracle.cut(own, text, case.setting.special)
    return oracle.windows(whole, case.window) if case.window else [whole]


def _compare_logits(found: Found, wrapped: Any, bare: Any, own: Any, parts: list[list[oracle.Tokens]]) -> None:
    """Texts of several lengths in one call."""
    case = found.case
    more = [] if case.options.get("pairs") else list(BATCH)
    every = [*(_parts(own, case, text) for text in more), *parts]
    expected = []
    for windows in every:
        whole = windows[0].whole
        inputs = [tokens.input(whole, None) for tokens in windows]
        each = [oracle.logits_of(bare, ids, types if windows[0].sides else None) for ids, types in inputs]
        expected.append(np.mean(each, axis=0))
    logits = found.ask("predict_logits", lambda: wrapped.predict_logits([*more, *case.texts]))
    if logits is not None:
        found.compare("predict_logits", logits, np.stack(expected), ROUNDING * float(np.abs(expected).max()))


def _compare_removals(
    found: Found, wrapped: Any, bare: Any, own: Any, text: Any, windows: Sequence[oracle.Tokens]
) -> None:
    empty = _beginning(bare)
    for removal, mask in (("mask", own.mask_token_id), ("delete", None)):
        table = oracle.table_of(bare, windows, mask, empty)
        off = ROUNDING * max(float(np.abs(logits).max()) for logits in table.values())
        for method, by_definition in METHODS.items():
            weights = found.ask(f"{method}, {removal}", lambda m=method, r=removal: _weights(wrapped, text, m, r))
            if weights is None:
                continue
            if method != "leave-one-out" and not oracle.is_complete(table):
                found.wrong.append(
                    f"{method}, {removal}, {text!r}: answered, though the model cannot read every subset"
                )
            else:
                allowed = off * oracle.gain(by_definition, len(windows[0].features))
                found.compare(f"{method}, {removal}, {text!r}", weights, by_definition(table), allowed)


def _beginning(bare: Any) -> list[int] | None:
    """How docs/transformers.md says that a text without any token is read: as the first that the configuration has of
    a token to begin and one to end with."""
    owners = (bare.config.get_text_config(), bare.config)
    named = [getattr(owner, name, None) for name in ("bos_token_id", "eos_token_id") for owner in owners]
    return next(([number] for number in named if number is not None), None)


def _weights(model: Any, text: Any, method: str, removal: Any) -> np.ndarray:
    """(d, C): of every label."""
    every = limelight.explain(model, text, method, target="all", removal=removal)
    return np.stack([explanation.weights for explanation in every], axis=1)


def _compare_attention(found: Found, wrapped: Any, bare: Any, text: str, tokens: oracle.Tokens) -> None:
    """α-avg, α-max and rollout: never nothing, and those of the positions that the head reads."""
    ids, _ = tokens.input(tokens.whole, None)
    weights, read = oracle.attention_of(_eager(bare), ids), oracle.positions_read(bare, ids)
    expected = oracle.attention_weights(tokens, weights, read) if weights is not None and read else {}
    for method in ATTENTION:
        paid = found.ask(method, lambda method=method: limelight.explain(wrapped, text, method).weights)
        if paid is None:
            continue
        if not np.any(paid):
            found.wrong.append(f"{method}, {text!r}: nothing but zeros")
        if method in expected:
            found.compare(f"{method}, {text!r}, read at {read} of {len(ids)}", paid, expected[method], ROUNDING)
            found.read.add(_places(read or [], len(ids)))


def _check_gradient(found: Found, wrapped: Any, text: Any) -> None:
    """Gradients are numbers, or refused in words; what they are is compared elsewhere."""
    weights = found.ask("gxi", lambda: limelight.explain(wrapped, text, "gxi").weights)
    if weights is not None and not np.isfinite(weights).all():
        found.wrong.append(f"gxi, {text!r}: {weights}")


def _eager(bare: Any) -> Any:
    """A copy of the model that shows its attention."""
    copied = copy.deepcopy(bare)
    with contextlib.suppress(Exception):  # a class without a choice of implementations has the eager one
        copied.set_attn_implementation("eager")
    return copied


def _places(read: Sequence[int], n: int) -> str:
    if len(read) == n:
        return "all"
    names = {0: "first", n - 1: "last"}
    return names.get(read[0], "last but the padding") if len(read) == 1 else f"{len(read)} positions"


def trained(folder: str) -> Found:
    """Weights that were trained, from a folder, with their own tokenizer, which puts [CLS] and [SEP] around a text."""
    own = transformers.AutoTokenizer.from_pretrained(folder)
    with quiet():
        model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).float().eval()
    found = Found(type(model).__name__, Case(folder, texts=TEXTS))
    compare(found, model, own)
    return found
