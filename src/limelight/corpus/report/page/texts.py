"""Texts on the page: as lines of the tables that lead to them, and whole, with the weights of each method."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby

from limelight.corpus.analysis.findings import Examples, Findings
from limelight.corpus.analysis.texts import TextLine
from limelight.corpus.report.page import tables
from limelight.explanation.result import Explanation
from limelight.render.html.article import headline, text_row
from limelight.render.html.escaping import isolated, safe
from limelight.render.html.text import HtmlText
from limelight.render.numbers import percent
from limelight.render.palette import legend
from limelight.render.pieces import order_of

LONG_TEXT = 60
"""Words from which a text is shown by one method at first."""


def texts_table(findings: Findings, lines: Sequence[TextLine], *, disagreement: bool) -> Iterator[str]:
    """Texts by their beginnings, with the methods that disagree about each, or its true label."""
    if not lines:
        yield "<p>There are none.</p>"
        return
    rows = []
    for line in lines:
        beginning = safe(line.beginning)
        confidence = "" if math.isnan(line.confidence) else safe(percent(line.confidence))
        cells = [f'<td class="begin" dir="auto">{beginning}</td>']
        cells.append(tables.cell(f"{isolated(line.label)} {confidence}", line.confidence))
        if disagreement and line.methods is not None:
            cells.append(f"<td>{methods_named(findings, line.methods)}</td>")
            cells += map(tables.percent_cell, (line.disagreement, line.at_least))
        else:
            cells.append(f"<td>{isolated(line.truth)}</td>")
        name = f'<a href="#row-{line.row}">{isolated(tables.text_name(line.id, line.row))}</a>'
        rows.append(f'<tr data-find="{beginning}"><th class="name" scope="row">{name}</th>{"".join(cells)}</tr>')
    more = ["methods", "disagreement", "at least"] if disagreement else ["true label"]
    yield from tables.table_of("texts", ["text", "begins", "the model says", *more], rows)


def methods_named(findings: Findings, methods: Sequence[str]) -> str:
    """Two methods by what they are called."""
    return " and ".join(isolated(findings.corpus.layout.called(own)) for own in methods)


def texts_section(findings: Findings) -> Iterator[str]:
    """The texts that the tables lead to, with the weights of each method."""
    intro = tables.quiet(
        "Those that the tables lead to. The deeper a colour, the larger the weight within its row; words without "
        "colour are not distinguishable from 0."
    )
    yield from tables.section("texts", "Texts", intro, _legend(findings.examples), _articles(findings))


def _articles(findings: Findings) -> Iterator[str]:
    for row in sorted(findings.examples.documents):
        yield from _article(findings.examples, row, "row")
    if findings.other_examples.documents and findings.against is not None:
        yield f"<h3>Of the other run, {isolated(findings.against.folder.name)}</h3>"
        for row in sorted(findings.other_examples.documents):
            yield from _article(findings.other_examples, row, "other")


def _legend(examples: Examples) -> str:
    explanations = [own for document in examples.documents.values() for own in document.explanations]
    if not explanations:
        return ""
    letters = {"blue": "b", "orange": "o", "grey": "g"}
    entries = (
        f'<span><mark class="{letters[hue]}12">\u2002\u2002</mark> {isolated(meaning)}</span>'
        for hue, meaning in legend(explanations)
    )
    return f'<p class="legend quiet">{"".join(entries)}</p>'


def _article(examples: Examples, row: int, anchor: str) -> Iterator[str]:
    document = examples.documents[row]
    yield f'<article class="text" id="{anchor}-{document.row}">'
    yield f"<h3>{isolated(tables.text_name(document.id, document.row))}</h3>"
    if document.prediction is not None:
        truth = ""
        if document.truth is not None:
            is_wrong = document.truth not in document.prediction.assigned
            truth = f" · {'<strong>wrong</strong>, ' if is_wrong else ''}labelled {isolated(document.truth)}"
        yield tables.quiet(f"{headline(document.prediction)}{truth}")
    for error in dict.fromkeys(document.errors.values()):
        yield f'<p class="warning">⚠ {safe(error)}</p>'
    groups = groupby(document.explanations, key=lambda e: (e.target, e.against))
    for (target, against), members in groups:
        explanations = list(members)
        if len({(e.target, e.against) for e in document.explanations}) > 1:
            rather = "" if against is None else f" rather than {isolated(against)}"
            yield tables.quiet(f"Why {isolated(target)}{rather}?")
        yield from _rows(examples, explanations)
    yield "</article>"


def _rows(examples: Examples, explanations: Sequence[Explanation]) -> Iterator[str]:
    is_long = len(order_of(explanations[0])) > LONG_TEXT
    drawn = [HtmlText.of(own, inline=False, aligned=not is_long) for own in explanations]
    first, *rest = (
        text_row(own, examples.number(own.explanation.method), " ".join(own.explanation.warnings)) for own in drawn
    )
    yield first
    if is_long and rest:
        other = f"{len(rest)} other method{'s' * (len(rest) != 1)}"
        yield f"<details><summary>The same text by {other}</summary>{''.join(rest)}</details>"
    else:
        yield from rest
