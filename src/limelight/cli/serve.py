"""`limelight serve`: the page, on this machine."""

from __future__ import annotations

import importlib
import os
import secrets
from pathlib import Path
from typing import Annotated, Any

import typer

from limelight.cli.application import note
from limelight.cli.options import MODEL, FixedDtype, HuggingFaceDevice, Truncate, Window, examples, loading, option
from limelight.cli.wording import as_typed
from limelight.errors import InputError

EXAMPLES = examples(
    "limelight serve   (then open http://localhost:8642)",
    "limelight serve --model embedded --model models/minilm --truncate",
    "LIMELIGHT_TOKEN=$(openssl rand -hex 24) limelight serve --host 0.0.0.0",
)
TOKEN = "LIMELIGHT_TOKEN"
_SHORTEST_TOKEN = 16
_NETWORK = "Network"


def serve(
    model: Annotated[
        list[str] | None,
        option(MODEL, "As in 'limelight explain', or 'embedded'; may be repeated. Default: embedded."),
    ] = None,
    corpus: Annotated[Path | None, typer.Option(help="A folder that 'limelight corpus' wrote.")] = None,
    evaluation: Annotated[Path | None, typer.Option(help="A folder that 'limelight evaluate' wrote.")] = None,
    port: Annotated[int, option(_NETWORK, "0: any that is free.", min=0, max=65535)] = 8642,
    host: Annotated[
        str, option(_NETWORK, f"Where to listen. Beyond this machine a token is needed: {TOKEN}, or one is made.")
    ] = "127.0.0.1",
    name: Annotated[
        list[str] | None,
        option(_NETWORK, "A further name of this machine that browsers may use; may be repeated."),
    ] = None,
    device: HuggingFaceDevice = None,
    dtype: FixedDtype = None,
    truncate: Truncate = False,
    window: Window = False,
    pairs: Annotated[bool, option(MODEL, "The Hugging Face models read pairs of texts.", "--pairs")] = False,
) -> None:
    """Open a page that shows, as one types, why a model decides as it does. It stays on this machine."""
    _check_installed()
    from limelight.web.app import bound, run, served_models
    from limelight.web.security import Door, is_loopback
    from limelight.web.site import Site

    token = None if is_loopback(host) else _token()
    listener = bound(host, port)
    try:
        told = loading(device=device, dtype=dtype, truncate=truncate, window=window, pairs=pairs)
        folders = _folders(corpus, evaluation)
        with as_typed(pairs="--pairs"):
            models = served_models(model or [], told)
        site = Site(models, **folders)
        door = Door(host, token, frozenset(own.lower() for own in name or []))
        typer.echo(_address(host, listener.getsockname()[1], token))
        note("press Ctrl-C to stop" if token is None else "who has this address can ask; press Ctrl-C to stop")
        run(site, door, listener)
    finally:
        listener.close()


def _check_installed() -> None:
    try:
        for package in ("fastapi", "uvicorn"):
            importlib.import_module(package)
    except ImportError as error:
        raise InputError(
            f'limelight serve needs {error.name}, which is not installed: pip install "limelight[web]"'
        ) from error


def _folders(corpus: Path | None, evaluation: Path | None) -> dict[str, Any]:
    """Results of earlier commands, read before anything is served."""
    folders: dict[str, Any] = {}
    if corpus is not None:
        from limelight.web.folders import ServedCorpus

        folders["corpus"] = ServedCorpus.read(corpus)
    if evaluation is not None:
        from limelight.web.folders import evaluation_view

        folders["evaluation"] = evaluation_view(evaluation)
    return folders


def _token() -> str:
    """The token for requests from other machines: from the environment, where no list of processes has it."""
    given = os.environ.get(TOKEN, "")
    if given and (len(given) < _SHORTEST_TOKEN or not given.isascii() or not given.isprintable() or " " in given):
        raise InputError(f"{TOKEN} must be at least {_SHORTEST_TOKEN} letters and digits: got {len(given)} characters")
    return given or secrets.token_urlsafe(32)


def _address(host: str, port: int, token: str | None) -> str:
    name = f"[{host}]" if ":" in host else "localhost" if host == "127.0.0.1" else host
    return f"http://{name}:{port}/" + ("" if token is None else f"#token={token}")
