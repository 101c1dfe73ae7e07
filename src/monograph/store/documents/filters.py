"""A parsed ``where`` as an SQL condition on chunks; keys and values are bound, never pasted."""

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
"""Each is looked up for each chunk. Values of one key that exclude each other, or that are all excluded, are one."""

_CHUNKS = "chunks AS c JOIN documents AS d USING (document)"
_COLUMNS = {"$document": "d.id", "$chunk": "c.id", "$uri": "d.uri", "$title": "d.title"}
_INDEXED = ("$document", "$chunk", "$uri")
MERGED = "COALESCE(c.merged, NULLIF(c.metadata, '{}'), d.metadata)"
"""The metadata of a document with those of its chunk laid over them: often they are the one's or the other's."""
"""What cannot be read is as if it were empty; a connection warns of it."""
_NUMBERS = "('integer', 'real', 'true', 'false')"
_EQUAL = "(m.type NOT IN ('array', 'object') AND m.value IS {value})"


@dataclass(frozen=True, slots=True)
class Allowed:
    """Which chunks may be found: an SQL condition on a chunk ``c`` and its document ``d``, and its parameters.

    ``indexed`` says that an index leads to those chunks: not all need be looked at to find them. ``condition`` is what
    was asked, where that is all. ``view`` names the view whose chunks these are: what is remembered of one is not true
    of another.
    """

    sql: str = ""
    parameters: tuple[str | int | float | None, ...] = ()
    indexed: bool = False
    condition: Condition | None = None
    view: str = ""

    def on(self, column: str) -> str:
        """The condition on a column that holds chunk row numbers, many of them: what is allowed is found once."""
        if self.is_whole_view:
            return f"{column} IN temp.view_chunks"
        return f"{column} IN (SELECT c.chunk FROM {_CHUNKS} WHERE {self.sql})" if self.sql else "TRUE"  # noqa: S608

    def on_each(self, column: str) -> str:
        """The same where SQLite is to hold what it found against it, and not to search what is allowed one by one."""
        if self.is_whole_view:
            return f"+{column} IN temp.view_chunks"
        if not self.sql:
            return "TRUE"
        if self.indexed:
            return f"+{self.on(column)}"
        return f"EXISTS (SELECT 1 FROM {_CHUNKS} WHERE c.chunk = {column} AND ({self.sql}))"  # noqa: S608

    @property
    def is_whole_view(self) -> bool:
        """Whether all chunks of a view are allowed."""
        return bool(self.view) and not self.sql

    def within(self, view: str) -> Allowed:
        """Of what is allowed, what is in a view; its tables stand before the file's, and so are the condition's."""
        if not view:
            return self
        return Allowed(self.sql, self.parameters, self.indexed or not self.sql, view=view)


EVERYTHING = Allowed()


def compile_condition(condition: Condition | None) -> Allowed:
    """A condition (see :mod:`monograph.where`) as SQL.

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
    """Of what is allowed, the chunks of some documents, by their row numbers."""
    sql = f"({allowed.sql or 'TRUE'}) AND d.document IN (SELECT value FROM json_each(?))"  # noqa: S608
    return Allowed(sql, (*allowed.parameters, json.dumps(list(documents))), indexed=True)


def rows(connection: Connection, allowed: Allowed) -> npt.NDArray[np.int64]:
    """Row numbers of all chunks that are allowed, ascending."""
    query = f"SELECT chunk FROM chunks WHERE {allowed.on('chunk')} ORDER BY chunk"  # noqa: S608
    if allowed.is_whole_view:
        query = "SELECT chunk FROM temp.view_chunks ORDER BY chunk"
    found = connection.execute(query, allowed.parameters).fetchall()
    return np.fromiter((row for (row,) in found), dtype=np.int64, count=len(found))


def among(connection: Connection, allowed: Allowed, chunks: Sequence[int]) -> set[int]:
    """Those of some chunks that are allowed."""
    found = connection.execute(
        f"SELECT value FROM json_each(?) WHERE {allowed.on_each('value')}",  # noqa: S608
        (json.dumps(list(chunks)), *allowed.parameters),
    )
    return {int(row) for (row,) in found}


def values_of(connection: Connection, key: str) -> Iterator[tuple[int, str, str | int | float | None]]:
    """(chunk, type, value) of every chunk that has a key, as ``json_each`` tells them."""
    yield from connection.execute(
        f"SELECT c.chunk, m.type, m.value FROM {_CHUNKS} CROSS JOIN json_each({MERGED}) AS m WHERE m.key = ?",  # noqa: S608
        (key,),
    )


def has_key(connection: Connection, key: str) -> bool:
    """Whether any chunk, or its document, has a key among its metadata."""
    return next(values_of(connection, key), None) is not None


def keys(connection: Connection) -> list[str]:
    """Every key of the metadata of chunks and their documents, in order."""
    found = connection.execute(
        f"SELECT DISTINCT m.key FROM {_CHUNKS} CROSS JOIN json_each({MERGED}) AS m ORDER BY m.key"  # noqa: S608
    )
    return [key for (key,) in found]


def dates_of(connection: Connection) -> Iterator[tuple[int, int, int]]:
    """(chunk, first, last second that it may be from) of every chunk whose document is dated."""
    yield from connection.execute(
        f"SELECT c.chunk, d.dated, d.dated_until FROM {_CHUNKS} WHERE d.dated IS NOT NULL"  # noqa: S608
    )


def barred(allowed: Allowed) -> str:
    """A query for the summaries over at least one chunk that is not allowed."""
    return f"""WITH RECURSIVE barred(node) AS (
        SELECT parent FROM nodes WHERE layer = 0 AND parent IS NOT NULL AND NOT ({allowed.on("chunk")})
        UNION SELECT n.parent FROM barred AS b CROSS JOIN nodes AS n WHERE n.node = b.node AND n.parent IS NOT NULL)
    SELECT node FROM barred"""  # noqa: S608 - compiled conditions


def _joined(condition: Condition) -> Condition:
    """A condition whose comparisons of one key with one value each are one with a list, wherever they mean that."""
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
    """Whether an index leads to what fulfils a condition."""
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
    # What comes first waits for nothing while SQLite reads it: the parts that go deep do.
    parts = [_condition(part) for part in sorted(condition.parts, key=_depth, reverse=True)]
    if parts:
        joined = _in_groups([sql for sql, _ in parts], " AND " if condition.combiner == "and" else " OR ")
    else:
        joined = "TRUE" if condition.combiner == "and" else "FALSE"
    parameters: _Bound = [parameter for _, bound in parts for parameter in bound]
    # NOT would wait before each of its brackets, and SQLite has room for a hundred that wait.
    return (f"{joined} = 0" if condition.combiner == "not" else joined), parameters


def _depth(condition: Condition) -> int:
    return 0 if isinstance(condition, Comparison) else 1 + max(map(_depth, condition.parts), default=0)


def _in_groups(parts: Sequence[str], word: str) -> str:
    """Conditions joined, the first with groups of the others: in a row each would lie within the next, too deep."""
    size = max(1, isqrt(len(parts)))
    groups = [word.join(parts[first : first + size]) for first in range(1, len(parts), size)]
    return f"({word.join((parts[0], *(f'({one})' if size > 1 else one for one in groups)))})"


def _comparison(comparison: Comparison) -> tuple[str, _Bound]:
    """Hold one key against a value: SQL over ``m(value, type)``, the one row that the key has, or none."""
    key, operator, value = comparison.key, comparison.operator, comparison.value
    if key == DATE:
        return _dated(operator), [] if value is None else [_scalar(value)]
    if operator in ("!=", "nin"):
        sql, parameters = _comparison(Comparison(key, "==" if operator == "!=" else "in", value))
        return f"NOT ({sql})", parameters
    column = _COLUMNS.get(key)
    bound: _Bound = [] if column is not None else [key]
    if column is not None:
        row = f"(SELECT {column} AS value, 'text' AS type)"
    else:
        row = f"(SELECT value, type FROM json_each({MERGED}) WHERE key = ?)"  # noqa: S608 - a constant
    if operator == "is_empty" or (operator == "==" and value is None):
        nothing = "m.type = 'null'"
        if operator == "is_empty":
            nothing += " OR (m.type = 'text' AND m.value = '') OR (m.type = 'array' AND m.value = '[]')"
        return f"NOT EXISTS (SELECT 1 FROM {row} AS m WHERE NOT ({nothing}))", bound  # noqa: S608
    if column is not None and operator in ("==", "in"):
        # An index can serve this, and an EXISTS cannot. A column is a text, and equal to nothing else.
        texts = [one for one in (value if isinstance(value, tuple) else (value,)) if isinstance(one, str)]
        return f"{column} IN (SELECT value FROM json_each(?))", [json.dumps(texts)]  # noqa: S608
    test, parameters = _test(comparison)
    return f"EXISTS (SELECT 1 FROM {row} AS m WHERE {test})", [*bound, *parameters]  # noqa: S608


def _dated(operator: str) -> str:
    """SQL that holds when a document is from against a second; the last that it may be where that is to come after."""
    if operator == "is_empty":
        return "d.dated IS NULL"
    return f"({'d.dated_until' if operator in ('>', '>=') else 'd.dated'} {operator} ?) IS TRUE"


def _test(comparison: Comparison) -> tuple[str, _Bound]:
    operator, value = comparison.operator, comparison.value
    if isinstance(value, tuple):
        listed = json.dumps(value)
        if operator == "in":
            # SQLite looks the list up, made once, and does not go through it for every chunk.
            return "m.type NOT IN ('null', 'array', 'object') AND m.value IN (SELECT value FROM json_each(?))", [listed]
        one = f"(m.type = 'text' AND v.type = 'text' AND instr(m.value, v.value) > 0) OR ({_member('v.value')})"
        if operator == "any":
            return f"EXISTS (SELECT 1 FROM json_each(?) AS v WHERE {one})", [listed]  # noqa: S608
        return (
            f"m.type IN ('text', 'array') AND NOT EXISTS (SELECT 1 FROM json_each(?) AS v WHERE NOT ({one}))",  # noqa: S608
            [listed],
        )
    if operator == "==":
        return _EQUAL.format(value="?"), [_scalar(value)]
    if operator in (">", ">=", "<", "<="):
        types = "('text')" if isinstance(value, str) else _NUMBERS
        return f"m.type IN {types} AND m.value {operator} ?", [_scalar(value)]
    if operator == "text_match_insensitive":
        return "m.type = 'text' AND instr(casefold(CAST(m.value AS BLOB)), casefold(CAST(? AS BLOB))) > 0", [
            _scalar(value)
        ]
    within = "m.type = 'text' AND typeof(?1) = 'text' AND instr(m.value, ?1) > 0"
    if operator == "contains":
        within = f"({within}) OR ({_member('?1')})"
    return within.replace("?1", "?"), [_scalar(value)] * within.count("?1")


def _member(value: str) -> str:
    """Whether a scalar is an item of the array ``m.value``."""
    items = "json_each(CASE m.type WHEN 'array' THEN m.value ELSE '[]' END)"
    return (
        f"m.type = 'array' AND EXISTS (SELECT 1 FROM {items} AS e "  # noqa: S608
        f"WHERE e.type NOT IN ('array', 'object') AND e.value IS {value})"
    )


def _scalar(value: object) -> str | int | float | None:
    return int(value) if isinstance(value, bool) else value  # type: ignore[return-value]
