"""A process of ours that does work for the writer, at the other end of two pipes."""

from __future__ import annotations

import os
import subprocess
import sys
from multiprocessing.connection import Connection

from monograph.regex import regex

PROCESSES = min(4, os.cpu_count() or 1)
"""How many of one kind work for the writer at once."""

_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
_SECRETS = regex(r"MONOGRAPH_(?:KEY|TOKEN|(?:\w+_)?API_KEY)")
"""What a process that reads strangers' files is not to know: variables of these names."""
_START = "import sys; sys.path[:] = sys.argv[3:]; from {} import main; main()"


class Worker:
    """A process that runs ``main`` of a module of ours, which meets the writer by :func:`writer`.

    The interpreter is started anew, and knows nothing of the program that it works for: neither its main module, which
    need not be written with this in mind, nor its threads. Pipes, not sockets: who forbids sockets means the network.

    ``asked`` takes what is to be done, ``answers`` has what came of it.
    """

    def __init__(self, module: str) -> None:
        work, asked = os.pipe()
        answers, done = os.pipe()
        self.asked = Connection(asked, readable=False)
        self.answers = Connection(answers, writable=False)
        try:
            # In a session of its own: an interrupt at the terminal is for the writer to answer.
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter
                [sys.executable, "-c", _START.format(module), str(work), str(done), *sys.path],
                pass_fds=(work, done),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={name: value for name, value in os.environ.items() if not _SECRETS.fullmatch(name)} | _ONE_THREAD,
                start_new_session=True,
            )
        finally:
            os.close(work)
            os.close(done)

    def end(self) -> int:
        """End the process, whatever it does; its exit code, negative where a signal had ended it."""
        self.asked.close()
        self.answers.close()
        code = self.process.poll()
        if code is None:
            try:
                code = self.process.wait(0.2)
            except subprocess.TimeoutExpired:
                self.process.kill()
                code = self.process.wait()
        return code


def writer() -> tuple[Connection, Connection]:
    """(what is to be done, where answers go), of the process that this one works for."""
    return Connection(int(sys.argv[1]), writable=False), Connection(int(sys.argv[2]), readable=False)
