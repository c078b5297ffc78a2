"""Explanations as HTML: one self-contained page, or a fragment for a notebook.

Text, label names, method ids and parameters may come from strangers. Everything goes through `_safe`; the page has no
script and forbids any; nothing is fetched.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from itertools import groupby

from limelight.errors import InputError
from limelight.explanation import Explanation
from limelight.show.colour import LEVELS, levels
from limelight.show.numbers import Digits, diagnosis, percent, said_of_winner, short, times
from limelight.show.pieces import BREAK, pieces, read_until, without_tail
from limelight.show.stylesheet import SCOPE, level_class, page_stylesheet, stylesheet
from limelight.show.visible import visible

_LABELS_SHOWN = 10
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(explanations: Sequence[Explanation]) -> str:
    """A complete page: nothing outside it is needed to show it, and it can be encoded in UTF-8 whatever it shows."""
    _check(explanations)
    prediction = explanations[0].prediction
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>Why {_safe(explanations[0].target)}? The model says {_safe(prediction.label)}</title>",
            f"<style>\n{page_stylesheet()}\n</style>",
            "</head>",
            "<body>",
            *_articles(explanations, "main"),
            "</body>",
            "</html>",
            "",
        ]
    )


def fragment(explanations: Sequence[Explanation]) -> str:
    """The same content to put into another page, such as a notebook's."""
    _check(explanations)
    return "\n".join([f"<style>\n{stylesheet()}\n</style>", *_articles(explanations, "div")])


def _check(explanations: Sequence[Explanation]) -> None:
    if not len(explanations):
        raise InputError("there is no explanation to show: give at least one")


def _safe(value: object) -> str:
    """Ready for an element or a quoted attribute."""
    return html.escape(visible(str(value)), quote=True)


def _number(written: str) -> str:
    return _safe(written.replace("-", "−"))


def _articles(explanations: Sequence[Explanation], element: str) -> Iterator[str]:
    """One per text and target; what shares its features shares a table."""
    for _, group in groupby(explanations, key=lambda e: (e.text, e.target, e.against, e.features, e.spans)):
        members = list(group)
        yield f'<{element} class="{SCOPE}">'
        yield from _prediction(members[0])
        yield from _notices(members)
        yield from _text(members[0])
        yield from _rows(members)
        yield from _numbers(members)
        yield from _facts(members)
        yield f"</{element}>"


def _prediction(explanation: Explanation) -> Iterator[str]:
    prediction = explanation.prediction
    chances = prediction.probabilities
    order = sorted(range(len(prediction.labels)), key=lambda c: -prediction.logits[c])
    yield f"<h1>{_isolated(prediction.label)} · {_safe(said_of_winner(prediction))}</h1>"
    if explanation.against is not None:
        rather = f"{_isolated(explanation.target)} rather than {_isolated(explanation.against)}"
        yield f"<p>Explained here: why {rather}.</p>"
    elif explanation.target != prediction.label:
        yield f"<p>Explained here: why (not) {_isolated(explanation.target)}.</p>"
    yield '<ul class="classes">'
    shown = order[:_LABELS_SHOWN]
    target = prediction.labels.index(explanation.target) if explanation.target in prediction.labels else None
    if target is not None and target not in shown:  # what is explained is always there, however unlikely it is
        shown[-1] = target
    for c in shown:
        label = prediction.labels[c]
        first = ' class="first"' if label in prediction.assigned else ""
        if chances is None:
            value = _number(f"{prediction.logits[c]:.4g}")
            yield f"<li><span{first}>{_isolated(label)}</span><span>{value}</span></li>"
            continue
        probability = float(chances[c])
        yield (
            f"<li><span{first}>{_isolated(label)}</span>"
            f'<span class="bar" aria-hidden="true"><span style="width:{100 * probability:.1f}%"></span></span>'
            f"<span{first}>{_safe(percent(probability))}</span>"
            f'<span class="quiet logit">logit {_number(f"{float(prediction.logits[c]):+.3f}")}</span></li>'
        )
    yield "</ul>"
    if len(order) > len(shown):
        yield f'<p class="quiet">and {len(order) - len(shown)} more labels</p>'


def _isolated(name: str) -> str:
    """A name in its own direction of writing, whatever stands around it."""
    return f"<bdi>{_safe(name)}</bdi>"


def _notices(explanations: Sequence[Explanation]) -> Iterator[str]:
    for notice in dict.fromkeys(notice for explanation in explanations for notice in explanation.notices):
        yield f'<p class="notice" role="note">{_safe(notice)}</p>'


def _text(explanation: Explanation) -> Iterator[str]:
    text, end = explanation.joined_text, read_until(explanation.joined_spans)
    unread = f'<span class="other">{_plain(text[end:])}</span>'
    yield "<h2>Text</h2>"
    yield f'<blockquote class="text" dir="auto" tabindex="0">{_plain(text[:end])}{unread}</blockquote>'


def _plain(text: str) -> str:
    return "".join("\n\n" if piece.text == BREAK else _safe(piece.text) for piece in pieces(text, ()))


def _rows(explanations: Sequence[Explanation]) -> Iterator[str]:
    target = _isolated(explanations[0].target)
    steps = range(LEVELS // 4, LEVELS + 1, LEVELS // 4)
    yield f"<h2>Why {target}?</h2>"
    yield '<p class="scale quiet">'
    for side, meaning in (("p", f"for {target}"), ("n", "<u>against</u> (underlined)")):
        yield f"<span>{''.join(_swatch(side, step) for step in steps)} {meaning}</span>"
    yield "<span>the deeper, the larger the weight within its row; point at or tap a word for its figure</span>"
    if not all(explanation.signed for explanation in explanations):
        yield "<span>no sign: green says how much a word matters, not for which side</span>"
    yield "</p>"
    yield '<dl class="rows">'
    for explanation in explanations:
        # What is bounded is exact to more digits than are shown; the bound stands among the diagnostics.
        kind = "exact" if explanation.exact else explanation.accuracy
        sign = "" if explanation.signed else ", no sign"
        yield (
            f'<div class="row"><dt><bdi>{_safe(explanation.label)}</bdi>'
            f"<span>{kind}{sign}, {_seconds(explanation.seconds)}</span></dt>"
            f'<dd dir="auto">{_highlighted(explanation)}</dd></div>'
        )
    yield "</dl>"


def _swatch(side: str, step: int) -> str:
    return f'<i class="{side}{step}"></i>'


def _highlighted(explanation: Explanation) -> str:
    level, digits = levels(explanation.weights), Digits.of(explanation)
    return "".join(
        _break_or_other(piece.text)
        if piece.feature is None
        else _word(piece.text, level[piece.feature], digits.weight(explanation, piece.feature))
        for piece in without_tail(pieces(explanation.joined_text, explanation.joined_spans))
    )


def _word(text: str, level: int, weight: str) -> str:
    # tabindex -1: a tap or click focuses the word and shows its weight, while the Tab key does not stop at every word;
    # readers without a pointer have the table.
    shown = _safe(text)
    return f'<span class="{level_class(level)}" tabindex="-1" title="{shown}: {_number(weight)}">{shown}</span>'


def _break_or_other(text: str) -> str:
    if text == BREAK:
        return ' <span class="other" aria-hidden="true">⏎</span> '
    return text if text.isspace() else f'<span class="other">{_safe(text)}</span>'


def _numbers(explanations: Sequence[Explanation]) -> Iterator[str]:
    columns = [(Digits.of(explanation), explanation) for explanation in explanations]
    yield "<details><summary>Weights as numbers</summary>"
    yield '<div class="scroll" role="region" aria-label="Weights as numbers" tabindex="0"><table><thead><tr>'
    yield '<th scope="col">word</th>'
    yield from (f'<th scope="col">{_safe(explanation.label)}</th>' for _, explanation in columns)
    yield "</tr></thead><tbody>"
    for j, feature in enumerate(explanations[0].features):
        cells = "".join(f"<td>{_number(digits.weight(explanation, j))}</td>" for digits, explanation in columns)
        yield f'<tr><th scope="row">{_isolated(feature)}</th>{cells}</tr>'
    yield "</tbody></table></div></details>"


def _facts(explanations: Sequence[Explanation]) -> Iterator[str]:
    """What was asked of each method, and what it says of itself."""
    yield "<details><summary>How each was computed</summary>"
    yield '<div class="scroll"><table class="facts"><thead><tr>'
    heads = ("method", "id", "seconds", "model asked", "parameters", "diagnostics")
    yield "".join(f'<th scope="col">{head}</th>' for head in heads)
    yield "</tr></thead><tbody>"
    for explanation in explanations:
        parameters = ", ".join(f"{name} = {short(value)}" for name, value in explanation.parameters.items())
        asked = times(explanation.evaluations) if explanation.evaluations else ""
        cells = [explanation.method, f"{explanation.seconds:.3f}", asked, parameters, diagnosis(explanation) or "none"]
        yield (
            f'<tr><th scope="row">{_safe(explanation.label)}</th>'
            f"{''.join(f'<td>{_safe(cell)}</td>' for cell in cells)}</tr>"
        )
    yield "</tbody></table></div></details>"


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
