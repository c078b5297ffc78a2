"""An evaluation as HTML: the verdict first, then curves and tables. Everything shown is escaped; nothing is fetched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from limelight.evaluation.curves import curves_of
from limelight.evaluation.measure import measures
from limelight.evaluation.report.curve_drawing import drawing
from limelight.evaluation.report.numbers import towards
from limelight.evaluation.report.tables import Shown, all_tables
from limelight.render.html.escaping import isolated, numbers_in, safe
from limelight.render.html.page_frame import page_head

if TYPE_CHECKING:
    from limelight.evaluation.result import Evaluation

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
.limelight-evaluation {--paper: #fff; --ink: #18181c; --quiet: #5c5c66; --line: #d9d9e0; --tint: #f4f6fb;
  --c0: #2f6db3; --c1: #b8501a; --c2: #2a8a57; --c3: #7a4fb0; --c4: #a3324f; --c5: #5f6b1a; --c6: #14808a;
  --c7: #6b4a2f; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, sans-serif; max-width: 76rem; margin: 0 auto;
  padding: 1.5rem clamp(1rem, 4vw, 2.5rem) 4rem; box-sizing: border-box; overflow-wrap: anywhere}
.limelight-evaluation h1 {font-size: 1.6rem; line-height: 1.25; margin: 0 0 .5rem}
.limelight-evaluation h2 {font-size: 1.15rem; margin: 2.2rem 0 .4rem}
.limelight-evaluation p {margin: .4rem 0}
.limelight-evaluation .quiet {color: var(--quiet); font-size: .875rem}
.limelight-evaluation .verdict {background: var(--tint); border-inline-start: 4px solid var(--c0); padding: .6rem 1rem;
  border-radius: .25rem}
.limelight-evaluation .verdict li {margin: .3rem 0}
.limelight-evaluation .scroll {overflow-x: auto}
.limelight-evaluation table {border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums}
.limelight-evaluation th, .limelight-evaluation td {padding: .3rem .8rem .3rem 0; text-align: start;
  white-space: nowrap; vertical-align: top; font-weight: 400}
.limelight-evaluation thead th {border-bottom: 2px solid var(--line); font-weight: 650}
.limelight-evaluation tbody tr + tr > * {border-top: 1px solid var(--line)}
.limelight-evaluation .figures {display: flex; flex-wrap: wrap; gap: 1rem 2rem}
.limelight-evaluation figure {margin: 0; flex: 1 1 28rem; max-width: 40rem}
.limelight-evaluation svg {width: 100%; height: auto; display: block}
.limelight-evaluation svg text {font: 12px system-ui, sans-serif; fill: var(--ink)}
.limelight-evaluation figcaption {font-size: .875rem; color: var(--quiet)}
.limelight-evaluation a {color: var(--c0)}
@media (prefers-color-scheme: dark) {.limelight-evaluation {--paper: #1b1c21; --ink: #f0f0f4; --quiet: #a9a9b6;
  --line: #3c3d46; --tint: #24262e; --c0: #7db0f0; --c1: #f0a066; --c2: #6cc795; --c3: #b999ea; --c4: #ef8ba5;
  --c5: #c3cf6b; --c6: #6fd0da; --c7: #d0a888}}
@media print {.limelight-evaluation section {break-inside: avoid}}
"""


def page(evaluation: Evaluation, links: Mapping[str, str]) -> str:
    """A complete page, which can be encoded in UTF-8 whatever it shows."""
    return "\n".join(
        [
            *page_head("Which explanation to trust", f"{_STYLE}\nbody {{margin: 0}}", _POLICY),
            "<body>",
            *_content(evaluation, links, "main"),
            "</body>",
            "</html>",
            "",
        ]
    )


def fragment(evaluation: Evaluation) -> str:
    """The page's content to put into another page, such as a notebook's."""
    return "\n".join([f"<style>{_STYLE}</style>", *_content(evaluation, {}, "div")])


def _content(evaluation: Evaluation, links: Mapping[str, str], tag: str) -> Iterator[str]:
    yield f'<{tag} class="limelight-evaluation">'
    yield "<h1>Which explanation to trust for this model</h1>"
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
    yield "<section><h2>Curves</h2>"
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
    yield "<section><h2>Where methods disagree most</h2><ul>"
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
    yield f"<section><h2>{safe(table.title)}</h2>"
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
    yield "<section><h2>Left out, and what did not work</h2><ul>"
    yield from (f"<li>{isolated(name)}: {safe(why)}</li>" for name, why in skipped.items())
    yield from (f"<li>{safe(notice)}</li>" for notice in notices[:50])
    if len(notices) > 50:
        yield f"<li>{len(notices) - 50:,} more in evaluation.json</li>"
    yield "</ul></section>"
