"""Roots: files and folders that move, alone or with the .mono file."""

from __future__ import annotations

import json
import shutil
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Document, Monograph, Report
from monograph.errors import InputError, NotFound
from monograph.store.documents.sources import stored_place, unused_name
from monograph.values import Move, Root
from support.forks import COMMANDS
from support.models import HashEmbedder
from support.properties import examples
from support.raw_sql import connected

ROWS = '{"id": "r1", "text": "Plate 4417 was lost."}\n{"text": "Plate 4102 shows the comet."}\n'


def fill(folder: Path) -> Path:
    (folder / "1961").mkdir(parents=True)
    (folder / "boiler.md").write_text("# Boiler\n\nThe boiler is serviced every October by Mr Renk.\n")
    (folder / "1961" / "storm.txt").write_text("A storm took the roof in March 1961.\n")
    (folder / "rows.jsonl").write_text(ROWS)
    with zipfile.ZipFile(folder / "old.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo("note.txt", (1980, 1, 1, 0, 0, 0)), "A note about the goat.")
    return folder


def counts(report: Report) -> tuple[int, int, int, int, int]:
    return report.added, report.changed, report.removed, report.embedded, report.extracted


def everything(monograph: Monograph) -> dict[str, tuple[str, list[str]]]:
    """By id: the uri of every document, and the ids of its chunks."""
    return {one.id: (one.uri, [chunk.id for chunk in monograph.chunks(one.id)]) for one in monograph.documents()}


def stored_text(path: Path) -> str:
    """All that a file holds outside of its index, as one text."""
    with closing(connected(path)) as connection:
        tables = ("documents", "chunks", "sources", "roots", "settings")
        return repr([connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables])


@pytest.fixture
def opened(tmp_path: Path) -> Monograph:
    return Monograph.open(tmp_path / "w.mono", HashEmbedder())


def test_uris_are_relative_to_a_named_root(opened: Monograph, tmp_path: Path) -> None:
    folder = fill(tmp_path / "wf")
    with opened:
        opened.sync(folder)
        uris = sorted(one.uri for one in opened.documents())
        assert uris == ["wf/1961/storm.txt", "wf/boiler.md", "wf/old.zip!/note.txt", "wf/rows.jsonl", "wf/rows.jsonl"]
        assert opened.search("Renk", 1)[0].uri == "wf/boiler.md"
        for name in ("wf/boiler.md", str(folder / "boiler.md")):
            assert opened.document(name).title == "Boiler"
        (source,) = opened.files.sources()
        assert (source.root, source.place) == ("wf", str(folder))
    assert str(tmp_path) not in stored_text(tmp_path / "w.mono")


def test_same_folder_in_another_place_gives_the_same_ids(tmp_path: Path) -> None:
    found = []
    for place in ("here", "far/away"):
        (tmp_path / place).mkdir(parents=True)
        with Monograph.open(tmp_path / place / "w.mono", HashEmbedder()) as monograph:
            monograph.sync(fill(tmp_path / place / "wf"))
            with monograph._file.database.read() as connection:
                hashes = sorted(connection.execute("SELECT id, sha256 FROM documents"))
            found.append((everything(monograph), hashes))
    assert found[0] == found[1]


def test_moved_folder_keeps_its_documents(opened: Monograph, tmp_path: Path) -> None:
    folder, other = fill(tmp_path / "wf"), tmp_path / "deep" / "er" / "wf2"
    with opened:
        opened.sync(folder)
        before = everything(opened)
        other.parent.mkdir(parents=True)
        folder.rename(other)
        plan = opened.files.plan(other)
        assert plan.moved == (Move("wf", str(folder), str(other)),)
        assert {change.kind for change in plan.changes} == {"same"}
        assert plan.cost is not None and plan.cost.embeddings == plan.cost.chunks == 0
        report = opened.sync(other)
        assert report.moved == plan.moved
        assert counts(report) == (0, 0, 0, 0, 0)
        assert everything(opened) == before
        (source,) = opened.files.sources()
        assert (source.root, source.place) == ("wf", str(other))
        assert opened.sync(other).moved == ()
        assert opened.check() == []


def test_changes_in_a_moved_folder_are_applied(opened: Monograph, tmp_path: Path) -> None:
    folder, other = fill(tmp_path / "wf"), tmp_path / "wf2"
    with opened:
        opened.sync(folder)
        folder.rename(other)
        (other / "boiler.md").write_text("# Boiler\n\nIt is serviced in May now.\n")
        (other / "1961" / "storm.txt").unlink()
        (other / "new.txt").write_text("A new text.")
        report = opened.sync(other)
        assert [move.root for move in report.moved] == ["wf"]
        assert (report.added, report.changed, report.removed) == (1, 1, 1)


def test_moved_copy_without_times_is_recognised_by_content(opened: Monograph, tmp_path: Path) -> None:
    folder = fill(tmp_path / "wf")
    with opened:
        opened.sync(folder)
        shutil.copytree(folder, tmp_path / "wf2", copy_function=shutil.copyfile)
        shutil.rmtree(folder)
        report = opened.sync(tmp_path / "wf2")
        assert [move.root for move in report.moved] == ["wf"]
        assert counts(report) == (0, 0, 0, 0, 0)


def test_copied_folder_is_another_root(opened: Monograph, tmp_path: Path) -> None:
    folder = fill(tmp_path / "a" / "wf")
    shutil.copytree(folder, tmp_path / "b" / "wf")
    (tmp_path / "b" / "wf" / "rows.jsonl").unlink()
    with opened:
        opened.sync(folder)
        report = opened.sync(tmp_path / "b" / "wf")
        assert (report.moved, report.added, report.removed) == ((), 3, 0)
        assert [one.root for one in opened.files.sources()] == ["wf", "wf-2"]
        assert {one.uri.partition("/")[0] for one in opened.documents()} == {"wf", "wf-2"}


def test_dissimilar_folder_is_not_taken_for_a_moved_one(opened: Monograph, tmp_path: Path) -> None:
    folder = fill(tmp_path / "wf")
    with opened:
        opened.sync(folder)
        folder.rename(tmp_path / "gone-away")
        other = tmp_path / "other"
        other.mkdir()
        shutil.copy(tmp_path / "gone-away" / "boiler.md", other)
        report = opened.sync(other)
        assert (report.moved, report.added, report.removed) == ((), 1, 0)


def test_ambiguous_move_is_not_guessed(opened: Monograph, tmp_path: Path) -> None:
    one, two = fill(tmp_path / "one"), fill(tmp_path / "two")
    for folder in (one, two):
        (folder / "rows.jsonl").unlink()
    with opened:
        opened.sync(one, two)
        one.rename(tmp_path / "three")
        shutil.rmtree(two)
        report = opened.sync(tmp_path / "three")
        assert (report.moved, report.added) == ((), 3)
        assert opened.files.move("one", tmp_path / "elsewhere" / "..") == Move("one", str(one), str(tmp_path))


@pytest.mark.parametrize("below", ["wf", "docs/wf", "../wf"])
def test_database_and_folder_move_together(tmp_path: Path, below: str) -> None:
    home = tmp_path / "deep" / "house" / "db"
    home.mkdir(parents=True)
    folder = fill((home / below).resolve())
    with Monograph.open(home / "w.mono", HashEmbedder()) as monograph:
        monograph.sync(folder)
        before = everything(monograph)
    (tmp_path / "deep").rename(tmp_path / "machine")
    home = tmp_path / "machine" / "house" / "db"
    assert str(tmp_path) not in stored_text(home / "w.mono")
    with Monograph.open(home / "w.mono", HashEmbedder()) as monograph:
        report = monograph.sync((home / below).resolve())
        assert (report.moved, *counts(report)) == ((), 0, 0, 0, 0, 0)
        assert everything(monograph) == before


def test_subfolder_is_synced_as_part_of_its_root(opened: Monograph, tmp_path: Path) -> None:
    folder = fill(tmp_path / "wf")
    with opened:
        opened.sync(folder)
        (folder / "1961" / "storm.txt").write_text("A storm took the chimney.")
        (folder / "boiler.md").unlink()
        report = opened.sync(folder / "1961")
        assert (report.added, report.changed, report.removed) == (0, 1, 0)
        assert [one.root for one in opened.files.sources()] == ["wf"]
        assert opened.sync(folder).removed == 1


def test_parent_folder_leaves_an_inner_root_unchanged(opened: Monograph, tmp_path: Path) -> None:
    folder = fill(tmp_path / "wf")
    with opened:
        opened.sync(folder / "1961")
        before = everything(opened)
        report = opened.sync(folder)
        assert (report.added, report.removed) == (4, 0)
        assert everything(opened).items() >= before.items()
        assert opened.sync(folder).added == 0
        (folder / "1961" / "storm.txt").unlink()
        assert opened.sync(folder).removed == 1


def test_single_file_is_a_root(opened: Monograph, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Alone.")
    with opened:
        opened.sync(tmp_path / "a.txt")
        (document,) = opened.documents()
        assert document.uri == "a.txt"
        (tmp_path / "a.txt").rename(tmp_path / "b.txt")
        report = opened.sync(tmp_path / "b.txt")
        assert report.moved == (Move("a.txt", str(tmp_path / "a.txt"), str(tmp_path / "b.txt")),)
        assert counts(report) == (0, 0, 0, 0, 0)


def test_roots_are_moved_and_removed_by_hand(opened: Monograph, tmp_path: Path) -> None:
    folder, other = fill(tmp_path / "wf"), tmp_path / "wf2"
    with opened:
        opened.add([Document("Not of any folder.", id="mine")])
        opened.sync(folder)
        with pytest.raises(InputError, match="does not exist"):
            opened.files.move("wf", other)
        with pytest.raises(NotFound, match="'nothing'"):
            opened.files.move("nothing", tmp_path)
        folder.rename(other)
        assert opened.files.move(str(folder), other) == Move("wf", str(folder), str(other))
        assert counts(opened.sync(other)) == (0, 0, 0, 0, 0)
        assert opened.files.remove("wf").removed == 5
        assert opened.files.sources() == []
        assert [one.id for one in opened.documents()] == ["mine"]
        assert opened.check() == []


def test_moved_folder_is_recognised_on_another_machine(opened: Monograph, tmp_path: Path) -> None:
    folder = fill(tmp_path / "wf")
    with opened:
        opened.sync(folder)
    far = tmp_path / "machine" / "db"
    far.mkdir(parents=True)
    shutil.copy(tmp_path / "w.mono", far)
    folder.rename(tmp_path / "machine" / "elsewhere")
    with Monograph.open(far / "w.mono", HashEmbedder()) as monograph:
        report = monograph.sync(tmp_path / "machine" / "elsewhere")
        assert report.problems == ()
        assert (len(report.moved), *counts(report)) == (1, 0, 0, 0, 0, 0)


def test_command_line_reports_moved_roots(tmp_path: Path) -> None:
    folder = fill(tmp_path / "wf")

    def run(*arguments: object) -> str:
        done = COMMANDS.run("monograph", *arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("sync", "w.mono", "wf")
    folder.rename(tmp_path / "wf2")
    assert f"wf was moved: {folder} is now {tmp_path / 'wf2'}" in run("sync", "w.mono", "wf2").replace("\n", "")
    (tmp_path / "wf2").rename(tmp_path / "wf3")
    (moved,) = json.loads(run("sources", "w.mono", "--move", "wf", "wf3", "--json"))
    assert (moved["root"], moved["place"]) == ("wf", str(tmp_path / "wf3"))
    assert "Mr Renk" in run("show", "w.mono", "wf3/boiler.md")
    assert json.loads(run("sources", "w.mono", "--remove", "wf", "--json"))["removed"] == 5


NAMES = st.text("ab-2/", min_size=1, max_size=4).map(lambda text: text.strip("/") or "x")


@settings(max_examples=examples(200))
@given(parts=st.lists(NAMES, min_size=1, max_size=5), below=st.lists(NAMES, max_size=3))
def test_uri_converts_back_to_its_path(parts: list[str], below: list[str]) -> None:
    place = "/" + "/".join(parts)
    root = Root(unused_name(place, ()), place)
    path = "/".join([place, *below])
    assert root.holds(path)
    assert root.path(root.uri(path)) == path
    assert not root.holds(place + "x")


def test_root_names_are_unique_and_near_places_relative() -> None:
    taken: list[str] = []
    for _ in range(3):
        taken.append(unused_name("/a/notes/", taken))
    assert taken == ["notes", "notes-2", "notes-3"]
    assert unused_name("/", ()) == "root"
    assert Root("root", "/").uri("/etc/x") == "root/etc/x"
    assert Root("root", "/").path("root/etc/x") == "/etc/x"
    assert stored_place("/home/u/db", "/home/u/db/notes") == "notes"
    assert stored_place("/home/u/db", "/home/u/notes") == "../notes"
    assert stored_place("/home/u/db", "/home/other/notes") == "/home/other/notes"
    assert stored_place("/tmp", "/tmp/notes") == "/tmp/notes"


def test_new_files_of_nested_roots_are_added_once(tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    (inner / "a.txt").write_text("The first text.")
    with Monograph.open(tmp_path / "x.mono") as monograph:
        monograph.sync(inner)
        (inner / "b.txt").write_text("The second text.")
        (tmp_path / "outer" / "c.txt").write_text("The third text.")
        report = monograph.sync(tmp_path / "outer")
        assert (report.added, report.same, report.problems) == (2, 1, ())
        assert {one.uri for one in monograph.documents()} == {"inner/a.txt", "inner/b.txt", "outer/c.txt"}
