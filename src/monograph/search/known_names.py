"""What searches came by of the names and chunks of one state of a file: it is not read twice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from monograph.store import chunks, names, settings
from monograph.store.database import Connection

REMEMBERED = 32_768
"""Names, and as many chunks, some 200 bytes each; beyond, it starts afresh with the next search."""


@dataclass(frozen=True, slots=True, eq=False)
class KnownNames:
    """Of one state of a file: ``heads`` are entities by name, ``keys`` those of names, ``ids`` those of chunks."""

    generation: int = -1
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


class NamesOfFile:
    """Keeps what is known of a file's names until it changes. Safe for use by many threads."""

    def __init__(self) -> None:
        self._held = KnownNames()

    def at(self, connection: Connection) -> KnownNames:
        """What is known of the state that a read transaction sees."""
        generation, held = settings.generation(connection), self._held
        if held.generation != generation or max(len(held.keys), len(held.ids)) > REMEMBERED:
            self._held = held = KnownNames(generation)
        return held
