"""A shard is made of its documents alone, wherever and however often: what was made is not made twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from monograph.derive.embed import load_embedder
from monograph.derive.extract import load_extractor
from monograph.errors import InputError
from monograph.library.monograph import Monograph
from monograph.read.limits import DEFAULT_LIMITS, Limits
from monograph.settings import Settings
from monograph.shelf.versions.faults import told
from monograph.shelf.versions.names import OBJECTS, ObjectName
from monograph.shelf.versions.objects import Objects, objects_at
from monograph.shelf.versions.part import part_of, sync_folder
from monograph.shelf.versions.pieces import name_of
from monograph.values import Document, Plan, Report, together
from monograph.write.prepare import document_hash


@dataclass(frozen=True, slots=True)
class Recipe:
    """How shards are made, where they are put, and where they are worked on.

    Parameters
    ----------
    address:
        Where the shelf lies, as every machine can reach it.
    work:
        A folder on every machine, or one that all share; ``~`` is the home of whoever works there. What a process was
        making when it was killed stays there, and the next goes on from it; what was made is noted there, and not made
        again.
    settings:
        The numbers that shards are built with; None for the usual.
    embedder, extractor:
        The texts that name the models, as for :func:`monograph.derive.embed.load_embedder` and
        :func:`monograph.derive.extract.load_extractor`; empty for the usual. Each process makes its own.
    limits:
        How much of a file is read.
    """

    address: str
    work: Path
    settings: Settings | None = None
    embedder: str = ""
    extractor: str = ""
    limits: Limits = DEFAULT_LIMITS

    def open(self, path: Path) -> Monograph:
        """A file that is being made; raises as :meth:`monograph.Monograph.open`."""
        return Monograph.open(
            path,
            embedder=load_embedder(self.embedder) if self.embedder else None,
            extractor=load_extractor(self.extractor) if self.extractor else None,
            settings=self.settings,
        )

    def key(self, shard: int, content: Iterable[bytes]) -> str:
        """What tells this shard from all others that are made in the same folder."""
        said = [self.address, shard, repr(self.settings), self.embedder, self.extractor, repr(self.limits)]
        digest = sha256(json.dumps(said).encode())
        for one in content:
            digest.update(one)
        return digest.hexdigest()

    def hashes(self, documents: Iterable[Document]) -> bytes:
        """What documents are, for :meth:`key`."""
        built = self.settings or Settings()
        return b"".join(one.id.encode() + document_hash(one, built) for one in documents)


@dataclass(frozen=True, slots=True)
class Made:
    """A shard that was put, and what it took to make it: nothing where it was made before."""

    name: ObjectName
    report: Report


def make_of_documents(recipe: Recipe, key: str, blocks: Iterable[Sequence[Document]]) -> Made:
    """Make a shard of documents, block by block; raises as :meth:`monograph.Monograph.add`, and ShelfError."""
    return _make(recipe, key, lambda archive: [archive.add(some) for some in blocks])


def make_of_files(recipe: Recipe, key: str, plan: Plan) -> Made:
    """Make a shard of the files of a plan, which lie here under the same paths; raises ShelfError."""
    return _make(recipe, key, lambda archive: [archive.files.apply(plan, limits=recipe.limits)])


def _make(recipe: Recipe, key: str, fill: Callable[[Monograph], Sequence[Report]]) -> Made:
    work, objects = recipe.work.expanduser(), objects_at(recipe.address)
    noted, path = work / f"{key}.json", work / f"{key}.mono"
    with told(work):
        work.mkdir(parents=True, exist_ok=True)
        # Whoever else makes the same here waits, and then finds it made.
        with part_of(noted) as part:
            before = _noted(noted, objects)
            if before is not None:
                return Made(before, Report())
            with recipe.open(path) as archive:
                archive.add(())  # A shard without documents has its models too.
                report = together(fill(archive))
                archive.compact()
            name = name_of(path)
            objects.put_new(name.name, path)
            part.file.write(json.dumps([name.digest, name.bytes]).encode())
            part.sync()
            part.path.replace(noted)
            sync_folder(work)
            path.unlink()
    return Made(name, report)


def _noted(path: Path, objects: Objects) -> ObjectName | None:
    """What was made before, if it is still there."""
    try:
        name = ObjectName(*json.loads(path.read_bytes()))
    except (FileNotFoundError, ValueError, TypeError, InputError):
        return None
    there = {one.name: one.bytes for one in objects.listed(OBJECTS)}
    return name if there.get(name.name) == name.bytes else None
