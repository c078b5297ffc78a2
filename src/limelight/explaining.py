"""explain() and compare(): from a text to explanations."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np

from limelight.document import Document, FeatureKind
from limelight.errors import CapabilityError, InputError, NumericalError, ParameterError, UnknownNameError
from limelight.explainers.method import MethodInfo, Output, Request, find
from limelight.explainers.method import methods as all_methods
from limelight.explanation import Comparison, Explanation, Prediction
from limelight.view import Classifier, Removal, probabilities, removals_of


def explain(
    model: Classifier,
    text: str,
    method: str = "lime",
    *,
    target: str | None = None,
    features: FeatureKind = "words",
    removal: Removal = "mask",
    output: Output = "logit",
    seed: int = 0,
    **options: Any,
) -> Explanation:
    """Why `model` says of `text` what it says: one weight per word for the label `target` (default: the predicted one).

    `features`: "words" joins all occurrences of a word, "occurrences" keeps them apart. `removal`: how perturbation
    methods take a word out, "mask", "delete" or, where a model can, "attention". `output`: explain the "logit" or the
    "probability". The other options are the method's own: see limelight.explainers().
    """
    comparison = compare(
        model, text, [method], target=target, features=features, removal=removal, output=output, seed=seed, **options
    )
    return comparison.explanations[0]


def compare(
    model: Classifier,
    text: str,
    methods: Sequence[str] | None = None,
    *,
    target: str | None = None,
    features: FeatureKind = "words",
    removal: Removal = "mask",
    output: Output = "logit",
    seed: int = 0,
    **options: Any,
) -> Comparison:
    """Several methods on the same features of a text.

    Default: those of the paper's Figure 1 and the exact values beside them, as far as they apply to the model.

    An option goes to each method that has it; one that no method has is an error.
    """
    _check_arguments(model, removal, output, seed)
    chosen = _chosen(methods, model, {"removal": removal, "output": output})
    _check_options(chosen, options)
    document = model.read(text)
    prediction = predict(model, document)
    request = Request(
        model=model,
        document=document,
        features=document.features(features),
        target=_target(model, prediction, target),
        logits=prediction.logits,
        removal=removal,
        output=output,
        seed=seed,
    )
    return Comparison(tuple(_run(info, request, prediction, options) for info in chosen))


def predict(model: Classifier, document: Document) -> Prediction:
    """What the model says of a document."""
    logits = np.asarray(model.predict_logits([document.text])[0], dtype=np.float64)
    if not np.isfinite(logits).all():
        raise NumericalError(f"the model's logits are not finite: got {logits.tolist()}; check its weights")
    return Prediction(model.labels[int(logits.argmax())], tuple(model.labels), logits, probabilities(logits))


def _chosen(names: Sequence[str] | None, model: Classifier, arguments: Mapping[str, str]) -> list[MethodInfo]:
    if names is None:
        versions = [info.version(model, arguments) for info in all_methods()]
        return [info for info in versions if info is not None and info.default]
    if isinstance(names, str):
        raise InputError(f"methods must be a list of method ids: got the string {names!r}; write methods=[{names!r}]")
    if not names:
        raise InputError("methods is empty: name at least one, or leave it out for those of Figure 1")
    chosen = []
    for info in map(find, names):
        info.check(model, arguments)
        chosen.append(info.version(model, arguments) or info)
    return chosen


def _check_arguments(model: Classifier, removal: str, output: str, seed: int) -> None:
    if removal not in get_args(Removal):
        raise UnknownNameError("removal", removal, get_args(Removal))
    if removal not in removals_of(model):
        offered = " or ".join(map(repr, removals_of(model)))
        raise CapabilityError(f"{type(model).__name__} does not take words out by {removal!r}: use {offered}")
    if output not in get_args(Output):
        raise UnknownNameError("output", output, get_args(Output))
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ParameterError(f"seed must be a whole number of at least 0: got {seed!r}")


def _check_options(chosen: Sequence[MethodInfo], options: Mapping[str, Any]) -> None:
    known = {name for info in chosen for name in info.parameters}
    for name in options:
        if name not in known:
            asked = ", ".join(info.id for info in chosen)
            raise UnknownNameError(
                f"option for {asked}", name, sorted(known) or ["(none: these methods have no options)"]
            )


def _target(model: Classifier, prediction: Prediction, target: str | None) -> int:
    name = prediction.label if target is None else target
    if name not in model.labels:
        raise UnknownNameError("label", name, model.labels)
    return model.labels.index(name)


def _run(info: MethodInfo, request: Request, prediction: Prediction, options: Mapping[str, Any]) -> Explanation:
    own = {name: options.get(name, default) for name, default in info.parameters.items()}
    started = time.perf_counter()
    outcome = info.run(request, **own)
    seconds = time.perf_counter() - started
    if not np.isfinite(outcome.weights).all():
        raise NumericalError(f"method {info.id!r} gave weights that are not finite: check the model's weights")
    used = {name: getattr(request, name) for name in info.uses}
    return Explanation(
        text=request.document.text,
        method=info.id,
        target=request.model.labels[request.target],
        features=request.features.names,
        weights=outcome.weights,
        spans=request.features.spans,
        stderr=outcome.stderr,
        exact=info.exact,
        prediction=prediction,
        seconds=seconds,
        parameters={"features": request.features.kind, **used, **own},
        diagnostics=outcome.diagnostics,
        notices=(*request.document.notices, *outcome.notices),
    )
