"""One page and one table of all results beside the paper's values. Everything shown is escaped; nothing is fetched."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from limelight.core.sanitize import visible
from limelight.render.html.escaping import numbers_in, safe
from limelight.render.html.page_frame import page_head
from limelight.render.html.stylesheet import SCOPE, page_stylesheet
from limelight.reproduce.experiment import Experiment, Row, source_line

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_RULES = """
.S nav {columns: 2; margin: var(--space-4) 0}
.S nav a {display: block}
.S h2.t1 {margin-top: var(--space-6)}
.S figure {margin: 0}
.S img {display: block; max-width: 100%; height: auto; margin: var(--space-4) 0 var(--space-2); background: #fff}
.S figcaption {max-width: 60rem}
.S table {width: 100%}
.S th, .S td {text-align: start; vertical-align: top; white-space: normal}
.S tbody th {min-width: 14rem; max-width: none; padding-inline-start: 0}
@media (max-width: 40rem) {.S nav {columns: 1} .S tbody th {min-width: 8rem}}
@media print {.S section {break-inside: avoid}}
"""


def page(experiments: Sequence[Experiment], results: Mapping[str, Any], images: Mapping[str, bytes]) -> str:
    """The report. An experiment without result has a section too: it says how to get one."""
    return "\n".join(
        [
            *page_head(
                "Attention meets post-hoc interpretability, reproduced", f"\n{page_stylesheet(_RULES)}\n", _POLICY
            ),
            f'<body><main class="{SCOPE}">',
            *_head(experiments, [result["about"] for result in results.values()]),
            *(_section(own, results.get(own.name), images.get(own.name)) for own in experiments),
            "</main></body>",
            "</html>",
            "",
        ]
    )


def _head(experiments: Sequence[Experiment], abouts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield (
        '<h1 class="t0">“Attention Meets Post-hoc Interpretability”, reproduced</h1>\n'
        '<p class="quiet">Lopardo, Precioso, Garreau (ICML 2024). Every figure and number of the paper, computed again '
        "by limelight: the paper's value, ours, and what to make of it.</p>"
    )
    if abouts:
        yield f"<p>{safe(source_line(abouts[0]))}; seed {safe(abouts[0]['seed'])}.</p>"
    if any(about["is_sample"] for about in abouts):
        yield (
            '<p class="notice" role="note">These results rest on the small sample of short reviews that comes with '
            "limelight, not on IMDB: they show that everything runs. For figures to compare with the paper's, give "
            "--data and a model trained with the paper's settings.</p>"
        )
    links = "\n".join(f'<a href="#{safe(own.name)}">{safe(own.title)}</a>' for own in experiments)
    yield f"<nav>\n{links}\n</nav>"


def _section(experiment: Experiment, result: Mapping[str, Any] | None, image: bytes | None) -> str:
    name, title = safe(experiment.name), safe(experiment.title)
    start = f'<section id="{name}">\n<h2 class="t1">{title}</h2>\n'
    if result is None:
        return f'{start}<p class="notice" role="note">{safe(_not_there(experiment))}</p></section>'
    numbers, about, figure = result["numbers"], result["about"], ""
    if image is not None:
        source, caption = base64.b64encode(image).decode(), numbers_in(experiment.captioned(numbers))
        figure = f"""<figure><img alt="Figure: {title}" src="data:image/png;base64,{source}">
<figcaption>{caption}</figcaption></figure>
"""
    written = ([numbers_in(cell) for cell in row] for row in experiment.rows(numbers))
    rows = "\n".join(
        f'<tr><th scope="row">{quantity}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
        for quantity, *cells in written
    )
    return f"""{start}{figure}<div class="scroll"><table><thead><tr>
{"".join(f'<th scope="col">{head}</th>' for head in Row._fields)}
</tr></thead><tbody>
{rows}
</tbody></table></div>
<p class="quiet">{safe(about["date"])}, {safe(about["device"])}, {safe(about["seconds"])} s; numbers in {name}.json</p>\
</section>"""


def _not_there(experiment: Experiment) -> str:
    if experiment.model == "deep":
        return (
            "Not computed: this experiment needs a model of several layers. Train one with limelight train --preset "
            "deep and give its folder with --deep-model."
        )
    return f"Not computed in this run: limelight reproduce {experiment.name} with the same --out adds it."


def table(experiments: Sequence[Experiment], results: Mapping[str, Any]) -> str:
    """The rows of all experiments in Markdown."""
    lines = ["| experiment | quantity | paper | ours | verdict |", "|---|---|---|---|---|"]
    for experiment in experiments:
        result = results.get(experiment.name)
        if result is None:
            lines.append(f"| {experiment.name} | — | — | not computed | {_cell(_not_there(experiment))} |")
            continue
        rows = experiment.rows(result["numbers"])
        lines += [f"| {' | '.join(map(_cell, (experiment.name, *row)))} |" for row in rows]
    if results:
        about = next(iter(results.values()))["about"]
        lines += ["", f"{_cell(source_line(about))}; seed {about['seed']}; {_cell(about['device'])}; {about['date']}."]
    return "\n".join(lines) + "\n"


def _cell(value: object) -> str:
    """Harmless inside a Markdown table."""
    return html.escape(visible(str(value)), quote=False).replace("|", "\\|").replace("`", "\\`")
