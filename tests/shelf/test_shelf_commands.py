"""The commands of a shelf, as people type them, and those of files on a shelf's address."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from monograph import Monograph
from monograph.app.cli import app
from monograph.app.opening import engines_of, tasks_of
from monograph.errors import InputError
from monograph.shelf.engines import local
from monograph.shelf.ray_engine import OnRay
from support.shelf_storage import bucket_server
from support.vector_server import VectorServer

RUNNER = CliRunner()
TEXTS = {
    "boiler.md": "# Boiler\n\nThe boiler is serviced every October by Mrs Grubb.",
    "garden.txt": "The apple tree was planted in 1987. It bears fruit in autumn.",
    "comet.txt": "Ines Calder found the comet in Draco. Tobias Renk sells coffee to visitors.",
    "plates.txt": "Anna Calder gave the plates to Peter Okafor in Berlin.",
    "lentils.txt": "Lentils are boiled with bay and a burnt onion.",
}


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What of a shelf is kept on this machine is kept here."""
    with pytest.MonkeyPatch.context() as patched:
        made = tmp_path_factory.mktemp("home")
        patched.setenv("HOME", str(made))
        yield made


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def shelf(texts: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A shelf of three shards, for reading."""
    url = str(tmp_path_factory.mktemp("shelf") / "texts")
    run("shelf", "build", url, texts, "--shards", 3)
    return url


@pytest.fixture(scope="module")
def file(texts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file of the same documents."""
    path = tmp_path_factory.mktemp("file") / "texts.mono"
    with Monograph.open(path) as monograph:
        monograph.sync(texts)
    return path


def run(*arguments: object, code: int = 0, said: str | None = None) -> str:
    """What a command prints, after checking its exit code."""
    done = RUNNER.invoke(app, [str(one) for one in arguments], input=said)
    assert done.exit_code == code, done.output
    return re.sub(r"\s+", " ", done.output)


def asked(*arguments: object, code: int = 0) -> Any:
    done = RUNNER.invoke(app, [*(str(one) for one in arguments), "--json"])
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


def test_a_shelf_is_built_and_brought_up_to_date(texts: Path, shelf: str, tmp_path: Path) -> None:
    url, folder = tmp_path / "built", shutil.copytree(texts, tmp_path / "texts")
    said = run("shelf", "build", url, folder, "--shards", 2, "--extractor", "pattern", "--embedder", "static")
    assert "5 added" in said
    assert "version 1 has 5 documents, 5 chunks in 2 shards" in said
    found, expected = asked("search", url, "comet"), asked("search", shelf, "comet")
    assert (
        [(one["chunk"]["text"], one["score"]) for one in found]
        == [(one["chunk"]["text"], one["score"]) for one in expected]
        != []
    )
    assert "which has no ledger of costs" in run("costs", url, code=1)
    assert "files 5 unchanged" in run("shelf", "build", url, folder)
    (folder / "boiler.md").write_text("The boiler was sold.")
    (folder / "comet.txt").unlink()
    (folder / "new.txt").write_text("The cellar was painted.")
    made = asked("shelf", "build", url, folder)
    assert (made["added"], made["changed"], made["removed"], made["same"], made["version"]) == (1, 1, 1, 3, 2)
    assert "The cellar was painted" in run("search", url, "cellar")
    made = asked("shelf", "build", url, texts, "--shards", 3, "--replace", "--max-bytes", 60, code=3)
    assert (made["added"], made["version"], len(made["problems"])) == (3, 3, 2)
    for wrong in ("rya", "ray:cpus=two", "ray:replicas=2", "local:cpus=2"):
        assert "is not an engine" in run("shelf", "build", tmp_path / "none", texts, "--engine", wrong, code=2)
    assert tasks_of("local") is None


def test_removed_documents_are_gone_after_forget(texts: Path, tmp_path: Path, home: Path) -> None:
    url = tmp_path / "new"
    run("shelf", "build", url, texts, "--shards", 2)
    assert "version 2 has 4 documents" in run("shelf", "remove", url, texts / "boiler.md")
    assert "Mrs Grubb" not in run("search", url, "boiler")
    assert any(b"Grubb" in path.read_bytes() for path in url.rglob("*.mono"))
    gone = asked("shelf", "forget", url)
    assert gone["version"] == 2
    assert gone["digests"]
    assert {one.partition("/")[0] for one in gone["removed"]} == {"versions", "objects"}
    for place in (url, home / ".cache" / "monograph"):
        assert not [path for path in place.rglob("*.mono") if path.stem in gone["digests"]]
    assert not [path for path in url.rglob("*.mono") if b"Grubb" in path.read_bytes()]
    assert "0 older versions and 0 objects removed" in run("shelf", "forget", url)
    assert "has no document" in run("shelf", "remove", url, "nothing", code=1)


def test_shelf_stats_lists_its_contents(shelf: str) -> None:
    found = asked("shelf", "stats", shelf)
    assert (found["shards"], found["documents"], sum(found["documents_by_shard"])) == (3, 5, 5)
    printed = run("shelf", "stats", shelf)
    assert f"version {found['version']} " in printed
    assert "embedder wordllama" in printed
    assert "all is well" in run("shelf", "check", shelf)
    (hit,) = asked("search", shelf, "comet", "-k", 1)
    for name in (hit["chunk"]["document_id"], hit["uri"]):
        assert "Ines Calder found the comet" in run("shelf", "show", shelf, name)
        assert asked("shelf", "show", shelf, name)["text"] == TEXTS["comet.txt"]
    assert asked("shelf", "show", shelf, "nothing", code=1)["kind"] == "NotFound"
    assert asked("shelf", "check", shelf) == []


def without_effort(hits: Any) -> list[Any]:
    """Hits without how many clusters were looked through, of which each shard has its own."""
    return [{**hit, "origins": [{**one, "effort": None} for one in hit["origins"]]} for hit in hits]


@pytest.mark.parametrize("how", ["auto", "lexical", "graph"])
def test_shelf_commands_answer_as_for_one_file(shelf: str, file: Path, how: str) -> None:
    for query in ("who found the comet?", "Calder"):
        found, wanted = asked("search", shelf, query, "--how", how), asked("search", file, query, "--how", how)
        assert without_effort(found) == without_effort(wanted) != []
    question = ("who found the comet?", "--how", how)
    assert asked("ask", shelf, *question)["text"] == asked("ask", file, *question)["text"]
    context, same = asked("context", shelf, *question), asked("context", file, *question)
    assert [one["text"] for one in context["citations"]] == [one["text"] for one in same["citations"]]


def test_shelf_commands_explore_as_in_one_file(shelf: str, file: Path) -> None:
    for given in (("entities",), ("entities", "Ines Calder", "--why"), ("graph", "Ines Calder", "--hops", 2)):
        command, *rest = given
        assert asked(command, shelf, *rest) == asked(command, file, *rest)


def test_shelf_graph_command_writes_exchange_formats(shelf: str, file: Path, tmp_path: Path) -> None:
    mine, its = tmp_path / "mine.graphml", tmp_path / "its.graphml"
    assert f"written: {mine}" in " ".join(run("graph", shelf, "Ines Calder", "--graphml", mine).split())
    run("graph", file, "Ines Calder", "--graphml", its)
    assert mine.read_bytes() == its.read_bytes()


def test_chat_command_talks_with_a_shelf(shelf: str, file: Path) -> None:
    lines = "who found the comet?\n/open 1\n"
    assert run("chat", shelf, said=lines) == run("chat", file, said=lines)
    said = run("chat", shelf, said="who found the comet?\n/sources\n/open 1\n/open 99\n/why\n")
    assert "Ines Calder found the comet" in said
    assert "/open takes a number from 1 to" in said


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("search", "comet", "--how", "tree"), "--how auto"),
        (("search", "comet", "--as-of", "2026-01-01"), "has no history"),
        (("search", "comet", "--within", "a=b"), "has no views"),
        (("entities", "Ines Calder", "--apart", "Calder"), "has no names that are kept apart"),
        (("entities", "Ines Calder", "--unite", "Calder"), "give a .mono file"),
        (("outline",), "monograph shelf --help"),
        (("resummarize",), "monograph shelf --help"),
        (("show", "comet"), "monograph shelf --help"),
        (("stats",), "monograph shelf --help"),
        (("sync", "."), "monograph shelf --help"),
        (("mcp", "--notes"), "serve it without notes"),
    ],
)
def test_commands_of_a_single_file_refuse_a_shelf(shelf: str, arguments: tuple[str, ...], hint: str) -> None:
    command, *rest = arguments
    said = run(command, shelf, *rest, code=1 if " has no " in f" {hint}" or ".mono" in hint else 2)
    assert "error: " in said
    assert hint in said


def test_shelf_commands_refuse_addresses_without_a_shelf(tmp_path: Path) -> None:
    assert "monograph shelf build" in run("shelf", "stats", tmp_path, code=1)
    assert "does not exist" in run("shelf", "remove", tmp_path / "none", "x", code=2)
    assert "is not an address of a shelf" in run("search", "http://somewhere/x", "comet", code=2)
    assert "must not contain a user or password" in run("search", "s3://ann:secret@bucket/x", "comet", code=2)
    assert "give 1 to 10,000" in run("shelf", "build", tmp_path / "many", ".", "--shards", 0, code=2)
    assert "does not exist" in run("search", tmp_path / "none.mono", "comet", code=1)
    assert "is a folder" in run("search", tmp_path, "comet", code=1)


def test_shelf_build_command_accepts_files(file: Path, texts: Path, tmp_path: Path) -> None:
    url = tmp_path / "shelf"
    assert "version 1 has 5 documents, 5 chunks in 1 shards" in run("shelf", "build", url, file)
    hits = [without_effort(asked("search", one, "who found the comet?")) for one in (file, url)]
    assert hits[0] == hits[1]
    assert {one["date"]["source"] for one in hits[0]} == {"file"}
    again = asked("shelf", "build", url, texts, file)
    assert (again["added"], again["changed"], again["removed"], again["same"]) == (0, 0, 0, 10)
    assert asked("shelf", "stats", url)["version"] == 1
    assert "all is well" in run("shelf", "check", url)


def test_engine_specs_are_parsed() -> None:
    assert engines_of("local") is local
    made = engines_of("ray:replicas=2,deadline=1.5")
    assert isinstance(made, partial)
    assert (made.func, made.keywords) == (OnRay, {"replicas": 2, "deadline": 1.5})
    for wrong in ("rays", "ray:replicas", "ray:replicas=two", "ray:cpus=1", "local:replicas=2", ":"):
        with pytest.raises(InputError, match="is not an engine"):
            engines_of(wrong)


def test_the_environment_names_an_engine(shelf: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONOGRAPH_ENGINE", "steam")
    assert "'steam' is not an engine" in run("search", shelf, "comet", code=2)
    assert "'steam' is not an engine" in run("mcp", shelf, code=2)
    assert "is not an engine" in run("serve", shelf, "--engine", "wind", code=2)
    monkeypatch.setenv("MONOGRAPH_ENGINE", "local")
    assert "Ines Calder" in run("search", shelf, "comet")


@pytest.mark.long
def test_shelf_commands_work_on_a_bucket(texts: Path) -> None:
    with bucket_server() as bucket:
        url = f"{bucket}/texts"
        assert f"monograph shelf build {url}" in run("shelf", "stats", url, code=1)
        assert "version 1 has 5 documents" in run("shelf", "build", url, texts, "--shards", 2)
        assert "version 2 has 4 documents" in run("shelf", "remove", url, texts / "garden.txt")
        assert "Mrs Grubb" in run("search", url, "boiler", "-k", 1)
        assert "Ines Calder found the comet" in run("ask", url, "who found the comet?")
        assert "version 2 is left" in run("shelf", "forget", url)
        assert "all is well" in run("shelf", "check", url)


def test_shelf_commands_ask_only_trusted_servers(texts: Path, tmp_path: Path, configuration: Path) -> None:
    trusted = configuration / "monograph" / "trusted.jsonl"
    with VectorServer() as server:
        for url, options in ((tmp_path / "trusted", ["--trust"]), (tmp_path / "strange", [])):
            run("shelf", "build", url, texts / "comet.txt", "--embedder", f"openai:{server.url}#wide", *options)
        said = run("shelf", "build", tmp_path / "strange", texts / "boiler.md", code=1)
        assert "--trust" in said
        assert server.url in said
        run("shelf", "build", tmp_path / "strange", texts / "boiler.md", "--trust")
        run("shelf", "build", tmp_path / "trusted", texts / "boiler.md")
        for url in (tmp_path / "trusted", tmp_path / "strange"):
            assert "Mrs Grubb" in run("search", url, "who looks after the boiler?", "--how", "dense")
        listed = [json.loads(line) for line in trusted.read_text().splitlines()]
        places = {one["file"]: one["address"] for one in listed if one["file"].startswith(str(tmp_path))}
        assert places == {str(tmp_path / name): server.url for name in ("trusted", "strange")}
        assert len(listed) == len({tuple(one.values()) for one in listed})
