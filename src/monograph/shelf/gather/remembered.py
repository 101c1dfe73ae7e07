"""What was read of one version of a shelf: shards do not change, so nothing is asked of them twice."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from monograph.search.start_texts import StartText
from monograph.shelf.shard.shard import Facts
from monograph.store import names
from monograph.store.database import Connection

MOST = 65_536
"""Chunks, and as many names, of which something is kept: when there are more, a search begins with an empty memory."""

MOST_STARTS = 4_096


@dataclass(slots=True, eq=False)
class Memory:
    """By row over all shards.

    ``counted`` are the chunks that have each word, ``common`` words that are known to be common, ``having`` the chunks
    that half pairs are found in; ``told`` (what was extracted, title) of chunks; ``names`` rows in the catalogue by
    key.
    """

    facts: Sequence[Facts] = ()
    counted: dict[str, int] = field(default_factory=dict)
    common: set[str] = field(default_factory=set)
    having: dict[str, int] = field(default_factory=dict)
    ids: dict[int, str] = field(default_factory=dict)
    told: dict[int, tuple[int, str]] = field(default_factory=dict)
    starts: dict[int, StartText] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)

    def names_of(self, catalogue: Connection, keys: Collection[str]) -> dict[str, int]:
        """Rows of names in the catalogue by key; 0 for one that is not there."""
        missing = [key for key in keys if key not in self.names]
        if missing:
            self.names.update({**dict.fromkeys(missing, 0), **names.rows(catalogue, missing)})
        return {key: self.names[key] for key in keys}

    def for_search(self) -> Memory:
        """The same memory, or an empty one where it is full: whoever is still reading this one keeps it."""
        held = max(len(self.counted), len(self.ids), len(self.told), len(self.names))
        return Memory(self.facts) if held > MOST or len(self.starts) > MOST_STARTS else self
