"""Building the tree layer by layer: segments that a change touches, and the summaries to make.

A change of the tree is drafted from the rows as they are, one layer after the other, and stored in one transaction at
the end. What a draft needs made is made by the caller in between. At every step a draft looks whether other writers
have changed what it was begun from.
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
from monograph.tree.hash import Planes, full_rank, ranks
from monograph.tree.leaves import KEY_BYTES, placed, update_leaves
from monograph.tree.segment import Bounds, NodeList, NodeOrder, Segment, TreeNode, segments_near
from monograph.values import Float32, content_hash

MANY = 16
"""Of a layer of less than so many nodes a change, all are read at once."""
_COMPARED_AT_ONCE = 1_024
"""Segments whose nodes' vectors are read together."""


class TreeOvertaken(BusyFile):
    """Another writer changed what a draft counts on: it is to be begun again."""


@dataclass(frozen=True, slots=True)
class TreeRecipe:
    """Settings on which a tree depends, besides its chunks and its planes."""

    summarizer: str
    max_tokens: int
    bounds: Bounds
    layers: int

    def key(self, children: Sequence[bytes]) -> bytes:
        """Return the key of a summary of nodes with these keys, in order."""
        names = [key.hex() for key in children]
        return content_hash("segment", self.summarizer, self.max_tokens, names)[:KEY_BYTES]


@dataclass(frozen=True, slots=True)
class Cut:
    """A segment that has no summary yet: its nodes, and the key of the summary to be."""

    nodes: Segment
    key: bytes


@dataclass(frozen=True, slots=True)
class MemoPlace:
    """A memo row, and the key under which it is there: the row of what was forgotten may be another's by now."""

    row: int
    key: bytes = b""


@dataclass(frozen=True, slots=True)
class MadeSummary:
    """The summary of a segment: its text, and where that and its embedding are remembered."""

    cut: Cut
    text: str
    gist: MemoPlace
    vector: MemoPlace


@dataclass(frozen=True, slots=True)
class _DraftNode:
    """A summary that is drafted; ``node.row`` is below 0 until it is stored."""

    node: TreeNode
    made: MadeSummary
    nearest: int


@dataclass(slots=True)
class TreeDraft:
    """A change of the tree that is being worked out; ``fresh`` and ``gone`` by layer, those of the chunks empty.

    ``version`` is that of the nodes it was begun from; with ``anew`` no summary is kept unless it is made by the same
    recipe. With ``planes`` these take the place of those that are stored, and nothing that is stored counts. ``top`` is
    the layer above which there is to be none, once it is known.
    """

    version: int
    anew: bool = False
    planes: Planes | None = None
    fresh: list[list[_DraftNode]] = field(default_factory=lambda: [[]])
    gone: list[dict[int, int]] = field(default_factory=lambda: [{}])
    top: int | None = None

    @property
    def layer(self) -> int:
        """The layer to be cut next, or that was cut last."""
        return len(self.fresh) - 1


class _DraftOrder:
    """Rows of a layer with a draft laid over them: see :class:`monograph.tree.segment.NodeOrder`."""

    def __init__(self, connection: Connection, layer: int, fresh: Sequence[TreeNode], gone: Mapping[int, int]) -> None:
        self._connection, self._layer, self._gone = connection, layer, gone
        self._fresh = sorted(fresh)

    def between(self, low: int, high: int, most: int) -> Sequence[TreeNode]:
        """See :class:`monograph.tree.segment.NodeOrder`."""
        # What is gone may stand among the first.
        limit = min(most + len(self._gone), 1 << 62)
        rows = store.nodes(self._connection, self._layer, low, high, limit)
        held = (TreeNode(*row) for row in rows if row[2] not in self._gone)
        first = bisect_left(self._fresh, TreeNode(low, b"", 0))
        added = self._fresh[first : bisect_left(self._fresh, TreeNode(high, b"", 0))]
        return list(islice(merge(held, added), most))


def lay_all_leaves(connection: Connection, draft: TreeDraft, planes: Planes, leaves: Sequence[store.Leaf]) -> None:
    """Lay all chunks anew, by other planes than the tree has."""
    draft.planes = planes
    found = {leaf.chunk: leaf for leaf in leaves}
    for number, one in enumerate(placed(connection, planes, leaves), start=1):
        leaf = found[one.chunk]
        made = MadeSummary(Cut((), one.key), leaf.text, MemoPlace(0), MemoPlace(leaf.memo))
        draft.fresh[0].append(_DraftNode(TreeNode(one.rank, one.key, -number), made, one.chunk))


def changes(connection: Connection, draft: TreeDraft) -> list[int]:
    """Return the ranks at which nodes of the draft's layer came or went, ascending."""
    layer = draft.layer
    if draft.anew and draft.planes is None and not layer:
        return [rank for rank, _, _ in store.nodes(connection, 0)]
    drafted = [*draft.gone[layer].values(), *(one.node.rank for one in draft.fresh[layer])]
    return sorted({*store.stale_segments(connection, layer), *drafted})


def cut(connection: Connection, recipe: TreeRecipe, draft: TreeDraft) -> list[Cut] | None:
    """Return the segments of the draft's layer that need a summary; None where no layer is to stand above it.

    The summaries that stood over what is cut otherwise now are noted in the draft as gone.

    Raises
    ------
    TreeOvertaken
        If the tree is not as it was when the draft was begun.
    """
    _see_same(connection, draft)
    layer = draft.layer
    fresh = [one.node for one in draft.fresh[layer]]
    stored = 0 if draft.planes is not None else store.count(connection, layer)
    total = stored - len(draft.gone[layer]) + len(fresh)
    if total <= 1 or layer == recipe.layers:
        draft.top = layer
        return None
    ranks_changed = changes(connection, draft)
    if draft.planes is not None:
        order: NodeOrder = NodeList(fresh)
    else:
        order = order_of(connection, layer, draft.gone[layer], fresh, len(ranks_changed) * MANY > total)
    found = segments_near(order, recipe.bounds, ranks_changed)
    over = store.parents(connection, [node.row for segment in found for node in segment if node.row > 0])
    kept: set[int] = set()
    wanted: list[tuple[Segment, bytes]] = []
    for segment in found:
        key = recipe.key([node.key for node in segment])
        parent = over.get(segment[0].row)
        if parent is not None and parent[1] == key:
            kept.add(parent[0])
        else:
            wanted.append((segment, key))
    # What stood over nodes that are gone goes too.
    gone = {row for row, _ in (over | store.parents(connection, list(draft.gone[layer]))).values()} - kept
    draft.gone.append({row: one.rank for row, one in store.load(connection, gone).items()})
    return [Cut(segment, key) for segment, key in wanted]


def texts(connection: Connection, draft: TreeDraft, cuts: Sequence[Cut]) -> list[tuple[str, ...]]:
    """Return the texts that each of some summaries of the draft's layer is to be made from.

    Raises
    ------
    TreeOvertaken
        If the tree is not as it was when the draft was begun.
    """
    _see_same(connection, draft)
    rows = store.load(connection, [node.row for one in cuts for node in one.nodes if node.row > 0])
    found = {one.node.row: one.made.text for one in draft.fresh[draft.layer]} | node_texts(connection, rows.values())
    return [tuple(found[node.row] for node in one.nodes) for one in cuts]


def order_of(
    connection: Connection, layer: int, gone: Mapping[int, int], fresh: Sequence[TreeNode], whole: bool
) -> NodeOrder:
    """Return a layer with changes laid over it, read whole or where it is asked for."""
    if not whole:
        return _DraftOrder(connection, layer, fresh, gone)
    rows = (TreeNode(*row) for row in store.nodes(connection, layer))
    return NodeList([*(node for node in rows if node.row not in gone), *fresh])


def node_texts(connection: Connection, rows: Collection[store.NodeRow]) -> dict[int, str]:
    """Return the texts of nodes, by node. Raises DamagedFile if a summary has none."""
    nodes = {row.chunk: row.node for row in rows if row.chunk is not None}
    found = {
        node: text
        for node, (_, text) in zip(nodes.values(), stored_chunks.titled_texts(connection, nodes), strict=True)
    }
    values = memo.values(connection, {row.gist for row in rows if row.gist is not None})
    summaries = (row for row in rows if row.gist is not None)
    return found | {
        row.node: store.of_node(connection, row.node, values.get(row.gist or 0, b"")).text for row in summaries
    }


def _see_same(connection: Connection, draft: TreeDraft) -> None:
    """Raise TreeOvertaken if nodes have changed since a draft was begun; one with planes of its own counts on none."""
    if draft.planes is None and (store.version(connection) != draft.version or store.stale_leaves(connection)):
        raise _overtaken(connection)


def _see_remembered(connection: Connection, made: Iterable[MadeSummary]) -> None:
    """Raise TreeOvertaken if any summary, or its vector, is remembered no more."""
    for kind, some in (
        (memo.SUMMARY, {one.gist.key: one.gist.row for one in made}),
        (memo.VECTOR, {one.vector.key: one.vector.row for one in made}),
    ):
        if memo.rows(connection, kind, list(some)) != some:
            raise _overtaken(connection)


def _overtaken(connection: Connection) -> TreeOvertaken:
    return TreeOvertaken(f"another process keeps changing {path_of(connection)}", "try again when it is done")


def add_layer(connection: Connection, draft: TreeDraft, planes: Planes, made: Sequence[MadeSummary]) -> None:
    """Add the summaries of the draft's layer to the draft, as the next layer.

    Raises
    ------
    TreeOvertaken
        If the tree is not as it was when the draft was begun, or a summary was forgotten.
    DamagedFile
        If the vector of a summary has another length than the file's.
    """
    _see_same(connection, draft)
    _see_remembered(connection, made)
    wanted = {one.vector.row for one in made}
    memos, found = stored_vectors.load(connection, list(wanted), planes.dimension)
    if len(memos) < len(wanted):
        raise damaged(path_of(connection), "the vector of a summary has another length than the file's")
    places = dict(zip(memos.tolist(), ranks(planes, found).tolist(), strict=True))
    vectors = dict(zip(memos.tolist(), found, strict=True))
    number = -sum(map(len, draft.fresh))
    fresh = []
    for first in range(0, len(made), _COMPARED_AT_ONCE):
        some = made[first : first + _COMPARED_AT_ONCE]
        nearest = _nearest(connection, draft, planes.dimension, [node for one in some for node in one.cut.nodes])
        for one in some:
            number -= 1
            node = TreeNode(full_rank(places[one.vector.row], one.cut.key), one.cut.key, number)
            fresh.append(_DraftNode(node, one, nearest(one.cut.nodes, vectors[one.vector.row])))
    draft.fresh.append(fresh)


def _nearest(
    connection: Connection, draft: TreeDraft, dimension: int, nodes: Sequence[TreeNode]
) -> Callable[[Segment, Float32], int]:
    """Return a function that returns the chunk of the node nearest to a summary, given its segment and vector."""
    drafted = {one.node.row: one for one in draft.fresh[draft.layer]}
    rows = store.load(connection, [node.row for node in nodes if node.row > 0])
    over = {node: row.chunk for node, row in rows.items() if row.chunk is not None}
    memos = {node: row.vector for node, row in rows.items() if row.vector is not None}
    memos.update((node.row, drafted[node.row].made.vector.row) for node in nodes if node.row < 0)
    of_chunks = _by_row(stored_vectors.of_chunks(connection, list(over.values()), dimension)) if over else {}
    of_memo = _by_row(stored_vectors.load(connection, list(set(memos.values())), dimension))
    vectors = {node: of_chunks[chunk] for node, chunk in over.items() if chunk in of_chunks}
    vectors.update((node, of_memo[row]) for node, row in memos.items() if row in of_memo)

    def find(segment: Segment, vector: Float32) -> int:
        lacking = [node.row for node in segment if node.row not in vectors]
        if any(row > 0 for row in lacking):
            raise damaged(path_of(connection), "a node of the tree has no vector")
        if lacking:
            raise _overtaken(connection)
        cosines = np.round(np.vecdot(np.stack([vectors[node.row] for node in segment]), vector), 6)
        best = segment[int(np.argmax(cosines))]
        if best.row < 0:
            return drafted[best.row].nearest
        row = rows[best.row]
        return int(row.chunk if row.chunk is not None else row.nearest or 0)

    return find


def _by_row(loaded: tuple[npt.NDArray[np.int64], Float32]) -> dict[int, Float32]:
    rows, vectors = loaded
    return dict(zip(rows.tolist(), vectors, strict=True))


def store_draft(connection: Connection, draft: TreeDraft) -> None:
    """Store a draft.

    Raises
    ------
    TreeOvertaken
        If the tree, the chunks or the memo are not as they were when it was drafted: the transaction is to be undone.
    """
    _see_same(connection, draft)
    _see_remembered(connection, [one.made for layer in draft.fresh[1:] for one in layer])
    rows = {} if draft.planes is None else _replace_leaves(connection, draft, draft.planes)
    gone = [row for layer in draft.gone for row in layer]
    if draft.top is not None:
        gone += store.above(connection, draft.top)
    store.remove(connection, list(dict.fromkeys(gone)))
    for layer, some in enumerate(draft.fresh[1:], start=1):
        for one in some:
            children = [rows.get(node.row, node.row) for node in one.made.cut.nodes]
            summary = (layer, one.node.rank, one.node.key, one.made.gist.row, one.made.vector.row, one.nearest)
            rows[one.node.row] = store.add(connection, summary, children)
    store.end_cut(connection)


def _replace_leaves(connection: Connection, draft: TreeDraft, planes: Planes) -> dict[int, int]:
    """Take out the tree and give all chunks leaves by other planes; their new rows, by those in the draft."""
    laid = {one.nearest: one.made.vector.row for one in draft.fresh[0]}
    store.begin(connection, planes.to_bytes())
    update_leaves(connection)
    rows = {(rank, key): row for rank, key, row in store.nodes(connection, 0)}
    drafted = {(one.node.rank, one.node.key): one.node.row for one in draft.fresh[0]}
    if rows.keys() != drafted.keys() or laid != store.memo_of_leaves(connection):
        raise _overtaken(connection)
    return {drafted[place]: row for place, row in rows.items()}
