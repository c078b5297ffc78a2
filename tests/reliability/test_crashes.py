"""A sample of the crash harness: commands that are stopped, killed or out of disk, and given again."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HARNESS = Path(__file__).with_name("crash_harness.py")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="a run is a fork of the harness")
def test_commands_that_are_stopped_end_as_if_they_had_not_been() -> None:
    """Disks are limited in the process, not mounted: that takes no rights."""
    ended = subprocess.run(
        [sys.executable, str(HARNESS), "--stops", "6", "--kills", "6", "--full", "2"],
        capture_output=True,
        text=True,
        env={**os.environ, "CRASH_HARNESS_NO_MOUNT": "1", "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert re.search(r"^0 failures", ended.stdout, re.MULTILINE)
    for command in ("train", "reproduce", "explain"):
        assert re.search(rf"^{command}: \d+ file operations, 6 stops", ended.stdout, re.MULTILINE)
        assert re.search(rf"^{command}: 2 disks by a limit in the process, [12] too small", ended.stdout, re.MULTILINE)
