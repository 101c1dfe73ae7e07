"""Base classes of stores and retrievers, warnings for the problems of a report, and asynchronous methods."""

from __future__ import annotations

import asyncio
import copy
import warnings
from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any, Self

from monograph.errors import InputError

if TYPE_CHECKING:
    from monograph import Report
    from monograph.shelf import Archive
    from monograph_tools.file_handle import FileHandle


class ClosesFile:
    """Base of stores, retrievers and other components that use a file. A ``with`` block closes the component."""

    _file: FileHandle

    def close(self) -> None:
        """Close the file if the component opened it.

        A retriever or query engine that was made from a path can still be used: it opens the path again.
        """
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class FileStore(ClosesFile):
    """Base of stores over a file. The file is open from the creation of the store.

    A copy of a store shares the open file. Only the original store closes the file. An unpickled store opens the file
    at the same path for itself, and its ``close`` closes this file.
    """

    def __copy__(self) -> Self:
        duplicate = type(self).__new__(type(self))
        duplicate.__dict__.update(self.__getstate__(), _file=copy.copy(self._file))  # type: ignore[call-overload]
        return duplicate

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self.__copy__()

    @property
    def monograph(self) -> Archive:
        """The open file or shelf; if the store has a collection, the view of this collection."""
        return self._file.monograph


def warn_of_problems(report: Report) -> Report:
    """Issue a warning for each problem of a report, since frameworks do not show reports; return the report."""
    for problem in report.problems:
        warnings.warn(
            f"{problem.reason} ({problem.hint})" if problem.hint else problem.reason, RuntimeWarning, stacklevel=3
        )
    return report


def refuse_unknown(call: str, given: Iterable[str], known: Iterable[str] = ()) -> None:
    """Raise InputError if a method was called with an argument that it does not know.

    An unknown argument is not ignored, because it may be meant to change the result, as a filter does. ``call`` names
    the method in the message. ``given`` are the names of the passed arguments, and ``known`` the accepted names.
    """
    accepted = sorted(known)
    if unknown := sorted(set(given).difference(accepted)):
        raise InputError(
            f"{call} has no argument {', '.join(map(repr, unknown))}",
            f"it also accepts {', '.join(accepted)}" if accepted else "leave it out",
        )


def in_thread(name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
    """Return an asynchronous method that runs the method ``name`` of the same object in a thread."""

    async def call(self: Any, *arguments: Any, **named: Any) -> Any:
        return await asyncio.to_thread(getattr(self, name), *arguments, **named)

    call.__name__ = f"a{name}"
    call.__doc__ = f"As :meth:`{name}`, in a thread."
    return call
