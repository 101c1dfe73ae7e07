"""Asynchronous calls of LangChain's classes, cancelled at every await."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("langchain_core", reason="langchain-core is not installed")

from langchain_core.documents import Document

from langchain_monograph import EcoVectorStore, HybridRetriever
from monograph.shelf import whole_file
from support.cancelling import cancel_at_every_await


@pytest.mark.long
def test_cancelled_calls_leave_a_whole_file(tmp_path: Path) -> None:
    documents = [Document(id=f"d{n}", page_content=f"The lighthouse keeper wrote letter {n}.") for n in range(3)]
    with EcoVectorStore(str(tmp_path / "x.mono")) as store:
        retriever = HybridRetriever(monograph=store.monograph, k=2)
        times = [
            cancel_at_every_await(lambda: store.aadd_documents(documents)),
            cancel_at_every_await(lambda: store.asimilarity_search("lighthouse", k=2)),
            cancel_at_every_await(lambda: store.amax_marginal_relevance_search("lighthouse", k=2)),
            cancel_at_every_await(lambda: retriever.ainvoke("lighthouse")),
            cancel_at_every_await(lambda: store.adelete(["d0"])),
        ]
        assert min(times) > 0
        assert whole_file(store.monograph, "check", "check").check() == []
        assert sorted(one.id for one in store.monograph.documents()) == ["d1", "d2"]
        store.add_documents(documents[:1])
        assert len(store.similarity_search("lighthouse", k=5)) == 3
