"""Single chunks in and out of documents that stay, and queries that bring their vector."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monograph import Document, Hybrid, Monograph, Passage, Strategy
from monograph.derive.loading import load_embedder
from monograph.errors import BusyFile, InputError, InvalidDocument, ModelUnavailable
from monograph.write import apply, passages
from support.models import HashEmbedder
from support.properties import examples

pytestmark = pytest.mark.core

VECTORS = np.random.default_rng(5).standard_normal((40, 8)).astype(np.float32)
WORDS = ["anvil", "bellows", "Chisel Hall", "Ann Drill", "engine", "Berlin"]


def passage(number: int, text: str = "", **metadata: Any) -> Passage:
    return Passage(text or f"The {WORDS[number % 6]} of row {number}.", f"n{number}", metadata, VECTORS[number])


def laid(document: str, *numbers: int) -> Document:
    return Document(id=document, passages=tuple(passage(number) for number in numbers))


def held(monograph: Monograph) -> dict[str, tuple[str, str]]:
    return {one.chunk.id: (one.chunk.document_id, one.chunk.text) for one in monograph.fetch()}


def test_put_keeps_other_passages_of_a_document(monograph: Monograph) -> None:
    monograph.put([laid("d", 0, 1)])
    report = monograph.put([laid("d", 2)])
    assert (report.added, report.changed, report.chunks_added, report.chunks_removed) == (0, 1, 1, 0)
    assert [chunk.id for chunk in monograph.chunks("d")] == ["n0", "n1", "n2"]
    text = monograph.document("d").text
    assert all(text[chunk.start : chunk.end] == chunk.text for chunk in monograph.chunks("d"))
    assert monograph.put([laid("d", 1)]).same == 1
    monograph.put([Document(id="d", passages=(passage(1, "Another text."),))])
    assert [chunk.text for chunk in monograph.chunks("d")][1] == "Another text."
    assert monograph.check() == []


def test_passage_moves_to_another_document(monograph: Monograph) -> None:
    monograph.put([laid("d", 0, 1), laid("e", 2)])
    monograph.put([laid("e", 1), laid("f", 2)])
    assert {name: document for name, (document, _) in held(monograph).items()} == {"n0": "d", "n1": "e", "n2": "f"}
    monograph.put([laid("e", 0)])
    assert "d" not in {document.id for document in monograph.documents()}
    assert monograph.check() == []


def test_put_merges_title_uri_and_metadata(monograph: Monograph) -> None:
    first = Document(id="d", title="One", uri="/a", metadata={"a": 1, "b": 1}, passages=(passage(0),))
    monograph.put([first, Document(id="d", metadata={"b": 2}, passages=(passage(1),))])
    monograph.put([Document(id="d", title="Two", metadata={"c": 3}, passages=(passage(2),))])
    found = monograph.document("d")
    assert (found.title, found.uri, dict(found.metadata)) == ("Two", "/a", {"a": 1, "b": 2, "c": 3})


def test_put_does_not_embed_stored_passages_again(tmp_path: Path) -> None:
    embedder = HashEmbedder(8)
    with Monograph.open(tmp_path / "own.mono", embedder) as monograph:
        monograph.put([Document(id="d", passages=(Passage("one", "a"), Passage("two", "b"), passage(3)))])
        before = list(embedder.texts)
        given_before = monograph.fetch(["n3"], vectors=True)[0].vector
        assert monograph.remove_chunks(["a"]).embedded == 0
        assert monograph.put([Document(id="d", passages=(Passage("three", "c"),))]).embedded == 1
        assert embedder.texts == [*before, "three"]
        np.testing.assert_array_equal(monograph.fetch(["n3"], vectors=True)[0].vector, given_before)
        assert monograph.check() == []


def test_remove_chunks_takes_ids_and_filters(monograph: Monograph) -> None:
    monograph.put([Document(id="d", passages=tuple(passage(n, year=n) for n in range(6)))])
    assert monograph.remove_chunks(["n0", "nobody"]).chunks_removed == 1
    assert monograph.remove_chunks(["n1", "n2"], where={"year": {">": 1}}).chunks_removed == 1
    assert monograph.remove_chunks(where={"year": 5}).chunks_removed == 1
    assert set(held(monograph)) == {"n1", "n3", "n4"}
    assert monograph.search("row", how="lexical", k=9)
    assert "row 5" not in monograph.document("d").text
    report = monograph.remove_chunks(["n1", "n3", "n4"])
    assert (report.removed, monograph.documents(), monograph.stats().mentions) == (1, [], 0)
    assert monograph.remove_chunks(["n1"]).removed == 0
    with pytest.raises(InputError, match="neither"):
        monograph.remove_chunks()
    assert monograph.check() == []


def test_chunks_of_synced_files_and_whole_documents_are_refused(monograph: Monograph, folder: Path) -> None:
    (folder / "a.txt").write_text("The anvil stands here. " * 300)
    monograph.sync(folder)
    (document,) = monograph.documents()
    names = [chunk.id for chunk in monograph.chunks(document.id)]
    assert len(names) > 1
    with pytest.raises(InvalidDocument, match="was read from the file"):
        monograph.remove_chunks(names[:1])
    for taken in (Document(id=document.id, passages=(Passage("new", "x"),)),
                  Document(id="other", passages=(Passage("new", names[0]),))):  # fmt: skip
        with pytest.raises(InvalidDocument, match="was read from the file"):
            monograph.put([taken])
    with pytest.raises(InvalidDocument, match="no passages"):
        monograph.put([Document("whole", id="d")])
    assert monograph.remove_chunks(names).removed == 1
    assert monograph.sync(folder).added == 1


def test_given_vectors_are_stored_and_searched(tmp_path: Path) -> None:
    path = tmp_path / "given.mono"
    with Monograph.open(path) as monograph:
        monograph.put([laid("d", 0, 1)])
        assert monograph.stats().embedder_spec == "given:8"
        assert not np.any(monograph.embedder.embed(["anvil"]))
    made = load_embedder("given:12")
    assert (made.key, made.dimension) == ("given/12", 12)
    with pytest.raises(ModelUnavailable):
        load_embedder("given:x")
    with pytest.raises(InputError):
        load_embedder("given:0")
    with Monograph.open(path) as monograph:
        with pytest.raises(InvalidDocument, match="has no vector"):
            monograph.put([Document(id="e", passages=(Passage("none"),))])
        with pytest.raises(InvalidDocument, match="shape"):
            monograph.put([Document(id="e", passages=(Passage("x", vector=np.ones(3, np.float32)),))])
        assert monograph.search("anvil", how="dense") == []
        assert monograph.search("anvil")[0].chunk.id == "n0"
        (hit,) = monograph.search("", 1, how="dense", vector=VECTORS[1] * 3)
        assert hit.chunk.id == "n1"
        assert hit.score == pytest.approx(1.0, abs=1e-5)


def test_alpha_weights_lexical_against_dense_search(monograph: Monograph) -> None:
    monograph.put([laid("d", *range(30))])
    query, vector = "the anvil and the engine of row 7", VECTORS[11]

    def order(how: str | Strategy) -> list[str]:
        return [hit.chunk.id for hit in monograph.search(query, 30, how, vector=vector)]

    assert order(Hybrid(alpha=0)) == order("hybrid:alpha=0") == order("lexical")
    assert order(Hybrid(alpha=1)) == order("dense")
    assert order(Hybrid(alpha=1 / 3)) == order("hybrid")
    places = [order(Hybrid(alpha=alpha)).index("n11") for alpha in (0.05, 0.5, 0.95)]
    assert places == sorted(places, reverse=True)
    for alpha in (1.5, -0.1):
        with pytest.raises(InputError, match="alpha"):
            Hybrid(alpha=alpha)
    with pytest.raises(InputError, match="alpha"):
        monograph.search(query, how="dense:alpha=0.5")


def test_fetch_returns_chunks_by_id_and_filter(monograph: Monograph) -> None:
    monograph.put([Document(id="d", metadata={"of": "d"}, passages=tuple(passage(n, year=n) for n in range(4)))])
    assert [one.chunk.id for one in monograph.fetch(["n3", "no", "n0", "n3"])] == ["n3", "n0"]
    assert [one.chunk.id for one in monograph.fetch(where={"year": {">=": 2}})] == ["n2", "n3"]
    assert [one.chunk.id for one in monograph.fetch(["n3", "n1"], where={"year": 1})] == ["n1"]
    (one,) = monograph.fetch(["n1"], vectors=True)
    assert dict(one.metadata) == {"of": "d", "year": 1}
    assert one.vector is not None
    np.testing.assert_allclose(one.vector, VECTORS[1] / np.linalg.norm(VECTORS[1]), rtol=1e-5)
    assert monograph.fetch(["n1"])[0].vector is None
    assert monograph.fetch([]) == []


def test_concurrent_puts_and_removals_of_one_document_lose_nothing(monograph: Monograph) -> None:
    with Monograph.open(monograph.path) as other, ThreadPoolExecutor(6) as pool:
        hands = [monograph, other]
        list(pool.map(lambda n: hands[n % 2].put([laid("d", n)]), range(24)))
        list(pool.map(lambda n: hands[n % 2].remove_chunks([f"n{n}"]), range(0, 24, 2)))
    assert set(held(monograph)) == {f"n{n}" for n in range(1, 24, 2)}
    assert monograph.check() == []


def test_put_raises_after_too_many_conflicts(monograph: Monograph, monkeypatch: pytest.MonkeyPatch) -> None:
    monograph.put([laid("d", 0)])
    monkeypatch.setattr(passages, "_TRIES", 3)
    rounds = iter(range(1, 30))
    normal = apply.store

    def overtaken(pipeline: Any, *arguments: Any, **named: Any) -> Any:
        with Monograph.open(monograph.path) as other:
            other.add([laid("d", next(rounds))])
        return normal(pipeline, *arguments, **named)

    monkeypatch.setattr(passages, "store", overtaken)
    with pytest.raises(BusyFile, match="'d' was changed by another write"):
        monograph.put([laid("d", 30)])


Step = tuple[str, str, list[int]]
steps = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "remove"]), st.sampled_from(["d", "e"]), st.lists(st.integers(0, 7), min_size=1)
    ),
    max_size=8,
)


@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(work=steps)
def test_any_order_of_puts_and_removals_leaves_expected_passages(
    tmp_path_factory: pytest.TempPathFactory, work: list[Step]
) -> None:
    expected: dict[str, str] = {}
    with Monograph.open(tmp_path_factory.mktemp("work") / "a.mono") as monograph:
        for kind, document, numbers in work:
            names = [f"n{number}" for number in numbers]
            if kind == "put":
                monograph.put([laid(document, *dict.fromkeys(numbers))])
                expected.update(dict.fromkeys(names, document))
            else:
                monograph.remove_chunks(names)
                for name in names:
                    expected.pop(name, None)
        assert {name: document for name, (document, _) in held(monograph).items()} == expected
        assert {document.id for document in monograph.documents()} == set(expected.values())
        assert monograph.check() == []
