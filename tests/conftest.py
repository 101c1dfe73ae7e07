"""Fixtures and settings that all tests share."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from monograph import Monograph
from support.model_server import ModelServer
from support.paths import SHARED

settings.register_profile("short", deadline=None, database=None, derandomize=True)
settings.register_profile("all", deadline=None, database=None, print_blob=True)

OF_THE_CALLER = (
    "COLUMNS",
    "FORCE_COLOR",
    "LINES",
    "MONOGRAPH_KEY",
    "MONOGRAPH_TOKEN",
    "MONOGRAPH_TRUSTED",
    "NO_COLOR",
    "TZ",
)
"""Environment variables that change what commands print or may do; tests run without them."""


def pytest_configure() -> None:
    """Reset the SIGINT handler and the umask that a shell passes on: background commands ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.umask(0o022)
    gc.disable()  # Imports leave no garbage, and take a third less time without the collector.


def pytest_collection_finish() -> None:
    """Enable garbage collection, but exclude the loaded modules: scanning them would take a sixth of the time."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def configuration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty configuration folder, and an environment without the caller's settings."""
    place = tmp_path_factory.mktemp("configuration")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CONFIG_HOME", str(place))
        for name in OF_THE_CALLER:
            patched.delenv(name, raising=False)
        yield place


@pytest.fixture(params=[None, pytest.param("only for tests", marks=pytest.mark.long)], ids=["plain", "encrypted"])
def key(request: pytest.FixtureRequest) -> str | None:
    """Key of a test's file: None, and in the long suite also a key, so that the test runs on an encrypted file."""
    if request.param is not None:
        pytest.importorskip("sqlcipher3", reason="the extra encrypt is not installed")
    chosen: str | None = request.param
    return chosen


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of the evaluation data, next to the project."""
    if not SHARED.is_dir():
        pytest.skip(f"{SHARED} is absent: it holds the evaluation data and is no part of the package")
    return SHARED


@pytest.fixture
def monograph(tmp_path: Path) -> Iterator[Monograph]:
    """An empty monograph."""
    with Monograph.open(tmp_path / "test.mono") as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder to sync."""
    made = tmp_path / "texts"
    made.mkdir()
    return made


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A local server with a scripted model."""
    with ModelServer() as running:
        yield running
