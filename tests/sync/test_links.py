"""Symbolic links in synced folders."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from monograph import Monograph
from monograph.errors import SourceError
from monograph.read.file import read_file
from monograph.values import Report, Root, WatchEvent
from support.models import HashEmbedder

SECRET = "The secret is kept under the third stone."


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    made = tmp_path / "outside"
    (made / "deep").mkdir(parents=True)
    (made / "secret.txt").write_text(SECRET)
    (made / "deep" / "more.txt").write_text("More of the secret lies deeper.")
    return made


@pytest.fixture
def linked(folder: Path, outside: Path) -> Path:
    (folder / "own").mkdir()
    (folder / "own" / "plain.txt").write_text("A plain text of the folder itself.")
    (folder / "within.txt").symlink_to("own/plain.txt")
    (folder / "beside").symlink_to("own")
    (folder / "file.txt").symlink_to(outside / "secret.txt")
    (folder / "tree").symlink_to(outside)
    (folder / "loop").symlink_to(folder)
    (folder / "own" / "up").symlink_to("..")
    return folder


def held(monograph: Monograph) -> set[str]:
    return {one.uri for one in monograph.documents()}


def out(report: Report) -> list[str]:
    return [one.reason for one in report.problems if "out of the folder" in one.reason]


def test_links_outside_the_folder_are_reported_in_one_problem(
    monograph: Monograph, linked: Path, outside: Path
) -> None:
    report = monograph.sync(linked)
    assert held(monograph) == {"texts/within.txt", "texts/beside/plain.txt"}
    assert out(report) == [f"2 links lead out of the folder, not followed: texts/file.txt to {outside / 'secret.txt'}"]
    (problem,) = [one for one in report.problems if "out of the folder" in one.reason]
    assert problem.uri == "texts" and "--follow-links" in problem.hint
    assert not any("secret" in hit.text for hit in monograph.search("secret stone", how="lexical"))


def test_link_choice_is_stored_for_the_folder(monograph: Monograph, linked: Path) -> None:
    inside = {"texts/within.txt", "texts/beside/plain.txt"}
    every = {*inside, "texts/file.txt", "texts/tree/secret.txt", "texts/tree/deep/more.txt"}
    report = monograph.sync(linked, follow_links=True)
    assert held(monograph) == every and out(report) == []
    for _ in range(2):
        assert out(monograph.sync(linked)) == []
        assert held(monograph) == every
    assert out(monograph.files.apply(monograph.files.plan(linked))) == []
    report = monograph.sync(linked, follow_links=False)
    assert len(out(report)) == 1 and report.removed == 3
    assert held(monograph) == inside
    assert len(out(monograph.sync(linked))) == 1


def test_link_choice_follows_a_moved_folder(monograph: Monograph, folder: Path, outside: Path) -> None:
    (folder / "plain.txt").write_text("A plain text.")
    (folder / "file.txt").symlink_to(outside / "secret.txt")
    monograph.sync(folder, follow_links=True)
    moved = folder.rename(folder.with_name("elsewhere"))
    report = monograph.sync(moved)
    assert [one.new for one in report.moved] == [str(moved)]
    assert held(monograph) == {"texts/plain.txt", "texts/file.txt"} and out(report) == []
    monograph.files.remove("texts")
    assert len(out(monograph.sync(moved))) == 1


def test_linked_root_folder_is_read(monograph: Monograph, linked: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(linked)
    report = monograph.sync(tmp_path / "alias")
    assert "alias/within.txt" in held(monograph)
    assert len(out(report)) == 1


def test_linked_file_named_by_the_caller_is_read(monograph: Monograph, tmp_path: Path, outside: Path) -> None:
    (tmp_path / "named.txt").symlink_to(outside / "secret.txt")
    assert monograph.sync(tmp_path / "named.txt").added == 1


def test_ignored_links_are_not_reported(monograph: Monograph, linked: Path) -> None:
    (linked / ".monographignore").write_text("file.txt\ntree\n")
    assert out(monograph.sync(linked)) == []


def test_link_created_after_planning_is_not_followed(monograph: Monograph, folder: Path, outside: Path) -> None:
    (folder / "a.txt").write_text("harmless")
    (folder / "sub").mkdir()
    (folder / "sub" / "secret.txt").write_text("harmless too")
    plan = monograph.files.plan(folder)
    (folder / "a.txt").unlink()
    (folder / "a.txt").symlink_to(outside / "secret.txt")
    (folder / "sub" / "secret.txt").unlink()
    (folder / "sub").rmdir()
    (folder / "sub").symlink_to(outside)
    report = monograph.files.apply(plan)
    assert [(one.uri, one.hint) for one in report.problems] == [
        ("texts/a.txt", "give --follow-links"),
        ("texts/sub/secret.txt", "give --follow-links"),
    ]
    assert held(monograph) == set()


def test_file_swapped_for_a_link_is_never_read_outside(tmp_path: Path, folder: Path, outside: Path) -> None:
    """While another swaps a file for a link as fast as it can, what lies outside is never read."""
    target = folder / "a.txt"
    target.write_text("harmless")
    link, plain = tmp_path / "link", tmp_path / "plain"
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            os.symlink(outside / "secret.txt", link)
            os.replace(link, target)
            plain.write_text("harmless")
            os.replace(plain, target)

    swapping = threading.Thread(target=swap)
    swapping.start()
    root = Root("texts", str(folder))
    texts: set[str] = set()
    try:
        for _ in range(3000):
            with suppress(SourceError):  # Whatever it says: it must not be the text.
                texts.update(one.text for part in read_file(target, root) for one in part.documents)
    finally:
        stop.set()
        swapping.join()
    assert texts == {"harmless"}


@pytest.mark.long
def test_watch_does_not_follow_links(folder: Path, outside: Path, tmp_path: Path) -> None:
    pytest.importorskip("watchfiles", reason="the extra watch is not installed")
    (folder / "plain.txt").write_text("A plain text.")
    with Monograph.open(tmp_path / "x.mono", HashEmbedder()) as monograph:
        told: list[WatchEvent] = []
        stop = threading.Event()
        events = monograph.files.watch(folder, stop=stop)
        told.append(next(events))
        (folder / "file.txt").symlink_to(outside / "secret.txt")
        told.append(next(events))
        (folder / "later.txt").write_text("A later text.")
        told.append(next(events))
        stop.set()
        assert list(events) == []
        assert [(one.kind, one.uri) for one in told] == [
            ("new", "texts/plain.txt"),
            ("failed", "texts/file.txt"),
            ("new", "texts/later.txt"),
        ]
        assert "out of the folder" in told[1].reason
        stop.clear()
        events = monograph.files.watch(folder, follow_links=True, stop=stop)
        assert next(events).uri == "texts/file.txt"
        (folder / "last.txt").symlink_to(outside / "deep" / "more.txt")
        assert next(events).uri == "texts/last.txt"
        stop.set()
        assert list(events) == []
        assert held(monograph) == {"texts/plain.txt", "texts/file.txt", "texts/later.txt", "texts/last.txt"}


def test_pipes_and_broken_ignore_files_are_reported(monograph: Monograph, folder: Path) -> None:
    (folder / "good.txt").write_text("A good text.")
    (folder / "bad.txt").write_text("A bad text.")
    os.mkfifo(folder / ".monographignore")
    os.mkfifo(folder / "pipe.txt")
    report = monograph.sync(folder)
    assert [(one.uri, one.reason) for one in report.problems] == [
        ("texts/.monographignore", "ignores nothing: it is a pipe, a socket or a device, not a file")
    ]
    assert report.added == 2
    (folder / ".monographignore").unlink()
    (folder / ".monographignore").write_text("bad.txt\n[z-a]\n")
    (reason,) = [one.reason for one in monograph.sync(folder).problems]
    assert "not a valid pattern" in reason
    (folder / ".monographignore").write_text("bad.txt\n")
    report = monograph.sync(folder)
    assert report.problems == () and report.removed == 1
    (problem,) = monograph.sync(folder / "pipe.txt").problems
    assert "pipe" in problem.reason


def test_file_replaced_by_a_pipe_does_not_block(monograph: Monograph, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A text.")
    monograph.sync(tmp_path / "a.txt")
    (tmp_path / "a.txt").unlink()
    os.mkfifo(tmp_path / "a.txt")
    (problem,) = monograph.sync(tmp_path / "a.txt", verify=True).problems
    assert "pipe" in problem.reason
