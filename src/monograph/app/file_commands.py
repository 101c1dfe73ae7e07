"""Commands for the whole file: its contents and costs, copies, encryption, and removal of documents."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monograph.app import options, output
from monograph.app.command import Result, command, report_result, working
from monograph.app.opening import key_of, key_to_decrypt, narrow, new_key, opened, opened_archive
from monograph.errors import InputError

if TYPE_CHECKING:
    from monograph.values import Stats


@command
def backup(
    file: options.File,
    copy: Annotated[Path, typer.Argument(metavar="COPY", help="Path of the copy.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")] = False,
    quiet: options.Quiet = False,
) -> Result:
    """Copy FILE as it is now, and check the copy.

    Other programs may read and write FILE meanwhile.

    Do not use cp: its copy lacks the commits that are still in the write-ahead log (FILE-wal), perhaps all of them.

      monograph backup notes.mono /media/disk/notes.mono
    """
    from monograph.library.monograph import Monograph

    with (
        Monograph.open(file, create=False, key=key_of(file)) as monograph,
        working("backup", quiet=quiet) as on_progress,
    ):
        copied = monograph.backup(copy, overwrite=overwrite, progress=on_progress)
    size = copied.stat().st_size
    return Result({"copy": str(copied), "bytes": size}, [f"{copied}: {output.in_bytes(size)}, checked"])


@command
def encrypt(file: options.File) -> Result:
    """Encrypt FILE with a key (extra encrypt).

    The key comes from MONOGRAPH_KEY, or the command asks for it.

    From then on every command needs the key. If it is lost, FILE can never be opened again. No program may have FILE
    open.

      monograph encrypt notes.mono
    """
    from monograph.library import copies

    copies.require_plain(file)
    copies.encrypt(file, new_key(file))
    message = (
        f"{file}: encrypted. Earlier copies and backups are not encrypted, and the disk may still contain old bytes, "
        "which Monograph cannot erase"
    )
    return Result({"file": str(file), "encrypted": True}, [message])


@command
def decrypt(file: options.File) -> Result:
    """Decrypt FILE.

    The key comes from MONOGRAPH_KEY, or the command asks for it.

    No program may have FILE open.

      monograph decrypt notes.mono
    """
    from monograph.library import copies

    copies.decrypt(file, key_to_decrypt(file))
    return Result({"file": str(file), "encrypted": False}, [f"{file}: decrypted"])


@command
def remove(
    file: options.File,
    names: Annotated[list[str], typer.Argument(metavar="ID", help="Ids or paths of documents.")],
    forget: options.Forget = None,
    trust: options.Trust = False,
) -> Result:
    """Remove documents.

    The next sync adds a file again if it is still in a synced folder: delete or move it as well.
    """
    with opened(file, trust=trust) as monograph:
        return report_result(monograph.remove(names, forget=forget), file)


@command
def forget(
    file: options.File,
    names: Annotated[list[str] | None, typer.Argument(metavar="ID", help="Ids or paths of documents.")] = None,
    versions_before: Annotated[
        str,
        typer.Option(
            "--versions-before",
            metavar="TIME",
            help="Only previous versions that ended before TIME, of these documents or of all.",
        ),
    ] = "",
    trust: options.Trust = False,
) -> Result:
    """Remove documents, and erase every trace of their text.

    The same as remove --forget. It returns only when the file and its write-ahead log contain no bytes of them or of
    their previous versions.

    monograph forget notes.mono ~/notes/boiler.md
    monograph forget notes.mono --versions-before 2026-01-01
    """
    if not names and not versions_before:
        raise typer.BadParameter("name documents, or give --versions-before TIME")
    with opened(file, trust=trust) as monograph:
        if names and not versions_before:
            return report_result(monograph.remove(names, forget=True), file)
        forgotten = monograph.forget_versions(names, before=versions_before)
    return Result({"forgotten": forgotten}, [f"{forgotten:,} previous versions forgotten"])


@command
def stats(file: options.File, within: options.Within = None, as_of: options.AsOf = "") -> Result:
    """Print counts and sizes of FILE."""
    with opened(file) as monograph:
        counts = narrow(monograph, within, as_of).stats()

    def show() -> None:
        models = f"embedder {counts.embedder or '(none yet)'}  extractor {counts.extractor or '(none yet)'}"
        models += f"  summarizer {counts.summarizer}" if counts.summarizer else ""
        models += f"  opens {', '.join(counts.addresses)}" if counts.addresses else ""
        output.print_line(f"{counts.path}  format {counts.format}  {models}")
        output.print_table(("what", "value"), _stats_rows(counts), right=["value"])
        if not counts.has_graph:
            output.print_line(f"no graph; to build it: monograph build {counts.path}")

    return Result(counts, show)


def _stats_rows(stats: Stats) -> list[tuple[str, str]]:
    index, tree = stats.index, stats.tree
    loads = "all" if index.expected_loads is None else f"{index.expected_loads:.1f}"
    if index.expected_recall is not None and index.expected_recall < index.target_recall:
        loads += f" (reach {index.expected_recall:g})"
    tree_rows = [("summaries", "no tree")]
    if tree is not None:
        tree_rows = [
            ("summaries", f"{tree.summaries:,}"),
            ("  by layer", " ".join(f"{count:,}" for count in tree.layers) or "-"),
            ("  segments by size", " ".join(f"{size}:{count}" for size, count in tree.sizes) or "-"),
            ("  cosine in a segment", f"{tree.cosine:.3f}"),
            ("  made last / ever", f"{tree.last_made:,} / {tree.ever_made:,}"),
            ("  tokens last / ever", f"{tree.last_tokens:,} / {tree.ever_tokens:,}"),
            *([("  places that wait for summaries", f"{tree.waiting:,}")] if tree.waiting else []),
        ]
    return [
        ("documents", f"{stats.documents:,}"),
        ("files read", f"{stats.sources:,}"),
        ("characters", f"{stats.characters:,}"),
        ("chunks", f"{stats.chunks:,}"),
        ("vectors", f"{stats.vectors:,}"),
        ("  clusters", f"{index.clusters:,}"),
        ("  entries / deleted", f"{index.entries:,} / {index.dead:,}"),
        ("  in memory", output.in_bytes(index.memory)),
        (f"  loads a query for recall {index.target_recall:g}", loads),
        ("different words", f"{stats.terms:,}"),
        ("entities", f"{stats.entities:,}"),
        ("  names merged into them", f"{stats.merged:,}"),
        ("  mentions", f"{stats.mentions:,}"),
        *tree_rows,
        ("stored derived values", f"{stats.memo:,}"),
        ("  of these unused", f"{stats.memo_unused:,}"),
        ("chunk tokens / overlap", f"{stats.chunk_tokens} / {stats.chunk_overlap}"),
        ("dimension", f"{stats.dimension}"),
        ("file", output.in_bytes(stats.file_bytes)),
        *((f"  {name}", output.in_bytes(size)) for name, size in stats.tables),
    ]


@command
def check(
    file: options.File,
    repair: Annotated[bool, typer.Option("--repair", help="Repair what can be repaired.")] = False,
    trust: options.Trust = False,
) -> Result:
    """Compare every table with every other, and report faults."""
    with opened(file, trust=trust) as monograph:
        findings = monograph.check(repair=repair)
    return Result(findings, lambda: output.print_findings(findings), problems=bool(findings))


@command
def compact(file: options.File) -> Result:
    """Delete unused derivations, and shrink FILE.

    Derivations are values computed from content, such as vectors. Free space is returned to the disk.
    """
    with opened(file) as monograph:
        before = monograph.stats().file_bytes
        monograph.compact()
        after = monograph.stats().file_bytes
    counts = {"before_bytes": before, "after_bytes": after}
    return Result(counts, [f"{file}: {before:,} bytes before, {after:,} after"])


@command
def costs(
    file: options.FileOrShelf,
    since: Annotated[str, typer.Option("--since", metavar="DAY", help="Only from this day on: 2026-11-01.")] = "",
    price: Annotated[
        list[str] | None,
        typer.Option(
            "--price",
            metavar="MODEL=READ/WRITTEN",
            help="Price of a million tokens read, and of a million written. May be repeated for other models.",
        ),
    ] = None,
) -> Result:
    """List calls of models for FILE, and their tokens.

    It counts them by day (UTC), model and purpose. Remembered results cost nothing and are not listed.

      monograph costs notes.mono
      monograph costs notes.mono --since 2026-11-01 --price gpt-4o-mini=0.15/0.60
    """
    from monograph.shelf import whole_file

    prices = [_price(text) for text in price or ()]
    with opened_archive(file) as archive:
        entries = [entry for entry in whole_file(archive, "ledger of costs", "costs").costs() if entry.day >= since]
    paid: list[float | None] = []
    for entry in entries:
        matches = [one for one in prices if one[0] in entry.model]  # The first is used.
        paid.append((entry.tokens_in * matches[0][1] + entry.tokens_out * matches[0][2]) / 1e6 if matches else None)

    def show() -> None:
        if not entries:
            output.print_line("no model was called")
            return
        numbers = ["calls", "tokens read", "written", *(["price"] if prices else [])]
        rows = []
        for entry, amount in zip(entries, paid, strict=True):
            counts = (f"{entry.calls:,}", f"{entry.tokens_in:,}", f"{entry.tokens_out:,}")
            price_cells = ["" if amount is None else f"{amount:,.4f}"] if prices else []
            rows.append((entry.day, entry.model, entry.purpose, *counts, *price_cells))
        output.print_table(("day", "model", "for", *numbers), rows, right=numbers)
        calls, read, written = (
            sum(getattr(entry, name) for entry in entries) for name in ("calls", "tokens_in", "tokens_out")
        )
        message = f"{calls:,} calls, {read:,} tokens read, {written:,} written"
        total = sum(amount or 0.0 for amount in paid)
        output.print_line(message + (f", {total:,.4f} in total" if prices else ""))

    priced = [output.as_json(entry) | {"price": amount} for entry, amount in zip(entries, paid, strict=True)]
    return Result(priced if prices else entries, show)


def _price(text: str) -> tuple[str, float, float]:
    """Return (model, price of a million tokens read, price of a million tokens written) of a ``--price``."""
    model, _, both = text.rpartition("=")
    try:
        read, written = map(float, both.split("/"))
        if not model or not (0 <= read < math.inf and 0 <= written < math.inf):
            raise ValueError
    except ValueError:
        raise InputError(f"{text!r} is not a price", "give --price MODEL=READ/WRITTEN: gpt-4o-mini=0.15/0.60") from None
    return model, read, written
