"""Monograph for agents: a .mono file over the Model Context Protocol."""

from monograph.errors import MissingExtra

try:
    import mcp  # noqa: F401
except ImportError as error:
    raise MissingExtra("monograph_mcp needs the mcp package", 'pip install "monograph[mcp]"') from error

from monograph_mcp.serve import serve_http, serve_stdio
from monograph_mcp.server import make_server

__all__ = ["make_server", "serve_http", "serve_stdio"]
