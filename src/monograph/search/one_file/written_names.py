"""Names as the chunks and titles of one file write them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from monograph.graph.names import entity_id, key_of, mention_key
from monograph.store import graphs, names, readable
from monograph.store.database import Connection
from monograph.values import Extraction

_NAMES: Mapping[int, names.NameRow] = MappingProxyType({})
_TEXTS: Mapping[int, tuple[str, str]] = MappingProxyType({})


def written_names(
    connection: Connection,
    where: Mapping[int, int],
    known: Mapping[int, names.NameRow] = _NAMES,
    texts: Mapping[int, tuple[str, str]] = _TEXTS,
) -> dict[int, tuple[str, str]]:
    """(entity id, name as it is written) of names, each looked for in one chunk, by row.

    A name is written as in that chunk, else as in the title of a document about it, else as its key. ``known`` are
    names, and ``texts`` titles and texts of chunks, that were read before.
    """
    loaded = _loaded(connection, where, known)
    heads = _loaded(connection, {one.head for one in loaded.values()}, loaded)
    values = graphs.extraction_values(connection, set(where.values()))
    rows = sorted(row for row in values if row not in texts)
    texts = {**texts, **dict(zip(rows, readable.titled_texts(connection, rows), strict=True))}
    read: dict[int, Extraction] = {}
    found = {}
    for row, chunk in where.items():
        key = loaded[row].key if row in loaded else ""
        title, written = texts[chunk] if chunk in values else ("", "")
        text = _as_titled(title, key)
        if not text and chunk in values:
            if chunk not in read:
                read[chunk] = readable.extraction(connection, chunk, values[chunk], written)
            text = _as_mentioned(read[chunk], key)
        head = heads[loaded[row].head].key if row in loaded and loaded[row].head in heads else key
        found[row] = (entity_id(head), text or key)
    return found


def _loaded(
    connection: Connection, wanted: Collection[int], known: Mapping[int, names.NameRow]
) -> dict[int, names.NameRow]:
    """Names by row, those that are not known from the file."""
    missing = [row for row in wanted if row not in known]
    found = names.load(connection, missing) if missing else {}
    found.update((row, known[row]) for row in wanted if row in known)
    return found


def _as_titled(title: str, key: str) -> str:
    return title if key_of(title.partition(" (")[0]) == key else ""


def _as_mentioned(extraction: Extraction, key: str) -> str:
    return next((one.name for one in extraction.mentions if mention_key(one.name, one.kind) == key), "")
