"""The suite as other processors compute it: which kind is played, and that a failure there is one here."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import NUMERICAL
from processors import ALIASES, KINDS, another, architecture, playable

HERE = Path(__file__).parent
X86 = platform.machine() in ("x86_64", "AMD64")


def test_numerical_files_are_there() -> None:
    """A file that is renamed would leave the check in silence."""
    assert all((HERE / name).exists() for name in NUMERICAL)


def test_another_kind_is_another() -> None:
    assert all(another(ALIASES.get(kind, kind)) not in (kind, ALIASES.get(kind)) for kind in KINDS)
    assert {another(kind) for kind in KINDS} == {"Haswell", "Prescott"}
    assert all(playable(another(kind), "flags : sse2 avx2") for kind in KINDS)
    assert not playable("SkylakeX", "flags : sse2 avx2")
    assert playable("SkylakeX", "flags : avx2 avx512f")


@pytest.mark.skipif(not X86, reason="kinds of x86")
def test_a_kind_is_what_is_computed_as() -> None:
    assert [architecture(KINDS[kind]) for kind in ("Haswell", "Prescott")] == ["Haswell", "Prescott"]


@pytest.mark.skipif(not X86, reason="kinds of x86")
def test_what_fails_under_another_kind_fails_the_command(tmp_path: Path) -> None:
    """And its pytest's closing line is the last but the table."""
    file = tmp_path / "test_fails.py"
    file.write_text("import os\n\ndef test_it():\n    assert os.environ['OPENBLAS_CORETYPE'] == 'Prescott'\n")

    def run(*kinds: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, HERE / "processors.py", *kinds, "--", file, "-n0", "-p", "no:cacheprovider"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    both = run("Prescott", "Haswell")
    assert both.returncode == 1
    last = both.stdout.splitlines()[-2:]
    assert last[0].startswith("| Prescott | ")
    assert "1 passed" in last[0]
    assert last[1].startswith("| Haswell | ")
    assert "test_fails.py::test_it" in both.stdout
    assert "1 failed" in last[1]
    assert run("Prescott").returncode == 0
    assert run("Nehalem").returncode == 2
