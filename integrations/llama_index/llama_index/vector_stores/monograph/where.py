"""LlamaIndex's metadata filters as Monograph has them: all operators, nested as deep as they come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

from monograph.errors import InvalidFilter

_ALL: dict[str, Any] = {"and": []}
_NONE: dict[str, Any] = {"or": []}
_TEXT_OPERATORS = (FilterOperator.TEXT_MATCH, FilterOperator.TEXT_MATCH_INSENSITIVE)


class NoTextToMatch(InvalidFilter, TypeError):
    """A filter that matches texts has another value."""


def as_where(
    filters: MetadataFilters | None, nodes: Sequence[str] | None = None, documents: Sequence[str] | None = None
) -> dict[str, Any]:
    """Filters, and ids to keep to, as a ``where``; empty where nothing is asked.

    Parameters
    ----------
    filters:
        LlamaIndex's.
    nodes, documents:
        Ids of nodes, and of what they come from. No documents are none. An empty list of nodes restricts nothing:
        LlamaIndex's retrievers give it where they mean all.

    Raises
    ------
    InvalidFilter
        If a filter cannot be understood. None is ever ignored.
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
    parts = [_group(one) if isinstance(one, MetadataFilters) else _leaf(one) for one in filters.filters]
    return {condition.value: parts}


def _leaf(one: MetadataFilter) -> dict[str, Any]:
    if one.key.removeprefix("$").lower() in ("and", "or", "not"):
        raise InvalidFilter(
            f"a filter on the metadata key {one.key!r} cannot be told from a condition", "rename the key"
        )
    if one.operator in _TEXT_OPERATORS and not isinstance(one.value, str):
        raise NoTextToMatch(
            f"the operator {one.operator.value!r} on {one.key!r} compares texts, not a {type(one.value).__name__}",
            "give a text, or the operator ==",
        )
    # To LlamaIndex a missing key equals nothing, not even None.
    if one.value is None and one.operator == FilterOperator.EQ:
        return _NONE
    if one.value is None and one.operator == FilterOperator.NE:
        return _ALL
    return {one.key: {one.operator.value: one.value}}
