"""LlamaIndex: one file in many hands, what is deleted from all of it, and hands that go wrong."""

from __future__ import annotations

import asyncio
import copy
import multiprocessing
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")

from llama_index.core import StorageContext, load_index_from_storage
from llama_index.core.base.response.schema import AsyncStreamingResponse
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.vector_stores.types import FilterOperator, MetadataFilter, MetadataFilters, VectorStoreQuery

from llama_index.indices.monograph import EraRAGIndex
from llama_index.postprocessor.monograph import SCRPostprocessor
from llama_index.query_engine.monograph import CitingQueryEngine
from llama_index.readers.monograph import MonographReader
from llama_index.retrievers.monograph import HybridRetriever, MiniRAGRetriever, TreeRetriever
from llama_index.tools.monograph import MonographToolSpec
from llama_index.vector_stores.monograph import EcoVectorStore
from monograph import Document, Monograph
from monograph.derive.loading import load_summarizer
from monograph.errors import ClosedFile, NotAMonograph
from support.answering import Whole
from support.cancelling import cancel_at_every_await
from support.contents import assert_deletion_leaves_no_trace
from support.letter_corpus import FACTS, STRANGERS
from support.llama_index_values import node
from support.models import HashEmbedder
from support.secrets import KEY, SECRET, assert_not_pickled, long_traces


def nodes(texts: list[str], kind: str) -> list[TextNode]:
    return [node(f"{kind}/{n}", text, f"{kind}/of", {"kind": kind}) for n, text in enumerate(texts)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "shared.mono"
    with Monograph.open(made, HashEmbedder(), summarizer=load_summarizer("extractive")) as monograph:
        EcoVectorStore(monograph).add(nodes(FACTS, "kept"))
    return made


@pytest.fixture
def opened(path: Path) -> Iterator[Monograph]:
    with Monograph.open(path, HashEmbedder()) as monograph:
        yield monograph


KIND = MetadataFilters(filters=[MetadataFilter(key="kind", value="gone", operator=FilterOperator.EQ)])
DELETIONS: dict[str, Callable[[EcoVectorStore, EraRAGIndex], Any]] = {
    "by ref_doc_id": lambda store, _: store.delete("gone/of"),
    "by ids": lambda store, _: store.delete_nodes(["gone/0", "gone/1"]),
    "by a filter": lambda store, _: store.delete_nodes(filters=KIND),
    "asynchronously": lambda store, _: asyncio.run(store.adelete("gone/of")),
    "by the index": lambda _, index: index.delete_ref_doc("gone/of"),
    "by the index, nodes": lambda _, index: index.delete_nodes(["gone/1", "gone/0"]),
}


@pytest.mark.parametrize("way", DELETIONS)
def test_llama_index_deletion_removes_from_every_index(opened: Monograph, way: str) -> None:
    store, index = EcoVectorStore(opened), EraRAGIndex([], opened)
    assert_deletion_leaves_no_trace(
        opened, lambda: store.add(nodes(STRANGERS, "gone")), lambda: DELETIONS[way](store, index)
    )


def test_llama_index_components_of_one_file_see_each_others_writes(path: Path, opened: Monograph) -> None:
    """Two stores, two indexes and a retriever, open by path and shared: each sees what the others write."""
    store, index = EcoVectorStore(opened), EraRAGIndex([], opened)
    other = EraRAGIndex([], Monograph.open(path, HashEmbedder()))
    retriever = MiniRAGRetriever(path, similarity_top_k=9)
    store.add([node("a", "The lighthouse of Zadar was painted.", "doc")])
    index.insert_nodes([node("b", "The lighthouse of Split was not.", "doc")])
    other.insert_nodes([node("c", "A third lighthouse stands in Bari.", "doc")])
    by_words = VectorStoreQuery(query_str="lighthouse", mode="text_search", similarity_top_k=9)  # type: ignore[arg-type]
    assert set(store.query(by_words).ids or []) == {"a", "b", "c"}
    assert set(index.ref_doc_info["doc"].node_ids) == set(other.ref_doc_info["doc"].node_ids) == {"a", "b", "c"}
    other.delete_ref_doc("doc")
    assert store.query(by_words).ids == []
    assert "a" not in index.ref_doc_info
    retriever.close()
    other.monograph.close()
    assert opened.check() == []


def _in_a_fork(store: EcoVectorStore, retriever: HybridRetriever, answers: Any) -> None:
    store.add([node("fork", "A word from the fork.", "fork")])
    answers.put([one.node_id for one in retriever.retrieve("the lathe was painted red")])


def test_llama_index_components_work_in_a_forked_process(opened: Monograph) -> None:
    store, retriever = EcoVectorStore(opened), HybridRetriever(opened, similarity_top_k=1)
    assert retriever.retrieve("the lathe was painted red")[0].node_id == "kept/3"
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    worker = context.Process(target=_in_a_fork, args=(store, retriever, answers))
    worker.start()
    assert answers.get(timeout=30) == ["kept/3"]
    worker.join(30)
    assert worker.exitcode == 0
    assert [one.node_id for one in store.get_nodes(["fork"])] == ["fork"]
    assert opened.check() == []


def test_llama_index_components_refuse_a_closed_file(opened: Monograph) -> None:
    store = EcoVectorStore(opened)
    index = EraRAGIndex([], opened)
    tools = {one.metadata.name: one for one in MonographToolSpec(opened).to_tool_list()}
    some = [NodeWithScore(node=TextNode(text="The lathe is red. It is heavy."))]
    opened.close()
    for use in (
        lambda: store.query(VectorStoreQuery(query_str="x")),
        lambda: store.add([node("n", "new", "of")]),
        lambda: store.delete("kept/of"),
        store.clear,
        lambda: asyncio.run(store.aget_nodes()),
        lambda: HybridRetriever(opened).retrieve("x"),
        lambda: TreeRetriever(opened).retrieve("x"),
        lambda: asyncio.run(MiniRAGRetriever(opened).aretrieve("x")),
        lambda: index.insert_nodes([node("n", "new", "of")]),
        lambda: index.ref_doc_info,
        lambda: CitingQueryEngine(opened).query("x"),
        lambda: SCRPostprocessor(opened).postprocess_nodes(some, query_str="x"),
        lambda: MonographReader(opened).load_data(),
    ):
        with pytest.raises(ClosedFile):
            use()
    assert "closed" in tools["search"](query="x").content


def test_llama_index_index_of_a_received_file_asks_no_server(tmp_path: Path, server: Any) -> None:
    path = tmp_path / "received.mono"
    with Monograph.open(path, summarizer=load_summarizer(f"llm:openai:{server.url}#x")) as theirs:
        EcoVectorStore(theirs).add(nodes(["A shared archive about Anna Karenina."], "theirs"))
    calls = server.calls
    with pytest.warns(RuntimeWarning, match="the tree of summaries was not updated.*trusted="):
        index = EraRAGIndex(nodes([f"PIN {n} is Anna Mercer's." for n in range(30)], "private"), path)
    with index, pytest.warns(RuntimeWarning, match="the tree of summaries was not updated.*trusted="):
        index.delete_nodes(["private/0"])
    assert server.calls == calls


@pytest.mark.parametrize("owned", [True, False])
def test_llama_index_store_is_pickled_and_copied(path: Path, opened: Monograph, owned: bool, caplog: Any) -> None:
    own = EcoVectorStore(path) if owned else EcoVectorStore(opened)
    query = VectorStoreQuery(query_str="lathe", mode="text_search", similarity_top_k=9)  # type: ignore[arg-type]
    expected = own.query(query).ids
    again = pickle.loads(pickle.dumps(own))
    assert again.client is not own.client
    for made in (copy.copy(own), copy.deepcopy(own), own.model_copy(deep=True), again):
        assert made.query(query).ids == expected
        made.close()
    assert own.query(query).ids == expected
    with pytest.raises(ClosedFile):
        again.query(query)
    own.close()
    assert caplog.records == []  # LlamaIndex would leave out what cannot be pickled, and log that.


@pytest.mark.parametrize("kind", [HybridRetriever, MiniRAGRetriever, TreeRetriever])
def test_llama_index_retrievers_are_pickled_and_copied(opened: Monograph, kind: Any) -> None:
    retriever = kind(opened, similarity_top_k=2)
    expected = [one.node_id for one in retriever.retrieve("where was the lathe?")]
    assert expected
    for made in (copy.deepcopy(retriever), pickle.loads(pickle.dumps(retriever))):
        assert [one.node_id for one in made.retrieve("where was the lathe?")] == expected
        made.close()
    assert [one.node_id for one in retriever.retrieve("where was the lathe?")] == expected


@pytest.mark.long
def test_cancelled_queries_leave_the_file_usable(tmp_path: Path) -> None:
    async def streamed(engine: CitingQueryEngine) -> str:
        answer = await engine.aquery("Who wrote the letters?")
        assert isinstance(answer, AsyncStreamingResponse)
        return "".join([piece async for piece in answer.async_response_gen()])

    with Monograph.open(tmp_path / "x.mono", model=Whole("The keeper [1].", 3)) as archive:
        archive.add([Document(f"The lighthouse keeper wrote letter {n}.", id=f"d{n}") for n in range(3)])
        retriever = HybridRetriever(archive, similarity_top_k=2)
        times = [
            cancel_at_every_await(lambda: retriever.aretrieve("lighthouse")),
            cancel_at_every_await(lambda: CitingQueryEngine(archive).aquery("Who wrote the letters?")),
            cancel_at_every_await(lambda: streamed(CitingQueryEngine(archive, streaming=True))),
        ]
        assert min(times) > 0
        assert archive.check() == []
        assert archive.remove(["d0"]).removed == 1
        assert len(archive.search("lighthouse", 5)) == 2


@pytest.mark.long
def test_llama_index_components_open_an_encrypted_file(tmp_path: Path) -> None:
    pytest.importorskip("sqlcipher3.dbapi2", reason="the extra encrypt is not installed")
    path = tmp_path / "vector_store.mono"
    with EcoVectorStore(path, key=KEY) as store:
        store.add([TextNode(id_="a", text="Anna Calder saw the comet."), TextNode(id_="b", text=SECRET)])
        assert KEY not in repr(store) + str(store.to_dict()) + store.to_json()
    assert long_traces(path) == []
    store, reader = EcoVectorStore.from_persist_dir(str(tmp_path), key=KEY), MonographReader(path, key=KEY)
    retriever = HybridRetriever(path, key=KEY, similarity_top_k=1)
    assert_not_pickled([store, reader, retriever])
    for made in (retriever, copy.deepcopy(retriever)):
        assert made.retrieve("comet")[0].node_id == "a"
        made.close()
    assert [one.id_ for one in reader.load_data()] == ["a", "b"]
    assert len(copy.deepcopy(store).get_nodes()) == len(copy.deepcopy(reader).load_data()) == 2
    store.close()
    with EraRAGIndex([TextNode(id_="c", text="A third one.")], path, key=KEY) as index:
        index.storage_context.persist(str(tmp_path / "storage"))
    written = "".join(one.read_text() for one in (tmp_path / "storage").iterdir())
    assert str(path) in written
    assert KEY not in written
    context = StorageContext.from_defaults(persist_dir=str(tmp_path / "storage"))
    with pytest.raises(NotAMonograph, match="encrypted and no key"):
        load_index_from_storage(context)
    loaded: Any = load_index_from_storage(context, key=KEY)
    assert loaded.as_retriever(similarity_top_k=1, detail=1.0).retrieve("comet")[0].node_id == "a"
    loaded.close()
