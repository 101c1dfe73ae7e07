"""Ways to search, a module each: the module ``hybrid`` holds the value :class:`~monograph.search.how.hybrid.Hybrid`.

A name is that value with its defaults. A new way is a new module here, and nothing else.
"""

from __future__ import annotations

import json
import pkgutil
from dataclasses import fields
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from monograph.errors import InputError
from monograph.values.arguments import shown

if TYPE_CHECKING:
    from monograph.search.strategy import Strategy


@cache
def strategies() -> tuple[str, ...]:
    """The names of all ways to search, in the order of the alphabet."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


def strategy(how: str | Strategy) -> Strategy:
    """The strategy that is meant.

    Parameters
    ----------
    how:
        A strategy; or the name of one, ``tree``, which may say what differs from its defaults:
        ``tree:detail=0.5,budget=800``.

    Raises
    ------
    InputError
        If no strategy has that name, it knows no such parameter, or a value is out of range.
    """
    if not isinstance(how, str):
        from monograph.search.strategy import Strategy

        if isinstance(how, Strategy) and not isinstance(how, type):
            return how
        raise InputError(f"how is {shown(how)}", f"give a strategy, or one of {', '.join(strategies())}")
    name, _, parameters = how.partition(":")
    if name not in strategies():
        raise InputError(f"unknown way to search {shown(name)}", f"ways are {', '.join(strategies())}")
    made = getattr(import_module(f"{__name__}.{name}"), name.capitalize())
    return cast("Strategy", made(**_parameters(name, made, parameters)))


def _parameters(name: str, made: Any, written: str) -> dict[str, Any]:
    known = [field.name for field in fields(made)]
    found = {}
    for part in written.split(",") if written else ():
        key, _, value = part.partition("=")
        if key.strip() not in known:
            mend = f"it knows {', '.join(known)}" if known else f"it has none: write {name}"
            raise InputError(f"the way to search {name!r} has no parameter {shown(key.strip())}", mend)
        try:
            found[key.strip()] = json.loads(value)
        except (ValueError, RecursionError):
            raise InputError(f"{key.strip()} is {shown(value)}", "give a number, true or false") from None
    return found
