"""One text in HTML: what the model says, how far each explanation can be trusted, its strongest words, and the rest.

The same for a page and for a notebook. Nothing here needs a stylesheet or a script to be read: hosts strip both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from limelight.explanation.result import Explanation, Prediction
from limelight.explanation.significance import ABOUT_INTERVALS
from limelight.explanation.units import together, unit_of
from limelight.explanation.wording import (
    accuracy_briefly,
    accuracy_in_words,
    asked_in_words,
    contrast_in_words,
    ending_of,
    notices_of,
)
from limelight.render.html.escaping import isolated, number, safe, shortened
from limelight.render.html.text import HtmlText, coloured
from limelight.render.numbers import diagnosis, percent, said_of_winner, short, times
from limelight.render.palette import LEVELS, Shade, hue_of, legend
from limelight.render.pieces import order_of, unread
from limelight.render.row_model import LONG_TEXT, Order, RowModel, by_family, row_models, to_be_seen_once
from limelight.render.sentence import Part, sentence

_BETWEEN = '<i class="between"> · </i>'
"""Between entries, for hosts that strip the stylesheet which sets them apart."""
_LABELS_SHOWN = 10
_LONGEST_NAME = 60
"""Characters of a feature where many stand together: sentences are whole in the text and in the table."""


@dataclass(frozen=True)
class Setting:
    """Place of an article: a page of its own (`level` of its first heading), or somebody else's notebook.

    A notebook's own headings are its table of contents: a fragment adds none to it, and has its colours at the words.
    `top` words of each method are listed as its strongest, in this `order`; the table has all words and can be sorted.
    """

    level: int | None
    top: int = 5
    order: Order = "weight"

    def heading(self, depth: int, content: str, name: str = "") -> str:
        element = "p" if self.level is None else f"h{min(self.level + depth, 6)}"
        inner = f"<strong>{content}</strong>" if self.level is None and depth else content  # the sentence has its own
        return f'<{element} class="t{depth}{" " + name if name else ""}">{inner}</{element}>'


def article(explanations: Sequence[Explanation], setting: Setting, why: str | None = None) -> Iterator[str]:
    """All explanations of one text: a sentence, then the text, then how each method explains it.

    `why` says why the first method is shown first, where it was chosen.
    """
    first = explanations if why is None else [own for own in explanations if own.method == explanations[0].method]
    yield setting.heading(0, _sentence(first[to_be_seen_once(first)], setting))
    yield from _prediction(explanations)
    for notice in notices_of(explanations, _names(explanations)):
        yield f'<p class="notice">{safe(notice)}</p>'
    asked = [
        list(own) for _, own in groupby(explanations, key=lambda e: (e.target, e.against, e.features, e.spans, e.sides))
    ]
    for members in sorted(asked, key=lambda own: own[0].target != own[0].prediction.label):
        yield from _asked(members, setting, why, alone=len(asked) == 1)
    yield from _facts(explanations)


def _sentence(explanation: Explanation, setting: Setting) -> str:
    """The plain sentence, its words in their colours."""
    own = HtmlText.of(explanation, inline=setting.level is None, aligned=True)
    return "".join(_part(part, own) for part in sentence(explanation))


def _part(part: Part, own: HtmlText) -> str:
    if part.is_label:
        return f"<strong>{isolated(part.text)}</strong>"
    return safe(part.text) if part.feature is None else f"<bdi>{own.feature(part.text, part.feature)}</bdi>"


def headline(prediction: Prediction) -> str:
    """The prediction in a few words, ready for HTML."""
    if prediction.kind == "multi-label":
        return ", ".join(map(isolated, prediction.assigned)) or "none of the labels"
    return f"{isolated(prediction.label)} · {safe(said_of_winner(prediction))}"


def _prediction(explanations: Sequence[Explanation]) -> Iterator[str]:
    prediction = explanations[0].prediction
    chances = prediction.probabilities
    order = sorted(range(len(prediction.labels)), key=lambda c: -prediction.logits[c])
    if chances is None and len(order) == 1:
        return
    yield '<ul class="classes">'
    shown = order[:_LABELS_SHOWN]
    # What is explained is always there, however unlikely it is.
    asked = {name for e in explanations[:_LABELS_SHOWN] for name in (e.target, e.against)}
    missing = [c for c in order[_LABELS_SHOWN:] if prediction.labels[c] in asked]
    shown = [*shown[: len(shown) - len(missing)], *missing]
    for c in shown:
        label = prediction.labels[c]
        first = ' class="first"' if label in prediction.assigned else ""
        logit = number(f"{float(prediction.logits[c]):+.3f}")
        if chances is None:
            yield f"<li><span{first}>{isolated(label)}</span> <span>{logit}</span></li>"
            continue
        probability = float(chances[c])
        yield (
            f"<li><span{first}>{isolated(label)}</span> "
            f'<span class="bar"><span style="width:{100 * probability:.1f}%"></span></span>'
            f"<span{first}>{safe(percent(probability))}</span> "
            f'<span class="quiet logit">logit {logit}</span></li>'
        )
    yield "</ul>"
    if len(order) > len(shown):
        yield f'<p class="quiet">and {len(order) - len(shown)} more labels</p>'


def _asked(explanations: Sequence[Explanation], setting: Setting, why: str | None, *, alone: bool) -> Iterator[str]:
    """One question about the text, and what each method answers."""
    first, chosen = explanations[0], to_be_seen_once(explanations) if why is None else 0
    order = order_of(first)
    inline = setting.level is None
    is_long = len(order) > LONG_TEXT
    drawn = [
        HtmlText.of(explanation, inline=inline, aligned=not is_long, words=words)
        for explanation, words in zip(explanations, row_models(explanations), strict=True)
    ]
    yield '<div class="asked">'
    yield setting.heading(1, f"Why {isolated(asked_in_words(first))}?", "question")
    if not alone:
        yield f'<p class="lead">{_sentence(explanations[chosen], setting)}</p>'
    if (contrast := contrast_in_words(first)) is not None:
        yield f'<p class="quiet">{safe(contrast[0].upper() + contrast[1:])}</p>'
    yield from _warnings(explanations[chosen])
    given = "" if order == list(range(len(first))) else f' data-order="{" ".join(map(str, order))}"'
    yield f'<div class="rows leading"{given}>'
    yield text_row(drawn[chosen], chosen, "see above")
    if why is not None:
        yield f'<p class="quiet">{isolated(first.method_label)}: {safe(why)}</p>'
    if len(drawn) > 1:
        yield f"<details><summary>The text by {_counted(len(drawn) - 1, 'other method')}</summary>"
        yield from (text_row(own, m) for m, own in enumerate(drawn) if m != chosen)
        yield "</details>"
    yield "</div>"
    entries = (f"<span>{entry}</span>" for entry in _legend(drawn, inline=inline))
    yield f'<p class="legend quiet">{_BETWEEN.join(entries)}</p>'
    yield setting.heading(2, f"The strongest {drawn[0].words.thing}s" + " of each method" * (len(drawn) > 1))
    yield from _strongest(drawn, chosen, setting)
    if rest := unread(first):
        yield f'<details><summary>What was not read</summary><p class="x" dir="auto">{safe(rest)}</p></details>'
    yield from _numbers("Weights as numbers", "numbers", [(own.explanation, own.words) for own in drawn])
    if outer := [(own.explanation, own.groups) for own in drawn if own.groups is not None]:
        yield from _numbers(f"Weights of each {outer[0][1].thing} as numbers", "outer", outer)
    yield "</div>"


def _strongest(drawn: Sequence[HtmlText], chosen: int, setting: Setting) -> Iterator[str]:
    """Per method how it was computed, its strongest words, and the verdict in plain words; kin below each other.

    The verdict of the chosen one stands before the text."""
    left = ' style="text-align:left"' if drawn[0].inline else ""  # hosts that strip the stylesheet set cells right
    yield '<div class="scroll"><table class="strongest"><tbody>'
    for family in by_family([own.explanation for own in drawn]).values():
        for m in family:
            explanation = drawn[m].explanation
            words = _BETWEEN.join(f"<span>{entry}</span>" for entry in _strongest_words(drawn[m], setting))
            ending = ending_of(explanation)
            ended = "" if ending is None else f'<div class="quiet">{safe(ending)}</div>'
            verdict = "" if m == chosen else "".join(_warnings(explanation))
            sign = "" if explanation.signed else ", no sign"
            computed = f'<small class="quiet">{safe(accuracy_briefly(explanation))}{sign}</small>'
            name = f"<strong>{isolated(explanation.method_label)}</strong> {computed}"
            yield f'<tr data-m="{m}"><th{left}>{name}</th><td{left}>{words}{ended}{verdict}</td></tr>'
    yield "</tbody></table></div>"


def _warnings(explanation: Explanation) -> Iterator[str]:
    yield from (f'<p class="warning">⚠ {safe(warning)}</p>' for warning in explanation.warnings)


def _strongest_words(own: HtmlText, setting: Setting) -> Iterator[str]:
    """The strongest words as markup; those of the outer level first, where there are two."""
    levels = [*([] if own.groups is None else [own.groups]), own.words]
    if not any(level.significant.any() for level in levels):
        yield own.words.none_significant
    for level in levels:
        names = level.names
        for j in level.ordered(setting.order, setting.top, only_significant=True):
            name = coloured(shortened(names[j], _LONGEST_NAME), level.shades[j], inline=own.inline)
            yield f"<bdi>{name}</bdi> {number(level.written(j))}"
        if (more := int(level.significant.sum()) - setting.top) > 0:
            rest = f"and {more} more of {_counted(len(level), level.thing)}"
            yield f'<small class="quiet">{rest}</small>'


def _legend(drawn: Sequence[HtmlText], *, inline: bool) -> Iterator[str]:
    """True for what is shown: only what occurs is named."""
    explanations = [own.explanation for own in drawn]
    sampled = any(explanation.stderr is not None for explanation in explanations)
    for hue, meaning in legend(explanations):
        steps = range(LEVELS // 4, LEVELS + 1, LEVELS // 4)
        swatch = "".join(coloured("\u2002", Shade(hue, step), inline=inline) for step in steps)
        yield f"{swatch} {isolated(meaning)}{' (underlined unless faint)' if hue == 'orange' else ''}"
    units = [unit for explanation in explanations if (unit := unit_of(explanation)) is not None]
    shared = "; rows of one unit share one scale" if len(set(units)) < len(units) else " within its row"
    yield f"the deeper, the larger{shared}"
    if any(not own.words.significant.all() for own in drawn):
        noise = " (of the coloured words of a sampled row at most 5 % are expected to be noise)" if sampled else ""
        yield f"without colour: not distinguishable from 0{noise}"
    if any(own.words.unknown for own in drawn):
        yield '<span class="u">dotted</span>: the model does not know the word'
    if sampled:
        yield ABOUT_INTERVALS
    if outputs := dict.fromkeys(str(e.parameters["output"]) for e in explanations if "output" in e.parameters):
        yield f"weights are in units of the {safe(' or '.join(outputs))}"


def text_row(own: HtmlText, m: int, warned: str = "see its warning beside its strongest words") -> str:
    """The text by one method; `warned` stands at the sign of a warning."""
    computed = f'<small class="quiet">{safe(accuracy_briefly(own.explanation))}</small>'
    name = f"<strong>{isolated(own.explanation.method_label)}</strong> {computed}"
    sign = f' <span title="{safe(warned)}">⚠</span>' if own.explanation.warnings else ""
    return (
        f'<div class="row" data-m="{m}"><div class="name">{name}{sign}</div>'
        f'<div class="words" dir="auto">{own.text()}</div></div>'
    )


def _reach(model: RowModel) -> float:
    """The end of the longest interval."""
    reach = np.abs(model.weights.weights) + np.nan_to_num(model.half_widths)
    return float(reach[np.isfinite(reach)].max(initial=0.0))


def _cells(explanation: Explanation, model: RowModel, longest: float) -> Iterator[str]:
    """The weights of one method as a table shows them: numbers with bars, and the intervals on these."""
    for j in range(len(model)):
        weight, half_width = float(model.weights.weights[j]), float(model.half_widths[j])
        look = hue_of(explanation, weight)[0] if model.significant[j] else "x"
        bar = ""
        if np.isfinite(weight) and longest > 0.0:
            # Hundredths of the longest bar among columns of its unit.
            interval = f";--i:{100 * half_width / longest:.0f}" if np.isfinite(half_width) else ""
            bar = f' style="--v:{100 * weight / longest:.0f}{interval}"'
        yield f'<td class="{look}"{bar}>{number(model.written(j))}</td>'


def _numbers(title: str, kind: str, columns: Sequence[tuple[Explanation, RowModel]]) -> list[str]:
    _, first = columns[0]
    heads = [first.thing, *(isolated(explanation.method_label) for explanation, _ in columns)]
    longest = together([explanation for explanation, _ in columns], [_reach(model) for _, model in columns])
    drawn = (_cells(*column, own) for column, own in zip(columns, longest, strict=True))
    cells = map("".join, zip(*drawn, strict=True))
    return _table(title, kind, heads, zip(first.names, cells, strict=True))


def _facts(explanations: Sequence[Explanation]) -> list[str]:
    """How each method was asked, and what it says of itself."""
    rows = []
    for name, explanation in zip(_names(explanations), explanations, strict=True):
        cells = [
            explanation.method,
            accuracy_in_words(explanation),
            f"{explanation.seconds:.3f}",
            times(explanation.evaluations) if explanation.evaluations else "",
            ", ".join(f"{name} = {short(value)}" for name, value in explanation.parameters.items()),
            diagnosis(explanation) or "none",
        ]
        rows.append((name, "".join(f"<td>{safe(cell)}</td>" for cell in cells)))
    heads = ("method", "id", "computed", "seconds", "model asked", "parameters", "diagnostics")
    return _table(f"How {'each' if len(rows) > 1 else 'it'} was computed", "facts", heads, rows)


def _table(title: str, kind: str, heads: Sequence[str], rows: Iterable[tuple[str, str]]) -> list[str]:
    """A table behind its title. Heads and cells are markup, the names of rows are not."""
    return [
        f"<details><summary>{title}</summary>",
        f'<div class="scroll" role="region" aria-label="{title}" tabindex="0"><table class="{kind}"><thead><tr>',
        *(f'<th scope="col">{head}</th>' for head in heads),
        "</tr></thead><tbody>",
        *(f"<tr><th>{isolated(name)}</th>{cells}</tr>" for name, cells in rows),
        "</tbody></table></div></details>",
    ]


def _names(explanations: Sequence[Explanation]) -> list[str]:
    """Names of explanations among those of all questions: by method, and by label where these differ."""
    if len({explanation.target for explanation in explanations}) == 1:
        return [explanation.method_label for explanation in explanations]
    return [f"{explanation.method_label}, {asked_in_words(explanation)}" for explanation in explanations]


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
