"""Build of one sealed shard. A shard that a previous call finished is not built again."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

from monograph.derive.loading import load_embedder, load_extractor
from monograph.errors import InputError, ModelMismatch, NotAMonograph, NotOnShelf
from monograph.library.monograph import Monograph
from monograph.library.opened import OpenOptions, WholeFile
from monograph.models import Embedder, Extractor, Trusted
from monograph.read.limits import DEFAULT_LIMITS, Limits
from monograph.settings import Settings
from monograph.shelf import catalogue
from monograph.shelf.catalogue import BuildOrigin
from monograph.shelf.manifest import Pair, missing, put_file
from monograph.shelf.storage import ObjectName, Storage, fetch, storage_at, writing
from monograph.store import catalogue as stored
from monograph.store import versions
from monograph.store.documents import sources
from monograph.store.file import replacing
from monograph.store.file.database import Database
from monograph.store.graph import assertions, names
from monograph.values import Plan, Report, combine_reports


@dataclass(frozen=True, slots=True)
class Recipe:
    """Settings, models and folders that shards are built with.

    Parameters
    ----------
    address:
        Address of the shelf. Every machine can reach it.
    work:
        Folder on every machine for unfinished shards. A shard whose build was killed is continued there. ``~`` is the
        home of the user who runs the process on that machine.
    origin:
        Settings and models of the shelf's existing shards; None for a new shelf.
    settings, embedder, extractor:
        Settings and models from the caller; a model may be given by name. None means the value of ``origin``,
        or the default if ``origin`` is None.
    trusted:
        Servers that the models of ``origin`` may call, as for :meth:`monograph.Monograph.open`.
    limits:
        Limits for reading files.
    """

    address: str
    work: Path
    origin: BuildOrigin | None = None
    settings: Settings | None = None
    embedder: Embedder | str | None = None
    extractor: Extractor | str | None = None
    trusted: Trusted = ()
    limits: Limits = DEFAULT_LIMITS

    @property
    def built(self) -> Settings:
        """The settings to build shards with: those of the origin, else the given ones, else the defaults."""
        origin_settings = None if self.origin is None else self.origin.settings
        return origin_settings or self.settings or Settings()

    def models(self) -> tuple[Embedder | None, Extractor | None]:
        """Return (embedder, extractor) as the caller gave them; None if not given. A model given by name is loaded."""
        return (
            load_embedder(self.embedder) if isinstance(self.embedder, str) else self.embedder,
            load_extractor(self.extractor) if isinstance(self.extractor, str) else self.extractor,
        )

    def require_same(self) -> None:
        """Check that the given settings and models equal the shelf's. Values that were not given are not compared.

        Raises NotOnShelf if the settings keep history, InputError if the settings have no graph or differ from the
        shelf's, and ModelMismatch if a model differs from the shelf's.
        """
        settings, origin = self.settings, self.origin
        if settings is not None and settings.history:
            hint = "use a file: monograph sync FILE FOLDER --history"
            raise NotOnShelf("a shelf keeps no previous versions of documents", hint)
        if not self.built.graph:
            raise InputError("a shelf needs a graph", "in Python: give settings without graph=False")
        if origin is None:
            return
        if settings is not None and settings != self.built:
            raise InputError(
                f"{self.address} was built with {self.built}, not with {settings}",
                "leave the settings out, or build another shelf",
            )
        for what, expected, model in zip(
            ("embedder", "extractor"), (origin.embedder, origin.extractor), self.models(), strict=True
        ):
            if expected is not None and model is not None and expected.key != model.key:
                raise ModelMismatch(
                    f"{self.address} was built with the {what} {expected.key!r}, not with {model.key!r}",
                    f"leave the {what} out, or build another shelf",
                )


@dataclass(slots=True)
class Work:
    """Changes from which one new shard is built.

    The build copies ``before`` or ``file``, then removes documents, applies ``plan``, and adds ``documents``.

    Parameters
    ----------
    before:
        The existing shard that the new shard replaces; None if it replaces none. Without ``file``, the new shard starts
        as a copy of it.
    file:
        A .mono file; if given, the new shard starts as a copy of it.
    removed:
        Ids of documents to remove.
    plan:
        Plan of a sync: the changed source files to read.
    documents:
        Lists of documents to add.
    known:
        Digest of the documents of ``before``. If the new shard's documents have the same digest, the new shard is not
        put into storage, and ``before`` stays in the shelf.
    is_needed:
        Whether to put the new shard into storage even if it has no documents.
    key:
        Hash of the changes: see :meth:`mark`.
    """

    before: Pair | None = None
    file: Path | None = None
    documents: list[Any] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    plan: Plan | None = None
    known: bytes = b""
    is_needed: bool = False
    key: str = ""

    def mark(self, content: str, digest: bytes = b"") -> None:
        """Update the hash ``key`` with a text and a digest that describe a further change."""
        data = self.key.encode() + content.encode("utf-8", "surrogatepass") + digest
        self.key = sha256(data).hexdigest()


Made: TypeAlias = tuple[Pair | None, Report]
"""(names of the new shard and its contents file in storage, report of the build).

The names are None if the shard has no documents and is not needed."""


def make(recipe: Recipe, work: Work) -> Made:
    """Build a shard and put it into storage with its contents file; return their names and a report.

    If the new shard would have the same documents as ``work.before``, nothing is put, and ``work.before`` is returned.
    If a finished shard of the same work is in storage, it is returned with an empty report.

    Raises ShelfError if the shard cannot be put into storage. Other errors are those of
    :meth:`monograph.Monograph.open` and :meth:`monograph.Monograph.add`.
    """
    folder, storage = recipe.work.expanduser(), storage_at(recipe.address)
    models = [model if isinstance(model, str) else model and model.key for model in (recipe.embedder, recipe.extractor)]
    inputs = [recipe.address, repr(recipe.built), *models, repr(recipe.origin), repr(recipe.limits)]
    key = sha256(json.dumps([*inputs, repr(work.before), str(work.file), work.key]).encode()).hexdigest()
    path, contents_path, result_path = (folder / f"{key}{suffix}" for suffix in (".mono", ".contents.mono", ".json"))
    with _hold_lock(folder, key):  # Another process with the same work waits here, then finds the finished shard.
        with suppress(FileNotFoundError, ValueError, TypeError, InputError):
            shard, contents = (ObjectName(*fields) for fields in json.loads(result_path.read_bytes()))
            if not missing(storage, (shard, contents)):
                return (shard, contents), Report()
        if not path.exists():
            _create_start_file(path, recipe, work, storage)
        embedder, extractor = recipe.models()
        with Monograph.open(
            path, embedder=embedder, extractor=extractor, settings=recipe.built, trusted=recipe.trusted
        ) as archive:
            report = combine_reports(list(_fill(archive, recipe.limits, work)))
            with archive._file.database.read() as connection:
                is_same = work.known == stored.documents_digest(connection)
            if not is_same:
                archive.compact()  # Leaves no bytes of removed or replaced documents.
        pair = work.before if is_same else None
        if not is_same and (catalogue.write_contents(contents_path, path) or work.is_needed):
            replacing.restrict(contents_path, path)
            pair = put_file(storage, path), put_file(storage, contents_path)
            with open(result_path, "w", encoding="utf-8", opener=replacing.private) as file:
                json.dump([[name.digest, name.bytes] for name in pair], file)
        for local_path in (path, contents_path):
            replacing.drop(local_path)
        return pair, report


def _create_start_file(path: Path, recipe: Recipe, work: Work, storage: Storage) -> None:
    """Create the file from which a shard's build starts; none for new documents in a new shelf."""
    # If the process is killed, ``path`` is missing or complete.
    with replacing.temporary_name(path) as target:
        if work.file is not None:
            with Monograph.open(work.file, read_only=True) as archive:
                archive.backup(target)  # Other programs may be writing the file.
                with archive._file.database.read() as connection:
                    roots = sources.roots(connection)
            with (
                closing(WholeFile.open(OpenOptions(target, create=False))) as file,
                file.database.write() as connection,
            ):
                for root in roots:
                    sources.put_root(connection, root, absolute=True)
                versions.drop_unsupported(connection)
        elif work.before is not None:
            shard, _ = work.before
            fetch(storage, shard, target)
            target.chmod(storage.permissions(shard.name) | 0o600)
        elif recipe.origin is not None:
            with closing(Database(target)) as database, database.write() as connection:
                catalogue.begin(connection, replace(recipe.origin, id=secrets.token_hex(16)))
        else:
            return
        replacing.put(target, path, overwrite=True)


def require_fit(source: Path, origin: BuildOrigin | None) -> BuildOrigin:
    """Check that a .mono file can become a shard, and return the settings and models that it was built with.

    ``source`` is the file. ``origin`` has the settings and models of the shelf; None for a new shelf.

    Raises
    ------
    InputError
        If the file has assertions, or names that :meth:`monograph.library.graph.EntityGraph.keep_apart` keeps apart; if
        it has no graph; if it was built with other settings or models than the shelf.
    NotAMonograph
        If the file is encrypted, or is not a Monograph file.
    """
    try:
        archive = Monograph.open(source, read_only=True)
    except NotAMonograph as error:
        hint = f"shards cannot be encrypted: give an unencrypted file (monograph decrypt {source})"
        raise NotAMonograph(error.message, hint) from error
    with archive, archive._file.database.read() as connection:
        file_origin = replace(catalogue.origin(connection), settings=replace(archive.settings, history=False))
        unsupported = [] if assertions.is_empty(connection) else ["assertions"]
        if names.cannot_link(connection):
            unsupported.append("names that are kept apart")
        if not archive.settings.graph:
            raise InputError(f"{source} has no graph, which shards need", f"build it: monograph build {source}")
    if unsupported:
        raise InputError(
            f"{source} has {' and '.join(unsupported)}, which a shelf cannot store",
            "remove them from a copy of the file",
        )
    if origin is not None:
        for what in ("settings", "embedder", "extractor"):
            values = [getattr(built, what) for built in (file_origin, origin)]
            theirs, ours = (getattr(value, "key", value) for value in values)
            if theirs != ours:
                raise InputError(
                    f"{source} was built with the {what} {theirs}, the shelf with {ours}",
                    f"give a file that was built with the same {what}",
                )
    return file_origin


def _fill(archive: Monograph, limits: Limits, work: Work) -> Iterable[Report]:
    if work.before is None and work.file is None:
        yield archive.add(())  # Stores the models even if the shard gets no documents.
    if work.removed:
        with archive._file.database.read() as connection:
            remaining = sorted(stored.document_hashes(connection, work.removed))
        if remaining:  # A killed process may have removed them already.
            yield archive.remove(remaining)
    if work.plan is not None:
        with archive._file.database.write() as connection:
            for root in work.plan.roots:
                sources.put_root(connection, root, absolute=True)
        yield archive.files.apply(work.plan, limits=limits)
    for block in work.documents:
        yield archive.add(block)


@contextmanager
def _hold_lock(folder: Path, key: str) -> Iterator[None]:
    """Hold an exclusive lock on the file ``key``.lock in a folder. The system releases it if the process dies."""
    import fcntl  # Windows lacks this module; it is needed only to build shards.

    with writing(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(folder / f"{key}.lock", "ab", opener=replacing.private) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
