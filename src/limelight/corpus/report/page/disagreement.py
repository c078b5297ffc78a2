"""The section of disagreement: how far each two methods are apart, and in which texts."""

from __future__ import annotations

from collections.abc import Iterator

from limelight.corpus.analysis.findings import Findings
from limelight.corpus.report.page.table import table_of
from limelight.corpus.report.page.texts import texts_table
from limelight.render.html.escaping import isolated, safe
from limelight.render.numbers import percent


def disagreement_section(findings: Findings) -> Iterator[str]:
    if not findings.pairs:
        return
    yield '<section id="disagreement"><h2 class="t1">Where methods disagree</h2>'
    yield (
        '<p class="quiet">Each method hands out its weights; two disagree by the share that they give to other words, '
        "or with another sign: 0 % where they are proportional, 100 % where they name different words. “At least” is "
        "what is left when the errors of the weights are allowed for.</p>"
    )
    rows = []
    for pair in findings.pairs:
        names = " and ".join(isolated(findings.corpus.layout.called(own)) for own in pair.methods)
        against = "no signs" if pair.contradicted is None else f"{pair.contradicted:,}"
        value = "" if pair.contradicted is None else str(pair.contradicted)
        rows.append(
            f'<tr><th class="name">{names}</th><td data-v="{pair.texts}">{pair.texts:,}</td>'
            f'<td data-v="{pair.mean!r}">{safe(percent(pair.mean))} <small class="quiet">({safe(percent(pair.low))} to '
            f'{safe(percent(pair.high))})</small></td><td data-v="{pair.at_least!r}">{safe(percent(pair.at_least))}'
            f'</td><td data-v="{value}">{against}</td></tr>'
        )
    heads = ["methods", "texts", "mean disagreement", "at least, on average", "texts with a word told both ways"]
    yield from table_of("methods", heads, rows)
    yield "<h3>The texts that they disagree about most</h3>"
    yield from texts_table(findings, findings.disagreed.lines, disagreement=True)
    yield "</section>"
