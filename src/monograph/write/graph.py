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
from monograph.write.batch import Prepared
from monograph.write.changes import Tally
from monograph.write.configuration import EMBEDDER
from monograph.write.pipeline import Pipeline, write

_PLACE_OF_KIND = {kind: place for place, kind in enumerate(ENTITY_KINDS)}


@dataclass(frozen=True, slots=True)
class Precomputed:
    """Values of a batch that other processes computed ahead.

    Parameters
    ----------
    prepared, parts:
        Documents cut into chunks, and their parts of the graph, by (document id, document hash).
    values:
        Derived values by memo key.
    cannot_link:
        Pairs of names that were kept apart when the parts were built.
    """

    prepared: Mapping[tuple[str, bytes], Prepared]
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
    """Derive the missing extractions of chunks, and count them; parameters as for ``Derivation.derive_missing``."""
    derivation = derive_extractions(pipeline.extractor)
    made = derivation.derive_missing(pipeline.database, derivation.keyed(chunks), waiting, ahead)
    tally.extracted += len(made)
    tally.fell_back += sum(extractions.failed(value) for _, value, _ in made)


@dataclass(frozen=True, slots=True)
class Related:
    """A document's part of the graph, with the memo keys and memo rows of its chunks' extractions, in reading order.

    The row of an extraction that is not stored yet is 0.
    """

    part: DocumentPart
    keys: tuple[bytes, ...]
    extractions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Derived:
    """Values that are derived for a batch of documents, and stored with them.

    They include values of documents that a later document of the same batch replaces: these then need not be derived
    again.

    Parameters
    ----------
    waiting:
        Packed values that are not stored yet, by memo key.
    vectors:
        Memo keys of the vectors of all chunks.
    parts:
        Parts of the graph, by (document id, document hash); None in a file without a graph.
    codes:
        Memo keys of the codes of names that had none, by name.
    """

    waiting: Mapping[bytes, bytes]
    vectors: Sequence[bytes] = ()
    parts: Mapping[tuple[str, bytes], Related] | None = None
    codes: Mapping[str, bytes] = field(default_factory=dict)


def derive_graph(
    pipeline: Pipeline,
    batch: Sequence[Prepared],
    tally: Tally,
    waiting: dict[bytes, bytes],
    made: Precomputed = NOTHING_PRECOMPUTED,
) -> Derived:
    """Derive missing extractions, the parts of the graph, and missing codes of names for a batch of documents.

    Parameters
    ----------
    pipeline, batch:
        The file with its models, and documents cut into chunks.
    tally:
        Counts the derived extractions.
    waiting:
        As for :meth:`monograph.derive.derivation.Derivation.derive_missing`.
    made:
        Values that other processes computed ahead.

    Raises
    ------
    MissingValue
        If another process empties the memo meanwhile.
    """
    extract(pipeline, (chunk for one in batch for chunk in one.chunks), tally, waiting, made.values)
    parts = relate(pipeline, batch, made, waiting)
    embedded = frozenset[str]().union(*(embedded_keys(one.part) for one in parts))
    with pipeline.database.read() as connection:
        lacking = names.without_code(connection, sorted(embedded), pipeline.embedder.dimension)
    codes = name_codes(pipeline.embedder)
    wanted = codes.keyed(lacking)
    codes.derive_missing(pipeline.database, wanted, waiting, made.values)
    by_document = {(one.document.id, one.sha256): part for one, part in zip(batch, parts, strict=True)}
    vectors = [key for one in batch for key in one.keys]
    return Derived(waiting, vectors, by_document, {name: key for key, name in wanted.items()})


def relate(
    pipeline: Pipeline, batch: Sequence[Prepared], made: Precomputed, waiting: Mapping[bytes, bytes] = NOTHING
) -> list[Related]:
    """Return each document's part of the graph. Raises MissingValue if an extraction is neither stored nor waiting."""
    keys = [[extraction_key(pipeline.extractor.key, chunk.text) for chunk in one.chunks] for one in batch]
    with pipeline.database.read() as connection:
        held = memo.rows(connection, memo.EXTRACTION, list({key for some in keys for key in some}))
        if any(key not in held and key not in waiting for some in keys for key in some):
            raise MissingValue
        cannot_link = names.cannot_link(connection)
        ready = made.parts if made.cannot_link == cannot_link else {}
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
    """Build a document's part of the graph from the packed extractions of its chunks; raises one of UNDECODABLE."""
    texts = [chunk.text for chunk in prepared.chunks]
    found = [extractions.unpack(value, text) for value, text in zip(packed, texts, strict=True)]
    return document_part(prepared.document.title, texts, found, cannot_link)


def keys_of(part: DocumentPart) -> set[str]:
    """Return the keys of all names of a part."""
    named = {one.key for chunk in part.chunks for one in chunk.names}
    subjects = {one.key for one in part.subjects}
    return named | subjects | {key for one in part.aliases for key in (one.short, one.full)}


def embedded_keys(part: DocumentPart) -> set[str]:
    """Return the keys of the names of a part that are embedded."""
    named = {one.key for chunk in part.chunks for one in chunk.names if one.kind in EMBEDDED_KINDS}
    return {key for key in named.union(one.key for one in part.subjects) if graphs.is_embedded(key)}


def node_of(chunks: Sequence[int], related: Related, rows: Mapping[str, int]) -> graphs.DocumentGraph:
    """Return a document's part of the graph as rows, given its chunks' rows in reading order and names' rows by key."""
    part = related.part
    return graphs.DocumentGraph(
        {
            chunk: (
                one.words.astype(graphs.WORDS, copy=False).tobytes(),
                graphs.pack_named(
                    [(rows[name.key], name.first, name.second, _PLACE_OF_KIND[name.kind]) for name in one.names]
                ),
                np.array([(link.source, link.target, link.strength) for link in one.links], graphs.LINKED).tobytes(),
            )
            for chunk, one in zip(chunks, part.chunks, strict=True)
        },
        frozenset((rows[one.key], one.by_title, one.qualifier) for one in part.subjects),
        frozenset((rows[one.short], rows[one.full]) for one in part.aliases),
    )


def store_graph(
    connection: Connection,
    pipeline: Pipeline,
    parts: Sequence[tuple[int, Sequence[int], Related]],
    derived: Derived,
    uses: names.Uses,
    known: Iterable[int],
) -> None:
    """Store parts of a graph and their names, within the transaction that stores their documents.

    Parameters
    ----------
    parts:
        (row of the document, rows of its chunks in reading order, its part).
    derived:
        Derived values of the batch.
    uses, known:
        As for :func:`monograph.store.graph.graphs.put`.

    Raises
    ------
    MissingValue
        If a code has been deleted from the memo, or an extraction is in another memo row than the one from which a part
        was built: it was deleted and derived again, and may differ.
    """
    every = list((derived.parts or {}).values())
    made_from = {key: row for one in every for key, row in zip(one.keys, one.extractions, strict=True)}
    extracted = derive_extractions(pipeline.extractor).rows(connection, made_from, derived.waiting)
    if any(row and extracted[key] != row for key, row in made_from.items()):
        raise MissingValue
    pairs = [(row, extracted[key]) for _, own, one in parts for row, key in zip(own, one.keys, strict=True)]
    memo.assign(connection, "extractions", pairs)
    named = set[str]().union(*(keys_of(one.part) for one in every))
    embedded = set[str]().union(*(embedded_keys(one.part) for one in every))
    held = names.rows(connection, named)
    lacking = names.without_code(connection, embedded, pipeline.embedder.dimension)
    if any(name not in derived.codes for name in lacking):
        raise MissingValue
    codes = take_codes(connection, {name: derived.codes[name] for name in lacking}, derived.waiting)
    new = dict(zip(sorted(named - held.keys()), count(next_row(connection, "names"))))
    rows = held | new
    graphs.put(connection, {document: node_of(own, one, rows) for document, own, one in parts}, uses, known)
    names.set_codes(connection, [(code, key) for key, code in codes.items() if key not in new])
    coming = [names.NewName(row, key, signature(key), codes.get(key)) for key, row in new.items()]
    names.add(connection, coming, uses)
    names.use(connection, uses)


def take_codes(
    connection: Connection, wanted: Mapping[str, bytes], waiting: Mapping[bytes, bytes] = NOTHING
) -> dict[str, bytes]:
    """Return the codes of names, given their memo keys by name, and delete them from the memo.

    The caller stores the codes in the rows of the names. Raises MissingValue if a code is neither stored nor waiting.
    """
    left = [key for key in wanted.values() if key not in waiting]
    rows = memo.rows(connection, memo.CODE, left)
    if len(rows) < len(left):
        raise MissingValue
    values = memo.values(connection, rows.values())
    memo.delete(connection, rows.values())
    return {name: values[rows[key]] if key in rows else waiting[key] for name, key in wanted.items()}


def names_without_code(connection: Connection, pipeline: Pipeline, among: Sequence[str] | None = None) -> list[str]:
    """Return the names without a code by the pipeline's embedder, ``among`` these or all embedded names of the file.

    If the file has another embedder, these are all of them.
    """
    embedded = graphs.embedded_keys(connection) if among is None else list(among)
    stored = settings.load_model(connection, "embedder")
    if stored is None or stored.key != pipeline.embedder.key:
        return embedded
    return names.without_code(connection, embedded, stored.dimension)


def complete_codes(pipeline: Pipeline) -> None:
    """Derive missing codes of names, and resolve again which of these names are one entity."""
    codes = name_codes(pipeline.embedder)

    def complete() -> None:
        with pipeline.database.read() as connection:
            wanted = codes.keyed(names_without_code(connection, pipeline))
        codes.derive_missing(pipeline.database, wanted)
        if wanted:
            with write(pipeline.database, pipeline.indexes) as connection:
                EMBEDDER.check(pipeline.database, pipeline.embedder)
                made = take_codes(connection, {name: key for key, name in wanted.items()})
                names.set_codes(connection, [(code, key) for key, code in made.items()])

    retry(pipeline.database, complete)
