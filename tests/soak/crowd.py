"""A crowd: readers and writers, each a process of its own, at one file all at once.

No one may be refused anything, nothing that was acknowledged may be lost, what is read is never torn, and in the end
the file is that of a fresh build.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from traceback import format_exc

from monograph import Monograph, Report
from monograph.errors import NotFound
from soak.corpus import CAPTAINS, SUMMARIZERS, document, everybody, initials, name_of, opened, passages, text_of
from soak.kills import exact, leaked
from soak.plant import Alter
from soak.process import Tell, Work, apart, side_by_side
from soak.state import HOWS, QUESTIONS, State, unlike_a_fresh_build
from soak.tally import Fault, Tally

READERS, WRITERS = 8, 4
DRAFTS = 20
MOST_OWN = 30
"""Documents of a writer, after which it takes some out."""
SECONDS = 120
"""Beyond the time that was given, after which a process hangs."""


@dataclass(frozen=True, slots=True)
class Said:
    """What one of the crowd did: to whom it happened, what, and how it ended; with what is wrong, if anything is."""

    what: str
    how: str = "done"
    fault: str = ""


def meet(folder: Path, seed: int, seconds: float, tell: Tell, alter: Alter | None = None) -> Tally:
    """Have readers and writers at one file for so long.

    Parameters
    ----------
    folder:
        Where the file lies; nothing is left of it but after a fault.
    seed:
        What all chance is made of but who is first.
    tell:
        Told of everything that was done.
    alter:
        Changes the file behind its back at the end: to show that this is found.
    """
    tally, path = Tally(), folder / "crowd.mono"
    state = _begin(path)
    end = time.monotonic() + seconds
    works: list[Work] = [
        partial(_write, path, folder / f"w{number}", f"{seed}/{number}", end) for number in range(WRITERS)
    ]
    works += [partial(_read, path, f"{seed}/{number}", end) for number in range(WRITERS, WRITERS + READERS)]

    def blame(where: str, what: str) -> None:
        again = f"crowd --seed {seed} --seconds {seconds:g}"
        tally.faults.append(Fault(f"crowd: seed {seed}, {where} (its file is kept: {path})", what, again))

    def hear(said: Said) -> None:
        tally.count(said.what, said.how)
        tell(said)
        if said.fault:
            blame(said.what, said.fault)

    for outcome in side_by_side(works, len(works), hear):
        if outcome.how != "done":
            blame("a process of the crowd", f"{outcome.how}: {outcome.value}")
        elif isinstance(outcome.value, State):
            state = _together(state, outcome.value)
    if alter is not None:
        alter(path)
    outcome = apart(lambda _: _at_the_end(path, state, [folder / f"w{number}" for number in range(WRITERS)]), SECONDS)
    for fault in outcome.value if outcome.how == "done" else [f"{outcome.how}: {outcome.value}"]:
        blame("at the end", fault)
    for fault in leaked(path, state):
        blame("at the end", fault)
    return tally


def _begin(path: Path) -> State:
    state = State(own={f"b{number}": number for number in range(10)}, summarizer=min(SUMMARIZERS))

    def work(_: Tell) -> None:
        with opened(path) as monograph:
            monograph.add(state.documents())
            monograph.tree.rebuild(SUMMARIZERS[state.summarizer])

    outcome = apart(work, SECONDS)
    if outcome.how != "done":
        raise RuntimeError(f"the file could not be made: {outcome.value}")
    return state


def _together(one: State, other: State) -> State:
    return replace(
        one, files=one.files | other.files, own=one.own | other.own, parts=one.parts | other.parts,
        apart=one.apart | other.apart,
    )  # fmt: skip


def _at_the_end(path: Path, state: State, folders: list[Path]) -> list[str]:
    with opened(path) as monograph:
        monograph.compact()
    return exact(path, state) + unlike_a_fresh_build(path, state, [one for one in folders if any(one.iterdir())])


class _Writer:
    """One that writes documents of its own, and knows what is to be in the file of them."""

    def __init__(self, monograph: Monograph, folder: Path, chosen: Random) -> None:
        self.monograph = monograph
        self.folder = folder
        self.chosen = chosen
        self.state = State()
        self.number = 0

    def acts(self) -> list[tuple[str, Callable[[], Report | None]]]:
        """What it may do, the frequent more than once."""
        return [
            *(("add", self.add),) * 4, *(("sync", self.sync),) * 2, *(("put", self.put),) * 2, ("remove", self.remove),
            ("remove --forget", self.forget), ("compact", self.compact), ("resummarize", self.resummarize),
            ("keep_apart", self.keep_apart), ("backup", self.backup),
        ]  # fmt: skip

    def _fresh(self, prefix: str) -> str:
        self.number += 1
        return f"{self.folder.name}-{prefix}{self.number}"

    def _drafts(self, known: dict[str, int], prefix: str, suffix: str = "") -> dict[str, int]:
        names = [f"{self._fresh(prefix)}{suffix}" for _ in range(self.chosen.randrange(1, 4))]
        names += self.chosen.sample(sorted(known), min(len(known), self.chosen.randrange(2)))
        return {name: self.chosen.randrange(DRAFTS) for name in names}

    def add(self) -> Report:
        """Documents come and change."""
        drafts = self._drafts(self.state.own, "a")
        report = self.monograph.add([document(key, draft) for key, draft in drafts.items()])
        self.state = replace(self.state, own=self.state.own | drafts)
        return report

    def sync(self) -> Report:
        """Files come, change and go."""
        drafts = self._drafts(self.state.files, "s", ".txt")
        files = self.state.files | drafts
        for name in self.chosen.sample(sorted(files), 3) if len(files) > MOST_OWN // 3 else []:
            del files[name]
            drafts.pop(name, None)
            (self.folder / name).unlink(missing_ok=True)
        for name, draft in drafts.items():
            (self.folder / name).write_text(text_of(name, draft))
        report = self.monograph.sync(self.folder)
        self.state = replace(self.state, files=files)
        return report

    def put(self) -> Report:
        """Passages are added to documents."""
        known = self.state.parts
        key = self.chosen.choice(sorted(known)) if len(known) > 3 else self._fresh("p")
        parts = tuple(dict.fromkeys([*known.get(key, ()), self.chosen.randrange(20)]))
        report = self.monograph.put([passages(key, parts)])
        self.state = replace(self.state, parts=known | {key: parts})
        return report

    def remove(self, *, forget: bool = False) -> Report:
        """Some documents go."""
        own = dict(self.state.own)
        gone = self.chosen.sample(sorted(own), min(len(own), 1 + max(0, len(own) - MOST_OWN)))
        report = self.monograph.remove(gone, forget=forget)
        self.state = replace(self.state, own={key: draft for key, draft in own.items() if key not in gone})
        return report

    def forget(self) -> Report:
        """Some documents are forgotten."""
        return self.remove(forget=True)

    def compact(self) -> None:
        """What nothing uses is dropped."""
        self.monograph.compact()

    def resummarize(self) -> Report:
        """The tree is made anew."""
        return self.monograph.tree.rebuild()

    def keep_apart(self) -> None:
        """Two names are set apart, or become one again."""
        pair = (captain := CAPTAINS[int(self.folder.name[1:])], initials(captain))
        if pair in self.state.apart:
            self.monograph.graph.unite(*pair)
        else:
            self.monograph.graph.keep_apart(*pair)
        self.state = replace(self.state, apart=self.state.apart ^ {pair})

    def backup(self) -> None:
        """A copy is made, and holds what this one has written."""
        copy = self.folder.with_name(f"{self.folder.name}.mono")
        self.monograph.backup(copy, overwrite=True)
        with opened(copy) as other:
            self.lost(other)

    def lost(self, monograph: Monograph) -> None:
        """Raise AssertionError if a file holds something else of this one's own than it is to hold."""
        mine = {
            name_of(one): monograph.document(one.id).text for one in monograph.documents()
            if name_of(one).startswith(f"{self.folder.name}-")
        }  # fmt: skip
        wanted = {key: text for key, text in self.state.texts().items() if key != everybody().id}
        assert mine == wanted, (
            f"lost or not as written: {sorted(key for key in mine.keys() | wanted.keys() if mine.get(key) != wanted.get(key))}"
        )


def _write(path: Path, folder: Path, seed: str, end: float, tell: Tell) -> State:
    folder.mkdir()
    with opened(path) as monograph:
        writer = _Writer(monograph, folder, Random(seed))
        while time.monotonic() < end:
            name, act = writer.chosen.choice(writer.acts())
            try:
                report = act()
                writer.lost(monograph)
            except Exception:
                tell(Said(name, "raised", format_exc()[-3_000:]))
                return writer.state
            problems = () if report is None else report.problems
            lagging = [one for one in problems if "lacks the latest changes" in one.reason]
            fault = "; ".join(f"{one.uri}: {one.reason}" for one in problems if one not in lagging)
            tell(Said(name, "done, the tree to follow" if lagging else "done", fault))
        return writer.state


def _read(path: Path, seed: str, end: float, tell: Tell) -> None:
    chosen = Random(seed)
    with opened(path) as monograph:
        while time.monotonic() < end:
            name = chosen.choice((*HOWS, "documents", "entities", "outline", "stats"))
            try:
                fault = _look(monograph, name, chosen)
            except Exception:
                tell(Said(f"read: {name}", "raised", format_exc()[-3_000:]))
                return
            tell(Said(f"read: {name}", "done", fault))


def _look(monograph: Monograph, name: str, chosen: Random) -> str:
    """What is wrong with what is read."""
    if name == "entities":
        known = monograph.graph.entities(20)
        monograph.graph.neighbourhood(chosen.choice(CAPTAINS))
        return "" if known else "no entity is there"
    if name == "outline":
        return "" if monograph.tree.outline() else "the tree is empty"
    if name == "stats":
        return "" if monograph.stats().documents >= 11 else "documents are missing"
    if name == "documents":
        return "; ".join(
            _torn(monograph, one.id) for one in chosen.sample(monograph.documents(), 5) if _torn(monograph, one.id)
        )
    hits = monograph.search(chosen.choice(QUESTIONS), 5, name)
    torn = [
        hit.chunk.id for hit in hits
        if "draft" in hit.metadata and hit.chunk.text not in text_of(hit.chunk.document_id, hit.metadata["draft"])
    ]  # fmt: skip
    return f"hits are not what was written: {torn}" if torn or not hits else ""


def _torn(monograph: Monograph, name: str) -> str:
    try:
        one = monograph.document(name)
    except NotFound:
        return ""  # It went meanwhile.
    key = name_of(one)
    if "draft" in one.metadata:
        whole = one.text == text_of(key, one.metadata["draft"])
    elif key.endswith(".txt"):
        whole = any(one.text == text_of(key, draft) for draft in range(DRAFTS))
    else:
        whole = bool(one.text)
    return "" if whole else f"document {key} is torn"
