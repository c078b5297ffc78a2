"""What a request asks: its fields, their types and limits, and the library's question that it stands for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from limelight.attribution.request import Request, Resolved, Target
from limelight.errors import ParameterError
from limelight.explainers.method import Method, find
from limelight.inputs.document import Text
from limelight.inputs.features import Features
from limelight.models.interface import View
from limelight.models.outputs import Quantity
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
    """A question about one text that is ready to be asked."""

    served: Served
    request: FeaturesRequest
    resolved: Resolved

    @property
    def view(self) -> View:
        return self.resolved.view

    @property
    def features(self) -> Features:
        return self.resolved.features

    @property
    def quantity(self) -> Quantity:
        """The number that is explained, for the label that was asked for or the predicted one."""
        return self.resolved.questions[0].quantity

    @property
    def methods(self) -> list[Method]:
        return [own.method for own in self.resolved.chosen]

    @property
    def options(self) -> dict[str, Any]:
        """The options that were given and that at least one implementation has."""
        known = {name for own in self.resolved.chosen for name in own.implementation.options}
        return {name: value for name, value in self.resolved.request.options.items() if name in known}


def looked_at(request: FeaturesRequest, site: Site) -> Plan:
    """A text with its features; no method is chosen."""
    return _plan(request, site, (), {})


def planned(request: ExplainRequest, site: Site) -> Plan:
    """The methods of a request and their options, with all that can be said against it before any work is done."""
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
    methods = None if request.methods is None else [find(name) for name in dict.fromkeys(request.methods)]
    spare = drawing.keys() - request.options.keys()  # how much is drawn has no say where nothing is
    return _plan(request, site, methods, options, seed=request.seed, spare=spare)


def _plan(
    request: FeaturesRequest,
    site: Site,
    methods: Sequence[Method] | None,
    options: Mapping[str, Any],
    *,
    seed: int = 0,
    spare: Collection[str] = (),
) -> Plan:
    served, text = site.model(request.model), text_of(request, site)
    asked = Request(
        target=target_of(request),
        features=request.features,
        removal=request.removal,
        output=request.output,
        seed=seed,
        options=options,
    )
    return Plan(served, request, asked.resolve(site.view(served, text), methods, spare=spare))
