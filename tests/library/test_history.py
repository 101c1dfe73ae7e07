"""Files that keep former versions: what was can be searched, read, cited and forgotten, and nothing else sees it."""

from __future__ import annotations

import gc
import json
import pickle
import tempfile
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Document, Monograph, Passage, Reader, Settings, Valid
from monograph.derive.summarize.extractive import ExtractiveSummarizer
from monograph.errors import ClosedFile, DamagedFile, InputError, InvalidFilter, NotFound
from monograph.values import AssertedNode
from monograph.write import configuration
from support.forks import run
from support.models import CapitalExtractor, HashEmbedder
from support.properties import examples
from support.secrets import SECRET, has_traces

START = 1_700_000_000
HISTORY = Settings(chunk_tokens=16, chunk_overlap=0, history=True)
PLAIN = Settings(chunk_tokens=16, chunk_overlap=0)
MODES = ("lexical", "dense", "hybrid", "graph")
QUESTION = "Ann met Bert at the Lighthouse of Calder with the boiler"

Now: TypeAlias = list[float]


@contextmanager
def opened(path: Path, now: Now, **given: Any) -> Iterator[Monograph]:
    """A file that keeps former versions, whose clock stands at ``now``."""
    given = {"settings": HISTORY, **given}
    with Monograph.open(path, HashEmbedder(), CapitalExtractor(), clock=lambda: now[0], **given) as archive:
        yield archive


TEXTS = (
    "Ann met Bert at the Lighthouse.",
    "Bert repaired the boiler of the Lighthouse in Calder. Dora was away that day, and Emil wrote it down for her.",
    "Emil wrote to Ann of the storm.",
    "The Lighthouse was lit by Dora. Nobody else came from Calder on that Sunday, and the boats stayed where they were.",
    "Ann met Bert at the Lighthouse. Then Emil came.",
)
Change: TypeAlias = tuple[int, int, int | None]
"""(seconds that pass, document, its text from then on, or None where it is removed)."""
CHANGES = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 2), st.one_of(st.none(), st.integers(0, len(TEXTS) - 1))),
    min_size=1,
    max_size=5,
)


def document(number: int, text: int) -> Document:
    title = f"Note {number}" if text % 2 else ""
    if text == 4:  # Handed over in passages, one of them with its vector.
        vector = np.array([1.0, 2.0] * 16, dtype=np.float32)
        half = (Passage(one, vector=vector if at else None) for at, one in enumerate(TEXTS[4].split(". ")))
        return Document(id=f"d{number}", title=title, passages=tuple(half), metadata={"n": text})
    return Document(TEXTS[text], id=f"d{number}", title=title, metadata={"n": text})


def held(archive: Reader) -> dict[str, tuple[str, str, Mapping[str, Any], tuple[str, ...]]]:
    """What a file says that it holds."""
    every = {one.id: archive.document(one.id) for one in archive.documents()}
    return {
        name: (one.title, one.text, one.metadata, tuple(chunk.text for chunk in archive.chunks(name)))
        for name, one in every.items()
    }


def found(archive: Reader, how: str) -> list[tuple[str, str]]:
    return sorted((hit.chunk.document_id, hit.chunk.text) for hit in archive.search(QUESTION, 50, how))


def scores(archive: Reader, how: str) -> list[float]:
    return [round(hit.score, 4) for hit in archive.search(QUESTION, 50, how)]


def named(archive: Reader) -> list[tuple[str, str, int]]:
    return sorted((one.name, one.kind, one.chunks) for one in archive.graph.entities(100))


def same(archive: Reader, fresh: Monograph) -> None:
    """One shows what the other does, as far as that does not hang on the order in which documents came."""
    assert held(archive) == held(fresh)
    assert named(archive) == named(fresh)
    for how in MODES:
        assert found(archive, how) == found(fresh, how)
        assert scores(archive, how) == scores(fresh, how)
    assert archive.stats().chunks == fresh.stats().chunks
    assert archive.stats().mentions == fresh.stats().mentions


@settings(max_examples=examples(20))
@given(CHANGES)
def test_snapshot_equals_the_file_at_each_moment(changes: list[Change]) -> None:
    now: Now = [START]
    states: dict[int, dict[str, Document]] = {START - 1: {}}
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder) / "a.mono", now) as archive:
        current: dict[str, Document] = {}
        for passed, number, text in changes:
            now[0] += passed
            if text is not None:
                current = {**current, f"d{number}": document(number, text)}
                archive.add([current[f"d{number}"]])
            elif f"d{number}" in current:
                current = {name: one for name, one in current.items() if name != f"d{number}"}
                archive.remove([f"d{number}"])
            states[int(now[0])] = current
        assert archive.check() == []
        before = held(archive)
        with Monograph.open(Path(folder) / "present.mono", HashEmbedder(), CapitalExtractor(), settings=PLAIN) as fresh:
            fresh.add(current.values())
            same(archive, fresh)
        for at, (second, state) in enumerate(states.items()):
            past = archive.as_of(second)
            path = Path(folder) / f"{at}.mono"
            with Monograph.open(path, HashEmbedder(), CapitalExtractor(), settings=PLAIN) as fresh:
                fresh.add(state.values())
                same(past, fresh)
            for name, one in state.items():
                assert archive.document(name, as_of=second).text == one.text
            for hit in past.search(QUESTION, 50):
                assert hit.valid is not None
                assert hit.valid.at(second)
                quoted = archive.document(hit.chunk.document_id, as_of=second).text[hit.chunk.start : hit.chunk.end]
                assert quoted == hit.chunk.text
        assert held(archive) == before
        for name in {name for state in states.values() for name in state}:
            with suppress(NotFound):  # A version that stood for less than a second is not kept.
                for former, later in pairwise(archive.versions(name)):
                    assert former.valid.until is not None
                    assert former.valid.until <= later.valid.since


@pytest.fixture
def now() -> Now:
    return [float(START)]


@pytest.fixture
def archive(tmp_path: Path, now: Now) -> Iterator[Monograph]:
    """Ten seconds after the boiler was repaired it was replaced, and ten later the tea was given up."""
    with opened(tmp_path / "a.mono", now) as archive:
        archive.add([Document("The boiler was repaired by Ines.", id="boiler", title="Boiler", uri="b.txt"),
                     Document("Tea is at four with Bert.", id="tea", metadata={"owner": "ann"})])  # fmt: skip
        now[0] += 10
        archive.add([Document("The boiler was replaced by Otto.", id="boiler", title="The boiler", uri="b.txt")])
        now[0] += 10
        archive.remove(["tea"])
        now[0] += 10
        yield archive


def test_versions_lists_each_version_with_its_period(archive: Monograph) -> None:
    first, second = archive.versions("boiler")
    assert (first.title, first.valid) == ("Boiler", Valid(START, START + 10))
    assert (second.title, second.valid) == ("The boiler", Valid(START + 10))
    assert archive.versions("b.txt") == [first, second]
    assert [one.valid for one in archive.versions("tea")] == [Valid(START, START + 20)]
    assert str(first.valid) == "2023-11-14T22:13:20Z to 2023-11-14T22:13:30Z"
    with pytest.raises(NotFound):
        archive.versions("nothing")


def test_citation_of_a_snapshot_names_its_period(archive: Monograph) -> None:
    context = archive.as_of(START + 5).context("Who repaired the boiler?")
    cited = next(one for one in context.citations if one.title == "Boiler")
    assert cited.valid == Valid(START, START + 10)
    (span,) = cited.spans
    assert archive.document("boiler", as_of=START + 5).text[span.start : span.end] == span.text
    assert "Ines" in archive.as_of(START + 5).ask("Who repaired the boiler?").text
    assert "Ines" not in archive.ask("Who repaired the boiler?").text


def test_as_of_accepts_many_notations(archive: Monograph) -> None:
    texts = ("2023-11-14T22:13:25Z", "2023-11-14T23:13:25+01:00")
    for moment in (START + 5, START + 5.5, *texts, datetime.fromtimestamp(START + 5, UTC)):
        assert archive.document("boiler", as_of=moment).title == "Boiler"
        assert archive.as_of(moment).document("boiler").title == "Boiler"
    # A day, month or year means its end.
    for day in ("2023-11-14", "2023-11", 2023, date(2023, 11, 14)):
        assert [one.title for one in archive.as_of(day).documents()] == ["The boiler"]
    assert archive.as_of("2023-11-13").documents() == []
    for invalid in ("yesterday", True, None, [1]):
        with pytest.raises(InputError, match="not a time"):
            archive.as_of(invalid)  # type: ignore[arg-type]


def test_unchanged_document_adds_no_version(archive: Monograph) -> None:
    archive.add([archive.document("boiler")])
    assert len(archive.versions("boiler")) == 2
    archive.add([Document("One thing.", id="short")])
    archive.add([Document("Another thing.", id="short")])  # In the same second.
    assert [one.valid for one in archive.versions("short")] == [Valid(START + 30)]


def test_clock_that_goes_back_loses_no_version(archive: Monograph, now: Now) -> None:
    now[0] = START - 1_000
    for text in ("It was sold.", "It was bought."):
        archive.add([Document(text, id="boiler")])
    whole = [one.valid for one in archive.versions("boiler")]
    assert whole[0] == Valid(START, START + 10)
    assert all(one.until == two.since for one, two in pairwise(whole))
    assert archive.document("boiler", as_of=whole[2].since).text == "It was sold."
    assert archive.check() == []


@pytest.mark.parametrize("said", [float("nan"), float("inf"), 1e15, -1e15])
def test_invalid_clock_is_refused(archive: Monograph, now: Now, said: float) -> None:
    now[0] = said
    with pytest.raises(InputError, match="the clock says"):
        archive.add([Document("It was sold.", id="boiler")])
    assert len(archive.versions("boiler")) == 2


def test_keeping_a_version_calls_no_model(tmp_path: Path, now: Now) -> None:
    embedder, extractor = HashEmbedder(), CapitalExtractor()
    plain, other = HashEmbedder(), CapitalExtractor()

    def written(path: Path, by: HashEmbedder, names: CapitalExtractor, chosen: Settings) -> None:
        with Monograph.open(path, by, names, settings=chosen, clock=lambda: now[0]) as archive:
            for text in TEXTS[:4]:
                now[0] += 1
                archive.add([Document(text, id="a"), Document(f"{text} Again.", id="b")])
            archive.remove(["a"])

    written(tmp_path / "plain.mono", plain, other, PLAIN)
    written(tmp_path / "kept.mono", embedder, extractor, HISTORY)
    assert (embedder.texts, extractor.chunks) == (plain.texts, other.chunks)
    with Monograph.open(tmp_path / "kept.mono", embedder, extractor) as archive:
        archive.compact()
        given = len(extractor.chunks)
        chunks = {one.text for one in extractor.chunks}
        del embedder.texts[:]
        for version in archive.versions("b"):
            assert archive.as_of(version.valid.since).search(QUESTION, how="graph")
        assert len(extractor.chunks) == given
        # Names that nothing names any more were let go, with the signs of their embeddings.
        assert not chunks & set(embedder.texts)


def test_search_skips_previous_versions(archive: Monograph, tmp_path: Path) -> None:
    shown = [archive.stats().documents, archive.stats().chunks, len(archive.documents()), len(archive.fetch())]
    assert shown == [1, 1, 1, 1]
    everything = repr([
        archive.documents(), archive.fetch(), archive.graph.entities(100), archive.search("Ines Bert tea repaired", 50),
        archive.context("Ines Bert tea repaired"), archive.listed(), list(archive.graph.to_networkx().nodes(data=True)),
    ])  # fmt: skip
    exported = archive.export(tmp_path / "out").path
    everything += "".join(one.read_text("utf-8", "replace") for one in Path(exported).iterdir())
    assert "Otto" in everything
    for gone in ("Ines", "Bert", "Tea", "repaired"):
        assert gone not in everything.replace("Ines Bert tea repaired", "")


def test_snapshot_can_be_limited_by_a_filter(archive: Monograph) -> None:
    ann = {"owner": "ann"}
    for view in (archive.within(ann).as_of(START + 5), archive.as_of(START + 5).within(ann)):
        assert [one.id for one in view.documents()] == ["tea"]
        assert [hit.text for hit in view.search("boiler tea repaired", 9)] == ["Tea is at four with Bert."]
        assert [one.name for one in view.graph.entities(9)] == ["Bert", "Tea"]
    assert archive.within(ann).document("tea", as_of=START + 5).text == "Tea is at four with Bert."
    with pytest.raises(NotFound):
        archive.within(ann).document("boiler", as_of=START + 5)
    assert not hasattr(archive.within(ann), "versions")
    assert [one.title for one in archive.as_of(START + 15).as_of(START + 5).documents()] == ["", "Boiler"]


def test_read_methods_accept_as_of(archive: Monograph) -> None:
    then = START + 5
    assert [hit.title for hit in archive.search("boiler repaired", 1, as_of=then)] == ["Boiler"]
    assert [one.title for one in archive.context("boiler repaired", as_of=then).citations][:1] == ["Boiler"]
    assert "Ines" in archive.ask("Who repaired the boiler?", as_of=then).text
    assert [one.chunk.document_id for one in archive.fetch(where={"owner": "ann"}, as_of=then)] == ["tea"]
    ann = {"owner": {"==": "ann"}}
    assert [hit.chunk.document_id for hit in archive.search("boiler", 9, where=ann, as_of=then)] == ["tea"]
    assert archive.within(ann).search("boiler", 9, as_of=then) == archive.search("boiler", 9, where=ann, as_of=then)
    assert archive.search("tea", 9, "lexical", where={"owner": "ann"}) == []
    held = archive._file.last_snapshot
    assert archive.search("boiler", 1, as_of=START + 6)
    assert archive._file.last_snapshot is held
    with pytest.raises(InputError, match="not a time"):
        archive.search("tea", as_of="then")
    with pytest.raises(InvalidFilter, match="valid"):
        archive.search("tea", where={"$valid": then})


def test_snapshot_is_pickled_exported_and_backed_up(archive: Monograph, tmp_path: Path) -> None:
    past = archive.as_of(START + 5)
    assert held(pickle.loads(pickle.dumps(past))) == held(past)
    past.export(tmp_path / "out")
    with Monograph.open(tmp_path / "again.mono", HashEmbedder(), CapitalExtractor(), settings=PLAIN) as again:
        again.files.take_over("jsonl", tmp_path / "out")
        assert held(again) == held(past)
    archive.backup(tmp_path / "copy.mono")
    with Monograph.open(tmp_path / "copy.mono", HashEmbedder(), CapitalExtractor(), create=False) as copy:
        assert copy.settings.history
        assert copy.versions("boiler") == archive.versions("boiler")
        assert held(copy.as_of(START + 5)) == held(past)


def test_snapshots_of_one_moment_share_a_copy_that_is_deleted_with_the_last(archive: Monograph) -> None:
    past = archive.as_of(START + 3)
    assert archive.as_of(START + 8)._file is past._file
    assert archive.as_of(START + 12)._file is not past._file
    assert past.search("boiler", 1)
    database, gone = past._file.database, weakref.ref(past._file)
    gc.disable()
    try:
        del past
        assert gone() is None
    finally:
        gc.enable()
    assert database.is_closed


def test_as_of_without_history_raises(tmp_path: Path) -> None:
    with Monograph.open(tmp_path / "plain.mono") as archive:
        archive.add([Document("A.", id="a")])
        archive.add([Document("B.", id="a")])
        assert archive.document("a").valid is None
        for refused in (
            lambda: archive.as_of(2026),
            lambda: archive.document("a", as_of=2026),
            lambda: archive.versions("a"),
            lambda: archive.forget_versions(["a"]),
        ):
            with pytest.raises(InputError, match="keeps no previous versions"):
                refused()
        with archive._file.database.write() as connection:
            assert connection.execute("SELECT count(*) FROM versions").fetchone() == (0,)
            assert connection.execute("SELECT count(*) FROM documents WHERE valid_from NOT NULL").fetchone() == (0,)
    with pytest.raises(InputError, match="history"):
        Settings(history="yes")  # type: ignore[arg-type]


def test_sync_keeps_versions_of_files(tmp_path: Path, folder: Path, now: Now) -> None:
    (folder / "boiler.md").write_text("The boiler was repaired by Ines.")
    (folder / "tea.md").write_text("Tea is at four.")
    with opened(tmp_path / "a.mono", now) as archive:
        archive.sync(folder)
        now[0] += 10
        (folder / "boiler.md").write_text("The boiler was replaced by Otto, who is new here.")
        (folder / "tea.md").unlink()
        archive.sync(folder)
        now[0] += 10
        archive.sync(folder)
        past = archive.as_of(START + 5)
        assert sorted(one.uri for one in past.documents()) == ["texts/boiler.md", "texts/tea.md"]
        assert past.document("texts/boiler.md").text == "The boiler was repaired by Ines."
        assert [one.valid for one in archive.versions("texts/tea.md")] == [Valid(START, START + 10)]
        periods = [one.valid for one in archive.versions("texts/boiler.md")]
        assert periods == [Valid(START, START + 10), Valid(START + 10)]
        now[0] += 10
        (folder / "boiler.md").write_text("There is no boiler.")
        archive.sync(folder, forget=True)
        assert [one.valid for one in archive.versions("texts/boiler.md")] == [Valid(START + 30)]
        assert archive.check() == []
        assert archive.versions("texts/tea.md")
        assert archive.files.remove("texts", forget=True).removed == 2
        for name in ("texts/tea.md", "texts/boiler.md"):
            with pytest.raises(NotFound):
                archive.versions(name)


def test_tree_summarizes_current_versions_only(tmp_path: Path, now: Now) -> None:
    with opened(tmp_path / "a.mono", now, summarizer=ExtractiveSummarizer()) as archive:
        archive.add([Document(f"Ordinary note {n} about tea and the garden of Dora.", id=f"n{n}") for n in range(20)])
        archive.add([Document("The Lighthouse keeper Zanzibar hid emeralds in Calder.", id="z")])
        now[0] += 10
        archive.remove(["z"])
        summaries = archive.search("Zanzibar emeralds Calder note", 50, how="tree")
        assert summaries
        assert "Zanzibar" not in repr(summaries) + repr(archive.tree.outline(layers=9))
        past = archive.as_of(START + 5)
        assert "Zanzibar" in repr(past.search("Zanzibar emeralds", 50, how="tree"))
        assert past.context("Zanzibar emeralds").citations


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.mono"


@pytest.fixture(params=[False])
def secretive(path: Path, now: Now, request: pytest.FixtureRequest) -> Iterator[Monograph]:
    """A document that once held a secret, one that holds one still, and one that did until it was removed.

    The parameter is whether the file always forgets.
    """
    with opened(path, now) as archive:
        archive.files.always_forget = request.param
        archive.add([Document(f"Ordinary note {n} about gardens and bicycles.", id=f"n{n}") for n in range(30)])
        for name in ("edited", "held", "gone"):
            text = f"{SECRET} It is {name}."
            archive.add([Document(text, id=name, title="Zanzibar file", metadata={"k": "kumquat"})])
        now[0] += 10
        archive.add([Document("Nothing is told here.", id="edited")])
        archive.add([Document(f"{SECRET} It is held once more.", id="held", uri="/emerald")])
        archive.remove(["gone"])
        now[0] += 10
        yield archive


def test_forgetting_a_document_forgets_its_versions(path: Path, secretive: Monograph) -> None:
    past = secretive.as_of(START + 5)
    assert past.search("emeralds", how="lexical")
    secretive.remove(["edited"], forget=True)
    assert has_traces(path)
    with pytest.raises(ClosedFile, match="forgotten after this snapshot"):
        past.search("emeralds", how="lexical")
    secretive.remove(["held", "gone"], forget=True)
    assert has_traces(path) == []
    assert secretive.as_of(START + 5).search("emeralds", how="lexical") == []
    assert secretive.as_of(START + 5).stats().documents == 30
    assert secretive.stats().memo_unused == 0
    assert secretive.check() == []
    with pytest.raises(NotFound):
        secretive.remove(["gone"], forget=True)


def test_previous_versions_alone_can_be_forgotten(path: Path, secretive: Monograph, now: Now) -> None:
    assert secretive.forget_versions(before=START + 9) == 0
    assert secretive.forget_versions(["edited", "nothing"], before=START + 10) == 1
    assert [one.valid for one in secretive.versions("edited")] == [Valid(START + 10)]
    secretive.add([Document("Nothing.", id="held")])
    now[0] += 10
    assert has_traces(path)
    assert secretive.forget_versions(before=now[0]) == 3
    assert has_traces(path) == []
    assert secretive.document("held").text == "Nothing."
    assert secretive.as_of(START + 5).stats().documents == 30
    with pytest.raises(InputError, match="neither"):
        secretive.forget_versions()
    assert secretive.check() == []


@pytest.mark.parametrize("secretive", [True], indirect=True)
def test_always_forget_keeps_no_version(path: Path, secretive: Monograph) -> None:
    assert [len(secretive.versions(name)) for name in ("edited", "held")] == [1, 1]
    secretive.remove(["held"])
    assert has_traces(path) == []


def test_rebuild_embeds_previous_versions_once(archive: Monograph) -> None:
    other = HashEmbedder(16)
    archive.vectors.rebuild(other)
    for embedded in (2, 0):
        archive.compact()
        del other.texts[:]
        assert archive.as_of(START + 5).search("repaired", 1, how="dense")[0].chunk.document_id == "boiler"
        assert len([text for text in other.texts if "repaired" in text or "Tea is" in text]) == embedded
    assert archive.check() == []


DAMAGE = {
    "UPDATE versions SET text = 'Another thing, as long as it was', valid_until = valid_until WHERE id = 'boiler'": False,
    "UPDATE versions SET valid_from = valid_from - 1000000": False,
    "UPDATE versions SET checksum = checksum + 1": False,
    "UPDATE version_chunks SET start = 3": False,
    "INSERT INTO version_chunks VALUES (99, 0, 'x', 0, 1, '{}', NULL, NULL)": True,
    "UPDATE version_chunks SET vector = 9999": True,
    "UPDATE version_chunks SET extraction = 9999": True,
    "UPDATE documents SET valid_from = NULL": False,
    "UPDATE documents SET valid_from = valid_from - 65536": False,
    "UPDATE documents SET valid_from = 5": False,
    "UPDATE documents SET valid_until = 5": True,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_check_finds_damaged_versions(archive: Monograph, damage: str) -> None:
    assert archive.check() == []
    with archive._file.database.write() as connection:
        connection.execute(damage)
    faults = archive.check()
    assert faults
    assert [one.repairable for one in faults] == [DAMAGE[damage]] * len(faults)
    left = archive.check(repair=True)
    assert bool(left) != DAMAGE[damage]
    assert all("--versions-before" in one.hint or one.table == "documents" for one in left)
    if DAMAGE[damage]:
        assert archive.as_of(START + 25).document("boiler").text == "The boiler was replaced by Otto."


def test_unreadable_version_raises_damaged_file(archive: Monograph) -> None:
    with archive._file.database.write() as connection:
        connection.execute("UPDATE versions SET metadata = '{'")
    with pytest.raises(DamagedFile, match="row 1 of versions cannot be read"):
        archive.as_of(START + 5)
    with pytest.raises(DamagedFile, match="row 1 of versions cannot be read"):
        archive.document("boiler", as_of=START + 5)
    assert archive.search("boiler", 1)[0].text == "The boiler was replaced by Otto."


def test_graph_built_later_covers_previous_versions(tmp_path: Path, now: Now) -> None:
    with opened(tmp_path / "a.mono", now, settings=replace(HISTORY, graph=False)) as archive:
        archive.add([Document("The boiler was repaired by Ines.", id="boiler")])
        now[0] += 10
        archive.add([Document("The boiler was replaced by Otto.", id="boiler")])
        for one in (archive, archive.as_of(START + 5)):
            with pytest.raises(InputError, match="has no graph"):
                one.graph.entities(9)
        archive.graph.build()
        assert sorted(one.name for one in archive.graph.entities(9)) == ["Otto", "The"]
        assert sorted(one.name for one in archive.as_of(START + 5).graph.entities(9)) == ["Ines", "The"]


def test_snapshot_has_current_assertions_of_its_documents(archive: Monograph) -> None:
    assert configuration.identity(archive.as_of(START + 5)._file.database) == archive.stats().id
    archive.graph.add([AssertedNode("stove", "Thing", origins=("boiler",))])
    assert list(archive.as_of(START + 15).graph.assertions().nodes) == ["stove"]
    assert not archive.as_of(START + 5).graph.assertions().nodes


def test_agents_and_frameworks_accept_as_of(archive: Monograph) -> None:
    then = datetime.fromtimestamp(START + 5, UTC).isoformat()
    now, before = "The boiler was replaced by Otto.", "The boiler was repaired by Ines."
    tools = pytest.importorskip("monograph_tools.tools", reason="an extra is not installed")
    assert tools.Reading(archive).search("boiler", 1).hits[0].text == now
    assert tools.Reading(archive).search("boiler", 1, as_of=then).hits[0].text == before
    llama_index = pytest.importorskip("llama_index.retrievers.monograph", reason="an extra is not installed")
    (node,) = llama_index.HybridRetriever(archive, similarity_top_k=1, as_of=then).retrieve("boiler")
    assert node.text == before
    langchain = pytest.importorskip("langchain_monograph", reason="an extra is not installed")
    (document,) = langchain.HybridRetriever(monograph=archive, k=1, as_of=then).invoke("boiler")
    assert document.page_content == before


@pytest.fixture
def of_folder(tmp_path: Path, folder: Path) -> Path:
    """A file of a folder in which a text was changed, and one removed, long after they came."""
    path = tmp_path / "notes.mono"
    (folder / "boiler.md").write_text("The boiler was repaired by Ines.")
    (folder / "tea.md").write_text("Tea is at four with Bert.")
    with Monograph.open(path, settings=Settings(history=True), clock=lambda: START) as archive:
        archive.sync(folder)
    (folder / "boiler.md").write_text("The boiler was replaced by Otto, who is new.")
    (folder / "tea.md").unlink()
    assert "1 changed" in run("sync", path, folder)
    return path


@pytest.mark.long
def test_commands_accept_as_of(of_folder: Path, folder: Path, tmp_path: Path) -> None:
    then = ("--as-of", "2023-11-14")
    assert "Ines" not in run("search", of_folder, "Who repaired the boiler?")
    said = run("search", of_folder, "Who repaired the boiler?", *then)
    assert "Ines" in said
    assert "as it was 2023-11-14T22:13:20Z to 20" in said
    assert "Ines" in run("ask", of_folder, "Who repaired the boiler?", *then)
    assert json.loads(run("stats", of_folder, *then, "--json"))["documents"] == 2
    assert "valid 2023-11-14T22:13:20Z to 20" in run("show", of_folder, "texts/boiler.md", *then)
    assert "Bert" in run("show", of_folder, "texts/tea.md", *then)
    assert run("show", of_folder, "texts/boiler.md", "--versions").count("2023-11-14T22:13:20Z") == 1
    assert "not a time" in run("search", of_folder, "boiler", "--as-of", "then", code=2)
    assert "0 previous versions" in run("forget", of_folder, "--versions-before", "2023")
    assert "1 previous versions" in run("forget", of_folder, "texts/tea.md", "--versions-before", "2100")
    assert json.loads(run("forget", of_folder, "--versions-before", "2100", "--json")) == {"forgotten": 1}
    assert "--versions-before" in run("forget", of_folder, code=2)
    run("sync", tmp_path / "new.mono", folder, "--history")
    with Monograph.open(tmp_path / "new.mono", create=False) as archive:
        assert archive.settings.history


def test_http_api_accepts_as_of(of_folder: Path) -> None:
    pytest.importorskip("fastapi", reason="an extra is not installed")
    from support.api_server import serving

    with (
        Monograph.open(of_folder, create=False) as archive,
        serving({"notes": archive, "then": archive.as_of("2023-11-14")}, write=True) as client,
    ):
        for asked in ({"file": "notes", "as_of": "2023-11-14"}, {"file": "then"}):
            reply = client.get("/search", q="Who repaired the boiler?", **asked)
            hit = reply.json["files"][0]["hits"][0]["hit"]
            assert "Ines" in hit["chunk"]["text"]
            assert hit["valid"]["since"] == START
        assert "Ines" not in client.get("/search", q="Who repaired the boiler?", file="notes").body.decode()
        assert client.get("/settings").status == 200
        assert len(client.get("/documents", file="then").json["documents"]) == 2
        assert client.get("/document", file="then", id="texts/tea.md").json["valid"]["since"] == START
        refused = client.post("/remove", file="then", ids=["texts/tea.md"])
        assert refused.status == 400
        assert refused.json["kind"] == "OutsideView"


def test_clock_far_ahead_is_refused(tmp_path: Path) -> None:
    now = [START]
    with Monograph.open(tmp_path / "x.mono", settings=Settings(history=True), clock=lambda: now[0]) as archive:
        archive.add([Document("A comet.", id="a")])
        for ahead in (datetime(9999, 1, 1, tzinfo=UTC).timestamp(), time.time() + 2 * 86_400):
            now[0] = int(ahead)
            with pytest.raises(InputError, match="more than a day ahead"):
                archive.add([Document("Another comet.", id="a")])
        now[0] = START + 10 * 86_400  # The file lay unused for days.
        archive.add([Document("A third comet.", id="a")])
        now[0] = int(time.time()) + 80_000
        archive.add([Document("A fourth comet.", id="a")])
        # A file that is ahead already goes on.
        now[0] += 80_000
        archive.add([Document("A fifth comet.", id="a")])
        assert archive.document("a").text == "A fifth comet."
