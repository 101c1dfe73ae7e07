"""Whether the tree in a file is what its chunks imply."""

from __future__ import annotations

from collections.abc import Iterator

from monograph.store import tree as store
from monograph.store import vectors as stored_vectors
from monograph.store.database import Connection
from monograph.tree.build import Recipe
from monograph.tree.hash import Planes, full_rank, ranks
from monograph.tree.leaves import leaves_of
from monograph.tree.segment import Listed, Node, segments

_AT_ONCE = 4_096


def faults(connection: Connection, recipe: Recipe | None) -> Iterator[str]:
    """What is wrong with a tree. What waits for its summaries, after a crash or a failed one, is no fault.

    Parameters
    ----------
    connection:
        A read transaction.
    recipe:
        What the tree is made by; None where the file has no summarizer yet.
    """
    body = store.planes(connection)
    if body is None:
        if store.count(connection, 0) or store.above(connection, 0):
            yield "there are nodes of a tree without planes"
        return
    try:
        planes = Planes.from_bytes(body)
    except ValueError:
        yield "the planes are damaged"
        return
    if store.stale_leaves(connection):
        yield "chunks wait to be put into the tree"
    for wrong, fault in (
        (_misplanted(connection, planes), "chunks are not where they should be in the tree"),
        (store.count_strays(connection), "nodes of the tree have lost what they stand for"),
        (_mishashed(connection, planes), "summaries are not where they should be in the tree"),
    ):
        if wrong:
            yield f"{wrong} {fault}"
            return
    if recipe is not None and not store.count_stale_segments(connection):
        yield from _misbuilt(connection, recipe)


def _misplanted(connection: Connection, planes: Planes) -> int:
    wrong = 0
    rows = store.chunk_rows(connection)
    held = {row.chunk: row for row in store.all_of_chunks(connection)}
    wrong += len(held.keys() - set(rows))
    for first in range(0, len(rows), _AT_ONCE):
        some = rows[first : first + _AT_ONCE]
        found = {leaf.chunk: (leaf.rank, leaf.key) for leaf in leaves_of(connection, planes, some)}
        wrong += sum((held[row].rank, held[row].key) != found.get(row) if row in held else True for row in some)
    return wrong


def _mishashed(connection: Connection, planes: Planes) -> int:
    wrong = 0
    nodes = list(store.load(connection, store.above(connection, 0)).values())
    for first in range(0, len(nodes), _AT_ONCE):
        some = nodes[first : first + _AT_ONCE]
        memos, vectors = stored_vectors.load(connection, list({row.vector or 0 for row in some}), planes.dimension)
        places = dict(zip(memos.tolist(), ranks(planes, vectors).tolist(), strict=True))
        wrong += sum(row.vector not in places or full_rank(places[row.vector], row.key) != row.rank for row in some)
    return wrong


def _misbuilt(connection: Connection, recipe: Recipe) -> Iterator[str]:
    """Hold every layer against what is cut anew from the one below it."""
    layer = 0
    while True:
        nodes = [Node(*row) for row in store.every(connection, layer)]
        above = {key: row for _, key, row in store.every(connection, layer + 1)}
        if len(nodes) <= 1 or layer == recipe.layers:
            if above or store.count(connection, layer + 2):
                yield "there are summaries above the top of the tree"
            return
        over = store.parents(connection, [node.row for node in nodes])
        wanted = {recipe.key([node.key for node in one]): one for one in segments(Listed(nodes), recipe.bounds)}
        wrong = len(wanted.keys() ^ above.keys())
        wrong += sum(
            any(over.get(node.row) != (above[key], key) for node in one) for key, one in wanted.items() if key in above
        )
        if wrong:
            yield f"{wrong} segments of layer {layer} are not cut as they should be"
            return
        layer += 1
