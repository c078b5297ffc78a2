"""Options of what is explained and with which model, which several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import typer

from limelight.errors import InputError, ParameterError, shown

TEXTS, MODEL, QUESTION, METHODS = "Texts", "Model", "Question", "Methods"
"""Panels of the help."""


def option(panel: str | None, help: str, *names: str, **more: Any) -> Any:
    """An option in its panel of the help; without names it is called as its parameter is."""
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)


def examples(*commands: str, after: str = "") -> str:
    """The end of a command's help; behind three spaces a command may have a remark."""
    lines = (
        f"[cyan]{command}[/cyan]{gap}{remark}" for command, gap, remark in (own.partition("   ") for own in commands)
    )
    return "\n\n".join(["[bold]Examples[/bold]", *lines, after])


TextColumn = Annotated[str, option(TEXTS, "The column with the texts.")]
SecondColumn = Annotated[str | None, option(TEXTS, "Of a table of pairs: the column with the second texts.")]
IdColumn = Annotated[str | None, option(TEXTS, "Of a table: what names its texts. Default: their rows.")]

Model = Annotated[
    str | None,
    option(MODEL, "A folder from 'limelight train', or a Hugging Face folder or name. Default: embedded."),
]
Device = Annotated[str | None, option(MODEL, "cpu, cuda, or auto.")]
"""For a command that moves limelight's own models too."""
HuggingFaceDevice = Annotated[str | None, option(MODEL, "For Hugging Face models: cpu, cuda, or auto.")]
Dtype = Annotated[
    Literal["auto", "float32", "bfloat16", "float16"] | None,
    option(
        MODEL,
        "For Hugging Face models: the precision to compute in. Default: auto, half precision where words are removed "
        "and the machine is faster for it, and float32 for all else.",
    ),
]
FixedDtype = Annotated[
    Literal["float32", "bfloat16", "float16"] | None,
    option(MODEL, "For Hugging Face models: the precision to compute in."),
]
"""For a command where "auto" is the default and cannot be said."""
Truncate = Annotated[bool, option(MODEL, "Cut texts that are too long for the model.", "--truncate")]
Window = Annotated[bool, option(MODEL, "Read texts that are too long in parts.", "--window")]
Kind = Annotated[
    Literal["classes", "multi-label", "regression"] | None,
    option(MODEL, "For Hugging Face models whose configuration does not say it."),
]

Target = Annotated[
    str | None,
    option(QUESTION, "The label to explain; a:b for a rather than b; or 'all'. Default: the predicted."),
]
Features = Annotated[
    str,
    option(
        QUESTION,
        "words, occurrences, sentences, phrases; two of them are two levels.",
        metavar="KIND[,KIND]",
    ),
]
Removal = Annotated[Literal["mask", "delete", "attention"], option(QUESTION, "How a word is taken out of the text.")]
Output = Annotated[
    Literal["logit", "log-odds", "probability", "value"] | None,
    option(QUESTION, "The number to explain. Default: logit; of a regression its value."),
]

Samples = Annotated[
    int | None,
    option(
        METHODS, "Samples for the methods that draw them. Default: 256 to 5,000, as needed; 5,000 of limelight's own."
    ),
]
Until = Annotated[
    str | None,
    option(
        METHODS,
        "Draw until the five strongest words are stable, or until no standard error is above this part of the largest "
        "weight, such as 0.02; 100,000 samples at most, or --samples.",
        metavar="stable|PART",
    ),
]
Settings = Annotated[
    list[str] | None,
    option(
        METHODS,
        "Any option of a method, as 'limelight methods' lists it; may be repeated.",
        "--set",
        metavar="NAME=VALUE",
    ),
]


def loading(
    *,
    device: str | None = None,
    dtype: str | None = None,
    truncate: bool = False,
    window: bool = False,
    kind: str | None = None,
    pairs: bool = False,
) -> dict[str, Any]:
    """Arguments of `limelight.load`; whatever was not typed is left to it."""
    asked = {
        "device": device,
        "dtype": dtype,
        "truncate": truncate or None,
        "window": window or None,
        "kind": kind,
        "pairs": pairs or None,
    }
    return {name: value for name, value in asked.items() if value is not None}


def read_target(typed: str | None, labels: Sequence[str]) -> str | tuple[str, str] | None:
    """A label, or two with a colon between; a label may have a colon of its own."""
    if typed is None or typed in labels or ":" not in typed:
        return typed
    cuts = [(typed[:i], typed[i + 1 :]) for i, letter in enumerate(typed) if letter == ":"]
    return next((pair for pair in cuts if pair[0] in labels and pair[1] in labels), cuts[0])


def read_levels(features: str) -> str | tuple[str, ...]:
    """Parse --features: a kind of features, or two of them with a comma between."""
    names = tuple(name.strip() for name in features.split(","))
    if len(names) > 2:
        raise InputError(f"--features takes one kind or two levels: got {shown(features)}")
    return names[0] if len(names) == 1 else names


def read_ids(typed: str | None) -> Sequence[str] | None:
    """Parse --method or --measures: nothing, ids with commas, or "all"."""
    if typed is None or typed.strip() == "all":
        return typed and typed.strip()
    # Twice the same method would be twice the same row.
    names = list(dict.fromkeys(name for part in typed.split(",") if (name := part.strip())))
    if "all" in names and len(names) > 1:
        others = ", ".join(map(shown, (name for name in names if name != "all")))
        raise ParameterError(f"'all' stands for all there are, and {others} was named beside it: leave one of them out")
    return names


def read_label_names(given: str | None) -> dict[str, str] | None:
    """Parse --label-names: the name of each label of the data that has one."""
    if given is None:
        return None
    pairs = [part.split("=", 1) for part in given.split(",")]
    if not all(len(pair) == 2 and pair[0].strip() and pair[1].strip() for pair in pairs):
        raise ParameterError(f"--label-names must look like 0=negative,1=positive: got {given!r}")
    return {value.strip(): name.strip() for value, name in pairs}
