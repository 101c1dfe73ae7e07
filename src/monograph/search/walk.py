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
    """State of one walk along the graph. Chunks are identified by their rows.

    ``scores`` has the probability of each chunk to be evidence. ``asked`` has, by chunk row, the row of the question's
    name that the chunk's document is about. ``entities`` has the names of each entity that the question names, by the
    row of its head.
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
        """Register new chunks, with their documents and the question's words that they contain."""
        if missing:
            records = known.evidence(missing, self.question.words)
            self.scores.learn(records.view(np.int64).reshape(len(missing), 4))

    def highest(self, most: int | None = None) -> list[int]:
        """Return the rows of the most probable chunks, at most ``most``, best first; ties by id."""
        best, chances, tied = self.scores.highest(most)
        if tied:
            ids = self.snapshot.ids(tied)
            ranked = sorted([(-chance, ids.get(row, ""), row) for row, chance in zip(best, chances, strict=True)])
            best = [row for *_, row in ranked]
        return best[:most]

    def deduplicate(self, best: list[int]) -> tuple[list[int], list[int]]:
        """Return (first chunk of each title and text, chunks that repeat an earlier one), both in order."""
        # Copies have the same words, so the extractions of almost no other chunk have to be read.
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
    """Return the walk that starts from the rankings and the question's names, and follows the graph for HOPS hops.

    Parameters
    ----------
    snapshot:
        The state to search.
    question:
        The parsed question.
    entities:
        All names of the entities that the question names, by the row of the entity's head.
    rankings:
        Rankings, each with the weight of its standardised scores.
    pool:
        The candidates that are ranked.
    allowed:
        The chunks that may be found, and that the walk may pass.
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
    """Add the links that lead out of some known chunks, and update the probabilities of all chunks."""
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
    """Return the chunks whose links are followed next, best first, each title and text once."""
    told: list[int] = []
    for most in (2 * evidence.STARTS, evidence.COVERED):
        told, _ = found.deduplicate(found.highest(most))
        if len(told) >= evidence.STARTS:
            break
    return told[: evidence.STARTS]


@dataclass(frozen=True, slots=True)
class Head:
    """The most probable chunks, each title and text once, and the chunks that come after them.

    ``chunks`` are in order of probability, or in a reranker's order. ``logarithms`` are the logarithms of their
    probabilities; after :meth:`put` they belong to the places. ``after`` are the other chunks.
    """

    chunks: Sequence[int]
    logarithms: Sequence[float]
    after: Sequence[int]

    def by_chance(self) -> list[tuple[int, float]]:
        """Return (chunk, logarithm of its probability) pairs, the most probable first."""
        return sorted(zip(self.chunks, self.logarithms, strict=True), key=itemgetter(1), reverse=True)

    def put(self, first: Reordered) -> Head:
        """Return this head in a reranker's order, with the highest probability given to the first chunk."""
        if not first.rows:
            return self
        worth = dict(self.by_chance())
        chunks = dict.fromkeys([*first.rows, *worth])
        worth |= first.handed_on(worth)
        return Head(list(chunks), [worth[chunk] for chunk in chunks], self.after)


def head(found: Walk, in_context: Mapping[int, float], most: int | None = None) -> Head:
    """Return the head of a walk: the chunks to order by what they add, and all others after them.

    Of chunks with the same title and text only the most probable is in ``chunks``; the copies are in ``after``.

    Parameters
    ----------
    found:
        The walk.
    in_context:
        Cosines of the first chunks to the question in context, by row: see :func:`monograph.search.graph.feedback`.
    most:
        Chunks that are needed; None for all that were found.
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
    """Return (chunk, value) of the head's chunks and then of those after it, best first; values never rise.

    Each chunk is ordered by what it adds to those before it. ``most`` limits the work: at least so many are returned,
    None returns all.
    """
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
    """Return, for each chunk of a document about a name of the question, the most telling name, and its features.

    The features are (chunk, whether the title names it, the name's share of the question, fit of the title's qualifier
    from -0.5 to 0.5, 1 / square root of the number of documents about the name).
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
    among = set(rows)  # The pool also has all chunks that tie with the last.
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
    """Return by chunk its share of the entities that the question names, weighted by rarity."""
    total = found.question.counts.total
    rarity: dict[int, float] = {}
    entity: dict[int, int] = {}
    for head, some in found.entities.items():
        uses = 0
        for one in some:
            uses += one.uses
            entity[one.row] = one.head
        rarity[head] = max(0.0, math.log((total + 1) / (uses + 0.5)))
    whole = math.fsum(rarity.values())  # fsum is exact, so the order does not matter.
    if not whole:
        return {}
    named: dict[int, set[int]] = {}
    for name, chunk in pairs:
        if chunk in rows:
            named.setdefault(chunk, set()).add(entity[name])
    return {chunk: math.fsum(map(rarity.__getitem__, some)) / whole for chunk, some in named.items()}
