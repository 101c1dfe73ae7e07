"""Jobs, uploads and changes over HTTP, and limits of the server."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from monograph import Document, Monograph
from monograph.app.serve import application, server
from support.api_server import BASE, Client, address, events, serving
from support.browser import TOKEN, site


@pytest.fixture
def notes(folder: Path) -> Path:
    (folder / "boiler.md").write_text("# Boiler\n\nMrs Grubb repaired the boiler in Salzburg.")
    (folder / "comet.md").write_text("# Comet\n\nInes Calder found the comet over Salzburg.")
    return folder


@pytest.fixture
def client(monograph: Monograph) -> Iterator[Client]:
    with serving({"notes": monograph}, write=True) as client:
        yield client


def upload(client: Client, name: str, data: bytes, **parameters: str) -> tuple[int, dict[str, object]]:
    reply = client.ask("POST", address("/upload", name=name, **parameters), data)
    return reply.status, reply.json


def test_folder_is_watched(client: Client, notes: Path) -> None:
    assert client.done(client.post("/sync"))["error"]["kind"] == "InputError", "nothing is followed yet"
    planned = client.done(client.post("/plan", sources=[str(notes)]))
    assert planned["state"] == "done"
    assert planned["plan"]["cost"]["documents"] == 2
    assert client.get("/documents").json["count"] == 0
    done = client.done(client.post("/sync", sources=[str(notes)]))
    assert (done["state"], done["kind"], done["file"]) == ("done", "sync", "notes")
    assert done["report"]["added"] == 2
    assert done["progress"]["done"] == done["progress"]["total"] == 2
    assert client.get("/search", q="who repaired the boiler?").json["files"][0]["hits"]
    (notes / "comet.md").unlink()
    assert client.done(client.post("/sync"))["report"]["removed"] == 1
    listed = client.get("/jobs").json
    assert [one["kind"] for one in listed] == ["sync", "sync", "plan", "sync"]
    assert all(one["report"] is None for one in listed)
    missing = client.done(client.post("/sync", sources=[str(notes / "nowhere")]))
    assert (missing["state"], missing["error"]["kind"]) == ("failed", "SourceMissing")
    gone = client.done(client.post("/sources/remove", root=notes.name))
    assert gone["report"]["removed"] == 1
    assert client.get("/sources").json == []


def test_failed_files_are_listed_and_retried(client: Client, notes: Path) -> None:
    (notes / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing of a PDF")
    done = client.done(client.post("/sync", sources=[str(notes)]))
    assert [one["uri"] for one in done["report"]["problems"]] == [f"{notes.name}/broken.pdf"]
    (failure,) = client.get("/failures").json
    assert failure["hint"]
    assert client.get("/sources").json[0]["failures"] == [failure]
    (notes / "broken.pdf").write_text("It is text by now.")
    assert client.done(client.post("/retry"))["report"]["problems"] == []
    assert client.get("/failures").json == []


def test_job_sends_progress_events(client: Client, notes: Path) -> None:
    for number in range(40):
        (notes / f"{number}.txt").write_text(f"Part {number} of the log of the observatory.")
    job = client.post("/sync", sources=[str(notes)]).json
    sent = client.stream("/job/events", id=job["id"]).events
    assert {name for name, _ in sent} == {"job"}
    last = sent[-1][1]
    assert (last["state"], last["report"]["added"]) == ("done", 42)
    # A page that reloads gets the last event.
    assert client.stream("/job/events", id=job["id"]).events == sent[-1:]
    assert client.get("/job", id=job["id"]).json == last


@pytest.mark.long
def test_stopped_job_can_be_continued(client: Client, notes: Path, monograph: Monograph) -> None:
    for number in range(1500):
        (notes / f"{number}.txt").write_text(f"Part {number} of the log, by Ines Calder. " * 30)
    job = client.post("/sync", sources=[str(notes)]).json
    while not (client.get("/job", id=job["id"]).json["progress"] or {}).get("done"):
        time.sleep(0.01)
    waiting = client.post("/sync", sources=[str(notes)]).json
    for begun in (waiting, job):
        assert client.ask("DELETE", address("/job", id=begun["id"])).status == 200
    for stopped in (job, waiting):
        assert client.stream("/job/events", id=stopped["id"]).events[-1][1]["state"] == "stopped"
    assert client.get("/check").json == []
    before = client.get("/documents").json["count"]
    assert before < 1502
    done = client.done(client.post("/sync", sources=[str(notes)]))
    assert client.get("/documents").json["count"] == 1502
    assert done["report"]["added"] == 1502 - before


def test_document_is_forgotten_over_http(client: Client, monograph: Monograph) -> None:
    monograph.add([Document(f"The secret of {name}.", id=name) for name in ("ann", "ben")])
    done = client.done(client.post("/remove", ids=["ann"], forget=True))
    assert done["report"]["removed"] == 1
    assert client.get("/document", id="ann").status == 404
    assert b"secret of ann" not in monograph.path.read_bytes()
    failed = client.done(client.post("/remove", ids=["ben", "nobody"]))
    assert failed["error"]["kind"] == "NotFound"
    assert client.get("/document", id="ben").status == 200, "all of them, or none"


def test_changes_by_any_writer_are_announced(client: Client, monograph: Monograph) -> None:
    with client.connected() as raw:
        raw.sendall(client.head("GET", f"{BASE}/changes") + b"\r\n")
        lines = iter(raw.makefile("r", encoding="utf-8"))
        changes = events(line.rstrip("\n") for line in lines)
        assert next(changes) == ("change", {"file": "notes", "generation": monograph.generation()})
        with Monograph.open(monograph.path) as other:
            other.add([Document("Said by another.", id="other")])
        _, changed = next(changes)
        assert changed["generation"] > 1


def test_uploaded_file_is_stored_in_a_folder(client: Client, notes: Path) -> None:
    assert upload(client, "a.txt", b"x", root=notes.name)[0] == 404, "it is not followed yet"
    client.done(client.post("/sync", sources=[str(notes)]))
    (notes / "letters").mkdir()
    status, taken = upload(
        client, "ein Brief 😀.txt", b"Dear Ann, the boiler is red.", root=notes.name, folder="letters"
    )
    assert status == 201
    assert taken == {
        "path": str(notes / "letters" / "ein Brief 😀.txt"), "uri": f"{notes.name}/letters/ein Brief 😀.txt", "bytes": 28,
    }  # fmt: skip
    assert client.done(client.post("/sync"))["report"]["added"] == 1
    assert client.get("/document", id=str(taken["uri"])).json["text"] == "Dear Ann, the boiler is red."
    assert upload(client, "ein Brief 😀.txt", b"Other.", root=notes.name, folder="letters") == (409, {
        "error": "a file named 'ein Brief 😀.txt' exists already", "hint": "give it another name", "kind": "NameTaken",
    })  # fmt: skip
    assert sorted(os.listdir(notes / "letters")) == ["ein Brief 😀.txt"]


def test_uploaded_names_with_paths_are_refused(client: Client, notes: Path, tmp_path: Path) -> None:
    client.done(client.post("/sync", sources=[str(notes)]))
    (tmp_path / "outside").mkdir()
    (notes / "out").symlink_to(tmp_path / "outside")
    (notes / "dangling.txt").symlink_to(tmp_path / "outside" / "made.txt")
    (notes / ".monographignore").write_text("*.log\n")
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    for name in ("../x.txt", "/etc/x.txt", "a/b.txt", "a\\b.txt", "..", ".", "", "x\0.txt", "x\n.txt", ".hidden", "x.mono", "x.part",
                 "x.log", "n" * 300, "\u202etxt.exe"):  # fmt: skip
        status, fault = upload(client, name, b"data", root=notes.name)
        assert (status, fault["kind"]) == (400, "InputError"), name
    for folder in ("..", "../outside", "/etc", "out", "a/../..", "none", "./", "a//b", "\0"):
        status, fault = upload(client, "x.txt", b"data", root=notes.name, folder=folder)
        assert (status, fault["kind"]) == (400, "InputError"), folder
    assert upload(client, "dangling.txt", b"data", root=notes.name)[0] == 409
    assert upload(client, "x.txt", b"data", root=str(tmp_path / "outside"))[0] == 404
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before


def test_oversized_upload_leaves_nothing(client: Client, notes: Path) -> None:
    client.done(client.post("/sync", sources=[str(notes)]))
    before = sorted(os.listdir(notes))
    head = client.head("POST", address("/upload", root=notes.name, name="big.txt"))
    with client.connected() as raw:
        raw.sendall(head + b"Content-Length: 200000000\r\n\r\n" + b"x" * 1000)
        assert raw.recv(12) == b"HTTP/1.1 413", "said before it is sent"
    with client.connected() as raw:
        raw.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
        piece = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
        with contextlib.suppress(OSError):  # The server ends the connection.
            for _ in range(120):
                raw.sendall(piece)
        assert raw.recv(12) in (b"HTTP/1.1 413", b"")
    with client.connected() as raw:
        raw.sendall(head + b"Content-Length: 1000\r\n\r\n" + b"x" * 10)
        # The client disconnects before the whole body is sent.
    while sorted(os.listdir(notes)) != before:
        time.sleep(0.05)


def send_until_cut(port: int, first: bytes, piece: bytes = b"") -> None:
    """Send ``first``, then ``piece`` every 0.2 seconds, until the server ends the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=0.2) as raw, contextlib.suppress(ConnectionError):
        raw.sendall(first)
        while True:
            try:
                if raw.recv(1000) == b"":
                    return
            except TimeoutError:
                raw.sendall(piece)


def limit_patience(patched: pytest.MonkeyPatch) -> queue.SimpleQueue[int]:
    """Shorten the timeouts for slow clients; return a queue of the client ports whose connections have ended."""
    ended: queue.SimpleQueue[int] = queue.SimpleQueue()

    class Watched(server.PatientProtocol):
        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            ended.put(self.transport.get_extra_info("peername")[1])

    patched.setattr(server, "PatientProtocol", Watched)
    for name, seconds in (("HEAD", 0.5), ("TAKING", 0.5)):
        patched.setattr(server, f"{name}_SECONDS", seconds)
    for name, seconds in (("SILENCE", 0.5), ("BODY", 1.5)):
        patched.setattr(application, f"{name}_SECONDS", seconds)
    return ended


@pytest.mark.long
def test_slow_clients_are_disconnected(monograph: Monograph, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = limit_patience(monkeypatch)
    monograph.sync(notes)
    size = 100_000_000
    with (notes / "comet.md").open("wb") as file:
        file.truncate(size)
    with serving({"notes": monograph}, write=True) as client:
        place = address("/upload", root=notes.name, name="slow.txt")
        upload_head = client.head("POST", place, "Content-Length: 1000") + b"\r\n"
        slow = ((b"", b""), (b"GET / HTTP/1.1\r\n", b"A: b\r\n"), (upload_head, b""), (upload_head, b"x"))
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda one: send_until_cut(client.port, *one), slow))
        with socket.socket() as raw:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            raw.connect(("127.0.0.1", client.port))
            original = address("/document/original", id=f"{notes.name}/comet.md")
            raw.sendall(client.head("GET", original) + b"\r\n")
            while ended.get() != raw.getsockname()[1]:
                pass
            received = 0
            with contextlib.suppress(ConnectionError):
                while some := raw.recv(1 << 16):
                    received += len(some)
            assert received < size / 4, "what is not taken is not sent"
        monkeypatch.undo()  # On a busy machine, the short timeouts could also end fast requests.
        assert len(client.get("/document/original", id=f"{notes.name}/comet.md").body) == size
        assert client.get("/stats").status == 200
        assert not (notes / "slow.txt").exists()


@pytest.mark.long
def test_concurrent_requests_are_answered(client: Client, notes: Path) -> None:
    client.done(client.post("/sync", sources=[str(notes)]))
    questions = ["who repaired the boiler?", "who found the comet?", "Salzburg"]
    expected = {q: client.get("/search", q=q).json for q in questions}

    def one(number: int) -> bool:
        q = questions[number % 3]
        return bool(client.get("/search", q=q).json == expected[q])

    with contextlib.ExitStack() as idle, ThreadPoolExecutor(50) as pool:
        for _ in range(50):
            idle.enter_context(client.connected())
        assert all(pool.map(one, range(300)))


def test_requests_beyond_the_limit_are_refused(client: Client, notes: Path) -> None:
    for number in range(400):
        (notes / f"{number}.txt").write_text("The log. " * 200)
    replies = [client.post("/sync", sources=[str(notes)]).status for _ in range(30)]
    assert replies[:5] == [202] * 5
    assert set(replies) <= {202, 429}
    for job in client.get("/jobs").json:
        client.ask("DELETE", address("/job", id=job["id"]))


@pytest.mark.long
def test_sync_killed_midway_is_completed_by_the_next(notes: Path, tmp_path: Path) -> None:
    for number in range(1500):
        (notes / f"{number}.txt").write_text(f"Part {number} of the log, by Ines Calder. " * 30)
    path = tmp_path / "made.mono"
    with site([path], "--write") as running:
        client = Client(running.port, TOKEN)
        job = client.post("/sync", sources=[str(notes)]).json
        while (client.get("/job", id=job["id"]).json["progress"] or {"done": 0})["done"] < 200:
            time.sleep(0.02)
        os.kill(running.process, signal.SIGKILL)
    with site([path], "--write") as running:
        client = Client(running.port, TOKEN)
        assert client.get("/jobs").json == []
        assert client.get("/check").json == []
        client.done(client.post("/sync", sources=[str(notes)]))
        assert client.get("/documents").json["count"] == 1502
        # An interrupt ends the server while a client is still connected.
        with client.connected() as raw:
            raw.sendall(client.head("GET", f"{BASE}/changes") + b"\r\n")
            raw.recv(100)
            os.kill(running.process, signal.SIGINT)
            latest = time.monotonic() + 20
            while (ended := os.waitpid(running.process, os.WNOHANG)) == (0, 0):
                assert time.monotonic() < latest
                time.sleep(0.05)
            assert os.waitstatus_to_exitcode(ended[1]) in (0, 130)
