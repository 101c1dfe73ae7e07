"""Guards of the server: token, host, origin and security headers."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import monograph.app
from monograph import Document, Monograph
from monograph.app.serve.application import VIEWS
from monograph.errors import InputError
from monograph.loopback import Credentials, listen
from support.api_server import BASE, OPERATIONS, TOKEN, Client, serving

APP = Path(str(monograph.app.__file__)).parent
NO_TOKEN = {"Authorization": ""}
FILES = [
    f"{address}/{path.relative_to(folder).as_posix()}"
    for address, folder in (("/page", APP / "serve" / "page"), ("/picture", APP / "picture"))
    for path in sorted(folder.rglob("*.*"))
    if path.suffix in (".html", ".js", ".css", ".svg")
]
"""URL paths of the files of the page and of pictures."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    path = tmp_path_factory.mktemp("guarded") / "notes.mono"
    with Monograph.open(path) as notes:
        notes.add([Document("Mrs Grubb repaired the boiler.", id="boiler", title="The boiler")])
        with serving({"notes": notes}, write=True) as client:
            yield client


def test_requests_without_the_token_are_refused(client: Client) -> None:
    for route in OPERATIONS:
        for authorization in (
            "",
            "Bearer",
            "Bearer wrong",
            f"Basic {TOKEN}",
            TOKEN,
            f"Bearer {TOKEN}x",
            f"Bearer {TOKEN[:-1]}",
        ):
            reply = client.ask(route.method, BASE + route.path, headers={"Authorization": authorization})
            assert reply.status == 401, (route.path, authorization)
            assert reply.headers["www-authenticate"] == "Bearer"
    for path in ("/openapi.json", "/session", "", "/", "/nothing"):
        assert client.ask("GET", BASE + path, headers=NO_TOKEN).status == 401
    assert client.ask("GET", "/mcp", headers=NO_TOKEN).status == 401


def test_requests_for_other_hosts_are_refused(client: Client) -> None:
    for host in ("127.0.0.1", "localhost", "[::1]", "LOCALHOST"):
        assert client.ask("GET", f"{BASE}/stats", headers={"Host": f"{host}:{client.port}"}).status == 200
    for host in ("evil.example", f"evil.example:{client.port}", f"127.0.0.1.evil.example:{client.port}", "127.0.0.1",
                 f"127.0.0.1:{client.port + 1}", f"127.0.0.2:{client.port}", f"user@127.0.0.1:{client.port}"):  # fmt: skip
        for path in (f"{BASE}/stats", "/", "/page/main.js"):
            reply = client.ask("GET", path, headers={"Host": host})
            assert reply.status == 421, (host, path)
    with socket.create_connection(("127.0.0.1", client.port)) as raw:
        line = f"Host: 127.0.0.1:{client.port}\r\n"
        raw.sendall(f"GET / HTTP/1.1\r\n{line}{line}\r\n".encode())
        assert b" 4" in raw.recv(100)[:13]


def test_requests_from_other_origins_are_refused(client: Client) -> None:
    own = f"http://127.0.0.1:{client.port}"
    for origin, status in ((own, 200), (f"http://localhost:{client.port}", 200), ("http://evil.example", 403), ("null", 403),
                           (f"https://127.0.0.1:{client.port}", 403), (f"http://127.0.0.1:{client.port + 1}", 403), (f"{own}.evil", 403)):  # fmt: skip
        assert client.ask("GET", f"{BASE}/stats", headers={"Origin": origin}).status == status, origin
        assert client.ask("GET", "/", headers={"Origin": origin, **NO_TOKEN}).status == status, origin
    for site, status in (("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403), ("odd", 403)):
        assert client.ask("GET", f"{BASE}/stats", headers={"Sec-Fetch-Site": site}).status == status
    # A link on another site may open the page, but not the API.
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert client.ask("GET", "/search", headers=followed).status == 200
    assert client.ask("GET", f"{BASE}/stats", headers=followed).status == 403
    preflight = client.ask("OPTIONS", f"{BASE}/stats", headers={"Origin": "http://evil.example", **NO_TOKEN})
    assert preflight.status == 403
    assert not any(name.startswith("access-control") for name in preflight.headers)


def test_token_is_exchanged_for_a_cookie(client: Client) -> None:
    for authorization in ("", "Bearer wrong"):
        reply = client.ask("POST", f"{BASE}/session", b"", {"Authorization": authorization})
        assert reply.status == 401
        assert "set-cookie" not in reply.headers
    begun = client.ask("POST", f"{BASE}/session", b"")
    assert begun.status == 204
    set_cookie = begun.headers["set-cookie"]
    assert "HttpOnly" in set_cookie
    assert "SameSite=strict" in set_cookie
    assert "Path=/" in set_cookie
    assert TOKEN not in set_cookie
    name, _, value = set_cookie.partition(";")[0].partition("=")
    assert name == f"monograph_{client.port}"
    own = {**NO_TOKEN, "Cookie": f"other=1; {name}={value}"}
    assert client.ask("GET", f"{BASE}/stats", headers=own).status == 200
    for bad in (f"{name}={value[:-1]}", f"{name}=", f"x{name}={value}", f"{name}={TOKEN}"):
        assert client.ask("GET", f"{BASE}/stats", headers={**NO_TOKEN, "Cookie": bad}).status == 401
    # A request that changes something must have an Origin or Sec-Fetch-Site header.
    origin = {"Origin": f"http://127.0.0.1:{client.port}"}
    for headers, status in (
        ({}, 403),
        (origin, 202),
        ({"Origin": "http://evil.example"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 202),
        # A form on another site can send text/plain.
        ({**origin, "Content-Type": "text/plain"}, 400),
    ):
        sent = {**own, "Content-Type": "application/json", **headers}
        assert client.ask("POST", f"{BASE}/remove", b'{"ids": ["nothing"]}', sent).status == status, headers
    ended = client.ask("DELETE", f"{BASE}/session", headers={**own, **origin})
    assert ended.status == 204
    assert "Max-Age=0" in ended.headers["set-cookie"]


def test_every_response_has_security_headers(client: Client) -> None:
    addresses = [*VIEWS, *FILES, f"{BASE}/stats", f"{BASE}/nothing", f"{BASE}/openapi.json", "/nothing"]
    for path in addresses:
        reply = client.ask("GET", path)
        assert reply.headers["x-content-type-options"] == "nosniff", path
        assert reply.headers["referrer-policy"] == "no-referrer", path
        assert reply.headers["content-security-policy"].startswith("default-src 'none'"), path
        assert "unsafe" not in reply.headers["content-security-policy"]
        assert not any(name.startswith("access-control") for name in reply.headers)
        assert reply.headers["cache-control"] in ("no-store", "no-cache")
        assert "server" not in reply.headers


def test_page_without_the_token_contains_no_data(client: Client) -> None:
    for view in VIEWS:
        page = client.ask("GET", view, headers=NO_TOKEN)
        assert page.status == 200
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert b"Mrs Grubb" not in page.body
    kinds = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}
    for path in FILES:
        reply = client.ask("GET", path, headers=NO_TOKEN)
        assert reply.status == 200
        kind = path.rpartition(".")[2]
        assert reply.headers["content-type"] == kinds.get(kind, reply.headers["content-type"])
        again = client.ask("GET", path, headers={"If-None-Match": reply.headers["etag"], **NO_TOKEN})
        assert (again.status, again.body) == (304, b"")


def test_paths_outside_the_page_are_not_found(client: Client) -> None:
    for path in ("/page/../__init__.py", "/page/%2e%2e/served.py", "/page/..%2fserved.py", "/page//etc/passwd", "//etc/passwd",
                 "/page/..\\served.py", "/page/", "/page", "/page/%00", "/picture/__init__.py", "/page/index.html/..", "/page/index.html%00.js",
                 "/%2fapi/v1/stats", "/api%2fv1/stats", "/API/v1/stats"):  # fmt: skip
        reply = client.ask("GET", path, headers=NO_TOKEN)
        assert reply.status in (401, 404), path
        assert b"import" not in reply.body
    for path in ("/api/v1/../../page/main.js", "/page/../api/v1/stats", "/./api/v1/stats"):
        assert client.ask("GET", path, headers=NO_TOKEN).status in (401, 404)


def test_server_binds_only_loopback_addresses() -> None:
    for host in ("0.0.0.0", "192.168.1.1", "example", "::", "localhost.evil.example"):
        with pytest.raises(InputError):
            listen(host, 0)
    with listen("::1", 0) as six:
        assert six.getsockname()[0] == "::1"
    for token in ("short", "ü" * 20, "a line\nanother line here"):
        with pytest.raises(InputError, match="token"):
            Credentials(token, 80)
    assert "token that" not in repr(Credentials("a token that is long", 80))


def test_malformed_http_is_refused(client: Client) -> None:
    for sent in (
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: " + b"b" * 100_000,
        b"GET / HTTP/9.9\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", client.port), timeout=30) as raw:
            raw.sendall(sent)
            raw.shutdown(socket.SHUT_WR)
            assert raw.recv(12) in (b"", b"HTTP/1.1 400", b"HTTP/1.1 421")
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }
    assert client.ask("GET", "/", headers=upgrade).status in (200, 400)
    assert client.get("/stats").status == 200
