"""Bits that flip on a disk: found by whoever reads a run, and by the run that goes on; never another number, never a
raw exception."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from corpus.texts import reviews, stored, write
from limelight import corpus
from limelight.corpus.store.hashes import PLACE, Broken, Shards, open_manifest
from limelight.corpus.store.reading import state
from limelight.corpus.store.run_folder import Folder
from limelight.errors import DataError, InputError

STEP = 97
"""Every so-many-th byte of a file is damaged, in one bit."""
OPTIONS: dict[str, Any] = {"methods": ["shapley", "lime"], "n_samples": 20, "shard_size": 4, "id_column": "name"}
SHARDS = ["00000000.parquet", "00000001.parquet"]
KEY, OTHER_KEY = PLACE.encode(), b"limelight.corpus.none"
"""The key of a shard's hash, and one as long that is not it."""
AGAIN = "give the same limelight corpus run again"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("data") / "data.jsonl", reviews(7))


@pytest.fixture(scope="module")
def whole(data: Path) -> Path:
    """A run of two shards; nothing is damaged in this one."""
    return corpus.run(data, data.parent / "whole", **OPTIONS).folder


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "copy")
    return tmp_path / "copy"


def flipped(content: bytes, place: int, bit: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :]


def flips(content: bytes, step: int = STEP) -> Iterator[bytes]:
    """With one bit flipped, at places all over the file: each bit of a byte in its turn."""
    for i, place in enumerate(range(0, len(content), step)):
        yield flipped(content, place, i % 8)


def cuts(content: bytes) -> Iterator[bytes]:
    """Less of it, more of it, and nothing at all."""
    yield b""
    yield from (content[:end] for end in (1, 4, len(content) // 3, len(content) - 8, len(content) - 1))
    yield content[len(content) // 2 :]
    yield content + b"\0"
    yield content + content
    yield bytes(len(content))


def read(folder: Path) -> list[Any]:
    """All that a run says, by each of the ways to read it."""
    done = corpus.open(folder)
    words = done.words("shapley", all_words=True, least_texts=2).to_dict()
    documents = list(done.documents())
    table = done.texts().to_dict()
    return [documents, words, table, str(state(folder)), repr(done).replace(repr(str(folder)), ""), dict(done.manifest)]


def of_documents(folder: Path) -> list[Any]:
    return [list(corpus.open(folder).documents())]


@pytest.mark.parametrize("name", SHARDS)
def test_a_flipped_bit_of_a_shard_is_found_when_it_is_read(copy: Path, name: str) -> None:
    file = copy / "shards" / name
    content, found = file.read_bytes(), 0
    for damaged in (*flips(content), *cuts(content)):
        file.write_bytes(damaged)
        with pytest.raises(DataError, match=rf"{name} is damaged.*{AGAIN}, which computes this shard again"):
            of_documents(copy)
        found += 1
    assert found > 100
    file.write_bytes(content)
    assert len(of_documents(copy)[0]) == 7


def test_a_flipped_bit_of_the_manifest_is_found_when_it_is_read_and_when_the_run_goes_on(
    copy: Path, data: Path
) -> None:
    file, before = copy / "manifest.json", stored(copy)
    content, found = file.read_bytes(), 0
    for damaged in (*flips(content), *cuts(content)):
        file.write_bytes(damaged)
        with pytest.raises(DataError, match=r"manifest.json is damaged"):
            corpus.open(copy)
        with pytest.raises(DataError, match=r"manifest.json is damaged.*nothing was changed"):
            Folder(copy).manifest()
        found += 1
    assert found > 20
    with pytest.raises(DataError, match=r"manifest.json is damaged"):
        corpus.run(data, copy, **OPTIONS)
    assert (file.read_bytes(), stored(copy)) == (damaged, before)


@pytest.mark.slow
def test_no_byte_of_a_run_can_be_changed_without_a_word(whole: Path) -> None:
    """Every byte of the manifest and of a shard in each of its bits, and every length that is cut."""
    manifest, shard = ((whole / name).read_bytes() for name in ("manifest.json", f"shards/{SHARDS[1]}"))
    shards = Shards(open_manifest(manifest)[1], 2)
    checks = (manifest, open_manifest), (shard, lambda content: shards.check(1, content))
    for content, check in checks:
        check(content)
        passed = []
        for place in range(len(content)):
            for damaged in (*(flipped(content, place, bit) for bit in range(8)), content[:place], content[place + 1 :]):
                try:
                    check(damaged)
                except Broken:
                    continue
                passed.append((place, damaged))
        assert passed == []


@pytest.mark.parametrize("way", ["report", "against", "status", "words", "frame", "page", "serve"])
def test_every_reader_finds_it(copy: Path, whole: Path, tmp_path: Path, way: str) -> None:
    """Commands end with status 2 and one line; the page shows the same words."""
    from typer.testing import CliRunner

    from limelight.cli import app

    file = copy / "shards" / SHARDS[1]
    file.write_bytes(flipped(file.read_bytes(), 700, 3))
    said = rf"{SHARDS[1]} is damaged.*{AGAIN}"
    commands = {
        "report": ["report", str(copy), "--out", str(tmp_path / "report")],
        "against": ["report", str(whole), "--against", str(copy), "--out", str(tmp_path / "report")],
        "status": ["status", str(copy)],
    }
    if way in commands:
        done = CliRunner().invoke(app, ["corpus", *commands[way]])
        assert done.exit_code == 2
        assert re.search(said, done.output)
        assert not (tmp_path / "report" / "report.html").exists()
        return
    opened = corpus.open(copy)
    if way == "page":
        pytest.importorskip("fastapi")
        from limelight.web.folders import RowRequest, ServedCorpus

        with pytest.raises(DataError, match=said):
            ServedCorpus(opened).text(RowRequest(row=6))
        return
    if way == "serve":
        pytest.importorskip("fastapi")
        from limelight.web.folders import ServedCorpus

        with pytest.raises(DataError, match=said):
            ServedCorpus(opened).described()
        return
    with pytest.raises(DataError, match=said):
        opened.words() if way == "words" else opened.to_frame()


def test_a_run_that_goes_on_computes_damaged_shards_again(copy: Path, whole: Path, data: Path) -> None:
    """And says so; the others are not touched."""
    said: list[str] = []

    class Notes:
        def begin(self, task: str, steps: int, done: int = 0) -> None:
            if task == "explaining":
                said.append(f"{steps - done} documents")

        def advance(self, steps: int = 1, note: str = "") -> None:
            pass

        def end(self) -> None:
            pass

        def say(self, line: str) -> None:
            said.append(line)

    file = copy / "shards" / SHARDS[0]
    content = (whole / "shards" / SHARDS[0]).read_bytes()
    other = (copy / "shards" / SHARDS[1]).stat().st_mtime_ns
    for damaged in [*flips(content, 1999), *cuts(content)]:
        file.write_bytes(damaged)
        corpus.run(data, copy, progress=Notes(), **OPTIONS)
        assert stored(copy) == stored(whole)
        assert re.search(rf"{SHARDS[0]} is damaged .*it is computed again", said[0])
        assert said[1:] == ["4 documents"]
        said.clear()
    assert (copy / "shards" / SHARDS[1]).stat().st_mtime_ns == other
    corpus.run(data, copy, progress=Notes(), **OPTIONS)
    assert said == []


def test_bits_that_flip_while_a_run_goes_on(
    tmp_path: Path, whole: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, write_shard = tmp_path / "out", Folder.write_shard

    def flips_the_first(folder: Folder, *values: Any) -> None:
        write_shard(folder, *values)
        file = out / "shards" / SHARDS[0]
        if values[0] == 1:
            file.write_bytes(flipped(file.read_bytes(), 5000, 1))

    monkeypatch.setattr(Folder, "write_shard", flips_the_first)
    done = corpus.run(data, out, **OPTIONS)
    with pytest.raises(DataError, match=rf"{SHARDS[0]} is damaged"):
        list(done)
    monkeypatch.undo()
    assert len(list(corpus.run(data, out, **OPTIONS))) == 14
    assert stored(out) == stored(whole)


def test_a_whole_shard_of_another_run_is_refused_and_stays(copy: Path, data: Path, tmp_path: Path) -> None:
    """The same data and another seed: nothing in the file itself is wrong."""
    other = corpus.run(data, tmp_path / "other", **{**OPTIONS, "seed": 1}).folder
    shutil.copy(other / "shards" / SHARDS[0], copy / "shards" / SHARDS[0])
    before = stored(copy)
    with pytest.raises(DataError, match=rf"{SHARDS[0]} belongs to another run.*move it.*{AGAIN}"):
        of_documents(copy)
    with pytest.raises(DataError, match=rf"{SHARDS[0]} belongs to another run.*move it.*{AGAIN}"):
        corpus.run(data, copy, **OPTIONS)
    assert stored(copy) == before
    (copy / "shards" / SHARDS[0]).unlink()
    assert len(list(corpus.run(data, copy, **OPTIONS))) == 14


def test_a_manifest_of_another_run_is_refused_and_everything_stays(copy: Path, data: Path, tmp_path: Path) -> None:
    """Even where the command is that run's."""
    other = corpus.run(data, tmp_path / "other", **{**OPTIONS, "seed": 1}).folder
    shutil.copy(other / "manifest.json", copy / "manifest.json")
    before = stored(copy)
    with pytest.raises(DataError, match=rf"{SHARDS[0]} belongs to another run"):
        of_documents(copy)
    with pytest.raises(InputError, match=r"asked\.seed was 1 and is 0"):
        corpus.run(data, copy, **OPTIONS)
    with pytest.raises(DataError, match=rf"{SHARDS[0]} belongs to another run"):
        corpus.run(data, copy, **{**OPTIONS, "seed": 1})
    assert stored(copy) == before


def test_shards_in_each_others_places_are_computed_again(copy: Path, whole: Path, data: Path) -> None:
    first, second = (copy / "shards" / name for name in SHARDS)
    first.rename(copy / "kept")
    second.rename(first)
    (copy / "kept").rename(second)
    with pytest.raises(DataError, match=rf"{SHARDS[0]} is damaged \(it holds shard 1\)"):
        of_documents(copy)
    corpus.run(data, copy, **OPTIONS)
    assert stored(copy) == stored(whole)


def test_a_shard_that_is_not_there_is_not_done_and_one_too_many_is_named(copy: Path, whole: Path, data: Path) -> None:
    (copy / "shards" / SHARDS[0]).unlink()
    assert not corpus.open(copy).is_complete
    assert "1 of 2 shards" in str(state(copy))
    corpus.run(data, copy, **OPTIONS)
    assert stored(copy) == stored(whole)
    shutil.copy(whole / "shards" / SHARDS[0], copy / "shards" / "00000002.parquet")
    for use in (lambda: of_documents(copy), lambda: corpus.run(data, copy, **OPTIONS)):
        with pytest.raises(DataError, match=r"00000002.parquet is no part of this run.*has 2 shards.*remove it"):
            use()


def test_times_that_are_damaged_are_left_out(copy: Path) -> None:
    """They say how fast a run was, and nothing else: a line that was changed counts as none."""
    file = copy / "times.jsonl"
    content, whole = file.read_bytes(), Folder(copy).times(checked=True)
    assert len(whole) == 4
    for damaged in (*flips(content, 7), *cuts(content)):
        file.write_bytes(damaged)
        assert all(line in whole for line in Folder(copy).times(checked=True))
        assert state(copy).documents == 7
    file.write_text('[1]\n"a"\nnull\n{"event": "written", "shard": {}, "seconds": "x"}\n')
    assert state(copy).is_complete


def test_a_shard_that_is_sealed_again_is_whole(whole: Path) -> None:
    """As the benchmark does that makes a large run of a small one."""
    shards = Shards("ab" * 32, 9)
    again = shards.seal(7, (whole / "shards" / SHARDS[0]).read_bytes())
    shards.check(7, again)
    assert shards.seal(7, again) == again


# ── runs of version 0.2 ───────────────────────────────────────────────────────────────────────────────────────────────


def unsealed(folder: Path) -> Path:
    """The run as version 0.2 wrote it: without hashes."""
    manifest = json.loads((folder / "manifest.json").read_text())
    assert hashlib.new(manifest.pop("hashes")).name == "sha256"
    manifest.pop("sha256")
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
    for file in (folder / "shards").iterdir():
        content = file.read_bytes()
        at = content.rindex(KEY)
        file.write_bytes(content[:at] + OTHER_KEY + content[at + len(KEY) :])
    times = [json.loads(line) for line in (folder / "times.jsonl").read_text().splitlines()]
    for line in times:
        line.pop("crc32")
    (folder / "times.jsonl").write_text("".join(json.dumps(line) + "\n" for line in times))
    return folder


def test_a_run_without_hashes_is_read_and_that_is_said(copy: Path, whole: Path, data: Path, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from limelight.cli import app

    before, old = read(whole), unsealed(copy)
    assert corpus.open(whole).is_checked
    assert not corpus.open(old).is_checked
    after = read(old)
    assert after[:3] == before[:3]
    assert "without hashes, so damage to its files may not be seen" in after[3]
    assert "without hashes" not in before[3]
    command = ["corpus", "report", str(old), "--out", str(tmp_path / "report"), "--least-texts", "2"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "without hashes" in done.output
    assert "without hashes" in (tmp_path / "report" / "report.html").read_text()
    assert corpus.run(data, old, **OPTIONS).is_complete


def test_a_run_without_hashes_has_no_raw_exceptions(copy: Path) -> None:
    """What is damaged there may be seen or not; where it is, that is said."""
    old = unsealed(copy)
    seen = 0
    for file in (old / "shards" / SHARDS[0], old / "manifest.json"):
        content = file.read_bytes()
        for damaged in (*flips(content, 3 * STEP), *cuts(content)):
            file.write_bytes(damaged)
            try:
                read(old)
            except (DataError, InputError):
                seen += 1
        file.write_bytes(content)
    assert seen > 20


def test_half_of_the_hashes_is_damage(copy: Path) -> None:
    """A manifest that lost its own, and shards that lost theirs."""
    content = (copy / "manifest.json").read_text()
    for pattern in (r',\n "sha256": "[0-9a-f]{64}"\n}\n$', r'"hashes": "sha256",\n'):
        changed, count = re.subn(pattern, "\n}\n" if pattern.startswith(",") else "", content)
        assert count == 1
        json.loads(changed)
        (copy / "manifest.json").write_text(changed)
        with pytest.raises(DataError, match=r"manifest.json is damaged"):
            corpus.open(copy)
    (copy / "manifest.json").write_text(content)
    shard = copy / "shards" / SHARDS[0]
    shard.write_bytes(shard.read_bytes().replace(KEY, OTHER_KEY))
    with pytest.raises(DataError, match=rf"{SHARDS[0]} is damaged"):
        of_documents(copy)


def test_a_sealed_shard_in_a_run_without_hashes_is_of_another(copy: Path, whole: Path) -> None:
    unsealed(copy)
    shutil.copy(whole / "shards" / SHARDS[0], copy / "shards" / SHARDS[0])
    with pytest.raises(DataError, match=rf"{SHARDS[0]} belongs to another run"):
        of_documents(copy)


def test_a_shard_that_cannot_be_read_is_not_called_damaged(copy: Path, data: Path) -> None:
    """Nor is it computed again: what is wrong is the disk, or a permission."""
    (copy / "shards" / SHARDS[0]).unlink()
    (copy / "shards" / SHARDS[0]).mkdir()
    for use in (lambda: of_documents(copy), lambda: corpus.run(data, copy, **OPTIONS)):
        with pytest.raises(DataError, match=rf"cannot read .*{SHARDS[0]}: Is a directory"):
            use()
