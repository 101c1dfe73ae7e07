"""The parameters of a request as a frozen value, by the fields of its class."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from monograph.errors import InputError
from monograph.values import arguments
from monograph.values.arguments import shown

Asked = TypeVar("Asked")

_TRUTHS = {"true": True, "1": True, "yes": True, "": True, "false": False, "0": False, "no": False}


def fields_of(kind: Any) -> dict[str, tuple[Any, bool]]:
    """(type, whether it must be given) of each field of a dataclass, by name, in order."""
    return _fields(kind)


@cache
def _fields(kind: type) -> dict[str, tuple[Any, bool]]:
    hints = get_type_hints(kind)
    return {
        one.name: (
            hints[one.name],
            one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING,
        )
        for one in dataclasses.fields(kind)
    }


def from_query(kind: type[Asked], given: Sequence[tuple[str, str]]) -> Asked:
    """A value from the pairs of a query.

    Raises
    ------
    InputError
        If one is missing, unknown, given twice or of another kind.
    """
    values: dict[str, Any] = {}
    known = fields_of(kind)
    for name, text in given:
        hint, _ = _known(kind, name, known)
        inner = item_of(hint)
        if inner is not None:
            values.setdefault(name, []).append(_from_text(inner, text, name))
        elif name in values:
            raise InputError(f"{name} is given twice", "give it once")
        else:
            values[name] = _from_text(hint, text, name)
    return _made(kind, {name: tuple(one) if isinstance(one, list) else one for name, one in values.items()})


def from_json(kind: type[Asked], given: Any, name: str = "the body") -> Asked:
    """A value from a JSON object. Raises as :func:`from_query`."""
    if not isinstance(given, Mapping):
        raise InputError(f"{name} is {shown(given)}", "give a JSON object")
    known = fields_of(kind)
    return _made(kind, {key: _from_value(_known(kind, key, known)[0], one, key) for key, one in given.items()})


def item_of(hint: Any) -> Any:
    """What a list of this type has in it; None where it is no list."""
    return get_args(hint)[0] if get_origin(hint) is tuple else None


def without_none(hint: Any) -> tuple[Any, bool]:
    """A type without None, and whether that was in it."""
    if get_origin(hint) not in (Union, types.UnionType):
        return hint, False
    inner = [one for one in get_args(hint) if one is not type(None)]
    return (inner[0] if len(inner) == 1 else Union[tuple(inner)]), len(inner) < len(get_args(hint))  # noqa: UP007


def _known(kind: type, name: str, known: Mapping[str, tuple[Any, bool]]) -> tuple[Any, bool]:
    if name not in known:
        raise InputError(f"unknown parameter {shown(name)}", f"there are {', '.join(known) or 'none'}")
    return known[name]


def _made(kind: type[Asked], values: dict[str, Any]) -> Asked:
    for name, (_, must) in fields_of(kind).items():
        if must and name not in values:
            raise InputError(f"{name} is not given", f"give {name}")
    return kind(**values)


def _from_text(hint: Any, text: str, name: str) -> Any:
    inner, _ = without_none(hint)
    if inner is bool:
        if text.lower() not in _TRUTHS:
            raise InputError(f"{name} is {shown(text)}", "give true or false")
        return _TRUTHS[text.lower()]
    if inner in (int, float):
        try:
            number = inner(text)
        except (ValueError, OverflowError):
            raise InputError(f"{name} is {shown(text)}", "give a number") from None
        return _number(inner, number, name)
    return _choice(inner, arguments.text(text, name), name)


def _from_value(hint: Any, value: Any, name: str) -> Any:
    inner, optional = without_none(hint)
    item = item_of(inner)
    if value is None and optional:
        return None
    if item is not None:
        if not isinstance(value, list):
            raise InputError(f"{name} is {shown(value)}", "give a list")
        return tuple(_from_value(item, one, name) for one in value)
    if dataclasses.is_dataclass(inner):
        return from_json(inner, value, name)  # type: ignore[arg-type]
    if inner is bool:
        if not isinstance(value, bool):
            raise InputError(f"{name} is {shown(value)}", "give true or false")
        return value
    if inner in (int, float):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"{name} is {shown(value)}", "give a number")
        return _number(inner, value, name)
    return _choice(inner, arguments.text(value, name), name)


def _number(kind: type, value: float, name: str) -> float:
    return arguments.whole_number(value, name) if kind is int else arguments.finite(value, name)


def _choice(hint: Any, text: str, name: str) -> str:
    if get_origin(hint) is Literal and text not in get_args(hint):
        raise InputError(f"{name} is {shown(text)}", f"give {', '.join(get_args(hint))}")
    return text
