"""What searches have read of a file, kept until the file changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from monograph.search.one_file.chunk_documents import ChunkDocuments
from monograph.search.one_file.known_names import KnownNames
from monograph.search.one_file.name_codes import NameCodes
from monograph.search.one_file.subject_keys import SubjectKeys
from monograph.store.file import settings
from monograph.store.words.postings import Counted
from monograph.store.words.prefetch import Prefetcher

if TYPE_CHECKING:
    from monograph.search.leads import Leads
    from monograph.search.start_texts import StartText
    from monograph.store.file.database import Connection

_Value = TypeVar("_Value")

MOST_CHUNKS = 16_384
"""Chunks whose words are kept, and as many whose titles are: of passages about 7 MB."""

MOST_STARTS = 2_048
MOST_ENTITIES = 8_192


class Kept(Generic[_Value]):
    """Values by row, at most so many: when there are more, all that were there are let go.

    Parameters
    ----------
    most:
        That many.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: dict[int, _Value] = {}

    def get(self, rows: Sequence[int], read: Callable[[list[int]], Mapping[int, _Value]]) -> list[_Value]:
        """The values of different rows in their order; those that are not kept are read, and kept.

        What ``read`` does not give is left out.
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
class Remembered:
    """What was read of one state of a file.

    ``told`` is (row, extraction, title) of chunks; ``leads`` are those of entities where nothing is filtered.
    """

    generation: int = -1
    counted: Counted = field(default_factory=Counted)
    documents: ChunkDocuments = field(default_factory=ChunkDocuments)
    words: Kept[bytes] = field(default_factory=lambda: Kept(MOST_CHUNKS))
    told: Kept[tuple[int, int, str]] = field(default_factory=lambda: Kept(MOST_CHUNKS))
    starts: Kept[StartText] = field(default_factory=lambda: Kept(MOST_STARTS))
    subjects: SubjectKeys = field(default_factory=SubjectKeys)
    leads: Kept[Leads] = field(default_factory=lambda: Kept(MOST_ENTITIES))
    names: KnownNames = field(default_factory=KnownNames)
    codes: NameCodes = field(default_factory=NameCodes)

    @property
    def ahead(self) -> Prefetcher:
        """Announces what is about to be read."""
        return self.counted.ahead


class Memory:
    """What searches have read of a file. Safe for use by many threads."""

    def __init__(self) -> None:
        self.ahead = Prefetcher()
        self._held = Remembered()

    def of(self, connection: Connection) -> Remembered:
        """What was read of the state of the file that a transaction sees."""
        generation = settings.generation(connection)
        held = self._held
        if held.generation != generation:
            self._held = held = Remembered(generation, Counted(self.ahead), subjects=SubjectKeys(self.ahead))
        elif held.names.is_full:
            self._held = held = replace(held, names=KnownNames())
        return held
