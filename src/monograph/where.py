"""Metadata filters: the argument ``where``, parsed and checked.

A ``where`` is a JSON-like object. If it has several keys, all of their conditions must hold::

    {"author": "Ann", "year": {">=": 2020, "<": 2024}}
    {"or": [{"tags": {"contains": "draft"}}, {"not": {"lang": {"in": ["de", "es"]}}}]}

The operators have the same meaning as in LlamaIndex: ``==  !=  >  >=  <  <=  in  nin  any  all  contains  text_match
text_match_insensitive  is_empty``.

LangChain's spellings ``$eq $ne $gt $gte $lt $lte $in $nin $and $or $not`` are accepted too. So are four other operators
of LangChain: ``$between`` (inclusive at both ends), ``$exists`` (a key that is null counts as missing), ``$not`` below
a key, and ``$like`` with a text between two ``%``.

A key that is missing, or null, matches only ``!=``, ``nin``, ``is_empty``, and ``==`` with null. ``>``, ``>=``, ``<``
and ``<=`` never match values of different types. ``$document``, ``$chunk``, ``$uri`` and ``$title`` are a hit's
document id, chunk id, uri and title.

``$date`` is the date of a hit's document. It accepts ``>``, ``>=``, ``<``, ``<=``, ``==``, ``!=`` and ``is_empty``.
Times are in ISO 8601: a year, a month, a day or an instant. ``{"since": "2026-03"}`` is short for ``$date`` with
``>=``, and ``{"as_of": "2026-03-01"}`` for ``$date`` with ``<=``. With an operator, as in ``{"since": {"==": 3}}``,
``since`` and ``as_of`` are ordinary metadata keys. If only the day, month or year of a document is known, the document
matches if it may be from the requested time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Literal, TypeAlias, cast, get_args

from monograph.dates import span
from monograph.dates.span import TimeSpan
from monograph.errors import InputError, InvalidFilter, OutsideView
from monograph.values import arguments
from monograph.values.arguments import shown

Operator: TypeAlias = Literal[
    "==", "!=", ">", ">=", "<", "<=", "in", "nin", "any", "all", "contains",
    "text_match", "text_match_insensitive", "is_empty",
]  # fmt: skip
Combiner: TypeAlias = Literal["and", "or", "not"]
Scalar: TypeAlias = str | int | float | bool | None
Moment: TypeAlias = str | int | float | datetime | date
"""A time as text, as a number (see :func:`monograph.dates.span.of_value`), or as a Python object. Without a time zone
it is treated as UTC."""

OPERATORS: tuple[Operator, ...] = get_args(Operator)
DATE = "$date"
FIELDS = ("$document", "$chunk", "$uri", "$title", DATE)
MAX_DEPTH = 32

_SPELLINGS: dict[str, Operator] = {
    "=": "==", "eq": "==", "ne": "!=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<=",
    "not in": "nin", "not_in": "nin",
    **{operator: operator for operator in OPERATORS},
}  # fmt: skip


TIMES: dict[str, Operator] = {"since": ">=", "as_of": "<="}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of one key with a value.

    ``value`` is a tuple of scalars for the operators ``in``, ``nin``, ``any`` and ``all``, otherwise a scalar. For the
    key ``$date``, ``value`` is a number of seconds since 1970. A document's date is a span of seconds: often only the
    day, month or year is known. ``>=`` and ``>`` compare the last second of the span with ``value``; ``<=`` and
    ``<`` compare the first second.
    """

    key: str
    operator: Operator
    value: Scalar | tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Combination:
    """Several conditions. With ``and`` all of them must hold, with ``or`` at least one, and with ``not`` none."""

    combiner: Combiner
    parts: tuple[Condition, ...]


Condition: TypeAlias = Comparison | Combination


def parse(where: Mapping[str, Any] | None) -> Condition | None:
    """Parse a ``where``: return the condition, or None if ``where`` is None or empty.

    Raises InvalidFilter, with the operator or value in its message, if one of them is not understood. No part of a
    filter is ever ignored.
    """
    return _parse_object(where, 0) if where else None


def keys_of(where: Mapping[str, Any] | None) -> list[str]:
    """Return the metadata keys that a ``where`` names, without repeats. Fields such as ``$uri`` are left out.

    Raises InvalidFilter if the ``where`` cannot be parsed: see :func:`parse`.
    """
    keys: dict[str, None] = {}
    waiting = [] if (condition := parse(where)) is None else [condition]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Combination):
            waiting.extend(reversed(part.parts))
        elif part.key not in FIELDS:
            keys[part.key] = None
    return list(keys)


def _parse_object(where: Any, depth: int) -> Condition:
    if not isinstance(where, Mapping):
        raise InvalidFilter(f"a filter must be an object, not {shown(where)}", 'write {"key": value}')
    if depth > MAX_DEPTH:
        raise InvalidFilter(f"the filter is nested more than {MAX_DEPTH} deep", "nest it less deeply")
    parts = tuple(_parse_entry(key, value, depth) for key, value in where.items())
    return parts[0] if len(parts) == 1 else Combination("and", parts)


def _parse_entry(key: Any, value: Any, depth: int) -> Condition:
    if not isinstance(key, str):
        raise InvalidFilter(f"a filter's key must be text, not {shown(key)}", 'write {"key": value}')
    key = _check_text(key, f"the filter's key {shown(key)}")
    combiner = key.removeprefix("$").lower()
    if combiner in ("and", "or", "not"):
        listed = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
        return Combination(cast(Combiner, combiner), tuple(_parse_object(part, depth + 1) for part in listed))
    if (time := key.removeprefix("$").lower()) in TIMES and (key[0] == "$" or not isinstance(value, Mapping)):
        alone = next(iter(value.items())) if isinstance(value, Mapping) and len(value) == 1 else ("==", value)
        return _make_date_condition(TIMES[time], alone[1] if _parse_operator(alone[0]) == "==" else value)
    if key.startswith("$") and key not in FIELDS:
        raise InvalidFilter(f"{shown(key)} is neither a field nor and, or, not", f"fields are {', '.join(FIELDS)}")
    if not isinstance(value, Mapping):
        return _comparison(key, "==", value)
    if not value:
        raise InvalidFilter(f"the filter on {shown(key)} has no operator", f"operators are {' '.join(OPERATORS)}")
    parts = tuple(_parse_operation(key, operator, operand, depth) for operator, operand in value.items())
    return parts[0] if len(parts) == 1 else Combination("and", parts)


def _parse_operation(key: str, spelled: Any, value: Any, depth: int) -> Condition:
    """Return the condition for one operator of a key. Some operators of LangChain are translated to other operators."""
    name = spelled.removeprefix("$").lower() if isinstance(spelled, str) else ""
    if name == "not":
        if not isinstance(value, Mapping):
            raise _unfit_error(name, key, "an object", value, 'write {"not": {"==": 1}}')
        if depth >= MAX_DEPTH:
            raise InvalidFilter(f"the filter is nested more than {MAX_DEPTH} deep", "nest it less deeply")
        return Combination("not", (_parse_entry(key, value, depth + 1),))
    if name == "exists":
        if not isinstance(value, bool):
            raise _unfit_error(name, key, "true or false", value, "give one of them")
        missing = _comparison(key, "is_empty" if key == DATE else "==", None)
        return Combination("not", (missing,)) if value else missing
    if name == "between":
        if not isinstance(value, list | tuple) or len(value) != 2:
            raise _unfit_error(name, key, "a list of two", value, 'write {"between": [1, 9]}')
        return Combination("and", (_comparison(key, ">=", value[0]), _comparison(key, "<=", value[1])))
    if name == "like":
        within = value[1:-1] if isinstance(value, str) and len(value) > 2 and value[0] == value[-1] == "%" else ""
        if not within or "%" in within or "_" in within:
            raise _unfit_error(name, key, "a text between two %", value, 'write {"like": "%text%"}')
        return _comparison(key, "text_match", within)
    return _comparison(key, spelled, value)


def _unfit_error(operator: str, key: str, needed: str, value: Any, hint: str) -> InvalidFilter:
    return InvalidFilter(f"{operator!r} for {shown(key)} needs {needed}, not {shown(value)}", hint)


def _make_date_condition(operator: Operator, value: Any) -> Condition:
    if operator == "is_empty":
        return Comparison(DATE, operator, None)
    if operator not in ("==", "!=", ">", ">=", "<", "<="):
        raise InvalidFilter(f"{operator!r} does not work on a date", "use == != > >= < <= or is_empty")
    when = span.of_value(value)
    if when is None:
        raise InvalidFilter(
            f"{shown(value)} is not a time",
            'write 2026, 2026-03, 2026-03-01 or 2026-03-01T09:30:00Z; for a key of your own, {"since": {"==": …}}',
        )
    if operator in ("==", "!="):
        both = tuple(Comparison(DATE, bound, _pick_second(bound, when)) for bound in (">=", "<="))
        return Combination("and", both) if operator == "==" else Combination("not", (Combination("and", both),))
    return Comparison(DATE, operator, _pick_second(operator, when))


def time_of(moment: Moment, name: str) -> TimeSpan:
    """Return the span of seconds that a moment may mean. A day, for example, is a span of 86,400 seconds.

    Raises InputError if ``moment`` is not a time. The error message uses ``name`` as the name of the parameter.
    """
    if isinstance(moment, datetime):
        aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
        when = span.parse(aware.astimezone(UTC).isoformat())
    else:
        when = span.of_day(moment) if isinstance(moment, date) else span.of_value(moment)
    if when is None:
        raise InputError(
            f"{name} is {shown(moment)}, which is not a time", "write 2026, 2026-03, 2026-03-01 or 2026-03-01T09:30:00Z"
        )
    return when


def _pick_second(operator: str, when: TimeSpan) -> int:
    return when.first if operator in (">=", "<") else when.last


def _comparison(key: str, spelled: Any, value: Any) -> Condition:
    operator = _parse_operator(spelled)
    if operator is None:
        raise InvalidFilter(
            f"unknown operator {shown(spelled)} for {shown(key)}", f"operators are {' '.join(OPERATORS)}"
        )
    if key == DATE:
        return _make_date_condition(operator, value)
    if operator in ("in", "nin", "any", "all"):
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence | set | frozenset):
            raise _unfit_error(operator, key, "a list", value, f'write {{"{operator}": [...]}}')
        return Comparison(key, operator, tuple(_check_scalar(key, item) for item in value))
    if operator == "is_empty":
        return Comparison(key, operator, None)
    value = _check_scalar(key, value)
    if operator.startswith("text_match") and not isinstance(value, str):
        raise _unfit_error(operator, key, "a text", value, "give a text")
    if value is None and operator not in ("==", "!="):
        raise InvalidFilter(f"{operator!r} for {shown(key)} needs a value, not null", "use is_empty")
    return Comparison(key, operator, value)


def _parse_operator(operator: Any) -> Operator | None:
    return _SPELLINGS.get(operator.removeprefix("$").lower()) if isinstance(operator, str) else None


def _check_scalar(key: str, value: Any) -> Scalar:
    if isinstance(value, int | float):
        number: int | float = _normalise_value(value)
        if isinstance(number, float) and not math.isfinite(number):
            raise InvalidFilter(f"the filter on {shown(key)} has the value {shown(value)}", "use finite numbers")
        return number
    if isinstance(value, str):
        return _check_text(value, f"the filter on {shown(key)}")
    if value is None:
        return None
    raise InvalidFilter(
        f"the filter on {shown(key)} has the value {shown(value)}", "use text, numbers, true, false or null"
    )


def _check_text(value: str, name: str) -> str:
    if "\0" in value:  # SQLite's JSON functions cut a text at U+0000.
        raise InvalidFilter(f"{name} contains U+0000", "filter by another part of the text")
    try:
        return arguments.text(value, name)
    except InputError as error:
        raise InvalidFilter(error.message, error.hint) from None


def _normalise_value(value: Any) -> Any:
    """Return a metadata value in the form that filters compare: an integer of more than 64 bits becomes a float."""
    if not isinstance(value, int) or -(2**63) <= value < 2**63:
        return value
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def exact_values(condition: Condition) -> dict[str, Scalar]:
    """Return the value that a condition requires of each metadata key.

    The condition must be one comparison with ``==``, or several of them combined by ``and``. Raises OutsideView if the
    condition has another operator, compares a key with null, names a field such as ``$uri``, or requires two values of
    one key.
    """
    parts = [condition]
    while any(isinstance(part, Combination) and part.combiner == "and" for part in parts):
        parts = [child for part in parts for child in (part.parts if isinstance(part, Combination) else (part,))]
    exact: dict[str, Scalar] = {}
    for part in parts:
        value = part.value if isinstance(part, Comparison) else None
        if not isinstance(part, Comparison) or part.operator != "==" or isinstance(value, tuple) or value is None:
            raise OutsideView(
                "cannot add through this view: its filter does not require one exact value of each key",
                'use a view of exact values, such as {"collection": "notes"}',
            )
        if part.key in FIELDS:
            raise OutsideView(f"cannot add through a view filtered by {part.key}", "use a view filtered by metadata")
        if exact.setdefault(part.key, value) != value:
            raise OutsideView(f"cannot add through a view that requires two values of {part.key!r}", "use another view")
    return exact


def matches(condition: Condition | None, metadata: Mapping[str, Any]) -> bool:
    """Return whether metadata meets a condition. This is the reference for the meaning of every operator.

    The store compiles conditions to SQL, and tests compare the SQL with this function. ``metadata`` may also contain
    the ``$`` fields, with ``$date`` as a :class:`~monograph.dates.span.TimeSpan`. A ``condition`` of None is always
    met.
    """
    if condition is None:
        return True
    if isinstance(condition, Combination):
        met = (matches(part, metadata) for part in condition.parts)
        if condition.combiner == "and":
            return all(met)
        return any(met) if condition.combiner == "or" else not any(met)
    actual = metadata.get(condition.key)
    if condition.key == DATE and actual is not None:
        actual = actual.last if condition.operator in (">", ">=") else actual.first
    if isinstance(actual, list):
        actual = [_normalise_value(item) for item in actual]
    return _holds(condition, _normalise_value(actual))


def _holds(comparison: Comparison, found: Any) -> bool:
    operator, value = comparison.operator, comparison.value
    if operator == "is_empty":
        return found is None or found in ("", [])
    if operator in ("!=", "nin"):
        opposite: Operator = "==" if operator == "!=" else "in"
        return not _holds(Comparison(comparison.key, opposite, value), found)
    if found is None:
        return operator == "==" and value is None
    if isinstance(value, tuple):
        return _holds_list(operator, value, found)
    if operator in (">", ">=", "<", "<="):
        return _compare(operator, found, value)
    if operator == "==":
        return bool(found == value)
    if operator == "contains" and isinstance(found, list):
        return value in found
    if not isinstance(found, str) or not isinstance(value, str):
        return False
    return value.casefold() in found.casefold() if operator == "text_match_insensitive" else value in found


def _holds_list(operator: Operator, values: tuple[Scalar, ...], actual: Any) -> bool:
    if operator == "in":
        return not isinstance(actual, list | dict) and actual in values
    if not isinstance(actual, list | str):
        return False
    within = [(isinstance(actual, list) or isinstance(value, str)) and value in actual for value in values]
    return any(within) if operator == "any" else all(within)


def _compare(operator: Operator, actual: Any, value: Scalar | tuple[Scalar, ...]) -> bool:
    if isinstance(value, tuple) or value is None:
        return False
    if isinstance(actual, str) != isinstance(value, str) or not isinstance(actual, str | int | float):
        return False
    less, equal = bool(actual < value), bool(actual == value)  # type: ignore[operator]
    return {"<": less, "<=": less or equal, ">": not less and not equal, ">=": not less}[operator]
