"""Filters compiled to SQL conditions on chunks; keys and values are bound parameters."""

# ruff: noqa: S608 - keys and values are bound parameters

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isqrt

import numpy as np
import numpy.typing as npt

from monograph.errors import InvalidFilter
from monograph.store.file.database import Connection
from monograph.where import DATE, Combination, Comparison, Condition, Operator, Scalar

MOST_COMPARISONS = 1_000
"""Each is tested for each chunk. Alternatives of one key, and exclusions of one key, count as one."""

_CHUNKS = "chunks AS c JOIN documents AS d USING (document)"
_COLUMNS = {"$document": "d.id", "$chunk": "c.id", "$uri": "d.uri", "$title": "d.title"}
_INDEXED = ("$document", "$chunk", "$uri")
MERGED = "COALESCE(c.merged, NULLIF(c.metadata, '{}'), d.metadata)"
"""The metadata of a document with those of its chunk laid over them, which are often those of one of them."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """A filter: an SQL condition on a chunk ``c`` and its document ``d``, and its parameters.

    ``indexed`` if an index leads to these chunks, so that they are found without testing all. ``condition`` is the
    condition that was compiled, if there is no other. ``view`` is the name of the view whose chunks these are: results
    that are kept for one view do not hold for another.
    """

    sql: str = ""
    parameters: tuple[str | int | float | None, ...] = ()
    indexed: bool = False
    condition: Condition | None = None
    view: str = ""

    def on(self, column: str) -> str:
        """Return the condition on a column of chunk rows; SQLite reads all allowed chunks once."""
        if self.is_whole_view:
            return f"{column} IN temp.view_chunks"
        return f"{column} IN (SELECT c.chunk FROM {_CHUNKS} WHERE {self.sql})" if self.sql else "TRUE"

    def on_each(self, column: str) -> str:
        """Return the condition on a column of chunk rows; SQLite tests each row that it has found."""
        if self.is_whole_view:
            return f"+{column} IN temp.view_chunks"
        if not self.sql:
            return "TRUE"
        if self.indexed:
            return f"+{self.on(column)}"
        return f"EXISTS (SELECT 1 FROM {_CHUNKS} WHERE c.chunk = {column} AND ({self.sql}))"

    @property
    def is_whole_view(self) -> bool:
        """Whether all chunks of a view are allowed."""
        return bool(self.view) and not self.sql

    def within(self, view: str) -> Allowed:
        """Return this filter within a view, whose tables shadow the file's in the condition, too."""
        if not view:
            return self
        return Allowed(self.sql, self.parameters, self.indexed or not self.sql, view=view)


EVERYTHING = Allowed()


def compile_condition(condition: Condition | None) -> Allowed:
    """Return the filter of a condition (see :mod:`monograph.where`).

    Raises
    ------
    InvalidFilter
        If it has too many comparisons.
    """
    if condition is None:
        return EVERYTHING
    condition = _joined(condition)
    count = _count(condition)
    if count > MOST_COMPARISONS:
        raise InvalidFilter(
            f"the filter has {count:,} comparisons, more than {MOST_COMPARISONS:,}",
            'write alternatives of one key as a list: {"key": {"in": [...]}}',
        )
    sql, parameters = _condition(condition)
    return Allowed(sql, tuple(parameters), _is_indexed(condition), condition)


def within(allowed: Allowed, documents: Sequence[int]) -> Allowed:
    """Return a filter of the chunks that another allows of some documents, given by row."""
    sql = f"({allowed.sql or 'TRUE'}) AND d.document IN (SELECT value FROM json_each(?))"
    return Allowed(sql, (*allowed.parameters, json.dumps(list(documents))), indexed=True)


def rows(connection: Connection, allowed: Allowed) -> npt.NDArray[np.int64]:
    """Return the rows of all allowed chunks, ascending."""
    query = f"SELECT chunk FROM chunks WHERE {allowed.on('chunk')} ORDER BY chunk"
    if allowed.is_whole_view:
        query = "SELECT chunk FROM temp.view_chunks ORDER BY chunk"
    found = connection.execute(query, allowed.parameters).fetchall()
    return np.fromiter((row for (row,) in found), dtype=np.int64, count=len(found))


def among(connection: Connection, allowed: Allowed, chunks: Sequence[int]) -> set[int]:
    """Return those of some chunks that are allowed."""
    found = connection.execute(
        f"SELECT value FROM json_each(?) WHERE {allowed.on_each('value')}",
        (json.dumps(list(chunks)), *allowed.parameters),
    ).fetchall()
    return {int(row) for (row,) in found}


def values_of(connection: Connection, key: str) -> Iterator[tuple[int, str, str | int | float | None]]:
    """Yield (chunk, type, value) of every chunk that has a key, as ``json_each`` returns them."""
    yield from connection.execute(
        f"SELECT c.chunk, m.type, m.value FROM {_CHUNKS} CROSS JOIN json_each({MERGED}) AS m WHERE m.key = ?",
        (key,),
    )


def keys(connection: Connection) -> list[str]:
    """Return all keys of the metadata of chunks and their documents, in order."""
    found = connection.execute(
        f"SELECT DISTINCT m.key FROM {_CHUNKS} CROSS JOIN json_each({MERGED}) AS m ORDER BY m.key"
    ).fetchall()
    return [key for (key,) in found]


def dates_of(connection: Connection) -> Iterator[tuple[int, int, int]]:
    """Yield (chunk, first, last second of its date) of every chunk whose document has a date."""
    yield from connection.execute(f"SELECT c.chunk, d.dated, d.dated_until FROM {_CHUNKS} WHERE d.dated IS NOT NULL")


def barred(allowed: Allowed) -> str:
    """Return a query for the summaries over at least one chunk that is not allowed."""
    return f"""WITH RECURSIVE barred(node) AS (
        SELECT parent FROM nodes WHERE layer = 0 AND parent IS NOT NULL AND NOT ({allowed.on("chunk")})
        UNION SELECT n.parent FROM barred AS b CROSS JOIN nodes AS n WHERE n.node = b.node AND n.parent IS NOT NULL)
    SELECT node FROM barred"""


def _joined(condition: Condition) -> Condition:
    """Return a condition in which alternatives of one key, and exclusions of one key, are one comparison."""
    if isinstance(condition, Comparison):
        return condition
    several: Operator = "nin" if condition.combiner == "and" else "in"
    one = "!=" if condition.combiner == "and" else "=="
    listed: dict[str, list[Scalar]] = defaultdict(list)
    parts: list[Condition] = []
    for part in map(_joined, condition.parts):
        value = part.value if isinstance(part, Comparison) and part.operator in (one, several) else None
        if not isinstance(part, Comparison) or value is None:
            parts.append(part)
        elif isinstance(value, tuple):
            listed[part.key].extend(value)
        else:
            listed[part.key].append(value)
    lists = (Comparison(key, several, tuple(values)) for key, values in listed.items())
    return Combination(condition.combiner, (*parts, *lists))


def _is_indexed(condition: Condition) -> bool:
    """Return whether an index leads to the chunks that fulfil a condition."""
    if isinstance(condition, Comparison):
        return condition.key in _INDEXED and condition.operator in ("==", "in") and condition.value is not None
    parts = [_is_indexed(part) for part in condition.parts]
    return any(parts) if condition.combiner == "and" else condition.combiner == "or" and bool(parts) and all(parts)


def _count(condition: Condition) -> int:
    return 1 if isinstance(condition, Comparison) else sum(map(_count, condition.parts))


_Bound = list[str | int | float | None]


def _condition(condition: Condition) -> tuple[str, _Bound]:
    if isinstance(condition, Comparison):
        return _comparison(condition)
    # SQLite's parser has room for a hundred open terms: nothing is open before the first part, so the deepest is first.
    parts = [_condition(part) for part in sorted(condition.parts, key=_depth, reverse=True)]
    joined = "TRUE" if condition.combiner == "and" else "FALSE"
    if parts:
        # In a row each condition would lie within the next, too deep: so all but the first are joined in groups.
        word, every = " AND " if condition.combiner == "and" else " OR ", [sql for sql, _ in parts]
        size = max(1, isqrt(len(every)))
        groups = [word.join(every[first : first + size]) for first in range(1, len(every), size)]
        joined = f"({word.join((every[0], *(f'({one})' if size > 1 else one for one in groups)))})"
    parameters: _Bound = [parameter for _, bound in parts for parameter in bound]
    # NOT would leave a term open before each of its brackets.
    return (f"{joined} = 0" if condition.combiner == "not" else joined), parameters


def _depth(condition: Condition) -> int:
    return 0 if isinstance(condition, Comparison) else 1 + max(map(_depth, condition.parts), default=0)


def _comparison(comparison: Comparison) -> tuple[str, _Bound]:
    """Return the SQL that compares one key with a value, over ``m(value, type)``: the row of the key, or none."""
    key, operator, value = comparison.key, comparison.operator, comparison.value
    parameter = json.dumps(value) if isinstance(value, tuple) else value
    if key == DATE:
        if operator == "is_empty":
            return "d.dated IS NULL", []
        # A date is a span: its last second has to be after the value, its first one before it.
        second = "d.dated_until" if operator in (">", ">=") else "d.dated"
        return f"({second} {operator} ?) IS TRUE", [] if value is None else [parameter]
    if operator in ("!=", "nin"):
        sql, parameters = _comparison(Comparison(key, "==" if operator == "!=" else "in", value))
        return f"NOT ({sql})", parameters
    column = _COLUMNS.get(key)
    if column is not None and operator in ("==", "in") and value is not None:
        # An index can serve this, and no EXISTS. A column is a text, and equal to nothing else.
        texts = [one for one in (value if isinstance(value, tuple) else (value,)) if isinstance(one, str)]
        return f"{column} IN (SELECT value FROM json_each(?))", [json.dumps(texts)]
    bound: _Bound = [] if column is not None else [key]
    row = f"SELECT value, type FROM json_each({MERGED}) WHERE key = ?"
    if column is not None:
        row = f"SELECT {column} AS value, 'text' AS type"
    if operator == "is_empty" or (operator == "==" and value is None):
        nothing = "m.type = 'null'"
        if operator == "is_empty":
            nothing += " OR (m.type = 'text' AND m.value = '') OR (m.type = 'array' AND m.value = '[]')"
        return f"NOT EXISTS (SELECT 1 FROM ({row}) AS m WHERE NOT ({nothing}))", bound
    test = _TESTS.get(operator)
    if test is None:
        test = f"m.type IN {_TEXTS if isinstance(value, str) else _NUMBERS} AND m.value {operator} ?"
    return f"EXISTS (SELECT 1 FROM ({row}) AS m WHERE {test})", [*bound, parameter]


_TEXTS, _NUMBERS = "('text')", "('integer', 'real', 'true', 'false')"
_WITHIN = "m.type = 'text' AND typeof(v.value) = 'text' AND instr(m.value, v.value) > 0"
_HAS = f"""({_WITHIN}) OR (m.type = 'array' AND EXISTS (
    SELECT 1 FROM json_each(CASE m.type WHEN 'array' THEN m.value ELSE '[]' END) AS e
    WHERE e.type NOT IN ('array', 'object') AND e.value IS v.value))"""
_TESTS: dict[Operator, str] = {
    "==": "m.type NOT IN ('array', 'object') AND m.value IS ?",
    # SQLite makes the list once, and looks each value up in it.
    "in": "m.type NOT IN ('null', 'array', 'object') AND m.value IN (SELECT value FROM json_each(?))",
    "any": f"EXISTS (SELECT 1 FROM json_each(?) AS v WHERE {_HAS})",
    "all": f"m.type IN ('text', 'array') AND NOT EXISTS (SELECT 1 FROM json_each(?) AS v WHERE NOT ({_HAS}))",
    "contains": f"EXISTS (SELECT 1 FROM (SELECT ? AS value) AS v WHERE {_HAS})",
    "text_match": f"EXISTS (SELECT 1 FROM (SELECT ? AS value) AS v WHERE {_WITHIN})",
    "text_match_insensitive":
        "m.type = 'text' AND instr(casefold(CAST(m.value AS BLOB)), casefold(CAST(? AS BLOB))) > 0",
}  # fmt: skip
"""Tests of the row ``m`` of a key against one parameter ``?``; the value ``v`` is one of those given."""
