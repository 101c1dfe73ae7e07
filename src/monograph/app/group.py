"""A group of commands that is patient with whoever types them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer._click.exceptions import UsageError  # typer exports subclasses of it only
from typer.core import TyperGroup

from monograph.app.output import safe


class CommandGroup(TyperGroup):
    """Commands whose errors show nothing of what was typed as it is."""

    def make_context(self, *arguments: Any, **named: Any) -> typer.Context:
        """Read the arguments that stand before a command."""
        with _readable():
            return super().make_context(*arguments, **named)  # type: ignore[return-value]

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the command that is named."""
        with _readable():
            return super().invoke(ctx)


@contextmanager
def _readable() -> Iterator[None]:
    """Escape control characters of arguments in errors about them."""
    try:
        yield
    except UsageError as error:
        error.message = safe(error.message)
        raise
