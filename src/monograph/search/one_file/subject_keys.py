"""Which names documents are about, by their keys: asked of the file, until it has paid to read them all."""

from __future__ import annotations

from collections.abc import Mapping, Set

from monograph.store.file.database import Connection
from monograph.store.graph import graphs
from monograph.store.words.prefetch import Prefetcher

MOST = 65_536
"""Where more names are subjects they are not read: about 12 MB of keys and rows."""


LOOKED_UP = 3
"""To look a key up takes as long as to read so many in order."""

FIRST = 1_000
"""Keys that are looked up before it is asked how many there are; then twice as many each time."""


class SubjectKeys:
    """The keys of names that documents are about, in one state of a file.

    They are read once to look up as many as were asked for took as long: until then no more was spent than has to be,
    and from then on nothing.

    Parameters
    ----------
    ahead:
        Announces what is about to be read.
    """

    def __init__(self, ahead: Prefetcher | None = None) -> None:
        self.ahead = ahead or Prefetcher()
        self._asked = 0
        self._looked = FIRST
        self._keys: dict[str, int] | None = None

    def every(self, connection: Connection) -> Mapping[str, int] | None:
        """The rows of all by key, and maybe some that nothing uses any more; None as long as they are not read."""
        if self._keys is None and self._asked >= self._looked:
            self._looked = 2 * self._asked
            self.ahead.subjects(connection)
            if not graphs.has_more_subjects(connection, min(LOOKED_UP * self._asked, MOST)):
                self._keys = graphs.subject_keys(connection)
        return self._keys

    def rows(self, connection: Connection, keys: Set[str]) -> dict[str, int]:
        """The names among some keys that a document is about, by key."""
        if self._keys is not None:
            return {key: self._keys[key] for key in keys if key in self._keys}
        self._asked += len(keys)
        self.ahead.keys(connection, keys)
        return graphs.known_subjects(connection, keys) if keys else {}
