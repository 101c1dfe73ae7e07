"""Spreadsheets and messages of other programs: XLS, ODS and MSG."""

from __future__ import annotations

import io
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from monograph import Limits
from monograph.errors import SourceError
from monograph.read.file import ReadTask
from monograph.read.pool import ReaderPool
from monograph.values import Place
from support.old_office import msg, ods, xls
from support.reading import read_bytes as read
from support.reading import root_at


@pytest.mark.parametrize("suffix", ["xls", "ods"])
def test_old_spreadsheets_are_read(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("python_calamine", reason="the extra documents is not installed")
    sheets: dict[str, list[list[str | float]]] = {
        "Crew": [["Ship", "Men"], ["Borea", 31.0], ["Älma", 12.5]],
        "Ports": [["Port", "Land"], ["Oslo", "Norway"]],
    }
    (document,), problems = read(tmp_path / f"fleet.{suffix}", xls(sheets) if suffix == "xls" else ods(sheets))
    assert problems == []
    assert document.title == "fleet"
    assert document.text == "Crew\n\nShip: Borea; Men: 31\n\nShip: Älma; Men: 12.5\n\nPorts\n\nPort: Oslo; Land: Norway"
    assert document.places[-1] == Place(document.text.index("Port: Oslo"), sheet="Ports", row=2)


def test_dates_of_old_spreadsheets_are_read(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine", reason="the extra documents is not installed")
    (document,), _ = read(tmp_path / "log.ods", ods({"Log": [["Day", "Sea"], ["=1912-04-14", "calm"]]}))
    assert document.text == "Log\n\nDay: 1912-04-14; Sea: calm"


def test_outlook_message_and_attachments_are_read(tmp_path: Path) -> None:
    pytest.importorskip("oxmsg", reason="the extra documents is not installed")
    table = ("Ship,Men\n" + "Borea,31\n" * 700).encode()
    data = msg(
        ("Anna", "anna@example.org"), "ben@example.org", "Grüße aus Köln", "The list is attached.",
        datetime(2024, 2, 29, 12, tzinfo=UTC), {"list.csv": table, "note.txt": b"A short note."},
    )  # fmt: skip
    documents, problems = read(tmp_path / "mail.msg", data)
    assert problems == []
    assert [one.title for one in documents] == ["Grüße aus Köln", "list", "note"]
    message = documents[0]
    assert message.text.endswith("The list is attached.")
    assert message.metadata["from"] == "Anna <anna@example.org>"
    assert message.metadata["to"] == "ben@example.org"
    assert message.metadata["date"].startswith("2024-02-29")
    assert documents[1].text.count("Ship: Borea; Men: 31") == 700
    assert documents[2].uri.endswith("mail.msg!/note.txt")


def test_spreadsheet_of_huge_claimed_size_is_limited(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine", reason="the extra documents is not installed")
    data = ods({"S": [["k", "l"], ["v", "w"]]})
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            content = old.read(name).replace(
                b"<table:table-cell", b'<table:table-cell table:number-columns-repeated="16777216"'
            )
            new.writestr(
                name, content.replace(b"<table:table-row", b'<table:table-row table:number-rows-repeated="1048576"')
            )
    path = tmp_path / "vast.ods"
    path.write_bytes(made.getvalue())
    with ReaderPool(1) as crew:
        parts = [
            part
            for _, part in crew.read(
                [ReadTask(path, root_at(tmp_path), Limits(max_seconds=20, max_memory=1_000_000_000))]
            )
        ]
    assert parts[-1].error is not None
    assert parts[-1].error.message


@pytest.mark.parametrize("kept", [0.2, 0.5, 0.9])
def test_truncated_old_formats_are_reported(tmp_path: Path, kept: float) -> None:
    pytest.importorskip("oxmsg", reason="the extra documents is not installed")
    pytest.importorskip("python_calamine", reason="the extra documents is not installed")
    day = datetime(2024, 2, 29, tzinfo=UTC)
    for name, data in (
        ("a.xls", xls({"S": [["k", "v"]] * 500})),
        ("a.msg", msg(("a", "a@b.c"), "d@e.f", "s", "text " * 900, day, {"x.txt": b"x" * 9000})),
        ("a.ods", ods({"S": [["k", "v"]] * 500})),
    ):
        with pytest.raises(SourceError):
            read(tmp_path / name, data[: int(kept * len(data))])
