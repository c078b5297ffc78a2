"""What a request asks: its fields, their types and limits, and the library's question that it stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from limelight.attribution.request import Request, Target
from limelight.core.progress import SILENT, Progress
from limelight.errors import ParameterError, UnknownNameError
from limelight.explainers.method import Conditions, Implementation, Method, defaults, find, unknown_option
from limelight.inputs.document import Text
from limelight.inputs.features import Features, Wanted, features_of
from limelight.models.interface import Removal, View
from limelight.models.outputs import Output, Quantity
from limelight.web import refusals
from limelight.web.site import Served, Site

Kinds = Literal["words", "occurrences", "sentences", "phrases"]
_COUNTS = ("n_samples", "n_permutations")
"""Options that say how often the model is asked."""


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class TextRequest(_Request):
    """A text for one of the server's models."""

    text: str | list[str] = Field(description="a text, or a list of two for a model that reads pairs")
    model: str | None = Field(None, description="a name from /api/v1/models; the first where it is left out")


class FeaturesRequest(TextRequest):
    """A text, and what of it has weights or is taken out."""

    features: Kinds = "words"
    removal: Literal["mask", "delete", "attention"] = "mask"
    output: Literal["logit", "log-odds", "probability", "value"] | None = None
    target: str | None = Field(None, description="the label to explain; the predicted one where it is left out")
    against: str | None = Field(None, description="the label that the target is compared with")


class ExplainRequest(FeaturesRequest):
    """Why the model says of a text what it says, by one method or several."""

    methods: list[str] | None = Field(None, description="ids from /api/v1/methods; the usual ones where it is left out")
    seed: int = 0
    options: dict[str, int | float | str | bool | None] = Field(
        default_factory=dict, description="options of methods; each goes to all methods that have it"
    )
    samples: int | None = Field(None, ge=2, description="for the methods that draw them; 5,000 where it is left out")
    until: Literal["stable"] | None = Field(None, description="draw until the strongest words are settled")
    settle: bool = Field(False, description="in a stream: show what few samples say while more are drawn")


class RemoveRequest(FeaturesRequest):
    """The same text without some of its features."""

    removed: list[int] = Field(description="numbers of features, from 0")


class CurveRequest(FeaturesRequest):
    """What the model says while words are taken out one after the other, in several orders."""

    orders: dict[str, list[int]] = Field(description="by name: each an order of all features, the first to go first")
    seed: int = 0


class ExportRequest(_Request):
    """A comparison, as this interface or `limelight explain --format json` gave it, in another form."""

    comparison: dict[str, Any]
    format: Literal["html", "json", "csv", "png", "svg"]
    about: dict[str, str] = Field(default_factory=dict)


class CancelRequest(_Request):
    """A job to stop, by the id that its first event told."""

    job: str


# ── from requests to questions ────────────────────────────────────────────────────────────────────────────────────────


def text_of(request: TextRequest, site: Site) -> Text:
    """The text of a request, or its pair, if it is not too long."""
    given = [request.text] if isinstance(request.text, str) else request.text
    length = sum(map(len, given))
    if length > site.limits.text:
        raise refusals.too_long(length, site.limits.text)
    if isinstance(request.text, str):
        return request.text
    if len(given) != 2:
        raise ParameterError(f"text must be a string, or a list of two for a pair: got a list of {len(given)}")
    return given[0], given[1]


def echo(request: TextRequest, site: Site) -> dict[str, Any]:
    """All that was asked, to be sent back with every answer, so that nobody takes it for the answer to something else.

    A model that was not named is the first one, and is named here.
    """
    return {**request.model_dump(), "model": request.model if request.model is not None else site.first}


def target_of(request: FeaturesRequest) -> Target | None:
    if request.against is None:
        return request.target
    if request.target is None:
        raise ParameterError("against needs a target: name the label that is explained, too")
    return request.target, request.against


@dataclass(frozen=True)
class Plan:
    """A question about one text that is ready to be asked: the methods, each with the options that are for it."""

    served: Served
    view: View
    features: Features
    request: FeaturesRequest
    methods: tuple[Method, ...] = ()
    implementations: tuple[Implementation, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    """Those that at least one of the implementations has."""

    @property
    def quantity(self) -> Quantity:
        """The number that is explained, for the label that was asked for or the predicted one."""
        labels, logits = self.view.labels, self.view.logits
        asked = target_of(self.request)
        names = (asked,) if isinstance(asked, str) else asked or (labels[int(logits.argmax())],)
        for name in names:
            if name not in labels:
                raise UnknownNameError("label", name, labels)
        target, *against = map(labels.index, names)
        return Quantity(len(labels), target, against[0] if against else None, output_of(self), self.view.kind)

    def asked(self, i: int, progress: Progress) -> Request:
        """What method i is asked."""
        request = self.request
        assert isinstance(request, ExplainRequest)
        options = {name: value for name, value in self.options.items() if name in self.implementations[i].options}
        wanted: Wanted = request.features
        removal: Removal = request.removal
        output: Output | None = request.output
        return Request(target_of(request), wanted, removal, output, "both", request.seed, progress, options)


def output_of(plan: Plan) -> Output:
    output: Output = plan.request.output or plan.view.outputs[0]
    return output


def looked_at(request: FeaturesRequest, site: Site) -> Plan:
    """The view of a text and its features; no method is chosen yet."""
    served, text = site.model(request.model), text_of(request, site)
    view = site.view(served, text)
    return Plan(served, view, features_of(view.document, request.features, "both"), request)


def planned(request: ExplainRequest, site: Site) -> Plan:
    """What is asked of which method, with all that can be said against it before any work is done."""
    drawing = {"n_samples": request.samples, "until": request.until}
    options = {**{name: value for name, value in drawing.items() if value is not None}, **request.options}
    for name in _COUNTS:
        given = options.get(name)
        if isinstance(given, int | float) and given > site.limits.samples:
            raise ParameterError(f"{name} may be at most {site.limits.samples:,} on this server: got {given:,}")
    if request.methods is not None and not 0 < len(request.methods) <= site.limits.methods:
        raise ParameterError(
            f"methods must be a list of 1 to {site.limits.methods} ids: got {len(request.methods)}; leave it out for "
            "the usual ones"
        )
    plan = looked_at(request, site)
    chosen = _chosen(plan, request, list(options))
    for name in request.options:
        if not any(name in implementation.options for _, implementation in chosen):
            raise unknown_option([(method.id, implementation) for method, implementation in chosen], name)
    methods, implementations = (
        tuple(method for method, _ in chosen),
        tuple(implementation for _, implementation in chosen),
    )
    # Where nothing is drawn, how much is to be drawn has no say.
    options = {
        name: value
        for name, value in options.items()
        if any(name in implementation.options for implementation in implementations)
    }
    return Plan(plan.served, plan.view, plan.features, request, methods, implementations, options)


def _chosen(plan: Plan, request: ExplainRequest, options: list[str]) -> Sequence[tuple[Method, Implementation]]:
    view = plan.view
    Request(target_of(request), request.features, request.removal, request.output, "both", request.seed, SILENT)
    linear = Quantity(len(view.labels), 0, None, output_of(plan), view.kind).is_linear
    conditions = Conditions(request.removal, output_of(plan), linear)
    if request.methods is None:
        return defaults(view, conditions, plan.features, options)
    named = [find(name) for name in dict.fromkeys(request.methods)]
    return [(method, method.required_implementation(view, conditions, plan.features, options)) for method in named]
