"""Folders that change: ignore rules, failures and watching."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from monograph import Monograph
from monograph.values import WatchEvent
from support.models import HashEmbedder


def paths(monograph: Monograph, folder: Path) -> set[str]:
    return {str(Path(one.uri).relative_to(folder.name)) for one in monograph.documents()}


def put(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_sync_skips_hidden_temporary_and_ignored_files_and_its_own(folder: Path) -> None:
    put(
        folder, a_txt="a", b_log="b", sub__c_txt="c", sub__d_log="d", sub__keep_log="k", build__e_txt="e", Thumbs_db="t"
    )
    for name in (".hidden.txt", "~$letter.docx", "draft.txt~", "x.mono-wal", "got.part"):
        (folder / name).write_text("not to be read")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("not to be read")
    with Monograph.open(folder / "notes.mono") as monograph:
        assert monograph.sync(folder).problems == ()
        assert paths(monograph, folder) == {"a.txt", "b.log", "sub/c.txt", "sub/d.log", "sub/keep.log", "build/e.txt"}
        (folder / ".monographignore").write_text("*.log\nbuild/\n")
        (folder / "sub" / ".monographignore").write_text("!keep.log\n/c.txt\n")
        report = monograph.sync(folder)
        assert paths(monograph, folder) == {"a.txt", "sub/keep.log"}
        assert report.removed == 4


def test_ignore_rules_agree_with_git(monograph: Monograph, folder: Path) -> None:
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed")
    put(folder, a_txt="a", a__b_txt="b", a__c__d_txt="d", x_md="x", a__x_md="x", c__d_txt="d", z__y__x_md="x")
    rules = "*.md\n!/x.md\na/**/d.txt\n/c/\n# no rule\n\\!odd\n"
    (folder / ".monographignore").write_text(rules)
    monograph.sync(folder)
    subprocess.run([git, "init", "-q", str(folder)], check=True)
    (folder / ".gitignore").write_text(rules)
    listed = subprocess.run(
        [git, "-C", str(folder), "ls-files", "-o", "--exclude-standard"], check=True, capture_output=True, text=True
    ).stdout.split()
    assert paths(monograph, folder) == {name for name in listed if not name.startswith(".")}


def test_sources_list_files_that_failed(tmp_path: Path, folder: Path) -> None:
    put(folder, good_txt="a good text", later_txt="later")
    (folder / "bad.zip").write_bytes(b"PK\x03\x04 broken")
    (folder / "rows.jsonl").write_text('{"text": "one"}\n{broken\n')
    path = tmp_path / "x.mono"
    with Monograph.open(path, HashEmbedder()) as monograph:
        before = time.time()
        assert len(monograph.sync(folder).problems) == 2
    with Monograph.open(path, HashEmbedder()) as monograph:
        (source,) = monograph.files.sources()
        assert (source.root, source.place, source.files, source.documents) == (folder.name, str(folder), 3, 3)
        assert before <= source.synced <= time.time()
        assert [Path(one.uri).name for one in source.failures] == ["bad.zip", "rows.jsonl:2"]
        # A sync that does not read a file again forgets nothing of it.
        monograph.sync(folder)
        assert len(monograph.files.sources()[0].failures) == 2
        (folder / "rows.jsonl").write_text('{"text": "one"}\n{"text": "two"}\n')
        (folder / "bad.zip").unlink()
        assert monograph.files.retry().added == 1
        assert [Path(one.uri).name for one in monograph.files.sources()[0].failures] == ["bad.zip"]
        monograph.sync(folder)
        assert monograph.files.sources()[0].failures == ()
        assert monograph.files.retry().problems == ()


class Follower:
    """A watch in a thread of its own, and what it told."""

    def __init__(self, monograph: Monograph, folder: Path) -> None:
        self.told: list[WatchEvent] = []
        self.news = threading.Condition()
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._follow, args=(monograph.files.watch(folder, stop=self.stop),))
        self.thread.start()

    def _follow(self, events: Iterator[WatchEvent]) -> None:
        try:
            for event in events:
                with self.news:
                    self.told.append(event)
                    self.news.notify_all()
        finally:
            with self.news:
                self.stop.set()
                self.news.notify_all()

    def wait(self, seen: Callable[[WatchEvent], bool]) -> WatchEvent:
        with self.news:
            self.news.wait_for(lambda: self.stop.is_set() or any(map(seen, self.told)))
            found = next(filter(seen, self.told), None)
        assert found is not None, f"not told: {self.told}"
        return found


@pytest.fixture
def follower(tmp_path: Path, folder: Path) -> Iterator[tuple[Follower, Monograph, HashEmbedder]]:
    pytest.importorskip("watchfiles", reason="the extra watch is not installed")
    put(folder, first_md="# Title\n\nThe first text.")
    embedder = HashEmbedder()
    with Monograph.open(tmp_path / "x.mono", embedder) as monograph:
        made = Follower(monograph, folder)
        try:
            made.wait(lambda one: one.kind == "new")
            yield made, monograph, embedder
        finally:
            made.stop.set()
            made.thread.join()


@pytest.mark.long
def test_watch_applies_changes(follower: tuple[Follower, Monograph, HashEmbedder], folder: Path) -> None:
    watch, monograph, embedder = follower
    put(folder, second_txt="Another text.", sub__third_txt="Deeper.")
    watch.wait(lambda one: one.uri.endswith("second.txt") and one.kind == "new")
    watch.wait(lambda one: one.uri.endswith("third.txt") and one.kind == "new")
    embedded = len(embedder.texts)
    (folder / "first.md").rename(folder / "renamed.md")
    told = watch.wait(lambda one: one.kind == "renamed")
    assert told.before == f"{folder.name}/first.md"
    assert len(embedder.texts) == embedded
    put(folder, second_txt="Another text, changed.")
    watch.wait(lambda one: one.uri.endswith("second.txt") and one.kind == "changed")
    shutil.rmtree(folder / "sub")
    watch.wait(lambda one: one.uri.endswith("third.txt") and one.kind == "gone")
    (folder / "bad.zip").write_bytes(b"PK\x03\x04 broken")
    assert "broken" in watch.wait(lambda one: one.kind == "failed").reason
    assert paths(monograph, folder) == {"renamed.md", "second.txt"}
    (folder / ".monographignore").write_text("second*\n")
    watch.wait(lambda one: one.uri.endswith("second.txt") and one.kind == "gone")
    assert monograph.check() == []


@pytest.mark.long
def test_watch_survives_a_vanished_folder(follower: tuple[Follower, Monograph, HashEmbedder], folder: Path) -> None:
    watch, monograph, _ = follower
    folder.rename(folder.with_name("elsewhere"))
    watch.wait(lambda one: one.kind == "away")
    assert len(monograph.documents()) == 1
    put(folder.with_name("elsewhere"), second_txt="Came while it was away.")
    folder.with_name("elsewhere").rename(folder)
    watch.wait(lambda one: one.kind == "back")
    watch.wait(lambda one: one.uri.endswith("second.txt") and one.kind == "new")
    assert paths(monograph, folder) == {"first.md", "second.txt"}


@pytest.mark.parametrize(
    ("sent", "code"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, -signal.SIGTERM, marks=pytest.mark.long)],
)
@pytest.mark.long
def test_watch_command_ends_on_a_signal(tmp_path: Path, folder: Path, sent: signal.Signals, code: int) -> None:
    pytest.importorskip("watchfiles", reason="the extra watch is not installed")
    put(folder, first_txt="The first text.")
    command = [sys.executable, "-m", "monograph.app.cli"]
    path = str(tmp_path / "x.mono")
    child = subprocess.Popen([*command, "watch", path, str(folder), "--json"], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert json.loads(child.stdout.readline())["uri"] == f"{folder.name}/first.txt"
    put(folder, second_txt="The second text.")
    assert json.loads(child.stdout.readline())["kind"] == "new"
    child.send_signal(sent)
    child.stdout.close()
    assert child.wait() == code
    listed = subprocess.run([*command, "sources", path, "--json"], check=True, capture_output=True, text=True)
    assert json.loads(listed.stdout)[0]["files"] == 2
    done = subprocess.run([*command, "retry", path, "--json"], check=True, capture_output=True, text=True)
    assert json.loads(done.stdout)["problems"] == []
