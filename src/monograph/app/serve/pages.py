"""Files of the web page, with a content security policy that allows requests to this server only."""

from __future__ import annotations

import mimetypes
import os

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount
from starlette.routing import Route as Address
from starlette.staticfiles import StaticFiles

from monograph.app import picture
from monograph.app.serve.operations import BASE

VIEWS = ("/", "/search", "/ask", "/document", "/entity", "/outline", "/sources", "/state")
"""Addresses of views; the same page answers each of them and then shows the view."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
_KINDS = (".html", ".js", ".css", ".svg", ".png", ".json")


class _Files(StaticFiles):
    """Files of a package for browsers, without its Python modules."""

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        return super().lookup_path(path) if path.endswith(_KINDS) else ("", None)


def is_open(method: str, path: str) -> bool:
    """Whether an address returns no content of any file, so that no token is needed."""
    return method in ("GET", "HEAD") and path != BASE and not path.startswith((f"{BASE}/", "/mcp"))


def addresses() -> list[BaseRoute]:
    """Return the routes of the page."""
    mimetypes.add_type("text/javascript", ".js")  # Before 3.12 Python used another media type.
    page = _Files(packages=[(__package__ or "", "page")])

    async def view(request: Request) -> Response:
        return await page.get_response("index.html", request.scope)

    return [
        *(Address(path, view, methods=["GET"]) for path in VIEWS),
        Mount("/page", page),
        Mount("/picture", _Files(packages=[(picture.__name__, "")])),
    ]
