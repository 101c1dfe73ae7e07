"""Programs that run in forks of a process that has already imported their modules.

A command imports for half a second and works for a tenth. A fork of a process that has only imported is as clean as a
new process: it has its own standard streams, folder and environment, and exits like any program.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType

WAITING = """
import gc, json, os, sys
gc.collect(), gc.freeze()  # What is imported is not looked through again by each fork.
asking, told = os.fdopen(int(sys.argv[1])), os.fdopen(int(sys.argv[2]), "w")
for line in asking:
    child = os.fork()
    if child == 0:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=told, flush=True)
else:
    sys.exit()
asking.close(), told.close()
sys.argv, folder, environment, streams = json.loads(line)
for stream, path in enumerate(streams):
    opened = os.open(path, os.O_RDONLY if stream == 0 else os.O_WRONLY)
    os.dup2(opened, stream)
    os.close(opened)
os.environ.clear()
os.environ.update(environment)
os.chdir(folder)
"""

COMMAND_LINE = """
import contextlib, io
import rich.table, sentencex
from monograph.app.cli import app, main
from monograph.derive.embed.static import token_vectors
from monograph.derive.tokens import tokenizer
token_vectors(), tokenizer()
with contextlib.redirect_stdout(io.StringIO()):
    app(["stats", "--help"], standalone_mode=False)  # Typer imports a third of itself when it is first used.
"""
"""Loads all that the command line needs; ``main()`` then runs it."""


class Forks:
    """Process that runs ``prepared`` once, and then forks a child that runs ``program`` for each call of ``run``.

    Parameters
    ----------
    prepared, program
        Python code. The program finds its arguments in ``sys.argv``.
    """

    def __init__(self, prepared: str, program: str) -> None:
        self._code = f"{prepared}\n{WAITING}\n{program}\n"
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, *arguments: object, cwd: Path | None = None, said: str = "") -> subprocess.CompletedProcess[str]:
        """Run the program to its end, with ``said`` as its standard input.

        Returns
        -------
        The exit code and output, as ``subprocess.run(..., text=True)`` returns them.
        """
        argv = list(map(str, arguments))
        with tempfile.TemporaryDirectory() as place:
            streams = [Path(place, name) for name in ("in", "out", "err")]
            for path, text in zip(streams, (said, "", ""), strict=True):
                path.write_text(text)
            try:
                code = self._ask(json.dumps([argv, str(cwd or Path.cwd()), dict(os.environ), list(map(str, streams))]))
            except BaseException:
                # After a timeout or an interrupt, the next call must not read the reply to this one.
                self.close()
                raise
            return subprocess.CompletedProcess(argv, code, *(path.read_text() for path in streams[1:]))

    def _ask(self, line: str) -> int:
        if self._process is None:
            self._start()
        try:
            self._asking.write(f"{line}\n".encode())
            return int(self._told.readline())
        except (BrokenPipeError, ValueError) as error:
            raise RuntimeError("the process that forks has come to an end") from error

    def _start(self) -> None:
        asked, asking = os.pipe()
        told, telling = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-c", self._code, str(asked), str(telling)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=(asked, telling), start_new_session=True,
        )  # fmt: skip
        os.close(asked)
        os.close(telling)
        atexit.register(self.close)
        self._asking, self._told = os.fdopen(asking, "wb", buffering=0), os.fdopen(told)

    def close(self) -> None:
        """Kill the process and its children. The next call of ``run`` starts a new process."""
        if self._process is not None:
            atexit.unregister(self.close)
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._asking.close()
            self._told.close()
            self._process = None

    def __enter__(self) -> Forks:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


COMMANDS = Forks(COMMAND_LINE, "main()")


def run(*arguments: object, code: int = 0) -> str:
    """Run a command, assert its exit code, and return its output."""
    done = COMMANDS.run("monograph", *arguments)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr
