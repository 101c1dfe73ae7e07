"""Mentions known by their shape: addresses, dates, times, amounts, codes and texts in quotation marks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from monograph.dates.span import MONTH_NAMES
from monograph.derive.extract.clues import words
from monograph.regex import regex

MONTHS = frozenset(" ".join(MONTH_NAMES).split()) - {"Okt", "Dez"}
UNITS = words(
    """
percent Prozent million billion trillion euro euros dollar dollars pounds km kg cm mm mph mile miles meters metres feet
ft acres hectares Millionen Milliarden Euro millones kB MB GB TB ms Hz kHz MHz GHz kW MW GW kWh MWh GWh
"""
)
"""Units that may follow an amount. A unit counts only if no ASCII letter follows it."""

MAGNITUDES = words("million billion trillion m bn k")
"""Magnitudes that may follow an amount of money."""

_MONTH = rf"(?:{'|'.join(sorted(MONTHS, key=lambda month: (-len(month), month)))})\b\.?"
# Tried in this order, from the first character of a word with a digit, or from the month before it.
_NUMERIC = regex(
    rf"""(?P<date>\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}(?!\d) | \d{{1,2}}[./]\d{{1,2}}[./]\d{{4}} | (?:19|20)\d{{6}}(?!\d)
        | \d{{1,2}}(?:st|nd|rd|th|er|[.º°])?(?:\ (?:de|of))?\ {_MONTH}(?:,?(?:\ del?)?\ \d{{4}})?
        | {_MONTH}\ \d{{1,2}}(?:st|nd|rd|th)?(?!\d)(?:,?\ \d{{4}}(?!\d))? | {_MONTH}(?:\ del?)?\ \d{{4}}(?!\d)
        | \d{{2,4}}年(?:\d{{1,2}}月(?:\d{{1,2}}[日号])?)? | \d{{1,2}}月(?:\d{{1,2}}[日号])? | (?:1[0-9]|20)\d0s\b
        | (?<![A-Za-z0-9_])(?:1[0-9]|20)\d\d(?![^\W\u3400-\u9fff]|%|[.,:]\d|-\d{{3}}))
    | (?P<time>\d{{1,2}}[:.]\d\d(?::\d\d)?(?:\ ?[apAP]\.?[mM]\b\.?|\ Uhr)(?!\d) | \d{{1,2}}:\d\d(?::\d\dZ?)?(?!\d)
        | \d{{1,2}}(?:\ ?[apAP]\.?[mM]\b\.?|\ ?Uhr\b|点(?:半|\d{{1,2}}分)?))
    | (?P<quantity>[$€£¥]\ ?\d[\d.,]*+(?:\ ?(?:{"|".join(sorted(MAGNITUDES))})\b)?
        | \d[\d.,]*+\ ?(?:[%€]|(?:(?:Millionen|Milliarden)\sEuro|°[CF]|{"|".join(sorted(UNITS))})(?![A-Za-z])
            |[万亿]?(?:公里|公斤|[美欧]?元|人)|[万亿]))
    | (?P<code>(?=[\w/-]{{0,64}}[A-Z])[A-Z0-9]++(?:[-_/][A-Z0-9]++)++(?![a-z])
        | [A-Z]+\d\d[A-Z0-9]* | [A-Z]{{2,}}\d[A-Z0-9]* | [vV]?\d+(?:\.\d+){{2,}})""",
    re.VERBOSE,
)
_DIGIT = regex(r"\d")
_LAST_WORD = regex(r"([^\W\d_\u3400-\u9fff]+)\.?$")
_REST = regex(r"[\d.,]*[\w-]*")
_BEFORE_DIGIT = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_/-")
_CURRENCIES = frozenset("$€£¥")
_URL = regex(r"(?:https?://|www\.)[^\s<>\"'«»。，、；！？）》」]{3,200}(?<![.,;:!?)\]])")
_EMAIL = regex(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
_QUOTE = regex(
    r"(?<!\w)\"(?=\S)[^\"\n]{2,80}\"(?!\w)|“[^“”\n]{2,80}”|„[^„“”\n]{2,80}[“”]|‘[^‘\n]{2,80}?’(?!\w)|«[^«»\n]{2,80}»"
    r"|»(?=\S)[^«»\n]{2,80}(?<=\S)«|「[^「」\n]{1,40}」|『[^『』\n]{1,40}』|(?P<work>《[^《》\n]{1,40}》)"
)
_OPENING = regex('["“„‘«»「『《]')
_LONGEST_CODE = 24
_LONGEST_MONTH = 12


def shapes(text: str) -> list[tuple[int, int, str]]:
    """Return (start, end, kind) of all addresses in a text, then of its numbers, then of its quotes.

    Numbers are dates, times, amounts and codes. Addresses and numbers never overlap.
    """
    mentions: list[tuple[int, int, str]] = []
    if "http" in text or "www." in text:
        mentions += [(*match.span(), "url") for match in _URL.finditer(text)]
    if "@" in text:
        urls = [(start, end) for start, end, _ in mentions]
        mentions += [(*match.span(), "email") for match in _EMAIL.finditer(without(text, urls))]
    mentions += numbers(without(text, sorted((start, end) for start, end, _ in mentions)))
    mentions += quotes(text)
    return mentions


def without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return a text of the same length, with NUL for each character in ``spans``, which must be in order of start."""
    if not spans:
        return text
    parts, position = [], 0
    for start, end in spans:
        parts += [text[position:start], "\0" * (end - start)]
        position = end
    return "".join((*parts, text[position:]))


def numbers(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, kind) of the dates, times, amounts and codes in a text, in order."""
    end = 0
    while (digit := _DIGIT.search(text, end)) is not None:
        start = _find_start(text, digit.start(), end)
        month = _find_month(text, start, end)
        match = _NUMERIC.match(text, month) if month < start else None
        match = match or _NUMERIC.match(text, start)
        if match is None:
            rest = _REST.match(text, digit.start())
            end = rest.end() if rest is not None else digit.end()
            continue
        written = match.group()
        written = written if match.lastgroup == "time" else written.rstrip(".,")
        yield match.start(), match.start() + len(written), str(match.lastgroup)
        end = match.end()


def _find_start(text: str, digit: int, end: int) -> int:
    """Return the start of the digit's word, or of a currency sign before it; no earlier than ``end``."""
    start, least = digit, max(end, digit - _LONGEST_CODE)
    while start > least and text[start - 1] in _BEFORE_DIGIT:
        start -= 1
    # The word reaches back to the previous match.
    if start == end > 0:
        return digit
    while start < digit and text[start] in "_/-":
        start += 1
    if start > end and text[start - 1] in _CURRENCIES:
        return start - 1
    return start - 2 if start > end + 1 and text[start - 1] == " " and text[start - 2] in _CURRENCIES else start


def _find_month(text: str, number: int, end: int) -> int:
    """Return the start of the month's name between ``end`` and ``number`` (``May 4``); ``number`` if there is none."""
    start = number
    while start - 2 > end and text[start - 1] == " ":
        before = _LAST_WORD.search(text, max(end, start - _LONGEST_MONTH - 1), start - 1)
        if before is None:
            return number
        start = before.start()
        if before[1] not in ("de", "del"):
            return start if before[1] in MONTHS else number
    return number


def quotes(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, kind) of the quoted texts, in order. Spans do not include the quotation marks."""
    end = 0
    # To search for an opening mark is much faster than to try the whole expression everywhere.
    while (opening := _OPENING.search(text, end)) is not None:
        match = _QUOTE.match(text, opening.start())
        end = opening.end() if match is None else match.end()
        if match is None:
            continue
        inner = match.group()[1:-1]
        start = match.start() + 1 + len(inner) - len(inner.lstrip())
        inner = inner.strip().rstrip(",.;，。；").rstrip()
        if len(inner) > 1 or (inner and not inner.isascii()):
            yield start, start + len(inner), match.lastgroup or "quote"
