"""Commands as they are typed, of texts that no shell would let through."""

from __future__ import annotations

from typer.testing import CliRunner

from monograph.app.cli import app
from monograph.errors import InputError


def typed(said: str) -> str:
    """A text as an argument of a command can be: bytes without zeros, and not too long."""
    return said.replace("\x00", " ").encode("utf-8", "surrogatepass")[:100_000].decode("utf-8", "surrogateescape")


def invoke(arguments: list[str]) -> str:
    """Run a command, and return its output. Raises InputError if it refuses, and what it raised if that is no exit."""
    result = CliRunner().invoke(app, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code:
        raise InputError(result.output)
    return result.output
