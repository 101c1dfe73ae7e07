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
        _add_properties(nodes.setdefault(node.label, {}), node.properties)
    properties: dict[str, dict[str, set[str]]] = {}
    patterns: set[tuple[str, str, str]] = set()
    for relation in asserted.relations:
        _add_properties(properties.setdefault(relation.label, {}), relation.properties)
        ends = (relation.source, relation.target)
        start, end = (chunks.get(name) or asserted.nodes.get(name, AssertedNode(name)).label for name in ends)
        patterns.add((start, relation.label, end))
    return {
        "node_props": {label: _property_list(label_properties) for label, label_properties in sorted(nodes.items())},
        "rel_props": {
            label: _property_list(label_properties) for label, label_properties in sorted(properties.items())
        },
        "relationships": [{"start": start, "type": label, "end": end} for start, label, end in sorted(patterns)],
    }


def described(schema: Mapping[str, Any]) -> str:
    """Return a schema as lines for the prompt of a language model."""

    def lines(kinds: Mapping[str, Iterable[Mapping[str, str]]]) -> list[str]:
        listed_by_label = {
            label: ", ".join(f"{item['property']}: {item['type']}" for item in items) for label, items in kinds.items()
        }
        return [f"{label} {{{properties}}}" for label, properties in listed_by_label.items()]

    patterns = [
        f"({relationship['start']})-[:{relationship['type']}]->({relationship['end']})"
        for relationship in schema["relationships"]
    ]
    parts = (
        ("Node properties:", lines(schema["node_props"])),
        ("Relationship properties:", lines(schema["rel_props"])),
        ("The relationships:", patterns),
    )
    return "\n".join(line for title, section_lines in parts for line in (title, *section_lines))


_TYPES: Mapping[type, str] = {
    bool: "BOOLEAN", int: "INTEGER", float: "FLOAT", str: "STRING", list: "LIST", dict: "MAP", type(None): "NULL",
}  # fmt: skip


def _add_properties(types_by_name: dict[str, set[str]], properties: Mapping[str, Any]) -> None:
    for name, value in properties.items():
        types_by_name.setdefault(name, set()).add(_TYPES[type(value)])


def _property_list(types_by_name: Mapping[str, set[str]]) -> list[dict[str, str]]:
    return [{"property": name, "type": " | ".join(sorted(types))} for name, types in sorted(types_by_name.items())]
