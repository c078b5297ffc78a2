"""The page of a report: one file that needs nothing else, whatever the texts and labels hold.

Everything that comes from texts, labels or names goes through `markup`. The page runs one script, its own, and forbids
all others; nothing is fetched. All is there without the script, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from itertools import chain

from limelight.corpus.analysis.findings import Findings
from limelight.corpus.report.page import tables
from limelight.corpus.report.page.sections import (
    differences_section,
    disagreement_section,
    mistakes_section,
    signs_section,
    texts_section,
    words_section,
)
from limelight.corpus.store.reading import NO_TEXT, UNCHECKED
from limelight.render.html.escaping import isolated, safe
from limelight.render.html.page_frame import page_footer, page_head, policy
from limelight.render.html.stylesheet import SCOPE, page_stylesheet
from limelight.render.numbers import percent

_RULES, _SCRIPT = (
    "\n" + resources.files(__package__).joinpath(name).read_text("utf-8") for name in ("report.css", "report.js")
)
"""Beside those of the page of an explanation. Without the script nothing is missing but search, sorting and the choice
of one question at a time."""
SECTIONS: Mapping[str, tuple[str, Callable[[Findings], Iterator[str]]]] = {
    "words": ("Words", words_section),
    "signs": ("Changing signs", signs_section),
    "disagreement": ("Where methods disagree", disagreement_section),
    "mistakes": ("Where the model is wrong", mistakes_section),
    "differences": ("The other run", differences_section),
    "texts": ("Texts", texts_section),
}
"""The sections of the page by their anchors: what the contents call them, and what writes them."""


def page(findings: Findings, about: Mapping[str, str]) -> str:
    """The whole page."""
    sections = {anchor: list(section(findings)) for anchor, (_, section) in SECTIONS.items()}
    body = [
        *_head(findings),
        '<nav class="contents" aria-label="Contents">',
        *(f'<a href="#{anchor}">{SECTIONS[anchor][0]}</a>' for anchor, lines in sections.items() if lines),
        "</nav>",
        *chain.from_iterable(sections.values()),
        *_footer(findings, about),
    ]
    style = f"\n{page_stylesheet(_RULES)}\n"
    return "\n".join(
        [
            *page_head(safe(_title(findings)), style, policy(_SCRIPT)),
            "<body>",
            f'<main class="{SCOPE}">',
            *body,
            "</main>",
            f"<script>{_SCRIPT}</script>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _title(findings: Findings) -> str:
    return f"What {tables.model_name(findings.corpus)} does with {len(findings.summary.texts):,} texts"


def _head(findings: Findings) -> Iterator[str]:
    corpus, texts = findings.corpus, findings.summary.texts
    yield f'<h1 class="t0">{isolated(_title(findings))}</h1>'
    yield '<ul class="figures">'
    yield _figure(f"{len(texts):,}", "texts")
    yield _figure(f"{len(corpus.methods)}", "method" + "s" * (len(corpus.methods) != 1))
    if findings.accuracy is not None:
        right, low, high = findings.accuracy.share
        of = f"right of {findings.accuracy.labelled:,} with a label ({tables.ends(low, high)})"
        yield _figure(safe(percent(right)), of)
    if texts.failed:
        yield _figure(f"{texts.failed:,}", "could not be explained")
    yield "</ul>"
    if not corpus.is_complete:
        yield (
            f'<p class="notice">The run is not finished: {len(corpus.shards()):,} of {corpus.n_shards:,} shards are '
            "there, and this is what they say.</p>"
        )
    for own in (corpus, findings.against):
        if own is not None and not own.is_checked:
            yield f'<p class="notice">{isolated(own.folder.name)} was {safe(UNCHECKED)}.</p>'
    if not corpus.layout.keep_text:
        yield f'<p class="notice">{safe(NO_TEXT)}; run the corpus with --keep-text to see the texts.</p>'


def _figure(value: str, what: str) -> str:
    return f'<li><strong>{value}</strong><span class="quiet">{what}</span></li>'


def _footer(findings: Findings, about: Mapping[str, str]) -> Iterator[str]:
    asked = findings.corpus.manifest.get("asked", {})
    facts = {name: asked.get(name) for name in ("output", "removal", "features", "seed") if asked.get(name) is not None}
    yield from page_footer(
        about,
        f"<p>corpus: {isolated(findings.corpus.folder.name)}</p>",
        "".join(f"<p>{safe(name)}: {isolated(value)}</p>" for name, value in facts.items()),
    )
