"""What every method returns: weights on words, with what is needed to judge them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import Any, Literal, cast, overload

import numpy as np
import numpy.typing as npt

from limelight.core.arrays import Floats
from limelight.errors import InputError
from limelight.explanation.diagnostics import Stated
from limelight.explanation.origin import Origin
from limelight.explanation.presenting import Presented
from limelight.explanation.serialization import (
    METHODS_OF_0_1,
    SCHEMA,
    Written,
    quoted,
)
from limelight.explanation.significance import Significance, significance_of
from limelight.explanation.values import Value, Weighted, counted, first_few
from limelight.inputs.document import JOINT, Span, Text
from limelight.models.outputs import OUTPUTS, Kind

Accuracy = Literal["exact", "bounded", "sampled", "approximate"]


@dataclass(frozen=True, eq=False, repr=False)
class Prediction(Value):
    """What the model says of a text: one logit and one probability per label, and the label that wins.

    `kind` says how logits become probabilities. The numbers of a regression are its logits, and no probabilities.
    """

    label: str
    labels: tuple[str, ...]
    logits: Floats
    probabilities: Floats | None
    kind: Kind = "classes"

    def __hash__(self) -> int:
        return hash((self.label, self.labels))

    def __repr__(self) -> str:
        if self.probabilities is None:
            numbers = [f"{quoted(name)} {value:.4g}" for name, value in zip(self.labels, self.logits, strict=True)]
            return f"<Prediction: {first_few(numbers)}>"
        chances = self.probabilities
        order = sorted(range(len(self.labels)), key=lambda c: -chances[c])
        labels = [f"{quoted(self.labels[c])} {chances[c]:.3g} (logit {self.logits[c]:+.3g})" for c in order]
        return f"<Prediction: {first_few(labels)}>"

    @property
    def assigned(self) -> tuple[str, ...]:
        """The labels that the model gives: the one that wins, or all that are likelier than not where labels do not
        exclude each other."""
        if self.kind != "multi-label" or self.probabilities is None:
            return (self.label,)
        return tuple(name for name, p in zip(self.labels, self.probabilities, strict=True) if p >= 0.5)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return {"schema": SCHEMA, **self._plain("label", "labels", "kind", "logits", "probabilities")}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Prediction:
        """The prediction that `to_dict` wrote."""
        written = Written("prediction", data)
        label, labels = written.word("label"), written.words("labels")
        if label not in labels:
            raise written.damaged("label", f"must be one of the labels {list(labels)}", label)
        kind = cast(Kind, written.word("kind") if written.schema > 2 else "classes")
        if kind not in OUTPUTS:
            raise written.damaged("kind", f"must be one of {list(OUTPUTS)}", kind)
        no_chances = written.schema > 2 and written["probabilities"] is None
        chances = None if no_chances else written.numbers("probabilities", len(labels), "labels")
        return cls(label, labels, written.numbers("logits", len(labels), "labels"), chances, kind)


@dataclass(frozen=True, eq=False, repr=False)
class GroupWeights(Weighted):
    """The outer of two levels, such as sentences: the weight of a group is the sum of its features' weights.

    `members[g]` are the numbers of the features of group g; the rest is as in an Explanation.
    """

    features: tuple[str, ...]
    weights: Floats
    spans: tuple[tuple[Span, ...], ...]
    sides: tuple[int, ...] | None
    stderr: Floats | None
    members: tuple[tuple[int, ...], ...]

    def __hash__(self) -> int:
        return hash((self.features, self.members))

    def __repr__(self) -> str:
        return f"<GroupWeights: {counted(len(self), 'group')}: {self.strongest}>"

    def to_dict(self) -> dict[str, Any]:
        return self._plain("features", "weights", "spans", "sides", "stderr", "members")

    @classmethod
    def from_dict(cls, data: object, text: Text, n_features: int) -> GroupWeights:
        """The groups of an explanation of this text with so many features."""
        written = Written("groups of an explanation", data)
        features = written.words("features")
        sides = written.sides(len(features), text)
        return cls(
            features=features,
            weights=written.numbers("weights", len(features), "features"),
            spans=written.spans(len(features), text, sides),
            sides=sides,
            stderr=None if written["stderr"] is None else written.numbers("stderr", len(features), "features"),
            members=written.members(n_features),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Weighted, Presented):
    """The weight of each feature of one text for one label, according to one method.

    `method_label` is what the method is called in front of people. `signed`: a weight below zero speaks against the
    target; without, none is negative. `stderr` is None where a method has no sampling error; `exact` is True where
    nothing was sampled or approximated. `evaluations`: how often the model was asked, None where that is not known.
    `diagnostics` holds what a method says of itself (LIME: intercept, fidelity, the surrogate's prediction); `notices`
    what a reader must know (a text that was cut).

    `against`: the label that the target is compared with, where it was asked why the one rather than the other. Of a
    pair of texts `text` is the tuple of both, `sides[j]` says in which of them (0 or 1) feature j stands, and its spans
    are places in that one. `groups` is the outer of two levels, None where there is one. `origin`: the model and the
    call, None where it was read from a file.

    Two explanations are equal where everything but `seconds` and `origin` is: the same question takes another time.
    Arrays are read-only copies.
    """

    text: Text
    method: str
    method_label: str
    signed: bool
    target: str
    features: tuple[str, ...]
    weights: Floats
    spans: tuple[tuple[Span, ...], ...]
    stderr: Floats | None
    exact: bool
    prediction: Prediction
    seconds: float = field(compare=False)
    parameters: Mapping[str, Any]
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    evaluations: int | None = None
    against: str | None = None
    sides: tuple[int, ...] | None = None
    groups: GroupWeights | None = None
    origin: Origin | None = field(default=None, compare=False)

    def __hash__(self) -> int:
        return hash((self.text, self.method, self.target, self.features))

    def __repr__(self) -> str:
        rather = "" if self.against is None else f" rather than {quoted(self.against)}"
        return (
            f"<Explanation: {quoted(self.method)} for {quoted(self.target)}{rather}, {self.accuracy}; "
            f"{counted(len(self), 'feature')}: {self.strongest}>"
        )

    @property
    def accuracy(self) -> Accuracy:
        """In one word: "exact" up to rounding; "bounded" by diagnostics["error"]; "sampled", with standard errors; or
        "approximate", where nothing is known of the error."""
        if self.stderr is not None:
            return "sampled"
        if not self.exact:
            return "approximate"
        return "bounded" if "error" in self.diagnostics else "exact"

    @property
    def label(self) -> str:
        """The name of `method_label` before version 0.3."""
        warnings.warn("Explanation.label is called Explanation.method_label", DeprecationWarning, stacklevel=2)
        return self.method_label

    @cached_property
    def stated(self) -> Stated:
        """The diagnostics, with types."""
        return Stated.of(self.diagnostics, len(self))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What speaks against relying on the weights, the most important first."""
        return self.stated.warnings

    @cached_property
    def significance(self) -> Significance:
        """Which weights their own error does not explain, computed once."""
        return significance_of(self.weights, self.stderr, self.stated.numerical_error, self.stated.freedom)

    @cached_property
    def group_significance(self) -> Significance | None:
        """Which groups are significant, where there are two levels: one is rounded as often as it has features."""
        groups = self.groups
        if groups is None:
            return None
        rounding = self.stated.numerical_error * max(map(len, groups.members), default=1)
        return significance_of(groups.weights, groups.stderr, rounding, self.stated.freedom)

    @property
    def significant(self) -> npt.NDArray[np.bool_]:
        """For each feature whether its weight is distinguishable from zero: only these are coloured."""
        return self.significance.significant

    def intervals(self) -> Floats:
        """The ends of each feature's interval (features, 2): `low, high = e.intervals().T`.

        Sampling and numerical error are in them. They are as wide as keeps 95 % of the intervals of significant
        features right, and exclude 0 for exactly these. Ends are NaN where nothing is known of the error.
        """
        half: Any = self.significance.half_width
        if half is None:
            half = self.stated.numerical_error if self.exact else np.nan
        return np.stack([self.weights - half, self.weights + half], axis=1)

    def stating(self, **more: Any) -> Explanation:
        """A copy with more diagnostics than those on which significance rests, which is not computed again."""
        copy = replace(self, diagnostics={**self.diagnostics, **more})
        known = {name: own for name, own in vars(self).items() if name in ("significance", "group_significance")}
        vars(copy).update(known)
        return copy

    def _shown(self) -> Sequence[Explanation]:
        return [self]

    @property
    def joined_text(self) -> str:
        """The text; those of a pair one below the other."""
        return self.text if isinstance(self.text, str) else JOINT.join(self.text)

    @property
    def joined_spans(self) -> tuple[tuple[Span, ...], ...]:
        """The places of the features in `joined_text`."""
        if self.sides is None or isinstance(self.text, str):
            return self.spans
        offsets = (0, len(self.text[0]) + len(JOINT))
        return tuple(
            tuple((start + offsets[side], end + offsets[side]) for start, end in own)
            for own, side in zip(self.spans, self.sides, strict=True)
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        places = ("signed", "target", "against", "features", "weights", "spans", "sides", "groups", "stderr", "exact")
        about = ("prediction", "seconds", "evaluations", "parameters", "diagnostics", "notices", "text")
        return {
            "schema": SCHEMA,
            "method": self.method,
            "label": self.method_label,
            **self._plain(*places, *about),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Explanation:
        """The explanation that `to_dict` wrote, of this version or of 0.1."""
        written = Written("explanation", data)
        text, method, features = written.text("text"), written.word("method"), written.words("features")
        label, signed, evaluations = *METHODS_OF_0_1.get(method, (method, True)), None
        if written.schema > 1:
            label, signed, evaluations = written.word("label"), written.truth("signed"), written.count("evaluations")
        against, sides, groups = None, None, None
        if written.schema > 2:
            against = None if written["against"] is None else written.word("against")
            sides = written.sides(len(features), text)
            if written["groups"] is not None:
                groups = GroupWeights.from_dict(written["groups"], text, len(features))
        return cls(
            text=text,
            method=method,
            method_label=label,
            signed=signed,
            target=written.word("target"),
            features=features,
            weights=written.numbers("weights", len(features), "features"),
            spans=written.spans(len(features), text, sides),
            stderr=None if written["stderr"] is None else written.numbers("stderr", len(features), "features"),
            exact=written.truth("exact"),
            prediction=Prediction.from_dict(written["prediction"]),
            seconds=written.number("seconds"),
            parameters=written.settings("parameters"),
            diagnostics=written.settings("diagnostics"),
            notices=written.words("notices"),
            evaluations=evaluations,
            against=against,
            sides=sides,
            groups=groups,
        )


def _with_label(init: Callable[..., None]) -> Callable[..., None]:
    """A constructor that takes `method_label` by its name before version 0.3, too."""

    @wraps(init)
    def accepting(self: Explanation, *arguments: Any, **named: Any) -> None:
        if "label" in named:
            named["method_label"] = named.pop("label")
        init(self, *arguments, **named)

    return accepting


Explanation.__init__ = _with_label(Explanation.__init__)  # type: ignore[method-assign]


@dataclass(frozen=True, repr=False)
class Comparison(Presented, Sequence[Explanation]):
    """Several methods, or labels, on the same features of the same text, in the order asked for."""

    explanations: tuple[Explanation, ...]

    def __len__(self) -> int:
        return len(self.explanations)

    @overload
    def __getitem__(self, key: int | str) -> Explanation: ...

    @overload
    def __getitem__(self, key: slice) -> tuple[Explanation, ...]: ...

    def __getitem__(self, key: int | str | slice) -> Explanation | tuple[Explanation, ...]:
        """By position, by slice, or by name: a method's id, or a label where it was asked for all of them."""
        if isinstance(key, str):
            for explanation in self.explanations:
                if key in self._names(explanation):
                    return explanation
            names = dict.fromkeys(name for explanation in self.explanations for name in self._names(explanation))
            raise KeyError(f"{key!r} is not among what is compared: {', '.join(names)}")
        return self.explanations[key]

    def _names(self, explanation: Explanation) -> tuple[str, ...]:
        """What an explanation is called here: by its method, or by its label where all are of one method."""
        is_of_labels = len({e.method for e in self.explanations}) < len(self.explanations) > 1
        if not is_of_labels:
            return (explanation.method,)
        return (explanation.target,) if len({e.method for e in self.explanations}) == 1 else ()

    def of(self, method: str, target: str) -> Explanation:
        """The explanation of one method for one label."""
        for explanation in self.explanations:
            if (explanation.method, explanation.target) == (method, target):
                return explanation
        raise KeyError(f"nothing compared is of method {method!r} for the label {target!r}")

    def __contains__(self, wanted: object) -> bool:
        """Whether a method, by its id, or an explanation is part of the comparison."""
        if isinstance(wanted, str):
            return any(explanation.method == wanted for explanation in self.explanations)
        return wanted in self.explanations

    def __repr__(self) -> str:
        if not self.explanations:
            return "<Comparison: empty>"
        strongest = [f"{quoted(e.method)} {quoted(name)} {weight:+.3g}" for e in self for name, weight in e.top(1)]
        return (
            f"<Comparison: {counted(len(self), 'method')} for {quoted(self._first.target)} on "
            f"{counted(len(self.features), 'feature')}; strongest: {first_few(strongest)}>"
        )

    @property
    def features(self) -> tuple[str, ...]:
        return self._first.features

    @property
    def prediction(self) -> Prediction:
        return self._first.prediction

    @property
    def weights(self) -> Floats:
        """One row per method: (methods, features)."""
        return np.stack([explanation.weights for explanation in self.explanations])

    def to_dict(self) -> dict[str, Any]:
        """The object that `limelight explain --format json` prints."""
        return {
            "schema": SCHEMA,
            "text": self._first.text if isinstance(self._first.text, str) else list(self._first.text),
            "prediction": self._first.prediction.to_dict(),
            "explanations": [explanation.to_dict() for explanation in self.explanations],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Comparison:
        """The comparison that `to_dict` or `limelight explain --format json` wrote, in this version or in 0.1."""
        written = Written("comparison", data)
        if "error" in data and "explanations" not in data:
            raise InputError(f"this text could not be explained when it was written: {data['error']}")
        explanations = tuple(map(Explanation.from_dict, written.sequence("explanations", dict, "dictionaries")))
        if not explanations:
            raise written.damaged("explanations", "must hold at least one explanation")
        first = explanations[0]
        for key, agrees in (
            ("text", written.text("text") == first.text),
            ("prediction", Prediction.from_dict(written["prediction"]) == first.prediction),
            ("explanations", all((e.text, e.features) == (first.text, first.features) for e in explanations)),
        ):
            if not agrees:
                raise written.damaged(key, "must be about one text and the same features throughout")
        return cls(explanations)

    def _shown(self) -> Sequence[Explanation]:
        return self.explanations

    @property
    def _first(self) -> Explanation:
        if not self.explanations:
            raise InputError("this comparison is empty: compare at least one method")
        return self.explanations[0]
