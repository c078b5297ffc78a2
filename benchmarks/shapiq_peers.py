"""shapiq's estimators of Shapley values for a game that another process knows; estimator_peers.py starts this.

    python3.12 -m venv peers && peers/bin/pip install "shapiq[proxy]==1.6.0"

One line of JSON on the standard input asks for an estimate. Answered are lines of JSON: {"rows": n}, followed by n
coalitions as packed bits, to which n numbers of eight bytes are expected; and in the end {"values": [...]} or an error.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from typing import Any

import numpy as np


def approximator(name: str, d: int, seed: int) -> Any:
    import shapiq

    uniform = np.full(d + 1, 1.0)
    uniform[[0, d]] = 0.0
    return {
        "OddSHAP": lambda: shapiq.OddSHAP(n=d, random_state=seed),
        "KernelSHAP": lambda: shapiq.KernelSHAP(n=d, random_state=seed),
        "KernelSHAP in pairs": lambda: shapiq.KernelSHAP(n=d, pairing_trick=True, random_state=seed),
        # Leverage SHAP: sizes evenly, in pairs.
        "Leverage SHAP": lambda: shapiq.KernelSHAP(
            n=d, pairing_trick=True, sampling_weights=uniform / uniform.sum(), random_state=seed
        ),
        "SVARM": lambda: shapiq.SVARM(n=d, random_state=seed),
        "RegressionMSR": lambda: shapiq.RegressionMSR(n=d, index="SV", random_state=seed),
        "PermutationSamplingSV": lambda: shapiq.PermutationSamplingSV(n=d, random_state=seed),
    }[name]()


def main() -> None:
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no part of the conversation
    read = sys.stdin.buffer
    warnings.simplefilter("ignore")

    def say(answer: dict[str, Any]) -> None:
        out.write(json.dumps(answer).encode() + b"\n")

    def ask(kept: Any) -> Any:
        kept = np.atleast_2d(np.asarray(kept, dtype=bool))
        say({"rows": len(kept)})
        out.write(np.packbits(kept, axis=1).tobytes())
        out.flush()
        return np.frombuffer(read.read(8 * len(kept)), dtype=np.float64).copy()

    for line in iter(read.readline, b""):
        asked = json.loads(line)
        try:
            d = asked["d"]
            found = approximator(asked["name"], d, asked["seed"]).approximate(asked["budget"], ask)
            values = [float(found.dict_values.get((j,), 0.0)) for j in range(d)]
            say({"values": values})
        except Exception as error:  # a peer may fail in any way, and must not end the run
            say({"error": f"{type(error).__name__}: {str(error).splitlines()[0][:150] if str(error) else ''}"})
        out.flush()


if __name__ == "__main__":
    main()
