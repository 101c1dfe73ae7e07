"""Documents on their way in: read, grouped in batches of bounded size, and cut into chunks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from monograph.derive.chunk import cut
from monograph.derive.derivation import embedded_text, vector_key
from monograph.derive.embed.given import GivenVectors
from monograph.errors import InvalidDocument
from monograph.models import Embedder
from monograph.read.file import Part, ReadTask, is_harmless
from monograph.read.limits import Limits
from monograph.read.paths import text_to_path
from monograph.read.pool import ReaderPool
from monograph.read.source import problem_of
from monograph.read.worker import PROCESSES
from monograph.settings import Settings
from monograph.store.documents import documents, sources
from monograph.store.file.checksums import given_key
from monograph.store.file.database import Connection
from monograph.store.vectors.vectors import pack
from monograph.values import Chunk, Document, Float32, OnProgress, Plan, Problem, Progress, content_hash

T = TypeVar("T")

BATCH_CHARACTERS = 2_000_000
BATCH_DOCUMENTS = 1_024
"""A batch ends at either bound: memory stays bounded, and a crash costs little."""

BATCH_FILES = 256
"""The same for documents of a folder, none of which is left out for another's sake: others make the next batch while
one is written, and at the first and the last they have nothing to do."""

FEW_FILES = 64
"""So many files are read in this process if all are texts, without looking for others to read beside them."""

CUTTER = 1
"""Raised when chunks are cut otherwise than before, so that documents are cut anew at their next sync."""

ROUNDING = 1e-6
"""Largest difference from 1 of the length of a unit vector in float32."""


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
    return grouped(
        parcels,
        (lambda parcel: sum(len(document.text) for document in parcel.documents), BATCH_CHARACTERS),
        (lambda parcel: max(1, len(parcel.documents)), most),
    )


def grouped(items: Iterable[T], *bounds: tuple[Callable[[T], int], int]) -> Iterator[list[T]]:
    """Group items, in order; each bound is the size of an item, and the size from which a group is full."""
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
    tasks = [ReadTask(text_to_path(roots[one.root].path(one.uri)), roots[one.root], limits, describing) for one in work]
    total = sum(change.size for change in work)
    done = -1
    read = 0
    before: frozenset[str] = frozenset()
    with ExitStack() as closing:
        parts: Iterator[tuple[int, Part]]
        if len(tasks) <= FEW_FILES and all(is_harmless(task.path) for task in tasks):
            parts = ((at, part) for at, task in enumerate(tasks) for part in task.parts_or_error())
        else:
            parts = closing.enter_context(ReaderPool(PROCESSES)).read(tasks)
        for at, part in parts:
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


@dataclass(frozen=True, slots=True)
class Vectored:
    """Memo key of a chunk's vector, and the text to embed, or the packed vector that came with the chunk."""

    key: bytes
    text: str
    given: bytes | None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document ready to be stored once the memo holds its vectors. ``sha256`` is :func:`document_hash`."""

    document: Document
    sha256: bytes
    chunks: tuple[Chunk, ...]
    vectors: tuple[Vectored, ...]

    @property
    def keys(self) -> list[bytes]:
        """Memo keys of the chunks' vectors, in the order of the chunks."""
        return [vector.key for vector in self.vectors]

    @property
    def texts(self) -> dict[bytes, str]:
        """Texts to embed, by the memo keys of their vectors."""
        return {vector.key: vector.text for vector in self.vectors if vector.given is None}

    @property
    def given(self) -> dict[bytes, bytes]:
        """Packed vectors that came with chunks, by their memo keys."""
        return {vector.key: vector.given for vector in self.vectors if vector.given is not None}


def document_hash(document: Document, settings: Settings) -> bytes:
    """SHA-256 of all that a document's rows are made of: equal hashes mean that nothing is to be done."""
    passages = []
    for one in document.passages:
        vector = one.vector if one.vector is None else pack(np.asarray(one.vector, dtype=np.float32))
        vector_hash = "" if vector is None else hashlib.sha256(vector).hexdigest()
        start = () if one.start is None else (one.start,)
        passages.append((one.id, one.text, dict(one.metadata), vector_hash, *start))
    return content_hash(
        "document", CUTTER, settings.chunk_tokens, settings.chunk_overlap, document.uri, document.title, document.text,
        dict(document.metadata), [(section.start, section.path) for section in document.sections], passages,
        [(place.start, place.boundary, place.metadata()) for place in document.places],
    )  # fmt: skip


def prepare(work: Sequence[tuple[Document, bytes]], embedder: Embedder, settings: Settings) -> list[Prepared | Problem]:
    """Cut documents and name what must be derived for them.

    Parameters
    ----------
    work:
        Documents with their hashes.
    embedder:
        Makes the vectors.
    settings:
        How chunks are cut.

    Returns
    -------
    In the order of ``work``; a problem for a document that cannot be stored: a passage is empty, or came with a
    vector of another length than the embedder's, or not finite.
    """
    result: list[Prepared | Problem] = []
    for document, sha256 in work:
        try:
            chunks = tuple(cut(document, settings))
            if documents.is_too_long(document):
                characters = f"{len(document.text):,} characters"
                raise InvalidDocument(f"document {document.id!r} has {characters}", "cut it in parts")
            if len({chunk.id for chunk in chunks}) < len(chunks):
                fault = f"document {document.id!r} has two chunks of one id"
                raise InvalidDocument(fault, "give every chunk an id of its own")
            given = [passage.vector for passage in document.passages] or [None] * len(chunks)
            vectors = (vectored(document, *pair, embedder) for pair in zip(chunks, given, strict=True))
            result.append(Prepared(document, sha256, chunks, tuple(vectors)))
        except InvalidDocument as error:
            result.append(Problem(document.uri, error.message, error.mend))
    return result


def vectored(document: Document, chunk: Chunk, given: Float32 | None, embedder: Embedder) -> Vectored:
    """Return what a chunk's vector is made from. Raises InvalidDocument if a given one is missing or of no use."""
    if given is None:
        if isinstance(embedder, GivenVectors):
            raise InvalidDocument(
                f"chunk {chunk.id!r} came without a vector, and nothing here can make one: the file's are all given",
                "give its vector, or make all anew: monograph reembed FILE static",
            )
        text = embedded_text(document.title, chunk.metadata, chunk.text)
        return Vectored(vector_key(embedder.key, text), text, None)
    vector = np.asarray(given, dtype=np.float32)
    if vector.shape != (embedder.dimension,):
        raise InvalidDocument(
            f"the vector of chunk {chunk.id!r} has shape {vector.shape}; the file's have {embedder.dimension} values",
            "give vectors of one model only, or leave them out to have them made",
        )
    if not np.isfinite(vector).all():
        raise InvalidDocument(f"the vector of chunk {chunk.id!r} is not finite", "leave it out to have it made")
    packed = pack(normalised(vector))
    return Vectored(given_key(packed), "", packed)


def normalised(vector: Float32) -> Float32:
    """A vector made to unit length; one that has it already, or has none that is finite, stays as it is to the bit."""
    length = float(np.linalg.norm(vector.astype(np.float64)))
    return (
        vector
        if length == 0 or not np.isfinite(length) or abs(length - 1) < ROUNDING
        else (vector.astype(np.float64) / length).astype(np.float32)
    )
