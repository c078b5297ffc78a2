"""The Python and the command line that give the same numbers, to copy."""

from __future__ import annotations

import shlex
from typing import Any

from limelight.cli.settings import typed_value
from limelight.web.requests import ExplainRequest, Plan, target_of

_FLAGS = {"truncate": "--truncate", "window": "--window"}
_SHORT = {
    "n_samples": "--samples",
    "precision": "--precision",
    "kernel_width": "--kernel-width",
    "ridge": "--ridge",
    "until": "--until",
}


def recipe(plan: Plan) -> dict[str, str]:
    """Both forms of one request."""
    request = plan.request
    assert isinstance(request, ExplainRequest)
    return {"python": _python(plan, request), "command": _command(plan, request)}


def _python(plan: Plan, request: ExplainRequest) -> str:
    served, document = plan.served, plan.view.document
    source = [] if served.source is None else [repr(served.source)]
    loading = ", ".join([*source, *(f"{name}={value!r}" for name, value in served.loading.items())])
    arguments: dict[str, Any] = {"target": target_of(request), **_changed(request), **plan.options}
    given = "".join(f", {name}={value!r}" for name, value in arguments.items() if value is not None)
    methods = [method.id for method in plan.methods]
    return (
        "import limelight\n\n"
        f"model = limelight.load({loading})\n"
        f"text = {document.given!r}\n"
        f"comparison = limelight.compare(model, text, {methods!r}{given})\n"
        "print(comparison.to_dict())\n"
    )


def _command(plan: Plan, request: ExplainRequest) -> str:
    served, given = plan.served, plan.view.document.given
    words = ["limelight", "explain", "--format", "json", "--method", ",".join(m.id for m in plan.methods)]
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
    for name, value in plan.options.items():
        words += [_SHORT[name], str(value)] if name in _SHORT else ["--set", f"{name}={typed_value(value)}"]
    if not isinstance(given, str):
        words += ["--second", given[1]]
    return shlex.join([*words, "--", given if isinstance(given, str) else given[0]])


def _changed(request: ExplainRequest) -> dict[str, Any]:
    """The arguments that are not what they are by default."""
    arguments = {"features": "words", "removal": "mask", "output": None, "seed": 0}
    return {name: getattr(request, name) for name, own in arguments.items() if getattr(request, name) != own}
