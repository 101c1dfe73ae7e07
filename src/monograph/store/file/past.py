"""A copy of a file in memory, to be brought back to what the file was: nothing of it is written to a disk."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from monograph.errors import ClosedFile, StorageFull
from monograph.store.file import connections, forgetting
from monograph.store.file.database import Connection, Database, our_errors


class PastDatabase(Database):
    """A copy of one state of a file that is open, plain also where that is encrypted. It ends with its last connection.

    Once the file forgets something it can be read no more: what was forgotten may stand in it.

    Parameters
    ----------
    whole:
        The file.

    Raises
    ------
    StorageFull
        If there is not so much memory: SQLite holds at most 1 GiB there.
    """

    def __init__(self, whole: Database) -> None:
        self._whole = whole
        self._times = 0
        self._name = f"monograph-{secrets.token_hex(16)}"
        super().__init__(whole.path, create=False, key=whole.raw_key)
        self.read_only = False  # Whatever may be done to the file.

    def another(self, *, read_only: bool = False) -> Connection:
        """One more connection to the same, for whoever asked to close."""
        return connections.connect_memory(self._name, self.path, encrypted=self.raw_key is not None)

    def _enter(self, salt: bytes | None) -> None:
        """Copy the file, where else it would be looked at, and note what it had forgotten."""
        try:
            with our_errors(self.path), connections.copied_to_memory(self.path, self.raw_key, self._name):
                self._times = forgetting.times(self.connection())
        except StorageFull as error:
            raise StorageFull(
                f"{self.path} as it was does not fit into memory, where SQLite holds at most 1 GiB",
                "ask a single document: monograph show FILE ID --as-of TIME; in Python: archive.document(id,"
                " as_of=...)",
            ) from error

    def require_standing(self) -> None:
        """Raise ClosedFile once the file has forgotten something, or is closed."""
        with self._whole.read() as connection:
            times = forgetting.times(connection)
        if times != self._times:
            self._closed = True  # Other threads may be reading: the connections go with whoever has it.
            raise ClosedFile(
                f"{self.path} has forgotten something since it was asked what it was",
                "ask again; in Python: archive.as_of(...)",
            )

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """As :meth:`Database.read`; raises as :meth:`require_standing`."""
        self.require_standing()
        with super().read() as connection:
            yield connection
