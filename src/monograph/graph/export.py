"""Export of a part of the graph to networkx or GraphML (extra ``graph``)."""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monograph.errors import InputError, MissingExtra
from monograph.regex import regex
from monograph.values import Link, Neighbourhood

if TYPE_CHECKING:
    from types import ModuleType

    import networkx

SEPARATOR = "; "
"""Separator between the texts of a list in GraphML, which has no lists."""

_ILLEGAL = regex("[^\t\n\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_networkx(neighbourhood: Neighbourhood) -> networkx.Graph:
    """Return a neighbourhood as an undirected graph whose nodes are the ids of entities and chunks.

    Each node has the attribute ``kind``. A node of kind ``"entity"`` also has ``name``, ``type``, ``names``,
    ``documents``, ``count`` (number of chunks that name the entity) and ``centre`` (whether it is in the centre of the
    neighbourhood). A node of kind ``"chunk"`` has ``document``, ``start``, ``end`` and ``text``.

    Each edge has the attribute ``kind`` as well. A ``"link"`` joins two entities and has ``weight``, ``chunks``,
    ``description`` and ``keywords``. A ``"mention"`` joins an entity to a chunk that names it. If two entities have two
    links, one in each direction, these become one: the weights are added, and chunks, descriptions and keywords are
    combined.

    Raises MissingExtra if networkx is not installed.
    """
    graph: networkx.Graph = _import_networkx().Graph()
    for entity in neighbourhood.entities:
        graph.add_node(
            entity.id,
            kind="entity",
            name=entity.name,
            type=entity.kind,
            names=entity.names,
            documents=entity.documents,
            count=entity.chunks,
            centre=entity.id in neighbourhood.centre,
        )
    for chunk in neighbourhood.chunks:
        graph.add_node(
            chunk.id, kind="chunk", document=chunk.document_id, start=chunk.start, end=chunk.end, text=chunk.text
        )
    links: dict[frozenset[str], Link] = {}
    for link in neighbourhood.links:
        ends = frozenset((link.source, link.target))
        first = links.setdefault(ends, link)
        if first is not link:
            links[ends] = replace(
                first,
                weight=first.weight + link.weight,
                chunks=tuple(dict.fromkeys(first.chunks + link.chunks)),
                description="\n".join(filter(None, (first.description, link.description))),
                keywords=tuple(dict.fromkeys(first.keywords + link.keywords)),
            )
    for link in links.values():
        attributes = {"chunks": link.chunks, "description": link.description, "keywords": link.keywords}
        graph.add_edge(link.source, link.target, kind="link", weight=link.weight, **attributes)
    graph.add_edges_from(neighbourhood.mentions, kind="mention")
    return graph


def to_graphml(neighbourhood: Neighbourhood, path: str | Path, mode: int = 0o666) -> None:
    """Write a neighbourhood as GraphML, for programs such as Gephi, Cytoscape and yEd.

    Nodes and edges are those of :func:`to_networkx`. The texts of a list are joined by ``"; "``. Control characters
    that XML does not allow are left out, and lines end in a line feed. The file is written completely or not at all.
    Permission bits that ``mode`` lacks are removed from the file.

    Raises InputError if the file cannot be written, or if two ids differ only in characters that XML does not allow.
    Raises MissingExtra if networkx is not installed.
    """
    networkx = _import_networkx()
    graph = to_networkx(neighbourhood)
    legal = networkx.relabel_nodes(graph, {node: _make_legal(node) for node in graph})
    if len(legal) != len(graph):
        raise InputError(
            "two ids differ only in characters that XML does not allow", "use to_networkx, or give passages other ids"
        )
    for *_, attributes in chain(legal.nodes(data=True), legal.edges(data=True)):
        attributes.update({key: _make_legal(value) for key, value in attributes.items()})
    target = Path(path)
    try:
        # Write to a temporary file in the same folder, then rename it.
        with tempfile.TemporaryDirectory(prefix=f".{target.name[:40]}.", dir=target.parent) as folder:
            part = Path(folder) / "part.graphml"
            networkx.write_graphml_xml(legal, part)
            part.chmod(part.stat().st_mode & mode)
            part.replace(target)
    except OSError as error:
        raise InputError(
            f"{target} cannot be written: {error.strerror or error}", "choose a folder that exists and is writable"
        ) from error


def _import_networkx() -> ModuleType:
    try:
        import networkx
    except ImportError as error:
        raise MissingExtra("exporting graphs needs networkx", 'pip install "monograph[graph]"') from error
    module: ModuleType = networkx
    return module


def _make_legal(value: Any) -> Any:
    """Return a value that GraphML can store: a list becomes one text, and a text loses characters that XML forbids."""
    if isinstance(value, tuple):
        return SEPARATOR.join(_make_legal(item) for item in value)
    return _ILLEGAL.sub("", re.sub("\r\n?", "\n", value)) if isinstance(value, str) else value
