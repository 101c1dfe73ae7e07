"""Writing commands, which may be killed and run again, and the state of the file after each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
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
from soak import process
from soak.corpus import (
    CAPTAINS,
    EMBEDDERS,
    EXTRACTORS,
    KEY,
    PATTERNS,
    SUMMARIZERS,
    document,
    everybody,
    initials,
    open_file,
    passages,
    stored_texts,
    text_of,
)
from soak.process import Tell
from soak.state import State, contents, differences

MOST_OWN = 30
"""Number of documents added by id, above which more are removed than added."""


def _no_faults(ended: bool) -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class Command:
    """Writing command that may be run again, and the state of the file after it.

    If ``erases``, no removed text remains in the bytes of the file. ``gone_midway`` has documents that may be absent
    while the command runs. ``other_faults`` takes whether the command has ended, and returns the faults of another file
    that it writes. ``alone`` replaces ``work`` for commands during which the file must not be open.
    """

    name: str
    work: Callable[[Monograph, Tell], object]
    after: State
    erases: bool = False
    gone_midway: frozenset[str] = frozenset()
    other_faults: Callable[[bool], list[str]] = _no_faults
    alone: Callable[[Path], None] | None = None

    def run(self, path: Path, tell: Tell) -> None:
        """Open the file and run the command."""
        if self.alone is not None:
            self.alone(path)
            return
        with open_file(path) as monograph:
            report = self.work(monograph, tell)
        assert not isinstance(report, Report) or not report.problems, report


@dataclass(slots=True)
class Life:
    """File and its folder, their expected state, and the random generator for commands on them.

    If other processes write into the file too, all names begin with ``name``, and only ``captains`` are kept apart.
    """

    path: Path
    chosen: Random
    state: State = field(default_factory=State)
    name: str = ""
    captains: tuple[str, ...] = CAPTAINS
    drafts: int = 1_000
    number: int = 0
    moved: int = 0

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)

    @property
    def folder(self) -> Path:
        """The folder that is synced; its name stays the same when it is moved."""
        return self.path.parent / f"place-{self.moved}" / f"{self.name}texts"

    @property
    def copy(self) -> Path:
        """The file that a backup writes."""
        return self.path.with_name(f"{self.name}copy.mono")

    def new_name(self, prefix: str) -> str:
        """Return an unused name."""
        self.number += 1
        return f"{self.name}{prefix}{self.number}"

    def draft(self) -> int:
        """Return a random draft number."""
        return self.chosen.randrange(self.drafts)

    def sample(self, names: Iterable[str], most: int) -> list[str]:
        """Return at most ``most`` random names."""
        listed = sorted(names)
        return self.chosen.sample(listed, min(len(listed), self.chosen.randrange(most + 1)))


def plant_fault(path: Path) -> None:
    """Remove a document that the expected state has. The tables stay consistent, but the soak must report it."""

    def work(_: Tell) -> None:
        with open_file(path) as monograph:
            if any(listed.id == everybody().id for listed in monograph.documents()):
                monograph.remove([everybody().id])

    process.run(work).result()


def create(life: Life) -> Command:
    return Command("first add", lambda monograph, _: monograph.add([everybody()]), State())


def sync(life: Life) -> Command:
    """Sync added, changed and deleted files; deleted ones may be forgotten."""
    folder, after, forgotten = life.folder, _change_files(life), life.chosen.random() < 0.5
    name = "sync --forget" if forgotten else "sync"
    return Command(name, lambda monograph, _: monograph.sync(folder, forget=forgotten), after)


def _change_files(life: Life) -> State:
    known = life.state.files
    added = [f"{life.new_name('s')}.txt" for _ in range(life.chosen.randrange(1, 4))]
    drafts = {name: life.draft() for name in [*added, *life.sample(known, 2)]}
    deleted = life.sample(known, 4) if len(known) > 6 else []
    _write(life.folder, drafts)
    for name in deleted:
        (life.folder / name).unlink()
    return replace(life.state, files={name: draft for name, draft in (known | drafts).items() if name not in deleted})


def _write(folder: Path, drafts: Mapping[str, int]) -> None:
    for name, draft in drafts.items():
        (folder / name).write_text(text_of(name, draft))


def watch(life: Life) -> Command:
    """Watch a folder whose files change before and during the watch."""
    folder, before = life.folder, _change_files(life)
    later = {f"{life.new_name('s')}.txt": life.draft()}
    after = replace(before, files=before.files | later)

    def work(monograph: Monograph, _: Tell) -> None:
        watching.QUIET_MS, watching.LONGEST_MS, watching.LOOK_MS = 10, 50, 100
        stop = threading.Event()

        def is_stored() -> bool:
            try:
                return stored_texts(monograph) == after.texts()
            except NotFound:  # A document was removed after the list was read.
                return False

        def end() -> None:
            stop.wait(0.05)
            _write(folder, later)
            while not is_stored() and not stop.wait(0.02):
                pass
            stop.set()

        ender = threading.Thread(target=end)
        ender.start()
        try:
            for event in monograph.files.watch(folder, stop=stop):
                assert event.kind not in ("failed", "away"), event
        finally:
            stop.set()
            ender.join()

    return Command("watch", work, after)


def retry(life: Life) -> Command:
    """Sync with a limit that a new file exceeds, then read the file with the default limit."""
    name, draft, folder = f"{life.new_name('s')}.txt", life.draft(), life.folder
    _write(folder, {name: draft})
    narrow = Limits(max_bytes=max(1, (folder / name).stat().st_size - 1))

    def work(monograph: Monograph, _: Tell) -> None:
        monograph.sync(folder, limits=narrow)
        monograph.files.retry()
        monograph.sync(folder)

    return Command("retry", work, replace(life.state, files=life.state.files | {name: draft}))


def move(life: Life) -> Command:
    """Move a folder, and record its new path."""
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
    """Forget a folder, then sync it again."""
    folder = life.folder

    def work(monograph: Monograph, _: Tell) -> None:
        for root in monograph.files.sources():
            monograph.files.remove(root.root, forget=True)
        monograph.sync(folder)
        monograph.compact()

    return Command("sources --remove", work, life.state, erases=True, gone_midway=frozenset(life.state.files))


def add(life: Life) -> Command:
    """Add documents one by one, each acknowledged, then several together."""
    added = [life.new_name("a") for _ in range(life.chosen.randrange(1, 4))]
    drafts = {key: life.draft() for key in [*added, *life.sample(life.state.own, 2)]}
    together = {life.new_name("a"): life.draft() for _ in range(life.chosen.choice((0, 0, 2, 12)))}

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
    """Put passages into a known document or a new one."""
    known = life.state.parts
    key = life.chosen.choice(sorted(known)) if known and life.chosen.random() < 0.6 else life.new_name("p")
    more = (life.chosen.randrange(10_000) for _ in range(life.chosen.randrange(1, 4)))
    parts = tuple(dict.fromkeys([*known.get(key, ()), *more]))

    def work(monograph: Monograph, tell: Tell) -> Report:
        report = monograph.put([passages(key, parts)])
        tell(key)
        return report

    return Command("put", work, replace(life.state, parts=known | {key: parts}))


def remove_chunks(life: Life) -> Command:
    """Remove a passage of a document; removal of the last one removes the document."""
    known = life.state.parts
    if not known:
        return put(life)
    key = life.chosen.choice(sorted(known))
    removed = life.chosen.choice(known[key])
    parts = known | {key: tuple(part for part in known[key] if part != removed)}
    after = replace(life.state, parts={name: left for name, left in parts.items() if left})
    return Command("remove_chunks", lambda monograph, _: monograph.remove_chunks([f"{key}.{removed}"]), after)


def remove(life: Life, *, forget: bool = False) -> Command:
    """Remove some documents."""
    own = life.state.own
    count = life.chosen.randrange(1, 4) + max(0, len(own) - MOST_OWN)
    removed = life.chosen.sample(sorted(own), min(len(own), count))
    after = replace(life.state, own={key: draft for key, draft in own.items() if key not in removed})

    def work(monograph: Monograph, _: Tell) -> Report | None:
        known = {listed.id for listed in monograph.documents()}
        left = [key for key in removed if key in known]
        if left:
            return monograph.remove(left, forget=forget)
        if forget:
            monograph.compact()  # Erases what a killed forget left behind.
        return None

    return Command("remove --forget" if forget else "remove", work, after, erases=forget)


def forget(life: Life) -> Command:
    return remove(life, forget=True)


def compact(life: Life) -> Command:
    return Command("compact", lambda monograph, _: monograph.compact(), life.state, erases=True)


def _rebuild(life: Life, name: str, field: str, models: Mapping[str, Any], part: str) -> Command:
    """Rebuild a part of the archive with a random model; ``field`` of the state has the model's key."""
    model = life.chosen.choice(sorted(models))
    changed: dict[str, Any] = {field: model}
    after = replace(life.state, **changed)
    return Command(name, lambda monograph, _: getattr(monograph, part).rebuild(models[model]), after)


def reembed(life: Life) -> Command:
    """Rebuild vectors with another embedder or the same."""
    return _rebuild(life, "reembed", "embedder", EMBEDDERS, "vectors")


def reextract(life: Life) -> Command:
    """Rebuild the graph with another extractor or the same."""
    return _rebuild(life, "reextract", "extractor", EXTRACTORS, "graph")


def resummarize(life: Life) -> Command:
    """Build the tree, with another summarizer or the same."""
    return _rebuild(life, "resummarize", "summarizer", SUMMARIZERS, "tree")


def resummarize_alike(life: Life) -> Command:
    """Rebuild the tree with the same summarizer."""
    model = life.state.summarizer
    return _rebuild(life, "resummarize", "summarizer", {model: SUMMARIZERS[model]}, "tree")


def build(life: Life) -> Command:
    """Remove the graph and trigrams of half of the documents, then build the graph."""
    first = life.chosen.randrange(2)

    def work(monograph: Monograph, _: Tell) -> None:
        pipeline = monograph._file.writing_pipeline()
        with write(pipeline.database, pipeline.indexes) as connection:
            settings.save(connection, replace(monograph.settings, graph=False))
            rebuild_graph._note(connection, pipeline, rebuild_graph.UNDER_WAY)
            for row in documents.numbers(connection)[first::2]:
                uses = names.NameCounts()
                graphs.remove(connection, chunks.rows_of_document(connection, row), [row], uses)
                names.use(connection, uses)
                entries = list(words.entries_of(connection, row))
                with_trigrams = terms.with_trigrams(connection, [entry.chunk for entry in entries])
                connection.executemany(
                    "INSERT INTO trigrams (trigrams, rowid, text) VALUES ('delete', ?, ?)",
                    [(entry.chunk, terms.fold(entry.text)) for entry in entries if entry.chunk in with_trigrams],
                )
        monograph.graph.build()

    return Command("build", work, life.state)


def keep_apart(life: Life) -> Command:
    """Keep two names apart, or unite two that are kept apart."""
    if life.state.extractor != PATTERNS.key:
        return reextract(life)  # The other extractor finds no names of several words.
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
            assert known  # They were united before the kill.

    after = replace(life.state, apart=known ^ {pair} if unite else known | {pair})
    return Command("unite" if unite else "keep_apart", work, after)


def repair(life: Life) -> Command:
    """Run a repair of a file without faults."""

    def work(monograph: Monograph, _: Tell) -> None:
        assert monograph.check(repair=True) == []

    return Command("check --repair", work, life.state)


def backup(life: Life) -> Command:
    """Back up the file. If the command is killed and run again, it overwrites its own copy."""
    copy, texts = life.copy, life.state.texts()
    for file in (*copy.parent.glob(f"{copy.name}*"), *copy.parent.glob(f".{copy.name}*")):
        file.unlink()  # The copy of an earlier backup, and files that a kill left.

    def faults(ended: bool) -> list[str]:
        if not copy.exists():
            return ["there is no copy"] if ended else []
        with open_file(copy) as monograph:
            found = [f"check: {fault.table}: {fault.fault}" for fault in monograph.check()]
            found += [] if stored_texts(monograph) == texts else ["other texts"]
            if ended:
                with open_file(life.path) as original:
                    found += differences(contents(monograph), contents(original))
        return [f"the copy: {fault}" for fault in found]

    return Command(
        "backup", lambda monograph, _: monograph.backup(copy, overwrite=True), life.state, other_faults=faults
    )


def recrypt(life: Life) -> Command:
    """Encrypt a plain file, or decrypt an encrypted one."""
    encrypted = encryption.may_be_encrypted(life.path)

    def work(path: Path) -> None:
        try:
            decrypt(path, KEY) if encrypted else encrypt(path, KEY)
        except WrongKey:
            assert encryption.may_be_encrypted(path) is not encrypted  # It was done before the kill.

    return Command("decrypt" if encrypted else "encrypt", lambda *_: None, life.state, alone=work)


COMMANDS: tuple[Callable[[Life], Command], ...] = (
    sync, add, put, remove, remove_chunks, forget, compact, reembed, reextract, build, resummarize, keep_apart, keep_apart, retry,
    move, remove_root, repair, backup,
)  # fmt: skip
if find_spec("watchfiles"):
    COMMANDS += (watch,)
if find_spec("sqlcipher3"):
    COMMANDS += (recrypt,)
CROWD_COMMANDS: tuple[Callable[[Life], Command], ...] = (
    *(add,) * 4, *(sync,) * 2, *(put,) * 2, remove_chunks, remove, forget, compact, resummarize_alike, keep_apart, backup,
)  # fmt: skip
"""Commands of the crowd's writers; frequent ones are listed several times."""
