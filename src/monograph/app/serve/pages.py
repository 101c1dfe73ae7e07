"""The page: its files, from memory, under a policy that lets them fetch from this server alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as Address

from monograph.app import picture
from monograph.app.serve.route import BASE

VIEWS = ("/", "/search", "/ask", "/document", "/entity", "/outline", "/sources", "/state")
"""Addresses of views: each is answered by the one page, which then shows it."""

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "frame-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    )
)
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".json": "application/json",
}
_FOLDERS = (("/page", __package__ or "", "page"), ("/picture", picture.__name__, ""))


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of the page: its bytes, its media type, and a mark of what it holds."""

    data: bytes
    kind: str
    mark: str


@cache
def assets() -> dict[str, Asset]:
    """All files of the page, by address."""
    made = {}
    for prefix, package, folder in _FOLDERS:
        for path, file in _files(resources.files(package).joinpath(folder), prefix):
            kind = _KINDS.get(path[path.rfind(".") :])
            if kind is not None:
                data = file.read_bytes()
                made[path] = Asset(data, kind, f'"{hashlib.sha256(data).hexdigest()[:16]}"')
    return made


def _files(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for one in folder.iterdir():
        path = f"{prefix}/{one.name}"
        if one.is_dir():
            yield from _files(one, path)
        else:
            yield path, one


def is_open(method: str, path: str) -> bool:
    """Whether an address holds nothing of any file, so that the token is not asked for."""
    return method in ("GET", "HEAD") and path != BASE and not path.startswith((f"{BASE}/", "/mcp"))


def addresses() -> list[Address]:
    """The routes of the page."""
    return [
        *(Address(view, _view, methods=["GET"]) for view in VIEWS),
        *(Address(path, _asset, methods=["GET"]) for path in assets()),
    ]


async def _view(request: Request) -> Response:
    return _response(request, assets()["/page/index.html"])


async def _asset(request: Request) -> Response:
    return _response(request, assets()[request.url.path])


def _response(request: Request, asset: Asset) -> Response:
    headers = {
        "Content-Security-Policy": POLICY,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cache-Control": "no-cache",
        "ETag": asset.mark,
    }
    if request.headers.get("if-none-match") == asset.mark:
        return Response(None, 304, headers)
    return Response(asset.data, 200, headers, asset.kind)
