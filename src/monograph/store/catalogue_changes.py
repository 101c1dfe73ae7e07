"""What became of a file's names since an earlier copy of it, laid over the names of many files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from monograph.store import catalogue, connections, names
from monograph.store.catalogue import NAMED, Rows
from monograph.store.checksums import checksum
from monograph.store.database import Connection, Database, our_errors
from monograph.store.keyed import select

_IN_USE = "({0}.uses > 0 OR {0}.name IN (SELECT name FROM {1}.aliases UNION SELECT full FROM {1}.aliases))"
_TOLD = {
    "apart": "key, full",
    "told_nodes": "id, label, name, key, implied",
    "told_relations": "source, label, target",
}


@dataclass(frozen=True, slots=True)
class Difference:
    """What a file has of the names of many, against what it had before.

    Parameters
    ----------
    names:
        (key, signature, code, code before, uses more than before, persons more than before) of names in use now or
        then; the signature is None of those that are not in use now.
    subjects, aliases, subjects_gone, aliases_gone:
        As in :class:`monograph.store.catalogue.Share`: those that came, and those that went.
    apart, told:
        Whether what is set apart, or what callers told, is another.
    """

    names: Rows
    subjects: Rows
    aliases: Rows
    subjects_gone: Rows
    aliases_gone: Rows
    apart: bool
    told: bool

    @property
    def is_none(self) -> bool:
        """Whether nothing is another."""
        rows = (self.names, self.subjects, self.aliases, self.subjects_gone, self.aliases_gone)
        return not (any(rows) or self.apart or self.told)

    @property
    def takes_out(self) -> bool:
        """Whether anything went."""
        gone = self.subjects_gone or self.aliases_gone or self.apart or self.told
        return bool(gone) or any(signature is None for _, signature, *_ in self.names)


def difference(database: Database, before: Path) -> Difference | None:
    """What a file has that an earlier copy of it had not, and the other way round; None if its signatures are others.

    Rows that say the same in both are found by their numbers, in one pass over each table. Numbers may all be others:
    then more is given, and it comes to the same.
    """
    connection = database.connection()
    with our_errors(database.path, connection), _beside(connection, before):
        _note_changed(connection)
        (signed,) = connection.execute(
            """SELECT EXISTS (SELECT 1 FROM changed AS c JOIN main.names AS n USING (key) JOIN former.names AS o
            USING (key) WHERE n.signature != o.signature)"""
        ).fetchone()
        if signed:
            return None
        subjects, subjects_gone = _subjects(connection, "main", "former"), _subjects(connection, "former", "main")
        aliases, aliases_gone = _aliases(connection, "main", "former"), _aliases(connection, "former", "main")
        connection.executemany(
            "INSERT OR IGNORE INTO changed VALUES (?)",
            ((key,) for *keys, _ in (*aliases, *aliases_gone) for key in keys),
        )
        found = connection.execute(
            f"""SELECT c.key, n.signature, n.code, o.code, COALESCE(n.uses, 0) - COALESCE(o.uses, 0),
                COALESCE(n.persons, 0) - COALESCE(o.persons, 0)
            FROM changed AS c
            LEFT JOIN main.names AS n ON n.key = c.key AND {_IN_USE.format("n", "main")}
            LEFT JOIN former.names AS o ON o.key = c.key AND {_IN_USE.format("o", "former")}
            WHERE n.name IS NOT NULL OR o.name IS NOT NULL"""  # noqa: S608 - constants
        ).fetchall()
        apart = _differs(connection, "apart")
        told = _differs(connection, "told_nodes") or _differs(connection, "told_relations")
        return Difference(found, subjects, aliases, subjects_gone, aliases_gone, apart, told)


@contextmanager
def _beside(connection: Connection, before: Path) -> Iterator[None]:
    """Have an earlier copy at hand as ``former``, and room for what is another in it."""
    connections.attach(connection, before, "former")
    try:
        # Keys of names of which anything is another, and numbers that stand for others or, in one of both, for none.
        connection.execute("CREATE TEMP TABLE changed (key TEXT PRIMARY KEY) WITHOUT ROWID")
        connection.execute("CREATE TEMP TABLE renumbered (name INTEGER PRIMARY KEY)")
        yield
    finally:
        connection.execute("DROP TABLE IF EXISTS temp.changed")
        connection.execute("DROP TABLE IF EXISTS temp.renumbered")
        connection.execute("DETACH former")


def _note_changed(connection: Connection) -> None:
    connection.execute(
        """INSERT OR IGNORE INTO changed SELECT n.key FROM main.names AS n LEFT JOIN former.names AS o USING (name)
        WHERE (n.key, n.signature, n.code, n.uses, n.persons) IS NOT (o.key, o.signature, o.code, o.uses, o.persons)"""
    )
    for one, other in (("main", "former"), ("former", "main")):
        connection.execute(
            f"""INSERT OR IGNORE INTO renumbered SELECT n.name FROM {one}.names AS n
            LEFT JOIN {other}.names AS o USING (name) WHERE n.key IS NOT o.key"""  # noqa: S608 - constants
        )
    connection.execute(
        "INSERT OR IGNORE INTO changed SELECT key FROM former.names WHERE name IN (SELECT name FROM renumbered)"
    )


def _subjects(connection: Connection, one: str, other: str) -> Rows:
    """What one of both has of documents' subjects, and the other has not."""
    return connection.execute(
        f"""SELECT n.key, s.document, s.by_title, s.qualifier FROM {one}.subjects AS s
        JOIN {one}.names AS n ON n.name = s.name
        LEFT JOIN {other}.subjects AS o ON o.name = s.name AND o.document = s.document
        WHERE (s.by_title, s.qualifier) IS NOT (o.by_title, o.qualifier)
        OR s.name IN (SELECT name FROM renumbered)"""  # noqa: S608 - constants
    ).fetchall()


def _aliases(connection: Connection, one: str, other: str) -> Rows:
    """What one of both has of aliases, and the other has not."""
    return connection.execute(
        f"""SELECT n.key, f.key, a.document FROM {one}.aliases AS a
        JOIN {one}.names AS n ON n.name = a.name JOIN {one}.names AS f ON f.name = a.full
        LEFT JOIN {other}.aliases AS o ON o.name = a.name AND o.full = a.full AND o.document = a.document
        WHERE o.name IS NULL OR a.name IN (SELECT name FROM renumbered)
        OR a.full IN (SELECT name FROM renumbered)"""  # noqa: S608 - constants
    ).fetchall()


def _differs(connection: Connection, table: str) -> bool:
    """Whether both say other things in a table, or in another order."""
    said = (
        connection.execute(f"SELECT DISTINCT {_TOLD[table]} FROM {schema}.{table}").fetchall()  # noqa: S608 - constants
        for schema in ("main", "former")
    )
    return next(said) != next(said)


def lay(connection: Connection, made: Mapping[int, Difference], shards: Sequence[Database]) -> bool:
    """Lay what is another in some files over the names of all, and say which heads may be out of date.

    Parameters
    ----------
    made:
        By the number of the file.
    shards:
        All files, as they are now.

    Returns
    -------
    False where what there is was not of these files: it is of no use then.
    """
    count = len(shards)
    fits = True
    for number, one in made.items():
        fits &= _take_out(connection, one, number, count)
    for one in made.values():
        coming = [(key, signature) for key, signature, *_ in one.names if signature is not None]
        catalogue.put_names(connection, coming)
        connection.executemany(
            "UPDATE names SET uses = uses + ?, persons = persons + ? WHERE key = ?",
            ((uses, persons, key) for key, *_, uses, persons in one.names if uses or persons),
        )
    for number, one in made.items():
        fits &= catalogue.put_stated(connection, one.subjects, one.aliases, number, count)
    _set_codes(connection, [row for one in made.values() for row in one.names], shards)
    if any(one.apart for one in made.values()):
        _set_apart(connection, shards)
    if any(one.told for one in made.values()):
        _tell(connection, shards)
    (wrong,) = connection.execute("SELECT EXISTS (SELECT 1 FROM names WHERE uses < 0 OR persons < 0)").fetchone()
    return fits and not wrong


def _take_out(connection: Connection, one: Difference, number: int, count: int) -> bool:
    """Take out what went; whether all of it was there."""
    gone = connection.executemany(
        f"DELETE FROM subjects WHERE name = {NAMED} AND document = ?",  # noqa: S608 - a constant
        ((key, row * count + number) for key, row, *_ in one.subjects_gone),
    ).rowcount
    apart = connection.executemany(
        f"DELETE FROM aliases WHERE name = {NAMED} AND full = {NAMED} AND document = ?",  # noqa: S608 - a constant
        ((key, full, row * count + number) for key, full, row in one.aliases_gone),
    ).rowcount
    # Of no rows at all SQLite tells -1.
    return (max(gone, 0), max(apart, 0)) == (len(one.subjects_gone), len(one.aliases_gone))


def _set_codes(connection: Connection, changed: Rows, shards: Sequence[Database]) -> None:
    """Give names the codes that they have in the first file that has one."""
    held = dict(select(connection, "SELECT key, code FROM names WHERE key IN", [row[0] for row in changed]))
    doubtful: dict[str, None] = {}
    for key, _, code, before, *_ in changed:
        if before is not None and code != before:
            doubtful[key] = None  # Another file may still have it, or one before it had another.
        elif code is not None and held.get(key) is None:
            held[key] = code
            _set_code(connection, key, code)
        elif code is not None and held[key] != code:
            doubtful[key] = None
    if doubtful:
        truth = _codes_of(list(doubtful), shards)
        for key in doubtful:
            if key in held and truth.get(key) != held[key]:
                _set_code(connection, key, truth.get(key))


def _set_code(connection: Connection, key: str, code: bytes | None) -> None:
    sealed = None if code is None else checksum(key.encode(), code)
    connection.execute("UPDATE names SET code = ?, checksum = ? WHERE key = ?", (code, sealed, key))
    names.may_change(connection, [key])


def _codes_of(keys: Sequence[str], shards: Sequence[Database]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    used = _IN_USE.format("n", "main")
    query = f"SELECT n.key, n.code FROM main.names AS n WHERE n.code IS NOT NULL AND {used} AND n.key IN"  # noqa: S608
    for shard in shards:
        with shard.read() as connection:
            found = dict(select(connection, query, keys)) | found
    return found


def _set_apart(connection: Connection, shards: Sequence[Database]) -> None:
    """Have the names apart that any file has so."""
    held, wanted = names.cannot_link(connection), set[tuple[str, str]]()
    for shard in shards:
        with shard.read() as one:
            wanted |= names.cannot_link(one)
    names.drop_apart(connection, held - wanted)
    connection.executemany("INSERT INTO apart VALUES (?, ?)", wanted - held)
    names.may_change(connection, {key for pair in held ^ wanted for key in pair})


def _tell(connection: Connection, shards: Sequence[Database]) -> None:
    """Have what callers told of all files, in their order."""
    connection.execute("DELETE FROM told_nodes")
    connection.execute("DELETE FROM told_relations")
    for shard in shards:
        with shard.read() as held:
            catalogue.put_told(connection, *catalogue.told(held))
