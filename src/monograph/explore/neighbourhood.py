"""Neighbourhood of entities: the entities that chunks name together with them, hop by hop, and these chunks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from monograph.errors import InputError
from monograph.explore.cooccurrence import CooccurrenceGraph
from monograph.explore.entities import entities
from monograph.explore.graph_state import GraphState
from monograph.explore.nodes import EntityNode, Nodes
from monograph.store.documents import chunks
from monograph.store.graph import names
from monograph.values import Chunk, Document, Entity, Link, Neighbourhood, arguments

AT_ONCE = 4_096
"""Chunks that :func:`whole` reads in one request, which may go over a network."""


def neighbourhood(state: GraphState, centre: Sequence[EntityNode], hops: int, most: int) -> Neighbourhood:
    """Return the part of the graph around entities.

    Two entities are linked if a chunk names both in one sentence, or if a model or a caller states a relation between
    them. The weight of a link is its frequency times its surprise (see
    :meth:`monograph.explore.cooccurrence.CooccurrenceGraph.weight`). Each hop adds the entities with the heaviest links
    to the hop before it. If several hops are requested, they share ``most`` between them.

    The result depends only on the documents, and is the same in every file of the same documents. Of an entity in very
    many chunks only some chunks are read (see :class:`monograph.explore.nodes.Nodes`), and in addition all chunks of
    its rarer neighbours; so a link between two such entities may have fewer chunks than exist. An entity that only
    titles name, and no chunk, counts as named in the first sentence of its documents' first chunks.

    Parameters
    ----------
    state:
        The graph.
    centre:
        The entities in the middle.
    hops:
        Largest distance from these in links, at least 0; values above ``most`` count as ``most``.
    most:
        Most entities around the centre, and most chunks, at least 1.

    Raises
    ------
    InputError
        If a number is out of range.
    """
    hops, most = arguments.whole_number(hops, "hops"), arguments.whole_number(most, "most")
    if hops < 0 or most < 1:
        raise InputError(f"hops is {hops} and most is {most}", "give 0 or more hops, and at least 1 entity")
    nodes = Nodes(state)
    web = CooccurrenceGraph(nodes)
    web.add(nodes.read_titled({one.head for one in centre}))
    levels, cut = _around(web, centre, hops, most)
    shown = [one for level in levels for one in level]
    web.add(nodes.read_entities({one.head for one in shown}))
    web.add_assertions(shown)
    links = web.links(shown)
    ordered = list(centre)
    for inner, level in pairwise(levels):  # Now all chunks of these entities are read, so the weights are final.
        weights = web.bound_to(inner, set(inner))
        ordered += sorted(level, key=lambda node: (-weights.get(node, 0.0), nodes.key(node), node.sense))
    rows = _telling(web, centre, ordered, links)[:most]
    return _made(nodes, centre, ordered, [link for _, _, link in links], rows, cut)


def whole(state: GraphState) -> Neighbourhood:
    """Return the whole graph: every entity, every link and every chunk, all in memory.

    Chunks are in order of their documents' ids. The result depends only on the documents, and is the same in every file
    of the same documents.
    """
    nodes = Nodes(state)
    web = CooccurrenceGraph(nodes)
    every = state.every_chunk()
    for first in range(0, len(every), AT_ONCE):
        web.add(nodes.read(every[first : first + AT_ONCE]))
    heads = names.most_named(state.names, -1)
    nodes.read_entities(heads)
    shown = [node for head in heads for node in nodes.nodes_of(head)]
    web.add_assertions(shown)
    places = state.places(every)
    rows = sorted(places, key=lambda chunk: (places[chunk].document_id, places[chunk].ordinal))
    return _made(nodes, (), shown, [link for _, _, link in web.links(shown)], rows, 0)


def _around(
    web: CooccurrenceGraph, centre: Sequence[EntityNode], hops: int, most: int
) -> tuple[list[list[EntityNode]], int]:
    """Return (entities of each hop, the centre first; number of entities left out)."""
    levels, passed, left, cut = [list(centre)], set(centre), most, 0
    hops = min(hops, most)  # So that each hop has room for at least one entity.
    for hop in range(hops):
        web.add(web.nodes.read_entities({one.head for one in levels[-1]}))
        web.add_assertions(levels[-1])
        weights = web.bound_to(levels[-1], passed)
        ordered = sorted(weights, key=lambda node: (-weights[node], web.nodes.key(node), node.sense))
        level = ordered[: left // (hops - hop)]
        passed.update(ordered)
        cut += len(ordered) - len(level)
        left -= len(level)
        levels.append(level)
        if not level:
            break
    return levels, cut


def _telling(
    web: CooccurrenceGraph,
    centre: Sequence[EntityNode],
    shown: Sequence[EntityNode],
    links: Sequence[tuple[EntityNode, EntityNode, Link]],
) -> list[int]:
    """Return the chunks that name any of the entities ``shown``: those that name the centre first, then by score.

    The score of a chunk is the sum of the surprises of its links; links of the centre count twice.
    """
    nodes, wanted, middle = web.nodes, set(shown), set(centre)
    named = {chunk: {one.node for one in seen} & wanted for chunk, seen in nodes.seen.items()}
    telling = {chunk: 0.0 for chunk, some in named.items() if some}
    for source, target, _ in links:
        bond = web.bonds[source][target]
        told = web.surprise(source, target, bond) * (2.0 if source in middle or target in middle else 1.0)
        for chunk in bond.chunks & telling.keys():
            telling[chunk] += told
    places = nodes.state.places(telling)
    return sorted(
        telling,
        key=lambda chunk: (
            not named[chunk] & middle,
            -telling[chunk],
            places[chunk].document_id,
            places[chunk].ordinal,
        ),
    )


def _made(
    nodes: Nodes,
    centre: Sequence[EntityNode],
    shown: Sequence[EntityNode],
    links: Sequence[Link],
    rows: Sequence[int],
    cut: int,
) -> Neighbourhood:
    found = nodes.state.chunks(rows)
    loaded: dict[int, Chunk] = {row: one.chunk for row, one in found.items()}
    wanted = set(shown)
    made = tuple(entities(nodes, shown))
    return Neighbourhood(
        centre=tuple(nodes.id(one) for one in centre),
        entities=made,
        links=tuple(links),
        chunks=tuple(loaded.values()),
        mentions=tuple(
            (nodes.id(node), loaded[row].id)
            for row in loaded
            for node in dict.fromkeys(one.node for one in nodes.seen[row])
            if node in wanted
        ),
        cut=cut,
        documents=_documents(nodes.state, list(found.values()), made),
    )


def _documents(state: GraphState, found: Sequence[chunks.LoadedChunk], shown: Sequence[Entity]) -> tuple[Document, ...]:
    """Return the documents of the chunks, and those about the entities, without their texts, each once."""
    known = {one.chunk.document_id: Document(id=one.chunk.document_id, title=one.title, uri=one.uri) for one in found}
    about = dict.fromkeys(name for entity in shown for name in entity.documents if name not in known)
    found_about = state.documents(about)
    known.update((name, found_about[name]) for name in about if name in found_about)
    return tuple(known.values())
