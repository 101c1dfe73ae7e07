"""Chunks' extractions, and the documents' parts of the graph that are made of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from time import monotonic
from types import MappingProxyType

import numpy as np

from monograph.derive.extract import extraction_price
from monograph.errors import ModelUnavailable
from monograph.graph.build import DocumentPart, Linked, document_part
from monograph.graph.short_names import Pairs
from monograph.models import Embedder, Extractor
from monograph.store.documents.chunks import rows_of_document as chunk_rows
from monograph.store.file import assigned, memo
from monograph.store.file.database import Connection
from monograph.store.file.unreadable import UNDECODABLE, damaged
from monograph.store.graph import extractions, graph_changes, graphs, names
from monograph.store.graph.embedded_names import is_embedded
from monograph.values import EMBEDDED_KINDS, ENTITY_KINDS, Chunk, content_hash
from monograph.write.pipeline import Pipeline
from monograph.write.prepare import Prepared
from monograph.write.remember import NOTHING, remember

REMEMBERED_AT_ONCE = 256
"""Extractions written together, unless they come slowly."""

PATIENCE = 0.5
"""Seconds after which what a slow model found is written, so that a crash costs little."""

_PLACE_OF_KIND = {kind: place for place, kind in enumerate(ENTITY_KINDS)}


@dataclass(frozen=True, slots=True)
class Extracted:
    """Chunks that the extractor was given, those the memo knew, and those that a model failed on."""

    extracted: int = 0
    known: int = 0
    fell_back: int = 0


def extraction_key(extractor: Extractor, text: str) -> bytes:
    """The memo key of what an extractor finds in a chunk: the same text gives the same."""
    return extraction_key_of(extractor.key, text)


def extraction_key_of(extractor: str, text: str) -> bytes:
    """The same, by the extractor's key."""
    return content_hash("extract", extractor, text)


def remember_extractions(
    pipeline: Pipeline,
    chunks: Iterable[Chunk],
    made: Mapping[bytes, bytes] = NOTHING,
    waiting: dict[bytes, bytes] | None = None,
) -> Extracted:
    """Extract from the chunks that the memo does not know, and remember each extraction as it comes.

    Parameters
    ----------
    made:
        Packed extractions by key that were made ahead.
    waiting:
        Gets those that need not be remembered at once, by key; None to remember all.

    Raises
    ------
    ModelUnavailable
        If the extractor gives another number of extractions than it was given chunks.
    """
    wanted = {extraction_key(pipeline.extractor, chunk.text): chunk for chunk in chunks}
    with pipeline.database.read() as connection:
        held = memo.rows(connection, memo.EXTRACTION, list(wanted))
    lacking = [(key, chunk) for key, chunk in wanted.items() if key not in held and key not in (waiting or ())]
    ready = [(key, made[key], 0) for key, _ in lacking if key in made]
    left = [(key, chunk) for key, chunk in lacking if key not in made]
    done = fell_back = 0
    for group in chain([ready] if ready else [], _groups(pipeline.extractor, left)):
        remember(pipeline.database, memo.EXTRACTION, group, waiting if pipeline.extracts_quickly else None)
        done += len(group)
        fell_back += sum(extractions.failed(value) for _, value, _ in group)
    if done != len(lacking):
        raise ModelUnavailable(
            f"the extractor {pipeline.extractor.key!r} gave {done} extractions for {len(lacking)} chunks",
            "it must give one a chunk, in order",
        )
    return Extracted(len(lacking), len(wanted) - len(lacking), fell_back)


@dataclass(frozen=True, slots=True)
class ExtractionPrice:
    """Chunks that would be given to the extractor, and what that asks of a language model, at most."""

    chunks: int
    calls: int
    tokens: int


def price_extractions(
    connection: Connection, extractor: Extractor, chunks: Iterable[Chunk], priced: set[bytes]
) -> ExtractionPrice:
    """What the extractions that the memo lacks would cost; ``priced`` are keys to leave out, and grows."""
    wanted = {extraction_key(extractor, chunk.text): chunk for chunk in chunks}
    held = memo.rows(connection, memo.EXTRACTION, list(wanted))
    lacking = {key: chunk for key, chunk in wanted.items() if key not in held and key not in priced}
    priced.update(lacking)
    calls, tokens = extraction_price(extractor, list(lacking.values()))
    return ExtractionPrice(len(lacking), calls, tokens)


def _groups(extractor: Extractor, work: Sequence[tuple[bytes, Chunk]]) -> Iterator[list[tuple[bytes, bytes, int]]]:
    """(key, value, tokens) of extractions, as many at once as come in time."""
    group: list[tuple[bytes, bytes, int]] = []
    since = monotonic()
    for (key, chunk), one in zip(work, extractor.extract([chunk for _, chunk in work]) if work else (), strict=False):
        group.append((key, extractions.pack(one, chunk.text), one.tokens))
        if len(group) >= REMEMBERED_AT_ONCE or monotonic() - since > PATIENCE:
            yield group
            group, since = [], monotonic()
    if group:
        yield group


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
    """Parts that were made ahead, by the document's id and hash, where the names in ``cannot_link`` were set apart.

    ``codes`` are of names in them, by key.
    """

    cannot_link: frozenset[tuple[str, str]]
    by_document: Mapping[tuple[str, bytes], DocumentPart]
    codes: Mapping[str, bytes]


NO_PARTS = Parts(frozenset(), MappingProxyType({}), MappingProxyType({}))


def relate(
    pipeline: Pipeline,
    batch: Sequence[Prepared],
    made: Parts = NO_PARTS,
    waiting: Mapping[bytes, bytes] = NOTHING,
) -> list[Related] | None:
    """The parts of a batch; None when an extraction is neither remembered any more nor ``waiting``."""
    keys = [[extraction_key(pipeline.extractor, chunk.text) for chunk in one.chunks] for one in batch]
    with pipeline.database.read() as connection:
        held = memo.rows(connection, memo.EXTRACTION, list({key for some in keys for key in some}))
        if any(key not in held and key not in waiting for some in keys for key in some):
            return None
        cannot_link = names.cannot_link(connection)
        ready = made.by_document if made.cannot_link == cannot_link else {}
        parts = [ready.get((one.document.id, one.sha256)) for one in batch]
        lacking = {key for part, some in zip(parts, keys, strict=True) if part is None for key in some}
        values = memo.values(connection, {held[key] for key in lacking if key in held})
    packed = {key: values[held[key]] if key in held else waiting[key] for key in lacking}
    related = []
    for one, part, some in zip(batch, parts, keys, strict=True):
        rows = tuple(held.get(key, 0) for key in some)
        unpacked = part or _made(pipeline, one, rows, [packed[key] for key in some], cannot_link)
        related.append(Related(unpacked, tuple(some), rows))
    return related


def _made(
    pipeline: Pipeline, prepared: Prepared, rows: Sequence[int], packed: Sequence[bytes], cannot_link: Pairs
) -> DocumentPart:
    try:
        return part_of(prepared, packed, cannot_link)
    except UNDECODABLE as error:
        where = f"an extraction of document {prepared.document.id!r} (rows {', '.join(map(str, rows))} of memo)"
        raise damaged(pipeline.database.path, f"{where} cannot be read: {error}") from error


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


def embeddable_keys(part: DocumentPart) -> set[str]:
    """The names of a part that are of a kind that is embedded."""
    named = {one.key for chunk in part.chunks for one in chunk.names if one.kind in EMBEDDED_KINDS}
    return named | {one.key for one in part.subjects}


def embedded_keys(part: DocumentPart) -> set[str]:
    """The names of a part that are embedded."""
    return {key for key in embeddable_keys(part) if is_embedded(key)}


def codes(embedder: Embedder, keys: Sequence[str]) -> list[bytes]:
    """The signs of the embeddings of names: one bit a dimension, 1 for above 0."""
    if not keys:
        return []
    return [packed.tobytes() for packed in np.packbits(embedder.embed(list(keys), "document") > 0, axis=1)]


def rows_of_extractions(
    connection: Connection, related: Sequence[Related], waiting: Mapping[bytes, bytes] = NOTHING
) -> dict[bytes, int] | None:
    """The rows of all extractions of some parts, by key; None when one is not remembered any more.

    One that was forgotten and made again may be in another row, and another in its own. Those that are ``waiting`` and
    not stored yet are left out.
    """
    before = {key: row for one in related for key, row in zip(one.keys, one.extractions, strict=True)}
    rows = memo.rows(connection, memo.EXTRACTION, list(before))
    same = all(rows.get(key) == row if row else key in rows or key in waiting for key, row in before.items())
    return rows if same else None


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
                graph_changes.pack_named(
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


def store_part(
    connection: Connection,
    document: int,
    related: Related,
    named: Mapping[str, int],
    extracted: Mapping[bytes, int],
    uses: graph_changes.Uses,
) -> None:
    """Store another part of the graph of a document that is there, and so are its chunks.

    Parameters
    ----------
    named, extracted:
        Rows of names and of extractions, by key.
    uses:
        Collects what is to be counted.
    """
    chunks = chunk_rows(connection, document)
    pairs = [(row, extracted[key]) for row, key in zip(chunks, related.keys, strict=True)]
    assigned.assign(connection, "extractions", pairs)
    graph_changes.replace(connection, document, node_of(chunks, related, named), uses)
