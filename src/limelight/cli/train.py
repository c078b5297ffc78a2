"""`limelight train`: a classifier of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from limelight.cli.application import note, stopped
from limelight.cli.options import examples, read_label_names
from limelight.errors import ParameterError

EXAMPLES = examples(
    "limelight train reviews.csv --out my-model",
    "limelight train train.parquet --test test.parquet --preset paper --out paper-model",
    "limelight train tweets.jsonl --text-column body --label-column y --label-names 0=calm,1=angry --out model",
    after="An interrupted run goes on when the same command is given again.",
)

FEW_TEXTS = 1000
"""A model of fewer texts shows the mechanics, and no more is expected of it."""


def train(
    data: Annotated[Path, typer.Argument(help="Labelled texts: CSV, JSONL or Parquet.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write the model to.")],
    preset: Annotated[
        str, typer.Option(help="Settings: 'default' (best small model), 'paper' (Appendix F) or 'deep' (Appendix E).")
    ] = "default",
    test: Annotated[Path | None, typer.Option(help="Held-out texts for the accuracy in the model card.")] = None,
    text_column: Annotated[str, typer.Option(help="The column with the texts.")] = "text",
    label_column: Annotated[str, typer.Option(help="The column with the labels.")] = "label",
    label_names: Annotated[
        str | None, typer.Option(help="Names for the labels of the file, such as 0=negative,1=positive.")
    ] = None,
    validation: Annotated[
        str | None,
        typer.Option(help="Rows kept for validation: a number, or a share such as 0.2. Default: the preset's."),
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the data. Default: the preset's.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of split, initialisation and order.")] = 0,
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto.")] = "auto",
    resume: Annotated[
        bool, typer.Option("--resume/--no-resume", help="Go on with an unfinished run in --out, or start it over.")
    ] = True,
) -> None:
    """Train a classifier on your own texts: the paper's, or a deeper one."""
    names, kept = read_label_names(label_names), _parse_validation(validation)
    from rich.console import Console

    from limelight.render.numbers import percent
    from limelight.render.terminal.progress import Said, progress_for
    from limelight.training.state import finished_epochs
    from limelight.training.train import train as run

    console = Console(stderr=True)
    try:
        report = run(
            data,
            out,
            preset=preset,
            test=test,
            text_column=text_column,
            label_column=label_column,
            label_names=names,
            validation=kept,
            seed=seed,
            epochs=epochs,
            device=device,
            resume=resume,
            progress=progress_for(console, otherwise=Said(console)),
        )
    except KeyboardInterrupt as error:
        raise stopped(_how_to_resume(finished_epochs(out), out, resume)) from error
    measured = "" if report.test_accuracy is None else f", test accuracy {percent(report.test_accuracy)}"
    typer.echo(f"{report.path}: validation accuracy {percent(report.validation_accuracy)}{measured}")
    if (texts := report.n_train + report.n_validation) < FEW_TEXTS:
        note(f"{texts:,} texts show how training works; for a model whose explanations mean something, give thousands")
    note(f'try it with: limelight explain --model {report.path} "a text of yours"')


def _how_to_resume(finished: int, out: Path, resume: bool) -> str:
    if not finished:
        return "the first epoch was not done and nothing was stored; the same command begins again"
    again = "the same command" if resume else "the same command without --no-resume"
    return f"{out} keeps the run up to epoch {finished}: give {again} to go on from there"


def _parse_validation(given: str | None) -> int | float | None:
    if given is None:
        return None
    try:
        return int(given) if given.strip().isdecimal() else float(given)
    except ValueError as error:
        raise ParameterError(
            f"--validation must be a number of rows such as 5000, or a share such as 0.2: got {given!r}"
        ) from error
