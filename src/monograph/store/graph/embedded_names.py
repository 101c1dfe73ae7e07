"""Which names are to be found by what they mean, and which of them lack the signs of their embeddings."""

from __future__ import annotations

import json

import numpy as np

from monograph.store.file.database import Connection
from monograph.store.graph.graphs import NAMED
from monograph.store.graph.names import code_size
from monograph.values import EMBEDDED_KINDS, ENTITY_KINDS

_EMBEDDED = [ENTITY_KINDS.index(kind) for kind in sorted(EMBEDDED_KINDS)]


def keys(connection: Connection) -> list[str]:
    """The keys of the living names that are embedded: of such a kind in some chunk, or what a document is about."""
    rows = {row for (row,) in connection.execute("SELECT DISTINCT name FROM subjects")}
    for (packed,) in connection.execute("SELECT names FROM chunk_graphs"):
        # What is cut off within a name is damage, and found as such.
        some = np.frombuffer(packed, dtype=NAMED, count=len(packed) // NAMED.itemsize)
        rows.update(some["name"][np.isin(some["kind"], _EMBEDDED)].tolist())
    found = connection.execute(
        """SELECT n.key FROM json_each(?) AS w CROSS JOIN names AS n WHERE n.name = w.value AND n.uses > 0
        ORDER BY n.key""",
        (json.dumps(sorted(rows)),),
    )
    return [key for (key,) in found if is_embedded(key)]


def is_embedded(key: str) -> bool:
    """Whether a name of such a kind says anything: numbers and signs alone do not."""
    return key[:1].isalpha() or any(letter.isalpha() for letter in key)


def lacking(connection: Connection, dimension: int) -> list[str]:
    """Those of these keys that have no signs of an embedding of so many values."""
    coded = {
        key for (key,) in connection.execute("SELECT key FROM names WHERE length(code) = ?", (code_size(dimension),))
    }
    return [key for key in keys(connection) if key not in coded]
