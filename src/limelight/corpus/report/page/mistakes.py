"""The section of mistakes: what the model takes for what, in which texts, and the words that pushed it there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from limelight.corpus.analysis.examples import Wish
from limelight.corpus.analysis.findings import MISTAKE_WORDS_SHOWN, Findings
from limelight.corpus.analysis.flat_rows import Question
from limelight.corpus.analysis.mistakes import GuiltyWord, Mistake
from limelight.corpus.report.page.table import Column, hue_of, link, table_of, word_row
from limelight.corpus.report.page.texts import texts_table
from limelight.render.html.escaping import isolated, safe
from limelight.render.numbers import percent


def mistakes_section(findings: Findings) -> Iterator[str]:
    if findings.accuracy is None:
        return
    right, low, high = findings.accuracy.share
    yield '<section id="mistakes"><h2 class="t1">Where the model is wrong, and which words did it</h2>'
    yield (
        f"<p>{findings.accuracy.wrong:,} of {findings.accuracy.labelled:,} labelled texts are wrong: "
        f"{safe(percent(right))} are right ({safe(percent(low))} to {safe(percent(high))}).</p>"
    )
    if not findings.confusions:
        yield "</section>"
        return
    rows = [
        f'<tr><th class="name">says {isolated(own.mistake.label)}, is {isolated(own.mistake.truth)}</th>'
        f'<td data-v="{own.texts}">{own.texts:,}</td><td data-v="{own.of}">{own.of:,}</td>'
        f'<td data-v="{own.share!r}">{safe(percent(own.share))} <small class="quiet">({safe(percent(own.low))} to '
        f"{safe(percent(own.high))})</small></td></tr>"
        for own in findings.confusions
    ]
    yield from table_of("mistakes", ["mistake", "texts", "of those it calls so", "share"], rows)
    yield "<h3>The texts that it is surest of, and wrong about</h3>"
    yield from texts_table(findings, findings.wrong.lines, disagreement=False)
    yield (
        '<p class="quiet">The words that did it: their mean push towards the mistake in the texts that are wrong so, '
        "those that push most altogether first. The error rate says how often a text is wrong that holds the word and "
        "that the model calls so: a word can push and still be right in most texts.</p>"
    )
    for (method, mistake), lines in findings.guilty.items():
        yield '<div class="part">'
        yield (
            f"<h3>Says {isolated(mistake.label)}, is {isolated(mistake.truth)}, by "
            f"{isolated(findings.corpus.layout.called(method))}</h3>"
        )
        yield from _guilty_table(findings, method, mistake, lines[:MISTAKE_WORDS_SHOWN])
        yield "</div>"
    yield "</section>"


def _guilty_table(findings: Findings, method: str, mistake: Mistake, lines: Sequence[GuiltyWord]) -> Iterator[str]:
    if not lines:
        yield f"<p>No word stands in {findings.least_texts} such texts.</p>"
        return
    column = Column([line.push for line in lines], [line.high - line.push for line in lines])
    rows = []
    question = Question(method, mistake.label)
    for line in lines:
        hue = hue_of(findings, question, line.push) if line.told else "x"
        wish = Wish(question, line.word, line.side, 1, line.row)
        rows.append(
            word_row(
                line.word,
                line.side,
                [
                    f'<td data-v="{line.texts}">{line.texts:,}</td>',
                    column.cell(line.push, line.high - line.push, hue, signed=True),
                    f'<td data-v="{line.total!r}">{column.write(line.total, signed=True)}</td>',
                    f'<td data-v="{line.rate!r}">{safe(percent(line.rate))} <small class="quiet">({line.texts:,} of '
                    f"{line.of:,}; {safe(percent(line.rate_low))} to {safe(percent(line.rate_high))})</small></td>",
                    f"<td>{link(findings.examples, wish, 'text', 'row')}</td>",
                ],
                faint=not line.told,
            )
        )
    yield from table_of("guilty", ["word", "wrong texts", "mean push", "total push", "error rate", "example"], rows)
