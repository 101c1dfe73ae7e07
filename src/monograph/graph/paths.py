"""Which edges and paths between entities matter to a question: MiniRAG, Sec. 3.2.2 (Eq. 2 and 3).

The paper's k is both how far around an edge is looked and how many paths are kept. Here ``radius`` is the one,
``Beam.kept`` the other: fifty steps around an edge are all that it hangs together with, and tell no two edges apart.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from itertools import pairwise
from typing import TypeAlias

Edge: TypeAlias = tuple[int, int]
"""Two entities, the lower row first."""


@dataclass(frozen=True, slots=True)
class PathGraph:
    """Entities by row, each with those it is linked to, ascending; what links one way links the other."""

    neighbours: Mapping[int, tuple[int, ...]]

    def edges(self) -> list[Edge]:
        """Every edge once, in order."""
        return sorted((one, other) for one, some in self.neighbours.items() for other in some if one < other)


@dataclass(frozen=True, slots=True)
class Beam:
    """How paths are looked for.

    Parameters
    ----------
    length:
        Most edges of a path: the paper's n.
    width:
        Paths of each length that are followed further, the best ones. With a width above their number all are.
    kept:
        Best paths of each start: the paper's k, as a number of paths.
    """

    length: int = 2
    width: int = 32
    kept: int = 10


@dataclass(frozen=True, slots=True)
class ScoredPath:
    """Entities in the order they are passed, and the path's score."""

    nodes: tuple[int, ...]
    score: float


def graph_of(nodes: Iterable[int], pairs: Iterable[tuple[int, int]]) -> PathGraph:
    """A graph of nodes, and of pairs of them in either order; a pair of one node with itself is no edge."""
    found: dict[int, set[int]] = {node: set() for node in nodes}
    for one, other in pairs:
        if one != other:
            found[one].add(other)
            found[other].add(one)
    return PathGraph({node: tuple(sorted(found[node])) for node in sorted(found)})


def edge_of(one: int, other: int) -> Edge:
    """The edge between two entities."""
    return (one, other) if one < other else (other, one)


def edge_relevance(graph: PathGraph, special: Collection[int], radius: int) -> dict[Edge, int]:
    """Eq. 2 for every edge: how many special nodes lie within ``radius`` steps of either of its ends.

    Parameters
    ----------
    graph:
        What is walked.
    special:
        Starting and answer nodes; one that is both counts once.
    radius:
        Steps, 0 or more.
    """
    places = {node: 1 << place for place, node in enumerate(sorted(set(special)))}
    near = {node: places.get(node, 0) for node in graph.neighbours}
    for _ in range(radius):
        wider = {}
        for node, some in graph.neighbours.items():
            bits = near[node]
            for other in some:
                bits |= near[other]
            wider[node] = bits
        if wider == near:
            break
        near = wider
    return {(one, other): (near[one] | near[other]).bit_count() for one, other in graph.edges()}


def key_edges(relevance: Mapping[Edge, int], most: int) -> dict[Edge, int]:
    """The edges of highest relevance, above 0 and at most ``most``; ties by the edge."""
    telling = ((-value, edge) for edge, value in relevance.items() if value > 0)
    return {edge: -value for value, edge in nsmallest(most, telling)}


def path_value(nodes: tuple[int, ...], key: Mapping[Edge, int], answers: Collection[int]) -> int:
    """The sum in Eq. 3: 1, the relevance of a path's key edges, and the number of different answer nodes on it."""
    edges = sum(key.get(edge_of(*ends), 0) for ends in pairwise(nodes))
    return 1 + edges + len({node for node in nodes if node in answers})


def best_paths(
    graph: PathGraph,
    start: tuple[int, float],
    key: Mapping[Edge, int],
    answers: Collection[int],
    beam: Beam,
) -> list[ScoredPath]:
    """The paths from a start that score highest by Eq. 3, and pass no entity twice.

    Parameters
    ----------
    graph:
        What is walked.
    start:
        An entity, and how similar it is to the question's: 0 or more.
    key:
        Relevance of the key edges: see :func:`key_edges`.
    answers:
        Entities of a kind that answers the question.
    beam:
        How far, how widely, and how many.

    Returns
    -------
    Highest first; ties by length, then by nodes. The start alone is a path too.
    """
    node, similarity = start
    level: list[tuple[int, tuple[int, ...]]] = [(-path_value((node,), key, answers), (node,))]
    found = list(level)
    for _ in range(beam.length):
        longer: list[tuple[int, tuple[int, ...]]] = []
        for value, nodes in nsmallest(beam.width, level):
            last = nodes[-1]
            for other in graph.neighbours[last]:
                if other not in nodes:
                    gain = key.get((last, other) if last < other else (other, last), 0) + (other in answers)
                    longer.append((value - gain, (*nodes, other)))
        level = nsmallest(max(beam.width, beam.kept), longer)
        found += level
    best = nsmallest(beam.kept, ((value, len(nodes), nodes) for value, nodes in found))
    return [ScoredPath(nodes, similarity * -value) for value, _, nodes in best]
