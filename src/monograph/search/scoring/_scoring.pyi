from collections.abc import Sequence

from monograph.graph.evidence import Int64
from monograph.graph.text import Words
from monograph.search.names import ChunkLinks, StartText
from monograph.values import Float32

def evidence(asked: Words, rows: Sequence[int], chunks: list[tuple[int, bytes]], /) -> Int64:
    """Return int64 (n, 4): row and document of each chunk, bits of the question's words in it, hash of all its words.

    ``asked`` are the hashes of the question's words, ascending, at most 64. ``chunks`` are (document, packed words).
    """

class WalkScores:
    """Scores of one walk along the graph, apart from reading.

    Chunks are given by their rows. Unknown chunks raise KeyError unless a method says otherwise.
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
        """Learn new chunks from records of :func:`evidence`; a document below 0 marks a chunk that does not exist."""
    def alike(self, rows: Sequence[int], /) -> list[int]:
        """Return the chunks whose words equal those of another of the chunks, in order."""
    def start(
        self,
        rankings: list[tuple[Sequence[int], Sequence[float], float]],
        said: Sequence[Sequence[int]],
        near: tuple[Int64, Float32],
        subjects: list[tuple[int, bool, float, float, float]],
        naming: dict[int, float],
        /,
    ) -> None:
        """Give every learnt chunk its own chance.

        Parameters
        ----------
        rankings:
            (rows, scores, weight) of each ranking. A chunk that a ranking lacks gets its lowest score.
        said:
            For each clause, the indexes of its words among the question's.
        near:
            (rows of the chunks that have a vector, their cosines (clauses, n)).
        subjects:
            (row, whether by its title, features 3 to 5 of evidence.FOUND) of chunks whose document is about
            a name of the question.
        naming:
            By row, the share of the question's entities that a chunk names.
        """
    def begin(
        self, starts: Sequence[int], texts: list[StartText], tells: list[list[tuple[int, float]]], /
    ) -> list[int]:
        """Return the rows, ascending, of the entities that the names in the starts lead to.

        ``tells`` is the result of AskedWords.beside for each start.
        """
    def lead(self, leads: list[ChunkLinks], /) -> list[int]:
        """Take where each of these entities leads; return the chunks there that were not learnt, in order."""
    def follow(self) -> None:
        """Add the links to where these entities lead, and compute the chances of all chunks again."""
    def to(self, row: int, /) -> tuple[dict[int, float], dict[int, int]]:
        """Return the chances of the links to a chunk, and the names that lead there, by the rows of their starts."""
    def own(self, row: int, /) -> float:
        """Return the chance of a chunk by itself; 0 for an unknown one."""
    def chance(self, row: int, /) -> float:
        """Return the chance of a chunk; 0 for one that was not found."""
    def chances(self) -> dict[int, float]:
        """Return the chances of all chunks that were found, by row."""
    def highest(self, most: int | None = None) -> tuple[list[int], list[float], list[int]]:
        """Return (best chunks, at most ``most`` and all that tie with the last; their chances; the tied chunks)."""
    def logarithms(self, rows: Sequence[int], /) -> list[float]:
        """Return the logarithms of the chances of chunks, which count as at least evidence.LOWEST."""
    def in_order(
        self, rows: Sequence[int], logarithms: list[float], most: int | None = None
    ) -> list[tuple[int, float]]:
        """Return (chunk, value), each the chunk that adds most to those before it. Values never rise.

        Of chunks that add as much, the first is taken.
        """
