"""Import of a RAGdb file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from monograph.carry.imported import Items, Store, import_document
from monograph.store.file import foreign
from monograph.values import Document, Problem

_TABLE = "documents"
_COLUMNS = ("path", "content", "media_type", "mime_type", "metadata", "updated_at")
_KEPT = ("media_type", "mime_type", "updated_at")


def opened(path: Path) -> Store:
    """Open a RAGdb file for import: its texts and their metadata.

    The sparse vectors of the file are not read. They are word counts, which Monograph computes again.

    Raises
    ------
    SourceError
        If the file is not a RAGdb file, or cannot be read.
    """
    return Store(foreign.count(path, _TABLE, (*_COLUMNS, "id")), lambda _: _read_items(path))


def _read_items(path: Path) -> Items:
    for number, row in enumerate(foreign.rows(path, _TABLE, _COLUMNS, "id"), 1):
        where = f"row {number:,} of {path}"
        try:
            texts = {name: _as_text(value) for name, value in row.items()}
        except UnicodeDecodeError:
            yield Problem(where, "its text is not UTF-8")
            continue
        metadata: dict[str, Any] = {name: texts[name] for name in _KEPT if texts[name]}
        try:
            extra = json.loads(texts["metadata"] or "{}")
        except (ValueError, RecursionError):
            extra = {"metadata": texts["metadata"]}
        metadata |= extra if isinstance(extra, dict) else {}
        origin = texts["path"]
        yield import_document(where, Document, texts["content"], title=Path(origin).name, uri=origin, metadata=metadata)


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)
