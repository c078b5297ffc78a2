"""Options of what is explained and with which model, which several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import typer

from limelight.errors import InputError, ParameterError, shown

TEXTS, MODEL, QUESTION, METHODS = "Texts", "Model", "Question", "Methods"
"""Where options stand in the help."""

TextColumn = Annotated[str, typer.Option("--text-column", help="The column with the texts.", rich_help_panel=TEXTS)]
SecondColumn = Annotated[
    str | None,
    typer.Option(
        "--second-column",
        help="Of a table of pairs: the column with the second texts.",
        show_default=False,
        rich_help_panel=TEXTS,
    ),
]
IdColumn = Annotated[
    str | None,
    typer.Option(
        "--id-column",
        help="Of a table: what names its texts. Default: their rows.",
        show_default=False,
        rich_help_panel=TEXTS,
    ),
]

Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="A folder from 'limelight train', or a Hugging Face folder or name. Default: embedded.",
        rich_help_panel=MODEL,
    ),
]
Device = Annotated[
    str | None, typer.Option("--device", help="cpu, cuda, or auto.", show_default=False, rich_help_panel=MODEL)
]
"""Of a command that moves limelight's own models too."""
HuggingFaceDevice = Annotated[
    str | None,
    typer.Option(
        "--device", help="For Hugging Face models: cpu, cuda, or auto.", show_default=False, rich_help_panel=MODEL
    ),
]
Dtype = Annotated[
    Literal["auto", "float32", "bfloat16", "float16"] | None,
    typer.Option(
        "--dtype",
        help="For Hugging Face models: the precision to compute in. Default: auto, half precision where words are "
        "removed and the machine is faster for it, and float32 for all else.",
        show_default=False,
        rich_help_panel=MODEL,
    ),
]
FixedDtype = Annotated[
    Literal["float32", "bfloat16", "float16"] | None,
    typer.Option(
        "--dtype",
        help="For Hugging Face models: the precision to compute in.",
        show_default=False,
        rich_help_panel=MODEL,
    ),
]
"""Of a command where "auto" is what goes without saying, and cannot be said."""
Truncate = Annotated[
    bool, typer.Option("--truncate", help="Cut texts that are too long for the model.", rich_help_panel=MODEL)
]
Window = Annotated[bool, typer.Option("--window", help="Read texts that are too long in parts.", rich_help_panel=MODEL)]
Kind = Annotated[
    Literal["classes", "multi-label", "regression"] | None,
    typer.Option(
        "--kind",
        help="For Hugging Face models whose configuration does not say it.",
        show_default=False,
        rich_help_panel=MODEL,
    ),
]

Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        help="The label to explain; a:b for a rather than b; or 'all'. Default: the predicted.",
        rich_help_panel=QUESTION,
    ),
]
Features = Annotated[
    str,
    typer.Option(
        "--features",
        metavar="KIND[,KIND]",
        help="words, occurrences, sentences, phrases; two of them are two levels.",
        rich_help_panel=QUESTION,
    ),
]
Removal = Annotated[
    Literal["mask", "delete", "attention"],
    typer.Option("--removal", help="How a word is taken out of the text.", rich_help_panel=QUESTION),
]
Output = Annotated[
    Literal["logit", "log-odds", "probability", "value"] | None,
    typer.Option(
        "--output",
        help="The number to explain. Default: logit; of a regression its value.",
        show_default=False,
        rich_help_panel=QUESTION,
    ),
]

Samples = Annotated[
    int | None, typer.Option("--samples", help="Samples for the methods that draw them.", rich_help_panel=METHODS)
]
Until = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="stable|PART",
        help="Draw until the five strongest words are settled, or until no standard error is above this part of "
        "the largest weight, such as 0.02; 100,000 samples at most, or --samples.",
        show_default=False,
        rich_help_panel=METHODS,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any option of a method, as 'limelight methods' lists it; may be repeated.",
        show_default=False,
        rich_help_panel=METHODS,
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
    """What `limelight.load` is told; what was not asked for is left to it."""
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
    """What --features says: a kind of features, or two of them with a comma between."""
    names = tuple(name.strip() for name in features.split(","))
    if len(names) > 2:
        raise InputError(f"--features takes one kind or two levels: got {shown(features)}")
    return names[0] if len(names) == 1 else names


def read_ids(typed: str | None) -> Sequence[str] | None:
    """What --method or --measures says: nothing, ids with commas, or "all"."""
    if typed is None or typed.strip() == "all":
        return typed and typed.strip()
    # Twice the same method would be twice the same row.
    return list(dict.fromkeys(name for part in typed.split(",") if (name := part.strip())))


def read_label_names(given: str | None) -> dict[str, str] | None:
    """What --label-names says: what a label of the data is called, for each that is named."""
    if given is None:
        return None
    pairs = [part.split("=", 1) for part in given.split(",")]
    if not all(len(pair) == 2 and pair[0].strip() and pair[1].strip() for pair in pairs):
        raise ParameterError(f"--label-names must look like 0=negative,1=positive: got {given!r}")
    return {value.strip(): name.strip() for value, name in pairs}
