"""A group of commands that forgives what people type, and help text whose examples stand as they are written."""

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
"""Settings of the outermost group: its commands inherit them."""

_MEANT = {
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
"""Names that other programs have for a command: the first of these that a group has is suggested."""


class CommandGroup(TyperGroup):
    """Commands that take ``help`` in the place of ``--help``, suggest a name for another, and end quietly."""

    def make_context(self, *arguments: Any, **named: Any) -> typer.Context:
        """Read the arguments that stand before a command."""
        with _patience():
            return super().make_context(*arguments, **named)  # type: ignore[return-value]

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Read them, ``help search`` as ``search --help``."""
        return super().parse_args(ctx, [*args[1:], "--help"] if args[:1] == ["help"] else args)

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]
        """Find the command that is named, or suggest another."""
        try:
            return super().resolve_command(ctx, args)
        except UsageError as error:
            meant = [one for one in _MEANT.get(args[0].lower(), ()) if one in self.commands or one.startswith("-")]
            if meant:
                error.message = f"No such command {args[0]!r}. Did you mean {meant[0]!r}?"
            raise

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the command that is named."""
        with _patience():
            return super().invoke(ctx)


@contextmanager
def _patience() -> Iterator[None]:
    """Escape control characters of arguments in errors about them; end quietly when no one reads the output."""
    try:
        yield
    except UsageError as error:
        error.message = safe(error.message)
        raise
    except BrokenPipeError:
        _write_nowhere()
        raise typer.Exit from None


def _write_nowhere() -> None:
    """Let what is still to be written to a closed pipe, at the latest by Python at its end, vanish."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


def as_written(text: str) -> str:
    """Help text whose examples are not wrapped: the paragraphs that begin with the name of the program.

    They are indented by two, and marked by the line that click takes for "leave this paragraph as it is".
    """
    return "\n\n".join(map(_paragraph, inspect.cleandoc(text).split("\n\n")))


def _paragraph(text: str) -> str:
    lines = textwrap.dedent(text)
    return "\b\n" + textwrap.indent(lines, "  ") if lines.startswith(f"{PROGRAM} ") else text
