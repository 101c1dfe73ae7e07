"""Schema of a graph: the labels of its nodes and relations, and their properties."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from monograph.values import AssertedNode, Assertions


def schema_of(asserted: Assertions, chunks: Mapping[str, str]) -> dict[str, Any]:
    """Return the labels of nodes and of relations, each with its properties and their JSON types.

    ``chunks`` maps the ids of chunks that relations join to the chunks' labels.
    """
    nodes: dict[str, dict[str, set[str]]] = {}
    for node in asserted.nodes.values():
        _note(nodes.setdefault(node.label, {}), node.properties)
    properties: dict[str, dict[str, set[str]]] = {}
    patterns: set[tuple[str, str, str]] = set()
    for one in asserted.relations:
        _note(properties.setdefault(one.label, {}), one.properties)
        ends = (one.source, one.target)
        start, end = (chunks.get(name) or asserted.nodes.get(name, AssertedNode(name)).label for name in ends)
        patterns.add((start, one.label, end))
    return {
        "node_props": {label: _listed(some) for label, some in sorted(nodes.items())},
        "rel_props": {label: _listed(some) for label, some in sorted(properties.items())},
        "relationships": [{"start": start, "type": label, "end": end} for start, label, end in sorted(patterns)],
    }


def described(schema: Mapping[str, Any]) -> str:
    """Return a schema as lines for the prompt of a language model."""

    def lines(kinds: Mapping[str, Iterable[Mapping[str, str]]]) -> list[str]:
        had = {label: ", ".join(f"{one['property']}: {one['type']}" for one in some) for label, some in kinds.items()}
        return [f"{label} {{{listed}}}" for label, listed in had.items()]

    patterns = [f"({one['start']})-[:{one['type']}]->({one['end']})" for one in schema["relationships"]]
    parts = (
        ("Node properties:", lines(schema["node_props"])),
        ("Relationship properties:", lines(schema["rel_props"])),
        ("The relationships:", patterns),
    )
    return "\n".join(line for title, some in parts for line in (title, *some))


_TYPES: Mapping[type, str] = {
    bool: "BOOLEAN", int: "INTEGER", float: "FLOAT", str: "STRING", list: "LIST", dict: "MAP", type(None): "NULL",
}  # fmt: skip


def _note(known: dict[str, set[str]], properties: Mapping[str, Any]) -> None:
    for name, value in properties.items():
        known.setdefault(name, set()).add(_TYPES[type(value)])


def _listed(known: Mapping[str, set[str]]) -> list[dict[str, str]]:
    return [{"property": name, "type": " | ".join(sorted(types))} for name, types in sorted(known.items())]
