"""The default extractor: patterns, no model. Fast, deterministic, in any language that writes capitals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from monograph.derive.extract.function_words import language_of
from monograph.derive.extract.names import proper_names, speakers
from monograph.derive.extract.shapes import shapes
from monograph.derive.extract.terms import key_phrases
from monograph.values import Chunk, Extraction, Mention

MOST_MENTIONS = 2_000
"""Mentions kept of one chunk, the first ones."""

LONGEST_NAME = 120
"""Characters of a name; a longer run is none."""


class PatternExtractor:
    """Names, titles and speakers by their capitals; dates, amounts, codes and quotes by their shape; key phrases.

    Relations are left to the graph: without a model, what stands in one sentence belongs together.
    """

    key = "pattern/1"
    spec = "pattern"

    def extract(self, chunks: Sequence[Chunk]) -> Iterator[Extraction]:
        """One extraction a chunk, in order. See :class:`monograph.models.Extractor`."""
        for chunk in chunks:
            yield Extraction(tuple(mentions(chunk.text)))


def mentions(text: str) -> list[Mention]:
    """What a text names, in order of start, longer before shorter; each span once."""
    found = {(one.start, one.end): one for one in shapes(text)}
    # A year or an amount may be a part of a name (the 1999 Open); an address or a day is not.
    taken = [(one.start, one.end) for one in found.values() if _stands_alone(one)]
    language = language_of(text)
    for one in (*speakers(text), *proper_names(text, language)):
        span = (one.start, one.end)
        if one.end - one.start <= LONGEST_NAME and not any(start < span[1] and span[0] < end for start, end in taken):
            known = found.get(span)
            if known is None or known.kind in ("name", "quote"):
                found[span] = Mention(text[one.start : one.end], _kind(one.kind, known), *span)
    for start, end in key_phrases(text, language):
        found.setdefault((start, end), Mention(text[start:end], "term", start, end))
    ordered = sorted(found.values(), key=lambda one: (one.start, -one.end))
    return ordered[:MOST_MENTIONS]


def _stands_alone(one: Mention) -> bool:
    return one.kind in ("url", "email", "code", "time") or (one.kind == "date" and len(one.name) > 4)


def _kind(kind: str, known: Mention | None) -> str:
    """A name in quotation marks is a work, unless it is known to be something else."""
    return "work" if known is not None and known.kind == "quote" and kind == "name" else kind
