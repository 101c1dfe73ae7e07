"""What a batch changes: a pure function of the batch and of what the file holds."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

from monograph import telemetry
from monograph.errors import BusyFile, InvalidDocument, MonographError
from monograph.store.documents import documents
from monograph.store.documents.sources import Source
from monograph.values import Move, Problem, Report
from monograph.write.batch import Parcel, Prepared


@dataclass(slots=True)
class Tally:
    """Counts of a :class:`~monograph.values.Report` that is still growing."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    same: int = 0
    chunks_added: int = 0
    chunks_removed: int = 0
    embedded: int = 0
    remembered: int = 0
    extracted: int = 0
    fell_back: int = 0
    summarized: int = 0
    described: int = 0
    problems: list[Problem] = field(default_factory=list)
    moved: list[Move] = field(default_factory=list)

    def include(self, other: Tally) -> None:
        """Add another tally to this one."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))

    def report(self, started: float) -> Report:
        """Return the counts as a report, and count them for telemetry; ``started`` by ``time.perf_counter``."""
        for outcome in ("added", "changed", "removed"):
            attributes = {"monograph.outcome": outcome}
            telemetry.count("monograph.documents", getattr(self, outcome), "{document}", attributes)
        telemetry.count("monograph.problems", len(self.problems), "{problem}")
        counts = {one.name: getattr(self, one.name) for one in fields(self)}
        given = counts | {"problems": tuple(self.problems), "moved": tuple(self.moved)}
        return Report(**given, seconds=time.perf_counter() - started)


@dataclass(frozen=True, slots=True)
class Ready:
    """A parcel with its changed documents prepared, and the problems of those that could not be."""

    parcel: Parcel
    prepared: tuple[Prepared, ...]
    failed: tuple[Problem, ...]


class Overtaken(BusyFile):
    """Another writer changed a document between the reading of it and the writing."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a batch was made from: hashes of stored documents by id, None for an id that was not there.

    ``gone`` are the ids among them whose documents the batch removes.
    """

    hashes: Mapping[str, bytes | None]
    gone: Sequence[str] = ()


NOTHING_SEEN = Seen({})


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored document.

    Parameters
    ----------
    row:
        Its row.
    file:
        The uri of its file; None for a document that a caller handed over.
    chunks:
        (row, start, end) of its chunks by id, for a document that may be replaced or removed.
    text:
        Its text, for a document that may be replaced.
    fault:
        Why it cannot be read; None for a readable document.
    """

    row: documents.DocumentRow
    file: str | None
    chunks: Mapping[str, tuple[int, int, int]]
    text: str = ""
    fault: MonographError | None = None

    @property
    def texts(self) -> dict[str, str]:
        """The texts of its chunks by id."""
        return {name: self.text[start:end] for name, (_, start, end) in self.chunks.items()}


@dataclass(frozen=True, slots=True)
class Target:
    """A document as a batch leaves it, the uri of its file, and the stored document that it replaces, if any."""

    prepared: Prepared
    file: str | None
    stored: Stored | None


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as a batch leaves it: ``faulty`` if a part could not be stored, ``unfinished`` if more parts follow."""

    source: Source
    faulty: bool
    unfinished: bool


@dataclass(frozen=True, slots=True)
class State:
    """What the file holds that a batch touches.

    Parameters
    ----------
    documents:
        By id: those of the batch's ids, and the other documents of its files.
    owners:
        Id of the document by chunk id, for the batch's chunks.
    faulty:
        Uris of files of which a part could not be stored.
    """

    documents: Mapping[str, Stored]
    owners: Mapping[str, str]
    faulty: frozenset[str]


@dataclass(frozen=True, slots=True)
class Changes:
    """What a batch changes in the file, with the tally of it; ``refuse`` says why documents are not stored."""

    insert: tuple[Target, ...]
    replace: tuple[Target, ...]
    remove: tuple[Stored, ...]
    refuse: tuple[MonographError, ...]
    files: tuple[FileState, ...]
    tally: Tally


def decide(batch: Sequence[Ready], state: State, seen: Seen = NOTHING_SEEN) -> Changes:
    """Compare a batch with what the file holds.

    The outcome is that of storing its documents one after the other: a later document of an id replaces an earlier
    one, and takes over chunk ids that this one gave up.

    Raises
    ------
    Overtaken
        If a document is not as it was seen.
    """
    for name, sha256 in seen.hashes.items():
        known = state.documents.get(name)
        if (None if known is None else known.row.sha256) != sha256:
            raise Overtaken(f"document {name!r} is being changed by others as well", "try again")
    decision = _Decision(state)
    for name in seen.gone:
        decision.remove(name)
    for one in batch:
        decision.store(one)
    return decision.changes()


@dataclass(frozen=True, slots=True)
class _Standing:
    """A document at some point of a batch; ``prepared`` if the batch stores it."""

    uri: str
    file: str | None
    sha256: bytes
    texts: Mapping[str, str]
    stored: Stored | None
    prepared: Prepared | None = None


class _Decision:
    """Goes through a batch, parcel by parcel, and keeps what the file would hold then."""

    def __init__(self, state: State) -> None:
        self._documents = {
            name: _Standing(one.row.uri, one.file, one.row.sha256, one.texts, one)
            for name, one in state.documents.items()
        }
        self._of_file: defaultdict[str, set[str]] = defaultdict(set)
        for name, one in state.documents.items():
            if one.file is not None:
                self._of_file[one.file].add(name)
        self._owners = dict(state.owners)
        self._faulty = set(state.faulty)
        self._files: dict[str, FileState] = {}
        self._removed: list[Stored] = []
        self._refused: list[MonographError] = []
        self._tally = Tally()

    def remove(self, name: str) -> None:
        """Remove a document if it is there."""
        one = self._documents.pop(name, None)
        if one is None:
            return
        if one.file is not None:
            self._of_file[one.file].discard(name)
        if one.stored is not None:
            self._removed.append(one.stored)
        for chunk in one.texts:
            self._owners.pop(chunk, None)
        self._tally.removed += 1
        self._tally.chunks_removed += len(one.texts)

    def store(self, ready: Ready) -> None:
        """Store a parcel, and remove the documents that its file no longer holds."""
        parcel = ready.parcel
        file = None if parcel.source is None else parcel.source.uri
        problems = list(ready.failed)
        for prepared in ready.prepared:
            error = self._put(prepared, file)
            if error is not None:
                self._refused.append(error)
                problems.append(Problem(prepared.document.uri, error.message, error.mend))
        self._tally.same += len(parcel.documents) - len(ready.prepared) - len(ready.failed)
        self._tally.problems += problems
        if parcel.source is None or file is None:
            return
        if parcel.last and not parcel.broken:
            listed = parcel.before | {document.id for document in parcel.documents}
            for name in sorted(self._of_file[file] - listed):
                self.remove(name)
        # What an earlier part left behind.
        faulty = bool(problems) or parcel.broken or (bool(parcel.before) and file in self._faulty)
        (self._faulty.add if faulty else self._faulty.discard)(file)
        self._files[file] = FileState(parcel.source, faulty, not parcel.last)

    def _put(self, prepared: Prepared, file: str | None) -> MonographError | None:
        """Store a document; return why it cannot be stored."""
        document, texts = prepared.document, {chunk.id: chunk.text for chunk in prepared.chunks}
        known = self._documents.get(document.id)
        if known is not None and known.file != file:
            return InvalidDocument(
                f"the id {document.id!r} from {document.uri or 'a caller'} is taken"
                f" by a document from {known.uri or 'a caller'}",
                "give it another id, or remove the other document",
            )
        if known is not None and known.sha256 == prepared.sha256:
            self._tally.same += 1  # Another process was faster.
            return None
        if known is not None and known.prepared is None and known.stored is not None and known.stored.fault is not None:
            return known.stored.fault
        taken = next((name for name in texts if self._owners.get(name, document.id) != document.id), None)
        if taken is not None:
            return InvalidDocument(
                f"chunk {taken!r} of document {document.id!r} belongs to another document", "give it an id of its own"
            )
        before = {} if known is None else known.texts
        kept = sum(texts.get(name) == text for name, text in before.items())
        self._tally.added += known is None
        self._tally.changed += known is not None
        self._tally.chunks_added += len(texts) - kept
        self._tally.chunks_removed += len(before) - kept
        for name in before:
            self._owners.pop(name, None)
        self._owners.update(dict.fromkeys(texts, document.id))
        stored = None if known is None else known.stored
        self._documents[document.id] = _Standing(document.uri, file, prepared.sha256, texts, stored, prepared)
        if file is not None:
            self._of_file[file].add(document.id)
        return None

    def changes(self) -> Changes:
        """Return what is different from what the file holds."""
        targets = [
            Target(one.prepared, one.file, one.stored) for one in self._documents.values() if one.prepared is not None
        ]
        return Changes(
            tuple(one for one in targets if one.stored is None),
            tuple(one for one in targets if one.stored is not None),
            tuple(self._removed),
            tuple(self._refused),
            tuple(self._files.values()),
            self._tally,
        )
