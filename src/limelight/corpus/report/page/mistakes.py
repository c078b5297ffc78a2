"""The section of mistakes: what the model takes for what, in which texts, and the words that pushed it there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from limelight.corpus.analysis.examples import Wish
from limelight.corpus.analysis.findings import MISTAKE_WORDS_SHOWN, Findings
from limelight.corpus.analysis.flat_rows import Question
from limelight.corpus.analysis.mistakes import GuiltyWord, Mistake
from limelight.corpus.report.page import tables
from limelight.corpus.report.page.texts import texts_table
from limelight.render.html.escaping import isolated, safe
from limelight.render.numbers import percent


def mistakes_section(findings: Findings) -> Iterator[str]:
    """Where the model is wrong; nothing where the data has no labels."""
    if findings.accuracy is not None:
        right, low, high = findings.accuracy.share
        count = (
            f"<p>{findings.accuracy.wrong:,} of {findings.accuracy.labelled:,} labelled texts are wrong: "
            f"{safe(percent(right))} are right ({tables.ends(low, high)}).</p>"
        )
        title = "Where the model is wrong, and which words did it"
        yield from tables.section("mistakes", title, count, _mistakes(findings) if findings.confusions else ())


def _mistakes(findings: Findings) -> Iterator[str]:
    rows = [
        f'<tr><th class="name">{_named(own.mistake)}</th>{tables.count_cell(own.texts)}{tables.count_cell(own.of)}'
        f"{tables.percent_cell(own.share, tables.ends(own.low, own.high))}</tr>"
        for own in findings.confusions
    ]
    yield from tables.table_of("mistakes", ["mistake", "texts", "of those it calls so", "share"], rows)
    yield "<h3>The texts that it is surest of, and wrong about</h3>"
    yield from texts_table(findings, findings.wrong.lines, disagreement=False)
    yield tables.quiet(
        "The words that did it: their mean push towards the mistake in the texts that are wrong so, those that push "
        "most altogether first. The error rate says how often a text is wrong that holds the word and that the model "
        "calls so: a word can push and still be right in most texts."
    )
    for (method, mistake), lines in findings.guilty.items():
        title = _named(mistake, "Says")
        by = isolated(findings.corpus.layout.called(method))
        yield from tables.part(f"{title}, by {by}", _guilty(findings, method, mistake, lines[:MISTAKE_WORDS_SHOWN]))


def _named(mistake: Mistake, says: str = "says") -> str:
    return f"{says} {isolated(mistake.label)}, is {isolated(mistake.truth)}"


def _guilty(findings: Findings, method: str, mistake: Mistake, lines: Sequence[GuiltyWord]) -> Iterator[str]:
    if not lines:
        yield f"<p>No word stands in {findings.least_texts} such texts.</p>"
        return
    column = tables.Column([line.push for line in lines], [line.high for line in lines])
    question = Question(method, mistake.label)

    def cells(line: GuiltyWord) -> Sequence[str]:
        wish = Wish(question, line.word, line.side, 1, line.row)
        hue = tables.hue_of(findings, question, line.push, told=line.told)
        return (
            tables.count_cell(line.texts),
            column.bar(line.push, line.high, hue),
            column.cell(line.total),
            tables.percent_cell(
                line.rate, f"{line.texts:,} of {line.of:,}; {tables.ends(line.rate_low, line.rate_high)}"
            ),
            f"<td>{tables.link(findings.examples, wish, 'text', 'row')}</td>",
        )

    heads = ["wrong texts", "mean push", "total push", "error rate", "example"]
    yield from tables.word_table("guilty", heads, lines, cells)
