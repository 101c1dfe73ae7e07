"""Exports contain everything, and importing an export gives the same file."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Document, Monograph, Passage, Progress
from monograph.errors import DamagedFile, InputError, InvalidDocument, SourceError
from monograph.values import Place, Section
from support.forks import run
from support.models import HashEmbedder
from support.properties import examples
from support.raw_sql import connected

ALL = {
    "manifest.json",
    "documents.jsonl",
    "chunks.jsonl",
    "vectors.npy",
    "entities.jsonl",
    "mentions.jsonl",
    "links.jsonl",
}
PROSE = "Mrs Grubb repaired the boiler in Obermatt. Tobias Renk paid her on 4 May 1963. " * 12
VECTOR = np.array([3.0, 4.0, 0.0, 0.0], dtype=np.float32)
DOCUMENTS = [
    Document(PROSE, id="a", title="Boiler", uri="notes/boiler.md", metadata={"year": 1963, "tags": ["paid", None]}),
    Document(
        f"# One\n\n{PROSE}\n\n# Two\n\n{PROSE}",
        id="b",
        sections=(Section(0, ("One",)), Section(7 + len(PROSE), ("Two",))),
        places=(Place(0, page=1, boundary=True), Place(400, page=2, boundary=True)),
    ),
    Document(id="c", passages=(Passage("The first, made.", "p1", {"n": 1}), Passage("The second.", "p2"))),
    Document(" \n", id="d", title="Nothing in it"),
]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Monograph]:
    with Monograph.open(tmp_path / "a.mono", HashEmbedder(4)) as opened:
        opened.add(DOCUMENTS)
        opened.put([Document(id="e", passages=(Passage("It came with its vector.", "given", vector=VECTOR),))])
        yield opened


@pytest.fixture
def exported(archive: Monograph, tmp_path: Path) -> Path:
    archive.export(tmp_path / "out")
    return tmp_path / "out"


def test_export_writes_documents_chunks_vectors_and_graph(archive: Monograph, exported: Path) -> None:
    assert {path.name for path in exported.iterdir()} == ALL
    told = lines(exported / "documents.jsonl")
    assert [one["id"] for one in told] == ["a", "b", "c", "d", "e"]
    for one in told:
        stored = archive.document(one["id"])
        assert (one["text"], one["title"], one["uri"]) == (stored.text, stored.title, stored.uri)
        assert one["metadata"] == dict(stored.metadata)
    pieces = lines(exported / "chunks.jsonl")
    vectors = np.load(exported / "vectors.npy", allow_pickle=False)
    assert (vectors.dtype, vectors.shape) == (np.float32, (len(pieces), 4))
    held = {one.chunk.id: one for one in archive.fetch(vectors=True)}
    texts = {one["id"]: one["text"] for one in told}
    assert {one["id"] for one in pieces} == set(held)
    for one in pieces:
        stored_chunk = held[one["id"]]
        assert one["text"] == texts[one["document"]][one["start"] : one["end"]] == stored_chunk.chunk.text
        assert one["metadata"] == dict(stored_chunk.chunk.metadata)
        assert np.array_equal(vectors[one["vector"]], stored_chunk.vector)  # type: ignore[arg-type]
    assert [one["id"] for one in pieces if one.get("given")] == ["given"]
    assert {one["metadata"].get("page") for one in pieces} == {None, 1, 2}


def test_exported_graph_equals_the_graph_of_the_file(archive: Monograph, exported: Path) -> None:
    entities = {one["id"]: one for one in lines(exported / "entities.jsonl")}
    shown = {one.id: one for one in archive.graph.entities(10_000)}
    assert {(one["name"], one["kind"], one["chunks"]) for one in entities.values()} == {
        (one.name, one.kind, one.chunks) for one in shown.values()
    }
    graph = archive.graph.to_networkx()
    pieces = {one["id"] for one in lines(exported / "chunks.jsonl")}
    mentions = {(one["entity"], one["chunk"]) for one in lines(exported / "mentions.jsonl")}
    assert mentions == {
        tuple(sorted(ends, key=lambda end: end in pieces)) for ends in graph.edges if set(ends) & pieces
    }
    links = {frozenset((one["source"], one["target"])) for one in lines(exported / "links.jsonl")}
    assert links == {frozenset(ends) for ends in graph.edges if not set(ends) & pieces}
    assert links


def test_importing_an_export_asks_no_model(exported: Path, tmp_path: Path) -> None:
    embedder = HashEmbedder(4)
    with Monograph.open(tmp_path / "b.mono", embedder) as again:
        report = again.files.take_over("jsonl", exported)
        assert (report.added, report.problems) == (5, ())
        assert report.embedded == 0
        assert not any("." in text for text in embedder.texts), "of names, and of no passage"
        assert again.check() == []
        assert again.document("b").sections == DOCUMENTS[1].sections
        again.export(tmp_path / "again")
        assert contents(tmp_path / "again") == contents(exported)
        assert again.files.take_over("jsonl", exported).same == 5


def test_importing_an_export_with_another_embedder_embeds_again(exported: Path, tmp_path: Path) -> None:
    for name, embedder, vectors in (("other", HashEmbedder(8), True), ("same", HashEmbedder(4), False)):
        with Monograph.open(tmp_path / f"{name}.mono", embedder) as again:
            report = again.files.take_over("jsonl", exported, vectors=vectors)
            assert (report.added, report.problems, report.reused) == (5, (), 0)
            assert "It came with its vector." in embedder.texts
            assert again.document("a").metadata == DOCUMENTS[0].metadata


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=60)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda some: st.lists(some, max_size=3) | st.dictionaries(TEXTS, some, max_size=3),
    max_leaves=6,
)


@st.composite
def documents(draw: st.DrawFn) -> list[Document]:
    found = []
    for number in range(draw(st.integers(1, 4))):
        text, metadata = draw(TEXTS), draw(st.dictionaries(TEXTS, JSON, max_size=3))
        own = draw(st.lists(TEXTS.filter(str.strip), max_size=3))
        vectors = [draw(st.none() | st.just(VECTOR)) for _ in own]
        passages = tuple(
            Passage(one, f"{number}/{at}", {"at": at}, vector)
            for at, (one, vector) in enumerate(zip(own, vectors, strict=True))
        )
        found.append(Document("" if own else text, f"d{number}", draw(TEXTS), text, metadata, passages=passages))
    return found


@settings(max_examples=examples(12))
@given(some=documents())
def test_export_and_import_preserve_any_documents(
    some: list[Document], tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("any")
    with (
        Monograph.open(place / "a.mono", HashEmbedder(4)) as one,
        Monograph.open(place / "b.mono", HashEmbedder(4)) as two,
    ):
        one.add(some)
        one.export(place / "out")
        assert two.files.take_over("jsonl", place / "out").problems == ()
        two.export(place / "again")
        assert contents(place / "out") == contents(place / "again")


def test_passage_offsets_must_match_the_text() -> None:
    text = "One. Two. Three."
    made = Document(text, passages=(Passage("One. Two.", start=0), Passage("Two. Three.", start=5)))
    assert made.text == text
    for wrong in (Passage("Two.", start=4), Passage("Two.", start=-1), Passage("Two."), Passage("Two.", start=99)):
        with pytest.raises(InvalidDocument, match="is not in its text"):
            Document(text, passages=(Passage("One.", start=0), wrong))
    with pytest.raises(InvalidDocument):
        Document(text, passages=(Passage("One.", start="0"),))  # type: ignore[arg-type]


def test_export_refuses_an_existing_folder(archive: Monograph, exported: Path, tmp_path: Path) -> None:
    before = contents(exported)
    with pytest.raises(InputError, match="already exists"):
        archive.export(exported)
    archive.remove(["a"])
    archive.export(exported, overwrite=True)
    assert contents(exported).keys() == before.keys()
    assert [one["id"] for one in lines(exported / "documents.jsonl")] == ["b", "c", "d", "e"]
    (exported / "mine.txt").write_text("of mine")
    with pytest.raises(InputError, match=r"contains 'mine.txt'"):
        archive.export(exported, overwrite=True)
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(exported)
    for place in (tmp_path / "file", tmp_path / "link", tmp_path / "missing" / "out", Path("/")):
        with pytest.raises(InputError):
            archive.export(place, overwrite=True)
    assert (exported / "mine.txt").read_text() == "of mine"


def test_interrupted_export_leaves_no_folder(archive: Monograph, tmp_path: Path) -> None:
    def stop(progress: Progress) -> None:
        raise KeyboardInterrupt

    held = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(KeyboardInterrupt):
        archive.export(tmp_path / "out", progress=stop)
    assert sorted(path.name for path in tmp_path.iterdir()) == held


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE texts SET text = replace(text, 'boiler', 'kettle')",
        "UPDATE texts SET text = CAST(x'ff' AS TEXT)",
        "UPDATE chunks SET metadata = '[]'",
        """UPDATE chunks SET "end" = 9999""",
        "UPDATE memo SET value = zeroblob(16) WHERE kind = 'vector'",
        "DELETE FROM texts",
    ],
)
def test_export_refuses_a_damaged_file(archive: Monograph, tmp_path: Path, statement: str) -> None:
    path = archive.path
    archive.close()
    with closing(connected(path)) as connection:
        connection.execute(statement)
    with Monograph.open(path, HashEmbedder(4)) as damaged, pytest.raises(DamagedFile, match=r"a\.mono"):
        damaged.export(tmp_path / "out")
    assert not [one for one in tmp_path.iterdir() if not one.name.startswith("a.mono")]


def spoilt_vectors(path: Path) -> None:
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)


SPOILT = {
    "no manifest": lambda folder: (folder / "manifest.json").unlink(),
    "no json": lambda folder: (folder / "manifest.json").write_text("{"),
    "a list": lambda folder: (folder / "manifest.json").write_text("[]"),
    "of later": lambda folder: rewritten(folder, "manifest.json", '"export": 1', '"export": 2'),
    "a count below 0": lambda folder: rewritten(folder, "manifest.json", '"dimension": 4', '"dimension": -4'),
    "another dimension": lambda folder: rewritten(folder, "manifest.json", '"dimension": 4', '"dimension": 5'),
    "no documents": lambda folder: (folder / "documents.jsonl").unlink(),
    "half a line": lambda folder: rewritten(folder, "documents.jsonl", '{"id": "b"', '{"id": "b'),
    "nested": lambda folder: (folder / "documents.jsonl").write_text("[" * 100_000),
    "bytes": lambda folder: (folder / "documents.jsonl").write_bytes(b'{"id": "\xff"}'),
    "a number for an id": lambda folder: rewritten(folder, "documents.jsonl", '{"id": "b"', '{"id": 7'),
    "sections": lambda folder: rewritten(folder, "documents.jsonl", '"sections": []', '"sections": 7'),
    "another order": lambda folder: rewritten(folder, "chunks.jsonl", '"document": "b"', '"document": "z"'),
    "no such vector": lambda folder: rewritten(folder, "chunks.jsonl", '"vector": 0', '"vector": 1000'),
    "a text for a vector": lambda folder: rewritten(folder, "chunks.jsonl", '"vector": 0', '"vector": "0"'),
    "no vectors": lambda folder: (folder / "vectors.npy").unlink(),
    "a pickle": lambda folder: spoilt_vectors(folder / "vectors.npy"),
    "half of them": lambda folder: (folder / "vectors.npy").write_bytes((folder / "vectors.npy").read_bytes()[:200]),
    "none at all": lambda folder: (folder / "vectors.npy").write_bytes(b""),
    "not finite": lambda folder: (folder / "vectors.npy").write_bytes(
        (folder / "vectors.npy").read_bytes()[:-4] + np.float32("nan").tobytes()
    ),
}


def rewritten(folder: Path, name: str, old: str, new: str) -> None:
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1))


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_importing_a_broken_export_names_the_bad_file(exported: Path, tmp_path: Path, spoil: Any) -> None:
    spoil(exported)
    with Monograph.open(tmp_path / "b.mono", HashEmbedder(4)) as again:
        with pytest.raises(SourceError, match="out") as told:
            again.files.take_over("jsonl", exported)
        assert told.value.hint
        assert again.check() == []


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("chunks.jsonl", '"start": 0', '"start": 1'),
        ("chunks.jsonl", '"start": 0', '"start": "x"'),
        ("documents.jsonl", '"metadata": {"year"', '"metadata": [1], "x": {"year"'),
        ("documents.jsonl", '"text": "', '"text": "\\ud800'),
    ],
)
def test_importing_reports_each_invalid_record(exported: Path, tmp_path: Path, name: str, old: str, new: str) -> None:
    rewritten(exported, name, old, new)
    with Monograph.open(tmp_path / "b.mono", HashEmbedder(4)) as again:
        report = again.files.take_over("jsonl", exported)
        assert report.added == 4
        (problem,) = report.problems
        assert problem.uri.startswith("line 1 of ")


def test_importing_an_export_reports_missing_lines(exported: Path, tmp_path: Path) -> None:
    path = exported / "documents.jsonl"
    path.write_text("".join(line for line in path.read_text().splitlines(keepends=True) if '"id": "d"' not in line))
    with Monograph.open(tmp_path / "b.mono", HashEmbedder(4)) as again:
        report = again.files.take_over("jsonl", exported)
        assert report.added == 4
        assert [one.uri for one in report.problems] == [str(exported)]


@pytest.mark.long
def test_export_and_import_commands_round_trip(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "boiler.md").write_text("# Boiler\n\nThe boiler is serviced every October by Mrs Grubb.")
    file, out = tmp_path / "a.mono", tmp_path / "out"
    run("sync", file, tmp_path / "texts")
    told = json.loads(run("export", file, out, "--json"))
    assert (told["documents"], told["chunks"], told["graph"]) == (1, 1, True)
    assert "already exists" in run("export", file, out, code=2)
    assert "0 entities" not in run("export", file, out, "--overwrite")
    assert "cannot be imported" in run("import", "zip", out, tmp_path / "b.mono", code=2)
    assert not (tmp_path / "b.mono").exists()
    assert json.loads(run("import", "jsonl", out, tmp_path / "b.mono", "--json"))["reused"] == 1
    assert "serviced" in run("search", tmp_path / "b.mono", "boiler", "-k", 1)
    shutil.rmtree(out)
    assert json.loads(run("export", file, out, "--no-graph", "--json"))["graph"] is False
    assert {path.name for path in out.iterdir()} == ALL - {"entities.jsonl", "mentions.jsonl", "links.jsonl"}


def test_exported_given_vectors_are_imported_as_given(tmp_path: Path) -> None:
    with Monograph.open(tmp_path / "a.mono") as one, Monograph.open(tmp_path / "b.mono") as two:
        one.put([Document(id="e", passages=(Passage("It came with its vector.", "given", vector=VECTOR),))])
        one.export(tmp_path / "out")
        assert two.files.take_over("jsonl", tmp_path / "out").added == 1
        assert two.stats().embedder_spec == "given:4"
        assert [hit.chunk.id for hit in two.search("x", vector=VECTOR, how="dense")] == ["given"]
