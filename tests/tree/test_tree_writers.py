"""Tree of summaries while other threads and processes write."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Monograph, Settings
from monograph.derive.summarize.extractive import ExtractiveSummarizer
from monograph.errors import BusyFile
from monograph.models import TextKind
from monograph.store import tree as store
from monograph.values import Float32, Report, SummaryText
from monograph.write import tree as growing
from monograph.write import writer
from support.models import HashEmbedder
from support.paths import TESTS
from support.properties import examples
from support.trees import built_anew, document, store_alone, tree_of, write_and_forget

SMALL = Settings(segment_least=2, segment_most=3)
"""Many layers over few chunks."""


class Assertions(HashEmbedder):
    """Tells of every text before it is embedded."""

    tell: Callable[[], None] = staticmethod(lambda: None)

    def embed(self, texts: Sequence[str], kind: TextKind = "document") -> Float32:
        self.tell()
        return super().embed(texts, kind)


class Telling(ExtractiveSummarizer):
    """Tells of every summary before it is made."""

    tell: Callable[[], None] = staticmethod(lambda: None)

    def summarize(self, texts: Sequence[str], max_tokens: int) -> SummaryText:
        self.tell()
        return super().summarize(texts, max_tokens)


def remove_alone(monograph: Monograph, ids: Sequence[str], *, forget: bool) -> None:
    file = monograph._file
    file.forgetting(lambda _: writer.remove(file.database, file.indexes, ids), forget, strict=True)


moments = st.lists(
    st.tuples(st.integers(0, 40), st.sampled_from(["add", "remove", "forget", "compact"])), min_size=1, max_size=6
)


@pytest.mark.long
@settings(max_examples=examples(12))
@given(moments, st.integers(20, 36), st.booleans())
def test_tree_equals_a_fresh_build_after_writes_during_its_growth(  # type: ignore[no-untyped-def]
    tmp_path_factory, moments, count, has_tree
) -> None:
    folder = tmp_path_factory.mktemp("overtaken")
    path = folder / "x.mono"
    embedder, summarizer = Assertions(16), Telling()
    held = {number: document(number) for number in range(count)}
    calls = 0
    acts = dict(moments)
    lock = threading.Lock()

    def act() -> None:
        nonlocal calls
        with lock:
            calls += 1
            what = acts.pop(calls - 1, "")
            fresh, gone = 1_000 + calls, next(iter(held))
            if what == "add":
                held[fresh] = document(fresh)
                store_alone(other, [held[fresh]])
            elif what in ("remove", "forget"):
                remove_alone(other, [held.pop(gone).id], forget=what == "forget")
            elif what == "compact":
                other.compact()

    with (
        Monograph.open(path, embedder, summarizer=summarizer, settings=SMALL) as monograph,
        Monograph.open(path, HashEmbedder(16), summarizer=ExtractiveSummarizer(), settings=SMALL) as other,
    ):
        first = [held[number] for number in range(count // 2 if has_tree else 0)]
        monograph.add(first)
        late = [held[number] for number in range(len(first), count)]
        store_alone(monograph, late)  # From here on only the tree is worked at.
        embedder.tell = summarizer.tell = act
        report = monograph.add([])
        del embedder.tell, summarizer.tell
        assert report.problems == ()
        assert monograph.check() == []
        assert monograph.stats().tree.waiting == 0  # type: ignore[union-attr]
        grown = tree_of(monograph)
        assert {one.id for one in monograph.documents()} == {one.id for one in held.values()}
    assert grown == built_anew(folder / "fresh.mono", list(held.values()), SMALL)


@pytest.mark.long
def test_tree_that_cannot_grow_reports_that_it_lags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "MADE_OVERTAKEN", 40)
    summarizer = Telling()
    written = iter(range(1_000, 100_000))
    path = tmp_path / "x.mono"
    with (
        Monograph.open(path, HashEmbedder(16), summarizer=summarizer) as monograph,
        Monograph.open(path, HashEmbedder(16), summarizer=ExtractiveSummarizer()) as other,
    ):
        monograph.add([document(number) for number in range(40)])
        lock = threading.Lock()

        def act() -> None:
            with lock:
                store_alone(other, [document(next(written))])

        summarizer.tell = act
        report = monograph.add([document(500)])
        assert report.added == 1
        (problem,) = report.problems
        assert "lacks the latest changes" in problem.reason
        assert "next write" in problem.hint
        assert monograph.document("d500").text
        assert monograph.remove(["d3"]).problems != ()
        assert not monograph.search("draft", 400, how="tree", where={"owner": "nobody"})
        with pytest.raises(BusyFile, match="keeps changing"):
            monograph.tree.rebuild()
        del summarizer.tell
        assert monograph.stats().tree.waiting > 0  # type: ignore[union-attr]
        assert monograph.check() == []
        assert monograph.add([]).problems == ()
        assert monograph.stats().tree.waiting == 0  # type: ignore[union-attr]
        assert monograph.check() == []


@pytest.mark.long
def test_writers_wait_for_the_one_that_grows_the_tree(tmp_path: Path) -> None:
    """Of eight writers none asks for a summary that another has asked for."""
    path = tmp_path / "x.mono"
    asked: list[tuple[str, ...]] = []
    reports: list[Report] = []

    class Asked(ExtractiveSummarizer):
        def summarize(self, texts: Sequence[str], max_tokens: int) -> SummaryText:
            asked.append(tuple(texts))
            return super().summarize(texts, max_tokens)

    def write(number: int) -> None:
        with Monograph.open(path, HashEmbedder(16), summarizer=Asked()) as mine:
            barrier.wait()
            reports.extend(mine.add([document(100 * number + step)]) for step in range(6))

    with Monograph.open(path, HashEmbedder(16), summarizer=ExtractiveSummarizer()) as monograph:
        monograph.add([document(number) for number in range(60)])
        barrier = threading.Barrier(8)
        threads = [threading.Thread(target=write, args=(number,)) for number in range(1, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(reports) == 48
        assert [report.problems for report in reports if report.problems] == []
        assert len(asked) == len(set(asked)) == sum(report.summarized for report in reports)
        assert monograph.check() == []
        assert monograph.stats().tree.waiting == 0  # type: ignore[union-attr]
    assert [one.name for one in tmp_path.iterdir()] == ["x.mono"]


def test_writers_that_wait_too_long_leave_the_tree_to_its_holder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growing, "LOCK_PATIENCE", 0.05)
    path = tmp_path / "x.mono"
    summarizer = Telling()
    reports: list[Report] = []
    with (
        Monograph.open(path, HashEmbedder(16), summarizer=summarizer) as monograph,
        Monograph.open(path, HashEmbedder(16), summarizer=ExtractiveSummarizer()) as other,
    ):
        monograph.add([document(number) for number in range(40)])

        lock = threading.Lock()

        def act() -> None:
            with lock:
                if not reports:
                    reports.append(other.add([document(900)]))

        summarizer.tell = act
        assert monograph.add([document(500)]).problems == ()
        assert reports[0].added == 1
        assert "another process" in reports[0].problems[0].reason
        assert monograph.stats().tree.waiting == 0  # type: ignore[union-attr]
        assert monograph.check() == []


def test_change_without_the_trees_models_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "x.mono"
    with Monograph.open(path, HashEmbedder(16), summarizer=ExtractiveSummarizer()) as monograph:
        monograph.add([document(number) for number in range(30)])
    with Monograph.open(path) as monograph:
        report = monograph.remove(["d3"])
        assert report.removed == 1
        assert "tests:hash" in report.problems[0].reason
        assert len(monograph.documents()) == 29
    with Monograph.open(path, HashEmbedder(16)) as monograph:
        assert monograph.stats().tree.waiting > 0  # type: ignore[union-attr]
        assert monograph.add([]).problems == ()
        assert monograph.stats().tree.waiting == 0  # type: ignore[union-attr]
        assert monograph.check() == []


def test_tree_lock_ends_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / "x.mono"
    script = f"""
import os, sys
from pathlib import Path
from monograph.write.tree import tree_lock
with tree_lock(Path({str(path)!r})):
    os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    with growing.tree_lock(path):
        assert [one.name for one in tmp_path.iterdir()] == ["x.mono-tree"]
    assert list(tmp_path.iterdir()) == []


WRITER = """
import json, random, sys
sys.path.insert(0, {tests!r})
from support.models import HashEmbedder
from monograph import Document, Monograph
from support.trees import write_and_forget
with Monograph.open({file!r}, HashEmbedder(16)) as monograph:
    print(json.dumps(write_and_forget(monograph, {name!r}, {rounds})))
"""


@pytest.mark.long
def test_tree_is_whole_after_four_threads_and_four_processes(tmp_path: Path) -> None:
    path = tmp_path / "x.mono"
    rounds = 20
    results: list[list[list[str]]] = []
    with Monograph.open(path, HashEmbedder(16), summarizer=ExtractiveSummarizer()) as monograph:
        monograph.add([document(number) for number in range(40)])
        scripts = [WRITER.format(tests=str(TESTS), file=str(path), name=f"p{n}", rounds=rounds) for n in range(4)]
        children = [
            subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) for script in scripts
        ]
        threads = [
            threading.Thread(target=lambda name=f"t{n}": results.append(write_and_forget(monograph, name, rounds)))
            for n in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        results += [json.loads(child.communicate()[0]) for child in children]
        assert [raised for _, raised, _ in results if raised] == []
        assert [lagged for _, _, lagged in results if lagged] == []
        kept = {one for ids, _, _ in results for one in ids} | {f"d{number}" for number in range(40)}
        assert {one.id for one in monograph.documents()} == kept
        assert monograph.check() == []
        with monograph._file.database.read() as connection:
            assert store.count_stale_segments(connection) == 0
        grown = tree_of(monograph)
        documents = [monograph.document(one) for one in kept]
        wanted = [one if one.id[0] in "pt" else document(int(one.id[1:])) for one in documents]
    assert grown == built_anew(tmp_path / "fresh.mono", wanted, Settings())
