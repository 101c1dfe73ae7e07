"""Damage: files of which bytes were changed, pages lost, the end cut off, or whose log is another's.

Whatever is asked of such a file, it answers or says in an error of ours what is wrong. What it answers is what was
stored; and what it holds no more it does not pass over in silence.
"""

from __future__ import annotations

import re
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from random import Random

from monograph import Monograph, encrypt
from monograph.errors import DamageWarning, MonographError, NotFound
from monograph.store.schema import PAGE_SIZE
from soak.commands import OLD_FILES
from soak.corpus import KEY, SUMMARIZERS, opened
from soak.plant import Alter
from soak.process import Outcome, Tell, apart
from soak.state import HOWS, QUESTIONS, State
from soak.tally import Fault, Tally

SECONDS = 60
"""For all that is asked of one file."""

_OLD = {one.stem for one in OLD_FILES}
_UNSEALED = {"synced-format-4"}
Texts = Mapping[str, str]
Data = dict[str, bytearray]
"""The bytes of a file, by what is after its name: nothing, -wal, -shm."""


@dataclass(frozen=True, slots=True)
class Original:
    """A file that is damaged: its bytes, and the texts that it held after each of its commits, the newest last.

    One that is not ``sealed`` is of a format without checksums: nothing tells that a letter of it was another."""

    name: str
    data: Mapping[str, bytes]
    states: tuple[Texts, ...]
    sealed: bool = True


def originals(folder: Path) -> list[Original]:
    """Files that are closed, open with a log, encrypted, and old."""
    folder.mkdir(parents=True)
    found = [_read(apart(partial(_closed, folder / "closed.mono"), SECONDS)), _read(apart(partial(_with_log, folder / "log.mono"), SECONDS))]
    if find_spec("sqlcipher3"):
        found.append(_read(apart(partial(_encrypted, folder / "encrypted.mono"), SECONDS)))
    found += [_read(apart(partial(_old, folder / one.name, one), SECONDS)) for one in OLD_FILES[-2:]]
    shutil.rmtree(folder)
    return found


def _read(outcome: Outcome) -> Original:
    if outcome.how != "done":
        raise RuntimeError(f"a file could not be made: {outcome.value}")
    name, data, states = outcome.value
    return Original(name, data, tuple(states), sealed=name not in _UNSEALED)


def _bytes(path: Path) -> dict[str, bytes]:
    return {one.name[len(path.name) :]: one.read_bytes() for one in sorted(path.parent.glob(f"{path.name}*"))}


def _closed(path: Path, _: Tell) -> tuple[str, dict[str, bytes], list[Texts]]:
    state = State(own={f"a{number}": number for number in range(40)}, parts={f"p{number}": (number, number + 50) for number in range(10)})
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
    states = []
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


def _old(path: Path, source: Path, _: Tell) -> tuple[str, dict[str, bytes], list[Texts]]:
    shutil.copy(source, path)
    data = {"": path.read_bytes()}
    with Monograph.open(path) as monograph:
        return source.stem, data, [_texts(monograph)]


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
TO_LOG: dict[str, Change] = {"bytes changed": flip, "pages zeroed": zero, "cut off": cut, "grown": grow, "a page of noise": noise}


@dataclass(frozen=True, slots=True)
class Damaged:
    """A damaged file: what was done to it, and what its texts may be; ``foreign`` ones are of the log's own file."""

    original: Original
    what: str
    data: Mapping[str, bytes]
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


@dataclass(slots=True)
class Seen:
    """What a file answered: the texts and passages of documents by id, and all that was refused, warned of and found."""

    texts: dict[str, str] = field(default_factory=dict)
    chunks: dict[str, list[str]] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)


def ask(path: Path, original: Original, tell: Tell, *, mend: bool) -> None:
    """Ask everything of a file, telling of each answer."""
    tell("open")
    with opened(path) if original.name not in _OLD else Monograph.open(path) as monograph:
        tell(("seen", look(monograph, original.states, tell)))
        if mend:
            tell("check --repair")
            left = said_of(lambda: [f"{one.table}: {one.fault}" for one in monograph.check(repair=True)])
            tell(("repaired", left))
            tell(("seen", look(monograph, original.states, tell)))




def said_of(check: Callable[[], list[str]]) -> list[str]:
    """What a check finds, or the error of ours that it ends with."""
    try:
        return check()
    except MonographError as error:
        return [f"{type(error).__name__}: {error}"]


def look(monograph: Monograph, states: tuple[Texts, ...], tell: Tell) -> Seen:
    """Read, search, count and check."""
    seen = Seen()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for name, part in _parts(monograph, states, seen):
            tell(name)
            try:
                part()
            except MonographError as error:
                seen.said.append(f"{name}: {type(error).__name__}: {error}")
        seen.said += [f"warned: {one.message}" for one in warned if issubclass(one.category, DamageWarning)]
    return seen


def _parts(monograph: Monograph, states: tuple[Texts, ...], seen: Seen) -> Iterator[tuple[str, Callable[[], None]]]:
    def texts() -> None:
        for one in monograph.documents():
            try:
                seen.texts[one.id] = monograph.document(one.id).text
            except MonographError as error:
                seen.said.append(f"document {one.id}: {error}")

    def by_name() -> None:
        for name in states[-1].keys() - seen.texts.keys():
            try:
                seen.texts[name] = monograph.document(name).text
            except NotFound:
                pass
            except MonographError as error:
                seen.said.append(f"document {name}: {error}")

    def chunks() -> None:
        for one in monograph.fetch(vectors=True):
            seen.chunks.setdefault(one.chunk.document_id, []).append(one.chunk.text)

    def find(how: str) -> None:
        if how != "tree" or monograph.stats().tree is not None:
            for hit in monograph.search(QUESTIONS[0], 5, how):
                if hit.chunk.document_id:
                    seen.chunks.setdefault(hit.chunk.document_id, []).append(hit.chunk.text)

    def check() -> None:
        seen.said += [f"check: {one.table}: {one.fault}" for one in monograph.check()]

    yield "stats", lambda: str(monograph.stats()) and None
    yield "documents", texts
    yield "document", by_name
    yield "chunks", chunks
    for how in HOWS:
        yield f"search {how}", partial(find, how)
    yield "entities", lambda: monograph.graph.entities() and None
    yield "outline", lambda: monograph.stats().tree and monograph.tree.outline() and None
    yield "check", check


def case(folder: Path, known: list[Original], seed: int, number: int, alter: Alter | None = None) -> Tally:
    """Damage a file, ask everything of it, mend it, and ask again.

    Parameters
    ----------
    folder:
        Where the file lies; nothing is left of it but after a fault.
    known:
        Files to be damaged.
    seed, number:
        What all chance is made of.
    alter:
        Changes the file behind its back in place of damage: to show that this is found.
    """
    tally, place = Tally(), folder / f"damaged-{number}"
    place.mkdir(parents=True)
    path = place / "x.mono"
    made = damaged(known, Random(f"{seed}/{number}"))
    if alter is not None:
        made = Damaged(known[0], "altered", known[0].data)
    for suffix, data in made.data.items():
        Path(f"{path}{suffix}").write_bytes(data)
    if alter is not None:
        alter(path)
    outcome = apart(partial(_asked, path, made), SECONDS)
    faults = list(_wrong(path, made, outcome))
    tally.count(made.what, _ended(outcome))
    if faults:
        where = f"damage: seed {seed}, file {number}, {made.original.name}, {made.what} (it is kept: {place})"
        tally.faults.append(Fault(where, "; ".join(faults), f"damage --seed {seed} --file {number}"))
    else:
        shutil.rmtree(place)
    return tally


def _asked(path: Path, made: Damaged, tell: Tell) -> None:
    ask(path, made.original, tell, mend=True)


def _ended(outcome: Outcome) -> str:
    if outcome.how != "done":
        return "refused" if outcome.how == "refused" else outcome.how
    before, after = (said[1] for said in outcome.said if said[0] == "seen")
    if not before.said:
        return "unharmed"
    return "mended" if not after.said else "reported"


def _wrong(path: Path, made: Damaged, outcome: Outcome) -> Iterator[str]:
    """What may not be."""
    if outcome.how not in ("done", "refused"):
        doing = next((said for said in reversed(outcome.said) if isinstance(said, str)), "nothing")
        yield f"at {doing}: {outcome.how}: {outcome.value}"
    if outcome.how == "refused" and len(made.data) == 1 and path.read_bytes() != made.data[""]:
        yield f"it was refused ({outcome.value}), and changed"
    looks = [said[1] for said in outcome.said if said[0] == "seen"]
    for seen, when in zip(looks, ("", " once mended"), strict=False):
        yield from (f"{fault}{when}" for fault in _unlike(seen, made, told=bool(looks[0].said)))
    if len(looks) == 2:
        lost = [name for name, text in looks[0].texts.items() if looks[1].texts.get(name, "") != text]
        if lost:
            yield f"could be read before it was mended, and not after: {lost}"


def _unlike(seen: Seen, made: Damaged, *, told: bool) -> Iterator[str]:
    """Texts that are others than were stored, and texts that are gone, of which nothing is said.

    ``told`` is whether anything was, now or before the file was mended: what a mending could not save is gone then.
    """
    states = made.original.states + made.foreign
    if not seen.said and made.original.sealed:
        other = {name for name, text in seen.texts.items() if all(one.get(name) != text for one in states)}
        other |= {
            name for name, texts in seen.chunks.items() for text in texts
            if all(text not in one.get(name, "") for one in states)
        }  # fmt: skip
        if other:
            yield f"other texts than were stored, and not a word of it: {sorted(other)}"
    gone = {name for one in states for name in one} - seen.texts.keys()
    if not told and not any(seen.texts.keys() == one.keys() for one in states):
        yield f"gone without a word: {sorted(gone)}"


def run(
    folder: Path, known: list[Original], seed: int, numbers: Sequence[int], alter: Alter | None, tell: Tell
) -> Tally:
    """Some damaged files, one after the other."""
    tally = Tally()
    for number in numbers:
        tally.include(case(folder, known, seed, number, alter))
        tell(number)
    return tally
