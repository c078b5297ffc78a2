"""The sections of the page: words and their signs, mistakes, where methods disagree, another run, and texts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby

from limelight.corpus.analysis.comparison import Difference, Differences
from limelight.corpus.analysis.findings import (
    DIFFERENCES_SHOWN,
    MISTAKE_WORDS_SHOWN,
    SIGNS_SHOWN,
    Examples,
    Findings,
    Wish,
    Words,
    main_sign,
    wish_of,
)
from limelight.corpus.analysis.flat_rows import Question
from limelight.corpus.analysis.mistakes import GuiltyWord, Mistake
from limelight.corpus.analysis.summary import TextLine
from limelight.corpus.analysis.words import WRONG_SIGNS, WordLine, WordTable
from limelight.corpus.report.page import tables
from limelight.explanation.result import Explanation
from limelight.render.html.article import headline, text_row
from limelight.render.html.escaping import isolated, safe
from limelight.render.html.text import HtmlText
from limelight.render.numbers import percent
from limelight.render.palette import legend
from limelight.render.pieces import order_of


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
