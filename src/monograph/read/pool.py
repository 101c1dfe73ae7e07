"""Reads files in parallel in child processes, and returns their parts in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from monograph.read.child import ChildPool
from monograph.read.file import Part, ReadTask, is_harmless, parts_or_error

AHEAD = 64
"""Maximum number of files started at the same time: the file whose parts are being returned, and the next files."""

MOST_WAITING = 8_000_000
"""Limit of the bytes of parts that wait to be returned. Above this limit, the pool receives only parts of the file that
is being returned.
"""


class ReaderPool(ChildPool):
    """Reads files in at most ``processes`` child processes, each started when a file needs it. A context manager."""

    def __init__(self, processes: int) -> None:
        super().__init__(processes, MOST_WAITING)

    def read(self, tasks: Sequence[ReadTask]) -> Iterator[tuple[int, Part]]:
        """Yield (index of the task, part) for the parts of every file, in the order of ``tasks``.

        Files in harmless formats, such as plain text, are read in this process, all other files in child processes. If
        a file cannot be read, one part with the error is yielded for it.
        """
        ahead: deque[Iterable[Part]] = deque()
        begun = 0
        for index in range(len(tasks)):
            for task in tasks[begun : index + AHEAD]:
                ahead.append(task.parts() if is_harmless(task.path) else self.call(task))
                begun += 1
            for part in parts_or_error(ahead.popleft()):
                yield index, part
