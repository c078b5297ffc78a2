"""Requests: their fields, types and limits, and the library's question that each stands for."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from limelight.attribution.request import Request, Resolved, Target
from limelight.errors import ParameterError
from limelight.explainers.method import find
from limelight.inputs.document import Text
from limelight.models.interface import Removal, View
from limelight.models.outputs import Output
from limelight.web.refusals import Refusal
from limelight.web.site import Site

Kinds = Literal["words", "occurrences", "sentences", "phrases"]
_COUNTS = ("n_samples", "n_permutations")
"""Options that say how often the model is asked."""


class Body(BaseModel):
    """The JSON of a request: fields of the stated types and no others."""

    model_config = ConfigDict(extra="forbid", strict=True)


class TextRequest(Body):
    """A text for one of the server's models."""

    text: str | list[str] = Field(description="a text, or a list of two for a model that reads pairs")
    model: str | None = Field(None, description="a name from /api/v1/models; the first where it is left out")


class FeaturesRequest(TextRequest):
    """A text, and what of it has weights or is taken out."""

    features: Kinds = "words"
    removal: Removal = "mask"
    output: Output | None = None
    target: str | None = Field(None, description="the label to explain; the predicted one where it is left out")
    against: str | None = Field(None, description="the label that the target is compared with")


class ExplainRequest(FeaturesRequest):
    """Why the model says of a text what it says, by one method or several."""

    methods: list[str] | None = Field(None, description="ids from /api/v1/methods; the usual ones where it is left out")
    seed: int = 0
    options: dict[str, int | float | str | bool | None] = Field(
        default_factory=dict, description="options of methods; each goes to all methods that have it"
    )
    samples: int | None = Field(
        None, ge=2, description="for the methods that draw them; by default 256 to 5,000, as needed"
    )
    until: Literal["stable"] | None = Field(None, description="draw until the strongest words are stable")
    settle: bool = Field(False, description="in a stream: show what few samples say while more are drawn")


class RemoveRequest(FeaturesRequest):
    """The same text without some of its features."""

    removed: list[int] = Field(description="numbers of features, from 0")


class CurveRequest(FeaturesRequest):
    """What the model says while words are taken out one after the other, in several orders."""

    orders: dict[str, list[int]] = Field(description="by name: each an order of all features, the first to go first")
    seed: int = 0


class ExportRequest(Body):
    """A comparison, as this interface or `limelight explain --format json` gave it, in another form."""

    comparison: dict[str, Any]
    format: Literal["html", "json", "csv", "png", "svg"]
    about: dict[str, str] = Field(default_factory=dict)


class CancelRequest(Body):
    """A job to stop, by the id that its first event told."""

    job: str


# ── from requests to questions ────────────────────────────────────────────────────────────────────────────────────────


def text_of(request: TextRequest, site: Site) -> Text:
    """The text of a request, or its pair, if it is not too long."""
    given = [request.text] if isinstance(request.text, str) else request.text
    length = sum(map(len, given))
    if length > site.limits.text:
        message = f"the text has {length:,} characters, and this server takes {site.limits.text:,}: give a shorter one"
        raise Refusal(413, message)
    if isinstance(request.text, str):
        return request.text
    if len(given) != 2:
        raise ParameterError(f"text must be a string, or a list of two for a pair: got a list of {len(given)}")
    return given[0], given[1]


def view_of(request: TextRequest, site: Site) -> View:
    """The text of a request as its model sees it."""
    served = site.model(request.model)
    return site.view(served, text_of(request, site))


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


def looked_at(request: FeaturesRequest, site: Site) -> Resolved:
    """The question of a request about its text and features; no method is chosen."""
    view = view_of(request, site)
    return _asked(request).resolve(view, ())


def planned(request: ExplainRequest, site: Site) -> Resolved:
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
    view = view_of(request, site)
    # How much is drawn has no say where nothing is.
    spare = drawing.keys() - request.options.keys()
    return _asked(request, seed=request.seed, options=options).resolve(view, methods, spare=spare)


def _asked(request: FeaturesRequest, **more: Any) -> Request:
    return Request(target_of(request), request.features, request.removal, request.output, **more)
