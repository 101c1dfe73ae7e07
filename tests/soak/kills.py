"""Kills: many writing commands run on one file, and most are killed by SIGKILL.

After each kill the file is opened again: it must be consistent, with all acknowledged documents unchanged and no
document half stored. The same command, run again, must end, and the file must then equal a fresh build.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

from monograph import Monograph
from soak import commands, process
from soak.commands import Command, Life
from soak.corpus import open_file, stored_texts
from soak.process import Outcome, Tell
from soak.record import Fault, Tally
from soak.state import QUESTIONS, State, search_modes, unlike_fresh_build
from support.kill_at_commit import die_at

KILLS_OF_A_LIFE = 25
MARKER = re.compile(rb"zq[0-9a-f]{12}")


class Moments:
    """Random moments to kill commands, drawn from the duration and number of commits of earlier runs."""

    def __init__(self, chosen: Random) -> None:
        self.chosen = chosen
        self.seconds: dict[str, float] = {}
        self.commits: dict[str, int] = {}

    def run(self, command: Command, path: Path) -> Outcome:
        """Run a command and perhaps kill it: half of the kills at a random time, half just before or after a commit."""
        seconds, commits = self.seconds.get(command.name, 0.3), self.commits.get(command.name, 3)
        kill_after = self.chosen.uniform(0, 1.05 * seconds)
        commit, moment = self.chosen.randrange(1, max(1, commits) + 1), self.chosen.choice(("before", "after"))
        at_commit = self.chosen.random() < 0.5 and commits > 0

        def work(tell: Tell) -> int:
            count = die_at(commit if at_commit else 0, moment)
            command.run(path, tell)
            return count()

        began = time.monotonic()
        outcome = process.run(work, kill_after=None if at_commit else kill_after)
        passed = time.monotonic() - began
        if outcome.how == "done":
            self.seconds[command.name], self.commits[command.name] = passed, outcome.value
        else:
            self.seconds[command.name] = max(seconds, passed)
            if at_commit:
                self.commits[command.name] = max(commits, commit + 2)  # It may commit more often.
        if (outcome.how, outcome.value) == ("crashed", "SIGKILL"):
            return Outcome("killed", outcome.value, outcome.messages)
        return outcome


def live(folder: Path, seed: int, number: int, kills: int, plant: bool, tell: Tell) -> Tally:
    """Kill ``kills`` commands in the life of one file.

    Parameters
    ----------
    folder:
        Folder of the file, which is deleted unless there is a fault.
    seed, number:
        Determine the random choices. The moments of kills also depend on the clock.
    plant:
        Whether a fault is planted after every kill, to show that it is found.
    tell:
        Called after every kill.
    """
    tally, place = Tally("kills"), folder / f"life-{number}"
    life = Life(place / "x.mono", Random(f"{seed}/{number}"))
    moments = Moments(life.chosen)
    for step, command in enumerate(_commands(life)):
        outcome = moments.run(command, life.path)
        killed = outcome.how == "killed"
        if killed or outcome.how == "done":
            tally.count(command.name, "killed" if killed else "finished")
            tally.count(command.name, "acknowledged", len(outcome.messages))
            if killed and plant and life.path.exists():
                commands.plant_fault(life.path)
            outcome = process.run(partial(_look_after, life, command, set(outcome.messages), killed))
        if outcome.how == "done":
            repaired, faults = outcome.value
            tally.count(command.name, "owed", repaired)
            faults += leaked_words(life.path, command.after) if command.erases else []
        else:
            faults = [str(outcome)]
        life.state = command.after
        if killed:
            tell(number)
        if faults:
            again = f"kills --seed {seed} --life {number} --kills {kills}"
            where = f"kills: seed {seed}, life {number}, step {step}, {command.name} (its file is kept: {place})"
            tally.faults.append(Fault(where, "; ".join(faults), again))
            return tally
        if tally.total("killed") >= kills:
            break
    shutil.rmtree(place)
    return tally


def _commands(life: Life) -> Iterator[Command]:
    """Yield commands that write the first texts, then endlessly all commands in random order."""
    yield commands.create(life)
    yield commands.add(life)
    yield commands.sync(life)
    while True:
        for make in life.chosen.sample(commands.COMMANDS, len(commands.COMMANDS)):
            yield make(life)


def _look_after(life: Life, command: Command, acknowledged: set[str], killed: bool, _: Tell) -> tuple[int, list[str]]:
    """Run a killed command again; return how many faults the next write repaired, and the other faults."""
    repaired, faults = 0, list[str]()
    if killed:
        if life.path.exists():
            repaired, faults = look_after_kill(life.path, life.state, command, acknowledged)
        elif life.state != State():
            return 0, ["the file is gone"]
        faults += command.other_faults(False)
        command.run(life.path, lambda _: None)
    faults += faults_at_end(life.path, command.after)
    faults += unlike_fresh_build(life.path, command.after, [life.folder] if command.after.files else [])
    return repaired, faults + command.other_faults(True)


def look_after_kill(path: Path, state: State, command: Command, acknowledged: set[str]) -> tuple[int, list[str]]:
    """Return how many faults the next write repairs in a file whose writer was killed, and the other faults."""
    before, after = state.texts(), command.after.texts()
    with open_file(path) as monograph:
        texts = stored_texts(monograph)
        faults = []
        for key in sorted(before.keys() | after.keys() | texts.keys()):
            allowed = {after.get(key)} if key in acknowledged else {before.get(key), after.get(key)}
            if key in command.gone_midway or (key == "all" and len(before) == 1):  # The very first command.
                allowed.add(None)
            if texts.get(key) not in allowed:
                faults.append(f"document {key}: {_short(texts.get(key))} is none of {[_short(one) for one in allowed]}")
        faults += half_stored(monograph)
        faults += wrong_searches(monograph) if state.own else []
        unfinished = monograph.check()
        if unfinished:
            monograph.add([])
            faults += [f"check: {fault.table}: {fault.fault}" for fault in monograph.check()]
    return len(unfinished), faults


def half_stored(monograph: Monograph) -> list[str]:
    """Return a fault for each document with text that is in no chunk."""
    faults = []
    for listed in monograph.documents():
        text, end = monograph.document(listed.id).text, 0
        for chunk in monograph.chunks(listed.id):
            if text[end : chunk.start].strip():
                break
            end = max(end, chunk.end)
        if text[end:].strip():
            faults.append(f"document {listed.id} is half there: what follows character {end} is in no chunk")
    return faults


def wrong_searches(monograph: Monograph) -> list[str]:
    """Return a fault for each search without hits, and for each hit whose text is not in its document."""
    faults = []
    refused = set() if monograph.settings.graph else {"graph", "tfidf"}  # Until the graph is built.
    for how in search_modes(monograph):
        if how in refused:
            continue
        hits = monograph.search(QUESTIONS[0], 5, how)
        if not hits:
            faults.append(f"search {how}: nothing is found")
        for chunk in (hit.chunk for hit in hits if hit.chunk.document_id):
            if chunk.text not in monograph.document(chunk.document_id).text:
                faults.append(f"search {how}: a hit is not what its document says")
    return faults


def faults_at_end(path: Path, state: State) -> list[str]:
    """Return the faults of a file in which a command has ended."""
    expected = state.texts()
    with open_file(path) as monograph:
        faults = [f"check at the end: {fault.table}: {fault.fault}" for fault in monograph.check()]
        texts = stored_texts(monograph)
        faults += [
            f"document {key} at the end: {_short(texts.get(key))}, not {_short(expected.get(key))}"
            for key in sorted(texts.keys() | expected.keys())
            if texts.get(key) != expected.get(key)
        ]
        monograph.add([])  # An unfinished tree is completed by the next write.
        tree = monograph.stats().tree
        if tree is not None and tree.waiting:
            faults.append(f"the tree lags in {tree.waiting} places")
    return faults


def leaked_words(path: Path, state: State) -> list[str]:
    """Return a fault if the bytes of a file hold words of texts that were removed."""
    data = b"".join(file.read_bytes() for file in sorted(path.parent.glob(f"{path.name}*"))).lower()
    kept = {word for text in state.texts().values() for word in MARKER.findall(text.lower().encode())}
    leaked = sorted({word for word in MARKER.findall(data) if word not in kept})
    return [f"{len(leaked)} forgotten words are in its bytes, such as {leaked[0].decode()}"] if leaked else []


def _short(text: str | None) -> str:
    return "nothing" if text is None else f"{text[:28]!r} ({len(text)})"
