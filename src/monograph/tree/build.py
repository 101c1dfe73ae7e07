"""Building and updating of the tree, layer by layer.

A change of the tree is first made in memory, as a draft, from the lowest layer up. In each layer, :func:`cut` divides
the nodes into segments: groups of successive nodes that get one summary each. It returns only the segments whose
summary is missing. The caller makes these summaries from :func:`texts`, and :func:`add_layer` adds them to the draft as
the next layer. After the highest layer, :func:`store_draft` stores the draft in one transaction.

These four functions raise TreeChanged if another writer has changed the tree since the draft was begun, or has deleted
a summary that the draft needs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import islice

import numpy as np
import numpy.typing as npt

from monograph.errors import BusyFile
from monograph.store import tree as store
from monograph.store.documents import chunks as stored_chunks
from monograph.store.file import memo
from monograph.store.file.database import Connection
from monograph.store.file.errors import damaged, path_of
from monograph.store.vectors import vectors as stored_vectors
from monograph.tree.hash import full_rank, ranks
from monograph.tree.leaves import KEY_BYTES, leaf_places, update_leaves
from monograph.tree.segment import Bounds, NodeList, NodeOrder, Segment, TreeNode, segments
from monograph.values import Float32, content_hash

MANY = 16
"""Least ratio of a layer's nodes to its changes for which only the nodes near the changes are read.

A change is an added or removed node. Below this ratio, all nodes of the layer are read.
"""
_COMPARED_AT_ONCE = 1_024
"""Number of segments whose nodes' vectors are loaded at a time."""


class TreeChanged(BusyFile):
    """Another writer changed rows on which a draft depends. The caller must begin the draft again."""


@dataclass(frozen=True, slots=True)
class TreeRecipe:
    """Settings of a tree. Together with the chunks and their vectors, they determine the tree.

    ``summarizer`` is the key of the summarizer. ``max_tokens`` is the maximum number of tokens of a summary. ``bounds``
    are the least and the greatest number of nodes in a segment. ``layers`` is the maximum number of layers of
    summaries.
    """

    summarizer: str
    max_tokens: int
    bounds: Bounds
    layers: int

    def key(self, children: Sequence[bytes]) -> bytes:
        """Return the key of the summary of a segment: a hash of KEY_BYTES bytes.

        ``children`` are the keys of the segment's nodes, in order of the nodes. The hash also depends on the summarizer
        and on ``max_tokens``.
        """
        names = [key.hex() for key in children]
        return content_hash("segment", self.summarizer, self.max_tokens, names)[:KEY_BYTES]


@dataclass(frozen=True, slots=True)
class SegmentToSummarize:
    """A segment that needs a summary: its nodes, and the key that its summary will have."""

    nodes: Segment
    key: bytes


@dataclass(frozen=True, slots=True)
class MemoPlace:
    """Row number of a memo entry, and the entry's key.

    The key is checked before the row is used: when an entry is deleted, another entry may get its row number.
    """

    row: int
    key: bytes = b""


@dataclass(frozen=True, slots=True)
class MadeSummary:
    """The summary of a segment.

    ``cut`` is the segment. ``text`` is the text of the summary, and ``gist`` is the place of this text in the memo.
    ``vector`` is the place of the text's embedding in the memo.
    """

    cut: SegmentToSummarize
    text: str
    gist: MemoPlace
    vector: MemoPlace


@dataclass(frozen=True, slots=True)
class _DraftNode:
    """A node in a draft.

    ``node.row`` is a temporary, negative number, because the node is not stored yet.

    - Summary: ``made`` is the summary, and ``nearest`` a chunk row (see :class:`monograph.store.tree.NodeRow`).
    - Chunk: ``made`` has the text and the vector of the chunk, and ``nearest`` is the row of the chunk itself.
    """

    node: TreeNode
    made: MadeSummary
    nearest: int


@dataclass(slots=True)
class TreeDraft:
    """A change of the tree in memory that is not stored yet.

    - ``version``: version of the stored tree when the draft was begun.
    - ``rebuild``: whether to check the segments of layer 0 even if no chunk changed. A segment keeps its summary only
      if :meth:`TreeRecipe.key` still returns the key of this summary.
    - ``replaces``: whether the draft replaces the whole tree instead of changing the stored tree.
    - ``fresh``: new nodes of each layer. Layer 0, the chunks, has new nodes only if ``replaces`` is True.
    - ``gone``: stored nodes to remove from each layer, as {row: rank (position in the layer)}; none of layer 0.
    - ``top``: highest layer of the new tree; None until :func:`cut` returns None.
    """

    version: int
    rebuild: bool = False
    replaces: bool = False
    fresh: list[list[_DraftNode]] = field(default_factory=lambda: [[]])
    gone: list[dict[int, int]] = field(default_factory=lambda: [{}])
    top: int | None = None

    @property
    def layer(self) -> int:
        """Number of the highest layer in the draft; 0 for the chunks.

        :func:`cut` divides this layer into segments. :func:`add_layer` then adds the layer above it.
        """
        return len(self.fresh) - 1


class _DraftOrder:
    """Nodes of a stored layer with the changes of a draft: see :class:`monograph.tree.segment.NodeOrder`.

    ``fresh`` are the nodes that the draft adds. The keys of ``removed`` are the rows of the nodes that it removes.
    """

    def __init__(
        self, connection: Connection, layer: int, fresh: Sequence[TreeNode], removed: Mapping[int, int]
    ) -> None:
        self._connection, self._layer, self._removed = connection, layer, removed
        self._fresh = sorted(fresh)

    def between(self, low: int, high: int, most: int) -> Sequence[TreeNode]:
        """See :class:`monograph.tree.segment.NodeOrder`."""
        # Removed nodes may be among the first rows.
        limit = min(most + len(self._removed), 1 << 62)
        rows = store.nodes(self._connection, self._layer, low, high, limit)
        stored = (TreeNode(*row) for row in rows if row[2] not in self._removed)
        first = bisect_left(self._fresh, TreeNode(low, b"", 0))
        added = self._fresh[first : bisect_left(self._fresh, TreeNode(high, b"", 0))]
        return list(islice(merge(stored, added), most))


def place_all_leaves(connection: Connection, draft: TreeDraft, dimension: int, leaves: Sequence[store.Leaf]) -> None:
    """Begin a draft that replaces the whole tree: put a node for each chunk into layer 0.

    ``leaves`` has the texts and vectors of all chunks. A chunk is left out if its vector does not have the given
    dimension.
    """
    draft.replaces = True
    by_chunk = {leaf.chunk: leaf for leaf in leaves}
    for number, place in enumerate(leaf_places(connection, dimension, leaves), start=1):
        leaf = by_chunk[place.chunk]
        summary = MadeSummary(SegmentToSummarize((), place.key), leaf.text, MemoPlace(0), MemoPlace(leaf.memo))
        draft.fresh[0].append(_DraftNode(TreeNode(place.rank, place.key, -number), summary, place.chunk))


def cut(connection: Connection, recipe: TreeRecipe, draft: TreeDraft) -> list[SegmentToSummarize] | None:
    """Divide the draft's highest layer into segments, and return the segments that have no stored summary.

    Return None if the tree ends with this layer, because it has at most one node or is layer ``recipe.layers``.
    ``draft.top`` is then set. Otherwise, stored summaries of segments that no longer exist are added to ``draft.gone``.
    Raises TreeChanged if another writer has changed the tree.
    """
    _require_unchanged(connection, draft)
    layer = draft.layer
    added_nodes = [draft_node.node for draft_node in draft.fresh[layer]]
    stored = 0 if draft.replaces else store.count(connection, layer)
    total = stored - len(draft.gone[layer]) + len(added_nodes)
    if total <= 1 or layer == recipe.layers:
        draft.top = layer
        return None
    # The ranks at which nodes of the layer were added or removed, ascending.
    if draft.rebuild and not draft.replaces and not layer:
        ranks_changed = [rank for rank, _, _ in store.nodes(connection, 0)]
    else:
        drafted = [*draft.gone[layer].values(), *(node.rank for node in added_nodes)]
        ranks_changed = sorted({*store.stale_segments(connection, layer), *drafted})
    if draft.replaces:
        order: NodeOrder = NodeList(added_nodes)
    elif len(ranks_changed) * MANY > total:
        rows = (TreeNode(*row) for row in store.nodes(connection, layer))
        order = NodeList([*(node for node in rows if node.row not in draft.gone[layer]), *added_nodes])
    else:
        order = _DraftOrder(connection, layer, added_nodes, draft.gone[layer])
    affected = segments(order, recipe.bounds, ranks_changed) if ranks_changed else []
    parents = store.parents(connection, [node.row for segment in affected for node in segment if node.row > 0])
    kept_parents: set[int] = set()
    pending: list[tuple[Segment, bytes]] = []
    for segment in affected:
        key = recipe.key([node.key for node in segment])
        parent = parents.get(segment[0].row)
        if parent is not None and parent[1] == key:
            kept_parents.add(parent[0])
        else:
            pending.append((segment, key))
    # Summaries over removed nodes are removed as well.
    removed = {row for row, _ in (parents | store.parents(connection, list(draft.gone[layer]))).values()} - kept_parents
    draft.gone.append({row: stored_node.rank for row, stored_node in store.load(connection, removed).items()})
    return [SegmentToSummarize(segment, key) for segment, key in pending]


def texts(connection: Connection, draft: TreeDraft, cuts: Sequence[SegmentToSummarize]) -> list[tuple[str, ...]]:
    """Return the texts to summarize: for each segment, the texts of its nodes, in order of the nodes.

    Raises TreeChanged if another writer has changed the tree, and DamagedFile if a stored summary cannot be decoded.
    """
    _require_unchanged(connection, draft)
    rows = store.load(connection, [node.row for segment in cuts for node in segment.nodes if node.row > 0])
    by_row = {draft_node.node.row: draft_node.made.text for draft_node in draft.fresh[draft.layer]}
    by_row |= node_texts(connection, rows.values())
    return [tuple(by_row[node.row] for node in segment.nodes) for segment in cuts]


def node_texts(connection: Connection, rows: Collection[store.NodeRow]) -> dict[int, str]:
    """Return {row number of the node: text} of stored nodes. A node is a chunk or a summary.

    Raises DamagedFile if a summary cannot be decoded.
    """
    nodes = {row.chunk: row.node for row in rows if row.chunk is not None}
    titled = stored_chunks.titled_texts(connection, nodes)
    texts = {node: text for node, (_, text) in zip(nodes.values(), titled, strict=True)}
    gists = {row.node: row.gist for row in rows if row.gist is not None}
    values = memo.values(connection, set(gists.values()))
    return texts | {node: store.of_node(connection, node, values.get(row, b"")).text for node, row in gists.items()}


def _require_unchanged(connection: Connection, draft: TreeDraft) -> None:
    if not draft.replaces and (store.version(connection) != draft.version or store.stale_leaves(connection)):
        raise _tree_changed(connection)


def _require_stored(connection: Connection, summaries: Iterable[MadeSummary]) -> None:
    for kind, rows_by_key in (
        (memo.SUMMARY, {summary.gist.key: summary.gist.row for summary in summaries}),
        (memo.VECTOR, {summary.vector.key: summary.vector.row for summary in summaries}),
    ):
        if memo.rows(connection, kind, list(rows_by_key)) != rows_by_key:
            raise _tree_changed(connection)


def _tree_changed(connection: Connection) -> TreeChanged:
    return TreeChanged(f"another process keeps changing {path_of(connection)}", "try again when it is done")


def add_layer(connection: Connection, draft: TreeDraft, dimension: int, made: Sequence[MadeSummary]) -> None:
    """Add a layer of new summaries to the draft, above its highest layer.

    ``made`` are the summaries of the segments that :func:`cut` returned. ``dimension`` is that of all vectors. Raises
    TreeChanged if another writer has changed the tree, or deleted one of the summaries from the memo. Raises
    DamagedFile if a summary's vector does not have this dimension, or if a stored node has no vector.
    """
    _require_unchanged(connection, draft)
    _require_stored(connection, made)
    vector_rows = {summary.vector.row for summary in made}
    memos, loaded = stored_vectors.load(connection, list(vector_rows), dimension)
    if len(memos) < len(vector_rows):
        raise damaged(path_of(connection), "the vector of a summary has the wrong dimension")
    ranks_by_memo = dict(zip(memos.tolist(), ranks(loaded).tolist(), strict=True))
    vectors = dict(zip(memos.tolist(), loaded, strict=True))
    number = -sum(map(len, draft.fresh))
    draft_nodes = []
    for first in range(0, len(made), _COMPARED_AT_ONCE):
        batch = made[first : first + _COMPARED_AT_ONCE]
        nodes = [node for summary in batch for node in summary.cut.nodes]
        nearest = _make_finder(connection, draft, dimension, nodes)
        for summary in batch:
            number -= 1
            node = TreeNode(full_rank(ranks_by_memo[summary.vector.row], summary.cut.key), summary.cut.key, number)
            draft_nodes.append(_DraftNode(node, summary, nearest(summary.cut.nodes, vectors[summary.vector.row])))
    draft.fresh.append(draft_nodes)


def _make_finder(
    connection: Connection, draft: TreeDraft, dimension: int, nodes: Sequence[TreeNode]
) -> Callable[[Segment, Float32], int]:
    """Return a function that finds ``_DraftNode.nearest`` of a summary, given the summary's segment and vector."""
    draft_nodes = {draft_node.node.row: draft_node for draft_node in draft.fresh[draft.layer]}
    # ``nodes`` are the nodes of all segments that ``find`` will get.
    rows = store.load(connection, [node.row for node in nodes if node.row > 0])
    chunk_rows = {node: row.chunk for node, row in rows.items() if row.chunk is not None}
    memos = {node: row.vector for node, row in rows.items() if row.vector is not None}
    memos.update((node.row, draft_nodes[node.row].made.vector.row) for node in nodes if node.row < 0)
    of_chunks = _map_by_row(stored_vectors.of_chunks(connection, list(chunk_rows.values()), dimension))
    of_memo = _map_by_row(stored_vectors.load(connection, list(set(memos.values())), dimension))
    vectors = {node: of_chunks[chunk] for node, chunk in chunk_rows.items() if chunk in of_chunks}
    vectors.update((node, of_memo[row]) for node, row in memos.items() if row in of_memo)

    def find(segment: Segment, vector: Float32) -> int:
        missing = [node.row for node in segment if node.row not in vectors]
        if any(row > 0 for row in missing):
            raise damaged(path_of(connection), "a node of the tree has no vector")
        if missing:
            raise _tree_changed(connection)
        cosines = np.round(np.vecdot(np.stack([vectors[node.row] for node in segment]), vector), 6)
        best = segment[int(np.argmax(cosines))]
        if best.row < 0:
            # A summary of the draft shows the chunk that was found for it before.
            return draft_nodes[best.row].nearest
        row = rows[best.row]
        return int(row.chunk if row.chunk is not None else row.nearest or 0)

    return find


def _map_by_row(loaded: tuple[npt.NDArray[np.int64], Float32]) -> dict[int, Float32]:
    rows, vectors = loaded
    return dict(zip(rows.tolist(), vectors, strict=True))


def store_draft(connection: Connection, draft: TreeDraft) -> None:
    """Store a draft: remove the old nodes, add the new nodes, and mark all segments as up to date.

    If TreeChanged is raised, the caller must roll back the transaction.
    """
    _require_unchanged(connection, draft)
    _require_stored(connection, [draft_node.made for layer in draft.fresh[1:] for draft_node in layer])
    rows = _replace_leaves(connection, draft) if draft.replaces else {}
    removed = [row for layer in draft.gone for row in layer]
    if draft.top is not None:
        removed += store.nodes_above(connection, draft.top)
    store.remove(connection, list(dict.fromkeys(removed)))
    for layer, draft_nodes in enumerate(draft.fresh[1:], start=1):
        for draft_node in draft_nodes:
            node, made = draft_node.node, draft_node.made
            children = [rows.get(child.row, child.row) for child in made.cut.nodes]
            summary = (layer, node.rank, node.key, made.gist.row, made.vector.row, draft_node.nearest)
            rows[node.row] = store.add(connection, summary, children)
    store.end_cut(connection)


def _replace_leaves(connection: Connection, draft: TreeDraft) -> dict[int, int]:
    """Replace the stored tree by layer 0 of a draft; return {temporary row in the draft: stored row}."""
    memos_by_chunk = {draft_node.nearest: draft_node.made.vector.row for draft_node in draft.fresh[0]}
    store.begin(connection)
    update_leaves(connection)
    rows = {(rank, key): row for rank, key, row in store.nodes(connection, 0)}
    draft_rows = {(draft_node.node.rank, draft_node.node.key): draft_node.node.row for draft_node in draft.fresh[0]}
    if rows.keys() != draft_rows.keys() or memos_by_chunk != store.memo_of_leaves(connection):
        raise _tree_changed(connection)
    return {draft_rows[rank_and_key]: row for rank_and_key, row in rows.items()}
