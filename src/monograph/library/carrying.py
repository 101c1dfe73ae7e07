"""Export of a file to a folder, and import of other stores."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from monograph.carry import chroma, export, graphrag, jsonl, layout, lightrag, ragdb
from monograph.carry.folder import write_folder
from monograph.carry.imported import KINDS, ImportedDocument, Store
from monograph.derive.derivation import embedded_text, vector_key
from monograph.derive.embed.given import GivenVectors
from monograph.errors import InputError
from monograph.library.opened import OpenFile, WholeFile
from monograph.store.file import memo, settings
from monograph.store.file.errors import translate_system_errors
from monograph.store.graph import assertions, graphs
from monograph.store.graph.extractions import documents_without
from monograph.store.vectors.vectors import pack
from monograph.values import (
    AssertedNode,
    AssertedRelation,
    Exported,
    OnProgress,
    Problem,
    Progress,
    Report,
    combine_reports,
)
from monograph.write import apply, configuration
from monograph.write.assertions import add as add_assertions
from monograph.write.batch import BATCH_CHARACTERS, BATCH_DOCUMENTS, grouped, normalised
from monograph.write.pipeline import Pipeline

ASSERTIONS_AT_ONCE = 10_000
"""Number of imported nodes and relations that are stored in one transaction."""


def export_file(file: OpenFile, place: Path, *, overwrite: bool, graph: bool, progress: OnProgress | None) -> Exported:
    """Export a file to a folder: see :meth:`monograph.Monograph.export`."""
    from monograph import __version__

    place = Path(os.path.abspath(place))  # noqa: PTH100 - resolve() would follow links
    with (
        translate_system_errors(place),
        write_folder(place, layout.FILES, file.database.path, overwrite=overwrite) as folder,
        file.database.read() as connection,
    ):
        is_complete = graphs.count_nodes(connection) > 0 and not documents_without(connection, "graph", most=1)
        with_graph = graph and is_complete and settings.has_graph(connection)
        written = export.write(connection, folder, __version__, file.settings, graph=with_graph, on_progress=progress)
        size = sum(path.stat().st_size for path in folder.iterdir())
    counts = (written.documents, written.chunks, written.vectors, written.entities, written.mentions, written.links)
    return Exported(str(place), *counts, size=size, graph=with_graph)


def store_of(kind: str, source: Path, collection: str = "") -> Store:
    """Open a store of another program, or an export, for reading.

    ``kind`` is the kind of the store, a key of :data:`monograph.carry.imported.KINDS`. ``source`` is the path of the
    store. ``collection`` is the name of a collection; only ``chroma`` has collections.

    Raises InputError if the kind is unknown, or the collection is missing, unknown or not applicable. Raises
    SourceError if the store does not exist, is of another kind, or cannot be read. Raises MissingExtra if the package
    that reads the store is not installed.
    """
    if collection and kind != "chroma":
        raise InputError(f"{kind} has no collections", "leave --collection out")
    if kind == "chroma":
        return chroma.opened(source, collection)
    readers = {"jsonl": jsonl.opened, "lightrag": lightrag.opened, "graphrag": graphrag.opened, "ragdb": ragdb.opened}
    if kind not in readers:
        raise InputError(f"{kind!r} cannot be imported", f"give one of {', '.join(KINDS)}")
    return readers[kind](source)


def import_store(file: WholeFile, store: Store, *, vectors: bool, progress: OnProgress | None) -> Report:
    """Import the contents of an open store into a file: see :meth:`monograph.library.files.Files.take_over`."""
    models, is_new = file.models, configuration.EMBEDDER.known(file.database) is None
    if models.given_embedder is None and is_new and store.dimension and vectors:
        models.given_embedder = GivenVectors(store.dimension)
    use_vectors = vectors and store.embedder in ("", models.embedder.key)
    if use_vectors and store.dimension and store.dimension != models.embedder.dimension:
        raise InputError(
            f"the vectors have {store.dimension} values, and {file.database.path} needs {models.embedder.dimension}",
            "import into a new file, or with --no-vectors to compute new vectors",
        )
    reports = []
    done = 0
    sizes = (lambda item: len(item.document.text) if isinstance(item, ImportedDocument) else 0, BATCH_CHARACTERS)
    for batch in grouped(store.items(use_vectors), sizes, (lambda _: 1, BATCH_DOCUMENTS)):
        reports.append(file.forgetting(partial(_store, file.writing_pipeline(), batch)))
        done += len(batch)
        if progress is not None:
            progress(Progress("import", done, max(store.documents, done), "documents"))
    remaining = store.assertions()
    while assertion_batch := list(islice(remaining, ASSERTIONS_AT_ONCE)):
        _import_assertions(file, assertion_batch)
    return combine_reports(reports)


def _import_assertions(file: WholeFile, batch: Sequence[AssertedNode | AssertedRelation]) -> None:
    """Add assertions to the file. Skip an assertion if a chunk or document that supports it is missing."""
    names = list({name for assertion in batch for name in assertion.origins})
    with file.database.read() as connection:
        existing = assertions.origins(connection, names)
    known = [assertion for assertion in batch if all(name in existing for name in assertion.origins)]
    nodes = [assertion for assertion in known if isinstance(assertion, AssertedNode)]
    relations = [assertion for assertion in known if isinstance(assertion, AssertedRelation)]
    file.forgetting(lambda _: add_assertions(file.database, nodes, relations, missing_ok=True))


def _store(pipeline: Pipeline, batch: Sequence[ImportedDocument | Problem], forgets: bool) -> Report:
    """Store imported documents, and report all problems of the batch. If ``forgets``, replaced text will be erased."""
    records = [item for item in batch if isinstance(item, ImportedDocument)]
    values = {
        vector_key(pipeline.embedder.key, embedded_text(record.document.title, passage.metadata, passage.text)): vector
        for record in records
        for passage, vector in zip(record.document.passages, record.made, strict=False)
        if vector is not None
    }
    # The memo keeps imported vectors of the file's embedder, so that they are not computed again.
    if values:
        with pipeline.database.write() as connection:
            memo.put(connection, memo.VECTOR, ((key, pack(normalised(vector)), 0) for key, vector in values.items()))
    report = apply.add(pipeline.forgetting(forgets), [record.document for record in records], strict=False)
    return combine_reports([Report(problems=tuple(item for item in batch if isinstance(item, Problem))), report])
