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
    """File that is being read: its parts that wait to be returned, and whether it was sent to a child (``sent``)."""

    index: int
    task: ReadTask
    harmless: bool
    parts: deque[Part] = field(default_factory=deque)
    sent: bool = False


class _ReadingProcess(ChildProcess):
    """Child process with the file that it is reading."""

    def __init__(self) -> None:
        super().__init__()
        self.slot: _Slot | None = None


class ReaderPool:
    """Reads files in at most ``processes`` child processes, each started when a file needs it. A context manager."""

    def __init__(self, processes: int) -> None:
        self._max_processes = max(1, processes)
        self._workers: list[_ReadingProcess] = []
        self._waiting_size = 0

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
        next_index = 0
        while slots or next_index < len(tasks):
            while next_index < len(tasks) and len(slots) < AHEAD:
                task = tasks[next_index]
                slots.append(_Slot(next_index, task, is_harmless(task.path)))
                next_index += 1
            self._send_tasks(slots)
            slot = slots[0]
            for part in slot.task.parts_or_error() if slot.harmless else self._parts_from_child(slot, slots):
                yield slot.index, part
            slots.popleft()

    def _parts_from_child(self, slot: _Slot, slots: deque[_Slot]) -> Iterator[Part]:
        while True:
            while not slot.parts:
                self._receive(slot)
                self._send_tasks(slots)
            part = slot.parts.popleft()
            self._waiting_size -= _size(part)
            yield part
            if part.last:
                return

    def _send_tasks(self, slots: deque[_Slot]) -> None:
        """Send each idle worker the next waiting file, and start workers up to the limit."""
        waiting = (slot for slot in slots if not slot.harmless and not slot.sent)
        for slot in waiting:
            idle = next((worker for worker in self._workers if worker.slot is None), None)
            if idle is None and len(self._workers) < self._max_processes:
                idle = _ReadingProcess()
                self._workers.append(idle)
            if idle is None:
                return
            slot.sent, idle.slot = True, slot
            try:
                idle.asked.send(slot.task)
            except OSError:
                self._remove_worker(idle)

    def _receive(self, first: _Slot) -> None:
        """Receive at least one part: of any file, or only of the first file if too much is waiting."""
        busy = [worker for worker in self._workers if worker.slot is not None]
        if self._waiting_size > HELD_CHARACTERS:
            busy = [worker for worker in busy if worker.slot is first] or busy
        ready = wait([worker.answers for worker in busy])
        for worker in busy:
            if worker.answers not in ready or worker.slot is None:
                continue
            try:
                answer: Part | SourceError = worker.answers.recv()
            except (EOFError, OSError):
                self._remove_worker(worker)
                continue
            part = Part.failed(answer) if isinstance(answer, SourceError) else answer
            worker.slot.parts.append(part)
            self._waiting_size += _size(part)
            if part.last:
                worker.slot = None

    def _remove_worker(self, worker: _ReadingProcess) -> None:
        """Remove a worker that has ended, and give its file a last part with the error."""
        code = worker.end()
        self._workers.remove(worker)
        if worker.slot is not None:
            worker.slot.parts.append(Part.failed(death(code, worker.slot.task.limits)))


def _size(part: Part) -> int:
    return sum(len(item.text) for item in part.documents) + sum(len(item.data) for item in part.pictures)
