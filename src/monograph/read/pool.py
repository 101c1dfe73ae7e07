"""Reads files in parallel in child processes, and returns their parts in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from types import TracebackType

from monograph.errors import SourceError
from monograph.read.child import ChildProcess, death
from monograph.read.file import Part, ReadTask, is_harmless

AHEAD = 64
"""Most files in the queue: the file whose parts are being returned, and the files after it."""

HELD_CHARACTERS = 8_000_000
"""Limit of waiting parts, in characters and picture bytes. Above it, only the first file in the queue is received."""


@dataclass(slots=True, eq=False)
class _Slot:
    """File that is being read: its parts that wait to be returned, and whether it was sent to a child (``asked``)."""

    index: int
    task: ReadTask
    harmless: bool
    parts: deque[Part] = field(default_factory=deque)
    asked: bool = False


class _ReadingProcess(ChildProcess):
    """Child process with the file that it is reading."""

    def __init__(self) -> None:
        super().__init__()
        self.slot: _Slot | None = None


class ReaderPool:
    """Reads files in at most ``processes`` child processes, each started when a file needs it. A context manager."""

    def __init__(self, processes: int) -> None:
        self._most = max(1, processes)
        self._workers: list[_ReadingProcess] = []
        self._held = 0

    def __enter__(self) -> ReaderPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    def read(self, tasks: Sequence[ReadTask]) -> Iterator[tuple[int, Part]]:
        """Yield (index of the task, part) for the parts of every file, in the order of ``tasks``.

        Plain texts are read in this process, all other files in child processes. A file that cannot be read has one
        part with the error.
        """
        slots: deque[_Slot] = deque()
        looked_at = 0
        while slots or looked_at < len(tasks):
            while looked_at < len(tasks) and len(slots) < AHEAD:
                task = tasks[looked_at]
                slots.append(_Slot(looked_at, task, is_harmless(task.path)))
                looked_at += 1
            self._ask(slots)
            slot = slots[0]
            for part in slot.task.parts_or_error() if slot.harmless else self._there(slot, slots):
                yield slot.index, part
            slots.popleft()

    def _there(self, slot: _Slot, slots: deque[_Slot]) -> Iterator[Part]:
        while True:
            while not slot.parts:
                self._receive(slot)
                self._ask(slots)
            part = slot.parts.popleft()
            self._held -= _weight(part)
            yield part
            if part.last:
                return

    def _ask(self, slots: deque[_Slot]) -> None:
        """Send each idle worker the next waiting file, and start workers up to the limit."""
        waiting = (slot for slot in slots if not slot.harmless and not slot.asked)
        for slot in waiting:
            idle = next((worker for worker in self._workers if worker.slot is None), None)
            if idle is None and len(self._workers) < self._most:
                idle = _ReadingProcess()
                self._workers.append(idle)
            if idle is None:
                return
            slot.asked, idle.slot = True, slot
            try:
                idle.asked.send(slot.task)
            except OSError:
                self._bury(idle)

    def _receive(self, first: _Slot) -> None:
        """Receive at least one part: of any file, or only of the first file if too much is waiting."""
        busy = [one for one in self._workers if one.slot is not None]
        if self._held > HELD_CHARACTERS:
            busy = [one for one in busy if one.slot is first] or busy
        ready = wait([one.answers for one in busy])
        for worker in busy:
            if worker.answers not in ready or worker.slot is None:
                continue
            try:
                got: Part | SourceError = worker.answers.recv()
            except (EOFError, OSError):
                self._bury(worker)
                continue
            part = Part.failed(got) if isinstance(got, SourceError) else got
            worker.slot.parts.append(part)
            self._held += _weight(part)
            if part.last:
                worker.slot = None

    def _bury(self, worker: _ReadingProcess) -> None:
        """Remove a worker that has ended, and give its file a last part with the error."""
        code = worker.end()
        self._workers.remove(worker)
        if worker.slot is not None:
            worker.slot.parts.append(Part.failed(death(code, worker.slot.task.limits)))


def _weight(part: Part) -> int:
    return sum(len(one.text) for one in part.documents) + sum(len(one.data) for one in part.pictures)
