"""The LlamaIndex retriever."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")

from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode, NodeRelationship

from llama_index.retrievers.monograph import HybridRetriever
from monograph import Document, Monograph
from monograph.errors import InvalidFilter


@pytest.fixture
def filled(monograph: Monograph) -> Iterator[Monograph]:
    words = ["anvil", "bellows", "chisel", "drill", "engine"]
    monograph.add(
        Document(
            f"The {word} stands in hall {n}.",
            id=f"doc/{n}",
            title=f"Hall {n}",
            uri=f"/halls/{n}",
            metadata={"hall": n, "tags": ["a", word]},
        )
        for n, word in enumerate(words)
    )
    yield monograph


def test_nodes_are_hits(filled: Monograph) -> None:
    nodes = HybridRetriever(filled, similarity_top_k=3).retrieve("where is the chisel?")
    hits = filled.search("where is the chisel?", 3)
    assert [node.node_id for node in nodes] == [hit.chunk.id for hit in hits]
    assert [node.score for node in nodes] == [hit.score for hit in hits]
    first = nodes[0].node
    assert first.get_content() == "The chisel stands in hall 2."
    assert first.metadata["hall"] == 2
    assert first.metadata["tags"] == ["a", "chisel"]
    assert first.metadata["monograph_uri"] == "/halls/2"
    assert first.relationships[NodeRelationship.SOURCE].node_id == "doc/2"
    assert (first.start_char_idx, first.end_char_idx) == (0, 28)  # type: ignore[attr-defined]
    assert "monograph_" not in first.get_content(MetadataMode.LLM)
    assert "monograph_" not in first.get_content(MetadataMode.EMBED)


def test_asking_asynchronously_gives_the_same(filled: Monograph) -> None:
    retriever = HybridRetriever(filled, mode="dense")

    async def ask() -> list[list[str]]:
        found = await asyncio.gather(*(retriever.aretrieve("engine and drill") for _ in range(6)))
        return [[node.node_id for node in nodes] for nodes in found]

    alone = [node.node_id for node in retriever.retrieve("engine and drill")]
    assert asyncio.run(ask()) == [alone] * 6


def test_many_threads(filled: Monograph) -> None:
    retriever = HybridRetriever(filled)
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: [node.node_id for node in retriever.retrieve("bellows")], range(24)))
    assert found == [found[0]] * 24


def test_filters_hold(filled: Monograph) -> None:
    retriever = HybridRetriever(filled, where={"hall": {">=": 3}})
    assert {node.metadata["hall"] for node in retriever.retrieve("the anvil stands")} == {3, 4}
    with pytest.raises(InvalidFilter):
        HybridRetriever(filled, where={"hall": {"~": 3}}).retrieve("x")


def test_events_fire(filled: Monograph) -> None:
    debug = LlamaDebugHandler(print_trace_on_end=False)
    HybridRetriever(filled, callback_manager=CallbackManager([debug])).retrieve("anvil")
    assert len(debug.get_event_pairs(CBEventType.RETRIEVE)) == 1


def test_a_query_engine_without_a_model(filled: Monograph) -> None:
    from llama_index.core import Settings
    from llama_index.core.llms import MockLLM

    Settings.llm = MockLLM()
    engine = RetrieverQueryEngine.from_args(HybridRetriever(filled), response_mode="no_text")  # type: ignore[arg-type]
    assert engine.query("where is the drill?").source_nodes[0].metadata["hall"] == 3


def test_without_the_framework_the_error_names_the_extra() -> None:
    code = "import sys; sys.modules['llama_index.core'] = None\nimport llama_index.retrievers.monograph"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingExtra" in done.stderr
    assert 'pip install "monograph[llama-index]"' in done.stderr
