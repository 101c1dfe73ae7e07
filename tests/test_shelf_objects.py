"""Immutable objects in a folder and in a bucket, and the cache of those that are read on this machine."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monograph.errors import InputError, MissingExtra, ObjectDamaged, ObjectMissing, ShelfUnreachable, StorageFull
from monograph.shelf.versions.cache import Cache
from monograph.shelf.versions.names import ObjectName, checked, digest_in, version_in, version_name
from monograph.shelf.versions.objects import Objects, objects_at
from monograph.shelf.versions.part import part_of
from monograph.shelf.versions.pieces import PIECE, name_of
from places import NOT_THERE, PROCESSES, bucket_server, shard


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    with bucket_server() as address:
        yield address


@pytest.fixture(params=["folder", "bucket"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> Objects:
    if request.param == "folder":
        return objects_at(tmp_path / "shelf", create=True)
    return objects_at(f"{request.getfixturevalue('bucket')}/{hashlib.sha256(str(tmp_path).encode()).hexdigest()}")


def put(objects: Objects, path: Path) -> ObjectName:
    name = name_of(path)
    assert objects.put_new(name.name, path)
    return name


def parts_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob(".*"))


def test_an_object_is_put_once_and_stays_what_it_was(objects: Objects, tmp_path: Path) -> None:
    assert objects.put_new("versions/00000001.json", b"one")
    assert not objects.put_new("versions/00000001.json", b"two")
    assert objects.read("versions/00000001.json", 3) == b"one"
    name = put(objects, shard(tmp_path, "a", "a"))
    assert not objects.put_new(name.name, tmp_path / "a.mono")
    objects.get(name.name, tmp_path / "got")
    assert (tmp_path / "got").read_bytes() == (tmp_path / "a.mono").read_bytes()
    assert [(one.name, one.bytes) for one in objects.listed("objects")] == [(name.name, 1000)]
    assert abs(objects.listed("objects")[0].since - (tmp_path / "a.mono").stat().st_mtime) < 60
    assert [one.name for one in objects.listed("versions")] == ["versions/00000001.json"]
    assert objects.listed("writers") == []


def test_an_empty_object_is_one_too(objects: Objects, tmp_path: Path) -> None:
    assert objects.put_new("writers/00000001.free", b"")
    assert objects.read("writers/00000001.free", 0) == b""
    objects.get("writers/00000001.free", tmp_path / "got")
    assert (tmp_path / "got").read_bytes() == b""


def test_what_is_removed_is_gone_and_may_be_put_again(objects: Objects, tmp_path: Path) -> None:
    name = put(objects, shard(tmp_path, "a", "a"))
    objects.remove([name.name, "objects/was-never-there"])
    assert objects.listed("objects") == []
    with pytest.raises(ObjectMissing, match=r"objects/[0-9a-f]{64}\.mono is not in .*open the shelf anew"):
        objects.get(name.name, tmp_path / "got")
    with pytest.raises(ObjectMissing):
        objects.read(name.name, 10)
    put(objects, tmp_path / "a.mono")


def test_more_than_a_reader_takes_is_refused(objects: Objects) -> None:
    objects.put_new("versions/00000001.json", b"1234")
    with pytest.raises(ObjectDamaged, match="more than 3 bytes"):
        objects.read("versions/00000001.json", 3)


def test_large_files_go_in_pieces(objects: Objects, tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(PIECE + 5)
    name = put(objects, path)
    assert not objects.put_new(name.name, path)
    objects.get(name.name, tmp_path / "got")
    assert name_of(tmp_path / "got") == name


@pytest.mark.parametrize("size", [5, PIECE + 5])
def test_what_is_not_what_its_name_says_never_becomes_visible(objects: Objects, tmp_path: Path, size: int) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(size)
    name = name_of(path)
    os.truncate(path, size - 1)  # It changed after its digest was taken.
    with pytest.raises(ObjectDamaged, match="changed while it was read"):
        objects.put_new(name.name, path)
    assert objects.listed("objects") == []
    assert parts_in(tmp_path) == []


@pytest.mark.parametrize(
    "name", ["../x", "/etc/passwd", "a/../b", "a//b", "", ".", "a/.b", "A", "a\n", "a/", "é", "a" * 201]
)
def test_no_name_leads_out_of_a_shelf(objects: Objects, tmp_path: Path, name: str) -> None:
    for step in (
        lambda: objects.put_new(name, b""),
        lambda: objects.get(name, tmp_path / "got"),
        lambda: objects.read(name, 1),
        lambda: objects.listed(name),
        lambda: objects.remove([name]),
    ):
        with pytest.raises(InputError, match="is no name for an object"):
            step()


@given(st.text(st.sampled_from("ab09._-/~\\A\0"), max_size=30))
def test_a_name_that_is_taken_lies_below_its_folder(name: str) -> None:
    try:
        assert checked(name) == name
    except InputError:
        return
    assert os.path.normpath(f"/shelf/{name}") == f"/shelf/{name}"
    assert not any(part.startswith(".") for part in name.split("/"))


def test_names_are_read_as_they_are_written() -> None:
    assert version_in(version_name(17)) == 17
    assert [
        version_in(name) for name in ("versions/17.json", "versions/00000017.json.x", "x", "versions/٠٠٠٠٠٠٠١.json")
    ] == [0] * 4
    assert digest_in(ObjectName("a" * 64, 0).name) == "a" * 64
    assert digest_in(f"objects/{'A' * 64}.mono") == ""
    for version in (0, -1, 100_000_000):
        with pytest.raises(InputError, match="is no version"):
            version_name(version)
    with pytest.raises(InputError, match="no SHA-256"):
        ObjectName("../../etc", 1)
    with pytest.raises(InputError, match="-1 bytes"):
        ObjectName("a" * 64, -1)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("{}/none", "none is not there"),
        ("file://{}/none", "none is not there"),
        ("{}/file", "is no folder"),
        ("file://elsewhere/x", "is no address of a shelf"),
        ("memory:///", "is no address of a shelf"),
        ("https://somewhere/x", "is no address of a shelf"),
        ("s3://[x", "is no address: Invalid IPv6"),
        ("file://{}#x", r"has a \? or a #"),
        ("s3://shelves/x?versionId=1", r"has a \? or a #"),
    ],
)
def test_an_address_that_is_none_is_refused(tmp_path: Path, address: str, message: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=message):
        objects_at(address.format(tmp_path))


@pytest.mark.parametrize("address", ["s3://me:hidden@shelves/x", "s3://hidden@shelves/x", "file://me:hidden@x/y"])
def test_a_secret_in_an_address_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(InputError, match="bears no user or password") as raised:
        objects_at(address)
    assert "hidden" not in str(raised.value)


def test_a_container_before_an_account_is_no_secret(bucket: str) -> None:
    address = "abfss://container@account.dfs.core.windows.net/x"
    assert objects_at(address).address == address


def test_a_folder_may_be_said_in_three_ways(tmp_path: Path) -> None:
    folder = tmp_path / "a shelf"
    assert objects_at(folder, create=True).put_new("a", b"x")
    for address in (str(folder), folder, f"file://{tmp_path}/a%20shelf"):
        assert objects_at(address).read("a", 1) == b"x"
    for wrong in (folder / "a" / "b", "\0"):
        with pytest.raises(InputError, match="cannot be made"):
            objects_at(wrong, create=True)


@pytest.mark.parametrize("address", ["s3://", "s3://no bucket/x", "az://account"])
def test_an_address_that_the_client_cannot_understand_is_refused(bucket: str, address: str) -> None:
    with pytest.raises(InputError, match=r"cannot be understood: .*give s3://bucket/path"):
        objects_at(address)


def test_without_the_client_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(MissingExtra, match=r"monograph\[shelf\]"):
        objects_at("s3://shelves/x")


def test_a_bucket_that_is_not_there_or_does_not_answer_is_told(
    bucket: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    absent = objects_at("s3://no-such-bucket/x")
    for step in (lambda: absent.put_new("a", b""), lambda: absent.listed("a")):
        with pytest.raises(ShelfUnreachable, match="s3://no-such-bucket/x does not answer as it should"):
            step()
    monkeypatch.setenv("AWS_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("monograph.shelf.versions.bucket._RETRIES", 1)
    silent = objects_at(f"{bucket}/x")
    for step in (
        lambda: silent.put_new("a", b""),
        lambda: silent.get("a", tmp_path / "got"),
        lambda: silent.read("a", 1),
        lambda: silent.listed("a"),
        lambda: silent.remove(["a"]),
    ):
        with pytest.raises(ShelfUnreachable, match="does not answer as it should"):
            step()


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    folder = objects_at(tmp_path / "shelf", create=True)
    (tmp_path / "shelf" / "objects").touch()
    path = shard(tmp_path, "a", "a")
    with pytest.raises(ShelfUnreachable, match="cannot be read or written"):
        folder.put_new(name_of(path).name, path)
    with pytest.raises(ShelfUnreachable, match="cannot be read or written"):
        folder.listed("objects")


FULL = """
import resource
from pathlib import Path
from monograph.errors import StorageFull
from monograph.shelf.versions.cache import Cache
from monograph.shelf.versions.objects import objects_at
from monograph.shelf.versions.pieces import name_of
resource.setrlimit(resource.RLIMIT_FSIZE, (999, 999))
objects, cache, path = objects_at(sys.argv[1]), Cache(Path(sys.argv[2])), Path(sys.argv[3])
for step in (lambda: objects.put_new(name_of(path).name, path), lambda: cache.path(objects, name_of(Path(sys.argv[4])))):
    try:
        step()
    except StorageFull as error:
        print(error)
"""


def test_a_full_place_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    shelf, cache = tmp_path / "shelf", tmp_path / "cache"
    objects = objects_at(shelf, create=True)
    there = put(objects, shard(tmp_path, "there", "there"))
    path = shard(tmp_path, "a", "a")
    done = PROCESSES.run(FULL, shelf, cache, path, tmp_path / "there.mono")
    assert done.stdout.count("no room left for") == 2, done.stderr
    assert parts_in(tmp_path) == []
    assert [one.name for one in objects.listed("objects")] == [there.name]
    assert Cache(cache).held() == frozenset()
    assert issubclass(StorageFull, Exception)


def test_the_cache_holds_what_was_fetched_and_verified(objects: Objects, tmp_path: Path) -> None:
    name = put(objects, shard(tmp_path, "a", "a"))
    cache = Cache(tmp_path / "cache")
    path = cache.path(objects, name)
    assert name_of(path) == name
    objects.remove([name.name])
    assert cache.path(objects, name) == path  # It is here.
    os.truncate(path, 5)
    with pytest.raises(ObjectMissing, match=name.digest):  # What is here is broken, and fetched again.
        cache.path(objects, name)
    assert objects.put_new(name.name, tmp_path / "a.mono")
    assert name_of(cache.path(objects, name)) == name
    assert cache.held() == {name.digest}
    assert parts_in(tmp_path) == []


@pytest.mark.parametrize(
    ("wrong", "message"), [(b"short", r"has 5 bytes, not 1,000"), (b"b" * 1000, "its digest is another")]
)
def test_an_object_of_other_bytes_is_refused(objects: Objects, tmp_path: Path, wrong: bytes, message: str) -> None:
    name = name_of(shard(tmp_path, "a", "a"))
    objects.put_new(name.name, wrong)  # As a failing disk, or another hand, leaves it.
    cache = Cache(tmp_path / "cache")
    with pytest.raises(ObjectDamaged, match=f"{name.digest}.mono of .*{message}.*publish its shard again"):
        cache.path(objects, name)
    assert cache.held() == frozenset()
    assert parts_in(tmp_path) == []


def test_the_cache_keeps_what_it_is_told_to(tmp_path: Path) -> None:
    objects = objects_at(tmp_path / "shelf", create=True)
    cache = Cache(tmp_path / "cache")
    names = [put(objects, shard(tmp_path, letter, letter)) for letter in "abc"]
    paths = [cache.path(objects, name) for name in names]
    Path(f"{paths[1]}-wal").write_bytes(b"x")
    with paths[1].open("rb") as reader:
        assert cache.keep([names[0].digest, names[2].digest]) == {names[1].digest}
        assert len(reader.read()) == 1000  # Whoever reads, reads on.
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == sorted(paths[one].name for one in (0, 2))
    with pytest.raises(InputError, match="cannot be made"):
        Cache(paths[0] / "below")


FETCH = """
import os
from pathlib import Path
from monograph.shelf.versions.cache import Cache
from monograph.shelf.versions.names import ObjectName
from monograph.shelf.versions.objects import objects_at
waiting, go = os.pipe()
children = []
for _ in range(4):
    child = os.fork()
    if child == 0:
        os.close(go)
        os.read(waiting, 1)
        path = Cache(Path(sys.argv[2])).path(objects_at(sys.argv[1]), ObjectName(sys.argv[3], 20_000_000))
        os.write(1, f"{path.stat().st_ino}\\n".encode())
        os._exit(0)
    children.append(child)
os.close(go)
for child in children:
    os.waitpid(child, 0)
"""


def test_many_processes_fetch_an_object_once(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(os.urandom(1000) * 20_000)
    objects = objects_at(tmp_path / "shelf", create=True)
    name = put(objects, path)
    done = PROCESSES.run(FETCH, objects.address, tmp_path / "cache", name.digest)
    files = done.stdout.split()
    assert len(files) == 4, done.stderr
    assert len(set(files)) == 1  # One that came second would have put another file in its place.
    assert name_of(Cache(tmp_path / "cache").path(objects, name)) == name
    assert parts_in(tmp_path) == []


DIE = """
import os, signal
from pathlib import Path
from monograph.shelf.versions.part import part_of
with part_of(Path(sys.argv[1])) as part:
    part.file.write(b"half")
    part.sync()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_writer_left_is_cleared_and_what_is_being_written_stays(tmp_path: Path) -> None:
    objects = objects_at(tmp_path, create=True)
    (tmp_path / "objects").mkdir()
    assert PROCESSES.run(DIE, tmp_path / "objects" / "dead").returncode == -9
    assert PROCESSES.run(DIE, tmp_path / "objects" / "again").returncode == -9
    assert parts_in(tmp_path) == [".again.shelf-part", ".dead.shelf-part"]
    assert objects.listed("objects") == []
    assert objects.put_new("objects/again", b"whole")  # It takes over what lies there.
    assert objects.read("objects/again", 9) == b"whole"
    with part_of(tmp_path / "objects" / "living") as part:
        part.file.write(b"half")
        objects.remove([])
        assert parts_in(tmp_path) == [".living.shelf-part"]
    assert parts_in(tmp_path) == []


def test_the_reason_for_skipping_names_the_extra() -> None:
    assert "test-shelf = [" in (Path(__file__).parents[1] / "pyproject.toml").read_text()
    assert "test-shelf" in NOT_THERE
