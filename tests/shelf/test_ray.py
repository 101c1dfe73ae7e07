"""Shards that processes of Ray's hold: the answers are those of one file, whatever dies; or the error names the shard.

One small Ray of three machines for all, each machine a raylet of this one.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'monograph[shelf]'")


from monograph import Document, Monograph, Passage
from monograph.errors import (
    ClosedFile,
    InputError,
    InvalidDocument,
    MissingExtra,
    ObjectMissing,
    ShardLost,
)
from monograph.library.opened import OpenOptions
from monograph.search.reader import PoolRequest
from monograph.shelf import OnRay, Shelf, Tasks, build, local, remove
from monograph.shelf.building import documents_in
from monograph.shelf.engines import Local
from monograph.shelf.manifest import Manifest, latest
from monograph.shelf.ray_engine import ShardActor
from monograph.shelf.shard import Call, ShardReader
from monograph.shelf.storage import ObjectName, ShelfPlace, shelf_place
from monograph.store.documents.filters import EVERYTHING
from support.evaluation_data import excerpts
from support.vector_server import VectorServer

pytestmark = pytest.mark.long

SHARDS = 3
DOCUMENTS = 150
WAYS = ("lexical", "hybrid", "graph")


@dataclass(frozen=True, slots=True)
class Made:
    """A shelf of three shards, its files here, and one file of the same documents."""

    place: ShelfPlace
    version: Manifest
    files: tuple[Path, ...]
    one: Path
    home: Path
    questions: tuple[str, ...]
    documents: tuple[Document, ...]

    def local(self) -> Local:
        return Local([OpenOptions(path, read_only=True) for path in self.files])

    def on_ray(self, **options: Any) -> OnRay:
        return OnRay(self.place, self.version, OpenOptions(Path()), **options)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Three machines; every process ends with it."""
    from ray.cluster_utils import Cluster

    small: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}
    # That a machine is gone is known after seconds, and not after fifteen.
    soon = {"health_check_period_ms": 1_000, "health_check_timeout_ms": 2_000, "health_check_failure_threshold": 3}
    head = {**small, "include_log_monitor": False, "_system_config": soon}
    running: Any = Cluster(initialize_head=True, head_node_args=head)
    try:
        for _ in range(SHARDS - 1):
            running.add_node(**small)
        ray.init(address=running.address, log_to_driver=False, logging_level="ERROR")
        ray._private.worker._worker_logs_enabled = False
        yield running
    finally:
        ray.shutdown()
        running.shutdown()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Made:
    questions, documents = excerpts(shared, ("hotpotqa",), lambda _, asked: asked[:10])
    documents = documents[:DOCUMENTS]
    place = tmp_path_factory.mktemp("ray")
    build(place / "shelf", documents, shards=SHARDS, home=place / "home")
    with Monograph.open(place / "one.mono") as archive:
        archive.add(documents)
    here = shelf_place(str(place / "shelf"), place / "home")
    version = latest(here.objects)
    assert version is not None
    files = tuple(here.file_of(name) for name in version.shards)
    return Made(
        replace(here, home=place / "cache"),
        version,
        files,
        place / "one.mono",
        place / "home",
        tuple(questions),
        tuple(documents),
    )


@pytest.fixture(scope="module")
def shelf(cluster: Any, made: Made) -> Iterator[Shelf]:
    """Each shard once. How long a busy machine takes to start a process is not what is tested."""
    with Shelf.open(made.place.url, home=made.home, engines=partial(OnRay, deadline=180.0)) as opened:
        yield opened


@pytest.fixture(scope="module")
def engine(shelf: Shelf) -> OnRay:
    running = shelf._file.shards.engine
    assert isinstance(running, OnRay)
    return running


ASKED = {
    0: Call(ShardReader.total, ()),
    1: Call(ShardReader.ids, (list(range(1, 60)),)),
    2: Call(ShardReader.titled_texts, ([1, 2, 3],)),
}


@pytest.fixture(scope="module")
def answers(made: Made) -> dict[int, Any]:
    """What is to be answered to :data:`ASKED`."""
    with closing(made.local()) as local:
        return local.ask(ASKED)


def raylet_of(node: Any) -> int:
    """The number of the process that is a machine."""
    (running,) = node.all_processes["raylet"]
    number: int = running.process.pid
    return number


def processes(cluster: Any, name: str) -> dict[int, int]:
    """The processes of actors or tasks of this cluster, by number, with the numbers of their machines."""
    raylets = {raylet_of(node) for node in (cluster.head_node, *cluster.worker_nodes)}
    found = {}
    for folder in Path("/proc").iterdir():
        with suppress(OSError):  # It has just ended.
            if folder.name.isdecimal() and (folder / "cmdline").read_bytes().startswith(f"ray::{name}".encode()):
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                if parent in raylets:
                    found[int(folder.name)] = parent
    return found


def holders(cluster: Any) -> dict[int, int]:
    """The processes that hold shards."""
    return processes(cluster, ShardActor.__name__)


def test_search_over_ray_equals_one_file(shelf: Shelf, made: Made) -> None:
    with Monograph.open(made.one, read_only=True) as one:
        for question in made.questions:
            for way in WAYS:
                found, expected = shelf.search(question, 10, way), one.search(question, 10, way)
                assert [hit.chunk.id for hit in found] == [hit.chunk.id for hit in expected]
                assert [hit.path for hit in found] == [hit.path for hit in expected]
    assert shelf.check() == []


def test_shards_answer_over_ray_as_here(engine: OnRay, answers: dict[int, Any]) -> None:
    assert engine.ask(ASKED) == answers
    assert engine.ask({2: ASKED[2]}) == {2: answers[2]}
    assert engine.ask({}) == {}


@pytest.mark.parametrize(("replicas", "groups"), [(1, SHARDS), (SHARDS, 1)])
def test_processes_are_dealt_out_over_the_machines(cluster: Any, made: Made, replicas: int, groups: int) -> None:
    others = set(holders(cluster))
    with closing(made.on_ray(replicas=replicas, groups=groups, deadline=180.0)) as engine:
        while len(begun := {number: at for number, at in holders(cluster).items() if number not in others}) < SHARDS:
            engine.ask(ASKED)
        assert len(set(begun.values())) == SHARDS


def test_an_error_of_a_shard_is_raised_as_here(engine: OnRay, made: Made) -> None:
    request = PoolRequest(1, EVERYTHING, vector=np.ones(3, dtype=np.float32))
    wrong = {0: Call(ShardReader.pool, (request, None, (), 1))}
    with closing(made.local()) as local:
        for one in (engine, local):
            with pytest.raises(InputError) as caught:
                one.ask(wrong)
            assert type(caught.value) is InputError


def test_killed_shard_process_is_started_again(cluster: Any, engine: OnRay, answers: dict[int, Any]) -> None:
    os.kill(min(holders(cluster)), signal.SIGKILL)
    assert engine.ask(ASKED) == answers


def test_searches_survive_killed_shard_processes(cluster: Any, engine: OnRay, answers: dict[int, Any]) -> None:
    answered = threading.Semaphore(0)

    def kill() -> None:
        for number in sorted(holders(cluster))[:2]:
            answered.acquire()
            os.kill(number, signal.SIGKILL)

    killing = threading.Thread(target=kill)
    killing.start()
    with ThreadPoolExecutor(4) as asking:
        while True:
            ended = not killing.is_alive()
            assert list(asking.map(engine.ask, [ASKED] * 8)) == [answers] * 8
            answered.release()
            if ended:
                break
    killing.join()


def test_replica_answers_for_a_process_that_hangs(cluster: Any, made: Made, answers: dict[int, Any]) -> None:
    others = set(holders(cluster))
    engine = made.on_ray(replicas=2, groups=1, deadline=180.0)
    stopped: list[int] = []

    def stop() -> None:
        stopped.append(min(set(holders(cluster)) - others - set(stopped)))
        os.kill(stopped[-1], signal.SIGSTOP)

    try:
        engine.ask(ASKED)
        engine.ask(ASKED)  # The other one: both have been started.
        engine._deadline = 10.0
        stop()
        assert [engine.ask(ASKED) for _ in range(2)] == [answers] * 2
        stop()
        with pytest.raises(
            ShardLost, match=r"shard 0 of 3 \([0-9a-f]{12}\) of .* cannot be read: .* within 10 seconds"
        ):
            engine.ask(ASKED)
        engine._deadline = 180.0
        for number in stopped:
            os.kill(number, signal.SIGCONT)
        assert engine.ask(ASKED) == answers
    finally:
        engine.close()
    with pytest.raises(ClosedFile):
        engine.ask(ASKED)


def test_error_names_the_missing_shard(cluster: Any, made: Made, tmp_path: Path) -> None:
    lost = ObjectName("0" * 64, 1_000)
    version = replace(made.version, shards=(made.version.shards[0], lost), contents=made.version.contents[:2])
    with pytest.raises(ShardLost, match=r"shard 1 of 2 \(000000000000\)") as caught:
        replace(made, place=replace(made.place, home=tmp_path), version=version).on_ray(groups=1)
    assert isinstance(caught.value.__cause__, ObjectMissing)
    assert caught.value.hint


def test_a_shelf_is_built_by_tasks(cluster: Any, made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # Tasks run in another folder.
    url, home, tasks = "shelf", tmp_path / "home", Tasks(cpus=0.5)
    first, second = made.documents[:100], made.documents[100:]
    with Monograph.open(tmp_path / "second.mono") as archive:
        archive.add(second)
    assert build(url, [*first, Document("Soon gone.", id="gone")], shards=2, home=home, tasks=tasks).added == 101
    assert build(url, first, home=home, tasks=tasks).same == 100
    assert build(url, sources=[tmp_path / "second.mono"], home=home, tasks=tasks).added == len(second)
    assert remove(url, ["gone"], home=home, tasks=tasks).removed == 1
    for engine in (partial(OnRay, groups=1, deadline=180.0), local):
        with Shelf.open(url, home=home, engines=engine) as shelf, Monograph.open(made.one, read_only=True) as one:
            assert (shelf.version, shelf.stats().documents) == (3, len(made.documents))
            assert shelf.check() == []
            for question in made.questions[:3]:
                found, expected = shelf.search(question, 10, "graph"), one.search(question, 10, "graph")
                assert [(hit.chunk.id, hit.score) for hit in found] == [(hit.chunk.id, hit.score) for hit in expected]
    with pytest.raises(InvalidDocument) as caught:
        passage = Passage("Its vector is too short.", vector=np.ones(3, dtype=np.float32))
        build(url, [Document(passages=(passage,))], home=home, tasks=tasks)
    assert type(caught.value) is InvalidDocument


def test_rows_of_a_data_set_are_documents(cluster: Any, made: Made, tmp_path: Path) -> None:
    for needed in ("pandas", "pyarrow"):
        pytest.importorskip(needed, reason="ray.data needs it")
    import ray.data

    rows = [
        {"id": one.id, "text": one.text, "title": one.title, "metadata": dict(one.metadata)} for one in made.documents
    ]
    whole = ray.data.from_items(rows)
    assert list(documents_in(whole)) == list(made.documents)
    assert build(tmp_path / "shelf", whole, home=tmp_path / "home").added == len(rows)
    assert build(tmp_path / "shelf", made.documents, home=tmp_path / "home").same == len(rows)
    as_json = ray.data.from_items([{"text": "A.", "metadata": '{"a": 1}'}])
    assert [dict(one.metadata) for one in documents_in(as_json)] == [{"a": 1}]
    for row in ({"id": "1"}, {"text": 3}, {"text": "A.", "metadata": "[1]"}, {"text": "A.", "metadata": "{"}):
        with pytest.raises(InputError, match="row 0"):
            list(documents_in(ray.data.from_items([row])))


def test_a_task_that_is_killed_pays_for_nothing_twice(cluster: Any, tmp_path: Path) -> None:
    texts = [f"Ada Lovelace wrote note {n} about engine {n}. " * 40 for n in range(100)]
    with VectorServer() as server:

        def kill() -> None:
            while len(server.asked) < 5:
                time.sleep(0.005)
            killed.append(min(processes(cluster, "_task")))
            os.kill(killed[0], signal.SIGKILL)

        killed: list[int] = []
        killing = threading.Thread(target=kill)
        killing.start()
        documents = [Document(text) for text in texts]
        embedder = f"openai:{server.url}#model"
        report = build(tmp_path / "shelf", documents, embedder=embedder, home=tmp_path / "home", tasks=Tasks())
        killing.join()
        assert killed
        asked = Counter(text for text in server.texts if "engine" in text)
        most = max(len(one.body["input"]) for one in server.asked)
    # What was on its way when the process was killed is asked again.
    assert sum(asked.values()) - len(asked) <= 2 * most
    assert report.same + report.added == len(texts)


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, made: Made) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra) as caught:
        made.on_ray()
    assert caught.value.hint == 'pip install "monograph[shelf]"'


ALONE = """
import os, pickle, signal, sys, threading
from pathlib import Path
from monograph.library.opened import OpenOptions
from monograph.shelf import OnRay
from monograph.shelf.manifest import latest
from monograph.shelf.storage import shelf_place

address, home, asked = pickle.loads(bytes.fromhex(sys.argv[1]))
place = shelf_place(address, home)
given = place, latest(place.objects), OpenOptions(Path())
held = []
thread = threading.Thread(target=lambda: held.append(OnRay(*given, groups=1, deadline=180.0)))
thread.start()
thread.join()  # What it has started must not end with it.
(engine,) = held
first = engine.ask(asked)
for folder in Path("/proc").glob("[0-9]*"):
    try:
        mine = (folder / "cmdline").read_bytes().startswith(b"ray::ShardActor") and os.environ["MARK"].encode() in (
            folder / "environ").read_bytes()
    except OSError:
        continue
    if mine:
        os.kill(int(folder.name), signal.SIGKILL)
        print("killed")
print(engine.ask(asked) == first, signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
"""


def test_own_ray_cluster_is_quiet_and_ends(made: Made) -> None:
    mark = f"MARK={uuid.uuid4().hex}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    done = subprocess.run(
        [sys.executable, "-c", ALONE, pickle.dumps((made.place.url, made.place.home, ASKED)).hex()],
        env={**environment, "MARK": mark.partition("=")[2]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("killed\nTrue True\n", "")
    while marked(mark.encode()):
        time.sleep(0.2)


def marked(mark: bytes) -> list[str]:
    """The processes that have something in their environment."""
    found = []
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            if folder.name.isdecimal() and mark in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_text())
    return found


def test_search_survives_the_loss_of_a_machine(cluster: Any, engine: OnRay, answers: dict[int, Any]) -> None:
    """The last test: it takes one of the three."""
    raylets = {raylet_of(node): node for node in cluster.worker_nodes}
    held = holders(cluster)
    victim = next(parent for parent in held.values() if parent in raylets)
    for number in (victim, *(number for number, parent in held.items() if parent == victim)):
        os.kill(number, signal.SIGKILL)
    assert engine.ask(ASKED) == answers
    assert victim not in holders(cluster).values()
    cluster.remove_node(raylets[victim], allow_graceful=False)
