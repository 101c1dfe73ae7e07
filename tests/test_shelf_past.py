"""A shelf as it stood answers as one file that was written at the same seconds did."""

from __future__ import annotations

import copy
import json
import pickle
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from embedders import HashEmbedder
from extractors import CapitalExtractor
from monograph import Document, Monograph, Settings
from monograph.app.cli import app
from monograph.errors import ClosedFile, InputError, NotFound, OutsideView
from monograph.shelf import Shelf
from monograph.shelf.shard import pasts
from test_shelf import hits_of

START = 1_700_000_000
HISTORY = Settings(chunk_tokens=16, chunk_overlap=0, history=True)
WAYS = ("lexical", "hybrid", "graph")
TEXTS = (
    "Ann Calder met Bert Lind at the Lighthouse of Oslo.",
    "Bert Lind repaired the boiler of the Lighthouse. Dora was away that day, and Emil Faro wrote it down for her.",
    "Emil Faro wrote to Ann Calder of the storm in Oslo.",
    "The Lighthouse was lit by Dora. Nobody else came from Oslo on that Sunday, and the boats stayed where they were.",
    "The Office of Naval Affairs (ONA) paid Bert Lind. ONA pays Emil Faro too.",
)
QUESTION = "Whom did Ann Calder and Bert Lind meet at the Lighthouse of ONA?"
CHANGES = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 4), st.one_of(st.none(), st.integers(0, len(TEXTS) - 1))),
    min_size=2,
    max_size=8,
)


def document(number: int, text: int) -> Document:
    return Document(
        TEXTS[text], id=f"d{number}", uri=f"notes/{number}", title=f"Note {text}" if text % 2 else "",
        metadata={"kind": "ab"[number % 2]},
    )  # fmt: skip


class Clock(list[float]):
    """Stands at a second, also when it is pickled."""

    def __call__(self) -> float:
        return self[0]


@contextmanager
def both(folder: Path, shards: int, now: Clock, **models: Any) -> Iterator[tuple[Monograph, Shelf]]:
    """A file and a shelf that keep former versions, and whose clock stands at ``now``."""
    models |= {"settings": HISTORY, "clock": now}
    with (
        Monograph.open(folder / "one.mono", **models) as one,
        Shelf.create(folder / "there", shards, home=folder / "here", **models) as shelf,
    ):
        yield one, shelf


def write(one: Monograph, shelf: Shelf, changes: list[tuple[int, int, int | None]], now: Clock) -> list[int]:
    """The seconds in which something changed."""
    moments = []
    for passed, number, text in changes:
        now[0] += passed
        moments.append(int(now[0]))
        if text is not None:
            one.add([document(number, text)])
            shelf.add([document(number, text)])
        elif f"d{number}" in {known.id for known in one.documents()}:
            one.remove([f"d{number}"])
            shelf.remove([f"d{number}"])
    shelf.publish()
    return moments


def same(mine: Shelf, its: Monograph, where: Mapping[str, Any] | None = None) -> None:
    for how in WAYS:
        assert hits_of(mine, QUESTION, how, 20, where) == hits_of(its, QUESTION, how, 20, where), how
    assert mine.context(QUESTION, where=where).text == its.context(QUESTION, where=where).text


def same_everywhere(mine: Shelf, its: Monograph) -> None:
    same(mine, its)
    assert mine.documents() == its.documents()
    assert [mine.document(one.id) for one in mine.documents()] == [its.document(one.id) for one in its.documents()]
    assert [one.name for one in mine.graph.entities(50)] == [one.name for one in its.graph.entities(50)]
    told, stats = mine.stats(), its.stats()
    assert (told.documents, told.chunks, told.entities, told.merged) == (
        stats.documents, stats.chunks, stats.entities, stats.merged,
    )  # fmt: skip


def same_versions(shelf: Shelf, one: Monograph) -> None:
    for name in (f"d{number}" for number in range(5)):
        try:
            had = one.versions(name)
        except NotFound:
            with pytest.raises(NotFound):
                shelf.versions(name)
        else:
            assert shelf.versions(name) == had


@settings(max_examples=5, deadline=None)
@given(changes=CHANGES, shards=st.integers(1, 4))
def test_every_moment_is_that_of_one_file(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int, int | None]], shards: int
) -> None:
    folder, now = tmp_path_factory.mktemp("past"), Clock([START])
    with both(folder, shards, now) as (one, shelf):
        moments = write(one, shelf, changes, now)
        same_versions(shelf, one)
        for second in dict.fromkeys([START - 1, moments[0], moments[len(moments) // 2], moments[-1]]):
            mine, its = shelf.as_of(second), one.as_of(second)
            same_everywhere(mine, its)
            same(mine.within({"kind": "a"}), its.within({"kind": "a"}))
            same(shelf.within({"kind": "a"}).as_of(second), its.within({"kind": "a"}))
        same(shelf, one, {"$valid": moments[0], "kind": "b"})
        same(shelf, one)


HISTORIES: list[tuple[int, int, int | None]] = [
    (0, 0, 0), (0, 1, 1), (0, 2, 4), (5, 0, 2), (0, 3, 3), (5, 1, None), (0, 2, 0), (5, 4, 4), (5, 2, None), (5, 2, 1)
]  # fmt: skip


def test_what_a_document_was(tmp_path: Path) -> None:
    now = Clock([START])
    with both(tmp_path, 3, now) as (one, shelf):
        write(one, shelf, HISTORIES, now)
        for name in ("d0", "notes/1"):
            assert shelf.document(name, as_of=START + 4) == one.document(name, as_of=START + 4)
        view = shelf.within({"kind": "a"})
        assert view.document("d0", as_of=START) == one.document("d0", as_of=START)
        for name in ("d1", "d9"):
            with pytest.raises(NotFound):
                shelf.document(name, as_of=START + 60)
        with pytest.raises(NotFound):
            view.document("d1", as_of=START)
        name = hits_of(one.as_of(START), QUESTION, "lexical", 1)[0].chunk.id
        (mine,), (its,) = (which.fetch([name], where={"$valid": START}) for which in (shelf, one))
        assert (mine.chunk, mine.metadata) == (its.chunk, its.metadata)
        assert shelf.fetch([name]) == []
        assert shelf.ask(QUESTION, where={"$valid": START}).text == one.ask(QUESTION, where={"$valid": START}).text


def test_what_was_is_read_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = Clock([START])
    # Of models that no shard can make again.
    with both(tmp_path, 2, now, embedder=HashEmbedder(), extractor=CapitalExtractor()) as (one, shelf):
        write(one, shelf, HISTORIES, now)
        then = shelf.as_of(START + 5)
        assert then.view == one.as_of(START + 5).view
        for method, arguments in {
            "add": ([],),
            "publish": (),
            "versions": ("d0",),
            "check": (),
            "reshard": (2,),
        }.items():
            with pytest.raises(OutsideView, match="as it was at"):
                getattr(then, method)(*arguments)
        with pytest.raises(InputError, match="as it stood has no tree"):
            then.search(QUESTION, how="tree")
        with pytest.raises(OutsideView, match="a view of"):
            shelf.within({"kind": "a"}).versions("d0")
        assert copy.deepcopy(then).stats() == then.stats() == pickle.loads(pickle.dumps(then)).stats()
        monkeypatch.setattr(pasts, "MOST", 1)
        for second in (START, START + 5, START, START + 10):
            same(shelf.as_of(second), one.as_of(second))
        same(then, one.as_of(START + 5))
        now[0] += 5
        shelf.add([document(4, 0)])
        shelf.publish()
        same(then, one.as_of(START + 5))
        shelf.reshard(3)
        same(then, one.as_of(START + 5))
    with pytest.raises(ClosedFile):
        then.search(QUESTION)


def test_a_shelf_without_former_versions_says_so(tmp_path: Path) -> None:
    with Shelf.create(tmp_path / "there", 2, home=tmp_path / "here") as shelf:
        asked: list[Any] = [
            lambda: shelf.as_of("2026"), lambda: shelf.search("x", where={"$valid": "2026"}),
            lambda: shelf.within({"$valid": "2026"}), lambda: shelf.versions("x"),
            lambda: shelf.document("x", as_of="2026"), lambda: shelf.forget_versions(before="2026"),
        ]  # fmt: skip
        for ask in asked:
            with pytest.raises(InputError, match="keeps no former versions"):
                ask()


def held(shelf: Shelf, folder: Path) -> bytes:
    """The bytes of the objects that the newest version names."""
    return b"".join((folder / name.name).read_bytes() for name in shelf._version.objects)


def test_forgetting_leaves_no_trace(tmp_path: Path) -> None:
    now = Clock([START])
    with both(tmp_path, 3, now) as (_, shelf):
        for text in ("The zorblax was kept.", "The qwertium was kept.", "The lamp was kept."):
            shelf.add([Document(text, id="secret"), Document(text.replace("lamp", "vellum"), id="other")])
            now[0] += 5
        shelf.remove(["secret"])
        shelf.publish()
        assert b"zorblax" in held(shelf, tmp_path / "there")
        assert len(shelf.versions("secret")) == 3
        with pytest.raises(NotFound):
            shelf.remove(["secret"])
        assert shelf.forget_versions(["other"], before=START + 6) == 1
        assert shelf.remove(["secret"], forget=True).removed == 1
        shelf.publish()
        assert len(shelf.versions("other")) == 2
        assert b"zorblax" not in held(shelf, tmp_path / "there")
        assert b"qwertium" in held(shelf, tmp_path / "there")
        assert shelf.forget_versions(["other", "nobody"]) == 1
        shelf.publish()
        assert b"qwertium" not in held(shelf, tmp_path / "there")
        assert [one.id for one in shelf.documents()] == ["other"]


def test_what_a_file_held_lies_with_the_file(tmp_path: Path) -> None:
    now, notes = Clock([START]), tmp_path / "notes"
    notes.mkdir()

    def pack(numbers: Iterable[int]) -> None:
        with zipfile.ZipFile(notes / "box.zip", "w") as box:
            for number in numbers:
                box.writestr(f"{number}.txt", f"The lamp of {number} was lit at {now[0]:.0f}.")
        now[0] += 5

    with both(tmp_path, 2, now) as (_, shelf):
        for numbers in (range(8), range(1)):
            pack(numbers)
            shelf.sync(notes)
        shelf.publish()
        shelf.reshard(5)
        assert f"lit at {START}".encode() in held(shelf, tmp_path / "there")
        # What was in it comes back, and is forgotten with what it was.
        for numbers in (range(8), range(8)):
            pack(numbers)
            shelf.sync(notes, forget=True)
        shelf.publish()
        assert f"lit at {START}".encode() not in held(shelf, tmp_path / "there")


def test_former_versions_travel(tmp_path: Path) -> None:
    now = Clock([START])
    moments = [START - 1, START, START + 5, START + 10, START + 60]
    with both(tmp_path, 2, now) as (one, shelf):
        write(one, shelf, HISTORIES, now)
        shelf.reshard(3)
        same_versions(shelf, one)
        shelf.join(tmp_path / "joined.mono")
        with (
            Monograph.open(tmp_path / "joined.mono") as joined,
            Shelf.split(tmp_path / "one.mono", tmp_path / "split", 2, home=tmp_path / "split-here") as split,
        ):
            assert joined.check() == split.check() == shelf.check() == []
            for number in range(5):
                assert joined.versions(f"d{number}") == one.versions(f"d{number}")
            same_versions(split, one)
            for second in moments:
                its = one.as_of(second)
                for other in (shelf, split):
                    same_everywhere(other.as_of(second), its)
                for how in WAYS:
                    assert hits_of(joined.as_of(second), QUESTION, how, 20) == hits_of(its, QUESTION, how, 20)


def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    url, notes = str(tmp_path / "there"), tmp_path / "notes"
    notes.mkdir()
    run("shelf", "create", url, "--shards", "2", "--history")
    for second, text in ((START, "The lamp was lit by Ann."), (START + 86_400, "The lamp was lit by Bert.")):
        (notes / "lamp.txt").write_text(text)
        with Shelf.open(url, clock=lambda second=second: second) as shelf:  # type: ignore[misc]
            shelf.sync(notes)
            shelf.publish()
    then = ("--as-of", "2023-11-14")
    assert "Bert" in run("search", url, "lamp") and "Ann" in run("search", url, "lamp", *then)
    assert "Ann" in run("ask", url, "Who lit the lamp?", *then)
    assert "Ann" in run("shelf", "show", url, "notes/lamp.txt", *then)
    assert len(json.loads(run("shelf", "show", url, "notes/lamp.txt", "--versions", "--json"))) == 2
    assert json.loads(run("shelf", "stats", url, "--as-of", "2023-01", "--json"))["documents"] == 0
    run("shelf", "remove", url, "--versions-before", "2024", "--publish")
    assert len(json.loads(run("shelf", "show", url, "notes/lamp.txt", "--versions", "--json"))) == 1
    assert "nothing says" in CliRunner().invoke(app, ["shelf", "remove", url]).output


def run(*arguments: str) -> str:
    made = CliRunner().invoke(app, list(arguments))
    assert made.exit_code == 0, made.output
    return made.output
