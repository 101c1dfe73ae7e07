"""The two designs of a vector index, and their parameters."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias, get_args

from monograph.errors import InputError
from monograph.values import arguments

Kind: TypeAlias = Literal["codes", "graph"]
KINDS: tuple[Kind, ...] = get_args(Kind)

MANY = 5_000
"""Number of vectors from which a search may stop early. With fewer vectors, the codes design compares every vector."""


MOST_LINKS = 256
"""Largest M that a stored graph may have. M is the largest number of links of a node at the upper levels."""


@dataclass(frozen=True, slots=True)
class Design:
    """Design of an index.

    Parameters
    ----------
    kind:
        ``"codes"``: clusters contain 2-bit codes (two bits for each value of a vector). A search compares the query
        with all codes of a cluster. It then compares the best results again by 8-bit codes, which are stored once for
        each vector.

        ``"graph"`` (EcoVector): clusters contain 8-bit codes and a small HNSW graph. The centroids have a graph in
        memory.
    cluster_size:
        Average number of vectors for each centroid when the index is built.
    exact_below:
        With fewer vectors, the codes design has no clusters: a search compares every vector.
    links:
        M of every HNSW graph: the maximum number of links of a node at the upper levels. At level 0 it is twice this
        number.
    ef_construction:
        Number of candidates from which the links of a new node are chosen.
    alpha:
        Parameter of RobustPrune, 1 or more: larger values keep more links to far nodes.

    Raises InputError if a value is out of range.
    """

    kind: Kind = "codes"
    cluster_size: int = 100
    exact_below: int = MANY
    links: int = 16
    ef_construction: int = 100
    alpha: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"kind is {arguments.shown(self.kind)}", f"give one of {', '.join(KINDS)}")
        for name, number, least in (
            ("cluster_size", self.cluster_size, 8),
            ("exact_below", self.exact_below, 0),
            ("links", self.links, 2),
            ("ef_construction", self.ef_construction, 1),
            ("alpha", self.alpha, 1),
        ):
            if not number >= least:  # "not number >= least" also rejects NaN.
                raise InputError(f"{name} is {number:g}", f"give at least {least}")
        if self.links > MOST_LINKS:
            raise InputError(f"links is {self.links}", f"give at most {MOST_LINKS}")

    @property
    def has_graphs(self) -> bool:
        """Whether the centroids and each cluster have a graph."""
        return self.kind == "graph"

    @property
    def copies(self) -> int:
        """Number of clusters that contain each vector: two in the codes design (SOAR), one in the graph design."""
        return 1 if self.has_graphs else 2

    @property
    def widths(self) -> tuple[int, ...]:
        """Widths that are measured by the calibration, which chooses one of them.

        A search with width w keeps w * k results in addition to its k, because 2-bit codes rank inexactly.
        """
        return (0,) if self.has_graphs else (1, 2, 4, 8, 16)

    @property
    def mean_entries(self) -> int:
        """Average number of entries of a cluster.

        It is ``cluster_size``, times the number of clusters that contain each vector.
        """
        return self.cluster_size * self.copies

    def has_clusters(self, vectors: int) -> bool:
        """Return whether an index of this number of vectors has clusters."""
        return vectors > 0 and (self.has_graphs or vectors >= self.exact_below)

    def to_json(self) -> str:
        """Return the design as JSON, as it is stored in the file."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Design:
        """Return the design that :meth:`to_json` wrote."""
        return cls(**json.loads(text))


DESIGNS: dict[str, Design] = {"codes": Design(), "graph": Design("graph", cluster_size=250)}
"""The default design of each kind, by the name of the kind."""


def design_of(kind: str) -> Design:
    """Return the default design of a kind, by its name. Raises InputError for an unknown name."""
    if kind not in KINDS:  # A tuple: a value that cannot be hashed is refused, too.
        raise InputError(f"vector_index is {arguments.shown(kind)}", f"give one of {', '.join(KINDS)}")
    return DESIGNS[kind]


@dataclass(frozen=True, slots=True)
class Space:
    """Set of vectors that has an index of its own in the file.

    ``number`` is the number of the space: ``CHUNKS`` or ``SUMMARIES`` of :mod:`monograph.store.vectors.clusters`.
    ``design`` is the design of the index, ``dimension`` the dimension of the vectors.
    """

    number: int
    design: Design
    dimension: int
