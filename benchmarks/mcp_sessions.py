"""Benchmark of the server for agents: start, eight sessions on one file, killed clients, a minute without work.

``make bench-mcp`` starts ``monograph mcp`` as an agent's program does, and sends it lines of JSON over pipes. The file
of 10,000 passages is the same as in ``make bench-search`` (build/search). The rival is the memory server of the Model
Context Protocol's own project, if npm can install it. The benchmark takes five minutes and writes
docs/benchmarks/mcp.md. ``--only start`` measures one section.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from machine import console, run_sections
from page import NOISE, write_page
from search import made, passages
from vector_report import table

HERE = Path(__file__).resolve().parent
CACHE = HERE.parent / "build" / "mcp"
PAGE = HERE.parent / "docs" / "benchmarks" / "mcp.md"
RIVAL = "@modelcontextprotocol/server-memory@2026.8.31"
COUNT, SESSIONS, REPEATS, MINUTE = 10_000, 8, 5, 60.0
LIMIT_SECONDS, PATIENCE_SECONDS = 5.0, 60.0
MB = 1e6
Results = dict[str, Any]

CLIENT = """
import subprocess, sys
server = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
print(server.pid, flush=True)
server.stdin.write(sys.argv[1].encode())
server.stdin.flush()
server.stdout.readline()
print("answered", flush=True)
sys.stdin.read()
"""
"""Script of a client in its own process, which can be killed. It starts a server and sends it one request."""

INITIALIZE = {
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
}


@dataclass(frozen=True)
class Server:
    """A server: its command, and a function that returns its request to search for a word."""

    name: str
    command: Sequence[str]
    search: Callable[[str], dict[str, Any]]
    environment: Mapping[str, str] = field(default_factory=dict)


def monograph() -> Server:
    command = [sys.executable, "-m", "monograph.app.cli", "mcp", str(made(COUNT))]
    return Server("Monograph", command, lambda word: {"name": "search", "arguments": {"query": word}})


def memory_server() -> Server | None:
    """Return the rival with the same passages, each as an entity's observation; None if npm cannot install it."""
    program = CACHE / "node_modules/@modelcontextprotocol/server-memory/dist/index.js"
    if not program.exists() and (npm := shutil.which("npm")):
        subprocess.run([npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", CACHE, RIVAL], check=False)
    if not program.exists():
        return None
    stored = CACHE / f"{COUNT}.jsonl"
    if not stored.exists():
        entities = (
            {"type": "entity", "name": one.id or one.title, "entityType": "passage", "observations": [one.text]}
            for one in passages(COUNT)
        )
        stored.write_text("\n".join(json.dumps(one) for one in entities), encoding="utf-8")
    return Server(
        "server-memory",
        ["node", str(program)],
        lambda word: {"name": "search_nodes", "arguments": {"query": word}},
        {"MEMORY_FILE_PATH": str(stored)},
    )


def servers() -> list[Server]:
    """Return Monograph's server and the rival, if it is installed."""
    return [one for one in (monograph(), memory_server()) if one is not None]


def memory_of(smaps: str) -> dict[str, float]:
    """Return RSS and PSS in MB, from the content of a process's ``smaps_rollup``."""
    sizes = dict(line.split(":") for line in smaps.splitlines()[1:])
    return {name.lower(): int(sizes[name].split()[0]) * 1024 / MB for name in ("Rss", "Pss")}


class Session:
    """A running server and its pipes."""

    def __init__(self, server: Server) -> None:
        self.begun = time.perf_counter()
        self.process = subprocess.Popen(
            server.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | server.environment,
        )
        self._server = server
        self._number = 0

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message. A request gets the next number."""
        assert self.process.stdin is not None
        numbered = {"jsonrpc": "2.0", **message}
        if not message["method"].startswith("notifications/"):
            self._number += 1
            numbered["id"] = self._number
        self.process.stdin.write(json.dumps(numbered).encode() + b"\n")
        self.process.stdin.flush()

    def received(self) -> float:
        """Wait for the answer to the last request; return the seconds since the process was started."""
        assert self.process.stdout is not None
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self._number:
                if "error" in answer or answer["result"].get("isError"):
                    raise OSError(f"{self._server.name}: {answer}")
                return time.perf_counter() - self.begun

    def initialize(self) -> None:
        """Send the request that begins a session."""
        self.send(INITIALIZE)

    def search(self, word: str) -> None:
        """Send a search request."""
        self.send({"method": "tools/call", "params": self._server.search(word)})

    def initialized(self) -> None:
        """Send the notification that the session is initialized."""
        self.send({"method": "notifications/initialized"})

    def processes(self) -> list[psutil.Process]:
        """Return the server's process and all its descendants."""
        whole = psutil.Process(self.process.pid)
        return [whole, *whole.children(recursive=True)]

    def cpu(self) -> float:
        """Return the seconds of processor time so far."""
        return sum(sum(one.cpu_times()[:2]) for one in self.processes())

    def memory(self) -> dict[str, float]:
        """Return RSS and PSS in MB, summed over the processes."""
        every = [memory_of(Path(f"/proc/{one.pid}/smaps_rollup").read_text()) for one in self.processes()]
        return {name: sum(one[name] for one in every) for name in every[0]}

    def wakes(self) -> int:
        """Return the number of times that the server's threads have begun to wait so far."""
        threads = [path for one in self.processes() for path in Path(f"/proc/{one.pid}/task").glob("*/status")]
        lines = [line for path in threads for line in path.read_text().splitlines()]
        return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))

    def close(self) -> None:
        """Close standard input, and wait until the process has ended."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(PATIENCE_SECONDS)


@contextmanager
def session(server: Server) -> Iterator[Session]:
    running = Session(server)
    try:
        yield running
    finally:
        running.close()


WORD = "comet"


def whole_start(server: Server) -> dict[str, float]:
    """Measure one server alone, up to the answer of its first search."""
    with session(server) as running:
        running.initialize()
        first = running.received()
        first_cpu = running.cpu()
        running.initialized()
        running.search(WORD)
        searched = running.received()
        return {"first": first, "first_cpu": first_cpu, "searched": searched, "cpu": running.cpu(), **running.memory()}


def cpu_of(*command: str) -> float:
    """Return the seconds of processor time of a command: the median of some runs after a first one."""
    taken = []
    for _ in range(REPEATS + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(taken[1:])


def start(_: argparse.Namespace) -> Results:
    """Measure single servers in turn, and imports that Monograph's server needs."""
    load = os.getloadavg()[0]
    every = servers()
    for server in every:
        whole_start(server)  # This stores bytecode and caches pages of the files.
    rounds = [{server.name: whole_start(server) for server in every} for _ in range(REPEATS)]
    found = {
        server.name: {
            name: statistics.median(one[server.name][name] for one in rounds) for name in rounds[0][server.name]
        }
        for server in every
    }
    imports = {name: cpu_of(sys.executable, "-c", f"import {name}") for name in ("numpy", "mcp")}
    asked = [sys.executable, "-c", "import mcp; print(open('/proc/self/smaps_rollup').read(), end='')"]
    held = memory_of(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)
    return {"servers": found, "imports": imports, "mcp": held, "load": load}


@contextmanager
def crowd(server: Server) -> Iterator[tuple[list[Session], list[dict[str, float]]]]:
    """Yield sessions that were started together, after the first search of each, and the cost of each until then."""
    with ExitStack() as stack:
        running = [stack.enter_context(session(server)) for _ in range(SESSIONS)]
        for one in running:
            one.initialize()
        first = [one.received() for one in running]
        for one in running:
            one.initialized()
            one.search(WORD)
        searched = [one.received() for one in running]
        times = zip(running, first, searched, strict=True)
        yield running, [{"first": a, "searched": b, "cpu": one.cpu(), **one.memory()} for one, a, b in times]


def sessions(_: argparse.Namespace) -> Results:
    """Measure sessions that are started together on one file."""
    found = {}
    for server in servers():
        with crowd(server) as (running, measured):
            found[server.name] = {"each": measured, "processes": sum(len(one.processes()) for one in running)}
    return found


def idle(_: argparse.Namespace) -> Results:
    """Measure the sessions' work in a minute without requests."""
    found = {}
    for server in servers():
        with crowd(server) as (running, _):
            time.sleep(2.0)  # Until the work that follows an answer has ended.
            before = [(one.cpu(), one.wakes()) for one in running]
            time.sleep(MINUTE)
            after = [(one.cpu(), one.wakes()) for one in running]
            spent, woken = (sum(b[at] - a[at] for a, b in zip(before, after, strict=True)) for at in (0, 1))
            found[server.name] = {"cpu": spent, "wakes": woken}
    return found


def has_ended(process: int) -> bool:
    """Return whether an orphaned process is gone or a zombie."""
    try:
        return bool(psutil.Process(process).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def killed(_: argparse.Namespace) -> Results:
    """Measure how long servers keep running if clients are killed during the start or after the first answer."""
    return {
        server.name: {
            "while it starts": ends(server, answered=False),
            "after its first answer": ends(server, answered=True),
        }
        for server in servers()
    }


def ends(server: Server, *, answered: bool) -> dict[str, Any]:
    """Start clients together, kill them all, and wait until the servers have ended."""
    line = json.dumps({"jsonrpc": "2.0", "id": 1, **INITIALIZE}) + "\n"
    command = [sys.executable, "-c", CLIENT, line, *server.command]
    clients = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | server.environment)
        for _ in range(SESSIONS)
    ]
    started = []
    for one in clients:
        assert one.stdout is not None
        started.append(int(one.stdout.readline()))
        if answered:
            one.stdout.readline()
    for one in clients:
        one.kill()
    begun = time.perf_counter()
    left, after_limit = started, None
    while left and (waited := time.perf_counter() - begun) < PATIENCE_SECONDS:
        if waited >= LIMIT_SECONDS and after_limit is None:
            after_limit = len(left)
        time.sleep(0.02)
        left = [one for one in left if not has_ended(one)]
    last = time.perf_counter() - begun
    for one in left:
        os.kill(one, 9)
    for one in clients:
        one.communicate()
    return {"last": last, "after_limit": after_limit or 0, "left": len(left)}


def of_start(found: Results) -> list[str]:
    rows = [
        ("time to the first answer (`initialize`), s", "first", "{:.2f}"),
        ("time to the first search's answer, s", "searched", "{:.2f}"),
        ("processor time to the first search's answer, s", "cpu", "{:.2f}"),
        ("PSS after the first search, MB", "pss", "{:.0f}"),
    ]
    measured = found["servers"]
    cells = [[what, *(form.format(one[name]) for one in measured.values())] for what, name, form in rows]
    return [
        f"Figures are medians of {REPEATS} starts; less is better. Other programs caused a load average of "
        f"{found['load']:.1f}. Most of Monograph's start is the import of `mcp`, the MCP project's Python package: "
        f"{found['imports']['mcp']:.2f} s of processor time and {found['mcp']['pss']:.0f} MB (PSS).",
        table(["measure", *measured], cells),
    ]


def of_sessions(found: Results) -> list[str]:
    """Return a table of medians of times, and sums of processor time and memory."""
    rows = (
        ("time to the first answer, median, s", "first", "{:.2f}", statistics.median),
        ("time to the first search's answer, median, s", "searched", "{:.2f}", statistics.median),
        ("processor time to the first search's answer, sum, s", "cpu", "{:.2f}", sum),
        ("PSS after the first search, sum, MB", "pss", "{:.0f}", sum),
    )
    cells = [
        [what, *(form.format(total([each[key] for each in one["each"]])) for one in found.values())]
        for what, key, form, total in rows
    ]
    return [
        f"{SESSIONS} servers start at the same time on one file, and each searches once; less is better.",
        table(["measure", *found], cells),
    ]


def of_killed(found: Results) -> list[str]:
    moments = next(iter(found.values()))
    cells = [[name, *(ended(one[when]) for when in moments)] for name, one in found.items()]
    return [
        f"{SESSIONS} clients, each with its own server, are killed with `kill -9`. The table shows the seconds until "
        "all servers have ended; less is better.",
        table(["server", *(f"clients killed {when}, s" for when in moments)], cells),
    ]


def ended(one: Mapping[str, Any]) -> str:
    return f"{one['left']} still running after {PATIENCE_SECONDS:.0f}" if one["left"] else f"{one['last']:.1f}"


def of_idle(found: Results) -> list[str]:
    cells = [[name, f"{one['cpu']:.2f}", f"{one['wakes']:,}"] for name, one in found.items()]
    return [
        f"{SESSIONS} servers answer one search each, and then get no request for {MINUTE:.0f} seconds. The table "
        "shows their totals in these seconds; less is better.",
        table(["server", "processor time, s", "wake-ups of threads"], cells),
    ]


SECTIONS: dict[str, tuple[Callable[[argparse.Namespace], Results], str, Callable[[Any], list[str]]]] = {
    "start": (start, "Start", of_start),
    "sessions": (sessions, "Eight sessions on one file", of_sessions),
    "killed": (killed, "Clients that are killed", of_killed),
    "idle": (idle, "A minute without work", of_idle),
}
BESIDE = f"""

The file has {COUNT:,} passages. Monograph is compared with `{RIVAL}`, the memory server of the
MCP project, on Node.js. That server scans its file for the exact words; it has no vectors and no ranking.
*PSS* is a process's memory; a page that n processes share counts 1/n."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=SECTIONS, default=list(SECTIONS))
    options = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    jobs = {name: measured for name, (measured, _, _) in SECTIONS.items()}
    results = run_sections(jobs, options, CACHE / "results.json", "")
    headings = {name: (heading, made_of) for name, (_, heading, made_of) in SECTIONS.items()}
    for path in write_page(results, PAGE, "The server for agents, measured", headings, remark=NOISE + BESIDE):
        console.print(f"{path} written")


if __name__ == "__main__":
    main()
