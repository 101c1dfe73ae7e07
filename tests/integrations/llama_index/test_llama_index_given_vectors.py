"""LlamaIndex's components over files whose vectors were given to them."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")

from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode

from llama_index.embeddings.monograph import LlamaIndexEmbedder, MonographEmbedding
from llama_index.postprocessor.monograph import SCRPostprocessor
from llama_index.query_engine.monograph import CitingQueryEngine
from llama_index.retrievers.monograph import HybridRetriever, MiniRAGRetriever
from llama_index.vector_stores.monograph import EcoVectorStore
from monograph import Document, Monograph
from monograph.derive.embed.static import StaticEmbedder
from monograph.errors import InputError, ModelMismatch
from support.llama_index_values import TextEmbedding

WORDS = ("anvil", "bellows", "chisel")


class ByWord(TextEmbedding):
    """A dimension a word."""

    @classmethod
    def class_name(cls) -> str:
        return "ByWord"

    def _get_text_embedding(self, text: str) -> list[float]:
        return [float(word in text) for word in WORDS]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with given vectors, and no graph."""
    made = tmp_path / "given.mono"
    nodes = [TextNode(text=f"Here is the {word}.", id_=word) for word in WORDS]
    for node in nodes:
        node.embedding = ByWord().get_text_embedding(node.text)
    with EcoVectorStore(made) as store:
        store.add(nodes)
    return made


def test_windows_over_given_vectors_need_a_model(path: Path) -> None:
    text = "The anvil is old. The bellows are new. The chisel is blunt."
    nodes = [NodeWithScore(node=TextNode(text=text))]
    sizes: dict[str, Any] = {"window": 1, "overlap": 0, "context": 0}
    with SCRPostprocessor(path, mode="windows", **sizes) as postprocessor:
        with pytest.raises(InputError, match="windows need vectors, and 'given/3' computes none") as caught:
            postprocessor.postprocess_nodes(nodes, query_str="the bellows")
        assert "embed_model=" in caught.value.hint
    with SCRPostprocessor(path, mode="windows", embed_model=ByWord(), **sizes) as postprocessor:
        for one in (postprocessor, copy.deepcopy(postprocessor), pickle.loads(pickle.dumps(postprocessor))):
            (made,) = one.postprocess_nodes(nodes, query_str="the bellows")
            assert made.get_content() == "The bellows are new."
            one.close()


@pytest.mark.parametrize("how", ["dense", "hybrid", "auto"])
def test_llama_index_retriever_searches_given_vectors(path: Path, how: str) -> None:
    with HybridRetriever(path, how=how) as retriever:
        found = retriever.retrieve(QueryBundle("x", embedding=[0.0, 0.0, 1.0]))
        assert found[0].node_id == "chisel"
        with pytest.raises(InputError, match="the query has no vector") as caught:
            retriever.retrieve("the bellows")
        assert "3 values" in caught.value.hint
        assert "embed_model=" in caught.value.hint
    with HybridRetriever(path, how=how, embed_model=ByWord()) as retriever:
        assert retriever.retrieve("the bellows")[0].node_id == "bellows"
    with Monograph.open(path) as archive:
        assert HybridRetriever(archive, how=how, embed_model=ByWord()).retrieve("the anvil")[0].node_id == "anvil"


def test_citing_query_engine_searches_given_vectors(path: Path) -> None:
    with CitingQueryEngine(path, embed_model=ByWord(), how="dense") as engine:
        assert [one.node_id for one in engine.query("the bellows").source_nodes][:1] == ["bellows"]
    with CitingQueryEngine(path, how="dense") as engine:
        response = engine.query(QueryBundle("the bellows", embedding=[0.0, 1.0, 0.0]))
        assert [one.node_id for one in response.source_nodes][:1] == ["bellows"]
        with pytest.raises(InputError, match="the query has no vector"):
            engine.query("the bellows")


def test_lexical_retriever_needs_no_vector(path: Path) -> None:
    with HybridRetriever(path, how="lexical") as retriever:
        assert retriever.retrieve("the bellows here")[0].node_id == "bellows"


def test_llama_index_store_refuses_a_query_without_a_vector(path: Path) -> None:
    with EcoVectorStore(path) as store:
        for mode in (VectorStoreQueryMode.DEFAULT, VectorStoreQueryMode.HYBRID, VectorStoreQueryMode.MMR):
            with pytest.raises(InputError, match="the query has no vector"):
                store.query(VectorStoreQuery(query_str="the bellows", mode=mode))


def test_embedding_of_a_file_with_given_vectors_is_refused(path: Path) -> None:
    with Monograph.open(path) as archive, pytest.raises(InputError, match="were given, 3 values each") as caught:
        MonographEmbedding(archive.embedder)
    assert "Settings.embed_model" in caught.value.hint


def test_retriever_takes_the_model_that_built_the_file(tmp_path: Path) -> None:
    with Monograph.open(tmp_path / "own.mono", LlamaIndexEmbedder(ByWord(), dimension=3)) as archive:
        archive.add(Document(f"Here is the {word}.", id=word) for word in WORDS)
        with pytest.raises(ModelMismatch, match="was built with 'llama-index/ByWord"):
            HybridRetriever(archive, embed_model=MonographEmbedding(StaticEmbedder()))
    with HybridRetriever(archive.path, how="dense", embed_model=ByWord()) as retriever:
        assert retriever.retrieve("the chisel")[0].node.ref_doc_id == "chisel"


def test_graph_retriever_builds_the_graph_of_a_file_that_a_store_made(tmp_path: Path) -> None:
    made = tmp_path / "store.mono"
    with EcoVectorStore(made) as store:
        store.add(
            [TextNode(text="Tobias Renk met Anna Calder.", id_="met"), TextNode(text="A red lathe.", id_="lathe")]
        )
        assert not store.client.settings.graph
    with MiniRAGRetriever(made, similarity_top_k=1) as retriever:
        assert [one.node_id for one in retriever.retrieve("whom did Tobias Renk meet?")] == ["met"]


def test_graph_retriever_over_given_vectors_builds_the_graph(path: Path) -> None:
    with MiniRAGRetriever(path, embed_model=ByWord(), similarity_top_k=1) as retriever:
        assert [one.node_id for one in retriever.retrieve("the chisel")] == ["chisel"]


class Reversed(TextEmbedding):
    """Another model without a name of its own."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return [float(word in text) for word in reversed(WORDS)]


class Rotated(Reversed):
    """A third one."""


def test_different_models_of_llama_index_have_different_keys(tmp_path: Path) -> None:
    models = (LlamaIndexEmbedder(Reversed()), LlamaIndexEmbedder(Rotated()), LlamaIndexEmbedder(Rotated(), "other"))
    assert len({one.key for one in models}) == 3
    with Monograph.open(tmp_path / "x.mono", models[0]) as archive:
        archive.add([Document("Here is the anvil.", id="anvil")])
    for other in models[1:]:
        with pytest.raises(ModelMismatch):
            Monograph.open(tmp_path / "x.mono", other)
