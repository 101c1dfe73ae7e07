"""Checks of a file against all rules, and repair: wrong derived data is deleted and derived again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from monograph.derive.derivation import embedded_text, extraction_key, vector_key
from monograph.graph.heads import changed_heads
from monograph.graph.names import key_of, signature
from monograph.settings import Settings
from monograph.store import tree as stored_tree
from monograph.store.check import content, derived, rules, structure, words
from monograph.store.check.rules import GRAPH, CheckedRows, Rule
from monograph.store.documents import chunks, documents
from monograph.store.file import memo, settings
from monograph.store.file.checksums import given_vector_key
from monograph.store.file.database import Connection
from monograph.store.file.errors import UNDECODABLE
from monograph.store.file.rows import is_marked
from monograph.store.graph import graphs, names
from monograph.store.graph.extractions import documents_without
from monograph.store.vectors import clusters, vectors
from monograph.tree import verify as verify_tree
from monograph.values import Finding
from monograph.vectors import verify as verify_vectors
from monograph.vectors.index import EcoVectorIndex
from monograph.write import rebuild_graph, tree
from monograph.write.changes import Tally
from monograph.write.graph import complete_codes, keys_of, node_of, part_of
from monograph.write.pipeline import Pipeline
from monograph.write.rebuild_vectors import assign, derive_vectors


def _load_undamaged(checked: CheckedRows) -> Iterator[tuple[int, list[chunks.LoadedChunk]]]:
    """Yield (row number, chunks) of each document that is not damaged."""
    for row in documents.numbers(checked.connection):
        if row not in checked.damaged:
            yield row, chunks.of_document(checked.connection, row)


# Vectors: their keys are compared with the keys that the texts have.


def _find_wrong_vectors(checked: CheckedRows) -> Iterator[tuple[int]]:
    """Yield the rows of chunks with a wrong vector: neither the embedding of the chunk's text nor a given vector."""
    if checked.embedder is None:
        return
    for row, loaded_chunks in _load_undamaged(checked):
        stored = vectors.with_keys(checked.connection, row)
        for loaded_chunk in loaded_chunks:
            key, value = stored.get(loaded_chunk.chunk.id, (b"", b""))
            text = embedded_text(loaded_chunk.title, loaded_chunk.chunk.metadata, loaded_chunk.chunk.text)
            if key and key not in (vector_key(checked.embedder.key, text), given_vector_key(value)):
                yield (loaded_chunk.row,)


VECTORS = Rule(
    "vectors",
    "{} chunks with a vector of another text",
    _find_wrong_vectors,
    "DELETE FROM vectors WHERE chunk = ?",
)

# The graph: each document's part is built again from the stored extractions and compared.


def _find_graph_faults(checked: CheckedRows) -> Iterator[Finding]:
    """Yield one finding for all chunks with the extraction of another text, one for all wrong parts of the graph."""
    connection = checked.connection
    extractor = "" if checked.extractor is None else checked.extractor.key
    cannot_link = names.cannot_link(connection)
    of_others = other_parts = 0
    for row, loaded_chunks in _load_undamaged(checked):
        chunk_rows = [loaded_chunk.row for loaded_chunk in loaded_chunks]
        values = graphs.extraction_values(connection, chunk_rows)
        rows = memo.assigned(connection, "extractions", list(values))
        keys = memo.keys(connection, rows.values())
        wrong = sum(
            keys.get(rows[loaded_chunk.row]) != extraction_key(extractor, loaded_chunk.chunk.text)
            for loaded_chunk in loaded_chunks
            if loaded_chunk.row in values
        )
        of_others += wrong
        if not loaded_chunks or wrong or len(values) < len(loaded_chunks):
            continue  # The document's part of the graph depends on these extractions.
        try:
            packed = [values[chunk_row] for chunk_row in chunk_rows]
            part = part_of(loaded_chunks[0].title, [loaded.chunk for loaded in loaded_chunks], packed, cannot_link)
            node = node_of(chunk_rows, part, names.rows(connection, keys_of(part)))
            other_parts += graphs.stored(connection, row) != node
        except UNDECODABLE:
            other_parts += 1
    if of_others:
        yield Finding("extractions", f"{of_others} chunks with the extraction of another text", repairable=True)
    if other_parts:
        fault = f"{other_parts} documents whose part of the graph does not match their texts"
        yield Finding("chunk_graphs", fault, repairable=True)


def _find_wrong_heads(checked: CheckedRows) -> Iterator[tuple[int]]:
    """Yield the rows of names whose head, the name they were merged into, does not follow from the rules."""
    # Nothing can be checked while names wait to be merged again.
    if is_marked(checked.connection, "unresolved"):
        return
    cannot_link = names.cannot_link(checked.connection)
    keys = {key for pair in cannot_link for key in pair}
    for group in names.groups(checked.connection).values():
        by_row = {member.row: member for member in group}
        for head, _, row in changed_heads(group, cannot_link):
            # A name that is kept apart may have no head even though a rule would give it one.
            if by_row[row].head or not head or by_row[row].key not in keys:
                yield (row,)


def _find_wrong_signatures(checked: CheckedRows) -> list[tuple[int, int]]:
    """Return (correct signature, row) of each name with a wrong :func:`~monograph.graph.names.signature`."""
    rows = checked.connection.execute("SELECT name, key, signature FROM names").fetchall()
    return [(signature(key), row) for row, key, stored in rows if signature(key) != stored]


_GRAPH = (
    *derived.GRAPH_ROWS,
    Rule("chunk_graphs", "{}", _find_graph_faults, GRAPH),
    Rule("names", "{} names whose signature does not match their key",
         _find_wrong_signatures, "UPDATE names SET signature = ? WHERE name = ?"),
    Rule("names", "{} names whose merge does not follow from the graph", _find_wrong_heads, GRAPH),
)  # fmt: skip

# The tree.


def _restart_tree(checked: CheckedRows) -> None:
    """Empty the tree; the repair then builds it again."""
    if stored_tree.exists(checked.connection):
        stored_tree.begin(checked.connection)
    else:
        stored_tree.clear(checked.connection)


def _tree_rules(chosen: Settings) -> tuple[Rule, ...]:
    def find(checked: CheckedRows) -> Iterator[str]:
        stored = settings.load_model(checked.connection, "summarizer")
        made_by = None if stored is None else tree.recipe(stored.key, chosen)
        damaged = {row for document in checked.damaged for row, _, _ in chunks.spans_of(checked.connection, document)}
        embedder = "" if checked.embedder is None else checked.embedder.key
        return verify_tree.faults(checked.connection, made_by, embedder, damaged)

    return (
        Rule("nodes", "{} summaries whose text or vector is damaged",
             f"""SELECT 1 FROM nodes AS n JOIN memo AS m ON m.memo IN (n.gist, n.vector)
             WHERE {memo.WRONG} OR (m.memo = n.vector AND length(m.value) != :vector)""", _restart_tree),  # noqa: S608
        Rule("nodes", "{}", find, _restart_tree),
    )  # fmt: skip


def of_rows(checked: CheckedRows, chosen: Settings) -> tuple[Rule, ...]:
    """Return the rules that check rows of tables. Their remedies are all applied in one transaction.

    ``chosen`` are the settings of the file.
    """
    return (
        *content.SOURCES, *content.DOCUMENTS, *content.VERSIONS, derived.LENGTHS, *_tree_rules(chosen), *derived.VALUES,
        VECTORS, *derived.CLUSTERS, *content.assertions(key_of), *derived.NAMES, *(_GRAPH if checked.has_graph else ()),
    )  # fmt: skip


def of_index(index: EcoVectorIndex) -> Rule:
    """Return the rule that finds damage in a vector index. Its remedy rebuilds the index."""

    def find(checked: CheckedRows) -> Iterator[str]:
        yield from verify_vectors.faults(checked.connection, index.space)
        waits = clusters.has_stale(checked.connection, index.space)
        if unwanted := 0 if waits else clusters.count_unwanted(checked.connection, index.space):
            yield f"{unwanted} vectors in the index belong to no chunk or summary"

    return Rule("clusters", "{}", find, lambda checked: index.rebuild(checked.connection))


def findings(connection: Connection, indexes: Sequence[EcoVectorIndex], chosen: Settings) -> Iterator[Finding]:
    """Yield each fault of a file once. ``chosen`` are the settings that the file was opened with."""
    checked = CheckedRows(connection)
    rows = of_rows(checked, chosen)
    all_rules = (
        structure.FILE, *structure.STRUCTURE, *rows, *map(of_index, indexes), *words.RULES, structure.FORGETTING,
    )  # fmt: skip
    return rules.findings(checked, all_rules)


def repair(pipeline: Pipeline) -> None:
    """Apply the remedies of all rules, then derive what is missing: vectors, indexes, the graph, the tree.

    A faulty graph is rebuilt as a whole from the extractions in the memo, and a faulty tree from the summaries in the
    memo. A damaged document cannot be repaired. It keeps the values that were derived from it before.
    """
    with pipeline.database.write() as connection:
        checked = CheckedRows(connection)
        is_graph_wrong = rules.repair(checked, of_rows(checked, pipeline.settings))
        rules.repair(checked, [of_index(index) for index in pipeline.indexes])
        for index in pipeline.indexes:
            index.flush(connection)
        without_vector = set(documents_without(connection, "vector"))
        rows = [row for row in documents.listed(connection) if row.row in without_vector]
        without_extraction = documents_without(connection, "extraction")
    with pipeline.database.read() as connection:
        are_words_wrong = any(rules.findings(CheckedRows(connection), words.RULES))
    if not are_words_wrong:
        with pipeline.database.write() as connection:
            are_words_wrong = words.fts5_fault(connection) is not None
    if are_words_wrong:
        with pipeline.database.write() as connection:
            words.rebuild(connection)
    derive_vectors(pipeline, rows)
    with pipeline.database.write() as connection:
        for row in rows:
            assign(connection, pipeline, row.row, only_missing=True)
        for index in pipeline.indexes:
            index.flush(connection)
    if is_graph_wrong:
        # The present graph is kept until all extractions are derived.
        rebuild_graph.derive_extractions(pipeline, without_extraction, Tally())
        if rebuild_graph.clear(pipeline):
            rebuild_graph.complete(pipeline)
    else:
        rebuild_graph.catch_up(pipeline)
    complete_codes(pipeline)
    tree.update(pipeline)
