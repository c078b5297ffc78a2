"""From what was typed to a server that answers: models loaded, a port taken, the address said."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from limelight.errors import InputError, ParameterError
from limelight.web.security import Door
from limelight.web.site import Served, Site

if TYPE_CHECKING:
    import uvicorn

EMBEDDED = "embedded"
_SECONDS_TO_FINISH = 2
_WAITING = 512
"""Connections that the system holds until they are accepted."""


def served_models(names: Sequence[str], loading: Mapping[str, Any]) -> list[Served]:
    """Each model by its name, which is the last part of its path; the embedded one where none is named.

    What is said of loading is for Hugging Face models; where there is none among them, `load` refuses it.
    """
    from limelight.models.load import is_huggingface, load

    served: list[Served] = []
    sources = [None if given == EMBEDDED else given for given in names or [EMBEDDED]]
    theirs = [is_huggingface(source) for source in sources]
    for given, source, is_theirs in zip(names or [EMBEDDED], sources, theirs, strict=True):
        options = dict(loading) if is_theirs or not any(theirs) else {}
        own = given.rstrip("/").rsplit("/", 1)[-1] or given
        name, number = own, 2
        while any(other.name == name for other in served):
            name, number = f"{own} ({number})", number + 1
        served.append(Served(name, load(source, **options), source, options))
    return served


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens there; what is in the way is an error that says what to do."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(_WAITING)  # who comes before the server is ready waits, and is not turned away
    except PermissionError as error:
        listener.close()
        raise InputError(f"port {port} may not be used by you: choose one above 1023 by --port") from error
    except OSError as error:
        listener.close()
        if isinstance(error, socket.gaierror):
            raise InputError(f"there is no address {host!r} on this machine: check --host") from error
        raise InputError(
            f"port {port} of {host} cannot be used ({error.strerror}): another program may have it; choose another by "
            "--port, or 0 for any that is free"
        ) from error
    except OverflowError as error:
        listener.close()
        raise ParameterError(f"a port is a number from 0 to 65535: got {port}") from error
    return listener


def server_of(site: Site, door: Door) -> uvicorn.Server:
    """A server that is ready to run. Nothing that is asked of it is logged."""
    import uvicorn

    from limelight.web.app import create_app

    config = uvicorn.Config(
        create_app(site, door),
        log_level="warning",
        access_log=False,
        lifespan="on",
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_SECONDS_TO_FINISH,
    )
    return uvicorn.Server(config)


def run(site: Site, door: Door, listener: socket.socket) -> None:
    """Serve until it is interrupted."""
    with contextlib.suppress(KeyboardInterrupt):
        server_of(site, door).run(sockets=[listener])
