"""A scripted language model behind a real socket, in the OpenAI form: for tests and benchmarks.

It is deterministic: it names the capitalised phrases of the text that it is shown, and relates those that follow each
other. Asked for Monograph's lines it answers in these; asked by LightRAG or MiniRAG it answers in their tuples or JSON,
with the delimiters that their prompts name. It counts calls and tokens, keeps what it was asked, and can be told to fail::

    with ModelServer() as server:
        server.fail(503, times=2)
        server.fail("garbage", containing="Paris")
        OpenAICompatible(server.url, "any").complete("...", 100)
        assert server.calls == 3
"""

from __future__ import annotations

import base64
import json
import re
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from embedders import HashEmbedder
from monograph.derive.tokens import count_tokens, tokenizer

ANSWERS = {
    "nothing": "",
    "garbage": "Sure! As an AI language model I cannot \ufffd\ufffd }}]] <|im_end|> lorem ipsum dolor.",
    "half": '```json\n{"entities": [{"na',
    "language": "好的。以下的文字没有提到任何实体，因此我无法回答这个问题。",
    "thinking": "<think>\nOkay, the user wants me to list the entities. First, I",
}
"""What a model says that does not do what it is asked, by the name of the fault."""

_PHRASE = re.compile(r"[^\W\d_][\w'’&.-]*(?:[ \n]+[^\W\d_][\w'’&-]*)*")
_COMMON_WORDS = (
    "a an and as at but by for from he her his i if in is it its my no not of on or our she so that the their then "
    "there these they this those to was we were what when where which who why with you your"
)
_COMMON = frozenset(_COMMON_WORDS.split())


@dataclass
class Fault:
    """What goes wrong with a request, how often, and with which: those whose prompt holds a text."""

    what: int | str
    times: float
    containing: str
    retry_after: str
    message: str


@dataclass
class Asked:
    """One request: its path, what was posted, its bearer token, and the text of its messages."""

    path: str
    body: dict[str, Any]
    token: str = ""
    prompt: str = ""


@dataclass
class ModelServer:
    """A server on a free port of this machine, from ``with`` to the end of its block.

    ``calls`` counts completions that were asked for, failed ones included; ``embeddings`` counts requests for vectors;
    ``tokens_in`` and ``tokens_out`` count what completions read and wrote, as they are reported.
    """

    dimension: int = 64
    models: tuple[str, ...] = ("scripted",)
    calls: int = 0
    embeddings: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    most_at_once: int = 0
    asked: list[Asked] = field(default_factory=list)
    usage: bool = True
    """Whether replies say how many tokens they took."""
    delay: float = 0.0
    """Seconds before each completion."""

    def __post_init__(self) -> None:
        self._faults: list[Fault] = []
        self._answers: list[tuple[str, str]] = []
        self._lock = threading.Lock()
        self._now = 0
        self.closing = threading.Event()
        self._http: _Server | None = None

    def __enter__(self) -> ModelServer:
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._http is not None
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """The base URL, up to and with ``/v1``."""
        assert self._http is not None, "use it in a with block"
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def tokens(self) -> int:
        """Tokens that completions read and wrote."""
        return self.tokens_in + self.tokens_out

    def fail(
        self, what: int | str, times: float = 1, containing: str = "", retry_after: str = "", message: str = ""
    ) -> None:
        """Let the next requests fail, those first told first.

        Parameters
        ----------
        what:
            A status; ``stall`` (no reply until the server closes), ``drip`` (a byte now and then), ``cut`` (the body
            breaks off), ``reset`` (the connection is closed), ``huge``, ``html``, ``no choices``; or a key of
            :data:`ANSWERS`: a reply in good form with that answer.
        times:
            How often; ``float("inf")`` for ever.
        containing:
            Only requests whose prompt holds this text.
        retry_after:
            The header of that name, with a status.
        message:
            What the body says, with a status.
        """
        with self._lock:
            self._faults.append(Fault(what, times, containing, retry_after, message))

    def say(self, answer: str, containing: str = "") -> None:
        """Answer every prompt that holds a text with this."""
        with self._lock:
            self._answers.append((containing, answer))

    def heal(self) -> None:
        """Forget faults and answers that were told."""
        with self._lock:
            self._faults.clear()
            self._answers.clear()

    def take(self, asked: Asked) -> Fault | None:
        """Note a request, and say what is to go wrong with it."""
        with self._lock:
            self.asked.append(asked)
            self.calls += asked.path.endswith("/completions")
            self.embeddings += asked.path.endswith("/embeddings")
            for fault in self._faults:
                if fault.times > 0 and fault.containing in asked.prompt:
                    fault.times -= 1
                    return fault
        return None

    def answer(self, asked: Asked, fault: Fault | None) -> tuple[str, str, int, int]:
        """Text, why it ends there, tokens read and written."""
        told = next((said for containing, said in self._answers if containing in asked.prompt), None)
        text = ANSWERS[str(fault.what)] if fault else answer_prompt(asked.prompt) if told is None else told
        most = asked.body.get("max_tokens") or asked.body.get("max_completion_tokens")
        read, written = count_tokens([asked.prompt, text])
        reason = "stop"
        if most and written > most:
            offsets = tokenizer().encode(text, add_special_tokens=False).offsets
            text, written, reason = text[: offsets[most - 1][1]], most, "length"
        with self._lock:
            self.tokens_in += read
            self.tokens_out += written
        return text, reason, read, written

    def enter(self, step: int) -> None:
        """Count completions that are under way."""
        with self._lock:
            self._now += step
            self.most_at_once = max(self.most_at_once, self._now)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    owner: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, *args: Any) -> None:
        """Tests read what was asked, not a log."""

    def do_GET(self) -> None:
        owner = self.server.owner
        listed = {
            "object": "list",
            "data": [{"id": name, "object": "model", "owned_by": "tests"} for name in owner.models],
        }
        self._reply(
            200 if self.path == "/v1/models" else 404, listed if self.path == "/v1/models" else _error("no such path")
        )

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        messages = body.get("messages", [])
        prompt = "\n\n".join(_content(message) for message in messages)
        asked = Asked(self.path, body, self.headers.get("Authorization", "").removeprefix("Bearer "), prompt)
        fault = self.server.owner.take(asked)
        if fault is not None and fault.what not in ANSWERS:
            self._break(fault)
        elif self.path == "/v1/chat/completions":
            owner = self.server.owner
            owner.enter(1)
            if owner.delay:
                owner.closing.wait(owner.delay)
            self._complete(asked, fault)
            owner.enter(-1)
        elif self.path == "/v1/embeddings":
            self._embed(body)
        else:
            self._reply(404, _error("no such path"))

    def _break(self, fault: Fault) -> None:
        closing = self.server.owner.closing
        if isinstance(fault.what, int):
            self._reply(
                fault.what, _error(fault.message or f"told to fail with {fault.what}"), retry_after=fault.retry_after
            )
        elif fault.what == "stall":
            closing.wait()
            self.close_connection = True
        elif fault.what == "drip":
            self._head(200, 1000)
            while not closing.wait(0.05):
                self.wfile.write(b" ")
                self.wfile.flush()
        elif fault.what == "cut":
            self._head(200, 1000)
            self.wfile.write(b'{"choices": [{"message": {"content": "entity | Pa')
            self.close_connection = True
        elif fault.what == "reset":
            self.close_connection = True
        elif fault.what == "huge":
            self._reply(200, {"choices": [{"message": {"content": "x" * (5 << 20)}}]})
        elif fault.what == "html":
            self._reply(200, None, b"<html><body>Welcome to nginx!</body></html>")
        elif fault.what == "no choices":
            self._reply(200, {"error": {"message": "model is loading"}})
        else:
            raise ValueError(f"no such fault: {fault.what}")

    def _complete(self, asked: Asked, fault: Fault | None) -> None:
        text, reason, read, written = self.server.owner.answer(asked, fault)
        usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        made: dict[str, Any] = {"id": "scripted-0", "created": 0, "model": asked.body.get("model", "")}
        if asked.body.get("stream"):
            self._stream(
                made, text, reason, usage if asked.body.get("stream_options", {}).get("include_usage") else None
            )
            return
        message = {"role": "assistant", "content": text}
        made |= {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": reason}]}
        self._reply(200, made | ({"usage": usage} if self.server.owner.usage else {}))

    def _stream(self, made: dict[str, Any], text: str, reason: str, usage: dict[str, int] | None) -> None:
        """Server-sent events: a word each, the end's reason, the usage if it was asked for."""
        made["object"] = "chat.completion.chunk"
        events: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        events += [{"content": word} for word in re.findall(r"\s*\S+|\s+$", text)]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for delta in events:
            self._event(made | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        self._event(made | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        if usage is not None:
            self._event(made | {"choices": [], "usage": usage})
        self._event(None)
        self.wfile.write(b"0\r\n\r\n")

    def _event(self, value: dict[str, Any] | None) -> None:
        line = f"data: {json.dumps(value) if value else '[DONE]'}\n\n".encode()
        self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
        self.wfile.flush()

    def _embed(self, body: dict[str, Any]) -> None:
        given = body["input"]
        texts = [given] if isinstance(given, str) or not given or isinstance(given[0], int) else given
        words = [text if isinstance(text, str) else " ".join(map(str, text)) for text in texts]
        vectors = HashEmbedder(body.get("dimensions") or self.server.owner.dimension).embed(words, "query").tolist()
        packed = body.get("encoding_format") == "base64"
        data = [
            {"object": "embedding", "index": index, "embedding": _packed(vector) if packed else vector}
            for index, vector in enumerate(vectors)
        ]
        read = sum(count_tokens(words))
        usage = {"prompt_tokens": read, "total_tokens": read}
        self._reply(200, {"object": "list", "data": data, "model": body.get("model", ""), "usage": usage})

    def _reply(self, status: int, value: Any, raw: bytes = b"", retry_after: str = "") -> None:
        body = raw or json.dumps(value).encode()
        self._head(status, len(body), retry_after)
        self.wfile.write(body)

    def _head(self, status: int, length: int, retry_after: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(length))
        if retry_after:
            self.send_header("Retry-After", retry_after)
        self.end_headers()


def answer_prompt(prompt: str) -> str:
    """What the scripted model answers: in the form that the prompt asks for."""
    if "entity | name | type | description" in prompt:
        _, _, rest = prompt.partition("=====")
        mark = "=====" + rest[:12]
        return _lines(prompt.split(f"\n{mark}\n")[1])
    if "missed in the last extraction" in prompt or "Based on the last extraction task" in prompt:
        return '{"entities": [], "relationships": []}' if "JSON" in prompt else "<|COMPLETE|>"
    if "Answer YES | NO" in prompt:
        return "NO"
    if "---Input Text---" in prompt:
        return _lightrag(prompt)
    if '("entity"' in prompt:
        return _minirag(prompt)
    if "answer_type_keywords" in prompt or '"high_level_keywords"' in prompt:
        return _keywords(prompt)
    if "Description List:" in prompt:
        return " ".join(prompt.rpartition("Description List:")[2].split())[:300]
    return _sentence(prompt)


def names(text: str) -> list[str]:
    """Capitalised phrases in order, each once."""
    found: dict[str, None] = {}
    for run in _PHRASE.findall(text):
        phrase: list[str] = []
        for word in [*run.split(), "."]:
            if word[0].isupper() and word.lower() not in _COMMON:
                phrase.append(word.rstrip(".'’-"))
            elif phrase:
                found[" ".join(phrase)] = None
                phrase = []
    return list(found)


def kind(name: str) -> str:
    """A type by how many words a name has."""
    return "person" if " " in name else "place"


def _pairs(found: list[str]) -> Iterator[tuple[str, str, int]]:
    for source, target in zip(found, found[1:], strict=False):
        yield source, target, 1 + (len(source) + len(target)) % 10


def _lines(text: str) -> str:
    found = names(text)[:12]
    lines = [f"entity | {name} | {kind(name)} | {name} is named in the text." for name in found]
    lines += [f"relation | {a} | {b} | {a} comes before {b}. | order | {strength}" for a, b, strength in _pairs(found)]
    return "\n".join(lines)


def _lightrag(prompt: str) -> str:
    text = prompt.rpartition("---Input Text---")[2].partition("```\n")[2].rpartition("\n```")[0]
    found = names(text)[:20]
    if "`entities` and `relationships` arrays" in prompt:
        things = [{"name": name, "type": kind(name), "description": f"{name} is named."} for name in found]
        pairs = [
            {"source": a, "target": b, "keywords": "order", "description": f"{a} comes before {b}."}
            for a, b, _ in _pairs(found)
        ]
        return json.dumps({"entities": things, "relationships": pairs})
    match = re.search(r"`entity(\S+?)entity_name", prompt)
    bar = match[1] if match else "<|#|>"
    lines = [bar.join(("entity", name, kind(name), f"{name} is named.")) for name in found]
    lines += [bar.join(("relation", a, b, "order", f"{a} comes before {b}.")) for a, b, _ in _pairs(found)]
    return "\n".join([*lines, "<|COMPLETE|>"])


def _minirag(prompt: str) -> str:
    match = re.search(r'\("entity"(\S+?)<entity_name>', prompt)
    bar = match[1] if match else "<|>"
    found = names(prompt.rpartition("-Real Data-")[2].partition("Text:")[2].rpartition("Output:")[0])[:20]
    records = [bar.join(('("entity"', f'"{name}"', f'"{kind(name)}"', f'"{name} is named.")')) for name in found]
    records += [
        bar.join(('("relationship"', f'"{a}"', f'"{b}"', f'"{a} comes before {b}."', '"order"', f"{strength})"))
        for a, b, strength in _pairs(found)
    ]
    return "##\n".join([*records, f'("content_keywords"{bar}"{", ".join(found[:3])}")<|COMPLETE|>'])


def _keywords(prompt: str) -> str:
    query = prompt.rpartition("Query:")[2].strip().partition("\n")[0]
    found = names(query) or query.split()[-2:]
    if "answer_type_keywords" in prompt:
        return json.dumps({"answer_type_keywords": ["PERSON", "LOCATION"], "entities_from_query": found})
    return json.dumps({"high_level_keywords": query.split()[:2], "low_level_keywords": found})


def _sentence(prompt: str) -> str:
    """The sentence of a prompt that shares most words with its last line."""
    *before, last = [line for line in prompt.splitlines() if line.strip()] or [""]
    asked = set(re.findall(r"\w+", last.lower())) - _COMMON
    sentences = [one for line in before for one in re.split(r"(?<=[.!?])\s+", line)] or [last]
    return max(sentences, key=lambda one: len(asked & set(re.findall(r"\w+", one.lower()))))


def _content(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _packed(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "scripted"}}
