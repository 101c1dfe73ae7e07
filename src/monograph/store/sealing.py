"""What a file has and a shard of a shelf has not: a tree of summaries, and former versions of documents."""

from __future__ import annotations

from dataclasses import replace

from monograph.store import checksums, settings, tree, versions
from monograph.store.database import Connection

_EVER = 1 << 40
"""A second after every moment."""


def drop_unsupported(connection: Connection) -> None:
    """Delete the tree of summaries and the former versions, and have the file keep neither from now on."""
    tree.clear(connection)
    connection.execute("DELETE FROM settings WHERE name = 'summarizer'")
    checksums.drop(connection, "settings/summarizer")
    built = settings.load(connection)
    if built is not None and built.history:
        versions.drop(connection, versions.ended_by(connection, _EVER))
        settings.save(connection, replace(built, history=False))
