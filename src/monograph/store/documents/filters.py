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
from monograph.store.file.rows import column
from monograph.where import DATE, Combination, Comparison, Condition, Operator, Scalar

MOST_COMPARISONS = 1_000
"""Maximum number of comparisons in a filter, because each comparison is tested for each chunk. A comparison with a
list counts as one (see :func:`_join_comparisons`)."""

_CHUNKS = "chunks AS c JOIN documents AS d USING (document)"
_COLUMNS = {"$document": "d.id", "$chunk": "c.id", "$uri": "d.uri", "$title": "d.title"}
_INDEXED = ("$document", "$chunk", "$uri")
MERGED = "COALESCE(c.merged, NULLIF(c.metadata, '{}'), d.metadata)"
"""SQL of the merged metadata of a chunk: the document's metadata, updated with the chunk's metadata. The column
``chunks.merged`` is NULL if the merged metadata equal the document's or the chunk's."""


@dataclass(frozen=True, slots=True)
class CompiledFilter:
    """Compiled filter: an SQL condition on a chunk ``c`` and its document ``d``, and the parameters of the condition.

    An empty ``sql`` allows all chunks. ``indexed``: whether SQLite finds the allowed chunks by an index, without
    testing all chunks.

    ``condition``: the condition that was compiled. It is None for a filter that allows everything, for a filter in a
    view, and for a filter that :func:`within` limits to some documents.

    ``view``: the name of the view in which the filter is used; empty for the whole file. The name makes equal filters
    of two views unequal, so results that are cached for one view are not used in the other.
    """

    sql: str = ""
    parameters: tuple[str | int | float | None, ...] = ()
    indexed: bool = False
    condition: Condition | None = None
    view: str = ""

    def on(self, column: str) -> str:
        """Return the SQL condition that a column holds the row number of an allowed chunk.

        To evaluate the condition, SQLite reads all allowed chunks once.
        """
        if self.is_whole_view:
            return f"{column} IN temp.view_chunks"
        return f"{column} IN (SELECT c.chunk FROM {_CHUNKS} WHERE {self.sql})" if self.sql else "TRUE"

    def on_each(self, column: str) -> str:
        """Return the condition of :meth:`on` in a form that SQLite tests for each row separately.

        SQLite then reads all allowed chunks only if an index finds them.
        """
        if self.is_whole_view:
            return f"+{column} IN temp.view_chunks"
        if not self.sql:
            return "TRUE"
        if self.indexed:
            return f"+{self.on(column)}"
        return f"EXISTS (SELECT 1 FROM {_CHUNKS} WHERE c.chunk = {column} AND ({self.sql}))"

    @property
    def is_whole_view(self) -> bool:
        """Whether the filter allows all chunks of a view."""
        return bool(self.view) and not self.sql

    def within(self, view: str) -> CompiledFilter:
        """Return this filter for use in a view; with an empty ``view``, return it unchanged.

        The SQL stays the same, because the tables of a view shadow those of the file.
        """
        if not view:
            return self
        return CompiledFilter(self.sql, self.parameters, self.indexed or not self.sql, view=view)


EVERYTHING = CompiledFilter()


def compile_condition(condition: Condition | None) -> CompiledFilter:
    """Compile a condition (see :mod:`monograph.where`) to a filter. None compiles to a filter that allows everything.

    Raises InvalidFilter if the condition has more than ``MOST_COMPARISONS`` comparisons.
    """
    if condition is None:
        return EVERYTHING
    condition = _join_comparisons(condition)
    count = _count_comparisons(condition)
    if count > MOST_COMPARISONS:
        raise InvalidFilter(
            f"the filter has {count:,} comparisons, more than {MOST_COMPARISONS:,}",
            'write alternatives of one key as a list: {"key": {"in": [...]}}',
        )
    sql, parameters = _compile(condition)
    return CompiledFilter(sql, tuple(parameters), _is_indexed(condition), condition)


def within(allowed: CompiledFilter, documents: Sequence[int]) -> CompiledFilter:
    """Return a filter for the chunks that are in the given documents and that ``allowed`` allows.

    ``documents`` are row numbers.
    """
    sql = f"({allowed.sql or 'TRUE'}) AND d.document IN (SELECT value FROM json_each(?))"
    return CompiledFilter(sql, (*allowed.parameters, json.dumps(list(documents))), indexed=True)


def rows(connection: Connection, allowed: CompiledFilter) -> npt.NDArray[np.int64]:
    """Return the rows of all allowed chunks, ascending: int64 (n,)."""
    query = f"SELECT chunk FROM chunks WHERE {allowed.on('chunk')} ORDER BY chunk"
    if allowed.is_whole_view:
        query = "SELECT chunk FROM temp.view_chunks ORDER BY chunk"
    return np.array(column(connection, query, *allowed.parameters), dtype=np.int64)


def among(connection: Connection, allowed: CompiledFilter, chunks: Sequence[int]) -> set[int]:
    """Return the rows of the given chunks that the filter allows."""
    query = f"SELECT value FROM json_each(?) WHERE {allowed.on_each('value')}"
    return set(column(connection, query, json.dumps(list(chunks)), *allowed.parameters))


def values_of(connection: Connection, key: str) -> Iterator[tuple[int, str, str | int | float | None]]:
    """Yield (chunk row, type, value) of each chunk that has a metadata key.

    The type and the value are those that SQLite's ``json_each`` returns.
    """
    query = f"SELECT c.chunk, m.type, m.value FROM {_CHUNKS} CROSS JOIN json_each({MERGED}) AS m WHERE m.key = ?"
    yield from connection.execute(query, (key,))


def keys(connection: Connection) -> list[str]:
    """Return all keys of the merged metadata of chunks, sorted."""
    return column(
        connection, f"SELECT DISTINCT m.key FROM {_CHUNKS} CROSS JOIN json_each({MERGED}) AS m ORDER BY m.key"
    )


def dates_of(connection: Connection) -> Iterator[tuple[int, int, int]]:
    """Yield (chunk row, first second, last second) of the date of the chunk's document.

    Chunks whose document has no date are left out.
    """
    yield from connection.execute(f"SELECT c.chunk, d.dated, d.dated_until FROM {_CHUNKS} WHERE d.dated IS NOT NULL")


def disallowed_summaries(allowed: CompiledFilter) -> str:
    """Return the SQL query for the rows of summaries made from a disallowed chunk, directly or through other summaries.

    The query needs the parameters of the filter.
    """
    return f"""WITH RECURSIVE disallowed(node) AS (
        SELECT parent FROM nodes WHERE layer = 0 AND parent IS NOT NULL AND NOT ({allowed.on("chunk")})
        UNION SELECT n.parent FROM disallowed AS b CROSS JOIN nodes AS n WHERE n.node = b.node AND n.parent IS NOT NULL)
    SELECT node FROM disallowed"""


def _join_comparisons(condition: Condition) -> Condition:
    """Return an equivalent condition in which comparisons of one key are joined to one with a list."""
    if isinstance(condition, Comparison):
        return condition
    # Within "or" and "not", == and in become one in. Within "and", != and nin become one nin.
    list_operator: Operator = "nin" if condition.combiner == "and" else "in"
    single_operator = "!=" if condition.combiner == "and" else "=="
    values_by_key: dict[str, list[Scalar]] = defaultdict(list)
    parts: list[Condition] = []
    for part in map(_join_comparisons, condition.parts):
        value = (
            part.value if isinstance(part, Comparison) and part.operator in (single_operator, list_operator) else None
        )
        if not isinstance(part, Comparison) or value is None:
            parts.append(part)
        elif isinstance(value, tuple):
            values_by_key[part.key].extend(value)
        else:
            values_by_key[part.key].append(value)
    lists = (Comparison(key, list_operator, tuple(values)) for key, values in values_by_key.items())
    return Combination(condition.combiner, (*parts, *lists))


def _is_indexed(condition: Condition) -> bool:
    """Return whether an index of SQLite finds the chunks that match a condition, so that not all chunks are tested."""
    if isinstance(condition, Comparison):
        return condition.key in _INDEXED and condition.operator in ("==", "in") and condition.value is not None
    parts = [_is_indexed(part) for part in condition.parts]
    return any(parts) if condition.combiner == "and" else condition.combiner == "or" and bool(parts) and all(parts)


def _count_comparisons(condition: Condition) -> int:
    return 1 if isinstance(condition, Comparison) else sum(map(_count_comparisons, condition.parts))


_Bound = list[str | int | float | None]


def _compile(condition: Condition) -> tuple[str, _Bound]:
    if isinstance(condition, Comparison):
        return _compile_comparison(condition)
    # SQLite's parser can hold a hundred open terms. None is open before the first part, so the deepest part is first.
    parts = [_compile(part) for part in sorted(condition.parts, key=_depth, reverse=True)]
    joined = "TRUE" if condition.combiner == "and" else "FALSE"
    if parts:
        # A plain chain would nest each part within the next, too deeply: so all but the first are joined in groups.
        word, terms = " AND " if condition.combiner == "and" else " OR ", [sql for sql, _ in parts]
        size = max(1, isqrt(len(terms)))
        groups = [word.join(terms[first : first + size]) for first in range(1, len(terms), size)]
        joined = f"({word.join((terms[0], *(f'({group})' if size > 1 else group for group in groups)))})"
    parameters: _Bound = [parameter for _, bound in parts for parameter in bound]
    # NOT would leave an open term before each of its brackets, so the condition is compared with 0.
    return (f"{joined} = 0" if condition.combiner == "not" else joined), parameters


def _depth(condition: Condition) -> int:
    return 0 if isinstance(condition, Comparison) else 1 + max(map(_depth, condition.parts), default=0)


def _compile_comparison(comparison: Comparison) -> tuple[str, _Bound]:
    """Return (SQL, parameters) of a comparison."""
    key, operator, value = comparison.key, comparison.operator, comparison.value
    parameter = json.dumps(value) if isinstance(value, tuple) else value
    if key == DATE:
        if operator == "is_empty":
            return "d.dated IS NULL", []
        # A date is a span: for > its last second is compared, for < its first.
        second = "d.dated_until" if operator in (">", ">=") else "d.dated"
        return f"({second} {operator} ?) IS TRUE", [] if value is None else [parameter]
    if operator in ("!=", "nin"):
        sql, parameters = _compile_comparison(Comparison(key, "==" if operator == "!=" else "in", value))
        return f"NOT ({sql})", parameters
    own_column = _COLUMNS.get(key)
    if own_column and operator in ("==", "in") and value is not None:
        # An index can be used for IN, but not for EXISTS. The columns are texts, and equal only to texts.
        texts = [text for text in (value if isinstance(value, tuple) else (value,)) if isinstance(text, str)]
        return f"{own_column} IN (SELECT value FROM json_each(?))", [json.dumps(texts)]
    bound: _Bound = [] if own_column else [key]
    # The row m (value, type) is the chunk's value of the key. Without the key, there is no row.
    row = f"SELECT value, type FROM json_each({MERGED}) WHERE key = ?"
    if own_column:
        row = f"SELECT {own_column} AS value, 'text' AS type"
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
    # SQLite builds the list once, and looks each value up in it.
    "in": "m.type NOT IN ('null', 'array', 'object') AND m.value IN (SELECT value FROM json_each(?))",
    "any": f"EXISTS (SELECT 1 FROM json_each(?) AS v WHERE {_HAS})",
    "all": f"m.type IN ('text', 'array') AND NOT EXISTS (SELECT 1 FROM json_each(?) AS v WHERE NOT ({_HAS}))",
    "contains": f"EXISTS (SELECT 1 FROM (SELECT ? AS value) AS v WHERE {_HAS})",
    "text_match": f"EXISTS (SELECT 1 FROM (SELECT ? AS value) AS v WHERE {_WITHIN})",
    "text_match_insensitive":
        "m.type = 'text' AND instr(casefold(CAST(m.value AS BLOB)), casefold(CAST(? AS BLOB))) > 0",
}  # fmt: skip
"""SQL tests by operator. ``m`` is the chunk's value, ``?`` the parameter, ``v`` a value of a list parameter."""
