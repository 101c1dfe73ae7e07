"""What a file holds, as it is stored: the part of the public class that neither searches nor writes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monograph.explore import lookup
from monograph.library import ledger
from monograph.library.opened import OpenFile
from monograph.store.file import settings
from monograph.values import arguments
from monograph.write import configuration

if TYPE_CHECKING:
    from monograph.library.past import Moment
    from monograph.models import Embedder
    from monograph.settings import Settings
    from monograph.values import (
        Brief,
        Chunk,
        Document,
        Exported,
        Finding,
        LedgerEntry,
        Listed,
        OnProgress,
        Stats,
        StoredChunk,
        Version,
    )


class Lookups:
    """Documents, chunks and counts of an open file; :class:`monograph.Monograph` is one."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file

    @property
    def view(self) -> str:
        """Names the view that this is, by what it holds; empty for a whole file. See :meth:`Monograph.within`."""
        return self._file.view

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.database.path

    @property
    def settings(self) -> Settings:
        """How the file is built."""
        return self._file.settings

    @property
    def embedder(self) -> Embedder:
        """What makes this file's vectors. Loading its model waits for the first text.

        Raises ModelError if the one that the file was built with cannot be made here, or is another by now.
        """
        return self._file.embedder

    def document(self, name: str, *, as_of: Moment | None = None) -> Document:
        """A stored document by id or uri, with its text; as it stood at a moment, where one is given.

        Raises NotFound where none, or several, are meant; with ``as_of`` also as :meth:`Monograph.as_of`.
        """
        from monograph.library import past

        if as_of is None:
            with self._file.database.read() as connection:
                return lookup.document(connection, name)
        if self._file.view:
            with past.as_of(self._file, as_of).database.read() as connection:
                return lookup.document(connection, name)
        past.require_history(self._file)
        second = past.time_of(as_of).last
        with self._file.database.read() as connection:
            return lookup.document_as_of(connection, name, second)

    def versions(self, name: str) -> list[Version]:
        """The states that a document had, by its id or uri, oldest first, and last the one that stands.

        Those of a document that is not there any more as well. Raises NotFound if there is none, and InputError if the
        file keeps no former versions.
        """
        from monograph.library import past

        self._file.only_whole("versions")
        past.require_history(self._file)
        with self._file.database.read() as connection:
            return lookup.versions_of(connection, name)

    def documents(self) -> list[Document]:
        """All stored documents without their texts, in order of uri, then id."""
        with self._file.database.read() as connection:
            return lookup.every_document(connection)

    def listed(self, like: str = "", start: int = 0, limit: int = 100) -> Listed:
        """A part of :meth:`documents`, however many there are.

        Parameters
        ----------
        like:
            Only those whose title, uri or id contains this, whatever its case.
        start, limit:
            The first one, from 0, and how many.

        Raises
        ------
        InputError
            If a number is negative.
        """
        with self._file.database.read() as connection:
            return lookup.listed(connection, like, start, limit)

    def chunks(self, name: str) -> list[Chunk]:
        """The chunks of a document, by its id or uri, in reading order. Raises as :meth:`document`."""
        with self._file.database.read() as connection:
            return lookup.chunks_of(connection, name)

    def fetch(
        self,
        ids: Sequence[str] | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        vectors: bool = False,
        as_of: Moment | None = None,
    ) -> list[StoredChunk]:
        """Stored chunks by id, or all that meet a filter.

        Those of given ids that are there come in the order of the ids, all others in reading order, document by
        document; ``where`` and ``as_of`` as for :meth:`search`; with ``vectors`` their vectors come with them.
        """
        from monograph.library import searches

        stored = configuration.EMBEDDER.known(self._file.database) if vectors else None
        with searches.at(self._file, as_of).database.read() as connection:
            return lookup.fetch(connection, ids, searches.allowed(where), None if stored is None else stored.dimension)

    def missing_keys(self, where: Mapping[str, Any] | None) -> dict[str, list[str]]:
        """Return the keys of a filter that no chunk or document has, each with the nearest keys that there are."""
        from difflib import get_close_matches

        from monograph import where as conditions
        from monograph.store.documents import filters

        with self._file.database.read() as connection:
            missing = [key for key in conditions.keys_of(where) if not filters.has_key(connection, key)]
            known = filters.keys(connection) if missing else []
        return {key: get_close_matches(key, known) for key in missing}

    def costs(self) -> list[LedgerEntry]:
        """What models were asked for the file and the tokens it took, by day, model and purpose.

        What was remembered was not asked for again, and is not in it. What was asked through a file that is open for
        reading only is not kept. Nothing of what was asked or answered stands in it.
        """
        return ledger.every(self._file)

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        graph: bool = True,
        progress: OnProgress | None = None,
    ) -> Exported:
        """Write all that the file holds into a new folder: JSON Lines, and its vectors as a plain array of numpy's.

        It is one state of the file, while others read and write it, and is plain even where the file is encrypted. The
        folder gets its name when it is whole; ``docs/export.md`` says what lies in it.

        Parameters
        ----------
        path:
            The folder.
        overwrite:
            Put it into the place of an export that is there; a folder that holds anything else stays.
        graph:
            Whether the graph is wanted too: what chunks name, which takes most of the time.
        progress:
            Told of every few documents; an exception raised in it leaves no folder.

        Raises
        ------
        InputError
            If the folder is there, or cannot be made.
        DamagedFile
            If a row cannot be read, or is not what was stored: nothing is left of the folder.
        StorageFull
            If there is no room for it.
        """
        from monograph.library import carrying

        place = arguments.path(path, "the folder")
        return carrying.exported(self._file, place, overwrite=overwrite, graph=graph, progress=progress)

    def generation(self) -> int:
        """A number that every write raises, of whatever process: the same number, the same file."""
        with self._file.written.read() as connection:
            return settings.generation(connection)

    def brief(self) -> Brief:
        """What is quickly told of the file."""
        from monograph.library import contents

        with self._file.database.read() as connection:
            return contents.brief(connection)

    def stats(self) -> Stats:
        """Count and weigh what the file holds."""
        from monograph.library import contents

        return contents.stats_of(self._file)

    @ledger.spends
    def check(self, *, repair: bool = False) -> list[Finding]:
        """The faults of the file, each table held against every other; with ``repair`` those left after mending."""
        from monograph.library import checks

        self._file.only_whole("check")
        return checks.findings(self._file, repair=repair)
