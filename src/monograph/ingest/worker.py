"""A process of ours that does work for the writer, at the other end of a socket."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from multiprocessing.connection import Connection

_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
_START = "import sys; sys.path[:] = sys.argv[2:]; from {} import main; main()"


class Worker:
    """A process that runs ``main`` of a module of ours, which finds the socket's descriptor in its first argument.

    The interpreter is started anew, and knows nothing of the program that it works for: neither its main module, which
    need not be written with this in mind, nor its threads.
    """

    def __init__(self, module: str) -> None:
        ours, theirs = socket.socketpair()
        environment = {**os.environ, **_ONE_THREAD}
        with theirs:
            # In a session of its own: an interrupt at the terminal is for the writer to answer.
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter
                [sys.executable, "-c", _START.format(module), str(theirs.fileno()), *sys.path],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            )
        self.connection = Connection(ours.detach())

    def end(self) -> int:
        """End the process, whatever it does; its exit code, negative where a signal had ended it."""
        self.connection.close()
        code = self.process.poll()
        if code is None:
            try:
                code = self.process.wait(0.2)
            except subprocess.TimeoutExpired:
                self.process.kill()
                code = self.process.wait()
        return code
