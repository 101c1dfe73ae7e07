"""Renamed files: vectors that were computed under the old name are reused under the new name.

A text without a heading is embedded together with its file's name, which helps searches (docs/how-to/reading.md). So
the memo key of its vector depends on the name. When only the name changes, the old vector is stored under the new key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from monograph.derive.derivation import embedded_text, vector_key
from monograph.read.file import sha256_of
from monograph.read.paths import text_to_path
from monograph.store.documents import chunks, documents, sources
from monograph.store.file import memo
from monograph.store.file.database import Connection, Database
from monograph.values import Plan


def same_vectors(database: Database, embedder: str, plan: Plan) -> dict[bytes, int]:
    """Return {memo key under the new name: memo row of the stored vector} for the chunks of renamed files.

    A file counts as renamed if its change in the plan is ``gone``, and a ``new`` file of the plan has the same bytes.
    Chunks without a stored vector are left out. ``embedder`` is the key of the embedder.
    """
    sizes = {change.size for change in plan.of("gone")}
    roots = {root.name: root for root in plan.roots}
    new = {
        sha256_of(text_to_path(roots[change.root].path(change.uri))): change.uri
        for change in plan.of("new")
        if change.size in sizes
    }
    if not new:
        return {}
    keys: dict[bytes, bytes] = {}
    with database.read() as connection:
        for change in plan.of("gone"):
            source = sources.find(connection, change.uri)
            uri = None if source is None else new.get(source.sha256)
            if uri is not None:
                keys.update(_pair_keys(connection, embedder, change.uri, uri))
        stored_rows = memo.rows(connection, memo.VECTOR, list(keys.values()))
    return {key: stored_rows[old] for key, old in keys.items() if old in stored_rows}


def _pair_keys(connection: Connection, embedder: str, old: str, new: str) -> Iterator[tuple[bytes, bytes]]:
    """Yield the memo keys (under the new name, under the old name) of the vector of each chunk of a renamed file."""
    before, after = PurePosixPath(old).stem, PurePosixPath(new).stem
    source = sources.rows(connection, [old]).get(old)
    for row in documents.of_source(connection, source) if source is not None else ():
        # The title of a part of a table is the file's name and the place where the part begins.
        # The keys of a document with another title do not depend on the file's name.
        if row.title == before or row.title.startswith(f"{before}, "):
            title = after + row.title.removeprefix(before)
            for loaded in chunks.of_document(connection, row.row):
                texts = (
                    embedded_text(document_title, loaded.chunk.metadata, loaded.chunk.text)
                    for document_title in (title, row.title)
                )
                key, old_key = (vector_key(embedder, text) for text in texts)
                yield key, old_key


def carry_over(database: Database, vectors: Mapping[bytes, int]) -> None:
    """Store each vector under a second memo key. ``vectors`` is {new memo key: memo row of the vector}."""
    if not vectors:
        return
    with database.write() as connection:
        values = memo.values(connection, vectors.values())
        memo.put(connection, memo.VECTOR, ((key, values[row], 0) for key, row in vectors.items() if row in values))
