"""Documents on their way in: read, grouped in batches of bounded size, and cut into chunks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np

from monograph.derive.chunk import cut
from monograph.derive.derivation import embedded_text, vector_key
from monograph.derive.embed.given import GivenVectors
from monograph.errors import InvalidDocument
from monograph.models import Embedder
from monograph.read.child import PROCESSES
from monograph.read.file import Part, ReadTask, is_harmless, parts_or_error
from monograph.read.limits import Limits
from monograph.read.paths import text_to_path
from monograph.read.pool import ReaderPool
from monograph.read.source import problem_of
from monograph.settings import Settings
from monograph.store.documents import documents, sources
from monograph.store.file.checksums import given_vector_key
from monograph.store.file.database import Connection
from monograph.store.vectors.vectors import pack
from monograph.values import Chunk, Document, Float32, OnProgress, Plan, Problem, Progress, content_hash

T = TypeVar("T")

BATCH_CHARACTERS = 2_000_000
BATCH_DOCUMENTS = 1_024
"""Size at which a batch ends: BATCH_CHARACTERS characters or BATCH_DOCUMENTS documents.

So memory is bounded, and a crash loses little work.
"""

BATCH_FILES = 256
"""Number of documents in a batch of a sync.

Other processes precompute the next batch while one batch is written. They are idle during the first and the last batch,
and smaller batches shorten that time. An ``add`` has larger batches, because one document that cannot be stored fails
its whole batch.
"""

FEW_FILES = 64
"""Largest number of files that are read without starting child processes, if all files have harmless formats.

The harmless formats are plain text, Markdown and JSON Lines.
"""

CUTTER = 1
"""Version of the code that cuts chunks.

Increase it when the code cuts differently. Documents are then cut again at their next sync.
"""

ROUNDING = 1e-6
"""Largest difference between 1 and the length of a float32 vector that counts as a unit vector."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """Documents of one source, or of one part of a large source, on their way into a batch.

    ``source`` is None for documents of a caller. ``before`` has the ids of the documents in earlier parts of the
    source. ``last`` is True for the last part. If a part could not be read, ``broken`` is True: the source is read
    again at the next sync, and its stored documents stay.
    """

    source: sources.SourceRow | None
    documents: tuple[Document, ...]
    before: frozenset[str] = frozenset()
    last: bool = True
    broken: bool = False


def batches(parcels: Iterable[Parcel], most: int) -> Iterator[list[Parcel]]:
    """Group parcels, in order, into batches.

    A batch ends when it has BATCH_CHARACTERS characters or ``most`` documents.
    """
    return grouped(
        parcels,
        (lambda parcel: sum(len(document.text) for document in parcel.documents), BATCH_CHARACTERS),
        (lambda parcel: max(1, len(parcel.documents)), most),
    )


def grouped(items: Iterable[T], *bounds: tuple[Callable[[T], int], int]) -> Iterator[list[T]]:
    """Group items in order. A group ends when it reaches a bound.

    Each bound is (function that returns the size of an item, total size of items that ends a group).
    """
    group: list[T] = []
    sizes = [0] * len(bounds)
    for item in items:
        group.append(item)
        sizes = [size + size_of(item) for size, (size_of, _) in zip(sizes, bounds, strict=True)]
        if any(size >= most for size, (_, most) in zip(sizes, bounds, strict=True)):
            yield group
            group, sizes = [], [0] * len(bounds)
    if group:
        yield group


Pictured: TypeAlias = Callable[[str, Part, list[Problem]], tuple[Document, ...]]
"""Function that returns the documents of a part of a file, with texts in place of pictures.

Its arguments are the uri of the file, the part, and a list of problems. The function adds its own problems to the list.
"""


def read_plan(
    plan: Plan,
    limits: Limits,
    problems: list[Problem],
    on_progress: OnProgress | None,
    pictured: Pictured | None = None,
) -> Iterator[Parcel]:
    """Read the new and changed files of a plan, and yield their documents as parcels, in the order of the plan.

    Errors are added to ``problems``. The function ``pictured`` puts texts in place of pictures. Without it, words in
    pictures are recognised if the extra ``ocr`` is installed. Progress is reported before the documents of each file.
    """
    work = [change for change in plan.changes if change.kind in ("new", "changed")]
    roots = {root.name: root for root in plan.roots}
    describing = pictured is not None
    tasks = [
        ReadTask(text_to_path(roots[change.root].path(change.uri)), roots[change.root], limits, describing)
        for change in work
    ]
    total = sum(change.size for change in work)
    done = -1
    read = 0
    before: frozenset[str] = frozenset()
    with ExitStack() as closing:
        parts: Iterator[tuple[int, Part]]
        if len(tasks) <= FEW_FILES and all(is_harmless(task.path) for task in tasks):
            parts = ((index, part) for index, task in enumerate(tasks) for part in parts_or_error(task.parts()))
        else:
            parts = closing.enter_context(ReaderPool(PROCESSES)).read(tasks)
        for index, part in parts:
            change = work[index]
            if index != done:
                if on_progress is not None:
                    on_progress(Progress("sync", index, len(work), "files", change.uri, read, total))
                done, before, read = index, frozenset(), read + change.size
            problems.extend(part.problems)
            if part.error is not None:
                problems.append(problem_of(change.uri, part.error))
                if not (part.documents or before):
                    continue
            state = sources.SourceRow(change.uri, change.root, part.sha256, part.size, part.modified_ns)
            contents = part.documents if pictured is None else pictured(change.uri, part, problems)
            yield Parcel(state, contents, before, part.last, part.error is not None)
            before |= {document.id for document in contents}
    if on_progress is not None and work:
        on_progress(Progress("sync", len(work), len(work), "files", "", total, total))


def changed(connection: Connection, parcel: Parcel, settings: Settings) -> Iterator[tuple[Document, bytes]]:
    """Yield (document, hash) for each document of a parcel that differs from the stored one.

    The hash is its :func:`document_hash`.
    """
    stored = documents.of_ids(connection, [document.id for document in parcel.documents])
    for document in parcel.documents:
        sha256 = document_hash(document, settings)
        if document.id not in stored or stored[document.id].sha256 != sha256:
            yield document, sha256


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """Document that can be stored as soon as the memo holds the vectors of its chunks.

    ``sha256`` is its :func:`document_hash`. ``keys`` are the memo keys of the chunks' vectors, in the order of the
    chunks. ``given`` has, by memo key, the packed vectors that the caller gave with chunks.
    """

    document: Document
    sha256: bytes
    chunks: tuple[Chunk, ...]
    keys: tuple[bytes, ...]
    given: Mapping[bytes, bytes]

    @property
    def texts(self) -> dict[bytes, str]:
        """Texts to embed, by the memo keys of their vectors."""
        return {
            key: embedded_text(self.document.title, chunk.metadata, chunk.text)
            for key, chunk in zip(self.keys, self.chunks, strict=True)
            if key not in self.given
        }


def document_hash(document: Document, settings: Settings) -> bytes:
    """Return the SHA-256 of everything that a document's rows depend on. A document with an equal hash is unchanged."""
    passages = []
    for passage in document.passages:
        vector = passage.vector if passage.vector is None else pack(np.asarray(passage.vector, dtype=np.float32))
        vector_hash = "" if vector is None else hashlib.sha256(vector).hexdigest()
        start = () if passage.start is None else (passage.start,)
        passages.append((passage.id, passage.text, dict(passage.metadata), vector_hash, *start))
    return content_hash(
        "document", CUTTER, settings.chunk_tokens, settings.chunk_overlap, document.uri, document.title, document.text,
        dict(document.metadata), [(section.start, section.path) for section in document.sections], passages,
        [(place.start, place.boundary, place.metadata()) for place in document.places],
    )  # fmt: skip


def prepare(
    work: Sequence[tuple[Document, bytes]], embedder: Embedder, settings: Settings
) -> list[PreparedDocument | Problem]:
    """Cut documents into chunks, and compute the memo keys of their vectors. Return results in the order of ``work``.

    ``work`` has (document, hash) pairs. The result for a document that cannot be stored is a problem. The reasons are:
    the document is too long, two of its chunks have the same id, a passage is empty, or a given vector is missing, not
    finite, or of another length than the embedder's.
    """
    result: list[PreparedDocument | Problem] = []
    for document, sha256 in work:
        try:
            chunks = tuple(cut(document, settings))
            if len(document.text) > documents.LONGEST_TEXT:
                characters = f"{len(document.text):,} characters"
                raise InvalidDocument(f"document {document.id!r} has {characters}", "split it into parts")
            if len({chunk.id for chunk in chunks}) < len(chunks):
                fault = f"document {document.id!r} has two chunks with the same id"
                raise InvalidDocument(fault, "give every chunk an id of its own")
            vectors = [passage.vector for passage in document.passages] or [None] * len(chunks)
            packed = [
                None if vector is None else _pack_vector(chunk, vector, embedder.dimension)
                for chunk, vector in zip(chunks, vectors, strict=True)
            ]
            result.append(with_keys(document, sha256, chunks, packed, embedder))
        except InvalidDocument as error:
            result.append(Problem(document.uri, error.message, error.hint))
    return result


def with_keys(
    document: Document, sha256: bytes, chunks: tuple[Chunk, ...], given: Iterable[bytes | None], embedder: Embedder
) -> PreparedDocument:
    """Return a prepared document, from its chunks and the packed vectors that the caller gave with them.

    ``given`` has one vector per chunk, None for a chunk without one. Raises InvalidDocument if a vector is missing in a
    file whose vectors are given by the caller.
    """
    keys: list[bytes] = []
    given_vectors: dict[bytes, bytes] = {}
    for chunk, vector in zip(chunks, given, strict=True):
        if vector is not None:
            keys.append(given_vector_key(vector))
            given_vectors[keys[-1]] = vector
        elif isinstance(embedder, GivenVectors):
            raise InvalidDocument(
                f"chunk {chunk.id!r} has no vector, and this file has no embedder: all its vectors were given",
                "give its vector, or compute all vectors: monograph reembed FILE static",
            )
        else:
            keys.append(vector_key(embedder.key, embedded_text(document.title, chunk.metadata, chunk.text)))
    return PreparedDocument(document, sha256, chunks, tuple(keys), given_vectors)


def _pack_vector(chunk: Chunk, values: Float32, dimension: int) -> bytes:
    vector = np.asarray(values, dtype=np.float32)
    if vector.shape != (dimension,):
        raise InvalidDocument(
            f"the vector of chunk {chunk.id!r} has shape {vector.shape}; the file's vectors have {dimension} values",
            "give vectors of one model only, or leave them out to have them computed",
        )
    if not np.isfinite(vector).all():
        raise InvalidDocument(f"the vector of chunk {chunk.id!r} is not finite", "leave it out to have it computed")
    return pack(normalised(vector))


def normalised(vector: Float32) -> Float32:
    """Return a vector scaled to unit length.

    Unit vectors, zero vectors and vectors that are not finite are returned unchanged.
    """
    length = float(np.linalg.norm(vector.astype(np.float64)))
    return (
        vector
        if length == 0 or not np.isfinite(length) or abs(length - 1) < ROUNDING
        else (vector.astype(np.float64) / length).astype(np.float32)
    )
