"""Days and persons, however a text writes them: one entity, and found by a question that writes them otherwise."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Document, Monograph
from monograph.graph.dates import days_in
from monograph.graph.names import spaced

FORMS = [
    "{day:%Y-%m-%d}", "{day:%Y/%m/%d}", "{day:%Y%m%d}", "{day:%Y%m%d}_11:00", "{day.day}.{day.month}.{day.year}",
    "{day.day} {day:%B} {day.year}", "{day:%B} {day.day}, {day.year}", "{day:%b} {day.day}th {day.year}",
    "{day.year}年{day.month}月{day.day}日",
]  # fmt: skip


@settings(max_examples=100, deadline=None)
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
def test_only_whole_days_that_exist(text: str, days: list[str]) -> None:
    assert days_in(text) == days


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
def test_names_written_as_one_word(name: str, parts: str) -> None:
    assert spaced(name) == parts


def chats() -> list[Document]:
    return [
        Document(
            f"Time: 202604{day:02}_11:00\n\nJenniferMoore: Shall we train at six?\nAlanPoe: Six is fine, Jennifer.\n",
            id=f"chat-{day}",
            title=f"Chat 2026-04-{day:02} 11:00",
        )
        for day in range(1, 29)
    ]


@pytest.mark.parametrize("written", ["20260417", "2026-04-17", "17 April 2026", "April 17th, 2026"])
def test_a_question_finds_the_day_it_names(monograph: Monograph, written: str) -> None:
    monograph.add(chats())
    best = monograph.search(f"When did they want to train on {written}?", k=1, how="graph")[0]
    assert best.chunk.document_id == "chat-17"


def test_speakers_are_persons_of_several_words(monograph: Monograph) -> None:
    monograph.add([*chats(), Document("AlanPoe: Did you read it, Wanda?\nWandaLee: I did.\n", id="book", title="Book")])
    names = {one.name: one.names for one in monograph.graph.entities(500)}
    assert names["JenniferMoore"] == ("JenniferMoore", "Jennifer")
    assert names["WandaLee"] == ("WandaLee", "Wanda")
    assert "AlanPoe" in names
    assert monograph.graph.neighbourhood("Wanda Lee").entities[0].name == "WandaLee"
    for asked in ("What did Wanda Lee say?", "What did WandaLee say?", "What did Wanda say?"):
        assert monograph.search(asked, k=1, how="graph")[0].chunk.document_id == "book"
