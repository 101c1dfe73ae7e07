"""Rerankers: the order of hits, cached scores, and models that score."""

from __future__ import annotations

import json
import math
import pickle
import shutil
import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from monograph import Document, Hit, Monograph, Reranker
from monograph.derive.loading import load_reranker
from monograph.derive.rerank.cosines import EmbedderReranker
from monograph.derive.rerank.function import ScoringFunction
from monograph.derive.rerank.served import ServedReranker, ServedRerankerSettings
from monograph.errors import DamagedFile, InputError, ModelUnavailable
from monograph.graph import evidence
from monograph.search.query import Query
from monograph.search.reader import Reader
from monograph.search.rerank import FIRST
from support.forks import run
from support.models import HashEmbedder
from support.paths import DATA
from support.properties import examples
from support.raw_sql import connected
from support.vector_server import VectorServer, documents_of

WAYS = ("auto", "graph", "graph:faithful=true", "lexical", "tfidf", "dense", "hybrid", "hybrid:alpha=0.3", "tree")
CROSS_ENCODER = DATA / "cross-encoder"
ALONE = 1e7
"""A weight so large that only the reranker decides the order."""
QUESTION = "Where does Ann Mercer keep the bees of Otto Ruhl?"
PEOPLE = ("Ann Mercer", "Otto Ruhl", "Ines Okafor", "Tobias Renk", "Anna Lind")
PLACES = ("Riga", "Bergen", "Trieste", "Oslo", "Graz", "Worms", "Kuppe")
THINGS = ("bees", "honey", "plates", "tides", "lamps", "letters", "maps")


def documents(count: int = 60) -> list[Document]:
    made = []
    for n in range(count):
        who, other = PEOPLE[n % 5], PEOPLE[(n * n + 1) % 5]
        text = f"In {1900 + n} {who} keeps {THINGS[n % 7]} in {PLACES[n * 3 % 7]}, and {other} writes of it. Note {n}."
        made.append(Document(text, id=f"d{n}", title=f"Note {n}" if n % 3 else who))
    return made


class Counting:
    """A reranker from a function of texts. It records every text that it scores."""

    def __init__(self, score: Callable[[str], float], key: str = "mine", weight: float = ALONE) -> None:
        self._score = score
        self.texts: list[str] = []
        self.reranker = ScoringFunction(self.scores, key, weight)

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        self.texts += texts
        return [self._score(text) for text in texts]


def year(text: str) -> float:
    return float(text.partition("In ")[2][:4])


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("rerank") / "x.mono"
    with Monograph.open(made) as archive:
        archive.add(documents())
        archive.tree.rebuild()
    return made


@pytest.fixture
def archive(path: Path, tmp_path: Path) -> Iterator[Monograph]:
    shutil.copy(path, tmp_path / "x.mono")
    with Monograph.open(tmp_path / "x.mono") as opened:
        yield opened


def without(hits: list[Hit]) -> list[tuple[Any, ...]]:
    """Return the values of hits without the origins that the reranker added."""
    return [
        (
            hit.text, hit.score, hit.rank, hit.title, hit.path, hit.relevance, hit.note,
            tuple(one for one in hit.origins if one.retriever != "rerank"),
        )
        for hit in hits
    ]  # fmt: skip


def given_score(hit: Hit) -> float:
    (found,) = [one.score for one in hit.origins if one.retriever == "rerank"]
    return found


# tfidf with k = 3 is left out: with a reranker it reads more candidates, because it needs FIRST hits.
@pytest.mark.parametrize(("how", "k"), [(how, k) for how in WAYS for k in (3, 50) if (how, k) != ("tfidf", 3)])
def test_constant_reranker_changes_nothing(archive: Monograph, how: str, k: int) -> None:
    plain = archive.search(QUESTION, k, how)
    asked = archive.search(QUESTION, k, how, reranker=ScoringFunction(lambda _, texts: [0.5] * len(texts), "flat"))
    assert without(asked) == without(plain)
    assert [given_score(hit) for hit in asked[:FIRST]] == [0.5] * min(len(asked), FIRST)
    # Without a reranker, and with reranker="", hits are identical even if scores are stored.
    assert archive.search(QUESTION, k, how) == archive.search(QUESTION, k, how, reranker="") == plain


@pytest.mark.parametrize("how", WAYS)
def test_first_hits_follow_the_reranker(archive: Monograph, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # A graph search would reorder the hits by coverage after the reranker.
    monkeypatch.setattr(evidence, "COVERAGE", 0.0)
    plain = archive.search(QUESTION, 100, how)
    scorer = Counting(year)
    found = archive.search(QUESTION, 100, how, reranker=scorer.reranker)
    first = found[:FIRST]
    assert len(scorer.texts) == len(first) > 5
    assert [given_score(hit) for hit in first] == sorted((year(hit.text) for hit in plain[:FIRST]), reverse=True)
    assert {hit.text for hit in first} == {hit.text for hit in plain[:FIRST]}
    assert [hit.text for hit in found[FIRST:]] == [hit.text for hit in plain[FIRST:]]
    # Each rank keeps its score, and each hit keeps its origins.
    assert [hit.score for hit in found] == pytest.approx([hit.score for hit in plain])
    assert [hit.relevance for hit in found] == sorted((hit.relevance for hit in found), reverse=True)
    assert [hit.rank for hit in found] == list(range(len(found)))
    by_text = {hit.text: hit for hit in plain}
    for hit in first:
        assert hit.path == by_text[hit.text].path
        assert hit.origins[:-1] == by_text[hit.text].origins or how in ("auto", "graph")
        assert {one.retriever for one in by_text[hit.text].origins} <= {one.retriever for one in hit.origins}
        assert "rerank #" in hit.explain()
    assert without(archive.search(QUESTION, 5, how, reranker=scorer.reranker)) == without(found[:5])


@pytest.mark.parametrize("how", ["lexical", "dense", "hybrid", "graph"])
@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0, 3.0])
def test_fused_rank_counts_search_and_reranker(
    archive: Monograph, how: str, weight: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oracle is the sum of the standardised scores of search and reranker."""
    monkeypatch.setattr(evidence, "COVERAGE", 0.0)
    plain = archive.search(QUESTION, FIRST, how)
    found = archive.search(QUESTION, FIRST, how, reranker=Counting(year, weight=weight).reranker)
    values, years = (np.array(some) for some in zip(*((hit.score, year(hit.text)) for hit in plain), strict=True))
    together = (values - values.mean()) / values.std() + weight * (years - years.mean()) / years.std()
    expected = np.argsort(-together, kind="stable")
    assert [hit.text for hit in found] == [plain[place].text for place in expected]
    ranked = {text: rank for rank, text in enumerate(sorted((hit.text for hit in plain), key=year, reverse=True))}
    assert all(hit.origins[-1].rank == ranked[hit.text] for hit in found if hit.origins[-1].retriever == "rerank")


def test_coverage_order_is_applied_after_reranking(archive: Monograph, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hit that adds words of the question comes before a near-duplicate that the reranker prefers."""
    archive.add(
        [
            Document("Cora Vance repaired the pump of the mill.", id="a", title="A"),
            Document("Cora Vance repaired the pump of the mill again.", id="b", title="B"),
            Document("The dyke at Heem broke, and Cora Vance saw it.", id="c", title="C"),
        ]
    )
    question = "Did Cora Vance repair the pump of the mill, or see the dyke at Heem break?"
    liked = ScoringFunction(lambda _, texts: [float("pump" in text) for text in texts], "pump", ALONE)

    def first_two() -> set[str]:
        return {hit.chunk.document_id for hit in archive.search(question, 2, "graph", reranker=liked)}

    assert "c" in first_two()
    monkeypatch.setattr(evidence, "COVERAGE", 0.0)
    assert first_two() == {"a", "b"}


@pytest.mark.parametrize("how", ["auto", "graph", "lexical", "hybrid"])
def test_exact_codes_stay_first(archive: Monograph, how: str) -> None:
    archive.add([Document("Ann Mercer pays invoice INV-2024-7 in Riga.", id="bill", title="A bill")])
    never = ScoringFunction(lambda _, texts: [-float("INV" in text) for text in texts], "never", ALONE)
    found = archive.search("Ann Mercer INV-2024-7", 5, how, reranker=never)
    assert found[0].chunk.document_id == "bill"
    assert given_score(found[0]) == -1


def test_reranker_scores_are_cached(archive: Monograph) -> None:
    scorer = Counting(year)
    first = archive.search(QUESTION, 5, reranker=scorer.reranker)
    asked = len(scorer.texts)
    assert asked == FIRST == len(set(scorer.texts))
    assert archive.search(QUESTION, 5, reranker=scorer.reranker) == first
    assert len(scorer.texts) == asked
    with Monograph.open(archive.path, reranker=scorer.reranker) as again:  # The scores are stored in the file.
        assert again.search(QUESTION, 5) == first
        assert again.context(QUESTION, k=5).hits == tuple(first)
        assert again.ask(QUESTION, k=5).text
        assert len(scorer.texts) == asked
        again.search("Who writes of Bergen?", 5)
        assert len(scorer.texts) == asked + FIRST
        again.search("Who writes of Bergen?", 5, reranker=Counting(year, "other").reranker)
        again.compact()
    assert archive.check() == []
    with Monograph.open(archive.path, reranker=scorer.reranker) as again:  # `compact` has deleted the scores.
        again.search(QUESTION, 5)
    assert len(scorer.texts) == 2 * asked + FIRST


def test_reading_with_cached_scores_does_not_change_the_file(archive: Monograph) -> None:
    """New scores leave the generation unchanged, so that caches stay valid. A read-only file is not written."""
    with Monograph.open(archive.path, read_only=True) as reader:
        before = archive.path.read_bytes()
        scorer = Counting(year)
        found = reader.search(QUESTION, 5, reranker=scorer.reranker)
        assert reader.search(QUESTION, 5, reranker=scorer.reranker) == found
        assert len(scorer.texts) == FIRST
        assert archive.path.read_bytes() == before

    def generation() -> Any:
        with connected(archive.path) as rows:
            return rows.execute("SELECT value FROM settings WHERE name = 'generation'").fetchone()

    state = generation()
    archive.search(QUESTION, 5, reranker=Counting(year).reranker)
    assert generation() == state
    with connected(archive.path) as rows:
        assert rows.execute("SELECT count(*) FROM memo WHERE kind = 'score'").fetchone() == (FIRST,)


def test_caching_scores_does_not_wait_for_a_writer(archive: Monograph) -> None:
    scorer = Counting(year)
    other = connected(archive.path)
    other.execute("BEGIN IMMEDIATE")
    archive.search(QUESTION, 5, reranker=scorer.reranker)
    assert other.execute("SELECT count(*) FROM memo WHERE kind = 'score'").fetchone() == (0,)
    other.execute("ROLLBACK")
    archive.search(QUESTION, 5, reranker=scorer.reranker)  # The next search stores the pending scores.
    assert other.execute("SELECT count(*) FROM memo WHERE kind = 'score'").fetchone() == (FIRST,)
    other.close()
    assert len(scorer.texts) == FIRST


def test_strategy_may_search_within_a_search(archive: Monograph) -> None:
    """A custom search mode may search inside a search. New scores are stored after the outer search."""
    scorer = Counting(year)

    class Own:
        def search(self, reader: Reader, query: Query) -> list[Hit]:
            found = archive.search(query.text, query.k, "lexical", reranker=scorer.reranker)
            rerank = query.reranker
            assert rerank is not None
            return sorted(found, key=lambda hit: float(rerank.score("who?", [hit.text])[0]))

    found = archive.search(QUESTION, 5, Own(), reranker=Counting(lambda text: -year(text), "late").reranker)
    assert [year(hit.text) for hit in found] == sorted((year(hit.text) for hit in found), reverse=True)
    with connected(archive.path) as rows:
        assert rows.execute("SELECT count(*) FROM memo WHERE kind = 'score'").fetchone() == (len(scorer.texts) + 5,)


def test_reranker_spec_survives_pickling_of_a_file(archive: Monograph) -> None:
    with Monograph.open(archive.path, reranker="embedder:static") as named:
        hits = named.search(QUESTION, 5)
        if named.path.read_bytes()[:15] == b"SQLite format 3":  # Encrypted files cannot be pickled.
            with pickle.loads(pickle.dumps(named)) as again:
                assert again.search(QUESTION, 5) == hits
        assert given_score(hits[0])


@pytest.mark.parametrize("value", [b"\0", struct.pack("<d", math.nan)])
def test_damaged_cached_score_raises_until_repaired(archive: Monograph, value: bytes) -> None:
    scorer = Counting(year)
    found = archive.search(QUESTION, 5, reranker=scorer.reranker)
    archive.close()
    with connected(archive.path) as rows:
        rows.execute("UPDATE memo SET value = ? WHERE kind = 'score'", (value,))
    with Monograph.open(archive.path) as again:
        with pytest.raises(DamagedFile, match=r"row \d+ of memo, a score"):
            again.search(QUESTION, 5, reranker=scorer.reranker)
        assert again.check() != []
        again.check(repair=True)
        assert again.check() == []
        assert again.search(QUESTION, 5, reranker=scorer.reranker) == found
        assert len(scorer.texts) == 2 * FIRST


class Broken:
    """A custom reranker that raises ValueError."""

    key = spec = "broken"

    def score(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        raise ValueError("a fault of the model")


def test_error_of_a_reranker_is_no_damage(archive: Monograph) -> None:
    for part in (archive, archive.within({"$document": {"in": ["d1", "d2"]}})):
        with pytest.raises(ValueError, match="a fault of the model") as caught:
            part.search(QUESTION, 5, reranker=Broken())
        assert caught.value.__notes__ == ["raised by the model 'broken'"]


@pytest.mark.parametrize(
    "function",
    [
        lambda _, texts: [1.0],
        lambda _, texts: [float("nan")] * len(texts),
        lambda _, texts: [float("inf")] * len(texts),
        lambda _, texts: [[1.0]] * len(texts),
        lambda _, texts: ["good"] * len(texts),
        lambda _, texts: 1 / 0,
    ],
)
def test_invalid_scores_are_refused(archive: Monograph, function: Any) -> None:
    with pytest.raises(ModelUnavailable, match="function/bad") as caught:
        archive.search(QUESTION, reranker=ScoringFunction(function, "bad"))
    assert caught.value.hint


def test_unusable_rerankers_are_refused(archive: Monograph) -> None:
    for wrong in (3, ScoringFunction, len):
        with pytest.raises(InputError, match="the reranker is"):
            archive.search(QUESTION, reranker=wrong)  # type: ignore[arg-type]
    with pytest.raises(ModelUnavailable):
        archive.search(QUESTION, reranker="magic")
    with pytest.raises(ModelUnavailable):
        Monograph.open(archive.path, reranker="magic")
    for weight in (-1.0, float("nan"), "much"):
        with pytest.raises(InputError, match="weight"):
            archive.search(QUESTION, reranker=ScoringFunction(lambda _, texts: [], "x", weight))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="key"):
        ScoringFunction(lambda _, texts: [], "")


def test_empty_query_and_empty_result_are_not_scored(archive: Monograph, tmp_path: Path) -> None:
    scorer = Counting(year)
    for how in WAYS:
        assert archive.search("", 5, how, reranker=scorer.reranker) == archive.search("", 5, how)
        assert archive.search(QUESTION, 0, how, reranker=scorer.reranker) == []
    with Monograph.open(tmp_path / "empty.mono", reranker=scorer.reranker) as empty:
        assert [empty.search(QUESTION, 5, how) for how in WAYS[:-1]] == [[]] * (len(WAYS) - 1)
    assert scorer.texts == []


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(scores=st.lists(st.floats(-1e9, 1e9), min_size=60, max_size=60), k=st.integers(1, 40), how=st.sampled_from(WAYS))
def test_hits_are_valid_for_any_scores(archive: Monograph, scores: list[float], k: int, how: str) -> None:
    key = str(hash(tuple(scores)))
    reranker = ScoringFunction(lambda _, texts: [scores[int(year(text)) - 1900] for text in texts], key)
    found = archive.search(QUESTION, k, how, reranker=reranker)
    assert len({(hit.chunk.id, hit.summary and hit.summary.id) for hit in found}) == len(found) <= k
    for values in ([hit.score for hit in found], [hit.relevance for hit in found]):
        assert values == sorted(values, reverse=True)
    assert all(given_score(hit) == scores[int(year(hit.text)) - 1900] for hit in found[:FIRST])
    assert found == archive.search(QUESTION, 40, how, reranker=reranker)[:k]


def cross_encoder(place: Path, model: str = "model") -> Path:
    """Write a folder of a cross-encoder that counts shared words, and return it."""
    pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    place.mkdir(exist_ok=True)
    shutil.copy(CROSS_ENCODER / f"{model}.onnx", place / "model.onnx")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *(f"w{number}" for number in range(40))]
    made = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, "[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    made.save(str(place / "tokenizer.json"))
    return place


@pytest.mark.parametrize(("model", "factor"), [("model", 1), ("two", 2)])
def test_cross_encoder_scores_equal_the_model(tmp_path: Path, model: str, factor: int) -> None:
    reranker = load_reranker(f"onnx:{cross_encoder(tmp_path / 'x', model)}")
    assert isinstance(reranker, Reranker)
    rng = np.random.default_rng(3)
    texts = [" ".join(f"w{n}" for n in rng.integers(0, 40, rng.integers(0, 30))) for _ in range(50)]
    question = "W1 w2 w3 w4 w5 unknown"
    words = {f"w{n}" for n in range(1, 6)}
    assert reranker.score(question, texts).tolist() == [
        factor * (len(words & set(text.split())) - 0.5) for text in texts
    ]
    assert load_reranker(reranker.spec).key == reranker.key
    assert reranker.score(question, []).shape == (0,)
    short = load_reranker(f'onnx:{tmp_path / "x"}#{{"max_tokens": 8}}')
    assert short.key != reranker.key
    assert load_reranker(short.spec).key == short.key
    assert short.score("w1", ["w2 " * 30 + "w1"]).tolist() == [-0.5 * factor]


def test_unusable_cross_encoder_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"shape \(1, 3\)") as caught:
        load_reranker(f"onnx:{cross_encoder(tmp_path / 'three', 'three')}")
    assert "cross-encoder" in caught.value.hint
    for source, said in ((f"{tmp_path}", "no .onnx file"), (f"{tmp_path}/x", "no folder"), ('x#{"a": 1}', "settings")):
        with pytest.raises(ModelUnavailable, match=said):
            load_reranker(f"onnx:{source}")
    (tmp_path / "three" / "tokenizer.json").unlink()
    with pytest.raises(ModelUnavailable, match=r"tokenizer\.json"):
        load_reranker(f"onnx:{tmp_path / 'three'}")


def test_embedder_reranker_scores_by_cosine(archive: Monograph) -> None:
    embedder = HashEmbedder(64)
    reranker = EmbedderReranker(embedder)
    assert isinstance(reranker, Reranker)
    found = archive.search(QUESTION, 5, "lexical", reranker=reranker)
    vector = embedder.embed([QUESTION], "query")[0]
    for hit in found:
        text = hit.text if hit.text.startswith(hit.title) else f"{hit.title}\n{hit.text}"
        assert given_score(hit) == pytest.approx(float(embedder.embed([text])[0] @ vector))
    named = load_reranker("embedder:static")
    assert (named.spec, named.key) == ("embedder:static", f"embedder/{archive.embedder.key}")


@pytest.mark.parametrize("tei", [False, True])
def test_served_reranker_sends_batches(vectors: VectorServer, archive: Monograph, tei: bool) -> None:
    vectors.tei = tei
    reranker = load_reranker(f'rerank:{vectors.url}#shared-words#{{"batch_size": 7}}', "key-1234")
    assert isinstance(reranker, Reranker)
    texts = [f"{THINGS[n % 7]} in {PLACES[n % 5]}" for n in range(20)]
    asked = {"where", "are", "bees", "in", "riga"}
    assert reranker.score("Where are bees in Riga", texts) == pytest.approx(
        [len(asked & set(text.lower().split())) / 5 for text in texts]
    )
    assert {one.token for one in vectors.asked} == {"key-1234"}
    assert {one.path for one in vectors.asked} == {"/v1/rerank"}
    assert [len(documents_of(one.body)) for one in vectors.asked[tei:]] == [7, 7, 6]
    if not tei:
        assert vectors.asked[0].body == {
            "model": "shared-words", "query": "Where are bees in Riga", "documents": texts[:7], "top_n": 7,
        }  # fmt: skip
    sent = len(vectors.documents)
    archive.search(QUESTION, reranker=reranker)
    archive.search(QUESTION, reranker=reranker)
    assert len(vectors.documents) - sent == FIRST
    assert load_reranker(reranker.spec).key == reranker.key
    assert reranker.score("x", []).shape == (0,)


def results(change: Callable[[list[Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    return lambda reply: reply | {"results": change(reply["results"])}


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (results(lambda rows: rows[1:]), "scores of 1 texts, where 2 were sent"),
        (results(lambda rows: [*rows, {"index": 2, "relevance_score": 0.1}]), "scores of 3 texts"),
        (results(lambda rows: [rows[0], rows[0]]), "scores of 1 texts"),
        (results(lambda rows: [{"index": 0}, rows[1]]), "without an index and a score"),
        (results(lambda rows: [{"index": "0", "relevance_score": 1.0}, rows[1]]), "without an index and a score"),
        (results(lambda rows: [[0, 1.0], rows[1]]), "without an index and a score"),
        (results(lambda rows: [{"index": rows[0]["index"], "relevance_score": float("nan")}, rows[1]]), "not finite"),
        (results(lambda rows: [{"index": rows[0]["index"], "relevance_score": 10**400}, rows[1]]), "not finite"),
        (lambda reply: {"message": "no key-1234"}, "without scores"),
        (lambda reply: 3, "without scores"),
        (lambda reply: b"<html>", "no JSON"),
        (401, "status 401"),
        (404, "status 404"),
        (400, "status 400"),
    ],
)
def test_invalid_reranker_replies_are_refused(vectors: VectorServer, fault: Any, said: str) -> None:
    vectors.fail(fault)
    with pytest.raises(ModelUnavailable, match=said) as caught:
        ServedReranker(vectors.url, "m", api_key="key-1234").score("who?", ["one", "two"])
    assert f"{vectors.url}/rerank" in caught.value.message
    assert caught.value.hint
    assert "OpenAI" not in caught.value.hint
    assert "key-1234" not in str(caught.value)
    assert len(vectors.asked) == 1


def test_served_reranker_retries_and_recovers(vectors: VectorServer, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors.fail(503)
    vectors.fail("reset")
    assert load_reranker(f"rerank:{vectors.url}#m").score("one", ["one", "two"]).tolist() == [1.0, 0.0]
    vectors.fail("stall")
    assert ServedReranker(vectors.url, "m", timeout=0.3, retries=8).score("one", ["one"]).tolist() == [1.0]
    vectors.fail(503, times=3)
    with pytest.raises(ModelUnavailable, match="503"):
        load_reranker(f"rerank:{vectors.url}#m").score("one", ["one"])
    ServedReranker(vectors.url, "m", ServedRerankerSettings(max_characters=3)).score("one", ["one two"])
    assert vectors.documents[-1] == "one"
    monkeypatch.setenv("MONOGRAPH_RERANKER_API_KEY", "for-rerankers")
    load_reranker(f"rerank:{vectors.url}#m").score("one", ["one"])
    assert vectors.asked[-1].token == "for-rerankers"
    for source in ("x#m", "http://x/v1", 'http://x/v1#m#{"a": 1}', 'http://x/v1#m#{"batch_size": 0}'):
        with pytest.raises(ModelUnavailable, match="cannot use"):
            load_reranker(f"rerank:{source}")
    with pytest.raises(InputError):
        ServedReranker("http://user:word@x/v1", "m")


@pytest.mark.long
def test_commands_use_a_reranker(
    vectors: VectorServer, archive: Monograph, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    archive.close()
    spec = f"rerank:{vectors.url}#shared-words"

    hits = json.loads(run("search", archive.path, QUESTION, "--reranker", spec, "--json"))
    assert all(hit["origins"][-1]["retriever"] == "rerank" for hit in hits)
    asked = len(vectors.documents)
    assert asked == FIRST
    assert "rerank #1" in run("search", archive.path, QUESTION, "--explain", "--reranker", spec)
    monkeypatch.setenv("MONOGRAPH_RERANKER", spec)
    assert len(vectors.documents) == FIRST  # The scores are stored in the file.
    questions = tmp_path / "q.jsonl"
    questions.write_text(json.dumps({"question": "Where are maps?", "evidence_ids": ["d6"]}) + "\n")
    for number, command in enumerate(
        [
            ("context", archive.path, "Who keeps tides in Riga?"),
            ("ask", archive.path, "Who keeps maps in Graz?"),
            ("eval", "--file", archive.path, "--queries", questions, "--how", "lexical"),
        ]
    ):
        asked = len(vectors.documents)
        run(*command)
        assert 5 < len(vectors.documents) - asked <= FIRST, number
        run(*command)
        assert 5 < len(vectors.documents) - asked <= FIRST, number
