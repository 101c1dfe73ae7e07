"""Scores of a graph search, equal to the oracle to the bit."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph.graph import evidence
from monograph.graph.evidence import Float64, Int64
from monograph.graph.text import Words
from monograph.search.fusion import standardised
from monograph.search.names import NOWHERE, ChunkLinks, StartText
from monograph.search.scoring._scoring import WalkScores
from monograph.search.scoring._scoring import evidence as evidence_of
from monograph.store.graph.graphs import WORDS
from monograph.store.graph.names import NameRow
from support.oracles.scoring import PlainWalkScores
from support.properties import examples

FIRST_CHUNK, FIRST_NAME = 1_000, 50

MODELS = tuple((one.bias, one.weights) for one in (evidence.FOUND, evidence.DEFINES, evidence.MENTIONS))


EVERY: list[Callable[..., Any]] = [PlainWalkScores, WalkScores]
both = pytest.mark.parametrize("kind", EVERY)


def make(kind: Callable[..., Any], weights: Float64, asked: Sequence[int] = ()) -> Any:
    return kind(weights.tolist(), asked, MODELS, evidence.COVERAGE)


def records(words: Words, rows: Sequence[int], documents: Sequence[int], packed: Sequence[bytes]) -> Int64:
    return evidence_of(words, rows, list(zip(documents, packed, strict=True)))


def pack(words: Sequence[int]) -> bytes:
    return np.array(sorted(set(words)), dtype=WORDS).tobytes()


@dataclass
class Pair:
    """The compiled scores and the oracle: both get the same input."""

    words: Words
    weights: Float64
    asked: Sequence[int]
    made: list[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.made = [make(kind, self.weights, self.asked) for kind in EVERY]

    def do(self, name: str, *given: object) -> Any:
        first, *others = (getattr(one, name)(*given) for one in self.made)
        assert all(repr(one) == repr(first) for one in others), name  # A float's has all its bits.
        return first


@dataclass(frozen=True)
class Corpus:
    """Documents and words of chunks, and where names lead, by number."""

    documents: list[int]
    held: list[bytes]
    leads: list[ChunkLinks]


def compare(pair: Pair, corpus: Corpus) -> None:
    """All that is told of all chunks, and of one that is none."""
    chances = pair.do("chances")
    assert all(0.0 <= one <= 1.0 for one in chances.values())
    for row in range(FIRST_CHUNK, FIRST_CHUNK + len(corpus.documents) + 1):
        for name in ("own", "chance", "to"):
            pair.do(name, row)
    best = sorted(chances.values(), reverse=True)
    for most in (None, 0, 1, 2, len(chances), len(chances) + 3):
        rows, values, tied = pair.do("highest", most)
        least = best[most - 1] if most and most <= len(best) else -1.0
        assert [chances[row] for row in rows] == values == [one for one in best if one >= least]
        assert set(tied) == {row for row in rows if best.count(chances[row]) > 1}
    pair.do("alike", rows)
    ordered = pair.do("in_order", rows, pair.do("logarithms", rows))
    assert sorted(row for row, _ in ordered) == sorted(rows)
    assert pair.do("in_order", rows, pair.do("logarithms", rows), 2) == ordered[:2]


def learn(pair: Pair, corpus: Corpus, missing: Sequence[int]) -> None:
    places = [row - FIRST_CHUNK for row in missing]
    documents = [corpus.documents[place] for place in places]
    pair.do("learn", records(pair.words, missing, documents, [corpus.held[place] for place in places]))


def hop(pair: Pair, corpus: Corpus, starts: list[int], texts: list[StartText], tells: list[Any]) -> None:
    heads = pair.do("begin", starts, texts, tells)
    assert heads == sorted({name.head for text in texts for name in text.names})
    leads = [corpus.leads[head - FIRST_NAME] for head in heads]
    learn(pair, corpus, pair.do("lead", leads))
    assert pair.do("lead", leads) == []
    pair.do("follow")


@dataclass(frozen=True)
class Chance:
    """Draws a walk: many values are alike, so that much ties."""

    random: np.random.Generator
    chunks: int
    names: int

    def some(self, first: int, count: int, most: int) -> list[int]:
        return [first + int(one) for one in self.random.permutation(count)[: self.random.integers(0, most + 1)]]

    def share(self) -> float:
        return float(self.random.choice([0.0, 0.25, 0.5, 1 / 3, 1.0, self.random.random()]))

    def corpus(self, words: Words) -> Corpus:
        every = [*words.tolist(), *(words + np.uint32(1 << 16)).tolist(), *range(5)]
        held = [[every[at] for at in self.some(0, len(every), len(every))] for _ in range(self.chunks)]
        documents = self.random.integers(-1, max(self.chunks // 2, 1), self.chunks).tolist()
        return Corpus(documents, [pack(some) for some in held], [self.leads() for _ in range(self.names)])

    def leads(self) -> ChunkLinks:
        documents = self.some(FIRST_CHUNK, self.chunks, 12)
        others = [one for one in self.some(FIRST_CHUNK, self.chunks, 25) if one not in documents]
        flags = tuple(bool(self.random.integers(0, 2)) for _ in documents)
        rarity = tuple(float(self.random.integers(1, 4)) ** -0.5 for _ in documents)
        return ChunkLinks(tuple(documents), flags, rarity, tuple(others))

    def start(self, pair: Pair, corpus: Corpus) -> bool:
        rows = self.some(FIRST_CHUNK, self.chunks, self.chunks)
        learn(pair, corpus, pair.do("unknown", [*rows, *rows[:2]]))
        if not rows:
            return False
        rankings = []
        for weight in (1.0, 0.7, 0.3):
            ranked = [row for row in rows if self.random.integers(0, 3)]
            rankings.append((tuple(ranked), tuple(self.share() * 9 for _ in ranked), weight))
        said = [sorted(self.some(0, len(pair.words), len(pair.words))) for _ in range(self.random.integers(1, 4))]
        near = [row for row in rows if self.random.integers(0, 4)]
        cosines = self.random.choice(np.array([0.0, 0.5, 0.123, -0.3], dtype=np.float32), (len(said), len(near)))
        subjects = [
            (row, bool(self.random.integers(0, 2)), self.share(), self.share() - 0.5, self.share()) for row in rows[::3]
        ]
        naming = {row: self.share() for row in rows[::2]}
        pair.do("start", rankings, said, (np.array(near, dtype=np.int64), cosines), subjects, naming)
        return True

    def text(self) -> StartText:
        names = [NameRow(row, "", int(self.random.integers(0, 30)), FIRST_NAME + int(self.random.integers(0, self.names)))
                 for row in self.some(FIRST_NAME, self.names, 9)]  # fmt: skip
        where = tuple(tuple(self.some(0, 3, 2)) for _ in names)
        own = tuple(bool(self.random.integers(0, 4) == 0) for _ in names)
        return StartText("", "A text.", [0], tuple(names), where, own)


def walk(chance: Chance, words: Words, hops: int, starts: int) -> None:
    weights = chance.random.choice([0.0, 0.1, 1 / 3, 0.7], len(words))
    pair = Pair(words, weights, chance.some(FIRST_NAME, chance.names, 2))
    corpus = chance.corpus(words)
    if not chance.start(pair, corpus):
        return
    compare(pair, corpus)
    done: set[int] = set()
    for _ in range(hops):
        best = [row for row in pair.do("highest", None)[0] if row not in done][:starts]
        done.update(best)
        texts = [chance.text() for _ in best]
        tells = [[(int(chance.random.integers(0, 5)), chance.share()) for _ in text.names] for text in texts]
        hop(pair, corpus, best, texts, tells)
        compare(pair, corpus)


HASHES = st.integers(0, 40) | st.integers(0, 40).map(lambda low: low + (7 << 16)) | st.integers(0, (1 << 32) - 1)
QUESTIONS = st.lists(HASHES, max_size=9).map(lambda some: np.array(sorted(set(some)), dtype=np.uint32))


@settings(max_examples=examples(300))
@given(st.integers(0, 1 << 32), QUESTIONS, st.integers(1, 14), st.integers(1, 8), st.integers(0, 3), st.integers(1, 6))
def test_compiled_walks_equal_plain_ones(
    seed: int, words: Words, chunks: int, names: int, hops: int, starts: int
) -> None:
    walk(Chance(np.random.default_rng(seed), chunks, names), words, hops, starts)


@pytest.mark.parametrize("chunks", [130, 300, 1_000])
def test_long_compiled_walks_equal_plain_ones(chunks: int) -> None:
    random = np.random.default_rng(chunks)
    words = np.sort(random.choice(1 << 32, 64, replace=False)).astype(np.uint32)
    walk(Chance(random, chunks, 60), words, 2, 6)


@settings(max_examples=examples(100))
@given(words=QUESTIONS, chunks=st.lists(st.lists(HASHES, max_size=30), max_size=6))
def test_evidence_has_a_bit_for_each_word_of_the_question(words: Words, chunks: list[list[int]]) -> None:
    packed = [pack(some) for some in chunks]
    rows, documents = [row + 7 for row in range(len(chunks))], [-1 - row for row in range(len(chunks))]
    made = records(words, rows, documents, packed)
    assert made[:, :2].tolist() == [[row, document] for row, document in zip(rows, documents, strict=True)]
    for some, bits in zip(chunks, made[:, 2].tolist(), strict=True):
        assert [bits >> place & 1 for place in range(64)][: len(words)] == [word in some for word in words.tolist()]
        assert bits & (1 << 64) - (1 << len(words)) == 0
    hashes = dict(zip(packed, made[:, 3].tolist(), strict=True))
    assert [hashes[one] for one in packed] == made[:, 3].tolist()
    assert len(set(hashes.values())) == len(hashes)


@both
def test_walk_scores_equal_those_by_hand(kind: Callable[..., Any]) -> None:
    """One start names an entity that a document is about, and that another chunk names too."""
    words = np.array([1, 2], dtype=np.uint32)
    made = make(kind, np.array([0.25, 0.75]), [70])
    assert made.unknown([5, 6, 5]) == [5, 6]
    made.learn(records(words, [5, 6], [1, 2], [pack([1]), pack([])]))
    vectors = np.array([5], dtype=np.int64), np.array([[0.5]], dtype=np.float32)
    made.start([((5, 6), (3.0, 1.0), 1.0)], [[]], vectors, [(5, True, 0.5, 0.0, 1.0)], {6: 0.5})

    def sigmoid(value: float) -> float:
        return 1 / (1 + math.exp(-value))

    # Of two values the higher lies one deviation above their mean, and the lower one below.
    own = sigmoid(-6.3 + 0.58 + 0.4 * 1.5 + 3.15 + 0.4 * 0.5 + 1.72), sigmoid(-6.3 - 0.58 - 0.4 * 1.5 + 1.05 * 0.5)
    assert (made.own(5), made.own(6)) == pytest.approx(own)
    assert made.highest() == ([5, 6], [made.own(5), made.own(6)], [])
    text = StartText("", "Anna.", [0], (NameRow(71, "anna", 3, 70),), ((0,),), (False,))
    assert made.begin([5], [text], [[(1, 0.25)]]) == [70]
    leads = [ChunkLinks((8,), (True,), (0.5,), (6, 5))]
    assert made.lead(leads) == [8]
    made.learn(records(words, [8], [3], [pack([1, 2])]))
    assert made.alike([5, 6, 8]) == []
    made.learn(records(words, [9, 10], [3, 3], [pack([1]), pack([2])]))
    assert made.alike([9, 8, 5, 10]) == [9, 5]
    made.follow()
    defined = own[0] * sigmoid(
        0.35 - 3.38 + 0.75 / 2 - 1.9 * math.log(4) + 0.1 + 8.12 * 0.75 + 0.78 + 3.1 / 4 + 4.35 / 4
    )
    named = own[0] * sigmoid(-2.35 - math.log(4) - 0.9 - 0.85 / 4 + 1.13 / 4 + 0.07 * -1.5)
    assert made.chances() == pytest.approx({5: own[0], 6: 1 - (1 - own[1]) * (1 - named), 8: defined})
    assert made.to(8) == ({5: pytest.approx(defined)}, {5: 71})
    assert made.to(6) == ({5: pytest.approx(named)}, {5: 71})
    assert made.to(5) == made.to(9) == ({}, {})  # To its own document nothing leads.
    assert made.own(8) == made.own(9) == made.chance(9) == 0.0
    logarithms = made.logarithms([5, 8])
    assert logarithms == pytest.approx([math.log(own[0]), math.log(defined)])
    ordered = made.in_order([5, 8], [-1.0, -2.0])
    assert [row for row, _ in ordered] == [8, 5]
    assert [value for _, value in ordered] == pytest.approx([-2.0 + 5.62, -1.0])
    assert made.in_order([5, 8], [-1.0, -2.0], 1) == ordered[:1]


def test_scoring_accepts_odd_numbers() -> None:
    """Scores without bounds, or that are no numbers, and names used less than never: chances stay between 0 and 1."""
    odd = [math.inf, -math.inf, math.nan, 1e308, -1e308, 0.0]
    with np.errstate(all="ignore"):
        for scores in itertools.permutations(odd, 4):
            made = make(WalkScores, np.array([1.0]))
            rows = [1, 2, 3, 4]
            made.learn(records(np.array([1], dtype=np.uint32), rows, rows, [pack([])] * 4))
            near = np.array(rows, dtype=np.int64), np.array([scores], dtype=np.float64).astype(np.float32)
            made.start([(rows, scores, 1.0)], [[0]], near, [(2, True, scores[0], 1e300, -1e300)], {})
            text = StartText("", "A.", [0], (NameRow(7, "a", -3, 7),), ((),), (False,))
            assert made.begin([1], [text], [[(0, 0.0)]]) == [7]
            assert made.lead([ChunkLinks((2,), (True,), (scores[1],), (3, 4))]) == []
            made.follow()
            assert sorted(made.highest(None)[0]) == rows
            assert len(made.highest(2)[0]) >= 2
            assert all(0.0 <= chance <= 1.0 for chance in made.chances().values())


def test_scoring_refuses_arrays_that_do_not_fit() -> None:
    made = make(WalkScores, np.array([0.5, 0.5]))
    one = records(np.array([1, 2], dtype=np.uint32), [5], [1], [pack([1])])
    made.learn(one)
    with pytest.raises(ValueError, match="not learnt again"):
        made.learn(one)
    for name, given_values in (
        ("logarithms", [[6]]),
        ("in_order", [[6], [0.0]]),
        ("begin", [[6], [StartText("", "A.", [0], (), (), ())], [[]]]),
    ):
        with pytest.raises(KeyError, match="6"):
            getattr(made, name)(*given_values)
    with pytest.raises(ValueError, match="where each of the entities leads"):
        made.lead([NOWHERE])
    text = StartText("", "A.", [0], (NameRow(7, "a", 1, 7),), ((),), (False,))
    made.begin([5], [text], [[(0, 0.0)]])
    made.lead([ChunkLinks((6,), (True,), (1.0,), ())])
    with pytest.raises(KeyError):
        made.follow()


def test_compiled_scoring_refuses_wrong_types() -> None:
    for wrong_words in ([2, 1], range(65)):
        with pytest.raises(ValueError, match="words ascend"):
            evidence_of(np.array(wrong_words, dtype=np.uint32), [], [])
    with pytest.raises(ValueError, match="64 words"):
        WalkScores([0.0] * 65, [], MODELS, 1.0)
    with pytest.raises(TypeError):
        WalkScores([1.0], [], MODELS[::-1], 1.0)
    words = np.array([1, 2], dtype=np.uint32)
    with pytest.raises(ValueError, match="document and the words of each chunk"):
        evidence_of(words, [5, 6], [(1, b"")])
    with pytest.raises(ValueError, match="four bytes"):
        evidence_of(words, [5], [(1, b"abc")])
    with pytest.raises(TypeError, match="words are bytes"):
        evidence_of(words, [5], [(1, "abcd")])  # type: ignore[list-item]
    with pytest.raises(IndexError, match="fewer values"):
        evidence_of(words, [5], [(1,)])  # type: ignore[list-item]
    made = WalkScores([0.5, 0.5], [], MODELS, 1.0)
    for wrong in (np.zeros((1, 3), dtype=np.int64), np.zeros(4, dtype=np.int64)):
        with pytest.raises(TypeError):
            made.learn(wrong)
    # Bits beyond the question's words count nothing.
    made.learn(np.array([[5, 1, -4, 0]], dtype=np.int64))
    assert made.in_order([5], [0.0]) == [(5, 0.0)]
    empty = np.empty(0, dtype=np.int64), np.empty((1, 0), dtype=np.float32)
    with pytest.raises(ValueError, match="a row of cosines for each clause"):
        made.start([], [[], []], empty, [], {})
    with pytest.raises(ValueError, match="fewer words"):
        made.start([], [[2]], empty, [], {})
    with pytest.raises(ValueError, match="each row a score"):
        made.start([((5,), (), 1.0)], [[]], empty, [], {})
    with pytest.raises(KeyError, match="6"):
        made.start([((6,), (1.0,), 1.0)], [[]], empty, [], {})
    with pytest.raises(ValueError, match="the text of each start"):
        made.begin([5], [], [])
    text = StartText("", "A.", [0], (NameRow(1, "a", 1, 1),), ((0,),), ())
    with pytest.raises(ValueError, match="sentences of each name"):
        made.begin([5], [text], [[(0, 0.0)]])
    with pytest.raises(IndexError, match="fewer values"):
        made.begin([5], [replace(text, own=(True,))], [[(0,)]])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="tell of each document"):
        whole = replace(text, own=(True,))
        made.begin([5], [whole], [[(0, 0.0)]])
        made.lead([ChunkLinks((5,), (), (), ())])
    with pytest.raises(ValueError, match="logarithm of each chunk"):
        made.in_order([5], [])


@settings(max_examples=examples(500))
@given(st.lists(st.floats(-1e6, 1e6), max_size=40))
def test_standardised_scores_are_those_of_numpy(given_scores: list[float]) -> None:
    scores = np.array(given_scores)
    spread = scores.std() if len(scores) else 0.0
    wanted = (scores - scores.mean()) / spread if spread > 0 else np.zeros(len(scores))
    assert standardised(scores).tobytes() == wanted.tobytes()
