"""How the texts of an evaluation are explained: one request, resolved for any view, by the same methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from limelight.attribution.request import Request, Resolved
from limelight.errors import CapabilityError, NumericalError, TooLargeError
from limelight.explainers.method import Method
from limelight.models.interface import Classifier, View

CANNOT = (CapabilityError, NumericalError, TooLargeError)
"""What a method may say of one text, while the others go on."""


@dataclass(frozen=True)
class Explainer:
    """A model, the request of an evaluation and its methods; None stands for those that are shown by default."""

    model: Classifier
    request: Request
    methods: Sequence[Method] | None

    def resolve(self, view: View, target: str | None = None) -> Resolved:
        """The request for one text, for this label where one is named; an option goes to each method that has it."""
        request = self.request if target is None else replace(self.request, target=target)
        return request.resolve(view, self.methods, skip=True, spare=request.options)
