"""Immutable objects in a folder and in a bucket, and the cache of those that are read on this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from monograph.errors import InputError, MissingExtra, ObjectDamaged, ObjectMissing, ShelfUnreachable
from monograph.shelf.manifest import put_file, version_name
from monograph.shelf.storage import PIECE, ObjectName, ShelfPlace, Storage, digest_in, name_of, shelf_place, storage_at
from support.shelf_storage import PROCESSES, shard


def put(objects: Storage, path: Path) -> ObjectName:
    name = name_of(path)
    assert objects.put_new(name.name, path)
    return name


def test_stored_object_is_not_overwritten(objects: Storage, tmp_path: Path) -> None:
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
    assert objects.listed("elsewhere") == []


def test_removed_object_may_be_put_again(objects: Storage, tmp_path: Path) -> None:
    name = put(objects, shard(tmp_path, "a", "a"))
    objects.remove([name.name, "objects/was-never-there.mono"])
    assert objects.listed("objects") == []
    with pytest.raises(ObjectMissing, match=r"objects/[0-9a-f]{64}\.mono is not in .*open the shelf again"):
        objects.get(name.name, tmp_path / "got")
    with pytest.raises(ObjectMissing):
        objects.read(name.name, 10)
    put(objects, tmp_path / "a.mono")


def test_object_above_the_read_limit_is_refused(objects: Storage) -> None:
    objects.put_new("versions/00000000.json", b"")
    assert objects.read("versions/00000000.json", 0) == b""
    objects.put_new("versions/00000001.json", b"1234")
    with pytest.raises(ObjectDamaged, match="more than 3 bytes"):
        objects.read("versions/00000001.json", 3)


@pytest.mark.parametrize("size", [0, PIECE, PIECE + 5])  # A larger file than PIECE is uploaded in parts.
def test_object_of_any_size_is_read_as_it_was_stored(objects: Storage, tmp_path: Path, size: int) -> None:
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.truncate(size)
    name = put(objects, path)
    assert not objects.put_new(name.name, path)
    objects.get(name.name, tmp_path / "got")
    assert name_of(tmp_path / "got") == name


def test_names_are_read_as_they_are_written() -> None:
    assert version_name(17) == "versions/00000017.json"
    assert digest_in(ObjectName("a" * 64, 0).name) == "a" * 64
    assert digest_in(f"objects/{'A' * 64}.mono") == ""
    for version in (0, -1, 100_000_000):
        with pytest.raises(InputError, match="is not a version"):
            version_name(version)
    with pytest.raises(InputError, match="not a SHA-256"):
        ObjectName("../../etc", 1)
    with pytest.raises(InputError, match="-1 bytes"):
        ObjectName("a" * 64, -1)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("{}/none", "none does not exist"),
        ("file://{}/none", "none does not exist"),
        ("{}/file", "is not a folder"),
        ("file://elsewhere/x", "is not an address of a shelf"),
        ("memory:///", "is not an address of a shelf"),
        ("https://somewhere/x", "is not an address of a shelf"),
        ("s3://[x", "is not an address: Invalid IPv6"),
        ("file://{}#x", r"has \? or #"),
        ("s3://shelves/x?versionId=1", r"has \? or #"),
    ],
)
def test_invalid_shelf_address_is_refused(tmp_path: Path, address: str, message: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=message):
        storage_at(address.format(tmp_path))


@pytest.mark.parametrize("address", ["s3://me:hidden@shelves/x", "s3://hidden@shelves/x", "file://me:hidden@x/y"])
def test_a_secret_in_an_address_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(InputError, match="must not contain a user or password") as raised:
        storage_at(address)
    assert "hidden" not in str(raised.value)


@pytest.mark.long
def test_a_container_before_an_account_is_no_secret(bucket: str) -> None:
    address = "abfss://container@account.dfs.core.windows.net/x"
    assert storage_at(address).address == address


def test_folder_address_has_three_notations(tmp_path: Path) -> None:
    folder = tmp_path / "a shelf"
    assert storage_at(folder, create=True).put_new("a", b"x")
    for address in (str(folder), folder, f"file://{tmp_path}/a%20shelf"):
        assert storage_at(address).read("a", 1) == b"x"
    for wrong in (folder / "a" / "b", "\0"):
        with pytest.raises(InputError, match="cannot be created"):
            storage_at(wrong, create=True)


@pytest.mark.long
@pytest.mark.parametrize("address", ["s3://", "s3://no bucket/x", "az://account"])
def test_address_unknown_to_the_storage_client_is_refused(bucket: str, address: str) -> None:
    with pytest.raises(InputError, match=r"is not a valid address: .*give s3://bucket/path"):
        storage_at(address)


def test_without_the_client_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    for address in ("s3://shelves/x", str(tmp_path)):
        with pytest.raises(MissingExtra, match=r"monograph\[shelf\]"):
            storage_at(address)


@pytest.mark.long
def test_missing_or_silent_bucket_raises_shelf_unreachable(
    bucket: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    absent = storage_at("s3://no-such-bucket/x")
    for step in (lambda: absent.put_new("a", b""), lambda: absent.listed("a")):
        with pytest.raises(ShelfUnreachable, match="in s3://no-such-bucket/x: "):
            step()
    monkeypatch.setenv("AWS_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("monograph.shelf.storage._RETRIES", 1)
    silent = storage_at(f"{bucket}/x")
    steps: list[Callable[[], object]] = [
        lambda: silent.put_new("a", b""),
        lambda: silent.get("a", tmp_path / "got"),
        lambda: silent.read("a", 1),
        lambda: silent.listed("a"),
        lambda: silent.remove(["a"]),
    ]
    for use in steps:
        with pytest.raises(ShelfUnreachable, match="^cannot .* s3://.*can be reached"):
            use()


def test_unusable_shelf_folder_raises_shelf_unreachable(tmp_path: Path) -> None:
    folder = storage_at(tmp_path / "shelf", create=True)
    (tmp_path / "shelf" / "objects").touch()
    path = shard(tmp_path, "a", "a")
    with pytest.raises(ShelfUnreachable, match="cannot store .*hard links"):
        folder.put_new(name_of(path).name, path)
    with pytest.raises(ShelfUnreachable, match="cannot list objects in .*hard links"):
        folder.listed("objects")


FULL = """
import resource
from pathlib import Path
from monograph.errors import StorageFull
from monograph.shelf.storage import name_of
from monograph.shelf.storage import shelf_place
resource.setrlimit(resource.RLIMIT_FSIZE, (999, 999))
place, path, there = shelf_place(sys.argv[1], sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4])
for step in (lambda: place.objects.put_new(name_of(path).name, path), lambda: place.file_of(name_of(there))):
    try:
        step()
    except StorageFull as error:
        print(error)
"""


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_object_above_the_file_size_limit_raises_storage_full_and_leaves_nothing(tmp_path: Path) -> None:
    place = shelf_place(tmp_path / "shelf", tmp_path / "home", create=True)
    there = put_file(place.objects, shard(tmp_path, "there", "there"))
    path = shard(tmp_path, "a", "a")
    done = PROCESSES.run(FULL, tmp_path / "shelf", tmp_path / "home", path, tmp_path / "there.mono")
    assert done.stdout.count("no room left for") == 2, done.stderr
    assert files_in(tmp_path / "shelf") == [f"{there.digest}.mono"]
    assert files_in(tmp_path / "home") == []


def test_fetched_objects_are_verified_and_cached(objects: Storage, tmp_path: Path) -> None:
    name = put_file(objects, shard(tmp_path, "a", "a"))
    place = ShelfPlace("", objects, tmp_path / "home")
    path = place.file_of(name)
    assert name_of(path) == name
    objects.remove([name.name])
    assert place.file_of(name) == path  # It is here.
    os.truncate(path, 5)
    with pytest.raises(ObjectMissing, match=name.digest):  # What is here is broken, and fetched again.
        place.file_of(name)
    assert objects.put_new(name.name, tmp_path / "a.mono")
    assert name_of(place.file_of(name)) == name
    assert {path.stem for path in place.fetched.glob("*.mono")} == {name.digest}
    assert files_in(tmp_path / "home") == [f"{name.digest}.mono"]


@pytest.mark.parametrize("wrong", [b"short", b"b" * 1000])
def test_an_object_of_other_bytes_is_refused(objects: Storage, tmp_path: Path, wrong: bytes) -> None:
    name = name_of(shard(tmp_path, "a", "a"))
    objects.put_new(name.name, wrong)  # As a failing disk, or another hand, leaves it.
    with pytest.raises(ObjectDamaged, match=rf"{name.digest}.mono of .* is damaged.*--replace"):
        ShelfPlace("", objects, tmp_path / "home").file_of(name)
    assert files_in(tmp_path / "home") == []


def test_cache_keeps_the_requested_versions(tmp_path: Path) -> None:
    place = shelf_place(tmp_path / "shelf", tmp_path / "home", create=True)
    names = [put_file(place.objects, shard(tmp_path, letter, letter)) for letter in "abcd"]
    paths = [place.file_of(name) for name in names]
    Path(f"{paths[1]}-wal").write_bytes(b"x")
    (place.fetched / ".fetching-killed").mkdir()
    with paths[1].open("rb") as reader:
        place.keep([names[0], names[2], names[3]])
        assert len(reader.read()) == 1000  # Whoever reads, reads on.
    assert sorted(path.name for path in place.fetched.iterdir()) == sorted(paths[one].name for one in (0, 2, 3))
    with pytest.raises(InputError, match="cannot be created"):
        shelf_place(tmp_path / "shelf", paths[0] / "below")


FETCH = """
import os
from pathlib import Path
from monograph.shelf.storage import ObjectName
from monograph.shelf.storage import name_of
from monograph.shelf.storage import shelf_place
waiting, go = os.pipe()
children = []
for _ in range(4):
    child = os.fork()
    if child == 0:
        os.close(go)
        place = shelf_place(sys.argv[1], sys.argv[2])
        os.read(waiting, 1)
        name = ObjectName(sys.argv[3], 20_000_000)
        for _ in range(20):
            assert name_of(place.file_of(name)) == name
        os.write(1, b"fetched\\n")
        os._exit(0)
    children.append(child)
os.close(go)
for child in children:
    os.waitpid(child, 0)
"""


@pytest.mark.long
def test_many_processes_may_fetch_an_object_at_once(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(os.urandom(1000) * 20_000)
    place = shelf_place(tmp_path / "shelf", tmp_path / "home", create=True)
    name = put_file(place.objects, path)
    done = PROCESSES.run(FETCH, tmp_path / "shelf", tmp_path / "home", name.digest)
    assert done.stdout.split() == ["fetched"] * 4, done.stderr
    assert files_in(tmp_path / "home") == [f"{name.digest}.mono"]
