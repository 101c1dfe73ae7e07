"""Check of a file's tree: whether it equals the tree that would be built from the present chunks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

import numpy as np

from monograph.derive.derivation import summary_key, vector_key
from monograph.store import tree as store
from monograph.store.file import memo
from monograph.store.file.database import Connection
from monograph.store.vectors import vectors as stored_vectors
from monograph.tree.build import TreeRecipe, node_texts
from monograph.tree.hash import full_rank, ranks
from monograph.tree.leaves import leaf_places, stored_dimension
from monograph.tree.segment import NodeList, TreeNode, segments

_AT_ONCE = 4_096
_ROUNDING = 2e-6
"""Tolerance when comparing cosines that were summed in different orders and rounded."""


def faults(
    connection: Connection, recipe: TreeRecipe | None, embedder: str = "", passed_over: Collection[int] = ()
) -> Iterator[str]:
    """Yield a message for each fault of the tree. Segments that wait for a summary are no fault.

    The checks are, in order: the nodes of chunks, references between rows, the summaries, and the boundaries of the
    segments. After the first check that finds faults, the later checks are left out.

    - ``recipe``: settings of the tree; None if the file has no summarizer yet.
    - ``embedder``: key of the file's embedder.
    - ``passed_over``: rows of chunks whose texts are damaged. The nodes of these chunks are not checked, nor are the
      texts of the summaries directly above them.
    """
    if not store.exists(connection):
        if store.count(connection, 0) or store.nodes_above(connection, 0):
            yield "there are nodes, but no tree"
        return
    dimension = stored_dimension(connection)
    if store.stale_leaves(connection):
        yield "some chunks are not in the tree yet"
    elif wrong := _count_misplaced(connection, dimension, passed_over):
        yield f"{wrong} chunks are not where they should be in the tree"
    elif wrong := store.count_strays(connection):
        yield f"{wrong} nodes of the tree lack their parent, summary, vector, nearest chunk or children"
    elif wrong_counts := _count_wrong_summaries(connection, dimension, recipe, embedder, passed_over):
        yield from (f"{count} summaries {fault}" for fault, count in wrong_counts.items())
    elif recipe is not None and not store.count_stale_segments(connection):
        yield from _compare_segments(connection, recipe)


def _count_misplaced(connection: Connection, dimension: int, passed_over: Collection[int]) -> int:
    rows = store.chunk_rows(connection)
    stored = store.of_chunks(connection, rows)
    wrong = store.count(connection, 0) - len(stored)
    rows = [row for row in rows if row not in passed_over]
    for first in range(0, len(rows), _AT_ONCE):
        batch = rows[first : first + _AT_ONCE]
        leaves = leaf_places(connection, dimension, store.leaves(connection, batch))
        expected = {leaf.chunk: (leaf.rank, leaf.key) for leaf in leaves}
        wrong += sum(row not in stored or (stored[row].rank, stored[row].key) != expected.get(row) for row in batch)
    return wrong


def _count_wrong_summaries(
    connection: Connection, dimension: int, recipe: TreeRecipe | None, embedder: str, passed_over: Collection[int]
) -> Counter[str]:
    """Check each summary; return the number of summaries with each fault, by message."""
    wrong: Counter[str] = Counter()
    nodes = store.nodes_above(connection, 0)
    for first in range(0, len(nodes), _AT_ONCE):
        batch = store.load(connection, nodes[first : first + _AT_ONCE])
        children_of = store.children(connection, list(batch))
        memos = store.vectors_of(connection, [*batch, *(row.node for rows in children_of.values() for row in rows)])
        rows, loaded = stored_vectors.load(connection, list(set(memos.values())), dimension)
        by_memo = dict(zip(rows.tolist(), zip(ranks(loaded).tolist(), loaded, strict=True), strict=True))
        vectors = {node: by_memo[row][1] for node, row in memos.items() if row in by_memo}
        below = (row for rows in children_of.values() for row in rows if row.chunk not in passed_over)
        texts = node_texts(connection, [*batch.values(), *below])
        keys = memo.keys(connection, {memo_row or 0 for row in batch.values() for memo_row in (row.gist, row.vector)})
        for node, row in batch.items():
            if node not in vectors or full_rank(by_memo[memos[node]][0], row.key) != row.rank:
                wrong["are not where they should be in the tree"] += 1
            children = children_of[node]
            cosines: list[float] = []
            if node in vectors and all(child.node in vectors for child in children):
                cosines = [float(np.dot(vectors[child.node], vectors[node])) for child in children]
            least = max(cosines, default=0.0) - _ROUNDING
            nearest = (child for child, cosine in zip(children, cosines, strict=False) if cosine >= least)
            if not any(row.nearest == (child.nearest if child.chunk is None else child.chunk) for child in nearest):
                wrong["do not point to the nearest chunk"] += 1
            if recipe is None or any(child.chunk in passed_over for child in children):
                continue
            text_key = summary_key(recipe.summarizer, recipe.max_tokens, [texts[child.node] for child in children])
            embedding_key = vector_key(embedder, texts[node])
            if (keys.get(row.gist or 0), keys.get(row.vector or 0)) != (text_key, embedding_key):
                wrong["do not match the nodes below them"] += 1
    return wrong


def _compare_segments(connection: Connection, recipe: TreeRecipe) -> Iterator[str]:
    """Divide each layer again; yield a message for the first layer whose stored segments differ."""
    layer = 0
    while True:
        nodes = [TreeNode(*row) for row in store.nodes(connection, layer)]
        above = {key: row for _, key, row in store.nodes(connection, layer + 1)}
        if len(nodes) <= 1 or layer == recipe.layers:
            if above or store.count(connection, layer + 2):
                yield "there are summaries above the top of the tree"
            return
        parents = store.parents(connection, [node.row for node in nodes])
        cut = segments(NodeList(nodes), recipe.bounds)
        expected = {recipe.key([node.key for node in segment]): segment for segment in cut}
        wrong = len(expected.keys() ^ above.keys())
        wrong += sum(
            any(parents.get(node.row) != (above[key], key) for node in segment)
            for key, segment in expected.items()
            if key in above
        )
        if wrong:
            yield f"{wrong} segments of layer {layer} have the wrong boundaries"
            return
        layer += 1
