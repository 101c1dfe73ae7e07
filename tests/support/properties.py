"""Number of examples that a property test draws."""

from __future__ import annotations

from hypothesis import settings


def examples(count: int) -> int:
    """Return the number of examples to draw, at least 4: `count`, or a fifth of it in the short suite."""
    return max(4, count // 5) if settings.get_current_profile_name() == "short" else count
