"""Caches of what searches have read of one state of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from monograph.search.one_file.name_codes import NameCodes
from monograph.store.documents import chunks
from monograph.store.file import settings
from monograph.store.graph import graphs, names
from monograph.store.words.postings import Counted
from monograph.store.words.prefetch import Prefetcher

if TYPE_CHECKING:
    from monograph.search.leads import Leads, StartText
    from monograph.store.file.database import Connection

_Value = TypeVar("_Value")

MOST_CHUNKS = 16_384
"""Chunks whose words are kept, and as many whose titles are: of passages about 7 MB."""

MOST_STARTS = 2_048
MOST_ENTITIES = 8_192

MOST_NAMES = 32_768
"""Names, and as many chunks, some 200 bytes each; with more, the next search begins with none."""

MOST_SUBJECTS = 65_536
"""The names that documents are about are not kept if there are more: about 12 MB of keys and rows."""

LOOKED_UP = 3
"""To look up one chunk or key takes as long as to read so many in order."""

FIRST_KEYS = 1_000
"""Keys that are looked up before names are counted; then twice as many each time."""


class RowCache(Generic[_Value]):
    """Values by row, at most ``most`` of them: if there are more, all that were there are dropped."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: dict[int, _Value] = {}

    def get(self, rows: Sequence[int], read: Callable[[list[int]], Mapping[int, _Value]]) -> list[_Value]:
        """Return the values of different rows in their order; those that are not kept are read, and kept.

        Rows that ``read`` does not return are left out.
        """
        held = self._held
        try:
            return [held[row] for row in rows]
        except KeyError:
            values = {row: held[row] for row in rows if row in held}
        new = read([row for row in rows if row not in values])
        if len(held) + len(new) > self._most:
            # Another thread may be reading the old one.
            self._held = held = {}
        held.update(new)
        values.update(new)
        return list(map(values.__getitem__, rows if len(values) == len(rows) else filter(values.__contains__, rows)))


@dataclass(frozen=True, slots=True, eq=False)
class KnownNames:
    """Names and ids of chunks that were read: ``heads`` are entities by name, ``keys`` are by name."""

    heads: dict[int, int] = field(default_factory=dict)
    keys: dict[int, str] = field(default_factory=dict)
    ids: dict[int, str] = field(default_factory=dict)

    def read(self, connection: Connection, rows: Iterable[int]) -> None:
        """Read names that were not read yet, and those of their entities."""
        held, keys = self.heads, self.keys
        asked = set(rows).difference(held)
        if not asked:
            return
        loaded = names.heads(connection, asked)
        keys.update((row, key) for row, key, _ in loaded)
        others = {head for *_, head in loaded if head not in keys}
        keys.update((row, key) for row, key, _ in (names.heads(connection, others) if others else ()))
        # Last, so that whoever finds an entity finds its key.
        held.update((row, head) for row, _, head in loaded)

    def read_ids(self, connection: Connection, rows: Iterable[int]) -> None:
        """Read the ids of chunks that were not read yet."""
        missing = set(rows).difference(self.ids)
        if missing:
            self.ids.update(chunks.ids(connection, missing))

    @property
    def is_full(self) -> bool:
        """Whether so much is kept that the next search is to begin with an empty one."""
        return max(len(self.keys), len(self.ids)) > MOST_NAMES


class SubjectKeys:
    """The keys of names that documents are about, in one state of a file.

    Single keys are looked up until that took as long as to read all: then all are read, and kept.

    Parameters
    ----------
    ahead:
        Announces pages that are about to be read.
    """

    def __init__(self, ahead: Prefetcher | None = None) -> None:
        self.ahead = ahead or Prefetcher()
        self._asked = 0
        self._looked = FIRST_KEYS
        self._keys: dict[str, int] | None = None

    def every(self, connection: Connection) -> Mapping[str, int] | None:
        """Return the rows of all by key, maybe with some that nothing uses any more; None while they are not read."""
        if self._keys is None and self._asked >= self._looked:
            self._looked = 2 * self._asked
            self.ahead.subjects(connection)
            if not graphs.has_more_subjects(connection, min(LOOKED_UP * self._asked, MOST_SUBJECTS)):
                self._keys = graphs.subject_keys(connection)
        return self._keys

    def rows(self, connection: Connection, keys: Set[str]) -> dict[str, int]:
        """Return the names among some keys that a document is about, by key."""
        if self._keys is not None:
            return {key: self._keys[key] for key in keys if key in self._keys}
        self._asked += len(keys)
        self.ahead.keys(connection, keys)
        return graphs.known_subjects(connection, keys) if keys else {}


@dataclass(frozen=True, slots=True, eq=False)
class Remembered:
    """The caches of one state of a file.

    ``told`` is (row, extraction, title) of chunks; ``leads`` are those of entities without a filter.
    """

    generation: int = -1
    counted: Counted = field(default_factory=Counted)
    words: RowCache[tuple[int, bytes]] = field(default_factory=lambda: RowCache(MOST_CHUNKS))
    told: RowCache[tuple[int, int, str]] = field(default_factory=lambda: RowCache(MOST_CHUNKS))
    starts: RowCache[StartText] = field(default_factory=lambda: RowCache(MOST_STARTS))
    subjects: SubjectKeys = field(default_factory=SubjectKeys)
    leads: RowCache[Leads] = field(default_factory=lambda: RowCache(MOST_ENTITIES))
    names: KnownNames = field(default_factory=KnownNames)
    codes: NameCodes = field(default_factory=NameCodes)

    @property
    def ahead(self) -> Prefetcher:
        """Announces pages that are about to be read."""
        return self.counted.ahead


class Memory:
    """The caches of a file, which are dropped when it changes. Safe for use by many threads."""

    def __init__(self) -> None:
        self.ahead = Prefetcher()
        self._held = Remembered()

    def of(self, connection: Connection) -> Remembered:
        """Return the caches of the state of the file that a transaction sees."""
        generation = settings.generation(connection)
        held = self._held
        if held.generation != generation:
            self._held = held = Remembered(generation, Counted(self.ahead), subjects=SubjectKeys(self.ahead))
        elif held.names.is_full:
            self._held = held = replace(held, names=KnownNames())
        return held
