"""The plan of an evaluation: texts, methods and measures, all checked before the first text is judged."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from limelight.attribution.api import check_model, view_of
from limelight.attribution.request import Request, Resolved, check_removal
from limelight.core.arrays import Floats, whole_number
from limelight.errors import (
    CapabilityError,
    EmptyTextError,
    InputError,
    ParameterError,
    known_name,
    listed,
    shown,
)
from limelight.evaluation.external import Beside, External, marked_words, read_besides, read_external, weights_of
from limelight.evaluation.limits import LIMITS
from limelight.evaluation.measure import Measure, chosen_measures, fitting_measures
from limelight.explainers.method import Method, find, methods
from limelight.inputs.document import Text
from limelight.inputs.features import Wanted, features_of
from limelight.models.interface import Classifier, Perturbable, Removal, View
from limelight.models.outputs import Output

CHANCE_ORDERS = 8
"""Random orders of each text, where the mean over all of them is not known."""
BOTH: tuple[Removal, ...] = ("mask", "delete")


@dataclass(frozen=True)
class Arguments:
    """The arguments of `evaluate`, as they were given."""

    methods: Sequence[str] | str | None = None
    measures: Sequence[str] | str | None = None
    ids: Sequence[int | str] | None = None
    target: str | None = None
    features: Wanted = "words"
    removal: Removal | None = None
    output: Output | None = None
    rationales: Any = None
    counterfactuals: Any = None
    elsewhere: Any = None
    limits: str = "auto"
    steps: int | None = None
    chance_orders: int = CHANCE_ORDERS
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """An evaluation that can begin. `skipped`, `unfit`: methods and measures that do not apply, with the reason.

    `first`: the first text, resolved; the methods are chosen by it. `outputs`: what is measured, the output that is
    explained and the probability. `logits`: (N, C), of the whole texts. `in_windows`, `cut`: the numbers of the texts
    that are read in several windows, and of those that are cut.
    """

    arguments: Arguments
    model: Classifier
    request: Request
    first: Resolved
    texts: tuple[Text, ...]
    ids: tuple[int | str, ...]
    besides: tuple[Beside, ...]
    methods: tuple[Method, ...]
    external: Mapping[str, External]
    measures: tuple[Measure, ...]
    unfit: Mapping[str, str]
    removals: tuple[Removal, ...]
    outputs: tuple[Output, ...]
    logits: Floats
    rationale_share: float
    in_windows: frozenset[int]
    cut: frozenset[int]

    @property
    def kind(self) -> str:
        return self.first.view.kind

    @property
    def output(self) -> Output:
        return self.outputs[0]

    @property
    def skipped(self) -> dict[str, str]:
        return {id: str(error) for id, error in self.first.skipped.items()}

    def resolve(self, view: View, target: str | None = None) -> Resolved:
        """The request for one text, for this label where one is named; an option goes to each method that has it."""
        request = self.request if target is None else replace(self.request, target=target)
        return request.resolve(view, self.methods, skip=True, spare=request.options)

    @property
    def digest(self) -> str:
        """Digest of all that decides the numbers, but the model."""
        own = self.arguments
        said = [
            self.texts,
            self.ids,
            [one.id for one in self.methods],
            [(one.name, one.per_text) for one in self.external.values()],
            [one.id for one in self.measures],
            self.besides,
            (self.kind, self.model.labels, sorted(self.in_windows), sorted(self.cut)),
            (self.removals, self.request.removal, self.output, own.target, str(own.features)),
            (own.limits, own.steps, own.chance_orders, own.seed, sorted(own.options.items())),
        ]
        return hashlib.sha256(repr(said).encode("utf-8", "backslashreplace")).hexdigest()[:16]


def plan_of(model: Classifier, texts: object, asked: Arguments) -> Plan:
    """Check everything that can be checked without judging a text."""
    check_model(model)
    given = _texts(texts)
    ids = _ids(asked.ids, len(given))
    views = [_view(model, text, f"text {shown(id)}") for text, id in zip(given, ids, strict=True)]
    first = views[0]
    if not isinstance(first, Perturbable):
        raise CapabilityError("this model cannot be asked about a text with words removed, so no method can be judged")
    removals = tuple(one for one in BOTH if one in first.removals) or first.removals[:1]
    removal = removals[0] if asked.removal is None else asked.removal
    check_removal(first, removal)
    _check_target(asked.target, first)
    known_name("limits", asked.limits, LIMITS)
    request = Request(
        target=asked.target,
        features=asked.features,
        removal=removal,
        output=asked.output,
        seed=asked.seed,
        options=asked.options,
    )
    names = _names(asked.methods)
    wanted = None if names is None else methods() if names == "all" else [find(name) for name in names]
    resolved = request.resolve(first, wanted, skip=True, spare=request.options)
    chosen = tuple(own.method for own in resolved.chosen)
    external = read_external(asked.elsewhere, ids, [one.id for one in methods()])
    if not chosen and not external:
        why = "; ".join(map(str, resolved.skipped.values()))
        raise CapabilityError(f"none of the methods applies to this model: {why or 'name at least one'}")
    request.check_options([(method, own) for method in chosen for own in method.implementations])
    for own in external.values():  # what is not in its text is known before hours are spent on the texts before it
        for number, view in enumerate(views):
            weights_of(own, number, ids[number], view.document, features_of(view.document, asked.features))
    besides = read_besides(asked.rationales, asked.counterfactuals, given, ids)
    for beside, id in zip(besides, ids, strict=True):
        if beside.counterfactual is not None:
            _view(model, beside.counterfactual, f"the counterfactual of text {shown(id)}")
    whole_number("chance_orders", asked.chance_orders, 2)
    if asked.steps is not None:
        whole_number("steps", asked.steps, 2)
    there = [name for name in ("rationales", "counterfactuals") if getattr(asked, name) is not None]
    measures, unfit = fitting_measures(chosen_measures(_names(asked.measures), there), model, first, len(given))
    output = resolved.questions[0].output
    in_windows = frozenset(i for i, view in enumerate(views) if len(getattr(view, "windows", ())) > 1)
    return Plan(
        arguments=asked,
        model=model,
        request=request,
        first=resolved,
        texts=tuple(given),
        ids=tuple(ids),
        besides=besides,
        methods=chosen,
        external=external,
        measures=measures,
        unfit=unfit,
        removals=removals if removal in removals else (removal, *removals),
        outputs=(output,) if output == "probability" or "probability" not in first.outputs else (output, "probability"),
        logits=np.array([np.asarray(view.logits, dtype=np.float64) for view in views]),
        rationale_share=_rationale_share(views, besides),
        in_windows=in_windows,
        cut=frozenset(i for i, view in enumerate(views) if view.document.notices) - in_windows,
    )


def _check_target(target: str | None, view: View) -> None:
    """A label of the model; the outputs of a regression have units of their own, which no mean over texts may mix."""
    if target is not None:
        known_name("label", target, view.labels)
    elif view.kind == "regression" and len(view.labels) > 1:
        raise InputError(
            f"this regression has {len(view.labels)} outputs, {listed(view.labels)}, each with a unit of its own: name "
            f"one, such as target={shown(view.labels[0])}"
        )


def _texts(given: object) -> list[Any]:
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray) or isinstance(given, bytes):
        raise InputError(f"texts must be a list of texts: got {shown(given)}; write [text] for one")
    if not len(given):
        raise InputError("there are no texts: give at least two, better 50 or more")
    return list(given)


def _ids(given: Sequence[int | str] | None, count: int) -> list[int | str]:
    if given is None:
        return list(range(1, count + 1))
    ids = list(given)
    if len(ids) != count:
        raise InputError(f"there are {len(ids)} ids for {count} texts: give one for each")
    if len(set(map(str, ids))) != count:
        twice = next(id for id in ids if sum(str(id) == str(other) for other in ids) > 1)
        raise InputError(f"two texts have the id {shown(twice)}: ids name texts, so give each its own")
    return ids


def _names(given: Sequence[str] | str | None) -> Sequence[str] | str | None:
    if given is None or (isinstance(given, str) and given == "all"):
        return given
    if isinstance(given, str):
        raise InputError(f"give a list of ids, not a string: got {shown(given)}; write [{shown(given)}]")
    if not isinstance(given, Sequence):
        raise ParameterError(f'give a list of ids, or "all": got {shown(given)}')
    return list(dict.fromkeys(given))


def _view(model: Classifier, text: Any, called: str) -> View:
    """A text that cannot be read is known before hours are spent on the others."""
    try:
        return view_of(model, text)
    except (EmptyTextError, InputError) as error:
        if type(error) not in (EmptyTextError, InputError):
            raise
        raise type(error)(f"{called}: {error}") from error


def _rationale_share(views: Sequence[View], besides: Sequence[Beside]) -> float:
    """The mean fraction of a text's words that people marked, over the texts in which they marked some."""
    marked = [
        float(np.mean(marked_words(view.document, own.rationale)))
        for view, own in zip(views, besides, strict=True)
        if own.rationale
    ]
    return float(np.mean(marked)) if marked else 0.0
