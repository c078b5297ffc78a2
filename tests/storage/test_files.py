"""Files and folders: whole or not at all, whatever goes wrong and whenever."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from limelight.errors import InputError
from limelight.storage.files import replace_file, replace_folder, save

FAULTS = [OSError("no space left on device"), KeyboardInterrupt(), ValueError("not a number")]


@pytest.fixture(autouse=True)
def _umask() -> Iterator[None]:
    former = os.umask(0o022)
    yield
    os.umask(former)


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def failing(fault: BaseException, calls: int = 0) -> Callable[..., None]:
    """A function that fails when it is called for the last of so many times, and does nothing before."""
    left = iter(range(calls))

    def fail(*args: object, **options: object) -> None:
        if next(left, None) is None:
            raise fault

    return fail


# ── a file ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_file_from_bytes_and_from_a_function(tmp_path: Path) -> None:
    def write(file: BinaryIO) -> None:
        file.write(b"one ")
        file.write(b"two")

    replace_file(tmp_path / "new", b"one two")
    replace_file(tmp_path / "old", b"something longer than that")
    replace_file(tmp_path / "old", write)
    assert (tmp_path / "new").read_bytes() == (tmp_path / "old").read_bytes() == b"one two"
    assert names(tmp_path) == ["new", "old"]


def test_permissions_are_those_of_the_file_before(tmp_path: Path) -> None:
    file = tmp_path / "file"
    replace_file(file, b"1")
    assert mode(file) == 0o644
    file.chmod(0o600)
    replace_file(file, b"2")
    assert mode(file) == 0o600


@pytest.mark.parametrize("fault", FAULTS, ids=repr)
@pytest.mark.parametrize("at", ["content", "fsync", "copymode", "replace"])
def test_a_file_survives_what_goes_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str, fault: BaseException
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")

    def write(stream: BinaryIO) -> None:
        stream.write(b"ne")
        if at == "content":
            raise fault

    for owner, name in ((os, "fsync"), (Path, "replace")):
        if at == name:
            monkeypatch.setattr(owner, name, failing(fault))
    if at == "copymode":
        monkeypatch.setattr("shutil.copymode", failing(fault))
    with pytest.raises(type(fault)):
        replace_file(file, write)
    assert file.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_the_content_is_on_the_disk_before_it_takes_the_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    fsync, synced = os.fsync, []

    def noted(descriptor: int) -> None:
        synced.append((os.fstat(descriptor).st_size, file.read_bytes()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    replace_file(file, b"brand new")
    assert synced == [(9, b"old")]


def test_writers_at_once_do_not_meet(tmp_path: Path) -> None:
    contents = [bytes([i]) * 200_000 for i in range(8)]
    threads = [threading.Thread(target=replace_file, args=(tmp_path / "file", content)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "file").read_bytes() in contents
    assert names(tmp_path) == ["file"]


def test_long_names(tmp_path: Path) -> None:
    for letter, length in (("x", 255), ("映", 85)):
        replace_file(tmp_path / (letter * length), b"content")
    assert len(names(tmp_path)) == 2


# ── what a user asked to write ────────────────────────────────────────────────────────────────────────────────────────


def test_save_writes_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for content in (b"1", b"22"):
        save(content, tmp_path / "link")
        assert (tmp_path / "file").read_bytes() == content
    assert (tmp_path / "link").is_symlink()
    assert names(tmp_path) == ["file", "link"]


def test_save_writes_to_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    save(b"content", tmp_path / "pipe")
    reader.join()
    assert read == [b"content"]
    assert names(tmp_path) == ["pipe"]


def test_save_says_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path, message in (
        (tmp_path, "it is a folder; name a file in it"),
        (tmp_path / "none" / "file", "there is no folder .*none; create it first"),
        (tmp_path / ("x" * 300), "File name too long; choose another place"),
    ):
        with pytest.raises(InputError, match=f"cannot write .*{message}"):
            save(b"content", path)
    monkeypatch.setattr(os, "fsync", failing(OSError(28, "No space left on device")))
    with pytest.raises(InputError, match="No space left on device; choose another place"):
        save(b"content", tmp_path / "file")
    monkeypatch.setattr(os, "fsync", failing(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        save(b"content", tmp_path / "file")
    assert names(tmp_path) == []


# ── a folder ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_folder_and_the_next(tmp_path: Path) -> None:
    target = tmp_path / "above" / "folder"
    replace_folder(target, {"a": b"1", "b": b"2"})
    assert mode(target) == 0o755
    (target / "inside").mkdir()
    (target / "inside" / "c").write_bytes(b"3")
    target.chmod(0o750)
    replace_folder(target, {"a": b"4"})
    assert {path.name: path.read_bytes() for path in target.iterdir()} == {"a": b"4"}
    assert mode(target) == 0o750
    assert names(target.parent) == ["folder"]


@pytest.mark.parametrize("fault", FAULTS, ids=repr)
@pytest.mark.parametrize("at", ["first file", "second file", "copymode", "leaving", "arriving"])
def test_a_folder_survives_what_goes_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str, fault: BaseException
) -> None:
    target = tmp_path / "folder"
    replace_folder(target, {"a": b"old"})
    rename = Path.rename

    def arriving(path: Path, new: Path) -> Path:
        if new == target and path.name.endswith(".part") and (path / "b").exists():
            raise fault
        return rename(path, new)

    if "file" in at:
        monkeypatch.setattr(os, "fsync", failing(fault, calls=int(at == "second file")))
    elif at == "copymode":
        monkeypatch.setattr("shutil.copymode", failing(fault))
    else:
        monkeypatch.setattr(Path, "rename", failing(fault) if at == "leaving" else arriving)
    with pytest.raises(type(fault)):
        replace_folder(target, {"a": b"new", "b": b"new"})
    assert {path.name: path.read_bytes() for path in target.iterdir()} == {"a": b"old"}
    assert names(tmp_path) == ["folder"]


def test_a_folder_that_cannot_be_put_back_is_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "folder"
    replace_folder(target, {"a": b"old"})
    rename = Path.rename

    def only_away(path: Path, new: Path) -> Path:
        if new == target:
            raise OSError("the disk is gone")
        return rename(path, new)

    monkeypatch.setattr(Path, "rename", only_away)
    with pytest.raises(OSError, match="the disk is gone"):
        replace_folder(target, {"a": b"new"})
    (left,) = tmp_path.iterdir()
    assert (left / "a").read_bytes() == b"old"
