"""Days that are told without their year, or from the day a text is of: 3 May, next Friday, yesterday."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta

from monograph.dates.span import MONTH, MONTHS, has_digit
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
_AWAY = {
    "the day before yesterday": -2, "vorgestern": -2, "anteayer": -2, "前天": -2,
    "yesterday": -1, "gestern": -1, "ayer": -1, "昨天": -1, "昨晚": -1,
    "tomorrow": 1, "明天": 1, "明晚": 1,
    "the day after tomorrow": 2, "übermorgen": 2, "pasado mañana": 2, "后天": 2,
}  # fmt: skip
"""Days from the text's own. Not morgen and mañana, which are mornings too; today is the text's own."""

_YEARLESS = rf"""(?<![\w/.-])(?P<d1>\d{{1,2}})(?:st|nd|rd|th|[.º°])?(?:\ (?:de|of))?\ (?P<n1>{MONTH})\b
    | (?<![^\W_])(?P<n2>{MONTH})\.?\ (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?![\w:%])(?![.,]\d)
    | (?<![\d年])(?P<m3>\d{{1,2}})月(?P<d3>\d{{1,2}})[日号]"""
_NO_YEAR = r"(?!\.?,?(?:\ del?)?\ \d{4}(?!\d))"
_DAY = regex(rf"(?:{_YEARLESS}){_NO_YEAR}", re.VERBOSE | re.IGNORECASE)
_NEAR = regex(
    rf"""(?:{_YEARLESS}){_NO_YEAR}
    | (?<![^\W_])(?P<away>{"|".join(re.escape(word) for word in _AWAY if word.isascii() or word.islower())})(?![^\W_])
    | (?P<han>{"|".join(word for word in _AWAY if not (word.isascii() or word.islower()))})
    | (?<![^\W_])(?:this|next|coming|diesen|nächsten|kommenden|próximo)\ (?P<coming>{_WEEKDAY})\b
    | (?<![^\W_])(?:last|letzten|vergangenen|pasado)\ (?P<gone>{_WEEKDAY})\b""",
    re.VERBOSE | re.IGNORECASE,
)


def days_near(text: str, own: date) -> Iterator[tuple[int, str]]:
    """(offset, day) of the days that a text tells from its own day.

    A day without a year is the nearest one; ``next``, ``this`` and ``last`` Friday are the first after and before the
    own day. A weekday alone is none: news look back, chats ahead.
    """
    for found in _NEAR.finditer(text):
        if day := _near(found, own):
            yield found.start(), day.isoformat()


def yearless_days_in(text: str) -> list[tuple[int, int]]:
    """(month, day) of the days that a text names without a year, in order and once each."""
    if not has_digit(text):
        return []
    return list(dict.fromkeys(_month_and_day(found) for found in _DAY.finditer(text)))


def _month_and_day(found: re.Match[str]) -> tuple[int, int]:
    parts = {name[0]: value for name, value in found.groupdict().items() if value is not None and len(name) == 2}
    return int(parts["m"]) if "m" in parts else MONTHS[parts["n"].casefold()], int(parts["d"])


def _near(found: re.Match[str], own: date) -> date | None:
    if word := found["away"] or found["han"]:
        return own + timedelta(_AWAY[" ".join(word.casefold().split())])
    if name := found["coming"]:
        return own + timedelta((_WEEKDAYS[name.casefold()] - own.weekday() - 1) % 7 + 1)
    if name := found["gone"]:
        return own - timedelta((own.weekday() - _WEEKDAYS[name.casefold()] - 1) % 7 + 1)
    days = (_day(year, *_month_and_day(found)) for year in (own.year, own.year - 1, own.year + 1))
    return min((day for day in days if day), key=lambda day: abs(day - own), default=None)


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
