"""The ``monograph`` command. Only the module of the command that runs is imported."""

from __future__ import annotations

import gc
from collections import UserDict
from importlib import import_module
from typing import Annotated, Any

import typer

from monograph import __version__
from monograph.app.group import HELP, PROGRAM, CommandGroup, as_written

MANUAL = """Graph RAG in one file: point it at a folder, then ask.

  monograph sync notes.mono ~/notes       make or update the file
  monograph search notes.mono "boiler"    find passages, with their sources
  monograph ask notes.mono "who repaired the boiler?"
                                          answer, with a model or without
  monograph show notes.mono ID            read a document, or a passage of it
  monograph graph notes.mono "Mrs Grubb"  list the names that occur with hers
  monograph outline notes.mono            print the tree of summaries
  monograph serve notes.mono --open       open it in the browser

The file is one SQLite database; nothing leaves this machine. Every command takes --json. Exit codes: 0 done; 1
failed; 2 wrong usage; 3 done, but some sources could not be read, or faults were found; 130 interrupted.
"""

COMMANDS = {
    "sync": "source_commands.sync",
    "search": "search_commands.search",
    "show": "search_commands.show",
    "remove": "file_commands.remove",
    "forget": "file_commands.forget",
    "stats": "file_commands.stats",
    "check": "file_commands.check",
    "costs": "file_commands.costs",
    "eval": "measure_commands.evaluate",
    "backup": "file_commands.backup",
    "export": "carry_commands.export",
    "import": "carry_commands.take_over",
    "encrypt": "file_commands.encrypt",
    "decrypt": "file_commands.decrypt",
    "ask": "ask_commands.ask",
    "chat": "ask_commands.chat",
    "context": "ask_commands.context",
    "graph": "graph_commands.graph",
    "entities": "graph_commands.entities",
    "build": "rebuild_commands.build",
    "reextract": "rebuild_commands.reextract",
    "mcp": "serve_commands.mcp",
    "serve": "serve_commands.serve",
    "outline": "graph_commands.outline",
    "resummarize": "rebuild_commands.resummarize",
    "sources": "source_commands.sources",
    "retry": "source_commands.retry",
    "watch": "source_commands.watch",
    "reembed": "rebuild_commands.reembed",
    "compact": "file_commands.compact",
    "shelf": "shelf_commands.app",
}
"""Module and function of each command, in the order in which the help lists them."""


class _Commands(UserDict[str, Any]):
    """Mapping of names to commands. A command is imported when it is first looked up."""

    def __getitem__(self, name: str) -> Any:
        module, _, attribute = self.data[name].partition(".")
        loaded = getattr(import_module(f"monograph.app.{module}"), attribute)
        if not isinstance(loaded, typer.Typer):
            function, loaded = loaded, typer.Typer(add_completion=False, rich_markup_mode=None)
            loaded.command(name, help=as_written(function.__doc__ or ""))(function)
        return typer.main.get_command(loaded)


class _AllCommands(CommandGroup):
    """Group of all commands, which imports only the command that is run."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Commands(COMMANDS)

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        return list(COMMANDS)


app = typer.Typer(
    cls=_AllCommands,
    help=as_written(MANUAL),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings=HELP | {"max_content_width": 100},
)


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"{PROGRAM} {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Accept the options that stand before a command, such as ``--version``."""


def main() -> None:
    """Run the command line."""
    # Importing creates many objects and little garbage: with the default threshold of 700 the collector takes a seventh
    # of the time.
    gc.set_threshold(50_000)
    app(prog_name=PROGRAM)


if __name__ == "__main__":
    main()
