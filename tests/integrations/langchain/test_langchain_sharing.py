"""LangChain: one file in many hands, what is deleted from all of it, what is written down and read back."""

from __future__ import annotations

import asyncio
import copy
import os
import pickle
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="the extra langchain is not installed")

from langchain_core.documents import Document
from langchain_core.load import dumpd, dumps, loads
from langchain_core.prompts import ChatPromptTemplate

from langchain_monograph import (
    EcoVectorStore,
    EraRAGRetriever,
    HybridRetriever,
    MiniRAGRetriever,
    MonographLoader,
    MonographToolkit,
    SCRCompressor,
    TreeRetriever,
)
from langchain_monograph.retrievers import FileRetriever
from monograph import Hybrid, Monograph, RankAware, strategy
from monograph.derive.loading import load_extractor, load_summarizer
from monograph.errors import ClosedFile, InputError, InvalidDocument, ModelUntrusted, NotAMonograph, WrongKey
from monograph.shelf import whole_file
from monograph.vectors.stop import choose_stop
from support.cancelling import cancel_at_every_await
from support.contents import assert_deletion_leaves_no_trace
from support.letter_corpus import FACTS, STRANGERS
from support.secrets import KEY, SECRET, assert_not_pickled, long_traces

pytestmark = pytest.mark.filterwarnings("ignore:The function `loads` is in beta")

RETRIEVERS = [HybridRetriever, MiniRAGRetriever, TreeRetriever, EraRAGRetriever]


def documents(texts: list[str], kind: str) -> list[Document]:
    return [Document(id=f"{kind}/{n}", page_content=text, metadata={"kind": kind}) for n, text in enumerate(texts)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "shared.mono"
    with Monograph.open(made, summarizer=load_summarizer("extractive")) as monograph:
        EcoVectorStore(monograph).add_documents(documents(FACTS, "kept"))
    return made


@pytest.fixture
def opened(path: Path) -> Iterator[Monograph]:
    with Monograph.open(path) as monograph:
        yield monograph


DELETIONS: dict[str, Callable[[EcoVectorStore, EraRAGRetriever], Any]] = {
    "by ids": lambda store, _: store.delete(["gone/0", "gone/1"]),
    "by a filter": lambda store, _: store.delete(filter={"kind": "gone"}),
    "by a function": lambda store, _: store.delete(filter=lambda one: one.metadata["kind"] == "gone"),
    "asynchronously": lambda store, _: asyncio.run(store.adelete(["gone/1", "gone/0"])),
    "by the retriever": lambda _, retriever: retriever.delete(["gone/0", "gone/1"]),
}


@pytest.mark.parametrize("way", DELETIONS)
def test_langchain_deletion_removes_from_every_index(opened: Monograph, way: str) -> None:
    store, retriever = EcoVectorStore(opened), EraRAGRetriever(monograph=opened)
    assert_deletion_leaves_no_trace(
        opened,
        lambda: retriever.add_documents(documents(STRANGERS, "gone")),
        lambda: DELETIONS[way](store, retriever),
    )


def test_two_stores_and_a_retriever_of_one_path_see_each_others_writes(path: Path) -> None:
    one, other = EcoVectorStore(path), EcoVectorStore(path)
    retriever = EraRAGRetriever(monograph=path, detail=1.0)
    one.add_texts(["The lighthouse of Zadar was painted."], ids=["a"])
    other.add_texts(["The lighthouse of Split was not."], ids=["b"])
    retriever.add_documents([Document(id="c", page_content="A third lighthouse stands in Bari.")])
    for store in (one, other):
        assert {found.id for found in store.similarity_search("lighthouse", k=9, how="lexical")} == {"a", "b", "c"}
    assert {found.id for found in retriever.invoke("lighthouse", k=3)} == {"a", "b", "c"}
    other.delete(["a", "b", "c"])
    assert one.similarity_search("lighthouse", how="lexical") == []
    retriever.close()
    other.close()
    assert whole_file(one.monograph, "check", "check").check() == []
    one.close()


@pytest.mark.parametrize("kind", RETRIEVERS)
def test_retriever_of_a_path_finds_the_same_and_opens_again(
    kind: type[FileRetriever], path: Path, opened: Monograph, tmp_path: Path
) -> None:
    by_path = kind(monograph=path, k=2)
    assert by_path.invoke("the comet plates") == kind(monograph=opened, k=2).invoke("the comet plates")
    by_path.close()
    assert asyncio.run(by_path.ainvoke("the comet plates"))  # opened again
    by_path.close()
    with pytest.raises(NotAMonograph, match="does not exist"):
        kind(monograph=tmp_path / "missing.mono").invoke("x")
    assert not (tmp_path / "missing.mono").exists()


def test_langchain_retriever_answers_in_a_forked_process(path: Path) -> None:
    retriever = HybridRetriever(monograph=path, how="lexical", k=1)
    retriever.invoke("lathe")
    child = os.fork()
    if child == 0:
        os._exit(0 if [one.id for one in retriever.invoke("lathe")] == ["kept/3"] else 3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert retriever.invoke("lathe")[0].id == "kept/3"
    retriever.close()


def test_langchain_components_refuse_a_closed_file(opened: Monograph) -> None:
    store = EcoVectorStore(opened)
    search = MonographToolkit(monograph=opened).get_tools()[0]
    some = [Document(page_content="The lathe is red. It is heavy.")]
    opened.close()
    uses: list[Callable[[], object]] = [
        lambda: store.add_texts(["x"]),
        lambda: store.delete(["x"]),
        lambda: store.get_by_ids(["x"]),
        lambda: asyncio.run(store.asimilarity_search("x")),
        lambda: EraRAGRetriever(monograph=opened).add_documents(some),
        lambda: MonographLoader(opened).load(),
        lambda: SCRCompressor(monograph=opened).compress_documents(some, "x"),
        *(partial(kind(monograph=opened).invoke, "x") for kind in RETRIEVERS),
    ]
    for use in uses:
        with pytest.raises(ClosedFile):
            use()
    assert "closed" in search.invoke({"query": "x"})


def read_back(text: str, kind: type, **options: Any) -> Any:
    return loads(text, allowed_objects=[kind], valid_namespaces=["langchain_monograph"], **options)


@pytest.mark.parametrize("kind", RETRIEVERS)
def test_langchain_retrievers_are_serialized_with_their_path(kind: type[FileRetriever], opened: Monograph) -> None:
    settings: dict[str, Any] = {"k": 2, "filter": {"kind": "kept"}, "tags": ["letters"]}
    retriever = kind(monograph=opened, **settings)
    again = read_back(dumps(retriever), kind)
    assert type(again) is kind
    assert again.monograph == opened.path.absolute()
    assert {name: getattr(again, name) for name in settings} == settings
    assert again.invoke("who got the comet plates?") == retriever.invoke("who got the comet plates?")
    again.close()


def test_langchain_retriever_options_are_serialized(opened: Monograph) -> None:
    again = read_back(dumps(HybridRetriever(monograph=opened, how=Hybrid(alpha=0.25))), HybridRetriever)
    assert again.how == "hybrid:alpha=0.25"
    assert strategy(again.how) == Hybrid(alpha=0.25)
    assert read_back(dumps(MiniRAGRetriever(monograph=opened, faithful=True)), MiniRAGRetriever).faithful is True
    tree = read_back(dumps(TreeRetriever(monograph=opened, detail=0.0, budget=99)), TreeRetriever)
    assert (tree.detail, tree.budget) == (0.0, 99)
    stops = read_back(dumps(HybridRetriever(monograph=opened, stop=RankAware(window=3))), HybridRetriever)
    assert choose_stop(stops.stop, None) == RankAware(window=3)


def test_deserialized_compressor_reduces_the_same(opened: Monograph) -> None:
    compressor, question = SCRCompressor(monograph=opened, cut=0.6), "who got the comet plates?"
    given = HybridRetriever(monograph=opened).invoke(question)
    with read_back(dumps(compressor), SCRCompressor) as again:
        assert again.cut == 0.6
        assert again.compress_documents(given, question) == compressor.compress_documents(given, question)


def test_serialization_names_unsupported_parts(opened: Monograph) -> None:
    chain = {"x": HybridRetriever(monograph=opened, k=1)} | ChatPromptTemplate.from_template("{x}")
    assert str(opened.path) in dumps(chain)
    assert "not_implemented" not in dumps(chain)
    for one in (EcoVectorStore(opened), MonographToolkit(monograph=opened).get_tools()[0]):
        with pytest.raises(NotImplementedError, match="doesn't implement serialization"):
            loads(dumps(one), allowed_objects="core")


def test_langchain_documents_are_serialized_and_other_metadata_refused(opened: Monograph) -> None:
    metadata = {"ü": [1, None, 2.5, {"deep": True}], "empty": {}}
    store = EcoVectorStore(opened)
    store.add_documents([Document(id="json", page_content="An odd one out.", metadata=metadata)])
    for found in (store.get_by_ids(["json"]), HybridRetriever(monograph=opened).invoke("an odd one out")):
        assert loads(dumps(found), allowed_objects=[Document]) == found
    for wrong in ({"bytes": b"x"}, {"object": object()}, {"nan": float("nan")}):
        with pytest.raises(InvalidDocument, match="metadata"):
            EraRAGRetriever(monograph=opened).add_documents([Document(page_content="x", metadata=wrong)])
    endless: dict[str, Any] = {}
    endless["self"] = endless
    with pytest.raises(InvalidDocument):
        store.add_texts(["x"], [endless])


def test_langchain_store_of_a_received_file_asks_no_server(tmp_path: Path, server: Any) -> None:
    path = tmp_path / "received.mono"
    spec = f"llm:openai:{server.url}#x"
    with Monograph.open(path, extractor=load_extractor(spec), summarizer=load_summarizer(spec)) as theirs:
        EcoVectorStore(theirs).add_texts(["A shared archive about Anna Karenina."])
    calls = server.calls
    store = EcoVectorStore(path)
    with pytest.raises(ModelUntrusted, match="trusted="):
        store.add_texts(["My PIN is 4411, says Anna Mercer."])
    assert len(store.similarity_search("Anna", k=9)) == 1
    store.close()
    with Monograph.open(path) as opened:
        opened.graph.rebuild(load_extractor("pattern"))
    retriever = EraRAGRetriever(monograph=path)
    with pytest.warns(RuntimeWarning, match="the tree of summaries was not updated.*trusted="):
        retriever.add_documents(documents([f"PIN {n} is Anna Mercer's." for n in range(30)], "private"))
    with pytest.warns(RuntimeWarning, match="the tree of summaries was not updated.*trusted="):
        retriever.delete(["private/0"])
    retriever.close()
    assert server.calls == calls
    with Monograph.open(path, trusted=[server.url]) as opened:
        EcoVectorStore(opened).add_texts(["My PIN is 4411, says Anna Mercer."])
    assert server.calls > calls


@pytest.mark.parametrize("owned", [True, False])
def test_langchain_store_is_pickled_and_copied(path: Path, owned: bool) -> None:
    with Monograph.open(path) as monograph:
        store = EcoVectorStore(path if owned else monograph, how="hybrid")
        expected = store.similarity_search_with_score("where was the lathe?", k=3)
        again = pickle.loads(pickle.dumps(store))
        assert again.monograph is not store.monograph
        for made in (copy.copy(store), copy.deepcopy(store), again):
            assert made.similarity_search_with_score("where was the lathe?", k=3) == expected
            made.close()
        with pytest.raises(ClosedFile):
            again.similarity_search("x")
        retriever = store.as_retriever(search_kwargs={"k": 3})
        for other in (copy.deepcopy(retriever), pickle.loads(pickle.dumps(retriever))):
            assert other.invoke("where was the lathe?") == [document for document, _ in expected]
        assert isinstance(other.vectorstore, EcoVectorStore)
        other.vectorstore.close()
        assert store.similarity_search_with_score("where was the lathe?", k=3) == expected
        store.close()
        assert len(monograph.documents()) == len(FACTS)


@pytest.mark.parametrize("kind", RETRIEVERS)
def test_langchain_retrievers_are_pickled_and_copied(path: Path, opened: Monograph, kind: type[FileRetriever]) -> None:
    for given in (path, opened):
        retriever = kind(monograph=given, k=2)
        expected = retriever.invoke("where was the lathe?")
        assert expected
        for made in (copy.deepcopy(retriever), pickle.loads(pickle.dumps(retriever))):
            assert made.invoke("where was the lathe?") == expected
            made.close()
        assert retriever.invoke("where was the lathe?") == expected
        retriever.close()


@pytest.mark.long
def test_cancelled_calls_leave_a_whole_file(tmp_path: Path) -> None:
    pages = [Document(id=f"d{n}", page_content=f"The lighthouse keeper wrote letter {n}.") for n in range(3)]
    with EcoVectorStore(str(tmp_path / "x.mono")) as store:
        retriever = HybridRetriever(monograph=store.monograph, k=2)
        times = [
            cancel_at_every_await(lambda: store.aadd_documents(pages)),
            cancel_at_every_await(lambda: store.asimilarity_search("lighthouse", k=2)),
            cancel_at_every_await(lambda: store.amax_marginal_relevance_search("lighthouse", k=2)),
            cancel_at_every_await(lambda: retriever.ainvoke("lighthouse")),
            cancel_at_every_await(lambda: store.adelete(["d0"])),
        ]
        assert min(times) > 0
        assert whole_file(store.monograph, "check", "check").check() == []
        assert sorted(one.id for one in store.monograph.documents()) == ["d1", "d2"]
        store.add_documents(pages[:1])
        assert len(store.similarity_search("lighthouse", k=5)) == 3


@pytest.mark.long
def test_langchain_components_open_an_encrypted_file(tmp_path: Path) -> None:
    pytest.importorskip("sqlcipher3.dbapi2", reason="the extra encrypt is not installed")
    path = tmp_path / "chain.mono"
    with EcoVectorStore(path, key=KEY) as store:
        store.add_texts(["Anna Calder saw the comet.", SECRET], ids=["a", "b"])
    assert long_traces(path) == []
    for kind in (*RETRIEVERS, SCRCompressor):
        with kind(monograph=path, key=KEY) as component:
            forms = (repr(component), component, dumps(component), dumpd(component), component.model_dump())
            assert KEY not in "".join(map(str, forms))
            with read_back(dumps(component), kind, secrets_map={"MONOGRAPH_KEY": KEY}) as again:
                assert again.key.get_secret_value() == KEY
                if kind is HybridRetriever:
                    assert component.invoke("comet", k=1)[0].id == again.invoke("comet", k=1)[0].id == "a"
    assert "MONOGRAPH_KEY" not in dumps(HybridRetriever(monograph=tmp_path / "plain.mono"))
    with pytest.raises(WrongKey):
        HybridRetriever(monograph=path, key="another").invoke("comet")  # type: ignore[arg-type]
    store, loader = EcoVectorStore(path, key=KEY), MonographLoader(path, key=KEY)
    retriever = HybridRetriever(monograph=path, key=KEY)  # type: ignore[arg-type]
    assert_not_pickled([store, loader, retriever, SCRCompressor(monograph=path, key=KEY)])  # type: ignore[arg-type]
    with copy.deepcopy(retriever) as again:
        found = copy.deepcopy(store).similarity_search("comet", k=1)
        assert found[0].id == again.invoke("comet", k=1)[0].id == "a"
    assert len(loader.load()) == len(copy.deepcopy(loader).load()) == 2
    store.close()
    kinds: list[Callable[..., Any]] = [EcoVectorStore, HybridRetriever]
    with Monograph.open(path, key=KEY) as opened:
        for make in kinds:
            with pytest.raises(InputError, match="a key was given, but the file is already open"):
                make(monograph=opened, key=KEY)
