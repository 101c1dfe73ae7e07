"""HTTP client for models behind servers: posts JSON, retries, and reads a reply at once or event by event."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar
from urllib.parse import urlsplit

from monograph.derive.redaction import Redaction
from monograph.errors import InputError, MissingExtra, ModelUnavailable, UnknownModel
from monograph.values import arguments

if TYPE_CHECKING:
    from typing import Self

    from urllib3 import BaseHTTPResponse

T = TypeVar("T")

FIRST_WAIT = 0.5
"""Seconds before the first retry; every further one waits twice as long."""
MAX_WAIT = 60.0
"""Most seconds to wait before a retry. If a server asks for more, there is no retry."""
MAX_REPLY = 4 << 20
"""Most bytes of a reply."""
QUOTED = 200
"""Most characters of a server's reply that an error quotes."""
BASE_URL_HINT = "give the base URL of an OpenAI-compatible API, which usually ends in /v1"

_CONNECT_SECONDS = 10.0
_RETRIED_STATUSES = {408, 425, 429}


class Server:
    """Client that posts JSON to one URL. Safe for use by several threads; connections are reused.

    It retries after errors that may pass: a refused or broken connection, a reply that breaks off, and the statuses
    408, 425, 429 and 5xx. Before a retry it waits as long as ``Retry-After`` says, else twice as long as before.
    Redirects are not followed: they would send the key to another server.

    Parameters
    ----------
    url:
        URL to post to.
    api_key:
        Sent as a bearer token, if not empty. No error contains it, even if the server's reply does.
    timeout:
        Most seconds of one try until the reply begins, and as many again until its last byte.
    retries:
        Retries after the first try.
    max_reply:
        Most bytes of a reply.
    asks_slow_again:
        Whether to retry after a timeout.
    hint:
        Hint of the error if no such API answers at the URL.
    key_hint:
        Hint of the error if the server refuses the key.

    Raises
    ------
    MissingExtra
        If urllib3 is not installed.
    InputError
        If an argument is invalid.
    """

    def __init__(  # noqa: PLR0913 - each is a choice of its own
        self,
        url: str,
        api_key: str,
        timeout: float,
        retries: int,
        *,
        max_reply: int = MAX_REPLY,
        asks_slow_again: bool = False,
        hint: str = BASE_URL_HINT,
        key_hint: str = "pass the server's key as api_key",
    ) -> None:
        try:
            import urllib3
        except ImportError as error:
            raise MissingExtra("requests to a server need urllib3", 'pip install "monograph[llm]"') from error
        _check(url, api_key)
        self._url = url
        self._headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self.redaction = Redaction(api_key)
        """Removes the key from texts of the server."""
        self._may_chain = not api_key
        self._timeout = arguments.seconds(timeout, "timeout")
        self._retries = arguments.whole_number(retries, "retries", 0)
        self._max_reply, self._asks_slow_again = max_reply, asks_slow_again
        self._hint, self._key_hint = hint, key_hint
        self._pool = urllib3.PoolManager(maxsize=32, retries=False)

    def __reduce__(self) -> NoReturn:
        raise InputError(
            "a model behind a server cannot be pickled: the pickle would contain its key",
            "create it again where it is needed",
        )

    def post(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Post a JSON object and return the JSON object of the reply.

        Raises
        ------
        ModelUnavailable
            If the server cannot be reached, refuses or is too slow, or if its reply is too large or no JSON object.
        """
        return self._parse_object(self._send(asked))

    def ask(self, asked: dict[str, Any]) -> Any:
        """Post a JSON object and return the JSON value of the reply, such as a list. Raises as :meth:`post`."""
        reply = self._send(asked)
        with suppress(ValueError, RecursionError):
            return json.loads(reply)
        raise ModelUnavailable(f"{self._url} replied with no JSON: {self._quote_start(reply)}", self._hint)

    def _send(self, request: dict[str, Any]) -> bytes:
        body = json.dumps(request).encode()
        return self._retry(lambda: self._try(body))

    def stream(self, asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Post a JSON object and yield the events of the reply, one JSON object each.

        It retries until a reply with status 200 begins. A server that replies all at once gives one event.

        Raises
        ------
        ModelUnavailable
            As for :meth:`post`; also if the events break off before ``[DONE]``. A caller that has all it needs may stop
            before.
        """
        body = json.dumps(asked).encode()
        response = self._retry(lambda: self._open_stream(body))
        try:
            yield from self._read_events(response, time.monotonic() + self._timeout)
        finally:
            response.close()

    def _retry(self, attempt: Callable[[], T]) -> T:
        """Return the result of an attempt, retried after errors that may pass."""
        wait = FIRST_WAIT
        tries = self._retries
        while True:
            try:
                return attempt()
            except _PassingError as passing:
                pause = wait if passing.wait is None else passing.wait
                if not tries or pause > MAX_WAIT:
                    raise passing.error from passing
            tries -= 1
            wait *= 2
            time.sleep(pause)

    def _open_stream(self, body: bytes) -> BaseHTTPResponse:
        """Return a reply of status 200 whose body is not read yet."""
        with self._translate_errors():
            response = self._open(body)
            if response.status != 200:
                raise self._refusal_error(response, self._read(response, time.monotonic() + self._timeout))
        return response

    def _read_events(self, response: BaseHTTPResponse, deadline: float) -> Iterator[dict[str, Any]]:
        """Yield the events of a reply: the lines that begin with ``data:``. A reply of another form is one event."""
        if "text/event-stream" not in response.headers.get("Content-Type", ""):
            with self._translate_errors(broken="broke off its answer"):
                body = self._read(response, deadline)
            yield self._parse_object(body)
            return
        lines = _EventLines()
        size = 0
        while True:
            with self._translate_errors(broken="broke off its answer"):
                piece = response.read1(1 << 16)
            size += len(piece)
            if size > MAX_REPLY:
                raise ModelUnavailable(f"{self._url} replied with more than {MAX_REPLY} bytes", self._hint)
            for line in lines.take(piece):
                if line == b"[DONE]":
                    return
                yield self._parse_object(line)
            if not piece:
                raise ModelUnavailable(f"{self._url} broke off its answer", "ask again, or see the server's log")
            if time.monotonic() > deadline:
                raise self._timeout_error()

    @contextmanager
    def _translate_errors(self, broken: str = "") -> Iterator[None]:
        """Raise errors of the connection as errors to retry, or as final ones if ``broken`` says what the reply did."""
        from urllib3 import exceptions

        try:
            yield
        except exceptions.HTTPError as error:
            # A chained error is printed as well, and may quote the reply, which may contain the key.
            raise self._translate_error(error, broken) from (error if self._may_chain else None)

    def _translate_error(self, error: Exception, broken: str) -> Exception:
        from urllib3 import exceptions

        if isinstance(error, exceptions.ReadTimeoutError):
            return self._timeout_error()
        why = self.redaction.in_error(str(error), QUOTED)
        if broken:
            return ModelUnavailable(f"{self._url} {broken}: {why}", "ask again, or see the server's log")
        return _PassingError(
            ModelUnavailable(f"{self._url} cannot be reached: {why}", "start the server, or give its base URL")
        )

    def _parse_object(self, reply: bytes) -> dict[str, Any]:
        with suppress(ValueError, RecursionError):
            value = json.loads(reply)
            if isinstance(value, dict):
                return value
        raise ModelUnavailable(f"{self._url} replied with no JSON object: {self._quote_start(reply)}", self._hint)

    def _try(self, body: bytes) -> bytes:
        """Return the body of the reply to one request."""
        with self._translate_errors():
            response = self._open(body)
            reply = self._read(response, time.monotonic() + self._timeout)
        if response.status != 200:
            raise self._refusal_error(response, reply)
        return reply

    def _open(self, body: bytes) -> BaseHTTPResponse:
        """Send a body and return the response, whose own body is not read yet."""
        from urllib3 import Timeout

        return self._pool.request(
            "POST",
            self._url,
            body=body,
            headers=self._headers,
            timeout=Timeout(connect=min(_CONNECT_SECONDS, self._timeout), read=self._timeout),
            redirect=False,
            preload_content=False,
        )

    def _read(self, response: BaseHTTPResponse, deadline: float) -> bytes:
        """Return the body of a reply, within its limits of time and size."""
        body = bytearray()
        while piece := response.read1(1 << 16):
            body += piece
            if len(body) > self._max_reply:
                response.close()
                raise ModelUnavailable(f"{self._url} replied with more than {self._max_reply} bytes", self._hint)
            if time.monotonic() > deadline:
                response.close()
                raise self._timeout_error()
        response.release_conn()
        return bytes(body)

    def _timeout_error(self) -> Exception:
        error = ModelUnavailable(
            f"{self._url} gave no answer within {self._timeout:g} seconds",
            "give a longer timeout, fewer workers or a smaller model",
        )
        return _PassingError(error) if self._asks_slow_again else error

    def _refusal_error(self, response: BaseHTTPResponse, reply: bytes) -> Exception:
        """Return the error for a status other than 200: one to retry, or a final one."""
        status = response.status
        excerpt = self._quote_start(reply)
        error = ModelUnavailable(f"{self._url} replied with status {status}: {excerpt}", self._hint_for(status))
        error.status, error.reply = status, excerpt
        if status in _RETRIED_STATUSES or status >= 500:
            return _PassingError(error, _parse_retry_after(response.headers.get("Retry-After", "")))
        return error

    def _hint_for(self, status: int) -> str:
        if status in (401, 403):
            return self._key_hint
        if status == 404:
            return f"{self._hint}; check that the server has the model"
        if status in _RETRIED_STATUSES:
            return "wait a while, or give fewer workers"
        return "see the server's log" if status >= 500 else self._hint

    def _quote_start(self, reply: bytes) -> str:
        return " ".join(self.redaction.in_error(reply.decode("utf-8", "replace"), 2 * QUOTED).split())[:QUOTED]


class ServedModel:
    """Model at a path of a server: base class of the clients for each kind of model.

    Its spec is ``KIND:BASE_URL#MODEL`` and, after another ``#``, the settings that are not the default, as JSON.
    """

    kind: ClassVar[str]
    """Part of a spec before the colon."""
    path: ClassVar[str]
    """Path of the API, after the base URL."""
    noun: ClassVar[str]
    """Name of this kind of model in errors."""
    form: ClassVar[str]
    """Form of a spec of this kind: the hint of an error."""

    def __init__(self, base_url: str, model: str, changed: Mapping[str, Any], server: Callable[[str], Server]) -> None:
        if not model or "#" in model:
            raise InputError(f"{model!r} is not a model's name", "give the name that the model has on the server")
        self.base_url = base_url.rstrip("/")
        """Base URL of the server, without a slash at its end."""
        settings = f"#{json.dumps(changed, sort_keys=True)}" if changed else ""
        self.spec = f"{self.kind}:{self.base_url}#{model}{settings}"
        """Spec of the model: base URL, name and the settings that are not the default."""
        self._url = f"{self.base_url}{self.path}"
        self._model = model
        self._server = server(self._url)

    @classmethod
    def from_spec(cls, source: str, api_key: str = "") -> Self:
        """Return the model for the part of a spec after the colon.

        Raises
        ------
        UnknownModel
            If that part does not have the form of such a spec.
        """
        base_url, _, rest = source.partition("#")
        model, _, changed = rest.partition("#")
        try:
            return cls._with_settings(base_url, model, json.loads(changed or "{}"), api_key)
        except (TypeError, ValueError, RecursionError, InputError) as error:
            raise UnknownModel(f"cannot use this {cls.noun}: {error}", cls.form) from error

    @classmethod
    def _with_settings(cls, base_url: str, model: str, changed: dict[str, Any], api_key: str) -> Self:
        raise NotImplementedError


def changed_of(settings: Any) -> dict[str, Any]:
    """Return the fields of a settings dataclass that differ from their defaults."""
    defaults = asdict(type(settings)())
    return {name: value for name, value in asdict(settings).items() if value != defaults[name]}


class _EventLines:
    """Splitter of a stream of bytes into the data of its events."""

    def __init__(self) -> None:
        self._rest = b""

    def take(self, piece: bytes) -> Iterator[bytes]:
        """Yield the data of the events that are complete with this piece. An empty piece ends the stream."""
        *complete, self._rest = (self._rest + (piece or b"\n")).split(b"\n")
        for line in complete:
            if line.startswith(b"data:") and line[5:].strip():
                yield line[5:].strip()


class _PassingError(Exception):
    """Error after which a retry may succeed, ``wait`` seconds later if the server gave a time."""

    def __init__(self, error: ModelUnavailable, wait: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.wait = wait


def _check(url: str, api_key: str) -> None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InputError(f"{url!r} is not a URL: {error}", BASE_URL_HINT) from error
    if parts.username is not None or parts.password is not None:
        raise InputError("the server's URL contains a user or a password", "pass it as api_key: URLs are stored")
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or parts.query or parts.fragment:
        raise InputError(f"{url!r} is not the URL of a server", BASE_URL_HINT)
    if not (api_key.isascii() and api_key.isprintable()):
        raise InputError(
            "the api_key contains characters that no key has", "give it as printable ASCII, without line breaks"
        )


def _parse_retry_after(retry_after: str) -> float | None:
    """Return the seconds of a Retry-After header, given in seconds or as a date; None if it has neither."""
    with suppress(ValueError):
        return max(0.0, float(retry_after))
    with suppress(ValueError):
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    return None
