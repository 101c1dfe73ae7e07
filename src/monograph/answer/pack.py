"""Hits packed into a context under a budget of tokens: nothing twice, neighbours joined, each piece with its source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from monograph.answer.excerpt import Counter
from monograph.answer.pieces import Piece, cite, gather
from monograph.answer.query_terms import QueryTerms
from monograph.answer.reduce import RANK, kept, runs
from monograph.answer.sentence_scores import Passage, score_sentences
from monograph.derive.sentences import sentence_spans
from monograph.derive.tokens import count_tokens
from monograph.errors import InputError
from monograph.values import DEFAULT_CUT, Citation, Context, Hit, PassageOrder, rendered

BUDGET = 1_000
"""Most tokens of a context, unless another number is asked for."""

FAR = 4.0
"""Where anything is to be cut, what is worth less than the best by this much goes too, though the budget has room: on
the dev questions a tenth of the tokens, and no answer."""

REPEATED = 24
"""Characters; what is shorter (Yes. Thank you!) may be said again."""

_FENCE = "=====0123abcd\n"
_SHORTER = 7 / 8


@dataclass(frozen=True, slots=True)
class Packing:
    """How a context is packed.

    Parameters
    ----------
    budget:
        Most tokens of its text, at least 1.
    cut:
        About which share of the tokens of what was found is to go even where the budget has room, 0 to 1.
    order:
        Of the pieces.
    count:
        How tokens are counted: as the model does that will read them.

    Raises
    ------
    InputError
        If a value is out of range.
    """

    budget: int = BUDGET
    cut: float = DEFAULT_CUT
    order: PassageOrder = "relevance"
    count: Counter = count_tokens

    def __post_init__(self) -> None:
        if self.budget < 1:
            raise InputError(f"budget is {self.budget}", "give at least 1 token")
        if not 0 <= self.cut <= 1:
            raise InputError(f"cut is {self.cut}", "give the share that is to go, from 0 to 1")
        if self.order not in ("relevance", "edges"):
            raise InputError(f"unknown order {self.order!r}", "orders are relevance, edges")


DEFAULT_PACKING = Packing()


@dataclass(frozen=True, slots=True)
class _Unit:
    """A sentence that may be kept, text[start:end] of a part of a piece; of a summary, all of it."""

    piece: int
    part: int
    start: int
    end: int
    text: str
    value: float


def pack(
    asked: QueryTerms,
    hits: Sequence[Hit],
    packing: Packing = DEFAULT_PACKING,
    relations: Sequence[str] = (),
    candidates: Sequence[str] = (),
) -> Context:
    """Pack hits into a context.

    Chunks of a document that overlap or follow each other become one piece. The sentences of all pieces are judged
    together, and the budget goes to the best of them, those of better hits weighing more. No sentence is kept twice; a
    summary whose sentences are all there already is left out. Where not even one sentence fits, the best is cut at a
    word.

    Parameters
    ----------
    asked:
        The question.
    hits:
        What was found, best first.
    packing:
        Budget, cut, order, tokens.
    relations, candidates:
        Shown ahead of the pieces where the budget has room for them; of the candidates, those that stand in a piece.
    """
    pieces = gather(hits)
    units = _different(_units(asked, pieces, packing.cut), pieces)
    chosen = _fitting(units, pieces, packing)
    preamble = (tuple(relations), tuple(candidates))
    while True:
        citations = _citations(chosen, pieces, packing.order)
        named = tuple(name for name in preamble[1] if any(name in one.text for one in citations))
        text = rendered(citations, preamble[0], named) if citations else ""
        tokens = int(packing.count([text])[0]) if text else 0
        if tokens <= packing.budget:
            break
        if preamble[0] or named:
            preamble = (preamble[0][:-1], named[:-1])
        else:
            chosen = _less(chosen, pieces, tokens / packing.budget)
    return Context(
        question=asked.text,
        citations=citations,
        relations=preamble[0] if text else (),
        candidates=named,
        text=text,
        tokens=tokens,
        budget=packing.budget,
        tokens_found=sum(packing.count([hit.text for hit in hits])) if hits else 0,
        hits=tuple(hits),
    )


def _units(asked: QueryTerms, pieces: Sequence[Piece], cut: float) -> list[_Unit]:
    """The sentences that are worth their tokens, the best first."""
    places = [(number, part) for number, piece in enumerate(pieces) for part in range(len(piece.parts))]
    passages = [Passage(pieces[number].parts[part].text, pieces[number].hit.title) for number, part in places]
    units = []
    for (number, part), passage, scores in zip(places, passages, score_sentences(asked, passages), strict=True):
        hit = pieces[number].hit
        prior = RANK * float(np.log1p(hit.rank))
        if hit.summary is not None:
            best = float(scores.values.max(initial=-np.inf))
            units.append(_Unit(number, part, 0, len(passage.text), passage.text, best - prior))
            continue
        chosen = kept(scores, len(passage.text), cut)
        units += [
            _Unit(number, part, start, end, passage.text[start:end], float(value) - prior)
            for (start, end), value, keep in zip(scores.spans, scores.values, chosen, strict=True)
            if keep
        ]
    units.sort(key=lambda unit: (-unit.value, unit.piece, unit.part, unit.start))
    least = units[0].value - FAR if units and cut > 0 else -np.inf
    return [unit for unit in units if unit.value >= least]


def _different(units: Sequence[_Unit], pieces: Sequence[Piece]) -> list[_Unit]:
    """Without sentences that a better unit has, white space aside; a summary goes where others say all that it says."""
    said: set[str] = set()
    different = []
    for unit in units:
        spans = sentence_spans(unit.text)
        sentences = [" ".join(unit.text[start:end].split()) for start, end in spans]
        fresh = np.array([len(one) < REPEATED or one not in said for one in sentences], dtype=bool)
        said.update(sentences)
        if fresh.all() or (fresh.any() and pieces[unit.piece].hit.summary is not None):
            different.append(unit)
        else:
            different += [
                replace(unit, start=unit.start + start, end=unit.start + end, text=unit.text[start:end])
                for start, end in runs(spans, fresh)
            ]
    return different


def _fitting(units: Sequence[_Unit], pieces: Sequence[Piece], packing: Packing) -> list[_Unit]:
    """The best units that the budget has room for, by a count of each alone; at least one."""
    headings = [cite(piece, 10, [()] * len(piece.parts), 0.0).heading + "\n\n" for piece in pieces]
    counts = packing.count([_FENCE, *headings, *(unit.text + " …" for unit in units)])
    left = packing.budget - 2 * counts[0]
    opening, costs = counts[1 : len(pieces) + 1], counts[len(pieces) + 1 :]
    opened: set[int] = set()
    chosen = []
    for unit, tokens in zip(units, costs, strict=True):
        cost = tokens + (0 if unit.piece in opened else opening[unit.piece])
        if cost <= left:
            left -= cost
            opened.add(unit.piece)
            chosen.append(unit)
    return chosen or list(units[:1])


def _less(chosen: Sequence[_Unit], pieces: Sequence[Piece], excess: float) -> list[_Unit]:
    """Without the worst, as many as a count that is ``excess`` times too high asks for; less of the only one."""
    if len(chosen) > 1:
        return list(chosen[: max(1, min(len(chosen) - 1, int(len(chosen) / excess)))])
    (unit,) = chosen
    if pieces[unit.piece].hit.summary is not None:
        return []
    text = unit.text[: int(len(unit.text) * _SHORTER)]
    text = text[: text.rfind(" ")] if " " in text else text
    text = text.rstrip()
    return [replace(unit, end=unit.start + len(text), text=text)] if text else []


def _citations(chosen: Sequence[_Unit], pieces: Sequence[Piece], order: PassageOrder) -> tuple[Citation, ...]:
    """The pieces of which something is kept, numbered in order."""
    best = {unit.piece: unit.value for unit in reversed(chosen)}
    ranked = sorted(best, key=lambda number: (-best[number], number))
    if order == "edges":
        ranked = ranked[::2] + ranked[1::2][::-1]
    return tuple(
        cite(pieces[number], place, _spans(chosen, number, pieces[number]), best[number])
        for place, number in enumerate(ranked, 1)
    )


def _spans(chosen: Sequence[_Unit], number: int, piece: Piece) -> list[list[tuple[int, int]]]:
    """What is kept of each part of a piece, in reading order; what only white space parts is one span."""
    kept_of: list[list[tuple[int, int]]] = [[] for _ in piece.parts]
    for unit in sorted((unit for unit in chosen if unit.piece == number), key=lambda unit: (unit.part, unit.start)):
        some, text = kept_of[unit.part], piece.parts[unit.part].text
        if some and not text[some[-1][1] : unit.start].strip():
            some[-1] = (some[-1][0], unit.end)
        else:
            some.append((unit.start, unit.end))
    return kept_of
