"""Another embedder takes the place of the first with all that follows from it, or not at all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from monograph import Document, Monograph
from monograph.derive.embed.static import StaticEmbedder
from monograph.derive.summarize.extractive import ExtractiveSummarizer
from monograph.errors import BusyFile, ModelMismatch, ModelUnavailable
from monograph.store import tree as store
from monograph.values import SummaryText
from monograph.write import rebuild_vectors
from support.models import CountingSummarizer, HashEmbedder, OtherEmbedder
from support.raw_sql import connected
from support.rebuilt_files import HOWS, notes, state_of
from support.trees import document, store_alone, tree_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with names and a tree."""
    file = tmp_path / "x.mono"
    with Monograph.open(file, HashEmbedder(32), summarizer=ExtractiveSummarizer()) as monograph:
        monograph.add(notes(70))
    return file


@contextmanager
def rebuilt_from(documents: Sequence[Document], folder: Path, embedder: HashEmbedder) -> Iterator[Monograph]:
    """A new file of documents with a tree."""
    with Monograph.open(folder / "fresh.mono", embedder) as fresh:
        fresh.add(documents)
        fresh.tree.rebuild()
        yield fresh


def codes_of(monograph: Monograph) -> dict[str, bytes | None]:
    with monograph._file.database.read() as connection:
        return dict(connection.execute("SELECT key, code FROM names WHERE uses > 0"))


def test_rebuild_replaces_everything_derived_from_vectors(path: Path, tmp_path: Path) -> None:
    other = OtherEmbedder(32)
    with Monograph.open(path, HashEmbedder(32)) as monograph:
        before = codes_of(monograph)
        monograph.vectors.rebuild(other)
        after = codes_of(monograph)
        assert {key for key, code in after.items() if code} == {key for key, code in before.items() if code} != set()
        assert all(after[key] != before[key] for key in after if after[key])
        with monograph._file.database.read() as connection:
            vectors = dict(
                connection.execute(
                    "SELECT g.value, v.value FROM nodes JOIN memo AS g ON g.memo = gist JOIN memo AS v ON v.memo = vector"
                )
            )
        assert vectors
        embedded = {other.embed([store.unpack(gist).text])[0].tobytes() for gist in vectors}
        assert set(vectors.values()) == embedded
        grown, merges = tree_of(monograph), monograph.graph.merges()
        monograph.vectors.rebuild(other)
        assert (tree_of(monograph), codes_of(monograph)) == (grown, after)
    with rebuilt_from(notes(70), tmp_path, other) as fresh:
        assert fresh.graph.merges() == merges
        assert tree_of(fresh) == grown
        assert codes_of(fresh) == after


def test_rebuild_with_a_failing_summarizer_changes_nothing(path: Path) -> None:
    summarizer = ExtractiveSummarizer()
    with Monograph.open(path, HashEmbedder(32), summarizer=summarizer) as monograph:
        before = state_of(monograph)

        def down(texts: Sequence[str], max_tokens: int) -> SummaryText:
            raise ModelUnavailable("the model is down", "start it")

        summarizer.summarize = down  # type: ignore[method-assign]
        with pytest.raises(ModelUnavailable):
            monograph.vectors.rebuild(HashEmbedder(48))
        assert state_of(monograph) == before
        assert monograph.check() == []
        del summarizer.summarize
        monograph.vectors.rebuild(HashEmbedder(48))
        assert monograph.check() == []


def test_rebuild_embeds_documents_added_meanwhile(path: Path, tmp_path: Path) -> None:
    """Others write and forget while vectors are made: all that is there in the end has one."""
    calls = 0
    other = HashEmbedder(48)
    real = other.embed

    def embed(texts, kind="document"):  # type: ignore[no-untyped-def]
        nonlocal calls
        calls += 1
        if calls == 1:
            late.add(notes(5, first=200))
        if calls == 3:
            late.remove(["n7", "n201"], forget=True)
        return real(texts, kind)

    with Monograph.open(path, HashEmbedder(32)) as monograph, Monograph.open(path, HashEmbedder(32)) as late:
        other.embed = embed  # type: ignore[method-assign]
        monograph.vectors.rebuild(other)
        assert calls > 3
        assert monograph.check() == []
        assert monograph.stats().documents == 73
        with pytest.raises(ModelMismatch):
            late.add(notes(1, first=300))
        grown, codes = tree_of(monograph), codes_of(monograph)
    kept = [one for one in [*notes(70), *notes(5, first=200)] if one.id not in ("n7", "n201")]
    with rebuilt_from(kept, tmp_path, HashEmbedder(48)) as fresh:
        assert tree_of(fresh) == grown
        assert codes_of(fresh) == codes


def test_rebuild_names_the_process_that_keeps_emptying_the_memo(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebuild_vectors, "MADE_INSIDE", 3)
    other = HashEmbedder(48)
    real = other.embed

    def embed(texts, kind="document"):  # type: ignore[no-untyped-def]
        made = real(texts, kind)
        if len(texts) > 3:
            emptying.compact()
        return made

    with Monograph.open(path, HashEmbedder(32)) as monograph, Monograph.open(path, HashEmbedder(32)) as emptying:
        before = state_of(monograph)
        other.embed = embed  # type: ignore[method-assign]
        with pytest.raises(BusyFile, match="emptying the memo"):
            monograph.vectors.rebuild(other)
        assert state_of(monograph) == before
        assert monograph.check() == []


def test_tree_update_with_the_previous_embedder_is_discarded(tmp_path: Path) -> None:
    """Who grows the tree by the vectors of yesterday does not put it in the place of today's."""
    path = tmp_path / "x.mono"
    summarizer = ExtractiveSummarizer()
    with Monograph.open(path, HashEmbedder(32), summarizer=summarizer) as monograph:
        monograph.add(notes(70))
        real = summarizer.summarize
        exchanged: list[list[tuple[object, ...]]] = []

        def summarize(texts: Sequence[str], max_tokens: int) -> SummaryText:
            if not exchanged:
                exchanged.append([])
                with Monograph.open(path, HashEmbedder(32)) as second:
                    second.vectors.rebuild(OtherEmbedder(32))
                    store_alone(second, notes(1, first=400))
                    exchanged.append(tree_of(second))
            return real(texts, max_tokens)

        summarizer.summarize = summarize  # type: ignore[method-assign]
        report = monograph.add(notes(1, first=100))
        assert report.added == 1
        assert "lacks the latest changes" in report.problems[0].reason
        assert "other/32" in report.problems[0].reason
        assert tree_of(monograph) == exchanged[1]
    with Monograph.open(path, OtherEmbedder(32)) as monograph:
        assert monograph.check() == []
        assert monograph.add([]).problems == ()
        assert monograph.stats().tree.waiting == 0  # type: ignore[union-attr]
        assert monograph.check() == []


def test_check_finds_missing_name_codes_and_repairs_them(path: Path) -> None:
    """Codes that are gone, or not of their length."""
    with Monograph.open(path, HashEmbedder(32)) as monograph:
        before = codes_of(monograph)
        assert sum(code is not None for code in before.values()) > 50
    for hint in ("repair", "rebuild", "graph"):
        with closing(connected(path)) as connection:
            connection.execute("UPDATE names SET code = NULL WHERE name % 2 = 0")
            connection.execute("UPDATE names SET code = x'00' WHERE name % 3 = 0 AND code IS NOT NULL")
        with Monograph.open(path, HashEmbedder(32)) as monograph:
            (finding,) = monograph.check()
            assert (finding.table, finding.repairable) == ("names", True)
            assert "of their embeddings" in finding.fault
            if hint == "repair":
                assert monograph.check(repair=True) == []
            elif hint == "rebuild":
                monograph.vectors.rebuild(HashEmbedder(32))
            else:
                monograph.graph.rebuild()
            assert codes_of(monograph) == before
            assert monograph.check() == []


def test_emptied_file_takes_another_embedder(tmp_path: Path) -> None:
    path = tmp_path / "x.mono"
    with Monograph.open(path, HashEmbedder(32), summarizer=CountingSummarizer()) as monograph:
        monograph.add([document(number) for number in range(20)])
        monograph.remove([f"d{number}" for number in range(19)])
        monograph.vectors.rebuild(HashEmbedder(48))
        for how in HOWS:
            assert len(monograph.search("boat", 3, how)) <= 3
        monograph.remove(["d19"])
        monograph.vectors.rebuild(HashEmbedder(24))
        for how in HOWS:
            assert monograph.search("boat", 3, how) == []
        assert monograph.check() == []
        monograph.add([document(number) for number in range(20)])
        assert monograph.check() == []


def test_hint_of_a_mismatch_moves_the_file_to_the_given_embedder(tmp_path: Path) -> None:
    path = tmp_path / "moved.mono"
    with Monograph.open(path, HashEmbedder(8)) as monograph:
        monograph.add([Document("The comet was seen at noon.", id="a")])
    with pytest.raises(ModelMismatch) as caught:
        Monograph.open(path, HashEmbedder(16))
    call = re.search(r"Monograph\.open\(.*\)$", caught.value.hint)
    assert call is not None
    eval(call[0], {"Monograph": Monograph, "embedder": HashEmbedder(16)})
    with Monograph.open(path, HashEmbedder(16)) as monograph:
        assert monograph.search("comet", how="dense")[0].chunk.document_id == "a"
    with pytest.raises(ModelMismatch, match=f"monograph reembed {re.escape(str(path))} static"):
        Monograph.open(path, StaticEmbedder())
