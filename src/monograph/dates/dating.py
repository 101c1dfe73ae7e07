"""When a document is from, by what it says of itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from monograph.dates import span
from monograph.dates.span import TimeSpan, own_day
from monograph.regex import regex

TOLD_BY = ("metadata", "text", "file")
"""What tells a document's date, the best first: a file's own, when it was last changed, is another in every copy."""

METADATA, TEXT, FILE = TOLD_BY

KEYS = (
    "date", "published", "published at", "date published", "publication date", "publish date", "pubdate", "sent",
    "sent at", "timestamp", "datetime", "created", "created at", "date created", "creation date", "updated",
    "updated at", "date updated", "modified", "modified at", "date modified", "last modified",
)  # fmt: skip
"""Keys of metadata that tell a date, the better one first: when a text was sent comes before when it was changed."""

HEAD = 400
"""Characters of a text that are looked at."""

_HEADER = regex(
    r"^\W{0,4}(?:date|sent|time|datum|gesendet|fecha)\W{0,3}:\W{0,3}(\S.{3,60})$", re.IGNORECASE | re.MULTILINE
)

_APART = regex(r"[^a-z]+")
_RANKS = {key.replace(" ", ""): rank for rank, key in enumerate(KEYS)}


@dataclass(frozen=True, slots=True)
class Dated:
    """When a document is from.

    Parameters
    ----------
    when:
        The time.
    told_by:
        ``metadata``, ``text`` where its title or first lines do, or ``file`` where only that does, by when it was
        changed last.
    """

    when: TimeSpan
    told_by: str

    def __str__(self) -> str:
        return str(self.when)


def date_of(metadata: Iterable[Mapping[str, Any]], title: str, text: str) -> Dated | None:
    """Return the date of a document, by what it says of itself; None if it says nothing.

    Parameters
    ----------
    metadata:
        The document's own, then those of its passages; what comes first and tells a date does.
    title, text:
        Looked at where no metadata tell a date: a line ``Date: …`` among the first, the one day in the title, or in a
        first line with hardly anything beside it. At least HEAD characters of the text.
    """
    for one in metadata:
        if (found := _told(one)) is not None:
            return found
    for line in _HEADER.finditer(text[:HEAD]):
        if (when := span.parse(line[1])) is not None:
            return Dated(when, TEXT)
    day = own_day(title, text[:HEAD])
    return None if day is None else Dated(span.of_day(day), TEXT)


def _told(metadata: Mapping[str, Any]) -> Dated | None:
    ranked = [(rank, key) for key in metadata if (rank := _RANKS.get(_APART.sub("", key.casefold()))) is not None]
    for _, key in sorted(ranked):
        if (when := _read(metadata[key])) is not None:
            return Dated(when, METADATA)
    return None


def _read(value: Any) -> TimeSpan | None:
    if isinstance(value, str):
        return span.parse(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return span.of_number(value)
    return None
