"""The section of words that speak for a label in some texts and against it in others."""

from __future__ import annotations

from collections.abc import Iterator

from limelight.corpus.analysis.findings import SIGNS_SHOWN, Findings
from limelight.corpus.analysis.words import WRONG_SIGNS
from limelight.corpus.report.page.names import question_title
from limelight.corpus.report.page.table import Column, absolute_cell, links_cell, table_of, texts_cell, word_row
from limelight.render.html.escaping import safe
from limelight.render.numbers import percent


def signs_section(findings: Findings) -> Iterator[str]:
    shown = [own for own in findings.words if own.signs is not None]
    if not shown:
        return
    yield '<section id="signs"><h2 class="t1">Words whose sign changes between texts</h2>'
    yield (
        '<p class="quiet">Only weights that are told from 0 in their own text count. Listed are words that speak for '
        f"the label in some texts and against it in others; where weights are sampled, more often than the "
        f"{100 * WRONG_SIGNS:g} % of wrong signs that are expected. First come those with most effect on both sides. "
        "A mean hides them: look at the texts.</p>"
    )
    for own in shown:
        table = own.signs
        assert table is not None
        lines = table.lines[:SIGNS_SHOWN]
        yield f'<div class="part"><h3>{question_title(findings, own.question)}</h3>'
        if not lines:
            yield "<p>No word changes its sign between texts.</p></div>"
            continue
        absolute = Column([line.absolute for line in lines], [])
        rows = [
            word_row(
                line.word,
                line.side,
                [
                    texts_cell(line),
                    f'<td data-v="{line.speaks_for}">{line.speaks_for:,}</td>',
                    f'<td data-v="{line.speaks_against}">{line.speaks_against:,}</td>',
                    f'<td data-v="{line.minority!r}">{safe(percent(line.minority))} <small class="quiet">(at least '
                    f"{safe(percent(line.minority_low))})</small></td>",
                    absolute_cell(absolute, line),
                    links_cell(findings.examples, own.question, line, [1, -1], "row"),
                ],
            )
            for line in lines
        ]
        heads = ["word", "texts", "told for", "told against", "rarer sign", "mean absolute effect", "for and against"]
        if table.total > len(lines):
            yield f'<p class="quiet">The first {len(lines)} of {table.total:,}; signs.csv has all.</p>'
        yield from table_of("signs", heads, rows)
        yield "</div>"
    yield "</section>"
