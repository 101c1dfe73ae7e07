"""Permission to call the servers that a received file names."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Chunk, Document, Monograph
from monograph.derive.loading import (
    HUB,
    addresses,
    load_describer,
    load_embedder,
    load_extractor,
    load_model,
    load_reranker,
    load_summarizer,
)
from monograph.errors import InputError, MissingExtra, ModelUnavailable, ModelUntrusted
from monograph.store.file import checksums
from support.forks import COMMAND_LINE, COMMANDS, Forks
from support.model_server import ModelServer
from support.models import HashEmbedder
from support.paths import DATA
from support.properties import examples
from support.raw_sql import connected

FIXTURE = DATA / "format-1.mono"
DIARY = "# Diary\n\nMy bank PIN is 4411 and Ann Mercer lives in Riga. Ann Mercer keeps bees with Otto Ruhl.\n"

NO_NETWORK = """
def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        raise SystemExit(f"asked: {event} {arguments}")
sys.addaudithook(refuse)
main()
"""
OFFLINE_COMMANDS = Forks(COMMAND_LINE, NO_NETWORK)


class User:
    """A user of the command line with a separate home directory."""

    def __init__(self, home: Path) -> None:
        self.home = home
        home.mkdir(exist_ok=True)

    def run(self, *arguments: object, code: int = 0, offline: bool = False, **variables: str) -> str:
        known = {"HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home / "config"), **variables}
        with pytest.MonkeyPatch.context() as environment:
            for name in [name for name in os.environ if name.startswith("MONOGRAPH")]:
                environment.delenv(name)
            for name, value in known.items():
                environment.setenv(name, value)
            done = (OFFLINE_COMMANDS if offline else COMMANDS).run("monograph", *arguments)
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path / "ann")


@pytest.fixture
def diary(tmp_path: Path) -> Path:
    made = tmp_path / "private"
    made.mkdir()
    (made / "diary.md").write_text(DIARY)
    return made


@pytest.fixture
def received(tmp_path: Path, server: ModelServer) -> Iterator[Path]:
    """Yield a file of another user, with a server as extractor and summarizer. Calls recorded so far are cleared."""
    path = tmp_path / "received.mono"
    spec = f"llm:openai:{server.url}#x"
    with Monograph.open(path, extractor=load_extractor(spec), summarizer=load_summarizer(spec)) as archive:
        archive.add([Document("A shared archive about Anna Karenina.", id="hello", title="Hello")])
    assert server.calls > 0
    server.asked.clear()
    yield path


def name_model(path: Path, kind: str, spec: str) -> None:
    """Write the spec of another model into a file, as its sender can do."""
    with connected(path) as rows:
        (own,) = rows.execute("SELECT value FROM settings WHERE name = ?", (kind,)).fetchone()
        stored = json.dumps({**json.loads(own), "spec": spec})
        rows.execute("UPDATE settings SET value = ? WHERE name = ?", (stored, kind))
        checksums.put(rows, f"settings/{kind}", stored)


def add_note(diary: Path) -> None:
    (diary / "more.md").write_text("# More\n\nThe PIN is still 4411, says Ann Mercer.\n")


def asked_about_the_diary(server: ModelServer) -> bool:
    return any("4411" in one.prompt for one in server.asked)


@pytest.mark.long
def test_received_file_calls_no_server(received: Path, diary: Path, user: User, server: ModelServer) -> None:
    said = user.run("sync", received, diary, code=1)
    assert server.url in said
    assert "--trust" in said
    assert "llm:openai" in said
    assert "extractor" in said
    told = json.loads(user.run("sync", received, diary, "--json", code=1))
    assert told["kind"] == "ModelUntrusted"
    user.run("sync", received, diary, "--dry-run")
    user.run("search", received, "Where does Ann Mercer live?")
    user.run("ask", received, "Where does Ann Mercer live?")
    user.run("check", received, "--repair")
    user.run("retry", received)
    user.run("stats", received)
    user.run("remove", received, "hello")
    user.run("reextract", received)
    user.run("resummarize", received)
    assert server.asked == []


@pytest.mark.long
def test_received_file_calls_no_summarizer(received: Path, diary: Path, user: User, server: ModelServer) -> None:
    user.run("reextract", received, "pattern")
    for number in range(30):
        (diary / f"{number}.md").write_text(f"On day {number} my PIN was 4411 and Otto Ruhl came by boat {number}.")
    said = user.run("sync", received, diary, code=3)
    assert "31 added" in said
    assert "summarizer" in said
    assert server.url in said
    assert "--trust" in said
    assert server.asked == []
    user.run("resummarize", received, "extractive")
    assert server.asked == []
    assert "all is well" in user.run("check", received)
    assert json.loads(user.run("stats", received, "--json"))["addresses"] == []


@pytest.mark.long
def test_trust_given_once_is_remembered(
    received: Path, diary: Path, user: User, server: ModelServer, tmp_path: Path
) -> None:
    assert f"trusted from now on: {server.url}" in user.run("sync", received, diary, "--trust")
    assert asked_about_the_diary(server)
    server.asked.clear()
    add_note(diary)
    moved = shutil.move(received, tmp_path / "moved.mono")
    assert "trusted from now on" not in user.run("sync", moved, diary)
    assert asked_about_the_diary(server)
    server.asked.clear()
    other = tmp_path / "other.mono"
    with Monograph.open(other, extractor=load_extractor(f"llm:openai:{server.url}#x")) as archive:
        archive.sync(diary)
    (diary / "yet-more.md").write_text("# Yet more\n\n4411 once again, and Otto Ruhl.\n")
    server.asked.clear()
    user.run("sync", other, diary, code=1)
    User(tmp_path / "bob").run("sync", moved, diary, code=1)
    assert server.asked == []


def test_other_address_in_a_trusted_file_is_refused(
    received: Path, diary: Path, user: User, server: ModelServer
) -> None:
    user.run("search", received, "Anna", "--trust")
    with ModelServer() as evil:
        with connected(received) as rows:
            rows.execute("UPDATE settings SET value = replace(value, ?, ?)", (server.url, evil.url))
        assert evil.url in user.run("sync", received, diary, code=1)
        assert evil.asked == []
    assert server.asked == []


def test_model_named_by_the_user_is_called(received: Path, diary: Path, user: User, server: ModelServer) -> None:
    spec = f"llm:openai:{server.url}#x"
    assert "1 added" in user.run("sync", received, diary, "--extractor", spec, "--summarizer", spec)
    assert asked_about_the_diary(server)
    server.asked.clear()
    add_note(diary)
    user.run("sync", received, diary, code=1)
    assert server.asked == []
    user.run("sync", received, diary, MONOGRAPH_TRUSTED=f"http://127.0.0.1:9/v1 {server.url}/")
    assert asked_about_the_diary(server)
    assert not (user.home / "config").exists()


def test_file_created_by_the_user_is_trusted(diary: Path, user: User, server: ModelServer, tmp_path: Path) -> None:
    path = tmp_path / "own.mono"
    user.run("sync", path, diary, "--extractor", f"llm:openai:{server.url}#x", "--trust")
    add_note(diary)
    assert "1 added" in user.run("sync", path, diary)
    (line,) = (user.home / "config" / "monograph" / "trusted.jsonl").read_text().splitlines()
    identity = json.loads(user.run("stats", path, "--json"))["id"]
    assert json.loads(line) == {"file": identity, "address": server.url}
    assert identity.encode() in path.read_bytes()
    assert server.url in user.run("stats", path)


def test_unusable_trust_list_is_reported(received: Path, user: User) -> None:
    config = user.home / "config"
    config.mkdir()
    (config / "monograph").touch()
    assert "MONOGRAPH_TRUSTED" in user.run("search", received, "Anna", "--trust", code=1)
    (config / "monograph").unlink()
    (config / "monograph" / "trusted.jsonl").mkdir(parents=True)
    assert "cannot read" in user.run("search", received, "Anna", "--trust", code=1)
    (config / "monograph" / "trusted.jsonl").rmdir()
    (config / "monograph" / "trusted.jsonl").write_text("nonsense\n")
    assert "line 1 of" in user.run("search", received, "Anna", "--trust", code=1)


def test_hostile_addresses_cannot_forge_lines(received: Path, diary: Path, user: User) -> None:
    """Neither an id nor an address can add another file or another address to the list."""
    another = "0" * 32
    with connected(received) as rows:
        rows.execute("UPDATE settings SET value = ? WHERE name = 'id'", (f'x"}}\n{{"file": "{another}',))
        (stored,) = rows.execute("SELECT value FROM settings WHERE name = 'extractor'").fetchone()
        changed = json.loads(stored) | {"spec": f'llm:openai:http://127.0.0.1:9\n{{"file": "{another}"}}\u2028/v1#x'}
        rows.execute("UPDATE settings SET value = ? WHERE name = 'extractor'", (json.dumps(changed),))
    user.run("search", received, "Anna", "--trust")
    listed = (user.home / "config" / "monograph" / "trusted.jsonl").read_text().splitlines()
    identity = json.loads(user.run("stats", received, "--json"))["id"]
    assert len(identity) == 32
    assert {json.loads(line)["file"] for line in listed} == {identity}
    assert len(listed) == 2


def test_trust_is_given_in_python(received: Path, diary: Path, server: ModelServer) -> None:
    with Monograph.open(received) as archive:
        with pytest.raises(ModelUntrusted) as caught:
            archive.sync(diary)
        assert f"trusted=[{server.url!r}]" in caught.value.hint
        assert server.url in caught.value.message
        assert archive.stats().addresses == (server.url,)
        identity = archive.stats().id
        assert archive.documents()[0].title == "Hello"
        assert len(archive.documents()) == 1
    for wrong in ([], ["http://127.0.0.1:9/v1"], [server.url[:-1]], lambda *asked: False):
        with Monograph.open(received, trusted=wrong) as archive, pytest.raises(ModelUntrusted):
            archive.sync(diary)
    with Monograph.open(received, trusted=server.url) as archive, pytest.raises(InputError, match="list"):
        archive.sync(diary)
    assert server.asked == []
    wanted: set[tuple[str, str]] = set()

    def agree(identity: str, address: str) -> bool:
        wanted.add((identity, address))
        return True

    with Monograph.open(received, trusted=agree) as archive:
        assert archive.sync(diary).added == 1
    assert wanted == {(identity, server.url)}
    assert asked_about_the_diary(server)
    server.asked.clear()
    with Monograph.open(received, trusted={server.url + "/"}) as archive:
        archive.add([Document("The PIN 4411 is Otto Ruhl's.")])
    assert asked_about_the_diary(server)


def test_models_given_as_objects_need_no_trust(received: Path, diary: Path, server: ModelServer) -> None:
    spec = f"llm:openai:{server.url}#x"
    with Monograph.open(received, extractor=load_extractor(spec), summarizer=load_summarizer(spec)) as archive:
        assert archive.sync(diary).problems == ()
    assert asked_about_the_diary(server)


@pytest.mark.long
@pytest.mark.parametrize("embedder", ["onnx:nobody/nothing", "sentence-transformers:nobody/nothing"])
def test_downloads_from_a_hub_need_trust(diary: Path, user: User, tmp_path: Path, embedder: str) -> None:
    path = tmp_path / "hub.mono"
    with Monograph.open(path) as archive:
        archive.sync(diary)
    name_model(path, "embedder", embedder)
    for command in (["search", path, "Ann"], ["sync", path, diary], ["check", path, "--repair"]):
        said = user.run(*command, code=1, offline=True)
        assert "https://huggingface.co/nobody/nothing" in said
        assert "--trust" in said
    user.run("search", path, "Ann", "--how", "lexical", offline=True)
    assert "all is well" in user.run("check", path, offline=True)
    # A change to another embedder does not need the current one.
    user.run("reembed", path, "static", offline=True)
    assert "Riga" in user.run("search", path, "Where does Ann Mercer live?", offline=True)


@pytest.mark.parametrize(
    "spec", ["onnx:evil", "sentence-transformers:evil", "model2vec:evil", "spacy:evil", "spacy:en_core_web_sm"]
)
def test_folder_named_by_a_received_file_is_not_opened(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "received.mono"
    kind = "extractor" if spec.startswith("spacy") else "embedder"
    with Monograph.open(path) as archive:
        archive.add([Document("Ann Mercer lives in Riga.", id="a")])
    name_model(path, kind, spec)
    (tmp_path / "evil").mkdir()
    monkeypatch.chdir(tmp_path)
    (address,) = addresses(spec)
    said = f"{spec!r} as its {kind}; {address!r} is not trusted"
    for trusted in ((), ["other"], [HUB + "evil"]):
        with Monograph.open(path, trusted=trusted) as archive:
            with pytest.raises(ModelUntrusted, match=re.escape(said)):
                archive.add([Document("Bob Jones lives in Bonn.")])
            with pytest.raises(ModelUntrusted) if kind == "embedder" else nullcontext():
                archive.search("Ann", 1, how="dense")
    # A trusted folder is opened; here it contains no model.
    named = address if address.startswith("spacy:") else "./evil/"
    with Monograph.open(path, trusted=[named]) as archive, pytest.raises((ModelUnavailable, MissingExtra)):
        archive.add([Document("Bob Jones lives in Bonn.")])


def test_every_address_of_a_model_needs_trust(server: ModelServer) -> None:
    with ModelServer() as second:
        server.fail(400, times=float("inf"))
        asked: list[str] = []

        def first_alone(address: str) -> None:
            asked.append(address)
            if address != server.url:
                raise ModelUntrusted(address)

        spec = f"llm:openai:{server.url}#x else llm:openai:{second.url}#y"
        extractor = load_extractor(spec, allow=first_alone)
        with pytest.raises(ModelUntrusted):
            list(extractor.extract([Chunk("c", "d", "Ann Mercer met Otto Ruhl.", 0, 25, 0)]))
        assert (server.calls, second.calls) == (1, 0)
        assert asked == list(addresses(spec)) == [server.url, second.url]


HOSTILE = st.one_of(
    st.text(max_size=30),
    st.sampled_from(["onnx:", "llm:", "llm/7:", "openai:", "spacy:", "given:", "sentence-transformers:"]).flatmap(
        lambda head: st.text(alphabet="aA:/#. ~\\\0\né😀elsonx{}", max_size=40).map(head.__add__)
    ),
    st.sampled_from(
        [
            "onnx:~nobody-here/x",
            "onnx:" + "a" * 5_000,
            "onnx:a\0b",
            "onnx:a/b#{}",
            "llm:openai:http://h/v1#m else onnx:a/b",
        ]
    ),
)


class Asked(BaseException):
    """Raised when permission is requested."""


@given(HOSTILE)
@settings(max_examples=examples(300))
def test_no_spec_calls_a_server_without_permission(spec: str) -> None:
    """For any spec, a model requests permission, raises an error of Monograph, or calls no server."""

    def told(address: str) -> None:
        assert address in addresses(spec)
        raise Asked

    chunks = [Chunk("c", "d", "Ann Mercer met Otto Ruhl.", 0, 25, 0)]
    works: dict[Callable[..., Any], Callable[[Any], object]] = {
        load_embedder: lambda embedder: None,
        load_extractor: lambda extractor: list(extractor.extract(chunks)),
        load_summarizer: lambda summarizer: summarizer.summarize(["Ann met Otto."], 20),
    }
    for load, work in works.items():
        try:
            model = load(spec, allow=told)
        except (ModelUnavailable, MissingExtra, InputError, Asked) as error:
            assert isinstance(error, Asked) or error.args
        else:
            names_a_server = bool(addresses(spec))
            assert not (names_a_server and load is load_embedder)
            with pytest.raises(Asked) if names_a_server else nullcontext():
                work(model)


def test_addresses_of_specs_are_listed(tmp_path: Path) -> None:
    assert addresses("static") == addresses("pattern") == addresses("extractive") == addresses("given:3") == ()
    (tmp_path / "model").mkdir()
    (tmp_path / "link").symlink_to("model")
    folder = (str((tmp_path / "model").resolve()),)
    for kind in ("onnx", "sentence-transformers", "model2vec", "spacy"):
        assert addresses(f"{kind}:{tmp_path / 'model'}") == addresses(f"{kind}:{tmp_path / 'link'}/") == folder
    assert addresses("model2vec:a/b") == ()
    assert addresses("onnx:a/b#{}") == addresses("sentence-transformers:a/b") == (HUB + "a/b",)
    assert addresses("spacy:en_core_web_sm") == ("spacy:en_core_web_sm",)
    assert addresses("mine:letters") == ()


def test_copied_file_keeps_its_id(tmp_path: Path) -> None:
    path = Path(shutil.copy(FIXTURE, tmp_path / "old.mono"))
    with Monograph.open(path) as archive:
        identity = archive.stats().id
    assert len(identity) == 32
    copy = shutil.copy(path, tmp_path / "copy.mono")
    for one in (path, Path(copy)):
        with Monograph.open(one, read_only=True) as archive:
            assert archive.stats().id == identity
    with Monograph.open(tmp_path / "new.mono", HashEmbedder()) as archive:
        assert archive.stats().id != identity


def test_read_only_file_without_id_is_trusted_for_this_call(tmp_path: Path, user: User) -> None:
    path = Path(shutil.copy(FIXTURE, tmp_path / "old.mono"))
    Monograph.open(path).close()
    with connected(path) as rows:
        rows.execute("DELETE FROM settings WHERE name = 'id'")
        rows.execute("DELETE FROM checksums WHERE name IN ('settings/id', 'settings/summarizer')")
        stored = {"key": "theirs", "spec": "llm:openai:http://127.0.0.1:9/v1#x"}
        rows.execute("INSERT OR REPLACE INTO settings VALUES ('summarizer', ?)", (json.dumps(stored),))
    with Monograph.open(path, read_only=True) as archive:
        assert archive.stats().addresses == ("http://127.0.0.1:9/v1",)
    # The server is read-only, and ends when its standard input ends.
    assert "trusted this time" in user.run("mcp", path, "--trust")
    assert not (user.home / "config").exists()


_MODEL = "llm:openai:http://x/v1#m"


@pytest.mark.parametrize(
    ("load", "specs"),
    [
        (load_embedder, ["", "magic", "onnx:", "onnx:./not/there/at/all", "sentence-transformers:"]),
        (load_summarizer, ["", "nothing", "llm:", "llm:nothing", "extractive:x"]),
        (load_describer, ["", "static", "openai:", _MODEL]),
        (load_reranker, ["magic", "onnx:", "rerank:", "embedder:", "embedder:magic", "onnx:./none", "rerank:x#m"]),
        (load_model, ["", "magic:x", "openai:", _MODEL]),
        (load_extractor, ["", "magic", "llm", "llm:", "llm:magic", "llm:openai:", "llm:openai:http://127.0.0.1/v1"]),
        (load_extractor, ["llm:openai:ftp://x#m", "llm:openai:http://u:p@x/v1#m", f"{_MODEL} else magic", "spacy:"]),
        (load_extractor, ["llm/x:openai:http://x/v1#m", "llm/0:openai:http://x/v1#m", f"{_MODEL}#{{", f"{_MODEL}#[]"]),
        (load_extractor, [f'{_MODEL}#{{"temperature": "hot"}}']),
    ],
)
def test_unknown_specs_are_refused(load: Callable[[str], object], specs: list[str]) -> None:
    refusals = (ModelUnavailable, MissingExtra) if load is load_embedder else ModelUnavailable
    for spec in specs:
        with pytest.raises(refusals) as caught:
            load(spec)
        assert caught.value.hint
