"""Who writes a shelf, so that a second writer is refused before it has worked in vain."""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from monograph.errors import ObjectDamaged, ObjectMissing, ShelfConflict
from monograph.shelf.versions.names import WRITERS
from monograph.shelf.versions.objects import Objects, put_alone

_NAME = re.compile(rf"{WRITERS}/([0-9]{{8}})\.(json|free)", re.ASCII)
_MOST_BYTES = 10_000
_KEPT = 10
"""Numbers behind the highest: where writers come and go while one looks, what it saw as free is still taken."""


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes.

    Parameters
    ----------
    user, host, process:
        Who, where, and the number of the process there.
    since:
        When it began, in seconds UTC by its clock.
    life:
        What tells this process from every other that may have had its number; empty where the system does not say.
    token:
        Chance, which no other writer has.
    """

    user: str
    host: str
    process: int
    since: int
    life: str
    token: str

    def __str__(self) -> str:
        began = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(self.since))
        return f"{self.user} on {self.host} (process {self.process}) since {began}"


@contextmanager
def writing(objects: Objects) -> Iterator[Writer]:
    """Be the one writer of a shelf, until left.

    A writer puts ``writers/00000001.json``, only if absent, and ends with ``writers/00000001.free``; the next puts
    00000002, and removes what is long before it. The highest number stays, so that none is given twice, and whoever put
    a number below the highest sees that when it looks again. It needs no more of a place than to put only if absent.

    That versions stay whole does not hang on it: a writer that was declared gone and is not is refused by
    :func:`monograph.shelf.versions.publish.publish`, as any other that comes too late.

    A writer that was killed is known to be gone by the next on the same machine; on another, :func:`release` says so.

    Raises
    ------
    ShelfConflict
        If another writer is at work: who and since when.
    ShelfUnreachable
        If the place does not answer.
    """
    me = _myself()
    number = _take(objects, me)
    try:
        yield me
    finally:
        objects.put_new(f"{WRITERS}/{number:08d}.free", b"")


def release(objects: Objects) -> Writer | None:
    """Declare that the writer at work is gone.

    Returns
    -------
    Who it was; None if there is none, or what it left says nothing.
    """
    newest, free = _newest(objects)
    if newest == 0 or free:
        return None
    known = _read(objects, newest)
    objects.put_new(f"{WRITERS}/{newest:08d}.free", b"")
    return known


def _take(objects: Objects, me: Writer) -> int:
    newest, free = _newest(objects)
    if newest and not free:
        holder = _read(objects, newest)
        if holder is None or not _gone(holder):
            raise _refused(objects, holder)
    number = newest + 1
    name, data = f"{WRITERS}/{number:08d}.json", json.dumps(asdict(me), indent=1).encode()
    if not put_alone(objects, name, data):
        raise _refused(objects, _read(objects, number))
    highest, _ = _newest(objects)
    if highest != number:
        raise _refused(objects, _read(objects, highest))
    objects.remove([name for name, other in _numbered(objects) if other < number - _KEPT])
    return number


def _numbered(objects: Objects) -> list[tuple[str, int]]:
    found = ((one.name, _NAME.fullmatch(one.name)) for one in objects.listed(WRITERS))
    return [(name, int(match[1])) for name, match in found if match]


def _newest(objects: Objects) -> tuple[int, bool]:
    """The highest number, 0 if there is none, and whether its writer has ended."""
    there = _numbered(objects)
    taken = [number for name, number in there if name.endswith(".json")]
    newest = max(taken, default=0)
    return newest, any(number == newest and name.endswith(".free") for name, number in there)


def _read(objects: Objects, number: int) -> Writer | None:
    try:
        said = json.loads(objects.read(f"{WRITERS}/{number:08d}.json", _MOST_BYTES))
        found = Writer(**said)
        kinds = ((found.user, str), (found.host, str), (found.process, int), (found.since, int), (found.life, str))
        if all(type(value) is kind for value, kind in kinds) and 0 <= found.since < 1 << 40:
            return found
    except (ObjectMissing, ObjectDamaged, ValueError, TypeError, RecursionError):
        pass
    return None


def _refused(objects: Objects, holder: Writer | None) -> ShelfConflict:
    return ShelfConflict(
        f"{objects.address} is being written by {holder or 'another writer'}",
        f"wait until it has ended; if it no longer runs, type: monograph shelf release {objects.address}",
    )


def _myself() -> Writer:
    import pwd  # Windows has none, and only writers ask.

    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = str(os.getuid())
    process = os.getpid()
    return Writer(user, socket.gethostname(), process, int(time.time()), _life(process), secrets.token_hex(16))


def _gone(writer: Writer) -> bool:
    """Whether a writer ran on this machine, among the processes that are seen from here, and runs no longer."""
    here, _, _ = _life(os.getpid()).rpartition(" ")
    there, _, _ = writer.life.rpartition(" ")
    if not here or here != there or writer.host != socket.gethostname():
        return False
    return _life(writer.process) != writer.life


def _life(process: int) -> str:
    """The start of the machine, which processes are seen, and when this one began; empty where Linux does not say.

    The last part is ``gone`` for a process that is not there, or has ended and is waited for.
    """
    try:
        start = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        seen = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""
    try:
        # The name of a program, in parentheses, may hold anything; 20 fields later stands when it began.
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        began = "gone" if fields[0] in ("Z", "X") else fields[19]
    except (OSError, IndexError):
        began = "gone"
    return f"{start} {seen} {began}"
