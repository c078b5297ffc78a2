"""Methods: what each is called, and the implementations of it.

A method is declared once; each implementation of it is a function from a `Question` to `Weights`, with what it needs
of a view and with options of its own (its keyword-only parameters):

    shapley = method("shapley", label="Shapley", summary="…")

    @shapley.implementation(RatioView, removal="mask", output="logit")
    def exact(question: Question[RatioView], *, precision: float = 1e-11) -> Weights: ...

    @shapley.implementation_of_many(Perturbable, uses=("removal", "output", "seed"))
    def sampled(questions: Sequence[Question[Perturbable]], *, n_samples: int = 5000) -> list[Weights]: ...

The first implementation that applies to a view and to the request is taken. A module in this package is found by
itself; a method that is declared anywhere else is there from then on.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import math
import pkgutil
import types
import typing
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, ParamSpec, TypeVar

import numpy as np

from limelight.core.arrays import Floats, Integers
from limelight.core.progress import SILENT, Progress
from limelight.errors import CapabilityError, ParameterError, known_name, shown
from limelight.inputs.document import Document
from limelight.inputs.features import Features
from limelight.models.interface import CAPABILITIES, Removal, View, facts_of
from limelight.models.outputs import Output, Quantity

if TYPE_CHECKING:
    from limelight.explainers.exact import BySize

_LARGEST = 2**63 - 1
"""The largest whole number that arrays can count."""
V = TypeVar("V", covariant=True)
Need = TypeVar("Need")
Options = ParamSpec("Options")


@dataclass(frozen=True)
class Conditions:
    """How words are taken out, which output is explained, and whether that is linear in the logits."""

    removal: Removal = "mask"
    output: Output = "logit"
    linear: bool = True


_LINEAR = "an output that is linear in the logits (the logit; log-odds of two labels, or of one that excludes no other)"


# ── the question ──────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Question(Generic[V]):
    """The weight of each feature of a document for one quantity of a model, which is seen through `view`."""

    view: V
    document: Document
    features: Features
    quantity: Quantity
    logits: Floats
    removal: Removal = "mask"
    seed: int = 0
    progress: Progress = SILENT
    watch: Callable[[Weights], None] | None = None
    """Is told what samples say so far, while more are drawn."""

    def per_feature(self, per_position: Floats, words: Integers) -> Floats:
        """Sum what belongs to each position into its word, and words into their features."""
        return self.features.total(per_position, words)

    @property
    def output(self) -> Output:
        return self.quantity.output

    @property
    def conditions(self) -> Conditions:
        """What an implementation must be for."""
        return Conditions(self.removal, self.output, self.quantity.is_linear)

    @property
    def direction(self) -> Floats:
        """The derivative of the quantity with respect to each logit, at the text."""
        return self.quantity.direction_at(self.logits[None])[0]


# ── the answer ────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Exact:
    """Nothing was sampled or approximated: right up to rounding."""


@dataclass(frozen=True)
class Bounded:
    """Nothing was sampled; each weight is at most `error` from the exact one."""

    error: float


@dataclass(frozen=True)
class Sampled:
    """Drawn at random; `stderr` (d,) are the standard errors of repeated sampling.

    ±1.96 of them cover 95 %. Where they come from few samples, `freedom` says from how many: they are wide enough for
    95 %, and other levels follow from Student's distribution with so many degrees of freedom.
    """

    stderr: Floats
    freedom: int | None = None


@dataclass(frozen=True)
class Approximate:
    """Neither exact nor sampled; `note` says what is neglected."""

    note: str


Accuracy = Exact | Bounded | Sampled | Approximate


@dataclass(frozen=True)
class Weights:
    """A weight per feature, how accurate they are, and how many inputs the model was given for them.

    `diagnostics` is what a method says of itself, `notices` what a reader must know, `warnings` what speaks against
    relying on the weights. `rounding`: how far a weight may be off for other reasons than sampling, in its own units.
    """

    values: Floats
    accuracy: Accuracy
    evaluations: int = 0
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    group_stderr: Floats | None = None
    """Standard errors of the sums over the groups of features of two levels, where weights are sampled."""
    rounding: float = 0.0
    warnings: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Options as they came to be, such as the samples that a run reached; None for one that has no say any more."""


class Cut(Exception):
    """An implementation was interrupted: what it has of its questions, in their order. It never leaves the package."""

    def __init__(self, weights: Sequence[Weights]) -> None:
        super().__init__()
        self.weights = list(weights)


Computes = Callable[Concatenate[Question[Need], Options], Weights]
"""A function from a question about views of one kind, and its options, to weights."""
ComputesMany = Callable[Concatenate[Sequence[Question[Need]], Options], list[Weights]]
"""The same from several questions to the weights of each."""


# ── methods and their implementations ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Option:
    """A setting of an implementation: its default and the types that it takes."""

    name: str
    default: Any
    types: tuple[type, ...]
    choices: tuple[object, ...] = ()

    def check(self, value: Any) -> Any:
        """`value` as an implementation gets it (NumPy's numbers as Python's), or an error that says what is taken.

        Whether a number is in range is the implementation's to say; not a number, and integers beyond 64 bits, are in
        no range.
        """
        plain = _as_python(value)
        if any(type(plain) is type(choice) and plain == choice for choice in self.choices):
            return plain
        if type(plain) in self.types or (float in self.types and type(plain) is int):
            if isinstance(plain, float) and math.isnan(plain):
                raise ParameterError(f"{self.name} must be {self.kinds}: got nan")
            if isinstance(plain, int) and not -_LARGEST <= plain <= _LARGEST:
                raise ParameterError(f"{self.name} must be {self.kinds} of at most 63 bits: got {shown(plain)}")
            return plain
        raise ParameterError(f"{self.name} must be {self.kinds}: got {shown(plain)}")

    @property
    def kinds(self) -> str:
        """What it takes, in words."""
        named = {int: "a whole number", float: "a number", bool: "True or False", str: "a name", type(None): "None"}
        return " or ".join([*(named.get(kind, kind.__name__) for kind in self.types), *map(repr, self.choices)])


def _as_python(value: Any) -> Any:
    """NumPy's numbers, truths and strings as Python's; anything else, such as its dates, as it is."""
    is_plain = isinstance(value, np.number | np.bool_ | np.str_) and not isinstance(value, np.timedelta64)
    return value.item() if is_plain else value


def _option(parameter: inspect.Parameter, hint: Any) -> Option:
    is_union = isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union
    members = typing.get_args(hint) if is_union else (hint,)
    choices = [c for member in members if typing.get_origin(member) is Literal for c in typing.get_args(member)]
    plain = tuple(member for member in members if typing.get_origin(member) is not Literal)
    return Option(parameter.name, parameter.default, plain, tuple(choices))


@dataclass(frozen=True)
class Implementation:
    """One implementation of a method: what it needs of a view, and the values of common arguments that it is for.

    `linear`: it is for quantities that are linear in the logits. `uses`: which of the common arguments matter to it.
    `default`: whether it is shown of limelight's own models where no method is named.
    `run_many` computes several questions in one go, where that is faster. `by_size` makes from the options the rule by
    which weights follow from means by size (`exact.BySize`): implementations that have one share a pass over a text.
    `declines` says why it is not for some features of a text, or None where it is for them.
    """

    name: str
    needs: type
    only: Mapping[str, str]
    linear: bool
    uses: tuple[str, ...]
    default: bool
    options: Mapping[str, Option]
    run: Callable[..., Weights] = field(repr=False)
    run_many: Callable[..., list[Weights]] | None = field(default=None, repr=False)
    by_size: Callable[..., BySize] | None = field(default=None, repr=False)
    declines: Callable[[Features], str | None] | None = field(default=None, repr=False)

    @property
    def need(self) -> str:
        """What it needs, in words."""
        return CAPABILITIES[self.needs]

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The options and their defaults."""
        return MappingProxyType({name: option.default for name, option in self.options.items()})

    @property
    def sampled(self) -> bool:
        return "seed" in self.uses

    @property
    def stated_conditions(self) -> list[str]:
        """The conditions that it is for, in words."""
        return [*(f"{name}={value!r}" for name, value in self.only.items()), *([_LINEAR] if self.linear else [])]

    def unmet(self, conditions: Conditions) -> list[str]:
        """Which conditions it is not for."""
        names = [name for name, value in self.only.items() if getattr(conditions, name) != value]
        return [
            f"{name}={getattr(conditions, name)!r}"
            for name in [*names, *(["output"] * (self.linear > conditions.linear))]
        ]

    def applies(self, view: View, conditions: Conditions, features: Features | None = None) -> bool:
        """Whether it is for this view, these conditions and, where they are known, these features."""
        if self.linear and not conditions.linear:
            return False
        if any(getattr(conditions, name) != value for name, value in self.only.items()):
            return False
        if not isinstance(view, self.needs):  # last: Python looks at every member of the protocol
            return False
        return self.declines is None or features is None or self.declines(features) is None


@dataclass(frozen=True)
class Method:
    """A method as users see it.

    `signed`: a weight below zero speaks against the target; without, none is negative. `changes`: a weight is a change
    of the output, in its units, as those of LIME and Shapley values are and those of attention are not.
    """

    id: str
    label: str
    summary: str
    signed: bool
    changes: bool
    default: bool
    implementations: list[Implementation] = field(default_factory=list)

    def implementation(
        self,
        needs: type[Need],
        *,
        uses: tuple[str, ...] = (),
        linear: bool = False,
        default: bool | None = None,
        run_many: Callable[..., list[Weights]] | None = None,
        by_size: Callable[..., BySize] | None = None,
        declines: Callable[[Features], str | None] | None = None,
        name: str | None = None,
        **only: str,
    ) -> Callable[[Computes[Need, Options]], Computes[Need, Options]]:
        """Register a function as an implementation to compute this method; implementations are tried in this order."""
        if needs not in CAPABILITIES:
            raise TypeError(
                f"{needs.__name__} is no capability of a view: name one of limelight.models.interface.CAPABILITIES"
            )

        def register(run: Computes[Need, Options]) -> Computes[Need, Options]:
            hints = typing.get_type_hints(run)
            options = {
                p.name: _option(p, hints[p.name])
                for p in inspect.signature(run).parameters.values()
                if p.kind is p.KEYWORD_ONLY
            }
            self.implementations.append(
                Implementation(
                    name=getattr(run, "__name__", "") if name is None else name,
                    needs=needs,
                    only=MappingProxyType(only),
                    linear=linear,
                    uses=tuple(dict.fromkeys([*only, *(["output"] if linear else []), *uses])),
                    default=self.default if default is None else default,
                    options=MappingProxyType(options),
                    run=run,
                    run_many=run_many,
                    by_size=by_size,
                    declines=declines,
                )
            )
            return run

        return register

    def implementation_of_many(
        self, needs: type[Need], **arguments: Any
    ) -> Callable[[ComputesMany[Need, Options]], ComputesMany[Need, Options]]:
        """Register a function of several questions as an implementation: what it does for one, it does for many."""

        def register(run_many: ComputesMany[Need, Options]) -> ComputesMany[Need, Options]:
            @functools.wraps(run_many)
            def run(question: Question[Need], /, *args: Options.args, **options: Options.kwargs) -> Weights:
                return run_many([question], *args, **options)[0]

            self.implementation(needs, run_many=run_many, **arguments)(run)
            return run_many

        return register

    @property
    def ways(self) -> list[Implementation]:
        """Former name of `implementations`."""
        warnings.warn("Method.ways is called Method.implementations", DeprecationWarning, stacklevel=2)
        return self.implementations

    def way(self, needs: type[Need], **arguments: Any) -> Callable[[Computes[Need, Options]], Computes[Need, Options]]:
        """Former name of `implementation`."""
        warnings.warn("Method.way is called Method.implementation", DeprecationWarning, stacklevel=2)
        return self.implementation(needs, **arguments)

    def implementation_for(
        self, view: View, conditions: Conditions, features: Features | None = None, options: Sequence[str] = ()
    ) -> Implementation | None:
        """The first implementation that applies to this view on these conditions; None where there is none.

        An implementation that is for some texts only stands back where options are given that another one has: which
        options can be given must not depend on the text.
        """
        able = [one for one in self.implementations if one.applies(view, conditions, features)]
        others = {name for one in able if one.declines is None for name in one.options}.intersection(options)
        return next((one for one in able if one.declines is None or others <= one.options.keys()), None)

    def required_implementation(
        self, view: View, conditions: Conditions, features: Features | None = None, options: Sequence[str] = ()
    ) -> Implementation:
        """Like `implementation_for`; a CapabilityError says why there is none, and names the methods that apply."""
        implementation = self.implementation_for(view, conditions, features, options)
        if implementation is not None:
            return implementation
        able = [one for one in self.implementations if isinstance(view, one.needs)]
        for one in able:
            if one.declines is not None and features is not None and one.applies(view, conditions):
                raise CapabilityError(f"method {self.id!r} {one.declines(features)}")
        if not able:
            needs = " or ".join(dict.fromkeys(one.need for one in self.implementations))
            problem = f"needs {needs} of a model, which this model does not offer"
        else:
            problem = (
                f"exists for {' and '.join(able[0].stated_conditions)}: got {', '.join(able[0].unmet(conditions))}"
            )
        usable = ", ".join(other.id for other in methods() if other.implementation_for(view, conditions) is not None)
        raise CapabilityError(f"method {self.id!r} {problem}; here you can use {usable or 'no method'}")


FIGURE_1 = ("alpha-avg", "alpha-max", "lime", "g-avg", "g-l1", "g-l2", "gxi")
"""The rows of the paper's Figure 1: listed first, and shown by default of a model in which they are cheap."""
OF_OTHERS = ("lime", "shapley", "leave-one-out", "integrated-gradients", "deepshap", "decomposition", "alpha-avg")
"""Shown by default of a model that is run for every question: Hugging Face's, and functions."""
OTHER_NAMES: Mapping[str, str] = {
    "attention": "alpha-avg",
    "attentionrollout": "rollout",
    "attentionweights": "alpha-avg",
    "deeplift": "deepshap integrated-gradients",
    "gradient": "g-avg",
    "gradientshap": "integrated-gradients",
    "gradientxinput": "gxi",
    "gradients": "g-avg",
    "ig": "integrated-gradients",
    "inputxgradient": "gxi",
    "kernelshap": "shapley",
    "loo": "leave-one-out",
    "lrp": "attnlrp gxi",
    "occlusion": "leave-one-out",
    "partitionshap": "shapley",
    "saliency": "g-l2",
    "shap": "shapley",
    "shapleyvaluesampling": "shapley",
    "vanillagradient": "g-avg",
}
"""Names of methods in other libraries, in small letters and digits alone; the first id that exists is suggested."""
_declared: dict[str, Method] = {}


def method(id: str, *, label: str, summary: str, signed: bool = True, changes: bool | None = None) -> Method:
    """Declare a method; `limelight.methods()` lists it from now on. Signed weights are changes of the output, unless
    `changes` says otherwise."""
    if id in _declared:
        raise ValueError(f"two methods are called {id!r}")
    _declared[id] = Method(id, label, summary, signed, signed if changes is None else changes, default=id in FIGURE_1)
    return _declared[id]


def forget(id: str) -> None:
    """Take a method off the list again, such as one that a test declared."""
    del _declared[id]


def methods() -> tuple[Method, ...]:
    """All methods: those of Figure 1 in its order, then the others by name."""
    _import_modules()
    rest = sorted(id for id in _declared if id not in FIGURE_1)
    return tuple(_declared[id] for id in (*FIGURE_1, *rest))


def defaults(
    view: View, conditions: Conditions, features: Features, options: Sequence[str]
) -> list[tuple[Method, Implementation]]:
    """The methods, with their implementations, that are shown where none is named."""
    is_cheap = facts_of(view).cheap
    return [
        (one, own)
        for one in (methods() if is_cheap else map(find, OF_OTHERS))
        if (own := one.implementation_for(view, conditions, features, options)) and (own.default or not is_cheap)
    ]


@functools.cache
def _import_modules() -> None:
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        importlib.import_module(f"limelight.explainers.{module.name}")


def find(id: str) -> Method:
    """The method of this name."""
    known = {one.id: one for one in methods()}
    return known[known_name("method", id, known, OTHER_NAMES)]


def options_of(methods: Iterable[Method]) -> set[str]:
    """The options that any implementation of these methods has."""
    return {name for method in methods for implementation in method.implementations for name in implementation.options}
