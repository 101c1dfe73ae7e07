"""Helpers for components that call a file: warnings for problems, and asynchronous methods that wait in threads."""

from __future__ import annotations

import asyncio
import warnings
from abc import abstractmethod
from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any, Self

from monograph.errors import InputError

if TYPE_CHECKING:
    from monograph import Report


class ClosesFile:
    """A component that is closed at the end of a ``with`` block."""

    @abstractmethod
    def close(self) -> None:
        """Close the file if the component opened it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def warn_of_problems(report: Report) -> Report:
    """Issue a warning for each problem of a report, since frameworks do not show reports; return the report."""
    for problem in report.problems:
        warnings.warn(
            f"{problem.reason} ({problem.hint})" if problem.hint else problem.reason, RuntimeWarning, stacklevel=3
        )
    return report


def refuse_unknown(call: str, given: Iterable[str], known: Iterable[str] = ()) -> None:
    """Raise InputError if a call has unknown arguments, because an ignored filter would change the result.

    ``call`` is the name in the error, ``given`` are the arguments' names, and ``known`` the names that the call
    accepts.
    """
    accepted = sorted(known)
    unknown = sorted(set(given).difference(accepted))
    if unknown:
        raise InputError(
            f"{call} has no argument {', '.join(map(repr, unknown))}",
            f"it also accepts {', '.join(accepted)}" if accepted else "leave it out",
        )


def in_thread(name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
    """Return an asynchronous method that calls the method of this name in a thread."""

    async def call(self: Any, *arguments: Any, **named: Any) -> Any:
        return await asyncio.to_thread(getattr(self, name), *arguments, **named)

    call.__name__ = f"a{name}"
    call.__doc__ = f"As :meth:`{name}`, in a thread."
    return call
