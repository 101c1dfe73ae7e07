"""Wrong usage of the command line: accepted variants, suggestions and exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from monograph import Document, Monograph
from support.corpora import clustered_archive, copy_archive
from support.forks import COMMANDS, run

NOTES = [
    Document("Ines Calder found the comet in Draco.", "comet", "Comet", "notes/comet.md", {"year": 1963}),
    Document("The boiler is serviced in October.", "boiler", "Boiler", "notes/boiler.md", {"tags": ["house"]}),
]


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return copy_archive(tmp_path / "notes.mono", NOTES)


def test_help_is_given_however_it_is_asked_for() -> None:
    whole = run("--help")
    assert whole.startswith("Usage: monograph [OPTIONS] COMMAND")
    assert run("-h") == run("help") == whole
    of_search = run("search", "--help")
    assert of_search.startswith("Usage: monograph search ")
    assert run("search", "-h") == run("help", "search") == of_search
    of_build = run("shelf", "build", "--help")
    assert run("help", "shelf", "build") == run("shelf", "help", "build") == of_build
    assert "Did you mean 'search'" in run("help", "serch", code=2)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("ls", "show"),
        ("list", "show"),
        ("add", "sync"),
        ("delete", "remove"),
        ("query", "search"),
        ("version", "--version"),
        ("serch", "search"),
        pytest.param("shelf add", "build", marks=pytest.mark.long),
    ],
)
def test_unknown_commands_get_a_suggestion(typed: str, meant: str) -> None:
    words = typed.split()
    message = run(*words, "notes.mono", code=2)
    assert f"No such command {words[-1]!r}. Did you mean {meant!r}" in message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("search", "x", "--how", "semantic"), "semantic"),
        (("search", "x", "-k", "-3"), "k is -3"),
        (("search", "x", "--where", "year ~~ 3"), "unknown operator '~~'"),
        (("search", "x", "--where", "{bad json"), "is not JSON"),
        *(
            pytest.param(*one, marks=pytest.mark.long)
            for one in (
                (("search", "x", "-k", "three"), "'three'"),
                (("search", "x", "--where", "year"), "is not a filter"),
                (("search", "x", "--as-of", "then"), "keeps no previous versions"),
                (("search", "x", "--reranker", "magic"), "unknown reranker"),
                (("ask", "x", "--threshold", "2"), "threshold is 2"),
                (("ask", "x", "--model", "gpt"), "unknown language model"),
                (("context", "x", "--order", "best"), "unknown order"),
                (("context", "x", "--budget", "0"), "budget is 0"),
                (("graph", "Draco", "--hops", "-1"), "hops"),
                (("entities", "-k", "-1"), "k is -1"),
                (("outline", "--layers", "-1"), "layers is -1"),
                (("show", "comet", "--around", "-1"), "around is -1"),
                (("reembed", "magic"), "unknown embedder"),
                (("reextract", "magic"), "unknown extractor"),
                (("resummarize", "magic"), "unknown summarizer"),
                (("sync", ".", "--describer", "magic"), "unknown describer"),
                (("sync", ".", "--max-bytes", "-1"), "-1"),
                (("sync", ".", "--max-seconds", "0"), "0"),
                (("costs", "--price", "free"), "is not a price"),
            )
        ),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else None,
)
def test_wrong_values_end_with_exit_code_2(arguments: tuple[str, ...], message: str, notes: Path) -> None:
    command, *others = arguments
    assert message in run(command, notes, *others, code=2)


def test_missing_things_end_with_exit_code_1(notes: Path, tmp_path: Path) -> None:
    for message, *arguments in (
        ("contains no document", "show", notes, "nothing"),
        ("contains no document", "remove", notes, "nothing"),
        ("does not exist", "search", tmp_path / "none.mono", "comet"),
        ("cannot be read", "sync", notes, tmp_path / "nowhere"),
        ("", "eval", tmp_path),
    ):
        error = run(*arguments, code=1)
        assert error.startswith("error: ")
        assert message in error
        assert "\n  try: " in error
    assert json.loads(run("show", notes, "nothing", "--json", code=1))["kind"] == "NotFound"
    run("search", notes, code=2)


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "comet"),
        *(pytest.param(one, marks=pytest.mark.long) for one in (("search", "comet", "--json"), ("show",), ("--help",))),
    ],
    ids=" ".join,
)
def test_a_closed_pipe_ends_a_command_quietly(arguments: tuple[str, ...], notes: Path) -> None:
    """The pipe is closed before the command writes its first line."""
    command, *others = arguments
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "monograph.app.cli", command, str(notes), *others],
        stdout=writer, stderr=subprocess.PIPE, check=False,
    )  # fmt: skip
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("command", "others"),
    [
        ("search", ("comet",)),
        pytest.param("show", ("comet",), marks=pytest.mark.long),
        pytest.param("backup", ("copy",), marks=pytest.mark.long),
    ],
)
def test_a_file_behind_the_question_is_recognised(command: str, others: tuple[str, ...], notes: Path) -> None:
    message = run(command, *others, notes, code=2)
    assert f"FILE comes first: {others[0]} is not a .mono file" in message
    assert f"try: monograph {command} {notes} {' '.join(others)}\n" in message


def test_import_takes_its_file_last(notes: Path, tmp_path: Path) -> None:
    run("export", notes, tmp_path / "export")
    assert "documents 0 added" in run("import", "jsonl", tmp_path / "export", notes)


def test_a_folder_before_the_file_is_recognised(notes: Path, folder: Path) -> None:
    message = run("sync", folder, notes, code=2)
    assert f"try: monograph sync {notes} {folder}\n" in message


def test_a_filter_on_a_key_of_no_document_names_the_nearest(notes: Path) -> None:
    done = COMMANDS.run("monograph", "search", notes, "comet", "--where", "yeer >= 1963", "--json")
    assert (done.returncode, json.loads(done.stdout)) == (0, [])
    assert done.stderr == "no document has the key 'yeer'; perhaps 'year'\n"
    assert "no document has" not in run("search", notes, "comet", "--where", "year >= 1963")


@pytest.mark.long
@pytest.mark.parametrize("command", ["ask", "context"])
def test_answers_warn_of_keys_of_no_document(command: str, notes: Path) -> None:
    where = '{"or": [{"not": {"yeer": 1963}}, {"tags": {"contains": "house"}}, {"zzz": 1}, {"$title": "Comet"}]}'
    message = run(command, notes, "comet", "--where", where)
    assert "no document has the key 'yeer'; perhaps 'year'\n" in message
    assert "no document has the key 'zzz'\n" in message
    assert message.count("no document has") == 2


def test_keys_of_documents_outside_of_a_view_are_not_named(notes: Path) -> None:
    with Monograph.open(notes) as archive:
        assert archive.missing_keys({"yeer": 1}) == {"yeer": ["year"]}
        assert archive.within({"tags": "house"}).missing_keys({"yeer": 1}) == {"yeer": []}
        assert archive.missing_keys(None) == {}


EMPTY = "the query is empty: nothing will be found\n"
NO_HITS = "-k 0 asks for no hits: nothing will be found\n"


@pytest.mark.parametrize(
    ("warning", "command", "others"),
    [
        (EMPTY, "search", ("",)),
        (NO_HITS, "search", ("comet", "-k", "0")),
        pytest.param(EMPTY, "ask", (" ",), marks=pytest.mark.long),
        pytest.param(EMPTY, "context", ("",), marks=pytest.mark.long),
        pytest.param(NO_HITS, "ask", ("comet", "-k", "0"), marks=pytest.mark.long),
        pytest.param(NO_HITS, "entities", ("-k", "0"), marks=pytest.mark.long),
    ],
)
def test_requests_for_nothing_say_why_nothing_is_found(
    warning: str, command: str, others: tuple[str, ...], notes: Path
) -> None:
    assert warning in run(command, notes, *others)


def test_command_line_searches_stop_at_the_given_condition(tmp_path: Path) -> None:
    path = clustered_archive(tmp_path / "a.mono")

    def loads(*options: str) -> int:
        hits = json.loads(run("search", path, "which comet?", "--how", "dense", "--json", *options))
        return int(hits[0]["origins"][0]["effort"]["loads"])

    assert loads("--stop", "budget:loads=1") == 1
    assert loads("--ranked-recall", "0.9") > 1
    both = ("--stop", "never", "--ranked-recall", "0.9")
    assert "both given" in run("search", path, "which comet?", *both, code=2)
