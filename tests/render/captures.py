"""What a console of some width and colours was given."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.console import Console

from limelight.explanation.result import Explanation
from limelight.render.terminal.page import Look, render


def shown(
    comparison: Sequence[Explanation],
    width: int = 100,
    system: str | None = None,
    numbers: bool = False,
    look: Look | None = None,
) -> str:
    """What is printed, with escape sequences if there is a colour system."""
    file = io.StringIO()
    console = Console(
        file=file, width=width, color_system=system, force_terminal=system is not None, legacy_windows=False
    )
    render(comparison, console=console, look=look or Look(numbers=numbers))
    return file.getvalue()


def lines(output: str) -> list[str]:
    """Without the blanks at their ends."""
    return [line.rstrip() for line in output.splitlines()]


def summary_of(output: str) -> list[str]:
    """The lines between the question and what follows."""
    rest = lines(output)[next(i for i, line in enumerate(lines(output)) if "The strongest" in line) :]
    after = rest[rest.index("") + 1 :]
    return after[: after.index("")]


def rows_of(output: str) -> dict[str, str]:
    """The coloured or marked text beside each method's name, where it takes one line: what follows the legend."""
    blocks = "\n".join(lines(output)).split("\n\n")
    legend = next(i for i, block in enumerate(blocks) if "in its row." in " ".join(block.split()))
    return {line.split("  ")[0]: line.split("  ", 1)[1].strip() for line in blocks[legend + 1].splitlines()}
