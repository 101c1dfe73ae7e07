"""Random inputs for all code that reads foreign data. Run by ``make fuzz``, or ``python -m fuzz`` in ``tests``."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TypeAlias

Case: TypeAlias = tuple[str, Callable[[], object]]
"""Description, and a function that must return or raise MonographError."""
Draw: TypeAlias = Callable[[Random], Case]
"""Function that draws a case. Each part is a module whose context manager ``cases(folder)`` yields one."""
