"""Permissions of what is made from a file: nobody may read it who may not read the file."""

from __future__ import annotations

import stat
from collections.abc import Iterable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from monograph import Document, Monograph
from monograph.app.cli import app

NOBODY_ELSE = 0o077


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret.mono"
    with Monograph.open(path) as made:
        made.add(Document(f"Ann Mercer met Otto Ruhl in Riga on day {day}.", id=f"d{day}") for day in range(3))
    path.chmod(0o600)
    return path


def open_to_others(paths: Iterable[Path]) -> list[tuple[str, str]]:
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in paths}
    return [(name, oct(mode)) for name, mode in modes.items() if mode & NOBODY_ELSE]


def below(folder: Path) -> list[Path]:
    found = [folder, *folder.rglob("*")]
    assert len(found) > 2
    return found


def test_exports_have_at_most_the_permissions_of_the_file(secret: Path, tmp_path: Path) -> None:
    with Monograph.open(secret) as archive:
        archive.export(tmp_path / "export")
        assert open_to_others(below(tmp_path / "export")) == []
        secret.chmod(0o640)
        archive.export(tmp_path / "export", overwrite=True)
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "export").iterdir()} == {0o640}
    assert stat.S_IMODE((tmp_path / "export").stat().st_mode) == 0o750


def test_drawn_graphs_have_at_most_the_permissions_of_the_file(secret: Path, tmp_path: Path) -> None:
    pytest.importorskip("networkx", reason="the extra graph is not installed")
    page, graph = tmp_path / "graph.html", tmp_path / "graph.graphml"
    page.write_text("another page")
    command = ["graph", str(secret), "Ann Mercer", "--html", str(page), "--graphml", str(graph)]
    assert CliRunner().invoke(app, command).exit_code == 0
    assert open_to_others([page, graph]) == []
    assert "Otto Ruhl" in page.read_text()


def test_shelves_have_at_most_the_permissions_of_their_files(secret: Path, tmp_path: Path) -> None:
    pytest.importorskip("obstore", reason="the extra shelf is not installed")
    from monograph.shelf import Shelf, build, remove

    url, home = tmp_path / "shelf", tmp_path / "home"
    build(url, sources=[secret], home=home)
    with Shelf.open(url, home=home) as shelf:
        assert shelf.search("Otto Ruhl", 1)
    assert open_to_others(below(home)) == []
    assert open_to_others((url / "objects").iterdir()) == []
    remove(url, ["d1"], home=home)
    assert open_to_others(below(home)) == []
    assert open_to_others((url / "objects").iterdir()) == []


def test_shelves_of_documents_can_be_read_by_others(tmp_path: Path) -> None:
    pytest.importorskip("obstore", reason="the extra shelf is not installed")
    from monograph.shelf import build, remove

    url, home = tmp_path / "shelf", tmp_path / "home"
    build(url, [Document("Ann Mercer met Otto Ruhl in Riga.", id=f"d{day}") for day in range(3)], home=home)
    remove(url, ["d1"], home=home)
    modes = {stat.S_IMODE(path.stat().st_mode) & 0o444 for path in (url / "objects").iterdir()}
    assert modes == {0o444}
