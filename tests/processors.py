"""The suite as other kinds of processor compute it, which this one can play: a Markdown table of what came out.

    python tests/processors.py                          # the whole suite under each kind, one after the other
    python tests/processors.py Haswell Prescott -- -m numerical
    python tests/processors.py --other -- -m numerical  # under one kind that is not this machine's own

OpenBLAS, MKL, oneDNN and torch each choose their instructions by the processor, and round as they do. A kind is what
all four would choose on it. What follows `--` goes to pytest.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAMES = ("OPENBLAS_CORETYPE", "ATEN_CPU_CAPABILITY", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA")
KINDS = {
    kind: dict(zip(NAMES, (kind, *others), strict=True))
    for kind, *others in (
        ("Haswell", "avx2", "AVX2", "AVX2"),
        ("Zen", "avx2", "AVX2", "AVX2"),
        ("Sandybridge", "default", "AVX", "AVX"),
        ("Prescott", "default", "SSE4_2", "SSE41"),
        ("SkylakeX", "avx512", "AVX512", "AVX512_CORE"),
    )
}
ALIASES = {"Zen": "Haswell", "Katmai": "Prescott", "Cooperlake": "SkylakeX"}
"""What OpenBLAS says of kinds that it has the same routines for."""
_ARCHITECTURE = """
import numpy
from threadpoolctl import threadpool_info
print(next((own["architecture"] for own in threadpool_info() if own.get("internal_api") == "openblas"), ""))
"""


def architecture(environment: dict[str, str]) -> str:
    """The kind that NumPy's OpenBLAS computes as; nothing where it is another library."""
    asked = [sys.executable, "-c", _ARCHITECTURE]
    said = subprocess.run(asked, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    return ALIASES.get(said.stdout.strip(), said.stdout.strip())


def another(own: str) -> str:
    """A kind that is not this machine's own, and that any x86 processor of the last ten years can play."""
    return "Prescott" if own == "Haswell" else "Haswell"


def playable(kind: str, cpu_info: str) -> bool:
    """Whether a processor has the instructions of a kind."""
    return kind != "SkylakeX" or "avx512f" in cpu_info


def tested(kind: str, arguments: Sequence[str]) -> tuple[int, str]:
    """How pytest ended under a kind: its status and its last line, while all that it says is passed on."""
    played = architecture(KINDS[kind])
    if played != ALIASES.get(kind, kind):
        return 1, f"not run: OpenBLAS computes as {played or 'another library'}"
    print(f"as {kind}:", flush=True)
    last = "nothing was said"
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=ROOT,
        env={**os.environ, **KINDS[kind]},
        stdout=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdout is not None
        for line in run.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
    return run.returncode, last


def main(typed: Sequence[str]) -> int:
    cut = typed.index("--") if "--" in typed else len(typed)
    chosen, arguments = list(typed[:cut]), typed[cut + 1 :]
    if platform.machine() not in ("x86_64", "AMD64"):
        print(f"nothing to play on {platform.machine()}: the kinds are of x86")
        return 0
    if chosen == ["--other"]:
        return tested(another(architecture({})), arguments)[0]
    if unknown := set(chosen) - set(KINDS):
        print(f"unknown kinds {sorted(unknown)}: there are {', '.join(KINDS)}")
        return 2
    cpu_info, rows, worst = Path("/proc/cpuinfo").read_text(encoding="utf-8"), [], 0
    for kind in chosen or KINDS:
        status, said = tested(kind, arguments) if playable(kind, cpu_info) else (0, "not run: no AVX-512 here")
        rows.append(f"| {kind} | {datetime.now(UTC):%Y-%m-%d} | {said} |")
        worst = max(worst, status)
    print("\n".join(["", "| kind | date | result |", "|---|---|---|", *rows]))
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
