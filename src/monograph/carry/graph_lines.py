"""The graph of a file as lines: entities, which chunks name them, which of them are named together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from monograph.explore.cooccurrence import CooccurrenceGraph
from monograph.explore.nodes import Node, Nodes
from monograph.explore.one_file import OneFile
from monograph.explore.surface_forms import MOST_LOOKED_AT, entities
from monograph.store import chunks
from monograph.store.database import Connection
from monograph.values import ENTITY_KINDS

AT_ONCE = 1_024
"""Entities that are looked up together."""


def entity_lines(connection: Connection, heads: Sequence[int]) -> Iterator[dict[str, Any]]:
    """The entities of some heads, of a homonym every sense."""
    for first in range(0, len(heads), AT_ONCE):
        some = heads[first : first + AT_ONCE]
        nodes = Nodes(OneFile(connection))
        nodes.read_entities(some, MOST_LOOKED_AT)
        for one in entities(nodes, [node for head in some for node in nodes.nodes_of(head)]):
            yield {
                "id": one.id,
                "name": one.name,
                "kind": one.kind,
                "names": list(one.names),
                "chunks": one.chunks,
                "documents": list(one.documents),
            }


def edge_lines(connection: Connection, rows: Sequence[int]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What some chunks say of entities.

    Returns
    -------
    (mentions, links): a line for each entity that a chunk names, and for each two that it names in one sentence or that
    a model relates, in order of chunk.
    """
    nodes = Nodes(OneFile(connection))
    nodes.read(rows)
    ids = chunks.ids(connection, rows)
    mentions: list[dict[str, Any]] = []
    links: list[dict[str, Any]] = []
    for row in rows:
        named: dict[Node, int] = {}
        for one in nodes.seen.get(row, ()):
            named.setdefault(one.node, one.kind)
        mentions.extend(
            {"entity": nodes.id(node), "chunk": ids[row], "kind": ENTITY_KINDS[kind]} for node, kind in named.items()
        )
        if row not in nodes.seen:
            continue
        # Of one chunk alone, so that every line says which chunk it comes from.
        web = CooccurrenceGraph(nodes)
        web.add([row])
        for _, _, link in sorted(web.links(list(named)), key=lambda one: (one[2].source, one[2].target)):
            line: dict[str, Any] = {"source": link.source, "target": link.target, "chunk": ids[row]}
            if link.description or link.keywords:
                line |= {"description": link.description, "keywords": list(link.keywords)}
            links.append(line)
    return mentions, links
