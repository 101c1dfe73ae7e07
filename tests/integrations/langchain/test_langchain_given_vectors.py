"""LangChain over files whose vectors were given, and over paths, archives and stores alike."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="the extra langchain is not installed")

import numpy as np
from langchain_core import documents
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings

from langchain_monograph import (
    EcoVectorStore,
    HybridRetriever,
    LangChainEmbedder,
    MiniRAGRetriever,
    MonographEmbeddings,
    MonographToolkit,
    SCRCompressor,
)
from monograph import Document, Monograph, Passage
from monograph.errors import InputError

TEXTS = {"comet": "The comet was seen at noon.", "lamp": "Ines Okafor lit the lamp."}
MODEL = DeterministicFakeEmbedding(size=6)


@pytest.fixture
def given(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "given.mono"
    vectors = {name: np.asarray(MODEL.embed_query(text), dtype=np.float32) for name, text in TEXTS.items()}
    with Monograph.open(path) as monograph:
        monograph.put(
            Document(id=name, passages=(Passage(text, name, {}, vectors[name]),)) for name, text in TEXTS.items()
        )
    yield path


@pytest.mark.parametrize("how", ["dense", "hybrid"])
def test_langchain_retriever_searches_given_vectors_with_its_embedding(given: Path, how: str) -> None:
    with HybridRetriever(monograph=given, how=how, embedding=MODEL, k=1) as retriever:
        assert [one.id for one in retriever.invoke(TEXTS["lamp"])] == ["lamp"]
    with Monograph.open(given) as archive:
        assert HybridRetriever(monograph=archive, how=how, embedding=MODEL).invoke(TEXTS["comet"])[0].id == "comet"
        with pytest.raises(InputError, match="pass embedding="):
            HybridRetriever(monograph=archive, how=how).invoke(TEXTS["lamp"])
        with pytest.raises(InputError, match="pass embedding="):
            EcoVectorStore(archive, how=how).as_retriever().invoke(TEXTS["lamp"])
        assert HybridRetriever(monograph=archive, how="lexical").invoke("lamp")[0].id == "lamp"


def test_langchain_embeddings_of_given_vectors_are_refused(given: Path) -> None:
    with Monograph.open(given) as archive:
        with pytest.raises(InputError, match="pass the model that made them as embedding="):
            MonographEmbeddings(archive.embedder)
        store = EcoVectorStore(archive)
        assert store.embeddings is None
        assert store.similarity_search_by_vector(MODEL.embed_query(TEXTS["lamp"]), k=1)[0].id == "lamp"
        with pytest.raises(InputError, match="pass embedding="):
            store.max_marginal_relevance_search("lamp")


def test_windows_over_given_vectors_need_an_embedding(given: Path) -> None:
    found = [documents.Document(page_content=" ".join(TEXTS.values()))]
    sizes: dict[str, Any] = {"mode": "windows", "window": 1, "overlap": 0, "context": 0}
    with SCRCompressor(monograph=given, **sizes) as compressor:
        with pytest.raises(InputError, match="windows need vectors") as caught:
            compressor.compress_documents(found, TEXTS["lamp"])
        assert "embedding=" in caught.value.hint
    with SCRCompressor(monograph=given, embedding=MODEL, **sizes) as compressor:
        assert compressor.compress_documents(found, TEXTS["lamp"])[0].page_content == TEXTS["lamp"]


def test_langchain_retriever_opens_a_path_with_the_embedding_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "theirs.mono"
    with EcoVectorStore(path, MODEL) as store:
        store.add_texts(list(TEXTS.values()), ids=list(TEXTS))
    with HybridRetriever(monograph=path, how="dense", embedding=MODEL, k=1) as retriever:
        assert [one.id for one in retriever.invoke(TEXTS["lamp"])] == ["lamp"]


def test_langchain_components_take_paths_archives_and_stores(tmp_path: Path) -> None:
    path = tmp_path / "alike.mono"
    with EcoVectorStore(path) as store:
        store.add_texts([*TEXTS.values(), "Ines Okafor saw the comet."], ids=[*TEXTS, "both"])
    with MiniRAGRetriever(monograph=path, k=1) as retriever:  # builds the graph that the store did not
        assert retriever.invoke("who lit the lamp?")[0].id == "lamp"
    with EcoVectorStore(path) as store:
        for monograph in (path, str(path), store.monograph, store):
            found = HybridRetriever(monograph=monograph, how="lexical").invoke("lamp")
            assert [one.id for one in found] == ["lamp"]
            assert SCRCompressor(monograph=monograph).compress_documents(found, "lamp")
            with MonographToolkit(monograph=monograph) as toolkit:
                assert "Okafor" in toolkit.get_tools()[0].invoke({"query": "lamp"})
    with pytest.raises(InputError, match="not an archive"):
        HybridRetriever(monograph=3)  # type: ignore[arg-type]


def test_keys_of_langchain_embedders_name_the_model(tmp_path: Path) -> None:
    class Own(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [self.embed_query(text) for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return [1.0, 0.0]

    class Named(Own):
        def __init__(self, model: Any) -> None:
            self.model = model

    class Cached(Own):
        """As ``CacheBackedEmbeddings``, which keeps the model in this attribute."""

        def __init__(self, underlying: Embeddings) -> None:
            self.underlying_embeddings = underlying

    keys = [LangChainEmbedder(one).key for one in (Named("a"), Named("b"), Cached(Named("a")), Cached(Cached(Own())))]
    assert keys == ["langchain/Named/a", "langchain/Named/b", "langchain/Named/a", LangChainEmbedder(Own()).key]
    assert LangChainEmbedder(Own()).key.endswith(".Own")
    # A loaded model in place of a name says where it is in memory, which is another place each time.
    assert LangChainEmbedder(Named(object())).key == LangChainEmbedder(Named(object())).key
    classic = pytest.importorskip("langchain_classic.embeddings", reason="langchain-classic is not installed")
    cache = pytest.importorskip("langchain_classic.storage").LocalFileStore(tmp_path)
    cached = classic.CacheBackedEmbeddings.from_bytes_store(Named("a"), cache, key_encoder="sha256")
    assert LangChainEmbedder(cached).key == "langchain/Named/a"
