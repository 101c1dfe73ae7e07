"""Contents, sizes and faults of a file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IndexStats:
    """Design and state of the vector index.

    Parameters
    ----------
    vectors:
        Different vectors that can be found.
    clusters:
        Clusters, each a row of the file with its centroid in memory; 0 where every vector is compared.
    entries:
        What the clusters hold: about two a vector in the codes design, one in the graph design.
    dead:
        Deleted entries that still take room, until the next fold.
    memory:
        Bytes held in memory for searches: centroids, their graph, clusters or vectors in the cache.
    expected_loads:
        Clusters read a query (k = 10), on average, to reach ``target_recall``, as calibrated; None where every cluster
        is searched, as in a file of few vectors.
    target_recall:
        Share of the nearest that a search is to find on average.
    expected_recall:
        What it found when that was calibrated: less than ``target_recall`` where no search that was tried reached it.
        None where every cluster is searched.
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
        Summaries of each layer, the one over chunks first.
    sizes:
        (size, segments of that size), ascending.
    cosine:
        Mean cosine of two texts of one segment, over a sample of segments; 0 where there is none.
    waiting:
        Places where chunks came or went that no summary follows yet: 0 but after a crash or a failed summary.
    learned_from:
        Chunks that the planes were learned from; 0 for random ones.
    last_made, last_tokens:
        Summaries made by the last change of the tree, and the tokens that a model read and wrote for them.
    ever_made, ever_tokens:
        The same, of all changes.
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
        """Summaries of all layers."""
        return sum(self.layers)


@dataclass(frozen=True, slots=True)
class Stats:
    """Contents and sizes of a file. Sizes in bytes; ``tables`` by name, largest first.

    ``entities`` are named things, ``merged`` the names that were taken to mean one of another name, ``mentions`` pairs
    of a name and a chunk that has it. ``tree`` is None in a file without one. ``id`` is the file's own: it stays when
    the file is moved or copied; ``addresses`` are what its own models open, if trusted: servers, folders;
    ``has_graph`` is False in a file made with ``Settings(graph=False)``, until
    ``archive.graph.build`` was called.
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
    """Overview of a file or a shelf that is quickly made: its format, how many documents, and whether it has a tree."""

    format: int
    documents: int
    has_tree: bool


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault that a check found: in which table, what, and whether a repair can repair it, or what else does."""

    table: str
    fault: str
    repairable: bool
    hint: str = ""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """Calls of a model for a file on a day.

    Parameters
    ----------
    day:
        Of UTC, as ``2026-11-23``.
    model:
        The model's key.
    purpose:
        ``embed``, ``extract``, ``summarize``, ``describe``, ``rerank``, ``rewrite`` (a question that hangs on those
        before it), ``types`` (what an answer may be), ``answer``.
    calls:
        How often it answered.
    tokens_in, tokens_out:
        What it read and wrote, as its server counts or, where that does not, by an estimate; 0 where nobody knows.
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

    ``bytes`` are those of its shards and its catalogue; ``documents_by_shard`` is in the order of the shards.
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
