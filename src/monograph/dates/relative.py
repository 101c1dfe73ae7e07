"""Parsers of periods in questions, and of days without a year in texts.

A question may ask for *last week*, *in March* or *between 2 and 9 June 2023*. A text may name *5 May*, *next Friday* or
*yesterday*.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, timedelta

from monograph.dates.span import MONTH, MONTH_NAMES, MONTHS, TimeSpan, between, days_in, has_digit, of_day, parse
from monograph.regex import regex

_WEEKDAYS = {
    name: number
    for number, names in enumerate(
        (
            "monday montag lunes 一",
            "tuesday dienstag martes 二",
            "wednesday mittwoch miércoles 三",
            "thursday donnerstag jueves 四",
            "friday freitag viernes 五",
            "saturday samstag sonnabend sábado 六",
            "sunday sonntag domingo 日 天",
        )
    )
    for name in names.split()
}
_WEEKDAY = "|".join(name for name in _WEEKDAYS if name.islower())
# "morgen" and "mañana" are left out, because they also mean "morning".
_SHIFTS = {
    "the day before yesterday": -2, "vorgestern": -2, "anteayer": -2, "前天": -2,
    "yesterday": -1, "gestern": -1, "ayer": -1, "昨天": -1, "昨晚": -1,
    "tomorrow": 1, "明天": 1, "明晚": 1,
    "the day after tomorrow": 2, "übermorgen": 2, "pasado mañana": 2, "后天": 2,
}  # fmt: skip
"""Days to add to the day that the text is about, by word."""

_YEARLESS = rf"""(?<![\w/.-])(?P<d1>\d{{1,2}})(?:st|nd|rd|th|[.º°])?(?:\ (?:de|of))?\ (?P<n1>{MONTH})\b
    | (?<![^\W_])(?P<n2>{MONTH})\.?\ (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?![\w:%])(?![.,]\d)
    | (?<![\d年])(?P<m3>\d{{1,2}})月(?P<d3>\d{{1,2}})[日号]"""
_NO_YEAR = r"(?!\.?,?(?:\ del?)?\ \d{4}(?!\d))"
_DAY = regex(rf"(?:{_YEARLESS}){_NO_YEAR}", re.VERBOSE | re.IGNORECASE)
_RELATIVE_DAY = regex(
    rf"""(?:{_YEARLESS}){_NO_YEAR}
    | (?<![^\W_])(?P<away>{"|".join(re.escape(word) for word in _SHIFTS if word.isascii() or word.islower())})(?![^\W_])
    | (?P<han>{"|".join(word for word in _SHIFTS if not (word.isascii() or word.islower()))})
    | (?<![^\W_])(?:this|next|coming|diesen|nächsten|kommenden|próximo)\ (?P<coming>{_WEEKDAY})\b
    | (?<![^\W_])(?:last|letzten|vergangenen|pasado)\ (?P<gone>{_WEEKDAY})\b""",
    re.VERBOSE | re.IGNORECASE,
)


def days_near(text: str, own: date) -> Iterator[tuple[int, str]]:
    """Yield (offset in the text, ISO date) for each day that a text names without a year, or relative to ``own``.

    ``own`` is the day that the text is about.

    - *5 May* is the date nearest to ``own``.
    - *Yesterday* is the day before ``own``.
    - *This Friday* and *next Friday* are the first Friday after ``own``. *Last Friday* is the last one before ``own``.
    - *Friday* alone is skipped: in news it means a past day, and in chats a future one.
    """
    for match in _RELATIVE_DAY.finditer(text):
        if day := _resolve_near(match, own):
            yield match.start(), day.isoformat()


def days_without_year(text: str) -> list[tuple[int, int]]:
    """Return the (month, day) of each day that a text names without a year, in text order and without repeats."""
    if not has_digit(text):
        return []
    return list(dict.fromkeys(_parse_month_and_day(match) for match in _DAY.finditer(text)))


def _parse_month_and_day(match: re.Match[str]) -> tuple[int, int]:
    parts = {name[0]: value for name, value in match.groupdict().items() if value is not None and len(name) == 2}
    return int(parts["m"]) if "m" in parts else MONTHS[parts["n"].casefold()], int(parts["d"])


def _resolve_near(match: re.Match[str], own: date) -> date | None:
    if word := match["away"] or match["han"]:
        return own + timedelta(_SHIFTS[" ".join(word.casefold().split())])
    if name := match["coming"]:
        return own + timedelta((_WEEKDAYS[name.casefold()] - own.weekday() - 1) % 7 + 1)
    if name := match["gone"]:
        return own - timedelta((own.weekday() - _WEEKDAYS[name.casefold()] - 1) % 7 + 1)
    days = []
    for year in (own.year, own.year - 1, own.year + 1):
        with suppress(ValueError):  # 29 February is not in every year.
            days.append(date(year, *_parse_month_and_day(match)))
    return min(days, key=lambda day: abs(day - own), default=None)


_MONTH = (
    rf"(?:{'|'.join(names.split()[0] for names in MONTH_NAMES)}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?"
)
_NUMBER_WORDS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7}
_UNIT = r"(?P<unit>day|week|month|year)s?"
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(_NUMBER_WORDS)})"
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
    | (?P<which>last|past|previous|this)\ (?:(?P<weekday>monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b
        | (?:(?P<several>\d{{1,3}}|{"|".join(_NUMBER_WORDS)})\ )?(?P<period>day|week|month|year)s?\b)
    | {_COUNT}\ {_UNIT}\ ago\b
    )"""
TIMES = regex(_TIME, re.VERBOSE | re.IGNORECASE)
"""Matches a time in a question, as *last week*. Without a match, :func:`requested_periods` returns an empty tuple."""
_JOINED = regex(r"\s*(?:and|to|until|till|through|-|–)\s+(?:on\s+|in\s+)?", re.IGNORECASE)
_BETWEEN = regex(r"\b(?:between|from)\s+(?:the\s+)?(?:on\s+|in\s+)?$", re.IGNORECASE)


def requested_periods(text: str, today: date) -> tuple[TimeSpan, ...]:
    """Return the periods that a question asks for, in the order of the question and without repeats.

    If there are several periods, the question asks for documents from any of them. The question is in English.
    *Yesterday* and *last week* are counted from ``today``. A month or day without a year (*in March*, *on 5 May*) is
    the latest one that began on or before ``today``.
    """
    matches: list[tuple[re.Match[str], TimeSpan]] = []
    for candidate in TIMES.finditer(text):
        try:
            when = _parse_time(candidate, today)
        except (ValueError, OverflowError):
            continue
        if when is not None:
            matches.append((candidate, when))
    periods: list[TimeSpan] = []
    waiting = iter(range(len(matches)))
    for index in waiting:
        match, when = matches[index]
        ahead = text[max(0, match.start() - 24) : match.start()]
        if index + 1 < len(matches) and _BETWEEN.search(ahead):
            other, then = matches[index + 1]
            if _JOINED.fullmatch(text[match.end() : other.start()]) and when.first <= then.last:
                periods.append(TimeSpan(when.first, then.last))
                next(waiting)
                continue
        periods.append(when)
    return tuple(dict.fromkeys(periods))


def _parse_time(match: re.Match[str], today: date) -> TimeSpan | None:
    if text := match["day"]:
        days = days_in(text)
        return of_day(date.fromisoformat(days[0])) if days else None
    if text := match["end"]:
        last = TIMES.fullmatch(text)
        then = None if last is None else _parse_time(last, today)
        if then is None:
            return None
        first = of_day(date.fromisoformat(then.last_day).replace(day=int(match["begin"]))).first
        return TimeSpan(first, then.last) if first <= then.first else None
    if text := match["yearless"] or match["named"]:
        return _find_last(text, today)
    if text := match["month"] or match["year"]:
        return parse(text.replace(".", ""))
    if text := match["away"]:
        return of_day(today - timedelta({"today": 0, "yesterday": 1}.get(text.casefold(), 2)))
    if name := match["weekday"]:
        back = (today.weekday() - _WEEKDAYS[name.casefold()] - 1) % 7 + 1
        return of_day(today - timedelta(back))
    if match["period"]:
        return _parse_period(match, today)
    count = _parse_number(match["count"])
    unit = match["unit"].casefold()
    middle = today - timedelta(count * {"day": 1, "week": 7, "month": 30.44, "year": 365.25}[unit])
    tolerance = timedelta({"day": 0, "week": 3, "month": 15, "year": 182}[unit])
    return between(middle - tolerance, middle + tolerance)


def _parse_number(text: str) -> int:
    return _NUMBER_WORDS[text.casefold()] if text.casefold() in _NUMBER_WORDS else int(text)


def _find_last(text: str, today: date) -> TimeSpan | None:
    """Return the latest month (``March``) or day (``5 March``) that began by ``today``; None for 30 February."""
    name = re.sub(r"[^a-z]|(?<=\d)(?:st|nd|rd|th)|of\b", "", re.sub(r"\d+(?:st|nd|rd|th)?", "", text.casefold()))
    day = re.search(r"\d+", text)
    month = MONTHS[name]
    # 29 February may be eight years ago: 1900 was no leap year.
    for year in range(today.year, max(0, today.year - 9), -1):
        with suppress(ValueError):  # The year lacks the day.
            when = of_day(date(year, month, int(day[0]))) if day else parse(f"{year}-{month:02d}")
            if when is not None and when.first <= of_day(today).last:
                return when
    return None


def _parse_period(match: re.Match[str], today: date) -> TimeSpan | None:
    unit, which, several = match["period"].casefold(), match["which"].casefold(), match["several"]
    if several or which == "past":
        count = _parse_number(several or "1")
        return between(today - timedelta(count * {"day": 1, "week": 7, "month": 31, "year": 365}[unit]), today)
    back = 0 if which == "this" else 1
    if unit == "day":
        return of_day(today - timedelta(back))
    if unit == "week":
        monday = today - timedelta(today.weekday() + 7 * back)
        return between(monday, monday + timedelta(6))
    if unit == "year":
        return parse(f"{today.year - back:04d}")
    return parse((today.replace(day=1) - timedelta(back)).isoformat()[:7])
