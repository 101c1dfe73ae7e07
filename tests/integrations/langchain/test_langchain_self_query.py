"""Questions that a model turns into words and a filter."""

from __future__ import annotations

import asyncio
import operator
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("langchain_core", reason="the extra langchain is not installed")
pytest.importorskip("urllib3", reason="the extra llm is not installed")
pytest.importorskip("lark", reason="lark is not installed")
classic = pytest.importorskip("langchain_classic.retrievers", reason="langchain-classic is not installed")

from langchain_classic.chains.query_constructor.schema import AttributeInfo
from langchain_core.documents import Document
from langchain_core.structured_query import (
    Comparator,
    Comparison,
    FilterDirective,
    Operation,
    Operator,
    StructuredQuery,
)

from langchain_monograph import EcoVectorStore, MonographTranslator
from monograph.errors import InvalidFilter
from monograph.where import matches, parse
from support.model_server import ModelServer
from support.served_chat import ServedChat

FIELDS = [
    AttributeInfo(name="year", description="the year of an entry", type="integer"),
    AttributeInfo(name="day", description="its day", type="date"),
    AttributeInfo(name="tags", description="what it is about", type="list[string]"),
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EcoVectorStore]:
    store = EcoVectorStore(tmp_path / "log.mono")
    store.add_documents(
        [
            Document(id="comet", page_content="The comet was seen.", metadata={"year": 1963, "tags": ["sky"]}),
            Document(id="dome", page_content="The dome was painted.", metadata={"year": 1966, "day": "1966-05-02"}),
            Document(
                id="boiler", page_content="The boiler was repaired.", metadata={"year": 1966, "day": "1966-11-30"}
            ),
        ]
    )
    yield store
    store.close()


def asked(server: ModelServer, store: EcoVectorStore, said: str, **options: Any) -> list[str | None]:
    server.say(f"```json\n{said}\n```")
    model = ServedChat(model="scripted", base_url=server.url)
    retriever = classic.SelfQueryRetriever.from_llm(
        model, store, "entries of a logbook", FIELDS, structured_query_translator=MonographTranslator(), **options
    )
    found = [one.id for one in retriever.invoke("a question")]
    assert [one.id for one in asyncio.run(retriever.ainvoke("a question"))] == found
    return found


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (r'{"query": "what was painted", "filter": "eq(\"year\", 1966)"}', ["dome", "boiler"]),
        (r'{"query": "paint", "filter": "and(eq(\"year\", 1966), gt(\"day\", \"1966-06-01\"))"}', ["boiler"]),
        (r'{"query": "paint", "filter": "not(eq(\"year\", 1966))"}', ["comet"]),
        (r'{"query": "paint", "filter": "contain(\"tags\", \"sky\")"}', ["comet"]),
        (r'{"query": "", "filter": "lt(\"day\", \"1966-06-01\")"}', ["dome"]),
        (r'{"query": "the boiler", "filter": "NO_FILTER", "limit": 1}', ["boiler"]),
    ],
)
def test_self_query_applies_the_filter_of_the_model(
    server: ModelServer, store: EcoVectorStore, said: str, found: list[str]
) -> None:
    assert asked(server, store, said, enable_limit="limit" in said) == found


def test_self_query_model_is_offered_supported_operators(server: ModelServer, store: EcoVectorStore) -> None:
    asked(server, store, '{"query": "x", "filter": "NO_FILTER"}')
    line = re.search(r"`comp` \((.*)\): comparator", server.asked[0].prompt)
    assert line is not None
    assert line[1].split(" | ") == [one.value for one in MonographTranslator.allowed_comparators]
    assert "like" not in line[1]
    like = Comparison(comparator=Comparator.LIKE, attribute="day", value="%1966%")
    with pytest.raises(InvalidFilter, match="'like'"):
        MonographTranslator().visit_operation(Operation(operator=Operator.AND, arguments=[like]))


METADATA = st.fixed_dictionaries(
    {}, optional={"a": st.integers(-2, 2), "b": st.sampled_from(["x", "xy", "y"]), "c": st.lists(st.sampled_from("xy"))}
)
ORDER = {
    Comparator.GT: operator.gt,
    Comparator.GTE: operator.ge,
    Comparator.LT: operator.lt,
    Comparator.LTE: operator.le,
}
LEAVES = st.one_of(
    st.builds(Comparison, st.sampled_from([Comparator.EQ, Comparator.NE, *ORDER]), st.just("a"), st.integers(-2, 2)),
    st.builds(Comparison, st.sampled_from([Comparator.IN, Comparator.NIN]), st.just("a"), st.lists(st.integers(-2, 2))),
    st.builds(Comparison, st.just(Comparator.CONTAIN), st.sampled_from("bc"), st.sampled_from("xy")),
)
FILTERS = st.recursive(
    LEAVES, lambda inner: st.builds(Operation, st.sampled_from(Operator), st.lists(inner, min_size=1, max_size=3))
)


def holds(wanted: FilterDirective, metadata: dict[str, Any]) -> bool:
    """What LangChain's comparators and operators mean."""
    if isinstance(wanted, Operation):
        met = [holds(part, metadata) for part in wanted.arguments]
        combined: dict[Operator, Callable[[list[bool]], bool]] = {Operator.AND: all, Operator.OR: any}
        return combined[wanted.operator](met) if wanted.operator in combined else not any(met)
    assert isinstance(wanted, Comparison)
    found = metadata.get(wanted.attribute)
    if wanted.comparator in (Comparator.NE, Comparator.NIN):
        return found != wanted.value if wanted.comparator == Comparator.NE else found not in wanted.value
    if found is None:
        return False
    if wanted.comparator == Comparator.EQ:
        return bool(found == wanted.value)
    if wanted.comparator == Comparator.IN:
        return found in wanted.value
    return (
        wanted.value in found
        if wanted.comparator == Comparator.CONTAIN
        else ORDER[wanted.comparator](found, wanted.value)
    )


@given(FILTERS, st.lists(METADATA, max_size=6))
def test_translated_filters_match_the_same_entries(wanted: FilterDirective, entries: list[dict[str, Any]]) -> None:
    words, narrowed = MonographTranslator().visit_structured_query(
        StructuredQuery(query="x", filter=wanted, limit=None)
    )
    assert words == "x"
    condition = parse(narrowed["filter"])
    assert [matches(condition, one) for one in entries] == [holds(wanted, one) for one in entries]
