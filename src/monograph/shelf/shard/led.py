"""Where names lead in shards: to documents about them, and to chunks that have them; and all of these laid together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from monograph.shelf.gather.rows import Rows
from monograph.shelf.shard.beside import Beside
from monograph.store.graphs import SubjectChunk

Subject: TypeAlias = tuple[int, str, str, int, int, str, int]
"""(ordinal, chunk id, key, chunk, by title, qualifier, document); the chunk is 0 where none may be found."""

MENTIONED = np.dtype([("name", "<u4"), ("row", "<i8")])


class Led(NamedTuple):
    """Where some names lead in a shard, and what is known of the chunks.

    ``mentions`` are bytes of MENTIONED, chunks that have them, where names are told by their places among those asked
    for.
    """

    subjects: Sequence[Subject]
    mentions: bytes
    beside: Beside


def mentions_of(rows: Mapping[str, Sequence[int]], keys: Sequence[str]) -> bytes:
    """Chunks by the keys of names in them, as bytes of MENTIONED; ``keys`` are those asked for."""
    some = [(place, rows[key]) for place, key in enumerate(keys) if key in rows]
    made = np.empty(sum(len(one) for _, one in some), dtype=MENTIONED)
    made["name"] = np.repeat([place for place, _ in some], [len(one) for _, one in some])
    made["row"] = [row for _, one in some for row in one]
    return made.tobytes()


def mentioned(parts: Sequence[bytes], names: Sequence[int], rows: Rows) -> dict[int, list[int]]:
    """The chunks that have each of some names, ascending, rows over all; ``parts`` are MENTIONED of each shard."""
    every = np.frombuffer(b"".join(parts), dtype=MENTIONED)
    shards = np.repeat(np.arange(len(parts)), [len(part) // MENTIONED.itemsize for part in parts])
    row = every["row"] * rows.shards + shards
    order = np.lexsort((row, every["name"]))
    places, first = np.unique(every["name"][order], return_index=True)
    found = row[order].tolist()
    between = pairwise([*first.tolist(), len(found)])
    return {names[place]: found[begin:end] for place, (begin, end) in zip(places.tolist(), between, strict=True)}


def subject_chunks(found: Sequence[tuple[int, Subject]], names: Mapping[str, int], rows: Rows) -> list[SubjectChunk]:
    """What shards are about some names, as :func:`monograph.store.graphs.subject_chunks` has it; ``names`` by key."""
    documents = {(key, by_title, shard, document) for shard, (_, _, key, _, by_title, _, document) in found}
    counts = Counter((key, by_title) for key, by_title, *_ in documents)
    return [
        SubjectChunk(names[key], rows.whole(shard, row), bool(by_title), qualifier, counts[key, by_title])
        for (_, _, key, row, by_title, qualifier, _), shard in sorted((one, shard) for shard, one in found)
        if row
    ]
