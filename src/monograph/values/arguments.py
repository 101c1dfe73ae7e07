"""Checks of values that a caller hands over, and the defaults of a search, a context and an answer."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from monograph.errors import InputError

if TYPE_CHECKING:
    from monograph.values.arrays import Float32

FOUND = 10
"""Hits that a context is made of."""

BUDGET = 1_000
"""Most tokens of a context."""

DEFAULT_CUT = 0.42
"""Share of the tokens of a found passage that goes: MobileRAG's, on SQuAD."""

MAX_TOKENS = 400
"""Most tokens of an answer."""

PassageOrder: TypeAlias = Literal["relevance", "edges"]
"""``relevance``: the best first. ``edges``: the best first, the second last, and so on: what stands in the middle of a
long prompt is read least."""

MOST = 2**31 - 1
"""A number above this is taken for this: no file holds as many of anything."""

MOST_BYTES = 2**62
"""The same for bytes: no disk holds as many."""

SHOWN = 200
"""Characters of a value that an error shows."""


def whole_number(value: Any, name: str, least: int | None = None, most: int = MOST) -> int:
    """Return a number as an int; above ``most`` it is that.

    Raises
    ------
    InputError
        If it is no whole number, or below ``least``.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{name} is {shown(value)}", "give a whole number") from None
    if least is not None and number < least:
        raise InputError(f"{name} is {shown(value)}", f"give {least} or more")
    return max(min(number, most), -most)


def share(value: Any, name: str, hint: str = "give a share from 0 to 1") -> float:
    """Return a number from 0 to 1.

    Raises
    ------
    InputError
        If it is none.
    """
    number = finite(value, name, hint)
    if not 0 <= number <= 1:
        raise InputError(f"{name} is {shown(value)}", hint)
    return number


def seconds(value: Any, name: str) -> float:
    """Return a time in seconds, above 0; the most that a system's clocks take, if it is more.

    Raises
    ------
    InputError
        If it is none.
    """
    number = finite(value, name, "give seconds above 0")
    if number <= 0:
        raise InputError(f"{name} is {shown(value)}", "give seconds above 0")
    return min(number, float(MOST))


def finite(value: Any, name: str, hint: str = "give a number") -> float:
    """Return a number as a float.

    Raises
    ------
    InputError
        If it is none, or not finite.
    """
    try:
        number = math.nan if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{name} is {shown(value)}", hint)
    return number


def text(value: Any, name: str) -> str:
    """Return a text that can be stored and searched for.

    Raises
    ------
    InputError
        If it is none, or holds half a surrogate pair.
    """
    if not isinstance(value, str):
        raise InputError(f"{name} is {shown(value)}", "give a text")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"{name} holds half a surrogate pair at character {error.start}: {shown(value)}",
            "give it in UTF-8; in Python: decode it with errors='replace'",
        ) from None
    return value


def label(value: Any, name: str) -> str:
    r"""Return an id, a uri, a title or another text by which things are found.

    Raises
    ------
    InputError
        If it is no text, or holds U+0000, at which SQLite's JSON functions cut a text: filters would take
        ``"ann\0x"`` for ``"ann"``.
    """
    given = text(value, name)
    if "\0" in given:
        raise InputError(f"{name} holds U+0000: {shown(given)}", "remove that character")
    return given


def path(value: Any, name: str) -> Path:
    """Return a path that a system can be asked for.

    Raises
    ------
    InputError
        If it is none, is empty, or holds what no name of a file may.
    """
    try:
        given = os.fsdecode(value)
        if given and b"\0" not in os.fsencode(given):
            return Path(given)
    except (TypeError, UnicodeError):
        pass
    raise InputError(f"{name} is {shown(value)}", "give the path of a file or folder")


def names(values: Iterable[Any], name: str) -> list[str]:
    """Return ids or uris as texts. Raises as :func:`label`."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InputError(f"{name} is to be in a list, not {shown(values)}", "give a list of them")
    return [label(one if isinstance(one, str) else shown(one), name) for one in values]


def vector(value: Any, name: str) -> Float32:
    """Return a vector as float32 (n,).

    Raises
    ------
    InputError
        If it is not a row of numbers, or too long for float32.
    """
    import numpy as np

    try:
        with np.errstate(over="ignore"):  # What float32 cannot hold is not finite: it is refused where that matters.
            made = np.asarray(value, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} is not numbers: {error}", "give a list of floats") from error
    if made.ndim != 1:
        raise InputError(f"{name} has shape {made.shape}", "give one vector, a list of floats")
    if np.isfinite(made).all() and np.linalg.norm(made.astype(np.float64)) > np.finfo(np.float32).max:
        raise InputError(f"{name} is longer than float32 can hold", "give it at unit length")
    return made


def shown(value: Any) -> str:
    """Return a value as an error shows it: on one line, and not endless."""
    if isinstance(value, str | bytes):
        value = value[: SHOWN + 1]  # It may be a whole document.
    try:
        written = repr(value)
    except (RecursionError, ValueError):  # It is nested too deeply, or a number of thousands of digits.
        return f"a {type(value).__name__} that is too large to show"
    return written if len(written) <= SHOWN else f"{written[:SHOWN]} …"
