"""Many clients at once, on a small scale: `benchmarks/serve_load.py` is the same with 50 clients and 2,000 requests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "serve_load.py"
GROWTH = 40.0
"""MiB that a server may grow by between two bursts: allocators keep what they were given."""


@pytest.mark.slow
@pytest.mark.skipif(not SCRIPT.exists(), reason="needs benchmarks/serve_load.py, which is not in the package")
def test_many_clients_get_their_own_answers() -> None:
    pytest.importorskip("uvicorn", reason="the page needs the extra web: pip install limelight[web]")
    command = [sys.executable, str(SCRIPT), "--clients", "12", "--requests", "240"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    result = json.loads(done.stdout)
    assert result["wrong"] == []
    assert result["statuses"] == {"200": 240}, "no limit is reached by twelve clients"
    assert result["memory_after_mib"] - result["memory_before_mib"] < GROWTH
