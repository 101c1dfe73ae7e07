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
from monograph.graph.names import signature
from monograph.graph.resolve import Candidate, heads
from monograph.graph.short_names import Pairs
from monograph.models import Embedder, Extractor
from monograph.store import extractions, graphs, memo, names
from monograph.store.chunks import rows_of_document as chunk_rows
from monograph.store.database import Connection
from monograph.store.embedded_names import is_embedded
from monograph.store.unreadable import UNDECODABLE, damaged
from monograph.values import EMBEDDED_KINDS, ENTITY_KINDS, Chunk, content_hash
from monograph.write import vectors
from monograph.write.configuration import EMBEDDER
from monograph.write.pipeline import Pipeline
from monograph.write.prepare import Prepared

REMEMBERED_AT_ONCE = 256
"""Extractions written together, unless they come slowly."""

PATIENCE = 0.5
"""Seconds after which what a slow model found is written, so that a crash costs little."""

NAMES_AT_ONCE = 4_096

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
    pipeline: Pipeline, chunks: Iterable[Chunk], made: Mapping[bytes, bytes] = vectors.NONE
) -> Extracted:
    """Extract from the chunks that the memo does not know, and remember each extraction as it comes.

    ``made`` are packed extractions by key that were made ahead.

    Raises
    ------
    ModelUnavailable
        If the extractor gives another number of extractions than it was given chunks.
    """
    wanted = {extraction_key(pipeline.extractor, chunk.text): chunk for chunk in chunks}
    with pipeline.database.read() as connection:
        held = memo.rows(connection, memo.EXTRACTION, list(wanted))
    lacking = [(key, chunk) for key, chunk in wanted.items() if key not in held]
    ready = [(key, made[key], 0) for key, _ in lacking if key in made]
    left = [(key, chunk) for key, chunk in lacking if key not in made]
    done = fell_back = 0
    for group in chain([ready] if ready else [], _groups(pipeline.extractor, left)):
        with pipeline.database.write() as connection:
            memo.put(connection, memo.EXTRACTION, group)
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
    """A document's part of the graph, and the memo keys and rows of its chunks' extractions, in reading order."""

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


def relate(pipeline: Pipeline, batch: Sequence[Prepared], made: Parts = NO_PARTS) -> list[Related] | None:
    """The parts of a batch, whose names are then remembered; None when an extraction is remembered no more."""
    keys = [[extraction_key(pipeline.extractor, chunk.text) for chunk in one.chunks] for one in batch]
    with pipeline.database.read() as connection:
        held = memo.rows(connection, memo.EXTRACTION, list({key for some in keys for key in some}))
        if any(key not in held for some in keys for key in some):
            return None
        cannot_link = names.cannot_link(connection)
        ready = made.by_document if made.cannot_link == cannot_link else {}
        parts = [ready.get((one.document.id, one.sha256)) for one in batch]
        lacking = {held[key] for part, some in zip(parts, keys, strict=True) if part is None for key in some}
        values = memo.values(connection, lacking)
    related = []
    for one, part, some in zip(batch, parts, keys, strict=True):
        rows = tuple(held[key] for key in some)
        related.append(Related(part or _made(pipeline, one, rows, values, cannot_link), tuple(some), rows))
    remember_names(
        pipeline,
        {key for one in related for key in keys_of(one.part)},
        {key for one in related for key in embedded_keys(one.part)},
        made.codes,
    )
    return related


def rows_of_names(connection: Connection, pipeline: Pipeline, related: Sequence[Related]) -> dict[str, int] | None:
    """The rows of all names of some parts, by key; None when a name, its code or an extraction is remembered no more.

    An extraction that was forgotten and made again may be in another row, and another in its own.
    """
    named = {key for one in related for key in keys_of(one.part)}
    found = names.rows(connection, named)
    coded = {key for one in related for key in embedded_keys(one.part)}
    extracted = {key: row for one in related for key, row in zip(one.keys, one.extractions, strict=True)}
    same = memo.rows(connection, memo.EXTRACTION, list(extracted)) == extracted
    size = names.code_size(pipeline.embedder.dimension)
    whole = same and len(found) == len(named) and not names.without_code(connection, coded, size)
    return found if whole else None


def _made(
    pipeline: Pipeline, prepared: Prepared, rows: Sequence[int], values: Mapping[int, bytes], cannot_link: Pairs
) -> DocumentPart:
    try:
        return _part(prepared, [values[row] for row in rows], cannot_link)
    except UNDECODABLE as error:
        where = f"an extraction of document {prepared.document.id!r} (rows {', '.join(map(str, rows))} of memo)"
        raise damaged(pipeline.database.path, f"{where} cannot be read: {error}") from error


def _part(prepared: Prepared, packed: Sequence[bytes], cannot_link: Pairs) -> DocumentPart:
    texts = [chunk.text for chunk in prepared.chunks]
    found = [extractions.unpack(value, text) for value, text in zip(packed, texts, strict=True)]
    return document_part(prepared.document.title, texts, found, cannot_link)


def keys_of(part: DocumentPart) -> set[str]:
    """All names of a part."""
    named = {one.key for chunk in part.chunks for one in chunk.names}
    subjects = {one.key for one in part.subjects}
    return named | subjects | {key for one in part.aliases for key in (one.short, one.full)}


def embedded_keys(part: DocumentPart) -> set[str]:
    """The names of a part that are embedded."""
    named = {one.key for chunk in part.chunks for one in chunk.names if one.kind in EMBEDDED_KINDS}
    return {key for key in named | {one.key for one in part.subjects} if is_embedded(key)}


def remember_names(pipeline: Pipeline, keys: Iterable[str], embedded: Iterable[str], made: Mapping[str, bytes]) -> None:
    """Make the rows of names, and embed those that are to be found by what they mean, and are not ``made`` already."""
    ordered = sorted(keys)
    for first in range(0, len(ordered), NAMES_AT_ONCE):
        with pipeline.database.write() as connection:
            names.ensure(connection, {key: signature(key) for key in ordered[first : first + NAMES_AT_ONCE]})
    with pipeline.database.read() as connection:
        lacking = names.without_code(connection, sorted(embedded), names.code_size(pipeline.embedder.dimension))
    _set_codes(pipeline, [(made[key], key) for key in lacking if key in made])
    embed_names(pipeline, [key for key in lacking if key not in made])


def embed_names(pipeline: Pipeline, keys: Sequence[str]) -> None:
    """Give names the signs of their embeddings."""
    for first in range(0, len(keys), vectors.EMBEDDED_AT_ONCE):
        some = keys[first : first + vectors.EMBEDDED_AT_ONCE]
        _set_codes(pipeline, list(zip(codes(pipeline.embedder, some), some, strict=True)))


def _set_codes(pipeline: Pipeline, made: Sequence[tuple[bytes, str]]) -> None:
    if made:
        with pipeline.database.write() as connection:
            # Another process may have given the file another embedder since this one was opened.
            EMBEDDER.check(pipeline.database, pipeline.embedder)
            names.set_codes(connection, made)


def codes(embedder: Embedder, keys: Sequence[str]) -> list[bytes]:
    """The signs of the embeddings of names: one bit a dimension, 1 for above 0."""
    if not keys:
        return []
    return [packed.tobytes() for packed in np.packbits(embedder.embed(list(keys), "document") > 0, axis=1)]


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
                    (rows[name.key], name.first, name.second, _PLACE_OF_KIND[name.kind]) for name in one.names
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
    connection: Connection, document: int, related: Related, rows: Mapping[str, int], uses: graphs.Uses
) -> None:
    """Store a document's part of the graph; its chunks are stored already. ``uses`` collects what is to be counted."""
    chunks = chunk_rows(connection, document)
    graphs.assign(connection, zip(chunks, related.extractions, strict=True))
    graphs.replace(connection, document, node_of(chunks, related, rows), uses)


def resolve(connection: Connection) -> None:
    """Bring up to date which names mean the same entity, where names or subjects came or went."""
    names.unresolve_apart(connection)
    groups = names.unresolved(connection)
    if groups:
        cannot_link = names.cannot_link(connection)
        names.set_heads(connection, [change for group in groups for change in changes(group, cannot_link)])
        _keep_apart(connection, cannot_link)
    names.clear_unresolved(connection)


def _keep_apart(connection: Connection, cannot_link: set[tuple[str, str]]) -> None:
    """Part the names that were set apart and are one by way of others: the one that is not the head stands alone.

    Of two that have one head the one later in the alphabet does. Pairs are gone through in order of the alphabet, from
    heads that were found without regard to this: what came before does not count.
    """
    for pair in sorted(pair for pair in cannot_link if pair[0] < pair[1]):
        known = names.known(connection, pair)
        if len(known) == 2 and known[pair[0]].head == known[pair[1]].head:
            leaving = pair[0] if known[pair[1]].head == known[pair[1]].row else pair[1]
            names.set_heads(connection, [(None, None, known[leaving].row)])


def changes(
    group: Sequence[names.Member], cannot_link: set[tuple[str, str]]
) -> Iterator[tuple[int | None, str | None, int]]:
    """(head, reason, row) of the names of a signature whose head is another than before."""
    found = {}
    if len(group) > 1:
        candidates = [Candidate(one.row, one.key, one.subject, one.person, one.code) for one in group]
        found = {one.name: (one.head, one.reason) for one in heads(candidates, cannot_link)}
    for one in group:
        # A name that documents state to stand for one full name, and no other, is that one.
        if len(one.full) == 1 and one.row not in found and one.full[0] != one.row:
            found[one.row] = (one.full[0], "abbreviation")
        head, reason = found.get(one.row, (0, ""))
        if (head, reason) != (one.head, one.reason):
            yield head or None, reason or None, one.row
