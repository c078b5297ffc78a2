"""The sections of words: what each does on average, and which change their sign between texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from limelight.corpus.analysis.findings import SIGNS_SHOWN, Findings, Words, main_sign, wish_of
from limelight.corpus.analysis.flat_rows import Question
from limelight.corpus.analysis.words import WRONG_SIGNS, WordLine, WordTable
from limelight.corpus.report.page import tables
from limelight.render.html.escaping import isolated, safe
from limelight.render.numbers import percent


def words_section(findings: Findings) -> Iterator[str]:
    """Words by their mean effect."""
    intro = tables.quiet(
        "The effect of a word is its mean weight over the texts that it stands in. Intervals hold what differs between "
        "texts and the error of sampling; a word is bold where its mean is told from 0, with at most 5 % of those "
        "expected to be noise, and the bars of the others are grey. Of the intervals of bold words 95 % are expected "
        "to hold the mean over texts like these, which is more than the texts at hand. Search looks through the lines "
        "shown here; words.csv has every word."
    )
    title = "Words, by what they do on average"
    return tables.section("words", title, intro, tables.parts(findings, findings.words, _words))


def _words(findings: Findings, own: Words) -> Iterator[str]:
    table, question = own.every, own.question
    yield tables.quiet(_about(findings, table))
    if not own.shown:
        yield "<p>No word stands in enough texts.</p>"
        return
    signed = findings.corpus.layout.is_signed(question.method)
    column = tables.Column([line.mean for line in own.shown], [line.high for line in own.shown], signed=signed)
    absolute = tables.Column([line.absolute for line in own.shown], signed=False)

    def cells(line: WordLine) -> Iterator[str]:
        yield _texts_cell(line)
        yield column.bar(line.mean, line.high, tables.hue_of(findings, question, line.mean, told=line.told))
        if signed:
            yield _absolute_cell(absolute, line)
            told = line.speaks_for + line.speaks_against
            ratio = line.speaks_for / told if told else None
            yield tables.cell(f"{line.speaks_for:,} / {line.speaks_against:,}", ratio)
        yield _links_cell(findings, question, line, {main_sign(line) if signed else 0: "text"})

    effect = f"mean effect ({tables.interval_name(table.level)})"
    more = ["mean absolute effect", "told for / against"] if signed else []
    yield from tables.word_table("words", ["texts", effect, *more, "example"], own.shown, cells)


def _about(findings: Findings, table: WordTable) -> str:
    """A line that says what a table is of."""
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


def signs_section(findings: Findings) -> Iterator[str]:
    """Words whose sign changes between texts; nothing where no method gives signs."""
    changing = [own.signs for own in findings.words if own.signs is not None]
    if not changing:
        return
    intro = tables.quiet(
        "Only weights that are told from 0 in their own text count. Listed are words that speak for the label in some "
        "texts and against it in others; where weights are sampled, more often than the "
        f"{100 * WRONG_SIGNS:g} % of wrong signs that are expected. First come those with most effect on both sides. A "
        "mean hides them: look at the texts."
    )
    title = "Words whose sign changes between texts"
    yield from tables.section("signs", title, intro, tables.parts(findings, changing, _signs))


def _signs(findings: Findings, table: WordTable) -> Iterator[str]:
    lines = table.lines[:SIGNS_SHOWN]
    if not lines:
        yield "<p>No word changes its sign between texts.</p>"
        return
    if table.total > len(lines):
        yield tables.quiet(f"The first {len(lines)} of {table.total:,}; signs.csv has all.")
    absolute = tables.Column([line.absolute for line in lines], signed=False)
    heads = ["texts", "told for", "told against", "rarer sign", "mean absolute effect", "for and against"]

    def cells(line: WordLine) -> Sequence[str]:
        return (
            _texts_cell(line),
            tables.count_cell(line.speaks_for),
            tables.count_cell(line.speaks_against),
            tables.percent_cell(line.minority, f"at least {safe(percent(line.minority_low))}"),
            _absolute_cell(absolute, line),
            _links_cell(findings, table.question, line, {1: "for", -1: "against"}),
        )

    yield from tables.word_table("signs", heads, lines, cells)


def _texts_cell(line: WordLine) -> str:
    return tables.count_cell(line.texts, f"up to {line.texts + line.missed:,}" if line.missed else "")


def _absolute_cell(column: tables.Column, line: WordLine) -> str:
    return column.cell(line.absolute, f"{column.write(line.absolute_low)} to {column.write(line.absolute_high)}")


def _links_cell(findings: Findings, question: Question, line: WordLine, names: dict[int, str]) -> str:
    """Links to the texts that show a word at its strongest, by their sign."""
    wishes = ((wish_of(question, line, sign), name) for sign, name in names.items())
    return f"<td>{''.join(tables.link(findings.examples, wish, name, 'row') for wish, name in wishes)}</td>"
