"""A document's chunks, and the keys of what is to be derived from them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from monograph.derive.embed.given import GivenVectors
from monograph.errors import InvalidDocument
from monograph.ingest.chunk import cut
from monograph.ingest.sentences import count_ahead
from monograph.models import Embedder, Extractor, Float32, Summarizer
from monograph.settings import Settings
from monograph.store import memo
from monograph.store.database import Connection, Database
from monograph.store.vectors import pack
from monograph.values import Chunk, Document, Metadata, Problem, content_hash
from monograph.vectors.index import EcoVectorIndex

CUTTER = 1
"""Raised when chunks are cut otherwise than before, so that documents are cut anew at their next sync."""

ROUNDING = 1e-6
"""How far from 1 the length of a unit vector in float32 may be."""

NONE: Mapping[bytes, bytes] = MappingProxyType({})

EMBEDDED_AT_ONCE = 256
"""Texts given to the embedder before their vectors are remembered: what a crash can cost."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What turns documents into rows: the file, its vector indexes, the models and the settings.

    ``summaries`` is the index of the summaries' vectors; ``summarizer`` is None in a file without a tree.
    """

    database: Database
    index: EcoVectorIndex
    summaries: EcoVectorIndex
    embedder: Embedder
    extractor: Extractor
    summarizer: Summarizer | None
    settings: Settings

    @property
    def indexes(self) -> tuple[EcoVectorIndex, EcoVectorIndex]:
        """The vector indexes of chunks and of summaries."""
        return self.index, self.summaries


@dataclass(frozen=True, slots=True)
class Vectored:
    """A chunk's vector to be: the memo key, and the text to embed, or the vector that came with the chunk."""

    key: bytes
    text: str
    given: Float32 | None


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


@dataclass(frozen=True, slots=True)
class Embedded:
    """How many texts the embedder was given, and how many vectors the memo held already."""

    embedded: int
    remembered: int


def document_hash(document: Document, settings: Settings) -> bytes:
    """SHA-256 of all that a document's rows are made of: equal hashes mean that nothing is to be done."""
    passages = [
        (passage.id, passage.text, dict(passage.metadata), _vector_hash(passage.vector))
        for passage in document.passages
    ]
    return content_hash(
        "document", CUTTER, settings.chunk_tokens, settings.chunk_overlap, document.uri, document.title, document.text,
        dict(document.metadata), [(section.start, section.path) for section in document.sections], passages,
        [(place.start, place.apart, place.metadata()) for place in document.places],
    )  # fmt: skip


def _vector_hash(vector: Float32 | None) -> str:
    return "" if vector is None else hashlib.sha256(pack(np.asarray(vector, dtype=np.float32))).hexdigest()


def embedded_text(title: str, metadata: Metadata, text: str) -> str:
    """What is embedded for a chunk: its document's title, the headings it lies under, its table's columns, its text."""
    above = [title]
    section = str(metadata.get("section", ""))
    if section and not text.startswith(section.rpartition(" > ")[2]):
        above.append(section.removeprefix(f"{title} > ") if section != title else "")
    above.append(str(metadata.get("columns", "")))
    return "\n".join([*(one for one in above if one), text])


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
    ahead = count_ahead(["" if document.passages else document.text for document, _ in work])
    result: list[Prepared | Problem] = []
    for (document, sha256), blocks in zip(work, ahead, strict=True):
        try:
            chunks = tuple(cut(document, settings, blocks))
            given = [passage.vector for passage in document.passages] or [None] * len(chunks)
            vectors = (_vectored(document, *pair, embedder) for pair in zip(chunks, given, strict=True))
            result.append(Prepared(document, sha256, chunks, tuple(vectors)))
        except InvalidDocument as error:
            result.append(Problem(document.uri, error.message, error.mend))
    return result


def _vectored(document: Document, chunk: Chunk, given: Float32 | None, embedder: Embedder) -> Vectored:
    if given is None:
        if isinstance(embedder, GivenVectors):
            raise InvalidDocument(
                f"chunk {chunk.id!r} came without a vector, and nothing here can make one: the file's are all given",
                "give its vector, or make all anew: monograph reembed FILE static",
            )
        text = embedded_text(document.title, chunk.metadata, chunk.text)
        return Vectored(content_hash("embed", embedder.key, text), text, None)
    vector = np.asarray(given, dtype=np.float32)
    if vector.shape != (embedder.dimension,):
        raise InvalidDocument(
            f"the vector of chunk {chunk.id!r} has shape {vector.shape}; the file's have {embedder.dimension} values",
            "give vectors of one model only, or leave them out to have them made",
        )
    if not np.isfinite(vector).all():
        raise InvalidDocument(f"the vector of chunk {chunk.id!r} is not finite", "leave it out to have it made")
    unit = normalised(vector)
    return Vectored(given_key(pack(unit)), "", unit)


def given_key(packed: bytes) -> bytes:
    """The memo key of a vector that came with its chunk."""
    return content_hash("given", hashlib.sha256(packed).hexdigest())


def normalised(vector: Float32) -> Float32:
    """A vector made to unit length; one that has it already, or has none, stays as it is to the bit."""
    length = float(np.linalg.norm(vector.astype(np.float64)))
    return vector if length == 0 or abs(length - 1) < ROUNDING else (vector / length).astype(np.float32)


def missing(connection: Connection, batch: Sequence[Prepared]) -> list[Vectored]:
    """The vectors of a batch that the memo does not hold, each key once."""
    wanted = {vector.key: vector for prepared in batch for vector in prepared.vectors}
    held = memo.rows(connection, memo.VECTOR, list(wanted))
    return [vector for key, vector in wanted.items() if key not in held]


def remember_vectors(pipeline: Pipeline, batch: Sequence[Prepared], made: Mapping[bytes, bytes] = NONE) -> Embedded:
    """Make the vectors that the memo lacks, and remember each group of them as soon as it exists.

    ``made`` are packed vectors by key that were made ahead.
    """
    with pipeline.database.read() as connection:
        lacking = missing(connection, batch)
    asked = len({vector.key for prepared in batch for vector in prepared.vectors})
    given = [(vector.key, pack(vector.given)) for vector in lacking if vector.given is not None]
    ready = [(vector.key, made[vector.key]) for vector in lacking if vector.given is None and vector.key in made]
    texts = [vector for vector in lacking if vector.given is None and vector.key not in made]
    _remember(pipeline.database, given + ready)
    for first in range(0, len(texts), EMBEDDED_AT_ONCE):
        group = texts[first : first + EMBEDDED_AT_ONCE]
        vectors = embedded(pipeline.embedder, [vector.text for vector in group])
        _remember(pipeline.database, [(one.key, value) for one, value in zip(group, vectors, strict=True)])
    return Embedded(embedded=len(ready) + len(texts), remembered=asked - len(lacking))


def embedded(embedder: Embedder, texts: Sequence[str]) -> list[bytes]:
    """The packed vectors of texts.

    Raises
    ------
    InvalidDocument
        If the embedder gives anything but a finite vector of its dimension for each.
    """
    made = embedder.embed(texts, "document")
    if made.shape != (len(texts), embedder.dimension) or not np.isfinite(made).all():
        raise InvalidDocument(
            f"the embedder {embedder.key!r} returned shape {made.shape}, or values that are not finite",
            f"it must return {len(texts)} finite rows of {embedder.dimension}",
        )
    return [pack(vector) for vector in made]


def _remember(database: Database, vectors: Sequence[tuple[bytes, bytes]]) -> None:
    if vectors:
        with database.write() as connection:
            memo.put(connection, memo.VECTOR, ((key, value, 0) for key, value in vectors))
