"""Files and folders are looked through once, and held against what all shards know of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from monograph.library.files import paths_of
from monograph.shelf.fill.dealt import shard_of
from monograph.store import failures, roots, sources
from monograph.store.database import Connection, Database
from monograph.sync.plan import make_plan
from monograph.values import Change, Plan


def plans(
    given: Sequence[str | os.PathLike[str]],
    shards: int,
    known: Sequence[Database],
    *,
    verify: bool = False,
    prune: bool = False,
    follow_links: bool | None = None,
) -> list[Plan]:
    """What is to be done with files, by shard: each goes where it is held, and a new one by its uri.

    What could not be seen is told with the first.

    Parameters
    ----------
    given:
        Files and folders.
    shards:
        How many there are.
    known:
        They themselves, in their order; none where they are still to be made.
    verify, prune, follow_links:
        As for :meth:`monograph.library.files.Files.plan`.

    Raises
    ------
    InputError
        If nothing is given.
    SourceMissing
        If a source does not exist.
    """
    paths = paths_of(given)
    with TemporaryDirectory(prefix="monograph-") as folder, closing(Database(Path(folder) / "known.mono")) as all_known:
        with all_known.write() as connection:
            held = {uri: number for number, shard in enumerate(known) for uri in _learn(connection, shard)}
        plan = make_plan(all_known, paths, verify=verify, prune=prune, follow_links=follow_links)
    changes: list[list[Change]] = [[] for _ in range(shards)]
    for change in plan.changes:
        holder = held.get(change.uri)
        changes[shard_of(change.uri, shards) if holder is None else holder].append(change)
    return [
        replace(plan, changes=tuple(some), problems=plan.problems if shard == 0 else ())
        for shard, some in enumerate(changes)
    ]


def _learn(connection: Connection, shard: Database) -> list[str]:
    """Note in a file what another knows of the files that it was made of; returns their uris."""
    with shard.read() as known:
        named = {root.name for root in roots.every(connection)}
        for root in roots.every(known):
            if root.name not in named:
                roots.put(connection, root)
        failures.save(connection, [*failures.load(connection), *failures.load(known)])
        listed = list(sources.every(known))
    sources.add(connection, listed)
    return [one.uri for one in listed]


def is_done(shard: Database, plan: Plan) -> bool:
    """Whether a shard is as its plan would have it: it need not be written to."""
    with shard.read() as connection:
        known, failed = roots.every(connection), failures.load(connection)
    return not (
        failed
        or plan.problems
        or any(one.kind != "same" or one.touched for one in plan.changes)
        or any(root not in known for root in plan.roots)
    )
