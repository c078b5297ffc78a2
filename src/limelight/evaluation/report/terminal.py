"""An evaluation on a terminal: the verdict in sentences, then the scores in tables."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from limelight.core.sanitize import visible
from limelight.evaluation.report.tables import Shown, comparisons, scores
from limelight.evaluation.result import Evaluation


def print_evaluation(evaluation: Evaluation, console: Console) -> None:
    """The verdict, the scores and the pairs; the rest is in the report."""
    first, *rest = evaluation.verdict
    console.print(Text(visible(first), style="bold"), highlight=False)
    for sentence in rest:
        console.print(Text(f"· {visible(sentence)}"), highlight=False)
    for table in (*scores(evaluation), *comparisons(evaluation)):
        _print(table, console)


def _print(shown: Shown, console: Console) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for i, head in enumerate(shown.heads):
        table.add_column(Text(visible(head)), no_wrap=not i, overflow="fold")
    for row in shown.rows:
        table.add_row(*(Text(visible(cell), style="" if i else "cyan") for i, cell in enumerate(row)))
    console.print(Text(f"\n{shown.title}", style="bold"), highlight=False)
    console.print(Text(shown.note, style="dim"), highlight=False)
    console.print(table)
