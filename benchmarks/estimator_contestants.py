"""Estimators of LIME's weights and of Shapley values, ours and those of others, for any game given as a function.

Each takes a function from coalitions (n, d) to outputs (n,), the number of features, a budget of outputs and a seed.
Imports are inside: a package that is missing is a failure of its own contestants.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from limelight.explainers.lime import kernel_weights
from limelight.explainers.sampling.designs import sample_coalitions
from recorded_games import KERNEL_WIDTH, Answering

Ask = Callable[[Any], Any]


@dataclass(frozen=True)
class Contestant:
    """`estimate(ask, d, budget, seed)` gives d weights."""

    name: str
    method: str  # "lime" or "shapley"
    estimate: Callable[[Ask, int, int, int], Any]
    is_ours: bool = False


# ── ours ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _ours(ask: Ask, d: int, budget: int, seed: int, *, method: str, **options: Any) -> Any:
    if method == "lime":
        options["ridge_samples"] = budget  # all contestants are judged by the regression of as many samples
    return Answering(d, ask).explain(method, budget, seed, **options).weights


# ── LIME ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _official_lime(ask: Ask, d: int, budget: int, seed: int) -> Any:
    from lime.lime_text import LimeTextExplainer

    names = [f"w{j}" for j in range(d)]

    def probabilities(texts: list[str]) -> Any:
        kept = np.array([[word != "x" for word in text.split()] for text in texts])
        margins = ask(kept)
        return np.stack([np.zeros_like(margins), margins], axis=1)

    explainer = LimeTextExplainer(split_expression=str.split, bow=False, mask_string="x", random_state=seed)
    found = explainer.explain_instance(
        " ".join(names), probabilities, labels=(1,), num_features=10**6, num_samples=budget
    )
    weights = dict(found.local_exp[1])
    return np.array([weights[j] for j in range(d)])


def _captum_lime(ask: Ask, d: int, budget: int, seed: int) -> Any:
    import torch
    from captum._utils.models.linear_model import SkLearnRidge
    from captum.attr import LimeBase

    def kernel(original: Any, changed: Any, kept: Any, **_: Any) -> Any:
        return torch.from_numpy(kernel_weights(kept.numpy().astype(bool), KERNEL_WIDTH))

    def draw(original: Any, **_: Any) -> Iterator[Any]:
        for kept in sample_coalitions(d, budget, np.random.default_rng(seed)):
            yield torch.from_numpy(kept)[None].double()

    found = LimeBase(
        _of_torch(ask), SkLearnRidge(alpha=1.0), kernel, draw, True, lambda kept, original, **_: kept, None
    ).attribute(torch.ones(1, d, dtype=torch.float64), n_samples=budget, perturbations_per_eval=512)
    return found.double().numpy().reshape(-1)


# ── Shapley values ────────────────────────────────────────────────────────────────────────────────────────────────────


def _of_torch(ask: Ask) -> Callable[[Any], Any]:
    import torch

    return lambda kept: torch.from_numpy(np.asarray(ask(kept.numpy() > 0.5)))


def _captum_kernel_shap(ask: Ask, d: int, budget: int, seed: int) -> Any:
    import torch
    from captum.attr import KernelShap

    torch.manual_seed(seed)
    one = torch.ones(1, d, dtype=torch.float64)
    found = KernelShap(_of_torch(ask)).attribute(
        one, baselines=torch.zeros_like(one), n_samples=budget, perturbations_per_eval=512
    )
    return found.double().numpy().reshape(-1)


def _captum_sampling(ask: Ask, d: int, budget: int, seed: int) -> Any:
    import torch
    from captum.attr import ShapleyValueSampling

    torch.manual_seed(seed)
    one = torch.ones(1, d, dtype=torch.float64)
    found = ShapleyValueSampling(_of_torch(ask)).attribute(
        one, baselines=torch.zeros_like(one), n_samples=max(1, budget // d), perturbations_per_eval=d
    )
    return found.double().numpy().reshape(-1)


def _shap_kernel(ask: Ask, d: int, budget: int, seed: int) -> Any:
    import shap

    np.random.seed(seed)  # noqa: NPY002 - the package draws from the state of the process
    explainer = shap.KernelExplainer(lambda kept: ask(kept > 0.5), np.zeros((1, d)))
    return explainer.shap_values(np.ones((1, d)), nsamples=budget, l1_reg=0, silent=True)[0]


def _shap_permutation(ask: Ask, d: int, budget: int, seed: int) -> Any:
    import shap

    masker = shap.maskers.Independent(np.zeros((1, d)), max_samples=1)
    explainer = shap.PermutationExplainer(lambda kept: ask(kept > 0.5), masker, seed=seed)
    return explainer(np.ones((1, d)), max_evals=max(budget, 2 * d + 1), silent=True).values[0]


def _lightshap(ask: Ask, d: int, budget: int, seed: int, *, method: str) -> Any:
    from lightshap import explain_any

    whole = 2 * d if method == "kernel" else 0  # sizes 1 and d - 1 are asked first
    rounds = max(1, round((budget - whole) / (2 * d)))
    found = explain_any(
        lambda kept: ask(kept > 0.5), np.ones((1, d)), bg_X=np.zeros((1, d)), method=method, max_iter=rounds,
        tol=1e-12, random_state=seed, verbose=False,
    )  # fmt: skip
    return np.asarray(found.shap_values).reshape(-1)


class Shapiq:
    """The process that shapiq runs in, with a Python of its own: it is ended when it takes longer than `seconds`."""

    def __init__(self, python: str, seconds: float) -> None:
        self._command = [python, str(Path(__file__).with_name("shapiq_peers.py"))]
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None

    def estimate(self, ask: Ask, d: int, budget: int, seed: int, *, name: str) -> Any:
        if self._process is None:
            self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        timer = threading.Timer(self._seconds, self._process.kill)
        timer.start()
        try:
            return self._conversation(self._process, ask, d, {"name": name, "d": d, "budget": budget, "seed": seed})
        except (BrokenPipeError, EOFError):
            self.close()
            raise RuntimeError(f"took longer than {self._seconds:.0f} s") from None
        finally:
            timer.cancel()

    def _conversation(self, process: Any, ask: Ask, d: int, asked: dict[str, Any]) -> Any:
        to, back = process.stdin, process.stdout
        to.write(json.dumps(asked).encode() + b"\n")
        to.flush()
        while line := back.readline():
            answer = json.loads(line)
            if "error" in answer:
                raise RuntimeError(answer["error"])
            if "values" in answer:
                return np.array(answer["values"])
            packed = np.frombuffer(back.read(answer["rows"] * -(-d // 8)), dtype=np.uint8)
            kept = np.unpackbits(packed.reshape(answer["rows"], -1), axis=1, count=d).astype(bool)
            to.write(np.asarray(ask(kept), dtype=np.float64).tobytes())
            to.flush()
        raise EOFError

    def close(self) -> None:
        if self._process is not None:
            with contextlib.suppress(BrokenPipeError):
                assert self._process.stdin is not None
                self._process.stdin.close()
            self._process.wait()
            self._process = None


SHAPIQ = ("OddSHAP", "Leverage SHAP", "KernelSHAP in pairs", "KernelSHAP", "SVARM", "RegressionMSR",
          "PermutationSamplingSV")  # fmt: skip


def contestants(shapiq: Shapiq | None) -> list[Contestant]:
    of_lime: list[tuple[str, Any]] = [
        ("official lime", _official_lime),
        ("captum LimeBase, official draws", _captum_lime),
    ]
    of_shapley: list[tuple[str, Any]] = [
        ("shap Permutation", _shap_permutation),
        ("shap Kernel", _shap_kernel),
        ("lightshap permutation", partial(_lightshap, method="permutation")),
        ("lightshap kernel", partial(_lightshap, method="kernel")),
        ("captum ShapleyValueSampling", _captum_sampling),
        ("captum KernelShap", _captum_kernel_shap),
    ]
    if shapiq is not None:
        of_shapley += [(f"shapiq {name}", partial(shapiq.estimate, name=name)) for name in SHAPIQ]
    return [
        *(
            Contestant(f"limelight, {sampling}", "lime", partial(_ours, method="lime", sampling=sampling), True)
            for sampling in ("efficient", "official")
        ),
        *(Contestant(name, "lime", estimate) for name, estimate in of_lime),
        *(
            Contestant(f"limelight, {own}", "shapley", partial(_ours, method="shapley", estimator=own), True)
            for own in ("auto", "pairs", "permutations")
        ),
        *(Contestant(name, "shapley", estimate) for name, estimate in of_shapley),
    ]
