"""A time as it is written, as the seconds that it may be: an instant, a day, a month or a year."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from monograph.dates.days import MONTHS, days_in
from monograph.regex import regex

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_ISO = regex(r"\d{4}-?\d\d-?\d\d(?:[T ]\d\d.*)?", re.DOTALL)
_MONTH = regex(r"(\d{4})-(\d\d)|([^\W\d]+)\.?,? (?:of |de )?(\d{4})")
_YEAR = regex(r"\d{4}")
_LONGEST = 64
"""Characters: what is longer is a sentence, and no date."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """All seconds that a time may be, from the first to the last, since 1970 in UTC: one for an instant."""

    first: int
    last: int

    @property
    def first_day(self) -> str:
        """The day of the first second, ``2026-03-01``."""
        return _moment(self.first).date().isoformat()

    @property
    def last_day(self) -> str:
        """The day of the last second."""
        return _moment(self.last).date().isoformat()

    def __str__(self) -> str:
        """As ISO 8601 writes it, in UTC: ``2026``, ``2026-03``, ``2026-03-01``, ``2026-03-01T09:30:00Z``, else a/b."""
        first, last = _moment(self.first), _moment(self.last)
        for length in (4, 7, 10):
            if _of_days(text := first.date().isoformat()[:length]) == self:
                return text
        told = f"{first.isoformat()[:19]}Z"
        return told if first == last else f"{told}/{last.isoformat()[:19]}Z"


def parse(text: str) -> Span | None:
    """The time that a text is, all of it: ISO 8601, RFC 2822, a day, a month or a year as people write them.

    What has no zone is taken for UTC. None for what is no time, or one that no calendar has.
    """
    text = text.strip()
    if not 4 <= len(text) <= _LONGEST:
        return None
    found = _of_days(text)
    if found is None and _ISO.fullmatch(text):
        found = _instant(text)
    if found is None:
        found = _mailed(text)
    if found is None:
        days = days_in(text)
        found = _day(date.fromisoformat(days[0])) if len(days) == 1 else None
    return found


def of_number(number: int | float) -> Span | None:
    """The time that a number is: a year, or seconds or milliseconds since 1970 between 1973 and 2100."""
    if isinstance(number, int) and 1000 <= number <= 2999:
        return _of_days(str(number))
    if 100_000_000 <= number < 4_102_444_800:
        return Span(int(number), int(number))
    if 100_000_000_000 <= number < 4_102_444_800_000:
        return Span(int(number // 1000), int(number // 1000))
    return None


def of_day(day: date) -> Span:
    """All of a day."""
    return _day(day)


def between(first: date, last: date) -> Span:
    """From the beginning of a day to the end of another."""
    return Span(_day(first).first, _day(last).last)


def _of_days(text: str) -> Span | None:
    """A day, month or year."""
    try:
        if _YEAR.fullmatch(text):
            return between(date(int(text), 1, 1), date(int(text), 12, 31))
        if found := _MONTH.fullmatch(text):
            year = int(found[1] or found[4])
            month = int(found[2]) if found[2] else MONTHS.get(found[3].casefold(), 0)
            first = date(year, month, 1)
            return between(first, date(year, month, _days_of(first)))
        return _day(date.fromisoformat(text)) if len(text) == 10 and _ISO.fullmatch(text) else None
    except ValueError:
        return None


def _days_of(first: date) -> int:
    """How many days a month has."""
    if first.month == 12:
        return 31
    return (first.replace(month=first.month + 1) - first).days


def _day(day: date) -> Span:
    first = (day - _EPOCH.date()).days * 86_400
    return Span(first, first + 86_399)


def _instant(text: str) -> Span | None:
    try:
        return _span(datetime.fromisoformat(text)) if len(text) > 10 else None
    except ValueError:
        return None


def _mailed(text: str) -> Span | None:
    if ":" not in text:
        return None
    from email.utils import parsedate_to_datetime

    try:
        return _span(parsedate_to_datetime(text))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _span(moment: datetime) -> Span | None:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    second = (moment - _EPOCH) // _SECOND
    return Span(second, second) if FIRST <= second <= LAST else None


def _moment(second: int) -> datetime:
    return _EPOCH + timedelta(seconds=second)


FIRST, LAST = _day(date.min).first, _day(date.max).last
"""The first and last second that a calendar has."""
