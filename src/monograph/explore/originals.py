"""The file on disk that a document was read from, and whether it is as it was."""

from __future__ import annotations

import stat
from pathlib import Path

from monograph.explore.lookup import only
from monograph.read.file import sha256_of
from monograph.read.paths import path_to_text, text_to_path
from monograph.store.documents import documents, roots, sources
from monograph.store.file.database import Connection
from monograph.values import Original, OriginalState, Root


def original(connection: Connection, name: str) -> Original:
    """Return the state of the file of a document, given by id or uri.

    Raises
    ------
    NotFound
        If there is no such document, or several came from that uri.
    """
    row = only(connection, name)
    found = sources.of_document(connection, row.row)
    if found is None:
        return Original("none")
    source, count = found
    lying = _lies(connection, source)
    if lying is None:
        return Original("none")
    path, _ = lying
    metadata = documents.load(connection, row).metadata
    state, size = _state(path, source)
    return Original(
        state=state,
        path=path_to_text(path),
        name=path_to_text(path.name),
        size=size,
        format=str(metadata.get("format", "")),
        pages=_number(metadata.get("pages")),
        part=count > 1 or row.uri != source.uri,
    )


def place(connection: Connection, name: str, *, unchanged: bool = False) -> tuple[Path, Root] | None:
    """Return the path and the root of the file of a document; None if it came from none. Raises as :func:`original`.

    With ``unchanged`` also None if the file has changed since it was read.
    """
    found = sources.of_document(connection, only(connection, name).row)
    lying = None if found is None else _lies(connection, found[0])
    if unchanged and found is not None and lying is not None and _state(lying[0], found[0])[0] != "same":
        return None
    return lying


def _number(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _lies(connection: Connection, source: sources.Source) -> tuple[Path, Root] | None:
    root = next((one for one in roots.every(connection) if one.name == source.root), None)
    return None if root is None else (text_to_path(root.path(source.uri)), root)


def _state(path: Path, source: sources.Source) -> tuple[OriginalState, int]:
    """Return the state of a file, and its size in bytes."""
    try:
        now = path.stat()
    except OSError:
        return "gone", 0
    if not stat.S_ISREG(now.st_mode):
        return "gone", 0
    if (now.st_size, now.st_mtime_ns) == (source.size, source.modified_ns):
        return "same", now.st_size
    same = now.st_size == source.size and sha256_of(path) == source.sha256
    return ("same" if same else "changed"), now.st_size
