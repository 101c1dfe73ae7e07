"""LlamaIndex's vector store."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import get_ident
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monograph.shelf import whole_file
from support.event_loops import note_threads
from support.properties import examples

pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")

from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import (
    Document,
    ImageNode,
    IndexNode,
    Node,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)
from llama_index.core.vector_stores.utils import build_metadata_filter_fn

import monograph as own
from llama_index.embeddings.monograph import LlamaIndexEmbedder, MonographEmbedding
from llama_index.retrievers.monograph import HybridRetriever
from llama_index.vector_stores.monograph import EcoVectorStore, HitNode
from llama_index.vector_stores.monograph.where import as_where
from monograph import Monograph, Stats, where
from monograph.errors import ClosedFile, InputError, InvalidDocument, InvalidFilter, ModelUnavailable
from support import llama_index_values
from support.corpora import clustered_archive
from support.llama_index_values import TextEmbedding, above
from support.models import HashEmbedder

WORDS = ["anvil", "bellows", "chisel", "drill", "engine", "file", "gauge", "hammer"]


class Hashed(TextEmbedding):
    """Texts that share words are near each other."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return list(map(float, HashEmbedder(16).embed([text])[0]))


def embedded(text: str) -> list[float]:
    return Hashed().get_query_embedding(text)


def node(n: int, of: str = "", text: str = "") -> TextNode:
    text = text or f"The {WORDS[n % 8]} stands in hall {n}."
    return llama_index_values.node(f"node/{n}", text, of, {"hall": n}, embedding=embedded(text))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EcoVectorStore]:
    made = EcoVectorStore(tmp_path / "store.mono")
    made.add([node(n, f"ref/{n // 3}") for n in range(8)])
    yield made
    made.close()


def ask(store: EcoVectorStore, text: str | None = None, mode: str = "default", **options: Any) -> list[str]:
    kwargs = {name: options.pop(name) for name in list(options) if name.startswith("mmr_prefetch")}
    if text is not None and "query_embedding" not in options:
        options["query_embedding"] = embedded(text)
    query = VectorStoreQuery(query_str=text, mode=VectorStoreQueryMode(mode), **{"similarity_top_k": 8, **options})
    result = store.query(query, **kwargs)
    assert result.nodes is not None
    assert result.similarities is not None
    assert [one.node_id for one in result.nodes] == result.ids
    assert all(isinstance(score, float) and math.isfinite(score) for score in result.similarities)
    return list(result.ids or [])


def test_llama_index_store_finds_the_same_as_the_simple_store(store: EcoVectorStore) -> None:
    simple = SimpleVectorStore()
    simple.add([node(n, f"ref/{n // 3}") for n in range(8)])
    for text in ("the chisel in hall 2", "engine", "hall"):
        query = VectorStoreQuery(query_embedding=embedded(text), similarity_top_k=5)
        ours, theirs = store.query(query), simple.query(query)
        assert ours.ids == theirs.ids
        assert ours.similarities == pytest.approx(theirs.similarities, abs=1e-5)


def test_llama_index_store_searches_by_words_and_hybrid(store: EcoVectorStore) -> None:
    assert ask(store, "chisel", "text_search", query_embedding=None) == ["node/2"]
    assert ask(store, "chisel", "sparse", query_embedding=None) == ["node/2"]
    assert len(ask(store, "hall", "sparse", sparse_top_k=3)) == 3
    vector = embedded("The engine stands in hall 4.")
    assert ask(store, "chisel", "hybrid", query_embedding=vector, alpha=0) == ["node/2"]
    assert ask(store, "chisel", "hybrid", query_embedding=vector, alpha=1) == ask(store, "", query_embedding=vector)
    orders = [ask(store, "chisel drill 2", "hybrid", query_embedding=vector, alpha=alpha) for alpha in (0.05, 0.95)]
    assert [order[0] for order in orders] == ["node/2", "node/4"]
    assert len(ask(store, "chisel", "hybrid", query_embedding=vector, hybrid_top_k=3)) == 3
    few = ask(store, "chisel", "hybrid", query_embedding=vector, similarity_top_k=2, sparse_top_k=1, hybrid_top_k=9)
    assert set(few) == {"node/2", *ask(store, "", query_embedding=vector, similarity_top_k=2)}


def test_llama_index_store_ranks_by_maximal_marginal_relevance(store: EcoVectorStore) -> None:
    twins = [TextNode(id_=f"twin/{n}", text="the anvil", embedding=embedded("the anvil")) for n in range(3)]
    store.add(twins)
    assert set(ask(store, "the anvil", similarity_top_k=3)) == {"twin/0", "twin/1", "twin/2"}
    apart = ask(store, "the anvil", "mmr", similarity_top_k=3, mmr_threshold=0.2)
    assert len([name for name in apart if name.startswith("twin")]) == 1
    assert set(ask(store, "the anvil", "mmr", similarity_top_k=3, mmr_threshold=1.0)) == {"twin/0", "twin/1", "twin/2"}
    near = ask(store, "the anvil", "mmr", similarity_top_k=3, mmr_threshold=0.2, mmr_prefetch_k=3)
    assert set(near) == {"twin/0", "twin/1", "twin/2"}
    by_option = VectorStoreIndex.from_vector_store(store, embed_model=Hashed()).as_retriever(
        vector_store_query_mode="mmr", similarity_top_k=3, vector_store_kwargs={"mmr_threshold": 0.2}
    )
    assert [one.node_id for one in by_option.retrieve("the anvil")] == apart
    with pytest.raises(InputError, match="mmr_threshold"):
        ask(store, "the anvil", "mmr", mmr_threshold=3)


@pytest.mark.parametrize("mode", ["semantic_hybrid", "svm", "logistic_regression", "linear_regression"])
def test_llama_index_store_refuses_other_modes(store: EcoVectorStore, mode: str) -> None:
    with pytest.raises(InputError, match="has no mode"):
        ask(store, "anvil", mode)


def test_store_modes_require_their_arguments(store: EcoVectorStore) -> None:
    for mode in ("sparse", "hybrid", "default"):
        with pytest.raises(InputError, match="text of the query"):
            ask(store, None, mode)
    for wrong in ([1.0, 2.0], [float("nan")] * 16):
        with pytest.raises(InputError):
            ask(store, "anvil", query_embedding=wrong)
    assert ask(store, "anvil", similarity_top_k=0) == []
    with pytest.raises(InputError, match="k is -1"):
        ask(store, "anvil", similarity_top_k=-1)


def test_ids_restrict_and_empty_lists_do_not(store: EcoVectorStore) -> None:
    assert set(ask(store, "hall", node_ids=["node/1", "node/5", "nobody"])) == {"node/1", "node/5"}
    assert set(ask(store, "hall", doc_ids=["ref/1"])) == {"node/3", "node/4", "node/5"}
    assert set(ask(store, "hall", doc_ids=["ref/1"], node_ids=["node/3", "node/7"])) == {"node/3"}
    assert len(ask(store, "hall", node_ids=[])) == 8
    assert ask(store, "hall", doc_ids=[]) == ask(store, "hall", "mmr", doc_ids=[]) == []
    index = VectorStoreIndex.from_vector_store(store, embed_model=Hashed())
    assert len(index.as_retriever(similarity_top_k=8).retrieve("hall")) == 8


METADATA: list[dict[str, Any]] = [
    {},
    {"n": 1, "s": "Anvil and Bellows", "l": ["a", "b"], "e": ""},
    {"n": 2.5, "s": "anvil", "l": ["a"], "e": []},
    {"n": -3, "s": "", "l": [], "e": None},
    {"n": 1, "s": "bellows", "l": [1, 2], "e": "x", "flag": True},
]
OPERANDS: dict[FilterOperator, list[tuple[str, Any]]] = {
    FilterOperator.EQ: [("n", 1), ("s", "anvil"), ("n", 2.5), ("missing", 1), ("s", None), ("missing", None)],
    FilterOperator.NE: [("n", 1), ("s", "anvil"), ("missing", 1), ("s", None)],
    FilterOperator.GT: [("n", 1), ("n", -3.5)],
    FilterOperator.GTE: [("n", 1)],
    FilterOperator.LT: [("n", 2), ("s", "b")],
    FilterOperator.LTE: [("n", 1)],
    FilterOperator.IN: [("n", [1, 7]), ("s", ["anvil", "x"]), ("missing", ["a"])],
    FilterOperator.NIN: [("n", [1, 7]), ("missing", ["a"])],
    FilterOperator.ANY: [("l", ["a", "z"]), ("s", ["nvil", "zz"])],
    FilterOperator.ALL: [("l", ["a", "b"]), ("s", ["nvil", "ellow"])],
    FilterOperator.CONTAINS: [("l", "a"), ("s", "ellows"), ("l", 2)],
    FilterOperator.TEXT_MATCH: [("s", "Anvil"), ("s", "")],
    FilterOperator.TEXT_MATCH_INSENSITIVE: [("s", "ANVIL")],
    FilterOperator.IS_EMPTY: [("e", None), ("missing", None), ("l", None)],
}
LEAVES = [MetadataFilter(key=k, value=v, operator=operator) for operator, some in OPERANDS.items() for k, v in some]


def test_filter_tests_cover_every_operator() -> None:
    assert set(OPERANDS) == set(FilterOperator)
    assert len(FilterOperator) == 14


@pytest.fixture(scope="module")
def filterable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EcoVectorStore]:
    made = EcoVectorStore(tmp_path_factory.mktemp("filters") / "a.mono")
    for n, one in enumerate(METADATA):
        made.add([TextNode(id_=str(n), text=f"row {n}", metadata=one, embedding=[1.0, n + 0.5])])
    yield made
    made.close()


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda one: f"{one.key} {one.operator.value} {one.value}")
def test_every_operator_means_what_the_framework_means(filterable: EcoVectorStore, leaf: MetadataFilter) -> None:
    filters = MetadataFilters(filters=[leaf])
    theirs = build_metadata_filter_fn(lambda name: METADATA[int(name)], filters)
    expected = {str(n) for n in range(5) if theirs(str(n))}
    query = VectorStoreQuery(query_embedding=[1.0, 0.0], similarity_top_k=9, filters=filters)
    assert set(filterable.query(query).ids or []) == expected
    assert {one.node_id for one in filterable.get_nodes(filters=filters)} == expected


def holds(condition: MetadataFilter | MetadataFilters, metadata: dict[str, Any]) -> bool:
    """The framework's own leaf, and what AND, OR and NOT mean."""
    if isinstance(condition, MetadataFilter):
        return build_metadata_filter_fn(lambda _: metadata, MetadataFilters(filters=[condition]))("")
    met = [holds(one, metadata) for one in condition.filters]
    if not met:
        return True
    return {"and": all(met), "or": any(met), "not": not any(met)}[(condition.condition or FilterCondition.AND).value]


nested = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.builds(
        MetadataFilters, filters=st.lists(inner, max_size=3), condition=st.sampled_from([*FilterCondition, None])
    ),
    max_leaves=8,
)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(filters=nested)
def test_nested_filters_match_as_in_the_framework(filterable: EcoVectorStore, filters: Any) -> None:
    whole = filters if isinstance(filters, MetadataFilters) else MetadataFilters(filters=[filters])
    expected = {str(n) for n, metadata in enumerate(METADATA) if holds(whole, metadata)}
    parsed = where.parse(as_where(whole))
    assert {str(n) for n, metadata in enumerate(METADATA) if where.matches(parsed, metadata)} == expected
    assert {one.node_id for one in filterable.get_nodes(filters=whole)} == expected


def test_llama_index_store_refuses_invalid_filters(store: EcoVectorStore) -> None:
    for wrong in (
        MetadataFilter(key="hall", value=3, operator=FilterOperator.IN),
        MetadataFilter(key="hall", value=None, operator=FilterOperator.GT),
        MetadataFilter(key="hall", value=3, operator=FilterOperator.TEXT_MATCH),
        MetadataFilter(key="hall", value=["a"]),
        MetadataFilter(key="or", value="a"),
        MetadataFilter(key="$x", value="a"),
    ):
        with pytest.raises(InvalidFilter):
            ask(store, "hall", filters=MetadataFilters(filters=[wrong]))
        with pytest.raises(InvalidFilter):
            store.delete_nodes(filters=MetadataFilters(filters=[wrong]))

    def query(filters: Any) -> object:
        return store.query(VectorStoreQuery(query_embedding=embedded("x"), filters=filters))

    uses: list[Any] = [query, store.get_nodes, store.delete_nodes]
    for other in ({"kind": "kept"}, "kind = kept", [MetadataFilter(key="kind", value="kept")]):
        for use in uses:
            with pytest.raises(InvalidFilter, match="MetadataFilters"):
                use(filters=other)
    assert len(ask(store, "hall")) == 8


def test_llama_index_store_filters_by_time(store: EcoVectorStore) -> None:
    for day in ("2026-01-15", "2026-03-01"):
        store.add([TextNode(id_=day, text="x", metadata={"date": day, "since": "2019"}, embedding=embedded("lamp"))])

    def found(key: str, value: str) -> list[str]:
        return ask(store, "lamp", filters=MetadataFilters(filters=[MetadataFilter(key=key, value=value)]))

    assert found("$since", "2026-02") == ["2026-03-01"]
    assert found("$as_of", "2026-02") == ["2026-01-15"]
    assert sorted(found("since", "2019")) == ["2026-01-15", "2026-03-01"]


def test_llama_index_store_returns_nodes_unchanged(store: EcoVectorStore) -> None:
    links = {
        NodeRelationship.SOURCE: RelatedNodeInfo(node_id="src", hash="h", metadata={"a": 1}),
        NodeRelationship.NEXT: RelatedNodeInfo(node_id="next"),
        NodeRelationship.CHILD: [RelatedNodeInfo(node_id="c1"), RelatedNodeInfo(node_id="c2")],
    }
    metadata = {"nested": {"a": [1, None, 2.5, {"b": True}]}, "ü": "é", "document_id": "mine", "_x": 0}
    given_nodes = [
        TextNode(
            id_="text", text="  Some text.\n", metadata=metadata, embedding=embedded("a"), relationships=links,
            excluded_llm_metadata_keys=["ü"], excluded_embed_metadata_keys=["_x"], start_char_idx=3, end_char_idx=9,
            text_template="{content}|{metadata_str}", metadata_template="{key}={value}", metadata_seperator=";",
        ),
        IndexNode(id_="index", text="points", index_id="target", embedding=embedded("b")),
        ImageNode(id_="image", image="aGVsbG8=", metadata={"width": 3}, embedding=embedded("c")),
        ImageNode(id_="bare", image="aGVsbG8=", embedding=embedded("c")),
        TextNode(id_="empty", text="", embedding=embedded("d")),
        Node(id_="node", embedding=embedded("e"), extra_info={"a": 1}),
    ]  # fmt: skip
    assert store.add(given_nodes) == [one.node_id for one in given_nodes]
    back = store.get_nodes([one.node_id for one in given_nodes])
    for before, after in zip(given_nodes, back, strict=True):
        assert type(after) is type(before)
        assert after.hash == before.hash
        assert after.embedding == pytest.approx(before.embedding, abs=1e-6)
        assert all(isinstance(value, float) for value in after.embedding or [])
        expected = {**before.model_dump(mode="json"), "embedding": after.embedding}
        assert json.dumps(after.model_dump(mode="json"), sort_keys=True) == json.dumps(expected, sort_keys=True)
    result = store.query(VectorStoreQuery(query_embedding=embedded("a"), similarity_top_k=1))
    assert result.nodes == [back[0].model_copy(update={"embedding": None})]


@pytest.mark.parametrize("name", ["a/b/../c", "😀", "x" * 10_000, " ", "None", "a'b\"c%_"])
def test_llama_index_store_keeps_any_id(store: EcoVectorStore, name: str) -> None:
    store.add([llama_index_values.node(name, "odd", name + "!", embedding=embedded("odd"))])
    assert ask(store, "odd", similarity_top_k=1) == [name]
    assert ask(store, "odd", node_ids=[name]) == [name]
    store.delete(name + "!")
    assert store.get_nodes([name]) == []


def test_llama_index_store_replaces_a_node_of_the_same_id(store: EcoVectorStore) -> None:
    store.add([node(2, "ref/0", "Now a lathe.")])
    assert store.get_nodes(["node/2"])[0].get_content() == "Now a lathe."
    assert ask(store, "chisel", "sparse") == []
    assert len(ask(store, "hall")) == 8
    store.add([node(2, "ref/9")])
    assert "node/2" not in ask(store, "hall", doc_ids=["ref/0"])
    assert whole_file(store.client, "check", "check").check() == []


def test_llama_index_store_deletes_nodes_from_every_table(store: EcoVectorStore) -> None:
    store.delete("ref/0")
    assert set(ask(store, "hall")) == {f"node/{n}" for n in range(3, 8)}
    store.delete("nobody")
    store.delete_nodes(["node/3", "nobody"])
    store.delete_nodes(["node/4", "node/7"], above("hall", 5))
    store.delete_nodes([])
    assert set(ask(store, "hall")) == {"node/4", "node/5", "node/6"}
    store.delete_nodes(filters=above("hall", 5))
    assert ask(store, "gauge", "sparse") == []
    store.delete_nodes()
    store.delete_nodes(filters=MetadataFilters(filters=[]))
    assert len(store.get_nodes()) == 2
    asyncio.run(store.adelete_nodes(["node/4"]))
    asyncio.run(store.adelete("ref/1"))
    store.add([node(1)])
    asyncio.run(store.aclear())
    store.clear()
    assert store.get_nodes() == []
    stats = store.client.stats()
    assert isinstance(stats, Stats)
    assert (stats.documents, stats.chunks, stats.vectors, stats.terms, stats.mentions) == (0, 0, 0, 0, 0)
    assert whole_file(store.client, "check", "check").check() == []


def test_llama_index_store_returns_nodes_by_id_and_filter(store: EcoVectorStore) -> None:
    assert [one.node_id for one in store.get_nodes(["node/5", "nobody", "node/1"])] == ["node/5", "node/1"]
    assert len(store.get_nodes()) == 8
    even = MetadataFilters(filters=[MetadataFilter(key="hall", value=[0, 2], operator=FilterOperator.IN)])
    assert [one.node_id for one in asyncio.run(store.aget_nodes(filters=even))] == ["node/0", "node/2"]


def test_llama_index_store_refuses_invalid_nodes(store: EcoVectorStore) -> None:
    for wrong, said in (
        ({}, "has no vector"),
        ({"embedding": [1.0]}, "shape"),
        ({"embedding": embedded("x"), "metadata": {"n": float("inf")}}, "metadata"),
    ):
        with pytest.raises(InvalidDocument, match=said):
            store.add([TextNode(text="x", **wrong)])
    assert len(store.get_nodes()) == 8
    assert store.add([]) == []


def test_llama_index_store_embeds_with_its_own_model(tmp_path: Path) -> None:
    store = EcoVectorStore(tmp_path / "own.mono", Hashed())
    store.add([TextNode(id_="a", text="The anvil."), node(3)])
    assert ask(store, "The anvil.", query_embedding=None, similarity_top_k=1) == ["a"]
    assert ask(store, "The anvil.", "mmr", query_embedding=None, similarity_top_k=1) == ["a"]
    with pytest.raises(InputError, match="LlamaIndexEmbedder"):
        EcoVectorStore(store.client, Hashed())
    store.close()
    with pytest.raises(ClosedFile):
        ask(store, "anvil")


def test_llama_index_store_searches_a_synced_file(monograph: Monograph, folder: Path) -> None:
    (folder / "log.md").write_text("# 1963\n\nThe comet was seen at noon.")
    monograph.sync(folder)
    store = EcoVectorStore(monograph)
    (found,) = store.query(VectorStoreQuery(query_str="comet", mode=VectorStoreQueryMode.SPARSE)).nodes or []
    assert found.get_content().endswith("The comet was seen at noon.")
    assert found.metadata["monograph_uri"].endswith("log.md")
    assert found.ref_doc_id == monograph.documents()[0].id
    store.close()
    store.delete(found.ref_doc_id)
    assert monograph.documents() == []


def test_a_stored_node_says_how_a_retriever_found_it(store: EcoVectorStore) -> None:
    from llama_index.core.schema import MetadataMode, QueryBundle

    from llama_index.retrievers.monograph import MiniRAGRetriever

    (found,) = MiniRAGRetriever(store.client, similarity_top_k=1).retrieve(
        QueryBundle("the chisel", embedding=embedded("the chisel"))
    )
    assert found.node_id == "node/2"
    (hit,) = store.client.search("the chisel", 1, how="graph", vector=embedded("the chisel"))
    assert isinstance(found, HitNode)
    assert (found.explanation, found.own_score) == (hit.explain(), hit.score)
    assert found.metadata == {"hall": 2}
    assert "monograph_" not in found.node.get_content(MetadataMode.LLM)
    assert store.get_nodes(["node/2"])[0].metadata == {"hall": 2}


# The traps.


def test_empty_llama_index_store_is_true(tmp_path: Path) -> None:
    store = EcoVectorStore(tmp_path / "empty.mono")
    assert store
    assert not hasattr(type(store), "__len__")
    context = StorageContext.from_defaults(vector_store=store)
    assert context.vector_store is store
    store.close()


def test_refresh_after_a_deletion_updates_only_changed_documents(tmp_path: Path) -> None:
    store = EcoVectorStore(tmp_path / "a.mono")
    first, second = (Document(text=f"The {word} stands here.", id_=word) for word in WORDS[:2])
    context = StorageContext.from_defaults(vector_store=store)
    index = VectorStoreIndex.from_documents([first, second], context, embed_model=Hashed(), store_nodes_override=True)
    assert index.refresh_ref_docs([first, second]) == [False, False]
    index.delete_ref_doc("anvil", delete_from_docstore=True)
    assert {one.ref_doc_id for one in store.get_nodes()} == {"bellows"}
    # What the docstore still hashes it takes for present: the way that works is to insert.
    assert index.refresh_ref_docs([first, second])[1] is False
    if not any(one.ref_doc_id == "anvil" for one in store.get_nodes()):
        index.insert(first)
    assert {one.ref_doc_id for one in store.get_nodes()} == {"anvil", "bellows"}
    changed = Document(text="The anvil is gone.", id_="anvil")
    assert index.refresh_ref_docs([changed, second]) == [True, False]
    assert {one.get_content() for one in store.get_nodes()} == {"The anvil is gone.", "The bellows stands here."}
    store.close()


def test_persisted_context_is_loaded_with_the_store(tmp_path: Path) -> None:
    folder = str(tmp_path / "storage")
    with pytest.raises(ValueError, match="there is no vector store at .*vector_store.mono"):
        EcoVectorStore.from_persist_dir(folder)
    Path(folder).mkdir()
    store = EcoVectorStore(f"{folder}/vector_store.mono")
    context = StorageContext.from_defaults(vector_store=store)
    VectorStoreIndex([node(n) for n in range(4)], storage_context=context, embed_model=Hashed())
    context.persist(folder)
    store.close()
    again = EcoVectorStore.from_persist_dir(folder)
    index = VectorStoreIndex.from_vector_store(again, embed_model=Hashed())
    assert len(index.as_retriever(similarity_top_k=9).retrieve("hall")) == 4
    again.close()


def test_llama_index_store_is_made_from_its_dict(store: EcoVectorStore, tmp_path: Path) -> None:
    assert store.class_name() == "EcoVectorStore"
    assert json.loads(store.to_json())["path"] == str(tmp_path / "store.mono")
    before = ask(store, "the gauge in hall 6")
    part = EcoVectorStore.from_params(store.client, collection="part")
    with EcoVectorStore.from_dict(part.to_dict()) as same:
        assert same.get_nodes() == []
    store.close()
    with EcoVectorStore.from_dict(store.to_dict()) as again:
        assert ask(again, "the gauge in hall 6") == before
    with pytest.raises(ValueError, match="no vector store at"):
        EcoVectorStore.from_dict({"path": str(tmp_path / "gone.mono")})


def test_llama_index_store_refuses_contradictory_and_unknown_arguments(store: EcoVectorStore) -> None:
    query = VectorStoreQuery(query_embedding=embedded("hall"), mode=VectorStoreQueryMode.MMR)
    with pytest.raises(ValueError, match="both given"):
        store.query(query, mmr_prefetch_k=4, mmr_prefetch_factor=2)
    with pytest.raises(InputError, match="query has no argument 'where'"):
        store.query(query, where={"hall": 1})
    with pytest.raises(InputError, match="delete has no argument 'filters'"):
        store.delete("ref/1", filters=None)
    for operator in (FilterOperator.TEXT_MATCH, FilterOperator.TEXT_MATCH_INSENSITIVE):
        with pytest.raises(TypeError, match="compares texts, not a int"):
            store.get_nodes(filters=MetadataFilters(filters=[MetadataFilter(key="hall", value=1, operator=operator)]))


def test_pipeline_without_embeddings_stores_nothing(store: EcoVectorStore) -> None:
    store.clear()
    documents = [Document(text="The anvil stands here.", id_="d")]
    assert (
        len(IngestionPipeline(transformations=[SentenceSplitter()], vector_store=store).run(documents=documents)) == 1
    )
    assert store.get_nodes() == []
    IngestionPipeline(transformations=[SentenceSplitter(), Hashed()], vector_store=store).run(documents=documents)
    assert [one.ref_doc_id for one in store.get_nodes()] == ["d"]


@pytest.mark.parametrize("strategy", list(DocstoreStrategy))
def test_ingestion_pipeline_stores_nodes_by_its_docstore_strategy(tmp_path: Path, strategy: DocstoreStrategy) -> None:
    store = EcoVectorStore(tmp_path / "pipe.mono")
    pipeline = IngestionPipeline(
        transformations=[SentenceSplitter(chunk_size=32, chunk_overlap=0), Hashed()],
        vector_store=store,
        docstore=SimpleDocumentStore(),
        docstore_strategy=strategy,
    )
    long = " ".join(f"The {word} stands in a hall of its own." for word in WORDS)
    pipeline.run(documents=[Document(text=long, id_="long"), Document(text="The lathe.", id_="short")])
    count = len(store.get_nodes())
    assert count > 3
    again = pipeline.run(documents=[Document(text=long, id_="long"), Document(text="A saw.", id_="short")])
    assert [one.get_content() for one in again] == ["A saw."]
    kept = {one.get_content() for one in store.get_nodes() if one.ref_doc_id == "short"}
    assert kept == ({"The lathe.", "A saw."} if strategy == DocstoreStrategy.DUPLICATES_ONLY else {"A saw."})
    asyncio.run(pipeline.arun(documents=[Document(text="A third.", id_="third")]))
    left = {one.ref_doc_id for one in store.get_nodes()}
    assert left == ({"third"} if strategy == DocstoreStrategy.UPSERTS_AND_DELETE else {"long", "short", "third"})
    assert whole_file(store.client, "check", "check").check() == []
    store.close()


def test_vector_store_index_inserts_updates_and_deletes(tmp_path: Path) -> None:
    store = EcoVectorStore(tmp_path / "index.mono")
    index = VectorStoreIndex.from_vector_store(store, embed_model=Hashed())
    index.insert(Document(text="The anvil stands here.", id_="d", metadata={"year": 1963}))
    index.update_ref_doc(Document(text="The lathe stands here.", id_="d"))
    assert [one.get_content() for one in store.get_nodes()] == ["The lathe stands here."]

    async def insert() -> list[str]:
        await index.ainsert(Document(text="The bellows.", id_="e"))
        return [one.node_id for one in await index.as_retriever(similarity_top_k=5).aretrieve("bellows")]

    assert len(asyncio.run(insert())) == 2
    index.delete_ref_doc("d")
    assert [one.ref_doc_id for one in store.get_nodes()] == ["e"]
    store.close()


def test_llama_index_store_does_not_block_the_event_loop(
    store: EcoVectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = note_threads(monkeypatch, EcoVectorStore, "query", "add")
    asked = VectorStoreQuery(query_embedding=embedded("a"))

    async def work() -> None:
        await store.async_add([node(1)])
        await asyncio.gather(*(store.aquery(asked) for _ in range(4)))
        store.query(asked)

    asyncio.run(work())
    assert [thread == get_ident() for thread in threads] == [False] * 5 + [True]


def test_llama_index_embedders_convert_both_ways(tmp_path: Path) -> None:
    theirs = LlamaIndexEmbedder(Hashed(model_name="m"))
    assert (theirs.key, theirs.dimension) == ("llama-index/Hashed/m", 16)
    assert theirs.embed([]).shape == (0, 16)
    with Monograph.open(tmp_path / "theirs.mono", theirs) as monograph:
        monograph.add([own.Document("The anvil.", id="a"), own.Document("The bellows.", id="b")])
        assert monograph.search("The bellows.", 1, how="dense")[0].chunk.document_id == "b"
        ours = MonographEmbedding(monograph.embedder)
        assert ours.model_name == theirs.key
        expected = theirs.embed(["anvil", "bellows"]).tolist()
        np.testing.assert_allclose(ours.get_text_embedding_batch(["anvil", "bellows"]), expected, atol=1e-6)
        np.testing.assert_allclose(asyncio.run(ours.aget_query_embedding("anvil")), expected[0], atol=1e-6)
        np.testing.assert_allclose(asyncio.run(ours.aget_text_embedding_batch(["anvil"])), expected[:1], atol=1e-6)


def test_failing_llama_index_embedding_raises_model_unavailable() -> None:
    class Broken(Hashed):
        def _get_text_embedding(self, text: str) -> list[float]:
            raise RuntimeError("no room")

    with pytest.raises(ModelUnavailable, match="no room"):
        LlamaIndexEmbedder(Broken()).embed(["a"])


NOWHERE = [0.0] * 16
IN_HALLS_ABOVE_4 = above("hall", 4)


@pytest.mark.parametrize("query_str", [None, "anvil"])
@pytest.mark.parametrize("vector", [None, NOWHERE])
def test_llama_index_store_ranks_by_filter_for_a_zero_vector(
    store: EcoVectorStore, query_str: str | None, vector: list[float] | None
) -> None:
    """The file's vectors came with its nodes, so that words alone have none."""
    assert store.query(VectorStoreQuery(query_embedding=NOWHERE, similarity_top_k=9)).ids == []
    for options, expected in (
        ({"filters": IN_HALLS_ABOVE_4}, ["node/5", "node/6", "node/7"]),
        ({"filters": IN_HALLS_ABOVE_4, "similarity_top_k": 2}, ["node/5", "node/6"]),
        ({"node_ids": ["node/1", "node/6"]}, ["node/1", "node/6"]),
        ({"doc_ids": ["ref/2"]}, ["node/6", "node/7"]),
        ({"doc_ids": ["ref/2"], "filters": IN_HALLS_ABOVE_4, "similarity_top_k": 0}, []),
    ):
        given: dict[str, Any] = {"similarity_top_k": 9, **options}
        query = VectorStoreQuery(query_str=query_str, query_embedding=vector, **given)
        found = store.query(query)
        assert found.ids == expected
        assert found.similarities == [0.0] * len(expected)
        assert found.nodes is not None
        assert [one.get_content() for one in found.nodes] == [node(int(name[-1])).get_content() for name in expected]


def test_llama_index_stores_and_retrievers_stop_as_asked(tmp_path: Path) -> None:
    path = clustered_archive(tmp_path / "a.mono")
    calls: list[int] = []

    class FirstLoad:
        def after(self, loads: Sequence[Sequence[int]]) -> bool:
            calls.append(len(loads))
            return True

    with EcoVectorStore(path) as store:
        index = VectorStoreIndex.from_vector_store(store, embed_model=MonographEmbedding(store.monograph.embedder))
        for mode in ("default", "mmr", "hybrid"):
            options: Any = {"vector_store_query_mode": mode, "similarity_top_k": 5}
            for stopping in ({"stop": FirstLoad()}, {"stop": "budget:loads=1"}, {"ranked_recall": 0.9}):
                assert index.as_retriever(vector_store_kwargs=stopping, **options).retrieve("which comet?")
            assert calls.pop() == 1
        with pytest.raises(InputError, match="searches no vectors"):
            index.as_retriever(vector_store_query_mode="text_search", vector_store_kwargs={"stop": "never"}).retrieve(
                "comet"
            )
    with HybridRetriever(path, stop=FirstLoad()) as retriever:
        assert retriever.retrieve("which comet?")
        assert calls == [1]
    with HybridRetriever(path, ranked_recall=0.9) as retriever:
        assert retriever.retrieve("which comet?")
    with HybridRetriever(path, stop="never", ranked_recall=0.9) as both, pytest.raises(InputError, match="both given"):
        both.retrieve("which comet?")
