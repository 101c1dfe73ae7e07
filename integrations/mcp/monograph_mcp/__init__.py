"""Monograph for agents: a file or shelf over the Model Context Protocol."""

from __future__ import annotations

from monograph.lazy import requires

with requires("the mcp package", "mcp", __name__):
    import mcp  # noqa: F401

from monograph_mcp.server import make_server, serve_http, serve_stdio

__all__ = ["make_server", "serve_http", "serve_stdio"]
