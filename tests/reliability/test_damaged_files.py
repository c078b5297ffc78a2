"""Tables of damaged checkpoints and data files, made on the fly: each is refused by name, at once, in little memory."""

from __future__ import annotations

import json
import os
import resource
import shutil
import struct
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from limelight.errors import CheckpointError, DataError, ParameterError
from limelight.models.words.attention import AttentionClassifier, AttentionConfig
from limelight.models.words.checkpoint import Config, build, load, save, weight_count, weight_shapes
from limelight.models.words.classifier import Vocabulary
from limelight.models.words.transformer import Mlp, TransformerClassifier, TransformerConfig
from limelight.storage.labelled_texts import LabelledTexts, read_labelled
from limelight.training.card import escaped
from limelight.training.presets import Preset
from limelight.training.train import train

AT_ONCE = 1.0
"""Seconds for an answer."""
LITTLE = 200_000
"""KiB that the process may grow by: reading the damaged file itself is far less."""

Damage = Callable[[Path], object]
SIZES = AttentionConfig(T_max=6, d_e=4, d_att=3, d_out=2, K=2)
DEEP = TransformerConfig(T_max=6, d_e=4, d_att=3, d_out=2, K=2, layers=2, d_mlp=5)
WORDS = ("film", "fine", "ünïcode", "映", ".")


def small(words: tuple[str, ...] = WORDS) -> AttentionClassifier:
    model = AttentionClassifier(SIZES, Vocabulary(words), ("no", "yes"))
    model.initialise(0)
    return model


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("checkpoints")
    save(small(), place / "plain", "# A card\n")
    deep = TransformerClassifier(DEEP, Vocabulary(WORDS), ("no", "yes"))
    deep.initialise(0)
    save(deep, place / "deep", "# A card\n")
    return place


# ── checkpoints ───────────────────────────────────────────────────────────────────────────────────────────────────────


def config(**changes: Any) -> Damage:
    """config.json with other values; sizes are changed one by one."""

    def damage(folder: Path) -> None:
        stored = json.loads((folder / "config.json").read_text())
        sizes = changes.pop("sizes", None)
        stored |= changes
        if isinstance(sizes, dict):
            stored["sizes"] |= sizes
        elif sizes is not None:
            stored["sizes"] = sizes
        (folder / "config.json").write_text(json.dumps(stored))

    return damage


def text_of_config(old: str, new: str) -> Damage:
    def damage(folder: Path) -> None:
        text = (folder / "config.json").read_text()
        assert old in text
        (folder / "config.json").write_text(text.replace(old, new))

    return damage


def content(name: str, written: bytes) -> Damage:
    return lambda folder: (folder / name).write_bytes(written)


def weights(change: Callable[[dict[str, torch.Tensor]], object]) -> Damage:
    def damage(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        change(tensors)
        save_file(tensors, folder / "model.safetensors")

    return damage


def head(change: Callable[[dict[str, Any]], object]) -> Damage:
    """The head of the weights file with other announcements, its content as it is."""

    def damage(folder: Path) -> None:
        stored = (folder / "model.safetensors").read_bytes()
        length = struct.unpack("<Q", stored[:8])[0]
        announced = json.loads(stored[8 : 8 + length])
        change(announced)
        text = json.dumps(announced).encode()
        (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + stored[8 + length :])

    return damage


def a_folder(name: str) -> Damage:
    def damage(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).mkdir()

    return damage


def sparse(name: str, size: int) -> Damage:
    return lambda folder: os.truncate(folder / name, size)


def first_half(name: str) -> Damage:
    return lambda folder: os.truncate(folder / name, (folder / name).stat().st_size // 2)


C, V, W = "config.json", "vocabulary.txt", "model.safetensors"
CHECKPOINTS: dict[str, tuple[str, Damage]] = {
    "T_max 1e7": (C, config(sizes={"T_max": 10**7})),
    "T_max 1e9": (C, config(sizes={"T_max": 10**9})),
    "T_max 2**63": (C, config(sizes={"T_max": 2**63})),
    "T_max 2**64": (C, config(sizes={"T_max": 2**64})),
    "d_e huge": (C, config(sizes={"d_e": 10**9})),
    "d_e large": (W, config(sizes={"d_e": 2**20})),
    "d_att 1e9": (W, config(sizes={"d_att": 10**9})),
    "d_out 1e9": (W, config(sizes={"d_out": 10**9})),
    "K 2**31": (W, config(sizes={"K": 2**31})),
    "K 2**63": (C, config(sizes={"K": 2**63})),
    "K negative": (C, config(sizes={"K": -1})),
    "K a fraction": (C, config(sizes={"K": 2.0})),
    "K a truth": (C, config(sizes={"K": True})),
    "K a name": (C, config(sizes={"K": "two" * 10_000})),
    "K nothing": (C, config(sizes={"K": None})),
    "K a list": (C, config(sizes={"K": [2] * 10_000})),
    "K of 4,000 digits": (C, text_of_config('"K": 2', f'"K": {"9" * 4000}')),
    "K of 5,000 digits": (C, text_of_config('"K": 2', f'"K": {"9" * 5000}')),
    "K 1e400": (C, text_of_config('"K": 2', '"K": 1e400')),
    "K NaN": (C, text_of_config('"K": 2', '"K": NaN')),
    "K Infinity": (C, text_of_config('"K": 2', '"K": Infinity')),
    "K twice": (C, text_of_config('"K": 2', '"K": 2, "K": 3')),
    "d_e odd": (C, config(sizes={"d_e": 3})),
    "sizes a list": (C, config(sizes=[6, 4, 3, 2, 2])),
    "sizes of another": (C, config(sizes={"layers": 2})),
    "words 1e9": (W, config(words=10**9)),
    "words 2**63": (C, config(words=2**63)),
    "words a fraction": (C, config(words=7.5)),
    "words nested": (C, config(words=[[[]]] * 1000)),
    "1e9 labels": (C, config(labels=10**9)),
    "100,000 labels": (W, config(labels=[str(i) for i in range(100_000)])),
    "labels twice": (C, config(labels=["a", "a"])),
    "labels no names": (C, config(labels=["a", 5])),
    "half a label": (C, text_of_config('"yes"', r'"\ud83d"')),
    "no labels": (C, config(labels=[])),
    "nested brackets": (C, content(C, b"[" * 200_000)),
    "nested objects": (C, content(C, b'{"a":' * 200_000)),
    "empty config": (C, content(C, b"")),
    "config of zeroes": (C, content(C, b"\0" * 4096)),
    "config in UTF-16": (C, content(C, '{"kind": 1}'.encode("utf-16"))),
    "config a number": (C, content(C, b"5")),
    "config cut": (C, first_half(C)),
    "config a folder": (C, a_folder(C)),
    "config of a terabyte": (C, sparse(C, 2**40)),
    "version a list": (C, config(format_version=[1])),
    "dtype a list": (C, config(dtype=["float32"])),
    "kind an object": (C, config(kind={"a": 1})),
    "vocabulary empty": (V, content(V, b"")),
    "vocabulary cut": (V, first_half(V)),
    "vocabulary longer": (V, content(V, "".join(f"{w}\n" for w in (*WORDS, "more")).encode())),
    "vocabulary in Latin 1": (V, content(V, "film\nfine\nünïcode\na\n.\n".encode("latin-1"))),
    "vocabulary of CRLF": (V, content(V, "".join(f"{w}\r\n" for w in WORDS).encode())),
    "vocabulary of two words a line": (V, content(V, b"a b\nc\nd\ne\nf\n")),
    "vocabulary repeats": (V, content(V, b"a\nb\na\nc\nd\n")),
    "vocabulary names [UNK]": (V, content(V, b"a\nb\n[UNK]\nc\nd\n")),
    "vocabulary a folder": (V, a_folder(V)),
    "vocabulary of a terabyte": (V, sparse(V, 2**40)),
    "weights empty": (W, content(W, b"")),
    "weights cut": (W, first_half(W)),
    "weights longer": (W, sparse(W, 2**20)),
    "weights a folder": (W, a_folder(W)),
    "weights a pickle": (W, content(W, b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94.")),
    "weights a zip": (W, content(W, b"PK\x03\x04" + b"\0" * 200)),
    "head of 2**63 bytes": (W, content(W, struct.pack("<Q", 2**63) + b"{}")),
    "head nested": (W, content(W, struct.pack("<Q", 200_000) + b"[" * 200_000)),
    "head without JSON": (W, content(W, struct.pack("<Q", 4) + b"{,,}")),
    "shape of 2**62": (W, head(lambda h: h["W_e"].update(shape=[2**62, 4]))),
    "shape of nothing": (W, head(lambda h: h["W_e"].update(shape=[]))),
    "offsets over each other": (W, head(lambda h: h["W_e"].update(data_offsets=h["W_q"]["data_offsets"]))),
    "offsets backwards": (W, head(lambda h: h["W_e"].update(data_offsets=[50, 10]))),
    "type unknown": (W, head(lambda h: h["W_e"].update(dtype="X9"))),
    "type of the wrong width": (W, head(lambda h: h["W_e"].update(dtype="F64"))),
    "tensor missing": (W, weights(lambda t: t.pop("W_k"))),
    "tensor extra": (W, weights(lambda t: t.update(W_z=torch.ones(1)))),
    "10,000 tensors extra": (W, weights(lambda t: t.update({f"x{i}": torch.ones(1) for i in range(10_000)}))),
    "tensor of integers": (W, weights(lambda t: t.update(W_q=t["W_q"].int()))),
    "tensor in half": (W, weights(lambda t: t.update(W_q=t["W_q"].half()))),
    "tensor transposed": (W, weights(lambda t: t.update(W_q=t["W_q"].mT.contiguous()))),
    "not a number": (W, weights(lambda t: t["W_v"].view(-1)[:2].fill_(torch.nan))),
    "infinite": (W, weights(lambda t: t["W_l"].view(-1)[0].fill_(-torch.inf))),
}
DEEP_CHECKPOINTS: dict[str, tuple[str, Damage]] = {
    "1e6 layers": (W, config(sizes={"layers": 10**6})),
    "2e9 layers": (W, config(sizes={"layers": 2 * 10**9})),
    "one layer more": (W, config(sizes={"layers": 3})),
    "one layer less": (W, config(sizes={"layers": 1})),
    "d_mlp 1e9": (W, config(sizes={"d_mlp": 10**9})),
    "no MLP": (W, config(sizes={"mlp": "none"})),
    "no norm": (W, config(sizes={"layer_norm": False})),
    "norm a number": (C, config(sizes={"layer_norm": 1})),
    "MLP of another kind": (C, config(sizes={"mlp": ["relu"]})),
}
ALL_CHECKPOINTS = {("plain", name): entry for name, entry in CHECKPOINTS.items()} | {
    ("deep", name): entry for name, entry in DEEP_CHECKPOINTS.items()
}


@pytest.mark.parametrize(("kind", "name"), ALL_CHECKPOINTS)
def test_a_damaged_checkpoint_is_refused_at_once(checkpoints: Path, tmp_path: Path, kind: str, name: str) -> None:
    file, damage = ALL_CHECKPOINTS[kind, name]
    folder = Path(shutil.copytree(checkpoints / kind, tmp_path / "model"))
    damage(folder)
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with pytest.raises(CheckpointError) as caught:
        load(folder)
    assert time.process_time() - began < AT_ONCE
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < LITTLE
    message = str(caught.value)
    assert file in message
    assert str(folder) in message
    assert len(message) < 1000
    assert "\n" not in message


def test_weight_shapes_are_those_of_the_models() -> None:
    """The heads of files are compared with these, instead of with a model that was built."""
    kinds: list[Config] = [SIZES, replace(SIZES, K=1, d_att=5)]
    for norm, mlp, residual in product((True, False), get_args(Mlp), (True, False)):
        kinds.append(replace(DEEP, layer_norm=norm, mlp=mlp, residual=residual))
    for sizes in kinds:
        model = build(sizes, Vocabulary(WORDS), ("a", "b", "c"))
        shapes = {name: tuple(weight.shape) for name, weight in model.named_parameters()}
        assert weight_shapes(sizes, len(WORDS) + 2, 3) == shapes
        assert weight_count(sizes) == len(shapes)


def test_a_byte_order_mark_is_no_part_of_the_first_word(checkpoints: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(checkpoints / "plain", tmp_path / "model"))
    for name in (V, C):
        (folder / name).write_bytes(b"\xef\xbb\xbf" + (folder / name).read_bytes())
    marked = load(folder)
    assert "film" in marked.vocabulary
    assert marked.vocabulary.words[2:] == WORDS
    np.testing.assert_array_equal(marked.predict_logits(["film"]), load(checkpoints / "plain").predict_logits(["film"]))


def test_a_word_that_begins_with_a_mark_comes_back(tmp_path: Path) -> None:
    words = ("\ufefffilm", "film", "\ufeff", "a\ufeff", ".")
    assert load(save(small(words), tmp_path / "model", "")).vocabulary.words[2:] == words


@pytest.mark.parametrize(
    ("lines", "message"),
    [("a\nb\na\nc\na\n", "'a' stands in it 3 times"), ("a\nb\n[CLS]\nc\nd\n", "'[CLS]' stands in it 2 times")],
)
def test_a_repeated_word_is_counted(checkpoints: Path, tmp_path: Path, lines: str, message: str) -> None:
    folder = Path(shutil.copytree(checkpoints / "plain", tmp_path / "model"))
    (folder / V).write_text(lines)
    with pytest.raises(CheckpointError) as caught:
        load(folder)
    assert message in str(caught.value)


def test_sizes_beyond_all_memory_are_refused_before_training(tmp_path: Path) -> None:
    texts = LabelledTexts(tuple(f"word{i} film" for i in range(20)), np.arange(20) % 2, ("no", "yes"))
    for huge in ({"T_max": 10**9}, {"d_att": 2**40}):
        with pytest.raises(ParameterError, match=r"must be at most|would take .* GB of memory"):
            train(texts, tmp_path / "model", preset=Preset("large", sizes=replace(SIZES, **huge), epochs=1))
    assert not (tmp_path / "model").exists()


# ── data files ────────────────────────────────────────────────────────────────────────────────────────────────────────

JSON_ROW = b'{"text": "a", "label": 0}\n'


def parquet(make: Callable[[Any], Any]) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        pyarrow, tables = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        tables.write_table(make(pyarrow), folder / "data.parquet")
        return folder / "data.parquet"

    return write


def damaged_parquet(change: Callable[[bytes], bytes]) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        file = parquet(lambda pa: pa.table({"text": ["a", "b"] * 50, "label": [0, 1] * 50}))(folder)
        file.write_bytes(change(file.read_bytes()))
        return file

    return write


def bad_utf8(pa: Any) -> Any:
    offsets, data = pa.py_buffer(np.array([0, 1, 3], dtype=np.int32)), pa.py_buffer(b"a\xff\xfe")
    return pa.table({"text": pa.Array.from_buffers(pa.string(), 2, [None, offsets, data]), "label": [0, 1]})


def of_type(values: list[int], kind: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda pa: pa.table({"text": ["a", "b"], "label": pa.array(values, type=kind(pa))})


def file(name: str, written: bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(written)
        return folder / name

    return write


def folders(make: Callable[[Path], object]) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        for half in ("neg", "pos"):
            (folder / "data" / half).mkdir(parents=True)
            (folder / "data" / half / "0.txt").write_text("a text")
        make(folder / "data")
        return folder / "data"

    return write


def loop(folder: Path) -> Path:
    (folder / "data.csv").symlink_to(folder / "data.csv")
    return folder / "data.csv"


def below_a_file(folder: Path) -> Path:
    (folder / "data").write_text("")
    return folder / "data" / "data.csv"


DATA: dict[str, tuple[Callable[[Path], Path], str]] = {
    "half a character": (
        file("a.jsonl", JSON_ROW + rb'{"text": "b \ud83d", "label": 1}'),
        r"row 2 holds .*'\\ud83d'.*at character 3",
    ),
    "other half": (file("a.jsonl", JSON_ROW + rb'{"text": "\ude00", "label": 1}'), "row 2 holds half of a character"),
    "half a label": (file("a.jsonl", JSON_ROW + rb'{"text": "b", "label": "\udfff"}'), "label of row 2 holds half"),
    "a key twice": (file("a.jsonl", b'{"text": "a", "text": "b", "label": 0}'), "line 1: .*'text' stands in it twice"),
    "5,000 digits": (file("a.jsonl", b'{"text": "a", "label": ' + b"9" * 5000 + b"}"), "line 1: not valid JSON"),
    "nested lists": (file("a.jsonl", JSON_ROW + b"[" * 200_000), "line 2: not valid JSON"),
    "nested objects": (file("a.jsonl", b'{"text":' * 200_000), "line 1: not valid JSON"),
    "label too large": (file("a.jsonl", JSON_ROW + b'{"text": "b", "label": 1e400}'), "row 2 has the label inf"),
    "text an object": (file("a.jsonl", b'{"text": {"a": 1}, "label": 0}'), "must hold texts, but row 1 is"),
    "text a truth": (file("a.jsonl", b'{"text": true, "label": 0}'), "must hold texts, but row 1 is True"),
    "label an object": (file("a.jsonl", b'{"text": "a", "label": {}}'), "row 1 has the label {}"),
    "one list": (file("a.jsonl", b'[{"text": "a", "label": 0}]'), "is not an object"),
    "JSON over many lines": (file("a.jsonl", b'{\n"text": "a"}'), "line 1: not valid JSON"),
    "JSON in UTF-16": (file("a.jsonl", '{"text": "a"}'.encode("utf-16")), "is not UTF-8"),
    "JSON of zeroes": (file("a.jsonl", b"\0" * 100), "line 1: not valid JSON"),
    "CSV of zeroes": (file("a.csv", b"text,label\n" + b"\0" * 100), "line 2"),
    "CSV in UTF-16": (file("a.csv", "text,label\na,1\n".encode("utf-16")), "is not UTF-8"),
    "CSV with an open quote": (file("a.csv", b'text,label\n"a,0\n'), "not well-formed"),
    "CSV with text after a quote": (file("a.csv", b'text,label\n"a"b,0\n'), "not well-formed"),
    "CSV with a column twice": (file("a.csv", b"text,label,text\na,0,b\n"), "two columns of the same name"),
    "CSV with too few fields": (file("a.csv", b"text,label\na\n"), "1 fields"),
    "CSV of one class": (file("a.csv", b"text,label\na,0\nb,0\n"), "one class only"),
    "CSV without rows": (file("a.csv", b"text,label\n"), "has no rows"),
    "CSV with surrogates": (file("a.csv", b"text,label\n\xed\xa0\xbd,0\n"), "byte 0xed at offset 11"),
    "TSV with commas": (file("a.tsv", b"text\tlabel\na,0\n"), "1 fields"),
    "Parquet of bad UTF-8": (parquet(bad_utf8), r"cannot be read as Parquet \(UnicodeDecodeError"),
    "Parquet with a column twice": (
        parquet(
            lambda pa: pa.Table.from_arrays([pa.array(["a", "b"])] * 2 + [pa.array([0, 1])], ["text", "text", "label"])
        ),
        "two columns of the same name",
    ),
    "Parquet dates": (parquet(of_type([0, 1], lambda pa: pa.date32())), "row 1 has the label datetime.date"),
    "Parquet dates out of range": (parquet(of_type([0, 2**30], lambda pa: pa.date32())), "cannot be read as Parquet"),
    "Parquet times out of range": (
        parquet(of_type([0, 2**50], lambda pa: pa.timestamp("s"))),
        "cannot be read as Parquet",
    ),
    "Parquet nanoseconds": (parquet(of_type([0, 1], lambda pa: pa.timestamp("ns"))), "row 1 has the label"),
    "Parquet durations": (parquet(of_type([0, 2**62], lambda pa: pa.duration("s"))), "cannot be read as Parquet"),
    "Parquet decimals": (
        parquet(lambda pa: pa.table({"text": ["a", "b"], "label": pa.array([1, 2]).cast(pa.decimal128(38, 2))})),
        "row 1 has the label Decimal",
    ),
    "Parquet bytes": (
        parquet(lambda pa: pa.table({"text": [b"a", b"\xff"], "label": [0, 1]})),
        "must hold texts, but row 1 is b'a'",
    ),
    "Parquet lists": (parquet(lambda pa: pa.table({"text": [["a"], ["b"]], "label": [0, 1]})), "must hold texts"),
    "Parquet nulls": (
        parquet(lambda pa: pa.table({"text": ["a", None], "label": [0, 1]})),
        "1 of 2 texts are empty or null",
    ),
    "Parquet cut": (damaged_parquet(lambda stored: stored[: len(stored) // 2]), "cannot be read as Parquet"),
    "Parquet without its end": (damaged_parquet(lambda stored: stored[:-8]), "cannot be read as Parquet"),
    "Parquet with a broken page": (
        damaged_parquet(lambda stored: stored[:8] + b"\xff" * 24 + stored[32:]),
        "cannot be read as Parquet",
    ),
    "Parquet empty": (file("a.parquet", b""), "cannot be read as Parquet"),
    "no such file": (lambda folder: folder / "nowhere.csv", "there is no file"),
    "a name too long": (lambda folder: folder / f"{'x' * 300}.csv", "cannot read .*name too long"),
    "a path too long": (lambda folder: Path("/" + "x/" * 3000 + "a.csv"), "cannot read .*name too long"),
    "a NUL": (lambda folder: folder / "a\0.csv", "cannot read .*null byte"),
    "a loop of links": (loop, "cannot read .*symbolic links"),
    "below a file": (below_a_file, "cannot read .*Not a directory"),
    "an ending that is not read": (file("a.xlsx", b"PK"), "suffix that limelight does not read"),
    "a device": (lambda folder: Path("/dev/null"), "suffix that limelight does not read"),
    "a folder where a file should be": (
        lambda folder: (folder / "data.csv").mkdir() or folder / "data.csv",
        "folder without",
    ),
    "a folder where a text should be": (
        folders(lambda data: (data / "neg" / "1.txt").mkdir()),
        "cannot read .*1.txt: Is a directory",
    ),
    "a text in Latin 1": (folders(lambda data: (data / "neg" / "1.txt").write_bytes(b"caf\xe9")), "1.txt is not UTF-8"),
    "a text that is empty": (folders(lambda data: (data / "neg" / "1.txt").write_bytes(b"")), "1 of 3 texts are empty"),
    "a link to nowhere": (
        folders(lambda data: (data / "neg" / "1.txt").symlink_to("none")),
        "cannot read .*1.txt: No such file",
    ),
}


@pytest.mark.parametrize("name", DATA)
def test_a_damaged_data_file_is_refused(tmp_path: Path, name: str) -> None:
    make, message = DATA[name]
    path = make(tmp_path)
    began = time.process_time()
    with pytest.raises(DataError, match=message) as caught:
        read_labelled(path)
    assert time.process_time() - began < AT_ONCE
    told = str(caught.value)
    assert "\n" not in told
    assert len(told) < 1000
    assert path.name[:20] in told or str(path)[:20] in told


@pytest.mark.parametrize(
    "error", [PermissionError(13, "Permission denied"), OSError(5, "Input/output error"), MemoryError()]
)
def test_a_data_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    path = file("a.csv", b"text,label\na,0\nb,1\n")(tmp_path)

    def fails(*_: Any) -> None:
        raise error

    monkeypatch.setattr(Path, "open", fails)
    with pytest.raises(DataError, match=r"a\.csv"):
        read_labelled(path)


@pytest.mark.parametrize("path", [5, None, b"a.csv", ["a.csv"]])
def test_what_is_no_path_is_refused(path: Any) -> None:
    with pytest.raises(ParameterError, match="data must be the path of a file"):
        read_labelled(path)


@pytest.mark.parametrize(
    ("texts", "labels", "names", "message"),
    [
        (("a", "b \ud800"), [0, 1], ("x", "y"), "text 2 holds half of a character"),
        (("a", "b"), [0, 1], ("x", "\udfff"), "hold half of a character"),
        (("a", None), [0, 1], ("x", "y"), "text 2 is None"),
        (("a", "b"), [0], ("x", "y"), "2 texts have 1 labels"),
    ],
)
def test_texts_from_python_are_checked_too(texts: Any, labels: list[int], names: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        LabelledTexts(texts, np.array(labels), names)


def test_nul_and_other_characters_are_texts(tmp_path: Path) -> None:
    written = ["a\0b film", "\u202e \x1b[31m film", "\ufeff film \U0001f600"]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"text": t, "label": i % 2}) + "\n" for i, t in enumerate(written)))
    assert read_labelled(path).texts == tuple(written)


# ── what is written about a model ─────────────────────────────────────────────────────────────────────────────────────

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "a | b",
    "`rm -rf`",
    "[x](http://evil)",
    "\x1b[31m\u202e",
    "*b*\n# heading",
    "www.evil.org",
)


def test_labels_and_names_in_the_card_are_text(tmp_path: Path) -> None:
    rows = [{"text": f"film {label} {i}", "label": label} for i in range(8) for label in HOSTILE]
    path = tmp_path / "<b>data`|`.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    sizes = AttentionConfig(T_max=8, d_e=4, d_att=2, d_out=2, K=1)
    report = train(path, tmp_path / "model", preset=Preset("x | <i>", sizes=sizes, epochs=1))
    card = (report.path / "README.md").read_text()
    for label in HOSTILE:
        assert label not in card
        assert escaped(label) in card
    assert not any(ord(character) < 32 and character != "\n" for character in card)
    assert "\u202e" not in card
    assert "\n# heading" not in card
    assert "<b>" not in card.replace("\\<b\\>", "")
    assert r"x \| \<i\>" in card
    assert json.loads((report.path / "config.json").read_text())["labels"] == sorted(HOSTILE)
