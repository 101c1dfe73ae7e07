"""Commands with arguments that no shell would pass on."""

from __future__ import annotations

from typer.testing import CliRunner

from monograph.app.cli import app
from monograph.errors import InputError


def typed(said: str) -> str:
    """Return a text as a possible argument of a command: without NUL, and at most 100,000 bytes."""
    return said.replace("\x00", " ").encode("utf-8", "surrogatepass")[:100_000].decode("utf-8", "surrogateescape")


def invoke(arguments: list[str]) -> str:
    """Run a command and return its output. Raise InputError for an exit code, and other exceptions as they are."""
    result = CliRunner().invoke(app, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code:
        raise InputError(result.output)
    return result.output
