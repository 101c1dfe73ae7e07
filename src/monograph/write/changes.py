"""Changes of a batch: a pure function of the batch and of the stored documents."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from monograph import telemetry
from monograph.errors import BusyFile, InvalidDocument, MonographError
from monograph.store.documents import documents
from monograph.store.documents.sources import SourceRow
from monograph.values import Move, Problem, Report
from monograph.write.batch import Parcel, PreparedDocument


@dataclass(slots=True)
class Tally:
    """Counts that become a :class:`~monograph.values.Report` when the work is done."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    same: int = 0
    chunks_added: int = 0
    chunks_removed: int = 0
    embedded: int = 0
    reused: int = 0
    extracted: int = 0
    fell_back: int = 0
    summarized: int = 0
    described: int = 0
    problems: list[Problem] = field(default_factory=list)
    moved: list[Move] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter, compare=False)

    def include(self, other: Tally) -> None:
        """Add another tally to this one."""
        for name in _COUNTED:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def report(self) -> Report:
        """Return a report with the counts and the time since the tally was created; record both for telemetry."""
        for outcome in ("added", "changed", "removed"):
            attributes = {"monograph.outcome": outcome}
            telemetry.count("monograph.documents", getattr(self, outcome), "{document}", attributes)
        telemetry.count("monograph.problems", len(self.problems), "{problem}")
        counts = {name: getattr(self, name) for name in _COUNTED}
        values = counts | {"problems": tuple(self.problems), "moved": tuple(self.moved)}
        return Report(**values, seconds=time.perf_counter() - self.started)


_COUNTED = [attribute.name for attribute in fields(Tally) if attribute.name != "started"]


@dataclass(frozen=True, slots=True)
class PreparedParcel:
    """Parcel with its changed documents prepared, and the problems of documents that cannot be stored."""

    parcel: Parcel
    prepared: tuple[PreparedDocument, ...]
    failed: tuple[Problem, ...]


class ConcurrentChange(BusyFile):
    """Another writer changed a document after it was read and before it was written."""


@dataclass(frozen=True, slots=True)
class ReadState:
    """Stored state that a batch was computed from.

    ``hashes`` has the hash of each stored document, by id; None for an id without a document. ``gone`` has the ids of
    documents that the batch removes.
    """

    hashes: Mapping[str, bytes | None]
    gone: Sequence[str] = ()


NOTHING_SEEN = ReadState({})


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """Stored document that a batch may replace or remove.

    ``file`` is the uri of the file that it comes from; None for a document that a caller handed over. ``chunks`` maps a
    chunk id to (row, start, end). ``text`` is loaded only for a document that may be replaced. If reading the text
    failed, ``fault`` is the error.
    """

    row: documents.DocumentRow
    file: str | None
    chunks: Mapping[str, tuple[int, int, int]]
    text: str = ""
    fault: MonographError | None = None

    @property
    def uri(self) -> str:
        """Uri of the document."""
        return self.row.uri

    @property
    def sha256(self) -> bytes:
        """Hash of the document: see :func:`monograph.write.batch.document_hash`."""
        return self.row.sha256

    @property
    def texts(self) -> dict[str, str]:
        """Text of each chunk of the document, by chunk id."""
        return {name: self.text[start:end] for name, (_, start, end) in self.chunks.items()}


@dataclass(frozen=True, slots=True)
class Target:
    """Document in its state after a batch.

    ``file`` is the uri of the document's file; None for a document of a caller. ``stored`` is the stored document to
    replace, or None.
    """

    prepared: PreparedDocument
    file: str | None
    stored: StoredDocument | None

    @property
    def uri(self) -> str:
        """Uri of the document."""
        return self.prepared.document.uri

    @property
    def sha256(self) -> bytes:
        """Hash of the document: see :func:`monograph.write.batch.document_hash`."""
        return self.prepared.sha256

    @property
    def texts(self) -> dict[str, str]:
        """Text of each chunk of the document, by chunk id."""
        return {chunk.id: chunk.text for chunk in self.prepared.chunks}


@dataclass(frozen=True, slots=True)
class FileState:
    """State of a source file after a batch.

    ``faulty`` is True if a part of the file could not be stored, ``unfinished`` if more parts of the file follow.
    """

    source: SourceRow
    faulty: bool
    unfinished: bool


@dataclass(frozen=True, slots=True)
class State:
    """Stored rows that a batch may change.

    ``documents`` maps ids to stored documents. It has the documents whose ids occur in the batch, and the documents
    that files of the batch no longer contain. ``owners`` maps chunk ids that occur in the batch to the ids of the
    stored documents that have these chunks. ``faulty`` has the uris of files of which a part could not be stored.
    """

    documents: Mapping[str, StoredDocument]
    owners: Mapping[str, str]
    faulty: frozenset[str]


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes that a batch makes in the file, with its tally.

    ``refuse`` has the errors of the documents that cannot be stored.
    """

    insert: tuple[Target, ...]
    replace: tuple[Target, ...]
    remove: tuple[StoredDocument, ...]
    refuse: tuple[MonographError, ...]
    files: tuple[FileState, ...]
    tally: Tally


def decide(batch: Sequence[PreparedParcel], state: State, seen: ReadState = NOTHING_SEEN) -> Changes:
    """Compare a batch with the stored documents, and return the changes that it makes.

    The result is the same as if the documents were stored one after the other. A later document replaces an earlier one
    with the same id. It may also use chunk ids that an earlier change has freed. Raises ConcurrentChange if the hash of
    a stored document differs from its hash in ``seen``.
    """
    for name, sha256 in seen.hashes.items():
        stored = state.documents.get(name)
        if (None if stored is None else stored.row.sha256) != sha256:
            raise ConcurrentChange(f"document {name!r} was changed by another write at the same time", "try again")
    decision = _Decision(state)
    for name in seen.gone:
        decision.remove(name)
    for ready in batch:
        decision.store(ready)
    targets = [document for document in decision.documents.values() if isinstance(document, Target)]
    return Changes(
        tuple(target for target in targets if target.stored is None),
        tuple(target for target in targets if target.stored is not None),
        tuple(decision.removed),
        tuple(decision.refused),
        tuple(decision.files.values()),
        decision.tally,
    )


class _Decision:
    """State of the documents while the parcels of a batch are applied one after the other, without writing."""

    def __init__(self, state: State) -> None:
        self.documents: dict[str, StoredDocument | Target] = dict(state.documents)
        self.removed: list[StoredDocument] = []
        self.refused: list[MonographError] = []
        self.files: dict[str, FileState] = {}
        self.tally = Tally()
        self._names_by_file: defaultdict[str | None, set[str]] = defaultdict(set)
        for name, stored in state.documents.items():
            self._names_by_file[stored.file].add(name)
        self._owners = dict(state.owners)
        self._faulty = set(state.faulty)

    def remove(self, name: str) -> None:
        """Remove the document with an id; do nothing if there is none."""
        document = self.documents.pop(name, None)
        if document is None:
            return
        self._names_by_file[document.file].discard(name)
        stored = document if isinstance(document, StoredDocument) else document.stored
        if stored is not None:
            self.removed.append(stored)
        for chunk in document.texts:
            self._owners.pop(chunk, None)
        self.tally.removed += 1
        self.tally.chunks_removed += len(document.texts)

    def store(self, ready: PreparedParcel) -> None:
        """Store a parcel, and remove the stored documents that its file no longer contains."""
        parcel = ready.parcel
        file = None if parcel.source is None else parcel.source.uri
        problems = list(ready.failed)
        for prepared in ready.prepared:
            error = self._put(Target(prepared, file, None))
            if error is not None:
                self.refused.append(error)
                problems.append(Problem(prepared.document.uri, error.message, error.hint))
        self.tally.same += len(parcel.documents) - len(ready.prepared) - len(ready.failed)
        self.tally.problems += problems
        if parcel.source is None or file is None:
            return
        if parcel.last and not parcel.broken:
            listed = parcel.before | {document.id for document in parcel.documents}
            for name in sorted(self._names_by_file[file] - listed):
                self.remove(name)
        # A fault in an earlier part of the file, stored with another batch, still counts.
        faulty = bool(problems) or parcel.broken or (bool(parcel.before) and file in self._faulty)
        (self._faulty.add if faulty else self._faulty.discard)(file)
        self.files[file] = FileState(parcel.source, faulty, not parcel.last)

    def _put(self, new: Target) -> MonographError | None:
        """Store a document. If it cannot be stored, return the error; otherwise None."""
        name, texts = new.prepared.document.id, new.texts
        old = self.documents.get(name)
        if old is not None and old.file != new.file:
            return InvalidDocument(
                f"the id {name!r} from {new.uri or 'a caller'} is taken by a document from {old.uri or 'a caller'}",
                "give it another id, or remove the other document",
            )
        if old is not None and old.sha256 == new.sha256:
            self.tally.same += 1  # Another process has stored the same document meanwhile.
            return None
        if isinstance(old, StoredDocument) and old.fault is not None:
            return old.fault
        conflict = next((chunk for chunk in texts if self._owners.get(chunk, name) != name), None)
        if conflict is not None:
            return InvalidDocument(
                f"chunk {conflict!r} of document {name!r} belongs to another document", "give it an id of its own"
            )
        before = {} if old is None else old.texts
        kept = sum(texts.get(chunk) == text for chunk, text in before.items())
        self.tally.added += old is None
        self.tally.changed += old is not None
        self.tally.chunks_added += len(texts) - kept
        self.tally.chunks_removed += len(before) - kept
        for chunk in before:
            self._owners.pop(chunk, None)
        self._owners.update(dict.fromkeys(texts, name))
        stored = old.stored if isinstance(old, Target) else old
        self.documents[name] = replace(new, stored=stored)
        self._names_by_file[new.file].add(name)
        return None
