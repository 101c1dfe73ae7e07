"""Random requests to the server."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import Any, get_args, get_origin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.properties import examples

pytest.importorskip("starlette", reason="the extra serve is not installed")
pytest.importorskip("uvicorn", reason="the extra serve is not installed")

from monograph import Document, Monograph
from monograph.app.serve.parameters import fields_of, item_of, without_none
from monograph.app.serve.route import Route
from monograph.app.serve.routes import ROUTES
from monograph.derive.summarize import load_summarizer
from support.api_server import BASE, Client, address, serving

# What changes folders is left to tests of its own: a name at random may be a folder.
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
    inner, _ = without_none(hint)
    item = item_of(inner)
    if item is not None:
        return st.lists(values(item), max_size=3)
    if dataclasses.is_dataclass(inner):
        return asked(inner)
    if inner is bool:
        return st.booleans()
    if inner is int:
        return NUMBERS
    if inner is float:
        return st.floats(allow_nan=True) | st.floats(0, 1)
    if get_origin(inner) is not None and get_args(inner):
        return st.sampled_from(get_args(inner))
    return TEXTS


def asked(kind: Any) -> st.SearchStrategy[dict[str, Any]]:
    known = fields_of(kind)
    right = st.fixed_dictionaries(
        {name: values(hint) for name, (hint, must) in known.items() if must and name != "file"},
        optional={name: values(hint) for name, (hint, must) in known.items() if not must and name != "file"},
    )
    return right | st.dictionaries(st.sampled_from([*known, "other"]), TEXTS | NUMBERS | st.none(), max_size=3)


def sent(client: Client, route: Route, parameters: dict[str, Any]) -> tuple[int, bytes]:
    if route.method == "POST":
        body = json.dumps(parameters).encode()
        reply = client.ask("POST", BASE + route.path, body, {"Content-Type": "application/json"})
    else:
        given = {name: "" if value is None else value for name, value in parameters.items()}
        reply = client.ask(route.method, address(route.path, **given).replace("\0", "%00"))
    return reply.status, reply.body


@pytest.mark.parametrize(
    "route", [one for one in ROUTES if one.path not in LEFT], ids=lambda one: f"{one.method} {one.path}"
)
@settings(max_examples=examples(15))
@given(data=st.data())
def test_random_requests_are_answered_or_refused(client: Client, route: Route, data: st.DataObject) -> None:
    parameters = data.draw(asked(route.asks))
    status, body = sent(client, route, parameters)
    assert status in (200, 201, 202, 400, 404, 409, 429), (route.path, parameters, body[:300])
    if status >= 400:
        assert set(json.loads(body)) == {"error", "mend", "kind"}
        assert json.loads(body)["error"]
    assert client.get("/jobs").status == 200
