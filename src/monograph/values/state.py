"""Contents, sizes and faults of a file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IndexStats:
    """Design and state of the vector index.

    Parameters
    ----------
    vectors:
        Number of different vectors that can be found.
    clusters:
        Number of clusters, each a row of the file with its centroid in memory; 0 if every vector is compared.
    entries:
        Number of entries in the clusters: about two per vector in the codes design, one in the graph design.
    dead:
        Number of deleted entries that still take space, until the next fold.
    memory:
        Bytes in memory for searches: centroids, their graph, cached clusters or vectors.
    expected_loads:
        Average number of clusters read per query (k = 10) to reach ``target_recall``, as calibrated; None if every
        cluster is searched, as in a file of few vectors.
    target_recall:
        Average share of the nearest vectors that a search should find.
    expected_recall:
        Average share found during calibration. It is below ``target_recall`` if no search that was tried reached it;
        None if every cluster is searched.
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
        Number of summaries in each layer, the layer over chunks first.
    sizes:
        (size, number of segments of that size), ascending.
    cosine:
        Mean cosine of two texts of one segment, over a sample of segments; 0 if there are no segments.
    waiting:
        Number of places where chunks were added or removed and the summaries are not updated yet: 0 except after a
        crash or a failed summary.
    learned_from:
        Number of chunks that the hyperplanes were learned from; 0 if they are random.
    last_made, last_tokens:
        Summaries computed in the last update of the tree, and tokens that a model read and wrote for them.
    ever_made, ever_tokens:
        The same for all updates.
    """

    layers: tuple[int, ...]
    sizes: tuple[tuple[int, int], ...]
    cosine: float
    waiting: int
    learned_from: int
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
    """Contents and sizes of a file. Sizes are in bytes; ``tables`` is (name, size), largest first.

    ``entities`` counts named things, ``merged`` names that were merged into another, ``mentions`` pairs of a name and a
    chunk that contains it. ``tree`` is None in a file without a tree. ``id`` identifies the file, also after it is
    moved or copied. ``addresses`` are the servers and folders that the models named in the file open, if trusted.
    ``has_graph`` is False in a file created with ``Settings(graph=False)``, until ``archive.graph.build`` is called.
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
    """Fault that a check found: its table, its description, whether ``repair`` can repair it, and a hint if not."""

    table: str
    fault: str
    repairable: bool
    hint: str = ""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """Calls of one model for a file on one day.

    Parameters
    ----------
    day:
        Day in UTC, as ``2026-11-23``.
    model:
        Key of the model.
    purpose:
        ``embed``, ``extract``, ``summarize``, ``describe``, ``rerank``, ``rewrite`` (of a question that depends on
        earlier ones), ``types`` (kinds of entities that may be the answer), ``answer``.
    calls:
        Number of answered calls.
    tokens_in, tokens_out:
        Tokens read and written, as counted by the server, else estimated; 0 if unknown.
    """

    day: str
    model: str
    purpose: str
    calls: int
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True, slots=True)
class ShelfStats:
    """Counts and sizes of a version of a shelf.

    ``bytes`` is the size of its shards and its catalogue; ``documents_by_shard`` is in the order of the shards.
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
