"""Last and first names that stand for a full one."""

from __future__ import annotations


def is_short_form(key: str, full: str) -> bool:
    """Whether a key is the first or the last word of a longer one."""
    words = full.split()
    return len(words) > 1 and key in (words[0], words[-1])
