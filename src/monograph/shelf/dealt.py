"""Which shard a document belongs to follows from its id alone, for ever and on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace

from monograph.values import Change, Document, Plan, arguments

_BYTES = 8
"""Of the digest: enough that all shards get alike."""


def shard_of(name: str, shards: int) -> int:
    """The shard, from 0, of what has this id: the first eight bytes of its SHA-256, by how many shards there are."""
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:_BYTES], "big") % shards


def dealt(documents: Iterable[Document], shards: int) -> list[list[Document]]:
    """Documents by shard, each shard's in their order.

    Raises
    ------
    InputError
        If there is to be less than one shard.
    """
    found: list[list[Document]] = [[] for _ in range(arguments.whole_number(shards, "shards", 1))]
    for document in documents:
        found[shard_of(document.id, shards)].append(document)
    return found


def dealt_plan(plan: Plan, shards: int) -> list[Plan]:
    """What is to be done to files, by shard: those of a folder go by their uris. Problems are the first shard's.

    Raises
    ------
    InputError
        If there is to be less than one shard.
    """
    changes: list[list[Change]] = [[] for _ in range(arguments.whole_number(shards, "shards", 1))]
    for change in plan.changes:
        changes[shard_of(change.uri, shards)].append(change)
    return [
        replace(plan, changes=tuple(some), problems=plan.problems if shard == 0 else ())
        for shard, some in enumerate(changes)
    ]
