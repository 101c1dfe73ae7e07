"""BM25 out of FTS5's own pages, held against FTS5."""

from __future__ import annotations

import random
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Document, Lexical, Monograph
from monograph.search import words
from monograph.search.one_file.file_reader import FileReader, SearchCache
from monograph.search.query import Query
from monograph.store.documents.filters import EVERYTHING
from monograph.store.file import schema
from monograph.store.words import postings, terms
from monograph.store.words.inverted import _inverted
from monograph.vectors.index import EcoVectorIndex
from support.properties import examples

VOCABULARY = [*"abcdefgh", "alpha", "alphabet", "alps", "бета", "東京", "x" * 40, "12", "2024"]
ALL = 1 << 40

texts = st.one_of(
    st.lists(st.sampled_from(VOCABULARY), max_size=12).map(" ".join),
    # Long enough that the places of one word in it go on from page to page.
    st.tuples(st.sampled_from(VOCABULARY), st.integers(40, 400)).map(lambda one: " ".join([one[0]] * one[1])),
)


History: TypeAlias = Sequence[tuple[str, list[tuple[int, str, str]]]]


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Transactions: what comes, under which rows, and what goes."""
    steps = []
    rows = st.integers(1, 6_000)
    for _ in range(draw(st.integers(1, 8))):
        kind = draw(st.sampled_from(["add", "add", "remove", "change", "merge"]))
        steps.append((kind, draw(st.lists(st.tuples(rows, texts, texts), max_size=12, unique_by=lambda one: one[0]))))
    return steps


@contextmanager
def index(page: int, automerge: int) -> Iterator[sqlite3.Connection]:
    """An empty file in memory, whose inverted index has pages of some size."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        schema.create_tables(connection)
        connection.execute("INSERT INTO words (words, rank) VALUES ('pgsz', ?)", (page,))
        connection.execute("INSERT INTO words (words, rank) VALUES ('automerge', ?)", (automerge,))
        connection.execute("INSERT INTO words (words, rank) VALUES ('crisismerge', ?)", (max(automerge, 2) * 2,))
        yield connection


def play(connection: sqlite3.Connection, history: History) -> None:
    held: dict[int, terms.Entry] = {}
    for kind, some in history:
        entries = {row: terms.Entry(row, title, text) for row, title, text in some}
        connection.execute("BEGIN")
        gone = [held.pop(row) for row in entries if row in held]
        if kind == "remove":
            gone += [held.pop(row) for row in list(held)[::3]]
        terms.remove(connection, gone)
        if kind in ("add", "change"):
            terms.add(connection, entries.values(), trigrams=True)
            held.update(entries)
        connection.execute("COMMIT")
        if kind == "merge":
            connection.execute("INSERT INTO words (words, rank) VALUES ('merge', 4)")


def held_against_fts5(connection: sqlite3.Connection, asked: Sequence[str], k: int, most: int) -> None:
    read = postings.read(connection, asked, (), 0)
    wanted = terms.document_frequency(connection, VOCABULARY)
    if not terms.count(connection):
        assert read is None
        return
    assert read is not None
    assert read.chunks == {word: number for word, number in wanted.items() if word in asked}
    counted = postings.WordCountCache()
    for _ in range(2):
        few = postings.read(connection, asked, VOCABULARY, most, counted)
        assert few is not None
        assert few.chunks == {word: number if word in asked else min(number, most) for word, number in wanted.items()}
        assert few.whole >= {word for word, number in wanted.items() if number < most}
    known = [word for word in dict.fromkeys(asked) if word in wanted]
    assert read.can_rank(known)
    found = read.bm25(connection, known, k, EVERYTHING)
    assert found is not None
    assert sorted(found) == sorted(terms.bm25(connection, known, k, EVERYTHING))
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)


@pytest.mark.long
@given(
    histories(),
    st.sampled_from([64, 200, 4_050]),
    st.sampled_from([0, 2, 4]),
    st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=6),
    st.integers(1, 30),
    st.integers(1, 12),
)
@settings(max_examples=examples(300))
def test_scores_equal_those_of_fts5(
    history: History, page: int, automerge: int, asked: list[str], k: int, most: int
) -> None:
    with index(page, automerge) as connection:
        play(connection, history)
        held_against_fts5(connection, asked, k, most)
        assert terms.lengths_are_right(connection)


def test_scores_equal_those_of_fts5_for_words_on_many_pages() -> None:
    chance = random.Random(7)
    with index(4_050, 4) as connection:
        for first in range(1, 30_001, 3_000):
            named = ((row, chance.choice(VOCABULARY)) for row in range(first, first + 3_000))
            play(connection, [("add", [(*one, " ".join(chance.choices(VOCABULARY, k=20))) for one in named])])
        for most in (1, 500, 20_000):
            held_against_fts5(connection, ["a", "alps", "2024"], 10, most)
        assert connection.execute("SELECT count(*) FROM words_data").fetchone()[0] > 500


def uneven(rows: int, seed: int) -> Iterator[tuple[int, str, str]]:
    """Texts of words of which some are in half of all, most in few, and one now and then in one text many times."""
    chance = random.Random(seed)
    words = [f"w{at}" for at in range(400)]
    weights = [1 / (at + 3) for at in range(400)]
    row = 0
    for _ in range(rows):
        row += chance.choice([1, 1, 1, 2, 700 if chance.random() < 0.01 else 1])
        text = chance.choices(
            words, weights, k=chance.choice([3, 20, 30, 40, 90, 1_500 if chance.random() < 0.02 else 9])
        )
        if chance.random() < 0.05:
            text += [chance.choice(words)] * chance.choice([5, 14, 15, 16, 40, 300])
        title = chance.choices(words, weights, k=chance.choice([0, 0, 2, 18]))
        yield row, " ".join(title), " ".join(text)


@pytest.mark.parametrize("seed", [1, 2])
def test_scores_equal_those_of_fts5_when_common_words_are_skipped(seed: int) -> None:
    chance = random.Random(seed)
    with index(4_050, 4) as connection:
        every = uneven(12_000, seed)
        while some := list(islice(every, 4_000)):
            play(connection, [("add", some)])
        counted = postings.WordCountCache()
        for k in (1, 7, 60):
            asked = [f"w{at}" for at in chance.sample(range(chance.choice([12, 400])), 5)]
            numbers = terms.document_frequency(connection, asked)
            rarest_first = sorted(numbers, key=lambda word: numbers[word])
            for words_asked in (rarest_first, rarest_first[::-1]):
                wanted = sorted(terms.bm25(connection, words_asked, k, EVERYTHING))
                for known in (None, counted, counted):
                    read = postings.read(connection, words_asked, (), ALL, known)
                    assert read is not None
                    assert read.chunks == numbers
                    found = read.bm25(connection, words_asked, k, EVERYTHING)
                    assert found is not None
                    assert sorted(found) == wanted


def test_cache_of_postings_is_bounded() -> None:
    with index(4_050, 4) as connection:
        play(connection, [("add", list(uneven(3_000, 5)))])
        counted = postings.WordCountCache()
        asked = [f"w{at}" for at in range(60)]
        first = postings.read(connection, asked, (), ALL, counted)
        assert first is not None
        connection.execute("UPDATE words_data SET block = x'' WHERE id > 10")
        again = postings.read(connection, asked[::-1], (), ALL, counted)
        assert again is not None
        assert (again.chunks, again.whole) == (first.chunks, first.whole)
        few = postings.read(connection, [], asked, 5, counted)
        assert few is not None
        assert few.chunks == {word: min(number, 5) for word, number in first.chunks.items()}
        size = counted.kept.size
        small = postings.WordCountCache()
        small.kept = _inverted.Kept(size // 3)
        assert postings.read(connection, asked, (), ALL, small) is None  # Of a page there is nothing left.
        assert small.kept.size == 0
    with index(4_050, 4) as connection:
        play(connection, [("add", list(uneven(3_000, 5)))])
        for begin in (0, 20, 40, 0):
            some = postings.read(connection, asked[begin : begin + 20], (), ALL, small)
            assert some is not None
            assert some.chunks == {word: first.chunks[word] for word in asked[begin : begin + 20]}
            assert 0 < small.kept.size <= size // 3


def test_filter_keeps_the_order_of_hits(tmp_path: Path) -> None:
    chance = random.Random(3)
    documents = [
        Document(" ".join(chance.choices(VOCABULARY[:9], k=9)), id=f"{at:04}", metadata={"part": at % 7, "odd": at % 2})
        for at in range(900)
    ]
    filters: list[dict[str, object]] = [
        {"part": 3},
        {"odd": 1},
        {"part": 3, "odd": 1},
        {"$document": "0007"},
        {"part": 9},
    ]
    with Monograph.open(tmp_path / "some.mono") as archive:
        archive.add(documents)

        def search(k: int, where: dict[str, object]) -> list[tuple[str, float]]:
            return [(one.chunk.id, one.score) for one in archive.search("a alpha c", k, "lexical", where=where)]

        for where in filters:
            for k in (1, 5, 40):
                found = search(k, where)
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(postings, "read", lambda *_: None)
                    assert found == search(k, where)
                assert bool(found) is (where != {"part": 9})


def test_each_ranked_word_is_one_token() -> None:
    every = [chr(code) for code in range(sys.maxunicode + 1) if postings._IS_ONE_WORD.fullmatch(chr(code))]
    with index(4_050, 4) as connection:
        texts = ((row, f"a{one}b") for row, one in enumerate(every, 1))
        connection.executemany("INSERT INTO words (rowid, title, text) VALUES (?, '', ?)", texts)
        held = {term for (term,) in connection.execute("SELECT term FROM vocabulary")}
    assert len(every) > 30_000
    assert held == {f"a{one}b" for one in every}


@given(st.integers(0, 1 << 30), st.integers(1, 12))
@settings(max_examples=examples(200))
def test_damaged_pages_are_left_to_fts5_or_read_as_they_are(seed: int, changes: int) -> None:
    chance = random.Random(seed)
    with index(200, 4) as connection:
        some = [(row, "", " ".join(chance.choices(VOCABULARY, k=12))) for row in range(1, 120)]
        play(connection, [("add", some[:60]), ("add", some[60:])])
        rows = connection.execute("SELECT id, block FROM words_data").fetchall()
        for row, block in chance.sample(rows, min(changes, len(rows))):
            if not block:
                continue
            damaged = bytearray(block)
            for _ in range(changes):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
            if chance.random() < 0.3:
                del damaged[chance.randrange(len(damaged)) :]
            connection.execute("UPDATE words_data SET block = ? WHERE id = ?", (bytes(damaged), row))
        read = postings.read(connection, VOCABULARY, (), 0)
        if read is not None:
            assert all(number > 0 for number in read.chunks.values())
            found = read.bm25(connection, list(read.chunks), 5, EVERYTHING)
            assert found is None or [score for _, score in found] == sorted((one for _, one in found), reverse=True)


@pytest.mark.parametrize("page", ["x'00'", "'many'", "-4", "2.5", "9000000000000000000"])
def test_unusable_page_table_is_left_to_fts5(page: str) -> None:
    with index(64, 4) as connection:
        play(connection, [("add", [(row, "", " ".join(VOCABULARY)) for row in range(1, 9)])])
        assert postings.read(connection, ["alpha"], (), 0) is not None
        connection.execute(f"UPDATE words_idx SET pgno = {page}")
        read = postings.read(connection, ["alpha"], (), 0)
        assert read is None or not read.chunks


def test_chunk_without_a_length_is_left_to_fts5() -> None:
    with index(4_050, 4) as connection:
        play(connection, [("add", [(row, "", "alpha alps") for row in (1, 2, 5_000)])])
        connection.execute("DELETE FROM lengths WHERE block = 2")
        read = postings.read(connection, ["alpha"], (), 0)
        assert read is not None
        assert read.bm25(connection, ["alpha"], 5, EVERYTHING) is None
        no_models: Any = None
        snapshot = FileReader(connection, SearchCache(), EcoVectorIndex(), EcoVectorIndex(), no_models)
        query = Query("alpha", 5, Lexical())
        _, (ranking,) = words.pool(snapshot, query, words.count(snapshot, query), 5)
        assert set(ranking.rows) == {1, 2, 5_000}


@settings(max_examples=examples(40))
@given(
    rows=st.lists(st.tuples(texts, texts, st.booleans()), min_size=1, max_size=12),
    asked=st.lists(st.sampled_from([*VOCABULARY, "東"]), min_size=1, max_size=4, unique=True),
    k=st.sampled_from([1, 3, 1_000]),
)
def test_global_counts_give_each_file_the_scores_of_one(
    rows: list[tuple[str, str, bool]], asked: list[str], k: int
) -> None:
    entries = [terms.Entry(row, title, text) for row, (title, text, _) in enumerate(rows, 1)]
    words = list(dict.fromkeys(word for one in asked for word in terms.words_of(one)))
    with index(4_050, 4) as whole, index(4_050, 4) as first, index(4_050, 4) as second:
        terms.add(whole, entries, trigrams=False)
        for part, wanted in ((first, True), (second, False)):
            mine = [one for one, (*_, dealt) in zip(entries, rows, strict=True) if dealt is wanted]
            terms.add(part, mine, trigrams=False)
        each = [terms.count_chunks(part, words) for part in (first, second)]
        having = {word: sum(one.get(word, 0) for one in each) for word in words}
        every = [terms.totals(part) for part in (first, second)]
        of_all = terms.CorpusCounts(sum(one for one, _ in every), sum(one for _, one in every), having)
        assert (of_all.chunks, of_all.words) == terms.totals(whole)
        expected = dict(terms.bm25(whole, words, ALL, EVERYTHING))
        found: dict[int, float] = {}
        for part in (first, second):
            told = terms.bm25_of_all(part, words, k, of_all, EVERYTHING)
            found.update(terms.bm25_of_all(part, words, ALL, of_all, EVERYTHING))
            known = postings.read(part, words, (), ALL)
            if known is None:
                assert terms.totals(part)[0] == 0
                continue
            held = [word for word in words if word in known.chunks]
            if len(held) == len([word for word in words if having[word]]) and known.can_rank(held):
                native = known.bm25(part, held, k, EVERYTHING, of_all)
                assert native is not None
                assert sorted(native) == sorted(told)
        assert found == expected
