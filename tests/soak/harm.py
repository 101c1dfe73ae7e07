"""Harm: files of which bytes are changed, pages lost, the end cut off, or whose log is another's."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from random import Random

from monograph import Monograph, encrypt
from monograph.store.file.schema import PAGE_SIZE
from soak.corpus import KEY, SUMMARIZERS, opened
from soak.process import Outcome, Tell, apart
from soak.state import State

SECONDS = 60
"""For the making of one file."""

Texts = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Original:
    """A file that is to be damaged: its bytes by what is after its name (nothing, ``-wal``, ``-shm``), and the texts that it held after each of its commits, the newest last."""

    name: str
    data: Mapping[str, bytes]
    states: tuple[Texts, ...]


def originals(folder: Path) -> list[Original]:
    """Files that are closed, open with a log, and encrypted."""
    folder.mkdir(parents=True)
    found = [
        _read(apart(partial(_closed, folder / "closed.mono"), SECONDS)),
        _read(apart(partial(_with_log, folder / "log.mono"), SECONDS)),
    ]
    if find_spec("sqlcipher3"):
        found.append(_read(apart(partial(_encrypted, folder / "encrypted.mono"), SECONDS)))
    shutil.rmtree(folder)
    return found


def _read(outcome: Outcome) -> Original:
    if outcome.how != "done":
        raise RuntimeError(f"a file could not be made: {outcome.value}")
    name, data, states = outcome.value
    return Original(name, data, tuple(states))


def _bytes(path: Path) -> dict[str, bytes]:
    return {one.name[len(path.name) :]: one.read_bytes() for one in sorted(path.parent.glob(f"{path.name}*"))}


def _closed(path: Path, _: Tell) -> tuple[str, dict[str, bytes], list[Texts]]:
    state = State(
        own={f"a{number}": number for number in range(40)},
        parts={f"p{number}": (number, number + 50) for number in range(10)},
    )
    folder = path.with_suffix("")
    folder.mkdir()
    for number in range(20):
        (folder / f"s{number}.txt").write_text(State(own={f"s{number}": number}).texts()[f"s{number}"])
    with opened(path) as monograph:
        monograph.add(state.documents())
        monograph.sync(folder)
        monograph.tree.rebuild(SUMMARIZERS[min(SUMMARIZERS)])
        monograph.remove(["a3"])
        texts = _texts(monograph)
    return "closed", _bytes(path), [texts]


def _with_log(path: Path, _: Tell) -> tuple[str, dict[str, bytes], list[Texts]]:
    _closed(path, _)
    states: list[Texts] = []
    with opened(path) as monograph:
        connection = monograph._file.database.connection()
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        states.append(_texts(monograph))
        for number in range(50, 53):
            monograph.add(State(own={f"a{number}": number}).documents()[1:])
            states.append(_texts(monograph))
            if number % 2:
                monograph.remove([f"a{number - 40}"])
                states.append(_texts(monograph))
        data = {suffix: Path(f"{path}{suffix}").read_bytes() for suffix in ("", "-wal", "-shm")}
    return "with a log", data, states


def _encrypted(path: Path, tell: Tell) -> tuple[str, dict[str, bytes], list[Texts]]:
    _, _, states = _closed(path, tell)
    encrypt(path, KEY)
    return "encrypted", {"": path.read_bytes()}, states


def _texts(monograph: Monograph) -> dict[str, str]:
    return {one.id: monograph.document(one.id).text for one in monograph.documents()}


def flip(data: bytearray, chosen: Random) -> None:
    """Up to 20 bytes are changed, anywhere."""
    for _ in range(chosen.choice((1, 1, 2, 5, 20))):
        place = chosen.randrange(len(data))
        data[place] ^= chosen.choice((1 << chosen.randrange(8), chosen.randrange(1, 256)))


def misspell(data: bytearray, chosen: Random) -> None:
    """A letter of some text is another, where the bytes show any."""
    words = list(re.finditer(rb"[A-Za-z]{4,} [a-z]{2,} [A-Za-z]{2,}", data))
    if not words:
        return flip(data, chosen)
    place = chosen.randrange(*chosen.choice(words).span())
    data[place] ^= 1 << chosen.randrange(5)
    return None


def flip_near(data: bytearray, chosen: Random) -> None:
    """Some bytes are changed that lie together."""
    place = chosen.randrange(len(data))
    for offset in range(chosen.randrange(2, 200)):
        data[(place + offset) % len(data)] = chosen.randrange(256)


def zero(data: bytearray, chosen: Random) -> None:
    """Pages are all zeros."""
    for _ in range(chosen.choice((1, 1, 2, 5))):
        start = chosen.randrange(0, len(data), PAGE_SIZE)
        data[start : start + PAGE_SIZE] = bytes(len(data[start : start + PAGE_SIZE]))


def noise(data: bytearray, chosen: Random) -> None:
    """A page is noise."""
    start = chosen.randrange(0, len(data), PAGE_SIZE)
    data[start : start + PAGE_SIZE] = chosen.randbytes(len(data[start : start + PAGE_SIZE]))


def exchange(data: bytearray, chosen: Random) -> None:
    """A page is a copy of another, or two have changed places."""
    one, other = (chosen.randrange(0, len(data), PAGE_SIZE) for _ in range(2))
    pages = bytes(data[one : one + PAGE_SIZE]), bytes(data[other : other + PAGE_SIZE])
    if len(pages[0]) == len(pages[1]):
        data[other : other + PAGE_SIZE] = pages[0]
        if chosen.random() < 0.5:
            data[one : one + PAGE_SIZE] = pages[1]


def cut(data: bytearray, chosen: Random) -> None:
    """The end is cut off, at any byte or between pages."""
    end = chosen.randrange(len(data))
    del data[end // PAGE_SIZE * PAGE_SIZE if chosen.random() < 0.5 else end :]


def header(data: bytearray, chosen: Random) -> None:
    """A part of the first hundred bytes is changed."""
    place = chosen.randrange(100)
    for offset in range(chosen.choice((1, 1, 2, 4))):
        data[(place + offset) % 100 % len(data)] = chosen.choice((0, 1, 255, chosen.randrange(256)))


def grow(data: bytearray, chosen: Random) -> None:
    """There is more behind the end."""
    data += chosen.randbytes(chosen.choice((1, 100, PAGE_SIZE, 3 * PAGE_SIZE)))


Change = Callable[[bytearray, Random], None]
TO_FILE: dict[str, Change] = {
    "bytes changed": flip, "a letter changed": misspell, "bytes changed together": flip_near, "pages zeroed": zero, "a page of noise": noise,
    "pages exchanged": exchange, "cut off": cut, "header changed": header, "grown": grow,
}  # fmt: skip
TO_LOG: dict[str, Change] = {
    "bytes changed": flip,
    "pages zeroed": zero,
    "cut off": cut,
    "grown": grow,
    "a page of noise": noise,
}


@dataclass(frozen=True, slots=True)
class Damaged:
    """A damaged file: what was done to it, and what its texts may be; ``foreign`` ones are of the log's own file."""

    original: Original
    what: str
    data: Mapping[str, bytes | bytearray]
    foreign: tuple[Texts, ...] = ()


def damaged(known: list[Original], chosen: Random) -> Damaged:
    """One of the files, damaged by chance."""
    original = chosen.choice(known)
    data = {suffix: bytearray(one) for suffix, one in original.data.items()}
    logged = [one for one in known if "-wal" in one.data]
    kind = chosen.random()
    if "-wal" in data and kind < 0.6:
        suffix = chosen.choice(("-wal", "-wal", "-shm"))
        what = chosen.choice(sorted(TO_LOG))
        TO_LOG[what](data[suffix], chosen)
        return Damaged(original, f"in {suffix}: {what}", data)
    if "-wal" not in data and kind < 0.1:
        other = chosen.choice(logged)
        some = chosen.choice((("-wal",), ("-shm",), ("-wal", "-shm")))
        data |= {suffix: bytearray(other.data[suffix]) for suffix in some}
        return Damaged(original, f"{' and '.join(some)} of another file", data, other.states)
    what = chosen.choice(sorted(TO_FILE))
    TO_FILE[what](data[""], chosen)
    return Damaged(original, what, data)
