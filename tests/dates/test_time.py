"""Dates of documents: sources, filters and views."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from email.utils import format_datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from monograph import Document, Monograph, Passage, Reader
from monograph import where as filters
from monograph.app.cli import app
from monograph.dates import span
from monograph.dates.span import FIRST, LAST, TimeSpan, date_of
from monograph.errors import InvalidFilter
from monograph.store.documents.filters import compile_condition, rows
from monograph.store.vectors import vectors
from monograph.vectors.columns import Columns
from support.properties import examples

MOMENTS = st.datetimes(
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30)), timezone(-timedelta(hours=9))])
)
DAYS = st.dates()


@given(st.integers(FIRST, LAST), st.integers(FIRST, LAST))
@example(FIRST, LAST)
def test_written_times_are_read(one: int, other: int) -> None:
    instant = TimeSpan(one, one)
    assert span.parse(str(instant)) == instant
    first, last = sorted((one, other))
    if "/" not in (written := str(TimeSpan(first, last))):
        assert span.parse(written) == TimeSpan(first, last)


@given(DAYS)
def test_a_day_a_month_and_a_year_hold_each_other(day: date) -> None:
    told = [span.parse(day.isoformat()[:length]) for length in (10, 7, 4)]
    assert all(one is not None and str(one) == day.isoformat()[: len(str(one))] for one in told)
    within = [one for one in told if one is not None]
    assert within[0].last - within[0].first + 1 == 86_400
    assert all(outer.first <= inner.first <= inner.last <= outer.last for inner, outer in pairwise(within))
    midnight = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())
    assert within[0].first == midnight


@given(MOMENTS)
def test_an_instant_is_the_same_in_iso_and_in_a_mail(moment: datetime) -> None:
    second = (moment.replace(microsecond=0) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    wanted = TimeSpan(second, second) if FIRST <= second <= LAST else None
    assert span.parse(moment.isoformat()) == wanted
    if moment.year >= 1000:  # RFC 2822 has years of four digits; years of two digits are in this century.
        assert span.parse(format_datetime(moment)) == wanted


@settings(max_examples=examples(60))
@given(st.text(max_size=70) | st.from_regex(r"\d{4}-?\d\d-?\d\d[T ]?[\d:+Zz.]{0,12}", fullmatch=True))
def test_any_text_is_a_time_or_none(text: str) -> None:
    found = span.parse(text)
    assert found is None or FIRST <= found.first <= found.last <= LAST


@pytest.mark.parametrize(
    ("metadata", "title", "text", "wanted"),
    [
        ({"date": "2026-03-01", "created": "2020"}, "", "", "2026-03-01 metadata"),
        ({"created": "2020", "Published_At": "2023-09-28T12:00:00+02:00"}, "", "", "2023-09-28T10:00:00Z metadata"),
        ({"date": "Mon, 5 Jan 2026 11:00:00 +0100"}, "2024-01-01", "", "2026-01-05T10:00:00Z metadata"),
        ({"date": "soon", "modified": "March 2023"}, "", "", "2023-03 metadata"),
        ({"timestamp": 1_700_000_000_000}, "", "", "2023-11-14T22:13:20Z metadata"),
        ({"date": 2019}, "", "", "2019 metadata"),
        ({"date": "5 May 2023"}, "", "", "2023-05-05 metadata"),
        ({"year": 2019, "date": None, "created": True, "sent": ["2020"]}, "", "", ""),
        ({}, "Minutes of 10 April 2026", "On 11 April 2026 …", "2026-04-10 text"),
        ({}, "", "Time: 20260105_11:00\nHi there", "2026-01-05 text"),
        ({}, "", "From: Ann\nTo: Bo\nDate: Mon, 5 Jan 2026 11:00:00 +0100\n\nDear Bo", "2026-01-05T10:00:00Z text"),
        ({}, "", "She was born on 10 April 1926 in a small town by the sea, as it seemed.", ""),
        ({}, "", "", ""),
    ],
)
def test_metadata_date_a_document(metadata: dict[str, Any], title: str, text: str, wanted: str) -> None:
    found = date_of([metadata], title, text)
    assert ("" if found is None else f"{found} {found.source}") == wanted


ASKED = st.sampled_from(
    [
        "2025", "2026", "2025-12", "2026-01", "2025-12-31", "2026-01-01", "2026-01-02T00:00:00Z",
        "2026-01-01T23:59:59Z", "2025-12-31T23:59:59-01:00", 1_767_225_600,
    ]
)  # fmt: skip
TIMES = st.none() | ASKED
ORDERS = st.sampled_from(["==", "!=", ">", ">=", "<", "<="])
LEAVES = st.one_of(
    st.tuples(st.sampled_from(["since", "as_of", "$since", "$as_of"]), ASKED).map(lambda pair: {pair[0]: pair[1]}),
    st.tuples(ORDERS, ASKED).map(lambda pair: {"$date": {pair[0]: pair[1]}}),
    st.just({"$date": {"is_empty": True}}),
    st.tuples(ASKED, ASKED).map(lambda pair: {"since": pair[0], "as_of": pair[1]}),
)
WHERES = st.recursive(
    LEAVES,
    lambda inner: st.tuples(st.sampled_from(["and", "or", "not"]), st.lists(inner, max_size=3)).map(
        lambda pair: {pair[0]: pair[1]}
    ),
    max_leaves=4,
)


@settings(max_examples=examples(30))
@given(times=st.lists(TIMES, min_size=1, max_size=8), wheres=st.lists(WHERES, min_size=1, max_size=6))
def test_a_time_means_the_same_in_sql_in_memory_and_in_python(
    tmp_path_factory: pytest.TempPathFactory, times: Sequence[str | int | None], wheres: Sequence[dict[str, Any]]
) -> None:
    with Monograph.open(tmp_path_factory.mktemp("m") / "x.mono") as monograph:
        monograph.add(Document("a", id=f"{n}", metadata={"date": time}) for n, time in enumerate(times))
        dated = {f"{n}": date_of([{"date": time}], "", "") for n, time in enumerate(times)}
        with monograph._file.database.read() as connection:
            columns = Columns(connection)
            names = dict(connection.execute("SELECT chunk, document - 1 FROM chunks"))
            for where in wheres:
                condition = filters.parse(where)
                assert condition is not None
                expected = {
                    name
                    for name, one in dated.items()
                    if filters.matches(condition, {"$date": None if one is None else one.when})
                }
                compiled = compile_condition(condition)
                assert {f"{names[row]}" for row in rows(connection, compiled)} == expected
                wanted = vectors.allowed_bits(connection, compiled).tolist()
                assert columns.allowed_bits(connection, condition).tolist() == wanted


@pytest.fixture
def diary(monograph: Monograph) -> Monograph:
    monograph.add(
        [
            Document("The lamp was lit.", id="jan", metadata={"date": "2026-01-15"}),
            Document("The lamp was broken.", id="mar", metadata={"date": "2026-03"}),
            Document("The lamp was mended.", id="apr", metadata={"date": "2026-04-02T10:00:00Z", "since": "2019"}),
            Document("The lamp is a lamp.", id="none", metadata={"as_of": 7}),
        ]
    )
    return monograph


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ({"since": "2026-03-01"}, {"mar", "apr"}),
        ({"since": "2026-03-20"}, {"mar", "apr"}),  # "2026-03" has no day, so it may be later.
        ({"as_of": "2026-03"}, {"jan", "mar"}),
        ({"since": "2026-02", "as_of": "2026-04-02"}, {"mar", "apr"}),
        ({"since": 2026, "as_of": "2026-04-02T09:59:59Z"}, {"jan", "mar"}),
        ({"$date": "2026-03"}, {"mar"}),
        ({"$date": {">": "2026-01", "<": "2026-04"}}, {"mar"}),
        ({"$date": {"is_empty": True}}, {"none"}),
        ({"or": [{"as_of": "2026-02"}, {"$date": {"is_empty": True}}]}, {"jan", "none"}),
        ({"not": [{"since": "2026-02"}]}, {"jan", "none"}),
        ({"since": {"==": "2019"}}, {"apr"}),
        ({"as_of": {">": 5}}, {"none"}),
        ({"$since": {"==": "2026-04"}}, {"apr"}),
    ],
)
def test_time_filters_select_documents(diary: Monograph, where: dict[str, Any], wanted: set[str]) -> None:
    for how in ("auto", "lexical", "dense"):
        assert {hit.chunk.document_id for hit in diary.search("lamp", 10, how, where)} == wanted
    assert {one.chunk.document_id for one in diary.fetch(where=where)} == wanted
    assert {one.id for one in diary.within(where).documents()} == wanted
    assert {hit.chunk.document_id for hit in diary.within(where).search("lamp", 10, where={"as_of": "2030"})} == (
        wanted - {"none"}
    )


@pytest.mark.parametrize(
    "where",
    [
        {"since": "yesterday"}, {"as_of": True}, {"since": None}, {"since": ["2026"]}, {"$date": {"in": ["2026"]}},
        {"$date": {">": "x"}}, {"$since": {">": "2026"}}, {"$since": {"==": "2026", "!=": "2027"}}, {"since": 12},
    ],
)  # fmt: skip
def test_filters_refuse_values_that_are_no_time(where: dict[str, Any]) -> None:
    with pytest.raises(InvalidFilter):
        filters.parse(where)


def test_hits_carry_their_date(diary: Monograph) -> None:
    hit = diary.search("broken", 1, "lexical")[0]
    assert hit.date is not None and (str(hit.date), hit.date.source) == ("2026-03", "metadata")
    assert [str(one.date) for one in diary.documents()] == ["2026-04-02T10:00:00Z", "2026-01-15", "2026-03", "None"]
    assert str(diary.document("jan").date) == "2026-01-15"
    assert diary.document("none").date is None
    diary.add([Document("The lamp was lit.", id="jan", metadata={"date": "2026-01-16"})])
    assert str(diary.document("jan").date) == "2026-01-16"
    diary.add([Document("Minutes of 3 May 2025\nThe lamp.", id="jan")])
    assert str(diary.document("jan").date) == "2025-05-03"
    assert diary.check() == []


def test_file_time_dates_documents_without_one(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "plain.txt").write_text("A note about the lamp.")
    (folder / "told.md").write_text("---\ndate: 2024-05-05\n---\n\nA note about the clock.")
    for name in ("plain.txt", "told.md"):
        os.utime(folder / name, (1_700_000_000, 1_700_000_000))
    with Monograph.open(tmp_path / "x.mono") as monograph:
        monograph.sync(folder)

        def dates() -> dict[str, tuple[str, str]]:
            found = ((one.uri.rpartition("/")[2], one.date) for one in monograph.documents())
            return {name: (str(one), one.source) for name, one in found if one is not None}

        assert dates() == {
            "plain.txt": ("2023-11-14T22:13:20Z", "file"),
            "told.md": ("2024-05-05", "text"),
        }
        os.utime(folder / "plain.txt", (1_750_000_000, 1_750_000_000))
        monograph.sync(folder)
        assert dates()["plain.txt"] == ("2025-06-15T15:06:40Z", "file")
        assert monograph.check() == []
        with monograph._file.database.write() as connection:
            connection.execute("UPDATE documents SET dated = dated + 1 WHERE uri LIKE '%told.md'")
            connection.execute("UPDATE documents SET dated_by = NULL WHERE uri LIKE '%plain.txt'")
        assert [one.fault for one in monograph.check()] == ["2 documents whose stored date is wrong"]
        assert monograph.check(repair=True) == []
        assert dates()["plain.txt"] == ("2025-06-15T15:06:40Z", "file")
        assert dates()["told.md"] == ("2024-05-05", "text")


def test_the_command_line_asks_for_a_time(diary: Monograph) -> None:
    def run(*arguments: str) -> Any:
        done = CliRunner().invoke(app, [*arguments, "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.output)

    path = str(diary.path)
    diary.close()
    hits = run("search", path, "lamp", "--where", "since=2026-03-01", "--where", "as_of=2026-03")
    assert [(hit["chunk"]["document_id"], hit["date"]) for hit in hits] == [
        ("mar", {"when": "2026-03", "source": "metadata"})
    ]
    assert run("show", path, "jan")["date"] == {"when": "2026-01-15", "source": "metadata"}
    shown = CliRunner().invoke(app, ["show", path, "jan"])
    assert "from 2026-01-15 (by its metadata)" in shown.output


def test_entities_tell_when_they_were_seen(monograph: Monograph) -> None:
    dated = {"a": "2026-01-15", "b": "2026-03", "c": "2024-05-05T10:00:00Z", "d": None}
    for name, date_told in dated.items():
        text = "Ines Faro wrote to Tobias Renk." if name in "bd" else "Ines Faro met Anna Calder in Vienna."
        monograph.add([Document(text, id=name, metadata={"date": date_told})])

    def seen(archive: Reader) -> dict[str, tuple[str, str]]:
        return {one.name: (one.first_seen, one.last_seen) for one in archive.graph.entities(50)}

    found = seen(monograph)
    assert found["Ines Faro"] == ("2024-05-05", "2026-03-31")
    assert found["Tobias Renk"] == ("2026-03-01", "2026-03-31")
    assert found["Anna Calder"] == ("2024-05-05", "2026-01-15")
    around = {one.name: (one.first_seen, one.last_seen) for one in monograph.graph.neighbourhood("Ines Faro").entities}
    assert around.items() <= found.items()
    assert seen(monograph.within({"as_of": "2025"}))["Ines Faro"] == ("2024-05-05", "2024-05-05")
    assert seen(monograph.within({"$document": "d"}))["Ines Faro"] == ("", "")
    monograph.remove(["c"])
    assert seen(monograph)["Anna Calder"] == ("2026-01-15", "2026-01-15")
    path = str(monograph.path)
    monograph.close()
    shown = CliRunner().invoke(app, ["graph", path, "Ines Faro"])
    assert "first seen on 2026-01-15, last on 2026-03-31" in shown.output


def test_a_homonym_tells_when_each_sense_was_seen(monograph: Monograph) -> None:
    for year, title in ((2020, "Green (album)"), (2023, "Green (painter)")):
        text = f"Green is known in {title}. Green was seen by Anna Calder."
        monograph.add([Document(text, title=title, metadata={"date": year})])
    found = {one.name: (one.first_seen, one.last_seen) for one in monograph.graph.neighbourhood("Green").entities}
    assert found["Green (album)"] == ("2020-01-01", "2020-12-31")
    assert found["Green (painter)"] == ("2023-01-01", "2023-12-31")


def test_passages_that_come_and_go_take_the_date_with_them(monograph: Monograph) -> None:
    told = [("b", {}), ("a", {"created_at": "2024-02-29 10:00"}), ("c", {"date": "2025"})]
    monograph.put([Document(id="d", passages=tuple(Passage(f"lamp {n}", n, metadata) for n, metadata in told))])
    assert str(monograph.document("d").date) == "2024-02-29T10:00:00Z"
    assert monograph.check() == []
    monograph.remove_chunks(["a"])
    assert str(monograph.document("d").date) == "2025"
    monograph.put([Document(id="d", passages=(Passage("lamp c", "c", {"date": "2026-01"}),))])
    assert str(monograph.document("d").date) == "2026-01"
    monograph.remove_chunks(["c"])
    assert monograph.document("d").date is None
    assert monograph.check() == []


def test_a_time_is_asked_for_over_http(diary: Monograph) -> None:
    pytest.importorskip("fastapi", reason="the extra serve is not installed")
    from support.api_server import serving

    with serving({"diary": diary}) as client:
        found = client.get("/search", q="lamp", where=["since=2026-03", '{"as_of": "2026-03"}']).json
        hits = found["files"][0]["hits"]
        assert [one["hit"]["chunk"]["document_id"] for one in hits] == ["mar"]
        assert hits[0]["hit"]["date"] == {"when": "2026-03", "source": "metadata"}
        assert client.get("/search", q="lamp", where=["since=soon"]).status == 400
        schemas = client.get("/openapi.json").json["components"]["schemas"]
        assert schemas["Dated"]["properties"]["when"]["type"] == "string"


def test_an_agent_asks_for_a_time(diary: Monograph) -> None:
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    from mcp import Client

    from monograph_mcp import make_server

    async def ask() -> Any:
        async with Client(make_server(diary)) as client:
            return await client.call_tool("search", {"query": "lamp", "where": {"since": "2026-03-20"}})

    found = asyncio.run(ask()).structured_content["hits"]
    assert {one["citation"]["document"] for one in found} == {"mar", "apr"}


PAGE = """<html><head><title>Lamps</title><meta property="{property}" content="{content}"></head>
<body><h1>Lamps</h1><p>The lamp of the lighthouse was broken by the storm.</p></body></html>"""


def test_files_tell_when_they_were_made(tmp_path: Path, shared: Path) -> None:
    pytest.importorskip("selectolax", reason="the extra documents is not installed")
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "page.html").write_text(
        PAGE.format(property="article:published_time", content="2024-05-05T10:00:00+02:00")
    )
    (folder / "odd.html").write_text(PAGE.format(property="article:published_time", content="some day"))
    mail = (
        "From: ann@example.com\nTo: bo@example.com\nDate: Mon, 5 Jan 2026 11:00:00 +0100\nSubject: Lamps\n\nThe lamp."
    )
    (folder / "letter.eml").write_text(mail)
    shutil.copy(shared / "data" / "ingest-files" / "pdf-outline.pdf", folder)
    with Monograph.open(tmp_path / "x.mono") as monograph:
        monograph.sync(folder)
        dates = {one.uri.rpartition("/")[2]: one.date for one in monograph.documents()}
        told = {name: one.source for name, one in dates.items() if one is not None}
        assert str(dates["page.html"]) == "2024-05-05T08:00:00Z"
        assert str(dates["letter.eml"]) == "2026-01-05T10:00:00Z"
        metadata = {one.uri.rpartition("/")[2]: monograph.document(one.id).metadata for one in monograph.documents()}
        assert str(dates["pdf-outline.pdf"]) == metadata["pdf-outline.pdf"]["created"]
        assert told == {
            "page.html": "metadata",
            "odd.html": "file",
            "letter.eml": "metadata",
            "pdf-outline.pdf": "metadata",
        }
        assert monograph.check() == []


def test_a_file_whose_time_is_damaged_gets_that_of_its_documents(tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text("A note about the lamp.")
    os.utime(tmp_path / "plain.txt", (1_700_000_000, 1_700_000_000))
    with Monograph.open(tmp_path / "x.mono") as monograph:
        monograph.sync(tmp_path / "plain.txt")
        for damage in ("modified_ns = modified_ns + 70000000000", "modified_ns = 'x'"):
            with monograph._file.database.write() as connection:
                connection.execute(f"UPDATE sources SET {damage}")
            monograph.check(repair=True)
            assert monograph.check() == []
            (document,) = monograph.documents()
            assert str(document.date) == "2023-11-14T22:13:20Z"
            assert monograph.sync(tmp_path / "plain.txt").changed == 0
