"""Rows of ``names``: the names that documents contain, and which of these names mean the same entity.

A row has these values:

- ``key``: the comparison key of the name (:func:`monograph.graph.names.key_of`).
- ``signature``: a hash of the key. Rules merge only names with the same signature
  (:func:`monograph.graph.names.signature`).
- ``code``: the signs of the values of the name's embedding, one bit for each value.
- ``uses``: the number of chunks that mention the name plus the number of documents about it. A name with at least one
  use is in use.
- ``head``: the name that this name was merged into, because both mean the same entity.
- ``reason``: the rule that merged the name into its head, or ``abbreviation``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from monograph.store.file.checksums import checksum
from monograph.store.file.database import Connection
from monograph.store.file.rows import column, group, is_marked, lookup

# Two steps: an abbreviation may have a head that has a head itself.
ENTITY = "COALESCE(h.head, n.head, n.name)"
_ROW = f"n.name, n.key, n.uses, {ENTITY}"
"""Columns of a :class:`NameRow`, selected from ``_WITH_HEADS``."""
_WITH_HEADS = "names AS n LEFT JOIN names AS h ON h.name = n.head"
"""SQL of a join: each name ``n`` and, if it has one, its head ``h``."""
MOST_NAMES = 1 << 31
"""Row numbers of names are below this limit, because chunks store them in four bytes."""


class NameRow(NamedTuple):
    """A row of ``names``, with the row of the entity that the name belongs to.

    ``row`` is the row number of the name, ``key`` its comparison key. ``uses`` is the number of chunks that mention the
    name plus the number of documents about the name. ``head`` is the row of the name that all names of the entity were
    merged into. A name that was not merged is its own head. This is a tuple for speed: a search reads hundreds of
    rows.
    """

    row: int
    key: str
    uses: int
    head: int


@dataclass(frozen=True, slots=True)
class Member:
    """A name in use, with the facts that decide whether it is merged with other names of the same signature.

    ``subject``: whether a document is about the name. ``person``: whether the name is a person's in some chunk.
    ``code``: the signs of the values of its embedding, one bit each; empty if it has no embedding. ``full``: if
    documents state that this name is a short form, the rows of the full names.

    ``head``: the stored row of the name that this name was merged into; 0 if it was not merged. ``reason``: the rule
    that merged the two names, or ``abbreviation``; empty if the name was not merged.
    """

    row: int
    key: str
    subject: bool
    person: bool
    code: bytes
    full: tuple[int, ...]
    head: int
    reason: str


class StaleName(NamedTuple):
    """A name whose head, the name that it was merged into, may be out of date.

    Rules merge only names with the same ``signature``. So the heads of other names with this signature may be out of
    date, too. ``living``: whether the name is in use. ``headed``: whether the name has a head, or a document states a
    full name for it. This is a tuple for speed: each new name needs one.
    """

    key: str
    signature: int
    living: bool
    headed: bool


@dataclass(frozen=True, slots=True)
class NewName:
    """A name that is not stored yet.

    ``row`` is the row number for the name. ``code`` holds the signs of the values of its embedding, one bit each; None
    if it has no embedding.
    """

    row: int
    key: str
    signature: int
    code: bytes | None = None


@dataclass(frozen=True, slots=True)
class NameCounts:
    """Changes of the columns ``uses`` and ``persons`` of ``names`` that are not stored yet, by name row.

    ``uses`` counts the chunks that mention a name and the documents about the name. ``persons`` counts the chunks in
    which the name is a person's. :func:`use` adds all changes to the stored counts.
    """

    uses: Counter[int] = field(default_factory=Counter)
    persons: Counter[int] = field(default_factory=Counter)


def add(connection: Connection, new: Sequence[NewName], uses: NameCounts) -> None:
    """Store new names with their counts, and mark the new names in use as unresolved.

    The counts are taken from ``uses`` and removed from it. Unresolved names are those whose heads may be out of date.
    Triggers mark changed names, but not new ones, so this function marks them.
    """
    stored = []
    for name in new:
        seal = None if name.code is None else checksum(name.key.encode(), name.code)
        counts = uses.uses.pop(name.row, 0), uses.persons.pop(name.row, 0)
        stored.append((name.row, name.key, name.signature, name.code, seal, *counts))
    connection.executemany(
        "INSERT INTO names (name, key, signature, code, checksum, uses, persons) VALUES (?, ?, ?, ?, ?, ?, ?)", stored
    )
    living = ((row,) for row, *_, count, _ in stored if count > 0)
    connection.executemany("INSERT OR IGNORE INTO unresolved VALUES (?)", living)


def use(connection: Connection, uses: NameCounts) -> None:
    """Add the pending changes in ``uses`` to the counts of stored names."""
    rows = sorted(row for row in {*uses.uses, *uses.persons} if uses.uses[row] or uses.persons[row])
    connection.executemany(
        "UPDATE names SET uses = uses + ?, persons = persons + ? WHERE name = ?",
        ((uses.uses[row], uses.persons[row], row) for row in rows),
    )


def rows(connection: Connection, keys: Iterable[str]) -> dict[str, int]:
    """Return the row numbers of the names with the given keys, by key; keys that are not stored are left out."""
    return dict(lookup(connection, "n.key, n.name", "names AS n WHERE n.key = w.value", keys))


def known(connection: Connection, keys: Iterable[str]) -> dict[str, NameRow]:
    """Return the names in use that have the given keys, by key; keys without such a name are left out."""
    results = lookup(connection, _ROW, f"{_WITH_HEADS} WHERE n.key = w.value AND n.uses > 0", keys)
    return {row[1]: NameRow._make(row) for row in results}


def called(connection: Connection, first: Iterable[str]) -> list[NameRow]:
    """Return, in order of key, one name of the person that each first name in ``first`` identifies.

    A first name identifies a person if all persons of the file with this first name are one entity. Other first names
    are left out. If several names of the person begin with the first name, the lowest in order of key is returned.
    """
    tables = f"""{_WITH_HEADS} WHERE n.key > w.value || ' ' AND n.key < w.value || '!' AND n.uses > 0 AND n.persons > 0
        GROUP BY w.value HAVING count(DISTINCT {ENTITY}) = 1 ORDER BY n.key"""
    return [NameRow(*row) for row in lookup(connection, f"n.name, min(n.key), n.uses, {ENTITY}", tables, first)]


def load(connection: Connection, names: Iterable[int]) -> dict[int, NameRow]:
    """Return the names in the given rows, by row."""
    results = lookup(connection, _ROW, f"{_WITH_HEADS} WHERE n.name = w.value", names)
    return {row[0]: NameRow._make(row) for row in results}


def load_with_single(connection: Connection, names: Iterable[int]) -> tuple[dict[int, NameRow], set[int]]:
    """Return (names by row, rows of the single names) for the given rows.

    A single name is used once and is the only name of its entity.
    """
    is_single = "n.uses = 1 AND n.head IS NULL AND NOT EXISTS (SELECT 1 FROM names AS o WHERE o.head = n.name)"
    results = lookup(connection, f"{_ROW}, {is_single}", f"{_WITH_HEADS} WHERE n.name = w.value", names)
    return {row[0]: NameRow._make(row[:4]) for row in results}, {row[0] for row in results if row[4]}


def heads(connection: Connection, names: Iterable[int]) -> list[tuple[int, str, int, str]]:
    """Return (row, key, row of the entity's head, key of the entity's head) of each name."""
    tables = f"{_WITH_HEADS} JOIN names AS e ON e.name = {ENTITY} WHERE n.name = w.value"
    return lookup(connection, "n.name, n.key, e.name, e.key", tables, names)


def members(connection: Connection, heads: Iterable[int]) -> dict[int, list[NameRow]]:
    """Return the names in use of each entity, by the row of the entity's head.

    ``heads`` are rows of heads. In each list the head comes first, then the other names in order of key.
    """
    unique_heads = list(dict.fromkeys(heads))
    # Two steps: a head may have a head itself, if it is an abbreviation.
    tables = """names AS n WHERE n.name = w.value AND n.uses > 0
        UNION ALL
        SELECT n.name, n.key, n.uses, w.value FROM w CROSS JOIN names AS n
        WHERE n.head = w.value AND n.uses > 0
        UNION ALL
        SELECT n.name, n.key, n.uses, w.value FROM w CROSS JOIN names AS h CROSS JOIN names AS n
        WHERE h.head = w.value AND n.head = h.name AND n.uses > 0"""
    rows = map(NameRow._make, lookup(connection, "n.name, n.key, n.uses, w.value", tables, unique_heads))
    by_head = group((row.head, row) for row in rows)
    for entity in by_head.values():
        if len(entity) > 1:
            entity.sort(key=lambda member: (member.row != member.head, member.key))
    return by_head


def without_code(connection: Connection, keys: Iterable[str], dimension: int) -> list[str]:
    """Return the keys that have no stored code of an embedding of ``dimension`` values.

    Keys of names that are not stored are returned, too.
    """
    unique_keys = list(keys)
    tables = "names AS n WHERE n.key = w.value AND length(n.code) = ?"
    coded = {key for (key,) in lookup(connection, "n.key", tables, unique_keys, code_size(dimension))}
    return [key for key in unique_keys if key not in coded]


def code_size(dimension: int) -> int:
    """Return the number of bytes of the code of an embedding. A code has one bit for each value."""
    return -(-dimension // 8)


def set_codes(connection: Connection, codes: Iterable[tuple[bytes, str]]) -> None:
    """Store codes of names, given as (code, key), and mark these names as unresolved."""
    pairs = list(codes)
    connection.executemany(
        "UPDATE names SET code = ?, checksum = ? WHERE key = ?",
        ((code, checksum(key.encode(), code), key) for code, key in pairs),
    )
    mark_unresolved(connection, (key for _, key in pairs))


def drop_codes(connection: Connection, dimension: int | None) -> None:
    """Delete the codes of names, except the codes of embeddings of ``dimension`` values.

    If ``dimension`` is None, all codes are deleted. The names in use whose codes are deleted are marked as unresolved:
    their heads may be out of date.
    """
    size = None if dimension is None else code_size(dimension)
    condition = "code IS NOT NULL AND length(code) IS NOT ?"
    mark = f"INSERT OR IGNORE INTO unresolved SELECT name FROM names WHERE uses > 0 AND {condition}"  # noqa: S608
    connection.execute(mark, (size,))
    connection.execute(f"UPDATE names SET code = NULL, checksum = NULL WHERE {condition}", (size,))  # noqa: S608 - a constant


def codes(connection: Connection) -> Iterator[tuple[int, bytes]]:
    """Yield (name row, code) of every name in use that has a code, in order of key."""
    yield from connection.execute("SELECT name, code FROM names WHERE uses > 0 AND code IS NOT NULL ORDER BY key")


def unresolved(connection: Connection) -> list[StaleName]:
    """Return the names whose heads may be out of date, in order of signature and key.

    If any name is marked as unresolved, the names in the pairs of :func:`cannot_link` are marked and returned, too.
    """
    if not is_marked(connection, "unresolved"):
        return []
    connection.execute(
        "INSERT OR IGNORE INTO unresolved SELECT n.name FROM cannot_link AS a CROSS JOIN names AS n WHERE n.key = a.key"
    )
    results = connection.execute(
        """SELECT n.key, n.signature, n.uses > 0,
            n.head IS NOT NULL OR EXISTS (SELECT 1 FROM aliases AS a WHERE a.name = n.name)
        FROM unresolved AS u CROSS JOIN names AS n WHERE n.name = u.name ORDER BY n.signature, n.key"""
    ).fetchall()
    return list(map(StaleName._make, results))


def signed(connection: Connection, signatures: Iterable[int]) -> dict[int, list[str]]:
    """Return the keys of the names in use that have the given signatures, by signature.

    A signature is a hash that similar keys have in common: see :func:`monograph.graph.names.signature`. Signatures that
    no name in use has are left out.
    """
    # Keys have no line breaks. One row of joined keys is read in half the time of many rows.
    results = connection.execute(
        """SELECT value, (SELECT group_concat(key, char(10)) FROM names WHERE signature = value AND uses > 0)
        FROM json_each(?)""",
        (str(list(signatures)),),
    ).fetchall()
    return {signature: keys.split("\n") for signature, keys in results if keys}


def groups(connection: Connection, keys: Iterable[str] | None = None) -> dict[int, list[Member]]:
    """Return the names in use that have the given keys, by signature; each list is in order of key.

    If ``keys`` is None, whole groups are returned. A group is all names in use that have the same signature. It is
    returned if one of these conditions is true:

    - It has several names.
    - A name of the group has a head.
    - A document states a full name for a name of the group.
    """
    if keys is None:
        several = """SELECT name FROM names WHERE uses > 0 AND signature IN (
            SELECT signature FROM names WHERE uses > 0 GROUP BY signature
            HAVING count(*) > 1 OR max(head) IS NOT NULL OR max(name IN (SELECT name FROM aliases)))"""
        chosen = column(connection, several)
    else:
        chosen = list(rows(connection, keys).values())
    columns = """n.signature, n.name, n.key, EXISTS (SELECT 1 FROM subjects AS s WHERE s.name = n.name), n.persons > 0,
        n.code, (SELECT group_concat(DISTINCT a.full) FROM aliases AS a WHERE a.name = n.name), n.head, n.reason"""
    tables = "names AS n WHERE n.name = w.value AND n.uses > 0 ORDER BY n.signature, n.key"
    members = []
    for signature, row, key, subject, person, code, full, head, reason in lookup(connection, columns, tables, chosen):
        full_names = tuple(map(int, full.split(","))) if full else ()
        member = Member(row, key, bool(subject), bool(person), code or b"", full_names, head or 0, reason or "")
        members.append((signature, member))
    return group(members)


def set_heads(connection: Connection, heads: Iterable[tuple[int | None, str | None, int]]) -> None:
    """Store the heads of names, given as (row of the head, reason, row of the name).

    The head is the name that a name was merged into. The reason is the rule that merged the two names, or
    ``abbreviation``. A name without a head has (None, None, row of the name).
    """
    connection.executemany("UPDATE names SET head = ?, reason = ? WHERE name = ?", heads)


def clear_unresolved(connection: Connection) -> None:
    """Mark the heads of all names as up to date."""
    connection.execute("DELETE FROM unresolved")


def merges(connection: Connection, keys: Sequence[str] = ()) -> list[tuple[str, str, str]]:
    """Return (key, key of the head, reason) of each name in use that was merged into another name, its head.

    The reason is the rule that merged the two names, or ``abbreviation``. The result is in order of the head's key,
    then of the name's key. If ``keys`` are given, only names whose own key or head's key is among ``keys`` are
    returned.
    """
    return connection.execute(
        """SELECT n.key, h.key, n.reason FROM names AS n JOIN names AS h ON h.name = n.head
        WHERE n.uses > 0 AND (?1 = '[]' OR n.key IN (SELECT value FROM json_each(?1))
            OR h.key IN (SELECT value FROM json_each(?1))) ORDER BY h.key, n.key""",
        (json.dumps(list(keys), ensure_ascii=False),),
    ).fetchall()


def cannot_link(connection: Connection) -> set[tuple[str, str]]:
    """Return the pairs of keys that must not be merged into one entity. Each pair is returned in both orders."""
    return set(connection.execute("SELECT key, full FROM cannot_link").fetchall())


def add_cannot_link(connection: Connection, pairs: Iterable[tuple[str, str]]) -> None:
    """Store pairs of keys that must not be merged into one entity, and mark the names with these keys as unresolved.

    Each pair is stored in both orders.
    """
    both = [ends for key, other in pairs for ends in ((key, other), (other, key))]
    connection.executemany("INSERT OR IGNORE INTO cannot_link VALUES (?, ?)", both)
    mark_unresolved(connection, (key for key, _ in both))


def remove_cannot_link(connection: Connection, pairs: Iterable[tuple[str, str]], *, mark: bool = True) -> None:
    """Delete stored pairs of keys that must not be merged, each in both orders.

    With ``mark``, mark the names with these keys as unresolved.
    """
    both = [ends for key, other in pairs for ends in ((key, other), (other, key))]
    connection.executemany("DELETE FROM cannot_link WHERE key = ? AND full = ?", both)
    if mark:
        mark_unresolved(connection, (key for key, _ in both))


def mark_unresolved(connection: Connection, keys: Iterable[str]) -> None:
    """Mark the names in use that have the given keys as unresolved: their heads may be out of date."""
    connection.execute(
        """INSERT OR IGNORE INTO unresolved
        SELECT n.name FROM json_each(?) AS k CROSS JOIN names AS n WHERE n.key = k.value AND n.uses > 0""",
        (json.dumps(list(keys), ensure_ascii=False),),
    )


def drop_unused(connection: Connection) -> int:
    """Delete the names that are neither used nor in an alias; return the number of deleted names."""
    # Names that a deleted, unresolved name could be merged with have to be resolved in its place.
    connection.execute(
        """INSERT OR IGNORE INTO unresolved
        SELECT n.name FROM unresolved AS u CROSS JOIN names AS gone CROSS JOIN names AS n
        WHERE gone.name = u.name AND gone.uses = 0 AND n.signature = gone.signature AND n.uses > 0"""
    )
    short_or_full = 'SELECT name FROM aliases UNION SELECT "full" FROM aliases'
    return connection.execute(f"DELETE FROM names WHERE uses = 0 AND name NOT IN ({short_or_full})").rowcount  # noqa: S608


def most_named(connection: Connection, k: int, like: str = "", condition: str = "instr(n.key, ?1) > 0") -> list[int]:
    """Return the rows of the heads of at most ``k`` entities, the most used entity first.

    If ``like`` is not empty, only entities with a matching name are returned. ``condition`` is an SQL condition that
    decides whether a name matches. In the condition, ``n.key`` is the key of the name, and the parameter ``?1`` is
    ``like``. By default a name matches if its key contains ``like``.
    """
    query = f"""SELECT {ENTITY} FROM {_WITH_HEADS} WHERE n.uses > 0 GROUP BY 1
        HAVING ?1 = '' OR max({condition}) ORDER BY sum(n.uses) DESC, min(n.key) LIMIT ?2"""  # noqa: S608
    return column(connection, query, like, k)


def with_name_like(connection: Connection, key: str, most: int) -> list[int]:
    """Return the rows of the heads of at most ``most`` entities that have a name like a key, the most used first.

    Three conditions are tried in this order, until an entity meets one:

    1. A name of the entity contains the key as whole words.
    2. A name of the entity begins with the key.
    3. A name of the entity contains the key.
    """
    as_words = "instr(' ' || n.key || ' ', ' ' || ?1 || ' ') > 0"
    conditions = (as_words, "instr(n.key, ?1) = 1", "instr(n.key, ?1) > 0")
    results = (most_named(connection, most, key, condition) for condition in conditions)
    return next(filter(None, results), [])


def similar_keys(connection: Connection, key: str, signature: int, letters: int, most: int) -> list[str]:
    """Return the keys of at most ``most`` names in use that may be other spellings of a key, the most used first.

    A name is returned if its signature is ``signature``, or if its key has the same first ``letters`` letters as the
    given key. ``signature`` is that of the given key: see :func:`monograph.graph.names.signature`.
    """
    query = """SELECT key FROM names WHERE uses > 0 AND (signature = ? OR substr(key, 1, ?) = ?)
        ORDER BY uses DESC, key LIMIT ?"""
    return column(connection, query, signature, letters, key[:letters], most)


def stated(connection: Connection, keys: Sequence[str]) -> list[tuple[str, str, str, str]]:
    """Return (title, id, short key, full key) for each alias that a document states, in order of title and id.

    The title and id are those of the document. If ``keys`` are given, return only aliases whose short key is among
    them.
    """
    return connection.execute(
        """SELECT d.title, d.id, s.key, f.key FROM aliases AS a
        JOIN names AS s ON s.name = a.name JOIN names AS f ON f.name = a.full JOIN documents AS d USING (document)
        WHERE ?1 = '[]' OR s.key IN (SELECT value FROM json_each(?1)) ORDER BY d.title, d.id""",
        (json.dumps(list(keys), ensure_ascii=False),),
    ).fetchall()


def count(connection: Connection) -> tuple[int, int]:
    """Return (number of entities, number of names that are merged into other names)."""
    query = "SELECT count(*) FILTER (WHERE head IS NULL), count(head) FROM names WHERE uses > 0"
    entities, merged = connection.execute(query).fetchone()
    return entities, merged
