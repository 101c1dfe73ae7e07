"""Numbers, texts, paths and filters of any kind, and a machine without room: answers, or errors that say so."""

from __future__ import annotations

import json
import math
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from monograph import Document, Monograph, Passage, Settings, Windows
from monograph import where as filters
from monograph.derive.embed.given import GivenVectors
from monograph.derive.openai_compatible import OpenAICompatible
from monograph.errors import InputError, InvalidDocument, InvalidFilter, MonographError, NotAMonograph, StorageFull
from monograph.models import Completion
from monograph.read.limits import Limits
from monograph.search.strategies import Hybrid, Tfidf, Tree
from monograph.store.documents.filters import MOST_COMPARISONS, compile_condition, rows
from monograph.values import AssertedNode, AssertedRelation, Place, Section
from support.forks import run

HALF = "half \ud800 a pair"
HUGE = 10**400
NO_NUMBERS = [math.nan, math.inf, -math.inf, 1.5, "5", None, [], b"5", HALF, object()]
NO_FRACTIONS = [math.nan, math.inf, -math.inf, HUGE, "x", [], HALF, object()]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monograph]:
    with Monograph.open(tmp_path_factory.mktemp("limits") / "x.mono") as made:
        made.add(
            Document(f"Ann Smith met Bob Jones in Berlin on day {n}, about INV-{n}.", id=f"d{n}", metadata={"n": n})
            for n in range(30)
        )
        made.tree.rebuild()
        yield made


WHOLE: dict[str, tuple[str, Callable[[Monograph, Any], object]]] = {
    "search": ("k", lambda m, n: m.search("Ann", n)),
    "budget": ("budget", lambda m, n: m.context("Ann", n)),
    "ask": ("budget", lambda m, n: m.ask("Ann", n)),
    "hops": ("hops", lambda m, n: m.graph.neighbourhood("Ann Smith", n)),
    "around": ("most", lambda m, n: m.graph.neighbourhood("Ann Smith", 1, n)),
    "routes": ("hops", lambda m, n: m.graph.routes("Ann Smith", "Berlin", n)),
    "ways": ("limit", lambda m, n: m.graph.routes("Ann Smith", "Berlin", limit=n)),
    "entities": ("k", lambda m, n: m.graph.entities(n)),
    "layers": ("layers", lambda m, n: m.tree.outline(layers=n)),
    "window": ("window", lambda m, n: Windows(window=n)),
    "cache": ("cache_bytes", lambda m, n: Monograph.open(m.path, cache_bytes=n).close()),
    "bytes": ("max_bytes", lambda m, n: Limits(max_bytes=n)),
    "memory": ("max_memory", lambda m, n: Limits(max_memory=n)),
    "chunk": ("chunk_tokens", lambda m, n: Settings(chunk_tokens=n)),
    "dimension": ("dimension", lambda m, n: GivenVectors(n)),
    "retries": ("retries", lambda m, n: OpenAICompatible("http://localhost/v1", "m", retries=n)),
}


@pytest.mark.parametrize("of", WHOLE)
def test_invalid_whole_numbers_are_refused(filled: Monograph, of: str) -> None:
    name, act = WHOLE[of]
    for value in (*NO_NUMBERS, -1, -HUGE):
        with pytest.raises(InputError) as caught:
            act(filled, value)
        assert name in caught.value.message and caught.value.hint
        if isinstance(value, float):
            assert str(value) in caught.value.message
    for value in (2**31, 2**63, HUGE, 10**5000):
        act(filled, value)


@pytest.mark.parametrize("how", ["lexical", "tfidf", "dense", "hybrid", "graph", "tree", "auto"])
def test_large_k_returns_every_hit(filled: Monograph, how: str) -> None:
    every = filled.search("Ann Smith INV-3", 200, how)
    for k in (2**31, 2**63, HUGE):
        assert filled.search("Ann Smith INV-3", k, how) == every
    assert len(filled.search("Ann Smith", True, how)) == 1


def test_huge_neighbourhood_limit_returns_every_entity(filled: Monograph) -> None:
    near = {one.name for one in filled.graph.neighbourhood("Ann Smith", 60).entities}
    assert {one.name for one in filled.graph.neighbourhood("Ann Smith", HUGE).entities} == near
    assert len(near) > 1


SHARES: dict[str, tuple[str, Callable[[Monograph, Any], object]]] = {
    "cut": ("cut", lambda m, n: m.context("Ann", cut=n)),
    "reduce": ("cut", lambda m, n: m.reduce("Ann", m.search("Ann"), cut=n)),
    "alpha": ("alpha", lambda m, n: Hybrid(alpha=n)),
    "detail": ("detail", lambda m, n: Tree(detail=n)),
    "recall": ("target_recall", lambda m, n: Monograph.open(m.path, target_recall=n).close()),
    "seconds": ("max_seconds", lambda m, n: Limits(max_seconds=n)),
    "timeout": ("timeout", lambda m, n: OpenAICompatible("http://localhost/v1", "m", timeout=n)),
    "tfidf": ("alpha", lambda m, n: Tfidf(alpha=n)),
}


@pytest.mark.parametrize("of", SHARES)
def test_non_finite_fractions_are_refused(filled: Monograph, of: str) -> None:
    name, act = SHARES[of]
    for value in NO_FRACTIONS:
        with pytest.raises(InputError) as caught:
            act(filled, value)
        assert name in caught.value.message and caught.value.hint
        caught.value.message.encode()


def test_invalid_numbers_in_search_modes_are_refused(filled: Monograph) -> None:
    for how in ("tree:budget=1e999", "tree:detail=NaN", "hybrid:alpha=" + "[" * 100_000, f"tree:budget={'9' * 5000}"):
        with pytest.raises(InputError) as caught:
            filled.search("Ann", how=how)
        assert len(str(caught.value)) < 600


TEXTS: dict[str, Callable[[Monograph, Any], object]] = {
    "query": lambda m, text: m.search(text),
    "question": lambda m, text: m.ask(text),
    "reduce": lambda m, text: m.reduce(text, m.search("Ann")),
    "how": lambda m, text: m.search("Ann", how=text),
    "document": lambda m, text: m.document(text),
    "chunks": lambda m, text: m.chunks(text),
    "fetch": lambda m, text: m.fetch([text]),
    "remove": lambda m, text: m.remove([text]),
    "remove_chunks": lambda m, text: m.remove_chunks([text]),
    "entity": lambda m, text: m.graph.neighbourhood(text),
    "apart": lambda m, text: m.graph.keep_apart("Ann Smith", text),
    "unite": lambda m, text: m.graph.unite(text, "Ann Smith"),
    "node": lambda m, text: m.tree.outline(text),
    "where": lambda m, text: m.search("Ann", where={"n": text}),
    "where in": lambda m, text: m.search("Ann", where={"n": {"in": [text]}}),
    "where key": lambda m, text: m.search("Ann", where={text: 1}),
    "where operator": lambda m, text: m.search("Ann", where={"n": {text: 1}}),
    "where field": lambda m, text: m.search("Ann", where={"$title": text}),
    "open": lambda m, text: Monograph.open(text),
    "sync": lambda m, text: m.sync(text),
    "backup": lambda m, text: m.backup(text),
    "moved": lambda m, text: m.files.move("x", text),
    "root": lambda m, text: m.files.remove(text),
    "passage": lambda m, text: m.put([Document(id="z", passages=(Passage(text),))]),
}
DOCUMENTS: dict[str, Callable[[str], Document]] = {
    "id": lambda text: Document("A comet.", id=text),
    "title": lambda text: Document("A comet.", title=text),
    "uri": lambda text: Document("A comet.", uri=text),
    "key": lambda text: Document("A comet.", metadata={text: 1}),
    "value": lambda text: Document("A comet.", metadata={"owner": text}),
    "nested key": lambda text: Document("A comet.", metadata={"deep": [{text: 1}]}),
    "nested value": lambda text: Document("A comet.", metadata={"deep": [{"a": [text]}]}),
    "passage id": lambda text: Document(passages=(Passage("A comet.", text),)),
    "passage metadata": lambda text: Document(passages=(Passage("A comet.", metadata={text: 1}),)),
    "heading": lambda text: Document("A comet.", sections=(Section(0, (text,)),)),
    "sheet": lambda text: Document("A comet.", places=(Place(0, sheet=text),)),
}
TEXTS["text"] = lambda m, text: m.add([Document(text)])
TEXTS |= {f"{name} of a document": lambda m, text, of=of: m.add([of(text)]) for name, of in DOCUMENTS.items()}  # type: ignore[misc]


@pytest.mark.parametrize("of", TEXTS)
def test_half_of_a_surrogate_pair_is_refused(filled: Monograph, of: str) -> None:
    before = filled.stats().documents
    with pytest.raises(MonographError) as caught:
        TEXTS[of](filled, HALF)
    str(caught.value).encode()  # It can be printed.
    assert caught.value.hint
    assert filled.stats().documents == before


@pytest.mark.parametrize("ids", ["12", b"12", Path("12"), 12, None], ids=repr)
def test_ids_that_are_no_list_are_refused(monograph: Monograph, ids: Any) -> None:
    monograph.add([Document("One.", id="1"), Document("Two.", id="2")])
    with pytest.raises(InputError, match="must be in a list"):
        monograph.remove(ids)
    assert len(monograph.documents()) == 2


def test_surrogates_in_model_output_can_be_stored() -> None:
    assert Completion(HALF).text == "half ? a pair"


@pytest.mark.parametrize(
    "vector",
    [[HUGE] * 256, [math.nan] * 256, ["x"] * 256, [[1.0]], [1.0, 2.0], "text", [None] * 256, 5, object(), [1e39] * 256,
     [math.inf] * 256],
)  # fmt: skip
def test_invalid_query_vectors_are_refused(filled: Monograph, vector: Any) -> None:
    with pytest.raises(InputError):
        filled.search("Ann", how="dense", vector=vector)
    with pytest.raises(InvalidDocument):
        filled.put([Document(id="z", passages=(Passage("a", vector=vector),))])


def test_very_long_and_short_vectors_are_normalized(filled: Monograph) -> None:
    usual = filled.embedder.embed(["Ann Smith met Bob"], "query")[0]
    found = [hit.chunk.id for hit in filled.search("Ann", 3, "dense", vector=usual)]
    for factor in (1e30, 1e-30):
        assert [hit.chunk.id for hit in filled.search("Ann", 3, "dense", vector=usual * factor)] == found


@pytest.mark.parametrize("metadata", [5, "ab", {"a": math.nan}, {"a": 10**5000}, {1: 2}, {"a": object()}])
def test_invalid_metadata_is_refused(metadata: Any) -> None:
    with pytest.raises(InvalidDocument):
        Document("a", metadata=metadata)


def test_metadata_as_deep_as_sqlite_reads_is_accepted(monograph: Monograph) -> None:
    nested: dict[str, Any] = {"a": 1}
    for _ in range(490):
        nested = {"a": nested}
    monograph.add([Document("a text", metadata=nested | {"b": HUGE})])
    assert len(monograph.search("text", where={"b": {">": 1}})) == 1
    for _ in range(20):
        nested = {"a": nested}
    with pytest.raises(InvalidDocument, match="nested more than 500"):
        Document("a text", metadata=nested)


def found(monograph: Monograph, where: dict[str, Any]) -> set[int]:
    condition = filters.parse(where)
    with monograph._file.database.read() as connection:
        chosen = rows(connection, compile_condition(condition)).tolist()
        numbers = dict(
            connection.execute(
                "SELECT chunk, metadata ->> 'n' FROM (SELECT c.chunk, d.metadata FROM chunks c JOIN documents d USING (document))"
            )
        )
    expected = {n for n in range(30) if filters.matches(condition, {"n": n})}
    assert {numbers[row] for row in chosen} == expected
    return expected


@pytest.mark.long
def test_filter_with_many_alternatives_works(filled: Monograph) -> None:
    assert found(filled, {"or": [{"n": n} for n in range(990)]}) == set(range(30))
    assert found(filled, {"or": [{"n": {">=": n, "<": n + 1}} for n in range(3, 493)]}) == set(range(3, 30))
    assert found(filled, {"or": [{f"other{n}": n} for n in range(990)] + [{"n": 3}]}) == {3}
    assert found(filled, {"and": [{"n": {"!=": n}} for n in range(5, 50_000)]}) == set(range(5))
    assert found(filled, {"not": [{"n": n} for n in range(40_000)]}) == set()
    assert found(filled, {"n": {"in": list(range(100_000))}}) == set(range(30))
    assert len(filled.search("Ann", 50, where={"or": [{"$document": f"d{n}"} for n in range(5000)]})) == 30
    with pytest.raises(InvalidFilter, match=f"more than {MOST_COMPARISONS:,}") as caught:
        found(filled, {"or": [{"n": {">": n}} for n in range(MOST_COMPARISONS + 1)]})
    assert '"in"' in caught.value.hint


@pytest.mark.parametrize("combiners", [("and",), ("or",), ("not",), ("and", "or"), ("not", "or"), ("not", "and")])
@pytest.mark.parametrize("width", [0, 1, 4, 30])
def test_filters_work_up_to_the_greatest_depth(filled: Monograph, combiners: tuple[str, ...], width: int) -> None:
    where: dict[str, Any] = {"n": {"<": 7}}
    for depth in range(filters.MAX_DEPTH):
        beside = [{f"k{depth}-{n}": {">": n}} for n in range(width)]
        where = {combiners[depth % len(combiners)]: [*beside, where] if depth % 3 else [where, *beside]}
    found(filled, where)
    with pytest.raises(InvalidFilter, match="nested more than"):
        filled.search("Ann", where={"not": [where]})


def test_filters_accept_numbers_beyond_64_bits(filled: Monograph) -> None:
    assert found(filled, {"n": {"<": 2**63}}) == found(filled, {"n": {">": -(2**80)}}) == set(range(30))
    for value in (HUGE, -HUGE, math.nan, math.inf):
        with pytest.raises(InvalidFilter, match="finite"):
            filled.search("Ann", where={"n": {"<": value}})


@pytest.mark.parametrize(
    "where",
    [
        '{"a": ' + "[" * 100_000,
        "a == " + "[" * 100_000,
        f"a > {'9' * 5000}",
        '{"a": NaN}',
        '{"a": 1e999}',
        f'{{"a": {"9" * 5000}}}',
        '{"a": "\\ud800"}',
        "{",
        "a",
        '{"and": ' * 40 + '{"a": 1}' + "}" * 40,
    ],
)
def test_invalid_filters_on_the_command_line_are_refused(filled: Monograph, where: str) -> None:
    said = run("search", filled.path, "Ann", "--where", where, code=2)
    assert said.startswith("error:") and said.count("\n") <= 3 and len(said) < 900


def test_invalid_numbers_on_the_command_line_are_refused(filled: Monograph, folder: Path) -> None:
    (folder / "a.txt").write_text("A text.")
    (folder / "a.html").write_text("<p>A text of another kind.</p>")
    new = folder.parent / "typed.mono"
    run("sync", new, folder, "--max-bytes", HUGE, "--max-seconds", "1e300")
    for option, value in (*(("--max-seconds", seconds) for seconds in ("nan", "inf", 0)), ("--max-bytes", -1)):
        for command in (("sync", new, folder), ("retry", new), ("watch", new, folder)):
            said = run(*command, option, value, code=2)
            assert option[2:].replace("-", "_") in said and said.startswith("error:")
    run("search", filled.path, "Ann", "-k", HUGE)
    assert "k is -1" in run("search", filled.path, "Ann", "-k", "-1", code=2)


@pytest.mark.long
def test_paths_that_are_no_file_raise_errors_of_ours(tmp_path: Path, filled: Monograph) -> None:
    os.mkfifo(tmp_path / "pipe.mono")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(os.path.relpath(tmp_path / "socket.mono"))
    (tmp_path / "loop.mono").symlink_to(tmp_path / "loop.mono")
    (tmp_path / "folder.mono").mkdir()
    names = ("pipe.mono", "socket.mono", "loop.mono", "folder.mono", "x" * 250 + ".mono", "x" * 256, "x" * 9999)
    for path in (*(tmp_path / name for name in names), Path("/dev/zero")):
        with pytest.raises(NotAMonograph):
            Monograph.open(path)
        with pytest.raises(MonographError):
            filled.backup(path)
        for command in (("stats", path), ("sync", path, tmp_path), ("encrypt", path), ("search", path, "Q")):
            said = run(*command, code=1)
            assert said.startswith("error:") and said.count("\n") == 2
    deep = tmp_path
    while len(str(deep)) < 600:
        deep = deep / ("y" * 100)
    deep.mkdir(parents=True)
    with pytest.raises(NotAMonograph, match="more than SQLite accepts"):
        Monograph.open(deep / "x.mono")
    with Monograph.open(tmp_path / ("x" * 242 + ".mono")) as longest:
        longest.add([Document("a text")])
        assert longest.check() == []


CHILD = """
import json, resource, sys
from monograph import Document, Monograph
from monograph.errors import MonographError
path, size, what = sys.argv[1], int(sys.argv[2]), sys.argv[3]
documents = [Document(f"Ann number {n} met Bob {n * 7} in Berlin. " * 40, id=str(n)) for n in range(600)]

def limit(kind, most):
    resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))

def act():
    if what == "memory":
        with Monograph.open(path) as monograph:
            monograph.search("Ann")
            big = Document("Ann met Bob in Berlin on Monday. " * 1_000_000, id="big")
            pages = int(open("/proc/self/statm").read().split()[0])
            limit(resource.RLIMIT_AS, pages * resource.getpagesize() + size)
            monograph.add([big])
        return
    limit(resource.RLIMIT_FSIZE, size)
    with Monograph.open(path) as monograph:
        if what == "add":
            monograph.add(documents)
        elif what == "backup":
            monograph.backup(path + ".copy")
        elif what == "compact":
            monograph.compact()

try:
    act()
    print(json.dumps(["", "", ""]))
except MonographError as error:
    print(json.dumps([type(error).__name__, error.message, error.hint]))
"""


def child(path: Path, size: int, what: str) -> list[str]:
    if sys.platform != "linux":
        pytest.skip("limits of a process are set as Linux has them")
    command = [sys.executable, "-c", CHILD, str(path), str(size), what]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    read: list[str] = json.loads(done.stdout)
    return read


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.mono"
    with Monograph.open(path) as monograph:
        monograph.add([Document(f"Ann met Bob {n} times.", id=f"old{n}") for n in range(5)])
    return path


@pytest.mark.parametrize("what", ["add", "backup", "compact", "make"])
def test_file_size_limit_raises_storage_full(small: Path, what: str) -> None:
    room = {"add": small.stat().st_size + 200_000, "backup": 50_000, "compact": 50_000, "make": 20_000}[what]
    path = small.with_name("new.mono") if what == "make" else small
    kind, message, hint = child(path, room, what)
    assert (
        kind == "StorageFull" and "limit on the size of files" in message and path.name.removesuffix(".mono") in message
    )
    assert "safe" in message and hint.startswith("make room")
    # SQLite cannot empty its log where the file may not grow.
    assert {one.name for one in small.parent.iterdir()} <= {"small.mono", "small.mono-wal", "small.mono-shm"}
    with Monograph.open(small) as monograph:
        assert {one.id for one in monograph.documents()} >= {f"old{n}" for n in range(5)}
        assert monograph.check() == []


def test_full_database_raises_and_keeps_documents(small: Path) -> None:
    with Monograph.open(small) as monograph:
        connection = monograph._file.database.connection()
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages:d}")
        with pytest.raises(StorageFull, match="no room left") as caught:
            monograph.add([Document(f"Carl met Dora {n} times. " * 100) for n in range(200)])
        assert "damage" not in str(caught.value)
        connection.execute("PRAGMA max_page_count = 1000000")
        assert len(monograph.documents()) == 5 and monograph.check() == []


@pytest.mark.parametrize("megabytes", [10, 60])
def test_want_of_memory_raises_and_keeps_documents(small: Path, megabytes: int) -> None:
    kind, message, hint = child(small, megabytes << 20, "memory")
    assert kind == "OutOfMemory" and str(small) in message and "ulimit -v" in hint
    with Monograph.open(small) as monograph:
        assert len(monograph.documents()) == 5 and monograph.check() == []


@pytest.mark.parametrize("of", DOCUMENTS)
def test_documents_refuse_nul_characters(of: str) -> None:
    for text in ("owner\0", "\0", "a\0b", "\\\0"):
        with pytest.raises(InvalidDocument, match=r"U\+0000"):
            DOCUMENTS[of](text)
    for text in ("owner", r"\u0000", r"\\u0000"):
        DOCUMENTS[of](text)


def test_ids_and_assertions_with_nul_characters_are_refused(filled: Monograph) -> None:
    name = "d1\0 of another"
    for act in (
        lambda: filled.remove([name]),
        lambda: filled.remove_chunks([name]),
        lambda: filled.document(name),
        lambda: filled.chunks(name),
        lambda: filled.fetch([name]),
        lambda: filled.graph.of_document(name),
        lambda: filled.graph.add([AssertedNode(name)]),
        lambda: filled.graph.add([AssertedNode("a", properties={name: 1})]),
        lambda: filled.graph.add([], [AssertedRelation("a", name, "b")]),
        lambda: filled.graph.add([AssertedNode("a", origins=(name,))]),
        lambda: filled.graph.assertions([name]),
        lambda: filled.graph.remove([name]),
    ):
        with pytest.raises((InputError, InvalidDocument), match=r"U\+0000"):
            act()
    assert "d1" in {one.id for one in filled.documents()}


@pytest.mark.parametrize("vector", [[3e38, 3e38], [1.0] * 65_537, [1.0] * 100_000])
def test_vectors_that_no_index_can_hold_are_refused(tmp_path: Path, vector: list[float]) -> None:
    path = tmp_path / "x.mono"
    with Monograph.open(path) as archive:
        with pytest.raises(InputError, match="longer than float32|dimensions"):
            archive.put([Document(id="a", passages=(Passage("A comet.", "p", vector=np.array(vector, np.float32)),))])
        assert archive.listed().count == 0
        assert archive.stats().embedder == ""
        archive.put([Document(id="a", passages=(Passage("A comet.", "p", vector=np.array([3, 4], np.float32)),))])
        with pytest.raises(InputError, match="longer than float32|values|shape"):
            archive.search("comet", 1, how="dense", vector=vector)
        assert archive.search("comet", 1, how="dense", vector=[3.0, 4.0])[0].score == pytest.approx(1.0)
        assert archive.check() == []
