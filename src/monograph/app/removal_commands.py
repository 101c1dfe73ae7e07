"""The commands that take documents out: ``remove`` and ``forget``."""

from __future__ import annotations

from typing import Annotated

import typer

from monograph.app import output
from monograph.app.command import FileArgument, JsonOption, TrustOption, outcome
from monograph.app.source_commands import ForgetOption
from monograph.app.trust import opened


def remove(
    file: FileArgument,
    names: Annotated[list[str], typer.Argument(metavar="ID", help="Ids or paths of documents.", show_default=False)],
    forget: ForgetOption = None,
    trust: TrustOption = False,
    json_output: JsonOption = False,
) -> None:
    """Take documents out of every result at once.

    A file that is still in a synced folder comes back with the next sync: delete or move it as well.
    """
    with outcome(as_json=json_output):
        with opened(file, trust=trust, create=False) as monograph:
            report = monograph.remove(names, forget=forget)
        output.print_json(report) if json_output else output.print_report(report, str(file))
        if not json_output:
            output.print_problems(report.problems)


def forget(
    file: FileArgument,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="ID", help="Ids or paths of documents.", show_default=False)
    ] = None,
    versions_before: Annotated[
        str,
        typer.Option(
            "--versions-before",
            metavar="TIME",
            help="Only former versions that ended before: of these documents, or of all.",
            show_default=False,
        ),
    ] = "",
    trust: TrustOption = False,
    json_output: JsonOption = False,
) -> None:
    """Take documents out and leave no trace of their text.

    The same as remove --forget. Returns only when the bytes of the file and of its write-ahead log hold nothing of
    them, nor of their former versions.

    monograph forget notes.mono ~/notes/boiler.md
    monograph forget notes.mono --versions-before 2026-01-01
    """
    if not versions_before:
        if not names:
            raise typer.BadParameter("name documents, or say which versions: --versions-before")
        remove(file, names, forget=True, trust=trust, json_output=json_output)
        return
    with outcome(as_json=json_output):
        with opened(file, trust=trust, create=False) as monograph:
            forgotten = monograph.forget_versions(names, before=versions_before)
        if json_output:
            output.print_json({"forgotten": forgotten})
        else:
            output.console().print(f"{forgotten:,} former versions forgotten")
