"""Serving on this machine alone: a socket that no other reaches, and who is answered over it."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from monograph.errors import InputError

LEAST_TOKEN = 16
"""Fewest characters of a token."""

SAFE = ("GET", "HEAD")
"""Methods that change nothing."""

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
"""What ASGI calls an application."""


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens on a loopback address; port 0 takes a free one.

    Raises
    ------
    InputError
        If the host is not this machine alone, or the port is taken.
    """
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError as error:
        raise InputError(f"{host!r} is not an address", "give 127.0.0.1 or ::1") from error
    if not address.is_loopback:
        raise InputError(f"{host} can be reached from other machines", "give 127.0.0.1, and a tunnel for the rest")
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    # asyncio sets TCP_NODELAY only where the protocol is named; else an answer may wait 40 ms for an ACK.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((str(address), port))
        made.listen()
    except OSError as error:
        made.close()
        raise InputError(f"port {port} of {host} cannot be used: {error.strerror}", "give another, or 0") from error
    return made


def address_of(listening: socket.socket) -> str:
    """Return the address of a socket: ``http://127.0.0.1:8765``."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@dataclass(frozen=True, slots=True)
class Credentials:
    """Secrets of a server: the token, and the cookie that is made from it.

    Parameters
    ----------
    token:
        Asked for as ``Authorization: Bearer``.
    port:
        That is served: a browser sends cookies to all ports of a host, so the cookie is named for it.

    Raises
    ------
    InputError
        If the token is too short.
    """

    token: str = field(repr=False)
    port: int

    def __post_init__(self) -> None:
        if len(self.token) < LEAST_TOKEN or not (self.token.isascii() and self.token.isprintable()):
            raise InputError(
                f"the token has {len(self.token)} characters", f"give at least {LEAST_TOKEN}, all of ASCII"
            )

    @property
    def cookie_name(self) -> str:
        """The name of the cookie."""
        return f"monograph_{self.port}"

    @property
    def cookie_value(self) -> str:
        """The value of the cookie: made from the token, which it does not reveal."""
        return hmac.new(self.token.encode(), b"page", hashlib.sha256).hexdigest()

    @property
    def hosts(self) -> frozenset[str]:
        """The allowed values of ``Host``."""
        names = ("127.0.0.1", "localhost", "[::1]")
        return frozenset(f"{name}:{self.port}" for name in names) | (frozenset(names) if self.port == 80 else set())

    def in_header(self, headers: list[tuple[bytes, bytes]]) -> bool:
        """Whether a request gives the token."""
        given = _values(headers, b"authorization")
        if len(given) != 1:
            return False
        kind, _, token = given[0].partition(b" ")
        return kind.lower() == b"bearer" and hmac.compare_digest(token, self.token.encode())

    def in_cookie(self, headers: list[tuple[bytes, bytes]]) -> bool:
        """Whether a request brings the cookie."""
        wanted = f"{self.cookie_name}={self.cookie_value}".encode()
        every = [part.strip() for value in _values(headers, b"cookie") for part in value.split(b";")]
        return any(hmac.compare_digest(part, wanted) for part in every)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not answered: an HTTP status, what is wrong, and the hint."""

    status: int
    error: str
    hint: str


class Guarded:
    """An ASGI application that answers only those who know the token, from this machine, not sent by another site.

    Parameters
    ----------
    inner:
        What answers.
    credentials:
        What one must know.
    cookies:
        Whether the cookie will do, as for a page.
    is_open:
        Which (method, path) need neither: what holds nothing of any file.
    """

    def __init__(
        self,
        inner: Application,
        credentials: Credentials,
        *,
        cookies: bool = False,
        is_open: Callable[[str, str], bool] = lambda method, path: False,
    ) -> None:
        self._inner = inner
        self._credentials = credentials
        self._cookies = cookies
        self._is_open = is_open
        self._origins = {f"http://{host}".encode() for host in credentials.hosts}
        self._hosts = {host.encode() for host in credentials.hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or say why not."""
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        elif (refusal := self._refusal(scope)) is not None:
            await _refuse(refusal, send)
        else:
            await self._inner(scope, receive, send)

    def _refusal(self, scope: Scope) -> Refusal | None:
        headers, method = scope["headers"], scope["method"]
        is_open = self._is_open(method, scope["path"])
        hosts = [value.lower() for value in _values(headers, b"host")]
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return Refusal(421, "the Host of the request is not this server", "ask at the address that it printed")
        origins, sites = _values(headers, b"origin"), _values(headers, b"sec-fetch-site")
        if any(origin.lower() not in self._origins for origin in origins):
            return Refusal(403, "another site's page asks", "ask from this server's own page, or from a program")
        # A link that is followed from elsewhere may open the page itself, which holds nothing.
        followed = is_open and method in SAFE and b"navigate" in _values(headers, b"sec-fetch-mode")
        if any(site not in (b"same-origin", b"none") for site in sites) and not followed:
            return Refusal(403, "another site makes the request", "ask from this server's own page, or from a program")
        if is_open or self._credentials.in_header(headers):
            return None
        if self._cookies and self._credentials.in_cookie(headers):
            # Every browser says where what changes something comes from.
            if method in SAFE or origins or sites == [b"same-origin"]:
                return None
            return Refusal(403, "nothing says which page asks for a change", "give the token: Authorization: Bearer")
        return Refusal(401, "the token is missing, or is another", "give the token: Authorization: Bearer TOKEN")


def _values(headers: list[tuple[bytes, bytes]], wanted: bytes) -> list[bytes]:
    return [value for name, value in headers if name == wanted]


async def _refuse(refusal: Refusal, send: Send) -> None:
    said = {"error": refusal.error, "hint": refusal.hint, "kind": "Refused"}
    headers = [
        (b"content-type", b"application/json"),
        (b"x-content-type-options", b"nosniff"),
        (b"cache-control", b"no-store"),
        # What is left of the request is not read.
        (b"connection", b"close"),
    ]
    if refusal.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(said).encode()})
