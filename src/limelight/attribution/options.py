"""The keyword arguments of `explain` and `compare` as types, for editors and type checkers."""

from __future__ import annotations

from typing import Literal, TypedDict

from limelight.core.progress import Progress
from limelight.inputs.features import Parts, Wanted
from limelight.models.interface import Removal
from limelight.models.outputs import Output


class MethodOptions(TypedDict, total=False):
    """The options of all methods; `limelight methods` says which method has which, and their defaults."""

    baseline: str
    corrected: bool
    dominant: int
    estimator: Literal["auto", "pairs", "permutations"]
    head: int | None
    kernel_width: float
    layer: int | str
    max_steps: int
    n_permutations: int | None
    n_samples: float | None
    original_first: bool
    precision: float
    ridge: float
    ridge_samples: float | None
    sampling: Literal["efficient", "official"]
    seconds: float | None
    steps: int | None
    tolerance: float
    until: Literal["stable"] | float | None


class Arguments(MethodOptions, total=False):
    """The options of all methods, and the arguments that all methods share."""

    features: Wanted
    removal: Removal
    output: Output | None
    parts: Parts
    seed: int
    progress: Progress | None
