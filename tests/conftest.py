"""What tests share: where the evaluation data lie, and files to work on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from model_server import ModelServer
from monograph import Monograph
from with_key import encrypted_runs

encrypted_runs.begin()
if encrypted_runs.key() is not None:
    collect_ignore = [f"test_{name}.py" for name in (*encrypted_runs.WITHOUT_A_FILE, *encrypted_runs.NOT_OF_A_FILE)]

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session", autouse=True)
def configuration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A configuration folder for the tests: whom the one who runs them trusts is none of their business."""
    place = tmp_path_factory.mktemp("configuration")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CONFIG_HOME", str(place))
        patched.delenv("MONOGRAPH_TRUSTED", raising=False)
        yield place


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where tests run with a key, those are left out that are about plain files."""
    for item in items:
        mark = item.get_closest_marker("plain")
        if mark is not None and encrypted_runs.key() is not None:
            item.add_marker(pytest.mark.skip(reason=f"not with a key: {mark.args[0]}"))


@pytest.fixture(autouse=True)
def _without_the_key(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where tests run with a key, those that give keys of their own have none but these."""
    if request.node.get_closest_marker("own_keys") is not None:
        monkeypatch.delenv(encrypted_runs.VARIABLE, raising=False)


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
