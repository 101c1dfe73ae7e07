"""Damaged files: whatever is asked of one, it answers or says in an error of ours what is wrong.

What it answers is what was stored, and what it holds no more it does not pass over in silence.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

from monograph import Monograph
from monograph.errors import MonographError, NotFound
from soak.corpus import opened
from soak.harm import Damaged, Original, Texts, damaged
from soak.plant import Alter
from soak.process import Outcome, Tell, apart
from soak.state import HOWS, QUESTIONS
from soak.tally import Fault, Tally

SECONDS = 60
"""For all that is asked of one file."""


@dataclass(slots=True)
class Seen:
    """What a file answered: the texts and passages of documents by id, and all that was refused and found."""

    texts: dict[str, str] = field(default_factory=dict)
    chunks: dict[str, list[str]] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)


def ask(path: Path, original: Original, tell: Tell, *, hint: bool) -> None:
    """Ask everything of a file, telling of each answer."""
    tell("open")
    with opened(path) as monograph:
        tell(("seen", look(monograph, original.states[-1], tell)))
        if hint:
            tell("check --repair")
            left = said_of(lambda: [f"{one.table}: {one.fault}" for one in monograph.check(repair=True)])
            tell(("repaired", left))
            tell(("seen", look(monograph, original.states[-1], tell)))


def said_of(check: Callable[[], list[str]]) -> list[str]:
    """What a check finds, or the error of ours that it ends with."""
    try:
        return check()
    except MonographError as error:
        return [f"{type(error).__name__}: {error}"]


def look(monograph: Monograph, known: Texts, tell: Tell) -> Seen:
    """Read, search, count and check."""
    seen = Seen()
    for name, part in _parts(monograph, known, seen):
        tell(name)
        try:
            part()
        except MonographError as error:
            seen.said.append(f"{name}: {type(error).__name__}: {error}")
    return seen


@dataclass(frozen=True, slots=True)
class _Question:
    """What is asked of a damaged file, and what is kept of the answers."""

    monograph: Monograph
    known: Texts
    seen: Seen

    def texts(self) -> None:
        """All documents, by list."""
        for one in self.monograph.documents():
            self._read(one.id)

    def by_name(self) -> None:
        """All documents that were there, by id."""
        for name in self.known.keys() - self.seen.texts.keys():
            self._read(name)

    def _read(self, name: str) -> None:
        try:
            self.seen.texts[name] = self.monograph.document(name).text
        except NotFound:
            pass
        except MonographError as error:
            self.seen.said.append(f"document {name}: {error}")

    def chunks(self) -> None:
        """All passages with their vectors."""
        for one in self.monograph.fetch(vectors=True):
            self.seen.chunks.setdefault(one.chunk.document_id, []).append(one.chunk.text)

    def find(self, how: str) -> None:
        """What a search finds."""
        if how != "tree" or self.monograph.stats().tree is not None:
            for hit in self.monograph.search(QUESTIONS[0], 5, how):
                if hit.chunk.document_id:
                    self.seen.chunks.setdefault(hit.chunk.document_id, []).append(hit.chunk.text)

    def entities(self) -> None:
        """What is named."""
        self.monograph.graph.entities()
        self.monograph.graph.merges()

    def outline(self) -> None:
        """The tree."""
        if self.monograph.stats().tree is not None:
            self.monograph.tree.outline()

    def check(self) -> None:
        """What a check finds."""
        self.seen.said += [f"check: {one.table}: {one.fault}" for one in self.monograph.check()]


def _parts(monograph: Monograph, known: Texts, seen: Seen) -> Iterator[tuple[str, Callable[[], object]]]:
    question = _Question(monograph, known, seen)
    yield "stats", monograph.stats
    yield "documents", question.texts
    yield "document", question.by_name
    yield "chunks", question.chunks
    for how in HOWS:
        yield f"search {how}", partial(question.find, how)
    yield "entities", question.entities
    yield "outline", question.outline
    yield "check", question.check


def case(folder: Path, known: list[Original], seed: int, number: int, alter: Alter | None = None) -> Tally:
    """Damage a file, ask everything of it, repair it, and ask again.

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
    ask(path, made.original, tell, hint=True)


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
    if not seen.said:
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
