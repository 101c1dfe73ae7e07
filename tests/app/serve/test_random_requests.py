"""Random requests to the server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args, get_origin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from monograph import Document, Monograph
from monograph.derive.loading import load_summarizer
from support.api_server import OPERATIONS, Client, Operation, serving
from support.properties import examples

# Not tested here: operations on folders, because a random name may be a real folder, and streams of events.
LEFT = ("/sync", "/plan", "/upload", "/changes", "/job/events")
TEXTS = st.sampled_from(("boiler", "Mrs Grubb", "J. Smith", "", "0", "17-22", "year >= 3", '{"a": {"in": [1]}}', "tree:detail=2", "😀", "\0", "%", "x" * 5_000)) | st.text(max_size=20)  # fmt: skip
NUMBERS = st.integers(-3, 30) | st.sampled_from((10**9, 2**63, -(2**70)))


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    path = tmp_path_factory.mktemp("fuzzed") / "notes.mono"
    with Monograph.open(path, summarizer=load_summarizer("extractive")) as notes:
        notes.add(
            Document(f"Mrs Grubb repaired the boiler of J. Smith {n} times.", id=f"{n}", metadata={"year": n})
            for n in range(40)
        )
        with serving({"notes": notes}, write=True) as made:
            yield made


def values(hint: Any) -> st.SearchStrategy[Any]:
    if get_origin(hint) is tuple:
        return st.lists(values(get_args(hint)[0]), max_size=3)
    if get_origin(hint) is Literal:
        return st.sampled_from(get_args(hint))
    if get_origin(hint) is not None:
        return st.one_of(
            [values(one) for one in get_args(hint) if isinstance(one, type)] or [values(get_args(hint)[0])]
        )
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return parameters(hint.model_fields)
    return {bool: st.booleans(), int: NUMBERS, float: st.floats(allow_nan=True) | st.floats(0, 1)}.get(hint, TEXTS)


def parameters(known: Mapping[str, FieldInfo]) -> st.SearchStrategy[dict[str, Any]]:
    given = {name: values(field.annotation) for name, field in known.items() if name != "file"}
    right = st.fixed_dictionaries(
        {name: some for name, some in given.items() if known[name].is_required()},
        optional={name: some for name, some in given.items() if not known[name].is_required()},
    )
    return right | st.dictionaries(st.sampled_from([*known, "other"]), TEXTS | NUMBERS | st.none(), max_size=3)


@pytest.mark.parametrize("route", [route for route in OPERATIONS if route.path not in LEFT], ids=str)
@settings(max_examples=examples(15))
@given(data=st.data())
def test_random_requests_are_answered_or_refused(client: Client, route: Operation, data: st.DataObject) -> None:
    given = data.draw(parameters(route.parameters))
    if not route.takes_json:
        given = {name: "" if value is None else value for name, value in given.items()}
    reply = client.call(route, given)
    assert reply.status in (200, 201, 202, 400, 404, 409, 429), (route.path, given, reply.body[:300])
    if reply.status >= 400:
        assert set(reply.json) == {"error", "hint", "kind"}
        assert reply.json["error"]
    assert client.get("/jobs").status == 200
