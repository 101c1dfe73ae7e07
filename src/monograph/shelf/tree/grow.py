"""The tree over all shards, made in the catalogue: the segments and summaries of one file of the same documents."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from monograph.errors import MonographError
from monograph.graph.evidence import Int64
from monograph.library.given import Given
from monograph.library.opened import OpenFile
from monograph.shelf.gather.asking import Asking
from monograph.shelf.place import Place
from monograph.shelf.tree.leaves import Leaves
from monograph.shelf.versions.manifest import Manifest
from monograph.store import memo, tree_carry, tree_leaves
from monograph.store import tree as store
from monograph.store.database import Connection, Database
from monograph.tree import build
from monograph.tree.hash import Planes
from monograph.tree.leaves import leaves_of, planes_of
from monograph.values import Float32, OnProgress
from monograph.write import configuration, tree
from monograph.write.pipeline import Pipeline
from monograph.write.transaction import write
from monograph.write.tree import LEARNING_SAMPLE, Spent, TreeUpdate

KEPT = "summaries.mono"
"""The file, beside a catalogue, of what was made for one that was never published."""


@dataclass(frozen=True, slots=True)
class Former:
    """What a tree goes on from.

    Parameters
    ----------
    database:
        The catalogue of the version before, or the file that the shards are made of.
    same:
        The shards that are those of that version, by their numbers: their chunks stand where they stood.
    """

    database: Database
    same: Collection[int] = ()


@dataclass(frozen=True, slots=True)
class ShelfPassages:
    """The chunks of all shards, by their rows over all: see :class:`monograph.tree.build.Passages`."""

    shards: Asking

    def texts(self, connection: Connection, chunks: Sequence[int]) -> Sequence[str]:
        """See :class:`monograph.tree.build.Passages`."""
        return self.shards.in_order("texts", chunks)

    def vectors(self, connection: Connection, chunks: Sequence[int], dimension: int) -> tuple[Int64, Float32]:
        """See :class:`monograph.tree.build.Passages`."""
        rows, values = [np.empty(0, dtype=np.int64)], [np.empty((0, dimension), dtype=np.float32)]
        for shard, _, (held, found) in self.shards.of("vectors", chunks, dimension):
            rows.append(np.array(self.shards.whole(shard, held.tolist()), dtype=np.int64))
            values.append(found)
        return np.concatenate(rows), np.concatenate(values)


def put_aside(catalogue: Path) -> None:
    """Keep the summaries of a catalogue that was never published, and remove it: they are not asked for again."""
    if not catalogue.exists():
        return
    with (
        suppress(MonographError),  # What cannot be read is made again.
        closing(Database(catalogue)) as left,
        closing(Database(catalogue.with_name(KEPT))) as kept,
        left.read() as source,
        kept.write() as target,
    ):
        tree_carry.remember(source, target)
    catalogue.unlink()


def follow(
    catalogue: Path,
    shards: Asking,
    given: Given,
    former: Former | None,
    *,
    anew: bool = False,
    on_progress: OnProgress | None = None,
) -> TreeUpdate:
    """Have in a catalogue the tree over its shards, if they are to have one.

    They are where the former catalogue has one, where a summarizer is given, or with ``anew``. What was made of the
    same texts for the former version, or for one that was never published, is not made again. Nothing stays that is
    over texts which are gone. Where nothing is to be done, no byte of the catalogue changes.

    Parameters
    ----------
    catalogue:
        A closed file, of this version's names. It may hold the former tree already.
    shards:
        Of this version.
    given:
        The models; those that the file was made with in place of None.
    former:
        What it goes on from, if there is anything.
    anew:
        Make every summary with the given summarizer, which becomes the shelf's own; without one, with the shelf's.

    Raises
    ------
    ModelError
        If a summary cannot be made: what was made is kept for the next time.
    ModelMismatch
        If another summarizer is given than the tree is made with.
    """
    given = replace(given, path=catalogue, read_only=False, create=False, settings=None, model=None, reranker=None)
    before = None if former is None else former.database
    if not (anew or given.summarizer is not None or _has_tree(catalogue, before)):
        return TreeUpdate()
    file = OpenFile.open(replace(given, summarizer=None))
    try:
        changed = _carry(file.database, before) or anew
        if given.summarizer is not None and not anew:
            configuration.adopt_summarizer(file.database, given.summarizer)
            configuration.SUMMARIZER.check(file.database, given.summarizer)
        pipeline = file.pipeline(summarizer=given.summarizer or file.summarizer)
        spent = Spent()
        planes = lay(pipeline, shards, () if changed or former is None else former.same)
        with pipeline.database.read() as connection:
            if not (changed or store.count_stale_segments(connection)):
                return TreeUpdate()
            draft = build.Draft(store.version(connection), anew=anew, passages=ShelfPassages(shards))
        tree.draw_up(pipeline, draft, planes, spent, on_progress)
        with write(pipeline.database, pipeline.indexes) as connection:
            assert pipeline.summarizer is not None  # noqa: S101 - given above
            tree.keep(connection, pipeline.summarizer, draft, spent)
            dropped = memo.drop_unused(connection)
        if dropped:
            file.database.rewrite()
        return TreeUpdate(spent.made, spent.tokens)
    finally:
        file.close()


def settle_in(file: OpenFile, former: Database) -> None:
    """Give a file the tree that a shelf of the same documents has in its catalogue, if it has one."""
    with former.read() as source, write(file.database, file.indexes) as target:
        tree_carry.carry(source, target)
        planes = planes_of(target)
        if planes is not None:
            found = leaves_of(target, planes, store.chunk_rows(target))
            tree_leaves.lay(target, ((one.rank, one.key, one.chunk) for one in found))
            store.clear_stale_leaves(target)


def follow_version(
    catalogue: Path, shards: Asking, given: Given, place: Place, before: Manifest | None, same: Collection[int] = ()
) -> TreeUpdate:
    """As :func:`follow`, after a version, of which some shards are the same; None for the first."""
    if before is None:
        return follow(catalogue, shards, given, None)
    with closing(Database(place.file_of(before.catalogue), read_only=True)) as former:
        return follow(catalogue, shards, given, Former(former, same))


def _has_tree(catalogue: Path, former: Database | None) -> bool:
    """Whether the version has a tree already, or the one before had one."""
    with closing(Database(catalogue, read_only=True)) as held:
        known = (configuration.SUMMARIZER.known(one) for one in (held, former) if one is not None)
        return any(one is not None for one in known)


def _carry(database: Database, former: Database | None) -> bool:
    """Take over what the former version has, and what was made since for one that was never published.

    Returns whether there was anything to be done.
    """
    kept = database.path.with_name(KEPT)
    with database.read() as connection:
        if store.exists(connection) and not kept.exists():
            return False
    with database.write() as target:
        if former is not None and not store.exists(target):
            with former.read() as source:
                tree_carry.carry(source, target)
        if kept.exists():
            with suppress(MonographError), closing(Database(kept)) as left, left.read() as source:
                tree_carry.remember(source, target)
    return True


def count(shards: Asking, dimension: int, of: Iterable[int] | None = None) -> int:
    """How many chunks of some shards have a vector; of all, if none are given."""
    asked = range(shards.rows.shards) if of is None else of
    found: dict[int, tuple[int, list[str], Float32]] = shards.some(asked, "first_vectors", 0, dimension)
    return sum(one for one, _, _ in found.values())


def lay(pipeline: Pipeline, shards: Asking, same: Collection[int] = ()) -> Planes:
    """Give all chunks their leaves; the planes that these stand by.

    Shards that are the ``same`` are not asked, as long as the planes stay: what the tree has of them is what they have.
    """
    dimension, number = pipeline.embedder.dimension, shards.rows.shards
    with pipeline.database.read() as connection:
        held = planes_of(connection)
        same = () if held is None else same
        total = tree_leaves.count(connection, number, same)
    others = [shard for shard in range(number) if shard not in same]
    if others:
        total += count(shards, dimension, others)
    planes = held
    if held is None or tree.due_planes(held, total, pipeline):
        planes = tree.random_or_learned(pipeline, _sample(shards, dimension), total)
        others = list(range(number))
    assert planes is not None  # noqa: S101 - held, or made
    body = planes.to_bytes()
    if others:
        with write(pipeline.database, pipeline.indexes) as connection:
            if planes is not held:
                store.begin(connection, body)
            tree_leaves.lay(connection, leaves_over(shards, body, others), number, others)
    return planes


def _sample(shards: Asking, dimension: int) -> Float32:
    """The vectors of the first chunks by id, over all shards."""
    found: list[tuple[int, list[str], Float32]] = shards.all("first_vectors", LEARNING_SAMPLE, dimension)
    places = sorted(
        (name, shard, place) for shard, (_, names, _) in enumerate(found) for place, name in enumerate(names)
    )[:LEARNING_SAMPLE]
    rows = [found[shard][2][place] for _, shard, place in places]
    return np.stack(rows) if rows else np.empty((0, dimension), dtype=np.float32)


def leaves_over(shards: Asking, planes: bytes, some: Iterable[int]) -> Iterator[tuple[int, bytes, int]]:
    """(rank, key, row of the chunk over all) of the chunks of some shards, one shard after the other."""
    for shard in some:
        leaves: Leaves = shards.engine.ask({shard: [("leaves", (planes,))]})[shard][0]
        for place, (row, rank) in enumerate(zip(leaves.rows.tolist(), leaves.ranks.tolist(), strict=True)):
            yield rank, leaves.key(place), shards.rows.whole(shard, row)
