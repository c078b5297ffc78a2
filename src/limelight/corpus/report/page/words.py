"""The section of words: what each does on average over the texts that it stands in."""

from __future__ import annotations

from collections.abc import Iterator

from limelight.corpus.analysis.findings import Findings, Words, main_sign
from limelight.corpus.analysis.words import WordTable
from limelight.corpus.report.page.names import level_name, question_title
from limelight.corpus.report.page.table import Column, absolute_cell, hue_of, links_cell, table_of, texts_cell, word_row
from limelight.render.html.escaping import isolated, safe
from limelight.render.numbers import percent


def words_section(findings: Findings) -> Iterator[str]:
    yield '<section id="words"><h2 class="t1">Words, by what they do on average</h2>'
    yield (
        '<p class="quiet">The effect of a word is its mean weight over the texts that it stands in. Intervals hold '
        "what differs between texts and the error of sampling; a word is bold where its mean is told from 0, with at "
        "most 5 % of those expected to be noise, and the bars of the others are grey. Of the intervals of bold words "
        "95 % are expected to hold the mean over texts like these, which is more than the texts at hand. "
        "Search looks through the lines shown here; words.csv has every word.</p>"
    )
    for own in findings.words:
        yield f'<div class="part"><h3>{question_title(findings, own.question)}</h3>'
        yield from _words_table(findings, own)
        yield "</div>"
    yield "</section>"


def _words_table(findings: Findings, own: Words) -> Iterator[str]:
    table, question = own.every, own.question
    yield f'<p class="quiet">{_about(findings, table)}</p>'
    if not own.shown:
        yield "<p>No word stands in enough texts.</p>"
        return
    signed = findings.corpus.layout.is_signed(question.method)
    column = Column([line.mean for line in own.shown], [line.high - line.mean for line in own.shown])
    absolute = Column([line.absolute for line in own.shown], [])
    heads = [
        "word",
        "texts",
        f"mean effect ({safe(level_name(table.level))} interval)",
        *(["mean absolute effect", "told for / against"] if signed else []),
    ]
    rows = []
    for line in own.shown:
        hue = hue_of(findings, question, line.mean) if line.told else "x"
        cells = [texts_cell(line), column.cell(line.mean, line.high - line.mean, hue, signed=signed)]
        if signed:
            cells.append(absolute_cell(absolute, line))
            told = line.speaks_for + line.speaks_against
            share = f"{line.speaks_for / told!r}" if told else ""
            cells.append(f'<td data-v="{share}">{line.speaks_for:,} / {line.speaks_against:,}</td>')
        signs = [main_sign(line)] if signed else [0]
        cells.append(links_cell(findings.examples, question, line, signs, "row"))
        rows.append(word_row(line.word, line.side, cells, faint=not line.told))
    yield from table_of("words", [*heads, "example"], rows)


def _about(findings: Findings, table: WordTable) -> str:
    """What a table is of, in a line."""
    parts = [f"{table.texts:,} texts"]
    if findings.corpus.manifest.get("asked", {}).get("target") is None and findings.corpus.layout.kind == "classes":
        parts[0] += f" that the model calls {isolated(table.question.target)}"
    parts.append(f"{table.words:,} words in {findings.least_texts} texts or more, {table.rare:,} in fewer are left out")
    if table.folded:
        parts.append(
            f"{table.folded:,} stop words and signs are folded away, which have "
            f"{safe(percent(table.folded_share))} of all absolute effects"
        )
    ways = {"exact": "no sampling", "bounded": "no sampling", "sampled": "sampled", "approximate": "approximate"}
    names = dict.fromkeys(ways.get(name, name) for name in table.accuracy)
    parts.append("weights: " + " and ".join(names))
    if "approximate" in table.accuracy:
        parts.append("the error of the approximation is in no interval")
    return " · ".join(parts)
