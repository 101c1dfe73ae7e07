"""Metrics compared with values by hand and by brute force, question sets, and an evaluation of LihuaWorld."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Monograph
from monograph.errors import InputError, SourceMissing
from monograph.evaluate import metrics
from monograph.evaluate.datasets import EvaluationQuestion, file_stem, load_dataset, load_questions, write_texts
from monograph.evaluate.run import compare, evaluate, headings, row, save_plot
from support.properties import examples

W = [math.exp(-((r / 1.8) ** 0.5)) for r in range(10)]


@pytest.mark.parametrize(
    ("found", "evidence", "k", "recall", "every", "first", "ranked"),
    [
        ("abcd", "a", 1, 1.0, 1.0, 1.0, 1.0),
        ("abcd", "b", 1, 0.0, 0.0, 0.5, 0.0),
        ("abcd", "bd", 3, 0.5, 0.0, 0.5, W[1] / (W[0] + W[1])),
        ("abcd", "bd", 4, 1.0, 1.0, 0.5, (W[1] + W[3]) / (W[0] + W[1])),
        ("abcd", "xyz", 4, 0.0, 0.0, 0.0, 0.0),
        ("", "a", 5, 0.0, 0.0, 0.0, 0.0),
        ("ab", "abcdef", 2, 1 / 3, 0.0, 1.0, 1.0),
    ],
)
def test_metrics_equal_those_by_hand(
    found: str, evidence: str, k: int, recall: float, every: float, first: float, ranked: float
) -> None:
    assert metrics.recall_at_k(found, list(evidence), k) == pytest.approx(recall)
    assert metrics.all_evidence_at_k(found, list(evidence), k) == every
    assert metrics.reciprocal_rank(found, list(evidence)) == first
    assert metrics.ranked_recall_at_k(found, list(evidence), k) == pytest.approx(ranked)


@settings(max_examples=examples(200))
@given(
    found=st.permutations("abcdefgh"), evidence=st.sets(st.sampled_from("abcdefghij"), min_size=1), k=st.integers(1, 10)
)
def test_metrics_equal_brute_force(found: list[str], evidence: set[str], k: int) -> None:
    hits = [one for rank, one in enumerate(found) if rank < k and one in evidence]
    assert metrics.recall_at_k(found, evidence, k) == len(hits) / len(evidence)
    assert metrics.all_evidence_at_k(found, evidence, k) == float(len(hits) == len(evidence))
    ranked = metrics.ranked_recall_at_k(found, evidence, k)
    assert 0 <= ranked <= 1 + 1e-12
    best = sorted(found, key=lambda one: one not in evidence)
    assert metrics.ranked_recall_at_k(best, evidence, k) >= ranked


def test_evaluation_helpers_equal_those_by_hand() -> None:
    assert metrics.percentile([3, 1, 2], 0.5) == 2
    assert metrics.percentile([1, 2, 3, 4], 0.95) == 4
    assert metrics.percentile([], 0.5) == metrics.mean([]) == 0.0
    assert metrics.contains_answer("He met Zoë-Ann, in Köln.", ["zoe ann"]) == 1.0
    assert metrics.contains_answer("He met Joanne.", ["Ann", ""]) == 0.0


def write(folder: Path, name: str, lines: list[str], zipped: bool = False) -> None:
    folder.mkdir(exist_ok=True)
    data = "\n".join(lines).encode()
    (folder / (name + ".gz" if zipped else name)).write_bytes(gzip.compress(data) if zipped else data)


CORPUS = [json.dumps({"id": f"doc/{n}", "title": f"T{n}", "text": f"The {word} is kept in room {n}.", "meta": {"n": n}})
          for n, word in enumerate(["anvil", "bellows", "chisel", "drill", "engine", "file"])]  # fmt: skip
QUERIES = [
    json.dumps(
        {"id": "q1", "question": "Where is the anvil?", "answers": ["room 0"], "evidence_ids": ["doc/0"], "type": "a"}
    ),
    json.dumps(
        {"id": "q2", "question": "Where are chisel and drill?", "evidence_ids": ["doc/2", "doc/3"], "type": "b"}
    ),
    json.dumps({"id": "q3", "question": "Where is the moon?"}),
]


@pytest.mark.parametrize("zipped", [False, True])
def test_a_set_is_read_and_measured(tmp_path: Path, zipped: bool) -> None:
    write(tmp_path / "set", "corpus.jsonl", CORPUS, zipped)
    write(tmp_path / "set", "queries.jsonl", QUERIES, zipped)
    dataset = load_dataset(tmp_path / "set")
    assert (dataset.name, len(dataset.documents), len(dataset.questions)) == ("set", 6, 3)
    write_texts(dataset, tmp_path / "texts")
    with Monograph.open(tmp_path / "a.mono") as added, Monograph.open(tmp_path / "b.mono") as synced:
        added.add(dataset.documents)
        synced.sync(tmp_path / "texts")
        for one in (added, synced):
            result = evaluate(one, dataset.questions, "lexical", 5)
            assert result.scores.recall == (0.75, *[1.0] * 9)
            assert result.scores.reciprocal_rank == result.scores.all_evidence == result.scores.answered == 1.0
            assert (result.scores.questions, result.without_evidence) == (2, 1)
            assert [kind for kind, _ in result.by_type] == ["a", "b"]
            assert 0 < result.p50 <= result.p95 <= result.p99
            assert result.context_tokens > 5
            assert len(row(result)) == len(headings(5))
        save_plot(compare(added, dataset.questions, ["lexical", "hybrid"]), "set", tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_dataset_files_are_found_by_name() -> None:
    assert file_stem("20260105_1100") == "20260105_1100"
    assert len({file_stem(name) for name in ("a/b", "a:b", "..", "", "x" * 300)}) == 5
    assert "/" not in file_stem("a/b")


@pytest.mark.parametrize(
    "line",
    ["{", "[]", '{"id": "x"}', '{"id": "x", "question": " "}', '{"id": "x", "question": "y", "evidence_ids": "z"}'],
)
def test_bad_lines_are_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(QUERIES[0] + "\n\n" + line)
    with pytest.raises(InputError) as caught:
        load_questions(path)
    assert str(path) in caught.value.message


def test_missing_dataset_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(SourceMissing, match="corpus"):
        load_dataset(tmp_path)
    with pytest.raises(SourceMissing, match=r"no\.jsonl"):
        load_questions(tmp_path / "no.jsonl")
    (tmp_path / "bad.jsonl.gz").write_bytes(b"not gzip")
    with pytest.raises(InputError, match=r"bad\.jsonl\.gz"):
        load_questions(tmp_path / "bad.jsonl.gz")


@pytest.mark.long
def test_lihuaworld_reaches_its_mark(shared: Path, tmp_path: Path) -> None:
    dataset = load_dataset(shared / "data/lihuaworld")
    write_texts(dataset, tmp_path / "texts")
    with Monograph.open(tmp_path / "l.mono") as monograph:
        assert monograph.sync(tmp_path / "texts").added == 442
        lexical, hybrid = (evaluate(monograph, dataset.questions, how) for how in ("lexical", "hybrid"))
    assert hybrid.scores.recall[4] >= 0.88
    assert lexical.scores.recall[4] >= 0.84
    assert hybrid.scores.recall[4] > lexical.scores.recall[4]


def test_questions_without_evidence_are_no_division_by_zero(monograph: Monograph) -> None:
    result = evaluate(monograph, [EvaluationQuestion("q", "anything?")], "lexical")
    assert (result.scores.questions, result.scores.recall[4], result.without_evidence) == (0, 0.0, 1)
    assert evaluate(monograph, [], "lexical").p50 == 0.0
