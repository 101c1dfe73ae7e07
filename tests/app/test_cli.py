"""Commands for syncing, searching, the graph and maintenance."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from support.forks import COMMAND_LINE, Forks
from support.raw_sql import connected

NO_NETWORK = """
import sys
def refuse(event, arguments):
    if event.startswith("socket."):
        raise RuntimeError(f"{event} {arguments}")
sys.addaudithook(refuse)
"""
COMMANDS = Forks(f"{NO_NETWORK}\n{COMMAND_LINE}", "main()")


def run(*arguments: object, code: int = 0) -> str:
    """Run a command without network, check its exit code, and return its output; for code 0 or 3 only stdout."""
    done = COMMANDS.run("monograph", *arguments)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if code in (0, 3) else done.stdout + done.stderr


@pytest.fixture
def texts(folder: Path) -> Path:
    (folder / "boiler.md").write_text(
        "# Boiler\n\n## Service\n\nThe boiler is serviced every October by Mrs Grubb.\n\n## Parts\n\nValve V-77."
    )
    (folder / "garden.txt").write_text("The apple tree was planted in 1987. It bears fruit in autumn.")
    (folder / "rows.jsonl").write_text('{"id": "r1", "text": "Invoice INV-2024 is paid.", "metadata": {"year": 2024}}')
    return folder


@pytest.fixture
def file(texts: Path, tmp_path: Path) -> Path:
    path = tmp_path / "notes.mono"
    assert "3 added" in run("sync", path, texts)
    return path


def test_sync_command_and_dry_run_report_changes(texts: Path, tmp_path: Path) -> None:
    path = tmp_path / "n.mono"
    printed = run("sync", path, texts, "--dry-run")
    assert "3 new" in printed
    assert "3 embeddings" in printed
    assert json.loads(run("sync", path, texts, "--json"))["added"] == 3
    assert "files 3 unchanged" in run("sync", path, texts)
    (texts / "empty.txt").touch()
    report = json.loads(run("sync", path, texts, "--json", code=3))
    assert [Path(one["uri"]).name for one in report["problems"]] == ["empty.txt"]
    assert json.loads(run("sync", path, texts, "--dry-run", "--json"))["cost"]["embeddings"] == 0


def test_search_command_prints_hits(file: Path, texts: Path) -> None:
    printed = run("search", file, "who services the boiler?", "-k", 1, "--explain")
    assert printed.startswith("1. Boiler\n")
    assert f"{texts.name}/boiler.md" in printed
    assert "Mrs Grubb" in printed
    assert "lexical #1" in printed
    hits = json.loads(run("search", file, "INV-2024", "--json", "-k", 2))
    assert hits[0]["chunk"]["document_id"] == "r1"
    assert hits[0]["origins"][-1] == {"retriever": "exact", "rank": 0, "score": 1.0, "effort": None}
    filtered = json.loads(run("search", file, "tree", "--json", "-w", "year >= 2000", "-w", '{"year": {"<": 2030}}'))
    assert [hit["chunk"]["document_id"] for hit in filtered] == ["r1"]
    assert run("search", file, "zebra", "--how", "lexical").strip() == "nothing found"


@pytest.mark.long
def test_search_command_says_that_hits_are_irrelevant(file: Path) -> None:
    printed = run("search", file, "zebra quantum", "-n", 2)
    assert printed.startswith("nothing relevant was found; the nearest passages:\n\n1. ")
    assert "\n2. " in printed
    hits = json.loads(run("search", file, "zebra quantum", "-n", 2, "--json"))
    assert len(hits) == 2
    assert hits[0]["score"] != 0
    assert hits[0]["origins"][0]["retriever"] == "dense"  # The query has no name from which a graph search could start.
    assert run("search", file, "payment", "-k", 1).startswith("perhaps nothing relevant: ")
    for query in ("boilers", "who services the boiler?", "INV-2024", "apple"):
        assert run("search", file, query, "-k", 1).startswith("1. ")


@pytest.mark.parametrize(
    "how",
    [
        *("auto", "lexical", "dense", "graph:faithful=true"),
        *(pytest.param(how, marks=pytest.mark.long) for how in ("tfidf", "hybrid", "graph")),
    ],
)
def test_search_command_shows_raw_scores_only_with_explain(how: str, file: Path) -> None:
    raw = [f"{hit['score']:.3f}" for hit in json.loads(run("search", file, "INV-2024 boiler", "--how", how, "--json"))]
    plain, explained = (run("search", file, "INV-2024 boiler", "--how", how, *more) for more in ((), ("--explain",)))
    assert raw
    for score in raw:
        assert score not in plain
        assert f"{score} = " in explained


@pytest.fixture
def people(folder: Path, tmp_path: Path) -> Path:
    (folder / "okafor.md").write_text("# Bruno Okafor\n\nBruno Okafor met Anna Lindqvist. She wrote <b>letters</b>.")
    (folder / "hours.txt").write_text("Anna Lindqvist opens the workshop at nine.")
    path = tmp_path / "people.mono"
    run("sync", path, folder)
    return path


def test_search_command_prints_and_draws_graph_paths(people: Path, tmp_path: Path) -> None:
    question = "Whom did Bruno Okafor meet, <who> wrote?"
    printed = run("search", people, question, "-k", 1)
    assert "\n   question → Bruno Okafor\n" in printed
    explained = run("search", people, question, "-k", 1, "--explain")
    assert explained.count("question → Bruno Okafor") == 1
    page = tmp_path / "answer.html"
    hits = json.loads(run("search", people, question, "--html", page, "--json"))
    assert hits[0]["path"]["nodes"][0]["kind"] == "question"
    drawn = page.read_text("utf-8")
    assert drawn.startswith("<!doctype html>")
    assert "&lt;who&gt; wrote?" in drawn
    assert "Anna Lindqvist" in drawn
    assert "<b>letters" not in drawn
    data = json.loads(drawn.partition('<script type="application/json" id="data">')[2].partition("</script>")[0])
    assert {one["name"]: one["kind"] for one in data["entities"]} == {"Bruno Okafor": "name", "Anna Lindqvist": "name"}
    assert {one["title"] for one in data["chunks"]} == {"Bruno Okafor", "hours"}
    assert not re.search(r"[0-9a-f]{32}", json.dumps(data))
    assert "cannot write" in run("search", people, question, "--html", tmp_path / "no" / "x.html", code=2)


@pytest.mark.long
def test_graph_command_prints_and_exports_a_neighbourhood(people: Path, tmp_path: Path) -> None:
    printed = run("graph", people, "anna lindqvist")
    assert printed.startswith("Anna Lindqvist\n")
    assert "Bruno Okafor\n" in printed
    assert "texts/hours.txt" in printed
    assert not re.search(r"[0-9a-f]{32}", printed)
    assert "Bruno Okafor" in printed
    page, xml = tmp_path / "anna.html", tmp_path / "anna.graphml"
    found = json.loads(run("graph", people, "Lindqvist", "--hops", 2, "--html", page, "--graphml", xml, "--json"))
    assert found["entities"][0]["name"] == "Anna Lindqvist"
    assert len(found["chunks"]) == 2
    assert "Bruno Okafor" in page.read_text("utf-8")
    assert "Bruno Okafor" in xml.read_text("utf-8")
    command = [sys.executable, "-m", "monograph.app.cli", "graph", str(people), "Lindqvist", "--html", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == f"written: {page}\n"
    unknown = run("graph", people, "Anna Lindqwist", code=1)
    assert "contains no name like 'Anna Lindqwist'" in unknown
    assert "perhaps 'Anna Lindqvist'" in unknown
    assert json.loads(run("graph", people, "zzz", "--json", code=1))["kind"] == "NotFound"


@pytest.mark.long
def test_entities_command_lists_entities(folder: Path, tmp_path: Path) -> None:
    (folder / "a.txt").write_text("The International Telegraph Union (ITU) met Anna Lindqvist.")
    (folder / "b.txt").write_text("The ITU wrote to Anna Lindqvist.")
    file = tmp_path / "x.mono"
    run("sync", file, folder)
    listed = json.loads(run("entities", file, "lindq", "--json"))["entities"]
    assert [(one["name"], one["chunks"]) for one in listed] == [("Anna Lindqvist", 2)]
    assert len(json.loads(run("entities", file, "-k", 1, "--json"))["entities"]) == 1
    union = "International Telegraph Union"
    assert "abbreviation: stated in a" in run("entities", file, "--why")
    assert len(json.loads(run("entities", file, union, "--json"))["entities"]) == 1
    assert "(undone)" in run("entities", file, union, "--apart", "ITU")
    assert [one["names"] for one in json.loads(run("entities", file, "itu", "--json"))["entities"]] == [["ITU"]]
    assert "(undone)" in run("entities", file, union, "--why")
    assert "(undone)" not in run("entities", file, union, "--unite", "ITU")
    assert "were not kept apart" in run("entities", file, union, "--unite", "ITU", code=1)
    assert "need two names" in run("entities", file, "--apart", "x", code=2)
    assert run("check", file).strip() == "all is well"


def test_extractor_is_chosen_on_the_command_line(texts: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.mono"
    assert "unknown extractor 'magic'" in run("sync", file, texts, "--extractor", "magic", code=2)
    assert "3 extractions, 0 model calls" in run("sync", file, texts, "--dry-run", "--extractor", "pattern")
    assert "names extracted from 3 chunks; " in run("sync", file, texts, "--extractor", "pattern")
    assert json.loads(run("stats", file, "--json"))["extractor_spec"] == "pattern"
    assert json.loads(run("reextract", file, "--json"))["extracted"] == 0
    assert "extracted" not in run("reextract", file, "pattern")
    model = "llm:openai:http://127.0.0.1:9/v1#none"
    printed = run("sync", file, texts, "--extractor", model, "--api-key", "k", code=1)
    assert f"monograph reextract {file} {model}" in printed
    assert "k" not in json.loads(run("stats", file, "--json"))["extractor_spec"]


def test_show_command_prints_documents_and_chunks(file: Path, texts: Path) -> None:
    assert "garden" in run("show", file)
    assert "planted in 1987" in run("show", file, texts / "garden.txt")
    chunk = json.loads(run("search", file, "apple", "--json", "-k", 1))[0]["chunk"]["id"]
    assert "1 of 1" in run("show", file, chunk)
    assert json.loads(run("show", file, "r1", "--json"))["text"] == "Invoice INV-2024 is paid."


def test_remove_and_forget_commands_delete_documents(file: Path, texts: Path) -> None:
    assert "1 removed" in run("remove", file, texts / "garden.txt")
    assert json.loads(run("forget", file, "r1", "--json"))["removed"] == 1
    left = b"".join(one.read_bytes() for one in file.parent.glob("notes.mono*"))
    assert b"apple tree" not in left
    assert b"INV-2024" not in left
    assert "boiler" in run("search", file, "boiler")


def test_check_command_fails_where_it_finds_faults(file: Path) -> None:
    with closing(connected(file)) as connection:
        connection.execute("DELETE FROM vectors WHERE chunk = (SELECT min(chunk) FROM vectors)")
    assert "vectors" in run("check", file, code=3)
    assert json.loads(run("check", file, "--repair", "--json")) == []
    assert run("check", file).strip() == "all is well"


def test_maintenance_commands_report_their_work(file: Path) -> None:
    assert json.loads(run("stats", file, "--json"))["documents"] == 3
    assert "documents" in run("stats", file)
    assert json.loads(run("check", file, "--json")) == []
    assert json.loads(run("compact", file, "--json"))["after_bytes"] > 0
    assert json.loads(run("reembed", file, "static", "--json"))["embedded"] == 0
    assert "unknown embedder" in run("reembed", file, "magic", code=2)


@pytest.mark.long
def test_eval_command_prints_measures(tmp_path: Path) -> None:
    corpus = [
        {"id": f"d{n}", "text": f"The {word} stands in hall {n}."} for n, word in enumerate(["lathe", "press", "kiln"])
    ]
    queries = [{"id": "q", "question": "Where is the kiln?", "evidence_ids": ["d2"], "answers": ["hall 2"]}]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)))
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (tmp_path / "mine.jsonl").write_text(
        json.dumps({"id": "m", "question": "Where is the press?", "evidence_ids": ["d1"]})
    )
    printed = run("eval", tmp_path, "--how", "lexical", "--how", "hybrid", "--plot", tmp_path / "p.png")
    assert "1.000" in printed
    assert "R@5" in printed
    assert (tmp_path / "p.png").stat().st_size > 10_000
    results = json.loads(
        run("eval", tmp_path, "--how", "lexical", "--queries", tmp_path / "mine.jsonl", "--json", "-k", 1)
    )
    assert results[0]["scores"]["recall"][0] == 1.0


@pytest.mark.long
def test_real_chats_are_synced_and_searched(shared: Path, tmp_path: Path) -> None:
    from monograph.evaluate.datasets import load_dataset, write_texts

    data = shared / "data/lihuaworld"
    write_texts(load_dataset(data), tmp_path / "chats")
    path = tmp_path / "lihua.mono"
    assert "442 added" in run("sync", path, tmp_path / "chats")
    result = json.loads(run("eval", data, "--file", path, "--how", "hybrid", "--json"))[0]
    assert result["scores"]["recall"][4] >= 0.86
    assert "Wolfgang" in run("search", path, "Who meets Li Hua for lunch after the arrival in the city?")
