"""Periods that questions ask for, and promotion of hits from them."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Document, Hit, Monograph
from monograph.dates.relative import TIMES, requested_periods
from monograph.dates.span import FIRST, LAST, MONTH_NAMES, Dated, TimeSpan, of_day, parse
from monograph.search import rerank
from monograph.values import Chunk, Origin
from support.properties import examples

TODAY = date(2026, 3, 18)  # A Wednesday.
MONTHS = [month.split()[0] for month in MONTH_NAMES]


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("What happened yesterday?", ["2026-03-17"]),
        ("today or the day before yesterday", ["2026-03-18", "2026-03-16"]),
        ("last week", ["2026-03-09/2026-03-15"]),
        ("this month", ["2026-03"]),
        ("last month", ["2026-02"]),
        ("previous year", ["2025"]),
        ("last Friday", ["2026-03-13"]),
        ("last Wednesday", ["2026-03-11"]),
        ("in the past 10 days", ["2026-03-08/2026-03-18"]),
        ("three days ago", ["2026-03-15"]),
        ("a week ago", ["2026-03-08/2026-03-14"]),
        ("in March 2023", ["2023-03"]),
        ("in Sept. 2023", ["2023-09"]),
        ("during April", ["2025-04"]),
        ("in March", ["2026-03"]),
        ("in 2024", ["2024"]),
        ("on 5 May", ["2025-05-05"]),
        ("on the 5th of May, 2024", ["2024-05-05"]),
        ("on March 1st", ["2026-03-01"]),
        ("on 29 February", ["2024-02-29"]),
        ("on 30 February", []),
        ("published on September 28, 2023, and 30 September 2023", ["2023-09-28", "2023-09-30"]),
        ("their discussion on 20260410", ["2026-04-10"]),
        ("between 2 and 9 June 2023", ["2023-06-02/2023-06-09"]),
        ("between March 2 and March 9", ["2026-03-02/2026-03-09"]),
        ("from January 2026 to 3 March 2026", ["2026-01-01/2026-03-03"]),
        ("May the price of 2000 lamps march on? It was said by April. 31 February, 20269999, by 2019", []),
        ("between 9 and 2 June 2023, 0000-00-00, 999 years", []),
        ("", []),
    ],
)
def test_questions_ask_for_a_period(question: str, wanted: list[str]) -> None:
    def shown(span: TimeSpan) -> str:
        return str(span) if "/" not in str(span) else f"{span.first_day}/{span.last_day}"

    assert [shown(one) for one in requested_periods(question, TODAY)] == wanted
    assert TIMES.search(question) or not wanted


@given(st.dates(date(1900, 1, 1), date(2099, 12, 31)), st.dates(date(1900, 1, 1), date(2099, 12, 31)))
def test_days_and_months_are_found_in_any_form(day: date, today: date) -> None:
    name = MONTHS[day.month - 1]
    for written in (f"{day.day} {name} {day.year}", f"{name} {day.day}, {day.year}", f"{day:%Y-%m-%d}"):
        assert requested_periods(f"Who wrote on {written}?", today) == (of_day(day),)
    assert requested_periods(f"Who wrote in {name} {day.year}?", today) == (parse(f"{day:%Y-%m}"),)
    (near,) = requested_periods(f"Who wrote in {name}?", today)
    assert near.first <= of_day(today).last and of_day(today).first - near.first <= 366 * 86_400


WORDS = st.sampled_from(
    ["last", "past", "this", "a", "3", "999", "0", "days", "week", "months", "ago", "between", "from", "and",
     "to", "on", "in", "31", "29th", "of", "February", "March,", "May", "2023", "1900", "20230229",
     "2023-02-29", "yesterday", "the", "10"]
)  # fmt: skip


@settings(max_examples=examples(150))
@given(st.lists(WORDS | st.text(max_size=5), max_size=12).map(" ".join), st.dates())
def test_periods_of_any_question_are_possible(question: str, today: date) -> None:
    for one in requested_periods(question, today):
        assert FIRST <= one.first <= one.last <= LAST


def hit(rank: int, day: int | None, exact: bool) -> Hit:
    told = None if day is None else Dated(of_day(TODAY + timedelta(day)), "metadata")
    chunk = Chunk(f"{rank}", f"{rank}", "x", 0, 1, 0)
    origins = (Origin("exact" if exact else "dense", rank, 1.0),)
    return Hit(chunk, 5.0 - rank / 10, rank, "", "", {}, origins, relevance=1 - rank / 100, date=told)


@given(st.lists(st.tuples(st.none() | st.integers(0, 3), st.booleans()), max_size=30), st.integers(1, 20))
def test_promotion_is_bounded_and_keeps_the_order_of_scores(days: list[tuple[int | None, bool]], k: int) -> None:
    found = [hit(rank, day, exact) for rank, (day, exact) in enumerate(sorted(days, key=lambda one: not one[1]))]
    asked = (of_day(TODAY),)
    made = rerank.move_up_requested(found, asked, k)
    assert len(made) == min(k, len(found))
    assert [one.rank for one in made] == list(range(len(made)))
    assert [(one.score, one.relevance) for one in made] == [(one.score, one.relevance) for one in found[:k]]
    assert rerank.move_up_requested(found, (), k) == found[:k]
    was = [int(one.chunk.id) for one in made]
    told = {one.rank for one in found if one.date is not None and one.date.when == of_day(TODAY)}
    exact = {one.rank for one in found if one.origins[0].retriever == "exact"}
    assert all(at - rank <= rerank.PLACES if at in told else rank >= 0 for rank, at in enumerate(was))
    for group in (told & exact, told - exact, exact - told, set(range(len(found))) - told - exact):
        assert [at for at in was if at in group] == sorted(at for at in was if at in group)
    assert [at in exact for at in was] == sorted((at in exact for at in was), reverse=True)
    if told and len(told) < len(found):
        assert {int(one.chunk.id) for one in made if one.origins[-1].retriever == "time"} == told & set(was)


NEWS = [
    ("jan", "2026-01-10", "The lamp of the lighthouse was broken by the storm."),
    ("feb", "2026-02-10", "The lamp of the lighthouse was broken by the storm again, as the keeper said."),
    ("mar", "2026-03-18", "The keeper of the lighthouse bought a lamp."),
]


@pytest.mark.parametrize("graph", [True, False])
def test_hits_of_the_requested_period_come_first(monograph: Monograph, graph: bool) -> None:
    monograph.add([Document(text, id=name, metadata={"date": day}) for name, day, text in NEWS])
    if graph:
        monograph.graph.build()

    def first(question: str, how: str = "auto") -> str:
        return monograph.search(question, 1, how)[0].chunk.document_id

    for question in ("What broke the lamp of the lighthouse in {}?", "the keeper's lamp in {}"):
        assert [first(question.format(one)) for one in ("January", "February 2026", "March")] == ["jan", "feb", "mar"]
    assert first("Who had a lamp of the lighthouse last month?") == "feb"
    found = monograph.search("What broke the lamp of the lighthouse in March?", 3)
    assert found[0].origins[-1].retriever == "time" and "time #" in found[0].explain()
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    within = monograph.within({"as_of": "2026-02"})
    assert within.search("lamp last month", 1)[0].chunk.document_id == "jan"  # The newest document is of February.


def test_searches_without_a_date_are_unchanged(monograph: Monograph, tmp_path: object) -> None:
    monograph.add([Document(text, id=name) for name, _, text in NEWS])
    monograph.graph.build()
    for question in ("What broke the lamp in January 2026?", "What did the keeper of the lighthouse buy last week?"):
        assert repr(monograph.search(question, 2)) in [
            repr(monograph.search(question, 2, how)) for how in ("graph", "hybrid")
        ]
    monograph.add([Document(text, id=name, metadata={"date": day}) for name, day, text in NEWS])
    for question in ("What broke the lamp?", "What did the keeper of the lighthouse buy?"):
        assert repr(monograph.search(question, 2)) in [
            repr(monograph.search(question, 2, how)) for how in ("graph", "hybrid")
        ]
