"""Small deterministic local server of vectors and rerank scores, which fails on demand.

Vectors are those of :class:`support.models.HashEmbedder`, times 3. A document's score is the share of the query's words
that it contains.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.models import HashEmbedder

Fault = int | str | Callable[[Any], Any]
"""Status, ``stall`` (until the server closes), ``reset`` (no reply), ``cut`` (half of it), or function of the reply."""


@dataclass
class Asked:
    path: str
    body: dict[str, Any]
    token: str


@dataclass
class VectorServer:
    """Server that runs within a ``with`` block; ``asked`` has all requests in order."""

    dimension: int = 16
    most_texts: int = 10_000
    most_characters: int = 10**9
    packed: bool = False
    tei: bool = False
    asked: list[Asked] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def __enter__(self) -> VectorServer:
        self.closing = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._http.daemon_threads = True
        self._http.owner = self  # type: ignore[attr-defined]
        self._http.handle_error = lambda *_: None  # type: ignore[method-assign] # clients hang up
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def texts(self) -> list[str]:
        """Return all texts that were sent to be embedded, in order."""
        return [text for one in self.asked if one.path.endswith("/embeddings") for text in one.body["input"]]

    @property
    def documents(self) -> list[str]:
        """Return all texts that were sent to be scored, in order."""
        return [text for one in self.asked if one.path.endswith("/rerank") for text in documents_of(one.body)]

    def fail(self, fault: Fault, times: int = 1) -> None:
        self.faults += [fault] * times

    def vectors(self, body: dict[str, Any]) -> dict[str, Any]:
        vectors = HashEmbedder(body.get("dimensions") or self.dimension).embed(body["input"]) * 3
        rows = [base64.b64encode(row.tobytes()).decode() if self.packed else row.tolist() for row in vectors]
        data = [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)]
        return {"object": "list", "data": data[::-1], "usage": {"prompt_tokens": 1, "total_tokens": 1}}

    def scores(self, body: dict[str, Any]) -> Any:
        words, field = set(body["query"].lower().split()), "score" if self.tei else "relevance_score"
        scores = [len(words & set(text.lower().split())) / len(words) for text in documents_of(body)]
        data = [{"index": index, field: score} for index, score in enumerate(scores)]
        data.sort(key=lambda entry: -entry[field])
        return data if self.tei else {"id": "1", "results": data}


def documents_of(body: dict[str, Any]) -> list[str]:
    texts: list[str] = body["documents"] if "documents" in body else body["texts"]
    return texts


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        owner: VectorServer = self.server.owner  # type: ignore[attr-defined]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        owner.asked.append(Asked(self.path, body, self.headers.get("Authorization", "").removeprefix("Bearer ")))
        fault = owner.faults.pop(0) if owner.faults else None
        is_known = self.path.endswith(("/embeddings", "/rerank"))
        texts = (body["input"] if "input" in body else documents_of(body)) if is_known else []
        if fault == "stall":
            owner.closing.wait()
            self.close_connection = True
        elif fault == "reset":
            self.close_connection = True
        elif isinstance(fault, int):
            self._reply(fault, {"error": {"message": f"told to fail with {fault}"}})
        elif not is_known:
            self._reply(404, {"error": {"message": "no such path"}})
        elif len(texts) > owner.most_texts:
            self._reply(413, {"error": {"message": f"batch size {len(texts)} > {owner.most_texts}"}})
        elif owner.tei and "texts" not in body and "input" not in body:
            self._reply(422, {"error": "Failed to deserialize the JSON body: missing field `texts`"})
        elif any(len(text) > owner.most_characters for text in texts):
            self._reply(400, {"error": {"message": "input is too long"}})
        else:
            reply = owner.vectors(body) if self.path.endswith("/embeddings") else owner.scores(body)
            self._reply(200, fault(reply) if callable(fault) else reply, cut=fault == "cut")

    def _reply(self, status: int, value: Any, *, cut: bool = False) -> None:
        raw = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw[: len(raw) // 2] if cut else raw)
        self.close_connection = self.close_connection or cut
