"""Where the names in a search's starts lead: to documents about them, to chunks that have them too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from monograph.graph import evidence
from monograph.graph.evidence import Bools, Float64, Int64
from monograph.search.leads import Leads
from monograph.search.reckoning.links import Links, Pairs
from monograph.search.reckoning.outlinks import Outlinks


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """Places of chunks that entities lead to, entity by entity, and of each edge how many and which is the first."""

    places: Int64
    counts: Int64
    first: Int64


@dataclass(frozen=True, slots=True, eq=False)
class Reached:
    """What links hang on of the chunks that are known, by place, and the links; ``weights`` are the question's words'.

    ``has`` (chunks, words) tells which of these each chunk has; the others are (chunks,).
    """

    weights: Float64
    has: Bools
    documents: Int64
    total: Float64
    clause: Float64
    links: Links


def defined(found: Reached, edges: Outlinks, entities: Sequence[Leads], to: Targets) -> None:
    """Links to the documents that are about a name."""
    # A document that is about the name itself leads to no other.
    sources, kept = _elsewhere(found, edges, to, np.where(edges.own, 0, to.counts))
    if not len(kept):
        return
    targets = to.places[kept]
    features = np.empty((len(kept), len(evidence.DEFINES.weights)))
    features[:, 0] = np.array([one for some in entities for one in some.by_beginning])[kept]
    features[:, 1] = np.array([one for some in entities for one in some.rarity])[kept]
    features[:, 2] = edges.uses[sources]
    features[:, 3] = edges.asked[sources]
    features[:, 4] = _added(found, edges.starts[sources], targets)
    features[:, 5] = edges.first[sources]
    features[:, 6] = edges.words[sources]
    features[:, 7] = edges.beside[sources]
    add(found, _pairs(edges, sources, targets), evidence.DEFINES.probability(features))


def mentioned(found: Reached, edges: Outlinks, to: Targets) -> None:
    """Links to the chunks that have a name too."""
    sources, kept = _elsewhere(found, edges, to, to.counts)
    if not len(kept):
        return
    targets = to.places[kept]
    features = np.empty((len(kept), len(evidence.MENTIONS.weights)))
    features[:, 0] = edges.uses[sources]
    features[:, 1] = edges.own[sources]
    features[:, 2] = edges.asked[sources]
    features[:, 3] = _added(found, edges.starts[sources], targets)
    features[:, 4] = edges.words[sources]
    features[:, 5] = edges.beside[sources]
    features[:, 6] = found.clause[targets]
    add(found, _pairs(edges, sources, targets), evidence.MENTIONS.probability(features))


def add(found: Reached, pairs: Pairs, chances: Float64) -> None:
    """Keep the best link from every start to every target."""
    found.links.add(pairs, found.total[pairs.starts] * chances)


def _elsewhere(found: Reached, edges: Outlinks, to: Targets, counts: Int64) -> tuple[Int64, Int64]:
    """Of so many targets of each edge, (the edge, the place among all targets) of those in other documents."""
    sources = np.repeat(np.arange(len(counts)), counts)
    at = np.arange(len(sources)) + (to.first - (np.cumsum(counts) - counts))[sources]
    kept = np.flatnonzero(found.documents[to.places[at]] != found.documents[edges.starts[sources]])
    return sources[kept], at[kept]


def _added(found: Reached, starts: Int64, targets: Int64) -> Float64:
    """Share of the question's words that a target has and its start has not."""
    return evidence.weighted_sums((found.has[targets] & ~found.has[starts]).astype(np.float64), found.weights)


def _pairs(edges: Outlinks, sources: Int64, targets: Int64) -> Pairs:
    return Pairs(edges.numbers[sources], edges.starts[sources], edges.names[sources], targets)
