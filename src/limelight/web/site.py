"""The things that a server serves: models by name, a corpus and an evaluation where it was given them, its limits."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from limelight.attribution.api import reads_pairs, view_of
from limelight.attribution.request import Request
from limelight.core.sanitize import visible
from limelight.errors import known_name
from limelight.explainers.method import methods
from limelight.inputs.document import Text
from limelight.models.interface import Classifier, Perturbable, RatioView, Removal, View
from limelight.models.outputs import Kind
from limelight.web.refusals import Limits

if TYPE_CHECKING:
    from limelight.web.folders import ServedCorpus

_PROBE = "a b"
"""A text that every model reads: what can be asked of its view can be asked of all."""
_LIVE = "shapley"
"""The method whose colours follow a typing hand, where it is free of sampling and quick."""


@dataclass(frozen=True)
class Served:
    """One model. `source` is what `limelight.load` was given, None for the embedded one; `loading` its options."""

    name: str
    model: Classifier
    source: str | None = None
    loading: Mapping[str, Any] = field(default_factory=dict)

    @property
    def pairs(self) -> bool:
        return reads_pairs(self.model)

    def described(self) -> dict[str, Any]:
        """Facts that a page needs before it asks."""
        view = view_of(self.model, (_PROBE, _PROBE) if self.pairs else _PROBE)
        removals: Sequence[Removal] = view.removals if isinstance(view, Perturbable) else ()
        kind: Kind = view.kind
        return {
            "name": self.name,
            "shown": visible(self.name),
            "labels": [{"name": label, "shown": visible(label)} for label in view.labels],
            "kind": kind,
            "outputs": list(view.outputs),
            "removals": list(removals),
            "pairs": self.pairs,
            "methods": [method.id for method in Request().applicable(view)],
            "live": _LIVE if isinstance(view, RatioView) else None,
        }


class Site:
    """All that one server serves. What requests name is looked up here; none of it is a path."""

    def __init__(
        self,
        models: Sequence[Served],
        limits: Limits | None = None,
        corpus: ServedCorpus | None = None,
        evaluation: Mapping[str, Any] | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self._models = {served.name: served for served in models}
        self._view = lru_cache(self.limits.views)(lambda name, text: view_of(self._models[name].model, text))
        self.corpus, self.evaluation = corpus, evaluation
        self._described = [served.described() for served in models]
        self.id = secrets.token_urlsafe(16)
        """The name of this run of the server: two runs may give one name to two models, and so may share no numbers."""

    @property
    def first(self) -> str:
        """The name of the model that is meant where none is named."""
        return next(iter(self._models))

    def model(self, name: str | None) -> Served:
        """A model by its name; the first where none is named."""
        return self._models[known_name("model", name, self._models) if name is not None else self.first]

    def view(self, served: Served, text: Text) -> View:
        """A text as a model sees it; those that were looked at last are kept, and are not read again."""
        return self._view(served.name, text)

    def described(self) -> dict[str, Any]:
        """Everything that can be asked."""
        from limelight import __version__

        limits = self.limits
        return {
            "version": __version__,
            "models": self._described,
            "corpus": self.corpus is not None,
            "evaluation": self.evaluation is not None,
            "limits": {name: getattr(limits, name) for name in ("text", "samples", "methods", "parallel", "queue")},
        }


def described_methods() -> list[dict[str, Any]]:
    """Every method with its implementations and options, as `limelight methods` lists them."""
    from limelight.explanation.serialization import written_as_json

    return [
        {
            "id": method.id,
            "label": method.label,
            "summary": method.summary,
            "signed": method.signed,
            "ways": [
                {
                    "name": implementation.name,
                    "needs": implementation.need,
                    "sampled": implementation.sampled,
                    "only": dict(implementation.only),
                    "options": written_as_json(dict(implementation.parameters)),
                }
                for implementation in method.implementations
            ],
        }
        for method in methods()
    ]
