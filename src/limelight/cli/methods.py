"""`limelight methods`: what there is, what each implementation needs, and what can be set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from limelight.render.numbers import typed

if TYPE_CHECKING:
    from limelight.explainers.method import Implementation, Method

_ROOM_FOR_A_TABLE = 100


def methods() -> None:
    """List the methods: the implementations of each, what they need of a model, and the options that they take."""
    from limelight.explainers.method import methods as declared

    console = Console()
    listed = _beside if console.width >= _ROOM_FOR_A_TABLE else _below
    console.print(listed(declared()), highlight=False)
    console.print(Text("\nAn option is given by --set, such as --set layer=0.", style="dim"), highlight=False)


def _beside(methods: Sequence[Method]) -> Table:
    """Ids and names in columns of their own."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for head in ("id", "name", "what it is, and its implementations"):
        table.add_column(head, no_wrap=head in ("id", "name"), overflow="fold")
    for method in methods:
        table.add_row(Text(method.id, style="cyan"), Text(method.label), Group(*_about(method)))
    return table


def _below(methods: Sequence[Method]) -> Group:
    """Ids and names above, for a narrow terminal."""
    lines: list[RenderableType] = []
    for method in methods:
        lines.append(Text.assemble((method.id, "cyan"), f"  {method.label}"))
        lines.append(Padding(Group(*_about(method)), (0, 0, 0, 2)))
    return Group(*lines)


def _about(method: Method) -> list[RenderableType]:
    implementations = [
        line
        for implementation in method.implementations
        for line in _implementation(implementation, named=len(method.implementations) > 1)
    ]
    return [Text(method.summary), *(Padding(line, (0, 0, 0, 2)) for line in implementations)]


def _implementation(implementation: Implementation, named: bool) -> Iterator[RenderableType]:
    """An implementation's needs, whether it draws samples, its limits; then its options as they are typed."""
    name = f"{implementation.name.replace('_', ' ')}: " if named else ""
    only = "".join(f" --{argument} {value}" for argument, value in implementation.only.items())
    only += " and outputs linear in the logits" if implementation.linear else ""
    facts = [
        f"needs {implementation.need}",
        "sampled" if implementation.sampled else "not sampled",
        *([f"only for{only}"] if only else []),
    ]
    yield Text(f"{name}{', '.join(facts)}", style="dim")
    if implementation.options:
        options = (f"{option}={typed(value)}" for option, value in implementation.parameters.items())
        yield Padding(Text("  ".join(options), style="green"), (0, 0, 0, 2))
