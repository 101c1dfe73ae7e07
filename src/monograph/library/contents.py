"""What an open file holds and weighs."""

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
    """See :meth:`monograph.Monograph.stats`."""
    if file.view:
        return _stats_of_view(file)
    with file.database.read() as connection:
        counts = stats.counts(connection)
        sizes = stats.sizes(connection)
        index = file.chunk_index.stats(connection)
        shape = measure(connection)
        has_graph = settings.has_graph(connection)
    summarizer = configuration.SUMMARIZER.known(file.database)
    embedder = configuration.EMBEDDER.known(file.database)
    extractor = configuration.EXTRACTOR.known(file.database)
    return Stats(
        path=str(file.database.path),
        format=counts.format,
        documents=counts.documents,
        sources=counts.sources,
        chunks=counts.chunks,
        vectors=counts.vectors,
        memo=counts.memo,
        memo_unused=counts.memo_unused,
        terms=counts.terms,
        entities=counts.entities,
        merged=counts.merged,
        mentions=counts.mentions,
        characters=counts.characters,
        file_bytes=counts.file_bytes,
        tables=sizes,
        embedder="" if embedder is None else embedder.key,
        embedder_spec="" if embedder is None else embedder.spec,
        extractor="" if extractor is None else extractor.key,
        extractor_spec="" if extractor is None else extractor.spec,
        dimension=0 if embedder is None else embedder.dimension,
        chunk_tokens=file.settings.chunk_tokens,
        chunk_overlap=file.settings.chunk_overlap,
        index=index,
        summarizer="" if summarizer is None else summarizer.key,
        summarizer_spec="" if summarizer is None else summarizer.spec,
        tree=shape,
        id=configuration.identity(file.database),
        addresses=configuration.addresses_named(file.database),
        has_graph=has_graph,
    )


def _stats_of_view(file: OpenFile) -> Stats:
    """What a view holds, and how the file was built. What else is told of a file is of all that it holds: here 0."""
    with file.database.read() as connection:
        counts = stats.counts(connection)
        shape = measure(connection)
    summarizer = configuration.SUMMARIZER.known(file.database)
    embedder = configuration.EMBEDDER.known(file.database)
    extractor = configuration.EXTRACTOR.known(file.database)
    if shape is not None:
        shape = TreeStats(shape.layers, shape.sizes, shape.cosine, 0, 0, 0, 0, 0, 0)
    return Stats(
        path=str(file.database.path),
        format=counts.format,
        documents=counts.documents,
        sources=counts.sources,
        chunks=counts.chunks,
        vectors=counts.vectors,
        memo=0,
        memo_unused=0,
        terms=0,
        entities=counts.entities,
        merged=counts.merged,
        mentions=counts.mentions,
        characters=counts.characters,
        file_bytes=0,
        tables=(),
        embedder="" if embedder is None else embedder.key,
        embedder_spec="",
        extractor="" if extractor is None else extractor.key,
        extractor_spec="",
        dimension=0 if embedder is None else embedder.dimension,
        chunk_tokens=file.settings.chunk_tokens,
        chunk_overlap=file.settings.chunk_overlap,
        index=IndexStats(counts.vectors, 0, 0, 0, 0, None, file.chunk_index.target_recall),
        summarizer="" if summarizer is None else summarizer.key,
        tree=shape,
    )


def brief(connection: Connection) -> Brief:
    """See :meth:`monograph.Monograph.brief`."""
    return Brief(schema.format_of(connection), documents.count(connection), summaries.exists(connection))
