"""Engine that calls shards in Ray processes on many machines, and Ray tasks that build shards."""

from __future__ import annotations

import itertools
import os
import pickle
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

from monograph.errors import ClosedFile, MissingExtra, MonographError, ShardLost, ShelfUnreachable
from monograph.library.opened import OpenOptions, WholeFile
from monograph.shelf.making import Made, Recipe, Work, make
from monograph.shelf.manifest import Manifest
from monograph.shelf.shard import Call, ShardReader
from monograph.shelf.storage import ObjectName, ShelfPlace, shelf_place
from monograph.values import Document, arguments

P = ParamSpec("P")
DEADLINE, OPENING = 30.0, 600.0
"""Limits in seconds: DEADLINE for one call, OPENING for opening all shards."""

AT_ONCE = 8
"""Largest number of calls that an actor runs at the same time. Each call has a thread of its own."""

PATIENCE = 1.0
"""Seconds to wait for one replica. If this replica does not answer, the next replica gets the call as well.

Replicas are actors that have the same shards open."""

RETRIES = 5
"""How many times Ray restarts a task whose process or machine died."""

_HINT = "check that all machines are running, then try again"
_OBJECT_STORE = 128 << 20
"""Bytes of memory, allocated on demand, for objects that processes exchange. Ray writes further objects to disk."""

_RAY_DEFAULTS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # Avoids a warning of Ray about a future change.
}
_start_lock = threading.Lock()


def ray_module() -> Any:
    """Import and return the package ``ray``. Raises MissingExtra if it is not installed."""
    for name, value in _RAY_DEFAULTS.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError as error:
        raise MissingExtra("a shelf on many machines needs Ray", 'pip install "monograph[shelf]"') from error
    return ray


def start() -> None:
    """Connect this process to Ray. Do nothing if it is connected already.

    If the environment variable RAY_ADDRESS is set, connect to the Ray cluster at that address. Otherwise start Ray
    on this machine, without a dashboard and on 127.0.0.1 only. Ray then ends with this process. Raises MissingExtra if
    Ray is not installed, and ShelfUnreachable if the cluster cannot be reached or Ray does not start.
    """
    cluster = os.environ.get("RAY_ADDRESS", "")
    with _start_lock:
        if not cluster:
            # Despite its name, Ray reads this variable on every system. With "0" it listens on 127.0.0.1 only, and
            # does not look for another address, which may hang on a machine without a network.
            os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        ray = ray_module()
        if ray.is_initialized():
            return
        started: Future[object] = Future()
        # Outside the main thread, Ray does not replace the signal handlers of this process.
        threading.Thread(target=_init, args=(ray, cluster, started), name="monograph-ray", daemon=True).start()
        try:
            started.result()
        except (ConnectionError, OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            what, hint = "cannot start Ray on this machine", "see its logs in /tmp/ray/session_latest/logs"
            if cluster:
                what = f"cannot connect to Ray at {cluster}"
                hint = "check that its head node runs, and that RAY_ADDRESS and RAY_AUTH_MODE are the same as there"
            why = [*str(error).strip().splitlines(), repr(error)][0]
            raise ShelfUnreachable(f"{what}: {why}", hint) from error
        # Ray would report dead processes on standard output, which may carry a protocol. Callers get an error anyway.
        ray._private.worker._worker_logs_enabled = False


def _init(ray: Any, cluster: str, started: Future[object]) -> None:
    """Run ``ray.init``, and put its result or exception into ``started``. Never return if Ray started."""
    local_options = {} if cluster else {"include_dashboard": False, "object_store_memory": _OBJECT_STORE}
    try:
        started.set_result(
            ray.init(address=cluster or "local", log_to_driver=False, logging_level="ERROR", **local_options)
        )
    except BaseException as error:
        started.set_exception(error)
    else:
        # When a thread ends, the system ends the processes that it started: Ray's processes need this thread.
        threading.Event().wait()


class ShardFailure(Exception):
    """Raised if an actor cannot open a shard, or if the actor or task of a shard dies.

    ``shard`` is the number of the shard, and ``error`` the cause.
    """

    def __init__(self, shard: int, error: MonographError) -> None:
        super().__init__(shard, error)
        self.shard, self.error = shard, error


def _pickle_outcome(work: Callable[P, object]) -> Callable[P, bytes]:
    """Decorate a function: pickle its result or the error that it raises, and return the pickle."""

    @wraps(work)
    def run(*args: P.args, **kwargs: P.kwargs) -> bytes:
        try:
            result = work(*args, **kwargs)
        except (MonographError, ShardFailure) as error:
            # If the function raised the error, Ray would wrap it in a RayTaskError.
            result = error
        return pickle.dumps(result, pickle.HIGHEST_PROTOCOL)

    return run


def _wait_for_result(ref: Any, shard: int) -> Any:
    """Wait for a Ray call on a shard; return its result, or raise the result if it is an error."""
    ray = ray_module()
    try:
        result = pickle.loads(ray.get(ref))  # noqa: S301 - of our own processes
    except ray.exceptions.RayTaskError:
        raise  # A bug: Ray shows the original traceback.
    except ray.exceptions.RayError as error:
        why = f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
        raise ShardFailure(shard, ShardLost(why, _HINT)) from error
    if isinstance(result, Exception):
        raise result
    return result


class ShardActor:
    """Ray actor that opens a group of shards and runs calls on them. Safe for use by many threads.

    A shard is opened when it is called for the first time. If the shard cannot be opened, the next call on this shard
    tries to open it again.

    Parameters
    ----------
    address:
        Address of the shelf.
    names:
        Object names of all shards of the version, in the order of the shards' numbers, from 0.
    home:
        The shelf's folder on the actor's machine; it may begin with ``~``.
    options:
        Options to open the shards with.
    """

    def __init__(self, address: str, names: Sequence[ObjectName], home: Path, options: OpenOptions) -> None:
        self._address, self._names, self._home, self._options = address, names, home, options
        self._open: dict[int, WholeFile] = {}
        self._lock = threading.Lock()

    @_pickle_outcome
    def answer(self, calls: Mapping[int, Call]) -> dict[int, Any]:
        """Run calls on shards, and return {shard number: result of the call}. ``calls`` is {shard number: call}.

        Raises ShardFailure if a shard cannot be opened; no call is run then.
        """
        for shard in calls:
            try:
                with self._lock:
                    if shard not in self._open:
                        path = shelf_place(self._address, self._home.expanduser()).file_of(self._names[shard])
                        self._open[shard] = WholeFile.open(replace(self._options, path=path))
            except MonographError as error:
                raise ShardFailure(shard, error) from error
        return {shard: call.answer(self._open[shard]) for shard, call in calls.items()}


class OnRay:
    """Engine that calls shards in Ray actors on any machine of the cluster.

    It implements :class:`monograph.shelf.engines.Engine`. To use it, pass ``engines=OnRay`` to
    :meth:`monograph.shelf.Shelf.open`, or ``engines=functools.partial(OnRay, replicas=2)`` to set parameters. If the
    process or machine of an actor dies, Ray restarts the actor elsewhere and repeats the actor's calls. Safe for use by
    many threads. :func:`start` connects to Ray, or starts it on this machine.

    Parameters
    ----------
    place:
        Where the shelf is. Every machine must be able to reach the shelf's address. Each machine keeps fetched objects
        in the folder ``place.elsewhere``. In this path, ``~`` is the home directory of the user who runs Ray there.
    version, options:
        The version's manifest, and the options to open the shards with.
    replicas:
        Number of actors that have the same shard open, on different machines if there are enough. Calls alternate
        between these replicas. If a replica does not answer a call within a second, the next replica gets the call as
        well.
    groups:
        Number of groups that the shards are divided into. Each actor has one group. 0 means that each group has one
        shard.
    deadline:
        Seconds after which a call fails if no replica has answered.

    Raises
    ------
    ShardLost
        If a shard cannot be opened by any actor.
    MissingExtra
        If Ray is not installed.
    ShelfUnreachable
        If Ray does not start.
    InputError
        If ``replicas`` or ``groups`` is out of range.
    """

    def __init__(
        self,
        place: ShelfPlace,
        version: Manifest,
        options: OpenOptions,
        *,
        replicas: int = 1,
        groups: int = 0,
        deadline: float = DEADLINE,
    ) -> None:
        start()
        self._ray = ray_module()
        self._address, self._names, self._deadline = place.objects.address, version.shards, deadline
        self._replicas = arguments.whole_number(replicas, "replicas", 1)
        self._groups = min(arguments.whole_number(groups, "groups", 0) or len(self._names), len(self._names))
        self._lock = threading.Lock()
        self._turn = itertools.count()
        self._closed = False
        actor = self._ray.remote(ShardActor).options(
            num_cpus=0,  # An actor must start even if tasks occupy every processor.
            memory=1,  # Ray ignores the strategy for an actor that requests no resource.
            max_restarts=-1,
            max_task_retries=-1,
            max_concurrency=AT_ONCE,
            scheduling_strategy="SPREAD",
            enable_task_events=False,
        )
        # Models stay in this process: shards need none.
        options = OpenOptions(
            Path(), create=False, read_only=True, target_recall=options.target_recall, cache_bytes=options.cache_bytes
        )
        arguments_of_actor = self._address, self._names, place.elsewhere, options
        self._actors = [[actor.remote(*arguments_of_actor) for _ in range(self._replicas)] for _ in range(self._groups)]
        try:
            # All replicas start to open their shards; wait for one replica of each group.
            all_calls = dict.fromkeys(range(len(self._names)), Call(ShardReader.total, ()))
            for group, calls in self._group_calls(all_calls).items():
                for holder in self._actors[group]:
                    holder.answer.remote(calls)
            self._collect_answers(all_calls, OPENING)
        except BaseException:
            self.close()
            raise

    def ask(self, calls: Mapping[int, Call]) -> dict[int, Any]:
        """Run calls on shards: see :class:`~monograph.shelf.engines.Engine`. Raises the error that a shard raised."""
        return self._collect_answers(calls, self._deadline)

    def close(self) -> None:
        """End the actors. :meth:`ask` raises ClosedFile from then on."""
        with self._lock:
            self._closed = True
            if self._ray.is_initialized():
                for actor in itertools.chain.from_iterable(self._actors):
                    self._ray.kill(actor)
            self._actors.clear()

    def _collect_answers(self, calls_by_shard: Mapping[int, Call], seconds: float) -> dict[int, Any]:
        """Run calls on replicas for at most ``seconds``, and return {shard number: result of the call}."""
        deadline, first = time.monotonic() + seconds, next(self._turn)
        groups = self._group_calls(calls_by_shard)  # Groups without an answer yet.
        pending: dict[Any, int] = {}  # The group of each pending call.
        answers: dict[int, Any] = {}
        # If a replica fails or does not answer within PATIENCE seconds, the next one gets the group's calls as well.
        for turn in range(1, self._replicas + 1):
            is_last = turn == self._replicas
            for group, calls in groups.items():
                with self._lock:
                    if self._closed or not self._ray.is_initialized():
                        raise ClosedFile("the shelf is closed, or Ray was shut down", "open it again")
                    actor = self._actors[group][(first + turn) % self._replicas]
                    pending[actor.answer.remote(calls)] = group
            until = deadline if is_last else min(deadline, time.monotonic() + PATIENCE)
            while groups and pending and (remaining := until - time.monotonic()) > 0:
                # Wait for all calls; but if a group has several pending calls, wait for any one.
                count = len(pending) if len(pending) == len(groups) else 1
                for ref in self._ray.wait(list(pending), num_returns=count, timeout=remaining)[0]:
                    group = pending.pop(ref)
                    if group not in groups:
                        continue  # Another replica was faster.
                    try:
                        answers |= _wait_for_result(ref, next(iter(groups[group])))
                    except ShardFailure as lost:
                        if is_last and group not in pending.values():
                            raise self._lost_error(lost.shard, lost.error.message, lost.error.hint) from lost.error
                    else:
                        del groups[group]
        if groups:
            shard = next(iter(next(iter(groups.values()))))
            raise self._lost_error(shard, f"it did not answer within {seconds:g} seconds", _HINT)
        # Do not cancel pending calls: Ray kills a process that cancels a task at the moment when the task ends.
        return {shard: answers[shard] for shard in calls_by_shard}

    def _group_calls(self, calls: Mapping[int, Call]) -> dict[int, dict[int, Call]]:
        groups: dict[int, dict[int, Call]] = {}
        for shard, call in calls.items():
            groups.setdefault(shard % self._groups, {})[shard] = call
        return groups

    def _lost_error(self, shard: int, why: str, hint: str) -> ShardLost:
        name, count = self._names[shard].digest[:12], len(self._names)
        return ShardLost(f"shard {shard} of {count} ({name}) of {self._address} cannot be read: {why}", hint)


class Tasks:
    """Builder of shards in Ray tasks on any machine of the cluster: pass it to :func:`monograph.shelf.build`.

    Ray restarts a task if its process or machine dies. If one task fails, the other tasks continue until this process
    ends. The next build does not repeat finished shards. These paths must be the same on all machines: folders to sync,
    .mono files that shards are built from, and the shelf's folder if the shelf is not in a bucket.

    Parameters
    ----------
    cpus:
        Number of processors that each task reserves on its machine.

    Raises
    ------
    MissingExtra
        If Ray is not installed.
    ShelfUnreachable
        If Ray does not start.
    """

    def __init__(self, cpus: float = 1.0) -> None:
        start()
        self._ray = ray_module()
        self._cpus = cpus

    def keep(self, documents: Sequence[Document]) -> Any:
        """Put documents into Ray's object store, which spills to disk, and return Ray's reference to them."""
        return self._ray.put(documents)

    def make(self, recipe: Recipe, works: Sequence[Work]) -> Iterator[Made]:
        """Build one shard for each item of ``works``, in parallel, and yield the results in the order of ``works``.

        Raises the errors of :func:`monograph.shelf.making.make`. Raises ShardLost if the process of a task died and Ray
        gave up restarting the task.
        """
        task = self._ray.remote(_task).options(
            num_cpus=self._cpus, max_retries=RETRIES, retry_exceptions=False, scheduling_strategy="SPREAD"
        )
        # If one fails, do not cancel the others: Ray kills a process that cancels a task at the moment when it ends.
        for shard, ref in enumerate([task.remote(recipe, work) for work in works]):
            try:
                yield _wait_for_result(ref, shard)
            except ShardFailure as lost:
                raise ShardLost(
                    f"shard {shard} cannot be built: {lost.error.message}",
                    "check that the machines have enough memory, then build again: finished shards are kept",
                ) from lost


@_pickle_outcome
def _task(recipe: Recipe, work: Work) -> Made:
    blocks: Any = map(ray_module().get, work.documents)  # Lazy, so that only one block is in memory at a time.
    return make(recipe, replace(work, documents=blocks))
