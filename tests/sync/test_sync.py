"""Sync of folders, files and documents: plans, reports and bad input."""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monograph import Document, Limits, Monograph, Passage, Settings
from monograph.errors import InvalidDocument, NotFound, SourceMissing
from support.models import HashEmbedder
from support.properties import examples
from support.unprivileged import run_unprivileged

PARAGRAPH = (
    "The keeper of the {n}th lighthouse wrote {n} letters about storms. He numbered each of them with care. " * 4
)


def write(path: Path, text: str) -> Path:
    """Write a text under a time of change that surely differs from the last."""
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text, encoding="utf-8")
    if path.stat().st_mtime_ns == before:
        os.utime(path, ns=(before + 1, before + 1))
    return path


def snapshot(monograph: Monograph) -> list[tuple[str, str, list[tuple[str, str, int, int]]]]:
    """All that a file holds, in an order of its own."""
    return [
        (document.id, monograph.document(document.id).text,
         [(chunk.id, chunk.text, chunk.start, chunk.end) for chunk in monograph.chunks(document.id)])
        for document in monograph.documents()
    ]  # fmt: skip


def kinds(monograph: Monograph, folder: Path, verify: bool = False) -> dict[str, str]:
    plan = monograph.files.plan(folder, price=False, verify=verify)
    return {Path(change.uri).name: change.kind for change in plan.changes}


def test_plan_lists_changes(monograph: Monograph, folder: Path) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        write(folder / name, f"text of {name}")
    assert kinds(monograph, folder) == {"a.txt": "new", "b.txt": "new", "c.txt": "new"}
    report = monograph.sync(folder)
    assert (report.added, report.embedded, report.problems) == (3, 3, ())
    write(folder / "a.txt", "another text")
    (folder / "b.txt").unlink()
    os.utime(folder / "c.txt", ns=(1, 1))
    write(folder / "d.txt", "a fourth")
    assert kinds(monograph, folder) == {"a.txt": "changed", "b.txt": "gone", "c.txt": "same", "d.txt": "new"}
    report = monograph.sync(folder)
    assert (report.added, report.changed, report.removed, report.same, report.embedded) == (1, 1, 1, 1, 2)
    plan = monograph.files.plan(folder)
    assert [change.touched for change in plan.changes] == [False] * 3
    assert plan.cost is not None
    assert plan.cost.embeddings == 0


def test_verify_finds_a_change_of_equal_size_and_time(monograph: Monograph, folder: Path) -> None:
    path = write(folder / "a.txt", "red car")
    monograph.sync(folder)
    state = path.stat()
    path.write_text("big bus")
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert kinds(monograph, folder) == {"a.txt": "same"}
    assert kinds(monograph, folder, verify=True) == {"a.txt": "changed"}
    assert monograph.sync(folder, verify=True).changed == 1
    assert monograph.search("bus", how="lexical")[0].chunk.text == "big bus"


def test_planned_price_equals_the_cost(monograph: Monograph, folder: Path) -> None:
    for number in range(12):
        write(folder / f"{number}.txt", "\n\n".join(PARAGRAPH.format(n=n) for n in range(number, number + 9)))
    write(folder / "twin.txt", (folder / "0.txt").read_text())
    plan = monograph.files.plan(folder)
    report = monograph.files.apply(plan)
    assert plan.cost is not None
    assert plan.cost.documents == report.added == 13
    assert plan.cost.chunks == report.chunks_added
    assert plan.cost.embeddings == report.embedded > 0
    assert plan.cost.embedding_tokens > 0
    assert plan.cost.model_calls == 0


def test_planning_writes_nothing(monograph: Monograph, folder: Path) -> None:
    write(folder / "a.txt", "text")
    before = snapshot(monograph), monograph.stats()
    monograph.files.plan(folder)
    assert (snapshot(monograph), monograph.stats()) == before


def test_an_edit_embeds_only_the_chunks_that_changed(tmp_path: Path, folder: Path) -> None:
    embedder = HashEmbedder()
    paragraphs = [PARAGRAPH.format(n=n) for n in range(300)]
    path = write(folder / "long.txt", "\n\n".join(paragraphs))
    with Monograph.open(tmp_path / "x.mono", embedder) as monograph:
        chunks = monograph.sync(folder).chunks_added
        assert chunks > 100
        embedder.texts.clear()
        paragraphs[150] = "Nothing was written that year. The lamp was dark."
        write(path, "\n\n".join(paragraphs))
        report = monograph.sync(folder)
        assert report.embedded == len(embedder.texts) == report.chunks_added
        assert 1 <= report.embedded <= 6
        assert monograph.check() == []
        assert "lamp was dark" in monograph.search("lamp dark", 1, how="lexical")[0].chunk.text


def test_nothing_is_embedded_twice(tmp_path: Path, folder: Path) -> None:
    embedder = HashEmbedder()
    write(folder / "one.txt", "the same words")
    write(folder / "sub/one.txt", "the same words")
    with Monograph.open(tmp_path / "x.mono", embedder) as monograph:
        assert monograph.sync(folder).embedded == 1
        assert monograph.stats().chunks == 2
        (folder / "one.txt").rename(folder / "sub/one (2).txt")
        monograph.sync(folder)
        text = (folder / "sub/one.txt").read_text()
        write(folder / "sub/one.txt", "other words")
        monograph.sync(folder)
        write(folder / "sub/one.txt", text)
        assert monograph.sync(folder).embedded == 0
    assert len(embedder.texts) == len(set(embedder.texts))


def test_renamed_file_embeds_nothing(tmp_path: Path, folder: Path) -> None:
    embedder = HashEmbedder()
    write(folder / "draft.txt", "The keeper wrote about storms. " * 200)
    write(folder / "plan.csv", "ship,men\n" + "\n".join(f"ship {n},{n}" for n in range(10_050)))
    write(folder / "other.txt", "The keeper wrote about storms. " * 200)
    with Monograph.open(tmp_path / "x.mono", embedder, settings=Settings(chunk_tokens=2048)) as monograph:
        monograph.sync(folder)
        embedded = len(embedder.texts)
        (folder / "deep").mkdir()
        (folder / "draft.txt").rename(folder / "deep/Report on storms.txt")
        (folder / "plan.csv").rename(folder / "fleet.csv")
        plan = monograph.files.plan(folder)
        assert plan.cost is not None
        assert plan.cost.embeddings == 0
        report = monograph.sync(folder)
        assert (report.added, report.removed, report.embedded) == (3, 3, 0)
        titles = {one.title for one in monograph.documents()}
        assert titles == {"Report on storms", "other", "fleet", "fleet, from row 10,002"}
        assert monograph.search("report", how="lexical")[0].title == "Report on storms"
        (folder / "fleet.csv").rename(folder / "plan.csv")
        assert monograph.sync(folder).embedded == 0
        assert monograph.check() == []
        # No chunk: only the new titles, as names in the graph.
        assert max(map(len, embedder.texts[embedded:])) <= max(map(len, titles))
        # A copy is no rename: it is embedded under its own name.
        shutil.copy(folder / "other.txt", folder / "copy.txt")
        assert monograph.sync(folder).embedded > 0


def test_json_lines_are_documents_of_their_own(monograph: Monograph, folder: Path) -> None:
    rows = [
        {"id": f"r{n}", "title": f"T{n}", "text": f"row number {n} of the ledger", "metadata": {"n": n}}
        for n in range(5)
    ]
    path = write(folder / "rows.jsonl", "\n".join(map(json.dumps, rows)))
    assert monograph.sync(folder).added == 5
    assert monograph.search("ledger", how="lexical", where={"n": {">=": 3}}, k=9)[0].metadata["n"] in (3, 4)
    rows[2]["text"] = "changed"
    write(path, "\n".join(map(json.dumps, [*rows[1:], {"id": "r9", "text": "new row"}])) + "\nnot json\n")
    report = monograph.sync(folder)
    assert (report.added, report.changed, report.removed, report.same, report.embedded) == (1, 1, 1, 3, 2)
    assert [problem.uri for problem in report.problems] == [f"{folder.name}/{path.name}:6"]
    assert monograph.check() == []


def test_second_file_with_a_taken_id_is_reported(monograph: Monograph, folder: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        write(folder / name, json.dumps({"id": "same", "text": f"from {name}"}))
    report = monograph.sync(folder)
    assert report.added == 1
    assert "taken" in report.problems[0].reason
    (folder / "a.jsonl").unlink()
    report = monograph.sync(folder)
    assert (report.removed, report.added, report.problems) == (1, 1, ())
    assert monograph.document("same").text == "from b.jsonl"


def test_a_part_that_failed_is_read_again_though_the_last_one_was_stored(monograph: Monograph, folder: Path) -> None:
    write(folder / "a.jsonl", json.dumps({"id": "same", "text": "from a"}))
    long = [{"id": f"r{n}", "text": f"row {n} " + "of many words " * 2_000} for n in range(20)]
    write(folder / "b.jsonl", "\n".join(map(json.dumps, [{"id": "same", "text": "from b"}, *long])))
    report = monograph.sync(folder)
    assert (report.added, len(report.problems)) == (21, 1)
    assert len(monograph.sync(folder).problems) == 1
    (folder / "a.jsonl").unlink()
    report = monograph.sync(folder)
    assert (report.removed, report.added, report.same, report.problems) == (1, 1, 20, ())
    assert monograph.document("same").text == "from b"
    assert monograph.sync(folder).same == 1


def test_bad_files_are_problems_in_the_report(monograph: Monograph, folder: Path, tmp_path: Path) -> None:
    write(folder / "good.txt", "a good text")
    write(folder / "empty.txt", "")
    write(folder / "blank.txt", " \n\t\n")
    (folder / "binary.txt").write_bytes(bytes(range(256)) * 10)
    (folder / "paper.pdf").write_bytes(b"%PDF-1.7 ...")
    (folder / "broken.txt").write_bytes("schöne Grüße ".encode() * 20 + b"\xff and more")
    os.mkfifo(folder / "pipe")
    (folder / "nowhere").symlink_to(tmp_path / "missing")
    (folder / "loop").symlink_to(folder)
    with (folder / "huge.txt").open("wb") as file:
        file.truncate(200_000_000)
    report = monograph.sync(folder)
    named = {Path(problem.uri).name: problem.reason for problem in report.problems}
    assert set(named) == {
        "empty.txt",
        "blank.txt",
        "binary.txt",
        "paper.pdf",
        "broken.txt",
        "nowhere",
        "loop",
        "huge.txt",
    }
    assert "200,000,000" in named["huge.txt"]
    assert "PDF" in named["paper.pdf"]
    assert report.added == 2  # good.txt, and what can be read of broken.txt
    assert monograph.check() == []
    assert monograph.sync(folder).embedded == 0


def test_sync_applies_the_limits_of_the_caller(monograph: Monograph, folder: Path) -> None:
    write(folder / "a.txt", "x " * 1000)
    assert monograph.sync(folder, limits=Limits(max_bytes=100)).problems[0].hint == "give --max-bytes 2000"
    assert monograph.sync(folder).added == 1


@pytest.mark.parametrize("name", ["two\nlines.txt", "émoji 🦉.txt", "semi;colon'quote\".txt", "-rf.txt", "%s{0}.txt"])
def test_unusual_file_names_are_synced(monograph: Monograph, folder: Path, name: str) -> None:
    write(folder / name, "owls are awake")
    assert monograph.sync(folder).added == 1
    hit = monograph.search("owls", how="lexical")[0]
    assert hit.uri == f"{folder.name}/{name}"
    assert hit.metadata["path"] == name
    (folder / name).unlink()
    assert monograph.sync(folder, prune=True).removed == 1


def test_file_name_that_is_not_utf8_is_synced(monograph: Monograph, folder: Path) -> None:
    path = os.fsencode(folder) + b"/caf\xe9.txt"
    with open(path, "w") as file:
        file.write("coffee is served")
    assert monograph.sync(folder).added == 1
    assert monograph.sync(folder).same == 1
    os.unlink(path)
    assert monograph.sync(folder, prune=True).removed == 1


def test_emptied_folder_is_not_removed_without_confirmation(monograph: Monograph, folder: Path) -> None:
    write(folder / "a.txt", "text")
    monograph.sync(folder)
    (folder / "a.txt").unlink()
    report = monograph.sync(folder)
    assert report.removed == 0
    assert "empty now" in report.problems[0].reason
    assert monograph.sync(folder, prune=True).removed == 1


def test_empty_folder_is_synced_and_missing_one_refused(monograph: Monograph, folder: Path) -> None:
    report = monograph.sync(folder)
    assert (report.added, report.problems) == (0, ())
    with pytest.raises(SourceMissing, match="missing"):
        monograph.sync(folder / "missing")


def test_documents_of_an_inaccessible_folder_are_kept(folder: Path, tmp_path: Path) -> None:
    write(folder / "open/a.txt", "text a")
    write(folder / "closed/b.txt", "text b")
    path = tmp_path / "x.mono"
    with Monograph.open(path) as monograph:
        monograph.sync(folder)

    def plan_again() -> int:
        with Monograph.open(path) as monograph:
            plan = monograph.files.plan(folder, price=False)
        return 10 * len(plan.of("gone")) + len(plan.problems)

    (folder / "closed").chmod(0o000)
    try:
        assert run_unprivileged(plan_again) == 1
    finally:
        (folder / "closed").chmod(0o755)


def test_document_of_an_unreadable_file_is_kept(monograph: Monograph, folder: Path) -> None:
    path = write(folder / "a.txt", "precious words")
    write(folder / "b.txt", "others")
    monograph.sync(folder)
    path.write_bytes(b"\x00\x01\x02" * 100)
    report = monograph.sync(folder)
    assert len(report.problems) == 1
    assert monograph.search("precious", how="lexical")


def test_single_file_is_synced(monograph: Monograph, folder: Path) -> None:
    path = write(folder / "a.txt", "alone")
    write(folder / "b.txt", "not asked for")
    assert monograph.sync(path).added == 1
    assert monograph.sync(folder).added == 1
    assert monograph.sync(path).removed == 0


def test_documents_from_a_caller_are_synced(monograph: Monograph) -> None:
    documents = [Document(f"text {n}", id=f"my/{n}", metadata={"n": n, "tags": ["a", "b"]}) for n in range(3)]
    assert monograph.add(documents).added == 3
    assert monograph.add(documents).same == 3
    report = monograph.add([Document("text 1, edited", id="my/1")])
    assert (report.changed, report.chunks_added, report.chunks_removed) == (1, 1, 1)
    assert monograph.document("my/1").text == "text 1, edited"
    with pytest.raises(NotFound, match="'nope'"):
        monograph.remove(["my/0", "nope"])
    assert len(monograph.documents()) == 3
    assert monograph.remove(["my/0", "my/2"]).removed == 2
    assert monograph.check() == []


def test_bad_documents_from_a_caller_are_refused(monograph: Monograph) -> None:
    with pytest.raises(InvalidDocument, match="not JSON"):
        Document("x", metadata={"when": object()})
    with pytest.raises(InvalidDocument, match="not JSON"):
        Document("x", metadata={"n": float("nan")})
    deep: dict[str, object] = {}
    for _ in range(100_000):
        deep = {"k": deep}
    with pytest.raises(InvalidDocument, match="not JSON"):
        Document("x", metadata=deep)
    with pytest.raises(InvalidDocument, match="surrogate"):
        Document("half \ud83d of a pair", id="bad")
    with pytest.raises(InvalidDocument, match="half|surrogate"):
        Document("x", metadata={"half": "\ud83d"})
    assert monograph.documents() == []
    with pytest.raises(InvalidDocument, match="two chunks with the same id"):
        monograph.add([Document(id="d", passages=(Passage("a", id="1"), Passage("b", id="1")))])
    monograph.add([Document(id="d", passages=(Passage("a", id="1"),))])
    with pytest.raises(InvalidDocument, match="belongs to another"):
        monograph.add([Document(id="e", passages=(Passage("b", id="1"),))])
    with pytest.raises(InvalidDocument, match="empty"):
        monograph.add([Document(id="f", passages=(Passage(" "),))])
    assert [document.id for document in monograph.documents()] == ["d"]


def test_passages_from_a_caller_are_synced(monograph: Monograph) -> None:
    vector = np.zeros(256, dtype=np.float32)
    vector[7] = 3.0
    passages = (
        Passage("first passage", id="p/1", metadata={"page": 1}, vector=vector),
        Passage("second passage", id="p/2", metadata={"page": 2, "lang": "xx"}),
    )
    report = monograph.add([Document(id="doc", passages=passages, metadata={"lang": "en", "who": "me"})])
    assert (report.chunks_added, report.embedded) == (2, 1)
    assert monograph.document("doc").text == "first passage\n\nsecond passage"
    chunks = monograph.chunks("doc")
    assert [(chunk.id, chunk.text) for chunk in chunks] == [("p/1", "first passage"), ("p/2", "second passage")]
    hit = monograph.search("second", 1, how="lexical")[0]
    assert hit.metadata == {"page": 2, "lang": "xx", "who": "me"}
    assert [one.chunk.id for one in monograph.search("passage", how="lexical", where={"lang": "en"})] == ["p/1"]
    for wrong in (np.ones(3, dtype=np.float32), np.full(256, np.nan, dtype=np.float32)):
        with pytest.raises(InvalidDocument, match="p/3"):
            monograph.add([Document(id="doc3", passages=(Passage("third", id="p/3", vector=wrong),))])
    changed = monograph.add([Document(id="doc", passages=(Passage("other words", id="p/1"), passages[1]))])
    assert (changed.chunks_added, changed.chunks_removed) == (1, 1)
    assert monograph.search("other words", 1, how="lexical")[0].chunk.id == "p/1"
    assert monograph.check() == []


def test_a_new_title_is_searched_and_the_old_one_is_not(monograph: Monograph, folder: Path) -> None:
    path = write(folder / "a.md", "# Zeppelin\n\nA text of its own.")
    monograph.sync(folder)
    assert monograph.search("zeppelin", how="lexical")
    write(path, "# Aeroplane\n\nA text of its own.")
    monograph.sync(folder)
    assert monograph.search("zeppelin", how="lexical") == []
    assert monograph.search("aeroplane", how="lexical")
    assert monograph.check() == []


WORDS = [f"word{n}" for n in range(40)]
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=120).map(
    lambda words: ". ".join(words).replace("word7. ", "\n\n")
)
STEPS = st.lists(
    st.tuples(st.sampled_from(["write", "write", "delete", "rename"]), st.integers(0, 5), TEXTS),
    min_size=1,
    max_size=12,
)


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_incremental_equals_fresh(tmp_path: Path, steps: list[tuple[str, int, str]]) -> None:
    work = tmp_path / f"{time.time_ns()}"
    texts = work / "texts"
    write(texts / "anchor.txt", "always here")
    with Monograph.open(work / "grown.mono", HashEmbedder()) as grown:
        for kind, number, text in steps:
            path = texts / f"{number}.md"
            if kind == "write":
                # Titled by a heading: under a title that is its name, a renamed file keeps the vectors of the old one.
                write(path, f"# Words\n\n{text}")
            elif path.exists() and kind == "delete":
                path.unlink()
            elif path.exists():
                path.rename(texts / f"{(number + 1) % 6}.md")
            grown.sync(texts, verify=True)
        assert grown.check() == []
        with Monograph.open(work / "fresh.mono", HashEmbedder()) as fresh:
            fresh.sync(texts)
            assert snapshot(grown) == snapshot(fresh)
            for how in ("lexical", "dense", "hybrid"):
                query = " ".join(random.Random(len(steps)).sample(WORDS, 3))
                found = [
                    {(hit.chunk.id, round(hit.score, 4)) for hit in one.search(query, 100, how=how)}
                    for one in (grown, fresh)
                ]
                assert found[0] == found[1]
