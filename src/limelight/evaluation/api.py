"""evaluate(): which explanations to trust for one model, on one's own texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from limelight.attribution.api import reads_pairs
from limelight.core.progress import SILENT, Progress, working
from limelight.errors import shown
from limelight.evaluation.case import Record, evaluate_text
from limelight.evaluation.plan import CHANCE_ORDERS, Arguments, Plan, plan_of
from limelight.evaluation.result import Evaluation, joined
from limelight.evaluation.run_folder import EvaluationFolder
from limelight.inputs.document import Text
from limelight.inputs.features import Wanted
from limelight.models.identity import called, name_of
from limelight.models.interface import Classifier, Removal
from limelight.models.outputs import Output


def evaluate(
    model: Classifier,
    texts: Sequence[Any],
    methods: Sequence[str] | str | None = None,
    *,
    measures: Sequence[str] | str | None = None,
    ids: Sequence[int | str] | None = None,
    target: str | None = None,
    features: Wanted = "words",
    removal: Removal | None = None,
    output: Output | None = None,
    rationales: Sequence[Any] | None = None,
    counterfactuals: Sequence[Any] | None = None,
    elsewhere: Mapping[str, Sequence[Any]] | None = None,
    limits: str = "auto",
    steps: int | None = None,
    chance_orders: int = CHANCE_ORDERS,
    seed: int = 0,
    progress: Progress | None = None,
    **options: Any,
) -> Evaluation:
    """Judge methods on a model and texts: which find the words that matter to it, and how sure that is.

    `methods`: ids, or "all"; None stands for those that `compare` shows. What does not apply to the model is left out
    and listed. `elsewhere`: explanations that were made elsewhere, {"name": [[("word", weight), ((start, end),
    weight)], …]} with one list per text. `measures`: ids, "all", or None for the usual ones, without `sanity`,
    `stability` and `sampling`, which explain each text again and again. `rationales`: for each text the spans that
    people marked, or a 0 or 1 for each word between white space. `counterfactuals`: for each text its edited form of
    another label. Where texts come in pairs a rationale is two of these, a counterfactual is a pair, and a span of an
    explanation made elsewhere is (side, start, end). Measures that do not apply, such as flips of a regression, are
    left out and listed like methods.

    `removal` is how methods take words out ("mask" where a model can); scores are given under masking and deletion
    both. `target`: a label; default for each text the predicted one, or the likeliest where labels do not exclude each
    other. A regression of several outputs needs it. `limits`: "auto" knows the best possible order
    where that is cheap (a single attention layer; up to twelve words), "search" also sends a beam for up to 40 words,
    "found" takes the best of the orders at hand. `steps`: how many points of a curve are computed; default all.
    `chance_orders`: random orders per text where the mean over all of them is not known. The other options are those of
    methods.
    """
    asked = Arguments(
        methods=methods,
        measures=measures,
        ids=ids,
        target=target,
        features=features,
        removal=removal,
        output=output,
        rationales=rationales,
        counterfactuals=counterfactuals,
        elsewhere=elsewhere,
        limits=limits,
        steps=steps,
        chance_orders=chance_orders,
        seed=seed,
        options=options,
    )
    return evaluated(plan_of(model, texts, asked), SILENT if progress is None else progress)


def evaluated(
    plan: Plan, progress: Progress, folder: EvaluationFolder | None = None, about: Mapping[str, Any] | None = None
) -> Evaluation:
    """Every text of a plan evaluated, those of an interrupted run taken from the folder that keeps their records."""
    known = [None if folder is None else folder.known(number) for number in range(len(plan.texts))]
    for name, why in (*plan.skipped.items(), *plan.unfit.items()):
        progress.say(f"left out: {name}: {why}")
    records: list[Record] = []
    with working(progress, "judging texts", len(plan.texts), sum(record is not None for record in known)):
        for number, before in enumerate(known):
            record = evaluate_text(plan, number) if before is None else before
            if before is None:
                if folder is not None:
                    folder.keep(record)
                progress.advance()
            records.append(record)
    said = [_said(text) for text in plan.texts]
    first = {text: number for number, text in reversed(list(enumerate(said)))}
    return joined(
        {**_about(plan, records, copies=len(said) - len(first)), **(about or {})},
        [_document(record, first[said[record.number]]) for record in records],
        _methods(plan, records),
        [record.values for record in records],
    )


def _said(text: Text) -> tuple[str, ...]:
    """A text, or both of a pair, but for upper case and spaces: texts that are alike otherwise count once."""
    return tuple(" ".join(one.casefold().split()) for one in ((text,) if isinstance(text, str) else text))


def _document(record: Record, first: int) -> dict[str, Any]:
    """`copy_of`: the number of the first text that says the same, where there is one before it."""
    said = {"id": record.id, "words": record.words, "label": record.label, "target": record.target}
    return said if first == record.number else {**said, "copy_of": first}


def _about(plan: Plan, records: Sequence[Record], copies: int) -> dict[str, Any]:
    import limelight

    asked = plan.arguments
    noise = [record.noise for record in records if record.noise > 0.0]
    return {
        "limelight": limelight.__version__,
        "model": called(name_of(plan.model)),
        "texts": len(records),
        "labels": list(plan.model.labels),
        "kind": plan.kind,
        "pairs": reads_pairs(plan.model),
        "windows": len(plan.in_windows),
        "cut": len(plan.cut),
        "copies": copies,
        "noise": {"texts": len(noise), "moved": float(np.mean(noise)) if noise else 0.0},
        "target": asked.target,
        "features": asked.features if isinstance(asked.features, str) else "spans",
        "output": plan.output,
        "outputs": list(plan.outputs),
        "removal": plan.request.removal,
        "removals": list(plan.removals),
        "measures": [one.id for one in plan.measures],
        "limits": asked.limits,
        "steps": asked.steps,
        "chance_orders": asked.chance_orders,
        "seed": asked.seed,
        "options": dict(asked.options),
        "skipped": plan.skipped,
        "unfit": dict(plan.unfit),
        "notices": [
            *_unflippable(plan, records),
            *(f"text {record.id}: {notice}" for record in records for notice in record.notices),
        ],
        "inputs": {name: sum(getattr(record, name) for record in records) for name in ("given", "distinct")},
    }


def _unflippable(plan: Plan, records: Sequence[Record]) -> list[str]:
    """A notice of how many texts the target can be taken away from, where it is not all."""
    held = sum(record.holds for record in records)
    if plan.kind == "regression" or held == len(records):
        return []
    whose = "its likeliest label" if plan.arguments.target is None else shown(plan.arguments.target)
    says = "gives a probability of one half or more to" if plan.kind == "multi-label" else "predicts"
    if not held:
        return [
            f"the model {says} {whose} for none of the texts: how many words must go until the label changes cannot be "
            "asked"
        ]
    return [f"the model {says} {whose} for {held:,} of {len(records):,} texts: 'flips' is of these alone"]


def _methods(plan: Plan, records: Sequence[Record]) -> dict[str, dict[str, Any]]:
    """The making of each method, over the texts that it explained."""
    names = dict.fromkeys([*(one.id for one in plan.methods), *plan.external])
    methods = {}
    for name in names:
        own = [record.methods[name] for record in records if name in record.methods]
        if own:
            methods[name] = {
                **{field: own[0][field] for field in ("label", "signed", "elsewhere", "removal")},
                "accuracy": _either(one["accuracy"] for one in own),
                "samples": own[0].get("samples"),
                "texts": len(own),
                **{field: _mean(one.get(field) for one in own) for field in ("error", "evaluations", "seconds")},
            }
    return methods


def _either(values: Iterable[Any]) -> Any:
    found = list(dict.fromkeys(values))
    return found[0] if len(found) == 1 else " or ".join(map(str, found))


def _mean(values: Iterable[Any]) -> float | None:
    known = [float(value) for value in values if value is not None]
    return float(np.mean(known)) if known else None
