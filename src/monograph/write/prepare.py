"""A document's chunks, and the keys of what is to be derived from them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from monograph.derive.chunk import cut
from monograph.derive.derivation import embedded_text, vector_key
from monograph.derive.embed.given import GivenVectors
from monograph.errors import InvalidDocument
from monograph.models import Embedder
from monograph.settings import Settings
from monograph.store.documents import documents
from monograph.store.file.checksums import given_key
from monograph.store.vectors.vectors import pack
from monograph.values import Chunk, Document, Float32, Passage, Problem, content_hash

CUTTER = 1
"""Raised when chunks are cut otherwise than before, so that documents are cut anew at their next sync."""

ROUNDING = 1e-6
"""Largest difference from 1 of the length of a unit vector in float32."""


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
    passages = [
        (passage.id, passage.text, dict(passage.metadata), _vector_hash(passage.vector), *_start(passage))
        for passage in document.passages
    ]
    return content_hash(
        "document", CUTTER, settings.chunk_tokens, settings.chunk_overlap, document.uri, document.title, document.text,
        dict(document.metadata), [(section.start, section.path) for section in document.sections], passages,
        [(place.start, place.boundary, place.metadata()) for place in document.places],
    )  # fmt: skip


def _start(passage: Passage) -> tuple[int, ...]:
    return () if passage.start is None else (passage.start,)


def _vector_hash(vector: Float32 | None) -> str:
    return "" if vector is None else hashlib.sha256(pack(np.asarray(vector, dtype=np.float32))).hexdigest()


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
            _require_sound(document, chunks)
            given = [passage.vector for passage in document.passages] or [None] * len(chunks)
            vectors = (vectored(document, *pair, embedder) for pair in zip(chunks, given, strict=True))
            result.append(Prepared(document, sha256, chunks, tuple(vectors)))
        except InvalidDocument as error:
            result.append(Problem(document.uri, error.message, error.mend))
    return result


def _require_sound(document: Document, chunks: Sequence[Chunk]) -> None:
    if documents.is_too_long(document):
        raise InvalidDocument(f"document {document.id!r} has {len(document.text):,} characters", "cut it in parts")
    if len({chunk.id for chunk in chunks}) < len(chunks):
        raise InvalidDocument(f"document {document.id!r} has two chunks of one id", "give every chunk an id of its own")


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
