"""Names as the chunks and titles of one file write them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from monograph.graph.names import entity_id, key_of, mention_key
from monograph.store.documents import chunks
from monograph.store.file.database import Connection
from monograph.store.graph import extractions, graphs, names

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
    keys = {row: loaded[row].key if row in loaded else "" for row in where}
    found = written(connection, where, keys, texts)
    return {row: (entity_id(_head(row, loaded, heads, key)), found[row] or key) for row, key in keys.items()}


def written(
    connection: Connection,
    where: Mapping[int, int],
    keys: Mapping[int, str],
    texts: Mapping[int, tuple[str, str]] = _TEXTS,
) -> dict[int, str]:
    """Names of some keys as a chunk, or the title of a document about them, writes them; empty where neither does.

    ``where`` has the chunk of each; ``texts`` are titles and texts that were read before.
    """
    values = graphs.extraction_values(connection, set(where.values()))
    rows = sorted(row for row in values if row not in texts)
    texts = {**texts, **dict(zip(rows, chunks.titled_texts(connection, rows), strict=True))}
    found = {row: _as_titled(texts[chunk][0] if chunk in values else "", keys[row]) for row, chunk in where.items()}
    sought: dict[int, dict[str, list[int]]] = {}
    for row, chunk in where.items():
        if not found[row] and chunk in values:
            sought.setdefault(chunk, {}).setdefault(keys[row], []).append(row)
    for chunk, wanted in sought.items():
        with extractions.decoding_of(connection, chunk):
            for one in extractions.unpack(values[chunk], texts[chunk][1]).mentions:
                # Most names are found near the beginning of the text.
                found.update((row, one.name) for row in wanted.pop(mention_key(one.name, one.kind), ()))
                if not wanted:
                    break
    return found


def _head(row: int, loaded: Mapping[int, names.NameRow], heads: Mapping[int, names.NameRow], key: str) -> str:
    """The key of a name's entity; its own where there is none."""
    return heads[loaded[row].head].key if row in loaded and loaded[row].head in heads else key


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
