"""New vectors for stored chunks, because the embedder changes or vectors were lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from monograph.derive.derivation import Derivation, MissingValue, embedded_text, name_codes, retry, vectors
from monograph.store import tree as stored_tree
from monograph.store import versions
from monograph.store.documents import chunks, documents
from monograph.store.file import memo, settings
from monograph.store.file.database import Connection
from monograph.store.graph import names as stored_names
from monograph.store.vectors import vectors as stored_vectors
from monograph.tree import build
from monograph.values import Cost, OnProgress, Progress, Report
from monograph.write import price, tree
from monograph.write.changes import Tally
from monograph.write.graph import names_without_code, take_codes
from monograph.write.pipeline import Pipeline, write

DOCUMENTS_AT_ONCE = 64
MADE_INSIDE = 256
"""Largest number of vectors, and of codes of names, that are derived while the file is locked.

Usually these are the values of documents that were stored after :func:`reembed` had begun.
"""


def reembed(pipeline: Pipeline, on_progress: OnProgress | None = None) -> Report:
    """Make the pipeline's embedder the embedder of the file: see :meth:`monograph.library.monograph.Vectors.rebuild`.

    Vectors of chunks, codes of names, and summaries and their tree are derived first. Then one transaction puts them in
    place of the old ones. Vectors that callers gave are replaced, too.
    """
    tally, spent = Tally(), tree.TreeUpdate()

    def derive_and_exchange() -> None:
        with pipeline.database.read() as connection:
            rows = documents.listed(connection)
            uncoded = names_without_code(connection, pipeline)
            other = _has_other_embedder(connection, pipeline)
        embedded, reused = derive_vectors(pipeline, rows, on_progress)
        tally.embedded += embedded
        tally.reused = tally.reused or reused
        codes = name_codes(pipeline.embedder)
        codes.derive_missing(pipeline.database, codes.keyed(uncoded))
        try:
            if other:
                _prepare_tree(pipeline, rows, spent, on_progress)
            with write(pipeline.database, pipeline.indexes) as connection:
                _exchange(connection, pipeline, spent)
        except build.TreeChanged as error:
            raise MissingValue from error

    retry(pipeline.database, derive_and_exchange)
    # With the same embedder as before, lost vectors may have been restored, and the tree must get their chunks.
    tally.summarized = spent.made + tree.update(pipeline, on_progress).made
    return tally.report()


def _prepare_tree(
    pipeline: Pipeline, rows: Sequence[documents.DocumentRow], spent: tree.TreeUpdate, on_progress: OnProgress | None
) -> None:
    """Derive the summaries of a tree over the new vectors; do nothing without a summarizer."""
    if pipeline.summarizer is None:
        return
    with pipeline.database.read() as connection:
        derivation = vectors(pipeline.embedder)
        memos: dict[int, int] = {}
        missing = 0  # Number of missing vectors, of documents that changed meanwhile.
        for row in rows:
            keys = {chunk: derivation.key(text) for chunk, text in texts_of(connection, row.row).items()}
            stored_rows = memo.rows(connection, memo.VECTOR, list(keys.values()))
            memos.update((chunk, stored_rows[key]) for chunk, key in keys.items() if key in stored_rows)
            missing += sum(key not in stored_rows for key in keys.values())
        if missing > min(MADE_INSIDE, len(memos)):
            raise MissingValue
        stored = [leaf for leaf in stored_tree.leaves(connection) if leaf.chunk in memos]
        leaves = [replace(leaf, memo=memos[leaf.chunk]) for leaf in stored]
        draft = build.TreeDraft(stored_tree.version(connection))
        build.place_all_leaves(connection, draft, pipeline.embedder.dimension, leaves)
    # Raises TreeChanged if another process deleted a summary of the tree.
    tree.derive_layers(pipeline, pipeline.summarizer, draft, spent, on_progress)


def _exchange(connection: Connection, pipeline: Pipeline, spent: tree.TreeUpdate) -> None:
    """Replace the file's vectors, codes of names, and tree by those that :func:`reembed` has derived."""
    other = _has_other_embedder(connection, pipeline)
    # Documents that were stored meanwhile may lack vectors or codes: at most MADE_INSIDE of each are derived here.
    inside = 0
    changed = documents.undamaged_with_given_vectors(connection)
    for row in documents.listed(connection):
        inside += assign(connection, pipeline, row.row, most=MADE_INSIDE - inside)
    for number in changed:
        documents.seal(connection, number)  # The checksum of a document covers its given vectors, which are gone now.
    codes = name_codes(pipeline.embedder)
    names_by_key = codes.keyed(names_without_code(connection, pipeline))
    _derive_inside(connection, pipeline, codes, names_by_key, MADE_INSIDE)
    new_codes = take_codes(connection, {name: key for key, name in names_by_key.items()})
    memo.drop(connection, memo.CODE)
    stored_names.drop_codes(connection, None if other else pipeline.embedder.dimension)
    stored_names.set_codes(connection, [(code, key) for key, code in new_codes.items()])
    stored = settings.StoredModel(pipeline.embedder.key, pipeline.embedder.spec, pipeline.embedder.dimension)
    settings.save_model(connection, "embedder", stored)
    if other:
        versions.drop_vectors(connection)
        if pipeline.summarizer is not None:
            # Most summaries are derived already; those of the few chunks that were stored since are made here.
            draft = build.TreeDraft(stored_tree.version(connection))
            build.place_all_leaves(connection, draft, pipeline.embedder.dimension, stored_tree.leaves(connection))
            tree.derive_layers(pipeline, pipeline.summarizer, draft, spent)
            tree.store_tree(connection, pipeline.summarizer, draft, spent)
        elif stored_tree.exists(connection):
            stored_tree.begin(connection)
        for index in pipeline.indexes:
            index.rebuild(connection)


def _has_other_embedder(connection: Connection, pipeline: Pipeline) -> bool:
    stored = settings.load_model(connection, "embedder")
    return stored is None or stored.key != pipeline.embedder.key


def derive_vectors(
    pipeline: Pipeline, rows: Sequence[documents.DocumentRow], on_progress: OnProgress | None = None
) -> tuple[int, int]:
    """Derive the vectors that the memo lacks for stored documents.

    Return (number of vectors derived, number of vectors that were in the memo already).
    """
    derivation = vectors(pipeline.embedder)
    embedded = reused = 0
    for first in range(0, len(rows), DOCUMENTS_AT_ONCE):
        batch = rows[first : first + DOCUMENTS_AT_ONCE]
        with pipeline.database.read() as connection:
            texts = derivation.keyed(text for row in batch for text in texts_of(connection, row.row).values())
        derived = len(derivation.derive_missing(pipeline.database, texts))
        embedded, reused = embedded + derived, reused + len(texts) - derived
        if on_progress is not None:
            on_progress(Progress("reembed", first + len(batch), len(rows), "documents", batch[-1].uri))
    return embedded, reused


def texts_of(connection: Connection, document: int) -> dict[int, str]:
    """Return the text to embed for each chunk of a document, by chunk row."""
    return {
        loaded.row: embedded_text(loaded.title, loaded.chunk.metadata, loaded.chunk.text)
        for loaded in chunks.of_document(connection, document)
    }


def assign(
    connection: Connection, pipeline: Pipeline, document: int, *, only_missing: bool = False, most: int | None = None
) -> int:
    """Assign vectors to the chunks of a document, and return the number of vectors that had to be derived.

    With ``only_missing``, chunks that have a vector keep it. Vectors that the memo lacks are derived. If the memo lacks
    more than ``most`` vectors, MissingValue is raised, and no vector is derived. None sets no limit.
    """
    derivation = vectors(pipeline.embedder)
    texts = texts_of(connection, document)
    if only_missing:
        for chunk in stored_vectors.rows_with_vector(connection, document):
            texts.pop(chunk, None)
    keys = {chunk: derivation.key(text) for chunk, text in texts.items()}
    texts_by_key = {key: texts[chunk] for chunk, key in keys.items()}
    derived = _derive_inside(connection, pipeline, derivation, texts_by_key, most)
    rows = derivation.rows(connection, texts_by_key)
    memo.assign(connection, "vectors", [(chunk, rows[key]) for chunk, key in keys.items()])
    return derived


def _derive_inside(
    connection: Connection,
    pipeline: Pipeline,
    derivation: Derivation[str],
    inputs: Mapping[bytes, str],
    most: int | None,
) -> int:
    """Derive the values that the memo lacks, within a write transaction; return their number."""
    missing = derivation.missing(connection, inputs)
    if most is not None and len(missing) > most:
        raise MissingValue
    derivation.derive_missing(pipeline.database, missing)
    return len(missing)


def price_reembed(pipeline: Pipeline) -> Cost:
    """Return the cost of :func:`reembed`; the embedder is not called."""
    derivation, codes = vectors(pipeline.embedder), name_codes(pipeline.embedder)
    with pipeline.database.read() as connection:
        rows = documents.numbers(connection)
        texts = derivation.keyed(text for row in rows for text in texts_of(connection, row).values())
        named = codes.keyed(names_without_code(connection, pipeline))
        cost = derivation.price_missing(connection, texts, set()) + codes.price_missing(connection, named, set())
        if _has_other_embedder(connection, pipeline):
            cost += price.price_summaries(connection, pipeline, stored_vectors.count(connection))
    return cost
