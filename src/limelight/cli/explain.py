"""`limelight explain`: a prediction, and how much each word speaks for it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from limelight.cli import options as shared
from limelight.cli.application import USER_ERROR, complain, note, stopped
from limelight.cli.first_choice import Choice, choices
from limelight.cli.options import METHODS, TEXTS, examples, loading, option, read_ids, read_levels, read_target
from limelight.cli.output import Color, Form, NoColor, Numbers, Out, Sort, Theme, Top, deliver, delivery
from limelight.cli.reading import Asked, Source
from limelight.cli.settings import method_options
from limelight.cli.wording import as_typed, in_options
from limelight.errors import (
    CapabilityError,
    ExplanationWarning,
    InputError,
    Interrupted,
    NumericalError,
    ParameterError,
    UnknownNameError,
)

if TYPE_CHECKING:
    from limelight.explanation.result import Explanation
    from limelight.inputs.document import Text
    from limelight.models.interface import Classifier
    from limelight.render.entries import Entry

    Explained = Callable[[Text], tuple[Sequence[Explanation], str | None]]
    """A function from a text to its explanations, and why the first of them is shown first."""

EXAMPLES = examples(
    'limelight explain "A great film, but far too long."',
    'limelight explain "A great film, but far too long." --compare',
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
            "Ids from 'limelight methods', with commas, or 'all'. Default: on a terminal one, the best in an "
            "evaluation of this model, else Shapley values; in files the methods of --compare.",
            "--method",
            "-m",
        ),
    ] = None,
    compare: Annotated[
        bool,
        option(
            METHODS,
            "The usual methods beside each other: Figure 1 and values without sampling; for models that are not "
            "limelight's own LIME, Shapley, leave-one-out, integrated gradients and attention, in about 10,000 runs of "
            "the model.",
            "--compare",
        ),
    ] = False,
    evaluation: Annotated[
        Path | None,
        option(
            METHODS,
            "A folder of 'limelight evaluate', whose best method is shown. Default: the folder 'evaluation' inside the "
            "model's, if there is one.",
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
    """Show a prediction, why in one sentence, and how much each word speaks for it."""
    for name, given in (("--compare", compare), ("--evaluation", evaluation is not None)):
        if given and method is not None:
            raise ParameterError(f"{name} chooses the methods, and --method names them: give one of them")
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
        told=not compare,
    )
    asked = source.read()
    pairs = source.pairs_by is not None
    told = loading(device=device, dtype=dtype, truncate=truncate, window=window, kind=kind, pairs=pairs)
    common = {"features": read_levels(features), "removal": removal, "output": output, "parts": parts, "seed": seed}
    with as_typed(pairs=source.pairs_by):
        classifier = _loaded(model, told)
        first = []
        if method is None and not compare and to.format in ("table", "html"):
            first = choices(evaluation, model, classifier.labels, common)
        explained = _explainer(classifier, read_ids(method), first, to.format == "table", target, {**common, **options})
    failures: list[Asked] = []
    cuts: list[Interrupted] = []
    with warnings.catch_warnings():
        # What an explanation warns of stands beside it, in every format.
        warnings.simplefilter("ignore", ExplanationWarning)
        deliver(to, _entries(asked, source.thing, explained, failures, cuts))
    if cuts:
        raise stopped("interrupted from the keyboard: what was reached is shown")
    if failures:
        raise typer.Exit(USER_ERROR)


def _entries(
    asked: Sequence[Asked],
    thing: str,
    explained: Explained,
    failures: list[Asked],
    cuts: list[Interrupted],
) -> Iterator[Entry]:
    """An entry for each text; one of many that cannot be explained says why, and the others go on.

    Ctrl-C ends them with what was reached of the last one.
    """
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
            found, why = explained(own.text)
            yield Entry.of(found, own.id, why)
        except Interrupted as cut:
            cuts.append(cut)
            yield Entry.of(cut.explanations)
            return
        except (InputError, NumericalError) as error:
            # What is wrong with the call is wrong for every text.
            if own.id is None or isinstance(error, UnknownNameError | ParameterError):
                raise
            failures.append(own)
            message = in_options(str(error))
            complain(f"{thing} {own.id}: {message}")
            yield Entry(own.text, (), own.id, message)


def _loaded(model: str | None, told: dict[str, Any]) -> Classifier:
    from limelight import load

    return load(model, **told)


def _explainer(
    classifier: Classifier,
    chosen: Sequence[str] | None,
    first: Sequence[Choice],
    alone: bool,
    target: str | None,
    arguments: dict[str, Any],
) -> Explained:
    """A function that explains one text after the other with the same model and arguments.

    `first`: the methods of which the first that applies is shown first, or `alone`; where none does, all are shown.
    """
    from rich.console import Console

    from limelight import compare
    from limelight.render.terminal.progress import progress_for

    progress = progress_for(Console(stderr=True))
    noted: set[str] = set()
    named = read_target(target, classifier.labels)

    def compared(text: Text, methods: Sequence[str] | None) -> Sequence[Explanation]:
        return compare(classifier, text, methods, target=named, progress=progress, **arguments)

    def explained(text: Text) -> tuple[Sequence[Explanation], str | None]:
        found: Sequence[Explanation] = [] if first and alone else compared(text, chosen)
        for choice in first:
            own = [explanation for explanation in found if explanation.method == choice.id]
            try:
                own = own or list(compared(text, [choice.id]))
            except (CapabilityError, UnknownNameError):  # it does not apply here, or not with these options
                continue
            return [*own, *(other for other in found if other.method != choice.id)], choice.why(own[0])
        if chosen == "all":
            _note_left_out(found, noted)
        return found or compared(text, chosen), None

    return explained


def _note_left_out(comparison: Sequence[Explanation], noted: set[str]) -> None:
    """Say which methods do not apply, once for each."""
    from limelight import methods

    shown_ids = {explanation.method for explanation in comparison}
    left_out = [method.id for method in methods() if method.id not in shown_ids and method.id not in noted]
    if left_out:
        noted.update(left_out)
        note(f"left out, because they do not apply to this model with these options: {', '.join(left_out)}")
