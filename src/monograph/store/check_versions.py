"""Former versions of documents held against their checksums, and when documents stood against each other."""

from __future__ import annotations

from collections.abc import Iterator

from monograph.dates.span import FIRST, LAST
from monograph.store import checksums, versions
from monograph.store.database import Connection
from monograph.values import Finding

MEND = "restore the file from a copy, or let it go: monograph forget FILE ID --versions-before DATE"
_STRAYS = "version NOT IN (SELECT version FROM versions)"
_LOST = (
    "vector NOT NULL AND vector NOT IN (SELECT memo FROM memo)",
    "extraction NOT NULL AND extraction NOT IN (SELECT memo FROM memo)",
)
_TIMELESS = """valid_until IS NOT NULL OR typeof(valid_from) != 'integer' OR valid_from NOT BETWEEN ? AND ?
    OR valid_from < (SELECT max(valid_until) FROM versions AS v WHERE v.id = documents.id)"""


def findings(connection: Connection, *, history: bool) -> Iterator[Finding]:
    """What is wrong with them; ``history`` says whether the file keeps any."""
    for number, stored, found in versions.wrong(connection):
        name = versions.name_of(connection, number)
        mended = checksums.differ_by_a_byte(stored or 0, found)
        fault = f"a former version of document {name!r} (row {number}) is not what was stored"
        yield Finding("versions", fault, mended, "" if mended else MEND)
    for fault, condition in (
        ("chunks of former versions that are not there", _STRAYS),
        ("chunks of former versions whose vector is not in the memo", _LOST[0]),
        ("chunks of former versions whose extraction is not in the memo", _LOST[1]),
    ):
        (count,) = connection.execute(f"SELECT count(*) FROM version_chunks WHERE {condition}").fetchone()  # noqa: S608
        if count:
            yield Finding("version_chunks", f"{count} {fault}", repairable=True)
    if history:
        query = f"SELECT count(*) FROM documents WHERE {_TIMELESS}"  # noqa: S608 - a constant
        (count,) = connection.execute(query, (FIRST, LAST)).fetchone()
        if count:
            yield Finding("documents", f"{count} documents do not tell since when they stand as they do", True)


def mend(connection: Connection, *, history: bool) -> None:
    """Put right what can be; a document that does not tell when it came, came with the end of its last version."""
    for number, stored, found in list(versions.wrong(connection)):
        if checksums.differ_by_a_byte(stored or 0, found):
            versions.seal(connection, number)
    connection.execute(f"DELETE FROM version_chunks WHERE {_STRAYS}")  # noqa: S608 - constants
    connection.execute(f"UPDATE version_chunks SET vector = NULL WHERE {_LOST[0]}")  # noqa: S608
    connection.execute(f"UPDATE version_chunks SET extraction = NULL WHERE {_LOST[1]}")  # noqa: S608
    if history:
        connection.execute(
            f"""UPDATE documents SET valid_until = NULL, valid_from = coalesce(
                (SELECT max(valid_until) FROM versions AS v WHERE v.id = documents.id), 0)
            WHERE {_TIMELESS}""",  # noqa: S608
            (FIRST, LAST),
        )
