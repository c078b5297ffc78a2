"""Fuzzed calls: any text, any option, any model, and what must hold whatever comes.

    python tests/reliability/fuzz.py --calls 100000 --seed 1 --processes 2
    python tests/reliability/fuzz.py --seed 1 --only 4711              # one call again, with its traceback

Call number i of a seed is always the same call. Each is made twice, some with other calls or threads in between, and
the answers must be equal to the last bit. Nothing but a LimelightError may be raised, with a message that names what
was given; spans, weights, standard errors, stored form, page, terminal and the state of the process are checked.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import random
import resource
import signal
import sys
import threading
import time
import traceback
import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

TESTS, SOURCE = Path(__file__).parents[1], Path(__file__).parents[2] / "src" / "limelight"
if str(TESTS) not in sys.path:  # run as a script
    sys.path.insert(0, str(TESTS))

import numpy as np  # noqa: E402
import scipy.special  # noqa: E402, F401 - sets a filter of warnings when first imported, which is no call's doing
import torch  # noqa: E402
from rich.console import Console  # noqa: E402
from threadpoolctl import ThreadpoolController  # noqa: E402

import limelight  # noqa: E402
from conftest import WORDS, small_model  # noqa: E402
from limelight.attribution.request import Request  # noqa: E402
from limelight.core.progress import Silent  # noqa: E402
from limelight.errors import (  # noqa: E402
    ExplanationWarning,
    LimelightError,
    ParameterError,
    UnknownNameError,
    shown,
)
from limelight.explainers.method import Conditions, find, methods  # noqa: E402
from limelight.explanation.result import Comparison, Explanation  # noqa: E402
from limelight.inputs.document import UNKNOWN  # noqa: E402
from limelight.models.words.classifier import Vocabulary  # noqa: E402
from limelight.models.words.transformer import TransformerClassifier, TransformerConfig  # noqa: E402
from limelight.render.html.page_frame import SCRIPT  # noqa: E402
from limelight.render.terminal.page import Look, render  # noqa: E402
from reliability.state import State, resident  # noqa: E402

FULL_STATE_EVERY = 100
"""Calls between two looks at the whole state; the cheap part of it is compared at every call."""
HANGS_AFTER = 60
"""Seconds after which a call counts as one that never ends."""
MEMORY = 16 * 2**30
"""Bytes that a process of a long run may map: what asks for more gets a MemoryError, not the whole machine."""
LONGEST_MESSAGE = 2_000
LONGEST_REPR = 1_000
MOST_STEPS = 2_000
"""Coalitions after which the progress of a call stops it."""


# ── models ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _deep(dtype: torch.dtype, **options: Any) -> TransformerClassifier:
    config = TransformerConfig(T_max=16, d_e=8, d_att=3, d_out=5, K=2, layers=2, d_mlp=7, **options)
    model = TransformerClassifier(config, Vocabulary(WORDS), ("negative", "neutral", "positive")).to(dtype)
    model.initialise(0, embedding=1.0, heads=0.8)
    return model.eval()


def _huggingface(family: str, **options: Any) -> Any:
    from reference.small_transformers import small_transformer

    return limelight.wrap(*small_transformer(family), **options)


def _function(classes: int, sharpness: float = 1.0, kind: Callable[[Any], Any] = np.asarray) -> Any:
    """Probabilities by the letters of a text: any text has some, and each word counts."""

    def predict(texts: list[str]) -> Any:
        logits = sharpness * np.array([_letters(text, classes) for text in texts]) / 97.0
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        return kind(p / p.sum(axis=1, keepdims=True))

    return limelight.wrap(predict, labels=[f"label {c}" for c in range(classes)])


def _letters(text: str, classes: int) -> np.ndarray:
    """Every class sums its share of the code points."""
    code_points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.int64)
    return np.bincount(np.arange(len(code_points)) % classes, weights=code_points, minlength=classes) % 97


def _constant() -> Any:
    return limelight.wrap(lambda texts: np.full((len(texts), 2), 0.5), labels=["\u202eno\x1b[31m", "<b>yes</b>"])


MODELS: dict[str, Callable[[], Any]] = {
    "attention": small_model,
    "attention, 2 classes, float32": lambda: small_model(1, ("no", "yes")).float(),
    "attention, 5 classes": lambda: small_model(2, ("a", "b", "c", "d", "e")),
    "embedded": limelight.load,
    "deep, float64": lambda: _deep(torch.float64),
    "deep, float32, GELU": lambda: _deep(torch.float32, mlp="gelu", layer_norm=False),
    "BERT": lambda: _huggingface("bert"),
    "BERT, windows": lambda: _huggingface("bert", window=True, max_length=12),
    "RoBERTa, truncating": lambda: _huggingface("roberta", truncate=True),
    "ALBERT, windows": lambda: _huggingface("albert", window=True),
    "DistilBERT, truncating": lambda: _huggingface("distilbert", truncate=True, max_length=10),
    "DeBERTa-v2": lambda: _huggingface("deberta-v2", truncate=True),
    "MPNet": lambda: _huggingface("mpnet", window=True),
    "function": lambda: _function(3),
    "function, 2 classes, lists": lambda: _function(2, kind=lambda p: p.tolist()),
    "function, certain": lambda: _function(2, sharpness=1e4),
    "function, 1,000 classes": lambda: _function(1000, kind=lambda p: p.astype(np.float32)),
    "function, constant": _constant,
}
SHARES = {
    "attention": 10,
    "attention, 2 classes, float32": 8,
    "attention, 5 classes": 8,
    "embedded": 5,
    "deep, float64": 3,
    "deep, float32, GELU": 3,
    "function": 10,
    "function, 2 classes, lists": 3,
    "function, certain": 3,
    "function, constant": 3,
}
"""How often each kind is drawn: cheap ones more often than others, which are drawn once."""


@cache
def model_of(kind: str) -> Any:
    """One model of each kind serves all calls of a process."""
    model = MODELS[kind]()
    # Libraries are imported and start their threads here, before any comparison.
    options = {name: value for name, value in _CHEAP.items() if name in _options(model, _applicable(model))}
    # Tokenizers are trained anew in each process, and some give a model that integrated gradients take long for.
    if "tolerance" in options:
        options["tolerance"] = 4.0
    comparison = limelight.compare(model, "a good film", "all", **options)
    for view in range(_VIEWS):
        check_views(comparison.explanations, random.Random(view), view)
    return model


@cache
def applicable_to(kind: str) -> list[str]:
    """Methods that apply to a model of this kind."""
    return _applicable(model_of(kind))


def _applicable(model: Any) -> list[str]:
    return [method.id for method in Request().applicable(model.view("a good film"))]


def _options(model: Any, ids: Sequence[str]) -> list[str]:
    """The options that these methods have for a model; for one that does not apply, all that it has anywhere."""
    view, plain, names = model.view("a good film"), Conditions(output=model.view("a good film").outputs[0]), set()
    for id in ids:
        way = find(id).implementation_for(view, plain)
        names |= {name for one in ([way] if way else find(id).implementations) for name in one.options}
    return sorted(names)


# ── texts ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

_BIDI = "\u202a\u202b\u202d\u202e\u202c\u2066\u2067\u2068\u2069\u200e\u200f\u061c"
_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u180e\u034f\ufe0f"
_COMBINING = "\u0301\u0300\u0323\u0489\u20dd\u3099\u0e47\u093f"
_EMOJI = ("👍🏽", "😀", "🇫🇷", "👨‍👩‍👧", "❤️", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🇫", "🏽")
_HTML = (
    "<br />",
    "<BR>",
    "<b>",
    "</b>",
    "<script>alert(1)</script>",
    "&amp;",
    "&#0;",
    '"><i>',
    "<!--",
    "]]>",
    "</style>",
)
_SPECIAL = ("[UNK]", "[CLS]", "[SEP]", "[MASK]", "[PAD]", "<s>", "</s>", "<mask>", "##ing", "Ġ", "▁", "[unk]")
_SCRIPTS = (
    "我们看电影",
    "日本語の映画",
    "فيلم رائع",
    "שלום",
    "क्षत्रिय",
    "ภาษาไทย",
    "Ünïcödé",
    "ΑΣ",
    "İstanbul",
    "ǅ",
    "ﬁlm",
    "straße",
)
_MARKUP = ("[bold red]x[/]", "[/]", ":smile:", "\\[", "%s", "{0}", "${x}", "\x1b]0;title\x07", "\x1b[2J")


def _words(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(1, 9)))


def _any_characters(rng: random.Random) -> str:
    """Of all planes, surrogates and what is not assigned included."""
    return "".join(
        chr(rng.choice((rng.randrange(0x250), rng.randrange(0x10000), rng.randrange(0x110000))))
        for _ in range(rng.randint(1, 12))
    )


def _controls(rng: random.Random) -> str:
    return "".join(
        rng.choice((chr(rng.randrange(32)), "\x7f", chr(rng.randrange(0x80, 0xA0)), "a", "\u2028")) for _ in range(6)
    )


PIECES: tuple[Callable[[random.Random], str], ...] = (
    _words,
    _any_characters,
    _controls,
    lambda rng: chr(rng.randrange(0xD800, 0xE000)),
    lambda rng: "".join(rng.choices(_BIDI + "ab ", k=4)),
    lambda rng: "".join(rng.choices(_INVISIBLE, k=2)),
    lambda rng: "e" + "".join(rng.choices(_COMBINING, k=rng.choice((1, 2, 40)))),
    lambda rng: "".join(rng.choices(_EMOJI, k=3)),
    lambda rng: rng.choice(_HTML),
    lambda rng: rng.choice(_SPECIAL),
    lambda rng: rng.choice(_SCRIPTS),
    lambda rng: rng.choice(_MARKUP),
    lambda rng: "".join(rng.choices(".,()!?'\"“”‘’;:…—-", k=4)),
    lambda rng: rng.choice((" ", "\t", "\n\n", "\r\n", "\u00a0", "\u3000", "\x85")),
    lambda rng: rng.choice("aé我") * rng.choice((50, 300)),
)
"""Strings that a text is made of."""


def a_text(rng: random.Random, longest: int = 2000) -> str:
    """Mostly short: a sentence, or pieces of anything, with or without spaces."""
    kind = rng.random()
    if kind < 0.3:
        return _words(rng)
    if kind < 0.31:
        return "".join(rng.choices(' \t\n\u200b\u00a0"', k=rng.randint(0, 3)))
    if kind < 0.312:
        return " ".join(rng.choices(WORDS, k=rng.randint(longest // 10, longest)))
    if kind < 0.313:
        return rng.choice("aé我👍.") * longest
    pieces = [rng.choice(PIECES)(rng) for _ in range(rng.randint(1, 5))]
    return rng.choice(("", " ")).join(pieces)


# ── arguments ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Raises:
    """An object whose repr, comparison and truth raise."""

    def _refuse(self, *_: object) -> Any:
        raise ZeroDivisionError("refused")

    __repr__ = __str__ = __eq__ = __bool__ = __len__ = _refuse
    __hash__ = object.__hash__


# fmt: off
WRONG: tuple[Any, ...] = (
    None, True, False, 0, -1, 3, 1.5, math.nan, math.inf, -math.inf, 1e155, 1e-200, -1e-17, 1e308, 10**12, 2**63, 2**64,
    -(2**63) - 1, 10**5000, -(10**5000), "", "5", "lime", "all", "mask", "\ud800", "\x1b[31m", "x" * 10_000, b"bytes",
    b"\xff" * 1000, bytearray(b"a"), [], [1], [None], ["lime", 3], (), {}, {"a": 1}, set(), {"lime"}, range(3),
    object(), _Raises(), _Raises, Ellipsis, complex(1, 2), Decimal("1"), Decimal("NaN"), Fraction(1, 3),
    np.int64(3), np.uint8(2), np.int64(-5), np.float32(0.5), np.float64(math.nan), np.float64(math.inf),
    np.bool_(True), np.str_("words"), np.str_("mask"), np.datetime64("NaT"), np.timedelta64(5),
    np.array([1, 2]), np.array(5), np.array("mask"), np.array(["words"]),
    np.array([]), np.ma.masked, torch.tensor(3), torch.tensor([1.0, 2.0]), len,
)
# fmt: on
"""Values that hardly any argument takes."""


_VALID: dict[str, tuple[Any, ...]] = {
    "n_samples": (2, 3, 8, 20, 50, np.int64(10), np.int32(30)),
    "kernel_width": (0.25, 0.05, 0.5, 1, 25.0, math.inf, np.float32(0.3), 1e-3, 1e10),
    "ridge": (1.0, 0, 0.0, 1e-6, 10, 1e6, np.float64(0.5)),
    "original_first": (True, False, np.bool_(False)),
    "precision": (1e-11, 1e-8, 1e-3, 0.1),
    "n_permutations": (None, 2, 3, 10),
    "layer": (-1, 0, 1, "mean", "max", np.int64(0)),
    "head": (None, 0, 1, -1),
    "baseline": ("mask", "pad", "zero"),
    "tolerance": (1e-3, 0.1, 1e-2),
    "max_steps": (64, 128, 16),
    "steps": (None, 1, 3, 16),
    "corrected": (True, False),
}
_CHEAP = {"n_samples": 20, "max_steps": 64, "tolerance": 0.05}
"""What is given where nothing else is: defaults are for people who wait."""


@dataclass(frozen=True)
class Call:
    """One call, as it will be made."""

    model: str
    kind: str
    """"explain", "many" or "compare"."""
    text: Any
    arguments: dict[str, Any]
    stop: tuple[str, int] | None
    """Which exception the progress raises, and at which event."""
    wrong: tuple[str, ...]
    """The arguments that were replaced by some value."""

    @property
    def method(self) -> str:
        if self.kind == "compare":
            return "compare"
        named = self.arguments.get("method", "lime")
        return named if isinstance(named, str) and named in IDS else "(no method)"

    def __str__(self) -> str:
        arguments = ", ".join(f"{name}={shown(value)}" for name, value in self.arguments.items())
        return f"{self.kind} of {shown(self.text)} with {arguments} by {self.model!r}, progress stops: {self.stop}"


IDS = [method.id for method in methods()]


def a_call(rng: random.Random, kind_of_model: str | None = None) -> Call:
    """Any call: mostly valid but for its text, with one argument replaced in a quarter of the cases, seldom more."""
    model = kind_of_model or rng.choices(list(MODELS), [SHARES.get(kind, 1) for kind in MODELS])[0]
    longest = 2000 if model in ("attention", "embedded", "function") else 120
    kind = rng.choices(("explain", "many", "compare"), (12, 2, 1))[0]
    labels = model_of(model).labels
    arguments: dict[str, Any] = {}
    if kind == "compare":
        few = rng.sample(IDS if rng.random() < 0.2 else applicable_to(model), rng.randint(1, 3))
        arguments["methods"] = rng.choice((None, "all", few, few, tuple(few)))
        named = arguments["methods"]
        chosen = ["lime"] if named is None else applicable_to(model) if named == "all" else list(named)
    else:
        arguments["method"] = rng.choice(IDS if rng.random() < 0.1 else applicable_to(model))
        chosen = [arguments["method"]]
    removals = (
        "mask",
        "delete",
        *(["attention"] if hasattr(model_of(model), "tokenizer") or rng.random() < 0.1 else []),
    )
    for name, values, share in (
        ("target", (None, labels[0], labels[-1], (labels[0], labels[-1])), 0.4),
        ("features", ("words", "occurrences", "words", "sentences", "phrases", ("sentences", "words")), 0.6),
        ("removal", removals, 0.5),
        ("output", ("logit", "log-odds", "probability"), 0.3),
        ("seed", (0, 1, 2**32, np.int64(7), 2**64 + 1), 0.5),
    ):
        if rng.random() < share:
            arguments[name] = rng.choice(values)
    options = _options(model_of(model), chosen)
    for name in options:
        if kind != "compare" and rng.random() < 0.5 and name in _VALID:
            arguments[name] = rng.choice(_VALID[name])
        elif name in _CHEAP:
            arguments[name] = _CHEAP[name]
    text: Any = a_text(rng, longest)
    if kind == "many":
        text = [a_text(rng, 50) for _ in range(rng.randint(0, 3))]
    wrong: list[str] = []
    while rng.random() < (0.25 if not wrong else 0.1):
        name = rng.choice(
            [*arguments, *options, "text", "progress", "unknown", "methods" if kind == "compare" else "method"]
        )
        wrong.append(name)
        if name == "text":
            text = rng.choice(WRONG)
        else:
            arguments[name] = rng.choice(WRONG)
    stop = (
        (rng.choice(("stop", "interrupt")), rng.randint(1, 6))
        if rng.random() < 0.05 and "progress" not in wrong
        else None
    )
    return Call(model, kind, text, arguments, stop, tuple(dict.fromkeys(wrong)))


# ── a call made ───────────────────────────────────────────────────────────────────────────────────────────────────────


class Stopped(Exception):
    """Raised by the progress of a call."""


class Stopping(Silent):
    """Stops a call at an event, or after so many coalitions that only time would be lost."""

    def __init__(self, stop: tuple[str, int] | None) -> None:
        self._stop, self._events, self._steps, self.raised = stop, 0, 0, False

    def begin(self, task: str, steps: int, done: int = 0) -> None:
        self._hear(0)

    def advance(self, steps: int = 1, note: str = "") -> None:
        self._hear(steps)

    def _hear(self, steps: int) -> None:
        self._events += 1
        self._steps += steps
        if self._stop is not None and self._events == self._stop[1]:
            self.raised = True
            raise KeyboardInterrupt if self._stop[0] == "interrupt" else Stopped
        if self._steps > MOST_STEPS:
            self.raised = True
            raise Stopped


@dataclass(frozen=True)
class Outcome:
    """How a call ended: explanations, a LimelightError's type and message, or "stopped"."""

    explanations: tuple[Explanation, ...] = ()
    error: str = ""
    stopped: bool = False

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Outcome)
            and (self.explanations, self.error, self.stopped) == (other.explanations, other.error, other.stopped)
            and [_bytes(e) for e in self.explanations] == [_bytes(e) for e in other.explanations]
        )


def _bytes(explanation: Explanation) -> bytes:
    stderr = b"" if explanation.stderr is None else explanation.stderr.tobytes()
    return explanation.weights.tobytes() + stderr + explanation.prediction.logits.tobytes()


class Broken(Exception):
    """A promise that was not kept."""


def outcome_of(call: Call) -> Outcome:
    """Make a call; any exception but those that may come passes."""
    model, progress = model_of(call.model), Stopping(call.stop)
    arguments = {"progress": progress, **call.arguments}
    try:
        if call.kind == "compare":
            return Outcome(limelight.compare(model, call.text, **arguments).explanations)
        answer = limelight.explain(model, call.text, **arguments)
        answers = answer if isinstance(answer, list) else [answer]
        # target="all" gives a comparison for each text.
        return Outcome(tuple(e for own in answers for e in (own if isinstance(own, Comparison) else [own])))
    except LimelightError as error:
        check_message(error, call)
        return Outcome(error=f"{type(error).__name__}: {error}")
    except (Stopped, KeyboardInterrupt):
        if not progress.raised:
            raise
        return Outcome(stopped=True)


_VIEWS = 7


# ── what must hold ────────────────────────────────────────────────────────────────────────────────────────────────────


def require(holds: bool, promise: str) -> None:
    if not holds:
        raise Broken(promise)


def check_message(error: LimelightError, call: Call) -> None:
    """What was wrong, what was given, what to do; on one line that can be printed anywhere."""
    message = str(error)
    require(bool(message.strip()), "message: empty")
    require(message.isprintable(), f"message: not printable: {message!r}")
    require(len(message) <= LONGEST_MESSAGE, f"message: {len(message)} characters long")
    require(":" in message or ";" in message, f"message: without what to do: {message!r}")
    if isinstance(error, ParameterError | UnknownNameError):
        told = any(part in message for name, value in _given(call) for part in (shown(name), value))
        require(told, f"message: says nothing of what was given: {message!r}")


def _given(call: Call) -> Iterator[tuple[str, str]]:
    """Each argument, and each member of one that is a list, as a message may show it."""
    for name, value in (*call.arguments.items(), ("text", call.text)):
        many = isinstance(value, list | tuple | range) or (isinstance(value, np.ndarray | torch.Tensor) and value.ndim)
        for own in (value, *(value if many else ())):
            yield name, shown(own)
            if isinstance(own, np.generic):
                yield name, shown(own.item())


def check_explanation(e: Explanation) -> None:
    """Shapes, numbers and spans."""
    d = len(e.features)
    require(e.weights.shape == (d,) and len(e.spans) == d and d > 0, "shapes: weights, features and spans differ")
    require(bool(np.isfinite(e.weights).all()), "weights: not finite")
    require(e.signed or bool((e.weights >= 0).all()), "weights: below zero without a sign")
    if e.stderr is not None:
        require(e.stderr.shape == (d,) and not (e.stderr < 0).any(), "stderr: below zero, or of another shape")
        require(not np.isinf(e.stderr).any(), "stderr: infinite")
    p = e.prediction
    require(
        bool(np.isfinite(p.logits).all()) and abs(float(p.probabilities.sum()) - 1) < 1e-6,
        "prediction: no probabilities",
    )
    require(p.label in p.labels and e.target in p.labels, "prediction: a label that does not exist")
    for name, spans in zip(e.features, e.spans, strict=True):
        require(bool(spans), f"spans: {name!r} stands nowhere")
        for start, end in spans:
            require(0 <= start < end <= len(e.text), f"spans: {(start, end)} outside a text of {len(e.text)}")
            covered = e.text[start:end]
            is_word = not e.parameters["features"].startswith(("sentences", "phrases", "spans"))
            read = _form(covered) if is_word else " ".join(covered.split())
            require(read == name, f"spans: {name!r} covers {covered!r}")
    places = sorted(span for spans in e.spans for span in spans)
    require(all(a[1] <= b[0] for a, b in pairwise(places)), "spans: overlap")


def _form(surface: str) -> str:
    """The form of a word, by its definition."""
    return surface if surface == UNKNOWN else "".join("'" if c in "‘’‛" else c for c in surface.lower())


def check_views(explanations: Sequence[Explanation], rng: random.Random, view: int) -> None:
    """Stored form, page, terminal, repr or frame, by number."""
    e = explanations[0]
    together = Comparison(tuple(explanations)) if len({(x.text, x.features) for x in explanations}) == 1 else None
    if view <= 1:
        require(Explanation.from_dict(e.to_dict()) == e, "stored: not the same when read back")
        written = json.dumps(e.to_dict(), allow_nan=False)
        if not _joins(e.text):
            require(Explanation.from_dict(json.loads(written)) == e, "stored: JSON does not give it back")
        if together is not None and not _joins(e.text):
            read = Comparison.from_dict(json.loads(json.dumps(together.to_dict(), allow_nan=False)))
            require(read == together, "stored: a comparison is not the same when read back")
    elif view == 2:
        _check_page((together or e).to_html(), e)
        (together or e)._repr_html_().encode()
    elif view <= 4:
        _check_terminal(explanations if together is not None else [e], rng)
    elif view == 5:
        for written in (repr(e), repr(e.prediction), repr(together)):
            require(written.isprintable() and len(written) <= LONGEST_REPR, f"repr: long or not printable: {written!r}")
    else:
        frame = (together or e).to_frame()
        require(len(frame) == len(e) * len(together or [e]), "frame: rows are missing")


def _joins(text: str) -> bool:
    """Whether JSON reads two characters of a text, the halves of a surrogate pair, as one."""
    return any("\ud800" <= a <= "\udbff" and "\udc00" <= b <= "\udfff" for a, b in pairwise(text))


def _check_page(page: str, e: Explanation) -> None:
    page.encode()
    own = page.replace(f"<script>{SCRIPT}</script>", "", 1).lower()
    require("<script" not in own.replace("&lt;script", ""), "page: a script that is not its own")
    acting = {c for c in page if unicodedata.category(c) in ("Cc", "Cs") and c != "\n"}
    require(not acting, f"page: acting characters {acting!r}")
    require(len(page) < 60_000 + 2_000 * (len(e) + 1) + 60 * len(e.text), f"page: {len(page):,} characters")


def _check_terminal(explanations: Sequence[Explanation], rng: random.Random) -> None:
    stream = io.StringIO()
    system = rng.choice((None, "standard", "256", "truecolor"))
    console = Console(
        file=stream,
        width=rng.choice((1, 2, 7, 20, 40, 79, 80, 133, 300)),
        color_system=system,
        force_terminal=system is not None,
        legacy_windows=False,
    )
    look = Look(numbers=rng.random() < 0.4, top=rng.choice((None, 1, 7)), order=rng.choice((None, "weight", "signed")))
    render(explanations, console=console, look=look)
    printed = stream.getvalue()
    printed.encode()
    if system is None:
        acting = {c for c in printed if unicodedata.category(c) in ("Cc", "Cs") and c != "\n"}
        require(not acting, f"terminal: acting characters {acting!r}")


# ── one number, one call ──────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Finding:
    """What was wrong with a call: `what` for grouping, `where` in limelight it happened."""

    index: int
    what: str
    where: str
    call: str
    trace: str


def dice(seed: int, index: int) -> random.Random:
    return random.Random(f"{seed}/{index}")


def check_call(seed: int, index: int, full: bool | None = None) -> tuple[Call, Outcome | None, Finding | None]:
    """Call number `index` of a seed: made, checked, disturbed, made again."""
    rng = dice(seed, index)
    call = a_call(rng)
    model = model_of(call.model)
    if full is None:
        full = index % FULL_STATE_EVERY == 0
    outcome: Outcome | None = None
    try:
        with warnings.catch_warnings(record=True) as warned, _hang_after(HANGS_AFTER), _elsewhere(full):
            warnings.simplefilter("always")
            state = State(model, call.text, call.arguments, cheap=not full)
            outcome = outcome_of(call)
            changes = state.changes()
            require(not changes, f"state: {'; '.join(changes)[:300]}")
            for explanation in outcome.explanations:
                check_explanation(explanation)
            if outcome.explanations:
                check_views(outcome.explanations, rng, rng.randrange(_VIEWS))
            _disturb(rng, call)
            require(outcome_of(call) == outcome, "repeat: another answer")
            own = [warning for warning in warned if not issubclass(warning.category, ExplanationWarning)]
            require(not own, f"warning: {own[0].message}" if own else "")
    except (Exception, KeyboardInterrupt) as error:  # a finding, not an accident of the fuzzer
        if isinstance(error, KeyboardInterrupt) and call.stop is None:
            raise
        return call, outcome, _finding(index, call, error)
    return call, outcome, None


@contextlib.contextmanager
def _elsewhere(full: bool) -> Iterator[None]:
    """Away from where earlier calls may have set things: what is set to the same value twice shows no change."""
    random.random()
    np.random.random()  # noqa: NPY002
    torch.rand(1)
    # BLAS alone: OpenMP's limit belongs to a thread, and with another one torch rounds otherwise.
    with ThreadpoolController().limit(limits=2, user_api="blas") if full else contextlib.nullcontext():
        yield


def _disturb(rng: random.Random, call: Call) -> None:
    """Something between a call and its repetition: another call, threads that make the same one, or nothing."""
    kind = rng.random()
    if kind < 0.2:
        with contextlib.suppress(LimelightError, Broken):
            outcome_of(a_call(rng, call.model))
    elif kind < 0.25:
        answers: list[Outcome | BaseException] = []

        def ask() -> None:
            try:
                answers.append(outcome_of(call))
            except BaseException as error:
                answers.append(error)

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        require(answers[0] == answers[1] and len(answers) == 2, "threads: two answers to one call")
        require(answers[0] == outcome_of(call), "threads: another answer than alone")


class _Hangs(Exception):
    """A call that does not end."""


@contextlib.contextmanager
def _hang_after(seconds: float) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise _Hangs(f"no answer after {seconds} s")

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _finding(index: int, call: Call, error: BaseException) -> Finding:
    frames = [Path(frame.filename) for frame in traceback.extract_tb(error.__traceback__)]
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)]
    ours = [(file.relative_to(SOURCE), n) for file, n in zip(frames, lines, strict=True) if file.is_relative_to(SOURCE)]
    where = "{}:{}".format(*ours[-1]) if ours else ""
    what = str(error) if isinstance(error, Broken) else f"raised {shown(error)}"
    trace = "".join(traceback.format_exception(error))
    return Finding(index, what, where, str(call), trace)


# ── many ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Tally:
    """What a number of calls came to."""

    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By kind of model and method."""
    endings: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    seconds: Counter[str] = field(default_factory=Counter)
    """By kind of model."""
    memory: int = 0

    def add(self, other: Tally) -> None:
        self.calls += other.calls
        self.endings += other.endings
        self.findings += other.findings
        self.seconds += other.seconds
        self.memory = max(self.memory, other.memory)


def run(seed: int, indices: Sequence[int]) -> Tally:
    """These calls, one after the other."""
    tally = Tally()
    for index in indices:
        started = time.perf_counter()
        call, outcome, finding = check_call(seed, index)
        tally.seconds[call.model] += time.perf_counter() - started  # type: ignore[assignment]
        tally.calls[call.model, call.method] += 1
        if finding is not None:
            tally.findings.append(finding)
        tally.endings[_ending(outcome)] += 1
    tally.memory = resident()
    return tally


def _ending(outcome: Outcome | None) -> str:
    if outcome is None:
        return "(a finding)"
    if outcome.error:
        return outcome.error.partition(":")[0]
    return "stopped" if outcome.stopped else "explained"


def _run_in_process(seed: int, indices: Sequence[int]) -> Tally:
    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    return run(seed, indices)


def long_run(seed: int, first: int, calls: int, processes: int, chunk: int = 250) -> tuple[Tally, int]:
    """Many calls in several processes; the tally, and the number up to which all calls were made."""
    starts = iter(range(first, first + calls, chunk))
    total, started, done, reached = Tally(), time.perf_counter(), set(), first
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        waiting: dict[Future[Tally], int] = {}

        def submit() -> None:
            for start in starts:
                indices = range(start, min(start + chunk, first + calls))
                waiting[pool.submit(_run_in_process, seed, indices)] = start
                return

        for _ in range(processes + 1):
            submit()
        try:
            while waiting:
                ready, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in ready:
                    done.add(waiting.pop(future))
                    total.add(future.result())
                    submit()
                while reached in done:
                    reached = min(reached + chunk, first + calls)
                made, seconds = sum(total.calls.values()), time.perf_counter() - started
                print(
                    f"\r{made:,} of {calls:,} calls, {len(total.findings):,} findings, {seconds:.0f} s",
                    end="",
                    file=sys.stderr,
                    flush=True,
                )
        except KeyboardInterrupt:
            for future in waiting:
                future.cancel()
            print(f"\nstopped; go on with --first {reached}", file=sys.stderr)
    print(file=sys.stderr)
    return total, reached


def report(tally: Tally, seed: int, seconds: float) -> str:
    """Tables in Markdown: calls by kind of model and method, endings, and findings with what repeats each."""
    columns = [*IDS, "compare", "(no method)"]
    lines = ["| model | calls | seconds |", "|---|---:|---:|"]
    for model in MODELS:
        own = sum(n for (kind, _), n in tally.calls.items() if kind == model)
        lines.append(f"| {model} | {own:,} | {tally.seconds[model]:.0f} |")
    lines += ["", "| method | calls |", "|---|---:|"]
    for column in columns:
        lines.append(f"| {column} | {sum(n for (_, method), n in tally.calls.items() if method == column):,} |")
    lines += [
        "",
        "| ending | calls |",
        "|---|---:|",
        *(f"| {kind} | {n:,} |" for kind, n in tally.endings.most_common()),
    ]
    made = sum(tally.calls.values())
    lines += [
        "",
        f"{made:,} calls, {len(tally.findings):,} findings, {seconds:.0f} s, {tally.memory / 2**20:.0f} MiB at most",
    ]
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in sorted(tally.findings, key=lambda finding: finding.index):
        groups.setdefault((finding.what[:60], finding.where), []).append(finding)
    for (_, where), findings in sorted(groups.items(), key=lambda item: -len(item[1])):
        first = findings[0]
        lines += [
            "",
            f"{len(findings)} x {shown(first.what)} {where}",
            f"    {first.call[:400]}",
            f"    python tests/reliability/fuzz.py --seed {seed} --only {first.index}",
        ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Fuzzed calls of limelight, and what must hold for each.")
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--first", type=int, default=0, help="the number of the first call: goes on where a run stopped"
    )
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--only", type=int, help="make this call alone, and show its traceback")
    asked = parser.parse_args()
    if asked.only is not None:
        call, outcome, finding = check_call(asked.seed, asked.only, full=True)
        print(call, outcome, finding.trace if finding else "holds", sep="\n\n")
        sys.exit(finding is not None)
    started = time.perf_counter()
    tally, _ = long_run(asked.seed, asked.first, asked.calls, asked.processes)
    print(report(tally, asked.seed, time.perf_counter() - started))
    sys.exit(bool(tally.findings))


if __name__ == "__main__":
    main()
