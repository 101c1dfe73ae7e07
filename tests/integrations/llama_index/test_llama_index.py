"""The LlamaIndex retriever."""

from __future__ import annotations

import asyncio
import importlib
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, get_ident
from typing import Any

import pytest

from support.event_loops import note_threads
from support.paths import ROOT

pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")

from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.schema import MetadataMode, NodeWithScore, TextNode

from llama_index.graph_stores.monograph import MonographPropertyGraphStore
from llama_index.postprocessor.monograph import SCRPostprocessor
from llama_index.query_engine.monograph import CitingQueryEngine
from llama_index.readers.monograph import MonographReader
from llama_index.retrievers.monograph import HybridRetriever, MiniRAGRetriever, TreeRetriever
from llama_index.tools.monograph import MonographToolSpec
from llama_index.vector_stores.monograph import EcoVectorStore, HitNode
from monograph import Document, Monograph
from monograph.errors import InputError, InvalidFilter, NotAMonograph
from support.llama_index_values import above

SPACE = ROOT / "integrations" / "llama_index" / "llama_index"


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


def test_llama_index_nodes_equal_the_hits(filled: Monograph) -> None:
    nodes = HybridRetriever(filled, similarity_top_k=3).retrieve("where is the chisel?")
    hits = filled.search("where is the chisel?", 3)
    assert [node.node_id for node in nodes] == [hit.chunk.id for hit in hits]
    assert [node.score for node in nodes] == [hit.relevance for hit in hits]
    assert [node.own_score for node in nodes if isinstance(node, HitNode)] == [hit.score for hit in hits]
    first = nodes[0].node
    assert first.get_content() == "The chisel stands in hall 2."
    assert first.metadata["hall"] == 2
    assert first.metadata["tags"] == ["a", "chisel"]
    assert first.metadata["monograph_uri"] == "/halls/2"
    assert first.source_node is not None
    assert first.source_node.node_id == "doc/2"
    assert (first.start_char_idx, first.end_char_idx) == (0, 28)  # type: ignore[attr-defined]
    assert "monograph_" not in first.get_content(MetadataMode.LLM)
    assert "monograph_" not in first.get_content(MetadataMode.EMBED)


@pytest.mark.parametrize("how", ["auto", "graph", "lexical", "tfidf", "dense", "hybrid"])
def test_similarity_cutoff_keeps_relevant_nodes(filled: Monograph, how: str) -> None:
    retriever = HybridRetriever(filled, how=how, similarity_top_k=8)
    for cutoff in (0.0, 0.2, 0.5, 0.8):
        kept = SimilarityPostprocessor(similarity_cutoff=cutoff).postprocess_nodes(
            retriever.retrieve("the chisel in hall 2")
        )
        hits = filled.search("the chisel in hall 2", 8, how)
        assert [one.node_id for one in kept] == [hit.chunk.id for hit in hits if hit.relevance >= cutoff]
        assert [one.score for one in kept] == [hit.relevance for hit in hits if hit.relevance >= cutoff]
        assert kept


def test_llama_index_node_metadata_take_precedence(monograph: Monograph) -> None:
    own = {"monograph_title": "mine", "title": "also mine", "nested": {"a": [1, None, 2.5]}, "flag": True}
    monograph.add([Document("The anvil.", id="doc", title="ours", metadata=own)])
    (found,) = HybridRetriever(monograph).retrieve("anvil")
    assert {key: found.metadata[key] for key in own} == own
    assert isinstance(found, HitNode)
    assert found.explanation == monograph.search("anvil")[0].explain()


def test_changing_a_returned_node_changes_no_later_result(filled: Monograph) -> None:
    retriever = HybridRetriever(filled, similarity_top_k=1)
    first = retriever.retrieve("chisel")[0].node
    first.metadata["tags"].append("spoilt")
    assert retriever.retrieve("chisel")[0].metadata["tags"] == ["a", "chisel"]


def test_llama_index_retriever_does_not_block_the_event_loop(
    filled: Monograph, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = note_threads(monkeypatch, HybridRetriever, "_retrieve")
    retriever = HybridRetriever(filled, how="dense")

    async def ask() -> None:
        found = await asyncio.gather(*(retriever.aretrieve("engine and drill") for _ in range(6)))
        alone = retriever.retrieve("engine and drill")  # where a loop runs already, as in a notebook
        assert alone
        assert found == [alone] * 6

    asyncio.run(ask())
    assert [thread == get_ident() for thread in threads] == [False] * 6 + [True]


def test_llama_index_retriever_applies_its_filter_and_top_k(filled: Monograph) -> None:
    retriever = HybridRetriever(filled, filters=above("hall", 2))
    assert {node.metadata["hall"] for node in retriever.retrieve("the anvil stands")} == {3, 4}
    retriever.similarity_top_k = 1
    assert retriever.similarity_top_k == len(retriever.retrieve("the hall")) == 1
    with pytest.raises(InputError, match="similarity_top_k is 0"):
        retriever.similarity_top_k = 0
    with pytest.raises(InvalidFilter, match="must be MetadataFilters, not dict"):
        HybridRetriever(filled, filters={"hall": {">=": 3}})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="where"):
        HybridRetriever(filled, where={"hall": {">=": 3}})  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("kind", "named", "said"),
    [
        (HybridRetriever, {"similarity_top_k": 0}, "similarity_top_k is 0"),
        (HybridRetriever, {"how": "grpah"}, "unknown search mode 'grpah'"),
        (TreeRetriever, {"detail": 2.0}, "detail is 2"),
        (CitingQueryEngine, {"how": "grpah"}, "unknown search mode 'grpah'"),
    ],
)
def test_llama_index_components_refuse_wrong_values_when_made(
    filled: Monograph, kind: type, named: dict[str, object], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        kind(filled, **named)


def test_llama_index_components_read_a_path_an_archive_and_a_store_alike(filled: Monograph) -> None:
    filled.tree.rebuild()
    question = "where is the chisel?"
    node = NodeWithScore(node=TextNode(text="The chisel is here. The drill is there.", id_="n"), score=1.0)
    replies: dict[type, Callable[[Any], object]] = {
        HybridRetriever: lambda made: [one.node_id for one in made.retrieve(question)],
        MiniRAGRetriever: lambda made: [one.node_id for one in made.retrieve(question)],
        TreeRetriever: lambda made: [one.node_id for one in made.retrieve(question)],
        SCRPostprocessor: lambda made: [one.text for one in made.postprocess_nodes([node], query_str=question)],
        CitingQueryEngine: lambda made: str(made.query(question)),
        MonographToolSpec: lambda made: made.to_tool_list(["search"])[0].call(query=question).content,
        EcoVectorStore: lambda made: sorted(one.node_id for one in made.get_nodes()),
    }
    stores = (EcoVectorStore(filled), MonographPropertyGraphStore(filled))
    for kind, reply in replies.items():
        expected = reply(kind(filled))
        assert expected
        for given in (filled.path, str(filled.path), *stores):
            with kind(given) as made:
                assert reply(made) == expected
    for store in stores:
        assert len(MonographReader(store).load_data()) == 5
    with pytest.raises(InputError, match="a list is not an archive"):
        HybridRetriever([])  # type: ignore[arg-type]


def test_llama_index_retriever_opens_its_path_at_the_first_query(filled: Monograph) -> None:
    retriever = HybridRetriever(filled.path)
    (found,) = HybridRetriever(str(filled.path), similarity_top_k=1).retrieve("chisel")
    assert found.metadata["hall"] == 2
    started = Barrier(6)

    def ask(_: int) -> list[str]:
        started.wait()
        return [node.node_id for node in retriever.retrieve("bellows")]

    with ThreadPoolExecutor(6) as pool:
        assert len({tuple(ids) for ids in pool.map(ask, range(6))}) == 1
    filled.add([Document("Two bellows more.", id="later")])
    assert "later" in {node.node.ref_doc_id for node in retriever.retrieve("bellows")}
    retriever.close()
    retriever.close()
    assert retriever.retrieve("bellows")
    retriever.close()


def test_llama_index_retriever_neither_creates_nor_changes_its_file(filled: Monograph, tmp_path: Path) -> None:
    retriever = HybridRetriever(tmp_path / "missing.mono")
    with pytest.raises(NotAMonograph, match=r"missing\.mono does not exist"):
        retriever.retrieve("anvil")
    assert not (tmp_path / "missing.mono").exists()
    HybridRetriever(filled).close()
    assert filled.search("anvil")  # It is not the retriever's to close.
    filled.close()
    before = filled.path.read_bytes()
    retriever = HybridRetriever(filled.path)
    assert retriever.retrieve("anvil")
    retriever.close()
    assert filled.path.read_bytes() == before


def test_llama_index_callbacks_see_a_retrieval(filled: Monograph) -> None:
    debug = LlamaDebugHandler(print_trace_on_end=False)
    HybridRetriever(filled, callback_manager=CallbackManager([debug])).retrieve("anvil")
    assert len(debug.get_event_pairs(CBEventType.RETRIEVE)) == 1


def test_llama_index_namespaces_have_no_init_module() -> None:
    for name in ("llama_index", *(f"llama_index.{path.parent.name}" for path in SPACE.glob("*/monograph"))):
        assert getattr(importlib.import_module(name), "__file__", None) is None, name


def test_llamahub_metadata_match_the_classes() -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["llamahub"]
    assert told["contains_example"] is True
    assert (ROOT / "examples" / "03_llama_index.py").exists()
    packages = {
        path.parent.name: importlib.import_module(f"llama_index.{path.parent.name}.monograph")
        for path in SPACE.glob("*/monograph")
    }
    assert told["import_path"] in {package.__name__ for package in packages.values()}
    components = {
        name: getattr(package, name)
        for package in packages.values()
        for name in package.__all__
        if getattr(package, name).__module__.startswith(package.__name__)
    }
    theirs = {
        name
        for name, component in components.items()
        if any(base.__module__.startswith("llama_index.core") for base in component.__mro__)
    }
    assert set(told["class_authors"]) == theirs - {"AnswerEvent", "HitNode", "ReductionEvent", "SearchEvent"}
    assert set(told["class_authors"].values()) == {"monograph"}
