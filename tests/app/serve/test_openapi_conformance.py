"""Conformance of the HTTP API to openapi.json, with random valid requests of each operation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.properties import examples

pytestmark = pytest.mark.long
schemathesis = pytest.importorskip("schemathesis", reason='schemathesis: pip install -e ".[test-long]"')
pytest.importorskip("pypdfium2", reason="the extra documents is not installed")

from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from monograph import Document, Monograph
from monograph.derive.loading import load_summarizer
from support.api_server import BASE, OPERATIONS, TOKEN, Client, Operation, serving

CHECKS = (schemathesis.checks.not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)  # fmt: skip
ENDLESS = "/changes"
DRAWN_BY = ("name",)
"""Parameters that every request gets. A picture needs a name or a question: here it is a name."""
JOBS = ("/sync", "/plan", "/retry", "/remove", "/sources/remove")
"""Operations that begin a job. They may answer 429, because the number of waiting jobs is limited."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Iterator[tuple[Client, dict[str, Any]]]:
    """Serve a file; yield a client, and the values of each parameter that refer to contents of the file."""
    folder = tmp_path_factory.mktemp("described")
    for name in ("notes", "spare"):
        (folder / name).mkdir()
    (folder / "notes" / "paper.pdf").write_bytes((shared / "data/ingest-files/pdf-outline.pdf").read_bytes())
    (folder / "spare" / "note.txt").write_text("Peter Okafor left.")
    with Monograph.open(folder / "notes.mono", summarizer=load_summarizer("extractive")) as notes:
        text = "Mrs Grubb repaired the boiler. Ines Calder saw Mrs Grubb."
        notes.add(Document(text, f"{n}", "Boiler", metadata={"year": n}) for n in range(9))
        notes.add([Document("Nobody needs this.", "spare")])
        notes.sync(folder / "notes", folder / "spare")
        with serving({"notes": notes}, write=True) as client:
            paper = client.get("/documents", like="paper").json["documents"][0]["id"]
            known = {
                "id": [paper],
                "/chunk id": [client.get("/document/chunks", id="1").json[0]["id"]],
                "/summary id": [client.get("/outline").json[0]["id"]],
                "q": ["Who repaired the boiler?", "boiler", "Ines Calder"],
                "name": ["Mrs Grubb"],
                "other": ["Ines Calder"],
                "how": ["auto", "lexical", "dense", "graph", "hybrid", "tree:detail=0.5"],
                "where": [["year >= 3"], ["year >= 1", '{"year": 2}'], []],
                "as_of": [""],
                "node": ["", client.get("/outline").json[0]["id"]],
                "mark": [["0-5"], ["3-9", "4-12"]],
                "page": [1],
                "/search file": [["notes"], []],
                "/search how": ["auto", "dense", "graph", "hybrid", "tree:detail=0.5"],  # They all allow ranked_recall.
                "stop": [""],
                "file": ["notes"],
                "sources": [[], [str(folder / "notes")]],
                "ids": [["spare"]],
                "/sources/remove root": ["spare"],
                "root": ["notes"],
                "/upload name": [f"{n}.txt" for n in range(1000)],
                "folder": [""],
                "/picture q": [""],
                "/picture/data q": [""],
            }  # fmt: skip
            yield client, known


def narrowed(client: Client, known: dict[str, Any], operation: Operation) -> Any:
    """Return the schema of one operation, in which parameters have only the values in ``known``."""
    schema = client.get("/openapi.json").json
    described = schema["paths"][BASE + operation.path][operation.method.lower()]
    schema["paths"] = {BASE + operation.path: {operation.method.lower(): described}}

    def values(name: str, default: dict[str, Any]) -> dict[str, Any]:
        chosen = known.get(f"{operation.path} {name}", known.get(name))
        return default if chosen is None else {"enum": chosen}

    for parameter in described.get("parameters", ()):
        parameter["schema"] = values(parameter["name"], parameter["schema"])
        parameter["required"] |= parameter["name"] in DRAWN_BY
    body = schema["components"]["schemas"].get(f"Body_{described['operationId']}", {"properties": {}})
    body["properties"] = {name: values(name, default) for name, default in body["properties"].items()}
    return schemathesis.openapi.from_dict(schema)[BASE + operation.path][operation.method]


@pytest.mark.parametrize("operation", [operation for operation in OPERATIONS if operation.path != ENDLESS], ids=str)
@settings(max_examples=examples(10), suppress_health_check=list(HealthCheck), deadline=None)
@given(data=st.data())
def test_valid_requests_are_answered_as_described(
    site: tuple[Client, dict[str, Any]], operation: Operation, data: st.DataObject
) -> None:
    client, known = site
    if operation.path in ("/job", "/job/events"):  # Jobs of other operations replace older jobs.
        known = known | {f"{operation.path} id": [client.done(client.post("/retry"))["id"]]}
    case = data.draw(narrowed(client, known, operation).as_strategy())
    if operation.path == "/names/unite":
        client.post("/names/apart", name="Mrs Grubb", other="Ines Calder")
    reply = case.call(base_url=f"http://127.0.0.1:{client.port}", headers={"Authorization": f"Bearer {TOKEN}"})
    case.validate_response(reply, checks=CHECKS)
    allowed = (409, 429) if operation.path in ("/upload", *JOBS) else ()
    assert reply.status_code < 300 or reply.status_code in allowed, (case, reply.content)
