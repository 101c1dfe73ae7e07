"""Encrypted files: nothing of the text in plain bytes, one derivation of a key, and one clear line for a wrong one."""

from __future__ import annotations

import ast
import asyncio
import copy
import json
import os
import pickle
import pty
import random
import select
import shutil
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from monograph import Document, Monograph, decrypt, encrypt
from monograph.app import cli
from monograph.derive.embed.static import StaticEmbedder
from monograph.errors import (
    BusyFile,
    DamagedFile,
    FileError,
    InputError,
    MissingExtra,
    NewerFormat,
    NotAMonograph,
    WrongKey,
)
from monograph.read.child import ChildProcess
from monograph.store.file.database import Database
from support.browser import site
from support.forks import COMMANDS
from support.models import HashEmbedder
from support.paths import ROOT, TESTS
from support.secrets import KEY, assert_not_pickled

dbapi2: Any = pytest.importorskip("sqlcipher3.dbapi2", reason="the extra encrypt is not installed")

SECRET = "Zanzibar Quixote hid 4711 emeralds beneath Vladivostok. The password is kumquat-9981."
TRACES = [b"zanzibar", b"quixote", b"emerald", b"vladivostok", b"kumquat", b"anziba", b"kumqua"]
"""Words and parts of words. Of four letters one stands by chance in some hundred megabytes of noise, upper case or lower."""


def filler(count: int, start: int = 0) -> list[Document]:
    return [
        Document(f"Note {n}: Anna Calder saw the comet over gardens and bicycles. " * (2 + n % 9), id=f"n{n}")
        for n in range(start, start + count)
    ]


def made(path: Path, key: str | None, count: int = 30) -> Path:
    with Monograph.open(path, HashEmbedder(), key=key) as opened:
        opened.add([Document(SECRET, id="secret", title="Quixote's file", uri="/emerald"), *filler(count)])
    return path


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    made(folder / "plain.mono", None)
    made(folder / "locked.mono", KEY)
    return folder


@pytest.fixture
def plain(tmp_path: Path, made_once: Path) -> Path:
    return Path(shutil.copy(made_once / "plain.mono", tmp_path))


@pytest.fixture
def locked(tmp_path: Path, made_once: Path) -> Path:
    return Path(shutil.copy(made_once / "locked.mono", tmp_path))


def found(path: Path, key: str | None) -> dict[str, object]:
    """All that is asked of a file, to be the same with a key and without."""
    with Monograph.open(path, HashEmbedder(), create=False, key=key) as opened:
        assert opened.check() == []
        answers: dict[str, object] = {
            how: opened.search("who saw the comet? kumquat-9981", 9, how=how)
            for how in ("lexical", "tfidf", "dense", "hybrid", "graph")
        }
        texts = [opened.document(one.id) for one in opened.documents()]
        return answers | {"documents": texts, "entities": opened.graph.entities()}


# Bytes.

WORK = """
import json, os, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from support.models import HashEmbedder
from monograph import Document, Monograph
from monograph.derive.loading import load_summarizer
folder, temporary, key = Path(sys.argv[1]), Path(os.environ["SQLITE_TMPDIR"]), json.loads(sys.argv[2])
traces = [trace.encode() for trace in json.loads(sys.argv[3])]
seen, last, looked = {{}}, {{}}, 0

def look():
    global looked
    looked += 1
    paths = [*folder.iterdir(), *temporary.iterdir()]
    for one in Path("/proc/self/fd").iterdir():  # SQLite deletes a temporary file as soon as it has it open
        try:
            named = os.readlink(one)
        except OSError:
            continue
        if "(deleted)" in named and "etilqs" in named:
            paths.append(one)
    for path in paths:
        try:
            data = path.read_bytes() if path.is_file() else b""
        except OSError:
            continue
        if last.get(path) == data:
            continue
        last[path], data = data, data.lower()
        kind = "temporary" if path.parent != folder else path.name.rpartition("-")[1] + path.name.rpartition("-")[2]
        seen.setdefault(kind, set()).update(trace.decode() for trace in traces if trace in data)
    return 0

sources = folder.parent / "sources"
with Monograph.open(folder / "a.mono", HashEmbedder(), summarizer=load_summarizer("extractive"), key=key) as opened:
    connection = opened._file.database.connection()
    connection.execute("PRAGMA cache_size = 8")
    connection.set_progress_handler(look, 2_000)
    opened.sync(sources)
    opened.add(Document(f"Filler {{n}} on tea. " * 60, id=f"f{{n}}") for n in range(60))
    for how in ("lexical", "tfidf", "dense", "hybrid", "graph", "tree"):
        assert opened.search("emeralds kumquat-9981", 5, how=how)
    opened.remove(["f1"])
    opened.check(repair=True)
    opened.graph.rebuild(opened.graph.extractor)
    opened.compact()
    opened.remove(["f2"], forget=True)
    opened.backup(folder / "b.mono")
    assert not opened.check()
    look()
look()
print(json.dumps([looked, {{kind: sorted(found) for kind, found in seen.items()}}]))
"""


def held_open(process: int) -> set[str]:
    """What another process has open; it may close some while it is looked at."""
    found = set()
    for one in Path(f"/proc/{process}/fd").iterdir():
        with suppress(OSError):
            found.add(os.readlink(one))
    return found


needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are listed in /proc")


@pytest.mark.long
@needs_proc
@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "encrypted"])
def test_encrypted_store_writes_no_text_to_disk(tmp_path: Path, key: str | None) -> None:
    """Work on a file in a process of its own. The plain file shows that the search of the bytes finds what is there."""
    for name in ("files", "temporary", "sources"):
        (tmp_path / name).mkdir()
    for number in range(12):
        (tmp_path / "sources" / f"{number}.md").write_text(f"# File {number}\n\n{SECRET}\n\n{SECRET} again {number}.")
    words = json.dumps([trace.decode() for trace in TRACES])
    command = [sys.executable, "-c", WORK.format(tests=str(TESTS)), str(tmp_path / "files"), json.dumps(key), words]
    environment = {**os.environ, "SQLITE_TMPDIR": str(tmp_path / "temporary")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    looked, seen = json.loads(done.stdout)
    assert looked > 20
    if key is None:
        for kind in ("a.mono", "b.mono", "-wal", "temporary"):
            assert set(seen[kind]) >= {trace.decode() for trace in TRACES[:5]}, kind
    else:
        assert set(seen) >= {"a.mono", "b.mono", "-wal"}
        assert {kind: words for kind, words in seen.items() if words} == {}
        assert "temporary" not in seen


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "encrypted"])
def test_only_a_plain_file_and_its_log_contain_the_text(tmp_path: Path, key: str | None) -> None:
    with Monograph.open(tmp_path / "x.mono", HashEmbedder(), key=key) as opened:
        opened.add([Document("The kumquat lies under the seventh stair.", id="first")])
        opened.compact()
        opened.add([Document("The quinces hang in the cellar.", id="second")])
        data = {path.name: path.read_bytes().lower() for path in tmp_path.iterdir()}
    assert {"x.mono", "x.mono-wal"} <= set(data)
    found = {trace for trace in (b"kumquat", b"quinces") for one in data.values() if trace in one}
    assert found == ({b"kumquat", b"quinces"} if key is None else set())


def test_encrypted_pages_look_random(locked: Path) -> None:
    """But for the salt, whatever is in a page: no run of zeros, no header, no word of the schema."""
    data = locked.read_bytes()
    assert len(data) % 16_384 == 0
    for start in range(0, len(data), 16_384):
        page = data[start : start + 16_384]
        assert len(set(page)) == 256
        assert bytes(8) not in page
    for word in (b"SQLite", b"CREATE", b"settings", b"words", b"MONO"):
        assert word not in data


def test_any_sqlcipher_opens_an_encrypted_file(locked: Path) -> None:
    connection = dbapi2.connect(str(locked))
    connection.execute("PRAGMA key = '" + KEY.replace("'", "''") + "'")
    connection.execute("PRAGMA cipher_page_size = 16384")
    assert connection.execute("SELECT count(*) FROM documents").fetchone() == (31,)
    assert connection.execute("PRAGMA cipher_integrity_check").fetchall() == []
    connection.close()


# Opening.


def test_encrypted_file_answers_as_a_plain_file(plain: Path, locked: Path) -> None:
    assert found(locked, KEY) == found(plain, None)


def test_key_is_derived_once_for_all_threads(locked: Path) -> None:
    derived: list[int] = []

    def count(frame: Any, event: str, argument: Any) -> None:
        if event == "c_call" and getattr(argument, "__name__", "") == "pbkdf2_hmac":
            derived.append(threading.get_ident())

    connections = set()
    threading.setprofile(count)
    sys.setprofile(count)
    try:
        with Monograph.open(locked, HashEmbedder(), key=KEY) as opened:

            def search() -> None:
                assert opened.search("comet", 3)
                connections.add(id(opened._file.database.connection()))

            threads = [threading.Thread(target=search) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert opened.backup(locked.with_name("copy.mono"))
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert len(connections) == 8
    assert derived == [threading.get_ident()]


def test_plain_file_does_not_import_sqlcipher(plain: Path) -> None:
    code = f"""
import sys
calls = []
def count(frame, event, argument):
    if event == "c_call" and argument.__name__ == "pbkdf2_hmac":
        calls.append(1)
sys.setprofile(count)
from monograph import Monograph
with Monograph.open({str(plain)!r}) as opened:
    opened.search("comet", how="lexical")
sys.setprofile(None)
print(len(calls), "sqlcipher3" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0 False\n"


def random_bytes(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(3 * 16_384))


def text_file(path: Path) -> None:
    path.write_text("this is no database at all " * 100)


def other_database(path: Path) -> None:
    with closing(dbapi2.connect(str(path))) as connection:
        connection.execute("PRAGMA key = 'x'")
        connection.execute("PRAGMA cipher_page_size = 16384")
        connection.execute("CREATE TABLE t (x)")


def newer(path: Path) -> None:
    with closing(Database(path, key=KEY)) as database:
        database.connection().execute("PRAGMA user_version = 99")


NO_KEY, WRONG, ONE_TOO_MANY = "encrypted and no key", "does not open with this key", "is not encrypted"
CASES: list[tuple[Callable[[Path], object], str | None, type[FileError], str, str]] = [
    (lambda path: made(path, KEY), None, NotAMonograph, NO_KEY, "MONOGRAPH_KEY"),
    (lambda path: made(path, KEY), KEY + " ", WrongKey, WRONG, "check the key"),
    (lambda path: made(path, None), KEY, WrongKey, ONE_TOO_MANY, "monograph encrypt"),
    (random_bytes, None, NotAMonograph, NO_KEY, "give another name"),
    (random_bytes, KEY, WrongKey, "not an encrypted Monograph file", "check the key"),
    (text_file, None, NotAMonograph, "not a Monograph file", "give another name"),
    (text_file, KEY, WrongKey, "not an encrypted Monograph file", "check the key"),
    (other_database, "x", NotAMonograph, "another application", "another name"),
    (newer, KEY, NewerFormat, "99", "upgrade"),
    (lambda path: path.touch(), KEY, DamagedFile, "truncated", "restore"),
    (lambda path: path.write_bytes(b"x" * 15), KEY, DamagedFile, "truncated", "restore"),
]


@pytest.mark.parametrize(("make", "key", "kind", "said", "hint"), CASES)
def test_wrong_key_error_names_the_fault_and_a_hint(
    tmp_path: Path, make: Callable[[Path], object], key: str | None, kind: type[FileError], said: str, hint: str
) -> None:
    path = tmp_path / "x.mono"
    make(path)
    before = path.read_bytes()
    for again in range(2):
        with pytest.raises(kind) as caught:
            Monograph.open(path, create=bool(again), key=key)
        assert type(caught.value) is kind
        assert str(path) in caught.value.message
        assert said in caught.value.message
        assert hint in caught.value.hint
        assert "\n" not in str(caught.value)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["x.mono"]


@pytest.mark.parametrize(
    "key",
    [
        "ключ 鍵",
        "a\"b'c;--\0d",
        *(pytest.param(key, marks=pytest.mark.long) for key in ("x", "x'" + "00" * 32 + "'", "\udcff", "k" * 100_000)),
    ],
)
def test_any_text_can_be_a_key(tmp_path: Path, key: str) -> None:
    path = made(tmp_path / "x.mono", key, 1)
    with Monograph.open(path, key=key) as opened:
        assert len(opened.documents()) == 2
    with pytest.raises(WrongKey):
        Monograph.open(path, key=key + "x")


@pytest.mark.long
def test_missing_encrypt_extra_is_named_in_one_line(locked: Path, tmp_path: Path) -> None:
    code = f"""
import sys
sys.modules["sqlcipher3"] = None
from monograph import Monograph
from monograph.errors import MissingExtra
from monograph import decrypt, encrypt
Monograph.open({str(tmp_path / "other.mono")!r}).close()
for use in (lambda: Monograph.open({str(locked)!r}, key={KEY!r}),
            lambda: Monograph.open({str(tmp_path / "new.mono")!r}, key={KEY!r}),
            lambda: encrypt({str(tmp_path / "other.mono")!r}, {KEY!r}),
            lambda: decrypt({str(locked)!r}, {KEY!r})):
    try:
        use()
    except MissingExtra as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    said = str(MissingExtra("a key needs SQLCipher, which is not installed", 'pip install "monograph[encrypt]"'))
    assert done.stdout.splitlines() == [said] * 4
    assert not (tmp_path / "new.mono").exists()


def test_encrypted_file_opens_again_in_one_process(plain: Path, locked: Path) -> None:
    """Its first bytes are not read again: that would drop the locks of the one that is open."""
    with Monograph.open(locked, HashEmbedder(), key=KEY) as first, Monograph.open(plain):
        with Monograph.open(locked, HashEmbedder(), key=KEY) as second:
            second.add(filler(1, start=500))
        assert first.document("n500")
        with pytest.raises(WrongKey, match=WRONG):
            Monograph.open(locked, key="another")
        with pytest.raises(NotAMonograph, match=NO_KEY):
            Monograph.open(locked)
        with pytest.raises(WrongKey, match=ONE_TOO_MANY):
            Monograph.open(plain, key=KEY)
        assert first.search("comet", 3)


# Damage.


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_truncated_encrypted_file_is_damaged(locked: Path, share: float) -> None:
    data = locked.read_bytes()
    locked.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(DamagedFile):
        Monograph.open(locked, HashEmbedder(), key=KEY)


# Converting.


def test_encrypting_and_decrypting_returns_the_same_file(plain: Path) -> None:
    before = found(plain, None)
    plain.chmod(0o600)
    with Monograph.open(plain, HashEmbedder()) as archive:
        archive.backup(plain.with_name("backup.mono"))
    link = plain.with_name("link.mono")
    link.symlink_to(plain)
    encrypt(link, KEY)
    assert list(plain.parent.glob("*-*")) == []
    assert link.is_symlink()
    assert found(link, KEY) == before
    data = plain.read_bytes().lower()
    assert [trace for trace in TRACES if trace in data] == []
    assert stat.S_IMODE(plain.stat().st_mode) == 0o600
    assert found(plain, KEY) == before
    with pytest.raises(WrongKey, match="already"):
        encrypt(plain, KEY)
    with pytest.raises(WrongKey, match=WRONG):
        decrypt(plain, "another")
    decrypt(plain, KEY)
    assert found(plain, None) == before
    assert b"kumquat" in plain.read_bytes()
    with pytest.raises(WrongKey, match=ONE_TOO_MANY):
        decrypt(plain, KEY)
    # No log is left, so that another file can take the place.
    assert sorted(one.name for one in plain.parent.iterdir()) == ["backup.mono", "link.mono", "plain.mono"]
    with Monograph.open(plain.with_name("backup.mono"), HashEmbedder()) as backup:
        backup.backup(plain, overwrite=True)


CONVERT_IN = """
import resource, sys
from monograph.errors import StorageFull
from monograph.library import copies
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, most))
try:
    copies.{what}({path!r}, {key!r})
except StorageFull as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of a process are set as Linux has them")
@pytest.mark.parametrize("what", ["encrypt", "decrypt"])
def test_encryption_without_room_keeps_the_old_file(plain: Path, locked: Path, what: str) -> None:
    path = plain if what == "encrypt" else locked
    before = path.read_bytes()
    code = CONVERT_IN.format(what=what, path=str(path), key=KEY)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"no room left for {path}: a limit on the size of files is reached")
    assert path.read_bytes() == before
    assert sorted(one.name for one in path.parent.iterdir()) == ["locked.mono", "plain.mono"]


@pytest.mark.parametrize(
    ("key", "fault"),
    [
        ("", "empty"),
        ("\ud800", "not text that can be encoded"),
        *((key, f"of type {type(key).__name__}") for key in (KEY.encode(), 5, [KEY])),
    ],
)
def test_invalid_keys_are_refused(plain: Path, locked: Path, tmp_path: Path, key: Any, fault: str) -> None:
    for act in (
        lambda: encrypt(plain, key),
        lambda: decrypt(locked, key),
        lambda: Monograph.open(locked, key=key),
        lambda: Monograph.open(tmp_path / "new.mono", key=key),
    ):
        with pytest.raises(InputError, match=f"the key is {fault}") as caught:
            act()
        assert KEY not in str(caught.value)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["locked.mono", "plain.mono"]


def test_encrypting_an_unsuitable_file_raises(tmp_path: Path) -> None:
    text_file(tmp_path / "text")
    random_bytes(tmp_path / "noise")
    (tmp_path / "folder").mkdir()
    for name in ("text", "noise", "folder", "missing"):
        for convert in (encrypt, decrypt):
            with pytest.raises(FileError) as caught:
                convert(tmp_path / name, KEY)
            assert str(tmp_path / name) in caught.value.message
    assert sorted(one.name for one in tmp_path.iterdir()) == ["folder", "noise", "text"]


HOLD = """
import sys
from monograph import Document, Monograph
opened = Monograph.open({path!r}, key={key!r})
opened.add([Document("Committed and still in the log.", id="logged")])
print("open", flush=True)
sys.stdin.readline()
"""


def child_of(code: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ended(child: subprocess.Popen[str]) -> None:
    for stream in (child.stdin, child.stdout):
        assert stream
        stream.close()
    child.wait()


@pytest.mark.long
@pytest.mark.parametrize("key", [None, KEY])
def test_encryption_needs_exclusive_access_and_keeps_the_log(tmp_path: Path, key: str | None) -> None:
    path = tmp_path / "x.mono"
    with Monograph.open(path, key=key) as opened:
        opened.add(filler(5))
        with pytest.raises(BusyFile, match="this program"):
            decrypt(path, KEY) if key else encrypt(path, KEY)
    child = child_of(HOLD.format(path=str(path), key=key))
    assert child.stdout
    assert child.stdout.readline() == "open\n"
    with pytest.raises(BusyFile, match="another program"):
        decrypt(path, KEY) if key else encrypt(path, KEY)
    child.send_signal(signal.SIGKILL)
    ended(child)
    assert (tmp_path / "x.mono-wal").stat().st_size > 0
    decrypt(path, KEY) if key else encrypt(path, KEY)
    with Monograph.open(path, key=None if key else KEY) as opened:
        assert opened.document("logged")
        assert opened.check() == []


CONVERT = """
import sys
sys.path.insert(0, {tests!r})
from monograph.library import copies
from monograph.store.file import replacing
from monograph.store.file.errors import sqlite_errors
put = replacing.put
def wait(*arguments, **named):
    if {after}:
        put(*arguments, **named)
    print("now", flush=True)
    sys.stdin.readline()
    return {after} or put(*arguments, **named)
replacing.put = wait
copies.{what}({path!r}, {key!r})
print("done", flush=True)
"""


def converting(path: Path, what: str, *, after: bool) -> subprocess.Popen[str]:
    """A process that stands just before, or after, the new file takes the place of the old one."""
    child = child_of(CONVERT.format(tests=str(TESTS), path=str(path), key=KEY, what=what, after=after))
    assert child.stdout
    assert child.stdout.readline() == "now\n"
    return child


@pytest.mark.parametrize("after", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize("what", ["encrypt", pytest.param("decrypt", marks=pytest.mark.long)])
def test_killed_encryption_leaves_the_old_file_or_the_new_one(
    plain: Path, locked: Path, what: str, after: bool
) -> None:
    before = found(plain, None)
    path = plain if what == "encrypt" else locked
    child = converting(path, what, after=after)
    child.send_signal(signal.SIGKILL)
    ended(child)
    assert found(path, KEY if (what == "encrypt") == after else None) == before
    with Monograph.open(path, HashEmbedder(), key=KEY if (what == "encrypt") == after else None) as opened:
        opened.add(filler(1, start=900))
        assert opened.check() == []


def encrypting(path: Path, kill_after: float = 0) -> list[str]:
    """A command that prints its seconds of CPU, and is killed after so many: a clock that other work does not move."""
    code = f"""
import signal, time
from monograph import encrypt
begun = time.process_time()
signal.setitimer(signal.ITIMER_PROF, {kill_after})
encrypt({str(path)!r}, {KEY!r})
print(time.process_time() - begun)
"""
    return [sys.executable, "-c", code]


@pytest.mark.long
def test_encryption_killed_at_any_moment_loses_nothing(plain: Path) -> None:
    before, moments, outcomes = found(plain, None), random.Random(9), []
    whole = plain.read_bytes()
    took = float(subprocess.run(encrypting(plain), check=True, capture_output=True).stdout)
    for _ in range(8):
        plain.write_bytes(whole)
        done = subprocess.run(encrypting(plain, kill_after=moments.uniform(0, took)), check=False, capture_output=True)
        assert done.returncode in (0, -signal.SIGPROF), done.stderr
        outcomes.append(plain.read_bytes()[:6] == b"SQLite")
        assert found(plain, None if outcomes[-1] else KEY) == before
        for one in plain.parent.glob(".*.new*"):
            one.unlink()
    assert any(outcomes)


@needs_proc
def test_file_opened_during_encryption_is_not_written(plain: Path) -> None:
    child = converting(plain, "encrypt", after=False)
    code = f"""
from monograph import Document, Monograph
from monograph.errors import FileError
try:
    with Monograph.open({str(plain)!r}) as opened:
        opened.add([Document("This must not be lost.", id="late")])
    print("stored")
except FileError as error:
    print(type(error).__name__)
"""
    opener = child_of(code)
    while opener.poll() is None:  # until it has the old file open, and waits for its lock
        if str(plain) in held_open(opener.pid):
            break
    assert child.stdin
    child.stdin.write("\n")
    child.stdin.flush()
    said, _ = opener.communicate(timeout=60)
    ended(child)
    assert said in ("BusyFile\n", "NotAMonograph\n", "ReplacedFile\n")
    with Monograph.open(plain, HashEmbedder(), key=KEY) as opened:
        assert len(opened.documents()) == 31


# The command line.


def run(*words: object, code: int = 0, key: str | None = KEY) -> str:
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("MONOGRAPH_KEY", raising=False)
        if key is not None:
            patched.setenv("MONOGRAPH_KEY", key)
        done = COMMANDS.run("monograph", *words)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert KEY not in done.stdout + done.stderr
    return done.stdout if code == 0 else done.stdout + done.stderr


@pytest.mark.long
def test_every_command_accepts_a_key(tmp_path: Path, folder: Path) -> None:
    (folder / "renk.md").write_text(f"# T. Renk\n\nTobias Renk met Anna Calder in Vienna. {SECRET}")
    (folder / "calder.md").write_text("# Anna Calder\n\nAnna Calder gave the plates to Peter Okafor in Berlin.")
    path, set_ = tmp_path / "x.mono", tmp_path / "set"
    set_.mkdir()
    (set_ / "corpus.jsonl").write_text('{"id": "a", "text": "The plates are in Berlin."}\n')
    (set_ / "queries.jsonl").write_text('{"id": "q", "question": "Where are the plates?", "evidence": ["a"]}\n')
    assert "2 added" in run("sync", path, folder, "--summarizer", "extractive")
    tried = {"sync", "mcp", "serve", "watch"}  # the last three go on until they are ended: below, and as sync
    for words in (
        ["search", path, "plates"],
        ["ask", path, "who has the plates?"],
        ["chat", path],
        ["context", path, "who has the plates?"],
        ["show", path],
        ["graph", path, "Anna Calder"],
        ["entities", path],
        ["outline", path],
        ["sources", path],
        ["retry", path],
        ["stats", path],
        ["costs", path],
        ["check", path],
        ["build", path],
        ["reextract", path],
        ["reembed", path, "static"],
        ["resummarize", path],
        ["compact", path],
        ["eval", set_, "--file", path, "--how", "lexical"],
        ["backup", path, tmp_path / "copy.mono"],
        ["export", path, tmp_path / "out"],
        ["import", "jsonl", tmp_path / "out", tmp_path / "taken.mono"],
        ["remove", path, str(folder / "calder.md")],
        ["forget", path, str(folder / "renk.md")],
        ["decrypt", path],
        ["encrypt", path],
    ):
        tried.add(str(words[0]))
        run(*words)
    assert tried == set(cli.COMMANDS) - {"shelf"}
    for made in ("copy.mono", "taken.mono"):
        data = (tmp_path / made).read_bytes().lower()
        assert [trace for trace in TRACES if trace in data] == []


def test_commands_report_a_missing_or_wrong_key(locked: Path, plain: Path, folder: Path) -> None:
    for words in (["sync", locked, folder], ["search", locked, "comet"], ["check", locked]):
        assert NO_KEY in run(*words, code=1, key=None)
        assert WRONG in run(*words, code=1, key="another")
    assert ONE_TOO_MANY in run("check", plain, code=1)
    for path, key, kind in ((locked, None, "NotAMonograph"), (locked, "x", "WrongKey"), (plain, KEY, "WrongKey")):
        said = json.loads(run("search", path, "comet", "--json", code=1, key=key).partition("\n}")[0] + "\n}")
        assert said["kind"] == kind
        assert said["hint"]


def test_every_command_opens_an_encrypted_file() -> None:
    """Also those that are not there yet."""
    calls = [
        (path.name, call)
        for path in (ROOT / "src" / "monograph" / "app").glob("*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and ast.unparse(call.func) in ("Monograph.open", "opened", "opened_archive")
    ]
    # What goes by way of opened, as opened_archive does, gets the key there.
    without = [
        name
        for name, call in calls
        if ast.unparse(call.func) == "Monograph.open" and "key" not in {one.arg for one in call.keywords}
    ]
    assert len(calls) > 20
    assert without == ["measure_commands.py"]  # the file that eval makes of a set, and deletes


def typed(words: list[object], answers: list[str]) -> tuple[int, str]:
    """A command on a terminal; what is asked for is typed."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ.pop("MONOGRAPH_KEY", None)
        os.environ["COLUMNS"] = "200"
        os.execv(sys.executable, [sys.executable, "-m", "monograph.app.cli", *map(str, words)])
    said, asked = b"", 0
    while True:
        ready, _, _ = select.select([terminal], [], [], 60)
        assert ready, said
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            piece = b""
        if not piece:
            break
        said += piece
        prompts = said.count(b"key of ") + said.count(b"the same key again: ")
        if prompts > asked and said.rstrip(b" ").endswith(b":"):
            os.write(terminal, answers[asked].encode() + b"\n")
            asked = prompts
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), said.decode()


@pytest.mark.long
def test_terminal_asks_for_the_key(plain: Path, tmp_path: Path) -> None:
    search: list[object] = ["search", plain, "comet", "--how", "lexical"]
    steps: list[tuple[list[object], list[str], int, str]] = [
        (["encrypt", plain], [KEY, "another"], 2, "the two keys differ"),
        (["encrypt", plain], [KEY, KEY], 0, "which Monograph cannot erase"),
        (search, [KEY], 0, "Anna Calder saw the comet"),
        (search, ["another"], 1, WRONG),
        (["decrypt", plain], [KEY], 0, ""),
    ]
    for words, answers, expected, told in steps:
        code, said = typed(words, answers)
        assert code == expected, said
        assert told in said
        assert KEY not in said
    text_file(tmp_path / "text.mono")
    for path in (plain, tmp_path / "text.mono", tmp_path / "missing.mono"):
        assert "key of" not in typed(["stats", path], [])[1]


def test_command_without_a_terminal_asks_no_key(plain: Path) -> None:
    assert "no key was given" in run("encrypt", plain, code=2, key=None)
    assert "MONOGRAPH_KEY" in run("encrypt", plain, code=2, key="")
    assert found(plain, None)


@pytest.mark.long
def test_mcp_server_opens_an_encrypted_file(locked: Path) -> None:
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters

    arguments = ["-m", "monograph.app.cli", "mcp", str(locked)]
    with Monograph.open(locked, HashEmbedder(), key=KEY) as opened:
        opened.vectors.rebuild(StaticEmbedder())

    async def ask() -> Any:
        server = StdioServerParameters(command=sys.executable, args=arguments, env={**os.environ, "MONOGRAPH_KEY": KEY})
        async with Client(server) as client:
            return (await client.call_tool("search", {"query": "comet", "k": 1})).structured_content

    assert "comet" in asyncio.run(ask())["hits"][0]["text"]


# Where a key must not be.


def test_key_appears_in_no_output(locked: Path, tmp_path: Path) -> None:
    import traceback

    with Monograph.open(locked, HashEmbedder(), key=KEY) as opened:
        database = opened._file.database
        told = [repr(opened), repr(database), repr(database.raw_key), str(vars(database)), repr(opened._file)]
        assert database.raw_key is not None
        hidden = [KEY, database.raw_key.secret.hex(), repr(database.raw_key.secret)]
    for use in (
        lambda: Monograph.open(locked, key="wrong " + KEY),
        lambda: Monograph.open(tmp_path, key=KEY),
        lambda: Monograph.open(tmp_path / "missing" / "x.mono", key=KEY),
        lambda: Monograph.open(made(tmp_path / "plain.mono", None), key=KEY),
        lambda: encrypt(tmp_path / "missing.mono", KEY),
        lambda: decrypt(locked, KEY + "."),
    ):
        with pytest.raises(FileError) as caught:
            use()
        told.append("".join(traceback.format_exception(caught.value)))
    assert [one for one in told for secret in hidden if secret in one] == []


@needs_proc
def test_reader_processes_do_not_get_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MONOGRAPH_KEY", "MONOGRAPH_API_KEY", "MONOGRAPH_OTHER"):
        monkeypatch.setenv(name, KEY)
    worker = ChildProcess()
    try:
        said = b""
        while not said:  # the system is still making the process
            assert worker.process.poll() is None
            said = Path(f"/proc/{worker.process.pid}/environ").read_bytes()
        environment = said.split(b"\0")
    finally:
        worker.end()
    names = {one.partition(b"=")[0] for one in environment}
    assert b"MONOGRAPH_OTHER" in names
    assert not {b"MONOGRAPH_KEY", b"MONOGRAPH_API_KEY"} & names


def test_encrypted_archive_cannot_be_pickled(locked: Path, plain: Path) -> None:
    with Monograph.open(locked, HashEmbedder(), key=KEY) as opened:
        assert_not_pickled([opened, opened.files, opened.graph, {"deep": [opened]}])
        assert copy.deepcopy(opened).search("emeralds", 1, how="lexical")[0].chunk.document_id == "secret"
    with Monograph.open(plain, HashEmbedder()) as opened:
        written = pickle.dumps(opened)
    encrypt(plain, KEY)
    with pytest.raises(NotAMonograph, match=NO_KEY):
        pickle.loads(written)


@pytest.mark.long
def test_server_opens_an_encrypted_file(locked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Monograph.open(locked, HashEmbedder(), key=KEY) as opened:
        opened.vectors.rebuild(StaticEmbedder())
    monkeypatch.setenv("MONOGRAPH_KEY", KEY)
    with site([locked]) as served:
        hits = served.get("/search", q="comet", how="lexical")["files"][0]["hits"]
    assert "comet" in json.dumps(hits[0])


def test_errors_of_plain_and_encrypted_connections_are_translated() -> None:
    """SQLCipher's are none of ``sqlite3.Error``. What others wrote is read by SQLite alone."""
    store = [
        path
        for folder in ("store", "write", "library")
        for path in (ROOT / "src" / "monograph" / folder).rglob("*.py")
        if path.name != "foreign.py"
    ]
    caught = [
        (path.name, ast.unparse(handler.type))
        for path in store
        for handler in ast.walk(ast.parse(path.read_text()))
        if isinstance(handler, ast.ExceptHandler) and handler.type is not None
    ]
    assert len([kind for _, kind in caught if kind == "sqlite_errors()"]) > 2
    assert [one for one in caught if "sqlite3." in one[1]] == []
