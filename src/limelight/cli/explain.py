"""`limelight explain`: a prediction, and how much each word speaks for it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from limelight.cli import options as shared
from limelight.cli.application import USER_ERROR, complain, note, stopped
from limelight.cli.options import METHODS, TEXTS, examples, loading, option, read_ids, read_levels, read_target
from limelight.cli.output import Color, Form, NoColor, Numbers, Out, Sort, Theme, Top, delivery
from limelight.cli.reading import Asked, Source
from limelight.cli.settings import method_options
from limelight.cli.wording import as_typed, in_options
from limelight.errors import (
    ExplanationWarning,
    InputError,
    Interrupted,
    NumericalError,
    ParameterError,
    UnknownNameError,
)

if TYPE_CHECKING:
    from limelight.explanation.result import Comparison
    from limelight.inputs.document import Text
    from limelight.render.entries import Entry

EXAMPLES = examples(
    'limelight explain "A great film, but far too long."',
    "limelight explain --file review.txt --method lime,gxi --numbers",
    "limelight explain --file review.txt --method alpha-avg --set layer=0 --set head=1",
    "cat review.txt | limelight explain --format json > review.json",
    "limelight explain --file review.txt --out review.html   (also .json, .csv, .png, .svg, .pdf, .txt)",
    "limelight explain --file reviews.csv --text-column review --limit 20 --out reviews.html",
    "limelight explain --file review.txt --model ./my-model --until stable --seconds 30",
    'limelight explain --target negative -- "-1 for this one"   (a text that begins with a dash)',
)
_BLANKS_NAMED = 5


def explain(
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT|-", help="The text, in quotes. '-' or nothing: standard input.")
    ] = None,
    file: Annotated[
        Path | None, option(TEXTS, "A text (UTF-8), or a table of texts: CSV, TSV, JSONL, Parquet.", "--file", "-f")
    ] = None,
    lines: Annotated[bool, option(TEXTS, "Each line is a text of its own; JSON: one per line.", "--lines")] = False,
    text_column: Annotated[str | None, option(TEXTS, "Of a table: the column with the texts. Default: text.")] = None,
    second_column: shared.SecondColumn = None,
    id_column: shared.IdColumn = None,
    limit: Annotated[int | None, option(TEXTS, "Only the first texts of a table, or of --lines.", min=1)] = None,
    method: Annotated[
        str | None,
        option(
            METHODS,
            "Ids from 'limelight methods', with commas, or 'all'. Default: Figure 1 and values without sampling; "
            "for models that are not limelight's own LIME, Shapley, leave-one-out, integrated gradients and attention, "
            "in about 10,000 runs of the model.",
            "--method",
            "-m",
        ),
    ] = None,
    model: shared.Model = None,
    device: shared.HuggingFaceDevice = None,
    dtype: shared.Dtype = None,
    truncate: shared.Truncate = False,
    window: shared.Window = False,
    second: Annotated[
        str | None, option(TEXTS, "The second text, for a model that reads pairs.", metavar="TEXT")
    ] = None,
    parts: Annotated[Literal["both", "first", "second"], option(TEXTS, "Of a pair: which texts get weights.")] = "both",
    kind: shared.Kind = None,
    target: shared.Target = None,
    features: shared.Features = "words",
    removal: shared.Removal = "mask",
    output: shared.Output = None,
    samples: shared.Samples = None,
    until: shared.Until = None,
    seconds: Annotated[float | None, option(METHODS, "Draw for so long; the methods that draw share it.")] = None,
    precision: Annotated[
        float | None, option(METHODS, "Relative tolerance of values without sampling. Default: 1e-11.")
    ] = None,
    kernel_width: Annotated[float | None, option(METHODS, "LIME's bandwidth ν. Default: 0.25.")] = None,
    ridge: Annotated[float | None, option(METHODS, "LIME's ridge penalty. Default: 1.")] = None,
    settings: shared.Settings = None,
    seed: Annotated[int, option(METHODS, "Seed of what is drawn; the same seed gives the same result.")] = 0,
    top: Top = None,
    sort: Sort = None,
    numbers: Numbers = False,
    format: Form = None,
    out: Out = None,
    color: Color = None,
    no_color: NoColor = False,
    theme: Theme = "auto",
) -> None:
    """Show a prediction and how much each word speaks for it, one row per method."""
    options = method_options(
        settings,
        samples=samples,
        until=until,
        seconds=seconds,
        precision=precision,
        kernel_width=kernel_width,
        ridge=ridge,
    )
    source = Source(text, file, lines, second, text_column, second_column, id_column, limit)
    about = {"model": model or "embedded", "seed": str(seed)}
    to = delivery(
        top=top,
        sort=sort,
        numbers=numbers,
        format=format,
        out=out,
        color=color,
        no_color=no_color,
        theme=theme,
        about=about,
        wording=in_options,
    )
    asked = source.read()
    pairs = source.pairs_by is not None
    told = loading(device=device, dtype=dtype, truncate=truncate, window=window, kind=kind, pairs=pairs)
    common = {"features": read_levels(features), "removal": removal, "output": output, "parts": parts, "seed": seed}
    with as_typed(pairs=source.pairs_by):
        explained = _explainer(model, told, read_ids(method), target, {**common, **options})
    failures: list[Asked] = []
    cuts: list[Interrupted] = []
    with warnings.catch_warnings():
        # What an explanation warns of stands beside it, in every format.
        warnings.simplefilter("ignore", ExplanationWarning)
        to.deliver(_entries(asked, source.thing, explained, failures, cuts))
    if cuts:
        raise stopped("interrupted from the keyboard: what was reached is shown")
    if failures:
        raise typer.Exit(USER_ERROR)


def _entries(
    asked: Sequence[Asked],
    thing: str,
    explained: Callable[[Text], Comparison],
    failures: list[Asked],
    cuts: list[Interrupted],
) -> Iterator[Entry]:
    """An entry for each text; one of many that cannot be explained says why, and the others go on.

    Ctrl-C ends them with what was reached of the last one.
    """
    from limelight.explanation.result import Comparison
    from limelight.render.entries import Entry

    if blank := [own for own in asked if own.id is not None and own.is_blank]:
        failures += blank
        named = ", ".join(str(own.id) for own in blank[:_BLANKS_NAMED])
        more = "" if len(blank) <= _BLANKS_NAMED else f" and {len(blank) - _BLANKS_NAMED:,} more"
        are = f"{thing}s {named}{more} are" if len(blank) > 1 else f"{thing} {named} is"
        complain(f"{are} blank and left out")
    for own in asked:
        if own.id is not None and own.is_blank:
            yield Entry(own.text, (), own.id, "the text is blank")
            continue
        try:
            yield Entry.of(explained(own.text), own.id)
        except Interrupted as cut:
            cuts.append(cut)
            yield Entry.of(Comparison(cut.explanations))
            return
        except (InputError, NumericalError) as error:
            # What is wrong with the call is wrong for every text.
            if own.id is None or isinstance(error, UnknownNameError | ParameterError):
                raise
            failures.append(own)
            message = in_options(str(error))
            complain(f"{thing} {own.id}: {message}")
            yield Entry(own.text, (), own.id, message)


def _explainer(
    model: str | None, told: dict[str, Any], chosen: Sequence[str] | None, target: str | None, arguments: dict[str, Any]
) -> Callable[[Text], Comparison]:
    """A function that explains one text after the other with the same model and arguments."""
    from rich.console import Console

    from limelight import compare, load
    from limelight.render.terminal.progress import progress_for

    classifier = load(model, **told)
    progress = progress_for(Console(stderr=True))
    noted: set[str] = set()
    named = read_target(target, classifier.labels)

    def explained(text: Text) -> Comparison:
        comparison = compare(classifier, text, chosen, target=named, progress=progress, **arguments)
        if chosen == "all":
            _note_left_out(comparison, noted)
        return comparison

    return explained


def _note_left_out(comparison: Comparison, noted: set[str]) -> None:
    """Say which methods do not apply, once for each."""
    from limelight import methods

    shown_ids = {explanation.method for explanation in comparison}
    left_out = [method.id for method in methods() if method.id not in shown_ids and method.id not in noted]
    if left_out:
        noted.update(left_out)
        note(f"left out, because they do not apply to this model with these options: {', '.join(left_out)}")
