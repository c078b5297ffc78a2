"""Explanations as HTML: one self-contained page, or a fragment for a notebook.

Text, label names, method ids and parameters may come from strangers. Everything goes through `markup`; a page runs one
script, its own, and forbids all others; nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from limelight.errors import InputError
from limelight.explanation.origin import facts_about
from limelight.explanation.result import Explanation
from limelight.explanation.wording import asked_in_words
from limelight.inputs.document import Text
from limelight.render.entries import Entry
from limelight.render.html.article import Setting, article, headline
from limelight.render.html.escaping import isolated, safe, shortened
from limelight.render.html.page_frame import SCRIPT, page_footer, page_head, policy
from limelight.render.html.stylesheet import fragment_stylesheet, page_stylesheet
from limelight.render.row_model import Order

_BEGINNING = 70
"""Characters of a text in the index."""


def page(explanations: Sequence[Explanation], about: Mapping[str, str] | None = None) -> str:
    """A complete page: nothing outside it is needed to show it, and it can be encoded in UTF-8 whatever it shows.

    `about` is what the footer says beside what the explanations know of their origin, such as a command.
    """
    _check(explanations)
    entries = [Entry(text, list(members)) for text, members in groupby(explanations, key=lambda e: e.text)]
    return page_of(entries, about)


def page_of(
    entries: Sequence[Entry], about: Mapping[str, str] | None = None, *, top: int = 5, order: Order = "weight"
) -> str:
    """A complete page of several texts, which may have names, and of which some may have failed.

    `top` words of each method are listed as its strongest, in this order.
    """
    explained = [entry for entry in entries if entry.explanations]
    _check(explained)
    setting = Setting(1 if len(entries) == 1 else 2, top, order)
    return "\n".join(
        [
            *page_head(_title(entries), f"\n{page_stylesheet()}\n", policy()),
            "<body>",
            '<main class="limelight">',
            *_index(entries),
            *_articles(entries, setting),
            *page_footer(facts_about([own for entry in explained for own in entry.explanations], about or {})),
            "</main>",
            f"<script>{SCRIPT}</script>",
            "</body>",
            "</html>",
            "",
        ]
    )


def fragment(explanations: Sequence[Explanation]) -> str:
    """The content of a page to put into another page, such as a notebook's."""
    _check(explanations)
    parts = [f"<style>\n{fragment_stylesheet()}\n</style>", '<div class="limelight">']
    for _, members in groupby(explanations, key=lambda e: e.text):
        parts += ['<div class="article">', *article(list(members), Setting(None)), "</div>"]
    parts += page_footer(facts_about(explanations, {}))
    return "\n".join([*parts, "</div>", f"<script>{SCRIPT}</script>"])


def _check(found: Sequence[object]) -> None:
    if not len(found):
        raise InputError("there is no explanation to show: give at least one")


def _title(entries: Sequence[Entry]) -> str:
    if len(entries) > 1:
        return f"{len(entries)} texts explained"
    first = entries[0].explanations[0]
    return (
        f"Why {safe(asked_in_words(first))}? The model says {safe(', '.join(first.prediction.assigned) or 'nothing')}"
    )


def _index(entries: Sequence[Entry]) -> Iterator[str]:
    if len(entries) == 1:
        return
    yield f'<h1 class="t0">{len(entries)} texts</h1>'
    yield '<nav aria-label="Texts"><ol class="index">'
    for i, entry in enumerate(entries, start=1):
        said = headline(entry.explanations[0].prediction) if entry.explanations else "could not be explained"
        yield (
            f'<li><a href="#text-{i}">{_called(entry, i)}</a> <span>{said}</span> '
            f'<span class="quiet" dir="auto">{safe(_beginning(entry.text))}</span></li>'
        )
    yield "</ol></nav>"


def _articles(entries: Sequence[Entry], setting: Setting) -> Iterator[str]:
    alone = len(entries) == 1
    for i, entry in enumerate(entries, start=1):
        yield f'<article class="article" id="text-{i}">'
        if not alone or entry.id is not None:
            yield f'<p class="quiet called">{_called(entry, i)}</p>'
        if entry.explanations:
            # The rest is advice for a terminal: a page shows the other methods.
            why = None if entry.why is None else entry.why.partition(" --compare")[0]
            yield from article(entry.explanations, setting, why)
        if entry.error is not None:
            yield f'<p class="x" dir="auto">{safe(_beginning(entry.text))}</p>'
            yield f'<p class="warning">⚠ {safe(entry.error)}</p>'
        yield "</article>"


def _called(entry: Entry, i: int) -> str:
    return f"Text {i}" if entry.id is None else isolated(entry.id)


def _beginning(text: Text) -> str:
    whole = text if isinstance(text, str) else " / ".join(text)
    return shortened(" ".join(whole[: 4 * _BEGINNING].split()), _BEGINNING)
