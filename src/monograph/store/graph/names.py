"""Rows of ``names``: keys of named things, the signs of their embeddings, and which of them mean the same entity."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from monograph.store.file.checksums import checksum
from monograph.store.file.database import Connection

ENTITY = "COALESCE(h.head, n.head, n.name)"
# An abbreviation may stand for a name that has a head itself.
MOST_NAMES = 1 << 31
"""Names are numbered below this: chunks name them in four bytes."""


class NameRow(NamedTuple):
    """A name: its row, key, how many rows of mentions and subjects use it, and its head's row (its own without one).

    A tuple: a search reads hundreds.
    """

    row: int
    key: str
    uses: int
    head: int


@dataclass(frozen=True, slots=True)
class Member:
    """A living name of a signature.

    ``subject`` if a document is about it, ``person`` if a chunk takes it for a person's; ``full`` are the rows of names
    that documents say it stands for; ``head`` and ``reason`` are what was found before, 0 and empty for none.
    """

    row: int
    key: str
    subject: bool
    person: bool
    code: bytes
    full: tuple[int, ...]
    head: int
    reason: str


class Marked(NamedTuple):
    """A name whose head may be out of date, as may be those of the names that may be one with it.

    ``living`` if anything uses it; ``headed`` if it has a head, or a document says what it stands for. A tuple: every
    name that is new comes by here.
    """

    row: int
    key: str
    signature: int
    living: bool
    headed: bool


@dataclass(frozen=True, slots=True)
class NewName:
    """A name that is not there yet; ``code`` is the signs of its embedding, None where it has none."""

    row: int
    key: str
    signature: int
    code: bytes | None = None


def add(connection: Connection, new: Sequence[NewName], uses: Mapping[int, int], persons: Mapping[int, int]) -> None:
    """Store names that are not there, with the rows and the chunks that use them, by row.

    Which names are one entity hangs on those that live: no trigger says so for new ones.
    """
    connection.executemany(
        "INSERT INTO names (name, key, signature, code, checksum, uses, persons) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            (
                one.row,
                one.key,
                one.signature,
                one.code,
                None if one.code is None else checksum(one.key.encode(), one.code),
                uses.get(one.row, 0),
                persons.get(one.row, 0),
            )
            for one in new
        ),
    )
    living = (one.row for one in new if uses.get(one.row, 0) > 0)
    connection.execute("INSERT OR IGNORE INTO unresolved SELECT value FROM json_each(?)", (_listed(living),))


def rows(connection: Connection, keys: Iterable[str]) -> dict[str, int]:
    """Row by key, for the keys that are there."""
    return dict(
        connection.execute(
            "SELECT n.key, n.name FROM json_each(?) AS k CROSS JOIN names AS n WHERE n.key = k.value", (_listed(keys),)
        )
    )


def known(connection: Connection, keys: Iterable[str]) -> dict[str, NameRow]:
    """The names that live, by key, for the keys that do."""
    found = connection.execute(
        f"""SELECT n.name, n.key, n.uses, {ENTITY} FROM json_each(?) AS k CROSS JOIN names AS n
        LEFT JOIN names AS h ON h.name = n.head WHERE n.key = k.value AND n.uses > 0""",  # noqa: S608 - a constant
        (_listed(keys),),
    )
    return {row[1]: NameRow._make(row) for row in found}


def called(connection: Connection, first: Iterable[str]) -> list[NameRow]:
    """Persons by their first names: those of whom the file knows one alone, in order of key.

    Of several names of that one it is the first by the alphabet.
    """
    found = connection.execute(
        f"""SELECT n.name, min(n.key), n.uses, {ENTITY} FROM json_each(?) AS k CROSS JOIN names AS n
        LEFT JOIN names AS h ON h.name = n.head
        WHERE n.key > k.value || ' ' AND n.key < k.value || '!' AND n.uses > 0 AND n.persons > 0
        GROUP BY k.value HAVING count(DISTINCT {ENTITY}) = 1 ORDER BY n.key""",  # noqa: S608 - a constant
        (_listed(first),),
    )
    return [NameRow(*row) for row in found]


def load(connection: Connection, names: Iterable[int]) -> dict[int, NameRow]:
    """Names by row."""
    found = connection.execute(
        f"""SELECT n.name, n.key, n.uses, {ENTITY} FROM json_each(?) AS k CROSS JOIN names AS n
        LEFT JOIN names AS h ON h.name = n.head WHERE n.name = k.value""",  # noqa: S608 - a constant
        (_numbered(names),),
    )
    return {row[0]: NameRow._make(row) for row in found}


def load_and_tell(connection: Connection, names: Iterable[int]) -> tuple[dict[int, NameRow], set[int]]:
    """(names by row, those of them that one row uses, and that no other name is one with)."""
    found = connection.execute(
        f"""SELECT n.name, n.key, n.uses, {ENTITY},
            n.uses = 1 AND n.head IS NULL AND NOT EXISTS (SELECT 1 FROM names AS o WHERE o.head = n.name)
        FROM json_each(?) AS k CROSS JOIN names AS n LEFT JOIN names AS h ON h.name = n.head
        WHERE n.name = k.value""",  # noqa: S608 - a constant
        (_numbered(names),),
    ).fetchall()
    return {row[0]: NameRow._make(row[:4]) for row in found}, {row[0] for row in found if row[4]}


def heads(connection: Connection, names: Iterable[int]) -> list[tuple[int, str, int]]:
    """(row, key, row of its entity) of names: what a search reads thousands of."""
    return connection.execute(
        f"""SELECT n.name, n.key, {ENTITY} FROM json_each(?) AS k CROSS JOIN names AS n
        LEFT JOIN names AS h ON h.name = n.head WHERE n.name = k.value""",  # noqa: S608 - a constant
        (_numbered(names),),
    ).fetchall()


def members(
    connection: Connection, heads: Iterable[int], loaded: Mapping[int, NameRow] = MappingProxyType({})
) -> dict[int, list[NameRow]]:
    """All living names of entities, by the row of their head, which comes first; the others in order of key.

    Of ``loaded`` are names that were read before, by row.
    """
    asked = dict.fromkeys(heads)
    before = (loaded[row] for row in asked if row in loaded)
    # An abbreviation that is a head may itself have one.
    found = {one.row: [one if one.head == one.row else one._replace(head=one.row)] for one in before if one.uses > 0}
    for name in connection.execute(
        """SELECT n.name, n.key, n.uses, n.name AS entity FROM json_each(?2) AS k CROSS JOIN names AS n
        WHERE n.name = k.value AND n.uses > 0
        UNION ALL
        SELECT n.name, n.key, n.uses, k.value FROM json_each(?1) AS k CROSS JOIN names AS n
        WHERE n.head = k.value AND n.uses > 0
        UNION ALL
        SELECT n.name, n.key, n.uses, k.value FROM json_each(?1) AS k CROSS JOIN names AS h CROSS JOIN names AS n
        WHERE h.head = k.value AND n.head = h.name AND n.uses > 0""",
        (_numbered(asked), _numbered(row for row in asked if row not in loaded)),
    ):
        found.setdefault(name[3], []).append(NameRow._make(name))
    for some in found.values():
        if len(some) > 1:
            some.sort(key=lambda one: (one.row != one.head, one.key))
    return found


def without_code(connection: Connection, keys: Iterable[str], size: int) -> list[str]:
    """Those of the keys whose names have no code of so many bytes yet, or are not there."""
    asked = list(keys)
    coded = connection.execute(
        """SELECT n.key FROM json_each(?) AS k CROSS JOIN names AS n WHERE n.key = k.value AND length(n.code) = ?""",
        (_listed(asked), size),
    )
    held = {key for (key,) in coded}
    return [key for key in asked if key not in held]


def code_size(dimension: int) -> int:
    """Bytes of the signs of so many values."""
    return -(-dimension // 8)


def set_codes(connection: Connection, codes: Iterable[tuple[bytes, str]]) -> None:
    """Store the signs of names' embeddings: (code, key). Which names are one entity hangs on them."""
    given = list(codes)
    connection.executemany(
        "UPDATE names SET code = ?, checksum = ? WHERE key = ?",
        ((code, checksum(key.encode(), code), key) for code, key in given),
    )
    may_change(connection, (key for _, key in given))


def drop_codes(connection: Connection, but: int | None = None) -> None:
    """Forget all codes, as when the embedder becomes another, or all that are not of so many bytes."""
    some = "code IS NOT NULL AND length(code) IS NOT ?"
    marked = f"INSERT OR IGNORE INTO unresolved SELECT name FROM names WHERE uses > 0 AND {some}"  # noqa: S608
    connection.execute(marked, (but,))
    connection.execute(f"UPDATE names SET code = NULL, checksum = NULL WHERE {some}", (but,))  # noqa: S608 - a constant


def codes(connection: Connection) -> Iterator[tuple[int, bytes]]:
    """(row, code) of every living name that has a code, in order of key."""
    yield from connection.execute("SELECT name, code FROM names WHERE uses > 0 AND code IS NOT NULL ORDER BY key")


def use(connection: Connection, changes: Mapping[int, int], persons: Mapping[int, int]) -> None:
    """Add to the uses of names, and to the chunks that take them for persons, by row."""
    connection.executemany(
        "UPDATE names SET uses = uses + ?, persons = persons + ? WHERE name = ?",
        (
            (changes.get(row, 0), persons.get(row, 0), row)
            for row in sorted({**changes, **persons})
            if changes.get(row, 0) or persons.get(row, 0)
        ),
    )


def unresolved(connection: Connection) -> list[Marked]:
    """The names whose heads may be out of date, in order of signature and key."""
    found = connection.execute(
        """SELECT n.name, n.key, n.signature, n.uses > 0,
            n.head IS NOT NULL OR EXISTS (SELECT 1 FROM aliases AS a WHERE a.name = n.name)
        FROM unresolved AS u CROSS JOIN names AS n WHERE n.name = u.name ORDER BY n.signature, n.key"""
    )
    return list(map(Marked._make, found))


def signed(connection: Connection, signatures: Iterable[int]) -> dict[int, list[str]]:
    """Keys of living names, by signature."""
    # They have no line breaks. One row of many keys is read in half the time of many rows.
    found = connection.execute(
        """SELECT s.value, (SELECT group_concat(n.key, char(10)) FROM names AS n
            WHERE n.signature = s.value AND n.uses > 0) FROM json_each(?) AS s""",
        (_listed(signatures),),
    )
    return {signature: keys.split("\n") for signature, keys in found if keys}


def living(connection: Connection, keys: Iterable[str]) -> dict[int, list[Member]]:
    """Those of some names that live, by signature, in order of key."""
    chosen = "json_each(?) AS k CROSS JOIN names AS n WHERE n.key = k.value AND n.uses > 0"
    return _groups(connection, chosen, _listed(keys))


def groups(connection: Connection) -> list[list[Member]]:
    """The living names of every signature that has several, and those that have a head or stand for another."""
    chosen = """(
            SELECT signature FROM names WHERE uses > 0 GROUP BY signature
            HAVING count(*) > 1 OR max(head) IS NOT NULL OR max(name IN (SELECT name FROM aliases))
        ) AS s CROSS JOIN names AS n WHERE n.signature = s.signature AND n.uses > 0"""
    return list(_groups(connection, chosen).values())


def _groups(connection: Connection, chosen: str, *parameters: object) -> dict[int, list[Member]]:
    found = connection.execute(
        f"""SELECT n.signature, n.name, n.key, EXISTS (SELECT 1 FROM subjects AS s WHERE s.name = n.name),
            n.persons > 0, n.code, (SELECT group_concat(DISTINCT a.full) FROM aliases AS a WHERE a.name = n.name),
            n.head, n.reason
        FROM {chosen} ORDER BY n.signature, n.key""",  # noqa: S608 - constants
        parameters,
    ).fetchall()
    return {signature: [_member(row) for row in group] for signature, group in groupby(found, key=itemgetter(0))}


def _member(row: tuple[Any, ...]) -> Member:
    _, name, key, subject, person, code, full, head, reason = row
    stands_for = tuple(map(int, full.split(","))) if full else ()
    return Member(name, key, bool(subject), bool(person), code or b"", stands_for, head or 0, reason or "")


def is_settled(connection: Connection) -> bool:
    """Whether every head is up to date."""
    return connection.execute("SELECT 1 FROM unresolved LIMIT 1").fetchone() is None


def set_heads(connection: Connection, heads: Iterable[tuple[int | None, str | None, int]]) -> None:
    """Give names their heads: (head, reason, row), None for none."""
    connection.executemany("UPDATE names SET head = ?, reason = ? WHERE name = ?", heads)


def clear_unresolved(connection: Connection) -> None:
    """Say that every head is up to date."""
    connection.execute("DELETE FROM unresolved")


def merges(connection: Connection, keys: Sequence[str] = ()) -> list[tuple[str, str, str]]:
    """(key, key of its head, reason) of every name that has a head, in order of head and key; of some keys only."""
    narrowed = "AND (n.key IN (SELECT value FROM json_each(?1)) OR h.key IN (SELECT value FROM json_each(?1)))"
    found = connection.execute(
        f"""SELECT n.key, h.key, n.reason FROM names AS n JOIN names AS h ON h.name = n.head
        WHERE n.uses > 0 {narrowed if keys else ""} ORDER BY h.key, n.key""",  # noqa: S608 - a constant
        (_listed(keys),) if keys else (),
    )
    return [(str(key), str(head), str(reason)) for key, head, reason in found]


def cannot_link(connection: Connection) -> set[tuple[str, str]]:
    """Pairs of keys that someone said are not one entity, each in both orders."""
    return {(str(key), str(other)) for key, other in connection.execute("SELECT key, full FROM apart")}


def set_apart(connection: Connection, pairs: Iterable[tuple[str, str]]) -> None:
    """Say that keys are not one entity, whichever of them would be the head."""
    both = [ends for key, other in pairs for ends in ((key, other), (other, key))]
    connection.executemany("INSERT OR IGNORE INTO apart VALUES (?, ?)", both)
    may_change(connection, (key for key, _ in both))


def unite(connection: Connection, pairs: Iterable[tuple[str, str]]) -> None:
    """Take back that keys are not one entity."""
    both = [ends for key, other in pairs for ends in ((key, other), (other, key))]
    drop_apart(connection, both)
    may_change(connection, (key for key, _ in both))


def drop_apart(connection: Connection, pairs: Iterable[tuple[str, str]]) -> None:
    """Forget that keys are not one entity, where nothing hangs on that: each pair in the order given."""
    connection.executemany("DELETE FROM apart WHERE key = ? AND full = ?", pairs)


def may_change(connection: Connection, keys: Iterable[str]) -> None:
    """Say that the heads of some names may be out of date."""
    connection.execute(
        """INSERT OR IGNORE INTO unresolved
        SELECT n.name FROM json_each(?) AS k CROSS JOIN names AS n WHERE n.key = k.value AND n.uses > 0""",
        (_listed(keys),),
    )


def unresolve_apart(connection: Connection) -> None:
    """Where any head may be out of date, look again at those of all names that were set apart."""
    if connection.execute("SELECT 1 FROM unresolved LIMIT 1").fetchone() is not None:
        connection.execute(
            """INSERT OR IGNORE INTO unresolved
            SELECT n.name FROM apart AS a CROSS JOIN names AS n WHERE n.key = a.key"""
        )


def drop_unused(connection: Connection) -> int:
    """Forget the names that nothing uses, not even as a short form; returns how many."""
    # Of one whose head was still to be found nothing would tell any more which others may have been one with it.
    connection.execute(
        """INSERT OR IGNORE INTO unresolved
        SELECT n.name FROM unresolved AS u CROSS JOIN names AS gone CROSS JOIN names AS n
        WHERE gone.name = u.name AND gone.uses = 0 AND n.signature = gone.signature AND n.uses > 0"""
    )
    short_or_full = 'SELECT name FROM aliases UNION SELECT "full" FROM aliases'
    return connection.execute(f"DELETE FROM names WHERE uses = 0 AND name NOT IN ({short_or_full})").rowcount  # noqa: S608


def count(connection: Connection) -> tuple[int, int]:
    """(entities, merged names)."""
    entities, merged = connection.execute(
        "SELECT count(*) FILTER (WHERE head IS NULL), count(head) FROM names WHERE uses > 0"
    ).fetchone()
    return int(entities), int(merged)


def _numbered(rows: Iterable[int]) -> str:
    return str(list(rows))  # Which is JSON, and many times faster.


def _listed(values: Iterable[object]) -> str:
    return json.dumps(list(values), ensure_ascii=False)
