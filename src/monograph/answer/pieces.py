"""What was found as pieces to cite: chunks of a document that overlap or follow each other are one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from monograph.values import Citation, Hit, Span, Summary, joined
from monograph.values.answer import headed, name_of


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a document, or a summary's text: ``text`` begins at ``start`` of it."""

    start: int
    text: str


@dataclass(frozen=True, slots=True)
class Piece:
    """Parts of one document in reading order, or a summary; ``hit`` is the best of those it is made of."""

    hit: Hit
    chunks: tuple[str, ...]
    parts: tuple[Part, ...]


def gather(hits: Sequence[Hit]) -> list[Piece]:
    """The pieces of some hits, those of the best hits first."""
    summaries = {hit.summary.id: hit for hit in reversed(hits) if hit.summary is not None}
    pieces = [Piece(hit, hit.summary.chunks, (Part(0, hit.text),)) for hit in summaries.values() if hit.summary]
    documents: dict[str, dict[str, Hit]] = {}
    for hit in hits:
        if hit.summary is None:
            documents.setdefault(hit.chunk.document_id, {}).setdefault(hit.chunk.id, hit)
    for some in documents.values():
        if len(some) == 1:
            pieces.append(_piece(list(some.values())))
            continue
        ordered = sorted(some.values(), key=lambda hit: (hit.chunk.start, hit.chunk.ordinal))
        ends = accumulate((hit.chunk.end for hit in ordered), max)
        apart = [not _touch(end, *two) for end, two in zip(ends, pairwise(ordered), strict=False)]
        cuts = [0, *(at for at, cut in enumerate(apart, 1) if cut), len(ordered)]
        pieces += [_piece(ordered[first:last]) for first, last in pairwise(cuts)]
    return sorted(pieces, key=lambda piece: piece.hit.rank)


def cite(piece: Piece, number: int, spans: Sequence[Sequence[tuple[int, int]]], value: float) -> Citation:
    """The citation of a piece of which some is kept: (start, end) in each part, in order."""
    hit, summary = piece.hit, piece.hit.summary
    kept = tuple(
        Span(hit.chunk.document_id, part.start + start, part.start + end, part.text[start:end])
        for part, some in zip(piece.parts, spans, strict=True)
        for start, end in some
    )
    return Citation(
        number=number,
        title="" if summary else hit.title,
        uri="" if summary else hit.uri,
        page=_page(hit),
        chunks=piece.chunks,
        spans=kept if summary is None else _repeated(summary, spans[0]),
        text=joined(kept),
        summary=summary is not None,
        value=value,
        valid=None if summary else hit.valid,
    )


def heading(piece: Piece, number: int) -> str:
    """The heading of its citation under that number."""
    hit, page = piece.hit, _page(piece.hit)
    return (
        headed(number, "", "summary")
        if hit.summary
        else headed(number, name_of(hit.title, hit.uri), page and f"page {page}")
    )


def _page(hit: Hit) -> str:
    return "" if hit.summary else str(hit.metadata.get("page", hit.metadata.get("page_label", "")))


def _repeated(summary: Summary, kept: Sequence[tuple[int, int]]) -> tuple[Span, ...]:
    """What of documents a summary repeats word for word, in what is kept of it."""
    return tuple(
        Span(one.document_id, one.document_start, one.document_end, summary.text[one.start : one.end])
        for one in summary.sources
        if any(start <= one.start and one.end <= end for start, end in kept)
    )


def _touch(end: int, one: Hit, two: Hit) -> bool:
    """Whether a hit goes on where those before it ``end``, or follows the last of them."""
    return two.chunk.start <= end or two.chunk.ordinal == one.chunk.ordinal + 1


def _piece(hits: Sequence[Hit]) -> Piece:
    """The piece of hits of one document that touch, in reading order."""
    parts: list[Part] = []
    for chunk in (hit.chunk for hit in hits):
        end = parts[-1].start + len(parts[-1].text) if parts else -1
        if chunk.start > end:
            parts.append(Part(chunk.start, chunk.text))
        elif chunk.end > end:
            parts[-1] = Part(parts[-1].start, parts[-1].text + chunk.text[end - chunk.start :])
    best = min(hits, key=lambda hit: hit.rank)
    return Piece(best, tuple(hit.chunk.id for hit in hits), tuple(parts))
