"""Filters: what is understood, what is refused, and that SQL and Python mean the same."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Document, Monograph, Passage
from monograph import where as filters
from monograph.errors import InvalidFilter
from monograph.store.documents.filters import compile_condition, rows
from monograph.store.vectors import vectors
from monograph.vectors.columns import Columns
from support.properties import examples

Values: TypeAlias = dict[str, Any]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.5, -1.5, 2.0]),
    st.sampled_from(["", "a", "ab", "B", "ß", "2"]),
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=3), st.just({"x": 1}))
KEYS = st.sampled_from(["k", "m", "it's", 'q"uote', "a.b", "k.$", "and1"])
METADATA = st.dictionaries(KEYS, VALUES, max_size=4)
PRESENT = SCALARS.filter(lambda value: value is not None)


def leaf(key: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        st.tuples(st.sampled_from(["==", "!="]), SCALARS),
        st.tuples(st.sampled_from([">", ">=", "<", "<=", "contains"]), PRESENT),
        st.tuples(st.sampled_from(["in", "nin", "any", "all"]), st.lists(SCALARS, max_size=3)),
        st.tuples(st.sampled_from(["text_match", "text_match_insensitive"]), st.sampled_from(["", "a", "b", "SS"])),
        st.tuples(st.just("is_empty"), st.just(True)),
    ).map(lambda pair: {key: {pair[0]: pair[1]}})


FILTERS = st.recursive(
    KEYS.flatmap(leaf),
    lambda inner: st.tuples(st.sampled_from(["and", "or", "not", "$and", "$or"]), st.lists(inner, max_size=3)).map(
        lambda pair: {pair[0]: pair[1]}
    ),
    max_leaves=6,
)


@settings(max_examples=examples(120))
@given(all_metadata=st.lists(METADATA, min_size=1, max_size=8), own=METADATA, where=FILTERS)
def test_filters_match_as_their_python_oracle(all_metadata: list[Values], own: Values, where: Values) -> None:
    condition = filters.parse(where)
    with TemporaryDirectory() as folder, Monograph.open(Path(folder) / "x.mono") as monograph:
        monograph.add(
            Document(
                id=f"d{n}",
                metadata=metadata,
                passages=(Passage("plain", id=f"{n}/0"), Passage("own", id=f"{n}/1", metadata=own)),
            )
            for n, metadata in enumerate(all_metadata)
        )
        expected = {
            f"{n}/{part}"
            for n, metadata in enumerate(all_metadata)
            for part, merged in enumerate((metadata, {**metadata, **own}))
            if filters.matches(condition, merged)
        }
        with monograph._file.database.read() as connection:
            found = rows(connection, compile_condition(condition)).tolist()
            names = dict(connection.execute("SELECT chunk, id FROM chunks"))
        assert {names[row] for row in found} == expected


@settings(max_examples=examples(60))
@given(all_metadata=st.lists(METADATA, min_size=1, max_size=8), own=METADATA, asked=st.lists(FILTERS, max_size=12))
def test_column_filters_match_as_sql(all_metadata: list[Values], own: Values, asked: list[Values]) -> None:
    conditions = [filters.parse({**where, "$title": {"!=": f"title {n}"}}) for n, where in enumerate(asked)]
    with TemporaryDirectory() as folder, Monograph.open(Path(folder) / "x.mono") as monograph:
        monograph.add(
            Document(
                id=f"d{n}",
                title=f"title {n}",
                metadata={**metadata, "large": 2**70 + n, "other": [n, {"x": n}]},
                passages=(Passage(f"plain {n % 3}", id=f"{n}/0"), Passage("own", id=f"{n}/1", metadata=own)),
            )
            for n, metadata in enumerate(all_metadata)
        )
        more: tuple[dict[str, Any], ...] = ({"large": 2**70}, {"large": {"<": 2**70}}, {"other": {"contains": 1}})
        conditions += [filters.parse(where) for where in more]
        with monograph._file.database.read() as connection:
            columns = Columns(connection)
            for condition in conditions:
                assert condition is not None
                wanted = vectors.allowed_bits(connection, compile_condition(condition))
                assert columns.allowed_bits(connection, condition).tolist() == wanted.tolist()


def test_second_filter_on_a_key_finds_the_same(monograph: Monograph) -> None:
    def found(where: dict[str, Any]) -> set[str]:
        return {hit.chunk.document_id for hit in monograph.search("owl", how="dense", k=50, where=where)}

    def wanted(where: dict[str, Any]) -> set[str]:
        return {name for name, year in years.items() if filters.matches(filters.parse(where), {"year": year})}

    asked = [{"year": year} for year in (2019, 2020, 2021)] + [{"year": {">": 2020}}, {"year": {"!=": 2019}}]
    years: dict[str, int] = {}
    for number in range(20):
        years[f"{number}"] = 2019 + number % 4
        document = Document(f"owl {number}", id=f"{number}", metadata={"year": years[f"{number}"]})
        monograph.add([document])  # The file is another: nothing is kept.
        for where in (*asked, *asked[:2]):
            assert found(where) == wanted(where)


@pytest.fixture
def filled(monograph: Monograph) -> Monograph:
    ann, bob = {"year": 2020, "tags": ["x", "y"], "who": "Ann"}, {"year": 2023, "tags": [], "who": "Bob"}
    monograph.add([
        Document("apples are red", id="one", title="Fruit", uri="/a", metadata=ann),
        Document("apples are green", id="two", title="Fruit too", uri="/b", metadata=bob),
        Document("apples are blue", id="three", metadata={"draft": True}),
    ])  # fmt: skip
    return monograph


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ({}, {"one", "two", "three"}),
        ({"year": 2020}, {"one"}),
        ({"year": {">=": 2020, "<": 2023}}, {"one"}),
        ({"year": {"$gte": 2020}, "who": {"$ne": "Ann"}}, {"two"}),
        ({"$or": [{"year": 2023}, {"draft": True}]}, {"two", "three"}),
        ({"not": {"year": {">": 0}}}, {"three"}),
        ({"tags": {"contains": "x"}}, {"one"}),
        ({"tags": {"any": ["y", "z"]}}, {"one"}),
        ({"tags": {"all": ["x", "y"]}}, {"one"}),
        ({"tags": {"is_empty": True}}, {"two", "three"}),
        ({"who": {"text_match_insensitive": "aN"}}, {"one"}),
        ({"who": {"text_match": "aN"}}, set()),
        ({"year": {">": "2000"}}, set()),
        ({"$title": {"text_match": "too"}}, {"two"}),
        ({"$document": "one"}, {"one"}),
        ({"$document": {"nin": ["one", "two"]}}, {"three"}),
        ({"$uri": {"in": ["/a", "/b"]}}, {"one", "two"}),
        ({"and": []}, {"one", "two", "three"}),
        ({"or": []}, set()),
        ({"x'; DROP TABLE chunks; --": "y"}, set()),
        ({"who": "' OR 1=1 --"}, set()),
        ({"year": 10**30}, set()),
        ({"year": {"<": 10**30}}, {"one", "two"}),
    ],
)
@pytest.mark.parametrize(
    "how", ["lexical", "dense", *(pytest.param(how, marks=pytest.mark.long) for how in ("hybrid", "tfidf"))]
)
def test_every_search_mode_applies_filters(filled: Monograph, where: dict[str, Any], found: set[str], how: str) -> None:
    hits = filled.search("apples", 10, how=how, where=where)
    assert {hit.chunk.document_id for hit in hits} == found


def nested(depth: int) -> dict[str, Any]:
    return {"k": 1} if depth == 0 else {"not": nested(depth - 1)}


@pytest.mark.parametrize(
    "where",
    [{"k": {"like": "x"}}, {"k": {}}, {"$nope": 1}, {"k": {"in": 3}}, {"k": {"in": "abc"}}, {"k": [1, 2]}, {"k": {"==": [1]}}, {1: 2},
     {"and": [3]}, {"k": {">": None}}, {"k": {"text_match": 3}}, {"k": object()}, {"k": float("nan")}, {"or": "x"}, [1], nested(40)],
)  # fmt: skip
def test_invalid_filters_are_refused(where: Any) -> None:
    with pytest.raises(InvalidFilter) as caught:
        filters.parse(where)
    assert caught.value.hint
