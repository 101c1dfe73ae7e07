"""Routes between two entities, over entities that chunks name together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise

from monograph.values import Link, Neighbourhood, Route


def routes(parts: Sequence[Neighbourhood], starts: set[str], ends: set[str], hops: int, most: int) -> list[Route]:
    """Return the shortest routes between entities; of these, those with the heaviest weakest link come first.

    Parameters
    ----------
    parts:
        Parts of the graph, which are searched together.
    starts, ends:
        Ids of the entities at which a route may start and end.
    hops:
        Most links of a route.
    most:
        Most routes.

    Returns
    -------
    An empty list if no route has at most ``hops`` links, or an entity is both a start and an end.
    """
    entities = {one.id: one for part in parts for one in part.entities}
    links = {_ordered(one.source, one.target): one for part in parts for one in part.links}
    beside: dict[str, list[str]] = {name: [] for name in entities}
    for source, target in links:
        if source in beside and target in beside:
            beside[source].append(target)
            beside[target].append(source)
    left = _distances(beside, ends & set(entities))
    length = min((left[name] for name in starts if name in left), default=0)
    if not 0 < length <= hops:
        return []
    found = []
    for way in _best_first(links, beside, left, [name for name in sorted(starts) if left.get(name) == length]):
        joined = tuple(links[_ordered(*pair)] for pair in pairwise(way))
        found.append(Route(tuple(entities[name] for name in way), joined))
        if len(found) == most:
            break
    return found


def _ordered(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)


def _distances(beside: dict[str, list[str]], ends: set[str]) -> dict[str, int]:
    """Return the number of links from each entity to the nearest end, for the entities that reach one."""
    found = dict.fromkeys(ends, 0)
    edge = sorted(ends)
    while edge:
        further = []
        for name in edge:
            for other in beside[name]:
                if other not in found:
                    found[other] = found[name] + 1
                    further.append(other)
        edge = further
    return found


def _best_first(
    links: dict[tuple[str, str], Link], beside: dict[str, list[str]], left: dict[str, int], starts: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    """Yield every shortest route, the one with the heaviest weakest link first."""

    def weight(name: str, other: str) -> float:
        return links[_ordered(name, other)].weight

    def nearer(name: str) -> Iterator[str]:
        return (other for other in beside[name] if left.get(other) == left[name] - 1)

    # The weakest link of the best remaining route from each entity. With it as priority, routes end in order.
    onward: dict[str, float] = {}
    for name in sorted(left, key=left.__getitem__):
        on = (min(weight(name, other), onward[other]) for other in nearer(name))
        onward[name] = max(on, default=0.0) if left[name] else float("inf")
    waiting: list[tuple[float, tuple[str, ...], float]] = [(-onward[name], (name,), float("inf")) for name in starts]
    heapify(waiting)
    while waiting:
        _, way, lightest = heappop(waiting)
        if left[way[-1]] == 0:
            yield way
        for other in nearer(way[-1]):
            least = min(lightest, weight(way[-1], other))
            heappush(waiting, (-min(least, onward[other]), (*way, other), least))
