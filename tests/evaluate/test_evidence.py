"""Documents that a question set names as evidence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Document, Monograph
from monograph.errors import InputError
from monograph.evaluate.datasets import EvaluationQuestion, load_questions
from monograph.evaluate.evidence import resolve
from monograph.evaluate.run import evaluate
from support.forks import run
from support.properties import examples

TEXTS = {
    "house/boiler.md": "# Boiler\n\nThe boiler is serviced every October by Mrs Grubb.",
    "house/garden.txt": "The apple tree was planted in 1987.",
    "office/notes.md": "# Meetings\n\nOn Mondays the board meets in the attic.",
    "shop/notes.md": "# Prices\n\nA kettle costs nine shillings.",
    "rows.jsonl": '{"id": "r1", "text": "Invoice INV-1 is paid."}\n{"id": "r2", "text": "Invoice INV-2 is open."}',
}


def write(folder: Path) -> Path:
    for name, text in TEXTS.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def documents(folder: Path, uri: str) -> list[Document]:
    """Return the documents of a sync, with their uris in the format ``uri``."""
    with Monograph.open(folder.parent / "x.mono") as monograph:
        monograph.sync(folder)
        stored = monograph.documents()
    return [
        Document(
            text="",
            id=one.id,
            title=one.title,
            uri=uri.format(root=folder, path=Path(one.uri).relative_to(folder.name)),
        )
        for one in stored
    ]


def meant(name: str, some: list[Document]) -> set[str]:
    (question,) = resolve([EvaluationQuestion("q", "?", (), (name,))], some, "x.mono")
    ((found,), (told,)) = question.documents, question.evidence_ids
    assert told == name
    return {Path(one.uri).name if one.id not in ("r1", "r2") else one.id for one in some if one.id in found}


@pytest.mark.parametrize("uri", ["{root}/{path}", "{path}", "texts/{path}"])
def test_evidence_is_named_as_people_name_it(uri: str, folder: Path) -> None:
    """The uris are absolute, relative to the synced folder, or begin with the name of another folder."""
    some = documents(write(folder), uri)
    boiler = next(one.id for one in some if one.uri.endswith("boiler.md"))
    for name in (
        boiler,
        uri.format(root=folder, path="house/boiler.md"),
        str(folder / "house" / "boiler.md"),
        "house/boiler.md",
        "./house/boiler.md",
        "house/boiler",
        "boiler.md",
        "boiler",
        "Boiler",
        " BOILER ",
    ):
        assert meant(name, some) == {"boiler.md"}, name
    assert meant("shop/notes.md", some) == {"notes.md"}
    assert meant("prices", some) == {"notes.md"}
    assert meant("r1", some) == {"r1"}
    assert meant("rows.jsonl", some) == {"r1", "r2"}


def test_unknown_or_ambiguous_evidence_is_refused_with_help(folder: Path) -> None:
    some = documents(write(folder), "{path}")
    for name, near in (
        ("boyler.md", "'boiler.md'"),
        ("houses/boiler.md", "'boiler.md'"),
        ("Meeting", "'Meetings'"),
        ("zzzz", "a document's id"),
        ("", "a document's id"),
    ):
        with pytest.raises(InputError) as caught:
            resolve([EvaluationQuestion("q7", "?", (), ("r1", name, "nor this"))], some, "x.mono")
        assert f"'q7': evidence {name!r} matches no document in x.mono, nor does one other" in caught.value.message
        assert near in caught.value.hint
    with pytest.raises(InputError) as caught:
        resolve([EvaluationQuestion("q7", "?", (), ("notes.md",))], some, "x.mono")
    assert "'notes.md' matches 2 documents" in caught.value.message
    assert "office/notes.md, shop/notes.md" in caught.value.hint


SEGMENTS = st.sampled_from(["a", "b", "c.txt", "d.md", "e e"])


@settings(max_examples=examples(200))
@given(
    st.lists(st.lists(SEGMENTS, min_size=1, max_size=4).map("/".join), min_size=1, max_size=12, unique=True), st.data()
)
def test_path_ends_equal_brute_force(uris: list[str], data: st.DataObject) -> None:
    some = [Document(text="", id=f"id{number}", uri=uri) for number, uri in enumerate(uris)]
    parts = data.draw(st.sampled_from(uris)).split("/")
    end = "/".join(parts[data.draw(st.integers(0, len(parts) - 1)) :])
    wanted = [one.id for one in some if one.uri == end] or [one.id for one in some if f"/{one.uri}".endswith(f"/{end}")]
    if len(wanted) == 1:
        (question,) = resolve([EvaluationQuestion("q", "?", (), (end,))], some, "x.mono")
        assert question.documents == (frozenset(wanted),)
    else:
        with pytest.raises(InputError, match="matches"):
            resolve([EvaluationQuestion("q", "?", (), (end,))], some, "x.mono")


def test_one_document_by_two_names_counts_once_and_one_row_of_a_file_is_enough(folder: Path, tmp_path: Path) -> None:
    asked = [
        EvaluationQuestion("a", "Who serves the boiler?", (), ("boiler", "house/boiler.md", "Boiler")),
        EvaluationQuestion("b", "Is invoice INV-2 open?", (), ("rows.jsonl",)),
    ]
    with Monograph.open(tmp_path / "x.mono") as monograph:
        monograph.sync(write(folder))
        questions = resolve(asked, monograph.documents(), "x.mono")
        assert questions[0].evidence_ids == ("boiler",)
        assert evaluate(monograph, questions, "lexical", 1).scores.recall[0] == 1.0


def test_questions_of_ones_own_need_no_corpus(folder: Path, tmp_path: Path) -> None:
    file, mine = tmp_path / "x.mono", tmp_path / "mine.jsonl"
    with Monograph.open(file) as monograph:
        monograph.sync(write(folder))
    lines = [
        {"question": "Who serves the boiler?", "evidence_ids": ["house/boiler.md"], "answers": ["Mrs Grubb"]},
        {"question": "What costs nine shillings?", "evidence_ids": ["Prices"]},
    ]
    mine.write_text("\n".join(map(json.dumps, lines)))
    said = run("eval", "--file", file, "--queries", mine)
    assert "mine.jsonl: 2 questions with evidence" in said
    for how in ("auto", "lexical", "dense", "hybrid"):
        assert f"\n {how} " in said
    results = json.loads(run("eval", "--file", file, "--queries", mine, "--json"))
    assert [one["how"] for one in results] == ["auto", "lexical", "dense", "hybrid"]
    assert results[0]["scores"]["recall"][4] == 1.0
    assert [one.id for one in load_questions(mine)] == ["1", "2"]
    only = tmp_path / "set"
    only.mkdir()
    (only / "queries.jsonl").write_text(mine.read_text())
    assert "set: 2 questions" in run("eval", only, "--file", file, "--how", "lexical")
    mine.write_text(json.dumps({"id": "q9", "question": "Who?", "evidence_ids": ["house/boyler.md"]}))
    assert "perhaps 'boiler.md'" in run("eval", "--file", file, "--queries", mine, code=2)
    mine.write_text("")
    assert "contains no question" in run("eval", "--file", file, "--queries", mine, code=2)
    assert "there are no questions" in run("eval", "--file", file, code=2)
    assert "there is nothing to search" in run("eval", "--queries", mine, code=2)
