"""Vectors for chunks that are stored already: another embedder, or vectors that were lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from monograph.derive.embed.text import embedded_text
from monograph.derive.tokens import count_tokens
from monograph.errors import BusyFile
from monograph.store.documents import chunks, documents
from monograph.store.file import assigned, checksums, memo, settings
from monograph.store.file.database import Connection
from monograph.store.graph import names
from monograph.store.history import versions
from monograph.store.vectors import vectors
from monograph.tree.build import Overtaken
from monograph.tree.hash import Planes
from monograph.values import Cost, Document, OnProgress, Progress, content_hash
from monograph.write import name_codes, price, rebuild_tree, tree
from monograph.write.graph import codes
from monograph.write.pipeline import Pipeline, telling_refusals
from monograph.write.prepare import Prepared, Vectored
from monograph.write.transaction import write
from monograph.write.vectors import Embedded, remember_vectors

DOCUMENTS_AT_ONCE = 64
MADE_INSIDE = 256
"""Vectors that are made while the file is locked, at most: those of documents that came at the last moment."""
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """Texts of chunks that the embedder was given, vectors that the memo held, and summaries that were made."""

    embedded: int
    remembered: int
    summarized: int


class _Forgotten(Exception):
    """Another process has emptied the memo since all was made: it is to be made again before the file is locked."""


@telling_refusals
def reembed(pipeline: Pipeline, on_progress: OnProgress | None = None) -> Rebuilt:
    """Give every chunk a vector of the pipeline's embedder, and make that the file's embedder.

    All that follows from it is made and remembered first: the vectors of chunks, the codes of names, the summaries and
    the tree of them. Then it is exchanged in one transaction: killed before its end, the file is as it was, and the
    next run pays only for what is missing. Vectors that came ready-made are replaced too.

    Raises
    ------
    ModelError
        If the embedder or the summarizer fails: the file is as it was.
    BusyFile
        If another process keeps emptying the memo.
    """
    total, spent = Embedded(0, 0), tree.Spent()
    for _ in range(_TRIES):
        try:
            done, planes = _prepare(pipeline, spent, on_progress)
            total = Embedded(total.embedded + done.embedded, total.remembered or done.remembered)
            with write(pipeline.database, pipeline.indexes) as connection:
                _exchange(connection, pipeline, planes, spent)
        except (_Forgotten, Overtaken):
            continue
        # Where it is the same embedder as before, lost vectors may have come back.
        followed = tree.update(pipeline, on_progress)
        return Rebuilt(total.embedded, total.remembered, spent.made + followed.made)
    raise BusyFile(f"another process keeps emptying the memo of {pipeline.database.path}", "try again when it is done")


def _prepare(pipeline: Pipeline, spent: tree.Spent, on_progress: OnProgress | None) -> tuple[Embedded, Planes | None]:
    """Make and remember all that is to be exchanged; the planes of the tree to be, if there is to be another."""
    with pipeline.database.read() as connection:
        rows = list(documents.every(connection))
        other = _is_other(connection, pipeline)
    total = remember(pipeline, rows, on_progress)
    name_codes.prepare(pipeline)
    if pipeline.summarizer is None or not other:
        return total, None
    with pipeline.database.read() as connection:
        memos = _remembered(connection, pipeline, rows)
    return total, rebuild_tree.prepare(pipeline, memos, spent, on_progress)


def _remembered(connection: Connection, pipeline: Pipeline, rows: Sequence[documents.Row]) -> dict[int, int]:
    """The memo rows of vectors to be, by chunk row. A few may be lacking, of documents that changed meanwhile."""
    found: dict[int, int] = {}
    lacking = 0
    for row in rows:
        wanted = dict(vectors_to_be(connection, pipeline, row))
        known = memo.rows(connection, memo.VECTOR, [vector.key for vector in wanted.values()])
        found.update((chunk, known[vector.key]) for chunk, vector in wanted.items() if vector.key in known)
        lacking += sum(vector.key not in known for vector in wanted.values())
    if lacking > min(MADE_INSIDE, len(found)):
        raise _Forgotten
    return found


def _exchange(connection: Connection, pipeline: Pipeline, planes: Planes | None, spent: tree.Spent) -> None:
    """Put all that was prepared in the place of what is there. Documents may have come meanwhile: those are few."""
    other = _is_other(connection, pipeline)
    inside = 0
    for row in documents.every(connection):
        sound = checksums.is_sound(connection, row.row)
        inside += assign(connection, pipeline, row, most=MADE_INSIDE - inside)
        if sound:
            checksums.seal(connection, row.row)  # Vectors that came with their chunks are gone.
    _exchange_codes(connection, pipeline, other=other)
    stored = settings.StoredEmbedder(pipeline.embedder.key, pipeline.embedder.spec, pipeline.embedder.dimension)
    settings.save_model(connection, stored)
    if other:
        versions.drop_vectors(connection)
        rebuild_tree.plant(connection, pipeline, planes, spent)
        for index in pipeline.indexes:
            index.rebuild(connection)


def _is_other(connection: Connection, pipeline: Pipeline) -> bool:
    """Whether the file has another embedder than the pipeline."""
    stored = settings.load_model(connection, settings.StoredEmbedder)
    return stored is None or stored.key != pipeline.embedder.key


def _exchange_codes(connection: Connection, pipeline: Pipeline, *, other: bool) -> None:
    made, left = name_codes.take(connection, pipeline, name_codes.lacking(connection, pipeline))
    if len(left) > MADE_INSIDE:
        raise _Forgotten
    names.drop_codes(connection, None if other else names.code_size(pipeline.embedder.dimension))
    names.set_codes(connection, [*made, *zip(codes(pipeline.embedder, left), left, strict=True)])


def remember(pipeline: Pipeline, rows: Sequence[documents.Row], on_progress: OnProgress | None = None) -> Embedded:
    """Make and remember the vectors of documents that the memo lacks."""
    embedded = remembered = 0
    for first in range(0, len(rows), DOCUMENTS_AT_ONCE):
        with pipeline.database.read() as connection:
            batch = [
                Prepared(
                    Document(id=row.id),
                    row.sha256,
                    (),
                    tuple(vector for _, vector in vectors_to_be(connection, pipeline, row)),
                )
                for row in rows[first : first + DOCUMENTS_AT_ONCE]
            ]
        done = remember_vectors(pipeline, batch)
        embedded += done.embedded
        remembered += done.remembered
        if on_progress is not None:
            at = min(first + DOCUMENTS_AT_ONCE, len(rows))
            on_progress(Progress("reembed", at, len(rows), "documents", rows[at - 1].uri))
    return Embedded(embedded, remembered)


def vectors_to_be(connection: Connection, pipeline: Pipeline, row: documents.Row) -> Iterator[tuple[int, Vectored]]:
    """(row, vector to be) of each chunk of a document."""
    for found in chunks.of_document(connection, row.row):
        text = embedded_text(found.title, found.chunk.metadata, found.chunk.text)
        yield found.row, Vectored(content_hash("embed", pipeline.embedder.key, text), text, None)


def assign(
    connection: Connection,
    pipeline: Pipeline,
    row: documents.Row,
    *,
    only_missing: bool = False,
    most: int | None = None,
) -> int:
    """Give the chunks of a document their vectors, or only those that have none.

    Returns how many were not remembered, and were made for it. Raises _Forgotten if that would be more than ``most``.
    """
    wanted = dict(vectors_to_be(connection, pipeline, row))
    if only_missing:
        held = vectors.rows_with_vector(connection, row.row)
        wanted = {chunk: vector for chunk, vector in wanted.items() if chunk not in held}
    known = memo.rows(connection, memo.VECTOR, [vector.key for vector in wanted.values()])
    lacking = [vector for vector in wanted.values() if vector.key not in known]
    if most is not None and len(lacking) > most:
        raise _Forgotten
    if lacking:
        made = pipeline.embedder.embed([vector.text for vector in lacking], "document")
        values = ((vector.key, vectors.pack(one), 0) for vector, one in zip(lacking, made, strict=True))
        memo.put(connection, memo.VECTOR, values)
        known = memo.rows(connection, memo.VECTOR, [vector.key for vector in wanted.values()])
    assigned.assign(connection, "vectors", [(chunk, known[vector.key]) for chunk, vector in wanted.items()])
    return len(lacking)


def price_reembed(pipeline: Pipeline) -> Cost:
    """The texts that :func:`reembed` would give the embedder; it is not asked.

    ``embeddings`` are those of chunks and of names that the memo lacks, each text once. In a file with a tree that is
    made anew as well, at most so many ``summaries``, and what these ask of a language model; each is embedded too.
    """
    embedder = pipeline.embedder
    texts: dict[bytes, str] = {}
    with pipeline.database.read() as connection:
        for row in documents.every(connection):
            texts.update((vector.key, vector.text) for _, vector in vectors_to_be(connection, pipeline, row))
        texts = {key: texts[key] for key in texts.keys() - memo.rows(connection, memo.VECTOR, list(texts)).keys()}
        named = {content_hash("code", embedder.key, name): name for name in name_codes.lacking(connection, pipeline)}
        held = memo.rows(connection, memo.CODE, list(named))
        texts.update((key, name) for key, name in named.items() if key not in held)
        stored = settings.load_model(connection, settings.StoredEmbedder)
        other = stored is None or stored.key != embedder.key
        above = price.price_summaries(connection, pipeline, vectors.count(connection)) if other else Cost()
    return replace(above, embeddings=len(texts), embedding_tokens=sum(count_tokens(list(texts.values()))))
