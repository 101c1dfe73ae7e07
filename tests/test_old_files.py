"""Files that older versions wrote are opened, migrated, searched and changed."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from monograph import Document, Monograph, Valid
from monograph.derive.extract.pattern import PatternExtractor
from monograph.errors import DamagedFile
from monograph.store import schema
from monograph.vectors import design

OLD_FILES = sorted((Path(__file__).parent / "data").glob("format-*.mono"))


def test_there_is_a_file_of_every_format() -> None:
    assert [path.stem for path in OLD_FILES] == [f"format-{number}" for number in range(1, schema.newest_format() + 1)]


@pytest.mark.parametrize("old", OLD_FILES, ids=lambda path: path.stem)
def test_an_old_file_works(old: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(old, tmp_path))
    with Monograph.open(path) as monograph:
        assert monograph.stats().format == schema.newest_format()
        assert monograph.check() == []
        assert monograph.search("INV-7", 1)[0].chunk.document_id == "keeper"
        assert monograph.search("who wound the clock?", 1, how="dense")[0].metadata == {"year": 1968}
        assert monograph.search("天文台", 1, how="lexical")[0].chunk.id == "p2"
        assert monograph.chunks("ready")[0].metadata == {"page": 1}
        monograph.add([Document("A new note about the clock.", id="new")])
        assert monograph.remove(["keeper"]).removed == 1
        assert monograph.check() == []


def test_the_graph_of_older_patterns_is_made_anew_by_the_next_write(tmp_path: Path) -> None:
    path = Path(shutil.copy(OLD_FILES[3], tmp_path))
    with Monograph.open(path) as monograph:
        assert monograph.stats().extractor == "pattern/2"
        assert monograph.search("who wound the clock?", 1)
        assert monograph.stats().extractor == "pattern/2"
        texts = {document.id: monograph.document(document.id) for document in monograph.documents()}
        monograph.add([Document("Eleven men wound the clock of Anna Calder.", id="new")])
        assert monograph.stats().extractor == monograph.graph.extractor.key != "pattern/2"
        assert monograph.check() == []
        fresh = tmp_path / "fresh.mono"
        with Monograph.open(fresh) as made:
            made.add([*texts.values(), Document("Eleven men wound the clock of Anna Calder.", id="new")])
            named = [(one.name, one.kind, one.names) for one in made.graph.entities(1_000)]
        assert [(one.name, one.kind, one.names) for one in monograph.graph.entities(1_000)] == named
    with Monograph.open(path, extractor=PatternExtractor()) as monograph:
        assert monograph.check() == []


@pytest.mark.plain("it is changed by Python's own SQLite")
def test_names_that_were_to_be_resolved_by_signature_are_by_name(tmp_path: Path) -> None:
    path = Path(shutil.copy(OLD_FILES[3], tmp_path))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "INSERT INTO unresolved SELECT min(signature) FROM names UNION SELECT max(signature) FROM names"
        )
        marked = connection.execute(
            "SELECT name FROM names WHERE signature IN (SELECT signature FROM unresolved) ORDER BY name"
        ).fetchall()
    assert len(marked) >= 2
    with Monograph.open(path, read_only=False) as monograph, monograph._file.database.read() as connection:
        assert connection.execute("SELECT * FROM unresolved").fetchall() == marked


@pytest.mark.parametrize("old", OLD_FILES[1:], ids=lambda path: path.stem)
def test_the_codes_of_vectors_are_owed_until_they_are_made(
    old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(design, "MANY", 2)
    path = Path(shutil.copy(old, tmp_path))

    def stored_as() -> str:
        with monograph._file.database.read() as connection:
            return monograph._file.chunk_index._must(connection).space.design.precision

    def found() -> str:
        return monograph.search("who wound the clock?", 1, how="dense")[0].chunk.document_id

    with Monograph.open(path) as monograph:
        first, before = found(), monograph.stats().owed.vectors
        assert before >= 3
        monograph.add([Document("Herring is sold on the pier.", id="new")])
        assert stored_as() == "int8"
        assert monograph.stats().owed.vectors > before
        assert found() == first
        assert monograph.vectors.build().recoded > before
        assert stored_as() == "bits2"
        assert monograph.stats().owed.vectors == 0
        assert found() == first
        assert monograph.check() == []


@pytest.mark.parametrize("old", OLD_FILES, ids=lambda path: path.stem)
@pytest.mark.plain("it is damaged by Python's own SQLite")
def test_a_file_that_says_it_has_an_older_format(old: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(old, tmp_path))
    for said in range(int(old.stem.rpartition("-")[2])):
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"PRAGMA user_version = {said:d}")
        before = path.read_bytes()
        with pytest.raises(DamagedFile, match=f"not of format {said}, which it says it has"):
            Monograph.open(path)
        assert path.read_bytes() == before


@pytest.mark.parametrize("old", OLD_FILES[:-1], ids=lambda path: path.stem)
@pytest.mark.plain("it is damaged by Python's own SQLite")
def test_a_file_that_says_it_has_the_newest_format(old: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(old, tmp_path))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {schema.newest_format():d}")
    with pytest.raises(DamagedFile), Monograph.open(path) as monograph:
        monograph.add([Document("A new note about the clock.", id="new")])
        monograph.costs()


@pytest.mark.plain("its header is damaged")
def test_a_header_that_sqlite_does_not_know(tmp_path: Path) -> None:
    path = Path(shutil.copy(OLD_FILES[-1], tmp_path))
    data = bytearray(path.read_bytes())
    data[44:48] = (99).to_bytes(4, "big")  # SQLite's schema format.
    path.write_bytes(data)
    with pytest.raises(DamagedFile, match="unsupported file format"):
        Monograph.open(path)


def test_what_a_file_of_format_6_holds_beside(tmp_path: Path) -> None:
    with Monograph.open(Path(shutil.copy(OLD_FILES[5], tmp_path))) as monograph:
        assert [(one.model, one.tokens_in, one.tokens_out) for one in monograph.costs()] == [
            ("openai/small/0.0", 120, 30)
        ]
        assert [(one.source, one.label, one.target) for one in monograph.graph.told().relations] == [
            ("clock", "IN", "tower")
        ]


def test_what_a_file_of_format_7_holds_beside(tmp_path: Path) -> None:
    with Monograph.open(Path(shutil.copy(OLD_FILES[6], tmp_path))) as monograph:
        assert monograph.settings.history
        assert [one.valid.since for one in monograph.versions("lamp")] == [1_770_000_000, 1_780_000_000]
        past = monograph.as_of(1_775_000_000)
        assert [hit.metadata for hit in past.search("the lamp of the pier", 1)] == [{"year": 1970}]
        assert [one.valid for one in monograph.versions("bench")] == [Valid(1_780_500_000, 1_781_000_000)]
