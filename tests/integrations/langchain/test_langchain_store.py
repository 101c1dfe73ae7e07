"""LangChain's vector store."""

from __future__ import annotations

import asyncio
import copy
import gc
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone
from functools import partial
from pathlib import Path
from threading import get_ident
from typing import Any, get_args

import numpy as np
import pytest

pytest.importorskip("langchain_core", reason="the extra langchain is not installed")
standard = pytest.importorskip("langchain_tests.integration_tests", reason="langchain-tests is not installed")

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.indexing import InMemoryRecordManager, aindex, index

import monograph as own
from langchain_monograph import EcoVectorStore, HybridRetriever, LangChainEmbedder, MonographEmbeddings
from monograph import Hybrid, Monograph
from monograph.errors import (
    ClosedFile,
    InputError,
    InvalidDocument,
    InvalidFilter,
    ModelMismatch,
    ModelUnavailable,
    NotFound,
)
from monograph.shelf import whole_file
from monograph_tools import convert_score
from monograph_tools.scores import Convention
from support.corpora import clustered_archive
from support.event_loops import note_threads
from support.models import HashEmbedder

WORDS = ["anvil", "bellows", "chisel", "drill", "engine", "file", "gauge", "hammer"]


class TestStandard(standard.VectorStoreIntegrationTests):  # type: ignore[misc,name-defined]
    """LangChain's own suite for vector stores."""

    @pytest.fixture
    def vectorstore(self, tmp_path: Path) -> Iterator[EcoVectorStore]:
        store = EcoVectorStore(tmp_path / "store.mono", self.get_embeddings())
        yield store
        store.close()


class Hashed(Embeddings):
    """Texts that share words are near each other."""

    model = "hashed"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [list(map(float, vector)) for vector in HashEmbedder(16).embed(texts)]

    def embed_query(self, text: str) -> list[float]:
        return list(map(float, HashEmbedder(16).embed([text], "query")[0]))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EcoVectorStore]:
    made = EcoVectorStore(tmp_path / "store.mono", Hashed())
    texts = [f"The {word} stands in hall {n}." for n, word in enumerate(WORDS)]
    metadata = [{"hall": n, "tags": [word]} for n, word in enumerate(WORDS)]
    made.add_texts(texts, metadata, ids=[f"doc/{n}" for n in range(8)])
    yield made
    made.close()


def ids(documents: list[Document]) -> list[str | None]:
    return [document.id for document in documents]


def test_scores_are_cosines(store: EcoVectorStore) -> None:
    query = "where is the chisel in hall 2"
    wanted = np.asarray(Hashed().embed_query(query))
    exact = {
        f"doc/{n}": float(np.dot(wanted, Hashed().embed_query(f"The {w} stands in hall {n}.")))
        for n, w in enumerate(WORDS)
    }
    found = store.similarity_search_with_score(query, k=8)
    assert ids([document for document, _ in found]) == sorted(exact, key=lambda name: -exact[name])
    for document, score in found:
        assert document.id is not None
        assert score == pytest.approx(max(0, exact[document.id]), abs=1e-5)
    assert store.similarity_search_with_relevance_scores(query, k=8) == found
    assert asyncio.run(store.asimilarity_search_with_score(query, k=8)) == found
    assert store.similarity_search(query, k=3) == [document for document, _ in found[:3]]
    assert store.similarity_search(query, k=0) == []


@pytest.mark.parametrize("how", ["dense", "hybrid"])
def test_distance_scores_equal_converted_relevance(store: EcoVectorStore, how: str) -> None:
    query = "when was the comet seen?"
    near = [score for _, score in store.similarity_search_with_score(query, how=how)]
    for scores, wanted in (("distance", [1 - one for one in near]), ("squared_l2", [2 - 2 * one for one in near])):
        far = EcoVectorStore(store.monograph, scores=scores, how=how)  # type: ignore[arg-type]
        assert [score for _, score in far.similarity_search_with_score(query)] == wanted
        filtered = far.similarity_search_with_score(query, filter=lambda _: True)
        assert [score for _, score in filtered] == wanted
        told = [score for _, score in far.similarity_search_with_relevance_scores(query)]
        assert told == pytest.approx(near)
        threshold = {"k": 9, "score_threshold": near[1] - 1e-9}
        retriever = far.as_retriever(search_type="similarity_score_threshold", search_kwargs=threshold)
        assert len(retriever.invoke(query)) == sum(one >= near[1] for one in near)
    with pytest.raises(InputError, match="not a convention"):
        EcoVectorStore(store.monograph, scores="loudness")  # type: ignore[arg-type]


def test_distance_scores_equal_vector_distances(store: EcoVectorStore) -> None:
    vector = np.asarray(Hashed().embed_query("the comet"), dtype=np.float64)
    far = EcoVectorStore(store.monograph, scores="squared_l2")
    found = far.similarity_search_with_score_by_vector(vector.tolist())
    assert found
    for document, distance in found:
        other = np.asarray(Hashed().embed_documents([document.page_content])[0])
        cosine = max(0.0, float(vector @ other))
        assert distance == pytest.approx(2 - 2 * cosine, abs=1e-5)
        if cosine > 0:
            assert distance == pytest.approx(float(((vector - other) ** 2).sum()), abs=1e-5)


@given(st.floats(0, 1), st.sampled_from(get_args(Convention)))
def test_converted_scores_convert_back(relevance: float, name: Convention) -> None:
    there = convert_score(relevance, "relevance", name)
    assert convert_score(there, name, "relevance") == pytest.approx(relevance)
    assert convert_score(there, name, name) == pytest.approx(there)
    assert convert_score(5.0, name, name) == pytest.approx({"relevance": 1, "distance": 1, "squared_l2": 2}[name])


def test_langchain_store_returns_documents_unchanged(store: EcoVectorStore) -> None:
    metadata = {"nested": {"a": [1, None, 2.5]}, "flag": True, "monograph_uri": "mine", "ü": "é"}
    store.add_documents([Document(id="whole", page_content="  All of it.\n\n", metadata=metadata)])
    assert store.get_by_ids(["whole"]) == [Document(id="whole", page_content="  All of it.\n\n", metadata=metadata)]
    assert store.similarity_search("All of it", k=1, filter={"flag": True})[0].metadata == metadata


@pytest.mark.parametrize("name", ["a/b/../c", "😀", "x" * 10_000, " ", "None", "a'b\"c%_"])
def test_langchain_store_keeps_any_id(store: EcoVectorStore, name: str) -> None:
    assert store.add_texts(["of an odd name"], ids=[name]) == [name]
    assert ids(store.get_by_ids([name])) == [name]
    assert name in ids(store.similarity_search("of an odd name", k=20))
    assert store.delete([name]) is True
    assert store.get_by_ids([name]) == []


def test_langchain_store_takes_ids_from_documents_and_arguments(store: EcoVectorStore) -> None:
    given = [Document("one", id="mine"), Document("two"), Document("three", id="theirs")]
    made = store.add_documents(given, ids=[None, None, "ours"])
    assert (made[0], made[2]) == ("mine", "ours")
    assert ids(store.get_by_ids(made)) == made
    assert store.add_texts([]) == []
    wrong: list[dict[str, Any]] = [{"ids": ["a"]}, {"metadatas": [{}]}]
    for one in wrong:
        with pytest.raises(InputError, match="give one per text"):
            store.add_texts(["a", "b"], **one)


def test_langchain_store_keeps_blank_texts(store: EcoVectorStore) -> None:
    store.add_texts(["", " \n"], [{"kind": "blank"}] * 2, ids=["empty", "space"])
    assert [one.page_content for one in store.get_by_ids(["empty", "space"])] == ["", " \n"]
    found = store.similarity_search("x empty", k=20, filter={"kind": "blank"})
    assert {one.page_content for one in found} == {"", " \n"}


def test_langchain_store_applies_filters(store: EcoVectorStore) -> None:
    def halls(**options: Any) -> set[int]:
        return {one.metadata["hall"] for one in store.similarity_search("the hall", k=8, **options)}

    assert halls(filter={"hall": 3}) == {3}
    assert halls(filter={"hall": {"$gte": 5}}) == {5, 6, 7}
    drilling = {"$and": [{"hall": {"$lt": 4}}, {"tags": {"contains": "drill"}}]}
    assert halls(filter={"$or": [{"hall": 1}, drilling]}) == {1, 3}
    assert halls(filter={"not": {"hall": {"in": [0, 1, 2]}}}) == {3, 4, 5, 6, 7}
    assert halls(filter=lambda document: document.metadata["hall"] % 2 == 1) == {1, 3, 5, 7}
    assert halls(filter=lambda document: False) == set()
    assert halls(filter={}) == set(range(8))
    wrong: list[Any] = [{"hall": {"~": 1}}, {"hall": {}}, {"hall": object()}, ["hall"], "hall", 7, {"hall": {"in": 3}}]
    for one in wrong:
        with pytest.raises(InvalidFilter):
            halls(filter=one)
        with pytest.raises(InvalidFilter):
            store.delete(filter=one)
    assert len(store.get()) == 8


def test_langchain_store_filters_by_time(store: EcoVectorStore) -> None:
    store.add_documents([Document(f"lamp {day}", id=day, metadata={"date": day}) for day in ("2026-01-15", "2026-03")])
    assert ids(store.similarity_search("lamp", k=5, filter={"since": "2026-02"})) == ["2026-03"]
    assert ids(store.similarity_search("lamp", k=5, filter={"$date": {"$lt": "2026-02"}})) == ["2026-01-15"]


@pytest.mark.parametrize("deep", [[], {"hall": 1}])
def test_langchain_store_refuses_endlessly_nested_filters(store: EcoVectorStore, deep: Any) -> None:
    for _ in range(5_000):
        deep = [deep] if isinstance(deep, list) else {"not": deep}
    with pytest.raises(InvalidFilter):
        store.similarity_search("the hall", filter=deep)


def test_a_function_filters_before_the_k_are_counted(tmp_path: Path) -> None:
    store = EcoVectorStore(tmp_path / "many.mono", Hashed())
    store.add_texts([f"row {n} of many" for n in range(300)], [{"n": n} for n in range(300)])
    rare = {7, 151, 296}
    found = store.similarity_search("row of many", k=3, filter=lambda document: document.metadata["n"] in rare)
    assert {one.metadata["n"] for one in found} == rare
    everything = [one.metadata["n"] for one in store.similarity_search("row of many", k=300)]
    assert [one.metadata["n"] for one in found] == [n for n in everything if n in rare]
    store.close()


def test_langchain_store_searches_in_every_mode(store: EcoVectorStore) -> None:
    for how in ("graph", "tfidf"):
        with pytest.raises(InputError, match="has no graph"):
            store.similarity_search("chisel", k=1, how=how)
    assert isinstance(store.monograph, Monograph)
    store.monograph.graph.build()
    for how in ("lexical", "tfidf", "hybrid", "graph", "auto"):
        assert ids(store.similarity_search("chisel", k=1, how=how)) == ["doc/2"]
    assert store.similarity_search("chisel", k=8, how=Hybrid(alpha=1)) == store.similarity_search("chisel", k=8)
    with pytest.raises(InputError, match="'sparse'"):
        store.similarity_search("chisel", how="sparse")
    with pytest.raises(InputError, match="not summaries"):
        store.similarity_search("chisel", how="tree")
    for how in ("lexical", "tfidf", "hybrid", "graph", "auto", "dense"):
        hits = store.monograph.search("the chisel in hall 3", 4, how)
        relevance = [(hit.chunk.id, hit.relevance) for hit in hits]
        by_call = store.similarity_search_with_relevance_scores("the chisel in hall 3", k=4, how=how)
        made = EcoVectorStore(store.monograph, how=how)
        by_store = made.similarity_search_with_relevance_scores("the chisel in hall 3", k=4)
        assert [(one.id, score) for one, score in by_call] == [(one.id, score) for one, score in by_store] == relevance
        assert made.similarity_search_with_score("the chisel in hall 3", k=4) == by_store
        assert all(0 <= score <= 1 for _, score in by_store)
    words = EcoVectorStore(store.monograph, how="lexical")
    assert len(words.similarity_search("chisel")) == 1


def test_search_by_vector_equals_search_by_text(store: EcoVectorStore) -> None:
    vector = Hashed().embed_query("the gauge in hall 6")
    assert store.similarity_search_by_vector(vector, k=3) == store.similarity_search("the gauge in hall 6", k=3)
    assert asyncio.run(store.asimilarity_search_by_vector(vector, k=1, filter={"hall": 5}))[0].metadata["hall"] == 5
    with pytest.raises(InputError, match="dimension|values"):
        store.similarity_search_by_vector([1.0, 2.0], k=1)


def test_langchain_store_ranks_by_maximal_marginal_relevance(store: EcoVectorStore) -> None:
    store.add_texts(["the anvil the anvil"] * 3, ids=["same/0", "same/1", "same/2"])
    near = store.similarity_search("the anvil", k=3)
    assert {one.page_content for one in near} == {"the anvil the anvil"}
    apart = store.max_marginal_relevance_search("the anvil", k=3, fetch_k=11, lambda_mult=0.2)
    assert len({one.page_content for one in apart}) == 3
    plain = store.max_marginal_relevance_search("the anvil", k=3, fetch_k=11, lambda_mult=1)
    assert {one.id for one in plain} == {one.id for one in near}
    vector = Hashed().embed_query("the anvil")
    again = store.max_marginal_relevance_search_by_vector(vector, k=3, fetch_k=11, lambda_mult=0.2)
    awaited = asyncio.run(store.amax_marginal_relevance_search("the anvil", k=3, fetch_k=11, lambda_mult=0.2))
    assert again == apart == awaited
    only = store.max_marginal_relevance_search("the anvil", k=2, filter={"hall": {">": 5}})
    assert set(ids(only)) == {"doc/6", "doc/7"}
    assert store.max_marginal_relevance_search("anvil", k=0) == []
    with pytest.raises(InputError, match="lambda_mult"):
        store.max_marginal_relevance_search("anvil", lambda_mult=2)


def test_langchain_store_retriever_applies_thresholds_and_diversity(store: EcoVectorStore) -> None:
    assert ids(store.as_retriever(search_kwargs={"k": 1}).invoke("the drill in hall 3")) == ["doc/3"]
    scored = store.similarity_search_with_relevance_scores("the drill in hall 3", k=8)
    threshold = (scored[1][1] + scored[2][1]) / 2
    by_score = store.as_retriever(
        search_type="similarity_score_threshold", search_kwargs={"score_threshold": threshold, "k": 8}
    )
    assert ids(by_score.invoke("the drill in hall 3")) == ids([document for document, _ in scored[:2]])
    diverse = store.as_retriever(search_type="mmr", search_kwargs={"k": 2, "filter": {"hall": {"in": [3, 4]}}})
    assert set(ids(asyncio.run(diverse.ainvoke("the drill")))) == {"doc/3", "doc/4"}


def test_langchain_store_from_texts_finds_the_same_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "kept.mono"
    made = EcoVectorStore.from_texts(["one", "two"], Hashed(), [{"n": 1}, {"n": 2}], ids=["a", "b"], monograph=path)
    before = made.similarity_search_with_score("one", k=2)
    made.close()
    with pytest.raises(ClosedFile):
        made.similarity_search("one")
    again = EcoVectorStore(path, Hashed())
    assert again.similarity_search_with_score("one", k=2) == before
    again.close()
    with pytest.raises(ModelMismatch) as caught:
        EcoVectorStore(path, DeterministicFakeEmbedding(size=6))
    assert "with the embedder 'langchain/Hashed/hashed'" in caught.value.hint
    async_made = asyncio.run(EcoVectorStore.afrom_documents([Document(page_content="three")], Hashed(), monograph=path))
    assert len(async_made.similarity_search("x three", k=9)) == 3
    async_made.close()


def test_langchain_stores_share_an_open_file(store: EcoVectorStore) -> None:
    other = EcoVectorStore(store.monograph)
    other.add_texts(["shared by two"], ids=["shared"])
    assert ids(store.get_by_ids(["shared"])) == ["shared"]
    other.close()
    assert store.similarity_search("shared by two", k=1)[0].id == "shared"
    with pytest.raises(InputError, match="LangChainEmbedder"):
        EcoVectorStore(store.monograph, Hashed())


def test_langchain_store_uses_the_embedder_of_the_file(monograph: Monograph) -> None:
    monograph.add([own.Document("The comet of 1963 was seen at noon.", id="log", uri="/log", metadata={"year": 1963})])
    store = EcoVectorStore(monograph)
    (found,) = store.similarity_search("when was the comet seen?", k=1)
    span = {"monograph_document_id": "log", "monograph_start": 0, "monograph_end": len(found.page_content)}
    assert found.metadata == {"year": 1963, "source": "/log", **span}
    assert store.embeddings is not None
    assert len(store.embeddings.embed_query("comet")) == monograph.embedder.dimension
    assert store.embeddings.embed_documents(["a", "b"])[1] == pytest.approx(monograph.embedder.embed(["b"])[0].tolist())


def test_langchain_store_deletes_by_id_and_filter(store: EcoVectorStore) -> None:
    assert store.delete(["doc/0", "nobody"]) is True
    assert store.delete(filter={"hall": {"<=": 2}}) is True
    assert store.delete(["doc/3", "doc/4"], filter=lambda one: one.metadata["hall"] == 4) is True
    assert set(ids(store.similarity_search("the hall", k=9))) == {"doc/3", "doc/5", "doc/6", "doc/7"}
    assert store.delete([]) is True
    assert asyncio.run(store.adelete()) is True
    assert store.similarity_search("the hall") == []
    assert whole_file(store.monograph, "check", "check").check() == []
    assert store.monograph.stats().documents == 0


def test_langchain_store_lists_updates_and_empties_its_documents(store: EcoVectorStore) -> None:
    assert ids(store.get()) == [f"doc/{n}" for n in range(8)]
    assert ids(store.get(filter={"hall": {">": 2}}, limit=2, offset=1)) == ["doc/4", "doc/5"]
    assert ids(store.get(["doc/5", "nobody", "doc/1"], filter=lambda one: one.metadata["hall"] > 1)) == ["doc/5"]
    for wrong in ({"limit": -1}, {"offset": -1}, {"filter": 3}):
        with pytest.raises(InputError):
            store.get(**wrong)  # type: ignore[arg-type]
    store.update_document("doc/3", Document(page_content="A lathe.", metadata={"hall": 33}))
    assert store.get(["doc/3"]) == [Document(id="doc/3", page_content="A lathe.", metadata={"hall": 33})]
    with pytest.raises(NotFound, match="nobody"):
        store.update_documents(["doc/1", "nobody"], [Document(page_content="x"), Document(page_content="y")])
    assert len(store.get()) == 8
    ((found, vector),) = store.similarity_search_with_vectors("A lathe.", k=1)
    assert found.id == "doc/3"
    assert vector == pytest.approx(Hashed().embed_query("A lathe."))
    store.delete_collection()
    assert store.get() == []
    store.add_texts(["again"])
    store.reset_collection()
    assert store.get() == []


def test_langchain_store_searches_static_files_in_hybrid_mode_by_default(
    monograph: Monograph, store: EcoVectorStore
) -> None:
    texts = [f"The {word} stands in hall {n}." for n, word in enumerate(WORDS)]
    own_file = EcoVectorStore.from_texts(texts, monograph=monograph)
    for made, how in ((own_file, "hybrid"), (store, "dense")):
        found = made.similarity_search_with_score("the chisel in hall 3", k=3)
        assert found == made.similarity_search_with_score("the chisel in hall 3", k=3, how=how)


def test_langchain_operators_select_documents(store: EcoVectorStore) -> None:
    store.add_texts(["none"], [{"name": "big comet", "hall": None}], ids=["none"])
    for wanted, found in (
        ({"hall": {"$between": [2, 4]}}, {"doc/2", "doc/3", "doc/4"}),
        ({"hall": {"$not": {"$lt": 6}}}, {"doc/6", "doc/7", "none"}),
        ({"hall": {"$exists": False}}, {"none"}),
        ({"name": {"$exists": True}}, {"none"}),
        ({"name": {"$like": "%comet%"}}, {"none"}),
        ({"name": {"$like": "%Comet%"}}, set()),
    ):
        assert {one.id for one in store.get(filter=wanted)} == found
    deep: dict[str, Any] = {"==": 1}
    for _ in range(40):
        deep = {"$not": deep}
    for operation in ({"$between": [1]}, {"$like": "a%"}, {"$like": "%a_b%"}, {"$exists": 1}, {"$not": 3}, deep):
        with pytest.raises(InvalidFilter):
            store.get(filter={"hall": operation})


def test_langchain_store_refuses_unknown_arguments(store: EcoVectorStore) -> None:
    vector = Hashed().embed_query("the hall")
    calls: list[Callable[[dict[str, Any]], Any]] = [
        lambda wrong: store.similarity_search("the hall", **wrong),
        lambda wrong: store.similarity_search_with_score("the hall", **wrong),
        lambda wrong: store.similarity_search_with_relevance_scores("the hall", **wrong),
        lambda wrong: store.similarity_search_by_vector(vector, **wrong),
        lambda wrong: store.similarity_search_with_score_by_vector(vector, **wrong),
        lambda wrong: store.max_marginal_relevance_search("the hall", **wrong),
        lambda wrong: store.max_marginal_relevance_search_by_vector(vector, **wrong),
        lambda wrong: store.as_retriever(search_kwargs=wrong).invoke("the hall"),
        lambda wrong: store.as_retriever(search_type="mmr", search_kwargs=wrong).invoke("the hall"),
        lambda wrong: asyncio.run(store.asimilarity_search("the hall", **wrong)),
        lambda wrong: store.delete(**wrong),
        lambda wrong: asyncio.run(store.adelete(**wrong)),
        lambda wrong: store.add_texts(["more"], **wrong),
        lambda wrong: store.add_documents([Document(page_content="more")], **wrong),
    ]
    for call in calls:
        with pytest.raises(TypeError, match="'where'"):
            call({"where": {"hall": 3}})
    assert len(store.similarity_search("the hall", k=20)) == len(WORDS)


def test_langchain_store_refuses_metadata_that_is_not_json(store: EcoVectorStore) -> None:
    for wrong in ({"nan": float("nan")}, {"set": {1}}, {1: "one"}, {"deep": [{"set": {1}}]}):
        with pytest.raises(InvalidDocument, match="metadata"):
            store.add_documents([Document(page_content="x", metadata=wrong)])
    assert len(store.similarity_search("the hall", k=20)) == 8


def test_langchain_store_keeps_dates_as_text(store: EcoVectorStore) -> None:
    """As LlamaIndex's nodes have them."""
    given = {
        "day": date(2031, 3, 2),
        "at": datetime(2031, 3, 2, 8, 30, 0, 5),
        "utc": datetime(2031, 3, 2, 8, 30, tzinfo=UTC),
        "zone": datetime(2031, 3, 2, 8, 30, tzinfo=timezone(timedelta(hours=2))),
        "time": time(8, 30),
        "many": [date(2031, 3, 2), {"deep": (date(2031, 3, 3), 7)}],
    }
    expected = {
        "day": "2031-03-02",
        "at": "2031-03-02T08:30:00.000005",
        "utc": "2031-03-02T08:30:00Z",
        "zone": "2031-03-02T08:30:00+02:00",
        "time": "08:30:00",
        "many": ["2031-03-02", {"deep": ["2031-03-03", 7]}],
    }
    document = Document(id="dated", page_content="The dome was painted.", metadata=given)
    store.add_documents([document])
    assert document.metadata == given
    assert store.get_by_ids(["dated"])[0].metadata == expected
    for allowed in ({"day": date(2031, 3, 2)}, {"day": {">": date(2031, 3, 1)}}, {"at": {"$in": [given["at"]]}}):
        assert ids(store.similarity_search("the dome", filter=allowed)) == ["dated"]
        assert ids(HybridRetriever(monograph=store.monograph, filter=allowed).invoke("the dome")) == ["dated"]
    assert store.similarity_search("the dome", filter={"day": {">": date(2031, 3, 2)}}) == []
    store.delete(filter={"day": date(2031, 3, 2)})
    assert store.get_by_ids(["dated"]) == []


def test_langchain_store_without_a_path_uses_a_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = EcoVectorStore.from_documents([Document(page_content="one"), Document(page_content="two")], Hashed())
    other = EcoVectorStore.from_texts(["three"])
    assert isinstance(made.monograph, Monograph)
    assert isinstance(other.monograph, Monograph)
    paths = [made.monograph.path, other.monograph.path]
    assert list(tmp_path.iterdir()) == []
    assert paths[0] != paths[1]
    assert made.similarity_search("two", k=1)[0].page_content == "two"
    again = copy.deepcopy(made)
    again.close()
    assert len(made.similarity_search("two", k=9)) == 2
    made.close()
    made.close()
    assert other.similarity_search("three", k=1)[0].page_content == "three"
    del other
    gc.collect()
    assert [path.parent.exists() for path in paths] == [False, False]


def test_langchain_store_ranks_by_filter_for_a_zero_vector(store: EcoVectorStore) -> None:
    nowhere = [0.0] * len(Hashed().embed_query("x"))
    found = store.similarity_search_with_score_by_vector(nowhere, k=2, filter={"hall": {">": 4}})
    assert [(one.id, score) for one, score in found] == [("doc/5", 0.0), ("doc/6", 0.0)]
    assert store.similarity_search_by_vector(nowhere, k=2) == []


def test_failing_langchain_embeddings_raise_model_unavailable(tmp_path: Path) -> None:
    class Broken(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            raise RuntimeError("no room")

        def embed_query(self, text: str) -> list[float]:
            return [1.0, 0.0]

    store = EcoVectorStore(tmp_path / "broken.mono", Broken())
    with pytest.raises(ModelUnavailable, match="no room"):
        store.add_texts(["a"])
    assert store.get_by_ids([]) == []
    store.close()


def test_langchain_indexing_api_adds_skips_and_deletes(store: EcoVectorStore) -> None:
    manager = InMemoryRecordManager("tests")
    manager.create_schema()
    first = [Document(page_content=f"page {n}", metadata={"source": f"s{n % 2}"}) for n in range(6)]
    done = index(first, manager, store, cleanup="incremental", source_id_key="source", key_encoder="sha256")
    assert (done["num_added"], done["num_deleted"]) == (6, 0)
    done = index(first, manager, store, cleanup="incremental", source_id_key="source", key_encoder="sha256")
    assert (done["num_added"], done["num_skipped"]) == (0, 6)
    changed = [*first[:5], Document(page_content="page five", metadata={"source": "s1"})]
    done = index(changed, manager, store, cleanup="incremental", source_id_key="source", key_encoder="sha256")
    assert (done["num_added"], done["num_deleted"]) == (1, 1)
    done = asyncio.run(aindex(first[:2], manager, store, cleanup="full", source_id_key="source", key_encoder="sha256"))
    assert done["num_deleted"] == 4
    kept = store.similarity_search("page", k=20, filter={"source": {"in": ["s0", "s1"]}})
    assert {one.page_content for one in kept} == {"page 0", "page 1"}


def test_langchain_store_does_not_block_the_event_loop(store: EcoVectorStore, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = note_threads(monkeypatch, EcoVectorStore, "similarity_search")

    async def ask() -> None:
        await asyncio.gather(*(store.asimilarity_search("anvil") for _ in range(4)))
        store.similarity_search("anvil")

    asyncio.run(ask())
    assert [thread == get_ident() for thread in threads] == [False] * 4 + [True]


def test_langchain_embedders_convert_both_ways(tmp_path: Path) -> None:
    theirs = LangChainEmbedder(Hashed())
    assert (theirs.key, theirs.dimension) == ("langchain/Hashed/hashed", 16)
    assert LangChainEmbedder(DeterministicFakeEmbedding(size=6), "mine").key == "langchain/mine"
    assert theirs.embed([]).shape == (0, 16)
    made = theirs.embed(["one text", ""])
    assert (made.dtype, made.shape) == (np.dtype(np.float32), (2, 16))
    with Monograph.open(tmp_path / "theirs.mono", theirs) as monograph:
        monograph.add([own.Document("The anvil.", id="a"), own.Document("The bellows.", id="b")])
        assert monograph.search("the bellows", 1, how="dense")[0].chunk.document_id == "b"
        ours = MonographEmbeddings(monograph.embedder)
        assert asyncio.run(ours.aembed_query("anvil")) == pytest.approx(theirs.embed(["anvil"])[0].tolist())


def test_langchain_stores_and_retrievers_stop_as_asked(tmp_path: Path) -> None:
    path = clustered_archive(tmp_path / "a.mono")
    calls: list[int] = []

    class FirstLoad:
        def after(self, loads: Sequence[Sequence[int]]) -> bool:
            calls.append(len(loads))
            return True

    with EcoVectorStore(path) as store:
        vector = store.query_vector("which comet?")
        searches: list[Callable[..., list[Any]]] = [
            partial(store.similarity_search, "which comet?"),
            partial(store.similarity_search_with_vectors, "which comet?"),
            partial(store.similarity_search_by_vector, vector),
            partial(store.max_marginal_relevance_search, "which comet?"),
        ]
        for search in searches:
            assert search(k=3, stop=FirstLoad())
            assert calls.pop() == 1
            assert search(k=3, stop="budget:loads=1")
            assert search(k=3, ranked_recall=0.9)
            with pytest.raises(TypeError, match="unexpected keyword argument 'as_of'"):
                search(k=3, as_of="2031")
        with pytest.raises(InputError, match="searches no vectors"):
            store.similarity_search("comet", how="lexical", stop="never")
    with HybridRetriever(monograph=path, stop=FirstLoad()) as retriever:
        assert retriever.invoke("which comet?")
        assert calls == [1]
    with HybridRetriever(monograph=path, ranked_recall=0.9) as retriever:
        assert retriever.invoke("which comet?")
    with HybridRetriever(monograph=path, stop="never", ranked_recall=0.9) as both, pytest.raises(InputError):
        both.invoke("which comet?")
