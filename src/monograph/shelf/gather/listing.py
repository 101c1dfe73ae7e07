"""Documents and chunks of many files, listed or asked for by id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from monograph.errors import NotFound
from monograph.read import path_to_text
from monograph.shelf.gather.asking import Asking
from monograph.store.filters import Allowed
from monograph.values import Chunk, Listed, StoredChunk, arguments

T = TypeVar("T")


def listed(shards: Asking, like: str, start: int, limit: int) -> Listed:
    """A part of the list of documents, in order of uri, then id: each shard tells its first ones."""
    start, limit = arguments.whole_number(start, "start", 0), arguments.whole_number(limit, "limit", 0)
    answers: list[Listed] = shards.all("listed", like, start + limit)
    every = sorted((one for some in answers for one in some.documents), key=lambda one: (one.uri, one.id))
    return Listed(sum(one.count for one in answers), start, tuple(every[start : start + limit]))


def chunks_of(shards: Asking, place: str, name: str) -> list[Chunk]:
    """The chunks of a document in reading order. Raises NotFound where none, or several, are meant."""
    return the_one(shards.all("read_chunks", path_to_text(name)), place, name)


def fetched(shards: Asking, ids: Sequence[str] | None, allowed: Allowed, *, vectors: bool) -> list[StoredChunk]:
    """Stored chunks of those ids that are there, in the order of the ids; without ids all, in order of document."""
    asked = None if ids is None else arguments.names(ids, "an id")
    every: list[StoredChunk] = [one for some in shards.all("fetch", asked, allowed, vectors) for one in some]
    if asked is None:
        return sorted(every, key=lambda one: (one.chunk.document_id, one.chunk.ordinal))
    found = {one.chunk.id: one for one in every}
    return [found[name] for name in asked if name in found]


def the_one(answers: Sequence[Sequence[T]], place: str, name: str) -> T:
    """What shards have of the one document that a name means. Raises NotFound where none, or several, are meant."""
    found = [one for some in answers for one in some]
    if len(found) != 1:
        told = "has no document" if not found else f"has {len(found)} documents called"
        raise NotFound(f"{place or 'the shelf'} {told} {name!r}", "give the id of one")
    return found[0]
