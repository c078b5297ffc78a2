"""The section of another run: the words whose effects are different there."""

from __future__ import annotations

from collections.abc import Iterator

from limelight.corpus.analysis.comparison import Difference, Differences
from limelight.corpus.analysis.examples import Wish
from limelight.corpus.analysis.findings import DIFFERENCES_SHOWN, Findings
from limelight.corpus.analysis.flat_rows import Question
from limelight.corpus.report.page.names import level_name, model_name, question_title
from limelight.corpus.report.page.table import Column, hue_of, link, table_of, word_row
from limelight.render.html.escaping import isolated, safe


def differences_section(findings: Findings) -> Iterator[str]:
    compared, against = findings.compared, findings.against
    if compared is None or against is None:
        return
    first, second = str(findings.corpus.folder.name), str(against.folder.name)
    yield '<section id="differences"><h2 class="t1">What is different in the other run</h2>'
    if compared.paired:
        how = (
            f"Both runs read the same data: {compared.texts:,} texts are compared with themselves, by the difference "
            "of a word’s weights in each of them."
        )
        if compared.other_target:
            how += f" {compared.other_target:,} more were asked about different labels, and cannot be compared."
    else:
        how = "The runs read different data: the means of a word over the texts of each are compared (Welch)."
    yield (
        f'<p class="quiet">{isolated(first)} ({isolated(model_name(findings.corpus))}) is this run, {isolated(second)} '
        f"({isolated(model_name(against))}) the other one. {how} A word is bold where the two are told apart, with at "
        "most 5 % of those expected to be noise. Weights of two models are in units of each one’s own output.</p>"
    )
    if compared.only:
        yield f'<p class="quiet">In one run alone: {isolated(", ".join(compared.only))}.</p>'
    for table in compared.questions:
        yield f'<div class="part"><h3>{question_title(findings, table.question)}</h3>'
        yield from _differences_table(findings, table)
        yield "</div>"
    yield "</section>"


def _differences_table(findings: Findings, table: Differences) -> Iterator[str]:
    lines = table.lines[:DIFFERENCES_SHOWN]
    told = sum(line.told for line in table.lines)
    yield (
        f'<p class="quiet">{table.compared:,} words in {findings.least_texts} texts or more of both · {told:,} told '
        f"apart · differences.csv has all</p>"
    )
    if not lines:
        return
    column = Column([line.difference for line in lines], [line.high - line.difference for line in lines])
    means = Column([own for line in lines for own in (line.first, line.second)], [])
    rows = []
    for line in lines:
        hue = hue_of(findings, table.question, line.difference) if line.told else "x"
        rows.append(
            word_row(
                line.word,
                line.side,
                [
                    _counts(line),
                    f'<td data-v="{line.first!r}">{means.write(line.first, signed=True)}</td>',
                    f'<td data-v="{line.second!r}">{means.write(line.second, signed=True)}</td>',
                    column.cell(line.difference, line.high - line.difference, hue, signed=True),
                    f"<td>{_difference_links(findings, table.question, line)}</td>",
                ],
                faint=not line.told,
            )
        )
    heads = [
        "word",
        "texts",
        "here",
        "there",
        f"difference ({safe(level_name(table.level))} interval)",
        "example here and there",
    ]
    yield from table_of("differences", heads, rows)


def _counts(line: Difference) -> str:
    both = f"{line.texts:,}" if line.texts == line.other_texts else f"{line.texts:,} and {line.other_texts:,}"
    return f'<td data-v="{min(line.texts, line.other_texts)}">{both}</td>'


def _difference_links(findings: Findings, question: Question, line: Difference) -> str:
    here = Wish(question, line.word, line.side, 0, line.row)
    there = here._replace(row=line.other_row)
    links = [
        link(findings.examples, here, "here", "row"),
        link(findings.other_examples, there, "there", "other"),
    ]
    return "".join(links)
