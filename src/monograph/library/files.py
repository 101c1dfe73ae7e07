"""Files and folders that are kept in step: ``archive.files``."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from monograph import telemetry
from monograph.errors import InputError
from monograph.library.opened import WholeFile, spends
from monograph.library.original_files import OriginalFiles
from monograph.read.limits import DEFAULT_LIMITS, Limits
from monograph.store.file import settings
from monograph.sync import follow, roots
from monograph.sync import plan as planning
from monograph.values import Move, OnProgress, Plan, Report, SyncedSource, WatchEvent, arguments
from monograph.write import apply, describe

if TYPE_CHECKING:
    from monograph.carry.taken import Store
    from monograph.sync.receive import Incoming


class Files(OriginalFiles):
    """Plans and follows files and folders; made by :attr:`monograph.Monograph.files`."""

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
        """Say what :meth:`apply` would do, and what it would cost; nothing is written.

        Parameters
        ----------
        sources:
            Files and folders.
        verify:
            Compare SHA-256 even where size and time of change are as they were.
        prune:
            Take documents out even when a folder that held some is now empty.
        follow_links:
            Whether what links lead to outside of a folder is read. What is said is kept for the folder; None is what
            was said of it last, and of a new one no.
        price:
            Read what changed, to say exactly what would be derived. Without it the plan has no cost.
        limits:
            Bounds on what is read.
        progress:
            Told of every file.

        Raises
        ------
        SourceMissing
            If a source does not exist.
        """
        made = planning.make_plan(
            self._file.database, paths_of(sources), verify=verify, prune=prune, follow_links=follow_links
        )
        pipeline = self._file.describing(self._file.pipeline())
        made = describe.read_again(pipeline, made)
        if not price:
            return made
        from monograph.write.price import price as priced

        return priced(pipeline, made, limits, progress)

    @spends
    def apply(
        self,
        plan: Plan,
        *,
        forget: bool | None = None,
        limits: Limits = DEFAULT_LIMITS,
        progress: OnProgress | None = None,
    ) -> Report:
        """Do what a plan says. A source that cannot be read is a problem in the report; what is stored of it stays.

        With ``forget``, by default :attr:`always_forget`, no trace of what is gone, and of what was there before it
        changed, is left in the bytes of the file and its write-ahead log. Where that cannot be done, as while another
        process reads an older state, it is a problem in the report, and is done by the next write.
        """
        pipeline = self._file.describing(self._file.writing_pipeline(), adopt=True)
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
        """Plan and apply: bring the file up to date with files and folders. Parameters as for these."""
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
        """Store what another store holds, texts, metadata and vectors as they are: see docs/coming-from.md.

        Parameters
        ----------
        kind:
            ``jsonl`` for an export of Monograph's own, ``chroma``, ``lightrag``, ``graphrag`` or ``ragdb``.
        source:
            Where it lies: a folder, of RAGdb the file.
        collection:
            Chroma's, where there are several.
        vectors:
            Whether its vectors are kept, where it has any that the file can have; else they are made anew. A new file
            that no embedder was given for, and all of whose vectors come along, is one of given vectors.
        progress:
            Told of every batch. What is stored by then stays if it raises.

        Returns
        -------
        What was stored; a record that cannot be is a problem in it.

        Raises
        ------
        InputError
            If there is no such kind or collection, or the vectors are of another length than the file's.
        SourceError
            If the store is not there, is none of its kind, or cannot be read.
        MissingExtra
            If what reads it is not installed.
        """
        from monograph.library import carrying

        store = carrying.store_of(kind, arguments.path(source, "the source"), collection)
        return self.take(store, vectors=vectors, progress=progress)

    @spends
    def take(self, store: Store, *, vectors: bool = True, progress: OnProgress | None = None) -> Report:
        """Store what another store, opened, holds: see :meth:`take_over`."""
        from monograph.library import carrying

        return carrying.taken_in(self._file, store, vectors=vectors, progress=progress)

    @property
    def always_forget(self) -> bool:
        """Whether whatever is taken out, by a sync or otherwise, is forgotten; stored in the file, at first False.

        Each time that takes a rewrite of the file. What was taken out before it is set is forgotten by ``compact``.
        """
        with self._file.database.read() as connection:
            return settings.load_always_forget(connection)

    @always_forget.setter
    def always_forget(self, on: bool) -> None:
        with self._file.database.write() as connection:
            settings.save_always_forget(connection, on)

    def sources(self) -> list[SyncedSource]:
        """The files and folders that are synced: what is stored of each, when it was last seen, what failed."""
        return follow.followed(self._file.database)

    @spends
    def retry(
        self, *, forget: bool | None = None, limits: Limits = DEFAULT_LIMITS, progress: OnProgress | None = None
    ) -> Report:
        """Read again every file that something failed in: an extra may be installed by now, a limit be higher."""
        return self.apply(follow.plan_failed(self._file.database), forget=forget, limits=limits, progress=progress)

    def move(self, root: str, place: str | os.PathLike[str]) -> Move:
        """Say where a file or folder lies now that was moved. Nothing is made anew; the next sync finds what changed.

        A sync of the new place finds by itself that it was moved, if most of its files are as they were and nothing is
        left in the old place.

        Parameters
        ----------
        root:
            Its name, or the place where it was.
        place:
            Where it is.

        Raises
        ------
        NotFound
            If it is not followed.
        InputError
            If nothing is there, or another root is.
        """
        return roots.move(self._file.database, root, arguments.path(place, "the place"))

    @spends
    def remove(self, root: str, *, forget: bool | None = None) -> Report:
        """Follow a file or folder no longer, and take all its documents out.

        Parameters
        ----------
        root:
            Its name, or its place.
        forget:
            As for :meth:`monograph.Monograph.remove`.

        Raises
        ------
        NotFound
            If it is not followed.
        """
        from monograph.write.remove import remove_root

        file, name = self._file, roots.named(self._file.database, root).name
        return file.forgetting(
            lambda forgets: file.update_tree(remove_root(file.database, file.indexes, name, forgets=forgets)),
            forget,
            strict=True,
        )

    def receive(self, root: str, name: str, folder: str = "", *, limits: Limits = DEFAULT_LIMITS) -> Incoming:
        """Begin to take a file, byte by byte, into a folder that is followed; the next sync reads it.

        Parameters
        ----------
        root:
            The folder's name, or its place.
        name:
            The file's own name: never a path.
        folder:
            Below the root, as ``letters/1963``; it must be there.
        limits:
            ``max_bytes`` bounds it.

        Returns
        -------
        A context manager, see :class:`monograph.sync.receive.Incoming`: ``write`` it, then ``keep`` it.

        Raises
        ------
        NotFound
            If the root is not followed.
        InputError
            If a name will not do; NameTaken, if a file of that name is there.
        SourceUnreadable
            If nothing can be written there.
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
        """Follow folders while they change, and tell of every change once it is stored (extra ``watch``).

        It begins with a sync, and goes on until ``stop`` is set or it is closed. A folder that vanishes keeps what is
        stored of it, and is looked through when it comes back. ``forget`` as for :meth:`apply`, ``follow_links`` as for
        :meth:`plan`.

        Raises
        ------
        MissingExtra
            If watchfiles is not installed.
        """
        from monograph.sync.watch import watch

        places = [Path(os.path.abspath(path)) for path in paths_of(sources)]  # noqa: PTH100 - resolve() would follow links
        return watch(
            self._file.database,
            places,
            lambda plan: self.apply(plan, forget=forget, limits=limits),
            stop or threading.Event(),
            follow_links,
        )


def paths_of(sources: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """Files and folders that were given. Raises InputError if none is, or one is no path."""
    if not sources:
        raise InputError("no file or folder was given", "name at least one")
    return [arguments.path(source, "a source") for source in sources]
