"""What a search of a shelf asks its shards, and how often."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Document, Monograph
from monograph.library.questions import Questions
from monograph.search.reader import EVIDENCE, PoolRequest
from monograph.search.scoring._scoring import evidence
from monograph.shelf.engines import Engine
from monograph.shelf.pools import (
    SHORT,
    Rows,
    SentEvidence,
    ShardPool,
    find_short_shards,
    first_bytes,
    full,
    join_records,
    make_records,
    merge_best,
    merge_pools,
    select_best,
    share,
)
from monograph.shelf.reader import WordCounts
from monograph.shelf.shard import Call
from monograph.store.documents.filters import EVERYTHING
from monograph.values import Passage
from support.corpora import QUERIES, SENTENCES, TITLES
from support.properties import examples
from support.shelves import HAN, HAN_QUERIES, hits_of, shelf_beside_file

ROUNDS = {"lexical": 3, "hybrid": 3, "graph": 7, "auto": 7}
COUNT = 240


@dataclass
class Rounds:
    """Shards, and what was asked of them, round by round."""

    engine: Engine
    asked: list[set[str]]

    def ask(self, wanted: Mapping[int, Call]) -> dict[int, Any]:
        self.asked.append({one.method.__name__ for one in wanted.values()})
        return self.engine.ask(wanted)

    def close(self) -> None:
        self.engine.close()


@contextmanager
def counted(
    folder: Path, documents: Sequence[Document], shards: Sequence[int]
) -> Iterator[tuple[Questions, Monograph, list[set[str]]]]:
    """A shelf, one file of the same documents, and the rounds of calls of the shelf's shards."""
    with shelf_beside_file(folder, documents, shards) as (shelf, one):
        rounds = Rounds(shelf._file.shards.engine, [])  # type: ignore[attr-defined]
        shelf._file.shards = replace(shelf._file.shards, engine=rounds)  # type: ignore[attr-defined]
        yield shelf, one, rounds.asked


def documents() -> list[Document]:
    texts = [*SENTENCES, *HAN]
    return [
        Document(
            f"{texts[number % len(texts)]} {texts[number * 7 % len(texts)]} It was note {number}.",
            id=f"d{number}",
            title=TITLES[number % 9] or f"Note {number % 50}",
        )
        for number in range(COUNT)
    ]


def test_a_search_takes_few_rounds(tmp_path: Path) -> None:
    with counted(tmp_path, documents(), random.Random(5).choices(range(3), k=COUNT)) as (shelf, one, asked):
        for query in (*QUERIES, *HAN_QUERIES, "the of and", ""):
            for how, most in ROUNDS.items():
                shelf._file.counted = WordCounts()  # type: ignore[attr-defined]
                asked.clear()
                assert hits_of(shelf, query, how, 5) == hits_of(one, query, how, 5), (query, how)
                # Of a word that all chunks have it is asked once more, and where chunks say the same, what they say.
                told = {"count"} if query in ("the of and", "") else set()
                rounds = [one for one in asked if one not in ({"titled_extractions"}, told)]
                assert len(rounds) <= most, (query, how, asked)


def test_shard_that_gave_too_few_hits_is_asked_again(tmp_path: Path) -> None:
    """All that a question finds stands in one shard."""
    documents = [
        Document(f"The comet plate{' of it' * number} was sold.", id=f"d{number}")
        if number < COUNT - 60
        else Document(f"Note {number} is about lamp oil.", id=f"d{number}")
        for number in range(COUNT)
    ]
    shards = [1 if number < COUNT - 60 else number % 3 for number in range(COUNT)]
    with counted(tmp_path, documents, shards) as (shelf, one, asked):
        for how in ROUNDS:
            asked.clear()
            assert hits_of(shelf, QUERIES[6], how, 20) == hits_of(one, QUERIES[6], how, 20), how
            assert asked.count({"pool"}) == 2, how


def test_equal_scores_are_ordered_by_whole_ids(tmp_path: Path) -> None:
    """Where the beginnings of ids do not tell chunks of one score apart, the whole ids do."""
    documents = [
        Document("", id=f"d{number}", passages=(Passage(SENTENCES[number % 4], id=f"passage-{number * 17 % 40:04}"),))
        for number in range(40)
    ]
    with counted(tmp_path, documents, [number * number % 3 for number in range(40)]) as (shelf, one, asked):
        for query in QUERIES:
            for how in ROUNDS:
                assert hits_of(shelf, query, how, 20) == hits_of(one, query, how, 20), (query, how)
        assert {"ids"} in asked


SCORES = st.lists(st.integers(0, 9).map(lambda one: one / 4), max_size=12).map(lambda some: sorted(some, reverse=True))


@settings(max_examples=examples(100))
@given(st.lists(SCORES, min_size=1, max_size=4), st.integers(1, 12), st.integers(1, 12))
def test_merged_pools_keep_the_best_of_all_shards(shards: list[list[float]], k: int, most: int) -> None:
    rows = Rows(len(shards))

    def pools(some: list[float], most: int) -> ShardPool:
        scored = list(enumerate(some))
        least = some[min(most, k, len(some)) - 1] if some else 0.0
        # By words no more are looked for than are given, by meaning all.
        best = select_best([one for one in scored if one[1] >= least], most, k)
        return ShardPool(
            best, select_best([one for one in scored if one[1] >= some[min(k, len(some)) - 1]], most, k), (), (), b""
        )

    found = {shard: pools(some, min(most, k)) for shard, some in enumerate(shards)}
    short = find_short_shards(found, k)
    found.update((shard, pools(shards[shard], k)) for shard in short)
    made = merge_pools(found, PoolRequest(k, EVERYTHING), rows, {}, join_records([], SHORT, rows))
    whole = merge_best([select_best(list(enumerate(some)), len(some), 0).scored for some in shards], k, rows)
    assert (made.lexical, made.dense) == (whole, whole)
    assert sum(len(one.lexical.records) for one in found.values()) <= sum(map(len, shards))


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=8))
def test_first_bytes_of_ids_sort_like_the_ids(ids: list[str]) -> None:
    firsts = dict(zip(ids, first_bytes(make_records(range(len(ids)), ids)), strict=True))
    assert [firsts[one] for one in sorted(ids)] == sorted(firsts[one] for one in ids)


@given(st.integers(0, 64), st.lists(st.lists(st.integers(0, 80), max_size=9, unique=True), min_size=1, max_size=5))
def test_evidence_that_shards_send_has_rows_over_all_shards(asked: int, held: list[list[int]]) -> None:
    question = np.arange(asked, dtype=np.uint32) * 3
    packed = [np.array(sorted(some), dtype="<u4").tobytes() for some in held]
    rows = list(range(len(held)))
    sent = evidence(question, rows, list(zip(rows, packed, strict=True))).view(EVIDENCE)[:, 0]
    made = make_records(rows, [str(row) for row in rows], sent)
    records = join_records([(1, made.tobytes())], full(0), Rows(2))
    whole = [2 * row + 1 for row in reversed(rows)]
    found = SentEvidence(records).evidence(whole, question)
    assert found["document"].tolist() == found["row"].tolist() == whole
    assert found[["words", "hash"]].tolist() == sent[::-1][["words", "hash"]].tolist()
    assert first_bytes(records)[0] == "0"


@pytest.mark.parametrize("shards", [1, 3, 16])
def test_shard_returns_more_than_its_share(shards: int) -> None:
    assert 100 / shards < share(100, shards) <= 100 or shards == 1
    assert share(1, shards) == 1
