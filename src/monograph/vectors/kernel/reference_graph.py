"""The kernel's graph in Python: the oracle of the compiled one, and its stand-in.

A stored graph: header (magic, nodes, M, entry, checksum; 4 bytes each), for each node and one more the first row of its
upper links (a node's level is how many it has; uint32), links of level 0 (2M a node, int32), the upper links (M a row).
-1 stands for no link.
"""

from __future__ import annotations

import heapq
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

import numpy as np

from monograph.values import Float32
from monograph.vectors.kernel.reference import (
    Bits,
    Body,
    Int64,
    Query,
    allowed_among,
    checksum,
    parse,
    require_dimension,
    require_search,
    scores_of,
)

GRAPH_MAGIC = 0x3147454D
GRAPH_HEADER = 20
MOST_LEVELS = 16
_LONG = 0xFFFFFFFFFFFFFFFF

Scored = tuple[float, int]
"""(minus the score, row): sorts nearest first, then by row."""


@dataclass(slots=True)
class Graph:
    """Links of every node at every level: ``links[node][level]``; level 0 has room for twice as many."""

    m: int
    entry: int = -1
    links: list[list[list[int]]] = field(default_factory=list)

    def room(self, level: int) -> int:
        """Most links of a node at a level."""
        return self.m if level else 2 * self.m

    def top(self) -> int:
        """The highest level; -1 when empty."""
        return -1 if self.entry < 0 else len(self.links[self.entry]) - 1


def _values(data: bytes, *, trusted: bool = False) -> Body:
    body = parse(data, trusted=trusted)
    if body.centre is not None:
        raise ValueError("codes of bits have no graph")
    return body


def graph_insert(body: bytes, graph: bytes | None, m: int, ef: int, alpha: float) -> bytes:
    """See :func:`monograph.vectors.kernel.graph_insert`."""
    _require_growth(m, ef, alpha)
    parsed = _values(body)
    nodes = len(parsed.ids)
    first = 0
    if graph is None:
        grown = Graph(m, links=[[] for _ in range(nodes)])
    else:
        if len(graph) < GRAPH_HEADER:
            raise RuntimeError("damaged: not a graph")
        (first,) = struct.unpack_from("<I", graph, 4)
        if first > nodes:
            raise RuntimeError("damaged: the graph is of another cluster")
        grown = _thaw(graph, first)
        _require_links(graph, grown)
        grown.links.extend([] for _ in range(nodes - first))
    growth = _Growth(parsed, grown, ef, np.float32(alpha))
    for node in range(first, nodes):
        growth.insert(node)
    return _freeze(grown)


def graph_remove(body: bytes, graph: bytes, rows: Sequence[int], ef: int, alpha: float) -> bytes:
    """See :func:`monograph.vectors.kernel.graph_remove`."""
    _require_growth(2, ef, alpha)
    parsed = _values(body)
    nodes = len(parsed.ids)
    grown = _thaw(graph, nodes)
    _require_links(graph, grown)
    gone: set[int] = set()
    for row in rows:
        if not 0 <= row < nodes or row in gone:
            raise ValueError(f"there is no row {row} to remove")
        gone.add(row)
    growth = _Growth(parsed, grown, ef, np.float32(alpha))
    for row in rows:
        growth.remove(row)
    staying = [row for row in range(nodes) if row not in gone]
    place = {row: number for number, row in enumerate(staying)}
    left = Graph(grown.m, place.get(grown.entry, -1))
    left.links = [[[place[other] for other in links] for links in grown.links[row]] for row in staying]
    return _freeze(left)


def graph_check(body: bytes, graph: bytes) -> None:
    """See :func:`monograph.vectors.kernel.graph_check`."""
    _require_links(graph, _thaw(graph, len(_values(body).ids)))


def walk(  # noqa: PLR0913, PLR0917 - the compiled twin has them
    body: bytes,
    graph: bytes,
    query: Float32,
    scores: Float32,
    ids: Int64,
    filled: int,
    k: int,
    ef: int,
    allowed: Bits | None,
    trusted: bool,
) -> tuple[int, tuple[int, ...], int]:
    """See :func:`monograph.vectors.kernel.walk`."""
    _require_growth(2, ef, 1)
    pool = require_search(query, scores, ids, filled, k, allowed)
    parsed = _values(body, trusted=trusted)
    require_dimension(parsed, query)
    stored = _thaw(graph, len(parsed.ids), trusted=trusted)
    if stored.entry < 0:
        return pool.report(k, 0)
    walker = _Walk(parsed, Query.of(query), stored)
    here = walker.score([stored.entry])[0]
    for level in range(stored.top(), 0, -1):
        here = walker.descend(here, level)
    found = walker.expand(here, 0, ef)
    rows = np.array([row for _, row in found], dtype=np.int64)
    near = np.array([-score for score, _ in found], dtype=np.float32)
    chosen = allowed_among(parsed.ids[rows], allowed)
    pool.offer(near[chosen], parsed.ids[rows][chosen])
    return pool.report(k, walker.compared)


class _Walk:
    def __init__(self, body: Body, query: Query, graph: Graph) -> None:
        self._body, self._query, self._graph = body, query, graph
        self.compared = 0

    def score(self, rows: Sequence[int]) -> list[Scored]:
        self.compared += len(rows)
        found = scores_of(self._body, self._query, np.asarray(rows, dtype=np.int64)).tolist()
        return [(-score, row) for score, row in zip(found, rows, strict=True)]

    def _neighbours(self, node: int, level: int) -> list[int]:
        links = self._graph.links[node]
        if level >= len(links):
            return []
        if any(_leads_astray(self._graph, node, level, other) for other in links[level]):
            raise RuntimeError("damaged: a link of its graph leads astray")
        return links[level]

    def descend(self, here: Scored, level: int) -> Scored:
        """Step to the best neighbour until none is better."""
        while True:
            best = min([here, *self.score(self._neighbours(here[1], level))])
            if best == here:
                return here
            here = best

    def expand(self, start: Scored, level: int, ef: int) -> list[Scored]:
        """The ef best found from a start, best first (Malkov and Yashunin, Alg. 2)."""
        seen = {start[1]}
        opened = [start]
        kept = [_flip(start)]
        while opened:
            if len(kept) >= ef and opened[0] > _flip(kept[0]):
                break
            _, row = heapq.heappop(opened)
            fresh = list(dict.fromkeys(other for other in self._neighbours(row, level) if other not in seen))
            seen.update(fresh)
            for found in self.score(fresh):
                if len(kept) < ef or found < _flip(kept[0]):
                    heapq.heappush(opened, found)
                    heapq.heappush(kept, _flip(found))
                    if len(kept) > ef:
                        heapq.heappop(kept)
        return sorted(_flip(one) for one in kept)


def _flip(scored: Scored) -> Scored:
    return -scored[0], -scored[1]


class _Growth:
    def __init__(self, body: Body, graph: Graph, ef: int, alpha: np.float32) -> None:
        self._body, self._graph, self._ef, self._alpha = body, graph, ef, alpha
        self._euclidean = bool(body.biases.any())

    def insert(self, node: int) -> None:
        """MobileRAG, Alg. 1."""
        graph = self._graph
        height, top = _level_of(int(self._body.ids[node]), graph.m), graph.top()
        graph.links[node] = [[] for _ in range(height + 1)]
        if graph.entry < 0:
            graph.entry = node
            return
        walker = _Walk(self._body, Query.row(self._body, node), graph)
        here = walker.score([graph.entry])[0]
        for level in range(top, height, -1):
            here = walker.descend(here, level)
        for level in range(min(height, top), -1, -1):
            found = walker.expand(here, level, self._ef)
            self._connect(node, self._robust_prune(node, found, graph.room(level)), level)
            here = found[0]
        if height > top:
            graph.entry = node

    def remove(self, node: int) -> None:
        """MobileRAG, Alg. 2, mended: the entry is handed over, and whoever pointed to the node is linked anew."""
        graph = self._graph
        mine, graph.links[node] = graph.links[node], []
        if graph.entry == node:
            heights = [len(links) for links in graph.links]
            graph.entry = heights.index(max(heights)) if max(heights) else -1
        for level, heirs in enumerate(mine):
            bereft = [other for other, links in enumerate(graph.links) if len(links) > level and node in links[level]]
            for other in bereft:
                graph.links[other][level].remove(node)
            for other in bereft:
                self._relink(other, level, heirs)

    def _relink(self, node: int, level: int, heirs: list[int]) -> None:
        walker = _Walk(self._body, Query.row(self._body, node), self._graph)
        near = walker.score([*self._graph.links[node][level], *heirs])
        near += walker.expand(walker.score([node])[0], level, self._graph.room(level))
        self._connect(node, self._robust_prune(node, near, self._graph.room(level)), level)

    def _connect(self, node: int, kept: list[int], level: int) -> None:
        """Link two ways; a neighbour whose links are full keeps the best of them."""
        self._graph.links[node][level] = kept
        for other in kept:
            back = self._graph.links[other][level]
            if node in back:
                continue
            back.append(node)
            if len(back) > self._graph.room(level):
                walker = _Walk(self._body, Query.row(self._body, other), self._graph)
                pruned = self._robust_prune(other, walker.score(back), self._graph.room(level))
                self._graph.links[other][level] = pruned

    def _distances(self, scores: Float32, to: int) -> Float32:
        found: Float32 = -(scores + self._body.biases[to]) if self._euclidean else np.float32(1) - scores
        return found

    def _robust_prune(self, node: int, candidates: list[Scored], room: int) -> list[int]:
        """Of candidates, nearest first, keep one unless an earlier one is nearer to it, by alpha, than the node is."""
        ordered = sorted(candidates)
        rows = np.array([row for _, row in ordered], dtype=np.int64)
        far = self._distances(np.array([-minus for minus, _ in ordered], dtype=np.float32), node)
        nearest = np.full(len(rows), np.inf, dtype=np.float32)
        kept: list[int] = []
        for place, row in enumerate(rows.tolist()):
            if len(kept) >= room:
                break
            if row == node or row in kept or nearest[place] < far[place]:
                continue
            kept.append(row)
            scores = scores_of(self._body, Query.row(self._body, row), rows)
            nearest = np.minimum(nearest, self._alpha * self._distances(scores, row))
        return kept


def _level_of(row: int, m: int) -> int:
    """Level of a node: at least l with probability M^-l, the same for the same id (splitmix64)."""
    state = (row + 0x9E3779B97F4A7C15) & _LONG
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _LONG
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _LONG
    state ^= state >> 31
    chance = (state >> 11) / 9007199254740992.0
    height, least = 0, 1.0 / m
    while chance < least and height < MOST_LEVELS:
        height += 1
        least /= m
    return height


def _thaw(data: bytes, nodes: int, *, trusted: bool = False) -> Graph:
    if not isinstance(data, bytes):
        raise TypeError("a graph is bytes")
    if len(data) < GRAPH_HEADER or struct.unpack_from("<I", data)[0] != GRAPH_MAGIC:
        raise RuntimeError("damaged: not a graph")
    n, m, entry, found = struct.unpack_from("<IIiI", data, 4)
    base = GRAPH_HEADER + 4 * (n + 1)
    above = base + 8 * m * n
    if n != nodes or not 2 <= m <= 256 or len(data) < above:
        raise RuntimeError("damaged: the graph is of another cluster")
    if not trusted and checksum(data[GRAPH_HEADER:]) != found:
        raise RuntimeError("damaged: the checksum of its graph does not match")
    rows = struct.unpack_from(f"<{n + 1}I", data, GRAPH_HEADER)
    if len(data) != above + 4 * m * rows[n] or not (0 if n else -1) <= entry < n:
        raise RuntimeError("damaged: the graph is of another length")
    graph = Graph(m, entry)
    for node, (start, end) in enumerate(pairwise(rows)):
        levels = range(start, end if start <= end <= rows[n] and end - start <= MOST_LEVELS else start)
        links = [_links(data, base + 8 * m * node, 2 * m)]
        graph.links.append(links + [_links(data, above + 4 * m * row, m) for row in levels])
    return graph


def _links(data: bytes, at: int, room: int) -> list[int]:
    found = struct.unpack_from(f"<{room}i", data, at)
    count = next((place for place, other in enumerate(found) if other < 0), room)
    return list(found[:count])


def _leads_astray(graph: Graph, node: int, level: int, other: int) -> bool:
    """Whether a link leads to no other node that has its level: a right checksum does not say that it does."""
    return other >= len(graph.links) or other == node or (level > 0 and level >= len(graph.links[other]))


def _require_links(data: bytes, graph: Graph) -> None:
    """All that changes count on: levels, the entry as the first of the highest nodes, and no link twice."""
    rows = struct.unpack_from(f"<{len(graph.links) + 1}I", data, GRAPH_HEADER)
    if rows[0] or any(not 0 <= end - start <= MOST_LEVELS for start, end in pairwise(rows)):
        raise RuntimeError("damaged: a level of its graph cannot be")
    heights = [len(links) for links in graph.links]
    if heights and graph.entry != heights.index(max(heights)):
        raise RuntimeError("damaged: the entry of its graph is another")
    for node, links in enumerate(graph.links):
        for level, row in enumerate(links):
            if len(set(row)) < len(row) or any(_leads_astray(graph, node, level, other) for other in row):
                raise RuntimeError("damaged: a link of its graph leads astray")


def _freeze(graph: Graph) -> bytes:
    n = len(graph.links)
    rows = [0, *accumulate(len(links) - 1 for links in graph.links)]
    base: list[int] = []
    above: list[int] = []
    for links in graph.links:
        for level, row in enumerate(links):
            padded = [*row, *[-1] * (graph.room(level) - len(row))]
            (above if level else base).extend(padded)
    numbers = [*base, *above]
    rest = struct.pack(f"<{n + 1}I{len(numbers)}i", *rows, *numbers)
    return struct.pack("<IIIiI", GRAPH_MAGIC, n, graph.m, graph.entry, checksum(rest)) + rest


def _require_growth(m: int, ef: int, alpha: float) -> None:
    if not 2 <= m <= 256:
        raise ValueError(f"M is {m}: give 2 to 256")
    if ef < 1:
        raise ValueError(f"ef is {ef}: give 1 or more")
    if not alpha >= 1:
        raise ValueError("alpha is below 1")
