"""The vectors of chunks, made where the memo lacks them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from monograph import telemetry
from monograph.errors import InvalidDocument
from monograph.models import Embedder, is_paid
from monograph.store.file import memo
from monograph.store.file.database import Connection
from monograph.store.vectors.vectors import pack
from monograph.write.pipeline import Pipeline
from monograph.write.prepare import Prepared, Vectored
from monograph.write.remember import NOTHING, remember

EMBEDDED_AT_ONCE = 256
"""Texts given to the embedder before their vectors are remembered: what a crash can cost."""

PAID_AT_ONCE = 32
"""The same, where a text may cost something: what is paid for is remembered with every request."""


def at_once(embedder: Embedder) -> int:
    """So many texts are given to an embedder before their vectors are remembered."""
    return PAID_AT_ONCE if is_paid(embedder) else EMBEDDED_AT_ONCE


@dataclass(frozen=True, slots=True)
class Embedded:
    """How many texts the embedder was given, and how many vectors the memo held already."""

    embedded: int
    remembered: int


def missing(connection: Connection, batch: Sequence[Prepared]) -> list[Vectored]:
    """The vectors of a batch that the memo does not hold, each key once."""
    wanted = {vector.key: vector for prepared in batch for vector in prepared.vectors}
    held = memo.rows(connection, memo.VECTOR, list(wanted))
    return [vector for key, vector in wanted.items() if key not in held]


@telemetry.traced("monograph.derive.vectors")
def remember_vectors(
    pipeline: Pipeline,
    batch: Sequence[Prepared],
    made: Mapping[bytes, bytes] = NOTHING,
    waiting: dict[bytes, bytes] | None = None,
) -> Embedded:
    """Make the vectors that the memo lacks, and remember each group of them as soon as it exists.

    Parameters
    ----------
    made:
        Packed vectors by key that were made ahead.
    waiting:
        Gets those that need not be remembered at once, by key; None to remember all.
    """
    with pipeline.database.read() as connection:
        lacking = missing(connection, batch)
    if waiting is not None:
        lacking = [vector for vector in lacking if vector.key not in waiting]
    asked = len({vector.key for prepared in batch for vector in prepared.vectors})
    given = [(vector.key, pack(vector.given), 0) for vector in lacking if vector.given is not None]
    ready = [(vector.key, made[vector.key], 0) for vector in lacking if vector.given is None and vector.key in made]
    texts = [vector for vector in lacking if vector.given is None and vector.key not in made]
    remember(pipeline.database, memo.VECTOR, given + ready, waiting)
    most = at_once(pipeline.embedder)
    for first in range(0, len(texts), most):
        group = texts[first : first + most]
        vectors = embedded(pipeline.embedder, [vector.text for vector in group])
        values = [(one.key, value, 0) for one, value in zip(group, vectors, strict=True)]
        remember(pipeline.database, memo.VECTOR, values, waiting if pipeline.embeds_quickly else None)
    return Embedded(embedded=len(ready) + len(texts), remembered=asked - len(lacking))


def embedded(embedder: Embedder, texts: Sequence[str]) -> list[bytes]:
    """The packed vectors of texts.

    Raises
    ------
    InvalidDocument
        If the embedder gives anything but a finite vector of its dimension for each.
    """
    made = embedder.embed(texts, "document")
    if made.shape != (len(texts), embedder.dimension) or not np.isfinite(made).all():
        raise InvalidDocument(
            f"the embedder {embedder.key!r} returned shape {made.shape}, or values that are not finite",
            f"it must return {len(texts)} finite rows of {embedder.dimension}",
        )
    return [pack(vector) for vector in made]
