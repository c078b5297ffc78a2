"""`limelight corpus`: the explanations of many texts, in a folder that goes on where it stopped."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from limelight.cli import corpus_report
from limelight.cli import options as shared
from limelight.cli.application import going_on, note, watched
from limelight.cli.options import (
    METHODS,
    MODEL,
    QUESTION,
    TEXTS,
    examples,
    option,
    read_label_names,
    read_levels,
    read_target,
)
from limelight.cli.settings import method_options
from limelight.cli.wording import as_typed
from limelight.errors import ParameterError

EXAMPLES = examples(
    "limelight corpus run reviews.csv --method lime-limit,shapley --out explained",
    "limelight corpus run 'data/*.jsonl' --model my-model --label-column label --workers 4 --out explained",
    "limelight corpus run reviews.parquet --model bert --truncate --method lime --samples 1000 --out explained",
    "limelight corpus run reviews.csv --ray --workers 4 --out explained",
    "limelight corpus run reviews.parquet --ray auto --workers 8 --gpus-per-worker 1 --out explained",
    "limelight corpus status explained",
    after="An interrupted run goes on when the same command is given again.\n",
)
_WORK = "Work"

app = typer.Typer(
    name="corpus",
    help="Explain many texts, durably, and see what a model does with all of them.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class _Run(TyperCommand):
    """`--ray` may stand without an address, which Typer does not know of an option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, with_ray_address(args))


_ADDRESS = re.compile(r"local|auto|\S+://\S+|[^\s/]+:\d+")
"""What Ray takes as an address. Anything else behind `--ray` is a file of texts, or another option."""


def with_ray_address(typed: Sequence[str]) -> list[str]:
    """The words of a command line, where `--ray` without an address has "local" behind it."""
    words: list[str] = []
    for i, word in enumerate(typed):
        if word == "--":
            return [*words, *typed[i:]]
        words.append(word)
        if word == "--ray" and (i + 1 == len(typed) or not _ADDRESS.fullmatch(typed[i + 1])):
            words.append("local")
    return words


@app.command(cls=_Run, epilog=EXAMPLES)
def run(
    data: Annotated[
        list[str], typer.Argument(help="Tables of texts: CSV, TSV, JSONL, Parquet; files, folders or patterns.")
    ],
    out: Annotated[Path, option(None, "The folder of the run; an unfinished one goes on.", "--out", "-o")],
    method: Annotated[str, option(METHODS, "Ids from 'limelight methods', with commas.", "--method", "-m")] = "lime",
    model: shared.Model = None,
    text_column: shared.TextColumn = "text",
    second_column: shared.SecondColumn = None,
    id_column: Annotated[str | None, option(TEXTS, "What names the texts. Default: row and content.")] = None,
    label_column: Annotated[str | None, option(TEXTS, "The true labels, to see where the model is wrong.")] = None,
    label_names: Annotated[
        str | None, option(TEXTS, "Names for the labels of the data, such as 0=negative,1=positive.")
    ] = None,
    carry: Annotated[str | None, option(TEXTS, "Columns that stand in the result too, with commas.")] = None,
    limit: Annotated[int | None, option(TEXTS, "Only the first rows.", min=1)] = None,
    keep_text: Annotated[bool, option(TEXTS, "Store the texts beside their explanations.", "--keep-text")] = False,
    device: shared.Device = None,
    dtype: shared.FixedDtype = None,
    truncate: shared.Truncate = False,
    window: shared.Window = False,
    kind: shared.Kind = None,
    batch_tokens: Annotated[int | None, option(MODEL, "For Hugging Face models: tokens in a forward.", min=1)] = None,
    target: shared.Target = None,
    features: shared.Features = "words",
    removal: shared.Removal = "mask",
    output: shared.Output = None,
    parts: Annotated[
        Literal["both", "first", "second"], option(QUESTION, "Of a pair: which texts get weights.")
    ] = "both",
    samples: shared.Samples = None,
    until: shared.Until = None,
    settings: shared.Settings = None,
    seed: Annotated[int, option(METHODS, "Each document's seed is made of this and its id.")] = 0,
    shard_size: Annotated[
        int | None, option(_WORK, "Documents that are computed and stored together. Default: 1000, or 50.", min=1)
    ] = None,
    workers: Annotated[int, option(_WORK, "Processes of this machine, or actors of Ray.", min=1)] = 1,
    ray: Annotated[
        str | None, option(_WORK, "A Ray cluster; 'local', or nothing, begins one here.", metavar="[ADDRESS]")
    ] = None,
    gpus_per_worker: Annotated[float, option(_WORK, "Of a Ray cluster: GPUs that a worker needs.", min=0.0)] = 0.0,
) -> None:
    """Explain every row of a table and write what is found to a folder, shard by shard."""
    from limelight.corpus.running.driver import run as run_corpus
    from limelight.corpus.running.on_ray import NoPlaceError

    options = method_options(settings, samples=samples, until=until)
    try:
        with going_on(f"{out} keeps what is done"), as_typed(pairs="--second-column"):
            corpus = run_corpus(
                data,
                out,
                model,
                _names(method),
                target=_target(target, model, kind),
                features=read_levels(features),
                removal=removal,
                output=output,
                parts=parts,
                seed=seed,
                text_column=text_column,
                second_column=second_column,
                id_column=id_column,
                label_column=label_column,
                label_names=read_label_names(label_names),
                carry=_names(carry),
                limit=limit,
                shard_size=shard_size,
                keep_text=keep_text,
                device=device,
                dtype=dtype,
                truncate=truncate,
                window=window,
                kind=kind,
                batch_tokens=batch_tokens,
                workers=workers,
                ray=False if ray is None else ray,
                gpus_per_worker=gpus_per_worker,
                progress=watched(),
                **options,
            )
    except NoPlaceError as error:
        raise NoPlaceError(f"{error}: {shlex.join(['limelight', *sys.argv[1:]])}") from error
    _tell(corpus.folder)


app.command(epilog=corpus_report.EXAMPLES)(corpus_report.report)


@app.command()
def status(folder: Annotated[Path, typer.Argument(help="The folder of a run.")]) -> None:
    """How far a run is: documents, errors, time."""
    _tell(folder)


def _tell(folder: Path) -> None:
    from limelight.corpus.store.reading import state

    now = state(folder)
    typer.echo(str(now))
    if now.errors:
        note(f"{now.errors:,} of {now.documents:,} documents could not be explained: their rows say why, in 'error'")


def _names(typed: str | None) -> list[str]:
    """Names with commas between."""
    names = [name for part in (typed or "").split(",") if (name := part.strip())]
    if typed is not None and not names:
        raise ParameterError(f"names with commas between were expected: got {typed!r}")
    return names


def _target(typed: str | None, model: str | None, kind: str | None) -> str | tuple[str, str] | None:
    """A label, or two with a colon between, which the model's labels tell apart."""
    if typed is None or ":" not in typed:
        return typed
    from limelight.corpus.running.model_source import Loading

    return read_target(typed, Loading(model, {"device": "cpu", "kind": kind}).load().labels)
