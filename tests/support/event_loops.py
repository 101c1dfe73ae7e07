"""Threads in which methods run."""

from __future__ import annotations

from threading import get_ident
from typing import Any

import pytest


def note_threads(monkeypatch: pytest.MonkeyPatch, kind: type, *names: str) -> list[int]:
    """Return a list to which each later call of these methods of a class appends its thread id."""
    threads: list[int] = []

    def noting(real: Any) -> Any:
        def noted(*arguments: Any, **named: Any) -> Any:
            threads.append(get_ident())
            return real(*arguments, **named)

        return noted

    for name in names:
        monkeypatch.setattr(kind, name, noting(getattr(kind, name)))
    return threads
