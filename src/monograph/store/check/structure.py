"""Rules for SQLite's pages, the schema, settings, roots, records of failed files, and the ledger of model calls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from typing import get_args

from monograph.regex import regex
from monograph.store.check.rules import DELETE, DERIVE, CheckedRows, Rule
from monograph.store.documents import sources
from monograph.store.file import encryption, schema, settings
from monograph.store.file.database import Connection, memory_connection
from monograph.store.file.errors import is_index_fault, sqlite_errors
from monograph.store.file.rows import column
from monograph.values import Finding

_INDEX_FAULT = regex(r"fts5.*\b(words|trigrams)\b", re.IGNORECASE)
# Triggers come first, because a wrong trigger may prevent changes of its table.
_RECREATED_KINDS = ("trigger", "index")
"""Kinds of schema entries that have no rows of their own, so they can be created again."""

_COMPUTED = """SELECT 'settings/' || CAST(name AS BLOB) AS name, checksum(CAST(value AS BLOB)) AS checksum FROM settings
    UNION ALL SELECT 'roots/' || root, checksum(CAST(name AS BLOB), CAST(place AS BLOB), follow_links) FROM roots"""
"""Query for (name, checksum computed now) of the rows that have an entry in ``checksums``."""

_IS_INVALID_ENTRY = """date(day) IS NOT day OR typeof(model) != 'text' OR typeof(purpose) != 'text'
    OR typeof(calls) != 'integer' OR typeof(tokens_in) != 'integer' OR typeof(tokens_out) != 'integer'
    OR min(calls, tokens_in, tokens_out) < 0"""
"""SQL condition for rows of the ledger that no version of Monograph writes."""


def _find_sqlite_faults(checked: CheckedRows) -> Iterator[Finding]:
    """Yield a finding for each fault that SQLite's integrity check finds."""
    connection = checked.connection
    try:
        broken = _check_integrity(connection, "20")
    except sqlite_errors() as error:
        if not is_index_fault(error):
            raise
        # FTS5 cannot open its index, and nothing was checked: check single tables. The rules of the index report it.
        query = """SELECT '"' || replace(name, '"', '""') || '"' FROM sqlite_master
            WHERE type = 'table' AND rootpage > 0"""
        broken = [fault for name in column(connection, query) for fault in _check_integrity(connection, name)]
    for fault in broken:
        # Newer versions of SQLite, and SQLCipher, check the inverted index, too. It can be built again.
        index = _INDEX_FAULT.search(fault)
        yield Finding("file" if index is None else index[1], fault, repairable=index is not None)


def _check_integrity(connection: Connection, what: str) -> list[str]:
    return [fault for fault in column(connection, f"PRAGMA integrity_check({what})") if fault != "ok"]


def _compare_schemas(connection: Connection) -> list[tuple[str, str, str | None, str | None]]:
    """Return (type, name, stored SQL or None, right SQL or None) of each missing, wrong or unknown entry."""
    query = "SELECT type, name, coalesce(sql, '') FROM sqlite_master"
    with closing(memory_connection(encrypted=encryption.is_encrypted(connection))) as empty:
        schema.create_tables(empty)
        stored, right = ({row[:2]: row[2] for row in source.execute(query)} for source in (connection, empty))
    entries = sorted(stored.keys() | right.keys())
    return [(*entry, stored.get(entry), right.get(entry)) for entry in entries if stored.get(entry) != right.get(entry)]


def _find_wrong_schema(checked: CheckedRows) -> Iterator[Finding]:
    for kind, name, _, _ in _compare_schemas(checked.connection):
        yield Finding("schema", f"the {kind} {name!r} does not match the schema", kind in _RECREATED_KINDS)


def _repair_schema(checked: CheckedRows) -> None:
    """Create wrong or missing triggers and indexes again, and drop unknown ones. Tables are not changed."""
    wrong = _compare_schemas(checked.connection)
    for recreated in _RECREATED_KINDS:
        for name in (name for kind, name, stored, _ in wrong if kind == recreated and stored is not None):
            quoted = name.replace('"', '""')
            checked.connection.execute(f'DROP {recreated} "{quoted}"')
        for statement in (right for kind, _, _, right in wrong if kind == recreated and right is not None):
            checked.connection.execute(statement)


def _find_wrong_checksums(connection: Connection) -> list[tuple[bytes, str, bool]]:
    """Return (name as bytes, name as text, whether the setting or root is missing) of each wrong checksum."""
    rows = connection.execute(
        f"""SELECT CAST(c.name AS BLOB), n.name IS NULL FROM checksums AS c
        LEFT JOIN ({_COMPUTED}) AS n ON CAST(n.name AS BLOB) = CAST(c.name AS BLOB)
        WHERE n.checksum IS NOT c.checksum"""  # noqa: S608 - constants
    ).fetchall()
    return [(name, name.decode("utf-8", "backslashreplace"), bool(is_lost)) for name, is_lost in rows]


def _is_found_again(name: str, is_lost: bool) -> bool:
    """Return whether a repair may delete the wrong checksum ``name``. ``is_lost``: its setting or root is missing."""
    setting = name.removeprefix("settings/")
    # Settings in FOUND_AGAIN are set again later. A missing row needs no checksum, unless it is in KEPT.
    return setting in settings.FOUND_AGAIN or (is_lost and setting not in settings.KEPT)


def _find_wrong_notes(checked: CheckedRows) -> Iterator[Finding]:
    """Yield a finding for each setting or root that is lost or does not match its checksum."""
    for _, name, is_lost in _find_wrong_checksums(checked.connection):
        setting = name.removeprefix("settings/")
        is_repairable = _is_found_again(name, is_lost) or not name.startswith(("settings/", "roots/"))
        table = "checksums" if is_lost and setting not in settings.KEPT else name.partition("/")[0]
        yield Finding(
            table,
            f"{setting!r} is missing or does not match its checksum",
            is_repairable,
            "" if is_repairable else settings.HINTS.get(setting, ""),
        )


def _repair_notes(checked: CheckedRows) -> None:
    """Delete wrong checksums, and the settings that they belong to, if :func:`_is_found_again` allows it."""
    for stored, name, is_lost in _find_wrong_checksums(checked.connection):
        if _is_found_again(name, is_lost):
            if name.startswith("settings/"):
                setting = name.removeprefix("settings/")
                checked.connection.execute("DELETE FROM settings WHERE name = ?", (setting,))
            checked.connection.execute("DELETE FROM checksums WHERE CAST(name AS BLOB) = ?", (stored,))


def _load_all_models(checked: CheckedRows) -> tuple[()]:
    """Load each stored model. Raises DamagedFile if a model cannot be decoded."""
    for kind in get_args(settings.ModelKind):
        settings.load_model(checked.connection, kind)
    return ()


FILE = Rule("file", "{}", _find_sqlite_faults)
STRUCTURE = (
    Rule("schema", "{}", _find_wrong_schema, _repair_schema),
    Rule("settings", "{}", _find_wrong_notes, _repair_notes),
    Rule(
        "settings",
        f"{settings.GENERATION!r} is missing or not a number",
        f"""SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM settings
            WHERE name = '{settings.GENERATION}' AND value != '' AND value NOT GLOB '*[^0-9]*')""",  # noqa: S608
        # The new number is random, so that no earlier state had it.
        f"INSERT OR REPLACE INTO settings VALUES ('{settings.GENERATION}', abs(random() / 4))",  # noqa: S608
    ),
    Rule("failures", "{} records of failed files cannot be read", sources.UNREADABLE_FAILURE, DELETE),
    Rule(
        "roots",
        "{} roots whose time of sync or describer cannot be read",
        """typeof(synced) NOT IN ('real', 'integer') OR typeof(described) != 'text'
        OR NOT is_utf8(CAST(described AS BLOB))""",
        "SET synced = 0, described = ''",
    ),
    Rule("settings", "{}", _load_all_models),
    Rule("costs", "{} entries of the ledger cannot be read", _IS_INVALID_ENTRY, DELETE),
)
"""Rules whose remedies a repair applies before it opens the models."""
FORGETTING = Rule(
    "settings",
    "removed text that must be erased is still in the bytes of the file",
    lambda checked: settings.pending_erasures(checked.connection)[:1],
    DERIVE,
)
