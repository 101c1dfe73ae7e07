"""The states that a document had in a file that keeps them."""

from __future__ import annotations

from dataclasses import dataclass

from monograph.dates.span import Span


@dataclass(frozen=True, slots=True, order=True)
class Valid:
    """When a document stood in the file as it is here, in seconds since 1970 (UTC).

    Parameters
    ----------
    since:
        The second in which the file learnt of it.
    until:
        The second in which it was replaced or removed, which is not among those in which it stood; None while it
        stands.
    """

    since: int
    until: int | None = None

    def at(self, second: int) -> bool:
        """Whether it stood so at the end of a second."""
        return self.since <= second and (self.until is None or second < self.until)

    def __str__(self) -> str:
        """``since 2026-03-01T09:30:00Z``, or ``2026-03-01T09:30:00Z to 2026-04-02T08:00:00Z``."""
        first = Span(self.since, self.since)
        return f"since {first}" if self.until is None else f"{first} to {Span(self.until, self.until)}"


@dataclass(frozen=True, slots=True)
class Version:
    """A state of a document, without its text; ``characters`` is the length of that."""

    id: str
    title: str
    uri: str
    characters: int
    valid: Valid
