"""Stored clusters and graphs in plain NumPy. The compiled kernel must return the same bits."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from monograph.vectors.cluster import Entries

Array = np.ndarray[Any, Any]


def checksum(data: bytes) -> int:
    """Return the checksum of bytes: a polynomial modulo 2^32 in each of 64 lanes of 32-bit words."""
    padded = data + bytes(256 - len(data) % 256)
    blocks = np.frombuffer(padded, dtype="<u4").reshape(-1, 64)
    powers = np.full(len(blocks), 0x9E3779B1, dtype=np.uint32)
    powers[-1] = 1
    powers = np.cumprod(powers[::-1], dtype=np.uint32)[::-1]
    total = len(data) & 0xFFFFFFFF
    for lane in (blocks * powers[:, None]).sum(axis=0, dtype=np.uint32).tolist():
        total = (total * 0x85EBCA77 + lane) & 0xFFFFFFFF
    return total


def _quantized(query: Array) -> tuple[Array, np.float32]:
    """Return the values as integers from -127 to 127, and their scale."""
    most = np.float32(np.abs(query).max(initial=0))
    inverse = np.float32(127) / most if most > 0 else np.float32(0)
    return np.rint(query * inverse).astype(np.int32), most / np.float32(127)


def scores(entries: Entries, query: Array) -> Array:
    """Return the scores of all entries of a cluster with codes of 8 or 2 bits."""
    whole, scale = _quantized(query)
    if entries.centre is None:
        products = (entries.codes.astype(np.int32) - 128) @ whole
        return products.astype(np.float32) * (scale * entries.scales)
    centre = entries.centre
    base = np.float32((centre.values.astype(np.int32) - 128) @ whole) * (scale * np.float32(centre.scale))
    turned, step = _whole(rotated(query[None]), 31)
    products = decoded(entries.codes, len(query)) @ turned[0]
    scores: Array = products.astype(np.float32) * (step[0] * entries.scales) + base
    return scores


def rotated(vectors: Array) -> Array:
    """Return rotated vectors.

    Each of four rounds multiplies by signs (splitmix64), then applies a Hadamard transform to ``width`` values, in turn
    the first and the last. ``width`` is the largest power of two that fits.
    """
    n, dimension = vectors.shape
    width = 1 << max(0, dimension.bit_length() - 1)
    turned = vectors.copy()
    for turn in range(4):
        turned *= [-1 if _is_negative((turn << 32) + place) else 1 for place in range(dimension)]
        some = slice(0, width) if turn % 2 == 0 else slice(max(0, dimension - width), dimension)
        part = np.ascontiguousarray(turned[:, some])
        half = 1
        while half < width:
            pairs = part.reshape(n, width // (2 * half), 2, half)
            part = np.concatenate([pairs[:, :, :1] + pairs[:, :, 1:], pairs[:, :, :1] - pairs[:, :, 1:]], axis=2)
            half *= 2
        turned[:, some] = part.reshape(turned[:, some].shape) * (np.float32(1) / np.sqrt(np.float32(width)))
    return turned


def _is_negative(place: int) -> bool:
    state = (place + 1) * 0x9E3779B97F4A7C15 % 2**64
    state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    state = (state ^ state >> 27) * 0x94D049BB133111EB % 2**64
    return not (state ^ state >> 31) & 1


def _whole(turned: Array, most: int) -> tuple[Array, Array]:
    """Return rows as integers from -most to most, and the scale of each row."""
    largest = np.abs(turned).max(axis=1, initial=0)
    coded = np.isfinite(turned).all(axis=1) & (largest > np.float32(1e-30))
    inverse = np.divide(np.float32(most), largest, out=np.zeros_like(largest), where=coded)
    scaled = np.multiply(turned, inverse[:, None], out=np.zeros_like(turned), where=coded[:, None])
    steps = np.divide(largest, np.float32(most), out=np.zeros_like(largest), where=coded)
    return np.rint(scaled).astype(np.int64), steps


def encode(vectors: Array, centre: Array, scale: float) -> tuple[Array, Array]:
    """Return the codes, 2 bits a value, and the scales of vectors relative to a centre."""
    about = (centre.astype(np.float32) - np.float32(128)) * np.float32(scale)
    whole, steps = _whole(rotated(vectors - about), 32_767)
    n, dimension = whole.shape
    codes, scales = np.zeros((n, (dimension + 15) // 16 * 8), dtype=np.uint8), np.zeros(n, dtype=np.float32)
    for row, (values, step) in enumerate(zip(whole, steps, strict=True)):
        size = np.abs(values)
        total, best = int(size.sum()), -1.0
        for cut in range(7, 13):  # Threshold for the code 3, in eighths of the mean absolute value.
            tried = size > cut * total // max(1, 8 * dimension)
            dot = total + 2 * int(size[tried].sum())
            likeness = float(dot) * float(dot) / float(max(1, dimension + 8 * int(tried.sum())))
            if likeness > best:
                best, big, dots = likeness, tried, dot
        planes = [values >= 0, big == (values >= 0)]
        padded = [np.concatenate([plane, np.zeros(-dimension % 16, dtype=bool)]) for plane in planes]
        codes[row] = np.concatenate(padded).reshape(-1, 4) @ np.array([1, 2, 4, 8], dtype=np.uint8)
        if dots > 0:
            scales[row] = float((values * values).sum()) / float(dots) * float(step)
    return codes, scales


def decoded(codes: Array, dimension: int) -> Array:
    """Return the values of 2-bit codes: -3, -1, 1 or 3."""
    bits = (codes[:, :, None] >> np.arange(4, dtype=np.uint8)) & 1
    first, second = np.split(2 * bits.reshape(len(codes), 4 * codes.shape[1]).astype(np.int64) - 1, 2, axis=1)
    return (2 * first + second)[:, :dimension]


def best(parts: list[Entries], query: Array, capacity: int, allowed: set[int] | None = None) -> list[tuple[int, float]]:
    """Return the best (id, score) of several clusters, each id once; ties are ordered by id."""
    found: dict[int, float] = {}
    for part in parts:
        for one, score in zip(part.ids.tolist(), scores(part, query).tolist(), strict=True):
            if one >= 0 and (allowed is None or one in allowed):
                found[one] = max(score, found.get(one, score))
    return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:capacity]


@dataclass
class Graph:
    """Links of each node at each level, ``links[node][level]``: at most ``2 * m`` at level 0, ``m`` above."""

    m: int
    entry: int
    links: list[list[list[int]]] = field(default_factory=list)


def read_graph(data: bytes) -> Graph:
    """Parse a stored graph."""
    n, m, entry = struct.unpack_from("<IIi", data, 4)
    rows = struct.unpack_from(f"<{n + 1}I", data, 20)
    base = 24 + 4 * n

    def links(at: int, room: int) -> list[int]:
        return [other for other in struct.unpack_from(f"<{room}i", data, at) if other >= 0]

    graph = Graph(m, entry)
    for node, (start, end) in enumerate(pairwise(rows)):
        above = [links(base + 8 * m * n + 4 * m * row, m) for row in range(start, end)]
        graph.links.append([links(base + 8 * m * node, 2 * m), *above])
    return graph


def write_graph(graph: Graph, rows: list[int] | None = None) -> bytes:
    """Return a stored graph, valid or not, with a correct checksum; ``rows`` replaces the first rows of upper links."""
    rows = rows or [0, *accumulate(len(links) - 1 for links in graph.links)]
    base: list[int] = []
    above: list[int] = []
    for links in graph.links:
        for level, row in enumerate(links):
            room = graph.m if level else 2 * graph.m
            (above if level else base).extend([*row, *[-1] * (room - len(row))])
    rest = struct.pack(f"<{len(rows)}I{len(base) + len(above)}i", *rows, *base, *above)
    return struct.pack("<4sIIiI", b"MEG1", len(graph.links), graph.m, graph.entry, checksum(rest)) + rest
