"""Where the names in a search's starts lead: to documents about them, to chunks that have them too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.graph import evidence
from monograph.graph.evidence import Float64
from monograph.search.outlinks import Outlink, outlinks
from monograph.search.walked import Walk
from monograph.store import graphs, names
from monograph.values import inner_products

MOST_MENTIONS = 25
"""A name that more chunks have says little of any of them, and is not followed to them."""

MOST_DOCUMENTS = 12
"""Chunks of documents about a name that it leads to: of many homonyms the first chunks."""

Int64: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Links that may be: from which start, by which name, to which chunk, by row."""

    starts: Sequence[int]
    names: Sequence[int]
    targets: Sequence[int]


@dataclass(frozen=True, slots=True, eq=False)
class _Edges:
    """Names in starts, as columns of features; ``places`` are those of the starts, ``documents`` of all chunks."""

    each: Sequence[Outlink]
    places: Int64
    documents: Int64
    uses: Float64
    asked: Float64
    own: Float64
    first: Float64
    words: Float64
    beside: Float64


def follow(found: Walk, starts: Sequence[int]) -> None:
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
    targets = {one.chunk for some in subjects.values() for one in some}.union(*mentions.values())
    found.know([*targets, *starts])
    columns = _columns(found, edges, graphs.documents_of(found.connection, targets.union(starts)))
    _defined(found, columns, members, subjects)
    _mentioned(found, columns, members, mentions, subjects)


def _columns(found: Walk, edges: Sequence[Outlink], documents: Mapping[int, int]) -> _Edges:
    asked = {one.name.head for one in found.question.names}
    of_places = np.zeros(len(found.place), dtype=np.int64)
    of_places[[found.place[chunk] for chunk in documents]] = list(documents.values())
    return _Edges(
        each=edges,
        places=np.array([found.place[edge.start] for edge in edges], dtype=np.int64),
        documents=of_places,
        uses=np.log1p(np.array([edge.name.uses for edge in edges], dtype=np.float64)),
        asked=np.array([edge.name.head in asked for edge in edges], dtype=np.float64),
        own=np.array([edge.own for edge in edges], dtype=np.float64),
        first=np.array([edge.first for edge in edges], dtype=np.float64),
        words=np.array([edge.words for edge in edges], dtype=np.float64),
        beside=np.array([edge.beside for edge in edges], dtype=np.float64),
    )


def _defined(
    found: Walk,
    edges: _Edges,
    members: Mapping[int, Sequence[int]],
    subjects: Mapping[int, Sequence[graphs.SubjectChunk]],
) -> None:
    """Links to the documents that are about a name."""
    about = {head: [one for row in rows for one in subjects.get(row, ())] for head, rows in members.items()}
    led = [() if edge.own else about.get(edge.name.head, ()) for edge in edges.each]
    ones = [one for some in led for one in some]
    targets = np.array([found.place[one.chunk] for one in ones], dtype=np.int64)
    sources, kept = _elsewhere(edges, list(map(len, led)), targets)
    if not len(kept):
        return
    features = np.empty((len(kept), len(evidence.DEFINES.weights)))
    features[:, 0] = np.array([not one.by_title for one in ones])[kept]
    features[:, 1] = np.array([one.documents**-0.5 for one in ones])[kept]
    features[:, 2] = edges.uses[sources]
    features[:, 3] = edges.asked[sources]
    features[:, 4] = _added(found, edges.places[sources], targets[kept])
    features[:, 5] = edges.first[sources]
    features[:, 6] = edges.words[sources]
    features[:, 7] = edges.beside[sources]
    pairs = _pairs(edges, sources, [ones[at].chunk for at in kept.tolist()])
    _add(found, pairs, evidence.DEFINES.probability(features))


def _mentioned(
    found: Walk,
    edges: _Edges,
    members: Mapping[int, Sequence[int]],
    mentions: Mapping[int, Sequence[int]],
    subjects: Mapping[int, Sequence[graphs.SubjectChunk]],
) -> None:
    """Links to the chunks that have a name too."""
    named: dict[int, list[int]] = {}
    for head, rows in members.items():
        defining = {one.chunk for row in rows for one in subjects.get(row, ())}
        named[head] = [chunk for row in rows for chunk in mentions.get(row, ()) if chunk not in defining]
    led = [named.get(edge.name.head, ()) for edge in edges.each]
    chunks = [chunk for some in led for chunk in some]
    targets = np.array([found.place[chunk] for chunk in chunks], dtype=np.int64)
    sources, kept = _elsewhere(edges, list(map(len, led)), targets)
    if not len(kept):
        return
    chunks = [chunks[at] for at in kept.tolist()]
    features = np.empty((len(kept), len(evidence.MENTIONS.weights)))
    features[:, 0] = edges.uses[sources]
    features[:, 1] = edges.own[sources]
    features[:, 2] = edges.asked[sources]
    features[:, 3] = _added(found, edges.places[sources], targets[kept])
    features[:, 4] = edges.words[sources]
    features[:, 5] = edges.beside[sources]
    features[:, 6] = [found.clause.get(chunk, 0.0) for chunk in chunks]
    _add(found, _pairs(edges, sources, chunks), evidence.MENTIONS.probability(features))


def _elsewhere(edges: _Edges, counts: Sequence[int], targets: Int64) -> tuple[Int64, Int64]:
    """Of targets that follow each other edge by edge, (the edge, the place among them) of those in other documents."""
    sources = np.repeat(np.arange(len(counts)), counts)
    kept = np.flatnonzero(edges.documents[targets] != edges.documents[edges.places[sources]])
    return sources[kept], kept


def _added(found: Walk, starts: Int64, targets: Int64) -> Float64:
    """Share of the question's words that a target has and its start has not."""
    return inner_products((found.has[targets] & ~found.has[starts]).astype(np.float64), found.question.weights)


def _pairs(edges: _Edges, sources: Int64, targets: Sequence[int]) -> Pairs:
    each = [edges.each[at] for at in sources.tolist()]
    return Pairs([edge.start for edge in each], [edge.name.row for edge in each], targets)


def _add(found: Walk, pairs: Pairs, chances: Float64) -> None:
    """Keep the best link from every start to every target."""
    reached = np.array([found.total[start] for start in pairs.starts]) * chances
    for start, name, target, chance in zip(pairs.starts, pairs.names, pairs.targets, reached.tolist(), strict=True):
        led = found.led.get(target)
        if led is None:
            found.led[target], found.through[target] = {start: chance}, {start: name}
        elif chance > led.get(start, -1.0):
            led[start], found.through[target][start] = chance, name
