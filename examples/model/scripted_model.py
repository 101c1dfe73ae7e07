"""A scripted language model with an OpenAI-compatible HTTP server: for users without a model, and for tests.

Its answers are deterministic: the sentence of the passages that shares most words with the question. It counts calls
and tokens, records requests, streams answers, and simulates faults::

    python examples/model/scripted_model.py --port 8111
    monograph ask notes.mono "Who found the comet?" --model "openai:http://127.0.0.1:8111/v1#scripted"

    with ModelServer() as server:
        server.fail(503, times=2)
        server.fail("cut", containing="Paris")
        OpenAICompatible(server.url, "any").complete("...", 100)
        assert server.calls == 3
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import math
import random
import re
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from monograph.derive.tokens import count_tokens, token_spans

ANSWERS = {
    "nothing": "",
    "garbage": "Sure! As an AI language model I cannot \ufffd\ufffd }}]] <|im_end|> lorem ipsum dolor.",
    "half": '```json\n{"entities": [{"na',
    "language": "好的。以下的文字没有提到任何实体，因此我无法回答这个问题。",
    "thinking": "<think>\nOkay, the user wants me to list the entities. First, I",
}
"""Answers that do not do what the prompt asks, by name of the fault."""

_PHRASE = re.compile(r"[^\W\d_][\w'’&.-]*(?:[ \n]+[^\W\d_][\w'’&-]*)*")
_COMMON_WORDS = (
    "a an and as at but by for from he her his i if in is it its my no not of on or our she so that the their then "
    "there these they this those to was we were what when where which who why with you your"
)
COMMON = frozenset(_COMMON_WORDS.split())


@dataclass
class Fault:
    """A fault of the next ``times`` requests whose prompt contains ``containing``: see :meth:`ModelServer.fail`."""

    what: int | str
    times: float
    containing: str
    retry_after: str
    message: str


@dataclass
class Asked:
    """A request: its path, its JSON body, its bearer token, and the text of its messages."""

    path: str
    body: dict[str, Any]
    token: str = ""
    prompt: str = ""


@dataclass
class ModelServer:
    """A server on a port of this machine. It runs until the end of its ``with`` block.

    ``calls`` counts requests for completions, including failed ones. ``embeddings`` counts requests for embeddings.
    ``tokens_in`` and ``tokens_out`` count the tokens that completions read and wrote, as reported in replies.
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
    """Whether replies contain token counts."""
    delay: float = 0.0
    """Seconds before each completion."""
    port: int = 0
    """Port to listen on; 0 for any free port."""
    script: Callable[[str], str] | None = None
    """Function that answers prompts without an answer set by :meth:`say`; :func:`answer_prompt` by default."""

    def __post_init__(self) -> None:
        self._faults: list[Fault] = []
        self._answers: list[tuple[str, str]] = []
        self._lock = threading.Lock()
        self._now = 0
        self.closing = threading.Event()
        self._http: _Server | None = None

    def __enter__(self) -> Self:
        self._http = _Server(("127.0.0.1", self.port), _Handler)
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
        """The base URL, including ``/v1``."""
        assert self._http is not None, "use it in a with block"
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def tokens(self) -> int:
        """Tokens that completions read and wrote."""
        return self.tokens_in + self.tokens_out

    def fail(
        self, what: int | str, times: float = 1, containing: str = "", retry_after: str = "", message: str = ""
    ) -> None:
        """Let the next requests fail. Faults that were set earlier occur first.

        Parameters
        ----------
        what:
            An HTTP status; or ``stall`` (no reply until the server closes), ``drip`` (a byte every 50 ms), ``cut`` (the
            body breaks off), ``reset`` (the connection is closed), ``huge``, ``html``, ``no choices``. After half of
            the words of a streamed answer: ``cut half`` (it breaks off), ``close half`` (it ends without a finish
            reason), ``hang half`` (silence until the server closes), ``error half`` (an error follows). Or a key of
            :data:`ANSWERS`, for a well-formed reply with that answer.
        times:
            Number of requests; ``float("inf")`` for all.
        containing:
            Only requests whose prompt contains this text fail.
        retry_after:
            Value of the header ``Retry-After``; only for a status.
        message:
            Message of the error; only for a status. ``{token}`` in it is replaced by the request's bearer token.
        """
        with self._lock:
            self._faults.append(Fault(what, times, containing, retry_after, message))

    def say(self, answer: str, containing: str = "") -> None:
        """Answer every prompt that contains a text with ``answer``."""
        with self._lock:
            self._answers.append((containing, answer))

    def heal(self) -> None:
        """Remove all faults and answers that were set."""
        with self._lock:
            self._faults.clear()
            self._answers.clear()

    def take(self, asked: Asked) -> Fault | None:
        """Record a request; return its fault, if it has one."""
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
        """Return (text, finish reason, tokens read, tokens written)."""
        text = self._said(asked, fault)
        for stop in asked.body.get("stop") or ():
            text = text.partition(stop)[0]
        most = asked.body.get("max_tokens") or asked.body.get("max_completion_tokens")
        read, written = count_tokens([asked.prompt, text])
        reason = "stop"
        if most and written > most:
            text, written, reason = text[: token_spans(text)[most - 1][1]], most, "length"
        self._count(read, written)
        return text, reason, read, written

    def _said(self, asked: Asked, fault: Fault | None) -> str:
        """Return the answer of the fault or of :meth:`say`; else a picture's description, or the script's answer."""
        told = next((said for containing, said in self._answers if containing in asked.prompt), None)
        if fault and fault.what in ANSWERS:
            return ANSWERS[str(fault.what)]
        if told is not None:
            return told
        if asked.prompt.startswith("Describe this picture"):
            return "\n".join(describe(one) for message in asked.body["messages"] for one in _images(message))
        return (self.script or answer_prompt)(asked.prompt)

    def _count(self, read: int, written: int) -> None:
        with self._lock:
            self.tokens_in += read
            self.tokens_out += written

    def enter(self, step: int) -> None:
        """Add ``step`` to the number of running completions."""
        with self._lock:
            self._now += step
            self.most_at_once = max(self.most_at_once, self._now)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    owner: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors: in tests, clients close connections early."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, *args: Any) -> None:
        """Write no log: tests read the recorded requests."""

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
        halved = fault is not None and str(fault.what).endswith(" half")
        if fault is not None and fault.what not in ANSWERS and not halved:
            self._break(fault, asked)
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

    def _break(self, fault: Fault, asked: Asked) -> None:
        closing = self.server.owner.closing
        if isinstance(fault.what, int):
            said = (fault.message or f"told to fail with {fault.what}").replace("{token}", asked.token)
            self._reply(fault.what, _error(said), retry_after=fault.retry_after)
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
        said, reason, read, written = self.server.owner.answer(asked, fault)
        usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        made: dict[str, Any] = {"id": "scripted-0", "created": 0, "model": asked.body.get("model", "")}
        if asked.body.get("stream"):
            counted = self.server.owner.usage and asked.body.get("stream_options", {}).get("include_usage")
            self._stream(made, said, reason, usage if counted else None, str(fault.what) if fault else "")
            return
        message = {"role": "assistant", "content": said}
        made |= {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": reason}]}
        self._reply(200, made | ({"usage": usage} if self.server.owner.usage else {}))

    def _stream(
        self, made: dict[str, Any], said: str, reason: str, usage: dict[str, int] | None, fault: str = ""
    ) -> None:
        """Send server-sent events: one per word, then the finish reason, then the usage if it was requested."""
        made["object"] = "chat.completion.chunk"
        deltas = [{"content": word} for word in re.findall(r"\s*\S+|\s+$", said)]
        if fault.endswith(" half"):
            deltas = deltas[: max(1, len(deltas) // 2)]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for delta in [{"role": "assistant", "content": ""}, *deltas]:
            self._event(made | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        if fault.endswith(" half"):
            self._stop_half(fault)
            return
        self._event(made | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        if usage is not None:
            self._event(made | {"choices": [], "usage": usage})
        self._event(None)
        self.wfile.write(b"0\r\n\r\n")

    def _stop_half(self, fault: str) -> None:
        self.close_connection = True
        if fault == "hang half":
            self.server.owner.closing.wait()
        elif fault == "error half":
            self._event({"error": {"message": "the model ran out of memory"}})
        elif fault == "close half":
            self.wfile.write(b"0\r\n\r\n")

    def _event(self, value: dict[str, Any] | None) -> None:
        line = f"data: {json.dumps(value) if value else '[DONE]'}\n\n".encode()
        self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
        self.wfile.flush()

    def _embed(self, body: dict[str, Any]) -> None:
        given = body["input"]
        texts = [given] if isinstance(given, str) or not given or isinstance(given[0], int) else given
        words = [text if isinstance(text, str) else " ".join(map(str, text)) for text in texts]
        dimension = body.get("dimensions") or self.server.owner.dimension
        vectors = [_vector(text, dimension) for text in words]
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
    """Return the scripted model's answer."""
    if "Rewritten question:" in prompt:
        return _rewritten(prompt)
    found = re.search(r"^(=====\w{8})\n(.*?)\n\1$", prompt, re.DOTALL | re.MULTILINE)
    question = re.search(r"^Question: (.+)$", prompt[found.end() :], re.MULTILINE) if found else None
    return nearest_sentence(prompt) if found is None or question is None else _from_passages(found[2], question[1])


def _from_passages(passages: str, question: str) -> str:
    """Return the sentence that shares most words with a question, and its passage's number; or "I don't know."."""
    asked = telling(question)
    best, most = "I don't know.", 0
    number = "1"
    for line in passages.splitlines():
        heading = re.match(r"\[(\d+)\] ", line)
        if heading is not None:
            number = heading[1]
            continue
        for sentence in () if line.startswith("#") else re.split(r"(?<=[.!?])\s+|(?: … )", line):
            shared = len(asked & telling(sentence))
            if shared > most:
                best, most = f"{sentence.strip()} [{number}]", shared
    return best


def _rewritten(prompt: str) -> str:
    """Return the last question, and in parentheses the names in the questions before it."""
    before, _, last = prompt.rpartition("Last question: ")
    asked = [line.removeprefix("Question: ") for line in before.splitlines() if line.startswith("Question: ")]
    question = last.partition("\n")[0].strip()
    spoken_of = [name for name in names("\n".join(asked)) if name not in question]
    return f"{question} ({', '.join(spoken_of)})" if spoken_of else question


def names(text: str) -> list[str]:
    """Return the distinct capitalised phrases of a text, in order."""
    found: dict[str, None] = {}
    for run in _PHRASE.findall(text):
        phrase: list[str] = []
        for word in [*run.split(), "."]:
            if word[0].isupper() and word.lower() not in COMMON:
                phrase.append(word.rstrip(".'’-"))
            elif phrase:
                found[" ".join(phrase)] = None
                phrase = []
    return list(found)


def telling(text: str) -> set[str]:
    """Return the words of a text except common words."""
    return set(re.findall(r"\w+", text.lower())) - COMMON


def nearest_sentence(prompt: str) -> str:
    """Return the sentence of a prompt that shares most words with its last line."""
    *before, last = [line for line in prompt.splitlines() if line.strip()] or [""]
    sentences = [one for line in before for one in re.split(r"(?<=[.!?])\s+", line)] or [last]
    return max(sentences, key=lambda one: len(telling(last) & telling(one)))


def _vector(text: str, dimension: int) -> list[float]:
    """Return a unit vector made from hashes of words: texts that share words are near each other."""
    total = [0.0] * dimension
    for word in text.lower().split():
        bits = random.Random(hashlib.sha256(word.encode("utf-8", "replace")).digest())
        total = [value + bits.gauss(0.0, 1.0) for value in total]
    length = math.sqrt(sum(value * value for value in total)) or 1.0
    return [value / length for value in total]


def _content(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _images(message: dict[str, Any]) -> list[bytes]:
    """Return the images of a message, decoded from their data URLs."""
    content = message.get("content") or ""
    parts = [] if isinstance(content, str) else [part for part in content if part.get("type") == "image_url"]
    return [base64.b64decode(part["image_url"]["url"].partition(";base64,")[2]) for part in parts]


def describe(image: bytes) -> str:
    """Return the model's description of a PNG or JPEG file: for a PNG its format and size, and a hash of the file."""
    known = image.startswith(b"\x89PNG") and len(image) >= 24
    width, height = struct.unpack(">II", image[16:24]) if known else (0, 0)
    form = f"A PNG picture of {width} by {height} pixels" if known else "A picture"
    return f"{form}, number {hashlib.sha256(image).hexdigest()[:12]}."


def _packed(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "scripted"}}


def main() -> None:
    """Serve until the program is interrupted."""
    parser = argparse.ArgumentParser(description="A scripted language model in the OpenAI form.")
    parser.add_argument("--port", type=int, default=8111)
    with ModelServer(port=parser.parse_args().port) as server:
        print(f'--model "openai:{server.url}#scripted"', flush=True)
        try:
            server.closing.wait()
        except KeyboardInterrupt:
            print(f"{server.calls} calls, {server.tokens_in} tokens read, {server.tokens_out} written")


if __name__ == "__main__":
    main()
