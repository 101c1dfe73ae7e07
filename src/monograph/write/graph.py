"""Chunks' extractions, and the documents' parts of the graph that are made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from monograph.derive.derivation import NOTHING, Forgotten, extraction_key
from monograph.derive.derivation import extractions as derive_extractions
from monograph.graph.build import DocumentPart, Linked, document_part
from monograph.graph.short_names import Pairs
from monograph.store.file import memo
from monograph.store.file.database import Connection
from monograph.store.file.errors import UNDECODABLE, damaged
from monograph.store.graph import extractions, graphs, names
from monograph.values import EMBEDDED_KINDS, ENTITY_KINDS, Chunk
from monograph.write.pipeline import Pipeline
from monograph.write.prepare import Prepared

_PLACE_OF_KIND = {kind: place for place, kind in enumerate(ENTITY_KINDS)}


@dataclass(frozen=True, slots=True)
class Extracted:
    """Chunks that the extractor was given, and those of them that a model failed on."""

    extracted: int = 0
    fell_back: int = 0

    def __add__(self, other: Extracted) -> Extracted:
        """Return the sum of both."""
        return Extracted(self.extracted + other.extracted, self.fell_back + other.fell_back)


def extract(
    pipeline: Pipeline,
    chunks: Iterable[Chunk],
    waiting: dict[bytes, bytes] | None = None,
    ahead: Mapping[bytes, bytes] = NOTHING,
) -> Extracted:
    """Derive the extractions of chunks that are missing; parameters as for ``Derivation.derive_missing``."""
    derivation = derive_extractions(pipeline.extractor)
    made = derivation.derive_missing(pipeline.database, derivation.keyed(chunks), waiting, ahead)
    return Extracted(len(made), sum(extractions.failed(value) for _, value, _ in made))


@dataclass(frozen=True, slots=True)
class Related:
    """A document's part of the graph, and the memo keys and rows of its chunks' extractions, in reading order.

    The row of an extraction that is not stored yet is 0.
    """

    part: DocumentPart
    keys: tuple[bytes, ...]
    extractions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Parts:
    """Parts that were made ahead, by the document's id and hash, while the names in ``cannot_link`` were set apart."""

    cannot_link: frozenset[tuple[str, str]]
    by_document: Mapping[tuple[str, bytes], DocumentPart]


NO_PARTS = Parts(frozenset(), MappingProxyType({}))


def relate(
    pipeline: Pipeline, batch: Sequence[Prepared], made: Parts = NO_PARTS, waiting: Mapping[bytes, bytes] = NOTHING
) -> list[Related]:
    """Return each document's part of the graph. Raises Forgotten if an extraction is neither stored nor waiting."""
    keys = [[extraction_key(pipeline.extractor.key, chunk.text) for chunk in one.chunks] for one in batch]
    with pipeline.database.read() as connection:
        held = memo.rows(connection, memo.EXTRACTION, list({key for some in keys for key in some}))
        if any(key not in held and key not in waiting for some in keys for key in some):
            raise Forgotten
        cannot_link = names.cannot_link(connection)
        ready = made.by_document if made.cannot_link == cannot_link else {}
        parts = [ready.get((one.document.id, one.sha256)) for one in batch]
        lacking = {key for part, some in zip(parts, keys, strict=True) if part is None for key in some}
        values = memo.values(connection, {held[key] for key in lacking if key in held})
    packed = {key: values[held[key]] if key in held else waiting[key] for key in lacking}
    related = []
    for one, part, some in zip(batch, parts, keys, strict=True):
        rows = tuple(held.get(key, 0) for key in some)
        try:
            made_here = part or part_of(one, [packed[key] for key in some], cannot_link)
        except UNDECODABLE as error:
            where = f"an extraction of document {one.document.id!r} (rows {', '.join(map(str, rows))} of memo)"
            raise damaged(pipeline.database.path, f"{where} cannot be read: {error}") from error
        related.append(Related(made_here, tuple(some), rows))
    return related


def part_of(prepared: Prepared, packed: Sequence[bytes], cannot_link: Pairs) -> DocumentPart:
    """A document's part of the graph, of the packed extractions of its chunks; raises one of UNDECODABLE."""
    texts = [chunk.text for chunk in prepared.chunks]
    found = [extractions.unpack(value, text) for value, text in zip(packed, texts, strict=True)]
    return document_part(prepared.document.title, texts, found, cannot_link)


def keys_of(part: DocumentPart) -> set[str]:
    """All names of a part."""
    named = {one.key for chunk in part.chunks for one in chunk.names}
    subjects = {one.key for one in part.subjects}
    return named | subjects | {key for one in part.aliases for key in (one.short, one.full)}


def embedded_keys(part: DocumentPart) -> set[str]:
    """Return the keys of the names of a part that are embedded."""
    named = {one.key for chunk in part.chunks for one in chunk.names if one.kind in EMBEDDED_KINDS}
    return {key for key in named.union(one.key for one in part.subjects) if graphs.is_embedded(key)}


def rows_of_extractions(
    connection: Connection, pipeline: Pipeline, related: Sequence[Related], waiting: Mapping[bytes, bytes] = NOTHING
) -> dict[bytes, int]:
    """Return the rows of all extractions of some parts, by key; those that are waiting are stored.

    Raises Forgotten if one is not in the row from which the part was made: it was forgotten, and may differ now.
    """
    before = {key: row for one in related for key, row in zip(one.keys, one.extractions, strict=True)}
    rows = derive_extractions(pipeline.extractor).rows(connection, before, waiting)
    if any(row and rows[key] != row for key, row in before.items()):
        raise Forgotten
    return rows


def node_of(chunks: Sequence[int], related: Related, rows: Mapping[str, int]) -> graphs.Node:
    """A document's part of the graph as rows.

    Parameters
    ----------
    chunks:
        Their rows, in reading order.
    related:
        The part.
    rows:
        Of every name of the part, by key.
    """
    part = related.part
    return graphs.Node(
        {
            chunk: graphs.Part(
                one.words.astype(graphs.WORDS, copy=False).tobytes(),
                graphs.pack_named(
                    [(rows[name.key], name.first, name.second, _PLACE_OF_KIND[name.kind]) for name in one.names]
                ),
                _pack_links(one.links),
            )
            for chunk, one in zip(chunks, part.chunks, strict=True)
        },
        frozenset(graphs.SubjectRow(rows[one.key], one.by_title, one.qualifier) for one in part.subjects),
        frozenset((rows[one.short], rows[one.full]) for one in part.aliases),
    )


def _pack_links(links: Sequence[Linked]) -> bytes:
    if not links:
        return b""
    return np.array([(one.source, one.target, one.strength) for one in links], dtype=graphs.LINKED).tobytes()


def store_parts(
    connection: Connection,
    parts: Sequence[tuple[int, Sequence[int], Related]],
    named: Mapping[str, int],
    extracted: Mapping[bytes, int],
    uses: graphs.Uses,
    known: Iterable[int],
) -> None:
    """Store the parts of the graph of documents that are stored with their chunks.

    Parameters
    ----------
    parts:
        (row of the document, rows of its chunks in reading order, its part).
    named, extracted:
        Rows of names and of extractions, by key.
    uses, known:
        As for :func:`monograph.store.graph.graphs.put`.
    """
    pairs = [(row, extracted[key]) for _, rows, one in parts for row, key in zip(rows, one.keys, strict=True)]
    memo.assign(connection, "extractions", pairs)
    graphs.put(connection, {document: node_of(rows, one, named) for document, rows, one in parts}, uses, known)
