"""The commands of a shelf, as people type them, and those of files on a shelf's address."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from monograph import Monograph
from monograph.app.cli import app
from monograph.app.shelf_engine import engines_of, makers_of
from monograph.errors import InputError
from monograph.shelf import Shelf
from monograph.shelf.engines import local
from monograph.shelf.fill.makers import HERE
from monograph.shelf.ray_engine import on_ray
from places import bucket_server
from vector_server import VectorServer

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
    run("shelf", "create", url, "--shards", 3)
    run("shelf", "sync", url, texts, "--publish")
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


def test_nothing_is_searched_before_it_is_published(texts: Path, tmp_path: Path) -> None:
    url = str(tmp_path / "new")
    assert f"monograph shelf sync {url} FOLDER" in run("shelf", "create", url, "--shards", 2)
    written = run("shelf", "sync", url, texts)
    assert "5 added" in written
    assert f"nothing of it is searched before it is published: monograph shelf publish {url}" in written
    assert "nothing found" in run("search", url, "boiler")
    assert "monograph shelf publish" in run("shelf", "forget", url, code=1)
    assert "published as version 2; 5 documents" in run("shelf", "publish", url)
    assert "Mrs Grubb" in run("search", url, "boiler")
    assert "no model was asked" in run("costs", url)
    assert "5 the same" in run("shelf", "sync", url, texts)
    assert "is dropped" in run("shelf", "discard", url)
    assert asked("shelf", "discard", url) == {"discarded": False}


def test_what_is_removed_is_gone_when_it_is_forgotten(texts: Path, tmp_path: Path, home: Path) -> None:
    url = tmp_path / "new"
    run("shelf", "create", url, "--shards", 2, "--extractor", "pattern", "--embedder", "static")
    made = asked("shelf", "sync", url, texts, "--publish")
    assert (made["added"], made["version"]) == (5, 2)
    name = texts / "boiler.md"
    assert "published as version 3" in run("shelf", "remove", url, name, "--forget", "--publish")
    assert "Mrs Grubb" not in run("search", url, "boiler")
    assert any(b"Grubb" in path.read_bytes() for path in url.rglob("*.mono"))
    gone = asked("shelf", "forget", url)
    assert gone["version"] == 3
    assert gone["digests"]
    assert {one.partition("/")[0] for one in gone["removed"]} == {"versions", "objects"}
    for place in (url, home / ".cache" / "monograph"):
        assert not [path for path in place.rglob("*.mono") if path.stem in gone["digests"]]
    assert not [path for path in url.rglob("*.mono") if b"Grubb" in path.read_bytes()]
    assert "0 older versions and 0 objects removed" in run("shelf", "forget", url)
    assert "has no document" in run("shelf", "remove", url, "nothing", code=1)


def test_a_writer_that_is_gone_is_released(shelf: str) -> None:
    assert "nobody was writing" in run("shelf", "release", shelf)
    with Shelf.open(shelf) as other:
        other.add([])
        refused = run("shelf", "sync", shelf, ".", code=1)
        assert f"monograph shelf release {shelf}" in refused
        assert "released from" in run("shelf", "release", shelf)
    assert asked("shelf", "release", shelf) == {"released": None}
    run("shelf", "discard", shelf)


def test_what_it_holds(shelf: str) -> None:
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
def test_it_answers_as_a_file(shelf: str, file: Path, how: str) -> None:
    for query in ("who found the comet?", "Calder"):
        found, wanted = asked("search", shelf, query, "--how", how), asked("search", file, query, "--how", how)
        assert without_effort(found) == without_effort(wanted) != []
    question = ("who found the comet?", "--how", how)
    assert asked("ask", shelf, *question)["text"] == asked("ask", file, *question)["text"]
    context, same = asked("context", shelf, *question), asked("context", file, *question)
    assert [one["text"] for one in context["citations"]] == [one["text"] for one in same["citations"]]


def test_one_looks_round_in_it_as_in_a_file(shelf: str, file: Path) -> None:
    for given in (("entities",), ("entities", "Ines Calder", "--why"), ("graph", "Ines Calder", "--hops", 2)):
        command, *rest = given
        assert asked(command, shelf, *rest) == asked(command, file, *rest)


def test_its_graph_is_written_for_other_programs(shelf: str, file: Path, tmp_path: Path) -> None:
    mine, its = tmp_path / "mine.graphml", tmp_path / "its.graphml"
    assert f"written: {mine}" in " ".join(run("graph", shelf, "Ines Calder", "--graphml", mine).split())
    run("graph", file, "Ines Calder", "--graphml", its)
    assert mine.read_bytes() == its.read_bytes()


def test_a_conversation(shelf: str, file: Path) -> None:
    lines = "who found the comet?\n/open 1\n"
    assert run("chat", shelf, said=lines) == run("chat", file, said=lines)
    said = run("chat", shelf, said="who found the comet?\n/sources\n/open 1\n/open 99\n/why\n")
    assert "Ines Calder found the comet" in said
    assert "/open takes a number from 1 to" in said


@pytest.mark.parametrize(
    ("arguments", "mend"),
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
        (("shelf", "create"), "monograph shelf stats"),
        (("mcp", "--notes"), "serve it without notes"),
    ],
)
def test_what_a_shelf_does_not_do(shelf: str, arguments: tuple[str, ...], mend: str) -> None:
    command, *rest = arguments
    inner = [rest.pop(0)] if command == "shelf" else []
    said = run(command, *inner, shelf, *rest, code=1)
    assert "error: " in said
    assert mend in said


def test_addresses_that_lead_nowhere(tmp_path: Path) -> None:
    assert "create" in run("shelf", "stats", tmp_path, code=1)
    assert "is not there" in run("shelf", "sync", tmp_path / "none", ".", code=1)
    assert "is no address of a shelf" in run("search", "http://somewhere/x", "comet", code=1)
    assert "bears no user or password" in run("search", "s3://ann:secret@bucket/x", "comet", code=1)
    assert "give one from 1 to" in run("shelf", "create", tmp_path / "many", "--shards", 0, code=1)
    assert "does not exist" in run("search", tmp_path / "none.mono", "comet", code=1)
    assert "is a folder" in run("search", tmp_path, "comet", code=1)


def test_a_file_becomes_a_shelf_and_a_file_again(file: Path, texts: Path, tmp_path: Path) -> None:
    url, joined = tmp_path / "shelf", tmp_path / "joined.mono"
    assert "published as version 1; 5 documents, 5 chunks in 2 shards" in run(
        "shelf", "split", file, url, "--shards", 2
    )
    assert asked("shelf", "reshard", url, 3)["shards"] == 3
    assert f"{joined.name}: 5 documents of version 2" in run("shelf", "join", url, joined)
    hits = [asked("search", one, "who found the comet?") for one in (file, url, joined)]
    first, *others = map(without_effort, hits)
    assert others == [first, first]
    assert {one["date"]["told_by"] for one in first} == {"file"}
    assert "0 added, 0 changed, 0 removed, 5 the same" in run("sync", joined, texts)
    again = asked("shelf", "sync", url, texts, "--publish")
    assert (again["added"], again["changed"], again["removed"], again["same"]) == (0, 0, 0, 5)
    assert asked("shelf", "stats", url)["documents"] == 5
    assert "all is well" in run("check", joined)
    assert "all is well" in run("shelf", "check", url)
    assert "is there already" in run("shelf", "join", url, joined, code=1)
    assert "is a shelf already" in run("shelf", "split", file, url, code=1)


def test_engines_are_named() -> None:
    assert engines_of("local") is local
    made = engines_of("ray:replicas=2,deadline=1.5")
    assert isinstance(made, partial)
    assert (made.func, made.keywords) == (on_ray, {"replicas": 2, "deadline": 1.5})
    for wrong in ("rays", "ray:replicas", "ray:replicas=two", "ray:cpus=1", "local:replicas=2", ":"):
        with pytest.raises(InputError, match="is no engine"):
            engines_of(wrong)


def test_the_environment_names_an_engine(shelf: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONOGRAPH_ENGINE", "steam")
    assert "'steam' is no engine" in run("search", shelf, "comet", code=1)
    assert "'steam' is no engine" in run("mcp", shelf, code=1)
    assert "is no engine" in run("serve", shelf, "--engine", "wind", code=1)
    monkeypatch.setenv("MONOGRAPH_ENGINE", "local")
    assert "Ines Calder" in run("search", shelf, "comet")


def test_in_a_bucket(texts: Path) -> None:
    with bucket_server() as bucket:
        url = f"{bucket}/texts"
        assert f"monograph shelf create {url}" in run("shelf", "stats", url, code=1)
        run("shelf", "create", url, "--shards", 2)
        assert "published as version 2" in run("shelf", "sync", url, texts, "--publish")
        assert "Mrs Grubb" in run("search", url, "boiler", "-k", 1)
        assert "Ines Calder found the comet" in run("ask", url, "who found the comet?")
        assert "version 2 is left" in run("shelf", "forget", url)
        assert "all is well" in run("shelf", "check", url)


def test_it_asks_only_servers_that_it_may(texts: Path, tmp_path: Path, configuration: Path) -> None:
    trusted = configuration / "monograph" / "trusted.jsonl"
    with VectorServer() as server:
        for url, options in ((tmp_path / "trusted", ["--trust"]), (tmp_path / "strange", [])):
            run("shelf", "create", url, "--shards", 2, "--embedder", f"openai:{server.url}#wide", *options)
        said = run("shelf", "sync", tmp_path / "strange", texts, code=1)
        assert "--trust" in said
        assert server.url in said
        run("shelf", "sync", tmp_path / "strange", texts, "--publish", "--trust")
        run("shelf", "sync", tmp_path / "trusted", texts, "--publish")
        for url in (tmp_path / "trusted", tmp_path / "strange"):
            assert "Mrs Grubb" in run("search", url, "who looks after the boiler?", "--how", "dense")
        listed = [json.loads(line) for line in trusted.read_text().splitlines()]
        places = {one["file"]: one["address"] for one in listed if one["file"].startswith(str(tmp_path))}
        assert places == {str(tmp_path / name): server.url for name in ("trusted", "strange")}
        assert len(listed) == len({tuple(one.values()) for one in listed})


def test_a_shelf_is_built_of_folders(texts: Path, shelf: str, tmp_path: Path) -> None:
    url = tmp_path / "built"
    assert f"{len(TEXTS)} documents, 5 chunks in 2 shards" in run("shelf", "build", url, texts, "--shards", 2)
    found, expected = asked("search", url, "comet"), asked("search", shelf, "comet")
    assert [(one["chunk"], one["score"]) for one in found] == [(one["chunk"], one["score"]) for one in expected]
    assert "--replace" in run("shelf", "build", url, texts, code=1)
    made = asked("shelf", "build", url, texts, "--shards", 3, "--replace", "--max-bytes", 60, code=3)
    assert (made["added"], made["version"], len(made["problems"])) == (3, 2, 2)
    for wrong in ("rya", "ray:cpus=two", "ray:replicas=2", "local:cpus=2"):
        assert "is no engine" in run("shelf", "build", tmp_path / "none", texts, "--engine", wrong, code=1)
    assert makers_of("local") is HERE
