"""The command line: reads what was asked, calls the library, shows the result. No mathematics here."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup

# The library itself is imported inside the commands: --help and --version answer before torch has woken up.
from limelight.errors import DataError, InputError, LimelightError, ParameterError

if TYPE_CHECKING:
    from limelight.explainers.method import MethodInfo
    from limelight.explanation import Comparison
    from limelight.view import Classifier

_USER_ERROR = 2
_INTERRUPTED = 130
_ROOM_FOR_A_TABLE = 100

_EXPLAIN_EXAMPLES = """[bold]Examples[/bold]

[cyan]limelight explain "A great film, but far too long."[/cyan]

[cyan]limelight explain --file review.txt --method lime,gxi --numbers[/cyan]

[cyan]cat review.txt | limelight explain --format json > review.json[/cyan]

[cyan]limelight explain --file review.txt --out review.html[/cyan]

[cyan]limelight explain --target negative -- "-1 for this one"[/cyan]   (a text that begins with a dash)
"""
_TRAIN_EXAMPLES = """[bold]Examples[/bold]

[cyan]limelight train reviews.csv --out my-model[/cyan]

[cyan]limelight train train.parquet --test test.parquet --preset paper --out paper-model[/cyan]

[cyan]limelight train tweets.jsonl --text-column body --label-column y --label-names 0=calm,1=angry --out model[/cyan]

An interrupted run goes on when the same command is given again.
"""


class _Commands(TyperGroup):
    """All commands report what a user can put right in the same way."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except LimelightError as error:
            _complain(str(error))
            raise typer.Exit(_USER_ERROR) from error
        except KeyboardInterrupt as error:
            _tell("stopped", "bold yellow", "interrupted from the keyboard")
            raise typer.Exit(_INTERRUPTED) from error


app = typer.Typer(
    cls=_Commands,
    name="limelight",
    help="Why a text classifier decided as it did, word by word.",
    epilog='Begin with:  [cyan]limelight explain "A great film, but far too long."[/cyan]',
    no_args_is_help=True,
    rich_markup_mode="rich",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """The entry point of the `limelight` command."""
    for stream in (sys.stdout, sys.stderr):
        # Letters that a stream cannot encode are spelled out instead of ending the program.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app()


def _print_version(wanted: bool) -> None:
    if wanted:
        from limelight import __version__

        typer.echo(f"limelight {__version__}")
        raise typer.Exit


@app.callback()
def limelight(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Why a text classifier decided as it did, word by word."""


@app.command(epilog=_EXPLAIN_EXAMPLES)
def explain(
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT|-", help="The text, in quotes. '-' or nothing: standard input.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="Read the text from this file (UTF-8).")] = None,
    lines: Annotated[bool, typer.Option("--lines", help="Each line is a text of its own; JSON: one per line.")] = False,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            "-m",
            help="Ids from 'limelight methods', with commas, or 'all'. Default: Figure 1 and exact values.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="A folder from 'limelight train', or a Hugging Face folder or name. Default: embedded."),
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="For Hugging Face models: cpu, cuda, or auto.", show_default=False)
    ] = None,
    dtype: Annotated[
        Literal["float32", "bfloat16", "float16"] | None,
        typer.Option(help="For Hugging Face models: the precision to compute in.", show_default=False),
    ] = None,
    truncate: Annotated[bool, typer.Option("--truncate", help="Cut texts that are too long for the model.")] = False,
    window: Annotated[bool, typer.Option("--window", help="Read texts that are too long in parts.")] = False,
    target: Annotated[str | None, typer.Option(help="The label to explain. Default: the predicted one.")] = None,
    features: Annotated[
        Literal["words", "occurrences"], typer.Option(help="Weigh distinct words, or each occurrence by itself.")
    ] = "words",
    removal: Annotated[
        Literal["mask", "delete", "attention"], typer.Option(help="How a word is taken out of the text.")
    ] = "mask",
    output: Annotated[Literal["logit", "probability"], typer.Option(help="The number to explain.")] = "logit",
    samples: Annotated[int | None, typer.Option(help="Samples for the methods that draw them.")] = None,
    precision: Annotated[
        float | None, typer.Option(help="Relative tolerance of exact values. Default: 1e-11.", show_default=False)
    ] = None,
    kernel_width: Annotated[
        float | None, typer.Option(help="LIME's bandwidth ν. Default: 0.25.", show_default=False)
    ] = None,
    ridge: Annotated[float | None, typer.Option(help="LIME's ridge penalty. Default: 1.", show_default=False)] = None,
    seed: Annotated[int, typer.Option(help="Seed of what is drawn; the same seed gives the same result.")] = 0,
    numbers: Annotated[
        bool, typer.Option("--numbers", "-n", help="A table of weights instead of coloured words.")
    ] = False,
    format: Annotated[
        Literal["table", "json", "html"] | None,
        typer.Option(help="Default: by the ending of --out (.json, .html), else table.", show_default=False),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write to this file instead of the terminal.")] = None,
    no_color: Annotated[bool, typer.Option("--no-color", help="Mark words with + and - instead of colours.")] = False,
) -> None:
    """Show a prediction and how much each word speaks for it, one row per method."""
    given = _read_text(text, file)
    from limelight.show.deliver import deliver, explained_lines

    loading = {"device": device, "dtype": dtype, "truncate": truncate or None, "window": window or None}
    options = {"n_samples": samples, "precision": precision, "kernel_width": kernel_width, "ridge": ridge}
    common = {"target": target, "features": features, "removal": removal, "output": output, "seed": seed}
    explained = _explainer(model, _given(loading), method, {**common, **_given(options)})
    failures: list[int] = []
    results = explained_lines(given, explained, _complain, failures) if lines else iter([explained(given)])
    deliver(results, format or _format_of(out), out, numbers=numbers, no_color=no_color)
    if failures:
        raise typer.Exit(_USER_ERROR)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _explainer(
    model: str | None, loading: dict[str, Any], asked: str | None, arguments: dict[str, Any]
) -> Callable[[str], Comparison]:
    """What explains one text after the other with the same model and arguments."""
    from limelight import compare, load
    from limelight.show.watching import watched

    classifier = load(model, **loading)
    chosen = _chosen_methods(asked, classifier, {name: arguments[name] for name in ("removal", "output")})

    def explained(text: str) -> Comparison:
        with watched(classifier, Console(stderr=True)):
            return compare(classifier, text, chosen, **arguments)

    return explained


def _read_text(text: str | None, file: Path | None) -> str:
    if file is not None and str(file) != "-":
        if text is not None:
            raise InputError(f"both a text and --file {file} were given: give one of them")
        return _decode(_read_bytes(file), f"the file {file}")
    if text is None or text == "-":
        if text is None and file is None and (sys.stdin is None or sys.stdin.isatty()):
            raise InputError(
                'there is no text to explain: type limelight explain "your text", or use --file, or a pipe'
            )
        return _decode(sys.stdin.buffer.read(), "standard input")
    if any("\ud800" <= character <= "\udfff" for character in text):  # how Python passes on bytes it could not decode
        raise InputError("the text on the command line is not valid UTF-8: put it in a UTF-8 file and use --file")
    if len(text) < 256 and not any(map(str.isspace, text)) and os.path.isfile(text):
        _note(f"explaining the word {text!r} itself; to explain what is in the file of that name, use --file {text}")
    return text


def _read_bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"there is no file {file}: check its name, or give the text itself as the argument") from error
    except IsADirectoryError as error:
        raise InputError(f"{file} is a folder: name a text file") from error
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror or error}; check its permissions") from error


def _decode(content: bytes, source: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{source} is not UTF-8 (byte 0x{content[error.start]:02x} at position {error.start}): "
            "convert it first, for example with iconv -f LATIN1 -t UTF-8"
        ) from error


def _chosen_methods(asked: str | None, model: Classifier, arguments: dict[str, str]) -> list[str] | None:
    if asked is None:
        return None
    if asked.strip() != "all":
        # Twice the same method would be twice the same row.
        return list(dict.fromkeys(name for part in asked.split(",") if (name := part.strip())))
    from limelight.explainers.method import methods as registered

    left_out = [info.id for info in registered() if not info.fits(model, arguments)]
    if left_out:
        _note(f"left out, because they do not apply to this model with these options: {', '.join(left_out)}")
    return [info.id for info in registered() if info.id not in left_out]


def _format_of(out: Path | None) -> Literal["table", "json", "html"]:
    ending = "" if out is None else out.suffix.lower()
    return "json" if ending in (".json", ".jsonl") else "html" if ending in (".html", ".htm") else "table"


@app.command()
def methods() -> None:
    """List the methods: what each is called, what it needs of a model, and whether it is exact."""
    from limelight.explainers.method import methods as registered

    console = Console()
    infos = registered()
    console.print(
        _methods_table(infos) if console.width >= _ROOM_FOR_A_TABLE else _methods_list(infos), highlight=False
    )


def _methods_table(infos: Sequence[MethodInfo]) -> Table:
    from limelight.show.names import accuracy

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for head in ("id", "name", "needs", "", "what it is"):
        table.add_column(head, no_wrap=head in ("id", "name", ""), overflow="fold")
    for info in infos:
        table.add_row(
            Text(info.id, style="cyan"),
            Text(info.label),
            Text(", ".join(info.needs)),
            Text(accuracy(info.exact, info.parameters)),
            Text(info.summary),
        )
    return table


def _methods_list(infos: Sequence[MethodInfo]) -> Group:
    """The same for a narrow terminal."""
    from limelight.show.names import accuracy

    lines: list[RenderableType] = []
    for info in infos:
        about = f"  {info.label}  ({accuracy(info.exact, info.parameters)}, needs {', '.join(info.needs)})"
        lines.append(Text.assemble((info.id, "cyan"), about))
        lines.append(Padding(Text(info.summary), (0, 0, 0, 2)))
    return Group(*lines)


@app.command(epilog=_TRAIN_EXAMPLES)
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
    names, kept = _parse_label_names(label_names), _parse_validation(validation)
    from limelight.show.numbers import percent
    from limelight.show.progress import TrainingProgress
    from limelight.training.train import train as run

    progress = TrainingProgress(Console(stderr=True))
    try:
        with progress:
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
                observer=progress,
            )
    except KeyboardInterrupt as error:
        _tell("stopped", "bold yellow", _how_to_resume(progress.finished, out, resume))
        raise typer.Exit(_INTERRUPTED) from error
    measured = "" if report.test_accuracy is None else f", test accuracy {percent(report.test_accuracy)}"
    typer.echo(f"{report.path}: validation accuracy {percent(report.validation_accuracy)}{measured}")
    _note(f'try it with: limelight explain --model {report.path} "a text of yours"')


def _how_to_resume(finished: int, out: Path, resume: bool) -> str:
    if not finished:
        return "the first epoch was not done and nothing was stored; the same command begins again"
    again = "the same command" if resume else "the same command without --no-resume"
    return f"{out} keeps the run up to epoch {finished}: give {again} to go on from there"


def _parse_label_names(given: str | None) -> dict[str, str] | None:
    if given is None:
        return None
    pairs = [part.split("=", 1) for part in given.split(",")]
    if not all(len(pair) == 2 and pair[0].strip() and pair[1].strip() for pair in pairs):
        raise ParameterError(f"--label-names must look like 0=negative,1=positive: got {given!r}")
    return {value.strip(): name.strip() for value, name in pairs}


def _parse_validation(given: str | None) -> int | float | None:
    if given is None:
        return None
    try:
        return int(given) if given.strip().isdecimal() else float(given)
    except ValueError as error:
        raise ParameterError(
            f"--validation must be a number of rows such as 5000, or a share such as 0.2: got {given!r}"
        ) from error


@app.command()
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
    from limelight.progress import Bar, Lines
    from limelight.reproduce.command import Options, run

    console = Console(stderr=True)
    asked = Options(experiment, out, data, model, deep_model, documents, device, seed, official)
    try:
        report = run(asked, Bar(console) if console.is_terminal else Lines())
    except KeyboardInterrupt as error:
        _tell("stopped", "bold yellow", f"{out} keeps what is done: give the same command again to go on")
        raise typer.Exit(_INTERRUPTED) from error
    typer.echo(out if report is None else report)


def _complain(message: str) -> None:
    _tell("error", "bold red", message)


def _note(message: str) -> None:
    _tell("note", "bold", message)


def _tell(kind: str, style: str, message: str) -> None:
    """One line on standard error; whatever a text or file name put into the message, it only shows."""
    from limelight.show.visible import visible

    shown = "\n".join(map(visible, message.split("\n")))
    Console(stderr=True).print(Text.assemble((f"{kind}: ", style), shown), soft_wrap=True, highlight=False)
