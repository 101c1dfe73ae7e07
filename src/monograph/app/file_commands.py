"""Commands about the file as a whole: what it holds, copies of it, its key, and what is taken out of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from monograph.app import output
from monograph.app.command import (
    DONE_WITH_PROBLEMS,
    AsOfOption,
    FileArgument,
    JsonOption,
    QuietOption,
    TrustOption,
    WithinOption,
    narrowed,
    outcome,
    working,
)
from monograph.app.keys import key_of, key_to_decrypt, new_key
from monograph.app.source_commands import ForgetOption
from monograph.app.trust import opened


def backup(
    file: FileArgument,
    copy: Annotated[Path, typer.Argument(metavar="COPY", help="The copy.", show_default=False)],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Put it into the place of a file that is there.")
    ] = False,
    quiet: QuietOption = False,
    json_output: JsonOption = False,
) -> None:
    """Copy FILE as it is now, and check the copy.

    Other programs may read and write it meanwhile.

    A plain copy of FILE lacks what is still in its write-ahead log (FILE-wal): the last commits, or all of them.

      monograph backup notes.mono /media/disk/notes.mono
    """
    with outcome(as_json=json_output):
        from monograph.library.monograph import Monograph

        with (
            Monograph.open(file, create=False, key=key_of(file)) as monograph,
            working("backup", quiet=quiet or json_output) as on_progress,
        ):
            made = monograph.backup(copy, overwrite=overwrite, progress=on_progress)
        size = made.stat().st_size
        if json_output:
            output.print_json({"copy": str(made), "bytes": size})
        else:
            output.console().print(f"{made}: {output.in_bytes(size)}, checked")


def encrypt(file: FileArgument, json_output: JsonOption = False) -> None:
    """Encrypt FILE with a key (extra encrypt).

    The key is the one in MONOGRAPH_KEY, or is asked for.

    From then on every command needs the key: lost, it opens the file never again. No program may have FILE open.

      monograph encrypt notes.mono
    """
    with outcome(as_json=json_output):
        from monograph.library import copies

        copies.require_plain(file)
        copies.encrypt(file, new_key(file))
        if json_output:
            output.print_json({"file": str(file), "encrypted": True})
        else:
            output.console().print(
                f"{file}: encrypted. Copies and backups made before are as they were, and what the disk keeps of the "
                "old bytes is beyond reach"
            )


def decrypt(file: FileArgument, json_output: JsonOption = False) -> None:
    """Write encrypted FILE as a plain one.

    The key is the one in MONOGRAPH_KEY, or is asked for.

    No program may have FILE open.

      monograph decrypt notes.mono
    """
    with outcome(as_json=json_output):
        from monograph.library import copies

        copies.decrypt(file, key_to_decrypt(file))
        if json_output:
            output.print_json({"file": str(file), "encrypted": False})
        else:
            output.console().print(f"{file}: not encrypted any more")


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


def stats(
    file: FileArgument, within: WithinOption = None, as_of: AsOfOption = "", json_output: JsonOption = False
) -> None:
    """Count and weigh what the file holds."""
    with outcome(as_json=json_output):
        with opened(file, create=False) as monograph:
            found = narrowed(monograph, within, as_of).stats()
        if json_output:
            output.print_json(found)
        else:
            from monograph.app.stats_output import print_stats

            print_stats(found)


def check(
    file: FileArgument,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what can be mended.")] = False,
    trust: TrustOption = False,
    json_output: JsonOption = False,
) -> None:
    """Hold every table against every other, and report faults."""
    with outcome(as_json=json_output):
        with opened(file, trust=trust, create=False) as monograph:
            findings = monograph.check(repair=repair)
        output.print_json(findings) if json_output else output.print_findings(findings)
        if findings:
            raise typer.Exit(DONE_WITH_PROBLEMS)


def compact(file: FileArgument, json_output: JsonOption = False) -> None:
    """Drop what is remembered and used no more.

    Free space is given back to the disk.
    """
    with outcome(as_json=json_output):
        with opened(file, create=False) as monograph:
            before = monograph.stats().file_bytes
            monograph.compact()
            after = monograph.stats().file_bytes
        if json_output:
            output.print_json({"before_bytes": before, "after_bytes": after})
        else:
            output.console().print(f"{file}: {before:,} bytes before, {after:,} after")
