"""Cost models of an index from MobileRAG (section 3.4, tables 1 and 2), with errata corrected.

Corrections: a node reaches level l with probability M^-l, so p0 = 1/M; an index that loads clusters needs memory for a
whole cluster, not one vector; HNSWPQ's links count once; 500 cycles at 2.4 GHz are 2.08e-4 ms; currents are in mA.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

Algorithm: TypeAlias = Literal[
    "IVF", "IVFPQ", "HNSW", "HNSWPQ", "IVF-DISK", "IVFPQ-DISK", "IVF-HNSW", "EcoVector", "Monograph"
]
ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)
"""The paper's algorithms, in its order, then ours: it scans clusters with one byte per value, each vector in two."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The size of an index, and how it is searched.

    Parameters
    ----------
    vectors, dimension:
        N and d.
    clusters:
        Nc.
    probes:
        nP: clusters searched per query.
    links:
        M of a graph of all vectors.
    small_links:
        M' of a graph of the centroids or of one cluster.
    ef, ef_centroids, ef_cluster:
        Candidates kept during a search: in a graph of all vectors, of the centroids, and of one cluster.
    subvectors, bits:
        Mpq and nbits of product quantisation.
    copies:
        Clusters in which Monograph stores a vector.
    """

    vectors: int
    dimension: int
    clusters: int
    probes: float
    links: int = 16
    small_links: int = 8
    ef: int = 64
    ef_centroids: int = 32
    ef_cluster: int = 40
    subvectors: int = 16
    bits: int = 8
    copies: int = 2

    @property
    def list_length(self) -> float:
        """N / Nc, the mean number of vectors in a cluster."""
        return self.vectors / max(1, self.clusters)

    @property
    def quantised(self) -> float:
        """Bytes of a vector under product quantisation."""
        return self.subvectors * self.bits / 8

    @property
    def codebook(self) -> float:
        """Bytes of the codebook."""
        return 2.0**self.bits * 4 * self.dimension


@dataclass(frozen=True, slots=True)
class Device:
    """The paper's phone: ms of a distance of 128 values, a seek, a command and a byte; currents in mA; volts."""

    distance: float = 500 / 2.4e6
    seek: float = 0.025
    command: float = 0.015
    transfer: float = 3.6e-7
    current_compute: float = 2300.0
    current_disk: float = 800.0
    voltage: float = 4.0


PHONE = Device()


@dataclass(frozen=True, slots=True)
class Latency:
    """Expected time of a query in ms: for computing, and for reading from disk."""

    compute: float
    disk: float

    @property
    def total(self) -> float:
        """Time for both."""
        return self.compute + self.disk


def _links(m: int) -> float:
    """Return the bytes of a node's links over all levels: 4 M / (1 - p0), p0 = 1 / M."""
    return 4 * m / (1 - 1 / m)


def memory(algorithm: Algorithm, shape: Shape) -> float:
    """Return the bytes in memory during a search (table 1)."""
    n, d = shape.vectors, shape.dimension
    coarse, ids = shape.clusters * 4 * d, 8 * n
    small = _links(shape.small_links)
    return {
        "IVF": coarse + ids + n * 4 * d,
        "IVFPQ": coarse + ids + n * shape.quantised + shape.codebook,
        "HNSW": n * (4 * d + _links(shape.links)),
        "HNSWPQ": n * (shape.quantised + _links(shape.links)) + shape.codebook,
        "IVF-DISK": coarse + ids + loaded("IVF-DISK", shape),
        "IVFPQ-DISK": coarse + ids + loaded("IVFPQ-DISK", shape) + shape.codebook,
        "IVF-HNSW": coarse + shape.clusters * small + ids + loaded("IVF-HNSW", shape),
        "EcoVector": coarse + shape.clusters * small + ids + loaded("EcoVector", shape),
        # Centroids as float32 and as codes of a byte per value, each with name, id, scale and bias. Ids are on disk.
        "Monograph": shape.clusters * (5 * d + 24) + loaded("Monograph", shape),
    }[algorithm]


def loaded(algorithm: Algorithm, shape: Shape) -> float:
    """Return the bytes of one load, which is a whole cluster; 0 for an index that is all in memory."""
    return {
        "IVF-DISK": shape.list_length * 4 * shape.dimension,
        "IVFPQ-DISK": shape.list_length * shape.quantised,
        "IVF-HNSW": shape.list_length * 4 * shape.dimension,
        "EcoVector": shape.list_length * (4 * shape.dimension + _links(shape.small_links)),
        "Monograph": shape.copies * shape.list_length * (shape.dimension + 16),
    }.get(algorithm, 0.0)


def distances(algorithm: Algorithm, shape: Shape) -> float:
    """Return the distances computed per query (table 2), in distances of whole vectors."""
    share = shape.subvectors / shape.dimension * shape.bits / 8
    scanned = shape.probes * shape.list_length
    return {
        "IVF": shape.clusters + scanned,
        "IVFPQ": shape.clusters + scanned * share + 2.0**shape.bits,
        "HNSW": shape.ef * shape.links,
        "HNSWPQ": shape.ef * shape.links * share + 2.0**shape.bits,
        "IVF-DISK": shape.clusters + scanned,
        "IVFPQ-DISK": shape.clusters + scanned * share + 2.0**shape.bits,
        "IVF-HNSW": shape.ef_centroids * shape.small_links + scanned,
        "EcoVector": shape.ef_centroids * shape.small_links + shape.probes * shape.ef_cluster * shape.small_links,
        # One byte per value instead of four: a quarter of the work.
        "Monograph": (shape.clusters + shape.copies * scanned) / 4,
    }[algorithm]


def latency(algorithm: Algorithm, shape: Shape, device: Device = PHONE) -> Latency:
    """Return the expected time of a query: t_s = n t_op; if it loads, t_d = nP (T_seek + T_cmd + bytes T_transfer)."""
    compute = distances(algorithm, shape) * device.distance * shape.dimension / 128
    size = loaded(algorithm, shape)
    disk = shape.probes * (device.seek + device.command + size * device.transfer) if size else 0.0
    return Latency(compute, disk)


def energy(spent: Latency, device: Device = PHONE) -> float:
    """Return the expected energy of a query in µJ: E = V (I_s t_s + I_d t_d)."""
    return device.voltage * (device.current_compute * spent.compute + device.current_disk * spent.disk)
