"""Documents that are removed are gone from every result; forgotten ones from the bytes of the file."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from embedders import HashEmbedder
from monograph import Document, Monograph, Passage
from monograph.errors import BusyFile
from monograph.store.database import Database

SECRET = (
    "Zanzibar Quixote hid 4711 emeralds beneath Vladivostok while Xylophonia watched. The password is kumquat-9981."
)
TRACES = [b"zanzibar", b"quixote", b"emerald", b"vladivostok", b"xylophonia", b"kumquat", b"9981", b"anzi", b"kumq"]


def bytes_of(path: Path) -> bytes:
    """All bytes of the file and whatever lies beside it, in lower case."""
    return b"".join(one.read_bytes() for one in sorted(path.parent.glob(f"*{path.stem}*"))).lower()


def filler(count: int) -> list[Document]:
    return [
        Document(f"Ordinary note {n} about gardens, tea and bicycles. " * (1 + n % 40), id=f"f{n}")
        for n in range(count)
    ]


def test_removed_documents_are_found_no_more(monograph: Monograph) -> None:
    monograph.add([*filler(5), Document(SECRET, id="secret", title="Emerald file")])
    for how in ("lexical", "tfidf", "dense", "hybrid"):
        assert monograph.search("emeralds Vladivostok kumquat-9981", 1, how=how)[0].chunk.document_id == "secret"
    monograph.remove(["secret"])
    for how in ("lexical", "tfidf", "dense", "hybrid"):
        hits = monograph.search("emeralds Vladivostok kumquat-9981", 50, how=how)
        assert "secret" not in {hit.chunk.document_id for hit in hits}
    assert monograph.check() == []


@pytest.mark.plain("its text is looked for in the bytes")
def test_forgotten_documents_leave_no_bytes(tmp_path: Path) -> None:
    path = tmp_path / "notes.mono"
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
        left = bytes_of(path)
        assert [trace for trace in TRACES if trace in left] == []
        assert needle.lower() not in left
        assert b"gardens" in left
        assert [monograph.document(f"f{n}").text for n in range(200)] == before
        assert monograph.search("bicycles", 3)
        assert monograph.check() == []


@pytest.mark.plain("its text is looked for in the bytes")
def test_removed_first_and_forgotten_with_another(tmp_path: Path) -> None:
    path = tmp_path / "notes.mono"
    with Monograph.open(path, HashEmbedder()) as monograph:
        for round_ in range(12):
            monograph.add([Document(f"{SECRET} version {round_}", id="secret"), *filler(30 + round_)])
            if round_ % 3 == 2:
                monograph.remove(["secret"])
        monograph.add([Document(id="p", passages=(Passage("Kumquat marmalade", id="zanzibar-1"),))])
        monograph.remove(["secret"]) if any(one.id == "secret" for one in monograph.documents()) else None
        assert b"xylophonia" in bytes_of(path)
        monograph.remove(["p"], forget=True)
        left = bytes_of(path)
        assert [trace for trace in TRACES if trace in left] == []
        assert monograph.stats().memo_unused == 0
        assert monograph.check() == []


def test_forgetting_waits_for_no_one_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "notes.mono"
    with Monograph.open(path, HashEmbedder()) as monograph:
        monograph.add([Document(SECRET, id="secret"), *filler(20)])
        monograph._file.database.connection().execute("PRAGMA busy_timeout = 100")
        reader = Database(path)
        with reader.read() as connection:
            connection.execute("SELECT count(*) FROM chunks").fetchone()
            with pytest.raises(BusyFile, match="process"):
                monograph.remove(["secret"], forget=True)
        reader.close()
        assert monograph.search("emeralds", how="lexical") == []
        monograph.compact()
        assert [trace for trace in TRACES if trace in bytes_of(path)] == []


@pytest.mark.long
def test_forgetting_waits_for_who_copies_the_log_back(tmp_path: Path) -> None:
    """SQLite itself does not wait for another checkpoint, as every larger commit may begin one."""
    path = tmp_path / "notes.mono"
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

    with Monograph.open(path, HashEmbedder()) as monograph:
        monograph.add([*(Document(f"{SECRET} {n}", id=f"s{n}") for n in range(20)), *filler(20)])
        writers = [threading.Thread(target=copy_back) for _ in range(2)]
        for writer in writers:
            writer.start()
        try:
            for n in range(20):
                monograph.remove([f"s{n}"], forget=True)
        finally:
            ended.set()
            for writer in writers:
                writer.join()
        monograph.compact()
        assert [trace for trace in TRACES if trace in bytes_of(path)] == []
