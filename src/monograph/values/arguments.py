"""Checks of arguments given by callers, and the defaults of searches, contexts and answers.

Each check returns the argument's value, or raises InputError. The parameter ``name`` is the name of the argument in the
error's message, ``hint`` the error's hint.
"""

from __future__ import annotations

import json
import math
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from monograph.errors import InputError

if TYPE_CHECKING:
    from monograph.values.arrays import Float32

T = TypeVar("T")

FOUND = 10
"""Default number of hits that a context is built from."""

BUDGET = 1_000
"""Default limit of tokens in a context."""

DEFAULT_CUT = 0.42
"""Default share of tokens that the reduction of hits removes. MobileRAG removes this share on the data set SQuAD."""

MAX_TOKENS = 400
"""Default limit of tokens in an answer."""

PassageOrder: TypeAlias = Literal["relevance", "edges"]
"""Order of the passages in a context.

``relevance``: the best passage is first. ``edges``: the best is first, the second best is last, and the worst are in
the middle, because models pay least attention to the middle of a long prompt.
"""

MOST = 2**31 - 1
"""Largest value of an argument that counts items. Larger values are reduced to MOST.

No file holds that many items of any kind.
"""

MOST_BYTES = 2**62
"""Largest number of bytes. Larger arguments are reduced to it, because no disk holds that many bytes."""

SHOWN = 200
"""Maximum number of characters of a value that an error message shows."""


def whole_number(value: Any, name: str, least: int | None = None, most: int = MOST) -> int:
    """Return a whole number as an int, limited to the range from ``-most`` to ``most``.

    Raises InputError if the value is not a whole number, or is below ``least``.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{name} is {shown(value)}", "give a whole number") from None
    if least is not None and number < least:
        raise InputError(f"{name} is {shown(value)}", f"give {least} or more")
    return max(min(number, most), -most)


def share(value: Any, name: str, hint: str = "give a share from 0 to 1") -> float:
    """Return a number from 0 to 1 as a float. Raises InputError for any other value."""
    number = finite(value, name, hint)
    if not 0 <= number <= 1:
        raise InputError(f"{name} is {shown(value)}", hint)
    return number


def seconds(value: Any, name: str) -> float:
    """Return a duration in seconds as a float.

    Durations above MOST seconds are reduced to MOST, because operating systems accept no longer timeouts. Raises
    InputError if the value is not a number above 0.
    """
    number = finite(value, name, "give seconds above 0")
    if number <= 0:
        raise InputError(f"{name} is {shown(value)}", "give seconds above 0")
    return min(number, float(MOST))


def finite(value: Any, name: str, hint: str = "give a number") -> float:
    """Return a finite number as a float. Raises InputError for any other value."""
    try:
        number = math.nan if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{name} is {shown(value)}", hint)
    return number


def text(value: Any, name: str) -> str:
    """Return the value if it is a text that can be stored.

    Raises InputError if the value is not a text, or if it contains half a surrogate pair.
    """
    if not isinstance(value, str):
        raise InputError(f"{name} is {shown(value)}", "give a text")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"{name} contains half a surrogate pair at character {error.start}: {shown(value)}",
            "give it in UTF-8; in Python: decode it with errors='replace'",
        ) from None
    return value


def label(value: Any, name: str) -> str:
    r"""Return the value if it is a text that filters can compare. Ids, uris and titles must be such texts.

    Raises InputError if :func:`text` rejects the value, or if the value contains U+0000. SQLite's JSON functions end a
    text at U+0000, so that filters would treat ``"ann\0x"`` as ``"ann"``.
    """
    checked = text(value, name)
    if "\0" in checked:
        raise InputError(f"{name} contains U+0000: {shown(checked)}", "remove that character")
    return checked


def path(value: Any, name: str) -> Path:
    """Return a path of a file or folder, which need not exist.

    Raises InputError if the value is not a path, is empty, or holds characters that no file name can have.
    """
    try:
        decoded = os.fsdecode(value)
        if decoded and b"\0" not in os.fsencode(decoded):
            return Path(decoded)
    except (TypeError, UnicodeError):
        pass
    raise InputError(f"{name} is {shown(value)}", "give the path of a file or folder")


def names(values: Iterable[Any], name: str) -> list[str]:
    """Return ids or uris as a list of texts. A value that is not a text is replaced by its representation.

    Raises InputError if ``values`` is a single text or not iterable, or if :func:`label` rejects one of the texts.
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InputError(f"{name} must be in a list, not {shown(values)}", "give a list of them")
    return [label(value if isinstance(value, str) else shown(value), name) for value in values]


def vector(value: Any, name: str) -> Float32:
    """Return a vector as float32 (n,). Its values need not be finite.

    Raises InputError if the value is not a one-dimensional list of numbers, or its norm is too large for float32.
    """
    import numpy as np

    try:
        with np.errstate(over="ignore"):  # Too large values become infinite: callers that need finite values check.
            array = np.asarray(value, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} is not a list of numbers: {error}", "give a list of floats") from error
    if array.ndim != 1:
        raise InputError(f"{name} has shape {array.shape}", "give one vector, a list of floats")
    if np.isfinite(array).all() and np.linalg.norm(array.astype(np.float64)) > np.finfo(np.float32).max:
        raise InputError(f"{name} is longer than float32 allows", "scale it to unit length")
    return array


def shown(value: Any) -> str:
    """Return the representation of a value for an error message, at most SHOWN characters of it."""
    if isinstance(value, str | bytes):
        value = value[: SHOWN + 1]  # The text may be a whole document.
    try:
        written = repr(value)
    except (RecursionError, ValueError):  # The value is nested too deeply, or an int of thousands of digits.
        return f"a {type(value).__name__} that is too large to show"
    return written if len(written) <= SHOWN else f"{written[:SHOWN]} …"


_signature = cache(signature)  # It takes longer than the rest of parse(), which each search calls.


def parse(text: str, makers: Mapping[str, Callable[..., T]], kind: str) -> T:
    """Return the object that a text such as ``tree:detail=0.5,budget=800`` describes.

    ``makers`` has a class or function for each name. Its parameters may follow the name; their values are JSON.
    ``kind`` says in errors what the names name. Raises InputError if the name or a parameter is unknown, a value is no
    JSON, or a parameter without a default is missing.
    """
    name, _, written = text.partition(":")
    if name not in makers:
        raise InputError(f"unknown {kind} {shown(name)}", f"give one of {', '.join(makers)}")
    parameters = _signature(makers[name]).parameters
    values: dict[str, Any] = {}
    for part in written.split(",") if written else ():
        key, _, value = part.partition("=")
        key = key.strip()
        if key not in parameters:
            known = ", ".join(parameters)
            hint = f"its parameters are {known}" if known else f"it has none: write {name}"
            raise InputError(f"the {kind} {name!r} has no parameter {shown(key)}", hint)
        try:
            values[key] = json.loads(value)
        except (ValueError, RecursionError):
            raise InputError(f"{key} is {shown(value)}", "give a number, true or false") from None
    missing = [key for key, one in parameters.items() if one.default is one.empty and key not in values]
    if missing:
        needed = ",".join(f"{key}=1" for key in missing)
        raise InputError(f"the {kind} {name!r} lacks {', '.join(missing)}", f"write {name}:{needed}, with your numbers")
    return makers[name](**values)
