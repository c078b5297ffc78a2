"""What an experiment is: it computes numbers, draws them, and sets them beside the paper's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from limelight.reproduce.folder import RunFolder
    from limelight.reproduce.lab import Lab

Numbers = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """One line of the report's tables."""

    quantity: str
    paper: str
    ours: str
    verdict: str


@dataclass(frozen=True)
class Experiment:
    """`compute` returns what goes into the JSON; `draw` makes a matplotlib figure from that and the stored arrays.

    `model`: which of the two models of a run it is about. `over_documents`: whether it rests on all of the run's
    documents or on one text.
    """

    name: str
    title: str
    compute: Callable[[Lab], Numbers]
    draw: Callable[[RunFolder, Numbers], Any]
    rows: Callable[[Numbers], list[Row]]
    caption: Callable[[Numbers], str]
    model: Literal["paper", "deep"] = "paper"
    over_documents: bool = True


def pm(stats: Numbers, digits: int = 3) -> str:
    """mean ± standard deviation."""
    return f"{stats['mean']:.{digits}f} ± {stats['std']:.{digits}f}"


def percent(value: float) -> str:
    return f"{100 * value:.1f} %"
