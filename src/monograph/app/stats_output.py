"""Output of the counts and sizes of a file or a shelf."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.app.output import Table, console, in_bytes

if TYPE_CHECKING:
    from monograph.shelf import ShelfStats
    from monograph.shelf.manifest import Forgotten
    from monograph.values import IndexStats, Stats, TreeStats


def print_stats(stats: Stats) -> None:
    """Print the counts and sizes of a file."""
    table = Table("what", "value", right=["value"])
    rows: list[tuple[str, str]] = [
        ("documents", f"{stats.documents:,}"),
        ("files read", f"{stats.sources:,}"),
        ("characters", f"{stats.characters:,}"),
        ("chunks", f"{stats.chunks:,}"),
        ("vectors", f"{stats.vectors:,}"),
        *_index_rows(stats.index),
        ("different words", f"{stats.terms:,}"),
        ("entities", f"{stats.entities:,}"),
        ("  names merged into them", f"{stats.merged:,}"),
        ("  mentions", f"{stats.mentions:,}"),
        *_tree_rows(stats.tree),
        ("remembered values", f"{stats.memo:,}"),
        ("  of these unused", f"{stats.memo_unused:,}"),
        ("chunk tokens / overlap", f"{stats.chunk_tokens} / {stats.chunk_overlap}"),
        ("dimension", f"{stats.dimension}"),
        ("file", in_bytes(stats.file_bytes)),
        *((f"  {name}", in_bytes(size)) for name, size in stats.tables),
    ]
    for row in rows:
        table.add_row(*row)
    out = console()
    models = f"embedder {stats.embedder or '(none yet)'}  extractor {stats.extractor or '(none yet)'}"
    models += f"  summarizer {stats.summarizer}" if stats.summarizer else ""
    models += f"  opens {', '.join(stats.addresses)}" if stats.addresses else ""
    out.print(f"{stats.path}  format {stats.format}  {models}")
    out.print(table)
    if not stats.has_graph:
        out.print(f"no graph; to build it: monograph build {stats.path}")


def _index_rows(index: IndexStats) -> list[tuple[str, str]]:
    loads = "all" if index.expected_loads is None else f"{index.expected_loads:.1f}"
    if index.expected_recall is not None and index.expected_recall < index.target_recall:
        loads += f" (reach {index.expected_recall:g})"
    return [
        ("  clusters", f"{index.clusters:,}"),
        ("  entries / deleted", f"{index.entries:,} / {index.dead:,}"),
        ("  in memory", in_bytes(index.memory)),
        (f"  loads a query for recall {index.target_recall:g}", loads),
    ]


def print_version(stats: ShelfStats) -> None:
    """Print the newest version of a shelf, with its counts and size."""
    console().print(
        f"{stats.url}: version {stats.version} has {stats.documents:,} documents, "
        f"{stats.chunks:,} chunks in {stats.shards:,} shards, {in_bytes(stats.bytes)}"
    )


def print_shelf_stats(stats: ShelfStats) -> None:
    """Print the counts and sizes of a shelf, including the fewest and most documents in a shard."""
    table = Table("what", "value", right=["value"])
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
        table.add_row(*row)
    out = console()
    models = f"embedder {stats.embedder or '(none yet)'}  extractor {stats.extractor or '(none yet)'}"
    out.print(f"{stats.url}  {models}")
    out.print(table)


def print_forgotten(made: Forgotten, url: str, version: int) -> None:
    """Print the number of removed versions and objects, and that other machines may still have copies."""
    out = console()
    objects = len(made.digests)
    manifests = len(made.removed) - objects
    out.print(f"{url}: {manifests:,} older versions and {objects:,} objects removed; version {version} is left")
    if objects:
        out.print("  to complete it, run the command on every other machine that has opened the shelf")


def _tree_rows(tree: TreeStats | None) -> list[tuple[str, str]]:
    """Return the rows of the table of stats for the tree."""
    if tree is None:
        return [("summaries", "no tree")]
    sizes = " ".join(f"{size}:{count}" for size, count in tree.sizes)
    planes = f"learned from {tree.learned_from:,} chunks" if tree.learned_from else "random"
    rows = [
        ("summaries", f"{tree.summaries:,}"),
        ("  by layer", " ".join(f"{count:,}" for count in tree.layers) or "-"),
        ("  segments by size", sizes or "-"),
        ("  cosine in a segment", f"{tree.cosine:.3f}"),
        ("  planes", planes),
        ("  made last / ever", f"{tree.last_made:,} / {tree.ever_made:,}"),
        ("  tokens last / ever", f"{tree.last_tokens:,} / {tree.ever_tokens:,}"),
    ]
    return rows + ([("  places that wait for summaries", f"{tree.waiting:,}")] if tree.waiting else [])
