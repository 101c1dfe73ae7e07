"""The default extractor: patterns, no model. Fast, deterministic, in any language that writes capitals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from monograph.derive.extract.function_words import LOOKED_AT, LOOKED_AT_CHARACTERS, language_of
from monograph.derive.extract.german import with_terms
from monograph.derive.extract.han import han_names, han_terms, has_han
from monograph.derive.extract.lexicon import MENTIONED, compiled_patterns
from monograph.derive.extract.names import proper_names
from monograph.derive.extract.shapes import shapes, without
from monograph.derive.extract.speakers import speakers
from monograph.derive.extract.terms import MOST_PHRASES, WORDS_A_PHRASE, key_phrases
from monograph.values import Chunk, Extraction, Mention

MOST_MENTIONS = 2_000
"""Mentions kept of one chunk, the first ones."""

LONGEST_NAME = 120
"""Characters of a name; a longer run is none."""

_LONGEST_WORD = 32
_KINDS = {kind: number for number, kind in enumerate(MENTIONED)}


class PatternExtractor:
    """Names, titles and speakers by their capitals; dates, amounts, codes and quotes by their shape; key phrases.

    Relations are left to the graph: without a model, what stands in one sentence belongs together.
    """

    key = "pattern/4"
    spec = "pattern"
    supersedes = ("pattern/1", "pattern/2", "pattern/3")
    """The keys that it had while it found other things: a graph made with these is made anew by the next write."""

    def extract(self, chunks: Sequence[Chunk]) -> Iterator[Extraction]:
        """One extraction a chunk, in order. See :class:`monograph.models.Extractor`."""
        for chunk in chunks:
            yield Extraction(tuple(mentions(chunk.text)))


def mentions(text: str) -> list[Mention]:
    """What a text names, in order of start, longer before shorter; each span once."""
    fast = compiled_patterns()
    if fast is None:
        return mentions_by_parts(text)
    found = {(one.start, one.end): one for one in shapes(text)}
    taken = sorted(span for span, one in found.items() if _stands_alone(one))
    speaking = [(one.start, one.end) for one in speakers(without(text, taken))]
    shaped = [(start, end, _KINDS[one.kind]) for (start, end), one in found.items()]
    head, phrases = (LOOKED_AT_CHARACTERS, LOOKED_AT), (MOST_PHRASES, WORDS_A_PHRASE)
    made = fast.mentions(text, shaped, taken, speaking, head, phrases, LONGEST_NAME, MOST_MENTIONS)
    return mentions_by_parts(text) if made is None else made


def mentions_by_parts(text: str) -> list[Mention]:
    """The same, by one kind of pattern after the other: what the compiled equals, and for what it leaves."""
    found = {(one.start, one.end): one for one in shapes(text)}
    # A year or a code may be a part of a name (the 1999 Open, Boeing B-52); an address, a day or an amount is not.
    taken = sorted(span for span, one in found.items() if _stands_alone(one))
    language = language_of(text)
    is_han = has_han(text)
    for one in (*speakers(without(text, taken)), *_names(text, language, taken), *(han_names(text) if is_han else ())):
        span = (one.start, one.end)
        known = found.get(span)
        if one.end - one.start > LONGEST_NAME or (known is not None and known.kind not in ("name", "quote")):
            continue
        found[span] = _quoted(text, one) if known is not None and known.kind == "quote" else one
    for start, end in (*_key_phrases(text, language), *(han_terms(text) if is_han else ())):
        found.setdefault((start, end), Mention(text[start:end], "term", start, end))
    ordered = sorted(found.values(), key=lambda one: (one.start, -one.end))
    return ordered[:MOST_MENTIONS]


def _names(text: str, language: str, taken: Sequence[tuple[int, int]]) -> Iterable[Mention]:
    names = proper_names(text, language, taken)
    return with_terms(text, names) if language == "german" else names


def _key_phrases(text: str, language: str) -> Iterable[tuple[int, int]]:
    """Key phrases; not in German, whose nouns are found by their capitals."""
    return key_phrases(text, language) if language != "german" else ()


def _stands_alone(one: Mention) -> bool:
    return one.kind in ("url", "email", "time", "quantity") or (one.kind == "date" and len(one.name) > 4)


def _quoted(text: str, one: Mention) -> Mention:
    """A name in quotation marks is a work, unless it is known to be something else, or stands within a name."""
    before, after = text[max(0, one.start - _LONGEST_WORD) : max(0, one.start - 2)], text[one.end + 2 : one.end + 3]
    within = after.isupper() and before[before.rfind(" ") + 1 :][:1].isupper()
    return replace(one, kind="work") if one.kind == "name" and not within else one
