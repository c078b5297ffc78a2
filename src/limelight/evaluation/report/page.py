"""An evaluation as HTML: the verdict first, then curves and tables. Everything shown is escaped; nothing is fetched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import resources
from typing import TYPE_CHECKING, Any

from limelight.evaluation.measure import measures
from limelight.evaluation.report.curves import curves_of, drawing
from limelight.evaluation.report.numbers import towards
from limelight.evaluation.report.tables import Shown, all_tables
from limelight.render.html.escaping import isolated, numbers_in, safe
from limelight.render.html.page_frame import page_head, policy
from limelight.render.html.stylesheet import SCOPE, fragment_stylesheet, page_stylesheet

if TYPE_CHECKING:
    from limelight.evaluation.result import Evaluation

_RULES = resources.files(__package__).joinpath("report.css").read_text("utf-8")
"""Beside those of the page of an explanation."""


def page(evaluation: Evaluation, links: Mapping[str, str]) -> str:
    """A complete page, which can be encoded in UTF-8 whatever it shows."""
    return "\n".join(
        [
            *page_head(_title(evaluation), f"\n{page_stylesheet(_RULES)}\n", policy(None)),
            "<body>",
            *_content(evaluation, links, "main"),
            "</body>",
            "</html>",
            "",
        ]
    )


def fragment(evaluation: Evaluation) -> str:
    """The page's content to put into another page, such as a notebook's."""
    return "\n".join([f"<style>\n{fragment_stylesheet(_RULES)}\n</style>", *_content(evaluation, {}, "div")])


def _content(evaluation: Evaluation, links: Mapping[str, str], tag: str) -> Iterator[str]:
    yield f'<{tag} class="{SCOPE}">'
    yield f'<h1 class="t0">{_title(evaluation)}</h1>'
    yield f'<p class="quiet">{_source(evaluation)}</p>'
    first, *rest = evaluation.verdict
    yield f'<section class="verdict" aria-label="Verdict"><p>{numbers_in(first)}</p><ul>'
    yield from (f"<li>{numbers_in(sentence)}</li>" for sentence in rest)
    yield "</ul></section>"
    yield from _curves(evaluation)
    yield from _examples(evaluation, links)
    for table in all_tables(evaluation):
        yield from _table(table)
    yield from _notices(evaluation)
    yield f'<p class="quiet">made by limelight {safe(evaluation.about.get("limelight", ""))}</p>'
    yield f"</{tag}>"


def _title(evaluation: Evaluation) -> str:
    return f"Which explanation to trust for {safe(evaluation.about.get('model', 'this model'))}"


def _source(evaluation: Evaluation) -> str:
    about = evaluation.about
    told = [
        f"model: {isolated(about['model'])}" if "model" in about else "",
        f"data: {isolated(about['data'])}" if "data" in about else "",
        f"{len(evaluation):,} {'pairs of texts' if about.get('pairs') else 'texts'}",
        _explained(evaluation),
        f"explained with removal {safe(about['removal'])}",
        f"seed {safe(about['seed'])}",
        safe(about.get("date", "")),
        safe(about.get("device", "")),
    ]
    return " · ".join(part for part in told if part)


def _explained(evaluation: Evaluation) -> str:
    """The output, and of which label."""
    about, output = evaluation.about, safe(evaluation.about["output"])
    if about.get("target") is not None:
        return f"{output} of {isolated(about['target'])}"
    if about.get("kind") == "regression":
        return f"{output} of {isolated(about['labels'][0])}" if about["labels"] != [output] else output
    return f"{output} of the {'likeliest' if about.get('kind') == 'multi-label' else 'predicted'} label"


def _curves(evaluation: Evaluation) -> Iterator[str]:
    drawn = [
        (f"{measure.label}, {safe(removal)}. {measure.curve.caption}", curves)
        for measure in measures()
        if measure.curve is not None
        for removal in evaluation.summary.removals
        if (curves := curves_of(evaluation, measure, removal))
    ]
    if not drawn:
        return
    yield '<section><h2 class="t1">Curves</h2>'
    yield (
        f'<p class="quiet">Means over {len(evaluation):,} texts; bands are 95 % intervals. Methods with signs by what '
        f"{towards(evaluation)} (solid), others by size (dashed).</p>"
    )
    yield '<div class="figures">'
    for caption, curves in drawn:
        yield f"<figure>{drawing(curves, str(evaluation.about['output']))}<figcaption>{caption}</figcaption></figure>"
    yield "</div></section>"


def _examples(evaluation: Evaluation, links: Mapping[str, str]) -> Iterator[str]:
    if not links:
        return
    yield '<section><h2 class="t1">Where methods disagree most</h2><ul>'
    for document in evaluation.documents:
        link = links.get(str(document["id"]))
        if link is not None:
            said = f"{document['words']:,} words{_answer(evaluation, document)}"
            yield f'<li><a href="{safe(link)}">text {isolated(document["id"])}</a>: {said}</li>'
    yield "</ul></section>"


def _answer(evaluation: Evaluation, document: Mapping[str, Any]) -> str:
    """The label that the model gives to a text; the number of a regression stands on the text's own page."""
    if evaluation.about.get("kind") == "regression":
        return ""
    says = "the likeliest label is" if evaluation.about.get("kind") == "multi-label" else "the model says"
    return f", {says} {isolated(document['label'])}"


def _table(table: Shown) -> Iterator[str]:
    yield f'<section><h2 class="t1">{safe(table.title)}</h2>'
    yield f'<p class="quiet">{safe(table.note)}</p><div class="scroll" tabindex="0"><table><thead><tr>'
    yield "".join(f'<th scope="col">{isolated(head)}</th>' for head in table.heads)
    yield "</tr></thead><tbody>"
    for name, *cells in table.rows:
        row = "".join(f"<td>{numbers_in(cell)}</td>" for cell in cells)
        yield f'<tr><th scope="row">{isolated(name)}</th>{row}</tr>'
    yield "</tbody></table></div></section>"


def _notices(evaluation: Evaluation) -> Iterator[str]:
    skipped = {**evaluation.about.get("skipped", {}), **evaluation.about.get("unfit", {})}
    unread = [f"text {id}: {why}" for id, why in evaluation.about.get("left_out", {}).items()]
    notices = [*unread, *evaluation.about.get("notices", [])]
    if not skipped and not notices:
        return
    yield '<section><h2 class="t1">Left out, and what did not work</h2><ul>'
    yield from (f"<li>{isolated(name)}: {safe(why)}</li>" for name, why in skipped.items())
    yield from (f"<li>{safe(notice)}</li>" for notice in notices[:50])
    if len(notices) > 50:
        yield f"<li>{len(notices) - 50:,} more in evaluation.json</li>"
    yield "</ul></section>"
