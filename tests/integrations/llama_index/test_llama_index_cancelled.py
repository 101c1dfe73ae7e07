"""Asynchronous calls of LlamaIndex's classes, cancelled at every await."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")

from llama_index.core.base.response.schema import AsyncStreamingResponse

from llama_index.query_engine.monograph import CitingQueryEngine
from llama_index.retrievers.monograph import HybridRetriever
from monograph import Document, Monograph
from support.answering import Whole
from support.cancelling import cancel_at_every_await


async def streamed(engine: CitingQueryEngine) -> str:
    answer = await engine.aquery("Who wrote the letters?")
    assert isinstance(answer, AsyncStreamingResponse)
    return "".join([piece async for piece in answer.async_response_gen()])


@pytest.mark.long
def test_cancelled_queries_leave_the_file_usable(tmp_path: Path) -> None:
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
