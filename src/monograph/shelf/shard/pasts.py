"""What one of many files was: the moments that were asked for last stay at hand, each a copy in memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

from monograph.library.opened import OpenFile
from monograph.library.past import PastFile, stood
from monograph.models import Embedder, Extractor, TextKind
from monograph.search.one_file.snapshot import FileSnapshot
from monograph.shelf.shard.views import Views
from monograph.store.settings import StoredEmbedder, StoredExtractor
from monograph.values import Chunk, Extraction, Float32
from monograph.write import configuration

MOST = 2
"""Moments of a file that stay at hand. One that is asked for again after that is copied anew."""


@dataclass(frozen=True, slots=True)
class _Model:
    """The one that a file was built with; it is made for a text of which nothing is remembered."""

    stored: StoredEmbedder | StoredExtractor
    file: OpenFile

    @property
    def key(self) -> str:
        return self.stored.key

    @property
    def spec(self) -> str:
        return self.stored.spec


@dataclass(frozen=True, slots=True)
class _Embedder(_Model):
    stored: StoredEmbedder

    @property
    def dimension(self) -> int:
        return self.stored.dimension

    def embed(self, texts: Sequence[str], kind: TextKind = "document") -> Float32:
        """See :class:`monograph.models.Embedder`. Raises ModelError if it cannot be made here."""
        return self.file.embedder.embed(texts, kind)


class _Extractor(_Model):
    __slots__ = ()

    def extract(self, chunks: Sequence[Chunk]) -> list[Extraction]:
        """See :class:`monograph.models.Extractor`. Raises ModelError if it cannot be made here."""
        return list(self.file.extractor.extract(chunks))


class _Past(PastFile):
    """One of a file whose models need not be at hand where it lies."""

    def models(self) -> tuple[Embedder, Extractor]:
        """See :class:`~monograph.library.past.PastFile`."""
        vectors = configuration.EMBEDDER.known(self.whole.database)
        names = configuration.EXTRACTOR.known(self.whole.database)
        return (
            self.whole.embedder if vectors is None else _Embedder(vectors, self.whole),
            self.whole.extractor if names is None else _Extractor(names, self.whole),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """A file as it stood, and the views of that."""

    file: PastFile
    views: Views


class Pasts:
    """An open file at some moments. Safe for use by many threads."""

    def __init__(self, whole: OpenFile) -> None:
        self._whole = whole
        self._lock = threading.Lock()
        self._open: OrderedDict[int, Moment] = OrderedDict()

    @contextmanager
    def reading(self, second: int) -> Iterator[tuple[Moment, FileSnapshot]]:
        """Begin to read what the file held at the end of a second, until the context ends."""
        held = self._moment(second)
        with held.file.reading() as snapshot:
            yield held, cast(FileSnapshot, snapshot)

    def _moment(self, second: int) -> Moment:
        with self._lock:
            held = self._open.get(second)
            if held is None:
                file = stood(self._whole, second, _Past)
                same = (one for one in self._open.values() if one.file is file)
                held = self._open[second] = next(same, None) or Moment(file, Views(file))
            self._open.move_to_end(second)
            # Whoever is reading one that goes keeps it until that is done.
            while len(self._open) > MOST:
                self._open.popitem(last=False)
            return held

    def close(self) -> None:
        """Close all of them."""
        with self._lock:
            for one in self._open.values():
                one.views.close()
                one.file.database.close()
            self._open.clear()
