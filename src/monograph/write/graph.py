"""The graph of a batch of documents: derived first, then stored in the transaction that stores the documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from monograph.derive.derivation import NOTHING, MissingValue, extraction_key, name_codes, retry
from monograph.derive.derivation import extractions as derive_extractions
from monograph.graph.build import DocumentPart, document_part
from monograph.graph.chunk_names import Pairs
from monograph.graph.names import signature
from monograph.store.file import memo, settings
from monograph.store.file.database import Connection
from monograph.store.file.errors import UNDECODABLE, damaged
from monograph.store.file.rows import next_row
from monograph.store.graph import extractions, graphs, names
from monograph.values import EMBEDDED_KINDS, ENTITY_KINDS, Chunk
from monograph.write.batch import PreparedDocument
from monograph.write.changes import Tally
from monograph.write.configuration import EMBEDDER
from monograph.write.pipeline import Pipeline, write

_INDEX_OF_KIND = {kind: index for index, kind in enumerate(ENTITY_KINDS)}


@dataclass(frozen=True, slots=True)
class Precomputed:
    """Values of a batch that other processes computed ahead.

    ``prepared`` has documents cut into chunks, by (document id, document hash). ``parts`` has, by the same keys, the
    documents' parts of the graph. ``values`` has derived values by memo key. ``cannot_link`` has the pairs of names
    that were kept apart when the parts were computed.
    """

    prepared: Mapping[tuple[str, bytes], PreparedDocument]
    values: Mapping[bytes, bytes]
    parts: Mapping[tuple[str, bytes], DocumentPart]
    cannot_link: frozenset[tuple[str, str]]


NOTHING_PRECOMPUTED = Precomputed({}, {}, {}, frozenset())


def extract(
    pipeline: Pipeline,
    chunks: Iterable[Chunk],
    tally: Tally,
    waiting: dict[bytes, bytes] | None = None,
    ahead: Mapping[bytes, bytes] = NOTHING,
) -> None:
    """Derive the missing extractions of chunks, and count them in the tally.

    ``waiting`` has packed values that are not stored yet. ``ahead`` has packed values that other processes have
    derived. Both have the memo keys of the values as keys: see ``Derivation.derive_missing``.
    """
    derivation = derive_extractions(pipeline.extractor)
    derived = derivation.derive_missing(pipeline.database, derivation.keyed(chunks), waiting, ahead)
    tally.extracted += len(derived)
    tally.fell_back += sum(extractions.failed(value) for _, value, _ in derived)


@dataclass(frozen=True, slots=True)
class ExtractedGraph:
    """A document's part of the graph, with the extractions that it was built from.

    ``keys`` has the memo key of each chunk's extraction, in reading order. ``extractions`` has the memo rows in the
    same order, 0 for an extraction that is not stored yet.
    """

    part: DocumentPart
    keys: tuple[bytes, ...]
    extractions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DerivedValues:
    """Values that are derived for a batch of documents, and stored with them.

    A later document of the batch may replace an earlier document with the same id. The values of the earlier document
    are also stored, so that they need not be derived again.

    - ``waiting``: packed values that are not stored yet, by memo key.
    - ``vectors``: memo keys of the vectors of all chunks.
    - ``parts``: parts of the graph by (document id, document hash); None in a file without a graph.
    - ``codes``: memo keys of new codes of names, by name. The code of a name has the signs of its vector's values, one
      bit each.
    """

    waiting: Mapping[bytes, bytes]
    vectors: Sequence[bytes] = ()
    parts: Mapping[tuple[str, bytes], ExtractedGraph] | None = None
    codes: Mapping[str, bytes] = field(default_factory=dict)


def derive_graph(
    pipeline: Pipeline,
    batch: Sequence[PreparedDocument],
    tally: Tally,
    waiting: dict[bytes, bytes],
    precomputed: Precomputed = NOTHING_PRECOMPUTED,
) -> DerivedValues:
    """Derive what a batch lacks of the graph: extractions, the documents' parts of the graph, and codes of names.

    ``waiting`` has packed values that are not stored yet, by memo key. Values that are quick to derive are added to it
    instead of being stored: see ``Derivation.derive_missing``. Raises MissingValue if another process empties the memo.
    """
    extract(pipeline, (chunk for prepared in batch for chunk in prepared.chunks), tally, waiting, precomputed.values)
    parts = relate(pipeline, batch, precomputed, waiting)
    embedded = frozenset[str]().union(*(embedded_keys(part.part) for part in parts))
    with pipeline.database.read() as connection:
        missing = names.without_code(connection, sorted(embedded), pipeline.embedder.dimension)
    codes = name_codes(pipeline.embedder)
    names_by_key = codes.keyed(missing)
    codes.derive_missing(pipeline.database, names_by_key, waiting, precomputed.values)
    by_document = {(prepared.document.id, prepared.sha256): part for prepared, part in zip(batch, parts, strict=True)}
    vectors = [key for prepared in batch for key in prepared.keys]
    return DerivedValues(waiting, vectors, by_document, {name: key for key, name in names_by_key.items()})


def relate(
    pipeline: Pipeline,
    batch: Sequence[PreparedDocument],
    precomputed: Precomputed,
    waiting: Mapping[bytes, bytes] = NOTHING,
) -> list[ExtractedGraph]:
    """Return each document's part of the graph, in the order of the batch.

    Precomputed parts are used; the others are built from extractions. Raises MissingValue if an extraction is neither
    in the memo nor in ``waiting``.
    """
    keys = [[extraction_key(pipeline.extractor.key, chunk.text) for chunk in prepared.chunks] for prepared in batch]
    with pipeline.database.read() as connection:
        stored = memo.rows(connection, memo.EXTRACTION, list({key for document_keys in keys for key in document_keys}))
        if any(key not in stored and key not in waiting for document_keys in keys for key in document_keys):
            raise MissingValue
        cannot_link = names.cannot_link(connection)
        ready = precomputed.parts if precomputed.cannot_link == cannot_link else {}
        parts = [ready.get((prepared.document.id, prepared.sha256)) for prepared in batch]
        missing = {
            key for part, document_keys in zip(parts, keys, strict=True) if part is None for key in document_keys
        }
        values = memo.values(connection, {stored[key] for key in missing if key in stored})
    packed = {key: values[stored[key]] if key in stored else waiting[key] for key in missing}
    related = []
    for prepared, part, document_keys in zip(batch, parts, keys, strict=True):
        rows = tuple(stored.get(key, 0) for key in document_keys)
        try:
            built = part or part_of(
                prepared.document.title, prepared.chunks, [packed[key] for key in document_keys], cannot_link
            )
        except UNDECODABLE as error:
            where = f"an extraction of document {prepared.document.id!r} (rows {', '.join(map(str, rows))} of memo)"
            raise damaged(pipeline.database.path, f"{where} cannot be read: {error}") from error
        related.append(ExtractedGraph(built, tuple(document_keys), rows))
    return related


def part_of(title: str, chunks: Sequence[Chunk], packed: Sequence[bytes], cannot_link: Pairs) -> DocumentPart:
    """Build a document's part of the graph from the packed extractions of its chunks.

    If an extraction cannot be unpacked, raises one of the errors in
    :data:`monograph.store.file.errors.UNDECODABLE`.
    """
    texts = [chunk.text for chunk in chunks]
    extracted = [extractions.unpack(value, text) for value, text in zip(packed, texts, strict=True)]
    return document_part(title, texts, extracted, cannot_link)


def keys_of(part: DocumentPart) -> set[str]:
    """Return the keys of all names in a document's part of the graph."""
    named = {name.key for chunk in part.chunks for name in chunk.names}
    subjects = {subject.key for subject in part.subjects}
    return named | subjects | {key for alias in part.aliases for key in (alias.short, alias.full)}


def embedded_keys(part: DocumentPart) -> set[str]:
    """Return the keys of those names in a document's part of the graph that are embedded."""
    named = {name.key for chunk in part.chunks for name in chunk.names if name.kind in EMBEDDED_KINDS}
    return {key for key in named.union(subject.key for subject in part.subjects) if graphs.is_embedded(key)}


def node_of(chunks: Sequence[int], part: DocumentPart, rows: Mapping[str, int]) -> graphs.DocumentGraph:
    """Return a document's part of the graph as it is stored, with row numbers in place of names.

    ``chunks`` are the rows of the document's chunks in reading order; ``rows`` are the rows of names by key.
    """
    return graphs.DocumentGraph(
        {
            chunk: (
                chunk_part.words.astype(graphs.WORDS, copy=False).tobytes(),
                graphs.pack_named(
                    [(rows[name.key], name.first, name.second, _INDEX_OF_KIND[name.kind]) for name in chunk_part.names]
                ),
                np.array(
                    [(link.source, link.target, link.strength) for link in chunk_part.links], graphs.LINKED
                ).tobytes(),
            )
            for chunk, chunk_part in zip(chunks, part.chunks, strict=True)
        },
        frozenset((rows[subject.key], subject.by_title, subject.qualifier) for subject in part.subjects),
        frozenset((rows[alias.short], rows[alias.full]) for alias in part.aliases),
    )


def store_graph(
    connection: Connection,
    pipeline: Pipeline,
    parts: Sequence[tuple[int, Sequence[int], ExtractedGraph]],
    derived: DerivedValues,
    uses: names.NameCounts,
    known: Iterable[int],
) -> None:
    """Store documents' parts of the graph and their names, within the transaction that stores the documents.

    Each part is (row of the document, rows of its chunks in reading order, the part). The changes of names' counts
    in ``uses`` are stored, too. ``known`` has the rows of documents that may already have a stored part: see
    :func:`monograph.store.graph.graphs.put`. Raises MissingValue if a code is neither stored nor in the memo, or if an
    extraction has moved to another memo row after its part was built. Such an extraction was derived again, and may
    differ.
    """
    all_parts = (derived.parts or {}).values()
    made_from = {key: row for related in all_parts for key, row in zip(related.keys, related.extractions, strict=True)}
    extracted = derive_extractions(pipeline.extractor).rows(connection, made_from, derived.waiting)
    if any(row and extracted[key] != row for key, row in made_from.items()):
        raise MissingValue
    pairs = [
        (row, extracted[key])
        for _, chunk_rows, related in parts
        for row, key in zip(chunk_rows, related.keys, strict=True)
    ]
    memo.assign(connection, "extractions", pairs)
    named = set[str]().union(*(keys_of(related.part) for related in all_parts))
    embedded = set[str]().union(*(embedded_keys(related.part) for related in all_parts))
    stored_rows = names.rows(connection, named)
    missing = names.without_code(connection, embedded, pipeline.embedder.dimension)
    if any(name not in derived.codes for name in missing):
        raise MissingValue
    codes = take_codes(connection, {name: derived.codes[name] for name in missing}, derived.waiting)
    new = dict(zip(sorted(named - stored_rows.keys()), count(next_row(connection, "names"))))
    rows = stored_rows | new
    graphs.put(
        connection,
        {document: node_of(chunk_rows, related.part, rows) for document, chunk_rows, related in parts},
        uses,
        known,
    )
    names.set_codes(connection, [(code, key) for key, code in codes.items() if key not in new])
    coming = [names.NewName(row, key, signature(key), codes.get(key)) for key, row in new.items()]
    names.add(connection, coming, uses)
    names.use(connection, uses)


def take_codes(
    connection: Connection, wanted: Mapping[str, bytes], waiting: Mapping[bytes, bytes] = NOTHING
) -> dict[str, bytes]:
    """Return the codes of names, and delete these codes from the memo.

    ``wanted`` has the memo key of each name's code. The caller stores the codes in the rows of the names. Raises
    MissingValue if a code is neither in the memo nor in ``waiting``.
    """
    stored_keys = [key for key in wanted.values() if key not in waiting]
    rows = memo.rows(connection, memo.CODE, stored_keys)
    if len(rows) < len(stored_keys):
        raise MissingValue
    values = memo.values(connection, rows.values())
    memo.delete(connection, rows.values())
    return {name: values[rows[key]] if key in rows else waiting[key] for name, key in wanted.items()}


def names_without_code(connection: Connection, pipeline: Pipeline, among: Sequence[str] | None = None) -> list[str]:
    """Return the embedded names that lack a code (a quantised vector) of the pipeline's embedder.

    With ``among``, only these names are examined; otherwise all embedded names of the file. If the file has another
    embedder than the pipeline, every examined name is returned.
    """
    embedded = graphs.embedded_keys(connection) if among is None else list(among)
    stored = settings.load_model(connection, "embedder")
    if stored is None or stored.key != pipeline.embedder.key:
        return embedded
    return names.without_code(connection, embedded, stored.dimension)


def complete_codes(pipeline: Pipeline) -> None:
    """Compute the missing codes of embedded names, and decide again which of these names are merged into one entity."""
    codes = name_codes(pipeline.embedder)

    def complete() -> None:
        with pipeline.database.read() as connection:
            names_by_key = codes.keyed(names_without_code(connection, pipeline))
        codes.derive_missing(pipeline.database, names_by_key)
        if names_by_key:
            with write(pipeline.database, pipeline.indexes) as connection:
                EMBEDDER.check(pipeline.database, pipeline.embedder)
                new_codes = take_codes(connection, {name: key for key, name in names_by_key.items()})
                names.set_codes(connection, [(code, key) for key, code in new_codes.items()])

    retry(pipeline.database, complete)
