"""Assertions as JSON lines of an export.

An assertion has one line for each chunk or document that it comes from, and one line if it comes from none.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from monograph.carry import layout
from monograph.carry.json_lines import lines, text
from monograph.errors import SourceDamaged
from monograph.graph.names import key_of
from monograph.store.check import content, rules
from monograph.store.file.database import Connection
from monograph.store.graph import assertions
from monograph.values import AssertedNode, AssertedRelation


def written(connection: Connection) -> Iterator[dict[str, Any]]:
    """Yield the lines of all assertions as dicts: first the lines of nodes, then those of relations.

    Raises
    ------
    ValueError
        If an assertion in the file is damaged. The message describes the damage.
    """
    for finding in rules.findings(rules.CheckedRows(connection), content.assertions(key_of)):
        raise ValueError(finding.fault)
    for assertion in assertions.iterate_rows(connection):
        line: dict[str, Any]
        if isinstance(assertion, AssertedNode):
            embedding = None if assertion.embedding is None else assertion.embedding.tolist()
            line = {"id": assertion.id, "name": assertion.name, "label": assertion.label, "embedding": embedding}
        else:
            line = {"source": assertion.source, "label": assertion.label, "target": assertion.target}
        yield line | {"properties": assertion.properties, "origin": next(iter(assertion.origins), None)}


def read(folder: Path) -> Iterator[AssertedNode | AssertedRelation]:
    """Yield one assertion for each line of an export's file of assertions, in the order of the lines.

    Each assertion has at most one origin, a chunk or a document. If the export has no file of assertions, nothing is
    yielded.

    Raises
    ------
    SourceError
        If the file of assertions cannot be read, or one of its lines is not an assertion.
    """
    path = folder / layout.ASSERTIONS
    return (_read_assertion(where, line) for where, line in lines(path)) if path.exists() else iter(())


def _read_assertion(where: str, line: dict[str, Any]) -> AssertedNode | AssertedRelation:
    properties = line.get("properties")
    if not isinstance(properties, dict):
        raise SourceDamaged(f"{where}: its 'properties' are {str(properties)[:40]!r}", "repair it, or export again")
    origin = text(line.get("origin"), "origin", where)
    label, origins = text(line.get("label"), "label", where), (origin,) if origin else ()
    if "source" in line:
        ends = [text(line.get(name), name, where) for name in ("source", "target")]
        return AssertedRelation(ends[0], label, ends[1], properties, origins)
    identifier, name = text(line.get("id"), "id", where), text(line.get("name"), "name", where)
    return AssertedNode(identifier, name, label, properties, _read_embedding(line.get("embedding"), where), origins)


def _read_embedding(value: Any, where: str) -> Any:
    if value is None:
        return None
    if not isinstance(value, list) or not all(type(number) in (int, float) for number in value):
        raise SourceDamaged(f"{where}: its 'embedding' is {str(value)[:40]!r}", "repair it, or export again")
    with np.errstate(over="ignore"):  # Infinite values are refused when the assertion is added.
        return np.array(value, dtype=np.float32)
