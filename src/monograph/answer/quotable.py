"""Of summaries what may be said: the sentences that repeat a chunk which is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from monograph.search.one_file import summaries
from monograph.store.documents import chunks, filters
from monograph.store.documents.filters import EVERYTHING, Allowed
from monograph.store.file.database import Connection
from monograph.store.tree import tree as store
from monograph.values import Source, Summary, SummaryText


def quotable(
    connection: Connection, nodes: Sequence[int], allowed: Allowed, documents: Sequence[int] | None = None
) -> dict[int, Summary]:
    """Summaries by node, of each what may be said; where documents are given, only of those.

    One that repeats nothing word for word is there whole, where all chunks under it are allowed, and not at all else.
    ``chunks`` are those that are repeated, or all under it.
    """
    rows = store.load(connection, nodes)
    gists = summaries.texts_of(connection, rows.values())
    quoting = {node: gist for node, gist in gists.items() if gist.quotes}
    sources = summaries.sources_of(connection, quoting)
    own_words = gists.keys() - sources.keys()
    if allowed != EVERYTHING or documents is not None:
        within = allowed if documents is None else filters.within(allowed, documents)
        named = list(dict.fromkeys(one.chunk_id for some in sources.values() for one in some))
        held = set(chunks.ids(connection, chunks.asked(connection, named, within)).values())
        sources = {node: [one for one in some if one.chunk_id in held] for node, some in sources.items()}
        if own_words:
            own_words -= store.barred(connection, within)
    under = summaries.ids_under(connection, sorted(own_words))
    made: dict[int, Summary] = {}
    for node in dict.fromkeys(nodes):
        row = rows.get(node)
        if row is not None and sources.get(node):
            made[node] = _quoting(row, gists[node], sources[node])
        elif row is not None and node in own_words:
            made[node] = Summary(row.key.hex(), row.layer, gists[node].text, under[node])
    return made


def _quoting(row: store.NodeRow, gist: SummaryText, sources: Sequence[Source]) -> Summary:
    """The sentences of a summary that have these places, each on a line."""
    text, moved = "", []
    for one in sorted(sources, key=lambda one: (one.start, one.end)):
        text += "\n" if text else ""
        moved.append(replace(one, start=len(text), end=len(text) + one.end - one.start))
        text += gist.text[one.start : one.end]
    return Summary(row.key.hex(), row.layer, text, tuple(dict.fromkeys(one.chunk_id for one in moved)), tuple(moved))
