"""Dates and persons in texts and questions, in any spelling."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from monograph import Document, Monograph
from monograph.dates.relative import days_near, days_without_year
from monograph.dates.span import day_of_text, days_in
from monograph.graph.names import split_joined_words
from support.properties import examples

FORMS = [
    "{day:%Y-%m-%d}", "{day:%Y/%m/%d}", "{day:%Y%m%d}", "{day:%Y%m%d}_11:00", "{day.day}.{day.month}.{day.year}",
    "{day.day} {day:%B} {day.year}", "{day:%B} {day.day}, {day.year}", "{day:%b} {day.day}th {day.year}",
    "{day.year}年{day.month}月{day.day}日",
]  # fmt: skip


@settings(max_examples=examples(100))
@given(st.dates(date(1900, 1, 1), date(2099, 12, 31)), st.sampled_from(FORMS))
def test_every_form_of_a_day_is_that_day(day: date, form: str) -> None:
    text = f"It was agreed on {form.format(day=day)} in the end, and on {day + timedelta(1)} again."
    assert days_in(text) == [day.isoformat(), (day + timedelta(1)).isoformat()]


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("am 3. Oktober 1990", ["1990-10-03"]),
        ("el 12 de octubre de 1992", ["1992-10-12"]),
        ("le 1er janvier 2000", ["2000-01-01"]),
        ("04/10/2026 could be two days", []),
        ("2026-13-01, 2026-02-30, 31 February 2026", []),
        ("120260410 20260410x X20260410 2026041", []),
        ("In April 2026, on 10 April, in 2026", []),
        ("", []),
    ],
)
def test_days_that_do_not_exist_are_no_dates(text: str, days: list[str]) -> None:
    assert days_in(text) == days


YEARLESS = ["{day.day} {day:%B}", "{day:%B} {day.day}", "{day:%b} {day.day}th", "{day.month}月{day.day}日"]


@settings(max_examples=examples(100))
@given(st.dates(date(1950, 1, 1), date(2050, 12, 31)), st.integers(-180, 180), st.sampled_from(YEARLESS))
@example(date(1999, 10, 1), 151, YEARLESS[0])  # 29 February
def test_a_day_without_a_year_is_the_nearest_one(own: date, away: int, form: str) -> None:
    day = own + timedelta(away)
    text = f"Shall we meet on {form.format(day=day)}, then?"
    assert [told for _, told in days_near(text, own)] == [day.isoformat()]
    assert days_without_year(text) == [(day.month, day.day)]


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("See you tomorrow, or the day after tomorrow.", ["2026-05-07", "2026-05-08"]),
        ("Yesterday I was tired, and the day before yesterday too.", ["2026-05-05", "2026-05-04"]),
        ("next Friday, this Wednesday, coming Tuesday", ["2026-05-08", "2026-05-13", "2026-05-12"]),
        ("last Friday and last Wednesday", ["2026-05-01", "2026-04-29"]),
        ("Gestern und vorgestern; nächsten Montag, letzten Sonntag", ["2026-05-05", "2026-05-04", "2026-05-11", "2026-05-03"]),
        ("ayer, pasado mañana, próximo lunes", ["2026-05-05", "2026-05-08", "2026-05-11"]),
        ("昨天没空,明天见", ["2026-05-05", "2026-05-07"]),
        ("on Sunday, today, Guten Morgen, esta mañana", []),
        ("3 May 2025, May 3, 2024, 2026年5月3日, May 12:30, 30 February, 12/3 May", []),
        ("the player, Ayers Rock", []),
    ],
)  # fmt: skip
def test_relative_days_are_counted_from_the_day_of_the_text(text: str, days: list[str]) -> None:
    assert [day for _, day in days_near(text, date(2026, 5, 6))] == days


@pytest.mark.parametrize(
    ("title", "text", "day"),
    [
        ("Chat 2026-04-10 11:00", "Hello.", date(2026, 4, 10)),
        ("", "Time: 20260410_11:00\nAnn: Hello.", date(2026, 4, 10)),
        ("", "1:56 pm on 8 May, 2023\nAnn: Hello.", date(2023, 5, 8)),
        ("Ann Lee", "Ann Lee (born 3 May 1970) was a singer.", None),
        ("From 3 May 1970 to 4 May 1970", "Hello.", None),
        ("", "", None),
    ],
)
def test_day_of_a_text_is_read_from_its_head(title: str, text: str, day: date | None) -> None:
    assert day_of_text(title, text) == day


def test_a_chat_leads_to_the_day_that_it_tells_from_its_own(monograph: Monograph) -> None:
    plan = "Time: 20260409_11:00\n\nAnn: The raft of WandaLee is finished, and tried out tomorrow.\n"
    monograph.add([*chats(), Document(plan, id="plan", title="Raft")])
    named = {one.name for one in monograph.graph.neighbourhood("2026-04-10").entities}
    assert "WandaLee" in named
    hits = monograph.search("What did they train on the day on which the raft was tried out?", k=5, how="graph")
    assert "chat-10" in [hit.chunk.document_id for hit in hits]


def test_a_question_finds_the_day_it_names_with_or_without_a_year(monograph: Monograph) -> None:
    monograph.add(chats())
    days = ("17 April", "April 17th", "17. April", "20260417", "2026-04-17", "17 April 2026", "April 17th, 2026")
    for day in days:
        best = monograph.search(f"When did they want to train on {day}?", k=1, how="graph")[0]
        assert best.chunk.document_id == "chat-17", day


def test_a_day_without_a_year_is_none_that_the_file_knows_in_many(monograph: Monograph) -> None:
    years = [
        Document(f"Minutes of {year}.", id=f"of-{year}", title=f"Meeting of {year}-04-17") for year in range(2000, 2020)
    ]
    monograph.add(years)
    assert not monograph.search("What was said on 17 April?", k=1, how="graph")[0].path


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("JenniferMoore", "Jennifer Moore"),
        ("ChaeSong-hwa", "Chae Song-hwa"),
        ("ÉmilieDurand", "Émilie Durand"),
        ("McDonald", "McDonald"),
        ("Jennifer Moore", "Jennifer Moore"),
        ("IBM", "IBM"),
        ("iPhone", "iPhone"),
        ("", ""),
    ],
)
def test_names_written_as_one_word_are_split(name: str, parts: str) -> None:
    assert split_joined_words(name) == parts


def chats() -> list[Document]:
    return [
        Document(
            f"Time: 202604{day:02}_11:00\n\nJenniferMoore: Shall we train at six?\nAlanPoe: Six is fine, Jennifer.\n",
            id=f"chat-{day}",
            title=f"Chat 2026-04-{day:02} 11:00",
        )
        for day in range(1, 29)
    ]


def test_speakers_are_persons_of_several_words(monograph: Monograph) -> None:
    monograph.add([*chats(), Document("AlanPoe: Did you read it, Wanda?\nWandaLee: I did.\n", id="book", title="Book")])
    names = {one.name: one.names for one in monograph.graph.entities(500)}
    assert names["JenniferMoore"] == ("JenniferMoore", "Jennifer")
    assert names["WandaLee"] == ("WandaLee", "Wanda")
    assert "AlanPoe" in names
    assert monograph.graph.neighbourhood("Wanda Lee").entities[0].name == "WandaLee"
    for asked in ("What did Wanda Lee say?", "What did WandaLee say?", "What did Wanda say?"):
        assert monograph.search(asked, k=1, how="graph")[0].chunk.document_id == "book"
