"""What tests share: where the evaluation data lie, and files to work on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from monograph import Monograph
from support.model_server import ModelServer
from support.paths import SHARED


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
