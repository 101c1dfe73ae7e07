"""Direct SQL access to a file, without Monograph's store."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from monograph.store.file import encryption
from monograph.store.file.database import raw_connection


def connected(path: Path, key: str | None = None) -> sqlite3.Connection:
    """Connect to a file that is not open in this process, with its key if it is encrypted; each statement commits."""
    salt = encryption.salt_of(path)
    return raw_connection(path, None if salt is None or key is None else encryption.derive(key, salt))
