"""Import of a LightRAG working folder, from its store of JSON files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from monograph.carry.imported import Items, Store, import_document
from monograph.carry.json_lines import text, whole
from monograph.errors import SourceDamaged, SourceMissing, UnknownFormat
from monograph.values import Document, Passage

DOCUMENTS = "kv_store_full_docs.json"
CHUNKS = "kv_store_text_chunks.json"
_UNKNOWN = ("", "unknown_source", "no-file-path")


def opened(folder: Path) -> Store:
    """Open a LightRAG working folder for import: its documents if it has them, otherwise its chunks.

    Raises
    ------
    SourceError
        If the folder has neither documents nor chunks, or a file cannot be read.
    """
    if (folder / DOCUMENTS).exists():
        stored = _load_records(folder / DOCUMENTS)
        return Store(len(stored), lambda _: _read_documents(folder / DOCUMENTS, stored))
    if (folder / CHUNKS).exists():
        grouped = _group_chunks(folder / CHUNKS)
        return Store(len(grouped), lambda _: _read_chunks(folder / CHUNKS, grouped))
    if not folder.is_dir():
        raise SourceMissing(f"{folder} is not a folder", "give LightRAG's working_dir")
    raise UnknownFormat(
        f"{folder} contains neither {DOCUMENTS} nor {CHUNKS}",
        "give LightRAG's working_dir (with the folder of the workspace, if there is one); texts in a server's database"
        " cannot be imported",
    )


def _load_records(path: Path) -> dict[str, Mapping[str, Any]]:
    records = whole(path)
    for name, value in records.items():
        if not isinstance(value, dict):
            raise SourceDamaged(f"{path}: the value of {name[:80]!r} is not a JSON object", "repair it, or remove it")
    return records


def _read_documents(path: Path, stored: Mapping[str, Mapping[str, Any]]) -> Items:
    for name, value in stored.items():
        where = f"{name[:80]!r} in {path}"
        content, origin = text(value.get("content"), "content", where), _read_origin(value, where)
        yield import_document(where, Document, content, name, Path(origin).name, origin, {"lightrag_id": name})


def _group_chunks(path: Path) -> dict[str, list[tuple[int, str, Mapping[str, Any]]]]:
    """Return {document id: its chunks in order}. A chunk is (position in the document, chunk id, record)."""
    groups: dict[str, list[tuple[int, str, Mapping[str, Any]]]] = {}
    for name, value in _load_records(path).items():
        where = f"{name[:80]!r} in {path}"
        position = value.get("chunk_order_index", 0)
        if type(position) is not int:
            raise SourceDamaged(
                f"{where}: its 'chunk_order_index' is {str(position)[:40]!r}", "repair it, or remove it"
            )
        groups.setdefault(text(value.get("full_doc_id"), "full_doc_id", where) or name, []).append(
            (position, name, value)
        )
    return {name: sorted(chunks, key=lambda chunk: chunk[:2]) for name, chunks in groups.items()}


def _read_chunks(path: Path, grouped: Mapping[str, list[tuple[int, str, Mapping[str, Any]]]]) -> Items:
    for name, chunks in grouped.items():
        where = f"{name[:80]!r} in {path}"
        origin = _read_origin(chunks[0][2], where)
        contents = [(text(value.get("content"), "content", where), chunk_name) for _, chunk_name, value in chunks]
        passages = tuple(Passage(content, chunk_name) for content, chunk_name in contents if content.strip())
        yield import_document(
            where, Document, "", name, Path(origin).name, origin, {"lightrag_id": name}, passages=passages
        )


def _read_origin(value: Mapping[str, Any], where: str) -> str:
    """Return the path of the file that a document or chunk came from; an empty text if the path is unknown."""
    path = text(value.get("file_path"), "file_path", where)
    return "" if path in _UNKNOWN else path
