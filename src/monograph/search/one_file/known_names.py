"""What searches came by of the names and chunks of one state of a file: it is not read twice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from monograph.store.documents import chunks
from monograph.store.file.database import Connection
from monograph.store.graph import names

REMEMBERED = 32_768
"""Names, and as many chunks, some 200 bytes each; with more, the next search starts afresh."""


@dataclass(frozen=True, slots=True, eq=False)
class KnownNames:
    """``heads`` are entities by name, ``keys`` those of names, ``ids`` those of chunks."""

    heads: dict[int, int] = field(default_factory=dict)
    keys: dict[int, str] = field(default_factory=dict)
    ids: dict[int, str] = field(default_factory=dict)

    def read(self, connection: Connection, rows: Iterable[int]) -> None:
        """Read names that were not, and those of their entities."""
        held, keys = self.heads, self.keys
        asked = set(rows).difference(held)
        if not asked:
            return
        loaded = names.heads(connection, asked)
        keys.update((row, key) for row, key, _ in loaded)
        others = {head for *_, head in loaded if head not in keys}
        keys.update((row, key) for row, key, _ in (names.heads(connection, others) if others else ()))
        # Told last: whoever finds an entity finds its key.
        held.update((row, head) for row, _, head in loaded)

    def read_ids(self, connection: Connection, rows: Iterable[int]) -> None:
        """Read the ids of chunks whose were not."""
        missing = set(rows).difference(self.ids)
        if missing:
            self.ids.update(chunks.ids(connection, missing))

    @property
    def is_full(self) -> bool:
        """Whether so much is known that it is to be let go."""
        return max(len(self.keys), len(self.ids)) > REMEMBERED
