"""Regular expressions that are compiled at their first use, so that importing a module compiles none."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _Uncompiled:
    """Takes the place of a compiled expression, and looks up each of its methods once."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self._pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self._pattern, self._flags), name)
        setattr(self, name, found)
        return found


def regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return what has the methods and attributes of ``re.compile(pattern, flags)``, compiled when one is first used."""
    return cast("re.Pattern[AnyStr]", _Uncompiled(pattern, flags))
