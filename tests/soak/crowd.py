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
from soak import commands
from soak.commands import Command, Life
from soak.corpus import CAPTAINS, SUMMARIZERS, name_of, opened, text_of
from soak.kills import exact, leaked
from soak.plant import Alter
from soak.process import Tell, Work, apart, side_by_side
from soak.state import HOWS, QUESTIONS, State, unlike_a_fresh_build
from soak.tally import Fault, Tally

READERS, WRITERS = 8, 4
DRAFTS = 20
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
    tally, path, folders = Tally(), folder / "crowd.mono", list[Path]()
    state = _begin(path)
    end = time.monotonic() + seconds
    own = State(summarizer=state.summarizer)
    works: list[Work] = [partial(_write, path, number, own, f"{seed}/{number}", end) for number in range(WRITERS)]
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
        elif isinstance(outcome.value, Life):
            state = _together(state, outcome.value.state)
            folders.append(outcome.value.folder)
    if alter is not None:
        alter(path)
    outcome = apart(lambda _: _at_the_end(path, state, sorted(folders)), SECONDS)
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


def _again(life: Life) -> Command:
    """The tree is made anew."""
    model = life.state.summarizer
    return commands.rebuilt(life, "resummarize", "summarizer", {model: SUMMARIZERS[model]}, "tree")


ACTS: tuple[Callable[[Life], Command], ...] = (
    *(commands.add,) * 4, *(commands.sync,) * 2, *(commands.put,) * 2, commands.remove_chunks, commands.remove, commands.forget,
    commands.compact, _again, commands.keep_apart, commands.backup,
)  # fmt: skip
"""What a writer does, the frequent more than once."""


def _write(path: Path, number: int, state: State, seed: str, end: float, tell: Tell) -> Life:
    """Write documents of its own, and after each command look whether the file holds them."""
    life = Life(path, Random(seed), state, f"w{number}-", (CAPTAINS[number],), DRAFTS)
    life.folder.mkdir(parents=True)
    with opened(path) as monograph:
        while time.monotonic() < end:
            command = life.chosen.choice(ACTS)(life)
            try:
                report = command.work(monograph, lambda _: None)
                life.state = command.after
                _refuse_lost(monograph, life)
                if life.copy.exists() and command.name == "backup":
                    with opened(life.copy) as copy:
                        _refuse_lost(copy, life)
            except Exception:
                tell(Said(command.name, "raised", format_exc()[-3_000:]))
                return life
            problems = report.problems if isinstance(report, Report) else ()
            lagging = [one for one in problems if "lacks the latest changes" in one.reason]
            fault = "; ".join(f"{one.uri}: {one.reason}" for one in problems if one not in lagging)
            tell(Said(command.name, "done, the tree to follow" if lagging else "done", fault))
        return life


def _refuse_lost(monograph: Monograph, life: Life) -> None:
    """Raise AssertionError if a file holds something else of a writer's own than it is to hold."""
    mine = {
        name_of(one): monograph.document(one.id).text for one in monograph.documents()
        if name_of(one).startswith(life.name)
    }  # fmt: skip
    wanted = {key: text for key, text in life.state.texts().items() if key.startswith(life.name)}
    lost = sorted(key for key in mine.keys() | wanted.keys() if mine.get(key) != wanted.get(key))
    assert not lost, f"lost or not as written: {lost}"


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
