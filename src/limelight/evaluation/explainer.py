"""How the texts of an evaluation are explained: one question, asked of any view, by any method, again and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from limelight.attribution.request import Request
from limelight.core.progress import SILENT
from limelight.errors import CapabilityError, NumericalError, TooLargeError, UnknownNameError, shown
from limelight.explainers.method import Conditions, Method, defaults, find, methods
from limelight.explanation.result import Explanation
from limelight.inputs.features import Wanted, features_of
from limelight.models.interface import Classifier, Removal, View
from limelight.models.outputs import Output, Quantity

CANNOT = (CapabilityError, NumericalError, TooLargeError)
"""What a method may say of one text, while the others go on."""


@dataclass(frozen=True)
class Explainer:
    """A model and what is asked of it; `options` go to each method that has them."""

    model: Classifier
    features: Wanted
    removal: Removal
    output: Output | None
    seed: int
    options: Mapping[str, Any] = field(default_factory=dict)

    def explained(self, view: View, method: Method, target: str, **options: Any) -> Explanation:
        """One method on one view; an option that its implementation does not have is one of another method."""
        given = {**self.options, **options}
        features = features_of(view.document, self.features)
        implementation = method.required_implementation(view, self.conditions(view), features, list(given))
        own = {name: value for name, value in given.items() if name in implementation.options}
        asked = Request(target, self.features, self.removal, self.output, "both", self.seed, SILENT, own)
        return asked.explanations(view, [method])[0]

    def conditions(self, view: View) -> Conditions:
        """What an implementation must be for."""
        output = output_of(view, self.output)
        return Conditions(self.removal, output, Quantity(len(view.labels), 0, None, output, view.kind).is_linear)

    def with_seed(self, seed: int) -> Explainer:
        return replace(self, seed=seed)

    def of_model(self, model: Classifier) -> Explainer:
        return replace(self, model=model)


def options_of(method: Method) -> set[str]:
    """What any of its implementations takes."""
    return {name for implementation in method.implementations for name in implementation.options}


def check_options(options: Mapping[str, Any], chosen: Sequence[Method]) -> None:
    """An option that no method has is an error."""
    known = sorted({name for method in chosen for name in options_of(method)})
    for name in options:
        if name not in known:
            asked = ", ".join(method.id for method in chosen)
            raise UnknownNameError(f"option for {asked}", name, known or ["(none: these methods have no options)"])


def output_of(view: View, asked: Output | None) -> Output:
    """The output that is explained and measured."""
    if asked is None:
        return view.outputs[0]
    if asked not in view.outputs:
        raise CapabilityError(
            f"a {view.kind} model has no output {shown(asked)}: use {' or '.join(map(repr, view.outputs))}"
        )
    return asked


def chosen_methods(
    explainer: Explainer, view: View, asked: Sequence[str] | str | None
) -> tuple[list[Method], dict[str, str]]:
    """The methods that apply to this view, and those that were asked for and do not, with the reason."""
    conditions = explainer.conditions(view)
    features, options = features_of(view.document, explainer.features), list(explainer.options)
    if asked is None:
        return [method for method, _ in defaults(view, conditions, features, options)], {}
    wanted = methods() if asked == "all" else [find(name) for name in dict.fromkeys(asked)]
    chosen, skipped = [], {}
    for method in wanted:
        try:
            method.required_implementation(view, conditions, features, options)
        except CapabilityError as error:
            skipped[method.id] = str(error)
        else:
            chosen.append(method)
    return chosen, skipped
