"""What callers told of entities: relations of nodes whose names chunks have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from monograph.explore.nodes import Node, Nodes
from monograph.store import names


@dataclass(frozen=True, slots=True)
class ToldLink:
    """A relation of two entities: (source, label, target) as a caller told it, and the rows of chunks that say it."""

    source: Node
    target: Node
    ends: tuple[str, str, str]
    chunks: frozenset[int]


def told_links(nodes: Nodes, some: Iterable[Node]) -> Iterator[ToldLink]:
    """The relations that were told of some entities and of others, which are met; none of an entity and itself.

    Of a homonym the plain name is meant.
    """
    told = nodes.around.told({member.key for node in some for member in nodes.members.get(node.head, ())})
    if not told.said:
        return
    known = names.known(nodes.around.names, {key for keys in told.called.values() for key in keys})
    nodes.meet({row.head for row in known.values()})
    for source_id, label, target_id, chunks in told.said:
        for source in _meant(told.called.get(source_id, ()), known):
            for target in _meant(told.called.get(target_id, ()), known):
                if source != target:
                    yield ToldLink(source, target, (source_id, label, target_id), chunks)


def _meant(keys: Iterable[str], known: dict[str, names.NameRow]) -> list[Node]:
    return [Node(head) for head in sorted({known[key].head for key in keys if key in known})]
