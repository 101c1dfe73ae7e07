"""Regular expressions that are compiled at first use, so that importing a module compiles none."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _Uncompiled:
    """Stand-in for a compiled regular expression.

    It compiles the expression when one of its attributes is first used, and caches each attribute.
    """

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self._pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self._pattern, self._flags), name)
        setattr(self, name, found)
        return found


def regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a stand-in for ``re.compile(pattern, flags)`` that is compiled when one of its methods is first used."""
    return cast("re.Pattern[AnyStr]", _Uncompiled(pattern, flags))
