"""Imports from Chroma, LightRAG, GraphRAG and RAGdb, and errors for other files."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from monograph import Monograph
from monograph.errors import InputError, SourceError
from monograph.values import Report
from support.models import HashEmbedder

TEXTS = {"a": "Mrs Grubb repaired the boiler.", "b": "The comet was seen at noon.", "c": "Plate 4417 was lost."}


def taken(tmp_path: Path, kind: str, source: Path, **options: Any) -> tuple[Monograph, Report]:
    made = Monograph.open(tmp_path / f"{kind}.mono")
    return made, made.files.take_over(kind, source, **options)


class Chroma:
    """A folder that Chroma wrote."""

    def __init__(self, folder: Path) -> None:
        chromadb = pytest.importorskip("chromadb", reason="the extra chroma is not installed")
        settings = chromadb.config.Settings(anonymized_telemetry=False)
        self.folder = folder
        self.client = chromadb.PersistentClient(str(folder), settings=settings)
        self.vectors = np.eye(3, 4, dtype=np.float32) + np.float32(0.25)

    def fill(self, name: str = "notes") -> Chroma:
        # The collection has Chroma's default embedding function, which is not called because the vectors are given.
        self.client.create_collection(name).add(
            ids=list(TEXTS),
            documents=list(TEXTS.values()),
            metadatas=[{"source": f"notes/{name}.md", "page": at, "paid": at == 1} for at, name in enumerate(TEXTS)],
            embeddings=self.vectors,
        )
        return self


@pytest.fixture
def chroma(tmp_path: Path) -> Chroma:
    return Chroma(tmp_path / "chroma").fill()


def test_importing_a_chroma_collection_keeps_texts_metadata_and_vectors(chroma: Chroma, tmp_path: Path) -> None:
    made, report = taken(tmp_path, "chroma", chroma.folder)
    with made:
        assert (report.added, report.embedded, report.problems) == (3, 0, ())
        held = {one.chunk.id: one for one in made.fetch(vectors=True)}
        assert {name: one.chunk.text for name, one in held.items()} == TEXTS
        assert held["b"].metadata == {"source": "notes/b.md", "page": 1, "paid": True}
        assert (held["b"].uri, held["b"].title) == ("notes/b.md", "b.md")
        for vector, one in zip(chroma.vectors, (held[name] for name in TEXTS), strict=True):
            assert one.vector is not None
            assert np.allclose(one.vector, vector / np.linalg.norm(vector))
        assert made.stats().embedder_spec == "given:4"
        asked = chroma.client.get_collection("notes").query(query_embeddings=[[0.9, 0.1, 0.3, 0.2]], n_results=3)
        found = made.search("?", vector=[0.9, 0.1, 0.3, 0.2], how="dense", k=3)
        assert [hit.chunk.id for hit in found] == asked["ids"][0]
        assert [hit.chunk.id for hit in made.search("comet", k=1, how="lexical", where={"page": 1})] == ["b"]
        assert made.check() == []
        assert made.files.take_over("chroma", chroma.folder).same == 3


def test_importing_from_chroma_without_vectors_embeds_every_document(chroma: Chroma, tmp_path: Path) -> None:
    made, report = taken(tmp_path, "chroma", chroma.folder, vectors=False)
    with made:
        assert (report.added, report.embedded) == (3, 3)
        with pytest.raises(InputError, match="4 values"):
            made.files.take_over("chroma", chroma.folder)
    with Monograph.open(tmp_path / "same.mono", HashEmbedder(4)) as own:
        assert own.files.take_over("chroma", chroma.folder).added == 3
        assert own.stats().embedder == "hash/4"


def test_importing_from_chroma_needs_a_name_if_there_are_several_collections(chroma: Chroma, tmp_path: Path) -> None:
    other = chroma.client.create_collection("other", embedding_function=None)
    other.add(ids=["x", "y"], embeddings=[[1.0, 0.0], [0.0, 1.0]], documents=["Only this.", " "])
    with Monograph.open(tmp_path / "n.mono") as made:
        with pytest.raises(InputError, match="2 collections") as told:
            made.files.take_over("chroma", chroma.folder)
        assert "notes, other" in told.value.hint
        with pytest.raises(InputError, match="no collection 'third'"):
            made.files.take_over("chroma", chroma.folder, collection="third")
        report = made.files.take_over("chroma", chroma.folder, collection="other")
        assert report.added == 1
        assert [("'y'" in one.uri, one.reason) for one in report.problems] == [(True, "it has no text")]


def test_importing_from_a_folder_that_is_not_chromas_raises(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "chroma.sqlite3").write_bytes(b"no database" * 500)
    with Monograph.open(tmp_path / "n.mono") as made:
        for name in ("missing", "empty"):
            with pytest.raises(SourceError, match=name):
                made.files.take_over("chroma", tmp_path / name)
        pytest.importorskip("chromadb", reason="the extra chroma is not installed")
        with pytest.raises(SourceError, match="cannot be read by Chroma"):
            made.files.take_over("chroma", tmp_path / "broken")


FULL = {
    f"doc-{name}": {"content": text, "file_path": f"notes/{name}.md" if name != "c" else "unknown_source"}
    for name, text in TEXTS.items()
}
CHUNKS = {
    "chunk-2": {"content": "It was lost.", "full_doc_id": "doc-a", "chunk_order_index": 1, "file_path": "notes/a.md"},
    "chunk-1": {"content": "Plate 4417.", "full_doc_id": "doc-a", "chunk_order_index": 0, "file_path": "notes/a.md"},
}


def test_importing_from_lightrag_keeps_full_documents(tmp_path: Path) -> None:
    (tmp_path / "kv_store_full_docs.json").write_text(json.dumps(FULL))
    (tmp_path / "kv_store_text_chunks.json").write_text(json.dumps(CHUNKS))
    made, report = taken(tmp_path, "lightrag", tmp_path)
    with made:
        assert (report.added, report.problems) == (3, ())
        assert {one.id: (one.uri, one.title) for one in made.documents()} == {
            "doc-a": ("notes/a.md", "a.md"),
            "doc-b": ("notes/b.md", "b.md"),
            "doc-c": ("", ""),
        }
        assert made.document("doc-b").text == TEXTS["b"]


def test_importing_from_lightrag_falls_back_to_chunks(tmp_path: Path) -> None:
    (tmp_path / "kv_store_text_chunks.json").write_text(json.dumps(CHUNKS))
    made, report = taken(tmp_path, "lightrag", tmp_path)
    with made:
        assert report.added == 1
        assert [chunk.id for chunk in made.chunks("doc-a")] == ["chunk-1", "chunk-2"]
        assert made.document("doc-a").text == "Plate 4417.\n\nIt was lost."


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("kv_store_full_docs.json", "{"),
        ("kv_store_full_docs.json", "[]"),
        ("kv_store_full_docs.json", '{"a": 7}'),
        ("kv_store_full_docs.json", '{"a": {"content": 7}}'),
        ("kv_store_full_docs.json", '{"a": {"content": "x", "file_path": ["p"]}}'),
        ("kv_store_text_chunks.json", '{"a": {"content": "x", "chunk_order_index": "1"}}'),
        ("kv_store_text_chunks.json", '{"a": {"content": "x", "full_doc_id": 7}}'),
        ("other.json", "{}"),
    ],
)
def test_importing_from_a_folder_that_is_not_lightrags_raises(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with Monograph.open(tmp_path / "n.mono") as made, pytest.raises(SourceError) as told:
        made.files.take_over("lightrag", tmp_path)
    assert str(tmp_path) in told.value.message
    assert told.value.hint


def test_importing_from_graphrag_keeps_documents(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    documents = {
        "id": list(TEXTS),
        "human_readable_id": [0, 1, 2],
        "title": [f"{name}.txt" for name in TEXTS],
        "text": list(TEXTS.values()),
        "text_unit_ids": [["u1"], ["u2"], []],
        "creation_date": ["2026-01-01", "2026-01-02", None],
        "metadata": ['{"year": 1963, "text": "no"}', None, "no JSON"],
    }
    units = {"id": ["u1", "u2"], "text": ["Mrs Grubb", " "], "document_ids": [["a"], ["b"]]}
    parquet.write_table(pyarrow.table(documents), tmp_path / "documents.parquet")
    parquet.write_table(pyarrow.table(units), tmp_path / "text_units.parquet")
    made, report = taken(tmp_path, "graphrag", tmp_path)
    with made:
        assert (report.added, report.problems) == (3, ())
        assert made.document("a").text == TEXTS["a"]
        assert made.document("a").metadata == {"year": 1963, "creation_date": "2026-01-01"}
        assert made.document("c").metadata == {"metadata": "no JSON"}
        (tmp_path / "documents.parquet").unlink()
        of_units = made.files.take_over("graphrag", tmp_path)
        assert (of_units.added, [one.reason for one in of_units.problems]) == (1, ["it has no text"])
        whole = (tmp_path / "text_units.parquet").read_bytes()
        for spoilt in (b"", b"PAR1" * 20, whole[:-10], whole[:20] + b"\xff" * 30 + whole[50:]):
            (tmp_path / "text_units.parquet").write_bytes(spoilt)
            with pytest.raises(SourceError, match=r"text_units\.parquet"):
                made.files.take_over("graphrag", tmp_path)
        (tmp_path / "text_units.parquet").unlink()
        with pytest.raises(SourceError, match=r"documents\.parquet"):
            made.files.take_over("graphrag", tmp_path)


RAGDB = """CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT UNIQUE NOT NULL, file_hash TEXT, media_type TEXT NOT NULL,
    mime_type TEXT, content TEXT NOT NULL, vector BLOB, metadata TEXT, preview TEXT, updated_at TEXT NOT NULL)"""
"""Table of documents of RAGdb 1.0.6."""


def ragdb(path: Path, *rows: tuple[Any, ...]) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(RAGDB)
        connection.executemany(
            "INSERT INTO documents (path, content, media_type, metadata, updated_at) VALUES (?, ?, ?, ?, '2026')", rows
        )
        connection.commit()
    return path


def test_importing_from_ragdb_keeps_documents(tmp_path: Path) -> None:
    path = ragdb(
        tmp_path / "r.ragdb",
        ("/notes/a.md", TEXTS["a"], "text", '{"size": 12}'),
        ("/notes/b.md", TEXTS["b"], "text", "no JSON"),
        ("/notes/c.md", b"\xff\xfe", "text", None),
    )
    before = path.read_bytes()
    made, report = taken(tmp_path, "ragdb", path)
    with made:
        assert report.added == 2
        assert [one.reason for one in report.problems] == ["its text is not UTF-8"]
        assert made.document("/notes/a.md").text == TEXTS["a"]
        assert made.document("/notes/a.md").metadata == {"media_type": "text", "updated_at": "2026", "size": 12}
        assert made.document("/notes/b.md").title == "b.md"
    assert path.read_bytes() == before


def test_importing_reads_a_file_that_ragdb_wrote(tmp_path: Path) -> None:
    rival = pytest.importorskip("ragdb", reason="the extra bench is not installed").RAGdb(str(tmp_path / "r.ragdb"))
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "boiler.txt").write_text(TEXTS["a"])
    rival.ingest_folder(str(tmp_path / "notes"))
    rival.conn.close()
    made, report = taken(tmp_path, "ragdb", tmp_path / "r.ragdb")
    with made:
        assert (report.added, report.problems) == (1, ())
        assert [TEXTS["a"] in made.document(one.id).text for one in made.documents()] == [True]


def test_importing_from_a_file_that_is_not_ragdbs_raises(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database")
    with closing(sqlite3.connect(tmp_path / "other")) as connection:
        connection.execute("CREATE TABLE documents (id, path)")
    with closing(sqlite3.connect(tmp_path / "view")) as connection:
        connection.execute(
            """CREATE VIEW documents AS WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n)
            SELECT id, '' AS path, '' AS content, '' AS media_type, '' AS mime_type, '' AS metadata, '' AS updated_at
            FROM n"""
        )
    with Monograph.open(tmp_path / "n.mono") as made:
        for name in ("text", "other", "view", "missing", "."):
            with pytest.raises(SourceError) as told:
                made.files.take_over("ragdb", tmp_path / name)
            assert told.value.hint


def test_importing_from_an_unknown_program_raises(tmp_path: Path) -> None:
    with Monograph.open(tmp_path / "n.mono") as made:
        with pytest.raises(InputError, match="cannot be imported") as told:
            made.files.take_over("pinecone", tmp_path)
        assert "lightrag" in told.value.hint
        with pytest.raises(InputError, match="no collections"):
            made.files.take_over("lightrag", tmp_path, collection="notes")


HIDDEN = """
import sys
sys.modules["chromadb"] = sys.modules["pyarrow"] = None  # as if they were not installed
from monograph import Monograph
from monograph.errors import MissingExtra
with Monograph.open("n.mono") as made:
    for kind in ("chroma", "graphrag"):
        try:
            made.files.take_over(kind, ".")
        except MissingExtra as error:
            print(kind, error.hint)
"""


def test_importing_names_the_missing_extra(tmp_path: Path) -> None:
    for name in ("chroma.sqlite3", "documents.parquet"):
        (tmp_path / name).touch()
    done = subprocess.run([sys.executable, "-c", HIDDEN], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        'chroma pip install "monograph[chroma]"',
        'graphrag pip install "monograph[parquet]"',
    ], done.stderr
