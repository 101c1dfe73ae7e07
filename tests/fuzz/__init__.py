"""Random inputs for all that reads what others wrote. Run by ``make fuzz``, or ``python -m fuzz`` in ``tests``."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TypeAlias

Case: TypeAlias = tuple[str, Callable[[], object]]
"""A description, and work that must return or raise MonographError."""
Draw: TypeAlias = Callable[[Random], Case]
"""Draws a case; each part of the fuzz is a module whose ``cases(folder)`` is a context of such a function."""
