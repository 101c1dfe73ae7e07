"""Shards in processes on many machines, which Ray starts, watches and starts again."""

from __future__ import annotations

import itertools
import os
import pickle
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from monograph.errors import ClosedFile, InputError, MissingExtra, MonographError, ShardLost, ShelfUnreachable
from monograph.library.opened import OpenOptions
from monograph.shelf.manifest import Manifest, ObjectName
from monograph.shelf.place import Place
from monograph.shelf.shard import Call, Shard
from monograph.shelf.storage import storage_at
from monograph.values import arguments
from monograph.vectors.index import DEFAULT_CACHE_BYTES, DEFAULT_TARGET_RECALL

DEADLINE, OPENING = 30.0, 600.0
"""Seconds."""

AT_ONCE = 8
"""Calls that a process answers at once, each in a thread of its own."""

PATIENCE = 1.0
"""Seconds after which the next replica is called as well."""

_OBJECT_STORE = 128 << 20
"""Bytes for objects that travel between processes; Ray takes them when needed and writes more to disk."""

_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # Else Ray warns of a future change.
}
_ALONE = {
    # Despite its name, Ray reads this on every system: the machine is then 127.0.0.1, nothing listens on a network, and
    # Ray looks for no other address, which may take for ever on a machine without a network.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
}
_starting = threading.Lock()


def ray_module() -> Any:
    """Return the package. Raises MissingExtra if it is not installed."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError as error:
        raise MissingExtra("a shelf on many machines needs Ray", 'pip install "monograph[shelf]"') from error
    return ray


def start(address: str = "", cpus: int | None = None) -> None:
    """Start Ray for this process, unless it runs.

    Parameters
    ----------
    address:
        Address of a cluster, as ``ray.init`` takes it; by default that of RAY_ADDRESS. Without either, a Ray is started
        on this machine, which ends with this process, has no dashboard, and listens on 127.0.0.1 alone.
    cpus:
        Processors that a Ray of this machine uses; by default all.

    Raises
    ------
    MissingExtra
        If Ray is not installed.
    ShelfUnreachable
        If it cannot be reached, or does not start.
    """
    cluster = address or os.environ.get("RAY_ADDRESS", "")
    with _starting:
        if not cluster:
            for name, value in _ALONE.items():
                os.environ.setdefault(name, value)
        ray = ray_module()
        if ray.is_initialized():
            return
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        if not cluster:
            options |= {"num_cpus": cpus, "include_dashboard": False, "object_store_memory": _OBJECT_STORE}
        try:
            _call_in_lasting_thread(lambda: ray.init(address=cluster or "local", **options))
        except (ConnectionError, OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            where = f"Ray at {cluster}" if cluster else "a Ray of this machine's own"
            raise ShelfUnreachable(
                f"{where} cannot be had: {str(error).strip().splitlines()[0] if str(error).strip() else error!r}",
                "look whether its head node runs, and whether RAY_ADDRESS and RAY_AUTH_MODE are as there"
                if cluster
                else "look into /tmp/ray/session_latest/logs",
            ) from error
        # Otherwise Ray reports dead processes on standard output, which may carry a protocol. Callers get an error.
        ray._private.worker._worker_logs_enabled = False


def _call_in_lasting_thread(begin: Callable[[], object]) -> None:
    """Call a function in a thread that lasts as long as the process.

    The system ends the processes that a thread started when that thread ends, Ray's among them. And in a thread of its
    own Ray leaves the signal handlers alone.
    """
    begun: Future[None] = Future()

    def run() -> None:
        try:
            begin()
        except BaseException as error:
            begun.set_exception(error)
        else:
            begun.set_result(None)
            threading.Event().wait()

    threading.Thread(target=run, name="monograph-ray", daemon=True).start()
    begun.result()


@dataclass(frozen=True, slots=True)
class Held:
    """The shards of one version, and how a machine gets them.

    Parameters
    ----------
    address:
        The shelf's address, as every machine can reach it.
    names:
        The shards, in their order.
    home:
        The folder on every machine for fetched shards; ``~`` is the home of the user who runs Ray there.
    target_recall, cache_bytes:
        As for :meth:`monograph.Monograph.open`, for each shard.
    """

    address: str
    names: tuple[ObjectName, ...]
    home: Path
    target_recall: float = DEFAULT_TARGET_RECALL
    cache_bytes: int = DEFAULT_CACHE_BYTES

    def open(self, shard: int) -> Shard:
        """Open a shard, fetched if it is not here. Raises ShelfError or FileError if it cannot be had or read."""
        path = Place(self.address, storage_at(self.address), self.home.expanduser()).file_of(self.names[shard])
        return Shard(OpenOptions(path, read_only=True, target_recall=self.target_recall, cache_bytes=self.cache_bytes))


@dataclass(frozen=True, slots=True)
class Unopened:
    """The error of a shard that a process could not open."""

    shard: int
    error: MonographError


class Holder:
    """An actor that holds some shards, each opened when it is first called. Safe for use by many threads.

    A shard that cannot be opened is tried again with the next call.
    """

    def __init__(self, held: Held) -> None:
        self._held = held
        self._open: dict[int, Shard] = {}
        self._locks = [threading.Lock() for _ in held.names]

    def answer(self, wanted: Mapping[int, Sequence[Call[Any]]]) -> bytes:
        """Return the results by shard, or the error, pickled: Ray would wrap the error in one of its own."""
        return pickle.dumps(self._answer(wanted), pickle.HIGHEST_PROTOCOL)

    def _answer(self, wanted: Mapping[int, Sequence[Call[Any]]]) -> dict[int, list[Any]] | Unopened | MonographError:
        for shard in wanted:
            try:
                self._opened(shard)
            except MonographError as error:
                return Unopened(shard, error)
        try:
            return {shard: self._open[shard].answer(calls) for shard, calls in wanted.items()}
        except MonographError as error:
            return error

    def _opened(self, shard: int) -> None:
        with self._locks[shard]:
            if shard not in self._open:
                self._open[shard] = self._held.open(shard)


def on_ray(
    place: Place,
    version: Manifest,
    given: OpenOptions,
    *,
    replicas: int = 1,
    groups: int = 0,
    deadline: float = DEADLINE,
) -> OnRay:
    """Hold a version's shards on Ray: ``engines=on_ray`` for :meth:`monograph.shelf.Shelf.open`.

    Pass options with ``functools.partial(on_ray, replicas=2)``.

    Parameters
    ----------
    place:
        The shelf's place. Every machine must reach it by its address, and keeps what it fetches in a folder of the same
        name as here, in the home of the user who runs Ray there.
    version, given:
        The version, and how its files are opened.
    replicas, groups, deadline:
        As for :class:`OnRay`, whose errors it raises.
    """
    if given.key is not None:
        raise InputError("an encrypted shard is not opened on other machines: its key would go with it", "open it here")
    held = Held(place.objects.address, version.shards, place.elsewhere, given.target_recall, given.cache_bytes)
    return OnRay(held, replicas, groups, deadline)


@dataclass(slots=True)
class _ReplicaGroup:
    """The calls of one group's shards, the replicas called so far, and the time to call the next one."""

    calls: dict[int, Sequence[Call[Any]]] = field(default_factory=dict)
    called: int = 0
    next_at: float = 0.0


class OnRay:
    """Shards in actors of Ray, on whatever machine there is room: see :class:`monograph.shelf.engines.Engine`.

    Ray starts an actor whose process or machine dies again elsewhere, and repeats its calls there. Safe for use by many
    threads. Where no Ray runs, one is started on this machine (:func:`start`).

    Parameters
    ----------
    held:
        The shards.
    replicas:
        Actors that hold each shard: they start on different machines, as far as there are.
    groups:
        Groups into which the shards are divided; an actor holds one group. 0 for one shard each.
    deadline:
        Seconds after which a call has failed. Replicas take turns, and where one does not answer within a second the
        next is called as well.
    opening:
        Seconds in which all shards must be open.

    Raises
    ------
    ShardLost
        If one cannot be opened anywhere.
    MissingExtra
        If Ray is not installed.
    ShelfUnreachable
        If Ray does not start.
    InputError
        If a number is out of range.
    """

    def __init__(
        self, held: Held, replicas: int = 1, groups: int = 0, deadline: float = DEADLINE, opening: float = OPENING
    ) -> None:
        start()
        self._ray = ray_module()
        self._held = held
        self._deadline = deadline
        self._replicas = arguments.whole_number(replicas, "replicas", 1)
        self._groups = min(arguments.whole_number(groups, "groups", 0) or len(held.names), len(held.names))
        self._lock = threading.Lock()
        self._turn = itertools.count()
        self._closed = False
        actor = self._ray.remote(Holder).options(
            num_cpus=0,  # It starts even where tasks take every processor.
            memory=1,  # Ray puts an actor that asks for nothing on any machine, whatever the strategy.
            max_restarts=-1,
            max_task_retries=-1,
            max_concurrency=AT_ONCE,
            scheduling_strategy="SPREAD",
            enable_task_events=False,
        )
        self._actors = [[actor.remote(held) for _ in range(self._replicas)] for _ in range(self._groups)]
        try:
            # All replicas open their shards; this waits for one of each.
            everything: dict[int, Sequence[Call[Any]]] = dict.fromkeys(range(len(held.names)), ())
            for group, replicas_of_group in enumerate(self._actors):
                for one in replicas_of_group:
                    one.answer.remote({shard: () for shard in everything if shard % self._groups == group})
            self._answers(everything, opening)
        except BaseException:
            self.close()
            raise

    def ask(self, wanted: Mapping[int, Sequence[Call[Any]]]) -> dict[int, list[Any]]:
        """See :class:`~monograph.shelf.engines.Engine`. An error of a shard is raised here."""
        return self._answers(wanted, self._deadline)

    def close(self) -> None:
        """See :class:`~monograph.shelf.engines.Engine`."""
        with self._lock:
            self._closed = True
            if self._ray.is_initialized():
                for one in itertools.chain.from_iterable(self._actors):
                    self._ray.kill(one)
            self._actors.clear()

    def _answers(self, wanted: Mapping[int, Sequence[Call[Any]]], seconds: float) -> dict[int, list[Any]]:
        ended, first = time.monotonic() + seconds, next(self._turn)
        groups: dict[int, _ReplicaGroup] = {}
        for shard, calls in wanted.items():
            groups.setdefault(shard % self._groups, _ReplicaGroup()).calls[shard] = calls
        waiting: dict[Any, int] = {}  # The group of each call of an actor.
        answers: dict[int, list[Any]] = {}
        while groups:
            if time.monotonic() >= ended:
                shard = next(iter(next(iter(groups.values())).calls))
                raise self._lost(shard, f"after {seconds:g} seconds it has not answered")
            self._call_replicas(groups, waiting, first)
            until = min([ended, *(one.next_at for one in groups.values() if one.called < self._replicas)])
            for ref in self._ready(list(waiting), len(groups), until - time.monotonic()):
                number = waiting.pop(ref)
                if number not in groups:
                    continue  # Another replica was faster.
                found = self._result(ref, groups[number])
                if not isinstance(found, Unopened):
                    answers.update(found)
                    del groups[number]
                elif groups[number].called == self._replicas and number not in waiting.values():
                    raise self._lost(found.shard, found.error.message, found.error.mend) from found.error
                else:
                    groups[number].next_at = 0.0
        # A call that is still on its way is not cancelled: Ray ends a process that cancels a task just when it ends.
        return {shard: answers[shard] for shard in wanted}

    def _call_replicas(self, groups: Mapping[int, _ReplicaGroup], waiting: dict[Any, int], first: int) -> None:
        """Call the next replica of each group whose replicas so far have had their time."""
        now = time.monotonic()
        for number, group in groups.items():
            if now >= group.next_at and group.called < self._replicas:
                waiting[self._send(number, (first + group.called) % self._replicas, group.calls)] = number
                group.called += 1
                group.next_at = now + PATIENCE

    def _send(self, group: int, replica: int, calls: Mapping[int, Sequence[Call[Any]]]) -> Any:
        with self._lock:
            if self._closed or not self._ray.is_initialized():
                raise ClosedFile("the shelf is closed, or its Ray is", "open it again")
            return self._actors[group][replica].answer.remote(calls)

    def _ready(self, waiting: list[Any], groups: int, seconds: float) -> list[Any]:
        """Return the calls that are answered by then: all of them, or, if a group has several, the first."""
        number = len(waiting) if len(waiting) == groups else 1
        ready: list[Any] = self._ray.wait(waiting, num_returns=number, timeout=max(0.0, seconds))[0]
        return ready

    def _result(self, ref: Any, group: _ReplicaGroup) -> dict[int, list[Any]] | Unopened:
        errors = self._ray.exceptions
        try:
            found: dict[int, list[Any]] | Unopened | MonographError = pickle.loads(self._ray.get(ref))  # noqa: S301 - of our own processes
        except errors.RayTaskError:
            raise  # A bug: Ray shows it as it was raised there.
        except errors.RayError as error:
            why = f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
            return Unopened(next(iter(group.calls)), ShardLost(why, "try again; look whether all machines are up"))
        if isinstance(found, MonographError):
            raise found
        return found

    def _lost(self, shard: int, why: str, mend: str = "try again; look whether all machines are up") -> ShardLost:
        name = self._held.names[shard].digest[:12]
        count = len(self._held.names)
        return ShardLost(f"shard {shard} of {count} ({name}) of {self._held.address} cannot be had: {why}", mend)
