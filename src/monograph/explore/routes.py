"""Shortest routes between two entities, along the links of the graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import islice, pairwise

from monograph.values import Link, Neighbourhood, Route


def routes(parts: Sequence[Neighbourhood], starts: set[str], ends: set[str], hops: int, most: int) -> list[Route]:
    """Return at most ``most`` of the shortest routes between entities, the routes with the strongest links first.

    The routes are in descending order of the weight of their weakest link. A route starts at an entity whose id is in
    ``starts`` and ends at one whose id is in ``ends``. ``parts`` are parts of the graph; they are searched as one
    graph. The list is empty if the shortest route has more than ``hops`` links, or if an entity is both a start and an
    end.
    """
    entities = {entity.id: entity for part in parts for entity in part.entities}
    links = {_sort_pair(link.source, link.target): link for part in parts for link in part.links}
    neighbours: dict[str, list[str]] = {name: [] for name in entities}
    for source, target in links:
        if source in neighbours and target in neighbours:
            neighbours[source].append(target)
            neighbours[target].append(source)
    # The number of links from each entity to the nearest end, for the entities that reach one.
    distances = dict.fromkeys(sorted(ends & set(entities)), 0)
    waiting = list(distances)
    for name in waiting:  # It grows as the entities are visited.
        for other in neighbours[name]:
            if other not in distances:
                distances[other] = distances[name] + 1
                waiting.append(other)
    length = min((distances[name] for name in starts if name in distances), default=0)
    if not 0 < length <= hops:
        return []
    nearest = [name for name in sorted(starts) if distances.get(name) == length]
    return [
        Route(tuple(entities[name] for name in route), tuple(links[_sort_pair(*pair)] for pair in pairwise(route)))
        for route in islice(_best_first(links, neighbours, distances, nearest), most)
    ]


def _sort_pair(first: str, second: str) -> tuple[str, str]:
    return (first, second) if first < second else (second, first)


def _best_first(
    links: dict[tuple[str, str], Link],
    neighbours: dict[str, list[str]],
    distances: dict[str, int],
    starts: Sequence[str],
) -> Iterator[tuple[str, ...]]:
    """Yield every shortest route, in descending order of the weight of its weakest link."""

    def weight(name: str, other: str) -> float:
        return links[_sort_pair(name, other)].weight

    def nearer(name: str) -> Iterator[str]:
        return (other for other in neighbours[name] if distances.get(other) == distances[name] - 1)

    # The weakest link of the best remaining route from each entity. With it as priority, routes end in order.
    onward: dict[str, float] = {}
    for name in sorted(distances, key=distances.__getitem__):
        on = (min(weight(name, other), onward[other]) for other in nearer(name))
        onward[name] = max(on, default=0.0) if distances[name] else float("inf")
    waiting: list[tuple[float, tuple[str, ...], float]] = [(-onward[name], (name,), float("inf")) for name in starts]
    heapify(waiting)
    while waiting:
        _, route, lightest = heappop(waiting)
        if distances[route[-1]] == 0:
            yield route
        for other in nearer(route[-1]):
            least = min(lightest, weight(route[-1], other))
            heappush(waiting, (-min(least, onward[other]), (*route, other), least))
