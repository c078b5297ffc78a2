"""Explanations on a terminal of any width, with colours or without: one row per method, as in the paper's Figure 1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from limelight.errors import InputError
from limelight.explanation import Explanation
from limelight.show.colour import levels
from limelight.show.ink import Ink
from limelight.show.number_table import number_tables
from limelight.show.numbers import Digits, diagnosis, percent, said_of_winner, times
from limelight.show.pieces import BREAK, CUT, SPACE, pieces, without_tail
from limelight.show.visible import visible

_LABELS_SHOWN = 6
_LONG_TEXT = 60
"""Features from which the rows no longer fit one screen: what matters most is repeated at the end, where it is seen."""
_STRONGEST = 5
_BESIDE = 24
"""Columns of text that must remain beside a method's name; with fewer the name goes above."""


def render(comparison: Sequence[Explanation], *, console: Console, numbers: bool = False) -> None:
    """Print a prediction and why: rows of highlighted words, or with `numbers` a table of weights."""
    if not len(comparison):
        raise InputError("there is no explanation to show: compare at least one method")
    ink = Ink.of(console)
    first = comparison[0]
    _print(console, _prediction(first, ink, console.width))
    for notice in dict.fromkeys(notice for explanation in comparison for notice in explanation.notices):
        _print(console, Text(f"{ink.plain('⚠')} {visible(notice)}", style="bold yellow"))
    _print(console, _question(first, ink, numbers), Text())
    if numbers:
        _print(console, *number_tables(comparison, ink, console.width))
    else:
        _print(console, *_rows(comparison, ink, console.width))
    remarks = list(_remarks(comparison, ink))
    if not numbers and len(first) > _LONG_TEXT:
        _print(console, Text(), *_summary(comparison, ink, console.width))
    if remarks:
        _print(console, Text(), *remarks)


def _print(console: Console, *renderables: RenderableType) -> None:
    for renderable in renderables:
        # Only Text and tables of Text come here: nothing that came from a user is ever read as markup or emoji codes.
        console.print(renderable, markup=False, emoji=False, highlight=False, overflow="fold")


def _prediction(explanation: Explanation, ink: Ink, width: int) -> RenderableType:
    """The winner first; a class per line with bar, probability and logit as far as the width allows."""
    prediction = explanation.prediction
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
            table.add_row(*cells, Text(f"{prediction.logits[c]:.4g}"))
            continue
        probability = float(chances[c])
        if bar >= 8:
            full = round(probability * bar)
            track = (ink.plain("─") * (bar - full), "dim")
            cells.append(Text.assemble((ink.plain("━") * full, "bold" if wins else ""), track))
        cells.append(Text(percent(probability), style="bold" if wins else ""))
        if width >= 36:
            cells.append(Text(f"logit {prediction.logits[c]:+.3f}", style="dim"))
        table.add_row(*cells)
    if len(order) > len(shown):
        table.add_row(Text(f"and {len(order) - len(shown)} more", style="dim"))
    return table


def _question(explanation: Explanation, ink: Ink, numbers: bool) -> Text:
    """What is being explained, and how to read it."""
    target = visible(explanation.target)
    text = Text()
    text.append("Why ").append(target, style="bold")
    if explanation.against is not None:
        text.append(" rather than ").append(visible(explanation.against), style="bold")
    text.append("? ")
    if explanation.target != explanation.prediction.label:
        text.append(f"(The model says {visible(explanation.prediction.label)}.) ")
    reading = "Positive weights speak for it, negative ones against it." if numbers else ink.legend
    return text.append(reading, style="dim")


def _rows(comparison: Sequence[Explanation], ink: Ink, width: int) -> Iterator[RenderableType]:
    names = [_name(explanation, ink) for explanation in comparison]
    texts = [_highlighted(explanation, ink) for explanation in comparison]
    beside = max(name.cell_len for name in names) + 2
    stacked = width - beside < _BESIDE
    if stacked:
        for i, (name, text) in enumerate(zip(names, texts, strict=True)):
            if i:
                yield Text()
            yield name
            yield Padding(text, 0, style=ink.paper)
        return
    table = Table.grid(padding=0)
    table.add_column(no_wrap=True, width=beside)
    table.add_column(overflow="fold")
    wraps = any(text.cell_len > width - beside for text in texts)
    for i, (name, text) in enumerate(zip(names, texts, strict=True)):
        if i and wraps:  # texts of several lines need air between them; short ones stand closer, as in the figure
            table.add_row()
        table.add_row(name, Padding(text, 0, style=ink.paper, expand=wraps))
    yield table


def _name(explanation: Explanation, ink: Ink) -> Text:
    return Text(ink.label(explanation), style="bold", overflow="ellipsis")


def _highlighted(explanation: Explanation, ink: Ink) -> Text:
    """The whole text with its words coloured or marked; what is not a feature stays dim."""
    text = Text(overflow="fold")
    level = levels(explanation.weights)
    for piece in without_tail(pieces(explanation.joined_text, explanation.joined_spans)):
        if piece.text == BREAK and piece.feature is None:
            text.append(f"{SPACE if text else ''}{ink.plain('⏎')} ", style="dim")
        elif piece.feature is None:
            text.append(
                ink.plain(piece.text) if piece.text == CUT else piece.text, style="" if piece.text == SPACE else "dim"
            )
        else:
            before, after = ink.marks(level[piece.feature])
            text.append(f"{before}{piece.text}{after}", style=ink.word(level[piece.feature]))
    text.rstrip()
    return text


def _summary(comparison: Sequence[Explanation], ink: Ink, width: int) -> Iterator[RenderableType]:
    """The strongest words of each method and the verdict again, for whoever sees only the end of a long output."""
    prediction = comparison[0].prediction
    yield Text.assemble(
        "The model says ", (visible(prediction.label), "bold"), f" ({said_of_winner(prediction)}). Strongest words:"
    )
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, max_width=max(width // 3, 6))
    table.add_column(overflow="fold")
    for explanation in comparison:
        table.add_row(_name(explanation, ink), _strongest(explanation, ink))
    yield table


def _strongest(explanation: Explanation, ink: Ink) -> Text:
    order = np.argsort(-np.abs(explanation.weights), kind="stable")[:_STRONGEST]
    digits, level = Digits.of(explanation), levels(explanation.weights)
    words = [
        Text.assemble(
            (visible(explanation.features[j]), ink.word(level[j])), f" {digits.write(float(explanation.weights[j]))}"
        )
        for j in order
    ]
    return Text(", ").join(words)


def _remarks(comparison: Sequence[Explanation], ink: Ink) -> Iterator[Text]:
    unsigned = [_name(explanation, ink) for explanation in comparison if not explanation.signed]
    if unsigned:
        yield Text.assemble(
            Text(", ").join(unsigned), (": without sign, how much a word matters for either side", "dim")
        )
    for explanation in comparison:
        said = diagnosis(explanation)
        if said:
            yield Text.assemble(_name(explanation, ink), (": ", "bold"), (ink.plain(visible(said)), "dim"))
    asked = [
        Text.assemble(_name(explanation, ink), (f" {times(explanation.evaluations)}", "dim"))
        for explanation in comparison
        if explanation.evaluations
    ]
    if asked:
        yield Text.assemble(("The model was asked: ", "dim"), Text(", ").join(asked))
