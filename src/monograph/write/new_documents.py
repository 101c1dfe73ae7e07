"""The documents of a batch that are new: which they are, and their rows, table by table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from monograph.store.documents import chunks, documents, new_documents
from monograph.store.file import assigned
from monograph.store.file.database import Connection
from monograph.store.graph import graph_changes
from monograph.store.history import versions
from monograph.store.words import terms
from monograph.write.batch import Parcel
from monograph.write.graph import Related, node_of
from monograph.write.prepare import Prepared


@dataclass(frozen=True, slots=True)
class Derived:
    """What documents of a batch count on: memo rows of vectors and extractions, rows of names, and the graph's parts.

    ``parts`` are None in a file without a graph: the documents are then stored without. ``ending`` says what
    becomes of the states that they end, None where the file keeps none. ``uses`` and ``index`` collect what the
    documents change of how often names are used, and in the inverted index.
    """

    vectors: Mapping[bytes, int]
    extractions: Mapping[bytes, int]
    names: Mapping[str, int]
    parts: Mapping[tuple[str, bytes], Related] | None
    ending: versions.Ending | None = None
    uses: graph_changes.Uses = field(default_factory=graph_changes.Uses)
    index: terms.Changes = field(default_factory=terms.Changes)


def new_ids(connection: Connection, batch: Sequence[tuple[Parcel, Sequence[Prepared]]]) -> frozenset[str]:
    """The documents of a batch that are stored alike whatever becomes of the others.

    Their ids, and those of their chunks, are neither in the file nor elsewhere in the batch.
    """
    work = [one for _, some in batch for one in some]
    ids = Counter(one.document.id for one in work)
    of_chunks = Counter(chunk.id for one in work for chunk in one.chunks)
    known = documents.known_ids(connection, list(ids))
    taken = chunks.known_ids(connection, list(of_chunks))
    again = _come_again([parcel for parcel, _ in batch])
    return frozenset(
        one.document.id
        for parcel, some in batch
        for one in some
        if one.document.id not in known
        and ids[one.document.id] == 1
        and (parcel.source is None or parcel.source.uri not in again)
        and all(of_chunks[chunk.id] == 1 and chunk.id not in taken for chunk in one.chunks)
        and not documents.is_too_long(one.document)
    )


def _come_again(parcels: Sequence[Parcel]) -> set[str]:
    """Files of which more comes after their last part: this takes out what came before."""
    ended, again = set[str](), set[str]()
    for parcel in parcels:
        if parcel.source is not None:
            again |= {parcel.source.uri} & ended
            if parcel.last:
                ended.add(parcel.source.uri)
    return again


def store_new(connection: Connection, new: Sequence[tuple[Prepared, int | None]], derived: Derived) -> None:
    """Store documents, each with the row of its source, whose ids and whose chunks' ids are not in the file."""
    since = versions.moment_of(derived.ending)
    rows = new_documents.add(connection, [_row(one, source, derived) for one, source in new], derived.index, since)
    if derived.parts is None:
        return
    parts = [derived.parts[one.document.id, one.sha256] for one, _ in new]
    assigned.add(
        connection,
        "extractions",
        (
            (chunk, derived.extractions[key])
            for own, part in zip(rows, parts, strict=True)
            for chunk, key in zip(own.chunks, part.keys, strict=True)
        ),
    )
    nodes = {own.document: node_of(own.chunks, part, derived.names) for own, part in zip(rows, parts, strict=True)}
    graph_changes.add(connection, nodes, derived.uses)


def _row(one: Prepared, source: int | None, derived: Derived) -> new_documents.NewDocument:
    given = [vector.key if vector.given is not None else None for vector in one.vectors]
    held = [derived.vectors[vector.key] for vector in one.vectors]
    return new_documents.NewDocument(one.document, one.sha256, source, one.chunks, held, given)
