"""An index of older codes is coded anew where that is asked for: found by the old ones meanwhile, ended at any moment."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from killing import killed
from monograph import Document, Monograph, Settings
from monograph.errors import DamagedFile, ReadOnlyFile
from monograph.store import beside, codes, vectors
from monograph.store import clusters as store
from monograph.store.database import Database
from monograph.values import Owed, Passage, Progress
from monograph.vectors import design as designs
from monograph.vectors import index as indexes
from monograph.vectors import recode as steps
from monograph.vectors import verify
from monograph.vectors.cluster import Metric
from monograph.vectors.design import Design
from monograph.vectors.index import EcoVectorIndex
from monograph.vectors.search import Query
from monograph.vectors.stop import Never
from monograph.write import recode_vectors
from test_vector_index import METRICS, Vectors, clumps, remember, scores_of

OLD = Design(precision="int8")
FEW = 60
"""Vectors from which on an index has codes of bits, where tests are to be quick."""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "v.mono")
    yield opened
    opened.close()


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(designs, "MANY", FEW)


def precision(connection: sqlite3.Connection, index: EcoVectorIndex) -> str:
    return index._must(connection).space.design.precision


def filled(database: Database, count: int, design: Design = OLD) -> Vectors:
    made = clumps(count)
    made[3] = 0
    rows = remember(database, made)
    with database.write() as connection:
        EcoVectorIndex(design=design).insert(connection, rows, made)
    return made


@pytest.mark.long
def test_an_older_index_answers_and_changes_as_it_is_until_it_is_coded_anew(database: Database) -> None:
    made = filled(database, 6_000)
    index = EcoVectorIndex()
    with database.read() as connection:
        assert index.owed(connection) == 5_999
        assert index.search(connection, made[700], Query(1)).items == (701,)
    more = clumps(20_000, seed=1)
    rows = remember(database, more)
    with database.write() as connection:
        index.insert(connection, rows, more)
        index.delete(connection, list(range(1, 1_001)))
        assert index.search(connection, more[5], Query(1)).items == (6_006,)
        assert 701 not in index.search(connection, made[700], Query(9)).items
        assert precision(connection, index) == "int8"
        before = index.search(connection, made[2_000], Query(30_000, stop=Never()))
    told: list[Progress] = []
    assert recode_vectors.recode(database, [index], told.append) == 25_000
    assert [one.done for one in told] == [*range(2_000, 25_000, 2_000), 25_000]
    assert {(one.phase, one.total, one.unit) for one in told} == {("codes", 25_000, "vectors")}
    with database.read() as connection:
        assert precision(connection, index) == "bits2"
        assert list(verify.faults(connection, index.space)) == []
        assert list(verify.strays_of_none(connection)) == []
        assert index.search(connection, made[2_000], Query(30_000, stop=Never())).items == before.items
        stats = index.stats(connection)
        assert (stats.vectors, stats.expected_loads is not None) == (25_000, True)
        assert index.owed(connection) == 0
    assert recode_vectors.recode(database, [index]) == 0
    with database.write() as connection:
        index.delete(connection, [2_001])
        index.insert(connection, np.array([2_001]), made[2_000:2_001])
        assert index.search(connection, made[2_000], Query(1)).items == (2_001,)
        assert list(verify.faults(connection, index.space)) == []


@pytest.mark.parametrize(
    ("held", "wanted"),
    [
        (OLD, OLD),
        (Design(precision="float16"), Design()),
        (Design("l2", "int8"), Design()),
        (Design(precision="int8", cluster_size=50), Design()),
        (Design(precision="int8", cluster_search="graph"), Design(cluster_search="graph")),
        (Design(precision="bits1"), Design()),
    ],
)
def test_who_chose_a_design_owes_nothing(database: Database, held: Design, wanted: Design) -> None:
    filled(database, 5_200, held)
    index = EcoVectorIndex(design=wanted)
    with database.read() as connection:
        assert index.owed(connection) == 0
    assert recode_vectors.recode(database, [index]) == 0
    with database.read() as connection:
        assert index._must(connection).space.design == held


def test_only_a_small_index_is_made_anew_by_a_write(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    made = clumps(7_000)
    rows = remember(database, made)
    index = EcoVectorIndex()
    monkeypatch.setattr(indexes, "REBUILT_AT_ONCE", 6_000)
    with database.write() as connection:
        index.insert(connection, rows[:4_900], made[:4_900])
        index.insert(connection, rows[4_900:6_500], made[4_900:6_500])
        assert precision(connection, index) == "auto"
        assert index.owed(connection) == 6_500
    assert recode_vectors.recode(database, [index]) == 6_500
    with database.read() as connection:
        assert precision(connection, index) == "bits2"


def test_a_reader_sees_its_own_state_while_indexes_are_exchanged(database: Database) -> None:
    made = filled(database, 5_100)
    index, other = EcoVectorIndex(), EcoVectorIndex()
    reader = Database(database.path)
    with reader.read() as connection:
        before = other.search_many(connection, made[10:20], Query(5))
        assert recode_vectors.recode(database, [index]) == 5_100
        assert other.search_many(connection, made[10:20], Query(5)) == before
        assert precision(connection, other) == "int8"
    with reader.read() as connection:
        assert precision(connection, other) == "bits2"
        found = other.search_many(connection, made[10:20], Query(1))
        assert [one.items for one in found] == [(row,) for row in range(11, 21)]
    reader.close()


MEMOS = 260
ACTS = st.one_of(
    st.tuples(st.sampled_from(["add", "add", "remove"]), st.integers(0, 99), st.sampled_from([1, 9, 40])),
    st.tuples(st.just("code"), st.integers(0, 99), st.sampled_from([3, 30, 300])),
    st.tuples(st.sampled_from(["begin", "exchange", "drop", "fold", "forget"]), st.just(0), st.just(0)),
)


class Interleaved:
    """An older index with one that is made beside it, a step at a time, and what they are to hold."""

    def __init__(self, folder: Path, metric: Metric, double: bool) -> None:
        self.metric, self.double = metric, double
        self.database = Database(folder / "v.mono")
        self.made = clumps(MEMOS)
        self.made[[5, 6, 7]] = 0
        remember(self.database, self.made)
        self.index = EcoVectorIndex(design=Design(metric, cluster_size=8, double=double))
        self.alive: set[int] = set()
        self.making: steps.Making | None = None
        self.lacking: list[int] = []
        old = EcoVectorIndex(design=Design(metric, "int8", 8, double))
        with self.database.write() as connection:
            rows = np.arange(1, 121)
            old.insert(connection, rows, self.made[rows - 1])
        self.alive |= set(rows.tolist())

    def do(self, kind: str, seed: int, count: int) -> None:
        with self.database.write() as connection:
            self.act(connection, kind, np.random.default_rng(seed), count)
            for fault in (verify.faults, verify.damage_beside):
                assert list(fault(connection, 1)) == []
            assert {one.memo for one in store.every_placement(connection, store.number_of(connection, 1))} == self.alive

    def act(self, connection: sqlite3.Connection, kind: str, random: np.random.Generator, count: int) -> None:
        if kind == "add":
            rows = np.sort(random.permutation(sorted(set(range(1, MEMOS + 1)) - self.alive))[:count].astype(np.int64))
            self.index.insert(connection, rows, self.made[rows - 1])
            self.alive |= set(rows.tolist())
        elif kind == "remove":
            gone = random.permutation(sorted(self.alive))[:count].tolist()
            self.index.delete(connection, gone)
            self.alive -= set(gone)
        elif kind == "begin" and not beside.has_before(connection, 1):
            self.making = steps.begin(connection, 1, self.index.design)
            self.lacking = beside.lacking(connection, 1).tolist() if self.making else []
        elif kind == "code" and self.making:
            some, self.lacking = self.lacking[:count], self.lacking[count:]
            assert steps.code(connection, self.making, some) or not self.making.is_there(connection)
        elif kind == "exchange" and self.making and not self.lacking:
            calibration = steps.measure(connection, self.making)
            if calibration is not None:
                steps.exchange(connection, self.making, calibration)
        elif kind == "drop" and beside.has_before(connection, 1):
            beside.drop_some(connection, 1)
        elif kind == "fold":
            self.index.fold(connection)
        elif kind == "forget":
            self.making, self.lacking = None, []  # Who coded was killed.

    def compare(self, folder: Path) -> None:
        """Hold it, coded to the end, against one that is made of the same vectors at once, and against all of them."""
        for kind in ("code", "exchange"):  # Who coded goes on from what was lacking when it began.
            self.do(kind, 0, MEMOS)
        recode_vectors.recode(self.database, [self.index])
        fresh = Database(folder / "fresh.mono")
        rows = np.array(sorted(self.alive), dtype=np.int64)
        remember(fresh, self.made)
        index = EcoVectorIndex(design=self.index.design)
        with fresh.write() as connection:
            index.insert(connection, rows, self.made[rows - 1])
        with self.database.read() as changed, fresh.read() as other:
            assert list(verify.faults(changed, 1)) == []
            assert list(verify.strays_of_none(changed)) == []
            assert not beside.has_before(changed, 1)
            assert store.header(changed, 1 + store.BESIDE) is None
            assert self.index.owed(changed) == 0
            # Of one that holds nothing any more nothing tells whether it was coded.
            coded = len(rows) >= FEW + 3 or self.coded(changed)
            assert not len(rows) or (precision(changed, self.index) == "bits2") == coded
            for query in clumps(5, seed=8):
                asked = Query(MEMOS, stop=Never())
                found = self.index.search(changed, query, asked)
                whole = index.search(other, query, asked)
                assert (found.items, found.scores) == (whole.items, whole.scores)
                held = rows[self.made[rows - 1].any(axis=1)] if self.metric == "cosine" else rows
                truth = scores_of(self.made[held - 1], query, self.metric)
                assert set(found.items) == set(held.tolist())
                assert list(found.scores) == pytest.approx(sorted(truth, reverse=True), rel=1e-3, abs=1e-3)
        fresh.close()

    def coded(self, connection: sqlite3.Connection) -> bool:
        """Whether it was coded anew while it held more."""
        return bool(codes.has_any(connection, store.number_of(connection, 1)))


@settings(max_examples=40, deadline=None)
@given(acts=st.lists(ACTS, min_size=1, max_size=14), metric=st.sampled_from(METRICS), double=st.booleans())
def test_it_is_a_fresh_build_whatever_came_between(
    acts: Sequence[tuple[str, int, int]], metric: Metric, double: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(designs, "MANY", FEW)
        made = Interleaved(Path(folder), metric, double)
        made.do("begin", 0, 0)
        for kind, seed, count in acts:
            made.do(kind, seed, count)
        made.compare(Path(folder))
        made.database.close()


@pytest.mark.parametrize("double", [True, False])
def test_an_exchange_in_the_midst_of_changes(tmp_path: Path, few: None, double: bool) -> None:
    made = Interleaved(tmp_path, "cosine", double)
    for kind, seed, count in (
        ("begin", 0, 0), ("code", 0, 40), ("add", 1, 40), ("remove", 2, 40), ("code", 0, 30), ("forget", 0, 0),
        ("add", 3, 9), ("begin", 0, 0), ("add", 4, 40), ("code", 0, 300), ("remove", 5, 9), ("exchange", 0, 0),
        ("add", 6, 9), ("drop", 0, 0), ("remove", 7, 40), ("begin", 0, 0),
    ):  # fmt: skip
        made.do(kind, seed, count)
    with made.database.read() as connection:
        assert precision(connection, made.index) == "bits2"
    made.compare(tmp_path)
    made.database.close()


def vector(place: int) -> Vectors:
    return clumps(1, seed=place)[0]


def passages(count: int, first: int = 0) -> list[Document]:
    return [
        Document(id=f"n{place}", passages=(Passage(f"The note of number {place}.", vector=vector(place)),))
        for place in range(first, first + count)
    ]


def older(path: Path, count: int) -> None:
    """A file whose vectors are coded as an earlier version did."""
    with Monograph.open(path, settings=Settings(graph=False)) as monograph:
        monograph.put(passages(count))
        index = EcoVectorIndex(design=OLD)
        with monograph._file.database.write() as connection:
            index.rebuild(connection)


def stored_as(monograph: Monograph) -> str:
    with monograph._file.database.read() as connection:
        return precision(connection, monograph._file.chunk_index)


def nearest(monograph: Monograph, place: int) -> str:
    (hit,) = monograph.search("", 1, "dense", vector=vector(place))
    return hit.chunk.document_id


PROGRAM = """
from monograph import Monograph
from monograph.store import beside
from monograph.vectors import design
from monograph.write import recode_vectors
design.MANY = {few}
recode_vectors.VECTORS_AT_ONCE = 90
beside._CLUSTERS_AT_ONCE = 10
with Monograph.open({path!r}) as monograph:
    monograph.vectors.build()
"""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_while_it_is_coded(tmp_path: Path, few: None, moment: str) -> None:
    path = tmp_path / "x.mono"
    older(path, 400)
    program = PROGRAM.format(few=FEW, path=str(path))
    owed, written, kills = [400], 0, 0
    with Monograph.open(path) as monograph:
        assert monograph.stats().owed.vectors == 400
    while killed(program, 3, moment):
        kills += 1
        with Monograph.open(path) as monograph:
            assert monograph.check() == []
            owed.append(monograph.stats().owed.vectors)
            assert nearest(monograph, 100 + kills) == f"n{100 + kills}"
            monograph.put(passages(1, 500 + kills))
            monograph.remove([f"n{kills}"])
            assert nearest(monograph, 500 + kills) == f"n{500 + kills}"
            assert monograph.check() == []
            written += stored_as(monograph) == "int8"
    assert kills > 4
    assert written > 1
    assert owed == sorted(owed, reverse=True)
    with Monograph.open(path) as monograph:
        assert stored_as(monograph) == "bits2"
        assert monograph.stats().owed == Owed()
        assert monograph.check() == []
        assert [nearest(monograph, place) for place in (399, 501)] == ["n399", "n501"]
        with monograph._file.database.read() as connection:
            assert not beside.has_before(connection, 1)


def test_others_write_while_it_is_coded(tmp_path: Path, few: None) -> None:
    path = tmp_path / "x.mono"
    older(path, 600)
    build = PROGRAM.format(few=FEW, path=str(path)).replace("= 90", "= 7")
    tests = str(Path(__file__).parent)
    change = f"""
import sys
sys.path.insert(0, {tests!r})
from monograph import Monograph
from test_recode import passages
with Monograph.open({str(path)!r}) as monograph:
    for place in range(30):
        monograph.put(passages(3, 600 + 3 * place))
        monograph.remove([f"n{{11 * place}}"])
"""
    children = [subprocess.Popen([sys.executable, "-c", one]) for one in (build, build, change)]
    assert [child.wait() for child in children] == [0, 0, 0]
    with Monograph.open(path) as monograph:
        monograph.vectors.build()
        assert stored_as(monograph) == "bits2"
        assert monograph.check() == []
        assert monograph.stats().index.vectors == 660
        wanted = {f"n{place}" for place in range(690)} - {f"n{11 * place}" for place in range(30)}
        found = monograph.search("", 700, "dense", vector=vector(0))
        assert {hit.chunk.document_id for hit in found} == wanted


def half_made(path: Path) -> None:
    """Code some vectors of a file anew."""
    with Monograph.open(path) as monograph, monograph._file.database.write() as connection:
        making = steps.begin(connection, 1, monograph._file.chunk_index.design)
        assert making is not None
        assert steps.code(connection, making, beside.lacking(connection, 1).tolist()[:90])


def code_of(path: Path, name: str, space: int) -> bytes | None:
    """The code of a document's vector, without its head."""
    with Monograph.open(path) as monograph, monograph._file.database.read() as connection:
        (memo,) = connection.execute(
            "SELECT memo FROM vectors JOIN chunks USING (chunk) JOIN documents USING (document) WHERE documents.id = ?",
            (name,),
        ).fetchone()
        held = codes.load(connection, store.number_of(connection, space), [memo])
        return held[0][-24:] if held else None


@pytest.mark.plain("its codes are looked for in the bytes")
@pytest.mark.parametrize("left", [True, False])
def test_forgetting_what_is_half_made_leaves_no_trace(tmp_path: Path, few: None, left: bool) -> None:
    path = tmp_path / "x.mono"
    older(path, 200)
    half_made(path)
    told = {name: code_of(path, name, 1 + store.BESIDE) for name in (f"n{place}" for place in range(200))}
    name, code = next((name, code) for name, code in told.items() if code is not None)
    if left:
        program = PROGRAM.format(few=FEW, path=str(path)).replace("monograph.vectors.build()", "\n".join((
            "    database, index = monograph._file.database, monograph._file.chunk_index",
            "    recode_vectors._drop_before = lambda *_: None",
            "    recode_vectors._is_due = lambda *_, due=[True, False]: due.pop(0)",
            "    recode_vectors.recode(database, [index])",
        )).lstrip())  # fmt: skip
        subprocess.run([sys.executable, "-c", program], check=True)
        with Monograph.open(path) as monograph, monograph._file.database.read() as connection:
            assert beside.has_before(connection, 1)
            assert precision(connection, monograph._file.chunk_index) == "bits2"
        assert code_of(path, name, 1) == code
    assert any(code in one.read_bytes() for one in tmp_path.glob("x.mono*"))
    with Monograph.open(path) as monograph:
        monograph.remove([name], forget=True)
        assert monograph.check() == []
        value = vectors.pack(vector(int(name[1:])))
        for one in tmp_path.glob("x.mono*"):
            held = one.read_bytes()
            assert code not in held
            assert value not in held
        monograph.vectors.build()
        assert stored_as(monograph) == "bits2"
        assert monograph.stats().index.vectors == 199
        assert monograph.check() == []


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("UPDATE codes SET body = x'00' WHERE place >> 32 = 3", "90 codes of vectors are damaged"),
        ("DELETE FROM placements WHERE space = 3 AND memo % 2", "clusters do not hold what is placed in them"),
        (
            "UPDATE parts SET body = x'00' WHERE part / 2 IN (SELECT cluster FROM clusters WHERE space = 3)",
            "is damaged",
        ),
        ("UPDATE vector_indexes SET design = '{}' WHERE space = 3", "not what was written"),
        ("DELETE FROM vector_indexes WHERE space = 3", ""),
        ("UPDATE vector_indexes SET number = 11 WHERE space = 3", ""),
    ],
)
def test_damage_to_what_is_half_made_is_found_and_mended(tmp_path: Path, few: None, damage: str, said: str) -> None:
    path = tmp_path / "x.mono"
    older(path, 200)
    half_made(path)
    with Monograph.open(path) as monograph:
        assert monograph.check() == []
        with monograph._file.database.write() as connection:
            connection.execute(damage)
        found = monograph.check()
        assert any(said in one.fault for one in found)
        assert found
        assert nearest(monograph, 7) == "n7"
        assert monograph.check(repair=True) == []
        assert stored_as(monograph) == "int8"
        assert monograph.stats().owed.vectors == 200
        monograph.vectors.build()
        assert stored_as(monograph) == "bits2"
        assert monograph.check() == []


def test_a_vector_that_is_not_what_was_stored_is_told(tmp_path: Path, few: None) -> None:
    path = tmp_path / "x.mono"
    older(path, 200)
    with Monograph.open(path) as monograph:
        with monograph._file.database.write() as connection:
            connection.execute("UPDATE memo SET value = x'00' WHERE memo = (SELECT max(memo) FROM vectors)")
        with pytest.raises(DamagedFile, match="1 vectors are not what was stored") as told:
            monograph.vectors.build()
        assert told.value.mend == f"monograph check {path} --repair"
        assert stored_as(monograph) == "int8"


def test_other_vectors_end_what_is_half_made(tmp_path: Path, few: None) -> None:
    from embedders import HashEmbedder

    path = tmp_path / "x.mono"
    older(path, 200)
    half_made(path)
    with Monograph.open(path) as monograph:
        monograph.vectors.rebuild(HashEmbedder(16))
        assert monograph.stats().owed.vectors == 0
        assert monograph.check() == []
        with monograph._file.database.read() as connection:
            assert store.header(connection, 1 + store.BESIDE) is None
            assert store.count(connection, 1) == 200


def test_what_is_owed_is_told_and_made_by_a_command(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "x.mono"
    older(path, 5_010)
    with Monograph.open(path) as monograph:
        assert monograph.stats().owed == Owed(5_010)
        assert monograph.files.plan(folder, price=False).owed.vectors == 5_010
    with Monograph.open(path, read_only=True) as reader:
        assert nearest(reader, 8) == "n8"
        with pytest.raises(ReadOnlyFile):
            reader.vectors.build()
    command = [sys.executable, "-m", "monograph.app.cli"]

    def run(*arguments: str) -> str:
        done = subprocess.run([*command, *arguments], check=True, capture_output=True, text=True)
        return " ".join(done.stdout.split())

    assert "smaller codes of 5,010 vectors; now: monograph build" in run("stats", str(path))
    made: dict[str, Any] = json.loads(run("build", str(path), "--json"))
    assert (made["recoded"], made["extracted"]) == (5_010, 5_010)
    assert "not made yet" not in run("stats", str(path))
    with Monograph.open(path, read_only=True) as reader:
        assert reader.vectors.build().recoded == 0
        assert stored_as(reader) == "bits2"
        assert nearest(reader, 8) == "n8"
