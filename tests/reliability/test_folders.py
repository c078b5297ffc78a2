"""One writer per folder; disks that are full, pipes that are closed, results that are damaged."""

from __future__ import annotations

import errno
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from conftest import small_model
from limelight.cli import app, application
from limelight.core.arrays import Array
from limelight.core.progress import Silent
from limelight.errors import InputError, LimelightError, ParameterError
from limelight.models.words import checkpoint
from limelight.models.words.attention import AttentionConfig
from limelight.reproduce.command import Options
from limelight.reproduce.command import run as reproduce
from limelight.storage import files
from limelight.storage.labelled_texts import LabelledTexts
from limelight.training.presets import Preset
from limelight.training.train import train

PRESET = Preset("tiny", sizes=AttentionConfig(T_max=8, d_e=4, d_att=2, d_out=2, K=1), epochs=3, batch_size=8)
TEXTS = LabelledTexts(
    tuple(f"the film {i} was {('awful', 'great')[i % 2]}" for i in range(24)), np.arange(24) % 2, ("bad", "good")
)
COMMAND = [sys.executable, "-m", "limelight"]
TEXT = "A great film, but far too long."


class Listener(Silent):
    """Remembers what is said, and can wait at a line for a signal to go on."""

    def __init__(self, wait_at: str = "") -> None:
        self.lines: list[str] = []
        self.wait_at, self.there, self.go_on = wait_at, threading.Event(), threading.Event()

    def say(self, line: str) -> None:
        self.lines.append(line)
        if self.wait_at and self.wait_at in line:
            self.there.set()
            assert self.go_on.wait(30)


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# ── one writer ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_second_training_is_refused_and_told_by_whom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/nightly.py", "--all"])
    out, first = tmp_path / "model", Listener("epoch 2/3")
    running = threading.Thread(target=train, args=(TEXTS, out), kwargs={"preset": PRESET, "seed": 1, "progress": first})
    running.start()
    assert first.there.wait(30)
    try:
        with pytest.raises(
            InputError, match=rf"{out} is being written by process {os.getpid()} \(nightly.py --all\) since \d{{4}}-"
        ):
            train(TEXTS, out, preset=PRESET, seed=2)
        assert checkpoint.load(out / ".training" / "best").labels == ("bad", "good")  # readers are not hindered
    finally:
        first.go_on.set()
        running.join()
    assert names(out) == sorted(checkpoint.FILES)
    assert contents(out)["model.safetensors"] == weights_of_seed(tmp_path, 1)
    with pytest.raises(ParameterError, match="holds a finished model"):
        train(TEXTS, out, preset=PRESET, seed=2)


def weights_of_seed(tmp_path: Path, seed: int) -> bytes:
    return (train(TEXTS, tmp_path / f"alone {seed}", preset=PRESET, seed=seed).path / "model.safetensors").read_bytes()


def test_trainings_at_once_never_mix(tmp_path: Path) -> None:
    """Ten rounds of two threads into one folder: what is there in the end is one of the two models, with its card."""
    alone = {seed: weights_of_seed(tmp_path, seed) for seed in (1, 2)}
    for round_ in range(10):
        out, outcomes = tmp_path / f"round {round_}", {}

        def attempt(seed: int, out: Path = out, outcomes: dict[int, Exception | None] = outcomes) -> None:
            try:
                train(TEXTS, out, preset=PRESET, seed=seed)
                outcomes[seed] = None
            except InputError as error:
                outcomes[seed] = error  # noqa: B023 (used before the loop goes on)

        threads = [threading.Thread(target=attempt, args=(seed,)) for seed in (1, 2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (winner,) = [seed for seed, error in outcomes.items() if error is None]
        assert isinstance(outcomes[3 - winner], InputError), outcomes
        assert (out / "model.safetensors").read_bytes() == alone[winner]
        assert f"| seed | {winner} |" in (out / "README.md").read_text()
        assert names(out) == sorted(checkpoint.FILES)


def test_two_processes_train_into_one_folder(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("text,label\n" + "".join(f"{t},{y}\n" for t, y in zip(TEXTS.texts, TEXTS.labels, strict=True)))
    call = [*COMMAND, "train", str(data), "--out", str(tmp_path / "out"), "--preset", "paper", "--epochs", "5"]
    both = [
        subprocess.Popen([*call, "--seed", str(seed)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for seed in (1, 2)
    ]
    ended = {seed: (*run.communicate(), run.returncode) for seed, run in zip((1, 2), both, strict=True)}
    (winner,) = [seed for seed, (_, _, status) in ended.items() if status == 0]
    _, complaint, status = ended[3 - winner]
    assert status == 2
    errors = [line for line in complaint.splitlines() if line.startswith("error:")]
    assert len(errors) == 1
    assert re.search(r"being written by process \d+ \(.*train.*\) since|holds a finished model", errors[0])
    assert "Traceback" not in complaint
    assert f"| seed | {winner} |" in (tmp_path / "out" / "README.md").read_text()
    assert names(tmp_path / "out") == sorted(checkpoint.FILES)


def test_a_second_reproduction_is_refused(tmp_path: Path) -> None:
    out, first = tmp_path / "out", Listener("fig1: ")
    running = threading.Thread(target=reproduce, args=(Options("fig1", out, documents=2, seed=1, device="cpu"), first))
    running.start()
    assert first.there.wait(30)
    try:
        with pytest.raises(InputError, match=rf"{out} is being written by process {os.getpid()} "):
            reproduce(Options("fig1", out, documents=3, seed=2, device="cpu"), Listener())
    finally:
        first.go_on.set()
        running.join()
    assert json.loads((out / "run.json").read_text())["seed"] == 1
    assert not [name for name in names(out) if name.startswith(".") or "lock" in name]


def test_a_killed_holder_locks_nobody_out(tmp_path: Path) -> None:
    lock = tmp_path / "out" / "lock"
    code = (
        "import sys, time; from pathlib import Path; from limelight.storage.files import only_writer\n"
        "with only_writer(Path(sys.argv[1]), Path(sys.argv[1]) / 'lock'): print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "out")], stdout=subprocess.PIPE, text=True)
    assert holder.stdout
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(InputError, match=f"by process {holder.pid} "), files.only_writer(lock.parent, lock):
        pass
    holder.kill()
    holder.wait()
    holder.stdout.close()
    assert lock.exists()
    with files.only_writer(lock.parent, lock):
        assert json.loads(lock.read_bytes())["process"] == os.getpid()
    assert names(lock.parent) == []  # the folder was there before


def test_a_lock_leaves_nothing_that_it_made(tmp_path: Path) -> None:
    lock = tmp_path / "a" / "b" / "lock"
    with pytest.raises(ZeroDivisionError), files.only_writer(lock.parent, lock):
        raise ZeroDivisionError
    assert names(tmp_path) == []


def test_a_file_system_without_locks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", unsupported)
    with pytest.raises(InputError, match=r"without locks \(No locks available\).*choose a folder on another disk"):
        train(TEXTS, tmp_path / "model", preset=PRESET)
    assert names(tmp_path) == []
    files.save(b"content", tmp_path / "file")  # a file needs no lock
    assert names(tmp_path) == ["file"]


def test_a_link_to_nowhere_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to(tmp_path / "none" / "there")
    with pytest.raises(InputError, match=r"cannot write to .*out"):
        reproduce(Options("fig1", tmp_path / "out", documents=2), Listener())


def test_parts_of_the_dead_go_and_those_of_the_living_stay(tmp_path: Path) -> None:
    dead, living = tmp_path / f".file.{'0' * 16}.part", []

    def write(stream: Any) -> None:
        files.save(b"other", tmp_path / "file")
        living.extend(name for name in names(tmp_path) if files.is_part(name))

    dead.write_bytes(b"half")
    (tmp_path / f".other.{'1' * 16}.part").write_bytes(b"of somebody else")
    files.replace_file(tmp_path / "file", write)
    assert dead.name not in living
    assert len(living) == 2  # one's own, and that of another file
    assert names(tmp_path) == [f".other.{'1' * 16}.part", "file"]


# ── the final save ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("moved", range(5))
def test_a_final_save_that_stops_half_way_is_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moved: int
) -> None:
    out, replace, count = tmp_path / "out", Path.replace, iter(range(moved))

    def stops(path: Path, target: Path) -> Path:
        if target.parent == out and next(count, None) is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        return replace(path, target)

    if moved == len(checkpoint.FILES):
        monkeypatch.setattr("limelight.training.state.remove", full_disk)
    monkeypatch.setattr(Path, "replace", stops)
    with pytest.raises(LimelightError, match=r"No space left on device; check .* the same command again"):
        train(TEXTS, out, preset=PRESET)
    monkeypatch.undo()
    assert len([name for name in names(out) if name in checkpoint.FILES]) == moved
    train(TEXTS, out, preset=PRESET)
    assert names(out) == sorted(checkpoint.FILES)
    assert contents(out)["model.safetensors"] == weights_of_seed(tmp_path, 0)


def full_disk(*given: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_starting_over_takes_a_half_moved_model_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, replace = tmp_path / "out", Path.replace

    def stops(path: Path, target: Path) -> Path:
        if target.name == "config.json" and target.parent == out:
            full_disk()
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", stops)
    with pytest.raises(LimelightError):
        train(TEXTS, out, preset=PRESET)
    monkeypatch.undo()
    (out / "mine.txt").write_text("not a file of the run")
    with pytest.raises(ParameterError, match=r"not empty \(README.md"):
        train(TEXTS, out, preset=PRESET)
    (out / "mine.txt").unlink()
    train(TEXTS, out, preset=PRESET, seed=2, resume=False)
    assert contents(out)["model.safetensors"] == weights_of_seed(tmp_path, 2)
    assert names(out) == sorted(checkpoint.FILES)


# ── damaged results of a reproduction ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run") / "out"
    reproduce(Options("theorem", out, documents=2, device="cpu"), Listener())
    return out


def cut(name: str) -> Callable[[Path], None]:
    def damage(out: Path) -> None:
        (file,) = out.glob(name)
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])

    return damage


def overwrite(name: str, content: bytes) -> Callable[[Path], None]:
    def damage(out: Path) -> None:
        (file,) = out.glob(name)
        file.write_bytes(content)

    return damage


def flip(name: str) -> Callable[[Path], None]:
    def damage(out: Path) -> None:
        (file,) = out.glob(name)
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 0xFF
        file.write_bytes(content)

    return damage


def edit(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def damage(out: Path) -> None:
        content = json.loads((out / "theorem.json").read_text())
        change(content)
        (out / "theorem.json").write_text(json.dumps(content))

    return damage


def other_arrays(out: Path) -> None:
    (file,) = out.glob("chunks/exact*/000000.npz")
    with file.open("wb") as stream:
        arrays: dict[str, Array] = {"lime_limit": np.zeros(3), "wrong": np.zeros(3)}
        np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]


CHUNK = "chunks/exact*/000000.npz"
DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "result cut": (cut("theorem.json"), "theorem.json is damaged"),
    "result empty": (overwrite("theorem.json", b""), "theorem.json is damaged"),
    "result zeroes": (overwrite("theorem.json", b"\0" * 500), "theorem.json is damaged"),
    "result a list": (overwrite("theorem.json", b"[]"), "theorem.json is damaged"),
    "result nested": (overwrite("theorem.json", b"[" * 200_000), "theorem.json is damaged"),
    "numbers gone": (edit(lambda r: r.pop("numbers")), "theorem.json is damaged"),
    "numbers changed": (edit(lambda r: r["numbers"].pop("small")), "does not hold what was written"),
    "of another": (edit(lambda r: r.update(experiment="fig1")), "holds the result of 'fig1'"),
    "arrays cut": (cut("theorem.npz"), "theorem.npz is damaged"),
    "arrays gone": (lambda out: (out / "theorem.npz").unlink(), "theorem.npz is missing"),
    "arrays flipped": (flip("theorem.npz"), "theorem.npz is damaged"),
}
CHUNK_DAMAGES: dict[str, Callable[[Path], None]] = {
    "cut": cut(CHUNK),
    "empty": overwrite(CHUNK, b""),
    "flipped": flip(CHUNK),
    "not a zip": overwrite(CHUNK, b"PK but no more"),
    "other arrays": other_arrays,
}


@pytest.mark.parametrize("name", [*DAMAGES, *(f"piece {name}" for name in CHUNK_DAMAGES)])
def test_damaged_results_are_computed_again(
    tmp_path: Path, reproduced: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limelight.reproduce.experiment.available", lambda: False)
    out, heard = tmp_path / "out", Listener()
    shutil.copytree(reproduced, out)
    if name in DAMAGES:
        damage, told = DAMAGES[name]
    else:
        damage, told = CHUNK_DAMAGES[name.removeprefix("piece ")], r"chunks/exact.*npz is damaged"
        (out / "theorem.json").unlink()
    damage(out)
    (out / f".theorem.json.{'0' * 16}.part").write_bytes(b"{")
    reproduce(Options("theorem", out, documents=2, device="cpu"), heard)
    assert any(re.search(f"{told}.*: computed again", line) for line in heard.lines), heard.lines
    numbers = [json.loads((folder / "theorem.json").read_text())["numbers"] for folder in (out, reproduced)]
    assert numbers[0] == numbers[1]
    for file in ("theorem.npz", str(next(reproduced.glob(CHUNK)).relative_to(reproduced))):
        assert (out / file).read_bytes() == (reproduced / file).read_bytes()
    assert not list(out.rglob(".*"))


def test_a_damaged_result_that_was_not_asked_for_is_left_out(tmp_path: Path, reproduced: Path) -> None:
    out, heard = tmp_path / "out", Listener()
    shutil.copytree(reproduced, out)
    cut("theorem.json")(out)
    cut("theorem.png")(out)
    reproduce(Options("fig1", out, documents=2, device="cpu"), heard)
    assert any(re.search("theorem.json is damaged .*: left out; give theorem", line) for line in heard.lines)
    assert "| theorem | — | — | not computed |" in (out / "table.md").read_text()


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"data": "x"}', b"\xff", b"[" * 200_000, b'{"seed": ' + b"9" * 5000 + b"}"]
)
def test_a_run_that_is_not_known_any_more_is_refused(tmp_path: Path, reproduced: Path, content: bytes) -> None:
    shutil.copytree(reproduced, tmp_path / "out")
    (tmp_path / "out" / "run.json").write_bytes(content)
    with pytest.raises(InputError, match=r"run\.json cannot be read .*choose another --out"):
        reproduce(Options("theorem", tmp_path / "out", device="cpu"), Listener())


# ── disks and pipes ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """A disk that is full after so many files were opened to be written; it has room again when the test is over."""
    open_path = pathlib.Path.open

    def limit(opened: int) -> None:
        left = iter(range(opened))

        def cramped(path: Path, mode: str = "r", *given: Any, **named: Any) -> Any:
            if "w" in mode and next(left, None) is None:
                full_disk()
            return open_path(path, mode, *given, **named)

        monkeypatch.setattr(pathlib.Path, "open", cramped)

    yield limit
    monkeypatch.undo()


@pytest.mark.parametrize("opened", range(0, 11, 2))
def test_training_on_a_full_disk_says_so_and_goes_on_later(
    tmp_path: Path, full: Callable[[int], None], opened: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    full(opened)
    with pytest.raises(LimelightError, match="No space left on device; check the path and the free space"):
        train(TEXTS, tmp_path / "out", preset=PRESET)
    assert not [path for path in tmp_path.rglob("*") if files.is_part(path.name)]
    monkeypatch.undo()
    train(TEXTS, tmp_path / "out", preset=PRESET)
    assert contents(tmp_path / "out")["model.safetensors"] == weights_of_seed(tmp_path, 0)


@pytest.mark.parametrize("opened", [0, 1, 3, 4, 5, 6, 8])
def test_a_reproduction_on_a_full_disk_says_so_and_goes_on_later(
    tmp_path: Path, full: Callable[[int], None], opened: int, reproduced: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = Options("theorem", tmp_path / "out", documents=2, device="cpu")
    full(opened)
    with pytest.raises(InputError, match=r"could not write .* No space left on device; .*the same command again"):
        reproduce(options, Listener())
    monkeypatch.undo()
    monkeypatch.setattr("limelight.reproduce.experiment.available", lambda: False)
    reproduce(options, Listener())
    assert (tmp_path / "out" / "theorem.npz").read_bytes() == (reproduced / "theorem.npz").read_bytes()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "small"
    return checkpoint.save(small_model(labels=("negative", "positive")).float(), folder, "# tiny\n")


def test_explain_on_a_full_disk_keeps_what_was_there(
    tmp_path: Path, model: Path, full: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.json"
    out.write_bytes(b"old")
    full(0)
    result = CliRunner().invoke(app, ["explain", TEXT, "--model", str(model), "--out", str(out)])
    assert result.exit_code == 2
    assert result.stderr.count("error:") == 1
    assert "No space left on device" in result.stderr
    assert contents(tmp_path) == {"out.json": b"old"}


def command(*arguments: str, stdout: Any = subprocess.PIPE, shell: str = "") -> subprocess.CompletedProcess[str]:
    call: Any = [*COMMAND, *arguments]
    if shell:
        call = ["sh", "-c", f'exec "$@" {shell}', "sh", *call]
    return subprocess.run(call, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
@pytest.mark.parametrize(
    ("shell", "format", "reason"),
    [
        ("> /dev/full", "table", "No space left on device"),
        ("> /dev/full", "json", "No space left on device"),
        (">&-", "json", "standard output is closed"),
    ],
)
def test_a_standard_output_that_takes_nothing(model: Path, shell: str, format: str, reason: str) -> None:
    ended = command("explain", TEXT, "--model", str(model), "--method", "gxi", "--format", format, shell=shell)
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: ")
    assert ended.stderr.count("\n") == 1
    assert reason in ended.stderr


@pytest.mark.parametrize("format", ["table", "json"])
def test_a_pipe_without_a_reader(model: Path, format: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ended = command("explain", TEXT, "--model", str(model), "--method", "gxi", "--format", format, stdout=writer)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (141, "")  # as any program that `head` has seen enough of


def test_help_and_out_to_a_full_device(model: Path, tmp_path: Path) -> None:
    ended = command("--version", shell="> /dev/full")
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    ended = command("explain", TEXT, "--model", str(model), "--method", "gxi", "--out", "/dev/full")
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert "cannot write /dev/full: No space left on device" in ended.stderr


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(errno.EACCES, "Permission denied", "/root/secret"), "cannot read or write /root/secret: Permission"),
        (OSError(errno.ENOSPC, "No space left on device"), "cannot read or write the output: No space left"),
        (MemoryError(), "not enough memory"),
        (RuntimeError("[enforce fail at alloc_cpu.cpp:1] DefaultCPUAllocator: can't allocate"), "not enough memory"),
        (UnicodeEncodeError("ascii", "é", 0, 1, "ordinal not in range"), "a character cannot be read or written"),
        (InputError("both"), "error: both"),
    ],
)
def test_what_is_no_programming_error_is_one_line(monkeypatch: pytest.MonkeyPatch, error: Exception, told: str) -> None:
    def fails(*given: object) -> None:
        raise error

    monkeypatch.setattr("limelight.cli.reading.read_text", fails)
    result = CliRunner().invoke(app, ["explain", TEXT])
    assert result.exit_code == 2
    assert told in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "error", [ZeroDivisionError(), KeyError("a"), RuntimeError("a bug"), TypeError(), ValueError()]
)
def test_a_programming_error_is_not_hidden(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fails(*given: object) -> None:
        raise error

    monkeypatch.setattr("limelight.cli.reading.read_text", fails)
    assert CliRunner().invoke(app, ["explain", TEXT]).exception is error
    assert application.no_programming_error(error) is None


def test_json_on_a_terminal_holds_no_control_characters(model: Path) -> None:
    text = "good \x1b[31m film \u202e \x9b0m bad \x7f"
    result = CliRunner().invoke(
        app, ["explain", "--model", str(model), "--method", "gxi", "--format", "json", "--", text]
    )
    assert result.exit_code == 0, result.output
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", result.stdout)
    assert json.loads(result.stdout)["text"] == text


def test_standard_input_that_is_closed(model: Path) -> None:
    ended = command("explain", "-", "--model", str(model), shell="<&-")
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert "standard input is closed" in ended.stderr


def test_locks_are_taken_at_once(tmp_path: Path) -> None:
    """A run that is refused is refused now, not when the other has ended."""
    lock = tmp_path / "lock"
    began = time.monotonic()
    with files.only_writer(tmp_path, lock), pytest.raises(InputError), files.only_writer(tmp_path, lock):
        pass
    assert time.monotonic() - began < 2
