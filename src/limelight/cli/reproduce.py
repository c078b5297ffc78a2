"""`limelight reproduce`: the paper's figures and numbers, computed again."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from limelight.cli.application import going_on, note, watched


def reproduce(
    experiment: Annotated[
        str,
        typer.Argument(
            help="all, fig1 to fig6, lime-error, theorem, gradient-error, correlations or final-layer.",
        ),
    ] = "all",
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of the run; an unfinished one goes on.")] = Path(
        "reproduction"
    ),
    data: Annotated[
        str | None,
        typer.Option(help="The aclImdb folder, a CSV, JSONL or Parquet file, or 'imdb'. Default: a small sample."),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="A folder from 'limelight train --preset paper'. Default: the embedded model.")
    ] = None,
    deep_model: Annotated[
        str | None, typer.Option(help="A folder from 'limelight train --preset deep', for fig6.")
    ] = None,
    documents: Annotated[int | None, typer.Option(help="How many. Default: all on a GPU, 200 on a CPU.")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto.")] = "auto",
    seed: Annotated[int | None, typer.Option(help="Seed of the documents and of LIME. Default: 0.")] = None,
    official: Annotated[bool, typer.Option("--official", help="Draw fig4 with the official lime package.")] = False,
) -> None:
    """Compute the paper's figures and numbers again: figures, JSON and one report in --out."""
    from limelight.reproduce.command import Options, run

    if find_spec("matplotlib") is None:
        note('figures need matplotlib, which is not installed: pip install "limelight[figures]"; all else is computed')
    asked = Options(experiment, out, data, model, deep_model, documents, device, seed, official)
    with going_on(f"{out} keeps what is done"):
        typer.echo(run(asked, watched()))
