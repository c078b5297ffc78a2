"""`limelight evaluate`: which explanation to trust for a model, on one's own texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from limelight.cli.application import note, stopped
from limelight.cli.settings import joined, read_settings

EXAMPLES = """[bold]Examples[/bold]

[cyan]limelight evaluate reviews.csv --text-column review --out trust[/cyan]

[cyan]limelight evaluate reviews.csv --model my-model --method lime,shapley,alpha-avg --documents 100 --out trust[/cyan]

[cyan]limelight evaluate movies.jsonl --rationale-column rationale --measures all --out trust[/cyan]

[cyan]limelight evaluate reviews.csv --elsewhere theirs.csv --out trust[/cyan]   (columns id, word, weight, method)
"""
_TEXTS, _MODEL, _QUESTION, _METHODS = "Texts", "Model", "Question", "Methods and measures"


def evaluate(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A table of texts: CSV, TSV, JSONL, Parquet.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The folder of the evaluation; an unfinished one goes on.")
    ] = Path("evaluation"),
    documents: Annotated[
        int,
        typer.Option(
            min=1, help="How many texts, drawn by the seed; all, where there are fewer.", rich_help_panel=_TEXTS
        ),
    ] = 200,
    text_column: Annotated[str, typer.Option(help="The column with the texts.", rich_help_panel=_TEXTS)] = "text",
    id_column: Annotated[
        str | None,
        typer.Option(help="What names the texts. Default: their rows.", show_default=False, rich_help_panel=_TEXTS),
    ] = None,
    rationale_column: Annotated[
        str | None,
        typer.Option(
            help="What people marked: spans [start, end], or 0 and 1 for each word between white space.",
            show_default=False,
            rich_help_panel=_TEXTS,
        ),
    ] = None,
    counterfactual_column: Annotated[
        str | None,
        typer.Option(help="The same text, edited to have another label.", show_default=False, rich_help_panel=_TEXTS),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="A folder from 'limelight train', or a Hugging Face folder or name. Default: embedded.",
            rich_help_panel=_MODEL,
        ),
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="cpu, cuda, or auto.", show_default=False, rich_help_panel=_MODEL)
    ] = None,
    dtype: Annotated[
        Literal["auto", "float32", "bfloat16", "float16"] | None,
        typer.Option(
            help="For Hugging Face models: the precision to compute in.", show_default=False, rich_help_panel=_MODEL
        ),
    ] = None,
    truncate: Annotated[
        bool, typer.Option("--truncate", help="Cut texts that are too long for the model.", rich_help_panel=_MODEL)
    ] = False,
    window: Annotated[
        bool, typer.Option("--window", help="Read texts that are too long in parts.", rich_help_panel=_MODEL)
    ] = False,
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
            help="Explanations made elsewhere: a table with id, weight, word or start and end, and method.",
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
        str | None, typer.Option(help="The label to explain. Default: the predicted.", rich_help_panel=_QUESTION)
    ] = None,
    features: Annotated[
        Literal["words", "occurrences", "sentences", "phrases"],
        typer.Option(help="What has weights and is removed.", rich_help_panel=_QUESTION),
    ] = "words",
    removal: Annotated[
        Literal["mask", "delete", "attention"] | None,
        typer.Option(
            help="How methods take words out. Default: mask; scores are given for mask and delete.",
            show_default=False,
            rich_help_panel=_QUESTION,
        ),
    ] = None,
    output: Annotated[
        Literal["logit", "log-odds", "probability", "value"] | None,
        typer.Option(
            help="The number to explain and measure. Default: logit.", show_default=False, rich_help_panel=_QUESTION
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
    options = joined({"n_samples": samples}, read_settings(settings or []))
    from rich.console import Console

    from limelight.evaluation.command import Options, run
    from limelight.progress import Lines
    from limelight.show.evaluation_terminal import print_evaluation
    from limelight.show.progress import progress_for

    loading = {"dtype": dtype, "truncate": truncate or None, "window": window or None}
    asked = Options(
        data=data,
        out=out,
        model=model,
        loading={name: value for name, value in loading.items() if value is not None},
        methods=_names(method),
        measures=_names(measures),
        documents=documents,
        text_column=text_column,
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
        evaluation = run(asked, progress_for(Console(stderr=True), otherwise=Lines()))
    except KeyboardInterrupt as error:
        raise stopped(f"{out} keeps the texts that are done: give the same command again to go on") from error
    print_evaluation(evaluation, Console())
    note(f"the report is {out / 'report.html'}; all numbers are in {out / 'summary.csv'} and {out / 'evaluation.json'}")


def _names(typed: str | None) -> list[str] | str | None:
    """Ids with commas, "all", or nothing."""
    if typed is None or typed.strip() == "all":
        return typed and typed.strip()
    return list(dict.fromkeys(name for part in typed.split(",") if (name := part.strip())))
