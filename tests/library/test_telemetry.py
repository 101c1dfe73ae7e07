"""OpenTelemetry is told of searches, syncs and requests to models, and of no text unless that is asked for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from monograph import telemetry
from support.model_server import ModelServer
from support.vector_server import VectorServer

pytest.importorskip("opentelemetry.sdk", reason="OpenTelemetry's SDK is not installed")

PROGRAM = """
import json, sys
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from monograph import Document, Monograph
from monograph.derive.loading import load_embedder
from monograph.derive.loading import load_extractor
from monograph.derive.openai_compatible import OpenAICompatible
from monograph.errors import ModelUnavailable

spans, counts = InMemorySpanExporter(), InMemoryMetricReader()
path, url, vectors = sys.argv[1:]
model = OpenAICompatible(url, "scripted", retries=0)
archive = Monograph.open(path, model=model)
archive.add([Document("Written before anyone listens.", id="early")])
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)
metrics.set_meter_provider(MeterProvider([counts]))
archive.add([Document("Ada Lovelace wrote to Charles Babbage about the engine.", id="letter")])
archive.search("Who wrote to Charles Babbage?", 3)
archive.search("Babbage", 2, "hybrid")
archive.search("Babbage", 2, reranker=f"rerank:{vectors}#scorer")
archive.ask("Who wrote to Babbage?")
load_embedder(f"openai:{vectors}#embedder").embed(["Ada Lovelace"])
archive.graph.rebuild(load_extractor(f"llm:openai:{url}#scripted"))
for piece in model.stream("Unfinished.", 5):
    break
try:
    OpenAICompatible("http://127.0.0.1:9/v1", "gone", retries=0).complete("Who is Babbage?", 5)
except ModelUnavailable:
    pass
names = {one.context.span_id: one.name for one in spans.get_finished_spans()}
told = [
    {
        "name": one.name,
        "within": one.parent and names.get(one.parent.span_id),
        "attributes": dict(one.attributes),
        "status": one.status.status_code.name,
        "said": one.status.description,
        "events": len(one.events),
    }
    for one in spans.get_finished_spans()
]
data = json.loads(counts.get_metrics_data().to_json())
print(json.dumps([told, data["resource_metrics"][0]["scope_metrics"][0]["metrics"]]))
"""

STAGES = {f"monograph.search.{one}" for one in ("question", "words", "vectors", "word_for_word", "walk")}
SERVED = {"embeddings", "rerank"}


def told(place: Path, *, captured: bool) -> tuple[list[dict[str, Any]], dict[str, list[dict[str, Any]]]]:
    """The spans of a program, in the order they ended, and what each metric counted."""
    environment = {**os.environ, telemetry.CAPTURE: "true" if captured else "false"}
    with ModelServer() as server, VectorServer() as vectors:
        command = [sys.executable, "-c", PROGRAM, str(place / "x.mono"), server.url, vectors.url]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    spans, metrics = json.loads(done.stdout.splitlines()[-1])
    return spans, {one["name"]: one["data"]["data_points"] for one in metrics}


@pytest.mark.parametrize("captured", [False, True])
def test_telemetry_spans_have_expected_attributes(tmp_path: Path, captured: bool) -> None:
    spans, metrics = told(tmp_path, captured=captured)
    searches = [one for one in spans if one["name"] == "monograph.search"]
    assert [one["attributes"]["monograph.search.mode"] for one in searches] == ["auto", "hybrid", "auto", "auto"]
    assert [one["attributes"]["monograph.search.k"] for one in searches] == [3, 2, 2, 10]
    assert all(one["attributes"]["monograph.search.hits"] == 2 for one in searches[:1])
    assert {one["name"] for one in spans if one["within"] == "monograph.search"} >= STAGES
    assert any(one["name"] == "monograph.commit" and one["within"] == "monograph.add" for one in spans)
    assert sum(one["name"] == "monograph.add" for one in spans) == 1
    asked = [one for one in spans if one["name"].startswith("chat ")]
    answered = [one for one in asked if one["status"] == "UNSET" and "gen_ai.usage.input_tokens" in one["attributes"]]
    assert answered
    for one in answered:
        assert one["attributes"]["gen_ai.request.model"] == "scripted"
        assert one["attributes"]["server.address"] == "127.0.0.1"
        assert one["attributes"]["gen_ai.usage.output_tokens"] > 0
    served = {one["attributes"]["gen_ai.operation.name"]: one for one in spans if one["name"].split()[0] in SERVED}
    assert served.keys() == SERVED
    assert served["embeddings"]["attributes"]["gen_ai.usage.input_tokens"] == 1
    assert served["rerank"]["within"] == "monograph.search"
    failed = [one for one in asked if one["status"] == "ERROR"]
    assert [(one["name"], one["attributes"]["error.type"]) for one in failed] == [("chat gone", "ModelUnavailable")]
    assert not any(one["events"] for one in spans)
    texts = json.dumps([spans, metrics])
    assert ("Who wrote to Babbage?" in texts) is captured
    assert ("engine" in texts) is captured
    assert (failed[0]["said"] is not None) is captured

    assert sum(point["count"] for point in metrics["monograph.search.duration"]) == 4
    [stored] = metrics["monograph.documents"]
    assert (stored["attributes"], stored["value"]) == ({"monograph.outcome": "added"}, 1)
    tokens = {kind: sum(p["sum"] for p in metrics["gen_ai.client.token.usage"] if kind in p["attributes"].values())
              for kind in ("input", "output")}  # fmt: skip
    for kind, counted in tokens.items():
        told_of = [*answered, served["embeddings"]] if kind == "input" else answered
        assert counted == sum(one["attributes"][f"gen_ai.usage.{kind}_tokens"] for one in told_of)
    points = [point["attributes"] for point in metrics["gen_ai.client.operation.duration"]]
    kinds = [(one["gen_ai.operation.name"], one.get("error.type")) for one in points]
    assert set(kinds) == {("chat", None), ("chat", "ModelUnavailable"), ("embeddings", None), ("rerank", None)}


def test_telemetry_alone_does_not_import_opentelemetry() -> None:
    program = "import sys, monograph.telemetry as t\nwith t.span('x') as one: one.set({'a': 1})\nt.count('y', 1, '1')\n"
    looked = program + "print([name for name in sys.modules if 'opentelemetry' in name])"
    done = subprocess.run([sys.executable, "-c", looked], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
