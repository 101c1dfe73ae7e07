"""Routes that look at names, and how they hang together."""

from __future__ import annotations

from dataclasses import dataclass

from monograph.app.command import where_of
from monograph.app.picture import picture_of
from monograph.app.picture.data import data_of
from monograph.app.picture.ways import ways_to
from monograph.app.serve.finding import MOST_HITS
from monograph.app.serve.reading import OneDocument
from monograph.app.serve.route import Bytes
from monograph.app.serve.served import Served
from monograph.errors import InputError
from monograph.values import Entity, Merge, Neighbourhood, Path, Route

FRAMED = "frame-ancestors 'self'; sandbox allow-scripts"
"""The policy of a picture, beside that which stands in it: it may be shown in a frame of this server's page."""

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
    graph = served.archive(asked.file).graph
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
    return served.archive(asked.file).graph.neighbourhood(asked.name, asked.hops, min(asked.limit, MOST_ENTITIES))


@dataclass(frozen=True, slots=True)
class Between:
    """Two entities, and the ways between them.

    Parameters
    ----------
    name, other:
        As texts write them.
    hops:
        Most links of a way, at most 12.
    limit:
        Most ways, at most 100.
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
    return served.archive(asked.file).graph.routes(asked.name, asked.other, asked.hops, asked.limit)


def names(served: Served, asked: OneDocument) -> list[Entity]:
    """What a document names, what most of its passages name first."""
    return served.archive(asked.file).graph.of_document(asked.id)


@dataclass(frozen=True, slots=True)
class Drawn:
    """What is drawn: the neighbourhood of an entity, or the ways from a question to its hits.

    Parameters
    ----------
    name:
        Of an entity, as a text writes it.
    hops, limit:
        As for ``neighbourhood``.
    q:
        A question, instead of a name.
    k, how, where, as_of:
        As for ``search``.
    file:
        The file's name.
    """

    name: str = ""
    hops: int = 1
    limit: int = 60
    q: str = ""
    k: int = 5
    how: str = "auto"
    where: tuple[str, ...] = ()
    file: str = ""
    as_of: str = ""


def picture(served: Served, asked: Drawn) -> Bytes:
    """A part of the graph drawn as one HTML page, as ``--html`` writes it."""
    found, ways = _drawn(served, asked)
    made = picture_of(found, ways, title=asked.name or asked.q)
    return Bytes(made.encode("utf-8", "replace"), "text/html; charset=utf-8", FRAMED)


def picture_data(served: Served, asked: Drawn) -> Bytes:
    """What that page is drawn from."""
    return Bytes(data_of(*_drawn(served, asked)).encode("utf-8", "replace"), "application/json")


def _drawn(served: Served, asked: Drawn) -> tuple[Neighbourhood, list[Path]]:
    if bool(asked.name) == bool(asked.q):
        raise InputError("a name or a question says what is drawn", "give name or q")
    file = served.archive(asked.file)
    if asked.name:
        return file.graph.neighbourhood(asked.name, asked.hops, min(asked.limit, MOST_ENTITIES)), []
    hits = file.search(
        asked.q, min(asked.k, MOST_HITS), asked.how, where_of(list(asked.where)), as_of=asked.as_of or None
    )
    return ways_to(file, asked.q, hits)
