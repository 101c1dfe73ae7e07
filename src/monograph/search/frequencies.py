"""In how many chunks words stand, and which are common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

COMMON = 0.08
SOME = 250
"""Words that stand in more than this share of the chunks, and in more than so many of them or in half, are not looked
up, unless there are no others: they cost most and tell least (docs/measuring.md)."""


@dataclass(frozen=True, slots=True)
class Frequencies:
    """In how many of ``total`` chunks each of some folded words stands; one that stands in none is not in ``chunks``.

    Words that name nothing are counted until they are common. A search asks once: to count goes over all that is
    known of a word.
    """

    total: int
    chunks: Mapping[str, int]

    @property
    def most(self) -> float:
        """A word that stands in more chunks is common."""
        return most(self.total)


def most(total: int) -> float:
    """In so many of a corpus's chunks a word may stand that is not common."""
    return max(total * COMMON, min(total / 2, SOME))
