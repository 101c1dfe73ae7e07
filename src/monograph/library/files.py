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
    from monograph.carry.taken import Store
    from monograph.sync.receive import Incoming
    from monograph.values import Move, OnProgress, Plan, Report, SyncedSource, WatchEvent


class Files(OriginalFiles):
    """Synced files and folders of a Monograph file: the value of :attr:`monograph.Monograph.files`."""

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
        """Return a plan: the changes that :meth:`apply` would make, and their cost. Nothing is written.

        Parameters
        ----------
        sources:
            Files and folders. Raises SourceMissing if one does not exist.
        verify:
            Compare SHA-256 even if size and time of change are unchanged.
        prune:
            Remove the documents of a folder even if the whole folder is now empty.
        follow_links:
            Whether to follow links to files outside of a folder. The choice is stored for the folder; None keeps the
            stored choice, and means no for a new folder.
        price:
            Read changed files to compute the exact cost. Without it the plan has no cost.
        limits:
            Limits for reading files.
        progress:
            Called for every file that is read for the cost.
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
        """Carry out a plan. A source that cannot be read is a problem in the report; its stored documents stay.

        With ``forget`` (default: :attr:`always_forget`), removed text, and the previous text of changed documents, is
        erased from the bytes of the file and its write-ahead log. If another process still reads an older state, the
        report has a problem, and the next write erases the text.
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
            ``jsonl`` for an export of Monograph, ``chroma``, ``lightrag``, ``graphrag`` or ``ragdb``.
        source:
            The store's folder; for RAGdb the file.
        collection:
            The collection in Chroma, if there are several.
        vectors:
            Whether to keep the store's vectors if they can be used in this file; else the file's embedder makes the
            vectors. A new file without an embedder that imports all its vectors accepts only given vectors later.
        progress:
            Called after every batch. If it raises, the batches stored so far stay.

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
            If the package that reads it is not installed.
        """
        from monograph.library import carrying

        store = carrying.store_of(kind, arguments.path(source, "the source"), collection)
        return self.take(store, vectors=vectors, progress=progress)

    @spends
    def take(self, store: Store, *, vectors: bool = True, progress: OnProgress | None = None) -> Report:
        """Import another store that is already open: see :meth:`take_over`."""
        from monograph.library import carrying

        return carrying.import_store(self._file, store, vectors=vectors, progress=progress)

    @property
    def always_forget(self) -> bool:
        """Whether every write, a sync too, erases removed text from the bytes of the file; stored, False by default.

        Each removal then rewrites the file. Text that was removed earlier is erased by ``compact``.
        """
        with self._file.database.read() as connection:
            return settings.load_always_forget(connection)

    @always_forget.setter
    def always_forget(self, on: bool) -> None:
        with self._file.database.write() as connection:
            settings.save_always_forget(connection, on)

    def sources(self) -> list[SyncedSource]:
        """Return the synced files and folders, each with its counts, the time of its last sync and its failures."""
        return roots.followed(self._file.database)

    @spends
    def retry(
        self, *, forget: bool | None = None, limits: Limits = DEFAULT_LIMITS, progress: OnProgress | None = None
    ) -> Report:
        """Read again all files that failed: call it after you install an extra or raise a limit."""
        return self.apply(roots.plan_failed(self._file.database), forget=forget, limits=limits, progress=progress)

    def move(self, root: str, place: str | os.PathLike[str]) -> Move:
        """Set the new path of a synced file or folder that was moved. Nothing is derived again.

        ``root`` is its name, or its old path. A sync of the new path detects the move by itself if at least half of the
        files are there, unchanged, and the old path no longer exists. Raises NotFound if it is not synced, and
        InputError if nothing is at the new path, or another synced folder is.
        """
        return roots.move(self._file.database, root, arguments.path(place, "the place"))

    @spends
    def remove(self, root: str, *, forget: bool | None = None) -> Report:
        """Stop syncing a file or folder, given by its name or path, and remove all its documents.

        ``forget`` as for :meth:`monograph.Monograph.remove`. Raises NotFound if it is not synced.
        """
        from monograph.write.writer import remove_root

        file, name = self._file, roots.named(self._file.database, root).name
        return file.forgetting(
            lambda forgets: file.update_tree(remove_root(file.database, file.indexes, name, forgets=forgets)),
            forget,
            strict=True,
        )

    def receive(self, root: str, name: str, folder: str = "", *, limits: Limits = DEFAULT_LIMITS) -> Incoming:
        """Return a writer for a new file in a synced folder, for bytes that arrive in pieces; the next sync reads it.

        Call ``write`` of the returned context manager with the bytes, then ``keep``: see
        :class:`monograph.sync.receive.Incoming`.

        ``root`` is the folder's name, or its path; ``name`` is the file's name, not a path; ``folder`` is an existing
        folder below the root, such as ``letters/1963``. ``limits.max_bytes`` limits the size of the file. Raises
        NotFound if the folder is not synced, InputError if a name is invalid, NameTaken if a file of that name exists,
        and SourceUnreadable if nothing can be written there.
        """
        from monograph.sync.receive import Incoming

        return Incoming(roots.named(self._file.database, root), name, folder, limits.max_bytes)

    @spends
    def watch(
        self,
        *sources: str | os.PathLike[str],
        forget: bool | None = None,
        follow_links: bool | None = None,
        limits: Limits = DEFAULT_LIMITS,
        stop: threading.Event | None = None,
    ) -> Iterator[WatchEvent]:
        """Sync folders whenever they change, and yield an event for every change once it is stored (extra ``watch``).

        The watch begins with a sync, and continues until ``stop`` is set or the iterator is closed. Documents of a
        folder that vanishes stay, and the folder is synced when it returns. ``forget`` as for :meth:`apply`,
        ``follow_links`` as for :meth:`plan`. Raises MissingExtra if watchfiles is not installed.
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
    """Return the paths of files and folders. Raises InputError if none is given, or a value is not a path."""
    if not sources:
        raise InputError("no file or folder was given", "name at least one")
    return [arguments.path(source, "a source") for source in sources]
