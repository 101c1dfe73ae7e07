"""Operations that read the graph: entities, links and routes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Body, Depends, Query
from starlette.responses import Response

from monograph.app.command import combine_filters
from monograph.app.picture import picture_of
from monograph.app.picture.data import data_of, ways_to
from monograph.app.serve.operations import (
    AsOf,
    Count,
    DocumentId,
    Flag,
    FromArchive,
    How,
    Items,
    MostHits,
    Operations,
    ToChange,
    Where,
    to_change,
)
from monograph.errors import InputError
from monograph.values import Entity, Merge, Neighbourhood, Path, Route

FRAMED = "frame-ancestors 'self'; sandbox allow-scripts"
"""Header Content-Security-Policy of a response with a picture of the graph.

Only pages of this server may frame the picture. A ``meta`` element of the picture has a second policy.
"""

Name = Annotated[str, Query(description="Name of an entity, as texts write it.")]
InBody = Annotated[str, Body(description="Name of an entity, as texts write it.")]
Hops = Annotated[Count, Query(description="Maximum number of links from the entity.")]
Entities = Annotated[Items, Query(description="Maximum number of entities, at most 1,000.")]

router = Operations()


@dataclass(frozen=True, slots=True)
class Names:
    """Entities, those that most chunks name first, and the names that were merged into them."""

    entities: tuple[Entity, ...]
    merges: tuple[Merge, ...]


@router.get("/entities")
def entities(
    archive: FromArchive,
    name: Annotated[str, Query(description="Only names that contain this.")] = "",
    k: Entities = 50,
    why: Annotated[Flag, Query(description="Also return which names were merged into one entity, and why.")] = False,
) -> Names:
    """List the entities of a file, as `monograph entities --json` prints them."""
    listed = archive.graph.entities(k, name)
    return Names(tuple(listed), tuple(archive.graph.merges(name)) if why else ())


@router.get("/neighbourhood")
def neighbourhood(archive: FromArchive, name: Name, hops: Hops = 1, limit: Entities = 60) -> Neighbourhood:
    """Return the entities named together with an entity, as `monograph graph --json` prints them."""
    return archive.graph.neighbourhood(name, hops, limit)


@router.get("/routes")
def routes(
    archive: FromArchive,
    name: Name,
    other: Name,
    hops: Annotated[Count, Query(description="Maximum number of links of a path, at most 12.")] = 4,
    limit: Annotated[Count, Query(description="Maximum number of paths, at most 100.")] = 3,
) -> list[Route]:
    """Find paths from one entity to another."""
    return archive.graph.routes(name, other, hops, limit)


@router.get("/document/names")
def names(archive: FromArchive, identifier: DocumentId) -> list[Entity]:
    """List the entities of a document, those that most of its passages name first."""
    return archive.graph.of_document(identifier)


@dataclass(frozen=True, slots=True)
class Drawing:
    """Parameters of a picture of the graph.

    Either ``name`` or ``q`` is given. The picture shows the neighbourhood of the entity ``name``, or the paths from the
    question ``q`` to its hits.
    """

    archive: FromArchive
    name: Name = ""
    hops: Hops = 1
    limit: Entities = 60
    q: Annotated[str, Query(description="A question to draw, instead of a name.")] = ""
    k: MostHits = 5
    how: How = "auto"
    where: Where = ()
    as_of: AsOf = ""

    def parts(self) -> tuple[Neighbourhood, list[Path]]:
        """Return the neighbourhood to draw, and the paths to mark in it."""
        if bool(self.name) == bool(self.q):
            raise InputError("a picture shows either a name or a question", "give name or q, not both")
        if self.name:
            return self.archive.graph.neighbourhood(self.name, self.hops, self.limit), []
        hits = self.archive.search(self.q, self.k, self.how, combine_filters(self.where), as_of=self.as_of or None)
        return ways_to(self.archive, self.q, hits)


@router.get("/picture", response_class=Response, responses={200: {"content": {"text/html": {}}}})
def picture(drawing: Annotated[Drawing, Depends()]) -> Response:
    """Draw a part of the graph as one HTML page, as `--html` writes it."""
    page = picture_of(*drawing.parts(), title=drawing.name or drawing.q).encode("utf-8", "replace")
    return Response(page, headers={"Content-Security-Policy": FRAMED}, media_type="text/html")


@router.get("/picture/data", response_class=Response, responses={200: {"content": {"application/json": {}}}})
def picture_data(drawing: Annotated[Drawing, Depends()]) -> Response:
    """Return the data that `picture` draws, as JSON."""
    return Response(data_of(*drawing.parts()).encode("utf-8", "replace"), media_type="application/json")


@router.post("/names/apart")
def keep_apart(target: Annotated[ToChange, to_change("graph.keep_apart")], name: InBody, other: InBody) -> Names:
    """Keep two names apart: they are not one entity."""
    _, file = target
    file.graph.keep_apart(name, other)
    return entities(file, name, why=True)


@router.post("/names/unite")
def unite(target: Annotated[ToChange, to_change("graph.unite")], name: InBody, other: InBody) -> Names:
    """Undo that two names are kept apart."""
    _, file = target
    file.graph.unite(name, other)
    return entities(file, name, why=True)
