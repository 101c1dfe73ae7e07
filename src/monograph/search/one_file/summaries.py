"""Summaries of the tree as values, with the chunks under them and the sources of their sentences."""

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
    """Return the summaries of nodes, by node. Nodes that do not exist, or are chunks, are left out."""
    rows = store.load(connection, nodes)
    texts = texts_of(connection, rows.values())
    sources = sources_of(connection, texts)
    under = ids_under(connection, list(texts))
    return {
        node: Summary(
            id=row.key.hex(),
            layer=row.layer,
            text=texts[node].text,
            chunks=under[node],
            sources=tuple(sources.get(node, ())),
        )
        for node, row in rows.items()
        if node in texts
    }


def ids_under(connection: Connection, nodes: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """Return the ids of the chunks under each summary, by node, in the order of the tree."""
    rows = {node: store.chunks_under(connection, node) for node in nodes}
    ids = chunks.ids(connection, dict.fromkeys(row for some in rows.values() for row in some))
    return {node: tuple(ids[row] for row in some if ids.get(row)) for node, some in rows.items()}


def texts_of(connection: Connection, rows: Iterable[store.NodeRow]) -> dict[int, SummaryText]:
    """Return the texts of summaries with their quotes, by node. Raises DamagedFile if one cannot be read."""
    wanted = {row.node: row.gist for row in rows if row.gist is not None}
    values = memo.values(connection, set(wanted.values()))
    return {node: store.of_node(connection, node, values.get(row, b"")) for node, row in wanted.items()}


def sources_of(connection: Connection, gists: Mapping[int, SummaryText]) -> dict[int, list[Source]]:
    """Return the places in documents that the sentences of summaries come from, by node.

    A sentence is traced through the quotes from layer to layer, down to chunks.
    """
    quotes, under = _quoted(connection, gists)
    rows = dict.fromkeys(row.chunk for some in under.values() for row in some.values() if row.chunk)
    held = {one.row: one for one in chunks.load(connection, rows)}
    made: dict[int, list[Source]] = {}

    def of(node: int) -> list[Source]:
        if node not in made:
            made[node] = []
            below = {place: beneath(row) for place, row in under.get(node, {}).items()}
            made[node] = [one for quote in quotes.get(node, ()) for one in _carried(quote, below.get(quote.source, ()))]
        return made[node]

    def beneath(row: store.NodeRow) -> list[Source]:
        if row.chunk is None:
            return of(row.node)
        one = held[row.chunk].chunk if row.chunk in held else None
        return [] if one is None else [Source(0, len(one.text), one.id, one.document_id, one.start, one.end)]

    return {node: of(node) for node in gists}


def _quoted(
    connection: Connection, gists: Mapping[int, SummaryText]
) -> tuple[dict[int, Sequence[Quote]], dict[int, dict[int, store.NodeRow]]]:
    """Return (quotes of each summary, quoted child nodes by position among the children), both by node.

    Summaries that quote other summaries are followed down to the chunks.
    """
    quotes: dict[int, Sequence[Quote]] = {}
    under: dict[int, dict[int, store.NodeRow]] = {}
    waiting = {node: gist for node, gist in gists.items() if gist.quotes}
    while waiting:
        children = store.children(connection, list(waiting))
        for node, gist in waiting.items():
            some = children[node]
            quotes[node] = gist.quotes
            under[node] = {quote.source: some[quote.source] for quote in gist.quotes if quote.source < len(some)}
        lower = [row for node in waiting for row in under[node].values() if row.node not in under]
        waiting = {node: gist for node, gist in texts_of(connection, lower).items() if gist.quotes}
    return quotes, under


def _carried(quote: Quote, under: Sequence[Source]) -> list[Source]:
    """Return the sources of a quoted text, moved to their offsets in the text that quotes it."""
    carried = []
    for one in under:
        first, last = max(one.start, quote.source_start), min(one.end, quote.source_end)
        if first < last:
            moved = quote.start - quote.source_start
            at = one.document_start - one.start
            carried.append(Source(first + moved, last + moved, one.chunk_id, one.document_id, first + at, last + at))
    return carried
