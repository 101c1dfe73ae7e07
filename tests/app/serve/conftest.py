"""Collect the tests of the server only if its extra is installed."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [] if all(map(find_spec, ("fastapi", "uvicorn", "sse_starlette"))) else ["*.py"]
