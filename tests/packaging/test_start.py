"""Modules that a program imports, and does not import, when it starts."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import monograph
from monograph import Document, Monograph, values

LOADED = """
import sys
try:
    {program}
except SystemExit:
    pass
print(*sys.modules, file=sys.stderr)
"""
OF_A_FILE = {"numpy", "sqlite3", "monograph.library", "monograph.store", "monograph.values.answer"}
OF_WRITING = {
    "monograph.sync",
    "monograph.read.file",
    "monograph.write.apply",
    "monograph.derive.extract.pattern",
    "monograph.vectors.update",
    "monograph.tree.build",
}
OTHER_PARTS = {"rich", "wordllama", "torch", "safetensors", "monograph.shelf", "monograph.evaluate", "monograph.carry"}


def modules_after(program: str) -> set[str]:
    """Return the loaded modules after a program has run in a new process."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(program=program)], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


def command(*words: object) -> str:
    return f"sys.argv = {['monograph', *map(str, words)]!r}; from monograph.app.cli import main; main()"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "notes.mono"
    with Monograph.open(made) as archive:
        archive.add([Document("a", "Ines Calder found the comet in Draco.", "Note")])
    return made


def test_the_package_imports_its_names_when_they_are_asked_for() -> None:
    loaded = modules_after("import monograph")
    assert "monograph" in loaded
    assert not loaded & (OF_A_FILE | OF_WRITING | OTHER_PARTS | {"dataclasses", "monograph.values", "monograph.errors"})


def test_the_class_imports_no_part_of_a_file_that_it_does_not_use() -> None:
    loaded = modules_after("from monograph import Monograph")
    assert loaded >= {"numpy", "monograph.store.file.database"}
    assert not loaded & (OF_WRITING | OTHER_PARTS | {"typer", "monograph.search.graph", "monograph.answer.pack"})


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_help_and_version_open_no_file(option: str) -> None:
    loaded = modules_after(command(option))
    assert "typer" in loaded
    assert not loaded & (OF_A_FILE | OF_WRITING | OTHER_PARTS - {"monograph.carry"})


def test_a_search_imports_what_it_needs(path: Path) -> None:
    loaded = modules_after(command("search", path, "comet"))
    assert loaded >= {"monograph.app.search_commands", "monograph.search.fusion", "monograph.answer.confidence"}
    commands = {
        f"monograph.app.{one}" for one in ("ask_commands", "serve_commands", "source_commands", "shelf_commands")
    }
    assert not loaded & (OF_WRITING | OTHER_PARTS | commands | {"monograph.values.work", "monograph.store.check.check"})


def test_statistics_import_no_search(path: Path) -> None:
    loaded = modules_after(command("stats", path))
    assert "monograph.store.file.stats" in loaded
    assert not loaded & (OF_WRITING | OTHER_PARTS - {"rich"} | {"monograph.search.question", "monograph.answer.pack"})


@pytest.mark.parametrize("package", [monograph, values])
def test_a_package_has_the_names_that_types_are_checked_by(package: object) -> None:
    source = Path(str(package.__file__)).read_text("utf-8")  # type: ignore[attr-defined]
    block = next(node for node in ast.parse(source).body if isinstance(node, ast.If))
    told: list[str] = []
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        every = package._MODULES[node.module].split()  # type: ignore[attr-defined]
        told += every if node.names[0].name == "*" else [one.name for one in node.names]
    names: list[str] = package.__all__  # type: ignore[attr-defined]
    assert sorted(told) == sorted(names)
    assert all(hasattr(package, name) for name in names)
    assert set(names) <= set(dir(package))


def test_a_package_says_that_it_lacks_a_name() -> None:
    with pytest.raises(AttributeError, match="module 'monograph' has no attribute 'Nothing'"):
        _ = monograph.Nothing  # type: ignore[attr-defined]
