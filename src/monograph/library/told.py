"""What callers tell of named things, written and taken back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from monograph.library.opened import OpenFile
from monograph.store.told_changes import Ends
from monograph.values import Report, ToldNode, ToldRelation, arguments
from monograph.write import tell as telling


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
    """What is told goes into a file."""

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
