"""Former versions of documents held against their checksums, and when documents stood against each other."""

from __future__ import annotations

from collections.abc import Iterator

from monograph.store.file.database import Connection
from monograph.store.history import versions
from monograph.values import Finding

MEND = "restore the file from a copy, or let it go: monograph forget FILE ID --versions-before DATE"
_STRAYS = "version NOT IN (SELECT version FROM versions)"
_LOST = (
    "vector NOT NULL AND vector NOT IN (SELECT memo FROM memo)",
    "extraction NOT NULL AND extraction NOT IN (SELECT memo FROM memo)",
)
_ENDED = "valid_until IS NOT NULL"
_TIMELESS = "typeof(valid_from) != 'integer'"
_MISDATED = "dates_checksum IS NOT checksum(valid_from)"


def findings(connection: Connection, *, history: bool) -> Iterator[Finding]:
    """What is wrong with them; ``history`` says whether the file keeps any."""
    for number in versions.wrong(connection):
        name = versions.name_of(connection, number)
        fault = f"a former version of document {name!r} (row {number}) is not what was stored"
        yield Finding("versions", fault, False, MEND)
    for fault, condition in (
        ("chunks of former versions that are not there", _STRAYS),
        ("chunks of former versions whose vector is not in the memo", _LOST[0]),
        ("chunks of former versions whose extraction is not in the memo", _LOST[1]),
    ):
        (count,) = connection.execute(f"SELECT count(*) FROM version_chunks WHERE {condition}").fetchone()  # noqa: S608
        if count:
            yield Finding("version_chunks", f"{count} {fault}", repairable=True)
    for fault, condition, told in (
        ("documents that stand and are said to have ended", _ENDED, True),
        ("documents that stand since another second than was stored", _MISDATED, True),
        ("documents that do not tell since when they stand", _TIMELESS, history),
    ):
        (count,) = connection.execute(f"SELECT count(*) FROM documents WHERE {condition}").fetchone()  # noqa: S608
        if count and told:
            yield Finding("documents", f"{count} {fault}", condition is _ENDED)


def mend(connection: Connection) -> None:
    """Put right what can be."""
    connection.execute(f"DELETE FROM version_chunks WHERE {_STRAYS}")  # noqa: S608 - constants
    connection.execute(f"UPDATE version_chunks SET vector = NULL WHERE {_LOST[0]}")  # noqa: S608
    connection.execute(f"UPDATE version_chunks SET extraction = NULL WHERE {_LOST[1]}")  # noqa: S608
    connection.execute(f"UPDATE documents SET valid_until = NULL WHERE {_ENDED}")  # noqa: S608
