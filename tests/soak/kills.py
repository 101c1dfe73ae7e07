"""Kills: a file lives through one writing command after the other, most of them killed without warning.

After each kill it is opened again: it is whole, all that was acknowledged is there word for word, no document is half
there; and the same command run again comes to its end, in a file that is that of a fresh build.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from monograph import Monograph
from soak.commands import COMMANDS, Command, Life, add, first, sync
from soak.corpus import held, opened
from soak.plant import Alter
from soak.process import Outcome, Tell, apart
from soak.state import HOWS, QUESTIONS, State, unlike_a_fresh_build
from soak.tally import Fault, Tally
from support.kill_at_commit import die_at

LIFE = 25
"""Kills that one file lives through before another begins."""
SECONDS = 120
MARKER = re.compile(rb"zq[0-9a-f]{12}")


@dataclass(slots=True)
class Usual:
    """How long commands take, and how often they commit, by name: what moments of chance are drawn from."""

    seconds: dict[str, float] = field(default_factory=dict)
    commits: dict[str, int] = field(default_factory=dict)

    def lives(self, name: str, seconds: float) -> None:
        """Hear of one that lived so long until it was killed."""
        self.seconds[name] = max(self.seconds.get(name, 0.0), seconds)

    def ends(self, name: str, seconds: float, commits: int) -> None:
        """Hear of one that came to its end."""
        self.seconds[name], self.commits[name] = seconds, commits


def live(folder: Path, seed: int, number: int, kills: int, tell: Tell, alter: Alter | None = None) -> Tally:
    """Kill so many commands in the life of one file.

    Parameters
    ----------
    folder:
        Where its files lie; nothing is left of them but after a fault.
    seed, number:
        What all chance is made of but the moments of kills, which hang on the clock as well.
    tell:
        Told of every kill.
    alter:
        Changes the file behind its back after every kill: to show that this is found.
    """
    tally, usual = Tally(), Usual()
    place = folder / f"life-{number}"
    life = Life(place / "x.mono", Random(f"{seed}/{number}"))
    life.folder.mkdir(parents=True)
    found: list[str] = []
    killed = 0
    for step, command in enumerate(_commands(life)):
        found = _step(life, command, usual, tally, alter)
        life.state = command.after
        if tally.total("killed") > killed:
            tell(killed := tally.total("killed"))
        if found:
            again = f"kills --seed {seed} --life {number} --kills {kills}"
            where = f"kills: seed {seed}, life {number}, step {step}, {command.name} (its file is kept: {place})"
            tally.faults.append(Fault(where, "; ".join(found), again))
        if found or tally.total("killed") >= kills:
            break
    if not found:
        shutil.rmtree(place)
    return tally


def _commands(life: Life) -> Iterator[Command]:
    """Some texts first, then every command in turn, in ever another order."""
    yield first(life)
    yield add(life)
    yield sync(life)
    while True:
        for command in life.chosen.sample(COMMANDS, len(COMMANDS)):
            yield command(life)


def _step(life: Life, command: Command, usual: Usual, tally: Tally, alter: Alter | None) -> list[str]:
    """Run a command, most often to be killed, and look at what is left; what is wrong with it."""
    began = time.monotonic()
    outcome = _run_to_be_killed(life, command, usual)
    passed = time.monotonic() - began
    killed = outcome.how == "killed" or (outcome.how, outcome.value) == ("crashed", "SIGKILL")
    if killed:
        tally.count(command.name, "killed")
        usual.lives(command.name, passed)
    elif outcome.how == "done":
        tally.count(command.name, "finished")
        usual.ends(command.name, passed, outcome.value)
    else:
        return [outcome.fault or f"refused: {outcome.value}"]
    tally.count(command.name, "acknowledged", len(outcome.said))
    if killed and alter is not None and life.path.exists():
        alter(life.path)
    seen = apart(lambda _: _after(life, command, set(outcome.said), killed=killed), SECONDS)
    if seen.how != "done":
        return [seen.fault or f"refused: {seen.value}"]
    owed, found = seen.value
    tally.count(command.name, "owed", owed)
    return [*found, *(leaked(life.path, command.after) if command.erases else ())]


def _run_to_be_killed(life: Life, command: Command, usual: Usual) -> Outcome:
    """Half of the kills come at any moment, and half just before or after a commit, where most can go wrong."""
    patience = life.chosen.uniform(0, 1.05 * usual.seconds.get(command.name, 0.3))
    commits = usual.commits.get(command.name, 3)
    commit = life.chosen.randrange(1, max(1, commits) + 1)
    moment = life.chosen.choice(("before", "after"))
    at_commit = life.chosen.random() < 0.5 and commits > 0

    def work(tell: Tell) -> int:
        count = die_at(commit if at_commit else 0, moment)
        command.run(life.path, tell)
        return count()

    outcome = apart(work, SECONDS, None if at_commit else patience)
    if at_commit and outcome.how != "done":
        usual.commits[command.name] = max(commits, commit + 2)  # It may well commit more often.
    return outcome


def _after(life: Life, command: Command, acknowledged: set[str], *, killed: bool) -> tuple[int, list[str]]:
    """How many faults were owed, and which there are that may not be."""
    owed = 0
    found: list[str] = []
    if killed:
        if life.path.exists():
            owed, found = look(life.path, life.state, command, acknowledged)
        elif life.state != State():
            return 0, ["the file is gone"]
        found += command.beside(life.path)
        command.run(life.path, lambda _: None)
    found += exact(life.path, command.after)
    found += unlike_a_fresh_build(life.path, command.after, [life.folder] if command.after.files else [])
    return owed, found + command.beside(life.path) + command.beside_at_end(life.path)


def look(path: Path, before: State, command: Command, acknowledged: set[str]) -> tuple[int, list[str]]:
    """What is owed by a file whose writer was killed between two states, and what is wrong with it."""
    with opened(path) as monograph:
        found = [
            *_torn(
                monograph,
                before.texts(),
                command.after.texts(),
                acknowledged,
                set() if command.steady else set(before.files),
            ),
            *half_there(monograph),
            *(searches(monograph) if before.own else ()),
        ]
        owed = monograph.check()
        if owed:  # What a check calls owed is made with the next write.
            monograph.add([])
            found += [f"check: {one.table}: {one.fault}" for one in monograph.check()]
    return len(owed), found


def _torn(
    monograph: Monograph, before: dict[str, str], after: dict[str, str], acknowledged: set[str], may_be_gone: set[str]
) -> Iterator[str]:
    """Documents that are neither as they were nor as they are to be."""
    texts = held(monograph)
    for key in sorted(before.keys() | after.keys() | texts.keys()):
        allowed = {after.get(key)} if key in acknowledged else {before.get(key), after.get(key)}
        if key in may_be_gone:
            allowed.add(None)
        if key == "all" and before == {key: before["all"]}:
            allowed.add(None)  # The very first command.
        if texts.get(key) not in allowed:
            yield f"document {key}: {_short(texts.get(key))} is none of {[_short(one) for one in allowed]}"


def half_there(monograph: Monograph) -> Iterator[str]:
    """Documents of which a part is in no chunk."""
    for one in monograph.documents():
        text, end = monograph.document(one.id).text, 0
        for chunk in monograph.chunks(one.id):
            if text[end : chunk.start].strip():
                break
            end = max(end, chunk.end)
        if text[end:].strip():
            yield f"document {one.id} is half there: what follows character {end} is in no chunk"


def searches(monograph: Monograph) -> Iterator[str]:
    """Searches of every kind that find nothing, or what is in no document."""
    missing = set() if monograph.settings.graph else {"graph", "tfidf"}  # They are refused until the graph is built.
    for how in HOWS if monograph.stats().tree is not None else HOWS[:-1]:
        if how in missing:
            continue
        hits = monograph.search(QUESTIONS[0], 5, how)
        if not hits:
            yield f"search {how}: nothing is found"
        for chunk in (hit.chunk for hit in hits if hit.chunk.document_id):
            if chunk.text not in monograph.document(chunk.document_id).text:
                yield f"search {how}: a hit is not what its document says"


def exact(path: Path, after: State) -> list[str]:
    """What is wrong with a file in which a command has come to its end."""
    wanted = after.texts()
    with opened(path) as monograph:
        found = [f"check at the end: {one.table}: {one.fault}" for one in monograph.check()]
        texts = held(monograph)
        found += [
            f"document {key} at the end: {_short(texts.get(key))}, not {_short(wanted.get(key))}"
            for key in sorted(texts.keys() | wanted.keys())
            if texts.get(key) != wanted.get(key)
        ]
        monograph.add([])  # A tree that was cut off follows with the next write.
        tree = monograph.stats().tree
        if tree is not None and tree.waiting:
            found.append(f"the tree lags in {tree.waiting} places")
    return found


def leaked(path: Path, state: State) -> list[str]:
    """Words in the bytes of a file that no document has any more."""
    data = b"".join(one.read_bytes() for one in sorted(path.parent.glob(f"{path.name}*"))).lower()
    kept = {word for text in state.texts().values() for word in MARKER.findall(text.lower().encode())}
    gone = sorted({word for word in MARKER.findall(data) if word not in kept})
    return [f"{len(gone)} forgotten words are in its bytes, such as {gone[0].decode()}"] if gone else []


def _short(text: str | None) -> str:
    return "nothing" if text is None else f"{text[:28]!r} ({len(text)})"
