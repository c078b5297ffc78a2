"""The list of methods: what each is called, what it needs of a model, and how it is run.

A method is a function from a `Request` to an `Outcome`, registered by decoration:

    @method("leave-one-out", label="LOO", summary="…", needs=("perturbation",))
    def leave_one_out(request: Request) -> Outcome: ...

Its keyword-only parameters are the options a caller may set. A module in this package is found by itself: adding a
method is adding a file. Where a method has a second way for models that its first does not apply to (sampling, say),
that way is registered under the same id with `otherwise=True`; an explanation shows by its parameters, `exact` and
`stderr` which of the two it came by.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from limelight.document import Document, Features
from limelight.errors import CapabilityError, UnknownNameError
from limelight.view import CAPABILITIES, Classifier, Game, Removal, probabilities

Floats = npt.NDArray[np.float64]
Output = Literal["logit", "probability"]
CapabilityName = Literal[
    "perturbation", "attention", "attention layers", "gradient", "embedding path", "ratio game", "folded attention"
]


@dataclass(frozen=True)
class Request:
    """One question: the weight of each feature of this document for this label of this model."""

    model: Any
    document: Document
    features: Features
    target: int
    logits: Floats
    removal: Removal = "mask"
    output: Output = "logit"
    seed: int = 0

    def per_feature(self, per_position: Floats, words: npt.NDArray[np.int64]) -> Floats:
        """Sum what belongs to each position into its word, and words into their features."""
        per_word = np.zeros(len(self.document.words))
        np.add.at(per_word, words, per_position)
        return np.array([per_word[list(group)].sum() for group in self.features.owned])

    def game(self) -> Callable[[npt.NDArray[np.bool_]], Floats]:
        """The chosen output for the target under a matrix of kept features: (n, d) to (n,)."""
        game: Game = self.model.perturb(self.document, self.features, self.removal)
        return lambda kept: self.output_of(game(kept))

    def output_of(self, logits: Floats) -> Floats:
        """The chosen output for the target: logits (n, C) to (n,)."""
        return (logits if self.output == "logit" else probabilities(logits))[:, self.target]

    @property
    def direction(self) -> Floats:
        """The derivative of the chosen output with respect to each logit, at the text."""
        return self.direction_at(self.logits[None])[0]

    def direction_at(self, logits: Floats) -> Floats:
        """The same at other logits: (n, C) to (n, C)."""
        chosen = np.zeros_like(logits)
        chosen[:, self.target] = 1.0
        if self.output == "logit":
            return chosen
        p = probabilities(logits)
        return p[:, [self.target]] * (chosen - p)


@dataclass(frozen=True)
class Outcome:
    """What a method found: a weight per feature, what it can say of its own accuracy, and what a reader must know."""

    weights: Floats
    stderr: Floats | None = None
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class MethodInfo:
    """A method as users see it.

    `exact`: nothing is sampled or approximated. `uses`: which of the common arguments matter to it; `only`: those it
    takes one value of. `signed`: a weight below zero speaks against the target; without, weights are never negative.
    `default`: shown when no method is named. `figure_1`: a row of the paper's Figure 1. `otherwise`: the same method in
    another way, for models and arguments that this one does not apply to.
    """

    id: str
    label: str
    summary: str
    needs: tuple[CapabilityName, ...]
    exact: bool
    parameters: Mapping[str, Any]
    uses: tuple[str, ...]
    only: Mapping[str, str]
    signed: bool
    default: bool
    figure_1: bool
    run: Callable[..., Outcome] = field(repr=False)
    otherwise: MethodInfo | None = field(default=None, repr=False)

    def version(self, model: Classifier, arguments: Mapping[str, str]) -> MethodInfo | None:
        """The way in which this method applies to this model with these arguments; None where it does not."""
        able = all(isinstance(model, CAPABILITIES[need]) for need in self.needs)
        if able and all(arguments[name] == value for name, value in self.only.items()):
            return self
        return None if self.otherwise is None else self.otherwise.version(model, arguments)

    def fits(self, model: Classifier, arguments: Mapping[str, str]) -> bool:
        """Whether this method applies to this model with these arguments."""
        return self.version(model, arguments) is not None

    def check(self, model: Classifier, arguments: Mapping[str, str]) -> None:
        """Raise if it does not apply; the message names the methods that do."""
        if self.fits(model, arguments):
            return
        missing = [need for need in self.needs if not isinstance(model, CAPABILITIES[need])]
        wrong = [f"{name}={arguments[name]!r}" for name, value in self.only.items() if arguments[name] != value]
        if missing:
            problem = f"needs {' and '.join(missing)} of a model, which {type(model).__name__} does not offer"
        else:
            problem = f"exists for {' and '.join(f'{n}={v!r}' for n, v in self.only.items())}: got {', '.join(wrong)}"
        usable = ", ".join(info.id for info in methods() if info.fits(model, arguments))
        raise CapabilityError(f"method {self.id!r} {problem}; here you can use {usable or 'no method'}")


_FIGURE_1 = ("alpha-avg", "alpha-max", "lime", "g-avg", "g-l1", "g-l2", "gxi")
_REGISTERED: dict[str, MethodInfo] = {}
_OTHERWISE: dict[str, MethodInfo] = {}


def method(
    id: str,
    *,
    label: str,
    summary: str,
    needs: tuple[CapabilityName, ...],
    exact: bool = True,
    uses: tuple[str, ...] = (),
    only: Mapping[str, str] = MappingProxyType({}),
    signed: bool = True,
    default: bool = False,
    otherwise: bool = False,
) -> Callable[[Callable[..., Outcome]], Callable[..., Outcome]]:
    """Register a function as a method."""

    def register(run: Callable[..., Outcome]) -> Callable[..., Outcome]:
        known = _OTHERWISE if otherwise else _REGISTERED
        if id in known:
            raise ValueError(f"two methods are called {id!r}")
        options = {p.name: p.default for p in inspect.signature(run).parameters.values() if p.kind is p.KEYWORD_ONLY}
        known[id] = MethodInfo(
            id=id,
            label=label,
            summary=summary,
            needs=needs,
            exact=exact,
            parameters=MappingProxyType(options),
            uses=uses,
            only=only,
            signed=signed,
            default=default or id in _FIGURE_1,
            figure_1=id in _FIGURE_1,
            run=run,
        )
        return run

    return register


@cache
def methods() -> tuple[MethodInfo, ...]:
    """All methods: those of Figure 1 in its order, then the others by name."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        importlib.import_module(f"limelight.explainers.{module.name}")
    rest = sorted(id for id in _REGISTERED if id not in _FIGURE_1)
    return tuple(replace(_REGISTERED[id], otherwise=_OTHERWISE.get(id)) for id in (*_FIGURE_1, *rest))


def find(id: str) -> MethodInfo:
    """The method of this name."""
    for info in methods():
        if info.id == id:
            return info
    raise UnknownNameError("method", id, [info.id for info in methods()])
