"""The section of another run: the words whose effects are different there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from limelight.corpus.analysis.comparison import Difference, Differences
from limelight.corpus.analysis.examples import Wish
from limelight.corpus.analysis.findings import DIFFERENCES_SHOWN, Findings
from limelight.corpus.report.page import tables
from limelight.render.html.escaping import isolated


def differences_section(findings: Findings) -> Iterator[str]:
    """Words whose effects differ between two runs; nothing where there is one run alone."""
    compared, against = findings.compared, findings.against
    if compared is None or against is None:
        return
    how = "The runs read different data: the means of a word over the texts of each are compared (Welch)."
    if compared.paired:
        how = (
            f"Both runs read the same data: {compared.texts:,} texts are compared with themselves, by the difference "
            "of a word’s weights in each of them."
        )
        if compared.other_target:
            how += f" {compared.other_target:,} more were asked about different labels, and cannot be compared."
    runs = (findings.corpus, against)
    first, second = (f"{isolated(own.folder.name)} ({isolated(tables.model_name(own))})" for own in runs)
    intro = tables.quiet(
        f"{first} is this run, {second} the other one. {how} A word is bold where the two are told apart, with at most "
        "5 % of those expected to be noise. Weights of two models are in units of each one’s own output."
    )
    alone = [tables.quiet(f"In one run alone: {isolated(', '.join(compared.only))}.")] if compared.only else []
    parts = tables.parts(findings, compared.questions, _differences)
    yield from tables.section("differences", "What is different in the other run", intro, *alone, parts)


def _differences(findings: Findings, table: Differences) -> Iterator[str]:
    lines = table.lines[:DIFFERENCES_SHOWN]
    told = sum(line.told for line in table.lines)
    yield tables.quiet(
        f"{table.compared:,} words in {findings.least_texts} texts or more of both · {told:,} told apart · "
        "differences.csv has all"
    )
    if not lines:
        return
    column = tables.Column([line.difference for line in lines], [line.high for line in lines])
    means = tables.Column([own for line in lines for own in (line.first, line.second)])

    def cells(line: Difference) -> Sequence[str]:
        both = f"{line.texts:,}" if line.texts == line.other_texts else f"{line.texts:,} and {line.other_texts:,}"
        here = Wish(table.question, line.word, line.side, 0, line.row)
        there = here._replace(row=line.other_row)
        hue = tables.hue_of(findings, table.question, line.difference, told=line.told)
        return (
            tables.cell(both, min(line.texts, line.other_texts)),
            means.cell(line.first),
            means.cell(line.second),
            column.bar(line.difference, line.high, hue),
            f"<td>{tables.link(findings.examples, here, 'here', 'row')}"
            f"{tables.link(findings.other_examples, there, 'there', 'other')}</td>",
        )

    heads = ["texts", "here", "there", f"difference ({tables.interval_name(table.level)})", "example here and there"]
    yield from tables.word_table("differences", heads, lines, cells)
