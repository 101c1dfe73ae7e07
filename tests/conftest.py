"""What tests share: where the evaluation data lie, and files to work on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browsing import Site, entered, launched
from model_server import ModelServer
from monograph import Monograph
from monograph.shelf.storage import Storage, storage_at
from monograph.store.database import Database
from places import bucket_server

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session", autouse=True)
def configuration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A configuration folder for the tests: whom the one who runs them trusts is none of their business."""
    place = tmp_path_factory.mktemp("configuration")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CONFIG_HOME", str(place))
        patched.delenv("MONOGRAPH_TRUSTED", raising=False)
        yield place


@pytest.fixture(params=[None, "only for tests"], ids=["plain", "encrypted"])
def key(request: pytest.FixtureRequest) -> str | None:
    """The key of a test's file: a test that takes it runs with a plain file and with an encrypted one."""
    if request.param is not None:
        pytest.importorskip("sqlcipher3", reason="the extra encrypt is not installed")
    return request.param


@pytest.fixture
def shared() -> Path:
    """The evaluation data beside the project."""
    if not SHARED.is_dir():
        pytest.skip(f"{SHARED} is absent: it holds the evaluation data and is no part of the package")
    return SHARED


@pytest.fixture
def monograph(tmp_path: Path) -> Iterator[Monograph]:
    """An empty monograph."""
    with Monograph.open(tmp_path / "test.mono") as opened:
        yield opened


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """The database of an empty file."""
    opened = Database(tmp_path / "v.mono")
    yield opened
    opened.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder to sync."""
    made = tmp_path / "texts"
    made.mkdir()
    return made


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A scripted model behind a socket."""
    with ModelServer() as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser without a screen."""
    with launched() as running:
        yield running


@pytest.fixture(scope="module")
def entrance(browser: Any, served: Site) -> Any:
    """What the browser keeps once it was let in to the served site."""
    return entered(browser, served)


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """The address of a bucket on this machine."""
    with bucket_server() as address:
        yield address


@pytest.fixture(params=["folder", "bucket"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    """The storage of a shelf: a test that takes it runs with a folder and with a bucket."""
    if request.param == "folder":
        return storage_at(tmp_path / "shelf", create=True)
    return storage_at(f"{request.getfixturevalue('bucket')}/{hashlib.sha256(str(tmp_path).encode()).hexdigest()}")
