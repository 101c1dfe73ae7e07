"""What models answered through a shelf is remembered on the machine that asked, and stands in its ledger."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from embedders import HashEmbedder
from model_server import ModelServer
from monograph import Document, Monograph
from monograph.derive.embed import load_embedder
from monograph.derive.extract import load_extractor
from monograph.derive.openai_compatible import OpenAICompatible
from monograph.errors import DamageWarning
from monograph.shelf import Shelf, build, forget, remove
from monograph.values import LedgerEntry
from vector_server import VectorServer

QUESTION = "Who wrote to Charles Babbage from Turin?"
DOCUMENTS = [
    Document(f"Ada Lovelace wrote to Charles Babbage from {town}. The letter is kept there.", id=town)
    for town in ("London", "Turin", "Vienna", "Lisbon", "Oslo")
]


def made(folder: Path) -> str:
    """The address of a shelf of three shards."""
    url = str(folder / "shelf")
    build(url, DOCUMENTS, shards=3, embedder=HashEmbedder(), home=folder / "home")
    return url


def calls(ledger: list[LedgerEntry]) -> Counter[str]:
    found: Counter[str] = Counter()
    for one in ledger:
        found[one.purpose] += one.calls
    return found


def test_nothing_that_was_paid_for_is_asked_again(tmp_path: Path) -> None:
    url, home = made(tmp_path), tmp_path / "home"
    with ModelServer() as server, VectorServer() as vectors:
        model = OpenAICompatible(server.url, "scripted", retries=0)
        reranker = f"rerank:{vectors.url}#scorer"

        def opened() -> Shelf:
            return Shelf.open(url, embedder=HashEmbedder(), model=model, reranker=reranker, home=home)

        with opened() as shelf:
            first = shelf.ask(QUESTION)
            assert shelf.ask(QUESTION).text == first.text
            assert (server.calls, len(vectors.asked)) == (1, 1)
            assert calls(shelf.costs()) == {"answer": 1, "rerank": 1}
        with opened() as shelf:  # Opened anew, and another version of the same texts.
            assert shelf.ask(QUESTION).text == first.text
            news = [Document("Nobody wrote from Bath.", id="Bath")]
            build(url, news, embedder=HashEmbedder(), home=home)
            remove(url, ["Bath"], home=home)
            assert shelf.refresh() == 3
            assert shelf.ask(QUESTION).text == first.text
            assert (server.calls, len(vectors.asked)) == (1, 1)
            assert calls(shelf.costs()) == {"answer": 1, "rerank": 1}
        forget(url, home=home)
        with opened() as shelf:
            assert not shelf.costs()
            shelf.ask(QUESTION)
            assert (server.calls, len(vectors.asked)) == (2, 2)


def test_a_reranker_of_one_question_is_remembered_too(tmp_path: Path) -> None:
    url = made(tmp_path)
    with VectorServer() as vectors, Shelf.open(url, embedder=HashEmbedder(), home=tmp_path / "home") as shelf:
        assert not shelf.costs()
        assert not (tmp_path / "home" / "paid.mono").exists(), "nothing is to be remembered yet"
        first = shelf.search(QUESTION, reranker=f"rerank:{vectors.url}#scorer")
        with Shelf.open(url, embedder=HashEmbedder(), home=tmp_path / "home") as other:
            assert other.search(QUESTION, reranker=f"rerank:{vectors.url}#scorer") == first
        assert len(vectors.asked) == 1


def test_the_ledger_is_that_of_the_shards_as_well(tmp_path: Path) -> None:
    with ModelServer() as server, VectorServer() as vectors:
        embedder = load_embedder(f"openai:{vectors.url}#embedder")
        extractor = load_extractor(f"llm:openai:{server.url}#scripted")
        url, home = tmp_path / "shelf", tmp_path / "home"
        build(url, DOCUMENTS, shards=3, embedder=embedder, extractor=extractor, home=home)
        with Shelf.open(url, embedder=embedder, home=home) as shelf:
            extracted = server.calls
            shelf.search(QUESTION)
            found = calls(shelf.costs())
        assert found["extract"] == extracted == server.calls > 0
        assert found["embed"] == sum(one.path.endswith("embeddings") for one in vectors.asked)
        with Monograph.open(tmp_path / "one.mono", embedder, extractor) as archive:
            archive.add(DOCUMENTS)
            assert calls(archive.costs())["extract"] == extracted


def test_what_cannot_be_remembered_is_answered_all_the_same(tmp_path: Path) -> None:
    url, home = made(tmp_path), tmp_path / "home"
    (home / "paid.mono").write_bytes(b"this is no file of ours" * 1_000)
    with ModelServer() as server:
        model = OpenAICompatible(server.url, "scripted", retries=0)
        with Shelf.open(url, embedder=HashEmbedder(), model=model, home=home) as shelf:
            with pytest.warns(DamageWarning, match=r"is not remembered: .*paid\.mono"):
                answer = shelf.ask(QUESTION)
            assert answer.text == shelf.ask(QUESTION).text
            assert server.calls == 2
        forget(url, home=home)
        with Shelf.open(url, embedder=HashEmbedder(), model=model, home=home) as shelf:
            shelf.ask(QUESTION)
            shelf.ask(QUESTION)
            assert server.calls == 3, "what was damaged is gone"
