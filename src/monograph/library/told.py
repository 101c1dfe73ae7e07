"""What callers tell of named things: written, read, taken back and found by what it means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from monograph import where as filters
from monograph.errors import InputError
from monograph.library.opened import OpenFile
from monograph.store import told
from monograph.store.told_changes import Ends
from monograph.values import Float32, Report, ToldNode, ToldRelation, arguments, inner_products
from monograph.write import tell as telling

_AT_ONCE = 64
"""Nodes that are read together, of those that are nearest."""


class Telling:
    """Nodes and relations that no chunk need say, each with the texts that do, told and taken back."""

    def tell(
        self, nodes: Iterable[ToldNode] = (), relations: Iterable[ToldRelation] = (), *, missing_ok: bool = False
    ) -> None:
        """Store nodes and relations, all of them or, on an error, none.

        What an origin said of the same node, or of the same relation of two nodes, it says no more; what others said
        stays, and is laid under: of properties, labels and names the one that was told last counts. A node that only a
        relation names is there with that. What an origin says goes with the chunk or document.

        Parameters
        ----------
        nodes, relations:
            Any number.
        missing_ok:
            Pass over origins that the file does not hold.

        Raises
        ------
        InputError, InvalidDocument
            If a text, an embedding or properties cannot be stored.
        NotFound
            If an origin is neither a chunk nor a document of the file, and that is not allowed.
        OutsideView
            If one has no origin, and this is a view.
        """
        self._tell(list(nodes), list(relations), missing_ok=missing_ok)

    def untell(
        self,
        nodes: Iterable[str] = (),
        relations: Iterable[tuple[str, str, str]] = (),
        *,
        forget: bool | None = None,
    ) -> int:
        """Take nodes back, with all relations that lead from or to them, and relations: (source, label, target).

        What is not there is passed over. ``forget`` as for :meth:`monograph.Monograph.remove`.

        Returns
        -------
        How many tellings that were: a node that two chunks say is told twice.
        """
        named = arguments.names(nodes, "an id")
        ends = [Ends(*arguments.names(one, "a relation")) for one in relations]
        return self._untell(named, ends, forget).removed

    def _tell(self, nodes: Sequence[ToldNode], relations: Sequence[ToldRelation], *, missing_ok: bool) -> None:
        raise NotImplementedError

    def _untell(self, nodes: Sequence[str], relations: Sequence[Ends], forget: bool | None) -> Report:
        raise NotImplementedError


class ToldGraph(Telling):
    """What is told goes into a file, where it is found by what it means too."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file

    def _tell(self, nodes: Sequence[ToldNode], relations: Sequence[ToldRelation], *, missing_ok: bool) -> None:
        file = self._file
        file.forgetting(
            lambda _: telling.tell(file.written, nodes, relations, file.fence, missing_ok=missing_ok), strict=True
        )

    def _untell(self, nodes: Sequence[str], relations: Sequence[Ends], forget: bool | None) -> Report:
        file = self._file
        return file.forgetting(
            lambda _: telling.untell(file.written, nodes, relations, file.fence), forget, strict=True
        )

    def told_like(
        self, vector: Sequence[float], k: int = 5, *, where: Mapping[str, Any] | None = None
    ) -> list[tuple[ToldNode, float]]:
        """At most k nodes whose embeddings are nearest to a vector, with their cosines, the highest first.

        Every embedding of the vector's length is compared.

        Parameters
        ----------
        vector:
            (dimension,).
        where:
            Only nodes whose properties meet a filter: see :meth:`monograph.Monograph.search`.
        """
        asked, k = arguments.vector(vector, "the vector"), arguments.whole_number(k, "k", 0)
        if not np.isfinite(asked).all():
            raise InputError("the vector is not finite", "embed the question again")
        condition = filters.parse(where)
        found: list[tuple[ToldNode, float]] = []
        with self._file.database.read() as connection:
            ids, rows = told.embeddings(connection, len(asked))
            cosines = inner_products(_unit(rows), _unit(asked[None])[0])
            ranked = np.argsort(-cosines, kind="stable").tolist()  # Of equal ones the first by id.
            while ranked and len(found) < k:
                some, ranked = ranked[:_AT_ONCE], ranked[_AT_ONCE:]
                nodes = told.nodes(connection, [ids[place] for place in some])
                for place in some:
                    node = nodes[ids[place]]
                    if filters.matches(condition, node.properties):
                        found.append((node, float(cosines[place])))
        return found[:k]


def _unit(rows: Float32) -> Float32:
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
