"""How components call a file: problems become warnings, and asynchronous methods wait in threads."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from monograph import Report


def told(report: Report) -> Report:
    """Return a report after a warning for each of its problems, for which frameworks have no other place."""
    for one in report.problems:
        warnings.warn(f"{one.reason} ({one.mend})" if one.mend else one.reason, RuntimeWarning, stacklevel=3)
    return report


def in_thread(name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
    """Return an asynchronous method that calls the method of this name in a thread."""

    async def call(self: Any, *arguments: Any, **named: Any) -> Any:
        return await asyncio.to_thread(getattr(self, name), *arguments, **named)

    call.__name__ = f"a{name}"
    call.__doc__ = f"As :meth:`{name}`, in a thread."
    return call
