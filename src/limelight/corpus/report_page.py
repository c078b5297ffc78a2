"""The page of a report: one file that needs nothing else, whatever the texts and labels hold.

Everything that comes from texts, labels or names goes through `markup`. The page runs one script, its own, and forbids
all others; nothing is fetched. All is there without the script, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from limelight.corpus.comparing import Difference, Differences
from limelight.corpus.examples import Examples, Wish
from limelight.corpus.findings import (
    DIFFERENCES_SHOWN,
    MISTAKE_WORDS_SHOWN,
    SIGNS_SHOWN,
    Findings,
    Words,
    main_sign,
    wish_of,
)
from limelight.corpus.flat import Question
from limelight.corpus.mistakes import GuiltyWord, Mistake
from limelight.corpus.reading import NO_TEXT, Corpus
from limelight.corpus.report_script import SCRIPT, STYLE
from limelight.corpus.texts import TextLine
from limelight.corpus.words import WRONG_SIGNS, WordLine, WordTable
from limelight.evidence import warnings_of
from limelight.explanation import Explanation
from limelight.show.article import headline
from limelight.show.coloured import Coloured, order_of
from limelight.show.drawn import SIDES
from limelight.show.markup import isolated, number, safe, shortened
from limelight.show.numbers import Digits, percent
from limelight.show.palette import legend
from limelight.show.script import policy
from limelight.show.stylesheet import SCOPE, page_stylesheet

LONG_TEXT = 60
"""Words from which a text is shown by one method at first."""
_LONGEST_NAME = 80
_DIGITS = 3


def page(findings: Findings, about: Mapping[str, str]) -> str:
    """The whole page."""
    body = [
        *_head(findings),
        *_words_section(findings),
        *_signs_section(findings),
        *_disagreement_section(findings),
        *_mistakes_section(findings),
        *_difference_section(findings),
        *_texts_section(findings),
        *_footer(findings, about),
    ]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy(SCRIPT)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{safe(_title(findings))}</title>",
            f"<style>\n{page_stylesheet()}\n{STYLE.replace('.S', f'.{SCOPE}')}</style>",
            "</head>",
            "<body>",
            f'<main class="{SCOPE}">',
            *body,
            "</main>",
            f"<script>{SCRIPT}</script>",
            "</body>",
            "</html>",
            "",
        ]
    )


# ── the parts of the page ─────────────────────────────────────────────────────────────────────────────────────────────


def _title(findings: Findings) -> str:
    return f"What {_model(findings.corpus)} does with {len(findings.summary.texts):,} texts"


def _model(corpus: Corpus) -> str:
    model = corpus.manifest.get("model")
    name = str(model.get("name", "the model")) if isinstance(model, Mapping) else "the model"
    return "the embedded model" if name == "embedded" else name


def _head(findings: Findings) -> Iterator[str]:
    corpus, texts = findings.corpus, findings.summary.texts
    yield f'<h1 class="t0">{isolated(_title(findings))}</h1>'
    yield '<ul class="figures">'
    yield _figure(f"{len(texts):,}", "texts")
    yield _figure(f"{len(corpus.methods)}", "method" + "s" * (len(corpus.methods) != 1))
    if findings.accuracy is not None:
        right, low, high = findings.accuracy.share
        of = f"right of {findings.accuracy.labelled:,} with a label ({safe(percent(low))} to {safe(percent(high))})"
        yield _figure(safe(percent(right)), of)
    if texts.failed:
        yield _figure(f"{texts.failed:,}", "could not be explained")
    yield "</ul>"
    if not corpus.is_complete:
        yield (
            f'<p class="notice">The run is not finished: {len(corpus.shards()):,} of {corpus.n_shards:,} shards are '
            "there, and this is what they say.</p>"
        )
    if not corpus.layout.keep_text:
        yield f'<p class="notice">{safe(NO_TEXT)}; run the corpus with --keep-text to see the texts.</p>'
    yield '<nav class="contents" aria-label="Contents">'
    for anchor, title, is_there in _contents(findings):
        if is_there:
            yield f'<a href="#{anchor}">{title}</a>'
    yield "</nav>"


def _contents(findings: Findings) -> list[tuple[str, str, bool]]:
    return [
        ("words", "Words", True),
        ("signs", "Changing signs", any(own.signs is not None for own in findings.words)),
        ("disagreement", "Where methods disagree", bool(findings.pairs)),
        ("mistakes", "Where the model is wrong", findings.accuracy is not None),
        ("differences", "The other run", findings.compared is not None),
        ("texts", "Texts", True),
    ]


def _figure(value: str, what: str) -> str:
    return f'<li><strong>{value}</strong><span class="quiet">{what}</span></li>'


def _words_section(findings: Findings) -> Iterator[str]:
    yield '<section id="words"><h2 class="t1">Words, by what they do on average</h2>'
    yield (
        '<p class="quiet">The effect of a word is its mean weight over the texts that it stands in. Intervals hold '
        "what differs between texts and the error of sampling; a word is bold where its mean is told from 0, with at "
        "most 5 % of those expected to be noise, and the bars of the others are grey. Of the intervals of bold words "
        "95 % are expected to hold the mean over texts like these, which is more than the texts at hand. "
        "Search looks through the lines shown here; words.csv has every word.</p>"
    )
    for own in findings.words:
        yield f'<div class="part"><h3>{_question(findings, own.question)}</h3>'
        yield from _words_table(findings, own)
        yield "</div>"
    yield "</section>"


def _question(findings: Findings, question: Question) -> str:
    rather = "" if question.against is None else f" rather than {isolated(question.against)}"
    return f"{isolated(question.target)}{rather}, by {isolated(findings.called(question.method))}"


def _words_table(findings: Findings, own: Words) -> Iterator[str]:
    table, question = own.every, own.question
    yield f'<p class="quiet">{_about(findings, table)}</p>'
    if not own.shown:
        yield "<p>No word stands in enough texts.</p>"
        return
    signed = findings.is_signed(question.method)
    column = _Column([line.mean for line in own.shown], [line.high - line.mean for line in own.shown])
    absolute = _Column([line.absolute for line in own.shown], [])
    heads = [
        "word",
        "texts",
        f"mean effect ({safe(_level(table.level))} interval)",
        *(["mean absolute effect", "told for / against"] if signed else []),
    ]
    rows = []
    for line in own.shown:
        hue = _hue(findings, question, line.mean) if line.told else "x"
        cells = [_texts_cell(line), column.cell(line.mean, line.high - line.mean, hue, signed=signed)]
        if signed:
            cells.append(_absolute_cell(absolute, line))
            told = line.speaks_for + line.speaks_against
            share = f"{line.speaks_for / told!r}" if told else ""
            cells.append(f'<td data-v="{share}">{line.speaks_for:,} / {line.speaks_against:,}</td>')
        signs = [main_sign(line)] if signed else [0]
        cells.append(_links(findings.examples, question, line, signs, "row"))
        rows.append(_row(line.word, line.side, cells, faint=not line.told))
    yield from _table("words", [*heads, "example"], rows)


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


def _signs_section(findings: Findings) -> Iterator[str]:
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
        yield f'<div class="part"><h3>{_question(findings, own.question)}</h3>'
        if not lines:
            yield "<p>No word changes its sign between texts.</p></div>"
            continue
        absolute = _Column([line.absolute for line in lines], [])
        rows = [
            _row(
                line.word,
                line.side,
                [
                    _texts_cell(line),
                    f'<td data-v="{line.speaks_for}">{line.speaks_for:,}</td>',
                    f'<td data-v="{line.speaks_against}">{line.speaks_against:,}</td>',
                    f'<td data-v="{line.minority!r}">{safe(percent(line.minority))} <small class="quiet">(at least '
                    f"{safe(percent(line.minority_low))})</small></td>",
                    _absolute_cell(absolute, line),
                    _links(findings.examples, own.question, line, [1, -1], "row"),
                ],
            )
            for line in lines
        ]
        heads = ["word", "texts", "told for", "told against", "rarer sign", "mean absolute effect", "for and against"]
        if table.total > len(lines):
            yield f'<p class="quiet">The first {len(lines)} of {table.total:,}; signs.csv has all.</p>'
        yield from _table("signs", heads, rows)
        yield "</div>"
    yield "</section>"


def _disagreement_section(findings: Findings) -> Iterator[str]:
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
        names = " and ".join(isolated(findings.called(own)) for own in pair.methods)
        against = "no signs" if pair.contradicted is None else f"{pair.contradicted:,}"
        value = "" if pair.contradicted is None else str(pair.contradicted)
        rows.append(
            f'<tr><th class="name">{names}</th><td data-v="{pair.texts}">{pair.texts:,}</td>'
            f'<td data-v="{pair.mean!r}">{safe(percent(pair.mean))} <small class="quiet">({safe(percent(pair.low))} to '
            f'{safe(percent(pair.high))})</small></td><td data-v="{pair.at_least!r}">{safe(percent(pair.at_least))}'
            f'</td><td data-v="{value}">{against}</td></tr>'
        )
    heads = ["methods", "texts", "mean disagreement", "at least, on average", "texts with a word told both ways"]
    yield from _table("methods", heads, rows)
    yield "<h3>The texts that they disagree about most</h3>"
    yield from _texts_table(findings, findings.disagreed.lines, disagreement=True)
    yield "</section>"


def _mistakes_section(findings: Findings) -> Iterator[str]:
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
    yield from _table("mistakes", ["mistake", "texts", "of those it calls so", "share"], rows)
    yield "<h3>The texts that it is surest of, and wrong about</h3>"
    yield from _texts_table(findings, findings.wrong.lines, disagreement=False)
    yield (
        '<p class="quiet">The words that did it: their mean push towards the mistake in the texts that are wrong so, '
        "those that push most altogether first. The error rate says how often a text is wrong that holds the word and "
        "that the model calls so: a word can push and still be right in most texts.</p>"
    )
    for (method, mistake), lines in findings.guilty.items():
        yield '<div class="part">'
        yield (
            f"<h3>Says {isolated(mistake.label)}, is {isolated(mistake.truth)}, by "
            f"{isolated(findings.called(method))}</h3>"
        )
        yield from _guilty_table(findings, method, mistake, lines[:MISTAKE_WORDS_SHOWN])
        yield "</div>"
    yield "</section>"


def _guilty_table(findings: Findings, method: str, mistake: Mistake, lines: Sequence[GuiltyWord]) -> Iterator[str]:
    if not lines:
        yield f"<p>No word stands in {findings.least_texts} such texts.</p>"
        return
    column = _Column([line.push for line in lines], [line.high - line.push for line in lines])
    rows = []
    question = Question(method, mistake.label)
    for line in lines:
        hue = _hue(findings, question, line.push) if line.told else "x"
        wish = Wish(question, line.word, line.side, 1, line.row)
        rows.append(
            _row(
                line.word,
                line.side,
                [
                    f'<td data-v="{line.texts}">{line.texts:,}</td>',
                    column.cell(line.push, line.high - line.push, hue, signed=True),
                    f'<td data-v="{line.total!r}">{column.write(line.total, signed=True)}</td>',
                    f'<td data-v="{line.rate!r}">{safe(percent(line.rate))} <small class="quiet">({line.texts:,} of '
                    f"{line.of:,}; {safe(percent(line.rate_low))} to {safe(percent(line.rate_high))})</small></td>",
                    f"<td>{_link(findings.examples, wish, 'text', 'row')}</td>",
                ],
                faint=not line.told,
            )
        )
    yield from _table("guilty", ["word", "wrong texts", "mean push", "total push", "error rate", "example"], rows)


def _difference_section(findings: Findings) -> Iterator[str]:
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
        f'<p class="quiet">{isolated(first)} ({isolated(_model(findings.corpus))}) is this run, {isolated(second)} '
        f"({isolated(_model(against))}) the other one. {how} A word is bold where the two are told apart, with at most "
        "5 % of those expected to be noise. Weights of two models are in units of each one’s own output.</p>"
    )
    if compared.only:
        yield f'<p class="quiet">In one run alone: {isolated(", ".join(compared.only))}.</p>'
    for table in compared.questions:
        yield f'<div class="part"><h3>{_question(findings, table.question)}</h3>'
        yield from _difference_table(findings, table)
        yield "</div>"
    yield "</section>"


def _difference_table(findings: Findings, table: Differences) -> Iterator[str]:
    lines = table.lines[:DIFFERENCES_SHOWN]
    told = sum(line.told for line in table.lines)
    yield (
        f'<p class="quiet">{table.compared:,} words in {findings.least_texts} texts or more of both · {told:,} told '
        f"apart · differences.csv has all</p>"
    )
    if not lines:
        return
    column = _Column([line.difference for line in lines], [line.high - line.difference for line in lines])
    means = _Column([own for line in lines for own in (line.first, line.second)], [])
    rows = []
    for line in lines:
        hue = _hue(findings, table.question, line.difference) if line.told else "x"
        rows.append(
            _row(
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
        f"difference ({safe(_level(table.level))} interval)",
        "example here and there",
    ]
    yield from _table("differences", heads, rows)


def _counts(line: Difference) -> str:
    both = f"{line.texts:,}" if line.texts == line.other_texts else f"{line.texts:,} and {line.other_texts:,}"
    return f'<td data-v="{min(line.texts, line.other_texts)}">{both}</td>'


def _difference_links(findings: Findings, question: Question, line: Difference) -> str:
    here = Wish(question, line.word, line.side, 0, line.row)
    there = here._replace(row=line.other_row)
    links = [
        _link(findings.examples, here, "here", "row"),
        _link(findings.other_examples, there, "there", "other"),
    ]
    return "".join(links)


def _texts_table(findings: Findings, lines: Sequence[TextLine], *, disagreement: bool) -> Iterator[str]:
    if not lines:
        yield "<p>There are none.</p>"
        return
    rows = []
    for line in lines:
        beginning = f'<td class="begin" dir="auto">{safe(line.beginning)}</td>'
        confidence = "" if math.isnan(line.confidence) else safe(percent(line.confidence))
        says = f'<td data-v="{_known(line.confidence)}">{isolated(line.label)} {confidence}</td>'
        cells = [beginning, says]
        if disagreement and line.methods is not None:
            names = " and ".join(isolated(findings.called(own)) for own in line.methods)
            cells.append(f"<td>{names}</td>")
            cells.append(f'<td data-v="{line.disagreement!r}">{safe(percent(line.disagreement))}</td>')
            cells.append(f'<td data-v="{line.at_least!r}">{safe(percent(line.at_least))}</td>')
        else:
            cells.append(f"<td>{isolated(line.truth)}</td>")
        name = f'<a href="#row-{line.row}">{isolated(shortened(line.id, _LONGEST_NAME))}</a>'
        find = safe(line.beginning)
        rows.append(f'<tr data-find="{find}"><th class="name" scope="row">{name}</th>{"".join(cells)}</tr>')
    more = ["methods", "disagreement", "at least"] if disagreement else ["true label"]
    yield from _table("texts", ["text", "begins", "the model says", *more], rows)


# ── texts ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _texts_section(findings: Findings) -> Iterator[str]:
    yield '<section id="texts"><h2 class="t1">Texts</h2>'
    yield (
        '<p class="quiet">Those that the tables lead to. The deeper a colour, the larger the weight within its row; '
        "words without colour are not distinguishable from 0.</p>"
    )
    yield _legend(findings.examples)
    for row in findings.examples.rows:
        yield from _article(findings.examples, row, "row")
    if findings.other_examples.documents and findings.against is not None:
        yield f"<h3>Of the other run, {isolated(findings.against.folder.name)}</h3>"
        for row in findings.other_examples.rows:
            yield from _article(findings.other_examples, row, "other")
    yield "</section>"


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
    yield f"<h3>{isolated(shortened(document.id, _LONGEST_NAME))}</h3>"
    if document.prediction is not None:
        truth = ""
        if document.truth is not None:
            is_wrong = document.truth not in document.prediction.assigned
            truth = f" · {'<strong>wrong</strong>, ' if is_wrong else ''}labelled {isolated(document.truth)}"
        yield f'<p class="quiet">{headline(document.prediction)}{truth}</p>'
    for error in dict.fromkeys(document.errors.values()):
        yield f'<p class="warning">⚠ {safe(error)}</p>'
    groups = groupby(document.explanations, key=lambda e: (e.target, e.against))
    for (target, against), members in groups:
        explanations = list(members)
        if len({(e.target, e.against) for e in document.explanations}) > 1:
            rather = "" if against is None else f" rather than {isolated(against)}"
            yield f'<p class="quiet">Why {isolated(target)}{rather}?</p>'
        yield from _rows(examples, explanations)
    yield "</article>"


def _rows(examples: Examples, explanations: Sequence[Explanation]) -> Iterator[str]:
    is_long = len(order_of(explanations[0])) > LONG_TEXT
    drawn = [Coloured.of(own, inline=False, aligned=not is_long) for own in explanations]
    first, *rest = (_coloured_row(own, examples.number(own.explanation.method)) for own in drawn)
    yield first
    if is_long and rest:
        other = f"{len(rest)} other method{'s' * (len(rest) != 1)}"
        yield f"<details><summary>The same text by {other}</summary>{''.join(rest)}</details>"
    else:
        yield from rest


def _coloured_row(own: Coloured, m: int) -> str:
    warnings = warnings_of(own.explanation)
    warned = f' <span title="{safe(" ".join(warnings))}">⚠</span>' if warnings else ""
    return (
        f'<div class="row" data-m="{m}"><div class="name"><strong>{isolated(own.explanation.label)}</strong>'
        f'{warned}</div><div class="words" dir="auto">{own.text()}</div></div>'
    )


# ── tables ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Column:
    """Numbers of one column, as many digits as the largest deserves, with bars and intervals."""

    def __init__(self, values: Sequence[float], half_widths: Sequence[float]) -> None:
        finite = [abs(own) for own in values if math.isfinite(own)]
        largest = max(finite, default=0.0)
        exponent = math.floor(math.log10(largest)) if largest > 0.0 else 0
        self._digits = Digits(max(_DIGITS - exponent, 0) if -4 <= exponent <= 5 else None)
        reach = [abs(own) + half for own, half in zip(values, half_widths, strict=False) if math.isfinite(half)]
        # One interval that is very wide would leave no room for all others: bars are cut at twice the largest mean.
        self._longest = min(max(reach, default=largest), 2.0 * largest) or 1.0

    def write(self, value: float, *, signed: bool) -> str:
        return number(self._digits.write(value, sign="+" if signed else "-")) if math.isfinite(value) else "?"

    def cell(self, value: float, half: float, hue: str, *, signed: bool) -> str:
        interval = f";--i:{100 * half / self._longest:.0f}" if math.isfinite(half) else ""
        bar = f"--v:{100 * value / self._longest:.0f}{interval}"
        return (
            f'<td class="{hue} bars" data-v="{value!r}" style="{bar}">{self.write(value, signed=signed)} '
            f"± {self.write(half, signed=False)}</td>"
        )


def _hue(findings: Findings, question: Question, effect: float) -> str:
    """The letter of a colour: that of the label which an effect speaks for, as in texts."""
    layout = findings.corpus.layout
    if not findings.is_signed(question.method):
        return "g"
    if layout.kind == "classes" and len(layout.labels) == 2 and question.target in layout.labels:
        return "b" if (question.target == layout.labels[1]) == (effect >= 0.0) else "o"
    return "b" if effect >= 0.0 else "o"


_LOOKS = {
    "example": ' class="still"',
    "for and against": ' class="still"',
    "example here and there": ' class="still"',
    "begins": ' class="begin"',
}
"""Classes of columns by their heads: those that are not sorted by, and those that hold running text."""


def _table(kind: str, heads: Sequence[str], rows: Iterable[str]) -> Iterator[str]:
    cells = "".join(f'<th scope="col"{_LOOKS.get(head, "")}>{head}</th>' for head in heads)
    yield f'<div class="scroll" role="region" aria-label="{kind}" tabindex="0"><table class="list {kind}">'
    yield f"<thead><tr>{cells}</tr></thead><tbody>"
    yield from rows
    yield "</tbody></table></div>"


def _row(word: str, side: int | None, cells: Sequence[str], *, faint: bool = False) -> str:
    where = "" if side is None else f' <small class="quiet">({SIDES[side]})</small>'
    name = isolated(shortened(" ".join(word.split()) or word, _LONGEST_NAME))
    look = "name faint" if faint else "name"
    return f'<tr><th class="{look}" scope="row">{name}{where}</th>{"".join(cells)}</tr>'


def _absolute_cell(column: _Column, line: WordLine) -> str:
    mean, low, high = (
        column.write(own, signed=False) for own in (line.absolute, line.absolute_low, line.absolute_high)
    )
    return f'<td data-v="{line.absolute!r}">{mean} <small class="quiet">({low} to {high})</small></td>'


def _texts_cell(line: WordLine) -> str:
    missed = f' <small class="quiet">(up to {line.texts + line.missed:,})</small>' if line.missed else ""
    return f'<td data-v="{line.texts}">{line.texts:,}{missed}</td>'


def _links(examples: Examples, question: Question, line: WordLine, signs: Sequence[int], anchor: str) -> str:
    names = {1: "for", -1: "against", 0: "text"}
    links = (
        _link(examples, wish_of(question, line, sign), names[sign] if len(signs) > 1 else "text", anchor)
        for sign in signs
    )
    return f"<td>{''.join(links)}</td>"


def _link(examples: Examples, wish: Wish, name: str, anchor: str) -> str:
    """To a text on this page; where it is not, its row."""
    row = examples.row(wish)
    if row is None:
        return f' <span class="quiet">row {wish.row:,}</span>'
    method = examples.number(wish.question.method)
    return f'<a href="#{anchor}-{row}" data-m="{method}" data-word="{safe(wish.word)}">{name}</a>'


def _known(value: float) -> str:
    return repr(value) if math.isfinite(value) else ""


def _level(level: float) -> str:
    """As many nines as it takes."""
    return f"{100 * level:.{2 if level < 0.9995 else 4}g} %" if level < 0.999 else f"{100 * level:.2f} %"


def _footer(findings: Findings, about: Mapping[str, str]) -> Iterator[str]:
    from limelight import __version__

    asked = findings.corpus.manifest.get("asked", {})
    facts = {name: asked.get(name) for name in ("output", "removal", "features", "seed") if asked.get(name) is not None}
    yield '<footer class="quiet">'
    yield f"<p>corpus: {isolated(findings.corpus.folder.name)}</p>"
    yield "".join(f"<p>{safe(name)}: {isolated(value)}</p>" for name, value in facts.items())
    yield from (f"<p>{safe(name)}: {isolated(value)}</p>" for name, value in about.items())
    yield f"<p>made by limelight {safe(__version__)}</p>"
    yield "</footer>"
