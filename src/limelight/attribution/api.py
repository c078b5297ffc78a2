"""explain() and compare(): from a text to explanations.

text ──▶ model.view(text) ──▶ a method's question ──▶ weights with their accuracy ──▶ Explanation
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, Literal, TypedDict, Unpack, overload

from limelight.attribution.request import Request, Target
from limelight.attribution.run import explanations, explanations_of_texts
from limelight.core.progress import SILENT, Progress, for_long_work
from limelight.errors import EmptyTextError, ExplanationWarning, InputError, LimelightError, ParameterError, shown
from limelight.explainers.method import Method, find
from limelight.explainers.method import methods as all_methods
from limelight.explanation import notebook
from limelight.explanation.origin import Origin, stated
from limelight.explanation.presenting import Explanations
from limelight.explanation.result import Comparison, Explanation
from limelight.inputs.document import Text, check_text_of, is_pair
from limelight.inputs.features import Parts, Wanted
from limelight.models.interface import Classifier, ReadsMany, Removal, View
from limelight.models.outputs import Output


@overload
def explain(  # type: ignore[overload-overlap]
    model: Classifier, text: Text, method: str = ..., *, target: Literal["all"], **arguments: Unpack[Arguments]
) -> Comparison: ...


@overload
def explain(  # type: ignore[overload-overlap]
    model: Classifier, text: list[Any], method: str = ..., *, target: Literal["all"], **arguments: Unpack[Arguments]
) -> list[Comparison]: ...


@overload
def explain(
    model: Classifier, text: Text, method: str = ..., *, target: Target | None = ..., **arguments: Unpack[Arguments]
) -> Explanation: ...


@overload
def explain(
    model: Classifier,
    text: Sequence[Any],
    method: str = ...,
    *,
    target: Target | None = ...,
    **arguments: Unpack[Arguments],
) -> list[Explanation]: ...


@overload
def explain(model: Classifier, text: Any, method: str = ..., *, target: Target | None = ..., **arguments: Any) -> Any:
    """A method of one's own may have any options."""


def explain(
    model: Classifier,
    text: Text | Sequence[Any],
    method: str = "lime",
    *,
    target: Target | None = None,
    features: Wanted = "words",
    removal: Removal = "mask",
    output: Output | None = None,
    parts: Parts = "both",
    seed: int = 0,
    progress: Progress | None = None,
    **options: Any,
) -> Explanation | Comparison | list[Explanation] | list[Comparison]:
    """Why `model` says of `text` what it says: one weight per word for the label `target` (default: the predicted one).

    `target`: a label; two of them, ("a", "b"), ask why a rather than b; "all" gives a Comparison with an explanation
    per label, from one run of the model. `features`: "words" joins all occurrences of a word, "occurrences" keeps them
    apart; "sentences", "phrases", a list of (start, end) spans or a function that finds them give weights to passages;
    ("sentences", "words") to both. `removal`: how perturbation methods take a word out, "mask", "delete" or, where a
    model can, "attention". `output`: "logit" (the default where a model has logits), "log-odds" (the default where it
    has none) or "probability"; a regression has its "value". `parts`: of a pair of texts, which have weights: "both",
    "first" or "second". `progress` is told how far the work is, and stops it by raising an exception. The other options
    are the method's own: see limelight.methods().

    What speaks against relying on an explanation is said by Python's `warnings`, in words, and kept in its
    diagnostics["warnings"].

    A text is a string, or a tuple of two for a model that reads pairs. A list of texts gives a list of explanations,
    each as if it had been asked for alone; they are computed together where that is faster.
    """
    progress = _progress(progress, options)
    request = Request(target, features, removal, output, parts, seed, progress, options)
    check_model(model)
    chosen = [find(method)]
    is_one = isinstance(text, str) or is_pair(text)  # a tuple of two strings is one text, for better or worse
    viewed = [view_of(model, text)] if is_one else views(model, text)
    resolved = [request.resolve(view, chosen) for view in viewed]
    per_text = [explanations(own) for own in resolved] if is_one else explanations_of_texts(resolved)
    everything = [explanation for found in per_text for explanation in found]
    asked = {"target": target, "output": output, "seed": seed, **options}
    stated(everything, Origin.of(model, "explain", method, **_beside_defaults(features, removal, parts), **asked))
    _warn(everything)
    wants_all = request.wants_all(model.labels)
    answers: list[Any] = [Comparison(tuple(found)) if wants_all else found[0] for found in per_text]
    return answers[0] if is_one else Explanations(answers)


def compare(
    model: Classifier,
    text: Text,
    methods: Sequence[str] | None = None,
    *,
    target: Target | None = None,
    features: Wanted = "words",
    removal: Removal = "mask",
    output: Output | None = None,
    parts: Parts = "both",
    seed: int = 0,
    progress: Progress | None = None,
    **options: Any,
) -> Comparison:
    """Several methods on the same features of a text: a list of their ids, or "all" that apply to the model.

    Default, as far as they apply: for limelight's own models those of the paper's Figure 1 and the exact values beside
    them; for all others LIME, Shapley, leave-one-out, integrated gradients, DeepSHAP, decomposition and attention,
    which run the model up to 10,000 times: 256 to 5,000 times each for LIME and Shapley, until no standard error is
    above 5 % of the largest weight or the five strongest words are stable (`n_samples` sets it; Shapley takes at least
    8 per word), once per word, 18 to 114 times as a rule and 2,034 at most for integrated gradients, twice for
    DeepSHAP, and once for decomposition and for attention. The arguments are those of
    `explain`; with target="all" there is an explanation for each method and label.

    An option goes to each method that has it; one that no method has is an error.
    """
    progress = _progress(progress, options)
    request = Request(target, features, removal, output, parts, seed, progress, options)
    check_model(model)
    everything = isinstance(methods, str) and methods == "all"
    named = all_methods() if everything else None if methods is None else _named(methods)
    found = explanations(request.resolve(view_of(model, text), named, skip=everything))
    asked = {"target": target, "output": output, "seed": seed, **options}
    stated(found, Origin.of(model, "compare", methods, **_beside_defaults(features, removal, parts), **asked))
    _warn(found)
    return Comparison(tuple(found))


def _beside_defaults(features: Wanted, removal: Removal, parts: Parts) -> dict[str, Any]:
    """Arguments that are not at their defaults, as a call states them."""
    given = {"features": (features, "words"), "removal": (removal, "mask"), "parts": (parts, "both")}
    return {name: own for name, (own, usual) in given.items() if own != usual}


def _progress(given: Progress | None, options: Mapping[str, Any]) -> Progress:
    """A run until something holds may take minutes, and says how far it is."""
    if given is not None:
        return given
    return for_long_work() if options.get("until") is not None else SILENT


def _warn(explanations: Iterable[Explanation]) -> None:
    """Python's own warnings, one for each explanation that something speaks against."""
    for explanation in explanations:
        if said := explanation.warnings:
            warning = f"{explanation.method} for {shown(explanation.target)}: {'; '.join(said)}"
            if (shell := notebook.shell()) is None:
                warnings.warn(warning, ExplanationWarning, stacklevel=3)
                continue
            with warnings.catch_warnings(record=True) as passed:
                warnings.warn(warning, ExplanationWarning, stacklevel=3)
            notebook.wait(shell, explanation, passed)


def view_of(model: Classifier, text: object) -> View:
    """The model looking at one text, or at one pair where it reads pairs."""
    check_text_of(text, reads_pairs(model))
    return model.view(text)


def reads_pairs(model: Classifier) -> bool:
    return bool(getattr(model, "pairs", False))


def views_or_errors(model: Classifier, texts: Sequence[Text]) -> Iterator[View | LimelightError]:
    """A view of each text, or the error in its place; those of a model that reads many share what they can."""
    if isinstance(model, ReadsMany):
        yield from model.views_or_errors(texts)  # type: ignore[arg-type]
        return
    for text in texts:
        try:
            yield view_of(model, text)
        except LimelightError as error:
            yield error


def views(model: Classifier, given: object) -> list[View]:
    """A view of each of several texts; an error says which text it is about."""
    texts = _members(given)
    if texts is None:
        check_text_of(given, reads_pairs(model))  # what is neither a text nor a list of them
    found: list[View] = []
    for view in views_or_errors(model, texts or []):
        if isinstance(view, LimelightError):
            if type(view) not in (EmptyTextError, InputError):
                raise view
            raise type(view)(f"text {len(found) + 1} of {len(texts or [])}: {view}") from view
        found.append(view)
    return found


def check_model(model: object) -> None:
    """Say how to get a model that can be explained out of what was given instead."""
    if callable(getattr(model, "view", None)) and not callable(getattr(model, "get_input_embeddings", None)):
        return
    given = f"got {type(model).__name__}"
    if isinstance(model, str | os.PathLike):
        raise InputError(
            f"the model is a name, not a model: {given} {shown(model)}; use limelight.load({shown(os.fspath(model))})"
        )
    if callable(getattr(model, "get_input_embeddings", None)):
        raise InputError(
            f"a Hugging Face model needs its tokenizer to read a text: {given}; use limelight.wrap(model, tokenizer)"
        )
    if callable(model) or callable(getattr(model, "predict_proba", None)):
        raise InputError(
            f"a function has to say what its labels are before it can be explained: {given}; use limelight.wrap(f), "
            "or limelight.wrap(f, labels=[…])"
        )
    raise InputError(f"this is no model: {given}; use limelight.load(…) or limelight.wrap(…)")


def _named(given: object) -> list[Method]:
    if isinstance(given, str):
        name = shown(given)
        raise InputError(f"methods must be a list of method ids: got the string {name}; write methods=[{name}]")
    names = _members(given)
    if names is None:
        raise ParameterError(f'methods must be a list of method ids, or "all": got {shown(given)}')
    if not names:
        raise InputError("methods is empty: name at least one, or leave it out for the usual ones")
    if "all" in names:
        raise InputError(
            f'"all" stands for every method, and names none in a list: write methods="all", got {shown(names)}'
        )
    return [find(name) for name in names]


def _members(given: object) -> list[Any] | None:
    """What a list, an array or any other ordered collection holds; None for what is no such thing."""
    if isinstance(given, str | bytes | bytearray | memoryview | Mapping | Set):
        return None
    try:
        members = iter(given)  # type: ignore[call-overload]
    except TypeError:
        return None
    return list(members)


# ── keyword arguments as types, for editors and type checkers ─────────────────────────────────────────────────────────


class MethodOptions(TypedDict, total=False):
    """The options of all methods; `limelight methods` says which method has which, and their defaults."""

    baseline: str
    corrected: bool
    dominant: int
    estimator: Literal["auto", "pairs", "permutations"]
    head: int | None
    kernel_width: float
    layer: int | str
    max_steps: int
    n_permutations: int | None
    n_samples: float | None
    original_first: bool
    precision: float
    ridge: float
    ridge_samples: float | None
    sampling: Literal["efficient", "official"]
    seconds: float | None
    steps: int | None
    tolerance: float
    until: Literal["stable"] | float | None


class Arguments(MethodOptions, total=False):
    """The options of all methods, and the arguments that all methods share."""

    features: Wanted
    removal: Removal
    output: Output | None
    parts: Parts
    seed: int
    progress: Progress | None
