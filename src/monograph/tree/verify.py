"""Whether the tree in a file is what its chunks imply."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from monograph.derive.derivation import summary_key, vector_key
from monograph.store.documents import chunks as stored_chunks
from monograph.store.file import memo
from monograph.store.file.database import Connection
from monograph.store.tree import tree
from monograph.store.tree import tree as store
from monograph.store.vectors import vectors as stored_vectors
from monograph.tree.build import Recipe
from monograph.tree.hash import Planes, full_rank, ranks
from monograph.tree.leaves import leaves_of
from monograph.tree.segment import Listed, Node, segments
from monograph.values import Float32

_AT_ONCE = 4_096
_ROUNDING = 2e-6
"""How far two cosines may lie apart that were summed in another order, and rounded."""


def faults(
    connection: Connection, recipe: Recipe | None, embedder: str = "", passed_over: Collection[int] = ()
) -> Iterator[str]:
    """What is wrong with a tree. What waits for its summaries, after a crash or a failed one, is no fault.

    Parameters
    ----------
    connection:
        A read transaction.
    recipe:
        What the tree is made by; None where the file has no summarizer yet.
    embedder:
        The key of what makes the file's vectors.
    passed_over:
        Rows of chunks whose texts are not what was stored: nothing is held against these.
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
        (_misplanted(connection, planes, passed_over), "chunks are not where they should be in the tree"),
        (store.count_strays(connection), "nodes of the tree have lost what they stand for"),
        (_mishashed(connection, planes), "summaries are not where they should be in the tree"),
        (_misquoted(connection, recipe, embedder, passed_over), "summaries are not of what lies under them"),
        (_misled(connection, planes.dimension), "summaries lead to another chunk than the nearest"),
    ):
        if wrong:
            yield f"{wrong} {fault}"
            return
    if recipe is not None and not store.count_stale_segments(connection):
        yield from _misbuilt(connection, recipe)


def _misplanted(connection: Connection, planes: Planes, passed_over: Collection[int]) -> int:
    rows = store.chunk_rows(connection)
    held = {row.chunk: row for row in store.all_of_chunks(connection)}
    wrong = len(held.keys() - set(rows))
    rows = [row for row in rows if row not in passed_over]
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


def _misquoted(connection: Connection, recipe: Recipe | None, embedder: str, passed_over: Collection[int]) -> int:
    """Summaries whose text or vector is remembered under another key than what lies under them gives."""
    wrong = 0
    nodes = store.above(connection, 0) if recipe is not None else []
    for first in range(0, len(nodes), _AT_ONCE):
        some = store.load(connection, nodes[first : first + _AT_ONCE])
        under = store.children(connection, list(some))
        below = (row for rows in under.values() for row in rows if row.chunk not in passed_over)
        texts = _texts(connection, [*some.values(), *below])
        keys = memo.keys(connection, {memo_row or 0 for row in some.values() for memo_row in (row.gist, row.vector)})
        for node, row in some.items():
            if any(child.chunk in passed_over for child in under[node]):
                continue
            said = [texts.get(child.node, "") for child in under[node]]
            made = recipe is not None and summary_key(recipe.summarizer, recipe.max_tokens, said)
            embedded = vector_key(embedder, texts.get(node, ""))
            wrong += (keys.get(row.gist or 0), keys.get(row.vector or 0)) != (made, embedded)
    return wrong


def _texts(connection: Connection, rows: Collection[store.Row]) -> dict[int, str]:
    """What nodes say, by node."""
    chunks = {row.chunk: row.node for row in rows if row.chunk is not None}
    found = dict(
        zip(chunks.values(), (text for _, text in stored_chunks.titled_texts(connection, chunks)), strict=True)
    )
    values = memo.values(connection, {row.gist for row in rows if row.gist is not None})
    for row in rows:
        if row.gist is not None:
            found[row.node] = tree.of_node(connection, row.node, values.get(row.gist, b"")).text
    return found


def _misled(connection: Connection, dimension: int) -> int:
    """Summaries that stand for a chunk under a child that is not the nearest to them."""
    wrong = 0
    nodes = store.above(connection, 0)
    for first in range(0, len(nodes), _AT_ONCE):
        some = store.load(connection, nodes[first : first + _AT_ONCE])
        under = store.children(connection, list(some))
        memos = store.vectors_of(connection, [*some, *(row.node for rows in under.values() for row in rows)])
        rows, found = stored_vectors.load(connection, list(set(memos.values())), dimension)
        held = dict(zip(rows.tolist(), found, strict=True))
        vectors = {node: held.get(row) for node, row in memos.items()}
        wrong += sum(not _leads_to_nearest(row, under[node], vectors) for node, row in some.items())
    return wrong


def _leads_to_nearest(row: store.Row, children: list[store.Row], vectors: dict[int, Float32 | None]) -> bool:
    own = vectors.get(row.node)
    known = [(child, vectors.get(child.node)) for child in children]
    if own is None or any(one is None for _, one in known):
        return False
    cosines = [float(np.dot(one, own)) for _, one in known if one is not None]
    best = max(cosines, default=0.0)
    near = (child for child, cosine in zip(children, cosines, strict=True) if cosine >= best - _ROUNDING)
    return any(row.nearest == (child.chunk if child.chunk is not None else child.nearest) for child in near)


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
