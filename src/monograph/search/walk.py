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
from monograph.search.names import StartText
from monograph.search.question import Question
from monograph.search.reader import Evidence, Pool, Reader
from monograph.search.rerank import RerankedHead
from monograph.search.scoring._scoring import WalkScores
from monograph.store.documents.filters import CompiledFilter
from monograph.store.graph.graphs import SubjectChunk
from monograph.store.graph.names import NameRow
from monograph.store.words.terms import words_of
from monograph.text_pass import compiled

_KEY = attrgetter("key")


@dataclass(slots=True, eq=False)
class Walk:
    """State of one walk along the graph. Chunks are identified by their rows.

    ``snapshot`` is the reader of the state that is searched. ``allowed`` is a filter: the walk passes only chunks that
    match it.
    ``entities`` has the names of each entity in the question: {row of the head: names}. The head is the name that
    stands for the entity.
    ``asked`` has the chunks of the pool whose document is about a name in the question, because its title or the
    beginning of its text has the name: {row of the chunk: row of the name}.
    ``scores`` has the probability that each chunk is evidence.
    """

    snapshot: Reader
    question: Question
    allowed: CompiledFilter
    entities: Mapping[int, list[NameRow]]
    asked: dict[int, int] = field(default_factory=dict)
    scores: WalkScores = field(init=False)
    _same: dict[int, tuple[int, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        heads = {named.name.head for named in self.question.names}
        models = tuple((model.bias, model.weights) for model in (evidence.FOUND, evidence.DEFINES, evidence.MENTIONS))
        self.scores = WalkScores(self.question.weights.tolist(), list(heads), models, evidence.COVERAGE)

    def learn(self, missing: Sequence[int], known: Evidence) -> None:
        """Register new chunks, with their documents and the question's words that they contain.

        ``missing`` are the rows of the new chunks. ``known`` is the evidence of the call that found them.
        """
        if missing:
            records = known.evidence(missing, self.question.words)
            self.scores.learn(records.view(np.int64).reshape(len(missing), 4))

    def highest(self, most: int | None = None) -> list[int]:
        """Return the rows of the most probable chunks, best first, at most ``most``; None for all.

        Equal probabilities are ordered by chunk id.
        """
        best, chances, tied = self.scores.highest(most)
        if tied:
            ids = self.snapshot.ids(tied)
            ranked = sorted([(-chance, ids.get(row, ""), row) for row, chance in zip(best, chances, strict=True)])
            best = [row for *_, row in ranked]
        return best[:most]

    def deduplicate(self, best: list[int]) -> tuple[list[int], list[int]]:
        """Return (distinct chunks, copies), both in the order of ``best``, which has rows of chunks.

        A chunk is a copy if an earlier chunk of ``best`` has the same title and the same text.
        """
        # Copies have the same words, so the extractions of almost no other chunk have to be read.
        missing = [chunk for chunk in self.scores.alike(best) if chunk not in self._same]
        extractions = self.snapshot.titled_extractions(missing) if missing else {}
        self._same.update((chunk, extractions.get(chunk, (-chunk, ""))) for chunk in missing)
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
    allowed: CompiledFilter,
) -> Walk:
    """Return the walk that starts from the candidates of a search, and follows the graph for HOPS hops.

    ``snapshot`` reads the state that is searched. ``entities`` has all names of each entity in the question: {row of
    the head: names}. The head is the name that stands for the entity. ``rankings`` are the rankings of the candidates.
    Each comes with a weight by which its scores are multiplied after standardisation. ``pool`` has further data about
    the candidates: see :class:`monograph.search.reader.WalkRequest`. The walk reaches only ``allowed`` chunks.
    """
    state = Walk(snapshot, question, allowed, entities)
    _start(state, rankings, pool)
    done: set[int] = set()
    for _ in range(evidence.HOPS):
        for most in (2 * evidence.STARTS, evidence.COVERED):
            chunks, _ = state.deduplicate(state.highest(most))
            if len(chunks) >= evidence.STARTS:
                break
        starts = [chunk for chunk in chunks[: evidence.STARTS] if chunk not in done]
        if not starts:
            break
        done.update(starts)
        follow(state, starts)
    return state


def follow(found: Walk, starts: Sequence[int]) -> None:
    """Follow the links that lead out of some chunks, and update the probabilities of all chunks.

    ``starts`` are the rows of chunks of the walk ``found``. Chunks that the links lead to are registered in the walk.
    """
    texts = found.snapshot.starts(starts)
    asked_words = compiled.AskedWords(found.question.words.tolist(), found.question.weights.tolist())
    tells = [
        _add_relations(
            found.question,
            text,
            asked_words.beside(text.text, key_of(text.title), list(map(_KEY, text.names)), text.sentences, text.begins),
        )
        for text in texts
    ]
    heads = found.scores.begin(starts, texts, tells)
    leads, link_evidence = found.snapshot.leads(heads, found.question.words, found.allowed)
    found.learn(found.scores.lead(leads), link_evidence)
    found.scores.follow()


def _add_relations(question: Question, text: StartText, tells: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Raise the share of the question's words beside a name to that in the name's relations, times their strength."""
    if not text.relations:
        return tells
    shares = [share for _, share in tells]
    for relation in text.relations:
        share = relation.strength * float(question.weights[np.isin(question.words, relation.words)].sum())
        for end in relation.ends:
            shares[end] = max(shares[end], share)
    return [(words, share) for (words, _), share in zip(tells, shares, strict=True)]


@dataclass(frozen=True, slots=True)
class Head:
    """The most probable chunks of a walk, without copies, and all other chunks that the walk found.

    ``chunks`` are the most probable chunks, in order of their probability in the walk or, after :meth:`put`, in a
    reranker's order. No two of them have the same title and text.
    ``logarithms`` are the logarithms of the probabilities of ``chunks``, in the order of ``chunks``. They need not be
    descending: see ``in_context`` of :func:`head`. After :meth:`put`, the first chunk of the reranker's order has the
    highest of these values, and so on.
    ``after`` are all other chunks that the walk found. They rank below ``chunks``.
    """

    chunks: Sequence[int]
    logarithms: Sequence[float]
    after: Sequence[int]

    def by_probability(self) -> list[tuple[int, float]]:
        """Return (chunk, logarithm of its probability) pairs of ``chunks``, the most probable first."""
        return sorted(zip(self.chunks, self.logarithms, strict=True), key=itemgetter(1), reverse=True)

    def put(self, first: RerankedHead) -> Head:
        """Return this head with its chunks in a reranker's order.

        The first of the reordered chunks gets the highest of their probabilities, and so on. Chunks that were not
        reranked follow, with their own probabilities. The head stays the same if nothing was reranked.
        """
        if not first.rows:
            return self
        values = dict(self.by_probability())
        chunks = dict.fromkeys([*first.rows, *values])
        values |= first.reassign_values(values)
        return Head(list(chunks), [values[chunk] for chunk in chunks], self.after)


def head(found: Walk, in_context: Mapping[int, float], most: int | None = None) -> Head:
    """Return the head of a walk: its most probable chunks, for :func:`in_order`, and all other chunks after them.

    Of chunks with the same title and text only the most probable is in ``Head.chunks``; the copies are in
    ``Head.after``. ``in_context`` changes the probabilities of chunks. It is {row: score} from
    :func:`monograph.search.graph.feedback`. If it is empty, no probability changes. ``most`` is the number of chunks
    that are needed; None for all chunks that were found.
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
    """Return (chunk, value) of the chunks of a head, best first: first ``first.chunks``, then ``first.after``.

    The chunks of ``first.chunks`` get a new order. The next chunk is always the one with the highest value: the
    logarithm of its probability, plus a bonus for words of the question that all chunks before it lack. The chunks of
    ``first.after`` keep their order. Their value is the logarithm of the probability, but at most the lowest value in
    ``first.chunks``. So values never rise. At least ``most`` pairs are returned, or all if there are fewer or ``most``
    is None.
    """
    if not first.chunks:
        return []
    ordered = found.scores.in_order(first.chunks, list(first.logarithms), most)
    if most is not None and most <= len(ordered):
        return ordered
    lowest = ordered[-1][1]
    values = [min(lowest, value) for value in found.scores.logarithms(first.after)]
    return ordered + list(zip(first.after, values, strict=True))


def _match_subjects(
    state: Walk, subjects: Sequence[SubjectChunk]
) -> tuple[dict[int, int], list[tuple[int, bool, float, float, float]]]:
    """Return ({chunk: name}, features of each chunk). If a chunk has several names in ``subjects``, the best counts."""
    by_name = {named.name.row: named for named in state.question.names}
    key = {named.name.row: named.name.key for named in state.question.names}
    entity = {named.name.head: named for named in state.question.names}
    for members in state.entities.values():
        for member in members:
            by_name.setdefault(member.row, entity[member.head])
            key[member.row] = member.key
    best: dict[int, int] = {}
    features: dict[int, tuple[int, bool, float, float, float]] = {}
    for subject in sorted(subjects, key=lambda subject: key[subject.name]):
        fit = 0.0
        # The qualifier is the part of the title in parentheses.
        if subject.qualifier:
            words = subject.qualifier.split()
            fit = sum(word in state.question.keys for word in words) / len(words) - 0.5
        share, previous = by_name[subject.name].share, features.get(subject.chunk)
        # A name in the title fits better than one in the text; then the larger share of the question counts.
        if previous is None or (subject.by_title, share) > (previous[1], previous[2]):
            best[subject.chunk] = subject.name
            # The row; whether the title has the name; the share of the question that the name has; the share of the
            # qualifier that the question has, minus 0.5; 1 / sqrt(number of documents about the name).
            features[subject.chunk] = subject.chunk, subject.by_title, share, fit, subject.documents**-0.5
    return best, list(features.values())


def _start(state: Walk, rankings: Sequence[tuple[Ranking, float]], pool: Pool) -> None:
    subjects, features = _match_subjects(state, pool.subjects)
    rows = list(dict.fromkeys(chain(*(ranking.rows for ranking, _ in rankings), subjects)))
    if not rows:
        return
    state.learn(state.scores.unknown(rows), pool.evidence)
    state.asked.update(subjects)
    with_vector, cosines = pool.cosines
    row_set = set(rows)  # The pool also has all chunks that tie with the last.
    ranked = np.array([row in row_set for row in with_vector.tolist()], dtype=bool)
    positions = [sorted(state.question.places(words_of(clause))) for clause in state.question.clauses]
    state.scores.start(
        [(ranking.rows, ranking.scores, weight) for ranking, weight in rankings],
        positions,
        (with_vector[ranked], np.ascontiguousarray(cosines[:, ranked])),
        features,
        _score_naming(state, pool.named, row_set),
    )


def _score_naming(state: Walk, pairs: Sequence[tuple[int, int]], rows: Set[int]) -> dict[int, float]:
    """Return {chunk: rarity-weighted share of the question's entities that it names}; ``pairs`` are (name, chunk)."""
    total = state.question.counts.total
    rarity: dict[int, float] = {}
    entity: dict[int, int] = {}
    for head, members in state.entities.items():
        uses = 0
        for member in members:
            uses += member.uses
            entity[member.row] = member.head
        rarity[head] = max(0.0, math.log((total + 1) / (uses + 0.5)))
    rarity_sum = math.fsum(rarity.values())  # fsum is exact, so the order does not matter.
    if not rarity_sum:
        return {}
    named: dict[int, set[int]] = {}
    for name, chunk in pairs:
        if chunk in rows:
            named.setdefault(chunk, set()).add(entity[name])
    return {chunk: math.fsum(map(rarity.__getitem__, entities)) / rarity_sum for chunk, entities in named.items()}
