"""What is told of a shelf, on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.app.output import console, in_bytes, table, visible

if TYPE_CHECKING:
    from monograph.shelf import ShelfStats
    from monograph.shelf.manifest import Forgotten


def print_version(stats: ShelfStats) -> None:
    """Print the newest version, and what it holds."""
    console().print(
        f"{visible(stats.url)}: version {stats.version} has {stats.documents:,} documents, "
        f"{stats.chunks:,} chunks in {stats.shards:,} shards, {in_bytes(stats.bytes)}"
    )


def print_stats(stats: ShelfStats) -> None:
    """Counts and sizes, then the documents of each shard."""
    made = table("what", "value", right=["value"])
    most, least = max(stats.documents_by_shard, default=0), min(stats.documents_by_shard, default=0)
    rows = (
        ("version", f"{stats.version}"),
        ("shards", f"{stats.shards:,}"),
        ("documents", f"{stats.documents:,}"),
        ("  fewest / most in a shard", f"{least:,} / {most:,}"),
        ("chunks", f"{stats.chunks:,}"),
        ("entities", f"{stats.entities:,}"),
        ("  names merged into them", f"{stats.merged:,}"),
        ("size", in_bytes(stats.bytes)),
    )
    for row in rows:
        made.add_row(*row)
    out = console()
    with_what = f"embedder {stats.embedder or '(none yet)'}  extractor {stats.extractor or '(none yet)'}"
    out.print(f"{visible(stats.url)}  {visible(with_what)}")
    out.print(made)


def print_forgotten(made: Forgotten, url: str, version: int) -> None:
    """What is gone, and where it may still be."""
    out = console()
    objects = len(made.digests)
    manifests = len(made.removed) - objects
    out.print(
        f"{visible(url)}: {manifests:,} older versions and {objects:,} objects removed; version {version} is left"
    )
    if objects:
        out.print("  it is complete when the same was done on every other machine that has opened the shelf")
