"""Whether what is derived is what its text implies: vectors and extractions by their keys, the graph made anew."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from monograph.derive.derivation import embedded_text, extraction_key, vector_key
from monograph.errors import DamagedFile
from monograph.graph import GRAPH
from monograph.graph.build import document_part
from monograph.graph.names import signature
from monograph.store.check import check
from monograph.store.documents import chunks, documents
from monograph.store.file import memo
from monograph.store.file.checksums import given_key
from monograph.store.file.database import Connection
from monograph.store.file.errors import UNDECODABLE
from monograph.store.file.settings import StoredEmbedder, StoredExtractor, load_model
from monograph.store.graph import extractions, graphs, names
from monograph.store.vectors import vectors
from monograph.values import Finding
from monograph.write.graph import Related, keys_of, node_of
from monograph.write.transaction import changes


@dataclass(frozen=True, slots=True)
class MadeBy:
    """The models that a file is made by; None where it holds nothing of theirs."""

    embedder: StoredEmbedder | None
    extractor: StoredExtractor | None

    @property
    def dimension(self) -> int | None:
        """The length of the vectors."""
        return None if self.embedder is None else self.embedder.dimension


def made_by(connection: Connection) -> MadeBy:
    """The models that a file says it is made by."""
    return MadeBy(load_model(connection, StoredEmbedder), load_model(connection, StoredExtractor))


@dataclass(slots=True)
class Wrong:
    """Chunks with a vector or an extraction of another text, documents with another part of the graph, wrong names."""

    vectors: list[int] = field(default_factory=list)
    extractions: list[int] = field(default_factory=list)
    parts: list[int] = field(default_factory=list)
    names: int = 0
    unreadable: list[str] = field(default_factory=list)

    @property
    def graph(self) -> bool:
        """Whether anything of the graph is wrong."""
        return bool(self.extractions or self.parts or self.names)


def findings(connection: Connection, models: MadeBy, passed_over: Collection[int]) -> Iterator[Finding]:
    """What is not as the texts imply.

    Parameters
    ----------
    connection:
        A read transaction.
    models:
        What it is made by.
    passed_over:
        Rows of chunks whose texts are not what was stored: nothing is held against these.
    """
    wrong = compared(connection, models, passed_over)
    for fault in wrong.unreadable:
        yield Finding("documents", fault, repairable=False)
    for table, count, fault in (
        ("vectors", len(wrong.vectors), "chunks with a vector of another text"),
        ("extractions", len(wrong.extractions), "chunks with the extraction of another text"),
        ("chunk_graphs", len(wrong.parts), "documents whose part of the graph is not what their texts imply"),
        ("names", wrong.names, "names that are not as the graph implies"),
    ):
        if count:
            yield Finding(table, f"{count} {fault}", repairable=True)


def _has_graph(models: MadeBy) -> bool:
    return models.extractor is not None and models.extractor.graph == GRAPH


def compared(connection: Connection, models: MadeBy, passed_over: Collection[int]) -> Wrong:
    """What is derived, held against the texts; as for :func:`findings`."""
    wrong = Wrong(names=_wrong_names(connection) if _has_graph(models) else 0)
    cannot_link = names.cannot_link(connection) if _has_graph(models) else set()
    for row in documents.numbers(connection):
        try:
            found = chunks.of_document(connection, row)
        except DamagedFile as error:
            wrong.unreadable.append(error.message)
            continue
        if not found or any(one.row in passed_over for one in found):
            continue
        if models.embedder is not None:
            _compare_vectors(connection, row, found, models.embedder.key, wrong)
        if models.extractor is not None and models.extractor.graph == GRAPH:
            _compare_graph(connection, row, found, models.extractor.key, cannot_link, wrong)
    return wrong


def _compare_vectors(
    connection: Connection, document: int, found: Sequence[chunks.Found], embedder: str, wrong: Wrong
) -> None:
    held = vectors.with_keys(connection, document)
    for one in found:
        key, value = held.get(one.chunk.id, (b"", b""))
        text = embedded_text(one.title, one.chunk.metadata, one.chunk.text)
        if key and key != vector_key(embedder, text) and key != given_key(value):
            wrong.vectors.append(one.row)


def _compare_graph(
    connection: Connection,
    document: int,
    found: Sequence[chunks.Found],
    extractor: str,
    cannot_link: set[tuple[str, str]],
    wrong: Wrong,
) -> None:
    values = graphs.extraction_values(connection, [one.row for one in found])
    rows = memo.assigned(connection, "extractions", [one.row for one in found])
    keys = memo.keys(connection, rows.values())
    of_others = [
        one.row
        for one in found
        if one.row in rows and keys.get(rows[one.row]) != extraction_key(extractor, one.chunk.text)
    ]
    wrong.extractions += of_others
    if of_others or len(values) < len(found):
        return  # Its part follows from these.
    texts = [one.chunk.text for one in found]
    try:
        made = [extractions.unpack(values[one.row], one.chunk.text) for one in found]
        part = document_part(found[0].title, texts, made, cannot_link)
        known = names.rows(connection, keys_of(part))
        same = len(known) == len(keys_of(part)) and graphs.stored(connection, document) == node_of(
            [one.row for one in found], Related(part, (), ()), known
        )
    except UNDECODABLE:
        same = False
    if not same:
        wrong.parts.append(document)


def _wrong_names(connection: Connection) -> int:
    """Names with another signature than their key has, or another head than is found anew."""
    wrong = len(check.with_other_signature(connection, signature))
    if not names.is_settled(connection):
        return wrong
    apart = names.cannot_link(connection)
    keys = {key for pair in apart for key in pair}
    groups = names.groups(connection)
    by_row = {one.row: one for group in groups for one in group}
    for head, _, row in (change for group in groups for change in changes(group, apart)):
        # What was set apart may stand alone though a rule would join it.
        wrong += not (by_row[row].key in keys and not by_row[row].head and head)
    return wrong
