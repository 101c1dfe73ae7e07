"""Versions of a shelf: each is seen whole or not at all, whoever is killed, races or sweeps meanwhile."""

from __future__ import annotations

import json
import os
import random
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph.errors import (
    InputError,
    MonographError,
    NewerFormat,
    ObjectDamaged,
    ObjectMissing,
    ShelfConflict,
    ShelfUnreachable,
)
from monograph.shelf.manifest import (
    DAY,
    MOST_BYTES,
    Forgotten,
    Manifest,
    forget,
    latest,
    load,
    publish,
    put_file,
    versions,
)
from monograph.shelf.storage import ObjectName, ShelfPlace, Storage, name_of, storage_at
from support.properties import examples
from support.shelf_storage import PROCESSES, Between, shard

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""A folder in memory, where there is one: what is killed a hundred times need not wait for a disk."""


@pytest.fixture
def in_memory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=MEMORY) as made:
        yield Path(made)


@pytest.fixture
def folder(tmp_path: Path) -> Storage:
    (tmp_path / "shelf").mkdir()
    return storage_at(tmp_path / "shelf")


def put(objects: Storage, files: Path, text: str, before: Manifest | None) -> Manifest:
    """A version of two shards, of which the first and its contents alone differ from one text to another."""
    files.mkdir(exist_ok=True)
    shards = [put_file(objects, shard(files, one, one)) for one in (text, "second")]
    contents = [put_file(objects, shard(files, one, one)) for one in (f"contents {text}", "third")]
    pairs = list(zip(shards, contents, strict=True))
    return publish(objects, pairs, shard(files, f"names {text}", f"names {text}"), before)


def text_of(objects: Storage, manifest: Manifest, home: Path) -> str:
    """The text that a version was made of; every object of it is fetched and verified."""
    place = ShelfPlace("", objects, home)
    shard, second, contents, third, names = (
        text[: len(text) // 1000]
        for text in (
            place.file_of(name).read_text() for name in (*manifest.shards, *manifest.contents, manifest.catalogue)
        )
    )
    assert (second, contents, third, names) == ("second", f"contents {shard}", "third", f"names {shard}")
    return shard


def names_in(objects: Storage) -> set[str]:
    return {one.name for place in ("objects", "versions") for one in objects.listed(place)}


def of(manifest: Manifest) -> set[str]:
    return {manifest.name, *(name.name for name in manifest.objects)}


def test_a_version_is_read_as_it_was_published(objects: Storage, tmp_path: Path) -> None:
    assert latest(objects) is None
    first = put(objects, tmp_path / "files", "one", None)
    second = put(objects, tmp_path / "files", "two", first)
    assert (first.version, second.version) == (1, 2)
    assert latest(objects) == second == load(objects, 2)
    assert load(objects, 1) == first
    assert first.shards[1] == second.shards[1]
    assert text_of(objects, first, tmp_path / "cache") == "one"
    assert text_of(objects, second, tmp_path / "cache") == "two"
    with pytest.raises(ObjectMissing, match=r"versions/00000003\.json is not in"):
        load(objects, 3)


class Counting(Between):
    """A place that remembers the objects that were put into it, in their order."""

    def __init__(self, objects: Storage) -> None:
        super().__init__(objects, -1, lambda: None)
        self.put: list[str] = []

    def put_new(self, name: str, source: Path | bytes) -> bool:
        is_new = super().put_new(name, source)
        if is_new:
            self.put.append(name)
        return is_new


def test_publication_skips_existing_objects_and_writes_the_manifest_last(objects: Storage, tmp_path: Path) -> None:
    first = put(objects, tmp_path / "files", "one", None)
    counting = Counting(objects)
    second = put(counting, tmp_path / "files", "two", first)
    assert counting.put == [second.shards[0].name, second.contents[0].name, second.catalogue.name, second.name]
    third = put(counting, tmp_path / "files", "two", second)
    assert counting.put[4:] == [third.name]
    assert third.objects == second.objects


def test_a_writer_that_comes_too_late_is_refused(objects: Storage, tmp_path: Path) -> None:
    one = ObjectName("a" * 64, 1)
    with pytest.raises(InputError, match="the previous version 1 is not in"):
        put(objects, tmp_path / "files", "two", Manifest(1, (one,), (one,), one, 0))
    first = put(objects, tmp_path / "files", "one", None)
    second = put(objects, tmp_path / "files", "two", first)
    for before in (first, None):
        with pytest.raises(ShelfConflict, match=r"another writer has published version 2 of .*same command again"):
            put(objects, tmp_path / "files", "three", before)
    assert latest(objects) == second
    assert put(objects, tmp_path / "files", "three", second).version == 3


def first_versions(in_memory: Path) -> Iterator[tuple[int, Storage, Manifest]]:
    """(step, storage, first version) of a shelf for each step of the publication of a second version."""
    counting = Between(storage_at(in_memory / "counted", create=True), -1, lambda: None)
    first = put(counting, in_memory / "files", "one", None)
    counting.steps = 0
    put(counting, in_memory / "files", "two", first)
    for step in range(counting.steps + 1):
        folder = storage_at(in_memory / f"shelf{step}", create=True)
        yield step, folder, put(folder, in_memory / "files", "one", None)


def test_of_two_writers_one_is_refused_whenever_the_other_publishes(in_memory: Path) -> None:
    won = lost = 0
    for step, folder, first in first_versions(in_memory):

        def other(folder: Storage = folder, first: Manifest = first) -> None:
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


def test_a_sweep_between_any_two_steps_leaves_a_version_whole(in_memory: Path) -> None:
    # What takes least care: nothing is too young to be swept, and one version is kept.
    published = refused = 0
    for step, folder, first in first_versions(in_memory):
        between = Between(folder, step, partial(forget, folder))
        try:
            put(between, in_memory / "files", "two", first)
            published += 1
        except (ObjectMissing, ShelfConflict):
            refused += 1
        newest = latest(folder)
        assert newest is not None
        assert text_of(folder, newest, in_memory / f"home{step}") == ("two" if newest.version == 2 else "one")
        if newest.version == 1:
            assert text_of(folder, put(folder, in_memory / "files", "two", first), in_memory / f"home{step}") == "two"
    assert published > 3
    assert refused > 3


def test_a_sweep_after_the_last_look_before_the_manifest_refuses_it(in_memory: Path) -> None:
    """The sweep has listed the manifests before this one was put, and removes after it was put."""
    folder = storage_at(in_memory / "shelf", create=True)
    first = put(folder, in_memory / "files", "one", None)

    class Swept(Between):
        def put_new(self, name: str, source: Path | bytes) -> bool:
            is_new = super().put_new(name, source)
            if name.startswith("versions"):
                digest = name_of(in_memory / "files" / "two.mono").digest
                self._objects.remove([f"objects/{digest}.mono"])
            return is_new

    with pytest.raises(ShelfConflict, match="another process removed objects"):
        put(Swept(folder, -1, lambda: None), in_memory / "files", "two", first)
    assert latest(folder) == first
    assert text_of(folder, put(folder, in_memory / "files", "two", first), in_memory / "home") == "two"


def test_a_reader_at_any_step_sees_one_version(in_memory: Path) -> None:
    seen = []
    for step, folder, first in first_versions(in_memory):

        def read(folder: Storage = folder, step: int = step) -> None:
            newest = latest(folder)
            assert newest is not None
            seen.append((newest.version, text_of(folder, newest, in_memory / f"home{step}")))

        put(Between(folder, step, read), in_memory / "files", "two", first)
    assert set(seen) == {(1, "one"), (2, "two")}
    assert seen == sorted(seen)


CALLS = 150
"""Events of a profiler (calls and returns, also in C) from one kill to the next; a publication has 5,400."""
DIE = """
import os, signal
from pathlib import Path
from monograph.shelf.manifest import latest
from monograph.shelf.manifest import publish, put_file
from monograph.shelf.storage import storage_at

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def publish_files(objects):
    shard, second, contents, third, names = map(Path, sys.argv[3:])
    pairs = [(put_file(objects, shard), put_file(objects, contents)), (put_file(objects, second), put_file(objects, third))]
    publish(objects, pairs, names, latest(objects))

objects, step = storage_at(sys.argv[1]), int(sys.argv[2])
"""
AT_CALLS = """
count = 0
def hook(event, arguments):
    # What this process asks of the files of the shelf, but for what the client itself does.
    global count
    if event in ("os.remove", "open") and str(arguments[0]).startswith(sys.argv[1]):
        count += 1
        if count == step:
            die()
sys.addaudithook(hook)
publish_files(objects)
"""
AT_STEPS = """
from support.shelf_storage import Between
publish_files(Between(objects, step, die))
"""
AT_EVENTS = """
import itertools
number = itertools.count()
def hook(frame, event, argument):
    if next(number) == step:
        die()
sys.setprofile(hook)
publish_files(objects)
"""


def survives(objects: Storage, tmp_path: Path, step: int, program: str) -> bool:
    """Whether a writer that is to be killed at a step came to its end before; what it leaves is whole in any case."""
    files = tmp_path / "files"
    first = put(objects, files, "one", None)
    made = [shard(files, one, one) for one in ("two", "second", "contents two", "third", "names two")]
    done = PROCESSES.run(program, objects.address, step, *made)
    assert done.returncode in (0, -9), done.stderr
    newest = latest(objects)
    assert newest is not None
    assert (newest.version, text_of(objects, newest, tmp_path / f"home{step}")) in ((1, "one"), (2, "two"))
    if done.returncode == 0:
        assert newest.version == 2
        return True
    if newest.version == 1:
        newest = put(objects, files, "two", first)
    forget(objects)
    assert names_in(objects) == of(newest)
    assert {one.bytes for one in objects.listed("objects")} == {name.bytes for name in newest.objects}
    return False


@pytest.mark.parametrize(("program", "step", "stride"), [(AT_CALLS, 1, 1), (AT_STEPS, 0, 1), (AT_EVENTS, 0, CALLS)])
def test_a_writer_killed_at_any_step_leaves_the_old_version_or_the_new(
    in_memory: Path, program: str, step: int, stride: int
) -> None:
    while not survives(storage_at(in_memory / f"shelf{step}", create=True), in_memory, step, DIE + program):
        assert list((in_memory / f"shelf{step}" / "staging").iterdir()) == []
        step += stride
    assert step > 12 * stride


@pytest.mark.long
def test_writer_killed_in_a_bucket_leaves_the_old_version_or_the_new(bucket: str, in_memory: Path) -> None:
    step = 0
    while not survives(storage_at(f"{bucket}/killed{step}"), in_memory, step, DIE + AT_STEPS):
        step += 1
    assert step > 12


RACE = """
import os
from pathlib import Path
from monograph.errors import ShelfConflict
from monograph.shelf.manifest import latest
from monograph.shelf.manifest import publish, put_file
from monograph.shelf.storage import storage_at
from support.shelf_storage import shard
waiting = os.pipe()
children = []
for me in range(4):
    child = os.fork()
    if child == 0:
        objects = storage_at(sys.argv[1])
        os.close(waiting[1])
        os.read(waiting[0], 1)
        for turn in range(20):
            path = shard(Path(sys.argv[2]), f"{me} {turn}", f"{me} {turn}")
            try:
                made = publish(objects, [(put_file(objects, path), put_file(objects, path))], path, latest(objects))
                os.write(1, f"{made.version} {path}\\n".encode())
            except ShelfConflict:
                os.write(1, b"lost\\n")
        os._exit(0)
    children.append(child)
os.close(waiting[1])
for child in children:
    os.waitpid(child, 0)
"""


def test_of_writers_that_race_one_wins_each_version(tmp_path: Path, folder: Storage) -> None:
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


def test_storage_that_overwrites_objects_is_detected(folder: Storage, tmp_path: Path) -> None:
    with pytest.raises(ShelfUnreachable, match="cannot put an object only if it is absent"):
        put(Overwriting(folder, -1, lambda: None), tmp_path / "files", "one", None)


class Deaf(Between):
    """A place whose first answer about each manifest is lost, so that the client asks once more, and finds its own."""

    def put_new(self, name: str, source: Path | bytes) -> bool:
        put = self._objects.put_new(name, source)
        return self._objects.put_new(name, source) if name.startswith("versions") else put


def test_lost_reply_of_the_storage_is_no_conflict(folder: Storage, tmp_path: Path) -> None:
    deaf = Deaf(folder, -1, lambda: None)
    first = put(folder, tmp_path / "files", "one", None)
    assert put(deaf, tmp_path / "files", "two", first) == latest(folder)


def test_a_damaged_object_is_put_again_by_the_next_publication(objects: Storage, tmp_path: Path) -> None:
    first = put(objects, tmp_path / "files", "one", None)
    objects.remove([first.shards[1].name])
    objects.put_new(first.shards[1].name, b"trunc")
    with pytest.raises(ObjectDamaged, match=f"{first.shards[1].digest}.*is damaged"):
        text_of(objects, first, tmp_path / "cache")
    second = put(objects, tmp_path / "files", "two", first)
    assert text_of(objects, second, tmp_path / "cache") == "two"


FULL = """
import resource
from monograph.errors import StorageFull
resource.setrlimit(resource.RLIMIT_FSIZE, (7000, 7000))
try:
    publish_files(objects)
except StorageFull as error:
    print(error)
"""


def test_a_full_place_keeps_the_old_version(folder: Storage, tmp_path: Path) -> None:
    first = put(folder, tmp_path / "files", "one", None)
    large = shard(tmp_path / "files", "large", "large shard")
    done = PROCESSES.run(DIE + FULL, folder.address, 0, *[large] * 5)
    assert "no room left for" in done.stdout, done.stderr
    assert latest(folder) == first
    assert names_in(folder) == of(first)
    assert text_of(folder, put(folder, tmp_path / "files", "two", first), tmp_path / "cache") == "two"


def test_a_sweep_keeps_the_last_versions_and_what_is_young(objects: Storage, tmp_path: Path) -> None:
    made = [put(objects, tmp_path / "files", "one", None)]
    for text in ("two", "three", "four"):
        made.append(put(objects, tmp_path / "files", text, made[-1]))
    young = {name.name for one in made[:2] for name in (one.shards[0], one.contents[0], one.catalogue)}
    assert forget(objects, 2, DAY).removed == (made[0].name, made[1].name)
    assert names_in(objects) == of(made[2]) | of(made[3]) | young
    assert set(forget(objects, 2).removed) == young
    assert names_in(objects) == of(made[2]) | of(made[3])
    assert forget(objects, 2).removed == ()
    with pytest.raises(ObjectMissing, match="its version may have been removed"):
        text_of(objects, made[0], tmp_path / "cache")
    for manifest, text in ((made[2], "three"), (made[3], "four")):
        assert text_of(objects, manifest, tmp_path / "cache") == text


def test_a_sweep_removes_nothing_where_a_kept_version_is_damaged(folder: Storage, tmp_path: Path) -> None:
    first = put(folder, tmp_path / "files", "one", None)
    put(folder, tmp_path / "files", "two", first)
    folder.remove([first.name])
    folder.put_new(first.name, b"{}")
    before = names_in(folder)
    for keep in (2, 9):
        with pytest.raises(ObjectDamaged, match=first.name):
            forget(folder, keep)
    assert names_in(folder) == before


@settings(max_examples=examples(40))
@given(st.lists(st.sampled_from(["publish", "publish", "publish late", "sweep", "sweep one", "forget"]), max_size=12))
def test_kept_versions_stay_whole_under_random_operations(steps: list[str]) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as place:
        folder, files, cache = storage_at(Path(place, "shelf"), create=True), Path(place, "files"), Path(place, "home")
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
                forget(folder, keep)
                there = {version: there[version] for version in sorted(there)[-keep:]}
            assert versions(folder) == sorted(there)
            for version, text in there.items():
                assert text_of(folder, load(folder, version), cache) == text
            if not step.startswith("publish"):
                named = [of(load(folder, version)) for version in there]
                assert names_in(folder) == set().union(*named)


def test_no_byte_of_forgotten_documents_remains_in_the_shelf(objects: Storage, tmp_path: Path) -> None:
    assert forget(objects) == Forgotten(None, ())
    first = put(objects, tmp_path / "files", "secret", None)
    second = put(objects, tmp_path / "files", "two", first)
    failed = put_file(objects, shard(tmp_path / "files", "failed", "secret too"))
    place = ShelfPlace("", objects, tmp_path / "home")
    for manifest in (first, second):
        text_of(objects, manifest, tmp_path / "home")
    if (tmp_path / "shelf").exists():  # A writer was killed.
        for name in ("00", "00#1"):
            (tmp_path / "shelf" / "staging" / name).write_bytes(b"half a secret")
        forget(objects, 2, DAY)
        assert len(list((tmp_path / "shelf" / "staging").iterdir())) == 2  # It may be at work.
    forgotten = forget(objects)
    assert forgotten.kept == second
    assert set(forgotten.removed) == {*of(first) - of(second), failed.name}
    gone = {first.shards[0].digest, first.contents[0].digest, first.catalogue.digest}
    assert forgotten.digests == {*gone, failed.digest}
    assert names_in(objects) == of(second)
    # This machine still holds it, until it is told.
    assert {path.stem for path in place.fetched.glob("*.mono")} & forgotten.digests == gone
    place.keep(second.objects)
    for folder in (tmp_path / "shelf", tmp_path / "home"):
        assert not [path for path in folder.rglob("*") if path.is_file() and b"secret" in path.read_bytes()]


digests = st.text(st.sampled_from("0123456789abcdef"), min_size=64, max_size=64)
object_names = st.builds(ObjectName, digests, st.integers(0, 1 << 60))
manifests = st.lists(
    st.tuples(object_names, object_names), min_size=1, max_size=5, unique_by=lambda pair: pair[0]
).flatmap(
    lambda pairs: st.builds(
        Manifest,
        st.integers(1, 99_999_999),
        st.just(tuple(shard for shard, _ in pairs)),
        st.just(tuple(contents for _, contents in pairs)),
        object_names,
        st.integers(0, 1 << 40),
    )
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
        assert error.hint


def changed(**values: object) -> bytes:
    said = {"format": 1, "version": 1, "made": 0, "catalogue": {"digest": "a" * 64, "bytes": 1}}
    said["shards"] = [{"digest": "a" * 64, "bytes": 1}]
    said["contents"] = [{"digest": "b" * 64, "bytes": 1}]
    return json.dumps({key: value for key, value in {**said, **values}.items() if value is not ...}).encode()


@pytest.mark.parametrize(
    "stored",
    [
        b"", b"{", b"null", b"[]", b"{}", b"[" * 100_000, b'{"a":' * 100_000, b"\xff\xfe", b"1" * 10_000, b"NaN",
        changed(format=0), changed(format=True), changed(format="1"), changed(format=...),
        changed(version=0), changed(version=True), changed(version=1.0), changed(version="1"), changed(version=10**9),
        changed(made=-1), changed(made=1.5), changed(made=None), changed(made=float("nan")), changed(made=1 << 50),
        changed(shards=[]), changed(shards={}), changed(shards=None), changed(shards=[1]), changed(shards=...),
        changed(contents=[]), changed(contents=...), changed(shards=[{"digest": "a", "bytes": 1}]), changed(more=1),
        changed(shards=[{"digest": "a" * 64, "bytes": 1}] * 10_001), changed(contents=1),
        changed(shards=[{"digest": "a" * 64, "bytes": 1}] * 9_000, contents=[{"digest": "a" * 64, "bytes": 1}] * 9_000),
        changed(catalogue={"digest": "../../etc/passwd", "bytes": 1}), changed(catalogue={"digest": "A" * 64, "bytes": 1}),
        changed(catalogue={"digest": "a" * 64, "bytes": -1}), changed(catalogue={"digest": "a" * 64, "bytes": True}),
        changed(catalogue={"digest": "a" * 64}),         changed(catalogue={"digest": ["a"] * 64, "bytes": 1}), changed(catalogue=None),
        changed(catalogue=[]), changed() + b"x",
        b" " * (MOST_BYTES + 1),
    ],
)  # fmt: skip
def test_invalid_manifest_is_refused_by_name(folder: Storage, stored: bytes) -> None:
    folder.put_new("versions/00000001.json", stored)
    with pytest.raises(ObjectDamaged) as raised:
        latest(folder)
    assert raised.value.message.startswith(f"versions/00000001.json of {folder.address}")
    assert raised.value.hint
    assert len(str(raised.value)) < 1000


@pytest.mark.parametrize(
    ("stored", "error", "message"),
    [
        (changed(format=2, unheard="of"), NewerFormat, "has format 2.*update Monograph"),
        (changed(version=2), ObjectDamaged, "says that it is version 2"),
    ],
)
def test_manifest_of_another_format_or_version_is_refused(
    folder: Storage, stored: bytes, error: type[MonographError], message: str
) -> None:
    folder.put_new("versions/00000001.json", stored)
    with pytest.raises(error, match=rf"versions/00000001\.json of .* {message}"):
        latest(folder)


def test_invalid_version_is_refused_before_upload(folder: Storage, tmp_path: Path) -> None:
    path = shard(tmp_path, "a", "a")
    name = put_file(folder, path)
    with pytest.raises(InputError):
        publish(folder, [], path, None)
    with pytest.raises(InputError, match="the same shard twice"):
        publish(folder, [(name, name)] * 2, path, None)
    with pytest.raises(ObjectMissing):
        publish(folder, [(ObjectName("0" * 64, 1), name)], path, None)
    assert versions(folder) == []
    manifest = publish(folder, [(name, name)], path, None)
    for wrong, message in (
        ({"version": 0}, "version 0"),
        ({"contents": ()}, "different numbers of shards and contents"),
    ):
        with pytest.raises(InputError, match=message):
            replace(manifest, **wrong)


def test_any_number_of_versions_are_listed_in_their_order(folder: Storage) -> None:
    numbers = random.Random(7).sample(range(1, 99_999_999), 20)
    for number in numbers:
        folder.put_new(f"versions/{number:08d}.json", b"")
    folder.put_new("versions/readme", b"")
    assert versions(folder) == sorted(numbers)
