"""A process that reads files for another, and may be killed over any of them.

The kernel ends it when a file takes longer than its limit, whatever a parser is doing then, and whether or not anyone
is left to wait for it.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection

from monograph.errors import SourceError, SourceTooSlow
from monograph.read.compose import clean
from monograph.read.file import Part, ReadTask
from monograph.read.limits import Limits
from monograph.read.worker import writer
from monograph.values import Document

GRACE_SECONDS = 2.0
"""Readers look at the clock themselves: only one that hangs is still there so long after its time."""


@dataclass(frozen=True, slots=True)
class PictureTask:
    """A picture whose words are to be recognised: they come as a document."""

    data: bytes
    limits: Limits

    def parts(self) -> Iterator[Part]:
        """One part, without a document where no words were found."""
        from monograph.read.image import recognise, unpacked_image, upright

        words = clean(recognise(upright(unpacked_image(self.data, self.limits)))).strip()
        yield Part(b"", 0, 0, (Document(words),) if words else (), (), last=True)


def main() -> None:
    """Read the files that the writer asks for, until it is gone."""
    asked, answers = writer()
    try:
        while True:
            task: ReadTask | PictureTask = asked.recv()
            limit_memory(task.limits.max_memory)
            if not _read(answers, task):
                return
    except (EOFError, BrokenPipeError):
        return
    finally:
        # Nothing here needs to be put away, and a library in C may hang or crash while it tries.
        sys.stdout.flush()
        os._exit(0)


def _read(answers: Connection, task: ReadTask | PictureTask) -> bool:
    """Send the parts of a file; whether the process is fit to read another."""
    left = task.limits.max_seconds + GRACE_SECONDS
    try:
        signal.setitimer(signal.ITIMER_REAL, left)
        for part in task.parts():
            # The time is for reading: it stands still while the one who asked is busy with what came before.
            left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
            answers.send(part)
            signal.setitimer(signal.ITIMER_REAL, left)
    except SourceError as error:
        signal.setitimer(signal.ITIMER_REAL, 0)
        answers.send(Part.failed(error))
    except MemoryError:
        signal.setitimer(signal.ITIMER_REAL, 0)
        much = SourceTooSlow(f"reading it took more than {task.limits.max_memory:,} bytes of memory", "divide it")
        answers.send(Part.failed(much))
        return False
    signal.setitimer(signal.ITIMER_REAL, 0)
    return True


def limit_memory(most: int) -> None:
    """Bound this process's address space, where the system can."""
    if sys.platform == "linux":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
