"""LlamaIndex's metadata filters as Monograph has them: all operators, nested as deep as they come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

from monograph.errors import InvalidFilter

_ALL: dict[str, Any] = {"and": []}
_NONE: dict[str, Any] = {"or": []}


def as_where(
    filters: MetadataFilters | None, nodes: Sequence[str] | None = None, documents: Sequence[str] | None = None
) -> dict[str, Any]:
    """Filters, and ids to keep to, as a ``where``; empty where nothing is asked.

    Parameters
    ----------
    filters:
        LlamaIndex's.
    nodes, documents:
        Ids of nodes, and of what they come from. None and an empty list restrict nothing: retrievers give the latter.

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
    if documents:
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
    # To LlamaIndex a missing key equals nothing, not even None.
    if one.value is None and one.operator == FilterOperator.EQ:
        return _NONE
    if one.value is None and one.operator == FilterOperator.NE:
        return _ALL
    return {one.key: {one.operator.value: one.value}}
