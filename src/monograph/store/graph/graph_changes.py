"""Changes of the entity–chunk graph: parts of documents that come, become others, or go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from struct import Struct

from monograph.store.file.database import Connection
from monograph.store.file.rows import select
from monograph.store.graph.graphs import Node, stored
from monograph.values import ENTITY_KINDS

_NAMED = Struct("<iBBB")  # A record of graphs.NAMED for Python's struct, which is faster for a few.
_PERSON = ENTITY_KINDS.index("person")


@dataclass(frozen=True, slots=True)
class Uses:
    """Changes of how often names are used, by row, not written yet: many documents' together cost less."""

    uses: Counter[int] = field(default_factory=Counter)
    persons: Counter[int] = field(default_factory=Counter)


def put(connection: Connection, nodes: Mapping[int, Node], uses: Uses, known: Iterable[int] = ()) -> None:
    """Make these the documents' parts of the graph, touching only what differs.

    Parameters
    ----------
    nodes:
        By the document's row, each with every chunk of it; the chunks are stored already.
    uses:
        Collects what is to be written by :mod:`monograph.store.graph.names` before the transaction ends.
    known:
        Those of the documents that may have a part already. Chunks that they no longer have are removed already.
    """
    coming = dict(nodes)
    for document in known:
        held, node = stored(connection, document), nodes[document]
        _remove_chunks(connection, [row for row, part in held.chunks.items() if node.chunks.get(row) != part], uses)
        gone = held.subjects - node.subjects
        connection.executemany(
            "DELETE FROM subjects WHERE name = ? AND document = ?", ((one.name, document) for one in gone)
        )
        uses.uses.subtract(one.name for one in gone)
        connection.executemany(
            "DELETE FROM aliases WHERE name = ? AND full = ? AND document = ?",
            ((*pair, document) for pair in held.aliases - node.aliases),
        )
        fresh = {row: part for row, part in node.chunks.items() if held.chunks.get(row) != part}
        coming[document] = Node(fresh, node.subjects - held.subjects, node.aliases - held.aliases)
    parts = [pair for node in coming.values() for pair in node.chunks.items()]
    connection.executemany(
        "INSERT INTO chunk_graphs (chunk, words, names, links) VALUES (?, ?, ?, ?)",
        ((chunk, part.words, part.names, part.links) for chunk, part in parts),
    )
    mentions = []
    for chunk, part in parts:
        named = _named(part.names)
        uses.uses.update(named)
        uses.persons.update(_persons(part.names))
        mentions += [(name, chunk) for name in named]
    connection.executemany("INSERT INTO mentions (name, chunk) VALUES (?, ?)", sorted(mentions))
    subjects = [(document, one) for document, node in coming.items() for one in node.subjects]
    connection.executemany(
        "INSERT INTO subjects (name, document, by_title, qualifier) VALUES (?, ?, ?, ?)",
        ((one.name, document, one.by_title, one.qualifier) for document, one in subjects),
    )
    uses.uses.update(one.name for _, one in subjects)
    connection.executemany(
        "INSERT INTO aliases (name, full, document) VALUES (?, ?, ?)",
        ((*pair, document) for document, node in coming.items() for pair in node.aliases),
    )


def remove(connection: Connection, chunks: Sequence[int], documents: Sequence[int], uses: Uses) -> None:
    """Remove chunks with their extractions, and what documents are about and the aliases that they state."""
    _remove_chunks(connection, chunks, uses)
    connection.executemany("DELETE FROM extractions WHERE chunk = ?", ((chunk,) for chunk in chunks))
    for document in documents:
        about = connection.execute("DELETE FROM subjects WHERE document = ? RETURNING name", (document,)).fetchall()
        uses.uses.subtract(name for (name,) in about)
        connection.execute("DELETE FROM aliases WHERE document = ?", (document,))


def _remove_chunks(connection: Connection, chunks: Sequence[int], uses: Uses) -> None:
    mentions = []
    for chunk, packed in select(connection, "SELECT chunk, names FROM chunk_graphs WHERE chunk IN", chunks):
        named = _named(packed)
        uses.uses.subtract(named)
        uses.persons.subtract(_persons(packed))
        mentions += [(name, chunk) for name in named]
    connection.executemany("DELETE FROM mentions WHERE name = ? AND chunk = ?", sorted(mentions))
    connection.executemany("DELETE FROM chunk_graphs WHERE chunk = ?", ((chunk,) for chunk in chunks))


def pack_named(records: Iterable[tuple[int, int, int, int]]) -> bytes:
    """NAMED records as bytes: (name, first, second, kind)."""
    return b"".join([_NAMED.pack(*one) for one in records])


def _persons(packed: bytes) -> list[int]:
    return [name for name, _, _, kind in _NAMED.iter_unpack(packed) if kind == _PERSON]


def _named(packed: bytes) -> set[int]:
    return {one[0] for one in _NAMED.iter_unpack(packed)}


def clear(connection: Connection) -> None:
    """Empty the graph, as before it is made anew. Extractions stay, and so do codes of names."""
    for table in ("chunk_graphs", "mentions", "subjects", "aliases"):
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 - constants
    connection.execute("UPDATE names SET uses = 0, persons = 0, head = NULL, reason = NULL")
