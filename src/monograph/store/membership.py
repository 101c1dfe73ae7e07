"""Which documents are in a view: those of which every chunk meets its filter."""

from __future__ import annotations

import json
from collections.abc import Iterable

from monograph.store.database import Connection
from monograph.store.filters import Allowed


def whole(allowed: Allowed) -> str:
    """The SQL condition that a document ``d`` of the file is in the view of a filter; its parameters are the filter's.

    A document without chunks is in it where its own metadata meet the filter.
    """
    # What neither holds nor fails to hold does not hold.
    return f"""NOT EXISTS (SELECT 1 FROM (SELECT 1) LEFT JOIN main.chunks AS c ON c.document = d.document
        WHERE ({allowed.sql}) IS NOT TRUE)"""  # noqa: S608 - compiled conditions


def every(connection: Connection, allowed: Allowed) -> list[int]:
    """Row numbers of all documents that are in a view, ascending."""
    query = f"SELECT d.document FROM main.documents AS d WHERE {whole(allowed)} ORDER BY d.document"  # noqa: S608
    return [int(row) for (row,) in connection.execute(query, allowed.parameters)]


def among(connection: Connection, allowed: Allowed, rows: Iterable[int]) -> set[int]:
    """Those of some documents, by row number, that are in a view."""
    query = f"""SELECT d.document FROM json_each(?) AS w CROSS JOIN main.documents AS d
        WHERE d.document = w.value AND {whole(allowed)}"""  # noqa: S608
    return {int(row) for (row,) in connection.execute(query, (json.dumps(list(rows)), *allowed.parameters))}


def outside(connection: Connection, allowed: Allowed, ids: Iterable[str]) -> list[str]:
    """Those of some ids that are of documents which are there, and not in a view."""
    query = f"""SELECT d.id FROM json_each(?) AS w CROSS JOIN main.documents AS d
        WHERE d.id = w.value AND NOT ({whole(allowed)})"""  # noqa: S608
    return [str(name) for (name,) in connection.execute(query, (_listed(ids), *allowed.parameters))]


def chunks_outside(connection: Connection, allowed: Allowed, ids: Iterable[str]) -> list[str]:
    """Those of some ids that are of chunks which are there, and not in a view."""
    query = f"""SELECT own.id FROM json_each(?) AS w CROSS JOIN main.chunks AS own CROSS JOIN main.documents AS d
        WHERE own.id = w.value AND d.document = own.document AND NOT ({whole(allowed)})"""  # noqa: S608
    return [str(name) for (name,) in connection.execute(query, (_listed(ids), *allowed.parameters))]


def chunks_of(allowed: Allowed, narrowed: Allowed) -> Allowed:
    """Which chunks of the file are in a view, and let through by another filter."""
    sql = f"({whole(allowed)}) AND ({narrowed.sql or 'TRUE'})"
    return Allowed(sql, (*allowed.parameters, *narrowed.parameters))


def _listed(ids: Iterable[str]) -> str:
    return json.dumps(list(ids), ensure_ascii=False)
