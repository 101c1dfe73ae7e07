"""Days as they are compared: 2026-04-10, however a text writes it."""

from __future__ import annotations

import re
from datetime import date

from monograph.regex import regex

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january januar jan enero janvier gennaio janeiro января",
            "february februar feb febrero février febbraio fevereiro февраля",
            "march märz mar marzo mars março марта",
            "april apr abril avril aprile апреля",
            "may mai mayo maggio maio мая",
            "june juni jun junio juin giugno junho июня",
            "july juli jul julio juillet luglio julho июля",
            "august aug agosto août августа",
            "september sept sep septiembre septembre settembre setembro сентября",
            "october oktober oct okt octubre octobre ottobre outubro октября",
            "november nov noviembre novembre novembro ноября",
            "december dezember dec dez diciembre décembre dicembre dezembro декабря",
        ),
        start=1,
    )
    for name in names.split()
}
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
"""Characters beside the day in a first line that says of which day a text is: ``Time: 20260105_11:00``."""


def days_in(text: str) -> list[str]:
    """The days that a text names with their year, as ``2026-04-10``, in order and once each.

    ``20260410``, ``10.04.2026``, ``10 April 2026``, ``April 10th, 2026``, ``10 de abril de 2026`` and ``2026年4月10日``
    are one day. ``04/10/2026`` is none: it is April in one country and October in another.
    """
    if not has_digit(text):
        return []
    days = (_day(found) for found in _DAY.finditer(text))
    return list(dict.fromkeys(day for day in days if day))


def has_digit(text: str) -> bool:
    """Whether a text has a digit: one without names no day, and needs no expression compiled."""
    return any(map(str.isdecimal, text))


def own_day(title: str, text: str) -> date | None:
    """The day that a text is of: the one day in its title, or in a first line with hardly anything beside it.

    A day within a sentence is none: a life begins with a day too.
    """
    days = days_in(title)
    if not days:
        head = text.lstrip()[:80].partition("\n")[0]
        days = days_in(head) if len(head) <= len("2026-04-10") + MOST_BESIDE else []
    return date.fromisoformat(days[0]) if len(days) == 1 else None


def _day(found: re.Match[str]) -> str:
    parts = {name[0]: value for name, value in found.groupdict().items() if value is not None}
    month = int(parts["m"]) if "m" in parts else MONTHS[parts["n"].casefold()]
    try:
        return date(int(parts["y"]), month, int(parts["d"])).isoformat()
    except ValueError:
        return ""
