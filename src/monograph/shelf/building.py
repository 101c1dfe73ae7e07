"""Building a shelf, adding to it and removing from it: new documents go into new sealed shards."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from monograph.errors import InputError, ModelMismatch, NotFound, NotOnShelf
from monograph.library.files import paths_of
from monograph.models import Embedder, Extractor, Trusted
from monograph.read.limits import DEFAULT_LIMITS, Limits
from monograph.read.paths import path_to_text
from monograph.settings import Settings
from monograph.shelf import catalogue
from monograph.shelf.catalogue import OpenContents
from monograph.shelf.making import Made, Recipe, Work, key_of, make, require_fit
from monograph.shelf.manifest import MOST_SHARDS, Forgotten, Manifest, ObjectName, latest, publish, sweep
from monograph.shelf.manifest import forget as forget_objects
from monograph.shelf.place import Place, place_at
from monograph.store.catalogue import catalogue as stored
from monograph.store.documents import sources
from monograph.store.file.database import Database
from monograph.sync.plan import make_plan
from monograph.values import Change, Document, OnProgress, Plan, Progress, Report, arguments, together
from monograph.write.batch import document_hash

if TYPE_CHECKING:
    from monograph.shelf.ray_engine import Tasks

_BLOCK = 4_096
"""Documents that are looked up together."""


@runtime_checkable
class Dataset(Protocol):
    """The part of ``ray.data.Dataset`` that is used."""

    def iter_rows(self) -> Iterable[Mapping[str, Any]]:
        """Return the rows, one after the other."""
        ...


def build(  # noqa: PLR0913 - each is a choice of its own
    url: str | os.PathLike[str],
    documents: Iterable[Document] | Dataset | None = None,
    *,
    sources: Sequence[str | os.PathLike[str]] = (),
    shards: int = 1,
    embedder: Embedder | str | None = None,
    extractor: Extractor | str | None = None,
    settings: Settings | None = None,
    limits: Limits = DEFAULT_LIMITS,
    verify: bool = False,
    prune: bool = False,
    follow_links: bool | None = None,
    tasks: Tasks | None = None,
    replace_all: bool = False,
    trusted: Trusted = (),
    home: str | os.PathLike[str] | None = None,
    progress: OnProgress | None = None,
) -> Report:
    """Bring a shelf up to date with documents, files, folders and .mono files, and publish that as its next version.

    New documents go into new shards. A shard is made again, from a copy that keeps what models made, where one of its
    documents is replaced, or a file of a folder changed or is gone. A .mono file becomes a shard of its own, with all
    that models made for it; given again after it changed, it replaces that shard. Nothing is published where nothing
    changed. Interrupted, the same call continues: finished shards are not made again.

    Parameters
    ----------
    url:
        A folder, or a bucket: ``s3://bucket/path``, ``gs://``, ``az://``. With ``tasks``, one that all machines reach.
    documents:
        Documents, or a ``ray.data.Dataset`` with a row for each: ``text``, and ``id``, ``title``, ``uri`` and
        ``metadata`` where it has them. A known id replaces that document.
    sources:
        Files, folders and .mono files, instead of documents. With ``tasks``, they have the same paths on all machines.
    shards:
        How many new shards new documents are divided among, 1 to 10,000; about one for each million chunks.
    embedder, extractor:
        Models, or the texts that name them, as ``--embedder`` and ``--extractor`` do; by default those of the shelf.
    settings:
        The settings of a new shelf.
    limits, verify, prune, follow_links:
        As for :meth:`monograph.Monograph.sync`.
    tasks:
        Makes the shards on many machines; without it they are made in this process, one after the other.
    replace_all:
        Publish what is given instead of all that the shelf has; settings and models may then be others.
    trusted:
        Servers that the shelf's own models may ask, as for :meth:`monograph.Monograph.open`.
    home:
        The shelf's folder on this machine, as for :meth:`monograph.shelf.Shelf.open`.
    progress:
        Told of every shard.

    Returns
    -------
    What was stored, and the files that could not be read.

    Raises
    ------
    InputError
        If both documents and sources are given, or none; if a value is out of range; if a .mono file cannot become a
        shard of this shelf.
    ModelMismatch
        If the shelf was built with another model.
    ShelfConflict
        If another writer publishes meanwhile: the same call then starts from that version.
    ShardLost
        If a task fails again and again.
    MonographError
        As :meth:`monograph.Monograph.add`.
    """
    count = arguments.whole_number(shards, "shards")
    if not 1 <= count <= MOST_SHARDS:
        raise InputError(f"{count:,} is no number of shards", f"give one from 1 to {MOST_SHARDS:,}")
    if (documents is None) == (not sources):
        raise InputError("give either documents or sources", "in Python: documents, or files and folders: sources=")
    place = place_at(os.fspath(url), None if home is None else Path(home), create=True)
    before = latest(place.objects)
    kept = None if replace_all else before
    with catalogue.open_contents(place, kept.shards if kept else (), kept.contents if kept else ()) as held:
        files = [path for path in map(Path, sources) if path.suffix == ".mono" and path.is_file()]
        origin = catalogue.origin(held[0].contents) if held else None
        for file in files:
            origin = require_fit(file, origin)
        recipe = Recipe(place.objects.address, place.building, origin, settings, embedder, extractor, trusted, limits)
        _require_same(recipe)
        draft = _Draft(recipe, held, count, tasks)
        if documents is not None:
            draft.add(documents_in(documents) if isinstance(documents, Dataset) else documents)
        for file in files:
            draft.add_file(file)
        folders = [one for one in sources if Path(one) not in files]
        if folders:
            draft.follow(folders, verify=verify, prune=prune, follow_links=follow_links)
        return draft.publish(place, before, progress)


def remove(
    url: str | os.PathLike[str],
    ids: Iterable[str],
    *,
    trusted: Trusted = (),
    tasks: Tasks | None = None,
    home: str | os.PathLike[str] | None = None,
    progress: OnProgress | None = None,
) -> Report:
    """Remove documents, by id, uri or path of a synced file, and publish that as the next version.

    The new version has no trace of them; the version before has them until :func:`forget`. Parameters and errors as for
    :func:`build`; raises NotFound, and removes none, if a name fits no document.
    """
    place = place_at(os.fspath(url), None if home is None else Path(home))
    before = latest(place.objects)
    if before is None:
        raise NotFound(f"{place.url} holds no shelf", f"monograph shelf build {place.url} FOLDER")
    with catalogue.open_contents(place, before.shards, before.contents) as held:
        recipe = Recipe(place.objects.address, place.building, catalogue.origin(held[0].contents), trusted=trusted)
        draft = _Draft(recipe, held, 1, tasks)
        for name in arguments.names(ids, "an id"):
            found = [sources.resolve(one.contents, [path_to_text(name)])[0] for one in held]
            if not any(found):
                raise NotFound(f"{place.url} has no document {name!r}", "give the id or uri of one that is there")
            for shard, some in enumerate(found):
                if some:
                    draft.rewritten(shard).removed += [document.id for document in some]
        return draft.publish(place, before, progress)


def forget(url: str | os.PathLike[str], *, home: str | os.PathLike[str] | None = None) -> Forgotten:
    """Remove every version but the newest, and all objects that only they name, from storage and from this machine.

    Other machines that have opened the shelf keep what they fetched until this is called there. Raises as
    :meth:`monograph.shelf.Shelf.open`.
    """
    place = place_at(os.fspath(url), None if home is None else Path(home))
    made = forget_objects(place.objects)
    if made.kept is not None:
        place.keep(made.kept)
    place.drop_building()
    return made


def shard_of(name: str, shards: int) -> int:
    """Return the new shard of a document, by its id, or of a file, by its uri: the same on every machine."""
    return int.from_bytes(sha256(name.encode("utf-8", "surrogatepass")).digest()[:8], "big") % shards


def documents_in(rows: Dataset) -> Iterator[Document]:
    """Yield a document for each row: its ``text``, and ``id``, ``title``, ``uri`` and ``metadata`` where it has them.

    Metadata is an object, or JSON of one; values that are None are left out.

    Raises
    ------
    InputError
        If a row has no text, or is no document.
    """
    for number, row in enumerate(rows.iter_rows()):
        text, held = row.get("text"), row.get("metadata") or {}
        if not isinstance(text, str):
            raise InputError(f"row {number} of the data set has no text", "give it a column text, and in each row one")
        try:
            metadata = dict(json.loads(held) if isinstance(held, str) else held)
        except (ValueError, TypeError) as error:
            raise InputError(f"the metadata of row {number} is no object", "give an object, or JSON of one") from error
        name, title, uri = (str(row.get(column) or "") for column in ("id", "title", "uri"))
        yield Document(text, name, title, uri, {key: one for key, one in metadata.items() if one is not None})


@dataclass(slots=True)
class _ShardContent:
    """Content that is to go into one shard."""

    source: Any = None
    documents: list[Any] = field(default_factory=list)
    content: list[bytes] = field(default_factory=list)
    plan: Plan | None = None
    removed: list[str] = field(default_factory=list)
    has_moved: bool = False
    """Whether one of its folders moved: then it is put although its documents are the same."""

    @property
    def is_changed(self) -> bool:
        """Whether it is to be made."""
        return bool(self.source is not None or self.documents or self.plan or self.removed)


def _require_same(recipe: Recipe) -> None:
    """Raise an error where given settings or models are not those of the shelf."""
    if recipe.settings is not None and recipe.settings.history:
        raise NotOnShelf(
            "a shelf keeps no former versions of documents", "use a file: monograph sync FILE FOLDER --history"
        )
    if not recipe.built.graph:
        raise InputError("a shelf has a graph", "in Python: give settings without graph=False")
    if recipe.origin is None:
        return
    if recipe.settings is not None and recipe.settings != recipe.built:
        raise InputError(
            f"{recipe.address} was built with {recipe.built}, not with {recipe.settings}", "give no settings"
        )
    embedder, extractor = recipe.models()
    for what, known, given in (
        ("embedder", recipe.origin.embedder, embedder),
        ("extractor", recipe.origin.extractor, extractor),
    ):
        if known is not None and given is not None and known.key != given.key:
            raise ModelMismatch(
                f"{recipe.address} was built with the {what} {known.key!r}, not with {given.key!r}",
                f"give no {what}, or build another shelf",
            )


class _Draft:
    """The next version in the making: which shards are made again, and which are new."""

    def __init__(self, recipe: Recipe, held: Sequence[OpenContents], shards: int, tasks: Tasks | None) -> None:
        self._recipe, self._held, self._tasks = recipe, held, tasks
        self._rewritten: dict[int, _ShardContent] = {}
        self._new = [_ShardContent() for _ in range(shards)]
        self._seen = Report()

    def rewritten(self, shard: int) -> _ShardContent:
        """Return what is to be changed in a shard of the version before."""
        return self._rewritten.setdefault(shard, _ShardContent())

    def _see(self, report: Report) -> None:
        self._seen = together([self._seen, report])

    def add(self, documents: Iterable[Document]) -> None:
        """Add documents: each to the shard that holds its id, or to a new one."""
        waiting, built = iter(documents), self._recipe.built
        while block := list(islice(waiting, _BLOCK)):
            known = [stored.document_hashes(one.contents, [document.id for document in block]) for one in self._held]
            parts: dict[int, list[tuple[Document, bytes]]] = {}
            for document in block:
                made = document_hash(document, built)
                holder = next((shard for shard, hashes in enumerate(known) if document.id in hashes), None)
                if holder is None:
                    parts.setdefault(-1 - shard_of(document.id, len(self._new)), []).append((document, made))
                elif known[holder][document.id] == made and holder not in self._rewritten:
                    self._see(Report(same=1))
                else:
                    parts.setdefault(holder, []).append((document, made))
            for shard, some in parts.items():
                target = self._new[-1 - shard] if shard < 0 else self.rewritten(shard)
                mine = [document for document, _ in some]
                target.documents.append(mine if self._tasks is None else self._tasks.keep(mine))
                target.content += [document.id.encode("utf-8", "surrogatepass") + made for document, made in some]

    def add_file(self, path: Path) -> None:
        """Have a .mono file as a shard: in place of the one that was made of it before, or as a new one.

        Raises InputError if it has a document that is in another shard.
        """
        with closing(Database(path, read_only=True)) as file, file.read() as connection:
            identity, hashes = catalogue.origin(connection).id, stored.document_hashes(connection)
        identities = [catalogue.origin(one.contents).id for one in self._held]
        place = identities.index(identity) if identity in identities else None
        for shard, one in enumerate(self._held):
            both = stored.document_hashes(one.contents, list(hashes)) if shard != place else {}
            if both:
                raise InputError(f"{path} has {min(both)!r}, which the shelf has already", "remove one of both first")
        before = {} if place is None else stored.document_hashes(self._held[place].contents)
        same = sum(before.get(name) == found for name, found in hashes.items())
        added, removed = len(hashes.keys() - before.keys()), len(before.keys() - hashes.keys())
        self._see(Report(added=added, changed=len(hashes) - added - same, removed=removed, same=same))
        if hashes == before:
            return
        content = [name.encode("utf-8", "surrogatepass") + hashes[name] for name in sorted(hashes)]
        made = _ShardContent(source=path.absolute(), content=content)
        if place is None:
            self._new.append(made)
        else:
            self._rewritten[place] = made

    def follow(
        self, given: Sequence[str | os.PathLike[str]], *, verify: bool, prune: bool, follow_links: bool | None
    ) -> None:
        """Compare files and folders with what all shards hold; a changed or missing file is changed in its shard."""
        paths = paths_of(given)
        held_roots = [sources.roots(one.contents) for one in self._held]
        with TemporaryDirectory(prefix="monograph-") as folder, closing(Database(Path(folder) / "known.mono")) as known:
            holders: dict[str, int] = {}
            with known.write() as connection:
                # Of a name that several shards have, the root of the first one holds.
                for root in {root.name: root for some in reversed(held_roots) for root in some}.values():
                    sources.put_root(connection, root)
                sources.save_failures(
                    connection, chain.from_iterable(sources.failures(one.contents) for one in self._held)
                )
                for shard, one in enumerate(self._held):
                    listed = list(sources.every(one.contents))
                    sources.put(connection, listed)
                    holders |= {source.uri: shard for source in listed}
            plan = make_plan(known, paths, verify=verify, prune=prune, follow_links=follow_links)
        parts: dict[int, list[Change]] = {}
        for change in plan.changes:
            holder = holders.get(change.uri)
            if change.kind == "same" and holder is not None:
                self._see(Report(same=1))
            elif change.kind != "same":
                shard = -1 - shard_of(change.uri, len(self._new)) if holder is None else holder
                parts.setdefault(shard, []).append(change)
        moved = {one.root for one in plan.moved}
        for shard, held in enumerate(held_roots):
            if not moved.isdisjoint(root.name for root in held):
                parts.setdefault(shard, [])
                self.rewritten(shard).has_moved = True  # It has to say where its folder is now.
        self._see(Report(problems=plan.problems, moved=plan.moved))
        for shard, changes in parts.items():
            target = self._new[-1 - shard] if shard < 0 else self.rewritten(shard)
            target.plan = replace(plan, changes=tuple(changes), problems=(), moved=())
            target.content.append(repr((plan.roots, changes)).encode("utf-8", "surrogatepass"))

    def publish(self, place: Place, before: Manifest | None, progress: OnProgress | None) -> Report:
        """Make the shards, and publish them with those that stay; nothing, where nothing changed."""
        new = [one for one in self._new if one.is_changed]
        if not new and not self._held:
            new = self._new[:1]  # A shelf without documents has one shard.
        shards = [*self._rewritten.items(), *((None, one) for one in new)]
        works = [self._work(number, shard, one) for number, (shard, one) in enumerate(shards)]
        if self._tasks is None:
            making: Iterable[Made] = (make(self._recipe, work) for work in works)
        else:
            making = self._tasks.make(self._recipe, works)
        made = []
        for done, one in enumerate(making, start=1):
            made.append(one)
            if progress is not None:
                progress(Progress("build", done, len(works), "shards"))
        report = together([self._seen, *(one.report for one in made)])
        kept = {shard: (one.name, one.contents_name) for shard, one in enumerate(self._held)}
        added = []
        for (shard, _), one in zip(shards, made, strict=True):
            if one.is_same:
                continue
            if shard is not None:
                del kept[shard]
            if one.shard is not None and one.contents is not None:
                added.append((len(self._held) if shard is None else shard, (one.shard, one.contents)))
        pairs = [pair for _, pair in sorted([*kept.items(), *added], key=lambda one: one[0])]
        before_pairs = [] if before is None else list(zip(before.shards, before.contents, strict=True))
        if pairs == before_pairs:
            return report
        listed = [shard for shard, _ in pairs], [one for _, one in pairs]
        with TemporaryDirectory(prefix="monograph-") as folder, catalogue.open_contents(place, *listed) as held:
            path, of = Path(folder) / "catalogue.mono", catalogue.origin(held[0].contents)
            catalogue.make(path, of, (stored.load_share(one.contents) for one in held))
            path.chmod(path.stat().st_mode & _permissions(place, listed[0]))
            publish(place.objects, *listed, path, before, of.to_texts())
        sweep(place.objects)
        return report

    def _work(self, number: int, shard: int | None, one: _ShardContent) -> Work:
        source, known = one.source, b""
        if shard is not None and source is None:
            held = self._held[shard]
            source = held.name
            known = b"" if one.has_moved else stored.documents_digest(held.contents)
        removed = [name.encode("utf-8", "surrogatepass") for name in one.removed]
        key = key_of(self._recipe, (source, None if shard is not None else number), [*one.content, *removed])
        is_needed = number == 0 and len(self._held) == len(self._rewritten)
        return Work(key, source, tuple(one.documents), one.plan, tuple(one.removed), known, is_needed)


def _permissions(place: Place, objects: Sequence[ObjectName]) -> int:
    """Return the permissions that all of some objects have, and at least those of a private file."""
    found = 0o777
    for one in objects:
        found &= place.objects.permissions(one.name) | 0o600
    return found
