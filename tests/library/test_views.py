"""Views: what is in one is all that is seen through it, and what is written through it stays in it."""

from __future__ import annotations

import copy
import json
import pickle
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Document, Hit, Monograph, Passage, Reader, Settings, Snapshot, Tree, View
from monograph.derive.summarize.extractive import ExtractiveSummarizer
from monograph.errors import (
    ClosedFile,
    InputError,
    InvalidFilter,
    MonographError,
    NotFound,
    OutsideView,
    SourceMissing,
)
from monograph.library.files import Files
from monograph.library.graph import EntityGraph, GraphReader, GraphWriter
from monograph.library.monograph import Vectors
from monograph.library.original_files import OriginalFiles
from monograph.library.tree import SummaryTree, TreeReader
from monograph.models import Completion
from monograph.shelf import to_write, whole_file
from monograph.store.file.view import _OPEN
from monograph.store.words import postings
from monograph.values import AssertedNode, AssertedRelation, Place, Section
from support import raw_sql
from support.models import CapitalExtractor, HashEmbedder
from support.properties import examples

ANN = {"owner": "ann"}

WORKS = {
    "Monograph": {
        "add", "as_of", "ask", "brief", "chunks", "close", "context", "document", "documents", "embedder", "export", "fetch", "files",
        "generation", "graph", "listed", "missing_keys", "path", "put", "reduce", "remove", "remove_chunks", "search",
        "settings", "stats", "stream", "tree", "view", "within",
    },
    "Files": {"open_original", "original", "pages"},
    "EntityGraph": {
        "entities", "extractor", "merges", "neighbourhood", "of_document", "on_paths", "routes", "to_graphml",
        "to_networkx", "add", "assertions", "nearest_assertions", "remove",
    },
    "SummaryTree": {"outline", "over", "summarizer", "summary"},
    "Vectors": set(),
}  # fmt: skip
"""What a view does."""

WRITES = {"Monograph": {"add", "put", "remove", "remove_chunks"}, "EntityGraph": {"add", "remove"}}
"""What a view does and a snapshot does not."""

WHOLE = {
    "Monograph": {
        "backup", "check", "compact", "costs", "forget_versions", "open", "price", "sync", "vectors", "versions",
    },
    "Files": {
        "always_forget", "apply", "move", "plan", "receive", "remove", "retry", "sources", "sync", "take", "take_over",
        "watch",
    },
    "EntityGraph": {"build", "price", "rebuild", "keep_apart", "unite"},
    "SummaryTree": {"price", "rebuild"},
    "Vectors": {"price", "rebuild"},
}  # fmt: skip
"""What is done to whole files only."""


class Echo:
    """A model that says what it was asked: whatever it is shown comes out."""

    key = "echo"

    def complete(self, prompt: str, max_tokens: int) -> Completion:
        return Completion(prompt, 1, 1)


def parts_of(archive: Reader) -> dict[str, object]:
    return {"Monograph": archive, "Files": archive.files, "EntityGraph": archive.graph, "SummaryTree": archive.tree}


def owners_of(hits: Sequence[Hit]) -> set[Any]:
    return {hit.metadata["owner"] for hit in hits}


def public(part: object) -> set[str]:
    return {one for one in dir(part) if not one.startswith("_")}


def texts_in(value: object) -> Iterator[str]:
    """Every text in a value, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):
        yield value.decode("utf-8", "replace")
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from texts_in(getattr(value, field.name))
    elif isinstance(value, Mapping):
        yield from texts_in(list(value.keys()))
        yield from texts_in(list(value.values()))
    elif isinstance(value, Sequence | Set):
        for one in value:
            yield from texts_in(one)
    else:
        yield repr(value)


def everything(view: Reader, questions: Sequence[str], names: Sequence[str]) -> Iterator[object]:
    """What every method that reads gives, its errors too."""

    def asked(method: Any, *arguments: Any, **named: Any) -> Any:
        try:
            return method(*arguments, **named)
        except MonographError as error:
            return [str(error)]

    yield repr(view.stats())
    yield from (view.brief(), view.documents(), view.listed(), view.listed(like="s"), view.fetch(), view.generation())
    yield view.fetch(vectors=True, where={"not": {"owner": "nobody"}})
    for name in (*names, *(one.id for one in view.documents())):
        for method in (
            view.document, view.chunks, view.graph.of_document, view.tree.over, view.files.original, view.tree.summary,
            view.graph.neighbourhood, view.graph.merges, view.tree.outline,
        ):  # fmt: skip
            yield asked(method, name)
        yield asked(view.fetch, [name])
        yield [asked(view.graph.routes, name, other) for other in names[:4]]
    graph = view.graph
    yield from (graph.entities(1000), graph.entities(1000, like="a"), graph.merges(), graph.neighbourhood)
    yield from (graph.assertions(), graph.assertions(names), graph.nearest_assertions([1, 1, 1], 9))
    whole = graph.to_networkx()
    yield from (list(whole.nodes(data=True)), list(whole.edges(data=True)))
    with tempfile.TemporaryDirectory() as folder:
        yield repr(view.export(Path(folder) / "out"))
        yield [one.read_bytes() for one in sorted(Path(folder, "out").iterdir())]
    yield asked(view.tree.outline, layers=9)
    for question in questions:
        for how in ("lexical", "tfidf", "dense", "hybrid", "graph", "graph:faithful=true", "tree", "auto", Tree()):
            hits = asked(view.search, question, 50, how)
            yield hits
            if hits and not isinstance(hits[0], str):
                yield [hit.explain() for hit in hits]
                yield view.reduce(question, hits)
                yield graph.on_paths(hit.path for hit in hits if hit.path is not None)
        yield asked(view.search, question, 50, where={"not": {"owner": "nobody"}})
        yield asked(view.search, question, 50, where={"or": [{"owner": "bob"}, {"owner": "ann"}]})
        yield asked(view.context, question, k=50)
        yield asked(view.ask, question, k=50)
        yield asked(view.ask, question, k=50, where={"owner": {"!=": "x"}})


def no_secret(view: Reader, secrets: Sequence[str], questions: Sequence[str], names: Sequence[str]) -> None:
    """Nothing that is read through a view has a secret in it that was not in the question."""
    for given_back in everything(view, questions, names):
        said = " ".join(texts_in(given_back)).lower()
        for secret in secrets:
            assert secret.lower() not in said, (secret, given_back)


@pytest.fixture(scope="module")
def shared_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monograph]:
    """Documents of two people, about the same things, under a tree of summaries."""
    path = tmp_path_factory.mktemp("views") / "people.mono"
    with Monograph.open(path, summarizer=ExtractiveSummarizer(), model=Echo()) as archive:
        archive.add(people())
        archive.graph.add(*told_by("ann-1", "Ada Lovelace"))
        archive.graph.add(*told_by("bob-1", "Zorblax"))
        archive.graph.add(*told_by("", "Qwertium"))
        yield archive


def told_by(origin: str, name: str) -> tuple[list[AssertedNode], list[AssertedRelation]]:
    """What a document, or nobody, says of someone and of Oslo."""
    origins = (origin,) if origin else ()
    return (
        [AssertedNode(name, embedding=np.ones(3, dtype=np.float32), properties={"of": name}, origins=origins)],
        [AssertedRelation(name, f"LOVES_{name}", "Oslo", {"of": name}, origins)],
    )


TOWNS = ("Lisbon", "Vienna", "Oslo", "Turin")


def of_ann() -> list[Document]:
    return [
        Document(
            f"Ada Lovelace met Charles Babbage in {town}. The Analytical Engine stood in {town} on {day} May 1843.",
            id=f"ann-{day}", title=f"Letter from {town}", uri=f"letters/{day}", metadata={**ANN, "day": day},
        )
        for day, town in enumerate(TOWNS * 3, 1)
    ]  # fmt: skip


def of_bob() -> list[Document]:
    return [
        Document(
            f"Zorblax met Charles Babbage in {town}. Charles Babbage told Zorblax of Ada Lovelace and the Qwertium.",
            id=f"bob-{day}", title=f"Zorblax in {town}", uri=f"zorblax/{day}", metadata={"owner": "bob", "z": "zorblax"},
        )
        for day, town in enumerate(TOWNS * 3, 1)
    ]  # fmt: skip


def people() -> list[Document]:
    """Those of one after those of the other, in turn."""
    return [one for pair in zip(of_ann(), of_bob(), strict=True) for one in pair]


QUESTIONS = (
    "Where did Charles Babbage meet someone?",
    "What is this about?",
    "Who was with Ada Lovelace in Oslo?",
    '"Charles Babbage" 1843',
    "babbage",
)
NAMES = ("Charles Babbage", "Ada Lovelace", "Oslo", "zorb", "bob-1", "zorblax/1", "0000", "Analytical")


def test_every_public_method_is_classified_for_views(shared_file: Monograph) -> None:
    parts = {**parts_of(shared_file), "Vectors": shared_file.vectors}
    for name, part in parts.items():
        assert public(part) == WORKS[name] | WHOLE[name]
        assert not WORKS[name] & WHOLE[name]
    assert {type(one) for one in parts.values()} == {Monograph, Files, EntityGraph, SummaryTree, Vectors}


@pytest.fixture
def with_history(tmp_path: Path) -> Iterator[Monograph]:
    with Monograph.open(tmp_path / "x.mono", settings=Settings(history=True)) as archive:
        archive.add(of_ann())
        yield archive


def test_views_and_snapshots_lack_operations(with_history: Monograph) -> None:
    view, past = with_history.within(ANN), with_history.as_of("2100")
    for snapshot in (past, past.within(ANN), view.as_of("2100")):
        for name, part in parts_of(snapshot).items():
            assert public(part) == WORKS[name] - WRITES.get(name, set())
        assert {type(one) for one in parts_of(snapshot).values()} == {Snapshot, OriginalFiles, GraphReader, TreeReader}
    for name, part in parts_of(view).items():
        assert public(part) == WORKS[name]
    assert {type(one) for one in parts_of(view).values()} == {View, OriginalFiles, GraphWriter, TreeReader}
    with pytest.raises(AttributeError):
        view.files.always_forget = True  # type: ignore[attr-defined]


def test_front_ends_name_the_method_of_the_file(with_history: Monograph) -> None:
    view, past = with_history.within(ANN), with_history.as_of("2100")
    assert whole_file(with_history, "check", "check") is with_history
    for part, kind in ((view, "view"), (past, "snapshot")):
        with pytest.raises(OutsideView, match=f"a {kind} of .*x.mono does not support check") as raised:
            whole_file(part, "check", "check")
        assert raised.value.hint.endswith("in Python: call check on the file itself")
    assert to_write(view) is view
    with pytest.raises(OutsideView, match="a snapshot of .* is read-only"):
        to_write(past)


def test_view_shows_nothing_outside_its_filter(shared_file: Monograph) -> None:
    no_secret(shared_file.within(ANN), ["zorbl", "qwert", "bob-"], QUESTIONS, [*NAMES[:3], *NAMES[6:]])
    # What was asked for by name comes back in the error, and nothing else does.
    view = shared_file.within(ANN)
    for name in ("Zorblax", "Zorb", "Qwertium"):
        with pytest.raises(NotFound) as raised:
            view.graph.neighbourhood(name)
        assert not re.search("zorblax met|bob|perhaps", str(raised.value), re.IGNORECASE)
    for name in ("bob-1", "zorblax/1"):
        for method in (view.document, view.chunks, view.graph.of_document, view.tree.over, view.files.original):
            with pytest.raises(NotFound):
                method(name)
    assert view.fetch([shared_file.chunks("bob-1")[0].id]) == []


def test_view_equals_a_file_of_its_documents(shared_file: Monograph, tmp_path: Path) -> None:
    view = shared_file.within(ANN)
    with Monograph.open(tmp_path / "ann.mono", summarizer=ExtractiveSummarizer(), model=Echo()) as alone:
        alone.add(of_ann())
        alone.graph.add(*told_by("ann-1", "Ada Lovelace"))
        assert view.documents() == alone.documents()
        assert view.listed() == alone.listed()
        assert view.listed("letter", 2, 3) == alone.listed("letter", 2, 3)
        assert view.brief() == alone.brief()
        assert view.document("ann-3") == alone.document("ann-3")
        assert view.chunks("letters/3") == alone.chunks("letters/3")
        assert view.graph.entities(100) == alone.graph.entities(100)
        assert list(texts_in(view.graph.assertions())) == list(texts_in(alone.graph.assertions()))
        assert view.graph.merges() == alone.graph.merges()
        for name in ("Ada Lovelace", "Oslo"):
            assert view.graph.neighbourhood(name, 2) == alone.graph.neighbourhood(name, 2)
            assert view.graph.merges(name) == alone.graph.merges(name)
        assert view.graph.routes("Oslo", "Turin") == alone.graph.routes("Oslo", "Turin")
        assert repr(view.export(tmp_path / "out")).replace("out", "own") == repr(alone.export(tmp_path / "own"))
        for written in sorted((tmp_path / "own").iterdir()):
            assert (tmp_path / "out" / written.name).read_bytes() == written.read_bytes()
        assert view.graph.of_document("ann-1") == alone.graph.of_document("ann-1")
        mine, its = view.stats(), alone.stats()
        for counted in ("documents", "chunks", "vectors", "entities", "merged", "mentions", "characters", "sources"):
            assert getattr(mine, counted) == getattr(its, counted)
        for how in ("lexical", "dense", "hybrid", "graph"):
            found = {hit.chunk.id for hit in view.search("Charles Babbage in Oslo", 100, how)}
            assert found == {hit.chunk.id for hit in alone.search("Charles Babbage in Oslo", 100, how)}


def test_view_shows_summaries_of_its_chunks_only(tmp_path: Path) -> None:
    # What one says is far from what the other does: segments of one are among those of both.
    cats = (f"The cat {word} sleeps on the mat." for word in "xyzuvw" * 4)
    bonds = (f"Zorblax share prices {n} rose in the bond market by {n} points." for n in range(24))
    ours = [Document(text, id=f"a{n}", metadata=ANN) for n, text in enumerate(cats)]
    theirs = [Document(text, id=f"b{n}", metadata={"owner": "b"}) for n, text in enumerate(bonds)]
    with Monograph.open(tmp_path / "x.mono", summarizer=ExtractiveSummarizer()) as archive:
        archive.add([*ours, *theirs])
        view = archive.within(ANN)
        mine = {chunk.id for one in ours for chunk in archive.chunks(one.id)}

        def below(nodes: Sequence[Any]) -> Iterator[str]:
            for node in nodes:
                if node.layer:
                    yield node.id
                    yield from below(node.children)

        every = {name: set(archive.tree.summary(name).chunks) for name in below(archive.tree.outline(layers=9))}
        inside = {name for name, chunks in every.items() if chunks <= mine}
        assert inside
        assert len(inside) < len(every)
        assert set(below(view.tree.outline(layers=9))) == inside
        for name in every.keys() - inside:
            with pytest.raises(NotFound):
                view.tree.summary(name)
        found = view.search("the cat and the bond market", 100, Tree(detail=0.0))
        assert {hit.summary.id for hit in found if hit.summary is not None} <= inside
        assert "zorblax" not in " ".join(texts_in(view.context("What is this about?", 4_000))).lower()


def test_view_skips_documents_partly_outside(monograph: Monograph) -> None:
    eve = {"owner": "eve"}
    mixed = Document(id="mixed", metadata=ANN, passages=(Passage("mine", "m1"), Passage("hers", "m2", eve)))
    whole = Document(id="whole", metadata=eve, passages=(Passage("ours", "w1", ANN),))
    monograph.add([mixed, whole, Document("", id="empty", metadata=ANN), Document("", id="hers", metadata=eve)])
    view = monograph.within(ANN)
    assert [one.id for one in view.documents()] == ["empty", "whole"]
    assert [one.chunk.id for one in view.fetch()] == ["w1"]
    assert view.search("mine hers ours", how="lexical")[0].chunk.id == "w1"
    assert view.remove_chunks(["m1", "m2", "w1"]).chunks_removed == 1
    assert len(monograph.chunks("mixed")) == 2


def test_view_of_a_view_narrows_it(shared_file: Monograph) -> None:
    view = shared_file.within(ANN).within({"day": {">": 3}})
    assert {one.id for one in view.documents()} == {f"ann-{day}" for day in range(4, 13)}
    assert shared_file.within(ANN).within({"owner": "bob"}).documents() == []
    assert shared_file.within(ANN).within({"or": [{"owner": "bob"}, {"day": 1}]}).listed().count == 1
    for wider in ({"owner": "bob"}, {"not": ANN}, {"or": [{"owner": "bob"}, {"owner": "eve"}]}):
        assert shared_file.within(ANN).search("Babbage", 100, where=wider) == []
        assert shared_file.within(ANN).fetch(where=wider) == []
    assert shared_file.within(ANN).search("Babbage", 100, where={"day": 2})[0].chunk.document_id == "ann-2"


def test_within_needs_a_valid_filter_and_gives_a_view_for_many_threads(shared_file: Monograph) -> None:
    with pytest.raises(InputError, match="needs a filter"):
        shared_file.within({})
    with pytest.raises(InvalidFilter):
        shared_file.within({"a": {"like": 1}})
    view = shared_file.within(ANN)
    assert view.within(ANN).listed().count == 12
    assert copy.deepcopy(view).listed() == view.listed()
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: len(view.search("Babbage", 100)), range(4))) == [12] * 4


def test_filter_caches_of_view_and_file_are_separate(shared_file: Monograph) -> None:
    where = {"day": {"!=": 1}}
    ann, bob = shared_file.within(ANN), shared_file.within({"owner": "bob"})
    for how in ("dense", "lexical", "hybrid", "tree") * 3:
        assert owners_of(ann.search("Babbage", 100, how, where)) == {"ann"}
        assert owners_of(shared_file.search("Babbage", 100, how, where)) == {"ann", "bob"}
        assert owners_of(bob.search("Babbage", 9, how)) == {"bob"}


@pytest.mark.parametrize("native", [True, False])
def test_view_ranks_very_common_words_as_its_own_file(
    monograph: Monograph, native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # More than are looked at have the phrase, and FTS5 itself ranks what the pages are not read for.
    if not native:
        monkeypatch.setattr(postings, "read", lambda *_: None)
    owners = ("ann", "bob", "bob")
    texts = ("the red lathe, 機床 XK-42{n}", "the red lathe of Zorblax, 機床 XK-42{n}", "Zorblax")
    monograph.add(
        Document(text.format(n=n), id=f"{owner}{place}/{n}", metadata={"owner": owner})
        for n in range(300)
        for place, (owner, text) in enumerate(zip(owners, texts, strict=True))
    )
    view = monograph.within(ANN)
    for question in ('"red lathe"', "red lathe", "機床", "lathe XK-427", "zorblax"):
        for how in ("lexical", "hybrid", "tfidf"):
            for where in (None, {"owner": {"!=": "x"}}):
                hits = view.search(question, 50, how, where)
                assert owners_of(hits) <= {"ann"}
                assert len(hits) == 50 or question in ("zorblax", "lathe XK-427")


def test_documents_added_to_a_view_get_its_values(monograph: Monograph) -> None:
    view = monograph.within({"owner": "ann", "and": [{"team": {"==": 7}}]})
    view.add([Document("A note.", id="n1"), Document("More.", id="n2", metadata={"team": 7, "x": 1})])
    view.put([Document(id="n3", passages=(Passage("One.", "p1"), Passage("Two.", "p2", {"y": 2})))])
    assert [one.id for one in view.documents()] == ["n1", "n2", "n3"]
    assert monograph.document("n2").metadata == {"owner": "ann", "team": 7, "x": 1}
    view.put([Document(id="n3", passages=(Passage("Three.", "p3"),))])
    assert len(view.chunks("n3")) == 3
    assert view.add([Document("A note.", id="n1")]).same == 1
    assert view.add([Document("Another note.", id="n1")]).changed == 1
    view.remove(["n2"])
    assert view.remove_chunks(["p1"]).chunks_removed == 1
    assert view.remove_chunks(where={"y": 2}).chunks_removed == 1
    assert [one.chunk.id for one in view.fetch(["p1", "p2", "p3"])] == ["p3"]
    assert monograph.listed().count == 2


@pytest.mark.parametrize(
    "where",
    [
        {"owner": {"in": ["ann"]}}, {"owner": {"!=": "bob"}}, {"or": [ANN]}, {"owner": None}, {"$uri": "x"},
        {"owner": "ann", "and": [{"owner": "bob"}]},
    ],
)  # fmt: skip
def test_view_without_fixed_values_refuses_documents(monograph: Monograph, where: dict[str, Any]) -> None:
    view = monograph.within(where)
    for write in (view.add, view.put):
        with pytest.raises(OutsideView, match="add through"):
            write([Document(id="n", passages=(Passage("One.", "p"),))])
    assert monograph.listed().count == 0


def test_view_does_not_overwrite_documents_outside(monograph: Monograph) -> None:
    monograph.add([Document("Zorblax.", id="taken", uri="u", metadata={"owner": "bob"})])
    monograph.put([Document(id="passages", metadata={"owner": "bob"}, passages=(Passage("Zorblax too.", "p"),))])
    view = monograph.within(ANN)
    view.add([Document("Mine.", id="mine", uri="u")])
    before = [monograph.document(name) for name in ("taken", "passages")]
    attempts: tuple[Callable[[], object], ...] = (
        lambda: view.add([Document("x", id="taken")]),
        lambda: view.add([Document(id="new", passages=(Passage("x", "p"),))]),
        lambda: view.put([Document(id="taken", passages=(Passage("x", "q"),))]),
        lambda: view.put([Document(id="passages", passages=(Passage("x", "q"),))]),
        lambda: view.put([Document(id="mine", passages=(Passage("x", "p"),))]),
    )
    for attempt in attempts:
        with pytest.raises(OutsideView, match="taken outside of this view") as raised:
            attempt()
        assert "Zorblax" not in str(raised.value)
    for name in ("taken", "passages"):
        with pytest.raises(NotFound):
            view.remove([name])
    assert view.remove_chunks(["p"]).chunks_removed == 0
    assert view.remove_chunks(where={"owner": "bob"}).chunks_removed == 0
    # Of one uri those go that are in the view.
    assert view.remove(["u"]).removed == 1
    assert [monograph.document(name) for name in ("taken", "passages")] == before


def test_two_views_can_contain_the_same_text(monograph: Monograph) -> None:
    for owner in ("ann", "bob"):
        report = monograph.within({"owner": owner}).add([Document("The same words.")])
        assert (report.added, report.embedded, report.reused) == (1, 0, 0)
        assert monograph.within({"owner": owner}).add([Document("The same words.")]).same == 1
    assert monograph.listed().count == 2


def test_view_shows_later_changes_of_the_file(monograph: Monograph) -> None:
    view = monograph.within(ANN)
    assert view.documents() == []
    monograph.add([Document("Ada Lovelace.", id="a", metadata=ANN)])
    assert view.listed().count == 1
    assert [one.name for one in view.graph.entities()] == ["Ada Lovelace"]
    monograph.add([Document("Ada Lovelace.", id="a", metadata={"owner": "bob"})])
    assert view.listed().count == 0
    assert view.graph.entities() == []
    assert view.search("Ada Lovelace") == []


def test_view_stores_assertions_about_its_documents(shared_file: Monograph, tmp_path: Path) -> None:
    shared_file.backup(tmp_path / "copy.mono")
    with Monograph.open(tmp_path / "copy.mono") as archive:
        view = archive.within(ANN)
        assert set(view.graph.assertions().nodes) == {"Ada Lovelace", "Oslo"}
        with pytest.raises(NotFound, match="bob-1"):
            view.graph.add(*told_by("bob-1", "Eve"))
        with pytest.raises(OutsideView, match="no origin in this view"):
            view.graph.add(*told_by("", "Eve"))
        view.graph.add(*told_by("ann-2", "Eve"))
        assert view.graph.remove(["Oslo", "Zorblax", "Qwertium"]) == 4  # Of Oslo two nodes, and two relations.
        assert set(view.graph.assertions().nodes) == {"Ada Lovelace", "Eve"}
        assert view.graph.remove(relations=[("Zorblax", "LOVES_Zorblax", "Oslo")]) == 0
        left = archive.graph.assertions()
        assert [one.source for one in left.relations] == ["Zorblax", "Qwertium"]
        assert set(left.nodes) == {"Ada Lovelace", "Eve", "Oslo", "Zorblax", "Qwertium"}
        assert archive.check() == []


def test_view_is_closed_with_its_file(tmp_path: Path) -> None:
    with Monograph.open(tmp_path / "x.mono", embedder=HashEmbedder(), extractor=CapitalExtractor()) as archive:
        view = archive.within(ANN)
        view.add([Document("Ada.", id="a")])
        with view as same:
            assert same.listed().count == 1
        assert view.listed().count == 1
    with pytest.raises(ClosedFile):
        view.documents()
    with pytest.raises(ClosedFile):
        archive.within(ANN)


@pytest.fixture
def of_people(tmp_path: Path) -> Path:
    """A file of the documents of two people, to be changed."""
    with Monograph.open(tmp_path / "x.mono") as archive:
        archive.add(people())
    return tmp_path / "x.mono"


def test_view_of_a_read_only_file_can_be_read_and_pickled(of_people: Path) -> None:
    with Monograph.open(of_people, read_only=True) as archive:
        view = archive.within(ANN)
        with pickle.loads(pickle.dumps(view)) as again:
            assert again.listed().count == 12
        assert owners_of(view.search("Babbage", 100)) == {"ann"}
        with pytest.raises(MonographError, match="reading only"):
            view.add([Document("x", id="y")])


def test_view_does_not_read_files_with_documents_outside(monograph: Monograph, folder: Path) -> None:
    lines = [
        {"id": f"{owner}-{n}", "text": f"{owner} {n}", "metadata": {"owner": owner}}
        for n, owner in enumerate(("ann", "bob"))
    ]
    (folder / "both.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (folder / "own.jsonl").write_text(json.dumps({**lines[0], "id": "own"}))
    monograph.sync(folder)
    view = monograph.within(ANN)
    names = {one.id: one.uri for one in view.documents()}
    assert len(names) == 2
    held = {name: view.files.original(name) for name in names}
    mine = next(name for name, one in held.items() if one.state == "same")
    with view.files.open_original(mine) as opened:
        assert b"bob" not in opened.read()
    (other,) = (name for name, one in held.items() if one.state == "none")
    with pytest.raises(SourceMissing, match="no file that can be read"):
        view.files.open_original(other)
    with view.files.pages() as pages, pytest.raises(SourceMissing):
        pages.picture(other)
    # What it holds by now nobody has looked at.
    (folder / "own.jsonl").write_text(json.dumps(lines[1]))
    with pytest.raises(SourceMissing):
        view.files.open_original(mine)
    with monograph.files.open_original(mine) as opened:
        assert b"bob" in opened.read()


def test_sql_in_a_view_reads_no_rows_outside(shared_file: Monograph) -> None:
    view = shared_file.within(ANN)
    closed = [
        "documents", "chunks", "texts", "names", "mentions", "nodes", "chunk_graphs", "extractions", "subjects",
        "aliases", "cannot_link", "vectors", "sources", "asserted_nodes", "asserted_relations", "costs", "versions", "version_chunks",
        "failures",
    ]  # fmt: skip
    for table in closed:
        with pytest.raises(OutsideView, match="rows outside of a view"), view._file.database.read() as connection:
            connection.execute(f"SELECT * FROM main.{table}").fetchall()
    with pytest.raises(MonographError, match="reading only"), view._file.database.write():
        pass
    with view._file.database.read() as connection:
        known = {name for (name,) in connection.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'")}
        assert known - _OPEN == {*closed, "dirty_leaves", "sqlite_sequence"}


PEOPLE = ("Ada", "Grace", "Alan", "Mina", "Otto")
PLACES = ("Oslo", "Turin", "Lima")
SECRETS = ("Zorblax", "Qwertium", "Vexillon")
VERBS = ("met", "wrote to", "left")


@st.composite
def libraries(draw: st.DrawFn) -> tuple[list[Document], list[Document]]:
    """(documents of a view, documents beside it that have a secret each)."""

    def one_of(*values: Any) -> Any:
        return draw(st.sampled_from(values))

    def said(*words: str) -> str:
        count = draw(st.integers(1, 3))
        return " ".join(
            f"{one_of(*words)} {one_of(*VERBS)} {one_of(*words)} in {one_of(*PLACES)}." for _ in range(count)
        )

    inside = [
        Document(said(*PEOPLE), id=f"in{n}", title=one_of("", "Oslo", "Ada (poet)"), uri=f"u{n}", metadata=ANN)
        for n in range(draw(st.integers(0, 4)))
    ]
    outside = []
    for n in range(draw(st.integers(1, 4))):
        secret = one_of(*SECRETS)
        text = f"{said(*PEOPLE, secret, f'{secret} Ada')} {secret} knows Ada. Ada ({secret[0]}A) is {secret} Ada."
        title = one_of("Oslo", f"Ada ({secret.lower()})", f"{secret} in Oslo")
        metadata = {"owner": one_of("bob", None, secret), secret: secret}
        outside.append(Document(text, id=f"{secret}{n}", title=title, uri=f"{secret}/{n}", metadata=metadata))
    return inside, outside


@settings(max_examples=examples(8))
@given(library=libraries(), first=st.booleans())
def test_random_files_show_nothing_outside_a_view(
    tmp_path_factory: pytest.TempPathFactory, library: tuple[list[Document], list[Document]], first: bool
) -> None:
    inside, outside = library
    folder = tmp_path_factory.mktemp("v")
    summarizer = ExtractiveSummarizer()
    with (
        Monograph.open(folder / "both.mono", summarizer=summarizer, model=Echo()) as archive,
        Monograph.open(folder / "alone.mono", summarizer=summarizer, model=Echo()) as alone,
    ):
        archive.add([*outside, *inside] if first else [*inside, *outside])
        alone.add(inside)
        view = archive.within(ANN)
        no_secret(view, SECRETS, ("Who met Ada in Oslo?", "What is this about?"), ("Ada", "Oslo", "Grace", "in0"))
        assert view.documents() == alone.documents()
        assert [one.chunk for one in view.fetch()] == [one.chunk for one in alone.fetch()]
        called = [
            {one.id: (one.name, one.chunks, one.documents) for one in part.graph.entities(1000)}
            for part in (view, alone)
        ]
        assert called[0] == called[1]
        for how in ("lexical", "dense", "graph"):
            found = {hit.chunk.id for hit in view.search("Ada Oslo", 100, how)}
            assert found <= {one.chunk.id for one in alone.fetch()}


def test_stored_answers_belong_to_their_view(of_people: Path) -> None:
    with Monograph.open(of_people, model=Echo()) as archive:
        whole = archive.ask("Where is Charles Babbage?", k=100)
        assert "Zorblax" in whole.text
        answer = archive.within(ANN).ask("Where is Charles Babbage?", k=100)
        assert "Zorblax" not in json.dumps([*texts_in(answer)])
        assert archive.within(ANN).ask("Where is Charles Babbage?", k=100).text == answer.text


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE chunk_graphs SET names = x'010203'",
        "UPDATE documents SET title = CAST(x'ff' AS TEXT) WHERE id = 'ann-3'",
        "UPDATE documents SET metadata = 'no JSON' WHERE id = 'ann-3'",
        "UPDATE names SET key = CAST(x'ff' AS TEXT) WHERE key = 'ada lovelace'",
        "UPDATE texts SET text = CAST(x'ff' AS TEXT)",
        "DELETE FROM names",
    ],
)
def test_damage_in_a_view_raises_errors_of_ours(of_people: Path, damage: str) -> None:
    with closing(raw_sql.connected(of_people)) as connection:
        connection.execute(damage)
    with Monograph.open(of_people) as archive:
        view = archive.within(ANN)
        failed = 0
        for read in (
            view.documents, view.fetch, view.stats, view.graph.entities, lambda: view.document("ann-3"),
            lambda: view.search("Babbage in Oslo"), lambda: view.graph.neighbourhood("Ada Lovelace"),
        ):  # fmt: skip
            try:
                read()
            except MonographError as error:
                failed += 1
                assert "zorblax" not in str(error).lower()
        assert failed


def test_view_refuses_documents_with_other_values(monograph: Monograph) -> None:
    with pytest.raises(OutsideView, match="'eve' for 'owner'"):
        monograph.within(ANN).add([Document("x", id="n", metadata={"owner": "eve"})])
    with pytest.raises(OutsideView, match="the view adds it"):
        monograph.within(ANN).put([Document(id="n", passages=(Passage("One.", "p", {"owner": ["ann"]}),))])
    text = "# Comets\n\nA comet was seen in Riga."
    attempts = {
        "page": Document(text, id="n", places=(Place(0, page=7),)),
        "section": Document(text, id="n", sections=(Section(0, ("Comets",)),)),
        "owner": Document(id="n", passages=(Passage(text, "p", {"owner": 7}),)),
    }
    for key, document in attempts.items():
        view = monograph.within({key: 3})
        with pytest.raises(OutsideView, match=f"for '{key}', and the view has 3"):
            view.add([document])
        if document.passages:
            with pytest.raises(OutsideView, match="the view adds it"):
                view.put([document])
    assert monograph.listed().count == 0
    view = monograph.within({"page": 7})
    view.add([attempts["page"]])
    assert [one.id for one in view.documents()] == ["n"]
