"""Explanations on a terminal of any width, with colours or without.

First what a reader needs first: the prediction, the strongest words of each method with their intervals, and what
speaks against relying on them. Then the text, a row per method as in the paper's Figure 1, or once where it is long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from limelight.core.sanitize import visible
from limelight.errors import InputError
from limelight.explanation.result import Explanation, Prediction
from limelight.explanation.significance import (
    ABOUT_INTERVALS,
    accuracy_in_words,
    notices_of,
    rounding_of,
    unknown_words,
)
from limelight.render.numbers import diagnosis, percent, times, value
from limelight.render.palette import hue_of
from limelight.render.row_model import Order, drawn, drawn_groups, to_be_seen_once
from limelight.render.terminal.number_table import number_tables
from limelight.render.terminal.style import UNKNOWN, WARNING, Background, Ink
from limelight.render.terminal.summary import row_names, summary
from limelight.render.terminal.text import ColouredText, fits_a_screen, rows

_LABELS_SHOWN = 6
_NO_SAMPLING = "no sampling"


@dataclass(frozen=True)
class Look:
    """How a reader wants it: `numbers` for a table of weights, at most `top` words of each method, in which order, on
    what background. Without an order a summary has the strongest first, and a table follows the text. `wording` puts
    what the library advises into the words of who reads it: a shell has no arguments."""

    numbers: bool = False
    top: int | None = None
    order: Order | None = None
    background: Background = "auto"
    wording: Callable[[str], str] = str


def render(comparison: Sequence[Explanation], *, console: Console, look: Look | None = None) -> None:
    """Print a prediction and why."""
    if not len(comparison):
        raise InputError("there is no explanation to show: compare at least one method")
    look = look or Look()
    ink, width = Ink.of(console, look.background), console.width
    _print(console, _prediction(comparison, ink, width))
    for notice in notices_of(comparison, row_names(comparison, ink)):
        _print(console, Text(f"{ink.plain('⚠')} {visible(look.wording(notice))}", style=WARNING))
    _print(console, Text(), _question(comparison, ink), Text())
    _print(console, *summary(comparison, ink, width, look.top, look.order or "weight", look.wording), Text())
    _print(console, *(_numbers if look.numbers else _texts)(comparison, ink, width, look))
    if remarks := list(_remarks(comparison, ink)):
        _print(console, Text(), *remarks)


def _print(console: Console, *renderables: RenderableType) -> None:
    for renderable in renderables:
        # Only Text and tables of Text come here: nothing that came from a user is ever read as markup or emoji codes.
        console.print(renderable, markup=False, emoji=False, highlight=False, overflow="fold")


# ── the prediction, and what is asked ─────────────────────────────────────────────────────────────────────────────────


def _prediction(comparison: Sequence[Explanation], ink: Ink, width: int) -> RenderableType:
    """The winner first; a class per line with bar, probability and logit as far as the width allows."""
    explanation, prediction = comparison[0], comparison[0].prediction
    chances = prediction.probabilities
    order = sorted(range(len(prediction.labels)), key=lambda c: -prediction.logits[c])
    shown = order[:_LABELS_SHOWN]
    target = prediction.labels.index(explanation.target) if explanation.target in prediction.labels else None
    if target is not None and target not in shown:
        shown[-1] = target
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(overflow="ellipsis", no_wrap=True, max_width=max(width - 22, 8))
    bar = 0 if chances is None else max(min(width - 52, 24), 0)
    if bar >= 8:
        table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    if width >= 36 and chances is not None:
        table.add_column(justify="right", no_wrap=True)
    for c in shown:
        wins = prediction.labels[c] in prediction.assigned
        cells = [Text(visible(prediction.labels[c]), style="bold" if wins else "")]
        if chances is None:
            table.add_row(*cells, Text(value(float(prediction.logits[c]))))
            continue
        probability = float(chances[c])
        if bar >= 8:
            full = round(probability * bar)
            track = (ink.plain("─") * (bar - full), "dim")
            style = _label_colour(comparison, prediction.labels[c], ink) + Style(bold=wins or None)
            cells.append(Text.assemble((ink.plain("━") * full, style), track))
        cells.append(Text(percent(probability), style="bold" if wins else ""))
        if width >= 36:
            cells.append(Text(f"logit {prediction.logits[c]:+.3f}", style="dim"))
        table.add_row(*cells)
    if len(order) > len(shown):
        table.add_row(Text(f"and {len(order) - len(shown)} more", style="dim"))
    return table


def _label_colour(comparison: Sequence[Explanation], label: str, ink: Ink) -> Style:
    """Of two labels that exclude each other each has the colour of the words that speak for it."""
    prediction, signed = comparison[0].prediction, next((own for own in comparison if own.signed), None)
    if signed is None or prediction.kind != "classes" or len(prediction.labels) != 2:
        return Style.null()
    return ink.bar(hue_of(signed, 1.0 if label == signed.target else -1.0))


def _question(comparison: Sequence[Explanation], ink: Ink) -> Text:
    """What is being explained."""
    first, prediction = comparison[0], comparison[0].prediction
    text = Text()
    if len({explanation.target for explanation in comparison}) > 1:
        text.append("Why each label? " if prediction.kind != "regression" else "What moves each number? ")
    else:
        text.append("What moves " if prediction.kind == "regression" else "Why ")
        text.append(visible(first.target), style="bold")
        if first.against is not None:
            text.append(" rather than ").append(visible(first.against), style="bold")
        text.append("? ")
        if prediction.kind != "regression" and first.target not in prediction.assigned:
            text.append(f"(The model says {visible(_said(prediction))}.) ")
    sampled = any(explanation.stderr is not None for explanation in comparison)
    interval = ink.plain(", weight ± interval") if sampled else ", with their weights"
    thing = drawn(first).thing
    return text.append(f"The strongest {thing}s{interval}:")


def _said(prediction: Prediction) -> str:
    return ", ".join(prediction.assigned) or "none of its labels"


# ── the text, or the numbers ──────────────────────────────────────────────────────────────────────────────────────────


def _texts(comparison: Sequence[Explanation], ink: Ink, width: int, look: Look) -> Iterator[RenderableType]:
    texts = [ColouredText(explanation, ink) for explanation in comparison]
    names = row_names(comparison, ink)
    if len(comparison) == 1 or fits_a_screen(texts, width - max(map(len, names)) - 2):
        yield _legend(comparison, ink)
        yield Text()
        yield from rows(names, texts, width)
        return
    i = to_be_seen_once(comparison)
    yield _legend([comparison[i]], ink)
    yield Text()
    yield Text.assemble("The text by ", (names[i], "bold"), f" ({accuracy_in_words(comparison[i])}):")
    yield texts[i].on_paper(expand=True)
    yield Text("The text is long and shown once: --method names another, --numbers gives all weights.", style="dim")


def _legend(comparison: Sequence[Explanation], ink: Ink) -> Text:
    levels = [drawn(explanation) for explanation in comparison]
    text = ink.legend(comparison)
    if not all(level.told.all() for level in levels):
        small = "" if ink.system in ("truecolor", "256") else "is weaker, or "
        text.append(f" A {levels[0].thing} without {'colour' if ink.system else 'marks'} {small}is not told from 0.")
    if any(explanation.stderr is not None for explanation in comparison):
        text.append(f" {ink.plain(ABOUT_INTERVALS if ink.system else ABOUT_INTERVALS.replace('coloured', 'marked'))}.")
    return _with_unknown(text, comparison, ink)


def _with_unknown(text: Text, comparison: Sequence[Explanation], ink: Ink) -> Text:
    if any(unknown_words(explanation) for explanation in comparison):
        text.append(f" {ink.plain(UNKNOWN)} the model does not know it.")
    return text


def _numbers(comparison: Sequence[Explanation], ink: Ink, width: int, look: Look) -> Iterator[RenderableType]:
    names, best = row_names(comparison, ink), to_be_seen_once(comparison)
    order = look.order or "text"
    yield _how_to_read(comparison, names[best] if order != "text" or look.top is not None else None, ink)
    for level_of in (drawn_groups, drawn):
        first = level_of(comparison[best])
        if first is None:
            continue
        columns = [(name, level_of(explanation)) for name, explanation in zip(names, comparison, strict=True)]
        alike = [(n, own) for n, own in columns if own is not None and own.weights.features == first.weights.features]
        yield Text()
        chosen = first.ordered(order, look.top)
        yield from number_tables([own for _, own in alike], [n for n, _ in alike], chosen, first.thing, ink, width)


def _how_to_read(comparison: Sequence[Explanation], by: str | None, ink: Ink) -> Text:
    text = Text()
    if any(explanation.signed for explanation in comparison):
        regression = comparison[0].prediction.kind == "regression"
        text.append(
            "Positive weights raise it, negative ones lower it. "
            if regression
            else "Positive weights speak for it, negative ones against it. "
        )
    if not all(drawn(explanation).told.all() for explanation in comparison):
        text.append("(In brackets: not told from 0.)")
    if by is not None:
        text.append(f" The strongest are those of {by}.")
    return _with_unknown(text, comparison, ink)


# ── what methods say of themselves ────────────────────────────────────────────────────────────────────────────────────


def _remarks(comparison: Sequence[Explanation], ink: Ink) -> Iterator[Text]:
    """How each was computed, those alike together, and how often the model was asked."""
    names = row_names(comparison, ink)
    said: dict[str, list[int]] = {}
    for i, explanation in enumerate(comparison):
        said.setdefault(_how(explanation), []).append(i)
    for how, alike in said.items():
        # An error bound that differs from method to method would be a line for each: the largest holds for all.
        loosest = max((comparison[i] for i in alike), key=rounding_of)
        remark = accuracy_in_words(loosest) if how == _NO_SAMPLING else how
        own_names = ", ".join(names[i] for i in alike)
        yield Text.assemble((f"{own_names}: ", "bold"), (ink.plain(visible(remark)), "dim"))
    asked = [
        Text.assemble((name, "bold"), (f" {times(explanation.evaluations)}", "dim"))
        for name, explanation in zip(names, comparison, strict=True)
        if explanation.evaluations
    ]
    if asked:
        yield Text.assemble(("The model was asked: ", "dim"), Text(", ").join(asked))


def _how(explanation: Explanation) -> str:
    own, accuracy = diagnosis(explanation), explanation.accuracy
    if accuracy == "sampled":
        return own or accuracy
    if own is None and accuracy != "approximate":
        return _NO_SAMPLING
    return " · ".join(filter(None, (accuracy_in_words(explanation), own)))
