"""Documents on their way in, in batches of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from monograph.read.file import Part
from monograph.read.limits import Limits
from monograph.read.paths import text_to_path
from monograph.read.pool import ReaderPool
from monograph.read.process import Task
from monograph.read.source import problem_of
from monograph.read.worker import PROCESSES
from monograph.settings import Settings
from monograph.store.documents import documents, sources
from monograph.store.file.database import Connection
from monograph.values import Document, OnProgress, Plan, Problem, Progress
from monograph.write.prepare import document_hash

BATCH_CHARACTERS = 2_000_000
BATCH_DOCUMENTS = 1_024
"""A batch ends at either bound: memory stays bounded, and a crash costs little."""

BATCH_FILES = 256
"""The same for documents of a folder, none of which is left out for another's sake: others make the next batch while
one is written, and at the first and the last they have nothing to do."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """Documents of one source, or some of them; ``source`` is None for documents that a caller handed over.

    ``before`` are the ids of the documents in earlier parts, and ``last`` marks the last part of a source. A source of
    which a part is ``broken`` is read again at the next sync, and keeps what is stored of it.
    """

    source: sources.Source | None
    documents: tuple[Document, ...]
    before: frozenset[str] = frozenset()
    last: bool = True
    broken: bool = False


def batches(parcels: Iterable[Parcel], most: int) -> Iterator[list[Parcel]]:
    """Group parcels, in order, until a batch is large enough, or has as many documents as it may."""
    batch: list[Parcel] = []
    characters = count = 0
    for parcel in parcels:
        batch.append(parcel)
        characters += sum(len(document.text) for document in parcel.documents)
        count += max(1, len(parcel.documents))
        if characters >= BATCH_CHARACTERS or count >= most:
            yield batch
            batch, characters, count = [], 0, 0
    if batch:
        yield batch


class Pictured(Protocol):
    """Puts texts in place of the pictures in documents."""

    def documents(self, uri: str, part: Part, problems: list[Problem]) -> tuple[Document, ...]:
        """Return the documents of a part of a file."""
        ...


def readings(
    plan: Plan,
    limits: Limits,
    problems: list[Problem],
    on_progress: OnProgress | None,
    pictured: Pictured | None = None,
) -> Iterator[Parcel]:
    """Read the new and changed files of a plan; what cannot be read becomes a problem.

    Without ``pictured``, words are recognised in pictures where that can be done.

    Progress is told of each file once its turn comes.
    """
    work = [change for change in plan.changes if change.kind in ("new", "changed")]
    roots = {root.name: root for root in plan.roots}
    describing = pictured is not None
    tasks = [Task(text_to_path(roots[one.root].path(one.uri)), roots[one.root], limits, describing) for one in work]
    total = sum(change.size for change in work)
    done = -1
    read = 0
    before: frozenset[str] = frozenset()
    with ReaderPool(PROCESSES) as pool:
        for at, part in pool.read(tasks):
            change = work[at]
            if at != done:
                if on_progress is not None:
                    on_progress(Progress("sync", at, len(work), "files", change.uri, read, total))
                done, before, read = at, frozenset(), read + change.size
            problems.extend(part.problems)
            if part.error is not None:
                problems.append(problem_of(change.uri, part.error))
                if not (part.documents or before):
                    continue
            state = sources.Source(change.uri, change.root, part.sha256, part.size, part.modified_ns)
            held = part.documents if pictured is None else pictured.documents(change.uri, part, problems)
            yield Parcel(state, held, before, part.last, part.error is not None)
            before |= {document.id for document in held}
    if on_progress is not None and work:
        on_progress(Progress("sync", len(work), len(work), "files", "", total, total))


def changed(connection: Connection, parcel: Parcel, settings: Settings) -> Iterator[tuple[Document, bytes]]:
    """Yield the documents of a parcel that differ from the stored ones, with their hashes."""
    known = documents.of_ids(connection, [document.id for document in parcel.documents])
    for document in parcel.documents:
        sha256 = document_hash(document, settings)
        if document.id not in known or known[document.id].sha256 != sha256:
            yield document, sha256
