"""The command: what it writes, how it goes on after an interruption, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from laboratory import TEXTS, DeepStub, process_left_as_found
from typer.testing import CliRunner

from conftest import WORDS, small_model
from limelight.cli import app
from limelight.core.progress import Lines
from limelight.errors import CapabilityError, DataError, InputError, ParameterError
from limelight.explainers.lime_on_device import LimeSettings
from limelight.models.words.attention import AttentionClassifier, AttentionConfig
from limelight.models.words.checkpoint import save
from limelight.models.words.classifier import Vocabulary
from limelight.reproduce import command, fig4, fig6, lab, passes
from limelight.reproduce import experiment as drawing
from limelight.reproduce.__main__ import main
from limelight.reproduce.command import EXPERIMENTS, Options, run
from limelight.reproduce.folder import RunFolder
from limelight.reproduce.lab import read_texts

HOSTILE = "<script>alert(1)</script>$"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = tmp_path / "reviews.jsonl"
    rows = [{"text": text, "label": i % 2} for i, text in enumerate(TEXTS * 2)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return save(small_model(labels=("negative", "positive")).float(), tmp_path / "model", "# tiny\n")


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of two documents, and few samples."""
    monkeypatch.setitem(lab.CHUNK, "cpu", 2)
    for module in (passes, fig4):
        monkeypatch.setattr(module, "SETTINGS", LimeSettings(n_samples=200))
        monkeypatch.setattr(module, "RUNS", 3)


def options(out: Path, data: Path | None, model: Path | None, experiment: str = "lime-error", **more: Any) -> Options:
    return Options(
        experiment,
        out,
        None if data is None else str(data),
        None if model is None else str(model),
        device="cpu",
        **more,
    )


def numbers_of(folder: Path) -> dict[str, Any]:
    return {
        file.name: json.loads(file.read_text())["numbers"] for file in folder.glob("*.json") if file.name != "run.json"
    }


# ── what it writes ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("fast")
def test_all_experiments_write_numbers_figures_and_one_report(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = AttentionClassifier(AttentionConfig(24, 12, 6, 5, 3), Vocabulary(WORDS), ("<b>no</b>", HOSTILE))
    hostile.initialise(1, heads=1.2)
    folder = save(hostile, tmp_path / "model <i>", "# hostile\n")
    with process_left_as_found():
        page = run(options(tmp_path / "out", data, folder, "all"), Lines())
    assert page is not None
    found = {file.name for file in (tmp_path / "out").iterdir()}
    for experiment in EXPERIMENTS:
        if experiment.name != "fig6":
            assert {f"{experiment.name}.{kind}" for kind in ("json", "png", "pdf")} <= found
    assert {"fig4.csv", "run.json", "table.md", "report.html"} <= found
    html = page.read_text()
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)" in html
    assert "<i>" not in html
    assert set(re.findall(r'src="([a-z]+:)', html)) == {"data:"}
    assert "http" not in html.replace("http-equiv", "")
    assert "give its folder with --deep-model" in html  # Figure 6 is not skipped in silence
    table = (tmp_path / "out" / "table.md").read_text()
    assert "| lime-error | LIME (deletes words) to Theorem 5.1, norm 2 | 0.808 ± 0.219 |" in table
    assert "<script" not in table

    # Figure 6 joins the same folder later.
    monkeypatch.setitem(
        fig6.EFFORT, "cpu", {"samples": 50, "documents": 3, "runs": 2, "samples_each": 50, "accuracy_on": 3}
    )
    monkeypatch.setattr(command.limelight, "load", lambda name: DeepStub() if name == "deep" else hostile)
    run(options(tmp_path / "out", data, folder, "fig6", deep_model="deep"), Lines())
    assert (tmp_path / "out" / "fig6.png").exists()
    with pytest.raises(InputError, match="another deep model"):
        run(options(tmp_path / "out", data, folder, "fig6", deep_model="deeper"), Lines())


def test_the_sample_is_labelled_as_such(tmp_path: Path) -> None:
    sample = read_texts(None)
    assert sample.is_sample
    assert len(sample.texts) == 60
    assert np.bincount(sample.labels).tolist() == [30, 30]
    assert all(20 <= len(text.split()) <= 120 for text in sample.texts)
    page = run(options(tmp_path / "out", None, None, "fig1"), Lines())
    assert page is not None
    assert "not on IMDB" in page.read_text()
    assert "built-in sample" in page.read_text()


@pytest.mark.usefixtures("fast")
def test_numbers_are_computed_without_matplotlib_and_drawn_elsewhere(
    tmp_path: Path, data: Path, model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    with monkeypatch.context() as machine:
        machine.setattr(command, "available", lambda: False)
        assert run(options(out, data, model), Lines()) == out / "report.html"
    assert "<img" not in (out / "report.html").read_text("utf-8")
    assert "no matplotlib here" in capsys.readouterr().err
    before = numbers_of(out)
    data.unlink()  # drawing reads the folder alone
    page = run(Options("lime-error", out), Lines())
    assert page == out / "report.html"
    assert (out / "lime-error.png").exists()
    assert numbers_of(out) == before


def test_only_torch_numpy_and_safetensors_are_needed(tmp_path: Path, data: Path, model: Path) -> None:
    missing = "numba typer rich matplotlib pyarrow lime sklearn scipy transformers tokenizers".split()
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({missing!r}))\n"
        "import importlib.util; real = importlib.util.find_spec\n"
        f"importlib.util.find_spec = lambda name, *a: None if name in {missing!r} else real(name, *a)\n"
        "from limelight.reproduce.__main__ import main\n"
        f"sys.exit(main(['all', '--data', {str(data)!r}, '--model', {str(model)!r}, '--out', {str(tmp_path / 'o')!r}]))"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "o" / "final-layer.json").exists()
    assert "<img" not in (tmp_path / "o" / "report.html").read_text("utf-8")


# ── interruption ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize("pieces", [1, 4, 8])
def test_an_interrupted_run_goes_on_to_the_same_numbers(
    tmp_path: Path, data: Path, model: Path, pieces: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "available", lambda: False)
    run(options(tmp_path / "whole", data, model), Lines())
    written = []
    write = RunFolder.write_chunk

    def interrupted(self: RunFolder, name: str, first: int, arrays: Any) -> None:
        if len(written) == pieces:
            raise KeyboardInterrupt
        written.append((name, first))
        write(self, name, first, arrays)

    with monkeypatch.context() as first_time:
        first_time.setattr(RunFolder, "write_chunk", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(options(tmp_path / "parts", data, model), Lines())
    again = []

    def counted(self: RunFolder, name: str, first: int, arrays: Any) -> None:
        again.append((name, first))
        write(self, name, first, arrays)

    monkeypatch.setattr(RunFolder, "write_chunk", counted)
    run(options(tmp_path / "parts", data, model), Lines())
    assert not set(written) & set(again)  # nothing is computed twice
    assert numbers_of(tmp_path / "parts") == numbers_of(tmp_path / "whole")
    one, other = (np.load(tmp_path / name / "lime-error.npz") for name in ("whole", "parts"))
    assert set(one.files) == set(other.files)
    for name in one.files:
        np.testing.assert_array_equal(one[name], other[name])


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize("place", ["in a thread", "between two pieces", "in a figure"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_a_run_that_breaks_off_leaves_the_process_as_it_was(
    tmp_path: Path, data: Path, model: Path, place: str, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*arguments: Any, **keywords: Any) -> Any:
        raise error

    broken: dict[str, tuple[Any, str]] = {
        "in a thread": (passes, "sampled_coefficients"),
        "between two pieces": (RunFolder, "write_chunk"),
        "in a figure": (drawing, "plain"),
    }
    monkeypatch.setattr(*broken[place], fails)
    with process_left_as_found(), pytest.raises(error):
        run(options(tmp_path / "out", data, model), Lines())


# ── what it refuses ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_folder_of_another_run_is_refused_and_kept(tmp_path: Path, data: Path, model: Path) -> None:
    out = tmp_path / "out"
    run(options(out, data, model, "fig2", documents=4, seed=3), Lines())
    before = (out / "run.json").read_bytes()
    for change, word in (({"seed": 4}, "seed"), ({"documents": 5}, "documents")):
        with pytest.raises(InputError, match=f"another run: its {word}"):
            run(options(out, data, model, "fig1", **change), Lines())
    with pytest.raises(InputError, match="its data"):
        run(options(out, reversed_rows(data), model, "fig1"), Lines())
    other = save(small_model(5, labels=("negative", "positive")).float(), tmp_path / "other", "#\n")
    with pytest.raises(InputError, match="its model"):
        run(options(out, data, other, "fig1"), Lines())
    with pytest.raises(InputError, match="give it again with --data"):
        run(options(out, None, model, "fig1"), Lines())
    with pytest.raises(InputError, match="give it again with --model"):
        run(options(out, data, None, "fig1"), Lines())
    assert (out / "run.json").read_bytes() == before
    run(options(out, data, model, "fig1"), Lines())  # documents and seed as before
    assert json.loads((out / "fig1.json").read_text())["about"]["documents"] == 4


def reversed_rows(data: Path) -> Path:
    other = data.with_name("other.jsonl")
    other.write_text("".join(reversed(data.read_text().splitlines(keepends=True))))
    return other


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path, data: Path, model: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("important")
    with pytest.raises(InputError, match=r"no run\.json"):
        run(options(tmp_path / "mine", data, model), Lines())
    with pytest.raises(InputError, match="is a file"):
        run(options(data, data, model), Lines())


def test_data_that_is_missing_or_incomplete(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no data at"):
        read_texts(str(tmp_path / "nowhere"))
    root = tmp_path / "aclImdb"
    (root / "test").mkdir(parents=True)
    with pytest.raises(DataError, match="without pos/ and neg/"):
        read_texts(str(root))
    for half, text in (("pos", "good"), ("neg", "bad")):
        with pytest.raises(DataError, match=r"without pos/ and neg/|at least one"):
            read_texts(str(root))
        (root / "test" / half).mkdir()
        (root / "test" / half / "0_9.txt").write_text(f"a {text} film")
    for folder in (root, root / "test"):
        found = read_texts(str(folder))
        assert found.texts == ("a bad film", "a good film")
        assert found.labels.tolist() == [0, 1]
    (root / "imdb.vocab").write_text("the\n")
    with pytest.raises(DataError, match="12,500 files should be there"):
        read_texts(str(root))


def test_the_hub_needs_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DataError, match="pip install datasets"):
        read_texts("imdb")


def test_a_model_of_the_wrong_kind_names_experiment_and_kind(
    tmp_path: Path, data: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CapabilityError, match="fig6 needs a model of several layers: give --deep-model"):
        run(options(tmp_path / "a", data, model, "fig6"), Lines())
    with pytest.raises(CapabilityError, match=r"fig6 needs a model of several layers.*AttentionClassifier"):
        run(options(tmp_path / "b", data, model, "fig6", deep_model=str(model)), Lines())
    monkeypatch.setattr(command.limelight, "load", lambda name: DeepStub())
    for experiment in ("fig1", "lime-error", "gradient-error"):
        with pytest.raises(CapabilityError, match=f"{experiment} needs the paper's model.*DeepStub"):
            run(options(tmp_path / "c", data, model, experiment), Lines())


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"documents": 1}, "--documents must be a whole number of at least 2"),
        ({"seed": -1}, "--seed must be a whole number of at least 0"),
    ],
)
def test_values_out_of_range(tmp_path: Path, data: Path, model: Path, change: dict[str, Any], error: str) -> None:
    with pytest.raises(ParameterError, match=error):
        run(options(tmp_path / "out", data, model, **change), Lines())
    assert not (tmp_path / "out").exists()


def test_another_engine_for_figure_4_is_not_passed_over(tmp_path: Path, data: Path, model: Path) -> None:
    run(options(tmp_path / "out", data, model, "fig4"), Lines())
    with pytest.raises(InputError, match="computed by limelight, not by official lime"):
        run(options(tmp_path / "out", data, model, "fig4", official=True), Lines())


def test_a_legend_outside_leaves_the_axes_alone(tmp_path: Path) -> None:
    figure = drawing.new_figure(8, 3)
    axis = figure.subplots()
    axis.plot([0, 1], label="a legend that is not short")
    legend = figure.legend(loc="outside right upper")
    drawing.save_figure(RunFolder(tmp_path), "drawn", figure, "a source")
    assert axis.get_window_extent().x1 < legend.get_window_extent().x0
    assert (tmp_path / "drawn.png").exists()


# ── the two ways to call it ───────────────────────────────────────────────────────────────────────────────────────────


def test_command_line(tmp_path: Path, data: Path, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["fig2", "--data", str(data), "--model", str(model), "--device", "cpu"]
    done = CliRunner().invoke(app, ["reproduce", *given, "--out", str(tmp_path / "a")])
    assert done.exit_code == 0, done.output
    assert str(tmp_path / "a" / "report.html") in done.output.replace("\n", "")
    assert main([*given, "--out", str(tmp_path / "b")]) == 0
    assert main(["fig7", "--out", str(tmp_path / "c")]) == 2
    assert "unknown experiment 'fig7'" in capsys.readouterr().err
    assert CliRunner().invoke(app, ["reproduce", "fig7", "--out", str(tmp_path / "c")]).exit_code == 2
