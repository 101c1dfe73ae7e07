"""A process that works for another hears its own warnings, so that the other can give them again."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from monograph.errors import DamageWarning

_here = threading.local()


def listen() -> None:
    """Hear every DamageWarning of this process from now on. What no :func:`heard` waits for is shown as ever."""
    show = warnings.showwarning

    def told(message: Warning | str, category: type[Warning], *place: Any, **said: Any) -> None:
        waiting: list[str] | None = getattr(_here, "waiting", None)
        if waiting is None or not issubclass(category, DamageWarning):
            show(message, category, *place, **said)
        else:
            waiting.append(str(message))

    warnings.simplefilter("always", DamageWarning)
    warnings.showwarning = told


@contextmanager
def heard() -> Iterator[list[str]]:
    """What this thread is warned of, until left, each once; after :func:`listen`."""
    waiting: list[str] = []
    _here.waiting = waiting
    said: list[str] = []
    try:
        yield said
    finally:
        _here.waiting = None
        said.extend(dict.fromkeys(waiting))
