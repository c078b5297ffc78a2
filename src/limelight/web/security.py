"""The door between the network and the interface: who may ask.

A page of another site can send requests to a server on this machine from the browser of whoever looks at it. It cannot
forge the headers that say so: a foreign `Host` is a name that was rebound to this machine, a foreign `Origin` or
`Sec-Fetch-Site` is another site's page. All of these are refused, before anything is read. Where the server can be
reached by other machines, every request to the interface needs the token besides.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
import sys
import traceback
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from limelight.web import refusals
from limelight.web.refusals import Refusal

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)
"""The policy of the page: it runs and fetches what this server gives, nothing inline, nothing from elsewhere."""
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    "cache-control": "no-store",
}
LOOPBACK = ("localhost", "127.0.0.1", "::1")
INTERFACE = "/api/"
SERVER = "limelight-server"
"""The header that tells one run of the server from another: which models a name stands for is a matter of the run."""


@dataclass(frozen=True)
class Door:
    """To whom the server answers. `token`: what every request to the interface must show, where there is one."""

    host: str = "127.0.0.1"
    token: str | None = None
    names: frozenset[str] = field(default_factory=frozenset)
    """Further names of this machine, in lower case."""

    @property
    def is_open(self) -> bool:
        """Whether other machines can reach it."""
        return not is_loopback(self.host)

    def knows(self, host: str) -> bool:
        """Whether a `Host` header is one of this server's names.

        An address is nobody's to rebind. A name may be, and must be known.
        """
        name = _name_of(host)
        if name is None:
            return False
        if name in LOOPBACK or name == self.host.lower() or name in self.names:
            return True
        return self.is_open and (_address_of(name) is not None or name == socket.gethostname().lower())

    def check(self, method: str, path: str, headers: dict[str, str]) -> None:
        """Raise a Refusal for what may not come in."""
        host = headers.get("host", "")
        if not self.knows(host):
            raise Refusal(421, "this server does not answer to that name: use the address that it printed")
        self._check_site(method, path, host, headers)
        if path.startswith(INTERFACE):
            self._check_token(headers)
            kind = headers.get("content-type", "").split(";")[0].strip().lower()
            if method == "POST" and kind != "application/json":
                raise Refusal(415, "a request must be application/json in UTF-8: set its Content-Type so")

    def _check_site(self, method: str, path: str, host: str, headers: dict[str, str]) -> None:
        """Refuse requests of another site's page; the page itself may be the target of a link anywhere."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        ours = origin is None or origin.lower() in (f"http://{host.lower()}", f"https://{host.lower()}")
        is_link = method == "GET" and path == "/" and headers.get("sec-fetch-mode") == "navigate"
        if not ours or (site not in (None, "same-origin", "none") and not is_link):
            raise Refusal(
                403, "this request comes from another site, which is not allowed to ask: open the page itself"
            )

    def _check_token(self, headers: dict[str, str]) -> None:
        if self.token is None:
            return
        scheme, _, given = headers.get("authorization", "").partition(" ")
        expected = self.token.encode()
        # In constant time: how long a wrong token takes does not tell how much of it is right.
        if not hmac.compare_digest(given.strip().encode("utf-8", "replace"), expected) or scheme.lower() != "bearer":
            message = "this server needs its token: open the whole address that it printed, with what follows the #"
            raise Refusal(401, message, {"WWW-Authenticate": "Bearer"})


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens there."""
    address = _address_of(host)
    return host.lower() == "localhost" or (address is not None and address.is_loopback)


def _name_of(host: str) -> str | None:
    """The name in a `Host` header, without its port; None for what is none."""
    name, port = host.strip().lower(), ""
    if name.startswith("["):
        name, closed, rest = name[1:].partition("]")
        if not closed or not (rest == "" or rest.startswith(":")):
            return None
        port = rest[1:]
    else:
        name, _, port = name.partition(":")
    return name.rstrip(".") if name and (port == "" or port.isdecimal()) else None


def _address_of(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


class Guard:
    """An ASGI application around another: lets in what the door lets in, bounds what is read, and adds the headers.

    An error that nobody expected is answered with 500; where it happened is written to standard error, and nothing that
    it says, which may hold a text.
    """

    def __init__(self, app: Application, door: Door, largest_body: int, server: str) -> None:
        self._app, self._door, self._largest = app, door, largest_body
        self._headers = [(name.encode(), value.encode()) for name, value in {**HEADERS, SERVER: server}.items()]

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        begun, read = False, 0

        async def guarded_send(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                given = {name.lower() for name, _ in message["headers"]}
                own = [(name, value) for name, value in self._headers if name not in given]
                message["headers"] = [*message["headers"], *own]
            await send(message)

        async def bounded_receive() -> Message:
            nonlocal read
            message = await receive()
            if message["type"] == "http.request":
                read += len(message.get("body", b""))
                if read > self._largest:
                    raise refusals.body_too_large(self._largest)
            return message

        try:
            self._door.check(scope["method"], scope["path"], headers)
            length = headers.get("content-length", "0")
            if length.isdecimal() and int(length[:20]) > self._largest:
                raise refusals.body_too_large(self._largest)
            await self._app(scope, bounded_receive, guarded_send)
        except Exception as error:
            if not isinstance(error, Refusal):
                report(error)
            if not begun:
                await refusals.of_error(error).response()(scope, receive, guarded_send)


def report(error: BaseException) -> None:
    """Print where an error happened, without a word of what it says."""
    places = "".join(traceback.format_list(list(traceback.extract_tb(error.__traceback__))[-6:]))
    print(f"limelight serve: {type(error).__name__}\n{places}", file=sys.stderr, flush=True)
