"""Storages of shelves: a local bucket server, and a storage that calls a function before its n-th operation."""

from __future__ import annotations

import logging
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from monograph.shelf.storage import Storage, StoredObject
from support.forks import Forks
from support.paths import TESTS

PREPARED = f"""
import contextlib, sys
sys.path.insert(0, {str(TESTS)!r})
import support.shelf_storage, monograph.shelf.manifest
with contextlib.suppress(ImportError):
    import obstore.store
"""
PROCESSES = Forks(PREPARED, "exec(sys.argv[0])")
"""Forks that run the Python code in their first argument."""

NO_SERVER = 'no server of S3\'s protocol: pip install -e ".[test-long]"'


@contextmanager
def bucket_server() -> Iterator[str]:
    """Yield the address of a local bucket; environment variables have its credentials."""
    pytest.importorskip("obstore", reason=NO_SERVER)
    moto = pytest.importorskip("moto.server", reason=NO_SERVER)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ENDPOINT", endpoint)
        environment.setenv("AWS_ALLOW_HTTP", "true")
        environment.setenv("AWS_ACCESS_KEY_ID", "reader")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "only for tests")
        environment.setenv("AWS_REGION", "us-east-1")
        urllib.request.urlopen(urllib.request.Request(f"{endpoint}/shelves", method="PUT")).close()
        yield "s3://shelves"
    server.stop()


class Between(Storage):
    """Storage that calls a function before its n-th operation (from 0), or never if ``step`` is negative."""

    def __init__(self, storage: Storage, step: int, then: Callable[[], object]) -> None:
        self._objects, self._step, self._then = storage, step, then
        self.address, self.steps = storage.address, 0

    def put_new(self, name: str, source: Path | bytes) -> bool:
        self._count()
        return self._objects.put_new(name, source)

    def get(self, name: str, target: Path) -> None:
        self._count()
        self._objects.get(name, target)

    def read(self, name: str, most: int) -> bytes:
        self._count()
        return self._objects.read(name, most)

    def listed(self, folder: str) -> list[StoredObject]:
        self._count()
        return self._objects.listed(folder)

    def remove(self, names: Iterable[str]) -> None:
        self._count()
        self._objects.remove(names)

    def remove_staged(self, age: float = 0.0) -> None:
        self._count()
        self._objects.remove_staged(age)

    def _count(self) -> None:
        is_due, self.steps = self.steps == self._step, self.steps + 1
        if is_due:
            self._then()


def shard(folder: Path, name: str, contents: str) -> Path:
    """Write a file to publish. Its contents are arbitrary, because storages do not interpret them."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.mono"
    path.write_bytes(contents.encode() * 1000)
    return path
