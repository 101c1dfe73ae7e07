"""Files read into documents: formats, encodings, headings, rows and failures."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph.errors import SourceChanging, SourceMissing, SourceTooLarge, SourceUnreadable, UnknownFormat
from monograph.read import file as reading
from monograph.read.detect import detect
from monograph.read.file import read_file
from monograph.read.paths import path_to_text, text_to_path
from monograph.read.text import decode, headings, sections_of
from support.properties import examples
from support.reading import root_at
from support.unprivileged import run_unprivileged


def document(path: Path):  # type: ignore[no-untyped-def]
    (part,) = read_file(path, root_at(path.parent))
    (one,) = part.documents
    return one


@pytest.mark.parametrize(
    ("head", "name", "form"),
    [(b"hello", "a.txt", "text"), (b"# h", "a.MD", "markdown"), (b"{}", "a.jsonl", "jsonl"), (b"", "a", "text"), (b"x", "a.log", "text"),
     ("Grüße".encode("utf-16"), "a.txt", "text"), ("plain words".encode("utf-16-le"), "a.txt", "text"), ("日本".encode("utf-32"), "a", "text")],
)  # fmt: skip
def test_detect_recognises_text_formats(head: bytes, name: str, form: str) -> None:
    assert detect(head, name) == form


@pytest.mark.parametrize(
    ("head", "said"),
    [(b"\x1f\x8b\x08", "gzip"), (b"\x00\x00\x00\x18ftypmp42\x00\x00", "MPEG-4"), (bytes(range(256)), "binary"), (b"\x7fELF\x02", "program"),
     (b"text with a \x00 in it and more text", "binary"), (b"\x01\x02\x03\x04" * 100, "binary")],
)  # fmt: skip
def test_detect_names_the_format_of_binary_data(head: bytes, said: str) -> None:
    with pytest.raises(UnknownFormat, match=said):
        detect(head, "lies.txt")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_decode_recognises_unicode_encodings(encoding: str) -> None:
    text = "Plain words, a few Grüße, and then some more plain words.\n" * 3
    data = text.encode(encoding)
    assert decode(data) == (text, 0)


@settings(max_examples=examples(200))
@given(text=st.text())
def test_decode_returns_utf8_text_unchanged(text: str) -> None:
    plain = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").removeprefix("\ufeff")
    data = ("words " * 10 + text).encode()
    assert decode(data) == ("words " * 10 + plain if not text.startswith("\ufeff") else decode(data)[0], 0)


@settings(max_examples=examples(200))
@given(data=st.binary(max_size=300))
def test_decode_returns_storable_text_for_any_bytes(data: bytes) -> None:
    text, lost = decode(data)
    text.encode("utf-8")
    assert lost >= 0
    assert "\r" not in text
    assert "\0" not in text


def test_read_file_decodes_legacy_encodings(shared: Path) -> None:
    folder = shared / "data/ingest-files"
    entries = json.loads((folder / "manifest.json").read_text())
    wanted = {"csv-shift-jis.csv", "txt-utf16le.txt", "csv-emoji.csv", "html-cp1252.html"}
    seen = 0
    for entry in entries:
        name = entry["file"]
        if name in wanted:
            seen += 1
            text = document(folder / name).text
            for string in entry["expected_strings"]:
                assert any(part in text for part in string.split()), (name, string)
    assert seen == len(wanted)


def test_markdown_headings_become_sections() -> None:
    text = "Intro\n\n# One #\n\ntext\n\n```\n# no heading\n```\n\nTwo\n===\n\n## Under *two*\n\n#### Deep\n\n## Last\n\n#\n\n#no\n"
    found = [
        (text[section.start :].split("\n", maxsplit=1)[0], section.path) for section in sections_of(headings(text))
    ]
    assert found == [
        ("# One #", ("One",)),
        ("Two", ("Two",)),
        ("## Under *two*", ("Two", "Under *two*")),
        ("#### Deep", ("Two", "Under *two*", "Deep")),
        ("## Last", ("Two", "Last")),
    ]


def test_headings_of_a_long_markdown_text_are_found() -> None:
    body = "Some words of no meaning.\n\n" * 80_000
    text = f"# Top\n\n~~~\n# fenced\n~~~\n\n{body}## Below ##\n\nend"
    assert [(one.level, one.title) for one in headings(text)] == [(1, "Top"), (2, "Below")]


def test_deeply_nested_markdown_is_read(tmp_path: Path) -> None:
    path = tmp_path / "deep.md"
    path.write_text(">" * 5000 + " a\n" + "- " * 5000 + "b\n# Title\n")
    assert document(path).title in ("Title", "deep")


def test_title_is_the_first_heading_or_the_file_name(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("## Second\n\n# First\n")
    (tmp_path / "bare.md").write_text("no heading")
    (tmp_path / "letter.txt").write_text("# not a heading here")
    assert document(tmp_path / "notes.md").title == "First"
    assert document(tmp_path / "bare.md").title == "bare"
    assert document(tmp_path / "letter.txt").title == "letter"
    assert document(tmp_path / "letter.txt").metadata == {"path": "letter.txt"}


def test_jsonl_rows_become_documents_and_bad_rows_problems(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    lines = [
        json.dumps({"id": 7, "title": "T", "text": "seven", "meta": {"a": 1}, "year": 2020}),
        "",
        "{broken",
        json.dumps({"title": "no text"}),
        json.dumps(["a list"]),
        json.dumps({"text": "x", "metadata": 3}),
        json.dumps({"text": "twin"}),
        json.dumps({"text": "twin"}),
        "[" * 100_000,
        json.dumps({"text": "half \ud83d", "metadata": {"k": "\udc00"}}),
        '{"text": "big", "metadata": {"n": NaN}}',
        '{"id": "7", "text": "seven again"}',
    ]
    path.write_text("\n".join(lines))
    (result,) = read_file(path, root_at(tmp_path))
    assert [one.text for one in result.documents] == ["seven", "twin", "twin", "half \ufffd"]
    assert result.documents[0].id == "7"
    assert result.documents[0].metadata == {"path": "rows.jsonl", "year": 2020, "a": 1}
    assert len({one.id for one in result.documents}) == 4
    assert [problem.uri.rpartition(":")[2] for problem in result.problems] == ["3", "4", "5", "6", "9", "11", "12"]


@settings(max_examples=examples(200))
@given(raw=st.binary(min_size=1, max_size=40).filter(lambda raw: b"\0" not in raw))
def test_any_path_survives_conversion_to_text(raw: bytes) -> None:
    path = Path("/tmp") / os.fsdecode(raw).replace("/", "_")
    text = path_to_text(path)
    text.encode("utf-8")
    assert text_to_path(text) == path


def test_missing_and_oversized_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceMissing):
        list(read_file(tmp_path / "x", root_at(tmp_path)))
    path = tmp_path / "huge.txt"
    with path.open("wb") as file:
        file.truncate(200_000_000)
    with pytest.raises(SourceTooLarge, match="200,000,000"):
        list(read_file(path, root_at(tmp_path)))


def test_pipe_and_folder_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceUnreadable, match="pipe"):
        list(read_file(tmp_path / "pipe", root_at(tmp_path)))
    with pytest.raises(SourceUnreadable):
        list(read_file(tmp_path, root_at(tmp_path)))


def test_file_that_keeps_changing_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "busy.txt"
    path.write_bytes(b"x" * 95_000_000)
    stop, begun = threading.Event(), threading.Event()

    def append() -> None:
        with path.open("ab", buffering=0) as file:
            while not stop.is_set():
                file.write(b"m")
                begun.set()

    writer = threading.Thread(target=append)
    writer.start()
    begun.wait()
    try:
        with pytest.raises(SourceChanging, match="3 times"):
            list(read_file(path, root_at(tmp_path)))
    finally:
        stop.set()
        writer.join()
    assert reading.whole(path, root_at(tmp_path), 100_000_000)[0] == path.read_bytes()


def test_replaced_file_is_read_whole_or_reported(tmp_path: Path) -> None:
    path, other = tmp_path / "a.txt", tmp_path / "b"
    whole = {letter * 200_000 for letter in "xyz"}
    path.write_text("x" * 200_000)
    stop = threading.Event()

    def replace() -> None:
        while not stop.is_set():
            for text in whole:
                other.write_text(text)
                other.replace(path)

    writer = threading.Thread(target=replace)
    writer.start()
    found = []
    try:
        for _ in range(30):
            try:
                found.append(document(path).text)
            except SourceChanging as error:
                found.append(error.message)
    finally:
        stop.set()
        writer.join()
    assert all(text in whole or "it changed" in text for text in found)
    assert set(found) & whole


def test_unreadable_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "secret.txt"
    path.write_text("secret")
    path.chmod(0)

    def read_it() -> int:
        with pytest.raises(SourceUnreadable, match="denied"):
            list(read_file(path, root_at(tmp_path)))
        return 7

    assert run_unprivileged(read_it) == 7
