"""Web page and HTTP API for files, served on the loopback interface (extra ``serve``)."""

from monograph.errors import MissingExtra

try:
    import fastapi  # noqa: F401
    import sse_starlette  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError as error:
    raise MissingExtra("monograph serve needs fastapi and uvicorn", 'pip install "monograph[serve]"') from error
