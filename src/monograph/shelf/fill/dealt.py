"""Which shard a document is dealt to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice

from monograph.errors import InputError, NotOnShelf
from monograph.settings import Settings
from monograph.shelf.versions.manifest import MOST_SHARDS
from monograph.values import Document, arguments

LEAST, MOST = 4_096, 262_144
"""Bounds on how many documents are dealt out together."""

_OF_EACH = 256
"""About how many of them each shard is to get, within these bounds."""


def shard_of(name: str, shards: int) -> int:
    """The shard of a document by its id, or of a file by its uri: the same for ever, on every machine."""
    return int.from_bytes(sha256(name.encode("utf-8", "surrogatepass")).digest()[:8], "big") % shards


def shard_count(given: int) -> int:
    """A number of shards, 1 to MOST_SHARDS. Raises InputError if it is none."""
    count = arguments.whole_number(given, "shards")
    if not 1 <= count <= MOST_SHARDS:
        raise InputError(f"{count:,} is no number of shards", f"give one from 1 to {MOST_SHARDS:,}")
    return count


def require_no_history(given: Settings | None) -> None:
    """Raise NotOnShelf for settings that keep former versions of documents."""
    if given is not None and given.history:
        raise NotOnShelf("a shelf keeps no former versions of documents", "a .mono file does: monograph sync --history")


def blocks(documents: Iterable[Document], shards: int) -> Iterator[list[Document]]:
    """Documents, as many together as are dealt out over so many shards at a time: a few write little to each."""
    waiting, block = iter(documents), min(max(LEAST, _OF_EACH * shards), MOST)
    while some := list(islice(waiting, block)):
        yield some


def dealt(documents: Iterable[Document], shards: int) -> Iterator[dict[int, list[Document]]]:
    """Documents by shard, block by block: in a block those of a shard are in their order, and none is empty."""
    for some in blocks(documents, shards):
        found: dict[int, list[Document]] = {}
        for one in some:
            found.setdefault(shard_of(one.id, shards), []).append(one)
        yield found
