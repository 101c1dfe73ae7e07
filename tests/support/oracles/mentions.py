"""What a text names, one kind of pattern after the other: what the compiled module must equal."""

from __future__ import annotations

from dataclasses import replace

from monograph.derive.extract.german import with_terms
from monograph.derive.extract.han import han_names, han_terms, has_han
from monograph.derive.extract.pattern import LONGEST_NAME, MOST_MENTIONS, speakers
from monograph.derive.extract.shapes import shapes, without
from monograph.values import Mention
from support.oracles.names import proper_names
from support.oracles.phrases import key_phrases, language_of

_LONGEST_WORD = 32


def mentions(text: str) -> list[Mention]:
    """See :func:`monograph.derive.extract.pattern.mentions`."""
    found = {(one.start, one.end): one for one in shapes(text)}
    # A year or a code may be a part of a name (the 1999 Open, Boeing B-52); an address, a day or an amount is not.
    taken = sorted(span for span, one in found.items() if _stands_alone(one))
    language = language_of(text)
    is_han = has_han(text)
    names = list(proper_names(text, language, taken))
    names = with_terms(text, names) if language == "german" else names
    named = [Mention(text[start:end], kind, start, end) for start, end, kind in names]
    phrases = key_phrases(text, language) if language != "german" else ()
    for one in (*speakers(without(text, taken)), *named, *(han_names(text) if is_han else ())):
        span = (one.start, one.end)
        known = found.get(span)
        if one.end - one.start > LONGEST_NAME or (known is not None and known.kind not in ("name", "quote")):
            continue
        found[span] = _quoted(text, one) if known is not None and known.kind == "quote" else one
    for start, end in (*phrases, *(han_terms(text) if is_han else ())):
        found.setdefault((start, end), Mention(text[start:end], "term", start, end))
    ordered = sorted(found.values(), key=lambda one: (one.start, -one.end))
    return ordered[:MOST_MENTIONS]


def _stands_alone(one: Mention) -> bool:
    return one.kind in ("url", "email", "time", "quantity") or (one.kind == "date" and len(one.name) > 4)


def _quoted(text: str, one: Mention) -> Mention:
    """A name in quotation marks is a work, unless it is known to be something else, or stands within a name."""
    before, after = text[max(0, one.start - _LONGEST_WORD) : max(0, one.start - 2)], text[one.end + 2 : one.end + 3]
    within = after.isupper() and before[before.rfind(" ") + 1 :][:1].isupper()
    return replace(one, kind="work") if one.kind == "name" and not within else one
