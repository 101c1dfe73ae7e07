"""Shards that are held by processes on many machines, which Ray starts, watches and starts again."""

from __future__ import annotations

import itertools
import math
import pickle
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from monograph.errors import ClosedFile, InputError, MonographError, ShardLost
from monograph.library.given import Given
from monograph.shelf.hold.holder import Holder, Shards, Told
from monograph.shelf.hold.local_ray import ray_module, start
from monograph.shelf.place import Place
from monograph.shelf.shard.shard import Asked
from monograph.shelf.versions.manifest import Manifest
from monograph.values import arguments

DEADLINE, OPENING = 30.0, 600.0
"""Seconds."""

AT_ONCE = 8
"""Questions that a process answers at once, each in a thread of its own."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
"""Seconds before a process that is being started again is asked again."""

PATIENCE = 1.0
"""Seconds after which a replica is asked as well."""

_AILS = 10.0
"""Seconds for which a process that did not answer is asked only after its replicas."""


@dataclass(slots=True, eq=False)
class _Question:
    """What is wanted of one group of shards.

    ``next`` is the replica to ask next, ``again`` when; ``waiting`` are those that have been asked and have not
    answered, ``refused`` those that could not open a shard; ``why`` there is no answer yet.
    """

    group: int
    asked: dict[int, Sequence[Asked]]
    next: int
    again: float
    pause: float = _FIRST_PAUSE
    tries: int = 0
    waiting: set[int] = field(default_factory=set)
    refused: dict[int, tuple[int, MonographError]] = field(default_factory=dict)
    why: str = "it has not answered"


def on_ray(
    place: Place,
    version: Manifest,
    given: Given,
    *,
    replicas: int = 1,
    groups: int = 0,
    deadline: float = DEADLINE,
) -> OnRay:
    """The shards of a version on Ray: ``engines=on_ray`` for :meth:`monograph.shelf.Shelf.open`.

    What is to be otherwise is given by ``functools.partial(on_ray, replicas=2)``.

    Parameters
    ----------
    place:
        Where the shelf lies: every machine must reach it by its address, and keeps what it fetches in a folder of the
        same name as here, in the home of whoever runs Ray there.
    version, given:
        What is opened, and how.
    replicas, groups, deadline:
        As for :class:`OnRay`, whose errors it raises.
    """
    if given.key is not None:
        raise InputError("an encrypted shard is not opened on other machines: its key would go with it", "open it here")
    shards = Shards(place.objects.address, version.shards, place.elsewhere, given.target_recall, given.cache_bytes)
    return OnRay(shards, replicas, groups, deadline)


class OnRay:
    """Shards in processes of Ray's, on whatever machine there is room: see :class:`monograph.shelf.hold.engine.Engine`.

    A process that dies, alone or with its machine, is started again elsewhere, and fetches what it lacks; meanwhile its
    replicas are asked. Safe for use by many threads. Where no Ray runs, one is started on this machine
    (:func:`monograph.shelf.hold.local_ray.start`).

    Parameters
    ----------
    shards:
        What is held.
    replicas:
        How many processes hold each shard: they begin on different machines, as far as there are.
    groups:
        How many groups the shards are dealt into; a process holds one group. 0 for one each.
    deadline:
        Seconds after which a question has failed. Where there are replicas, the next one is asked as well after a
        second.
    opening:
        Seconds in which all shards are to be open.

    Raises
    ------
    ShardLost
        If one cannot be opened anywhere.
    MissingExtra
        If Ray is not installed.
    ShelfUnreachable
        If no Ray can be had.
    InputError
        If a number is out of range.
    """

    def __init__(
        self, shards: Shards, replicas: int = 1, groups: int = 0, deadline: float = DEADLINE, opening: float = OPENING
    ) -> None:
        start()
        self._ray = ray_module()
        self._shards = shards
        self._deadline = deadline
        self._replicas = arguments.whole_number(replicas, "replicas", 1)
        self._groups = min(arguments.whole_number(groups, "groups", 0) or len(shards.names), len(shards.names))
        self._lock = threading.Lock()
        self._turn = itertools.count()
        self._closed = False
        self._ailing: dict[tuple[int, int], float] = {}
        """Until when a replica of a group is asked only after the others."""
        self._make = self._ray.remote(Holder).options(
            num_cpus=0,  # Where tasks take every processor, it is started all the same.
            memory=1,  # Who asks for nothing at all is put on any machine, whatever the strategy.
            max_restarts=-1,
            max_task_retries=0,  # Whoever asks knows of replicas, and of how long it may take.
            max_concurrency=AT_ONCE,
            scheduling_strategy="SPREAD",
            enable_task_events=False,
        )
        self._holders = {
            (group, replica): self._make.remote(shards)
            for group in range(self._groups)
            for replica in range(self._replicas)
        }
        try:
            # All replicas open what they hold; that one of each does is waited for.
            everything: dict[int, Sequence[Asked]] = dict.fromkeys(range(len(shards.names)), ())
            for (group, _), holder in self._holders.items():
                holder.answer.remote({shard: () for shard in everything if shard % self._groups == group})
            self._answers(everything, opening)
        except BaseException:
            self.close()
            raise

    def ask(self, wanted: Mapping[int, Sequence[Asked]]) -> dict[int, list[Any]]:
        """See :class:`~monograph.shelf.hold.engine.Engine`.

        What a shard raises is raised here.
        """
        return self._answers(wanted, self._deadline)

    def close(self) -> None:
        """See :class:`~monograph.shelf.hold.engine.Engine`."""
        with self._lock:
            self._closed = True
            if self._ray.is_initialized():
                for holder in self._holders.values():
                    self._ray.kill(holder)
            self._holders.clear()

    def _answers(self, wanted: Mapping[int, Sequence[Asked]], seconds: float) -> dict[int, list[Any]]:
        begun = time.monotonic()
        open_ = self._questions(wanted, begun)
        sent: dict[Any, tuple[_Question, int]] = {}
        answers: dict[int, list[Any]] = {}
        while open_:
            now = time.monotonic()
            if now - begun >= seconds:
                raise self._lost(next(iter(open_.values())), seconds)
            for question in open_.values():
                if now >= question.again:
                    sent.update(self._send(question, seconds))
            until = min(begun + seconds, *(question.again for question in open_.values()))
            for ref in self._ready(list(sent), len(open_), until - time.monotonic()):
                question, replica = sent.pop(ref)
                question.waiting.discard(replica)
                if question.group in open_ and self._take(question, replica, ref, answers):
                    del open_[question.group]
        # What is not needed any more is not cancelled: Ray ends a process that cancels a task just when that ends.
        return {shard: answers[shard] for shard in wanted}

    def _questions(self, wanted: Mapping[int, Sequence[Asked]], now: float) -> dict[int, _Question]:
        turn = next(self._turn)
        found: dict[int, _Question] = {}
        for shard, asked in wanted.items():
            group = shard % self._groups
            if group not in found:
                found[group] = _Question(group, {}, self._soundest(group, turn), now)
            found[group].asked[shard] = asked
        return found

    def _soundest(self, group: int, turn: int) -> int:
        """The replica whose turn it is, or the next that does not ail."""
        now = time.monotonic()
        order = [(turn + step) % self._replicas for step in range(self._replicas)]
        return next((one for one in order if self._ailing.get((group, one), 0.0) <= now), order[0])

    def _send(self, question: _Question, seconds: float) -> dict[Any, tuple[_Question, int]]:
        """Ask the next replica, unless all have been asked and are still to answer."""
        for late in question.waiting:
            self._ailing[question.group, late] = time.monotonic() + _AILS
        if len(question.waiting) == self._replicas:
            question.again = math.inf
            return {}
        while question.next in question.waiting:
            question.next = (question.next + 1) % self._replicas
        replica = question.next
        question.next = (replica + 1) % self._replicas
        question.tries += 1
        question.waiting.add(replica)
        question.again = time.monotonic() + min(PATIENCE, seconds / self._replicas)
        with self._lock:
            if self._closed or not self._ray.is_initialized():
                raise ClosedFile("the shelf is closed, or its Ray is", "open it again")
            return {self._holders[question.group, replica].answer.remote(question.asked): (question, replica)}

    def _ready(self, sent: list[Any], wanted: int, seconds: float) -> list[Any]:
        """What has come back by then: all of it, or, where more than one was asked the same, the first."""
        if not sent:
            time.sleep(max(0.0, seconds))
            return []
        number = len(sent) if len(sent) == wanted else 1
        ready: list[Any] = self._ray.wait(sent, num_returns=number, timeout=max(0.0, seconds))[0]
        return ready

    def _take(self, question: _Question, replica: int, ref: Any, answers: dict[int, list[Any]]) -> bool:
        """Whether what came back of a question is its answer, which is then taken; raises what a shard raised."""
        errors = self._ray.exceptions
        try:
            told: Told = pickle.loads(self._ray.get(ref))  # noqa: S301 - of our own processes
        except errors.RayTaskError:
            raise  # A fault of the program, which Ray shows as it was raised there.
        except errors.RayError as error:
            self._gone(question, replica, error)
            return False
        if told.fault is not None and told.unopened is not None:
            question.refused[replica] = told.unopened, told.fault
            if len(question.refused) == self._replicas:
                raise self._lost(question, 0.0) from told.fault
            question.again = 0.0
            return False
        if told.fault is not None:
            raise told.fault
        self._ailing.pop((question.group, replica), None)
        answers.update(told.answers)
        return True

    def _gone(self, question: _Question, replica: int, error: Exception) -> None:
        """Note that a process does not answer, and when whom to ask next."""
        errors = self._ray.exceptions
        key = question.group, replica
        question.why = f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
        self._ailing[key] = time.monotonic() + _AILS
        with self._lock:
            if isinstance(error, errors.ActorDiedError) and not self._closed:  # For good: Ray does not start it again.
                self._holders[key] = self._make.remote(self._shards)
        if question.tries < self._replicas:
            question.again = 0.0
        else:
            question.again = time.monotonic() + question.pause
            question.pause = min(2 * question.pause, _LONGEST_PAUSE)

    def _lost(self, question: _Question, seconds: float) -> ShardLost:
        count = len(self._shards.names)
        if question.refused:
            shard, fault = next(iter(question.refused.values()))
            why, mend = fault.message, fault.mend
        else:
            shard = next(iter(question.asked))
            why, mend = f"after {seconds:g} seconds {question.why}", "try again; look whether all machines are up"
        name = self._shards.names[shard].digest[:12]
        return ShardLost(f"shard {shard} of {count} ({name}) of {self._shards.address} cannot be had: {why}", mend)
