"""What a walk along the graph knows of chunks, and what it reckons of them, in C++ or in its Python twin."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol, TypeAlias

from monograph.graph import evidence
from monograph.graph.evidence import Float64, Int64
from monograph.graph.text import Words
from monograph.search.leads import Leads
from monograph.search.reckoning.plain import PlainReckoning
from monograph.search.start_texts import StartText
from monograph.values import Float32

try:
    from monograph.search.reckoning import _reckoning as compiled
except ImportError:
    compiled = None  # type: ignore[assignment]

__all__ = ["Reckoning", "Scored", "Subject", "compiled", "reckoning"]

Scored: TypeAlias = tuple[Sequence[int], Sequence[float], float]
"""A ranking's rows and scores, and what these count once they are standardised."""

Subject: TypeAlias = tuple[int, bool, float, float, float]
"""A chunk whose document is about a name of the question: its row, whether by its title, and if so how: features 3 to 5
of :data:`monograph.graph.evidence.FOUND`."""


class Reckoning(Protocol):
    """One walk while it goes on, without what it reads.

    Chunks are told by their rows. Those that are asked about are known, but where it is said that they need not be:
    KeyError otherwise.
    """

    def unknown(self, rows: Sequence[int]) -> list[int]:
        """Those of some chunks that are not known, in order, once each."""
        ...

    def learn(self, rows: Sequence[int], documents: Int64, packed: list[bytes]) -> None:
        """Chunks that were not known: their documents (n,), below 0 where they are not there, and words, packed."""
        ...

    def start(
        self,
        rankings: list[Scored],
        said: Sequence[Sequence[int]],
        near: tuple[Int64, Float32],
        subjects: list[Subject],
        naming: dict[int, float],
    ) -> None:
        """All that is known is found by itself.

        Parameters
        ----------
        rankings:
            Of chunks, each once; one that a ranking lacks counts there as its lowest.
        said:
            Of each clause the places of its words among the question's.
        near:
            (rows (n,) of the chunks that have a vector, cosines (clauses, n)).
        subjects:
            Those whose documents are about a name of the question.
        naming:
            By row, which share of the question's entities a chunk names.
        """
        ...

    def begin(self, starts: Sequence[int], texts: list[StartText], tells: list[list[tuple[int, float]]]) -> list[int]:
        """The rows of the entities, ascending, that the names in some starts lead to.

        ``tells`` is what :func:`monograph.search.beside.beside` gives of each text.
        """
        ...

    def lead(self, leads: list[Leads]) -> list[int]:
        """The chunks that these entities lead to which are not known, in order, once each: they are to be learnt."""
        ...

    def follow(self) -> None:
        """Add the links to where these entities lead, and make the chances of chunks anew."""
        ...

    def to(self, row: int) -> tuple[dict[int, float], dict[int, int]]:
        """The chances of the links to a chunk, and the names that lead there, by the rows of their starts.

        Empty where no link leads, as for one that is not known.
        """
        ...

    def own(self, row: int) -> float:
        """The chance of a chunk by itself; 0 for one that is not known."""
        ...

    def chance(self, row: int) -> float:
        """The chance of a chunk; 0 for one that was not found."""
        ...

    def chances(self) -> dict[int, float]:
        """Those of all that was found, by row."""
        ...

    def highest(self, most: int | None = None) -> tuple[list[int], list[float], list[int]]:
        """The most probable chunks, at most so many and all that tie with the last, best first.

        Returns
        -------
        (rows, chances, the rows of those that tie with another).
        """
        ...

    def logarithms(self, rows: Sequence[int]) -> list[float]:
        """Of the chances of some chunks, which are taken for no nearer to 0 than :data:`evidence.LOWEST`."""
        ...

    def in_order(
        self, rows: Sequence[int], logarithms: list[float], most: int | None = None
    ) -> list[tuple[int, float]]:
        """(chunk, value) of some: see :func:`monograph.graph.evidence.in_order_of_gain`."""
        ...


def reckoning(words: Words, weights: Float64, asked: Collection[int]) -> Reckoning:
    """That of a walk which begins.

    Parameters
    ----------
    words, weights:
        Of the question, 64 at most: hashes, ascending, and what each weighs.
    asked:
        The rows of the entities that the question names.
    """
    if compiled is None:
        return PlainReckoning(words, weights, asked)
    models = tuple((one.bias, one.weights) for one in (evidence.FOUND, evidence.DEFINES, evidence.MENTIONS))
    return compiled.Reckoning(words.tolist(), weights.tolist(), list(asked), models, evidence.COVERAGE)
