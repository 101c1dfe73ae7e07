"""HTTP servers for this machine only: a socket on a loopback address, and checks of each request."""

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
"""Minimum number of characters of the secret token that gives access to a server."""

SAFE = ("GET", "HEAD")
"""HTTP methods that change no data."""

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
"""Application as ASGI defines it."""


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on a loopback address. With port 0, the system chooses a free port.

    Raises InputError if the host is not a loopback address, or the port cannot be used.
    """
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError as error:
        raise InputError(f"{host!r} is not an address", "give 127.0.0.1 or ::1") from error
    if not address.is_loopback:
        raise InputError(
            f"{host} can be reached from other machines", "give 127.0.0.1, and use a tunnel for other machines"
        )
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    # asyncio sets TCP_NODELAY only where the protocol is named; else an answer may wait 40 ms for an ACK.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((str(address), port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise InputError(
            f"port {port} of {host} cannot be used: {error.strerror}", "give another port, or 0 for any free one"
        ) from error
    return listener


def address_of(listening: socket.socket) -> str:
    """Return the URL of a listening socket, such as ``http://127.0.0.1:8765``."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@dataclass(frozen=True, slots=True)
class Credentials:
    """Secrets of a server: its token, and a cookie that is derived from the token.

    A request has the token as ``Authorization: Bearer TOKEN``. A browser sends cookies to all ports of a host, so the
    cookie's name contains the server's port. Raises InputError if the token has fewer than :data:`LEAST_TOKEN`
    characters, or characters that are not printable ASCII.
    """

    token: str = field(repr=False)
    port: int

    def __post_init__(self) -> None:
        if len(self.token) < LEAST_TOKEN or not (self.token.isascii() and self.token.isprintable()):
            raise InputError(
                f"the token has {len(self.token)} characters", f"give at least {LEAST_TOKEN}, all printable ASCII"
            )

    @property
    def cookie_name(self) -> str:
        """Name of the cookie, which contains the port of the server."""
        return f"monograph_{self.port}"

    @property
    def cookie_value(self) -> str:
        """Value of the cookie: a keyed hash, which does not reveal the token."""
        return hmac.new(self.token.encode(), b"page", hashlib.sha256).hexdigest()

    @property
    def hosts(self) -> frozenset[str]:
        """Allowed values of the ``Host`` header: ``127.0.0.1``, ``localhost`` and ``[::1]``, each with the port.

        If the port is 80, the three names without a port are allowed too.
        """
        names = ("127.0.0.1", "localhost", "[::1]")
        return frozenset(f"{name}:{self.port}" for name in names) | (frozenset(names) if self.port == 80 else set())

    def in_header(self, headers: list[tuple[bytes, bytes]]) -> bool:
        """Return whether the headers of a request contain the token."""
        authorizations = _header_values(headers, b"authorization")
        if len(authorizations) != 1:
            return False
        kind, _, token = authorizations[0].partition(b" ")
        return kind.lower() == b"bearer" and hmac.compare_digest(token, self.token.encode())

    def in_cookie(self, headers: list[tuple[bytes, bytes]]) -> bool:
        """Return whether the headers of a request contain the cookie."""
        expected = f"{self.cookie_name}={self.cookie_value}".encode()
        cookies = [part.strip() for value in _header_values(headers, b"cookie") for part in value.split(b";")]
        return any(hmac.compare_digest(part, expected) for part in cookies)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Refusal of a request: an HTTP status, the error and its hint."""

    status: int
    error: str
    hint: str


class GuardedApp:
    """ASGI application that checks each request and refuses it if a check fails.

    A request must contain the token, its ``Host`` header must name this server (:attr:`Credentials.hosts`), and it must
    not come from another web site.

    If ``cookies`` is True, a request may contain the cookie instead of the token. Browsers use the cookie.

    ``is_open`` is called with the method and the path of a request. It returns True if the request needs neither token
    nor cookie, because the answer contains no data of a Monograph file.
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
        """Answer one request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        elif (refusal := self._check_request(scope)) is not None:
            await _refuse(refusal, send)
        else:
            await self._inner(scope, receive, send)

    def _check_request(self, scope: Scope) -> Refusal | None:
        headers, method = scope["headers"], scope["method"]
        is_open = self._is_open(method, scope["path"])
        hosts = [value.lower() for value in _header_values(headers, b"host")]
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return Refusal(421, "the Host header does not name this server", "use the address that the server printed")
        origins, sites = _header_values(headers, b"origin"), _header_values(headers, b"sec-fetch-site")
        if any(origin.lower() not in self._origins for origin in origins):
            return Refusal(
                403, "the request is from another site's page", "send it from this server's own page, or from a program"
            )
        # A link on another site may open the page itself, which contains no data.
        followed = is_open and method in SAFE and b"navigate" in _header_values(headers, b"sec-fetch-mode")
        if any(site not in (b"same-origin", b"none") for site in sites) and not followed:
            return Refusal(
                403, "another site made the request", "send it from this server's own page, or from a program"
            )
        if is_open or self._credentials.in_header(headers):
            return None
        if self._cookies and self._credentials.in_cookie(headers):
            # Every browser sends the origin of a request that changes something.
            if method in SAFE or origins or sites == [b"same-origin"]:
                return None
            return Refusal(
                403,
                "a request that changes data needs an Origin header",
                "send one, or the token: Authorization: Bearer TOKEN",
            )
        return Refusal(401, "the token is missing or wrong", "give the token: Authorization: Bearer TOKEN")


def _header_values(headers: list[tuple[bytes, bytes]], header: bytes) -> list[bytes]:
    return [value for name, value in headers if name == header]


async def _refuse(refusal: Refusal, send: Send) -> None:
    body = {"error": refusal.error, "hint": refusal.hint, "kind": "Refused"}
    headers = [
        (b"content-type", b"application/json"),
        (b"x-content-type-options", b"nosniff"),
        (b"cache-control", b"no-store"),
        # The rest of the request is not read.
        (b"connection", b"close"),
    ]
    if refusal.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})
