"""`limelight evaluate`: which explanation to trust for a model, on one's own texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from limelight.cli.application import note, stopped
from limelight.cli.options import (
    QUESTION,
    TEXTS,
    Device,
    Dtype,
    IdColumn,
    Kind,
    Model,
    SecondColumn,
    TextColumn,
    Truncate,
    Window,
    loading,
    read_ids,
)
from limelight.cli.settings import method_options
from limelight.cli.wording import as_typed

EXAMPLES = """[bold]Examples[/bold]

[cyan]limelight evaluate reviews.csv --text-column review --out trust[/cyan]

[cyan]limelight evaluate reviews.csv --model my-model --method lime,shapley,alpha-avg --documents 100 --out trust[/cyan]

[cyan]limelight evaluate movies.jsonl --rationale-column rationale --measures all --out trust[/cyan]

[cyan]limelight evaluate nli.jsonl --text-column premise --second-column hypothesis --model my-nli --out trust[/cyan]

[cyan]limelight evaluate reviews.csv --elsewhere theirs.csv --out trust[/cyan]   (columns id, word, weight, method)
"""
_METHODS = "Methods and measures"


def evaluate(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A table of texts: CSV, TSV, JSONL, Parquet.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The folder of the evaluation; an unfinished one goes on.")
    ] = Path("evaluation"),
    documents: Annotated[
        int,
        typer.Option(
            min=1, help="How many texts, drawn by the seed; all, where there are fewer.", rich_help_panel=TEXTS
        ),
    ] = 200,
    text_column: TextColumn = "text",
    second_column: SecondColumn = None,
    id_column: IdColumn = None,
    rationale_column: Annotated[
        str | None,
        typer.Option(
            help="What people marked: spans [start, end], or 0 and 1 for each word between white space; of pairs two "
            "such lists.",
            show_default=False,
            rich_help_panel=TEXTS,
        ),
    ] = None,
    counterfactual_column: Annotated[
        str | None,
        typer.Option(
            help="The same text, edited to have another label; of pairs a list of two.",
            show_default=False,
            rich_help_panel=TEXTS,
        ),
    ] = None,
    model: Model = None,
    device: Device = None,
    dtype: Dtype = None,
    truncate: Truncate = False,
    window: Window = False,
    kind: Kind = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            "-m",
            help="Ids from 'limelight methods', with commas, or 'all'. Default: those that 'limelight explain' shows.",
            show_default=False,
            rich_help_panel=_METHODS,
        ),
    ] = None,
    measures: Annotated[
        str | None,
        typer.Option(
            help="Ids with commas, or 'all'. Default: all but sanity, stability and sampling, which explain again.",
            show_default=False,
            rich_help_panel=_METHODS,
        ),
    ] = None,
    elsewhere: Annotated[
        Path | None,
        typer.Option(
            help="Explanations made elsewhere: a table with id, weight, word or start and end, and method; of pairs "
            "also side, 0 or 1.",
            show_default=False,
            rich_help_panel=_METHODS,
        ),
    ] = None,
    limits: Annotated[
        Literal["auto", "search", "found"],
        typer.Option(
            help="The best possible order: where it is cheap; by search up to 40 words; of those at hand.",
            rich_help_panel=_METHODS,
        ),
    ] = "auto",
    steps: Annotated[
        int | None,
        typer.Option(
            min=2, help="Points of each curve. Default: all words.", show_default=False, rich_help_panel=_METHODS
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="The label to explain. Default: the predicted.", rich_help_panel=QUESTION)
    ] = None,
    features: Annotated[
        Literal["words", "occurrences", "sentences", "phrases"],
        typer.Option(help="What has weights and is removed.", rich_help_panel=QUESTION),
    ] = "words",
    removal: Annotated[
        Literal["mask", "delete", "attention"] | None,
        typer.Option(
            help="How methods take words out. Default: mask; scores are given for mask and delete.",
            show_default=False,
            rich_help_panel=QUESTION,
        ),
    ] = None,
    output: Annotated[
        Literal["logit", "log-odds", "probability", "value"] | None,
        typer.Option(
            help="The number to explain and measure. Default: logit; of a regression its value.",
            show_default=False,
            rich_help_panel=QUESTION,
        ),
    ] = None,
    samples: Annotated[
        int | None, typer.Option(help="Samples for the methods that draw them.", rich_help_panel=_METHODS)
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Any option of a method, as 'limelight methods' lists it; may be repeated.",
            show_default=False,
            rich_help_panel=_METHODS,
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            min=0, help="Seed of what is drawn; the same seed gives the same result.", rich_help_panel=_METHODS
        ),
    ] = 0,
) -> None:
    """Say which methods explain a model rightly, on your texts: a verdict, a report page, CSV and JSON in --out."""
    options = method_options(settings, samples=samples)
    from rich.console import Console

    from limelight.core.progress import Lines
    from limelight.evaluation.command import Options, run
    from limelight.evaluation.report.terminal import print_evaluation
    from limelight.render.terminal.progress import progress_for

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
    try:
        with as_typed(pairs="--second-column"):
            evaluation = run(asked, progress_for(Console(stderr=True), otherwise=Lines()))
    except KeyboardInterrupt as error:
        raise stopped(f"{out} keeps the texts that are done: give the same command again to go on") from error
    print_evaluation(evaluation, Console())
    note(f"the report is {out / 'report.html'}; all numbers are in {out / 'summary.csv'} and {out / 'evaluation.json'}")
