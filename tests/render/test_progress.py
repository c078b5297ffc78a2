"""What a person sees while something takes long, and what a log keeps of it."""

from __future__ import annotations

import io
import re
import sys
import time
from collections.abc import Callable

import pytest
from rich.cells import cell_len
from rich.console import Console

from limelight.core.progress import SILENT, Lines, OneLine, for_long_work, working
from limelight.render.terminal.progress import Bar, Said, progress_for

HOSTILE = "\x1b[2J[bold]name[/bold]\u202e:smile:\n\rnext"
SHOWN = "␛[2J[bold]name[/bold]<U+202E>:smile:"
CONTROL = re.compile(r"\x1b\[[0-9;?]*([A-Za-z])")


class Screen:
    """A terminal in memory: what was written to it, and what stands on it, line by line."""

    def __init__(self, width: int = 100) -> None:
        self.file = io.StringIO()
        self.console = Console(file=self.file, force_terminal=True, width=width, color_system="standard")

    @property
    def written(self) -> str:
        return self.file.getvalue()

    @property
    def lines(self) -> list[str]:
        """Follows line feeds, returns and the few controls that a bar uses."""
        rows, row, column = [""], 0, 0
        for part in re.split(r"(\x1b\[[0-9;?]*[A-Za-z]|\n|\r)", self.written):
            if part == "\n":
                row, column = row + 1, 0
                rows += [""] * (row + 1 - len(rows))
            elif part == "\r":
                column = 0
            elif control := CONTROL.fullmatch(part):
                assert control[1] in "AKhlm", part
                row -= int(part[2:-1] or 1) if control[1] == "A" else 0
                rows[row] = "" if part == "\x1b[2K" else rows[row]
            else:
                rows[row] = rows[row][:column].ljust(column) + part + rows[row][column + len(part) :]
                column += len(part)
        return [text.rstrip() for text in rows if text.strip()]

    def bar(self) -> Bar:
        return Bar(self.console, patience=0.0)


def drawn(screen: Screen, bar: Bar) -> str:
    """The line of the bar, drawn now."""
    assert bar._display is not None
    bar._display.refresh()
    return screen.lines[-1]


def test_a_bar_shows_name_count_note_and_time() -> None:
    screen = Screen()
    bar = screen.bar()
    bar.begin("training", 4800, 20)
    bar.advance(10, "epoch 2/5  loss 0.412")
    assert re.fullmatch(r"training [━╸╺]+    30/4,800 epoch 2/5  loss 0\.412 --:--", drawn(screen, bar))
    time.sleep(0.01)
    bar.advance(10)  # a step without a note leaves the last one
    assert re.fullmatch(r"training [━╸╺]+    40/4,800 epoch 2/5  loss 0\.412 [\d:]+", drawn(screen, bar))
    bar.end()
    assert screen.lines == []
    assert screen.written.count("\x1b[?25l") == screen.written.count("\x1b[?25h") == 1  # the cursor is back


def test_lines_that_are_said_stay_above_the_bar() -> None:
    screen = Screen()
    bar = screen.bar()
    bar.say("before")
    bar.begin("lime", 4)
    bar.advance(1)
    bar.say("one is done")
    assert screen.lines[:2] == ["before", "one is done"]
    assert screen.lines[2].startswith("lime ")
    bar.end()
    bar.say("after")
    assert screen.lines == ["before", "one is done", "after"]


def test_calls_without_a_task_do_nothing() -> None:
    screen = Screen()
    bar = screen.bar()
    bar.advance(3, "note")
    bar.end()
    bar.begin("exact", 2)
    bar.end()
    before = screen.written
    bar.end()
    bar.advance()
    assert screen.written == before
    assert screen.lines == []


def test_a_second_task_replaces_the_first() -> None:
    screen = Screen()
    bar = screen.bar()
    for task in ("lime", "exact values"):
        bar.begin(task, 4, 1)
        bar.advance(2)
        assert re.fullmatch(rf"{task} [━╸╺]+ 3/4 --:--", drawn(screen, bar))
        assert len(screen.lines) == 1
    bar.end()
    assert screen.lines == []


def test_a_bar_never_goes_back() -> None:
    screen = Screen()
    bar = screen.bar()
    bar.begin("reading", 10)
    counts = []
    for steps in (4, -3, 0, 6, 5):
        bar.advance(steps)
        match = re.search(r"(\d+)/(\d+)", drawn(screen, bar))
        assert match
        counts.append((int(match[1]), int(match[2])))
    assert counts == [(4, 10), (4, 10), (4, 10), (10, 10), (15, 15)]
    bar.end()


@pytest.mark.parametrize("steps", [0, 1, 10**6])
@pytest.mark.parametrize("name", ["exact", "gradient-error: a name that is long", "映画の説明" * 8])
@pytest.mark.parametrize("note", ["", "epoch 2/5  loss 0.412  accuracy 88.1 %", "映" * 99])
def test_a_line_fits_any_width(steps: int, name: str, note: str) -> None:
    for width in (20, 40, 60, 80, 200):
        screen = Screen(width)
        bar = screen.bar()
        bar.begin(name, steps)
        bar.advance(steps, note)
        assert len(screen.lines) == 1
        line = drawn(screen, bar)
        assert cell_len(line) <= width
        if width >= 40:
            assert f"{steps:,}/{steps:,} " in line
            assert re.search("━{4}", line)
            assert line.startswith(name[:2])
        bar.end()
        assert screen.lines == []


def test_the_note_goes_first_where_room_is_short() -> None:
    note = "epoch 2/5  loss 0.412  accuracy 88.1 %"
    shown = {}
    for width in (40, 60, 80):
        screen = Screen(width)
        bar = screen.bar()
        bar.begin("training", 480)
        bar.advance(20, note)
        shown[width] = drawn(screen, bar)
        bar.end()
    assert re.fullmatch(r"training [━╸╺]{17}  20/480 --:--", shown[40])
    assert re.fullmatch(r"training [━╸╺]{8}  20/480 epoch 2/5  loss 0\.412  ac\S*… --:--", shown[60])
    assert note in shown[80]


def test_what_it_is_given_only_shows() -> None:
    screen = Screen(200)
    bar = screen.bar()
    bar.begin(HOSTILE, 2)
    bar.advance(1, HOSTILE)
    bar.say(HOSTILE)
    line = drawn(screen, bar)
    assert line.count(f"{SHOWN}␊␍next") == 2
    bar.end()
    assert screen.lines == [SHOWN, "␍next"]
    assert "\x1b[2J" not in screen.written
    assert "\u202e" not in screen.written


def test_what_is_over_at_once_does_not_flicker() -> None:
    screen = Screen()
    bar = Bar(screen.console)
    bar.begin("lime", 2)
    bar.advance(2)
    bar.end()
    assert "lime" not in screen.written
    bar.begin("exact", 2)
    deadline = time.monotonic() + 10
    while "exact" not in screen.written and time.monotonic() < deadline:
        time.sleep(0.05)  # it draws itself, also when no step is done for long
    assert "exact" in screen.written
    bar.end()
    assert screen.lines == []


def test_standard_output_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen()
    bar = screen.bar()
    bar.begin("lime", 2)
    print("a result")
    bar.end()
    assert capsys.readouterr().out == "a result\n"
    assert "a result" not in screen.written


def test_where_nobody_watches() -> None:
    file = io.StringIO()
    log = Console(file=file)
    assert progress_for(log) is SILENT
    lines = Lines()
    assert progress_for(log, lines) is lines
    assert isinstance(progress_for(Screen().console, lines), Bar)
    assert progress_for(Console(file=file, force_terminal=True, _environ={"TERM": "dumb"})) is SILENT
    said = progress_for(log, Said(log))
    said.begin("training", 10, 5)
    said.advance(5, "note")
    said.say(HOSTILE)
    said.say("a line " * 30)
    said.end()
    assert file.getvalue() == f"{SHOWN}\n␍next\n{'a line ' * 30}\n"


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_the_terminal_is_as_before_after_an_interruption(error: type[BaseException]) -> None:
    screen = Screen()
    bar = screen.bar()

    def work(step: Callable[[], None]) -> None:
        try:
            bar.begin("lime", 3)
            step()
            raise error
        finally:
            bar.end()

    with pytest.raises(error):
        work(bar.advance)
    assert screen.lines == []
    assert screen.written.rindex("\x1b[?25h") > screen.written.rindex("\x1b[?25l")


def test_long_work_says_how_far_it_is_where_no_progress_was_given(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert type(for_long_work()) is Lines
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    line = for_long_work()
    assert type(line) is OneLine
    line._every = 0.0
    with working(line, "samples\x1b", 10):
        line.advance(3)
        line.say("stays")
    assert capsys.readouterr().err == "\rsamples␛: 3 of 10\r                 \rstays\n"
