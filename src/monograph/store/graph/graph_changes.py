"""Changes of the entity–chunk graph: parts of documents that come, become others, or go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from struct import Struct

from monograph.store.file.database import Connection
from monograph.store.graph import names
from monograph.store.graph.graphs import Node, Part, SubjectRow, stored
from monograph.values import ENTITY_KINDS

_NAMED = Struct("<iBBB")  # A record of graphs.NAMED for Python's struct, which is faster for a few.
_PERSON = ENTITY_KINDS.index("person")


@dataclass(frozen=True, slots=True)
class Uses:
    """Changes of how often names are used, by row, not written yet: many documents' together cost less."""

    uses: Counter[int] = field(default_factory=Counter)
    persons: Counter[int] = field(default_factory=Counter)

    def include(self, other: Uses) -> None:
        """Add another's changes to these."""
        self.uses.update(other.uses)
        self.persons.update(other.persons)


def add(connection: Connection, nodes: Mapping[int, Node], uses: Uses) -> None:
    """Store what is not in the graph yet, table by table.

    Parameters
    ----------
    nodes:
        By the document's row; the chunks are stored already.
    uses:
        Collects what is to be written by :mod:`monograph.store.graph.names` before the transaction ends.
    """
    parts = [pair for node in nodes.values() for pair in node.chunks.items()]
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
    subjects = [(document, one) for document, node in nodes.items() for one in node.subjects]
    connection.executemany(
        "INSERT INTO subjects (name, document, by_title, qualifier) VALUES (?, ?, ?, ?)",
        ((one.name, document, one.by_title, one.qualifier) for document, one in subjects),
    )
    uses.uses.update(one.name for _, one in subjects)
    connection.executemany(
        "INSERT INTO aliases (name, full, document) VALUES (?, ?, ?)",
        ((*pair, document) for document, node in nodes.items() for pair in node.aliases),
    )


def replace(connection: Connection, document: int, node: Node, uses: Uses) -> None:
    """Make this a document's part of the graph, touching only what differs.

    Parameters
    ----------
    document:
        Its row; its chunks are stored already.
    node:
        Its part, with every chunk of it.
    uses:
        As for :func:`add`.
    """
    held = stored(connection, document)
    for chunk, part in node.chunks.items():
        if chunk in held.chunks and held.chunks[chunk] != part:
            _update(connection, chunk, part, held.chunks[chunk], uses)
    _remove_subjects(connection, document, held.subjects - node.subjects, uses.uses)
    _remove_aliases(connection, document, held.aliases - node.aliases)
    fresh = {chunk: part for chunk, part in node.chunks.items() if chunk not in held.chunks}
    coming = Node(fresh, node.subjects - held.subjects, node.aliases - held.aliases)
    add(connection, {document: coming}, uses)


def _update(connection: Connection, chunk: int, part: Part, old: Part, uses: Uses) -> None:
    connection.execute(
        "UPDATE chunk_graphs SET words = ?, names = ?, links = ? WHERE chunk = ?",
        (part.words, part.names, part.links, chunk),
    )
    wanted, before = _named(part.names), _named(old.names)
    connection.executemany("DELETE FROM mentions WHERE name = ? AND chunk = ?", ((n, chunk) for n in before - wanted))
    connection.executemany("INSERT INTO mentions (name, chunk) VALUES (?, ?)", ((n, chunk) for n in wanted - before))
    uses.uses.update(wanted - before)
    uses.uses.subtract(before - wanted)
    uses.persons.update(_persons(part.names))
    uses.persons.subtract(_persons(old.names))


def pack_named(records: Iterable[tuple[int, int, int, int]]) -> bytes:
    """NAMED records as bytes: (name, first, second, kind)."""
    return b"".join([_NAMED.pack(*one) for one in records])


def _persons(packed: bytes) -> list[int]:
    return [name for name, _, _, kind in _NAMED.iter_unpack(packed) if kind == _PERSON]


def _named(packed: bytes) -> set[int]:
    return {one[0] for one in _NAMED.iter_unpack(packed)}


def _remove_subjects(connection: Connection, document: int, gone: Set[SubjectRow], changes: Counter[int]) -> None:
    connection.executemany(
        "DELETE FROM subjects WHERE name = ? AND document = ?", ((one.name, document) for one in gone)
    )
    changes.subtract(one.name for one in gone)


def _remove_aliases(connection: Connection, document: int, gone: Set[tuple[int, int]]) -> None:
    connection.executemany(
        "DELETE FROM aliases WHERE name = ? AND full = ? AND document = ?", ((*one, document) for one in gone)
    )


def remove_chunks(connection: Connection, chunks: Iterable[int]) -> None:
    """Take chunks out of the graph, and forget which extraction was theirs."""
    changes, persons = Counter[int](), Counter[int]()
    for chunk in chunks:
        row = connection.execute("DELETE FROM chunk_graphs WHERE chunk = ? RETURNING names", (chunk,)).fetchone()
        gone = set() if row is None else _named(row[0])
        persons.subtract(() if row is None else _persons(row[0]))
        connection.executemany("DELETE FROM mentions WHERE name = ? AND chunk = ?", ((name, chunk) for name in gone))
        connection.execute("DELETE FROM extractions WHERE chunk = ?", (chunk,))
        changes.subtract(gone)
    names.use(connection, changes, persons)


def remove_document(connection: Connection, document: int) -> None:
    """Take out what a document is about, and the aliases it states. Its chunks go with :func:`remove_chunks`."""
    held = stored(connection, document)
    changes: Counter[int] = Counter()
    _remove_subjects(connection, document, held.subjects, changes)
    _remove_aliases(connection, document, held.aliases)
    names.use(connection, changes, {})


def take_out(connection: Connection, document: int, chunks: Iterable[int]) -> None:
    """Take a document's part out of the graph; it and its chunks stay."""
    remove_chunks(connection, chunks)
    remove_document(connection, document)


def clear(connection: Connection) -> None:
    """Empty the graph, as before it is made anew. Extractions stay, and so do codes of names."""
    for table in ("chunk_graphs", "mentions", "subjects", "aliases"):
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 - constants
    connection.execute("UPDATE names SET uses = 0, persons = 0, head = NULL, reason = NULL")
