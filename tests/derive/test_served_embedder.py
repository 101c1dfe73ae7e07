"""Embedders behind a server with OpenAI's API, over real sockets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Document, Embedder, Monograph, Settings
from monograph.derive.embed import openai_compatible as served
from monograph.derive.embed.openai_compatible import OpenAIEmbedder, ServedSettings
from monograph.derive.loading import load_embedder, load_extractor, load_summarizer
from monograph.errors import InputError, ModelMismatch, ModelUnavailable, ModelUntrusted
from support.forks import run
from support.models import HashEmbedder
from support.properties import examples
from support.vector_server import VectorServer

NOTES = {
    "comet.md": "# The comet\n\nInes Okafor found the comet in Riga. The observatory of Riga keeps plate 4417.\n",
    "bees.md": "# Bees\n\nOtto Ruhl keeps bees beside the river Elbe and sells honey to Ines Okafor.\n",
    "tide.md": "# Tides\n\nThe harbour of Bergen is deep. Anna Lind measures its tides every morning.\n",
}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text)
    return folder


def spec(vectors: VectorServer, **changed: Any) -> str:
    return f"openai:{vectors.url}#hash" + (f"#{json.dumps(changed)}" if changed else "")


@settings(max_examples=examples(12))
@given(
    texts=st.lists(st.text(max_size=30), max_size=9),
    most=st.integers(1, 4),
    characters=st.integers(1, 60),
    packed=st.booleans(),
)
def test_served_vectors_are_normalised_and_in_order(texts: list[str], most: int, characters: int, packed: bool) -> None:
    with VectorServer(packed=packed) as vectors:
        chosen = ServedSettings(batch_size=most, batch_characters=characters)
        embedder = OpenAIEmbedder(vectors.url + "/", "hash", chosen)
        assert isinstance(embedder, Embedder)
        made = embedder.embed(texts)
        expected = HashEmbedder(16).embed([text if text.strip() else "" for text in texts])
        assert made.dtype == np.float32
        assert made == pytest.approx(expected, abs=1e-6)
        # Each text is sent once, blank texts are not sent, and no request exceeds the limits.
        sent = [one.body["input"] for one in vectors.asked if one.body["input"] != ["a"]]
        told = sorted(text for some in sent for text in some)
        assert told == sorted({text for text in texts if text.strip()} - {"a"}) or "a" in texts
        assert all(len(some) <= most for some in sent)
        assert all(len(some) == 1 or sum(map(len, some)) <= characters for some in sent)


def test_served_embedder_sends_model_and_texts(vectors: VectorServer) -> None:
    embedder = OpenAIEmbedder(vectors.url, "hash", ServedSettings(query_prefix="q: ", max_characters=7), "key-1234")
    assert embedder.embed(["owls in the barn"], "query").shape == (1, 16)
    embedder.embed(["owls in the barn"])
    first, second = vectors.asked
    assert (first.path, first.token) == ("/v1/embeddings", "key-1234")
    assert first.body == {"model": "hash", "input": ["q: owls"]}
    assert second.body == {"model": "hash", "input": ["owls in"]}
    assert load_embedder(spec(vectors, dimensions=8)).embed(["x"]).shape == (1, 8)
    assert vectors.asked[-1].body["dimensions"] == 8


def test_latest_query_vectors_are_cached(vectors: VectorServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "MOST_QUESTIONS", 2)
    embedder = load_embedder(spec(vectors))
    first = embedder.embed(["b", "a"], "query")
    assert (embedder.embed(["a", "b", "a"], "query") == first[[1, 0, 1]]).all()
    for text in "aca":
        embedder.embed([text], "query")
    assert vectors.texts == ["b", "a", "c"]
    embedder.embed(["b"], "query")
    assert vectors.texts == ["b", "a", "c", "b"]


def test_failed_embedding_requests_are_retried(vectors: VectorServer) -> None:
    vectors.fail(503, times=4)
    assert load_embedder(spec(vectors)).embed(["x"]).shape == (1, 16)
    assert len(vectors.asked) == 5
    vectors.fail(503, times=5)
    with pytest.raises(ModelUnavailable, match="status 503"):
        load_embedder(spec(vectors)).embed(["x"])
    assert len(vectors.asked) == 10


def test_slow_embedding_server_is_retried(vectors: VectorServer) -> None:
    vectors.fail("stall")
    assert OpenAIEmbedder(vectors.url, "hash", timeout=0.3, retries=8).embed(["x"]).shape == (1, 16)
    vectors.fail("stall", times=2)
    with pytest.raises(ModelUnavailable, match=r"within 0\.3 seconds"):
        OpenAIEmbedder(vectors.url, "hash", timeout=0.3, retries=1).embed(["x"])


def data(change: Callable[[list[Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    return lambda reply: reply | {"data": change(reply["data"])}


def embedding(vector: Any) -> Callable[[dict[str, Any]], Any]:
    return data(lambda rows: [rows[0] | {"embedding": vector}, *rows[1:]])


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (data(lambda rows: rows[1:]), "1 vectors for 2 texts"),
        (data(lambda rows: [*rows, rows[0]]), "3 vectors for 2 texts"),
        (data(lambda rows: [rows[0], rows[0]]), "which text"),
        (data(lambda rows: [row | {"index": True} for row in rows]), "which text"),
        (data(lambda rows: [[1.0], [2.0]]), "which text"),
        (data(lambda rows: "none"), "without vectors"),
        (embedding([float("nan")] * 16), "not finite"),
        (embedding([None] * 16), "not finite"),
        (embedding([1e39] * 16), "not finite"),
        (embedding([0.5] * 3), "of 3 and of 16 values"),
        (embedding([[0.5] * 16]), "no vector of numbers"),
        (embedding([]), "no vector of numbers"),
        (embedding({"a": 1}), "no vector of numbers"),
        (embedding("*" * 24), "no vector of numbers"),
        (embedding(["x"] * 16), "no vector of numbers"),
        (lambda reply: {"error": {"message": "model is loading, key-1234"}}, "model is loading"),
        (lambda reply: b"<html>", "no JSON object"),
    ],
)
def test_invalid_embedding_replies_are_refused(vectors: VectorServer, fault: Any, said: str) -> None:
    vectors.fail(fault)
    with pytest.raises(ModelUnavailable, match=said) as caught:
        OpenAIEmbedder(vectors.url, "hash", api_key="key-1234").embed(["one", "two"])
    assert f"{vectors.url}/embeddings" in caught.value.message
    assert caught.value.hint
    assert "key-1234" not in str(caught.value)
    assert len(vectors.asked) == 1


@pytest.mark.parametrize(("status", "hint"), [(401, "MONOGRAPH_EMBEDDER_API_KEY"), (404, "has the model")])
def test_refused_embedding_is_not_retried(vectors: VectorServer, status: int, hint: str) -> None:
    vectors.fail(status, times=5)
    with pytest.raises(ModelUnavailable, match=f"status {status}") as caught:
        load_embedder(spec(vectors)).embed(["x", "y"])
    assert hint in caught.value.hint
    assert vectors.url in caught.value.message
    assert len(vectors.asked) == 1


def test_oversized_batch_is_halved(vectors: VectorServer) -> None:
    vectors.most_texts = 3
    texts = [f"text {number}" for number in range(11)]
    assert load_embedder(spec(vectors)).embed(texts) == pytest.approx(HashEmbedder(16).embed(texts), abs=1e-6)
    assert max(len(one.body["input"]) for one in vectors.asked[2:]) <= 6


def test_overlong_text_is_reported(vectors: VectorServer) -> None:
    vectors.most_characters = 20
    with pytest.raises(ModelUnavailable, match="too long") as caught:
        load_embedder(spec(vectors)).embed(["short", "Once upon a time there was a long text", "short too"])
    assert "Once upon a time" in caught.value.hint
    assert "max_characters" in caught.value.hint
    made = load_embedder(spec(vectors, max_characters=20)).embed(["Once upon a time there was a long text"])
    assert made == pytest.approx(HashEmbedder(16).embed(["Once upon a time the"]), abs=1e-6)


def test_served_embedder_spec_and_key_identify_the_model(vectors: VectorServer) -> None:
    plain = load_embedder(spec(vectors))
    assert plain.key == "openai-embeddings/hash"
    other = OpenAIEmbedder("http://127.0.0.1:9/v1", "hash", ServedSettings(batch_size=2))
    assert other.key == plain.key  # The address and the batch size are not part of the key.
    prefixed = load_embedder(spec(vectors, query_prefix="q: "))
    assert prefixed.key != plain.key
    assert load_embedder(prefixed.spec).key == prefixed.key
    assert vectors.asked == []
    for source in ("http://x/v1", "http://x/v1#", "nonsense#m", 'http://x/v1#m#{"batch": 1}', "http://x/v1#m#[", "#m"):
        with pytest.raises(ModelUnavailable, match="cannot use") as caught:
            load_embedder(f"openai:{source}")
        assert "openai:BASE_URL#MODEL" in caught.value.hint
    for source in ('{"batch_size": 0}', '{"max_characters": "x"}', '{"query_prefix": 3}', "3"):
        with pytest.raises(ModelUnavailable):
            load_embedder(f"openai:http://x/v1#m#{source}")
    with pytest.raises(InputError):
        OpenAIEmbedder("http://user:word@x/v1", "m")


def test_embedder_key_is_read_from_the_environment(vectors: VectorServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def token(given: str = "") -> str:
        load_embedder(spec(vectors), api_key=given).embed(["x"])
        return vectors.asked[-1].token

    assert token() == ""
    monkeypatch.setenv("MONOGRAPH_API_KEY", "for-any")
    assert (token(), token("given")) == ("for-any", "given")
    monkeypatch.setenv("MONOGRAPH_EMBEDDER_API_KEY", "for-embedders")
    assert (token(), token("for-any"), token("given")) == ("for-embedders", "for-embedders", "given")
    monkeypatch.setenv("MONOGRAPH_EMBEDDER_API_KEY", "")
    assert token() == ""


def test_embedding_price_equals_requests_and_is_paid_once(vectors: VectorServer, notes: Path, tmp_path: Path) -> None:
    path = tmp_path / "notes.mono"
    embedder = load_embedder(spec(vectors))
    with Monograph.open(path, embedder) as archive:
        plan = archive.files.plan(notes, price=True)
        assert vectors.asked == []
        archive.files.apply(plan)
        assert plan.cost is not None
        # The first request, with the word "a", finds the dimension of the vectors.
        assert vectors.texts[0] == "a"
        assert len(vectors.texts) - 1 == len(set(vectors.texts)) - 1 == plan.cost.embeddings > 3
        paid = len(vectors.asked)
        again = archive.files.plan(notes, price=True)
        assert again.cost is not None and again.cost.embeddings == 0
        archive.remove([str(notes / "bees.md")])
        archive.sync(notes)
        assert len(vectors.asked) == paid
    with Monograph.open(path, trusted=[vectors.url]) as archive:  # loads the embedder from its spec
        assert archive.embedder.dimension == 16
        assert len(vectors.asked) == paid
        assert "comet" in archive.search("who found the comet?", 1)[0].text
        assert "bees" in archive.search("bees honey river", 1, how="dense")[0].text
        assert archive.check() == []


def test_vectors_received_before_a_failure_are_kept(vectors: VectorServer, tmp_path: Path) -> None:
    documents = [Document(f"The lamp number {number} is lit at dusk.", id=str(number)) for number in range(80)]
    path = tmp_path / "lamps.mono"
    with Monograph.open(path, load_embedder(spec(vectors)), settings=Settings(graph=False)) as archive:
        archive.embedder.embed(["a"])
        vectors.faults += [lambda reply: reply, lambda reply: reply, 400, *[400] * 9]
        with pytest.raises(ModelUnavailable, match="400"):
            archive.add(documents)
        vectors.faults.clear()
        sent = len(vectors.texts)
        archive.add(documents)
        assert len(vectors.texts) - sent == 80 - 64


def test_received_file_calls_no_embedding_server(vectors: VectorServer, notes: Path, tmp_path: Path) -> None:
    path = tmp_path / "notes.mono"
    with Monograph.open(path, load_embedder(spec(vectors))) as archive:
        archive.sync(notes)
        assert archive.stats().addresses == (vectors.url,)
    vectors.asked.clear()
    with Monograph.open(path) as archive:
        assert archive.search("comet", how="lexical")
        with pytest.raises(ModelUntrusted, match=vectors.url):
            archive.search("comet", how="dense")
        archive.vectors.rebuild(load_embedder("static"))
        assert archive.search("comet", how="dense")
    assert vectors.asked == []


def test_changed_embedding_model_is_detected(vectors: VectorServer, notes: Path, tmp_path: Path) -> None:
    path = tmp_path / "notes.mono"
    with Monograph.open(path, load_embedder(spec(vectors))) as archive:
        archive.sync(notes)
    vectors.dimension = 24
    with Monograph.open(path, load_embedder(spec(vectors))) as archive:
        with pytest.raises(ModelUnavailable, match="24 values.*not of 16"):
            archive.search("comet", how="dense")
        (notes / "new.md").write_text("# New\n\nA new lamp was bought in Oslo.\n")
        with pytest.raises(ModelUnavailable, match="not of 16"):
            archive.sync(notes)
        assert archive.check() == []
    learnt = load_embedder(spec(vectors))
    assert learnt.dimension == 24
    with pytest.raises(ModelUnavailable, match="not of 16"):
        Monograph.open(path, learnt)
    with pytest.raises(ModelMismatch, match="reembed"):
        Monograph.open(path, load_embedder(spec(vectors, query_prefix="q: ")))


def test_reembed_costs_its_planned_price(vectors: VectorServer, notes: Path, tmp_path: Path) -> None:
    path = tmp_path / "notes.mono"
    with Monograph.open(path, summarizer=load_summarizer("extractive")) as archive:
        archive.sync(notes)
        embedder = load_embedder(spec(vectors))
        cost = archive.vectors.price(embedder)
        assert vectors.asked == []
        archive.vectors.rebuild(embedder)
        sent = set(vectors.texts) - {"a"}
        # The number of summaries is an upper bound.
        assert cost.embeddings <= len(sent) <= cost.embeddings + cost.summaries
        assert len(vectors.texts) - vectors.texts.count("a") == len(sent)
        assert archive.vectors.price(embedder).embeddings == 0
        (notes / "new.md").write_text("# New\n\nA new lamp was bought in Oslo.\n")
        vectors.asked.clear()
        plan = archive.files.plan(notes, price=True)  # The plan does not embed new texts to place them in the tree.
        assert plan.cost is not None and plan.cost.summaries > 0
        assert vectors.asked == []
        assert archive.check() == []


def test_price_with_a_served_extractor_calls_no_server(vectors: VectorServer, notes: Path, tmp_path: Path) -> None:
    extractor = load_extractor("llm:openai:http://127.0.0.1:9/v1#x")
    with Monograph.open(tmp_path / "x.mono", load_embedder(spec(vectors)), extractor) as archive:
        plan = archive.files.plan(notes, price=True)
        assert plan.cost is not None and plan.cost.embeddings == plan.cost.chunks == 3
    assert vectors.asked == []


@pytest.mark.long
def test_commands_use_the_served_embedder(
    vectors: VectorServer, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    path = tmp_path / "notes.mono"

    told = json.loads(run("sync", path, notes, "--embedder", spec(vectors), "--dry-run", "--json"))
    assert told["cost"]["embeddings"] > 3
    assert vectors.asked == []
    monkeypatch.setenv("MONOGRAPH_API_KEY", "a-key-of-mine")
    run("sync", path, notes, "--embedder", spec(vectors), "--trust")
    assert {one.token for one in vectors.asked} == {"a-key-of-mine"}
    assert b"a-key-of-mine" not in path.read_bytes()
    assert "comet" in run("search", path, "who found the comet?", "-k", "1")
    assert "0 embeddings" in run("reembed", path, spec(vectors), "--dry-run")
    assert " embeddings (" in run("reembed", path, spec(vectors, query_prefix="q: "), "--dry-run")
    assert "embedded" in run("reembed", path, spec(vectors, query_prefix="q: "), "--trust")
    assert "q: " in run("stats", path)
