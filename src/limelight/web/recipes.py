"""The Python and the command line that give the same numbers, to copy."""

from __future__ import annotations

import shlex
from typing import Any

from limelight.attribution.request import Resolved
from limelight.render.numbers import typed
from limelight.web.requests import ExplainRequest, target_of
from limelight.web.site import Served

_FLAGS = {"truncate": "--truncate", "window": "--window"}
_SHORT = {
    "n_samples": "--samples",
    "precision": "--precision",
    "kernel_width": "--kernel-width",
    "ridge": "--ridge",
    "until": "--until",
}


def recipe(request: ExplainRequest, served: Served, resolved: Resolved) -> dict[str, str]:
    """Both forms of one request."""
    given, methods = resolved.view.document.given, [own.method.id for own in resolved.chosen]
    known = {name for own in resolved.chosen for name in own.implementation.options}
    options = {name: value for name, value in resolved.request.options.items() if name in known}
    source = [] if served.source is None else [repr(served.source)]
    loading = ", ".join([*source, *(f"{name}={value!r}" for name, value in served.loading.items())])
    arguments = {"target": target_of(request), **_changed(request), **options}
    changed = "".join(f", {name}={value!r}" for name, value in arguments.items() if value is not None)
    python = (
        "import limelight\n\n"
        f"model = limelight.load({loading})\n"
        f"text = {given!r}\n"
        f"comparison = limelight.compare(model, text, {methods!r}{changed})\n"
        "print(comparison.to_dict())\n"
    )
    words = ["limelight", "explain", "--format", "json", "--method", ",".join(methods)]
    if served.source is not None:
        words += ["--model", served.source]
    for name, value in served.loading.items():
        if name in _FLAGS:
            words += [_FLAGS[name]] if value else []
        elif name != "pairs":
            words += [f"--{name}", str(value)]
    if request.target is not None:
        words += ["--target", request.target if request.against is None else f"{request.target}:{request.against}"]
    for name, value in _changed(request).items():
        words += [f"--{name}", str(value)]
    for name, value in options.items():
        words += [_SHORT[name], str(value)] if name in _SHORT else ["--set", f"{name}={typed(value)}"]
    if not isinstance(given, str):
        words += ["--second", given[1]]
    return {"python": python, "command": shlex.join([*words, "--", given if isinstance(given, str) else given[0]])}


def _changed(request: ExplainRequest) -> dict[str, Any]:
    """The arguments that are not what they are by default."""
    arguments = {"features": "words", "removal": "mask", "output": None, "seed": 0}
    return {name: getattr(request, name) for name, own in arguments.items() if getattr(request, name) != own}
