from collections.abc import Sequence

from monograph.graph.evidence import Int64
from monograph.graph.text import Words
from monograph.search.names import ChunkLinks, StartText
from monograph.values import Float32

def evidence(asked: Words, rows: Sequence[int], chunks: list[tuple[int, bytes]], /) -> Int64:
    """Return int64 (n, 4): row and document of each chunk, the question's words in it as bits, hash of all its words.

    ``asked`` are the hashes of the question's words, ascending, at most 64. ``chunks`` has (document, hashes of the
    words, 4 bytes each) of each chunk.
    """

class WalkScores:
    """Probabilities ("chances") that chunks of one walk along the graph are evidence. It reads no file.

    ``weights`` has the weights of the question's words, ``asked`` the heads of the entities that the question names.
    ``models`` are (bias, weights) of FOUND, DEFINES and MENTIONS, and ``coverage`` is COVERAGE, all of
    :mod:`monograph.graph.evidence`.

    Chunks are given by their rows. A chunk that was not learnt raises KeyError unless a method says otherwise.
    """

    def __init__(
        self,
        weights: Sequence[float],
        asked: Sequence[int],
        models: tuple[tuple[float, tuple[float, ...]], ...],
        coverage: float,
        /,
    ) -> None: ...
    def unknown(self, rows: Sequence[int], /) -> list[int]:
        """Return the chunks that were not learnt, in order, each once."""
    def learn(self, records: Int64, /) -> None:
        """Add new chunks, as rows of :func:`evidence`. A document below 0 means that the chunk is not in the graph."""
    def alike(self, rows: Sequence[int], /) -> list[int]:
        """Return those of the given chunks that have the same words as another of them, in order."""
    def start(
        self,
        rankings: list[tuple[Sequence[int], Sequence[float], float]],
        said: Sequence[Sequence[int]],
        near: tuple[Int64, Float32],
        subjects: list[tuple[int, bool, float, float, float]],
        naming: dict[int, float],
        /,
    ) -> None:
        """Compute the probability of every learnt chunk without links.

        Parameters
        ----------
        rankings:
            (rows, scores, weight) of each ranking. A chunk that a ranking lacks gets its lowest score.
        said:
            For each clause, the indexes of its words among the question's.
        near:
            (rows of the chunks that have a vector, their cosines (clauses, n)).
        subjects:
            (row, whether the title has the name, features 4 to 6 of evidence.FOUND) of chunks whose document is
            about a name of the question.
        naming:
            Share of the question's entities that a chunk names, by its row.
        """
    def begin(
        self, starts: Sequence[int], texts: list[StartText], tells: list[list[tuple[int, float]]], /
    ) -> list[int]:
        """Begin a hop, and return the heads of the entities that the starts name, ascending.

        ``texts`` has the text of each start, ``tells`` the result of AskedWords.beside for its names.
        """
    def lead(self, leads: list[ChunkLinks], /) -> list[int]:
        """Take the links of these entities, and return the linked chunks that were not learnt, in order."""
    def follow(self) -> None:
        """Add the links of the hop, and update the probabilities of their targets."""
    def to(self, row: int, /) -> tuple[dict[int, float], dict[int, int]]:
        """Return the probabilities and the names of the links to a chunk, both by start; none if it was not learnt."""
    def own(self, row: int, /) -> float:
        """Return the probability of a chunk without links; 0 if it was not learnt."""
    def chance(self, row: int, /) -> float:
        """Return the probability of a chunk; 0 if it was not found."""
    def chances(self) -> dict[int, float]:
        """Return the probabilities of all chunks that were found, by row."""
    def highest(self, most: int | None = None) -> tuple[list[int], list[float], list[int]]:
        """Return (best chunks, their probabilities, those that tie with another).

        The best chunks are the first ``most`` and all that tie with the last of them; all chunks for None or 0.
        """
    def logarithms(self, rows: Sequence[int], /) -> list[float]:
        """Return the logarithms of the probabilities of chunks, each taken as at least evidence.LOWEST."""
    def in_order(
        self, rows: Sequence[int], logarithms: list[float], most: int | None = None
    ) -> list[tuple[int, float]]:
        """Order chunks so that each adds most to those before it, and return (chunk, value) of the first ``most``.

        None returns all. Values never rise. If several chunks add the most, the first of them is taken.
        """
