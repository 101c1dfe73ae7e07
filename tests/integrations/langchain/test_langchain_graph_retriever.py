"""Walks of langchain-graph-retriever over a store, held against that package's own over the store in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.paths import ROOT
from support.properties import examples

pytest.importorskip("langchain_core", reason="the extra langchain is not installed")
walking = pytest.importorskip("langchain_graph_retriever", reason="langchain-graph-retriever is not installed")

import re
import shutil

from graph_retriever.edges import IdEdge, MetadataEdge
from graph_retriever.strategies import Eager, Mmr
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_graph_retriever.adapters.in_memory import InMemoryAdapter

from langchain_monograph import EcoVectorStore, MonographEmbeddings
from langchain_monograph.graph_adapter import ENTITIES, MonographAdapter
from monograph.errors import InvalidFilter
from support.models import HashEmbedder

WORDS = ["anvil", "bellows", "chisel", "drill", "engine", "file", "gauge", "hammer"]
DOCUMENTS = [
    Document(
        id=word,
        page_content=f"The {word} stands beside the {WORDS[place - 1]}.",
        metadata={
            "hall": place % 3,
            "tags": [WORDS[place - 1], WORDS[place - 2]],
            "beside": WORDS[place - 1],
            "kind": "anvils" if place % 2 else "anvil",  # one is a part of the other
            "made": {"by": ["Ann", "Bo"][place % 2], "of": [{"iron": place}]},
        },
    )
    for place, word in enumerate(WORDS)
]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[MonographAdapter, InMemoryAdapter]]:
    embeddings = MonographEmbeddings(HashEmbedder(24))
    store = EcoVectorStore(tmp_path_factory.mktemp("walks") / "walks.mono", embeddings)
    memory = InMemoryVectorStore(embeddings)
    for one in (store, memory):
        one.add_documents(
            [Document(id=d.id, page_content=d.page_content, metadata=dict(d.metadata)) for d in DOCUMENTS]
        )
    yield MonographAdapter(store), InMemoryAdapter(memory)
    store.close()


FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "hall": st.integers(0, 3),
        "tags": st.sampled_from(WORDS),
        "kind": st.sampled_from(["anvil", "anvils", "an"]),
        "made.by": st.sampled_from(["Ann", "Bo", "Cy"]),
    },
)
EDGES = st.one_of(
    st.builds(IdEdge, st.sampled_from([*WORDS, "unicorn"])),
    st.builds(MetadataEdge, st.just("hall"), st.integers(0, 3)),
    st.builds(
        MetadataEdge, st.sampled_from(["tags", "kind", "made.by"]), st.sampled_from([*WORDS, "anvils", "an", "Ann"])
    ),
    st.builds(MetadataEdge, st.just("made.of"), st.builds(lambda n: {"iron": n}, st.integers(0, 9))),
)


def ids(found: Any) -> list[str]:
    return [one.id for one in found]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60))
@given(FILTERS, st.sets(EDGES, max_size=4), st.integers(0, 9), st.sampled_from([*WORDS, "the stands"]))
def test_graph_retriever_finds_the_same_as_the_store_in_memory(
    both: tuple[MonographAdapter, InMemoryAdapter],
    where: dict[str, Any],
    edges: set[Any],
    k: int,
    query: str,
) -> None:
    ours, theirs = both
    embedding, found = ours.search_with_embedding(query, k, where)
    assert ids(found) == ids(theirs.search(embedding, k, where))
    assert all(one.embedding == pytest.approx(ours.store.query_vector(one.content)) for one in found)
    assert set(ids(ours.get([*WORDS, "unicorn", "anvil"], where))) == set(ids(theirs.get([*WORDS, "unicorn"], where)))
    # Where an edge and the filter are of one key theirs forgets the edge.
    along = {edge for edge in edges if isinstance(edge, IdEdge) or edge.incoming_field not in where}
    near = ids(ours.adjacent(along, embedding, k, where))
    assert set(near) == set(ids(theirs.adjacent(along, embedding, k, where)))


@pytest.mark.parametrize("strategy", [Eager(k=6, start_k=1, max_depth=2), Mmr(k=5, start_k=2)])
@pytest.mark.parametrize("edges", [[("tags", "$id")], [("hall", "hall")], [("beside", "tags"), ("made.by", "made.by")]])
def test_graph_traversal_equals_the_store_in_memory(
    both: tuple[MonographAdapter, InMemoryAdapter], strategy: Any, edges: Any
) -> None:
    ours, theirs = (walking.GraphRetriever(store=one, edges=edges, strategy=strategy) for one in both)
    for query in ("where is the engine?", "the anvil stands"):
        found = ours.invoke(query)
        assert ids(found) == ids(theirs.invoke(query))
        assert ids(asyncio.run(ours.ainvoke(query))) == ids(found)
        assert ids(ours.invoke(query, filter={"hall": 1})) == ids(theirs.invoke(query, filter={"hall": 1}))


def test_graph_adapter_applies_where_filters(both: tuple[MonographAdapter, InMemoryAdapter]) -> None:
    ours, _ = both
    embedding = ours.store.query_vector("the anvil")
    assert set(ids(ours.search(embedding, 9, {"hall": {">=": 1}, "not": {"kind": "anvil"}}))) == {
        one.id for one in DOCUMENTS if one.metadata["hall"] >= 1 and one.metadata["kind"] != "anvil"
    }
    assert ids(ours.adjacent({MetadataEdge("hall", 1)}, embedding, 9, {"hall": 0})) == []
    with pytest.raises(InvalidFilter, match="is a list"):
        ours.search(embedding, 3, {"hall": [1, 2]})
    assert ours.search(embedding, 3, {"kind": float("nan")}) == []


def test_graph_traversal_follows_shared_entities(tmp_path: Path) -> None:
    store = EcoVectorStore(tmp_path / "names.mono")
    store.add_documents(
        [
            Document(id="log", page_content="Ines Okafor found the comet in April."),
            Document(id="letter", page_content="Tobias Renk wrote to Ines Okafor about the lamp oil."),
            Document(id="bill", page_content="Tobias Renk paid for twelve barrels."),
            Document(id="menu", page_content="There was soup on Thursdays."),
        ]
    )
    adapter = MonographAdapter(store, entities=True)
    walk = walking.GraphRetriever(
        store=adapter, edges=[(ENTITIES, ENTITIES)], strategy=Eager(k=9, start_k=1, max_depth=2)
    )
    found = walk.invoke("who found the comet?")
    assert [(one.id, one.metadata["_depth"]) for one in found] == [("log", 0), ("letter", 1), ("bill", 2)]
    assert "Ines Okafor" in found[0].metadata[ENTITIES]
    assert adapter.search(store.query_vector("x"), 3, {ENTITIES: "Nobody At All"}) == []
    store.close()


def test_graph_retriever_follows_its_docs_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = ROOT
    (code,) = re.findall(
        r"^```py\n(.*?)^```", (root / "docs/reference/langchain/retrievers.md").read_text(), re.MULTILINE | re.DOTALL
    )
    shutil.copytree(root / "examples" / "texts", tmp_path / "examples" / "texts")
    monkeypatch.chdir(tmp_path)
    exec(code, {})
