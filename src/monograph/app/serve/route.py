"""A route: an address of the API, what it asks for, and what it gives, told by the function that answers."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal, TypeAlias, get_origin, get_type_hints

from monograph.app.serve.served import Served

Method: TypeAlias = Literal["GET", "POST", "DELETE"]
BASE = "/api/v1"


@dataclass(frozen=True, slots=True)
class Bytes:
    """A reply that is no JSON.

    Parameters
    ----------
    data:
        All of it.
    kind:
        Its media type.
    policy:
        A content security policy of its own; empty for the usual one.
    name:
        Under which a browser is to save it; empty where it is to be shown.
    """

    data: bytes
    kind: str
    policy: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Streamed:
    """A reply that is an open file, which is closed once it is sent.

    Parameters
    ----------
    file:
        Open for reading, at its beginning.
    kind:
        Its media type.
    name:
        Under which a browser is to save it.
    """

    file: BinaryIO
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Route:
    """An address, and the function that answers there.

    The function takes what is served and a frozen value, whose fields are the parameters, and returns a value that is
    written as JSON, :class:`Bytes`, or events.

    Parameters
    ----------
    method, path:
        The path below ``/api/v1``.
    answer:
        The function.
    last:
        Of events that a program may have at once, as JSON: what the last event holds.
    kinds:
        Media types of bytes.
    slow:
        Whether it may take long, so that what is quick is not to wait for it.
    body:
        Whether the body is a file's bytes, and the parameters stand in the query.
    writes:
        Whether it needs ``--write``.
    status:
        Of HTTP, where all goes well.
    """

    method: Method
    path: str
    answer: Callable[[Served, Any], Any]
    last: Any = None
    kinds: tuple[str, ...] = ()
    slow: bool = False
    body: bool = False
    writes: bool = False
    status: int = 200

    @property
    def summary(self) -> str:
        """What it does, in a sentence."""
        return inspect.cleandoc(self.answer.__doc__ or "").partition("\n\n")[0].replace("\n", " ")

    @property
    def asks(self) -> Any:
        """The class of its parameters."""
        return get_type_hints(self.answer)["asked"]

    @property
    def gives(self) -> Any:
        """The type of its reply."""
        return get_type_hints(self.answer)["return"]

    @property
    def streams(self) -> bool:
        """Whether it gives events."""
        return get_origin(self.gives) in (Iterator, AsyncIterator)
