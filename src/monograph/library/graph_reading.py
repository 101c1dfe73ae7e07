"""The entity–chunk graph looked at: the part of ``archive.graph`` that writes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager

from monograph.errors import InputError
from monograph.explore import entities, merges, neighbourhood, routes
from monograph.explore.surroundings import Surroundings
from monograph.library.opened import OpenFile
from monograph.values import Entity, Merge, Neighbourhood, Route, arguments
from monograph.values import Path as Way

EXPORTED = 1_000
"""Most entities around one that are exported, and that a way is looked for among."""


class GraphReading:
    """The named things of a file, or of a shelf, and how they hang together."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file

    def entities(self, limit: int = 50, like: str = "") -> list[Entity]:
        """The named things of the file, those that most chunks name first.

        Parameters
        ----------
        limit:
            Most of them.
        like:
            Only those with a name that contains this, whatever its case and accents.

        Raises
        ------
        InputError
            If ``limit`` is negative.
        """
        with self._around() as around:
            return entities.most_named(around, limit, like)

    def of_document(self, name: str, limit: int = 50) -> list[Entity]:
        """What a document, by its id or uri, names: the things that most of its chunks name first, at most ``limit``.

        Raises
        ------
        NotFound
            If there is no such document, or several came from that uri.
        """
        with self._around() as around:
            return entities.of_document(around, name, limit)

    def on_paths(self, paths: Iterable[Way]) -> list[Entity]:
        """The entities that the ways to hits lead over (``hit.path``), each once, in order."""
        with self._file.around() as around:
            return entities.on_paths(around, paths)

    def neighbourhood(self, name: str, hops: int = 1, limit: int = 60) -> Neighbourhood:
        """The part of the graph around an entity: see :func:`monograph.explore.neighbourhood.neighbourhood`.

        Parameters
        ----------
        name:
            What a text calls it, or a part that no other name has. A name of several things, ``Green``, means all of
            them, ``Green (album)`` one.
        hops:
            How far from it.
        limit:
            Most entities around it, and most chunks.

        Raises
        ------
        NotFound
            If no name fits, or several do; the mend names some.
        InputError
            If ``hops`` is negative, or ``limit`` below 1.
        """
        with self._around() as around:
            return neighbourhood.neighbourhood(around, entities.find(around, name), hops, limit)

    def routes(self, name: str, other: str, hops: int = 4, limit: int = 3) -> list[Route]:
        """Ways from one entity to another, over entities that chunks name together.

        Each end is looked around for half of the way, at most EXPORTED entities far: in a large file a way between two
        that are named very often may be missed.

        Parameters
        ----------
        name, other:
            As for :meth:`neighbourhood`.
        hops:
            Most links of a way, at least 1.
        limit:
            Most ways.

        Returns
        -------
        Ways of fewest links; of these, those whose lightest link is heaviest come first. None where nothing joins the
        two, or they are one.

        Raises
        ------
        NotFound
            As for :meth:`neighbourhood`.
        InputError
            If a number is out of range.
        """
        hops, limit = arguments.whole_number(hops, "hops"), arguments.whole_number(limit, "limit")
        if hops < 1 or limit < 1:
            raise InputError(f"hops is {hops} and limit is {limit}", "give at least 1")
        there = self.neighbourhood(name, (hops + 1) // 2, EXPORTED)
        back = self.neighbourhood(other, hops // 2, EXPORTED)
        return routes.routes((there, back), set(there.centre), set(back.centre), hops, limit)

    def merges(self, name: str = "") -> list[Merge]:
        """Which names were taken to mean one entity, and why: see :func:`monograph.explore.merges.merges`.

        Parameters
        ----------
        name:
            Of an entity, as for :meth:`neighbourhood`: only its merges, and with them those that hold in single
            documents.

        Raises
        ------
        NotFound
            As for :meth:`neighbourhood`.
        """
        with self._around() as around:
            heads = list(dict.fromkeys(one.head for one in entities.find(around, name))) if name else None
            return merges.merges(around, heads)

    def _around(self) -> AbstractContextManager[Surroundings]:
        """Begin to look round in a graph that is made."""
        self._file.require("graph")
        return self._file.around()
