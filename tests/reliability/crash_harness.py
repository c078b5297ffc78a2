"""Stops commands before each of their file operations, gives them again, and compares with a run that was not stopped.

    python tests/reliability/crash_harness.py --all          every file operation, killed and torn
    python tests/reliability/crash_harness.py --kills 50     SIGKILL at random moments
    python tests/reliability/crash_harness.py --full 20      a full disk of so many sizes

A run is a fork of this process, which has imported everything: it starts at once, and ends by SIGKILL. File operations
are what Python's audit events report of files below a scratch folder: opening to write, renaming, removing, making and
removing folders, changing modes, taking a lock; and os.fsync, before which a torn write may cut the file in half. After
the stop the same command is given again. Then every file of the folder, hidden ones too, must equal that of a run
that was never stopped, byte by byte, but for dates and durations.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TEXT = "A great film, but far too long, and the end is bad. I liked the music, the actors and most of the scenes." * 3
OLD = b"what stood here before"
NOTES = Path(tempfile.mkdtemp(prefix="crash-notes-"))
"""Where a run writes what it says: not on the disk that is full."""
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_TIMES = [
    (re.compile(rb'"seconds": [0-9.e+-]+'), b'"seconds": 0'),
    (re.compile(rb'"date": "[0-9-]+"'), b'"date": ""'),
    (re.compile(rb", [0-9.]+ s; numbers in"), b", 0 s; numbers in"),
    (re.compile(rb"(?m)^(\| \d+ \| [0-9.]+ \| [0-9.%]+ \| [0-9.%]+ \|) \d+ \|$"), rb"\1 0 |"),
    (re.compile(rb"\d{4}-\d\d-\d\d"), b"DATE"),
]
"""What two runs that do the same may differ in."""


@dataclass(frozen=True)
class Command:
    """What is given on the command line, with {here} for the scratch folder; `again`: exit codes of a second time."""

    name: str
    arguments: tuple[str, ...]
    again: tuple[int, ...] = (0,)


COMMANDS = (
    # A model that is in its place is finished: the command is refused, and the model is what it is compared by.
    Command(
        "train", ("train", "{here}/data.jsonl", "--out", "{here}/out", "--preset", "paper", "--epochs", "2"), (0, 2)
    ),
    Command("reproduce", ("reproduce", "theorem", "--out", "{here}/out", "--documents", "3", "--device", "cpu")),
    Command("explain", ("explain", TEXT, "--method", "lime,gxi", "--samples", "200", "--out", "{here}/out.json")),
)


def prepare(here: Path) -> None:
    """A scratch folder as it is before the command."""
    here.mkdir(parents=True, exist_ok=True)
    rng = random.Random(3)
    rows = []
    for i in range(40):
        words = [rng.choice(("the", "film", "was", "story", "scene")) for _ in range(rng.randint(3, 8))]
        rows.append({"text": " ".join([*words, ("awful", "great")[i % 2]]), "label": ("bad", "good")[i % 2]})
    (here / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (here / "out.json").write_bytes(OLD)


def snapshot(here: Path) -> dict[str, bytes]:
    """Every file and empty folder, with dates and durations taken out."""
    found: dict[str, bytes] = {}
    for path in sorted(here.rglob("*")):
        if path.is_dir():
            if not any(path.iterdir()):
                found[f"{path.relative_to(here)}/"] = b""
            continue
        content = path.read_bytes()
        if path.suffix in (".json", ".md", ".html"):
            for pattern, plain in _TIMES:
                content = pattern.sub(plain, content)
        found[str(path.relative_to(here))] = content
    return found


# ── one run ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Ended:
    """How a run ended: its exit status (-9 if killed), what it said, its file operations, bytes on the disk at most."""

    status: int
    said: str
    operations: tuple[str, ...]
    peak: int

    @property
    def complaint(self) -> list[str]:
        return [line for line in self.said.splitlines() if line.startswith(("error:", "Traceback"))]


@dataclass
class Stop:
    """Where to stop: before operation number `at`, or there with the file cut in half; or when the disk is full."""

    at: int | None = None
    torn: bool = False
    room: int | None = None


def run(command: Command, here: Path, stop: Stop | None = None, kill_after: float | None = None) -> Ended:
    """The command in a fork of this process, stopped or not."""
    arguments = [part.format(here=here) for part in command.arguments]
    said, note = NOTES / "said.txt", NOTES / "note.txt"
    note.write_bytes(b"0")
    child = os.fork()
    if child == 0:
        status = 70
        try:
            with said.open("wb", buffering=0) as stream:
                os.dup2(stream.fileno(), 1)
                os.dup2(stream.fileno(), 2)
            sys.stdout, sys.stderr = (io.TextIOWrapper(io.FileIO(n, "w", closefd=False), "utf-8") for n in (1, 2))
            _watch(here, note, stop or Stop())
            status = _command_line(arguments)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    ended = os.waitpid(child, 0)[1]
    peak, *operations = note.read_text().split()
    return Ended(os.waitstatus_to_exitcode(ended), said.read_text(errors="replace"), tuple(operations), int(peak))


def _command_line(arguments: list[str]) -> int:
    from limelight.cli import main

    sys.argv = ["limelight", *arguments]
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _watch(here: Path, note: Path, stop: Stop) -> None:
    """Count the file operations of this process below a folder, and stop before one of them."""
    root, peak = str(here) + os.sep, 0
    names: list[str] = []
    slate = os.open(note, os.O_WRONLY)
    fsync = os.fsync

    def operation(name: str, descriptor: int | None = None) -> None:
        nonlocal peak
        names.append(name)
        peak = max(peak, _used(here))
        os.pwrite(slate, " ".join([str(peak), *names]).encode(), 0)
        if len(names) - 1 == stop.at:
            if stop.torn and descriptor is not None:
                os.ftruncate(descriptor, os.fstat(descriptor).st_size // 2)
            os.kill(os.getpid(), signal.SIGKILL)

    def heard(event: str, given: tuple[Any, ...]) -> None:
        if event == "open":
            if isinstance(given[0], str) and given[2] & _WRITES and given[0].startswith(root):
                operation(event)
        elif event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate"):
            folder = given[-1] if event != "os.rename" else given[2]
            if _absolute(given[0], folder).startswith(root):
                operation(event)
        elif event == "fcntl.flock" and _absolute("", given[0]).startswith(root):
            operation(event)

    def counted_fsync(descriptor: int) -> None:
        if _absolute("", descriptor).startswith(root):
            operation("os.fsync", descriptor)
        fsync(descriptor)

    sys.addaudithook(heard)
    os.fsync = counted_fsync
    if stop.room is not None:
        _limit(stop.room, root)


def _absolute(path: object, folder: object) -> str:
    """A path that may be relative to an open folder."""
    path = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
    if os.path.isabs(path) or not isinstance(folder, int) or folder < 0:
        return os.path.abspath(path)
    try:
        return os.path.join(os.readlink(f"/proc/self/fd/{folder}"), path)
    except OSError:
        return ""


def _limit(room: int, root: str) -> None:
    """A disk without room for more than so many bytes, for who may not mount one: the rest is refused."""
    left = room
    open_path = pathlib.Path.open

    class Cramped(io.FileIO):
        def write(self, content: Any) -> int:
            nonlocal left
            fits = bytes(content)[:left]
            left -= len(fits)
            (NOTES / "written.txt").write_text(str(room - left))
            super().write(fits)
            if len(fits) < len(bytes(content)):
                raise OSError(28, os.strerror(28))
            return len(fits)

    def cramped(path: Path, mode: str = "r", *given: Any, **named: Any) -> Any:
        if "b" in mode and "r" not in mode and str(path).startswith(root):
            return Cramped(path, mode.replace("b", ""))
        return open_path(path, mode, *given, **named)

    pathlib.Path.open = cramped  # type: ignore[assignment,method-assign]


# ── stopping and going on ─────────────────────────────────────────────────────────────────────────────────────────────


class Harness:
    """A scratch folder, the result of each command when nothing stops it, and what went wrong."""

    def __init__(self, scratch: Path, say: Callable[[str], None]) -> None:
        self.scratch, self.say = scratch, say
        self.failures: list[str] = []
        self.whole: dict[str, dict[str, bytes]] = {}
        self.operations: dict[str, tuple[str, ...]] = {}
        self.seconds: dict[str, float] = {}

    def fresh(self) -> Path:
        here = self.scratch / "here"
        shutil.rmtree(here, ignore_errors=True)
        prepare(here)
        return here

    def warm_up(self, command: Command) -> None:
        """Once in this process: what is imported and compiled for it is there in every fork."""
        here = self.fresh()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            _command_line([part.format(here=here) for part in command.arguments])

    def reference(self, command: Command) -> None:
        """Twice: a command that does not repeat itself could not be compared."""
        for _ in range(2):
            here = self.fresh()
            began = time.monotonic()
            ended = run(command, here)
            self.seconds[command.name] = time.monotonic() - began
            if ended.status != 0:
                raise SystemExit(f"{command.name} fails without being stopped:\n{ended.said}")
            found = snapshot(here)
            if self.whole.setdefault(command.name, found) != found:
                raise SystemExit(
                    f"{command.name} is not the same twice: {_differences(self.whole[command.name], found)}"
                )
            self.operations[command.name] = ended.operations

    def check(self, command: Command, here: Path, where: str) -> None:
        """The same command again, after which everything is as if it had not been stopped."""
        written = self.whole[command.name].get("out.json")
        if command.name == "explain" and snapshot(here).get("out.json") not in (OLD, written):
            self.failures.append(f"{where}: the file holds neither what it held before nor what was written")
        ended = run(command, here)
        if ended.status not in command.again:
            self.failures.append(f"{where}: given again it ends with {ended.status}: {ended.said[-400:]}")
        elif differences := _differences(self.whole[command.name], snapshot(here)):
            self.failures.append(f"{where}: {differences}")

    def stops(self, command: Command, points: list[tuple[int, bool]]) -> None:
        for at, torn in points:
            here = self.fresh()
            ended = run(command, here, Stop(at, torn))
            if ended.status != -signal.SIGKILL:
                self.failures.append(f"{command.name}, operation {at}: was not reached")
                continue
            self.check(command, here, f"{command.name}, {'torn' if torn else 'killed'} at operation {at}")
        self.say(f"{command.name}: {len(self.operations[command.name])} file operations, {len(points)} stops")

    def kills(self, command: Command, times: int, rng: random.Random) -> None:
        """So many that come before the end; one that comes too late says that the command is faster than measured."""
        reached = tried = 0
        while reached < times and tried < 10 * times:
            tried += 1
            here = self.fresh()
            after = rng.uniform(0, self.seconds[command.name])
            ended = run(command, here, kill_after=after)
            if ended.status != -signal.SIGKILL:
                self.seconds[command.name] = after
                continue
            reached += 1
            self.check(command, here, f"{command.name}, killed after {after:.3f} s")
        self.say(f"{command.name}: {reached} random kills, within {self.seconds[command.name]:.2f} s")

    def full(self, command: Command, sizes: int) -> None:
        """Disks from far too small to nearly large enough."""
        with _disk(self.scratch / "disk") as resize:
            real = resize is not None
            here = self.scratch / "disk" / "here" if real else self.fresh()
            if resize is not None:
                resize(2**28)
                prepare(here)
            before = _used(here) if real else 0
            if real:
                most = run(command, here).peak
            else:
                run(command, here, Stop(room=2**40))
                most = int((NOTES / "written.txt").read_text())
            refused = 0
            for k in range(1, sizes + 1):
                if resize is not None:
                    shutil.rmtree(here)
                    resize(2**28)
                    prepare(here)
                    resize(before + max((most - before) * k // (sizes + 1) // 4096, 1) * 4096)
                    ended = run(command, here)
                else:
                    here = self.fresh()
                    ended = run(command, here, Stop(room=most * k // (sizes + 1)))
                where = f"{command.name}, disk {k} of {sizes}"
                if ended.status != 0:
                    refused += 1
                    if ended.status != 2 or len(ended.complaint) != 1 or "No space left" not in ended.complaint[0]:
                        self.failures.append(f"{where}: ends with {ended.status}: {ended.said[-400:]}")
                if resize is not None:
                    resize(2**28)
                self.check(command, here, where)
            kind = "mounted disks" if real else "disks by a limit in the process"
            self.say(f"{command.name}: {sizes} {kind}, {refused} too small")


def _used(here: Path) -> int:
    used = os.statvfs(here)
    return (used.f_blocks - used.f_bfree) * used.f_frsize


@contextlib.contextmanager
def _disk(place: Path) -> Iterator[Callable[[int], None] | None]:
    """A disk of its own whose size can be set, where one may be mounted."""
    place.mkdir(exist_ok=True)

    def mount(options: str) -> bool:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        try:
            return subprocess.run(command, capture_output=True, check=False).returncode == 0
        except OSError:
            return False

    if "CRASH_HARNESS_NO_MOUNT" in os.environ or not mount("size=256m"):
        yield None
        return
    try:
        yield lambda size: None if mount(f"remount,size={size}") else sys.exit("the disk cannot be resized")
    finally:
        subprocess.run(["umount", str(place)], check=True)


def _differences(wanted: dict[str, bytes], found: dict[str, bytes]) -> str:
    names = sorted(name for name in {*wanted, *found} if wanted.get(name) != found.get(name))
    how = {name: "left behind" if name not in wanted else "lost" if name not in found else "differs" for name in names}
    return ", ".join(f"{name} {what}" for name, what in how.items())


def chosen(operations: tuple[str, ...], wanted: int | None, rng: random.Random) -> list[tuple[int, bool]]:
    """Operations to stop at, and whether the file is torn there, which it is where it goes to the disk."""
    every = [(at, torn) for at, name in enumerate(operations) for torn in (False, True) if not torn or "sync" in name]
    return every if wanted is None else sorted(rng.sample(every, min(wanted, len(every))))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="stop before every file operation")
    parser.add_argument("--stops", type=int, default=0, help="stop before so many, drawn at random, of each command")
    parser.add_argument("--kills", type=int, default=0, help="random kills, shared among the commands")
    parser.add_argument("--full", type=int, default=0, metavar="SIZES", help="full disks of so many sizes")
    parser.add_argument("--only", choices=[command.name for command in COMMANDS], help="one command")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    commands = [command for command in COMMANDS if given.only in (None, command.name)]
    rng = random.Random(given.seed)
    _import_everything()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="crash-") as scratch:
        harness = Harness(Path(os.path.realpath(scratch)), lambda line: print(line, flush=True))
        for i, command in enumerate(commands):
            harness.warm_up(command)
            harness.reference(command)
            if given.all or given.stops:
                harness.stops(
                    command, chosen(harness.operations[command.name], None if given.all else given.stops, rng)
                )
            if kills := (given.kills + len(commands) - 1 - i) // len(commands):
                harness.kills(command, kills, rng)
            if given.full:
                harness.full(command, given.full)
    for failure in harness.failures:
        print(f"FAILED {failure}")
    print(f"{len(harness.failures)} failures, {time.monotonic() - began:.0f} s")
    shutil.rmtree(NOTES)
    return int(bool(harness.failures))


def _import_everything() -> None:
    """What every command needs. One thread: a second one would not be there after a fork."""
    import matplotlib.figure  # noqa: F401
    import torch

    torch.set_num_threads(1)


if __name__ == "__main__":
    sys.exit(main())
