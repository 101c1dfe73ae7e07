"""Rows of ``chunk_graphs``, ``mentions``, ``subjects`` and ``aliases``: the entity–chunk graph."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from struct import Struct
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.store import names
from monograph.store.database import Connection
from monograph.store.filters import EVERYTHING, Allowed
from monograph.values import ENTITY_KINDS

NAMED = np.dtype([("name", "<i4"), ("first", "u1"), ("second", "u1"), ("kind", "u1")])
"""A name in a chunk: its row, the first two sentences it stands in (255 where there is no second), and its kind's place
in :data:`monograph.values.ENTITY_KINDS`."""

_NAMED = Struct("<iBBB")  # The same for Python's struct, which is faster for a few.
_PERSON = ENTITY_KINDS.index("person")

LINKED = np.dtype([("source", "<u2"), ("target", "<u2"), ("strength", "<f2")])
"""A model's relation: places of its ends among the chunk's names, and its strength."""

WORDS = np.dtype("<u4")
Records: TypeAlias = npt.NDArray[Any]
SUBJECT_CHUNKS = 12
"""Chunks of a document that its title leads to, the first ones."""


@dataclass(frozen=True, slots=True)
class Part:
    """What is stored of a chunk's node: words, names and links as bytes of WORDS, NAMED and LINKED."""

    words: bytes
    names: bytes
    links: bytes


@dataclass(frozen=True, slots=True)
class SubjectRow:
    """A name that a document is about."""

    name: int
    by_title: bool
    qualifier: str


@dataclass(frozen=True, slots=True)
class SubjectChunk:
    """A chunk of a document that is about a name.

    ``documents`` counts the documents about that name in the same way: by their titles, or by their beginnings.
    """

    name: int
    chunk: int
    by_title: bool
    qualifier: str
    documents: int


@dataclass(frozen=True, slots=True)
class Node:
    """A document's part of the graph as rows.

    ``chunks`` by chunk row, every chunk of the document; ``subjects`` are what it is about; ``aliases`` pairs of the
    rows of a short name and a full one.
    """

    chunks: Mapping[int, Part]
    subjects: frozenset[SubjectRow]
    aliases: frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Uses:
    """Changes of how often names are used, by row, not written yet: many documents' together cost less."""

    uses: Counter[int] = field(default_factory=Counter)
    persons: Counter[int] = field(default_factory=Counter)

    def include(self, other: Uses) -> None:
        """Add another's changes to these."""
        self.uses.update(other.uses)
        self.persons.update(other.persons)


def replace(connection: Connection, document: int, node: Node, uses: Uses) -> None:
    """Make this a document's part of the graph, touching only what differs.

    Parameters
    ----------
    document:
        Its row; its chunks are stored already.
    node:
        Its part.
    uses:
        Collects what is to be written by :func:`monograph.store.names.use` before the transaction ends.
    """
    held = _parts(connection, document)
    for chunk, part in node.chunks.items():
        if held.get(chunk) != part:
            _put(connection, chunk, part, held.get(chunk), uses)
    _replace_subjects(connection, document, node.subjects, uses.uses)
    _replace_aliases(connection, document, node.aliases)


def _parts(connection: Connection, document: int) -> dict[int, Part]:
    found = connection.execute(
        "SELECT g.chunk, words, names, links FROM chunk_graphs AS g JOIN chunks USING (chunk) WHERE document = ?",
        (document,),
    )
    return {row[0]: Part(*row[1:]) for row in found}


def _put(connection: Connection, chunk: int, part: Part, old: Part | None, uses: Uses) -> None:
    values = (part.words, part.names, part.links, chunk)
    if old is None:
        connection.execute("INSERT INTO chunk_graphs (words, names, links, chunk) VALUES (?, ?, ?, ?)", values)
    else:
        connection.execute("UPDATE chunk_graphs SET words = ?, names = ?, links = ? WHERE chunk = ?", values)
    wanted = _named(part.names)
    before = set() if old is None else _named(old.names)
    connection.executemany("DELETE FROM mentions WHERE name = ? AND chunk = ?", ((n, chunk) for n in before - wanted))
    connection.executemany("INSERT INTO mentions (name, chunk) VALUES (?, ?)", ((n, chunk) for n in wanted - before))
    uses.uses.update(wanted - before)
    uses.uses.subtract(before - wanted)
    uses.persons.update(_persons(part.names))
    if old is not None:
        uses.persons.subtract(_persons(old.names))


def pack_named(records: Iterable[tuple[int, int, int, int]]) -> bytes:
    """NAMED records as bytes: (name, first, second, kind)."""
    return b"".join(_NAMED.pack(*one) for one in records)


def _persons(packed: bytes) -> list[int]:
    return [name for name, _, _, kind in _NAMED.iter_unpack(packed) if kind == _PERSON]


def _named(packed: bytes) -> set[int]:
    return {one[0] for one in _NAMED.iter_unpack(packed)}


def _replace_subjects(connection: Connection, document: int, wanted: Set[SubjectRow], changes: Counter[int]) -> None:
    found = connection.execute("SELECT name, by_title, qualifier FROM subjects WHERE document = ?", (document,))
    held = {SubjectRow(row[0], bool(row[1]), row[2]) for row in found}
    connection.executemany(
        "DELETE FROM subjects WHERE name = ? AND document = ?", ((one.name, document) for one in held - wanted)
    )
    connection.executemany(
        "INSERT INTO subjects (name, document, by_title, qualifier) VALUES (?, ?, ?, ?)",
        ((one.name, document, one.by_title, one.qualifier) for one in wanted - held),
    )
    changes.update(one.name for one in wanted - held)
    changes.subtract(one.name for one in held - wanted)


def _replace_aliases(connection: Connection, document: int, wanted: Set[tuple[int, int]]) -> None:
    held = set(connection.execute("SELECT name, full FROM aliases WHERE document = ?", (document,)))
    connection.executemany(
        "DELETE FROM aliases WHERE name = ? AND full = ? AND document = ?", ((*one, document) for one in held - wanted)
    )
    connection.executemany(
        "INSERT INTO aliases (name, full, document) VALUES (?, ?, ?)", ((*one, document) for one in wanted - held)
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
    changes: Counter[int] = Counter()
    _replace_subjects(connection, document, set(), changes)
    _replace_aliases(connection, document, set())
    names.use(connection, changes, {})


def clear(connection: Connection) -> None:
    """Empty the graph, as before it is made anew. Extractions stay, and so do codes of names."""
    for table in ("chunk_graphs", "mentions", "subjects", "aliases"):
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 - constants
    connection.execute("UPDATE names SET uses = 0, persons = 0, head = NULL, reason = NULL")


def assign(connection: Connection, pairs: Iterable[tuple[int, int]]) -> None:
    """Say which extraction is which chunk's: (chunk row, memo row)."""
    # Not an upsert: where rows are watched by constraints, SQLite opens a statement journal for one, which takes fifty
    # times as long as the insert.
    for chunk, memo in pairs:
        held = connection.execute("SELECT memo FROM extractions WHERE chunk = ?", (chunk,)).fetchone()
        if held is None:
            connection.execute("INSERT INTO extractions (chunk, memo) VALUES (?, ?)", (chunk, memo))
        elif held[0] != memo:
            connection.execute("UPDATE extractions SET memo = ? WHERE chunk = ?", (memo, chunk))


def extraction_values(connection: Connection, chunks: Iterable[int]) -> dict[int, bytes]:
    """Stored extractions by chunk row, for the chunks that have one."""
    return dict(
        connection.execute(
            """SELECT e.chunk, m.value FROM json_each(?) AS c CROSS JOIN extractions AS e JOIN memo AS m USING (memo)
            WHERE e.chunk = c.value""",
            (_listed(chunks),),
        )
    )


def extraction_rows(connection: Connection, chunks: Iterable[int]) -> dict[int, int]:
    """Memo rows of extractions by chunk row, for the chunks that have one."""
    return dict(
        connection.execute(
            "SELECT e.chunk, e.memo FROM json_each(?) AS c CROSS JOIN extractions AS e WHERE e.chunk = c.value",
            (_listed(chunks),),
        )
    )


def stored(connection: Connection, document: int) -> Node:
    """A document's part of the graph as it is stored."""
    subjects = connection.execute("SELECT name, by_title, qualifier FROM subjects WHERE document = ?", (document,))
    aliases = connection.execute("SELECT name, full FROM aliases WHERE document = ?", (document,))
    return Node(
        _parts(connection, document),
        frozenset(SubjectRow(row[0], bool(row[1]), row[2]) for row in subjects),
        frozenset((name, full) for name, full in aliases),
    )


def documents_without_extraction(connection: Connection) -> list[int]:
    """Row numbers of documents of some of whose chunks nothing is known, ascending."""
    found = connection.execute(
        "SELECT DISTINCT document FROM chunks WHERE chunk NOT IN (SELECT chunk FROM extractions) ORDER BY document"
    )
    return [int(row) for (row,) in found]


def documents_without_graph(connection: Connection) -> list[int]:
    """Row numbers of documents some of whose chunks are not in the graph, ascending."""
    found = connection.execute(
        "SELECT DISTINCT document FROM chunks WHERE chunk NOT IN (SELECT chunk FROM chunk_graphs) ORDER BY document"
    )
    return [int(row) for (row,) in found]


def documents_naming(connection: Connection, wanted: Iterable[int]) -> list[int]:
    """Row numbers of the documents that mention any of some names, ascending."""
    found = connection.execute(
        """SELECT DISTINCT c.document FROM json_each(?) AS n CROSS JOIN mentions AS m CROSS JOIN chunks AS c
        WHERE m.name = n.value AND c.chunk = m.chunk ORDER BY c.document""",
        (_listed(wanted),),
    )
    return [int(row) for (row,) in found]


def is_whole(connection: Connection) -> bool:
    """Whether there are chunks, and every one is in the graph."""
    (chunks,) = connection.execute("SELECT count(*) FROM chunks").fetchone()
    (nodes,) = connection.execute("SELECT count(*) FROM chunk_graphs").fetchone()
    return bool(chunks) and chunks == nodes


def words(connection: Connection, chunks: Iterable[int]) -> dict[int, npt.NDArray[np.uint32]]:
    """Hashes of the words of chunks, ascending, by row."""
    found = connection.execute(
        "SELECT g.chunk, g.words FROM json_each(?) AS c CROSS JOIN chunk_graphs AS g WHERE g.chunk = c.value",
        (_listed(chunks),),
    )
    return {chunk: np.frombuffer(packed, dtype=WORDS) for chunk, packed in found}


def named(connection: Connection, chunks: Iterable[int]) -> dict[int, Records]:
    """The names of chunks, NAMED records in order of first mention, by row."""
    found = connection.execute(
        "SELECT g.chunk, g.names FROM json_each(?) AS c CROSS JOIN chunk_graphs AS g WHERE g.chunk = c.value",
        (_listed(chunks),),
    )
    return {chunk: np.frombuffer(packed, dtype=NAMED) for chunk, packed in found}


def linked(connection: Connection, chunks: Iterable[int]) -> dict[int, tuple[Records, Records]]:
    """(names, links) of chunks, NAMED and LINKED records, by row."""
    found = connection.execute(
        "SELECT g.chunk, g.names, g.links FROM json_each(?) AS c CROSS JOIN chunk_graphs AS g WHERE g.chunk = c.value",
        (_listed(chunks),),
    )
    return {
        chunk: (np.frombuffer(some, dtype=NAMED), np.frombuffer(links, dtype=LINKED)) for chunk, some, links in found
    }


def mentions(connection: Connection, wanted: Iterable[int], allowed: Allowed = EVERYTHING) -> dict[int, list[int]]:
    """The chunks that name each of some names, ascending."""
    found: dict[int, list[int]] = {}
    for name, chunk in connection.execute(
        f"""SELECT m.name, m.chunk FROM json_each(?) AS n CROSS JOIN mentions AS m
        WHERE m.name = n.value AND {allowed.on("m.chunk")}""",  # noqa: S608
        (_listed(wanted), *allowed.parameters),
    ):
        found.setdefault(name, []).append(chunk)
    return found


def are_subjects(connection: Connection, wanted: Iterable[int]) -> set[int]:
    """Those of some names that a document is about."""
    found = connection.execute(
        """SELECT n.value FROM json_each(?) AS n WHERE EXISTS (SELECT 1 FROM subjects AS s WHERE s.name = n.value)""",
        (_listed(wanted),),
    )
    return {int(row) for (row,) in found}


def known_subjects(connection: Connection, keys: Iterable[str]) -> dict[str, names.NameRow]:
    """The names among some keys that a document is about, by key."""
    known = names.known(connection, keys)
    about = are_subjects(connection, [row.row for row in known.values()])
    return {key: row for key, row in known.items() if row.row in about}


def subject_chunks(connection: Connection, wanted: Iterable[int], allowed: Allowed = EVERYTHING) -> list[SubjectChunk]:
    """The chunks of documents that are about some names: the first ones by title, the very first otherwise.

    The first chunks of all documents come before the second ones; of these in order of id.
    """
    found = connection.execute(
        f"""SELECT s.name, c.chunk, s.by_title, s.qualifier,
            (SELECT count(*) FROM subjects AS h WHERE h.name = s.name AND h.by_title = s.by_title)
        FROM json_each(?) AS n CROSS JOIN subjects AS s CROSS JOIN chunks AS c
        WHERE s.name = n.value AND c.document = s.document
            AND c.ordinal < CASE s.by_title WHEN 1 THEN {SUBJECT_CHUNKS} ELSE 1 END AND {allowed.on("c.chunk")}
        ORDER BY c.ordinal, c.id""",  # noqa: S608
        (_listed(wanted), *allowed.parameters),
    )
    return [SubjectChunk(row[0], row[1], bool(row[2]), row[3], row[4]) for row in found]


def that_name(connection: Connection, chunks: Iterable[int], wanted: Iterable[int]) -> list[tuple[int, int]]:
    """(name, chunk) for those of some chunks that name any of some names."""
    found = connection.execute(
        """SELECT m.name, m.chunk FROM json_each(?) AS n CROSS JOIN json_each(?) AS c CROSS JOIN mentions AS m
        WHERE m.name = n.value AND m.chunk = c.value""",
        (_listed(wanted), _listed(chunks)),
    )
    return [(int(name), int(chunk)) for name, chunk in found]


def own_subjects(connection: Connection, chunks: Iterable[int]) -> dict[int, set[int]]:
    """The names that the documents of chunks are about, by chunk row."""
    found: dict[int, set[int]] = {}
    for chunk, name in connection.execute(
        """SELECT c.chunk, s.name FROM json_each(?) AS w CROSS JOIN chunks AS c CROSS JOIN subjects AS s
        WHERE c.chunk = w.value AND s.document = c.document""",
        (_listed(chunks),),
    ):
        found.setdefault(chunk, set()).add(name)
    return found


def subject_documents(connection: Connection, wanted: Iterable[int]) -> dict[int, list[tuple[str, str]]]:
    """(document id, title) of the documents about some names, by title, in order of id."""
    found: dict[int, list[tuple[str, str]]] = {}
    for name, identifier, title in connection.execute(
        """SELECT s.name, d.id, d.title FROM json_each(?) AS n CROSS JOIN subjects AS s CROSS JOIN documents AS d
        WHERE s.name = n.value AND d.document = s.document ORDER BY d.id""",
        (_listed(wanted),),
    ):
        found.setdefault(name, []).append((identifier, title))
    return found


def documents_of(connection: Connection, chunks: Iterable[int]) -> dict[int, int]:
    """The document of each chunk, by row."""
    return dict(
        connection.execute(
            "SELECT c.chunk, c.document FROM json_each(?) AS w CROSS JOIN chunks AS c WHERE c.chunk = w.value",
            (_listed(chunks),),
        )
    )


def _listed(values: Iterable[int]) -> str:
    return json.dumps(list(values))
