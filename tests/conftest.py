"""What tests share: where the evaluation data lie, and files to work on."""

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
"""Variables of whoever runs the tests that change what commands print or may do."""


def pytest_configure() -> None:
    """Restore what tests and their children inherit from a shell: a command in the background ignores Ctrl-C."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.umask(0o022)
    gc.disable()  # Importing all that is tested makes no garbage, and takes a third less time.


def pytest_collection_finish() -> None:
    """Collect garbage from now on, but not among the loaded modules: that would take a sixth of the time."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def configuration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty configuration folder, and an environment without the caller's own settings."""
    place = tmp_path_factory.mktemp("configuration")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CONFIG_HOME", str(place))
        for name in OF_THE_CALLER:
            patched.delenv(name, raising=False)
        yield place


@pytest.fixture(params=[None, pytest.param("only for tests", marks=pytest.mark.long)], ids=["plain", "encrypted"])
def key(request: pytest.FixtureRequest) -> str | None:
    """The key of a test's file: a test that takes it runs with a plain file and with an encrypted one."""
    if request.param is not None:
        pytest.importorskip("sqlcipher3", reason="the extra encrypt is not installed")
    chosen: str | None = request.param
    return chosen


@pytest.fixture(scope="session")
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
