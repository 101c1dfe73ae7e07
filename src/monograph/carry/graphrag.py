"""Import of a GraphRAG output folder, from its Parquet tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monograph.carry.imported import ImportedDocument, Items, Store, import_document
from monograph.carry.json_lines import text
from monograph.errors import MissingExtra, SourceDamaged, SourceMissing, UnknownFormat
from monograph.values import Document, Passage, Problem

if TYPE_CHECKING:
    from pyarrow import parquet

_DOCUMENTS = ("documents.parquet", "create_final_documents.parquet")
_UNITS = ("text_units.parquet", "create_final_text_units.parquet")
_COLUMNS = ("id", "title", "text", "metadata", "raw_data", "creation_date")
_AT_ONCE = 64
"""Number of rows that are read into memory together."""


def opened(folder: Path) -> Store:
    """Open a GraphRAG output folder for import: its documents if it has them, otherwise its text units.

    Raises
    ------
    MissingExtra
        If pyarrow is not installed.
    SourceError
        If the folder has neither documents nor text units, or a file cannot be read.
    """
    for names, read in ((_DOCUMENTS, _read_document), (_UNITS, _read_unit)):
        path = next((folder / name for name in names if (folder / name).is_file()), None)
        table = None if path is None else _open_table(path)
        if path is not None and table is not None and "text" in table.schema_arrow.names:
            return Store(table.metadata.num_rows, partial(_read_items, path, table, read))
    if not folder.is_dir():
        raise SourceMissing(f"{folder} is not a folder", "give GraphRAG's output folder")
    raise UnknownFormat(
        f"{folder} contains neither {_DOCUMENTS[0]} nor {_UNITS[0]} with a column 'text'",
        "give GraphRAG's output folder, which contains its Parquet files",
    )


def _open_table(path: Path) -> parquet.ParquetFile:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtra(
            "reading GraphRAG's Parquet files needs pyarrow", 'pip install "monograph[parquet]"'
        ) from error
    try:
        return parquet.ParquetFile(path)
    except (OSError, ValueError) as error:
        raise SourceDamaged(f"{path} is not a Parquet file: {error}", "run GraphRAG's indexing again") from error


def _read_items(
    path: Path,
    table: parquet.ParquetFile,
    read: Callable[[str, dict[str, Any]], ImportedDocument | Problem],
    _vectors: bool,
) -> Items:
    columns = [name for name in _COLUMNS if name in table.schema_arrow.names]
    number = 0
    try:
        for batch in table.iter_batches(_AT_ONCE, columns=columns):
            for row in batch.to_pylist():
                number += 1
                yield read(f"row {number:,} of {path}", row)
    except (OSError, ValueError) as error:
        raise SourceDamaged(
            f"{path} cannot be read after row {number:,}: {error}", "run GraphRAG's indexing again"
        ) from error


def _read_document(where: str, row: dict[str, Any]) -> ImportedDocument | Problem:
    title = text(row.get("title"), "title", where)
    name, content = text(row.get("id"), "id", where), text(row.get("text"), "text", where)
    return import_document(where, Document, content, name, title, title, _read_metadata(row))


def _read_unit(where: str, row: dict[str, Any]) -> ImportedDocument | Problem:
    name, content = text(row.get("id"), "id", where), text(row.get("text"), "text", where)
    if not content.strip():
        return Problem(where, "it has no text")
    return import_document(where, Document, "", name, passages=(Passage(content, name),))


def _read_metadata(row: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of a document, collected from the columns in which GraphRAG stores it."""
    metadata: dict[str, Any] = {}
    for name in ("metadata", "raw_data"):
        cell = row.get(name)
        if isinstance(cell, str):
            try:
                cell = json.loads(cell)
            except (ValueError, RecursionError):
                cell = {name: cell}
        if isinstance(cell, dict):
            metadata |= {key: value for key, value in cell.items() if key != "text"}
    if row.get("creation_date"):
        metadata.setdefault("creation_date", str(row["creation_date"]))
    return metadata
