"""Commands about the file as a whole: ``backup``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from monograph.app import output
from monograph.app.command import FileArgument, JsonOption, outcome, unseen
from monograph.library import Monograph


def backup(
    file: FileArgument,
    copy: Annotated[Path, typer.Argument(metavar="COPY", help="The copy.", show_default=False)],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Put it into the place of a file that is there.")
    ] = False,
    json_output: JsonOption = False,
) -> None:
    """Copy FILE as it is now, while other programs read and write it, and check the copy.

    A plain copy of FILE lacks what is still in its write-ahead log (FILE-wal): the last commits, or all of them.

      monograph backup notes.mono /media/disk/notes.mono
    """
    with outcome(as_json=json_output):
        with (
            Monograph.open(file, create=False) as monograph,
            output.progress_bar("backup", quiet=unseen(json_output)) as on_progress,
        ):
            made = monograph.backup(copy, overwrite=overwrite, progress=on_progress)
        size = made.stat().st_size
        if json_output:
            output.print_json({"copy": str(made), "bytes": size})
        else:
            output.console().print(f"{made}: {output.in_bytes(size)}, checked")
