"""How a vector index is built: the numbers that are stored with it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Literal, TypeAlias, get_args

from monograph.errors import InputError
from monograph.vectors.cluster import COMPACT, PRECISIONS, Metric, Precision

ClusterSearch: TypeAlias = Literal["auto", "scan", "graph"]
Codes: TypeAlias = Precision | Literal["auto"]

MANY = 5_000
"""Vectors from which on searches may stop early: below, seeing every cluster takes less than half a millisecond."""
REBUILT_AT_ONCE = 20_000
"""Vectors from which on an index is coded anew only when that is asked for: fewer take a second within a write."""


@dataclass(frozen=True, slots=True)
class Design:
    """How an index is built.

    Parameters
    ----------
    metric:
        ``"cosine"`` (vectors are brought to unit length), ``"inner_product"`` or ``"l2"``.
    precision:
        Of the codes in the clusters: ``"int8"``, ``"float16"`` or ``"float32"``, or one or two bits a value,
        ``"bits1"`` or ``"bits2"``. Those say which vectors may be near; these are then compared by codes of a byte a
        value, which lie apart. ``"auto"`` is ``"int8"`` while every cluster is searched, so that what is found is a
        function of the vectors alone, and ``"bits2"`` once there are :data:`MANY` vectors.
    cluster_size:
        Vectors a centroid stands for.
    double:
        Whether a vector is put into a second cluster too (SOAR).
    cluster_search:
        ``"scan"`` compares all of a cluster, ``"graph"`` walks a graph of it (the paper's way), ``"auto"`` walks where
        that is faster: from ``graph_from`` entries on.
    graph_from:
        See ``cluster_search``.
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

    metric: Metric = "cosine"
    precision: Codes = "auto"
    cluster_size: int = 100
    double: bool = True
    cluster_search: ClusterSearch = "auto"
    graph_from: int = 2_000
    links: int = 16
    ef_construction: int = 100
    alpha: float = 1.0

    def __post_init__(self) -> None:
        for name, value, known in (
            ("metric", self.metric, get_args(Metric)),
            ("precision", self.precision, ("auto", *PRECISIONS, *COMPACT)),
            ("cluster_search", self.cluster_search, get_args(ClusterSearch)),
        ):
            if value not in known:
                raise InputError(f"{name} is {value!r}", f"give one of {', '.join(known)}")
        if self.compact and self.cluster_search == "graph":
            raise InputError("clusters of bits have no graph", 'give cluster_search="auto", or precision="int8"')
        for name, number, least in (
            ("cluster_size", self.cluster_size, 8),
            ("graph_from", self.graph_from, 1),
            ("links", self.links, 2),
            ("ef_construction", self.ef_construction, 1),
            ("alpha", self.alpha, 1),
        ):
            if number < least:
                raise InputError(f"{name} is {number:g}", f"give at least {least}")

    @property
    def compact(self) -> bool:
        """Whether codes are of bits: about the centre of the cluster that they are in."""
        return self.precision in COMPACT

    def grown(self, vectors: int) -> Design:
        """The design of an index that has come to hold so many vectors."""
        waits = self.precision == "auto" and self.cluster_search != "graph"
        return replace(self, precision="bits2") if waits and vectors >= MANY else self

    def supersedes(self, held: Design, vectors: int) -> bool:
        """Whether an index of so many vectors differs from one of this design by its codes of a byte alone."""
        older = held.coded == "int8" and replace(held, precision=self.precision) == self
        return older and self.grown(vectors).compact

    @property
    def coded(self) -> Precision:
        """Of the codes in the clusters, by now."""
        return "int8" if self.precision == "auto" else self.precision

    @property
    def widths(self) -> tuple[int, ...]:
        """How many times k more results a search may keep, for the codes' own errors; the calibration chooses."""
        return {"bits1": (8, 16, 32), "bits2": (1, 2, 4, 8, 16)}.get(self.precision, (0,))

    @property
    def by_value(self) -> Precision:
        """Of the codes that are the same in whichever cluster a vector lies."""
        return "int8" if self.compact else self.coded

    @property
    def usual_entries(self) -> int:
        """Entries of a cluster of the usual size."""
        return self.cluster_size * (2 if self.double else 1)

    @property
    def walked_from(self) -> int:
        """Entries from which on a cluster has a graph."""
        if self.cluster_search == "scan" or self.compact:
            return 1 << 62
        return 0 if self.cluster_search == "graph" else self.graph_from

    def to_json(self) -> str:
        """As it is stored."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Design:
        """As it was stored."""
        return cls(**json.loads(text))


DEFAULT_DESIGN = Design()


@dataclass(frozen=True, slots=True)
class Space:
    """An index of a file by the number of its space, and how it is built."""

    number: int
    design: Design
    dimension: int
