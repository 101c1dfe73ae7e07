"""Export of all contents of a file: JSON Lines, and an array of its vectors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from monograph.carry import assertion_lines, layout
from monograph.carry.layout import Manifest
from monograph.errors import DamagedFile
from monograph.explore.cooccurrence import CooccurrenceGraph
from monograph.explore.entities import MOST_LOOKED_AT, entities
from monograph.explore.graph_state import GraphState
from monograph.explore.nodes import EntityNode, Nodes
from monograph.settings import Settings
from monograph.store.documents import chunks, documents
from monograph.store.file import memo, settings
from monograph.store.file.checksums import given_vector_key
from monograph.store.file.database import Connection
from monograph.store.file.errors import damaged, path_of
from monograph.store.graph import assertions, names
from monograph.store.vectors import vectors
from monograph.values import ENTITY_KINDS, OnProgress, Progress

AT_ONCE = 64
"""Number of documents in a batch. The mentions and links of a batch are read together."""

ENTITIES_AT_ONCE = 1_024
"""Number of entities that are read at once."""


def write(
    connection: Connection, folder: Path, version: str, built: Settings, *, graph: bool, on_progress: OnProgress | None
) -> Manifest:
    """Write the contents of a file into an empty folder, document by document, and return the manifest.

    Parameters
    ----------
    connection:
        Connection in a read transaction, so that the export does not see concurrent writes.
    folder:
        The empty folder.
    version:
        Version of Monograph, for the manifest.
    built:
        Settings of the file.
    graph:
        Whether to write the entities with their mentions and links too.
    on_progress:
        Called after every few documents or entities.

    Raises
    ------
    DamagedFile
        If a row cannot be read, or a value differs from what was stored (its checksum is wrong).
    """
    # The export contains values of the memo (vectors, extractions): refuse it if any of them is damaged.
    wrong = memo.count_wrong(connection)
    if wrong:
        summary = ", ".join(f"{count} of kind {kind!r}" for kind, count in wrong.items())
        raise _damage_error(connection, f"memo values differ from what was stored: {summary}")
    embedder = settings.load_model(connection, "embedder")
    extractor = settings.load_model(connection, "extractor")
    counts = Manifest(
        export=layout.LAYOUT,
        monograph=version,
        embedder="" if embedder is None else embedder.key,
        embedder_spec="" if embedder is None else embedder.spec,
        dimension=0 if embedder is None else embedder.dimension,
        extractor="" if extractor is None else extractor.key,
        chunk_tokens=built.chunk_tokens,
        chunk_overlap=built.chunk_overlap,
    )
    rows = documents.numbers(connection)
    with ExitStack() as files:

        def opened(name: str) -> IO[str]:
            return files.enter_context((folder / name).open("w", encoding="utf-8", newline="\n"))

        documents_file, chunks_file = opened(layout.DOCUMENTS), opened(layout.CHUNKS)
        edges = (opened(layout.MENTIONS), opened(layout.LINKS)) if graph else None
        vectors_file = files.enter_context((folder / layout.VECTORS).open("wb"))
        shape = (vectors.count(connection), counts.dimension)
        npy.write_array_header_1_0(
            vectors_file, {"descr": npy.dtype_to_descr(np.dtype("<f4")), "fortran_order": False, "shape": shape}
        )
        for first in range(0, len(rows), AT_ONCE):
            batch = rows[first : first + AT_ONCE]
            numbers: list[int] = []
            for row in batch:
                _write_document(connection, row, documents_file)
                counts = _write_chunks(connection, row, (chunks_file, vectors_file), counts)
                numbers += chunks.rows_of_document(connection, row)
            if edges is not None:
                mentions, links = _edge_lines(connection, numbers)
                for file, lines in zip(edges, (mentions, links), strict=True):
                    for line in lines:
                        _write_line(file, line)
                counts = replace(counts, mentions=counts.mentions + len(mentions), links=counts.links + len(links))
            if on_progress is not None:
                on_progress(Progress("export", first + len(batch), len(rows), "documents"))
        if not assertions.is_empty(connection):
            assertions_file = opened(layout.ASSERTIONS)
            try:
                for line in assertion_lines.written(connection):
                    _write_line(assertions_file, line)
            except ValueError as error:
                raise _damage_error(connection, str(error)) from error
        if graph:
            entities_file = opened(layout.ENTITIES)
            heads = names.most_named(connection, -1)
            count = 0
            for count, line in enumerate(_entity_lines(connection, heads), 1):
                _write_line(entities_file, line)
                if on_progress is not None and count % ENTITIES_AT_ONCE == 0:
                    on_progress(Progress("export", count, max(len(heads), count), "entities"))
            counts = replace(counts, entities=count)
    (folder / layout.MANIFEST).write_text(counts.as_json(), encoding="utf-8", newline="\n")
    return counts


def _damage_error(connection: Connection, fault: str) -> DamagedFile:
    return damaged(path_of(connection), f"{fault}; nothing was exported")


def _write_document(connection: Connection, row: int, documents_file: IO[str]) -> None:
    if not documents.is_sound(connection, row):
        name = documents.name_of(connection, row)
        raise _damage_error(connection, f"document {name!r} differs from what was stored")
    document = documents.load(connection, documents.by_number(connection, row))
    line: dict[str, Any] = {
        "id": document.id,
        "title": document.title,
        "uri": document.uri,
        "metadata": document.metadata,
        "sections": [{"start": section.start, "path": list(section.path)} for section in document.sections],
        "text": document.text,
    }
    _write_line(documents_file, line)


def _write_chunks(connection: Connection, row: int, files: tuple[IO[str], BinaryIO], counts: Manifest) -> Manifest:
    """Write the chunks and vectors of the document in ``row`` to the two ``files``; return the increased counts."""
    chunks_file, vectors_file = files
    stored = vectors.with_keys(connection, row)
    size = counts.dimension * vectors.STORED.itemsize
    number = counts.vectors
    stored_chunks = chunks.of_document(connection, row, strict=True)
    for item in stored_chunks:
        chunk = item.chunk
        line: dict[str, Any] = {
            "id": chunk.id,
            "document": chunk.document_id,
            "ordinal": chunk.ordinal,
            "start": chunk.start,
            "end": chunk.end,
            "metadata": chunk.metadata,
            "text": chunk.text,
            "vector": None,
        }
        if chunk.id in stored:
            key, value = stored[chunk.id]
            if len(value) != size:
                raise _damage_error(connection, f"the vector of chunk {chunk.id!r} has {len(value)} bytes, not {size}")
            line["vector"] = number
            if key == given_vector_key(value):
                line["given"] = True  # The vector came with the chunk: no embedder here can compute it.
            vectors_file.write(value)
            number += 1
        _write_line(chunks_file, line)
    return replace(counts, documents=counts.documents + 1, chunks=counts.chunks + len(stored_chunks), vectors=number)


_ENCODE: Callable[[object], str] = json.JSONEncoder(ensure_ascii=False).encode


def _write_line(file: IO[str], line: Mapping[str, Any]) -> None:
    file.write(_ENCODE(line) + "\n")


def _entity_lines(connection: Connection, heads: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield a dict for each entity; ``heads`` are rows of the names that other names were merged into."""
    for first in range(0, len(heads), ENTITIES_AT_ONCE):
        batch = heads[first : first + ENTITIES_AT_ONCE]
        nodes = Nodes(GraphState(connection))
        nodes.read_entities(batch, MOST_LOOKED_AT)
        # Homonyms share a head, and each of them has a line.
        for entity in entities(nodes, [node for head in batch for node in nodes.nodes_of(head)]):
            yield {
                "id": entity.id,
                "name": entity.name,
                "kind": entity.kind,
                "names": list(entity.names),
                "chunks": entity.chunks,
                "documents": list(entity.documents),
            }


def _edge_lines(connection: Connection, rows: Sequence[int]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return (mentions, links) of chunks. A link joins two entities of one sentence, or two that a model relates."""
    nodes = Nodes(GraphState(connection))
    nodes.read(rows)
    ids = chunks.ids(connection, rows)
    mentions: list[dict[str, Any]] = []
    links: list[dict[str, Any]] = []
    for row in rows:
        named: dict[EntityNode, int] = {}
        for mention in nodes.seen.get(row, ()):
            named.setdefault(mention.node, mention.kind)
        mentions.extend(
            {"entity": nodes.id(node), "chunk": ids[row], "kind": ENTITY_KINDS[kind]} for node, kind in named.items()
        )
        if row not in nodes.seen:
            continue
        # A graph of this chunk only, so that every line has the chunk that it comes from.
        web = CooccurrenceGraph(nodes)
        web.add([row])
        for _, _, link in sorted(web.links(list(named)), key=lambda item: (item[2].source, item[2].target)):
            line: dict[str, Any] = {"source": link.source, "target": link.target, "chunk": ids[row]}
            if link.description or link.keywords:
                line |= {"description": link.description, "keywords": list(link.keywords)}
            links.append(line)
    return mentions, links
