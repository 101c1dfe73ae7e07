import numpy as np
import numpy.typing as npt

Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

ENOUGH: int
ALL: int
PAUSED: int

class DamagedBytes(Exception):
    """Stored bytes have a wrong checksum or layout."""

def levels() -> list[str]:
    """Return the names of the instruction sets that this processor and the kernel support, best first."""

def use_level(name: str) -> None:
    """Use the instruction set of this name, one of :func:`levels`. The default is the best."""

def checksum(data: bytes) -> int:
    """Return a 32-bit checksum, computed at memory speed. A change of any one aligned 4-byte word changes it."""

def top_k(vectors: Float32, query: Float32, k: int, allowed: Bytes | None = None) -> tuple[Int64, Float32]:
    """Return (rows, products) of the k rows with the highest inner product with a query: highest first, ties by row.

    ``vectors`` is (n, dimension), ``query`` is (dimension,), finite. Rows whose byte in ``allowed`` (n,) is 0 are left
    out.
    """

def nearest_signs(table: Float32, codes: Bytes, k: int) -> tuple[Int64, Float32]:
    """Return (indexes, scores) of the codes with the highest scores for each vector: highest first, ties by index.

    Both are (vectors, min(k, codes)). The score of a code, ``codes`` (codes, bytes), is the sum over its bytes of
    ``table`` (vectors, bytes, 256) at the value of the byte.
    """

def encode(vectors: Float32, centre: Bytes, scale: float) -> tuple[Bytes, Float32]:
    """Return (2-bit codes, scales (n,)) of the differences of vectors (n, dimension) to (centre - 128) * scale.

    Codes are uint8 (n, 2 * groups), with a half byte in each byte. The number of groups is dimension / 4, rounded up to
    a multiple of four.
    """

class Pool:
    """The ``capacity`` best results of one search so far, nearest first, ties by id. Each id is kept once."""

    def __init__(self, capacity: int) -> None: ...
    @property
    def filled(self) -> int: ...
    @property
    def scores(self) -> Float32: ...
    @property
    def ids(self) -> Int64: ...

def scan(
    bodies: list[bytes],
    query: Float32,
    pool: Pool,
    k: int = 0,
    allowed: Bytes | None = None,
    trusted: bool = False,
) -> tuple[list[int], int]:
    """Compare a query with every vector of one cluster, and merge the nearest into the pool.

    Parameters
    ----------
    bodies:
        The cluster's parts, as stored.
    query:
        (dimension,), finite. For 8-bit codes it is scaled and rounded to integers from -127 to 127.
    k:
        Ranks below k are returned.
    allowed:
        Bitmap of the ids that may be found: bit i of byte j stands for id 8j + i. None allows all.
    trusted:
        Whether to skip the checksums of 8-bit codes and graphs, because the bytes were verified before and have been in
        memory since.

    Returns
    -------
    (ranks below k of the new results, ascending; number of vectors compared).

    Raises
    ------
    DamagedBytes
        If a part is damaged.
    """

def walk(
    body: bytes,
    graph: bytes,
    query: Float32,
    pool: Pool,
    k: int,
    ef: int,
    allowed: Bytes | None = None,
    trusted: bool = False,
) -> tuple[list[int], int]:
    """Search one cluster by its graph, with ``ef`` candidates (1 or more). Otherwise as :func:`scan`."""

def graph_check(body: bytes, graph: bytes) -> None:
    """Raise DamagedBytes if a checksum, a level, the entry or a link of a cluster's graph is wrong.

    The links of a node at a level must lead to distinct other nodes that have this level.
    """

def graph_insert(body: bytes, graph: bytes | None, m: int, ef: int, alpha: float = 1.0) -> bytes:
    """Insert the rows of a cluster that a graph lacks, one by one, and return the new graph (MobileRAG, Alg. 1).

    The level of a row is a function of its id, and is at least l with probability M^-l. So equal rows give equal
    graphs.

    Parameters
    ----------
    body:
        The cluster. The rows that the graph has already come first.
    graph:
        The present graph; None to start a new one.
    m:
        Most links of a node at the upper levels, 2 to 256; twice as many at level 0. An existing graph keeps its m.
    ef:
        Number of candidates from which the links of a node are chosen, 1 or more.
    alpha:
        1 or more. Larger values keep more links to far nodes (RobustPrune).
    """

def graph_remove(body: bytes, graph: bytes, rows: list[int], ef: int, alpha: float = 1.0) -> bytes:
    """Remove rows from a graph, and return the new graph (MobileRAG, Alg. 2).

    The remaining rows are renumbered from 0, in order.
    """

class Arena:
    """Cache of clusters of 2-bit codes, and of the 8-bit codes of single vectors.

    Threads may add to it while others search. ``centroids`` are the stored 8-bit codes of the centroids. Their ids are
    the clusters' numbers, ascending.
    """

    def __init__(self, centroids: bytes) -> None: ...
    @property
    def size(self) -> int:
        """Bytes of the cached clusters and codes."""

    def keep(self, cluster: int, bodies: list[bytes], most: int = ...) -> bool:
        """Cache all parts of a cluster unless the arena would exceed ``most`` bytes; return whether it is cached."""

    def remember(self, bodies: list[bytes]) -> None:
        """Cache the 8-bit codes of vectors, given as bodies of one entry each."""

class Course:
    """Search of one query in the clusters of an arena, nearest first. It releases the interpreter lock while it runs.

    Parameters
    ----------
    query:
        (dimension,), finite.
    pool:
        Results, updated in place. An id keeps its highest estimate.
    k:
        Number of results: the search does not end before k are found.
    weights, epsilon, window, most:
        The stop rule: see :class:`monograph.vectors.stop.StopRule`.
    allowed:
        As for :func:`scan`.
    """

    def __init__(
        self,
        arena: Arena,
        query: Float32,
        pool: Pool,
        k: int,
        weights: Float64,
        epsilon: float,
        window: int,
        most: int,
        allowed: Bytes | None = None,
    ) -> None: ...
    def run(self, loads: int = ...) -> int:
        """Continue the search, for at most ``loads`` clusters.

        Returns
        -------
        ENOUGH (the stop rule ended it), ALL (every cluster was searched), PAUSED (after ``loads`` clusters), or the
        number of the next cluster, if the arena does not have it and :meth:`bring` did not provide it.

        Raises
        ------
        DamagedBytes
            If the next cluster was provided by :meth:`bring` and is damaged.
        """

    def bring(self, clusters: dict[int, list[bytes]]) -> None:
        """Provide all parts of clusters, by number, for the next calls of :meth:`run`, in place of earlier ones."""

    def ahead(self, count: int) -> list[int]:
        """Return the numbers of the clusters among the next ``count`` that the arena does not have."""

    def rank_by_value(self, most: int, bodies: list[bytes]) -> list[int]:
        """Rank the results by 8-bit codes, and keep the best ``most``.

        ``bodies`` are codes that the arena has not cached, with one entry each. Returns the ids whose codes are
        missing; if there are any, nothing is changed.
        """

    @property
    def spent(self) -> list[int]:
        """Numbers of the clusters of the last :meth:`bring` that have been searched, in order of search."""

    @property
    def sure(self) -> int:
        """Least number of further loads before the rule can end the search."""

    @property
    def ranks(self) -> list[int]:
        """Ranks below k of the new results of the last load, ascending."""

    @property
    def loads(self) -> int: ...
    @property
    def compared(self) -> int: ...
