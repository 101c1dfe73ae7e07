"""Things known by their shape: addresses, dates, times, amounts, codes and what stands in quotation marks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from monograph.values import Mention

_MONTH_NAMES = """
January Januar Jan February Februar Feb March März Mar April Apr May Mai June Juni Jun July Juli Jul August Aug
September Sept Sep October Oktober Oct November Nov December Dezember Dec enero febrero marzo abril mayo junio
julio agosto septiembre octubre noviembre diciembre janvier février mars avril juin juillet août septembre
octobre novembre décembre
"""
_MONTH = rf"(?:{'|'.join(_MONTH_NAMES.split())})\.?"
_UNITS = """
percent Prozent million billion trillion euro euros dollar dollars pounds km kg cm mm mph mile miles
metres meters feet ft acres hectares Millionen Milliarden Euro millones
"""
# Tried in this order, from the first sign of a word with a digit, or from the month before it.
_NUMERIC = re.compile(
    rf"""(?P<date>\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}(?!\d) | \d{{1,2}}[./]\d{{1,2}}[./]\d{{4}} | (?:19|20)\d{{6}}(?!\d)
        | \d{{1,2}}(?:st|nd|rd|th|\.)?(?:\ (?:de|of))?\ {_MONTH}(?:,?(?:\ del?)?\ \d{{4}})?
        | {_MONTH}\ \d{{1,2}}(?:st|nd|rd|th)?(?!\d)(?:,?\ \d{{4}}(?!\d))? | {_MONTH}(?:\ de)?\ \d{{4}}(?!\d)
        | \d{{2,4}}年(?:\d{{1,2}}月(?:\d{{1,2}}[日号])?)? | \d{{1,2}}月\d{{1,2}}[日号]
        | (?:1[0-9]|20)\d\d(?![\w%]|[.,:]\d|-\d{{3}}))
    | (?P<time>\d{{1,2}}[:.]\d\d(?::\d\d)?(?:\ ?[apAP]\.?[mM]\b\.?|\ Uhr)(?!\d) | \d{{1,2}}:\d\d(?::\d\d)?(?!\d)
        | \d{{1,2}}\ ?(?:[apAP]\.?[mM]\b\.?|Uhr\b|点))
    | (?P<quantity>[$€£¥]\ ?\d[\d.,]*(?:\ ?(?:million|billion|trillion|m|bn|k)\b)?
        | \d[\d.,]*(?:\ ?%|\ ?(?:{"|".join(_UNITS.split())})\b|公里|万|亿|元))
    | (?P<code>(?=[\w/-]*[A-Z])[A-Z0-9]+(?:[-_/][A-Z0-9]+)+ | [A-Z]{{1,}}\d{{2,}}[A-Z0-9]* | [A-Z]{{2,}}\d[A-Z0-9]*)""",
    re.VERBOSE,
)
_WITH_DIGIT = re.compile(r"[^\s\d]*\d\S*")
_FIRST_SIGN = re.compile(r"[\w$€£¥]")
_WORD_BEFORE = re.compile(rf"\b{_MONTH} $", re.IGNORECASE)
_URL = re.compile(r"(?:https?://|www\.)[^\s<>\"'«»]{3,200}(?<![.,;:!?)\]])")
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
_QUOTE = re.compile(
    r"\"[^\"\n]{2,80}\"|“[^”\n]{2,80}”|„[^“”\n]{2,80}[“”]|«[^»\n]{2,80}»|「[^」\n]{1,40}」|《[^》\n]{1,40}》|『[^』\n]{1,40}』"
)
_LONGEST_MONTH = 12


def shapes(text: str) -> list[Mention]:
    """What a text holds of known shapes, addresses first, then numbers, then quotes; the first two never overlap."""
    found: list[Mention] = []
    if "http" in text or "www." in text:
        found += [Mention(one.group(), "url", *one.span()) for one in _URL.finditer(text)]
    if "@" in text:
        found += [Mention(one.group(), "email", *one.span()) for one in _EMAIL.finditer(text) if _apart(one, found)]
    found += list(_numeric(text, tuple(found)))
    found += list(_quotes(text))
    return found


def _apart(match: re.Match[str], others: list[Mention]) -> bool:
    return all(match.end() <= other.start or other.end <= match.start() for other in others)


def _numeric(text: str, taken: tuple[Mention, ...]) -> Iterator[Mention]:
    end = 0
    for word in _WITH_DIGIT.finditer(text):
        sign = _FIRST_SIGN.search(text, word.start(), word.end())
        if sign is None or word.end() <= end or any(one.start < word.end() and word.start() < one.end for one in taken):
            continue
        month = _WORD_BEFORE.search(text, max(end, word.start() - _LONGEST_MONTH), word.start())
        match = _NUMERIC.match(text, month.start()) if month is not None else None
        match = match or _NUMERIC.match(text, max(end, sign.start()))
        if match is not None:
            end = match.end()
            written = match.group().rstrip(".,") if match.lastgroup != "time" else match.group()
            yield Mention(written, str(match.lastgroup), match.start(), match.start() + len(written))


def _quotes(text: str) -> Iterator[Mention]:
    for match in _QUOTE.finditer(text):
        inner = match.group()[1:-1]
        start = match.start() + 1 + len(inner) - len(inner.lstrip())
        inner = inner.strip().rstrip(",.;")
        if inner:
            yield Mention(inner, "quote", start, start + len(inner))
