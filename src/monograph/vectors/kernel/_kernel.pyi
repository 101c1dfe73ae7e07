from collections.abc import Sequence

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
    """Stored bytes are not what was written."""

def levels() -> list[str]:
    """Return the instruction sets of this processor that there is code for, best first."""

def use_level(name: str) -> None:
    """Use one of them; the best is used otherwise."""

def checksum(data: bytes) -> int:
    """Return a checksum of 32 bits that runs as fast as memory; a change of one aligned word of 4 bytes changes it."""

def top_k(vectors: Float32, query: Float32, k: int, allowed: Bytes | None = None) -> tuple[Int64, Float32]:
    """Return the k rows of highest inner product with a query, and the products: highest first, then by row.

    ``vectors`` is (n, dimension), ``query`` (dimension,), finite. A row whose byte of ``allowed`` (n,) is 0 is out.
    """

def nearest_signs(table: Float32, codes: Bytes, k: int) -> tuple[Int64, Float32]:
    """Return the codes of highest score and their scores, (vectors, min(k, codes)): highest first, ties by place.

    ``table`` (vectors, bytes, 256) holds what each value of each byte of a code adds; ``codes`` is (codes, bytes).
    """

def encode(vectors: Float32, centre: Bytes, scale: float) -> tuple[Bytes, Float32]:
    """Return codes of two bits a value of vectors (n, dimension) less (centre - 128) * scale, and their scales (n,).

    Codes are uint8 (n, 2 * groups), a half byte in each; groups is dimension / 4, rounded up to a multiple of four.
    """

class Pool:
    """The best results of one search so far, nearest first, ties by id; an id that comes twice is kept once."""

    def __init__(self, capacity: int) -> None: ...
    @property
    def filled(self) -> int: ...
    @property
    def scores(self) -> Float32: ...
    @property
    def ids(self) -> Int64: ...

def scan(
    bodies: Sequence[bytes],
    query: Float32,
    pool: Pool,
    k: int = 0,
    allowed: Bytes | None = None,
    trusted: bool = False,
) -> tuple[list[int], int]:
    """Compare a query with every vector of one cluster, and merge what is near into the pool.

    Parameters
    ----------
    bodies:
        The cluster's parts, as stored.
    query:
        (dimension,), finite. For codes of a byte it is brought to whole numbers from -127 to 127.
    allowed:
        Bitmap of the ids that may be found: bit i of byte j stands for id 8j + i. None allows all.
    trusted:
        Whether the bytes were held against their checksums before, and in memory since.

    Returns
    -------
    (ranks below k at which new results stand, ascending; vectors compared).
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
    """Search one cluster by its graph; otherwise as :func:`scan`. ``ef`` nodes are kept in view, at least 1."""

def graph_check(body: bytes, graph: bytes) -> None:
    """Raise DamagedBytes unless checksums match and every link leads to another node that has its level, once."""

def graph_insert(body: bytes, graph: bytes | None, m: int, ef: int, alpha: float = 1.0) -> bytes:
    """Add to a graph the rows of a cluster that it does not hold yet, one by one (MobileRAG, Alg. 1).

    The level of a row follows from its id: at least l with probability M^-l, so that the same rows make the same graph.

    Parameters
    ----------
    body:
        The cluster, with the rows that the graph holds first.
    graph:
        The graph so far; None begins one.
    m:
        Most links of a node at the upper levels, 2 to 256; twice as many at level 0. A graph keeps its own.
    ef:
        Candidates a node's links are chosen from, 1 or more.
    alpha:
        1 or more: the larger, the more far links stay (RobustPrune).
    """

def graph_remove(body: bytes, graph: bytes, rows: list[int], ef: int, alpha: float = 1.0) -> bytes:
    """Return a graph without some rows of its cluster, numbered as the cluster is without them (MobileRAG, Alg. 2)."""

class Arena:
    """Clusters of codes of two bits, and codes of a byte, that stay in memory, while other threads search.

    ``centroids`` are codes of a byte, as stored, whose ids are the clusters' numbers.
    """

    def __init__(self, centroids: bytes) -> None: ...
    @property
    def size(self) -> int:
        """Bytes of what is kept."""

    def keep(self, cluster: int, bodies: list[bytes], most: int = ...) -> bool:
        """Keep all parts of a cluster unless that takes more than ``most`` bytes in all; return whether it is there."""

    def remember(self, bodies: list[bytes]) -> None:
        """Keep codes of a byte a value, a body of one entry each."""

class Course:
    """One query's way through the clusters of an arena, nearest first. The interpreter lock is released meanwhile.

    Parameters
    ----------
    query:
        (dimension,), finite.
    pool:
        Results so far: filled in place, an id with its highest estimate.
    k:
        Results that are wanted: no search ends before so many are found.
    weights, epsilon, window, most:
        When it ends then: see :class:`monograph.vectors.stop.Rule`.
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
        """Go on, for so many loads at most.

        Returns
        -------
        ENOUGH, ALL (every cluster was searched), PAUSED, or which cluster is wanted that is neither in the arena nor
        was brought. Raises DamagedBytes when the turn of a brought cluster comes that is damaged.
        """

    def bring(self, clusters: dict[int, list[bytes]]) -> None:
        """Take all parts of clusters, by number, until they are searched; those that were brought before are let go."""

    def ahead(self, count: int) -> list[int]:
        """Return which of the next clusters the arena does not hold."""

    def rank_by_value(self, most: int, bodies: list[bytes]) -> list[int]:
        """Put what was found into the order of scores by codes of a byte, and keep the best ``most``.

        ``bodies`` are those codes that the arena does not remember, of one entry each. Returns ids whose codes are
        missing; then nothing was changed.
        """

    @property
    def spent(self) -> list[int]:
        """Those of the clusters that were brought last that were searched, in their order."""

    @property
    def sure(self) -> int:
        """How many loads follow at least, whatever they bring, if there are so many clusters."""

    @property
    def ranks(self) -> list[int]:
        """Ranks below k at which the last load brought new results."""

    @property
    def firsts(self) -> list[int]:
        """Of every load, the best rank below k at which it brought a new result; k where it brought none."""

    @property
    def loads(self) -> int: ...
    @property
    def compared(self) -> int: ...
