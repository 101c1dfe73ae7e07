"""Costs of model calls, stored in the file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monograph import Answer, Document, Monograph, Windows
from monograph.derive.loading import load_embedder, load_extractor, load_summarizer
from monograph.derive.openai_compatible import OpenAICompatible
from monograph.errors import ModelUnavailable
from monograph.spending import NOTED, CallCounter, CallCounts, CallKey, count_while_iterating, note
from monograph.values import Turn
from support.forks import COMMAND_LINE, Forks
from support.model_server import ModelServer
from support.models import HashEmbedder
from support.vector_server import VectorServer

BEGAN = datetime.now(UTC).date().isoformat()
"""The day when these tests began, in case it ends while they run."""

TEXTS = [
    f"Ada Lovelace wrote to Charles Babbage from {town} about the Analytical Engine. The letter is kept in {town}."
    for town in ("London", "Turin", "Vienna", "Lisbon", "Oslo", "Madrid", "Geneva", "Prague", "Dublin", "Porto")
]


def documents(first: int = 0, last: int = len(TEXTS)) -> list[Document]:
    return [Document(text, id=f"d{number}") for number, text in enumerate(TEXTS[first:last], first)]


def by_purpose(archive: Monograph) -> dict[str, CallCounts]:
    found: dict[str, CallCounts] = {}
    for one in archive.costs():
        spent = CallCounts(one.calls, one.tokens_in, one.tokens_out)
        found[one.purpose] = found.get(one.purpose, CallCounts()) + spent
    return found


def test_costs_equal_what_servers_count(tmp_path: Path) -> None:
    with ModelServer() as server, VectorServer() as vectors:
        model = OpenAICompatible(server.url, "scripted", retries=0)
        archive = Monograph.open(
            tmp_path / "x.mono",
            load_embedder(f"openai:{vectors.url}#embedder"),
            load_extractor(f"llm:openai:{server.url}#scripted"),
            load_summarizer(f"llm:openai:{server.url}#scripted"),
            model,
            reranker=f"rerank:{vectors.url}#scorer",
        )
        with archive:
            archive.add(documents())
            answer = archive.ask("Who wrote to Charles Babbage from Turin?")
            archive.ask("And from where else?", history=[Turn("Who wrote to Charles Babbage?", answer)])
            for _ in archive.stream("Who was written to from Oslo?", how="graph:faithful=true"):
                pass
            found = archive.search("Who wrote to Charles Babbage?", reranker="")
            assert archive.reduce("Who wrote to Charles Babbage?", found, windows=Windows())
            spent = by_purpose(archive)
            asked = Counter(one.path.rpartition("/")[2] for one in vectors.asked)
            models = sum((spent[one] for one in ("extract", "summarize", "answer", "rewrite", "types")), CallCounts())
            assert models == CallCounts(server.calls, server.tokens_in, server.tokens_out)
            assert (spent["embed"].calls, spent["embed"].tokens_in) == (asked["embeddings"],) * 2
            assert (spent["rerank"].calls, spent["rerank"].tokens_in) == (asked["rerank"], 0)
            assert spent.keys() == {"extract", "summarize", "answer", "rewrite", "types", "embed", "rerank"}
            assert {one.day for one in archive.costs()} <= {datetime.now(UTC).date().isoformat(), BEGAN}

            # Values in the memo need no call and cost nothing.
            archive.remove(["d0", "d1"])
            calls = server.calls
            archive.add(documents())
            archive.ask("Who wrote to Charles Babbage from Turin?")
            again = by_purpose(archive)
            assert again["extract"] == spent["extract"]
            assert again["answer"] == spent["answer"]
            assert sum(again[one].calls for one in again if one not in ("embed", "rerank")) == server.calls >= calls

            archive.graph.rebuild(load_extractor(f"llm/64:openai:{server.url}#scripted"))
            assert by_purpose(archive)["extract"].calls > spent["extract"].calls
            said = repr(archive.costs())
            assert "Babbage" not in said
        with Monograph.open(tmp_path / "x.mono", read_only=True) as archive:
            assert repr(archive.costs()) == said


def test_costs_before_a_failure_are_recorded(tmp_path: Path) -> None:
    with ModelServer() as server:
        model = OpenAICompatible(server.url, "scripted", retries=0)
        with Monograph.open(tmp_path / "x.mono", HashEmbedder(), model=model) as archive:
            archive.add(documents())
            pieces = cast("Generator[str | Answer]", archive.stream("Who wrote to Charles Babbage?"))
            next(pieces)
            server.fail(500, times=float("inf"))
            with pytest.raises(ModelUnavailable):
                archive.ask("Who wrote from Porto?")
            answered = server.calls - 1  # The last call failed. The first, a stream, ends early.
            pieces.close()
            assert sum(one.calls for one in by_purpose(archive).values()) == answered - 1


def test_costs_during_another_write_are_stored_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "x.mono"
    with ModelServer() as server:
        model = OpenAICompatible(server.url, "scripted", retries=0)
        with Monograph.open(path, HashEmbedder(), model=model) as archive, Monograph.open(path) as other:
            archive.add(documents())
            with other._file.database.write():
                archive.ask("Who wrote to Charles Babbage?", remember=False)
                assert other.costs() == []
            assert sum(one.calls for one in archive.costs()) == server.calls > 0
            assert archive.costs() == other.costs()
            asked = server.calls
            with pytest.raises(ZeroDivisionError), archive._file.spending(), archive._file.database.write():
                note("answer", "some model", 3, 4)
                raise ZeroDivisionError
            [entry] = [one for one in other.costs() if one.model == "some model"]
            assert (entry.calls, entry.tokens_in, entry.tokens_out) == (1, 3, 4)
            assert server.calls == asked


def test_read_only_file_records_no_costs(server: ModelServer, tmp_path: Path) -> None:
    path = tmp_path / "x.mono"
    with Monograph.open(path, HashEmbedder()) as archive:
        archive.add(documents())
    model = OpenAICompatible(server.url, "scripted", retries=0)
    with Monograph.open(path, HashEmbedder(), model=model, read_only=True) as archive:
        archive.ask("Who wrote to Charles Babbage?")
        assert server.calls > 0
        assert archive.costs() == []


KEYS = st.builds(CallKey, st.sampled_from(["2026-11-22", "2026-11-23"]), st.sampled_from("ab"), st.just("answer"))
COUNTS = st.builds(CallCounts, st.integers(1, 3), st.integers(0, 9), st.integers(0, 9))


@given(st.lists(st.one_of(st.tuples(KEYS, COUNTS), st.sampled_from(["begin", "commit", "roll back"])), max_size=30))
def test_every_cost_is_stored_once(steps: list[tuple[CallKey, CallCounts] | str]) -> None:
    noted, written = CallCounter(), None
    all_: dict[CallKey, CallCounts] = {}
    ledger: dict[CallKey, CallCounts] = {}
    for step in steps:
        if isinstance(step, tuple):
            noted.add(*step)
            all_[step[0]] = all_.get(step[0], CallCounts()) + step[1]
        elif step == "begin":
            written = noted.pending()
        elif step == "commit" and written is not None:
            noted.drop(written)
            ledger = {
                key: ledger.get(key, CallCounts()) + written.get(key, CallCounts()) for key in ledger.keys() | written
            }
            written = None
        else:
            written = None
    left = noted.pending()
    assert {key: ledger.get(key, CallCounts()) + left.get(key, CallCounts()) for key in ledger.keys() | left} == all_


def test_costs_between_streamed_pieces_are_not_counted() -> None:
    mine, other = CallCounter(), CallCounter()

    def pieces() -> object:
        note("answer", "within")
        yield 1
        note("answer", "within")
        yield 2

    token = NOTED.set(other)
    for _ in count_while_iterating(mine, pieces()):  # type: ignore[arg-type]
        note("answer", "between")
    NOTED.reset(token)
    note("answer", "nobody's")
    assert [(asked.model, spent.calls) for asked, spent in mine.pending().items()] == [("within", 2)]
    assert [(asked.model, spent.calls) for asked, spent in other.pending().items()] == [("between", 2)]


@pytest.mark.long
def test_costs_command_prints_costs(tmp_path: Path) -> None:
    path = tmp_path / "x.mono"
    run = Forks(COMMAND_LINE, "main()").run
    with Monograph.open(path, HashEmbedder()) as archive:
        archive.add(documents(0, 1))
        assert "no model was called" in run("monograph", "costs", path).stdout
        with archive._file.spending():
            note("answer", "openai/small/0.0", 2_000_000, 1_000_000)
            note("extract", "openai/large/0.0", 30, 4)
    shown = run("monograph", "costs", path).stdout
    assert "2,000,000" in shown and "openai/large/0.0" in shown
    assert "2 calls, 2,000,030 tokens read, 1,000,004 written" in shown
    priced = run("monograph", "costs", path, "--price", "small=0.50/2").stdout
    assert "3.0000 in total" in priced
    entries = json.loads(run("monograph", "costs", path, "--json", "--price", "small=0.50/2").stdout)
    assert [(one["purpose"], one["price"]) for one in entries] == [("extract", None), ("answer", 3.0)]
    assert json.loads(run("monograph", "costs", path, "--json", "--since", "9999-01-01").stdout) == []
    for said in ("small", "small=1", "=1/2", "small=a/b", "small=-1/2", "small=nan/1"):
        done = run("monograph", "costs", path, "--price", said)
        assert done.returncode != 0 and "is not a price" in done.stderr
