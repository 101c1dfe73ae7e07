"""What callers tell of things goes into the file, and is taken back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from monograph.errors import InputError, NotFound, OutsideView
from monograph.graph.names import key_of
from monograph.store import told_changes
from monograph.store.database import Connection, Database
from monograph.store.told_changes import NOBODY, Ends, Origin
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
    """Store nodes and relations, all of them or, on an error, none: see :meth:`monograph.library.told.ToldGraph.tell`.

    Raises
    ------
    InputError, InvalidDocument
        If one cannot be stored.
    NotFound
        If an origin is no chunk and no document of the file, or not one that may be written.
    OutsideView
        If one has no origin, where not everything may be written.
    """
    for node in nodes:
        _check_node(node)
    for relation in relations:
        _check_relation(relation)
    given = [*(one.origins for one in nodes), *(one.origins for one in relations)]
    names = dict.fromkeys(name for some in given for name in some)
    with database.write() as connection:
        origins = _origins(connection, list(names), fence, missing_ok=missing_ok)
        if fence is not None and not all(any(name in origins for name in some) for some in given):
            raise OutsideView("nobody in this view says it", "give the ids of chunks or documents that do, as origins")
        replaced = 0
        for node in nodes:
            for origin in _of(node.origins, origins):
                replaced += told_changes.put_node(connection, node, key_of(node.name or node.id), origin)
        for relation in relations:
            for origin in _of(relation.origins, origins):
                for end in dict.fromkeys((relation.source, relation.target)):
                    told_changes.imply_node(connection, end, key_of(end), origin)
                replaced += told_changes.put_relation(connection, relation, origin)
    return Report(changed=replaced)


def untell(database: Database, nodes: Sequence[str], relations: Sequence[Ends], fence: Fence | None = None) -> Report:
    """Take back nodes, with the relations that lead from or to them, and relations; ``removed`` counts what said so."""
    removed = 0
    with database.write() as connection:
        documents: Sequence[int | None] = (None,)
        if fence is not None:
            ends = [end for one in relations for end in (one.source, one.target)]
            documents = sorted(fence.among(connection, told_changes.documents_of(connection, [*nodes, *ends])))
        every = fence is None
        for document in documents:
            for name in nodes:
                removed += told_changes.remove_node(connection, name, document, every=every)
            for one in relations:
                removed += told_changes.remove_relation(connection, one, document, every=every)
    return Report(removed=removed)


def _origins(
    connection: Connection, names: Sequence[str], fence: Fence | None, *, missing_ok: bool
) -> dict[str, Origin]:
    found = told_changes.origins(connection, names)
    if fence is not None:
        allowed = fence.among(connection, {one.document for one in found.values() if one.document is not None})
        found = {name: one for name, one in found.items() if one.document in allowed}
    for name in names:
        if name not in found and not missing_ok:
            raise NotFound(
                f"the origin {arguments.shown(name)} is neither a chunk nor a document",
                "add what says it first, or leave origins out",
            )
    return found


def _of(names: Iterable[str], origins: dict[str, Origin]) -> Iterable[Origin]:
    return dict.fromkeys(origins[name] for name in names if name in origins) or (NOBODY,)


def _check_node(node: ToldNode) -> None:
    for value, name in ((node.id, "a node's id"), (node.name, "a node's name"), (node.label, "a node's label")):
        arguments.text(value, name)
    arguments.names(node.origins, "an origin")
    check_json(node.properties, f"the node {arguments.shown(node.id)}")
    if node.embedding is not None:
        embedding = arguments.vector(node.embedding, "an embedding")
        if not np.isfinite(embedding).all():
            raise InputError(f"the embedding of the node {arguments.shown(node.id)} is not finite", "embed it again")


def _check_relation(relation: ToldRelation) -> None:
    said = ((relation.source, "a source"), (relation.label, "a relation's label"), (relation.target, "a target"))
    for value, name in said:
        arguments.text(value, name)
    arguments.names(relation.origins, "an origin")
    check_json(relation.properties, f"the relation {arguments.shown(relation.label)}")
