"""A parsed ``where`` as an SQL condition on chunks; keys and values are bound, never pasted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from monograph.store.database import Connection
from monograph.where import Combination, Comparison, Condition

_COLUMNS = {"$document": "d.id", "$chunk": "c.id", "$uri": "d.uri", "$title": "d.title"}
_NUMBERS = "('integer', 'real', 'true', 'false')"
_EQUAL = "(m.type NOT IN ('array', 'object') AND m.value IS {value})"


@dataclass(frozen=True, slots=True)
class Allowed:
    """Which chunks may be found: an SQL condition with ``{chunk}`` for the row number's column, and its parameters."""

    sql: str = "TRUE"
    parameters: tuple[str | int | float | None, ...] = ()

    def on(self, column: str) -> str:
        """The condition on a column that holds chunk row numbers."""
        return self.sql.replace("{chunk}", column)


EVERYTHING = Allowed()


def compile_condition(condition: Condition | None) -> Allowed:
    """A condition (see :mod:`monograph.where`) as SQL."""
    if condition is None:
        return EVERYTHING
    sql, parameters = _condition(condition)
    return Allowed(
        f"{{chunk}} IN (SELECT c.chunk FROM chunks AS c JOIN documents AS d USING (document) WHERE {sql})",  # noqa: S608
        tuple(parameters),
    )


def within(allowed: Allowed, documents: Sequence[int]) -> Allowed:
    """Of what is allowed, the chunks of some documents, by their row numbers."""
    sql = f"({allowed.sql}) AND {{chunk}} IN (SELECT chunk FROM chunks JOIN json_each(?) AS w ON document = w.value)"  # noqa: S608
    return Allowed(sql, (*allowed.parameters, json.dumps(list(documents))))


def rows(connection: Connection, allowed: Allowed) -> npt.NDArray[np.int64]:
    """Row numbers of all chunks that are allowed, ascending."""
    found = connection.execute(
        f"SELECT chunk FROM chunks WHERE {allowed.on('chunk')} ORDER BY chunk",  # noqa: S608
        allowed.parameters,
    ).fetchall()
    return np.fromiter((row for (row,) in found), dtype=np.int64, count=len(found))


def barred(allowed: Allowed) -> str:
    """A query for the summaries over at least one chunk that is not allowed."""
    return f"""WITH RECURSIVE barred(node) AS (
        SELECT parent FROM nodes WHERE layer = 0 AND parent IS NOT NULL AND NOT ({allowed.on("chunk")})
        UNION SELECT n.parent FROM barred AS b CROSS JOIN nodes AS n WHERE n.node = b.node AND n.parent IS NOT NULL)
    SELECT node FROM barred"""  # noqa: S608 - compiled conditions


_Bound = list[str | int | float | None]


def _condition(condition: Condition) -> tuple[str, _Bound]:
    if isinstance(condition, Comparison):
        return _comparison(condition)
    return _combination(condition)


def _combination(condition: Combination) -> tuple[str, _Bound]:
    parts = [_condition(part) for part in condition.parts]
    joined = (" AND " if condition.combiner == "and" else " OR ").join(f"({sql})" for sql, _ in parts)
    if not parts:
        joined = "TRUE" if condition.combiner == "and" else "FALSE"
    parameters: _Bound = [parameter for _, bound in parts for parameter in bound]
    return (f"NOT ({joined})" if condition.combiner == "not" else joined), parameters


def _comparison(comparison: Comparison) -> tuple[str, _Bound]:
    """Hold one key against a value: SQL over ``m(value, type)``, the one row that the key has, or none."""
    key, operator, value = comparison.key, comparison.operator, comparison.value
    if operator in ("!=", "nin"):
        sql, parameters = _comparison(Comparison(key, "==" if operator == "!=" else "in", value))
        return f"NOT ({sql})", parameters
    column = _COLUMNS.get(key)
    bound: _Bound = [] if column is not None else [key]
    if column is not None:
        row = f"(SELECT {column} AS value, 'text' AS type)"
    else:
        row = "(SELECT value, type FROM json_each(COALESCE(c.merged, d.metadata)) WHERE key = ?)"
    if operator == "is_empty" or (operator == "==" and value is None):
        nothing = "m.type = 'null'"
        if operator == "is_empty":
            nothing += " OR (m.type = 'text' AND m.value = '') OR (m.type = 'array' AND m.value = '[]')"
        return f"NOT EXISTS (SELECT 1 FROM {row} AS m WHERE NOT ({nothing}))", bound  # noqa: S608
    if column is not None and operator == "==":
        return f"{column} = ?", [_scalar(value)]  # An index can serve this, and an EXISTS cannot.
    test, parameters = _test(comparison)
    return f"EXISTS (SELECT 1 FROM {row} AS m WHERE {test})", [*bound, *parameters]  # noqa: S608


def _test(comparison: Comparison) -> tuple[str, _Bound]:
    operator, value = comparison.operator, comparison.value
    if isinstance(value, tuple):
        return _test_list(operator, value)
    if operator == "==":
        return _EQUAL.format(value="?"), [_scalar(value)]
    if operator in (">", ">=", "<", "<="):
        types = "('text')" if isinstance(value, str) else _NUMBERS
        return f"m.type IN {types} AND m.value {operator} ?", [_scalar(value)]
    if operator == "text_match_insensitive":
        return "m.type = 'text' AND instr(casefold(m.value), casefold(?)) > 0", [_scalar(value)]
    within = "m.type = 'text' AND typeof(?1) = 'text' AND instr(m.value, ?1) > 0"
    if operator == "contains":
        within = f"({within}) OR ({_member('?1')})"
    return within.replace("?1", "?"), [_scalar(value)] * within.count("?1")


def _test_list(operator: str, values: tuple[str | int | float | None, ...]) -> tuple[str, _Bound]:
    listed = json.dumps(values)
    if operator == "in":
        one = _EQUAL.format(value="v.value")
        return f"m.type != 'null' AND EXISTS (SELECT 1 FROM json_each(?) AS v WHERE {one})", [listed]  # noqa: S608
    one = f"(m.type = 'text' AND v.type = 'text' AND instr(m.value, v.value) > 0) OR ({_member('v.value')})"
    if operator == "any":
        return f"EXISTS (SELECT 1 FROM json_each(?) AS v WHERE {one})", [listed]  # noqa: S608
    return (
        f"m.type IN ('text', 'array') AND NOT EXISTS (SELECT 1 FROM json_each(?) AS v WHERE NOT ({one}))",  # noqa: S608
        [listed],
    )


def _member(value: str) -> str:
    """Whether a scalar is an item of the array ``m.value``."""
    items = "json_each(CASE m.type WHEN 'array' THEN m.value ELSE '[]' END)"
    return (
        f"m.type = 'array' AND EXISTS (SELECT 1 FROM {items} AS e "  # noqa: S608
        f"WHERE e.type NOT IN ('array', 'object') AND e.value IS {value})"
    )


def _scalar(value: object) -> str | int | float | None:
    return int(value) if isinstance(value, bool) else value  # type: ignore[return-value]
