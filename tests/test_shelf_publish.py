"""Versions of a shelf: each is seen whole or not at all, whoever is killed, races or sweeps meanwhile."""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monograph.errors import (
    InputError,
    MonographError,
    NewerFormat,
    ObjectDamaged,
    ObjectMissing,
    ShelfConflict,
    ShelfUnreachable,
    StorageFull,
)
from monograph.shelf.versions.cache import Cache
from monograph.shelf.versions.folder import Folder
from monograph.shelf.versions.manifest import MOST_BYTES, Manifest, latest, load, versions
from monograph.shelf.versions.names import ObjectName
from monograph.shelf.versions.objects import Objects, objects_at
from monograph.shelf.versions.pieces import name_of
from monograph.shelf.versions.publish import publish
from monograph.shelf.versions.sweep import Forgotten, forget, sweep
from monograph.shelf.versions.writer import release, writing
from places import PROCESSES, Between, bucket_server, shard

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""A folder in memory, where there is one: what is killed a hundred times need not wait for a disk."""

SETTINGS = {"embedder": "static:wordllama", "alpha": "1.0"}


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    with bucket_server() as address:
        yield address


@pytest.fixture(params=["folder", "bucket"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> Objects:
    if request.param == "folder":
        return objects_at(tmp_path / "shelf", create=True)
    return objects_at(f"{request.getfixturevalue('bucket')}/{hashlib.sha256(str(tmp_path).encode()).hexdigest()}")


@pytest.fixture
def in_memory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=MEMORY) as made:
        yield Path(made)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / "shelf").mkdir()
    return Folder(tmp_path / "shelf")


def put(objects: Objects, files: Path, text: str, before: Manifest | None) -> Manifest:
    """A version of three shards, of which the first alone differs from one text to another."""
    files.mkdir(exist_ok=True)
    shards = [shard(files, text, text), shard(files, "second", "second"), shard(files, "third", "third")]
    return publish(objects, shards, shard(files, f"names {text}", f"names {text}"), before, SETTINGS)


def text_of(objects: Objects, manifest: Manifest, cache: Path) -> str:
    """The text that a version was made of; every object of it is fetched and verified."""
    paths = [Cache(cache).path(objects, name) for name in (*manifest.shards, manifest.catalogue)]
    text = paths[0].read_text()
    text = text[: len(text) // 1000]
    names = paths[3].read_text()
    assert names[: len(names) // 1000] == f"names {text}"
    assert [path.read_text()[:5] for path in paths[1:3]] == ["secon", "third"]
    return text


def names_in(objects: Objects) -> set[str]:
    return {one.name for place in ("objects", "versions") for one in objects.listed(place)}


def of(manifest: Manifest) -> set[str]:
    return {manifest.name, *(name.name for name in manifest.objects)}


def test_a_version_is_read_as_it_was_published(objects: Objects, tmp_path: Path) -> None:
    assert latest(objects) is None
    first = put(objects, tmp_path / "files", "one", None)
    second = put(objects, tmp_path / "files", "two", first)
    assert (first.version, second.version) == (1, 2)
    assert latest(objects) == second == load(objects, 2)
    assert load(objects, 1) == first
    assert first.settings == SETTINGS
    assert first.shards[1:] == second.shards[1:]
    assert text_of(objects, first, tmp_path / "cache") == "one"
    assert text_of(objects, second, tmp_path / "cache") == "two"
    with pytest.raises(ObjectMissing, match=r"versions/00000003\.json is not in"):
        load(objects, 3)


class Counting(Between):
    """A place that remembers the objects that were put into it, in their order."""

    def __init__(self, objects: Objects) -> None:
        super().__init__(objects, -1, lambda: None)
        self.put: list[str] = []

    def put_new(self, name: str, source: Path | bytes) -> bool:
        self.put.append(name)
        return super().put_new(name, source)


def test_what_is_there_is_not_put_again_and_the_manifest_comes_last(objects: Objects, tmp_path: Path) -> None:
    first = put(objects, tmp_path / "files", "one", None)
    counting = Counting(objects)
    second = put(counting, tmp_path / "files", "two", first)
    assert counting.put == [second.shards[0].name, second.catalogue.name, second.name]
    third = put(counting, tmp_path / "files", "two", second)
    assert counting.put[3:] == [third.name]
    assert third.objects == second.objects


def test_a_writer_that_comes_too_late_is_refused(objects: Objects, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no version 1, after which"):
        put(objects, tmp_path / "files", "two", Manifest(1, (ObjectName("a" * 64, 1),), ObjectName("a" * 64, 1), {}, 0))
    first = put(objects, tmp_path / "files", "one", None)
    second = put(objects, tmp_path / "files", "two", first)
    for before in (first, None):
        with pytest.raises(ShelfConflict, match=r"version 2 of .* has been published by another .*open the shelf anew"):
            put(objects, tmp_path / "files", "three", before)
    assert latest(objects) == second
    assert put(objects, tmp_path / "files", "three", second).version == 3


def steps_of(tmp_path: Path) -> int:
    """How many steps it takes to publish a second version."""
    folder = objects_at(tmp_path / "counted", create=True)
    counting = Between(folder, -1, lambda: None)
    put(counting, tmp_path / "files", "two", put(folder, tmp_path / "files", "one", None))
    return counting.steps


def test_of_two_writers_one_is_refused_whenever_the_other_publishes(in_memory: Path) -> None:
    won = lost = 0
    for step in range(steps_of(in_memory) + 1):
        folder = objects_at(in_memory / f"shelf{step}", create=True)
        first = put(folder, in_memory / "files", "one", None)

        def other(folder: Objects = folder, first: Manifest = first) -> None:
            with suppress(ShelfConflict):
                put(folder, in_memory / "files", "other", first)

        between = Between(folder, step, other)
        try:
            put(between, in_memory / "files", "two", first)
        except ShelfConflict:
            newest, text = latest(folder), "other"
            lost += 1
        else:
            newest, text = latest(folder), "two"
            won += 1
        assert newest is not None
        assert newest.version == 2
        assert text_of(folder, newest, in_memory / "cache") == text
    assert lost >= 5
    assert won == 2  # Where the manifest is there already.


def test_a_sweep_between_any_two_steps_leaves_the_version_whole(in_memory: Path) -> None:
    # What takes least care: nothing is too young to be swept, and one version is kept.
    for step in range(steps_of(in_memory) + 1):
        folder = objects_at(in_memory / f"shelf{step}", create=True)
        first = put(folder, in_memory / "files", "one", None)
        # A publication that failed left what this one finds there.
        path = shard(in_memory / "files", "two", "two")
        folder.put_new(name_of(path).name, path)
        between = Between(folder, step, lambda folder=folder: sweep(folder, keep=1, age=0))
        second = put(between, in_memory / "files", "two", first)
        assert text_of(folder, second, in_memory / f"cache{step}") == "two"


def test_a_reader_at_any_step_sees_one_version(in_memory: Path) -> None:
    seen = []
    for step in range(steps_of(in_memory) + 1):
        folder = objects_at(in_memory / f"shelf{step}", create=True)
        first = put(folder, in_memory / "files", "one", None)

        def read(folder: Objects = folder, step: int = step) -> None:
            newest = latest(folder)
            assert newest is not None
            seen.append((newest.version, text_of(folder, newest, in_memory / f"cache{step}")))

        put(Between(folder, step, read), in_memory / "files", "two", first)
    assert set(seen) == {(1, "one"), (2, "two")}
    assert seen == sorted(seen)


DIE = """
import os, signal
from pathlib import Path
from monograph.shelf.versions.manifest import latest
from monograph.shelf.versions.objects import objects_at
from monograph.shelf.versions.publish import publish
from monograph.shelf.versions.writer import writing

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def publish_as_writer(objects):
    with writing(objects):
        publish(objects, [Path(path) for path in sys.argv[4:]], Path(sys.argv[3]), latest(objects), {})

objects, step = objects_at(sys.argv[1]), int(sys.argv[2])
"""
AT_CALLS = """
count = 0
def hook(event, arguments):
    # Everything that this process asks of files, but of those that Python reads its modules from.
    global count
    if event in ("os.link", "os.remove", "os.mkdir", "os.scandir", "os.listdir", "os.chmod", "os.truncate", "fcntl.flock") or (
        event == "open" and str(arguments[0]).startswith(sys.argv[1])
    ):
        count += 1
        if count == step:
            die()
sys.addaudithook(hook)
publish_as_writer(objects)
"""
AT_STEPS = """
from places import Between
publish_as_writer(Between(objects, step, die))
"""


def survives(objects: Objects, tmp_path: Path, step: int, program: str) -> bool:
    """Whether a writer that is to be killed at a step came to its end before; what it leaves is whole in any case."""
    files = tmp_path / "files"
    first = put(objects, files, "one", None)
    shards = [shard(files, "two", "two"), shard(files, "second", "second"), shard(files, "third", "third")]
    names = shard(files, "names two", "names two")
    done = PROCESSES.run(program, objects.address, step, names, *shards)
    assert done.returncode in (0, -9), done.stderr
    newest = latest(objects)
    assert newest is not None
    assert (newest.version, text_of(objects, newest, tmp_path / f"cache{step}")) in ((1, "one"), (2, "two"))
    if done.returncode == 0:
        assert newest.version == 2
        return True
    with writing(objects):  # The next writer, on the same machine, knows that the one before is gone.
        if newest.version == 1:
            newest = publish(objects, shards, names, first, {})
        sweep(objects, keep=1, age=0)
    assert names_in(objects) == of(newest)
    assert {one.bytes for one in objects.listed("objects")} == {name.bytes for name in newest.objects}
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="how a writer is known to be gone")
def test_a_writer_killed_at_any_call_leaves_the_old_version_or_the_new(in_memory: Path) -> None:
    step = 1
    while not survives(objects_at(in_memory / f"shelf{step}", create=True), in_memory, step, DIE + AT_CALLS):
        assert [path.name for path in (in_memory / f"shelf{step}").rglob(".*")] == []
        step += 1
    assert step > 40


@pytest.mark.skipif(sys.platform != "linux", reason="how a writer is known to be gone")
def test_so_it_is_in_a_bucket(bucket: str, in_memory: Path) -> None:
    step = 0
    while not survives(objects_at(f"{bucket}/killed{step}"), in_memory, step, DIE + AT_STEPS):
        step += 1
    assert step > 12


RACE = """
import os
from pathlib import Path
from monograph.errors import ShelfConflict
from monograph.shelf.versions.manifest import latest
from monograph.shelf.versions.objects import objects_at
from monograph.shelf.versions.publish import publish
from places import shard
objects, waiting = objects_at(sys.argv[1]), os.pipe()
children = []
for me in range(4):
    child = os.fork()
    if child == 0:
        os.close(waiting[1])
        os.read(waiting[0], 1)
        for turn in range(20):
            path = shard(Path(sys.argv[2]), f"{me} {turn}", f"{me} {turn}")
            try:
                made = publish(objects, [path], path, latest(objects), {})
                os.write(1, f"{made.version} {path}\\n".encode())
            except ShelfConflict:
                os.write(1, b"lost\\n")
        os._exit(0)
    children.append(child)
os.close(waiting[1])
for child in children:
    os.waitpid(child, 0)
"""


def test_of_writers_that_race_one_wins_each_version(tmp_path: Path, folder: Folder) -> None:
    (tmp_path / "files").mkdir()
    done = PROCESSES.run(RACE, folder.address, tmp_path / "files")
    lines = done.stdout.splitlines()
    assert len(lines) == 80, done.stderr
    won = [(int(version), Path(file)) for version, file in (line.split(" ", 1) for line in lines if line != "lost")]
    assert sorted(version for version, _ in won) == versions(folder) == list(range(1, len(won) + 1))
    assert "lost" in lines
    for version, file in won:
        assert load(folder, version).shards == (name_of(file),)


class Overwriting(Between):
    """A store that knows nothing of put only if absent."""

    def put_new(self, name: str, source: Path | bytes) -> bool:
        self._objects.remove([name])
        return self._objects.put_new(name, source)


def test_a_store_that_overwrites_is_found_out(folder: Folder, tmp_path: Path) -> None:
    with pytest.raises(ShelfUnreachable, match="cannot put an object only if it is absent"):
        put(Overwriting(folder, -1, lambda: None), tmp_path / "files", "one", None)


class Deaf(Between):
    """A place whose first answer about each manifest is lost, so that the client asks once more, and finds its own."""

    def put_new(self, name: str, source: Path | bytes) -> bool:
        put = self._objects.put_new(name, source)
        return self._objects.put_new(name, source) if name.startswith(("versions", "writers")) else put


def test_an_answer_that_was_lost_is_no_conflict(folder: Folder, tmp_path: Path) -> None:
    deaf = Deaf(folder, -1, lambda: None)
    with writing(deaf):
        first = put(deaf, tmp_path / "files", "one", None)
        assert put(deaf, tmp_path / "files", "two", first) == latest(folder)


def test_a_damaged_object_is_put_again_by_the_next_publication(objects: Objects, tmp_path: Path) -> None:
    first = put(objects, tmp_path / "files", "one", None)
    objects.remove([first.shards[1].name])
    objects.put_new(first.shards[1].name.replace(".mono", ".x"), b"none of ours")
    objects.put_new(first.shards[1].name, b"trunc")
    with pytest.raises(ObjectDamaged, match=f"{first.shards[1].digest}.*has 5 bytes, not 6,000"):
        text_of(objects, first, tmp_path / "cache")
    second = put(objects, tmp_path / "files", "two", first)
    assert text_of(objects, second, tmp_path / "cache") == "two"


FULL = """
import resource
from monograph.errors import StorageFull
resource.setrlimit(resource.RLIMIT_FSIZE, (7000, 7000))
try:
    publish_as_writer(objects)
except StorageFull as error:
    print(error)
"""


def test_a_full_place_keeps_the_old_version(folder: Folder, tmp_path: Path) -> None:
    first = put(folder, tmp_path / "files", "one", None)
    large = shard(tmp_path / "files", "large", "large shard")
    done = PROCESSES.run(DIE + FULL, folder.address, 0, large, large)
    assert "no room left for" in done.stdout, done.stderr
    assert latest(folder) == first
    assert names_in(folder) == of(first)
    assert text_of(folder, put(folder, tmp_path / "files", "two", first), tmp_path / "cache") == "two"
    assert issubclass(StorageFull, MonographError)


def test_a_sweep_keeps_the_last_versions_and_what_is_young(objects: Objects, tmp_path: Path) -> None:
    made = [put(objects, tmp_path / "files", "one", None)]
    for text in ("two", "three", "four"):
        made.append(put(objects, tmp_path / "files", text, made[-1]))
    young = {made[0].shards[0].name, made[0].catalogue.name, made[1].shards[0].name, made[1].catalogue.name}
    assert sweep(objects) == (made[0].name, made[1].name)
    assert names_in(objects) == of(made[2]) | of(made[3]) | young
    assert set(sweep(objects, age=0)) == young
    assert names_in(objects) == of(made[2]) | of(made[3])
    assert sweep(objects, age=0) == ()
    with pytest.raises(ObjectMissing, match="its version may have been swept"):
        text_of(objects, made[0], tmp_path / "cache")
    for manifest, text in ((made[2], "three"), (made[3], "four")):
        assert text_of(objects, manifest, tmp_path / "cache") == text
    for keep, age in ((0, 0.0), (1, -1.0)):
        with pytest.raises(InputError, match="keep at least one"):
            sweep(objects, keep=keep, age=age)


def test_a_sweep_removes_nothing_where_a_kept_version_is_damaged(folder: Folder, tmp_path: Path) -> None:
    first = put(folder, tmp_path / "files", "one", None)
    put(folder, tmp_path / "files", "two", first)
    folder.remove([first.name])
    folder.put_new(first.name, b"{}")
    before = names_in(folder)
    for step in (lambda: sweep(folder, age=0), lambda: sweep(folder, keep=9, age=0)):
        with pytest.raises(ObjectDamaged, match=first.name):
            step()
    assert names_in(folder) == before


@given(st.lists(st.sampled_from(["publish", "publish", "publish late", "sweep", "sweep one", "forget"]), max_size=12))
def test_whatever_is_done_the_kept_versions_are_whole(steps: list[str]) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as place:
        folder, files, cache = objects_at(Path(place, "shelf"), create=True), Path(place, "files"), Path(place, "cache")
        there: dict[int, str] = {}
        for turn, step in enumerate(steps):
            if step.startswith("publish"):
                late = step.endswith("late") and bool(there)
                before = load(folder, max(there)) if there else None
                if late and before is not None:
                    before = replace(before, version=before.version - 1) if before.version > 1 else None
                try:
                    made = put(folder, files, f"text {turn % 3}", before)
                except ShelfConflict:
                    assert late
                    continue
                assert not late
                there[made.version] = f"text {turn % 3}"
            elif step == "forget":
                forgotten = forget(folder)
                there = {version: text for version, text in there.items() if version == max(there)}
                assert forgotten.kept == latest(folder)
            else:
                keep = 1 if step == "sweep one" else 2
                sweep(folder, keep=keep, age=0)
                there = {version: there[version] for version in sorted(there)[-keep:]}
            assert versions(folder) == sorted(there)
            for version, text in there.items():
                assert text_of(folder, load(folder, version), cache) == text
            if not step.startswith("publish"):
                named = [of(load(folder, version)) for version in there]
                assert names_in(folder) == set().union(*named)


def test_what_is_forgotten_is_in_no_byte_of_the_shelf(objects: Objects, tmp_path: Path) -> None:
    assert forget(objects) == Forgotten(None, (), frozenset())
    first = put(objects, tmp_path / "files", "secret", None)
    second = put(objects, tmp_path / "files", "two", first)
    failed = shard(tmp_path / "files", "failed", "secret too")
    objects.put_new(name_of(failed).name, failed)
    cache = Cache(tmp_path / "cache")
    for manifest in (first, second):
        text_of(objects, manifest, tmp_path / "cache")
    if isinstance(objects, Folder):  # A writer was killed.
        (tmp_path / "shelf" / "objects" / ".killed.mono.shelf-part").write_bytes(b"half a secret")
    forgotten = forget(objects)
    assert forgotten.kept == second
    assert set(forgotten.removed) == {*of(first) - of(second), name_of(failed).name}
    assert forgotten.digests == {first.shards[0].digest, first.catalogue.digest, name_of(failed).digest}
    assert names_in(objects) == of(second)
    # The cache still holds it, until it is told.
    assert cache.held() & forgotten.digests == {first.shards[0].digest, first.catalogue.digest}
    assert cache.keep([name.digest for name in second.objects]) == {first.shards[0].digest, first.catalogue.digest}
    for place in (tmp_path / "shelf", tmp_path / "cache"):
        assert not [path for path in place.rglob("*") if path.is_file() and b"secret" in path.read_bytes()]


def test_a_second_writer_is_refused_while_one_is_at_work(objects: Objects, tmp_path: Path) -> None:
    with writing(objects) as first:
        assert (first.process, str(first).count("since")) == (os.getpid(), 1)
        with pytest.raises(ShelfConflict, match=rf"process {os.getpid()}.*monograph shelf release"), writing(objects):
            raise AssertionError
    with writing(objects) as second:
        assert second.token != first.token
        assert release(objects) == second  # Somebody says that it is gone, which it is not.
        assert release(objects) is None
        with writing(objects):
            put(objects, tmp_path / "files", "one", None)
        with pytest.raises(ShelfConflict):
            put(objects, tmp_path / "files", "two", None)
    with writing(objects):
        pass


def test_what_writers_leave_does_not_grow(folder: Folder) -> None:
    for _ in range(30):
        with writing(folder):
            pass
    assert 2 <= len(folder.listed("writers")) <= 25


def test_what_a_writer_left_may_be_anything(folder: Folder) -> None:
    for number, left in enumerate((b"", b"[]", b"{}", b'{"user": 1}', b"\xff", b"[" * 5000, b"x" * 20_000), 1):
        folder.put_new(f"writers/{number * 2:08d}.json", left)
        with pytest.raises(ShelfConflict, match="is being written by another writer"), writing(folder):
            raise AssertionError
        assert release(folder) is None
        with writing(folder):
            pass


TAKE = """
import os, time
from monograph.errors import ShelfConflict
from monograph.shelf.versions.objects import objects_at
from monograph.shelf.versions.writer import writing
objects, waiting = objects_at(sys.argv[1]), os.pipe()
children = []
for _ in range(6):
    child = os.fork()
    if child == 0:
        os.close(waiting[1])
        os.read(waiting[0], 1)
        for _ in range(20):
            try:
                with writing(objects):
                    descriptor = os.open(sys.argv[2], os.O_CREAT | os.O_EXCL)  # Fails where another is in here, too.
                    time.sleep(0.001)
                    os.close(descriptor)
                    os.unlink(sys.argv[2])
                    os.write(1, b"held\\n")
            except ShelfConflict:
                time.sleep(0.001)
        os._exit(0)
    children.append(child)
os.close(waiting[1])
for child in children:
    if os.waitpid(child, 0)[1]:
        print("two at once")
"""


def test_of_many_writers_one_is_at_work_at_a_time(folder: Folder, tmp_path: Path) -> None:
    done = PROCESSES.run(TAKE, folder.address, tmp_path / "held")
    assert "two at once" not in done.stdout, done.stderr
    assert done.stdout.count("held") >= 6


digests = st.text(st.sampled_from("0123456789abcdef"), min_size=64, max_size=64)
object_names = st.builds(ObjectName, digests, st.integers(0, 1 << 60))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
manifests = st.builds(
    Manifest,
    st.integers(1, 99_999_999),
    st.lists(object_names, min_size=1, max_size=5).map(tuple),
    object_names,
    st.dictionaries(texts, texts, max_size=4),
    st.integers(0, 1 << 40),
)


@given(manifests)
def test_a_manifest_is_read_as_it_was_written(manifest: Manifest) -> None:
    assert Manifest.from_json(manifest.to_json()) == manifest
    assert Manifest.from_json(manifest.to_json()).to_json() == manifest.to_json()


@given(manifests, st.data())
def test_a_damaged_manifest_is_refused_or_says_something_else(manifest: Manifest, data: st.DataObject) -> None:
    stored = bytearray(manifest.to_json())
    start = data.draw(st.integers(0, len(stored)))
    stored[start : start + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=9))
    try:
        assert Manifest.from_json(bytes(stored)).to_json()
    except (ObjectDamaged, NewerFormat) as error:
        assert error.mend


def changed(**values: object) -> bytes:
    said = {"format": 1, "version": 1, "made": 0, "settings": {}, "catalogue": {"sha256": "a" * 64, "bytes": 1}}
    said["shards"] = [said["catalogue"]]
    return json.dumps({key: value for key, value in {**said, **values}.items() if value is not ...}).encode()


@pytest.mark.parametrize(
    "stored",
    [
        b"", b"{", b"null", b"[]", b"{}", b"[" * 100_000, b'{"a":' * 100_000, b"\xff\xfe", b"1" * 10_000, b"NaN",
        changed(format=0), changed(format=True), changed(format="1"), changed(format=...), changed(more=1),
        changed(version=0), changed(version=True), changed(version=1.0), changed(version="1"), changed(version=10**9),
        changed(made=-1), changed(made=1.5), changed(made=None), changed(made=float("nan")), changed(made=1 << 50),
        changed(shards=[]), changed(shards={}), changed(shards=None), changed(shards=[1]), changed(shards=...),
        changed(shards=[{"sha256": "a" * 64, "bytes": 1}] * 10_001),
        changed(catalogue={"sha256": "../../etc/passwd", "bytes": 1}), changed(catalogue={"sha256": "A" * 64, "bytes": 1}),
        changed(catalogue={"sha256": "a" * 64, "bytes": -1}), changed(catalogue={"sha256": "a" * 64, "bytes": True}),
        changed(catalogue={"sha256": "a" * 64}), changed(catalogue={"sha256": "a" * 64, "bytes": 1, "x": 1}),
        changed(catalogue={"sha256": ["a"] * 64, "bytes": 1}), changed(catalogue=None),
        changed(settings=[]), changed(settings={"a": 1}), changed(settings={"a": "b" * 100_001}),
        changed(settings={"a" * 201: "b"}), changed(settings={str(one): "" for one in range(1001)}),
        changed(settings={"a": "\ud800"}), changed()[:-1] + b', "version": 2}', changed() + b"x", b" " * (MOST_BYTES + 1),
    ],
)  # fmt: skip
def test_what_is_no_manifest_is_refused_by_name(folder: Folder, stored: bytes) -> None:
    folder.put_new("versions/00000001.json", stored)
    with pytest.raises(ObjectDamaged) as raised:
        latest(folder)
    assert raised.value.message.startswith(f"versions/00000001.json of {folder.address}")
    assert raised.value.mend
    assert len(str(raised.value)) < 1000


def test_a_manifest_of_a_later_monograph_is_told(folder: Folder) -> None:
    folder.put_new("versions/00000001.json", changed(format=2, unheard="of"))
    with pytest.raises(NewerFormat, match=r"versions/00000001.json of .* has format 2.*update Monograph"):
        latest(folder)


def test_a_manifest_under_another_name_is_refused(folder: Folder, tmp_path: Path) -> None:
    first = put(folder, tmp_path / "files", "one", None)
    folder.put_new("versions/00000002.json", first.to_json())
    with pytest.raises(ObjectDamaged, match=r"versions/00000002\.json of .* says that it is version 1"):
        latest(folder)


def test_what_a_version_cannot_hold_is_refused_before_anything_is_put(folder: Folder, tmp_path: Path) -> None:
    path = shard(tmp_path, "a", "a")
    refused: list[tuple[list[Path], dict[str, str]]] = [
        ([], {}),
        ([path], {"a": "b" * 100_001}),
        ([path], {f"{one:03d}": "b" * 100_000 for one in range(90)}),
        ([tmp_path / "none.mono"], {}),
    ]
    for shards, settings in refused:
        with pytest.raises(InputError):
            publish(folder, shards, path, None, settings)
    assert names_in(folder) == set()
    manifest = publish(folder, [path, path], path, None, {})  # Shards may be the same.
    assert len(manifest.shards) == 2
    assert len(names_in(folder)) == 2
    with pytest.raises(InputError, match="version 0"):
        replace(manifest, version=0)


def test_any_number_of_versions_are_listed_in_their_order(folder: Folder) -> None:
    numbers = random.Random(7).sample(range(1, 99_999_999), 20)
    for number in numbers:
        folder.put_new(f"versions/{number:08d}.json", b"")
    folder.put_new("versions/readme", b"")
    assert versions(folder) == sorted(numbers)
