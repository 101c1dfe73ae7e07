"""The default walk along the graph: from the names of a question to passages, hop by hop."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter, itemgetter

import numpy as np

from monograph import telemetry
from monograph.graph import evidence
from monograph.graph.names import key_of
from monograph.search.fusion import Ranking
from monograph.search.question import Question
from monograph.search.reader import Evidence, Pool, Reader
from monograph.search.rerank import Reordered
from monograph.search.scoring._scoring import WalkScores
from monograph.store.documents.filters import Allowed
from monograph.store.graph.graphs import SubjectChunk
from monograph.store.graph.names import NameRow
from monograph.store.words.terms import words_of
from monograph.text_pass import compiled

_KEY = attrgetter("key")


@dataclass(slots=True, eq=False)
class Walk:
    """One search while it goes on; chunks are told by their rows.

    ``scores`` are the chances of chunks. ``asked`` is the question's name that a chunk's document is about, by row.
    ``entities`` are those that the question names, with all their names, by the row of their head.
    """

    snapshot: Reader
    question: Question
    allowed: Allowed
    entities: Mapping[int, list[NameRow]]
    asked: dict[int, int] = field(default_factory=dict)
    scores: WalkScores = field(init=False)
    _same: dict[int, tuple[int, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        heads = {one.name.head for one in self.question.names}
        models = tuple((one.bias, one.weights) for one in (evidence.FOUND, evidence.DEFINES, evidence.MENTIONS))
        self.scores = WalkScores(self.question.weights.tolist(), list(heads), models, evidence.COVERAGE)

    def learn(self, missing: Sequence[int], known: Evidence) -> None:
        """Take in the documents of different chunks that are not known, and which of the question's words they have."""
        if missing:
            records = known.evidence(missing, self.question.words)
            self.scores.learn(records.view(np.int64).reshape(len(missing), 4))

    def highest(self, most: int | None = None) -> list[int]:
        """The most probable chunks, at most so many; ties by id."""
        best, chances, tied = self.scores.highest(most)
        if tied:
            ids = self.snapshot.ids(tied)
            ranked = sorted([(-chance, ids.get(row, ""), row) for row, chance in zip(best, chances, strict=True)])
            best = [row for *_, row in ranked]
        return best[:most]

    def deduplicate(self, best: list[int]) -> tuple[list[int], list[int]]:
        """(the first chunk of each title and text, those that say the same again), each in order."""
        # What says the same has the same words: of nearly all chunks nothing more has to be read.
        missing = [chunk for chunk in self.scores.alike(best) if chunk not in self._same]
        told = self.snapshot.titled_extractions(missing) if missing else {}
        self._same.update((chunk, told.get(chunk, (-chunk, ""))) for chunk in missing)
        first: dict[tuple[int, str], int] = {}
        for chunk in best:
            first.setdefault(self._same.get(chunk, (-chunk, "")), chunk)
        kept = set(first.values())
        return [chunk for chunk in best if chunk in kept], [chunk for chunk in best if chunk not in kept]


@telemetry.traced("monograph.search.walk")
def walk(
    snapshot: Reader,
    question: Question,
    entities: Mapping[int, list[NameRow]],
    rankings: Sequence[tuple[Ranking, float]],
    pool: Pool,
    allowed: Allowed,
) -> Walk:
    """Start from what rankings and the question's names give, and follow the graph.

    Parameters
    ----------
    snapshot:
        What is searched.
    question:
        Taken apart.
    entities:
        All names of the entities that the question names, by the row of their head.
    rankings:
        With the weight of each one's standardised scores.
    pool:
        The candidates that are ranked.
    allowed:
        Which chunks may be found, and be passed on the way.
    """
    found = Walk(snapshot, question, allowed, entities)
    _start(found, rankings, pool)
    done: set[int] = set()
    for _ in range(evidence.HOPS):
        starts = [chunk for chunk in _most_probable(found) if chunk not in done]
        if not starts:
            break
        done.update(starts)
        follow(found, starts)
    return found


def follow(found: Walk, starts: Sequence[int]) -> None:
    """Add the links that lead out of some chunks that are known, and what these make of the chances of others."""
    texts = found.snapshot.starts(starts)
    asked = compiled.AskedWords(found.question.words.tolist(), found.question.weights.tolist())
    tells = [
        asked.beside(one.text, key_of(one.title), list(map(_KEY, one.names)), one.sentences, one.begins)
        for one in texts
    ]
    heads = found.scores.begin(starts, texts, tells)
    leads, known = found.snapshot.leads(heads, found.question.words, found.allowed)
    found.learn(found.scores.lead(leads), known)
    found.scores.follow()


def _most_probable(found: Walk) -> list[int]:
    """The chunks to follow links from, best first."""
    told: list[int] = []
    for most in (2 * evidence.STARTS, evidence.COVERED):
        told, _ = found.deduplicate(found.highest(most))
        if len(told) >= evidence.STARTS:
            break
    return told[: evidence.STARTS]


@dataclass(frozen=True, slots=True)
class Head:
    """The most probable chunks, each title and text once, with the logarithms of their chances; and those after them.

    They stand in order of chance; where a reranker put them in order, in that of the logarithms.
    """

    chunks: Sequence[int]
    logarithms: Sequence[float]
    after: Sequence[int]

    def by_chance(self) -> list[tuple[int, float]]:
        """(chunk, logarithm), the most probable first."""
        return sorted(zip(self.chunks, self.logarithms, strict=True), key=itemgetter(1), reverse=True)

    def put(self, first: Reordered) -> Head:
        """The same with the first of them in another order; the first takes on the highest chance."""
        if not first.rows:
            return self
        worth = dict(self.by_chance())
        chunks = dict.fromkeys([*first.rows, *worth])
        worth |= first.handed_on(worth)
        return Head(list(chunks), [worth[chunk] for chunk in chunks], self.after)


def head(found: Walk, in_context: Mapping[int, float], most: int | None = None) -> Head:
    """Return the chunks to put in order: all that were found, or at least so many.

    Of chunks with the same title and text the most probable counts; the others come after all that are put in order.
    ``in_context`` are cosines of the first of them: see :func:`monograph.search.graph.feedback`.
    """
    best = found.highest(None if most is None else max(most, evidence.COVERED))
    chunks, copies = found.deduplicate(best[: evidence.COVERED])
    if not chunks:
        return Head((), (), ())
    logarithms = found.scores.logarithms(chunks)
    if in_context:
        chances = np.array([found.scores.chance(chunk) for chunk in chunks])
        cosines = np.array([in_context.get(chunk, 0.0) for chunk in chunks])
        logarithms = np.log(np.maximum(evidence.read_in_context(chances, cosines), evidence.LOWEST)).tolist()
    return Head(chunks, logarithms, [*copies, *best[evidence.COVERED :]])


def in_order(found: Walk, first: Head, most: int | None = None) -> list[tuple[int, float]]:
    """(chunk, value) of all that is in a head and after it, or of at least so many, best first; values never rise."""
    if not first.chunks:
        return []
    ordered = found.scores.in_order(first.chunks, list(first.logarithms), most)
    if most is not None and most <= len(ordered):
        return ordered
    lowest = ordered[-1][1]
    values = [min(lowest, value) for value in found.scores.logarithms(first.after)]
    return ordered + list(zip(first.after, values, strict=True))


def _subjects_asked(
    found: Walk, subjects: Sequence[SubjectChunk]
) -> tuple[dict[int, int], list[tuple[int, bool, float, float, float]]]:
    """Return the most telling name of the question, by chunk, that the chunk's document is about; and how it is.

    That is (chunk, whether by its title, the name's share of the question, how the title's qualifier fits, 1 / square
    root of the number of such documents).
    """
    asked = {one.name.row: one for one in found.question.names}
    key = {one.name.row: one.name.key for one in found.question.names}
    entity = {one.name.head: one for one in found.question.names}
    for some in found.entities.values():
        for member in some:
            asked.setdefault(member.row, entity[member.head])
            key[member.row] = member.key
    best: dict[int, int] = {}
    about: dict[int, tuple[int, bool, float, float, float]] = {}
    for one in sorted(subjects, key=lambda one: key[one.name]):
        fit = 0.0
        if one.qualifier:
            words = one.qualifier.split()
            fit = sum(word in found.question.keys for word in words) / len(words) - 0.5
        share, held = asked[one.name].share, about.get(one.chunk)
        if held is None or (one.by_title, share) > (held[1], held[2]):
            best[one.chunk] = one.name
            about[one.chunk] = one.chunk, one.by_title, share, fit, one.documents**-0.5
    return best, list(about.values())


def _start(found: Walk, rankings: Sequence[tuple[Ranking, float]], pool: Pool) -> None:
    subjects, about = _subjects_asked(found, pool.subjects)
    rows = list(dict.fromkeys(chain(*(ranking.rows for ranking, _ in rankings), subjects)))
    if not rows:
        return
    found.learn(found.scores.unknown(rows), pool.evidence)
    found.asked.update(subjects)
    with_vector, cosines = pool.cosines
    among = set(rows)  # The pool has more: all chunks that tie with the last.
    ranked = np.array([row in among for row in with_vector.tolist()], dtype=bool)
    said = [sorted(found.question.places(words_of(clause))) for clause in found.question.clauses]
    found.scores.start(
        [(ranking.rows, ranking.scores, weight) for ranking, weight in rankings],
        said,
        (with_vector[ranked], np.ascontiguousarray(cosines[:, ranked])),
        about,
        _naming(found, pool.named, among),
    )


def _naming(found: Walk, pairs: Sequence[tuple[int, int]], rows: Set[int]) -> dict[int, float]:
    """By chunk, its share of the entities that the question names, rare ones counting more."""
    total = found.question.counts.total
    rarity: dict[int, float] = {}
    entity: dict[int, int] = {}
    for head, some in found.entities.items():
        uses = 0
        for one in some:
            uses += one.uses
            entity[one.row] = one.head
        rarity[head] = max(0.0, math.log((total + 1) / (uses + 0.5)))
    whole = math.fsum(rarity.values())  # The same in any order.
    if not whole:
        return {}
    named: dict[int, set[int]] = {}
    for name, chunk in pairs:
        if chunk in rows:
            named.setdefault(chunk, set()).add(entity[name])
    return {chunk: math.fsum(map(rarity.__getitem__, some)) / whole for chunk, some in named.items()}
