"""Import of a Chroma collection: its records, with their vectors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from monograph.carry.imported import Items, Store, import_document
from monograph.carry.json_lines import text
from monograph.errors import InputError, MissingExtra, MonographError, SourceDamaged, SourceMissing, UnknownFormat
from monograph.values import Document, Passage, Problem

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

_AT_ONCE = 256
"""Number of records that are read into memory together."""

_ORIGINS = ("source", "file_path", "url", "uri", "path")
_TITLES = ("title", "file_name")


def opened(folder: Path, name: str = "") -> Store:
    """Open a Chroma collection for import. Each record becomes a document with one chunk; both have the record's id.

    The Chroma library opens the folder, and may migrate the files to Chroma's newest format. ``name`` is the name of
    the collection. It may be empty if the folder has only one collection.

    Raises
    ------
    InputError
        If no collection has the name, or if ``name`` is empty and there are several collections.
    SourceError
        If the folder has no ``chroma.sqlite3``, or cannot be read.
    MissingExtra
        If Chroma is not installed.
    """
    if not folder.is_dir():
        raise SourceMissing(f"{folder} is not a folder", "give the folder in which Chroma keeps its files")
    if not (folder / "chroma.sqlite3").is_file():
        raise UnknownFormat(f"{folder} contains no chroma.sqlite3", "give the folder in which Chroma keeps its files")
    with _translate_errors(folder):
        try:
            import chromadb
            from chromadb.config import Settings
        except ImportError as error:
            raise MissingExtra("reading a Chroma folder needs Chroma", 'pip install "monograph[chroma]"') from error
        client = chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))
        collection = _find_collection(client, folder, name)
        ids = collection.get(include=[])["ids"]
        first = collection.get(ids=ids[:1], include=["embeddings"])["embeddings"] if ids else None
    dimension = 0 if first is None or len(first) == 0 else len(first[0])
    return Store(len(ids), lambda with_vectors: _read_items(folder, collection, ids, with_vectors), dimension=dimension)


@contextmanager
def _translate_errors(folder: Path) -> Iterator[None]:
    """Raise SourceDamaged for any error that Chroma raises in the ``with`` block."""
    try:
        yield
    except (MonographError, KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError):
        raise
    # Panics of Chroma's Rust code do not inherit from Exception.
    except BaseException as error:
        message = " ".join(str(error).split())[:300]
        raise SourceDamaged(
            f"{folder} cannot be read by Chroma: {message}",
            "check that the program that wrote it can read it, or copy it again",
        ) from error


def _find_collection(client: ClientAPI, folder: Path, name: str) -> Collection:
    names = sorted(collection.name for collection in client.list_collections())
    if not name and len(names) == 1:
        name = names[0]
    if name not in names:
        which = f"no collection {name!r}" if name else f"{len(names)} collections" if names else "no collection"
        listed = ", ".join(names[:10]) + (" …" if len(names) > 10 else "")
        raise InputError(f"{folder} contains {which}", f"choose one with --collection: {listed}" if names else "")
    # Nothing is embedded here: without a function no model is loaded or asked.
    return client.get_collection(name, embedding_function=None)


def _read_items(folder: Path, collection: Collection, ids: list[str], with_vectors: bool) -> Items:
    include: Any = ["documents", "metadatas", *(["embeddings"] if with_vectors else [])]
    for first in range(0, len(ids), _AT_ONCE):
        batch = ids[first : first + _AT_ONCE]
        with _translate_errors(folder):
            records = collection.get(ids=batch, include=include)
        index_of = {name: index for index, name in enumerate(records["ids"])}
        for name in batch:
            if name not in index_of:
                continue
            index, where = index_of[name], f"record {name[:80]!r} of {folder}"
            content = text((records["documents"] or [])[index], "document", where)
            if not content.strip():
                yield Problem(where, "it has no text", "a vector alone cannot be imported: add a text in Chroma")
                continue
            metadata: dict[str, Any] = dict(sorted(((records["metadatas"] or [])[index] or {}).items()))
            origin = _first_text(metadata, _ORIGINS)
            title = _first_text(metadata, _TITLES) or PurePath(origin).name
            embeddings: Any = records["embeddings"] if with_vectors else ()
            vector = np.asarray(embeddings[index], dtype=np.float32) if with_vectors else None
            passages = (Passage(content, name, vector=vector),)
            yield import_document(where, Document, "", name, title, origin, metadata, passages=passages)


def _first_text(metadata: dict[str, Any], keys: tuple[str, ...]) -> str:
    return next((value for key in keys if isinstance(value := metadata.get(key), str)), "")
