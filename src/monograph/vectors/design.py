"""The two designs of a vector index, and the numbers stored with it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias, get_args

from monograph.errors import InputError
from monograph.values import arguments

Kind: TypeAlias = Literal["codes", "graph"]
KINDS: tuple[Kind, ...] = get_args(Kind)

MANY = 5_000
"""Vectors from which on searches may stop early; the codes design compares every vector below."""


MOST_LINKS = 256
"""Most links of a node that a stored graph may have."""


@dataclass(frozen=True, slots=True)
class Design:
    """Design with which an index is built.

    Parameters
    ----------
    kind:
        ``"codes"``: clusters hold codes of two bits a value, and are scanned; the best are compared again by codes of
        a byte a value, which are stored once a vector. ``"graph"`` (EcoVector): clusters hold codes of a byte a value
        and a small HNSW graph; the centroids have a graph in memory.
    cluster_size:
        Vectors a centroid stands for.
    exact_below:
        With fewer vectors, the codes design has no clusters: a search compares every vector.
    links:
        M of every graph: most links a node at the upper levels.
    ef_construction:
        Candidates from which links are chosen.
    alpha:
        Of RobustPrune.

    Raises
    ------
    InputError
        If a value is out of range.
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
            if not number >= least:  # Nor is it "not a number".
                raise InputError(f"{name} is {number:g}", f"give at least {least}")
        if self.links > MOST_LINKS:
            raise InputError(f"links is {self.links}", f"give at most {MOST_LINKS}")

    @property
    def has_graphs(self) -> bool:
        """Whether the centroids and each cluster have a graph."""
        return self.kind == "graph"

    @property
    def copies(self) -> int:
        """Clusters that a vector is put into: two in the codes design (SOAR)."""
        return 1 if self.has_graphs else 2

    @property
    def widths(self) -> tuple[int, ...]:
        """Factor by which a search may keep more than k results, for the errors of codes; the calibration chooses."""
        return (0,) if self.has_graphs else (1, 2, 4, 8, 16)

    @property
    def usual_entries(self) -> int:
        """Entries of a cluster of the usual size."""
        return self.cluster_size * self.copies

    def has_clusters(self, vectors: int) -> bool:
        """Whether an index of so many vectors has clusters."""
        return vectors > 0 and (self.has_graphs or vectors >= self.exact_below)

    def to_json(self) -> str:
        """Return the design as stored JSON."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Design:
        """Return the design from stored JSON."""
        return cls(**json.loads(text))


DESIGNS: dict[Kind, Design] = {"codes": Design(), "graph": Design("graph", cluster_size=250)}
"""The designs that files are made with."""


def design_of(kind: str) -> Design:
    """Return the design of a name. Raises InputError if there is none."""
    for known, design in DESIGNS.items():
        if kind == known:
            return design
    raise InputError(f"vector_index is {arguments.shown(kind)}", f"give one of {', '.join(KINDS)}")


@dataclass(frozen=True, slots=True)
class Space:
    """An index of a file by the number of its space, and how it is built."""

    number: int
    design: Design
    dimension: int
