"""Every method leaves process, model and arguments as they were, however its call ends; and the checker can fail."""

from __future__ import annotations

import os
import random
import signal
import threading
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_limits

import limelight
from conftest import small_model
from limelight.core.progress import Silent
from limelight.explainers.method import Conditions
from reliability.fuzz import applicable_to, model_of
from reliability.state import growth, unchanged

TEXT = "The film was GREAT, but it's far too long!"
KINDS = ("attention", "embedded", "deep, float64", "BERT", "BERT, windows", "function")
CALLS = [(kind, id) for kind in KINDS for id in applicable_to(kind)]
FEW = {"n_samples": 30}
LEAK = 5
"""Blocks of memory per call: the interpreter's own free lists take a few, an explanation that stays is over thirty."""


class Ends(Silent):
    """Progress that raises at one event, the last one included; without an exception it counts."""

    def __init__(self, raised: BaseException | None = None, at: int = 0) -> None:
        self._raised, self._at, self.events = raised, at, 0

    def begin(self, task: str, steps: int, done: int = 0) -> None:
        self._hear()

    def advance(self, steps: int = 1, note: str = "") -> None:
        self._hear()

    def end(self) -> None:
        self._hear()

    def _hear(self) -> None:
        self.events += 1
        if self._raised is not None and self.events == self._at:
            raise self._raised


def _options(kind: str, id: str) -> dict[str, Any]:
    way = next(one for one in limelight.methods() if one.id == id).implementation_for(
        model_of(kind).view(TEXT), _MASKED
    )
    return {name: value for name, value in FEW.items() if way is not None and name in way.options}


_MASKED = Conditions()


@cache
def _events(kind: str, id: str) -> int:
    """How often a call tells its progress something."""
    counting = Ends()
    limelight.explain(model_of(kind), TEXT, id, progress=counting, **_options(kind, id))
    return counting.events


@pytest.mark.parametrize(("kind", "id"), CALLS)
def test_a_call_leaves_nothing_changed(kind: str, id: str) -> None:
    model, options = model_of(kind), _options(kind, id)
    _events(kind, id)
    with unchanged(model, options):
        limelight.explain(model, TEXT, id, **options)


@pytest.mark.parametrize("raised", [ValueError("stop"), KeyboardInterrupt("stop")], ids=["exception", "interrupt"])
@pytest.mark.parametrize(("kind", "id"), CALLS)
def test_a_call_that_is_stopped_in_the_middle_leaves_nothing_changed(kind: str, id: str, raised: BaseException) -> None:
    model, options = model_of(kind), _options(kind, id)
    before = limelight.explain(model, TEXT, id, **options)
    stopping = Ends(raised, max(1, _events(kind, id) // 2))
    with unchanged(model, options), pytest.raises(type(raised), match="stop"):
        limelight.explain(model, TEXT, id, progress=stopping, **options)
    assert limelight.explain(model, TEXT, id, **options) == before


@pytest.mark.parametrize("kind", KINDS)
def test_lists_arrays_and_options_stay_the_callers(kind: str) -> None:
    texts, named, options = [TEXT, "a good film"], ["leave-one-out", "lime"], {"n_samples": np.int64(20)}
    model, array = model_of(kind), np.array(["a good film", "bad"])
    with unchanged(model, texts, named, options, array):
        limelight.explain(model, texts, **options)
        limelight.explain(model, array, **options)  # type: ignore[call-overload]
        limelight.compare(model, TEXT, named, **options)


@pytest.mark.parametrize("kind", ["attention", "deep, float64", "BERT", "function"])
def test_memory_does_not_grow(kind: str) -> None:
    model = model_of(kind)
    named = [id for id in ("alpha-avg", "gxi", "leave-one-out") if id in applicable_to(kind)]

    def call() -> object:
        return limelight.compare(model, TEXT, named)

    assert growth(call, calls=10, rounds=6) < LEAK


# ── the checker itself ────────────────────────────────────────────────────────────────────────────────────────────────

MODEL = small_model()
NUMBERS = np.arange(3.0)
OPTIONS = {"numbers": [1, 2], "nested": {"a": np.zeros(2)}}
Undo = Callable[[], object]


def _grad_mode() -> Undo:
    torch.set_grad_enabled(False)
    return lambda: torch.set_grad_enabled(True)


def _default_dtype() -> Undo:
    torch.set_default_dtype(torch.float64)
    return lambda: torch.set_default_dtype(torch.float32)


def _torch_threads() -> Undo:
    before = torch.get_num_threads()
    torch.set_num_threads(before + 1)
    return lambda: torch.set_num_threads(before)


def _blas_threads() -> Undo:
    limits = threadpool_limits(limits=3)
    return limits.restore_original_limits


def _numpy_random() -> Undo:
    before = np.random.get_state()  # noqa: NPY002
    np.random.random()  # noqa: NPY002
    return lambda: np.random.set_state(before)  # noqa: NPY002


def _python_random() -> Undo:
    before = random.getstate()
    random.random()
    return lambda: random.setstate(before)


def _torch_random() -> Undo:
    before = torch.get_rng_state()
    torch.rand(1)
    return lambda: torch.set_rng_state(before)


def _warning_filter() -> Undo:
    before = list(warnings.filters)
    warnings.simplefilter("ignore", ResourceWarning)

    def undo() -> None:
        warnings.filters[:] = before  # type: ignore[index]

    return undo


def _rc_params() -> Undo:
    import matplotlib as mpl

    before = mpl.rcParams["lines.linewidth"]
    mpl.rcParams["lines.linewidth"] = before + 1
    return lambda: mpl.rcParams.update({"lines.linewidth": before})


def _environment() -> Undo:
    os.environ["LIMELIGHT_LEFT_BEHIND"] = "1"
    return lambda: os.environ.pop("LIMELIGHT_LEFT_BEHIND")


def _directory() -> Undo:
    before = Path.cwd()
    os.chdir("/")
    return lambda: os.chdir(before)


def _signal() -> Undo:
    before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    return lambda: signal.signal(signal.SIGUSR1, before)


def _open_file() -> Undo:
    return Path(__file__).open().close


def _thread() -> Undo:
    over = threading.Event()
    thread = threading.Thread(target=over.wait, daemon=True)
    thread.start()

    def undo() -> None:
        over.set()
        thread.join()

    return undo


def _numpy_errors() -> Undo:
    before = np.seterr(over="ignore")
    return lambda: np.seterr(**before)


def _weights() -> Undo:
    MODEL.W_e.data[0, 0] += 1  # behind the back of torch's version counter
    return lambda: MODEL.W_e.data.__setitem__((0, 0), MODEL.W_e.data[0, 0] - 1)


def _requires_grad() -> Undo:
    MODEL.W_e.requires_grad_(False)
    return lambda: MODEL.W_e.requires_grad_(True)


def _gradient() -> Undo:
    MODEL.W_e.grad = torch.zeros_like(MODEL.W_e)
    return lambda: setattr(MODEL.W_e, "grad", None)


def _training() -> Undo:
    was = MODEL.training
    MODEL.train(not was)
    return lambda: MODEL.train(was)


def _hook() -> Undo:
    return MODEL.register_forward_hook(lambda *_: None).remove


def _array() -> Undo:
    NUMBERS[0] += 1
    return lambda: None


def _read_only() -> Undo:
    NUMBERS.flags.writeable = False
    return lambda: setattr(NUMBERS.flags, "writeable", True)


def _options_changed() -> Undo:
    OPTIONS["numbers"].append(3)  # type: ignore[attr-defined]
    return lambda: None


def _nested_array() -> Undo:
    OPTIONS["nested"]["a"][0] += 1  # type: ignore[index,call-overload]
    return lambda: None


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_grad_mode, "torch: grad mode: True became False"),
        (_default_dtype, "torch: default dtype: torch.float32 became torch.float64"),
        (_torch_threads, "torch: threads"),
        (_blas_threads, "threads of BLAS and OpenMP"),
        (_numpy_random, "random states: NumPy"),
        (_python_random, "random states: Python"),
        (_torch_random, "random states: torch"),
        (_warning_filter, "warnings: filters"),
        (_rc_params, "matplotlib: lines.linewidth"),
        (_environment, "environment: LIMELIGHT_LEFT_BEHIND: '—' became '1'"),
        (_directory, "current directory"),
        (_signal, "signal handlers"),
        (_open_file, "open files"),
        (_thread, "live threads"),
        (_numpy_errors, "NumPy: errors"),
        (_weights, "argument 1: weights: W_e"),
        (_requires_grad, "argument 1: weights: W_e"),
        (_gradient, "argument 1: gradients: W_e: None became"),
        (_training, "argument 1: training"),
        (_hook, "argument 1: hooks"),
        (_array, "argument 2"),
        (_read_only, "argument 2"),
        (_options_changed, "argument 3"),
        (_nested_array, "argument 3"),
    ],
)
def test_the_checker_sees_each_change(change: Callable[[], Undo], told: str) -> None:
    import matplotlib as mpl  # before anything is recorded

    assert mpl.rcParams
    undo: list[Undo] = []
    try:
        with pytest.raises(AssertionError, match="left changed behind") as caught, unchanged(MODEL, NUMBERS, OPTIONS):
            undo.append(change())
    finally:
        undo[0]()
    assert told in str(caught.value)
    with unchanged(MODEL, NUMBERS, OPTIONS):
        pass


def test_the_checker_sees_another_attention_implementation() -> None:
    model = model_of("BERT")
    before = model.model.config._attn_implementation
    try:
        with pytest.raises(AssertionError, match="attention"), unchanged(model):
            model.model.config._attn_implementation_internal = "eager" if before != "eager" else "sdpa"
    finally:
        model.model.config._attn_implementation_internal = before


def test_a_change_is_told_after_an_exception_too() -> None:
    try:
        with pytest.raises(AssertionError, match="grad mode") as caught, unchanged():
            _fail_after_changing()
    finally:
        torch.set_grad_enabled(True)
    assert isinstance(caught.value.__context__, ValueError)


def _fail_after_changing() -> None:
    torch.set_grad_enabled(False)
    raise ValueError("of the call")


def test_a_call_that_keeps_its_answer_is_seen() -> None:
    kept: list[object] = []
    model = model_of("attention")
    assert growth(lambda: kept.append(limelight.explain(model, TEXT, "gxi")), calls=10) > 6 * LEAK
