"""Metadata values of all chunks in memory, one column for each key.

A comparison with any value needs no SQL if the column of its key is loaded.
"""

from __future__ import annotations

import json
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from monograph.store.documents import filters
from monograph.store.file.database import Connection
from monograph.store.vectors import vectors
from monograph.where import DATE, FIELDS, Comparison, Condition, matches

MOST_KEYS = 16
"""Maximum number of metadata keys whose values are kept in memory."""

UNDATED = np.iinfo(np.int64).min
_ORDERS = {">": np.greater, ">=": np.greater_equal, "<": np.less, "<=": np.less_equal}

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Column:
    """The values of one metadata key, each distinct value once.

    ``of_chunks``, int32 (chunks,), has the index in ``values`` of each chunk's value. The index is -1 if the chunk has
    no such key, or if its value is null. ``places`` maps each value to its index in ``values``; in ``places``, a list
    or object is written as (kind, JSON text). Values that compare as equal share one index, because no comparison
    distinguishes them.
    """

    key: str
    values: list[Any]
    places: dict[Hashable, int]
    of_chunks: npt.NDArray[np.int32]

    def compared(self, comparison: Comparison) -> Flags:
        """Return a flag for each chunk: whether its value matches a comparison.

        The comparison must be of this column's key.
        """
        flags = np.zeros(len(self.values) + 1, dtype=np.bool_)  # The last flag is for index -1.
        value = comparison.value
        if comparison.operator in ("==", "in", "!=", "nin") and value is not None:
            operands = value if isinstance(value, tuple) else (value,)
            flags[[self.places[operand] for operand in operands if operand in self.places]] = True
            if comparison.operator in ("!=", "nin"):
                flags = ~flags
        else:
            flags[:] = [matches(comparison, {self.key: distinct}) for distinct in (*self.values, None)]
        result: Flags = flags[self.of_chunks]
        return result


class Columns:
    """Columns of the chunks that have a vector, in one state of the file.

    A column is loaded when a filter first needs it.
    """

    def __init__(self, connection: Connection) -> None:
        self._chunks, self._memos = vectors.every(connection)
        self._columns: dict[str, Column] = {}
        self._dates: npt.NDArray[np.int64] | None = None  # First and last second of each chunk.

    def allowed_bits(self, connection: Connection, condition: Condition) -> npt.NDArray[np.uint8]:
        """Return a bitmap of the memo rows of the vectors whose chunks match a condition.

        Its format is that of :func:`monograph.store.vectors.vectors.allowed_bits`. ``connection`` must see the state of
        the file that these columns are for.
        """
        return vectors.bitmap(connection, self._memos[self._match(connection, condition)])

    def _match(self, connection: Connection, condition: Condition) -> Flags:
        """Return whether each chunk matches a condition, bool (n,)."""
        if isinstance(condition, Comparison):
            if condition.key == DATE:
                return self._match_date(connection, condition)
            if condition.key not in FIELDS:
                return self._load_column(connection, condition.key).compared(condition)
            rows = filters.rows(connection, filters.compile_condition(condition))
            result: Flags = np.isin(self._chunks, rows, assume_unique=True)
            return result
        is_and = condition.combiner == "and"
        flags = np.full(len(self._chunks), is_and)
        for part in condition.parts:
            part_flags = self._match(connection, part)
            flags = flags & part_flags if is_and else flags | part_flags
        return ~flags if condition.combiner == "not" else flags

    def _match_date(self, connection: Connection, comparison: Comparison) -> Flags:
        """Return whether the date of each chunk's document matches a comparison, bool (n,)."""
        if self._dates is None:
            rows = np.array(list(filters.dates_of(connection)), dtype=np.int64).reshape(-1, 3)
            self._dates = np.full((2, len(self._chunks)), UNDATED)
            has_vector = np.isin(rows[:, 0], self._chunks)
            self._dates[:, np.searchsorted(self._chunks, rows[has_vector, 0])] = rows[has_vector, 1:].T
        first, last = self._dates
        dated = first != UNDATED
        if comparison.operator == "is_empty":
            undated: Flags = ~dated
            return undated
        seconds = last if comparison.operator in (">", ">=") else first
        in_order: Flags = _ORDERS[comparison.operator](seconds, int(str(comparison.value)))
        result: Flags = dated & in_order
        return result

    def _load_column(self, connection: Connection, key: str) -> Column:
        if key in self._columns:
            return self._columns[key]
        values: list[Any] = []
        indexes: dict[Hashable, int] = {}
        index_by_chunk: dict[int, int] = {}
        for chunk, kind, value in filters.values_of(connection, key):
            if kind == "null":
                continue
            is_json = kind in ("array", "object")
            index = indexes.setdefault((kind, value) if is_json else value, len(values))
            if index == len(values):
                values.append(json.loads(str(value)) if is_json else value)
            index_by_chunk[chunk] = index
        of_chunks = np.fromiter((index_by_chunk.get(chunk, -1) for chunk in self._chunks.tolist()), dtype=np.int32)
        if len(self._columns) >= MOST_KEYS:
            self._columns = {}
        self._columns[key] = Column(key, values, indexes, of_chunks)
        return self._columns[key]
