"""Contents, sizes and faults of a file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IndexStats:
    """Counts of the vector index, its memory, and the expected loads and recall of a search.

    Parameters
    ----------
    vectors:
        Number of different vectors that can be found.
    clusters:
        Number of clusters. Each is a row of the file, with its centroid in memory. With 0 clusters, every query is
        compared with every vector.
    entries:
        Number of entries in all clusters. A vector usually has two in the codes design, one in the graph design.
    dead:
        Number of deleted entries that still take space, until their cluster is rewritten.
    memory:
        Bytes in memory for searches: centroids, their graph, cached clusters or vectors.
    expected_loads:
        Average number of clusters that a search with k = 10 reads, as measured by the calibration. None if every
        cluster is searched, as in a file of few vectors.
    target_recall:
        Average share of the nearest vectors that a search should find.
    expected_recall:
        Average share of the nearest vectors that a search finds, as measured by the calibration. It is below
        ``target_recall`` if no stop condition reached the target. None if every cluster is searched.
    """

    vectors: int
    clusters: int
    entries: int
    dead: int
    memory: int
    expected_loads: float | None
    target_recall: float
    expected_recall: float | None = None


@dataclass(frozen=True, slots=True)
class TreeStats:
    """Shape of the tree of summaries.

    Parameters
    ----------
    layers:
        Number of summaries in each layer. The layer over chunks is first.
    sizes:
        (number of texts, number of segments with that many texts), ascending. A segment is the texts under one summary.
    cosine:
        Mean cosine of two chunks of one segment, over a sample of segments; 0 if no segment has two chunks.
    waiting:
        Number of added and removed nodes (chunks or summaries) for which the summaries above are not updated yet. It is
        0 except after a crash or a failed summary.
    last_made, last_tokens:
        Number of summaries computed in the last update of the tree, and of tokens that a model read and wrote for them.
    ever_made, ever_tokens:
        The same numbers for all updates together.
    """

    layers: tuple[int, ...]
    sizes: tuple[tuple[int, int], ...]
    cosine: float
    waiting: int
    last_made: int
    last_tokens: int
    ever_made: int
    ever_tokens: int

    @property
    def summaries(self) -> int:
        """Number of summaries in all layers."""
        return sum(self.layers)


@dataclass(frozen=True, slots=True)
class Stats:
    """Contents and sizes of a file. Sizes are in bytes.

    - ``tables``: (name, size) of each table, largest first.
    - ``entities``: number of named things.
    - ``merged``: number of names that were merged into another name.
    - ``mentions``: number of pairs (name, chunk that contains the name).
    - ``tree``: shape of the tree; None in a file without a tree.
    - ``id``: identifies the file, also after the file is moved or copied.
    - ``addresses``: servers, folders, pipelines and hub pages that the file's stored models use. A model opens its
      addresses only if you trust them.
    - ``has_graph``: False in a file created with ``Settings(graph=False)``, until ``archive.graph.build`` is called.
    """

    path: str
    format: int
    documents: int
    sources: int
    chunks: int
    vectors: int
    memo: int
    memo_unused: int
    terms: int
    entities: int
    merged: int
    mentions: int
    characters: int
    file_bytes: int
    tables: tuple[tuple[str, int], ...]
    embedder: str
    embedder_spec: str
    extractor: str
    extractor_spec: str
    dimension: int
    chunk_tokens: int
    chunk_overlap: int
    index: IndexStats
    summarizer: str = ""
    summarizer_spec: str = ""
    tree: TreeStats | None = None
    id: str = ""
    addresses: tuple[str, ...] = ()
    has_graph: bool = True


@dataclass(frozen=True, slots=True)
class Brief:
    """Overview of a file or shelf that is fast to read: format, number of documents, and whether it has a tree."""

    format: int
    documents: int
    has_tree: bool


@dataclass(frozen=True, slots=True)
class Finding:
    """Fault that a check found.

    ``table`` is the damaged table or other part, such as ``file`` or a shelf's ``catalogue``. ``fault`` describes the
    fault. If ``repair`` cannot repair it, ``repairable`` is False, and ``hint`` may say what to do.
    """

    table: str
    fault: str
    repairable: bool
    hint: str = ""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """Calls of one model for one purpose on one day, for a file.

    Parameters
    ----------
    day:
        Day in UTC, as ``2026-11-23``.
    model:
        Key of the model: the text that identifies the model and its settings.
    purpose:
        ``embed``, ``extract``, ``summarize``, ``describe``, ``rerank``, ``answer``; ``rewrite``: making a question
        independent of earlier questions; ``types``: predicting the kinds of entities that may be the answer.
    calls:
        Number of calls that the model answered.
    tokens_in, tokens_out:
        Numbers of tokens that the model read and wrote, as counted by the server. If the server sends no counts, the
        tokens of language models are estimated, and those of other models are 0.
    """

    day: str
    model: str
    purpose: str
    calls: int
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True, slots=True)
class ShelfStats:
    """Counts and sizes of a shelf, in the version of the shelf that is open.

    ``bytes`` is the size of all shards and of the catalogue (the file with the names of all shards).
    ``documents_by_shard`` has the number of documents of each shard, in the order of the shards.
    """

    url: str
    version: int
    shards: int
    documents: int
    chunks: int
    entities: int
    merged: int
    bytes: int
    documents_by_shard: tuple[int, ...]
    embedder: str
    extractor: str
