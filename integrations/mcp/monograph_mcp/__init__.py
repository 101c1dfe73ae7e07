"""Monograph for agents: a file or shelf over the Model Context Protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.errors import MissingExtra
from monograph.lazy import lazy_names

try:
    import mcp  # noqa: F401
except ImportError as error:
    raise MissingExtra("monograph_mcp needs the mcp package", 'pip install "monograph[mcp]"') from error

_MODULES = {
    "monograph_mcp.serve": "serve_http serve_stdio",
    "monograph_mcp.server": "make_server",
}
__all__ = [name for names in _MODULES.values() for name in names.split()]

if TYPE_CHECKING:
    from monograph_mcp.serve import serve_http as serve_http
    from monograph_mcp.serve import serve_stdio as serve_stdio
    from monograph_mcp.server import make_server as make_server
else:
    __getattr__, __dir__ = lazy_names(__name__, _MODULES)
