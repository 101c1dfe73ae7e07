"""What is made ahead in other processes is what the writer would make."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from monograph import Document, Monograph, Passage
from monograph.derive.embed.static import StaticEmbedder
from monograph.errors import InvalidDocument
from monograph.graph.build import document_part
from monograph.read import child as children
from monograph.read.child import PROCESSES, ChildProcess
from monograph.write import apply, batch, parallel
from monograph.write.batch import PreparedDocument, prepare
from monograph.write.graph import NOTHING_PRECOMPUTED, relate
from support.models import HashEmbedder
from support.raw_sql import connected

PLACES = ("Lisbon", "Oslo", "Kyoto", "Lima", "Accra", "Tartu", "Quito")
PEOPLE = ("Ada Lovelace", "Niels Bohr", "Mary Anning", "Emmy Noether", "Alan Turing")


COUNT = 300


def text_of(number: int) -> str:
    person, place = PEOPLE[number % len(PEOPLE)], PLACES[number % len(PLACES)]
    return "\n\n".join(
        f"{person} came to {place} on {1 + (number + part) % 28} March {1900 + number}. The harbour of {place} was full "
        f"of ships, and the letter of note {number} says that {person.split()[1]} stayed for {part + 2} days."
        for part in range(24)
    )


def sync_file(path: Path, *sources: Path) -> None:
    with Monograph.open(path) as monograph:
        monograph.sync(*sources)


def rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every row of a file, table by table; without times, random numbers, and the inside of the inverted index."""
    with closing(connected(path)) as connection:
        names = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            if not name.startswith(("words", "trigrams", "sqlite", "settings", "vocabulary", "vector_indexes"))
        ]
        held = {name: sorted(connection.execute(f'SELECT * FROM "{name}"'), key=repr) for name in names}
    # Where a folder lies is told relative to the file, and the files of these tests lie in different places.
    # An id is drawn by lot.
    own = [
        (name, value) for name, value in held["checksums"] if name != "settings/id" and not name.startswith("roots/")
    ]
    return held | {"checksums": own, "roots": [row[:2] for row in held["roots"]]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ahead") / "texts"
    folder.mkdir()
    for number in range(COUNT):
        (folder / f"{number:03}.txt").write_text(text_of(number))
    assert sum(file.stat().st_size for file in folder.iterdir()) > apply.WORTHWHILE
    return folder


@pytest.fixture(scope="module")
def alone(folder: Path) -> Path:
    """The folder as one process makes it."""
    path = folder.with_name("alone.mono")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel, "PROCESSES", 1)
        sync_file(path, folder)
    return path


@pytest.mark.parametrize("processes", [2, pytest.param(3, marks=pytest.mark.long)])
def test_parallel_sync_gives_the_file_of_a_serial_one(
    processes: int, folder: Path, alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "PROCESSES", processes)
    with Monograph.open(tmp_path / "x.mono") as monograph:
        report = monograph.sync(folder)
        assert (report.added, report.embedded, report.extracted) == (COUNT, report.chunks_added, report.chunks_added)
        assert monograph.check() == []
    assert rows(tmp_path / "x.mono") == rows(alone)


@pytest.mark.long
def test_small_batches_count_together_towards_parallel_work(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[ChildProcess] = []

    class Counted(ChildProcess):
        def __init__(self) -> None:
            super().__init__()
            started.append(self)

    monkeypatch.setattr(parallel, "PROCESSES", 2)
    monkeypatch.setattr(children, "ChildProcess", Counted)
    monkeypatch.setattr(batch, "BATCH_CHARACTERS", apply.WORTHWHILE // 4)
    sync_file(tmp_path / "few.mono", *sorted(folder.iterdir())[: COUNT // 3])
    assert started == []
    sync_file(tmp_path / "x.mono", folder)
    assert started
    monkeypatch.setattr(parallel, "PROCESSES", 1)
    sync_file(tmp_path / "alone.mono", folder)
    assert rows(tmp_path / "x.mono") == rows(tmp_path / "alone.mono")


def test_sync_works_without_worker_processes(
    folder: Path, alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "PROCESSES", 2)
    monkeypatch.setattr(children, "_START", "import monograph.there.is.no.such.module")
    sync_file(tmp_path / "x.mono", folder)
    assert rows(tmp_path / "x.mono") == rows(alone)


def processes(marker: Path) -> list[str]:
    """Processes that make things ahead, of a program whose search path holds the marker."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            said = (entry / "cmdline").read_bytes()
            if str(marker).encode() in said and children.__name__.encode() in said:
                found.append(entry.name)
    return found


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="processes are looked for in /proc")
@pytest.mark.parametrize("forked", [True, pytest.param(False, marks=pytest.mark.long)])
def test_workers_end_with_a_killed_writer(
    folder: Path, alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forked: bool
) -> None:
    path, marker = tmp_path / "x.mono", tmp_path / "marker"
    if not forked and PROCESSES == 1:
        pytest.skip("one core: no other process is asked")
    monkeypatch.setattr(parallel, "PROCESSES", 2)
    monkeypatch.syspath_prepend(marker)
    context: Any = multiprocessing.get_context("fork" if forked else "spawn")
    child = context.Process(target=sync_file, args=(path, folder))
    child.start()
    while not processes(marker):
        assert child.is_alive(), "it came to its end and asked no other process"
        time.sleep(0.01)
    child.kill()
    child.join()
    while processes(marker):
        time.sleep(0.01)
    with Monograph.open(path) as monograph:
        assert monograph.check() == []
        monograph.sync(folder)
        assert monograph.check() == []
        with Monograph.open(alone) as other:
            assert [one.id for one in monograph.documents()] == [one.id for one in other.documents()]
            assert monograph.stats().chunks == other.stats().chunks


@pytest.mark.long
def test_stored_embeddings_are_not_counted_as_made(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "PROCESSES", 2)
    with Monograph.open(tmp_path / "x.mono") as monograph:
        first = monograph.sync(folder)
        monograph.remove([one.id for one in monograph.documents()])
        again = monograph.sync(folder)
        assert (again.added, again.embedded, again.reused) == (first.added, 0, first.embedded)
        assert again.extracted == 0


@pytest.mark.long
def test_parallel_sync_reports_documents_that_cannot_be_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "PROCESSES", 2)
    good = [Document(text_of(number), id=str(number)) for number in range(COUNT)]
    given = StaticEmbedder().embed(["a vector of its own"])[0]
    own = Document(
        id="own", passages=(Passage("Ada Lovelace wrote.", id="p1", vector=given), Passage("Alone.", id="p2"))
    )
    with Monograph.open(tmp_path / "x.mono") as monograph:
        with pytest.raises(InvalidDocument, match="is empty"):
            monograph.add([*good, Document(id="bad", passages=(Passage(" "),))])
        assert monograph.stats().documents == 0
        monograph.add([*good, own])
        (stored,) = monograph.fetch(["p1"], vectors=True)
        assert stored.vector is not None
        assert stored.vector @ given == pytest.approx(1.0)
        assert monograph.check() == []


def test_prepared_parts_are_remade_after_names_are_kept_apart(folder: Path, tmp_path: Path) -> None:
    with Monograph.open(tmp_path / "x.mono") as monograph:
        monograph.add([Document(text_of(3), id="a")])
        pipeline = monograph._file.pipeline()
        (prepared,) = prepare([(Document(text_of(3), id="a"), b"hash")], pipeline.embedder, pipeline.settings)
        assert isinstance(prepared, PreparedDocument)
        (wanted,) = relate(pipeline, [prepared], NOTHING_PRECOMPUTED)
        other = document_part("", [], [], frozenset())
        key = (prepared.document.id, prepared.sha256)
        made = replace(NOTHING_PRECOMPUTED, parts={key: other})
        (found,) = relate(pipeline, [prepared], replace(made, cannot_link=frozenset({("x", "y")})))
        assert [one.names for one in found.part.chunks] == [one.names for one in wanted.part.chunks] != []
        (ready,) = relate(pipeline, [prepared], made)
        assert ready.part is other


@pytest.mark.long
def test_custom_embedder_runs_in_the_main_process(folder: Path, tmp_path: Path) -> None:
    asked: list[int] = []

    class Assertions(HashEmbedder):
        def embed(self, texts, kind="document"):  # type: ignore[no-untyped-def]
            asked.append(os.getpid())
            return super().embed(texts, kind)

    with Monograph.open(tmp_path / "x.mono", Assertions(16)) as monograph:
        monograph.sync(folder)
    assert set(asked) == {os.getpid()}
