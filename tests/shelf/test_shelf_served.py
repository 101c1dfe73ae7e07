"""A shelf in the place of a file: served over HTTP, to agents, and to the frameworks' components."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from monograph import Document, Monograph
from monograph.errors import InputError, NotFound
from monograph.shelf import Shelf, build
from support.api_server import Client, serving

TEXTS = {
    "letters/1": "Mrs Grubb wrote to Tobias Renk about the boiler in Salzburg.",
    "letters/2": "Tobias Renk met Anna Calder in Vienna. Anna Calder brought the comet plates.",
    "letters/3": "Anna Calder gave the plates to Peter Okafor in Berlin.",
    "letters/4": "Lentils are boiled with bay and a burnt onion.",
}
DOCUMENTS = [
    Document(text, id=name, title=f"Letter {number}", uri=f"/{name}", metadata={"number": number})
    for number, (name, text) in enumerate(TEXTS.items())
]
QUESTION = "who brought the comet plates?"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a shelf of three shards lies; what of it is kept on this machine is kept beside it."""
    folder = tmp_path_factory.mktemp("shelf")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("HOME", str(folder / "home"))
        address = str(folder / "letters")
        build(address, DOCUMENTS, shards=3)
        yield address


@pytest.fixture(scope="module")
def shelf(url: str) -> Iterator[Shelf]:
    with Shelf.open(url) as opened:
        yield opened


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monograph]:
    """One file of the same documents."""
    with Monograph.open(tmp_path_factory.mktemp("file") / "file.mono") as opened:
        opened.add(DOCUMENTS)
        yield opened


def without(value: Any, *names: str) -> Any:
    """A value of JSON without what may differ: how long it took, and how many clusters were looked through."""
    if isinstance(value, Mapping):
        return {key: without(one, *names) for key, one in value.items() if key not in names}
    return [without(one, *names) for one in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def client(shelf: Shelf, file: Monograph) -> Iterator[Client]:
    pytest.importorskip("fastapi", reason="the extra serve is not installed")
    with serving({"letters": shelf, "file": file}, write=True) as made:
        yield made


DIFFERENT = ("effort", "seconds", "file")


def test_served_shelf_answers_as_one_file(client: Client, shelf: Shelf, file: Monograph) -> None:
    for path, given in (("/search", {"q": QUESTION}), ("/context", {"q": QUESTION}), ("/ask", {"q": QUESTION})):
        found, wanted = (client.get(path, file=name, **given) for name in ("letters", "file"))
        assert (found.status, wanted.status) == (200, 200), found.body
        assert without(found.json, *DIFFERENT) == without(wanted.json, *DIFFERENT)
    assert [one["file"] for one in client.get("/search", q=QUESTION).json["files"]] == ["letters", "file"]
    said = client.post("/chat", q="And where?", history=[{"question": QUESTION, "answer": "Anna Calder"}])
    assert said.status == 200
    assert client.stream("/ask", q=QUESTION).events[-1][0] == "answer"
    (first, _) = client.get("/settings").json["files"]
    assert (first["name"], first["path"], first["documents"], first["has_tree"]) == ("letters", shelf.url, 4, False)
    assert client.get("/stats").json["documents_by_shard"] == list(shelf.stats().documents_by_shard)
    assert client.get("/check").json == []
    assert client.get("/document", id="letters/2").json["text"] == TEXTS["letters/2"]
    assert client.get("/document/text", id="/letters/2", q=QUESTION).json["characters"] == len(TEXTS["letters/2"])
    assert client.get("/document", id="letters/9").status == 404
    assert client.get("/document/summaries", id="letters/1").json == []
    found, wanted = (client.get("/chunk", id=file.chunks("letters/2")[0].id, file=name) for name in ("letters", "file"))
    assert (found.status, found.body) == (200, wanted.body)
    assert client.get("/chunk", id="0", file="letters").status == 404


@pytest.mark.parametrize(
    ("path", "given"),
    [
        ("/documents", {}),
        ("/documents", {"like": "3", "limit": 1}),
        ("/documents", {"start": 1, "limit": 2}),
        ("/document/chunks", {"id": "letters/1"}),
        ("/document/names", {"id": "letters/1"}),
        ("/entities", {"why": True}),
        ("/neighbourhood", {"name": "Anna Calder", "hops": 2}),
        ("/routes", {"name": "Anna Calder", "other": "Tobias Renk"}),
        ("/picture", {"q": QUESTION}),
        ("/picture/data", {"name": "Anna Calder"}),
    ],
)
def test_served_shelf_is_explored_as_one_file(client: Client, path: str, given: dict[str, Any]) -> None:
    found, expected = (client.get(path, file=name, **given) for name in ("letters", "file"))
    assert (found.status, found.body) == (200, expected.body)


FILES, TREE = "files or folders of its own", "tree of summaries"


@pytest.mark.parametrize(
    ("path", "given", "feature"),
    [
        ("/document/source", {"id": "letters/1"}, FILES),
        ("/document/original", {"id": "letters/1"}, FILES),
        ("/document/page", {"id": "letters/1"}, FILES),
        ("/document/boxes", {"id": "letters/1", "start": 0, "end": 1}, FILES),
        ("/sources", {}, FILES),
        ("/failures", {}, FILES),
        ("/outline", {}, TREE),
        ("/summary", {"id": "ffff"}, TREE),
        ("/costs", {"file": "letters"}, "ledger of costs"),
    ],
)
def test_served_shelf_refuses_operations_of_a_single_file(
    client: Client, path: str, given: dict[str, Any], feature: str
) -> None:
    reply = client.get(path, **given)
    assert (reply.status, reply.json["kind"]) == (400, "NotOnShelf")
    assert f"is a shelf, which has no {feature}" in reply.json["error"]


@pytest.mark.parametrize(
    ("path", "given"),
    [
        ("/sync", {"sources": ["."]}),
        ("/plan", {"sources": ["."]}),
        ("/retry", {}),
        ("/remove", {"ids": ["letters/1"]}),
        ("/names/apart", {"name": "Renk", "other": "Tobias Renk"}),
    ],
)
def test_served_shelf_refuses_writes(client: Client, path: str, given: dict[str, Any]) -> None:
    reply = client.post(path, **given)
    assert (reply.status, reply.json["kind"]) == (403, "NotWritable")
    assert "monograph shelf build" in reply.json["hint"]


def test_agents_search_and_read_a_shelf(shelf: Shelf, file: Monograph) -> None:
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    from mcp import Client as Agent

    from monograph_mcp import make_server

    async def asked(server: Any, *calls: tuple[str, dict[str, Any]]) -> tuple[list[str], list[Any], list[Any]]:
        async with Agent(server) as agent:
            names = [one.name for one in (await agent.list_tools()).tools]
            resources = list((await agent.list_resources()).resources)
            return names, [await agent.call_tool(name, given) for name, given in calls], resources

    calls = (
        ("search", {"query": QUESTION}), ("read", {"document": "letters/2"}), ("entity", {"name": "Anna Calder"}),
        ("paths", {"name": "Anna Calder", "other": "Tobias Renk"}), ("read", {"document": "nothing"}),
    )  # fmt: skip
    names, replies, resources = asyncio.run(asked(make_server(shelf), *calls, ("stats", {})))
    _, wanted, listed = asyncio.run(asked(make_server(file), *calls))
    assert names == ["search", "read", "entity", "paths", "stats"]
    assert resources == listed != []
    assert [one.is_error for one in replies] == [False, False, False, False, True, False]
    for reply, same in zip(replies[:4], wanted[:4], strict=True):
        assert reply.structured_content == same.structured_content
    assert shelf.url not in replies[4].content[0].text
    told = replies[5].structured_content
    assert (told["documents"], told["characters"], told["has_tree"]) == (4, None, False)
    with pytest.raises(InputError, match="which agents can only read"):
        make_server(shelf, notes=True)


def test_langchain_components_read_a_shelf(url: str, shelf: Shelf, file: Monograph) -> None:
    pytest.importorskip("langchain_core", reason="the extra langchain is not installed")
    from langchain_core.documents import Document as Passage
    from langchain_core.load import dumps, loads

    import langchain_monograph

    for kind in (langchain_monograph.HybridRetriever, langchain_monograph.MiniRAGRetriever):
        wanted = kind(monograph=file).invoke(QUESTION)
        for given in (shelf, url):
            retriever = kind(monograph=given)
            found = retriever.invoke(QUESTION)
            assert [one.id for one in found] == [one.id for one in wanted] != []
            reduced = langchain_monograph.SCRCompressor(monograph=given).compress_documents(found, QUESTION)
            assert "brought the comet plates" in reduced[0].page_content
            again = loads(dumps(retriever), valid_namespaces=["langchain_monograph"], allowed_objects=[kind])
            assert [one.id for one in again.invoke(QUESTION, k=1)] == [wanted[0].id]
            again.close()
            retriever.close()
    with pytest.raises(InputError, match="no tree"):
        langchain_monograph.TreeRetriever(monograph=shelf).invoke(QUESTION)
    with pytest.raises(InputError, match="is a shelf, which has no collections"):
        langchain_monograph.HybridRetriever(monograph=shelf, collection="nobody").invoke(QUESTION)
    with pytest.raises(InputError, match="monograph shelf build"):
        langchain_monograph.EraRAGRetriever(monograph=shelf).add_documents([Passage("text")])
    assert [one.name for one in langchain_monograph.MonographToolkit(monograph=shelf).get_tools()] == [
        "search", "read", "entity", "paths", "stats",
    ]  # fmt: skip
    assert [one.id for one in langchain_monograph.MonographLoader(url, ["/letters/3"]).load()] == ["letters/3"]
    assert langchain_monograph.MonographLoader(shelf).load() == langchain_monograph.MonographLoader(file).load()
    store, same = langchain_monograph.EcoVectorStore(shelf), langchain_monograph.EcoVectorStore(file)
    for filtered in (None, {"number": {">=": 2}}):
        scored, wished = (one.similarity_search_with_score(QUESTION, filter=filtered) for one in (store, same))
        assert [one.id for one, _ in scored] == [one.id for one, _ in wished] != []
        assert [score for _, score in scored] == pytest.approx([score for _, score in wished])
    vector = shelf.embedder.embed([QUESTION], "query")[0].tolist()
    assert store.similarity_search_by_vector(vector, 1)[0].id == store.similarity_search(QUESTION, 1)[0].id
    refused: list[Any] = [
        lambda: store.add_texts(["text"]),
        lambda: store.delete(["letters/1"]),
    ]
    for work in refused:
        with pytest.raises(InputError, match="is a shelf"):
            work()
    asked = [one.chunk.id for one in file.fetch()]
    assert store.get_by_ids(asked) == same.get_by_ids(asked)
    assert store.max_marginal_relevance_search(QUESTION, 3) == same.max_marginal_relevance_search(QUESTION, 3) != []


def test_langchain_graph_retriever_walks_over_a_shelf(shelf: Shelf, file: Monograph) -> None:
    pytest.importorskip("graph_retriever", reason="langchain-graph-retriever is not installed")
    from langchain_graph_retriever import GraphRetriever

    from langchain_monograph import EcoVectorStore
    from langchain_monograph.graph_adapter import ENTITIES, MonographAdapter

    found, expected = (
        GraphRetriever(
            store=MonographAdapter(EcoVectorStore(one), entities=True), edges=[(ENTITIES, ENTITIES)], start_k=1, k=4
        ).invoke(QUESTION)
        for one in (shelf, file)
    )
    assert [(one.id, one.metadata[ENTITIES]) for one in found] == [(one.id, one.metadata[ENTITIES]) for one in expected]
    assert len(found) > 1


def test_llama_index_components_read_a_shelf(url: str, shelf: Shelf, file: Monograph, tmp_path: Path) -> None:
    pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
    from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode

    from llama_index.indices.monograph import EraRAGIndex
    from llama_index.postprocessor.monograph import SCRPostprocessor
    from llama_index.query_engine.monograph import CitingQueryEngine
    from llama_index.readers.monograph import MonographReader
    from llama_index.retrievers.monograph import HybridRetriever, MiniRAGRetriever, TreeRetriever
    from llama_index.tools.monograph import MonographToolSpec
    from llama_index.vector_stores.monograph import EcoVectorStore

    for kind in (HybridRetriever, MiniRAGRetriever):
        wanted = [(one.node_id, one.score) for one in kind(file).retrieve(QUESTION)]
        for given in (shelf, url):
            retriever = kind(given)
            assert [(one.node_id, one.score) for one in retriever.retrieve(QUESTION)] == wanted != []
            retriever.close()
    again = pickle.loads(pickle.dumps(HybridRetriever(url)._file))
    assert again.monograph.search(QUESTION, 1)
    again.close()
    with pytest.raises(InputError, match="no tree"):
        TreeRetriever(shelf).retrieve(QUESTION)
    with pytest.raises(InputError, match="has no key"):
        HybridRetriever(url, key="secret")
    with pytest.raises(InputError, match="is a shelf, which has no collections"):
        EcoVectorStore(shelf, collection="nobody")
    assert str(CitingQueryEngine(shelf).query(QUESTION)) == str(CitingQueryEngine(file).query(QUESTION))
    nodes = [NodeWithScore(node=TextNode(text=text), score=1.0) for text in TEXTS.values()]
    cut, other = (SCRPostprocessor(one).postprocess_nodes(nodes, QueryBundle(QUESTION)) for one in (shelf, file))
    assert [one.node.get_content() for one in cut] == [one.node.get_content() for one in other] != []
    assert MonographToolSpec(shelf).spec_functions == ["search", "read", "entity", "paths", "stats"]
    assert [one.id_ for one in MonographReader(shelf).load_data(["letters/3"])] == ["letters/3"]
    store, same = EcoVectorStore(url), EcoVectorStore(file)
    for mode in (
        VectorStoreQueryMode.DEFAULT,
        VectorStoreQueryMode.TEXT_SEARCH,
        VectorStoreQueryMode.HYBRID,
        VectorStoreQueryMode.MMR,
    ):
        query = VectorStoreQuery(query_str=QUESTION, mode=mode, similarity_top_k=2)
        found, expected = store.query(query), same.query(query)
        assert found.ids == expected.ids
        assert found.similarities == pytest.approx(expected.similarities)
    refused: list[Any] = [
        lambda: store.add([TextNode(text="text")]),
        lambda: store.delete("letters/1"),
        lambda: store.delete_nodes(["letters/1"]),
        store.clear,
        lambda: EraRAGIndex([], monograph=shelf),
    ]
    for work in refused:
        with pytest.raises(InputError, match="is a shelf"):
            work()
    stored, others = store.get_nodes(), same.get_nodes()
    assert sorted(stored, key=lambda one: one.node_id) == sorted(others, key=lambda one: one.node_id) != []
    assert [one.ref_doc_id for one in stored] == sorted(str(one.ref_doc_id) for one in stored)
    store.close()


def test_llama_index_graph_store_reads_a_shelf(shelf: Shelf, file: Monograph) -> None:
    pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")
    from llama_index.core.graph_stores.types import EntityNode
    from llama_index.core.schema import TextNode

    from llama_index.graph_stores.monograph import MonographPropertyGraphStore

    chunks = [one.chunk.id for one in file.fetch()]
    store, same = MonographPropertyGraphStore(shelf), MonographPropertyGraphStore(file)
    for ids in (None, [chunks[1]], ["Ada"]):
        found, expected = (sorted(one.get(ids=ids), key=lambda node: node.id) for one in (store, same))
        assert found == expected
    assert store.get_triplets(["Anna Calder"]) == same.get_triplets(["Anna Calder"])
    assert store.get_schema() == same.get_schema()
    assert store.get_llama_nodes(chunks) == same.get_llama_nodes(chunks) != []
    refused: list[Any] = [
        lambda: store.upsert_nodes([EntityNode(name="Tobias")]),
        lambda: store.upsert_llama_nodes([TextNode(text="text")]),
        lambda: store.delete(["Ada"]),
        lambda: store.delete_llama_nodes(["Ada"]),
    ]
    for work in refused:
        with pytest.raises(InputError, match="is a shelf"):
            work()


def test_a_shelf_is_copied_and_pickled(shelf: Shelf) -> None:
    assert copy.copy(shelf) is copy.deepcopy(shelf) is shelf
    with pickle.loads(pickle.dumps(shelf)) as again:
        assert (again.url, again.version) == (shelf.url, shelf.version)
        assert [one.chunk.id for one in again.search(QUESTION)] == [one.chunk.id for one in shelf.search(QUESTION)]
        with pytest.raises(NotFound):
            again.document("nothing")


def test_serve_command_opens_a_shelf(url: str) -> None:
    pytest.importorskip("fastapi", reason="the extra serve is not installed")
    from monograph.app.opening import opened_archive
    from monograph.app.serve.served import names_of

    assert names_of(["notes.mono", url, "s3://bucket/notes", "notes.v2.mono"]) == [
        "notes",
        "letters",
        "notes 2",
        "notes.v2",
    ]
    with opened_archive(url, create=True, read_only=False) as opened:
        assert json.loads(json.dumps(opened.document("letters/1").text)) == TEXTS["letters/1"]
