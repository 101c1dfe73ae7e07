"""Import of an export: its documents, with their chunks as they were cut, and their vectors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from monograph.carry import assertion_lines, layout
from monograph.carry.json_lines import lines, text, unreadable, whole
from monograph.carry.layout import Manifest, manifest_of
from monograph.carry.taken import Items, Store, Taken
from monograph.errors import InvalidDocument, SourceDamaged, UnknownFormat
from monograph.values import Document, Float32, Passage, Problem, Section


def opened(folder: Path) -> Store:
    """Return the documents of an export. Raises as :func:`manifest`."""
    said = manifest(folder)
    outside = said.dimension if said.embedder_spec == f"given:{said.dimension}" else 0
    return Store(
        said.documents,
        lambda wanted: items(folder, said, vectors=wanted),
        embedder=said.embedder,
        dimension=outside,
        assertions=lambda: assertion_lines.read(folder),
    )


def manifest(folder: Path) -> Manifest:
    """Return the manifest of an export.

    Raises
    ------
    SourceError
        If the folder has no manifest, or one of a later layout.
    """
    path = folder / layout.MANIFEST
    try:
        found = manifest_of(whole(path))
    except ValueError as error:
        raise UnknownFormat(
            f"{path} is not the manifest of an export: {error}", "write one: monograph export FILE DIR"
        ) from error
    if found.export > layout.LAYOUT:
        raise UnknownFormat(
            f"{path} was written by Monograph {found.monograph}, in a newer layout", "install that version"
        )
    return found


def items(folder: Path, said: Manifest, *, vectors: bool) -> Items:
    """Yield the documents of an export, in its order.

    Parameters
    ----------
    folder, said:
        Folder of the export, and its manifest.
    vectors:
        Whether to read its vectors: True if the file's embedder is the one that computed them.

    Raises
    ------
    SourceError
        If one of its files cannot be read, or its files contradict each other.
    """
    held = _vectors(folder / layout.VECTORS, said) if vectors and said.vectors else None
    pieces = lines(folder / layout.CHUNKS)
    waiting = next(pieces, None)
    documents = chunks = 0
    for where, line in lines(folder / layout.DOCUMENTS):
        name, own = text(line.get("id"), "id", where), []
        while waiting is not None and waiting[1].get("document") == name:
            own.append(waiting)
            waiting = next(pieces, None)
        documents, chunks = documents + 1, chunks + len(own)
        try:
            yield _document(where, line, own, held)
        except InvalidDocument as error:
            yield Problem(where, error.message, error.hint)
    if waiting is not None:
        raise SourceDamaged(
            f"{waiting[0]} belongs to document {str(waiting[1].get('document'))[:80]!r}, which is not the next one in"
            f" {folder / layout.DOCUMENTS}",
            "put the lines of both files into the same order, or export again",
        )
    if (documents, chunks) != (said.documents, said.chunks):
        told = f"{said.documents:,} and {said.chunks:,}"
        yield Problem(
            str(folder), f"it contains {documents:,} documents and {chunks:,} chunks, and not {told}", "export again"
        )


def _document(
    where: str, line: dict[str, Any], own: list[tuple[str, dict[str, Any]]], held: Float32 | None
) -> Taken | Problem:
    passages, made = [], []
    for place, one in own:
        vector = _vector(one, held, place)
        given = one.get("given") is True
        made.append(None if given else vector)
        metadata = one.get("metadata", {})
        passages.append(
            Passage(
                text=text(one.get("text"), "text", place),
                id=text(one.get("id"), "id", place),
                metadata=metadata,
                vector=vector if given else None,
                start=one.get("start"),
            )
        )
    document = Document(
        text=text(line.get("text"), "text", where),
        id=text(line.get("id"), "id", where),
        title=text(line.get("title"), "title", where),
        uri=text(line.get("uri"), "uri", where),
        metadata=line.get("metadata", {}),
        sections=tuple(_sections(line, where)),
        passages=tuple(passages),
    )
    return Taken(document, tuple(made))


def _sections(line: dict[str, Any], where: str) -> Iterator[Section]:
    told = line.get("sections", [])
    for one in told if isinstance(told, list) else [told]:
        if not isinstance(one, dict) or not isinstance(one.get("path"), list):
            raise SourceDamaged(f"{where}: its 'sections' are {str(told)[:40]!r}", "repair it, or export again")
        yield Section(one.get("start", -1), tuple(one["path"]))


def _vectors(path: Path, said: Manifest) -> Float32:
    """Return the vectors of an export, float32 (n, dimension), as a memory map."""
    try:
        # Only plain arrays are loaded: a pickle could run code.
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise unreadable(path, error) from error
    except (ValueError, TypeError, EOFError, SyntaxError, OverflowError, MemoryError, TokenError) as error:
        raise SourceDamaged(f"{path} is not an array: {error}", "export again, or import with --no-vectors") from error
    wanted = (said.vectors, said.dimension)
    if not isinstance(found, np.ndarray) or found.dtype != np.dtype("<f4") or found.shape != wanted:
        shape = getattr(found, "shape", "?")
        raise SourceDamaged(
            f"{path} is not a float32 array of shape {wanted}, as in the manifest, but of {shape}",
            "export again, or import with --no-vectors",
        )
    return found


def _vector(one: dict[str, Any], held: Float32 | None, where: str) -> Float32 | None:
    number = one.get("vector")
    if held is None or number is None:
        return None
    if type(number) is not int or not 0 <= number < len(held):
        raise SourceDamaged(
            f"{where}: there is no vector {str(number)[:40]!r}", "export again, or import with --no-vectors"
        )
    found = np.array(held[number], dtype=np.float32)
    if not np.isfinite(found).all():
        raise SourceDamaged(f"{where}: its vector is not finite", "export again, or import with --no-vectors")
    return found
