"""Synced files and folders: ``archive.files``."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from monograph import telemetry
from monograph.errors import InputError
from monograph.library.opened import WholeFile, spends
from monograph.library.original_files import OriginalFiles
from monograph.read.limits import DEFAULT_LIMITS, Limits
from monograph.store.file import settings
from monograph.sync import plan as planning
from monograph.sync import roots
from monograph.values import arguments
from monograph.write import apply, describe

if TYPE_CHECKING:
    from monograph.carry.imported import Store
    from monograph.sync.receive import IncomingFile
    from monograph.values import Move, OnProgress, Plan, Report, SyncedSource, WatchEvent


class Files(OriginalFiles):
    """Methods for the synced files and folders of a Monograph file: the value of :attr:`monograph.Monograph.files`."""

    _file: WholeFile

    @spends
    def plan(
        self,
        *sources: str | os.PathLike[str],
        verify: bool = False,
        prune: bool = False,
        follow_links: bool | None = None,
        price: bool = True,
        limits: Limits = DEFAULT_LIMITS,
        progress: OnProgress | None = None,
    ) -> Plan:
        """Compare files and folders with the stored documents, and return a plan: the changes to make, and their cost.

        Nothing is written. :meth:`apply` carries out the plan.

        Parameters
        ----------
        sources:
            Files and folders. Raises SourceMissing if one of them does not exist.
        verify:
            Whether to compare the SHA-256 of a file even if its size and time of change are unchanged.
        prune:
            Whether to remove the documents of a folder if the whole folder is now empty. If False, they stay.
        follow_links:
            Whether to follow links to files outside of a folder. The choice is stored for the folder. None keeps the
            stored choice; for a new folder it means that links are not followed.
        price:
            Whether to read changed files and compute the exact cost. If False, the plan has no cost.
        limits:
            Limits for reading files.
        progress:
            Called after each file that is read to compute the cost.
        """
        plan = planning.make_plan(
            self._file.database, paths_of(sources), verify=verify, prune=prune, follow_links=follow_links
        )
        pipeline = replace(self._file.pipeline(), describer=self._file.models.describer)
        if pipeline.describer is not None:
            plan = describe.read_again(pipeline, pipeline.describer, plan)
        if not price:
            return plan
        from monograph.write.price import price as priced

        return priced(pipeline, plan, limits, progress)

    @spends
    def apply(
        self,
        plan: Plan,
        *,
        forget: bool | None = None,
        limits: Limits = DEFAULT_LIMITS,
        progress: OnProgress | None = None,
    ) -> Report:
        """Carry out a plan of :meth:`plan`, and return a report.

        If a source cannot be read, the report has a problem, and the source's stored documents stay.

        ``forget`` is whether to erase the text of removed documents, and the previous text of changed documents, from
        the bytes of the file and its write-ahead log; None means :attr:`always_forget`. If the text cannot be erased
        because another process still reads an older state, the report has a problem, and the next write erases the
        text.
        """
        pipeline, models = self._file.writing_pipeline(), self._file.models
        models.adopt_describer()
        pipeline = replace(pipeline, describer=models.describer)
        return self._file.forgetting(
            lambda forgets: apply.apply(pipeline.forgetting(forgets), plan, limits, progress), forget
        )

    @telemetry.traced("monograph.sync")
    def sync(
        self,
        *sources: str | os.PathLike[str],
        verify: bool = False,
        prune: bool = False,
        forget: bool | None = None,
        follow_links: bool | None = None,
        limits: Limits = DEFAULT_LIMITS,
        progress: OnProgress | None = None,
    ) -> Report:
        """Update the file from files and folders: :meth:`plan`, then :meth:`apply`, with their parameters."""
        plan = self.plan(*sources, verify=verify, prune=prune, follow_links=follow_links, price=False)
        return self.apply(plan, forget=forget, limits=limits, progress=progress)

    def take_over(
        self,
        kind: str,
        source: str | os.PathLike[str],
        *,
        collection: str = "",
        vectors: bool = True,
        progress: OnProgress | None = None,
    ) -> Report:
        """Import the texts, metadata and vectors of another store: see docs/how-to/coming-from.md.

        Parameters
        ----------
        kind:
            Kind of the store: ``jsonl`` (an export of Monograph), ``chroma``, ``lightrag``, ``graphrag`` or ``ragdb``.
        source:
            Path of the store's folder; for RAGdb, path of its file.
        collection:
            Name of the collection to import; needed if a Chroma store has several collections.
        vectors:
            Whether to keep the store's vectors if this file can use them. Otherwise, the file's embedder computes the
            vectors. If a new file without an embedder keeps the store's vectors, the file accepts only given vectors
            from then on.
        progress:
            Called after every batch of documents. If it raises, the batches that are stored already stay.

        Returns
        -------
        A report. Each record that cannot be stored is a problem in it.

        Raises
        ------
        InputError
            If the kind or collection is unknown, or the vectors have another length than the file's.
        SourceError
            If the store is missing, is of another kind, or cannot be read.
        MissingExtra
            If the package that reads the store is not installed.
        """
        from monograph.library import carrying

        store = carrying.store_of(kind, arguments.path(source, "the source"), collection)
        return self.take(store, vectors=vectors, progress=progress)

    @spends
    def take(self, store: Store, *, vectors: bool = True, progress: OnProgress | None = None) -> Report:
        """Import a store that is already open. Parameters and result are as for :meth:`take_over`."""
        from monograph.library import carrying

        return carrying.import_store(self._file, store, vectors=vectors, progress=progress)

    @property
    def always_forget(self) -> bool:
        """Whether every write, including every sync, erases removed text from the bytes of the file. Default: False.

        The setting is stored in the file. If it is True, each removal rewrites the file. Call ``compact`` to erase text
        that was removed while the setting was False.
        """
        with self._file.database.read() as connection:
            return settings.load_always_forget(connection)

    @always_forget.setter
    def always_forget(self, on: bool) -> None:
        with self._file.database.write() as connection:
            settings.save_always_forget(connection, on)

    def sources(self) -> list[SyncedSource]:
        """Return the synced files and folders, each with its number of documents, its last sync and its failures."""
        return roots.followed(self._file.database)

    @spends
    def retry(
        self, *, forget: bool | None = None, limits: Limits = DEFAULT_LIMITS, progress: OnProgress | None = None
    ) -> Report:
        """Read all files again that could not be read before. Call it after you install an extra or raise a limit.

        Parameters are as for :meth:`apply`.
        """
        return self.apply(roots.plan_failed(self._file.database), forget=forget, limits=limits, progress=progress)

    def move(self, root: str, place: str | os.PathLike[str]) -> Move:
        """Set the new path of a synced file or folder that was moved. Its documents stay, and nothing is derived again.

        ``root`` is the name of the file or folder, or its old path. ``place`` is the new path. The method is not needed
        if the old path no longer exists and at least half of the files are unchanged at the new path: then a sync of
        the new path detects the move. Raises NotFound if ``root`` is not synced. Raises InputError if the new path does
        not exist, or is the path of another synced file or folder.
        """
        return roots.move(self._file.database, root, arguments.path(place, "the place"))

    @spends
    def remove(self, root: str, *, forget: bool | None = None) -> Report:
        """Stop syncing a file or folder, and remove all its documents. The file or folder on disk stays.

        ``root`` is its name or path. ``forget`` is as for :meth:`monograph.Monograph.remove`. Raises NotFound if
        ``root`` is not synced.
        """
        from monograph.write.writer import remove_root

        file, name = self._file, roots.named(self._file.database, root).name
        return file.forgetting(
            lambda forgets: file.update_tree(remove_root(file.database, file.indexes, name, forgets=forgets)),
            forget,
            strict=True,
        )

    def receive(self, root: str, name: str, folder: str = "", *, limits: Limits = DEFAULT_LIMITS) -> IncomingFile:
        """Return a writer that creates a file in a synced folder from bytes that arrive in pieces, such as an upload.

        The writer is a context manager. Call its method ``write`` with each piece, then ``keep``: see
        :class:`monograph.sync.receive.IncomingFile`. The next sync reads the new file.

        Parameters
        ----------
        root:
            Name or path of the synced folder.
        name:
            Name of the new file, not a path.
        folder:
            An existing folder below the synced folder, such as ``letters/1963``; empty for the synced folder itself.
        limits:
            ``limits.max_bytes`` limits the size of the file.

        Raises
        ------
        NotFound
            If the folder is not synced.
        InputError
            If ``name`` or ``folder`` is invalid, or a sync would ignore the new file.
        NameTaken
            If the folder already has a file of that name.
        SourceUnreadable
            If the folder cannot be written.
        """
        from monograph.sync.receive import IncomingFile

        return IncomingFile(roots.named(self._file.database, root), name, folder, limits.max_bytes)

    @spends
    def watch(
        self,
        *sources: str | os.PathLike[str],
        forget: bool | None = None,
        follow_links: bool | None = None,
        limits: Limits = DEFAULT_LIMITS,
        stop: threading.Event | None = None,
    ) -> Iterator[WatchEvent]:
        """Sync files and folders whenever they change, and yield an event for each change once it is stored.

        It needs the extra ``watch``. The iterator begins with a sync, and continues until ``stop`` is set or the
        iterator is closed. If a folder vanishes, its documents stay; if it returns, it is synced again. ``forget`` and
        ``limits`` are as for :meth:`apply`, ``follow_links`` as for :meth:`plan`. Raises MissingExtra if watchfiles is
        not installed.
        """
        from monograph.sync.watch import watch

        paths = [Path(os.path.abspath(path)) for path in paths_of(sources)]  # noqa: PTH100 - resolve() would follow links
        return watch(
            self._file.database,
            paths,
            lambda plan: self.apply(plan, forget=forget, limits=limits),
            stop or threading.Event(),
            follow_links,
        )


def paths_of(sources: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """Return files and folders as ``Path`` objects. Raises InputError if there are none, or a value is not a path."""
    if not sources:
        raise InputError("no file or folder was given", "name at least one")
    return [arguments.path(source, "a source") for source in sources]
