"""Explanations on a terminal of any width, with colours or without.

One explanation is told: the prediction, a sentence, the coloured text, the strongest words with their intervals, and
what speaks against relying on them. Several are compared: the strongest words of each method, then the text, a row per
method as in the paper's Figure 1, or once where it is long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from limelight.core.sanitize import visible
from limelight.errors import InputError
from limelight.explanation.result import Explanation
from limelight.explanation.significance import ABOUT_INTERVALS
from limelight.explanation.wording import accuracy_in_words, ending_of, notices_of
from limelight.render.numbers import diagnosis, percent, times, value
from limelight.render.palette import hue_of
from limelight.render.row_model import (
    Order,
    RowModel,
    by_family,
    group_model,
    levels_of,
    row_models,
    row_names,
    to_be_seen_once,
)
from limelight.render.sentence import sentence
from limelight.render.terminal.number_table import number_tables
from limelight.render.terminal.style import UNKNOWN, WARNING, Background, TerminalStyle
from limelight.render.terminal.text import TerminalText, fits_a_screen, rows

_LABELS_SHOWN = 6
_NO_SAMPLING = "no sampling"
_MOST, _LEAST = 5, 3
"""Words of each method where nothing else is asked for: fewer where they do not fit one line, down to the least."""
_BETWEEN = " · "
"""Between words: a comma is a word itself."""
_LONGEST = 40
"""Columns of a feature that is a passage: the whole of it stands in the text."""
_SHORTEST_BAR, _LONGEST_BAR, _BESIDE_BAR = 8, 24, 8
"""Columns of the bar of a weight, and of what must remain beside name, weight and bar."""
_NARROWEST = 6
_BESIDE_FAMILY, _BESIDE_NAME = 48, 30
"""Columns that must remain beside the names of family and method; with fewer the family goes, then the name above."""


@dataclass(frozen=True)
class Look:
    """How a reader wants it: `numbers` for a table of weights, at most `top` words of each method, in which order, on
    what background. Without an order a summary has the strongest first, and a table follows the text. `wording` puts
    what the library advises into the words of who reads it: a shell has no arguments. `told`: one explanation alone is
    told, with a sentence first, and not laid out as a comparison is."""

    numbers: bool = False
    top: int | None = None
    order: Order | None = None
    background: Background = "auto"
    wording: Callable[[str], str] = str
    told: bool = False


def render(
    comparison: Sequence[Explanation], *, console: Console, look: Look | None = None, why: str | None = None
) -> None:
    """Print a prediction and why. `why` says why this method is shown, where nobody named it; it is empty where
    that was said of another text."""
    if not len(comparison):
        raise InputError("there is no explanation to show: compare at least one method")
    look = look or Look()
    page = _Page(comparison, TerminalStyle.of(console, look.background), console.width, look, why)
    for renderable in page.parts():
        # Only Text and tables of Text come here: nothing that came from a user is ever read as markup or emoji codes.
        console.print(renderable, markup=False, emoji=False, highlight=False, overflow="fold")


@dataclass(frozen=True)
class _Page:
    """All that is printed of one text."""

    comparison: Sequence[Explanation]
    style: TerminalStyle
    width: int
    look: Look
    why: str | None = None

    def parts(self) -> Iterator[RenderableType]:
        yield self._prediction()
        for notice in notices_of(self.comparison, self.names):
            yield self._warning(notice)
        yield Text()
        yield from self._told() if self.look.told and len(self.comparison) == 1 else self._compared()
        if self.why:
            yield self._reason(self.why)

    def _told(self) -> Iterator[RenderableType]:
        """One explanation: the sentence, the text, the strongest words, what speaks against them."""
        (explanation,) = self.comparison
        yield from (self._sentence(), Text())
        if self.look.numbers:
            yield from (*self._numbers(), Text())
        else:
            yield from (TerminalText(explanation, self.style).on_paper(expand=True), Text(), *self._strongest(), Text())
        for warning in explanation.warnings:
            yield self._warning(warning)
        if not self.look.numbers:
            yield self._legend([0], place="")
        if (ending := ending_of(explanation)) is not None:
            yield Text(visible(ending), style="dim", overflow="fold")
        if self.why is None:
            yield from self._remarks()

    def _compared(self) -> Iterator[RenderableType]:
        yield from (self._question(), Text())
        yield from self._summary()
        yield Text()
        yield from self._numbers() if self.look.numbers else self._texts()
        if remarks := list(self._remarks()):
            yield from (Text(), *remarks)

    @cached_property
    def names(self) -> list[str]:
        """The name of each explanation."""
        return [self.style.plain(visible(name)) for name in row_names(self.comparison, self.style.label)]

    @cached_property
    def models(self) -> list[RowModel]:
        return row_models(self.comparison)

    def _warning(self, sentence: str) -> Text:
        return Text(f"{self.style.plain('⚠')} {visible(self.look.wording(sentence))}", style=WARNING, overflow="fold")

    # ── the prediction, and what is asked ─────────────────────────────────────────────────────────────────────────────

    def _prediction(self) -> Table:
        """The winner first; a class per line with bar, probability and logit as far as the width allows."""
        explanation, prediction = self.comparison[0], self.comparison[0].prediction
        chances, width = prediction.probabilities, self.width
        order = sorted(range(len(prediction.labels)), key=lambda c: -prediction.logits[c])
        shown = order[:_LABELS_SHOWN]
        target = prediction.labels.index(explanation.target) if explanation.target in prediction.labels else shown[0]
        if target not in shown:
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
            bold = "bold" if prediction.labels[c] in prediction.assigned else ""
            cells = [Text(visible(prediction.labels[c]), style=bold)]
            if chances is None:
                cells.append(Text(value(float(prediction.logits[c]))))
            else:
                if bar >= 8:
                    cells.append(self._bar(prediction.labels[c], float(chances[c]), bar))
                cells.append(Text(percent(float(chances[c])), style=bold))
                if width >= 36:
                    cells.append(Text(f"logit {prediction.logits[c]:+.3f}", style="dim"))
            table.add_row(*cells)
        if len(order) > len(shown):
            table.add_row(Text(f"and {len(order) - len(shown)} more", style="dim"))
        return table

    def _bar(self, label: str, probability: float, columns: int) -> Text:
        """A probability; of two labels that exclude each other each has the colour of the words that speak for it."""
        prediction, signed = self.comparison[0].prediction, next((own for own in self.comparison if own.signed), None)
        colour = Style(bold=label in prediction.assigned or None)
        if signed is not None and prediction.kind == "classes" and len(prediction.labels) == 2:
            colour = self.style.bar(hue_of(signed, 1.0 if label == signed.target else -1.0)) + colour
        full = round(probability * columns)
        track = (self.style.plain("─") * (columns - full), "dim")
        return Text.assemble((self.style.plain("━") * full, colour), track)

    def _question(self) -> Text:
        """The question that is answered."""
        first, prediction = self.comparison[0], self.comparison[0].prediction
        moves = prediction.kind == "regression"
        text = Text()
        if len({explanation.target for explanation in self.comparison}) > 1:
            text.append("What moves each number? " if moves else "Why each label? ")
        else:
            text.append("What moves " if moves else "Why ").append(visible(first.target), style="bold")
            if first.against is not None:
                text.append(" rather than ").append(visible(first.against), style="bold")
            text.append("? ")
            if not moves and first.target not in prediction.assigned:
                said = ", ".join(prediction.assigned) or "none of its labels"
                text.append(f"(The model says {visible(said)}.) ")
        sampled = any(explanation.stderr is not None for explanation in self.comparison)
        interval = self.style.plain(", weight ± interval") if sampled else ", with their weights"
        return text.append(f"The strongest {self.models[0].thing}s{interval}:")

    def _reason(self, why: str) -> Text:
        """Why this method is shown, and what it cost where it sampled."""
        first = self.comparison[0]
        asked = (
            f" (sampled, asked the model {times(first.evaluations)})"
            if first.stderr is not None and first.evaluations
            else ""
        )
        name = visible(self.style.label(first))
        return Text.assemble((name, "bold"), self.style.plain(f"{asked}: {visible(why)}"), style="dim", overflow="fold")

    # ── one explanation ───────────────────────────────────────────────────────────────────────────────────────────────

    def _sentence(self) -> Text:
        """The label and the words that decide it, each as it is drawn in the text."""
        model, text = self.models[0], Text(overflow="fold")
        for part in sentence(self.comparison[0]):
            if part.feature is None:
                text.append(part.text, style="bold" if part.is_label else "")
            else:
                mark = "" if self.style.system else "*"
                colour = self.style.paper + self.style.word(model.shades[part.feature])
                text.append(f"{mark}{part.text}{mark}", style=colour)
        return text.append(".")

    def _strongest(self) -> Iterator[RenderableType]:
        """The strongest significant words, one on each line with weight, interval and a bar."""
        (explanation,), top = self.comparison, _MOST if self.look.top is None else self.look.top
        interval = "" if explanation.stderr is None else self.style.plain(", weight ± interval")
        for level in levels_of(explanation):
            chosen = level.ordered(self.look.order or "weight", top, only_significant=True)
            if not chosen:
                continue
            yield Text.assemble((f"The strongest {level.thing}s{interval}", "dim"))
            table = Table.grid(padding=(0, 2, 0, 0))
            table.add_column(no_wrap=True, overflow="ellipsis", max_width=max(self.width // 2, _NARROWEST))
            table.add_column(no_wrap=True, overflow="ellipsis")
            longest = max(cell_len(level.written(j)) for j in chosen) + max(cell_len(level.names[j]) for j in chosen)
            bar = min(self.width - min(longest, self.width) - _BESIDE_BAR, _LONGEST_BAR)
            largest = max(abs(float(level.weights.weights[j])) for j in chosen)
            for j in chosen:
                weight = float(level.weights.weights[j])
                colour = self.style.paper + self.style.word(level.shades[j])
                name = Text.assemble((level.names[j] + self.style.mark(level, j), colour))
                cells = [name, Text(self.style.plain(level.written(j)))]
                if bar >= _SHORTEST_BAR and not explanation.stated.barely_moves:
                    columns = max(round(abs(weight) / largest * bar), 1)
                    cells.append(Text(self.style.plain("━") * columns, self.style.bar(level.shades[j].hue)))
                table.add_row(*cells)
            yield table

    # ── the summary ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _summary(self) -> Iterator[RenderableType]:
        """A row per method, kin below each other: its strongest words with weight and interval, then the verdict."""
        families = by_family(self.comparison)
        # Where each family has one member, its name says nothing that the member's does not.
        named = 1 < len(families) < len(self.comparison) and len({own.target for own in self.comparison}) == 1
        first = max(map(cell_len, families)) if named else 0
        second = min(max(map(cell_len, self.names)), max(self.width // 3, 6))
        if self.width - first - second - 4 < _BESIDE_FAMILY:
            first = 0
        beside = (first + 2 if first else 0) + second + 2
        above = self.width - beside < _BESIDE_NAME
        table = Table.grid(padding=(0, 2, 0, 0))
        if first:
            table.add_column(no_wrap=True, width=first)
        table.add_column(no_wrap=True, width=second, overflow="ellipsis")
        table.add_column(overflow="fold", width=self.width - beside)
        for family, own in families.items():
            for i in own:
                name = Text(self.names[i], style="bold", overflow="fold" if above else None)
                found = Group(*self._found(self.comparison[i], self.width - (2 if above else beside)))
                if above:
                    yield from (name, Padding(found, (0, 0, 0, 2)))
                else:
                    kin = [Text(visible(family) if i == own[0] else "", style="dim")] if first else []
                    table.add_row(*kin, name, found)
        if not above:
            yield table

    def _found(self, explanation: Explanation, width: int) -> Iterator[Text]:
        """The strongest significant words of one method, how its run ended, and what speaks against it."""
        levels, top = levels_of(explanation), self.look.top
        for level in levels:
            chosen = level.ordered(self.look.order or "weight", _MOST if top is None else top, only_significant=True)
            yield from self._lines([self._item(level, j, width) for j in chosen], width, one=top is None)
        if not any(level.significant.any() for level in levels):
            yield Text(levels[-1].none_significant)
        if (ending := ending_of(explanation)) is not None:
            yield Text(visible(ending), style="dim", overflow="fold")
        yield from map(self._warning, explanation.warnings)

    def _item(self, level: RowModel, j: int, width: int) -> Text:
        mark, written = self.style.mark(level, j), self.style.plain(level.written(j))
        room = max(min(_LONGEST, width - cell_len(written) - len(mark) - 1), 6)
        colour = self.style.paper + self.style.word(level.shades[j])
        return Text.assemble((self.style.shortened(level.names[j], room) + mark, colour), " ", written)

    def _lines(self, items: Sequence[Text], width: int, *, one: bool) -> Iterator[Text]:
        """Items, none of which is broken that fits a line. With `one`, a line is enough if it holds a few."""
        between, lines, room = self.style.plain(_BETWEEN), [list[Text]()], width
        for item in items:
            if lines[-1] and item.cell_len > room:
                lines.append([])
                room = width
            lines[-1].append(item)
            room -= item.cell_len + len(between)
        shown = max(len(lines[0]), min(_LEAST, len(items))) if one else len(items)
        for line in lines:
            if own := line[: max(shown, 0)]:
                yield Text(between, overflow="fold").join(own)
            shown -= len(line)

    # ── the text, or the numbers ──────────────────────────────────────────────────────────────────────────────────────

    def _texts(self) -> Iterator[RenderableType]:
        texts = [TerminalText(own, self.style, words) for own, words in zip(self.comparison, self.models, strict=True)]
        if len(texts) == 1 or fits_a_screen(texts, self.width - max(map(len, self.names)) - 2):
            yield from (self._legend(range(len(texts))), Text())
            yield from rows(self.names, texts, self.width)
            return
        i = to_be_seen_once(self.comparison)
        yield from (self._legend([i]), Text())
        yield Text.assemble("The text by ", (self.names[i], "bold"), f" ({accuracy_in_words(self.comparison[i])}):")
        yield texts[i].on_paper(expand=True)
        yield Text("The text is long and shown once: --method names another, --numbers gives all weights.", style="dim")

    def _legend(self, shown: Sequence[int], place: str = " in its row") -> Text:
        explanations, models = [self.comparison[i] for i in shown], [self.models[i] for i in shown]
        system = self.style.system
        text = self.style.legend(explanations, place)
        if not all(model.significant.all() for model in models):
            small = "" if system in ("truecolor", "256") else "is weaker, or "
            thing = f"A {models[0].thing} without {'colour' if system else 'marks'}"
            text.append(f" {thing} {small}is not distinguishable from 0.")
        if any(explanation.stderr is not None for explanation in explanations):
            about = ABOUT_INTERVALS if system else ABOUT_INTERVALS.replace("coloured", "marked")
            text.append(f" {self.style.plain(about)}.")
        return self._with_unknown(text, models)

    def _with_unknown(self, text: Text, models: Sequence[RowModel]) -> Text:
        if any(model.unknown for model in models):
            text.append(f" {self.style.plain(UNKNOWN)} the model does not know it.")
        return text

    def _numbers(self) -> Iterator[RenderableType]:
        best, order = to_be_seen_once(self.comparison), self.look.order or "text"
        yield self._how_to_read(self.names[best] if order != "text" or self.look.top is not None else None)
        for found in ([group_model(explanation) for explanation in self.comparison], self.models):
            first = found[best]
            if first is None:
                continue
            named = [(name, own) for name, own in zip(self.names, found, strict=True) if own is not None]
            alike = [(name, own) for name, own in named if own.weights.features == first.weights.features]
            yield Text()
            yield from number_tables(alike, first.ordered(order, self.look.top), first.thing, self.style, self.width)

    def _how_to_read(self, by: str | None) -> Text:
        text = Text()
        if any(explanation.signed for explanation in self.comparison):
            for_, against = "speak for it", "against it"
            if self.comparison[0].prediction.kind == "regression":
                for_, against = "raise it", "lower it"
            text.append(f"Positive weights {for_}, negative ones {against}. ")
        if not all(model.significant.all() for model in self.models):
            text.append("(In brackets: not distinguishable from 0.)")
        if by is not None:
            text.append(f" The strongest are those of {by}.")
        return self._with_unknown(text, self.models)

    # ── what methods say of themselves ────────────────────────────────────────────────────────────────────────────────

    def _remarks(self) -> Iterator[Text]:
        """How each was computed, those alike together, and how often the model was asked."""
        said: dict[str, list[int]] = {}
        for i, explanation in enumerate(self.comparison):
            said.setdefault(_how(explanation), []).append(i)
        for how, alike in said.items():
            # An error bound that differs from method to method would be a line for each: the largest holds for all.
            loosest = max((self.comparison[i] for i in alike), key=lambda own: own.stated.numerical_error)
            remark = accuracy_in_words(loosest) if how == _NO_SAMPLING else how
            own_names = ", ".join(self.names[i] for i in alike)
            yield Text.assemble((f"{own_names}: ", "bold"), (self.style.plain(visible(remark)), "dim"))
        asked = [
            Text.assemble((name, "bold"), (f" {times(explanation.evaluations)}", "dim"))
            for name, explanation in zip(self.names, self.comparison, strict=True)
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
