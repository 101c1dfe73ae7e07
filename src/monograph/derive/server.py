"""One JSON request to a server, tried again where that may help."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from monograph.errors import InputError, MissingExtra, ModelUnavailable

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

FIRST_WAIT = 0.5
"""Seconds before the first retry; every further one waits twice as long."""
MAX_WAIT = 60.0
"""Seconds that a server may ask us to wait; one that asks for more is given up."""
MAX_REPLY = 4 << 20
"""Bytes of a reply that are read."""
BASE_URL_MEND = "give the base URL of an API of the OpenAI form, which mostly ends in /v1"

_CONNECT = 10.0
_AGAIN = {408, 425, 429}


class Server:
    """An address that JSON is posted to. Safe to use from several threads; connections are kept and used again.

    What may pass by itself is tried again: a refused or broken connection, a reply that breaks off, the statuses 408,
    425, 429 and 5xx. Between tries it waits as long as ``Retry-After`` says, else twice as long each time. A server
    that is too slow is not asked again, and redirects are not followed: they would hand the key to another.

    Parameters
    ----------
    url:
        Where to post.
    api_key:
        Sent as a bearer token, if not empty.
    timeout:
        Seconds for one try, from the request to the last byte.
    retries:
        Tries after the first.

    Raises
    ------
    MissingExtra
        If urllib3 is not installed.
    InputError
        If a value will not do.
    """

    def __init__(self, url: str, api_key: str, timeout: float, retries: int) -> None:
        try:
            import urllib3
        except ImportError as error:
            raise MissingExtra("asking a server needs urllib3", 'pip install "monograph[llm]"') from error
        _check(url, api_key)
        if timeout <= 0 or retries < 0:
            raise InputError(f"timeout is {timeout} and retries is {retries}", "give seconds above 0 and 0 or more")
        self._url = url
        self._headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._timeout = timeout
        self._retries = retries
        self._pool = urllib3.PoolManager(maxsize=32, retries=False)

    def post(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Post a JSON object and read the one that comes back.

        Raises
        ------
        ModelUnavailable
            If the server cannot be reached, refuses, is too slow, or replies with no JSON object or too large a one.
        """
        body = json.dumps(asked).encode()
        wait = FIRST_WAIT
        tries = self._retries
        while True:
            try:
                reply = self._try(body)
                break
            except _PassingError as passing:
                pause = wait if passing.wait is None else passing.wait
                if not tries or pause > MAX_WAIT:
                    raise passing.error from passing
            tries -= 1
            wait *= 2
            time.sleep(pause)
        with suppress(ValueError, RecursionError):
            made = json.loads(reply)
            if isinstance(made, dict):
                return made
        raise ModelUnavailable(f"{self._url} replied with no JSON object: {_start(reply)}", BASE_URL_MEND)

    def _try(self, body: bytes) -> bytes:
        """One request, and the body of its reply."""
        from urllib3 import exceptions

        try:
            response = self._open(body)
            reply = self._read(response, time.monotonic() + self._timeout)
        except exceptions.ReadTimeoutError as error:
            raise self._too_slow() from error
        except exceptions.HTTPError as error:
            raise _PassingError(
                ModelUnavailable(f"{self._url} cannot be reached: {error}", "start the server, or give its base URL")
            ) from error
        if response.status != 200:
            raise self._refusal(response, reply)
        return reply

    def _open(self, body: bytes) -> BaseHTTPResponse:
        """Post a body; the reply's is yet to be read."""
        from urllib3 import Timeout

        return self._pool.request(
            "POST",
            self._url,
            body=body,
            headers=self._headers,
            timeout=Timeout(connect=min(_CONNECT, self._timeout), read=self._timeout),
            redirect=False,
            preload_content=False,
        )

    def _read(self, response: BaseHTTPResponse, deadline: float) -> bytes:
        """The body of a reply, within its time and size."""
        body = bytearray()
        while piece := response.read1(1 << 16):
            body += piece
            if len(body) > MAX_REPLY:
                response.close()
                raise ModelUnavailable(f"{self._url} replied with more than {MAX_REPLY} bytes", BASE_URL_MEND)
            if time.monotonic() > deadline:
                response.close()
                raise self._too_slow()
        response.release_conn()
        return bytes(body)

    def _too_slow(self) -> ModelUnavailable:
        return ModelUnavailable(
            f"{self._url} gave no answer within {self._timeout:g} seconds",
            "give a longer timeout, fewer workers or a smaller model",
        )

    def _refusal(self, response: BaseHTTPResponse, reply: bytes) -> Exception:
        """The error for a status other than 200, passing or not."""
        status = response.status
        error = ModelUnavailable(f"{self._url} replied with status {status}: {_start(reply)}", _mend(status))
        if status in _AGAIN or status >= 500:
            return _PassingError(error, _seconds(response.headers.get("Retry-After", "")))
        return error


class _PassingError(Exception):
    """What may be over at the next try, after ``wait`` seconds if the server said so."""

    def __init__(self, error: ModelUnavailable, wait: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.wait = wait


def _check(url: str, api_key: str) -> None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InputError(f"{url!r} is no URL: {error}", BASE_URL_MEND) from error
    if parts.username is not None or parts.password is not None:
        raise InputError("the URL of a server holds a user or a password", "hand it over as api_key: URLs are stored")
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or parts.query or parts.fragment:
        raise InputError(f"{url!r} is not the URL of a server", BASE_URL_MEND)
    if not (api_key.isascii() and api_key.isprintable()):
        raise InputError("the api_key holds characters that no key has", "give it without spaces and line breaks")


def _mend(status: int) -> str:
    if status in (401, 403):
        return "hand over the server's key as api_key"
    if status == 404:
        return f"{BASE_URL_MEND}; see that the server has the model"
    if status in _AGAIN:
        return "wait a while, or give fewer workers"
    return "the server's log says more" if status >= 500 else BASE_URL_MEND


def _start(reply: bytes) -> str:
    return " ".join(reply[:400].decode("utf-8", "replace").split())[:200]


def _seconds(retry_after: str) -> float | None:
    """What a Retry-After header asks for, be it seconds or a date; None where it says nothing."""
    with suppress(ValueError):
        return max(0.0, float(retry_after))
    with suppress(ValueError):
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    return None
