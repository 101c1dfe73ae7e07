"""Benchmark of a shelf on Ray: the overhead of a round, and the time to the next right answer after a death.

Three raylets on this machine simulate three machines, without a network. ``python benchmarks/shelf_ray.py`` prints the
figures as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from monograph.library.opened import OpenOptions
from monograph.shelf import OnRay, Shelf, build
from monograph.shelf.engines import Engine, Local
from monograph.shelf.manifest import latest
from monograph.shelf.ray_engine import ray_module
from monograph.shelf.shard import Call, ShardReader
from monograph.shelf.storage import shelf_place
from search import passages, questions
from vector_report import table

SHARDS = 4
PASSAGES = 2_000
ROUNDS = 200
HOW = ("lexical", "hybrid", "graph")
ASKED = dict.fromkeys(range(SHARDS), Call(ShardReader.total, ()))
DEADLINE = 120.0
Results = dict[str, Any]


@contextmanager
def three_machines() -> Iterator[Any]:
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # All raylets are on 127.0.0.1.
    ray = ray_module()
    from ray.cluster_utils import Cluster

    small = {"num_cpus": 1, "object_store_memory": 150 << 20, "include_dashboard": False}
    running = Cluster(initialize_head=True, head_node_args=small)
    try:
        for _ in range(2):
            running.add_node(**small)
        ray.init(address=running.address, log_to_driver=False, logging_level="ERROR")
        ray._private.worker._worker_logs_enabled = False
        yield running
    finally:
        ray.shutdown()
        running.shutdown()


def holders(cluster: Any) -> dict[int, int]:
    """Return the processes of this cluster that hold shards, as {process id: process id of the raylet}."""
    raylets = {raylet_of(node) for node in (cluster.head_node, *cluster.worker_nodes)}
    found = {}
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            if folder.name.isdecimal() and (folder / "cmdline").read_bytes().startswith(b"ray::ShardActor"):
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                if parent in raylets:
                    found[int(folder.name)] = parent
    return found


def raylet_of(node: Any) -> int:
    """Return the process id of a node's raylet, which simulates a machine."""
    number: int = node.all_processes["raylet"][0].process.pid
    return number


def timed(work: Callable[..., object], given: Sequence[object]) -> float:
    """Return the median milliseconds of a function over some arguments."""
    found = []
    for one in given:
        begun = time.perf_counter()
        work(one)
        found.append((time.perf_counter() - begun) * 1e3)
    return statistics.median(found)


def ray_section(_: object = None) -> Results:
    """Measure the overhead of Ray, and the delays after the death of a process or machine."""
    with tempfile.TemporaryDirectory(prefix="monograph-ray-") as folder:
        home, address = Path(folder) / "home", str(Path(folder) / "shelf")
        build(address, passages(PASSAGES), shards=SHARDS, home=home)
        place = shelf_place(address, home)
        version = latest(place.objects)
        assert version is not None
        names = version.shards
        files = [place.file_of(name) for name in names]
        local = Local([OpenOptions(path, read_only=True) for path in files])
        given = replace(place, home=Path(folder) / "cache"), version, OpenOptions(Path())
        found: Results = {"shards": SHARDS, "passages": PASSAGES}
        begun = time.perf_counter()
        with three_machines() as cluster:
            found["cluster"] = time.perf_counter() - begun
            found["search"] = searched(address, home)
            begun = time.perf_counter()
            alone = OnRay(*given, deadline=DEADLINE)
            found["opened"] = time.perf_counter() - begun
            found["memory"] = memory(cluster)
            found["rounds"] = rounds(alone, local)
            right = local.ask(ASKED)
            found["process, alone"] = died(alone, right, lambda: a_process(cluster))
            found["while asked"] = while_asked(alone, right, cluster)
            twice = OnRay(*given, replicas=2, deadline=DEADLINE)
            found["process, of two"] = died(twice, right, lambda: a_process(cluster))
            time.sleep(20)  # Until Ray has restarted the killed processes.
            found["machine, of two"] = died(twice, right, lambda: a_machine(cluster))
            twice.close()
            alone.ask(ASKED)
            found["machine, alone"] = died(alone, right, lambda: a_machine(cluster))
            alone.close()
        local.close()
    return found


def searched(address: str, home: Path) -> Results:
    """Return the median milliseconds of a question, with threads and with Ray."""
    found: Results = {}
    for name, engines in (("threads", None), ("Ray", OnRay)):
        with Shelf.open(address, home=home, **({"engines": engines} if engines else {})) as shelf:
            for text in questions(begin=40):
                shelf.search(text, 10)
            for how in HOW:
                found[f"{name}, {how}"] = timed(lambda text, by=how, of=shelf: of.search(text, 10, by), questions())
    return found


def rounds(alone: Engine, local: Engine) -> Results:
    """Return the median milliseconds of a round with small requests."""
    found: Results = {}
    for name, engine in (("threads", local), ("Ray", alone)):
        for shards in (1, SHARDS):
            asked = {shard: ASKED[shard] for shard in range(shards)}
            found[f"{name}, {shards}"] = timed(engine.ask, [asked] * ROUNDS)
    return found


def memory(cluster: Any) -> float:
    """Return the mean RSS in MB of a process that holds a shard, including shared memory."""
    sizes = [(Path("/proc") / str(number) / "statm").read_text().split()[1] for number in holders(cluster)]
    return statistics.mean(int(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6 for pages in sizes)


def died(engine: Engine, right: Results | dict[int, Any], kill: Callable[[], None]) -> float:
    """Return the seconds from a death to the next right answer."""
    engine.ask(ASKED)
    kill()
    begun = time.perf_counter()
    if engine.ask(ASKED) != right:
        raise AssertionError("a wrong answer")
    return time.perf_counter() - begun


def a_process(cluster: Any) -> None:
    os.kill(min(holders(cluster)), signal.SIGKILL)


def a_machine(cluster: Any) -> None:
    """Kill a machine that holds shards: its raylet and all its processes with shards."""
    raylets = {raylet_of(node) for node in cluster.worker_nodes}
    held = holders(cluster)
    victim = next(parent for parent in held.values() if parent in raylets)
    for number in (victim, *(number for number, parent in held.items() if parent == victim)):
        os.kill(number, signal.SIGKILL)


def while_asked(engine: Engine, right: dict[int, Any], cluster: Any) -> Results:
    """Run 200 rounds, and kill a process during three of them; return the right answers and the longest round."""
    longest, same = 0.0, 0
    for number in range(ROUNDS):
        if number in (20, 80, 140):
            with suppress(ProcessLookupError, ValueError):
                os.kill(max(holders(cluster)), signal.SIGKILL)
        begun = time.perf_counter()
        same += engine.ask(ASKED) == right
        longest = max(longest, time.perf_counter() - begun)
    return {"right": same, "asked": ROUNDS, "longest": longest}


def told_ray(found: Results) -> list[str]:
    """Return the paragraphs of the section."""
    shards, calls = found["shards"], found["rounds"]
    waits = [[how, *(f"{found['search'][f'{name}, {how}']:.1f}" for name in ("threads", "Ray"))] for how in HOW]
    deaths = [
        [what, *(f"{found[f'{what}, {who}']:.2f}" for who in ("alone", "of two"))] for what in ("process", "machine")
    ]
    return [
        f"{found['passages']:,} passages are in {shards} shards. With Ray, each shard has its own process, which takes "
        f"{found['memory']:.0f} MB of memory. The processes run on three simulated machines, without a network. "
        "*Threads* is the default engine, which opens all shards in one process.",
        f"The median time of a round with small requests to all {shards} shards is {calls[f'threads, {shards}']:.2f} ms "
        f"with threads and {calls[f'Ray, {shards}']:.2f} ms with Ray. The table shows the median time of a question.",
        table(["mode", "threads, ms", "Ray, ms"], waits),
        "One process, or one machine with all its processes, is killed. The table shows the seconds until the next "
        "right answer. With two replicas of each shard, the other replica answers. Without replicas, Ray must notice "
        "the death and restart the process.",
        table(["what died", "no replica, s", "two replicas, s"], deaths),
    ]


if __name__ == "__main__":
    print(json.dumps(ray_section(), indent=1))
