"""Documents on their way in, in batches of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from monograph.errors import SourceError
from monograph.ingest.limits import Limits
from monograph.ingest.prepare import document_hash
from monograph.ingest.read import read_file, uri_to_path
from monograph.settings import Settings
from monograph.store import documents, sources
from monograph.store.database import Connection
from monograph.values import Change, Document, Problem, Progress, Watcher

BATCH_CHARACTERS = 2_000_000
BATCH_DOCUMENTS = 1_024
"""A batch ends at either bound: memory stays bounded, and a crash costs little."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """What one source holds; ``source`` is None for documents that a caller handed over."""

    source: sources.Source | None
    documents: tuple[Document, ...]


def batches(parcels: Iterable[Parcel]) -> Iterator[list[Parcel]]:
    """Group parcels, in order, until a batch is large enough."""
    batch: list[Parcel] = []
    characters = count = 0
    for parcel in parcels:
        batch.append(parcel)
        characters += sum(len(document.text) for document in parcel.documents)
        count += max(1, len(parcel.documents))
        if characters >= BATCH_CHARACTERS or count >= BATCH_DOCUMENTS:
            yield batch
            batch, characters, count = [], 0, 0
    if batch:
        yield batch


def readings(
    work: Sequence[Change], limits: Limits, problems: list[Problem], watcher: Watcher | None
) -> Iterator[Parcel]:
    """Read files one by one; what cannot be read becomes a problem. The watcher hears of each file once it is read."""
    for done, change in enumerate(work):
        if watcher is not None:
            watcher(Progress("sync", done, len(work), "files", change.uri))
        try:
            reading = read_file(uri_to_path(change.uri), uri_to_path(change.root), limits)
        except SourceError as error:
            problems.append(Problem(change.uri, error.message, error.mend))
            continue
        problems.extend(reading.problems)
        source = sources.Source(reading.uri, change.root, reading.sha256, reading.size, reading.modified_ns)
        yield Parcel(source, reading.documents)
    if watcher is not None and work:
        watcher(Progress("sync", len(work), len(work), "files"))


def changed(connection: Connection, parcel: Parcel, settings: Settings) -> Iterator[tuple[Document, bytes]]:
    """The documents of a parcel that are not stored as they are, with their hashes."""
    for document in parcel.documents:
        sha256 = document_hash(document, settings)
        row = documents.find(connection, document.id)
        if row is None or row.sha256 != sha256:
            yield document, sha256
