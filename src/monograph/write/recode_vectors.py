"""Vector indexes whose codes are of an earlier kind are coded anew: a batch at a time, while others read and write."""

from __future__ import annotations

from collections.abc import Sequence

from monograph.store import beside, clusters
from monograph.store.database import Connection, Database
from monograph.store.refusals import refusals
from monograph.values import OnProgress, Progress
from monograph.vectors import recode as steps
from monograph.vectors.damage import told
from monograph.vectors.index import EcoVectorIndex

VECTORS_AT_ONCE = 2_000
"""Vectors that are coded while the file is locked."""


def owed(connection: Connection, indexes: Sequence[EcoVectorIndex]) -> int:
    """Vectors of some indexes that are to be coded anew. Raises DamagedFile if an index is not what was written."""
    return sum(index.owed(connection) for index in indexes)


def recode(database: Database, indexes: Sequence[EcoVectorIndex], on_progress: OnProgress | None = None) -> int:
    """Code anew what is owed; returns how many vectors that were.

    Until an index is whole the one that was there is searched; then they are exchanged at once. Killed before the end,
    what is coded stays, and the next call goes on from there.

    Raises
    ------
    DamagedFile
        If an index or a vector is not what was written.
    ReadOnlyFile
        If something is owed, and the file is open for reading only.
    """
    with refusals(database.path):
        return sum(_recode(database, index, on_progress) for index in indexes)


def _recode(database: Database, index: EcoVectorIndex, on_progress: OnProgress | None) -> int:
    coded = 0
    while _is_due(database, index):
        _drop_before(database, index.space)
        with database.write() as connection, told(connection):
            making = steps.begin(connection, index.space, index.design)
        if making is None:
            continue
        coded += _fill(database, making, on_progress)
        with database.read() as connection, told(connection):
            calibration = steps.measure(connection, making)
        if calibration is not None:
            with database.write() as connection:
                steps.exchange(connection, making, calibration)
    return coded


def _is_due(database: Database, index: EcoVectorIndex) -> bool:
    with database.read() as connection:
        begun = clusters.header(connection, index.space + clusters.BESIDE) is not None
        left = beside.has_before(connection, index.space)
        return begun or left or index.owed(connection) > 0


def _fill(database: Database, making: steps.Making, on_progress: OnProgress | None) -> int:
    """Put into an index in the making what it lacks. What comes and goes meanwhile, it gets from who writes."""
    with database.read() as connection:
        lacking = beside.lacking(connection, making.space)
        total = clusters.count(connection, clusters.number_of(connection, making.space))
    before = max(0, total - len(lacking))
    for first in range(0, len(lacking), VECTORS_AT_ONCE):
        some = lacking[first : first + VECTORS_AT_ONCE].tolist()
        with database.write() as connection, told(connection):
            if not steps.code(connection, making, some):
                return first
        if on_progress is not None:
            done = before + first + len(some)
            on_progress(Progress("codes", done, max(done, total), "vectors"))
    return len(lacking)


def _drop_before(database: Database, space: int) -> None:
    """Take out what is left of an index whose place was taken."""
    left = True
    while left:
        with database.read() as connection:
            left = beside.has_before(connection, space)
        if left:
            with database.write() as connection:
                beside.drop_some(connection, space)
