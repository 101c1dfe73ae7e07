"""Tree of summaries: equality with a fresh build after any change, removal and damage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Document, Monograph, Passage, Settings, Tree
from monograph.derive.summarize.extractive import ExtractiveSummarizer
from monograph.derive.tokens import count_tokens
from monograph.errors import InputError, ModelMismatch, ModelUnavailable, NotFound
from monograph.models import TextKind
from monograph.tree import leaves
from monograph.values import Cost, Float32, SummaryText
from support.corpora import copy_archive
from support.models import CountingSummarizer, HashEmbedder
from support.properties import examples
from support.trees import built_anew, document, text_of, tree_of

PAGE_FRAME = 16_384 + 24
"""Bytes of one page in SQLite's write-ahead log."""


@pytest.fixture
def summarizer() -> CountingSummarizer:
    return CountingSummarizer()


@pytest.fixture
def counting(tmp_path: Path, summarizer: CountingSummarizer) -> Iterator[Monograph]:
    """An empty file whose summaries are counted."""
    with Monograph.open(tmp_path / "x.mono", HashEmbedder(16), summarizer=summarizer) as monograph:
        yield monograph


@pytest.fixture
def hundred(counting: Monograph) -> Monograph:
    counting.add([document(number) for number in range(100)])
    return counting


steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(st.integers(0, 60), min_size=1, max_size=30), st.integers(0, 2)),
        st.tuples(st.just("remove"), st.lists(st.integers(0, 60), min_size=1, max_size=30), st.just(0)),
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=examples(15))
@given(steps, st.sampled_from([(6, 12), (2, 3), (3, 9)]))
def test_a_tree_that_grew_is_the_tree_of_a_fresh_build(tmp_path_factory, taken, bounds) -> None:  # type: ignore[no-untyped-def]
    folder = tmp_path_factory.mktemp("grown")
    chosen = Settings(segment_least=bounds[0], segment_most=bounds[1])
    held: dict[int, Document] = {}
    with Monograph.open(
        folder / "grown.mono", HashEmbedder(16), summarizer=ExtractiveSummarizer(), settings=chosen
    ) as monograph:
        for what, numbers, draw in taken:
            if what == "add":
                held |= {number: document(number, draw) for number in numbers}
                monograph.add([held[number] for number in dict.fromkeys(numbers)])
            elif gone := [number for number in dict.fromkeys(numbers) if number in held]:
                monograph.remove([held.pop(number).id for number in gone])
        monograph.add([])
        assert monograph.check() == []
        grown = tree_of(monograph)
        stats = monograph.stats()
        fresh = built_anew(folder / "fresh.mono", list(held.values())[::-1], chosen)
    assert grown == fresh
    assert stats.tree is not None
    sizes = [size for size, _ in stats.tree.sizes]
    assert max(sizes, default=0) <= bounds[1]
    # Only a segment that is its whole layer may be smaller.
    small = sum(count for size, count in stats.tree.sizes if size < bounds[0])
    assert small <= 1


@pytest.mark.long
def test_one_document_more_or_less_remakes_few_summaries(counting: Monograph, summarizer: CountingSummarizer) -> None:
    counting.add([document(number) for number in range(400)])
    layers = len(counting.stats().tree.layers)  # type: ignore[union-attr]
    made = []
    for number in range(999, 1_059, 3):
        before = len(summarizer.asked)
        counting.add([document(number)])
        made.append(len(summarizer.asked) - before)
    for number in range(0, 60, 3):
        before = len(summarizer.asked)
        counting.remove([f"d{number}"])
        made.append(len(summarizer.asked) - before)
    assert sum(made) / len(made) <= layers + 2
    again = len(summarizer.asked)
    counting.add([document(0)])
    counting.remove(["d0"])
    counting.add([document(0)])
    assert len(summarizer.asked) - again <= layers + 2  # What was made once is remembered.


def test_removed_text_is_in_no_summary_even_where_the_model_is_down(tmp_path: Path) -> None:
    secret = "The kumquat of Vladivostok was hidden under the third emerald floorboard by Quixote."
    summarizer = ExtractiveSummarizer()
    with Monograph.open(tmp_path / "x.mono", HashEmbedder(16), summarizer=summarizer) as monograph:
        monograph.add([*(document(number) for number in range(100)), Document(secret, id="secret")])
        found = monograph.search(secret, 400, how=Tree(detail=0))
        assert any("kumquat" in hit.text for hit in found)

        def down(texts: Sequence[str], max_tokens: int) -> SummaryText:
            raise ModelUnavailable("the model is down", "start it")

        summarizer.summarize = down  # type: ignore[method-assign]
        report = monograph.remove(["secret"], forget=True)
        assert report.removed == 1
        assert "the model is down" in report.problems[0].reason
        assert not any("kumquat" in hit.text for hit in monograph.search(secret, 400, how="tree"))
        assert monograph.check() == []
        assert monograph.stats().tree.waiting > 0  # type: ignore[union-attr]
        for one in tmp_path.glob("x.mono*"):
            assert b"kumquat" not in one.read_bytes()
        del summarizer.summarize
        assert monograph.add([]).problems == ()
        assert monograph.stats().tree.waiting == 0  # type: ignore[union-attr]
        grown = tree_of(monograph)
    assert grown == built_anew(tmp_path / "y.mono", [document(n) for n in range(100)], Settings())


def test_a_failed_summary_leaves_the_tree_as_it_was(counting: Monograph, summarizer: CountingSummarizer) -> None:
    counting.add([document(number) for number in range(80)])
    before = [one for one in tree_of(counting) if one[0]]
    made = len(summarizer.asked)
    summarizer.fail_at = made + 3
    report = counting.add([document(number) for number in range(200, 230)])
    assert report.added == 30
    (problem,) = report.problems
    assert "the model is down" in problem.reason
    assert "resummarize" in problem.hint or problem.hint == "start it"
    assert [one for one in tree_of(counting) if one[0]] == before
    assert counting.check() == []
    assert counting.search("boat", 3)[0].chunk.text
    summarizer.fail_at = float("inf")
    assert counting.add([]).problems == ()
    assert len(summarizer.asked) == len(set(summarizer.asked))  # Those three were not paid for again.
    assert counting.check() == []
    assert counting.stats().tree.waiting == 0  # type: ignore[union-attr]


def test_an_empty_summary_is_refused(tmp_path: Path) -> None:
    summarizer = CountingSummarizer()
    summarizer.summarize = lambda texts, max_tokens: SummaryText(" ")  # type: ignore[method-assign]
    with Monograph.open(tmp_path / "x.mono", HashEmbedder(16), summarizer=summarizer) as monograph:
        report = monograph.add([document(number) for number in range(9)])
        assert "empty" in report.problems[0].reason
        assert monograph.check() == []
        assert monograph.search("boat", 3)
        with pytest.raises(InputError, match="no tree"):
            monograph.search("boat", 3, how="tree")


class Alike:
    """Gives every text the same vector, or none at all."""

    spec = "tests:alike"
    dimension = 8

    def __init__(self, value: float) -> None:
        self.value = value
        self.key = f"alike/{value}"

    def embed(self, texts: Sequence[str], kind: TextKind = "document") -> Float32:
        return np.full((len(texts), 8), self.value, dtype=np.float32)


@pytest.mark.parametrize("value", [8**-0.5, 0.0])
def test_chunks_of_one_hash_make_a_tree(tmp_path: Path, value: float) -> None:
    with Monograph.open(tmp_path / "x.mono", Alike(value), summarizer=CountingSummarizer()) as monograph:
        monograph.add([document(number) for number in range(150)])
        monograph.remove([f"d{number}" for number in range(0, 150, 7)])
        assert monograph.check() == []
        (top,) = monograph.tree.outline()
        assert top.count == monograph.stats().chunks


def test_a_thousand_identical_chunks_make_a_tree(counting: Monograph, summarizer: CountingSummarizer) -> None:
    same = tuple(Passage("The same words again and again, and nothing else at all.") for _ in range(1_000))
    counting.add([Document(id="same", passages=same)])
    assert counting.check() == []
    assert counting.tree.outline()[0].count == 1_000
    assert len(summarizer.asked) <= 7 + 20  # A summary of so many alike is made once.
    counting.tree.rebuild(ExtractiveSummarizer())
    assert counting.tree.outline()[0].text == "The same words again and again, and nothing else at all."


@pytest.mark.parametrize(("count", "layers"), [(0, ()), (1, ()), (2, (1,)), (12, (1,)), (13, (2, 1))])
def test_tiny_files_make_a_tree(counting: Monograph, count: int, layers: tuple[int, ...]) -> None:
    texts = [Document(text_of(number), id=f"t{number}") for number in range(count)]
    counting.add(texts)
    assert counting.stats().tree.layers == layers  # type: ignore[union-attr]
    assert len(counting.search("boat and gull", 50, how="tree")) == count + sum(layers)
    assert counting.check() == []
    counting.remove([one.id for one in texts])
    assert counting.stats().tree.layers == ()  # type: ignore[union-attr]
    assert counting.search("boat and gull", 50, how="tree") == []
    assert counting.tree.outline() == []
    assert counting.check() == []
    counting.compact()
    assert counting.stats().memo == 0


def test_a_file_has_no_tree_until_it_is_asked_for(tmp_path: Path) -> None:
    embedder = HashEmbedder(16)
    with Monograph.open(tmp_path / "x.mono", embedder) as monograph:
        assert monograph.add([document(number) for number in range(30)]).summarized == 0
        assert monograph.stats().tree is None
        for ask in (lambda: monograph.search("boat", how="tree"), monograph.tree.outline):
            with pytest.raises(InputError, match="no tree") as caught:
                ask()
            assert "monograph resummarize" in caught.value.hint
        with pytest.raises(InputError, match="'auto' has no parameter 'detail'"):
            monograph.search("boat", how="auto:detail=0.5")
        cost = monograph.tree.price()
        made = monograph.tree.rebuild().summarized
        assert 5 < made == sum(monograph.stats().tree.layers) <= cost.summaries  # type: ignore[union-attr]
        assert 0 < cost.typical_summaries <= cost.summaries
        assert monograph.tree.price() == Cost()
        assert monograph.tree.outline()[0].count == monograph.stats().chunks
        assert monograph.tree.summarizer.spec == "extractive"
    with Monograph.open(tmp_path / "x.mono", embedder) as monograph:
        assert monograph.add([document(40)]).summarized > 0


def test_another_summarizer_needs_a_rebuild(tmp_path: Path) -> None:
    path = tmp_path / "x.mono"
    with Monograph.open(path, HashEmbedder(16), summarizer=CountingSummarizer("one")) as monograph:
        monograph.add([document(number) for number in range(60)])
    other = CountingSummarizer("two")
    with pytest.raises(ModelMismatch, match=r"tree\.rebuild"):
        Monograph.open(path, HashEmbedder(16), summarizer=other)
    with Monograph.open(path, HashEmbedder(16)) as monograph:
        with pytest.raises(ModelUnavailable, match="tests:counting"):
            monograph.add([document(61)])
        priced = monograph.tree.price(other)
        other.fail_at = 5
        before = tree_of(monograph)
        with pytest.raises(ModelUnavailable):
            monograph.tree.rebuild(other)
        assert tree_of(monograph) == before
        other.fail_at = float("inf")
        report = monograph.tree.rebuild(other)
        assert len(other.asked) == len(set(other.asked)) == report.summarized + 5
        assert len(other.asked) <= priced.summaries
        assert monograph.stats().summarizer == "two"
        assert monograph.check() == []


def test_another_embedder_grows_another_tree(counting: Monograph) -> None:
    counting.add([document(number) for number in range(60)])
    counting.vectors.rebuild(HashEmbedder(24))
    assert counting.check() == []
    assert counting.search("boat", 3, how=Tree(detail=0))[0].summary is not None
    grown = tree_of(counting)
    counting.tree.rebuild()
    assert tree_of(counting) == grown


def test_summaries_quote_their_documents(tmp_path: Path) -> None:
    with Monograph.open(tmp_path / "x.mono", summarizer=ExtractiveSummarizer()) as monograph:
        monograph.add([document(number) for number in range(120)])
        texts = {one.id: monograph.document(one.id).text for one in monograph.documents()}
        layers = set()
        for hit in monograph.search("who counted the boats", 400, how=Tree(detail=0)):
            summary = hit.summary
            assert summary is not None
            layers.add(summary.layer)
            assert hit.text == summary.text
            assert count_tokens([summary.text])[0] <= 100
            assert hit.chunk.id in summary.chunks
            assert summary.sources
            assert "".join(summary.text[one.start : one.end] for one in summary.sources) == summary.text.replace(
                "\n", ""
            )
            for one in summary.sources:
                said = texts[one.document_id][one.document_start : one.document_end]
                assert said == summary.text[one.start : one.end]
                assert one.chunk_id in summary.chunks
        assert layers == {1, 2, 3}


FILTERS: list[tuple[dict[str, object], Callable[[dict[str, object]], bool]]] = [
    ({"owner": "ann"}, lambda one: one["owner"] == "ann"),
    ({"part": {"<=": 1}}, lambda one: int(str(one["part"])) <= 1),
    ({"or": [{"owner": "bo"}, {"part": 0}]}, lambda one: one["owner"] == "bo" or one["part"] == 0),
    ({"owner": "nobody"}, lambda one: False),
]


@pytest.mark.parametrize(("where", "passes"), FILTERS, ids=["owner", "part", "either", "nobody"])
def test_a_summary_is_found_only_where_all_under_it_may_be(
    tmp_path: Path, where: dict[str, object], passes: Callable[[dict[str, object]], bool]
) -> None:
    chosen = Settings(segment_least=2, segment_most=3)
    with Monograph.open(
        tmp_path / "x.mono", HashEmbedder(16), summarizer=CountingSummarizer(), settings=chosen
    ) as monograph:
        monograph.add([document(number) for number in range(90)])
        allowed = {
            chunk.id
            for one in monograph.documents()
            for chunk in monograph.chunks(one.id)
            if passes({**monograph.document(one.id).metadata, **chunk.metadata})
        }
        every = monograph.search("boat gull net", 1_000, how="tree")
        found = monograph.search("boat gull net", 1_000, how="tree", where=where)
        wanted = [hit for hit in every if set(hit.summary.chunks if hit.summary else [hit.chunk.id]) <= allowed]
        assert sorted(hit.text for hit in found) == sorted(hit.text for hit in wanted)
        assert [hit.score for hit in found] == pytest.approx([hit.score for hit in wanted], abs=1e-5)
        assert {hit.chunk.id for hit in found} <= allowed


def test_tree_search_keeps_to_its_shares_and_budget(hundred: Monograph) -> None:
    for detail, chunks in ((0.0, 0), (0.25, 2), (0.5, 4), (1.0, 8)):
        hits = hundred.search("boat gull net", 8, how=Tree(detail=detail))
        assert sum(hit.summary is None for hit in hits) == chunks
        assert len(hits) == 8
        assert [hit.rank for hit in hits] == list(range(8))
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert len(hundred.search("boat", 200, how=Tree(detail=0.1))) == 200  # Chunks fill up what summaries lack.
    whole = hundred.search("boat gull net", 30, how="tree")
    some = hundred.search("boat gull net", 30, how=Tree(budget=150))
    assert 0 < sum(count_tokens([hit.text for hit in some])) <= 150
    assert {hit.text for hit in some} < {hit.text for hit in whole}
    shared = hundred.search("boat gull net", 30, how=Tree(detail=0.5, budget=600))
    for summary in (False, True):
        spent = sum(count_tokens([hit.text for hit in shared if (hit.summary is not None) == summary]))
        assert 200 < spent <= 400
    assert hundred.search("boat", 5, how=Tree(budget=0)) == []
    assert hundred.search("boat", 0, how="tree") == []
    for wrong in ({"detail": 1.5}, {"detail": -0.1}, {"budget": -1}):
        with pytest.raises(InputError):
            Tree(**wrong)


def test_an_outline_opens_layer_by_layer(hundred: Monograph) -> None:
    (top,) = hundred.tree.outline(layers=1)
    assert top.layer == 3
    assert all(child.layer == 2 and child.children == () for child in top.children)
    assert sum(child.count for child in top.children) == top.count == hundred.stats().chunks
    (child,) = hundred.tree.outline(top.children[0].id[:10], layers=2)
    assert child.id == top.children[0].id
    (leaf, *_) = child.children[0].children
    assert hundred.fetch([leaf.id])[0].chunk.text == leaf.text
    for name in ("abc", "nothing", "0" * 32, "'; DROP TABLE nodes"):
        with pytest.raises(NotFound):
            hundred.tree.outline(name)


DAMAGES = {
    "a lost parent": "UPDATE nodes SET parent = 999999 WHERE node = (SELECT min(node) FROM nodes WHERE layer = 0)",
    "another rank": "UPDATE nodes SET rank = rank + 1 WHERE node = (SELECT min(node) FROM nodes WHERE layer = 0)",
    "another key": "UPDATE nodes SET key = randomblob(16) WHERE node = (SELECT min(node) FROM nodes WHERE layer = 1)",
    "a moved summary": "UPDATE nodes SET rank = rank + 1 WHERE node = (SELECT min(node) FROM nodes WHERE layer = 2)",
    "a lost summary": "DELETE FROM nodes WHERE node = (SELECT min(node) FROM nodes WHERE layer = 1)",
    "an unreadable summary": "UPDATE memo SET value = x'00' WHERE memo = (SELECT min(gist) FROM nodes)",
    "no tree": "DELETE FROM trees",
    "a vector of another length": "UPDATE memo SET value = x'0000' WHERE memo = (SELECT min(vector) FROM nodes)",
    "a swapped parent": """UPDATE nodes SET parent = (SELECT max(node) FROM nodes WHERE layer = 1)
        WHERE node = (SELECT min(node) FROM nodes WHERE layer = 0)""",
}


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(damage, marks=[pytest.mark.long] if place % 3 else [])
        for place, damage in enumerate(DAMAGES.values())
    ],
    ids=DAMAGES,
)
def test_damaged_trees_are_repaired(tmp_path: Path, damage: str) -> None:
    notes = [document(number) for number in range(100)]
    path = copy_archive(tmp_path / "x.mono", notes, HashEmbedder(16), summarizer=CountingSummarizer())
    with Monograph.open(path, HashEmbedder(16), summarizer=CountingSummarizer()) as monograph:
        before = tree_of(monograph)
        with monograph._file.database.write() as connection:
            connection.execute(damage)
            connection.execute("DELETE FROM dirty_segments")
        assert monograph.check()
        assert monograph.check(repair=True) == []
        assert tree_of(monograph) == before


def test_a_removal_costs_the_same_by_id_and_by_uri(counting: Monograph) -> None:
    counting.add([*map(document, range(9)), replace(document(200), uri="notes.txt")])
    assert counting.price(remove=["notes.txt"]) == counting.price(remove=["d200", "notes.txt"]) != Cost()


def test_a_new_title_costs_the_summaries_of_all_passages(hundred: Monograph, summarizer: CountingSummarizer) -> None:
    passages = tuple(Passage(text_of(1_000 + number)) for number in range(60))
    hundred.add([Document(id="long", title="Old", passages=passages)])
    retitled = Document(id="long", title="New", passages=passages)
    cost, before = hundred.price([retitled]), len(summarizer.asked)
    assert (cost.chunks, cost.embeddings) == (0, 60)
    hundred.add([retitled])
    assert 5 < (len(summarizer.asked) - before) / 2 <= cost.typical_summaries


def test_a_price_of_passages_is_that_of_put(counting: Monograph) -> None:
    counting.put([document(3)])
    late = replace(
        document(3), text="", passages=(*document(3).passages[:1], Passage("A passage that came late.", "late"))
    )
    cost = counting.price(put=[late])
    report = counting.put([late])
    assert (cost.documents, cost.chunks, cost.embeddings) == (1, report.chunks_added, report.embedded) == (1, 1, 1)
    assert counting.price(put=[late]) == Cost()


def test_a_new_file_accepts_given_vectors_after_a_price_or_search(tmp_path: Path) -> None:
    given = Document(id="d", passages=(Passage("A passage.", "p", vector=np.array([3.0, 4.0], np.float32)),))
    with Monograph.open(tmp_path / "x.mono") as monograph:
        assert monograph.search("passage") == []
        assert monograph.price([Document("A text.")]).embeddings == 1
        assert (monograph.price(put=[given]).chunks, monograph.price(put=[given]).embeddings) == (1, 0)
        monograph.put([given])
        assert monograph.stats().dimension == 2


@settings(max_examples=examples(20))
@given(
    st.integers(0, 90),
    st.lists(st.integers(0, 140), min_size=1, max_size=30, unique=True),
    st.lists(st.integers(0, 89), max_size=12, unique=True),
)
def test_a_price_bounds_the_work(tmp_path_factory, first, written, gone) -> None:  # type: ignore[no-untyped-def]
    summarizer, embedder = CountingSummarizer(), HashEmbedder(16)
    path = tmp_path_factory.mktemp("price") / "x.mono"
    with Monograph.open(path, embedder, summarizer=summarizer) as monograph:
        monograph.add([document(number) for number in range(first)])
        removed = [f"d{number}" for number in gone if number < first]
        changed = [document(number, 1) for number in written if number not in gone]
        before = len(summarizer.asked), len(embedder.texts)
        cost = monograph.price(changed, remove=[*removed, "nobody"])
        assert before == (len(summarizer.asked), len(embedder.texts))
        monograph.remove(removed)
        without = len(summarizer.asked)
        report = monograph.add(changed)
        assert report.embedded == cost.embeddings
        assert max(without - before[0], len(summarizer.asked) - without) <= cost.summaries
        assert cost.documents == len(changed)
        assert monograph.price(changed, remove=removed) == Cost()


@settings(max_examples=examples(20))
@given(
    st.integers(0, 90),
    st.lists(st.integers(0, 140), min_size=1, max_size=30, unique=True),
    st.lists(st.integers(0, 89), max_size=12, unique=True),
)
def test_a_plan_bounds_the_summaries(tmp_path_factory, first, written, gone) -> None:  # type: ignore[no-untyped-def]
    folder = tmp_path_factory.mktemp("plan")
    texts = folder / "texts"
    texts.mkdir()
    summarizer = CountingSummarizer()
    with Monograph.open(folder / "x.mono", HashEmbedder(16), summarizer=summarizer) as monograph:
        for number in range(first):
            (texts / f"{number}.txt").write_text(text_of(number))
        monograph.sync(texts)
        for number in written:
            (texts / f"{number}.txt").write_text(text_of(number, 1))
        for number in gone:
            (texts / f"{number}.txt").unlink(missing_ok=True)
        before = len(summarizer.asked)
        plan = monograph.files.plan(texts, prune=True)
        assert len(summarizer.asked) == before
        monograph.files.apply(plan)
        made = summarizer.asked[before:]
        cost = plan.cost
        assert cost is not None
        assert len(made) <= cost.summaries
        assert cost.typical_summaries <= cost.summaries
        again = monograph.files.plan(texts)
        assert again.cost is not None
        assert again.cost.summaries == 0


def test_an_unchanged_sync_makes_nothing(
    counting: Monograph, summarizer: CountingSummarizer, tmp_path: Path, folder: Path
) -> None:
    for number in range(40):
        (folder / f"{number}.txt").write_text(text_of(number))
    counting.sync(folder)
    before = len(summarizer.asked), counting.tree.outline(layers=9)
    log = tmp_path / "x.mono-wal"
    written = log.stat().st_size
    report = counting.sync(folder)
    assert (report.same, report.summarized) == (40, 0)
    assert (len(summarizer.asked), counting.tree.outline(layers=9)) == before
    # The pages that hold the generation and the time of the last sync, and nothing else.
    assert log.stat().st_size - written <= 2 * PAGE_FRAME


def test_passages_that_change_places_keep_their_nodes(counting: Monograph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaves, "LEAVES_AT_ONCE", 2)
    passages = tuple(Passage(text_of(number), id=f"p{number}") for number in range(9))
    counting.put([Document(id="one", passages=passages)])
    before = tree_of(counting)
    counting.put([Document(id="two", passages=passages[::-1])])
    assert [one.id for one in counting.documents()] == ["two"]
    assert tree_of(counting) == before
    assert counting.check() == []
