"""`limelight evaluate`: which explanation to trust for a model, on one's own texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from limelight.cli import options as shared
from limelight.cli.application import going_on, note, watched
from limelight.cli.options import METHODS, QUESTION, TEXTS, examples, loading, option, read_ids
from limelight.cli.settings import method_options
from limelight.cli.wording import as_typed

EXAMPLES = examples(
    "limelight evaluate reviews.csv --text-column review --out trust",
    "limelight evaluate reviews.csv --model my-model --method lime,shapley,alpha-avg --documents 100 --out trust",
    "limelight evaluate movies.jsonl --rationale-column rationale --measures all --out trust",
    "limelight evaluate nli.jsonl --text-column premise --second-column hypothesis --model my-nli --out trust",
    "limelight evaluate reviews.csv --elsewhere theirs.csv --out trust   (columns id, word, weight, method)",
)


def evaluate(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A table of texts: CSV, TSV, JSONL, Parquet.")],
    out: Annotated[
        Path, option(None, "The folder of the evaluation; an unfinished one goes on.", "--out", "-o")
    ] = Path("evaluation"),
    documents: Annotated[
        int, option(TEXTS, "How many texts, drawn by the seed; all, where there are fewer.", min=1)
    ] = 200,
    text_column: shared.TextColumn = "text",
    second_column: shared.SecondColumn = None,
    id_column: shared.IdColumn = None,
    rationale_column: Annotated[
        str | None,
        option(
            TEXTS,
            "What people marked: spans [start, end], or 0 and 1 for each word between white space; of pairs two such "
            "lists.",
        ),
    ] = None,
    counterfactual_column: Annotated[
        str | None, option(TEXTS, "The same text, edited to have another label; of pairs a list of two.")
    ] = None,
    model: shared.Model = None,
    device: shared.Device = None,
    dtype: shared.Dtype = None,
    truncate: shared.Truncate = False,
    window: shared.Window = False,
    kind: shared.Kind = None,
    method: Annotated[
        str | None,
        option(
            METHODS,
            "Ids from 'limelight methods', with commas, or 'all'. Default: those that 'limelight explain' shows.",
            "--method",
            "-m",
        ),
    ] = None,
    measures: Annotated[
        str | None,
        option(
            METHODS,
            "Ids with commas, or 'all'. Default: all but sanity, stability and sampling, which explain again.",
        ),
    ] = None,
    elsewhere: Annotated[
        Path | None,
        option(
            METHODS,
            "Explanations made elsewhere: a table with id, weight, word or start and end, and method; of pairs also "
            "side, 0 or 1.",
        ),
    ] = None,
    limits: Annotated[
        Literal["auto", "search", "found"],
        option(METHODS, "The best possible order: where it is cheap; by search up to 40 words; of those at hand."),
    ] = "auto",
    steps: Annotated[int | None, option(METHODS, "Points of each curve. Default: all words.", min=2)] = None,
    target: Annotated[str | None, option(QUESTION, "The label to explain. Default: the predicted.")] = None,
    features: Annotated[
        Literal["words", "occurrences", "sentences", "phrases"], option(QUESTION, "What has weights and is removed.")
    ] = "words",
    removal: Annotated[
        Literal["mask", "delete", "attention"] | None,
        option(QUESTION, "How methods take words out. Default: mask; scores are given for mask and delete."),
    ] = None,
    output: shared.Output = None,
    samples: shared.Samples = None,
    settings: shared.Settings = None,
    seed: Annotated[int, option(METHODS, "Seed of what is drawn; the same seed gives the same result.", min=0)] = 0,
) -> None:
    """Say which methods explain a model rightly, on your texts: a verdict, a report page, CSV and JSON in --out."""
    options = method_options(settings, samples=samples)
    from rich.console import Console

    from limelight.evaluation.command import Options, run
    from limelight.evaluation.report.terminal import print_evaluation

    asked = Options(
        data=data,
        out=out,
        model=model,
        loading=loading(dtype=dtype, truncate=truncate, window=window, kind=kind),
        methods=read_ids(method),
        measures=read_ids(measures),
        documents=documents,
        text_column=text_column,
        second_column=second_column,
        id_column=id_column,
        rationale_column=rationale_column,
        counterfactual_column=counterfactual_column,
        elsewhere=elsewhere,
        target=target,
        features=features,
        removal=removal,
        output=output,
        limits=limits,
        steps=steps,
        seed=seed,
        device=device,
        options=options,
    )
    with going_on(f"{out} keeps the texts that are done"), as_typed(pairs="--second-column"):
        evaluation = run(asked, watched())
    print_evaluation(evaluation, Console())
    note(f"the report is {out / 'report.html'}; all numbers are in {out / 'summary.csv'} and {out / 'evaluation.json'}")
