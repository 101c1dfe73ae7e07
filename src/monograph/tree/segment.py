"""Segments: groups of bounded size into which the nodes of a layer are divided. Each segment gets one summary.

Nodes are ordered by rank, an integer that is usually close for similar vectors (:mod:`monograph.tree.hash`). ``least``
and ``most`` are the :class:`Bounds` of a segment. A layer is divided as follows:

1. The range of all ranks is halved again and again, by one bit of the rank after another, until no half has more than
   ``most`` nodes. Nodes of one rank, if there are more than ``most``, are divided evenly in order of key.
2. If a half has fewer than ``least`` nodes, its nodes are merged with the nearest segment of the other half.
3. If the merged segment has more than ``most`` nodes, it is divided into two equal segments.

With ``most >= 2 * least - 1``, every segment has at least ``least`` and at most ``most`` nodes, unless the whole layer
has fewer than ``least``. These are EraRAG's bounds (Alg. 2 of Zhang et al. 2025), strictly enforced.

A node that is added or removed changes only segments near its rank. So an update computes only the segments near the
changes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, TypeAlias, cast

BITS = 63
"""Number of bits of a node's rank: see :func:`monograph.tree.hash.full_rank`."""


@dataclass(frozen=True, slots=True, order=True)
class TreeNode:
    """A chunk or summary in a layer. Nodes are ordered by rank, then by key.

    ``row`` is the row of the node in the file; it is 0 or negative for a node that is not stored yet.
    """

    rank: int
    key: bytes
    row: int


Segment: TypeAlias = tuple[TreeNode, ...]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Least and greatest number of nodes in a segment."""

    least: int
    most: int


class NodeOrder(Protocol):
    """The nodes of a layer, in order of rank, then key.

    The nodes are in a list in memory, or in rows of the file. A draft, a change of the tree that is not stored yet, may
    add nodes to the stored ones and remove some.
    """

    def between(self, low: int, high: int, most: int) -> Sequence[TreeNode]:
        """Return the first ``most`` nodes with low <= rank < high, in order of rank, then key."""
        ...


class NodeList:
    """Nodes of a layer in memory. They may be given in any order."""

    def __init__(self, nodes: Sequence[TreeNode]) -> None:
        self._nodes = sorted(nodes)
        self._ranks = [node.rank for node in self._nodes]

    def between(self, low: int, high: int, most: int) -> Sequence[TreeNode]:
        """See :class:`NodeOrder`."""
        first = bisect_left(self._ranks, low)
        return self._nodes[first : min(first + most, bisect_left(self._ranks, high, first))]


def segments(order: NodeOrder, bounds: Bounds, changed: Sequence[int] | None = None) -> list[Segment]:
    """Return all segments of a layer, in order. With ``changed``, return only segments that a change may have affected.

    ``changed`` has the ranks of the nodes that were added or removed, ascending. ``order`` has the nodes after the
    change. ``bounds`` must be the bounds with which the layer was divided before the change.
    """
    parts = _Cutter(order, bounds, changed).cut(0, BITS)
    return [part for part in parts if not isinstance(part, _Rest)]


@dataclass(frozen=True, slots=True)
class _Rest:
    """A range of ranks without changes, whose segments are not computed.

    The range begins at rank ``low`` and has 2 ** ``bits`` ranks.
    """

    low: int
    bits: int


_Part: TypeAlias = "Segment | _Rest"


class _Cutter:
    """Division of a layer into segments: only near the ranks ``changed``, or everywhere if ``changed`` is None."""

    def __init__(self, order: NodeOrder, bounds: Bounds, changed: Sequence[int] | None) -> None:
        self._order = order
        self._least, self._most = bounds.least, bounds.most
        self._changed = changed

    def cut(self, low: int, bits: int) -> list[_Part]:
        """Divide 2 ** ``bits`` ranks from ``low`` on into segments, in order; an unchanged range becomes a _Rest."""
        nodes = self._order.between(low, low + (1 << bits), self._most + 1)
        if len(nodes) <= self._most:
            return [tuple(nodes)] if nodes else []
        if not self._is_touched(low, bits):
            return [_Rest(low, bits)]
        return self._divide(low, bits)

    def _divide(self, low: int, bits: int) -> list[_Part]:
        if not bits:
            # More nodes of one rank than a segment may have: divide them evenly in order of key.
            nodes = tuple(self._order.between(low, low + 1, 1 << 62))
            count = -(-len(nodes) // self._most)
            ends = [len(nodes) * index // count for index in range(count + 1)]
            return [nodes[start:end] for start, end in pairwise(ends)]
        middle = low + (1 << bits - 1)
        left, right = self.cut(low, bits - 1), self.cut(middle, bits - 1)
        # A segment next to a change may have been merged with it before, or must be merged with it now.
        if right and self._is_touched(low, bits - 1):
            right = self._open(right, 0)
        if left and self._is_touched(middle, bits - 1):
            left = self._open(left, -1)
        if left and right and self._is_small(left):
            right = self._open(right, 0)
            return [*self._join_or_halve(left[0], right[0]), *right[1:]]
        if left and right and self._is_small(right):
            left = self._open(left, -1)
            return [*left[:-1], *self._join_or_halve(left[-1], right[0])]
        return left + right

    def _is_small(self, parts: list[_Part]) -> bool:
        return len(parts) == 1 and not isinstance(parts[0], _Rest) and len(parts[0]) < self._least

    def _join_or_halve(self, left: _Part, right: _Part) -> list[_Part]:
        joined = cast("Segment", left) + cast("Segment", right)  # The caller opened both.
        half = (len(joined) + 1) // 2
        return [joined] if len(joined) <= self._most else [joined[:half], joined[half:]]

    def _open(self, parts: list[_Part], index: int) -> list[_Part]:
        """Divide the first (``index`` 0) or last (-1) part until this end is one segment; return all parts."""
        part = parts[index]
        while isinstance(part, _Rest):
            opened = self._divide(part.low, part.bits)
            parts = opened + parts[1:] if index == 0 else parts[:-1] + opened
            part = parts[index]
        return parts

    def _is_touched(self, low: int, bits: int) -> bool:
        if self._changed is None:
            return True
        first = bisect_left(self._changed, low)
        return first < len(self._changed) and self._changed[first] < low + (1 << bits)
