"""Neighbourhood of entities: the entities linked to them, hop by hop, and the chunks that name them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from monograph.errors import InputError
from monograph.explore.cooccurrence import CooccurrenceGraph
from monograph.explore.entities import entities
from monograph.explore.graph_state import GraphState
from monograph.explore.nodes import EntityNode, Nodes
from monograph.store.graph import names
from monograph.values import Document, Link, Neighbourhood, arguments

AT_ONCE = 4_096
"""Number of chunks that :func:`whole` reads in one request, which may go over a network."""


def neighbourhood(state: GraphState, centre: Sequence[EntityNode], hops: int, most: int) -> Neighbourhood:
    """Return the part of the graph around some entities, the ``centre``.

    Two entities are linked if a chunk names both in one sentence, or if a language model or a caller states a relation
    between them. The weight of a link is its frequency times its surprise (see
    :meth:`monograph.explore.cooccurrence.CooccurrenceGraph.weight`).

    Each hop adds the entities that have the heaviest links to entities of the previous hop. All hops together add at
    most ``most`` entities. This number is divided among the hops, at least one entity for each, so at most ``most``
    hops are made. At most ``most`` chunks are returned. Raises InputError if ``hops`` is below 0, or ``most`` below 1.

    The result depends only on the documents, so files with the same documents give the same result. If very many chunks
    name an entity, only some of these chunks are read (see :class:`monograph.explore.nodes.Nodes`). So a link between
    two very frequent entities may have fewer chunks than exist. A link to a rare entity is complete, because all chunks
    of the rare entity are read.

    An entity of the centre may be named only in titles of documents, and in no chunk. Such an entity counts as named in
    the first sentence of the first chunks of these documents.
    """
    hops, most = arguments.whole_number(hops, "hops"), arguments.whole_number(most, "most")
    if hops < 0 or most < 1:
        raise InputError(f"hops is {hops} and most is {most}", "give 0 or more hops, and at least 1 entity")
    nodes = Nodes(state)
    graph = CooccurrenceGraph(nodes)
    graph.add(nodes.read_titled({node.head for node in centre}))
    levels, cut = _expand(graph, centre, hops, most)
    shown = [node for level in levels for node in level]
    graph.add(nodes.read_entities({node.head for node in shown}))
    graph.add_assertions(shown)
    links = graph.links(shown)
    ordered = list(centre)
    for inner, level in pairwise(levels):  # Now all chunks of these entities are read, so the weights are final.
        weights = graph.bound_to(inner, set(inner))
        ordered += sorted(level, key=lambda node: (-weights.get(node, 0.0), nodes.key(node), node.sense))
    rows = _rank_chunks(graph, centre, ordered, links)[:most]
    return _build(nodes, centre, ordered, [link for _, _, link in links], rows, cut)


def whole(state: GraphState) -> Neighbourhood:
    """Return the whole graph, all in memory: every entity, link and chunk.

    The chunks are in order of the ids of their documents, then in reading order.
    """
    nodes = Nodes(state)
    graph = CooccurrenceGraph(nodes)
    all_chunks = state.every_chunk()
    for first in range(0, len(all_chunks), AT_ONCE):
        graph.add(nodes.read(all_chunks[first : first + AT_ONCE]))
    heads = names.most_named(state.names, -1)
    nodes.read_entities(heads)
    shown = [node for head in heads for node in nodes.nodes_of(head)]
    graph.add_assertions(shown)
    places = state.places(all_chunks)
    rows = sorted(places, key=lambda chunk: (places[chunk].document_id, places[chunk].ordinal))
    return _build(nodes, (), shown, [link for _, _, link in graph.links(shown)], rows, 0)


def _expand(
    graph: CooccurrenceGraph, centre: Sequence[EntityNode], hops: int, most: int
) -> tuple[list[list[EntityNode]], int]:
    """Return (entities of each hop, the centre first; number of linked entities that were left out)."""
    levels, visited, remaining, cut = [list(centre)], set(centre), most, 0
    hops = min(hops, most)  # So that each hop has room for at least one entity.
    for hop in range(hops):
        graph.add(graph.nodes.read_entities({node.head for node in levels[-1]}))
        graph.add_assertions(levels[-1])
        weights = graph.bound_to(levels[-1], visited)
        ordered = sorted(weights, key=lambda node: (-weights[node], graph.nodes.key(node), node.sense))
        level = ordered[: remaining // (hops - hop)]
        visited.update(ordered)
        cut += len(ordered) - len(level)
        remaining -= len(level)
        levels.append(level)
        if not level:
            break
    return levels, cut


def _rank_chunks(
    graph: CooccurrenceGraph,
    centre: Sequence[EntityNode],
    shown: Sequence[EntityNode],
    links: Sequence[tuple[EntityNode, EntityNode, Link]],
) -> list[int]:
    """Return the rows of the chunks that name entities of ``shown``. Chunks that name ``centre`` are first."""
    nodes, shown_set, centre_set = graph.nodes, set(shown), set(centre)
    named = {chunk: {name.node for name in chunk_names} & shown_set for chunk, chunk_names in nodes.seen.items()}
    scores = {chunk: 0.0 for chunk, named_nodes in named.items() if named_nodes}
    for source, target, _ in links:
        bond = graph.bonds[source][target]
        # Chunks that support surprising links come first; links of the centre count twice.
        score = graph.surprise(source, target, bond) * (2.0 if source in centre_set or target in centre_set else 1.0)
        for chunk in bond.chunks & scores.keys():
            scores[chunk] += score
    places = nodes.state.places(scores)

    def worth(chunk: int) -> tuple[bool, float, str, int]:
        return not named[chunk] & centre_set, -scores[chunk], places[chunk].document_id, places[chunk].ordinal

    return sorted(scores, key=worth)


def _build(
    nodes: Nodes,
    centre: Sequence[EntityNode],
    shown: Sequence[EntityNode],
    links: Sequence[Link],
    rows: Sequence[int],
    cut: int,
) -> Neighbourhood:
    loaded = nodes.state.chunks(rows)
    shown_set = set(shown)
    entity_values = tuple(entities(nodes, shown))
    documents = {
        chunk.chunk.document_id: Document(id=chunk.chunk.document_id, title=chunk.title, uri=chunk.uri)
        for chunk in loaded.values()
    }
    subjects = dict.fromkeys(name for entity in entity_values for name in entity.documents if name not in documents)
    found = nodes.state.documents(subjects)
    documents.update((name, found[name]) for name in subjects if name in found)
    return Neighbourhood(
        centre=tuple(nodes.id(node) for node in centre),
        entities=entity_values,
        links=tuple(links),
        chunks=tuple(chunk.chunk for chunk in loaded.values()),
        mentions=tuple(
            (nodes.id(node), chunk.chunk.id)
            for row, chunk in loaded.items()
            for node in dict.fromkeys(name.node for name in nodes.seen[row])
            if node in shown_set
        ),
        cut=cut,
        documents=tuple(documents.values()),
    )
