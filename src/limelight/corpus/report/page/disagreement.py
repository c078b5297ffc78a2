"""The section of disagreement: how far each two methods are apart, and in which texts."""

from __future__ import annotations

from collections.abc import Iterator

from limelight.corpus.analysis.findings import Findings
from limelight.corpus.report.page import tables
from limelight.corpus.report.page.texts import methods_named, texts_table


def disagreement_section(findings: Findings) -> Iterator[str]:
    """The pairs of methods, and the texts that they disagree about most; nothing where no two can be compared."""
    if not findings.pairs:
        return
    intro = tables.quiet(
        "Each method hands out its weights; two disagree by the share that they give to other words, or with another "
        "sign: 0 % where they are proportional, 100 % where they name different words. “At least” is what is left when "
        "the errors of the weights are allowed for."
    )
    rows = []
    for pair in findings.pairs:
        cells = (
            tables.count_cell(pair.texts),
            tables.percent_cell(pair.mean, tables.ends(pair.low, pair.high)),
            tables.percent_cell(pair.at_least),
            tables.cell("no signs") if pair.contradicted is None else tables.count_cell(pair.contradicted),
        )
        rows.append(f'<tr><th class="name">{methods_named(findings, pair.methods)}</th>{"".join(cells)}</tr>')
    heads = ["methods", "texts", "mean disagreement", "at least, on average", "texts with a word told both ways"]
    yield from tables.section(
        "disagreement",
        "Where methods disagree",
        intro,
        tables.table_of("methods", heads, rows),
        "<h3>The texts that they disagree about most</h3>",
        texts_table(findings, findings.disagreed.lines, disagreement=True),
    )
