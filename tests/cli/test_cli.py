"""The command line: what it prints, what it writes, how it fails."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import limelight
from conftest import small_model
from limelight import cli
from limelight.attribution.request import Request
from limelight.explainers.method import methods
from limelight.models.words import checkpoint
from render.samples import comparison_of

TEXT = "The film was GREAT, but too long."
COMMAND = (sys.executable, "-c", "from limelight.cli import main; main()")
SAVED = Path(__file__).parents[1] / "explanation" / "explanation-0.1.json"
FIGURE_1 = ["alpha-avg", "alpha-max", "lime", "g-avg", "g-l1", "g-l2", "gxi"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of a small model, for processes of their own."""
    path = tmp_path_factory.mktemp("models") / "small"
    checkpoint.save(small_model().float(), path, "# A small model\n")
    return path


def run(*arguments: str | Path, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(cli.app, [str(a) for a in arguments], input=stdin, env={"COLUMNS": "100"})


def process(*arguments: str | Path, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        input=stdin,
        capture_output=True,
        env={**os.environ, "COLUMNS": "100", **environment},
        timeout=120,
        check=False,
    )


def assert_refused(result: Result, *parts: str) -> None:
    """One clear message on standard error, exit code 2, no traceback."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    for part in parts:
        assert part in result.stderr


def test_explain_shows_the_prediction_and_a_row_per_method(folder: Path) -> None:
    result = run("explain", TEXT, "--model", folder, "--compare")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert re.match(r"(negative|neutral|positive) +━*─* +\d+\.\d % +logit", lines[0])
    rows = [line for line in lines if "GREAT" in line]
    # The small model is a ratio game: the exact values, which are shown with those of Figure 1, exist.
    labels = [method.label for method in methods() if method.default or method.implementations[0].default]
    assert len(labels) >= len(FIGURE_1)
    assert [row.startswith(f"{label} ") for row, label in zip(rows, labels, strict=True)] == [True] * len(labels)


@pytest.mark.parametrize("how", ["argument", "file", "dash", "pipe", "file dash"])
def test_text_comes_from_an_argument_a_file_or_standard_input(folder: Path, tmp_path: Path, how: str) -> None:
    file = tmp_path / "review.txt"
    file.write_text(TEXT, encoding="utf-8-sig")
    arguments = {"argument": [TEXT], "file": ["--file", file], "dash": ["-"], "pipe": [], "file dash": ["--file", "-"]}
    result = run("explain", *arguments[how], "--model", folder, "--format", "json", stdin=TEXT)
    assert json.loads(result.stdout)["text"] == TEXT


def test_json_is_the_contract(folder: Path) -> None:
    result = run("explain", "Très bon 非 film", "--model", folder, "--format", "json", "--seed", "3", "--samples", "64")
    given = json.loads(result.stdout)
    assert result.stdout.endswith("}\n")
    assert "Très bon 非 film" in result.stdout
    expected = limelight.compare(limelight.load(folder), "Très bon 非 film", seed=3, n_samples=64).to_dict()
    for explanation in (*given["explanations"], *expected["explanations"]):
        del explanation["seconds"]
    assert given == expected
    assert [explanation["method"] for explanation in given["explanations"]][: len(FIGURE_1)] == FIGURE_1


def test_options_reach_the_library(folder: Path) -> None:
    choices = ("--features", "occurrences", "--removal", "delete", "--output", "probability", "--format", "json")
    options = ("--method", "gxi,lime", "--target", "neutral", "--samples", "50")
    result = run("explain", "long, long film", "--model", folder, *choices, *options)
    first, second = json.loads(result.stdout)["explanations"]
    assert (first["method"], second["method"]) == ("gxi", "lime")
    assert second["target"] == "neutral"
    assert second["features"] == ["long", ",", "long", "film"]
    parameters = {"features": "occurrences", "removal": "delete", "output": "probability", "n_samples": 50}
    assert parameters.items() <= second["parameters"].items()


def test_exact_values_take_a_precision(folder: Path) -> None:
    options = ("--method", "lime-limit", "--precision", "1e-5", "--kernel-width", "1", "--ridge", "0.5")
    result = run("explain", "hi there", "--model", folder, "--format", "json", *options)
    (explanation,) = json.loads(result.stdout)["explanations"]
    assert {**explanation["parameters"], "precision": 1e-5, "kernel_width": 1, "ridge": 0.5} == explanation[
        "parameters"
    ]
    assert_refused(
        run("explain", "hi there", "--model", folder, "--method", "shapley", "--precision", "1e-30"), "1e-30"
    )


def test_all_methods_are_those_that_the_model_can_serve(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run("explain", "fine film", "--model", folder, "--method", "all", "--format", "json")
    able = [own.id for own in Request().applicable(limelight.load(folder).view("fine film"))]
    assert [e["method"] for e in json.loads(result.stdout)["explanations"]] == able
    assert result.stderr.split(": ")[-1].strip().split(", ") == [m.id for m in methods() if m.id not in able]

    class OnlyPerturbed:
        """A view with one capability."""

        def __init__(self, text: str) -> None:
            whole = small_model().view(text)
            self.document, self.labels, self.logits = whole.document, whole.labels, whole.logits
            self.removals, self.game, self.kind, self.outputs = whole.removals, whole.game, whole.kind, whole.outputs

    class OnlyPerturbable:
        labels = small_model().labels
        view = staticmethod(OnlyPerturbed)

    monkeypatch.setattr(limelight, "load", lambda path: OnlyPerturbable(), raising=False)
    file = tmp_path / "lines.txt"
    file.write_text("fine film\nbad end\n")
    result = run("explain", "--file", file, "--lines", "--method", "all", "--samples", "20", "--format", "json")
    assert result.exit_code == 0, result.output
    for line in result.stdout.splitlines():
        assert [e["method"] for e in json.loads(line)["explanations"]] == ["lime", "leave-one-out", "shapley"]
    left_out = [m.id for m in methods() if m.id not in ("lime", "leave-one-out", "shapley")]
    assert result.stderr == (
        f"note: left out, because they do not apply to this model with these options: {', '.join(left_out)}\n"
    )


def test_removal_and_output_decide_which_methods_apply(folder: Path) -> None:
    options = ("--method", "all", "--removal", "delete", "--samples", "20", "--format", "json")
    result = run("explain", "fine film", "--model", folder, *options)
    assert "lime-theorem" in result.stderr
    assert "lime-theorem" not in result.stdout
    shapley = json.loads(result.stdout)["explanations"][-1]
    # It was given a number of samples: both words were asked about in all combinations.
    assert (shapley["method"], shapley["diagnostics"]["complete"]) == ("shapley", True)


def test_any_option_of_a_method_can_be_set(folder: Path) -> None:
    def parameters(*arguments: str) -> dict[str, object]:
        result = run("explain", "fine film", "--model", folder, "--format", "json", *arguments)
        assert result.exit_code == 0, result.output
        (explanation,) = json.loads(result.stdout)["explanations"]
        own: dict[str, object] = explanation["parameters"]
        return own

    attention = parameters("--method", "alpha-avg", "--set", "layer=0", "--set", "head=1")
    assert (attention["layer"], attention["head"]) == (0, 1)
    assert parameters("--method", "alpha-avg", "--set", "head=none", "--set", "layer=mean")["layer"] == "mean"
    official = ("--set", "sampling=official", "--set", "original_first=False")
    lime = parameters("-m", "lime", "--samples", "50", "--set", "kernel_width=inf", *official)
    assert (lime["n_samples"], lime["kernel_width"], lime["original_first"]) == (50, "inf", False)
    path = parameters("-m", "integrated-gradients", "--set", "baseline='mask'", "--set", " steps = 32 ")
    assert (path["baseline"], path["steps"]) == ("mask", 32)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["layer"], "--set must look like NAME=VALUE, such as --set layer=0: got 'layer'"),
        (["=1"], "got '=1'"),
        (["layer="], "got 'layer='"),
        (["la yer=1"], "got 'la yer=1'"),
        (["laier=1"], "unknown option for alpha-avg 'laier': did you mean 'layer'?"),
        (["head=1.5"], "head must be a whole number or None: got 1.5"),
        (["head=first"], "head must be a whole number or None: got 'first'"),
        (["head=true"], "head must be a whole number or None: got True"),
        (["head='1'"], "head must be a whole number or None: got '1'"),
        (["head=7"], "head"),
        (["layer=0", "layer=-1"], "--set layer=-1: 'layer' was set before"),
        (["seed=1"], "'seed' is no option of a method; use --seed"),
        (["methods=lime"], "use --method"),
        (["progress=1"], "'progress' is no option of a method"),
        (["\x1b[31m=1"], "got '␛[31m=1'"),
    ],
)
def test_a_setting_that_cannot_be_is_named(folder: Path, settings: list[str], said: str) -> None:
    given = [part for setting in settings for part in ("--set", setting)]
    result = run("explain", "fine film", "--model", folder, "--method", "alpha-avg", *given)
    assert_refused(result, said.replace("␛", "\\x1b"))


def test_an_option_is_given_in_one_place(folder: Path) -> None:
    result = run("explain", "fine", "--model", folder, "--samples", "9", "--set", "n_samples=9")
    assert_refused(result, "'n_samples' was given twice: by --samples and by --set")


@pytest.mark.filterwarnings("error::limelight.errors.ExplanationWarning")
def test_a_verdict_is_said_beside_its_row_and_nowhere_else() -> None:
    """The embedded model knows neither word: the weights of LIME are rounding, and its R² was printed as -156."""
    result = run("explain", "xyzzy qwertz", "--method", "lime,shapley")
    assert (result.exit_code, result.stderr) == (0, "")
    assert (
        len(re.findall(r"(LIME|Shapley) +no word is distinguishable from zero\s+⚠ no weight can be ", result.stdout))
        == 2
    )
    assert "R²" not in result.stdout
    assert "xyzzy° qwertz°" in result.stdout
    said = json.loads(run("explain", "xyzzy qwertz", "--method", "lime", "--format", "json").stdout)
    assert said["explanations"][0]["diagnostics"]["warnings"]


@pytest.mark.parametrize(
    ("arguments", "environment", "colours"),
    [
        (["--color", "always"], {"NO_COLOR": "1", "TERM": "dumb"}, "standard"),
        (["--color", "always"], {"TERM": "xterm-256color"}, "256"),
        (["--color", "always"], {"TERM": "xterm", "COLORTERM": "truecolor"}, "truecolor"),
        (["--color", "never"], {"FORCE_COLOR": "1", "TERM": "xterm-256color"}, None),
        (["--no-color"], {"FORCE_COLOR": "1", "TERM": "xterm-256color"}, None),
        ([], {"FORCE_COLOR": "1", "TERM": "xterm-256color"}, "256"),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1", "TERM": "xterm-256color"}, "bold"),
        (["--color", "auto"], {"TERM": "xterm-256color"}, None),
    ],
)
def test_colours_are_as_asked_for(
    tmp_path: Path, arguments: list[str], environment: dict[str, str], colours: str | None
) -> None:
    saved = tmp_path / "a.json"
    saved.write_text(json.dumps(comparison_of("good").to_dict()))
    clean = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLORTERM")}
    done = subprocess.run(
        [*COMMAND, "show", str(saved), *arguments], capture_output=True, check=False, env={**clean, **environment}
    )
    signs = {"truecolor": b"48;2;", "256": b"48;5;", "standard": b"\x1b[1;97;104m"}
    assert [name for name, sign in signs.items() if sign in done.stdout] == [colours][: colours in signs]
    assert (b"\x1b[" in done.stdout) is (colours is not None)
    assert (b"[+++good]" in done.stdout) is (colours not in signs)


def test_colour_and_none_contradict_each_other() -> None:
    assert_refused(
        run("explain", "fine", "--color", "always", "--no-color"), "--no-color and --color always contradict"
    )


def test_the_theme_is_the_terminals(tmp_path: Path) -> None:
    saved = tmp_path / "a.json"
    saved.write_text(json.dumps(comparison_of("good").to_dict()))
    outputs = {
        theme: process("show", saved, "--color", "always", "--theme", theme, COLORTERM="truecolor", TERM="x").stdout
        for theme in ("light", "dark", "auto")
    }
    assert b"48;2;255;255;255m" in outputs["light"] or b"48;2;84;160;250m" in outputs["light"]
    assert outputs["light"] != outputs["dark"] == outputs["auto"]


def test_top_and_sort_reach_the_summary(folder: Path) -> None:
    result = run("explain", TEXT, "--model", folder, "--method", "gxi", "--top", "2", "--sort", "text", "--numbers")
    table = result.stdout.split("──\n")[1].split("\n\n")[0].splitlines()
    order = limelight.explain(limelight.load(folder), TEXT, method="gxi").top(2)
    names = list(limelight.explain(limelight.load(folder), TEXT, method="gxi").features)
    assert [line.split()[0] for line in table] == sorted((name for name, _ in order), key=names.index)
    assert run("explain", TEXT, "--top", "0").exit_code == 2


def test_numbers_and_no_color(folder: Path) -> None:
    result = run("explain", TEXT, "--model", folder, "--numbers", "--no-color", "--method", "gxi")
    assert re.search(r"^great +[+-]\d", result.stdout, re.MULTILINE)
    forced = process("explain", TEXT, "--model", folder, FORCE_COLOR="1", TERM="xterm-256color")
    assert b"\x1b[" in forced.stdout
    plain = process("explain", TEXT, "--model", folder, "--no-color", FORCE_COLOR="1", TERM="xterm-256color")
    assert b"[38;" not in plain.stdout
    assert b"[48;" not in plain.stdout
    assert b"[+" in plain.stdout


@pytest.mark.parametrize(("name", "start"), [("a.json", b"{"), ("a.html", b"<!DOCTYPE html>"), ("a.txt", b"")])
def test_out_writes_a_file_whose_ending_says_the_format(folder: Path, tmp_path: Path, name: str, start: bytes) -> None:
    out = tmp_path / name
    out.write_text("old")
    result = run("explain", TEXT, "--model", folder, "--out", out)
    words = {"a.json": "JSON", "a.html": "a page", "a.txt": "plain text"}[name]
    assert (result.exit_code, result.output) == (0, f"note: wrote {out}: 1 text as {words}\n")
    assert out.read_bytes().startswith(start)
    assert b"GREAT" in out.read_bytes()
    assert list(tmp_path.iterdir()) == [out]


def test_a_name_that_promises_a_format_gets_it_or_an_error(tmp_path: Path) -> None:
    """Before any work is done: no model is loaded."""
    for name, option, said in (
        ("a.docx", None, "ends in '.docx', a format that limelight does not write: use one of .txt, .json,"),
        ("a.html", "json", "--format json and --out"),
        ("a.json", "table", "end the name in .txt, or leave --format out"),
        ("a.svg", "png", "are two formats"),
    ):
        arguments = ["explain", TEXT, "--model", "/no/such/model", "--out", tmp_path / name]
        assert_refused(run(*arguments, *(["--format", option] if option else [])), said)
    assert list(tmp_path.iterdir()) == []


def test_a_name_without_an_ending_promises_nothing(folder: Path, tmp_path: Path) -> None:
    run("explain", TEXT, "--model", folder, "--out", tmp_path / "result", "--format", "json")
    assert json.loads((tmp_path / "result").read_text("utf-8"))["text"] == TEXT
    run("explain", TEXT, "--model", folder, "--out", tmp_path / "RESULT.JSON")
    assert json.loads((tmp_path / "RESULT.JSON").read_text("utf-8"))["text"] == TEXT


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF-")])
def test_figures_are_written_by_their_endings(folder: Path, tmp_path: Path, name: str, start: bytes) -> None:
    pytest.importorskip("matplotlib")
    for again in range(2):
        out = tmp_path / f"{again}{name}"
        result = run("explain", TEXT, "--model", folder, "--method", "gxi", "--out", out)
        assert (result.exit_code, result.output) == (0, f"note: wrote {out}: 1 text as a figure\n")
    first, second = (file.read_bytes() for file in sorted(tmp_path.iterdir()))
    assert first.startswith(start)
    assert first == second


def test_a_figure_shows_one_text_and_needs_matplotlib(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "texts.txt"
    file.write_text("good film\nbad end\n")
    options = ("--lines", "--method", "gxi", "--out", tmp_path / "a.png")
    assert_refused(run("explain", "--file", file, "--model", folder, *options), "a figure shows one text", "2")
    monkeypatch.delitem(sys.modules, "limelight.render.figure.figure", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    refused = run("explain", TEXT, "--model", "/no/such/model", "--out", tmp_path / "a.png")
    assert_refused(refused, 'pip install "limelight[figures]"')


def test_out_follows_links_and_keeps_permissions(folder: Path, tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    run("explain", TEXT, "--model", folder, "--out", link)
    assert link.is_symlink()
    assert json.loads(real.read_text("utf-8"))["text"] == TEXT
    assert real.stat().st_mode & 0o777 == 0o640


def test_out_that_cannot_be_written_is_refused_and_loses_nothing(folder: Path, tmp_path: Path) -> None:
    assert_refused(run("explain", TEXT, "--model", folder, "--out", tmp_path), "it is a folder")
    assert_refused(run("explain", TEXT, "--model", folder, "--out", tmp_path / "no" / "a.html"), "there is no folder")
    name = "x" * 255
    (tmp_path / name).write_text("old")
    assert_refused(run("explain", TEXT, "--model", folder, "--out", tmp_path / (name + "x")), "cannot write")
    assert (tmp_path / name).read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_failed_write_leaves_the_old_file(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    out = tmp_path / "a.json"
    out.write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    assert_refused(run("explain", TEXT, "--model", folder, "--out", out), "No space left on device")
    assert out.read_text() == "old"
    assert list(tmp_path.iterdir()) == [out]


def test_bad_input_is_refused_with_what_to_do(folder: Path, tmp_path: Path) -> None:
    latin = tmp_path / "latin.txt"
    latin.write_bytes("café".encode("latin-1"))
    model = ("--model", folder)
    assert_refused(run("explain", "  ", *model), "no words")
    assert_refused(run("explain", *model, stdin=""), "no words")
    assert_refused(run("explain", "hi", "--file", latin), "give one of them")
    assert_refused(run("explain", "--file", tmp_path / "none.txt"), "there is no file", "check its name")
    assert_refused(run("explain", "--file", tmp_path), "is a folder")
    assert_refused(run("explain", "--file", latin), "not UTF-8", "0xe9 at position 3", "iconv")
    assert_refused(run("explain", "-", stdin=b"\xe9"), "standard input is not UTF-8")
    assert_refused(run("explain", "caf\udce9"), "not valid UTF-8")
    assert_refused(run("explain", "hi", "--model", tmp_path / "none"), "does not exist")
    assert_refused(run("explain", "hi", *model, "--method", "lyme"), "did you mean 'lime'")
    for near, meant in (("ig", "integrated-gradients"), ("SHAP", "shapley"), ("attention", "alpha-avg")):
        assert_refused(run("explain", "hi", *model, "--method", near), f"did you mean '{meant}'?")
    assert_refused(run("explain", "hi", *model, "--method", "deeplift"), "did you mean '")
    assert_refused(run("explain", "hi", *model, "--method", "all,lime"), "'all' stands for all there are, and 'lime'")
    assert_refused(run("explain", "hi", *model, "--method", ","), "name at least one")
    assert_refused(run("explain", "hi", *model, "--target", "bad"), "unknown label 'bad'", "'negative'")
    assert_refused(run("explain", "hi", *model, "--samples", "0"), "at least 2")
    assert_refused(run("explain", "hi", *model, "--seed", "-1"), "seed")
    assert_refused(run("explain", "hi", *model, "--method", "gxi", "--samples", "9"), "unknown option", "--samples")


def test_hostile_names_in_errors_do_not_act(folder: Path) -> None:
    result = run("explain", "hi", "--model", folder, "--file", "\x1b[31m\u202ex[red]")
    assert "\x1b" not in result.stderr
    assert "\u202e" not in result.stderr
    assert "␛[31m<U+202E>x[red]" in result.stderr


@pytest.mark.parametrize("option", ["--removal", "--output", "--format", "--color", "--theme", "--sort"])
def test_choices_are_checked(option: str) -> None:
    result = run("explain", "hi", option, "nothing")
    assert result.exit_code == 2
    assert "Invalid value" in result.stderr


def test_no_text_at_a_keyboard_is_a_helpful_error() -> None:
    leader, follower = os.openpty()
    try:
        done = subprocess.run(
            [*COMMAND, "explain"],
            stdin=follower,
            capture_output=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(leader)
        os.close(follower)
    assert done.returncode == 2
    assert b"there is no text to explain" in done.stderr


def test_a_text_too_long_for_a_file_name_is_a_text(folder: Path) -> None:
    text = "非" * 200
    assert json.loads(run("explain", text, "--model", folder, "--format", "json").stdout)["text"] == text


def test_a_text_that_names_a_file_gets_a_note(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("review.txt").write_text("great")
    result = run("explain", "review.txt", "--model", folder, "--format", "json")
    assert json.loads(result.stdout)["text"] == "review.txt"
    assert "use --file review.txt" in result.stderr


def test_numbers_that_are_not_finite_are_written_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    odd = comparison_of("fine", [1.0], stderr=[np.nan], diagnostics={"r2": np.nan, "most": np.inf})
    monkeypatch.setattr(limelight, "load", lambda path: small_model(), raising=False)
    monkeypatch.setattr(limelight, "compare", lambda *args, **options: odd)
    written = run("explain", "fine", "--format", "json").stdout
    assert '"stderr": [null]' in written
    assert '{"r2": "nan", "most": "inf"}' in written
    assert limelight.Comparison.from_dict(json.loads(written)) == odd


def test_json_and_html_are_utf_8_on_any_terminal(folder: Path) -> None:
    text = "Très bon 非 👍"
    arguments = ("explain", text, "--model", folder, "--method", "gxi", "--format")
    done = process(*arguments, "json", PYTHONIOENCODING="latin-1")
    assert json.loads(done.stdout.decode("utf-8"))["text"] == text
    done = process(*arguments, "html", PYTHONIOENCODING="utf-16")
    assert "非" in done.stdout.decode("utf-8")


def test_a_terminal_without_unicode_still_gets_a_table(folder: Path) -> None:
    done = process("explain", "bon 非 film", "--model", folder, "--compare", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert rb"\u975e" in done.stdout
    assert b"alpha-avg" in done.stdout


@pytest.mark.parametrize("format", ["table", "json"])
def test_a_closed_pipe_is_no_accident(folder: Path, format: str) -> None:
    with subprocess.Popen(
        [*COMMAND, "explain", "-", "--model", str(folder), "--format", format],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdout
        assert running.stdin
        assert running.stderr
        running.stdout.close()
        running.stdin.write(TEXT.encode() * 200)
        running.stdin.close()
        complaint = running.stderr.read()
    assert complaint == b""


@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        ["--help"],
        ["explain", "--help"],
        ["train", "--help"],
        ["reproduce", "--help"],
        ["methods"],
        ["show", str(SAVED)],
    ],
)
def test_answers_without_torch(arguments: list[str]) -> None:
    code = (
        "import sys, limelight.cli\n"
        "try: limelight.cli.main()\n"
        "except SystemExit as stop: assert not stop.code, stop.code\n"
        "assert 'torch' not in sys.modules, 'torch was imported'"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_version() -> None:
    assert run("--version").stdout == f"limelight {limelight.__version__}\n"


def test_python_m_limelight_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "limelight", "--version"], capture_output=True, timeout=60, check=False, text=True
    )
    assert (done.returncode, done.stdout) == (0, f"limelight {limelight.__version__}\n")


def test_help_has_examples() -> None:
    assert "limelight explain" in run("--help").stdout
    for command in ("explain", "show", "train"):
        result = run(command, "--help")
        assert result.exit_code == 0
        assert "Examples" in result.stdout


@pytest.mark.parametrize("columns", ["40", "80", "120"])
def test_methods_lists_all_with_what_they_need(columns: str) -> None:
    result = CliRunner().invoke(cli.app, ["methods"], env={"COLUMNS": columns})
    words = re.sub(r"\s+", " ", result.stdout)
    for method in methods():
        assert f"{method.id} {method.label} {method.summary}" in words
        for way in method.implementations:
            only = "".join(f" --{name} {value}" for name, value in way.only.items())
            facts = f"needs {way.need}, {'sampled' if way.sampled else 'not sampled'}{', only for' if only else ''}"
            assert f"{facts}{only}" in words
            for name, default in way.parameters.items():
                # As it is typed after --set.
                assert f"{name}={default}" in words or f"{name}={str(default).lower()}" in words
    assert "needs ratio game, not sampled, only for --removal mask and outputs linear in the logits" in words
    assert "sampled: needs perturbation, sampled n_samples=none until=none seconds=none n_permutations=none" in words
    assert max(map(len, result.stdout.splitlines())) <= int(columns)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.csv"
    rows = [("the film was great", 1), ("the film was bad", 0), ("very good it was", 1), ("too long and bad", 0)] * 12
    path.write_text("body,y\n" + "".join(f"{text},{label}\n" for text, label in rows), encoding="utf-8")
    return path


COLUMNS = ["--text-column", "body", "--label-column", "y", "--label-names", "0=dull,1=fine", "--device", "cpu"]


def test_train_then_explain(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    arguments = ["train", data, "--out", out, *COLUMNS, "--epochs", "2", "--validation", "0.25", "--test", data]
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert re.search(r"validation accuracy [\d.]+ %, test accuracy [\d.]+ %\n$", result.stdout)
    assert "48 texts show how training works; for a model" in result.stderr
    assert re.search(r"^epoch 2/2  loss \d\.\d+  accuracy [\d.]+ %  validation [\d.]+ %", result.stderr, re.MULTILINE)
    shown = json.loads(run("explain", "a great film", "--model", out, "--format", "json").stdout)
    assert shown["prediction"]["labels"] == ["dull", "fine"]
    assert_refused(run(*arguments), "holds a finished model")


def test_train_refuses_bad_input(data: Path, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "model")
    for arguments, expected in (
        ([tmp_path / "none.csv", *out], "none.csv"),
        ([data, *out], "text"),
        ([data, *out, *COLUMNS, "--preset", "papper"], "did you mean 'paper'"),
        ([data, *out, *COLUMNS, "--validation", "many"], "--validation must be"),
        ([data, *out, "--label-names", "fine"], "--label-names must look like"),
        ([data, *out, "--label-names", "0=,1=x"], "--label-names must look like"),
    ):
        result = run("train", *arguments)
        assert result.exit_code == 2, (arguments, result.output)
        assert result.stderr.splitlines()[-1].startswith("error: ")
        assert expected in result.stderr
        assert not (tmp_path / "model").exists()


def test_interrupted_training_says_how_to_go_on(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    command = ["train", data, "--out", out, *COLUMNS, "--epochs", "100000", "--validation", "8"]
    with subprocess.Popen(
        [*COMMAND, *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A test run in the background of a script is started with Ctrl-C switched off, and its children inherit that.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    ) as running:
        assert running.stderr
        seen = b""
        deadline = time.monotonic() + 100
        while b"epoch 2/" not in seen and time.monotonic() < deadline:
            seen += running.stderr.readline()
        running.send_signal(signal.SIGINT)
        try:
            rest = running.communicate(timeout=60)[1]
        finally:
            running.kill()
        assert running.returncode == 130
    assert b"Traceback" not in rest
    last = rest.splitlines()[-1].decode()
    assert re.fullmatch(
        rf"stopped: {out} keeps the run up to epoch \d+: give the same command to go on from there", last
    )


def test_interrupted_before_anything_was_stored(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from limelight.training import train as training

    def stop(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "train", stop)
    result = run("train", data, "--out", tmp_path / "model")
    assert result.exit_code == 130
    assert "nothing was stored" in result.stderr


def test_reproduce_says_before_it_starts_that_figures_need_an_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from limelight.cli import reproduce

    monkeypatch.setattr(reproduce, "find_spec", lambda name: None)
    result = run("reproduce", "fig1", "--out", tmp_path / "run", "--documents", "0")
    assert result.stderr.startswith("note: figures need matplotlib")
    assert 'pip install "limelight[figures]"' in result.stderr


def test_interrupted_explaining_exits_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(path: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(limelight, "load", stop, raising=False)
    result = run("explain", "fine")
    assert result.exit_code == 130
    assert result.stderr == "stopped: interrupted from the keyboard\n"
