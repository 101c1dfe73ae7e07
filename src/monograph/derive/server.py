"""Client of a model behind a server: posts JSON, retries, and reads the reply as a whole or event by event."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from email.utils import parsedate_to_datetime
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar
from urllib.parse import urlsplit

from monograph.derive.loading import write_spec
from monograph.derive.redaction import Redaction
from monograph.errors import InputError, MissingExtra, ModelUnavailable, UnknownModel
from monograph.values import arguments

if TYPE_CHECKING:
    from typing import Self

    from urllib3 import BaseHTTPResponse

    from monograph.models import Allow

T = TypeVar("T")

FIRST_WAIT = 0.5
"""Seconds before the first retry. The wait doubles before each further retry."""
MAX_WAIT = 60.0
"""Most seconds to wait before a retry. If a server asks for a longer wait, the request fails without a retry."""
QUOTED = 200
"""Most characters of a server's reply that an error quotes."""

_CONNECT_SECONDS = 10.0
_PIECE = 1 << 16
_RETRIED_STATUSES = {408, 425, 429}
_URL_HINT = "give the base URL of an OpenAI-compatible API, which usually ends in /v1"


class ServedModel:
    """Model at a path of a server: base class of the clients for each kind of model.

    Safe for use by several threads; connections are reused. A request is retried after errors that may pass: a refused
    or broken connection, a reply that breaks off, and the statuses 408, 425, 429 and 5xx. If the reply has the header
    ``Retry-After``, the client waits as long as the header states. Without the header, the client waits FIRST_WAIT
    seconds before the first retry, and doubles the wait for each further retry. Redirects are not followed, because
    they would send the key to another server.

    The spec is ``KIND:BASE_URL#MODEL``. If settings differ from the defaults, ``#`` and these settings as JSON follow.

    Parameters
    ----------
    base_url:
        URL of the API without :attr:`path` at its end. Files store it, so it may contain neither a password nor a
        query.
    model:
        Name of the model on the server.
    changed:
        Settings that are not the default, by name.
    api_key:
        Sent as a bearer token, unless it is empty. No file stores it. It is removed from error messages that quote the
        server.
    timeout:
        Most seconds of one try from the request to the beginning of the reply. The same number of seconds is allowed
        from the beginning to the end of the reply.
    retries:
        Retries after the first try.

    Raises
    ------
    MissingExtra
        If urllib3 is not installed.
    InputError
        If an argument is invalid.
    """

    kind: ClassVar[str]
    """Scheme of the model's spec: the part before the colon."""
    path: ClassVar[str]
    """Path of the API, after the base URL."""
    noun: ClassVar[str]
    """Name of this kind of model in errors, such as ``reranker``."""
    form: ClassVar[str]
    """Hint of the error for an invalid spec: it describes the form of a spec of this kind."""
    hint: ClassVar[str] = _URL_HINT
    """Hint of the error if the server at the URL does not have this API."""
    key_hint: ClassVar[str] = "pass the server's key as api_key"
    """Hint of the error if the server refuses the key."""
    max_reply: ClassVar[int] = 4 << 20
    """Most bytes of a reply. A longer reply is an error."""
    retries_timeouts: ClassVar[bool] = False
    """Whether a request is retried after it timed out."""
    other_form: ClassVar[str]
    """Name of a field that only the second form of requests has.

    If a server's error mentions the field, the server expects the second form: see :meth:`_switch_form`. Only
    subclasses for APIs with two forms of requests have this attribute.
    """

    def __init__(
        self, base_url: str, model: str, changed: Mapping[str, Any], api_key: str, timeout: float, retries: int
    ) -> None:
        if not model or "#" in model:
            raise InputError(f"{model!r} is not a model's name", "give the name that the model has on the server")
        try:
            import urllib3
        except ImportError as error:
            raise MissingExtra("requests to a server need urllib3", 'pip install "monograph[llm]"') from error
        self.base_url = base_url.rstrip("/")
        """Base URL of the server, without a slash at its end."""
        self.spec = write_spec(f"{self.kind}:{self.base_url}#{model}", changed)
        """Spec of the model: base URL, name and the settings that are not the default."""
        self.allow: Allow | None = None
        """Called with the base URL before the first request; None allows every URL. It raises an error to refuse.
        After a refusal it is called again before the next request.
        """
        self._model = model
        self._url = f"{self.base_url}{self.path}"
        _check(self._url, api_key)
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if api_key:
            headers["Authorization"] = f"Bearer {api_key}"
        self._redaction = Redaction(api_key)
        self._may_chain = not api_key
        self._timeout = arguments.seconds(timeout, "timeout")
        self._retries = arguments.whole_number(retries, "retries", 0)
        self._uses_other_form = False
        # The pool keeps the key: no attribute of the model shows it.
        self._pool = urllib3.PoolManager(maxsize=32, headers=headers, retries=False)

    def __reduce__(self) -> NoReturn:
        raise InputError(
            "a model behind a server cannot be pickled: the pickle would contain its key",
            "create it again where it is needed",
        )

    @classmethod
    def from_spec(cls, source: str, api_key: str = "") -> Self:
        """Return the model of a spec.

        ``source`` is the part of the spec after its first colon: ``BASE_URL#MODEL`` or ``BASE_URL#MODEL#SETTINGS``.

        Raises
        ------
        UnknownModel
            If ``source`` does not have this form, or a value in it is invalid.
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

    def _ask_permission(self) -> None:
        allow = self.allow
        if allow is not None:
            allow(self.base_url)
            self.allow = None

    def _post(self, request: dict[str, Any]) -> dict[str, Any]:
        """Post a JSON object and return the JSON object of the reply. Raises ModelUnavailable."""
        reply: dict[str, Any] = self._parse(self._send(request), dict)
        return reply

    def _send(self, request: dict[str, Any]) -> bytes:
        body = json.dumps(request).encode()
        return self._retry(lambda: b"".join(self._pieces(self._open(body))))

    def _stream(self, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Post a JSON object and yield the events of the reply; one event if the server does not stream."""
        body = json.dumps(request).encode()
        # Nothing is retried after a reply with status 200 begins.
        response = self._retry(lambda: self._open(body))
        broken = "broke off its answer"
        try:
            if "text/event-stream" not in response.headers.get("Content-Type", ""):
                yield self._parse(b"".join(self._pieces(response, broken)), dict)
                return
            rest = b""
            for piece in chain(self._pieces(response, broken), [b"\n"]):
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    data = line[5:].strip() if line.startswith(b"data:") else b""
                    if data == b"[DONE]":
                        return
                    if data:
                        yield self._parse(data, dict)
            raise ModelUnavailable(f"{self._url} {broken}", "ask again, or see the server's log")
        finally:
            response.close()

    def _retry(self, attempt: Callable[[], T]) -> T:
        """Return the result of ``attempt``. It is called again after errors that may pass: see :class:`ServedModel`."""
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

    def _open(self, body: bytes) -> BaseHTTPResponse:
        """Send a request body, and return the response if its status is 200. The response's body is not read yet."""
        from urllib3 import Timeout

        with self._translate_errors():
            response = self._pool.request(
                "POST",
                self._url,
                body=body,
                timeout=Timeout(connect=min(_CONNECT_SECONDS, self._timeout), read=self._timeout),
                redirect=False,
                preload_content=False,
            )
        if response.status != 200:
            raise self._refusal_error(response, b"".join(self._pieces(response)))
        return response

    def _pieces(self, response: BaseHTTPResponse, broken: str = "") -> Iterator[bytes]:
        """Yield the body of a reply piece by piece. For ``broken`` see :meth:`_translate_errors`."""
        deadline = time.monotonic() + self._timeout
        size = 0
        while True:
            with self._translate_errors(broken):
                piece = response.read1(_PIECE)
            if not piece:
                response.release_conn()
                return
            size += len(piece)
            if size > self.max_reply:
                response.close()
                raise ModelUnavailable(f"{self._url} replied with more than {self.max_reply} bytes", self.hint)
            yield piece
            if time.monotonic() > deadline:
                response.close()
                raise self._timeout_error()

    @contextmanager
    def _translate_errors(self, broken: str = "") -> Iterator[None]:
        """Raise connection errors as ModelUnavailable. If a message ``broken`` is given, the request is not retried."""
        from urllib3 import exceptions

        try:
            yield
        except exceptions.HTTPError as error:
            why = self._redaction.in_error(str(error), QUOTED)
            if isinstance(error, exceptions.ReadTimeoutError):
                # ``retries_timeouts`` alone decides whether a timeout is retried.
                ours = self._timeout_error()
            elif broken:
                ours = ModelUnavailable(f"{self._url} {broken}: {why}", "ask again, or see the server's log")
            else:
                unreachable = f"{self._url} cannot be reached: {why}"
                ours = _PassingError(ModelUnavailable(unreachable, "start the server, or give its base URL"))
            # A chained error is printed as well, and may quote the reply, which may contain the key.
            raise ours from (error if self._may_chain else None)

    def _timeout_error(self) -> Exception:
        error = ModelUnavailable(
            f"{self._url} gave no answer within {self._timeout:g} seconds",
            "give a longer timeout, fewer workers or a smaller model",
        )
        return _PassingError(error) if self.retries_timeouts else error

    def _refusal_error(self, response: BaseHTTPResponse, reply: bytes) -> Exception:
        """Return the error for a status other than 200. Its type says whether the request is to be retried."""
        status = response.status
        if status in (401, 403):
            hint = self.key_hint
        elif status == 404:
            hint = f"{self.hint}; check that the server has the model"
        elif status in _RETRIED_STATUSES:
            hint = "wait a while, or give fewer workers"
        else:
            hint = "see the server's log" if status >= 500 else self.hint
        excerpt = self._quote_start(reply)
        error = ModelUnavailable(f"{self._url} replied with status {status}: {excerpt}", hint)
        error.status, error.reply = status, excerpt
        if status in _RETRIED_STATUSES or status >= 500:
            return _PassingError(error, _parse_retry_after(response.headers.get("Retry-After", "")))
        return error

    def _switch_form(self, error: ModelUnavailable) -> bool:
        """Switch later requests to the second form if ``error`` mentions ``other_form``. Return whether it switched."""
        if self._uses_other_form or self.other_form not in error.reply:
            return False
        self._uses_other_form = True
        return True

    def _parse(self, reply: bytes, kind: type[Any] = object) -> Any:
        """Return the JSON value of a reply. Raises ModelUnavailable if it is not JSON, or not of the type ``kind``."""
        with suppress(ValueError, RecursionError):
            value = json.loads(reply)
            if isinstance(value, kind):
                return value
        noun = "JSON object" if kind is dict else "JSON"
        raise ModelUnavailable(f"{self._url} replied with no {noun}: {self._quote_start(reply)}", self.hint)

    def _quote_start(self, reply: bytes) -> str:
        return " ".join(self._redaction.in_error(reply.decode("utf-8", "replace"), 2 * QUOTED).split())[:QUOTED]

    def _quote(self, reply: Any) -> str:
        """Return the beginning of a JSON value from the server, without the API key, for an error message."""
        return self._redaction.in_error(json.dumps(reply, ensure_ascii=False), QUOTED)


class _PassingError(Exception):
    """Error after which a retry may succeed. ``wait`` is the number of seconds that the server states, or None."""

    def __init__(self, error: ModelUnavailable, wait: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.wait = wait


def _check(url: str, api_key: str) -> None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InputError(f"{url!r} is not a URL: {error}", _URL_HINT) from error
    if parts.username is not None or parts.password is not None:
        raise InputError("the server's URL contains a user or a password", "pass it as api_key: URLs are stored")
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or parts.query or parts.fragment:
        raise InputError(f"{url!r} is not the URL of a server", _URL_HINT)
    if not (api_key.isascii() and api_key.isprintable()):
        raise InputError(
            "the api_key contains characters that no key has", "give it as printable ASCII, without line breaks"
        )


def _parse_retry_after(retry_after: str) -> float | None:
    """Return the seconds to wait by a Retry-After header, which states seconds or a date; None if it states neither."""
    with suppress(ValueError):
        return max(0.0, float(retry_after))
    with suppress(ValueError):
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    return None
