"""What callers told of entities: relations of nodes whose names chunks have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from monograph.explore.nodes import Node, Nodes
from monograph.store import names, told, told_changes


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
    connection = nodes.connection
    if told_changes.is_empty(connection):
        return
    keys = {member.key for node in some for member in nodes.members.get(node.head, ())}
    relations = told.relations(connection, list(told.by_keys(connection, keys)))
    called = told.keys_of(connection, list({end for one in relations for end in (one.source, one.target)}))
    known = names.known(connection, {key for some_keys in called.values() for key in some_keys})
    nodes.meet({row.head for row in known.values()})
    origins = told_changes.origins(connection, list({name for one in relations for name in one.origins}))
    for one in relations:
        chunks = {row for name in one.origins if (row := origins[name].chunk) is not None}
        for source in _meant(called.get(one.source, set()), known):
            for target in _meant(called.get(one.target, set()), known):
                if source != target:
                    yield ToldLink(source, target, (one.source, one.label, one.target), frozenset(chunks))


def _meant(keys: Iterable[str], known: dict[str, names.NameRow]) -> list[Node]:
    return [Node(head) for head in sorted({known[key].head for key in keys if key in known})]
