"""Assertions of callers: nodes and relations are stored, and removed again."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

import numpy as np

from monograph.errors import InputError, NotFound, OutsideView
from monograph.graph.names import key_of
from monograph.store.file.database import Connection, Database
from monograph.store.graph import assertions
from monograph.store.graph.assertions import NOBODY, Ends, Origin
from monograph.values import Report, ToldNode, ToldRelation, arguments, check_json
from monograph.write.fence import Fence


def tell(
    database: Database,
    nodes: Sequence[ToldNode],
    relations: Sequence[ToldRelation],
    fence: Fence | None = None,
    *,
    missing_ok: bool = False,
) -> Report:
    """Store nodes and relations, all of them or, on an error, none. See ``archive.graph.tell``.

    Raises
    ------
    InputError, InvalidDocument
        If one cannot be stored.
    NotFound
        If an origin is no chunk and no document of the file, or not one that may be written.
    OutsideView
        If one has no origin, where not everything may be written.
    """
    check(nodes, relations)
    given: list[ToldNode | ToldRelation] = [*nodes, *relations]
    names = dict.fromkeys(name for one in given for name in one.origins)
    with database.write() as connection:
        origins = _origins(connection, list(names), fence)
        require_all(names, origins, missing_ok=missing_ok)
        if fence is not None and not all(any(name in origins for name in one.origins) for one in given):
            raise OutsideView("nobody in this view says it", "give the ids of chunks or documents that do, as origins")
        replaced = 0
        for one in given:
            # Each origin that was found says it once; nobody does where none was.
            for origin in dict.fromkeys(origins[name] for name in one.origins if name in origins) or (NOBODY,):
                replaced += _put(connection, one, origin)
    return Report(changed=replaced)


def _put(connection: Connection, said: ToldNode | ToldRelation, origin: Origin) -> int:
    """Store what an origin says; returns how many rows are replaced by it."""
    if isinstance(said, ToldNode):
        return assertions.put_node(connection, said, key_of(said.name or said.id), origin)
    for end in (said.source, said.target):
        assertions.imply_node(connection, end, key_of(end), origin)
    return assertions.put_relation(connection, said, origin)


def untell(database: Database, nodes: Sequence[str], relations: Sequence[Ends], fence: Fence | None = None) -> Report:
    """Take back nodes, with the relations that lead from or to them, and relations; ``removed`` counts what said so."""
    removed = 0
    with database.write() as connection:
        documents: Sequence[int | None] = (None,)
        if fence is not None:
            ends = [end for one in relations for end in (one.source, one.target)]
            documents = sorted(fence.among(connection, assertions.documents_of(connection, [*nodes, *ends])))
        for document in documents:
            removed += assertions.remove(connection, nodes, relations, document, every=fence is None)
    return Report(removed=removed)


def _origins(connection: Connection, names: Sequence[str], fence: Fence | None) -> dict[str, Origin]:
    found = assertions.origins(connection, names)
    if fence is not None:
        allowed = fence.among(connection, {one.document for one in found.values() if one.document is not None})
        found = {name: one for name, one in found.items() if one.document in allowed}
    return found


def require_all(names: Iterable[str], found: Container[str], *, missing_ok: bool) -> None:
    """Raise NotFound where an origin was not found, unless that is allowed."""
    for name in names:
        if name not in found and not missing_ok:
            raise NotFound(
                f"the origin {arguments.shown(name)} is neither a chunk nor a document",
                "add what says it first, or leave origins out",
            )


def check(nodes: Iterable[ToldNode], relations: Iterable[ToldRelation]) -> None:
    """Raise InputError or InvalidDocument where one cannot be stored."""
    for node in nodes:
        _check_node(node)
    for relation in relations:
        _check_relation(relation)


def _check_node(node: ToldNode) -> None:
    for value, name in ((node.id, "a node's id"), (node.name, "a node's name"), (node.label, "a node's label")):
        arguments.label(value, name)
    arguments.names(node.origins, "an origin")
    check_json(node.properties, f"the node {arguments.shown(node.id)}")
    if node.embedding is not None:
        embedding = arguments.vector(node.embedding, "an embedding")
        if not np.isfinite(embedding).all():
            raise InputError(f"the embedding of the node {arguments.shown(node.id)} is not finite", "embed it again")


def _check_relation(relation: ToldRelation) -> None:
    said = ((relation.source, "a source"), (relation.label, "a relation's label"), (relation.target, "a target"))
    for value, name in said:
        arguments.label(value, name)
    arguments.names(relation.origins, "an origin")
    check_json(relation.properties, f"the relation {arguments.shown(relation.label)}")
