"""Search by the graph: what the question names, and what is named together with it, hop by hop."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from monograph.graph import evidence
from monograph.graph.evidence import Bools, Float64
from monograph.search.outlinks import Outlink, outlinks
from monograph.search.question import Question
from monograph.search.ranking import Ranking, highest
from monograph.store import chunks, graphs, names, terms, vectors
from monograph.store.database import Connection
from monograph.store.filters import Allowed
from monograph.store.terms import words_of
from monograph.values import Float32, inner_products

MOST_MENTIONS = 25
"""A name that more chunks have says little of any of them, and is not followed to them."""

MOST_DOCUMENTS = 12
"""Chunks of documents about a name that it leads to: of many homonyms the first chunks."""


@dataclass(frozen=True, slots=True)
class Link:
    """How a chunk was led to: from which start, by which name, with what chance."""

    start: int
    name: int
    chance: float


@dataclass(slots=True, eq=False)
class Walk:
    """One search while it goes on.

    ``own`` and ``total`` are probabilities by chunk row, ``links`` how each chunk was led to by start, ``asked`` the
    question's name that a chunk's document is about. Chunks are known by row, and gone through in the order in which
    they were found: that is the same in every file of the same documents, and with it every sum to its last bit.
    """

    connection: Connection
    question: Question
    allowed: Allowed
    own: dict[int, float] = field(default_factory=dict)
    total: dict[int, float] = field(default_factory=dict)
    links: dict[int, dict[int, Link]] = field(default_factory=dict)
    asked: dict[int, int] = field(default_factory=dict)
    has: dict[int, Bools] = field(default_factory=dict)
    clause: dict[int, float] = field(default_factory=dict)

    def know(self, wanted: Iterable[int]) -> None:
        """Find out which of the question's words chunks have."""
        missing = [chunk for chunk in wanted if chunk not in self.has]
        held = graphs.words(self.connection, missing)
        asked = self.question.words
        table = np.zeros((len(missing), len(asked)), dtype=bool)
        if len(asked) and held:
            lengths = [len(held[chunk]) if chunk in held else 0 for chunk in missing]
            words = np.concatenate([held[chunk] for chunk in missing if chunk in held])
            places = np.minimum(np.searchsorted(asked, words), len(asked) - 1)
            same = asked[places] == words
            table[np.repeat(np.arange(len(missing)), lengths)[same], places[same]] = True
        self.has.update(zip(missing, table, strict=True))


def walk(
    connection: Connection,
    question: Question,
    rankings: Sequence[tuple[Ranking, float]],
    clause_vectors: Float32,
    allowed: Allowed,
) -> Walk:
    """Start from what rankings and the question's names give, and follow the graph.

    Parameters
    ----------
    connection:
        A read transaction.
    question:
        Taken apart.
    rankings:
        With the weight of each one's standardised scores.
    clause_vectors:
        float32 (clauses, dimension), of unit length.
    allowed:
        Which chunks may be found, and be passed on the way.
    """
    found = Walk(connection, question, allowed)
    subjects = _subjects_asked(found)
    fused = _fused(rankings, subjects)
    _start(found, fused, subjects, clause_vectors)
    found.total = dict(found.own)
    done: set[int] = set()
    for _ in range(evidence.HOPS):
        best, _ = _told_apart(connection, highest(connection, found.total, evidence.COVERED))
        starts = [chunk for chunk in best[: evidence.STARTS] if chunk not in done]
        done.update(starts)
        _follow(found, starts)
        led = {chunk: {start: link.chance for start, link in some.items()} for chunk, some in found.links.items()}
        found.total = evidence.combined(found.own, led)
    return found


def in_order(found: Walk, in_context: Mapping[int, float]) -> list[tuple[int, float]]:
    """(chunk, value) of all that was found, best first; values never rise.

    Of chunks with the same title and text the most probable counts; the others come after all that are put in order.
    ``in_context`` are cosines of the first of them: see :mod:`monograph.search.feedback`.
    """
    best = highest(found.connection, found.total)
    head, copies = _told_apart(found.connection, best[: evidence.COVERED])
    if not head:
        return []
    found.know(head)
    chances = np.array([found.total[chunk] for chunk in head])
    if in_context:
        chances = evidence.read_in_context(chances, np.array([in_context.get(chunk, 0.0) for chunk in head]))
    logarithms = np.log(np.maximum(chances, 1e-9))
    covers = np.stack([found.has[chunk] * found.question.weights for chunk in head])
    ordered = [(head[row], value) for row, value in evidence.in_order_of_gain(logarithms, covers)]
    lowest = ordered[-1][1]
    after = [*copies, *best[evidence.COVERED :]]
    return ordered + [(chunk, min(lowest, float(np.log(max(found.total[chunk], 1e-9))))) for chunk in after]


def _told_apart(connection: Connection, best: Sequence[int]) -> tuple[list[int], list[int]]:
    """(the first chunk of each title and text, those that say the same again), each in order."""
    told = chunks.titled_extractions(connection, best)
    first: dict[tuple[int, str], int] = {}
    for chunk in best:
        first.setdefault(told.get(chunk, (-chunk, "")), chunk)
    kept = set(first.values())
    return [chunk for chunk in best if chunk in kept], [chunk for chunk in best if chunk not in kept]


def _fused(rankings: Sequence[tuple[Ranking, float]], more: Iterable[int]) -> dict[int, float]:
    """Standardised scores, weighted and added up; a chunk that a ranking lacks counts there as its lowest."""
    totals = {row: 0.0 for ranking, _ in rankings for row in ranking.rows}
    totals.update((row, 0.0) for row in more)
    for ranking, weight in rankings:
        scores = _standardised(np.array(ranking.scores, dtype=np.float64))
        share = dict(zip(ranking.rows, scores.tolist(), strict=True))
        least = float(scores.min()) if len(scores) else 0.0
        for row in totals:
            totals[row] += weight * share.get(row, least)
    return totals


def _standardised(scores: Float64) -> Float64:
    spread = float(scores.std()) if len(scores) else 0.0
    return (scores - scores.mean()) / spread if spread > 0 else np.zeros(len(scores))


@dataclass(frozen=True, slots=True)
class _About:
    """How a chunk's document is about a name of the question."""

    name: int
    by_title: bool
    share: float
    fit: float
    rarity: float


def _subjects_asked(found: Walk) -> dict[int, _About]:
    """The chunks whose documents are about a name of the question; the most telling name of each."""
    asked = {one.name.row: one for one in found.question.names}
    key = {one.name.row: one.name.key for one in found.question.names}
    entity = {one.name.head: one for one in found.question.names}
    for some in names.members(found.connection, entity).values():
        for member in some:
            asked.setdefault(member.row, entity[member.head])
            key[member.row] = member.key
    best: dict[int, _About] = {}
    for one in sorted(graphs.subject_chunks(found.connection, asked, found.allowed), key=lambda one: key[one.name]):
        fit = 0.0
        if one.qualifier:
            words = one.qualifier.split()
            fit = sum(word in found.question.keys for word in words) / len(words) - 0.5
        about = _About(one.name, one.by_title, asked[one.name].share, fit, one.documents**-0.5)
        held = best.get(one.chunk)
        if held is None or (about.by_title, about.share) > (held.by_title, held.share):
            best[one.chunk] = about
    return best


def _start(found: Walk, fused: Mapping[int, float], subjects: Mapping[int, _About], clause_vectors: Float32) -> None:
    rows = list(fused)
    if not rows:
        return
    found.know(rows)
    naming = _naming(found, rows)
    clause = _best_clause(found, rows, clause_vectors)
    features = np.zeros((len(rows), len(evidence.FOUND.weights)))
    features[:, 0] = [fused[row] for row in rows]
    features[:, 1] = clause
    features[:, 7] = [naming.get(row, 0.0) for row in rows]
    for place, row in enumerate(rows):
        about = subjects.get(row)
        if about is not None and about.by_title:
            features[place, 2:6] = (1.0, about.share, about.fit, about.rarity)
        elif about is not None:
            features[place, 6] = 1.0
        if about is not None:
            found.asked[row] = about.name
    found.clause.update(zip(rows, clause.tolist(), strict=True))
    found.own = dict(zip(rows, evidence.FOUND.probability(features).tolist(), strict=True))


def _naming(found: Walk, rows: Sequence[int]) -> dict[int, float]:
    """By chunk, its share of the entities that the question names, rare ones counting more."""
    entities = names.members(found.connection, {one.name.head for one in found.question.names})
    total = terms.count(found.connection)
    rarity = {
        head: max(0.0, math.log((total + 1) / (sum(one.uses for one in some) + 0.5))) for head, some in entities.items()
    }
    whole = math.fsum(rarity.values())  # The same in any order.
    if not whole:
        return {}
    head = {one.row: one.head for some in entities.values() for one in some}
    named: dict[int, set[int]] = {}
    for name, chunk in graphs.that_name(found.connection, rows, head):
        named.setdefault(chunk, set()).add(head[name])
    return {chunk: math.fsum(rarity[one] for one in some) / whole for chunk, some in named.items()}


def _best_clause(found: Walk, rows: Sequence[int], clause_vectors: Float32) -> Float64:
    """For each chunk its best score for one clause: words covered and half the cosine, both standardised."""
    question = found.question
    has = np.stack([found.has[row] for row in rows]).astype(np.float64)
    held, dense = vectors.of_chunks(found.connection, rows, clause_vectors.shape[1])
    place_of = {row: place for place, row in enumerate(rows)}
    placed = [place_of[row] for row in held.tolist()]
    best = np.full(len(rows), -np.inf)
    for clause, vector in zip(question.clauses, clause_vectors, strict=True):
        weights = np.zeros(len(question.words))
        said = list(question.places(words_of(clause)))
        weights[said] = question.weights[said]
        if not said:
            weights = question.weights
        covered = _standardised(inner_products(has, weights))
        cosines = np.zeros(len(rows))
        cosines[placed] = inner_products(dense, vector)
        best = np.maximum(best, covered + 0.5 * _standardised(cosines))
    return best


def _follow(found: Walk, starts: Sequence[int]) -> None:
    """Add the links that lead out of some chunks."""
    edges = outlinks(found.connection, found.question, starts)
    entities = names.members(found.connection, {edge.name.head for edge in edges})
    members = {head: [one.row for one in some] for head, some in entities.items()}
    everyone = {row for some in members.values() for row in some}
    subjects: dict[int, list[graphs.SubjectChunk]] = {}
    for one in graphs.subject_chunks(found.connection, everyone, found.allowed):
        if len(subjects.setdefault(one.name, [])) < MOST_DOCUMENTS:
            subjects[one.name].append(one)
    rare = {one.row for some in entities.values() for one in some if one.uses <= MOST_MENTIONS}
    mentions = graphs.mentions(found.connection, rare, found.allowed)
    targets = {one.chunk for some in subjects.values() for one in some} | {
        row for some in mentions.values() for row in some
    }
    found.know(targets)
    documents = graphs.documents_of(found.connection, targets | set(starts))
    _defined(found, edges, members, subjects, documents)
    _mentioned(found, edges, members, mentions, subjects, documents)


def _defined(
    found: Walk,
    edges: Sequence[Outlink],
    members: Mapping[int, Sequence[int]],
    subjects: Mapping[int, Sequence[graphs.SubjectChunk]],
    documents: Mapping[int, int],
) -> None:
    """Links to the documents that are about a name."""
    asked = {one.name.head for one in found.question.names}
    pairs = [
        (edge, one)
        for edge in edges
        if not edge.own
        for row in members.get(edge.name.head, ())
        for one in subjects.get(row, ())
        if documents[one.chunk] != documents[edge.start]
    ]
    if not pairs:
        return
    features = np.array(
        [
            (
                not one.by_title,
                one.documents**-0.5,
                np.log1p(edge.name.uses),
                edge.name.head in asked,
                0.0,
                edge.first,
                edge.words,
                edge.beside,
            )
            for edge, one in pairs
        ],
        dtype=np.float64,
    )
    features[:, 4] = _added(found, [(edge.start, one.chunk) for edge, one in pairs])
    _add(found, [(edge, one.chunk) for edge, one in pairs], evidence.DEFINES.probability(features))


def _mentioned(
    found: Walk,
    edges: Sequence[Outlink],
    members: Mapping[int, Sequence[int]],
    mentions: Mapping[int, Sequence[int]],
    subjects: Mapping[int, Sequence[graphs.SubjectChunk]],
    documents: Mapping[int, int],
) -> None:
    """Links to the chunks that have a name too."""
    asked = {one.name.head for one in found.question.names}
    pairs = []
    for edge in edges:
        rows = members.get(edge.name.head, ())
        defining = {one.chunk for row in rows for one in subjects.get(row, ())}
        pairs += [
            (edge, chunk)
            for row in rows
            for chunk in mentions.get(row, ())
            if chunk not in defining and documents[chunk] != documents[edge.start]
        ]
    if not pairs:
        return
    features = np.array(
        [
            (
                np.log1p(edge.name.uses),
                edge.own,
                edge.name.head in asked,
                0.0,
                edge.words,
                edge.beside,
                found.clause.get(chunk, 0.0),
            )
            for edge, chunk in pairs
        ],
        dtype=np.float64,
    )
    features[:, 3] = _added(found, [(edge.start, chunk) for edge, chunk in pairs])
    _add(found, pairs, evidence.MENTIONS.probability(features))


def _added(found: Walk, pairs: Sequence[tuple[int, int]]) -> Float64:
    """Share of the question's words that a target has and its start has not."""
    starts = np.stack([found.has[start] for start, _ in pairs])
    targets = np.stack([found.has[target] for _, target in pairs])
    return inner_products((targets & ~starts).astype(np.float64), found.question.weights)


def _add(found: Walk, pairs: Sequence[tuple[Outlink, int]], chances: Float64) -> None:
    """Keep the best link from every start to every target."""
    for (edge, target), chance in zip(pairs, chances.tolist(), strict=True):
        through = found.total[edge.start] * chance
        links = found.links.setdefault(target, {})
        held = links.get(edge.start)
        if held is None or through > held.chance:
            links[edge.start] = Link(edge.start, edge.name.row, through)
