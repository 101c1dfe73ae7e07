"""Translation of LangChain's structured queries to filters of Monograph."""

from __future__ import annotations

from typing import Any

from langchain_core.structured_query import (
    Comparator,
    Comparison,
    FilterDirective,
    Operation,
    Operator,
    StructuredQuery,
    Visitor,
)

from langchain_monograph.documents import plain
from monograph.errors import InvalidFilter

_COMPARATORS = {
    Comparator.EQ: "==",
    Comparator.NE: "!=",
    Comparator.GT: ">",
    Comparator.GTE: ">=",
    Comparator.LT: "<",
    Comparator.LTE: "<=",
    Comparator.CONTAIN: "contains",
    Comparator.IN: "in",
    Comparator.NIN: "nin",
}


class MonographTranslator(Visitor):
    """Translates the filters of LangChain's ``SelfQueryRetriever`` for an ``EcoVectorStore``.

    All comparators except ``like`` are supported. ``contain`` matches a list that has the value as an item, and a text
    that has the value as a part. Dates and times are stored as text, and are compared as text. If the LLM writes a
    filter without a query, the store returns the documents that match the filter. But a store with ``how="lexical"``
    returns none, because there are no words to search for.
    """

    allowed_comparators = tuple(_COMPARATORS)
    allowed_operators = tuple(Operator)

    def visit_operation(self, operation: Operation) -> dict[str, Any]:
        """Translate ``and``, ``or`` and ``not``."""
        return {operation.operator.value: [_translate(self, part) for part in operation.arguments]}

    def visit_comparison(self, comparison: Comparison) -> dict[str, Any]:
        """Translate a comparison. Raises InvalidFilter if the comparator is not supported."""
        operator = _COMPARATORS.get(comparison.comparator)
        if operator is None:
            raise InvalidFilter(
                f"unknown comparator {comparison.comparator.value!r}",
                f"use one of {', '.join(comparator.value for comparator in _COMPARATORS)}",
            )
        value = comparison.value
        if operator in ("in", "nin") and not isinstance(value, list | tuple):
            value = [value]
        is_list = isinstance(value, list | tuple)
        return {comparison.attribute: {operator: [_scalar(item) for item in value] if is_list else _scalar(value)}}

    def visit_structured_query(self, structured_query: StructuredQuery) -> tuple[str, dict[str, Any]]:
        """Return the text to search for, and the keyword arguments of the search.

        The keyword arguments are ``{"filter": …}``, or ``{}`` if there is no filter.
        """
        if structured_query.filter is None:
            return structured_query.query, {}
        return structured_query.query, {"filter": _translate(self, structured_query.filter)}


def _translate(translator: MonographTranslator, directive: FilterDirective) -> dict[str, Any]:
    translated: dict[str, Any] = directive.accept(translator)
    return translated


def _scalar(value: Any) -> Any:
    """Return a value of a structured query; a date or time object becomes text."""
    if isinstance(value, dict) and value.get("type") in ("date", "datetime"):
        return value[value["type"]]
    return plain(value)
