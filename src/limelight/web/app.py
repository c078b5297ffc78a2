"""The server: models loaded, a port taken, the routes of `/api/v1`, the files of the page, and how faults are told."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib import resources
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from limelight.errors import InputError, LimelightError, ParameterError
from limelight.render.html.stylesheet import palette_stylesheet
from limelight.web import refusals
from limelight.web.jobs import Jobs
from limelight.web.refusals import Refusal
from limelight.web.routes import add_routes
from limelight.web.security import Application, Door, Guard
from limelight.web.site import Served, Site

if TYPE_CHECKING:
    import uvicorn


_SAID = {"extra_forbidden": "is not a field of this request", "missing": "is missing"}
_ERRORS_SHOWN = 3
_MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}


def create_app(site: Site, door: Door | None = None) -> Application:
    """The whole server, behind its door. `app.state` of the FastAPI application inside holds the jobs."""
    return Guard(create_interface(site), door or Door(), site.limits.body, site.id)


def create_interface(site: Site) -> FastAPI:
    """The application without its door."""
    from limelight import __version__

    jobs = Jobs(site.limits)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        jobs.close()

    app = FastAPI(
        title="limelight",
        description="Why a text classifier decided as it did, word by word, and how far each can be trusted",
        version=__version__,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # they would be fetched from another site
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.state.jobs = jobs
    add_routes(app, site, jobs)
    for path, (content, media) in _page_files().items():
        app.add_route(path, _file(content, media), methods=["GET", "HEAD"], include_in_schema=False)
    for kind, handler in _HANDLERS:
        app.add_exception_handler(kind, handler)
    return app


def _page_files() -> dict[str, tuple[bytes, str]]:
    """The files of the page, read once, by their path in the address: bytes and media type. No path is ever made of
    what a request says."""
    files = {}
    for entry in resources.files("limelight.web").joinpath("static").iterdir():
        ending = entry.name[entry.name.rfind(".") :]
        if ending in _MEDIA:
            files[f"/{entry.name}"] = (entry.read_bytes(), _MEDIA[ending])
    files["/"] = files.pop("/index.html")
    files["/colours.css"] = (palette_stylesheet().encode(), _MEDIA[".css"])
    return files


def _file(content: bytes, media: str) -> Callable[[Request], Response]:
    def answer(_: Request) -> Response:
        return Response(content, media_type=None, headers={"content-type": media})

    return answer


# ── faults ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _of_error(_: Request, error: Exception) -> Response:
    return refusals.of_error(error).response()


def _of_http(request: Request, error: Exception) -> Response:
    """The framework's own refusals of paths, methods and bodies."""
    status = getattr(error, "status_code", 500)
    if isinstance(error.__cause__, Refusal):
        return _of_error(request, error.__cause__)
    if status == 404:
        return _of_error(request, refusals.unknown_thing("address"))
    if status == 405:
        return _of_error(request, Refusal(405, "this address is asked in another way: see /api/v1/openapi.json"))
    return _of_error(request, Refusal(status, "the request cannot be read: send JSON in UTF-8"))


def _of_validation(request: Request, error: Exception) -> Response:
    """The fields that are wrong, and how."""
    found: list[Any] = list(error.errors()) if isinstance(error, RequestValidationError) else []
    said = [f"{_place(one['loc'])} {_SAID.get(one['type'], one['msg'][:1].lower() + one['msg'][1:])}" for one in found]
    more = f" (and {len(said) - _ERRORS_SHOWN} more)" if len(said) > _ERRORS_SHOWN else ""
    sentence = "; ".join(said[:_ERRORS_SHOWN]) + more
    return _of_error(request, Refusal(422, f"{sentence}: see /api/v1/openapi.json for what each field takes"))


def _place(place: tuple[Any, ...]) -> str:
    """A field by its name; what stands deeper in it by its type alone."""
    inner = [part for part in place if part != "body"]
    return repr(str(inner[0])[:40]) if inner and isinstance(inner[0], str) else "the request"


_HANDLERS: list[tuple[Any, Any]] = [
    *((kind, _of_error) for kind in (Refusal, LimelightError, Exception)),
    (HTTPException, _of_http),
    (RequestValidationError, _of_validation),
]


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
