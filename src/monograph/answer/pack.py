"""Packing of hits into a token budget: no sentence twice, adjacent chunks joined, each piece with its source."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from monograph.answer.overviews import Overview
from monograph.answer.reading import CitedPiece, Reading, gather, titled_parts
from monograph.answer.reading import units as split
from monograph.answer.reduce import CUT_HINT, RANK, kept, least_value, runs, score_sentences
from monograph.derive.sentences import spans_of_texts
from monograph.derive.tokens import count_tokens
from monograph.errors import InputError
from monograph.values import (
    DEFAULT_CUT,
    Citation,
    Context,
    Hit,
    PassageOrder,
    Span,
    arguments,
    join_spans,
    rendered,
)
from monograph.values.answer import TokenCounter
from monograph.values.arguments import BUDGET

FAR = 5.0
"""Largest difference between the value of the best sentence and the value of a kept sentence.

A sentence of lower value is dropped even if the budget has room. On 400 dev questions and a budget of 1,000 tokens,
this removes 8 % of the tokens and one answer. If :class:`Packing`'s ``cut`` is 0, no sentence is dropped for its value.
"""

REPEATED = 24
"""Number of characters below which a sentence may be repeated in a context, such as "Yes." or "Thank you!"."""

_FENCE = "=====0123abcd\n"
_SHORTER = 7 / 8


@dataclass(frozen=True, slots=True)
class Packing:
    """Options for packing a context.

    ``budget`` is the largest number of tokens of the context's text, at least 1. ``count`` counts tokens, best with the
    tokenizer of the model that will read the context. ``cut`` is the approximate share of the hits' tokens to remove, 0
    to 1, even if the budget has room. Raises InputError if a value is out of range.
    """

    budget: int = BUDGET
    cut: float = DEFAULT_CUT
    order: PassageOrder = "relevance"
    count: TokenCounter = count_tokens

    def __post_init__(self) -> None:
        object.__setattr__(self, "budget", arguments.whole_number(self.budget, "budget", 1))
        object.__setattr__(self, "cut", arguments.share(self.cut, "cut", CUT_HINT))
        if self.order not in ("relevance", "edges"):
            raise InputError(f"unknown order {arguments.shown(self.order)}", "give relevance or edges")


DEFAULT_PACKING = Packing()


class _Unit(NamedTuple):
    """Sentence that may be included in a context, or a whole summary.

    ``piece`` is the index of a :class:`monograph.answer.reading.CitedPiece`, and ``part`` the index of one of its
    parts. ``text`` is [start:end] of this part's text.
    """

    piece: int
    part: int
    start: int
    end: int
    text: str
    value: float


def pack(
    reading: Reading,
    hits: Sequence[Hit],
    packing: Packing = DEFAULT_PACKING,
    relations: Sequence[str] = (),
    candidates: Sequence[str] = (),
    over: Overview | None = None,
) -> Context:
    """Pack hits into a context.

    Chunks of a document that overlap or follow each other become one piece. The sentences of all pieces are scored
    together. The value of a sentence is lowered according to the rank of its hit (0 for the best hit). The best
    sentences are kept within the budget. No sentence of REPEATED or more characters is kept twice. A summary is left
    out if all its sentences are included already. If not even one sentence fits, the best sentence is truncated at a
    word boundary. If the hits are the beginnings of documents (``over.opening``), sentences are not scored, but taken
    in reading order.

    ``relations`` (graph paths as texts) and ``candidates`` (names that may answer the question) are shown before the
    pieces if the budget has room. Candidates that occur in no piece are left out. The summaries of ``over`` get a share
    of the budget. Summaries contribute only sentences that no passage of the context contains.
    """
    pieces = gather(hits)
    opening = over is not None and over.opening
    units = _drop_repeats(_read_in_order(pieces) if opening else _score_units(reading, pieces, packing.cut), pieces)
    if over is None:
        chosen = _fit_budget(units, pieces, packing)
    else:
        pieces, chosen = _add_summaries(units, pieces, over, packing)
    preamble = (tuple(relations), tuple(candidates))
    while True:
        citations = _cite_pieces(chosen, pieces, packing.order)
        named = tuple(name for name in preamble[1] if any(name in citation.text for citation in citations))
        text = rendered(citations, preamble[0], named) if citations else ""
        tokens = int(packing.count([text])[0]) if text else 0
        if tokens <= packing.budget:
            break
        if preamble[0] or named:
            preamble = (preamble[0][:-1], named[:-1])
        else:
            chosen = _shrink(chosen, pieces, tokens / packing.budget)
    return Context(
        question=reading.question.text,
        citations=citations,
        relations=preamble[0] if text else (),
        candidates=named,
        text=text,
        tokens=tokens,
        budget=packing.budget,
        tokens_found=sum(packing.count([hit.text for hit in hits])) if hits else 0,
        hits=tuple(hits),
    )


def _score_units(reading: Reading, pieces: Sequence[CitedPiece], cut: float) -> list[_Unit]:
    """Return the sentences of the pieces, best first, without those whose value is too low to be worth their tokens."""
    positions = [(number, part) for number, piece in enumerate(pieces) for part in range(len(piece.parts))]
    passages = [titled_part for piece in pieces for titled_part in titled_parts(piece)]
    units, least = [], least_value(cut)
    for (number, part), passage, scores in zip(positions, passages, score_sentences(reading, passages), strict=True):
        hit = pieces[number].hit
        prior = RANK * math.log1p(hit.rank)
        if hit.summary is not None:
            best = float(scores.values.max(initial=-np.inf))
            units.append(_Unit(number, part, 0, len(passage.text), passage.text, best - prior))
            continue
        chosen = kept(scores, len(passage.text), least)
        units += [
            _Unit(number, part, start, end, passage.text[start:end], value - prior)
            for (start, end), value, keep in zip(scores.spans, scores.values.tolist(), chosen.tolist(), strict=True)
            if keep
        ]
    units.sort(key=lambda unit: (-unit.value, unit.piece, unit.part, unit.start))
    lowest = units[0].value - FAR if units and cut > 0 else -np.inf
    return [unit for unit in units if unit.value >= lowest]


def _drop_repeats(units: Sequence[_Unit], pieces: Sequence[CitedPiece]) -> list[_Unit]:
    """Return the units without sentences of earlier units, but a summary with any new sentence stays whole."""
    seen: set[str] = set()
    result = []
    for unit, spans in zip(units, spans_of_texts([unit.text for unit in units]), strict=True):
        sentences = [" ".join(unit.text[start:end].split()) for start, end in spans]
        is_new = [len(sentence) < REPEATED or sentence not in seen for sentence in sentences]
        seen.update(sentences)
        if all(is_new) or (any(is_new) and pieces[unit.piece].hit.summary is not None):
            result.append(unit)
        else:
            result += [
                unit._replace(start=unit.start + start, end=unit.start + end, text=unit.text[start:end])
                for start, end in runs(spans, is_new)
            ]
    return result


def _read_in_order(pieces: Sequence[CitedPiece]) -> list[_Unit]:
    """Return all sentences in reading order: the first sentence of each piece, then the second of each, and so on."""
    positions = []
    for number, piece in enumerate(pieces):
        parts = ((part, *span) for part, piece_part in enumerate(piece.parts) for span in split(piece_part.text))
        positions += [(index, number, part, start, end) for index, (part, start, end) in enumerate(parts)]
    return [
        _Unit(number, part, start, end, pieces[number].parts[part].text[start:end], -float(index))
        for index, (_, number, part, start, end) in enumerate(sorted(positions))
    ]


class _Room:
    """Remaining token budget.

    The tokens of each unit are counted separately. The heading of a piece is counted once, with its first unit.
    """

    def __init__(self, budget: int, pieces: Sequence[CitedPiece], count: TokenCounter) -> None:
        fence, *self._headings = count([_FENCE, *(f"{cite(piece, 10).heading}\n\n" for piece in pieces)])
        self.left = budget - 2 * fence
        self._count = count
        self._opened: set[int] = set()

    def take(self, units: Sequence[_Unit], most: int | None = None) -> list[_Unit]:
        """Return the units that fit the budget, ``most`` tokens at most, and subtract their tokens from the budget."""
        counts = self._count([f"{unit.text} …" for unit in units])
        kept_back = 0 if most is None else max(0, self.left - most)
        chosen = []
        for unit, tokens in zip(units, counts, strict=True):
            cost = tokens + (0 if unit.piece in self._opened else self._headings[unit.piece])
            if cost <= self.left - kept_back:
                self.left -= cost
                self._opened.add(unit.piece)
                chosen.append(unit)
        return chosen


def _fit_budget(units: Sequence[_Unit], pieces: Sequence[CitedPiece], packing: Packing) -> list[_Unit]:
    """Return the best units that fit the budget, or the first unit if none fits."""
    return _Room(packing.budget, pieces, packing.count).take(units) or list(units[:1])


def _add_summaries(
    units: Sequence[_Unit], pieces: Sequence[CitedPiece], overview: Overview, packing: Packing
) -> tuple[list[CitedPiece], list[_Unit]]:
    """Return the pieces of passages and summaries, and the units chosen from both."""
    all_pieces = [*pieces, *gather(overview.summaries)]
    room = _Room(packing.budget, all_pieces, packing.count)
    # Passages fill the budget except this share, then summaries fill the share, then passages fill the rest.
    share = int(packing.budget * overview.share)
    passages = room.take(units, max(0, room.left - share))
    if not passages and not overview.whole:
        return all_pieces, _fit_budget(units, pieces, packing)
    sentences = []
    for number, piece in enumerate(all_pieces[len(pieces) :], len(pieces)):
        summary, text = piece.hit.summary, piece.hit.text
        quoted = [(source.start, source.end) for source in summary.sources] if summary else []
        sentences += [_Unit(number, 0, start, end, text[start:end], 0.0) for start, end in quoted or split(text)]
    added = room.take(_drop_included(sentences, passages), share)
    used_ids, added_texts = set(map(id, passages)), [" ".join(unit.text.split()) for unit in added]
    remaining = [
        unit
        for unit in units
        if id(unit) not in used_ids and not any(text in " ".join(unit.text.split()) for text in added_texts)
    ]
    passages += room.take(remaining)
    added = _drop_included(added, passages)  # neighbouring units may together contain an added sentence
    passages.sort(key=lambda unit: -unit.value)
    if not passages and not added:
        return all_pieces, list(units[:1])
    values = [unit.value for unit in passages] or [0.0]
    first = max(values) + len(added) if overview.whole else min(values) - 1.0
    added = [unit._replace(value=first - index) for index, unit in enumerate(added)]
    return all_pieces, [*added, *passages] if overview.whole else [*passages, *added]


def _drop_included(units: Sequence[_Unit], others: Sequence[_Unit]) -> list[_Unit]:
    """Return the units whose text occurs neither in ``others`` nor in an earlier unit."""
    pieces: dict[int, list[str]] = {}
    for unit in sorted(others, key=lambda unit: (unit.piece, unit.part, unit.start)):
        pieces.setdefault(unit.piece, []).append(unit.text)
    included_texts = [" ".join(" ".join(texts).split()) for texts in pieces.values()]
    remaining = []
    for unit in units:
        text = " ".join(unit.text.split())
        if not any(text in included for included in included_texts):
            included_texts.append(text)
            remaining.append(unit)
    return remaining


def _shrink(chosen: Sequence[_Unit], pieces: Sequence[CitedPiece], excess: float) -> list[_Unit]:
    """Return about the first len(chosen) / ``excess`` units; ``excess`` is the ratio of their tokens to the budget."""
    if len(chosen) > 1:
        return list(chosen[: max(1, min(len(chosen) - 1, int(len(chosen) / excess)))])
    # A single summary is dropped, a single sentence is shortened.
    (unit,) = chosen
    if pieces[unit.piece].hit.summary is not None:
        return []
    text = unit.text[: int(len(unit.text) * _SHORTER)]
    text = text[: text.rfind(" ")] if " " in text else text
    text = text.rstrip()
    return [unit._replace(end=unit.start + len(text), text=text)] if text else []


def _cite_pieces(chosen: Sequence[_Unit], pieces: Sequence[CitedPiece], order: PassageOrder) -> tuple[Citation, ...]:
    """Return a citation for each piece with chosen units, numbered in the given order of passages."""
    best = {unit.piece: unit.value for unit in reversed(chosen)}
    ranked = sorted(best, key=lambda number: (-best[number], number))
    if order == "edges":
        ranked = ranked[::2] + ranked[1::2][::-1]
    spans: dict[int, list[list[tuple[int, int]]]] = {number: [[] for _ in pieces[number].parts] for number in ranked}
    for unit in sorted(chosen):
        kept, text = spans[unit.piece][unit.part], pieces[unit.piece].parts[unit.part].text
        if kept and not text[kept[-1][1] : unit.start].strip():  # Join spans separated by white space only.
            kept[-1] = (kept[-1][0], unit.end)
        else:
            kept.append((unit.start, unit.end))
    return tuple(cite(pieces[number], place, best[number], spans[number]) for place, number in enumerate(ranked, 1))


def cite(
    piece: CitedPiece, number: int, value: float = 0.0, spans: Sequence[Sequence[tuple[int, int]]] = ()
) -> Citation:
    """Return the citation of a piece.

    ``spans`` has, for each part of the piece, (start, end) of every stretch of text that is kept. If ``spans`` is
    empty, the citation has no text. ``value`` is the value of the piece's best sentence.
    """
    hit, summary = piece.hit, piece.hit.summary
    kept_spans = tuple(
        Span(hit.chunk.document_id, part.start + start, part.start + end, part.text[start:end])
        for part, part_spans in zip(piece.parts, spans, strict=bool(spans))
        for start, end in part_spans
    )
    if summary is None:
        page = str(hit.metadata.get("page", hit.metadata.get("page_label", "")))
        return Citation(
            number,
            hit.title,
            hit.uri,
            page,
            piece.chunks,
            kept_spans,
            join_spans(kept_spans),
            summary=False,
            value=value,
            valid=hit.valid,
        )
    # A summary cites the spans of documents that its kept part quotes word for word.
    quoted = tuple(
        Span(source.document_id, source.document_start, source.document_end, summary.text[source.start : source.end])
        for source in summary.sources
        if any(start <= source.start and source.end <= end for start, end in chain(*spans))
    )
    return Citation(number, "", "", "", piece.chunks, quoted, join_spans(kept_spans), summary=True, value=value)
