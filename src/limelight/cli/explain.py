"""`limelight explain`: a prediction, and how much each word speaks for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from limelight.cli.application import USER_ERROR, complain, note
from limelight.cli.reading import read_text
from limelight.cli.settings import joined, read_settings
from limelight.errors import InputError, shown

if TYPE_CHECKING:
    from limelight.document import Text
    from limelight.explanation import Comparison

EXAMPLES = """[bold]Examples[/bold]

[cyan]limelight explain "A great film, but far too long."[/cyan]

[cyan]limelight explain --file review.txt --method lime,gxi --numbers[/cyan]

[cyan]limelight explain --file review.txt --method alpha-avg --set layer=0 --set head=1[/cyan]

[cyan]cat review.txt | limelight explain --format json > review.json[/cyan]

[cyan]limelight explain --file review.txt --out review.html[/cyan]

[cyan]limelight explain --target negative -- "-1 for this one"[/cyan]   (a text that begins with a dash)
"""


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
    second: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The second text, for a model that reads pairs.")
    ] = None,
    parts: Annotated[
        Literal["both", "first", "second"], typer.Option(help="Of a pair: which texts get weights.")
    ] = "both",
    kind: Annotated[
        Literal["classes", "multi-label", "regression"] | None,
        typer.Option(help="For Hugging Face models whose configuration does not say it.", show_default=False),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(help="The label to explain; a:b for a rather than b; or 'all'. Default: the predicted."),
    ] = None,
    features: Annotated[
        str,
        typer.Option(metavar="KIND[,KIND]", help="words, occurrences, sentences, phrases; two of them are two levels."),
    ] = "words",
    removal: Annotated[
        Literal["mask", "delete", "attention"], typer.Option(help="How a word is taken out of the text.")
    ] = "mask",
    output: Annotated[
        Literal["logit", "log-odds", "probability", "value"] | None,
        typer.Option(help="The number to explain. Default: logit; of a regression its value.", show_default=False),
    ] = None,
    samples: Annotated[int | None, typer.Option(help="Samples for the methods that draw them.")] = None,
    precision: Annotated[
        float | None, typer.Option(help="Relative tolerance of exact values. Default: 1e-11.", show_default=False)
    ] = None,
    kernel_width: Annotated[
        float | None, typer.Option(help="LIME's bandwidth ν. Default: 0.25.", show_default=False)
    ] = None,
    ridge: Annotated[float | None, typer.Option(help="LIME's ridge penalty. Default: 1.", show_default=False)] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Any option of a method, as 'limelight methods' lists it; may be repeated.",
            show_default=False,
        ),
    ] = None,
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
    own = {"n_samples": samples, "precision": precision, "kernel_width": kernel_width, "ridge": ridge}
    options = joined(own, read_settings(settings or []))
    content = read_text(text, file)
    from limelight.show.deliver import deliver, explained_lines

    if second is not None and lines:
        raise InputError("--second is for one pair of texts, and --lines for many texts: give one of them")
    loading = {
        "device": device,
        "dtype": dtype,
        "truncate": truncate or None,
        "window": window or None,
        "kind": kind,
        "pairs": second is not None or None,
    }
    common = {"features": _levels(features), "removal": removal, "output": output, "parts": parts, "seed": seed}
    explained = _explainer(model, loading, method, target, {**common, **options})
    failures: list[int] = []
    asked = content if second is None else (content, second)
    results = explained_lines(content, explained, complain, failures) if lines else iter([explained(asked)])
    deliver(results, format or _format_of(out), out, numbers=numbers, no_color=no_color)
    if failures:
        raise typer.Exit(USER_ERROR)


def _levels(typed: str) -> str | tuple[str, ...]:
    """A kind of features, or two of them with a comma between."""
    names = tuple(name.strip() for name in typed.split(","))
    if len(names) > 2:
        raise InputError(f"--features takes one kind or two levels: got {shown(typed)}")
    return names[0] if len(names) == 1 else names


def _target(typed: str | None, labels: Sequence[str]) -> str | tuple[str, str] | None:
    """A label, or two with a colon between; a label may have a colon of its own."""
    if typed is None or typed in labels or ":" not in typed:
        return typed
    cuts = [(typed[:i], typed[i + 1 :]) for i, letter in enumerate(typed) if letter == ":"]
    return next((pair for pair in cuts if pair[0] in labels and pair[1] in labels), cuts[0])


def _explainer(
    model: str | None, loading: dict[str, Any], asked: str | None, target: str | None, arguments: dict[str, Any]
) -> Callable[[Text], Comparison]:
    """What explains one text after the other with the same model and arguments."""
    from rich.console import Console

    from limelight import compare, load
    from limelight.show.progress import progress_for

    classifier = load(model, **{name: value for name, value in loading.items() if value is not None})
    progress, chosen = progress_for(Console(stderr=True)), _methods(asked)
    noted: set[str] = set()
    named = _target(target, classifier.labels)

    def explained(text: Text) -> Comparison:
        comparison = compare(classifier, text, chosen, target=named, progress=progress, **arguments)
        if chosen == "all":
            _note_left_out(comparison, noted)
        return comparison

    return explained


def _methods(asked: str | None) -> Sequence[str] | None:
    """What --method says: nothing, ids, or "all" that apply."""
    if asked is None or asked.strip() == "all":
        return asked and asked.strip()
    # Twice the same method would be twice the same row.
    return list(dict.fromkeys(name for part in asked.split(",") if (name := part.strip())))


def _note_left_out(comparison: Comparison, noted: set[str]) -> None:
    """Which methods do not apply, once for each."""
    from limelight import methods

    shown_ids = {explanation.method for explanation in comparison}
    left_out = [method.id for method in methods() if method.id not in shown_ids and method.id not in noted]
    if left_out:
        noted.update(left_out)
        note(f"left out, because they do not apply to this model with these options: {', '.join(left_out)}")


def _format_of(out: Path | None) -> Literal["table", "json", "html"]:
    ending = "" if out is None else out.suffix.lower()
    return "json" if ending in (".json", ".jsonl") else "html" if ending in (".html", ".htm") else "table"
