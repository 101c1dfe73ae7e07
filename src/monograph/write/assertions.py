"""Assertions of callers: nodes and relations are stored, and removed again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from monograph.errors import InputError, NotFound, OutsideView
from monograph.graph.names import key_of
from monograph.store.file.database import Database
from monograph.store.graph import assertions
from monograph.store.graph.assertions import NOBODY, RelationKey
from monograph.values import AssertedNode, AssertedRelation, Report, arguments, check_json
from monograph.write.pipeline import WriteGuard


def add(
    database: Database,
    nodes: Sequence[AssertedNode],
    relations: Sequence[AssertedRelation],
    guard: WriteGuard | None = None,
    *,
    missing_ok: bool = False,
) -> Report:
    """Store asserted nodes and relations. On an error none is stored.

    Origins are the chunks and documents that support an assertion. With the ``guard`` of a view, each assertion must
    have an origin in this view, and other origins are unknown. With ``missing_ok``, unknown origins are skipped. In the
    report, ``changed`` counts replaced rows. For the errors see :meth:`monograph.library.graph.GraphWriter.add`.
    """
    check(nodes, relations)
    items: list[AssertedNode | AssertedRelation] = [*nodes, *relations]
    names = dict.fromkeys(name for assertion in items for name in assertion.origins)
    with database.write() as connection:
        origins = assertions.origins(connection, list(names))
        if guard is not None:
            allowed = guard.among(
                connection, {origin.document for origin in origins.values() if origin.document is not None}
            )
            origins = {name: origin for name, origin in origins.items() if origin.document in allowed}
        missing = next((name for name in names if name not in origins), None)
        if missing is not None and not missing_ok:
            raise NotFound(
                f"the origin {arguments.shown(missing)} is neither a chunk nor a document",
                "add that chunk or document first, or leave origins out",
            )
        if guard is not None and not all(any(name in origins for name in assertion.origins) for assertion in items):
            raise OutsideView("it has no origin in this view", "give ids of chunks or documents of the view as origins")
        replaced = 0
        for assertion in items:
            # One row for each origin that was found; one row without an origin if there is none.
            for origin in dict.fromkeys(origins[name] for name in assertion.origins if name in origins) or (NOBODY,):
                if isinstance(assertion, AssertedNode):
                    replaced += assertions.put_node(
                        connection, assertion, key_of(assertion.name or assertion.id), origin
                    )
                    continue
                for end in (assertion.source, assertion.target):
                    assertions.imply_node(connection, end, key_of(end), origin)
                replaced += assertions.put_relation(connection, assertion, origin)
    return Report(changed=replaced)


def remove(
    database: Database, nodes: Sequence[str], relations: Sequence[RelationKey], guard: WriteGuard | None = None
) -> Report:
    """Remove asserted nodes by id, all relations of these nodes, and the given relations.

    Unknown nodes and relations are skipped. With the ``guard`` of a view, only assertions from documents of this view
    are removed. In the report, ``removed`` counts the removed rows.
    """
    removed = 0
    with database.write() as connection:
        documents: Sequence[int | None] = (None,)
        if guard is not None:
            ends = [end for relation in relations for end in (relation.source, relation.target)]
            documents = sorted(guard.among(connection, assertions.documents_of(connection, [*nodes, *ends])))
        for document in documents:
            removed += assertions.remove(connection, nodes, relations, document, every=guard is None)
    return Report(removed=removed)


def check(nodes: Iterable[AssertedNode], relations: Iterable[AssertedRelation]) -> None:
    """Raise InputError or InvalidDocument if a node or relation cannot be stored."""
    for node in nodes:
        for value, name in ((node.id, "a node's id"), (node.name, "a node's name"), (node.label, "a node's label")):
            arguments.label(value, name)
        arguments.names(node.origins, "an origin")
        check_json(node.properties, f"the node {arguments.shown(node.id)}")
        if node.embedding is not None and not np.isfinite(arguments.vector(node.embedding, "an embedding")).all():
            raise InputError(f"the embedding of the node {arguments.shown(node.id)} is not finite", "embed it again")
    for relation in relations:
        arguments.label(relation.source, "a source")
        arguments.label(relation.label, "a relation's label")
        arguments.label(relation.target, "a target")
        arguments.names(relation.origins, "an origin")
        check_json(relation.properties, f"the relation {arguments.shown(relation.label)}")
