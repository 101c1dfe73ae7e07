"""LlamaIndex: retrievers of the graph and the tree, rerankers, reduction, an index, answers, tools, a reader."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")

from llama_index.core import Settings, StorageContext, VectorStoreIndex, load_index_from_storage
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.chat_engine.types import ChatMode
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.schema import (
    BaseNode,
    Document,
    ImageNode,
    MetadataMode,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    TextNode,
    TransformComponent,
)

from llama_index.embeddings.monograph import MonographEmbedding
from llama_index.indices.monograph import EraRAGIndex
from llama_index.postprocessor.monograph import LlamaIndexReranker, SCRPostprocessor
from llama_index.query_engine.monograph import CitingQueryEngine
from llama_index.readers.monograph import MonographReader
from llama_index.retrievers.monograph import HybridRetriever, MiniRAGRetriever, TreeRetriever
from llama_index.tools.monograph import MonographToolSpec
from llama_index.vector_stores.monograph import EcoVectorStore, HitNode
from monograph import Chunk, Graph, Hit, Hybrid, Monograph, Reranker, Tree, Windows
from monograph.errors import InputError, ModelUnavailable, NotFound
from monograph.values import Cost
from support.letter_corpus import FACTS, FILLER, of_different_lengths, with_filler
from support.llama_index_values import above
from support.llama_index_values import node as node_of
from support.models import CountingSummarizer, HashEmbedder

QUESTION = "who got the plates from the woman that Tobias Renk met?"


@pytest.fixture(autouse=True)
def _no_model() -> None:
    Settings.llm = MockLLM()


@pytest.fixture
def filled(monograph: Monograph) -> Monograph:
    return with_filler(monograph)


@pytest.fixture
def grown(filled: Monograph) -> Monograph:
    filled.tree.rebuild()
    return filled


def test_llama_index_retriever_follows_the_graph(filled: Monograph) -> None:
    nodes = MiniRAGRetriever(filled, similarity_top_k=2).retrieve(QUESTION)
    hits = filled.search(QUESTION, 2, how="graph")
    assert [(one.node_id, one.score) for one in nodes] == [(hit.chunk.id, hit.relevance) for hit in hits]
    assert [one.explanation for one in nodes if isinstance(one, HitNode)] == [hit.explain() for hit in hits]
    faithful = MiniRAGRetriever(filled, faithful=True, filters=above("n", 0))
    assert [one.node_id for one in asyncio.run(faithful.aretrieve("Anna Calder"))] == [
        hit.chunk.id for hit in filled.search("Anna Calder", 5, how=Graph(faithful=True), where={"n": {">": 0}})
    ]
    by_path = MiniRAGRetriever(filled.path, similarity_top_k=1)
    assert by_path.retrieve("the lathe")[0].metadata["n"] == 3
    by_path.close()


def test_hybrid_retriever_applies_its_weight(filled: Monograph) -> None:
    nodes = HybridRetriever(filled, how=Hybrid(alpha=1.0), similarity_top_k=9).retrieve("a red lathe")
    assert [one.node_id for one in nodes] == [hit.chunk.id for hit in filled.search("a red lathe", 9, how="dense")]


def test_llama_index_retriever_searches_the_tree(filled: Monograph) -> None:
    with pytest.raises(InputError, match="no tree"):
        TreeRetriever(filled).retrieve("x")
    filled.tree.rebuild()
    nodes = TreeRetriever(filled, similarity_top_k=3, detail=0.0).retrieve("what are the letters about?")
    hits = filled.search("what are the letters about?", 3, how=Tree(detail=0.0))
    assert nodes
    for node, hit in zip(nodes, hits, strict=True):
        assert hit.summary is not None
        assert (node.node_id, node.get_content(), node.score) == (hit.summary.id, hit.summary.text, hit.relevance)
        children = node.node.relationships[NodeRelationship.CHILD]
        assert isinstance(children, list)
        assert [one.node_id for one in children] == list(hit.summary.chunks)
        assert "monograph_" not in node.node.get_content(MetadataMode.LLM)
    chunks = asyncio.run(TreeRetriever(filled, detail=1.0, budget=400).aretrieve("lathe"))
    assert {one.node.ref_doc_id for one in chunks} <= {f"d{n}" for n in range(4)}


def test_fusion_adds_the_ranks_of_a_node_that_two_retrievers_find(grown: Monograph) -> None:
    retrievers: list[BaseRetriever] = [HybridRetriever(grown, how="dense"), MiniRAGRetriever(grown)]
    alone = [{one.node_id: one.node.hash for one in retriever.retrieve(QUESTION)} for retriever in retrievers]
    shared = alone[0].keys() & alone[1].keys()
    assert shared
    assert all(alone[0][name] == alone[1][name] for name in shared)
    fused = QueryFusionRetriever(
        retrievers, similarity_top_k=9, mode=FUSION_MODES.RECIPROCAL_RANK, num_queries=1, use_async=False
    ).retrieve(QUESTION)
    assert sorted(one.node_id for one in fused) == sorted(alone[0].keys() | alone[1].keys())
    scores = {one.node_id: one.score or 0.0 for one in fused}
    assert all((scores[name] > 1 / 60) == (name in shared) for name in scores)


def test_a_node_is_the_same_whatever_was_asked(grown: Monograph) -> None:
    for retriever in (HybridRetriever(grown), MiniRAGRetriever(grown), TreeRetriever(grown, similarity_top_k=9)):
        first, second = (
            {one.node_id: (one.node.hash, one.metadata) for one in retriever.retrieve(question)}
            for question in ("who got the comet plates?", "Anna Calder and the lathe")
        )
        assert first.keys() & second.keys()
        assert all(first[name] == second[name] for name in first.keys() & second.keys())


def test_postprocessor_reduces_copies_of_nodes(filled: Monograph) -> None:
    given = HybridRetriever(filled, similarity_top_k=4).retrieve("who got the comet plates?")
    given.append(NodeWithScore(node=ImageNode(id_="image", image="aGVsbG8="), score=0.1))
    before = [one.model_dump_json() for one in given]
    reduced = SCRPostprocessor(filled, cut=0.6).postprocess_nodes(given, query_str="who got the comet plates?")
    assert [one.model_dump_json() for one in given] == before
    assert {one.node_id for one in reduced} == {one.node_id for one in given}
    assert reduced[-1].node_id == "image"
    originals = {one.node_id: one for one in given}
    for one in reduced[:-1]:
        whole = originals[one.node_id].get_content()
        kept = [whole[start:end] for start, end in one.metadata["monograph_spans"]]
        assert " … ".join(kept) == one.get_content()
        assert "monograph_spans" not in one.node.get_content(MetadataMode.LLM)
    scores = [one.score or 0.0 for one in reduced]
    assert scores == sorted((one.score or 0.0 for one in given), reverse=True)
    assert "Peter Okafor" in reduced[0].get_content()
    assert sum(len(one.get_content()) for one in reduced) < 0.9 * sum(len(one.get_content()) for one in given)
    again = asyncio.run(SCRPostprocessor(filled).apostprocess_nodes(given, query_str="who got the comet plates?"))
    assert len(again) == len(given)
    with pytest.raises(InputError, match="without a question"):
        SCRPostprocessor(filled).postprocess_nodes(given)
    with pytest.raises(InputError, match="cut is 2"):
        SCRPostprocessor(filled, cut=2).postprocess_nodes(given, query_str="x")


def test_postprocessor_keeps_the_papers_windows(filled: Monograph) -> None:
    question = "who got the comet plates?"
    given = HybridRetriever(filled, similarity_top_k=4).retrieve(question)
    sizes: dict[str, Any] = {"window": 2, "overlap": 1, "context": 0}
    hits = [
        Hit(Chunk("", "", one.get_content(), 0, len(one.get_content()), 0), 0.0, 0, "", "", {}, ()) for one in given
    ]
    expected = filled.reduce(question, hits, windows=Windows(2, 1, 0))
    made = SCRPostprocessor(filled, mode="windows", **sizes).postprocess_nodes(given, query_str=question)
    assert [(one.node_id, one.get_content()) for one in made] == [
        (one.node_id, reduced.text) for one, reduced in zip(given, expected, strict=True)
    ]
    ordered = SCRPostprocessor(filled, mode="windows", reorder=True, **sizes).postprocess_nodes(
        given, query_str=question
    )
    best_first = sorted(expected, key=lambda one: -one.value)
    assert [one.get_content() for one in ordered] == [one.text for one in best_first]
    assert [one.score for one in ordered] == [one.score for one in given]


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"mode": "sentence"}, "unknown mode 'sentence'"),
        ({"mode": "windows", "cut": 0.6}, "cut is 0.6"),
        ({"context": 2}, "the mode is sentences"),
        ({"embed_model": MockEmbedding(embed_dim=3)}, "an embedding model was given, but the mode is sentences"),
        ({"mode": "windows", "overlap": 3}, "overlap 3"),
    ],
)
def test_postprocessor_refuses_arguments_of_the_other_mode(filled: Monograph, named: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        SCRPostprocessor(filled, **named)


def test_reduction_serves_any_retriever(filled: Monograph) -> None:
    store = EcoVectorStore(filled)
    engine = RetrieverQueryEngine.from_args(
        HybridRetriever(filled),
        llm=MockLLM(),
        node_postprocessors=[SCRPostprocessor(filled)],
        response_mode="no_text",  # type: ignore[arg-type]
    )
    assert "Okafor" in engine.query("who got the comet plates?").source_nodes[0].get_content()
    assert (
        VectorStoreIndex.from_vector_store(store, embed_model=MonographEmbedding(filled.embedder))
        .as_query_engine(llm=MockLLM(), node_postprocessors=[SCRPostprocessor(filled)], response_mode="no_text")
        .query("who got the comet plates?")
        .source_nodes
    )


def letters() -> list[Document]:
    return [Document(text=f"{fact} {FILLER}", id_=f"d{n}", metadata={"n": n}) for n, fact in enumerate(FACTS)]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[EraRAGIndex]:
    made = EraRAGIndex.from_documents(
        letters(), transformations=[SentenceSplitter(chunk_size=128, chunk_overlap=0)], monograph=tmp_path / "era.mono"
    )
    yield made
    made.close()


def sources(index: EraRAGIndex) -> set[str]:
    return set(index.ref_doc_info)


def test_tree_index_answers_from_passages_and_summaries(index: EraRAGIndex) -> None:
    assert sources(index) == {"d0", "d1", "d2", "d3"}
    assert index.monograph.stats().tree is not None
    assert index.docstore.docs == {}
    found = index.as_retriever(similarity_top_k=2, detail=1.0).retrieve("who got the comet plates?")
    assert found[0].metadata["n"] == 2
    assert (
        index.as_retriever(similarity_top_k=1, detail=0.0, stop="never")
        .retrieve("letters")[0]
        .metadata["monograph_layer"]
        >= 1
    )
    response = index.as_query_engine(llm=MockLLM(), similarity_top_k=2, response_mode="no_text").query("the plates")
    assert len(response.source_nodes) == 2


def test_an_index_refuses_arguments_that_nothing_reads(index: EraRAGIndex) -> None:
    found = index.as_retriever(filters=above("n", 2), detail=1.0).retrieve("the letters")
    assert {one.metadata["n"] for one in found} == {3}
    for work in (index.as_retriever, index.as_query_engine, lambda **named: EraRAGIndex([], index.monograph, **named)):
        with pytest.raises(InputError, match="has no argument 'where'"):
            work(where={"n": 3})
    assert index.as_chat_engine(llm=MockLLM(), system_prompt="Be brief.", chat_mode=ChatMode.CONTEXT)


def test_tree_index_updates_its_tree_on_each_change(index: EraRAGIndex) -> None:
    index.insert(Document(text="The steamer left Trieste.", id_="new"))
    index.update_ref_doc(Document(text="The lathe is blue now.", id_="d3"))
    texts = " ".join(one.chunk.text for one in index.monograph.fetch())
    assert "steamer" in texts
    assert "red" not in texts
    index.delete_ref_doc("d0")
    asyncio.run(index.adelete_ref_doc("d1"))
    index.delete_ref_doc("nobody")
    assert sources(index) == {"d2", "d3", "new"}
    names = index.ref_doc_info["d2"].node_ids
    index.delete_nodes(names[:1])
    asyncio.run(index.adelete_nodes(names[1:]))
    asyncio.run(index.ainsert(Document(text="A last one.", id_="last")))
    assert sources(index) == {"d3", "new", "last"}
    assert index.monograph.check() == []
    index.insert_nodes([TextNode(text="alone", id_="alone")])
    assert "alone" in sources(index)


def test_refresh_compares_documents_with_the_file(index: EraRAGIndex) -> None:
    documents = letters()
    assert index.refresh_ref_docs(documents) == [False] * 4
    index.delete_ref_doc("d1", delete_from_docstore=True)
    documents[2] = Document(text="Something else.", id_="d2")
    assert asyncio.run(index.arefresh_ref_docs(documents)) == [False, True, True, False]
    assert index.refresh_ref_docs(documents) == [False] * 4
    assert sources(index) == {"d0", "d1", "d2", "d3"}


def test_the_price_of_a_change_is_known_before(tmp_path: Path) -> None:
    summarizer, embedder = CountingSummarizer(), HashEmbedder(16)
    splitter = SentenceSplitter(chunk_size=64, chunk_overlap=0)
    first, late = [Document(text=f"{fact} {FILLER * 3}", id_=f"d{n}") for n, fact in enumerate(FACTS)], letters()[0]
    late.id_ = "late"
    edited = Document(text=f"The lathe is blue now. {FILLER * 3}", id_="d3")
    refreshed = [*first[:2], edited, Document(text=f"The steamer left Trieste. {FILLER * 3}", id_="new")]
    with Monograph.open(tmp_path / "era.mono", embedder, summarizer=summarizer) as file:
        index = EraRAGIndex([], file, transformations=[splitter])

        def check(cost: Cost, change: Callable[[], object]) -> None:
            made = len(summarizer.asked)
            change()
            assert 0 < len(summarizer.asked) - made <= cost.summaries
            assert 0 < cost.typical_summaries <= cost.summaries

        check(index.price(first), lambda: index.refresh_ref_docs(first))
        assert index.price(first) == Cost() == index.price(delete=["nobody"])
        check(index.price([late]), lambda: index.insert(late))
        check(index.price([edited]), lambda: index.update_ref_doc(edited))
        check(index.price(refreshed), lambda: index.refresh_ref_docs(refreshed))
        check(index.price(delete=["d1"]), lambda: index.delete_ref_doc("d1"))
        check(index.price([TextNode(text="Alone.")]), lambda: index.insert_nodes([TextNode(text="Alone.")]))
        assert sources(index) >= {"d0", "d2", "d3", "late", "new"}
        assert file.check() == []


def test_the_price_of_nodes_is_that_of_put(tmp_path: Path) -> None:
    nodes = [node_of(f"n{n}", f"Passage {n} of a long report.", "big") for n in range(30)]
    with Monograph.open(tmp_path / "era.mono", HashEmbedder(16), summarizer=CountingSummarizer()) as file:
        index = EraRAGIndex(nodes, file)
        assert index.price(nodes[3:5]) == Cost()
        cost = index.price([node_of("late", "One more passage.", "big")])
        assert (cost.documents, cost.chunks) == (1, 1)
        moved = index.price([node_of("n0", nodes[0].get_content(), "other")])
        assert cost.typical_summaries < moved.typical_summaries <= 6
        assert index.price(delete=["big"]).typical_summaries == index.price(delete=["nobody", "big"]).typical_summaries


def test_a_price_leaves_a_new_file_as_it_was(tmp_path: Path) -> None:
    nodes = [TextNode(text=f"Node {n}.", embedding=[1.0 * n, 2.0, 3.0]) for n in range(3)]
    with Monograph.open(tmp_path / "era.mono") as file:
        index = EraRAGIndex([], file)
        assert index.price([TextNode(text="Of the default embedder.")]).embeddings == 1
        cost = index.price(nodes)
        assert (cost.chunks, cost.embeddings) == (3, 0)
        index.insert_nodes(nodes)
        assert file.stats().dimension == 3


def test_refresh_stores_the_last_document_of_an_id(tmp_path: Path) -> None:
    red, blue = (Document(text=f"The lathe is {colour}.", id_="d") for colour in ("red", "blue"))
    with Monograph.open(tmp_path / "era.mono", HashEmbedder(16)) as file:
        index = EraRAGIndex([], file)
        assert index.price([red, blue]).chunks == 1
        assert index.refresh_ref_docs([red, blue]) == [False, True]
        assert index.price([red, blue]) == Cost()
        assert index.refresh_ref_docs([red, blue, blue]) == [False, False, False]
        assert [one.chunk.text for one in file.fetch()] == ["The lathe is blue."]


def test_a_document_that_loses_all_its_nodes_is_priced(tmp_path: Path) -> None:
    class DropEmpty(TransformComponent):
        def __call__(self, nodes: Sequence[BaseNode], **_: object) -> Sequence[BaseNode]:
            return [one for one in nodes if one.get_content()]

    empty = Document(text="", id_="d3")
    with Monograph.open(tmp_path / "era.mono", HashEmbedder(16), summarizer=CountingSummarizer()) as file:
        documents = [Document(text=f"The lathe {n} is red.", id_=f"d{n}") for n in range(20)]
        index = EraRAGIndex.from_documents(documents, monograph=file, transformations=[DropEmpty()])
        cost = index.price([empty])
        assert cost == index.price(delete=["d3"])
        assert cost.summaries > 0
        assert index.price([Document(text="The lathe 4 is blue.", id_="d4")]).typical_summaries == 4
        index.update_ref_doc(empty)
        assert "d3" not in index.ref_doc_info


def test_tree_index_is_persisted_and_loaded(index: EraRAGIndex, tmp_path: Path) -> None:
    folder = str(tmp_path / "storage")
    index.storage_context.persist(folder)
    before = [one.node_id for one in index.as_retriever(detail=1.0).retrieve("who got the comet plates?")]
    index.close()
    loaded = load_index_from_storage(StorageContext.from_defaults(persist_dir=folder))
    assert isinstance(loaded, EraRAGIndex)
    assert [one.node_id for one in loaded.as_retriever(detail=1.0).retrieve("who got the comet plates?")] == before
    assert loaded.refresh_ref_docs(letters()) == [False] * 4
    loaded.close()


def test_tree_index_leaves_a_given_file_open(index: EraRAGIndex) -> None:
    EraRAGIndex([], index.monograph).close()
    assert sources(index)
    with pytest.raises(InputError, match="needs a file"):
        EraRAGIndex([])


def test_citing_engine_returns_the_cited_spans(filled: Monograph) -> None:
    engine = CitingQueryEngine(filled, budget=300)
    question = "to whom did Anna Calder give the comet plates?"
    response = engine.query(question)
    answer = filled.ask(question, 300)
    assert str(response) == answer.text
    assert [one.metadata["monograph_number"] for one in response.source_nodes] == [
        one.number for one in answer.citations
    ]
    assert response.source_nodes
    for one in response.source_nodes:
        for document, start, end in one.metadata["monograph_spans"]:
            assert filled.document(document).text[start:end] in one.get_content()
    assert response.metadata is not None
    assert response.metadata["abstained"] is answer.abstained
    assert str(asyncio.run(engine.aquery(question))) == str(response)
    narrow = CitingQueryEngine(filled, filters=above("n", 2), how="hybrid").query(question)
    assert {span[0] for one in narrow.source_nodes for span in one.metadata["monograph_spans"]} <= {"d3"}


def test_llama_index_tools_pass_the_question_on_unchanged(grown: Monograph) -> None:
    """Trap 6: the framework's own retriever tool would put words around the question."""
    tools = {one.metadata.name: one for one in MonographToolSpec(grown).to_tool_list()}
    assert set(tools) == {"search", "read", "outline", "entity", "paths", "stats"}
    found = json.loads(tools["search"](query="comet plates", k=1).content)
    assert found["hits"][0]["citation"]["document"] == "d2"
    assert found["hits"][0]["score"] == grown.search("comet plates", 1)[0].relevance
    way = json.loads(asyncio.run(tools["paths"].acall(name="Mrs Grubb", other="Peter Okafor")).content)["paths"][0]
    assert way["entities"] == ["Mrs Grubb", "Tobias Renk", "Anna Calder", "Peter Okafor"]


def test_llama_index_reader_returns_whole_documents(filled: Monograph) -> None:
    documents = MonographReader(filled).load_data()
    assert [one.id_ for one in documents] == ["d0", "d1", "d2", "d3"]
    assert documents[0].text == filled.document("d0").text
    assert documents[1].metadata == {"monograph_title": "Letter 1", "monograph_uri": "/l/1", "n": 1}
    assert [one.id_ for one in MonographReader(filled.path).load_data(["/l/3"])] == ["d3"]
    assert len(asyncio.run(MonographReader(filled.path).aload_data())) == 4
    with pytest.raises(NotFound):
        MonographReader(filled).load_data(["nothing"])


class Shortest(BaseNodePostprocessor):
    """Likes what is short, keeps so many, and tells scores or not."""

    keeps: int = 30
    tells: bool = True

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        assert query_bundle is not None and query_bundle.query_str == QUESTION
        ordered = sorted(nodes, key=lambda one: len(one.text))[: self.keeps]
        return [NodeWithScore(node=one.node, score=-float(len(one.text)) if self.tells else None) for one in ordered]


@pytest.fixture
def uneven(monograph: Monograph) -> Monograph:
    return of_different_lengths(monograph)


def test_llama_index_reranker_ranks_a_files_hits(uneven: Monograph) -> None:
    reranker = LlamaIndexReranker(Shortest(), "shortest", 1e7)
    assert isinstance(reranker, Reranker)
    found = uneven.search(QUESTION, 5, "lexical", reranker=reranker)
    scores = [next(one.score for one in hit.origins if one.retriever == "rerank") for hit in found]
    assert scores == sorted(scores, reverse=True) and scores[0] > scores[-1]


@pytest.mark.parametrize("model", [Shortest(keeps=2), Shortest(tells=False)])
def test_llama_index_reranker_that_drops_hits_is_refused(uneven: Monograph, model: Shortest) -> None:
    with pytest.raises(ModelUnavailable, match="llama-index/some") as caught:
        uneven.search(QUESTION, 5, reranker=LlamaIndexReranker(model, "some"))
    assert "top_n=30" in caught.value.hint


@pytest.mark.parametrize(
    ("kind", "how"), [(HybridRetriever, "auto"), (MiniRAGRetriever, "graph"), (TreeRetriever, "tree")]
)
def test_llama_index_retrievers_accept_a_reranker(uneven: Monograph, kind: type, how: str) -> None:
    reranker = LlamaIndexReranker(Shortest(), "shortest")
    found = kind(uneven, similarity_top_k=3, reranker=reranker).retrieve(QUESTION)
    assert [one.text for one in found] == [hit.text for hit in uneven.search(QUESTION, 3, how, reranker=reranker)]
    assert all("rerank #" in one.explanation for one in found)
    assert all("rerank" not in one.explanation for one in kind(uneven).retrieve(QUESTION))


def test_citing_engine_uses_its_reranker(uneven: Monograph) -> None:
    reranker = LlamaIndexReranker(Shortest(), "shortest")
    answer = CitingQueryEngine(uneven, reranker=reranker).query(QUESTION)
    assert str(answer) == uneven.ask(QUESTION, reranker=reranker).text
