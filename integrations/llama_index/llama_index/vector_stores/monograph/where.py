"""Conversion of LlamaIndex metadata filters to filters of Monograph, with all operators and any depth of nesting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

from monograph.errors import InvalidFilter

_ALL: dict[str, Any] = {"and": []}
_NONE: dict[str, Any] = {"or": []}
_TEXT_OPERATORS = (FilterOperator.TEXT_MATCH, FilterOperator.TEXT_MATCH_INSENSITIVE)


class NoTextToMatch(InvalidFilter, TypeError):
    """Raised if a filter compares texts, but its value is not a string."""


def as_where(
    filters: MetadataFilters | None, nodes: Sequence[str] | None = None, documents: Sequence[str] | None = None
) -> dict[str, Any]:
    """Convert LlamaIndex's metadata filters and lists of allowed ids to one ``where`` filter of Monograph.

    Without any condition, the result is an empty dict. ``nodes`` are the ids of allowed nodes, and ``documents`` the
    ids of allowed source documents. An empty list of documents matches nothing. An empty list of nodes restricts
    nothing, because LlamaIndex's retrievers pass an empty list to mean all nodes. Raises InvalidFilter if a filter
    cannot be understood: no filter is ignored.
    """
    if filters is not None and not isinstance(filters, MetadataFilters):
        raise InvalidFilter(
            f"filters must be MetadataFilters, not {type(filters).__name__}", "MetadataFilters(filters=[…])"
        )
    parts = [] if filters is None or not filters.filters else [_group(filters)]
    if nodes:
        parts.append({"$chunk": {"in": list(nodes)}})
    if documents is not None:
        parts.append({"$document": {"in": list(documents)}})
    return {"and": parts} if parts else {}


def _group(filters: MetadataFilters) -> dict[str, Any]:
    if not filters.filters:
        return _ALL
    condition = filters.condition or FilterCondition.AND
    parts = [_group(item) if isinstance(item, MetadataFilters) else _leaf(item) for item in filters.filters]
    return {condition.value: parts}


def _leaf(leaf: MetadataFilter) -> dict[str, Any]:
    if leaf.key.removeprefix("$").lower() in ("and", "or", "not"):
        raise InvalidFilter(
            f"a filter on the metadata key {leaf.key!r} looks like a condition of Monograph", "rename the key"
        )
    if leaf.operator in _TEXT_OPERATORS and not isinstance(leaf.value, str):
        raise NoTextToMatch(
            f"the operator {leaf.operator.value!r} on {leaf.key!r} compares texts, not a {type(leaf.value).__name__}",
            "give a text, or the operator ==",
        )
    # In LlamaIndex a missing key equals nothing, not even None.
    if leaf.value is None and leaf.operator == FilterOperator.EQ:
        return _NONE
    if leaf.value is None and leaf.operator == FilterOperator.NE:
        return _ALL
    return {leaf.key: {leaf.operator.value: leaf.value}}
