"""Parser of times into spans of seconds, and of a document's date in its metadata, title or first lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from monograph.regex import regex

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_ISO = regex(r"\d{4}-?\d\d-?\d\d(?:[T ]\d\d.*)?", re.DOTALL)
_MONTH = regex(r"(\d{4})-(\d\d)|([^\W\d]+)\.?,? (?:of |de )?(\d{4})")
_YEAR = regex(r"\d{4}")
_LONGEST = 64
"""Maximum number of characters of a text that :func:`parse` reads. A longer text is a sentence, and states no time."""

DATE_SOURCES = ("metadata", "text", "file")
"""Sources of a document's date, most reliable first. A file's time of change is last, because it differs between
copies.
"""

METADATA, TEXT, FILE = DATE_SOURCES

KEYS = (
    "date", "published", "published at", "date published", "publication date", "publish date", "pubdate", "sent",
    "sent at", "timestamp", "datetime", "created", "created at", "date created", "creation date", "updated",
    "updated at", "date updated", "modified", "modified at", "date modified", "last modified",
)  # fmt: skip
"""Metadata keys whose value is a date, most reliable first. Dates of publication precede dates of change."""

HEAD = 400
"""Number of characters at the beginning of a text that are searched for a date."""

_HEADER = regex(
    r"^\W{0,4}(?:date|sent|time|datum|gesendet|fecha)\W{0,3}:\W{0,3}(\S.{3,60})$", re.IGNORECASE | re.MULTILINE
)

_NOT_LETTERS = regex(r"[^a-z]+")
_RANKS = {key.replace(" ", ""): rank for rank, key in enumerate(KEYS)}


@dataclass(frozen=True, slots=True, order=True)
class TimeSpan:
    """Range of seconds that a time may mean, from ``first`` to ``last`` inclusive.

    Seconds are counted since 1970 in UTC. For an instant, ``first`` and ``last`` are the same second.
    """

    first: int
    last: int

    @property
    def first_day(self) -> str:
        """Day of the first second in UTC, as ``2026-03-01``."""
        return _to_datetime(self.first).date().isoformat()

    @property
    def last_day(self) -> str:
        """Day of the last second in UTC, as ``2026-03-01``."""
        return _to_datetime(self.last).date().isoformat()

    def __str__(self) -> str:
        """Return the span as ISO 8601 in UTC: ``2026``, ``2026-03``, ``2026-03-01`` or ``2026-03-01T09:30:00Z``.

        These are a year, a month, a day and an instant. Any other span is returned as its first and last second:
        ``2026-03-01T09:30:00Z/2026-03-01T10:29:59Z``.
        """
        first, last = _to_datetime(self.first), _to_datetime(self.last)
        for length in (4, 7, 10):
            if _parse_days(text := first.date().isoformat()[:length]) == self:
                return text
        start = f"{first.isoformat()[:19]}Z"
        return start if first == last else f"{start}/{last.isoformat()[:19]}Z"


@dataclass(frozen=True, slots=True)
class Dated:
    """Date of a document.

    ``source`` says where the date comes from: ``metadata``, ``text`` (the title or first lines), or ``file`` (its time
    of last change).
    """

    when: TimeSpan
    source: str

    def __str__(self) -> str:
        return str(self.when)


def parse(text: str) -> TimeSpan | None:
    """Return the time that a text of 4 to 64 characters states, or None.

    The text is ISO 8601, RFC 2822, a month or a year, or it names exactly one day, as in ``10 April 2026``. A time
    without a time zone is treated as UTC. Return None for any other text, and for a date that does not exist, such as
    30 February.
    """
    text = text.strip()
    if not 4 <= len(text) <= _LONGEST:
        return None
    parsed = _parse_days(text)
    if parsed is None and len(text) > len("2026-03-01") and _ISO.fullmatch(text):
        with suppress(ValueError):
            parsed = _make_span(datetime.fromisoformat(text))
    if parsed is None and ":" in text:
        from email.utils import parsedate_to_datetime

        with suppress(ValueError, TypeError, IndexError, OverflowError):
            parsed = _make_span(parsedate_to_datetime(text))
    if parsed is None:
        days = days_in(text)
        parsed = of_day(date.fromisoformat(days[0])) if len(days) == 1 else None
    return parsed


def of_value(value: Any) -> TimeSpan | None:
    """Return the time that a JSON value means; None if the value is no time.

    A text is parsed by :func:`parse`. An int from 1000 to 2999 is a year. Any other number counts seconds or
    milliseconds since 1970, whichever gives a time from 1973 to 2099.
    """
    if isinstance(value, str):
        return parse(value)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    if isinstance(value, int) and 1000 <= value <= 2999:
        return _parse_days(str(value))
    if 100_000_000 <= value < 4_102_444_800:
        return TimeSpan(int(value), int(value))
    if 100_000_000_000 <= value < 4_102_444_800_000:
        return TimeSpan(int(value // 1000), int(value // 1000))
    return None


def between(first: date, last: date) -> TimeSpan:
    """Return the span from the first second of the day ``first`` to the last second of the day ``last``, in UTC."""
    return TimeSpan(of_day(first).first, of_day(last).last)


def _parse_days(text: str) -> TimeSpan | None:
    """Return the span of a year, a month or a day, such as ``2026-03-01``; None for any other text."""
    try:
        if _YEAR.fullmatch(text):
            return between(date(int(text), 1, 1), date(int(text), 12, 31))
        if match := _MONTH.fullmatch(text):
            year = int(match[1] or match[4])
            month = int(match[2]) if match[2] else MONTHS.get(match[3].casefold(), 0)
            first = date(year, month, 1)
            return between(first, date(year, 12, 31) if month == 12 else first.replace(month=month + 1) - timedelta(1))
        return of_day(date.fromisoformat(text)) if len(text) == 10 and _ISO.fullmatch(text) else None
    except ValueError:
        return None


def of_day(day: date) -> TimeSpan:
    """Return the span of a whole day in UTC."""
    first = (day - _EPOCH.date()).days * 86_400
    return TimeSpan(first, first + 86_399)


def _make_span(moment: datetime) -> TimeSpan | None:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    second = (moment - _EPOCH) // _SECOND
    return TimeSpan(second, second) if FIRST <= second <= LAST else None


def _to_datetime(second: int) -> datetime:
    return _EPOCH + timedelta(seconds=second)


MONTH_NAMES = (
    "January Januar Jan enero janvier gennaio janeiro января",
    "February Februar Feb febrero février febbraio fevereiro февраля",
    "March März Mar marzo mars março марта",
    "April Apr abril avril aprile апреля",
    "May Mai mai mayo maggio maio мая",
    "June Juni Jun junio juin giugno junho июня",
    "July Juli Jul julio juillet luglio julho июля",
    "August Aug agosto août августа",
    "September Sept Sep septiembre septembre settembre setembro сентября",
    "October Oktober Oct Okt octubre octobre ottobre outubro октября",
    "November Nov noviembre novembre novembro ноября",
    "December Dezember Dec Dez diciembre décembre dicembre dezembro декабря",
)
"""Names and abbreviations of each month in several languages. The English name is first."""

MONTHS = {name.casefold(): number for number, names in enumerate(MONTH_NAMES, start=1) for name in names.split()}
MONTH = "|".join(sorted(MONTHS, key=lambda name: (-len(name), name)))
_DAY = regex(
    rf"""(?<![^\W_])(?:
        (?P<y1>\d{{4}})[-/.](?P<m1>\d{{1,2}})[-/.](?P<d1>\d{{1,2}})(?!\d)
        | (?P<y2>(?:19|20)\d\d)(?P<m2>\d\d)(?P<d2>\d\d)(?![^\W_])
        | (?P<d3>\d{{1,2}})\.(?P<m3>\d{{1,2}})\.(?P<y3>\d{{4}})(?!\d)
        | (?P<d4>\d{{1,2}})(?:st|nd|rd|th|er|[.º°])?(?:\ (?:de|of))?\ (?P<n4>{MONTH})\.?,?(?:\ del?)?\ (?P<y4>\d{{4}})
          (?!\d)
        | (?P<n5>{MONTH})\.?\ (?P<d5>\d{{1,2}})(?:st|nd|rd|th)?,?\ (?P<y5>\d{{4}})(?!\d)
        | (?P<y6>\d{{4}})年(?P<m6>\d{{1,2}})月(?P<d6>\d{{1,2}})[日号])""",
    re.VERBOSE | re.IGNORECASE,
)


MOST_BESIDE = 24
"""Maximum number of characters that the first line of a text may have in addition to a day, as in
``Time: 20260105_11:00``. :func:`day_of_text` ignores a longer first line.
"""


def days_in(text: str) -> list[str]:
    """Return the days that a text names with a year, as ``2026-04-10``, in text order and without repeats.

    ``20260410``, ``10.04.2026``, ``10 April 2026``, ``April 10th, 2026``, ``10 de abril de 2026`` and ``2026年4月10日``
    are the same day. ``04/10/2026`` is skipped: it is in April in some countries and in October in others.
    """
    if not has_digit(text):
        return []
    days: dict[str, None] = {}
    for match in _DAY.finditer(text):
        parts = {name[0]: value for name, value in match.groupdict().items() if value is not None}
        month = int(parts["m"]) if "m" in parts else MONTHS[parts["n"].casefold()]
        with suppress(ValueError):
            days[date(int(parts["y"]), month, int(parts["d"])).isoformat()] = None
    return list(days)


def has_digit(text: str) -> bool:
    """Return whether a text has a digit. A text without digits names no day and need not be searched for one."""
    return any(map(str.isdecimal, text))


def day_of_text(title: str, text: str) -> date | None:
    """Return the day that a text is about: the only day in its title, else the only day in its first line.

    The first line counts only if it has at most MOST_BESIDE characters in addition to the day. A day within a sentence
    may be another day: a biography begins with a day of birth. Return None if there is no day, or more than one.
    """
    days = days_in(title)
    if not days:
        head = text.lstrip()[:80].partition("\n")[0]
        days = days_in(head) if len(head) <= len("2026-04-10") + MOST_BESIDE else []
    return date.fromisoformat(days[0]) if len(days) == 1 else None


FIRST, LAST = of_day(date.min).first, of_day(date.max).last
"""First and last second that Python's dates can express, in seconds since 1970 in UTC."""


def date_of(metadata: Iterable[Mapping[str, Any]], title: str, text: str) -> Dated | None:
    """Return the date of a document, from its metadata, title or first lines; None if they contain no date.

    The first of these places that has a date decides:

    1. ``metadata``, under one of KEYS: first the metadata of the document, then the metadata of each passage.
    2. A line such as ``Date: …`` in the first 400 characters (HEAD) of ``text``.
    3. ``title`` or the first line of ``text``: see :func:`day_of_text`.
    """
    for mapping in metadata:
        ranks = {key: rank for key in mapping if (rank := _RANKS.get(_NOT_LETTERS.sub("", key.casefold()))) is not None}
        for key in sorted(ranks, key=lambda key: (ranks[key], key)):
            if (when := of_value(mapping[key])) is not None:
                return Dated(when, METADATA)
    for line in _HEADER.finditer(text[:HEAD]):
        if (when := parse(line[1])) is not None:
            return Dated(when, TEXT)
    day = day_of_text(title, text[:HEAD])
    return None if day is None else Dated(of_day(day), TEXT)
