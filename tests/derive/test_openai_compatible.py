"""Language models behind a server, over real sockets."""

from __future__ import annotations

import base64
import html
import socket
import subprocess
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote, quote_plus, unquote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from monograph.derive.loading import load_model
from monograph.derive.openai_compatible import OpenAICompatible
from monograph.derive.redaction import Redaction
from monograph.derive.replies import has_ended, text_in, usage
from monograph.derive.server import MAX_WAIT
from monograph.derive.tokens import count_tokens
from monograph.errors import InputError, ModelUnavailable
from monograph.models import LanguageModel, VisionModel
from support.model_server import ModelServer
from support.properties import examples


@pytest.fixture(autouse=True)
def answer(server: ModelServer) -> None:
    server.say("Nothing to add.")


def test_completion_returns_text_and_tokens(server: ModelServer) -> None:
    model = OpenAICompatible(server.url + "/", "tiny", "key-1")
    assert isinstance(model, LanguageModel)
    made = model.complete("Say something. 🦉", 50)
    assert made.text == "Nothing to add."
    assert (made.tokens_in, made.tokens_out) == (server.tokens_in, server.tokens_out)
    (asked,) = server.asked
    assert asked.token == "key-1"
    assert asked.body == {
        "model": "tiny",
        "messages": [{"role": "user", "content": "Say something. 🦉"}],
        "max_tokens": 50,
        "temperature": 0.0,
    }
    OpenAICompatible(server.url, "tiny", temperature=None).complete("x", 5)
    assert "temperature" not in server.asked[1].body
    assert server.asked[1].token == ""


def test_tokens_that_are_not_reported_are_estimated(server: ModelServer) -> None:
    server.usage = False
    made = OpenAICompatible(server.url, "tiny").complete("How many tokens are these?", 50)
    assert [made.tokens_in, made.tokens_out] == count_tokens(["How many tokens are these?", "Nothing to add."])


@pytest.mark.parametrize("fault", [408, 429, 500, 502, 503, "cut", "reset"])
def test_transient_model_errors_are_retried(server: ModelServer, fault: int | str) -> None:
    server.fail(fault, times=2)
    assert OpenAICompatible(server.url, "tiny").complete("x", 5).text == "Nothing to add."
    assert server.calls == 3


@pytest.mark.parametrize("fault", [400, 401, 403, 404, 302, "html", "no choices", "huge"])
def test_permanent_errors_are_not_retried(server: ModelServer, fault: int | str) -> None:
    server.fail(fault, times=9)
    with pytest.raises(ModelUnavailable) as caught:
        OpenAICompatible(server.url, "tiny", "secret-key").complete("x", 5)
    assert server.calls == 1
    assert server.url in caught.value.message
    assert caught.value.hint
    assert "secret" not in str(caught.value)
    if isinstance(fault, int):
        assert f"status {fault}" in caught.value.message
        assert f"told to fail with {fault}" in caught.value.message


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_retries_are_limited(server: ModelServer, retries: int) -> None:
    server.fail(503, times=9)
    with pytest.raises(ModelUnavailable, match="status 503"):
        OpenAICompatible(server.url, "tiny", retries=retries).complete("x", 5)
    assert server.calls == retries + 1


def test_retry_after_is_honoured_up_to_a_limit(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    server.fail(429, retry_after="7")
    server.fail(429, retry_after="soon")
    OpenAICompatible(server.url, "tiny").complete("x", 5)
    assert slept == [7.0, 0.02]
    server.fail(429, retry_after="Wed, 21 Oct 2015 07:28:00 GMT")
    OpenAICompatible(server.url, "tiny").complete("x", 5)
    assert slept == [7.0, 0.02, 0.0]
    calls = server.calls
    server.fail(429, retry_after=str(MAX_WAIT + 1))
    with pytest.raises(ModelUnavailable, match="429"):
        OpenAICompatible(server.url, "tiny").complete("x", 5)
    assert (server.calls, len(slept)) == (calls + 1, 3)


@pytest.mark.parametrize("fault", ["stall", "drip"])
def test_timeout_is_not_retried(server: ModelServer, fault: str) -> None:
    server.fail(fault, times=9)
    with pytest.raises(ModelUnavailable, match=r"within 0\.3 seconds") as caught:
        OpenAICompatible(server.url, "tiny", timeout=0.3).complete("x", 5)
    assert "timeout" in caught.value.hint
    assert server.calls == 1


def test_unreachable_server_is_reported() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        for url in (f"http://127.0.0.1:{taken.getsockname()[1]}/v1", "http://nowhere.invalid/v1"):
            with pytest.raises(ModelUnavailable, match=f"{url}/chat/completions cannot be reached") as caught:
                OpenAICompatible(url, "tiny").complete("x", 5)
            assert "start the server" in caught.value.hint


def test_other_parameter_name_of_the_token_limit_is_used(server: ModelServer) -> None:
    """Newer models of OpenAI refuse ``max_tokens``, and their error names the other parameter."""
    refusal = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    model = OpenAICompatible(server.url, "tiny")
    server.fail(400, message=refusal)
    assert model.complete("x", 5).text == "Nothing to add."
    model.complete("y", 6)
    assert [{key: asked.body[key] for key in asked.body if key.startswith("max_")} for asked in server.asked] == [
        {"max_tokens": 5},
        {"max_completion_tokens": 5},
        {"max_completion_tokens": 6},
    ]


def test_model_is_safe_for_threads(server: ModelServer) -> None:
    model = OpenAICompatible(server.url, "tiny")
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(lambda number: model.complete(f"{number}", 5).text, range(80)))
    assert texts == ["Nothing to add."] * 80
    assert server.calls == 80


def test_openai_model_ignores_the_environment(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
    assert OpenAICompatible(server.url, "tiny").complete("x", 5).text == "Nothing to add."
    assert server.asked[0].token == ""


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("base_url", ["", "127.0.0.1:80/v1", "ftp://x/v1", "http://", "http://x:99999/v1", "http://[::1/v1"]),
        ("base_url", ["http://u:p@x/v1", "http://key@x/v1", "http://x/v1?key=1", "http://x:0/v1"]),
        ("timeout", [0]),
        ("retries", [-1]),
        ("api_key", ["a\nb", "ä"]),
        ("model", ["", "a#b"]),
    ],
)
def test_invalid_model_options_are_refused(option: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(InputError) as caught:
            OpenAICompatible(**{"base_url": "http://127.0.0.1/v1", "model": "tiny", option: value})
        assert caught.value.hint


KEY = "sk-VICTIM+secret/key=1234?~"
FORMS = {
    "plain": KEY,
    "bearer": f"Bearer {KEY}",
    "quoted": quote(KEY),
    "all quoted": "".join(f"%{ord(one):02x}" for one in KEY),
    "form": quote_plus(KEY),
    "html": "".join(f"&#{ord(one)};" for one in KEY),
    "base64": base64.b64encode(KEY.encode()).decode(),
    "basic": base64.b64encode(f"user:{KEY}".encode()).decode(),
    "basic 2": base64.b64encode(f"u:{KEY}:".encode()).decode(),
    "url-safe": base64.urlsafe_b64encode(f"Bearer {KEY}".encode()).decode().rstrip("="),
    "base64 in a URL": quote(base64.b64encode(KEY.encode()).decode(), safe=""),
}


def pieces_of_the_key(text: str) -> list[str]:
    """Return the runs of six characters of the key, or of its base64, that a text contains."""
    forms = (KEY, *(base64.b64encode(b" " * before + KEY.encode()).decode()[4:] for before in range(3)))
    pieces = {form[at : at + 6] for form in forms for at in range(len(form) - 5)}
    return [piece for piece in pieces if piece in text or piece in unquote(text) or piece in html.unescape(text)]


def printed(error: BaseException) -> str:
    """Return the printed traceback and repr of an error, without lines of source."""
    said = "".join(traceback.format_exception(error)) + repr(error)
    return "".join(line for line in said.splitlines(keepends=True) if not line.startswith("    "))


@pytest.mark.parametrize("form", FORMS)
def test_key_in_a_reply_is_redacted(server: ModelServer, form: str) -> None:
    model = OpenAICompatible(server.url, "tiny", KEY, retries=0)
    assert not pieces_of_the_key(repr(model) + repr(vars(model)))
    said = FORMS[form]
    for status in (401, 400, 500):
        server.fail(status, message=f"Incorrect API key: {said}. You sent {{token}}; {said}", times=2)
        for work in (lambda: model.complete("x", 5), lambda: list(model.stream("x", 5))):
            with pytest.raises(ModelUnavailable) as caught:
                work()
            assert "[api key]" in caught.value.message
            assert not pieces_of_the_key(printed(caught.value))
    server.heal()
    server.say(f"The key is {said}, is it not?")
    for text in (model.complete("x", 900).text, "".join(map(str, model.stream("x", 900)))):
        assert "[api key]" in text
        assert not pieces_of_the_key(text)


@given(st.integers(0, 450), st.sampled_from(sorted(FORMS)), st.integers(1, 40))
@example(190, "plain", 1)
@settings(max_examples=examples(150))
def test_truncated_quote_contains_no_part_of_the_key(before: int, form: str, times: int) -> None:
    text = "." * before + f" {FORMS[form]}" * times + "." * 5_000
    said = Redaction(KEY).in_error(text, 200)
    assert len(said) <= 200
    assert not pieces_of_the_key(said)
    assert Redaction("").in_error(text, 200) == text[:200]


def test_key_is_redacted_in_long_replies() -> None:
    for text in ("A" * (4 << 20), KEY[:-1] * 200_000, "%" * (4 << 20), "&#0" * 1_000_000):
        assert len(Redaction(KEY).in_error(text, 200)) == 200


def test_short_keys_are_not_redacted(server: ModelServer) -> None:
    model = OpenAICompatible(server.url, "tiny", "ollama", retries=0)
    server.heal()
    server.say("ollama runs models")
    assert model.complete("x", 50).text == "ollama runs models"
    server.fail(401, message="who is ollama? b2xsYW1h is not scrollamazing")
    with pytest.raises(ModelUnavailable, match=r"who is \[api key\]\? \[api key\] is not scrollamazing"):
        model.complete("x", 5)


@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.1 KEY\r\n\r\n",
        b"KEY\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nKEY \r\nX: y\r\n\r\nKEY",
        b"HTTP/1.1 200 OK\r\nContent-Length: KEY\r\n\r\nKEY",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nKEY\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nKEY\r\n\r\n",
        b'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {"error": "KEY"}\n\n',
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: KEY\n\n",
        b'HTTP/1.1 200 OK\r\n\r\n{"no choice": "KEY"}',
        b"HTTP/1.1 302 KEY\r\nLocation: http://KEY/\r\nContent-Length: 0\r\n\r\n",
    ],
)
def test_key_is_redacted_anywhere_in_a_reply(reply: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            for _ in range(2):
                connection, _ = listening.accept()
                with connection:
                    asked = b""
                    while b"\r\n\r\n" not in asked:
                        asked += connection.recv(65_536)
                    token = asked.partition(b"Authorization: ")[2].partition(b"\r\n")[0]
                    connection.sendall(reply.replace(b"KEY", token))

        thread = threading.Thread(target=serve)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        for streamed in (False, True):
            model = OpenAICompatible(url, "tiny", KEY, retries=0)  # A new model opens a new connection.
            with pytest.raises(ModelUnavailable) as caught:
                list(model.stream("x", 5)) if streamed else model.complete("x", 5)
            assert not pieces_of_the_key(printed(caught.value))
        thread.join()
    assert not pieces_of_the_key("".join(capfd.readouterr()))


def test_model_spec_and_key_identify_the_model() -> None:
    url = "http://127.0.0.1:11434/v1"
    model = OpenAICompatible(url, "qwen2.5:1.5b", "secret-key")
    assert model.spec == f"openai:{url}#qwen2.5:1.5b"
    assert model.key == OpenAICompatible("https://example.org/v1", "qwen2.5:1.5b").key
    assert "secret" not in model.spec + model.key + repr(model)
    for temperature in (0.7, None):
        other = OpenAICompatible(url, "qwen2.5:1.5b", temperature=temperature)
        again = load_model(other.spec)
        assert isinstance(again, OpenAICompatible)
        assert (again.key, again.spec) == (other.key, other.spec) != (model.key, model.spec)
    assert OpenAICompatible(url, "m", temperature=0).spec == f"openai:{url}#m"


def test_openai_module_imports_no_client() -> None:
    code = "import sys, monograph.derive.openai_compatible; print('urllib3' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "False"


IMAGE = b"\x89PNG\r\n\x1a\n"


def test_picture_is_sent_with_the_prompt(server: ModelServer) -> None:
    model = OpenAICompatible(server.url, "tiny")
    assert isinstance(model, VisionModel)
    made = model.complete_with_image("What is this?", IMAGE, "image/png", 50)
    assert (made.text, made.tokens_in, made.tokens_out) == ("Nothing to add.", server.tokens_in, server.tokens_out)
    address = f"data:image/png;base64,{base64.b64encode(IMAGE).decode()}"
    assert server.asked[0].body["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": address}},
            ],
        }
    ]


def test_model_without_images_is_reported(server: ModelServer) -> None:
    model = OpenAICompatible(server.url, "tiny")
    server.fail(400, times=2, message="this model does not support that")
    with pytest.raises(ModelUnavailable, match="does not support") as caught:
        model.complete_with_image("What is this?", IMAGE, "image/png", 50)
    assert "accepts images" in caught.value.hint
    with pytest.raises(ModelUnavailable, match="does not support") as caught:
        model.complete("x", 5)
    assert "base URL" in caught.value.hint


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["choices", "delta", "message", "content", "text", "refusal", "finish_reason", "usage"]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=30,
    )
)
def test_any_streamed_reply_is_parsed_or_refused(reply: object) -> None:
    for event in ({"choices": [{"delta": reply}]}, {"choices": [{"message": reply}]}, {"choices": reply}):
        text = text_in(event)
        assert text is None or text == text.encode("utf-8", "replace").decode()
        assert has_ended(event) in (True, False)
        assert usage({"usage": reply, **event}) is None


def test_refusal_is_returned_as_an_answer() -> None:
    assert text_in({"choices": [{"message": {"content": None, "refusal": "No."}}]}) == "No."
    assert text_in({"choices": [{"message": {"content": [{"type": "text", "text": "Yes."}]}}]}) == "Yes."
    assert text_in({"choices": [{"message": None}]}) is None


def test_permission_is_checked_before_a_request(server: ModelServer) -> None:
    told: list[str] = []

    def refuse(address: str) -> None:
        told.append(address)
        raise InputError("no", "never")

    model = load_model(f"openai:{server.url}#tiny", allow=refuse)
    assert isinstance(model, VisionModel)
    for work in (
        lambda: model.complete("x", 5),
        lambda: list(model.stream("x", 5)),
        lambda: model.complete_with_image("x", IMAGE, "image/png", 5),
    ):
        with pytest.raises(InputError):
            work()
    assert (told, server.calls) == ([server.url] * 3, 0)
    willing = load_model(f"openai:{server.url}#tiny", allow=told.append)
    assert isinstance(willing, VisionModel)
    *_, last = willing.stream("x", 5)
    assert willing.complete("x", 5) == last == willing.complete_with_image("x", IMAGE, "image/png", 5)
    assert len(told) == 4
    made = OpenAICompatible(server.url, "tiny")
    assert isinstance(willing, OpenAICompatible)
    assert (willing.key, willing.spec) == (made.key, made.spec)
