"""A fault that is planted: the soak is to find it, or it finds nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from soak.corpus import everybody, opened
from soak.process import Tell, apart

Alter = Callable[[Path], None]
_SECONDS = 60


def alter(path: Path) -> None:
    """Take a document out behind everyone's back, so that no table contradicts another."""

    def work(_: Tell) -> None:
        with opened(path) as monograph:
            if any(one.id == everybody().id for one in monograph.documents()):
                monograph.remove([everybody().id])

    outcome = apart(work, _SECONDS)
    if outcome.how != "done":
        raise RuntimeError(f"no fault could be planted: {outcome.value}")
