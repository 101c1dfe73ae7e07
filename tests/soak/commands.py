"""The writing commands, each of which may be killed and run again, and what a file holds when one has come to its end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

from monograph import Limits, Monograph, Report, decrypt, encrypt
from monograph.errors import NotFound, WrongKey
from monograph.store.check import words
from monograph.store.documents import chunks, documents
from monograph.store.file import encryption, settings
from monograph.store.graph import graphs, names
from monograph.store.words import terms
from monograph.sync import watch as watching
from monograph.write import rebuild_graph
from monograph.write.pipeline import write
from soak.corpus import (
    CAPTAINS,
    EMBEDDERS,
    EXTRACTORS,
    KEY,
    PATTERNS,
    SUMMARIZERS,
    document,
    everybody,
    held,
    initials,
    opened,
    passages,
    text_of,
)
from soak.process import Tell
from soak.state import State, contents, differences


def nothing(*_: object) -> list[str]:
    """Nothing else is to be looked at."""
    return []


MOST_OWN = 30
"""Documents that are added one by one, above which more go than come."""


@dataclass(frozen=True, slots=True)
class Command:
    """A writing command that may be run again, and what the file holds when it has come to its end.

    One that ``erases`` leaves no trace in the bytes of what no document has any more. ``beside`` says what is wrong
    with another file that it writes, killed or not; ``beside_at_end`` when it has come to its end. Where it is not
    ``steady``, what comes from files may be gone on the way.
    """

    name: str
    work: Callable[[Monograph, Tell], object]
    after: State
    erases: bool = False
    steady: bool = True
    beside: Callable[[Path], list[str]] = nothing
    beside_at_end: Callable[[Path], list[str]] = nothing
    alone: Callable[[Path], None] | None = None
    """What it does in place of ``work``, where no one may have the file open."""

    def run(self, path: Path, tell: Tell) -> None:
        """Do it, with a file that is opened for it."""
        if self.alone is not None:
            self.alone(path)
            return
        with opened(path) as monograph:
            report = self.work(monograph, tell)
        assert not isinstance(report, Report) or not report.problems, report


@dataclass(slots=True)
class Life:
    """A file and its folder, what is known to be in them, and chance.

    Where others write into the file, too, all names begin with ``name``, and only ``captains`` are set apart.
    """

    path: Path
    chosen: Random
    state: State = field(default_factory=State)
    name: str = ""
    captains: tuple[str, ...] = CAPTAINS
    drafts: int = 1_000
    number: int = 0
    moved: int = 0

    @property
    def folder(self) -> Path:
        """The folder that is synced; its name stays the same wherever it lies."""
        return self.path.parent / f"place-{self.moved}" / f"{self.name}texts"

    @property
    def copy(self) -> Path:
        """The file that a backup makes."""
        return self.path.with_name(f"{self.name}copy.mono")

    def next(self, prefix: str) -> str:
        """A name that nothing has yet."""
        self.number += 1
        return f"{self.name}{prefix}{self.number}"

    def draft(self) -> int:
        """A draft by chance."""
        return self.chosen.randrange(self.drafts)

    def some(self, of: Mapping[str, Any], most: int) -> list[str]:
        """Some names by chance, at most so many."""
        return self.chosen.sample(sorted(of), min(len(of), self.chosen.randrange(most + 1)))


def first(life: Life) -> Command:
    """The file is made."""
    return Command("first add", lambda monograph, _: monograph.add([everybody()]), State())


def sync(life: Life) -> Command:
    """Files come, change and go; what is gone may be forgotten."""
    folder, after, forgotten = life.folder, _change_files(life), life.chosen.random() < 0.5
    name = "sync --forget" if forgotten else "sync"
    return Command(name, lambda monograph, _: monograph.sync(folder, forget=forgotten), after)


def _change_files(life: Life) -> State:
    files = dict(life.state.files)
    fresh = [f"{life.next('s')}.txt" for _ in range(life.chosen.randrange(1, 4))]
    drafts = {name: life.draft() for name in [*fresh, *life.some(files, 2)]}
    gone = life.some(files, 4) if len(files) > 6 else []
    _write(life.folder, drafts, gone)
    return replace(life.state, files={key: draft for key, draft in (files | drafts).items() if key not in gone})


def _write(folder: Path, drafts: Mapping[str, int], gone: list[str]) -> None:
    for name, draft in drafts.items():
        (folder / name).write_text(text_of(name, draft))
    for name in gone:
        (folder / name).unlink(missing_ok=True)


def watch(life: Life) -> Command:
    """Files change before and while a folder is watched."""
    folder = life.folder
    before = replace(life, state=_change_files(life))
    later = {f"{life.next('s')}.txt": life.draft()}
    after = replace(before.state, files=before.state.files | later)

    def work(monograph: Monograph, _: Tell) -> None:
        watching.QUIET_MS, watching.LONGEST_MS, watching.LOOK_MS = 10, 50, 100
        stop, begun = threading.Event(), threading.Event()

        def stored(monograph: Monograph) -> bool:
            try:
                return held(monograph) == after.texts()
            except NotFound:  # One went while they were read.
                return False

        def end(monograph: Monograph) -> None:
            begun.wait(0.05)
            _write(folder, later, [])
            while not stored(monograph) and not stop.wait(0.02):
                pass
            stop.set()

        ender = threading.Thread(target=end, args=(monograph,))
        ender.start()
        try:
            for event in monograph.files.watch(folder, stop=stop):
                assert event.kind not in ("failed", "away"), event
        finally:
            stop.set()
            ender.join()

    return Command("watch", work, after)


def retry(life: Life) -> Command:
    """A file is too large, and is read when it may be."""
    name, draft, folder = f"{life.next('s')}.txt", life.draft(), life.folder
    _write(folder, {name: draft}, [])
    narrow = Limits(max_bytes=max(1, (folder / name).stat().st_size - 1))

    def work(monograph: Monograph, _: Tell) -> None:
        monograph.sync(folder, limits=narrow)
        monograph.files.retry()
        monograph.sync(folder)

    return Command("retry", work, replace(life.state, files=life.state.files | {name: draft}))


def move(life: Life) -> Command:
    """A folder is moved, and its new place is told."""
    old = life.folder
    life.moved += 1
    new = life.folder
    new.parent.mkdir()
    old.rename(new)

    def work(monograph: Monograph, _: Tell) -> None:
        for root in monograph.files.sources():
            monograph.files.move(root.root, new)
        monograph.sync(new)

    return Command("sources --move", work, life.state)


def remove_root(life: Life) -> Command:
    """A folder is followed no longer, and forgotten; then it is followed again."""
    folder = life.folder

    def work(monograph: Monograph, _: Tell) -> None:
        for root in monograph.files.sources():
            monograph.files.remove(root.root, forget=True)
        monograph.sync(folder)
        monograph.compact()

    return Command("sources --remove", work, life.state, erases=True, steady=False)


def add(life: Life) -> Command:
    """Documents one by one, each acknowledged, then some together."""
    fresh = [life.next("a") for _ in range(life.chosen.randrange(1, 4))]
    drafts = {key: life.draft() for key in [*fresh, *life.some(life.state.own, 2)]}
    together = {life.next("a"): life.draft() for _ in range(life.chosen.choice((0, 0, 2, 12)))}

    def work(monograph: Monograph, tell: Tell) -> Report:
        for key, draft in drafts.items():
            report = monograph.add([document(key, draft)])
            assert report.added + report.changed + report.same == 1
            tell(key)
        report = monograph.add([document(key, draft) for key, draft in together.items()])
        for key in together:
            tell(key)
        return report

    return Command("add", work, replace(life.state, own=life.state.own | drafts | together))


def put(life: Life) -> Command:
    """Passages beside those that documents hold, or of new ones."""
    known = life.state.parts
    key = life.chosen.choice(sorted(known)) if known and life.chosen.random() < 0.6 else life.next("p")
    more = (life.chosen.randrange(10_000) for _ in range(life.chosen.randrange(1, 4)))
    parts = tuple(dict.fromkeys([*known.get(key, ()), *more]))

    def work(monograph: Monograph, tell: Tell) -> Report:
        report = monograph.put([passages(key, parts)])
        tell(key)
        return report

    return Command("put", work, replace(life.state, parts=known | {key: parts}))


def remove_chunks(life: Life) -> Command:
    """A passage of a document goes; with the last one the document."""
    known = life.state.parts
    if not known:
        return put(life)
    key = life.chosen.choice(sorted(known))
    gone = life.chosen.choice(known[key])
    left = tuple(part for part in known[key] if part != gone)
    after = {name: left if name == key else parts for name, parts in known.items() if left or name != key}
    state = replace(life.state, parts=after)
    return Command("remove_chunks", lambda monograph, _: monograph.remove_chunks([f"{key}.{gone}"]), state)


def remove(life: Life, *, forget: bool = False) -> Command:
    """Some documents go, or are forgotten."""
    own = life.state.own
    count = life.chosen.randrange(1, 4) + max(0, len(own) - MOST_OWN)
    gone = life.chosen.sample(sorted(own), min(len(own), count))
    after = replace(life.state, own={key: draft for key, draft in own.items() if key not in gone})

    def work(monograph: Monograph, _: Tell) -> Report | None:
        known = {one.id for one in monograph.documents()}
        left = [key for key in gone if key in known]
        if left:
            return monograph.remove(left, forget=forget)
        if forget:
            monograph.compact()  # What a forgetting that was cut off leaves to do.
        return None

    return Command("remove --forget" if forget else "remove", work, after, erases=forget)


def forget(life: Life) -> Command:
    """Some documents are forgotten."""
    return remove(life, forget=True)


def compact(life: Life) -> Command:
    """What nothing uses is dropped."""
    return Command("compact", lambda monograph, _: monograph.compact(), life.state, erases=True)


def rebuilt(life: Life, name: str, of: str, models: Mapping[str, Any], part: str) -> Command:
    """Another model, or the same again, with which a part of the archive is rebuilt; ``of`` names it in the state."""
    wanted = life.chosen.choice(sorted(models))
    changed: dict[str, Any] = {of: wanted}
    after = replace(life.state, **changed)
    return Command(name, lambda monograph, _: getattr(monograph, part).rebuild(models[wanted]), after)


def reembed(life: Life) -> Command:
    """Another embedder, or the same again."""
    return rebuilt(life, "reembed", "embedder", EMBEDDERS, "vectors")


def reextract(life: Life) -> Command:
    """Another extractor, or the same again."""
    return rebuilt(life, "reextract", "extractor", EXTRACTORS, "graph")


def build(life: Life) -> Command:
    """Half of the documents lose their part of the graph and their trigrams, and the graph is then built."""
    first = life.chosen.randrange(2)

    def work(monograph: Monograph, _: Tell) -> None:
        _owe(monograph, first)
        monograph.graph.build()

    return Command("build", work, life.state)


def _owe(monograph: Monograph, first: int) -> None:
    pipeline = monograph._file.writing_pipeline()
    with write(pipeline.database, pipeline.indexes) as connection:
        settings.save(connection, replace(monograph.settings, graph=False))
        rebuild_graph._note(connection, pipeline, rebuild_graph.UNDER_WAY)
        for row in documents.numbers(connection)[first::2]:
            uses = names.Uses()
            graphs.remove(connection, chunks.rows_of_document(connection, row), [row], uses)
            names.use(connection, uses)
            entries = list(words.entries_of(connection, row))
            held = terms.with_trigrams(connection, [one.chunk for one in entries])
            connection.executemany(
                "INSERT INTO trigrams (trigrams, rowid, text) VALUES ('delete', ?, ?)",
                [(one.chunk, terms.fold(one.text)) for one in entries if one.chunk in held],
            )


def resummarize(life: Life) -> Command:
    """A first tree, one of another summarizer, or the same again."""
    return rebuilt(life, "resummarize", "summarizer", SUMMARIZERS, "tree")


def keep_apart(life: Life) -> Command:
    """Two names are set apart, or two that are become one again."""
    if life.state.extractor != PATTERNS.key:
        return reextract(life)  # The other knows no names of several words.
    known = life.state.apart
    unite = bool(known) and life.chosen.random() < 0.5
    captain = life.chosen.choice(life.captains)
    pair = life.chosen.choice(sorted(known)) if unite else (captain, initials(captain))

    def work(monograph: Monograph, _: Tell) -> None:
        if not unite:
            monograph.graph.keep_apart(*pair)
            return
        try:
            monograph.graph.unite(*pair)
        except NotFound:
            assert known  # It was taken back before the kill.

    return Command(
        "unite" if unite else "keep_apart", work, replace(life.state, apart=known ^ {pair} if unite else known | {pair})
    )


def repair(life: Life) -> Command:
    """A sound file is mended."""

    def work(monograph: Monograph, _: Tell) -> None:
        assert monograph.check(repair=True) == []

    return Command("check --repair", work, life.state)


def backup(life: Life) -> Command:
    """A copy takes the place of an older one."""
    copy, wanted = life.copy, life.state.texts()
    for one in (*copy.parent.glob(f"{copy.name}*"), *copy.parent.glob(f".{copy.name}*")):
        one.unlink()  # An older copy, with what a kill left beside it.

    def whole(_: Path) -> list[str]:
        if not copy.exists():
            return []
        with opened(copy) as monograph:
            faults = [f"the copy: check: {one.table}: {one.fault}" for one in monograph.check()]
            return faults + ([] if held(monograph) == wanted else ["the copy holds other texts"])

    def there(path: Path) -> list[str]:
        if not copy.exists():
            return ["there is no copy"]
        with opened(path) as monograph, opened(copy) as other:
            return [f"the copy: {one}" for one in differences(contents(other), contents(monograph))]

    return Command(
        "backup",
        lambda monograph, _: monograph.backup(copy, overwrite=True),
        life.state,
        beside=whole,
        beside_at_end=there,
    )


def recrypt(life: Life) -> Command:
    """A plain file is encrypted, an encrypted one is made plain."""
    encrypted = encryption.may_be_encrypted(life.path)

    def work(path: Path) -> None:
        try:
            decrypt(path, KEY) if encrypted else encrypt(path, KEY)
        except WrongKey:
            assert encryption.may_be_encrypted(path) is not encrypted  # It was done before the kill.

    return Command("decrypt" if encrypted else "encrypt", nothing, life.state, alone=work)


COMMANDS: tuple[Callable[[Life], Command], ...] = (
    sync, add, put, remove, remove_chunks, forget, compact, reembed, reextract, build, resummarize, keep_apart, keep_apart, retry,
    move, remove_root, repair, backup,
)  # fmt: skip
if find_spec("watchfiles"):
    COMMANDS += (watch,)
if find_spec("sqlcipher3"):
    COMMANDS += (recrypt,)
