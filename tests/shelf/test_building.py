"""A shelf that is built in any number of steps answers as one file does, and nothing is paid for twice."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Document, Monograph, Passage, Report, Settings
from monograph.derive.summarize.extractive import ExtractiveSummarizer
from monograph.errors import (
    InputError,
    InvalidDocument,
    ModelMismatch,
    ModelUntrusted,
    NotFound,
    ShelfConflict,
    SourceMissing,
)
from monograph.models import TextKind
from monograph.read.limits import Limits
from monograph.shelf import Shelf, build, forget, remove
from monograph.shelf.building import shard_of
from monograph.shelf.manifest import Manifest, latest
from monograph.shelf.storage import shelf_place, storage_at
from monograph.values import AssertedNode, Float32, Progress
from support.corpora import QUERIES, SENTENCES, TITLES
from support.kill_at_commit import killed
from support.models import BagEmbedder, HashEmbedder
from support.properties import examples
from support.shelves import ENGINE_NOTES, WAYS, hits_of
from support.vector_server import VectorServer


class Counting(BagEmbedder):
    """Counts how often it is given each text of a document."""

    def __init__(self) -> None:
        super().__init__(8)
        self.given: Counter[str] = Counter()

    def embed(self, texts: Sequence[str], kind: TextKind = "document") -> Float32:
        if kind == "document":
            self.given.update(one for one in texts if "engine" in one)
        return super().embed(texts, kind)


def manifest_of(url: Path) -> Manifest:
    found = latest(storage_at(url))
    assert found is not None
    return found


def test_shard_of_an_id_never_changes() -> None:
    assert [shard_of(name, 8) for name in ("", "a", "note-1", "北京", "/texts/x.txt")] == [4, 2, 1, 6, 7]
    assert [shard_of("note-1", shards) for shards in (1, 2, 3, 7, 1_000)] == [0, 1, 1, 3, 897]


@dataclass(frozen=True, slots=True)
class Step:
    """What is done to a shelf: documents are built, or removed by their numbers."""

    what: str
    numbers: tuple[int, ...]
    turn: int
    shards: int

    def documents(self) -> list[Document]:
        """The documents of these numbers; their texts differ from turn to turn."""
        return [
            Document(
                f"{SENTENCES[(number + self.turn) % len(SENTENCES)]} {SENTENCES[(3 * number) % len(SENTENCES)]}",
                id=f"d{number}",
                title=TITLES[(number + self.turn) % len(TITLES)],
            )
            for number in self.numbers
        ]


STEPS = st.builds(
    Step,
    st.sampled_from(["build", "build", "build", "remove", "replace", "forget"]),
    st.lists(st.integers(0, 9), min_size=1, max_size=8, unique=True).map(tuple),
    st.integers(0, 3),
    st.integers(1, 3),
)


@settings(max_examples=examples(6))
@given(steps=st.lists(STEPS, min_size=1, max_size=6), query=st.sampled_from(QUERIES))
@pytest.mark.long
def test_shelf_built_in_steps_equals_one_file(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step], query: str
) -> None:
    folder = tmp_path_factory.mktemp("steps")
    url, home, embedder = folder / "shelf", folder / "home", BagEmbedder(8)
    short = Settings(chunk_tokens=16, chunk_overlap=0)
    stored: dict[str, Document] = {}
    replaced: list[tuple[list[Document], int]] = []
    build(url, [], embedder=embedder, settings=short, home=home)
    for step in steps:
        documents = step.documents()
        if step.what == "remove":
            ids = [one.id for one in documents if one.id in stored]
            assert remove(url, ids, home=home).removed == len(ids)
            for name in ids:
                del stored[name]
        elif step.what == "forget":
            forget(url, home=home)
        else:
            is_new = step.what == "replace"
            stored = {} if is_new else stored
            report = build(
                url, documents, embedder=embedder, settings=short, shards=step.shards, home=home, replace_all=is_new
            )
            if is_new and report.added == 0 and (documents, step.shards) in replaced:
                assert report == Report()  # These shards are finished: they are not built again, and report nothing.
            else:
                assert report.added == sum(one.id not in stored for one in documents)
            replaced += [(documents, step.shards)] if is_new else []
            assert report.same == sum(stored.get(one.id) == one for one in documents)
            stored |= {one.id: one for one in documents}
        with Shelf.open(url, embedder=embedder, home=home) as shelf:
            assert shelf.check() == []
            assert sorted(one.id for one in shelf.documents()) == sorted(stored)
    with (
        Monograph.open(folder / "one.mono", embedder, settings=short) as one,
        Shelf.open(url, embedder=embedder, home=home) as shelf,
    ):
        one.add(stored.values())
        for how in WAYS:
            assert hits_of(shelf, query, how, 5) == hits_of(one, query, how, 5), how
        assert shelf.context(query).text == one.context(query).text
        assert shelf.ask(query).text == one.ask(query).text


def test_unchanged_shards_are_neither_built_nor_uploaded_again(tmp_path: Path) -> None:
    url, home, embedder = tmp_path / "shelf", tmp_path / "home", Counting()
    told: list[Progress] = []
    report = build(url, iter(ENGINE_NOTES), shards=3, embedder=embedder, home=home, progress=told.append)
    assert (report.added, report.embedded) == (20, 20)
    assert [(one.done, one.total) for one in told] == [(1, 3), (2, 3), (3, 3)]
    first = manifest_of(url)
    assert build(url, ENGINE_NOTES, shards=5, embedder=embedder, home=home).same == 20
    assert manifest_of(url) == first  # Nothing changed: there is no other version.
    more = Document("Mary Somerville explained engine 99.", id="more")
    other = Document("Ada Lovelace burnt the note on engine 7.", id="note-7")
    report = build(url, [more, other, *ENGINE_NOTES[:5]], embedder=embedder, home=home)
    assert (report.added, report.changed, report.same, report.embedded) == (1, 1, 5, 2)
    second = manifest_of(url)
    assert len(second.shards) == 4
    assert len(set(first.shards) - set(second.shards)) == 1
    assert [first.shards.index(one) for one in second.shards if one in first.shards] == sorted(
        first.shards.index(one) for one in second.shards if one in first.shards
    )
    assert remove(url, ["note-7", "note-1"], home=home).removed == 2  # It needs no model.
    assert set(embedder.given.values()) == {1}
    with pytest.raises(NotFound, match="no document 'note-7'"):
        remove(url, ["note-2", "note-7"], home=home)
    with pytest.raises(NotFound, match="monograph shelf build"):
        remove(tmp_path, ["note-2"], home=tmp_path / "elsewhere")
    with Shelf.open(url, embedder=embedder, home=home) as shelf:
        assert (shelf.version, shelf.stats().documents) == (3, 19)
        assert shelf.check() == []


def test_no_byte_of_forgotten_documents_remains_after_a_build(tmp_path: Path) -> None:
    url, home, embedder = tmp_path / "shelf", tmp_path / "home", HashEmbedder(8)
    secrets = [
        Document("The Quillfeather affair was settled in Genoa.", id="quillfeather"),
        Document("Agnes Quillfeather stayed.", id="stays"),
    ]
    build(url, [*ENGINE_NOTES, *secrets], shards=2, embedder=embedder, home=home)
    build(url, [Document("She stayed in Draco.", id="stays")], embedder=embedder, home=home)
    remove(url, ["quillfeather"], home=home)
    with Shelf.open(url, embedder=embedder, home=home) as shelf:
        assert shelf.search("Who stayed?", how="lexical")
    made = forget(url, home=home)
    assert made.kept == manifest_of(url)
    assert made.digests
    for path in (*url.rglob("*"), *home.rglob("*")):
        assert not path.is_file() or b"quillfeather" not in path.read_bytes().lower(), path
    with Shelf.open(url, embedder=embedder, home=home) as shelf:
        assert shelf.check() == []
        assert shelf.stats().documents == 21


def test_a_monograph_becomes_a_shard_and_no_model_is_asked(tmp_path: Path) -> None:
    url, home, embedder = tmp_path / "shelf", tmp_path / "home", Counting()
    letters, notes = tmp_path / "letters.mono", tmp_path / "notes.mono"
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "one.txt").write_text("Mary Somerville knew engine 50.")
    with Monograph.open(letters, embedder, summarizer=ExtractiveSummarizer()) as archive:
        archive.add(ENGINE_NOTES[:12])
        archive.sync(tmp_path / "texts")
        archive.tree.rebuild()
    with Monograph.open(notes, embedder, settings=Settings(history=True)) as archive:
        archive.add([Document("An older text of engine 12.", id="note-12")])
        archive.add(ENGINE_NOTES[12:])
        before = embedder.given.copy()
        report = build(url, sources=[letters, notes], home=home)  # While it is open.
    assert (report.added, report.embedded, report.extracted) == (21, 0, 0)
    assert len(manifest_of(url).shards) == 2
    with (
        Shelf.open(url, embedder=embedder, home=home) as shelf,
        Monograph.open(tmp_path / "one.mono", embedder) as one,
    ):
        assert shelf.check() == []
        one.add(ENGINE_NOTES)
        one.sync(tmp_path / "texts")
        for question in ("Who wrote about engine 7?", "Charles Babbage", "Somerville"):
            hits = [replace(hit, valid=None) for hit in hits_of(shelf, question, "graph", 5)]
            assert hits == hits_of(one, question, "graph", 5)
    embedder.given = before.copy()
    # The folder is known from the file; the file replaces its shard when it changed.
    assert build(url, sources=[tmp_path / "texts"], home=home).same == 1
    assert build(url, sources=[letters], home=home).same == 13
    assert manifest_of(url).version == 1
    with Monograph.open(letters, embedder) as archive:
        archive.remove(["note-1"])
        archive.add([Document("Nobody wrote about engine 2.", id="note-2")])
    report = build(url, sources=[letters], home=home)
    assert (report.changed, report.removed, report.same) == (1, 1, 11)
    assert len(manifest_of(url).shards) == 2
    build(url, [Document("One more engine.", id="more")], embedder=embedder, home=home)
    assert sum((embedder.given - before).values()) == 2
    with Shelf.open(url, embedder=embedder, home=home) as shelf:
        assert shelf.check() == []
        assert shelf.stats().documents == 21


def test_a_monograph_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    url, home, embedder = tmp_path / "shelf", tmp_path / "home", HashEmbedder(8)
    build(url, ENGINE_NOTES[:3], embedder=embedder, home=home)
    first = manifest_of(url)

    def refused(message: str, model: HashEmbedder = embedder, settings: Settings | None = None) -> None:
        path = tmp_path / "other.mono"
        path.unlink(missing_ok=True)
        with Monograph.open(path, model, settings=settings) as archive:
            archive.add([ENGINE_NOTES[9]])
            if "kept apart" in message:
                archive.graph.keep_apart("Ada Lovelace", "Charles Babbage")
            if "assertions" in message:
                archive.graph.add([AssertedNode("Ada")])
            if "already" in message:
                archive.add([ENGINE_NOTES[1]])
        with pytest.raises(InputError, match=message):
            build(url, sources=[path], home=home)

    refused("built with the embedder", HashEmbedder(9))
    refused("built with the settings", settings=Settings(chunk_tokens=16, chunk_overlap=0))
    refused("has no graph, which shards need.*monograph build", settings=Settings(graph=False))
    refused("has assertions and names that are kept apart, which a shelf cannot store")
    refused("document 'note-1' of .* is already in the shelf")
    assert manifest_of(url) == first


def test_a_shelf_follows_folders(folder: Path, tmp_path: Path) -> None:
    url, home, embedder = tmp_path / "shelf", tmp_path / "home", Counting()
    for one in ENGINE_NOTES:
        (folder / f"{one.id}.txt").write_text(one.text)
    (folder / "long.txt").write_text("x" * 2_000)
    limits = Limits(max_bytes=1_000)
    report = build(url, sources=[folder], shards=3, embedder=embedder, limits=limits, home=home)
    assert (report.added, [one.uri for one in report.problems]) == (20, ["texts/long.txt"])
    first = manifest_of(url)
    report = build(url, sources=[folder], embedder=embedder, limits=limits, home=home)
    assert (report.same, [one.uri for one in report.problems]) == (20, ["texts/long.txt"])
    assert manifest_of(url) == first  # What cannot be read makes no version.
    (folder / "note-3.txt").write_text("Ada Lovelace wrote nothing of engine 3.")
    (folder / "note-4.txt").unlink()
    (folder / "new.txt").write_text("Mary Somerville explained engine 99.")
    report = build(url, sources=[folder], embedder=embedder, limits=limits, home=home)
    assert (report.added, report.changed, report.removed, report.same) == (1, 1, 1, 18)
    assert set(embedder.given.values()) == {1}
    with (
        Shelf.open(url, embedder=embedder, home=home) as shelf,
        Monograph.open(tmp_path / "one.mono", embedder) as archive,
    ):
        archive.files.apply(archive.files.plan(folder), limits=limits)
        assert shelf.check() == []
        for question in ("engine 3", "Who explained engine 99?"):
            assert hits_of(shelf, question, "graph", 5) == hits_of(archive, question, "graph", 5)
    assert remove(url, [str(folder / "note-5.txt")], home=home).removed == 1
    with pytest.raises(SourceMissing):
        build(url, sources=[folder / "nowhere"], embedder=embedder, home=home)


def test_shelf_build_refuses_invalid_arguments(folder: Path, tmp_path: Path) -> None:
    url, home = tmp_path / "shelf", tmp_path / "home"
    for wrong in (
        {"documents": ENGINE_NOTES, "sources": [folder]}, {}, {"documents": ENGINE_NOTES, "shards": 0},
        {"documents": ENGINE_NOTES, "shards": 10_001}, {"documents": ENGINE_NOTES, "settings": Settings(history=True)},
    ):  # fmt: skip
        with pytest.raises(InputError):
            build(url, home=home, **wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidDocument):
        passage = Passage("Its vector is too short.", vector=np.ones(3, dtype=np.float32))
        build(url, [Document(passages=(passage,))], home=home)
    build(url, ENGINE_NOTES[:2], embedder=HashEmbedder(8), home=home)
    with pytest.raises(ModelMismatch, match=r"was built with the embedder .*leave the embedder out"):
        build(url, ENGINE_NOTES, embedder=HashEmbedder(9), home=home)
    with pytest.raises(InputError, match="leave the settings out"):
        build(url, ENGINE_NOTES, embedder=HashEmbedder(8), settings=Settings(chunk_tokens=64), home=home)


def test_the_shelf_asks_a_server_of_its_own_only_if_that_is_trusted(tmp_path: Path) -> None:
    url, home = tmp_path / "shelf", tmp_path / "home"
    with VectorServer() as server:
        build(url, ENGINE_NOTES[:2], embedder=f"openai:{server.url}#model", home=home)
        with pytest.raises(ModelUntrusted):
            build(url, ENGINE_NOTES[:3], home=home)
        assert build(url, ENGINE_NOTES[:3], trusted=[server.url], home=home).added == 1


def test_second_writer_of_a_shelf_is_refused_and_may_retry(tmp_path: Path) -> None:
    url, home, embedder = tmp_path / "shelf", tmp_path / "home", Counting()
    build(url, ENGINE_NOTES[:2], embedder=embedder, home=home)

    def meanwhile(_: Progress) -> None:
        if manifest_of(url).version == 1:
            build(url, ENGINE_NOTES[2:4], embedder=embedder, home=tmp_path / "there")

    with pytest.raises(ShelfConflict, match="same command again"):
        build(url, ENGINE_NOTES[4:6], embedder=embedder, home=home, progress=meanwhile)
    assert manifest_of(url).version == 2
    assert build(url, ENGINE_NOTES[4:6], embedder=embedder, home=home).embedded == 0
    with Shelf.open(url, embedder=embedder, home=home) as shelf:
        assert (shelf.version, shelf.stats().documents) == (3, 6)
    assert set(embedder.given.values()) == {1}


def test_many_threads_build_and_lose_nothing(tmp_path: Path) -> None:
    url, embedder = tmp_path / "shelf", HashEmbedder(8)
    build(url, [], embedder=embedder, home=tmp_path / "home")

    def work(number: int) -> None:
        while True:
            with suppress(ShelfConflict):
                build(url, [ENGINE_NOTES[number]], embedder=embedder, home=tmp_path / f"home{number}")
                return

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    with Shelf.open(url, embedder=embedder, home=tmp_path / "home") as shelf:
        assert (shelf.version, shelf.stats().documents) == (5, 4)
        assert shelf.check() == []


PROGRAM = """
from monograph.shelf import build, remove
from support.shelves import ENGINE_NOTES
build({url!r}, ENGINE_NOTES[:4], home={home!r}, embedder={embedder!r})
build({url!r}, [ENGINE_NOTES[0], *ENGINE_NOTES[5:]], home={home!r}, embedder={embedder!r}, shards=2)
remove({url!r}, ["note-0"], home={home!r})
"""


@pytest.mark.long
def test_killed_shelf_builds_ask_the_embedder_once(tmp_path: Path) -> None:
    url, home = tmp_path / "shelf", tmp_path / "home"
    with VectorServer() as server:
        options = {"url": str(url), "home": str(home), "embedder": f"openai:{server.url}#model"}
        commit = 1
        kills = 0
        while killed(PROGRAM.format(**options), commit, "after"):
            kills += 1
            commit += 3  # Later than before: so it gets on.
            found = latest(storage_at(url))
            if found is not None:
                with Shelf.open(url, home=tmp_path / "reader", trusted=[server.url]) as shelf:
                    assert shelf.check() == []
        asked = Counter(text for text in server.texts if "engine" in text)
        with Shelf.open(url, home=home, trusted=[server.url]) as shelf:
            assert shelf.stats().documents == 18
    assert kills >= 3
    assert set(asked.values()) == {1}


def test_documents_of_a_deleted_shelf_are_built_again(tmp_path: Path) -> None:
    url, home, embedder = tmp_path / "shelf", tmp_path / "home", HashEmbedder(8)

    def interrupt(progress: Progress) -> None:
        if progress.done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(url, ENGINE_NOTES, shards=2, embedder=embedder, home=home, progress=interrupt)
    assert latest(storage_at(url)) is None
    assert build(url, ENGINE_NOTES, shards=2, embedder=embedder, home=home).added < 20  # One shard was put.
    shutil.rmtree(url)
    assert build(url, ENGINE_NOTES, shards=2, embedder=embedder, home=home).added == 20
    place = shelf_place(url, home)
    left = place.building / "begun.mono"
    left.write_bytes(b"Ada Lovelace")
    forget(url, home=home)
    assert not left.exists()
