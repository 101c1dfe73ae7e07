"""Import of a Monograph export: documents, chunks with unchanged borders, and vectors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from monograph.carry import assertion_lines, layout
from monograph.carry.imported import ImportedDocument, Items, Store
from monograph.carry.json_lines import lines, text, unreadable, whole
from monograph.carry.layout import Manifest, manifest_of
from monograph.errors import InvalidDocument, SourceDamaged, UnknownFormat
from monograph.values import Document, Float32, Passage, Problem, Section


def opened(folder: Path) -> Store:
    """Open an export for import. Raises SourceError if its manifest is missing, invalid or too new."""
    contents = read_manifest(folder)
    outside = contents.dimension if contents.embedder_spec == f"given:{contents.dimension}" else 0
    return Store(
        contents.documents,
        lambda with_vectors: items(folder, contents, vectors=with_vectors),
        embedder=contents.embedder,
        dimension=outside,
        assertions=lambda: assertion_lines.read(folder),
    )


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of an export.

    Raises
    ------
    SourceError
        If the manifest is missing or invalid, or its layout is newer than this version of Monograph.
    """
    path = folder / layout.MANIFEST
    try:
        loaded = manifest_of(whole(path))
    except ValueError as error:
        raise UnknownFormat(
            f"{path} is not the manifest of an export: {error}", "write one: monograph export FILE DIR"
        ) from error
    if loaded.export > layout.LAYOUT:
        raise UnknownFormat(
            f"{path} was written by Monograph {loaded.monograph}, in a newer layout", "install that version"
        )
    return loaded


def items(folder: Path, manifest: Manifest, *, vectors: bool) -> Items:
    """Yield the documents of an export in the order of its lines, and a problem for each invalid document.

    With ``vectors``, the documents come with the vectors of the export. If the numbers of documents
    or chunks differ from the manifest, the last item is a problem.

    Raises
    ------
    SourceError
        If a file of the export cannot be read, or its documents and chunks are not in the same order.
    """
    stored_vectors = _load_vectors(folder / layout.VECTORS, manifest) if vectors and manifest.vectors else None
    chunk_stream = lines(folder / layout.CHUNKS)
    pending = next(chunk_stream, None)
    documents = chunks = 0
    for where, line in lines(folder / layout.DOCUMENTS):
        name, chunk_lines = text(line.get("id"), "id", where), []
        while pending is not None and pending[1].get("document") == name:
            chunk_lines.append(pending)
            pending = next(chunk_stream, None)
        documents, chunks = documents + 1, chunks + len(chunk_lines)
        try:
            yield _read_document(where, line, chunk_lines, stored_vectors)
        except InvalidDocument as error:
            yield Problem(where, error.message, error.hint)
    if pending is not None:
        raise SourceDamaged(
            f"{pending[0]} belongs to document {str(pending[1].get('document'))[:80]!r}, which is not the next one in"
            f" {folder / layout.DOCUMENTS}",
            "put the lines of both files into the same order, or export again",
        )
    if (documents, chunks) != (manifest.documents, manifest.chunks):
        expected = f"{manifest.documents:,} and {manifest.chunks:,}"
        yield Problem(
            str(folder),
            f"it contains {documents:,} documents and {chunks:,} chunks, and not {expected}",
            "export again",
        )


def _read_document(
    where: str, line: dict[str, Any], chunk_lines: list[tuple[str, dict[str, Any]]], stored_vectors: Float32 | None
) -> ImportedDocument | Problem:
    passages, computed = [], []
    for chunk_where, chunk in chunk_lines:
        vector = _read_vector(chunk, stored_vectors, chunk_where)
        is_given = chunk.get("given") is True
        computed.append(None if is_given else vector)
        metadata = chunk.get("metadata", {})
        passages.append(
            Passage(
                text=text(chunk.get("text"), "text", chunk_where),
                id=text(chunk.get("id"), "id", chunk_where),
                metadata=metadata,
                vector=vector if is_given else None,
                start=chunk.get("start"),
            )
        )
    document = Document(
        text=text(line.get("text"), "text", where),
        id=text(line.get("id"), "id", where),
        title=text(line.get("title"), "title", where),
        uri=text(line.get("uri"), "uri", where),
        metadata=line.get("metadata", {}),
        sections=tuple(_read_sections(line, where)),
        passages=tuple(passages),
    )
    return ImportedDocument(document, tuple(computed))


def _read_sections(line: dict[str, Any], where: str) -> Iterator[Section]:
    sections = line.get("sections", [])
    for section in sections if isinstance(sections, list) else [sections]:
        if not isinstance(section, dict) or not isinstance(section.get("path"), list):
            raise SourceDamaged(f"{where}: its 'sections' are {str(sections)[:40]!r}", "repair it, or export again")
        yield Section(section.get("start", -1), tuple(section["path"]))


def _load_vectors(path: Path, expected: Manifest) -> Float32:
    """Return the vectors of an export as a float32 memory map of the shape that the manifest ``expected`` says."""
    try:
        # Only plain arrays are loaded: a pickle could run code.
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise unreadable(path, error) from error
    except (ValueError, TypeError, EOFError, SyntaxError, OverflowError, MemoryError, TokenError) as error:
        raise SourceDamaged(f"{path} is not an array: {error}", "export again, or import with --no-vectors") from error
    expected_shape = (expected.vectors, expected.dimension)
    if not isinstance(array, np.ndarray) or array.dtype != np.dtype("<f4") or array.shape != expected_shape:
        shape = getattr(array, "shape", "?")
        raise SourceDamaged(
            f"{path} is not a float32 array of shape {expected_shape}, as in the manifest, but of {shape}",
            "export again, or import with --no-vectors",
        )
    return array


def _read_vector(chunk: dict[str, Any], stored_vectors: Float32 | None, where: str) -> Float32 | None:
    number = chunk.get("vector")
    if stored_vectors is None or number is None:
        return None
    if type(number) is not int or not 0 <= number < len(stored_vectors):
        raise SourceDamaged(
            f"{where}: there is no vector {str(number)[:40]!r}", "export again, or import with --no-vectors"
        )
    vector = np.array(stored_vectors[number], dtype=np.float32)
    if not np.isfinite(vector).all():
        raise SourceDamaged(f"{where}: its vector is not finite", "export again, or import with --no-vectors")
    return vector
