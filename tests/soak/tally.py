"""What a part of the soak has done, and what it found."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that may not be: where, what, and the command that shows it again."""

    where: str
    what: str
    again: str


@dataclass(slots=True)
class Tally:
    """How often each thing was done, by kind of it and then by how it ended, and faults."""

    done: dict[str, Counter[str]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def count(self, what: str, how: str, times: int = 1) -> None:
        """Count something that was done."""
        self.done.setdefault(what, Counter())[how] += times

    def include(self, other: Tally) -> None:
        """Add another tally to this one."""
        for what, hows in other.done.items():
            self.done.setdefault(what, Counter()).update(hows)
        self.faults += other.faults

    def total(self, how: str) -> int:
        """How often something ended so."""
        return sum(hows[how] for hows in self.done.values())
