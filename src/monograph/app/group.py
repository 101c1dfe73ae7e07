"""Command group that suggests commands for wrong names, and help text whose examples are not wrapped."""

from __future__ import annotations

import inspect
import os
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer._click.exceptions import UsageError  # typer exports subclasses of it only
from typer.core import TyperGroup

from monograph.app.output import safe

PROGRAM = "monograph"
HELP = {"help_option_names": ["--help", "-h"]}
"""Settings of the outermost group, which its commands inherit."""

_SUGGESTIONS = {
    "add": ("sync", "build"),
    "create": ("sync", "build"),
    "delete": ("remove",),
    "find": ("search",),
    "index": ("sync", "build"),
    "info": ("stats",),
    "list": ("show",),
    "ls": ("show",),
    "query": ("search",),
    "rm": ("remove",),
    "update": ("sync", "build"),
    "version": ("--version",),
}
"""Commands to suggest for unknown names, such as ``rm``: the first command that the group has is suggested."""


class CommandGroup(TyperGroup):
    """Group of commands that extends Typer's group.

    - ``help COMMAND`` prints the help of a command, as ``COMMAND --help`` does.
    - The error about an unknown command suggests an existing command, if a suggestion is known.
    - If the reader of the output closes the pipe, the program ends without an error message.
    """

    def make_context(self, *arguments: Any, **named: Any) -> typer.Context:
        """Parse the arguments up to the name of the command, and return their context."""
        with _escape_errors():
            return super().make_context(*arguments, **named)  # type: ignore[return-value]

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Parse the arguments. ``help search`` is read as ``search --help``."""
        return super().parse_args(ctx, [*args[1:], "--help"] if args[:1] == ["help"] else args)

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]
        """Return the named command, or raise an error that suggests another one."""
        try:
            return super().resolve_command(ctx, args)
        except UsageError as error:
            suggestions = [
                name for name in _SUGGESTIONS.get(args[0].lower(), ()) if name in self.commands or name.startswith("-")
            ]
            if suggestions:
                error.message = f"No such command {args[0]!r}. Did you mean {suggestions[0]!r}?"
            raise

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the named command."""
        with _escape_errors():
            return super().invoke(ctx)


@contextmanager
def _escape_errors() -> Iterator[None]:
    """Escape control characters in errors about arguments; end quietly if the output pipe is closed."""
    try:
        yield
    except UsageError as error:
        error.message = safe(error.message)
        raise
    except BrokenPipeError:
        # Pending output is discarded, including output that Python flushes at exit.
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except BrokenPipeError:
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream.fileno())
                os.close(nowhere)
        raise typer.Exit from None


def as_written(text: str) -> str:
    """Return help text in which click does not wrap the examples: paragraphs that begin with the program's name.

    The function indents each example by two spaces, and inserts click's mark against wrapping before it.
    """
    paragraphs = []
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        lines = textwrap.dedent(paragraph)
        is_example = lines.startswith(f"{PROGRAM} ")
        paragraphs.append("\b\n" + textwrap.indent(lines, "  ") if is_example else paragraph)
    return "\n\n".join(paragraphs)
