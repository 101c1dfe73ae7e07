"""Routes that look at names, and how they hang together."""

from __future__ import annotations

from dataclasses import dataclass

from monograph.app.serve.served import Served
from monograph.values import Entity, Merge, Neighbourhood, Route

MOST_ENTITIES = 1_000


@dataclass(frozen=True, slots=True)
class Naming:
    """Which names are listed.

    Parameters
    ----------
    name:
        Only names that contain this.
    k:
        Most entities, at most 1,000.
    why:
        Say which names were taken to mean one thing, and why.
    file:
        The file's name.
    """

    name: str = ""
    k: int = 50
    why: bool = False
    file: str = ""


@dataclass(frozen=True, slots=True)
class Names:
    """Entities, those that most chunks name first; and which names were taken to mean one."""

    entities: tuple[Entity, ...]
    merges: tuple[Merge, ...]


def entities(served: Served, asked: Naming) -> Names:
    """List what is named, as ``monograph entities --json`` prints it."""
    graph = served.file(asked.file).graph
    listed = graph.entities(min(asked.k, MOST_ENTITIES), asked.name)
    return Names(tuple(listed), tuple(graph.merges(asked.name)) if asked.why else ())


@dataclass(frozen=True, slots=True)
class Around:
    """An entity, and how far one looks round it.

    Parameters
    ----------
    name:
        As a text writes it.
    hops:
        How far from it.
    limit:
        Most entities around it, at most 1,000.
    file:
        The file's name.
    """

    name: str
    hops: int = 1
    limit: int = 60
    file: str = ""


def neighbourhood(served: Served, asked: Around) -> Neighbourhood:
    """What is named together with an entity, as ``monograph graph --json`` prints it."""
    return served.file(asked.file).graph.neighbourhood(asked.name, asked.hops, min(asked.limit, MOST_ENTITIES))


@dataclass(frozen=True, slots=True)
class Between:
    """Two entities, and the ways between them.

    Parameters
    ----------
    name, other:
        As texts write them.
    hops:
        Most links of a way.
    limit:
        Most ways.
    file:
        The file's name.
    """

    name: str
    other: str
    hops: int = 4
    limit: int = 3
    file: str = ""


def routes(served: Served, asked: Between) -> list[Route]:
    """The ways from one entity to another."""
    return served.file(asked.file).graph.routes(asked.name, asked.other, asked.hops, asked.limit)
