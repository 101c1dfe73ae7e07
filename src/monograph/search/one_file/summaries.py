"""Summaries of the tree: their texts, the chunks under each summary, and the sources of the sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from monograph.errors import InputError
from monograph.store import tree as store
from monograph.store.documents import chunks
from monograph.store.file import memo
from monograph.store.file.database import Connection
from monograph.store.file.errors import path_of
from monograph.values import Quote, Source, Summary, SummaryText


def need_tree(connection: Connection) -> None:
    """Raise InputError if the file has no tree of summaries."""
    if not store.exists(connection):
        path = path_of(connection)
        raise InputError(f"{path} has no tree of summaries", f"monograph resummarize {path}")


def load(connection: Connection, nodes: Sequence[int]) -> dict[int, Summary]:
    """Return the summaries of nodes, by node. Nodes that do not exist, or that are chunks, are left out."""
    rows = store.load(connection, nodes)
    texts = texts_of(connection, rows.values())
    sources = sources_of(connection, texts)
    chunk_ids = ids_under(connection, list(texts))
    return {
        node: Summary(row.key.hex(), row.layer, texts[node].text, chunk_ids[node], tuple(sources.get(node, ())))
        for node, row in rows.items()
        if node in texts
    }


def ids_under(connection: Connection, nodes: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """Return the ids of the chunks under each summary, by the summary's node.

    The ids are in the order in which a depth-first walk from the summary reaches the chunks.
    """
    rows = {node: store.chunks_under(connection, node) for node in nodes}
    ids = chunks.ids(connection, dict.fromkeys(row for chunk_rows in rows.values() for row in chunk_rows))
    return {node: tuple(ids[row] for row in chunk_rows if ids.get(row)) for node, chunk_rows in rows.items()}


def texts_of(connection: Connection, rows: Iterable[store.NodeRow]) -> dict[int, SummaryText]:
    """Return the texts of summaries with their quotes, by node; rows of chunks are left out.

    Raises DamagedFile if a summary cannot be decoded.
    """
    gists = {row.node: row.gist for row in rows if row.gist is not None}
    values = memo.values(connection, set(gists.values()))
    return {node: store.of_node(connection, node, values.get(row, b"")) for node, row in gists.items()}


def sources_of(connection: Connection, gists: Mapping[int, SummaryText]) -> dict[int, list[Source]]:
    """Return the places in documents from which the sentences of summaries come, by node.

    ``gists`` has the text and quotes of each summary, by node. A quote from another summary is traced to that
    summary's own quotes, and so on, down to chunks. A sentence that cannot be traced has no source.
    """
    quotes, quoted_children = _load_quotes(connection, gists)
    rows = dict.fromkeys(row.chunk for children in quoted_children.values() for row in children.values() if row.chunk)
    loaded = {chunk.row: chunk for chunk in chunks.load(connection, rows)}
    sources: dict[int, list[Source]] = {}

    def trace(node: int) -> list[Source]:
        if node not in sources:
            sources[node] = []
            below = {index: trace_child(row) for index, row in quoted_children.get(node, {}).items()}
            sources[node] = [
                source for quote in quotes.get(node, ()) for source in _move_sources(quote, below.get(quote.source, ()))
            ]
        return sources[node]

    def trace_child(row: store.NodeRow) -> list[Source]:
        if row.chunk is None:
            return trace(row.node)
        if row.chunk not in loaded:
            return []
        chunk = loaded[row.chunk].chunk
        return [Source(0, len(chunk.text), chunk.id, chunk.document_id, chunk.start, chunk.end)]

    return {node: trace(node) for node in gists}


def _load_quotes(
    connection: Connection, gists: Mapping[int, SummaryText]
) -> tuple[dict[int, Sequence[Quote]], dict[int, dict[int, store.NodeRow]]]:
    """Return ({summary: its quotes}, {summary: {child's position: quoted child}}), also of quoted summaries."""
    quotes: dict[int, Sequence[Quote]] = {}
    quoted_children: dict[int, dict[int, store.NodeRow]] = {}
    waiting = {node: gist for node, gist in gists.items() if gist.quotes}
    while waiting:
        children = store.children(connection, list(waiting))
        for node, gist in waiting.items():
            child_rows = children[node]
            quotes[node] = gist.quotes
            quoted_children[node] = {
                quote.source: child_rows[quote.source] for quote in gist.quotes if quote.source < len(child_rows)
            }
        lower = [row for node in waiting for row in quoted_children[node].values() if row.node not in quoted_children]
        waiting = {node: gist for node, gist in texts_of(connection, lower).items() if gist.quotes}
    return quotes, quoted_children


def _move_sources(quote: Quote, sources: Sequence[Source]) -> list[Source]:
    """Return the sources of a quote with offsets in the quoting summary instead of the quoted text."""
    carried, shift = [], quote.start - quote.source_start
    for source in sources:
        start, end = max(source.start, quote.source_start), min(source.end, quote.source_end)
        if start < end:
            first, last = (source.document_start - source.start + offset for offset in (start, end))
            ids = (source.chunk_id, source.document_id)
            carried.append(Source(start + shift, end + shift, *ids, first, last))
    return carried
