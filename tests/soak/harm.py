"""Damage to files: changed bytes, lost pages, a cut-off end, or the log of another file."""

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
from soak import process
from soak.corpus import KEY, SUMMARIZERS, open_file, text_of
from soak.process import Tell
from soak.state import State

Texts = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Original:
    """File before it is damaged: its bytes by suffix (empty, ``-wal``, ``-shm``), and its texts after each commit."""

    name: str
    data: Mapping[str, bytes]
    states: tuple[Texts, ...]


@dataclass(frozen=True, slots=True)
class Damaged:
    """Damaged file. ``what`` describes the damage; ``foreign`` has the texts of the other file that its log is from."""

    original: Original
    what: str
    data: Mapping[str, bytes | bytearray]
    foreign: tuple[Texts, ...] = ()


def originals(folder: Path) -> list[Original]:
    """Return a closed file, an open file with a log, and an encrypted file."""
    folder.mkdir(parents=True)
    kinds = ["closed", "with a log", *(["encrypted"] if find_spec("sqlcipher3") else [])]
    found = [process.run(partial(_original, folder / f"{kind}.mono", kind)).result() for kind in kinds]
    shutil.rmtree(folder)
    return found


def _original(path: Path, kind: str, _: Tell) -> Original:
    state = State(
        own={f"a{number}": number for number in range(40)},
        parts={f"p{number}": (number, number + 50) for number in range(10)},
    )
    folder = path.with_suffix("")
    folder.mkdir()
    for number in range(20):
        (folder / f"s{number}.txt").write_text(text_of(f"s{number}", number))
    with open_file(path) as monograph:
        monograph.add(state.documents())
        monograph.sync(folder)
        monograph.tree.rebuild(SUMMARIZERS[min(SUMMARIZERS)])
        monograph.remove(["a3"])
        states = [_texts_by_id(monograph)]
    if kind == "encrypted":
        encrypt(path, KEY)
    if kind != "with a log":
        return Original(kind, {"": path.read_bytes()}, tuple(states))
    with open_file(path) as monograph:
        monograph._file.database.connection().execute("PRAGMA wal_autocheckpoint = 0")
        for number in range(50, 53):
            monograph.add(State(own={f"a{number}": number}).documents()[1:])
            states.append(_texts_by_id(monograph))
            if number % 2:
                monograph.remove([f"a{number - 40}"])
                states.append(_texts_by_id(monograph))
        data = {suffix: Path(f"{path}{suffix}").read_bytes() for suffix in ("", "-wal", "-shm")}
    return Original(kind, data, tuple(states))


def _texts_by_id(monograph: Monograph) -> Texts:
    return {listed.id: monograph.document(listed.id).text for listed in monograph.documents()}


def flip(data: bytearray, chosen: Random) -> None:
    """Change up to 20 bytes anywhere."""
    for _ in range(chosen.choice((1, 1, 2, 5, 20))):
        place = chosen.randrange(len(data))
        data[place] ^= chosen.choice((1 << chosen.randrange(8), chosen.randrange(1, 256)))


def misspell(data: bytearray, chosen: Random) -> None:
    """Change a letter of a text, or any bytes if no text is readable."""
    words = list(re.finditer(rb"[A-Za-z]{4,} [a-z]{2,} [A-Za-z]{2,}", data))
    if words:
        data[chosen.randrange(*chosen.choice(words).span())] ^= 1 << chosen.randrange(5)
    else:
        flip(data, chosen)


def flip_near(data: bytearray, chosen: Random) -> None:
    """Change adjacent bytes."""
    place = chosen.randrange(len(data))
    for offset in range(chosen.randrange(2, 200)):
        data[(place + offset) % len(data)] = chosen.randrange(256)


def zero(data: bytearray, chosen: Random) -> None:
    """Fill pages with zeros."""
    for _ in range(chosen.choice((1, 1, 2, 5))):
        start = chosen.randrange(0, len(data), PAGE_SIZE)
        data[start : start + PAGE_SIZE] = bytes(len(data[start : start + PAGE_SIZE]))


def noise(data: bytearray, chosen: Random) -> None:
    """Fill a page with random bytes."""
    start = chosen.randrange(0, len(data), PAGE_SIZE)
    data[start : start + PAGE_SIZE] = chosen.randbytes(len(data[start : start + PAGE_SIZE]))


def exchange(data: bytearray, chosen: Random) -> None:
    """Copy a page over another, or exchange the two."""
    here, there = (chosen.randrange(0, len(data), PAGE_SIZE) for _ in range(2))
    pages = bytes(data[here : here + PAGE_SIZE]), bytes(data[there : there + PAGE_SIZE])
    if len(pages[0]) == len(pages[1]):
        data[there : there + PAGE_SIZE] = pages[0]
        if chosen.random() < 0.5:
            data[here : here + PAGE_SIZE] = pages[1]


def cut(data: bytearray, chosen: Random) -> None:
    """Cut off the end, at any byte or at a page boundary."""
    end = chosen.randrange(len(data))
    del data[end // PAGE_SIZE * PAGE_SIZE if chosen.random() < 0.5 else end :]


def header(data: bytearray, chosen: Random) -> None:
    """Change some of the first hundred bytes."""
    place = chosen.randrange(100)
    for offset in range(chosen.choice((1, 1, 2, 4))):
        data[(place + offset) % 100 % len(data)] = chosen.choice((0, 1, 255, chosen.randrange(256)))


def grow(data: bytearray, chosen: Random) -> None:
    data += chosen.randbytes(chosen.choice((1, 100, PAGE_SIZE, 3 * PAGE_SIZE)))


Change = Callable[[bytearray, Random], None]
TO_LOG: dict[str, Change] = {
    "bytes changed": flip, "pages zeroed": zero, "cut off": cut, "grown": grow, "a page of noise": noise,
}  # fmt: skip
TO_FILE: dict[str, Change] = TO_LOG | {
    "a letter changed": misspell, "bytes changed together": flip_near, "pages exchanged": exchange, "header changed": header,
}  # fmt: skip


def damage(known: list[Original], chosen: Random) -> Damaged:
    """Return a random file with random damage."""
    original = chosen.choice(known)
    data = {suffix: bytearray(part) for suffix, part in original.data.items()}
    kind = chosen.random()
    if "-wal" in data and kind < 0.6:
        suffix = chosen.choice(("-wal", "-wal", "-shm"))
        what = chosen.choice(sorted(TO_LOG))
        TO_LOG[what](data[suffix], chosen)
        return Damaged(original, f"in {suffix}: {what}", data)
    if "-wal" not in data and kind < 0.1:
        other = next(file for file in known if "-wal" in file.data)
        suffixes = chosen.choice((("-wal",), ("-shm",), ("-wal", "-shm")))
        data |= {suffix: bytearray(other.data[suffix]) for suffix in suffixes}
        return Damaged(original, f"{' and '.join(suffixes)} of another file", data, other.states)
    what = chosen.choice(sorted(TO_FILE))
    TO_FILE[what](data[""], chosen)
    return Damaged(original, what, data)
