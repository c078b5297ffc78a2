"""An experiment: it computes numbers, draws them, and sets them beside the paper's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from limelight.reproduce.folder import RunFolder
    from limelight.reproduce.lab import Lab

Numbers = dict[str, Any]


class Row(NamedTuple):
    """One line of the report's tables."""

    quantity: str
    paper: str
    ours: str
    verdict: str


@dataclass(frozen=True)
class Experiment:
    """`compute` returns what goes into the JSON; `draw` makes a matplotlib figure from that and the stored arrays.

    `table` has a line for each row of the report, its four cells with " | " between. Cells and `caption` are templates
    that are filled by the numbers, and by the phrases that `prose` makes of them. `model`: the one of a run's two
    models that it is about. `over_documents`: whether it rests on all of the run's documents or on one text.
    """

    name: str
    title: str
    compute: Callable[[Lab], Numbers]
    draw: Callable[[RunFolder, Numbers], Any]
    table: str
    caption: str
    prose: Callable[[Numbers], Mapping[str, Any]] = lambda numbers: {}
    model: Literal["paper", "deep"] = "paper"
    over_documents: bool = True

    def rows(self, numbers: Numbers) -> list[Row]:
        known = {**numbers, **self.prose(numbers)}
        return [Row(*(cell.format(**known) for cell in line.split(" | "))) for line in self.table.strip().split("\n")]

    def captioned(self, numbers: Numbers) -> str:
        return self.caption.format(**{**numbers, **self.prose(numbers)})


def pm(stats: Numbers, digits: int = 3) -> str:
    """mean ± standard deviation."""
    return f"{stats['mean']:.{digits}f} ± {stats['std']:.{digits}f}"


def percent(value: float) -> str:
    return f"{100 * value:.1f} %"
