"""The times that a question asks for, counted from a day: last week, in March, on 5 May, between 2 and 9 June 2023."""

from __future__ import annotations

import re
from datetime import date, timedelta

from monograph.dates.span import MONTH_NAMES, MONTHS, TimeSpan, between, days_in, of_day, parse
from monograph.regex import regex

_MONTH = (
    rf"(?:{'|'.join(names.split()[0] for names in MONTH_NAMES)}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?"
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_COUNTED = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7}
_UNIT = r"(?P<unit>day|week|month|year)s?"
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(_COUNTED)})"
_TIME = rf"""
    (?<![\w-])(?:
    (?:between|from)\ (?P<begin>\d{{1,2}})(?:st|nd|rd|th)?\ (?:and|to|until)\ (?P<end>
        \d{{1,2}}(?:st|nd|rd|th)?\ (?:of\ )?{_MONTH}(?:,?\ \d{{4}}(?!\d))?)
    | (?P<day>\d{{4}}[-/]\d{{1,2}}[-/]\d{{1,2}}(?!\d) | (?:19|20)\d{{6}}(?!\w)
      | \d{{1,2}}(?:st|nd|rd|th)?\ (?:of\ )?{_MONTH},?\ \d{{4}}(?!\d)
      | {_MONTH}\ \d{{1,2}}(?:st|nd|rd|th)?,?\ \d{{4}}(?!\d))
    | (?P<yearless>\d{{1,2}}(?:st|nd|rd|th)?\ (?:of\ )?{_MONTH} | {_MONTH}\ \d{{1,2}}(?:st|nd|rd|th)?(?![\w:%]))
    | (?P<month>{_MONTH}\ (?:of\ )?\d{{4}}(?!\d))
    | (?:in|during|since|until|this|last|early|late|mid)\ (?P<named>{_MONTH})(?!\.?\ (?:of\ )?\d)
    | (?:in|during|since|until)\ (?P<year>(?:19|20)\d\d)(?![\w-])
    | (?P<away>the\ day\ before\ yesterday|yesterday|today)\b
    | (?P<which>last|past|previous|this)\ (?:(?P<weekday>{"|".join(_WEEKDAYS)})\b
        | (?:(?P<several>\d{{1,3}}|{"|".join(_COUNTED)})\ )?(?P<period>day|week|month|year)s?\b)
    | {_COUNT}\ {_UNIT}\ ago\b
    )"""
TIMES = regex(_TIME, re.VERBOSE | re.IGNORECASE)
"""Times in a question; without a match :func:`times_asked` finds none."""
_JOINED = regex(r"\s*(?:and|to|until|till|through|-|–)\s+(?:on\s+|in\s+)?", re.IGNORECASE)
_BETWEEN = regex(r"\b(?:between|from)\s+(?:the\s+)?(?:on\s+|in\s+)?$", re.IGNORECASE)


def times_asked(text: str, today: date) -> tuple[TimeSpan, ...]:
    """Return the times that a question asks for; a text may be from any of them.

    Parameters
    ----------
    text:
        The question, in English.
    today:
        What ``yesterday`` and ``in March`` are counted from: a month or a day without a year is the last one that was.
    """
    found: list[tuple[re.Match[str], TimeSpan]] = []
    for one in TIMES.finditer(text):
        try:
            when = _time(one, today)
        except (ValueError, OverflowError):
            continue
        if when is not None:
            found.append((one, when))
    made: list[TimeSpan] = []
    waiting = iter(range(len(found)))
    for at in waiting:
        match, when = found[at]
        ahead = text[max(0, match.start() - 24) : match.start()]
        if at + 1 < len(found) and _BETWEEN.search(ahead):
            other, then = found[at + 1]
            if _JOINED.fullmatch(text[match.end() : other.start()]) and when.first <= then.last:
                made.append(TimeSpan(when.first, then.last))
                next(waiting)
                continue
        made.append(when)
    return tuple(dict.fromkeys(made))


def _time(found: re.Match[str], today: date) -> TimeSpan | None:
    if text := found["day"]:
        days = days_in(text)
        return of_day(date.fromisoformat(days[0])) if days else None
    if text := found["end"]:
        last = TIMES.fullmatch(text)
        then = None if last is None else _time(last, today)
        if then is None:
            return None
        first = of_day(date.fromisoformat(then.last_day).replace(day=int(found["begin"]))).first
        return TimeSpan(first, then.last) if first <= then.first else None
    if text := found["yearless"] or found["named"]:
        return _last(text, today)
    if text := found["month"] or found["year"]:
        return parse(text.replace(".", ""))
    if text := found["away"]:
        return of_day(today - timedelta({"today": 0, "yesterday": 1}.get(text.casefold(), 2)))
    if name := found["weekday"]:
        back = (today.weekday() - _WEEKDAYS.index(name.casefold()) - 1) % 7 + 1
        return of_day(today - timedelta(back))
    if found["period"]:
        return _period(found["period"].casefold(), found["which"].casefold(), found["several"], today)
    count = _number(found["count"])
    unit = found["unit"].casefold()
    middle = today - timedelta(count * {"day": 1, "week": 7, "month": 30.44, "year": 365.25}[unit])
    beside = timedelta({"day": 0, "week": 3, "month": 15, "year": 182}[unit])
    return between(middle - beside, middle + beside)


def _number(text: str) -> int:
    return _COUNTED[text.casefold()] if text.casefold() in _COUNTED else int(text)


def _last(text: str, today: date) -> TimeSpan | None:
    """Return the last month, or day of one, that began by today."""
    name = re.sub(r"[^a-z]|(?<=\d)(?:st|nd|rd|th)|of\b", "", re.sub(r"\d+(?:st|nd|rd|th)?", "", text.casefold()))
    day = re.search(r"\d+", text)
    for year in (today.year, today.year - 1):
        month = MONTHS[name]
        when = of_day(date(year, month, int(day[0]))) if day else parse(f"{year}-{month:02d}")
        if when is not None and when.first <= of_day(today).last:
            return when
    return None


def _period(unit: str, which: str, several: str | None, today: date) -> TimeSpan | None:
    if several or which == "past":
        count = _number(several) if several else 1
        return between(today - timedelta(count * {"day": 1, "week": 7, "month": 31, "year": 365}[unit]), today)
    back = 0 if which == "this" else 1
    if unit == "day":
        return of_day(today - timedelta(back))
    if unit == "week":
        monday = today - timedelta(today.weekday() + 7 * back)
        return between(monday, monday + timedelta(6))
    if unit == "year":
        return parse(f"{today.year - back:04d}")
    first = today.replace(day=1) - timedelta(back)
    return parse(f"{first.year:04d}-{first.month:02d}")
