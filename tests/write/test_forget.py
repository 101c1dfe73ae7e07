"""Documents that are removed are gone from every result; forgotten ones from the bytes of the file."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from monograph import Document, Monograph, Passage
from monograph.derive.summarize.extractive import ExtractiveSummarizer
from monograph.errors import BusyFile, NotFound
from monograph.store.file.database import Database
from monograph.store.graph import names
from monograph.values import SummaryText
from monograph.write import tree as growing
from support.models import HashEmbedder
from support.secrets import SECRET, TRACES, bytes_of, has_traces, write_secrets


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.mono"


@pytest.fixture
def monograph(path: Path) -> Iterator[Monograph]:
    with Monograph.open(path, HashEmbedder()) as opened:
        yield opened


def filler(count: int) -> list[Document]:
    return [
        Document(f"Ordinary note {n} about gardens, tea and bicycles. " * (1 + n % 40), id=f"f{n}")
        for n in range(count)
    ]


@contextmanager
def an_older_state_read(monograph: Monograph) -> Iterator[None]:
    """Another connection reads the file as it is now; who is kept waiting by that soon gives up."""
    monograph._file.database.connection().execute("PRAGMA busy_timeout = 100")
    with closing(Database(monograph.path)) as reader, reader.read() as connection:
        connection.execute("SELECT count(*) FROM chunks").fetchone()
        yield


def test_forgotten_documents_leave_no_bytes(path: Path) -> None:
    with Monograph.open(path) as monograph:
        monograph.add(filler(200))
        monograph.add(
            [Document(SECRET * 30, id="secret", title="Zanzibar file", uri="/emerald/list", metadata={"k": "kumquat"})]
        )
        monograph.add([Document(SECRET + " edited", id="secret", title="Quixote file")])
        vectors = [monograph.embedder.embed([f"Quixote file\n{chunk.text}"])[0] for chunk in monograph.chunks("secret")]
        needle = np.asarray(vectors[0], dtype="<f4").tobytes()
        assert all(trace in bytes_of(path) for trace in TRACES[:6])
        assert needle.lower() in bytes_of(path)
        before = [monograph.document(f"f{n}").text for n in range(200)]
        monograph.remove(["secret"], forget=True)
        assert has_traces(path) == []
        assert needle.lower() not in bytes_of(path)
        assert b"gardens" in bytes_of(path)
        assert [monograph.document(f"f{n}").text for n in range(200)] == before
        assert monograph.search("bicycles", 3)
        assert monograph.check() == []


def test_forgetting_removes_bytes_of_documents_removed_before(path: Path, monograph: Monograph) -> None:
    for round_ in range(12):
        monograph.add([Document(f"{SECRET} version {round_}", id="secret"), *filler(30 + round_)])
        if round_ % 3 == 2:
            monograph.remove(["secret"])
    monograph.add([Document(id="p", passages=(Passage("Kumquat marmalade", id="zanzibar-1"),))])
    assert b"xylophonia" in bytes_of(path)
    monograph.remove(["p"], forget=True)
    assert has_traces(path) == []
    assert monograph.stats().memo_unused == 0
    assert monograph.check() == []


@pytest.mark.long
def test_forgetting_waits_for_checkpoints_of_other_writers(path: Path, monograph: Monograph) -> None:
    """SQLite itself does not wait for another checkpoint, as every larger commit may begin one."""
    ended = threading.Event()

    def copy_back() -> None:
        database = Database(path)
        number = 0
        while not ended.is_set():
            number += 1
            with database.write() as connection:
                connection.execute(
                    "INSERT OR REPLACE INTO settings VALUES ('busy', ?)", ("x" * 4_000_000 + str(number),)
                )
            database.connection().execute("PRAGMA wal_checkpoint(PASSIVE)")
        database.close()

    monograph.add([*(Document(f"{SECRET} {n}", id=f"s{n}") for n in range(20)), *filler(20)])
    with ThreadPoolExecutor(2) as pool:
        done = [pool.submit(copy_back) for _ in range(2)]
        try:
            for n in range(20):
                monograph.remove([f"s{n}"], forget=True)
        finally:
            ended.set()
    assert [one.result() for one in done] == [None, None]
    monograph.compact()
    assert has_traces(path) == []


@pytest.mark.long
def test_forgetting_waits_for_overlapping_readers(path: Path, monograph: Monograph) -> None:
    ended = threading.Event()

    def read(offset: float) -> None:
        database = Database(path)
        ended.wait(offset)
        while not ended.is_set():
            with database.read() as connection:
                connection.execute("SELECT count(*) FROM settings").fetchone()
                ended.wait(0.8)
        database.close()

    def write() -> None:
        database = Database(path)
        while not ended.is_set():
            with database.write() as connection:
                connection.execute("UPDATE settings SET value = value WHERE name = 'generation'")
            ended.wait(0.001)
        database.close()

    monograph.add(filler(20))
    with ThreadPoolExecutor(10) as pool, closing(Database(path)) as database:
        database.connection().execute("PRAGMA busy_timeout = 20000")
        crowd = [pool.submit(read, n / 10) for n in range(8)] + [pool.submit(write) for _ in range(2)]
        try:
            for _ in range(3):
                database.rewrite()
        finally:
            ended.set()
    assert [one.result() for one in crowd] == [None] * 10


def test_short_form_of_one_document_is_forgotten_with_it(monograph: Monograph) -> None:
    text = (
        "The IFFHS World's Best Goalkeeper is a football award given annually to the most outstanding goalkeeper as voted"
        " by the International Federation of Football History & Statistics (IFFHS). The votes are cast by IFFHS's staff."
    )
    monograph.add([Document(text, id="award", title="IFFHS World's Best Goalkeeper"), Document("A park.", id="park")])
    monograph.compact()
    assert monograph.check() == []
    monograph.remove(["award"], forget=True)
    assert monograph.check() == []
    assert b"iffhs" not in monograph.path.read_bytes().lower()


def test_names_kept_apart_are_forgotten_with_their_documents(path: Path, monograph: Monograph) -> None:
    monograph.add(
        [
            Document("Xylophonia Quixote met Quixote Zanzibar in Vladivostok.", id="secret"),
            Document("Tobias Renk and Renk Ahlgren wrote.", id="letters"),
            Document("John Paul Smith wrote a letter. John P. Smith did, too.", id="smith"),
        ]
    )
    monograph.graph.keep_apart("Xylophonia Quixote", "Quixote Zanzibar")
    monograph.graph.keep_apart("Quixote Zanzibar", "Tobias Renk")
    monograph.graph.keep_apart("Tobias Renk", "Renk Ahlgren")
    monograph.graph.keep_apart("John P. Smith", "Smith")
    monograph.remove(["secret"])
    assert b"zanzibar" in bytes_of(path)
    monograph.compact()
    left = bytes_of(path)
    assert [trace for trace in (b"zanzibar", b"quixote", b"vladivostok") if trace in left] == []
    with monograph._file.database.read() as connection:
        apart = {tuple(sorted(pair)) for pair in names.cannot_link(connection)}
    assert ("renk ahlgren", "tobias renk") in apart
    assert ("john p smith", "smith") in apart
    assert {word for pair in apart for key in pair for word in key.split()}.isdisjoint(["zanzibar", "quixote"])
    assert monograph.check() == []


@pytest.fixture
def secrets(folder: Path) -> Path:
    write_secrets(folder)
    return folder


@pytest.mark.parametrize("tree", [False, True])
def test_sync_with_forget_removes_bytes_of_deleted_files(path: Path, secrets: Path, tree: bool) -> None:
    with Monograph.open(path, HashEmbedder(), summarizer=ExtractiveSummarizer() if tree else None) as monograph:
        monograph.sync(secrets)
        (secrets / "secret.txt").unlink()
        (secrets / "diary.txt").write_text("On Monday it rained.")
        plain = monograph.sync(secrets)
        assert (plain.removed, plain.changed) == (1, 1)
        assert b"kumquat" in bytes_of(path)
        (secrets / "diary.txt").write_text("On Monday it poured.")
        report = monograph.sync(secrets, forget=True)
        assert (report.changed, report.problems) == (1, ())
        assert has_traces(path) == []
        assert b"rained" not in bytes_of(path)
        before = path.stat().st_ino, monograph.stats().memo
        assert monograph.sync(secrets, forget=True).same == 21
        assert before == (path.stat().st_ino, monograph.stats().memo)
        assert monograph.check() == []


def test_always_forget_applies_to_every_removal(path: Path, secrets: Path) -> None:
    with Monograph.open(path, HashEmbedder()) as monograph:
        assert not monograph.files.always_forget
        monograph.files.always_forget = True
        monograph.sync(secrets)
    with Monograph.open(path, HashEmbedder()) as monograph:
        assert monograph.files.always_forget
        (secrets / "secret.txt").unlink()
        (secrets / "diary.txt").write_text("On Monday it rained.")
        monograph.sync(secrets)
        assert has_traces(path) == []
        monograph.add([Document(SECRET, id="mine")])
        monograph.add([Document("Nothing to see.", id="mine")])
        assert has_traces(path) == []
        monograph.put([Document(id="p", passages=(Passage(SECRET, id="p-1"), Passage("Tea", id="p-2")))])
        monograph.remove_chunks(["p-1"])
        assert has_traces(path) == []
        for forget in (None, False):
            monograph.add([Document(SECRET, id="mine")])
            monograph.remove(["mine"], forget=forget)
            assert (has_traces(path) == []) == (forget is None)
        monograph.files.always_forget = False
        monograph.add([Document("kumquat-998172635", id="mine")])
        monograph.remove(["mine"])
        assert b"kumquat" in bytes_of(path)
        assert monograph.check() == []


def test_sync_that_cannot_forget_reports_it_and_the_next_write_forgets(
    path: Path, monograph: Monograph, secrets: Path
) -> None:
    monograph.sync(secrets)
    (secrets / "secret.txt").unlink()
    (secrets / "diary.txt").unlink()
    with an_older_state_read(monograph):
        report = monograph.sync(secrets, forget=True)
        assert report.removed == 2
        assert "still in the bytes" in report.problems[0].reason
        assert "compact" in report.problems[0].hint
        assert len(monograph.add([]).problems) == 1
    assert [one.table for one in monograph.check()] == ["settings"]
    assert has_traces(path) != []
    assert monograph.add([]).problems == ()
    assert has_traces(path) == []
    assert monograph.check() == []


def test_summary_begun_before_forgetting_leaves_no_bytes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A summary, that was begun before, is remembered after the memo was emptied."""
    monkeypatch.setattr(growing, "LOCK_PATIENCE", 0.05)  # The one that forgets gets no turn at the tree.
    secret = "The kumquat of Vladivostok was hidden under the third emerald floorboard by Quixote."
    extractive = ExtractiveSummarizer()

    class Slow:
        key, spec = extractive.key, extractive.spec
        asked = 0

        def summarize(self, texts: Sequence[str], max_tokens: int) -> SummaryText:
            made = extractive.summarize(texts, max_tokens)
            self.asked += 1
            if any("kumquat" in text for text in texts) and other.search("kumquat", 1, how="lexical"):
                other.remove(["secret"], forget=True)
                assert b"kumquat" not in bytes_of(path)
            return made

    summarizer = Slow()
    with (
        Monograph.open(path, HashEmbedder()) as other,
        Monograph.open(path, HashEmbedder(), summarizer=summarizer) as monograph,
    ):
        monograph.add([*filler(30), Document(secret, id="secret")])
        assert not monograph.search("kumquat", 1, how="lexical")
        assert summarizer.asked
        assert b"kumquat" not in bytes_of(path)
        assert monograph.check() == []


def test_failed_removal_leaves_nothing_to_forget(monograph: Monograph) -> None:
    monograph.add([Document(SECRET, id="secret")])
    with pytest.raises(NotFound):
        monograph.remove(["nobody"], forget=True)
    assert monograph.check() == []


@pytest.mark.parametrize("finish", [Monograph.compact, lambda one: one.check(repair=True), lambda one: one.add([])])
def test_removal_beside_a_reader_raises_and_is_finished_later(
    path: Path, monograph: Monograph, finish: Callable[[Monograph], object]
) -> None:
    copy = path.with_name("another.mono")
    monograph.add([Document(SECRET, id="secret"), *filler(20)])
    with an_older_state_read(monograph):
        with pytest.raises(BusyFile, match="process"):
            monograph.remove(["secret"], forget=True)
        monograph.backup(copy)
    assert monograph.search("emeralds", how="lexical") == []
    assert [(one.table, one.repairable) for one in monograph.check()] == [("settings", True)]
    assert b"kumquat" in bytes_of(path)
    finish(monograph)
    assert monograph.check() == []
    assert has_traces(path) == has_traces(copy) == []
    with Monograph.open(copy, HashEmbedder()) as copied:
        assert copied.check() == []
        assert len(copied.documents()) == 20
