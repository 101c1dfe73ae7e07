"""Damage is found, named, and mended where rows allow it; other embedders."""

from __future__ import annotations

from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from monograph import Document, Monograph
from monograph.derive.loading import load_extractor
from monograph.errors import DamagedFile, InputError, ModelMismatch, ModelUnavailable
from monograph.settings import Settings
from monograph.store.file import checksums
from support.models import HashEmbedder
from support.raw_sql import connected

pytestmark = pytest.mark.core


@pytest.fixture
def path(tmp_path: Path, key: str | None) -> Path:
    file = tmp_path / "x.mono"
    with Monograph.open(file, key=key) as monograph:
        monograph.add(
            [Document(f"The {n}th ship carried salt and pepper to Bergen. " * 20, id=f"d{n}") for n in range(20)]
        )
    return file


def change(path: Path, statement: str, key: str | None = None) -> None:
    """Run a statement on a file, schema and all, which must change some rows."""
    with closing(connected(path, key)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        assert connection.execute(statement).rowcount


@pytest.fixture
def synced(path: Path, folder: Path) -> Path:
    """The file with the documents of a folder."""
    (folder / "ship.md").write_text("The ship sails at noon.", encoding="utf-8")
    with Monograph.open(path) as monograph:
        monograph.sync(folder)
        assert monograph.check() == []
    return path


@pytest.mark.parametrize(
    ("damage", "table", "mended"),
    [
        ("DELETE FROM vectors WHERE chunk % 3 = 0", "vectors", True),
        ("UPDATE memo SET value = x'0000' WHERE memo % 4 = 0", "vectors", True),
        ("DELETE FROM memo WHERE memo % 4 = 0", "vectors", True),
        ("INSERT INTO vectors VALUES (99999, 1)", "vectors", True),
        ("INSERT INTO costs VALUES ('2026-11-23', 'm', 'answer', 'often', 1, 1)", "costs", True),
        ("INSERT INTO costs VALUES ('2026-11-23', 'm', 'answer', 1, -1, 1)", "costs", True),
        ("INSERT INTO costs VALUES ('soon', 'm', 'answer', 1, 1, 1)", "costs", True),
        ("INSERT INTO words (words) VALUES ('delete-all')", "words", True),
        ("INSERT INTO words (rowid, title, text) VALUES (88888, 'a', 'stray')", "words", True),
        ("DELETE FROM words_data WHERE id > 10", "words", True),
        ("DELETE FROM lengths", "lengths", True),
        ("UPDATE lengths SET counts = 'none'", "lengths", True),
        ("INSERT INTO trigrams (trigrams) VALUES ('delete-all')", "trigrams", True),
        ("DELETE FROM trigrams_data", "trigrams", True),
        ("INSERT INTO texts VALUES (12345678901, 'stray')", "texts", True),
        ("DELETE FROM chunk_graphs WHERE chunk % 3 = 0", "chunk_graphs", True),
        ("UPDATE chunk_graphs SET names = x'00' WHERE chunk % 3 = 0", "chunk_graphs", True),
        ("UPDATE chunk_graphs SET names = substr(names, 8) WHERE chunk = 2", "mentions", True),
        ("UPDATE chunk_graphs SET document = document + 1 WHERE chunk = 2", "chunk_graphs", True),
        ("INSERT INTO chunk_graphs VALUES (99999, 1, x'', x'', x'')", "chunk_graphs", True),
        ("DELETE FROM mentions WHERE chunk % 3 = 0", "mentions", True),
        ("INSERT INTO mentions SELECT name, 99999 FROM names WHERE uses > 0", "mentions", True),
        ("DELETE FROM names WHERE name % 2 = 0", "mentions", True),
        ("UPDATE names SET uses = uses + 1 WHERE name % 2 = 0", "names", True),
        ("UPDATE names SET persons = persons + 1 WHERE name % 2 = 0", "names", True),
        ("UPDATE names SET head = 99999 WHERE name % 2 = 0", "names", True),
        ("INSERT INTO subjects SELECT min(name), 99999, 1, '' FROM names", "subjects", True),
        ("INSERT INTO subjects SELECT 99999, min(document), 1, '' FROM documents", "subjects", True),
        ("INSERT INTO aliases SELECT min(name), max(name), 99999 FROM names", "aliases", True),
        ("DELETE FROM extractions WHERE chunk % 3 = 0", "extractions", True),
        ("INSERT INTO extractions SELECT 99999, min(memo) FROM memo WHERE kind = 'extraction'", "extractions", True),
        ("UPDATE extractions SET memo = 99999 WHERE chunk % 3 = 0", "extractions", True),
        ("UPDATE memo SET value = x'7b' WHERE kind = 'extraction' AND memo % 2 = 0", "extractions", True),
        ("UPDATE memo SET value = x'ff00fe' WHERE kind = 'extraction' AND memo % 2 = 0", "extractions", True),
        ("UPDATE texts SET text = 'short' WHERE block = (SELECT min(block) FROM texts)", "texts", False),
        ('UPDATE chunks SET "end" = 999999 WHERE chunk = 1', "chunks", False),
    ],
)
@pytest.mark.parametrize("key", [None])  # Rows: a key changes nothing of them.
def test_check_finds_damage(path: Path, damage: str, table: str, mended: bool) -> None:
    with Monograph.open(path) as monograph:
        whole = graph_rows(monograph)
    change(path, damage)
    with Monograph.open(path) as monograph:
        findings = monograph.check()
        assert table in {finding.table for finding in findings}
        assert all(finding.repairable for finding in findings) == mended
        left = monograph.check(repair=True)
        assert (left == []) == mended
        if mended:
            assert graph_rows(monograph) == whole
        is_unreadable = not mended and table == "chunks"
        with pytest.raises(DamagedFile, match=f"monograph check {path}") if is_unreadable else nullcontext():
            assert monograph.search("salt and pepper", 3)


@pytest.mark.parametrize("key", [None])
def test_summary_vectors_of_another_length_are_derived_again(path: Path) -> None:
    with Monograph.open(path) as monograph:
        monograph.tree.rebuild()
        made = monograph.tree.outline(layers=3)
    with closing(connected(path)) as connection:
        checksums.register(connection)
        connection.execute(
            """UPDATE memo SET value = x'0000', checksum = checksum(CAST(kind AS BLOB), key, x'0000')
            WHERE memo IN (SELECT vector FROM nodes WHERE vector IS NOT NULL)"""
        )
    with Monograph.open(path) as monograph:
        assert {finding.table for finding in monograph.check()} >= {"nodes", "vectors"}
        assert monograph.check(repair=True) == []
        assert monograph.tree.outline(layers=3) == made


@pytest.mark.parametrize(
    ("damage", "table"),
    [
        ("UPDATE sources SET source = 77", "documents"),
        ("UPDATE texts SET block = block + 3 WHERE block = (SELECT max(block) FROM texts)", "texts"),
        ("UPDATE chunks SET merged = '{}' WHERE chunk = 1", "chunks"),
        ("UPDATE sources SET root = 'tests'", "sources"),
        ("UPDATE sources SET uri = replace(uri, 'ship', 'shop')", "sources"),
        ("UPDATE words_data SET block = x'ff' WHERE id = 10", "words"),
        ("DELETE FROM words_data WHERE id = 1", "words"),
        ("UPDATE trigrams_config SET v = 99", "trigrams"),
    ],
)
@pytest.mark.parametrize("key", [None])  # Rows: a key changes nothing of them.
def test_findings_after_repair_name_the_lost_rows(synced: Path, damage: str, table: str) -> None:
    whole = rows(synced)
    change(synced, damage)
    with Monograph.open(synced) as monograph:
        findings = monograph.check()
        assert table in {finding.table for finding in findings}
        assert all(finding.repairable for finding in findings)
        assert monograph.check(repair=True) == []
        assert monograph.search("salt and pepper", 3)
    assert rows(synced) == whole


@pytest.mark.parametrize(
    ("damage", "table"),
    [
        ("UPDATE settings SET value = replace(value, 'wordllama', 'wordllamb') WHERE name = 'embedder'", "settings"),
        ("UPDATE settings SET name = 'embeddex' WHERE name = 'embedder'", "settings"),
        ("UPDATE checksums SET checksum = checksum + 1 WHERE name = 'settings/build'", "settings"),
        ("UPDATE documents SET checksum = checksum + 1 WHERE document = 4", "documents"),
        ("UPDATE documents SET title = CAST(x'ff' AS TEXT) WHERE document = 4", "documents"),
        ("UPDATE roots SET place = replace(place, 'texts', 'tests')", "roots"),
    ],
)
@pytest.mark.parametrize("key", [None])  # Rows: a key changes nothing of them.
def test_check_reports_damage_that_cannot_be_repaired(synced: Path, damage: str, table: str) -> None:
    change(synced, damage)
    with Monograph.open(synced) as monograph:
        assert next((one.table, one.repairable) for one in monograph.check()) == (table, False)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE texts SET text = replace(text, 'noon', 'moon')",
        "UPDATE texts SET text = CAST(replace(CAST(text AS BLOB), x'6e6f6f6e', x'ff6f6f6e') AS TEXT)",
        "UPDATE documents SET metadata = '{' WHERE uri LIKE '%ship.md'",
        "UPDATE chunks SET document = 555 WHERE chunk = (SELECT max(chunk) FROM chunks)",
    ],
)
@pytest.mark.parametrize("key", [None])  # Rows: a key changes nothing of them.
def test_sync_repairs_a_damaged_document(synced: Path, folder: Path, damage: str) -> None:
    with Monograph.open(synced) as monograph:
        (whole,) = (monograph.document(one.id) for one in monograph.documents() if one.uri.endswith("ship.md"))
    change(synced, damage)
    with Monograph.open(synced) as monograph:
        assert ("documents", False) in {(one.table, one.repairable) for one in monograph.check()}
        (left,) = {one.hint for one in monograph.check(repair=True)}
        assert left == "remove it, then sync or add it again"
        monograph.remove([whole.id])
        monograph.sync(folder)
        assert monograph.document(whole.id) == whole
        assert monograph.check() == []


@pytest.mark.parametrize("key", [None])  # Rows: a key changes nothing of them.
def test_documents_find_their_file_again(synced: Path, folder: Path) -> None:
    (folder / "shop.md").write_text("The shop opens at noon.", encoding="utf-8")
    with Monograph.open(synced) as monograph:
        monograph.sync(folder)
    for number in ("77", "(SELECT source FROM sources WHERE uri LIKE '%shop.md')"):
        change(synced, f"UPDATE documents SET source = {number} WHERE uri LIKE '%ship.md'")
        with Monograph.open(synced) as monograph:
            findings = monograph.check()
            assert findings
            assert all(finding.repairable for finding in findings)
            assert monograph.check(repair=True) == []
            report = monograph.sync(folder)
            assert (report.added, report.changed, report.removed) == (0, 0, 0)


REWRITTEN = "UPDATE sqlite_master SET sql = replace(sql, '{}', '{}') WHERE name = '{}'"


@pytest.mark.parametrize(
    "damage",
    [
        REWRITTEN.format("unresolved", "unresnlved", "alias_removed"),
        REWRITTEN.format("(1, OLD.memo), ", "", "vectors_changed"),
        REWRITTEN.format("IGNORE", "FAIL", "vectors_added"),
        "DROP TRIGGER subject_added",
        "DROP INDEX documents_by_uri",
        "CREATE INDEX more ON chunks(ordinal)",
        """CREATE TRIGGER "of'""another" AFTER INSERT ON chunks BEGIN DELETE FROM documents; END""",
    ],
)
def test_changed_triggers_and_indexes_are_found(path: Path, damage: str, key: str | None) -> None:
    whole = rows(path, key)
    change(path, damage, key)
    with Monograph.open(path, key=key) as monograph:
        findings = monograph.check()
        assert [finding.table for finding in findings] == ["schema"]
        assert all(finding.repairable for finding in findings)
        assert monograph.check(repair=True) == []
        assert rows(path, key) == whole
        monograph.add([Document("A barge carried flour to Ghent.", id="flour")])
        assert monograph.remove(["flour"]).removed == 1
        assert monograph.check() == []


def test_changed_table_is_reported(path: Path, key: str | None) -> None:
    change(path, REWRITTEN.format("qualifier", "qualifies", "subjects"), key)
    with Monograph.open(path, key=key) as monograph:
        findings = monograph.check()
        assert ("schema", False) in {(finding.table, finding.repairable) for finding in findings}
        document = Document("A barge carried flour to Ghent.", title="Ghent")
        for act in (lambda: monograph.check(repair=True), lambda: monograph.add([document])):
            with pytest.raises(DamagedFile, match="subjects.*does not match the schema"):
                act()
        assert monograph.search("salt and pepper", 3, "hybrid")


def test_lost_setting_is_one_fault(path: Path, key: str | None) -> None:
    change(path, "UPDATE settings SET value = '{' WHERE name = 'extractor'", key)
    with Monograph.open(path, key=key) as monograph:
        (finding,) = monograph.check()
        assert (finding.table, finding.repairable) == ("settings", False)
        assert finding.hint.startswith("monograph reextract")
        monograph.graph.rebuild(load_extractor("pattern"))
        assert monograph.check() == []


def rows(path: Path, key: str | None = None) -> list[list[tuple[object, ...]]]:
    """What single rows, files and documents are."""
    sorted_tables = ("settings WHERE name <> 'generation' ORDER BY 1", "checksums ORDER BY 1")
    tables = (*sorted_tables, "roots", "sources", "documents", "words_config", "trigrams_config")
    with closing(connected(path, key)) as connection:
        return [connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables]


def graph_rows(monograph: Monograph) -> list[list[tuple[object, ...]]]:
    """Who is named where, without row numbers."""
    queries = (
        "SELECT key, uses, persons, reason FROM names WHERE uses > 0 ORDER BY key",
        "SELECT key, id FROM mentions JOIN names USING (name) JOIN chunks USING (chunk) ORDER BY key, id",
        "SELECT key, id, by_title FROM subjects JOIN names USING (name) JOIN documents USING (document) ORDER BY key, id",
        "SELECT id, value FROM extractions JOIN memo USING (memo) JOIN chunks USING (chunk) ORDER BY id",
    )
    with monograph._file.database.read() as connection:
        return [connection.execute(query).fetchall() for query in queries]


def test_word_in_a_column_that_does_not_exist_is_found(tmp_path: Path) -> None:
    path = tmp_path / "x.mono"
    with Monograph.open(path, HashEmbedder(16)) as monograph:
        monograph.add([Document("Salt came from Bergen.", id="d")])
    with closing(connected(path)) as connection:
        ((row, page),) = connection.execute("SELECT id, block FROM words_data WHERE id > 10").fetchall()
        # A list of positions of 3 bytes: the mark of a column, the column's number 1, and one position.
        damaged = page.replace(b"\x06\x01\x01", b"\x06\x01\x1b", 1)
        assert damaged != page
        connection.execute("UPDATE words_data SET block = ? WHERE id = ?", (damaged, row))
    with Monograph.open(path, HashEmbedder(16)) as monograph:
        assert "words" in {finding.table for finding in monograph.check()}
        assert monograph.check(repair=True) == []


@pytest.mark.long
@pytest.mark.parametrize("table", ["words", "trigrams"])
def test_every_byte_of_an_fts_structure_record_is_checked(tmp_path: Path, table: str) -> None:
    """FTS5 refuses nearly every statement where that row is damaged, and at a commit what it has refused before."""
    whole = tmp_path / "whole.mono"
    with Monograph.open(whole, HashEmbedder(16)) as monograph:
        monograph.add([Document(f"Ship {n} came from Bergen.", id=f"d{n}") for n in range(20)])
        monograph.add([Document("Ship 20 came from Bergen.", id="d20")])
    with closing(connected(whole)) as connection:
        (layout,) = connection.execute(f"SELECT block FROM {table}_data WHERE id = 10").fetchone()
    for place in range(len(layout)):
        path = tmp_path / f"{place}.mono"
        path.write_bytes(whole.read_bytes())
        changed = bytes(byte ^ 6 if at == place else byte for at, byte in enumerate(layout))
        with closing(connected(path)) as connection:
            connection.execute(f"UPDATE {table}_data SET block = ? WHERE id = 10", (changed,))
        with Monograph.open(path, HashEmbedder(16)) as monograph:
            monograph.check(repair=True)
            assert monograph.check() == []
            assert len(monograph.search("Bergen", 30, how="lexical")) == 21


def test_check_finds_nothing_in_a_sound_file(path: Path, key: str | None) -> None:
    with Monograph.open(path, key=key) as monograph:
        before = [(hit.chunk.id, hit.score) for hit in monograph.search("ship to Bergen", 10)]
        assert monograph.check() == []
        assert monograph.check(repair=True) == []
        assert [(hit.chunk.id, hit.score) for hit in monograph.search("ship to Bergen", 10)] == before
        assert monograph.stats().memo_unused == 0


def test_mismatched_embedder_is_refused_until_rebuild(path: Path, key: str | None) -> None:
    other = HashEmbedder(48)
    with pytest.raises(ModelMismatch, match=r"wordllama.*hash/48") as caught:
        Monograph.open(path, other, key=key)
    assert "vectors.rebuild(embedder)" in caught.value.hint
    with Monograph.open(path, key=key) as monograph:
        report = monograph.vectors.rebuild(other)
        assert report.embedded == len({text for text in other.texts if "ship" in text}) > 0
        assert set(other.texts) - {text for text in other.texts if "ship" in text} == {"bergen"}  # a name
        assert monograph.stats().dimension == 48
        assert monograph.check() == []
        assert monograph.search("ship", 3, how="dense")
        assert monograph.vectors.rebuild(other).embedded == 0
    with pytest.raises(ModelUnavailable, match="tests:hash"), Monograph.open(path, key=key) as monograph:
        monograph.search("ship", how="dense")
    with Monograph.open(path, key=key) as monograph:
        assert monograph.search("ship", how="lexical")  # needs no embedder
    with Monograph.open(path, HashEmbedder(48), key=key) as monograph:
        assert monograph.add([Document("one more ship")]).embedded == 1


def test_open_file_reports_a_replaced_embedder(path: Path, key: str | None) -> None:
    with Monograph.open(path, key=key) as first, Monograph.open(path, key=key) as second:
        assert first.search("ship", 2, how="dense")
        second.vectors.rebuild(HashEmbedder(48))
        for act in (lambda: first.search("ship", 2), lambda: first.add([Document("one more")])):
            with pytest.raises(ModelMismatch):
                act()
        assert first.search("ship", 2, how="lexical")
        assert second.check() == []


def test_reopened_file_keeps_its_settings(tmp_path: Path, key: str | None) -> None:
    path = tmp_path / "x.mono"
    with Monograph.open(path, settings=Settings(chunk_tokens=64, chunk_overlap=8), key=key) as monograph:
        monograph.add([Document("A sentence about the sea. " * 200)])
        count = monograph.stats().chunks
    with Monograph.open(path, key=key) as monograph:
        assert monograph.settings == Settings(64, 8)
        assert count > 15
    with pytest.raises(InputError, match="built with"):
        Monograph.open(path, settings=Settings(), key=key)
    for tokens, overlap in ((3, 0), (64, 40), (64, -1)):
        with pytest.raises(InputError):
            Settings(tokens, overlap)


@pytest.mark.parametrize("key", [None])  # Rows: a key changes nothing of them.
def test_document_with_an_impossible_text_number_is_damage(path: Path) -> None:
    """It is told of, refuses what would be numbered after it, and can be taken out."""
    with Monograph.open(path) as monograph:
        lost = monograph.documents()[0].id
    change(path, f"UPDATE documents SET document = {1 << 40} WHERE id = '{lost}'")
    with Monograph.open(path) as monograph:
        assert {"documents", "texts"} <= {finding.table for finding in monograph.check()}
        with pytest.raises(DamagedFile, match="number of row .* is too high"):
            monograph.add([Document("The ship sails at noon.", id="ship")])
        monograph.check(repair=True)
        monograph.remove([lost])
        monograph.add([Document("The ship sails at noon.", id="ship")])
        assert monograph.check() == []
