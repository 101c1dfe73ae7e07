"""Damaged files: every operation returns, or raises a MonographError.

All returned texts must be those that were stored, and every loss must be reported.
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

from monograph import Hit, Monograph, StoredChunk
from monograph.errors import MonographError, NotFound
from soak import harm, process
from soak.commands import plant_fault
from soak.corpus import open_file
from soak.harm import Damaged, Original, Texts
from soak.process import Outcome, Tell
from soak.record import Fault, Tally
from soak.state import QUESTIONS, SEARCH_MODES


@dataclass(slots=True)
class Seen:
    """Results from a file: the texts and passages of documents by id, and the reported errors and faults."""

    texts: dict[str, str] = field(default_factory=dict)
    passages: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    errors: list[str] = field(default_factory=list)


def _ask(path: Path, known: Texts, tell: Tell) -> None:
    """Read, search and check a file, repair it, and do so again; send the name of each step and the results."""
    tell("open")
    with open_file(path) as monograph:
        tell(_look(monograph, known, tell))
        tell("check --repair")
        with suppress(MonographError):
            monograph.check(repair=True)
        tell(_look(monograph, known, tell))


def _look(monograph: Monograph, known: Texts, tell: Tell) -> Seen:
    seen = Seen()
    for step, work in _steps(monograph, known, seen):
        tell(step)
        try:
            work()
        except NotFound:
            pass
        except MonographError as error:
            seen.errors.append(f"{step}: {type(error).__name__}: {error}")
    return seen


def _steps(monograph: Monograph, known: Texts, seen: Seen) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield operations with their names; each stores what it reads in ``seen``."""
    listed: list[str] = []

    def read(name: str) -> None:
        seen.texts[name] = monograph.document(name).text

    def keep(hits: Iterable[Hit | StoredChunk]) -> None:
        for hit in hits:
            if hit.chunk.document_id:
                seen.passages[hit.chunk.document_id].append(hit.chunk.text)

    def search(how: str) -> None:
        keep(monograph.search(QUESTIONS[0], 5, how))

    def read_tree() -> None:
        if monograph.stats().tree is not None:
            monograph.tree.outline()
            search("tree")

    yield "stats", monograph.stats
    yield "documents", lambda: listed.extend(document.id for document in monograph.documents())
    for name in dict.fromkeys([*listed, *known]):
        yield f"document {name}", partial(read, name)
    yield "chunks", lambda: keep(monograph.fetch(vectors=True))
    for how in SEARCH_MODES:
        yield f"search {how}", partial(search, how)
    yield "tree", read_tree
    yield "entities", monograph.graph.entities
    yield "merges", monograph.graph.merges
    yield "check", lambda: seen.errors.extend(f"check: {fault.table}: {fault.fault}" for fault in monograph.check())


def run(folder: Path, known: list[Original], seed: int, numbers: Sequence[int], plant: bool, tell: Tell) -> Tally:
    """Damage files, read each, repair it, and read it again.

    Parameters
    ----------
    folder:
        Folder of the damaged files. Files without a fault are deleted.
    known:
        Files to damage.
    seed, numbers:
        Determine all random choices.
    plant:
        Whether a fault is planted instead of damage, to show that it is found.
    tell:
        Called after every file.
    """
    tally = Tally("damage")
    for number in numbers:
        place = folder / f"damaged-{number}"
        place.mkdir(parents=True)
        path = place / "x.mono"
        damaged = harm.damage(known, Random(f"{seed}/{number}"))
        if plant:
            damaged = Damaged(known[0], "altered", known[0].data)
        for suffix, data in damaged.data.items():
            Path(f"{path}{suffix}").write_bytes(data)
        if plant:
            plant_fault(path)
        outcome = process.run(partial(_ask, path, damaged.original.states[-1]), 60)
        how = outcome.how
        if how == "done":
            before, after = (message for message in outcome.messages if isinstance(message, Seen))
            how = "unharmed" if not before.errors else "reported" if after.errors else "repaired"
        tally.count(damaged.what, how)
        if faults := list(faults_of(path, damaged, outcome)):
            where = f"damage: seed {seed}, file {number}, {damaged.original.name}, {damaged.what} (it is kept: {place})"
            tally.faults.append(Fault(where, "; ".join(faults), f"damage --seed {seed} --file {number}"))
        else:
            shutil.rmtree(place)
        tell(number)
    return tally


def faults_of(path: Path, damaged: Damaged, outcome: Outcome) -> Iterator[str]:
    """Yield the faults in the handling of a damaged file: errors of other types, wrong texts, unreported losses."""
    if outcome.how not in ("done", "refused"):
        step = next((message for message in reversed(outcome.messages) if isinstance(message, str)), "nothing")
        yield f"at {step}: {outcome}"
    if outcome.how == "refused" and len(damaged.data) == 1 and path.read_bytes() != damaged.data[""]:
        yield f"it was refused ({outcome.value}), and changed"
    looks = [message for message in outcome.messages if isinstance(message, Seen)]
    states = damaged.original.states + damaged.foreign
    for seen, when in zip(looks, ("", " once mended"), strict=False):
        if not seen.errors:
            other = {name for name, text in seen.texts.items() if all(texts.get(name) != text for texts in states)}
            other |= {
                name for name, passages in seen.passages.items() for passage in passages
                if all(passage not in texts.get(name, "") for texts in states)
            }  # fmt: skip
            if other:
                yield f"other texts than were stored, and not a word of it: {sorted(other)}{when}"
        # Texts that the first look reported as damaged may be gone after the repair.
        if not looks[0].errors and all(seen.texts.keys() != texts.keys() for texts in states):
            lost = {name for texts in states for name in texts} - seen.texts.keys()
            yield f"gone without a word: {sorted(lost)}{when}"
    if len(looks) == 2:
        lost = {name for name, text in looks[0].texts.items() if looks[1].texts.get(name, "") != text}
        if lost:
            yield f"could be read before it was mended, and not after: {sorted(lost)}"
