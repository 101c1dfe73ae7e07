"""Storages of shelves: a folder, a bucket behind a socket, and one that calls a function before its n-th step."""

from __future__ import annotations

import logging
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from monograph.shelf.storage import Storage
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
"""Runs programs, each given as its first argument."""

NO_SERVER = 'no server of S3\'s protocol: pip install -e ".[test-long]"'


@contextmanager
def bucket_server() -> Iterator[str]:
    """Yield the address of a bucket on this machine; the environment has its account."""
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
    """A storage that calls a function before its n-th step, from 0; never before a step below 0."""

    def __init__(self, storage: Storage, step: int, then: Callable[[], object]) -> None:
        vars(self).update(vars(storage))
        self._objects, self._step, self._then, self.steps = storage, step, then, 0

    def __getattribute__(self, name: str) -> Any:
        # Each step begins by asking for its method; no method of a storage calls another one of these.
        if name in ("put_new", "get", "read", "listed", "remove", "remove_staged"):
            self.steps += 1
            if self.steps - 1 == self._step:
                self._then()
        return super().__getattribute__(name)


def shard(folder: Path, name: str, contents: str) -> Path:
    """Write a file that can be published; a storage does not look into it."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.mono"
    path.write_bytes(contents.encode() * 1000)
    return path
