"""In which precision a model is asked about texts with words removed, and what is known of the difference.

A prediction, a gradient and attention are computed with the weights that a model has. An explanation by removal asks
for thousands of forwards, whose mean counts: half precision answers them in half the time, and moves a logit by less
than 1 %. "auto" is bfloat16 on CPUs that have instructions for it, float16 on GPUs with tensor cores, and otherwise
what the model has.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal, cast

import torch

from limelight.core.memory import MEMORY_SHARE, gigabytes, machine_memory
from limelight.errors import ParameterError, known_name

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
Precision = Literal["auto", "float32", "bfloat16", "float16"]
_CPU_FLAGS = frozenset(("avx512_bf16", "amx_bf16", "bf16"))
"""Instructions that multiply bfloat16: Intel's and AMD's, Intel's matrix unit, ARM's."""
_CPU_INFO = Path("/proc/cpuinfo")
_TENSOR_CORES = (7, 0)
"""The first compute capability of NVIDIA that has them."""


def known_dtype(name: object) -> Precision:
    """A name that `dtype` takes, or an error that lists them."""
    return cast(Precision, known_name("dtype", str(name), ("auto", *DTYPES)))


def lower_than(own: torch.dtype, asked: Precision | None, device: torch.device, size: int) -> torch.dtype | None:
    """The precision for texts with words removed, where it is another than the model's `own`.

    `size`: bytes of the model and of a copy in half precision, which must fit beside everything else.
    """
    if asked is None:
        return None
    if asked == "auto":
        half = fastest(device) if own in (torch.float32, torch.float64) else own
        return half if half.itemsize < own.itemsize and size <= _room(device) else None
    dtype = DTYPES[asked]
    if dtype == own:
        return None
    if dtype.itemsize >= own.itemsize:
        raise ParameterError(
            f"dtype={asked!r} has no more digits to find in a model whose weights are {_name(own)}: leave it out, or "
            "give the model in another precision"
        )
    if size > _room(device):
        raise ParameterError(
            f"the model and a copy of it in {asked} would take {gigabytes(size)} of memory, and at most "
            f"{gigabytes(_room(device))} (half of what there is) may be used: leave dtype out"
        )
    return dtype


def fastest(device: torch.device) -> torch.dtype:
    """The lowest precision that a device computes faster than float32, without measuring."""
    if device.type == "cuda":
        return torch.float16 if torch.cuda.get_device_capability(device) >= _TENSOR_CORES else torch.float32
    return torch.bfloat16 if device.type == "cpu" and cpu_has_bfloat16() else torch.float32


@cache
def cpu_has_bfloat16() -> bool:
    """Whether this machine's processor multiplies bfloat16; on systems that do not say so it counts as not."""
    try:
        return has_bfloat16(_CPU_INFO.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return False


def has_bfloat16(cpu_info: str) -> bool:
    """Whether the first processor that a /proc/cpuinfo lists has such an instruction."""
    for line in cpu_info.splitlines():
        name, _, flags = line.partition(":")
        if name.strip().lower() in ("flags", "features"):
            return not _CPU_FLAGS.isdisjoint(flags.lower().split())
    return False


def _room(device: torch.device) -> int:
    """Bytes that a model and its copy may take together."""
    total = torch.cuda.mem_get_info(device)[1] if device.type == "cuda" else machine_memory()
    return int(MEMORY_SHARE * total)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
