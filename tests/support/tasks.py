"""Tasks for child processes that end badly."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

from monograph.read.file import Part, ReadTask


class KilledTask(ReadTask):
    """Reading of a file during which the process is killed, as a system without memory does."""

    def parts(self) -> Iterator[Part]:
        os.kill(os.getpid(), signal.SIGKILL)
        yield from super().parts()
