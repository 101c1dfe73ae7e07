"""Built later, the graph and the trigrams are those of a file where they were built with the documents."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Document, Hit, Monograph, Settings
from monograph.derive.loading import load_extractor
from monograph.errors import InputError, InvalidDocument
from monograph.search.strategies import NOT_MADE
from monograph.values import Cost
from monograph.write import rebuild_graph
from monograph.write.changes import Tally
from support.contents import compacted_contents, documents_without_graph
from support.drawn_documents import DIMENSION, documents, some_documents
from support.forks import run
from support.model_server import ModelServer
from support.models import HashEmbedder
from support.paths import TESTS
from support.properties import examples

QUESTIONS = ("Who met Anna Calder in Vienna?", "comet plate", "Who signed the NST?")


def opened(path: Path, *, later: bool, paid: bool = False) -> Monograph:
    settings = Settings(chunk_tokens=16, chunk_overlap=0, graph=not later)
    return Monograph.open(path, HashEmbedder(DIMENSION) if paid else None, settings=settings)


def answers(monograph: Monograph, how: str) -> list[Hit]:
    """Hits without what it took to find them."""
    hits = [hit for text in QUESTIONS for hit in monograph.search(text, 4, how)]
    return [replace(hit, origins=tuple(replace(one, effort=None) for one in hit.origins)) for hit in hits]


NAMES = st.sampled_from([f"d{place}" for place in range(6)])
STEPS = st.one_of(
    st.tuples(st.just("add"), st.lists(documents(NAMES, own=True, with_vectors=False), min_size=1, max_size=4)),
    st.tuples(st.just("remove"), st.lists(NAMES, min_size=1, max_size=3, unique=True)),
    st.tuples(st.just("compact"), st.none()),
    st.tuples(st.sampled_from(["build", "some of the graph", "some trigrams"]), st.none()),
)


def do(monograph: Monograph, kind: str, what: list[Any] | None) -> None:
    if kind == "add":
        with suppress(InvalidDocument):
            monograph.add({one.id: one for one in what or ()}.values())
    elif kind == "remove":
        held = {one.id for one in monograph.documents()}
        monograph.remove([one for one in what or () if one in held])
    elif kind == "compact":
        monograph.compact()


def make(monograph: Monograph, kind: str) -> None:
    """Build some of what is lacking, or all of it."""
    if kind == "build":
        monograph.graph.build()
    elif kind == "some of the graph":
        pipeline = monograph._file.writing_pipeline()
        rebuild_graph.make(
            pipeline, next(rebuild_graph.iterate_incomplete(pipeline.database, "graph"), [])[::2], Tally()
        )
    elif kind == "some trigrams":
        database = monograph._file.database
        rebuild_graph.index_trigrams(database, next(rebuild_graph.iterate_incomplete(database, "trigrams"), [])[1:])


@pytest.mark.long
@pytest.mark.timeout(1_800)
@settings(max_examples=examples(60))
@given(steps=st.lists(STEPS, min_size=1, max_size=8), paid=st.booleans())
def test_graph_built_later_equals_graph_built_with_documents(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, list[Any] | None]], paid: bool
) -> None:
    folder = tmp_path_factory.mktemp("later")
    with (
        opened(folder / "later.mono", later=True, paid=paid) as later,
        opened(folder / "once.mono", later=False, paid=paid) as once,
    ):
        for kind, what in steps:
            do(once, kind, what)
            do(later, kind, what)
            make(later, kind)
            assert later.check() == []
            assert answers(later, "hybrid") == answers(once, "hybrid")
        later.graph.build()
        for how in ("graph", "tfidf", "auto", "graph:faithful=true"):
            assert answers(later, how) == answers(once, how), how
        assert later.stats().has_graph
        assert compacted_contents(later) == compacted_contents(once)
        assert later.check() == []


def test_auto_search_notes_a_missing_graph(tmp_path: Path) -> None:
    with opened(tmp_path / "x.mono", later=True) as monograph:
        monograph.add(some_documents(12))
        found = answers(monograph, "auto")
        assert [replace(hit, note="") for hit in found] == answers(monograph, "hybrid")
        assert {hit.note for hit in found} == {NOT_MADE}
        assert found[0].explain().endswith(f" · {NOT_MADE}")
        assert monograph.stats().entities == 0
        assert not monograph.stats().has_graph
        assert not monograph.settings.graph
        monograph.graph.build()
        assert monograph.stats().has_graph
        assert monograph.settings.graph
        assert {hit.note for hit in answers(monograph, "auto")} == {""}
        monograph.add(some_documents(3, 12))
        assert documents_without_graph(monograph) == (0, 0)
        assert monograph.check() == []


@pytest.mark.parametrize(
    "how", ["graph", *(pytest.param(how, marks=pytest.mark.long) for how in ("graph:faithful=true", "tfidf"))]
)
@pytest.mark.parametrize("read_only", [False, pytest.param(True, marks=pytest.mark.long)])
def test_graph_search_without_a_graph_names_the_build_command(tmp_path: Path, how: str, *, read_only: bool) -> None:
    path = tmp_path / "x.mono"
    with opened(path, later=True) as monograph:
        monograph.add(some_documents(5))
        chunks = len({one.chunk.text for one in monograph.fetch()})
    with Monograph.open(path, read_only=read_only) as reader:
        with pytest.raises(InputError, match="has no graph") as told:
            reader.search("Anna Calder", 3, how)
        assert "archive.graph.build()" in told.value.hint
        assert f"monograph build {path}" in told.value.hint
        with pytest.raises(InputError, match="has no graph"):
            reader.graph.entities()
        with pytest.raises(InputError, match="has no graph"):
            reader.within({"a": 1}).search("Anna Calder", 3, how)
        assert reader.search("Anna Calder", 3)
        assert not reader.stats().has_graph
    assert json.loads(run("build", path, "--dry-run", "--json"))["extractions"] == chunks
    assert "no graph; to build it: monograph build" in " ".join(run("stats", path).split())
    assert json.loads(run("build", path, "--json"))["extracted"] == chunks
    with Monograph.open(path, read_only=True) as reader:
        assert reader.search("Anna Calder", 3, how)


def test_plan_of_a_file_without_graph_prices_no_extraction(tmp_path: Path, folder: Path, server: ModelServer) -> None:
    (folder / "new.txt").write_text("Anna Calder met John Smith in Vienna.", "utf-8")
    extractor = load_extractor(f"llm:openai:{server.url}#scripted")
    with Monograph.open(tmp_path / "x.mono", extractor=extractor, settings=Settings(graph=False)) as monograph:
        monograph.add(some_documents(4))
        plan = monograph.files.plan(folder)
        assert plan.cost is not None
        assert (plan.cost.extractions, plan.cost.model_calls) == (0, 0)
        monograph.files.apply(plan)
        assert server.calls == 0
        price = monograph.graph.price()
        assert (price.documents, price.extractions, price.model_calls) == (5, 5, 5)
        assert price.model_tokens > 0
        report = monograph.graph.build()
        assert (report.extracted, server.calls) == (5, 5)
        assert monograph.graph.price() == Cost()


def test_existing_file_keeps_its_graph_setting(tmp_path: Path) -> None:
    path = tmp_path / "x.mono"
    opened(path, later=False).close()
    with opened(path, later=True) as monograph:
        monograph.add(some_documents(3))
        assert monograph.settings.graph
        assert monograph.stats().has_graph
        assert monograph.stats().entities > 0


@pytest.mark.long
def test_graph_build_beside_writers_gives_the_whole_graph(tmp_path: Path) -> None:
    path, whole = tmp_path / "x.mono", tmp_path / "once.mono"
    with opened(path, later=True) as monograph:
        monograph.add(some_documents(60))
    build = f"""
from monograph import Monograph
from monograph.write import rebuild_graph
rebuild_graph.DOCUMENTS_AT_ONCE = 5
Monograph.open({str(path)!r}).graph.build()
"""
    change = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
from monograph import Monograph
from support.drawn_documents import some_documents
with Monograph.open({str(path)!r}) as monograph:
    for place in range(40):
        monograph.add(some_documents(2, 20 + 2 * place))
        monograph.remove([f"n{{place % 20}}"] if place < 20 else [])
"""
    children = [subprocess.Popen([sys.executable, "-c", one]) for one in (build, build, change)]
    assert [child.wait() for child in children] == [0, 0, 0]
    with Monograph.open(path) as monograph, opened(whole, later=False) as once:
        monograph.graph.build()
        once.add(some_documents(80, 20))
        assert monograph.stats().has_graph
        assert compacted_contents(monograph) == compacted_contents(once)
        assert monograph.check() == []


def test_repair_does_not_build_the_graph(tmp_path: Path) -> None:
    path = tmp_path / "x.mono"
    with opened(path, later=True) as monograph:
        monograph.add(some_documents(10))
        with monograph._file.database.write() as connection:
            connection.execute("DELETE FROM words_docsize WHERE id = 3")
        assert monograph.check() != []
        assert monograph.check(repair=True) == []
        assert documents_without_graph(monograph) == (10, 10)
        assert not monograph.stats().has_graph
        monograph.graph.build()
        with opened(tmp_path / "once.mono", later=False) as once:
            once.add(some_documents(10))
            assert compacted_contents(monograph) == compacted_contents(once)


def test_forgetting_in_a_half_built_graph_leaves_no_bytes(tmp_path: Path) -> None:
    path = tmp_path / "x.mono"
    with opened(path, later=True) as monograph:
        monograph.add([*some_documents(6), Document("The password is Xylophone Quartz.", id="secret")])
        rebuild_graph.index_trigrams(monograph._file.database, [4, 5, 6, 7])
        monograph.remove(["secret", "n1", "n5"], forget=True)
        assert monograph.check() == []
        assert documents_without_graph(monograph) == (4, 2)
    held = b"".join(one.read_bytes() for one in tmp_path.glob("x.mono*")).lower()
    assert b"xylophone" not in held
    assert b"xyl" not in held


@pytest.fixture(params=["langchain", "llama_index"])
def framework(request: pytest.FixtureRequest) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """A framework's vector store, graph store, and search of a file along the graph."""
    if request.param == "langchain":
        pytest.importorskip("langchain_core")
        import langchain_monograph as langchain

        store = langchain.EcoVectorStore
        graph_store = partial(store, how="graph")
        return store, graph_store, lambda one: langchain.MiniRAGRetriever(monograph=one).invoke("Anna Calder")
    pytest.importorskip("llama_index.core")
    from llama_index.graph_stores.monograph import MonographPropertyGraphStore
    from llama_index.retrievers.monograph import MiniRAGRetriever
    from llama_index.vector_stores.monograph import EcoVectorStore

    return (
        EcoVectorStore,
        MonographPropertyGraphStore,
        lambda one: MiniRAGRetriever(one).retrieve("Anna Calder"),
    )


def test_graph_components_build_the_graph(tmp_path: Path, framework: Sequence[Callable[..., Any]]) -> None:
    store, graph_store, search = framework
    with opened(tmp_path / "x.mono", later=True) as monograph:
        monograph.add(some_documents(5))
        store(monograph)
        assert not monograph.settings.graph
        assert search(monograph)
        assert monograph.settings.graph
        assert documents_without_graph(monograph) == (0, 0)
    store(tmp_path / "new.mono").close()
    graph_store(tmp_path / "graph.mono").close()
    for name, graph in (("new.mono", False), ("graph.mono", True)):
        with Monograph.open(tmp_path / name) as monograph:
            assert monograph.settings.graph is graph
