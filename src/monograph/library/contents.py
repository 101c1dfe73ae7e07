"""Statistics of an open file."""

from __future__ import annotations

from monograph.library.opened import OpenFile
from monograph.store.documents import documents
from monograph.store.file import schema, settings, stats
from monograph.store.file.database import Connection
from monograph.store.tree import tree as summaries
from monograph.tree.measure import measure
from monograph.values import Brief, IndexStats, Stats, TreeStats
from monograph.write import configuration


def stats_of(file: OpenFile) -> Stats:
    """See :meth:`monograph.Monograph.stats`. Of a view, counts and names that tell of the whole file are left out."""
    whole = not file.view
    with file.database.read() as connection:
        counts = stats.counts(connection)
        sizes = stats.sizes(connection) if whole else ()
        index = IndexStats(counts["vectors"], 0, 0, 0, 0, None, file.chunk_index.target_recall)
        index = file.chunk_index.stats(connection) if whole else index
        shape = measure(connection)
        has_graph = not whole or settings.has_graph(connection)
    if not whole:
        counts |= dict.fromkeys(("memo", "memo_unused", "terms", "file_bytes"), 0)
        shape = None if shape is None else TreeStats(shape.layers, shape.sizes, shape.cosine, 0, 0, 0, 0, 0, 0)
    summarizer = configuration.SUMMARIZER.known(file.database)
    embedder = configuration.EMBEDDER.known(file.database)
    extractor = configuration.EXTRACTOR.known(file.database)
    return Stats(
        path=str(file.database.path),
        **counts,
        tables=sizes,
        embedder="" if embedder is None else embedder.key,
        embedder_spec="" if embedder is None or not whole else embedder.spec,
        extractor="" if extractor is None else extractor.key,
        extractor_spec="" if extractor is None or not whole else extractor.spec,
        dimension=0 if embedder is None else embedder.dimension,
        chunk_tokens=file.settings.chunk_tokens,
        chunk_overlap=file.settings.chunk_overlap,
        index=index,
        summarizer="" if summarizer is None else summarizer.key,
        summarizer_spec="" if summarizer is None or not whole else summarizer.spec,
        tree=shape,
        id=configuration.identity(file.database) if whole else "",
        addresses=configuration.addresses_named(file.database) if whole else (),
        has_graph=has_graph,
    )


def brief(connection: Connection) -> Brief:
    """See :meth:`monograph.Monograph.brief`."""
    return Brief(schema.format_of(connection), documents.count(connection), summaries.exists(connection))
