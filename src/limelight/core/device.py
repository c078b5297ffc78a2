"""Where torch computes."""

from __future__ import annotations

import os
import platform

import torch

from limelight.errors import ParameterError


def find_device(name: str) -> torch.device:
    """The device of that name; "auto" is a CUDA device where there is one, else the CPU."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).split("\n")[0]
        there = "'cpu' or 'cuda'" if torch.cuda.is_available() else "'cpu'"
        raise ParameterError(f"no device {name!r} here ({reason}): use {there}, or 'auto'") from error
    return device


def machine_of(device: str) -> str:
    """What a device is called in a report."""
    if "cuda" in device and torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return f"{platform.machine()} CPU, {os.cpu_count()} cores"
