"""Operations that are killed before and after each of their commits, as by a power cut."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

import pytest

from monograph import Document, Monograph, Passage, Settings
from monograph.derive.summarize.extractive import ExtractiveSummarizer
from monograph.store.graph import names
from support.contents import compacted_contents, documents_without_graph, graph_of
from support.drawn_documents import some_documents
from support.kill_at_commit import count_commits, killed
from support.models import CapitalExtractor, HashEmbedder, OtherEmbedder
from support.people import NAMES, open_people
from support.rebuilt_files import notes, state_of
from support.secrets import SECRET, has_traces, write_secrets

State: TypeAlias = Literal["as before", "to be finished", "done"]
Moment: TypeAlias = tuple[int, Literal["before", "after"]]


class Operation(ABC):
    """A program that changes a file, and what must hold of the file after the program is killed."""

    file: Path
    program: str
    """Opens ``{path}``."""
    least: ClassVar[dict[State, int]]
    """How many kills leave a state at least, if the program is killed at every commit."""

    @abstractmethod
    def check(self, path: Path, number: int) -> State:
        """Check the file after the ``number``-th kill and return its state."""


class RebuildVectors(Operation):
    """Another embedder takes the place of the first with everything that is derived from its vectors."""

    least: ClassVar[dict[State, int]] = {"as before": 10, "done": 1}

    def __init__(self, folder: Path, embedder: HashEmbedder) -> None:
        self.file, whole = folder / "x.mono", folder / "whole.mono"
        self.embedder = embedder
        self.program = f"""
from support.models import OtherEmbedder
with Monograph.open({{path!r}}, HashEmbedder(32)) as monograph:
    monograph.vectors.rebuild({type(embedder).__name__}({embedder.dimension}))
"""
        with Monograph.open(self.file, HashEmbedder(32), summarizer=ExtractiveSummarizer()) as monograph:
            monograph.add(notes(70))
        shutil.copy(self.file, whole)
        with Monograph.open(whole, HashEmbedder(32)) as monograph:
            self.before = state_of(monograph)
            monograph.vectors.rebuild(embedder)
            self.after = state_of(monograph)
            monograph.add(notes(3, first=500))
            self.with_more = state_of(monograph)
        assert self.before != self.after

    def check(self, path: Path, number: int) -> State:
        with Monograph.open(path) as monograph:
            changed = monograph.stats().embedder == self.embedder.key
        with Monograph.open(path, self.embedder if changed else HashEmbedder(32)) as monograph:
            assert state_of(monograph) == (self.after if changed else self.before)
            assert monograph.check() == []
            if number % 2:
                monograph.add(notes(3, first=500))
                monograph.remove([f"n{n}" for n in range(500, 503)])
            assert monograph.vectors.rebuild(self.embedder).problems == ()
            assert state_of(monograph) == self.after
            monograph.add(notes(3, first=500))
            assert state_of(monograph) == self.with_more
            assert monograph.check() == []
        return "done" if changed else "as before"


class Forget(Operation):
    """Documents are forgotten: the next write removes from the bytes of the file what a kill left there."""

    least: ClassVar[dict[State, int]] = {"as before": 1, "to be finished": 4, "done": 1}

    def __init__(self, folder: Path, command: Literal["remove", "sync"]) -> None:
        self.file, texts = folder / "notes.mono", folder / "texts"
        write_secrets(texts)
        done = {
            "remove": 'monograph.remove(["secret"], forget=True)',
            "sync": f"monograph.sync({str(texts)!r}, forget=True)",
        }[command]
        self.program = f"""
with Monograph.open({{path!r}}, HashEmbedder()) as monograph:
    {done}
"""
        with Monograph.open(self.file, HashEmbedder()) as monograph:
            monograph.sync(texts)
            monograph.add([Document(SECRET, id="secret")])
            gone = (texts / "secret.txt", texts / "diary.txt")
            if command == "remove":
                monograph.remove([str(one) for one in gone])
                monograph.compact()
            else:
                monograph.remove(["secret"])
                for one in gone:
                    one.unlink()

    def check(self, path: Path, number: int) -> State:
        with Monograph.open(path, HashEmbedder()) as monograph:
            gone = not monograph.search("kumquat-998172635", 1, how="lexical")
            owed = any("still in the bytes" in one.fault for one in monograph.check())
            monograph.add([Document("Something else.", id="else")])
            assert monograph.check() == []
            assert not gone or has_traces(path) == []
        return "to be finished" if owed else "done" if gone else "as before"


class ReplaceVersion(Operation):
    """A document replaces its previous version, which stays in the history."""

    least: ClassVar[dict[State, int]] = {"as before": 1, "done": 1}

    def __init__(self, folder: Path) -> None:
        self.file = folder / "x.mono"
        self.program = """
from support.models import CapitalExtractor
archive = Monograph.open({path!r}, HashEmbedder(), CapitalExtractor(), clock=lambda: 1_700_000_010)
archive.add([Document("The boiler was replaced by Otto.", id="boiler")])
"""
        with self._open(self.file) as archive:
            archive.add([Document("The boiler was repaired by Ines.", id="boiler")])

    def _open(self, path: Path) -> Monograph:
        settings = Settings(chunk_tokens=16, chunk_overlap=0, history=True)
        return Monograph.open(path, HashEmbedder(), CapitalExtractor(), clock=lambda: 1_700_000_000, settings=settings)

    def check(self, path: Path, number: int) -> State:
        with self._open(path) as archive:
            text, versions = archive.document("boiler").text, len(archive.versions("boiler"))
            assert archive.check() == []
        replaced = text == "The boiler was replaced by Otto."
        assert replaced or text == "The boiler was repaired by Ines."
        assert versions == 1 + replaced
        return "done" if replaced else "as before"


class KeepApart(Operation):
    """Two names are kept apart, or merged again: the next write completes the graph of a killed program."""

    least: ClassVar[dict[State, int]] = {"as before": 1, "done": 1}

    def __init__(self, folder: Path, command: Literal["keep_apart", "unite"]) -> None:
        self.file = folder / "x.mono"
        self.command = command
        self.program = f"""
from support.people import open_people
with open_people(Path({{path!r}})) as monograph:
    monograph.graph.{command}("John Paul Smith", "J. Smith")
"""
        self.states: dict[bool, dict[str, Any]] = {}
        with open_people(self.file) as monograph:
            monograph.add(NAMES)
            self.states[False] = graph_of(monograph)
            monograph.graph.keep_apart("John Paul Smith", "J. Smith")
            self.states[True] = graph_of(monograph)
            if command == "keep_apart":
                monograph.graph.unite("John Paul Smith", "J. Smith")
        assert self.states[False] != self.states[True]

    def check(self, path: Path, number: int) -> State:
        with open_people(path) as monograph:
            assert monograph.check() == []
            monograph.add([])
            assert monograph.check() == []
            with monograph._file.database.read() as connection:
                apart = bool(names.cannot_link(connection))
            assert graph_of(monograph) == self.states[apart]
        return "done" if apart is (self.command == "keep_apart") else "as before"


class Assert(Operation):
    """Two assertions are stored one after the other, then removed with the chunk they name."""

    least: ClassVar[dict[State, int]] = {"as before": 1, "to be finished": 4, "done": 1}

    def __init__(self, folder: Path) -> None:
        self.file = folder / "x.mono"
        self.program = """
from monograph.values import AssertedNode, AssertedRelation
from support.models import CapitalExtractor
with Monograph.open({path!r}, HashEmbedder(), CapitalExtractor()) as archive:
    archive.graph.add([AssertedNode("a")], [AssertedRelation("a", "MET", "b", dict(), ("c1",))])
    archive.graph.add([AssertedNode("c")], [AssertedRelation("c", "MET", "d", dict(), ("c1",))])
    archive.remove_chunks(["c1"])
"""
        passages = (Passage("Ada met Babbage.", "c1"), Passage("They talked.", "c2"))
        with Monograph.open(self.file, HashEmbedder(), CapitalExtractor()) as archive:
            archive.add([Document(id="d1", passages=passages), Document("A third note.", id="d2")])

    def check(self, path: Path, number: int) -> State:
        with Monograph.open(path, HashEmbedder(), CapitalExtractor()) as archive:
            found = archive.graph.assertions()
            assert archive.check() == []
            removed = archive.fetch(["c1"]) == []
        relations = len(found.relations)
        if removed:
            assert relations == 0
            return "done"
        assert relations <= 2
        assert len(found.nodes) == 2 * relations
        return "to be finished" if relations else "as before"


class BuildGraph(Operation):
    """The graph is built later: a killed build resumes and never repeats a stored part."""

    least: ClassVar[dict[State, int]] = {"as before": 1, "to be finished": 4, "done": 1}

    def __init__(self, folder: Path) -> None:
        self.file, whole = folder / "x.mono", folder / "whole.mono"
        self.program = """
from monograph import Settings
from monograph.write import rebuild_graph
rebuild_graph.DOCUMENTS_AT_ONCE = 10
with Monograph.open({path!r}, HashEmbedder(32)) as monograph:
    monograph.graph.build()
"""
        with self._open(self.file, graph=False) as monograph, self._open(whole, graph=True) as once:
            monograph.add(some_documents(40))
            once.add(some_documents(40))
            self.wanted = compacted_contents(once)
        self.left = (40, 40)

    def _open(self, path: Path, *, graph: bool) -> Monograph:
        return Monograph.open(path, HashEmbedder(32), settings=Settings(chunk_tokens=16, chunk_overlap=0, graph=graph))

    def check(self, path: Path, number: int) -> State:
        with Monograph.open(path, HashEmbedder(32)) as monograph:
            assert monograph.check() == []
            left, done = documents_without_graph(monograph), monograph.stats().has_graph
            if number:
                assert left <= self.left
                self.left = left
            monograph.graph.build()
            assert monograph.stats().has_graph
            assert compacted_contents(monograph) == self.wanted
            assert monograph.check() == []
        if done:
            assert left == (0, 0)
            return "done"
        return "as before" if left == (40, 40) else "to be finished"


OPERATIONS: dict[str, Callable[[Path], Operation]] = {
    "rebuild longer vectors": partial(RebuildVectors, embedder=HashEmbedder(48)),
    "rebuild vectors as long": partial(RebuildVectors, embedder=OtherEmbedder(32)),
    "forget by remove": partial(Forget, command="remove"),
    "forget by sync": partial(Forget, command="sync"),
    "replace a version": ReplaceVersion,
    "keep names apart": partial(KeepApart, command="keep_apart"),
    "merge names again": partial(KeepApart, command="unite"),
    "store and remove assertions": Assert,
    "build the graph": BuildGraph,
}


def copy_in(folder: Path, operation: Operation) -> Path:
    """Return a copy of the operation's file in a new folder."""
    folder.mkdir()
    return Path(shutil.copy(operation.file, folder / operation.file.name))


def commits_of(operation: Operation, folder: Path) -> int:
    """Run the program to its end, check the file and return how often the program commits."""
    path = copy_in(folder / "to its end", operation)
    commits = count_commits(operation.program.format(path=str(path)))
    assert operation.check(path, 0) == "done"
    return commits


def states_after(operation: Operation, moments: Sequence[Moment], folder: Path) -> list[State]:
    """Return the state of the file after a kill at each moment."""
    found = []
    for number, (commit, moment) in enumerate(moments):
        path = copy_in(folder / f"{commit} {moment}", operation)
        assert killed(operation.program.format(path=str(path)), commit, moment)
        found.append(operation.check(path, number))
    return found


# One of each kind: the test of every commit, which is long, has them all.
@pytest.mark.parametrize(
    "name",
    [
        "rebuild vectors as long",
        "forget by remove",
        "replace a version",
        "keep names apart",
        "store and remove assertions",
        "build the graph",
    ],
)
def test_operation_killed_around_its_last_commit_is_whole(tmp_path: Path, name: str) -> None:
    operation = OPERATIONS[name](tmp_path)
    last = commits_of(operation, tmp_path)
    first, *_, done = states_after(operation, [(1, "before"), (last, "before"), (last, "after")], tmp_path)
    assert (first, done) == ("as before", "done")


@pytest.mark.long
@pytest.mark.parametrize("name", OPERATIONS)
def test_operation_killed_at_every_commit_is_whole(tmp_path: Path, name: str) -> None:
    operation = OPERATIONS[name](tmp_path)
    commits = commits_of(operation, tmp_path)
    moments: list[Moment] = [(n, moment) for n in range(1, commits + 1) for moment in ("before", "after")]
    states = states_after(operation, moments, tmp_path)
    assert states == sorted(states, key=["as before", "to be finished", "done"].index)
    assert set(states) == set(operation.least)
    assert all(states.count(state) >= count for state, count in operation.least.items())
