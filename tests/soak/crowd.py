"""Crowd: processes that read and processes that write use one file at the same time.

No operation may fail, no acknowledged write may be lost, no read may return a half-written document, and the final file
must equal a fresh build.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from traceback import format_exc

from monograph import Monograph, Report
from monograph.errors import NotFound
from soak import process
from soak.commands import CROWD_COMMANDS, Life, plant_fault
from soak.corpus import CAPTAINS, SUMMARIZERS, name_of, open_file, stored_texts, text_of
from soak.kills import faults_at_end, leaked_words
from soak.process import Tell, Work
from soak.record import Fault, Tally
from soak.state import QUESTIONS, State, search_modes, unlike_fresh_build

READERS, WRITERS = 8, 4
DRAFTS = 20


def meet(folder: Path, seed: int, seconds: float, plant: bool, tell: Tell) -> Tally:
    """Have readers and writers use one file.

    Parameters
    ----------
    folder:
        Folder of the file.
    seed:
        Determines all random choices, but not the order in which processes run.
    plant:
        Whether a fault is planted at the end, to show that it is found.
    tell:
        Called after each operation of a reader or writer.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    tally, path = Tally("crowd"), folder / "crowd.mono"
    state = State(own={f"b{number}": number for number in range(10)}, summarizer=min(SUMMARIZERS))

    def create(_: Tell) -> None:
        with open_file(path) as monograph:
            monograph.add(state.documents())
            monograph.tree.rebuild(SUMMARIZERS[state.summarizer])

    process.run(create).result()
    end = time.monotonic() + seconds
    works: list[Work] = [partial(_write, path, number, f"{seed}/{number}", end) for number in range(WRITERS)]
    works += [partial(_read, path, f"{seed}/{number}", end) for number in range(WRITERS, WRITERS + READERS)]

    def blame(where: str, what: str) -> None:
        again = f"crowd --seed {seed} --seconds {seconds:g}"
        tally.faults.append(Fault(f"crowd: seed {seed}, {where} (its file is kept: {path})", what, again))

    def hear(message: tuple[str, str, str]) -> None:
        what, how, fault = message
        tally.count(what, how)
        tell(message)
        if fault:
            blame(what, fault)

    folders: list[Path] = []
    for outcome in process.run_parallel(works, len(works), hear):
        if outcome.how != "done":
            blame("a process of the crowd", str(outcome))
        elif outcome.value is not None:
            own, texts = outcome.value
            folders += [texts] if any(texts.iterdir()) else []
            state = replace(
                state, files=state.files | own.files, own=state.own | own.own, parts=state.parts | own.parts,
                apart=state.apart | own.apart,
            )  # fmt: skip
    if plant:
        plant_fault(path)

    def look(_: Tell) -> list[str]:
        with open_file(path) as monograph:
            monograph.compact()
        return faults_at_end(path, state) + unlike_fresh_build(path, state, sorted(folders))

    outcome = process.run(look)
    for fault in outcome.value if outcome.how == "done" else [str(outcome)]:
        blame("at the end", fault)
    for fault in leaked_words(path, state):
        blame("at the end", fault)
    return tally


def _write(path: Path, number: int, seed: str, end: float, tell: Tell) -> tuple[State, Path]:
    """Write documents, check after each command that the file has them; return the expected state and the folder."""
    life = Life(path, Random(seed), State(summarizer=min(SUMMARIZERS)), f"w{number}-", (CAPTAINS[number],), DRAFTS)
    with open_file(path) as monograph:
        while time.monotonic() < end:
            command = life.chosen.choice(CROWD_COMMANDS)(life)
            try:
                report = command.work(monograph, lambda _: None)
                life.state = command.after
                _require_own_texts(monograph, life)
                if life.copy.exists() and command.name == "backup":
                    with open_file(life.copy) as copy:
                        _require_own_texts(copy, life)
            except Exception:
                tell((command.name, "raised", format_exc()[-3_000:]))
                break
            problems = report.problems if isinstance(report, Report) else ()
            lagging = [problem for problem in problems if "lacks the latest changes" in problem.reason]
            fault = "; ".join(f"{problem.uri}: {problem.reason}" for problem in problems if problem not in lagging)
            tell((command.name, "done, the tree to follow" if lagging else "done", fault))
    return life.state, life.folder


def _require_own_texts(monograph: Monograph, life: Life) -> None:
    """Assert that a file has exactly the expected documents of a writer."""
    own = stored_texts(monograph, life.name)
    expected = {key: text for key, text in life.state.texts().items() if key.startswith(life.name)}
    lost = sorted(key for key in own.keys() | expected.keys() if own.get(key) != expected.get(key))
    assert not lost, f"lost or not as written: {lost}"


def _read(path: Path, seed: str, end: float, tell: Tell) -> None:
    chosen = Random(seed)
    with open_file(path) as monograph:
        while time.monotonic() < end:
            what = chosen.choice((*search_modes(monograph), "documents", "entities", "outline", "stats"))
            try:
                fault = _look(monograph, what, chosen)
            except Exception:
                tell((f"read: {what}", "raised", format_exc()[-3_000:]))
                return
            tell((f"read: {what}", "done", fault))


def _look(monograph: Monograph, what: str, chosen: Random) -> str:
    """Read a part of a file, and return its fault, or an empty string."""
    if what == "entities":
        known = monograph.graph.entities(20)
        monograph.graph.neighbourhood(chosen.choice(CAPTAINS))
        return "" if known else "no entity is there"
    if what == "outline":
        return "" if monograph.tree.outline() else "the tree is empty"
    if what == "stats":
        return "" if monograph.stats().documents >= 11 else "documents are missing"
    if what == "documents":
        torn = [listed.id for listed in chosen.sample(monograph.documents(), 5) if _is_torn(monograph, listed.id)]
        return f"documents are torn: {torn}" if torn else ""
    hits = monograph.search(chosen.choice(QUESTIONS), 5, what)
    torn = [
        hit.chunk.id for hit in hits
        if "draft" in hit.metadata and hit.chunk.text not in text_of(hit.chunk.document_id, hit.metadata["draft"])
    ]  # fmt: skip
    return f"hits are not what was written: {torn}" if torn or not hits else ""


def _is_torn(monograph: Monograph, name: str) -> bool:
    try:
        document = monograph.document(name)
    except NotFound:
        return False  # It was removed meanwhile.
    key = name_of(document)
    if "draft" in document.metadata:
        return document.text != text_of(key, document.metadata["draft"])
    if key.endswith(".txt"):
        return all(document.text != text_of(key, draft) for draft in range(DRAFTS))
    return not document.text
