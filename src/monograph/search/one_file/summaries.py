"""Summaries as values: the chunks under them, and where their sentences stand word for word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from monograph.errors import InputError
from monograph.store import chunks, memo, readable
from monograph.store import tree as store
from monograph.store.database import Connection, path_of
from monograph.store.filters import EVERYTHING, Allowed
from monograph.values import Quote, Source, Summary, SummaryText


def need_tree(connection: Connection) -> None:
    """Raise InputError where the file has no tree of summaries."""
    if not store.exists(connection):
        path = path_of(connection)
        raise InputError(f"{path} has no tree of summaries", f"monograph resummarize {path}")


def load(connection: Connection, nodes: Sequence[int]) -> dict[int, Summary]:
    """Summaries by node, without those that cannot be read."""
    rows = store.load(connection, nodes)
    texts = texts_of(connection, rows.values())
    return {
        node: Summary(
            id=row.key.hex(),
            layer=row.layer,
            text=texts[node].text,
            chunks=tuple(store.chunk_ids_under(connection, node)),
            sources=tuple(_sources(connection, node, texts[node])),
        )
        for node, row in rows.items()
        if node in texts
    }


def texts_of(connection: Connection, rows: Iterable[store.Row]) -> dict[int, SummaryText]:
    """The gists of summaries, by node, without those that cannot be read."""
    wanted = {row.node: row.gist for row in rows if row.gist is not None}
    values = memo.values(connection, set(wanted.values()))
    found = {node: readable.summary(connection, node, values.get(row, b"")) for node, row in wanted.items()}
    return {node: gist for node, gist in found.items() if gist is not None}


def _sources(connection: Connection, node: int, gist: SummaryText) -> list[Source]:
    """Where the sentences of a summary stand in documents, found from layer to layer."""
    if not gist.quotes:
        return []
    children = store.children(connection, [node])[node]
    quoted = {quote.source: children[quote.source] for quote in gist.quotes if quote.source < len(children)}
    held = texts_of(connection, quoted.values())
    under: dict[int, list[Source]] = {}
    for place, row in quoted.items():
        if row.chunk is not None:
            found = (one.chunk for one in readable.chunks(connection, [row.chunk]).values())
            under[place] = [Source(0, len(one.text), one.id, one.document_id, one.start, one.end) for one in found]
        elif row.node in held:
            under[place] = _sources(connection, row.node, held[row.node])
    return [source for quote in gist.quotes for source in _carried(quote, under.get(quote.source, ()))]


def _carried(quote: Quote, under: Sequence[Source]) -> list[Source]:
    """The sources of what a quote repeats, as places in the text that quotes."""
    carried = []
    for one in under:
        first, last = max(one.start, quote.source_start), min(one.end, quote.source_end)
        if first < last:
            moved = quote.start - quote.source_start
            at = one.document_start - one.start
            carried.append(Source(first + moved, last + moved, one.chunk_id, one.document_id, first + at, last + at))
    return carried


def quotable(connection: Connection, nodes: Sequence[int], allowed: Allowed = EVERYTHING) -> dict[int, Summary]:
    """Summaries by node, of each what may be said: the sentences that repeat a chunk which is allowed.

    One that repeats nothing word for word is there whole, where all chunks under it are allowed, and not at all else.
    ``chunks`` are those that are repeated, or all under it.
    """
    rows = store.load(connection, nodes)
    gists = texts_of(connection, rows.values())
    sources = {node: _sources(connection, node, gist) for node, gist in gists.items() if gist.quotes}
    if allowed != EVERYTHING:
        sources = _let_through(connection, sources, allowed)
    own_words = gists.keys() - sources.keys()
    if own_words and allowed != EVERYTHING:
        own_words -= store.barred(connection, allowed)
    made: dict[int, Summary] = {}
    for node in dict.fromkeys(nodes):
        row = rows.get(node)
        if row is not None and sources.get(node):
            made[node] = _quoting(row, gists[node], sources[node])
        elif row is not None and node in own_words:
            under = tuple(store.chunk_ids_under(connection, node))
            made[node] = Summary(row.key.hex(), row.layer, gists[node].text, under)
    return made


def _let_through(
    connection: Connection, sources: Mapping[int, Sequence[Source]], allowed: Allowed
) -> dict[int, list[Source]]:
    """Sources by node, without those in chunks that are not allowed."""
    named = list(dict.fromkeys(one.chunk_id for some in sources.values() for one in some))
    held = set(chunks.ids(connection, chunks.asked(connection, named, allowed)).values())
    return {node: [one for one in some if one.chunk_id in held] for node, some in sources.items()}


def _quoting(row: store.Row, gist: SummaryText, sources: Sequence[Source]) -> Summary:
    """The sentences of a summary that have these places, each on a line."""
    text, moved = "", []
    for one in sorted(sources, key=lambda one: (one.start, one.end)):
        text += "\n" if text else ""
        moved.append(replace(one, start=len(text), end=len(text) + one.end - one.start))
        text += gist.text[one.start : one.end]
    return Summary(row.key.hex(), row.layer, text, tuple(dict.fromkeys(one.chunk_id for one in moved)), tuple(moved))
