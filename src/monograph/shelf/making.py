"""Making of one sealed shard, wherever and however often: a shard that was made is not made again."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from monograph.derive.embed import load_embedder
from monograph.derive.extract import load_extractor
from monograph.errors import InputError, NotAMonograph, ShelfUnreachable
from monograph.library.monograph import Monograph
from monograph.library.opened import OpenOptions, WholeFile
from monograph.models import Embedder, Extractor, Trusted
from monograph.read.limits import DEFAULT_LIMITS, Limits
from monograph.settings import Settings
from monograph.shelf import catalogue
from monograph.shelf.catalogue import Origin
from monograph.shelf.manifest import ObjectName, missing, put_file
from monograph.shelf.place import fetch
from monograph.shelf.storage import Storage, storage_at
from monograph.store.catalogue import catalogue as stored
from monograph.store.documents import sources
from monograph.store.file import replacing
from monograph.store.file.database import Database
from monograph.store.file.errors import system_error
from monograph.store.graph import assertions, names
from monograph.store.history import versions
from monograph.values import Document, Plan, Report, together


@dataclass(frozen=True, slots=True)
class Recipe:
    """Settings, models and places with which shards are made.

    Parameters
    ----------
    address:
        Of the shelf, as every machine can reach it.
    work:
        A folder on every machine for shards that are being made; ``~`` is the home of whoever works there. What a
        killed process left there is continued.
    origin:
        What the shards of the shelf are made with; None for a new shelf, which takes the next three.
    settings:
        The settings; None for the defaults.
    embedder, extractor:
        Models, or the texts that name them, as for :func:`monograph.derive.embed.load_embedder` and
        :func:`monograph.derive.extract.load_extractor`; None for those of the origin, or the defaults.
    trusted:
        Servers that the models of the origin may ask, as for :meth:`monograph.Monograph.open`.
    limits:
        How much of a file is read.
    """

    address: str
    work: Path
    origin: Origin | None = None
    settings: Settings | None = None
    embedder: Embedder | str | None = None
    extractor: Extractor | str | None = None
    trusted: Trusted = ()
    limits: Limits = DEFAULT_LIMITS

    @property
    def built(self) -> Settings:
        """The settings that shards are made with."""
        known = None if self.origin is None else self.origin.settings
        return known or self.settings or Settings()

    def open(self, path: Path) -> Monograph:
        """Open a shard that is being made; raises as :meth:`monograph.Monograph.open`."""
        embedder, extractor = self.models()
        return Monograph.open(path, embedder=embedder, extractor=extractor, settings=self.built, trusted=self.trusted)

    def models(self) -> tuple[Embedder | None, Extractor | None]:
        """Return the given models; those that are named by texts are made."""
        embedder, extractor = self.embedder, self.extractor
        return (
            load_embedder(embedder) if isinstance(embedder, str) else embedder,
            load_extractor(extractor) if isinstance(extractor, str) else extractor,
        )


@dataclass(frozen=True, slots=True)
class Work:
    """Content that a shard is made of.

    Parameters
    ----------
    key:
        Tells this shard from all others that are made in the same folder.
    source:
        What it starts from: a copy of a sealed shard, or of a .mono file; None for an empty file.
    documents:
        Blocks of documents to add.
    plan:
        Changes of files to apply.
    removed:
        Ids of documents to remove.
    known:
        The digest of the documents of the shard that it starts from: a copy that still has them is not put. Empty
        where it is put in any case.
    is_needed:
        Whether it is put also without documents.
    """

    key: str
    source: ObjectName | Path | None = None
    documents: Sequence[Any] = ()
    plan: Plan | None = None
    removed: tuple[str, ...] = ()
    known: bytes = b""
    is_needed: bool = False


@dataclass(frozen=True, slots=True)
class Made:
    """A shard that was put, with its contents; None where it has no documents and is not needed.

    ``is_same`` says that the copy of a shard has still the same documents, and was not put.
    """

    shard: ObjectName | None = None
    contents: ObjectName | None = None
    report: Report = field(default_factory=Report)
    is_same: bool = False


def key_of(recipe: Recipe, shard: object, content: Sequence[bytes]) -> str:
    """Return the key of a shard: a hash of what it starts from and of all that goes into it."""
    models = [one if isinstance(one, str) else one and one.key for one in (recipe.embedder, recipe.extractor)]
    said = [recipe.address, repr(shard), repr(recipe.built), *models, repr(recipe.origin), repr(recipe.limits)]
    digest = sha256(json.dumps(said).encode())
    for one in content:
        digest.update(one)
    return digest.hexdigest()


def make(recipe: Recipe, work: Work, blocks_of: Callable[[Any], Sequence[Document]] = lambda block: block) -> Made:
    """Make a shard, seal it and put it with its contents; ``blocks_of`` gets the documents of a block.

    Raises
    ------
    MonographError
        As :meth:`monograph.Monograph.open` and ``add``, and ShelfError if it cannot be put.
    """
    folder, storage = recipe.work.expanduser(), storage_at(recipe.address)
    path, noted = folder / f"{work.key}.mono", folder / f"{work.key}.json"
    with _locked(folder, work.key):  # Another process that makes the same shard waits, and finds it made.
        known = _noted(noted, storage)
        if known is not None:
            return known
        if not path.exists():
            _begin(path, recipe, work.source, storage)
        with recipe.open(path) as archive:
            report = _fill(archive, recipe, work, blocks_of)
            with archive._file.database.read() as connection:
                is_same = work.known == stored.documents_digest(connection)
            if not is_same:
                archive.compact()  # Nothing is left of what was removed or replaced.
        listed = folder / f"{work.key}.contents.mono"
        if is_same:
            made = Made(report=report, is_same=True)
        elif catalogue.write_contents(listed, path) or work.is_needed:
            replacing.restrict(listed, path)
            made = Made(put_file(storage, path), put_file(storage, listed), report)
            _note(noted, made)
        else:
            made = Made(report=report)
        for one in (path, listed):
            replacing.drop(one)
        return made


def _begin(path: Path, recipe: Recipe, source: ObjectName | Path | None, storage: Storage) -> None:
    """Have a file to fill under its name: whole or not at all."""
    with replacing.temporary_name(path) as started:
        if isinstance(source, ObjectName):
            fetch(storage, source, started)
            started.chmod(storage.permissions(source.name) | 0o600)
        elif source is not None:
            _copy(source, started)
        elif recipe.origin is not None:
            with closing(Database(started)) as database, database.write() as connection:
                catalogue.begin(connection, replace(recipe.origin, id=secrets.token_hex(16)))
        else:
            return
        replacing.put(started, path, overwrite=True)


def _copy(source: Path, target: Path) -> None:
    """Copy a .mono file, also while others write it, as a shard: without what a shelf does not have."""
    with Monograph.open(source, read_only=True) as archive:
        archive.backup(target)
        with archive._file.database.read() as connection:
            known = sources.roots(connection)
    file = WholeFile.open(OpenOptions(target, create=False))
    try:
        with file.database.write() as connection:
            for root in known:
                sources.put_root(connection, root, absolute=True)
            versions.drop_unsupported(connection)
    finally:
        file.close()


def require_fit(source: Path, origin: Origin | None) -> Origin:
    """Return what a .mono file was made with, if it can become a shard of a shelf made with ``origin``.

    Raises
    ------
    InputError
        If it has assertions, names set apart or no graph, or was built with other settings or models.
    NotAMonograph
        If it is encrypted, or no Monograph file.
    """
    try:
        archive = Monograph.open(source, read_only=True)
    except NotAMonograph as error:
        mend = f"shards are not encrypted: give a plain file (monograph decrypt {source})"
        raise NotAMonograph(error.message, mend) from error
    with archive, archive._file.database.read() as connection:
        found = replace(catalogue.origin(connection), settings=replace(archive.settings, history=False))
        held = [
            what
            for what, is_there in (
                ("assertions", next(assertions.each(connection), None) is not None),
                ("names set apart", bool(names.cannot_link(connection))),
            )
            if is_there
        ]
        if not archive.settings.graph:
            raise InputError(f"{source} has no graph, which shards have", f"build it: monograph build {source}")
    if held:
        raise InputError(
            f"{source} has {' and '.join(held)}, which a shelf does not have", "remove them from a copy of the file"
        )
    if origin is not None:
        for what in ("settings", "embedder", "extractor"):
            theirs, ours = getattr(found, what), getattr(origin, what)
            if getattr(theirs, "key", theirs) != getattr(ours, "key", ours):
                raise InputError(
                    f"{source} was made with the {what} {getattr(theirs, 'key', theirs)}, the shelf with "
                    f"{getattr(ours, 'key', ours)}",
                    "give a file that was made with the same",
                )
    return found


def _fill(archive: Monograph, recipe: Recipe, work: Work, blocks_of: Callable[[Any], Sequence[Document]]) -> Report:
    reports = []
    if work.source is None:
        reports.append(archive.add(()))  # A shard without documents has its models, too.
    if work.removed:
        with archive._file.database.read() as connection:
            left = sorted(stored.document_hashes(connection, work.removed))
        if left:  # Else a killed process has removed them.
            reports.append(archive.remove(left))
    if work.plan is not None:
        with archive._file.database.write() as connection:
            for root in work.plan.roots:
                sources.put_root(connection, root, absolute=True)
        reports.append(archive.files.apply(work.plan, limits=recipe.limits))
    reports += [archive.add(blocks_of(block)) for block in work.documents]
    return together(reports)


@contextmanager
def _locked(folder: Path, key: str) -> Iterator[None]:
    """Hold a lock of the system, which ends with the process; translate what the system refuses meanwhile."""
    import fcntl  # Windows has none, and whoever only imports this needs none.

    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(folder / f"{key}.lock", "ab", opener=replacing.private) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise system_error(folder, error) or ShelfUnreachable(
            f"{folder} cannot be written: {error.strerror or error}",
            "check the folder; in Python: or give another one: home=",
        ) from error


def _note(path: Path, made: Made) -> None:
    """Note that a shard was put."""
    names = [[one.digest, one.bytes] for one in (made.shard, made.contents) if one is not None]
    part = path.with_suffix(".part")
    with open(part, "w", encoding="utf-8", opener=replacing.private) as file:
        json.dump(names, file)
    replacing.put(part, path, overwrite=True)


def _noted(path: Path, storage: Storage) -> Made | None:
    """Return what was put before, if it is still there."""
    try:
        shard, listed = (ObjectName(*one) for one in json.loads(path.read_bytes()))
    except (FileNotFoundError, ValueError, TypeError, InputError):
        return None
    return None if missing(storage, (shard, listed)) else Made(shard, listed)
