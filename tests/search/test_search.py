"""Lexical, dense and hybrid search: hits, order, scores and filters."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monograph import Document, Lexical, Monograph, Origin
from monograph.errors import InputError, InvalidFilter
from monograph.search import words
from monograph.search.fusion import Ranking, fuse, origins_of, standardised
from monograph.search.query import Query
from monograph.store.documents import documents
from monograph.store.documents.filters import EVERYTHING
from monograph.store.words import terms
from support.corpora import copy_archive
from support.properties import examples

WAYS = ("lexical", "tfidf", "dense", "hybrid", "auto")
TEXTS = {
    "plain": "The invoice INV-2024 was paid in March by the harbour office.",
    "longer": "The invoice INV-20245 was paid in March by the harbour office.",
    "suffix": "The invoice INV-2024-A was paid in March by the harbour office.",
    "prefix": "The invoice XINV-2024 was paid in March by the harbour office.",
    "apart": "INV and 2024 stand apart here; the harbour office paid an invoice in March.",
    "german": "Die Straßenbahn fährt über die Brücke nach Köln. Der Müller grüßt.",
    "chinese": "北京大学位于中国的首都北京，是一所著名的大学。",
    "japanese": "東京タワーは日本の東京にあります。",
    "thai": "กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย",
    "quote": "She said: the lamp must never go out, not even in June.",
    "unquote": "Never must the lamp in June go out; out it must not go, never.",
}


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Monograph]:
    """An archive of the texts."""
    documents = [Document(text, id=name, metadata={"kind": name, "length": len(text)}) for name, text in TEXTS.items()]
    with Monograph.open(copy_archive(tmp_path / "filled.mono", documents)) as opened:
        yield opened


def ids(monograph: Monograph, query: str, how: str = "hybrid", k: int = 3, **options: Any) -> list[str]:
    return [hit.chunk.document_id for hit in monograph.search(query, k, how=how, **options)]


@pytest.mark.parametrize("how", ["lexical", "tfidf", "hybrid", "auto"])
@pytest.mark.parametrize(
    "query", ["INV-2024", "inv-2024", "was the invoice INV-2024 paid in March by the harbour office?"]
)
def test_a_code_is_found_first_and_never_inside_a_longer_one(filled: Monograph, how: str, query: str) -> None:
    hits = filled.search(query, 10, how=how)
    assert hits[0].chunk.document_id == "plain"
    exact = {hit.chunk.document_id: one.score for hit in hits for one in hit.origins if one.retriever == "exact"}
    if how != "tfidf":
        assert exact == {"plain": 1.0, "suffix": 0.5}
    assert ids(filled, "INV-20245", how)[0] == "longer"
    assert ids(filled, "INV-2024-A", how)[0] == "suffix"


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("INV-2024", ["INV-2024"]),
        ("is UNIQUE_INVOICE_CODE_XYZ_999 or x.25 paid?", ["UNIQUE_INVOICE_CODE_XYZ_999", "x.25"]),
        ("call 555-123-4567 on 2026-04-28", ["555-123-4567", "2026-04-28"]),
        ("a 24-yard goal in 1992-93 or 1945-1949, the 3rd at 5pm in 2024", []),
        ('"INV-1" is quoted', []),
    ],
)
def test_codes_are_found_in_a_query(query: str, found: list[str]) -> None:
    assert words.codes(query) == found


@pytest.mark.parametrize("how", WAYS)
def test_query_of_very_many_words_is_searched_to_its_limit(filled: Monograph, how: str, tmp_path: Path) -> None:
    many = " ".join(["harbour", *(f"w{number:x}" for number in range(20_000))])
    with pytest.warns(UserWarning, match=f"{len(many) + 10:,} characters: only the first 16,384 are used"):
        found = filled.search(f"{many} INV-20245", 3, how=how)
    assert found
    assert found == filled.search(many[:16_384], 3, how=how)
    with Monograph.open(tmp_path / "empty.mono") as empty:
        assert empty.search("harbour", how=how) == []


def test_quoted_phrases_rank_first(filled: Monograph) -> None:
    assert ids(filled, '"lamp must never go out"', "lexical")[0] == "quote"
    assert words.phrases("„eins zwei“ «trois quatre» “five six”") == ["eins zwei", "trois quatre", "five six"]


@pytest.mark.parametrize(
    ("query", "found"),
    [("Strasse", []), ("strassenbahn", ["german"]), ("KOLN", ["german"]), ("grusst muller", ["german"]), ("北京", ["chinese"]),
     ("中国首都的大学在哪里", ["chinese"]), ("京", ["chinese", "japanese"]), ("東京", ["japanese"]), ("เมืองหลวง", ["thai"])],
)  # fmt: skip
def test_lexical_search_finds_words_of_other_languages(filled: Monograph, query: str, found: list[str]) -> None:
    assert sorted(ids(filled, query, "lexical")) == found


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize(
    "query",
    ["", "   ", "?!", '"', '"" AND (', "NEAR(a b)", "text:", "* ^ - +", "a' OR 1=1 --", "\x00", "the the", "🦉"],
)
def test_queries_are_never_syntax(filled: Monograph, how: str, query: str) -> None:
    assert len(filled.search(query, 3, how=how)) <= 3


@pytest.mark.parametrize("how", WAYS)
def test_k_limits_ranked_hits(filled: Monograph, how: str) -> None:
    assert filled.search("harbour", 0, how=how) == []
    hits = filled.search("harbour office", 100, how=how)
    assert len(hits) <= len(TEXTS)
    assert [hit.rank for hit in hits] == list(range(len(hits)))
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in hits:
        document = filled.document(hit.chunk.document_id)
        assert document.text[hit.chunk.start : hit.chunk.end] == hit.chunk.text
        assert hit.origins
        assert hit.origins[0].retriever in hit.explain()


def test_wrong_arguments_are_named(filled: Monograph) -> None:
    with pytest.raises(InputError, match="-1"):
        filled.search("x", -1)
    with pytest.raises(InputError, match="'magic'"):
        filled.search("x", how="magic")
    with pytest.raises(InvalidFilter, match="'~'"):
        filled.search("x", where={"kind": {"~": 1}})


@pytest.mark.parametrize("how", ["dense", "hybrid"])
def test_filters_never_cost_hits(monograph: Monograph, how: str) -> None:
    documents = [Document(f"note number {n} on harbours", id=str(n), metadata={"n": n}) for n in range(400)]
    monograph.add(documents)
    for bound, expected in ((395, 5), (399, 1), (0, 7)):
        hits = monograph.search("harbours", 7, how=how, where={"n": {">=": bound}})
        assert len(hits) == expected
        assert all(hit.metadata["n"] >= bound for hit in hits)
    assert ids(monograph, "harbours", how, where={"$document": {"in": ["3", "5"]}}) in (["3", "5"], ["5", "3"])


def test_dense_score_is_the_cosine(filled: Monograph) -> None:
    query = filled.embedder.embed(["paying a bill"], "query")[0]
    vectors = filled.embedder.embed(list(TEXTS.values()))
    cosines = dict(zip(TEXTS, (vectors @ query).tolist(), strict=True))
    hits = filled.search("paying a bill", 20, how="dense")
    assert [hit.chunk.document_id for hit in hits] == sorted(cosines, key=lambda name: -cosines[name])
    assert [hit.score for hit in hits] == pytest.approx([cosines[hit.chunk.document_id] for hit in hits], abs=1e-5)


LETTERS = st.text(alphabet="abcdefg ", min_size=1, max_size=60).filter(lambda text: text.strip())


@settings(max_examples=examples(30))
@given(texts=st.lists(LETTERS, min_size=2, max_size=12), query=LETTERS)
def test_scores_are_those_of_the_formulas(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], query: str
) -> None:
    with Monograph.open(tmp_path_factory.mktemp("m") / "x.mono") as monograph:
        monograph.add([Document(text, id=str(n)) for n, text in enumerate(texts)])
        tokens = {str(n): text.split() for n, text in enumerate(texts)}
        frequency = Counter(word for words in tokens.values() for word in set(words))
        found = {hit.chunk.document_id: hit.score for hit in monograph.search(query, 50, how="lexical")}
        asked = {word for word in query.split() if 0 < frequency[word] <= len(texts) / 2} or {
            w for w in query.split() if frequency[w]
        }
        expected = {name: bm25(words, asked, tokens, frequency) for name, words in tokens.items() if asked & set(words)}
        assert found == pytest.approx(expected, abs=1e-5)
        scored = {hit.chunk.document_id: hit.score for hit in monograph.search(query, 50, how="tfidf")}
        for name, score in scored.items():
            inside = float(len(query.strip()) > 2 and query.strip() in texts[int(name)].strip())
            assert score == pytest.approx(ragdb(query.split(), tokens[name], tokens, frequency) + inside, abs=1e-6)


def bm25(words: list[str], asked: set[str], tokens: dict[str, list[str]], frequency: Counter[str]) -> float:
    average = sum(map(len, tokens.values())) / len(tokens)
    total = 0.0
    for word in asked & set(words):
        idf = math.log((len(tokens) - frequency[word] + 0.5) / (frequency[word] + 0.5))
        count = words.count(word)
        total += max(idf, 1e-6) * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * len(words) / average))
    return total


def ragdb(query: list[str], words: list[str], tokens: dict[str, list[str]], frequency: Counter[str]) -> float:
    """RAGdb Sec. 4.1, read literally."""
    vocabulary = sorted(frequency)

    def vector(some: list[str]) -> np.ndarray:
        weights = [
            (1 + math.log(some.count(word))) * (math.log(len(tokens) / (1 + frequency[word])) + 1)
            if word in some
            else 0.0
            for word in vocabulary
        ]
        norm = np.linalg.norm(weights)
        return np.array(weights) / norm if norm else np.array(weights)

    return float(vector(query) @ vector(words))


def test_fused_scores_equal_those_by_hand() -> None:
    first = Ranking("lexical", (1, 2, 3), (4.0, 2.0, 0.0))
    second = Ranking("dense", (3, 9), (0.9, 0.1))
    spread = math.sqrt(8 / 3)
    fused, unfound = fuse([first, second], [])
    assert fuse([], []) == ({}, 0.0)
    assert fused == pytest.approx({1: 2 / spread - 0.5, 2: -0.5, 3: -2 / spread + 0.5, 9: -2 / spread - 0.5})
    assert unfound == pytest.approx(-2 / spread - 0.5)
    assert origins_of([first, second], {3}) == {3: (Origin("lexical", 2, 0.0), Origin("dense", 0, 0.9))}
    lifted, _ = fuse([first, second], [Ranking("exact", (9,), (0.5,)), Ranking("phrase", (2,), (1.0,))])
    assert sorted(lifted, key=lambda row: -lifted[row]) == [9, 2, 1, 3]


def test_fusion_ranks_the_only_lexical_hit_first() -> None:
    rare, near = Ranking("lexical", (7,), (3.0,), is_exhaustive=True), Ranking("dense", (1, 2, 7), (0.9, 0.5, 0.1))
    # 3, 0 and 0 where only the 3 was given.
    lexical = [2 / math.sqrt(2), -1 / math.sqrt(2)]
    fused, _ = fuse([rare, near], [])
    dense = standardised(np.array(near.scores))
    assert sorted(fused, key=lambda row: -fused[row]) == [7, 1, 2]
    assert fused == pytest.approx(
        {7: lexical[0] + 0.5 * dense[2], 1: lexical[1] + 0.5 * dense[0], 2: lexical[1] + 0.5 * dense[1]}
    )
    assert origins_of([rare, near], {1, 2}) == {1: (Origin("dense", 0, 0.9),), 2: (Origin("dense", 1, 0.5),)}


@pytest.mark.parametrize("how", ["lexical", "hybrid", "graph", "auto"])
def test_a_rare_word_finds_its_only_document(monograph: Monograph, how: str) -> None:
    animals = ("cow", "sheep", "pony", "hen", "donkey", "dog", "horse", "pig", "duck", "cat")
    monograph.add(
        Document(f"A {animal} broke the instrument of the {place} in the night.", id=f"{animal} {place}")
        for animal in animals
        for place in ("tower", "harbour", "mill", "abbey")
    )
    monograph.add([Document("שלום העالم. " * 30 + "Altamura's zephyrometer fell to a goat.", id="signs")])
    for question in ("What was broken by a goat?", "goat"):
        assert "signs" in [hit.chunk.document_id for hit in monograph.search(question, 2, how)], question


def test_words_are_folded_to_lower_case_without_accents() -> None:
    assert terms.fold("ÀÉÎ Straße ǅ 한국") == "aei strasse dz 한국"
    assert terms.words_of("中国首都 GPT-4!") == ["中国", "国首", "首都", "gpt", "4"]


def test_tfidf_finds_the_whole_query_as_a_substring(filled: Monograph) -> None:
    with filled._file.reading() as snapshot:
        assert len(words.substring(snapshot, "ßenbah", 5, EVERYTHING).rows) == 1
        assert words.substring(snapshot, "no such text", 5, EVERYTHING).rows == ()
    assert [hit.score for hit in filled.search("ßenbahn", how="tfidf")] == [1.0]


@pytest.mark.parametrize("how", ["lexical", "dense", "hybrid", "graph"])
def test_more_hits_begin_with_fewer(monograph: Monograph, how: str) -> None:
    words = ["harbour", "crane", "Okafor", "ledger", "tide", "Marsh", "buoy", "rope", "Lindqvist", "signal"]
    chosen = random.Random(3)
    monograph.add(Document(" ".join(chosen.choices(words, k=12)) + f" {n}.", id=f"d{n}") for n in range(300))
    query = "Did Okafor sign the ledger for the crane?"
    all_of_them = [hit.chunk.id for hit in monograph.search(query, 80, how=how)]
    assert len(all_of_them) > 50
    for k in (1, 5, 30):
        assert [hit.chunk.id for hit in monograph.search(query, k, how=how)] == all_of_them[:k]


@settings(max_examples=examples(50), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    asked=st.lists(
        st.sampled_from(["the", "of", "boiler", "harbour", "invoice", "a", "paid", "in", "nothing", "zzz"]), max_size=8
    )
)
def test_frequencies_of_other_words_beside_change_no_ranking(filled: Monograph, asked: list[str]) -> None:
    query = " ".join(asked)
    with filled._file.reading() as snapshot:
        search = Query(query, 5, Lexical())
        _, expected = words.pool(snapshot, search, words.count(snapshot, search), 5)
        long, short = [one for one in asked if len(one) > 3], [one for one in asked if len(one) <= 3]
        counts = snapshot.count(long, short, allowed=EVERYTHING)
        snapshot.count(["another"], allowed=EVERYTHING)
        assert words.pool(snapshot, search, counts, 5)[1] == expected


def test_texts_are_read_at_once_as_one_by_one(monograph: Monograph) -> None:
    written = ["".join(chr(97 + (at * n) % 26) for at in range(5_000 * n)) for n in (1, 2, 17)]
    monograph.add([Document(text, id=str(n)) for n, text in enumerate(written)])
    with monograph._file.database.read() as connection:
        rows = documents.numbers(connection)
        places = (-3, 0, 1, 4_095, 4_096, 4_097, 9_999, 10_000, 90_000, 1 << 50)
        spans = [(row, start, end) for row in (*rows, 99) for start in places for end in places]
        assert any(documents.text(connection, *span) for span in spans)
        for some in (spans, [span for span in spans if span[2] - max(span[1], 0) < 20_000]):
            assert documents.texts(connection, some) == [documents.text(connection, *span) for span in some]
