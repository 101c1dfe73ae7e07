"""Copy of a file in memory, from which later changes are then undone: nothing of it is written to a disk."""

from __future__ import annotations

import secrets

from monograph.errors import ClosedFile, StorageFull
from monograph.store.file import connections, forgetting
from monograph.store.file.database import Connection, Database
from monograph.store.file.errors import translate_errors


def copied(whole: Database) -> Database:
    """Copy one state of an open file, plain also where that is encrypted. The copy ends with its last connection.

    Once the file forgets something the copy can be read no more: it may hold what was forgotten.

    Raises
    ------
    StorageFull
        If there is not so much memory: SQLite holds at most 1 GiB there.
    """
    path, name, encrypted = whole.path, f"monograph-{secrets.token_hex(16)}", whole.raw_key is not None

    def connect(_: bool) -> Connection:
        return connections.connect_memory(name, path, encrypted=encrypted)

    def begin(_: Connection) -> None:
        with whole.read() as connection:
            if forgetting.times(connection) == times:
                return
        made.close()
        raise ClosedFile(
            f"{path} has forgotten something since it was asked what it was",
            "ask again; in Python: archive.as_of(...)",
        )

    made = Database(path, create=False, key=whole.raw_key, connect=connect, begin=begin, in_memory=True)
    made.read_only = False  # Whatever may be done to the file.
    try:
        with translate_errors(path), connections.copied_to_memory(path, whole.raw_key, name):
            times = forgetting.times(made.connection())
    except StorageFull as error:
        raise StorageFull(
            f"{path} as it was does not fit into memory, where SQLite holds at most 1 GiB",
            "ask a single document: monograph show FILE ID --as-of TIME; in Python: archive.document(id, as_of=...)",
        ) from error
    return made
