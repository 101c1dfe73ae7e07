"""MobileRAG's selective content reduction as in the paper (SCR): the window that is nearest to the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from monograph.derive.sentences import sentence_spans
from monograph.errors import InputError
from monograph.values import ReducedHit, Span, arguments

if TYPE_CHECKING:
    from monograph.models import Embedder
    from monograph.values import Hit


@dataclass(frozen=True, slots=True)
class Windows:
    """How windows are cut.

    Parameters
    ----------
    window:
        Sentences of one.
    overlap:
        Sentences that it shares with the next. The paper calls this the step size; the step is window - overlap.
    extension:
        Sentences added on both sides of the best.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    window: int = 3
    overlap: int = 2
    extension: int = 1

    def __post_init__(self) -> None:
        for name in ("window", "overlap", "extension"):
            object.__setattr__(self, name, arguments.whole_number(getattr(self, name), name))
        if self.window < 1 or not 0 <= self.overlap < self.window or self.extension < 0:
            raise InputError(
                f"window is {self.window}, overlap {self.overlap} and extension {self.extension}",
                "give at least one sentence, an overlap below that, and an extension of 0 or more",
            )


PAPER = Windows()
"""The paper's numbers."""


def reduce_to_windows(
    embedder: Embedder, question: str, hits: Sequence[Hit], windows: Windows = PAPER
) -> list[ReducedHit]:
    """Cut each hit down to its window that is nearest to a question, and put them in order of that.

    All windows of all hits are embedded in one batch, the question with them.

    Returns
    -------
    One a hit, those with the nearest window first; ``value`` is its cosine. A summary is kept whole.
    """
    sentences = [sentence_spans(hit.text) for hit in hits]
    cuts = [_cuts(len(some), windows) for some in sentences]
    texts = [
        hit.text[some[first][0] : some[last - 1][1]]
        for hit, some, places in zip(hits, sentences, cuts, strict=True)
        for first, last in places
    ]
    cosines = embedder.embed(texts, "document") @ embedder.embed([question], "query")[0] if texts else np.zeros(0)
    made, at = [], 0
    for hit, some, places in zip(hits, sentences, cuts, strict=True):
        own = cosines[at : at + len(places)]
        at += len(places)
        if not places:
            made.append(ReducedHit(hit, (), -1.0))
            continue
        best = int(np.argmax(own))
        first, last = places[best]
        start = some[max(0, first - windows.extension)][0]
        end = some[min(len(some), last + windows.extension) - 1][1]
        made.append(ReducedHit(hit, _span(hit, start, end), float(own[best])))
    return sorted(made, key=lambda one: (-one.value, one.hit.rank))


def _cuts(count: int, windows: Windows) -> list[tuple[int, int]]:
    """(first, last) of each window of so many sentences; the last one ends where they end."""
    step = windows.window - windows.overlap
    firsts = range(0, max(1, count - windows.window + step), step) if count else ()
    return [(first, min(count, first + windows.window)) for first in firsts if first < count]


def _span(hit: Hit, start: int, end: int) -> tuple[Span, ...]:
    if hit.summary is not None:
        return ()
    chunk = hit.chunk
    return (Span(chunk.document_id, chunk.start + start, chunk.start + end, chunk.text[start:end]),)
