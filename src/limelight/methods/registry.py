"""The list of methods: what each is called, what it needs of a model, and how it is run.

A method is a function from a `Request` to an `Outcome`, registered by decoration:

    @method("leave-one-out", label="LOO", summary="…", needs=("perturbation",))
    def leave_one_out(request: Request) -> Outcome: ...

Its keyword-only parameters are the options a caller may set. A module in this package is found by itself: adding a
method is adding a file.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from limelight.document import Document, Features
from limelight.errors import CapabilityError, UnknownNameError
from limelight.models.protocol import CAPABILITIES, Classifier, Game, Removal, probabilities

Floats = npt.NDArray[np.float64]
Output = Literal["logit", "probability"]
CapabilityName = Literal["perturbation", "attention", "gradient", "ratio game", "folded attention"]


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
        if self.output == "logit":
            return lambda kept: game(kept)[:, self.target]
        return lambda kept: probabilities(game(kept))[:, self.target]

    @property
    def direction(self) -> Floats:
        """The derivative of the chosen output with respect to each logit."""
        chosen = np.zeros(len(self.logits))
        chosen[self.target] = 1.0
        if self.output == "logit":
            return chosen
        p = probabilities(self.logits)
        return p[self.target] * (chosen - p)


@dataclass(frozen=True)
class Outcome:
    """What a method found: a weight per feature, and what it can say of its own accuracy."""

    weights: Floats
    stderr: Floats | None = None
    diagnostics: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class MethodInfo:
    """A method as users see it.

    `exact`: nothing is sampled or approximated. `uses`: which of the common arguments matter to it; `only`: those it
    takes one value of. `signed`: a weight below zero speaks against the target; without, weights are never negative.
    `default`: shown when no method is named. `figure_1`: a row of the paper's Figure 1.
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

    def fits(self, model: Classifier, arguments: Mapping[str, str]) -> bool:
        """Whether this method applies to this model with these arguments."""
        able = all(isinstance(model, CAPABILITIES[need]) for need in self.needs)
        return able and all(arguments[name] == value for name, value in self.only.items())

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
) -> Callable[[Callable[..., Outcome]], Callable[..., Outcome]]:
    """Register a function as a method."""

    def register(run: Callable[..., Outcome]) -> Callable[..., Outcome]:
        if id in _REGISTERED:
            raise ValueError(f"two methods are called {id!r}")
        options = {p.name: p.default for p in inspect.signature(run).parameters.values() if p.kind is p.KEYWORD_ONLY}
        _REGISTERED[id] = MethodInfo(
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
        importlib.import_module(f"limelight.methods.{module.name}")
    rest = sorted(id for id in _REGISTERED if id not in _FIGURE_1)
    return tuple(_REGISTERED[id] for id in (*_FIGURE_1, *rest))


def find(id: str) -> MethodInfo:
    """The method of this name."""
    for info in methods():
        if info.id == id:
            return info
    raise UnknownNameError("method", id, [info.id for info in methods()])
